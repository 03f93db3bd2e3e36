// Cells that hold parts of the mesh which nothing ties to each other nearby: the sides of a slit, the teeth of a comb,
// the sides of a barrier of little conductivity. The function of a vertex would tie them together. Here it is found out
// whether there are many; split.cxx then makes functions of their own for them.
//
// Nodes of a leaf that are coupled inside it form a part; it stands for its first node, the root. A label for each
// root and corner spreads to the parts of other leaves that are coupled with it and have the same vertex, until none
// changes. On nearly all meshes all parts around each vertex have the same label after a pass or two.
#include "tree/coupled.hpp"
#include "tree/pockets.hpp"
#include "tree/rows.hpp"
#include "tree/setup.hpp"
#include "exec/each.hpp"
#include "exec/gather.hpp"
#include <algorithm>
#include <climits>
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
template <class T> struct Inverse {
  const T *d;
  T       *inverse;
  HD void  operator()(int p) const { inverse[p] = d[p] > 0 ? 1 / d[p] : 0; }
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
    const int first = begin[l];
    int       others = begin[l + 1] - first - 1; // own nodes that are not yet in the part of the first one
    for (bool changed = true; changed;) {
      changed = false;
      for (int p = first; p < begin[l + 1]; ++p)
        for (int e = i[p]; e < i[p + 1]; ++e) {
          const int q = j[e];
          if (leaf[q] != l || root[q] == root[p] || !coupled(p, e, q)) continue;
          const int least = root[p] < root[q] ? root[p] : root[q], larger = root[p] < root[q] ? q : p;
          root[larger]    = least;
          changed         = true;
          if (least == first && larger < begin[l + 1] && !--others && alone) return;
        }
    }
  }
};
// Own roots begin with labels that fall with their numbers among all processes' nodes, ghosts with one below all.
struct FirstLabels {
  int     own, offset, corners;
  int    *label;
  HD int  of(int k) const { return k / corners < own ? INT_MAX - offset - k / corners : 0; }
  HD void operator()(int k) const { label[k] = of(k); }
};
// The largest label that a part of the leaf meets at each corner, up to the largest one of all around the vertex.
// Looks at vertices around which labels have grown in this pass or in the one before. Returns how many have grown.
template <class T> struct SpreadLabels {
  const int *begin, *i, *j, *leaf, *root, *vertex, *largest;
  int        corners, pass; // from 1
  int       *label, *grown; // grown: at each vertex the last pass in which a label grew
  Coupled<T> coupled;
  HD double  operator()(int l) const
  {
    const int *const own = vertex + (ptrdiff_t)corners * l;
    unsigned         open = 0; // corners whose label may grow
    int              part = -1;
    double           changes = 0;
    for (int p = begin[l]; p < begin[l + 1]; ++p) {
      int *const mine = label + (ptrdiff_t)corners * root[p];
      int        last = -1;
      if (root[p] != part) {
        open = 0;
        part = root[p];
        for (int c = 0; c < corners; ++c)
          if (own[c] >= 0 && mine[c] != largest[own[c]] && grown[own[c]] >= pass - 1) open |= 1u << c;
      }
      for (int e = i[p]; open && e < i[p + 1]; ++e) {
        const int k = leaf[j[e]], r = root[j[e]];
        if (k < 0 || k == l || r == last) continue;
        last = coupled.d ? -1 : r;
        const int *const others = vertex + (ptrdiff_t)corners * k, *const theirs = label + (ptrdiff_t)corners * r;
        for (int c = 0; c < corners; ++c)
          for (int d = 0; d < corners && open >> c & 1; ++d)
            if (own[c] == others[d] && theirs[d] > mine[c] && coupled(p, e, j[e])) {
              mine[c] = theirs[d];
              raise_to(grown + own[c], pass);
              ++changes;
              if (mine[c] == largest[own[c]]) open &= ~(1u << c);
            }
      }
    }
    return changes;
  }
};
struct LabelsOfNodes {
  const int *root, *label;
  int        corners;
  int       *of;
  HD void    operator()(int k) const { of[k] = label[(ptrdiff_t)corners * root[k / corners] + k % corners]; }
};
// From ghosts to the parts that they are in; grown: nullptr, or as above.
struct TakeLabels {
  const int *root, *of;
  int        first, corners; // ghost
  int       *label;
  const int *leaf = nullptr, *vertex = nullptr;
  int       *grown = nullptr;
  int        pass  = 0;
  HD double  operator()(int k) const
  {
    const ptrdiff_t from = (ptrdiff_t)corners * first + k;
    int *const      mine = label + (ptrdiff_t)corners * root[from / corners] + k % corners;
    const bool      more = of[from] > *mine; // threads of several ghosts of a part may count it
    raise_to(mine, of[from]);
    if (more && grown && leaf[from / corners] >= 0) {
      const int v = vertex[(ptrdiff_t)corners * leaf[from / corners] + k % corners];
      if (v >= 0) raise_to(grown + v, pass);
    }
    return more;
  }
};
struct LargestLabels {
  const int *leaf, *root, *label, *vertex;
  int        corners;
  int       *largest;
  HD void    operator()(int p) const
  {
    for (int c = 0; c < corners && root[p] == p; ++c)
      if (const int v = vertex[(ptrdiff_t)corners * leaf[p] + c]; v >= 0)
        raise_to(largest + v, label[(ptrdiff_t)corners * p + c]);
  }
};
// Components around vertices beside the one with the largest label, once where its label comes from, or once for each
// part of a leaf that is in it: of a part that several processes have, where the label of the part comes from.
struct CountOthers {
  const int  *leaf, *root, *label, *vertex, *largest, *part; // part: nullptr, or the label of each root's part
  FirstLabels first;
  bool        once;
  HD double   operator()(int p) const
  {
    double     others = 0;
    const bool counts = root[p] == p && (!part || part[p] == first.of(first.corners * p));
    for (int c = 0; c < first.corners && counts; ++c)
      if (const int v = vertex[(ptrdiff_t)first.corners * leaf[p] + c]; v >= 0) {
        const int k = first.corners * p + c;
        others += (!once || label[k] == first.of(k)) && label[k] != largest[v];
      }
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
// diagonals do not jump. Collective.
template <class T>
bool Setup<T>::find_parts(Level<T> &fine, const Cells &cells, const Buffer<int> &leaf, Buffer<T> &d)
{
  // Any mesh has some vertices with several components: 0.5 % of its nodes, up to 1.1 % where elements are flat, with
  // slits every six elements 10 %; small meshes up to 0.9 of what a line across the mesh has. With one unknown a node a
  // component counts for each part of a leaf that is in it but one, as those of slivers have one part alone: without
  // gaps that makes up to 0.4 of what a line or surface across the mesh has, with gaps that cost iterations 0.4 to 20.
  const double surface = std::pow(fine.nodes, (params_.dim - 1.) / params_.dim);
  const double many    = std::max(2 * surface, 0.03 * fine.nodes);
  const double few     = params_.bs == 1 ? std::max(0.5 * surface, 0.015 * fine.nodes)
                                         : std::max((params_.dim > 2 ? 0.4 : 1) * surface, 0.0125 * fine.nodes);
  const double by_values = params_.bs == 1 ? many : few; // pockets may be smaller than leaves: all parts count
  if (levels_.size() > 1 || parts_.split) {
    if (parts_.strong) d = largest_diagonals(fine);
    return parts_.split || has_parts(fine, cells, leaf, parts_.strong ? by_values : few, d);
  }
  // The smoother's functions of parts stand in for functions of coarse grids that values tell apart: these take fewer
  // iterations in the plane, but two to four times as long.
  if (params_.part_functions && params_.bs == 1 && params_.dim > 1) return has_parts(fine, cells, leaf, few, d);
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
  for_each(exec_, all, FirstLabels{fine.points, offset, 1, label.data()});
  Buffer<double> changes = make<double>(1);
  do {
    for_each(exec_, fine.n, LabelsOfNodes{root.data(), label.data(), 1, of.data()});
    fine.exchange.forward(of.data(), 1);
    sum_each(exec_, fine.ghosts, TakeLabels{root.data(), of.data(), fine.n, 1, label.data()}, changes.data());
  } while (total(fetch(changes, 0)) > 0);
  return label;
}

// Are there more than a few components around vertices beside one for each? Collective.
template <class T> bool Setup<T>::has_parts(Level<T> &fine, const Cells &cells, const Buffer<int> &leaf, double few,
                                            const Buffer<T> &d)
{
  const int corners = fine.transfer.corners, points = fine.points, all = fine.n + fine.ghosts;
  const int offset = fine.distributed ? sum_before(comm_, points) : 0;
  const bool once = params_.bs > 1;
  Buffer<int> root = make_unset<int>((size_t)all), label = make_unset<int>((size_t)all * (size_t)corners);
  for_each(exec_, all, Enumerate{root.data()});
  const int *const begin = fine.transfer.begin.data(), *const i = fine.i.data(), *const j = fine.j.data();
  const Coupled<T> coupled{fine.a.data(), d.data(), params_.bs, (T)parts_.weak};
  for_each(exec_, cells.n, FindRoots<T>{begin, i, j, leaf.data(), root.data(), !fine.distributed, coupled});
  for_each(exec_, all * corners, FirstLabels{points, offset, corners, label.data()});
  Buffer<int> largest = make<int>((size_t)cells.vertices);
  for_each(exec_, points,
           LargestLabels{leaf.data(), root.data(), label.data(), cells.vertex.data(), corners, largest.data()});
  Buffer<int> of, part;
  if (fine.distributed) {
    of = make_unset<int>(label.size());
    if (lost()) return false;
    join_at_vertices(exec_, comm_, cells, largest);
    if (!once) part = label_parts(fine, root, offset);
  }
  Buffer<double> sums  = make<double>(3); // changes here, and of ghosts; others
  Buffer<int>    grown = make<int>(largest.size());
  const auto     count = [&](bool each_once) {
    sum_each(exec_, points,
             CountOthers{leaf.data(), root.data(), label.data(), cells.vertex.data(), largest.data(), part.data(),
                         FirstLabels{points, offset, corners, nullptr}, each_once},
             sums.data() + 2);
  };
  std::vector<double> found;
  for (int pass = 1;; ++pass) {
    sum_each(exec_, cells.n,
             SpreadLabels<T>{begin, i, j, leaf.data(), root.data(), cells.vertex.data(), largest.data(), corners, pass,
                             label.data(), grown.data(), coupled},
             sums.data());
    if (fine.distributed) {
      for_each(exec_, fine.n * corners, LabelsOfNodes{root.data(), label.data(), corners, of.data()});
      fine.exchange.forward(of.data(), corners);
      sum_each(exec_, fine.ghosts * corners,
               TakeLabels{root.data(), of.data(), fine.n, corners, label.data(), leaf.data(), cells.vertex.data(),
                          grown.data(), pass},
               sums.data() + 1);
    }
    count(once);
    found = listed(sums);
    if (fine.distributed) MPI_Allreduce(MPI_IN_PLACE, found.data(), 3, MPI_DOUBLE, MPI_SUM, comm_);
    if (!(found[2] > few)) return false; // labels only grow, so there will be fewer
    if (found[0] + found[1] == 0) break;
  }
  if (once || parts_.strong) return true;
  count(true);
  const double components = fetch(sums, 2);
  return found[2] - (fine.distributed ? total(components) : components) > few; // without one part of each
}

#define INSTANTIATE(T) \
  template bool      Setup<T>::find_parts(Level<T> &, const Cells &, const Buffer<int> &, Buffer<T> &); \
  template bool      Setup<T>::has_parts(Level<T> &, const Cells &, const Buffer<int> &, double, const Buffer<T> &);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
