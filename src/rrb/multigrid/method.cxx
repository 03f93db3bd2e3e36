// What the Galerkin form decides and keeps around the setup of its grids: memory, the cycle, what visits to levels are.
#include "rrb/multigrid/march.hpp"
#include <algorithm>
#include <cmath>

namespace tessera::rrb {

// Fields of a level that is gathered or solved directly.
template <class T> void Multigrid<T>::prepare(Plan &plan, size_t l, const Stencil &)
{
  if (plan.levels[l].step == Step::coarsen) return;
  for (FieldOf<T> *f : {&levels[l].b, &levels[l].x})
    if (f->data.empty()) f->resize(plan.levels[l].layout);
}

template <class T> int Multigrid<T>::layers(const Plan &plan, const Grid &grid) const
{
  return grid.periodic_x || grid.periodic_y ? 1 : plan.strategy->layers;
}

template <class T> long Multigrid<T>::redundant(const Plan &plan, int grid) const
{
  return grid ? plan.strategy->redundant : tuning::redundant_nodes;
}

// Which grids the cycle accelerates: from the first coarse one on. In single precision a given AMLI-cycle does so from
// the second one, as the rounding of singular operators grows with each (asymmetry of 1e-3 with the first).
// Every visit of a small grid takes the device the same time: the first such grid alone, unless the cycle is given. On
// the first grid whose cycle is a matrix it costs nothing.
template <class T> void Multigrid<T>::create(Plan &plan)
{
  const Params &p = plan.params;
  const int     first = !(std::is_same_v<T, float> && p.cycle == Cycle::amli);
  const bool    few   = plan.strategy->few_cycles && p.cycle == Cycle::automatic;
  for (size_t l = 0; l < plan.levels.size(); ++l) {
    Level &g = plan.levels[l];
    if (!g.index || g.step != Step::coarsen || p.cycle == Cycle::v) continue;
    g.accelerated = (g.index - first) % p.every == 0;
    if (!few || g.index == 1 || g.grid.size() > tuning::amli_nodes) continue;
    const Level &finer = plan.levels[l - 1];
    g.accelerated =
      !finer.accelerated && g.grid.size() <= tuning::dense_cycle && finer.grid.size() > tuning::dense_cycle;
  }
  levels.resize(plan.levels.size());
  work.resize(plan.levels.size());
}

template <class T> Stencil Multigrid<T>::recycle(Plan &plan, size_t l)
{
  if constexpr (std::is_same_v<T, double>)
    if (!levels[l].a.c.empty()) return std::move(levels[l].a);
  return work[l].a.c.empty() ? recycle_factors(plan.levels[l]) : std::move(work[l].a);
}

template <class T> void Multigrid<T>::keep(Plan &plan, size_t l, Stencil &a)
{
  if (plan.strategy->keeps_work) work[l].a = std::move(a);
}

// Before the host waits, as choose_cycle() finds it done.
template <class T> void Multigrid<T>::finish(Plan &plan, bool failed)
{
  if (plan.choice.settled && !failed) set_cycle(plan);
}

template <class T> void Multigrid<T>::choose_cycle(Plan &plan)
{
  if (!plan.strategy->notes || !plan.choice.settled) set_cycle(plan); // else finish() has
}

template <class T> void Multigrid<T>::make_vectors(Plan &plan)
{
  for (size_t l = 0; l < levels.size(); ++l) {
    Level             &g = plan.levels[l];
    MultigridLevel<T> &s = levels[l];
    if (s.of_schur && g.step == Step::coarsen) {
      resize_black(g.layout, s.x);
      if (s.sweeping == Sweeping::march) resize_black(g.layout, s.swept);
      if (std::is_same_v<T, float>) resize_black(g.layout, s.b);
      if (!s.components.empty()) {
        resize_black(g.layout, s.rest);
        resize_black(g.layout, s.constants);
      }
    }
    if (g.accelerated && plan.cycle != Cycle::v)
      for (FieldOf<T> *f : {&s.acceleration.r, &s.acceleration.w, &s.acceleration.d, &s.acceleration.q})
        if (f->data.empty()) f->resize(g.layout);
  }
}

// The cycle, what a visit to each level is, and the vectors of both.
template <class T> void Multigrid<T>::set_cycle(Plan &plan)
{
  const size_t     root    = first_working_level(plan);
  const GridReport grid    = report(root);
  const bool        rotated = !grid.of_schur && grid.shares.diagonal > tuning::diagonal_fraction;
  const Remedy      remedy  = plan.choice.remedy;
  plan.cycle = plan.params.cycle == Cycle::automatic
               ? (fits_weights(remedy) || remedy == Remedy::amli || rotated ? Cycle::amli : Cycle::v)
               : plan.params.cycle;
  for (const Level &l : plan.levels) // a seam that was cut moves eigenvalues out of AMLI's interval
    if ((l.cut_x || l.cut_y) && plan.cycle == Cycle::amli) plan.cycle = Cycle::v;
  double highest = 1; // of a cycle; an AMLI iteration below it overshoots, of which grids between them smooth half away
  for (size_t l = plan.levels.size(); l-- > 0;) {
    if (!plan.levels[l].accelerated) continue;
    const double lowest = tuning::amli_lowest;
    plan.levels[l].spectrum[0] = lowest;
    plan.levels[l].spectrum[1] = highest;
    highest =
      1 + pow(0.5, plan.params.every - 1) / cosh(plan.params.inner * acosh((highest + lowest) / (highest - lowest)));
  }
  const bool schur = std::any_of(levels.begin(), levels.end(), [](const auto &s) { return s.of_schur; });
  for (int q = 0; q < 4; ++q) relaxation[q] = schur && plan.cycle != Cycle::amli ? relax_nine[q] : 0;
  make_vectors(plan);
  dense_cycles(plan);
  for (size_t l = 0; l < levels.size(); ++l) {
    const Level &g = plan.levels[l];
    levels[l].visit = g.step == Step::solve                         ? Visit::exact
                    : g.step == Step::gather                        ? Visit::gather
                    : !levels[l].whole.empty()                      ? Visit::dense
                    : !g.accelerated || plan.cycle == Cycle::v      ? Visit::cycle
                    : plan.cycle == Cycle::k                        ? Visit::k_cycle
                    : plan.strategy->fused_steps                    ? Visit::fused_amli
                                                                    : Visit::amli;
  }
  const Level             &g = plan.levels[0];
  const MultigridLevel<T> &s = levels[0];
  natural = s.of_schur && s.sweeping == Sweeping::march && g.grid.processes() == 1 && g.halo.empty();
  several = plan.strategy->several && !algebraic_levels(plan) && several_on(g, s);
}

#define INSTANTIATE(T) \
  template void    Multigrid<T>::prepare(Plan &, size_t, const Stencil &); \
  template int     Multigrid<T>::layers(const Plan &, const Grid &) const; \
  template long    Multigrid<T>::redundant(const Plan &, int) const; \
  template void    Multigrid<T>::create(Plan &); \
  template Stencil Multigrid<T>::recycle(Plan &, size_t); \
  template void    Multigrid<T>::keep(Plan &, size_t, Stencil &); \
  template void    Multigrid<T>::finish(Plan &, bool); \
  template void    Multigrid<T>::choose_cycle(Plan &);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::rrb
