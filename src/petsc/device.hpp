// What PETSc and the device tell each other: errors, the stream, the log.
#pragma once
#include "core/device.hpp"
#include "petsc/compat.h"
#include <new>

namespace tessera {

// Inside a catch block: the exception as an error of PETSc's.
inline PetscErrorCode Caught()
{
  PetscFunctionBegin;
  try {
    throw;
  } catch (const DeviceMemoryError &e) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MEM, "%s", e.what());
  } catch (const DeviceError &e) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_GPU, "%s", e.what());
  } catch (const std::bad_alloc &) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MEM, "out of memory");
  } catch (const std::exception &e) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_LIB, "%s", e.what());
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// PetscCallCXX() with the error codes above.
#define TesseraCallCXX(...) \
  do { \
    try { \
      __VA_ARGS__; \
    } catch (...) { \
      PetscCall(tessera::Caught()); \
    } \
  } while (0)

// A method of PETSc's that lets no C++ exception out.
template <auto F, class... Arguments> PetscErrorCode NoThrow(Arguments... arguments)
{
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  TesseraCallCXX(ierr = F(arguments...));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// What follows on the device comes after what PETSc has under way, in the stream of its current context.
inline PetscErrorCode UseCurrentStream(Space space)
{
  void *stream = nullptr;

  PetscFunctionBegin;
  if (space != Space::cuda) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CompatCurrentStream(&stream));
  TesseraCallCXX(device::set_stream(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

inline PetscErrorCode LogFlops(Space space, PetscLogDouble flops)
{
  PetscFunctionBegin;
  if (PetscDefined(HAVE_DEVICE) && space == Space::cuda) PetscCall(PetscLogGpuFlops(flops));
  else PetscCall(PetscLogFlops(flops)); // a PETSc without devices does not count theirs
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Device work between the two is GPU time (-log_view_gpu_time).
inline PetscErrorCode LogTimeBegin(Space space)
{
  PetscFunctionBegin;
  if (space == Space::cuda) PetscCall(PetscLogGpuTimeBegin());
  PetscFunctionReturn(PETSC_SUCCESS);
}
inline PetscErrorCode LogTimeEnd(Space space)
{
  PetscFunctionBegin;
  if (space == Space::cuda) PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera
