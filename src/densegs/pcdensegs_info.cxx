// What the setup of PC densegs has made, by functions, and its view, which prints what they give.
#include "densegs/solvers.hpp"

using tessera::PC_DenseGS;

static PetscErrorCode GetInfo(PC pc, PCDenseGSInfo *info)
{
  const PC_DenseGS *p = (const PC_DenseGS *)pc->data;

  PetscFunctionBegin;
  PetscCall(tessera::CheckSetUp(pc, "PC densegs", "panels", p->failed, p->failure, p->current));
  const PetscReal mine = (PetscReal)(p->plan.bytes() + p->distributed.bytes() + p->vector.bytes());
  *info           = PCDenseGSInfo();
  info->panel     = p->plan.panels.rows;
  info->threads   = p->plan.exec.threads;
  info->backend   = tessera::BackendOf(p->plan.exec.space);
  info->precision =
    p->options.precision == TESSERA_PRECISION_SINGLE ? TESSERA_PRECISION_SINGLE : TESSERA_PRECISION_DOUBLE;
  PetscCallMPI(MPI_Allreduce(&mine, &info->bytes, 1, MPIU_REAL, MPIU_SUM, PetscObjectComm((PetscObject)pc)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::ComposeDenseGSInfo(PC pc, PetscBool compose)
{
  PetscObject o = (PetscObject)pc;

  PetscFunctionBegin;
  PetscCall(PetscObjectComposeFunction(o, "PCDenseGSGetInfo_C", compose ? &GetInfo : nullptr));
  PetscCall(PetscObjectComposeFunction(o, "PCDenseGSGetFailure_C", compose ? &WhySetUpFailed<PC_DenseGS> : nullptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::ViewDenseGS(PC pc, PetscViewer viewer)
{
  const PC_DenseGS *p = (const PC_DenseGS *)pc->data;
  PetscBool         ascii;
  const char       *failure;
  PCDenseGSInfo     info;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCDenseGSGetFailure(pc, &failure));
  if (failure) PetscCall(PetscViewerASCIIPrintf(viewer, "  failed: %s\n", failure));
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "  strategy %s, order %s, omega %g, %" PetscInt_FMT " sweep%s an application\n",
                                   TesseraGSStrategies[p->options.strategy], TesseraGSOrders[p->options.order],
                                   (double)p->options.omega, p->options.sweeps, p->options.sweeps == 1 ? "" : "s"));
  if (!p->current || failure) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCDenseGSGetInfo(pc, &info));
  PetscCall(PetscViewerASCIIPrintf(
    viewer, "  panels of %" PetscInt_FMT " rows in %s precision%s, %" PetscInt_FMT " thread%s\n", info.panel,
    TesseraPrecisions[info.precision], info.backend == TESSERA_BACKEND_CUDA ? " on the CUDA device" : "", info.threads,
    info.threads == 1 ? "" : "s"));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  memory %.4g MB\n", (double)info.bytes * 1e-6));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCDenseGSGetInfo - Gets what the setup of `PCDENSEGS` has made

   Collective

   Input Parameter:
.  pc - the preconditioner, after `PCSetUp()`

   Output Parameter:
.  info - see `PCDenseGSInfo`

   Level: advanced

.seealso: `PCDENSEGS`, `PCDenseGSGetFailure()`
@*/
PetscErrorCode PCDenseGSGetInfo(PC pc, PCDenseGSInfo *info)
{
  TesseraGetValue(pc, "PCDenseGSGetInfo_C", info);
}

/*@
   PCDenseGSGetFailure - Gets why the last setup of `PCDENSEGS` has failed

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  failure - a text that belongs to the preconditioner and stays until its next setup; `NULL` where nothing has failed

   Level: intermediate

   Note:
   A solver around it ends with `KSP_DIVERGED_PC_FAILED` then.

.seealso: `PCDENSEGS`, `PCGetFailedReason()`
@*/
PetscErrorCode PCDenseGSGetFailure(PC pc, const char *failure[])
{
  TesseraGetValue(pc, "PCDenseGSGetFailure_C", failure);
}
