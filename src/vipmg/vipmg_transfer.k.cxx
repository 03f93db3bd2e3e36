// Between a grid and the next coarser one. Coarse node I lies on fine node 2 I.
#include "vipmg/transfer.hpp"

namespace tessera::vipmg {

namespace {

enum class With { nothing, extremes, means };

// r, summed with the weights of coarse node (2 t + P, j, k), and bounds. Coarse functions are cut off at Dirichlet rows, whose bounds,
// where x often is, would hold up all coarse nodes beside a boundary.
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
    const bool counts = weight > 0 && free[f];
    l = counts && a > l ? a : l;
    u = counts && c < u ? c : u;
  }
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)half;
    const int       I = 2 * t + P, nj = w.step[1] == 2, nk = w.step[2] == 2;
    constexpr bool  means = Bounds == With::means;
    double          sum = 0, l = means ? 0 : -INFINITY, u = means ? 0 : INFINITY, all = 0;
    for (int dk = -nk; dk <= nk; ++dk) {
      const double wk = dk < 0 ? w.left[2][k] : dk > 0 ? w.right[2][k] : 1;
      for (int dj = -nj; dj <= nj; ++dj) {
        const double    wj = wk * (dj < 0 ? w.left[1][j] : dj > 0 ? w.right[1][j] : 1);
        const ptrdiff_t f  = fine.row(w.step[1] * j + dj, w.step[2] * k + dk);
        if (X) {
          const ptrdiff_t here = f + I, behind = f + fine.half + I;
          const double    wl = w.left[0][I], wr = w.right[0][I];
          sum += wj * (r[here] + wl * r[behind - 1] + wr * r[behind]);
          all += wj * (1 + wl + wr);
          if (Bounds != With::nothing) {
            bound(here, wj, l, u);
            bound(behind - 1, wj * wl, l, u);
            bound(behind, wj * wr, l, u);
          }
        } else {
          const ptrdiff_t here = f + P * (ptrdiff_t)fine.half + t;
          sum += wj * r[here];
          all += wj;
          if (Bounds != With::nothing) bound(here, wj, l, u);
        }
      }
    }
    b[e]        = sum;
    coarse_x[e] = 0;
    if (Bounds != With::nothing) {
      coarse_lo[e] = means ? l / all : l;
      coarse_up[e] = means ? u / all : u;
    }
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

template <bool Add, bool Clip> struct Prolong {
  Interpolate    from;
  const double  *inverse, *lo, *up;
  const uint8_t *mask;
  double        *x;
  int            half;
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)half;
    const double    v = from.value<P>(t, j, k);
    double          y = inverse[e] == 0 || (mask && !mask[e]) ? x[e] : Add ? x[e] + v : v;
    if (Clip) {
      y = y < lo[e] ? lo[e] : y;
      y = y > up[e] ? up[e] : y;
    }
    x[e] = y;
  }
};

} // namespace

namespace {

template <With Bounds> void restrict_box(const Plan &plan, Level &fine, Level &coarse, const double *r, const Box3 &part)
{
  const Weights w = weights(fine);
  if (w.step[0] == 2)
    for_nodes(plan.exec, coarse.layout, part,
              Restrict<true, Bounds>{fine.layout, w, r, fine.x.data(), fine.lo.data(), fine.up.data(), fine.free.data(), coarse.b.data(), coarse.lo.data(), coarse.up.data(), coarse.x.data(), coarse.layout.half});
  else
    for_nodes(plan.exec, coarse.layout, part,
              Restrict<false, Bounds>{fine.layout, w, r, fine.x.data(), fine.lo.data(), fine.up.data(), fine.free.data(), coarse.b.data(), coarse.lo.data(), coarse.up.data(), coarse.x.data(), coarse.layout.half});
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
    for_nodes(plan.exec, coarse.layout, part, Inject{fine.layout, fine.lo.data(), fine.up.data(), coarse.lo.data(), coarse.up.data(), coarse.layout.half, {fine.step[0], fine.step[1], fine.step[2]}});
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

void prolong_part(const Plan &plan, Level &fine, const Level &coarse, double *x, const Operator &op, bool clip, bool masked, const Box3 &part)
{
  const Interpolate from{coarse.layout, weights(fine), coarse.x.data()};
  const uint8_t    *mask = masked ? fine.inactive.data() : nullptr;
  if (clip) for_nodes(plan.exec, fine.layout, part, Prolong<true, true>{from, op.inverse.data(), fine.lo.data(), fine.up.data(), mask, x, fine.layout.half});
  else for_nodes(plan.exec, fine.layout, part, Prolong<true, false>{from, op.inverse.data(), nullptr, nullptr, mask, x, fine.layout.half});
}

void prolong_add(const Plan &plan, Level &fine, const Level &coarse, double *x, const Operator &op, bool clip, bool masked)
{
  prolong_part(plan, fine, coarse, x, op, clip, masked, fine.own);
  fine.halo.exchange(x);
}

void prolong_start(const Plan &plan, Level &fine, const Level &coarse)
{
  for_nodes(plan.exec, fine.layout, fine.own, Prolong<false, true>{{coarse.layout, weights(fine), coarse.x.data()}, fine.A.inverse.data(), fine.lo.data(), fine.up.data(), nullptr, fine.x.data(), fine.layout.half});
  fine.halo.exchange(fine.x.data());
}

} // namespace tessera::vipmg
