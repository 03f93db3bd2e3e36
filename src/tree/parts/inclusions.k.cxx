// Inclusions: with one unknown a node, are the bodies of the mesh (bodies.k.cxx) such that functions of their own pay?
#include "tree/parts/bodies.hpp"
#include "tree/parts/coupled.hpp"
#include "tree/parts/labels.hpp"
#include "tree/setup.hpp"
#include "exec/each.hpp"
#include "exec/gather.hpp"
#include <cmath>

namespace tessera::tree {

namespace {

// The one body that has more than half of all votes, if there is one: of two bodies each vote for one takes one of the
// other's.
struct Majority {
  double  body = 0, lead = 0;
  HD void join(const Majority &o)
  {
    const bool same = o.body == body, more = o.lead > lead;
    lead = same ? lead + o.lead : more ? o.lead - lead : lead - o.lead;
    body = !same && more ? o.body : body;
  }
};
// Each coupling between two bodies is a vote for the stiffer one, by its larger diagonal entry, and the softer one.
struct Votes {
  Majority softer, stiffer;
  HD void  join(const Votes &o) { softer.join(o.softer), stiffer.join(o.stiffer); }
};
struct Counts {
  double  all = 0, softer = 0, stiffer = 0; // votes, and those for two bodies
  double  large = 0, extreme = 0;           // votes at jumps of more than ten, and of more than 1e9
  double  nodes = 0, apart = 0, bodies = 0; // that vote; that are not in the matrix; bodies, nearly all
  HD void join(const Counts &o)
  {
    all += o.all, softer += o.softer, stiffer += o.stiffer;
    large += o.large, extreme += o.extreme;
    nodes += o.nodes, apart += o.apart, bodies += o.bodies;
  }
};
// f(softer, q) for couplings with nodes q of other bodies: is the node's one the softer one?
template <class T> struct BetweenBodies {
  const int *i, *j, *body;
  Coupled<T> coupled;
  template <class F> HD void each(int p, const F &f) const
  {
    for (int e = i[p]; e < i[p + 1]; ++e)
      if (const int q = j[e]; body[q] != body[p] && coupled.size(e) > 0) f(coupled.d[p] < coupled.d[q], q);
  }
};
template <class T> struct Vote {
  BetweenBodies<T> between;
  HD void          operator()(int p, Votes &votes) const
  {
    const double mine = between.body[p];
    between.each(p, [&](bool softer, int) { (softer ? votes.softer : votes.stiffer).join({mine, 1}); });
  }
};
template <class T> struct CountVotes {
  BetweenBodies<T> between;
  int              softer, stiffer;
  FirstLabels      first;
  HD void          operator()(int p, Counts &counts) const
  {
    Counts    mine;
    const int body = between.body[p];
    between.each(p, [&](bool is_softer, int q) {
      if (is_softer) ++mine.all;
      const T jump = is_softer ? between.coupled.d[q] / between.coupled.d[p] : 0;
      mine.large += jump > 10, mine.extreme += jump > (T)1e9;
      mine.softer += is_softer && body == softer;
      mine.stiffer += !is_softer && body == stiffer;
      mine.nodes = 1;
    });
    mine.apart  = body != softer;
    mine.bodies = body == first.of(p);
    counts.join(mine);
  }
};
// Couplings of two nodes of a body here, and those of which one direction is much weaker
struct Pairs {
  double  all = 0, one_sided = 0;
  HD void join(const Pairs &o) { all += o.all, one_sided += o.one_sided; }
};
template <class T> struct CountPairs {
  BetweenBodies<T> in;
  int              points;
  HD void          operator()(int p, Pairs &pairs) const
  {
    constexpr double much = 0.3;
    for (int e = in.i[p]; e < in.i[p + 1]; ++e)
      if (const int q = in.j[e]; q > p && q < points && in.body[q] == in.body[p]) {
        const T here = in.coupled.size(e), there = transposed(p, q);
        pairs.join({1, fabs(here - there) > (T)much * (here > there ? here : there) ? 1. : 0.});
      }
  }
  HD T transposed(int p, int q) const
  {
    for (int e = in.i[q]; e < in.i[q + 1]; ++e)
      if (in.j[e] == p) return in.coupled.size(e);
    return 0;
  }
};

} // namespace

// Is there a body, the matrix, that nearly all couplings between bodies lead to from stiffer ones? Functions of their
// own do not pay where the stiff bodies are thin, so that most nodes have such couplings, or where one of them runs all
// through the matrix. Slivers of good meshes make bodies of two or three nodes. With strong convection smoothed
// interpolation is better, and beside jumps of 1e9 rounding of what stiff nodes have hides what softer ones need; jumps
// of ten do without. Collective.
template <class T> bool Setup<T>::are_inclusions(const Level<T> &fine, const Buffer<T> &d, Bodies &bodies) const
{
  constexpr double nearly_all = 0.9, most = 0.5, many = 0.25, thin = 0.55, sliver = 4, convective = 0.25;
  const int        offset = fine.distributed ? sum_before(comm_, fine.points) : 0;
  const BetweenBodies<T> between{
    fine.i.data(), fine.j.data(), bodies.of.data(), {fine.a.data(), d.data(), params_.bs, 0}};
  Votes votes = join_each<Votes>(exec_, fine.points, Vote<T>{between});
  if (fine.distributed) {
    const std::vector<Votes> all = gather_from_all(comm_, &votes, 1).all;
    votes                        = {};
    for (const Votes &v : all) votes.join(v);
  }
  bodies.matrix = (int)votes.softer.body;
  Counts counts = join_each<Counts>(
    exec_, fine.points,
    CountVotes<T>{between, bodies.matrix, (int)votes.stiffer.body, {fine.points, offset, 1, nullptr}});
  if (fine.distributed) MPI_Allreduce(MPI_IN_PLACE, &counts, 8, MPI_DOUBLE, MPI_SUM, comm_);
  const bool runs_through = counts.stiffer > most * counts.all && counts.nodes > many * fine.nodes;
  if (counts.large < most * counts.all || counts.extreme > 0) return false;
  if (counts.softer <= nearly_all * counts.all || counts.nodes >= thin * fine.nodes || runs_through) return false;
  if (counts.apart <= sliver * (counts.bodies - 1)) return false;
  Pairs pairs = join_each<Pairs>(exec_, fine.points, CountPairs<T>{between, fine.points});
  if (fine.distributed) MPI_Allreduce(MPI_IN_PLACE, &pairs, 2, MPI_DOUBLE, MPI_SUM, comm_);
  return pairs.one_sided < convective * pairs.all;
}

#define INSTANTIATE(T) template bool Setup<T>::are_inclusions(const Level<T> &, const Buffer<T> &, Bodies &) const;
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
