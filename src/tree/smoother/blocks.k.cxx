// The blocks of the smoother (blocks.hpp): filled with numbers, inverted, applied.
#include "tree/hierarchy.hpp"
#include "tree/smoother/invert.hpp"
#include "exec/each.hpp"
#include "exec/tile.hpp"
#include <cmath>

namespace tessera::tree {

namespace {

// Rows of own unknowns to messages of one length, and those of partners from them.
struct PackStrongRow {
  const int    *needed, *block, *place, *begin, *at;
  const double *dense;
  double       *rows;
  HD void       operator()(int k) const
  {
    const int s = needed[k], b = block[s], n = begin[b + 1] - begin[b];
    for (int q = 0; q < n; ++q) rows[(ptrdiff_t)k * max_strong_block + q] = dense[at[b] + place[s] * n + q];
  }
};
struct UnpackStrongRows {
  const int    *begin, *at, *member;
  const double *rows;
  double       *dense;
  HD void       operator()(int b) const
  {
    const int n = begin[b + 1] - begin[b];
    for (int k = 0; k < n; ++k)
      if (const int m = member[begin[b] + k]; m < 0)
        for (int q = 0; q < n; ++q) dense[at[b] + k * n + q] = rows[(ptrdiff_t)(-1 - m) * max_strong_block + q];
  }
};
template <class T> struct FillEntries {
  const int *from;
  const T   *a;
  double    *dense;
  HD void    operator()(int k) const { dense[k] = from[k] < 0 ? 0 : (double)a[from[k]]; }
};
// The diagonal of a block is raised by such a share, so that no entry of the inverse, whose rounding is of its largest
// ones, hides what the others say.
template <class T> constexpr double raised = sizeof(T) == sizeof(float) ? 1e-5 : 1e-6;
// B^-1 - D^-1 of a block, by a warp
template <class T> struct InvertStrong {
  const int       *begin, *at;
  const double    *dense;
  T               *extra;
  static constexpr int    threads = 32;
  static constexpr size_t bytes   = (size_t)max_strong_block * (max_strong_block + 4) * sizeof(double);
  template <class Block> HD void operator()(Block &block) const
  {
    const int     b = block.tile.y0, n = begin[b + 1] - begin[b], first = at[b];
    double *const a = block.shared, *const diagonal = a + n * n;
    const auto    me = *this;
    block.each(0, n * n, 0, 1, [&](int e, int) { a[e] = me.dense[first + e]; });
    block.sync();
    block.each(0, n, 0, 1, [&](int k, int) {
      diagonal[k] = a[k * n + k];
      a[k * n + k] *= 1 + raised<T>;
    });
    block.sync();
    invert_block(block, a, n, dead_pivot<T>, diagonal + n);
    block.each(0, n * n, 0, 1, [&](int e, int) {
      const int k = e / n;
      me.extra[first + e % n * n + k] = (T)(a[e] - (e % n == k && diagonal[k] > 0 ? 1 / diagonal[k] : 0));
    });
  }
};
// The same on the host. dense: nullptr where this process has all entries
template <class T> struct InvertOnHost {
  const int    *begin, *at, *from;
  const T      *a;
  const double *dense;
  T            *extra;
  void          operator()(int b) const
  {
    const int n = begin[b + 1] - begin[b];
    if (n <= 4) invert<4>(at[b], n);
    else if (n <= 8) invert<8>(at[b], n);
    else if (n <= 12) invert<12>(at[b], n);
    else invert<max_strong_block>(at[b], n);
  }
  template <int W> void invert(int first, int n) const
  {
    double block[W * W] = {}, diagonal[W];
    for (int k = 0; k < n; ++k)
      for (int q = 0; q < n; ++q) {
        const int e      = first + k * n + q;
        block[k * W + q] = dense ? dense[e] : from[e] < 0 ? 0 : (double)a[from[e]];
      }
    for (int k = 0; k < n; ++k) {
      diagonal[k] = block[k * W + k];
      block[k * W + k] *= 1 + raised<T>;
    }
    invert_rows<W>(block, n, dead_pivot<T>);
    for (int k = 0; k < n; ++k) {
      if (diagonal[k] > 0) block[k * W + k] -= 1 / diagonal[k];
      for (int q = 0; q < n; ++q) extra[first + q * n + k] = (T)block[k * W + q];
    }
  }
};

template <class T, class V> struct AddExtra {
  const int *begin, *at, *member, *unknown, *block, *place;
  const T   *extra;
  const V   *r, *others;
  V         *z, *x;
  T          c, weight;
  bool       turned;
  HD void    operator()(int s) const
  {
    const int b = block[s], first = begin[b], n = begin[b + 1] - first;
    const V   sum = c * row(n, place[s], first, at[b]);
    if (z) z[unknown[s]] += sum;
    if (x) x[unknown[s]] += weight * sum;
  }
  HD V row(int n, int mine, int first, int at) const
  {
    const T *const e  = extra + at + (turned ? mine * n : mine);
    const int      by = turned ? 1 : n;
    V              sum = 0;
    for (int q = 0; q < n; ++q) {
      const int m = member[first + q];
      sum += e[q * by] * (m < 0 ? others[-1 - m] : r[m]);
    }
    return sum;
  }
};
// The same on the host for a block of this process, column by column: all unknowns in a vector of the machine.
template <class T> struct AddBlock {
  const int *begin, *at, *member;
  const T   *extra, *r;
  T         *z, *x, c, weight;
  bool       turned;
  HD void    operator()(int b) const
  {
#ifndef __CUDA_ARCH__
    const int *const unknown = member + begin[b];
    const int        n       = begin[b + 1] - begin[b];
    if (n <= 8) columns<8>(n, unknown, extra + at[b]);
    else columns<max_strong_block>(n, unknown, extra + at[b]);
#endif
  }
#ifndef __CUDA_ARCH__
  template <int W> __attribute__((always_inline)) void columns(int n, const int *unknown, const T *e) const
  {
    T sum[W] = {}, column[W] = {};
    for (int q = 0; q < n; ++q, e += turned ? 1 : n) {
      const T  of  = r[unknown[q]];
      const T *row = e; // numbers behind the end of the block give sums that are not needed
      if (turned) {
        for (int k = 0; k < n; ++k) column[k] = e[k * n];
        row = column;
      }
      for (int k = 0; k < W; ++k) sum[k] += row[k] * of;
    }
    for (int k = 0; k < n; ++k) {
      const T s = c * sum[k];
      if (z) z[unknown[k]] += s;
      if (x) x[unknown[k]] += weight * s;
    }
  }
#endif
};
// The rows of own unknowns: a diagonal matrix of sums of absolute values is at least as large as the block.
template <class T> struct BoundRow {
  const int *begin, *at, *row, *block, *place, *from;
  const T   *a;
  T         *inverse;
  HD void    operator()(int s) const
  {
    const int        b = block[s], n = begin[b + 1] - begin[b];
    const int *const mine = from + at[b] + place[s] * n;
    T                sum  = 0;
    for (int q = 0; q < n; ++q) sum += mine[q] < 0 ? 0 : fabs(a[mine[q]]);
    if (sum > 0 && inverse[row[s]] > 0) inverse[row[s]] = 1 / sum;
  }
};
template <class T> struct LeaveOut {
  BoundRow<T> bound;
  const int  *member;
  const T    *marked, *others;
  T          *extra;
  HD void     operator()(int s) const
  {
    const int b = bound.block[s], first = bound.begin[b], n = bound.begin[b + 1] - first;
    bool      any = false;
    for (int q = first; q < first + n; ++q)
      any = any || (member[q] < 0 ? others[-1 - member[q]] : marked[member[q]]) > 0;
    if (!any) return;
    bound(s);
    for (int q = 0; q < n; ++q) extra[bound.at[b] + q * n + bound.place[s]] = 0;
  }
};
} // namespace

template <class T> template <class V> const V *StrongBlocks<T>::fetch_partners(const Level<T> &level, const V *of)
{
  if (!level.distributed || values.empty()) return nullptr;
  const int own = (int)needed.size();
  V *const  v   = (V *)values.data();
  for_each(level.exec, own, GatherNodes<V>{needed.data(), of, v, 1});
  exchange.forward((T *)v, width_of<V>);
  return v + own;
}

template <class T> template <class V> void StrongBlocks<T>::add(const Level<T> &level, const V *r, T c, V *z, V *x, T w)
{
  part_functions.add(level, r, c, z, x, w);
  if constexpr (std::is_same_v<T, V>)
    if (!level.distributed && !level.by_nodes())
      return for_each_on_host(level.exec, n, AddBlock<T>{begin.data(), at.data(), member.data(), extra.data(), r, z, x,
                                                         c, w, turned});
  const V *const others = fetch_partners(level, r);
  for_each(level.exec, (int)row.size(),
           AddExtra<T, V>{begin.data(), at.data(), member.data(), row.data(), block.data(), place.data(), extra.data(),
                          r, others, z, x, c, w, turned});
}

template <class T> void StrongBlocks<T>::bound(const Level<T> &level, const T *a, T *inverse) const
{
  for_each(level.exec, (int)row.size(),
           BoundRow<T>{begin.data(), at.data(), row.data(), block.data(), place.data(), from.data(), a, inverse});
}

template <class T>
void StrongBlocks<T>::leave_out(const Level<T> &level, const T *marked, const T *a, T *inverse)
{
  const BoundRow<T> rows{begin.data(), at.data(),  row.data(), block.data(),
                         place.data(), from.data(), a,          inverse};
  const T *const others = fetch_partners(level, marked);
  for_each(level.exec, (int)row.size(), LeaveOut<T>{rows, member.data(), marked, others, extra.data()});
}

template <class T> void NumericSetup<T>::invert_blocks(Level<T> &level)
{
  StrongBlocks<T> &b = level.blocks;
  if (!b.any) return;
  const int      entries = (int)b.from.size(), own = (int)b.needed.size();
  const auto     invert = [&](const double *dense) {
    for_each_on_host(exec_, b.n, InvertOnHost<T>{b.begin.data(), b.at.data(), b.from.data(), level.a.data(), dense,
                                                 b.extra.data()});
  };
  if (!level.by_nodes() && !level.distributed) return invert(nullptr);
  Buffer<double> dense = make_unset<double>((size_t)entries);
  for_each(exec_, entries, FillEntries<T>{b.from.data(), level.a.data(), dense.data()});
  if (level.distributed) {
    Buffer<double> rows = make<double>((size_t)(own + b.partners) * max_strong_block);
    for_each(exec_, own,
             PackStrongRow{b.needed_row.data(), b.block.data(), b.place.data(), b.begin.data(), b.at.data(),
                           dense.data(), rows.data()});
    b.exchange.forward(rows.data(), max_strong_block);
    for_each(exec_, b.n,
             UnpackStrongRows{b.begin.data(), b.at.data(), b.member.data(),
                              rows.data() + (ptrdiff_t)own * max_strong_block, dense.data()});
  }
  if (!level.by_nodes()) return invert(dense.data());
  forall_blocks(exec_, b.n, InvertStrong<T>::threads, InvertStrong<T>::bytes,
                InvertStrong<T>{b.begin.data(), b.at.data(), dense.data(), b.extra.data()});
}

// keep: the blocks stay as they are. On a line all couplings are strong, and without blocks its grids suffice.
template <class T> void NumericSetup<T>::prepare_blocks(Level<T> &level, bool keep)
{
  if (params_.dim == 1) return;
  StrongBlocks<T> &b = level.blocks;
  const bool       anew = !keep || !b.found;
  if (anew) {
    find_blocks(level);
    b.part_functions = PartFunctions<T>(); // of coarse grids: find_coarse_parts()
  }
  invert_blocks(level);
  const bool own_parts = params_.all_take_part && params_.bs == 1 && body_functions_ != BodyFunctions::own;
  if (anew && own_parts && &level == &levels_[0])
    b.part_functions.find(comm_, level, params_, params_.part_labels.lock().get());
  b.any = b.any || b.part_functions.any();
  b.part_functions.take_values(level);
}

#define INSTANTIATE(T) \
  template void NumericSetup<T>::prepare_blocks(Level<T> &, bool); \
  template struct StrongBlocks<T>; \
  template void NumericSetup<T>::invert_blocks(Level<T> &);
#define INSTANTIATE_ADD(T, ...) \
  template void StrongBlocks<T>::add<__VA_ARGS__>(const Level<T> &, const __VA_ARGS__ *, T, __VA_ARGS__ *, \
                                                  __VA_ARGS__ *, T);
#define INSTANTIATE_ALL(T) INSTANTIATE(T) TESSERA_ALL_WIDTHS(INSTANTIATE_ADD, T)
INSTANTIATE_ALL(double)
INSTANTIATE_ALL(float)

} // namespace tessera::tree
