#include "petsc/bounds.hpp"
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

PetscErrorCode ProjectToBounds(Vec xl, Vec xu, Vec X)
{
  PetscFunctionBegin;
  PetscCall(VecMedian(xl, X, xu, X));
  PetscCall(PetscObjectStateIncrease((PetscObject)X));
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

PetscErrorCode FitWork(SNES snes)
{
  PetscInt n, m, other, any;

  PetscFunctionBegin;
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

static bool finite(PetscReal bound) { return bound > PETSC_NINFINITY && bound < PETSC_INFINITY; }

PetscErrorCode LookAtBounds(Vec xl, Vec xu, BoundsReport *report)
{
  const PetscScalar *l, *u;
  // the first that is crossed, that is no number
  PetscInt           n, start, N, mine[5] = {0, 0, 0, 0, 0}, all[5], firsts[2];
  PetscReal          values[2][2] = {{0, 0}, {0, 0}}, largest = 0;
  MPI_Comm           comm = PetscObjectComm((PetscObject)xl);

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(xl, &n));
  PetscCall(VecGetSize(xl, &N));
  PetscCall(VecGetOwnershipRange(xl, &start, nullptr));
  PetscCall(VecGetArrayRead(xl, &l));
  PetscCall(VecGetArrayRead(xu, &u));
  firsts[0] = firsts[1] = N;
  for (PetscInt i = 0; i < n; ++i)
    for (PetscReal bound : {l[i], u[i]})
      if (finite(bound)) largest = PetscMax(largest, PetscAbsReal(bound));
  PetscCallMPI(MPI_Allreduce(&largest, &report->largest, 1, MPIU_REAL, MPIU_MAX, comm));
  // of zeros; bounds of 1e20 or so may stand for none
  const PetscReal unit = PetscMin(report->largest, 1);
  for (PetscInt i = 0; i < n; ++i) {
    const bool      nan  = l[i] != l[i] || u[i] != u[i], ends = finite(l[i]) && finite(u[i]);
    const PetscReal size = PetscMax(unit, PetscMax(PetscAbsReal(l[i]), PetscAbsReal(u[i])));
    const bool      rounded = ends && l[i] > u[i] && l[i] - u[i] <= 16 * PETSC_MACHINE_EPSILON * size,
               crossed = !rounded && (l[i] > u[i] || l[i] >= PETSC_INFINITY || u[i] <= PETSC_NINFINITY);
    mine[0] += l[i] > PETSC_NINFINITY;
    mine[1] += u[i] < PETSC_INFINITY;
    mine[2] += crossed;
    mine[3] += nan;
    mine[4] += rounded;
    for (int kind : {0, 1}) {
      if (!(kind ? nan : crossed) || firsts[kind] < N) continue;
      firsts[kind]    = start + i;
      values[kind][0] = l[i];
      values[kind][1] = u[i];
    }
  }
  PetscCall(VecRestoreArrayRead(xl, &l));
  PetscCall(VecRestoreArrayRead(xu, &u));
  PetscCallMPI(MPI_Allreduce(mine, all, 5, MPIU_INT, MPI_SUM, comm));
  const int      kind  = all[3] > 0; // who complains does so of NaN first
  const PetscInt first = firsts[kind];
  PetscCallMPI(MPI_Allreduce(&first, &report->first, 1, MPIU_INT, MPI_MIN, comm));
  report->lower   = all[0];
  report->upper   = all[1];
  report->crossed = all[2];
  report->nan     = all[3];
  report->rounded = all[4];
  if (report->first < N) { // by the process that has it
    int rank, owner, size;
    PetscCallMPI(MPI_Comm_rank(comm, &rank));
    PetscCallMPI(MPI_Comm_size(comm, &size));
    int me = first == report->first ? rank : size;
    PetscCallMPI(MPI_Allreduce(&me, &owner, 1, MPI_INT, MPI_MIN, comm));
    PetscCallMPI(MPI_Bcast(values[kind], 2, MPIU_REAL, owner, comm));
    report->xl = values[kind][0];
    report->xu = values[kind][1];
  } else report->first = -1;
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
