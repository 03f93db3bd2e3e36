// Interpolation for coefficients that jump: a few steps of damped Jacobi on the columns of P within its pattern. What
// the smoother does not reduce follows the coefficients, linear functions do not.
#include "tree/hierarchy.hpp"
#include "tree/dispatch.hpp"
#include "tree/parts/jumps.hpp"
#include "tree/rows.hpp"
#include "exec/each.hpp"
#include "exec/eights.hpp"

namespace tessera::tree {

namespace {

constexpr int filter_steps = 3;

// Which corner of the other leaf of a pair is a corner of a leaf: corner[] of each pair and corner of the leaf, and
// `corners` where that one has none there.
template <class S, int Corners> struct MatchCorners {
  const int     *begin, *i, *j, *pairs, *vertex;
  const S       *pair, *column;
  const unsigned char *bits; // corners at which nodes have a weight
  unsigned char *corner;
  HD void        operator()(int l) const
  {
    const S *own = nullptr; // known by the diagonal of any of its nodes
    for (int p = begin[l]; p < begin[l + 1] && !own; ++p)
      for (int e = i[p]; e < i[p + 1]; ++e)
        if (j[e] == p) own = column + (ptrdiff_t)Corners * (pairs[l] + pair[e]);
    if (!own) return;
    unsigned char *const of = corner + (ptrdiff_t)Corners * pairs[l];
    // Corners of the other leaf that nothing is coupled with have no column of their own, but the number of the first:
    // those count at which some node has a weight. The first byte of each pair says which.
    for (int e = i[begin[l]]; e < i[begin[l + 1]]; ++e) of[Corners * (int)pair[e]] |= bits[j[e]];
    for (int k = 0; k < pairs[l + 1] - pairs[l]; ++k) {
      const S *const other = column + (ptrdiff_t)Corners * (pairs[l] + k);
      const int      known = of[Corners * k];
      for (int to = 0; to < Corners; ++to) {
        int from = Corners;
        for (int c = 0; c < Corners; ++c) from = other[c] == own[to] && known >> c & 1 ? c : from;
        of[Corners * k + to] = (unsigned char)(vertex[(ptrdiff_t)Corners * l + to] < 0 ? Corners : from);
      }
    }
  }
};

#ifndef __CUDA_ARCH__
// What v w[of[c]] adds for four corners, in registers of the machine; of[c] = 4: of a vertex that the other leaf does
// not have.
template <class T> __attribute__((always_inline))
inline typename Eight<double>::Half four_corners(double v, const T *w, const unsigned char *of)
{
  using Four  = typename Eight<T>::Half;
  using Place = typename Eight<T>::HalfMask;
  using Bytes = unsigned char __attribute__((vector_size(4), aligned(1), may_alias));
  constexpr Four none = {};
  const Four known = __builtin_shuffle(*(const Four *)w, none, __builtin_convertvector(*(const Bytes *)of, Place));
  return v * four_as<double>(known);
}
#endif

// P := P - w D^-1 (A P), in the pattern of P and not below zero; then the rows get their old sums. Of blocks the mean
// of the diagonal counts.
template <class T, class S, int Corners> struct SmoothWeights {
  const int           *begin, *i, *j, *pairs;
  const S             *pair;
  const unsigned char *corner;
  const T             *a, *inverse, *plain, *weight;
  int                  bs;
  double               omega;
  T                   *out;
  HD void              operator()(int l) const
  {
    for (int p = begin[l]; p < begin[l + 1]; ++p) node(p, l);
  }
  __attribute__((always_inline)) HD void node(int p, int l) const // of leaf l
  {
    const unsigned char *const of = corner + (ptrdiff_t)Corners * pairs[l];
#ifndef __CUDA_ARCH__
    if constexpr (Corners == 4) return four(p, of);
#endif
    const double factor = omega * over_diagonal(p);
    double       ap[Corners] = {}, now[Corners], before = 0, sum = 0;
    for (int e = i[p]; e < i[p + 1]; ++e) {
      const double v = value(e);
      T            w[Corners + 1]; // the last one: of a vertex that the other leaf does not have
      for (int c = 0; c < Corners; ++c) w[c] = weight[(ptrdiff_t)Corners * j[e] + c];
      w[Corners] = 0;
      for (int c = 0; c < Corners; ++c) ap[c] += v * (double)w[of[Corners * pair[e] + c]];
    }
    for (int c = 0; c < Corners; ++c) {
      const double w = weight[(ptrdiff_t)Corners * p + c], first = plain[(ptrdiff_t)Corners * p + c];
      now[c]         = w - factor * ap[c];
      now[c]         = now[c] > 0 && first > 0 ? now[c] : 0;
      before += first;
      sum += now[c];
    }
    for (int c = 0; c < Corners; ++c)
      out[(ptrdiff_t)Corners * p + c] = sum > 0 ? (T)(now[c] * (before / sum)) : weight[(ptrdiff_t)Corners * p + c];
  }
  HD double value(int e) const
  {
    double v = 0;
    for (int k = 0; k < bs; ++k) v += a[((ptrdiff_t)bs * e + k) * bs + k];
    return v;
  }
  HD double over_diagonal(int p) const // zero where the node takes no part
  {
    if (bs == 1) return inverse[p];
    const int    own = own_entry(i, j, p);
    const double d   = own < i[p + 1] ? value(own) : 0;
    return d > 0 ? 1 / d : 0;
  }
#ifndef __CUDA_ARCH__
  // The same for a node with four corners, in registers of the machine
  __attribute__((always_inline)) void four(int p, const unsigned char *of) const
  {
    using Four = typename Eight<T>::Half;
    using Sums = typename Eight<double>::Half;
    Sums ap = {};
    for (int e = i[p]; e < i[p + 1]; ++e)
      ap += four_corners(bs == 1 ? (double)a[e] : value(e), weight + (ptrdiff_t)4 * j[e],
                         of + 4 * (ptrdiff_t)pair[e]);
    const Four   mine = *(const Four *)(weight + (ptrdiff_t)4 * p), known = *(const Four *)(plain + (ptrdiff_t)4 * p);
    const Sums   w = four_as<double>(mine), first = four_as<double>(known);
    const Sums   next   = w - omega * over_diagonal(p) * ap, zero = {};
    const Sums   now    = (Sums)((typename Eight<double>::HalfMask)next & ((next > zero) & (first > zero)));
    const double before = first[0] + first[1] + first[2] + first[3], sum = now[0] + now[1] + now[2] + now[3];
    Four *const  to     = (Four *)(out + (ptrdiff_t)4 * p);
    *to = sum > 0 ? four_as<T>(now * (before / sum)) : mine;
  }
#endif
};

// The same of a node by itself: a device has threads for all.
template <class T, class S, int Corners> struct SmoothNode {
  SmoothWeights<T, S, Corners> weights;
  const int                   *leaf;
  HD void                      operator()(int p) const { weights.node(p, leaf[p]); }
};

// The largest of the numbers and of the inverses of those that are not zero
struct Ends {
  double  largest = 0, over = 0;
  HD void join(const Ends &o)
  {
    largest = o.largest > largest ? o.largest : largest;
    over    = o.over > over ? o.over : over;
  }
};
template <class T> struct FindEnds {
  const T *d;
  HD void  operator()(int p, Ends &found) const
  {
    if (d[p] > 0) found.join({(double)d[p], 1. / d[p]});
  }
};

} // namespace

template <class T> bool NumericSetup<T>::jumps()
{
  Level<T>      &level = levels_[0];
  Buffer<double> sum   = make<double>(1);
  if (strategy_->looks_first) {
    Ends ends;
    join_each(exec_, level.n * params_.bs, FindEnds<T>{level.inverse.data()}, &ends);
    MPI_Allreduce(MPI_IN_PLACE, &ends, 2, MPI_DOUBLE, MPI_MAX, comm_);
    if (ends.largest * ends.over <= jump) return false;
  }
  for_each(exec_, level.n * params_.bs, Inverse<T>{level.inverse.data(), level.work.x.data()});
  level.halo(level.work.x.data());
  const CountJumps<T> count{level.i.data(), level.j.data(), level.work.x.data(), params_.bs};
  sum_each(exec_, level.points, count, sum.data());
  return are_jumps(total(fetch(sum, 0)), level.nodes, params_.dim);
}

// In space the setup of the smoothed interpolation and its W-cycle would take longer than they save: there the smoother
// gets a higher degree, which takes fewer iterations in the same time. With several unknowns a node such setups and
// cycles take twice the time in the plane, too: there the degree is high enough, and bodies have functions of their own
// unless they are too many; so have inclusions with one. stay: values are nearly those of before.
template <class T> void NumericSetup<T>::look_for_jumps(bool stay)
{
  const bool by_degree = params_.dim == 3 && !sweeps(), several = params_.bs > 1;
  const bool bodies =
    several ? body_functions_ != BodyFunctions::too_many : body_functions_ == BodyFunctions::own;
  const bool never = params_.dim == 2 && params_.all_take_part && !sweeps() && bodies;
  if (params_.filter != Filter::automatic) filtered_ = params_.filter == Filter::on;
  else if (never) filtered_ = false;
  else if (!by_degree) filtered_ = (stay && filtered_ && !sweeps()) || jumps();
  else if (!stay && params_.jump_degree) jumps_in_space_ = jumps();
}

template <class T> void NumericSetup<T>::filter(Level<T> &level)
{
  const int n = (int)level.transfer.weight.size();
  if (level.transfer.plain.empty()) {
    if (!filtered_) return;
    level.transfer.plain = make<T>((size_t)n);
    for_each(exec_, n, CopyValues<T>{level.transfer.weight.data(), level.transfer.plain.data()});
  } else for_each(exec_, n, CopyValues<T>{level.transfer.plain.data(), level.transfer.weight.data()});
  if (!filtered_) return;
  Transfer<T>          &t = level.transfer;
  Buffer<T>             next = make<T>((size_t)n);
  Buffer<unsigned char> corner = make<unsigned char>((size_t)t.corners * (size_t)fetch(level.product.pairs, t.cells));
  const Buffer<unsigned char> bits = level.corner_bits();
  for_each(exec_, n, CopyValues<T>{t.weight.data(), next.data()});
  const auto smooth = [&](const auto &lists, auto corners) {
    using S = std::remove_const_t<std::remove_pointer_t<decltype(lists.pair.data())>>;
    const int *const i = level.i.data(), *const j = level.j.data(), *const pairs = level.product.pairs.data();
    for_each(exec_, t.cells,
             MatchCorners<S, corners.value>{t.begin.data(), i, j, pairs, t.vertex.data(), lists.pair.data(),
                                            lists.column.data(), bits.data(), corner.data()});
    for (int step = 0; step < filter_steps; ++step) {
      if (step && level.distributed) level.exchange.forward(t.weight.data(), corners);
      const SmoothWeights<T, S, corners.value> weights{
        t.begin.data(), i, j, pairs, lists.pair.data(), corner.data(), level.a.data(), level.inverse.data(),
        t.plain.data(), t.weight.data(), params_.bs, 4 / (3 * level.lambda), next.data()};
      if (level.by_nodes()) for_each(exec_, level.points, SmoothNode<T, S, corners.value>{weights, t.leaf.data()});
      else for_each(exec_, t.cells, weights);
      std::swap(t.weight, next);
    }
  };
  level.product.with_lists(
    [&](const auto &lists) { with_corners(t.corners, [&](auto corners) { smooth(lists, corners); }); });
  if (level.distributed) level.exchange.forward(level.transfer.weight.data(), level.transfer.corners);
}

#define INSTANTIATE(T) \
  template bool NumericSetup<T>::jumps(); \
  template void NumericSetup<T>::look_for_jumps(bool); \
  template void NumericSetup<T>::filter(Level<T> &);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
