#include "vipmg/array.hpp"
#include "petsc/device.hpp"

namespace tessera::vipmg {

PetscErrorCode Array::Read(Vec v, Space space)
{
  const PetscScalar *values;
  PetscMemType       where;
  PetscInt           n;

  PetscFunctionBegin;
  v_     = v;
  write_ = false;
  host_  = nullptr;
  typed_ = space == Space::cuda;
  if (!typed_) {
    PetscCall(VecGetArrayRead(v, &values));
    data_ = (double *)values;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(VecGetArrayReadAndMemType(v, &values, &where));
  data_ = (double *)values;
  if (PetscMemTypeHost(where)) {
    host_ = data_;
    if (copy_.size() != (size_t)n) TesseraCallCXX(copy_.resize({(size_t)n, Space::cuda}));
    TesseraCallCXX(device::copy_from_host(copy_.data(), host_, (size_t)n * sizeof(double)));
    TesseraCallCXX(device::synchronize()); // the caller may change it
    PetscCall(PetscLogCpuToGpu((PetscLogDouble)n * sizeof(double)));
    data_ = copy_.data();
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Array::Write(Vec v, Space space)
{
  PetscMemType where;
  PetscInt     n;

  PetscFunctionBegin;
  v_     = v;
  write_ = true;
  host_  = nullptr;
  typed_ = space == Space::cuda;
  if (!typed_) {
    PetscCall(VecGetArrayWrite(v, &data_));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(VecGetArrayWriteAndMemType(v, &data_, &where));
  if (PetscMemTypeHost(where)) {
    host_ = data_;
    if (copy_.size() != (size_t)n) TesseraCallCXX(copy_.resize({(size_t)n, Space::cuda}));
    data_ = copy_.data();
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Array::Restore()
{
  PetscFunctionBegin;
  if (!v_) PetscFunctionReturn(PETSC_SUCCESS);
  if (write_ && host_ && copy_.size()) {
    TesseraCallCXX(device::copy_to_host(host_, copy_.data(), copy_.bytes()));
    PetscCall(PetscLogGpuToCpu((PetscLogDouble)copy_.bytes()));
  }
  if (host_) data_ = host_;
  const PetscScalar *values = data_;
  if (write_ && typed_) PetscCall(VecRestoreArrayWriteAndMemType(v_, &data_));
  else if (write_) PetscCall(VecRestoreArrayWrite(v_, &data_));
  else if (typed_) PetscCall(VecRestoreArrayReadAndMemType(v_, &values));
  else PetscCall(VecRestoreArrayRead(v_, &values));
  v_    = nullptr;
  data_ = host_ = nullptr;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera::vipmg
