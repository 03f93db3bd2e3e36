// Krylov methods and preconditioners that are linear to a few digits.
#pragma once
#include "tessera.h"
#include <cstring>

namespace tessera {

// Krylov methods whose residual follows what has been added to the solution, application by application. Others (GMRES, BiCGStab,
// pipelined CG) get one from the other by the linearity of the preconditioner: rounding in single precision would leave a true residual
// of 1e-7 times the condition number, unseen.
inline bool StandsRounding(const char *type)
{
  for (const char *stands : {KSPCG, KSPFCG, KSPPIPEFCG, KSPFGMRES, KSPPIPEFGMRES, KSPGCR, KSPPIPEGCR, KSPRICHARDSON, KSPCHEBYSHEV, KSPSTCG, KSPNASH, KSPRRB})
    if (type && !std::strcmp(type, stands)) return true;
  return false;
}

} // namespace tessera
