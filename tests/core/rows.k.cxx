// The kernels of 9-point grids in both ways, a warp that marches and a warp per row: the same residuals, corrections and solutions.
#include "dense.hpp"
#include "rrb/multigrid/march.hpp"
#include "unit.hpp"
#include <climits>

using namespace tessera;

namespace {

template <class T> using Values = std::vector<T>;

template <class T> void add(const Buffer<T> &from, Values<T> &to)
{
  Buffer<T> host;
  host.resize(from.size());
  copy(from, host);
  to.insert(to.end(), host.data(), host.data() + host.size());
}

template <class T> void compare(const Values<T> &a, const Values<T> &b, const char *what)
{
  double most = 0, off = 0;
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_TRUE(std::isfinite(a[i]) && std::isfinite(b[i])) << what;
    most = std::max(most, (double)std::abs(a[i]));
    off  = std::max(off, (double)std::abs(a[i] - b[i]));
  }
  EXPECT_GT(most, 0) << what;
  EXPECT_LE(off, 8 * std::numeric_limits<T>::epsilon() * most) << what;
}

// Returns the grids that were compared.
template <class T> int grids(const Problem &p)
{
  rrb::Params params;
  params.levels = 6;
  params.single = sizeof(T) == 4;
  params.cycle  = rrb::Cycle::v;
  params.smoother = rrb::Smoother::point;
  Library lib(p, params);
  EXPECT_FALSE(lib.failure.failed);
  std::vector<double> x((size_t)p.size()), y(x.size());
  for (size_t i = 0; i < x.size(); ++i) x[i] = sin(1. + (double)(i * i % 1009));
  lib.apply(x.data(), y.data()); // leaves right-hand sides and solutions on all grids
  auto &levels = rrb::hierarchy<T>(lib.plan);
  int   count  = 0;
  for (int l = 0; l + 1 < (int)levels.size(); ++l) {
    if (levels[(size_t)l].sweeping != rrb::Sweeping::march || levels[(size_t)l].of_schur) continue;
    rrb::MultigridLevel<T> &s = levels[(size_t)l], &next = levels[(size_t)l + 1];
    Values<T>          down[2], up[2];
    for (bool rows : {false, true}) {
      const long at_once = rows ? LONG_MAX : 0;
      for (Buffer<T> *v : {&s.r.data, &s.x.data}) device::zero(v->data(), v->size() * sizeof(T));

      device::zero(next.b.data.data(), next.b.data.size() * sizeof(T));
      rrb::march_down(lib.plan, l, s.b.v, s.x.v, at_once);
      add(s.r.data, down[rows]), add(next.b.data, down[rows]);
      rrb::march_up<T>(lib.plan, l, s.b.v, s.x.v, nullptr, nullptr, at_once);
      add(s.x.data, up[rows]);
    }
    compare(down[0], down[1], "down"), compare(up[0], up[1], "up");
    ++count;
  }
  return count;
}

} // namespace

TEST(Rows, AsTheMarch)
{
  if (!unit_cuda()) return;
  const int sizes[][2] = {{8, 8}, {15, 15}, {16, 17}, {55, 9}, {57, 8}, {58, 33}, {113, 64}, {200, 5}, {5, 300}, {131, 129}};
  for (auto &size : sizes)
    for (bool nine : {false, true}) {
      SCOPED_TRACE(std::to_string(size[0]) + " x " + std::to_string(size[1]) + (nine ? ", 9-point" : ""));
      Problem p{size[0], size[1], nine};
      EXPECT_GT(grids<double>(p) + !nine, 0);
      EXPECT_GT(grids<float>(p) + !nine, 0);
    }
}
