// What a plan takes, in memory and in time, and its functions, which are those of its method.
#include "box/tuning.hpp"
#include "rrb/rrb.hpp"
#include <algorithm>
#include <cstring>

namespace tessera::rrb {

size_t Factor::bytes() const
{
  size_t n = d64.bytes() + d32.bytes();
  for (int k = 0; k < 4; ++k) n += l64[k].bytes() + l32[k].bytes();
  return n;
}

template <class T> size_t SchurOf<T>::bytes() const
{
  size_t n = c.bytes() + red.bytes();
  for (auto &f : e) n += f.bytes();
  for (int k = 0; k < 2; ++k) n += fo[k].bytes() + fc[k].bytes();
  return n;
}

template struct SchurOf<double>;
template struct SchurOf<float>;

template <class T> size_t MultigridLevel<T>::bytes() const
{
  size_t n = schur.bytes() + a.bytes() + components.bytes() + algebraic.bytes() + several.bytes() + inverse.bytes() +
             inject.bytes() + correction.bytes() + whole.bytes();
  for (const auto &f : edge) n += f.bytes();
  for (const auto &f : centre) n += f.bytes();
  for (const auto &plane : lines)
    for (const auto &l : plane) n += l ? l->bytes() : 0;
  for (const FieldOf<T> *f : {&b, &x, &r, &acceleration.r, &acceleration.w, &acceleration.d,
                           &acceleration.q, &swept, &rest, &constants}) n += f->data.bytes();
  return n;
}

template struct MultigridLevel<double>;
template struct MultigridLevel<float>;

size_t Level::bytes() const
{
  return factor.bytes() + op.bytes() + b.data.bytes() + t.bytes() + x.data.bytes() + r.data.bytes() + w.data.bytes() +
         d.data.bytes() + q.data.bytes() + solution.bytes();
}

size_t Work::bytes() const
{
  size_t n = a.bytes() + schur.bytes() + P.inject.bytes();
  for (const auto &f : P.edge) n += f.bytes();
  for (const auto &f : P.centre) n += f.bytes();
  return n;
}

template <class T> size_t Multigrid<T>::bytes() const
{
  size_t n = several_finest.bytes();
  for (const auto &l : levels) n += l.bytes();
  for (const Work &w : work) n += w.bytes();
  return n;
}

size_t Plan::bytes() const
{
  size_t n = schur.bytes() + remainder.bytes() + std::visit([](const auto &m) { return m.bytes(); }, method);
  for (const Level &l : levels) n += l.bytes();
  return n;
}

unsigned long long fingerprint(const Plan &plan)
{
  // All memory of the device: what was made and freed since does not count. Of the same memory parts may have changed
  // places.
  unsigned long long h   = plan.number ^ device::allocated();
  auto               mix = [&](unsigned long long v) { h = (h ^ v) * 1099511628211ull; };
  auto               add = [&](const auto &buffer) { mix((unsigned long long)(size_t)buffer.data()); };
  auto               schur = [&](const auto &s) {
    add(s.c);
    for (const auto &f : s.e) add(f);
    for (int k = 0; k < 2; ++k) add(s.fo[k]), add(s.fc[k]);
  };
  auto hierarchy = [&](const auto &levels) {
    for (const auto &s : levels) {
      schur(s.schur), add(s.a.c), add(s.inverse), add(s.correction), add(s.b.data), add(s.x.data), add(s.r.data),
        add(s.acceleration.r.data), add(s.rest.data), add(s.constants.data), add(s.swept.data), add(s.whole);
      for (int k = 0; k < 4; ++k) add(s.a.e[k]), add(s.a.g[k]), add(s.centre[k]);
      for (int k = 0; k < 2; ++k) add(s.edge[k]);
      add(s.inject);
      mix((unsigned long long)s.smoother);
      s.components.sizes(mix);
    }
  };
  schur(plan.schur);
  if (auto *m = std::get_if<Multigrid<double>>(&plan.method)) hierarchy(m->levels);
  if (auto *m = std::get_if<Multigrid<float>>(&plan.method)) hierarchy(m->levels);
  for (const Level &l : plan.levels) {
    add(l.b.data), add(l.t), add(l.op.c), add(l.factor.d64), add(l.factor.d32), add(l.x.data);
    for (int k = 0; k < 4; ++k) add(l.factor.l64[k]), add(l.factor.l32[k]), add(l.op.e[k]);
    for (double v : l.spectrum) {
      unsigned long long bits;
      memcpy(&bits, &v, sizeof bits);
      mix(bits);
    }
  }
  mix((unsigned long long)plan.cycle), mix((unsigned long long)plan.choice.remedy), mix(plan.joined);
  return h;
}

// Row sums of a singular operator are zero to rounding, and elimination adds up those of all nodes.
double Plan::tiny() const
{
  return std::max(tuning::singular_pivot, tuning::singular_growth * (double)levels[0].grid.size());
}

template <class T> const Algebraic *Multigrid<T>::algebraic() const
{
  for (const auto &l : levels)
    if (!l.algebraic.empty()) return &l.algebraic;
  return nullptr;
}

const Algebraic *algebraic_levels(const Plan &plan)
{
  if (plan.choice.remedy != Remedy::algebraic) return nullptr;
  return std::visit([](const auto &m) { return m.algebraic(); }, plan.method);
}

template <class T> GridReport Multigrid<T>::report(size_t l) const
{
  const MultigridLevel<T> &s = levels[l];
  return {s.smoother, s.shares, s.of_schur, s.sweeps, s.components.count()};
}

GridReport report(const Plan &plan, size_t l)
{
  return std::visit([&](const auto &m) { return m.report(l); }, plan.method);
}

int Plan::factor_levels() const { return 2 * levels.back().index + eliminate_last_red; }

//--- what an application takes ----------------------------------------------------------------------------------------

// down: b, 3 L, half a value written; up: t, c, red b, 3.75 of L and D, one value written. S1 has a third of L.
double Lumped::bytes_moved(const Plan &plan, const Level &level, bool of_schur) const
{
  const double s = plan.params.single ? 4 : 8;
  return of_schur && !level.index ? 4 + s + 2 + 4 + 1.25 * s + 4 : 8 + 3 * s + 4 + 8 + 3.75 * s + 8;
}

double Lumped::multiplications(const Plan &, const Level &) const { return 6.75; }

// One pass down and one up by points; along lines one for each parity of lines, and one for the residual. S1, per node
// of its grid: 2.5 coefficients (2 where a device's sweeps need no diagonal), half an inverse, a weight, a vector and a
// half; else 5, 2.5 vectors, and 1.25 weights or, by points, 1.5 and what is injected (a quarter).
template <class T> double Multigrid<T>::bytes_moved(const Plan &plan, const Level &level, bool of_schur) const
{
  const GridReport r      = report((size_t)(&level - plan.levels.data()));
  const bool       points = r.smoother == Smoother::point;
  const int        lines  = r.smoother == Smoother::line_alternating ? 4 : 2;
  const double     passes = points ? 2 : 2 * (r.sweeps * lines * (r.of_schur ? 1.2 : 0.8) + 1);
  double           cycle  = passes * sizeof(T) *
                 (r.of_schur ? (points ? plan.strategy->s1_values : 5.5) : points ? 9.25 : 8.75);
  // elimination of the red nodes and back
  if (!level.index && !of_schur) cycle += r.of_schur ? 8 + 16 + 16 + 16 + 16 : 0;
  return cycle;
}

template <class T> double Multigrid<T>::multiplications(const Plan &plan, const Level &level) const
{
  return (level.index || plan.nine ? 21. : 16.) * report((size_t)(&level - plan.levels.data())).sweeps + 12;
}

double Plan::bytes_moved(bool of_schur) const
{
  const Algebraic *const algebraic = algebraic_levels(*this);
  double                 sum = algebraic ? algebraic->bytes_moved() / (double)levels[0].grid.size() : 0, visits = 1;
  for (const Level &l : levels) {
    if (l.step != Step::coarsen) continue;
    const double fraction = (double)l.grid.size() / (double)levels[0].grid.size();
    double       cycle = std::visit([&](const auto &m) { return m.bytes_moved(*this, l, of_schur); }, method);
    if (l.accelerated && this->cycle != Cycle::v) {
      sum += visits * fraction * ((params.inner - 1) * (56 + 24) + params.inner * 48 + 16 + 16);
      visits *= params.inner;
    }
    if (!l.index && !of_schur) cycle += 16; // into the layout
    sum += visits * fraction * cycle;
    if (algebraic) return sum;
  }
  return sum + visits * 2 * (double)remainder.band.bytes() / (double)levels[0].grid.size();
}

double Plan::multiplications() const
{
  const Algebraic *const algebraic = algebraic_levels(*this);
  // an entry or a weight is 12 B
  if (algebraic)
    return (16 + 12) * (double)levels[0].grid.owned().size() +
           algebraic->bytes_moved() / 12 / levels[0].grid.processes();
  double sum = 0, visits = 1;
  for (const Level &l : levels) {
    if (l.accelerated && cycle != Cycle::v) {
      sum += visits * (params.inner * 11. * (double)l.grid.owned().size());
      visits *= params.inner;
    }
    if (l.step == Step::coarsen)
      sum += visits * std::visit([&](const auto &m) { return m.multiplications(*this, l); }, method) *
             (double)l.grid.owned().size();
  }
  return sum + visits * 2 * (double)remainder.band.bytes() / sizeof(double);
}

//--- the method's functions -------------------------------------------------------------------------------------------

void choose_cycle(Plan &plan)
{
  std::visit([&](auto &m) { m.choose_cycle(plan); }, plan.method);
}

void apply(Plan &plan, const View<double> &out)
{
  std::visit([&](auto &m) { m.apply(plan, out); }, plan.method);
}

bool takes_natural(const Plan &plan)
{
  return std::visit([](const auto &m) { return m.natural; }, plan.method);
}

void apply_natural(Plan &plan, const double *b, double *out)
{
  std::visit([&](auto &m) { m.apply_natural(plan, b, out); }, plan.method);
}

bool takes_several(const Plan &plan)
{
  return std::visit([](const auto &m) { return m.several; }, plan.method);
}

int apply_several(Plan &plan, const DirichletCouplings &dirichlet, int vectors, const double *b, ptrdiff_t stride_b,
                  double *out, ptrdiff_t stride_out)
{
  return std::visit(
    [&](auto &m) { return m.apply_several(plan, dirichlet, {vectors, b, stride_b, out, stride_out}); }, plan.method);
}

#define INSTANTIATE(T) \
  template size_t           Multigrid<T>::bytes() const; \
  template const Algebraic *Multigrid<T>::algebraic() const; \
  template GridReport       Multigrid<T>::report(size_t) const; \
  template double           Multigrid<T>::bytes_moved(const Plan &, const Level &, bool) const; \
  template double           Multigrid<T>::multiplications(const Plan &, const Level &) const;
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::rrb
