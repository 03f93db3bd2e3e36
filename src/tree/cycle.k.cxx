// The cycle: smoothing, and how the grids follow each other.
#include "tree/hierarchy.hpp"
#include "tree/dispatch.hpp"
#include "tree/rows.hpp"
#include "exec/each.hpp"

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

// Between two cycles: first = weight x, b -= weight A x, and z, if any, is what the smoother begins with.
template <class T, class V> struct SecondResidual {
  const T *inverse;
  const V *x;
  V       *b, *first, *z;
  T        weight, c;
  __attribute__((always_inline)) HD void operator()(ptrdiff_t p, V product) const
  {
    const V s = b[p] - weight * product;
    b[p]      = s;
    first[p]  = weight * x[p];
    if (z) z[p] = c * inverse[p] * s;
  }
};
// x = first + weight x
template <class T, class V> struct AddFirst {
  const V *first;
  V       *x;
  T        weight;
  HD void  operator()(int p) const { x[p] = first[p] + weight * x[p]; }
};

} // namespace

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
  int        visits(Cycle cycle, int l) const { return h.visits(cycle, l); }
  bool       accelerated(Cycle cycle, int l) const
  {
    return l < last() && (cycle == Cycle::k || (cycle == Cycle::amli && h.levels_[(size_t)l].amli_weight > 0));
  }
  void       accelerate(int l)
  {
    if (h.params_.cycle == Cycle::k) conjugate_gradients(l);
    else two_cycles(l);
  }
  void conjugate_gradients(int l)
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
  // The error is multiplied by (I - w B A)^2, where B is a cycle from this level down. Of the polynomials of degree two
  // with values from 0 to 1 on the eigenvalues of B A this has the least maximum. As no value is negative, the cycle
  // from the next finer level stays symmetric and positive.
  void two_cycles(int l)
  {
    Level<T>        &of = level(l);
    const Vectors<V> v  = of.template vectors<V>();
    const T          weight = (T)of.amli_weight;
    multigrid::cycle(*this, Cycle::amli, l);
    of.halo(v.x);
    of.each_row((const V *)v.x, SecondResidual<T, V>{of.inverse.data(), v.x, v.b, v.first, of.begun ? v.z : nullptr,
                                                     weight, (T)of.chebyshev.first()});
    multigrid::cycle(*this, Cycle::amli, l);
    for_each(h.exec_, of.unknowns(), AddFirst<T, V>{v.first, v.x, weight});
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
    else if (fine.distributed) {
      const size_t n = next.work.b.size() * width_of<V>;
      if (h.whole_.fits(n * sizeof(T))) h.whole_.sum((T *)b, (int)n);
      else multigrid::sum_processes(h.comm_, h.exec_.space, (T *)b, n, h.coarsest_.message);
    }
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
template <class T> template <class V> void Hierarchy<T>::cycle(bool begun, int top, bool recorded)
{
  // visits of grids: steps^grids of the K-cycle would fill the memory with kernels to launch
  constexpr double max_recorded = 2000;
  constexpr size_t sums         = 2 * device::max_blocks; // of the K-cycle's inner products: one for each block
  double           all = 0, visits_here = 1;
  for (int l = 0; l <= last(); ++l) {
    all += visits_here;
    visits_here *= visits(l);
  }
  const auto launch = [this, begun, top] {
    Grids<V> grids{*this, begun, top};
    multigrid::cycle(grids, cycle_kind(), top);
  };
  if (recorded && (!levels_[0].distributed || direct<V>()) && all <= max_recorded)
    graphs_[transposed_][width_of<V> == 8 ? 3 : width_of<V> / 2].run(
      exec_.space, 8 * (numeric_.setups() * levels_.size() + (size_t)top) + 4 * begun + (size_t)std::min(twice_, 3),
      params_.cycle == Cycle::k ? sums : 0, launch);
  else launch();
}

// Messages between devices of one host, where all reach each other.
template <class T> void Hierarchy<T>::join()
{
  const size_t node = 2 * sizeof(double) * (size_t)params_.bs;
  for (Level<T> &l : levels_) l.exchange.leave(), l.blocks.exchange.leave();
  peers_.reset();
  whole_ = DirectSum();
  if (!levels_[0].distributed) return;
  int size;
  MPI_Comm_size(comm_, &size);
  size_t bytes = 0, sums = 0;
  for (const Level<T> &l : levels_)
    if (l.distributed) bytes += l.exchange.direct_bytes(node) + l.blocks.exchange.direct_bytes(node);
    else sums = std::max(sums, l.work.b.bytes());
  peers_ = Peers::open(exec_, comm_, bytes + DirectSum::bytes(size, sums));
  if (!peers_) return;
  for (Level<T> &l : levels_)
    if (l.distributed) {
      l.exchange.join(peers_, node);
      l.blocks.exchange.join(peers_, node);
    }
  whole_.join(peers_, comm_, sums);
}

// Do all messages of a cycle go directly from device to device?
template <class T> template <class V> bool Hierarchy<T>::direct() const
{
  if (!peers_ || sweeps() || levels_.back().distributed) return false;
  bool all = all_join();
  for (const Level<T> &l : levels_)
    all = all && !l.blocks.part_functions.meets_others() &&
          (l.distributed || whole_.fits(l.work.b.size() * sizeof(V)));
  return all;
}
template <class T> bool Hierarchy<T>::all_join() const
{
  bool all = true;
  for (const Level<T> &l : levels_)
    all = all && (!l.distributed || (l.exchange.direct() && l.blocks.exchange.direct()));
  return all;
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
  int    number = 0;
  for (const Level<T> &l : levels_) {
    const double entries = (double)l.j.size() * params_.bs * params_.bs;
    const double weights = (double)l.transfer.weight.size() * params_.bs;
    // of AMLI's two cycles one product leads from the first to the second
    const double products = 2 * degree() + (sweeps() ? 1 : 0) + (l.krylov.empty() ? 0 : 1) +
                            (cycle_kind() == Cycle::amli && l.amli_weight > 0 ? 0.5 : 0);
    sum +=
      times * (l.transfer.corners ? products * entries + 2 * weights + 2 * degree() * (double)l.sweep.inverse.size()
                                  : (double)coarsest_.inverse.size());
    times *= visits(number++);
  }
  return sum;
}

#define INSTANTIATE(T, ...) template void Hierarchy<T>::cycle<__VA_ARGS__>(bool, int, bool);
#define INSTANTIATE_ALL(T) \
  template void   Hierarchy<T>::solve(int); \
  template void   Hierarchy<T>::restrict_residual(int); \
  template void   Hierarchy<T>::prolong(int); \
  template void   Hierarchy<T>::vectors(int); \
  template void   Hierarchy<T>::join(); \
  template bool   Hierarchy<T>::all_join() const; \
  template double Hierarchy<T>::work() const; \
  TESSERA_ALL_WIDTHS(INSTANTIATE, T)
INSTANTIATE_ALL(double)
INSTANTIATE_ALL(float)

} // namespace tessera::tree
