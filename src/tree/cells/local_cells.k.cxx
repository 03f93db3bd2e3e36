#include "tree/cells/local_cells.hpp"
#include "tree/dispatch.hpp"
#include "tree/cells/pairs.hpp"
#include "exec/gather.hpp"
#include "exec/requests.hpp"
#include <algorithm>

namespace tessera::tree {

namespace {

// --- leaves of keepers ---

// Is any other keeper in the neighbourhood of the leaf's parent? [begin, end): the own keys.
template <int D> struct NearOthers {
  const Key         *start;
  const signed char *level;
  Key                begin, end;
  unsigned char     *flag;
  HD void            operator()(int l) const
  {
    flag[l] = 1;
    if (!level[l]) return;
    const unsigned  h = 2u << (depth(D) - level[l]), top = 1u << depth(D);
    const Key       length = (Key)1 << (D * (depth(D) - level[l] + 1));
    const Corner<D> x = deinterleave<D>(start[l] & ~(length - 1));
    Corner<D>       low = x, high = x;
    for (int q = 0; q < D; ++q) {
      low.x[q]  = x.x[q] ? x.x[q] - h : 0;
      high.x[q] = (x.x[q] + 2 * h < top ? x.x[q] + 2 * h : top) - 1;
    }
    flag[l] = interleave<D>(low) < begin || interleave<D>(high) >= end;
  }
};
// They: of leaves there the leaf and the corners of their parents may have a corner in common, as levels of neighbours
// differ by one at most. A leaf of T_1, T_2, ... may have several keepers itself; with each of them it has all its
// neighbours.
template <int D> void keepers_near(const Keepers &keepers, Key start, int level, std::vector<int> &to)
{
  to.clear();
  const auto add = [&](int first, int last) {
    for (int r = first; r <= last; ++r)
      if (r != keepers.rank && (r + 1 == keepers.size || keepers.begin[(size_t)r] < keepers.begin[(size_t)r + 1]))
        to.push_back(r);
  };
  if (!level) return add(0, keepers.size - 1);
  const unsigned  h = 2u << (depth(D) - level), top = 1u << depth(D);
  const Key       length = (Key)1 << (D * (depth(D) - level + 1));
  const Corner<D> x = deinterleave<D>(start & ~(length - 1));
  int             cells = 1;
  for (int q = 0; q < D; ++q) cells *= 3;
  for (int m = 0; m < cells; ++m) {
    Corner<D> c = x;
    bool      inside = true;
    for (int q = 0, digits = m; q < D; ++q, digits /= 3) {
      c.x[q] += (unsigned)(digits % 3 - 1) * h; // wraps below zero
      inside = inside && c.x[q] < top;
    }
    if (!inside) continue;
    const Key from = interleave<D>(c);
    add(keepers.of(from), keepers.of(from + length - 1));
  }
  std::sort(to.begin(), to.end());
  to.erase(std::unique(to.begin(), to.end()), to.end());
}

// Leaves near the ends of the keepers' intervals come to the others there.
template <int D> void add_near_leaves(const Exec &exec, const Keepers &keepers, Cells &cells)
{
  Buffer<unsigned char> flag = make_unset<unsigned char>(exec, (size_t)cells.n);
  Buffer<int>           place;
  for_each(exec, cells.n,
           NearOthers<D>{cells.start.data(), cells.level.data(), keepers.begin[(size_t)keepers.rank], keepers.end(),
                         flag.data()});
  select(exec, cells.n, flag, place);
  const int           near = (int)place.size();
  Buffer<Key>         near_start = make_unset<Key>(exec, (size_t)near);
  Buffer<signed char> near_level = make_unset<signed char>(exec, (size_t)near);
  for_each(exec, near, GatherValues<Key>{place.data(), cells.start.data(), near_start.data()});
  for_each(exec, near, GatherValues<signed char>{place.data(), cells.level.data(), near_level.data()});
  const std::vector<Key>         start = listed(near_start);
  const std::vector<signed char> level = listed(near_level);
  std::vector<std::pair<int, size_t>> out;
  std::vector<int>                    to, counts((size_t)keepers.size), levels;
  std::vector<Key>                    starts;
  for (size_t l = 0; l < start.size(); ++l) {
    keepers_near<D>(keepers, start[l], level[l], to);
    for (int r : to) out.push_back({r, l});
  }
  std::sort(out.begin(), out.end());
  for (const auto &[r, l] : out) {
    ++counts[(size_t)r];
    starts.push_back(start[l]);
    levels.push_back(level[l]);
  }
  const Messages messages(keepers.comm, counts);
  starts = messages.send(starts);
  levels = messages.send(levels);
  if (starts.empty()) return;
  append(exec, copy_to(exec.space, starts), cells.start);
  append(exec, copy_to(exec.space, std::vector<signed char>(levels.begin(), levels.end())), cells.level);
  cells.n = (int)cells.start.size();
  Buffer<int>         order;
  Buffer<signed char> sorted = make_unset<signed char>(exec, (size_t)cells.n);
  sort_keys(exec, cells.n, D * depth(D), cells.start, order);
  for_each(exec, cells.n, GatherValues<signed char>{order.data(), cells.level.data(), sorted.data()});
  cells.level = std::move(sorted);
}

struct CountHanging {
  const unsigned char *hangs;
  const Key           *cell;
  Key                  begin, end;
  HD double            operator()(int v) const { return hangs[v] && cell[v] >= begin && cell[v] < end; }
};

// --- leaves of own nodes and ghosts ---

// The levels of the leaves in which finest cells are.
struct FindLevels {
  const Key         *start;
  const signed char *level;
  int                leaves;
  const Key         *key;
  int               *to;
  HD void            operator()(int p) const
  {
    const int l = lower_bound(start, 0, leaves, key[p] + 1);
    to[p] = l ? level[l - 1] : 0;
  }
};
// Finest cells become those with which their leaves begin.
struct ToStart {
  const int *level;
  int        dim, depth;
  Key       *key;
  HD void    operator()(int p) const
  {
    const int shift = dim * (depth - level[p]);
    key[p] = key[p] >> shift << shift;
  }
};
// Leaves of ghosts in which no own nodes are.
struct FirstOfOther {
  const Key     *first; // of ghosts, in order
  const Key     *start;
  int            own;
  unsigned char *flag;
  HD void        operator()(int g) const
  {
    const Key k = first[g];
    const int l = lower_bound(start, 0, own, k);
    flag[g] = (l == own || start[l] != k) && (!g || first[g] != first[g - 1]);
  }
};
struct LeavesOfPoints {
  const unsigned char *flag;
  const int           *before;
  int                 *leaf;
  HD void              operator()(int p) const { leaf[p] = before[p] + (flag[p] != 0) - 1; }
};
struct LeavesOfGhosts {
  const Key           *first, *start;
  int                  own;
  const unsigned char *flag;
  const int           *before, *order;
  int                 *leaf; // of ghosts
  HD void              operator()(int g) const
  {
    const Key k = first[g];
    const int l = lower_bound(start, 0, own, k);
    leaf[order[g]] = l < own && start[l] == k ? l : own + before[g] + (flag[g] != 0) - 1;
  }
};
struct TakeLeaf {
  const int   *from;
  const Key   *first;
  const int   *levels;
  Key         *start;
  signed char *level;
  HD void      operator()(int l) const
  {
    start[l] = first[from[l]];
    level[l] = (signed char)levels[from[l]];
  }
};
// What keepers say of leaves: for each corner a finest cell beside its vertex and the vertex as keys, then which
// corners hang.
struct FindCorners {
  const Key           *start;
  const unsigned char *hangs;
  const int           *vertex;
  const Key           *cell, *key;
  int                  leaves, corners;
  const Key           *asked;
  Key                 *answer;
  HD void              operator()(int p) const
  {
    const int  l     = lower_bound(start, 0, leaves, asked[p]);
    const bool found = l < leaves && start[l] == asked[p];
    Key       *to    = answer + (ptrdiff_t)(2 * corners + 1) * p;
    for (int c = 0; c < corners; ++c) {
      const int v = found ? vertex[(ptrdiff_t)corners * l + c] : -1;
      *to++ = v < 0 ? no_vertex : cell[v];
      *to++ = v < 0 ? no_vertex : key[v];
    }
    *to = found ? hangs[l] : 0;
  }
};
struct TakeCorner { // one of the two keys, or what hangs
  const Key *answer;
  int        corners, which;
  Key       *to;
  HD void    operator()(int k) const
  {
    to[k] = answer[(ptrdiff_t)(2 * corners + 1) * (k / corners) + 2 * (k % corners) + which];
  }
};
struct TakeHangs {
  const Key     *answer;
  int            corners;
  unsigned char *to;
  HD void operator()(int l) const { to[l] = (unsigned char)answer[(ptrdiff_t)(2 * corners + 1) * l + 2 * corners]; }
};

struct VerticesOfCorners {
  const Key           *cell;
  const unsigned char *flag;
  const int           *before, *order;
  int                 *vertex;
  HD void              operator()(int p) const
  {
    vertex[order[p]] = cell[p] == no_vertex ? -1 : before[p] + (flag[p] != 0) - 1;
  }
};

// The vertices of the leaves, in order, come into the cells.
void set_vertices(const Exec &exec, const Buffer<Key> &answer, Cells &cells)
{
  const int             corners = 1 << cells.dim, n = cells.n * corners;
  Buffer<Key>           cell = make_unset<Key>(exec, (size_t)n), key = make_unset<Key>(exec, (size_t)n);
  Buffer<unsigned char> flag = make_unset<unsigned char>(exec, (size_t)n);
  Buffer<int>           order;
  for_each(exec, n, TakeCorner{answer.data(), corners, 0, cell.data()});
  for_each(exec, n, TakeCorner{answer.data(), corners, 1, key.data()});
  cells.hangs  = make_unset<unsigned char>(exec, (size_t)cells.n);
  cells.vertex = make_unset<int>(exec, (size_t)n);
  for_each(exec, cells.n, TakeHangs{answer.data(), corners, cells.hangs.data()});
  sort_pairs(exec, cells.dim, n, cell, key, order);
  for_each(exec, n, FirstOfPair{{cell.data(), key.data()}, flag.data()});
  const Flagged firsts(exec, n, flag);
  for_each(exec, n,
           VerticesOfCorners{cell.data(), flag.data(), firsts.before.data(), order.data(), cells.vertex.data()});
  take_pairs(exec, firsts.place, cell, key);
  cells.vertices   = firsts.count;
  cells.key        = std::move(cell);
  cells.vertex_key = std::move(key);
}

} // namespace

Cells kept_cells(const Exec &exec, const Tree &tree, int k, const Keepers &keepers, int &leaves)
{
  long long of_all[2] = {}; // leaves, hanging vertices
  Cells     cells     = std::move(make_cells(exec, tree, k, 1, [&](Cells &c) {
    of_all[0] = c.n;
    with_dim(c.dim, [&](auto d) { add_near_leaves<d.value>(exec, keepers, c); });
  }).front());
  Buffer<double> hanging(Extent{1, exec.space});
  sum_each(exec, cells.vertices,
           CountHanging{cells.vertex_hangs.data(), cells.key.data(), keepers.begin[(size_t)keepers.rank],
                        keepers.end()},
           hanging.data());
  of_all[1] = (long long)fetch(hanging, 0);
  int levels[2] = {cells.n ? cells.coarsest : 127, -cells.finest};
  MPI_Allreduce(MPI_IN_PLACE, of_all, 2, MPI_LONG_LONG, MPI_SUM, keepers.comm);
  MPI_Allreduce(MPI_IN_PLACE, levels, 2, MPI_INT, MPI_MIN, keepers.comm);
  leaves         = (int)of_all[0];
  cells.hanging  = (int)of_all[1];
  cells.coarsest = levels[0];
  cells.finest   = -levels[1];
  return cells;
}

Cells gathered_cells(const Exec &exec, const Tree &tree, int k, const Keepers &keepers)
{
  return std::move(make_cells(exec, tree, k, 1, [&](Cells &c) {
    // in order, as the keepers are
    const Gathered<Key>         start = gather_from_all(keepers.comm, listed(c.start).data(), c.n);
    const Gathered<signed char> level = gather_from_all(keepers.comm, listed(c.level).data(), c.n);
    c.n     = start.begin.back();
    c.start = copy_to(exec.space, start.all);
    c.level = copy_to(exec.space, level.all);
  }).front());
}

LocalLeaves local_leaves(const Exec &exec, const Keepers &keepers, const Cells &kept, int points, int n,
                         const Buffer<Key> &key)
{
  const int   dim = kept.dim, ghosts = (int)key.size() - n, corners = 1 << dim;
  const Key   none = (Key)1 << (dim * depth(dim));
  LocalLeaves local;
  Cells      &cells = local.cells;
  // the keys of points and of ghosts in leaves, each in order
  Buffer<Key> of_ghosts = make_unset<Key>(exec, (size_t)ghosts),
              asked     = make_unset<Key>(exec, (size_t)(points + ghosts));
  Buffer<int> order;
  for_each(exec, ghosts, CopyValues<Key>{key.data() + n, of_ghosts.data()});
  sort_keys(exec, ghosts, dim * depth(dim) + 1, of_ghosts, order);
  for_each(exec, points, CopyValues<Key>{key.data(), asked.data()});
  for_each(exec, ghosts, CopyValues<Key>{of_ghosts.data(), asked.data() + points});
  const auto  of_nodes = begins_of_runs(exec, keepers, points, ghosts, asked.data(), none);
  const int   inside = of_nodes[1].back() - points; // ghosts in leaves
  Buffer<int> levels = make_unset<int>(exec, asked.size());
  Requests(exec, keepers.comm, of_nodes)
    .ask(asked, 1, levels, 1, [&](int number, const Key *keys, int *to) {
      for_each(exec, number, FindLevels{kept.start.data(), kept.level.data(), kept.n, keys, to});
    });
  for_each(exec, points + inside, ToStart{levels.data(), dim, depth(dim), asked.data()});
  of_ghosts = Buffer<Key>();
  // own leaves, then those of ghosts alone
  Buffer<unsigned char> flag = make_unset<unsigned char>(exec, (size_t)points),
                        other = make_unset<unsigned char>(exec, (size_t)inside);
  for_each(exec, points, FirstOfRun<Key>{asked.data(), flag.data()});
  const Flagged       firsts(exec, points, flag);
  const int           own = firsts.count;
  Buffer<Key>         start = make_unset<Key>(exec, (size_t)own);
  Buffer<signed char> level = make_unset<signed char>(exec, (size_t)own);
  for_each(exec, own, TakeLeaf{firsts.place.data(), asked.data(), levels.data(), start.data(), level.data()});
  const Key *const of_ghost = asked.data() + points;
  for_each(exec, inside, FirstOfOther{of_ghost, start.data(), own, other.data()});
  const Flagged other_firsts(exec, inside, other);
  const int     others = other_firsts.count;
  cells.dim      = dim;
  cells.n        = own + others;
  cells.hanging  = kept.hanging;
  cells.coarsest = kept.coarsest;
  cells.finest   = kept.finest;
  cells.start    = make_unset<Key>(exec, (size_t)cells.n);
  cells.level    = make_unset<signed char>(exec, (size_t)cells.n);
  for_each(exec, own, CopyValues<Key>{start.data(), cells.start.data()});
  for_each(exec, own, CopyValues<signed char>{level.data(), cells.level.data()});
  for_each(exec, others,
           TakeLeaf{other_firsts.place.data(), of_ghost, levels.data() + points, cells.start.data() + own,
                    cells.level.data() + own});
  local.begin = make_unset<int>(exec, (size_t)cells.n + 1);
  local.leaf  = make_unset<int>(exec, key.size());
  for_each(exec, own, CopyValues<int>{firsts.place.data(), local.begin.data()});
  for_each(exec, others + 1, SetValues<int>{local.begin.data() + own, points});
  for_each(exec, (int)key.size() - points, SetValues<int>{local.leaf.data() + points, -1});
  for_each(exec, points, LeavesOfPoints{flag.data(), firsts.before.data(), local.leaf.data()});
  for_each(exec, inside,
           LeavesOfGhosts{of_ghost, start.data(), own, other.data(), other_firsts.before.data(), order.data(),
                          local.leaf.data() + n});
  // their corners
  Buffer<Key> corner = make_unset<Key>(exec, (size_t)cells.n * (size_t)(2 * corners + 1));
  Requests(exec, keepers.comm, begins_of_runs(exec, keepers, own, others, cells.start.data(), none))
    .ask(cells.start, 1, corner, 2 * corners + 1, [&](int number, const Key *keys, Key *to) {
      for_each(exec, number,
               FindCorners{kept.start.data(), kept.hangs.data(), kept.vertex.data(), kept.key.data(),
                           kept.vertex_key.data(), kept.n, corners, keys, to});
    });
  set_vertices(exec, corner, cells);
  return local;
}

} // namespace tessera::tree
