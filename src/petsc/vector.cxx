#include "petsc/vector.hpp"
#include "petsc/device.hpp"

namespace tessera {

PetscErrorCode VectorView::Copy(PetscMemType where, bool read)
{
  PetscInt n;

  PetscFunctionBegin;
  data_ = array_;
  PetscCall(VecGetLocalSize(v_, &n));
  if (!typed_ || !n || !PetscMemTypeHost(where)) PetscFunctionReturn(PETSC_SUCCESS);
  if (copy_.size() != (size_t)n) TesseraCallCXX(copy_.resize({(size_t)n, Space::cuda}));
  if (read) {
    TesseraCallCXX(device::copy_from_host(copy_.data(), array_, copy_.bytes()));
    PetscCall(PetscLogCpuToGpu((PetscLogDouble)copy_.bytes()));
    if (!write_) TesseraCallCXX(device::synchronize()); // the caller may change it
  }
  data_ = copy_.data();
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode VectorView::Open(Vec v, Space space, bool read)
{
  PetscMemType where = PETSC_MEMTYPE_HOST;

  PetscFunctionBegin;
  typed_ = space == Space::cuda;
  if (typed_ && !write_) PetscCall(VecGetArrayReadAndMemType(v, (const PetscScalar **)&array_, &where));
  else if (typed_ && read) PetscCall(VecGetArrayAndMemType(v, &array_, &where));
  else if (typed_) PetscCall(VecGetArrayWriteAndMemType(v, &array_, &where));
  else if (!write_) PetscCall(VecGetArrayRead(v, (const PetscScalar **)&array_));
  else if (read) PetscCall(VecGetArray(v, &array_));
  else PetscCall(VecGetArrayWrite(v, &array_));
  v_ = v;
  PetscCall(Copy(where, read));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode VectorView::Read(Vec v, Space space)
{
  PetscFunctionBegin;
  write_ = false;
  PetscCall(Open(v, space, true));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode VectorView::Write(Vec v, Space space, bool read)
{
  PetscFunctionBegin;
  write_ = true;
  PetscCall(Open(v, space, read));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode VectorView::CopyBack()
{
  PetscFunctionBegin;
  TesseraCallCXX(device::copy_to_host(array_, data_, copy_.bytes()));
  PetscCall(PetscLogGpuToCpu((PetscLogDouble)copy_.bytes()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode VectorView::Restore()
{
  Vec const      v    = v_;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  if (!v) PetscFunctionReturn(PETSC_SUCCESS);
  v_ = nullptr;
  if (write_ && data_ != array_) ierr = CopyBack();
  if (write_ && typed_) PetscCall(VecRestoreArrayWriteAndMemType(v, &array_));
  else if (write_) PetscCall(VecRestoreArrayWrite(v, &array_));
  else if (typed_) PetscCall(VecRestoreArrayReadAndMemType(v, (const PetscScalar **)&array_));
  else PetscCall(VecRestoreArrayRead(v, (const PetscScalar **)&array_));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera
