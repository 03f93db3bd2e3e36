// Linear complementarity problems and friction with a dense matrix: sweeps over contacts, products, factorisations and batches against the
// definitions.
#include "densegs/contact.hpp"
#include "densegs/lcp.hpp"
#include "densegs_case.hpp"

using namespace tessera;
using namespace tessera::densegs;

// M = ones and q = -1: simultaneous sweeps flip between 0 and 1 for ever, as the emulated device's relaxed ones do.
TEST(LCP, RelaxedSweepsFallBack)
{
  const int           n = 200;
  Case                c(n);
  Plan                plan;
  lcp::Problem        p;
  lcp::Matrix         matrix;
  lcp::Params         params;
  std::vector<double> x((size_t)n), zero((size_t)n), high((size_t)n, HUGE_VAL);
  std::fill(c.a.begin(), c.a.end(), 1);
  std::fill(c.q.begin(), c.q.end(), -1);
  params.sweeps.strategy = Strategy::relaxed;
  params.newton          = false;
  make(plan, c, params.sweeps, 1);
  p.n     = n;
  (void)lcp::create(matrix, MPI_COMM_SELF, n, n, c.a.data(), n, Space::host, 1);
  p.matrix = &matrix;
  p.q     = c.q.data();
  p.lower = zero.data();
  p.upper = high.data();
  const lcp::Report r = lcp::solve(plan, p, params, x.data(), [](const lcp::Report &, double natural, const double *) { return natural < 1e-12; });
  EXPECT_EQ(r.reason, lcp::Reason::stopped);
  EXPECT_LT(r.certificate.natural, 1e-12);
#ifdef TESSERA_EMULATE_DEVICE
  if (unit_cuda()) {
    EXPECT_TRUE(r.fell_back);
  }
#endif
}

// Sweeps over contacts with friction against those from the definition, in every order that a device knows; some contacts are open, some
// stick, some slide.
TEST(LCP, Contacts)
{
  for (int d : {2, 3})
    for (int contacts : {1, 20, 21, 33, 70})
      for (Order order : {Order::forward, Order::backward, Order::symmetric}) {
        const int           n = d * contacts, sweeps = 5;
        Case                c(n, order != Order::backward, n); // as real ones are not quite symmetric
        std::vector<double> x((size_t)n), got((size_t)n), mu((size_t)contacts);
        Buffer<double>      there(Extent{c.a.size(), unit_cuda() ? Space::cuda : Space::host});
        lcp::Matrix         matrix;
        lcp::Problem        p;
        lcp::Params         params;
        lcp::Report         report;
        int                 sliding = 0;
        for (int k = 0; k < contacts; ++k) mu[(size_t)k] = k % 5 ? 0.1 * (k % 5) : 0;
        for (int k = 0; k < sweeps; ++k)
          for (int s = 0; s < contacts; ++s) {
            const bool back = order == Order::backward || (order == Order::symmetric && k % 2);
            const int  i0 = (back ? contacts - 1 - s : s) * d;
            double     a[9] = {}, w[3] = {}, v[3] = {};
            for (int i = 0; i < d; ++i) {
              w[i] = c.q[(size_t)(i0 + i)];
              for (int j = 0; j < n; ++j)
                if (j < i0 || j >= i0 + d) w[i] += c.at(i0 + i, j) * x[(size_t)j];
              for (int j = 0; j < d; ++j) a[j * d + i] = c.at(i0 + i, i0 + j);
            }
            ASSERT_TRUE(d == 2 ? solve_contact<2>(a, w, mu[(size_t)(i0 / d)], v) : solve_contact<3>(a, w, mu[(size_t)(i0 / d)], v));
            double t = 0, velocity = 0, u[3] = {};
            for (int i = 0; i < d; ++i) {
              x[(size_t)(i0 + i)] = 0.9 * v[i] + 0.1 * x[(size_t)(i0 + i)];
              double &now = u[i] = w[i];
              for (int j = 0; j < d; ++j) now += a[j * d + i] * v[j];
              if (i) {
                t += v[i] * v[i];
                velocity += now * now;
              } else {
                EXPECT_TRUE(v[0] > 0 ? std::fabs(now) < 1e-9 * n : now >= 0);
              }
            }
            EXPECT_LE(std::sqrt(t), mu[(size_t)(i0 / d)] * v[0] * (1 + 1e-9) + 1e-300);
            EXPECT_NEAR(v[1] * u[2], v[2] * u[1], 1e-9 * n) << "sliding is not against the force";
            sliding += t > 0 && velocity > 1e-12;
          }
        EXPECT_TRUE(contacts < 20 || sliding > 0);
        send(c.a, there);
        matrix.exec.space = there.space();
        (void)lcp::create(matrix, MPI_COMM_SELF, n, n, there.data(), n, there.space(), d);
        p.n                 = n;
        p.matrix            = &matrix;
        p.q                 = c.q.data();
        p.block             = d;
        p.mu                = mu.data();
        params.newton       = false;
        params.check        = sweeps;
        params.sweeps.order = order;
        params.sweeps.omega = 0.9;
        std::vector<double> start((size_t)n);
        (void)lcp::friction(p, params, start.data(), report, [&](const lcp::Report &, double, const double *now) {
          got.assign(now, now + n);
          return true;
        });
        double difference = 0, largest = 0;
        for (size_t i = 0; i < got.size(); ++i) {
          difference = std::max(difference, std::fabs(got[i] - x[i]));
          largest    = std::max(largest, std::fabs(x[i]));
        }
        EXPECT_LE(difference, 1e-11 * largest) << d << " x " << contacts << " order " << (int)order;
      }
}

// Products and factorisations where the matrix is.
TEST(LCP, Matrix)
{
  for (bool symmetric : {true, false}) {
    const int           n = 150;
    Case                c(n, symmetric, 5);
    Buffer<double>      there(Extent{c.a.size(), unit_cuda() ? Space::cuda : Space::host});
    lcp::Matrix         m;
    lcp::Factor         factor;
    std::vector<double> x((size_t)n), w((size_t)n), t((size_t)n), b;
    std::vector<int>    index;
    send(c.a, there);
    m.exec.space = there.space();
    const Check found = lcp::create(m, MPI_COMM_SELF, n, n, there.data(), n, there.space(), 1);
    EXPECT_EQ(found.bad_row, -1);
    EXPECT_EQ(m.asymmetry == 0, symmetric);
    for (int i = 0; i < n; ++i) x[(size_t)i] = std::sin(i);
    lcp::multiply(m, c.q.data(), x.data(), w.data());
    lcp::transposed(m, x.data(), t.data());
    for (int i = 0; i < n; ++i) {
      double right = c.q[(size_t)i], down = 0;
      for (int j = 0; j < n; ++j) {
        right += c.at(i, j) * x[(size_t)j];
        down += c.at(j, i) * x[(size_t)j];
      }
      EXPECT_NEAR(w[(size_t)i], right, 1e-10);
      EXPECT_NEAR(t[(size_t)i], down, 1e-10);
      EXPECT_EQ(m.diagonal[(size_t)i], c.at(i, i));
      if (i % 3) {
        index.push_back(i);
        b.push_back(std::cos(i));
      }
    }
    std::vector<double> z(b);
    ASSERT_TRUE(factor.make(m, std::vector<double>(index.size(), 0.5), index, symmetric));
    factor.solve(z.data());
    for (size_t i = 0; i < index.size(); ++i) {
      double r = -b[i] + 0.5 * z[i];
      for (size_t j = 0; j < index.size(); ++j) r += c.at(index[i], index[j]) * z[j];
      EXPECT_NEAR(r, 0, 1e-11);
    }
    EXPECT_TRUE(symmetric ? factor.smallest() > 0 && factor.smallest() <= 1 : factor.smallest() == 1);
    if (symmetric) { // not positive definite: LU takes its place, and says so
      ASSERT_TRUE(factor.make(m, std::vector<double>(index.size(), -0.7 * n), index, true));
      EXPECT_EQ(factor.smallest(), 0);
      z = b;
      factor.solve(z.data());
      double r = -b[0] - 0.7 * n * z[0];
      for (size_t j = 0; j < index.size(); ++j) r += c.at(index[0], index[j]) * z[j];
      EXPECT_NEAR(r, 0, 1e-9);
    }
  }
}

// The natural residual of a problem whose matrix is far from 1: that of the problem with the matrix 1 and F as it is.
TEST(LCP, Scale)
{
  const std::vector<double> x = {0, 2, 3, 0.5}, w = {-0.3, 0.4, 7, 0.2}, lower = {0, 0, 1, 0}, upper = {1, 9, 9, 0.5};
  for (double scale : {1e-200, 1e-9, 1e9, 1e200}) {
    std::vector<double> far_x(x), far_lower(lower), far_upper(upper);
    for (std::vector<double> *v : {&far_x, &far_lower, &far_upper})
      for (double &e : *v) e /= scale;
    lcp::Problem p;
    p.n     = 4;
    p.lower = far_lower.data();
    p.upper = far_upper.data();
    p.scale = scale;
    EXPECT_NEAR(lcp::natural(p, far_x.data(), w.data()), std::sqrt(0.09 + 0.16 + 4 + 0.04), 1e-12) << scale;
  }
}

// What proves that there is no answer, and what does not: an answer may be very large.
TEST(LCP, Infeasible)
{
  const auto proves = [](int n, std::vector<double> a, const std::vector<double> &direction) {
    lcp::Matrix         m;
    std::vector<double> q((size_t)n, -1), lower((size_t)n, 0), upper((size_t)n, HUGE_VAL);
    lcp::create(m, MPI_COMM_SELF, n, n, a.data(), n, Space::host, 1);
    lcp::Problem p;
    p.n      = n;
    p.matrix = &m;
    p.q      = q.data();
    p.lower  = lower.data();
    p.upper  = upper.data();
    return lcp::infeasible(p, direction.data());
  };
  EXPECT_TRUE(proves(2, {1, -1, -1, 1}, {3, 3}));
  EXPECT_FALSE(proves(2, {1, 0, 0, 1e-10}, {0, 1})); // x = (1, 1e10)
  const int           n = 2000;                      // a string under its weight: x = n (n + 1) / 8 in the middle
  std::vector<double> a((size_t)n * n), string((size_t)n);
  for (int i = 0; i < n; ++i) {
    a[(size_t)i * (n + 1)] = 2;
    if (i) a[(size_t)i * (n + 1) - 1] = a[(size_t)(i - 1) * (n + 1) + 1] = -1;
    string[(size_t)i] = 0.5 * (i + 1.) * (n - i);
  }
  EXPECT_FALSE(proves(n, a, string));
}

// Many problems at once against one after the other.
TEST(LCP, Batch)
{
  for (int n : {1, 3, 17, 64, 100}) {
    const int           count = 7;
    Exec                exec;
    std::vector<double> a, q, lower, upper, x((size_t)(n * count));
    Buffer<double>      da, dq, dl, du, dx, dr;
    exec.space = unit_cuda() ? Space::cuda : Space::host;
    for (int c = 0; c < count; ++c) {
      const Case k(n, c % 2 == 0, 10 * n + c);
      a.insert(a.end(), k.a.begin(), k.a.end());
      q.insert(q.end(), k.q.begin(), k.q.end());
      lower.insert(lower.end(), k.lower.begin(), k.lower.end());
      upper.insert(upper.end(), k.upper.begin(), k.upper.end());
    }
    const Extent all{(size_t)(n * count), exec.space};
    da.resize(Extent{a.size(), exec.space});
    for (Buffer<double> *b : {&dq, &dl, &du, &dx}) b->resize(all);
    dr.resize(Extent{(size_t)count, exec.space});
    send(a, da);
    send(q, dq);
    send(lower, dl);
    send(upper, du);
    lcp::batch(exec, count, n, da.data(), dq.data(), dl.data(), du.data(), 1e-12, 400, dx.data(), dr.data());
    const std::vector<double> got = fetch(dx, n * count), residuals = fetch(dr, count);
    for (int c = 0; c < count; ++c) {
      double s = 0, t = 0;
      for (int i = 0; i < n; ++i) {
        double w = q[(size_t)(c * n + i)];
        t += w * w;
        for (int j = 0; j < n; ++j) w += a[(size_t)(c * n + j) * (size_t)n + (size_t)i] * got[(size_t)(c * n + j)];
        const double v = got[(size_t)(c * n + i)], e = v - std::fmin(std::fmax(v - w, lower[(size_t)(c * n + i)]), upper[(size_t)(c * n + i)]);
        s += e * e;
      }
      EXPECT_LT(std::sqrt(s / t), 1e-11) << n << " problem " << c;
      EXPECT_LE(residuals[(size_t)c], 1e-12) << n << " problem " << c;
    }
  }
}
