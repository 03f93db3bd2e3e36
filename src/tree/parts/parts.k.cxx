// Cells that hold parts of the mesh which nothing ties to each other nearby: the sides of a slit, the teeth of a comb,
// the sides of a barrier of little conductivity. The function of a vertex would tie them together. Here it is found out
// whether there are many; split.k.cxx then makes functions of their own for them.
//
// Nodes of a leaf that are coupled inside it form a part; its first node, the root, stands for it. Parts of different
// leaves that are coupled join around the vertices that both leaves have, which leaves the components there.
#include "tree/parts/coupled.hpp"
#include "tree/parts/labels.hpp"
#include "tree/smoother/pockets.hpp"
#include "tree/rows.hpp"
#include "exec/each.hpp"
#include "exec/gather.hpp"
#include "exec/sets.hpp"
#include <algorithm>
#include <cmath>

namespace tessera::tree {

namespace {

template <class T> struct LargestDiagonal {
  const int *i, *j;
  const T   *a;
  int        bs;
  T         *d;
  HD void    operator()(int p) const
  {
    T         largest = 0;
    const int own     = own_entry(i, j, p);
    for (int k = 0; k < bs && own < i[p + 1]; ++k) {
      const T v = a[((ptrdiff_t)bs * own + k) * bs + k];
      largest   = v > largest ? v : largest;
    }
    d[p] = largest;
  }
};
struct CountInPockets {
  const int *size;
  int        limit;
  HD double  operator()(int p) const { return size[p] > 1 && size[p] <= limit; }
};
template <class T> struct CountWeak {
  const int *i, *j, *leaf;
  Coupled<T> coupled;
  HD double  operator()(int p) const
  {
    for (int e = i[p]; e < i[p + 1]; ++e)
      if (!coupled(p, e, j[e]) && leaf[j[e]] >= 0) return 1;
    return 0;
  }
};
// The roots of the nodes in a leaf: the least number of a part, which is an own node's where it has one.
template <class T> struct FindRoots {
  const int *begin, *i, *j, *leaf;
  int       *root;
  bool       alone; // there are no ghosts
  Coupled<T> coupled;
  HD void    operator()(int l) const
  {
    const int first = begin[l], end = begin[l + 1];
    int       others = end - first - 1; // parts of own nodes beside one
    for (int p = first; p < end && (others > 0 || !alone); ++p)
      for (int e = i[p]; leaf[p] == l && e < i[p + 1]; ++e) {
        if (leaf[j[e]] != l || root[j[e]] == root[p]) continue;
        const int a = root_of(root, p), b = root_of(root, j[e]), lesser = a < b ? a : b, larger = a < b ? b : a;
        if (a == b || !coupled(p, e, j[e])) continue;
        root[larger] = lesser;
        others -= lesser >= first && larger < end; // nodes of compact bodies may come before
      }
    for (int p = first; p < end; ++p)
      if (leaf[p] == l) root[p] = root[root[p]]; // of lesser nodes it is known already
    for (int p = first; p < end && !alone; ++p)
      for (int e = i[p]; e < i[p + 1]; ++e)
        if (const int q = j[e]; q >= end && leaf[q] == l) root[q] = root_of(root, q);
  }
};
// Nodes of compact bodies (bodies.k.cxx) are in leaves that need not hold them, and none of those that do.
template <class T> struct JoinAnywhere {
  const int *i, *j, *leaf;
  Coupled<T> coupled;
  int        matrix; // of which no node does
  int       *root;
  HD void    operator()(int p) const
  {
    for (int e = i[p]; coupled.body[p] != matrix && e < i[p + 1]; ++e)
      if (leaf[p] == leaf[j[e]] && parent_of(root, p) != parent_of(root, j[e]) && coupled(p, e, j[e]))
        unite(root, p, j[e]);
  }
};
struct LargestLabels {
  const int  *leaf, *root, *vertex;
  FirstLabels first;
  int        *largest;
  HD void     operator()(int p) const
  {
    for (int c = 0; c < first.corners && root[p] == p; ++c)
      if (const int v = vertex[(ptrdiff_t)first.corners * leaf[p] + c]; v >= 0)
        raise_to(largest + v, first.of(first.corners * p + c));
  }
};
// Each part of a leaf has a number for each corner. Where parts of two leaves are coupled, these numbers join at each
// vertex that both leaves have. A part that is joined with the one of the largest label around a vertex does not look
// for more: the others find it. Where one of two parts alone is coupled with the other, as the pattern or values are
// not symmetric, it depends on the order of threads whether they join.
template <class T> struct JoinParts {
  const int  *begin, *i, *j, *leaf, *root, *vertex, *largest;
  FirstLabels first;
  int        *parent;
  Coupled<T>  coupled;
#ifdef __CUDA_ARCH__
  static constexpr int log_met = 3; // a thread's memory
#else
  static constexpr int log_met = 5;
#endif
  HD bool     closed(int k, int v) const { return first.of(root_of(parent, k)) == largest[v]; }
  HD void     operator()(int l) const
  {
    const int        corners = first.corners;
    const int *const own     = vertex + (ptrdiff_t)corners * l;
    unsigned         open    = 0;
    int              part    = -1;
    Key              met[1 << log_met] = {}; // pairs of parts, the last ones
    for (int p = begin[l]; p < begin[l + 1]; ++p) {
      if (leaf[p] != l) continue;
      if (root[p] != part) {
        open = 0;
        part = root[p];
        for (int c = 0; c < corners; ++c)
          if (own[c] >= 0 && !closed(corners * part + c, own[c])) open |= 1u << c;
      }
      for (int e = i[p]; open && e < i[p + 1]; ++e) {
        const int k = leaf[j[e]], r = root[j[e]];
        const Key pair = (Key)(part + 1) << 32 | (Key)r;
        Key      &last = met[(unsigned)r * 0x9e3779b1u >> (32 - log_met)];
        if (k < 0 || k == l || pair == last || !coupled(p, e, j[e])) continue;
        last = pair;
        open &= ~join(own, part, vertex + (ptrdiff_t)corners * k, r, open);
      }
    }
  }
  // Corners at which nothing more is to be joined
  HD unsigned join(const int *own, int part, const int *others, int other, unsigned open) const
  {
    const int corners = first.corners;
    unsigned  done    = 0;
    for (int c = 0; c < corners; ++c)
      for (int d = 0; d < corners && open >> c & 1; ++d)
        if (own[c] == others[d]) {
          const int a = corners * part + c;
          unite(parent, a, corners * other + d);
          if (closed(a, own[c])) done |= 1u << c;
          break;
        }
    return done;
  }
};
// Where the label of a node at a corner stands
struct PlaceOfLabel {
  const int    *root, *parent;
  int           corners;
  HD ptrdiff_t operator()(ptrdiff_t k) const
  {
    return parent[(ptrdiff_t)corners * root[k / corners] + k % corners];
  }
};
// Components around vertices beside the one with the largest label, once where its label comes from, or once for each
// part of a leaf that is in it: of a part that several processes have, where the label of the part comes from.
struct CountOthers {
  const int  *leaf, *root, *parent, *label, *vertex, *largest, *part; // part: nullptr, or the label of each root's part
  FirstLabels first;
  bool        once;
  HD double   operator()(int p) const
  {
    double     others = 0;
    const bool counts = root[p] == p && (!part || part[p] == first.of(first.corners * p));
    for (int c = 0; c < first.corners && counts; ++c)
      if (const int v = vertex[(ptrdiff_t)first.corners * leaf[p] + c]; v >= 0) {
        const int k = first.corners * p + c, of = label[parent[k]];
        others += (!once || of == first.of(k)) && of != largest[v];
      }
    return others;
  }
};

// Nodes around vertices in such components.
struct CountNodesOfOthers {
  const int  *leaf, *root, *parent, *label, *vertex, *largest;
  FirstLabels first;
  HD double   operator()(int p) const
  {
    double others = 0;
    for (int c = 0; c < first.corners; ++c)
      if (const int v = vertex[(ptrdiff_t)first.corners * leaf[p] + c]; v >= 0)
        others += label[parent[(ptrdiff_t)first.corners * root[p] + c]] != largest[v];
    return others;
  }
};

} // namespace

// The largest diagonal entry of each node, ghosts included
template <class T> Buffer<T> Setup<T>::largest_diagonals(Level<T> &fine) const
{
  Buffer<T> d = make_unset<T>((size_t)(fine.n + fine.ghosts));
  for_each(exec_, fine.n, LargestDiagonal<T>{fine.i.data(), fine.j.data(), fine.a.data(), params_.bs, d.data()});
  if (fine.distributed) fine.exchange.forward(d.data(), 1);
  return d;
}

// Nodes that have weak couplings
template <class T>
double Setup<T>::count_weak(const Level<T> &fine, const Buffer<int> &leaf, const Buffer<T> &d) const
{
  Buffer<double>   sum = make<double>(1);
  const Coupled<T> coupled{fine.a.data(), d.data(), params_.bs, (T)parts_.weak};
  sum_each(exec_, fine.points, CountWeak<T>{fine.i.data(), fine.j.data(), leaf.data(), coupled}, sum.data());
  return total(fetch(sum, 0));
}

// Are many nodes in components that are not much larger than cells, by couplings that are not weak? weak: nodes that
// have weak ones.
template <class T> bool Setup<T>::has_pockets(Level<T> &fine, const Buffer<T> &d, double weak) const
{
  constexpr double many  = 0.0625;
  constexpr int    limit = 64;
  if (!(weak > many * fine.nodes)) return false;
  Buffer<T> inverse = make_unset<T>(d.size());
  for_each(exec_, (int)d.size(), Inverse<T>{d.data(), inverse.data()});
  const Buffer<int> size = component_sizes(comm_, fine, inverse.data(), (T)parts_.weak, limit);
  Buffer<double>    sum = make<double>(1);
  sum_each(exec_, fine.points, CountInPockets{size.data(), limit}, sum.data());
  return total(fetch(sum, 0)) > many * fine.nodes;
}

// Do grids have functions for parts of the mesh? d: the largest diagonal entries where values tell parts apart, on all
// grids then. On the first grid these are parts that hardly anything ties to others (hardly_coupled), if many nodes
// have such couplings. If many nodes lie in pockets (pockets.k.cxx) by the weaker bound weakly_coupled, and not by
// hardly_coupled, the weaker one is the bound. Barriers around pockets may be so thin that no node is inside, and
// diagonals do not jump. Where the smoother has functions of parts, values tell parts apart by across_barrier, beside
// thin barriers in the plane, and in space between gaps where coefficients jump. Collective.
template <class T>
bool Setup<T>::find_parts(Level<T> &fine, const Cells &cells, const Buffer<double> &y, const Buffer<int> &leaf,
                          Buffer<T> &d)
{
  // Any mesh has some vertices with several components: 0.5 % of its nodes, up to 1.1 % where elements are flat, with
  // slits every six elements 10 %; small meshes up to 0.9 of what a line across the mesh has. Most of these components
  // are slivers of one to three nodes. So with one unknown a node the nodes of components count, less three for each.
  const double surface = std::pow(fine.nodes, (params_.dim - 1.) / params_.dim);
  const double many    = std::max(2 * surface, 0.03 * fine.nodes);
  const double few     = params_.bs == 1 ? std::max(surface, 0.02 * fine.nodes)
                                         : std::max((params_.dim > 2 ? 0.4 : 1) * surface, 0.0125 * fine.nodes);
  const double by_values = params_.bs == 1 ? many : few; // pockets may be smaller than leaves: all parts count
  if (body_.any) return true;
  if (levels_.size() > 1 || parts_.split) {
    if (parts_.strong) d = largest_diagonals(fine);
    return parts_.split || has_parts(fine, cells, leaf, parts_.strong ? by_values : few, d);
  }
  // The smoother's functions of parts stand in for functions of coarse grids that values tell apart: these take fewer
  // iterations in the plane, but two to four times as long. The smoother's do not help beside barriers with open ends,
  // which enclose no part, and little, in space, where coefficients jump between gaps.
  if (smoother_knows_parts()) {
    parts_.strong = true;
    parts_.weak   = across_barrier;
    if (params_.dim == 2 && has_thin_barriers(fine, y, d) && has_parts(fine, cells, leaf, 0.5 * surface, d))
      return true;
    d               = Buffer<T>();
    parts_.strong   = false;
    const bool gaps = has_parts(fine, cells, leaf, few, d);
    parts_.strong   = params_.dim == 3 && gaps && has_jumps(fine, d);
    if (!parts_.strong) d = Buffer<T>();
    return gaps;
  }
  if (params_.bs > 1 && may_have_bodies()) return has_parts(fine, cells, leaf, few, d);
  const bool plane = params_.dim == 2 && params_.bs == 1; // in space functions for pockets take four times the setup
  d             = largest_diagonals(fine);
  parts_.strong = true;
  parts_.weak   = weakly_coupled;
  const double weaker  = plane ? count_weak(fine, leaf, d) : fine.nodes; // at most
  const bool   pockets = plane && has_pockets(fine, d, weaker);
  parts_.weak          = hardly_coupled;
  // fewer nodes than by the weaker bound
  const double weak = pockets || weaker > by_values ? count_weak(fine, leaf, d) : 0;
  if (pockets && !has_pockets(fine, d, weak)) {
    parts_.weak = weakly_coupled;
    if (has_parts(fine, cells, leaf, by_values, d)) return true;
    parts_.weak = hardly_coupled;
  }
  const bool hardly = weak > (params_.dim > 2 ? many : by_values);
  if (hardly && has_parts(fine, cells, leaf, by_values, d)) return true;
  parts_.strong = false;
  d             = Buffer<T>();
  return !hardly && has_parts(fine, cells, leaf, few, d);
}

// One label for each part of a leaf on all processes, at its roots here: the largest one of its own roots. Collective.
template <class T> Buffer<int> Setup<T>::label_parts(Level<T> &fine, const Buffer<int> &root, int offset) const
{
  const int   all = fine.n + fine.ghosts;
  Buffer<int> label = make_unset<int>((size_t)all), of = make_unset<int>((size_t)all);
  const PlaceOfLabel place{root.data(), root.data(), 1}; // roots are their own
  for_each(exec_, all, FirstLabels{fine.points, offset, 1, label.data()});
  Buffer<double> changes = make<double>(1);
  if (fine.distributed) do {
    take_labels_of_others(exec_, fine, 1, place, label, of, changes.data());
  } while (total(fetch(changes, 0)) > 0);
  return label;
}

template <class T>
JoinedParts Setup<T>::join_parts(const Level<T> &fine, const Cells &cells, const Buffer<int> &leaf,
                                 const Coupled<T> &coupled)
{
  const int        corners = fine.transfer.corners, points = fine.points, all = fine.n + fine.ghosts;
  const int *const begin = fine.transfer.begin.data(), *const i = fine.i.data(), *const j = fine.j.data();
  const int *const vertex = cells.vertex.data();
  JoinedParts      parts{make_unset<int>((size_t)all), make_unset<int>((size_t)all * (size_t)corners),
                    make<int>((size_t)cells.vertices)};
  int *const       root = parts.root.data();
  for_each(exec_, all, Enumerate{root});
  for_each(exec_, all * corners, Enumerate{parts.parent.data()});
  for_each(exec_, cells.n, FindRoots<T>{begin, i, j, leaf.data(), root, !fine.distributed, coupled});
  if (body_.any) {
    for_each(exec_, points, JoinAnywhere<T>{i, j, leaf.data(), coupled, body_.matrix, root});
    for_each(exec_, all, PointToRoot{root});
  }
  const FirstLabels first{points, fine.distributed ? sum_before(comm_, points) : 0, corners, nullptr};
  for_each(exec_, points, LargestLabels{leaf.data(), root, vertex, first, parts.largest.data()});
  if (fine.distributed) join_at_vertices(exec_, comm_, cells, parts.largest);
  for_each(exec_, cells.n,
           JoinParts<T>{begin, i, j, leaf.data(), root, vertex, parts.largest.data(), first, parts.parent.data(),
                        coupled});
  for_each(exec_, all * corners, PointToRoot{parts.parent.data()});
  return parts;
}

// Are there more than a few components around vertices beside one for each? They count, or with one unknown a node and
// without values their nodes, less those that a sliver may have. Collective.
template <class T> bool Setup<T>::has_parts(Level<T> &fine, const Cells &cells, const Buffer<int> &leaf, double few,
                                            const Buffer<T> &d)
{
  const int corners = fine.transfer.corners, points = fine.points, all = fine.n + fine.ghosts;
  const int offset = fine.distributed ? sum_before(comm_, points) : 0;
  // a component once at a vertex, its nodes, or the leaves that it is in
  const bool once = params_.bs > 1, nodes = !once && !parts_.strong;
  constexpr double of_sliver = 3; // nodes of a component
  if (lost()) return false;
  const JoinedParts joined = join_parts(fine, cells, leaf, {fine.a.data(), d.data(), params_.bs, (T)parts_.weak});
  const Buffer<int> &root = joined.root, &parent = joined.parent, &largest = joined.largest;
  Buffer<int>        label = make_unset<int>(parent.size()), of, part;
  const int *const   vertex = cells.vertex.data();
  const FirstLabels  first{points, offset, corners, label.data()};
  for_each(exec_, all * corners, first);
  if (fine.distributed) {
    of = make_unset<int>(label.size());
    if (!once && !nodes) part = label_parts(fine, root, offset);
  }
  Buffer<double> sums = make<double>(2); // others; changes of ghosts
  const auto     count = [&](bool each_once) {
    sum_each(exec_, points,
             CountOthers{leaf.data(), root.data(), parent.data(), label.data(), vertex, largest.data(), part.data(),
                         first, each_once},
             sums.data());
  };
  const auto count_nodes = [&] {
    sum_each(exec_, points,
             CountNodesOfOthers{leaf.data(), root.data(), parent.data(), label.data(), vertex, largest.data(), first},
             sums.data());
  };
  const PlaceOfLabel  place{root.data(), parent.data(), corners};
  std::vector<double> found;
  do { // labels only grow, so there are ever fewer
    if (fine.distributed) take_labels_of_others(exec_, fine, corners, place, label, of, sums.data() + 1);
    if (nodes) count_nodes();
    else count(once);
    found = listed(sums);
    if (fine.distributed) MPI_Allreduce(MPI_IN_PLACE, found.data(), 2, MPI_DOUBLE, MPI_SUM, comm_);
    if (!(found[0] > few)) return false;
  } while (found[1] > 0);
  if (!nodes) return true;
  count(true);
  const double components = fetch(sums, 0);
  return found[0] - of_sliver * (fine.distributed ? total(components) : components) > few;
}

#define INSTANTIATE(T) \
  template Buffer<T> Setup<T>::largest_diagonals(Level<T> &) const; \
  template JoinedParts Setup<T>::join_parts(const Level<T> &, const Cells &, const Buffer<int> &, const Coupled<T> &); \
  template bool      Setup<T>::find_parts(Level<T> &, const Cells &, const Buffer<double> &, const Buffer<int> &, \
                                          Buffer<T> &); \
  template bool      Setup<T>::has_parts(Level<T> &, const Cells &, const Buffer<int> &, double, const Buffer<T> &);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
