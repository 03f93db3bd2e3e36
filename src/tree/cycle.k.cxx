// The cycle: smoothing, restriction, prolongation.
#include "tree/hierarchy.hpp"
#include "tree/dispatch.hpp"
#include "tree/rows.hpp"
#include "exec/each.hpp"
#include "exec/tile.hpp"
#include <algorithm>

namespace tessera::tree {

namespace {

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
  static constexpr int           max_nodes = 1024; // nodes
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
} // namespace

// direction: of Gauss-Seidel; polynomials have none. begun: from zero, z is what the polynomial begins with
template <class T> template <class V> void Level<T>::smooth(bool from_zero, Direction direction, bool begun)
{
  if (!sweep.first.empty()) sweep.apply(*this, from_zero, direction); // one vector
  else chebyshev.apply<T>(*this, vectors<V>(), from_zero, begun);
}

// The next grid's right-hand side, or this process's part of it.
template <class T> template <class V> void Level<T>::restrict_to(const Level &next)
{
  const Vectors<V> of = vectors<V>(), coarse = next.template vectors<V>();
  const int       *begin = transfer.begin.data(), corners = transfer.corners;
  const T         *weight = transfer.weight.data();
  const bool       blocks = width_of<V> == 1 && restricts_in_blocks;
  with_block_of<V>(bs, [&](auto b) {
    if constexpr (width_of<V> == 1)
      if (blocks) {
        // as many leaves as have the nodes of a block of each_row() in the mean
        Stream<T> stream = stream_of(*this, of.x);
        const int group  = std::clamp((int)((double)stream.rows * transfer.cells / n), 1,
                                      RestrictStream<T>::max_nodes / product.fullest);
        stream.rows     = group * product.fullest;
        const RestrictStream<T> restrict_leaves{stream, begin,   of.b,   weight, transfer.cells,
                                                group,  corners, of.sums};
        forall_blocks(exec, (transfer.cells + group - 1) / group, stream_threads, restrict_leaves.bytes(),
                      restrict_leaves);
      }
    if (!blocks && by_nodes) { // rows of neighbouring threads must lie together
      this->each_row(of.x, Residual<V>{of.b, of.r});
      for_each(exec, transfer.cells * corners,
               RestrictCorner<T, b.value, V>{begin, weight, of.r, corners, of.sums});
    } else if (!blocks)
      for_each(exec, transfer.cells,
               RestrictLeaf<T, b.value, V>{begin, i.data(), j.data(), a.data(), weight, of.b, of.x, corners, of.sums});
    for_each(exec, next.rows,
             SumCorners<T, b.value, V>{transfer.first.data(), transfer.place.data(), next.inverse.data(), of.sums,
                                       coarse.b, next.begun ? coarse.z : nullptr,
                                       (T)(next.begun ? next.chebyshev.first() : 0)});
  });
}

template <class T> void Level<T>::restrict_known(const T *r, Level &next)
{
  const int corners = transfer.corners;
  T *const  sums    = work.sums.data();
  with_block(bs, [&](auto b) {
    for_each(exec, transfer.cells * corners,
             RestrictCorner<T, b.value, T>{transfer.begin.data(), transfer.weight.data(), r, corners, sums});
    for_each(exec, next.rows,
             SumCorners<T, b.value, T>{transfer.first.data(), transfer.place.data(), nullptr, sums,
                                       next.work.b.data(), nullptr, 0});
  });
}

// x += P e
template <class T> template <class V> void Level<T>::prolong_from(const V *e)
{
  const Transfer<T> &t = transfer;
  V *const           x = vectors<V>().x;
  with_block_of<V>(bs, [&](auto b) {
    if (by_nodes)
      with_corners(t.corners, [&](auto corners) {
        for_each(exec, n,
                 ProlongNode<T, b.value, V, corners.value>{t.leaf.data(), t.vertex.data(), t.weight.data(), e, x});
      });
    else
      for_each(exec, t.cells,
               Prolong<T, b.value, V>{t.begin.data(), t.vertex.data(), t.weight.data(), e, t.corners, x});
  });
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
      exec_.space, numeric_.setups(), params_.cycle == Cycle::k ? sums : 0, launch);
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
  level.by_nodes   = exec_.space == Space::cuda;
  level.log_threads         = !level.by_nodes || row < 6 ? 0 : row < 48 ? 2 : 3;
  level.streams             = level.by_nodes && level.bs == 1 && level.log_threads;
  level.restricts_in_blocks = level.streams && level.product.fullest <= RestrictStream<T>::max_nodes;
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
  template void   Level<T>::restrict_known(const T *, Level<T> &); \
  template void   Hierarchy<T>::solve(int); \
  template void   Hierarchy<T>::restrict_residual(int); \
  template void   Hierarchy<T>::prolong(int); \
  template void   Hierarchy<T>::vectors(int); \
  template double Hierarchy<T>::work() const; \
  TESSERA_ALL_WIDTHS(INSTANTIATE, T)
INSTANTIATE_ALL(double)
INSTANTIATE_ALL(float)

} // namespace tessera::tree
