// How a level restricts its residual and takes the next grid's correction.
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

// Kernels of the host have a leaf's number of corners at compile time. Those of several unknowns in several vectors,
// whose sums no registers hold, have Corners = 0 and get the number when they run: they would be half of what there is
// to compile.
constexpr int max_corners = 8;
template <int BS, class V, class F> void with_corners_of(int corners, const F &f)
{
  if constexpr (BS == 1 || width_of<V> == 1) with_corners(corners, f);
  else f(Number<0>());
}

// The residual and its weighted sums at the corners of each leaf.
template <class T, int BS, class V, int Corners> struct RestrictLeaf {
  const int *begin, *i, *j;
  const T   *a, *weight;
  const V   *b, *x;
  int        entries, at_run_time;
  V         *sums;
  __attribute__((always_inline)) HD void operator()(int l) const
  {
    const int corners = Corners ? Corners : at_run_time;
    V         sum[BS * (Corners ? Corners : max_corners)];
    for (int c = 0; c < BS * corners; ++c) sum[c] = 0;
#ifndef __CUDA_ARCH__
    if constexpr (BS == 1 && std::is_same_v<T, V>) return several_at_once(l, sum);
#endif
    for (int p = begin[l]; p < begin[l + 1]; ++p) {
      V s[BS];
      residual<T, BS>(i, j, a, x, b, Shared(p, 0), entries, s);
      for (int c = 0; c < corners; ++c)
        for (int k = 0; k < BS; ++k) sum[BS * c + k] += weight[(ptrdiff_t)corners * p + c] * s[k];
    }
    for (int c = 0; c < BS * corners; ++c) sums[(ptrdiff_t)BS * corners * l + c] = sum[c];
  }
#ifndef __CUDA_ARCH__
  // as RowsAtOnce
  __attribute__((always_inline)) void several_at_once(int l, V *sum) const
  {
    constexpr int at_once = 16;
    for (int first = begin[l], last = begin[l + 1]; first < last; first += at_once) {
      const int many = last - first < at_once ? last - first : at_once;
      T         r[at_once];
      for (int k = 0; k < many; ++k) residual<T, 1>(i, j, a, x, b, Shared(first + k, 0), entries, r + k);
      for (int k = 0; k < many; ++k)
        for (int c = 0; c < Corners; ++c) sum[c] += weight[(ptrdiff_t)Corners * (first + k) + c] * r[k];
    }
    for (int c = 0; c < Corners; ++c) sums[(ptrdiff_t)Corners * l + c] = sum[c];
  }
#endif
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
// z: nullptr or what the smoother begins with, as in FirstZero of multigrid/chebyshev.hpp
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
template <class T, int BS, class V, int Corners> struct Prolong {
  const int *begin, *vertex;
  const T   *weight;
  const V   *e;
  V         *x;
  int        at_run_time;
  HD void    operator()(int l) const
  {
    const int corners = Corners ? Corners : at_run_time;
    V         v[BS * (Corners ? Corners : max_corners)];
    for (int c = 0; c < corners; ++c)
      for (int k = 0; k < BS; ++k)
        v[BS * c + k] = vertex[corners * l + c] < 0 ? V(0) : e[(ptrdiff_t)BS * vertex[corners * l + c] + k];
    for (int p = begin[l]; p < begin[l + 1]; ++p) {
      V s[BS];
      for (int k = 0; k < BS; ++k) s[k] = 0;
      for (int c = 0; c < corners; ++c)
        for (int k = 0; k < BS; ++k) s[k] += weight[(ptrdiff_t)corners * p + c] * v[BS * c + k];
      for (int k = 0; k < BS; ++k) x[(ptrdiff_t)BS * p + k] += s[k];
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

} // namespace

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
                                      max_restricted_in_block / product.fullest);
        stream.rows     = group * product.fullest;
        const RestrictStream<T> restrict_leaves{stream, begin,   of.b,   weight, transfer.cells,
                                                group,  corners, of.sums};
        forall_blocks(exec, (transfer.cells + group - 1) / group, stream_threads, restrict_leaves.bytes(),
                      restrict_leaves);
      }
    if (!blocks && by_nodes()) { // rows of neighbouring threads must lie together
      this->each_row(of.x, Residual<V>{of.b, of.r});
      for_each_on_device(exec, transfer.cells * corners,
                         RestrictCorner<T, b.value, V>{begin, weight, of.r, corners, of.sums});
    } else if (!blocks)
      with_corners_of<b.value, V>(corners, [&](auto c) {
        for_each_on_host(exec, transfer.cells,
                         RestrictLeaf<T, b.value, V, c.value>{begin, i.data(), j.data(), a.data(), weight, of.b, of.x,
                                                              (int)j.size(), corners, of.sums});
      });
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
    if (by_nodes())
      with_corners(t.corners, [&](auto corners) {
        for_each_on_device(
          exec, n, ProlongNode<T, b.value, V, corners.value>{t.leaf.data(), t.vertex.data(), t.weight.data(), e, x});
      });
    else
      with_corners_of<b.value, V>(t.corners, [&](auto corners) {
        for_each_on_host(exec, t.cells,
                         Prolong<T, b.value, V, corners.value>{t.begin.data(), t.vertex.data(), t.weight.data(), e, x,
                                                               t.corners});
      });
  });
}

#define INSTANTIATE(T, ...) \
  template void Level<T>::restrict_to<__VA_ARGS__>(const Level &); \
  template void Level<T>::prolong_from(const __VA_ARGS__ *);
TESSERA_ALL_WIDTHS(INSTANTIATE, double)
TESSERA_ALL_WIDTHS(INSTANTIATE, float)
template void Level<double>::restrict_known(const double *, Level<double> &);
template void Level<float>::restrict_known(const float *, Level<float> &);

} // namespace tessera::tree
