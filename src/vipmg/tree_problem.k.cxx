// A linear complementarity problem on the levels of a tree: vectors, sums, products.
#include "vipmg/tree_problem.hpp"
#include "vipmg/tree_kernels.hpp"
#include "tree/rows.hpp"
#include <algorithm>
#include <cmath>

namespace tessera::vipmg {

using namespace kernels;

namespace {

constexpr int    steps           = 4;    // of conjugate gradients in a cycle, at most,
constexpr double reduction       = 0.01; // unless they have reduced the error by so much
constexpr int    coarse_cycles   = 2;    // of a full multigrid start, on a grid, while the active set changes
constexpr int    coarsest_cycles = 10;

} // namespace

size_t TreeProblem::Bounded::bytes() const
{
  return x.bytes() + b.bytes() + lo.bytes() + up.bytes() + inverse.bytes() + r.bytes() + v.bytes() + y.bytes() +
         free.bytes();
}
size_t TreeProblem::bytes() const
{
  size_t all =
    tree_.bytes() + diagonal_.bytes() + start_.bytes() + kept_.bytes() + z_.bytes() + p_.bytes() + q_.bytes();
  for (const Bounded &g : grids_) all += g.bytes();
  return all;
}

void TreeProblem::allocate(int l)
{
  Bounded     &g  = grids_[(size_t)l];
  const Level &at = level(l);
  const size_t n  = (size_t)(at.n + at.ghosts) * (size_t)at.bs;
  for (Buffer<double> *v : {&g.x, &g.b, &g.lo, &g.up, &g.inverse, &g.r, &g.v, &g.y})
    if (v->size() != n) v->resize(Extent{n, exec_.space});
  if (g.free.size() != n) g.free.resize(Extent{n, exec_.space});
  for_each(exec_, at.unknowns(), Copy{at.inverse.data(), g.inverse.data()});
}

void TreeProblem::begin(const Params &params)
{
  params_    = params;
  failed_    = false;
  truncated_ = -1;
  grids_.resize((size_t)grids());
  allocate(0);
  const Level &mesh = level(0);
  const size_t n    = grids_[0].x.size();
  for (Buffer<double> *v : {&diagonal_, &start_, &kept_})
    if (v->size() != n) v->resize(Extent{n, exec_.space});
  size_t most = n; // all processes have all of a small grid, which may be more than their part of the mesh
  for (const Level &l : tree_.levels()) most = std::max(most, l.work.b.size());
  for (Buffer<double> *v : {&z_, &p_, &q_})
    if (v->size() != most) v->resize(Extent{most, exec_.space});
  if (sum_.empty()) sum_.resize(Extent{1, exec_.space});
  const auto &fixed = tree_.fixed_rows();
  for_each(exec_, mesh.unknowns(), FreeDiagonal{mesh.inverse.data(), tree_.units(), diagonal_.data()});
  for_each(exec_, (int)fixed.list.size(),
           FixedDiagonal{fixed.list.data(), tree_.place_of().data(), fixed.inverse.data(), mesh.bs, diagonal_.data()});
}

void TreeProblem::forget()
{
  grids_[0].free.zero();
  truncated_ = -1;
}

template <class Kernel> double TreeProblem::sum(int l, const Kernel &kernel)
{
  double s;
  sum_each(exec_, level(l).unknowns(), kernel, sum_.data());
  copy(sum_.data(), exec_.space, &s, Space::host, 1);
  if (has_parts(l)) MPI_Allreduce(MPI_IN_PLACE, &s, 1, MPI_DOUBLE, MPI_SUM, comm_);
  return s;
}

template <class End> double TreeProblem::product(int l, double *x, const End &end)
{
  double s;
  tree_.with_whole(l, [&](Level &at) {
    at.halo(x);
    at.sum_rows(x, end, sum_.data());
  });
  copy(sum_.data(), exec_.space, &s, Space::host, 1);
  if (has_parts(l)) MPI_Allreduce(MPI_IN_PLACE, &s, 1, MPI_DOUBLE, MPI_SUM, comm_);
  return s;
}

bool TreeProblem::load(const double *F, const double *X, const double *XL, const double *XU, bool)
{
  Bounded     &g     = grids_[0];
  const double moved = sum(0, Load{tree_.order().data(), F, X, XL, XU, diagonal_.data(), g.inverse.data(), level(0).bs,
                                   tree_.units(), g.b.data(), g.lo.data(), g.up.data(), g.x.data(), start_.data()});
  level(0).halo(g.x.data());
  tree_.subtract_fixed(g.x.data(), g.b.data());
  return !(moved == 0);
}

bool TreeProblem::restart()
{
  for_each(exec_, level(0).unknowns(), Copy{start_.data(), grids_[0].x.data()});
  return !(sum(0, Size{start_.data()}) == 0);
}

void TreeProblem::take(const double *X0, const double *Y)
{
  for_each(exec_, level(0).unknowns(), Take{tree_.order().data(), X0, Y, level(0).bs, grids_[0].x.data()});
}

void TreeProblem::keep()
{
  std::swap(grids_[0].x, kept_);
}

Measure TreeProblem::measure()
{
  Bounded        &g = grids_[0];
  const int       n = level(0).unknowns();
  Buffer<Measure> found(Extent{1, exec_.space});
  Measure         m;
  (void)product(0, g.x.data(),
                Residual{g.b.data(), g.inverse.data(), g.x.data(), diagonal_.data(), tree_.units(), g.r.data()});
  forall_join(
    exec_, list_box(n),
    Measures{g.x.data(), g.lo.data(), g.up.data(), g.r.data(), diagonal_.data(), n, tree_.units(), zero_tolerance},
    found.data());
  copy(found.data(), exec_.space, &m, Space::host, 1);
  if (has_parts(0)) m = sum_over((MPI_Comm)comm_, m);
  m.changed = changed_;
  return m;
}

Point TreeProblem::look(const double *F, const double *X, const double *X0, const double *XL, const double *XU)
{
  const int     n = level(0).unknowns();
  Buffer<Point> found(Extent{1, exec_.space});
  Point         p;
  forall_join(exec_, list_box(n),
              Look{tree_.order().data(), F, X, X0 ? X0 : X, XL, XU, grids_[0].r.data(), diagonal_.data(), level(0).bs,
                   n, tree_.units(), zero_tolerance},
              found.data());
  copy(found.data(), exec_.space, &p, Space::host, 1);
  return has_parts(0) ? sum_over((MPI_Comm)comm_, p) : p;
}

Moved TreeProblem::step(double t, const double *X0, const double *XL, const double *XU, const double *F, double *X)
{
  const int     n = level(0).unknowns();
  Buffer<Moved> found(Extent{1, exec_.space});
  Moved         m;
  forall_join(exec_, list_box(n), Store{tree_.order().data(), X0, XL, XU, F, kept_.data(), level(0).bs, n, t, X},
              found.data());
  copy(found.data(), exec_.space, &m, Space::host, 1);
  return has_parts(0) ? sum_over((MPI_Comm)comm_, m) : m;
}

void TreeProblem::sweep(int l)
{
  Bounded &g = grids_[(size_t)l];
  // below 2 / lambda no sweep raises the energy
  const double lambda = level(l).lambda > 0 ? level(l).lambda : 2;
  for (int k = 0; k < (params_.pre ? params_.pre : sweeps); ++k) {
    (void)product(
      l, g.x.data(),
      ProjectedSweep{g.x.data(), g.b.data(), g.lo.data(), g.up.data(), g.inverse.data(), 1.5 / lambda, g.y.data()});
    std::swap(g.x, g.y);
  }
}

double TreeProblem::mark(int l)
{
  Bounded     &g       = grids_[(size_t)l];
  const double changed = product(
    l, g.x.data(), Mark{g.x.data(), g.b.data(), g.lo.data(), g.up.data(), g.inverse.data(), g.r.data(), g.free.data()});
  if (has_parts(l)) level(l).exchange.forward(g.free.data(), level(l).bs);
  return changed;
}

// z = about A^-1 r of the free unknowns
void TreeProblem::precondition(int l, const double *r, double *z)
{
  Level &at = level(l);
  for_each(exec_, at.unknowns(), Masked{r, grids_[(size_t)l].free.data(), at.work.b.data()});
  tree_.solve(l);
  for_each(exec_, at.unknowns(), Masked{at.work.x.data(), grids_[(size_t)l].free.data(), z});
}

// The correction v of the free unknowns
void TreeProblem::conjugate_gradients(int l)
{
  Bounded  &g = grids_[(size_t)l];
  const int n = level(l).unknowns();
  double   *r = g.y.data(), *z = z_.data(), *p = p_.data(), *q = q_.data(), first = 0, before = 0;
  g.v.zero();
  for_each(exec_, n, Masked{g.r.data(), g.free.data(), r});
  for (int k = 0; k < steps; ++k) {
    precondition(l, r, z);
    const double rz = sum(l, Dot{r, z});
    if (!k) first = rz;
    if (!(rz > reduction * reduction * first)) break;
    if (k) for_each(exec_, n, Direction{z, rz / before, p});
    else for_each(exec_, n, Copy{z, p});
    before          = rz;
    const double pq = product(l, p, FreeProduct{p, g.free.data(), q});
    if (!(pq > 0)) {
      failed_ = true;
      break;
    }
    for_each(exec_, n, Advance{p, q, rz / pq, g.v.data(), r});
  }
}

void TreeProblem::correct(int l)
{
  Bounded     &g  = grids_[(size_t)l];
  const int    n  = level(l).unknowns();
  const double rv = sum(l, Project{g.x.data(), g.lo.data(), g.up.data(), g.r.data(), g.v.data()});
  const double vv = product(l, g.v.data(), KeepProduct{g.v.data(), q_.data()});
  double       t  = vv > 0 ? rv / vv : 0;
  // Energy falls as far as 2 t: the whole step has unknowns at their bounds, which a part of it leaves.
  t = t > 0.6 ? 1 : t > 0 ? t : 0;
  for_each(exec_, n, Step{g.v.data(), g.lo.data(), g.up.data(), t, g.x.data()});
}

bool TreeProblem::run_cycle(int l)
{
  sweep(l);
  const double changed = mark(l);
  if (l == 0) changed_ = changed;
  if (changed > 0 || truncated_ != l) {
    const tree::Failure failure = tree_.truncate(l, grids_[(size_t)l].free.data());
    failed_                     = failed_ || failure.kind != 0;
    truncated_                  = l;
  }
  if (!failed_) conjugate_gradients(l);
  if (!failed_) correct(l);
  return changed > 0;
}

Measure TreeProblem::cycle(bool, bool)
{
  (void)run_cycle(0);
  return measure();
}

void TreeProblem::restrict_vector(int l, Buffer<double> &coarse)
{
  level(l).work.x.zero();
  tree_.restrict_residual(l);
  for_each(exec_, level(l + 1).unknowns(), Copy{level(l + 1).work.b.data(), coarse.data()});
}

// y and r of the coarse grid are free
void TreeProblem::restrict_bound(int l, const Buffer<double> &fine, bool lower, Buffer<double> &coarse)
{
  Bounded      &next    = grids_[(size_t)l + 1];
  const int     n       = level(l).unknowns();
  const double *inverse = grids_[(size_t)l].inverse.data();
  double       *b       = level(l).work.b.data();
  for_each(exec_, n, BoundValue{fine.data(), inverse, b});
  restrict_vector(l, next.y);
  for_each(exec_, n, BoundThere{fine.data(), inverse, b});
  restrict_vector(l, next.r);
  for_each(exec_, n, TakesPart{inverse, b});
  restrict_vector(l, next.v);
  for_each(exec_, level(l + 1).unknowns(),
           MeanBound{next.y.data(), next.r.data(), next.v.data(), lower ? -INFINITY : INFINITY, coarse.data()});
}

void TreeProblem::full_multigrid()
{
  const int last = grids() - 1;
  tree_.forget_truncation();
  for (int l = 0; l < last; ++l) {
    Bounded &g = grids_[(size_t)l], &next = grids_[(size_t)l + 1];
    allocate(l + 1);
    for_each(exec_, level(l).unknowns(), PartOf{g.b.data(), g.inverse.data(), level(l).work.b.data()});
    restrict_vector(l, next.b);
    restrict_bound(l, g.lo, true, next.lo);
    restrict_bound(l, g.up, false, next.up);
    for_each(exec_, level(l + 1).unknowns(), Uncross{next.lo.data(), next.up.data()});
  }
  for (int l = last; l >= 0; --l) {
    Bounded  &g = grids_[(size_t)l];
    const int n = level(l).unknowns();
    if (l == last) {
      g.y.zero();
      for_each(exec_, n, Project0{g.y.data(), g.lo.data(), g.up.data(), g.inverse.data(), g.x.data()});
    } else {
      level(l).work.x.zero();
      for_each(exec_, level(l + 1).unknowns(), Copy{grids_[(size_t)l + 1].x.data(), level(l + 1).work.x.data()});
      tree_.prolong(l);
      for_each(exec_, n, Project0{level(l).work.x.data(), g.lo.data(), g.up.data(), g.inverse.data(), g.x.data()});
    }
    if (!l) break;
    for (int k = 0; k < (l == last ? coarsest_cycles : coarse_cycles); ++k)
      if (!run_cycle(l) && k) break;
  }
}

double TreeProblem::flops(int, bool, bool) const
{
  return 16 * tree_.work();
}

} // namespace tessera::vipmg
