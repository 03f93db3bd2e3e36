#include "vipmg/reflected.hpp"
#include "tree/reflect.hpp"
#include <cmath>

namespace tessera::vipmg {

Reflected::~Reflected()
{
  for (Vec *v : {&v_, &y_, &f_, &base_, &step_}) (void)VecDestroy(v);
}

PetscErrorCode Reflected::Turn(Vec from, Vec to) const
{
  const PetscScalar *v;
  PetscScalar       *x;
  PetscInt           n;

  PetscFunctionBegin;
  PetscCall(VecCopy(from, to));
  PetscCall(VecGetLocalSize(to, &n));
  PetscCall(VecGetArrayRead(v_, &v));
  PetscCall(VecGetArray(to, &x));
  for (PetscInt p = 0; p < n; p += bs_) tree::reflect_node((int)bs_, v + p, x + p, 1);
  PetscCall(VecRestoreArray(to, &x));
  PetscCall(VecRestoreArrayRead(v_, &v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// What is wrong with a node's normal, or nullptr. v: becomes the vector of its reflection.
static const char *ReadNormal(PetscInt bs, const PetscScalar *normal, const PetscScalar *l, const PetscScalar *u,
                              PetscScalar *v)
{
  double length = 0, other = 0;
  bool   bounded = false, others = false;
  for (PetscInt k = 0; k < bs; ++k) {
    const bool has = l[k] > PETSC_NINFINITY || u[k] < PETSC_INFINITY;
    bounded        = bounded || has;
    others         = others || (k && has);
    length += normal[k] * normal[k];
    v[k] = 0;
  }
  length = std::sqrt(length);
  if (!std::isfinite(length)) return "is not a number";
  if (!(length > 0)) return bounded ? "has length zero" : nullptr;
  if (others) return "stands beside bounds on another unknown than the node's first, in whose place is the component "
                     "along the normal";
  for (PetscInt k = 0; k < bs; ++k) {
    v[k] = (k ? 0 : 1) - normal[k] / length;
    other += v[k] * v[k];
  }
  other = std::sqrt(other);
  for (PetscInt k = 0; k < bs; ++k) v[k] = other > 1e-15 ? v[k] / other : 0;
  return nullptr;
}

PetscErrorCode Reflected::Take(Vec normals, PetscObject solver, const char *who, Vec XL, Vec XU)
{
  const MPI_Comm     comm = PetscObjectComm(solver);
  const PetscScalar *normal, *l, *u;
  PetscScalar       *v;
  PetscInt           n, first;
  const char        *wrong = nullptr;
  PetscMPIInt        rank;
  struct {
    int      none, rank;
  } mine, found;
  char               text[256] = "";

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(VecGetLocalSize(v_, &n));
  PetscCall(VecGetOwnershipRange(v_, &first, nullptr));
  PetscCall(VecGetArrayRead(normals, &normal));
  PetscCall(VecGetArrayRead(XL, &l));
  PetscCall(VecGetArrayRead(XU, &u));
  PetscCall(VecGetArray(v_, &v));
  for (PetscInt p = 0; p < n && !wrong; p += bs_) {
    wrong = ReadNormal(bs_, normal + p, l + p, u + p, v + p);
    if (wrong)
      PetscCall(
        PetscSNPrintf(text, sizeof(text), "the normal of node %" PetscInt_FMT " %s", (first + p) / bs_, wrong));
  }
  PetscCall(VecRestoreArray(v_, &v));
  PetscCall(VecRestoreArrayRead(XU, &u));
  PetscCall(VecRestoreArrayRead(XL, &l));
  PetscCall(VecRestoreArrayRead(normals, &normal));
  mine = {wrong ? 0 : 1, rank};
  PetscCallMPI(MPI_Allreduce(&mine, &found, 1, MPI_2INT, MPI_MINLOC, comm));
  PetscCallMPI(MPI_Bcast(text, (int)sizeof(text), MPI_CHAR, found.rank, comm));
  PetscCheck(found.none, comm, PETSC_ERR_ARG_WRONG, "%s: %s", who, text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Reflected::Create(PetscObject solver, const char *who, Vec normals, PetscInt bs, Vec X, Vec F, Vec base,
                                 Vec XL, Vec XU)
{
  const MPI_Comm comm = PetscObjectComm(solver);
  PetscInt       mine[2], any[2];

  PetscFunctionBegin;
  bs_ = bs;
  X_ = X, F_ = F, solver_base_ = base;
  PetscCall(VecGetLocalSize(normals, &mine[0]));
  PetscCall(VecGetLocalSize(X, &mine[1]));
  mine[0] = mine[0] != mine[1];
  PetscCallMPI(MPI_Allreduce(mine, any, 1, MPIU_INT, MPI_MAX, comm));
  PetscCheck(!any[0] && bs >= 2, comm, PETSC_ERR_ARG_SIZ,
             "%s: the normals need %s", who,
             bs < 2 ? "several unknowns per node, their block size"
                    : "the same sizes as the solution: a vector for each node, zero where there is none");
  for (Vec *v : {&v_, &y_, &f_, &base_, &step_}) PetscCall(VecDuplicate(X, v));
  PetscCall(Take(normals, solver, who, XL, XU));
  PetscCall(Turn(X, y_));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Reflected::Follow()
{
  PetscFunctionBegin;
  PetscCall(Turn(y_, X_));
  PetscCall(Turn(f_, F_));
  PetscCall(Turn(base_, solver_base_));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Reflected::Function(Vec y, Vec f)
{
  PetscFunctionBegin;
  PetscCall(Turn(y, X_));
  PetscCall(inner_.Function(X_, F_));
  PetscCall(Turn(F_, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Reflected::Jacobian(Vec y, Mat *J, bool *failed)
{
  PetscFunctionBegin;
  PetscCall(Turn(y, X_));
  PetscCall(inner_.Jacobian(X_, J, failed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Reflected::Test(PetscInt iteration, const Norms &n, bool *stop)
{
  PetscFunctionBegin;
  PetscCall(Follow());
  PetscCall(inner_.Test(iteration, n, stop));
  updated = updated || inner_.updated;
  inner_.updated = false;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Reflected::Check(StepCheck when, Vec y0, Vec y, Vec *step)
{
  Vec changed;

  PetscFunctionBegin;
  *step = nullptr;
  PetscCall(Turn(y0, solver_base_));
  PetscCall(Turn(y, X_));
  PetscCall(inner_.Check(when, solver_base_, X_, &changed));
  if (changed) {
    PetscCall(Turn(X_, y));
    PetscCall(VecWAXPY(step_, -1, y, y0));
    *step = step_;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera::vipmg
