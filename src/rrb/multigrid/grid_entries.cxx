// The weights and operators are computed once more from the finest operator, which nobody keeps, by the functions of
// the setup.
#include "rrb/multigrid/grid_entries.hpp"
#include "box/tuning.hpp"
#include "rrb/multigrid/kernels.hpp"
#include <algorithm>
#include <numeric>

namespace tessera::rrb {

namespace {

Buffer<double> on_host(const Buffer<double> &from)
{
  Buffer<double> to(from.size());
  copy(from, to);
  device::synchronize(from.space());
  return to;
}

// The process of each node of a grid, whose next grid lies on it: by columns and lines.
struct Owners {
  std::vector<int> x, y;
  int              across = 1; // processes along x
  explicit Owners(const Grid &g) : across(g.processes_x())
  {
    auto fill = [](std::vector<int> &of, const std::vector<int> &split) {
      for (size_t p = 0; p + 1 < split.size(); ++p) of.insert(of.end(), (size_t)(split[p + 1] - split[p]), (int)p);
    };
    fill(x, g.xsplit);
    fill(y, g.ysplit);
  }
  int operator()(int i, int j) const { return x[(size_t)i] + across * y[(size_t)j]; }
  void coarsen()
  {
    for (std::vector<int> *of : {&x, &y}) {
      for (size_t k = 0; 2 * k + 1 < of->size(); ++k) (*of)[k] = (*of)[2 * k + 1];
      of->resize(of->size() / 2);
    }
  }
};

// The numbers of a grid's nodes in matrices, ghost nodes included; negative where there is none.
struct Numbering {
  Field          field; // in the memory of the plan
  Buffer<double> here;
  View<double>   v;     // of the latter
  explicit Numbering(const Layout &layout) : here(layout.elements(4).n)
  {
    field.resize(layout);
    std::fill(here.data(), here.data() + here.size(), -1.);
    v = layout.view(here.data());
  }
  void put() { copy(here, field.data); }
  void get(Level &g)
  {
    g.halo.exchange(field.v, mask_all);
    here = on_host(field.data);
    v    = g.layout.view(here.data());
  }
};

// P of a grid, by fine nodes: (dx, dy) is the distance of the coarse node, 0 or 1.
struct FineWeights {
  Buffer<double> data[7];
  View<double>   edge[2], centre[4], inject;
  explicit FineWeights(Interpolation &P)
  {
    for (int k = 0; k < 2; ++k) data[k] = on_host(P.edge[k]), edge[k] = P.layout.view(data[k].data(), quarter_a);
    for (int k = 0; k < 4; ++k) data[2 + k] = on_host(P.centre[k]), centre[k] = P.layout.view(data[2 + k].data());
    data[6] = on_host(P.inject);
    inject  = P.layout.view(data[6].data(), quarter_c);
  }
  double operator()(int x, int y, int dx, int dy) const
  {
    if (!dx && !dy) return inject.at(x, y);
    return dx && dy ? centre[2 * (dy > 0) + (dx > 0)].at(x, y) : edge[dx + dy > 0].at(x, y);
  }
};

// A grid at work: who has which node, and the numbers of all.
struct Place {
  MPI_Comm comm;
  int      rank = 0, size = 1;
  Owners   owners;
  explicit Place(const Grid &finest) : comm(finest.comm), owners(finest)
  {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
  }
  // f(x, y) of the nodes of this process, x fastest
  template <class F> void own(const Grid &g, const F &f) const
  {
    const Box b = g.owned();
    for (int y = b.y0; y < b.y1; ++y)
      for (int x = b.x0; x < b.x1; ++x)
        if (owners(x, y) == rank) f(x, y);
  }
};

// The finest grid's: rows of the matrix, but not of nodes without couplings.
void number_rows(Level &g, Stencil &a, const std::vector<double> &rows, Numbering &n)
{
  const Box own = g.grid.owned();
  size_t    k   = 0;
  for (int y = own.y0; y < own.y1; ++y)
    for (int x = own.x0; x < own.x1; ++x, ++k) {
      bool coupled = false;
      for (int d = 0; d < 9; ++d)
        if (d != 4 && (a.nine || d % 2)) coupled = coupled || *a.slot(x, y, d) != 0;
      if (coupled) n.v.at(x, y) = rows[k];
    }
  n.put();
  n.get(g);
}

// The next grid's, process by process, which is at `place`. Returns how many nodes this process has.
int number_next(const Place &place, Level &next, const Numbering &fine, const FineWeights &P, Numbering &n)
{
  const Grid            &g = next.grid;
  const Box              box = g.owned();
  std::vector<long long> count((size_t)place.size), first((size_t)place.size);
  auto                   each = [&](const auto &f) {
    for (int y = box.y0; y < box.y1; ++y)
      for (int x = box.x0; x < box.x1; ++x) f(x, y, (size_t)place.owners(x, y));
  };
  each([&](int x, int y, size_t owner) {
    bool used = false;
    for (int dy = -1; dy <= 1; ++dy)
      for (int dx = -1; dx <= 1; ++dx)
        used =
          used || (fine.v.at(2 * x + 1 - dx, 2 * y + 1 - dy) >= 0 && P(2 * x + 1 - dx, 2 * y + 1 - dy, dx, dy) != 0);
    if (used) n.v.at(x, y) = (double)count[owner]++;
  });
  if (g.processes() > 1) {
    const long long mine = count[(size_t)place.rank];
    MPI_Allgather(&mine, 1, MPI_LONG_LONG, count.data(), 1, MPI_LONG_LONG, place.comm);
  }
  std::partial_sum(count.begin(), count.end() - 1, first.begin() + 1);
  each([&](int x, int y, size_t owner) {
    if (n.v.at(x, y) >= 0) n.v.at(x, y) += (double)first[owner];
  });
  n.put();
  n.get(next);
  return (int)count[(size_t)place.rank];
}

void interpolation_entries(const Place &place, const Grid &g, const Numbering &fine, const Numbering &coarse,
                           const FineWeights &P, Entries &e)
{
  place.own(g, [&](int x, int y) {
    if (fine.v.at(x, y) < 0) return;
    for (int dy = y % 2 - 1; dy <= 1; dy += 2)
      for (int dx = x % 2 - 1; dx <= 1; dx += 2) {
        const double w = P(x, y, dx, dy), to = coarse.v.at(floor_half(x + dx), floor_half(y + dy));
        if (w != 0 && to >= 0) e.add((long long)fine.v.at(x, y), (long long)to, w);
      }
  });
}

void operator_entries(const Place &place, const Grid &g, Stencil &a, const Numbering &n, Entries &e)
{
  place.own(g, [&](int x, int y) {
    const double row = n.v.at(x, y);
    if (row < 0) return;
    for (int k = 0; k < 9; ++k) {
      const double to = n.v.at(x + direction_dx(k), y + direction_dy(k)),
                   v  = k == 4 ? a.C().at(x, y) : *a.slot(x, y, k);
      if (to >= 0 && (v != 0 || k == 4)) e.add((long long)row, (long long)to, v);
    }
  });
}

// As setup_grid() makes them.
template <class T> void weigh(Plan &plan, size_t l, const StencilView<double> &A, Interpolation &P)
{
  Level         &g = plan.levels[l];
  Buffer<float> &correction = hierarchy<T>(plan)[l].correction;
  P.create(g.layout);
  interpolate_edges(plan.exec, A, g.grid, g.halo, P);
  if (least_squares(plan) && !correction.empty())
    correct_edges(plan.exec, A, g.grid, P, g.layout.view(correction.data(), quarter_a));
  interpolate_centres(plan.exec, A, g.grid, g.halo, P);
}

// The numbers of an algebraic level's nodes over all processes, and which of its rows are this process's: its own
// ones, of a level that every process has those it had before, and then the first process has all.
struct AlgebraicPlace {
  std::vector<long long> first;
  const AlgebraicDistribution *distribution;
  int                    begin = 0, end = 0;
  AlgebraicPlace(const std::vector<AlgebraicLevel> &levels, size_t k, const Place &place) :
    distribution(levels[k].distribution.get())
  {
    const AlgebraicLevel &l = levels[k];
    if (distribution) {
      std::vector<long long> count((size_t)place.size);
      const long long        mine = end = l.n;
      MPI_Allgather(&mine, 1, MPI_LONG_LONG, count.data(), 1, MPI_LONG_LONG, place.comm);
      first.resize(count.size());
      std::partial_sum(count.begin(), count.end() - 1, first.begin() + 1);
    } else if (k && levels[k - 1].gathered()) {
      begin = levels[k - 1].distribution->first_node[(size_t)place.rank];
      end   = levels[k - 1].distribution->first_node[(size_t)place.rank + 1];
    } else if (!place.rank) end = l.n;
  }
  long long operator()(int v) const
  {
    return distribution ? first[(size_t)distribution->process(v)] + distribution->owner_number(v) : v;
  }
};

void add_rows(const AlgebraicLevel &l, int row, const AlgebraicPlace &next, long long to, double factor, Entries &e)
{
  for (int q = l.pi.data()[row]; q < l.pi.data()[row + 1]; ++q) e.add(to, next(l.pj.data()[q]), factor * l.p.data()[q]);
}

// Below S1 = A_bb - A_br A_rr^-1 A_rb: with the red nodes at rest, that is with -A_rr^-1 A_rb P there, P'S1 P is the
// product with all of A. What a black node has of its red neighbours' rows is added up, wherever these are.
void black_entries(const AlgebraicLevel &l, const AlgebraicPlace &next, const Place &place, const Grid &g, Stencil &a,
                   const Numbering &n, Entries &e)
{
  const BlackNumbering at(g.owned());
  place.own(g, [&](int x, int y) {
    if ((x + y) % 2) return;
    const int r = at(x % 2 ? quarter_c : quarter_o, x / 2, y / 2);
    if (n.v.at(x, y) >= 0) add_rows(l, r, next, (long long)n.v.at(x, y), 1, e);
    for (int k = 1; k < 9; k += 2) {
      const int    i = x + direction_dx(k), j = y + direction_dy(k);
      const double v = *a.slot(x, y, k);
      if (v != 0 && n.v.at(i, j) >= 0) add_rows(l, r, next, (long long)n.v.at(i, j), -v / a.C().at(i, j), e);
    }
  });
}

std::vector<GridEntries> algebraic_entries(const Algebraic &algebraic, const Place &place, const Grid &g, Stencil &a,
                                           const Numbering &n, int own)
{
  const auto              &levels = algebraic.levels();
  std::vector<GridEntries> all;
  for (size_t k = 0; k + 1 < levels.size(); ++k) {
    const AlgebraicLevel &l = levels[k], &below = levels[k + 1];
    if (l.gathered()) continue;
    const AlgebraicPlace here(levels, k, place), next(levels, k + 1, place);
    GridEntries          e;
    e.interpolation.rows    = k ? here.end - here.begin : own;
    e.interpolation.columns = e.next.rows = e.next.columns = next.end - next.begin;
    if (!k) black_entries(l, next, place, g, a, n, e.interpolation);
    for (int r = here.begin; k && r < here.end; ++r) add_rows(l, r, next, here(r), 1, e.interpolation);
    for (int r = next.begin; r < next.end; ++r)
      for (int q = below.i.data()[r]; q < below.i.data()[r + 1]; ++q)
        e.next.add(next(r), next(below.j.data()[q]), below.a.data()[q]);
    all.push_back(std::move(e));
  }
  return all;
}

} // namespace

std::vector<GridEntries> grid_entries(Plan &plan, Stencil &a, const std::vector<double> &rows, int own)
{
  Place                    place(plan.levels[0].grid);
  Stencil                  here;
  Numbering                fine(plan.levels[0].layout);
  std::vector<GridEntries> all;
  for (size_t l = 0; l < plan.levels.size(); ++l) {
    Level &g = plan.levels[l];
    a.exchange(g.halo);
    copy(a, here, Space::host);
    device::synchronize(plan.exec.space);
    if (!l) number_rows(g, here, rows, fine);
    else if (plan.levels[l - 1].step != Step::gather) operator_entries(place, g.grid, here, fine, all.back().next);
    if (g.step == Step::solve) break;
    Level  &next = plan.levels[l + 1];
    Numbering coarse(next.layout);
    if (g.step == Step::gather) {
      a = gather(plan.exec, g, next, a);
      coarse.put();
      gather_values(plan, g, fine.field.v, coarse.field.v);
      coarse.get(next);
      fine = std::move(coarse);
      continue;
    }
    if (algebraic_levels(plan)) return algebraic_entries(*algebraic_levels(plan), place, g.grid, here, fine, own);
    Interpolation P;
    Stencil       product(next.grid, next.layout.natural, next.layout.space);
    const auto next_operator = [&](auto precision) {
      using T = decltype(precision);
      weigh<T>(plan, l, a.view(), P);
      galerkin(plan.exec, a.view(), P, next.grid, next.halo, next.cut_x, next.cut_y, singular<T>, product);
    };
    plan.params.single ? next_operator(float()) : next_operator(double());
    const FineWeights weights(P);
    Place         below = place;
    GridEntries   e;
    below.owners.coarsen();
    e.interpolation.rows    = own;
    e.interpolation.columns = e.next.rows = e.next.columns = own = number_next(below, next, fine, weights, coarse);
    interpolation_entries(place, g.grid, fine, coarse, weights, e.interpolation);
    all.push_back(std::move(e));
    place = std::move(below);
    fine  = std::move(coarse);
    a     = std::move(product);
  }
  return all;
}

} // namespace tessera::rrb
