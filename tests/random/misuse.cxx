// What programs do wrong: each must end with an error that all processes see, or with the right answer.
#include "random.hpp"
#include <algorithm>

static PetscErrorCode Product(Mat A, Vec x, Vec y)
{
  PetscFunctionBeginUser;
  (void)A;
  PetscCall(VecCopy(x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

namespace {
enum Kind {
  NO_OPERATORS,
  NOT_ASSEMBLED,
  SET_AFTER_SOLVE,
  RECTANGULAR,
  TWO_UNKNOWNS,
  WRONG_GRID,
  SHELL,
  WRONG_TYPE,
  WRONG_VECTOR,
  COORDINATES,
  NO_COORDINATES,
  EMPTY,
  OTHER_SIZE,
  SET_UP_FIRST,
  NESTED,
  KINDS
};
const char *const kinds[] = {"no operators",
                             "not assembled",
                             "values after a solve",
                             "rectangular",
                             "two unknowns per node",
                             "a grid of another size",
                             "a shell",
                             "a matrix of another type",
                             "vectors of another size",
                             "wrong coordinates",
                             "no coordinates",
                             "no rows",
                             "operators of another size",
                             "PCSetUp before all",
                             "inside another"};
} // namespace

// Fills a tridiagonal matrix with 1 for the others.
static PetscErrorCode Line(Mat A, PetscReal diagonal, bool end)
{
  PetscInt first, last, m, n;
  PetscFunctionBeginUser;
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  PetscCall(MatGetSize(A, &m, &n));
  for (PetscInt i = first; i < last; ++i)
    for (PetscInt j = PetscMax(i - 1, 0); j <= PetscMin(i + 1, n - 1); ++j)
      PetscCall(MatSetValue(A, i, j, i == j ? diagonal : -1, INSERT_VALUES));
  if (end) {
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NewMat(Case &c, PetscInt m, PetscInt n, const char *type, Mat *A)
{
  PetscFunctionBeginUser;
  PetscCall(MatCreate(c.comm, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, m, n));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetUp(*A));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// A solve that ends without an error must be right, whatever came before.
static PetscErrorCode Answer(Case &c, KSP ksp, Mat A, Vec b, Vec x, const char *what)
{
  KSPConvergedReason reason;
  Vec                r;
  PetscReal          rn, bn;
  PetscFunctionBeginUser;
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  c.say("%s: %s", what, KSPConvergedReasons[reason]);
  if (reason <= 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecDuplicate(b, &r));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1, b));
  PetscCall(VecNorm(r, NORM_2, &rn));
  PetscCall(VecNorm(b, NORM_2, &bn));
  if (!(rn <= 1e-2 * bn))
    c.fail("%s: %s, but the residual is %g of %g", what, KSPConvergedReasons[reason], (double)rn, (double)bn);
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

namespace {
struct Misuse {
  std::string owner;
  Kind        kind;
  bool        dense, mesh;
  PetscInt    n, local = 0;
  Mat         A = NULL, S = NULL;
  DM          da = NULL;
  Vec         b = NULL, x = NULL;
  KSP         ksp = NULL;
  PC          pc  = NULL;
};
} // namespace

static const char *TypeOf(const Misuse &m)
{
  return m.owner == "KSP rrb" ? "rrb" : m.owner.c_str() + 3;
}
static bool Iterates(KSP ksp)
{
  PetscBool only;
  return PetscObjectTypeCompare((PetscObject)ksp, KSPPREONLY, &only) == 0 && !only;
}

static PetscErrorCode MakeMatrix(Case &c, Misuse &m)
{
  char text[64];
  PetscFunctionBeginUser;
  if (!m.dense && !m.mesh) {
    const int wrong = m.kind == WRONG_GRID;
    snprintf(text, sizeof(text), "%d,%d", (int)m.n + wrong, wrong ? c.draw.of({0, 1, -1}) : 1);
    PetscCall(c.option("-pc_rrb_grid", text));
  }
  if (m.kind == TWO_UNKNOWNS) {
    const auto none = DM_BOUNDARY_NONE;
    PetscCall(
      DMDACreate2d(c.comm, none, none, DMDA_STENCIL_STAR, 8, 8, PETSC_DECIDE, PETSC_DECIDE, 2, 1, NULL, NULL, &m.da));
    PetscCall(DMSetUp(m.da));
    PetscCall(DMCreateMatrix(m.da, &m.A));
    PetscCall(MatSetOption(m.A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  } else {
    const char *type = m.dense ? MATDENSE : MATAIJ;
    if (m.kind == WRONG_TYPE) type = c.draw.of({MATSELL, MATDENSE, MATAIJ, MATBAIJ});
    const PetscInt rows = m.kind == EMPTY ? 0 : m.n;
    PetscCall(NewMat(c, rows, m.kind == RECTANGULAR ? rows + 1 : rows, type, &m.A));
  }
  PetscCall(Line(m.A, 2.5, m.kind != NOT_ASSEMBLED || c.draw.chance(0.2)));
  PetscCall(MatGetLocalSize(m.A, &m.local, NULL));
  PetscCall(MatGetSize(m.A, &m.n, NULL));
  PetscCall(VecCreateMPI(c.comm, m.kind == WRONG_VECTOR ? m.local + 1 : m.local, PETSC_DETERMINE, &m.b));
  PetscCall(VecDuplicate(m.b, &m.x));
  PetscCall(FillVec(c, m.b, [&](int i) { return 1 + Hash(c.seed, i, 0); }));
  if (m.kind == SHELL) {
    PetscCall(MatCreateShell(c.comm, m.local, m.local, m.n, m.n, NULL, &m.S));
    PetscCall(MatShellSetOperation(m.S, MATOP_MULT, (void (*)(void))Product));
    PetscCall(MatAssemblyBegin(m.S, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(m.S, MAT_FINAL_ASSEMBLY));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetCoordinates(Case &c, Misuse &m, bool *on)
{
  std::vector<PetscReal> at((size_t)(3 * m.local + 30));
  PetscInt               first, given = m.local, dim = c.draw.between(1, 3);
  PetscFunctionBeginUser;
  PetscCall(MatGetOwnershipRange(m.A, &first, NULL));
  for (PetscInt i = 0; i < m.local + 10; ++i)
    for (PetscInt d = 0; d < dim; ++d) at[i * dim + d] = (PetscReal)(d ? 0 : first + i);
  if (m.kind == COORDINATES) {
    const int bad = c.draw.below(5);
    if (bad == 0) given = m.local + 1;
    if (bad == 1) given = c.rank == c.size - 1 ? m.local - 1 : m.local;
    if (bad == 2 && c.rank == 0) at[0] = NAN;
    if (bad == 3) std::fill(at.begin(), at.end(), 7.);
    if (bad == 4) dim = c.draw.of({0, 4, -1});
    c.say("coordinates %d", bad);
  }
  *on = c.good("PCSetCoordinates", PCSetCoordinates(m.pc, dim, given, at.data()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// A solver with the type as preconditioner of another one.
static PetscErrorCode Nested(Case &c, Misuse &m)
{
  KSP               outer;
  const std::string sub    = c.draw.of({"bjacobi", "asm", "redundant", "ksp", "composite", "telescope"});
  const std::string prefix = sub == "ksp"                             ? "-ksp_"
                           : sub == "redundant" || sub == "telescope" ? "-" + sub + "_"
                                                                      : "-sub_";
  PetscFunctionBeginUser;
  PetscCall(c.option("-pc_type", sub));
  if (sub == "composite") PetscCall(c.option("-pc_composite_pcs", std::string(TypeOf(m)) + ",jacobi"));
  else PetscCall(c.option(prefix + "pc_type", TypeOf(m)));
  PetscCall(KSPCreate(c.comm, &outer));
  PetscCall(KSPSetOperators(outer, m.A, m.A));
  if (c.good("KSPSetFromOptions of the outer", KSPSetFromOptions(outer)) &&
      c.good("KSPSolve of the outer", KSPSolve(outer, m.b, m.x)))
    PetscCall(Answer(c, outer, m.A, m.b, m.x, "outer"));
  c.good("KSPDestroy of the outer", KSPDestroy(&outer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolveIt(Case &c, Misuse &m, bool *on)
{
  KSPConvergedReason reason;
  PetscBool          assembled;
  PetscFunctionBeginUser;
  *on = c.good("KSPSolve", KSPSolve(m.ksp, m.b, m.x));
  if (!*on) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPGetConvergedReason(m.ksp, &reason));
  PetscCall(MatAssembled(m.A, &assembled));
  if (reason > 0 && !assembled) c.fail("%s with a matrix that is not assembled", KSPConvergedReasons[reason]);
  else if (m.kind == NO_OPERATORS || m.kind == RECTANGULAR || m.kind == WRONG_VECTOR) {
    if (reason > 0) c.fail("%s", KSPConvergedReasons[reason]);
  } else if (m.kind != SHELL && Iterates(m.ksp)) PetscCall(Answer(c, m.ksp, m.A, m.b, m.x, "solve"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Values that nobody assembles; then somebody does.
static PetscErrorCode SetAfterSolve(Case &c, Misuse &m)
{
  KSPConvergedReason reason;
  PetscFunctionBeginUser;
  PetscCall(Line(m.A, 4, false));
  if (c.good("KSPSolve with values under way", KSPSolve(m.ksp, m.b, m.x))) {
    PetscCall(KSPGetConvergedReason(m.ksp, &reason)); // preonly never looks at the matrix
    if (reason > 0 && Iterates(m.ksp)) c.fail("%s with a matrix that is not assembled", KSPConvergedReasons[reason]);
  }
  PetscCall(MatAssemblyBegin(m.A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(m.A, MAT_FINAL_ASSEMBLY));
  if (c.good("KSPSolve after it", KSPSolve(m.ksp, m.b, m.x)) && Iterates(m.ksp))
    PetscCall(Answer(c, m.ksp, m.A, m.b, m.x, "after it"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OtherSize(Case &c, Misuse &m)
{
  Mat B;
  Vec v, w;
  PetscFunctionBeginUser;
  PetscCall(NewMat(c, m.n + 3, m.n + 3, m.dense ? MATDENSE : MATAIJ, &B));
  PetscCall(Line(B, 2.5, true));
  PetscCall(MatCreateVecs(B, &v, &w));
  PetscCall(VecSet(v, 1));
  const bool set = c.good("KSPReset", KSPReset(m.ksp)) && c.good("KSPSetOperators", KSPSetOperators(m.ksp, B, B));
  if (set && c.good("KSPSolve of another size", KSPSolve(m.ksp, v, w)) && Iterates(m.ksp))
    PetscCall(Answer(c, m.ksp, B, v, w, "of another size"));
  PetscCall(VecDestroy(&v));
  PetscCall(VecDestroy(&w));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MisuseCase(Case &c)
{
  Misuse m;
  PetscFunctionBeginUser;
  m.owner = c.draw.of({"PC rrb", "PC rrb", "KSP rrb", "PC auxamg", "PC densegs"});
  m.kind  = (Kind)c.draw.below(KINDS);
  m.dense = m.owner == "PC densegs";
  m.mesh  = m.owner == "PC auxamg";
  m.n     = c.draw.between(2 * c.size, 60);
  c.say("%s, %s, %d rows", m.owner.c_str(), kinds[m.kind], (int)m.n);
  PetscCall(c.options(m.owner));
  PetscCall(MakeMatrix(c, m));
  PetscCall(KSPCreate(c.comm, &m.ksp));
  PetscCall(KSPSetType(m.ksp, m.owner == "KSP rrb" ? "rrb" : c.draw.of({"cg", "gmres", "richardson", "preonly"})));
  PetscCall(KSPSetTolerances(m.ksp, 1e-8, 1e-50, 1e10, 300));
  PetscCall(KSPGetPC(m.ksp, &m.pc));
  if (m.owner != "KSP rrb") PetscCall(PCSetType(m.pc, TypeOf(m)));
  bool on = c.good("KSPSetFromOptions", KSPSetFromOptions(m.ksp));
  if (on && m.mesh && m.kind != NO_COORDINATES) PetscCall(SetCoordinates(c, m, &on));
  if (on && m.kind == SET_UP_FIRST) on = c.good("PCSetUp", PCSetUp(m.pc));
  Mat P = m.S ? m.S : m.A;
  if (on && m.kind != NO_OPERATORS)
    on = c.good("KSPSetOperators", KSPSetOperators(m.ksp, c.draw.chance(0.5) ? m.A : P, P));
  if (on && m.kind == NESTED) PetscCall(Nested(c, m));
  if (on) PetscCall(SolveIt(c, m, &on));
  if (on && m.kind == SET_AFTER_SOLVE) PetscCall(SetAfterSolve(c, m));
  if (on && m.kind == OTHER_SIZE) PetscCall(OtherSize(c, m));
  c.good("KSPDestroy", KSPDestroy(&m.ksp));
  PetscCall(VecDestroy(&m.b));
  PetscCall(VecDestroy(&m.x));
  PetscCall(MatDestroy(&m.S));
  PetscCall(MatDestroy(&m.A));
  PetscCall(DMDestroy(&m.da));
  PetscFunctionReturn(PETSC_SUCCESS);
}
