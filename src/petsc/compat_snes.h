// What SNES and Tao types need beside compat.h.
#pragma once
#include "petsc/compat.h"
#include <petsc/private/snesimpl.h>
#include <petsc/private/taoimpl.h>

static inline PetscErrorCode CompatSNESConverged(SNES snes, PetscInt it, PetscReal xnorm, PetscReal ynorm,
                                                 PetscReal fnorm)
{
  PetscFunctionBegin;
#if COMPAT_SNES_CONVERGED
  PetscCall(SNESConverged(snes, it, xnorm, ynorm, fnorm));
#else
  PetscCall((*snes->ops->converged)(snes, it, xnorm, ynorm, fnorm, &snes->reason, snes->cnvP));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if COMPAT_FUNCTION_DOMAIN
  #define CompatDomainError functiondomainerror
  #define CompatDivergedNaN SNES_DIVERGED_FUNCTION_NANORINF
#else
  #define CompatDomainError domainerror
  #define CompatDivergedNaN SNES_DIVERGED_FNORM_NAN
#endif
#if COMPAT_PARAMETERS
  #define CompatDefault(object, parameter, value) PetscObjectParameterSetDefault(object, parameter, value)
#else
  #define CompatDefault(object, parameter, value) \
    do { \
      if (!(object)->parameter##_changed) (object)->parameter = value; \
    } while (0)
#endif
// Older versions do not tell what the user has set: there what equals PETSc's own default is taken for unset, although
// the user may have called SNESSetTolerances() with it.
#if COMPAT_SNES_TOLERANCES
  #define CompatSNESDefault(snes, parameter, petsc, value) PetscObjectParameterSetDefault(snes, parameter, value)
#else
  #define CompatSNESDefault(snes, parameter, petsc, value) \
    do { \
      if (!(snes)->tolerancesset || (snes)->parameter == (petsc)) (snes)->parameter = value; \
    } while (0)
#endif
// A divergence tolerance that nothing exceeds; newer versions take other negative numbers for a tolerance.
#ifdef PETSC_UNLIMITED
  #define CompatUnlimited PETSC_UNLIMITED
#else
  #define CompatUnlimited (-1)
#endif
static inline PetscErrorCode CompatSNESInitialize(SNES snes)
{
  PetscFunctionBegin;
#if COMPAT_PARAMETERS
  PetscCall(SNESParametersInitialize(snes));
#else
  (void)snes;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

// A Tao's DM: there is one from 3.19 on.
template <class T> auto CompatDMOf(T tao, int) -> decltype(tao->dm) { return tao->dm; }
template <class T> DM   CompatDMOf(T, long) { return nullptr; }
static inline PetscErrorCode CompatTaoDM(Tao tao, DM *dm)
{
  PetscFunctionBegin;
  *dm = CompatDMOf(tao, 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode CompatTaoInitialize(Tao tao)
{
  PetscFunctionBegin;
#if COMPAT_PARAMETERS
  PetscCall(TaoParametersInitialize(tao));
#endif
#if COMPAT_FUNCTION_DOMAIN
  tao->uses_gradient         = PETSC_TRUE;
  tao->uses_hessian_matrices = PETSC_TRUE;
#endif
  (void)tao;
  PetscFunctionReturn(PETSC_SUCCESS);
}
