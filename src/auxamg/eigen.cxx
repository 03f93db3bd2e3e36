#include "auxamg/auxamg.hpp"
#include <petscsys.h>
#include <petscblaslapack.h>

namespace tessera::auxamg {

bool symmetric_eigen(int n, double *a, double *w)
{
  PetscBLASInt        order = n, length = -1, info = 0;
  double              best = 0;
  std::vector<double> work;
  for (int k = 0; k < n * n; ++k)
    if (PetscIsInfOrNanReal(a[k])) return false;
  LAPACKsyev_("V", "U", &order, a, &order, w, &best, &length, &info);
  length = (PetscBLASInt)best;
  work.resize((size_t)length);
  LAPACKsyev_("V", "U", &order, a, &order, w, work.data(), &length, &info);
  return !info;
}

} // namespace tessera::auxamg
