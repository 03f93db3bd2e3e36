// The V-cycle and its smoother.
#include "auxamg/auxamg.hpp"
#include "auxamg/dispatch.hpp"
#include "auxamg/rows.hpp"
#include "core/each.hpp"
#include <algorithm>
#include <cmath>
#include <cstring>

namespace tessera::auxamg {

namespace {

// The smoother is a polynomial in D^-1 A: z_1 = c D^-1 r, x += b_1 z_1, then r -= A z, z = m z + c D^-1 r, x += b z.

// From x = 0: z = c D^-1 r. Per unknown 3 numbers, and no matrix. last: z is all of x.
template <class T> struct FirstZero {
  const T *r, *inverse;
  T       *z;
  T        c;
  HD void  operator()(int p) const { z[p] = c * inverse[p] * r[p]; }
};
// r = b - A x, z = c D^-1 r
template <class T> struct First {
  const T *inverse, *b;
  T       *r, *z;
  T        c;
  HD T     operator()(ptrdiff_t q, T product) const
  {
    const T s = b[q] - product;
    r[q]      = s;
    z[q]      = c * inverse[q] * s;
    return s;
  }
};
// r = from - A z, w = m z + c D^-1 r, x = (add ? x : 0) + before z + now w. last: neither r nor w is needed any more.
template <class T> struct Next {
  const T *inverse, *z, *from;
  T       *r, *w, *x;
  T        m, c, before, now;
  bool     add, last;
  HD T     operator()(ptrdiff_t q, T product) const
  {
    const T s = from[q] - product, v = m * z[q] + c * inverse[q] * s;
    x[q]      = (add ? x[q] : 0) + before * z[q] + now * v;
    if (last) return s;
    w[q] = v;
    return r[q] = s;
  }
};
template <class T> struct Axpy {
  const T *z;
  T       *x;
  T        c;
  bool     add;
  HD void  operator()(int p) const { x[p] = (add ? x[p] : 0) + c * z[p]; }
};

// The values of item p of an array with N of each, read at once.
template <class V, int N> struct alignas(N * sizeof(V) < 16 ? N * sizeof(V) : 16) Several {
  V v[N];
};
template <int N, class V> HD Several<V, N> several(const V *from, ptrdiff_t p) { return reinterpret_cast<const Several<V, N> *>(from)[p]; }

template <class T> struct Residual {
  const T *b;
  T       *r;
  HD T     operator()(ptrdiff_t q, T product) const { return r[q] = b[q] - product; }
};
// The residual and its weighted sums at the corners of each leaf.
template <class T, int BS> struct RestrictLeaf {
  const int *begin, *i, *j;
  const T   *a, *b, *x, *weight;
  int        corners;
  T         *sums;
  HD void    operator()(int l) const
  {
    T *const sum = sums + (ptrdiff_t)BS * corners * l;
    for (int c = 0; c < BS * corners; ++c) sum[c] = 0;
    for (int p = begin[l]; p < begin[l + 1]; ++p) {
      T s[BS];
      residual<T, BS>(i, j, a, x, b, Shared(p, 0), s);
      for (int c = 0; c < corners; ++c)
        for (int k = 0; k < BS; ++k) sum[BS * c + k] += weight[(ptrdiff_t)corners * p + c] * s[k];
    }
  }
};
// The same from a known residual for corner c of leaf l, item corners l + c: on a device neighbouring threads read neighbouring weights.
template <class T, int BS> struct RestrictCorner {
  const int *begin;
  const T   *weight, *r;
  int        corners;
  T         *sums;
  HD void    operator()(int item) const
  {
    const int l = item / corners, c = item % corners;
    T         sum[BS] = {};
    for (int p = begin[l]; p < begin[l + 1]; ++p) {
      const T w = weight[(ptrdiff_t)corners * p + c];
      for (int k = 0; k < BS; ++k) sum[k] += w * r[(ptrdiff_t)BS * p + k];
    }
    for (int k = 0; k < BS; ++k) sums[(ptrdiff_t)BS * item + k] = sum[k];
  }
};
// The same for single unknowns in long rows on a device: a block takes some leaves, and their residual stays in its memory.
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
template <class T, int BS> struct SumCorners {
  const int *first, *place;
  const T   *sums, *inverse;
  T         *b, *z;
  T          c;
  HD void    operator()(int v) const
  {
    T s[BS] = {};
    for (int p = first[v]; p < first[v + 1]; ++p)
      for (int k = 0; k < BS; ++k) s[k] += sums[(ptrdiff_t)BS * place[p] + k];
    for (int k = 0; k < BS; ++k) {
      b[(ptrdiff_t)BS * v + k] = s[k];
      if (z) z[(ptrdiff_t)BS * v + k] = c * inverse[(ptrdiff_t)BS * v + k] * s[k];
    }
  }
};
template <class T, int BS> struct Prolong {
  const int *begin, *vertex;
  const T   *weight, *e;
  int        corners;
  T         *x;
  HD void    operator()(int l) const
  {
    T v[8 * BS];
    for (int c = 0; c < corners; ++c)
      for (int k = 0; k < BS; ++k) v[BS * c + k] = vertex[corners * l + c] < 0 ? 0 : e[(ptrdiff_t)BS * vertex[corners * l + c] + k];
    for (int p = begin[l]; p < begin[l + 1]; ++p)
      for (int k = 0; k < BS; ++k) {
        T s = 0;
        for (int c = 0; c < corners; ++c) s += weight[(ptrdiff_t)corners * p + c] * v[BS * c + k];
        x[(ptrdiff_t)BS * p + k] += s;
      }
  }
};

// The same for one node.
template <class T, int BS, int CORNERS> struct ProlongNode {
  const int *leaf, *vertex;
  const T   *weight, *e;
  T         *x;
  HD void    operator()(int p) const
  {
    const int l = leaf[p];
    if (l < 0) return; // takes no part
    const auto w  = several<CORNERS>(weight, p);
    const auto at = several<CORNERS>(vertex, l);
    T          s[BS] = {};
    for (int c = 0; c < CORNERS; ++c)
      for (int k = 0; k < BS; ++k) s[k] += w.v[c] * (at.v[c] < 0 ? 0 : e[(ptrdiff_t)BS * at.v[c] + k]);
    for (int k = 0; k < BS; ++k) x[(ptrdiff_t)BS * p + k] += s[k];
  }
};

template <class T> struct Dense {
  const T *a, *b;
  T       *x;
  int      n, offset, share;
  HD void  operator()(int item) const
  {
    const Shared at(item, share);
    int          first = 0, step = 1;
    T            s = 0;
#ifdef __CUDA_ARCH__
    first = at.thread;
    step <<= share;
#else
    if (at.thread) return;
#endif
    for (int q = first; q < n; q += step) s += a[(ptrdiff_t)(offset + at.node) * n + q] * b[q];
    s = sum_shared(s, share);
    if (!at.thread) x[at.node] = s;
  }
};
template <class T> struct CopyPart {
  const T *from;
  T       *to;
  HD void  operator()(int p) const { to[p] = from[p]; }
};

// From the numbering of the matrix to that of the first level and back.
template <class T> struct Load {
  const int           *perm;
  const unsigned char *fixed;
  const double        *r;
  int                  bs;
  double               scale;
  const T             *inverse;
  T                   *b, *z; // z as in SumCorners
  T                    c;
  HD void              operator()(int p) const
  {
    const ptrdiff_t q = (ptrdiff_t)perm[p / bs] * bs + p % bs;
    const T         v = fixed && fixed[q] ? 0 : (T)(scale * r[q]);
    b[p]              = v;
    if (z) z[p] = c * inverse[p] * v;
  }
};
template <class T> struct Store {
  const int *perm;
  int        bs;
  const T   *x;
  double     scale, *z;
  HD void    operator()(int p) const { z[(ptrdiff_t)perm[p / bs] * bs + p % bs] = scale * (double)x[p]; }
};
// Fixed unknowns: z = r / d
struct StoreFixed {
  const int    *list;
  const double *inverse, *r;
  double       *z;
  HD void       operator()(int p) const { z[list[p]] = inverse[p] * r[list[p]]; }
};
template <class T> struct LoadFixed {
  const int    *list, *where;
  const double *inverse, *r;
  int           bs;
  double        scale;
  T            *x;
  HD void       operator()(int p) const { x[(ptrdiff_t)where[list[p] / bs] * bs + list[p] % bs] = (T)(inverse[p] / scale * r[list[p]]); }
};
template <class T> struct SubtractFixed {
  const int    *row, *i, *j;
  const double *a;
  const T      *x;
  T            *b;
  HD void       operator()(int k) const
  {
    double s = b[row[k]];
    for (int e = i[k]; e < i[k + 1]; ++e) s -= a[e] * x[j[e]];
    b[row[k]] = (T)s;
  }
};

// M. Lottes, Optimal polynomial smoothers for multigrid V-cycles, Numer. Linear Algebra Appl. 30 (2023): weights of x for degree k.
double weight_of_step(int k, int step)
{
  static const double beta[4][4] = {{1.125}, {1.02387287570313, 1.26408905371085}, {1.00842544782028, 1.08867839208730, 1.33753125909618}, {1.00391310427285, 1.04035811188593, 1.14863498546254, 1.38268869241000}};
  return k <= 4 ? beta[k - 1][step] : 1;
}

} // namespace

template <class T> void Hierarchy<T>::halo(Level<T> &level, Buffer<T> &v)
{
  if (level.distributed) level.exchange.forward(v.data(), params_.bs);
}

// v = the sum of all processes' v; from a device by way of the host
template <class T> void Hierarchy<T>::sum_processes(Buffer<T> &v)
{
  T *here = v.data();
  if (exec_.space == Space::cuda) {
    if (message_.size() < v.size()) message_.resize(v.size());
    here = message_.data();
    device::copy_to_host(here, v.data(), v.bytes());
  }
  MPI_Allreduce(MPI_IN_PLACE, here, (int)v.size(), sizeof(T) == 8 ? MPI_DOUBLE : MPI_FLOAT, MPI_SUM, comm_);
  if (exec_.space == Space::cuda) device::copy_from_host(v.data(), here, v.bytes()), device::synchronize();
}

template <class T> double Hierarchy<T>::first_factor(const Level<T> &level) const { return params_.smoother == Smoother::jacobi ? 1.5 / level.lambda : 4 / (3 * level.lambda); }

// Is c D^-1 b, with which the smoother begins from zero, made with b?
template <class T> bool Hierarchy<T>::begins(const Level<T> &level) const { return !sweeps() && &level != &levels_.back(); }

// direction: of Gauss-Seidel; the others have none. begun: from zero, z is c D^-1 b
template <class T> void Hierarchy<T>::smooth(Level<T> &level, bool from_zero, Direction direction, bool begun)
{
  if (sweeps()) return sweep(level, from_zero, direction);
  const int    bs = params_.bs, steps = degree(), unknowns = level.n * bs;
  const bool   jacobi = params_.smoother == Smoother::jacobi;
  const double first = first_factor(level);
  T           *z = level.z.data(), *w = level.w.data();
  if (from_zero && !begun) for_each(exec_, unknowns, FirstZero<T>{level.b.data(), level.inverse.data(), z, (T)first});
  else if (!from_zero) {
    halo(level, level.x);
    for_rows(exec_, level, bs, level.x.data(), First<T>{level.inverse.data(), level.b.data(), level.r.data(), z, (T)first});
  }
  double before = jacobi ? 1 : weight_of_step(steps, 0);
  if (steps == 1) for_each(exec_, unknowns, Axpy<T>{z, level.x.data(), (T)before, !from_zero});
  for (int s = 1; s < steps; ++s) {
    // damped Jacobi is the same recurrence: the next correction is c D^-1 (r - A z)
    const double m = jacobi ? 0 : (2. * s - 1) / (2 * s + 3), c = jacobi ? first : (8. * s + 4) / ((2 * s + 3) * level.lambda), now = jacobi ? 1 : weight_of_step(steps, s);
    const T *from = s == 1 && from_zero ? level.b.data() : level.r.data();
    halo(level, z == level.z.data() ? level.z : level.w);
    for_rows(exec_, level, bs, z, Next<T>{level.inverse.data(), z, from, level.r.data(), w, level.x.data(), (T)m, (T)c, (T)before, (T)now, !from_zero || s > 1, s == steps - 1});
    std::swap(z, w);
    before = 0;
  }
}

template <class T> void Hierarchy<T>::cycle(int l, bool begun)
{
  Level<T> &level = levels_[(size_t)l];
  const int bs = params_.bs;
  if (l == (int)levels_.size() - 1) {
    Coarsest<T> &c = coarsest_;
    if (level.distributed) {
      c.b.zero();
      for_each(exec_, level.points * bs, CopyPart<T>{level.b.data(), c.b.data() + c.offset});
      sum_processes(c.b);
    }
    const int share = exec_.space == Space::cuda ? 5 : 0;
    return for_each(exec_, (level.points * bs) << share, Dense<T>{c.inverse.data(), level.distributed ? c.b.data() : level.b.data(), level.x.data(), c.n, c.offset, share});
  }
  Level<T> &next = levels_[(size_t)l + 1];
  smooth(level, true, forward, begun);
  const bool krylov = params_.cycle == 3 && l + 2 < (int)levels_.size(); // the last grid is solved exactly
  const bool begin_next = begins(next) && !krylov && !level.distributed;
  const int  times = krylov || l + 2 == (int)levels_.size() ? 1 : visits();
  for (int visit = 0; visit < times; ++visit) {
    halo(level, level.x);
    with_block(bs, [&](auto b) {
      if (streams(exec_, level, bs) && level.fullest <= RestrictStream<T>::most) {
        // as many leaves as have the nodes of a block of for_rows() in the mean
        Stream<T> stream = stream_of(level, level.x.data());
        const int group = std::clamp((int)((double)stream.rows * level.cells / level.n), 1, RestrictStream<T>::most / level.fullest);
        stream.rows     = group * level.fullest;
        const RestrictStream<T> restrict_leaves{stream, level.begin.data(), level.b.data(), level.weight.data(), level.cells, group, level.corners, level.sums.data()};
        forall_blocks(exec_, (level.cells + group - 1) / group, stream_threads, restrict_leaves.bytes(), restrict_leaves);
      } else if (exec_.space == Space::cuda) { // rows of neighbouring threads must lie together
        for_rows(exec_, level, bs, level.x.data(), Residual<T>{level.b.data(), level.r.data()});
        for_each(exec_, level.cells * level.corners, RestrictCorner<T, b.value>{level.begin.data(), level.weight.data(), level.r.data(), level.corners, level.sums.data()});
      } else for_each(exec_, level.cells, RestrictLeaf<T, b.value>{level.begin.data(), level.i.data(), level.j.data(), level.a.data(), level.b.data(), level.x.data(), level.weight.data(), level.corners, level.sums.data()});
      for_each(exec_, next.rows, SumCorners<T, b.value>{level.first.data(), level.place.data(), level.sums.data(), next.inverse.data(), next.b.data(), begin_next ? next.z.data() : nullptr, (T)(begin_next ? first_factor(next) : 0)});
    });
    if (next.distributed) next.exchange.add_back(next.b.data(), bs);
    else if (level.distributed) sum_processes(next.b);
    if (krylov) krylov_cycle(l + 1);
    else cycle(l + 1, begin_next);
    halo(next, next.x);
    with_block(bs, [&](auto b) {
      if (exec_.space == Space::cuda) with_corners(level.corners, [&](auto corners) { for_each(exec_, level.n, ProlongNode<T, b.value, corners.value>{level.leaf.data(), level.vertex.data(), level.weight.data(), next.x.data(), level.x.data()}); });
      else for_each(exec_, level.cells, Prolong<T, b.value>{level.begin.data(), level.vertex.data(), level.weight.data(), next.x.data(), level.corners, level.x.data()});
    });
    if (visit + 1 < times) smooth(level, false, both); // W: a sweep between the visits keeps the cycle symmetric
  }
  smooth(level, false, backward);
}

// On a device the cycle is recorded once after each setup, as eigenvalues are arguments of its kernels: small grids cost launches only.
template <class T> void Hierarchy<T>::cycle(bool begun)
{
  constexpr double most_recorded = 2000; // visits of grids: steps^grids of the K-cycle would fill the memory with kernels to launch
  constexpr size_t sums = 2 * device::most_blocks; // of the K-cycle's inner products: one for each block
  double           all = 0, visits_here = 1;
  for (size_t l = 0; l < levels_.size(); ++l) {
    all += visits_here;
    if (l + 2 < levels_.size()) visits_here *= visits(); // the last grid once a visit of the one before
  }
  if (exec_.space == Space::cuda && !levels_[0].distributed && all <= most_recorded) graph_.run(numbers_, params_.cycle == 3 ? sums : 0, [this, begun] { cycle(0, begun); });
  else cycle(0, begun);
}

// The power of two that brings the largest number of all processes near one, if there is one: of r where unknowns are not fixed (whose rows
// may have any units), and of what `list` is set to times `over`.
static double normalising(MPI_Comm comm, const double *r, const unsigned char *fixed, ptrdiff_t n, const Buffer<int> *list, const double *inverse, double over)
{
  int64_t    largest = 0, all; // in the order of their magnitudes: a loop over integers becomes vectors
  const auto take = [&](double number, int64_t mask) {
    int64_t bits;
    memcpy(&bits, &number, sizeof(bits));
    bits &= mask;
    largest = bits > largest ? bits : largest;
  };
  if (fixed)
    for (ptrdiff_t p = 0; p < n; ++p) take(r[p], fixed[p] ? 0 : INT64_MAX);
  else
    for (ptrdiff_t p = 0; p < n; ++p) take(r[p], INT64_MAX);
  for (size_t p = 0; list && p < list->size(); ++p) take(inverse[p] * over * r[list->data()[p]], INT64_MAX);
  MPI_Allreduce(&largest, &all, 1, MPI_INT64_T, MPI_MAX, comm);
  double v;
  memcpy(&v, &all, sizeof(v));
  return v > 0 && std::isfinite(v) ? std::ldexp(1, std::min(-std::ilogb(v), 1000)) : 1;
}

// Single precision on the host holds r as it is near one. Else the units of r are those of the matrix, or of its inverse times them: half of
// what the operators are scaled by goes to r, half to z.
template <class T> void Hierarchy<T>::apply(const double *r, double *z)
{
  const bool   normalised = sizeof(T) < sizeof(double) && exec_.space == Space::host;
  Level<T> &level = levels_[0];
  const int bs = params_.bs, n = level.n * bs;
  const unsigned char *const fixed = any_fixed_ ? fixed_.data() : nullptr;
  const double before = normalised ? normalising(comm_, r, fixed, n, one_sided_ ? &fixed_list_ : nullptr, fixed_inverse_.data(), 1 / scale_) : std::ldexp(1, std::ilogb(scale_) / 2), after = scale_ / before;
  const bool begun = begins(level) && !one_sided_; // as long as the numbers are the same
  for_each(exec_, n, Load<T>{perm_.data(), fixed, r, bs, before, level.inverse.data(), level.b.data(), begun ? level.z.data() : nullptr, (T)(begun ? first_factor(level) : 0)});
  if (one_sided_) {
    level.x.zero();
    for_each(exec_, (int)fixed_list_.size(), LoadFixed<T>{fixed_list_.data(), where_.data(), fixed_inverse_.data(), r, bs, after, level.x.data()});
    halo(level, level.x);
    for_each(exec_, (int)one_sided_rows_.size(), SubtractFixed<T>{one_sided_rows_.data(), one_sided_i_.data(), one_sided_j_.data(), one_sided_a_.data(), level.x.data(), level.b.data()});
  }
  cycle(begun);
  for_each(exec_, n, Store<T>{perm_.data(), bs, level.x.data(), after, z});
  for_each(exec_, (int)fixed_list_.size(), StoreFixed{fixed_list_.data(), fixed_inverse_.data(), r, z});
}

template <class T> void Hierarchy<T>::vectors(Level<T> &level)
{
  const size_t n = (size_t)(level.n + level.ghosts) * (size_t)params_.bs;
  // a thread reads rows that lie together at the speed of memory while they are very short
  const double row = level.n ? (double)level.j.size() / level.n : 0;
  level.share      = exec_.space == Space::host || row < 6 ? 0 : row < 48 ? 2 : 3;
  level.b    = make<T>(n);
  level.x    = make<T>(n);
  level.r    = make<T>(n);
  level.z    = make<T>(n);
  level.sums = make<T>((size_t)level.cells * (size_t)(level.corners * params_.bs));
  if (params_.cycle == 3 && &level != &levels_[0] && level.cells) krylov_vectors(level);
}

// With degree k a visit takes 2 k products with the matrix: k - 1 before, one for the residual, k after. Gauss-Seidel takes one more.
// A step of the K-cycle takes another for its direction.
template <class T> double Hierarchy<T>::work() const
{
  double sum = 0, times = 1;
  for (const Level<T> &l : levels_) {
    const double entries = (double)l.j.size() * params_.bs * params_.bs, weights = (double)l.weight.size() * params_.bs;
    const double products = 2 * degree() + (sweeps() ? 1 : 0) + (l.krylov.x.empty() ? 0 : 1);
    sum += times * (l.corners ? products * entries + 2 * weights + 2 * degree() * (double)l.sweep.inverse.size() : (double)coarsest_.inverse.size());
    times *= visits();
  }
  return sum;
}

template void   Hierarchy<double>::halo(Level<double> &, Buffer<double> &);
template void   Hierarchy<double>::sum_processes(Buffer<double> &);
template double Hierarchy<double>::first_factor(const Level<double> &) const;
template bool   Hierarchy<double>::begins(const Level<double> &) const;
template void   Hierarchy<double>::smooth(Level<double> &, bool, Direction, bool);
template void   Hierarchy<double>::cycle(int, bool);
template void   Hierarchy<double>::cycle(bool);
template void   Hierarchy<double>::apply(const double *, double *);
template void   Hierarchy<double>::vectors(Level<double> &);
template double Hierarchy<double>::work() const;
template void   Hierarchy<float>::halo(Level<float> &, Buffer<float> &);
template void   Hierarchy<float>::sum_processes(Buffer<float> &);
template double Hierarchy<float>::first_factor(const Level<float> &) const;
template bool   Hierarchy<float>::begins(const Level<float> &) const;
template void   Hierarchy<float>::smooth(Level<float> &, bool, Direction, bool);
template void   Hierarchy<float>::cycle(int, bool);
template void   Hierarchy<float>::cycle(bool);
template void   Hierarchy<float>::apply(const double *, double *);
template void   Hierarchy<float>::vectors(Level<float> &);
template double Hierarchy<float>::work() const;

} // namespace tessera::auxamg
