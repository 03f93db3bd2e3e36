#include "petsc/nullspace.hpp"
#include "petsc/aij.hpp"
#include "petsc/device.hpp"
#include "petsc/null_values.hpp"
#include "petsc/vector.hpp"
#include <cmath>

namespace tessera {

// The sum of a row beside its diagonal entry, at most: what rounding leaves of it.
constexpr PetscReal rounding = 64 * PETSC_MACHINE_EPSILON;
// For null spaces that are attached, which may be computed.
constexpr PetscReal attached_rounding = 1e-10;
constexpr PetscInt  looked_at         = 32; // rows, before all rows are

PetscErrorCode NullSpace::Reset()
{
  PetscFunctionBegin;
  PetscCall(MatNullSpaceDestroy(&space_));
  PetscCall(VecDestroy(&copy_));
  PetscCall(MatDestroy(&copies_));
  expected_ = false;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Where the values of a matrix are, its vectors are looked at. *device: on all processes on a device.
static PetscErrorCode SpaceOf(Mat A, Exec *exec, bool *device)
{
  bool there = false;

  PetscFunctionBegin;
  if constexpr (device::built) PetscCall(LocalRows::OnDevice(A, &there));
  exec->space = there ? Space::cuda : Space::host;
  PetscCall(UseCurrentStream(exec->space));
  int here = there, all;
  PetscCallMPI(MPI_Allreduce(&here, &all, 1, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)A)));
  *device = all;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// *zero: all entries of v are rounding beside the diagonal entries. Collective.
static PetscErrorCode IsZero(const Exec &exec, Vec v, Vec diagonal, PetscReal tolerance, bool *zero)
{
  VectorView values, d;
  PetscInt   n;
  int        here = 1, all;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(values.Read(v, exec.space));
  PetscCall(d.Read(diagonal, exec.space));
  TesseraCallCXX(here = is_rounding(exec, (int)n, values.data(), d.data(), tolerance));
  PetscCall(d.Restore());
  PetscCall(values.Restore());
  PetscCallMPI(MPI_Allreduce(&here, &all, 1, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)v)));
  *zero = all;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Does A annihilate v from the left and from the right?
static PetscErrorCode Annihilates(const Exec &exec, Mat A, Vec v, Vec diagonal, PetscReal tolerance, bool *both)
{
  Vec       w;
  PetscReal largest;

  PetscFunctionBegin;
  PetscCall(VecNorm(v, NORM_INFINITY, &largest));
  tolerance *= largest;
  PetscCall(VecDuplicate(diagonal, &w));
  PetscCall(MatMult(A, v, w));
  PetscCall(IsZero(exec, w, diagonal, tolerance, both));
  if (*both) {
    PetscCall(MatMultTranspose(A, v, w));
    PetscCall(IsZero(exec, w, diagonal, tolerance, both));
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

PetscErrorCode NullSpace::FindConstants(const Exec &exec, Mat A)
{
  Vec         diagonal, v, sums;
  VectorView  values, d, s;
  PetscInt    n, rows;
  PetscReal   norm;
  CoupledRows here;
  bool        null = false;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &v, &diagonal));
  PetscCall(VecDuplicate(diagonal, &sums));
  PetscCall(MatGetDiagonal(A, diagonal));
  PetscCall(VecSet(v, 1));
  PetscCall(MatMult(A, v, sums));
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(VecGetSize(v, &rows));
  PetscCall(s.Read(sums, exec.space));
  PetscCall(d.Read(diagonal, exec.space));
  PetscCall(values.Write(v, exec.space));
  TesseraCallCXX(here = mark_coupled(exec, (int)n, s.data(), d.data(), rounding, values.data()));
  for (VectorView *view : {&values, &d, &s}) PetscCall(view->Restore());
  PetscInt mine[] = {here.coupled, here.regular}, all[2];
  PetscCallMPI(MPI_Allreduce(mine, all, 2, MPIU_INT, MPI_SUM, PetscObjectComm((PetscObject)A)));
  if (all[0] && !all[1]) PetscCall(Annihilates(exec, A, v, diagonal, rounding, &null));
  if (null) {
    PetscCall(VecNormalize(v, &norm));
    const PetscBool whole = all[0] == rows ? PETSC_TRUE : PETSC_FALSE;
    PetscCall(MatNullSpaceCreate(PetscObjectComm((PetscObject)A), whole, whole ? 0 : 1, whole ? nullptr : &v,
                                 &space_));
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
  bool         null = true, device = false;
  Exec         exec;

  PetscFunctionBegin;
  PetscCall(MatNullSpaceDestroy(&space_));
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &assembled, MATSEQAIJ, MATMPIAIJ, ""));
  PetscCall(MatGetNullSpace(A, &attached));
  if (pc->mat != A || !(assembled || attached)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpaceOf(A, &exec, &device));
  if (!attached) {
    if (device && regular_ && pc->flag == SAME_NONZERO_PATTERN) PetscFunctionReturn(PETSC_SUCCESS);
    if (!device) PetscCall(MayAnnihilate(A, &null)); // on a device no row comes to the host alone
    if (null) PetscCall(FindConstants(exec, A));
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
    PetscCall(Annihilates(exec, A, k < 0 ? v : vectors[k], diagonal, attached_rounding, &null));
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
