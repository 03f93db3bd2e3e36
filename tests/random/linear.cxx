// Linear solvers: PC and KSP rrb, PC auxamg, PC densegs.
#include "random.hpp"
#include <algorithm>

namespace {
struct Problem {
  std::string         owner; // "PC rrb"
  Operator            a;
  DM                  da  = nullptr;
  Mat                 A   = nullptr;
  KSP                 ksp = nullptr;
  Vec                 b = nullptr, x = nullptr;
  std::vector<double> coordinates;
  int                 dim = 0, bs = 1, local = 0;
  Grid                grid;
  double              rtol = 1e-8;
  std::string         method, norm;
  bool                guess = false, bad_vector = false, bad_rhs = false, extreme = false,
       zero = false; // extreme: squares overflow or underflow; zero: b is
};
} // namespace

static PetscErrorCode MakeProblem(Case &c, Problem &p)
{
  PetscFunctionBeginUser;
  p.owner = c.draw.of({"PC rrb", "PC rrb", "KSP rrb", "PC auxamg", "PC auxamg", "PC densegs"});
  c.say("%s", p.owner.c_str());
  if (p.owner == "PC densegs") {
    p.a     = DenseOperator(c, c.draw.between(c.size, 40));
    p.local = Share(c, p.a.n);
    Spoil(c, p.a);
    PetscCall(MakeMat(c, p.a, 1, MATDENSE, p.local, &p.A));
  } else if (p.owner == "PC auxamg" && c.draw.chance(0.7)) {
    p.dim           = c.draw.between(1, 3);
    p.bs            = c.draw.chance(0.6) ? 1 : c.draw.between(2, 6);
    const int nodes = c.draw.chance(0.2) ? c.draw.between(1, 6) : c.draw.between(4, 150 / p.bs);
    p.a             = CloudOperator(c, nodes, p.dim, p.bs, p.coordinates);
    p.local         = Share(c, nodes) * p.bs;
    Spoil(c, p.a);
    PetscCall(MakeMat(c, p.a, p.bs, p.bs > 1 && c.draw.chance(0.3) ? MATBAIJ : MATAIJ, p.local, &p.A));
  } else {
    const bool auxamg = p.owner == "PC auxamg";
    const int  dim    = auxamg ? c.draw.between(1, 3) : c.draw.chance(0.4) ? 3 : 2;
    p.grid            = DrawGrid(c, dim, dim == 3 ? (auxamg ? 7 : 12) : c.draw.chance(0.1) ? 45 : 16);
    p.a               = GridOperator(c, p.grid);
    if (!auxamg && dim == 2)
      for (int d = 0; d < 2; ++d) c.plain &= !(p.grid.periodic[d] && p.grid.n[d] % 2); // which is refused
    Spoil(c, p.a);
    if (!auxamg && c.draw.chance(0.25) && !p.grid.periodic[0] && !p.grid.periodic[1] &&
        !p.grid.periodic[2]) { // without a DM
      p.local = Share(c, p.a.n);
      PetscCall(MakeMat(c, p.a, 1, MATAIJ, p.local, &p.A));
      char text[64];
      snprintf(text, sizeof(text), dim == 3 ? "%d,%d,%d" : "%d,%d", p.grid.n[0], p.grid.n[1], p.grid.n[2]);
      PetscCall(c.option("-pc_rrb_grid", text));
    } else {
      const char *type = c.draw.of({"aij", "aij", "aij", "baij", "sbaij"});
      PetscCall(MakeDM(c, p.grid, 1, &p.da));
      if (!p.a.symmetric) type = "aij";
      if (std::string(type) == "sbaij")
        for (auto &r : p.a.row)
          for (auto &e : r)
            if (!(e.second == e.second)) type = "aij";
      if (dim == 1) type = "aij"; // which is all that DMDA has there
      PetscCall(DMSetMatType(p.da, type));
      c.say("%s", type);
      PetscCall(ToPetsc(p.da, p.a));
      if (auxamg)
        for (int d = 0; d < dim; ++d)
          c.plain &= p.grid.n[d] > 1; // PETSc's coordinates of a single node are no numbers, which is said
      if (auxamg) PetscCall(DMDASetUniformCoordinates(p.da, 0, 1, 0, 1 + c.draw.below(3), 0, 1));
      PetscCall(DMCreateMatrix(p.da, &p.A));
      PetscCall(MatSetOption(p.A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
      PetscCall(Fill(p.a, 1, p.A));
    }
  }
  if (!p.coordinates.empty()) { // nodes at one place are refused
    bool apart = false;
    for (size_t i = (size_t)p.dim; i < p.coordinates.size(); ++i) apart |= p.coordinates[i] != p.coordinates[i - (size_t)p.dim];
    c.plain &= apart;
  }
  const auto sum  = p.a.times(std::vector<double>(p.a.n, 1), false, false),
             size = p.a.times(std::vector<double>(p.a.n, 1), false, true);
  bool constant   = p.a.symmetric && p.a.finite && p.bs == 1;
  for (int i = 0; i < p.a.n; ++i) constant &= fabsl(sum[i]) <= 1e-14L * size[i];
  if (constant && c.draw.chance(0.9)) {
    MatNullSpace constants;
    PetscCall(MatNullSpaceCreate(c.comm, PETSC_TRUE, 0, NULL, &constants));
    PetscCall(MatSetNullSpace(p.A, constants));
    PetscCall(MatNullSpaceDestroy(&constants));
    c.say("null space");
  }
  PetscCall(MatCreateVecs(p.A, &p.x, &p.b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Configure(Case &c, Problem &p)
{
  PC pc;
  PetscFunctionBeginUser;
  p.method = p.owner == "KSP rrb" ? "rrb"
                                  : c.draw.of({"cg", "cg", "cg", "fcg", "gmres", "fgmres", "bcgs", "richardson",
                                               "minres", "pipecg", "preonly", "chebyshev"});
  p.rtol   = c.draw.of({1e-5, 1e-8, 1e-10});
  p.norm   = c.draw.of({"", "unpreconditioned", "unpreconditioned", "natural", "preconditioned"});
  if (p.norm == "natural" && p.method != "cg" && p.method != "fcg" && p.method != "rrb" && p.method != "pipecg")
    p.norm = "";
  if (p.norm == "unpreconditioned" && (p.method == "gmres" || p.method == "minres")) p.norm = "";
  if (p.norm == "preconditioned" && p.method == "fgmres") p.norm = "";
  if (p.method == "preonly") p.norm = "";
  p.guess = c.draw.chance(0.2) && p.method != "preonly";
  c.say("-ksp_type %s -ksp_rtol %g -ksp_norm_type %s%s", p.method.c_str(), p.rtol, p.norm.c_str(),
        p.guess ? ", guess" : "");
  if (!p.norm.empty()) PetscCall(PetscOptionsSetValue(NULL, "-ksp_norm_type", p.norm.c_str()));
  if (c.draw.chance(0.15)) PetscCall(c.option("-ksp_view", "ascii:/dev/null"));
  if (c.draw.chance(0.1)) PetscCall(c.option("-ksp_monitor", "ascii:/dev/null"));
  PetscCall(c.options(p.owner));
  if (p.owner == "KSP rrb") PetscCall(c.options("PC rrb", {"_grid", "coarsening"}));
  // The library's calls begin here.
  PetscCall(KSPCreate(c.comm, &p.ksp));
  const bool types = c.good("KSPSetType", KSPSetType(p.ksp, p.method.c_str())) &&
                     (p.owner == "KSP rrb" || (c.good("KSPGetPC", KSPGetPC(p.ksp, &pc)) &&
                                               c.good("PCSetType", PCSetType(pc, p.owner.c_str() + 3))));
  if (!types) {
    c.fail("the type cannot be set");
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(KSPSetTolerances(p.ksp, p.rtol, p.owner == "KSP rrb" || c.draw.chance(0.5) ? 0 : 1e-50, 1e10, 150));
  PetscCall(KSPSetOperators(p.ksp, p.A, p.A));
  PetscCall(KSPSetInitialGuessNonzero(p.ksp, p.guess ? PETSC_TRUE : PETSC_FALSE));
  if (c.draw.chance(0.1)) PetscCall(KSPSetErrorIfNotConverged(p.ksp, PETSC_TRUE));
  if (!p.coordinates.empty()) {
    PetscCall(KSPGetPC(p.ksp, &pc));
    PetscInt first;
    PetscCall(MatGetOwnershipRange(p.A, &first, NULL));
    std::vector<PetscReal> mine(p.coordinates.begin() + first / p.bs * p.dim,
                                p.coordinates.begin() + (first + p.local) / p.bs * p.dim);
    c.good("PCSetCoordinates", PCSetCoordinates(pc, p.dim, p.local / p.bs, mine.data()));
  }
  c.good("KSPSetFromOptions", KSPSetFromOptions(p.ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// How far is A x from b (A' x transposed)? Relative to b, beyond the rounding of the product.
static double Residual(const Problem &p, const std::vector<double> &x, const std::vector<double> &b, bool transposed)
{
  const auto  y = p.a.times(x, transposed, false), s = p.a.times(x, transposed, true);
  long double r = 0, n = 0, e = 0;
  for (int i = 0; i < p.a.n; ++i) r += (y[i] - b[i]) * (y[i] - b[i]), n += (long double)b[i] * b[i], e += s[i] * s[i];
  r = sqrtl(r), n = sqrtl(n), e = 1e-13L * sqrtl(e);
  if (!(r == r)) return INFINITY;
  return (double)(r <= e ? 0 : n > 0 ? (r - e) / n : INFINITY);
}

// Is a solve what it says?
static PetscErrorCode Judge(Case &c, Problem &p, bool transposed, const char *step)
{
  KSPConvergedReason  reason;
  std::vector<double> x, b;
  PetscFunctionBeginUser;
  PetscCall(KSPGetConvergedReason(p.ksp, &reason));
  PetscInt its;
  PetscCall(KSPGetIterationNumber(p.ksp, &its));
  int same[2] = {(int)reason, -(int)reason}, all[2];
  PetscCallMPI(MPI_Allreduce(same, all, 2, MPI_INT, MPI_MAX, c.comm));
  if (all[0] != -all[1]) c.fail("%s: the reason differs between processes", step);
  PetscCall(c.whole(p.x, x));
  PetscCall(c.whole(p.b, b));
  const double r = Residual(p, x, b, transposed);
  c.say("%s: %s after %d, residual %.2g", step, KSPConvergedReasons[reason], (int)its, r);
  const bool finite = p.a.finite && !p.bad_vector;
  // preonly and PCApplyRichardson() look at nothing, and b = 0 needs no matrix
  if (reason > 0 && !finite && reason != KSP_CONVERGED_ITS && !(p.zero && p.a.finite == false && !p.guess))
    c.fail("%s: %s with what is no number", step, KSPConvergedReasons[reason]);
  if (reason > 0 && finite) {
    bool numbers = true;
    for (double v : x) numbers &= std::isfinite(v);
    if (!numbers && (p.method != "preonly" || p.a.definite) && !p.extreme)
      c.fail("%s: %s, and the solution is no number", step, KSPConvergedReasons[reason]);
    // The norm of the residual itself is what was promised; others are bounded by how good the preconditioner is.
    // bcgs makes x by one more application, which in single precision is as far off as that is, and of a K-cycle another function.
    const auto said     = [&](const char *text) { return c.text.find(text) != std::string::npos; };
    const bool once     = p.method == "bcgs" && (said("_precision single") || said("_cycle k"));
    const bool promised = (p.norm == "unpreconditioned" && !once) || (p.norm.empty() && p.method == "fgmres");
    // Corrections are as large as the operator is nearly singular, and so is what rounding leaves of their sum's residual.
    const double condition = p.a.reaction > 0 ? std::pow(10, p.method == "bcgs" ? p.a.decades : 0) / p.a.reaction : 0;
    const double bound     = promised ? 1.05 * p.rtol + 1e-15 * condition : 1e-2;
    const bool judged =
      promised || (p.a.definite && p.a.symmetric && !p.a.singular && p.a.decades < 4 && p.rtol <= 1e-8);
    const bool rtol = reason == KSP_CONVERGED_RTOL && !p.extreme && !p.zero;
    if (numbers && rtol && judged && p.method != "preonly" && !(r <= bound))
      c.fail("%s: %s, but the residual is %g", step, KSPConvergedReasons[reason], r);
  }
  // With default options a problem of the class converges.
  const bool easy = finite && !p.extreme && p.a.symmetric && p.a.definite && !p.a.singular && p.a.decades <= 4 &&
                    c.plain && (p.method == "cg" || p.method == "fcg" || p.method == "rrb" || p.method == "gmres") &&
                    p.norm != "preconditioned";
  if (easy && reason < 0 && (reason != KSP_DIVERGED_ITS || p.owner != "PC densegs"))
    c.fail("%s: %s after %d iterations, of a problem of the class", step, KSPConvergedReasons[reason], (int)its);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Vectors(Case &c, Problem &p)
{
  const long   seed  = c.draw.below(1 << 30);
  const int    kind  = c.draw.chance(0.85) ? 0 : c.draw.between(1, 4);
  const double scale = c.draw.chance(0.9) ? 1 : c.draw.of({1e-30, 1e30, 1e-200, 1e200});
  PetscFunctionBeginUser;
  std::vector<double> u(p.a.n);
  for (int i = 0; i < p.a.n; ++i) u[i] = Hash(seed, i, 1) - 0.5;
  const auto y = p.a.times(u, false, false); // in the range of a singular operator
  p.bad_vector = false;
  p.extreme    = p.a.extreme || scale > 1e100 || scale < 1e-100;
  p.zero       = kind == 1;
  PetscCall(FillVec(c, p.b, [&](int i) { return kind == 1 ? 0. : scale * (double)y[i]; }));
  if (kind == 2 && p.a.n) {
    const int    at = c.draw.below(p.a.n);
    const double v  = c.draw.of({(double)NAN, (double)INFINITY});
    PetscCall(FillVec(c, p.b, [&](int i) { return i == at ? v : scale * (double)y[i]; }));
    p.bad_vector = true;
  }
  PetscCall(
    FillVec(c, p.x, [&](int i) { return kind == 3 && i == p.a.n / 2 ? NAN : scale * (Hash(seed, i, 2) - 0.5); }));
  p.bad_rhs = p.bad_vector;
  if (kind == 3 && p.guess) p.bad_vector = true;
  c.say("vectors %d times %g", kind, scale);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool Solve(Case &c, Problem &p, const char *step)
{
  if (!c.good(step, KSPSolve(p.ksp, p.b, p.x))) {
    const bool ours = p.a.finite && !p.extreme && !p.bad_vector && p.a.symmetric && p.a.definite && !p.a.singular &&
                      p.a.decades <= 4 && c.plain && !c.hostile;
    PetscBool asked;
    if (KSPGetErrorIfNotConverged(p.ksp, &asked) == 0 && !asked && ours && p.method != "preonly" &&
        p.method != "minres")
      c.fail("%s: an error for a problem of the class", step);
    return false;
  }
  return Judge(c, p, false, step) == 0;
}

// The preconditioner is a function: the same twice.
static PetscErrorCode Twice(Case &c, Problem &p, PC pc, bool *on)
{
  Vec                 y;
  std::vector<double> one, two;
  char                order[64] = "";
  PetscFunctionBeginUser;
  PetscCall(Vectors(c, p));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-pc_densegs_order", order, sizeof(order), NULL));
  if (p.bad_vector || !p.a.finite || std::string(order) == "random") PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecDuplicate(p.x, &y));
  *on = c.good("PCApply", PCApply(pc, p.b, p.x)) && c.good("PCApply", PCApply(pc, p.b, y));
  if (*on) {
    PetscCall(c.whole(p.x, one));
    PetscCall(c.whole(y, two));
    for (size_t i = 0; i < one.size(); ++i)
      if (std::isfinite(one[i]) && one[i] != two[i]) {
        c.fail("PCApply twice: entry %d is %.17g and %.17g", (int)i, one[i], two[i]);
        break;
      }
  }
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Several right-hand sides at once, b times 1, 2, 3; the reason is that of the last one.
static PetscErrorCode Block(Case &c, Problem &p, bool *on)
{
  enum {
    COLUMNS = 3
  };
  Mat      B, X;
  Vec      v;
  PetscInt m;
  PetscFunctionBeginUser;
  PetscCall(Vectors(c, p));
  PetscCall(VecGetLocalSize(p.b, &m));
  PetscCall(MatCreateDense(c.comm, m, PETSC_DECIDE, p.a.n, COLUMNS, NULL, &B));
  for (PetscInt k = 0; k < COLUMNS; ++k) {
    PetscCall(MatDenseGetColumnVecWrite(B, k, &v));
    PetscCall(VecCopy(p.b, v));
    PetscCall(VecScale(v, (PetscReal)k + 1));
    PetscCall(MatDenseRestoreColumnVecWrite(B, k, &v));
  }
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X)); // zero, also as a guess
  p.bad_vector = p.bad_rhs;
  *on          = c.good("KSPMatSolve", KSPMatSolve(p.ksp, B, X));
  if (!*on) PetscFunctionReturn(PETSC_SUCCESS); // PETSc has columns of them in use
  PetscCall(MatDenseGetColumnVecRead(X, COLUMNS - 1, &v));
  PetscCall(VecCopy(v, p.x));
  PetscCall(MatDenseRestoreColumnVecRead(X, COLUMNS - 1, &v));
  PetscCall(VecScale(p.x, 1. / COLUMNS));
  PetscCall(Judge(c, p, false, "block"));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// One of what programs do between solves.
static PetscErrorCode Next(Case &c, Problem &p, bool *on)
{
  PC pc;
  PetscFunctionBeginUser;
  PetscCall(KSPGetPC(p.ksp, &pc));
  const int what = c.draw.below(9);
  switch (what) {
  case 0: // the same again
    PetscCall(Vectors(c, p));
    *on = Solve(c, p, "again");
    break;
  case 1: { // other values in the same pattern
    const double f = c.draw.of({2., 0.1, 1e6});
    for (auto &r : p.a.row)
      for (auto &e : r) e.second *= f;
    PetscCall(Fill(p.a, p.bs, p.A));
    PetscCall(Vectors(c, p));
    *on = Solve(c, p, "new values");
    break;
  }
  case 2: // a kept preconditioner
    PetscCall(KSPSetReusePreconditioner(p.ksp, PETSC_TRUE));
    for (auto &r : p.a.row)
      for (auto &e : r) e.second *= 1.5;
    PetscCall(Fill(p.a, p.bs, p.A));
    PetscCall(Vectors(c, p));
    c.plain = false;
    *on     = Solve(c, p, "kept preconditioner");
    PetscCall(KSPSetReusePreconditioner(p.ksp, PETSC_FALSE));
    break;
  case 3:
    *on = c.good("PCReset", PCReset(pc));
    if (*on) {
      PetscCall(KSPSetOperators(p.ksp, p.A, p.A)); // which are gone
      PetscCall(Vectors(c, p));
      if (!p.coordinates.empty()) c.plain = false; // they may be gone, as gamg's
      *on = Solve(c, p, "after PCReset");
    }
    break;
  case 4:
    if (p.method == "fcg") break; // PETSc's crashes
    *on = c.good("KSPReset", KSPReset(p.ksp));
    if (*on) {
      PetscCall(KSPSetOperators(p.ksp, p.A, p.A));
      if (!p.coordinates.empty()) c.plain = false;
      PetscCall(Vectors(c, p));
      *on = Solve(c, p, "after KSPReset");
    }
    break;
  case 5: // transposed
    PetscCall(Vectors(c, p));
    *on = c.good("KSPSolveTranspose", KSPSolveTranspose(p.ksp, p.b, p.x));
    if (*on) {
      const bool was = c.plain;
      c.plain        = false;
      PetscCall(Judge(c, p, true, "transposed"));
      c.plain = was;
    }
    break;
  case 6:
    PetscCall(Twice(c, p, pc, on));
    break;
  case 7:
    PetscCall(Block(c, p, on));
    break;
  default: // options again
    *on = c.good("KSPSetFromOptions", KSPSetFromOptions(p.ksp));
    if (*on) {
      PetscCall(Vectors(c, p));
      *on = Solve(c, p, "after options");
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode LinearCase(Case &c)
{
  Problem p;
  PetscFunctionBeginUser;
  PetscCall(MakeProblem(c, p));
  PetscCall(Configure(c, p));
  bool on = !c.errors && c.wrong.empty();
  if (on) {
    PetscCall(Vectors(c, p));
    on = Solve(c, p, "solve");
  }
  for (int steps = c.draw.below(4); on && steps; --steps) PetscCall(Next(c, p, &on));
  c.good("KSPDestroy", KSPDestroy(&p.ksp));
  PetscCall(VecDestroy(&p.b));
  PetscCall(VecDestroy(&p.x));
  PetscCall(MatDestroy(&p.A));
  PetscCall(DMDestroy(&p.da));
  PetscFunctionReturn(PETSC_SUCCESS);
}
