// Options of PC densegs. Setters and getters are composed functions, which do nothing on another type; a change takes
// effect at the next setup.
#include "densegs/solvers.hpp"

using tessera::Option;
using O = tessera::DenseGSOptions;

static const Option rows[] = {
  Option::Enum<&O::strategy>("-pc_densegs_strategy", "PCDenseGSSetStrategy", "What is done side by side",
                             TesseraGSStrategies),
  Option::Enum<&O::order>("-pc_densegs_order", "PCDenseGSSetOrder", "Order of a sweep", TesseraGSOrders),
  Option::RealBetween<&O::omega>("-pc_densegs_omega", "PCDenseGSSetOmega", "Relaxation factor", 0, 2,
                                 "PC densegs: the relaxation factor (-pc_densegs_omega) lies between 0 and 2, both "
                                 "excluded: it is %s"),
  Option::Int<&O::sweeps>("-pc_densegs_sweeps", "PCDenseGSSetSweeps", "Sweeps of an application", 1, 1000000,
                          "PC densegs: an application (-pc_densegs_sweeps) takes 1 to 1000000 sweeps, it is %s"),
  Option::Enum<&O::precision>("-pc_densegs_precision", "PCDenseGSSetPrecision", "Precision of the matrix",
                              TesseraPrecisions),
  Option::Enum<&O::backend>("-pc_densegs_backend", "PCDenseGSSetBackend", "Where the sweeps run", TesseraBackends),
};
const tessera::OptionTable O::table(rows);

O &O::Of(PC pc)
{
  return ((tessera::PC_DenseGS *)pc->data)->options;
}

PetscErrorCode O::Changed(PC pc)
{
  PetscFunctionBegin;
  ((tessera::PC_DenseGS *)pc->data)->current = PETSC_FALSE;
  pc->setupcalled                            = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::ComposeDenseGS(PC pc, PetscBool compose)
{
  PetscFunctionBegin;
  PetscCall(ComposeOptions((PetscObject)pc, O::table, compose));
  PetscCall(ComposeDenseGSInfo(pc, compose));
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
   All but relaxed give the iterates of the sequential method up to rounding. Relaxed lets every thread go on with what
   is there.

.seealso: `PCDENSEGS`, `PCDenseGSGetStrategy()`
@*/
PetscErrorCode PCDenseGSSetStrategy(PC pc, TesseraGSStrategy s)
{
  TesseraSetValue(pc, "PCDenseGSSetStrategy_C", Enum, s);
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
  TesseraGetValue(pc, "PCDenseGSGetStrategy_C", s);
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
  TesseraSetValue(pc, "PCDenseGSSetOrder_C", Enum, o);
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
  TesseraGetValue(pc, "PCDenseGSGetOrder_C", o);
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
  TesseraSetValue(pc, "PCDenseGSSetOmega_C", Real, w);
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
  TesseraGetValue(pc, "PCDenseGSGetOmega_C", w);
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
  TesseraSetValue(pc, "PCDenseGSSetSweeps_C", Int, n);
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
  TesseraGetValue(pc, "PCDenseGSGetSweeps_C", n);
}

/*@
   PCDenseGSSetPrecision - Sets the precision in which the sweeps keep the matrix

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  p - `TESSERA_PRECISION_AUTO` (default: double), `TESSERA_PRECISION_DOUBLE` or `TESSERA_PRECISION_SINGLE`

   Options Database Key:
.  -pc_densegs_precision <auto,double,single> - see above

   Level: intermediate

   Note:
   Vectors and sums are in double precision either way; the preconditioner is that of the rounded matrix, in half the
   memory traffic.

.seealso: `PCDENSEGS`, `PCDenseGSGetPrecision()`
@*/
PetscErrorCode PCDenseGSSetPrecision(PC pc, TesseraPrecision p)
{
  TesseraSetValue(pc, "PCDenseGSSetPrecision_C", Enum, p);
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
  TesseraGetValue(pc, "PCDenseGSGetPrecision_C", p);
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
  TesseraSetValue(pc, "PCDenseGSSetBackend_C", Enum, b);
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
  TesseraGetValue(pc, "PCDenseGSGetBackend_C", b);
}
