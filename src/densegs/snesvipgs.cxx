// SNES vipgs: PETSc's face of the solver for dense linear complementarity problems and frictional contact.
#include "densegs/types.hpp"
#include "petsc/bounds.hpp"
#include "petsc/compat_snes.h"
#include <cmath>
#include <utility>
#include <vector>

using tessera::SNES_VIPGS;

const char *const SNESVIPGSAccelerations[] = {"auto", "none", "nesterov", "nncg", "mprgp", "SNESVIPGSAcceleration", "SNES_VIPGS_", nullptr};
const char *const SNESVIPGSFrictions[]     = {"cone", "pyramid", "SNESVIPGSFriction", "SNES_VIPGS_", nullptr};
const char *const SNESVIPGSReasons[]       = {"converged", "maximum", "stalled", "cycling", "infeasible", "diverged", "SNESVIPGSReason", "SNES_VIPGS_", nullptr};

namespace {

// The linear problem: the matrix by rows, vectors whole on every process.
struct Linear {
  int                  n = 0;
  tessera::lcp::Matrix matrix;
  tessera::DenseView   view; // its rows in PETSc's own array
  std::vector<double>  q, f0, x, lower, upper, mu, answer; // answer: the linear problem's F at its x
};

} // namespace

// The first unknown of `bad` of any process's rows, refused.
static PetscErrorCode CheckBounds(SNES snes)
{
  tessera::BoundsReport b;
  PetscInt              N;
  MPI_Comm              comm = PetscObjectComm((PetscObject)snes);

  PetscFunctionBegin;
  PetscCall(tessera::LookAtBounds(snes->xl, snes->xu, &b));
  PetscCall(VecGetSize(snes->xl, &N));
  PetscCheck(!b.nan, comm, PETSC_ERR_FP, "SNES vipgs: the bounds of unknown %" PetscInt_FMT " are %g and %g. Unknowns without a bound have PETSC_NINFINITY and PETSC_INFINITY", b.first, (double)b.xl, (double)b.xu);
  PetscCheck(!b.crossed, comm, PETSC_ERR_ARG_OUTOFRANGE, "SNES vipgs: the lower bound of unknown %" PetscInt_FMT " is %g, its upper bound %g: nothing lies between (at %" PetscInt_FMT " of %" PetscInt_FMT " unknowns)", b.first, (double)b.xl, (double)b.xu, b.crossed, N);
  const SNES_VIPGS *p = (SNES_VIPGS *)snes->data;
  PetscCheck(p->block == 1 || (!b.lower && !b.upper), comm, PETSC_ERR_ARG_INCOMP, "SNES vipgs: with friction (-snes_vipgs_block %" PetscInt_FMT ") the law bounds the forces, and there are %" PetscInt_FMT " other bounds. Leave SNESVISetVariableBounds() out", p->block, b.lower + b.upper);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FrictionOf(SNES snes, PetscInt N, Linear &w)
{
  SNES_VIPGS *p = (SNES_VIPGS *)snes->data;
  MPI_Comm    comm = PetscObjectComm((PetscObject)snes);
  PetscInt    m = 0, bad = -1;
  double      value = 0;

  PetscFunctionBegin;
  if (p->block == 1) {
    PetscCheck(!p->coefficients && p->mu == 0, comm, PETSC_ERR_ARG_INCOMP, "SNES vipgs: friction needs the number of unknowns of a contact, -snes_vipgs_block 2 or 3");
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCheck(N % p->block == 0, comm, PETSC_ERR_ARG_SIZ, "SNES vipgs: contacts have %" PetscInt_FMT " unknowns (-snes_vipgs_block), which does not divide the %" PetscInt_FMT " unknowns", p->block, N);
  if (p->coefficients) {
    int same;
    PetscCallMPI(MPI_Comm_compare(comm, PetscObjectComm((PetscObject)p->coefficients), &same));
    PetscCheck(same == MPI_IDENT || same == MPI_CONGRUENT, comm, PETSC_ERR_ARG_NOTSAMECOMM, "SNES vipgs: the coefficients of friction are not on the processes of the solver");
    PetscCall(VecGetSize(p->coefficients, &m));
    PetscCheck(m == N / p->block, comm, PETSC_ERR_ARG_SIZ, "SNES vipgs: %" PetscInt_FMT " coefficients of friction for %" PetscInt_FMT " contacts", m, N / p->block);
    PetscCall(tessera::GatherVector(p->coefficients, w.mu));
  } else w.mu.assign((size_t)(N / p->block), p->mu);
  for (size_t c = 0; c < w.mu.size() && bad < 0; ++c)
    if (!(w.mu[c] >= 0) || !std::isfinite(w.mu[c])) bad = (PetscInt)c, value = w.mu[c];
  PetscCheck(bad < 0, comm, PETSC_ERR_ARG_OUTOFRANGE, "SNES vipgs: the coefficient of friction of contact %" PetscInt_FMT " is %g; it is 0 or more", bad, value);
  PetscFunctionReturn(PETSC_SUCCESS);
}

namespace {

// One step's residual goes to the convergence test and the monitors, on all processes: all of them make the same steps.
struct Steps {
  SNES                snes = nullptr;
  PetscErrorCode      ierr = PETSC_SUCCESS;
  PetscInt            count = 0; // also of earlier linearisations
  int                 reason = 0;

  static PetscErrorCode Step(Steps *s, double norm, const double *x, int sweeps)
  {
    SNES           snes = s->snes;
    const PetscInt it   = s->count++;

    PetscFunctionBegin;
    PetscCall(PetscObjectSAWsTakeAccess((PetscObject)snes));
    snes->iter = it;
    snes->norm = norm;
    PetscCall(PetscObjectSAWsGrantAccess((PetscObject)snes));
    { // tests and monitors may look at the solution
      PetscScalar *v;
      PetscInt     first, last;
      PetscCall(VecGetOwnershipRange(snes->vec_sol, &first, &last));
      PetscCall(VecGetArrayWrite(snes->vec_sol, &v));
      std::copy(x + first, x + last, v);
      PetscCall(VecRestoreArrayWrite(snes->vec_sol, &v));
    }
    PetscCall(SNESLogConvergenceHistory(snes, norm, sweeps));
    PetscCall(CompatSNESConverged(snes, it, 0.0, PETSC_INFINITY, norm));
    PetscCall(SNESMonitor(snes, it, norm));
    if (!std::isfinite(norm)) snes->reason = CompatDivergedNaN;
    if (!snes->reason && it >= snes->max_its) snes->reason = SNES_DIVERGED_MAX_IT;
    s->reason = (int)snes->reason;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  // true: end
  bool operator()(const tessera::lcp::Report &report, double norm, const double *x)
  {
    ierr = Step(this, norm, x, report.sweeps);
    return ierr || reason;
  }
};

} // namespace

static PetscErrorCode ChooseSpace(SNES snes, Mat A, tessera::Space *space)
{
  SNES_VIPGS *p      = (SNES_VIPGS *)snes->data;
  bool        device = p->backend == TESSERA_BACKEND_CUDA;

  PetscFunctionBegin;
  PetscCall(tessera::CheckBackend((PetscObject)snes, "snes_vipgs_backend", p->backend));
  if (p->backend == TESSERA_BACKEND_AUTO) {
    PetscCall(tessera::DenseOnDevice(A, &device));
    device = device && !tessera::device::unusable();
  }
  int size;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)snes), &size));
  const char *host = size > 1 ? "several processes work" : nullptr; // why not
  if (device && !host && p->block > 1 && p->backend == TESSERA_BACKEND_AUTO) host = "friction works, without -snes_vipgs_backend cuda,";
  else if (device && !host && p->block > 1) {
    bool     fits = false;
    PetscInt n;
    PetscCall(MatGetSize(A, &n, nullptr));
    TesseraCallCXX(fits = tessera::densegs::contacts_fit((int)n, (int)p->block));
    host = p->friction != SNES_VIPGS_CONE ? "the pyramid law works" : p->order == TESSERA_GS_RANDOM ? "friction in random order works" : fits ? nullptr : "friction of so many contacts works";
  }
  if (device && host) {
    PetscCall(PetscInfo(snes, "%s on the host\n", host));
    device = false;
  }
  *space = device ? tessera::Space::cuda : tessera::Space::host;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <class F> static PetscErrorCode InDeviceMemory(PetscInt n, F &&work) { return tessera::InDeviceMemory("SNES vipgs", "snes_vipgs_backend", n, std::forward<F>(work)); }

// The Jacobian's rows, and what it must be: finite, with a positive diagonal; if it is not, the solver's failure says so. Collective.
static PetscErrorCode MatrixOf(SNES snes, Mat A, Linear &w)
{
  SNES_VIPGS             *p    = (SNES_VIPGS *)snes->data;
  MPI_Comm                comm = PetscObjectComm((PetscObject)snes);
  tessera::densegs::Check c;

  PetscFunctionBegin;
  PetscCall(ChooseSpace(snes, A, &w.matrix.exec.space));
  PetscCall(tessera::UseCurrentStream(w.matrix.exec.space));
  PetscCall(tessera::DenseGet(A, w.matrix.exec.space, &w.view));
  PetscCall(InDeviceMemory(w.n, [&] { c = tessera::lcp::create(w.matrix, comm, (int)w.view.rows, w.n, w.view.values, w.view.lda, w.view.space, (int)p->block); }));
  if (c.bad_row >= 0) PetscCall(PetscSNPrintf(p->failure, sizeof(p->failure), "row %d, column %d of the Jacobian is not a finite number", c.bad_row, c.bad_column));
  else if (c.diagonal >= 0) PetscCall(PetscSNPrintf(p->failure, sizeof(p->failure), "row %d of the Jacobian has the diagonal entry %g, and sweeps need a positive one. Leave that unknown out, or add a small positive number to the entry", c.diagonal, w.matrix.diagonal[(size_t)c.diagonal]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static tessera::lcp::Params ParametersOf(const SNES_VIPGS *p)
{
  tessera::lcp::Params params;
  params.sweeps.strategy = (tessera::densegs::Strategy)(int)p->strategy; // the same order
  params.sweeps.order    = (tessera::densegs::Order)(int)p->order;
  params.sweeps.omega    = p->omega;
  params.sweeps.single   = p->precision == TESSERA_PRECISION_SINGLE;
  params.acceleration    = (tessera::lcp::Acceleration)(int)p->acceleration;
  params.newton          = p->newton == PETSC_TRUE;
  params.before          = (int)PetscMin(p->sweeps, 1000000000);
  params.check           = (int)PetscMin(p->check, 1000000);
  params.most_factors    = (int)PetscMin(p->factorizations, 1000000000);
  params.most_sweeps     = 1000000000;
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
  default:
    return SNES_VIPGS_MAXIMUM;
  }
}

// The linear problem at the present x: F is J (. - x) + F(x). Collective.
static PetscErrorCode SolveLinear(SNES snes, Linear &w, Steps &steps)
{
  SNES_VIPGS                 *p = (SNES_VIPGS *)snes->data;
  const tessera::lcp::Matrix &m = w.matrix;
  tessera::densegs::Plan      plan;
  tessera::lcp::Problem       problem;
  tessera::lcp::Report        report;
  tessera::lcp::Params        params = ParametersOf(p);
  double                      size = 0;

  PetscFunctionBegin;
  // q = F(x) - J x
  std::vector<double> zero((size_t)w.n);
  w.q.resize((size_t)w.n);
  TesseraCallCXX(tessera::lcp::multiply(m, zero.data(), w.x.data(), w.q.data()));
  for (int i = 0; i < w.n; ++i) w.q[(size_t)i] = w.f0[(size_t)i] - w.q[(size_t)i];
  problem.n         = w.n;
  problem.matrix    = &m;
  problem.q         = w.q.data();
  problem.lower     = w.lower.data();
  problem.upper     = w.upper.data();
  problem.block     = (int)p->block;
  problem.mu        = w.mu.data();
  problem.friction  = (tessera::lcp::Friction)(int)p->friction;
  plan.exec         = m.exec;
  plan.exec.threads = tessera::DenseThreads();
  const bool sweeping = p->block == 1 && p->acceleration != SNES_VIPGS_MPRGP && (!p->newton || p->sweeps > 0);
  if (sweeping) {
    const PetscErrorCode ierr = InDeviceMemory(w.n, [&] {
      tessera::densegs::create(plan, m.rows(), params.sweeps);
      tessera::densegs::fill(plan, m.a + m.first() * m.lda, m.lda, m.exec.space);
    });
    int failed = ierr != PETSC_SUCCESS;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, m.comm)); // nobody waits for a process that has failed
    PetscCall(ierr);
    PetscCheck(!failed, PETSC_COMM_SELF, PETSC_ERR_MEM, "SNES vipgs: another process has not the memory for its panels");
  }
  if (m.size > 1 && p->block == 1 && p->newton) PetscCall(PetscInfo(snes, "the first process gathers the rows of free unknowns for factorisations: %g MB where all %d are free\n", 8e-6 * w.n * (double)w.n, w.n));
  PetscCall(InDeviceMemory(w.n, [&] { report = tessera::lcp::solve(plan, problem, params, w.x.data(), std::ref(steps)); }));
  PetscCall(steps.ierr);
  for (double v : w.q) size += v * v;
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
  w.answer = std::move(report.w);
  c.fell_back = c.fell_back || report.fell_back ? PETSC_TRUE : PETSC_FALSE;
  c.reason    = report.reason == tessera::lcp::Reason::stopped && steps.reason > 0 ? SNES_VIPGS_CONVERGED : steps.reason == CompatDivergedNaN ? SNES_VIPGS_DIVERGED : ReasonOf(report.reason);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(SNES snes)
{
  SNES_VIPGS *p    = (SNES_VIPGS *)snes->data;
  MPI_Comm    comm = PetscObjectComm((PetscObject)snes);
  Vec         X = snes->vec_sol, F = snes->vec_func;
  PetscInt    N;
  PetscReal   norm;

  PetscFunctionBegin;
  PetscCall(tessera::CiteDenseGS());
  PetscCheck(p->order == TESSERA_GS_SYMMETRIC || p->acceleration == SNES_VIPGS_AUTO || p->acceleration == SNES_VIPGS_NONE || p->acceleration == SNES_VIPGS_MPRGP, comm, PETSC_ERR_ARG_INCOMP, "SNES vipgs: -snes_vipgs_acceleration %s works on symmetric sweeps, the order is %s", SNESVIPGSAccelerations[p->acceleration], TesseraGSOrders[p->order]);
  PetscCall(tessera::SetUpBounds(snes, X));
  PetscCall(CheckBounds(snes));
  PetscCall(VecGetSize(X, &N));
  snes->reason     = SNES_CONVERGED_ITERATING;
  snes->iter       = 0;
  p->certificate   = tessera::NoCertificate();
  p->size          = N;
  p->solved        = false;
  p->failure[0]    = 0;
  Steps steps;
  steps.snes = snes;
  double before = HUGE_VAL; // the natural residual of F at the last linearisation
  // F need not be linear: then this is Newton's method for variational inequalities (Josephy), each step of which is a linear problem.
  for (int linearisation = 0; linearisation < 50; ++linearisation) {
    Linear w;
    if (p->block == 1) PetscCall(VecMedian(snes->xl, X, snes->xu, X));
    PetscCall(SNESComputeFunction(snes, X, F));
    PetscCall(VecNorm(F, NORM_2, &norm));
    if (!std::isfinite(norm)) {
      snes->reason   = CompatDivergedNaN;
      p->certificate = tessera::NoCertificate();
      break;
    }
    PetscCall(SNESComputeJacobian(snes, X, snes->jacobian, snes->jacobian_pre));
    PetscCall(tessera::DenseCheckType((PetscObject)snes, "SNES vipgs", snes->jacobian));
    w.n = (int)N;
    PetscCall(FrictionOf(snes, N, w)); // first: contacts on two processes are moved by their number of unknowns
    PetscCall(MatrixOf(snes, snes->jacobian, w));
    if (p->failure[0]) { // as where a KSP of PETSc's own methods fails
      PetscCall(PetscInfo(snes, "%s\n", p->failure));
      PetscCall(tessera::DenseRestore(&w.view));
      PetscCheck(!snes->errorifnotconverged, comm, PETSC_ERR_NOT_CONVERGED, "SNES vipgs has not converged: %s", p->failure);
      snes->reason   = SNES_DIVERGED_LINEAR_SOLVE;
      p->certificate = tessera::NoCertificate();
      break;
    }
    PetscCall(tessera::GatherVector(X, w.x));
    PetscCall(tessera::GatherVector(F, w.f0));
    PetscCall(tessera::GatherVector(snes->xl, w.lower));
    PetscCall(tessera::GatherVector(snes->xu, w.upper));
    for (double &v : w.lower)
      if (v <= PETSC_NINFINITY) v = -HUGE_VAL;
    for (double &v : w.upper)
      if (v >= PETSC_INFINITY) v = HUGE_VAL;
    PetscCall(SolveLinear(snes, w, steps));
    PetscCall(tessera::ScatterVector(w.x, X));
    // Is F what the linear problem took it for?
    double wrong = 0, natural = 0;
    PetscCall(SNESComputeFunction(snes, X, F));
    {
      tessera::lcp::Problem linear;
      std::vector<double>   f;
      double                d = 0, s = 0;
      PetscCall(tessera::GatherVector(F, f));
      for (size_t i = 0; i < f.size(); ++i) {
        d += (w.answer[i] - f[i]) * (w.answer[i] - f[i]);
        s += w.q[i] * w.q[i] + f[i] * f[i];
      }
      wrong = std::isfinite(d) ? (s > 0 ? std::sqrt(d / s) : 0) : HUGE_VAL;
      if (std::isfinite(d)) { // the certificate is of F itself
        linear.n        = w.n;
        linear.lower    = w.lower.data();
        linear.upper    = w.upper.data();
        linear.block    = (int)p->block;
        linear.mu       = w.mu.data();
        linear.friction = (tessera::lcp::Friction)(int)p->friction;
        const tessera::lcp::Certificate now = tessera::lcp::certify(linear, w.x.data(), f.data());
        SNESVIPGSCertificate           &c = p->certificate;
        c.relative = c.natural > 0 ? c.relative * (now.natural / c.natural) : now.natural;
        c.natural  = now.natural;
        c.gap      = now.gap;
        c.primal   = now.primal;
        c.dual     = now.dual;
      } else p->certificate = tessera::NoCertificate();
      natural = p->certificate.natural;
    }
    PetscCall(tessera::DenseRestore(&w.view));
    if (!std::isfinite(wrong)) snes->reason = CompatDivergedNaN;
    // The tolerance is met by the linear problem alone; another verdict, a user's, is about x and stands.
    const bool open = !snes->reason || snes->reason == SNES_CONVERGED_FNORM_ABS || snes->reason == SNES_CONVERGED_FNORM_RELATIVE;
    // A nonlinear F that has not reached the tolerance goes on while that gains something.
    const bool more = wrong > 1e-7 || (wrong > 1e-13 && snes->reason > 0 && natural > PetscMax(snes->abstol, snes->ttol) && natural < 0.5 * before);
    before = natural;
    if (!more || !open) break;
    PetscCall(PetscInfo(snes, "F(x) differs from its linearisation by %g: another one\n", wrong));
    snes->reason = SNES_CONVERGED_ITERATING;
    steps.reason = 0;
    if (linearisation == 49) snes->reason = SNES_DIVERGED_MAX_IT;
  }
  if (!snes->reason) snes->reason = p->certificate.reason == SNES_VIPGS_MAXIMUM ? SNES_DIVERGED_MAX_IT : p->certificate.reason == SNES_VIPGS_INFEASIBLE ? SNES_DIVERGED_LOCAL_MIN : SNES_DIVERGED_INNER;
  p->solved = true;
  const SNESVIPGSCertificate &c = p->certificate;
  PetscCall(PetscInfo(snes, "SNES vipgs: %s, natural residual %g, %" PetscInt_FMT " sweeps, %" PetscInt_FMT " factorisations\n", SNESVIPGSReasons[c.reason], (double)c.natural, c.sweeps, c.factorizations));
  PetscCheck(!snes->errorifnotconverged || snes->reason >= 0, comm, PETSC_ERR_NOT_CONVERGED, "SNES vipgs has not converged: %s, natural residual %g", SNESConvergedReasons[snes->reason], (double)c.natural);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SNESSolve_VIPGS(SNES snes)
{
  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(tessera::event_vipgs_solve, snes, 0, 0, 0));
  PetscCall((tessera::NoThrow<Solve, SNES>(snes)));
  PetscCall(PetscLogEventEnd(tessera::event_vipgs_solve, snes, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SNESSetUp_VIPGS(SNES snes)
{
  PetscFunctionBegin;
  PetscCall(SNESSetUpMatrices(snes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SNESReset_VIPGS(SNES snes)
{
  PetscFunctionBegin;
  tessera::ForgetBounds(snes);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The bounds stay: another type may want them.
static PetscErrorCode SNESDestroy_VIPGS(SNES snes)
{
  PetscFunctionBegin;
  PetscCall(tessera::ComposeVIPGS(snes, PETSC_FALSE));
  PetscCall(VecDestroy(&((SNES_VIPGS *)snes->data)->coefficients));
  delete (SNES_VIPGS *)snes->data;
  snes->data       = nullptr;
  snes->ops->reset = nullptr; // older versions of PETSc leave it to a type that has none
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SNESSetFromOptions_VIPGS(SNES snes, CompatOptionItems PetscOptionsObject)
{
  SNES_VIPGS           *p = (SNES_VIPGS *)snes->data;
  TesseraGSStrategy     strategy = p->strategy;
  TesseraGSOrder        order = p->order;
  PetscReal             omega = p->omega, mu = p->mu;
  TesseraPrecision      precision = p->precision;
  TesseraBackend        backend = p->backend;
  SNESVIPGSAcceleration acceleration = p->acceleration;
  SNESVIPGSFriction     friction = p->friction;
  PetscBool             newton = p->newton, set;
  PetscInt              sweeps = p->sweeps, check = p->check, factorizations = p->factorizations, block = p->block;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "Dense projected Gauss-Seidel options");
  PetscCall(PetscOptionsEnum("-snes_vipgs_strategy", "What sweeps do side by side", "SNESVIPGSSetStrategy", TesseraGSStrategies, (PetscEnum)strategy, (PetscEnum *)&strategy, &set));
  if (set) PetscCall(SNESVIPGSSetStrategy(snes, strategy));
  PetscCall(PetscOptionsEnum("-snes_vipgs_order", "Order of a sweep", "SNESVIPGSSetOrder", TesseraGSOrders, (PetscEnum)order, (PetscEnum *)&order, &set));
  if (set) PetscCall(SNESVIPGSSetOrder(snes, order));
  PetscCall(PetscOptionsReal("-snes_vipgs_omega", "Relaxation factor", "SNESVIPGSSetOmega", omega, &omega, &set));
  if (set) PetscCall(SNESVIPGSSetOmega(snes, omega));
  PetscCall(PetscOptionsEnum("-snes_vipgs_precision", "Precision of the sweeps' matrix", "SNESVIPGSSetPrecision", TesseraPrecisions, (PetscEnum)precision, (PetscEnum *)&precision, &set));
  if (set) PetscCall(SNESVIPGSSetPrecision(snes, precision));
  PetscCall(PetscOptionsEnum("-snes_vipgs_backend", "Where the matrix is worked with", "SNESVIPGSSetBackend", TesseraBackends, (PetscEnum)backend, (PetscEnum *)&backend, &set));
  if (set) PetscCall(SNESVIPGSSetBackend(snes, backend));
  PetscCall(PetscOptionsEnum("-snes_vipgs_acceleration", "Acceleration of the sweeps", "SNESVIPGSSetAcceleration", SNESVIPGSAccelerations, (PetscEnum)acceleration, (PetscEnum *)&acceleration, &set));
  if (set) PetscCall(SNESVIPGSSetAcceleration(snes, acceleration));
  PetscCall(PetscOptionsBool("-snes_vipgs_newton", "Finish with active sets and factorisations", "SNESVIPGSSetNewton", newton, &newton, &set));
  if (set) PetscCall(SNESVIPGSSetNewton(snes, newton));
  PetscCall(PetscOptionsInt("-snes_vipgs_sweeps", "Sweeps before that", "SNESVIPGSSetSweeps", sweeps, &sweeps, &set));
  if (set) PetscCall(SNESVIPGSSetSweeps(snes, sweeps));
  PetscCall(PetscOptionsInt("-snes_vipgs_check", "Sweeps between two residuals", "SNESVIPGSSetCheck", check, &check, &set));
  if (set) PetscCall(SNESVIPGSSetCheck(snes, check));
  PetscCall(PetscOptionsInt("-snes_vipgs_max_factorizations", "Factorisations at most", "SNESVIPGSSetMaxFactorizations", factorizations, &factorizations, &set));
  if (set) PetscCall(SNESVIPGSSetMaxFactorizations(snes, factorizations));
  PetscCall(PetscOptionsInt("-snes_vipgs_block", "Unknowns of a contact with friction (1 for none)", "SNESVIPGSSetBlock", block, &block, &set));
  if (set) PetscCall(SNESVIPGSSetBlock(snes, block));
  PetscCall(PetscOptionsReal("-snes_vipgs_mu", "Coefficient of friction of all contacts", "SNESVIPGSSetFrictionCoefficient", mu, &mu, &set));
  if (set) PetscCall(SNESVIPGSSetFrictionCoefficient(snes, mu));
  PetscCall(PetscOptionsEnum("-snes_vipgs_friction", "Law of friction", "SNESVIPGSSetFrictionLaw", SNESVIPGSFrictions, (PetscEnum)friction, (PetscEnum *)&friction, &set));
  if (set) PetscCall(SNESVIPGSSetFrictionLaw(snes, friction));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   SNESVIPGS - linear complementarity problems, and others with bounds, whose Jacobian is dense; and contact with Coulomb friction

   Options Database Keys:
+  -snes_vipgs_newton <bool>             - finish with active sets and dense factorisations, see `SNESVIPGSSetNewton()`
.  -snes_vipgs_sweeps <n>                - sweeps before that, see `SNESVIPGSSetSweeps()`
.  -snes_vipgs_acceleration <auto,none,nesterov,nncg,mprgp> - of the sweeps, see `SNESVIPGSSetAcceleration()`
.  -snes_vipgs_strategy <sequential,row,column,block,graph,graph2,relaxed> - what is done side by side, see `SNESVIPGSSetStrategy()`
.  -snes_vipgs_order <forward,backward,symmetric,random> - order of a sweep, see `SNESVIPGSSetOrder()`
.  -snes_vipgs_omega <w>                 - relaxation factor, see `SNESVIPGSSetOmega()`
.  -snes_vipgs_precision <double,single> - storage of the sweeps' matrix, see `SNESVIPGSSetPrecision()`
.  -snes_vipgs_backend <auto,host,cuda>  - where the matrix is worked with, see `SNESVIPGSSetBackend()`
.  -snes_vipgs_check <n>                 - sweeps between two residuals, see `SNESVIPGSSetCheck()`
.  -snes_vipgs_max_factorizations <n>    - see `SNESVIPGSSetMaxFactorizations()`
.  -snes_vipgs_block <d>                 - unknowns of a contact with friction, see `SNESVIPGSSetBlock()`
.  -snes_vipgs_mu <mu>                   - coefficient of friction, see `SNESVIPGSSetFrictionCoefficient()`, `SNESVIPGSSetFriction()`
-  -snes_vipgs_friction <cone,pyramid>   - see `SNESVIPGSSetFrictionLaw()`

   Level: intermediate

   Notes:
   Finds lower <= x <= upper with F_i(x) >= 0 where x_i is at its lower bound, F_i(x) <= 0 at its upper one and F_i(x) = 0 between, for
   F(x) = A x + q with the dense Jacobian A (`MATDENSE`), whose diagonal is positive. Bounds come as for PETSc's VI solvers:
   `SNESVISetVariableBounds()`, `SNESVISetComputeVariableBounds()`, or those of the `DM`. Another F is linearised again and again.

   The norm that monitors and tolerances see is that of the natural residual x - P(x - F(x)), P being the projection onto the bounds
   (or the friction cones). An iteration is `-snes_vipgs_check` sweeps, or one factorisation. `-snes_view` prints a certificate of the
   answer, `SNESVIPGSGetCertificate()` returns it.

   On several processes each keeps its rows of the Jacobian: sweeps take their turns in the order of the rows, products are made side by
   side, and convergence tests and monitors are asked by all. For a factorisation the first process gathers the rows and columns of the free
   unknowns.

   With friction contacts are swept over one after the other in double precision: strategy, precision, acceleration and the number of sweeps
   before factorisations have no effect.

   References:
+  * - H. Courtecuisse, J. Allard, Parallel dense Gauss-Seidel algorithm on many-core processors, HPCC 2009
.  * - M. Hintermueller, K. Ito, K. Kunisch, The primal-dual active set strategy as a semismooth Newton method, SIAM J. Optim. 13, 2003
-  * - F. Jourdan, P. Alart, M. Jean, A Gauss-Seidel like algorithm to solve frictional contact problems, CMAME 155, 1998

.seealso: `SNESCreate()`, `SNESSetType()`, `SNESVINEWTONRSLS`, `PCDENSEGS`, `SNESVIPGSCreateLCP()`, `SNESVISetVariableBounds()`
M*/
PetscErrorCode tessera::SNESCreate_VIPGS(SNES snes)
{
  SNES_VIPGS *p = nullptr;

  PetscFunctionBegin;
  TesseraCallCXX(p = new SNES_VIPGS());
  snes->data                = (void *)p;
  snes->ops->setup          = SNESSetUp_VIPGS;
  snes->ops->setfromoptions = SNESSetFromOptions_VIPGS;
  snes->ops->view           = tessera::ViewVIPGS;
  snes->ops->solve          = SNESSolve_VIPGS;
  snes->ops->reset          = SNESReset_VIPGS;
  snes->ops->destroy        = SNESDestroy_VIPGS;
  snes->usesksp             = PETSC_FALSE;
  snes->usesnpc             = PETSC_FALSE;
  CompatSNESDefaultFrom(snes, max_its, 50, 100000);
  CompatSNESDefaultFrom(snes, divtol, 1e4, CompatUnlimited); // the natural residual of a good method may rise before it falls
  PetscCall(ComposeVIPGS(snes, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
