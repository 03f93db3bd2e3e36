// The numbers of P'AP, in one pass over the leaves; pattern.k.cxx says what the lists are.
#include "tree/hierarchy.hpp"
#include "tree/dispatch.hpp"
#include "exec/each.hpp"
#include "exec/pack.hpp"
#include "exec/tile.hpp"
#include <algorithm>

namespace tessera::tree {

namespace {

// E of leaves on the device: a block takes `group` leaves and nodes of theirs as far as there is room. First a thread
// makes a row of A P of a node, in the columns of its leaf, then one a column of E. Only a leaf of its own is so wide
// that it is done by ranges of columns. Per entry of the operator its value, column, place and the 2^d weights at its
// column; per node and column of its leaf a number of scratch.
template <class T, class S, int BS, int Corners> struct LeafProductBlock {
  static constexpr int B2 = BS * BS;
  const int *begin, *i, *j, *leaf, *pairs, *columns;
  const S   *pair, *column;
  const T   *a, *weight;
  int        leaves, group, room; // a power of two; numbers
  T         *parts;
  template <class Block> HD void operator()(Block &block) const
  {
    const int l0 = block.tile.y0 * group, l1 = l0 + group < leaves ? l0 + group : leaves;
    int       widest = 0;
    for (int l = l0; l < l1; ++l) widest = columns[l + 1] - columns[l] > widest ? columns[l + 1] - columns[l] : widest;
    if (!widest) return; // no nodes of this process
    const int width = widest < room / B2 ? widest : room / B2, nodes = room / (B2 * width);
    for (int k = 0; k < widest; k += width)
      for (int p = begin[l0]; p < begin[l1]; p += nodes)
        part(block, l0, l1, width, p, p + nodes < begin[l1] ? p + nodes : begin[l1], k);
  }
  // Nodes [p0, p1) and, of each leaf, the columns [k0, k0 + width)
  template <class Block> HD void part(Block &block, int l0, int l1, int width, int p0, int p1, int k0) const
  {
    T *const  ap = (T *)block.shared;
    const int first = columns[l0] + k0, last = group > 1 || columns[l1] < first + width ? columns[l1] : first + width;
    block.each(0, B2 * width * (p1 - p0), 0, 1, [&](int k, int) { ap[k] = 0; });
    block.sync();
    block.each(0, B2 * (p1 - p0), 0, 1, [&](int item, int) {
      multiply(p0 + item / B2, item % B2, ap + item / B2 * (B2 * width) + item % B2, k0, width);
    });
    block.sync();
    block.each(0, B2 * (last - first), 0, 1, [&](int item, int) {
      const int k = first + item / B2, b = item % B2;
      int       l = l0;
      for (int step = group / 2; step; step /= 2)
        if (l + step < l1 && columns[l + step] <= k) l += step;
      const int from = begin[l] > p0 ? begin[l] : p0, until = begin[l + 1] < p1 ? begin[l + 1] : p1,
                nc             = columns[l + 1] - columns[l];
      const T      *mine = ap + B2 * (width * (from - p0) + k - columns[l] - k0) + b;
      double        E[Corners] = {};
      if (from >= until) return;
      for (int p = from; p < until; ++p, mine += B2 * width) {
        const auto w = pack<Corners>(weight, p);
        for (int c = 0; c < Corners; ++c) E[c] += (double)w.v[c] * (double)*mine;
      }
      T *const out = parts + B2 * ((ptrdiff_t)Corners * columns[l] + k - columns[l]) + b;
      for (int c = 0; c < Corners; ++c) {
        T &to = out[(ptrdiff_t)B2 * c * nc];
        to    = (T)((from > begin[l] ? (double)to : 0) + E[c]);
      }
    });
    block.sync();
  }
  // Entry b of the blocks of row p of A P. What several entries need is fetched at once, as nothing else hides its
  // latency.
  HD void multiply(int p, int b, T *ap, int k0, int width) const
  {
    constexpr int at_once = Corners > 4 ? 2 : 4;
    const S *const around = column + (ptrdiff_t)Corners * pairs[leaf[p]];
    for (int e = i[p]; e < i[p + 1]; e += at_once) {
      Pack<T, Corners> w[at_once];
      Pack<S, Corners> to[at_once];
      T                v[at_once];
      for (int m = 0; m < at_once; ++m) {
        const int f = e + m < i[p + 1] ? e + m : e;
        v[m]  = e + m < i[p + 1] ? a[(ptrdiff_t)B2 * f + b] : 0;
        to[m] = pack<Corners>(around, pair[f]);
        w[m]  = pack<Corners>(weight, j[f]);
      }
      for (int m = 0; m < at_once; ++m)
        for (int c = 0; c < Corners; ++c) {
          const int k = to[m].v[c] - k0;
          if (w[m].v[c] != 0 && k >= 0 && k < width) ap[B2 * k] += v[m] * w[m].v[c];
        }
    }
  }
};

// The rows of the operator: `lanes` threads take one, leaf after leaf. Columns of a leaf go to different places.
template <class T, class S, int BS> struct SumParts {
  static constexpr int B2 = BS * BS, lanes = 16;
  const int *first, *place, *begin, *columns, *row;
  const S   *slot;
  const T   *parts;
  int        corners, n, group; // rows of a block
  T         *out;
  template <class Block> HD void operator()(Block &block) const
  {
    const int v0 = block.tile.y0 * group, v1 = v0 + group < n ? v0 + group : n;
    int       longest = 0;
    for (int v = v0; v < v1; ++v) longest = first[v + 1] - first[v] > longest ? first[v + 1] - first[v] : longest;
    for (int q = 0; q < longest; ++q) {
      block.each(0, lanes * (v1 - v0), 0, 1, [&](int t, int) {
        const int v = v0 + t / lanes, p = first[v] + q;
        if (p >= first[v + 1]) return;
        const int l = place[p] / corners, c = place[p] % corners, nc = columns[l + 1] - columns[l];
        if (begin[l] == begin[l + 1]) return;
        const S *const s    = slot + (ptrdiff_t)corners * columns[l] + c * nc;
        const T *const from = parts + B2 * ((ptrdiff_t)corners * columns[l] + (ptrdiff_t)c * nc);
        T *const       to   = out + (ptrdiff_t)B2 * row[v];
        for (int k = t % lanes; k < B2 * nc; k += lanes)
          if (s[k / B2] != no_slot<S>) to[B2 * s[k / B2] + k % B2] += from[k];
      });
      block.sync();
    }
  }
};

} // namespace

template <class T> void NumericSetup<T>::product(Level<T> &fine, Level<T> &coarse)
{
  coarse.a.zero();
  const int    cells = fine.transfer.cells, corners = fine.transfer.corners, b2 = params_.bs * params_.bs;
  // What all processes have they share on the host, where it takes most of the time; a device would have to fetch and
  // put back the sums.
  const bool in_blocks = strategy_->product_in_blocks;
  int        processes = 1, rank = 0;
  if (!in_blocks) {
    MPI_Comm_size(comm_, &processes);
    MPI_Comm_rank(comm_, &rank);
  }
  const bool shared = processes > 1 && !fine.distributed;
  const int  l0       = shared ? (int)((long)cells * rank / processes) : 0,
            l1        = shared ? (int)((long)cells * (rank + 1) / processes) : cells;
  const auto multiply = [&](const auto &lists, auto bs) {
    using S = std::remove_const_t<std::remove_pointer_t<decltype(lists.pair.data())>>;
    const size_t entries = fine.product.parts * (size_t)(corners * b2);
    if (parts_.size() < entries) parts_ = make_unset<T>(entries);
    // A thread a node in the mean, and the room that its leaves need in the mean and a half more; a wide leaf is
    // alone in its block.
    constexpr int b2 = bs.value * bs.value, threads = 64, max_group = 16, largest = 6144;
    const double  nodes = (double)fine.points / cells, wide = (double)fine.product.parts / cells;
    int           group = 1;
    while (b2 * fine.product.widest <= largest && group < max_group && group * nodes * b2 <= 0.75 * threads) group *= 2;
    const int room =
      (int)std::min<double>(largest, std::max<double>(b2 * fine.product.widest, 1.5 * group * nodes * wide * b2));
    with_corners(corners, [&](auto c) {
      forall_blocks(exec_, (cells + group - 1) / group, threads, (size_t)room * sizeof(T),
                    LeafProductBlock<T, S, bs.value, c.value>{
                      fine.transfer.begin.data(), fine.i.data(), fine.j.data(), fine.transfer.leaf.data(),
                      fine.product.pairs.data(), fine.product.columns.data(), lists.pair.data(), lists.column.data(),
                      fine.a.data(), fine.transfer.weight.data(), cells, group, room, parts_.data()});
    });
    const int rows = 128 / SumParts<T, S, bs.value>::lanes;
    forall_blocks(exec_, (coarse.rows + rows - 1) / rows, 128, 0,
                  SumParts<T, S, bs.value>{fine.transfer.first.data(), fine.transfer.place.data(),
                                           fine.transfer.begin.data(), fine.product.columns.data(), coarse.i.data(),
                                           lists.slot.data(), parts_.data(), corners, coarse.rows, rows,
                                           coarse.a.data()});
  };
  if (!in_blocks) product_on_host(params_.bs, fine, l0, l1, coarse);
  else if constexpr (device::built)
    with_block(params_.bs, [&](auto bs) { fine.product.with_lists([&](const auto &lists) { multiply(lists, bs); }); });
  if (coarse.distributed) {
    coarse.entries.add_back(coarse.a.data(), b2);
    coarse.entries.release(); // as large as the rows of others, and used once a setup
  } else if (fine.distributed || shared)
    multigrid::sum_processes(comm_, exec_.space, coarse.a.data(), coarse.a.size(), coarsest_.message);
}

template void NumericSetup<double>::product(Level<double> &, Level<double> &);
template void NumericSetup<float>::product(Level<float> &, Level<float> &);

} // namespace tessera::tree
