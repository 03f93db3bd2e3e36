// The trial of a first setup: a few steps of conjugate gradients on the finest grid tell how many iterations a solve
// takes.
#include "exec/each.hpp"
#include "exec/random.hpp"
#include "multigrid/acceleration.hpp"
#include "rrb/three/kernels.hpp"
#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace tessera::rrb::three {

namespace {

constexpr int    most_steps = 10, least_steps = 4; // at most, and before the trial is content
constexpr double wanted      = 1e-6;                // of the residual
constexpr double hopeless    = 1000;
// The expectation is certain where so many steps in a row have changed it by no more than such a share.
constexpr int    settled_steps = 2;
constexpr double settled_by    = 0.03;
// Lines that pay expect fewer iterations than points by such a factor after the least steps, in which residuals fall
// quickly with any smoother.
constexpr double lines_promise = 1.1;
// In single precision a residual that has fallen so far may grow again, where rounding leaves something of a null space
// in it, which a solve takes out.
constexpr double rounding = 1e-3;

// Numbers between -1 and 1, the same on any number of processes; zero at nodes that are not smoothed.
template <class T> struct RandomValues {
  const T *inverse;
  T       *b;
  int      half;
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k) const
  {
    const ptrdiff_t e   = o + P * (ptrdiff_t)half;
    const uint64_t  key = (uint64_t)(2 * t + P) * golden_ratio + (uint64_t)j * 0xD1B54A32D192ED03ull +
                         (uint64_t)k * 0x8CB92BA72F3D8DD7ull;
    b[e] = inverse[e] != 0 ? (T)scattered(key) : (T)0;
  }
};

// The finest level and the cycle as multigrid::cg_steps() sees them. The cycle leaves its result in x of the level.
template <class T> struct TrialSpace {
  Level<T>                          &l;
  Comm                               comm;
  const std::function<void()>        cycle;
  const Extent                       n;
  Buffer<T>                          r, d, q, &x, &w;
  TrialSpace(Level<T> &level, const Comm &c, std::function<void()> f) :
    l(level), comm(c), cycle(std::move(f)), n{level.layout.size(), level.exec.space}, r(n), d(n), q(n), x(level.x),
    w(level.x)
  {
    for (Buffer<T> *v : {&r, &d, &q}) v->zero();
  }
  void multiply(Buffer<T> &p, Buffer<T> &product) { three::multiply(l, p.data(), product.data()); }
  void precondition(const Buffer<T> &of, Buffer<T> &)
  {
    copy(of.data(), l.exec.space, l.b.data(), l.exec.space, n.n);
    cycle();
  }
  double dot(const Buffer<T> &u, const Buffer<T> &v)
  {
    double sum = three::dot(l, black, u.data(), v.data());
    if (!l.schur) sum += three::dot(l, red, u.data(), v.data());
    if (!l.shared) MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
    return sum;
  }
  void combine(double s, const Buffer<T> &u, double t, Buffer<T> &v)
  {
    for_each(l.exec, (int)n.n, Combine<T>{(T)s, u.data(), (T)t, v.data()});
  }
};

} // namespace

// Iterations for 1e-6. The right-hand side is A M of random numbers: it has nothing of a null space. most: what is
// fair; where fewer steps promise less no more are made. points: of lines, what points have promised at first, or 0.
template <class T> double Hierarchy<T>::try_cycle(double most, double points)
{
  Level<T>     &l = levels_[0];
  TrialSpace<T> space(l, comm_, [this] { run_cycle(false); });
  double        norms[most_steps + 1], expected = 0;
  int           k = 0, settled = 0; // steps that are done; of the last ones, those that changed nothing
  bool          certain = false;
  box::for_nodes(exec_, l.layout, l.own, RandomValues<T>{l.inverse.data(), space.r.data(), l.layout.half});
  space.precondition(space.r, space.w);
  space.multiply(space.x, space.r);
  norms[0] = std::sqrt(space.dot(space.r, space.r));
  const bool worked = multigrid::cg_steps(space, most_steps, [&](double, double, TrialSpace<T> &s) {
    norms[++k] = std::sqrt(s.dot(s.r, s.r));
    const double left = std::log(norms[k] / (wanted * norms[0]));
    if (!(left <= 0) && k < least_steps) return true;
    if (sizeof(T) == 4 && expected > 0 && norms[k] > norms[k - 1] && norms[k - 1] < rounding * norms[0]) {
      certain = true; // with what the steps before have promised
      return false;
    }
    // residuals fall by fits and starts where coefficients jump, and slower at the end where nodes are served badly
    const auto fall_of = [&](int steps) { return std::log(norms[k - steps] / norms[k]) / steps; };
    const double a_step = k < least_steps ? 0 : std::min(fall_of(3), fall_of(k));
    const double before = expected;
    expected = left <= 0 ? k : a_step > 0 ? k + left / a_step : hopeless;
    settled  = a_step > 0 && std::abs(expected - before) < settled_by * expected ? settled + 1 : 0;
    if (k == least_steps) early_ = expected;
    const bool lost = points > 0 && k == least_steps && expected * lines_promise > points;
    if (lost) expected = hopeless;
    if (settled == settled_steps) expected = std::ceil(expected);
    certain = left <= 0 || expected <= most || lost || settled == settled_steps || k == most_steps;
    return !certain;
  });
  trial_steps_ += k;
  return !worked ? 0 : certain ? expected : k + 1; // else the preconditioner is not definite, from this step on
}

template double Hierarchy<double>::try_cycle(double, double);
template double Hierarchy<float>::try_cycle(double, double);

} // namespace tessera::rrb::three
