// PCGetInterpolations() and PCGetCoarseOperators() of PC auxamg.
#include "auxamg/pcauxamg.hpp"
#include "tree/galerkin/entries.hpp"
#include "petsc/entries.hpp"

using tessera::PC_AuxAMG;
using tessera::Entries;

template <bool operators> PetscErrorCode tessera::GetMatricesAuxAMG(PC pc, PetscInt *number, Mat *matrices[])
{
  PC_AuxAMG *a = (PC_AuxAMG *)pc->data;
  size_t     grids = 0;

  PetscFunctionBegin;
  PetscCheck(a->current && a->ready && !a->failed, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_WRONGSTATE,
             "PC auxamg has no grids yet, or its setup has failed: call PCSetUp() first");
  PetscCall(tessera::UseCurrentStream(a->exec.space));
  tessera::WithHierarchy(a, [&](auto &h) { grids = h.levels().size(); });
  PetscCall(PetscMalloc1(grids, matrices)); // one more than there are, as PCMG does
  for (size_t k = 0; k + 1 < grids; ++k) {
    Entries e;
    TesseraCallCXX(tessera::WithHierarchy(a, [&](auto &h) {
      e = operators ? grid_operator(h, a->comm, (int)a->bs, grids - 1 - k)
                    : interpolation(h, a->comm, (int)a->bs, grids - 2 - k);
    }));
    PetscCall(tessera::MatrixOf(pc, a->bs, e, &(*matrices)[k]));
  }
  *number = (PetscInt)grids;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template PetscErrorCode tessera::GetMatricesAuxAMG<false>(PC, PetscInt *, Mat *[]);
template PetscErrorCode tessera::GetMatricesAuxAMG<true>(PC, PetscInt *, Mat *[]);
