// The cycle: smoothing, and how the grids follow each other.
#include "tree/hierarchy.hpp"
#include "tree/dispatch.hpp"
#include "tree/rows.hpp"
#include "exec/each.hpp"
#include "multigrid/acceleration.hpp"
#include "multigrid/lanczos.hpp"

namespace tessera::tree {

namespace {

// q = A p; the sum is (p, A p)
template <class T, int BS> struct Multiply {
  const int *i, *j;
  const T   *a, *x;
  T         *q;
  HD double  operator()(int p) const
  {
    T s[BS] = {};
    for (int e = i[p]; e < i[p + 1]; ++e)
      for (int k = 0; k < BS; ++k)
        for (int m = 0; m < BS; ++m) s[k] += a[(ptrdiff_t)BS * BS * e + BS * k + m] * x[(ptrdiff_t)BS * j[e] + m];
    double sum = 0;
    for (int k = 0; k < BS; ++k) {
      q[(ptrdiff_t)BS * p + k] = s[k];
      sum += (double)s[k] * x[(ptrdiff_t)BS * p + k];
    }
    return sum;
  }
};

// Numbers in [-1, 1] that depend on the unknown alone
template <class T> struct Scattered {
  const Key *start; // of nodes, or nullptr: their numbers
  const T   *inverse;
  int        bs;
  T         *x;
  HD void    operator()(int p) const
  {
    uint64_t k = ((start ? start[p / bs] : (uint64_t)(p / bs)) * 8 + (uint64_t)(p % bs) + 1) * 0x9e3779b97f4a7c15ULL;
    k = (k ^ (k >> 29)) * 0xbf58476d1ce4e5b9ULL;
    x[p] = inverse[p] > 0 ? (T)((double)(k >> 11) / (double)(1ULL << 52) - 1) : 0;
  }
};
template <class T> struct KeepProduct {
  T      *q;
  HD void operator()(ptrdiff_t p, T product) const { q[p] = product; }
};
// y = s x + t y; with t = 0 the old y does not matter
template <class T> struct Combine {
  const T *x;
  double   s, t;
  T       *y;
  HD void  operator()(int p) const { y[p] = (T)(s * x[p] + (t != 0 ? t * y[p] : 0)); }
};

} // namespace

// Level l and the cycle from it down as multigrid::cg_steps() sees them.
template <class T> struct Hierarchy<T>::CycleSpace {
  Hierarchy     &h;
  int            l;
  Buffer<T>      x = vector(), r = vector(), w = vector(), d = vector(), q = vector();
  Buffer<double> sum = h.template make<double>(1);
  Level<T>      &level() const { return h.levels_[(size_t)l]; }
  Buffer<T>      vector() const { return h.template make<T>(level().work.x.size()); }
  void           multiply(Buffer<T> &p, Buffer<T> &product)
  {
    level().halo(p.data());
    level().each_row((const T *)p.data(), KeepProduct<T>{product.data()});
  }
  void precondition(const Buffer<T> &of, Buffer<T> &to)
  {
    for_each(h.exec_, level().unknowns(), CopyValues<T>{of.data(), level().work.b.data()});
    h.solve(l);
    for_each(h.exec_, level().unknowns(), CopyValues<T>{level().work.x.data(), to.data()});
  }
  double dot(const Buffer<T> &u, const Buffer<T> &v)
  {
    sum_each(h.exec_, level().unknowns(), multigrid::DotProduct<T>{u.data(), v.data()}, sum.data());
    double s;
    copy(sum.data(), h.exec_.space, &s, Space::host, 1);
    return level().distributed ? h.total(s) : s;
  }
  void combine(double s, const Buffer<T> &u, double t, Buffer<T> &v)
  {
    for_each(h.exec_, level().unknowns(), Combine<T>{u.data(), s, t, v.data()});
  }
};

// Several unknowns of a node are most often a body's displacements. Where it is thin it bends, and V-cycles lose most
// of what coarse grids know of that. It shows in the least eigenvalue of A with a V-cycle from a coarse grid as
// preconditioner, which some steps of conjugate gradients find: above 0.25 in bulky bodies, and in most thin ones below
// 0.17, where W-cycles pay. On a device they do not: what small grids take there is the launches of their kernels.
template <class T> void Hierarchy<T>::choose_cycle()
{
  constexpr int    steps   = 8;
  constexpr double too_low = 0.2;
  const int        l       = std::min(2, last() - 1);
  slow_                    = false;
  if (params_.bs == 1 || params_.cycle != Cycle::automatic || numeric_.difficult() || sweeps() || l < 1) return;
  if (levels_[0].by_nodes()) return;
  CycleSpace          space{*this, l};
  std::vector<double> tridiagonal; // alpha_1, beta_1^2, alpha_2, ... of Lanczos' method
  double              last_alpha = 1;
  const Level<T>     &level = levels_[(size_t)l];
  const Key *const    start = level.start.empty() ? nullptr : level.start.data();
  for_each(exec_, level.unknowns(), Scattered<T>{start, level.inverse.data(), level.bs, space.x.data()});
  const bool worked = multigrid::cg_steps(space, steps, [&](double alpha, double beta, CycleSpace &) {
    if (!tridiagonal.empty()) tridiagonal.push_back(beta / (last_alpha * last_alpha));
    tridiagonal.push_back(1 / alpha + beta / last_alpha);
    last_alpha = alpha;
    return true;
  });
  slow_ = worked && multigrid::smallest_eigenvalue((int)(tridiagonal.size() + 1) / 2, tridiagonal.data()) < too_low;
  slow_ = total(slow_) > 0; // on all processes, whose sums of a grid that each has may differ by rounding
}

// direction: of Gauss-Seidel; polynomials have none. begun: from zero, z is what the polynomial begins with
template <class T> template <class V> void Level<T>::smooth(bool from_zero, Direction direction, bool begun)
{
  if (!sweep.first.empty()) sweep.apply(*this, from_zero, direction); // one vector
  else chebyshev.apply<T>(*this, vectors<V>(), from_zero, begun);
}

// What multigrid::cycle() asks for. begun: what the smoother of the mesh begins with from zero is known.
template <class T> template <class V> struct Hierarchy<T>::Grids {
  using Visit = multigrid::Visit;
  Hierarchy &h;
  bool       begun;
  int        top;
  Level<T>  &level(int l) { return h.levels_[(size_t)l]; }
  int        last() const { return (int)h.levels_.size() - 1; }
  int        visits(Cycle cycle, int l) const { return l + 1 == last() ? 1 : multigrid::visits(cycle); }
  bool       accelerated(Cycle cycle, int l) const { return cycle == Cycle::k && l < last(); }
  void       accelerate(int l)
  {
    Level<T> &of = level(l);
    if constexpr (width_of<V> == 1)
      of.krylov.apply(
        h.exec_, of.work.b.data(), of.work.x.data(), [&] { multigrid::cycle(*this, Cycle::k, l); },
        [&](const T *p, T *q, double *sum) {
          with_block(of.bs, [&](auto b) {
            sum_each(of.exec, of.n, Multiply<T, b.value>{of.i.data(), of.j.data(), of.a.data(), p, q}, sum);
          });
        });
  }
  void solve()
  {
    Level<T>        &of = level(last());
    const Vectors<V> v = of.template vectors<V>();
    h.coarsest_.solve(of.exec, h.comm_, of.points * of.bs, of.distributed, h.transposed_, (const V *)v.b, v.x);
  }
  void down(int l, const Visit &visit)
  {
    Level<T>  &fine = level(l);
    const bool known = l > top ? fine.begun : begun;
    // W: one sweep between the visits keeps the cycle symmetric
    fine.template smooth<V>(visit.first, visit.first ? forward : both, visit.first && known);
    restrict_residual(l);
  }
  void restrict_residual(int l)
  {
    Level<T> &fine = level(l), &next = level(l + 1);
    V *const  b = next.template vectors<V>().b;
    fine.halo(fine.template vectors<V>().x);
    fine.template restrict_to<V>(next);
    if (next.distributed) next.exchange.add_back((T *)b, next.bs * width_of<V>);
    else if (fine.distributed)
      multigrid::sum_processes(h.comm_, h.exec_.space, (T *)b, next.work.b.size() * width_of<V>, h.coarsest_.message);
  }
  void up(int l, const Visit &visit)
  {
    prolong(l);
    if (visit.last) level(l).template smooth<V>(false, backward);
  }
  void prolong(int l)
  {
    Level<T> &fine = level(l), &next = level(l + 1);
    V *const  x = next.template vectors<V>().x;
    next.halo(x);
    fine.prolong_from(x);
  }
};

// On a device the cycle is recorded once after each setup, as eigenvalues are arguments of its kernels: small grids
// cost launches only.
template <class T> template <class V> void Hierarchy<T>::cycle(bool begun, int top)
{
  // visits of grids: steps^grids of the K-cycle would fill the memory with kernels to launch
  constexpr double max_recorded = 2000;
  constexpr size_t sums         = 2 * device::max_blocks; // of the K-cycle's inner products: one for each block
  double           all = 0, visits_here = 1;
  for (size_t l = 0; l < levels_.size(); ++l) {
    all += visits_here;
    if (l + 2 < levels_.size()) visits_here *= visits(); // the last grid once a visit of the one before
  }
  const auto launch = [this, begun, top] {
    Grids<V> grids{*this, begun, top};
    multigrid::cycle(grids, cycle_kind(), top);
  };
  if (!levels_[0].distributed && all <= max_recorded)
    graphs_[transposed_][width_of<V> == 8 ? 3 : width_of<V> / 2].run(
      exec_.space, numeric_.setups() * levels_.size() + (size_t)top, params_.cycle == Cycle::k ? sums : 0, launch);
  else launch();
}

template <class T> void Hierarchy<T>::solve(int l) { cycle<T>(false, l); }
template <class T> void Hierarchy<T>::restrict_residual(int l) { Grids<T>{*this, false, l}.restrict_residual(l); }
template <class T> void Hierarchy<T>::prolong(int l) { Grids<T>{*this, false, l}.prolong(l); }

// What level l works with, and how: chosen once.
template <class T> void Hierarchy<T>::vectors(int l)
{
  Level<T>    &level = levels_[(size_t)l];
  const size_t n = (size_t)(level.n + level.ghosts) * (size_t)params_.bs;
  const int    last = (int)levels_.size() - 1;
  // a thread reads rows that lie together at the speed of memory while they are very short
  const double row = level.n ? (double)level.j.size() / level.n : 0;
  level.log_threads         = !level.by_nodes() || row < 6 ? 0 : row < 48 ? 2 : 3;
  level.streams             = level.by_nodes() && level.bs == 1 && level.log_threads;
  level.restricts_in_blocks = level.streams && level.product.fullest <= max_restricted_in_block;
  const bool krylov = params_.cycle == Cycle::k && l && l < last;
  level.begun  = !sweeps() && l < last && !krylov && (!l || !levels_[(size_t)l - 1].distributed);
  level.work.b = make<T>(n);
  level.work.x = make<T>(n);
  level.work.r = make<T>(n);
  level.work.z = make<T>(n);
  level.work.sums = make<T>((size_t)level.transfer.cells * (size_t)(level.transfer.corners * params_.bs));
  if (krylov) level.krylov.setup(exec_.space, (size_t)level.unknowns(), params_.inner);
}

// With degree k a visit takes 2 k products with the matrix: k - 1 before, one for the residual, k after. Gauss-Seidel
// takes one more. A step of the K-cycle takes another for its direction.
template <class T> double Hierarchy<T>::work() const
{
  double sum = 0, times = 1;
  for (const Level<T> &l : levels_) {
    const double entries = (double)l.j.size() * params_.bs * params_.bs;
    const double weights = (double)l.transfer.weight.size() * params_.bs;
    const double products = 2 * degree() + (sweeps() ? 1 : 0) + (l.krylov.empty() ? 0 : 1);
    sum +=
      times * (l.transfer.corners ? products * entries + 2 * weights + 2 * degree() * (double)l.sweep.inverse.size()
                                  : (double)coarsest_.inverse.size());
    times *= visits();
  }
  return sum;
}

#define INSTANTIATE(T, ...) template void Hierarchy<T>::cycle<__VA_ARGS__>(bool, int);
#define INSTANTIATE_ALL(T) \
  template void   Hierarchy<T>::solve(int); \
  template void   Hierarchy<T>::choose_cycle(); \
  template void   Hierarchy<T>::restrict_residual(int); \
  template void   Hierarchy<T>::prolong(int); \
  template void   Hierarchy<T>::vectors(int); \
  template double Hierarchy<T>::work() const; \
  TESSERA_ALL_WIDTHS(INSTANTIATE, T)
INSTANTIATE_ALL(double)
INSTANTIATE_ALL(float)

} // namespace tessera::tree
