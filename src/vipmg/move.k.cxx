// Between the arrays of vectors, in natural order, and the finest level.
#include "vipmg/linear_problem.hpp"
#include "vipmg/stencil3.hpp"
#include <utility>

namespace tessera::vipmg {

namespace {

// The place of a node in an array of the own nodes.
struct Natural {
  int          lo[3], ni, nj;
  HD ptrdiff_t at(int i, int j, int k) const
  {
    return i - lo[0] + (ptrdiff_t)ni * (j - lo[1] + (ptrdiff_t)nj * (k - lo[2]));
  }
};

Natural natural(const Level &l)
{
  return {
    {l.own.lo[0], l.own.lo[1], l.own.lo[2]},
    l.own.hi[0] - l.own.lo[0], l.own.hi[1] - l.own.lo[1]
  };
}

// Diagonal entries of the finest operator.
const double *diagonal(const Plan &plan, const Level &l)
{
  ptrdiff_t plane = 0;
  with_kind(plan.dimension, l.A.box,
            [&](auto kind) { plane = centre<decltype(kind)::dimension, decltype(kind)::box>(); });
  return l.A.a.data() + plane * (ptrdiff_t)l.layout.size();
}

struct Look {
  Natural       n;
  const double *F, *X, *X0, *XL, *XU, *r, *diagonal;
  double        zero;
  int           half;
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k, Point &p) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)half, q = n.at(2 * t + P, j, k);
    const double    f = F[q], here = X[q], below = XL[q] - here, above = XU[q] - here;
    p.difference += (f + r[e]) * (f + r[e]);
    p.F += f * f;
    p.X += here * here;
    p.slope += f * (here - X0[q]);
    p.measure.add(f, 0, below, above, diagonal[e], zero);
  }
};

struct Changed {
  double sum = 0; // of |x|
  HD void join(const Changed &o) { sum += o.sum; }
};

struct Start {
  const double  *b, *lo, *up, *diagonal;
  const uint8_t *free;
  double        *x, *y;
  int            half;
  HD double value(ptrdiff_t e, double right, double below, double above) const
  {
    const double solved = right / diagonal[e];
    double       v      = free[e] ? 0 : solved;
    v                   = v < below ? below : v;
    return v > above ? above : v;
  }
  template <int P> HD void at(int, ptrdiff_t o, int, int, Changed &c) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)half;
    const double    v = value(e, b[e], lo[e], up[e]);
    y[e]              = v;
    x[e]              = v;
    c.sum += fabs(v);
  }
};

struct Load {
  Natural       n;
  const double *F, *X, *XL, *XU, *kept; // kept: a correction with the last step to it, or nullptr
  Start         start;
  double       *b, *lo, *up;
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k, Changed &c) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)start.half, q = n.at(2 * t + P, j, k);
    const double    right = -F[q], here = X[q], below = XL[q] - here, above = XU[q] - here,
                 v = start.value(e, right, below, above);
    b[e]       = right;
    lo[e]      = below;
    up[e]      = above;
    start.y[e] = kept ? v - (kept[e] - start.y[e]) : v;
    start.x[e] = v;
    c.sum += fabs(v);
  }
};

Start start_of(const Plan &plan, Level &l)
{
  return {l.b.data(),    l.lo.data(), l.up.data(), diagonal(plan, l),
          l.free.data(), l.x.data(),  l.y.data(),  l.layout.half};
}

struct Store {
  Natural       n;
  const double *X0, *XL, *XU, *F, *d;
  double       *X, t;
  int           half;
  template <int P> HD void at(int i, ptrdiff_t o, int j, int k, Moved &m) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)half, q = n.at(2 * i + P, j, k);
    const double    v = step_to(X0[q], XL[q], XU[q], d[e], t);
    X[q] = v;
    m.add(F[q], v - X0[q]);
  }
};

struct Take {
  Natural       n;
  const double *X0, *Y;
  double       *x, *y;
  int           half;
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)half, q = n.at(2 * t + P, j, k);
    x[e] = y[e] = Y[q] - X0[q];
  }
};

// What the kernel gathers at the own nodes of all processes.
template <class R, class Kernel> R gather(const Plan &plan, const Level &l, const Kernel &kernel)
{
  Buffer<R> both(Extent{2, plan.exec.space});
  join_nodes(plan.exec, l.layout, l.own, kernel, both.data());
  return sum_of(plan, l, both);
}

} // namespace

Point BoxProblem::evaluate(const double *F, const double *X, const double *X0, const double *XL, const double *XU)
{
  const Plan  &plan = *plan_;
  const Level &l    = plan.levels[0];
  return gather<Point>(
    plan, l,
    Look{natural(l), F, X, X0 ? X0 : X, XL, XU, l.r.data(), diagonal(plan, l), plan.zero_tolerance, l.layout.half});
}

// NaN counts as a change: measure() is called then and finds it.
bool BoxProblem::load(const double *F, const double *X, const double *XL, const double *XU, bool follow)
{
  Level     &l = plan_->levels[0];
  const auto change =
    gather<Changed>(*plan_, l,
                    Load{natural(l), F, X, XL, XU, follow ? l.v.data() : nullptr, start_of(*plan_, l), l.b.data(),
                         l.lo.data(), l.up.data()});
  double *fields[] = {l.lo.data(), l.up.data(), l.x.data()};
  l.halo.exchange(fields, 3);
  plan_->span.cycles = 0;
  return !(change.sum == 0);
}

bool BoxProblem::restart()
{
  Level     &l      = plan_->levels[0];
  const auto change = gather<Changed>(*plan_, l, start_of(*plan_, l));
  l.halo.exchange(l.x.data());
  return !(change.sum == 0);
}

void BoxProblem::save()
{
  Level &l = plan_->levels[0];
  if (held_.size() != l.x.size()) held_.resize(l.x.extent());
  copy(l.x, held_);
}

void BoxProblem::go_back()
{
  Level &l = plan_->levels[0];
  copy(held_, l.x);
  copy(held_, l.y);
}

void BoxProblem::set_correction(const double *X0, const double *Y)
{
  Level &l = plan_->levels[0];
  for_nodes(plan_->exec, l.layout, l.own, Take{natural(l), X0, Y, l.x.data(), l.y.data(), l.layout.half});
  l.halo.exchange(l.x.data());
}

void BoxProblem::forget()
{
  plan_->levels[0].inactive.zero();
  plan_->span.forget();
  plan_->truncated_top = -1;
  choose(*plan_);
}

void BoxProblem::keep_correction()
{
  Level &l = plan_->levels[0];
  if (plan_->recorded) copy(l.x, l.v); // what is recorded of cycles holds their addresses
  else std::swap(l.x, l.v);
}

Moved BoxProblem::step(double t, const double *X0, const double *XL, const double *XU, const double *F, double *X)
{
  const Level &l = plan_->levels[0];
  return gather<Moved>(*plan_, l, Store{natural(l), X0, XL, XU, F, l.v.data(), X, t, l.layout.half});
}

} // namespace tessera::vipmg
