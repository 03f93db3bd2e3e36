// PC auxamg.
#pragma once
#include "tree/hierarchy.hpp"
#include "petsc/aij.hpp"
#include "petsc/columns.hpp"
#include "petsc/geometry.hpp"
#include "petsc/nullspace.hpp"
#include "petsc/options.hpp"
#include "petsc/vector.hpp"
#include "tessera.h"
#include <memory>
#include <petsc/private/pcimpl.h>
#include <string>
#include <vector>

namespace tessera {

struct AuxAMGOptions {
  PetscInt              levels = 0, cell_size = 0, degree = 0, coarse_size = 128, cycle_inner = 2, single_size = 50000;
  PCAuxAMGVariant       variant       = PC_AUXAMG_TREE;
  PCAuxAMGInterpolation interpolation = PC_AUXAMG_INTERPOLATION_AUTO;
  PCAuxAMGCycle         cycle         = PC_AUXAMG_CYCLE_AUTO;
  PCAuxAMGSmoother      smoother      = PC_AUXAMG_SMOOTHER_AUTO;
  PCAuxAMGFilter        filter        = PC_AUXAMG_FILTER_AUTO;
  TesseraPrecision      precision     = TESSERA_PRECISION_AUTO;
  PetscBool             stretch       = PETSC_TRUE;
  TesseraBackend        backend       = TESSERA_BACKEND_AUTO;
  std::string           file; // of coordinates

  using Object = PC;
  static AuxAMGOptions    &Of(PC pc);
  static PetscErrorCode    Changed(PC pc); // the next setup makes all anew
  static const OptionTable table;
};

struct PC_AuxAMG {
  AuxAMGOptions options;
  Coordinates   given;                 // by PCSetCoordinates()
  PetscBool     current = PETSC_FALSE; // the hierarchy belongs to these options and coordinates
  // setup
  Comm                                       comm;
  PetscInt                                   bs   = 1;
  std::string                                from;
  LocalRows                                  rows;
  VectorView                                 read, write;
  Columns                                    columns;
  NullSpace                                  null;
  tree::Params                             params;
  Exec                                       exec;
  std::unique_ptr<tree::Hierarchy<double>> in_double; // one of the two
  std::unique_ptr<tree::Hierarchy<float>>  in_single;
  PetscBool                                  ready = PETSC_FALSE, failed = PETSC_FALSE;
  // The solver around this one takes it for a linear map, which single precision is to 1e-7 only; asked: that has
  // been found out.
  PetscBool                                  linear = PETSC_FALSE, asked = PETSC_FALSE;
  char                                       failure[256] = "";
  std::vector<PetscInt>                      sizes; // of the grids, as PCAuxAMGGetGridSizes() gives them
};

// f(the hierarchy), whatever its precision
template <class F> void WithHierarchy(PC_AuxAMG *a, const F &f)
{
  if (a->in_double) f(*a->in_double);
  else if (a->in_single) f(*a->in_single);
}

// Nodes and entries of all grids over those of the mesh.
struct Complexity {
  double grid = 0, entries = 0;
};
template <class H> Complexity ComplexityOf(const H &h)
{
  Complexity c;
  for (const auto &l : h.levels()) c.grid += l.nodes, c.entries += l.nonzeros;
  c.grid /= PetscMax(h.levels()[0].nodes, 1);
  c.entries /= PetscMax(h.levels()[0].nonzeros, 1);
  return c;
}

// What there is to say about coordinates that the method can do little with; empty where all is well. It is the same
// on all processes.
template <class H> std::vector<std::string> Doubts(const PC_AuxAMG *, const H &);

extern PetscLogEvent event_auxamg_grids, event_auxamg_numeric, event_auxamg_apply;
PetscErrorCode       PCCreate_AuxAMG(PC);
PetscErrorCode       SetUpAuxAMG(PC); // pcauxamg_setup.cxx
PetscErrorCode       CiteAuxAMG();
PetscErrorCode       ViewAuxAMG(PC, PetscViewer);
PetscErrorCode       ComposeAuxAMG(PC, PetscBool);
PetscErrorCode       ComposeAuxAMGInfo(PC, PetscBool); // pcauxamg_info.cxx

// The interpolations between the grids, or the operators of the coarse ones, from the last grid on, as PCMG counts.
template <bool operators> PetscErrorCode GetMatricesAuxAMG(PC, PetscInt *, Mat *[]);

} // namespace tessera
