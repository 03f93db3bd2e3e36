// The search for loose parts: components of the graph of S1's strong couplings.
#include "exec/sets.hpp"
#include "exec/sort.hpp"
#include "rrb/multigrid/components_kernels.hpp"
#include <algorithm>
#include <cmath>

namespace tessera::rrb {

namespace {

struct Graph {
  SchurView<double> a;
  LabelPlace        at;
  int              *parent;
  int               q;
};

struct ClearKernel {
  int    *parent;
  HD void operator()(int i) const { parent[i] = -1; }
};
struct OwnKernel : Graph { // this process's nodes point to themselves
  HD void operator()(int X, int Y) const
  {
    const ptrdiff_t i = at(q, X * a.sx + Y * a.sy);
    parent[i]         = (int)i;
  }
};
struct TieKernel : Graph { // then to the first neighbour they are tied to
  HD void operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * a.sx + Y * a.sy;
    const double    d = diagonal(a, q, p);
    const int       me = (int)at(q, p);
    int             first = me;
    bool            tied  = false;
    for_neighbours(a, q, p, [&](int r, ptrdiff_t s, double w) {
      if (!strong(w, d, diagonal(a, r, s))) return;
      tied             = true;
      const int other = (int)at(r, s);
      if (other < first && parent_of(parent, other) >= 0) first = other;
    });
    parent[me] = tied ? first : -1;
  }
};
struct JoinKernel : Graph {
  HD void operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * a.sx + Y * a.sy;
    const double    d = diagonal(a, q, p);
    const int       me = (int)at(q, p);
    for_couplings(a, q, p, [&](int r, ptrdiff_t s, double w) {
      const int other = (int)at(r, s);
      if (parent_of(parent, other) >= 0 && strong(w, d, diagonal(a, r, s))) unite(parent, me, other);
    });
  }
};
struct RootKernel { // everybody points to the first; counts: 1 at these
  int    *parent, *counts;
  HD void operator()(int i) const
  {
    const int root = parent_of(parent, i) < 0 ? -1 : root_of(parent, i);
    counts[i]      = root == i;
    if (root >= 0) parent[i] = root;
  }
};
struct NumberKernel {
  const int *parent, *counts;
  int        before;
  double    *number;
  HD void    operator()(int i) const { number[i] = parent[i] < 0 ? 0 : before + counts[parent[i]] + 1; }
};

// A number of 1 .. total, else 0: what has come from a process that has failed may be anything.
HD inline int known(double number, int total) { return number >= 1 && number <= total ? (int)number : 0; }

// Pairs of numbers that couplings to other processes, and over a periodic seam, tie together.
struct SeamKernel : Graph {
  const double *number;
  int          *pairs, *found, max_pairs, total;
  HD void       operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * a.sx + Y * a.sy;
    const double    d = diagonal(a, q, p);
    for_couplings(a, q, p, [&](int r, ptrdiff_t s, double w) {
      const int u = known(number[at(q, p)], total), v = known(number[at(r, s)], total);
      if (u == v || !u || !v || !strong(w, d, diagonal(a, r, s))) return;
      const int k = take(found, 1);
      if (k < max_pairs) pairs[2 * k] = u, pairs[2 * k + 1] = v;
    });
  }
};

struct RelabelKernel {
  const double *number;
  const int    *root;
  int           total, *label;
  HD void       operator()(int i) const { label[i] = root[known(number[i], total)]; }
};

struct MisfitKernel {
  SchurView<double> a;
  LabelPlace        at;
  const int        *label;
  int               q;
  HD double         operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * a.sx + Y * a.sy;
    double          n = 0;
    for_couplings(a, q, p, [&](int r, ptrdiff_t s, double w) {
      n += label[at(q, p)] != label[at(r, s)] && strong(w, diagonal(a, q, p), diagonal(a, r, s));
    });
    return n;
  }
};

} // namespace

// No strong coupling leaves a component.
bool Components::fits(const Exec &exec, Level &level, const SchurView<double> &a)
{
  double misfits = 0, all;
  for (int q : {0, 3})
    misfits += forall_sum(exec, level.grid.owned(q), MisfitKernel{a, label_place(level.layout), label_.data(), q});
  MPI_Allreduce(&misfits, &all, 1, MPI_DOUBLE, MPI_SUM, level.grid.comm);
  return !(all > 0);
}

// label_: numbers from 1 of the components of all processes, 0 for single nodes. Returns how many numbers there are;
// some may have nobody.
int Components::label(const Exec &exec, Level &level, const SchurView<double> &a)
{
  const Grid      &g     = level.grid;
  const int        plane = (int)level.layout.elements(1), n = 2 * plane;
  const LabelPlace at    = label_place(level.layout);
  Buffer<int>      parent(Extent{(size_t)n, exec.space}), counts(Extent{(size_t)n + 1, exec.space});
  auto             black = [&](auto kernel) {
    for (int q : {0, 3}) {
      kernel.q = q;
      forall(exec, g.owned(q), kernel);
    }
  };
  for_each(exec, n, ClearKernel{parent.data()});
  black(OwnKernel{{a, at, parent.data(), 0}});
  black(TieKernel{{a, at, parent.data(), 0}});
  black(JoinKernel{{a, at, parent.data(), 0}});
  for_each(exec, n, RootKernel{parent.data(), counts.data()});
  const int count = scan(exec, n, counts);
  int       before = 0, total = 0;
  MPI_Exscan(&count, &before, 1, MPI_INT, MPI_SUM, g.comm);
  if (!g.rank) before = 0;
  MPI_Allreduce(&count, &total, 1, MPI_INT, MPI_SUM, g.comm);
  Buffer<double> number(Extent{(size_t)n, exec.space}); // as the halo knows numbers
  for_each(exec, n, NumberKernel{parent.data(), counts.data(), before, number.data()});
  std::vector<int> pairs;
  if (!level.halo.empty()) {
    View<double> v = level.layout.view(number.data());
    v.q[0]         = place(level.layout, number.data());
    v.q[3]         = v.q[0] + plane;
    v.q[1] = v.q[2] = nullptr;
    level.halo.exchange(v, mask_o | mask_c);
    const Box   o = g.owned(quarter_o), c = g.owned(quarter_c);
    // six couplings of a node at the rim
    const int   max_pairs = 12 * (o.x1 - o.x0 + o.y1 - o.y0 + c.x1 - c.x0 + c.y1 - c.y0 + 4);
    Buffer<int> list(Extent{2 * (size_t)max_pairs, exec.space}), found(Extent{1, exec.space});
    black(SeamKernel{
      {a, at, parent.data(), 0},
      number.data(), list.data(), found.data(), max_pairs, total
    });
    pairs.resize(2 * (size_t)std::min(fetch(found, 0), max_pairs));
    copy(list.data(), exec.space, pairs.data(), Space::host, pairs.size());
  }
  const Buffer<int> root = copy_to(exec.space, join_pairs(g.comm, total, std::move(pairs)));
  label_.resize({(size_t)n, exec.space});
  for_each(exec, n, RelabelKernel{number.data(), root.data(), total, label_.data()});
  return total;
}

void Components::find(const Exec &exec, Level &level, const SchurView<double> &a)
{
  const MPI_Comm   comm  = level.grid.comm;
  const LabelPlace at    = label_place(level.layout);
  const int        total = label(exec, level, a);
  known_  = true;
  count_  = 0;
  listed_ = exec.space == Space::cuda;
  if (total < 2) return drop_lists();
  if (listed_) list(level, total);
  // what each one weighs: nodes, diagonal, ties to the rest (row sums and couplings that leave)
  auto over_all = [&](std::vector<double> sum) {
    MPI_Allreduce(MPI_IN_PLACE, sum.data(), total + 1, MPI_DOUBLE, MPI_SUM, comm);
    return sum;
  };
  const std::vector<double> nodes  = over_all(sizes(level, total)),
                            centre = over_all(sums(level, total, DiagonalTerm{a})),
                            ties   = over_all(sums(level, total, RowTerm{a, at, label_.data(), false}));
  double largest = 0;
  for (int i = 1; i <= total; ++i) largest = std::max(largest, nodes[(size_t)i]);
  std::vector<int> used((size_t)total + 1, 0);
  // with more than one node, nearly singular
  for (size_t i = 1; i < used.size(); ++i)
    used[i] = nodes[i] >= 2 && centre[i] > 0 && ties[i] <= tuning::loose_component * centre[i];
  // Parts that are tied to each other before all, such as the lines of an anisotropic problem, are no islands.
  Buffer<int>               marked = copy_to(exec.space, used);
  const std::vector<double> among  = over_all(sums(level, total, AmongTerm{a, at, label_.data(), marked.data()}));
  int                       loose  = 0;
  for (size_t i = 1; i < used.size(); ++i) {
    if (!used[i]) continue;
    used[i] = among[i] > 0.5 * ties[i] ? 0 : ++count_;
    loose += used[i] && nodes[i] < largest;
  }
  if (!loose) count_ = 0;
  if (!count_) return drop_lists();
  marked = copy_to(exec.space, used);
  for_each(exec, (int)label_.size(), GatherValues<int>{label_.data(), marked.data(), label_.data()});
  if (listed_) list(level, count_);
}

void Components::setup(const Exec &exec, Level &level, SchurOf<double> &schur, double gaps)
{
  if (known_ && !count_ && gaps == gaps_) return;
  const SchurView<double> a = schur_view(level.layout, schur);
  if (!known_ || gaps != gaps_ || (count_ && !fits(exec, level, a))) find(exec, level, a);
  gaps_ = gaps;
  if (count_) invert(level, a);
}

} // namespace tessera::rrb
