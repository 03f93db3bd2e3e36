// From PETSc's DMDA and matrices to a plan of multigrid.
#pragma once
#include "petsc/aij.hpp"
#include "petsc/device.hpp"
#include "vipmg/vipmg.hpp"
#include <petscdmda.h>

namespace tessera::vipmg {

// What reading a matrix found. Equal on all processes.
struct MatrixReport {
  enum Kind { fine, outside, not_finite, diagonal } kind = fine;
  PetscInt  row = -1, column = -1; // PETSc's numbering
  PetscInt  node[3] = {0, 0, 0};
  PetscReal value = 0;
  PetscInt  dirichlet = 0, shifted = 0; // rows, as in ReadSums
};

// A DMDA, and how a vector on it is distributed. Equal on all processes.
struct GridDescription {
  int                   dimension = 0, n[3] = {1, 1, 1};
  bool                  periodic[3] = {false, false, false};
  std::vector<int>      split[3]; // nodes before each process along a direction, and all of them
  std::vector<PetscInt> first;    // row of each process
  bool                  operator==(const GridDescription &o) const;
};

class BoxMatrix {
public:
  ~BoxMatrix() { (void)Reset(); }
  PetscErrorCode Reset();
  // The grid of the first of these that has a DMDA: the solver's DM, the vector, the matrix. Refuses what is no grid
  // of one unknown a node. `who`: the solver's name in messages.
  static PetscErrorCode Describe(PetscObject solver, const char *who, DM dm, Vec X, Mat J, GridDescription &grid);
  PetscErrorCode        SetGrid(PetscObject solver, const GridDescription &grid);
  bool                  is(const GridDescription &grid) const { return !boxes_.empty() && grid_ == grid; }
  // Makes the finest level at the first time, or when oblique couplings appear, and writes the operator to it, on a
  // device from PETSc's own arrays where they lie there. A row that must be complained of is found by the host.
  PetscErrorCode Read(Mat A, Plan &plan, MatrixReport &report);
  const int     *size() const { return grid_.n; }
  void           Node(PetscInt row, PetscInt node[3]) const; // of PETSc's number

private:
  void                  FindWrong(const LocalRows &rows, const std::vector<int> &remote, bool negative,
                                  MatrixReport &report) const;
  Comm                  comm_;
  int                   rank_ = 0;
  GridDescription       grid_;
  std::vector<Box3>     boxes_;
  Mat                   converted_ = nullptr;
};

} // namespace tessera::vipmg
