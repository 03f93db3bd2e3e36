// The package: registration of types and events, called by PETSc when it loads the library (-dll_append) or by the program.
#include "core/device.hpp"
#include "rrb/pcrrb.hpp"
#include <cstdio>
#include <cstring>
#include <petsc/private/kspimpl.h>

PetscLogEvent tessera::event_rrb_read, tessera::event_rrb_factor, tessera::event_rrb_sweep, tessera::event_rrb_multiply;

static PetscBool initialized = PETSC_FALSE;
static PetscBool cited       = PETSC_FALSE;

/*@C
   TesseraFinalizePackage - Forgets the package, so that a program may initialize PETSc again; called by `PetscFinalize()`

   Level: developer

.seealso: `TesseraInitializePackage()`, `PetscFinalize()`
@*/
PetscErrorCode TesseraFinalizePackage(void)
{
  PetscFunctionBegin;
  initialized = PETSC_FALSE;
  cited       = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// A PETSc of another minor version, or with other integers or scalars, has other structures: nothing would work. Its functions
// stand in for those that the library was linked with, so only those are called here that take no PetscInt or PetscScalar.
static PetscErrorCode CheckPETSc()
{
  char         version[256] = "", built[64];
  size_t       integer = 0, scalar = 0;
  int          major = 0, minor = 0;
#ifndef TESSERA_TEST_PETSC_MINOR
  const int    ours = PETSC_VERSION_MINOR;
#else
  const int    ours = TESSERA_TEST_PETSC_MINOR; // pretends, for the test of the message
#endif

  if (PetscGetVersion(version, sizeof(version)) || PetscDataTypeGetSize(PETSC_INT, &integer) || PetscDataTypeGetSize(PETSC_SCALAR, &scalar)) return PETSC_ERR_LIB;
  const char *number = strstr(version, "Version ");
  if (number) sscanf(number, "Version %d.%d", &major, &minor);
  else sscanf(version, "Petsc Development GIT revision: v%d.%d", &major, &minor);
  const bool known = major > 0; // a development version that does not say which is taken as it is
  if ((!known || (major == PETSC_VERSION_MAJOR && minor == ours)) && integer == sizeof(PetscInt) && scalar == sizeof(PetscScalar)) return PETSC_SUCCESS;
  snprintf(built, sizeof(built), "PETSc %d.%d with %d-bit integers", PETSC_VERSION_MAJOR, ours, 8 * (int)sizeof(PetscInt));
  return PetscError(PETSC_COMM_SELF, __LINE__, PETSC_FUNCTION_NAME, __FILE__, PETSC_ERR_LIB, PETSC_ERROR_INITIAL, "libtessera.so was built for %s, the program runs PETSc %d.%d with %d-bit integers and %d-byte scalars. Build Tessera again with PETSC_DIR and PETSC_ARCH of the program's PETSc", built, major, minor, 8 * (int)integer, (int)scalar);
}

/*@C
   TesseraInitializePackage - Registers Tessera's types and log events. Needed only by programs that link the library; with
   `-dll_append` PETSc calls it.

   Level: developer

.seealso: `TesseraFinalizePackage()`, `PCRRB`, `KSPRRB`
@*/
PetscErrorCode TesseraInitializePackage(void)
{
  if (initialized) return PETSC_SUCCESS;
  const PetscErrorCode check = CheckPETSc();
  if (check) return check;
  PetscFunctionBegin;
  initialized = PETSC_TRUE;
  PetscCall(PCRegister(PCRRB, tessera::PCCreate_RRB));
  PetscCall(KSPRegister(KSPRRB, tessera::KSPCreate_RRB));
  PetscCall(PetscLogEventRegister("PCSetUp_RRB read", PC_CLASSID, &tessera::event_rrb_read));
  PetscCall(PetscLogEventRegister("PCSetUp_RRB fact", PC_CLASSID, &tessera::event_rrb_factor));
  PetscCall(PetscLogEventRegister("PCApply_RRB", PC_CLASSID, &tessera::event_rrb_sweep));
  PetscCall(PetscLogEventRegister("KSP_RRB S1", KSP_CLASSID, &tessera::event_rrb_multiply));
  PetscCall(PetscRegisterFinalize(TesseraFinalizePackage));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_tessera(void)
{
  return TesseraInitializePackage();
}

PetscErrorCode tessera::CiteRRB()
{
  PetscFunctionBegin;
  PetscCall(PetscCitationsRegister("@article{dejong2018rrb,\n  title   = {Fine-grain parallel {RRB}-solver for 5-/9-point stencil problems suitable for {GPU}-type processors},\n  author  = {de Jong, Martijn and van der Ploeg, Auke and Ditzel, Auke and Vuik, Kees},\n  journal = {Electronic Transactions on Numerical Analysis},\n  volume  = {48},\n  pages   = {375--393},\n  year    = {2018}\n}\n", &cited));
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
#if PetscDefined(HAVE_CUDA)
  const bool unchosen = !PetscDeviceInitialized(PETSC_DEVICE_CUDA);
#else
  const bool unchosen = true;
#endif
  if (unchosen) { // PETSc's rule, before it takes one
    PetscMPIInt rank;
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    device::prefer((int)rank);
  }
  PetscCall(FirstText(PetscObjectComm(object), device::unusable(), why, &who));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm(object), &size));
  PetscCheck(who == size, PetscObjectComm(object), PETSC_ERR_SUP_SYS, "-%s%s cuda: %s%s. Use -%s%s host or auto", prefix ? prefix : "", option, why, size > 1 ? " (on a process)" : "", prefix ? prefix : "", option);
  PetscFunctionReturn(PETSC_SUCCESS);
}
