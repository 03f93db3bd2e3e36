// The package: registration of types and events, called by PETSc when it loads the library (-dll_append) or by the program.
#include "rrb/pcrrb.hpp"
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

// A PETSc of another minor version or with other integers has other structures: nothing would work.
static PetscErrorCode CheckPETSc()
{
  PetscInt  major, minor, subminor, release;
#ifndef TESSERA_TEST_PETSC_MINOR
  const int built = PETSC_VERSION_MINOR;
#else
  const int built = TESSERA_TEST_PETSC_MINOR; // pretends, for the test of the message
#endif

  PetscFunctionBegin;
  PetscCall(PetscGetVersionNumber(&major, &minor, &subminor, &release));
  if (major == PETSC_VERSION_MAJOR && minor == built) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*PetscErrorPrintf)("This libtessera.so was built for PETSc %d.%d, the program runs PETSc %d.%d. Build Tessera again with PETSC_DIR and PETSC_ARCH of the program's PETSc\n", PETSC_VERSION_MAJOR, built, (int)major, (int)minor));
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_LIB, "libtessera.so was built for PETSc %d.%d, the program runs PETSc %d.%d. Build Tessera again with PETSC_DIR and PETSC_ARCH of the program's PETSc", PETSC_VERSION_MAJOR, built, (int)major, (int)minor);
}

/*@C
   TesseraInitializePackage - Registers Tessera's types and log events. Needed only by programs that link the library; with
   `-dll_append` PETSc calls it.

   Level: developer

.seealso: `TesseraFinalizePackage()`, `PCRRB`, `KSPRRB`
@*/
PetscErrorCode TesseraInitializePackage(void)
{
  PetscFunctionBegin;
  if (initialized) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CheckPETSc());
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
  PetscFunctionBegin;
  PetscCall(TesseraInitializePackage());
  PetscFunctionReturn(PETSC_SUCCESS);
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

  PetscFunctionBegin;
  PetscCall(PetscObjectGetOptionsPrefix(object, &prefix));
  PetscCheck(backend != TESSERA_BACKEND_CUDA, PetscObjectComm(object), PETSC_ERR_SUP_SYS, "-%s%s cuda: this libtessera.so has no CUDA backend. Use -%s%s host or auto", prefix ? prefix : "", option, prefix ? prefix : "", option);
  PetscFunctionReturn(PETSC_SUCCESS);
}
