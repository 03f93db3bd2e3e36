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
  TesseraSetValue(snes, "SNESVIPGSSetAcceleration_C", Enum, a);
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
  TesseraGetValue(snes, "SNESVIPGSGetAcceleration_C", a);
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
   (the cone) they are those of an interior-point method, made where 30 checks (`SNESVIPGSSetCheck()` sweeps each)
   have not halved the residual.

.seealso: `SNESVIPGS`, `SNESVIPGSGetNewton()`
@*/
PetscErrorCode SNESVIPGSSetNewton(SNES snes, PetscBool flag)
{
  TesseraSetValue(snes, "SNESVIPGSSetNewton_C", Bool, flag);
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
  TesseraGetValue(snes, "SNESVIPGSGetNewton_C", flag);
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
  TesseraSetValue(snes, "SNESVIPGSSetSweeps_C", Int, n);
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
  TesseraGetValue(snes, "SNESVIPGSGetSweeps_C", n);
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
  TesseraSetValue(snes, "SNESVIPGSSetCheck_C", Int, n);
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
  TesseraGetValue(snes, "SNESVIPGSGetCheck_C", n);
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
  TesseraSetValue(snes, "SNESVIPGSSetMaxFactorizations_C", Int, n);
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
  TesseraGetValue(snes, "SNESVIPGSGetMaxFactorizations_C", n);
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
  TesseraSetValue(snes, "SNESVIPGSSetBlock_C", Int, n);
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
  TesseraGetValue(snes, "SNESVIPGSGetBlock_C", n);
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
  TesseraGetValue(snes, "SNESVIPGSGetCertificate_C", c);
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
  TesseraGetValue(snes, "SNESVIPGSGetFailure_C", failure);
}
