// ranks: 1 2 3 4
// Multigrid for variational inequalities: the Galerkin product against its definition, and a solve whose conditions are checked. Every number
// comes from the numbers of nodes, so that processes and spaces can be compared.
#include "unit.hpp"
#include "vipmg/vipmg.hpp"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::vipmg;

namespace {

Space space() { return unit_cuda() ? Space::cuda : Space::host; }

double hash(long a, long b)
{
  unsigned long long h = (unsigned long long)(a + 11) * 0x9E3779B97F4A7C15ull ^ (unsigned long long)(b + 3) * 0xBF58476D1CE4E5B9ull;
  for (int k = 0; k < 3; ++k) h = (h ^ (h >> 29)) * 0x94D049BB133111EBull;
  return (double)(h >> 11) / 9007199254740992.;
}

struct Case {
  int  dimension, n[3];
  bool periodic[3], box;
  double weak = 1;  // factor of the couplings along y
  bool   peg = false; // node (7,5) has a Dirichlet row
  int    turn = 1 << 30; // from this column on that factor is of those along x
  double wind = 0;    // what is added to the couplings with the nodes before, along x and y
  int    chain = 0;   // couplings along x are a hundred times as strong between so many nodes and the next ones, of eight in each 16th row
  double mass = 0.01; // sum of a row
  bool   plain = false; // all couplings of a kind are equal
};

// Boxes of all processes along the last direction.
std::vector<Box3> slabs(const Case &c)
{
  int               size = 1;
  std::vector<Box3> boxes;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int r = 0; r < size; ++r) {
    Box3 b;
    for (int d = 0; d < 3; ++d) b.hi[d] = c.n[d];
    const int d = c.dimension - 1;
    b.lo[d]     = c.n[d] * r / size;
    b.hi[d]     = c.n[d] * (r + 1) / size;
    boxes.push_back(b);
  }
  return boxes;
}

long number(const int n[3], const int x[3]) { return x[0] + (long)n[0] * (x[1] + (long)n[1] * x[2]); }

// f(offset number of 27, neighbour) for the neighbours that a stencil couples
template <class F> void neighbours(const Case &c, const int n[3], bool box, const int x[3], const F &f)
{
  for (int o = 0; o < 27; ++o) {
    const int d[3] = {o % 3 - 1, o / 3 % 3 - 1, o / 9 - 1};
    int       y[3], far = 0;
    bool      out = false;
    for (int k = 0; k < 3; ++k) {
      y[k] = x[k] + d[k];
      far += d[k] != 0;
      out = out || (k >= c.dimension && d[k]);
      if (y[k] < 0 || y[k] >= n[k]) {
        if (c.periodic[k]) y[k] = (y[k] + n[k]) % n[k];
        else out = true;
      }
    }
    if (!out && (far < 2 || box)) f(o, far, y);
  }
}

int plane(int dimension, bool box, int o)
{
  if (box) return dimension == 3 ? o : dimension == 2 ? o - 9 : o - 12;
  const int star[7] = {13, 12, 14, 10, 16, 4, 22};
  for (int k = 0; k < 7; ++k)
    if (star[k] == o) return k;
  return -1;
}

bool fixed(const Case &c, const int x[3]) { return (!c.periodic[0] && x[0] == 0 && c.dimension < 3) || (c.peg && x[0] == 7 && x[1] == 5); }

double coefficient(const Case &c, const int x[3], int far, const int y[3])
{
  const long   a = number(c.n, x), b = number(c.n, y);
  const double weak = far == 1 && (x[1] != y[1]) == (std::min(x[0], y[0]) < c.turn) ? c.weak : 1;
  const double upwind = far == 1 && (y[0] < x[0] || y[1] < x[1]) ? c.wind : 0;
  const double strong = far == 1 && x[0] != y[0] && x[1] % 16 == 0 && std::min(x[0], y[0]) % 8 < c.chain ? 100 : 1;
  return -(far > 1 ? 0.3 : 1) * weak * strong * (c.plain ? 1 : 0.5 + hash(a < b ? a : b, a < b ? b : a)) - upwind;
}

void fill(const Case &c, Plan &plan)
{
  Level          &l = plan.levels[0];
  const size_t    p = l.layout.size();
  Buffer<double>  a((size_t)points(c.dimension, c.box) * p);
  Buffer<uint8_t> free(p);
  for (int k = l.own.lo[2]; k < l.own.hi[2]; ++k)
    for (int j = l.own.lo[1]; j < l.own.hi[1]; ++j)
      for (int i = l.own.lo[0]; i < l.own.hi[0]; ++i) {
        const int       x[3] = {i, j, k};
        const ptrdiff_t e    = l.layout.at(i, j, k);
        const size_t    centre = (size_t)plane(c.dimension, c.box, 13) * p;
        free.data()[e]       = !fixed(c, x);
        a.data()[centre + (size_t)e] += c.mass;
        if (fixed(c, x)) continue;
        neighbours(c, c.n, c.box, x, [&](int o, int far, const int y[3]) {
          if (!far) return;
          const double v = coefficient(c, x, far, y);
          a.data()[(size_t)plane(c.dimension, c.box, o) * p + (size_t)e] += fixed(c, y) ? 0 : v;
          a.data()[centre + (size_t)e] -= v;
        });
      }
  set_operator(plan, a.data(), free.data());
}

const Case cases[] = {{1, {37, 1, 1}, {false, false, false}, false}, {1, {36, 1, 1}, {true, false, false}, false},   {2, {21, 18, 1}, {false, false, false}, false},
                      {2, {20, 27, 1}, {false, true, false}, true},  {2, {130, 90, 1}, {false, false, false}, true}, {3, {10, 9, 13}, {false, false, false}, false},
                      {3, {9, 12, 8}, {true, false, false}, true}};

template <class T> std::vector<T> host(const Buffer<T> &b)
{
  Buffer<T> h(b.size());
  copy(b, h);
  return std::vector<T>(h.data(), h.data() + h.size());
}
template <class T> void put(const std::vector<T> &from, Buffer<T> &to)
{
  Buffer<T> there = copy_to(to.space(), from);
  copy(there, to);
  if (to.space() == Space::cuda) device::synchronize(); // before `there` goes
}

} // namespace

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
        const std::vector<double> x = host(l.x), r = host(l.r);
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

namespace {

// The hierarchy, a right-hand side and bounds; x is a start between them.
void pose(const Case &c, Plan &plan)
{
  create(plan, MPI_COMM_WORLD, c.dimension, c.n, c.periodic, slabs(c), c.box);
  fill(c, plan);
  Level         &l = plan.levels[0];
  const size_t   n = (size_t)l.own.size();
  Buffer<double> h[4], there[4];
  for (int k = 0; k < 4; ++k) h[k].resize(n);
  size_t q = 0;
  for (int k = l.own.lo[2]; k < l.own.hi[2]; ++k)
    for (int j = l.own.lo[1]; j < l.own.hi[1]; ++j)
      for (int i = l.own.lo[0]; i < l.own.hi[0]; ++i, ++q) {
        const int x[3] = {i, j, k};
        h[0].data()[q] = -std::sin(0.3 * i + 0.2 * j + 0.4 * k) * 0.1;
        h[2].data()[q] = -0.2 - hash(number(c.n, x), 1);
        h[3].data()[q] = i % 7 == 3 ? INFINITY : 0.1 + hash(number(c.n, x), 2);
      }
  for (int k = 0; k < 4; ++k) {
    there[k].resize(Extent{n, plan.exec.space});
    copy(h[k], there[k]);
  }
  load(plan, there[0].data(), there[1].data(), there[2].data(), there[3].data());
  build(plan);
  start(plan);
}

} // namespace

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
        const std::vector<int>     same = host(l.A.same);
        const std::vector<uint8_t> free = host(l.free);
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
          a[threads - 1].push_back(host(plan.levels[k].A.a));
          truncated[threads - 1].push_back(host(plan.levels[k].truncated.a));
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
        const std::vector<uint8_t> free = host(l.free);
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
          found.push_back(host(g.truncated.a));
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
          const std::vector<double>  whole = host(g.A.a), inverse = host(g.truncated.inverse), truncated = host(g.truncated.a);
          const std::vector<uint8_t> cut   = host(g.cut);
          const std::vector<int>     all   = host(g.truncated.same);
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
    EXPECT_GT(stretches, there && plan.levels[0].incoming.remote() ? -1 : 1000); // devices of several processes have none
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

// Cycles from full multigrid: the conditions of the solution, in a few cycles.
TEST(Vipmg, Solution)
{
  int at = 0;
  for (const Case &c : cases) {
    Plan plan;
    plan.exec.space   = space();
    plan.params.cycle = Cycle::f;
    pose(c, plan);
    Level       &l = plan.levels[0];
    const double first = std::sqrt(measure(plan, l).natural);
    full_multigrid(plan);
    int     cycles = 0;
    Measure m;
    do {
      cycle(plan, 0, true, true);
      m = measure(plan, l);
    } while (++cycles < 20 && std::sqrt(m.natural) > 1e-8 * first);
    EXPECT_LE(cycles, 7) << at;
    EXPECT_LE(std::sqrt(m.natural), 1e-8 * first) << at;
    const std::vector<double> x = host(l.x), lo = host(l.lo), up = host(l.up);
    for (size_t e = 0; e < x.size(); ++e) {
      if (lo[e] == 0 && up[e] == 0) continue; // memory that is no node
      ASSERT_LE(lo[e], x[e]);
      ASSERT_LE(x[e], up[e]);
    }
    ++at;
  }
}

// On the device several steps are one kernel (vipmg_tile.k.cxx, vipmg_correct.k.cxx), whose sum must be that of the steps of the host: a
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
  for (const Case &c : plane)
    for (int part = 0; part < 4; ++part) // nothing is full multigrid
      for (Cycle kind : {Cycle::v, Cycle::f, Cycle::w})
        for (bool symmetric : {true, false}) {
          if (kind != Cycle::v && (!symmetric || !part)) continue;
          if (c.n[0] > 1000 && (kind != Cycle::v || part != 2 || !symmetric)) continue;
          std::vector<double> x[2];
          double              changed[2];
          for (int there = 0; there < 2; ++there) {
            Plan plan;
            plan.exec.space   = there ? Space::cuda : Space::host;
            plan.params.cycle = kind;
            plan.params.pre  = 1; // by itself the host would take two in V-cycles
            plan.params.post = 1 + part / 2;
            Case d = c;
            d.wind = symmetric ? 0 : 0.7;
            pose(d, plan);
            EXPECT_EQ(plan.symmetric, symmetric);
            if (c.turn < c.n[0]) {
              EXPECT_TRUE(plan.levels[0].lines[0] && plan.levels[0].lines[1]);
            }
            for (int k = 0; k < 2; ++k)
              if (part) cycle(plan, 0, part & 1, part & 2);
              else start(plan), full_multigrid(plan); // recorded at the second time
            Measure m      = measure(plan, plan.levels[0]);
            x[there]       = host(plan.levels[0].x);
            changed[there] = part & 2 ? m.changed : 0;
          }
          double most = 0, off = 0;
          for (size_t e = 0; e < x[0].size(); ++e) most = std::max(most, std::fabs(x[0][e])), off = std::max(off, std::fabs(x[0][e] - x[1][e]));
          EXPECT_GT(most, 0);
          EXPECT_LE(off, 1e-11 * most) << c.n[0] << " x " << c.n[1] << ", part " << part << ", cycle " << (int)kind;
          EXPECT_EQ(changed[0], changed[1]) << c.n[0] << " x " << c.n[1] << ", part " << part;
        }
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
  const std::vector<double> coarse_lo = host(g.lo), coarse_up = host(g.up);
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
  pose(c, plan);
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
  start(plan);
  const double first = std::sqrt(measure(plan, plan.levels[0]).natural);
  int          cycles = 0;
  do cycle(plan, 0, true, true);
  while (++cycles < 20 && std::sqrt(measure(plan, plan.levels[0]).natural) > 1e-8 * first);
  EXPECT_LE(cycles, 10);
}

// What is recorded of a cycle holds addresses and kernels: an operator of the same kind changes neither, lines do.
TEST(Vipmg, WhatIsRecordedStays)
{
  Case c = {2, {65, 60, 1}, {false, false, false}, false};
  Plan plan;
  plan.exec.space = space();
  pose(c, plan);
  const uint64_t           made = plan.made;
  const unsigned long long memory = device::allocated();
  const double *const      left = plan.levels[0].left[0].data();
  fill(c, plan);
  build(plan);
  EXPECT_EQ(plan.made, made);
  EXPECT_EQ(device::allocated(), memory);
  EXPECT_EQ(plan.levels[0].left[0].data(), left);
  c.weak = 1e-3, c.turn = 32;
  fill(c, plan);
  build(plan);
  EXPECT_EQ(plan.levels[0].step[0] + plan.levels[0].step[1], 4); // the grids are the same
  EXPECT_TRUE(plan.levels[0].lines[0] && plan.levels[0].lines[1]);
  const uint64_t with = plan.made;
  EXPECT_GT(with, made);
  c.weak = 1;
  fill(c, plan);
  build(plan);
  EXPECT_FALSE(plan.levels[0].lines[0] || plan.levels[0].lines[1]);
  EXPECT_GT(plan.made, with);
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
  pose(c, plan);
  EXPECT_FALSE(plan.symmetric);
  for (size_t k = 1; k < plan.levels.size(); ++k) {
    const Level              &l = plan.levels[k];
    const std::vector<double> a = host(l.A.a);
    const size_t              p = l.layout.size();
    for (int j = std::max(1, l.own.lo[1]); j < std::min(l.n[1] - 1, l.own.hi[1]); ++j)
      for (int i = 2; i + 1 < l.n[0]; ++i) // node 0 is fixed, and what is coupled with it
        for (int o : {0, 1, 2, 3, 5, 6, 7, 8}) {
          const double there = a[(size_t)o * p + (size_t)l.layout.at(i, j, 0)], back = a[(size_t)(8 - o) * p + (size_t)l.layout.at(i + o % 3 - 1, j + o / 3 - 1, 0)], mean = 0.5 * (there + back);
          ASSERT_LE(there, std::max(0., mean) + 1e-10) << "grid " << k << ", node " << i << ", " << j << ", offset " << o;
        }
  }
  start(plan);
  const double first = std::sqrt(measure(plan, plan.levels[0]).natural);
  int          cycles = 0;
  do cycle(plan, 0, true, true);
  while (++cycles < 40 && std::sqrt(measure(plan, plan.levels[0]).natural) > 1e-8 * first);
  EXPECT_LE(cycles, 15);
}

// Strong couplings along x on one side, along y on the other: lines, with which a cycle brings the energy x . A x / 2 - b . x down, from first to last.
TEST(Vipmg, EnergyFallsWithLines)
{
  const Case c = {2, {70, 61, 1}, {false, false, false}, false, 1e-3, false, 30};
  Plan       plan;
  plan.exec.space = space();
  pose(c, plan);
  Level &l = plan.levels[0];
  EXPECT_TRUE(l.lines[0] && l.lines[1]);
  start(plan);
  const double first  = std::sqrt(measure(plan, l).natural);
  double       before = INFINITY, natural = first;
  int          cycles = 0;
  for (; cycles < 15 && natural > 1e-8 * first; ++cycles) {
    cycle(plan, 0, false, true);
    natural = std::sqrt(measure(plan, l).natural);
    const std::vector<double> x = host(l.x), b = host(l.b), residual = host(l.r);
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
