// ranks: 1 2 3 4
// Multigrid for variational inequalities: Galerkin products, truncated ones and what is found of their rows, against the definitions.
#include "vipmg_case.hpp"

using namespace tessera;
using namespace tessera::vipmg;

// The coarse operator times a coarse function, tested with another: both interpolated to the fine grid must give the same energy.
TEST(Vipmg, GalerkinProduct)
{
  for (const Case &c : cases) {
    Plan plan;
    plan.exec.space = space();
    create(plan, MPI_COMM_WORLD, c.dimension, c.n, c.periodic, slabs(c), c.box);
    fill(c, plan);
    build(plan);
    ASSERT_GT(plan.levels.size(), 1u);
    Level &f = plan.levels[0], &g = plan.levels[1];
    double energy[2] = {0, 0};
    {
      // a function on the coarse grid, with its ghosts
      Buffer<double> u(g.layout.size());
      for (int k = g.own.lo[2]; k < g.own.hi[2]; ++k)
        for (int j = g.own.lo[1]; j < g.own.hi[1]; ++j)
          for (int i = g.own.lo[0]; i < g.own.hi[0]; ++i) {
            const int x[3] = {i, j, k}, y[3] = {f.step[0] * i, f.step[1] * j, f.step[2] * k};
            u.data()[g.layout.at(i, j, k)] = fixed(c, y) ? 0 : hash(number(g.n, x), 5) - 0.5;
          }
      copy(u, g.x);
      g.halo.exchange(g.x.data());
      f.x.zero();
      prolong_add(plan, f, g, f.x.data(), f.A, false, false);
      f.b.zero();
      g.b.zero();
      residual(plan, f, f.A, f.x.data(), f.b.data(), f.r.data(), false);
      residual(plan, g, g.A, g.x.data(), g.b.data(), g.r.data(), false);
      for (int level = 0; level < 2; ++level) {
        Level                    &l = level ? g : f;
        const std::vector<double> x = get(l.x), r = get(l.r);
        const Box3               &own = l.part;
        for (int k = own.lo[2]; k < own.hi[2]; ++k)
          for (int j = own.lo[1]; j < own.hi[1]; ++j)
            for (int i = own.lo[0]; i < own.hi[0]; ++i) energy[level] -= x[(size_t)l.layout.at(i, j, k)] * r[(size_t)l.layout.at(i, j, k)];
        double all = 0;
        MPI_Allreduce(&energy[level], &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        energy[level] = all;
      }
    }
    EXPECT_GT(energy[0], 0);
    EXPECT_NEAR(energy[0], energy[1], 1e-11 * energy[0]) << c.dimension << "D " << c.n[0] << " x " << c.n[1] << " x " << c.n[2];
  }
}

// Where fine nodes have one stencil one thread of the host finds a coarse one once, and copies what truncation does not reach, as a device does: the
// coarse operators of all levels against those that several threads make node by node. Nodes at bounds are a patch, single ones, and none.
TEST(Vipmg, OperatorsOfEqualRows)
{
  for (int kind = 0; kind < 4; ++kind) // star, box, a star whose second grid is coarsened along x alone, one with convection
    for (int active = 0; active < 3; ++active) {
      std::vector<std::vector<double>> a[2], truncated[2];
      for (int threads = 1; threads <= 2; ++threads) {
        Case c{2, {131, 98, 1}, {false, false, false}, kind == 1, kind == 2 ? 0.2 : 1, true};
        c.plain = true;
        c.wind  = kind == 3 ? 0.7 : 0;
        Plan plan;
        plan.exec.threads = threads;
        if (threads == 1) plan.exec.space = space();
        pose(c, plan);
        Level &l = plan.levels[0];
        const std::vector<int>     same = get(l.A.same);
        const std::vector<uint8_t> free = get(l.free);
        std::vector<uint8_t>       inactive(free.size());
        EXPECT_GT(*std::max_element(same.begin(), same.end()), 40);
        for (int j = l.own.lo[1]; j < l.own.hi[1]; ++j)
          for (int i = l.own.lo[0]; i < l.own.hi[0]; ++i) {
            const ptrdiff_t e   = l.layout.at(i, j, 0);
            const bool      off = active == 0 ? i > 30 && i < 90 && j > 20 && j < 60 : active == 1 && (i * 7 + j * 13) % 501 == 0;
            inactive[(size_t)e]  = free[(size_t)e] && !off;
          }
        put(inactive, l.inactive);
        l.halo.exchange(l.inactive.data());
        truncate(plan, 0);
        for (size_t k = 1; k < plan.levels.size(); ++k) {
          a[threads - 1].push_back(get(plan.levels[k].A.a));
          truncated[threads - 1].push_back(get(plan.levels[k].truncated.a));
        }
      }
      ASSERT_EQ(a[0].size(), a[1].size());
      for (size_t k = 0; k < a[0].size(); ++k)
        for (size_t q = 0; q < a[0][k].size(); ++q) {
          ASSERT_NEAR(a[0][k][q], a[1][k][q], 1e-11) << "grid " << k + 1;
          ASSERT_NEAR(truncated[0][k][q], truncated[1][k][q], 1e-11) << "grid " << k + 1 << ", active " << active;
        }
    }
}

// Truncated operators after other Jacobians, active sets, symmetry and grids to be solved are those that are made when nothing is there to
// be kept; rows that are not marked as cut are those of A, and none is cut where no node is at a bound.
TEST(Vipmg, TruncationRemembersNothing)
{
  const bool there = unit_cuda();
  for (bool periodic : {false, true}) {
    Case c{2, {there ? 1100 : 131, there ? 70 : 98, 1}, {false, periodic, false}, false}; // a device has stretches of long rows alone
    Plan plan;
    plan.exec.space = space();
    int stretches = 0;
    pose(c, plan);
    for (int step = 0; step < 12; ++step) {
      c.plain = step % 5 != 4;
      c.peg   = step % 4 == 3;
      c.wind  = step % 6 == 5 ? 0.7 : 0;
      c.mass  = 0.01 * (1 + step / 3);
      fill(c, plan);
      build(plan);
      for (int turn = 0; turn < 5; ++turn) {
        const int top = turn == 2, active = (step + 2 * turn) % 4;
        Level    &l = plan.levels[(size_t)top];
        const std::vector<uint8_t> free = get(l.free);
        std::vector<uint8_t>       inactive(free.size());
        for (int j = l.own.lo[1]; j < l.own.hi[1]; ++j)
          for (int i = l.own.lo[0]; i < l.own.hi[0]; ++i) {
            const ptrdiff_t e   = l.layout.at(i, j, 0);
            const bool      off = active == 1 ? i > 30 && i < 90 && j > 20 && j < 60 : active == 2 ? (i * 7 + j * 13) % 501 == 0 : active == 3 && (i < 3 || j > 60);
            inactive[(size_t)e]  = free[(size_t)e] && !off;
          }
        put(inactive, l.inactive);
        l.halo.exchange(l.inactive.data());
        std::vector<std::vector<double>> found;
        truncate(plan, top);
        for (size_t k = (size_t)top + 1; k < plan.levels.size(); ++k) {
          Level &g = plan.levels[k];
          found.push_back(get(g.truncated.a));
          put(std::vector<double>(g.truncated.a.size(), NAN), g.truncated.a);
          std::vector<uint8_t> all(g.cut.size());
          for (int j = g.own.lo[1]; j < g.own.hi[1]; ++j)
            for (int i = g.own.lo[0]; i < g.own.hi[0]; ++i) all[(size_t)g.layout.at(i, j, 0)] = 1;
          put(all, g.cut);
        }
        truncate(plan, top);
        bool rows = (there || plan.exec.threads == 1) && plan.symmetric;
        for (size_t k = (size_t)top + 1; k < plan.levels.size(); ++k) {
          const Level    &g = plan.levels[k];
          const ptrdiff_t n = (ptrdiff_t)g.layout.size();
          const std::vector<double>  whole = get(g.A.a), inverse = get(g.truncated.inverse), truncated = get(g.truncated.a);
          const std::vector<uint8_t> cut   = get(g.cut);
          const std::vector<int>     all   = get(g.truncated.same);
          rows              = rows && plan.levels[k - 1].step[0] == 2 && plan.levels[k - 1].step[1] == 2;
          for (int j = g.own.lo[1]; j < g.own.hi[1]; ++j)
            for (int i = g.own.lo[0]; i < g.own.hi[0]; ++i) {
              const ptrdiff_t e    = g.layout.at(i, j, 0);
              const int       none[2] = {0, 0}, *same = all.empty() ? none : all.data() + 2 * (2 * (j - g.layout.j0) + (i & 1)), t = floor_half(i);
              const bool      stretch = t >= same[0] && t < same[1];
              const ptrdiff_t q       = stretch ? e - (t - same[0]) : e;
              stretches += stretch && active;
              ASSERT_EQ(inverse[(size_t)e], inverse[(size_t)q]);
              ASSERT_FALSE(rows && !active && cut[(size_t)e]) << "grid " << k << ", node " << i << ", " << j;
              for (int p = 0; p < 9; ++p) {
                const double a = truncated[(size_t)(p * n + e)];
                ASSERT_EQ(found[k - (size_t)top - 1][(size_t)(p * n + e)], a) << "step " << step << ", grid " << k << ", active " << active;
                ASSERT_EQ(a, truncated[(size_t)(p * n + q)]);
                ASSERT_TRUE(cut[(size_t)e] || a == whole[(size_t)(p * n + e)]);
              }
            }
        }
      }
    }
    const bool remote = std::any_of(plan.levels.begin(), plan.levels.end(), [](const Level &l) { return l.incoming.remote(); });
    EXPECT_GT(stretches, there && remote ? -1 : 1000); // devices of several processes have none
  }
}

// What is found once for the nodes of a row that have one stencil is what is found at every node: even columns and odd ones that differ, and
// Dirichlet nodes with which the rows beside them keep their couplings.
TEST(Vipmg, StrengthOfEqualRows)
{
  if (unit_cuda()) GTEST_SKIP();
  for (int alternating = 0; alternating < 2; ++alternating) {
    const Case c{2, {129, 98, 1}, {false, false, false}, false};
    Plan       plan;
    create(plan, MPI_COMM_WORLD, 2, c.n, c.periodic, slabs(c), false);
    Level          &l = plan.levels[0];
    const size_t    p = l.layout.size();
    Buffer<double>  a(5 * p);
    Buffer<uint8_t> free(p);
    for (int j = l.own.lo[1]; j < l.own.hi[1]; ++j)
      for (int i = l.own.lo[0]; i < l.own.hi[0]; ++i) {
        const size_t e   = (size_t)l.layout.at(i, j, 0);
        const bool   low = j < c.n[1] / 2;
        const double x = alternating || low ? 1 : 1e-3, y = alternating ? i % 2 ? 0.1 : 5 : low ? 1e-3 : 1;
        free.data()[e]   = i > 0 && i < c.n[0] - 1 && j > 0 && j < c.n[1] - 1;
        a.data()[e]      = free.data()[e] ? 2 * (x + y) : 1;
        for (int k = 1; k < 5 && free.data()[e]; ++k) a.data()[(size_t)k * p + e] = k < 3 ? -x : -y;
      }
    set_operator(plan, a.data(), free.data());
    build(plan);
    const Strength once = strength(plan, l);
    l.A.same.zero();
    const Strength each = strength(plan, l);
    for (int d = 0; d < 2; ++d) {
      EXPECT_NEAR(once.along[d], each.along[d], 1e-9 * each.along[d]);
      EXPECT_EQ(once.strong[d], each.strong[d]);
      EXPECT_NEAR(once.row[d], each.row[d], 1e-9);
    }
  }
}
