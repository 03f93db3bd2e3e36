#include "petsc/bounds.hpp"
#include "petsc/bound_values.hpp"
#include "petsc/device.hpp"
#include "petsc/vector.hpp"
#include <petscdm.h>
#include <petsc/private/snesimpl.h>

namespace tessera {

static PetscErrorCode BoundsOfDM(SNES snes, Vec xl, Vec xu)
{
  PetscFunctionBegin;
  PetscCall(DMComputeVariableBounds(snes->dm, xl, xu));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SetUpBounds(SNES snes, Vec X)
{
  PetscBool has = PETSC_FALSE;

  PetscFunctionBegin;
  if (!snes->ops->computevariablebounds && snes->dm) {
    PetscCall(DMHasVariableBounds(snes->dm, &has));
    if (has) snes->ops->computevariablebounds = BoundsOfDM;
  }
  if (!snes->usersetbounds && snes->ops->computevariablebounds) {
    if (!snes->xl) PetscCall(VecDuplicate(X, &snes->xl));
    if (!snes->xu) PetscCall(VecDuplicate(X, &snes->xu));
    PetscUseTypeMethod(snes, computevariablebounds, snes->xl, snes->xu);
  } else if (!snes->xl && !snes->xu) {
    PetscCall(VecDuplicate(X, &snes->xl));
    PetscCall(VecSet(snes->xl, PETSC_NINFINITY));
    PetscCall(VecDuplicate(X, &snes->xu));
    PetscCall(VecSet(snes->xu, PETSC_INFINITY));
  } else {
    if (!snes->xl) {
      PetscCall(VecDuplicate(X, &snes->xl));
      PetscCall(VecSet(snes->xl, PETSC_NINFINITY));
    }
    if (!snes->xu) {
      PetscCall(VecDuplicate(X, &snes->xu));
      PetscCall(VecSet(snes->xu, PETSC_INFINITY));
    }
  }
  PetscCall(CheckDistribution(PetscObjectComm((PetscObject)snes), X, snes->xl, snes->xu));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ProjectToBounds(const Exec &exec, Vec xl, Vec xu, Vec X)
{
  VectorView l, u, x;
  PetscInt   n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(X, &n));
  PetscCall(UseCurrentStream(exec.space));
  PetscCall(l.Read(xl, exec.space));
  PetscCall(u.Read(xu, exec.space));
  PetscCall(x.Write(X, exec.space, true));
  TesseraCallCXX(project_to_bounds(exec, (int)n, l.data(), u.data(), x.data()));
  for (VectorView *v : {&l, &u, &x}) PetscCall(v->Restore());
  PetscCall(PetscObjectStateIncrease((PetscObject)X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ProjectToBounds(SNES snes, Vec X)
{
  PetscFunctionBegin;
  PetscCall(ProjectToBounds(Exec(), snes->xl, snes->xu, X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckEquations(SNES snes, const char *who)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)snes);
  PetscInt       n, f, rows, columns, N, F, M, K;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(snes->vec_sol, &n));
  PetscCall(VecGetLocalSize(snes->vec_func, &f));
  PetscCall(MatGetLocalSize(snes->jacobian_pre, &rows, &columns));
  PetscCall(VecGetSize(snes->vec_sol, &N));
  PetscCall(VecGetSize(snes->vec_func, &F));
  PetscCall(MatGetSize(snes->jacobian_pre, &M, &K));
  // a matrix whose sizes come with its entries has none yet
  const PetscInt wrong = f != n || (rows >= 0 && rows != n) || (columns >= 0 && columns != n);
  PetscInt       any;
  PetscCallMPI(MPI_Allreduce(&wrong, &any, 1, MPIU_INT, MPI_MAX, comm));
  PetscCheck(!any, comm, PETSC_ERR_ARG_SIZ,
             "%s needs as many equations as unknowns, on each process: here are %" PetscInt_FMT
             " unknowns, a function of %" PetscInt_FMT " entries and a Jacobian of %" PetscInt_FMT
             " rows and %" PetscInt_FMT " columns%s",
             who, N, F, M, K, F == N && M == N && K == N ? ", in different parts on the processes" : "");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CheckDistribution(MPI_Comm comm, Vec X, Vec xl, Vec xu)
{
  PetscFunctionBegin;
  for (Vec v : {xl, xu}) {
    PetscInt n, m, wrong, any;
    PetscCall(VecGetLocalSize(v, &n));
    PetscCall(VecGetLocalSize(X, &m));
    wrong = n != m;
    PetscCallMPI(MPI_Allreduce(&wrong, &any, 1, MPIU_INT, MPI_MAX, comm));
    PetscInt N, M;
    PetscCall(VecGetSize(v, &N));
    PetscCall(VecGetSize(X, &M));
    PetscCheck(!any, comm, PETSC_ERR_ARG_SIZ,
               "The vector of %s bounds (%" PetscInt_FMT " entries) is not distributed as the solution (%" PetscInt_FMT
               "). Make it with VecDuplicate()",
               v == xl ? "lower" : "upper", N, M);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode FitWork(SNES snes, const char *who)
{
  PetscInt n, m, other, any;

  PetscFunctionBegin;
  PetscCall(CheckEquations(snes, who));
  PetscCall(VecGetLocalSize(snes->vec_sol, &n));
  PetscCall(VecGetLocalSize(snes->work[0], &m));
  other = n != m;
  PetscCallMPI(MPI_Allreduce(&other, &any, 1, MPIU_INT, MPI_MAX, PetscObjectComm((PetscObject)snes)));
  if (any) {
    PetscCall(VecDestroyVecs(snes->nwork, &snes->work));
    snes->nwork = 1;
    PetscCall(VecDuplicateVecs(snes->vec_sol, snes->nwork, &snes->work));
    PetscCall(VecDestroy(&snes->vec_sol_update));
  }
  if (!snes->vec_sol_update) PetscCall(VecDuplicate(snes->vec_sol, &snes->vec_sol_update));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void ForgetBounds(SNES snes)
{
  (void)VecDestroy(&snes->xl);
  (void)VecDestroy(&snes->xu);
  snes->usersetbounds = PETSC_FALSE;
  // another DM may have none
  if (snes->ops->computevariablebounds == BoundsOfDM) snes->ops->computevariablebounds = nullptr;
}

PetscErrorCode LookAtBounds(const Exec &exec, Vec xl, Vec xu, BoundsReport *report)
{
  VectorView  l, u;
  BoundCounts counts;
  PetscInt    n, start, N, first;
  PetscReal   ends[2] = {0, 0}, largest = 0;
  MPI_Comm    comm = PetscObjectComm((PetscObject)xl);

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(xl, &n));
  PetscCall(VecGetSize(xl, &N));
  PetscCall(VecGetOwnershipRange(xl, &start, nullptr));
  PetscCall(UseCurrentStream(exec.space));
  PetscCall(l.Read(xl, exec.space));
  PetscCall(u.Read(xu, exec.space));
  TesseraCallCXX(largest = largest_bound(exec, (int)n, l.data(), u.data(), PETSC_INFINITY));
  PetscCallMPI(MPI_Allreduce(&largest, &report->largest, 1, MPIU_REAL, MPIU_MAX, comm));
  // of zeros; bounds of 1e20 or so may stand for none
  const PetscReal unit = PetscMin(report->largest, 1);
  TesseraCallCXX(counts = count_bounds(exec, (int)n, l.data(), u.data(), PETSC_INFINITY, unit));
  const PetscInt mine[5] = {counts.lower, counts.upper, counts.crossed, counts.nan, counts.rounded};
  PetscInt       all[5];
  PetscCallMPI(MPI_Allreduce(mine, all, 5, MPIU_INT, MPI_SUM, comm));
  const int local = all[3] ? counts.first_nan : counts.first_crossed; // who complains does so of NaN first
  first           = local < INT_MAX ? start + local : N;
  PetscCallMPI(MPI_Allreduce(&first, &report->first, 1, MPIU_INT, MPI_MIN, comm));
  report->lower   = all[0];
  report->upper   = all[1];
  report->crossed = all[2];
  report->nan     = all[3];
  report->rounded = all[4];
  if (report->first < N) { // by the process that has it
    int rank, owner, size;
    const bool mine = first == report->first;
    PetscCall(FirstProcess(comm, mine, &owner, &rank, &size));
    if (mine) {
      TesseraCallCXX(copy(l.data() + local, exec.space, &ends[0], Space::host, 1));
      TesseraCallCXX(copy(u.data() + local, exec.space, &ends[1], Space::host, 1));
    }
    PetscCallMPI(MPI_Bcast(ends, 2, MPIU_REAL, owner, comm));
    report->xl = ends[0];
    report->xu = ends[1];
  } else report->first = -1;
  for (VectorView *v : {&l, &u}) PetscCall(v->Restore());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode UpperBounds::Make(Vec xl, Vec xu, const BoundsReport &report)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectReference((PetscObject)xu));
  PetscCall(VecDestroy(&v_));
  v_ = xu;
  if (!report.rounded) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecDestroy(&v_));
  PetscCall(VecDuplicate(xu, &v_));
  PetscCall(VecPointwiseMax(v_, xl, xu));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera
