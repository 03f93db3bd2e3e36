#include "petsc/shell.hpp"
#include <cstdlib>
#ifdef _OPENMP
  #include <omp.h>
#endif

namespace tessera {

int HostThreads()
{
#ifdef _OPENMP
  if (getenv("OMP_NUM_THREADS")) return omp_get_max_threads();
#endif
  return 1;
}

PetscErrorCode FailSetUp(PC pc, const char *who, const char *failure, PCFailedReason reason)
{
  PetscFunctionBegin;
  PetscCheck(!pc->erroriffailure, PetscObjectComm((PetscObject)pc), PETSC_ERR_MAT_LU_ZRPVT, "%s: %s", who, failure);
  PetscCall(PetscInfo(pc, "%s\n", failure));
  pc->failedreason = reason;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CheckSetUp(PC pc, const char *who, const char *what, bool failed, const char *failure, bool current)
{
  PetscFunctionBegin;
  PetscCheck(!failed, PetscObjectComm((PetscObject)pc), PETSC_ERR_ORDER, "%s has no %s, as its setup has failed: %s",
             who, what, failure);
  PetscCheck(current, PetscObjectComm((PetscObject)pc), PETSC_ERR_ORDER,
             "%s has no %s yet, or its options have changed since they were made: call PCSetUp() first", who, what);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode RefuseApplication(PC pc, const char *who, bool ready, bool failed, Vec y, bool *refused)
{
  PetscFunctionBegin;
  PetscCheck(ready, PetscObjectComm((PetscObject)pc), PETSC_ERR_ORDER, "%s: the last setup ended with an error", who);
  *refused = failed;
  if (failed) PetscCall(VecSet(y, PETSC_INFINITY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera
