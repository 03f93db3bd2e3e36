// Krylov methods and preconditioners that are linear to a few digits.
#pragma once
#include "petsc/compat.h"
#include "tessera.h"
#include <cstring>
#include <petsc/private/pcimpl.h>

namespace tessera {

// Krylov methods whose residual follows what has been added to the solution, application by application. Others
// (GMRES, BiCGStab, pipelined CG) get one from the other by the linearity of the preconditioner: rounding in single
// precision would leave a true residual of 1e-7 times the condition number, unseen. A few steps of Richardson's or
// Chebyshev's method may be the preconditioner of such a one.
inline bool StandsRounding(const char *type)
{
  for (const char *stands :
       {KSPCG, KSPFCG, KSPPIPEFCG, KSPFGMRES, KSPPIPEFGMRES, KSPGCR, KSPPIPEGCR, KSPSTCG, KSPNASH, KSPRRB})
    if (type && !std::strcmp(type, stands)) return true;
  return false;
}

// linear := true if -ksp_type gives another method, as the solver around pc is not known before its first solve.
// Collective.
inline PetscErrorCode LookAtKSPType(PC pc, PetscBool *linear)
{
  const char *prefix;
  char        type[64];
  PetscBool   set;

  PetscFunctionBegin;
  PetscCall(PCGetOptionsPrefix(pc, &prefix));
  PetscCall(PetscOptionsGetString(((PetscObject)pc)->options, prefix, "-ksp_type", type, sizeof(type), &set));
  int here = set && !StandsRounding(type), any;
  PetscCallMPI(MPI_Allreduce(&here, &any, 1, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)pc)));
  if (any) *linear = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera
