// Where vertices have several functions (split.k.cxx), leaves become runs: the nodes of a leaf that have the same
// functions. They take the place of leaves from there on.
#include "tree/setup.hpp"
#include "exec/each.hpp"

namespace tessera::tree {

namespace {

// Of each node the first node of its run: of own nodes, which are in the order of leaves, and then of ghosts in the
// same leaves. A corner without a function, whose weight is zero, fits any; functions of a run are gathered at its
// first node.
struct FindRuns {
  int        corners, n;
  const int *begin;        // of the own nodes of each leaf
  const int *ghost_begin, *ghost; // and of its ghosts, in the list of all; nullptr: there are none
  const int *body, *leaf;  // of each node; nullptr: there are no bodies
  int       *of, *first;
  HD bool    fits(int run, int p) const
  {
    if (body && (body[run] != body[p] || leaf[run] != leaf[p])) return false;
    int *const       mine = of + (ptrdiff_t)corners * run;
    const int *const v    = of + (ptrdiff_t)corners * p;
    for (int c = 0; c < corners; ++c)
      if (v[c] != mine[c] && v[c] >= 0 && mine[c] >= 0) return false;
    for (int c = 0; c < corners; ++c) mine[c] = v[c] > mine[c] ? v[c] : mine[c];
    return true;
  }
  // The newest run that ghost g fits: of those ghosts up to `last` that began one, or of the own nodes.
  HD int run_of_ghost(int l, int g, int last) const
  {
    const int p = n + ghost[g];
    for (int h = last; h >= ghost_begin[l]; --h)
      if (const int run = n + ghost[h]; first[run] == run && fits(run, p)) return run;
    for (int run = begin[l + 1]; run > begin[l];)
      if (run = first[run - 1]; fits(run, p)) return run;
    return p;
  }
  HD void operator()(int l) const
  {
    for (int p = begin[l], run = -1; p < begin[l + 1]; ++p) {
      if (run < 0 || !fits(run, p)) run = p;
      first[p] = run;
    }
    if (!ghost_begin) return;
    for (int g = ghost_begin[l], last = g - 1; g < ghost_begin[l + 1]; ++g) {
      const int p = n + ghost[g];
      first[p] = run_of_ghost(l, g, last);
      if (first[p] == p) last = g;
    }
  }
};
struct NumberAsKey {
  const int *of;
  Key        none; // of a negative number
  Key       *key;
  HD void    operator()(int k) const { key[k] = of[k] < 0 ? none : (Key)of[k]; }
};
struct FlagFirst {
  const int     *first;
  unsigned char *flag;
  HD void        operator()(int p) const { flag[p] = first[p] == p; }
};
// Where the own nodes of each run begin, and the end; runs of ghosts alone come last and have none.
struct BeginRuns {
  const int *place;
  int        runs, points, *begin;
  HD void    operator()(int r) const { begin[r] = r < runs && place[r] < points ? place[r] : points; }
};
// At the corners of runs: their functions, and the vertices of the tree that these are at.
struct TakeCorners {
  int        corners;
  const int *place, *of, *leaf, *vertex;
  int       *function, *at;
  HD void    operator()(int k) const
  {
    const int p = place[k / corners], c = k % corners;
    function[k] = of[(ptrdiff_t)corners * p + c];
    at[k]       = vertex[(ptrdiff_t)corners * leaf[p] + c];
  }
};
struct RunOfNode {
  const int *first, *before;
  int       *leaf;
  HD void    operator()(int p) const { leaf[p] = first[p] < 0 ? -1 : before[first[p]]; }
};
struct VertexOfFunction {
  const int *function, *at;
  int       *from;
  HD void    operator()(int k) const
  {
    if (function[k] >= 0) from[function[k]] = at[k];
  }
};
struct BodyOfFunction {
  int        corners;
  const int *place, *function, *body;
  int       *of;
  HD void    operator()(int k) const
  {
    if (function[k] >= 0) of[function[k]] = body[place[k / corners]];
  }
};
struct FlagFunctions {
  const Key     *key;
  Key            none;
  unsigned char *flag;
  HD void        operator()(int k) const { flag[k] = key[k] != none && (!k || key[k] != key[k - 1]); }
};
struct NumberHere {
  const Key *key;
  Key        none;
  const int *order, *before;
  int       *function;
  HD void    operator()(int k) const { function[order[k]] = key[k] == none ? -1 : before[k + 1] - 1; }
};
struct TakeFunction {
  const int *place, *order, *at;
  const Key *key;
  int       *number, *from;
  HD void    operator()(int v) const
  {
    number[v] = (int)key[place[v]];
    from[v]   = at[order[place[v]]];
  }
};

} // namespace

// function: by their numbers among all, and then on this process. number: of each function here the one among all.
// Returns the vertices of the tree that these are at.
template <class T>
Buffer<int> Setup<T>::number_functions_here(Buffer<int> &function, const Buffer<int> &at, int all, Buffer<int> &number)
{
  const int             items = (int)function.size();
  Buffer<Key>           key = make_unset<Key>(function.size());
  Buffer<int>           order;
  Buffer<unsigned char> flag = make_unset<unsigned char>(function.size());
  for_each(exec_, items, NumberAsKey{function.data(), (Key)all, key.data()});
  sort_keys(exec_, items, bits_of((Key)all), key, order);
  for_each(exec_, items, FlagFunctions{key.data(), (Key)all, flag.data()});
  const Flagged found(exec_, items, flag);
  for_each(exec_, items, NumberHere{key.data(), (Key)all, order.data(), found.before.data(), function.data()});
  Buffer<int> from = make_unset<int>((size_t)found.count);
  number           = make_unset<int>((size_t)found.count);
  for_each(exec_, found.count,
           TakeFunction{found.place.data(), order.data(), at.data(), key.data(), number.data(), from.data()});
  return from;
}

// of: the functions of nodes at their corners by their numbers among `all_new`, -1: none; the first node of a run gets
// those that others of the run have at corners where it has none.
template <class T>
void Setup<T>::place_in_runs(Level<T> &fine, Cells &cells, Buffer<int> &leaf, Buffer<int> &of, int all_new)
{
  const int   points = fine.points, all = fine.n + fine.ghosts, corners = fine.transfer.corners;
  Buffer<int> first = make_unset<int>((size_t)all), ghost_begin, ghost;
  if (fine.ghosts) {
    Buffer<Key> key = make_unset<Key>((size_t)fine.ghosts);
    for_each(exec_, fine.ghosts, NumberAsKey{leaf.data() + fine.n, (Key)cells.n, key.data()});
    sort_keys(exec_, fine.ghosts, bits_of((Key)cells.n), key, ghost);
    bucket_starts(exec_, fine.ghosts, key.data(), cells.n, (Key)0, ghost_begin);
  }
  for_each(exec_, all, SetValues<int>{first.data(), -1});
  for_each(exec_, cells.n, FindRuns{corners, fine.n, fine.transfer.begin.data(), ghost_begin.data(), ghost.data(),
                                    body_.of.data(), leaf.data(), of.data(), first.data()});
  Buffer<unsigned char> flag = make_unset<unsigned char>((size_t)all);
  for_each(exec_, all, FlagFirst{first.data(), flag.data()});
  const Flagged runs(exec_, all, flag);
  const int     items = runs.count * corners;
  Buffer<int>   function = make_unset<int>((size_t)items), at = make_unset<int>((size_t)items), from;
  for_each(exec_, items, TakeCorners{corners, runs.place.data(), of.data(), leaf.data(), cells.vertex.data(),
                                     function.data(), at.data()});
  for_each(exec_, all, RunOfNode{first.data(), runs.before.data(), leaf.data()});
  fine.transfer.begin = make_unset<int>((size_t)runs.count + 1);
  for_each(exec_, runs.count + 1, BeginRuns{runs.place.data(), runs.count, points, fine.transfer.begin.data()});
  if (fine.distributed) from = number_functions_here(function, at, all_new, cells.number);
  else {
    from = make<int>((size_t)all_new);
    for_each(exec_, items, VertexOfFunction{function.data(), at.data(), from.data()});
  }
  if (body_.any) {
    next_body_ = {true, body_.matrix, make<int>(from.size())};
    for_each(exec_, items,
             BodyOfFunction{corners, runs.place.data(), function.data(), body_.of.data(), next_body_.of.data()});
  }
  cells.n = fine.transfer.cells = runs.count;
  cells.vertex                  = std::move(function);
  cells.vertices                = (int)from.size();
  galerkin_.take_vertices(from, cells.vertices, 1, cells.key);
  galerkin_.take_vertices(from, cells.vertices, params_.dim, cells.y);
}

#define INSTANTIATE(T) \
  template void Setup<T>::place_in_runs(Level<T> &, Cells &, Buffer<int> &, Buffer<int> &, int);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
