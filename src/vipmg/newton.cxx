#include "vipmg/newton.hpp"
#include "box/tuning.hpp"
#include "petsc/bounds.hpp"
#include "petsc/shell.hpp"
#include <algorithm>
#include <cmath>
#include <utility>

namespace tessera::vipmg {

namespace {

constexpr double first_forcing = 1e-2; // a linearised problem is solved to this share of the norm, at first
constexpr double forcing       = 1e-3; // and later, or to
constexpr double of_fall       = 0.1;  // this share of what the last step has left of the residual, if that is more
// after more cycles recombination begins anew: where they are slow the step before does it harm
constexpr int    quick         = 4;

// Of the linear problem at a point that is measured `here`. fell: the share of the natural residual that the last step
// has left.
double TargetOf(const Problem &problem, const Measure &here, PetscInt iteration, bool to_end, double fell)
{
  const double term    = iteration == 1 ? first_forcing : std::min(std::max(forcing, of_fall * fell), first_forcing),
               norm    = std::sqrt(here.inactive),
               natural = std::sqrt(here.natural);
  // Of a linear problem the model's norm is that of F, to rounding.
  if (to_end) return 0.99 * (double)problem.Target();
  return std::max(0.5 * (double)problem.Target(), term * std::max(norm, natural * 0.1));
}

} // namespace

PetscErrorCode Newton::Reset()
{
  PetscFunctionBegin;
  PetscCall(UseCurrentStream(plan.exec.space)); // memory is given back in its order
  PetscCall(matrix.Reset());
  PetscCall(single_.Reset());
  PetscCall(VecDestroy(&best_.at));
  const Exec exec = plan.exec;
  plan            = Plan();
  box_            = BoxProblem(plan);
  linear_         = nullptr;
  PetscCall(mesh.Reset());
  plan.exec       = exec;
  built_          = false;
  for (VectorView *a : {&F_, &X_, &lower_, &upper_, &other_}) {
    (void)a->Restore(); // after an error it may still have its vector
    *a = VectorView();
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Newton::SetUp(const char *prefix, Vec X, Vec base, Mat J)
{
  Space space = Space::host;
  DM    has;

  PetscFunctionBegin;
  failure[0] = 0;
  TesseraCallCXX(prefix_ = prefix);
  PetscCall(ChooseSpace(
    source.solver, (prefix_ + "backend").c_str(), options.backend,
    [&](bool *device) { // where the vectors are
      const PetscScalar *values;
      PetscMemType       where;

      PetscFunctionBegin;
      PetscCall(VecGetArrayReadAndMemType(X, &values, &where));
      PetscCall(VecRestoreArrayReadAndMemType(X, &values));
      *device = !PetscMemTypeHost(where);
      PetscFunctionReturn(PETSC_SUCCESS);
    },
    &space));
  base_ = base;
  PetscCall(BoxMatrix::Find(source.dm, X, J, &has));
  const bool named = !source.file.empty(); // coordinates are for trees alone
  const bool tree  = options.levels == Levels::tree || (options.levels == Levels::automatic && (!has || named));
  PetscCheck(tree || !named, PetscObjectComm(source.solver), PETSC_ERR_ARG_INCOMP,
             "%s makes box levels of the grid alone and takes no coordinates from a file (-%s %s). Leave it out, or "
             "use -%slevels_type tree", source.who, source.option.c_str(), source.file.c_str(), prefix);
  if (tree != on_tree || plan.exec.space != space) PetscCall(Reset());
  on_tree           = tree;
  plan.exec.space   = space;
  plan.strategy     = &strategy_of(space);
  plan.exec.threads = HostThreads();
  PetscCall(UseCurrentStream(space));
  if (on_tree) {
    if (!source.dm) PetscCall(VecGetDM(X, &source.dm));
    const Variant variant = options.params.variant;
    PetscCheck(variant == Variant::hybrid || variant == Variant::tnnmg, PetscObjectComm(source.solver), PETSC_ERR_SUP,
               "%s: -%svariant %s works on the grid of a DMDA alone. On a mesh take hybrid or tnnmg", source.who,
               prefix, SNESVIPMGVariants[(int)variant]);
    PetscCall(TreeMatrix::Check(source, J));
    plan.params = options.params;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  GridDescription grid;
  PetscCall(BoxMatrix::Describe(source.solver, source.who, source.dm, X, J, grid));
  if (!matrix.is(grid)) {
    PetscCall(Reset());
    PetscCall(matrix.SetGrid(source.solver, grid));
  }
  linear_ = &box_;
  if (built_ && options.params.levels != plan.params.levels) built_ = plan.built = false;
  plan.params         = options.params;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// What is wrong with the Jacobian.
PetscErrorCode Newton::Complain()
{
  const std::string node = Node(report.row);

  PetscFunctionBegin;
  if (report.kind == MatrixReport::not_finite && report.column < 0)
    PetscCall(PetscSNPrintf(failure, sizeof(failure), "row %" PetscInt_FMT " of the Jacobian (%s) has an entry that is "
                            "not a finite number", report.row, node.c_str()));
  else if (report.kind == MatrixReport::not_finite)
    PetscCall(PetscSNPrintf(failure, sizeof(failure),
                            "row %" PetscInt_FMT ", column %" PetscInt_FMT
                            " of the Jacobian (%s) is not a finite number",
                            report.row, report.column, node.c_str()));
  else if (report.kind == MatrixReport::indefinite)
    PetscCall(PetscSNPrintf(failure, sizeof(failure),
                            "the Jacobian is not positive definite: a coarse grid's operator has the negative "
                            "pivot %.6g",
                            (double)report.value));
  else
    PetscCall(PetscSNPrintf(failure, sizeof(failure),
                            "row %" PetscInt_FMT " of the Jacobian (%s) has the diagonal entry %.6g, and sweeps need a "
                            "positive one. %s",
                            report.row, node.c_str(), (double)report.value,
                            report.value == 0 ? "Is it a node of no element?" : "Is the sign of the function right?"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

std::string Newton::Node(PetscInt row) const
{
  PetscInt p[3] = {0, 0, 0};
  if (row < 0) return "on another process";
  if (on_tree) {
    const PetscInt    bs = mesh.block();
    const std::string node = "node " + std::to_string(row / bs);
    return bs == 1 ? node : node + ", component " + std::to_string(row % bs);
  }
  matrix.Node(row, p);
  return "node " + std::to_string(p[0]) + "," + std::to_string(p[1]) + "," + std::to_string(p[2]);
}

PetscErrorCode Newton::ReadMesh(Mat J)
{
  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(event_vipmg_setup, source.solver, 0, 0, 0));
  PetscCall(mesh.Read(source, J, plan.exec, options.params, report));
  PetscCall(PetscLogEventEnd(event_vipmg_setup, source.solver, 0, 0, 0));
  linear_ = mesh.problem();
  if (report.kind != MatrixReport::fine) PetscFunctionReturn(PETSC_SUCCESS);
  mesh.problem()->zero_tolerance = plan.zero_tolerance;
  if (!built_)
    PetscCall(PetscInfo(source.solver,
                        "%d grids on a tree, %.0f nodes of %" PetscInt_FMT
                        " unknowns, coordinates of %s; %" PetscInt_FMT " unknowns in Dirichlet rows; %.3g MB\n",
                        linear_->grids(), mesh.problem()->tree().levels()[0].nodes, mesh.block(), mesh.from().c_str(),
                        report.dirichlet, (double)mesh.problem()->bytes() * 1e-6));
  built_ = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Newton::ReadJacobian(Mat J, bool *failed)
{
  PetscFunctionBegin;
  if (on_tree) {
    PetscCall(ReadMesh(J));
    *failed = report.kind != MatrixReport::fine;
    if (*failed) PetscCall(Complain());
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  *failed = false;
  linear_ = &box_;
  PetscCall(PetscLogEventBegin(event_vipmg_setup, source.solver, 0, 0, 0));
  const auto memory = [&](bool make, bool box) {
    const GridDescription &g = matrix.grid();
    if (make) create(plan, matrix.comm(), g.dimension, g.n, g.periodic, matrix.boxes(), box);
    return finest(plan);
  };
  PetscCall(matrix.Read<double>(J, "vipmg", plan.exec.space, !plan.levels.empty(), memory, false, report));
  const PetscInt *p = report.node;
  PetscCheck(report.kind != MatrixReport::outside, PetscObjectComm(source.solver), PETSC_ERR_SUP,
             "vipmg works on stencils of the nearest neighbors: row %" PetscInt_FMT
             " of the Jacobian (node %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT
             " of %d x %d x %d) is coupled with column %" PetscInt_FMT
             ", which is none of them. Use -snes_type vinewtonrsls",
             report.row, p[0], p[1], p[2], matrix.size()[0], matrix.size()[1], matrix.size()[2], report.column);
  if (report.kind != MatrixReport::fine) {
    *failed = true;
    PetscCall(Complain());
  } else {
    if (report.shifted)
      PetscCall(PetscInfo(source.solver,
                          "%" PetscInt_FMT " rows of the Jacobian without a positive diagonal entry are given the sum "
                          "of their couplings as one\n",
                          report.shifted));
    TesseraCallCXX(build(plan));
    if (!built_)
      PetscCall(PetscInfo(source.solver,
                          "%zu grids, the coarsest of %d x %d x %d nodes; %s stencil; %" PetscInt_FMT
                          " Dirichlet rows; %.3g MB\n",
                          plan.levels.size(), plan.levels.back().n[0], plan.levels.back().n[1], plan.levels.back().n[2],
                          plan.levels[0].A.box ? "box" : "star", report.dirichlet, plan.bytes() * 1e-6));
    if (!linear_->symmetric())
      PetscCall(PetscInfo(source.solver,
                          "The Jacobian is not symmetric (largest |a_ij - a_ji| is %.6g of the largest diagonal "
                          "entry): the line searches reduce residuals, as there is no energy\n",
                          plan.asymmetry));
    built_ = true;
  }
  PetscCall(PetscLogEventEnd(event_vipmg_setup, source.solver, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// A point and its bounds, where the method works; the fifth view is for another vector.
PetscErrorCode Newton::Read(const Vectors &v)
{
  const Space space = plan.exec.space;

  PetscFunctionBegin;
  PetscCall(F_.Read(v.F, space));
  PetscCall(X_.Read(v.X, space));
  PetscCall(lower_.Read(v.XL, space));
  PetscCall(upper_.Read(v.XU, space));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Newton::Restore()
{
  PetscFunctionBegin;
  for (VectorView *v : {&F_, &X_, &lower_, &upper_, &other_}) PetscCall(v->Restore());
  PetscFunctionReturn(PETSC_SUCCESS);
}

// X0: a point before, or nullptr.
PetscErrorCode Newton::Evaluate(const Vectors &v, Vec X0, Point *point)
{
  PetscFunctionBegin;
  PetscCall(Read(v));
  if (X0) PetscCall(other_.Read(X0, plan.exec.space));
  TesseraCallCXX(*point =
                   linear_->evaluate(F_.data(), X_.data(), X0 ? other_.data() : nullptr, lower_.data(), upper_.data()));
  PetscCall(Restore());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Newton::Move(double t, const Vectors &from, Vec X, Moved *moved)
{
  PetscFunctionBegin;
  PetscCall(Read(from));
  PetscCall(other_.Write(X, plan.exec.space));
  TesseraCallCXX(*moved = linear_->step(t, X_.data(), lower_.data(), upper_.data(), F_.data(), other_.data()));
  PetscCall(Restore());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Newton::Load(const Vectors &v, bool follow, bool *changed)
{
  PetscFunctionBegin;
  PetscCall(Read(v));
  TesseraCallCXX(*changed = linear_->load(F_.data(), X_.data(), lower_.data(), upper_.data(), follow));
  PetscCall(Restore());
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The correction becomes that from X, which is loaded, to Y.
PetscErrorCode Newton::SetCorrection(Vec X, Vec Y, Measure *measure)
{
  PetscFunctionBegin;
  PetscCall(X_.Read(X, plan.exec.space));
  PetscCall(other_.Read(Y, plan.exec.space));
  TesseraCallCXX(linear_->set_correction(X_.data(), other_.data()));
  TesseraCallCXX(*measure = linear_->measure());
  PetscCall(Restore());
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The Jacobian at X, where the problem has a new one: *read. *failed: there is none that cycles work on, and the
// problem has been told.
PetscErrorCode Newton::Linearise(Problem &problem, Vec X, bool *read, bool *failed)
{
  Mat J = nullptr;

  PetscFunctionBegin;
  *read = false;
  PetscCall(problem.Jacobian(X, &J, failed));
  if (!*failed && J) {
    bool single;
    jacobian_ = J;
    PetscCall(ServesSingle(J, X, &single));
    // The first one is read in any case, for symmetry, what is wrong with it, and views.
    single_.unread = single && built_ && hierarchy()->symmetric();
    if (!single_.unread) PetscCall(ReadJacobian(J, failed));
    if (*failed) PetscCall(PetscInfo(source.solver, "%s\n", failure));
    else if (single && hierarchy()->symmetric()) linear_ = &single_;
    *read = !*failed;
  }
  if (*failed) PetscCall(problem.Stopped(End::jacobian));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// A point between the bounds, its function and its Jacobian.
PetscErrorCode Newton::Start(Problem &problem, const Vectors &v, bool *failed)
{
  PetscReal norm;
  bool      read = false;

  PetscFunctionBegin;
  monotone_converges_ = true;
  unsolved_           = {};
  must_reduce_        = false;
  best_.above = 0;
  PetscCall(ProjectToBounds(plan.exec, v.XL, v.XU, v.X));
  PetscCall(SetZeroTolerance(v.X));
  PetscCall(problem.Function(v.X, v.F));
  PetscCall(VecNorm(v.F, NORM_2, &norm));
  *failed = PetscIsInfOrNanReal(norm);
  if (*failed) PetscCall(problem.Stopped(End::function));
  else PetscCall(Linearise(problem, v.X, &read, failed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Newton::Solve(Problem &problem, const Vectors &v)
{
  const TrapsOff traps;
  Measure here, model;
  Norms   n;
  double  fell = 1; // the share of the natural residual that the last step has left
  bool    stop = false, failed = false, current = false, read = false, fmg = plan.params.fmg;
  Point   point;

  PetscFunctionBegin;
  PetscCall(Start(problem, v, &failed));
  if (failed) PetscFunctionReturn(PETSC_SUCCESS);
  current = true;
  TesseraCallCXX(linear_->forget());
  PetscCall(Evaluate(v, nullptr, &point));
  here       = point.measure;
  n.inactive = PetscSqrtReal(here.inactive), n.natural = PetscSqrtReal(here.natural);
  n.lower = here.lower, n.upper = here.upper;
  n.x = std::sqrt(point.X);
  if (fmg && on_tree && linear_ != &single_) PetscCall(JudgeStart(v, here, &fmg));
  PetscCall(problem.Test(0, n, &stop));
  if (std::exchange(problem.updated, false)) current = false;
  for (PetscInt iteration = 1; !stop && iteration <= options.iterations; ++iteration) {
    if (!current) {
      PetscCall(Linearise(problem, v.X, &read, &failed));
      if (failed) break;
      if (read) { // a new diagonal, or even a new level
        PetscCall(Evaluate(v, nullptr, &point));
        here = point.measure;
      }
    }
    const double natural = std::sqrt(here.natural);
    // The problem may be linear, which the first step shows; then the model is solved to the end.
    const bool to_end = current && iteration > 1;
    const Aim  aim    = {TargetOf(problem, here, iteration, to_end, fell), to_end, to_end && n.cycles <= quick};
    PetscCall(Inner(problem, v, here, aim, fmg, &n, &model, &failed));
    fmg = false;
    if (failed) {
      bool named = false;
      if (report.kind == MatrixReport::fine) PetscCall(NameUnbounded(v, &named));
      if (!failure[0])
        PetscCall(PetscSNPrintf(failure, sizeof(failure),
                                "cycles diverge on the linearized problem (natural residual %.6g, from %.6g): the "
                                "Jacobian is indefinite, or far from an M-matrix", std::sqrt(model.natural), natural));
      PetscCall(PetscInfo(source.solver, "%s\n", failure));
      // a Jacobian that a single grid has used may be none that a hierarchy can
      PetscCall(problem.Stopped(report.kind != MatrixReport::fine ? End::jacobian : End::linear));
      break;
    }
    End end;
    PetscCall(Search(problem, v, model, &here, &n, &current, &end));
    if (end != End::no) {
      PetscCall(GiveUp(problem, end, n.cycles, natural));
      break;
    }
    fell = std::sqrt(here.natural) / natural;
    PetscCall(SetZeroTolerance(v.X));
    n.inactive = std::sqrt(here.inactive);
    n.natural  = std::sqrt(here.natural);
    n.lower = here.lower, n.upper = here.upper;
    PetscCall(PetscInfo(source.solver,
                        "Iteration %" PetscInt_FMT ": %" PetscInt_FMT " cycles, step of norm %.6g; inactive norm %.6g, "
                        "natural residual %.6g, active lower %.0f upper %.0f%s\n",
                        iteration, n.cycles, (double)n.step, (double)n.inactive, (double)n.natural, (double)n.lower,
                        (double)n.upper, current ? "; the Jacobian is kept" : ""));
    PetscCall(problem.Test(iteration, n, &stop));
    if (std::exchange(problem.updated, false)) current = false;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera::vipmg
