// Cells that hold parts of the mesh which nothing ties to each other nearby: the sides of a slit, the teeth of a comb,
// the sides of a barrier of little conductivity. The function of a vertex would tie them together. So each vertex gets
// a function for every connected component of the nodes around it: two nodes are connected there that are coupled and
// that both lie in leaves with this vertex.
//
// Nodes of a leaf that are coupled inside it form a part; it stands for its first node, the root. A label for each
// root and corner spreads to the parts of other leaves that are coupled with it and have the same vertex, until none
// changes. On nearly all meshes all parts around each vertex have the same label after a pass or two.
#include "tree/rows.hpp"
#include "tree/setup.hpp"
#include "exec/each.hpp"
#include <algorithm>
#include <climits>
#include <cmath>
#include <numeric>

namespace tessera::tree {

namespace {

// Two nodes are coupled if their entries count beside the larger diagonal: parts across a barrier of hardly any
// conductivity are apart, and so is what conducts much better from what lies around it. Jumps of 1e4 do without, in
// the plane and in space.
constexpr double weak = 1e-5;
template <class T> struct Coupled {
  const T *a, *d; // d: the largest diagonal entry of each node, ghosts included; nullptr: all couplings count
  int      bs;
  HD bool  operator()(int p, int e, int q) const
  {
    if (!d) return true;
    const T *const block = a + (ptrdiff_t)bs * bs * e;
    T              v     = fabs(*block);
    for (int k = 1; k < bs * bs; ++k) v = fabs(block[k]) > v ? fabs(block[k]) : v;
    return v > (T)weak * (d[p] > d[q] ? d[p] : d[q]);
  }
};
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
  HD void operator()(int k) const { label[k] = k / corners < own ? INT_MAX - offset - k / corners : 0; }
};
// The largest label that a part of the leaf meets at each corner, up to the largest one of all around the vertex.
// Returns how many have changed.
template <class T> struct SpreadLabels {
  const int *begin, *i, *j, *leaf, *root, *vertex, *largest;
  int        corners;
  int       *label;
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
        for (int c = 0; c < corners; ++c) open |= own[c] >= 0 && mine[c] != largest[own[c]] ? 1u << c : 0;
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
// From ghosts to the parts that they are in.
struct TakeLabels {
  const int *root, *of;
  int        first, corners; // ghost
  int       *label;
  HD double  operator()(int k) const
  {
    const ptrdiff_t from = (ptrdiff_t)corners * first + k;
    int *const      mine = label + (ptrdiff_t)corners * root[from / corners] + k % corners;
    const bool      more = of[from] > *mine; // threads of several ghosts of a part may count it
    raise_to(mine, of[from]);
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
struct CountOthers {
  const int *leaf, *root, *label, *vertex, *largest;
  int        corners;
  HD double  operator()(int p) const
  {
    double others = 0;
    for (int c = 0; c < corners && root[p] == p; ++c)
      if (const int v = vertex[(ptrdiff_t)corners * leaf[p] + c]; v >= 0)
        others += label[(ptrdiff_t)corners * p + c] != largest[v];
    return others;
  }
};

// A component of the nodes around a vertex.
struct Component {
  int  vertex, label;
  bool operator<(const Component &o) const { return vertex != o.vertex ? vertex < o.vertex : label > o.label; }
  bool operator==(const Component &o) const { return vertex == o.vertex && label == o.label; }
};
// Those of all processes, each once, in order.
void gather(MPI_Comm comm, std::vector<Component> &list)
{
  const auto once = [&] {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  };
  once();
  int size, count = (int)list.size();
  MPI_Comm_size(comm, &size);
  std::vector<int> counts((size_t)size), first((size_t)size + 1);
  MPI_Allgather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, comm);
  std::partial_sum(counts.begin(), counts.end(), first.begin() + 1);
  std::vector<Component> all((size_t)first.back());
  static_assert(sizeof(Component) == 2 * sizeof(int), "sent as a pair of integers");
  MPI_Allgatherv(list.data(), count, MPI_2INT, all.data(), counts.data(), first.data(), MPI_2INT, comm);
  list = std::move(all);
  once();
}

// Leaves of which all nodes have the same vertices: runs of own nodes in their order, and behind them those of ghosts.
struct Runs {
  int              corners;
  const int       *vertex_of; // of each node at each corner
  std::vector<int> begin, vertex, next, last; // next: run of the same cell before; last: the newest of each cell
  Runs(int corners_, const int *of, int cells) : corners(corners_), vertex_of(of), last((size_t)cells, -1) { }
  int add(int p, int cell, int first)
  {
    const int *const v = vertex_of + (ptrdiff_t)corners * p;
    begin.push_back(first);
    vertex.insert(vertex.end(), v, v + corners);
    next.push_back(last[(size_t)cell]);
    return last[(size_t)cell] = (int)begin.size() - 1;
  }
  bool fits(int run, int p) const
  {
    const int *const v = vertex_of + (ptrdiff_t)corners * p;
    return std::equal(v, v + corners, vertex.data() + (ptrdiff_t)corners * run);
  }
  int find(int p, int cell) const
  {
    int run = last[(size_t)cell];
    while (run >= 0 && !fits(run, p)) run = next[(size_t)run];
    return run;
  }
};

} // namespace

// The largest diagonal entry of each node, ghosts included, where parts are told apart by values, else none: on the
// first grid, where more than a few nodes have weak couplings, and on all others then. Collective.
template <class T> Buffer<T> Setup<T>::find_weak(Level<T> &fine, const Buffer<int> &leaf, double few)
{
  const bool first = levels_.size() == 1;
  if (!first && !parts_.strong) return {};
  Buffer<T> d = make_unset<T>((size_t)(fine.n + fine.ghosts));
  for_each(exec_, fine.n, LargestDiagonal<T>{fine.i.data(), fine.j.data(), fine.a.data(), params_.bs, d.data()});
  if (fine.distributed) fine.exchange.forward(d.data(), 1);
  if (!first) return d;
  Buffer<double>   sum = make<double>(1);
  const Coupled<T> coupled{fine.a.data(), d.data(), params_.bs};
  sum_each(exec_, fine.points, CountWeak<T>{fine.i.data(), fine.j.data(), leaf.data(), coupled}, sum.data());
  parts_.strong = total(fetch(sum, 0)) > few;
  return parts_.strong ? std::move(d) : Buffer<T>();
}

// The labels of roots and corners. False: those around each vertex are equal, or those that are not are few, as on any
// mesh: at most as many as two lines (surfaces) across the mesh have nodes, or 3 % of all nodes. On meshes whose nodes
// moved at random they are 0.3 to 0.4 %, with slits every six elements 30 %. Collective.
template <class T> bool Setup<T>::label_parts(Level<T> &fine, const Cells &cells, const Buffer<int> &leaf,
                                              Buffer<int> &root, Buffer<int> &label, Buffer<int> &largest)
{
  const int corners = fine.transfer.corners, points = fine.points, all = fine.n + fine.ghosts;
  int       offset = 0;
  if (fine.distributed) MPI_Exscan(&points, &offset, 1, MPI_INT, MPI_SUM, comm_);
  root = make_unset<int>((size_t)all);
  label = make_unset<int>((size_t)all * (size_t)corners);
  for_each(exec_, all, Enumerate{root.data()});
  const int *const begin = fine.transfer.begin.data(), *const i = fine.i.data(), *const j = fine.j.data();
  const double     lines = 2 * std::pow(fine.nodes, (params_.dim - 1.) / params_.dim);
  const double     few = parts_.split ? 0 : std::max(lines, 0.03 * fine.nodes);
  const Buffer<T>  d = find_weak(fine, leaf, few);
  const Coupled<T> coupled{fine.a.data(), d.data(), params_.bs};
  for_each(exec_, cells.n, FindRoots<T>{begin, i, j, leaf.data(), root.data(), !fine.distributed, coupled});
  for_each(exec_, all * corners, FirstLabels{points, offset, corners, label.data()});
  largest = make<int>((size_t)cells.vertices);
  for_each(exec_, points,
           LargestLabels{leaf.data(), root.data(), label.data(), cells.vertex.data(), corners, largest.data()});
  Buffer<int> of;
  if (fine.distributed) {
    of = make_unset<int>(label.size());
    if (lost()) return false;
    join_at_vertices(exec_, comm_, cells, largest);
  }
  Buffer<double> sum = make<double>(1);
  for (;;) {
    sum_each(exec_, cells.n,
             SpreadLabels<T>{begin, i, j, leaf.data(), root.data(), cells.vertex.data(), largest.data(), corners,
                             label.data(), coupled},
             sum.data());
    double changes = fetch(sum, 0);
    if (fine.distributed) {
      for_each(exec_, fine.n * corners, LabelsOfNodes{root.data(), label.data(), corners, of.data()});
      fine.exchange.forward(of.data(), corners);
      sum_each(exec_, fine.ghosts * corners, TakeLabels{root.data(), of.data(), fine.n, corners, label.data()},
               sum.data());
      changes = total(changes + fetch(sum, 0));
    }
    sum_each(exec_, points,
             CountOthers{leaf.data(), root.data(), label.data(), cells.vertex.data(), largest.data(), corners},
             sum.data());
    // labels only grow, so there will be fewer
    const double others = fine.distributed ? total(fetch(sum, 0)) : fetch(sum, 0);
    if (!(others > few)) {
      if (levels_.size() == 1) parts_.strong = false;
      return false;
    }
    if (changes == 0) return true;
  }
}

// A vertex for each component, and runs of nodes in place of the leaves. Weights stay, so linear functions are still
// reproduced.
template <class T> void Setup<T>::split_leaves(Level<T> &fine, Cells &cells, Buffer<int> &leaf)
{
  Buffer<int> roots, labels, ends;
  if (!label_parts(fine, cells, leaf, roots, labels, ends)) return;
  const int         corners = fine.transfer.corners, points = fine.points, all = fine.n + fine.ghosts;
  const Buffer<int> root = on_host(roots), label = on_host(labels), largest = on_host(ends), in = on_host(leaf),
                    vertex = on_host(cells.vertex);
  const Buffer<T>   weight = on_host(fine.transfer.weight);
  // the components of vertices that have several
  const auto component = [&](int p, int c) {
    const int v = vertex.data()[(ptrdiff_t)corners * in.data()[p] + c];
    return Component{v, v < 0 ? 0 : label.data()[(ptrdiff_t)corners * root.data()[p] + c]};
  };
  const std::vector<int> numbers = listed(cells.number);
  const auto number_of_vertex = [&](int v) { return fine.distributed ? numbers[(size_t)v] : v; };
  std::vector<int> several((size_t)cells.vertices);
  const auto       for_components = [&](const auto &f) {
    for (int p = 0; p < points; ++p)
      for (int c = 0; c < corners; ++c)
        if (const Component of = component(p, c); of.vertex >= 0) f(c, of, weight.data()[(ptrdiff_t)corners * p + c]);
  };
  for_components([&](int, const Component &of, T) {
    if (of.label != largest.data()[of.vertex]) several[(size_t)of.vertex] = 1;
  });
  if (fine.distributed) {
    Buffer<int> here = copy_to(exec_.space, several);
    join_at_vertices(exec_, comm_, cells, here);
    several = listed(here);
  }
  // neighbours in the order have mostly the same ones
  std::vector<Component> list, newest((size_t)corners, Component{-1, 0});
  for_components([&](int c, const Component &of, T w) {
    if (!(w > 0) || !several[(size_t)of.vertex] || of == newest[(size_t)c]) return;
    list.push_back({number_of_vertex(of.vertex), of.label});
    newest[(size_t)c] = of;
  });
  gather(fine.distributed ? (MPI_Comm)comm_ : MPI_COMM_SELF, list);
  // Vertices before each component in the list: their components take their place in the order of all.
  std::vector<int> before(1);
  for (size_t k = 0; k < list.size(); ++k)
    before.push_back(before.back() + (k + 1 == list.size() || list[k + 1].vertex != list[k].vertex));
  const int vertices = fine.distributed ? cells.first.back() : cells.vertices;
  const int all_new  = vertices + (int)list.size() - before.back();
  if (all_new >= 0.8 * fine.nodes) return; // neighbours lie anywhere: there would be no smaller grid
  parts_.split = true;
  const auto number_of = [&](const Component &of) {
    if (of.vertex < 0) return -1;
    const int  number = number_of_vertex(of.vertex);
    const auto at     = std::lower_bound(list.begin(), list.end(),
                                         Component{number, several[(size_t)of.vertex] ? of.label : INT_MAX});
    const int  extra  = (int)(at - list.begin()) - before[(size_t)(at - list.begin())];
    if (!several[(size_t)of.vertex]) return number + extra;
    return at != list.end() && at->vertex == number && at->label == of.label ? number + extra : -1;
  };
  std::vector<int> mine((size_t)all * (size_t)corners, -1);
  for (int p = 0; p < points; ++p)
    for (int c = 0; c < corners; ++c) {
      const size_t    at = (size_t)corners * (size_t)p + (size_t)c;
      const Component of = component(p, c);
      mine[at]           = p && of == component(p - 1, c) ? mine[at - (size_t)corners] : number_of(of);
    }
  Buffer<int> of_nodes = copy_to(exec_.space, mine);
  if (fine.distributed) fine.exchange.forward(of_nodes.data(), corners);
  place_in_runs(fine, cells, leaf, listed(of_nodes));
  if (fine.distributed) { // other keepers
    const int size = (int)cells.first.size() - 1;
    for (int r = 0; r <= size; ++r) cells.first[(size_t)r] = (int)((long)all_new * r / size);
  } else cells.number = Buffer<int>();
}

// Leaves become runs of nodes with the same vertices, of[] at each corner by their numbers among all.
template <class T>
void Setup<T>::place_in_runs(Level<T> &fine, Cells &cells, Buffer<int> &leaf, const std::vector<int> &of)
{
  const int              points = fine.points, all = fine.n + fine.ghosts, corners = fine.transfer.corners;
  const Buffer<int>      in = on_host(leaf);
  const std::vector<int> old = listed(cells.vertex);
  // the vertices here, and those of the tree that they are on
  std::vector<std::pair<int, int>> vertices;
  const size_t                     step = (size_t)corners;
  const auto                       as_before = [&](size_t k) { return k >= step && of[k] == of[k - step]; };
  for (size_t k = 0; k < of.size(); ++k)
    if (of[k] >= 0 && !as_before(k))
      vertices.push_back({of[k], old[(size_t)(in.data()[k / (size_t)corners] * corners) + k % (size_t)corners]});
  std::sort(vertices.begin(), vertices.end());
  vertices.erase(std::unique(vertices.begin(), vertices.end()), vertices.end());
  std::vector<int> here, from, numbers;
  for (const auto &[number, vertex] : vertices) {
    numbers.push_back(number);
    from.push_back(vertex);
  }
  for (size_t k = 0; k < of.size(); ++k)
    here.push_back(of[k] < 0      ? -1
                   : as_before(k) ? here[k - step]
                                  : (int)(std::lower_bound(numbers.begin(), numbers.end(), of[k]) - numbers.begin()));
  cells.number = copy_to(exec_.space, numbers);
  Buffer<int> run = on_host(leaf);
  Runs        runs(corners, here.data(), cells.n);
  for (int p = 0; p < points; ++p) {
    const int  cell = in.data()[p], before = p ? run.data()[p - 1] : -1;
    const bool same = p && in.data()[p - 1] == cell && runs.fits(before, p);
    run.data()[p] = same ? before : runs.add(p, cell, p);
  }
  for (int p = fine.n; p < all; ++p)
    if (const int cell = in.data()[p]; cell >= 0) {
      const int found = runs.find(p, cell);
      run.data()[p]   = found >= 0 ? found : runs.add(p, cell, points);
    }
  cells.n = (int)runs.begin.size();
  runs.begin.push_back(points);
  fine.transfer.cells = cells.n;
  fine.transfer.begin = copy_to(exec_.space, runs.begin);
  cells.vertex        = copy_to(exec_.space, runs.vertex);
  copy(run, leaf);
  const Buffer<int> vertex = copy_to(exec_.space, from);
  galerkin_.take_vertices(vertex, (int)from.size(), 1, cells.key);
  galerkin_.take_vertices(vertex, (int)from.size(), params_.dim, cells.y);
  cells.vertices = (int)from.size();
}

#define INSTANTIATE(T) template void Setup<T>::split_leaves(Level<T> &, Cells &, Buffer<int> &);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
