// The functions of vertices that have several, numbered among those of all vertices and processes.
#include "tree/parts/split.hpp"
#include "exec/each.hpp"
#include "exec/gather.hpp"
#include "exec/random.hpp"
#include <algorithm>

namespace tessera::tree {

namespace {

// A component of the core of a vertex. Each vertex that may have several also has a marker, a component of label zero,
// which stands before them. Labels depend on the processes and on the numbers of nodes, the order of components does
// not: `nodes` is the sum of a random number for each node that needs the function, by the node's key. Its upper half
// decides; of components for which that is the same, hardly ever, the one with the larger label comes first.
struct Component {
  int    vertex, label;
  Key    nodes;
  HD Key order() const { return (Key)vertex << 32 | (!label ? 0 : nodes >> 32 ? nodes >> 32 : 1); }
  bool   same(const Component &o) const { return vertex == o.vertex && label == o.label; }
};
template <class T> struct FlagComponents {
  Around<T>            at;
  const unsigned char *needs;
  const int           *several, *parent;
  unsigned char       *flag;
  HD void              operator()(int p) const
  {
    for_bits(needs[p], [&](int c) {
      if (several[at.vertices_of(p)[c]]) flag[parent[(ptrdiff_t)at.corners * p + c]] = 1;
    });
  }
};
struct NumberOfVertex {
  const int *number; // of each vertex here among all; nullptr: all are here, by these numbers
  HD int     operator()(int v) const { return number ? number[v] : v; }
};
template <class T> struct PutComponent {
  Around<T>      at;
  NumberOfVertex number;
  const int     *root, *label;
  Component     *list;
  HD void        operator()(int m) const
  {
    const int k = root[m];
    list[m] = {number(at.vertices_of(k / at.corners)[k % at.corners]), label[k], 0};
  }
};
struct PutMarker {
  const int     *vertex;
  NumberOfVertex number;
  Component     *list;
  HD void        operator()(int m) const { list[m] = {number(vertex[m]), 0, 0}; }
};
template <class T> struct AddNodes {
  Around<T>            at;
  const unsigned char *needs;
  const int           *several, *parent, *before;
  const Key           *key; // nullptr: their numbers
  Component           *list;
  HD void              operator()(int p) const
  {
    for_bits(needs[p], [&](int c) {
      if (!several[at.vertices_of(p)[c]]) return;
      take(&list[before[parent[(ptrdiff_t)at.corners * p + c]]].nodes, (Key)mix(key ? key[p] : (Key)p));
    });
  }
};
struct OrderOfComponents {
  const Component *list;
  Key             *key;
  HD void          operator()(int m) const { key[m] = list[m].order(); }
};
struct TakeLabelsInOrder {
  const Component *list;
  const int       *order;
  int             *label;
  HD void          operator()(int m) const { label[m] = list[order[m]].label; }
};
struct FlagNotZero {
  const int     *of;
  unsigned char *flag;
  HD void        operator()(int v) const { flag[v] = of[v] != 0; }
};

// Functions are numbered in the order of vertices; in place of one that may have several there are those of its
// components. A vertex of m components has m + 1 items in the list, its marker among them, and m functions in place of
// one: what comes behind is moved on by the items before it less twice the markers.
//
// Of each vertex its function, or where its marker is.
struct FindFunctions {
  int            components;
  NumberOfVertex number;
  const int     *several, *markers; // markers: before each component
  const Key     *order;
  int           *function_or_marker;
  HD void        operator()(int v) const
  {
    const int n = number(v), first = lower_bound(order, 0, components, (Key)n << 32);
    function_or_marker[v] = several[v] ? first : n + first - 2 * markers[first];
  }
};
// The functions of nodes at their corners, by their numbers among all; -1: none.
template <class T> struct NumberFunctions {
  Around<T>  at;
  int        components;
  const int *several, *label, *function_or_marker;
  const Key *order;
  const int *labels, *markers; // of each component, and before it
  int       *of;
  HD int     of_component(int marker, int mine) const
  {
    const Key vertex = order[marker] >> 32;
    for (int k = marker + 1; k < components && order[k] >> 32 == vertex; ++k)
      if (labels[k] == mine) return (int)vertex + k + 1 - 2 * markers[k];
    return -1;
  }
  HD void operator()(int p) const
  {
    const int *const v = at.vertices_of(p);
    for (int c = 0; c < at.corners; ++c) {
      const ptrdiff_t k = (ptrdiff_t)at.corners * p + c;
      if (v[c] < 0 || !label[k]) of[k] = -1;
      else of[k] = several[v[c]] ? of_component(function_or_marker[v[c]], label[k]) : function_or_marker[v[c]];
    }
  }
};

// Those of all processes, each once.
std::vector<Component> gather(MPI_Comm comm, std::vector<Component> list)
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
  return list;
}

} // namespace

// The functions of vertices and components among all; returns how many, or -1: nothing is to be split.
template <class T> int Setup<T>::number_functions(Level<T> &fine, const Cells &cells, Parts &parts)
{
  const Around<T>       at = parts.at;
  const NumberOfVertex  number{fine.distributed ? cells.number.data() : nullptr};
  const int *const      several = parts.several.data();
  const size_t          items = parts.label.size(), own = (size_t)parts.points * (size_t)at.corners;
  Buffer<unsigned char> flag = make<unsigned char>(items), marked = make_unset<unsigned char>(parts.several.size());
  for_each(exec_, cells.vertices, FlagNotZero{several, marked.data()});
  const Flagged markers(exec_, cells.vertices, marked);
  for_each(exec_, parts.points, FlagComponents<T>{at, parts.needs.data(), several, parts.parent.data(), flag.data()});
  const Flagged     roots(exec_, (int)items, flag);
  Buffer<Component> list = make_unset<Component>((size_t)(roots.count + markers.count));
  for_each(exec_, roots.count, PutComponent<T>{at, number, roots.place.data(), parts.label.data(), list.data()});
  for_each(exec_, markers.count, PutMarker{markers.place.data(), number, list.data() + roots.count});
  // of a device that has failed the host learns that there are none
  for_each(exec_, roots.count ? parts.points : 0,
           AddNodes<T>{at, parts.needs.data(), several, parts.parent.data(), roots.before.data(), parts.key,
                       list.data()});
  if (fine.distributed) list = copy_to(exec_.space, gather(comm_, listed(list)));
  const int components = (int)list.size(), vertices = fine.distributed ? cells.first.back() : cells.vertices;
  if (!components && !body_.any) return -1;
  Buffer<Key>           order = make_unset<Key>(list.size());
  Buffer<int>           place, before, labels = make_unset<int>(list.size());
  Buffer<unsigned char> marks = make_unset<unsigned char>(list.size());
  for_each(exec_, components, OrderOfComponents{list.data(), order.data()});
  sort_keys(exec_, components, 32 + bits_of((Key)vertices), order, place);
  for_each(exec_, components, TakeLabelsInOrder{list.data(), place.data(), labels.data()});
  for_each(exec_, components, FlagEqual{labels.data(), 0, marks.data()});
  count_flags(exec_, components, marks, before);
  Buffer<int> function_or_marker = make_unset<int>(parts.several.size());
  for_each(exec_, cells.vertices,
           FindFunctions{components, number, several, before.data(), order.data(), function_or_marker.data()});
  parts.number = make_unset<int>(items);
  for_each(exec_, (int)(items - own), SetValues<int>{parts.number.data() + own, -1});
  for_each(exec_, parts.points,
           NumberFunctions<T>{at, components, several, parts.label.data(), function_or_marker.data(), order.data(),
                              labels.data(), before.data(), parts.number.data()});
  return vertices + components - 2 * fetch(before, list.size());
}

#define INSTANTIATE(T) template int Setup<T>::number_functions(Level<T> &, const Cells &, Parts &);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
