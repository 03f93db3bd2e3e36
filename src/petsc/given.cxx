// PCSetCoordinates() for solvers that are no PC.
#include "petsc/geometry.hpp"
#include <algorithm>

namespace tessera {

namespace {

using SetCoordinates = PetscErrorCode (*)(PC, PetscInt, PetscInt, PetscReal *);
using GetCoordinates = PetscErrorCode (*)(PC, const Coordinates **);

// What a PC keeps for them, and the method that its type has.
struct Kept {
  Coordinates    given;
  SetCoordinates other = nullptr;
};

PetscErrorCode Find(PC pc, Kept **kept)
{
  PetscContainer container;

  PetscFunctionBegin;
  *kept = nullptr;
  PetscCall(PetscObjectQuery((PetscObject)pc, "TesseraCoordinates", (PetscObject *)&container));
  if (container) PetscCall(PetscContainerGetPointer(container, (void **)kept));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Set(PC pc, PetscInt dim, PetscInt n, PetscReal *x)
{
  Kept *kept;

  PetscFunctionBegin;
  PetscCall(Find(pc, &kept));
  PetscCheck(dim >= 1 && dim <= 3, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "PCSetCoordinates() gave %" PetscInt_FMT " coordinates per node, and there are to be 1, 2 or 3", dim);
  PetscCall(CheckPointer("Tessera", n, x));
  const size_t all = (size_t)(dim * n);
  kept->given.dim  = dim;
  kept->given.from = "PCSetCoordinates()";
  ++kept->given.number;
  TesseraCallCXX(kept->given.x.resize(all));
  std::copy(x, x + all, kept->given.x.data());
  kept->given.Inspect(x, all);
  if (kept->other) PetscCall(kept->other(pc, dim, n, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Get(PC pc, const Coordinates **given)
{
  Kept *kept;

  PetscFunctionBegin;
  PetscCall(Find(pc, &kept));
  *given = kept && kept->given.dim ? &kept->given : nullptr;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode CheckPointer(const char *who, PetscInt n, const PetscReal *x)
{
  PetscFunctionBegin;
  PetscCheck(n >= 0 && (x || !n), PETSC_COMM_SELF, n < 0 ? PETSC_ERR_ARG_OUTOFRANGE : PETSC_ERR_ARG_NULL,
             "%s: PCSetCoordinates() gave %" PetscInt_FMT " points%s", who, n, x ? "" : " at a null pointer");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ListenForCoordinates(PC pc)
{
  PetscContainer container;
  SetCoordinates other;
  GetCoordinates get;
  Kept          *kept = nullptr;

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)pc, "TesseraGetCoordinates_C", &get));
  if (get) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectQueryFunction((PetscObject)pc, "PCSetCoordinates_C", &other));
  PetscCall(Find(pc, &kept));
  if (!kept) {
    TesseraCallCXX(kept = new Kept());
    PetscCall(CompatContainer(PetscObjectComm((PetscObject)pc), kept, &container));
    PetscCall(PetscObjectCompose((PetscObject)pc, "TesseraCoordinates", (PetscObject)container));
    PetscCall(PetscContainerDestroy(&container));
  }
  kept->other = other;
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCSetCoordinates_C", Set));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "TesseraGetCoordinates_C", Get));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode StopListening(PC pc)
{
  SetCoordinates set;
  GetCoordinates get;
  Kept          *kept;

  PetscFunctionBegin;
  PetscCall(Find(pc, &kept));
  if (!kept) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectQueryFunction((PetscObject)pc, "PCSetCoordinates_C", &set));
  if (set == Set) PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCSetCoordinates_C", kept->other));
  PetscCall(PetscObjectQueryFunction((PetscObject)pc, "TesseraGetCoordinates_C", &get));
  if (get == Get) PetscCall(PetscObjectComposeFunction((PetscObject)pc, "TesseraGetCoordinates_C", nullptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GivenCoordinates(PC pc, const Coordinates **given)
{
  PetscFunctionBegin;
  *given = nullptr;
  GetCoordinates get;
  PetscCall(PetscObjectQueryFunction((PetscObject)pc, "TesseraGetCoordinates_C", &get));
  if (get) PetscCall(get(pc, given));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera
