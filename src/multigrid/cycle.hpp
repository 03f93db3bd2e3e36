// The cycles of multigrid, written once.
//
// Levels are the grids of a hierarchy, 0 the finest, each with a right-hand side b and a solution x:
//   last()                 the number of the coarsest level
//   visits(cycle, l)       how often level l, whenever it is visited, visits level l + 1
//   down(l, visit)         smooths x, from zero in the first visit; b of level l + 1 becomes P'(b - A x)
//   up(l, visit)           adds P x of level l + 1 to x, and smooths it if there is no other visit
//   solve()                x = A^-1 b on the last level
//   accelerated(cycle, l)  is level l solved by some steps of an iteration that the cycle from it down preconditions?
//   accelerate(l)          these steps: a K-cycle's are of conjugate gradients, AMLI's of Chebyshev's iteration
// Everything is known to the compiler: a cycle costs what the levels do.
#pragma once

namespace tessera::multigrid {

enum class Cycle {
  automatic,
  v,
  w,
  f,
  k,
  amli
};

// An F-cycle goes up and down again on each grid of its way down.
inline int visits(Cycle cycle) { return cycle == Cycle::w || cycle == Cycle::f ? 2 : 1; }

// Of the next level, by a level that is visited itself.
struct Visit {
  bool first = true, last = true;
};

template <class Levels> void cycle(Levels &levels, Cycle kind, int l)
{
  if (l == levels.last()) return levels.solve();
  const int visits = levels.visits(kind, l);
  for (int k = 0; k < visits; ++k) {
    const Visit visit{k == 0, k + 1 == visits};
    levels.down(l, visit);
    if (levels.accelerated(kind, l + 1)) levels.accelerate(l + 1);
    else cycle(levels, kind == Cycle::f && !visit.first ? Cycle::v : kind, l + 1);
    levels.up(l, visit);
  }
}

} // namespace tessera::multigrid
