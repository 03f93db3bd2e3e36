// Private data of SNES and Tao vipmg; the setters and options of both.
#pragma once
#include "petsc/compat_snes.h"
#include "vipmg/newton.hpp"

namespace tessera {

struct SNES_VIPMG {
  vipmg::Newton newton;
  PetscBool     monitor = PETSC_FALSE;
  vipmg::Norms  last; // of the last point
};

PetscErrorCode SNESCreate_VIPMG(SNES);
PetscErrorCode TaoCreate_VIPMG(Tao);
PetscErrorCode CiteVIPMG();

namespace vipmg {
PetscErrorCode SetMonitors(SNES snes);                                              // -snes_vi_monitor and its kin
PetscErrorCode ViewNewton(Newton &newton, PetscObject solver, PetscViewer viewer);
PetscErrorCode InfoOf(const Newton &newton, PetscObject solver, TesseraGridsInfo *info);
PetscErrorCode ChoiceOf(const Newton &newton, PetscObject solver, SNESVIPMGChoice *choice);
PetscErrorCode GridSizesOf(Newton &newton, PetscObject solver, PetscInt *grids, const PetscInt *sizes[]);
PetscErrorCode ComposeInfo(SNES snes, bool on); // snesvipmg_info.cxx
// -KIND_vipmg_...
PetscErrorCode OptionsOfNewton(CompatOptionItems PetscOptionsObject, PetscObject object, const char *kind, Options &o,
                               PetscBool *monitor);
PetscErrorCode CheckBounds(PetscObject solver, const char *who, Newton &newton, Vec X, Vec xl, Vec xu);
PetscErrorCode ComposeSetters(SNES snes, bool on);
} // namespace vipmg
} // namespace tessera
