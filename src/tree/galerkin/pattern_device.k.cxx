// The pattern of P'AP on a device: blocks of threads make the lists of some leaves or rows in tables, as
// pattern_kernels.hpp says.
#include "tree/setup.hpp"
#include "tree/galerkin/pattern_kernels.hpp"
#include "exec/each.hpp"
#include <algorithm>
#include <stdexcept>

namespace tessera::tree {

namespace {

constexpr int table_size = 160; // numbers of a block's own table

// 2^shift_of() corners
int shift_of(int corners)
{
  int shift = 0;
  while (1 << shift < corners) ++shift;
  return shift;
}
bool is_deep(int corners) { return corners > 4; } // a leaf in space
// items of a block
int group_of(int corners) { return is_deep(corners) ? 1 : 4; }

} // namespace

// The leaves' pairs and columns.
template <class T>
Failure::Kind GalerkinSetup<T>::leaves_on_device(Level<T> &fine, const Buffer<int> &leaf, int around, int range,
                                                 ListMemory &memory)
{
  const int cells = fine.transfer.cells, corners = fine.transfer.corners;
  const int shift = shift_of(corners), group = group_of(corners);
  LeafLists leaves{fine.transfer.begin.data(),
                   fine.i.data(),
                   fine.j.data(),
                   leaf.data(),
                   fine.transfer.vertex.data(),
                   memory.bits.data(),
                   shift,
                   cells,
                   around,
                   range,
                   group,
                   table_size,
                   fine.product.pairs.data(),
                   fine.product.columns.data(),
                   fine.product.wide.pair.data(),
                   nullptr,
                   nullptr,
                   nullptr,
                   memory.place.data(),
                   nullptr,
                   {}};
  const auto grow = [&](int k, size_t n) {
    if (k == 0) memory.tables.resize_unset(Extent{n * TableRoom::each_bytes, exec_.space});
    else if (k == 1) memory.column = make_unset<unsigned short>(n << shift);
    else memory.list = make_unset<int>(n), memory.list_rows = make_unset<unsigned char>(n);
    leaves.taken.tables = memory.tables.data();
    leaves.column       = memory.column.data();
    leaves.vertices     = memory.list.data();
    leaves.rows         = memory.list_rows.data();
  };
  give_room(leaves, 1, (size_t)cells * (is_deep(corners) ? 40 : 12) + 64, grow); // most meshes have less
  give_room(leaves, 2, (size_t)cells * (is_deep(corners) ? 96 : 24) + 64, grow);
  const Buffer<unsigned long long> used = make_lists(exec_, cells, leaves, grow);
  if (total(used.data()[3] != 0)) return Failure::too_long;
  if (lost()) return Failure::lost;
  const size_t pairs = (size_t)used.data()[1], columns = (size_t)used.data()[2];
  sum_up(exec_, cells, fine.product.pairs);
  sum_up(exec_, cells, fine.product.columns);
  memory.rows              = make_unset<unsigned char>(columns);
  memory.vertices          = make_unset<int>(columns);
  fine.product.parts       = columns;
  fine.product.wide.column = make_unset<unsigned short>(pairs << shift);
  fine.product.wide.slot   = make<unsigned short>(columns << shift);
  forall_warps(exec_, blocks_of(cells, group), 0,
               GatherLeaves{fine.product.pairs.data(), fine.product.columns.data(), memory.place.data(), shift, cells,
                            group, memory.column.data(), memory.list.data(), memory.list_rows.data(),
                            fine.product.wide.column.data(), memory.vertices.data(), memory.rows.data()});
  return Failure::none;
}

// The rows of the coarse operator.
template <class T>
Failure::Kind GalerkinSetup<T>::rows_on_device(Level<T> &fine, Level<T> &coarse, int range, ListMemory &memory,
                                               bool &long_rows)
{
  const int corners = fine.transfer.corners, nodes = coarse.rows, group = group_of(corners);
  RowLists  rows{fine.transfer.first.data(),
                 fine.transfer.place.data(),
                 fine.product.columns.data(),
                 memory.vertices.data(),
                 memory.rows.data(),
                 shift_of(corners),
                 nodes,
                 range,
                 group,
                 table_size,
                 coarse.i.data(),
                 nullptr,
                 fine.product.wide.slot.data(),
                 memory.place.data(),
                 nullptr,
                 {}};
  const auto grow = [&](int k, size_t n) {
    if (k == 0) memory.tables.resize_unset(Extent{n * TableRoom::each_bytes, exec_.space});
    else memory.list = make_unset<int>(n);
    rows.taken.tables = memory.tables.data();
    rows.j            = memory.list.data();
  };
  give_room(rows, 1, (size_t)nodes * (is_deep(corners) ? 80 : 32) + 64, grow);
  const Buffer<unsigned long long> used = make_lists(exec_, nodes, rows, grow);
  if (lost()) return Failure::lost;
  coarse.j  = make_unset<int>((size_t)used.data()[1]);
  long_rows = used.data()[3] != 0;
  sum_up(exec_, nodes, coarse.i);
  forall_warps(exec_, blocks_of(nodes, group), 0,
               GatherRows{coarse.i.data(), memory.place.data(), memory.list.data(), nodes, group, coarse.j.data()});
  return Failure::none;
}

template <class T>
Failure::Kind GalerkinSetup<T>::pattern_on_device(Level<T> &fine, const Buffer<int> &leaf, Level<T> &coarse, int around,
                                                  int range, bool &long_rows)
{
  const int  blocks = blocks_of(std::max(fine.transfer.cells, coarse.rows), group_of(fine.transfer.corners));
  ListMemory memory;
  memory.bits = fine.corner_bits();
  // on all processes alike
  if (total(std::max(around, range) > 1 << Table::bits))
    throw std::length_error("PC auxamg: more than 2^29 cells or vertices of a grid on a device. Use larger cells "
                            "(-pc_auxamg_cell_size) or -pc_auxamg_backend host");
  memory.place = make_unset<int>(2 * (size_t)blocks);
  if (const Failure::Kind kind = leaves_on_device(fine, leaf, around, range, memory)) return kind;
  incidences(fine, coarse.rows);
  return rows_on_device(fine, coarse, range, memory, long_rows);
}

#define INSTANTIATE(T) \
  template Failure::Kind GalerkinSetup<T>::pattern_on_device(Level<T> &, const Buffer<int> &, Level<T> &, int, int, \
                                                             bool &);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
