// The iterations of SNES vipgs: F linearised, and the linear complementarity problem solved.
#include "densegs/vipgs_steps.hpp"
#include "petsc/bounds.hpp"
#include <algorithm>
#include <functional>
#include <utility>

using tessera::SNES_VIPGS, tessera::Linearization, tessera::Steps, tessera::ProblemOf, tessera::rounding,
  tessera::BestPoint;

// Refuses bounds that are NaN, or of which the lower one is the larger, and names the first unknown.
static PetscErrorCode CheckBounds(SNES snes)
{
  tessera::BoundsReport b;
  PetscInt              N;
  MPI_Comm              comm = PetscObjectComm((PetscObject)snes);

  PetscFunctionBegin;
  PetscCall(tessera::LookAtBounds(tessera::Exec(), snes->xl, snes->xu, &b));
  PetscCall(VecGetSize(snes->xl, &N));
  PetscCheck(!b.nan, comm, PETSC_ERR_FP,
             "SNES vipgs: the bounds of unknown %" PetscInt_FMT
             " are %.6g and %.6g. Unknowns without a bound have PETSC_NINFINITY and PETSC_INFINITY",
             b.first, (double)b.xl, (double)b.xu);
  PetscCheck(!b.crossed, comm, PETSC_ERR_ARG_OUTOFRANGE,
             "SNES vipgs: the lower bound of unknown %" PetscInt_FMT
             " is %.6g, its upper bound %.6g: nothing between (at %" PetscInt_FMT " of %" PetscInt_FMT " unknowns)",
             b.first, (double)b.xl, (double)b.xu, b.crossed, N);
  const SNES_VIPGS *p = (SNES_VIPGS *)snes->data;
  PetscCheck(p->options.block == 1 || (!b.lower && !b.upper), comm, PETSC_ERR_ARG_INCOMP,
             "SNES vipgs: with friction (-snes_vipgs_block %" PetscInt_FMT
             ") the law bounds the forces, and there are %" PetscInt_FMT
             " other bounds. Leave SNESVISetVariableBounds() out",
             p->options.block, b.lower + b.upper);
  PetscFunctionReturn(PETSC_SUCCESS);
}

constexpr double largest_friction = 1e8; // from 1e14 on a violated normal law is rounding beside the cone's

static PetscErrorCode FrictionOf(SNES snes, PetscInt N, Linearization &linear)
{
  SNES_VIPGS *p = (SNES_VIPGS *)snes->data;
  MPI_Comm    comm = PetscObjectComm((PetscObject)snes);
  PetscInt    m = 0, bad = -1;
  double      value = 0;

  PetscFunctionBegin;
  if (p->options.block == 1) {
    PetscCheck(!p->coefficients && p->options.mu == 0, comm, PETSC_ERR_ARG_INCOMP,
               "SNES vipgs: friction needs the number of unknowns of a contact, -snes_vipgs_block 2 or 3");
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCheck(N % p->options.block == 0, comm, PETSC_ERR_ARG_SIZ,
             "SNES vipgs: contacts have %" PetscInt_FMT
             " unknowns (-snes_vipgs_block), which does not divide the %" PetscInt_FMT " unknowns",
             p->options.block, N);
  if (p->coefficients) {
    int same;
    PetscCallMPI(MPI_Comm_compare(comm, PetscObjectComm((PetscObject)p->coefficients), &same));
    PetscCheck(same == MPI_IDENT || same == MPI_CONGRUENT, comm, PETSC_ERR_ARG_NOTSAMECOMM,
               "SNES vipgs: the coefficients of friction are not on the processes of the solver");
    PetscCall(VecGetSize(p->coefficients, &m));
    PetscCheck(m == N / p->options.block, comm, PETSC_ERR_ARG_SIZ,
               "SNES vipgs: %" PetscInt_FMT " coefficients of friction for %" PetscInt_FMT " contacts", m,
               N / p->options.block);
    PetscCall(tessera::GatherVector(p->coefficients, linear.mu));
  } else linear.mu.assign((size_t)(N / p->options.block), p->options.mu);
  for (size_t c = 0; c < linear.mu.size() && bad < 0; ++c)
    if (!(linear.mu[c] >= 0) || !std::isfinite(linear.mu[c])) bad = (PetscInt)c, value = linear.mu[c];
  PetscCheck(bad < 0, comm, PETSC_ERR_ARG_OUTOFRANGE,
             "SNES vipgs: the coefficient of friction of contact %" PetscInt_FMT " is %.6g; it is >= 0", bad, value);
  const auto most = std::max_element(linear.mu.begin(), linear.mu.end());
  PetscCheck(most == linear.mu.end() || *most <= largest_friction, comm, PETSC_ERR_ARG_OUTOFRANGE,
             "SNES vipgs: the coefficient of friction of contact %" PetscInt_FMT
             " is %.6g; it is %.6g at most, as rounding would hide normal velocities. 100 keeps most from sliding",
             (PetscInt)(most - linear.mu.begin()), *most, largest_friction);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Place(SNES snes, Mat A, tessera::Space *space)
{
  SNES_VIPGS *p = (SNES_VIPGS *)snes->data;

  PetscFunctionBegin;
  PetscCall(tessera::ChooseSpace((PetscObject)snes, "snes_vipgs_backend", p->options.backend,
                                 [&](bool *on_device) { return tessera::DenseOnDevice(A, on_device); }, space));
  bool device = *space == tessera::Space::cuda;
  int size;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)snes), &size));
  const char *host = size > 1 ? "several processes work" : nullptr; // why not
  if (device && !host && p->options.block > 1 && p->options.backend == TESSERA_BACKEND_AUTO)
    host = "friction works, without -snes_vipgs_backend cuda,";
  else if (device && !host && p->options.block > 1) {
    bool     fits = false;
    PetscInt n;
    PetscCall(MatGetSize(A, &n, nullptr));
    TesseraCallCXX(fits = tessera::densegs::contacts_fit((int)n, (int)p->options.block));
    host = p->options.friction != SNES_VIPGS_FRICTION_CONE ? "the pyramid law works"
         : p->options.order == TESSERA_GS_RANDOM           ? "friction in random order works"
         : fits                                            ? nullptr
                                                           : "friction of so many contacts works";
  }
  if (device && host) {
    PetscCall(PetscInfo(snes, "%s on the host\n", host));
    device = false;
  }
  *space = device ? tessera::Space::cuda : tessera::Space::host;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <class F> static PetscErrorCode InDeviceMemory(PetscInt n, F &&work)
{
  return tessera::InDeviceMemory("SNES vipgs", "snes_vipgs_backend", n, std::forward<F>(work));
}

// The Jacobian's rows, and what it must be: finite, with a positive diagonal; if it is not, the solver's failure says
// so. Collective.
static PetscErrorCode MatrixOf(SNES snes, Mat A, Linearization &linear)
{
  SNES_VIPGS             *p    = (SNES_VIPGS *)snes->data;
  tessera::densegs::Check c;
  // Zeros are nothing to sweep over, but factorisations need none of it.
  const bool zeros =
    p->options.block == 1 && p->options.newton && p->options.acceleration != SNES_VIPGS_ACCELERATION_MPRGP;

  PetscFunctionBegin;
  bool sparse = false, factored = false;
  PetscCall(tessera::IsFactored(A, &factored));
  PetscCall(tessera::IsSparse(A, &sparse));
  if (sparse || factored) {
    PetscCall(PetscInfo(snes, "a sparse matrix is worked with on the host, all of it on every process\n"));
    PetscCall((factored ? tessera::FactoredGet : tessera::SparseGet)((PetscObject)snes, A, &linear.entries));
    TesseraCallCXX(c = tessera::lcp::create(linear.matrix, linear.entries));
    PetscCheck(linear.matrix.n == linear.n, PetscObjectComm((PetscObject)snes), PETSC_ERR_ARG_SIZ,
               "SNES vipgs: the Jacobian has %d rows, for %d unknowns", linear.matrix.n, linear.n);
  } else {
    PetscCall(tessera::DenseCheckType((PetscObject)snes, "SNES vipgs", A, true));
    PetscCall(tessera::CommOf((PetscObject)snes, &p->comm));
    PetscCall(Place(snes, A, &linear.matrix.exec.space));
    PetscCall(tessera::UseCurrentStream(linear.matrix.exec.space));
    PetscCall(tessera::DenseGet(A, linear.matrix.exec.space, &linear.view));
    PetscCall(InDeviceMemory(linear.n, [&] {
      const tessera::DenseView &view = linear.view;
      c = tessera::lcp::create(linear.matrix, p->comm, (int)view.rows, linear.n, view.values, view.lda, view.space,
                               (int)p->options.block);
    }));
  }
  const std::vector<double> &d = linear.matrix.diagonal;
  const auto bad = std::find_if(d.begin(), d.end(), [&](double v) { return !(zeros ? v >= 0 : v > 0); });
  if (c.bad_row >= 0)
    PetscCall(PetscSNPrintf(p->failure, sizeof(p->failure), "row %d, column %d of the Jacobian is not a finite number",
                            c.bad_row, c.bad_column));
  else if (bad < d.end())
    PetscCall(PetscSNPrintf(p->failure, sizeof(p->failure),
                            "row %d of the Jacobian has the diagonal entry %.6g, and %s. Leave that unknown "
                            "out, or add a small positive number to the entry",
                            (int)(bad - d.begin()), *bad,
                            zeros ? "a monotone problem has no negative one" : "sweeps need a positive one"));
  else {
    const double size = tessera::lcp::size_of_diagonal(linear.matrix);
    // else a bound that is missed by far would be nothing beside F, or all
    linear.scale = (size > 1e-6 && size < 1e6) || size == 0 ? 1 : size;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static tessera::lcp::Params ParametersOf(const SNES_VIPGS *p)
{
  tessera::lcp::Params params;
  params.sweeps.strategy = (tessera::densegs::Strategy)(int)p->options.strategy; // the same order
  params.sweeps.order    = (tessera::densegs::Order)(int)p->options.order;
  params.sweeps.omega    = p->options.omega;
  params.sweeps.single   = p->options.precision == TESSERA_PRECISION_SINGLE;
  params.acceleration    = (tessera::lcp::Acceleration)(int)p->options.acceleration;
  params.newton          = p->options.newton == PETSC_TRUE;
  params.before          = (int)PetscMin(p->options.sweeps, 1000000000);
  params.check           = (int)PetscMin(p->options.check, 1000000);
  params.max_factors     = (int)PetscMin(p->options.factorizations, 1000000000);
  params.max_sweeps      = 1000000000;
  return params;
}

static SNESVIPGSReason ReasonOf(tessera::lcp::Reason r)
{
  switch (r) {
  case tessera::lcp::Reason::stalled:
    return SNES_VIPGS_STALLED;
  case tessera::lcp::Reason::cycling:
    return SNES_VIPGS_CYCLING;
  case tessera::lcp::Reason::infeasible:
    return SNES_VIPGS_INFEASIBLE;
  case tessera::lcp::Reason::diverged:
    return SNES_VIPGS_DIVERGED;
  case tessera::lcp::Reason::iterating: // the caller asks for a reason only where there is one
  case tessera::lcp::Reason::stopped:
  case tessera::lcp::Reason::maximum:
    break;
  }
  return SNES_VIPGS_MAXIMUM;
}

// The linear problem at the present x: F is J (. - x) + F(x). solved: the steps have ended it. Collective.
static PetscErrorCode SolveLinear(SNES snes, Linearization &linear, Steps &steps, bool *solved)
{
  SNES_VIPGS                 *p = (SNES_VIPGS *)snes->data;
  const tessera::lcp::Matrix &m = linear.matrix;
  tessera::densegs::Plan      plan;
  tessera::lcp::Problem       problem = ProblemOf(p, linear);
  tessera::lcp::Report        report;
  tessera::lcp::Params        params = ParametersOf(p);
  double                      size = 0;

  PetscFunctionBegin;
  // q = F(x) - J x
  std::vector<double> zero((size_t)linear.n);
  linear.q.resize((size_t)linear.n);
  TesseraCallCXX(tessera::lcp::multiply(m, zero.data(), linear.x.data(), linear.q.data()));
  for (int i = 0; i < linear.n; ++i) linear.q[(size_t)i] = linear.f0[(size_t)i] - linear.q[(size_t)i];
  problem.matrix    = &m;
  problem.q         = linear.q.data();
  plan.exec         = m.exec;
  plan.exec.threads   = tessera::HostThreads();
  const bool sweeping = p->options.block == 1 && p->options.acceleration != SNES_VIPGS_ACCELERATION_MPRGP &&
                        (!p->options.newton || p->options.sweeps > 0) && tessera::lcp::sweepable(m);
  if (m.sparse) {
    plan.params          = params.sweeps;
    plan.params.strategy = tessera::densegs::Strategy::sequential;
  } else if (sweeping) {
    const PetscErrorCode ierr = InDeviceMemory(linear.n, [&] {
      tessera::densegs::create(plan, m.rows(), params.sweeps);
      tessera::densegs::fill(plan, m.a + m.first() * m.lda, m.lda, m.exec.space);
    });
    int failed = ierr != PETSC_SUCCESS;
    // nobody waits for a process that has failed
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, m.comm));
    PetscCall(ierr);
    PetscCheck(!failed, PETSC_COMM_SELF, PETSC_ERR_MEM,
               "SNES vipgs: another process has not the memory for its panels");
  }
  if (m.size > 1 && p->options.block == 1 && p->options.newton)
    PetscCall(PetscInfo(
      snes, "the first process gathers the rows of free unknowns for factorizations: %.6g MB where all %d are free\n",
      8e-6 * linear.n * (double)linear.n, linear.n));
  PetscCall(InDeviceMemory(
    linear.n, [&] { report = tessera::lcp::solve(plan, problem, params, linear.x.data(), std::ref(steps)); }));
  PetscCall(steps.ierr);
  for (double v : linear.q) size += v * v;
  size = std::sqrt(size);
  SNESVIPGSCertificate &c = p->certificate;
  c.natural  = report.certificate.natural;
  c.relative = size > 0 ? c.natural / size : c.natural;
  c.gap      = report.certificate.gap;
  c.primal   = report.certificate.primal;
  c.dual     = report.certificate.dual;
  c.sweeps += report.sweeps;
  c.factorizations += report.factors;
  c.proximal += report.proximal;
  c.fell_back = c.fell_back || report.fell_back ? PETSC_TRUE : PETSC_FALSE;
  c.reason    = ReasonOf(report.reason);
  *solved     = report.reason == tessera::lcp::Reason::stopped;
  steps.rounded = tessera::lcp::rounded(problem, linear.x.data(), report.w.data());
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Bounds, coefficients of friction: what norms need.
static PetscErrorCode BoundsOf(SNES snes, Linearization &linear)
{
  PetscFunctionBegin;
  PetscCall(VecGetSize(snes->vec_sol, &((SNES_VIPGS *)snes->data)->size));
  linear.n = (int)((SNES_VIPGS *)snes->data)->size;
  // first: contacts on two processes are moved by their number of unknowns
  PetscCall(FrictionOf(snes, linear.n, linear));
  PetscCall(tessera::GatherVector(snes->xl, linear.lower));
  PetscCall(tessera::GatherVector(snes->xu, linear.upper));
  for (size_t k = 0; k < linear.upper.size(); ++k)
    linear.upper[k] = std::max(linear.lower[k], linear.upper[k]); // they may have crossed by rounding
  for (double &v : linear.lower)
    if (v <= PETSC_NINFINITY) v = -HUGE_VAL;
  for (double &v : linear.upper)
    if (v >= PETSC_INFINITY) v = HUGE_VAL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// F is linearised at the present point, which is linear.x. *usable: there is a linear problem; else the SNES has a
// reason. Collective.
static PetscErrorCode Linearise(SNES snes, Linearization &linear, bool *usable)
{
  SNES_VIPGS *p = (SNES_VIPGS *)snes->data;
  bool        domain;

  PetscFunctionBegin;
  *usable = false;
  PetscCall(SNESComputeJacobian(snes, snes->vec_sol, snes->jacobian, snes->jacobian_pre));
  PetscCall(tessera::JacobianDomainError(snes, &domain));
  if (domain) {
    snes->reason = SNES_DIVERGED_JACOBIAN_DOMAIN;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatrixOf(snes, snes->jacobian_pre, linear));
  if (p->failure[0]) { // as where a KSP of PETSc's own methods fails
    PetscCall(PetscInfo(snes, "%s\n", p->failure));
    PetscCall(tessera::DenseRestore(&linear.view));
    PetscCheck(!snes->errorifnotconverged, PetscObjectComm((PetscObject)snes), PETSC_ERR_NOT_CONVERGED,
               "SNES vipgs has not converged: %s", p->failure);
    snes->reason = SNES_DIVERGED_LINEAR_SOLVE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(tessera::GatherVector(snes->vec_sol, linear.x));
  PetscCall(tessera::GatherVector(snes->vec_func, linear.f0));
  *usable = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// What holds of the present point, of F itself. Collective.
static PetscErrorCode Certify(SNES snes, const Linearization &linear)
{
  SNES_VIPGS           *p = (SNES_VIPGS *)snes->data;
  SNESVIPGSCertificate &c = p->certificate;
  std::vector<double>   f, x;

  PetscFunctionBegin;
  PetscCall(tessera::GatherVector(snes->vec_func, f));
  PetscCall(tessera::GatherVector(snes->vec_sol, x));
  const tessera::lcp::Certificate now = tessera::lcp::certify(ProblemOf(p, linear), x.data(), f.data());
  c.relative = c.natural > 0 ? c.relative * (now.natural / c.natural) : now.natural;
  c.natural  = now.natural;
  c.gap      = now.gap;
  c.primal   = now.primal;
  c.dual     = now.dual;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Newton's method for variational inequalities (Josephy), each step of which is a linear problem; that of a linear F
// is one step.
static PetscErrorCode Iterate(SNES snes, Steps &steps, double norm)
{
  SNES_VIPGS *p     = (SNES_VIPGS *)snes->data;
  double      least = norm, before = HUGE_VAL;
  int         stuck = 0;
  BestPoint   best;

  PetscFunctionBegin;
  while (!snes->reason) {
    Linearization    linear;
    bool             usable = false, solved = false;
    PetscObjectState was, now;
    PetscCall(PetscObjectStateGet((PetscObject)snes->vec_sol, &was));
    PetscTryTypeMethod(snes, update, snes->iter);
    PetscCall(PetscObjectStateGet((PetscObject)snes->vec_sol, &now));
    PetscCall(BoundsOf(snes, linear));
    steps.linear = &linear;
    if (now != was) { // the program has moved the point
      best.above    = 0;
      double size   = 0;
      bool   domain = false;
      if (p->options.block == 1) PetscCall(tessera::ProjectToBounds(snes, snes->vec_sol));
      PetscCall(steps.Evaluate(&norm, &size, &domain));
      if (!std::isfinite(size)) {
        snes->reason = domain ? SNES_DIVERGED_FUNCTION_DOMAIN : CompatDivergedNaN;
        break;
      }
    }
    PetscCall(Linearise(snes, linear, &usable));
    if (!usable) break;
    PetscCall(VecCopy(snes->vec_sol, snes->work[0]));
    // in the scale of this Jacobian
    const double at_start = tessera::lcp::natural(ProblemOf(p, linear), linear.x.data(), linear.f0.data());
    const double inside   = steps.inside;
    steps.target = PetscMax(0.5 * steps.Target(), rounding * norm);
    steps.quiet  = 0;
    PetscCall(SolveLinear(snes, linear, steps, &solved));
    const double model = p->certificate.natural;
    PetscCall(tessera::DenseRestore(&linear.view));
    if (solved && !steps.whole && steps.current) norm = snes->norm; // the last iteration was there
    else PetscCall(MakeStep(snes, linear, steps, &norm));
    if (snes->reason < 0 && !std::isfinite(norm)) break;
    if (steps.whole && solved && !snes->reason) PetscCall(WatchSteps(snes, steps, best, at_start, inside, &norm));
    PetscCall(Certify(snes, linear));
    if (snes->reason) break;
    if (!steps.whole) {
      double size = 0;
      for (double v : linear.q) size += v * v;
      steps.whole = !steps.WithinRounding(norm, model, std::sqrt(size), linear.x.data());
      // The solver of the linear problem knows nothing better, but F may have been rounded where it was linearised.
      if (!steps.whole && !(solved && norm > steps.Target() && norm < 0.5 * before)) break;
      before = norm;
      if (!steps.whole) continue;
    }
    PetscCall(steps.Iteration(snes->iter + 1, norm, (int)p->certificate.sweeps));
    stuck = norm < 0.9 * least ? 0 : stuck + 1;
    least = PetscMin(least, norm);
    if (!snes->reason && stuck >= (solved ? 50 : 3)) { // of those whose linear problem has no answer few will help
      if (solved) p->certificate.reason = SNES_VIPGS_STALLED;
      break;
    }
  }
  steps.linear = nullptr;
  PetscCall(VecDestroy(&best.at));
  PetscCall(VecDestroy(&best.step));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::SolveVIPGS(SNES snes)
{
  SNES_VIPGS   *p    = (SNES_VIPGS *)snes->data;
  MPI_Comm      comm = PetscObjectComm((PetscObject)snes);
  Vec           X    = snes->vec_sol;
  Steps         steps(snes);
  Linearization linear;
  double        norm = 0, size = 0;
  bool          domain = false;

  PetscFunctionBegin;
  PetscCall(CiteDenseGS());
  PetscCheck(p->options.order == TESSERA_GS_SYMMETRIC || p->options.acceleration == SNES_VIPGS_ACCELERATION_AUTO ||
               p->options.acceleration == SNES_VIPGS_ACCELERATION_NONE ||
               p->options.acceleration == SNES_VIPGS_ACCELERATION_MPRGP,
             comm, PETSC_ERR_ARG_INCOMP,
             "SNES vipgs: -snes_vipgs_acceleration %s works on symmetric sweeps, the order is %s",
             SNESVIPGSAccelerations[p->options.acceleration], TesseraGSOrders[p->options.order]);
  PetscCall(SetUpBounds(snes, X));
  PetscCall(CheckBounds(snes));
  PetscCall(FitWork(snes, "SNES vipgs"));
  snes->reason   = SNES_CONVERGED_ITERATING;
  snes->iter     = 0;
  p->certificate = NoCertificate();
  p->solved      = false;
  p->failure[0]  = 0;
  PetscCall(BoundsOf(snes, linear));
  if (p->options.block == 1) PetscCall(tessera::ProjectToBounds(snes, X));
  PetscCall(VecSet(snes->vec_sol_update, 0));
  steps.linear = &linear;
  steps.whole  = snes->ops->update || HasStepChecks(snes);
  PetscCall(steps.Evaluate(&norm, &size, &domain));
  if (std::isfinite(size)) {
    p->certificate.natural = norm;
    p->certificate.relative = size > 0 ? norm / size : 0;
    PetscCall(Certify(snes, linear));
    PetscCall(steps.Iteration(0, norm, 0));
    PetscCall(Iterate(snes, steps, norm));
  } else snes->reason = domain ? SNES_DIVERGED_FUNCTION_DOMAIN : CompatDivergedNaN;
  SNESVIPGSCertificate &c = p->certificate;
  // Tolerances that ask for more than rounding leaves of F.
  const bool tolerances = snes->ops->converged == SNESConvergedDefault || p->tolerances;
  if ((!snes->reason || snes->reason == SNES_DIVERGED_MAX_IT) && steps.rounded && !steps.whole && tolerances)
    snes->reason = SNES_CONVERGED_SNORM_RELATIVE;
  if (!snes->reason)
    snes->reason = c.reason == SNES_VIPGS_MAXIMUM    ? SNES_DIVERGED_MAX_IT
                 : c.reason == SNES_VIPGS_INFEASIBLE ? SNES_DIVERGED_LOCAL_MIN
                                                     : SNES_DIVERGED_INNER;
  if (snes->reason > 0) c.reason = SNES_VIPGS_CONVERGED;
  else if (snes->reason == CompatDivergedNaN || snes->reason == SNES_DIVERGED_FUNCTION_DOMAIN ||
           snes->reason == SNES_DIVERGED_JACOBIAN_DOMAIN || snes->reason == SNES_DIVERGED_LINEAR_SOLVE)
    c = NoCertificate();
  p->solved = true;
  if (snes->reason == CompatDivergedNaN) {
    PetscCall(NameNotFinite(snes->vec_func, "the function", p->failure, sizeof(p->failure)));
    if (p->failure[0]) PetscCall(PetscInfo(snes, "%s\n", p->failure));
    PetscCheck(!snes->errorifnotconverged || !p->failure[0], comm, PETSC_ERR_NOT_CONVERGED,
               "SNES vipgs has not converged: %s", p->failure);
  }
  if (std::isfinite(c.natural))
    PetscCall(PetscInfo(snes, "SNES vipgs: %s, natural residual %.6g, %d sweeps, %d factorizations\n",
                        SNESVIPGSReasons[c.reason], (double)c.natural, (int)c.sweeps, (int)c.factorizations));
  PetscCheck(!snes->errorifnotconverged || snes->reason >= 0, comm, PETSC_ERR_NOT_CONVERGED,
             "SNES vipgs has not converged: %s (%s), natural residual %.6g%s%s", SNESVIPGSReasons[c.reason],
             SNESConvergedReasons[snes->reason], (double)c.natural, p->failure[0] ? ": " : "", p->failure);
  PetscFunctionReturn(PETSC_SUCCESS);
}
