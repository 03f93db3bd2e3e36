#include "petsc/device.hpp"

PetscErrorCode tessera::ChooseDevice()
{
  PetscMPIInt rank;

  PetscFunctionBegin;
#if PetscDefined(HAVE_CUDA)
  if (device::count()) {
    if (!PetscDeviceInitialized(PETSC_DEVICE_CUDA)) PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  device::prefer((int)rank);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::CheckBackend(PetscObject object, const char *option, TesseraBackend backend)
{
  const char *prefix;
  char        why[256];
  int         who, size;

  PetscFunctionBegin;
  if (backend != TESSERA_BACKEND_CUDA) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectGetOptionsPrefix(object, &prefix));
  PetscCall(ChooseDevice());
  PetscCall(FirstText(PetscObjectComm(object), device::unusable(), why, &who));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm(object), &size));
  PetscCheck(who == size, PetscObjectComm(object), PETSC_ERR_SUP_SYS, "-%s%s cuda: %s%s. Use -%s%s host or auto",
             prefix ? prefix : "", option, why, size > 1 ? " (on a process)" : "", prefix ? prefix : "", option);
  PetscFunctionReturn(PETSC_SUCCESS);
}
