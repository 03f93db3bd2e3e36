// The trial of a first setup: a few steps of conjugate gradients on the finest grid tell how many iterations a solve
// takes.
#include "exec/each.hpp"
#include "rrb/three/kernels.hpp"
#include <algorithm>
#include <cmath>

namespace tessera::rrb::three {

namespace {

constexpr int    trial_steps = 10, least_steps = 4; // at most, and before the trial is content
constexpr double wanted      = 1e-6;                // of the residual
constexpr double hopeless    = 1000;

// Numbers between -1 and 1, the same on any number of processes; zero at nodes that are not smoothed.
template <class T> struct Rough {
  const T *inverse;
  T       *b;
  int      half;
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k) const
  {
    const ptrdiff_t    e = o + P * (ptrdiff_t)half;
    unsigned long long z = 1 + (unsigned long long)(2 * t + P) * 0x9E3779B97F4A7C15ull;
    z += (unsigned long long)j * 0xD1B54A32D192ED03ull + (unsigned long long)k * 0x8CB92BA72F3D8DD7ull;
    for (int r = 0; r < 2; ++r) z = (z ^ (z >> 31)) * 0xBF58476D1CE4E5B9ull;
    b[e] = inverse[e] != 0 ? (T)((double)(z >> 12) / 2251799813685248. - 1) : (T)0;
  }
};

// p = z + beta p
template <class T> struct Turn {
  const T *z;
  T       *p, beta;
  HD void  operator()(int e) const { p[e] = z[e] + beta * p[e]; }
};

} // namespace

// Iterations for 1e-6. The right-hand side is A M of random numbers: it has nothing of a null space. most: what is
// fair; where fewer steps promise less no more are made.
template <class T> double Hierarchy<T>::try_cycle(double most)
{
  Level<T>    &l = levels_[0];
  const Extent n{l.layout.size(), exec_.space};
  Buffer<T>    r(n), p(n), q(n);
  double       norms[trial_steps + 1], before = 1;
  const auto   dot = [&](const T *u, const T *v) {
    double sum = three::dot(l, black, u, v);
    if (!l.schur) sum += three::dot(l, red, u, v);
    if (!l.shared) MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, comm_);
    return sum;
  };
  const auto precondition = [&](const T *from) {
    copy(from, exec_.space, l.b.data(), exec_.space, n.n);
    run_cycle(false);
  };
  for (Buffer<T> *v : {&r, &p, &q}) v->zero();
  box::for_nodes(exec_, l.layout, l.own, Rough<T>{l.inverse.data(), r.data(), l.layout.half});
  precondition(r.data());
  multiply(l, l.x.data(), r.data());
  norms[0] = std::sqrt(dot(r.data(), r.data()));
  for (int k = 1; k <= trial_steps; ++k) {
    precondition(r.data());
    const double rz = dot(r.data(), l.x.data());
    for_each(exec_, (int)n.n, Turn<T>{l.x.data(), p.data(), (T)(k > 1 ? rz / before : 0)});
    multiply(l, p.data(), q.data());
    const double pq = dot(p.data(), q.data());
    if (!(rz > 0) || !(pq > 0)) return k > 1 ? k : 0;
    for_each(exec_, (int)n.n, multigrid::Axpy<T, T>{q.data(), r.data(), (T)(-rz / pq), true});
    before   = rz;
    norms[k] = std::sqrt(dot(r.data(), r.data()));
    const double left = std::log(norms[k] / (wanted * norms[0]));
    if (left <= 0) return k;
    if (k < least_steps) continue;
    // residuals fall by fits and starts where coefficients jump, and slower at the end where nodes are served badly
    const double a_step   = std::min(std::log(norms[k - 3] / norms[k]) / 3, std::log(norms[0] / norms[k]) / k),
                 expected = a_step > 0 ? k + left / a_step : hopeless;
    if (expected <= most || k == trial_steps) return expected;
  }
  return trial_steps;
}

template double Hierarchy<double>::try_cycle(double);
template double Hierarchy<float>::try_cycle(double);

} // namespace tessera::rrb::three
