// More of SNES vipgs's setters and getters: acceleration, finisher, and what is known of an answer.
#include "densegs/solvers.hpp"

/*@
   SNESVIPGSSetAcceleration - Sets how the sweeps are accelerated

   Logically Collective

   Input Parameters:
+  snes - the nonlinear solver
-  a - see `SNESVIPGSAcceleration`; default auto

   Options Database Key:
.  -snes_vipgs_acceleration <auto,none,nesterov,nncg,mprgp> - see above

   Level: intermediate

.seealso: `SNESVIPGS`, `SNESVIPGSGetAcceleration()`
@*/
PetscErrorCode SNESVIPGSSetAcceleration(SNES snes, SNESVIPGSAcceleration a)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(snes, a, 2);
  PetscTryMethod(snes, "SNESVIPGSSetAcceleration_C", (SNES, SNESVIPGSAcceleration), (snes, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPGSGetAcceleration - Gets what `SNESVIPGSSetAcceleration()` set

   Not Collective

   Input Parameter:
.  snes - the nonlinear solver

   Output Parameter:
.  a - the value

   Level: intermediate

.seealso: `SNESVIPGS`, `SNESVIPGSSetAcceleration()`
@*/
PetscErrorCode SNESVIPGSGetAcceleration(SNES snes, SNESVIPGSAcceleration *a)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscAssertPointer(a, 2);
  PetscUseMethod(snes, "SNESVIPGSGetAcceleration_C", (SNES, SNESVIPGSAcceleration *), (snes, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPGSSetNewton - Sets whether active sets and a dense factorization finish what the sweeps began

   Logically Collective

   Input Parameters:
+  snes - the nonlinear solver
-  flag - whether an active-set Newton method finishes; default true

   Options Database Key:
.  -snes_vipgs_newton <bool> - see above

   Level: intermediate

   Note:
   Where the matrix is singular on the free unknowns the factorizations are those of a proximal loop, and where active
   sets lead nowhere those of an interior-point method, which zeros on the diagonal do not hinder. With friction
   (the cone) they are those of an interior-point method, made where 300 sweeps have not halved the residual.

.seealso: `SNESVIPGS`, `SNESVIPGSGetNewton()`
@*/
PetscErrorCode SNESVIPGSSetNewton(SNES snes, PetscBool flag)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscValidLogicalCollectiveBool(snes, flag, 2);
  PetscTryMethod(snes, "SNESVIPGSSetNewton_C", (SNES, PetscBool), (snes, flag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPGSGetNewton - Gets what `SNESVIPGSSetNewton()` set

   Not Collective

   Input Parameter:
.  snes - the nonlinear solver

   Output Parameter:
.  flag - the value

   Level: intermediate

.seealso: `SNESVIPGS`, `SNESVIPGSSetNewton()`
@*/
PetscErrorCode SNESVIPGSGetNewton(SNES snes, PetscBool *flag)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscAssertPointer(flag, 2);
  PetscUseMethod(snes, "SNESVIPGSGetNewton_C", (SNES, PetscBool *), (snes, flag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPGSSetSweeps - Sets the number of sweeps before the Newton method

   Logically Collective

   Input Parameters:
+  snes - the nonlinear solver
-  n - sweeps before the Newton method; default 200 (100 symmetric ones)

   Options Database Key:
.  -snes_vipgs_sweeps <n> - see above

   Level: intermediate

.seealso: `SNESVIPGS`, `SNESVIPGSGetSweeps()`
@*/
PetscErrorCode SNESVIPGSSetSweeps(SNES snes, PetscInt n)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscValidLogicalCollectiveInt(snes, n, 2);
  PetscTryMethod(snes, "SNESVIPGSSetSweeps_C", (SNES, PetscInt), (snes, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPGSGetSweeps - Gets what `SNESVIPGSSetSweeps()` set

   Not Collective

   Input Parameter:
.  snes - the nonlinear solver

   Output Parameter:
.  n - the value

   Level: intermediate

.seealso: `SNESVIPGS`, `SNESVIPGSSetSweeps()`
@*/
PetscErrorCode SNESVIPGSGetSweeps(SNES snes, PetscInt *n)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscAssertPointer(n, 2);
  PetscUseMethod(snes, "SNESVIPGSGetSweeps_C", (SNES, PetscInt *), (snes, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPGSSetCheck - Sets after how many sweeps the residual is computed

   Logically Collective

   Input Parameters:
+  snes - the nonlinear solver
-  n - sweeps between two residuals; default 10

   Options Database Key:
.  -snes_vipgs_check <n> - see above

   Level: intermediate

   Note:
   These sweeps are one iteration of the `SNES`; so is a factorization of the Newton method.

.seealso: `SNESVIPGS`, `SNESVIPGSGetCheck()`
@*/
PetscErrorCode SNESVIPGSSetCheck(SNES snes, PetscInt n)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscValidLogicalCollectiveInt(snes, n, 2);
  PetscTryMethod(snes, "SNESVIPGSSetCheck_C", (SNES, PetscInt), (snes, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPGSGetCheck - Gets what `SNESVIPGSSetCheck()` set

   Not Collective

   Input Parameter:
.  snes - the nonlinear solver

   Output Parameter:
.  n - the value

   Level: intermediate

.seealso: `SNESVIPGS`, `SNESVIPGSSetCheck()`
@*/
PetscErrorCode SNESVIPGSGetCheck(SNES snes, PetscInt *n)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscAssertPointer(n, 2);
  PetscUseMethod(snes, "SNESVIPGSGetCheck_C", (SNES, PetscInt *), (snes, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPGSSetMaxFactorizations - Sets the largest number of factorizations

   Logically Collective

   Input Parameters:
+  snes - the nonlinear solver
-  n - factorizations of the Newton method at most; default 200

   Options Database Key:
.  -snes_vipgs_max_factorizations <n> - see above

   Level: intermediate

.seealso: `SNESVIPGS`, `SNESVIPGSGetMaxFactorizations()`
@*/
PetscErrorCode SNESVIPGSSetMaxFactorizations(SNES snes, PetscInt n)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscValidLogicalCollectiveInt(snes, n, 2);
  PetscTryMethod(snes, "SNESVIPGSSetMaxFactorizations_C", (SNES, PetscInt), (snes, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPGSGetMaxFactorizations - Gets what `SNESVIPGSSetMaxFactorizations()` set

   Not Collective

   Input Parameter:
.  snes - the nonlinear solver

   Output Parameter:
.  n - the value

   Level: intermediate

.seealso: `SNESVIPGS`, `SNESVIPGSSetMaxFactorizations()`
@*/
PetscErrorCode SNESVIPGSGetMaxFactorizations(SNES snes, PetscInt *n)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscAssertPointer(n, 2);
  PetscUseMethod(snes, "SNESVIPGSGetMaxFactorizations_C", (SNES, PetscInt *), (snes, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPGSSetBlock - Sets the number of unknowns of a contact

   Logically Collective

   Input Parameters:
+  snes - the nonlinear solver
-  n - unknowns of a contact with friction, 2 or 3, the first normal; 1 (default): no friction

   Options Database Key:
.  -snes_vipgs_block <d> - see above

   Level: intermediate

.seealso: `SNESVIPGS`, `SNESVIPGSGetBlock()`
@*/
PetscErrorCode SNESVIPGSSetBlock(SNES snes, PetscInt n)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscValidLogicalCollectiveInt(snes, n, 2);
  PetscTryMethod(snes, "SNESVIPGSSetBlock_C", (SNES, PetscInt), (snes, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPGSGetBlock - Gets what `SNESVIPGSSetBlock()` set

   Not Collective

   Input Parameter:
.  snes - the nonlinear solver

   Output Parameter:
.  n - the value

   Level: intermediate

.seealso: `SNESVIPGS`, `SNESVIPGSSetBlock()`
@*/
PetscErrorCode SNESVIPGSGetBlock(SNES snes, PetscInt *n)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscAssertPointer(n, 2);
  PetscUseMethod(snes, "SNESVIPGSGetBlock_C", (SNES, PetscInt *), (snes, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPGSGetCertificate - Gets what holds of the last answer

   Not Collective

   Input Parameter:
.  snes - the nonlinear solver

   Output Parameter:
.  c - residuals computed from the answer itself, work done, and how it ended

   Level: intermediate

.seealso: `SNESVIPGS`, `SNESVIPGSCertificate`
@*/
PetscErrorCode SNESVIPGSGetCertificate(SNES snes, SNESVIPGSCertificate *c)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscAssertPointer(c, 2);
  PetscUseMethod(snes, "SNESVIPGSGetCertificate_C", (SNES, SNESVIPGSCertificate *), (snes, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPGSGetFailure - Gets why the last solve of `SNESVIPGS` could not work with the Jacobian

   Not Collective

   Input Parameter:
.  snes - the nonlinear solver

   Output Parameter:
.  failure - a text that belongs to the solver and stays until its next solve; `NULL` where it could

   Level: intermediate

   Note:
   How a solve that could has ended `SNESVIPGSGetCertificate()` says.

.seealso: `SNESVIPGS`, `SNESGetConvergedReason()`, `SNESVIPGSGetCertificate()`
@*/
PetscErrorCode SNESVIPGSGetFailure(SNES snes, const char *failure[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscAssertPointer(failure, 2);
  PetscUseMethod(snes, "SNESVIPGSGetFailure_C", (SNES, const char *[]), (snes, failure));
  PetscFunctionReturn(PETSC_SUCCESS);
}
