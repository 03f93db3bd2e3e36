// The pattern of P'AP on a device: blocks of threads make the lists of some leaves or rows in tables, as
// pattern_kernels.hpp says.
#include "tree/setup.hpp"
#include "tree/pattern_kernels.hpp"
#include "exec/each.hpp"
#include <algorithm>
#include <stdexcept>

namespace tessera::tree {

template <class T>
Failure::Kind GalerkinSetup<T>::pattern_on_device(Level<T> &fine, const Buffer<int> &leaf, Level<T> &coarse, int around,
                                              int range, bool &long_rows)
{
  const int cells = fine.transfer.cells, corners = fine.transfer.corners, nodes = coarse.rows;
  const Buffer<unsigned char> bits = corner_bits(fine);
  Buffer<int> vertices; // of the columns
  // on all processes alike
  if (total(std::max(around, range) > 1 << Table::bits))
    throw std::length_error("PC auxamg: more than 2^29 cells or vertices of a grid on a device. Use larger cells "
                            "(-pc_auxamg_cell_size) or -pc_auxamg_backend host");
  const int      deep = corners > 4, group = deep ? 1 : 4, size = 160;
  int            shift = 0;
  Buffer<char>   tables;
  Buffer<int>    place = make_unset<int>(2 * (size_t)blocks_of(std::max(cells, nodes), group)), list;
  Buffer<unsigned short> column;
  Buffer<unsigned char>  rows, list_rows;
  while (1 << shift < corners) ++shift;
  LeafLists  leaves{fine.transfer.begin.data(),
                   fine.i.data(),
                   fine.j.data(),
                   leaf.data(),
                   fine.transfer.vertex.data(),
                   bits.data(),
                   shift,
                   cells,
                   around,
                   range,
                   group,
                   size,
                   fine.product.pairs.data(),
                   fine.product.columns.data(),
                   fine.product.wide.pair.data(),
                   nullptr,
                   nullptr,
                   nullptr,
                   place.data(),
                   nullptr,
                    {}};
  const auto grow_leaves = [&](int k, size_t n) {
    if (k == 0) tables.resize_unset(Extent{n * TableRoom::each_bytes, exec_.space});
    else if (k == 1) column = make_unset<unsigned short>(n << shift);
    else list = make_unset<int>(n), list_rows = make_unset<unsigned char>(n);
    leaves.taken.tables = tables.data();
    leaves.column       = column.data();
    leaves.vertices     = list.data();
    leaves.rows         = list_rows.data();
  };
  const auto begin_with = [&](auto &lists, int k, size_t n, const auto &grow) {
    grow(k, n);
    lists.taken.room[k] = n;
  };
  begin_with(leaves, 1, (size_t)cells * (deep ? 40 : 12) + 64, grow_leaves); // most meshes have less
  begin_with(leaves, 2, (size_t)cells * (deep ? 96 : 24) + 64, grow_leaves);
  const Buffer<unsigned long long> found = make_lists(exec_, cells, leaves, grow_leaves);
  if (total(found.data()[3] != 0)) return Failure::too_long;
  if (lost()) return Failure::lost;
  const size_t pairs = (size_t)found.data()[1], columns = (size_t)found.data()[2];
  sum_up(exec_, cells, fine.product.pairs);
  sum_up(exec_, cells, fine.product.columns);
  rows             = make_unset<unsigned char>(columns);
  vertices         = make_unset<int>(columns);
  fine.product.parts       = columns;
  fine.product.wide.column = make_unset<unsigned short>(pairs << shift);
  fine.product.wide.slot   = make<unsigned short>(columns << shift);
  forall_warps(exec_, blocks_of(cells, group), 0,
               GatherLeaves{fine.product.pairs.data(), fine.product.columns.data(), place.data(), shift, cells, group,
                            column.data(), list.data(), list_rows.data(), fine.product.wide.column.data(),
                            vertices.data(), rows.data()});
  incidences(fine, nodes);
  RowLists   all{fine.transfer.first.data(),
               fine.transfer.place.data(),
               fine.product.columns.data(),
               vertices.data(),
               rows.data(),
               shift,
               nodes,
               range,
               group,
               size,
               coarse.i.data(),
               nullptr,
               fine.product.wide.slot.data(),
               place.data(),
               nullptr,
                 {}};
  const auto grow_rows = [&](int k, size_t n) {
    if (k == 0) tables.resize_unset(Extent{n * TableRoom::each_bytes, exec_.space});
    else list = make_unset<int>(n);
    all.taken.tables = tables.data();
    all.j            = list.data();
  };
  begin_with(all, 1, (size_t)nodes * (deep ? 80 : 32) + 64, grow_rows);
  const Buffer<unsigned long long> taken = make_lists(exec_, nodes, all, grow_rows);
  if (lost()) return Failure::lost;
  coarse.j  = make_unset<int>((size_t)taken.data()[1]);
  long_rows = taken.data()[3] != 0;
  sum_up(exec_, nodes, coarse.i);
  forall_warps(exec_, blocks_of(nodes, group), 0,
               GatherRows{coarse.i.data(), place.data(), list.data(), nodes, group, coarse.j.data()});
  return Failure::none;
}

#define INSTANTIATE(T) \
  template Failure::Kind GalerkinSetup<T>::pattern_on_device(Level<T> &, const Buffer<int> &, Level<T> &, int, int, \
                                                          bool &);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
