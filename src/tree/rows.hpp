// Products of a grid's operator with a vector, row by row or several threads to a row.
#pragma once
#include "tree/hierarchy.hpp"
#include "tree/dispatch.hpp"
#include "exec/each.hpp"
#include "exec/eights.hpp"
#include "exec/groups.hpp"
#include "exec/several.hpp"
#include "exec/shared.hpp"
#include "exec/tile.hpp"
#include <algorithm>
#include <type_traits>

namespace tessera::tree {

// Of a diagonal, or of its inverse: 1 / d, and zero where an unknown takes no part.
template <class T> struct Inverse {
  const T *d;
  T       *inverse;
  HD void  operator()(int p) const { inverse[p] = d[p] > 0 ? 1 / d[p] : 0; }
};

// The entry of a node with itself, or the end of its row.
HD inline int own_entry(const int *i, const int *j, int p)
{
  int e = i[p];
  while (e < i[p + 1] && j[e] != p) ++e;
  return e;
}

template <class V> struct Clear {
  V      *x;
  HD void operator()(int p) const { x[p] = 0; }
};

// Nodes of several unknowns have kernels for 1 and 4 vectors alone.
template <class V, class F> void with_block_of(int bs, const F &f)
{
  if constexpr (width_of<V> == 1 || width_of<V> == 4) with_block(bs, f);
  else f(Number<1>());
}

#ifndef __CUDA_ARCH__
// A row times several vectors, on the host. Entry by entry, in two sums: g++ would make vectors of gathered numbers,
// which take half as long again and in single precision twice as long.
template <class T, class V> __attribute__((always_inline))
inline V row_times(int e, int end, const int *j, const T *a, const V *x)
{
  V s = 0, t = 0;
  if ((end - e) % 2) s = a[e] * x[j[e]], ++e;
  for (; e < end; e += 2) {
    s += a[e] * x[j[e]];
    asm volatile(""); // no vectors
    t += a[e + 1] * x[j[e + 1]];
  }
  return s + t;
}
#endif

// s = b - A x, or A x without b, in the rows of the node; true for the thread that has it. entries: of the operator.
// Sum: what the host adds up in where nodes have one unknown.
template <class T, int BS, class V, class Sum = V> __attribute__((always_inline))
HD inline bool residual(const int *i, const int *j, const T *a, const V *x, const V *b, const Shared &at, int entries,
                        V *s)
{
  const int p = at.node;
#ifndef __CUDA_ARCH__
  if (at.thread) return false;
  if constexpr (BS == 1 && std::is_same_v<T, V>) {
    const T product = (T)row_in_eights<Sum>(i[p + 1] - i[p], entries - i[p], j + i[p], a + i[p], x);
    s[0] = b ? b[p] - product : product;
    return true;
  }
  if constexpr (BS == 1) {
    s[0] = b ? b[p] - row_times(i[p], i[p + 1], j, a, x) : row_times(i[p], i[p + 1], j, a, x);
    return true;
  }
#endif
  for (int k = 0; k < BS; ++k) s[k] = b && !at.thread ? b[(ptrdiff_t)BS * p + k] : V(0);
  at.each(i[p], i[p + 1], [&](int e) {
    const T *const v = a + (ptrdiff_t)BS * BS * e;
    const V *const y = x + (ptrdiff_t)BS * j[e];
    for (int k = 0; k < BS; ++k)
      for (int m = 0; m < BS; ++m) s[k] = b ? s[k] - v[BS * k + m] * y[m] : s[k] + v[BS * k + m] * y[m];
  });
  for (int k = 0; k < BS; ++k) s[k] = sum_shared(s[k], at.log_threads);
  return !at.thread;
}

// The same on the device for single unknowns in long rows: a block reads the entries of its rows side by side and
// keeps what they give in its memory, where a thread adds up a row. Rows of less than six entries are read faster by
// a thread each.
constexpr int stream_threads = 256, max_restricted_in_block = 1024; // nodes whose residual a block keeps
template <class T> struct Stream {
  static constexpr int at_once = 8;
  const int *i, *j;
  const T   *a, *x;
  int        n, rows, room; // of a block: rows, entries at a time
  size_t     bytes() const { return (size_t)(room + rows) * sizeof(T); }
  // f(row, A x in it) for the rows [p0, p1)
  template <class Block, class F> HD void run(Block &block, int p0, int p1, const F &f) const
  {
    T *const  product = (T *)block.shared, *const sum = product + room; // of rows that are cut
    const int first = i[p0], last = i[p1];
    for (int e0 = first;;) {
      const int e1 = last - e0 > room ? e0 + room : last;
      // a thread fetches what several entries need before it goes on
      block.each(0, (e1 - e0 + at_once * stream_threads - 1) / (at_once * stream_threads) * stream_threads, 0, 1,
                 [&](int item, int) {
                   const int e = e0 + item / stream_threads * (at_once * stream_threads) + item % stream_threads;
                   int       q[at_once];
                   T         v[at_once];
                   for (int m = 0; m < at_once; ++m) {
                     const bool inside = e + m * stream_threads < e1;
                     q[m]              = inside ? j[e + m * stream_threads] : 0;
                     v[m]              = inside ? a[e + m * stream_threads] : 0;
                   }
                   for (int m = 0; m < at_once; ++m) v[m] *= x[q[m]];
                   for (int m = 0; m < at_once; ++m)
                     if (e + m * stream_threads < e1) product[e + m * stream_threads - e0] = v[m];
                 });
      block.sync();
      block.each(p0, p1, 0, 1, [&](int p, int) {
        const int from = i[p], until = i[p + 1];
        if (from >= e1 && until > e1) return;
        T s = from < e0 ? sum[p - p0] : 0;
        for (int e = from > e0 ? from : e0; e < (until < e1 ? until : e1); ++e) s += product[e - e0];
        if (until > e1) sum[p - p0] = s;
        else if (until > e0 || e0 == first) f(p, s);
      });
      if (e1 == last) return;
      block.sync();
      e0 = e1;
    }
  }
};
template <class T, class End> struct StreamRows {
  Stream<T> stream;
  End       end;
  template <class Block> HD void operator()(Block &block) const
  {
    const int p0 = block.tile.y0 * stream.rows, p1 = p0 + stream.rows < stream.n ? p0 + stream.rows : stream.n;
    stream.run(block, p0, p1, [&](int p, T s) { end(p, s); });
  }
};
struct Sum {
  double  v = 0;
  HD void join(const Sum &o) { v += o.v; }
};
template <class T, class End> struct StreamSum {
  Stream<T> stream;
  End       end;
  template <class Block> HD void operator()(Block &block, Sum &sum) const
  {
    stream.run(block, block.tile.y0, block.tile.y1, [&](int p, T s) { sum.v += end(p, s); });
  }
};
template <class T, int BS, class V, class End, class Sum = V> struct EachRow {
  const int *i, *j;
  const T   *a;
  const V   *x;
  int        log_threads, entries;
  End        end;
  // The loop over rows has it inside: a call for each row takes 4 % of an application on the host.
  __attribute__((always_inline)) HD double operator()(int item) const
  {
    V            s[BS];
    double       sum = 0;
    const Shared at(item, log_threads);
    if (!residual<T, BS, V, Sum>(i, j, a, x, (const V *)nullptr, at, entries, s)) return 0;
    for (int k = 0; k < BS; ++k) {
      const ptrdiff_t row = (ptrdiff_t)BS * at.node + k;
      if constexpr (std::is_convertible_v<decltype(end(row, s[k])), double>) sum += end(row, s[k]);
      else end(row, s[k]);
    }
    return sum;
  }
};

// The same on the host for many rows of single unknowns: first their products, then what is done with them. Either
// loop keeps what it needs in registers, and the second one works on vectors of the machine.
constexpr int rows_at_once = 64;
inline int    groups_of_rows(int n) { return (n + rows_at_once - 1) / rows_at_once; }
template <class T, class End, class Sum = T> struct RowsAtOnce {
  const int *i, *j;
  const T   *a, *x;
  int        n, entries;
  End        end;
#ifdef __CUDA_ARCH__
  HD void   operator()(int) const { }
  HD double sum(int) const { return 0; }
#else
  int       products(int first, T *product) const
  {
    const int many = n - first < rows_at_once ? n - first : rows_at_once;
    for (int k = 0; k < many; ++k) {
      const int e = i[first + k];
      product[k]  = (T)row_in_eights<Sum>(i[first + k + 1] - e, entries - e, j + e, a + e, x);
    }
    return many;
  }
  void      operator()(int group) const
  {
    T         product[rows_at_once];
    const int first = group * rows_at_once, many = products(first, product);
    const End of_row = end; // its members stay in registers
#pragma GCC ivdep
    for (int k = 0; k < many; ++k) of_row(first + k, product[k]);
  }
  double    sum(int group) const
  {
    T         product[rows_at_once];
    const int first = group * rows_at_once, many = products(first, product);
    const End of_row = end;
    double    s = 0;
#pragma omp simd reduction(+ : s)
    for (int k = 0; k < many; ++k) s += of_row(first + k, product[k]);
    return s;
  }
#endif
};

#if !defined(TESSERA_HAVE_CUDA) || defined(__CUDACC__)

template <class T> Stream<T> stream_of(const Operator<T> &level, const T *x)
{
  // small grids have fewer rows in a block, as they have few blocks
  constexpr int    blocks = 512, smallest = 1024, largest = 32768 / sizeof(T);
  const int        rows = std::clamp(level.n / blocks, 32, stream_threads);
  const double     row = level.n ? (double)level.j.size() / level.n : 0;
  return {level.i.data(),
          level.j.data(),
          level.a.data(),
          x,
          level.n,
          rows,
          std::clamp((int)std::min(1.2 * row * rows, (double)largest), smallest, largest)};
}

// Several vectors need no blocks that stream: the threads of a row read all of them at each of its entries.
template <class T> template <class V, class End> void Operator<T>::each_row(const V *x, const End &end) const
{
  if constexpr (width_of<V> == 1 && device::built)
    if (streams) {
      const Stream<T> stream = stream_of(*this, x);
      return forall_blocks(exec, (n + stream.rows - 1) / stream.rows, stream_threads, stream.bytes(),
                           StreamRows<T, End>{stream, end});
    }
  if constexpr (width_of<V> == 1)
    if (bs == 1)
      return for_each_or_group(exec, n << log_threads,
                               EachRow<T, 1, V, End>{i.data(), j.data(), a.data(), x, log_threads, (int)j.size(), end},
                               groups_of_rows(n),
                               RowsAtOnce<T, End>{i.data(), j.data(), a.data(), x, n, (int)j.size(), end});
  with_block_of<V>(bs, [&](auto b) {
    for_each(exec, n << log_threads,
             EachRow<T, b.value, V, End>{i.data(), j.data(), a.data(), x, log_threads, (int)j.size(), end});
  });
}

// In double precision: rows of large entries make little of a vector that is smooth along them, and blocks of the
// smoother make what rounding leaves there a hundred thousand times as large. An eigenvalue came out 4 % too small.
template <class T> template <class End> void Operator<T>::sum_rows(const T *x, const End &end, double *sum) const
{
  if (device::built && streams) {
    const Stream<T> stream = stream_of(*this, x);
    return forall_tiles(exec, Box{0, 1, 0, n}, 1, stream.rows, stream.bytes(), StreamSum<T, End>{stream, end},
                        (Sum *)sum);
  }
  with_block(bs, [&](auto b) {
    const EachRow<T, b.value, T, End, double> row{i.data(), j.data(), a.data(), x, log_threads, (int)j.size(), end};
    if constexpr (b.value == 1)
      sum_each_or_group(exec, n << log_threads, row, groups_of_rows(n),
                        RowsAtOnce<T, End, double>{i.data(), j.data(), a.data(), x, n, (int)j.size(), end}, sum);
    else sum_each(exec, n << log_threads, row, sum);
  });
}

#endif

} // namespace tessera::tree
