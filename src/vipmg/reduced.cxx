#include "vipmg/reduced.hpp"
#include "exec/random.hpp"
#include "petsc/aij.hpp"
#include "petsc/bounds.hpp"
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace tessera::vipmg {

namespace {

constexpr int      max_sets        = 300;    // active sets that are tried: each may be larger by a layer of nodes
constexpr int      max_without     = 100;    // of them that do not come nearer than the best one
constexpr int      max_iterations  = 60;     // of a KSP; then a factorization is better
constexpr double   exact           = 1e-10;  // its relative tolerance
// the same on a grid, where the active set is not likely to be the last, of the first one, which cycles have found,
// and of those that systems have
constexpr double   first_loose     = 1e-2, loose = 1e-3;
constexpr PetscInt small           = 10000;  // unknowns up to which one is better in any case
constexpr PetscInt factorable[]    = {1000000, 60000}; // and can be had, in the plane and in space

struct Reduced {
  const StepProblem   &p;
  Mat                  converted = nullptr, A = nullptr, whole = nullptr;
  KSP                  ksp = nullptr;      // of `whole`
  bool                 by_grid = false;    // solves by PC rrb are worth a try
  Vec                  diagonal = nullptr, R = nullptr, D = nullptr, best = nullptr;
  std::vector<char>     active; // -1: at the lower bound, 1: at the upper
  std::vector<uint64_t> sets;  // those that there have been, by their hashes
  explicit Reduced(const StepProblem &problem) : p(problem) { }

  PetscErrorCode Create(Vec Y);
  PetscErrorCode Destroy();
  PetscErrorCode Residual(Vec Y);
  PetscErrorCode FindActive(Vec Y, bool *changed, double *natural);
  PetscErrorCode FindReturn(Vec Y, bool *back);
  PetscErrorCode Correct(Vec Y, bool changed, double tolerance, PetscInt *iterations);
  PetscErrorCode OnGrid(Vec Y, bool changed, double tolerance, PetscInt *iterations);
  PetscErrorCode OfInactive(Vec Y, IS inactive, PetscInt n, PetscInt *iterations);
  PetscErrorCode CreateKSP(MPI_Comm comm, bool direct, PCType type, KSP *solver);
  PetscErrorCode Solve(KSP solver, Mat S, Vec b, Vec x, PetscInt *iterations, bool *solved);
};

PetscErrorCode Reduced::Create(Vec Y)
{
  PetscInt     n;
  PetscScalar *d, least, largest;

  PetscFunctionBegin;
  PetscCall(AsAIJ(p.J, "vipmg", &converted, &A));
  PetscCall(VecDuplicate(Y, &diagonal));
  PetscCall(VecDuplicate(Y, &R));
  PetscCall(VecDuplicate(Y, &D));
  PetscCall(VecDuplicate(Y, &best));
  PetscCall(MatGetDiagonal(A, diagonal));
  PetscCall(VecMin(diagonal, nullptr, &least));
  PetscCall(VecMax(diagonal, nullptr, &largest));
  by_grid = p.grid && p.symmetric && least > 0 && largest > 1e-140 && largest < 1e140;
  PetscCall(VecGetLocalSize(Y, &n));
  PetscCall(VecGetArray(diagonal, &d)); // rows that have none are compared with bounds on the others' scale
  for (PetscInt i = 0; i < n; ++i) d[i] = d[i] > 0 ? d[i] : largest;
  PetscCall(VecRestoreArray(diagonal, &d));
  active.assign((size_t)n, 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Reduced::Destroy()
{
  PetscFunctionBegin;
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&whole));
  PetscCall(MatDestroy(&converted));
  for (Vec *v : {&diagonal, &R, &D, &best}) PetscCall(VecDestroy(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// R := F + J (Y - X)
PetscErrorCode Reduced::Residual(Vec Y)
{
  PetscFunctionBegin;
  PetscCall(VecWAXPY(D, -1, p.X, Y));
  PetscCall(MatMultAdd(A, D, p.F, R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Nodes whose bound is passed by a step of Jacobi's method are active.
PetscErrorCode Reduced::FindActive(Vec Y, bool *changed, double *natural)
{
  const PetscScalar *y, *r, *l, *u, *d;
  double             sums[2] = {0, 0};

  PetscFunctionBegin;
  PetscCall(Residual(Y));
  PetscCall(VecGetArrayRead(Y, &y));
  PetscCall(VecGetArrayRead(R, &r));
  PetscCall(VecGetArrayRead(p.XL, &l));
  PetscCall(VecGetArrayRead(p.XU, &u));
  PetscCall(VecGetArrayRead(diagonal, &d));
  for (size_t i = 0; i < active.size(); ++i) {
    const double to = y[i] - r[i] / d[i];
    const char   at = to <= l[i] ? -1 : to >= u[i] ? 1 : 0;
    const double n  = at == 0 ? r[i] : d[i] * (y[i] - (at < 0 ? l[i] : u[i]));
    sums[0] += at != active[i];
    sums[1] += n * n;
    active[i] = at;
  }
  PetscCall(VecRestoreArrayRead(Y, &y));
  PetscCall(VecRestoreArrayRead(R, &r));
  PetscCall(VecRestoreArrayRead(p.XL, &l));
  PetscCall(VecRestoreArrayRead(p.XU, &u));
  PetscCall(VecRestoreArrayRead(diagonal, &d));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, PetscObjectComm((PetscObject)Y)));
  *changed = sums[0] > 0;
  *natural = std::sqrt(sums[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Is this a set that there has been before? Then they go round.
PetscErrorCode Reduced::FindReturn(Vec Y, bool *back)
{
  PetscInt first;
  uint64_t hash = 0;

  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(Y, &first, nullptr));
  for (size_t i = 0; i < active.size(); ++i)
    if (active[i]) hash += mix(2 * ((uint64_t)first + i) + (active[i] > 0) + 1);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &hash, 1, MPI_UINT64_T, MPI_SUM, PetscObjectComm((PetscObject)Y)));
  *back = std::find(sets.begin(), sets.end(), hash) != sets.end();
  sets.push_back(hash);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Direct, or a Krylov method with a preconditioner; what the program's options say comes before.
PetscErrorCode Reduced::CreateKSP(MPI_Comm comm, bool direct, PCType type, KSP *solver)
{
  PC           pc;
  const char  *of_solver;
  PetscOptions options;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetOptionsPrefix(p.solver, &of_solver));
  PetscCall(KSPCreate(comm, solver));
  PetscCall(PetscObjectGetOptions(p.solver, &options));
  PetscCall(PetscObjectSetOptions((PetscObject)*solver, options));
  PetscCall(KSPSetOptionsPrefix(*solver, of_solver));
  PetscCall(KSPAppendOptionsPrefix(*solver, p.prefix));
  PetscCall(KSPGetPC(*solver, &pc));
  PetscCall(PCSetType(pc, type));
  if (direct) PetscCall(KSPSetType(*solver, KSPPREONLY));
  else {
    PetscCall(KSPSetType(*solver, p.symmetric ? KSPCG : KSPGMRES));
    if (!p.symmetric) PetscCall(KSPSetPCSide(*solver, PC_RIGHT));
    PetscCall(KSPGMRESSetRestart(*solver, max_iterations));
    PetscCall(KSPSetNormType(*solver, KSP_NORM_UNPRECONDITIONED));
    PetscCall(KSPSetTolerances(*solver, exact, 0.1 * p.target, PETSC_DEFAULT, max_iterations));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// S x = b
PetscErrorCode Reduced::Solve(KSP solver, Mat S, Vec b, Vec x, PetscInt *iterations, bool *solved)
{
  PetscInt           its;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(KSPSetOperators(solver, S, S));
  PetscCall(KSPSetFromOptions(solver));
  PetscCall(KSPSolve(solver, b, x));
  PetscCall(KSPGetIterationNumber(solver, &its));
  PetscCall(KSPGetConvergedReason(solver, &reason));
  *iterations += its;
  *solved = reason > 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The systems of a grid as operators on all of it, whose active nodes have rows and columns of the identity: PC rrb
// follows coefficients that jump, and where the values alone are new its setup is the smaller part.
PetscErrorCode Reduced::OnGrid(Vec Y, bool changed, double tolerance, PetscInt *iterations)
{
  std::vector<PetscInt> at;
  PetscInt              first;
  PetscScalar          *b;
  Vec                   x;
  bool                  solved;

  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(Y, &first, nullptr));
  for (size_t i = 0; i < active.size(); ++i)
    if (active[i]) at.push_back(first + (PetscInt)i);
  if (!whole) {
    PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &whole));
    PetscCall(MatSetDM(whole, p.grid));
    PetscCall(MatSetOption(whole, MAT_KEEP_NONZERO_PATTERN, PETSC_TRUE));
    PetscCall(CreateKSP(PetscObjectComm((PetscObject)Y), false, "rrb", &ksp));
  } else if (changed) PetscCall(MatCopy(A, whole, SAME_NONZERO_PATTERN));
  if (changed) PetscCall(MatZeroRowsColumns(whole, (PetscInt)at.size(), at.data(), 1, nullptr, nullptr));
  PetscCall(VecDuplicate(Y, &x));
  PetscCall(VecScale(R, -1));
  PetscCall(VecGetArray(R, &b));
  for (size_t i = 0; i < active.size(); ++i)
    if (active[i]) b[i] = 0;
  PetscCall(VecRestoreArray(R, &b));
  PetscCall(KSPSetTolerances(ksp, tolerance, 0.3 * p.target, PETSC_DEFAULT, max_iterations));
  PetscCall(Solve(ksp, whole, R, x, iterations, &solved));
  if (solved) PetscCall(VecAXPY(Y, 1, x));
  by_grid = solved;
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The rows of the inactive nodes, factorized or by a Krylov method with algebraic multigrid
PetscErrorCode Reduced::OfInactive(Vec Y, IS inactive, PetscInt n, PetscInt *iterations)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)Y);
  Mat            S;
  Vec            b, x;
  bool           solved = false;
  PetscBool      hypre;
  PetscMPIInt    processes;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &processes));
  PetscCall(PetscHasExternalPackage("hypre", &hypre));
  PetscCall(MatCreateSubMatrix(A, inactive, inactive, MAT_INITIAL_MATRIX, &S));
  PetscCall(MatConvert(S, MATAIJ, MAT_INPLACE_MATRIX, &S)); // from a device: factors are made on the host
  PetscCall(VecGetSubVector(R, inactive, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecScale(b, -1));
  for (const bool direct : {false, true}) {
    KSP solver;
    if (solved || (direct ? n > factorable[p.dimension > 2] : n <= small)) continue;
    PetscCall(VecSet(x, 0));
    const PCType type = direct ? (processes > 1 ? PCREDUNDANT : PCLU) : hypre ? PCHYPRE : PCGAMG;
    PetscCall(CreateKSP(comm, direct, type, &solver));
    PetscCall(Solve(solver, S, b, x, iterations, &solved));
    PetscCall(KSPDestroy(&solver));
  }
  PetscCall(VecISAXPY(Y, inactive, 1, x));
  PetscCall(VecDestroy(&x));
  PetscCall(VecRestoreSubVector(R, inactive, &b));
  PetscCall(MatDestroy(&S));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Active nodes to their bounds, and the others to where J (Y - X) = -F. changed: the set is another one.
PetscErrorCode Reduced::Correct(Vec Y, bool changed, double tolerance, PetscInt *iterations)
{
  const PetscScalar    *l, *u;
  PetscScalar          *y;
  PetscInt              first, n;
  std::vector<PetscInt> rows;
  IS                    inactive;

  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(Y, &first, nullptr));
  PetscCall(VecGetArrayRead(p.XL, &l));
  PetscCall(VecGetArrayRead(p.XU, &u));
  PetscCall(VecGetArray(Y, &y));
  for (size_t i = 0; i < active.size(); ++i)
    if (active[i]) y[i] = active[i] < 0 ? l[i] : u[i];
    else rows.push_back(first + (PetscInt)i);
  PetscCall(VecRestoreArrayRead(p.XL, &l));
  PetscCall(VecRestoreArrayRead(p.XU, &u));
  PetscCall(VecRestoreArray(Y, &y));
  PetscCall(Residual(Y));
  PetscCall(ISCreateGeneral(PetscObjectComm((PetscObject)Y), (PetscInt)rows.size(), rows.data(), PETSC_USE_POINTER,
                            &inactive));
  PetscCall(ISGetSize(inactive, &n));
  if (n > small && by_grid) {
    PetscCall(OnGrid(Y, changed, tolerance, iterations));
    if (!by_grid) PetscCall(VecScale(R, -1));
  }
  if (n && !(n > small && by_grid)) PetscCall(OfInactive(Y, inactive, n, iterations));
  PetscCall(ISDestroy(&inactive));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode SolveReduced(const StepProblem &problem, Vec Y, PetscInt *iterations)
{
  Reduced reduced(problem);
  double  least = HUGE_VAL, natural = 0;
  int     best = 0;
  bool    changed = false, back = false, last = false; // last: systems are solved to the end

  PetscFunctionBegin;
  *iterations = 0;
  PetscCall(reduced.Create(Y));
  for (int k = 0;; ++k) {
    const double before = natural;
    PetscCall(reduced.FindActive(Y, &changed, &natural));
    if (!(natural < 0.99 * least) && k - best > max_without) break;
    if (natural < least) {
      if (natural < 0.99 * least) best = k;
      least = natural;
      PetscCall(VecCopy(Y, reduced.best));
    }
    if (changed) PetscCall(reduced.FindReturn(Y, &back));
    if (!(natural > problem.target) || k == max_sets || (last && changed && back)) break;
    if (last && !changed && natural > 0.5 * before) break;
    if (!last && (!reduced.by_grid || back || (k && !changed))) {
      last = true;
      reduced.sets.clear();
    }
    PetscCall(reduced.Correct(Y, !k || changed, last ? exact : k ? loose : first_loose, iterations));
  }
  PetscCall(VecCopy(reduced.best, Y));
  PetscCall(ProjectToBounds(Exec(), problem.XL, problem.XU, Y));
  PetscCall(PetscInfo(problem.solver, "Systems of the inactive nodes: natural residual %.6g after %" PetscInt_FMT
                      " iterations\n", least, *iterations));
  PetscCall(reduced.Destroy());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera::vipmg
