// Ghosts of grids of one to three dimensions against index arithmetic: on process grids of every shape, odd sizes,
// periodic directions, and grids of fewer nodes than ghosts.
// ranks: 1 2 3 4
#include "box/grid3.hpp"
#include "dense.hpp"
#include "unit.hpp"

using namespace tessera;
using namespace tessera::box;

static Space space() { return unit_cuda() ? Space::cuda : Space::host; }

static const int shapes[][3] = {{13, 1, 1}, {16, 9, 1}, {7, 12, 1}, {9, 10, 11}, {4, 5, 6}, {16, 2, 3}, {3, 3, 16}};

// The box of process r where the processes are divided among the directions as `parts` says; empty for none.
static Box3 box_of(int r, const int n[3], const int parts[3])
{
  Box3 b;
  for (int d = 0, k = r; d < 3; k /= parts[d], ++d) {
    b.lo[d] = (int)((long)n[d] * (k % parts[d]) / parts[d]);
    b.hi[d] = (int)((long)n[d] * (k % parts[d] + 1) / parts[d]);
  }
  return b;
}

template <class F> static void for_grids(const F &f)
{
  const int p = ranks();
  int       rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (const auto &n : shapes)
    for (int px = 1; px <= p; ++px)
      for (int py = 1; py <= p / px; ++py)
        for (int axes = 0; axes < 8; ++axes) {
          const int parts[3] = {px, py, p / px / py}, dimension = n[2] > 1 ? 3 : n[1] > 1 ? 2 : 1;
          if (px * py * parts[2] != p || parts[0] > n[0] || parts[1] > n[1] || parts[2] > n[2]) continue;
          if (axes >> dimension) continue;
          Grid3 g;
          for (int d = 0; d < 3; ++d) g.n[d] = n[d], g.periodic[d] = axes >> d & 1;
          g.own    = box_of(rank, n, parts);
          g.layout = layout_for(g.own, dimension);
          SCOPED_TRACE(testing::Message() << n[0] << " x " << n[1] << " x " << n[2] << " on " << px << " x " << py << " x " << parts[2] << " processes, periodic " << axes);
          f(g, dimension, parts);
          if (testing::Test::HasFailure()) return;
        }
}

// On devices also directly, three times, as messages have two places.
template <class T, class Value> static void exchange(int fields, bool directly, const Value &value)
{
  for_grids([&](Grid3 &g, int dimension, const int parts[3]) {
    std::vector<Box3> have, need;
    int               periods[3];
    for (int r = 0; r < ranks(); ++r) {
      have.push_back(box_of(r, g.n, parts));
      need.push_back(wanted(g, have.back(), dimension));
    }
    for (int d = 0; d < 3; ++d) periods[d] = g.periodic[d] ? g.n[d] : 0;
    g.halo.setup(Comm(MPI_COMM_WORLD), have, need, periods, g.layout, space());
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::vector<Buffer<T>> data(fields);
    std::vector<T *>       fields_of;
    for (int f = 0; f < fields; ++f) {
      Buffer<T> host(g.layout.size());
      std::fill_n(host.data(), host.size(), (T)251); // no value of a node
      for (int k = g.own.lo[2]; k < g.own.hi[2]; ++k)
        for (int j = g.own.lo[1]; j < g.own.hi[1]; ++j)
          for (int i = g.own.lo[0]; i < g.own.hi[0]; ++i) host.data()[g.layout.at(i, j, k)] = value(f, i, j, k);
      data[f].resize({host.size(), space()});
      copy(host, data[f]);
      fields_of.push_back(data[f].data());
    }
    std::shared_ptr<Peers> peers;
    if (directly) peers = Peers::open({space()}, MPI_COMM_WORLD, g.halo.direct_bytes());
    if (peers) g.halo.join(peers);
    for (int time = 0; time < (directly ? 3 : 1); ++time) {
      if constexpr (std::is_same_v<T, uint8_t>) g.halo.exchange(fields_of[0]);
      else g.halo.exchange(fields_of.data(), fields);
    }
    const Box3 around = need[rank];
    for (int f = 0; f < fields; ++f) {
      Buffer<T> host(g.layout.size());
      copy(data[f], host);
      const auto wrap = [&](int d, int i) { return (i + g.n[d]) % g.n[d]; };
      for (int k = around.lo[2]; k < around.hi[2]; ++k)
        for (int j = around.lo[1]; j < around.hi[1]; ++j)
          for (int i = around.lo[0]; i < around.hi[0]; ++i)
            ASSERT_EQ(host.data()[g.layout.at(i, j, k)], value(f, wrap(0, i), wrap(1, j), wrap(2, k))) << "field " << f << ", node " << i << ", " << j << ", " << k;
    }
  });
}

TEST(Halo3, GhostsOfSeveralFields)
{
  for (bool directly : {false, true})
    for (int fields : {1, 3})
      exchange<double>(fields, directly && unit_cuda(), [](int f, int i, int j, int k) { return 1000. * f + i + 17 * j + 290 * k; });
}

TEST(Halo3, GhostsOfFlags)
{
  for (bool directly : {false, true})
    exchange<uint8_t>(1, directly && unit_cuda(), [](int, int i, int j, int k) { return (uint8_t)((i + 3 * j + 7 * k) % 250); });
}
