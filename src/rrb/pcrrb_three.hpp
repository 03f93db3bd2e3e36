// PC rrb on grids of three dimensions.
#pragma once
#include "petsc/boxmatrix.hpp"
#include "petsc/vector.hpp"
#include "rrb/three/three.hpp"

namespace tessera {

struct RRBThree {
  Exec                                exec;
  BoxMatrix                           matrix;
  MatrixReport                        report;
  std::unique_ptr<rrb::three::Solver> solver;
  Buffer<double>                      planes; // of the matrix, while it is read
  Buffer<uint8_t>                     free;
  bool                                box = false, single = false;
  bool                                one_sided = false; // other rows are coupled with Dirichlet rows
  VectorView                          x, y;
};

// *three: PC rrb is to work in three dimensions, by its DMDA or the matrix's.
PetscErrorCode LooksThree(PC, bool *three);
PetscErrorCode SetUpThree(PC);
PetscErrorCode ApplyThree(PC, Vec, Vec);
PetscErrorCode ViewThree(PC, PetscViewer);

} // namespace tessera
