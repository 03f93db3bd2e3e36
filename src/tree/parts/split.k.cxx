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
// all functions stay. Around the vertices of bodies (bodies.k.cxx) all nodes are the core, too.
#include "tree/parts/labels.hpp"
#include "tree/cells/local_cells.hpp"
#include "tree/parts/split.hpp"
#include "exec/gather.hpp"

namespace tessera::tree {

namespace {

constexpr double of_core = 0.25;

// In bits for the corners: has a node a weight, is it in the core, and must there be a function because of it?
template <class T> struct FindCores {
  Around<T>      at;
  bool           whole, keep;
  const T       *weight;
  unsigned char *weighs, *core, *needs;
  HD void        operator()(int p) const
  {
    unsigned mine = 0, main = 0, positive = 0;
    if (at.leaf[p] >= 0) {
      const T *const   w = weight + (ptrdiff_t)at.corners * p;
      const int *const v = at.vertices_of(p);
      const T          least = (T)of_core;
      T                largest = 0;
      for (int c = 0; c < at.corners; ++c) {
        if (v[c] < 0) continue;
        mine |= whole || w[c] >= least ? 1u << c : 0;
        positive |= w[c] != 0 ? 1u << c : 0;
        if (w[c] > largest) largest = w[c], main = 1u << c;
      }
    }
    weighs[p] = (unsigned char)positive;
    core[p]   = (unsigned char)(mine | main);
    needs[p]  = (unsigned char)(keep ? positive : main);
  }
};
template <class T> struct JoinCores {
  Around<T>            at;
  const unsigned char *core;
  int                 *parent;
  HD void              operator()(int p) const
  {
    for (int e = at.i[p]; e < at.i[p + 1]; ++e)
      at.for_same(p, e, core[p], core, [&](int c, int d) {
        const int a = at.corners * p + c, b = at.corners * at.j[e] + d;
        if (parent_of(parent, a) != parent_of(parent, b)) unite(parent, a, b); // mostly it is done already
      });
  }
};
struct ParentOfPart { // all nodes of a part are alike
  int        corners;
  const int *root, *of;
  int       *parent;
  HD void    operator()(int k) const { parent[k] = of[(ptrdiff_t)corners * root[k / corners] + k % corners]; }
};
struct LabelCores {
  FirstLabels          first;
  const int           *parent;
  const unsigned char *core;
  HD void              operator()(int p) const
  {
    for (int c = 0; c < first.corners; ++c) {
      const int k = first.corners * p + c;
      first.label[k] = core[p] >> c & 1 ? first.of(parent[k]) : 0;
    }
  }
};
// The largest label around each vertex; are there others?
template <class T> struct LargestAround {
  Around<T>            at;
  const unsigned char *core;
  const int           *label;
  int                 *largest;
  HD void              operator()(int p) const
  {
    for_bits(core[p], [&](int c) { raise_to(largest + at.vertices_of(p)[c], label[(ptrdiff_t)at.corners * p + c]); });
  }
};
template <class T> struct FindSeveral {
  Around<T>            at;
  const unsigned char *core, *needs;
  const int           *label, *largest;
  int                 *several, *needed;
  HD void              operator()(int p) const
  {
    const int *const v = at.vertices_of(p);
    for_bits(core[p], [&](int c) {
      if (label[(ptrdiff_t)at.corners * p + c] != largest[v[c]]) raise_flag(several + v[c]);
    });
    for_bits(needs[p], [&](int c) { raise_flag(needed + v[c]); });
  }
};
struct AddNotNeeded { // vertices that no node needs have no function
  const int *needed;
  int       *several;
  HD void    operator()(int v) const
  {
    if (!needed[v]) several[v] = 1;
  }
};

// What other nodes find among their neighbours: the label of the one component at a corner, or nothing.
template <class T> struct FindAmongOthers {
  Around<T>            at;
  const unsigned char *weighs, *labelled;
  const int           *label, *several;
  int                 *found;
  unsigned char       *where; // in bits for the corners
  HD void              operator()(int p) const
  {
    int              best[8] = {};
    const int *const v = at.vertices_of(p);
    unsigned         wanted = weighs[p] & ~labelled[p], open = wanted;
    for (int e = at.i[p]; open && e < at.i[p + 1]; ++e)
      at.for_same(p, e, open, labelled, [&](int c, int d) {
        const int of = label[(ptrdiff_t)at.corners * at.j[e] + d];
        if (best[c] && of != best[c]) wanted &= ~(1u << c);
        best[c] = of;
        if (!several[v[c]] || !(wanted >> c & 1)) open &= ~(1u << c); // that is all there is to know
      });
    unsigned all = 0;
    for_bits(wanted, [&](int c) {
      if (best[c]) found[(ptrdiff_t)at.corners * p + c] = best[c], all |= 1u << c;
    });
    where[p] = (unsigned char)all;
  }
};
struct KeepFound {
  int                  corners;
  const int           *found;
  const unsigned char *where;
  int                 *label;
  unsigned char       *labelled;
  HD void              operator()(int p) const
  {
    for_bits(where[p], [&](int c) { label[(ptrdiff_t)corners * p + c] = found[(ptrdiff_t)corners * p + c]; });
    labelled[p] |= where[p];
  }
};
struct FindLabelled {
  int            corners;
  const int     *label;
  unsigned char *labelled;
  HD void        operator()(int p) const
  {
    unsigned all = 0;
    for (int c = 0; c < corners; ++c) all |= label[(ptrdiff_t)corners * p + c] ? 1u << c : 0;
    labelled[p] = (unsigned char)all;
  }
};

// Weights of functions that are left out go to the others of the node.
template <class T> struct DropWeights {
  int        corners;
  const int *of;
  T         *weight;
  HD void    operator()(int p) const
  {
    T *const w   = weight + (ptrdiff_t)corners * p;
    T        all = 0, left = 0;
    for (int c = 0; c < corners; ++c) {
      all += w[c];
      if (of[(ptrdiff_t)corners * p + c] < 0) w[c] = 0;
      left += w[c];
    }
    if (left == all) return;
    for (int c = 0; c < corners; ++c) w[c] *= all / left;
  }
};

} // namespace

// The components of cores
template <class T>
void Setup<T>::label_cores(Level<T> &fine, const Cells &cells, const Buffer<int> &leaf, Parts &parts)
{
  const Around<T> at = parts.at;
  const int       corners = at.corners, points = parts.points, all = parts.all;
  const int       offset = fine.distributed ? sum_before(comm_, points) : 0;
  parts.core   = make_unset<unsigned char>((size_t)all);
  parts.needs  = make_unset<unsigned char>((size_t)all);
  parts.weighs = make_unset<unsigned char>((size_t)all);
  parts.parent = make_unset<int>((size_t)all * (size_t)corners);
  parts.label  = make_unset<int>(parts.parent.size());
  const unsigned char *const core = parts.core.data();
  for_each(exec_, all,
           FindCores<T>{at, parts.whole, parts.keep, fine.transfer.weight.data(), parts.weighs.data(),
                        parts.core.data(), parts.needs.data()});
  for_each(exec_, all * corners, Enumerate{parts.parent.data()});
  // In a body all nodes are coupled in both directions. Leaves of coarse grids may hold many functions of bodies, and a
  // thread of a device takes a leaf.
  if (body_.any && (levels_.size() == 1 || !fine.by_nodes())) {
    const JoinedParts joined = join_parts(fine, cells, leaf, at.coupled);
    for_each(exec_, all * corners,
             ParentOfPart{corners, joined.root.data(), joined.parent.data(), parts.parent.data()});
  } else for_each(exec_, points, JoinCores<T>{at, core, parts.parent.data()});
  for_each(exec_, all * corners, PointToRoot{parts.parent.data()});
  for_each(exec_, all, LabelCores{{points, offset, corners, parts.label.data()}, parts.parent.data(), core});
  if (fine.distributed) {
    const PlaceOfRoot place{parts.parent.data()};
    Buffer<int>       of = make_unset<int>(parts.label.size());
    Buffer<double>    changes = make<double>(1);
    do {
      take_labels_of_others(exec_, fine, corners, place, parts.label, of, changes.data());
    } while (total(fetch(changes, 0)) > 0);
    for_each(exec_, all * corners, LabelsOfNodes<PlaceOfRoot>{place, parts.label.data(), of.data()});
    parts.label = std::move(of);
  }
  const auto at_vertices = [&](Buffer<int> &v) {
    if (fine.distributed) join_at_vertices(exec_, comm_, cells, v);
  };
  Buffer<int> largest = make<int>((size_t)cells.vertices), needed = make<int>(largest.size());
  parts.several       = make<int>(largest.size());
  for_each(exec_, points, LargestAround<T>{at, core, parts.label.data(), largest.data()});
  at_vertices(largest);
  for_each(exec_, points, FindSeveral<T>{at, core, parts.needs.data(), parts.label.data(), largest.data(),
                                         parts.several.data(), needed.data()});
  at_vertices(needed);
  for_each(exec_, cells.vertices, AddNotNeeded{needed.data(), parts.several.data()});
  at_vertices(parts.several);
}

// The other nodes take the components of their neighbours, first those beside a core. Nodes between two components
// belong to none, so that the order of nodes does not count.
template <class T> void Setup<T>::label_others(Level<T> &fine, Parts &parts)
{
  constexpr int         passes = 3;
  const int             corners = parts.at.corners;
  Buffer<int>           found = make_unset<int>((size_t)parts.points * (size_t)corners);
  Buffer<unsigned char> labelled = std::move(parts.core), where = make_unset<unsigned char>((size_t)parts.points);
  for (int pass = 0; pass < passes; ++pass) {
    for_each(exec_, parts.points,
             FindAmongOthers<T>{parts.at, parts.weighs.data(), labelled.data(), parts.label.data(),
                                parts.several.data(), found.data(), where.data()});
    for_each(exec_, parts.points,
             KeepFound{corners, found.data(), where.data(), parts.label.data(), labelled.data()});
    if (!fine.distributed) continue;
    fine.exchange.forward(parts.label.data(), corners);
    for_each(exec_, fine.ghosts, FindLabelled{corners, parts.label.data() + (ptrdiff_t)fine.n * corners,
                                              labelled.data() + fine.n});
  }
}

// key: of the nodes of the mesh; those of other grids go by their numbers among all
template <class T>
void Setup<T>::split_leaves(Level<T> &fine, Cells &cells, const Buffer<Key> &key, const Buffer<double> &y,
                            Buffer<int> &leaf)
{
  Buffer<T> values;
  const bool found = find_parts(fine, cells, y, leaf, values);
  if (lost() || !found) return; // in this order: lost() is for all processes
  const int  corners = fine.transfer.corners;
  const auto coupled = [&] {
    return Coupled<T>{fine.a.data(), values.data(), params_.bs, (T)parts_.weak, body_.of.data()};
  };
  Parts parts;
  parts.at     = {corners, fine.i.data(), fine.j.data(), leaf.data(), cells.vertex.data(), coupled()};
  parts.keep   = params_.bs > 1 || (parts_.strong && !smoother_knows_parts());
  parts.whole  = parts.keep || body_.any;
  parts.points = fine.points;
  parts.all    = fine.n + fine.ghosts;
  parts.key    = (levels_.size() > 1 ? fine.start : key).data();
  int        all_new = 0;
  const auto too_many = [&] { // or none is to be split
    label_cores(fine, cells, leaf, parts);
    label_others(fine, parts);
    all_new = number_functions(fine, cells, parts);
    // neighbours lie anywhere: there would be no smaller grid, or in the plane with bodies one that does not pay
    const double most = body_.any && levels_.size() == 1 && params_.dim == 2 ? 0.6 : 0.8;
    return all_new < 0 || all_new >= most * fine.nodes;
  };
  const bool many = too_many();
  if (lost()) return; // of a device that has failed the host learns zero
  if (many) {
    if (body_.any) { // bodies no larger than cells: they share functions from here on
      if (levels_.size() == 1) numeric_.set_body_functions(BodyFunctions::too_many);
      body_        = {};
      parts_.split = false;
      return;
    }
    if (parts_.split || !parts_.strong || !smoother_knows_parts()) return;
    parts_.strong = false; // in space gaps are left, without values
    if (params_.dim == 2) return;
    values           = Buffer<T>();
    parts.at.coupled = coupled();
    const bool again = too_many();
    if (lost() || again) return;
  }
  parts_.split = true;
  if (!parts.keep) {
    for_each(exec_, parts.points, DropWeights<T>{corners, parts.number.data(), fine.transfer.weight.data()});
    if (fine.distributed) fine.exchange.forward(fine.transfer.weight.data(), corners);
  }
  if (fine.distributed) fine.exchange.forward(parts.number.data(), corners);
  place_in_runs(fine, cells, leaf, parts.number, all_new);
  if (fine.distributed) { // other keepers
    const int size = (int)cells.first.size() - 1;
    for (int r = 0; r <= size; ++r) cells.first[(size_t)r] = (int)((long)all_new * r / size);
  } else cells.number = Buffer<int>();
}

#define INSTANTIATE(T) \
  template void Setup<T>::split_leaves(Level<T> &, Cells &, const Buffer<Key> &, const Buffer<double> &, Buffer<int> &);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
