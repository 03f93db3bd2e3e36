// Bodies: parts of a mesh with several unknowns a node that weak couplings alone tie to the rest, such as what is much
// stiffer than what lies around it. As a body hardly deforms, a function of a coarse grid that has a body and what is
// around it in common costs far more energy than what it stands for. So each body has functions of its own on all grids
// (split.k.cxx). Values tell bodies apart on the mesh alone: a function of a coarse grid is in the body of its nodes.
//
// A body that is no larger than a cell needs no more than the functions that are linear in the whole body: its motions
// are among them. It is compact if one of its nodes, its home, is coupled with all others. Then all of them have their
// weights from the home's leaf, so that there are at most dim + 1 functions of the body, on this grid and the next
// ones, however the leaves divide it. The weights of nodes outside that leaf may be negative.
#include "tree/bodies.hpp"
#include "tree/coupled.hpp"
#include "tree/dispatch.hpp"
#include "tree/keepers.hpp"
#include "tree/labels.hpp"
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
    for (int e = i[p]; e < i[p + 1]; ++e) any |= j[e] != p && coupled(p, e, j[e]);
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
    of[p] = body[p];
    T most = 0;
    for (int e = i[p]; single[p] && e < i[p + 1]; ++e) {
      const int q = j[e];
      if (single[q]) continue;
      const T size = coupled.size(e);
      if (size > most || (size == most && body[q] > of[p])) of[p] = body[q], most = size;
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
struct IsOther {
  const int *now, *before;
  HD double  operator()(int p) const { return now[p] != before[p]; }
};
struct NumberFrom {
  int     first, *number;
  HD void operator()(int p) const { number[p] = first + p; }
};
// f(q) for the nodes of a node's body that are coupled with it, itself among them
struct InBody {
  const int *i, *j, *body;
  template <class F> HD void each(int p, const F &f) const
  {
    for (int e = i[p]; e < i[p + 1]; ++e)
      if (body[j[e]] == body[p]) f(j[e]);
  }
};
struct CountInBody {
  InBody  in;
  int    *count;
  HD void operator()(int p) const
  {
    int n = 0;
    in.each(p, [&](int) { ++n; });
    count[p] = n;
  }
};
// Of the nodes that are coupled with p the one that is coupled with most, and of several the first one by its key.
struct PickHome {
  InBody     in;
  const int *count, *number; // number: among the nodes of all processes
  const Key *key;
  int       *home, *pick;    // the node here, and its number
  HD bool    precedes(int q, int best) const
  {
    if (count[q] != count[best]) return count[q] > count[best];
    return key[q] != key[best] ? key[q] < key[best] : number[q] < number[best];
  }
  HD void    operator()(int p) const
  {
    int best = p;
    in.each(p, [&](int q) {
      if (precedes(q, best)) best = q;
    });
    home[p] = best;
    pick[p] = number[best];
  }
};
// Nodes beside which one of the same body picks another home
struct FindOthers {
  InBody     in;
  const int *pick;
  int       *others;
  HD void    operator()(int p) const
  {
    int any = 0;
    in.each(p, [&](int q) { any |= pick[q] != pick[p]; });
    others[p] = any;
  }
};
// Of homes of compact bodies the axes along which coordinates of the body's nodes do not depend on those along others,
// one bit each; `usual` of all other nodes.
template <int D> struct FindAxes {
  InBody        in;
  const int    *pick, *number, *others;
  const double *y;
  int          *axes;
  HD void       operator()(int p) const
  {
    bool   compact = pick[p] == number[p];
    double n = 0, mean[D] = {}, of[D][D] = {};
    in.each(p, [&](int q) {
      compact = compact && !others[q];
      ++n;
      for (int k = 0; k < D; ++k) mean[k] += y[(ptrdiff_t)D * q + k];
    });
    axes[p] = usual_weights;
    if (!compact) return;
    in.each(p, [&](int q) {
      double x[D];
      for (int k = 0; k < D; ++k) x[k] = y[(ptrdiff_t)D * q + k] - mean[k] / n;
      for (int k = 0; k < D; ++k)
        for (int m = 0; m < D; ++m) of[k][m] += x[k] * x[m];
    });
    axes[p] = independent(of);
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
        if (!(found >> k & 1) && of[k][k] > pivot) best = k, pivot = of[k][k];
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
struct TakeAxes {
  const int *home, *of_home;
  int       *axes;
  HD void    operator()(int p) const { axes[p] = of_home[home[p]]; }
};
struct KeepAxes {
  const int     *axes;
  unsigned char *of;
  HD void        operator()(int p) const { of[p] = (unsigned char)axes[p]; }
};
struct KeyOfHome {
  const int           *home;
  const unsigned char *axes;
  const Key           *key;
  Key                 *of;
  HD void              operator()(int p) const { of[p] = key[axes[p] == usual_weights ? p : home[p]]; }
};
struct TakeLeaf {
  const int           *home;
  const unsigned char *axes;
  int                 *leaf;
  HD void              operator()(int p) const
  {
    if (axes[p] != usual_weights && home[p] != p) leaf[p] = leaf[home[p]]; // which is the home's own
  }
};
struct PutBody {
  const int *number, *from;
  int       *to;
  HD void    operator()(int v) const { to[number[v]] = from[v]; }
};

} // namespace

// Of each node of the mesh, ghosts included, a number that all nodes of its body have on any process; empty where there
// is one body, or no coefficients that jump. Collective.
template <class T> Buffer<int> Setup<T>::find_bodies()
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
  return joined;
}

// Have other nodes become bodies than at the setup? A few may, less than a line (surface) across half of the mesh has.
// Collective.
template <class T> bool Hierarchy<T>::bodies_moved()
{
  const Level<T> &mesh = levels_[0];
  Buffer<int>     now  = Setup<T>(*this, levels_, perm_, where_, constrained_, frame_, numeric_).find_bodies();
  if (now.empty() || bodies_.empty()) return now.empty() != bodies_.empty(); // on all processes
  Buffer<double> changed = make<double>(1);
  sum_each(exec_, mesh.points, IsOther{now.data(), bodies_.data()}, changed.data());
  return total(fetch(changed, 0)) > 0.5 * std::pow(mesh.nodes, (params_.dim - 1.) / params_.dim);
}

// key, y: of the nodes, ghosts included. Collective.
template <class T>
CompactBodies Setup<T>::compact_bodies(Level<T> &fine, const Buffer<Key> &key, const Buffer<double> &y)
{
  const int     n = fine.n, points = fine.points;
  const size_t  all = (size_t)(n + fine.ghosts);
  const InBody  in{fine.i.data(), fine.j.data(), body_.data()};
  Buffer<int>   number = make_unset<int>(all), count = make<int>(all), pick = make<int>(all), others = make<int>(all);
  Buffer<int>   of_home = make_unset<int>(all), axes = make_unset<int>(all);
  CompactBodies bodies{make_unset<int>(all), make_unset<unsigned char>(all), {}};
  const auto    tell = [&](Buffer<int> &of) {
    if (fine.distributed) fine.exchange.forward(of.data(), 1);
  };
  for_each(exec_, n, NumberFrom{fine.distributed ? sum_before(comm_, n) : 0, number.data()});
  tell(number);
  for_each(exec_, points, CountInBody{in, count.data()});
  tell(count);
  for_each(exec_, points, PickHome{in, count.data(), number.data(), key.data(), bodies.home.data(), pick.data()});
  tell(pick);
  for_each(exec_, points, FindOthers{in, pick.data(), others.data()});
  tell(others);
  with_dim(params_.dim, [&](auto dim) {
    for_each(exec_, points,
             FindAxes<dim.value>{in, pick.data(), number.data(), others.data(), y.data(), of_home.data()});
  });
  tell(of_home);
  for_each(exec_, (int)all, SetValues<int>{axes.data(), usual_weights});
  for_each(exec_, points, TakeAxes{bodies.home.data(), of_home.data(), axes.data()});
  tell(axes);
  for_each(exec_, (int)all, KeepAxes{axes.data(), bodies.axes.data()});
  if (!fine.distributed) return bodies;
  // their leaves are those of their homes, which this process may not know
  bodies.key = make_unset<Key>(all);
  for_each(exec_, (int)all, CopyValues<Key>{key.data(), bodies.key.data()});
  for_each(exec_, points, KeyOfHome{bodies.home.data(), bodies.axes.data(), key.data(), bodies.key.data()});
  fine.exchange.forward((int *)bodies.key.data(), (int)(sizeof(Key) / sizeof(int)));
  for_each(exec_, points, CopyValues<Key>{key.data(), bodies.key.data()}); // own nodes are in order
  return bodies;
}

template <class T> void Setup<T>::take_home_leaves(const Level<T> &fine, const CompactBodies &bodies, Buffer<int> &leaf)
{
  for_each(exec_, fine.points, TakeLeaf{bodies.home.data(), bodies.axes.data(), leaf.data()});
}

// The bodies of functions become known to all processes. number: of functions here among all.
template <class T> void Setup<T>::gather_bodies(const Buffer<int> &number, int all)
{
  Buffer<int> of_all = make<int>((size_t)all);
  for_each(exec_, (int)next_body_.size(), PutBody{number.data(), next_body_.data(), of_all.data()});
  reduce(of_all, MPI_INT, MPI_MAX);
  next_body_ = std::move(of_all);
}

#define INSTANTIATE(T) \
  template Buffer<int>   Setup<T>::find_bodies(); \
  template bool          Hierarchy<T>::bodies_moved(); \
  template CompactBodies Setup<T>::compact_bodies(Level<T> &, const Buffer<Key> &, const Buffer<double> &); \
  template void          Setup<T>::take_home_leaves(const Level<T> &, const CompactBodies &, Buffer<int> &); \
  template void          Setup<T>::gather_bodies(const Buffer<int> &, int);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
