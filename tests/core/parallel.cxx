// The same preconditioner on any number of processes and any process grid.
// ranks: 1 2 3 4
#include "dense.hpp"
#include "unit.hpp"

using namespace tessera;
using rrb::Coarsening;
using rrb::Cycle;
using rrb::Params;

// kinds: how many of the splits above; one is enough on the device, where many small launches take their time
template <class F> static void process_grids(const Problem &p, int kinds, const F &f)
{
  if (unit_cuda()) kinds = 1;
  for (int px = 1; px <= ranks(); ++px)
    if (ranks() % px == 0)
      for (int kind = 0; kind < kinds; ++kind) {
        SCOPED_TRACE(testing::Message() << p.nx << " x " << p.ny << (p.nine ? " 9-point" : "") << " on " << px << " x " << ranks() / px << " processes, borders " << kind);
        f(grid_of(p, MPI_COMM_WORLD, split(p.nx, px, kind), split(p.ny, ranks() / px, kind)));
      }
}

// Largest difference of M^-1 x relative to the largest value.
static double compare(const Problem &p, const Params &q, const Grid &g)
{
  Library one(p, q), many(p, q, g);
  EXPECT_EQ(one.failure.failed, many.failure.failed);
  if (one.failure.failed) {
    EXPECT_EQ(one.failure.level, many.failure.level);
    return 0;
  }
  EXPECT_EQ(one.plan.cycle, many.plan.cycle);
  EXPECT_EQ(one.plan.factor_levels(), many.plan.factor_levels());
  const Box           own = g.owned();
  std::vector<double> x((size_t)p.size()), z(x), mine((size_t)own.size() + 1), part((size_t)own.size() + 1, NAN);
  double              worst = 0;
  for (int twice = 0; twice < 2; ++twice) { // a second time, with what the first left in memory
    for (size_t i = 0; i < x.size(); ++i) x[i] = hash((int64_t)i, twice, 9) - 0.5;
    one.apply(x.data(), z.data());
    auto at = [&](int i, int j) -> size_t { return (size_t)((i - own.x0) + (j - own.y0) * (own.x1 - own.x0)); };
    for (int j = own.y0; j < own.y1; ++j)
      for (int i = own.x0; i < own.x1; ++i) mine[at(i, j)] = x[(size_t)(i + p.nx * j)];
    many.apply(mine.data(), part.data());
    double scale = 0;
    for (double v : z) scale = std::max(scale, std::fabs(v));
    for (int j = own.y0; j < own.y1; ++j)
      for (int i = own.x0; i < own.x1; ++i) {
        const double d = std::fabs(part[at(i, j)] - z[(size_t)(i + p.nx * j)]) / scale;
        worst          = d <= worst ? worst : std::isfinite(d) ? d : INFINITY;
      }
  }
  MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return worst;
}

TEST(Parallel, EqualsOneProcess) // 151 x 130 stays distributed on two grids, the others are gathered at once
{
  for (auto &s : {std::pair<int, int>{151, 130}, {13, 16}, {5, 7}, {1, 30}, {2, 2}})
    for (bool nine : {false, true}) {
      Problem p{s.first, s.second, nine};
      process_grids(p, 3, [&](const Grid &g) {
        EXPECT_LT(compare(p, with(100), g), 1e-12);
        EXPECT_LT(compare(p, with(0), g), 1e-12);
        EXPECT_LT(compare(p, with(4, Coarsening::lump, 0.7, true, 1), g), 1e-12);
        EXPECT_LT(compare(p, with(7, Coarsening::lump, 1, false, 0), g), 1e-12);
        EXPECT_LT(compare(p, with(100, Coarsening::lump, 1, false, -1, true), g), 1e-12); // the same numbers are rounded
      });
    }
}

TEST(Parallel, Levels) // an exact remainder while the grid is still distributed
{
  for (bool nine : {false, true})
    for (int l : {1, 3, 4}) {
      Problem p{91, 88, nine};
      process_grids(p, 2, [&](const Grid &g) { EXPECT_LT(compare(p, with(l), g), 1e-12) << "levels " << l; });
    }
}

TEST(Parallel, RhombusMaskPeriodic)
{
  for (bool nine : {false, true}) {
    Problem p{95, 82, nine};
    p.spread = 0.1;
    p.dead   = 0.05;
    process_grids(p, 2, [&](const Grid &g) { EXPECT_LT(compare(p, with(100, Coarsening::rhombus), g), 1e-12); });
    for (int axes = 1; axes < 4; ++axes) {
      Problem q{axes == 3 ? 150 : 94, axes == 3 ? 132 : 68, nine}; // 75 (47): the seam in x is cut on the second grid; 66, 33: in y on the third
      q.periodic_x = axes & 1;
      q.periodic_y = axes & 2;
      process_grids(q, 1, [&](const Grid &g) {
        EXPECT_LT(compare(q, with(100), g), 1e-12) << "periodic " << axes;
        EXPECT_LT(compare(q, with(4, Coarsening::lump, 0.7, true), g), 1e-12) << "periodic " << axes;
      });
      q.spread = 0.1;
      process_grids(q, 1, [&](const Grid &g) { EXPECT_LT(compare(q, with(100, Coarsening::rhombus), g), 1e-12) << "periodic " << axes; });
    }
  }
}

TEST(Parallel, Cycles)
{
  for (bool nine : {false, true})
    for (auto cycle : {Cycle::k, Cycle::amli, Cycle::automatic}) {
      Problem p{151, 130, nine};
      p.spread    = 0.1;
      p.shift     = 0;
      p.dirichlet = true;
      Params q    = with(100, Coarsening::lump, 1, false, -1, false, cycle);
      for (int every : {1, 2}) {
        q.every = every;
        process_grids(p, 1, [&](const Grid &g) { EXPECT_LT(compare(p, q, g), 1e-11) << (int)cycle; });
      }
    }
}

TEST(Parallel, Schur) // S1 and its preconditioner
{
  for (auto &s : {std::pair<int, int>{85, 78}, {13, 16}, {2, 3}})
    for (int periodic = 0; periodic < 2; ++periodic)
      for (int levels : {1, 100})
        for (bool single : {false, true}) {
          Problem p{s.first, s.second};
          p.periodic_y = periodic && p.ny % 2 == 0;
          process_grids(p, 2, [&](const Grid &g) {
            Params q = with(levels, Coarsening::lump, 1, false, -1, single);
            q.schur  = true;
            Library             one(p, q), many(p, q, g);
            rrb::BlackField     u(one.plan), v(one.plan), um(many.plan), vm(many.plan);
            const Box           own = g.owned();
            std::vector<double> x((size_t)p.size()), part((size_t)own.size() + 1);
            for (size_t i = 0; i < x.size(); ++i) x[i] = hash((int64_t)i, 2, 9) - 0.5;
            for (int j = own.y0; j < own.y1; ++j)
              for (int i = own.x0; i < own.x1; ++i) part[(size_t)((i - own.x0) + (j - own.y0) * (own.x1 - own.x0))] = x[(size_t)(i + p.nx * j)];
            auto values = [](const rrb::BlackField &f, std::vector<double> &host) { // of o and c, as a view
              host.resize((size_t)f.size);
              if (unit_cuda()) device::copy_to_host(host.data(), f.data, host.size() * sizeof(double));
              else std::copy(f.data, f.data + host.size(), host.begin());
              View<double> v = f.view;
              for (int q : {0, 3}) v.q[q] = host.data() + (f.view.q[q] - f.data);
              return v;
            };
            auto difference = [&](const char *what) {
              double              worst = 0, scale = 0;
              std::vector<double> hv, hm;
              const View<double>  V = values(v, hv), VM = values(vm, hm);
              for (int y = own.y0; y < own.y1; ++y)
                for (int i = own.x0; i < own.x1; ++i)
                  if ((i + y) % 2 == 0) {
                    scale = std::max(scale, std::fabs(V.at(i, y)));
                    worst = std::max(worst, std::fabs(V.at(i, y) - VM.at(i, y)));
                  }
              EXPECT_LE(worst, 1e-12 * scale) << what;
            };
            auto sum = [&](double mine) {
              MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
              return mine;
            };
            There xt(x), pt(part.data(), (size_t)own.size());
            rrb::black_load(one.plan, xt.data(), u);
            rrb::black_load(many.plan, pt.data(), um);
            one.plan.levels[0].halo.exchange(u.view, mask_o | mask_c);
            many.plan.levels[0].halo.exchange(um.view, mask_o | mask_c);
            const double pq = rrb::schur_multiply(one.plan, u.view, v.view), pqm = sum(rrb::schur_multiply(many.plan, um.view, vm.view));
            EXPECT_NEAR(pq, pqm, 1e-12 * std::fabs(pq));
            difference("S1 p");
            rrb::schur_apply(one.plan, u.view, v.view);
            rrb::schur_apply(many.plan, um.view, vm.view);
            difference("the preconditioner");
            const double zz = rrb::schur_norm2(one.plan, v), zzm = sum(rrb::schur_norm2(many.plan, vm));
            EXPECT_NEAR(zz, zzm, 1e-12 * zz);
            rrb::red_solve(one.plan, xt.data(), xt.data());
            rrb::red_solve(many.plan, pt.data(), pt.data());
            xt.get(x.data());
            pt.get(part.data());
            for (int j = own.y0; j < own.y1; ++j)
              for (int i = own.x0; i < own.x1; ++i) EXPECT_NEAR(part[(size_t)((i - own.x0) + (j - own.y0) * (own.x1 - own.x0))], x[(size_t)(i + p.nx * j)], 1e-14);
          });
        }
}

// Sweeps by points on several grids. On the device ghost nodes are worked on as well, in boxes of any size: results there must be
// those of the owners, to the last bit, as nobody asks for them.
TEST(Parallel, GalerkinByPoints)
{
  for (auto &s : {std::pair<int, int>{83, 70}, {40, 57}})
    for (bool nine : {false, true})
      for (int kind = 0; kind < 2; ++kind)
        for (int px = 1; px <= ranks(); ++px) {
          if (ranks() % px) continue;
          Problem    p{s.first, s.second, nine};
          const Grid g = grid_of(p, MPI_COMM_WORLD, split(p.nx, px, kind), split(p.ny, ranks() / px, kind));
          SCOPED_TRACE(testing::Message() << p.nx << " x " << p.ny << (nine ? " 9-point" : "") << " on " << px << " x " << ranks() / px << " processes, borders " << kind);
          Params q   = with(0, Coarsening::galerkin);
          q.smoother = rrb::Smoother::point;
          q.smooth   = 1;
          for (long redundant : {1, 700}) {
            q.peers     = redundant == 1; // else messages go through the host
            q.redundant = redundant;
            q.cycle     = Cycle::v;
            EXPECT_LT(compare(p, q, g), 1e-12) << redundant;
            q.cycle = Cycle::amli;
            if (!kind && redundant == 1) {
              EXPECT_LT(compare(p, q, g), 1e-12) << "AMLI";
            }
          }
          q.peers = true;
          if (nine) continue;
          q.cycle = Cycle::v;
          q.schur = true;
          Library         many(p, q, g);
          rrb::BlackField r(many.plan), z(many.plan);
          rrb::Level     &l = many.plan.levels[0];
          if (!unit_cuda() || l.step != rrb::Step::coarsen) continue;
          const Box           own = g.owned(), around = l.grid.around(1);
          std::vector<double> x((size_t)own.size() + 1), here(z.size), owners(z.size);
          for (size_t i = 0; i < x.size(); ++i) x[i] = hash((int64_t)i, g.rank, 4) - 0.5;
          There there(x.data(), (size_t)own.size());
          rrb::black_load(many.plan, there.data(), r);
          rrb::schur_apply(many.plan, r.view, z.view);
          device::copy_to_host(here.data(), z.data, here.size() * sizeof(double));
          l.halo.exchange(z.view, mask_o | mask_c);
          device::copy_to_host(owners.data(), z.data, owners.size() * sizeof(double));
          int wrong = 0;
          for (int k : {0, 3}) {
            const Box b = quarter_box(around, k);
            for (int Y = b.y0; Y < b.y1; ++Y)
              for (int X = b.x0; X < b.x1; ++X) {
                const ptrdiff_t at = z.view.q[k] - z.data + X + Y * z.view.sy;
                wrong += here[(size_t)at] != owners[(size_t)at];
              }
          }
          EXPECT_EQ(wrong, 0);
        }
}

TEST(Parallel, Failure) // all processes learn of a bad pivot, and of the same one
{
  Problem p{101, 90};
  p.shift = -0.6;
  int level = -1;
  process_grids(p, 2, [&](const Grid &g) {
    Library lib(p, with(100), g);
    ASSERT_TRUE(lib.failure.failed);
    int here[3] = {lib.failure.level, lib.failure.x, lib.failure.y}, root[3] = {here[0], here[1], here[2]};
    MPI_Bcast(root, 3, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(here[i], root[i]);
    if (level < 0) level = here[0];
    EXPECT_EQ(level, here[0]);
  });
}
