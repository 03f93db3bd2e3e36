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
constexpr int      max_iterations  = 60;     // of a KSP; then a factorization is better
constexpr PetscInt small           = 10000;  // unknowns up to which one is better in any case
constexpr PetscInt factorable[]    = {1000000, 60000}; // and can be had, in the plane and in space

struct Reduced {
  const StepProblem   &p;
  Mat                  converted = nullptr, A = nullptr;
  Vec                  diagonal = nullptr, R = nullptr, D = nullptr, best = nullptr;
  std::vector<char>     active; // -1: at the lower bound, 1: at the upper
  std::vector<uint64_t> sets;  // those that there have been, by their hashes
  explicit Reduced(const StepProblem &problem) : p(problem) { }

  PetscErrorCode Create(Vec Y);
  PetscErrorCode Destroy();
  PetscErrorCode Residual(Vec Y);
  PetscErrorCode FindActive(Vec Y, bool *changed, double *natural);
  PetscErrorCode FindReturn(Vec Y, bool *back);
  PetscErrorCode Correct(Vec Y, PetscInt *iterations);
  PetscErrorCode Solve(Mat S, Vec b, Vec x, bool direct, PetscInt *iterations, bool *solved);
};

PetscErrorCode Reduced::Create(Vec Y)
{
  PetscInt     n;
  PetscScalar *d, largest;

  PetscFunctionBegin;
  PetscCall(AsAIJ(p.J, "vipmg", &converted, &A));
  PetscCall(VecDuplicate(Y, &diagonal));
  PetscCall(VecDuplicate(Y, &R));
  PetscCall(VecDuplicate(Y, &D));
  PetscCall(VecDuplicate(Y, &best));
  PetscCall(MatGetDiagonal(A, diagonal));
  PetscCall(VecMax(diagonal, nullptr, &largest));
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

// S x = b, factorized or by a Krylov method with algebraic multigrid; what the program's options say comes before.
PetscErrorCode Reduced::Solve(Mat S, Vec b, Vec x, bool direct, PetscInt *iterations, bool *solved)
{
  KSP                ksp;
  PC                 pc;
  MPI_Comm           comm = PetscObjectComm((PetscObject)S);
  const char        *of_solver;
  PetscOptions       options;
  PetscBool          hypre;
  PetscMPIInt        processes;
  PetscInt           its;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &processes));
  PetscCall(PetscObjectGetOptionsPrefix(p.solver, &of_solver));
  PetscCall(KSPCreate(comm, &ksp));
  PetscCall(PetscObjectGetOptions(p.solver, &options));
  PetscCall(PetscObjectSetOptions((PetscObject)ksp, options));
  PetscCall(KSPSetOptionsPrefix(ksp, of_solver));
  PetscCall(KSPAppendOptionsPrefix(ksp, p.prefix));
  PetscCall(KSPSetOperators(ksp, S, S));
  PetscCall(KSPGetPC(ksp, &pc));
  if (direct) {
    PetscCall(KSPSetType(ksp, KSPPREONLY));
    PetscCall(PCSetType(pc, processes > 1 ? PCREDUNDANT : PCLU));
  } else {
    PetscCall(PetscHasExternalPackage("hypre", &hypre));
    PetscCall(PCSetType(pc, hypre ? PCHYPRE : PCGAMG));
    PetscCall(KSPSetType(ksp, p.symmetric ? KSPCG : KSPGMRES));
    if (!p.symmetric) PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
    PetscCall(KSPGMRESSetRestart(ksp, max_iterations));
    PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
    PetscCall(KSPSetTolerances(ksp, 1e-10, 0.1 * p.target, PETSC_DEFAULT, max_iterations));
  }
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPDestroy(&ksp));
  *iterations += its;
  *solved = reason > 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Active nodes to their bounds, and the others to where J (Y - X) = -F.
PetscErrorCode Reduced::Correct(Vec Y, PetscInt *iterations)
{
  const PetscScalar    *l, *u;
  PetscScalar          *y;
  PetscInt              first, n;
  std::vector<PetscInt> rows;
  IS                    inactive;
  Mat                   S;
  Vec                   b, x;
  bool                  solved = false;

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
  if (n) {
    PetscCall(MatCreateSubMatrix(A, inactive, inactive, MAT_INITIAL_MATRIX, &S));
    PetscCall(MatConvert(S, MATAIJ, MAT_INPLACE_MATRIX, &S)); // from a device: factors are made on the host
    PetscCall(VecGetSubVector(R, inactive, &b));
    PetscCall(VecDuplicate(b, &x));
    PetscCall(VecScale(b, -1));
    if (n > small) PetscCall(Solve(S, b, x, false, iterations, &solved));
    if (!solved && n <= factorable[p.dimension > 2]) {
      PetscCall(VecSet(x, 0));
      PetscCall(Solve(S, b, x, true, iterations, &solved));
    }
    PetscCall(VecISAXPY(Y, inactive, 1, x));
    PetscCall(VecDestroy(&x));
    PetscCall(VecRestoreSubVector(R, inactive, &b));
    PetscCall(MatDestroy(&S));
  }
  PetscCall(ISDestroy(&inactive));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode SolveReduced(const StepProblem &problem, Vec Y, PetscInt *iterations)
{
  Reduced reduced(problem);
  double  least = HUGE_VAL, natural = 0;
  bool    changed = false, back = false;

  PetscFunctionBegin;
  *iterations = 0;
  PetscCall(reduced.Create(Y));
  for (int k = 0;; ++k) {
    const double before = natural;
    PetscCall(reduced.FindActive(Y, &changed, &natural));
    if (natural < least) {
      least = natural;
      PetscCall(VecCopy(Y, reduced.best));
    }
    if (changed) PetscCall(reduced.FindReturn(Y, &back));
    if (!(natural > problem.target) || k == max_sets || (changed && back)) break;
    if (k && !changed && natural > 0.5 * before) break;
    PetscCall(reduced.Correct(Y, iterations));
  }
  PetscCall(VecCopy(reduced.best, Y));
  PetscCall(ProjectToBounds(problem.XL, problem.XU, Y));
  PetscCall(PetscInfo(problem.solver, "Systems of the inactive nodes: natural residual %g after %" PetscInt_FMT
                      " iterations\n", least, *iterations));
  PetscCall(reduced.Destroy());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera::vipmg
