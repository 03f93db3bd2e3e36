// ranks: 1 2 3 4
// Multigrid for variational inequalities: solves whose conditions are checked, the device against the host, grids and lines that follow the operator.
#include "vipmg_case.hpp"
#include <cstdlib>

using namespace tessera;
using namespace tessera::vipmg;

// Cycles from full multigrid: the conditions of the solution, in a few cycles.
TEST(Vipmg, Solution)
{
  int at = 0;
  for (const Case &c : cases) {
    Plan plan;
    plan.exec.space   = space();
    plan.params.cycle = Cycle::f;
    BoxProblem problem = pose(c, plan);
    Level        &l       = plan.levels[0];
    const double  first   = std::sqrt(problem.measure().natural);
    problem.full_multigrid();
    int     cycles = 0;
    Measure m;
    do m = problem.cycle(true, true);
    while (++cycles < 20 && std::sqrt(m.natural) > 1e-8 * first);
    EXPECT_LE(cycles, 7) << at;
    EXPECT_LE(std::sqrt(m.natural), 1e-8 * first) << at;
    const std::vector<double> x = get(l.x), lo = get(l.lo), up = get(l.up);
    for (size_t e = 0; e < x.size(); ++e) {
      if (lo[e] == 0 && up[e] == 0) continue; // memory that is no node
      ASSERT_LE(lo[e], x[e]);
      ASSERT_LE(x[e], up[e]);
    }
    ++at;
  }
}

// On the device several steps are one kernel (vipmg/tile.k.cxx, vipmg/correct.k.cxx), whose sum must be that of the steps of the host: a
// part of a cycle after the other, from the same start, on grids of all shapes; twice, as the second one has a last step.
TEST(Vipmg, DeviceAsHost)
{
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (!unit_cuda() || size > 1) GTEST_SKIP();
  const Case plane[] = {{2, {131, 70, 1}, {false, false, false}, false, 1, true}, {2, {64, 97, 1}, {false, false, false}, true, 1, true}, {2, {75, 80, 1}, {false, false, false}, false, 0.05},
                        {2, {90, 67, 1}, {false, false, false}, false, 20},        {2, {5, 300, 1}, {false, false, false}, true},           {2, {33, 40, 1}, {true, false, false}, false},
                        // by lines; the last one's are too long for a block of the emulated device
                        {2, {131, 70, 1}, {false, false, false}, false, 1e-3, true, 60}, {2, {90, 97, 1}, {false, false, false}, true, 1e3, false, 40},
                        {2, {64, 50, 1}, {true, false, false}, false, 1e-3, false, 30},   {2, {20, 700, 1}, {false, false, false}, false, 1e-3, false, 10},
                        {2, {1500, 7, 1}, {false, false, false}, false, 1e-3, false, 700}, {2, {12000, 7, 1}, {false, false, false}, false, 1e-3, false, 4000}};
  int compared[2] = {0, 0};
  for (const Case &c : plane)
    for (int part = 0; part < 4; ++part) // nothing is full multigrid
      for (Cycle kind : {Cycle::v, Cycle::f, Cycle::w})
        for (bool symmetric : {true, false}) {
          if (kind != Cycle::v && (!symmetric || !part)) continue;
          if (c.n[0] > 1000 && (kind != Cycle::v || part != 2 || !symmetric)) continue;
          std::vector<double> x[2];
          double              changed[2];
          bool                ordered = false;
          for (int there = 0; there < 2; ++there) {
            Plan plan;
            plan.exec.space   = there ? Space::cuda : Space::host;
            plan.params.cycle = kind;
            plan.params.pre  = 1; // by itself the host would take two in V-cycles
            plan.params.post = 1 + part / 2;
            Case d = c;
            d.wind = symmetric ? 0 : 0.02; // too little for sweeps in its order, which the host alone has
            BoxProblem problem = pose(d, plan);
            EXPECT_EQ(plan.symmetric, symmetric);
            if (c.turn < c.n[0]) {
              EXPECT_TRUE(plan.levels[0].lines[0] && plan.levels[0].lines[1]);
            }
            for (int k = 0; k < 2; ++k, plan.span.forget()) // the host alone takes the best of a span of steps
              if (part) problem.cycle(part & 1, part & 2);
              else problem.restart(), problem.full_multigrid(); // recorded at the second time
            Measure m      = problem.measure();
            x[there]       = get(plan.levels[0].x);
            changed[there] = part & 2 ? m.changed : 0;
            for (const Level &l : plan.levels) ordered = ordered || l.ordered;
          }
          if (ordered) continue;
          ++compared[symmetric];
          double most = 0, off = 0;
          for (size_t e = 0; e < x[0].size(); ++e) most = std::max(most, std::fabs(x[0][e])), off = std::max(off, std::fabs(x[0][e] - x[1][e]));
          EXPECT_GT(most, 0);
          EXPECT_LE(off, 1e-11 * most) << c.n[0] << " x " << c.n[1] << ", part " << part << ", cycle " << (int)kind;
          EXPECT_EQ(changed[0], changed[1]) << c.n[0] << " x " << c.n[1] << ", part " << part;
        }
  EXPECT_GT(compared[false], 20);
  EXPECT_GT(compared[true], 20);
}

// The device finds the stretches that the host finds, and knows coefficients that vary from others.
TEST(Vipmg, StretchesOfTheDevice)
{
  if (!unit_cuda()) GTEST_SKIP();
  for (int plain = 0; plain < 2; ++plain) {
    Case c{2, {131, 98, 1}, {false, false, false}, false, 1, true};
    c.plain = plain;
    Plan plan[2];
    plan[1].exec.space = Space::cuda;
    for (Plan &p : plan) pose(c, p);
    EXPECT_EQ(plan[1].varied, !plain);
    const Buffer<int> &here = plan[0].levels[0].A.same, &there = plan[1].levels[0].A.same;
    Buffer<int>        fetched(there.size());
    copy(there, fetched);
    ASSERT_EQ(here.size(), there.size());
    for (size_t q = 0; q < here.size(); ++q) ASSERT_EQ(here.data()[q], fetched.data()[q]) << "number " << q;
  }
}

// A Dirichlet row inside the grid, at its bounds: what coarse nodes beside it may still move is what free nodes may.
TEST(Vipmg, DirichletBoundsStayOut)
{
  const Case c = {2, {20, 18, 1}, {false, false, false}, false, 1, true};
  Plan       plan;
  plan.exec.space = space();
  pose(c, plan);
  Level         &l = plan.levels[0], &g = plan.levels[1];
  Buffer<double> lo(l.layout.size()), up(l.layout.size());
  for (size_t e = 0; e < lo.size(); ++e) lo.data()[e] = -1, up.data()[e] = 1;
  const int peg[3] = {7, 5, 0};
  bool      mine = true;
  for (int d = 0; d < 2; ++d) mine = mine && peg[d] >= l.own.lo[d] - ghosts && peg[d] < l.own.hi[d] + ghosts;
  if (mine) lo.data()[l.layout.at(7, 5, 0)] = up.data()[l.layout.at(7, 5, 0)] = 0;
  copy(lo, l.lo);
  copy(up, l.up);
  l.x.zero();
  l.r.zero();
  restrict_problem(plan, l, g, l.r.data(), Bounds::monotone);
  const std::vector<double> coarse_lo = get(g.lo), coarse_up = get(g.up);
  for (int J = g.part.lo[1]; J < g.part.hi[1]; ++J)
    for (int I = 1; I < g.n[0]; ++I) {
      EXPECT_EQ(coarse_lo[(size_t)g.layout.at(I, J, 0)], -1) << I << ", " << J;
      EXPECT_EQ(coarse_up[(size_t)g.layout.at(I, J, 0)], 1) << I << ", " << J;
    }
}

// Couplings that turn from x to y: the grids follow, and a solve takes as few cycles as one that begins with the second operator.
TEST(Vipmg, GridsFollowTheOperator)
{
  Case c = {2, {65, 60, 1}, {false, false, false}, false, 0.02};
  Plan plan;
  plan.exec.space = space();
  BoxProblem problem = pose(c, plan);
  EXPECT_EQ(plan.levels[0].step[0], 2);
  EXPECT_EQ(plan.levels[0].step[1], 1);
  c.weak = 0.9 * 0.35; // no reason to make new ones
  fill(c, plan);
  build(plan);
  EXPECT_EQ(plan.levels[0].step[1], 1);
  c.weak = 50;
  fill(c, plan);
  build(plan);
  EXPECT_EQ(plan.levels[0].step[0], 1);
  EXPECT_EQ(plan.levels[0].step[1], 2);
  problem.restart();
  const double first = std::sqrt(problem.measure().natural);
  int          cycles = 0;
  double natural;
  do natural = std::sqrt(problem.cycle(true, true).natural);
  while (++cycles < 20 && natural > 1e-8 * first);
  EXPECT_LE(cycles, 10);
}

// What is recorded of a cycle holds addresses and kernels: an operator of the same kind changes neither, lines do.
TEST(Vipmg, WhatIsRecordedStays)
{
  Case c = {2, {65, 60, 1}, {false, false, false}, false};
  Plan plan;
  plan.exec.space = space();
  pose(c, plan);
  const uint64_t           made = plan.revision;
  const unsigned long long memory = device::allocated();
  const double *const      left = plan.levels[0].left[0].data();
  fill(c, plan);
  build(plan);
  EXPECT_EQ(plan.revision, made);
  EXPECT_EQ(device::allocated(), memory);
  EXPECT_EQ(plan.levels[0].left[0].data(), left);
  c.weak = 1e-3, c.turn = 32;
  fill(c, plan);
  build(plan);
  EXPECT_EQ(plan.levels[0].step[0] + plan.levels[0].step[1], 4); // the grids are the same
  EXPECT_TRUE(plan.levels[0].lines[0] && plan.levels[0].lines[1]);
  const uint64_t with = plan.revision;
  EXPECT_GT(with, made);
  c.weak = 1;
  fill(c, plan);
  build(plan);
  EXPECT_FALSE(plan.levels[0].lines[0] || plan.levels[0].lines[1]);
  EXPECT_GT(plan.revision, with);
}

// Lines serve where nodes are strongly coupled along several others, not one by one, and where no row sum holds them.
TEST(Vipmg, LinesWhereTheyServe)
{
  struct {
    int    chain;
    double mass;
    bool   lines;
  } const wanted[] = {{1, 0.01, false}, {2, 0.01, true}, {2, 100, false}};
  for (const auto &w : wanted) {
    Case c = {2, {65, 60, 1}, {false, false, false}, false};
    c.chain = w.chain, c.mass = w.mass;
    Plan plan;
    plan.exec.space = space();
    pose(c, plan);
    EXPECT_EQ(plan.levels[0].lines[0], w.lines) << w.chain << ", " << w.mass;
    EXPECT_FALSE(plan.levels[0].lines[1]);
  }
}

// The device of one process fails before grids that are there are looked at: that process must not make new ones alone, which takes messages.
TEST(Vipmg, FailureOfOneProcessAtALaterOperator)
{
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
#ifdef TESSERA_EMULATE_DEVICE
  const bool emulated = unit_cuda();
#else
  const bool emulated = false;
#endif
  if (!emulated || size == 1) GTEST_SKIP();
  for (double weak : {0.02, 50.}) { // grids that stay, and others
    Case c = {2, {65, 60, 1}, {false, false, false}, false, 0.02};
    Plan plan;
    plan.exec.space = space();
    (void)device::keep_errors(true);
    pose(c, plan);
    EXPECT_FALSE(device::failed());
    c.weak = weak;
    fill(c, plan);
    if (rank == 0) setenv("TESSERA_EMULATED_MEMORY", "1", 1);
    build(plan);
    unsetenv("TESSERA_EMULATED_MEMORY");
    (void)device::keep_errors(false);
    EXPECT_EQ(device::take_error().memory, rank == 0);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

// A process without nodes is nobody's neighbour, wherever its box begins.
TEST(Vipmg, EmptyBoxesAreNoNeighbours)
{
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size == 1) GTEST_SKIP();
  const Case              c     = {2, {20, size - 1, 1}, {false, false, false}, false};
  const std::vector<Box3> boxes = slabs(c); // the first one is empty
  Plan                    plan;
  plan.exec.space = space();
  create(plan, MPI_COMM_WORLD, c.dimension, c.n, c.periodic, boxes, c.box);
  ASSERT_TRUE(boxes[0].empty());
  const Level &l = plan.levels[0];
  if (rank == 0) return;
  EXPECT_EQ(l.before[1], rank == 1 ? -1 : rank - 1);
  EXPECT_EQ(l.behind[1], rank == size - 1 ? -1 : rank + 1);
}

// Upwind differences are an M-matrix, their Galerkin products are none: couplings that asymmetry makes positive are taken back, so that
// a solve takes a few cycles still.
TEST(Vipmg, ConvectionKeepsItsMultigrid)
{
  Case c = {2, {130, 90, 1}, {false, false, false}, false};
  c.wind = 20;
  Plan plan;
  plan.exec.space = space();
  BoxProblem problem = pose(c, plan);
  EXPECT_FALSE(plan.symmetric);
  for (size_t k = 1; k < plan.levels.size(); ++k) {
    const Level              &l = plan.levels[k];
    const std::vector<double> a = get(l.A.a);
    const size_t              p = l.layout.size();
    for (int j = std::max(1, l.own.lo[1]); j < std::min(l.n[1] - 1, l.own.hi[1]); ++j)
      for (int i = 2; i + 1 < l.n[0]; ++i) // node 0 is fixed, and what is coupled with it
        for (int o : {0, 1, 2, 3, 5, 6, 7, 8}) {
          const double there = a[(size_t)o * p + (size_t)l.layout.at(i, j, 0)], back = a[(size_t)(8 - o) * p + (size_t)l.layout.at(i + o % 3 - 1, j + o / 3 - 1, 0)], mean = 0.5 * (there + back);
          ASSERT_LE(there, std::max(0., mean) + 1e-10) << "grid " << k << ", node " << i << ", " << j << ", offset " << o;
        }
  }
  problem.restart();
  const double first = std::sqrt(problem.measure().natural);
  int          cycles = 0;
  double natural;
  do natural = std::sqrt(problem.cycle(true, true).natural);
  while (++cycles < 40 && natural > 1e-8 * first);
  EXPECT_LE(cycles, 15);
}

// What goes with the wind alone is solved by one sweep that follows it, on several processes too.
TEST(Vipmg, SweepsFollowTheWind)
{
  if (space() != Space::host) GTEST_SKIP() << "on a device nodes have no order";
  for (const bool box : {false, true}) {
    Case c = {2, {130, 90, 1}, {false, false, false}, box};
    c.wind = 1e6;
    Plan plan;
    plan.exec.space = space();
    BoxProblem problem = pose(c, plan);
    Level &l = plan.levels[0];
    EXPECT_TRUE(l.ordered);
    put(std::vector<double>(l.lo.size(), -INFINITY), l.lo);
    put(std::vector<double>(l.up.size(), INFINITY), l.up);
    problem.restart();
    const double first = std::sqrt(problem.measure().natural);
    smooth(plan, l, l.A, l.x.data(), l.b.data(), {true, false}, 1);
    EXPECT_LE(std::sqrt(problem.measure().natural), 1e-4 * first) << box;
  }
}

// Strong couplings along x on one side, along y on the other: lines, with which a cycle brings the energy x . A x / 2 - b . x down, from first to last.
TEST(Vipmg, EnergyFallsWithLines)
{
  const Case c = {2, {70, 61, 1}, {false, false, false}, false, 1e-3, false, 30};
  Plan       plan;
  plan.exec.space = space();
  BoxProblem problem = pose(c, plan);
  Level &l = plan.levels[0];
  EXPECT_TRUE(l.lines[0] && l.lines[1]);
  problem.restart();
  const double first  = std::sqrt(problem.measure().natural);
  double       before = INFINITY, natural = first;
  int          cycles = 0;
  for (; cycles < 15 && natural > 1e-8 * first; ++cycles) {
    natural = std::sqrt(problem.cycle(false, true).natural);
    const std::vector<double> x = get(l.x), b = get(l.b), residual = get(l.r);
    double                    energy = 0, all = 0;
    for (int j = l.own.lo[1]; j < l.own.hi[1]; ++j)
      for (int i = l.own.lo[0]; i < l.own.hi[0]; ++i) {
        const size_t e = (size_t)l.layout.at(i, j, 0);
        energy -= 0.5 * x[e] * (b[e] + residual[e]);
      }
    MPI_Allreduce(&energy, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    EXPECT_LE(all, before + 1e-13 * std::fabs(all)) << cycles;
    before = all;
  }
  EXPECT_LT(cycles, 15);
}

// A grid that is the coarsest itself, without bounds and with next to nothing that ties its constants: sweeps alone would take thousands.
TEST(Vipmg, NearlySingularWithoutCoarserGrids)
{
  Case tiny[] = {{1, {5, 1, 1}, {true, false, false}, false}, {2, {4, 4, 1}, {true, true, false}, true}, {3, {2, 2, 4}, {false, false, true}, false}};
  for (Case &c : tiny) {
    c.mass = 1e-5;
    Plan plan;
    plan.exec.space = space();
    BoxProblem problem = pose(c, plan);
    ASSERT_EQ(plan.levels.size(), 1u);
    Level       &l = plan.levels[0];
    const double first = std::sqrt(problem.measure().natural);
    put(std::vector<double>(l.lo.size(), -INFINITY), l.lo);
    put(std::vector<double>(l.up.size(), INFINITY), l.up);
    int cycles = 0;
    double natural;
    do natural = std::sqrt(problem.cycle(true, true).natural);
    while (++cycles < 50 && natural > 1e-8 * first);
    EXPECT_LE(cycles, 20) << c.dimension;
  }
}
