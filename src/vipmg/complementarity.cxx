#include "vipmg/complementarity.hpp"
#include <cmath>

namespace tessera::vipmg {

// a + b - sqrt(a^2 + b^2), without cancellation where one is large and positive: bounds of 1e30 are no bounds either.
static PetscReal FischerBurmeister(PetscReal a, PetscReal b)
{
  if (a >= PETSC_INFINITY) return b;
  const PetscReal root = std::hypot(a, b);
  if (a > 0 && b > 0) return 2 * a * (b / (a + b + root));
  if (a > 0) return b - b * (b / (a + root));
  return b > 0 ? a - a * (a / (b + root)) : a + b - root;
}

PetscErrorCode Complementarity(Vec X, Vec F, Vec XL, Vec XU, ComplementarityNorms *norms)
{
  const PetscScalar *x, *f, *l, *u;
  PetscInt           n;
  PetscReal          worst = 0, sums[2] = {0, 0}, all;
  MPI_Comm           comm = PetscObjectComm((PetscObject)X);

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(X, &n));
  PetscCall(VecGetArrayRead(X, &x));
  PetscCall(VecGetArrayRead(F, &f));
  PetscCall(VecGetArrayRead(XL, &l));
  PetscCall(VecGetArrayRead(XU, &u));
  for (PetscInt i = 0; i < n; ++i) {
    PetscReal a = u[i] - x[i], b = -f[i], phi = FischerBurmeister(a, b);
    a = x[i] - l[i], b = -phi;
    phi = FischerBurmeister(a, b);
    sums[0] += phi * phi;
    worst = PetscMax(worst, PetscMax(l[i] - x[i], x[i] - u[i]));
    if (f[i] > 0 && l[i] > PETSC_NINFINITY) sums[1] += f[i] * (x[i] - l[i]);
    if (f[i] < 0 && u[i] < PETSC_INFINITY) sums[1] += f[i] * (x[i] - u[i]);
  }
  PetscCall(VecRestoreArrayRead(X, &x));
  PetscCall(VecRestoreArrayRead(F, &f));
  PetscCall(VecRestoreArrayRead(XL, &l));
  PetscCall(VecRestoreArrayRead(XU, &u));
  PetscCallMPI(MPI_Allreduce(&sums[0], &all, 1, MPIU_REAL, MPI_SUM, comm));
  norms->fischer_burmeister = PetscSqrtReal(all);
  PetscCallMPI(MPI_Allreduce(&worst, &norms->violation, 1, MPIU_REAL, MPI_MAX, comm));
  PetscCallMPI(MPI_Allreduce(&sums[1], &norms->gap, 1, MPIU_REAL, MPI_SUM, comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CountActive(Vec X, Vec F, Vec XL, Vec XU, PetscReal zero, Vec residual, Vec active, PetscInt pressed[2],
                           PetscInt at[2])
{
  const PetscScalar *x, *f, *l, *u;
  PetscScalar       *r = nullptr, *c = nullptr;
  PetscInt           n, mine[4] = {0, 0, 0, 0}, all[4];

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(X, &n));
  PetscCall(VecGetArrayRead(X, &x));
  PetscCall(VecGetArrayRead(F, &f));
  PetscCall(VecGetArrayRead(XL, &l));
  PetscCall(VecGetArrayRead(XU, &u));
  if (residual) PetscCall(VecGetArrayWrite(residual, &r));
  if (active) PetscCall(VecGetArrayWrite(active, &c));
  for (PetscInt i = 0; i < n; ++i) {
    const bool low = x[i] <= l[i] + zero, up = x[i] >= u[i] - zero, down = low && f[i] > 0, lift = up && f[i] < 0;
    mine[0] += down;
    mine[1] += !down && lift;
    mine[2] += low;
    mine[3] += !low && up;
    if (r) r[i] = down || lift ? 0 : f[i];
    if (c) c[i] = down || lift;
  }
  if (residual) PetscCall(VecRestoreArrayWrite(residual, &r));
  if (active) PetscCall(VecRestoreArrayWrite(active, &c));
  PetscCall(VecRestoreArrayRead(X, &x));
  PetscCall(VecRestoreArrayRead(F, &f));
  PetscCall(VecRestoreArrayRead(XL, &l));
  PetscCall(VecRestoreArrayRead(XU, &u));
  PetscCallMPI(MPI_Allreduce(mine, all, 4, MPIU_INT, MPI_SUM, PetscObjectComm((PetscObject)X)));
  for (int k = 0; k < 2; ++k) pressed[k] = all[k], at[k] = all[2 + k];
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera::vipmg
