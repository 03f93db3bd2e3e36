// What the host's strategies share: threads that wait for each other, the product with a panel of the matrix, and a
// panel's rows one after the other. host.cxx tells why.
#pragma once
#include "densegs/densegs.hpp"
#include <atomic>
#include <cmath>
#include <thread>
#ifdef _OPENMP
  #include <omp.h>
#endif
#if defined(__x86_64__)
  #include <immintrin.h>
#endif

namespace tessera::densegs {

namespace {

int threads_here()
{
#ifdef _OPENMP
  return omp_get_num_threads();
#else
  return 1;
#endif
}
int thread_here()
{
#ifdef _OPENMP
  return omp_get_thread_num();
#else
  return 0;
#endif
}

// A pause while another thread works; where there are fewer cores than threads the core is given away.
struct Pause {
  int  spins = 0;
  void operator()()
  {
    if (++spins < 2000) {
#if defined(__x86_64__)
      _mm_pause();
#endif
    } else std::this_thread::yield();
  }
};

struct Barrier {
  int              threads;
  std::atomic<int> arrived{0}, round{0};
  void             wait()
  {
    const int now = round.load(std::memory_order_relaxed);
    if (arrived.fetch_add(1, std::memory_order_acq_rel) == threads - 1) {
      arrived.store(0, std::memory_order_relaxed);
      round.store(now + 1, std::memory_order_release);
    } else
      for (Pause pause; round.load(std::memory_order_acquire) == now;) pause();
  }
};

// A vector of the machine, and rows whose sums are in registers: all of a panel with 32 of them, else half or a
// quarter.
#if defined(__AVX512F__)
constexpr int lanes = 8, group = height;
#elif defined(__AVX__)
constexpr int lanes = 4, group = height / 2;
#else
constexpr int lanes = 2, group = height / 4;
#endif
typedef double Doubles __attribute__((vector_size(lanes * 8), aligned(8), may_alias));
typedef float  Floats __attribute__((vector_size(lanes * 4), aligned(4), may_alias));
inline Doubles take(const double *p) { return *(const Doubles *)p; }
inline Doubles take(const float *p) { return __builtin_convertvector(*(const Floats *)p, Doubles); }

// sum[0..height) += the panel's columns [0, columns) times x, whole tiles of them. 8 (single: 4) bytes of memory for
// a multiplication; none for unknowns that are zero, as those of open contacts are: the sums are the same, and memory
// sets the stalls. Four columns of a tile, some pages apart, are read side by side: with one stream a core gets little
// more than half of what its memory gives.
template <class T> void product(const T *a, const double *x, int columns, double *sum)
{
  constexpr int lines = group / lanes, apart = height / 4;
  for (int tile = 0; tile < columns; tile += height)
    for (int j = tile; j < tile + apart; ++j) {
      if (x[j] == 0 && x[j + apart] == 0 && x[j + 2 * apart] == 0 && x[j + 3 * apart] == 0) continue;
      for (int g = 0; g < height; g += group) {
        Doubles s[lines];
        for (int l = 0; l < lines; ++l) s[l] = take(sum + g + lanes * l);
        for (int c = j; c < tile + height; c += apart) {
          if (x[c] == 0) continue;
          const T *p = a + (size_t)c * height + g;
          for (int l = 0; l < lines; ++l) s[l] += take(p + lanes * l) * x[c];
        }
        for (int l = 0; l < lines; ++l) *(Doubles *)(sum + g + lanes * l) = s[l];
      }
    }
}

inline double clip(double v, double lower, double upper) { return v < lower ? lower : v > upper ? upper : v; }
inline double clip(const Request &r, int i, double v) { return r.lower ? clip(v, r.lower[i], r.upper[i]) : v; }

// The rows of a panel, one after the other. before, after: the sums over the other panels' unknowns, of this and of
// the last sweep. Returns the sum of |change|.
template <class T> double solve_panel(const Plan &plan, const Request &r, const Sequence &order, int p,
                                      const double *before, const double *after)
{
  const Panels &m = plan.panels;
  const T      *d =
    (m.single() ? (const T *)m.s.data() : (const T *)m.a.data()) + ((size_t)p * m.stride + (size_t)p * height) * height;
  const int     i0 = p * height;
  alignas(64) double own[height] = {}, w[height];
  double        change = 0;
  product(d, r.x + i0, height, own);
  for (int k = 0; k < height; ++k) w[k] = r.q[i0 + k] + (before[k] + after[k] + own[k]);
  for (int k = 0; k < height; ++k) {
    const int    at = order.inner[(size_t)k], i = i0 + at;
    const double x = clip(r, i, r.x[i] - plan.params.omega * w[at] * m.inverse.data()[i]), step = x - r.x[i];
    if (step == 0) continue;
    r.x[i] = x;
    change += std::fabs(step);
    const T *column = d + (size_t)at * height;
    for (int l = 0; l < height; l += lanes) *(Doubles *)(w + l) += take(column + l) * step;
  }
  return change;
}

} // namespace

} // namespace tessera::densegs
