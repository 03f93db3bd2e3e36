// What PCs do around an application of their method.
#pragma once
#include "petsc/nullspace.hpp"
#include "petsc/shell.hpp"
#include "petsc/vector.hpp"

namespace tessera {

// y = F(x without the null space), the null space removed; V: Vec or Mat. One process whose device fails does not
// leave the others waiting for its messages: where failed() says that its device or another's has, the PC fails, and
// forget(here) drops what was copied to the device and is not there; here: of this process, and no other
// CollectiveErrors raises the error.
template <auto F, class V, class Failed, class Forget>
PetscErrorCode ApplyWithNullSpace(PC pc, const char *who, NullSpace &null, V x, V y, const Failed &failed,
                                  const Forget &forget)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)pc);
  V              clean;

  PetscFunctionBegin;
  CollectiveErrors together(comm);
  PetscCall(null.Clean(pc, x, &clean));
  PetscCall((NoThrow<F, PC, V, V>(pc, clean, y)));
  PetscCall(null.Remove(y));
  if (!failed()) PetscFunctionReturn(PETSC_SUCCESS);
  const bool here = device::failed();
  PetscCall(FailApplication(comm, y, together.Within(), who, &pc->failedreason));
  forget(here && !together.Within());
  PetscFunctionReturn(PETSC_SUCCESS);
}

// y = f(x) in a space; f(from, to) has the own values there and returns its number of operations. PETSc's log has them,
// and on a device the time.
template <class F> PetscErrorCode ApplyInSpace(Space space, Vec x, Vec y, VectorView &read, VectorView &write,
                                               const F &f)
{
  double flops = 0;

  PetscFunctionBegin;
  PetscCall(UseCurrentStream(space));
  PetscCall(read.Read(x, space));
  PetscCall(write.Write(y, space));
  {
    const GpuTime time(space);
    flops = f(read.data(), write.data());
  }
  PetscCall(write.Restore());
  PetscCall(read.Restore());
  PetscCall(LogFlops(space, flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera
