// Problems with bounds: SNES and Tao, vipmg on grids, vipgs with dense matrices.
#include "random.hpp"
#include <algorithm>

namespace {
struct Bounded {
  Case    *c;
  Operator a;
  DM       da = nullptr;
  Mat      A = nullptr, J = nullptr; // J is what the solver is given
  Vec      b = nullptr, x = nullptr, lo = nullptr, up = nullptr;
  int      bad_at   = -1; // the evaluation that gives no numbers
  int      calls    = 0;
  bool     crossing = false, finite = true, consistent = true;
};
} // namespace

// F(x) = A x - b
static PetscErrorCode Evaluate(Bounded *p, Vec x, Vec f)
{
  PetscFunctionBeginUser;
  PetscCall(MatMult(p->A, x, f));
  PetscCall(VecAXPY(f, -1, p->b));
  if (p->calls++ == p->bad_at) PetscCall(VecSet(f, NAN));
  PetscFunctionReturn(PETSC_SUCCESS);
}
static PetscErrorCode Function(SNES, Vec x, Vec f, void *p)
{
  return Evaluate((Bounded *)p, x, f);
}
static PetscErrorCode Jacobian(SNES, Vec, Mat A, Mat B, void *q)
{
  Bounded *p = (Bounded *)q;
  PetscFunctionBeginUser;
  PetscCall(Fill(p->a, 1, B));
  if (A != B) {
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
static PetscErrorCode Objective(Tao, Vec x, PetscReal *f, Vec g, void *q)
{
  Bounded    *p = (Bounded *)q;
  PetscScalar xg, xb;
  PetscFunctionBeginUser;
  PetscCall(Evaluate(p, x, g));
  PetscCall(VecDot(x, g, &xg));
  PetscCall(VecDot(x, p->b, &xb));
  *f = 0.5 * (xg - xb);
  PetscFunctionReturn(PETSC_SUCCESS);
}
static PetscErrorCode Hessian(Tao, Vec, Mat A, Mat B, void *p)
{
  return Jacobian(NULL, NULL, A, B, p);
}

static PetscErrorCode MakeBounded(Case &c, Bounded &p, bool dense)
{
  PetscFunctionBeginUser;
  p.c = &c;
  if (dense) {
    p.a = DenseOperator(c, c.draw.between(c.size, 40));
    Spoil(c, p.a);
    const int local = Share(c, p.a.n);
    PetscCall(MakeMat(c, p.a, 1, MATDENSE, local, &p.A));
  } else {
    const int dim = c.draw.between(1, 3);
    Grid      g   = DrawGrid(c, dim, dim == 1 ? 60 : dim == 2 ? 16 : 7);
    p.a           = GridOperator(c, g);
    Spoil(c, p.a);
    PetscCall(MakeDM(c, g, 1, &p.da));
    PetscCall(ToPetsc(p.da, p.a));
    PetscCall(DMCreateMatrix(p.da, &p.A));
    PetscCall(MatSetOption(p.A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(Fill(p.a, 1, p.A));
  }
  PetscCall(MatDuplicate(p.A, MAT_COPY_VALUES, &p.J));
  if (p.da) PetscCall(MatSetDM(p.J, p.da));
  PetscCall(MatCreateVecs(p.A, &p.x, &p.b));
  PetscCall(VecDuplicate(p.x, &p.lo));
  PetscCall(VecDuplicate(p.x, &p.up));
  const long seed  = c.draw.below(1 << 30);
  const int  kind  = c.draw.below(6);
  const int  wrong = c.draw.chance(0.9) ? 0 : c.draw.between(1, 4);
  const int  at    = p.a.n ? c.draw.below(p.a.n) : 0;
  double     scale = 0;
  for (auto &r : p.a.row)
    for (auto &e : r) scale = std::max(scale, std::fabs(e.second));
  if (!(scale > 0) || !std::isfinite(scale)) scale = 1;
  PetscCall(FillVec(c, p.b, [&](int i) { return wrong == 1 && i == at ? NAN : scale * (Hash(seed, i, 1) - 0.5); }));
  PetscCall(FillVec(c, p.lo, [&](int i) {
    return wrong == 2 && i == at                               ? NAN
         : kind == 1 || kind == 4 || (kind == 5 && i % 3 == 0) ? PETSC_NINFINITY
                                                               : -0.4 * Hash(seed, i, 2);
  }));
  PetscCall(FillVec(c, p.up, [&](int i) {
    const double l = -0.4 * Hash(seed, i, 2);
    if (wrong == 3 && i == at) return -1.;
    return kind == 0 || kind == 4 || (kind == 5 && i % 4 == 0) ? (double)PETSC_INFINITY
         : kind == 3 && i % 5 == 0                             ? l
                                                               : 0.4 * Hash(seed, i, 3);
  }));
  PetscCall(FillVec(c, p.x, [&](int i) { return c.seed % 3 ? 3 * (Hash(seed, i, 4) - 0.5) : 0.; }));
  if (wrong == 4) p.bad_at = c.draw.below(3);
  p.finite   = p.a.finite && wrong != 1 && wrong != 2;
  p.crossing = wrong == 3;
  c.say("bounds %d%s", kind,
        wrong == 1   ? ", b is no number"
        : wrong == 2 ? ", a bound is no number"
        : wrong == 3 ? ", an upper bound at -1"
        : wrong == 4 ? ", a function value is no number"
                     : "");
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The conditions of the solution, entry by entry: x within its bounds, and F of the right sign or zero.
static PetscErrorCode Conditions(Case &c, Bounded &p, const char *step, int reason, bool judged)
{
  std::vector<double> x, b, lo, up;
  PetscFunctionBeginUser;
  PetscCall(c.whole(p.x, x));
  PetscCall(c.whole(p.b, b));
  PetscCall(c.whole(p.lo, lo));
  PetscCall(c.whole(p.up, up));
  const auto  y = p.a.times(x, false, false), s = p.a.times(x, false, true);
  long double worst = 0, largest = 0, outside = 0;
  for (int i = 0; i < p.a.n; ++i) largest = std::max(largest, fabsl(b[i]) + s[i]);
  for (int i = 0; i < p.a.n; ++i) {
    const long double f = y[i] - b[i];
    if (!(f == f)) worst = INFINITY;
    const bool at_lower = x[i] <= lo[i], at_upper = x[i] >= up[i];
    if (x[i] < lo[i] || x[i] > up[i])
      outside = std::max(outside, std::max((long double)lo[i] - x[i], (long double)x[i] - up[i]));
    const long double e = at_lower && at_upper ? 0
                        : at_lower             ? std::max(-f, 0.L)
                        : at_upper             ? std::max(f, 0.L)
                                               : fabsl(f);
    worst               = std::max(worst, largest > 0 ? e / largest : e);
  }
  c.say("%s: reason %d, conditions %.2Lg, outside %.2Lg", step, reason, worst, outside);
  if (reason > 0 && !p.finite) c.fail("%s: converged with what is no number", step);
  if (reason > 0 && p.crossing && outside > 0) c.fail("%s: converged outside its bounds by %Lg", step, outside);
  if (reason > 0 && p.finite && !p.crossing && judged) {
    if (outside > 1e-10L) c.fail("%s: converged outside its bounds by %Lg", step, outside);
    if (!(worst <= 1e-4L)) c.fail("%s: converged, but the conditions hold but for %Lg", step, worst);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolveSNES(Case &c, Bounded &p, const char *type)
{
  SNES                snes;
  SNESConvergedReason reason;
  Vec                 f;
  PetscFunctionBeginUser;
  PetscCall(c.options(std::string("SNES ") + type, {"_monitor", "_mu", "_block", "_friction"}));
  if (c.draw.chance(0.1)) PetscCall(c.option("-snes_view", "ascii:/dev/null"));
  if (c.draw.chance(0.1)) PetscCall(c.option("-snes_vi_monitor", "ascii:/dev/null"));
  PetscCall(SNESCreate(c.comm, &snes));
  PetscCall(VecDuplicate(p.x, &f));
  if (!c.good("SNESSetType", SNESSetType(snes, type))) c.fail("the type cannot be set");
  else {
    if (p.da && c.seed % 2) PetscCall(SNESSetDM(snes, p.da)); // else found through the matrix
    PetscCall(SNESSetFunction(snes, f, Function, &p));
    PetscCall(SNESSetJacobian(snes, p.J, p.J, Jacobian, &p));
    PetscCall(SNESSetTolerances(snes, 1e-50, 1e-9, 0, 30, 10000));
    bool on = c.good("SNESVISetVariableBounds", SNESVISetVariableBounds(snes, p.lo, p.up)) &&
              c.good("SNESSetFromOptions", SNESSetFromOptions(snes));
    for (int k = 0; on && k < 1 + c.draw.below(2); ++k) {
      on = c.good("SNESSolve", SNESSolve(snes, NULL, p.x));
      if (!on) break;
      PetscCall(SNESGetConvergedReason(snes, &reason));
      int same[2] = {(int)reason, -(int)reason}, all[2];
      PetscCallMPI(MPI_Allreduce(same, all, 2, MPI_INT, MPI_MAX, c.comm));
      if (all[0] != -all[1]) c.fail("the reason differs between processes");
      PetscCall(Conditions(c, p, k ? "again" : "solve", (int)reason, reason == SNES_CONVERGED_FNORM_RELATIVE || reason == SNES_CONVERGED_SNORM_RELATIVE));
      const bool easy = p.finite && !p.crossing && p.bad_at < 0 && p.a.symmetric && p.a.definite &&
                        !p.a.singular && p.a.decades <= 2 && c.plain;
      if (easy && reason < 0) c.fail("%s of a problem of the class", SNESConvergedReasons[reason]);
      PetscCall(VecScale(p.b, 0.5)); // another one
    }
  }
  PetscCall(VecDestroy(&f));
  c.good("SNESDestroy", SNESDestroy(&snes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolveTao(Case &c, Bounded &p, const char *type)
{
  Tao                tao;
  TaoConvergedReason reason;
  PetscFunctionBeginUser;
  PetscCall(c.options(std::string("Tao ") + type, {"_monitor"}));
  if (std::string(type) == "vipgs") PetscCall(c.options("SNES vipgs", {"_monitor", "_mu", "_block", "_friction"}));
  PetscCall(TaoCreate(c.comm, &tao));
  if (!c.good("TaoSetType", TaoSetType(tao, type))) c.fail("the type cannot be set");
  else {
    if (p.da) PetscCall(PetscObjectCompose((PetscObject)p.x, "__PETSc_dm", NULL));
    PetscCall(TaoSetSolution(tao, p.x));
    PetscCall(TaoSetObjectiveAndGradient(tao, NULL, Objective, &p));
    PetscCall(TaoSetHessian(tao, p.J, p.J, Hessian, &p));
    PetscCall(TaoSetVariableBounds(tao, p.lo, p.up));
    PetscCall(
      TaoSetTolerances(tao, 1e-50, 0, 1e-9)); // relative to the first gradient: the objective may be huge beside it
    bool on = c.good("TaoSetFromOptions", TaoSetFromOptions(tao)) && c.good("TaoSolve", TaoSolve(tao));
    if (on) {
      PetscCall(TaoGetConvergedReason(tao, &reason));
      PetscCall(Conditions(c, p, "Tao", (int)reason, reason == TAO_CONVERGED_GTTOL || reason == TAO_CONVERGED_STEPTOL));
      const bool easy = p.finite && !p.crossing && p.bad_at < 0 && p.a.symmetric && p.a.definite &&
                        !p.a.singular && p.a.decades <= 2 && c.plain;
      if (easy && reason < 0) c.fail("Tao: reason %d of a problem of the class", (int)reason);
    }
  }
  c.good("TaoDestroy", TaoDestroy(&tao));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BoundsCase(Case &c)
{
  Bounded    p;
  const bool dense = c.draw.chance(0.4), tao = c.draw.chance(0.3);
  PetscFunctionBeginUser;
  c.say("%s %s", tao ? "Tao" : "SNES", dense ? "vipgs" : "vipmg");
  PetscCall(MakeBounded(c, p, dense));
  if (tao) PetscCall(SolveTao(c, p, dense ? "vipgs" : "vipmg"));
  else PetscCall(SolveSNES(c, p, dense ? "vipgs" : "vipmg"));
  for (Vec *v : {&p.b, &p.x, &p.lo, &p.up}) PetscCall(VecDestroy(v));
  PetscCall(MatDestroy(&p.A));
  PetscCall(MatDestroy(&p.J));
  PetscCall(DMDestroy(&p.da));
  PetscFunctionReturn(PETSC_SUCCESS);
}
