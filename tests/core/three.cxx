// rrb in three dimensions on the host and on a device, on boxes of several processes: the parts that hang loose are
// those that a search by hand finds, and applications are the same in both spaces and on any number of processes.
// ranks: 1 2 3 4
#include "dense.hpp"
#include "rrb/three/three.hpp"
#include "unit.hpp"
#include <cmath>
#include <functional>

using namespace tessera;
using namespace tessera::rrb::three;

static Space space() { return unit_cuda() ? Space::cuda : Space::host; }

// Couplings of node (i, j, k) with the next one along d.
using Coupling = std::function<double(int d, int i, int j, int k)>;

struct Case {
  int      n[3];
  bool     periodic[3];
  Coupling coupling;
};

static double hash(int i, int j, int k)
{
  unsigned long long z = 1 + (unsigned long long)i + 1009ull * (unsigned long long)j + 1000003ull * (unsigned long long)k;
  for (int r = 0; r < 3; ++r) z = (z ^ (z >> 31)) * 0x9E3779B97F4A7C15ull;
  return (double)(z >> 12) / (double)(1ull << 52);
}

// The coupling of a node with its neighbour in direction d to side s, and the neighbour's index; 0 at a side.
static double coupling_of(const Case &c, const int q[3], int d, int s, int to[3])
{
  for (int e = 0; e < 3; ++e) to[e] = q[e];
  to[d] += s;
  if (to[d] < 0 || to[d] >= c.n[d]) {
    if (!c.periodic[d]) return 0;
    to[d] = (to[d] + c.n[d]) % c.n[d];
  }
  const int *low = s > 0 ? q : to;
  return c.coupling(d, low[0], low[1], low[2]);
}

struct Made {
  std::unique_ptr<Solver> solver;
  box::Box3               own;
};

// Sets up for the operator with these couplings and `more` on its diagonal; oblique: couplings with the nodes (1, 1, 0)
// ahead and behind, of 27 points.
static Failure setup(Made &m, const Case &c, Space where, bool refresh, double oblique, double more)
{
  const box::Grid3    &grid = m.solver->finest();
  const box::Layout3  &l    = grid.layout;
  const bool           box  = oblique > 0;
  const size_t         plane = l.size();
  const int            centre = box ? 13 : 0, star[6] = {12, 14, 10, 16, 4, 22};
  std::vector<double>  a((box ? 27 : 7) * plane, 0);
  std::vector<uint8_t> free(plane, 0);
  for (int k = m.own.lo[2]; k < m.own.hi[2]; ++k)
    for (int j = 0; j < c.n[1]; ++j)
      for (int i = 0; i < c.n[0]; ++i) {
        const int    q[3] = {i, j, k};
        const size_t e    = (size_t)l.at(q[grid.axes[0]], q[grid.axes[1]], q[grid.axes[2]]);
        int          to[3];
        const auto   add = [&](int p, double v) {
          a[(size_t)centre * plane + e] += v;
          a[(size_t)p * plane + e] = -v;
        };
        free[e] = 1;
        a[(size_t)centre * plane + e] = more;
        for (int d = 0; d < 3; ++d)
          for (int s = 0; s < 2; ++s)
            add(box ? star[2 * d + s] : 1 + 2 * d + s, coupling_of(c, q, grid.axes[d], 2 * s - 1, to));
        if (box && i + 1 < c.n[0] && j + 1 < c.n[1]) add(centre + 4, oblique * (1 + hash(i, j, k)));
        if (box && i > 0 && j > 0) add(centre - 4, oblique * (1 + hash(i - 1, j - 1, k)));
      }
  Buffer<double>  planes = copy_to(where, a);
  Buffer<uint8_t> flags  = copy_to(where, free);
  return m.solver->setup({planes.data(), flags.data(), box, false}, refresh);
}
static void set_values(Made &m, const Case &c, Space where, bool refresh, double oblique = 0)
{
  EXPECT_FALSE(setup(m, c, where, refresh, oblique, 1e-6).failed);
}

// A solver without an operator; slabs along z.
static Made create(const Case &c, Space where, const Comm &comm, const Params &params = Params())
{
  Made m;
  int  rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  std::vector<box::Box3> boxes((size_t)size);
  for (int r = 0; r < size; ++r)
    for (int d = 0; d < 3; ++d) {
      boxes[(size_t)r].lo[d] = d == 2 ? c.n[d] * r / size : 0;
      boxes[(size_t)r].hi[d] = d == 2 ? c.n[d] * (r + 1) / size : c.n[d];
    }
  m.own    = boxes[(size_t)rank];
  m.solver = make_solver(false);
  m.solver->create({where, 1}, comm, c.n, c.periodic, boxes, params);
  return m;
}
static Made make(const Case &c, Space where, const Comm &comm, const Params &params = Params())
{
  Made m = create(c, where, comm, params);
  set_values(m, c, where, false);
  return m;
}

// y = M x for x at random; all nodes, on every process.
static std::vector<double> apply(const Case &c, const Made &m, Space where, const Comm &comm)
{
  std::vector<double> x, y, all((size_t)(c.n[0] * c.n[1] * c.n[2]), 0);
  for (int k = m.own.lo[2]; k < m.own.hi[2]; ++k)
    for (int j = 0; j < c.n[1]; ++j)
      for (int i = 0; i < c.n[0]; ++i) x.push_back(hash(i, j, k) - 0.5);
  y.resize(x.size());
  Buffer<double> from = copy_to(where, x), to(Extent{x.size(), where});
  m.solver->apply(from.data(), to.data());
  copy(to.data(), where, y.data(), Space::host, y.size());
  std::copy(y.begin(), y.end(), all.begin() + (ptrdiff_t)c.n[0] * c.n[1] * m.own.lo[2]);
  MPI_Allreduce(MPI_IN_PLACE, all.data(), (int)all.size(), MPI_DOUBLE, MPI_SUM, comm);
  return all;
}

// Components of the couplings that are not small, of at least two nodes: their number.
static int components(const Case &c)
{
  const int        all = c.n[0] * c.n[1] * c.n[2];
  std::vector<int> seen((size_t)all, 0), stack;
  int              count = 0;
  for (int start = 0; start < all; ++start) {
    if (seen[(size_t)start]) continue;
    int nodes = 0;
    seen[(size_t)start] = 1;
    stack.push_back(start);
    while (!stack.empty()) {
      const int at = stack.back(), q[3] = {at % c.n[0], at / c.n[0] % c.n[1], at / c.n[0] / c.n[1]};
      stack.pop_back();
      ++nodes;
      for (int d = 0; d < 3; ++d)
        for (int s = -1; s < 2; s += 2) {
          int to[3];
          if (coupling_of(c, q, d, s, to) < 0.1) continue;
          const int next = to[0] + c.n[0] * (to[1] + c.n[1] * to[2]);
          if (!seen[(size_t)next]) seen[(size_t)next] = 1, stack.push_back(next);
        }
    }
    count += nodes > 1;
  }
  return count;
}

// Rooms behind walls, of sizes that no coarse grid meets; paths to and fro through every layer, cut in two; and
// rooms that a periodic seam joins.
static const Case cases[] = {
  {{17, 13, 22}, {false, false, false}, [](int d, int i, int j, int k) {
     return (d == 0 && i % 7 == 6) || (d == 1 && j % 5 == 4) || (d == 2 && k % 9 == 8) ? 0 : 1.;
   }},
  {{16, 15, 12}, {false, false, false}, [](int d, int i, int j, int k) {
     return d == 2 || (d == 1 && j == k) ? 0 : d == 1 ? (i == (j % 2 ? 0 : 15) ? 1. : 0) : 1.;
   }},
  {{12, 16, 20}, {true, true, true}, [](int d, int i, int j, int k) {
     return (d == 0 && (i == 2 || i == 7)) || (d == 1 && j % 8 == 3) || (d == 2 && k % 10 == 4) ? 0 : 1.;
   }},
};

TEST(Three, loose_parts_are_the_components)
{
  for (const Case &c : cases) {
    const Made m = make(c, space(), Comm(MPI_COMM_WORLD));
    EXPECT_EQ(m.solver->parts(), components(c));
    EXPECT_GT(m.solver->parts(), 1);
  }
}

// An application here, and by one process on its host.
static void expect_same_applications(const Case &c, const Params &params)
{
  const Comm                here(MPI_COMM_WORLD), alone(MPI_COMM_SELF);
  const std::vector<double> x = apply(c, make(c, space(), here, params), space(), here),
                            y = apply(c, make(c, Space::host, alone, params), Space::host, alone);
  double largest = 0, difference = 0;
  for (size_t k = 0; k < x.size(); ++k) {
    largest    = std::max(largest, std::abs(y[k]));
    difference = std::max(difference, std::abs(x[k] - y[k]));
  }
  EXPECT_GT(largest, 0);
  EXPECT_LT(difference, 1e-9 * largest);
}

TEST(Three, applications_are_the_same_in_both_spaces_and_on_any_number_of_processes)
{
  for (const Case &c : cases) expect_same_applications(c, Params());
}

// Grids with few nodes along x, whose hierarchy has another direction in its place: the same as of the problem that is
// turned so.
static const Case narrow[] = {
  {{3, 41, 40}, {false, false, false}, [](int d, int i, int j, int k) { return 1 + hash(i + 200 * d, j, k); }},
  {{9, 20, 40}, {false, true, false}, [](int d, int i, int j, int k) {
     return (1 + hash(i, j, k)) * (d == 0 ? 1e-2 : 1);
   }},
  {{4, 50, 11}, {true, false, false}, [](int d, int i, int j, int) {
     return (d == 1 && j % 9 == 8) || (d == 0 && i == 3) ? 0 : 1.;
   }},
  {{2, 10, 130}, {false, false, false}, [](int d, int, int j, int) { return d == 1 && j == 4 ? 1e-9 : 1 + 0.5 * d; }},
};

TEST(Three, short_rows_are_turned)
{
  const Comm here(MPI_COMM_WORLD), alone(MPI_COMM_SELF);
  for (const Case &c : narrow) {
    const Made       m = make(c, space(), here);
    const int *const a = m.solver->finest().axes;
    EXPECT_EQ(c.n[a[0]], std::max(c.n[1], c.n[2]));
    Case turned{
      {c.n[a[0]],        c.n[a[1]],        c.n[a[2]]       },
      {c.periodic[a[0]], c.periodic[a[1]], c.periodic[a[2]]},
      {}
    };
    const auto along = [a](int axis, int i, int j, int k) { return axis == a[0] ? i : axis == a[1] ? j : k; };
    turned.coupling  = [&](int d, int i, int j, int k) {
      return c.coupling(a[d], along(0, i, j, k), along(1, i, j, k), along(2, i, j, k));
    };
    Made other = make(turned, Space::host, alone);
    EXPECT_EQ(other.solver->finest().axes[0], 0);
    EXPECT_EQ(m.solver->parts(), other.solver->parts());
    for (size_t g = 0; g < m.solver->report().size(); ++g)
      for (int d = 0; d < 3; ++d) {
        EXPECT_EQ(m.solver->report()[g].n[a[d]], other.solver->report()[g].n[d]);
        EXPECT_EQ(m.solver->report()[g].step[a[d]], other.solver->report()[g].step[d]);
      }
    const auto in_matrix = [&](int p) { // of a number on the turned grid
      const int q[3] = {p % turned.n[0], p / turned.n[0] % turned.n[1], p / turned.n[0] / turned.n[1]};
      return along(0, q[0], q[1], q[2]) + c.n[0] * (along(1, q[0], q[1], q[2]) + c.n[1] * along(2, q[0], q[1], q[2]));
    };
    std::vector<double> x((size_t)(c.n[0] * c.n[1] * c.n[2])), y(x.size());
    for (size_t p = 0; p < x.size(); ++p) {
      const int q = in_matrix((int)p);
      x[p] = hash(q % c.n[0], q / c.n[0] % c.n[1], q / c.n[0] / c.n[1]) - 0.5;
    }
    other.solver->apply(x.data(), y.data());
    const std::vector<double> z = apply(c, m, space(), here);
    double                    largest = 0;
    for (double v : y) largest = std::max(largest, std::abs(v));
    for (size_t p = 0; p < x.size(); ++p) ASSERT_NEAR(z[(size_t)in_matrix((int)p)], y[p], 1e-9 * largest);
    // rounding, which differs between spaces, decides which pivot of the last grid is the least
    Made          wrong = create(c, space(), here), same = create(turned, space(), alone);
    const Failure f     = setup(wrong, c, space(), false, 0, -0.4),
                  g     = setup(same, turned, space(), false, 0, -0.4);
    EXPECT_TRUE(f.failed && g.failed);
    EXPECT_EQ(f.grid, g.grid);
    for (int d = 0; d < 3; ++d) EXPECT_EQ(f.node[a[d]], g.node[d]);
  }
}

// Lists of parts stay for other values with the same walls, and do not where walls move, in number or not.
TEST(Three, loose_parts_of_other_values_are_those_of_a_fresh_setup)
{
  const Comm here(MPI_COMM_WORLD);
  const auto walls = [](int at, double size) {
    return Case{
      {17, 13, 22},
      {false, false, false},
      [at, size](int d, int i, int j, int k) {
        const bool wall = (d == 0 && i % 7 == at) || (d == 1 && j % 5 == 4) || (d == 2 && k % 9 == 8);
        return wall ? 0 : 1 + size * hash(i + 200 * d, j, k);
      }
    };
  };
  Made m = make(walls(6, 0), space(), here);
  for (const Case &c : {walls(6, 0.5), walls(6, 0.2), walls(5, 0.2), walls(5, 0.4), walls(1, 0)}) {
    set_values(m, c, space(), true);
    const Made                fresh = make(c, space(), here);
    const std::vector<double> x = apply(c, m, space(), here), y = apply(c, fresh, space(), here);
    EXPECT_EQ(m.solver->parts(), components(c));
    EXPECT_GT(m.solver->parts(), 1);
    for (size_t p = 0; p < x.size(); ++p) ASSERT_NEAR(x[p], y[p], 1e-9 * std::abs(y[p]) + 1e-9);
  }
}

// A direction that is weak stays as it is on the first coarse grids, so small grids are coarsened in one to three.
// The last of these has three small grids, the second of which a W-cycle visits twice.
static const Case weak[] = {
  {{33, 31, 35}, {false, false, false}, [](int, int, int, int) { return 1.; }},
  {{19, 40, 9}, {false, false, false}, [](int d, int, int, int) { return d == 0 ? 1e-2 : 1.; }},
  {{21, 18, 64}, {false, false, false}, [](int d, int, int, int) { return d == 1 ? 1e-3 : d == 2 ? 1. : 1e-2; }},
  {{9, 40, 40}, {false, false, false}, [](int d, int, int, int) { return d == 0 ? 1e-4 : 1.; }},
};

TEST(Three, small_grids_do_the_same_as_one_matrix_of_a_device)
{
  for (const Case &c : weak)
    for (Cycle cycle : {Cycle::v, Cycle::w})
      for (int degree : {1, 2, 3}) {
        Params params;
        params.cycle  = cycle;
        params.degree = degree;
        expect_same_applications(c, params);
        params.visits_once = 500;
        if (cycle == Cycle::w) expect_same_applications(c, params);
      }
}

// Rows of equal couplings, which a device reads once: everywhere; in stretches that end at two nodes of some rows, ahead
// of one and behind another; and with couplings that differ from row to row, where nodes without couplings end them.
static const Case alike[] = {
  {{131, 9, 8}, {false, false, false}, [](int, int, int, int) { return 1.; }},
  {{150, 7, 9}, {false, true, false}, [](int d, int i, int j, int k) {
     return (d == 0 && i == 40 && j % 3 == 1) || (d == 1 && i == 97 && k % 4 == 2) ? 3. : 1.;
   }},
  {{122, 10, 6}, {true, false, false}, [](int d, int i, int j, int k) {
     const bool hole = (i == 61 || i == 62) && j == 4, beside = d == 0 && i == 60 && j == 4;
     return hole || beside || (d == 1 && j == 3 && (i == 61 || i == 62)) ? 0 : 1 + hash(d, j, k);
   }},
};

TEST(Three, equal_rows_do_the_same_in_both_spaces)
{
  for (const Case &c : alike) expect_same_applications(c, Params());
}

TEST(Three, nothing_of_equal_rows_stays_where_rows_differ)
{
  const Comm here(MPI_COMM_WORLD);
  const auto expect_like = [&](const Made &m, const Made &fresh) {
    const std::vector<double> x = apply(alike[0], m, space(), here), y = apply(alike[0], fresh, space(), here);
    for (size_t k = 0; k < x.size(); ++k) ASSERT_NEAR(x[k], y[k], 1e-10 * std::abs(y[k]) + 1e-12);
  };
  Case other     = alike[0];
  other.coupling = [](int d, int i, int j, int k) { return 1 + 0.1 * hash(i + 200 * d, j, k); };
  Made m         = make(alike[0], space(), here);
  set_values(m, other, space(), true);
  expect_like(m, make(other, space(), here));
  set_values(m, alike[0], space(), true);
  set_values(m, other, space(), false, 0.2); // of 27 points
  Made fresh = create(other, space(), here);
  set_values(fresh, other, space(), false, 0.2);
  expect_like(m, fresh);
}

// So many nodes that a thread of a device takes several at once: half rows of lengths that are no multiple of these,
// with couplings that differ everywhere, equal rows with a hole, and a periodic direction.
static const Case large[] = {
  {{71, 61, 72}, {false, false, false}, [](int d, int i, int j, int k) { return 1 + hash(i + 200 * d, j, k); }},
  {{122, 52, 50}, {false, false, false}, [](int d, int i, int j, int k) {
     const bool hole = i > 50 && i < 60 && j > 10 && j < 20 && k > 30;
     return hole || (d == 0 && i == 50 && j > 10 && j < 20 && k > 30) ? 0 : 1 + 0.5 * d;
   }},
  {{66, 68, 70}, {true, false, true}, [](int d, int i, int j, int k) { return 1 + hash(i + 200 * d, j, k); }},
};

TEST(Three, several_nodes_at_once_do_the_same)
{
  for (const Case &c : large) expect_same_applications(c, Params());
}

// Numbers of three iterations with the system of the black nodes, and the solution.
static std::vector<double> iterate(const Case &c, Space where)
{
  const Comm comm(MPI_COMM_SELF);
  Params     params;
  params.reduced = true;
  const Made           m = make(c, where, comm, params);
  Reduced *const       s = m.solver->reduced();
  std::vector<double>  b((size_t)(c.n[0] * c.n[1] * c.n[2])), found;
  for (size_t k = 0; k < b.size(); ++k) b[k] = hash((int)k, 1, 2) - 0.5;
  const Buffer<double> right = copy_to(where, b);
  Buffer<double>       y     = copy_to(where, b);
  s->begin(right.data(), 0);
  s->add_null(nullptr);
  for (int k = 0; k < 3; ++k) {
    const double before = k ? found[found.size() - 3] : 0, rz = s->precondition();
    s->direction(k ? rz / before : 0);
    const double pq = s->multiply();
    for (double v : {rz, pq, s->step(rz / pq)}) found.push_back(v);
  }
  s->solution(right.data(), y.data());
  copy(y.data(), where, b.data(), Space::host, b.size());
  found.insert(found.end(), b.begin(), b.end());
  return found;
}

TEST(Three, iterations_with_several_nodes_at_once_are_the_same)
{
  for (const Case &c : large) {
    const std::vector<double> x = iterate(c, space()), y = iterate(c, Space::host);
    double                    largest = 0;
    for (double v : y) largest = std::max(largest, std::abs(v));
    for (size_t k = 0; k < x.size(); ++k) ASSERT_NEAR(x[k], y[k], 1e-8 * (k < 9 ? std::abs(y[k]) : largest));
  }
}

TEST(Three, iterations_of_turned_grids_are_the_same)
{
  for (const Case &c : narrow) {
    if (c.periodic[0] || c.periodic[1]) continue; // null vectors and seams are not what is asked
    const std::vector<double> x = iterate(c, space()), y = iterate(c, Space::host);
    double                    largest = 0;
    for (double v : y) largest = std::max(largest, std::abs(v));
    for (size_t k = 0; k < x.size(); ++k) ASSERT_NEAR(x[k], y[k], 1e-8 * (k < 9 ? std::abs(y[k]) : largest));
  }
}

static Made make_black(const Case &c)
{
  const Comm comm(MPI_COMM_SELF);
  Params     params;
  params.reduced = true;
  return make(c, space(), comm, params);
}

TEST(Three, an_iteration_at_once_is_its_parts)
{
  for (const Case &c : weak) {
    const Made           m = make_black(c);
    Reduced *const       s = m.solver->reduced();
    std::vector<double>  b((size_t)(c.n[0] * c.n[1] * c.n[2]));
    for (size_t k = 0; k < b.size(); ++k) b[k] = hash((int)k, 1, 2) - 0.5;
    const Buffer<double> right = copy_to(space(), b);
    ASSERT_NE(s, nullptr);
    EXPECT_EQ(s->at_once(), space() == Space::cuda);
    std::vector<Reduced::Iteration> parts;
    double                          before = 0;
    s->begin(right.data(), 0);
    s->add_null(nullptr);
    for (int k = 0; k < 3; ++k) {
      Reduced::Iteration it;
      it.rz = s->precondition();
      s->direction(k ? it.rz / before : 0);
      it.pq  = s->multiply();
      it.rr  = s->step(it.rz / it.pq);
      before = it.rz;
      parts.push_back(it);
    }
    if (!s->at_once()) continue;
    for (int ahead : {1, 2, 3}) {
      s->begin(right.data(), 0);
      s->add_null(nullptr);
      for (const Reduced::Iteration &it : parts) {
        const Reduced::Iteration again = s->iterate(ahead);
        EXPECT_NEAR(again.rz, it.rz, 1e-10 * it.rz);
        EXPECT_NEAR(again.pq, it.pq, 1e-10 * it.pq);
        EXPECT_NEAR(again.rr, it.rr, 1e-10 * it.rr);
      }
    }
  }
}

// The system of the black nodes, and a right-hand side.
struct Black {
  Made                m;
  Reduced            *s;
  std::vector<double> b;
  Buffer<double>      right, y;
  Black(const Case &c, std::vector<double> values) : m(make_black(c)), s(m.solver->reduced()), b(std::move(values))
  {
    right = copy_to(space(), b), y = copy_to(space(), b);
  }
  std::vector<double> solution()
  {
    std::vector<double> x(b.size());
    s->solution(right.data(), y.data());
    copy(y.data(), space(), x.data(), Space::host, x.size());
    return x;
  }
};

// The solution after some iterations that are launched together, of which those beyond `enough` change nothing.
TEST(Three, iterations_ahead_end_where_the_residual_is_small)
{
  const Case         &c = weak[0];
  std::vector<double> b((size_t)(c.n[0] * c.n[1] * c.n[2]));
  for (size_t k = 0; k < b.size(); ++k) b[k] = hash((int)k, 1, 2) - 0.5;
  Black black(c, b);
  if (!black.s->at_once()) GTEST_SKIP() << "the host works step by step";
  const auto solution = [&](double enough, int ahead, int seen) {
    black.s->begin(black.right.data(), enough);
    double rr = 0;
    for (int k = 0; k < seen; ++k) rr = black.s->iterate(ahead).rr;
    std::vector<double> x = black.solution();
    x.push_back(rr);
    return x;
  };
  const std::vector<double> two = solution(0, 1, 2), three = solution(0, 3, 3);
  EXPECT_EQ(solution(std::sqrt(two.back()), 5, 2), two);
  EXPECT_EQ(solution(0, 1, 3), three);
  EXPECT_NE(two, three);
}

// b is not finite at one black node: the device's iteration must not move x.
TEST(Three, an_iteration_that_is_no_step_leaves_the_solution)
{
  const Case         &c = weak[0];
  std::vector<double> b((size_t)(c.n[0] * c.n[1] * c.n[2]), 1);
  b[1] = std::nan("");
  Black black(c, b);
  if (!black.s->at_once()) GTEST_SKIP() << "the host works step by step";
  black.s->begin(black.right.data(), 0);
  EXPECT_FALSE(std::isfinite(black.s->iterate(3).rz));
  for (double v : black.solution()) ASSERT_TRUE(std::isfinite(v));
}
