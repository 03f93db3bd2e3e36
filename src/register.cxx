// The package: registration of types and events, called by PETSc when it loads the library (-dll_append) or by the
// program.
#include "auxamg/pcauxamg.hpp"
#include "exec/device.hpp"
#include "densegs/solvers.hpp"
#include "rrb/pcrrb.hpp"
#include "vipmg/snesvipmg.hpp"
#include <cstdio>
#include <cstring>
#include <petsc/private/kspimpl.h>

PetscLogEvent tessera::event_rrb_read, tessera::event_rrb_factor, tessera::event_rrb_sweep, tessera::event_rrb_multiply;
PetscLogEvent tessera::event_vipmg_setup, tessera::event_vipmg_cycle;
PetscLogEvent tessera::event_densegs_setup, tessera::event_densegs_apply, tessera::event_vipgs_solve;
PetscLogEvent tessera::event_auxamg_grids, tessera::event_auxamg_numeric, tessera::event_auxamg_apply;

static PetscBool initialized = PETSC_FALSE;
static PetscBool cited_tessera = PETSC_FALSE, cited_rrb = PETSC_FALSE, cited_auxamg = PETSC_FALSE,
                 cited_densegs = PETSC_FALSE, cited_vipmg = PETSC_FALSE;

/*@C
   TesseraFinalizePackage - Forgets the package, so that a program may initialize PETSc again; called by
   `PetscFinalize()`

   Level: developer

.seealso: `TesseraInitializePackage()`, `PetscFinalize()`
@*/
PetscErrorCode TesseraFinalizePackage(void)
{
  PetscFunctionBegin;
  initialized = PETSC_FALSE;
  cited_tessera = cited_rrb = cited_auxamg = cited_densegs = cited_vipmg = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// A PETSc of another minor version, or with other integers or scalars, has other structures: nothing would work. Its
// functions stand in for those that the library was linked with, so only those are called here that take no PetscInt
// or PetscScalar.
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

  if (PetscGetVersion(version, sizeof(version)) || PetscDataTypeGetSize(PETSC_INT, &integer) ||
      PetscDataTypeGetSize(PETSC_SCALAR, &scalar))
    return PETSC_ERR_LIB;
  const char *number = strstr(version, "Version ");
  if (number) sscanf(number, "Version %d.%d", &major, &minor);
  else sscanf(version, "Petsc Development GIT revision: v%d.%d", &major, &minor);
  const bool known = major > 0; // a development version that does not say which is taken as it is
  if ((!known || (major == PETSC_VERSION_MAJOR && minor == ours)) && integer == sizeof(PetscInt) &&
      scalar == sizeof(PetscScalar))
    return PETSC_SUCCESS;
  snprintf(built, sizeof(built), "PETSc %d.%d with %d-bit integers", PETSC_VERSION_MAJOR, ours,
           8 * (int)sizeof(PetscInt));
  return PetscError(PETSC_COMM_SELF, __LINE__, PETSC_FUNCTION_NAME, __FILE__, PETSC_ERR_LIB, PETSC_ERROR_INITIAL,
                    "libtessera.so was built for %s, the program runs PETSc %d.%d with %d-bit integers and %d-byte "
                    "scalars. Build Tessera again with PETSC_DIR and PETSC_ARCH of the program's PETSc",
                    built, major, minor, 8 * (int)integer, (int)scalar);
}

/*@C
   TesseraInitializePackage - Registers Tessera's types and log events. Needed only by programs that link the library;
   with
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
  PetscCall(SNESRegister(SNESVIPMG, tessera::SNESCreate_VIPMG));
  PetscCall(TaoRegister(TAOVIPMG, tessera::TaoCreate_VIPMG));
  PetscCall(PCRegister(PCDENSEGS, tessera::PCCreate_DenseGS));
  PetscCall(SNESRegister(SNESVIPGS, tessera::SNESCreate_VIPGS));
  PetscCall(TaoRegister(TAOVIPGS, tessera::TaoCreate_VIPGS));
  PetscCall(PetscLogEventRegister("PCSetUp_DenseGS", PC_CLASSID, &tessera::event_densegs_setup));
  PetscCall(PetscLogEventRegister("PCApply_DenseGS", PC_CLASSID, &tessera::event_densegs_apply));
  PetscCall(PetscLogEventRegister("SNESSolve_VIPGS", SNES_CLASSID, &tessera::event_vipgs_solve));
  PetscCall(PCRegister(PCAUXAMG, tessera::PCCreate_AuxAMG));
  PetscCall(PetscLogEventRegister("RRBReadMatrix", PC_CLASSID, &tessera::event_rrb_read));
  PetscCall(PetscLogEventRegister("RRBFactor", PC_CLASSID, &tessera::event_rrb_factor));
  PetscCall(PetscLogEventRegister("PCApply_RRB", PC_CLASSID, &tessera::event_rrb_sweep));
  PetscCall(PetscLogEventRegister("RRBSchurMult", KSP_CLASSID, &tessera::event_rrb_multiply));
  PetscCall(PetscLogEventRegister("VIPMGSetUp", SNES_CLASSID, &tessera::event_vipmg_setup));
  PetscCall(PetscLogEventRegister("VIPMGCycles", SNES_CLASSID, &tessera::event_vipmg_cycle));
  PetscCall(PetscLogEventRegister("AuxAMGGrids", PC_CLASSID, &tessera::event_auxamg_grids));
  PetscCall(PetscLogEventRegister("AuxAMGOperators", PC_CLASSID, &tessera::event_auxamg_numeric));
  PetscCall(PetscLogEventRegister("PCApply_AuxAMG", PC_CLASSID, &tessera::event_auxamg_apply));
  PetscCall(PetscRegisterFinalize(TesseraFinalizePackage));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_tessera(void)
{
  return TesseraInitializePackage();
}

// Asks for a citation of Tessera and of the paper of a method, each once.
static PetscErrorCode Cite(const char paper[], PetscBool *cited)
{
  PetscFunctionBegin;
  PetscCall(PetscCitationsRegister(
    "@misc{tessera,\n  title  = {Tessera: fine-grain parallel solvers for {PETSc}},\n  author = {{Tessera "
    "developers}},\n  year   = {2026},\n  note   = {Version " PetscStringize(TESSERA_VERSION_MAJOR) "." PetscStringize(
      TESSERA_VERSION_MINOR) "." PetscStringize(TESSERA_VERSION_SUBMINOR) "}\n}\n",
    &cited_tessera));
  PetscCall(PetscCitationsRegister(paper, cited));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::CiteRRB()
{
  PetscFunctionBegin;
  PetscCall(Cite(
    "@article{dejong2018rrb,\n  title   = {Fine-grain parallel {RRB}-solver for 5-/9-point stencil problems suitable "
    "for {GPU}-type processors},\n  author  = {de Jong, Martijn and van der Ploeg, Auke and Ditzel, Auke and Vuik, "
    "Kees},\n  journal = {Electronic Transactions on Numerical Analysis},\n  volume  = {48},\n  pages   = "
    "{375--393},\n  year    = {2018}\n}\n",
    &cited_rrb));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::CiteVIPMG()
{
  PetscFunctionBegin;
  PetscCall(Cite(
    "@article{graeser2009multigrid,\n  title   = {Multigrid methods for obstacle problems},\n  author  = "
    "{Gr{\\\"a}ser, Carsten and Kornhuber, Ralf},\n  journal = {Journal of Computational Mathematics},\n  volume  = "
    "{27},\n  pages   = {1--44},\n  year    = {2009}\n}\n",
    &cited_vipmg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::CiteDenseGS()
{
  PetscFunctionBegin;
  PetscCall(Cite(
    "@inproceedings{courtecuisse2009dense,\n  title     = {Parallel dense {G}auss-{S}eidel algorithm on many-core "
    "processors},\n  author    = {Courtecuisse, Hadrien and Allard, J{\\'e}r{\\'e}mie},\n  booktitle = {11th IEEE "
    "International Conference on High Performance Computing and Communications},\n  year      = {2009}\n}\n",
    &cited_densegs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::CiteAuxAMG()
{
  PetscFunctionBegin;
  PetscCall(Cite("@article{wang2013auxamg,\n  title   = {A Parallel Auxiliary Grid Algebraic Multigrid "
                 "Method for Graphic Processing Units},\n  author  = {Wang, Lu and Hu, Xiaozhe and Cohen, "
                 "Jonathan and Xu, Jinchao},\n  journal = {SIAM Journal on Scientific Computing},\n  volume  "
                 "= {35},\n  number  = {3},\n  pages   = {C263--C283},\n  year    = {2013}\n}\n",
                 &cited_auxamg));
  PetscFunctionReturn(PETSC_SUCCESS);
}
