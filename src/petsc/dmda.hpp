// From PETSc's objects to a grid and an operator on it.
#pragma once
#include "box/csr.hpp"
#include "box/dirichlet.hpp"
#include "petsc/aij.hpp"
#include "petsc/device.hpp"
#include "petsc/moved.hpp"
#include "petsc/vector.hpp"
#include <petscdmda.h>
#include <petscpc.h>
#include <vector>

namespace tessera {

// What reading a matrix found. Equal on all processes.
struct OperatorReport {
  // largest |a_ij - a_ji| between rows that are not Dirichlet, relative to the largest diagonal entry
  PetscReal asymmetry = 0;
  PetscReal largest   = 0; // diagonal entry, Dirichlet rows aside
  PetscInt  dirichlet = 0; // Dirichlet rows
  PetscReal deficit   = 0; // largest negative row sum, relative to the row's diagonal entry
  WrongRow::Kind kind = WrongRow::fine;
  PetscInt  row = -1, column = -1; // where, in PETSc's numbering
  PetscInt  x = 0, y = 0;          // the node of the row
  PetscReal value = 0;
};

// The rows of a matrix on the nodes of a grid: this process's rows are its box, x fastest. Where the matrix is
// distributed otherwise (-pc_rrb_grid with process boundaries inside a grid line) its rows move to boxes of whole
// lines. A matrix on some nodes of the grid (the reduced one of SNES vinewtonrsls, the block of a domain
// decomposition) is expanded by rows of the identity.
class GridMatrix {
public:
  ~GridMatrix() { (void)Reset(); }
  PetscErrorCode Reset();
  // The grid of pc's DMDA, or nx x ny nodes in natural numbering where nx > 0, or what the couplings of the rows
  // tell. Refuses what is not a 2D grid with one unknown per node that fits the matrix, naming what was found and what
  // to do.
  PetscErrorCode SetGrid(PC pc, PetscInt nx, PetscInt ny);
  const Grid    &grid() const { return grid_; }
  bool           moved() const { return moved_; } // vectors go through one work vector
  const char    *from() const { return from_; }   // where the grid comes from, nullptr: the DMDA or -pc_rrb_grid
  // Adds the operator to the (zeroed) stencil; a field in its layout lends its memory. raise: a negative row sum
  // comes off the row's diagonal entry, which makes a matrix with couplings <= 0 an M-matrix. On the device kernels
  // read the matrix, PETSc's own arrays where they lie there; rare cases are read on the host and copied: an
  // asymmetric or a wrong matrix, and couplings with Dirichlet rows on several processes.
  PetscErrorCode Read(Mat A, const Exec &exec, Halo &halo, double *field, bool raise, Stencil &s, DirichletCouplings &d,
                      OperatorReport &report);
  // Where the last matrix was symmetric and without Dirichlet rows, on one process and the device, a reading is
  // speculative: it takes the new matrix to be of the same kind, the host does not wait, the report is the last one.
  // After the host's next wait Confirm() gives the right report, or says that the matrix is to be read once more.
  bool           speculative() const { return speculative_; }
  PetscErrorCode Confirm(OperatorReport &report, bool *right);
  // x in the grid's distribution and in the memory of `space`: x itself where it lies there, else a copy. One vector
  // at a time to read and one to write.
  PetscErrorCode GetRead(Vec x, Space space, const double **values);
  PetscErrorCode RestoreRead();
  PetscErrorCode GetWrite(Vec y, Space space, double **values, bool read = false); // read: with y's values
  PetscErrorCode RestoreWrite(Vec y);
  // of A, of the own nodes, x fastest; -1 of those that are none
  PetscErrorCode RowsOfNodes(Mat A, std::vector<double> &rows);
  void           ForgetCopies(); // after an error: what they are in may be no memory

private:
  PetscErrorCode GridFromDMDA(PC pc, DM dm);
  void           SetDirections(const int *which, int count, const PetscInt *n, const PetscInt *p,
                               const DMBoundaryType *sides, const PetscInt *const *l);
  PetscErrorCode GridFromRows(PC pc, bool *found);
  PetscErrorCode Distribute(Mat A, IS rows, PetscInt own);
  PetscErrorCode Expand();
  PetscErrorCode        Placed(Vec v, bool values, Vec *placed);
  PetscErrorCode NameRows(OperatorReport &report);
  PetscErrorCode GridFromSizes(PC pc, PetscInt nx, PetscInt ny);
  PetscErrorCode LocalMatrix(Mat A);
  void           remote_nodes(PetscInt columns, const PetscInt *colmap, std::vector<int> &x, std::vector<int> &y) const;
  PetscErrorCode ReadRows(const Exec &exec, Halo &halo, double *field, bool raise, Stencil &s, Space lists,
                          DirichletCouplings &d, OperatorReport &report, bool *done);
  PetscErrorCode ReduceLines(const LocalRows &rows, DirichletCouplings &d, OperatorReport &report);
  Grid                  grid_;
  Comm                  comm_;
  std::vector<PetscInt> first_; // first row of each process in PETSc's numbering
  bool                  moved_ = false;
  bool                  placed_ = false; // there are nodes that are no rows of the matrix, or another order:
  std::vector<PetscInt> place_;          // the number of the node of each row, moved_ as well; the first of these rows
  PetscInt              row_ = 0;
  MovedRows             rows_;
  Mat                   converted_ = nullptr;
  bool                  read_before_ = false, nine_ = false; // on the device: diagonal couplings at the last reading
  // the last reading: nothing was wrong, and no row Dirichlet; nobody has waited for it
  bool                  regular_ = false, speculative_ = false;
  CsrWork               reading_;
  const char           *from_ = nullptr;
  Mat                   A_ = nullptr; // AIJ in the grid's distribution, not owned
  VectorView            read_, write_;
};

} // namespace tessera
