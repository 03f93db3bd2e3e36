// Setters and getters of PC densegs: composed functions, which do nothing on another type. A change takes effect at
// the next setup.
#include "densegs/solvers.hpp"
#include "petsc/field.hpp"

using tessera::PC_DenseGS, tessera::SetField, tessera::GetField;

PetscErrorCode tessera::ComposeDenseGS(PC pc, PetscBool compose)
{
  PetscObject o = (PetscObject)pc;

  PetscFunctionBegin;
  PetscCall(ComposeDenseGSInfo(pc, compose));
  PetscCall(
    PetscObjectComposeFunction(o, "PCDenseGSSetStrategy_C", (compose ? &SetField<&PC_DenseGS::strategy> : nullptr)));
  PetscCall(
    PetscObjectComposeFunction(o, "PCDenseGSGetStrategy_C", (compose ? &GetField<&PC_DenseGS::strategy> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCDenseGSSetOrder_C", (compose ? &SetField<&PC_DenseGS::order> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCDenseGSGetOrder_C", (compose ? &GetField<&PC_DenseGS::order> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCDenseGSSetOmega_C", (compose ? &SetField<&PC_DenseGS::omega> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCDenseGSGetOmega_C", (compose ? &GetField<&PC_DenseGS::omega> : nullptr)));
  PetscCall(
    PetscObjectComposeFunction(o, "PCDenseGSSetSweeps_C", (compose ? &SetField<&PC_DenseGS::sweeps> : nullptr)));
  PetscCall(
    PetscObjectComposeFunction(o, "PCDenseGSGetSweeps_C", (compose ? &GetField<&PC_DenseGS::sweeps> : nullptr)));
  PetscCall(
    PetscObjectComposeFunction(o, "PCDenseGSSetPrecision_C", (compose ? &SetField<&PC_DenseGS::precision> : nullptr)));
  PetscCall(
    PetscObjectComposeFunction(o, "PCDenseGSGetPrecision_C", (compose ? &GetField<&PC_DenseGS::precision> : nullptr)));
  PetscCall(
    PetscObjectComposeFunction(o, "PCDenseGSSetBackend_C", (compose ? &SetField<&PC_DenseGS::backend> : nullptr)));
  PetscCall(
    PetscObjectComposeFunction(o, "PCDenseGSGetBackend_C", (compose ? &GetField<&PC_DenseGS::backend> : nullptr)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCDenseGSSetStrategy - Sets what the sweeps do side by side

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  s - what is done side by side, see `TesseraGSStrategy`; default graph2

   Options Database Key:
.  -pc_densegs_strategy <sequential,row,column,block,graph,graph2,relaxed> - see above

   Level: intermediate

   Note:
   All but relaxed give the iterates of the sequential method up to rounding. Relaxed lets every thread go on with
   what is there.

.seealso: `PCDENSEGS`, `PCDenseGSGetStrategy()`
@*/
PetscErrorCode PCDenseGSSetStrategy(PC pc, TesseraGSStrategy s)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(s >= TESSERA_GS_SEQUENTIAL && s <= TESSERA_GS_RELAXED, PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_OUTOFRANGE, "PC densegs: unknown strategy %d", (int)s);
  PetscTryMethod(pc, "PCDenseGSSetStrategy_C", (PC, TesseraGSStrategy), (pc, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCDenseGSGetStrategy - Gets what `PCDenseGSSetStrategy()` set

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  s - the value

   Level: intermediate

.seealso: `PCDENSEGS`, `PCDenseGSSetStrategy()`
@*/
PetscErrorCode PCDenseGSGetStrategy(PC pc, TesseraGSStrategy *s)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCDenseGSGetStrategy_C", (PC, TesseraGSStrategy *), (pc, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCDenseGSSetOrder - Sets the order in which a sweep takes the unknowns

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  o - see `TesseraGSOrder`; default symmetric

   Options Database Key:
.  -pc_densegs_order <forward,backward,symmetric,random> - see above

   Level: intermediate

   Note:
   Symmetric makes a symmetric preconditioner of a symmetric matrix, for `KSPCG`, and reads the matrix once for both
   ways.

.seealso: `PCDENSEGS`, `PCDenseGSGetOrder()`
@*/
PetscErrorCode PCDenseGSSetOrder(PC pc, TesseraGSOrder o)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(o >= TESSERA_GS_FORWARD && o <= TESSERA_GS_RANDOM, PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_OUTOFRANGE, "PC densegs: unknown order %d", (int)o);
  PetscTryMethod(pc, "PCDenseGSSetOrder_C", (PC, TesseraGSOrder), (pc, o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCDenseGSGetOrder - Gets what `PCDenseGSSetOrder()` set

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  o - the value

   Level: intermediate

.seealso: `PCDENSEGS`, `PCDenseGSSetOrder()`
@*/
PetscErrorCode PCDenseGSGetOrder(PC pc, TesseraGSOrder *o)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCDenseGSGetOrder_C", (PC, TesseraGSOrder *), (pc, o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCDenseGSSetOmega - Sets the relaxation factor of the sweeps

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  w - relaxation factor, between 0 and 2; default 1

   Options Database Key:
.  -pc_densegs_omega <w> - see above

   Level: intermediate

.seealso: `PCDENSEGS`, `PCDenseGSGetOmega()`
@*/
PetscErrorCode PCDenseGSSetOmega(PC pc, PetscReal w)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(w > 0 && w < 2, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "PC densegs: the relaxation factor (-pc_densegs_omega) lies between 0 and 2, both excluded: it is %g",
             (double)w);
  PetscTryMethod(pc, "PCDenseGSSetOmega_C", (PC, PetscReal), (pc, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCDenseGSGetOmega - Gets what `PCDenseGSSetOmega()` set

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  w - the value

   Level: intermediate

.seealso: `PCDENSEGS`, `PCDenseGSSetOmega()`
@*/
PetscErrorCode PCDenseGSGetOmega(PC pc, PetscReal *w)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCDenseGSGetOmega_C", (PC, PetscReal *), (pc, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCDenseGSSetSweeps - Sets the number of sweeps of one application

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  n - sweeps of one application, 1 to 1000000; a symmetric sweep goes forward and back; default 1

   Options Database Key:
.  -pc_densegs_sweeps <n> - see above

   Level: intermediate

.seealso: `PCDENSEGS`, `PCDenseGSGetSweeps()`
@*/
PetscErrorCode PCDenseGSSetSweeps(PC pc, PetscInt n)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(n >= 1 && n <= 1000000, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "PC densegs: an application (-pc_densegs_sweeps) takes 1 to 1000000 sweeps, it is %" PetscInt_FMT, n);
  PetscTryMethod(pc, "PCDenseGSSetSweeps_C", (PC, PetscInt), (pc, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCDenseGSGetSweeps - Gets what `PCDenseGSSetSweeps()` set

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  n - the value

   Level: intermediate

.seealso: `PCDENSEGS`, `PCDenseGSSetSweeps()`
@*/
PetscErrorCode PCDenseGSGetSweeps(PC pc, PetscInt *n)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCDenseGSGetSweeps_C", (PC, PetscInt *), (pc, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCDenseGSSetPrecision - Sets the precision in which the sweeps keep the matrix

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  p - `TESSERA_PRECISION_DOUBLE` (default) or `TESSERA_PRECISION_SINGLE`

   Options Database Key:
.  -pc_densegs_precision <double,single> - see above

   Level: intermediate

   Note:
   Vectors and sums are in double precision either way; the preconditioner is that of the rounded matrix, in half the
   memory traffic.

.seealso: `PCDENSEGS`, `PCDenseGSGetPrecision()`
@*/
PetscErrorCode PCDenseGSSetPrecision(PC pc, TesseraPrecision p)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(p == TESSERA_PRECISION_DOUBLE || p == TESSERA_PRECISION_SINGLE, PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_OUTOFRANGE, "PC densegs: unknown precision %d", (int)p);
  PetscTryMethod(pc, "PCDenseGSSetPrecision_C", (PC, TesseraPrecision), (pc, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCDenseGSGetPrecision - Gets what `PCDenseGSSetPrecision()` set

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  p - the value

   Level: intermediate

.seealso: `PCDENSEGS`, `PCDenseGSSetPrecision()`
@*/
PetscErrorCode PCDenseGSGetPrecision(PC pc, TesseraPrecision *p)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCDenseGSGetPrecision_C", (PC, TesseraPrecision *), (pc, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCDenseGSSetBackend - Sets where the sweeps run

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  b - `TESSERA_BACKEND_AUTO` (default), `TESSERA_BACKEND_HOST` or `TESSERA_BACKEND_CUDA`

   Options Database Key:
.  -pc_densegs_backend <auto,host,cuda> - see above

   Level: intermediate

   Note:
   The automatic choice is the device where the matrix has its values there (`MATSEQDENSECUDA`), else the host.

.seealso: `PCDENSEGS`, `PCDenseGSGetBackend()`
@*/
PetscErrorCode PCDenseGSSetBackend(PC pc, TesseraBackend b)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(b >= TESSERA_BACKEND_AUTO && b <= TESSERA_BACKEND_CUDA, PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_OUTOFRANGE, "PC densegs: unknown backend %d", (int)b);
  PetscTryMethod(pc, "PCDenseGSSetBackend_C", (PC, TesseraBackend), (pc, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCDenseGSGetBackend - Gets what `PCDenseGSSetBackend()` set

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  b - the value

   Level: intermediate

.seealso: `PCDENSEGS`, `PCDenseGSSetBackend()`
@*/
PetscErrorCode PCDenseGSGetBackend(PC pc, TesseraBackend *b)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCDenseGSGetBackend_C", (PC, TesseraBackend *), (pc, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}
