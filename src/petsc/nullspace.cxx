#include "petsc/nullspace.hpp"
#include "petsc/aij.hpp"
#include <cmath>

namespace tessera {

// The sum of a row beside its diagonal entry, at most: what rounding leaves of it.
constexpr PetscReal rounding = 64 * PETSC_MACHINE_EPSILON;
// For null spaces that are attached, which may be computed.
constexpr PetscReal attached_rounding = 1e-10;
constexpr PetscInt  looked_at         = 32; // rows, before all

PetscErrorCode NullSpace::Reset()
{
  PetscFunctionBegin;
  PetscCall(MatNullSpaceDestroy(&space_));
  PetscCall(VecDestroy(&copy_));
  PetscCall(MatDestroy(&copies_));
  expected_ = false;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// *zero: all entries of v are rounding beside the diagonal entries. Collective.
static PetscErrorCode IsZero(Vec v, Vec diagonal, PetscReal tolerance, bool *zero)
{
  const PetscScalar *values, *d;
  PetscInt           n;
  int                here = 1, all;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(VecGetArrayRead(v, &values));
  PetscCall(VecGetArrayRead(diagonal, &d));
  for (PetscInt i = 0; i < n && here; ++i) here = std::abs(values[i]) <= tolerance * std::abs(d[i]);
  PetscCall(VecRestoreArrayRead(diagonal, &d));
  PetscCall(VecRestoreArrayRead(v, &values));
  PetscCallMPI(MPI_Allreduce(&here, &all, 1, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)v)));
  *zero = all;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Does A annihilate v from the left and from the right?
static PetscErrorCode Annihilates(Mat A, Vec v, Vec diagonal, PetscReal tolerance, bool *both)
{
  Vec       w;
  PetscReal largest;

  PetscFunctionBegin;
  PetscCall(VecNorm(v, NORM_INFINITY, &largest));
  tolerance *= largest;
  PetscCall(VecDuplicate(diagonal, &w));
  PetscCall(MatMult(A, v, w));
  PetscCall(IsZero(w, diagonal, tolerance, both));
  if (*both) {
    PetscCall(MatMultTranspose(A, v, w));
    PetscCall(IsZero(w, diagonal, tolerance, both));
  }
  PetscCall(VecDestroy(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// A few rows say no of most matrices that are regular, on any process; rows without off-diagonal entries say nothing.
static PetscErrorCode MayAnnihilate(Mat A, bool *may)
{
  PetscInt first, end;
  int      here = 1, all;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &first, &end));
  for (PetscInt i = first; i < PetscMin(end, first + looked_at) && here; ++i) {
    const PetscInt    *j;
    const PetscScalar *v;
    PetscInt           n;
    PetscScalar        sum = 0, diagonal = 0;
    bool               others = false;
    PetscCall(MatGetRow(A, i, &n, &j, &v));
    for (PetscInt e = 0; e < n; ++e) {
      sum += v[e];
      if (j[e] == i) diagonal += v[e];
      else others = others || v[e] != 0.;
    }
    PetscCall(MatRestoreRow(A, i, &n, &j, &v));
    here = !others || std::abs(sum) <= rounding * std::abs(diagonal);
  }
  PetscCallMPI(MPI_Allreduce(&here, &all, 1, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)A)));
  *may = all;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The same where the values are on a device: all rows, as none comes to the host alone.
static PetscErrorCode MayAnnihilateOnDevice(Mat A, bool *may)
{
  Vec       v, w;
  PetscReal largest;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &v, &w));
  PetscCall(VecSet(v, 1));
  PetscCall(MatMult(A, v, w));
  PetscCall(MatGetDiagonal(A, v));
  PetscCall(VecPointwiseDivide(w, w, v));
  PetscCall(VecCopy(w, v));
  PetscCall(VecShift(v, -1));
  PetscCall(VecPointwiseMult(w, w, v)); // zero, too, in rows without off-diagonal entries
  PetscCall(VecNorm(w, NORM_INFINITY, &largest));
  PetscCall(VecDestroy(&v));
  PetscCall(VecDestroy(&w));
  *may = largest <= rounding;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode NullSpace::FindConstants(Mat A)
{
  Vec                diagonal, v, sums;
  PetscScalar       *values;
  const PetscScalar *d, *s;
  PetscInt           n, rows, constant[2] = {0, 0};
  PetscReal          norm;
  bool               null;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &v, &diagonal));
  PetscCall(VecDuplicate(diagonal, &sums));
  PetscCall(MatGetDiagonal(A, diagonal));
  PetscCall(VecSet(v, 1));
  PetscCall(MatMult(A, v, sums));
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(VecGetSize(v, &rows));
  PetscCall(VecGetArrayRead(diagonal, &d));
  PetscCall(VecGetArrayRead(sums, &s));
  PetscCall(VecGetArray(v, &values));
  for (PetscInt i = 0; i < n; ++i) {
    values[i] = s[i] == d[i] ? 0 : 1; // a row by itself
    constant[0] += values[i] != 0.;
  }
  PetscCall(VecRestoreArray(v, &values));
  PetscCall(VecRestoreArrayRead(sums, &s));
  PetscCall(VecRestoreArrayRead(diagonal, &d));
  PetscCallMPI(MPI_Allreduce(constant, constant + 1, 1, MPIU_INT, MPI_SUM, PetscObjectComm((PetscObject)A)));
  PetscCall(Annihilates(A, v, diagonal, rounding, &null));
  if (null && constant[1]) {
    PetscCall(VecNormalize(v, &norm));
    const PetscBool all = constant[1] == rows ? PETSC_TRUE : PETSC_FALSE;
    PetscCall(MatNullSpaceCreate(PetscObjectComm((PetscObject)A), all, all ? 0 : 1, all ? nullptr : &v, &space_));
  }
  PetscCall(VecDestroy(&sums));
  PetscCall(VecDestroy(&diagonal));
  PetscCall(VecDestroy(&v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode NullSpace::Find(PC pc)
{
  Mat const    A = pc->pmat;
  MatNullSpace attached;
  PetscBool    assembled;
  bool         null = true;

  PetscFunctionBegin;
  PetscCall(MatNullSpaceDestroy(&space_));
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &assembled, MATSEQAIJ, MATMPIAIJ, ""));
  PetscCall(MatGetNullSpace(A, &attached));
  if (pc->mat != A || !(assembled || attached)) PetscFunctionReturn(PETSC_SUCCESS);
  if (!attached) {
    bool device;
    PetscCall(LocalRows::OnDevice(A, &device));
    int here = device, all;
    PetscCallMPI(MPI_Allreduce(&here, &all, 1, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)A)));
    device = all;
    if (device && regular_ && pc->flag == SAME_NONZERO_PATTERN) PetscFunctionReturn(PETSC_SUCCESS);
    if (device) PetscCall(MayAnnihilateOnDevice(A, &null));
    else PetscCall(MayAnnihilate(A, &null));
    if (null) PetscCall(FindConstants(A));
    regular_ = !space_;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscBool  constant;
  PetscInt   n;
  const Vec *vectors;
  Vec        diagonal, v;
  PetscCall(MatNullSpaceGetVecs(attached, &constant, &n, &vectors));
  PetscCall(MatCreateVecs(A, &v, &diagonal));
  PetscCall(MatGetDiagonal(A, diagonal));
  PetscCall(VecSet(v, 1));
  for (PetscInt k = constant ? -1 : 0; k < n && null; ++k)
    PetscCall(Annihilates(A, k < 0 ? v : vectors[k], diagonal, attached_rounding, &null));
  PetscCall(VecDestroy(&v));
  PetscCall(VecDestroy(&diagonal));
  if (!null) {
    PetscCall(PetscInfo(pc, "The null space that is attached to the matrix is not in its null space: it is ignored\n"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscObjectReference((PetscObject)attached));
  space_ = attached;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode NullSpace::Update(PC pc)
{
  PetscObject const A = (PetscObject)pc->mat;
  PetscObjectId     matrix, space = 0;
  PetscObjectState  state;
  MatNullSpace      attached;

  PetscFunctionBegin;
  if (!expected_) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectGetId(A, &matrix));
  PetscCall(PetscObjectStateGet(A, &state)); // attaching a null space does not change it
  PetscCall(MatGetNullSpace(pc->pmat, &attached));
  if (attached) PetscCall(PetscObjectGetId((PetscObject)attached, &space));
  if (matrix == matrix_ && state == state_ && space == attached_) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Find(pc));
  matrix_   = matrix;
  state_    = state;
  attached_ = space;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode NullSpace::Get(PC pc, MatNullSpace *space)
{
  PetscFunctionBegin;
  PetscCall(Update(pc));
  *space = space_;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode NullSpace::Clean(PC pc, Vec r, Vec *clean)
{
  PetscFunctionBegin;
  *clean = r;
  PetscCall(Update(pc));
  if (!space_) PetscFunctionReturn(PETSC_SUCCESS);
  if (!copy_) PetscCall(VecDuplicate(r, &copy_));
  PetscCall(VecCopy(r, copy_));
  PetscCall(MatNullSpaceRemove(space_, copy_));
  *clean = copy_;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode NullSpace::RemoveAttached(PC pc, Vec z)
{
  MatNullSpace attached;

  PetscFunctionBegin;
  PetscCall(Update(pc));
  PetscCall(MatGetNullSpace(pc->pmat, &attached));
  if (attached && attached == space_) PetscCall(MatNullSpaceRemove(space_, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RemoveFromColumns(MatNullSpace space, Mat Z)
{
  PetscInt columns;
  Vec      z;

  PetscFunctionBegin;
  PetscCall(MatGetSize(Z, nullptr, &columns));
  for (PetscInt k = 0; k < columns; ++k) {
    PetscCall(MatDenseGetColumnVec(Z, k, &z));
    PetscCall(MatNullSpaceRemove(space, z));
    PetscCall(MatDenseRestoreColumnVec(Z, k, &z));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode NullSpace::Clean(PC pc, Mat R, Mat *clean)
{
  PetscFunctionBegin;
  *clean = R;
  PetscCall(Update(pc));
  if (!space_) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDestroy(&copies_));
  PetscCall(MatDuplicate(R, MAT_COPY_VALUES, &copies_));
  PetscCall(RemoveFromColumns(space_, copies_));
  *clean = copies_;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// On a device that has failed a vector has no values, and its process would not come to the others' sums.
static PetscErrorCode HasFailed(PetscObject on, bool *failed)
{
  PetscFunctionBegin;
  *failed = false;
  if constexpr (device::built) {
    int here = device::failed(), any;
    PetscCallMPI(MPI_Allreduce(&here, &any, 1, MPI_INT, MPI_MAX, PetscObjectComm(on)));
    *failed = any;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode NullSpace::Remove(Vec z) const
{
  bool failed = true;

  PetscFunctionBegin;
  if (space_) PetscCall(HasFailed((PetscObject)z, &failed));
  if (!failed) PetscCall(MatNullSpaceRemove(space_, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode NullSpace::Remove(Mat Z) const
{
  bool failed = true;

  PetscFunctionBegin;
  if (space_) PetscCall(HasFailed((PetscObject)Z, &failed));
  if (!failed) PetscCall(RemoveFromColumns(space_, Z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera
