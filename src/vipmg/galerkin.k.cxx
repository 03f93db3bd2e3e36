// Coarse operators P' A P, one direction after the other: linear interpolation is a product of one for each
// direction, so the stencil of a grid coarsened in one of them has 3^d points again. Per node and direction 9
// products for each of the 3^(d-1) other offsets.
#include "exec/each.hpp"
#include "vipmg/shares.hpp"
#include <algorithm>

namespace tessera::vipmg {

namespace {

// Masked: couplings between nodes that are `free` alone.
template <int D, bool Box, int Direction, bool Masked> struct Coarsen {
  const double  *a;
  ptrdiff_t      plane;
  Layout3        from;
  const uint8_t *free;
  double        *out;
  ptrdiff_t      out_plane;
  int            out_half;
  const double  *left, *right; // by coarse node

  // The plane of the offset that is `along` in this direction; p and q in the others: y and z, or x and the third.
  template <bool B> HD static constexpr int plane_at(int along, int p, int q)
  {
    return Direction == 0 ? plane_of<D, B>(along, p, q)
         : Direction == 1 ? plane_of<D, B>(p, along, q)
                          : plane_of<D, B>(p, q, along);
  }
  // The place of the node at these offsets from the coarse node's.
  template <int P, int M, int Q1, int Q2> HD ptrdiff_t place(ptrdiff_t base, int I, int t) const
  {
    if (Direction == 0) return base + Q1 * from.sj + Q2 * from.sk + (M & 1) * (ptrdiff_t)from.half + I + (M >> 1);
    return base + M * (Direction == 1 ? from.sj : from.sk) + Q2 * (Direction == 1 ? from.sk : from.sj) +
           beside<P, Q1>(from.half) + t;
  }
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k) const
  {
    const int       I = Direction == 0 ? 2 * t + P : Direction == 1 ? j : k;
    const ptrdiff_t e = o + P * (ptrdiff_t)out_half;
    const Shares    shares{right[I - 1], left[I], right[I], left[I + 1]};
    const double    weight[3] = {left[I], 1, right[I]};
    const ptrdiff_t base = Direction == 1 ? from.row(2 * j, k) : Direction == 2 ? from.row(j, 2 * k) : from.row(j, k);
    constexpr int   np = Direction > 0 || D > 1 ? 1 : 0, nq = D > 2 ? 1 : 0;
    unroll<-nq, nq + 1>([&](auto q) {
      unroll<-np, np + 1>([&](auto p) {
        constexpr int p0 = decltype(p)::value, q0 = decltype(q)::value;
        double        sum[3] = {0, 0, 0};
        unroll<-1, 2>([&](auto tau) {
          unroll<-1, 2>([&](auto kappa) {
            constexpr int t0 = decltype(tau)::value, k0 = decltype(kappa)::value, direction = plane_at<Box>(k0, p0, q0);
            if constexpr (direction >= 0) {
              const ptrdiff_t here = this->template place<P, t0, 0, 0>(base, I, t);
              double          c    = weight[t0 + 1] * a[direction * plane + here];
              if (Masked) c = free[here] & free[this->template place<P, t0 + k0, p0, q0>(base, I, t)] ? c : 0;
              shares.template add<t0 + k0>(c, sum);
            }
          });
        });
        unroll<-1, 2>([&](auto kappa) {
          constexpr int k0 = decltype(kappa)::value;
          out[plane_at<true>(k0, p0, q0) * out_plane + e] = sum[k0 + 1];
        });
      });
    });
  }
};

template <int D, bool Box> struct Inverse {
  Stencil3<D, Box> s;
  const uint8_t   *free;
  double          *inverse;
  template <int P> HD void at(int, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)s.half;
    const double    d = s.diagonal(e);
    inverse[e]        = free[e] && d > 0 ? 1 / d : 0;
  }
};

struct CoarseFree {
  const uint8_t *fine;
  Layout3        from;
  uint8_t       *coarse;
  int            half, step[3];
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k) const
  {
    coarse[o + P * (ptrdiff_t)half] = fine[from.at(step[0] * (2 * t + P), step[1] * j, step[2] * k)];
  }
};

// All rows may be others than those of A; what lies outside the grid is none.
struct MarkCut {
  uint8_t *cut;
  int      half;
  template <int P> HD void at(int, ptrdiff_t o, int, int) const { cut[o + P * (ptrdiff_t)half] = 1; }
};

// The first of a product's steps, which is masked, has the operator of a grid; those that follow have nine or 27
// points, and never go along the last direction.
template <int D, bool Box, int Direction>
void coarsen_along(const Plan &plan, const double *a, const Layout3 &from, const uint8_t *free, const Level &fine,
                   double *out, const Layout3 &to, const Box3 &box)
{
  const ptrdiff_t plane = (ptrdiff_t)from.size(), out_plane = (ptrdiff_t)to.size();
  const double   *left = fine.left[Direction].data() + 1, *right = fine.right[Direction].data() + 1;
  if constexpr (Box && Direction < D - 1)
    if (!free)
      return for_nodes(plan.exec, to, box,
                       Coarsen<D, Box, Direction, false>{a, plane, from, free, out, out_plane, to.half, left, right});
  for_nodes(plan.exec, to, box,
            Coarsen<D, Box, Direction, true>{a, plane, from, free, out, out_plane, to.half, left, right});
}
template <int D, bool Box>
void coarsen_direction(const Plan &plan, int direction, const double *a, const Layout3 &from, const uint8_t *free,
                       const Level &fine, double *out, const Layout3 &to, const Box3 &box)
{
  if (direction == 0) return coarsen_along<D, Box, 0>(plan, a, from, free, fine, out, to, box);
  if constexpr (D > 1)
    if (direction == 1) return coarsen_along<D, Box, 1>(plan, a, from, free, fine, out, to, box);
  if constexpr (D > 2) coarsen_along<D, Box, 2>(plan, a, from, free, fine, out, to, box);
}

void invert(Plan &plan, Level &l, Operator &op)
{
  with_kind(plan.dimension, op.box, [&](auto kind) {
    using K = decltype(kind);
    for_nodes(plan.exec, l.layout, l.own,
              Inverse<K::dimension, K::box>{stencil<K::dimension, K::box>(l, op), l.free.data(), op.inverse.data()});
  });
}

} // namespace

void make_inverse(Plan &plan, Level &l, Operator &op)
{
  invert(plan, l, op);
  if (!plan.strategy->late_stretches) find_stretches(plan, l, op);
}

void coarse_free(Plan &plan, int k)
{
  Level &fine = plan.levels[(size_t)k], &coarse = plan.levels[(size_t)k + 1];
  for_nodes(plan.exec, coarse.layout, coarse.part,
            CoarseFree{
              fine.free.data(),
              fine.layout,
              coarse.free.data(),
              coarse.layout.half,
              {fine.step[0], fine.step[1], fine.step[2]}
  });
  coarse.incoming.exchange(coarse.free.data());
}

static void exchange_operator(const Plan &plan, Level &l, Operator &op)
{
  const ptrdiff_t n = (ptrdiff_t)l.layout.size();
  double         *planes[27];
  const int       count = points(plan.dimension, true);
  for (int p = 0; p < count; ++p) planes[p] = op.a.data() + p * n;
  l.incoming.exchange(planes, count);
}

// The coarse operator of the nodes of `part`.
static void coarsen_part(Plan &plan, const Level &fine, const Level &coarse, const Operator &op, const uint8_t *free,
                         const Box3 &part, Operator &out)
{
  const double *a    = op.a.data();
  Layout3       from = fine.layout;
  bool          box  = op.box;
  Box3          b    = part;
  int           left = 0, used = 0;
  for (int d = 0; d < 3; ++d)
    if (fine.step[d] == 2) {
      ++left;
      b.lo[d] = 2 * part.lo[d] - 1;
      b.hi[d] = 2 * part.hi[d];
    }
  for (int d = 2; d >= 0; --d) {
    if (fine.step[d] == 1) continue;
    b.lo[d] = part.lo[d];
    b.hi[d] = part.hi[d];
    const bool    last = --left == 0;
    const Layout3 to   = last ? coarse.layout : layout_for(b, plan.dimension);
    double       *target = out.a.data();
    if (!last) {
      const size_t room = to.size() * (size_t)points(plan.dimension, true);
      if (plan.work[used].size() < room) plan.work[used].resize(Extent{room, plan.exec.space}); // at the first time
      target = plan.work[used].data();
    }
    with_kind(plan.dimension, box, [&](auto kind) {
      using K = decltype(kind);
      coarsen_direction<K::dimension, K::box>(plan, d, a, from, free, fine, target, to, b);
    });
    a    = target;
    from = to;
    box  = true;
    free = nullptr;
    used = 1 - used;
  }
}

namespace {

// The coarse nodes of row J that truncation may make others than those of the untruncated operator: cut[I] != 0 where
// a fine row in the support is another one. On the finest grid of these products that is so for a node that is at a
// bound, and its neighbours.
void find_cut(const Level &fine, bool top, int J, Run run, uint8_t *cut)
{
  const int reach = top ? 2 : 1, n = run.hi - run.lo;
  std::fill(cut, cut + n, 0);
  for (int j = 2 * J - reach; j <= 2 * J + reach; ++j) {
    const ptrdiff_t o = fine.layout.row(j, 0) + run.lo, odd = o + fine.layout.half;
    if (top) {
      const uint8_t *a = fine.inactive.data(), *b = fine.free.data();
      for (int t = 0; t < n; ++t)
        cut[t] |= (a[o + t - 1] ^ b[o + t - 1]) | (a[o + t] ^ b[o + t]) | (a[o + t + 1] ^ b[o + t + 1]) |
                  (a[odd + t - 1] ^ b[odd + t - 1]) | (a[odd + t] ^ b[odd + t]);
    } else {
      const uint8_t *a = fine.cut.data();
      for (int t = 0; t < n; ++t) cut[t] |= a[o + t] | a[odd + t - 1] | a[odd + t];
    }
  }
}

// f(parity, first place, number) for the two halves of a run of nodes.
template <class F> void halves(const Layout3 &l, int j, Run run, const F &f)
{
  for (int p = 0; p < 2; ++p) {
    const int t = half_begin(run.lo, p), n = half_begin(run.hi, p) - t;
    if (n > 0) f(p, l.row(j, 0) + p * (ptrdiff_t)l.half + t, (size_t)n);
  }
}

// The product row by row, on the host in the plane: where fine nodes have one stencil a coarse one is found once, and
// what truncation does not change is copied.
void coarsen_rows(Plan &plan, const Level &fine, Level &coarse, const Operator &op, const uint8_t *free, bool truncated,
                  bool top, Operator &out)
{
  const Run            part{coarse.part.lo[0], coarse.part.hi[0]};
  const Layout3       &l = coarse.layout;
  const int            planes = points(2, true);
  const size_t         plane = l.size();
  std::vector<uint8_t> cut((size_t)std::max(0, part.hi - part.lo));
  double              *a = out.a.data();
  for (int J = coarse.part.lo[1]; J < coarse.part.hi[1]; ++J) {
    const auto find = [&](Run run) {
      Box3 box  = coarse.part;
      box.lo[0] = run.lo, box.hi[0] = run.hi;
      box.lo[1] = J, box.hi[1] = J + 1;
      if (!box.empty()) coarsen_part(plan, fine, coarse, op, free, box, out);
    };
    if (!truncated) {
      const Run equal = repeating(fine, op, 2 * J - 2, 2 * J + 3, 0, 1);
      // 2 I - 2 and 2 I + 2 are among them
      const Run run{std::max(part.lo, floor_half(equal.lo + 1) + 1), std::min(part.hi, floor_half(equal.hi - 1))};
      if (run.hi - run.lo < 4) {
        find(part);
        continue;
      }
      find({part.lo, run.lo + 1});
      find({run.hi, part.hi});
      const ptrdiff_t from = l.at(run.lo, J, 0);
      halves(l, J, run, [&](int, ptrdiff_t e, size_t n) {
        for (int p = 0; p < planes; ++p) std::fill_n(a + p * plane + e, n, a[p * plane + (size_t)from]);
      });
      continue;
    }
    find_cut(fine, top, J, part, cut.data());
    for (int lo = part.lo, hi; lo < part.hi; lo = hi) {
      const bool now = cut[(size_t)(lo - part.lo)];
      for (hi = lo + 1; hi < part.hi && (cut[(size_t)(hi - part.lo)] != 0) == now; ++hi) { }
      if (now) find({lo, hi});
      halves(l, J, {lo, hi}, [&](int, ptrdiff_t e, size_t n) {
        uint8_t *const was = coarse.cut.data() + e, *const end = was + n;
        if (now) return std::fill(was, end, (uint8_t)1);
        // the others are those of A
        for (uint8_t *from = std::find(was, end, 1), *to; from < end; from = std::find(to, end, 1)) {
          to = std::find(from, end, 0);
          for (int p = 0; p < planes; ++p)
            std::copy_n(coarse.A.a.data() + p * plane + e + (from - was), to - from, a + p * plane + e + (from - was));
          std::fill(from, to, (uint8_t)0);
        }
      });
    }
  }
}

} // namespace

void galerkin(Plan &plan, int k, bool truncated, bool top)
{
  Level          &fine = plan.levels[(size_t)k], &coarse = plan.levels[(size_t)k + 1];
  const Operator &op   = truncated && !top ? fine.truncated : fine.A;
  Operator       &out  = truncated ? coarse.truncated : coarse.A;
  const uint8_t  *free = truncated && top ? fine.inactive.data() : fine.free.data();
  if (galerkin_directly(plan, fine, coarse, op, free, truncated, top, out)) {
    if (truncated) coarse.incoming.exchange(coarse.cut.data());
    exchange_operator(plan, coarse, out);
    if (!plan.symmetric) stabilise(plan, coarse, out);
    else if (coarse.incoming.remote()) make_inverse(plan, coarse, out); // of what others have found
    if (truncated) shorten_stretches(plan, coarse);
    return;
  }
  // On the host a few rows, or layers, of coarse nodes at a time: what lies between the steps stays in the cache.
  // What is stabilised afterwards may not be copied from an operator that has been.
  const bool one_thread = plan.passes(),
             rows = one_thread && plan.dimension == 2 && fine.step[0] == 2 && fine.step[1] == 2 &&
                    (!truncated || plan.symmetric);
  const int outer = fine.step[2] == 2 ? 2 : fine.step[1] == 2 ? 1 : 0;
  double    slice = points(plan.dimension, true);
  for (int d = 0; d < outer; ++d) slice *= 2 * (coarse.part.hi[d] - coarse.part.lo[d]) + 1;
  const int count = one_thread ? 1 + (int)(65536 / slice) : coarse.part.hi[outer] - coarse.part.lo[outer];
  if (rows) coarsen_rows(plan, fine, coarse, op, free, truncated, top, out);
  if (coarse.cut.size() && !(rows && truncated))
    for_nodes(plan.exec, coarse.layout, coarse.own, MarkCut{coarse.cut.data(), coarse.layout.half});
  for (int first = coarse.part.lo[outer]; !rows && !coarse.part.empty() && first < coarse.part.hi[outer];
       first += count) {
    Box3 part      = coarse.part;
    part.lo[outer] = first;
    part.hi[outer] = std::min(first + count, part.hi[outer]);
    coarsen_part(plan, fine, coarse, op, free, part, out);
  }
  // by all processes: their numbers of threads may differ
  if (truncated && coarse.cut.size()) coarse.incoming.exchange(coarse.cut.data());
  exchange_operator(plan, coarse, out);
  if (!plan.symmetric) stabilise(plan, coarse, out);
  else if (rows && truncated && !coarse.incoming.remote()) {
    invert(plan, coarse, out);
    shorten_stretches(plan, coarse);
  } else make_inverse(plan, coarse, out);
}

} // namespace tessera::vipmg
