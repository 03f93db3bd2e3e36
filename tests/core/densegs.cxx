// Dense Gauss-Seidel: all strategies, orders and precisions against sweeps written from the definition.
#include "densegs_case.hpp"

using namespace tessera;
using namespace tessera::densegs;

namespace {

// Sweeps in the order that the plan says, one row after the other; the changes of each.
std::vector<double> reference(const Case &c, const Plan &plan, bool bounds, int first, int sweeps, std::vector<double> &x)
{
  Panels              shape;
  Sequence            s;
  std::vector<double> changes;
  shape.n      = c.n;
  shape.stride = (c.n + height - 1) / height * height;
  shape.count  = shape.stride / height;
  for (int k = 0; k < sweeps; ++k) {
    double change = 0;
    sequence(shape, plan.params.order, first + k, s);
    for (int p : s.outer)
      for (int r : s.inner) {
        const int i = p * height + r;
        if (i >= c.n) continue;
        double w = c.q[(size_t)i];
        for (int j = 0; j < c.n; ++j) w += (plan.params.single ? (double)(float)c.at(i, j) : c.at(i, j)) * x[(size_t)j];
        double v = x[(size_t)i] - plan.params.omega * w / (plan.params.single ? (double)(float)c.at(i, i) : c.at(i, i));
        if (bounds) v = std::fmin(std::fmax(v, c.lower[(size_t)i]), c.upper[(size_t)i]);
        change += std::fabs(v - x[(size_t)i]);
        x[(size_t)i] = v;
      }
    changes.push_back(change);
  }
  return changes;
}

std::vector<double> run(Plan &plan, const Case &c, bool bounds, int sweeps, const std::vector<double> &start, std::vector<double> *changes = nullptr, double tolerance = -1, int *made = nullptr)
{
  Request             r;
  std::vector<double> change((size_t)sweeps);
  plan.x.zero();
  send(start, plan.x);
  r.q = plan.q.data();
  if (bounds) {
    r.lower = plan.lower.data();
    r.upper = plan.upper.data();
  }
  r.x         = plan.x.data();
  r.sweeps      = sweeps;
  r.zero      = start.empty();
  r.tolerance = tolerance;
  if (changes) r.change = change.data();
  const int count = sweep(plan, r);
  if (made) *made = count;
  if (changes) *changes = std::vector<double>(change.begin(), change.begin() + count);
  return fetch(plan.x, c.n);
}

double difference(const std::vector<double> &a, const std::vector<double> &b)
{
  double d = 0, m = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double e = std::fabs(a[i] - b[i]);
    if (!(e <= d)) d = std::isfinite(e) ? e : INFINITY;
    m = std::max(m, std::fabs(a[i]));
  }
  return m > 0 ? d / m : d;
}

const Strategy exact[] = {Strategy::sequential, Strategy::row, Strategy::column, Strategy::block, Strategy::graph, Strategy::graph2};
const Order    orders[] = {Order::forward, Order::backward, Order::symmetric, Order::random};

} // namespace

TEST(DenseGS, EveryStrategyGivesTheSequentialIterates)
{
  for (int n : {1, 2, 63, 64, 65, 130, 257, 500})
    for (Order order : orders)
      for (bool bounds : {false, true})
        for (double omega : {1.0, 1.3}) {
          const Case c(n, n % 2 == 0, n);
          if (omega != 1 && n != 130 && n != 257) continue;
          for (bool warm : {false, true}) {
            std::vector<double> start, expected((size_t)n);
            if (warm)
              for (int i = 0; i < n; ++i) start.push_back(std::sin(3. * i));
            if (warm) expected = start;
            Plan form;
            form.params.order = order;
            form.params.omega = omega;
            const std::vector<double> changes = reference(c, form, bounds, 0, 5, expected);
            for (Strategy s : exact) {
              if ((s == Strategy::row || s == Strategy::column) && unit_cuda() && n > 130) continue; // a launch for every row
              for (int threads : {1, 2, 3}) {
                if (threads > 1 && (unit_cuda() || n > 300 || omega != 1)) continue;
                if (threads > 2 && n != 257) continue; // barriers of more threads than cores take their time
                if (threads > 1 && (s == Strategy::row || s == Strategy::column) && n > 70) continue;
                Plan                plan;
                Params              params;
                std::vector<double> seen;
                params.strategy = s;
                params.order    = order;
                params.omega    = omega;
                make(plan, c, params, threads);
                EXPECT_LT(difference(expected, run(plan, c, bounds, 5, start, &seen)), 1e-13) << "n " << n << " strategy " << (int)s << " order " << (int)order << " bounds " << bounds << " warm " << warm << " threads " << threads;
                ASSERT_EQ(seen.size(), changes.size());
                for (size_t k = 0; k < seen.size(); ++k) EXPECT_NEAR(seen[k], changes[k], 1e-12 * (changes[0] + 1)) << "n " << n << " sweep " << k << " strategy " << (int)s << " order " << (int)order;
              }
            }
          }
        }
}

TEST(DenseGS, LargeAndSingle)
{
  for (int n : {1000, 2100, 4999}) {
    const Case c(n, false, 5);
    for (bool single : {false, true})
      for (Order order : orders) {
        std::vector<double> expected((size_t)n);
        Plan                form;
        form.params.order  = order;
        form.params.single = single;
        if (n > 2000 && (order != Order::symmetric || (n > 4000 && single))) continue;
        (void)reference(c, form, true, 0, 3, expected);
        for (Strategy s : {Strategy::block, Strategy::graph, Strategy::graph2}) {
          Plan   plan;
          Params params;
          params.strategy = s;
          params.order    = order;
          params.single   = single;
          make(plan, c, params, 2);
          EXPECT_LT(difference(expected, run(plan, c, true, 3, {})), 1e-12) << n << " strategy " << (int)s << " order " << (int)order << " single " << single;
        }
      }
  }
}

// More panels than a device has room for at a time: 16896 unknowns on an H200.
TEST(DenseGS, SeveralPanelsABlock)
{
#if !defined(TESSERA_HAVE_CUDA)
  GTEST_SKIP() << "on a device";
#else
  if (!unit_cuda()) GTEST_SKIP() << "on a device";
  const int      n = 20000;
  Buffer<float>  a(Extent{(size_t)n * (size_t)n, Space::host});
  std::vector<double> x;
  // A matrix that is cheap to make: -1 / (1 + |i - j|) off the diagonal. In single precision, as memory is short here.
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) a.data()[(size_t)j * n + i] = i == j ? 30 : -1.f / (1 + std::abs(i - j));
  for (int s = 0; s < 6; ++s) {
    Plan   plan;
    Params params;
    params.strategy = s % 2 ? Strategy::block : Strategy::graph2;
    params.order    = orders[s / 2 == 2 ? 3 : 2 * (s / 2)];
    params.single   = true;
    plan.exec.space = Space::cuda;
    create(plan, n, params);
    std::vector<float> row;
    for (int p = 0; p < plan.panels.count; ++p) { // by panels, as fill() would
      row.assign((size_t)height * (size_t)plan.panels.stride, 0);
      for (int j = 0; j < n; ++j)
        for (int r = 0; r < height && p * height + r < n; ++r) row[(size_t)j * height + (size_t)r] = a.data()[(size_t)j * n + (size_t)(p * height + r)];
      device::copy_from_host(plan.panels.s.data() + (size_t)p * row.size(), row.data(), row.size() * sizeof(float));
      device::synchronize();
    }
    std::vector<double> inverse((size_t)n, 1. / 30), q((size_t)n), high((size_t)n, 0.05);
    for (int i = 0; i < n; ++i) q[(size_t)i] = std::sin(3. * i);
    send(inverse, plan.panels.inverse);
    send(q, plan.q);
    send(high, plan.upper);
    Case none(1);
    none.n = n;
    const std::vector<double> got = run(plan, none, true, 4, {});
    if (s % 2) {
      EXPECT_LT(difference(x, got), 1e-12) << "order " << s / 2;
    } else x = got;
  }
#endif
}

TEST(DenseGS, TheSameBitsAgain)
{
  const Case c(700, true, 9);
  for (Strategy s : {Strategy::block, Strategy::graph, Strategy::graph2})
    for (Order order : orders) {
      Params params;
      params.strategy = s;
      params.order    = order;
      std::vector<double> first;
      for (int k = 0; k < 4; ++k) {
        Plan plan;
        make(plan, c, params, 1 + k % 3);
        std::vector<double> x = run(plan, c, true, 6, {});
        const std::vector<double> y = run(plan, c, true, 6, {}); // the same plan again
        EXPECT_EQ(x, y);
        if (k) EXPECT_EQ(first, x) << "strategy " << (int)s << " order " << (int)order << " threads " << 1 + k % 3;
        else first = x;
      }
    }
}

// Blocks that lose patience with each other: all kernels that wait end, leave no numbers and say so, and the next sweeps are as before.
TEST(DenseGS, WaitsInVainEnd)
{
#if !defined(TESSERA_HAVE_CUDA)
  GTEST_SKIP() << "on a device";
#else
  if (!unit_cuda()) GTEST_SKIP() << "on a device";
  const Case c(700, true, 9);
  for (Strategy s : {Strategy::graph, Strategy::graph2})
    for (Order order : orders) {
      Plan                plan;
      Params              params;
      std::vector<double> changes;
      params.strategy = s;
      params.order    = order;
      make(plan, c, params, 1);
      const std::vector<double> x = run(plan, c, true, 4, {});
      EXPECT_NO_THROW(await_end(plan, 4));
      const unsigned patience = plan.patience;
      plan.patience = 1;
      const std::vector<double> none = run(plan, c, true, 4, {});
      EXPECT_TRUE(std::any_of(none.begin(), none.end(), [](double v) { return std::isnan(v); }));
      EXPECT_THROW(await_end(plan, 4), DeviceError);
      EXPECT_THROW((void)run(plan, c, true, 4, {}, &changes), DeviceError);
      plan.patience = patience;
      EXPECT_EQ(x, run(plan, c, true, 4, {})) << "strategy " << (int)s << " order " << (int)order;
      EXPECT_NO_THROW(await_end(plan, 4));
    }
  Plan         plan;
  const int    block = 3, panels = contact_panels(c.n / block * block, block);
  plan.exec.space   = Space::cuda;
  plan.params.order = Order::symmetric;
  create(plan, panels * height, plan.params);
  Buffer<double> a(Extent{c.a.size(), Space::cuda}), mu(plan.x.extent());
  send(c.a, a);
  fill_contacts(plan, a.data(), c.n, c.n / block * block, block);
  plan.patience = 1;
  EXPECT_THROW((void)sweep_contacts(plan, block, mu.data(), plan.q.data(), plan.x.data(), 0, 2), DeviceError);
#endif
}

// Unknowns at a bound of zero: the iterates are those of the definition, and on the host nobody reads their columns, which may then hold anything.
TEST(DenseGS, ColumnsOfZerosAreNotRead)
{
  Case c(200, false, 3);
  for (int i = 0; i < c.n; ++i) {
    c.lower[(size_t)i] = 0;
    if (i % 3) c.q[(size_t)i] = 1e3 * c.n; // so that it stays there
  }
  for (Strategy strategy : exact)
    for (Order order : orders) {
      Plan                plan;
      Params              params;
      std::vector<double> x((size_t)c.n);
      params.strategy = strategy;
      params.order    = order;
      make(plan, c, params, 2);
      const std::vector<double> got = run(plan, c, true, 6, {});
      (void)reference(c, plan, true, 0, 6, x);
      EXPECT_LT(difference(x, got), 1e-11) << (int)strategy << " " << (int)order;
      if (unit_cuda() || strategy == Strategy::row || strategy == Strategy::column) continue;
      Case wrong(c);
      for (int j = 0; j < c.n; ++j)
        for (int i = 0; i < c.n; ++i)
          if (j % 3 && i != j) wrong.at(i, j) = NAN;
      fill(plan, wrong.a.data(), c.n, Space::host);
      EXPECT_EQ(run(plan, c, true, 6, {}), got) << (int)strategy << " " << (int)order;
    }
}

TEST(DenseGS, EndsWhereChangesAreSmall)
{
  const Case c(300, true, 3);
  for (Strategy s : {Strategy::sequential, Strategy::block, Strategy::graph, Strategy::graph2})
    for (Order order : orders) {
      Plan                plan;
      Params              params;
      std::vector<double> changes;
      int                 made;
      params.strategy = s;
      params.order    = order;
      make(plan, c, params, 2);
      (void)run(plan, c, true, 500, {}, &changes, 1e-8, &made);
      ASSERT_EQ((size_t)made, changes.size());
      ASSERT_LT(made, 500);
      for (int k = 0; k + 1 < made; ++k) EXPECT_GT(changes[(size_t)k], 1e-8);
      EXPECT_LE(changes.back(), 1e-8);
    }
}

TEST(DenseGS, DivergenceIsSeen)
{
  Case c(200);
  for (int j = 0; j < c.n; ++j)
    for (int i = 0; i < c.n; ++i) c.at(i, j) = i == j ? 1 : -1; // grows without bound
  for (double &v : c.q) v = -1;
  for (double &v : c.upper) v = HUGE_VAL;
  for (Strategy s : {Strategy::sequential, Strategy::block, Strategy::graph, Strategy::graph2}) {
    Plan                plan;
    Params              params;
    std::vector<double> changes;
    int                 made;
    params.strategy = s;
    make(plan, c, params, 2);
    (void)run(plan, c, true, 400, {}, &changes, 1e-8, &made);
    EXPECT_LT(made, 400) << (int)s;
  }
}

TEST(DenseGS, Residual)
{
  for (int n : {1, 64, 131, 500})
    for (bool single : {false, true}) {
      const Case          c(n, false, 4);
      Plan                plan;
      Params              params;
      std::vector<double> x, expected;
      params.single = single;
      make(plan, c, params, 2);
      for (int i = 0; i < n; ++i) x.push_back(std::cos(2. * i));
      for (int i = 0; i < n; ++i) {
        double w = c.q[(size_t)i];
        for (int j = 0; j < n; ++j) w += (single ? (double)(float)c.at(i, j) : c.at(i, j)) * x[(size_t)j];
        expected.push_back(w);
      }
      plan.x.zero();
      send(x, plan.x);
      residual(plan, plan.q.data(), plan.x.data(), plan.before.data());
      EXPECT_LT(difference(expected, fetch(plan.before, n)), 1e-13);
    }
}

TEST(DenseGS, MatricesAreLookedAt)
{
  Case c(150, true, 8);
  Plan plan;
  make(plan, c, {}, 1);
  Buffer<double> there(Extent{c.a.size(), plan.exec.space});
  auto look = [&] {
    send(c.a, there);
    return check(plan, there.data(), c.n, plan.exec.space);
  };
  EXPECT_EQ(look().bad_row, -1);
  EXPECT_LT(look().asymmetry, 1e-15);
  c.at(140, 3) += 0.5;
  EXPECT_NEAR(look().asymmetry, 0.5 / look().largest, 1e-12);
  c.at(77, 77) = -2;
  EXPECT_EQ(look().zero_diagonal, -1);
  c.at(99, 99) = 0;
  EXPECT_EQ(look().zero_diagonal, 99);
  c.at(140, 3) = 1e3;
  EXPECT_EQ(look().largest, 1e3);
  c.at(3, 140) = 1e4;
  EXPECT_EQ(look().largest, 1e4);
  c.at(5, 120) = NAN;
  EXPECT_EQ(look().bad_row, 5);
  EXPECT_EQ(look().bad_column, 120);
}
