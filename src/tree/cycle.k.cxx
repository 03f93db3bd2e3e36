// The cycle: smoothing, restriction, prolongation.
#include "tree/hierarchy.hpp"
#include "tree/dispatch.hpp"
#include "tree/rows.hpp"
#include "exec/each.hpp"
#include "exec/tile.hpp"
#include <algorithm>

namespace tessera::auxamg {

namespace {

// The smoother is a polynomial in D^-1 A: z_1 = c D^-1 r, x += b_1 z_1, then r -= A z, z = m z + c D^-1 r, x += b z.

// From x = 0: z = c D^-1 r. Per unknown 3 numbers, and no matrix. last: z is all of x.
template <class T, class V> struct FirstZero {
  const V *r;
  const T *inverse;
  V       *z;
  T        c;
  HD void  operator()(int p) const { z[p] = c * inverse[p] * r[p]; }
};
// r = b - A x, z = c D^-1 r
template <class T, class V> struct First {
  const T *inverse;
  const V *b;
  V       *r, *z;
  T        c;
  HD V     operator()(ptrdiff_t q, V product) const
  {
    const V s = b[q] - product;
    r[q]      = s;
    z[q]      = c * inverse[q] * s;
    return s;
  }
};
// r = from - A z, w = m z + c D^-1 r, x = (add ? x : 0) + before z + now w. last: neither r nor w is needed any more.
template <class T, class V> struct Next {
  const T *inverse;
  const V *z, *from;
  V       *r, *w, *x;
  T        m, c, before, now;
  bool     add, last;
  HD V     operator()(ptrdiff_t q, V product) const
  {
    const V s = from[q] - product, v = m * z[q] + c * inverse[q] * s;
    x[q]      = (add ? x[q] : V(0)) + before * z[q] + now * v;
    if (last) return s;
    w[q] = v;
    return r[q] = s;
  }
};
template <class T, class V> struct Axpy {
  const V *z;
  V       *x;
  T        c;
  bool     add;
  HD void  operator()(int p) const { x[p] = (add ? x[p] : V(0)) + c * z[p]; }
};

// The values of item p of an array with N of each, read at once.
template <int N, class V> HD Several<V, N> several(const V *from, ptrdiff_t p)
{
  return reinterpret_cast<const Several<V, N> *>(from)[p];
}

template <class V> struct Residual {
  const V *b;
  V       *r;
  HD V     operator()(ptrdiff_t q, V product) const { return r[q] = b[q] - product; }
};
// The residual and its weighted sums at the corners of each leaf.
template <class T, int BS, class V> struct RestrictLeaf {
  const int *begin, *i, *j;
  const T   *a, *weight;
  const V   *b, *x;
  int        corners;
  V         *sums;
  HD void    operator()(int l) const
  {
    V *const sum = sums + (ptrdiff_t)BS * corners * l;
    for (int c = 0; c < BS * corners; ++c) sum[c] = 0;
    for (int p = begin[l]; p < begin[l + 1]; ++p) {
      V s[BS];
      residual<T, BS>(i, j, a, x, b, Shared(p, 0), s);
      for (int c = 0; c < corners; ++c)
        for (int k = 0; k < BS; ++k) sum[BS * c + k] += weight[(ptrdiff_t)corners * p + c] * s[k];
    }
  }
};
// The same from a known residual for corner c of leaf l, item corners l + c: on a device neighbouring threads read
// neighbouring weights.
template <class T, int BS, class V> struct RestrictCorner {
  const int *begin;
  const T   *weight;
  const V   *r;
  int        corners;
  V         *sums;
  HD void    operator()(int item) const
  {
    const int l = item / corners, c = item % corners;
    V         sum[BS];
    for (int k = 0; k < BS; ++k) sum[k] = 0;
    for (int p = begin[l]; p < begin[l + 1]; ++p) {
      const T w = weight[(ptrdiff_t)corners * p + c];
      for (int k = 0; k < BS; ++k) sum[k] += w * r[(ptrdiff_t)BS * p + k];
    }
    for (int k = 0; k < BS; ++k) sums[(ptrdiff_t)BS * item + k] = sum[k];
  }
};
// The same for single unknowns in long rows on a device: a block takes some leaves, and their residual stays in its
// memory.
template <class T> struct RestrictStream {
  Stream<T>  stream;
  const int *begin;
  const T   *b, *weight;
  int        leaves, group, corners;
  T         *sums;
  static constexpr int most = 1024; // nodes
  size_t     bytes() const { return stream.bytes() + (size_t)stream.rows * sizeof(T); }
  template <class Block> HD void operator()(Block &block) const
  {
    const int l0 = block.tile.y0 * group, l1 = l0 + group < leaves ? l0 + group : leaves, p0 = begin[l0];
    T *const  r = (T *)block.shared + stream.room + stream.rows;
    stream.run(block, p0, begin[l1], [&](int p, T product) { r[p - p0] = b[p] - product; });
    block.sync();
    block.each(0, (l1 - l0) * corners, 0, 1, [&](int item, int) {
      const int l = l0 + item / corners, c = item % corners;
      T         sum = 0;
      for (int p = begin[l]; p < begin[l + 1]; ++p) sum += weight[(ptrdiff_t)corners * p + c] * r[p - p0];
      sums[(ptrdiff_t)corners * l + c] = sum;
    });
  }
};
// z: nullptr or what the smoother begins with, as in FirstZero
template <class T, int BS, class V> struct SumCorners {
  const int *first, *place;
  const T   *inverse;
  const V   *sums;
  V         *b, *z;
  T          c;
  HD void    operator()(int v) const
  {
    V s[BS];
    for (int k = 0; k < BS; ++k) s[k] = 0;
    for (int p = first[v]; p < first[v + 1]; ++p)
      for (int k = 0; k < BS; ++k) s[k] += sums[(ptrdiff_t)BS * place[p] + k];
    for (int k = 0; k < BS; ++k) {
      b[(ptrdiff_t)BS * v + k] = s[k];
      if (z) z[(ptrdiff_t)BS * v + k] = c * inverse[(ptrdiff_t)BS * v + k] * s[k];
    }
  }
};
template <class T, int BS, class V> struct Prolong {
  const int *begin, *vertex;
  const T   *weight;
  const V   *e;
  int        corners;
  V         *x;
  HD void    operator()(int l) const
  {
    V v[8 * BS];
    for (int c = 0; c < corners; ++c)
      for (int k = 0; k < BS; ++k)
        v[BS * c + k] = vertex[corners * l + c] < 0 ? V(0) : e[(ptrdiff_t)BS * vertex[corners * l + c] + k];
    for (int p = begin[l]; p < begin[l + 1]; ++p)
      for (int k = 0; k < BS; ++k) {
        V s = 0;
        for (int c = 0; c < corners; ++c) s += weight[(ptrdiff_t)corners * p + c] * v[BS * c + k];
        x[(ptrdiff_t)BS * p + k] += s;
      }
  }
};

// The same for one node.
template <class T, int BS, class V, int CORNERS> struct ProlongNode {
  const int *leaf, *vertex;
  const T   *weight;
  const V   *e;
  V         *x;
  HD void    operator()(int p) const
  {
    const int l = leaf[p];
    if (l < 0) return; // takes no part
    const auto w  = several<CORNERS>(weight, p);
    const auto at = several<CORNERS>(vertex, l);
    V          s[BS];
    for (int k = 0; k < BS; ++k) s[k] = 0;
    for (int c = 0; c < CORNERS; ++c)
      for (int k = 0; k < BS; ++k) s[k] += w.v[c] * (at.v[c] < 0 ? V(0) : e[(ptrdiff_t)BS * at.v[c] + k]);
    for (int k = 0; k < BS; ++k) x[(ptrdiff_t)BS * p + k] += s[k];
  }
};

template <class T, class V> struct Dense {
  const T  *a; // from the first row of this process
  const V  *b;
  V        *x;
  int       n, share;
  ptrdiff_t row, column; // from one to the next
  HD void  operator()(int item) const
  {
    const Shared at(item, share);
    int          first = 0, step = 1;
    V            s = 0;
#ifdef __CUDA_ARCH__
    first = at.thread;
    step <<= share;
#else
    if (at.thread) return;
#endif
    for (int q = first; q < n; q += step) s += a[row * at.node + column * q] * b[q];
    s = sum_shared(s, share);
    if (!at.thread) x[at.node] = s;
  }
};
template <class V> struct CopyPart {
  const V *from;
  V       *to;
  HD void  operator()(int p) const { to[p] = from[p]; }
};

// M. Lottes, Optimal polynomial smoothers for multigrid V-cycles, Numer. Linear Algebra Appl. 30 (2023): weights of x
// for degree k.
double weight_of_step(int k, int step)
{
  static const double beta[4][4] = {
    {1.125},
    {1.02387287570313, 1.26408905371085},
    {1.00842544782028, 1.08867839208730, 1.33753125909618},
    {1.00391310427285, 1.04035811188593, 1.14863498546254, 1.38268869241000}
  };
  return k <= 4 ? beta[k - 1][step] : 1;
}

} // namespace

// v = the sum of all processes' v; from a device by way of the host
template <class T> void Hierarchy<T>::sum_processes(T *v, size_t n)
{
  T *here = v;
  if (exec_.space == Space::cuda) {
    if (message_.size() < n) message_.resize(n);
    here = message_.data();
    device::copy_to_host(here, v, n * sizeof(T));
  }
  MPI_Allreduce(MPI_IN_PLACE, here, (int)n, sizeof(T) == 8 ? MPI_DOUBLE : MPI_FLOAT, MPI_SUM, comm_);
  if (exec_.space == Space::cuda) device::copy_from_host(v, here, n * sizeof(T)), device::synchronize();
}

template <class T> double Hierarchy<T>::first_factor(const Level<T> &level) const
{
  return params_.smoother == Smoother::jacobi ? 1.5 / level.lambda : 4 / (3 * level.lambda);
}

// Is c D^-1 b, with which the smoother begins from zero, made with b?
template <class T> bool Hierarchy<T>::begins(const Level<T> &level) const
{
  return !sweeps() && &level != &levels_.back();
}

// direction: of Gauss-Seidel; the others have none. begun: from zero, z is c D^-1 b
template <class T> template <class V>
void Hierarchy<T>::smooth(Level<T> &level, bool from_zero, Direction direction, bool begun)
{
  if (sweeps()) return sweep(level, from_zero, direction); // one vector
  const int    bs = params_.bs, steps = degree(), unknowns = level.n * bs;
  const bool   jacobi = params_.smoother == Smoother::jacobi;
  const double first = first_factor(level);
  const Vectors<V> of = level.template vectors<V>();
  const T     *inverse = level.inverse.data();
  V           *z = of.z, *w = of.w;
  if (from_zero && !begun) for_each(exec_, unknowns, FirstZero<T, V>{of.b, inverse, z, (T)first});
  else if (!from_zero) {
    halo(level, of.x);
    for_rows(exec_, level, bs, of.x, First<T, V>{inverse, of.b, of.r, z, (T)first});
  }
  double before = jacobi ? 1 : weight_of_step(steps, 0);
  if (steps == 1) for_each(exec_, unknowns, Axpy<T, V>{z, of.x, (T)before, !from_zero});
  for (int s = 1; s < steps; ++s) {
    // damped Jacobi is the same recurrence: the next correction is c D^-1 (r - A z)
    const double m   = jacobi ? 0 : (2. * s - 1) / (2 * s + 3),
                 c   = jacobi ? first : (8. * s + 4) / ((2 * s + 3) * level.lambda),
                 now = jacobi ? 1 : weight_of_step(steps, s);
    const V *from = s == 1 && from_zero ? of.b : of.r;
    halo(level, z);
    for_rows(
      exec_, level, bs, z,
      Next<T, V>{inverse, z, from, of.r, w, of.x, (T)m, (T)c, (T)before, (T)now, !from_zero || s > 1, s == steps - 1});
    std::swap(z, w);
    before = 0;
  }
}

// The next grid's right-hand side, or this process's part of it.
template <class T> template <class V>
void Hierarchy<T>::restriction(const Level<T> &level, const Level<T> &next, bool begin_next)
{
  const Vectors<V> of = level.template vectors<V>(), there = next.template vectors<V>();
  const int       *begin = level.transfer.begin.data(), corners = level.transfer.corners, bs = params_.bs;
  const T         *weight = level.transfer.weight.data();
  with_block_of<V>(bs, [&](auto b) {
    bool done = false;
    if constexpr (width_of<V> == 1) {
      done = streams(exec_, level, bs) && level.product.fullest <= RestrictStream<T>::most;
      if (done) {
        // as many leaves as have the nodes of a block of for_rows() in the mean
        Stream<T> stream = stream_of(level, of.x);
        const int group  = std::clamp((int)((double)stream.rows * level.transfer.cells / level.n), 1,
                                      RestrictStream<T>::most / level.product.fullest);
        stream.rows     = group * level.product.fullest;
        const RestrictStream<T> restrict_leaves{stream, begin,   of.b,   weight, level.transfer.cells,
                                                group,  corners, of.sums};
        forall_blocks(exec_, (level.transfer.cells + group - 1) / group, stream_threads, restrict_leaves.bytes(),
                      restrict_leaves);
      }
    }
    if (!done && exec_.space == Space::cuda) { // rows of neighbouring threads must lie together
      for_rows(exec_, level, bs, of.x, Residual<V>{of.b, of.r});
      for_each(exec_, level.transfer.cells * corners,
               RestrictCorner<T, b.value, V>{begin, weight, of.r, corners, of.sums});
    } else if (!done)
      for_each(exec_, level.transfer.cells,
               RestrictLeaf<T, b.value, V>{begin, level.i.data(), level.j.data(), level.a.data(), weight, of.b, of.x,
                                           corners, of.sums});
    for_each(exec_, next.rows,
             SumCorners<T, b.value, V>{level.transfer.first.data(), level.transfer.place.data(), next.inverse.data(),
                                       of.sums, there.b, begin_next ? there.z : nullptr,
                                       (T)(begin_next ? first_factor(next) : 0)});
  });
}

// x on the last grid.
template <class T> template <class V> void Hierarchy<T>::solve()
{
  Level<T>        &level = levels_.back();
  const Vectors<V> of = level.template vectors<V>();
  const int        bs = params_.bs;
  Coarsest<T>     &c = coarsest_;
  Buffer<T>       &all = width_of<V> == 1 ? c.b : c.several;
  if (level.distributed) {
    all.zero();
    for_each(exec_, level.points * bs, CopyPart<V>{of.b, (V *)all.data() + c.offset});
    sum_processes(all.data(), (size_t)c.n * width_of<V>);
  }
  const int share = exec_.space == Space::cuda ? 5 : 0;
  const ptrdiff_t row = turned_ ? 1 : c.n, column = turned_ ? c.n : 1;
  const V *const  b = level.distributed ? (V *)all.data() : of.b;
  for_each(exec_, (level.points * bs) << share,
           Dense<T, V>{c.inverse.data() + c.offset * row, b, of.x, c.n, share, row, column});
}

template <class T> template <class V> void Hierarchy<T>::prolong_add(const Level<T> &level, const V *e, V *x)
{
  const Transfer<T> &t = level.transfer;
  with_block_of<V>(params_.bs, [&](auto b) {
    if (exec_.space == Space::cuda)
      with_corners(t.corners, [&](auto corners) {
        for_each(exec_, level.n,
                 ProlongNode<T, b.value, V, corners.value>{t.leaf.data(), t.vertex.data(), t.weight.data(), e, x});
      });
    else
      for_each(exec_, t.cells,
               Prolong<T, b.value, V>{t.begin.data(), t.vertex.data(), t.weight.data(), e, t.corners, x});
  });
}

// What multigrid::cycle() asks for. begun: what the smoother of the mesh begins with from zero is there.
template <class T> template <class V> struct Hierarchy<T>::Grids {
  using Cycle = multigrid::Cycle;
  using Visit = multigrid::Visit;
  Hierarchy &h;
  bool       begun;
  Level<T>  &level(int l) { return h.levels_[(size_t)l]; }
  int        last() const { return (int)h.levels_.size() - 1; }
  int        visits(Cycle cycle, int l) const { return l + 1 == last() ? 1 : multigrid::visits(cycle); }
  bool       accelerated(Cycle cycle, int l) const { return cycle == Cycle::k && l < last(); }
  void       accelerate(int l)
  {
    if constexpr (width_of<V> == 1) h.krylov_cycle(l);
  }
  void solve() { h.template solve<V>(); }
  // Does the restriction to level l make what the smoother begins with there?
  bool begins(int l)
  {
    return h.begins(level(l)) && !accelerated(h.cycle_kind(), l) && !level(l - 1).distributed;
  }
  void down(int l, const Visit &visit)
  {
    Level<T>        &fine = level(l), &next = level(l + 1);
    const Vectors<V> of = fine.template vectors<V>(), coarse = next.template vectors<V>();
    // W: one sweep between the visits keeps the cycle symmetric
    h.template smooth<V>(fine, visit.first, visit.first ? forward : both, visit.first && (l ? begins(l) : begun));
    h.halo(fine, of.x);
    h.template restriction<V>(fine, next, begins(l + 1));
    if (next.distributed) next.exchange.add_back((T *)coarse.b, h.params_.bs * width_of<V>);
    else if (fine.distributed) h.sum_processes((T *)coarse.b, next.work.b.size() * width_of<V>);
  }
  void up(int l, const Visit &visit)
  {
    Level<T>        &fine = level(l), &next = level(l + 1);
    const Vectors<V> coarse = next.template vectors<V>();
    h.halo(next, coarse.x);
    h.template prolong_add<V>(fine, coarse.x, fine.template vectors<V>().x);
    if (visit.last) h.template smooth<V>(fine, false, backward);
  }
};

template <class T> template <class V> void Hierarchy<T>::cycle_grids(int l, bool begun)
{
  Grids<V> grids{*this, begun};
  multigrid::cycle(grids, cycle_kind(), l);
}

// On a device the cycle is recorded once after each setup, as eigenvalues are arguments of its kernels: small grids
// cost launches only.
template <class T> template <class V> void Hierarchy<T>::cycle(bool begun)
{
  // visits of grids: steps^grids of the K-cycle would fill the memory with kernels to launch
  constexpr double most_recorded = 2000;
  constexpr size_t sums = 2 * device::most_blocks; // of the K-cycle's inner products: one for each block
  double           all = 0, visits_here = 1;
  for (size_t l = 0; l < levels_.size(); ++l) {
    all += visits_here;
    if (l + 2 < levels_.size()) visits_here *= visits(); // the last grid once a visit of the one before
  }
  if (exec_.space == Space::cuda && !levels_[0].distributed && all <= most_recorded)
    graphs_[turned_][width_of<V> == 8 ? 3 : width_of<V> / 2].run(numbers_, params_.cycle == Cycle::k ? sums : 0,
                                                                 [this, begun] { cycle_grids<V>(0, begun); });
  else cycle_grids<V>(0, begun);
}

template <class T> void Hierarchy<T>::vectors(Level<T> &level)
{
  const size_t n = (size_t)(level.n + level.ghosts) * (size_t)params_.bs;
  // a thread reads rows that lie together at the speed of memory while they are very short
  const double row = level.n ? (double)level.j.size() / level.n : 0;
  level.share      = exec_.space == Space::host || row < 6 ? 0 : row < 48 ? 2 : 3;
  level.work.b    = make<T>(n);
  level.work.x    = make<T>(n);
  level.work.r    = make<T>(n);
  level.work.z    = make<T>(n);
  level.work.sums = make<T>((size_t)level.transfer.cells * (size_t)(level.transfer.corners * params_.bs));
  if (params_.cycle == Cycle::k && &level != &levels_[0] && level.transfer.cells) krylov_vectors(level);
}

// With degree k a visit takes 2 k products with the matrix: k - 1 before, one for the residual, k after. Gauss-Seidel
// takes one more. A step of the K-cycle takes another for its direction.
template <class T> double Hierarchy<T>::work() const
{
  double sum = 0, times = 1;
  for (const Level<T> &l : levels_) {
    const double entries = (double)l.j.size() * params_.bs * params_.bs;
    const double weights = (double)l.transfer.weight.size() * params_.bs;
    const double products = 2 * degree() + (sweeps() ? 1 : 0) + (l.krylov.x.empty() ? 0 : 1);
    sum +=
      times * (l.transfer.corners ? products * entries + 2 * weights + 2 * degree() * (double)l.sweep.inverse.size()
                                  : (double)coarsest_.inverse.size());
    times *= visits();
  }
  return sum;
}

#define INSTANTIATE(T, ...) \
  template void Hierarchy<T>::cycle_grids<__VA_ARGS__>(int, bool); \
  template void Hierarchy<T>::cycle<__VA_ARGS__>(bool);
#define INSTANTIATE_ALL(T) \
  template void   Hierarchy<T>::sum_processes(T *, size_t); \
  template double Hierarchy<T>::first_factor(const Level<T> &) const; \
  template bool   Hierarchy<T>::begins(const Level<T> &) const; \
  template void   Hierarchy<T>::vectors(Level<T> &); \
  template double Hierarchy<T>::work() const; \
  INSTANTIATE(T, T) \
  INSTANTIATE(T, Several<T, 2>) \
  INSTANTIATE(T, Several<T, 4>) \
  INSTANTIATE(T, Several<T, 8>)
INSTANTIATE_ALL(double)
INSTANTIATE_ALL(float)

} // namespace tessera::auxamg
