// Loops over a list: a kernel is `HD void operator()(int p) const` for p in [0, n), in any order; and sums over a list.
// Kernels that several files need stand here, the atomic operations of such kernels, and what is done with the products
// of a matrix's rows.
#pragma once
#include "exec/buffer.hpp"
#include "exec/exec.hpp"

namespace tessera {

// Integers that many items of a list add to or raise: the result does not depend on the order.
HD inline void add_to(int *sum, int v)
{
#ifdef __CUDA_ARCH__
  atomicAdd(sum, v);
#else
  __atomic_fetch_add(sum, v, __ATOMIC_RELAXED);
#endif
}
// *number += 1, where neighbours in the list mostly count at the same place; in kernels of for_each()
HD inline void count_at(int *number)
{
#ifdef __CUDA_ARCH__
  const unsigned same = __match_any_sync(__activemask(), (unsigned long long)number); // threads of the warp
  if ((int)threadIdx.x % device::warp == __ffs((int)same) - 1) atomicAdd(number, __popc(same));
#else
  add_to(number, 1);
#endif
}
HD inline void raise_to(int *largest, int v)
{
#ifdef __CUDA_ARCH__
  atomicMax(largest, v);
#else
  int now = __atomic_load_n(largest, __ATOMIC_RELAXED);
  while (now < v && !__atomic_compare_exchange_n(largest, &now, v, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) { }
#endif
}
// *to |= bits
HD inline void set_bits(unsigned *to, unsigned bits)
{
#ifdef __CUDA_ARCH__
  if ((*to & bits) != bits) atomicOr(to, bits);
#else
  __atomic_fetch_or(to, bits, __ATOMIC_RELAXED);
#endif
}

// What depends on the order: the number before v was added; and what was in a place, where v is now if that was zero.
template <class T> HD inline T take(T *sum, T v)
{
#ifdef __CUDA_ARCH__
  return atomicAdd(sum, v);
#else
  return __atomic_fetch_add(sum, v, __ATOMIC_RELAXED);
#endif
}
template <class T> HD inline T claim(T *place, T v)
{
#ifdef __CUDA_ARCH__
  return atomicCAS(place, (T)0, v);
#else
  T was = 0;
  __atomic_compare_exchange_n(place, &was, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return was;
#endif
}

template <class T, class To = T> struct CopyValues {
  const T *from;
  To      *to;
  HD void  operator()(int p) const { to[p] = (To)from[p]; }
};
template <class T> struct SetValues {
  T      *to, value;
  HD void operator()(int p) const { to[p] = value; }
};
// to[p] = p
struct Enumerate {
  int    *to;
  HD void operator()(int p) const { to[p] = p; }
};
// Rows of lists: row p of out, from to[p] on, begins as that of `list` from from[p] on does.
struct CopyRows {
  const int *from, *to, *list;
  int       *out;
  HD void    operator()(int p) const
  {
    for (int e = to[p]; e < to[p + 1]; ++e) out[e] = list[from[p] + e - to[p]];
  }
};
template <class T, class Index = int> struct GatherValues {
  const Index *list;
  const T     *from;
  T           *to;
  HD void      operator()(int p) const { to[p] = from[list[p]]; }
};
template <class T, class Index = int> struct ScatterValues {
  const Index *list;
  const T     *from;
  T           *to;
  HD void      operator()(int p) const { to[list[p]] = from[p]; }
};
// to[list[p]] = p
struct InvertList {
  const int *list;
  int       *to;
  HD void    operator()(int p) const { to[list[p]] = p; }
};
struct FlagEqual {
  const int     *of;
  int            value;
  unsigned char *flag;
  HD void        operator()(int p) const { flag[p] = of[p] == value; }
};
// Of keys in order: is the key another one than that before it?
template <class T> struct FirstOfRun {
  const T       *key;
  unsigned char *flag;
  HD void        operator()(int p) const { flag[p] = !p || key[p] != key[p - 1]; }
};

template <class T> struct DotProduct {
  const T  *x, *y;
  HD double operator()(int p) const { return (double)x[p] * y[p]; }
};
// y = s x + t y; with t = 0 the old y does not matter.
template <class T> struct Combine {
  T        s;
  const T *x;
  T        t, *y;
  HD void  operator()(int p) const { y[p] = t == 0 ? s * x[p] : s * x[p] + t * y[p]; }
};

// What a row's product (A p)_k is for, as each_row() of a level takes it: q = A p;
template <class T> struct KeepProduct {
  T      *q;
  HD void operator()(ptrdiff_t k, T product) const { q[k] = product; }
};
// q = A p with the sum p'q;
struct ProductAndDot {
  const double *p;
  double       *q;
  HD double     operator()(ptrdiff_t k, double product) const
  {
    q[k] = product;
    return p[k] * product;
  }
};
// and q = A p of the unknowns that are free, zero in the others, with the sum p'q.
struct FreeProduct {
  const double        *p;
  const unsigned char *free;
  double              *q;
  HD double            operator()(ptrdiff_t k, double product) const
  {
    const double v = free[k] ? product : 0;
    q[k] = v;
    return p[k] * v;
  }
};

#if !defined(TESSERA_HAVE_CUDA) || defined(__CUDACC__)

// A list in rows of so many, as forall() works on boxes.
constexpr int list_row = 256;
inline Box    list_box(int n) { return {0, list_row, 0, n / list_row + (n % list_row != 0)}; }

template <class Kernel> struct ListKernel {
  Kernel  kernel;
  int     n;
  HD void operator()(int i, int j) const
  {
    const int p = j * list_row + i;
    if (p < n) kernel(p);
  }
};
template <class Kernel> struct ListJoin {
  Kernel kernel;
  int    n;
  template <class R> HD void operator()(int i, int j, R &found) const
  {
    const int p = j * list_row + i;
    if (p < n) kernel(p, found);
  }
};
template <class Kernel> struct ListSum {
  Kernel    kernel;
  int       n;
  HD double operator()(int i, int j) const
  {
    const int p = j * list_row + i;
    return p < n ? kernel(p) : 0;
  }
};

// The halves of for_each(), for kernels that only one of the spaces runs: they are not compiled for the other.
template <class Kernel> void for_each_on_host(const Exec &exec, int n, const Kernel &kernel)
{
  if (n > 0) for_range(exec, 0, n, kernel);
}
template <class Kernel> void for_each_on_device(const Exec &exec, int n, const Kernel &kernel)
{
  if (n <= 0) return;
  const device::Blocks blocks = device::blocks_for(list_box(n));
#ifdef __CUDACC__
  (void)exec;
  device::launch(device::run_forall<ListKernel<Kernel>>, blocks, dim3(device::warp, device::block_rows), 0,
                 list_box(n), ListKernel<Kernel>{kernel, n});
#else
  const device::Open open(exec.space);
  device::launched(blocks);
  for_range(exec, 0, n, kernel);
#endif
}

template <class Kernel> void for_each(const Exec &exec, int n, const Kernel &kernel)
{
  if constexpr (device::built)
    if (exec.on_device()) return for_each_on_device(exec, n, kernel);
  for_each_on_host(exec, n, kernel);
}

// to = the numbers of the nodes in the list, `width` of each; for width times as many p.
template <class T> struct GatherNodes {
  const int *list;
  const T   *from;
  T         *to;
  int        width;
  HD void    operator()(int p) const { to[p] = from[(ptrdiff_t)list[p / width] * width + p % width]; }
};

// *sum = the sum of kernel(p), in an order that depends on n alone. The sum lies where the kernel runs.
template <class Kernel> void sum_each(const Exec &exec, int n, const Kernel &kernel, double *sum)
{
  forall_sum(exec, list_box(n), ListSum<Kernel>{kernel, n}, sum, false);
}

// *result = what kernel(p, r) gathers in values R over the list, as forall_join() does over a box;
template <class R, class Kernel> void join_each(const Exec &exec, int n, const Kernel &kernel, R *result)
{
  forall_join(exec, list_box(n), ListJoin<Kernel>{kernel, n}, result);
}
// and for the host, which waits.
template <class R, class Kernel> R join_each(const Exec &exec, int n, const Kernel &kernel)
{
  Buffer<R> found(Extent{1, exec.space});
  join_each(exec, n, kernel, found.data());
  return fetch(found, 0);
}

#endif

} // namespace tessera
