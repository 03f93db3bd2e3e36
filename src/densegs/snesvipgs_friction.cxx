// SNES vipgs's setters and getters of friction.
#include "densegs/solvers.hpp"

/*@
   SNESVIPGSSetFrictionCoefficient - Sets one coefficient of friction for all contacts

   Logically Collective

   Input Parameters:
+  snes - the nonlinear solver
-  w - Coulomb's coefficient of all contacts, 0 to 1e8; default 0

   Options Database Key:
.  -snes_vipgs_mu <mu> - see above

   Level: intermediate

   Note:
   `SNESVIPGSSetFriction()` gives every contact its own.

.seealso: `SNESVIPGS`, `SNESVIPGSGetFrictionCoefficient()`
@*/
PetscErrorCode SNESVIPGSSetFrictionCoefficient(SNES snes, PetscReal w)
{
  TesseraSetValue(snes, "SNESVIPGSSetFrictionCoefficient_C", Real, w);
}

/*@
   SNESVIPGSGetFrictionCoefficient - Gets what `SNESVIPGSSetFrictionCoefficient()` set

   Not Collective

   Input Parameter:
.  snes - the nonlinear solver

   Output Parameter:
.  w - the value

   Level: intermediate

.seealso: `SNESVIPGS`, `SNESVIPGSSetFrictionCoefficient()`
@*/
PetscErrorCode SNESVIPGSGetFrictionCoefficient(SNES snes, PetscReal *w)
{
  TesseraGetValue(snes, "SNESVIPGSGetFrictionCoefficient_C", w);
}

/*@
   SNESVIPGSSetFrictionLaw - Sets the shape of the friction law

   Logically Collective

   Input Parameters:
+  snes - the nonlinear solver
-  f - see `SNESVIPGSFriction`; default cone

   Options Database Key:
.  -snes_vipgs_friction <cone,pyramid> - see above

   Level: intermediate

.seealso: `SNESVIPGS`, `SNESVIPGSGetFrictionLaw()`
@*/
PetscErrorCode SNESVIPGSSetFrictionLaw(SNES snes, SNESVIPGSFriction f)
{
  TesseraSetValue(snes, "SNESVIPGSSetFrictionLaw_C", Enum, f);
}

/*@
   SNESVIPGSGetFrictionLaw - Gets what `SNESVIPGSSetFrictionLaw()` set

   Not Collective

   Input Parameter:
.  snes - the nonlinear solver

   Output Parameter:
.  f - the value

   Level: intermediate

.seealso: `SNESVIPGS`, `SNESVIPGSSetFrictionLaw()`
@*/
PetscErrorCode SNESVIPGSGetFrictionLaw(SNES snes, SNESVIPGSFriction *f)
{
  TesseraGetValue(snes, "SNESVIPGSGetFrictionLaw_C", f);
}

/*@
   SNESVIPGSSetFriction - Sets the coefficients of friction of the contacts

   Logically Collective

   Input Parameters:
+  snes - the nonlinear solver
-  mu - a vector with a coefficient, 0 to 1e8, for every contact; NULL: the same one for all, see
     `SNESVIPGSSetFrictionCoefficient()`

   Level: intermediate

   Note:
   The unknowns come in blocks of `SNESVIPGSSetBlock()`, the normal one first. They are forces x and F(x) = A x + q are
   relative velocities: Coulomb's law |x_t| <= mu x_n with x_n >= 0 takes the place of bounds.

.seealso: `SNESVIPGS`, `SNESVIPGSGetFriction()`, `SNESVIPGSSetBlock()`, `SNESVIPGSSetFrictionLaw()`
@*/
PetscErrorCode SNESVIPGSSetFriction(SNES snes, Vec mu)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  if (mu) PetscValidHeaderSpecific(mu, VEC_CLASSID, 2);
  PetscTryMethod(snes, "SNESVIPGSSetFriction_C", (SNES, Vec), (snes, mu));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPGSGetFriction - Gets the coefficients of friction of the contacts

   Not Collective

   Input Parameter:
.  snes - the nonlinear solver

   Output Parameter:
.  mu - the vector that `SNESVIPGSSetFriction()` set, which the caller does not destroy; `NULL`: there is none

   Level: intermediate

.seealso: `SNESVIPGS`, `SNESVIPGSSetFriction()`, `SNESVIPGSGetFrictionCoefficient()`
@*/
PetscErrorCode SNESVIPGSGetFriction(SNES snes, Vec *mu)
{
  TesseraGetValue(snes, "SNESVIPGSGetFriction_C", mu);
}
