// The numbers of P'AP, in one pass over the leaves; pattern.k.cxx says what the lists are.
#include "auxamg/auxamg.hpp"
#include "auxamg/dispatch.hpp"
#include "core/each.hpp"
#include <algorithm>

namespace tessera::auxamg {

namespace {

// E of a leaf. On the host in scratch of the thread, and added to the rows at once; one thread at a time.
template <class T, class S, int BS> struct LeafProduct {
  const int            *begin, *i, *j, *pairs, *columns, *vertex, *row;
  const S              *pair, *column, *slot;
  const T              *a, *weight;
  int                   corners;
  T                    *out;
  void                  operator()(int l, double *scratch) const
  {
    constexpr int B2 = BS * BS;
    const int     nc = columns[l + 1] - columns[l];
    double *const ap = scratch, *const E = scratch + B2 * nc;
    std::fill(E, E + (ptrdiff_t)corners * B2 * nc, 0.);
    for (int p = begin[l]; p < begin[l + 1]; ++p) {
      std::fill(ap, ap + B2 * nc, 0.);
      for (int e = i[p]; e < i[p + 1]; ++e) {
        const S *to = column + (ptrdiff_t)corners * (pairs[l] + pair[e]);
        const T *const        w  = weight + (ptrdiff_t)corners * j[e];
        const T *const        v  = a + (ptrdiff_t)B2 * e;
        for (int c = 0; c < corners; ++c)
          for (int b = 0; b < B2; ++b) ap[B2 * to[c] + b] += (double)v[b] * w[c];
      }
      for (int c = 0; c < corners; ++c) {
        const double w = weight[(ptrdiff_t)corners * p + c];
        if (w == 0) continue;
        double *const to = E + (ptrdiff_t)c * B2 * nc;
        for (int k = 0; k < B2 * nc; ++k) to[k] += w * ap[k];
      }
    }
    for (int c = 0; c < corners; ++c) {
      const int v = vertex[(ptrdiff_t)corners * l + c];
      if (v < 0) continue;
      const S *s    = slot + (ptrdiff_t)corners * columns[l] + c * nc;
      const double *const   from = E + (ptrdiff_t)c * B2 * nc;
      T *const              to   = out + (ptrdiff_t)B2 * row[v];
      for (int k = 0; k < nc; ++k)
        if (s[k] != no_slot<S>)
          for (int b = 0; b < B2; ++b) to[B2 * s[k] + b] += (T)from[B2 * k + b];
    }
  }
};

// The same on the device: a block takes a leaf, a thread a node and then an entry of E, which goes to memory of its own.
template <class T, class S, int BS> struct LeafProductBlock {
  const int            *begin, *i, *j, *pairs, *columns;
  const S *pair, *column;
  const T              *a, *weight;
  int                   corners, capacity; // doubles of scratch
  T                    *parts;
  template <class Block> HD void operator()(Block &block) const
  {
    constexpr int B2 = BS * BS;
    const int     l = block.tile.y0, nc = columns[l + 1] - columns[l], width = B2 * nc, first = begin[l], last = begin[l + 1];
    if (first == last) return;
    const int     rows = capacity / width;
    double *const ap   = block.shared;
    T *const      E    = parts + (ptrdiff_t)corners * B2 * columns[l];
    for (int from = first; from < last; from += rows) {
      const int number = last - from < rows ? last - from : rows;
      block.each(0, number * width, 0, 1, [&](int k, int) { ap[k] = 0; });
      block.sync();
      block.each(0, number, 0, 1, [&](int r, int) {
        const int p = from + r;
        for (int e = i[p]; e < i[p + 1]; ++e) {
          const S *to = column + (ptrdiff_t)corners * (pairs[l] + pair[e]);
          for (int c = 0; c < corners; ++c) {
            const double w = weight[(ptrdiff_t)corners * j[e] + c];
            if (w != 0)
              for (int b = 0; b < B2; ++b) ap[r * width + B2 * to[c] + b] += w * a[(ptrdiff_t)B2 * e + b];
          }
        }
      });
      block.sync();
      block.each(0, corners * width, 0, 1, [&](int k, int) {
        double sum = from == first ? 0 : (double)E[k];
        for (int r = 0; r < number; ++r) sum += weight[(ptrdiff_t)corners * (from + r) + k / width] * ap[r * width + k % width];
        E[k] = (T)sum;
      });
      block.sync();
    }
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
  const size_t width = (size_t)b2 * (size_t)fine.widest;
  const auto multiply = [&](const auto &lists, auto bs) {
    using S = std::remove_const_t<std::remove_pointer_t<decltype(lists.pair.data())>>;
    if (exec_.space == Space::host) {
      const LeafProduct<T, S, bs.value> kernel{fine.begin.data(), fine.i.data(), fine.j.data(), fine.pairs.data(), fine.columns.data(), fine.vertex.data(), coarse.i.data(), lists.pair.data(), lists.column.data(), lists.slot.data(), fine.a.data(), fine.weight.data(), corners, coarse.a.data()};
      std::vector<double>            scratch(width * (size_t)(corners + 1));
      for (int l = 0; l < cells; ++l)
        if (fine.begin.data()[l] < fine.begin.data()[l + 1]) kernel(l, scratch.data());
      return;
    }
    const size_t entries = fine.parts * (size_t)(corners * b2);
    if (parts_.size() < entries) parts_ = make<T>(entries);
    // rows of eight nodes at once, if they fit
    const size_t bytes = std::min(std::max(width * 8, std::min(width * 64, (size_t)24 * 1024)), device::block_scratch());
    if (bytes < width * sizeof(double)) throw DeviceError("PC auxamg: a cell of nodes is coupled with so many others that a block of threads cannot hold a row of them. Use -pc_auxamg_backend host");
    forall_blocks(exec_, cells, 32, bytes, LeafProductBlock<T, S, bs.value>{fine.begin.data(), fine.i.data(), fine.j.data(), fine.pairs.data(), fine.columns.data(), lists.pair.data(), lists.column.data(), fine.a.data(), fine.weight.data(), corners, (int)(bytes / sizeof(double)), parts_.data()});
    for_each(exec_, coarse.n, SumParts<T, S>{fine.first.data(), fine.place.data(), fine.begin.data(), fine.columns.data(), coarse.i.data(), lists.slot.data(), parts_.data(), corners, b2, coarse.a.data()});
  };
  with_block(params_.bs, [&](auto bs) { fine.with_lists([&](const auto &lists) { multiply(lists, bs); }); });
  if (fine.distributed) sum_processes(coarse.a);
}

template void Hierarchy<double>::product(Level<double> &, Level<double> &);
template void Hierarchy<float>::product(Level<float> &, Level<float> &);

} // namespace tessera::auxamg
