// What PCGetInterpolations() and PCGetCoarseOperators() of PC rrb give are the weights and operators that the cycle works with.
#include "dense.hpp"
#include "rrb/multigrid/grid_entries.hpp"
#include "unit.hpp"

using namespace tessera;
using rrb::Coarsening;
using rrb::Params;

static Buffer<double> on_host(const Buffer<double> &from)
{
  Buffer<double> to(from.size());
  copy(from, to);
  return to;
}

// The weights of level l, by nodes: (dx, dy) is the distance of the coarse node.
struct InUse {
  Buffer<double> edge[2], centre[4];
  const Layout  &layout;
  InUse(const rrb::Plan &plan, size_t l) : layout(plan.levels[l].layout)
  {
    for (int k = 0; k < 2; ++k) edge[k] = on_host(std::get<rrb::Multigrid<double>>(plan.method).levels[l].edge[k]);
    for (int k = 0; k < 4; ++k) centre[k] = on_host(std::get<rrb::Multigrid<double>>(plan.method).levels[l].centre[k]);
  }
  double operator()(int x, int y, int dx, int dy)
  {
    if (!dx && !dy) return 1;
    if (dx && dy) return layout.view(centre[2 * (dy > 0) + (dx > 0)].data()).at(x, y);
    return layout.view(edge[dx + dy > 0].data(), quarter_a).at(x, y);
  }
};

static void compare(const Problem &p, const Params &q)
{
  Library lib(p, q);
  ASSERT_FALSE(lib.failure.failed);
  rrb::Plan          &plan = lib.plan;
  const rrb::Level   &finest = plan.levels[0];
  const int           n = (int)finest.grid.size();
  Stencil             host(finest.layout.on_host()), a, in_use;
  Halo                halo = finest.halo.host();
  std::vector<double> rows;
  for (int k = 0; k < n; ++k) rows.push_back(k);
  fill(p, finest.grid, halo, host);
  copy(host, a, exec().space);
  const std::vector<rrb::GridEntries> grids = rrb::grid_entries(plan, a, rows, n);
  ASSERT_EQ(grids.size() + 1, plan.levels.size());
  for (size_t l = 1; l + 1 < plan.levels.size(); ++l) {
    SCOPED_TRACE(l);
    const Grid &g = plan.levels[l].grid, &next = plan.levels[l + 1].grid;
    copy(std::get<rrb::Multigrid<double>>(plan.method).levels[l].a, in_use, Space::host);
    InUse          P(plan, l);
    const Entries &A = grids[l - 1].next, &e = grids[l].interpolation;
    ASSERT_EQ(A.rows, g.nx * g.ny);
    ASSERT_EQ(A.value.size(), (size_t)((3 * g.nx - 2) * (3 * g.ny - 2)));
    for (size_t k = 0; k < A.value.size(); ++k) {
      const int x = (int)A.row[k] % g.nx, y = (int)A.row[k] / g.nx, d = (int)A.column[k] % g.nx - x + 3 * ((int)A.column[k] / g.nx - y) + 4;
      ASSERT_EQ(A.value[k], d == 4 ? in_use.C().at(x, y) : *in_use.slot(x, y, d)) << "node " << x << "," << y << ", direction " << d;
    }
    ASSERT_EQ(e.rows, g.nx * g.ny);
    ASSERT_EQ(e.columns, next.nx * next.ny);
    ASSERT_GT(e.value.size(), (size_t)(2 * e.rows - 4 * (g.nx + g.ny)));
    for (size_t k = 0; k < e.value.size(); ++k) {
      const int x = (int)e.row[k] % g.nx, y = (int)e.row[k] / g.nx, X = (int)e.column[k] % next.nx, Y = (int)e.column[k] / next.nx;
      ASSERT_EQ(e.value[k], P(x, y, 2 * X + 1 - x, 2 * Y + 1 - y)) << "nodes " << x << "," << y << " and " << X << "," << Y;
    }
  }
}

TEST(GridEntries, AreThoseInUse)
{
  for (bool nine : {false, true})
    for (int grids : {0, -1})
      for (rrb::Weights weights : {rrb::Weights::collapse, rrb::Weights::least_squares}) {
        Problem p{61, 50};
        p.nine    = nine;
        Params q  = with(6, Coarsening::galerkin, 1, false, grids);
        q.weights = weights;
        compare(p, q);
      }
}
