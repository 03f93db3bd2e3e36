// Which Krylov methods tolerate a preconditioner in single precision, and which need a symmetric one.
#pragma once
#include "petsc/compat.h"
#include "tessera.h"
#include <cstring>
#include <initializer_list>
#include <petsc/private/pcimpl.h>

namespace tessera {

// These update the residual with the product of the matrix and what they have added to the solution, so rounding in
// the preconditioner cannot separate the two. Others (GMRES, BiCGStab, pipelined CG) rely on a linear preconditioner:
// in single precision their true residual would stay at 1e-7 times the condition number, unnoticed. Richardson's and
// Chebyshev's methods are not in the list as they may be inner solvers of such methods.
inline bool StandsRounding(const char *type)
{
  for (const char *stands :
       {KSPCG, KSPFCG, KSPPIPEFCG, KSPFGMRES, KSPPIPEFGMRES, KSPGCR, KSPPIPEGCR, KSPSTCG, KSPNASH, KSPRRB})
    if (type && !std::strcmp(type, stands)) return true;
  return false;
}

// Is it a method for symmetric matrices and preconditioners?
inline PetscErrorCode NeedsSymmetry(KSP ksp, PetscBool *needs)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp, needs, KSPCG, KSPFCG, KSPPIPECG, KSPPIPEFCG, KSPGROPPCG,
                                      KSPPIPECGRR, KSPPIPELCG, KSPPIPEPRCG, KSPPIPECG2, KSPNASH, KSPSTCG, KSPGLTR,
                                      KSPQCG, KSPMINRES, KSPSYMMLQ, KSPCR, KSPPIPECR, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// What applies pc relies on a linear preconditioner, and pc has chosen single precision: its setup counts as not made.
// option: what would have asked for double precision at once.
inline PetscErrorCode RequestDouble(PC pc, const char *who, const char *option, PetscBool *current)
{
  PetscFunctionBegin;
  PetscCall(PetscInfo(pc,
                      "%s may rely on a preconditioner that is linear to the last digits: it is made again in double "
                      "precision (%s double does so at once)\n",
                      who, option));
  *current        = PETSC_FALSE;
  pc->setupcalled = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
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
