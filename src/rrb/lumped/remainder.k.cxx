// What is left after the last grid: its exact factorisation, and the solution with it.
#include "box/nodes.hpp"
#include "box/tuning.hpp"
#include "rrb/vectors.hpp"
#include <algorithm>
#include <type_traits>

namespace tessera::rrb {

namespace {

// The lower half of the band matrix of a whole grid; unknowns in the order of `node`, numbers by node.
struct BandKernel {
  StencilView<double> A;
  const int          *node, *number;
  double             *band;
  int                 nx, ny, w;
  bool                periodic_x, periodic_y;
  HD double           coupling(int x, int y, int k) const // in direction k, as StencilOf::slot() has it
  {
    const int  dx = k % 3 - 1, dy = k / 3 - 1, q = (x & 1) + 2 * (y & 1);
    const bool straight = !dx || !dy,
               here     = straight ? q == quarter_a || q == quarter_b : q == quarter_o || q == quarter_a;
    if (!here) {
      x += dx, y += dy, k = 8 - k;
      const int ex = -dx, ey = -dy, p = (x & 1) + 2 * (y & 1),
                s           = straight ? (ey ? 2 + (ey > 0) : ex > 0) : 2 * (ey > 0) + (ex > 0);
      const View<double> &v = !straight && p == quarter_a ? A.G[s] : A.E[s];
      return v.q[p][floor_half(x) * v.sx + floor_half(y) * v.sy];
    }
    const int           s = straight ? (dy ? 2 + (dy > 0) : dx > 0) : 2 * (dy > 0) + (dx > 0);
    const View<double> &v = !straight && q == quarter_a ? A.G[s] : A.E[s];
    return v.q[q][floor_half(x) * v.sx + floor_half(y) * v.sy];
  }
  HD void operator()(int i, int) const
  {
    const int x = node[2 * i], y = node[2 * i + 1];
    double   *row = band + (ptrdiff_t)i * (w + 1);
    row[0]        = A.C.at(x, y);
    for (int k = 1; k <= w; ++k) row[k] = 0;
    for (int k = 0; k < 9; ++k) {
      if (k == 4 || (k % 2 == 0 && !A.nine)) continue;
      int xn = x + k % 3 - 1, yn = y + k / 3 - 1;
      if (periodic_x) xn = (xn + nx) % nx;
      if (periodic_y) yn = (yn + ny) % ny;
      if (xn < 0 || yn < 0 || xn >= nx || yn >= ny) continue;
      const int j = number[yn * nx + xn];
      if (j <= i) row[i - j] += coupling(x, y, k);
    }
  }
};

} // namespace

void name_row(const Plan &plan, int row, Failure &failure)
{
  const int s    = 1 << plan.levels.back().index;
  failure.failed = true;
  failure.level  = plan.factor_levels() + 1;
  failure.x      = s * plan.remainder.x[(size_t)row] + s - 1;
  failure.y      = s * plan.remainder.y[(size_t)row] + s - 1;
}

namespace {

// The nodes in the order of the band matrix.
struct Numbering {
  std::vector<int> number; // by node, -1: none
  int              wide;   // the most that numbers of coupled nodes can differ
};

// Numbers the nodes along the shorter direction. Lines of a periodic long direction are taken from both ends (0, n-1,
// 1, n-2, ...), so that neighbours across the seam stay two lines apart.
Numbering number_nodes(Plan &plan, const Grid &g)
{
  const bool across = g.nx > g.ny, fold = across ? g.periodic_x : g.periodic_y;
  const int  lines = across ? g.nx : g.ny, length = across ? g.ny : g.nx;
  const bool closed = across ? g.periodic_y : g.periodic_x; // along the lines: their ends are neighbours
  Numbering  n{std::vector<int>((size_t)g.size(), -1), (fold ? 2 : 1) * length + (closed ? length - 1 : 1)};
  plan.remainder.x.clear();
  plan.remainder.y.clear();
  for (int i = 0; i < lines; ++i) {
    const int line = !fold ? i : i % 2 ? lines - 1 - i / 2 : i / 2;
    for (int j = 0; j < length; ++j) {
      const int x = across ? line : j, y = across ? j : line;
      if (plan.eliminate_last_red && (x + y) % 2) continue;
      n.number[(size_t)y * g.nx + x] = (int)plan.remainder.x.size();
      plan.remainder.x.push_back(x);
      plan.remainder.y.push_back(y);
    }
  }
  return n;
}

// The nodes of the band matrix, x and y in turn.
Buffer<int> band_nodes(const Plan &plan)
{
  const size_t n = plan.remainder.x.size();
  Buffer<int>  nodes(2 * n);
  for (size_t i = 0; i < n; ++i)
    nodes.data()[2 * i] = plan.remainder.x[i], nodes.data()[2 * i + 1] = plan.remainder.y[i];
  return nodes;
}

// Is the grid small enough to be factorised where it lies, on the device?
bool fits_on_device(const Plan &plan, const Grid &g, int wide)
{
  if (plan.remainder.kind != Exact::inverse || plan.eliminate_last_red || g.size() > tuning::dense_cycle) return false;
  return wide <= inverse_width(wide) && inverse_scratch(inverse_width(wide)) <= device::block_scratch();
}

void factor_on_device(Plan &plan, const Grid &g, Stencil &operand, const Numbering &numbering, bool single,
                      double singular)
{
  const int  n = (int)g.size(), w = inverse_width(numbering.wide);
  Remainder &r = plan.remainder;
  if ((int)r.number.size() != n) {
    Buffer<int> host((size_t)n), nodes = band_nodes(plan);
    std::copy(numbering.number.begin(), numbering.number.end(), host.data());
    r.number.resize({(size_t)n, Space::cuda});
    r.node.resize({(size_t)2 * n, Space::cuda});
    copy(host, r.number), copy(nodes, r.node);
    device::synchronize(); // the host's copies go
  }
  if (r.matrix.size() != (size_t)n * (w + 1)) r.matrix.resize({(size_t)n * (w + 1), Space::cuda});
  int *const failed = &plan.findings.notes()->row;
  forall(plan.exec, {0, n, 0, 1},
         BandKernel{operand.view(), r.node.data(), r.number.data(), r.matrix.data(), g.nx, g.ny, w, g.periodic_x,
                    g.periodic_y});
  if (single) r.inverse<float>().setup(r.matrix.data(), w, singular, r.x, r.y, failed);
  else r.inverse<double>().setup(r.matrix.data(), w, singular, r.x, r.y, failed);
}

// The lower half of the matrix; where half the nodes are left, after the elimination of the red ones.
void assemble_band(Plan &plan, const Grid &g, Stencil &a, const std::vector<int> &number)
{
  auto wrapped = [&](int x, int y) -> int { // node number, -1 outside
    if (g.periodic_x) x = (x + g.nx) % g.nx;
    if (g.periodic_y) y = (y + g.ny) % g.ny;
    return x < 0 || y < 0 || x >= g.nx || y >= g.ny ? -1 : number[(size_t)y * g.nx + x];
  };
  struct Entry {
    int    i, j;
    double v;
  };
  std::vector<Entry> entries;
  int                width = 0;
  auto               add   = [&](int i, int j, double v) {
    if (j < 0 || i < j || v == 0) return;
    entries.push_back({i, j, v});
    width = std::max(width, i - j);
  };
  const View<double> C = a.C();
  for (int y = 0; y < g.ny; ++y)
    for (int x = 0; x < g.nx; ++x) {
      const bool red = plan.eliminate_last_red && (x + y) % 2;
      if (!red) {
        const int i = number[(size_t)y * g.nx + x];
        add(i, i, C.at(x, y));
        for (int k = 0; k < 9; ++k)
          if (k != 4 && (a.nine || k % 2) && !(plan.eliminate_last_red && k % 2))
            add(i, wrapped(x + direction_dx(k), y + direction_dy(k)), *a.slot(x, y, k));
      } else
        for (int k = 1; k < 9; k += 2)
          for (int m = 1; m < 9; m += 2)
            add(wrapped(x + direction_dx(k), y + direction_dy(k)), wrapped(x + direction_dx(m), y + direction_dy(m)),
                -*a.slot(x, y, k) * *a.slot(x, y, m) * C.at(x, y));
    }
  plan.remainder.band.reset((int)plan.remainder.x.size(), width);
  for (const Entry &e : entries) plan.remainder.band.add(e.i, e.j, e.v);
  plan.remainder.values.resize(plan.remainder.x.size());
}

// Values of nodes go to the host and back.
void keep_nodes_on_device(Plan &plan)
{
  Remainder   &r = plan.remainder;
  const size_t n = plan.remainder.x.size();
  Buffer<int>  nodes = band_nodes(plan);
  r.node.resize({2 * n, Space::cuda});
  if (r.travelling.size() != n) r.travelling.resize({n, Space::cuda});
  copy(nodes, r.node);
  device::synchronize(); // the host's copy goes
}

} // namespace

// The exact factorisation of what is left: the whole grid, or its black nodes after the elimination of the red ones.
// The host does it, in a copy where the operator lies on the device; a small grid is factorised where it lies.
void factor_remainder(Plan &plan, Level &level, Stencil &operand, Failure &failure)
{
  const Grid &g = level.grid;
  // whose inverse is in single precision
  const Exact  kind   = plan.remainder.kind;
  const bool   single = kind == Exact::inverse && std::holds_alternative<Multigrid<float>>(plan.method) && level.index;
  const double singular =
    kind == Exact::inverse ? std::max(plan.tiny(), tuning::singular_inverse[single]) : plan.tiny();
  if (plan.eliminate_last_red) eliminate_red(plan, level, operand, &failure);
  const Numbering numbering = number_nodes(plan, g);
  if (fits_on_device(plan, g, numbering.wide)) return factor_on_device(plan, g, operand, numbering, single, singular);
  Stencil  on_host;
  Stencil &a = kind == Exact::band ? operand : on_host;
  if (&a == &on_host) copy(operand, on_host, Space::host);
  assemble_band(plan, g, a, numbering.number);
  const int row = plan.remainder.band.factor(singular);
  if (row >= 0 && !failure.failed) name_row(plan, row, failure);
  if (kind == Exact::fetched_band) keep_nodes_on_device(plan);
  else if (kind == Exact::inverse && row < 0) {
    if (single) plan.remainder.inverse<float>().setup(plan.remainder.band, plan.remainder.x, plan.remainder.y);
    else plan.remainder.inverse<double>().setup(plan.remainder.band, plan.remainder.x, plan.remainder.y);
  }
  if (plan.eliminate_last_red) keep_factors(plan, level, operand); // those of the red nodes
}

template <class T> void solve_remainder(Plan &plan, const View<T> &b, const View<T> &out)
{
  Level &level = plan.levels.back();
  auto   solve = [&](const View<T> &rhs) {
    double    *v = plan.remainder.values.data();
    const int  n = plan.remainder.band.size(), *const x = plan.remainder.x.data(), *const y = plan.remainder.y.data();
    if (plan.remainder.kind == Exact::fetched_band) {
      Remainder &r = plan.remainder;
      const Box  all{0, n, 0, 1};
      forall(plan.exec, all, TakeNodes<T, double>{rhs, r.node.data(), r.travelling.data()});
      device::copy_to_host(v, r.travelling.data(), r.travelling.bytes());
      plan.remainder.band.solve(v);
      device::copy_from_host(r.travelling.data(), v, r.travelling.bytes());
      forall(plan.exec, all, PutNodes<T, double>{out, r.node.data(), r.travelling.data()});
    } else if (plan.remainder.kind == Exact::inverse) {
      plan.remainder.inverse<T>().solve(plan.exec, rhs, out);
    } else {
      for (int i = 0; i < n; ++i) v[i] = rhs.at(x[i], y[i]);
      plan.remainder.band.solve(v);
      for (int i = 0; i < n; ++i) out.at(x[i], y[i]) = (T)v[i];
    }
  };
  if constexpr (std::is_same_v<T, double>)
    if (plan.eliminate_last_red) {
      black_rhs(plan, level, b, level.w.v);
      solve(level.w.v);
      copy(plan.exec, level.grid, mask_o | mask_c, out, level.w.v);
      return red_solution(plan, level, b, level.w.v, out);
    }
  solve(b);
}

template void solve_remainder<double>(Plan &, const View<double> &, const View<double> &);
template void solve_remainder<float>(Plan &, const View<float> &, const View<float> &);

} // namespace tessera::rrb
