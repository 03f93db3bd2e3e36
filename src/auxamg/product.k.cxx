// The numbers of P'AP, in one pass over the leaves; pattern.k.cxx says what the lists are.
#include "auxamg/auxamg.hpp"
#include "auxamg/dispatch.hpp"
#include "core/each.hpp"
#include <algorithm>

namespace tessera::auxamg {

namespace {

// E of a leaf. On the host in scratch of the thread, and added to the rows at once; one thread at a time.
template <class T, class S, int BS, int Corners> struct LeafProduct {
  const int *begin, *i, *j, *pairs, *columns, *vertex, *row;
  const S   *pair, *column, *slot;
  const T   *a, *weight;
  T         *out;
  int        entries; // of the operator
  void       operator()(int l, double *scratch) const
  {
    constexpr int B2 = BS * BS, ahead = 16;
    const int     nc = columns[l + 1] - columns[l];
    double *const ap = scratch, *const E = scratch + B2 * nc;
    const S *const around = column + (ptrdiff_t)Corners * pairs[l];
    std::fill(E, E + (ptrdiff_t)Corners * B2 * nc, 0.);
    for (int p = begin[l]; p < begin[l + 1]; ++p) {
      std::fill(ap, ap + B2 * nc, 0.);
      for (int e = i[p]; e < i[p + 1]; ++e) {
        const S *const to = around + Corners * pair[e];
        const T *const w  = weight + (ptrdiff_t)Corners * j[e];
        const T *const v  = a + (ptrdiff_t)B2 * e;
        if (e + ahead < entries) __builtin_prefetch(weight + (ptrdiff_t)Corners * j[e + ahead]); // a quarter of the time otherwise
        for (int c = 0; c < Corners; ++c)
          for (int b = 0; b < B2; ++b) ap[B2 * to[c] + b] += (double)v[b] * w[c];
      }
      int    corner[Corners], rows = 0;
      double w[Corners];
      for (int c = 0; c < Corners; ++c)
        if (weight[(ptrdiff_t)Corners * p + c] != 0) {
          corner[rows] = c;
          w[rows++]    = weight[(ptrdiff_t)Corners * p + c];
        }
      int r = 0;
      for (; r + 4 <= rows; r += 4) { // as many as a bilinear function or a simplex has
        const double w0 = w[r], w1 = w[r + 1], w2 = w[r + 2], w3 = w[r + 3];
        double *const e0 = E + (ptrdiff_t)corner[r] * B2 * nc, *const e1 = E + (ptrdiff_t)corner[r + 1] * B2 * nc, *const e2 = E + (ptrdiff_t)corner[r + 2] * B2 * nc, *const e3 = E + (ptrdiff_t)corner[r + 3] * B2 * nc;
#pragma GCC ivdep
        for (int k = 0; k < B2 * nc; ++k) {
          const double x = ap[k];
          e0[k] += w0 * x;
          e1[k] += w1 * x;
          e2[k] += w2 * x;
          e3[k] += w3 * x;
        }
      }
      for (; r < rows; ++r) {
        double *const to = E + (ptrdiff_t)corner[r] * B2 * nc;
#pragma GCC ivdep
        for (int k = 0; k < B2 * nc; ++k) to[k] += w[r] * ap[k];
      }
    }
    for (int c = 0; c < Corners; ++c) {
      const int v = vertex[(ptrdiff_t)Corners * l + c];
      if (v < 0) continue;
      const S *const      s    = slot + (ptrdiff_t)Corners * columns[l] + c * nc;
      const double *const from = E + (ptrdiff_t)c * B2 * nc;
      T *const            to   = out + (ptrdiff_t)B2 * row[v];
      for (int k = 0; k < nc; ++k)
        if (s[k] != no_slot<S>)
          for (int b = 0; b < B2; ++b) to[B2 * s[k] + b] += (T)from[B2 * k + b];
    }
  }
};

// The same on the device: `lanes` threads take a leaf, a thread a column of E, and E goes to memory of its own. Each thread looks at all
// entries of the leaf for those of its column: all read the same place at a time, and nothing is shared or waited for.
template <class T, class S, int BS, int Corners> struct LeafProductBlock {
  const int *begin, *i, *j, *pairs, *columns;
  const S   *pair, *column;
  const T   *a, *weight;
  int        leaves, lanes, group; // leaves of a block
  T         *parts;
  template <class Block> HD void operator()(Block &block) const
  {
    block.each(0, group * lanes, 0, 1, [&](int t, int) {
      const int l = block.tile.y0 * group + t / lanes;
      if (l < leaves && begin[l] < begin[l + 1])
        for (int k = t % lanes; k < BS * BS * (columns[l + 1] - columns[l]); k += lanes) entry(l, k);
    });
  }
  // Entry k % BS^2 of the blocks in column k / BS^2
  HD void entry(int l, int k) const
  {
    constexpr int B2 = BS * BS;
    const int     mine = k / B2, b = k % B2, width = B2 * (columns[l + 1] - columns[l]);
    const S      *around = column + (ptrdiff_t)Corners * pairs[l];
    double        E[Corners] = {};
    for (int p = begin[l]; p < begin[l + 1]; ++p) {
      double ap = 0;
      for (int e = i[p]; e < i[p + 1]; ++e) {
        const S *const to = around + Corners * pair[e];
        const T *const w  = weight + (ptrdiff_t)Corners * j[e];
        const double   v  = a[(ptrdiff_t)B2 * e + b];
        for (int c = 0; c < Corners; ++c) ap += to[c] == mine ? v * w[c] : 0;
      }
      for (int c = 0; c < Corners; ++c) E[c] += (double)weight[(ptrdiff_t)Corners * p + c] * ap;
    }
    T *const out = parts + (ptrdiff_t)Corners * B2 * columns[l];
    for (int c = 0; c < Corners; ++c) out[(ptrdiff_t)c * width + k] = (T)E[c];
  }
};
template <class T, class S> struct SumParts {
  const int            *first, *place, *begin, *columns, *row;
  const S *slot;
  const T              *parts;
  int                   corners, b2;
  T                    *out;
  HD void               operator()(int v) const
  {
    for (int p = first[v]; p < first[v + 1]; ++p) {
      const int l = place[p] / corners, c = place[p] % corners, nc = columns[l + 1] - columns[l];
      if (begin[l] == begin[l + 1]) continue;
      const S *s    = slot + (ptrdiff_t)corners * columns[l] + c * nc;
      const T              *from = parts + (ptrdiff_t)b2 * (corners * (ptrdiff_t)columns[l] + (ptrdiff_t)c * nc);
      T                    *to   = out + (ptrdiff_t)b2 * row[v];
      for (int k = 0; k < nc; ++k)
        if (s[k] != no_slot<S>)
          for (int b = 0; b < b2; ++b) to[b2 * s[k] + b] += from[b2 * k + b];
    }
  }
};

} // namespace

template <class T> void Hierarchy<T>::product(Level<T> &fine, Level<T> &coarse)
{
  coarse.a.zero();
  const int    cells = fine.cells, corners = fine.corners, b2 = params_.bs * params_.bs;
  const auto multiply = [&](const auto &lists, auto bs) {
    using S = std::remove_const_t<std::remove_pointer_t<decltype(lists.pair.data())>>;
    if (exec_.space == Space::host) {
      std::vector<double> scratch((size_t)b2 * (size_t)fine.widest * (size_t)(corners + 1));
      with_corners(corners, [&](auto c) {
        const LeafProduct<T, S, bs.value, c.value> kernel{fine.begin.data(), fine.i.data(), fine.j.data(), fine.pairs.data(), fine.columns.data(), fine.vertex.data(), coarse.i.data(), lists.pair.data(), lists.column.data(), lists.slot.data(), fine.a.data(), fine.weight.data(), coarse.a.data(), (int)fine.j.size()};
        for (int l = 0; l < cells; ++l)
          if (fine.begin.data()[l] < fine.begin.data()[l + 1]) kernel(l, scratch.data());
      });
      return;
    }
    const size_t entries = fine.parts * (size_t)(corners * b2);
    if (parts_.size() < entries) parts_ = make<T>(entries);
    constexpr int threads = 128;
    const int     lanes = b2 == 1 && corners < 8 ? 16 : 32, group = threads / lanes;
    with_corners(corners, [&](auto c) {
      forall_blocks(exec_, (cells + group - 1) / group, threads, 0, LeafProductBlock<T, S, bs.value, c.value>{fine.begin.data(), fine.i.data(), fine.j.data(), fine.pairs.data(), fine.columns.data(), lists.pair.data(), lists.column.data(), fine.a.data(), fine.weight.data(), cells, lanes, group, parts_.data()});
    });
    for_each(exec_, coarse.n, SumParts<T, S>{fine.first.data(), fine.place.data(), fine.begin.data(), fine.columns.data(), coarse.i.data(), lists.slot.data(), parts_.data(), corners, b2, coarse.a.data()});
  };
  with_block(params_.bs, [&](auto bs) { fine.with_lists([&](const auto &lists) { multiply(lists, bs); }); });
  if (fine.distributed) sum_processes(coarse.a);
}

template void Hierarchy<double>::product(Level<double> &, Level<double> &);
template void Hierarchy<float>::product(Level<float> &, Level<float> &);

} // namespace tessera::auxamg
