// Between a grid and the next coarser one. Coarse node I lies on fine node 2 I.
#include "vipmg/transfer.hpp"
#include <algorithm>

namespace tessera::vipmg {

namespace {

enum class With { nothing, extremes, means };

// r, summed with the weights of coarse node (2 t + P, j, k), and bounds. Coarse functions are cut off at Dirichlet
// rows, whose bounds, where x often is, would hold up all coarse nodes beside a boundary.
template <bool X, With Bounds> struct Restrict {
  Layout3       fine;
  Weights       w;
  const double *r, *x, *lo, *up;
  const uint8_t *free;
  double       *b, *coarse_lo, *coarse_up, *coarse_x;
  int           half;

  HD void bound(ptrdiff_t f, double weight, double &l, double &u) const
  {
    const double a = lo[f] - x[f], c = up[f] - x[f];
    if (Bounds == With::means) {
      if (weight > 0) l += weight * a, u += weight * c; // infinity times zero is no number
      return;
    }
    const bool   counts = (weight > 0) & (free[f] != 0); // no branches, for the host's vectors
    const double lower = counts ? a : -INFINITY, upper = counts ? c : INFINITY;
    l = lower > l ? lower : l;
    u = upper < u ? upper : u;
  }
  static constexpr bool means = Bounds == With::means;
  // f(place of a fine row, without the half; its weight) for those around coarse row (j, k)
  template <class F> HD void rows(int j, int k, const F &f) const
  {
    const int nj = w.step[1] == 2, nk = w.step[2] == 2;
    for (int dk = -nk; dk <= nk; ++dk) {
      const double wk = dk < 0 ? w.left[2][k] : dk > 0 ? w.right[2][k] : 1;
      for (int dj = -nj; dj <= nj; ++dj)
        f(fine.row(w.step[1] * j + dj, w.step[2] * k + dk), wk * (dj < 0 ? w.left[1][j] : dj > 0 ? w.right[1][j] : 1));
    }
  }
  // What fine row f adds at coarse node I of the row.
  HD void add(ptrdiff_t f, double wj, int I, double &sum, double &l, double &u, double &all) const
  {
    const ptrdiff_t here = f + I, behind = f + fine.half + I;
    const double    wl = w.left[0][I], wr = w.right[0][I];
    sum += wj * (r[here] + wl * r[behind - 1] + wr * r[behind]);
    if (means) all += wj * (1 + wl + wr);
    if (Bounds == With::nothing) return;
    bound(here, wj, l, u);
    bound(behind - 1, wj * wl, l, u);
    bound(behind, wj * wr, l, u);
  }
  HD void put(ptrdiff_t e, double sum, double l, double u, double all) const
  {
    b[e]        = sum;
    coarse_x[e] = 0;
    if (Bounds == With::nothing) return;
    coarse_lo[e] = means ? l / all : l;
    coarse_up[e] = means ? u / all : u;
  }
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k) const
  {
    double sum = 0, l = means ? 0 : -INFINITY, u = means ? 0 : INFINITY, all = 0;
    rows(j, k, [&](ptrdiff_t f, double wj) {
      if (X) return add(f, wj, 2 * t + P, sum, l, u, all);
      const ptrdiff_t here = f + P * (ptrdiff_t)fine.half + t;
      sum += wj * r[here];
      all += wj;
      if (Bounds != With::nothing) bound(here, wj, l, u);
    });
    put(o + P * (ptrdiff_t)half, sum, l, u, all);
  }
};

struct Inject {
  Layout3       fine;
  const double *lo, *up;
  double       *coarse_lo, *coarse_up;
  int           half, step[3];
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)half, f = fine.at(step[0] * (2 * t + P), step[1] * j, step[2] * k);
    coarse_lo[e] = lo[f];
    coarse_up[e] = up[f];
  }
};

// The coarse function along a fine row of the host: there coarse nodes lie side by side, not in halves.
struct AlongRow {
  const double *c, *left, *right;
  template <int P> HD double value(int t, int, int) const
  {
    return P == 0 ? c[t] : right[t] * c[t] + left[t + 1] * c[t + 1];
  }
};

template <bool Add, bool Clip, class From> struct Prolong {
  From           from;
  const double  *inverse, *lo, *up;
  const uint8_t *mask; // of the nodes that take part, or nullptr: those with an inverse
  double        *x;
  int            half;
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)half;
    const double    v = from.template value<P>(t, j, k);
    const double    y = (mask ? !mask[e] : inverse[e] == 0) ? x[e] : Add ? x[e] + v : v;
    x[e]              = Clip ? between(y, lo[e], up[e]) : y;
  }
};

// What a fine row adds to all nodes of a coarse row of the host; rows() calls it, which is the device's, too.
template <class Kernel> struct AddRow {
  const Kernel &own;
  int           lo, n;
  double       *sum, *l, *u, *all;
  HD void       operator()(ptrdiff_t f, double wj) const
  {
#pragma GCC ivdep
    for (int q = 0; q < n; ++q) own.add(f, wj, lo + q, sum[q], l[q], u[q], all[q]);
  }
};

// A row of coarse nodes, one beside the other as their fine nodes lie: every access is of unit stride then.
template <With Bounds> TESSERA_ALONE void restrict_row(const Restrict<true, Bounds> &kernel, const Layout3 &coarse,
                                                       int lo, int hi, int j, int k)
{
  const Restrict<true, Bounds> own = kernel;
  const int                    n = hi - lo;
  constexpr bool               means = Bounds == With::means;
  std::vector<double>          row((size_t)4 * n);
  double *const                sum = row.data(), *const l = sum + n, *const u = l + n, *const all = u + n;
  std::fill_n(l, n, means ? 0 : -INFINITY);
  std::fill_n(u, n, means ? 0 : INFINITY);
  own.rows(j, k, AddRow<Restrict<true, Bounds>>{own, lo, n, sum, l, u, all});
  for (int p = 0; p < 2; ++p) {
    const ptrdiff_t o  = coarse.row(j, k) + p * (ptrdiff_t)coarse.half;
    const int       t0 = half_begin(lo, p), t1 = half_begin(hi, p), q = p - lo;
#pragma GCC ivdep
    for (int t = t0; t < t1; ++t) own.put(o + t, sum[2 * t + q], l[2 * t + q], u[2 * t + q], all[2 * t + q]);
  }
}

// out[I - lo]: the coarse function at coarse nodes [lo, hi) of fine row (j, k).
TESSERA_ALONE void interpolate_row(const Interpolate &from, int j, int k, int lo, int hi, double *out)
{
  const Weights  &w  = from.w;
  const int       nj = w.step[1] == 2 && j & 1, nk = w.step[2] == 2 && k & 1, J = w.step[1] == 2 ? floor_half(j) : j,
            K        = w.step[2] == 2 ? floor_half(k) : k;
  const Layout3  &l  = from.coarse;
  std::fill_n(out, hi - lo, 0.);
  for (int dk = 0; dk <= nk; ++dk)
    for (int dj = 0; dj <= nj; ++dj) {
      const double weight =
        (nk ? dk ? w.left[2][K + 1] : w.right[2][K] : 1) * (nj ? dj ? w.left[1][J + 1] : w.right[1][J] : 1);
      for (int p = 0; p < 2; ++p) {
        const double *c = from.c + l.row(J + dj, K + dk) + p * (ptrdiff_t)l.half;
        for (int t = half_begin(lo, p); t < half_begin(hi, p); ++t) out[2 * t + p - lo] += weight * c[t];
      }
    }
}

template <bool Add, bool Clip> void prolong_box(const Plan &plan, Level &fine, const Level &coarse, double *x,
                                                const Operator &op, const uint8_t *mask, const Box3 &part)
{
  const Interpolate from{coarse.layout, weights(fine), coarse.x.data()};
  const Prolong<Add, Clip, Interpolate> at_nodes{from, op.inverse.data(), fine.lo.data(), fine.up.data(), mask, x,
                                                 fine.layout.half};
  if (fine.step[0] == 1) return for_nodes(plan.exec, fine.layout, part, at_nodes);
  const int lo = floor_half(part.lo[0]), hi = floor_half(part.hi[0]) + 1;
  for_nodes(plan.exec, fine.layout, part, at_nodes, [&](int j, int k) {
    std::vector<double> row((size_t)(hi - lo));
    interpolate_row(from, j, k, lo, hi, row.data());
    const Prolong<Add, Clip, AlongRow> kernel{
      {row.data() - lo, from.w.left[0], from.w.right[0]},
      op.inverse.data(),
      fine.lo.data(),
      fine.up.data(),
      mask,
      x,
      fine.layout.half
    };
    half_row<0>(fine.layout, j, k, half_begin(part.lo[0], 0), half_begin(part.hi[0], 0), kernel);
    half_row<1>(fine.layout, j, k, half_begin(part.lo[0], 1), half_begin(part.hi[0], 1), kernel);
  });
}

template <With Bounds>
void restrict_box(const Plan &plan, Level &fine, Level &coarse, const double *r, const Box3 &part)
{
  const Weights w = weights(fine);
  if (w.step[0] == 2) {
    const Restrict<true, Bounds> kernel{fine.layout,
                                        w,
                                        r,
                                        fine.x.data(),
                                        fine.lo.data(),
                                        fine.up.data(),
                                        fine.free.data(),
                                        coarse.b.data(),
                                        coarse.lo.data(),
                                        coarse.up.data(),
                                        coarse.x.data(),
                                        coarse.layout.half};
    for_nodes(plan.exec, coarse.layout, part, kernel,
              [&](int j, int k) { restrict_row(kernel, coarse.layout, part.lo[0], part.hi[0], j, k); });
  } else
    for_nodes(plan.exec, coarse.layout, part,
              Restrict<false, Bounds>{fine.layout, w, r, fine.x.data(), fine.lo.data(), fine.up.data(),
                                      fine.free.data(), coarse.b.data(), coarse.lo.data(), coarse.up.data(),
                                      coarse.x.data(), coarse.layout.half});
}

} // namespace

void restrict_part(const Plan &plan, Level &fine, Level &coarse, const double *r, Bounds bounds, const Box3 &part)
{
  switch (bounds) {
  case Bounds::monotone:
    return restrict_box<With::extremes>(plan, fine, coarse, r, part);
  case Bounds::mean:
    return restrict_box<With::means>(plan, fine, coarse, r, part);
  case Bounds::none:
    return restrict_box<With::nothing>(plan, fine, coarse, r, part);
  case Bounds::inject:
    restrict_box<With::nothing>(plan, fine, coarse, r, part);
    for_nodes(plan.exec, coarse.layout, part,
              Inject{
                fine.layout,
                fine.lo.data(),
                fine.up.data(),
                coarse.lo.data(),
                coarse.up.data(),
                coarse.layout.half,
                {fine.step[0], fine.step[1], fine.step[2]}
    });
  }
}

void exchange_problem(Level &coarse, Bounds bounds)
{
  double *all[] = {coarse.b.data(), coarse.lo.data(), coarse.up.data()};
  coarse.incoming.exchange(all, bounds == Bounds::none ? 1 : 3);
  if (coarse.incoming.remote() || !coarse.halo.empty()) coarse.x.zero();
}

void restrict_problem(const Plan &plan, Level &fine, Level &coarse, const double *r, Bounds bounds)
{
  restrict_part(plan, fine, coarse, r, bounds, coarse.part);
  exchange_problem(coarse, bounds);
}

void prolong_part(const Plan &plan, Level &fine, const Level &coarse, double *x, const Operator &op, bool clip,
                  bool masked, const Box3 &part)
{
  const uint8_t *mask = masked ? fine.inactive.data() : nullptr;
  if (clip) prolong_box<true, true>(plan, fine, coarse, x, op, mask, part);
  else prolong_box<true, false>(plan, fine, coarse, x, op, mask, part);
}

void prolong_add(const Plan &plan, Level &fine, const Level &coarse, double *x, const Operator &op, bool clip,
                 bool masked)
{
  prolong_part(plan, fine, coarse, x, op, clip, masked, fine.own);
  fine.halo.exchange(x);
}

void prolong_start(const Plan &plan, Level &fine, const Level &coarse)
{
  prolong_box<false, true>(plan, fine, coarse, fine.x.data(), fine.A, nullptr, fine.own);
  fine.halo.exchange(fine.x.data());
}

} // namespace tessera::vipmg
