// The other public functions of Tao vipgs: acceleration, finisher, friction.
#include "densegs/solvers.hpp"

/*@
   TaoVIPGSSetAcceleration - Sets how the sweeps are accelerated

   Logically Collective

   Input Parameters:
+  tao - the solver
-  a - see `SNESVIPGSAcceleration`; default auto

   Options Database Key:
.  -tao_vipgs_acceleration <auto,none,nesterov,nncg,mprgp> - see above

   Level: intermediate

.seealso: `TAOVIPGS`, `TaoVIPGSGetAcceleration()`
@*/
PetscErrorCode TaoVIPGSSetAcceleration(Tao tao, SNESVIPGSAcceleration a)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(tao, a, 2);
  PetscTryMethod(tao, "TaoVIPGSSetAcceleration_C", (Tao, SNESVIPGSAcceleration), (tao, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   TaoVIPGSGetAcceleration - Gets what `TaoVIPGSSetAcceleration()` set

   Not Collective

   Input Parameter:
.  tao - the solver

   Output Parameter:
.  a - the value

   Level: intermediate

.seealso: `TAOVIPGS`, `TaoVIPGSSetAcceleration()`
@*/
PetscErrorCode TaoVIPGSGetAcceleration(Tao tao, SNESVIPGSAcceleration *a)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscAssertPointer(a, 2);
  PetscUseMethod(tao, "TaoVIPGSGetAcceleration_C", (Tao, SNESVIPGSAcceleration *), (tao, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   TaoVIPGSSetNewton - Sets whether active sets and a dense factorization finish what the sweeps began

   Logically Collective

   Input Parameters:
+  tao - the solver
-  flag - whether an active-set Newton method finishes; default true

   Options Database Key:
.  -tao_vipgs_newton <bool> - see above

   Level: intermediate

.seealso: `TAOVIPGS`, `TaoVIPGSGetNewton()`
@*/
PetscErrorCode TaoVIPGSSetNewton(Tao tao, PetscBool flag)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscValidLogicalCollectiveBool(tao, flag, 2);
  PetscTryMethod(tao, "TaoVIPGSSetNewton_C", (Tao, PetscBool), (tao, flag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   TaoVIPGSGetNewton - Gets what `TaoVIPGSSetNewton()` set

   Not Collective

   Input Parameter:
.  tao - the solver

   Output Parameter:
.  flag - the value

   Level: intermediate

.seealso: `TAOVIPGS`, `TaoVIPGSSetNewton()`
@*/
PetscErrorCode TaoVIPGSGetNewton(Tao tao, PetscBool *flag)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscAssertPointer(flag, 2);
  PetscUseMethod(tao, "TaoVIPGSGetNewton_C", (Tao, PetscBool *), (tao, flag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   TaoVIPGSSetSweeps - Sets the number of sweeps before the Newton method

   Logically Collective

   Input Parameters:
+  tao - the solver
-  n - sweeps before the Newton method; default 200 (100 symmetric ones)

   Options Database Key:
.  -tao_vipgs_sweeps <n> - see above

   Level: intermediate

.seealso: `TAOVIPGS`, `TaoVIPGSGetSweeps()`
@*/
PetscErrorCode TaoVIPGSSetSweeps(Tao tao, PetscInt n)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscValidLogicalCollectiveInt(tao, n, 2);
  PetscTryMethod(tao, "TaoVIPGSSetSweeps_C", (Tao, PetscInt), (tao, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   TaoVIPGSGetSweeps - Gets what `TaoVIPGSSetSweeps()` set

   Not Collective

   Input Parameter:
.  tao - the solver

   Output Parameter:
.  n - the value

   Level: intermediate

.seealso: `TAOVIPGS`, `TaoVIPGSSetSweeps()`
@*/
PetscErrorCode TaoVIPGSGetSweeps(Tao tao, PetscInt *n)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscAssertPointer(n, 2);
  PetscUseMethod(tao, "TaoVIPGSGetSweeps_C", (Tao, PetscInt *), (tao, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   TaoVIPGSSetCheck - Sets after how many sweeps the residual is computed

   Logically Collective

   Input Parameters:
+  tao - the solver
-  n - sweeps between two residuals; default 10

   Options Database Key:
.  -tao_vipgs_check <n> - see above

   Level: intermediate

.seealso: `TAOVIPGS`, `TaoVIPGSGetCheck()`
@*/
PetscErrorCode TaoVIPGSSetCheck(Tao tao, PetscInt n)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscValidLogicalCollectiveInt(tao, n, 2);
  PetscTryMethod(tao, "TaoVIPGSSetCheck_C", (Tao, PetscInt), (tao, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   TaoVIPGSGetCheck - Gets what `TaoVIPGSSetCheck()` set

   Not Collective

   Input Parameter:
.  tao - the solver

   Output Parameter:
.  n - the value

   Level: intermediate

.seealso: `TAOVIPGS`, `TaoVIPGSSetCheck()`
@*/
PetscErrorCode TaoVIPGSGetCheck(Tao tao, PetscInt *n)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscAssertPointer(n, 2);
  PetscUseMethod(tao, "TaoVIPGSGetCheck_C", (Tao, PetscInt *), (tao, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   TaoVIPGSSetMaxFactorizations - Sets the largest number of factorizations

   Logically Collective

   Input Parameters:
+  tao - the solver
-  n - factorizations of the Newton method at most; default 200

   Options Database Key:
.  -tao_vipgs_max_factorizations <n> - see above

   Level: intermediate

.seealso: `TAOVIPGS`, `TaoVIPGSGetMaxFactorizations()`
@*/
PetscErrorCode TaoVIPGSSetMaxFactorizations(Tao tao, PetscInt n)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscValidLogicalCollectiveInt(tao, n, 2);
  PetscTryMethod(tao, "TaoVIPGSSetMaxFactorizations_C", (Tao, PetscInt), (tao, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   TaoVIPGSGetMaxFactorizations - Gets what `TaoVIPGSSetMaxFactorizations()` set

   Not Collective

   Input Parameter:
.  tao - the solver

   Output Parameter:
.  n - the value

   Level: intermediate

.seealso: `TAOVIPGS`, `TaoVIPGSSetMaxFactorizations()`
@*/
PetscErrorCode TaoVIPGSGetMaxFactorizations(Tao tao, PetscInt *n)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscAssertPointer(n, 2);
  PetscUseMethod(tao, "TaoVIPGSGetMaxFactorizations_C", (Tao, PetscInt *), (tao, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   TaoVIPGSSetBlock - Sets the number of unknowns of a contact

   Logically Collective

   Input Parameters:
+  tao - the solver
-  n - unknowns of a contact with friction, 2 or 3, the first normal; 1 (default): no friction

   Options Database Key:
.  -tao_vipgs_block <d> - see above

   Level: intermediate

.seealso: `TAOVIPGS`, `TaoVIPGSGetBlock()`
@*/
PetscErrorCode TaoVIPGSSetBlock(Tao tao, PetscInt n)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscValidLogicalCollectiveInt(tao, n, 2);
  PetscTryMethod(tao, "TaoVIPGSSetBlock_C", (Tao, PetscInt), (tao, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   TaoVIPGSGetBlock - Gets what `TaoVIPGSSetBlock()` set

   Not Collective

   Input Parameter:
.  tao - the solver

   Output Parameter:
.  n - the value

   Level: intermediate

.seealso: `TAOVIPGS`, `TaoVIPGSSetBlock()`
@*/
PetscErrorCode TaoVIPGSGetBlock(Tao tao, PetscInt *n)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscAssertPointer(n, 2);
  PetscUseMethod(tao, "TaoVIPGSGetBlock_C", (Tao, PetscInt *), (tao, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   TaoVIPGSSetFrictionCoefficient - Sets one coefficient of friction for all contacts

   Logically Collective

   Input Parameters:
+  tao - the solver
-  w - Coulomb's coefficient of all contacts, 0 or more; default 0

   Options Database Key:
.  -tao_vipgs_mu <mu> - see above

   Level: intermediate

.seealso: `TAOVIPGS`, `TaoVIPGSGetFrictionCoefficient()`
@*/
PetscErrorCode TaoVIPGSSetFrictionCoefficient(Tao tao, PetscReal w)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscValidLogicalCollectiveReal(tao, w, 2);
  PetscTryMethod(tao, "TaoVIPGSSetFrictionCoefficient_C", (Tao, PetscReal), (tao, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   TaoVIPGSGetFrictionCoefficient - Gets what `TaoVIPGSSetFrictionCoefficient()` set

   Not Collective

   Input Parameter:
.  tao - the solver

   Output Parameter:
.  w - the value

   Level: intermediate

.seealso: `TAOVIPGS`, `TaoVIPGSSetFrictionCoefficient()`
@*/
PetscErrorCode TaoVIPGSGetFrictionCoefficient(Tao tao, PetscReal *w)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscAssertPointer(w, 2);
  PetscUseMethod(tao, "TaoVIPGSGetFrictionCoefficient_C", (Tao, PetscReal *), (tao, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   TaoVIPGSSetFrictionLaw - Sets the shape of the friction law

   Logically Collective

   Input Parameters:
+  tao - the solver
-  f - see `SNESVIPGSFriction`; default cone

   Options Database Key:
.  -tao_vipgs_friction <cone,pyramid> - see above

   Level: intermediate

.seealso: `TAOVIPGS`, `TaoVIPGSGetFrictionLaw()`
@*/
PetscErrorCode TaoVIPGSSetFrictionLaw(Tao tao, SNESVIPGSFriction f)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(tao, f, 2);
  PetscTryMethod(tao, "TaoVIPGSSetFrictionLaw_C", (Tao, SNESVIPGSFriction), (tao, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   TaoVIPGSGetFrictionLaw - Gets what `TaoVIPGSSetFrictionLaw()` set

   Not Collective

   Input Parameter:
.  tao - the solver

   Output Parameter:
.  f - the value

   Level: intermediate

.seealso: `TAOVIPGS`, `TaoVIPGSSetFrictionLaw()`
@*/
PetscErrorCode TaoVIPGSGetFrictionLaw(Tao tao, SNESVIPGSFriction *f)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscAssertPointer(f, 2);
  PetscUseMethod(tao, "TaoVIPGSGetFrictionLaw_C", (Tao, SNESVIPGSFriction *), (tao, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   TaoVIPGSSetFriction - Sets the coefficients of friction of the contacts

   Logically Collective

   Input Parameters:
+  tao - the solver
-  mu - a vector with a coefficient, 0 or more, for every contact; `NULL`: the same one for all, see
     `TaoVIPGSSetFrictionCoefficient()`

   Level: intermediate

   Note:
   The unknowns come in blocks of `TaoVIPGSSetBlock()`, the normal one first. They are forces x and their gradient F(x)
   is relative velocities: Coulomb's law |x_t| <= mu x_n with x_n >= 0 takes the place of bounds.

.seealso: `TAOVIPGS`, `TaoVIPGSGetFriction()`, `TaoVIPGSSetBlock()`, `TaoVIPGSSetFrictionLaw()`
@*/
PetscErrorCode TaoVIPGSSetFriction(Tao tao, Vec mu)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  if (mu) PetscValidHeaderSpecific(mu, VEC_CLASSID, 2);
  PetscTryMethod(tao, "TaoVIPGSSetFriction_C", (Tao, Vec), (tao, mu));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   TaoVIPGSGetFriction - Gets the coefficients of friction of the contacts

   Not Collective

   Input Parameter:
.  tao - the solver

   Output Parameter:
.  mu - the vector that `TaoVIPGSSetFriction()` set, which the caller does not destroy; `NULL`: there is none

   Level: intermediate

.seealso: `TAOVIPGS`, `TaoVIPGSSetFriction()`, `TaoVIPGSGetFrictionCoefficient()`
@*/
PetscErrorCode TaoVIPGSGetFriction(Tao tao, Vec *mu)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscAssertPointer(mu, 2);
  PetscUseMethod(tao, "TaoVIPGSGetFriction_C", (Tao, Vec *), (tao, mu));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   TaoVIPGSGetCertificate - Gets what holds of the last answer

   Not Collective

   Input Parameter:
.  tao - the solver

   Output Parameter:
.  c - residuals computed from the answer itself, work done, and how it ended

   Level: intermediate

.seealso: `TAOVIPGS`, `SNESVIPGSCertificate`
@*/
PetscErrorCode TaoVIPGSGetCertificate(Tao tao, SNESVIPGSCertificate *c)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscAssertPointer(c, 2);
  PetscUseMethod(tao, "TaoVIPGSGetCertificate_C", (Tao, SNESVIPGSCertificate *), (tao, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}
