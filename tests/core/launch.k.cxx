// Every way to run kernels visits each place once, on boxes that no launch of one block after the other along y could hold: a row of
// ten million places, a column of ten million, a strip five wide. On the emulated device a launch that a GPU would refuse is an error.
// Beside that, sums of counts that an int does not hold are refused.
#include "exec/reservation.hpp"
#include "exec/sort.hpp"
#include "exec/tile.hpp"
#include "box/warp.hpp"
#include "unit.hpp"
#include <climits>
#include <stdexcept>

using namespace tessera;

namespace {

struct Visit {
  unsigned char *count;
  Box            box;
  HD void        add(int i, int j) const { ++count[(i - box.x0) + (ptrdiff_t)(j - box.y0) * (box.x1 - box.x0)]; }
  HD void        operator()(int i, int j) const { add(i, j); }
};

struct One {
  Visit     visit;
  HD double operator()(int i, int j) const
  {
    visit.add(i, j);
    return 1;
  }
};

struct Largest {
  long    v = 0;
  HD void join(const Largest &o) { v = o.v > v ? o.v : v; }
};
struct Far {
  Visit   visit;
  HD void operator()(int i, int j, Largest &l) const
  {
    visit.add(i, j);
    l.join({(long)i + j});
  }
};

struct Tile {
  Visit visit;
  template <class Block> HD void operator()(Block &block) const
  {
    block.each(block.tile.x0, block.tile.x1, block.tile.y0, block.tile.y1, [&](int i, int j) { visit.add(i, j); });
  }
};

const Box boxes[] = {{3, 10000003, 2, 3}, {3, 4, -5, 9999995}, {-1, 4, 0, 1000000}, {0, 2000000, 7, 12}, {0, 33, 0, 9}, {0, 0, 0, 5}};

Exec exec() { return {unit_cuda() ? Space::cuda : Space::host, 2}; }

// All places of the box were visited `times` times by `run`.
template <class F> void visits(const Box &box, const char *how, const F &run, int times = 1)
{
  Buffer<unsigned char> count, host;
  const size_t          n = (size_t)box.size();
  count.resize({n ? n : 1, exec().space});
  run(Visit{count.data(), box});
  host.resize(n ? n : 1);
  copy(count, host);
  size_t wrong = 0;
  for (size_t i = 0; i < n; ++i) wrong += host.data()[i] != times;
  EXPECT_EQ(wrong, 0u) << how << ' ' << box.x1 - box.x0 << " x " << box.y1 - box.y0;
}

} // namespace

TEST(Launch, Boxes)
{
  for (const Box &b : boxes) {
    visits(b, "forall", [&](Visit v) { forall(exec(), b, v); });
    visits(b, "forall_parts", [&](Visit v) { forall_parts(exec(), part(b, v), part(Box{0, 0, 0, 0}, v)); });
    visits(b, "forall_strip", [&](Visit v) { forall_strip(exec(), b, 4, 1, Tile{v}); });
    visits(b, "forall_sum", [&](Visit v) { EXPECT_EQ(forall_sum(exec(), b, One{v}), (double)b.size()); });
    if (!b.empty()) visits(b, "forall_join", [&](Visit v) {
      Buffer<Largest> found, seen;
      found.resize({1, exec().space});
      seen.resize(1);
      forall_join(exec(), b, Far{v}, found.data());
      copy(found, seen);
      EXPECT_EQ(seen.data()->v, (long)b.x1 + b.y1 - 2);
    });
  }
}

TEST(Launch, Rows)
{
  const Box row = boxes[0], column{0, 1, 0, 300000};
  visits({row.x0, row.x1, 0, 1}, "forall_columns", [&](Visit v) { forall_columns(exec(), row.x0, row.x1, Tile{v}); });
  visits(column, "forall_blocks", [&](Visit v) { forall_blocks(exec(), column.y1, 32, 0, Tile{v}); });
}

#if defined(TESSERA_HAVE_DEVICE)
namespace {

// The own part of a strip, counted row by row.
struct Marched {
  static constexpr int blocks = 3;
  Visit                visit;
  double              *total;
  MARCH double         operator()(Warp w, const March &m, int strip, int chunk) const
  {
    const Strip<2> s = m.strip<2>(w, strip, 4, m.box);
    double         n = 0;
    for (int y = m.first(chunk); y < m.end(chunk); ++y) {
      for_lanes(w, [&](int l) {
        for (int i = 0; i < 2; ++i) {
          const int x = s.x + 2 * l + i;
          if (x >= s.from && x < s.to && x < m.box.x1) visit.add(x, y), ++n;
        }
      });
    }
    return n;
  }
  MARCH void finish(double sum) const { *total = sum; }
};

struct Celled {
  Visit        visit;
  double      *total;
  MARCH double operator()(int i, int j) const
  {
    visit.add(i, j);
    return 1;
  }
  MARCH void finish(double sum) const { *total = sum; }
};

} // namespace

TEST(Launch, Marching)
{
  if (!unit_cuda()) return;
  for (const Box &b : boxes) {
    if (b.empty()) continue;
    Reduction      reduction;
    Buffer<double> total, host;
    total.resize({1, Space::cuda});
    host.resize(1);
    reduction.create(max_blocks(b));
    visits(b, "forall_warps", [&](Visit v) { forall_warps(b, 2 * lanes - 8, Marched{v, total.data()}); });
    visits(b, "forall_warps with a sum", [&](Visit v) { forall_warps(b, 2 * lanes - 8, Marched{v, total.data()}, reduction); });
    copy(total, host);
    EXPECT_EQ(*host.data(), (double)b.size());
    visits(b, "forall_cells", [&](Visit v) { forall_cells(b, Celled{v, total.data()}, reduction); });
    copy(total, host);
    EXPECT_EQ(*host.data(), (double)b.size());
  }
}
#endif

#ifdef TESSERA_HAVE_CUDA
TEST(Memory, WhatIsApartIsNoPartOfWhatIsExpected)
{
  if (!unit_cuda()) return;
  constexpr size_t all = (size_t)1 << 26, one = (size_t)1 << 20;
  device::Reservation expected;
  expected.bytes(all);
  Buffer<char> first(Extent{one, Space::cuda}), apart;
  {
    const device::OutsideReservation a;
    apart.resize(Extent{one, Space::cuda});
  }
  Buffer<char> second(Extent{one, Space::cuda});
  EXPECT_EQ(second.data(), first.data() + one);
  EXPECT_TRUE(apart.data() < first.data() || apart.data() >= first.data() + all);
}
#endif

TEST(Sort, SumsBeyondAnIntAreRefused)
{
  const auto sum_of = [](std::vector<int> counts) {
    Buffer<int> there(Extent{counts.size() + 1, exec().space}); // a place for the sum of all
    copy(counts.data(), Space::host, there.data(), exec().space, counts.size());
    return scan(exec(), (int)counts.size(), there);
  };
  EXPECT_EQ(sum_of({1 << 30, (1 << 30) - 1}), INT_MAX);
  EXPECT_THROW(sum_of({1 << 30, 1 << 30}), std::length_error);
  EXPECT_THROW(sum_of({1 << 30, 1 << 30, 1 << 30}), std::length_error);
}
