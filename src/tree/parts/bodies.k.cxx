// Bodies: parts of a mesh that weak couplings alone tie to the rest, such as what is much stiffer than what lies around
// it, or with one unknown a node inclusions that conduct better than the matrix around them. As a body hardly deforms,
// a function of a coarse grid that has a body and what is around it in common costs far more energy than what it stands
// for. So each body has functions of its own on all grids (split.k.cxx). Values tell bodies apart on the mesh alone: a
// function of a coarse grid is in the body of its nodes.
//
// A body that is no larger than a cell needs no more than the functions that are linear in the whole body: its motions
// are among them; with one unknown a node it needs one, the constant. It is compact if one of its nodes, its home, is
// coupled with all others, or on the mesh, where couplings are short, two couplings away from all. Then all its nodes
// have their weights from the home's leaf, so that there are at most dim + 1 functions of the body, or one (a few more
// where corners of the leaf hang), however the leaves divide it. Weights of nodes outside that leaf may be negative.
#include "tree/parts/bodies.hpp"
#include "tree/parts/coupled.hpp"
#include "tree/dispatch.hpp"
#include "tree/cells/keepers.hpp"
#include "tree/parts/labels.hpp"
#include "tree/cells/pairs.hpp"
#include "tree/setup.hpp"
#include "exec/each.hpp"
#include "exec/gather.hpp"
#include "exec/sets.hpp"
#include <climits>
#include <cmath>

namespace tessera::tree {

namespace {

template <class T> struct JoinCoupled {
  const int *i, *j;
  Coupled<T> coupled;
  int       *parent;
  HD void    operator()(int p) const
  {
    for (int e = i[p]; e < i[p + 1]; ++e)
      if (parent_of(parent, p) != parent_of(parent, j[e]) && coupled(p, e, j[e])) unite(parent, p, j[e]);
  }
};
// Of own nodes that are in the tree, others not: is there no strong coupling?
template <class T> struct FindSingle {
  const int *i, *j;
  Coupled<T> coupled;
  int       *single;
  HD void    operator()(int p) const
  {
    int any = 0;
    for (int e = i[p]; !any && e < i[p + 1]; ++e) any = j[e] != p && coupled(p, e, j[e]);
    single[p] = !any;
  }
};
// A node by itself has little stiffness, and follows the body that it is coupled with most.
template <class T> struct JoinSingle {
  const int *i, *j;
  Coupled<T> coupled;
  const int *single, *body;
  int       *of;
  HD void    operator()(int p) const
  {
    of[p]  = body[p];
    T most = 0;
    for (int e = i[p]; single[p] && e < i[p + 1]; ++e) {
      const T size = single[j[e]] ? 0 : coupled.size(e);
      if (size > most) of[p] = body[j[e]], most = size;
      else if (size > 0 && size == most && body[j[e]] != of[p]) of[p] = body[p]; // of two alike none
    }
  }
};
struct Labels {
  double  most = 0, least = -INT_MAX; // least: its negative
  HD void join(const Labels &o)
  {
    most  = o.most > most ? o.most : most;
    least = o.least > least ? o.least : least;
  }
};
struct FindLabels {
  const int *body;
  HD void    operator()(int p, Labels &found) const { found.join({(double)body[p], -(double)body[p]}); }
};
// f(q) for the nodes of a node's body other than the matrix that are coupled with it, itself among them
struct InBody {
  const int *i, *j, *body;
  int        matrix;
  HD bool    apart(int p) const { return body[p] != matrix; }
  template <class F> HD void each(int p, const F &f) const
  {
    for (int e = i[p]; apart(p) && e < i[p + 1]; ++e)
      if (body[j[e]] == body[p]) f(j[e]);
  }
};
struct Pick {
  Key     key; // of the home
  int     count, number; // nodes of the body that are coupled with it; among the nodes of all processes
  HD bool precedes(const Pick &o) const
  {
    return count != o.count ? count > o.count : key != o.key ? key < o.key : number < o.number;
  }
};
struct BeginPick {
  InBody     in;
  const Key *key;
  int        first; // number
  Pick      *pick;
  HD void    operator()(int p) const
  {
    int count = 0;
    in.each(p, [&](int) { ++count; });
    pick[p] = {key[p], count, first + p};
  }
};
struct JoinPicks {
  InBody      in;
  const Pick *from;
  Pick       *to;
  HD void     operator()(int p) const
  {
    Pick best = from[p];
    in.each(p, [&](int q) {
      if (from[q].precedes(best)) best = from[q];
    });
    to[p] = best;
  }
};
// Nodes beside which one of the same body picks another home
struct FindOthers {
  InBody      in;
  const Pick *pick;
  int        *others;
  HD void     operator()(int p) const
  {
    int any = !in.apart(p);
    in.each(p, [&](int q) { any |= pick[q].number != pick[p].number; });
    others[p] = any;
  }
};
struct Spread { // in a body the largest number
  InBody     in;
  const int *from;
  int       *to;
  HD void    operator()(int p) const
  {
    int most = from[p];
    in.each(p, [&](int q) { most = from[q] > most ? from[q] : most; });
    to[p] = most;
  }
};
// Of homes the axes along which coordinates of the nodes that are coupled with it do not depend on those along others,
// one bit each; zero of all other nodes. all: where they are not all axes, the body is not compact.
template <int D> struct FindAxes {
  InBody        in;
  const Pick   *pick;
  int           first;
  bool          all;
  const double *y;
  int          *others, *axes;
  HD void       operator()(int p) const
  {
    double n = 0, mean[D] = {}, of[D][D] = {};
    axes[p] = 0;
    if (pick[p].number != first + p || !in.apart(p)) return;
    in.each(p, [&](int q) {
      ++n;
      for (int k = 0; k < D; ++k) mean[k] += y[(ptrdiff_t)D * q + k];
    });
    in.each(p, [&](int q) {
      double x[D];
      for (int k = 0; k < D; ++k) x[k] = y[(ptrdiff_t)D * q + k] - mean[k] / n;
      for (int k = 0; k < D; ++k)
        for (int m = 0; m < D; ++m) of[k][m] += x[k] * x[m];
    });
    axes[p] = independent(of);
    if (all && axes[p] != (1 << D) - 1) others[p] = 1;
  }
  // By Cholesky's factors of the moments, the largest pivot first
  HD static int independent(double (&of)[D][D])
  {
    constexpr double flat = 1e-4;
    double           largest = 0;
    int              found = 0;
    for (int step = 0; step < D; ++step) {
      int    best  = 0;
      double pivot = 0;
      for (int k = 0; k < D; ++k)
        if (!(found >> k & 1) && of[k][k] > 1.001 * pivot) best = k, pivot = of[k][k]; // by rounding no other one
      if (!step) largest = pivot;
      if (!(pivot > flat * largest)) break;
      found |= 1 << best;
      for (int k = 0; k < D; ++k)
        for (int m = 0; m < D; ++m)
          if (k != best && m != best) of[k][m] -= of[k][best] * of[best][m] / pivot;
    }
    return found;
  }
};
struct TakeCompact { // what is compact, and was not before
  const Pick    *pick;
  const int     *others, *axes;
  unsigned char *of;
  Key           *key;
  HD void        operator()(int p) const
  {
    if (others[p] || of[p] != usual_weights) return;
    of[p]  = (unsigned char)axes[p];
    key[p] = pick[p].key;
  }
};
template <int D> struct LeafOfHome {
  const unsigned char *axes;
  const Key           *key, *start;
  const signed char   *level;
  int                  leaves, *leaf;
  HD void              operator()(int p) const
  {
    if (axes[p] != usual_weights) leaf[p] = containing<D>(start, level, leaves, key[p]);
  }
};
struct HasMoved {
  const int *i, *j, *now, *before;
  HD double  operator()(int p) const
  {
    bool any = false;
    for (int e = i[p]; e < i[p + 1]; ++e) any |= (now[p] == now[j[e]]) != (before[p] == before[j[e]]);
    return any;
  }
};
struct PutBody {
  const int *number, *from;
  int       *to;
  HD void    operator()(int v) const { to[number[v]] = from[v]; }
};

} // namespace

// Those of the mesh; none where there is one body, or no coefficients that jump. Where values are not symmetric it
// depends on the processes whether two bodies are one. Collective.
template <class T> Bodies Setup<T>::find_bodies()
{
  Level<T> &fine = levels_[0];
  Buffer<T> d;
  if (!may_have_bodies() || !has_jumps(fine, d)) return {};
  const int        points = fine.points, all = fine.n + fine.ghosts;
  const int       *i = fine.i.data(), *j = fine.j.data();
  const int        offset = fine.distributed ? sum_before(comm_, points) : 0;
  const Coupled<T> coupled{fine.a.data(), d.data(), params_.bs, (T)around_body};
  Buffer<int>      parent = make_unset<int>((size_t)all), single = make<int>((size_t)all);
  Buffer<int>      body = make_unset<int>((size_t)all), joined = make<int>((size_t)all);
  for_each(exec_, all, Enumerate{parent.data()});
  for_each(exec_, points, JoinCoupled<T>{i, j, coupled, parent.data()});
  for_each(exec_, all, PointToRoot{parent.data()});
  const Buffer<int>  label = label_parts(fine, parent, offset);
  const PlaceOfRoot place{parent.data()};
  for_each(exec_, all, LabelsOfNodes<PlaceOfRoot>{place, label.data(), body.data()});
  for_each(exec_, points, FindSingle<T>{i, j, coupled, single.data()});
  if (fine.distributed) fine.exchange.forward(single.data(), 1);
  for_each(exec_, points, JoinSingle<T>{i, j, coupled, single.data(), body.data(), joined.data()});
  if (fine.distributed) fine.exchange.forward(joined.data(), 1);
  Labels found = join_each<Labels>(exec_, points, FindLabels{joined.data()});
  if (fine.distributed) MPI_Allreduce(MPI_IN_PLACE, &found, 2, MPI_DOUBLE, MPI_MAX, comm_);
  if (found.most == -found.least) return {};
  Bodies bodies{true, 0, std::move(joined)};
  if (params_.bs == 1 && !are_inclusions(fine, d, bodies)) return {};
  return bodies;
}

// Are other nodes in bodies than at the setup? So are those that are in the same body as a neighbor now, and were not,
// or the other way round. A few may, less than a line (surface) across half of the mesh has. Collective.
template <class T> bool Hierarchy<T>::bodies_moved()
{
  const Level<T> &mesh = levels_[0];
  const Bodies    now  = Setup<T>(*this, levels_, perm_, where_, constrained_, frame_, numeric_).find_bodies();
  if (!now.any || !bodies_.any) return now.any != bodies_.any;
  Buffer<double> changed = make<double>(1);
  sum_each(exec_, mesh.points, HasMoved{mesh.i.data(), mesh.j.data(), now.of.data(), bodies_.of.data()},
           changed.data());
  return total(fetch(changed, 0)) > 0.5 * std::pow(mesh.nodes, (params_.dim - 1.) / params_.dim);
}

// Marks those whose nodes are at most `hops` couplings from their home. y: of the nodes, ghosts included. Collective.
template <class T>
void Setup<T>::find_compact(Level<T> &fine, int hops, const Buffer<double> &y, CompactBodies &bodies)
{
  const int    points = fine.points, first = fine.distributed ? sum_before(comm_, fine.n) : 0;
  const size_t all = bodies.axes.size();
  const bool   linear = params_.bs > 1; // with one unknown the constant is the one motion that costs no energy
  const InBody in{fine.i.data(), fine.j.data(), body_.of.data(), body_.matrix};
  Buffer<Pick> pick = make<Pick>(all), next = make<Pick>(all);
  Buffer<int>  others = make<int>(all), axes = make<int>(all), spread = make<int>(all);
  const auto   tell = [&](auto &of) {
    if (fine.distributed) fine.exchange.forward((int *)of.data(), (int)(sizeof(*of.data()) / sizeof(int)));
  };
  const auto pass = [&](Buffer<int> &of, int times) {
    for (int k = 0; k < times; ++k) {
      for_each(exec_, points, Spread{in, of.data(), spread.data()});
      tell(spread);
      std::swap(of, spread);
    }
  };
  for_each(exec_, points, BeginPick{in, bodies.key.data(), first, pick.data()});
  tell(pick);
  for (int k = 0; k < hops; ++k) {
    for_each(exec_, points, JoinPicks{in, pick.data(), next.data()});
    tell(next);
    std::swap(pick, next);
  }
  for_each(exec_, points, FindOthers{in, pick.data(), others.data()});
  if (linear) {
    with_dim(params_.dim, [&](auto dim) {
      for_each(exec_, points,
               FindAxes<dim.value>{in, pick.data(), first, hops > 1, y.data(), others.data(), axes.data()});
    });
    tell(axes);
    pass(axes, hops);
  }
  tell(others);
  pass(others, 2 * hops); // from any node of a body to all others
  for_each(exec_, (int)all,
           TakeCompact{pick.data(), others.data(), axes.data(), bodies.axes.data(), bodies.key.data()});
}

// Where a body reaches two couplings from its home, those nodes that are coupled with the home must lie along all axes.
// key, y: of the nodes, ghosts included. Collective.
template <class T>
CompactBodies Setup<T>::compact_bodies(Level<T> &fine, const Buffer<Key> &key, const Buffer<double> &y)
{
  const size_t  all = (size_t)(fine.n + fine.ghosts);
  CompactBodies bodies{make_unset<unsigned char>(all), make_unset<Key>(all)};
  for_each(exec_, (int)all, SetValues<unsigned char>{bodies.axes.data(), usual_weights});
  for_each(exec_, (int)all, CopyValues<Key>{key.data(), bodies.key.data()});
  if (crowded_ > 0) return bodies; // leaves may be far smaller than bodies
  find_compact(fine, 1, y, bodies);
  if (levels_.size() == 1) find_compact(fine, 2, y, bodies);
  return bodies;
}

// The leaves of nodes, for those of compact bodies that of the home, which this process may not know.
template <class T>
void Setup<T>::find_home_leaves(Level<T> &fine, Cells &cells, const Buffer<Key> &key, const CompactBodies &bodies,
                                Buffer<int> &leaf)
{
  const int points = fine.points, n = fine.n, all = n + fine.ghosts;
  if (!fine.distributed) {
    find_leaves(fine, cells, key, leaf);
    with_dim(params_.dim, [&](auto dim) {
      for_each(exec_, points,
               LeafOfHome<dim.value>{bodies.axes.data(), bodies.key.data(), cells.start.data(), cells.level.data(),
                                     cells.n, leaf.data()});
    });
    return;
  }
  // own nodes in their order, and again, as if they were others'
  Buffer<Key> keys = make_unset<Key>((size_t)(all + points));
  for_each(exec_, all, CopyValues<Key>{bodies.key.data(), keys.data()});
  for_each(exec_, n, CopyValues<Key>{key.data(), keys.data()});
  for_each(exec_, points, CopyValues<Key>{bodies.key.data(), keys.data() + all});
  find_local_leaves(fine, cells, keys, leaf);
  for_each(exec_, points, CopyValues<int>{leaf.data() + all, leaf.data()});
  keep_first(exec_, (size_t)all, leaf);
}

// The bodies of functions become known to all processes. number: of functions here among all.
template <class T> void Setup<T>::gather_bodies(const Buffer<int> &number, int all)
{
  Buffer<int> of_all = make<int>((size_t)all);
  for_each(exec_, (int)next_body_.of.size(), PutBody{number.data(), next_body_.of.data(), of_all.data()});
  reduce(of_all, MPI_INT, MPI_MAX);
  next_body_.of = std::move(of_all);
}

#define INSTANTIATE(T) \
  template Bodies        Setup<T>::find_bodies(); \
  template bool          Hierarchy<T>::bodies_moved(); \
  template CompactBodies Setup<T>::compact_bodies(Level<T> &, const Buffer<Key> &, const Buffer<double> &); \
  template void          Setup<T>::find_home_leaves(Level<T> &, Cells &, const Buffer<Key> &, const CompactBodies &, \
                                                   Buffer<int> &); \
  template void          Setup<T>::gather_bodies(const Buffer<int> &, int);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
