// Functions for parts of the mesh that lie in the same cells and are far apart along it; parts.k.cxx finds whether
// there are any. A vertex gets a function for each connected component of its core: the nodes where its weight is at
// least a quarter, or more than that of the other vertices. Components of all nodes around it would tie the fins of a
// heat sink together up to two cells above their feet. The other nodes around a vertex belong to the component that
// they are coupled with.
//
// A function must have a node at which no other vertex has more weight. Else the part reaches less than half a cell
// towards that vertex, and its weights go to the other vertices of its nodes: linear functions are not reproduced
// there, but grids have a quarter less unknowns, and no two functions are nearly the same.
//
// Where nodes have several unknowns, whose rotations must be reproduced, and where values tell parts apart in place of
// the smoother's functions, as nearly all nodes are at such a border then, all nodes around a vertex are its core, and
// all functions stay.
#include "tree/coupled.hpp"
#include "tree/setup.hpp"
#include "exec/gather.hpp"
#include "exec/random.hpp"
#include "exec/sets.hpp"
#include <algorithm>
#include <climits>

namespace tessera::tree {

namespace {

constexpr double of_core = 0.25;
constexpr int    marker  = INT_MAX; // above all labels

// A component of the core of a vertex; a marker stands before those of each vertex that may have several. Labels depend
// on the processes and on the numbers of nodes, the order of components does not: `nodes` is the sum of a random number
// for each node that needs the function, by the node's key.
struct Component {
  int  vertex, label;
  Key  nodes = 0;
  bool marks() const { return label == marker; }
  bool operator<(const Component &o) const
  {
    if (vertex != o.vertex) return vertex < o.vertex;
    if (marks() != o.marks()) return marks();
    return nodes != o.nodes ? nodes < o.nodes : label > o.label;
  }
  bool same(const Component &o) const { return vertex == o.vertex && label == o.label; }
};
// Those of all processes, each once, in order.
void gather(MPI_Comm comm, std::vector<Component> &list)
{
  const auto once = [&] {
    std::sort(list.begin(), list.end(), [](const Component &a, const Component &b) {
      return a.vertex != b.vertex ? a.vertex < b.vertex : a.label > b.label;
    });
    size_t n = 0;
    for (const Component &c : list)
      if (n && list[n - 1].same(c)) list[n - 1].nodes += c.nodes;
      else list[n++] = c;
    list.resize(n);
  };
  once();
  list = gather_from_all(comm, list).all;
  once();
  std::sort(list.begin(), list.end());
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
  // a corner without a function has no weight: any will do
  bool fits(int run, int p)
  {
    const int *const v = vertex_of + (ptrdiff_t)corners * p;
    int *const       of = vertex.data() + (ptrdiff_t)corners * run;
    for (int c = 0; c < corners; ++c)
      if (v[c] != of[c] && v[c] >= 0 && of[c] >= 0) return false;
    for (int c = 0; c < corners; ++c) of[c] = std::max(of[c], v[c]);
    return true;
  }
  int find(int p, int cell)
  {
    int run = last[(size_t)cell];
    while (run >= 0 && !fits(run, p)) run = next[(size_t)run];
    return run;
  }
};

// f(corner) for each that is marked
template <class F> inline void for_bits(unsigned bits, const F &f)
{
  for (; bits; bits &= bits - 1) f(__builtin_ctz(bits));
}

} // namespace

// What there is around vertices, on the host: of own nodes, then ghosts, at each corner of their leaves.
template <class T> struct Setup<T>::Parts {
  int                        corners, points, all;
  bool                       whole; // all nodes around a vertex are its core
  Buffer<int>                i, j, leaf, vertex;
  Buffer<T>                  weight, a, d;
  Coupled<T>                 coupled;
  std::vector<int>           label; // of the component; 0: none
  std::vector<unsigned char> core, labelled, needs; // corners, one bit each; needs: whose functions there must be
  std::vector<int>           largest, several;     // label around each vertex; are there others?
  std::vector<int>           number;               // of the function
  Buffer<Key>                key;                  // of the nodes, the same for any processes
  const int                 *vertices_of(int p) const { return vertex.data() + (ptrdiff_t)corners * leaf.data()[p]; }
  size_t                     at(int p, int c) const { return (size_t)p * (size_t)corners + (size_t)c; }
  // f(c, d) for corners c of p and d of its neighbour q, among those marked, at the same vertex; e: their entry
  template <class F>
  void for_same(int p, int e, unsigned of_p, const std::vector<unsigned char> &of_q, const F &f) const
  {
    const int q = j.data()[e], k = leaf.data()[q];
    if (k < 0 || q == p || (d.size() && !coupled(p, e, q))) return;
    const unsigned theirs = of_q[(size_t)q];
    if (k == leaf.data()[p]) return for_bits(of_p & theirs, [&](int c) { f(c, c); });
    const int *const mine = vertices_of(p), *const others = vertices_of(q);
    for_bits(of_p, [&](int c) {
      for_bits(theirs, [&](int at_other) {
        if (mine[c] == others[at_other]) f(c, at_other);
      });
    });
  }
};

// The components of cores
template <class T> void Setup<T>::label_cores(Level<T> &fine, const Cells &cells, Parts &parts)
{
  const int corners = parts.corners, points = parts.points, all = parts.all;
  const int offset = fine.distributed ? sum_before(comm_, points) : 0;
  const T   least  = parts.whole ? 0 : (T)of_core;
  Sets sets((size_t)all * (size_t)corners);
  parts.core.assign((size_t)all, 0);
  parts.needs.assign((size_t)all, 0);
  for (int p = 0; p < all; ++p) {
    if (parts.leaf.data()[p] < 0) continue;
    const T *const   w = parts.weight.data() + (ptrdiff_t)corners * p;
    const int *const v = parts.vertices_of(p);
    T                largest = 0;
    unsigned         core = 0, main = 0, positive = 0;
    for (int c = 0; c < corners; ++c) {
      if (v[c] < 0) continue;
      core |= w[c] >= least ? 1u << c : 0;
      positive |= w[c] > 0 ? 1u << c : 0;
      if (w[c] > largest) largest = w[c], main = 1u << c;
    }
    parts.core[(size_t)p]  = (unsigned char)(core | main);
    parts.needs[(size_t)p] = (unsigned char)(parts.whole ? positive : main);
  }
  for (int p = 0; p < points; ++p)
    for (int e = parts.i.data()[p]; e < parts.i.data()[p + 1]; ++e)
      parts.for_same(p, e, parts.core[(size_t)p], parts.core, [&](int c, int d) {
        const size_t a = parts.at(p, c), b = parts.at(parts.j.data()[e], d);
        if (sets.parent[a] != sets.parent[b]) sets.join((int)a, (int)b); // mostly it is done already
      });
  // roots are the first nodes of components; labels fall with the numbers of nodes among all processes'
  std::vector<int> &label = parts.label, root(label.size());
  const auto        for_core = [&](int from, int to, const auto &f) {
    for (int p = from; p < to; ++p) for_bits(parts.core[(size_t)p], [&](int c) { f(parts.at(p, c), p, c); });
  };
  for_core(0, all, [&](size_t k, int p, int) {
    root[k] = sets.root((int)k);
    if (root[k] == (int)k) label[k] = p < points ? marker - 1 - offset - p : 0;
  });
  for (bool changed = fine.distributed; changed;) {
    for_core(0, points, [&](size_t k, int, int) { label[k] = label[(size_t)root[k]]; });
    Buffer<int> sent = copy_to(exec_.space, label);
    fine.exchange.forward(sent.data(), corners);
    const std::vector<int> of = listed(sent);
    changed = false;
    for_core(fine.n, all, [&](size_t k, int, int) {
      if (of[k] <= label[(size_t)root[k]]) return;
      label[(size_t)root[k]] = of[k];
      changed                = true;
    });
    changed = total(changed) > 0;
  }
  for_core(0, all, [&](size_t k, int, int) { label[k] = label[(size_t)root[k]]; });
  parts.largest.assign((size_t)cells.vertices, 0);
  parts.several.assign((size_t)cells.vertices, 0);
  const auto at_vertices = [&](std::vector<int> &of) {
    if (!fine.distributed) return;
    Buffer<int> here = copy_to(exec_.space, of);
    join_at_vertices(exec_, comm_, cells, here);
    of = listed(here);
  };
  for_core(0, points, [&](size_t k, int p, int c) {
    int &largest = parts.largest[(size_t)parts.vertices_of(p)[c]];
    largest      = std::max(largest, label[k]);
  });
  at_vertices(parts.largest);
  for_core(0, points, [&](size_t k, int p, int c) {
    const size_t v = (size_t)parts.vertices_of(p)[c];
    if (label[k] != parts.largest[v]) parts.several[v] = 1;
  });
  std::vector<int> needed((size_t)cells.vertices);
  for (int p = 0; p < points; ++p)
    for_bits(parts.needs[(size_t)p], [&](int c) { needed[(size_t)parts.vertices_of(p)[c]] = 1; });
  at_vertices(needed);
  for (int v = 0; v < cells.vertices; ++v) // without a function of its own
    if (!needed[(size_t)v]) parts.several[(size_t)v] = 1;
  at_vertices(parts.several);
}

// The other nodes take the components of their neighbours, first those beside a core. Nodes between two components
// belong to none, so that the order of nodes does not count.
template <class T> void Setup<T>::label_others(Level<T> &fine, Parts &parts)
{
  constexpr int passes = 3;
  std::vector<std::pair<size_t, int>> found;
  parts.labelled = parts.core;
  for (int pass = 0; pass < passes; ++pass) {
    found.clear();
    for (int p = 0; p < parts.points; ++p) {
      int              best[8] = {};
      const int *const v = parts.vertices_of(p);
      const T *const   w = parts.weight.data() + parts.at(p, 0);
      unsigned         wanted = 0;
      for (int c = 0; c < parts.corners; ++c)
        if (v[c] >= 0 && w[c] > 0 && !(parts.labelled[(size_t)p] >> c & 1)) wanted |= 1u << c;
      unsigned open = wanted;
      for (int e = parts.i.data()[p]; open && e < parts.i.data()[p + 1]; ++e)
        parts.for_same(p, e, open, parts.labelled, [&](int c, int d) {
          const int label = parts.label[parts.at(parts.j.data()[e], d)];
          if (best[c] && label != best[c]) wanted &= ~(1u << c);
          best[c] = label;
          if (!parts.several[(size_t)v[c]] || !(wanted >> c & 1)) open &= ~(1u << c); // that is all there is to know
        });
      for_bits(wanted, [&](int c) {
        if (best[c]) found.push_back({parts.at(p, c), best[c]});
      });
    }
    for (const auto &[k, label] : found) {
      parts.label[k] = label;
      parts.labelled[k / (size_t)parts.corners] |= (unsigned char)(1u << k % (size_t)parts.corners);
    }
    if (!fine.distributed) continue;
    Buffer<int> sent = copy_to(exec_.space, parts.label);
    fine.exchange.forward(sent.data(), parts.corners);
    parts.label = listed(sent);
    for (int p = fine.n; p < parts.all; ++p)
      for (int c = 0; c < parts.corners; ++c)
        if (parts.label[parts.at(p, c)]) parts.labelled[(size_t)p] |= (unsigned char)(1u << c);
  }
}

// The functions of vertices and components among all; returns how many, or -1: nothing is to be split.
template <class T> int Setup<T>::number_parts(Level<T> &fine, const Cells &cells, Parts &parts)
{
  const std::vector<int> numbers = listed(cells.number);
  const auto             number_of_vertex = [&](int v) { return fine.distributed ? numbers[(size_t)v] : v; };
  std::vector<Component> list;
  std::vector<size_t>    newest((size_t)parts.corners, 0); // in the list, of each corner
  for (int v = 0; v < cells.vertices; ++v)
    if (parts.several[(size_t)v]) list.push_back({number_of_vertex(v), marker});
  for (int p = 0; p < parts.points; ++p)
    for_bits(parts.needs[(size_t)p], [&](int c) {
      const int v = parts.vertices_of(p)[c];
      if (!parts.several[(size_t)v]) return;
      const Component of{number_of_vertex(v), parts.label[parts.at(p, c)],
                         mix(parts.key.empty() ? (Key)p : parts.key.data()[p])};
      size_t         &at = newest[(size_t)c];
      if (at < list.size() && list[at].same(of)) list[at].nodes += of.nodes;
      else {
        at = list.size();
        list.push_back(of);
      }
    });
  gather(fine.distributed ? (MPI_Comm)comm_ : MPI_COMM_SELF, list);
  if (list.empty()) return -1;
  // markers before each place: their vertices are none any more
  std::vector<int> markers(list.size() + 1);
  for (size_t k = 0; k < list.size(); ++k) markers[k + 1] = markers[k] + list[k].marks();
  // of each vertex, where its marker is or would be
  std::vector<int> begin((size_t)cells.vertices);
  for (int v = 0; v < cells.vertices; ++v)
    begin[(size_t)v] =
      (int)(std::lower_bound(list.begin(), list.end(), Component{number_of_vertex(v), marker}) - list.begin());
  const auto number_of = [&](int v, int label) {
    const int number = number_of_vertex(v), first = begin[(size_t)v];
    if (!parts.several[(size_t)v]) return label ? number + first - 2 * markers[(size_t)first] : -1;
    for (size_t k = (size_t)first + 1; k < list.size() && list[k].vertex == number; ++k)
      if (list[k].label == label) return number + (int)k + 1 - 2 * markers[k];
    return -1;
  };
  parts.number.assign(parts.label.size(), -1);
  for (int p = 0; p < parts.points; ++p) {
    const bool same = p && parts.leaf.data()[p] == parts.leaf.data()[p - 1];
    for (int c = 0; c < parts.corners; ++c) {
      const int    v = parts.vertices_of(p)[c];
      const size_t k = parts.at(p, c), before = k - (size_t)parts.corners;
      if (v >= 0)
        parts.number[k] = same && parts.label[k] == parts.label[before]
                          ? parts.number[before]
                          : number_of(v, parts.label[k]);
    }
  }
  const int vertices = fine.distributed ? cells.first.back() : cells.vertices;
  return vertices + (int)list.size() - 2 * markers.back();
}

// Weights of functions that are left out go to the others of the node.
template <class T> void Setup<T>::drop_weights(Level<T> &fine, Parts &parts)
{
  for (int p = 0; p < parts.points; ++p) {
    T *const w   = parts.weight.data() + (ptrdiff_t)parts.corners * p;
    T        all = 0, left = 0;
    for (int c = 0; c < parts.corners; ++c) {
      all += w[c];
      if (parts.number[parts.at(p, c)] < 0) w[c] = 0;
      left += w[c];
    }
    if (left == all) continue;
    for (int c = 0; c < parts.corners; ++c) w[c] *= all / left;
  }
  copy(parts.weight, fine.transfer.weight);
  device::synchronize(exec_.space);
  if (fine.distributed) fine.exchange.forward(fine.transfer.weight.data(), parts.corners);
}

// key: of the nodes of the mesh; those of other grids go by their numbers among all
template <class T>
void Setup<T>::split_leaves(Level<T> &fine, Cells &cells, const Buffer<Key> &key, const Buffer<double> &y,
                            Buffer<int> &leaf)
{
  Buffer<T> values;
  if (!find_parts(fine, cells, y, leaf, values)) return;
  const int corners = fine.transfer.corners;
  Parts     parts;
  parts.corners = corners;
  parts.whole   = params_.bs > 1 || (parts_.strong && !smoother_knows_parts());
  parts.points  = fine.points;
  parts.all     = fine.n + fine.ghosts;
  parts.i       = on_host(fine.i);
  parts.j       = on_host(fine.j);
  parts.leaf    = on_host(leaf);
  parts.vertex  = on_host(cells.vertex);
  parts.weight  = on_host(fine.transfer.weight);
  parts.d       = on_host(values);
  parts.key     = on_host(levels_.size() > 1 ? fine.start : key);
  if (values.size()) parts.a = on_host(fine.a);
  parts.coupled = {parts.a.data(), parts.d.size() ? parts.d.data() : nullptr, params_.bs, (T)parts_.weak};
  int        all_new = 0;
  const auto too_many = [&] { // or none is to be split
    parts.label.assign((size_t)parts.all * (size_t)corners, 0);
    label_cores(fine, cells, parts);
    label_others(fine, parts);
    all_new = number_parts(fine, cells, parts);
    return all_new < 0 || all_new >= 0.8 * fine.nodes; // neighbours lie anywhere: there would be no smaller grid
  };
  if (too_many()) {
    if (parts_.split || !parts_.strong || !smoother_knows_parts()) return;
    parts_.strong = false; // in space gaps are left, without values
    parts.d       = Buffer<T>();
    if (params_.dim == 2 || too_many()) return;
  }
  parts_.split = true;
  if (!parts.whole) drop_weights(fine, parts);
  Buffer<int> of_nodes = copy_to(exec_.space, parts.number);
  if (fine.distributed) fine.exchange.forward(of_nodes.data(), corners);
  place_in_runs(fine, cells, leaf, listed(of_nodes), all_new);
  if (fine.distributed) { // other keepers
    const int size = (int)cells.first.size() - 1;
    for (int r = 0; r <= size; ++r) cells.first[(size_t)r] = (int)((long)all_new * r / size);
  } else cells.number = Buffer<int>();
}

// Leaves become runs of nodes with the same vertices, of[] at each corner by their numbers among all.
template <class T>
void Setup<T>::place_in_runs(Level<T> &fine, Cells &cells, Buffer<int> &leaf, const std::vector<int> &of, int all_new)
{
  const int              points = fine.points, all = fine.n + fine.ghosts, corners = fine.transfer.corners;
  const Buffer<int>      in = on_host(leaf);
  const std::vector<int> old = listed(cells.vertex);
  // the vertices here, and those of the tree that they are on
  const size_t step = (size_t)corners;
  const auto   on = [&](size_t k) { return old[(size_t)in.data()[k / step] * step + k % step]; };
  std::vector<int> from, numbers, here = of;
  if (fine.distributed) {
    std::vector<std::pair<int, int>> vertices;
    const auto as_before = [&](size_t k) { return k >= step && of[k] == of[k - step]; };
    for (size_t k = 0; k < of.size(); ++k)
      if (of[k] >= 0 && !as_before(k)) vertices.push_back({of[k], on(k)});
    std::sort(vertices.begin(), vertices.end());
    vertices.erase(std::unique(vertices.begin(), vertices.end()), vertices.end());
    for (const auto &[number, vertex] : vertices) {
      numbers.push_back(number);
      from.push_back(vertex);
    }
    for (size_t k = 0; k < of.size(); ++k)
      if (of[k] >= 0)
        here[k] = as_before(k) ? here[k - step]
                               : (int)(std::lower_bound(numbers.begin(), numbers.end(), of[k]) - numbers.begin());
  } else {
    from.resize((size_t)all_new);
    for (size_t k = 0; k < of.size(); ++k)
      if (of[k] >= 0) from[(size_t)of[k]] = on(k);
  }
  if (fine.distributed) cells.number = copy_to(exec_.space, numbers);
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

#define INSTANTIATE(T) \
  template void Setup<T>::split_leaves(Level<T> &, Cells &, const Buffer<Key> &, const Buffer<double> &, Buffer<int> &);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
