// Exchange, fold and gathering against index arithmetic, on process grids of every shape: odd sizes, boxes of one node, empty
// boxes, periodic directions, where a ghost node may be the process's own.
// ranks: 1 2 3 4
#include "dense.hpp"
#include "unit.hpp"

using namespace tessera;

template <class F> static void for_grids(const F &f)
{
  const int sizes[][2] = {{13, 16}, {8, 8}, {5, 7}, {1, 9}, {9, 1}, {4, 2}, {2, 6}, {1, 1}, {31, 12}};
  const int p = ranks();
  for (auto &s : sizes)
    for (int px = 1; px <= p; ++px) {
      if (p % px) continue;
      for (int kx = 0; kx < 4; ++kx)
        for (int ky = 0; ky < 4; ++ky)
          for (int axes = 0; axes < 4; ++axes) {
            if ((px == 1 && kx) || (px == p && ky)) continue;
            Problem q{s[0], s[1]};
            q.periodic_x = axes & 1 && s[0] % 2 == 0;
            q.periodic_y = axes & 2 && s[1] % 2 == 0;
            if (q.periodic_x + 2 * q.periodic_y != axes) continue;
            const Grid g = grid_of(q, MPI_COMM_WORLD, split(q.nx, px, kx), split(q.ny, p / px, ky));
            SCOPED_TRACE(testing::Message() << q.nx << " x " << q.ny << " on " << px << " x " << p / px << " processes, borders " << kx << ky << ", periodic " << axes);
            f(q, g);
            if (testing::Test::HasFatalFailure()) return;
          }
    }
}

static Space space() { return unit_cuda() ? Space::cuda : Space::host; }

// f on the field where the halo's kernels run, with the values that it has here; and back.
template <class T, class F> static void there(const Layout &layout, Buffer<T> &data, const F &f)
{
  if (!unit_cuda()) return f(layout.template view<T>(data.data()));
  Buffer<T> device;
  device.resize({data.size(), Space::cuda});
  copy(data, device);
  f(layout.template view<T>(device.data()));
  copy(device, data);
}

static bool in_mask(int mask, int x, int y) { return mask >> ((x & 1) + 2 * (y & 1)) & 1; }

// Three layers also go directly from device to device; three times, as messages have two places.
template <class T> static void exchange(int layers)
{
  for_grids([layers](const Problem &p, const Grid &grid) {
    Grid g   = grid;
    g.layers = layers;
    const Box own = g.owned(), ghosts = Grid::ghosted(own, layers);
    for (bool natural : {false, true})
      for (int mask : layers > 1 ? std::vector<int>{15, 9} : std::vector<int>{15, 1, 2, 4, 8, 6, 9}) {
        const Layout  layout(g, natural);
        Buffer<T>     data(layout.elements(4));
        const View<T> v     = layout.template view<T>(data.data());
        auto          value = [&](int x, int y) { return (T)(1 + (x + y * p.nx) % 250); };
        const T       empty = 251;
        Halo          halo(g, space(), layers);
        if (unit_cuda() && layers > 1) {
          const std::shared_ptr<Peers> peers = Peers::open({Space::cuda}, g.comm, halo.peer_bytes());
          if (peers) halo.join(peers);
        }
        for (int time = 0; time < (layers > 1 ? 3 : 1); ++time) {
          if (!own.empty()) {
            for (int y = ghosts.y0; y < ghosts.y1; ++y)
              for (int x = ghosts.x0; x < ghosts.x1; ++x) v.at(x, y) = own.contains(x, y) ? value(x + time, y) : empty;
          }
          there(layout, data, [&](const View<T> &w) { halo.exchange(w, mask); });
          if (own.empty()) continue;
          int wrong = 0;
          for (int y = ghosts.y0; y < ghosts.y1; ++y)
            for (int x = ghosts.x0; x < ghosts.x1; ++x) {
              const bool known = own.contains(x, y) || (in_mask(mask, x, y) && p.inside(x, y));
              const int  xw = ((x % p.nx) + p.nx) % p.nx, yw = ((y % p.ny) + p.ny) % p.ny;
              wrong += v.at(x, y) != (known ? value(xw + time, yw) : empty);
            }
          EXPECT_EQ(wrong, 0) << "natural " << natural << ", mask " << mask << ", layers " << layers << ", time " << time;
        }
      }
  });
}

TEST(Halo, ExchangeDouble) { exchange<double>(1); }
TEST(Halo, ExchangeFloat) { exchange<float>(1); }
TEST(Halo, ExchangeBytes) { exchange<uint8_t>(1); }
TEST(Halo, ExchangeLayers)
{
  exchange<double>(3);
  exchange<float>(3);
}

TEST(Halo, Fold) // every owner gets the sum of what the ghost nodes of all processes hold
{
  for_grids([](const Problem &p, const Grid &g) {
    const Box own = g.owned(), ghosts = Grid::ghosted(own);
    auto      value = [&](int rank, int x, int y) { return (double)(int)(1000 * hash(rank, x, y)); };
    for (bool natural : {false, true})
      for (int mask : {15, 2, 7, 8}) {
        const Layout       layout(g, natural);
        Buffer<double>     data(layout.elements(4));
        const View<double> v = layout.view(data.data());
        Halo               halo(g, space());
        if (!own.empty())
          for (int y = ghosts.y0; y < ghosts.y1; ++y)
            for (int x = ghosts.x0; x < ghosts.x1; ++x) v.at(x, y) = value(g.rank, x, y);
        there(layout, data, [&](const View<double> &w) { halo.fold(w, mask); });
        if (own.empty()) continue;
        std::vector<double> expected((size_t)p.size());
        for (int r = 0; r < g.processes(); ++r) {
          const Box box = g.box(r), gh = Grid::ghosted(box);
          if (box.empty()) continue;
          for (int y = gh.y0; y < gh.y1; ++y)
            for (int x = gh.x0; x < gh.x1; ++x) {
              if (!p.inside(x, y) || (box.contains(x, y) ? r != g.rank : !in_mask(mask, x, y))) continue;
              expected[(size_t)((x % p.nx + p.nx) % p.nx + p.nx * ((y % p.ny + p.ny) % p.ny))] += value(r, x, y);
            }
        }
        int wrong = 0;
        for (int y = own.y0; y < own.y1; ++y)
          for (int x = own.x0; x < own.x1; ++x) wrong += v.at(x, y) != expected[(size_t)(x + p.nx * y)];
        EXPECT_EQ(wrong, 0) << "natural " << natural << ", mask " << mask;
      }
  });
}

static void gather_all(bool directly)
{
  for_grids([directly](const Problem &p, const Grid &g) {
    const Box own = g.owned();
    Gather    gather(g, space());
    if (directly) {
      const std::shared_ptr<Peers> peers = Peers::open({Space::cuda}, g.comm, gather.peer_bytes());
      if (peers) gather.join(peers);
    }
    Buffer<double> local((size_t)own.size() + 1), global((size_t)p.size() + 1);
    for (int y = own.y0; y < own.y1; ++y)
      for (int x = own.x0; x < own.x1; ++x) local.data()[(x - own.x0) + (y - own.y0) * (own.x1 - own.x0)] = x + 100 * y;
    const double *all = global.data();
    if (unit_cuda()) {
      device::copy_from_host(gather.local(), local.data(), local.bytes());
      device::copy_to_host(global.data(), gather.global(), global.bytes());
    } else {
      std::copy(local.data(), local.data() + own.size(), gather.local());
      all = gather.global();
    }
    int           seen = 0, wrong = 0;
    for (int r = 0; r < g.processes(); ++r) {
      const Box     b = g.box(r);
      const double *v = all + gather.position(r);
      for (int y = b.y0; y < b.y1; ++y)
        for (int x = b.x0; x < b.x1; ++x, ++seen) wrong += v[(x - b.x0) + (y - b.y0) * (b.x1 - b.x0)] != x + 100 * y;
    }
    EXPECT_EQ(seen, p.size());
    EXPECT_EQ(wrong, 0);
  });
}

TEST(Halo, Gather)
{
  gather_all(false);
  if (unit_cuda()) gather_all(true);
}

TEST(Grid, CoarseBoxes) // the boxes of the c nodes are those of the fine grid: node (X, Y) is node (2 X + 1, 2 Y + 1)
{
  for_grids([](const Problem &, const Grid &g) {
    const Grid c = g.coarse();
    EXPECT_EQ(c.nx, g.nx / 2);
    EXPECT_EQ(c.ny, g.ny / 2);
    for (int r = 0; r < g.processes(); ++r)
      for (int y = 0; y < c.ny; ++y)
        for (int x = 0; x < c.nx; ++x) EXPECT_EQ(c.box(r).contains(x, y), g.box(r).contains(2 * x + 1, 2 * y + 1));
    int nodes = 0;
    for (int q = 0; q < 4; ++q) {
      const Box b = g.owned(q);
      nodes += (int)b.size();
      for (int Y = b.y0; Y < b.y1; ++Y)
        for (int X = b.x0; X < b.x1; ++X) EXPECT_TRUE(g.owned().contains(2 * X + (q & 1), 2 * Y + (q >> 1)));
    }
    EXPECT_EQ(nodes, (int)g.owned().size());
  });
}
