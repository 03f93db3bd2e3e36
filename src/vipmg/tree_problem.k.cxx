// A linear complementarity problem on the levels of a tree: vectors, sums, products.
#include "vipmg/tree_problem.hpp"
#include "vipmg/tree_kernels.hpp"
#include "tree/rows.hpp"
#include <algorithm>
#include <cmath>
#include <utility>

namespace tessera::vipmg {

using namespace kernels;

namespace {

constexpr int    steps           = 4;    // of conjugate gradients in a cycle, at most,
constexpr double reduction       = 0.01; // unless they have reduced the error by so much
constexpr int    coarse_cycles   = 2;    // of a full multigrid start, on a grid, while the active set changes
constexpr int    coarsest_cycles = 10;
constexpr int    coarsest_sweeps = 10;   // of a monotone cycle
constexpr int    followed        = 8;    // at most so many times sweeps mend a correction that bounds have stopped

} // namespace

size_t TreeProblem::Bounded::bytes() const
{
  return x.bytes() + b.bytes() + lo.bytes() + up.bytes() + inverse.bytes() + r.bytes() + v.bytes() + y.bytes() +
         free.bytes();
}
size_t TreeProblem::bytes() const
{
  size_t all =
    tree_.bytes() + diagonal_.bytes() + start_.bytes() + kept_.bytes() + z_.bytes() + p_.bytes() + q_.bytes() +
    reflect_.bytes() + turned_.bytes() + product_.bytes();
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
  for_each(exec_, at.unknowns(), CopyValues<double>{at.inverse.data(), g.inverse.data()});
  if (at.blocks.any) at.blocks.bound(at, at.a.data(), g.inverse.data()); // lambda is of the blocks
  g.lambda = at.lambda > 0 ? at.lambda : 2;
}

void TreeProblem::begin(const Params &params)
{
  params_    = params;
  ++recorded_.problems;
  failed_    = false;
  truncated_ = -1;
  reflect_   = Buffer<double>();
  grids_.resize((size_t)grids());
  for (int l = 0; l < grids(); ++l) allocate(l);
  const size_t n = grids_[0].x.size();
  for (Buffer<double> *v : {&diagonal_, &start_, &kept_, &product_})
    if (v->size() != n) v->resize(Extent{n, exec_.space});
  size_t largest = n; // all processes have all of a small grid, which may be more than their part of the mesh
  for (const Level &l : tree_.levels()) largest = std::max(largest, l.work.b.size());
  for (Buffer<double> *v : {&z_, &p_, &q_})
    if (v->size() != largest) v->resize(Extent{largest, exec_.space});
  if (sum_.empty()) sum_.resize(Extent{1, exec_.space});
  set_diagonals();
  find_symmetry();
}

void TreeProblem::set_diagonals()
{
  const Level &mesh  = level(0);
  const auto  &constrained = tree_.constrained_rows();
  for_each(exec_, mesh.unknowns(), FreeDiagonal{mesh.inverse.data(), tree_.units(), diagonal_.data()});
  for_each(exec_, (int)constrained.list.size(),
           FixedDiagonal{constrained.list.data(), tree_.place_of().data(), constrained.inverse.data(), mesh.bs,
                         diagonal_.data()});
  if (!reflect_.empty())
    for_each(exec_, mesh.n,
             LargestDiagonal{reflect_.data(), mesh.bs, grids_[0].inverse.data(), diagonal_.data()});
}

void TreeProblem::reflect(const Buffer<double> &v)
{
  const Level &mesh = level(0);
  for (Buffer<double> *w : {&reflect_, &turned_})
    if (w->size() != grids_[0].x.size()) w->resize(Extent{grids_[0].x.size(), exec_.space});
  Buffer<double> on_device;
  on_device.resize(Extent{v.size(), exec_.space});
  copy(v, on_device);
  for_each(exec_, mesh.n, TakeReflection{tree_.order().data(), on_device.data(), mesh.bs, reflect_.data()});
  level(0).halo(reflect_.data());
  set_diagonals();
}

void TreeProblem::forget()
{
  grids_[0].free.zero();
  truncated_ = -1;
  climbs_    = true;
}

template <class Kernel> double TreeProblem::sum(int l, const Kernel &kernel)
{
  double s;
  sum_each(exec_, level(l).unknowns(), kernel, sum_.data());
  copy(sum_.data(), exec_.space, &s, Space::host, 1);
  if (has_parts(l)) MPI_Allreduce(MPI_IN_PLACE, &s, 1, MPI_DOUBLE, MPI_SUM, comm_);
  return s;
}

void TreeProblem::turn(double *x)
{
  if (!reflect_.empty()) for_each(exec_, level(0).n, Reflect{reflect_.data(), level(0).bs, x});
}

// product_ = A x of the mesh
void TreeProblem::multiply(double *x)
{
  const bool    turned = !reflect_.empty();
  double *const v      = turned ? turned_.data() : x;
  if (turned) for_each(exec_, level(0).unknowns(), CopyValues<double>{x, v});
  turn(v);
  tree_.with_whole(0, [&](Level &at) {
    at.halo(v);
    at.each_row(v, KeepProduct<double>{product_.data()});
  });
  turn(product_.data());
}

template <class End> double TreeProblem::product(int l, double *x, const End &end)
{
  double s;
  if (l == 0 && !reflect_.empty()) {
    multiply(x);
    return sum(0, EndOf<End>{product_.data(), end});
  }
  tree_.with_whole(l, [&](Level &at) {
    at.halo(x);
    at.sum_rows(x, end, sum_.data());
  });
  copy(sum_.data(), exec_.space, &s, Space::host, 1);
  if (has_parts(l)) MPI_Allreduce(MPI_IN_PLACE, &s, 1, MPI_DOUBLE, MPI_SUM, comm_);
  return s;
}

// The same without the sum, for which a host would wait.
template <class End> void TreeProblem::each_product(int l, double *x, const End &end)
{
  if (l == 0 && !reflect_.empty()) {
    multiply(x);
    return for_each(exec_, level(0).unknowns(), EndOf<End>{product_.data(), end});
  }
  tree_.with_whole(l, [&](Level &at) {
    at.halo(x);
    at.each_row(x, end);
  });
}

bool TreeProblem::load(const double *F, const double *X, const double *XL, const double *XU, bool)
{
  Bounded     &g     = grids_[0];
  const double moved = sum(0, Load{tree_.order().data(), F, X, XL, XU, diagonal_.data(), g.inverse.data(), level(0).bs,
                                   tree_.units(), g.b.data(), g.lo.data(), g.up.data(), g.x.data(), start_.data()});
  level(0).halo(g.x.data());
  turn(g.b.data());
  tree_.subtract_constrained(g.x.data(), g.b.data());
  turn(g.b.data());
  natural_ = INFINITY;
  return !(moved == 0);
}

bool TreeProblem::restart()
{
  for_each(exec_, level(0).unknowns(), CopyValues<double>{start_.data(), grids_[0].x.data()});
  return !(sum(0, Size{start_.data()}) == 0);
}

void TreeProblem::set_correction(const double *X0, const double *Y)
{
  for_each(exec_, level(0).unknowns(), Take{tree_.order().data(), X0, Y, level(0).bs, grids_[0].x.data()});
}

void TreeProblem::keep_correction()
{
  std::swap(grids_[0].x, kept_);
}

Measure TreeProblem::measure()
{
  Bounded &g = grids_[0];
  each_product(0, g.x.data(),
               Residual{g.b.data(), g.inverse.data(), g.x.data(), diagonal_.data(), tree_.units(), g.r.data()});
  Measure m = join_each<Measure>(exec_, level(0).unknowns(),
                                 Measures{g.x.data(), g.b.data(), g.lo.data(), g.up.data(), g.r.data(),
                                          diagonal_.data(), tree_.units(), zero_tolerance});
  if (has_parts(0)) m = sum_over((MPI_Comm)comm_, m);
  m.changed = changed_;
  return m;
}

Point TreeProblem::evaluate(const double *F, const double *X, const double *X0, const double *XL, const double *XU)
{
  const Point p = join_each<Point>(exec_, level(0).unknowns(),
                                   Look{tree_.order().data(), F, X, X0 ? X0 : X, XL, XU, grids_[0].r.data(),
                                        diagonal_.data(), level(0).bs, tree_.units(), zero_tolerance});
  return has_parts(0) ? sum_over((MPI_Comm)comm_, p) : p;
}

Moved TreeProblem::step(double t, const double *X0, const double *XL, const double *XU, const double *F, double *X)
{
  const Moved m = join_each<Moved>(exec_, level(0).unknowns(),
                                   Store{tree_.order().data(), X0, XL, XU, F, kept_.data(), level(0).bs, t, X});
  return has_parts(0) ? sum_over((MPI_Comm)comm_, m) : m;
}

void TreeProblem::sweep(int l)
{
  Bounded &g = grids_[(size_t)l];
  // below 2 / lambda no sweep raises the energy
  for (int k = 0; k < (params_.pre ? params_.pre : sweeps); ++k) {
    each_product(
      l, g.x.data(),
      ProjectedSweep{g.x.data(), g.b.data(), g.lo.data(), g.up.data(), g.inverse.data(), 1.5 / g.lambda, g.y.data()});
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
  if (l == 0) turn(at.work.b.data());
  tree_.solve(l);
  if (l == 0) turn(at.work.x.data());
  for_each(exec_, at.unknowns(), Masked{at.work.x.data(), grids_[(size_t)l].free.data(), z});
}

// Is the operator of the mesh symmetric? By x . A y and y . A x of two vectors that have nothing to do with it: what is
// not symmetric would have to be orthogonal to them.
void TreeProblem::find_symmetry()
{
  Bounded     &g = grids_[0];
  const int    bs = level(0).bs;
  const double x2 = sum(0, RandomVector{tree_.order().data(), g.inverse.data(), bs, 1, g.v.data()});
  (void)sum(0, RandomVector{tree_.order().data(), g.inverse.data(), bs, 2, g.y.data()});
  const double *const Ax = product_.data();
  multiply(g.y.data());
  const double xAy = sum(0, DotProduct<double>{g.v.data(), Ax}), size = sum(0, DotProduct<double>{Ax, Ax});
  multiply(g.v.data());
  const double yAx = sum(0, DotProduct<double>{g.y.data(), Ax});
  symmetric_ = !(std::fabs(xAy - yAx) > 1e-8 * std::sqrt(size * x2 / nodes()));
  for (Buffer<double> *v : {&directions_, &images_})
    if (!symmetric_ && v->size() != steps * g.x.size()) v->resize(Extent{steps * g.x.size(), exec_.space});
}

// The same without symmetry: generalized conjugate residuals.
void TreeProblem::conjugate_residuals(int l)
{
  Bounded     &g = grids_[(size_t)l];
  const int    n = level(l).unknowns();
  const size_t stride = grids_[0].x.size();
  double      *r = g.y.data(), qq[steps], first = 0;
  g.v.zero();
  for_each(exec_, n, Masked{g.r.data(), g.free.data(), r});
  for (int k = 0; k < steps; ++k) {
    const double rr = sum(l, DotProduct<double>{r, r});
    if (!k) first = rr;
    if (!(rr > reduction * reduction * first)) break;
    double *const p = directions_.data() + (size_t)k * stride, *const q = images_.data() + (size_t)k * stride;
    precondition(l, r, z_.data());
    (void)product(l, z_.data(), FreeProduct{z_.data(), g.free.data(), q});
    for_each(exec_, n, CopyValues<double>{z_.data(), p});
    for (int m = 0; m < k; ++m) {
      const double *const pm = directions_.data() + (size_t)m * stride, *const qm = images_.data() + (size_t)m * stride;
      const double        c  = -sum(l, DotProduct<double>{q, qm}) / qq[m];
      for_each(exec_, n, Advance{pm, qm, c, p, q, 1});
    }
    qq[k] = sum(l, DotProduct<double>{q, q});
    if (!(qq[k] > 0)) break;
    for_each(exec_, n, Advance{p, q, sum(l, DotProduct<double>{r, q}) / qq[k], g.v.data(), r, -1});
  }
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
    const double rz = sum(l, DotProduct<double>{r, z});
    if (!k) first = rz;
    if (!(rz > reduction * reduction * first)) break;
    if (k) for_each(exec_, n, Direction{z, rz / before, p});
    else for_each(exec_, n, CopyValues<double>{z, p});
    before          = rz;
    const double pq = product(l, p, FreeProduct{p, g.free.data(), q});
    if (!(pq > 0)) {
      failed_ = true;
      break;
    }
    for_each(exec_, n, Advance{p, q, rz / pq, g.v.data(), r, -1});
  }
}

// Energy falls as far as twice the best step; the whole one has unknowns at bounds, which leave their neighbours. On
// flat elements that costs more energy than the correction gains, until projected sweeps let the neighbours follow.
void TreeProblem::correct(int l)
{
  Bounded  &g  = grids_[(size_t)l];
  const int n  = level(l).unknowns();
  double    rv = sum(l, Project{g.x.data(), g.lo.data(), g.up.data(), g.r.data(), g.v.data()}), t = 1;
  for (int k = 0; symmetric_; ++k) { // without symmetry there is no energy
    const double vv = product(l, g.v.data(), ProductAndDot{g.v.data(), q_.data()});
    t = !(vv > 0 && rv > 0) ? 0 : rv > 0.6 * vv ? 1 : rv / vv;
    if (t == 1 || !(vv > 0) || k == followed) break;
    for_each(exec_, n, AddBetweenBounds{g.v.data(), g.lo.data(), g.up.data(), g.x.data(), z_.data()});
    sweep(l);
    for_each(exec_, n, StepBack{z_.data(), g.x.data(), g.v.data()});
    rv = sum(l, DotProduct<double>{g.v.data(), g.r.data()});
  }
  for_each(exec_, n, Step{g.v.data(), g.lo.data(), g.up.data(), t, g.x.data()});
}

// The problem of the next grid is that for a correction of x.
void TreeProblem::restrict_problem(int l)
{
  Bounded  &g = grids_[(size_t)l], &next = grids_[(size_t)l + 1];
  const int n = level(l).unknowns();
  for_each(exec_, n, CopyValues<double>{g.x.data(), level(l).work.x.data()});
  for_each(exec_, n, PartOf{g.b.data(), g.inverse.data(), level(l).work.b.data()});
  tree_.with_whole(l, [&](Level &) { tree_.restrict_residual(l); });
  for_each(exec_, level(l + 1).unknowns(), CopyValues<double>{level(l + 1).work.b.data(), next.b.data()});
  for (int sign = 1; sign >= -1; sign -= 2) {
    const Buffer<double> &bound = sign > 0 ? g.lo : g.up;
    for_each(exec_, n, Room{g.x.data(), bound.data(), g.inverse.data(), (double)sign, g.r.data()});
    tree_.largest_in_support(l, g.r.data(), next.r.data());
    Buffer<double> &to = sign > 0 ? next.lo : next.up;
    for_each(exec_, level(l + 1).unknowns(), TakeRoom{next.r.data(), (double)sign, to.data()});
  }
  next.x.zero();
}

void TreeProblem::monotone_cycle(int l)
{
  Bounded &g = grids_[(size_t)l];
  if (l + 1 == grids()) {
    for (int k = 0; k < coarsest_sweeps; ++k) sweep(l);
    return;
  }
  sweep(l);
  restrict_problem(l);
  monotone_cycle(l + 1);
  for_each(exec_, level(l).unknowns(), CopyValues<double>{g.x.data(), level(l).work.x.data()});
  for_each(exec_, level(l + 1).unknowns(),
           CopyValues<double>{grids_[(size_t)l + 1].x.data(), level(l + 1).work.x.data()});
  tree_.prolong(l);
  for_each(exec_, level(l).unknowns(),
           Project0{level(l).work.x.data(), g.lo.data(), g.up.data(), g.inverse.data(), g.x.data()});
  sweep(l);
}

// On a device it is recorded when it comes for the second time, as coarse grids cost launches only. What it is made of
// changes with the problem and, as steps are kept by an exchange of vectors, with the places of x and y. A cycle leaves
// these as they are: each grid has an even number of sweeps, which exchange them.
void TreeProblem::monotone_cycle()
{
  const uint64_t x = (uint64_t)(size_t)grids_[0].x.data(), y = (uint64_t)(size_t)grids_[0].y.data();
  const uint64_t of = x ^ (y << 1) ^ (recorded_.problems * golden_ratio);
  if (has_parts(0) || std::exchange(recorded_.last, of) != of) monotone_cycle(0);
  else recorded_.graph.run(exec_.space, of, 0, [&] { monotone_cycle(0); });
}

bool TreeProblem::run_cycle(int l, bool climb)
{
  if (climb && !l) monotone_cycle();
  else if (climb) monotone_cycle(l);
  else sweep(l);
  const double changed = mark(l);
  if (l == 0) changed_ = changed;
  if (changed > 0 || truncated_ != l) {
    const double *const reflect = reflect_.empty() ? nullptr : reflect_.data();
    const tree::Failure failure = tree_.truncate(l, grids_[(size_t)l].free.data(), reflect);
    failed_                     = failed_ || failure.kind != 0;
    truncated_                  = l;
  }
  if (!failed_ && symmetric_) conjugate_gradients(l);
  if (!failed_ && !symmetric_) conjugate_residuals(l);
  if (!failed_) correct(l);
  return changed > 0;
}

// Where bounds stand at single nodes the monotone part lifts these from the obstacle and may not take them back: behind
// a nested start, which has found most of the active set, it is left out there. A slow cycle has it turned on, or off.
Measure TreeProblem::cycle(bool climb, bool)
{
  (void)run_cycle(0, climb && climbs_);
  const Measure m = measure();
  if (m.natural > 0.25 * natural_) climbs_ = !climbs_;
  natural_ = m.natural;
  return m;
}

void TreeProblem::restrict_vector(int l, Buffer<double> &coarse)
{
  level(l).work.x.zero();
  tree_.restrict_residual(l);
  for_each(exec_, level(l + 1).unknowns(), CopyValues<double>{level(l + 1).work.b.data(), coarse.data()});
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
  for_each(exec_, n, HasBound{fine.data(), inverse, b});
  restrict_vector(l, next.r);
  for_each(exec_, n, TakesPart{inverse, b});
  restrict_vector(l, next.v);
  for_each(exec_, level(l + 1).unknowns(),
           MeanBound{next.y.data(), next.r.data(), next.v.data(), lower ? -INFINITY : INFINITY, coarse.data()});
}

void TreeProblem::full_multigrid()
{
  const int last = grids() - 1;
  if (!reflect_.empty()) return;
  climbs_ = sum(0, MostlyBounded{grids_[0].lo.data(), grids_[0].up.data(), grids_[0].inverse.data()}) >= 0;
  tree_.forget_truncation();
  for (int l = 0; l < last; ++l) {
    Bounded &g = grids_[(size_t)l], &next = grids_[(size_t)l + 1];
    for_each(exec_, level(l).unknowns(), PartOf{g.b.data(), g.inverse.data(), level(l).work.b.data()});
    restrict_vector(l, next.b);
    restrict_bound(l, g.lo, true, next.lo);
    restrict_bound(l, g.up, false, next.up);
    for_each(exec_, level(l + 1).unknowns(), Uncross{next.lo.data(), next.up.data()});
  }
  for (int l = last; l >= 0; --l) {
    Bounded  &g = grids_[(size_t)l];
    const int n = level(l).unknowns();
    level(l).work.x.zero();
    if (l < last) {
      for_each(exec_, level(l + 1).unknowns(),
               CopyValues<double>{grids_[(size_t)l + 1].x.data(), level(l + 1).work.x.data()});
      tree_.prolong(l);
    }
    for_each(exec_, n, Project0{level(l).work.x.data(), g.lo.data(), g.up.data(), g.inverse.data(), g.x.data()});
    if (!l) break;
    for (int k = 0; k < (l == last ? coarsest_cycles : coarse_cycles); ++k)
      if (!run_cycle(l, true) && k) break;
  }
}

int TreeProblem::free_shift()
{
  Bounded &g = grids_[0];
  for (int k = 0; k < level(0).bs && reflect_.empty(); ++k) {
    const double all = sum(0, Shift{g.free.data(), diagonal_.data(), level(0).bs, k, g.v.data()});
    const double energy = product(0, g.v.data(), FreeProduct{g.v.data(), g.free.data(), q_.data()});
    if (all > 0 && std::fabs(energy) <= 1e-13 * tree_.units() * all) return k;
  }
  return -1;
}

} // namespace tessera::vipmg
