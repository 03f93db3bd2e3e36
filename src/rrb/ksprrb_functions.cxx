// The public functions of KSP rrb.
#include "rrb/cg/cg.hpp"

using namespace tessera;

/*@
   KSPRRBSetBackend - Sets where the solver runs

   Logically Collective

   Input Parameters:
+  ksp - the solver
-  b - `TESSERA_BACKEND_AUTO` (default), `TESSERA_BACKEND_HOST` or `TESSERA_BACKEND_CUDA`

   Options Database Key:
.  -ksp_rrb_backend <auto,host,cuda> - the backend

   Level: intermediate

   Note:
   The solver runs where its preconditioner is, so this is the backend of `PCRRB` unless `PCRRBSetBackend()` has named
   one; two that contradict each other are refused. The automatic choice is described there.

.seealso: `KSPRRB`, `KSPRRBGetBackend()`
@*/
PetscErrorCode KSPRRBSetBackend(KSP ksp, TesseraBackend b)
{
  TesseraSetValue(ksp, "KSPRRBSetBackend_C", Enum, b);
}

/*@
   KSPRRBGetBackend - Gets where the solver runs

   Not Collective

   Input Parameter:
.  ksp - the solver

   Output Parameter:
.  b - the backend

   Level: intermediate

.seealso: `KSPRRB`, `KSPRRBSetBackend()`
@*/
PetscErrorCode KSPRRBGetBackend(KSP ksp, TesseraBackend *b)
{
  TesseraGetValue(ksp, "KSPRRBGetBackend_C", b);
}

/*@
   KSPRRBGetInfo - Gets what `KSPRRB` works on

   Collective

   Input Parameter:
.  ksp - the solver, after `KSPSetUp()`

   Output Parameter:
.  info - see `KSPRRBInfo`

   Level: advanced

.seealso: `KSPRRB`, `PCRRBGetInfo()`, `PCRRBGetChoice()`
@*/
PetscErrorCode KSPRRBGetInfo(KSP ksp, KSPRRBInfo *info)
{
  PetscBool rrb;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(info, 2);
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp, KSPRRB, &rrb));
  PetscCheck(rrb, PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP, "KSPRRBGetInfo() is of KSP rrb alone, not of %s",
             ((PetscObject)ksp)->type_name ? ((PetscObject)ksp)->type_name : "a solver without a type");
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp->pc, PCRRB, &rrb));
  const PC_RRB *r = rrb ? (PC_RRB *)ksp->pc->data : nullptr;
  PetscCheck(ksp->setupstage && r && r->current && !r->failed, PetscObjectComm((PetscObject)ksp), PETSC_ERR_ORDER,
             "KSP rrb is not set up, or its preconditioner's setup has failed: call KSPSetUp() first; "
             "PCRRBGetFailure() tells why one has failed");
  const bool schur = OnSchur(*r);
  *info          = KSPRRBInfo();
  info->schur    = schur || OnBlack(*r) ? PETSC_TRUE : PETSC_FALSE;
  info->flexible = r->plan.cycle == rrb::Cycle::k ? PETSC_TRUE : PETSC_FALSE;
  // S1 and its product 28 B, x and r 24, p 12, r'z 8; on a device p is made with the product, and x in every other
  // step: 36 and 20
  if (schur) info->moved = r->plan.strategy->cg_bytes + r->plan.bytes_moved(true);
  const KSP_RRB *k = (const KSP_RRB *)ksp->data;
  if (k->solver && !r->three) { // on the device alone the vectors stay from solve to solve
    double bytes[2] = {(double)k->solver->bytes(), (double)r->plan.levels[0].grid.owned().size()};
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, bytes, 2, MPI_DOUBLE, MPI_SUM, PetscObjectComm((PetscObject)ksp)));
    info->vectors = bytes[0] / bytes[1];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
