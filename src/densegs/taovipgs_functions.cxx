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
  TesseraSetValue(tao, "TaoVIPGSSetAcceleration_C", Enum, a);
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
  TesseraGetValue(tao, "TaoVIPGSGetAcceleration_C", a);
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
  TesseraSetValue(tao, "TaoVIPGSSetNewton_C", Bool, flag);
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
  TesseraGetValue(tao, "TaoVIPGSGetNewton_C", flag);
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
  TesseraSetValue(tao, "TaoVIPGSSetSweeps_C", Int, n);
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
  TesseraGetValue(tao, "TaoVIPGSGetSweeps_C", n);
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
  TesseraSetValue(tao, "TaoVIPGSSetCheck_C", Int, n);
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
  TesseraGetValue(tao, "TaoVIPGSGetCheck_C", n);
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
  TesseraSetValue(tao, "TaoVIPGSSetMaxFactorizations_C", Int, n);
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
  TesseraGetValue(tao, "TaoVIPGSGetMaxFactorizations_C", n);
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
  TesseraSetValue(tao, "TaoVIPGSSetBlock_C", Int, n);
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
  TesseraGetValue(tao, "TaoVIPGSGetBlock_C", n);
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
  TesseraSetValue(tao, "TaoVIPGSSetFrictionCoefficient_C", Real, w);
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
  TesseraGetValue(tao, "TaoVIPGSGetFrictionCoefficient_C", w);
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
  TesseraSetValue(tao, "TaoVIPGSSetFrictionLaw_C", Enum, f);
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
  TesseraGetValue(tao, "TaoVIPGSGetFrictionLaw_C", f);
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
  TesseraGetValue(tao, "TaoVIPGSGetFriction_C", mu);
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
  TesseraGetValue(tao, "TaoVIPGSGetCertificate_C", c);
}
