// Private data of SNES and Tao vipmg; the setters and options of both.
#pragma once
#include "petsc/bounds.hpp"
#include "petsc/compat_snes.h"
#include "petsc/options.hpp"
#include "vipmg/newton.hpp"

namespace tessera {

// Of SNES vipmg and of Tao vipmg
struct VIPMGOptions {
  SNESVIPMGVariant variant = SNES_VIPMG_HYBRID;
  SNESVIPMGCycle   cycle   = SNES_VIPMG_CYCLE_AUTO;
  PetscBool        fmg = PETSC_TRUE, monitor = PETSC_FALSE;
  PetscInt         sweeps[2] = {0, 0}, levels = 0;
  PetscReal        omega   = 1;
  TesseraBackend   backend = TESSERA_BACKEND_AUTO;
  SNESVIPMGLevelsType type = SNES_VIPMG_LEVELS_AUTO;
  std::string      file; // of coordinates

  void Give(vipmg::Options &) const; // to the method

  using Object = PetscObject; // a SNES or a Tao
  static VIPMGOptions     &Of(PetscObject solver);
  static PetscErrorCode    Changed(PetscObject solver);
  static const OptionTable table;
};

// What both have
struct VIPMGSolver {
  VIPMGOptions  options;
  vipmg::Newton newton;
};

// Of SNES vipmg alone: bounds along normals
struct VIPMGNormals {
  std::string file;
  Vec         read = nullptr; // from it

  using Object = SNES;
  static VIPMGNormals     &Of(SNES snes);
  static PetscErrorCode    Changed(SNES snes);
  static const OptionTable table;
};

struct SNES_VIPMG : VIPMGSolver {
  vipmg::Norms last; // of the last point
  VIPMGNormals normals;
};

struct TAO_VIPMG : VIPMGSolver {
  Vec projected = nullptr; // gradient
};

PetscErrorCode SNESCreate_VIPMG(SNES);
PetscErrorCode TaoCreate_VIPMG(Tao);
PetscErrorCode CiteVIPMG();

namespace vipmg {
PetscErrorCode SetMonitors(SNES snes);                                              // -snes_vi_monitor and its kin
PetscErrorCode ViewNewton(const Newton &newton, PetscObject solver, PetscViewer viewer);
PetscErrorCode PrintCycle(PetscObject solver, PetscInt cycle, const Norms &n); // where cycles are monitored
PetscErrorCode InfoOf(const Newton &newton, PetscObject solver, TesseraGridsInfo *info);
PetscErrorCode ChoiceOf(const Newton &newton, PetscObject solver, SNESVIPMGChoice *choice);
PetscErrorCode GridSizesOf(Newton &newton, PetscObject solver, PetscInt *grids, const PetscInt *sizes[]);
// The same as functions of SNES and Tao, whose Data holds the Newton method.
template <class Data, class Solver> PetscErrorCode GetInfo(Solver solver, TesseraGridsInfo *info)
{
  PetscFunctionBegin;
  PetscCall(InfoOf(((Data *)solver->data)->newton, (PetscObject)solver, info));
  PetscFunctionReturn(PETSC_SUCCESS);
}
template <class Data, class Solver> PetscErrorCode GetChoice(Solver solver, SNESVIPMGChoice *choice)
{
  PetscFunctionBegin;
  PetscCall(ChoiceOf(((Data *)solver->data)->newton, (PetscObject)solver, choice));
  PetscFunctionReturn(PETSC_SUCCESS);
}
template <class Data, class Solver>
PetscErrorCode GetGridSizes(Solver solver, PetscInt *grids, const PetscInt *sizes[])
{
  PetscFunctionBegin;
  PetscCall(GridSizesOf(((Data *)solver->data)->newton, (PetscObject)solver, grids, sizes));
  PetscFunctionReturn(PETSC_SUCCESS);
}
// Where the method may find the coordinates of a mesh
PetscErrorCode SetSource(PetscObject solver, const char *who, const char *prefix, DM dm, VIPMGSolver *v);
PetscErrorCode ComposeInfo(SNES snes, bool on); // snesvipmg_info.cxx
// An error where no point lies between the bounds. upper: those to solve with.
PetscErrorCode CheckBounds(PetscObject solver, const char *who, Newton &newton, Vec X, Vec xl, Vec xu,
                           UpperBounds &upper);
PetscErrorCode ComposeSetters(SNES snes, bool on);
} // namespace vipmg
} // namespace tessera
