// From PETSc's DMDA and matrices to a grid of one to three dimensions and the coefficients on it.
#pragma once
#include "petsc/aij.hpp"
#include "petsc/device.hpp"
#include "petsc/moved.hpp"
#include "box/read3.hpp"
#include <functional>
#include <petscdmda.h>

namespace tessera {

// What reading a matrix found. Equal on all processes.
struct MatrixReport {
  enum Kind { fine, outside, not_finite, diagonal, indefinite } kind = fine;
  PetscInt  row = -1, column = -1; // PETSc's numbering
  PetscInt  node[3] = {0, 0, 0};
  PetscReal value = 0;
  PetscInt  dirichlet = 0, shifted = 0, single = 0; // rows, as in ReadSums
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
  // The first DMDA that one of them has, if it is of one unknown per node; else nullptr
  static PetscErrorCode Find(DM dm, Vec X, Mat J, DM *da);
  // The grid of the first of these that has a DMDA: the solver's DM, the vector, the matrix. Refuses what is no grid
  // of one unknown per node. `who`: the solver's name in messages.
  static PetscErrorCode Describe(PetscObject solver, const char *who, DM dm, Vec X, Mat J, GridDescription &grid);
  // The grid of n[0] x n[1] x n[2] nodes, whose node (i, j, k) is row i + n[0] (j + n[1] k) of A; the message for other
  // sizes names the option that said so. Processes have whole planes.
  static PetscErrorCode Natural(PetscObject solver, const char *option, Mat A, const PetscInt n[3],
                                GridDescription &grid);
  // Rows of A that are on other processes than the grid's nodes move there.
  PetscErrorCode        SetGrid(PetscObject solver, const GridDescription &grid, Mat A = nullptr);
  bool                  is(const GridDescription &grid) const { return !boxes_.empty() && grid_ == grid; }
  // Writes the operator to memory(make, box), which makes the finest level first where `make` says so: at the first
  // time, and when oblique couplings appear; there: it has been made. On a device the matrix is read from PETSc's own
  // arrays where they lie there. A row that must be complained of is found by the host. positive: all diagonal entries
  // have to be.
  template <class T> using Memory = std::function<box::Finest<T>(bool make, bool box)>;
  template <class T> PetscErrorCode Read(Mat A, const char *who, Space space, bool on_device, const Memory<T> &memory,
                                         bool positive, MatrixReport &report);
  // Where rows move: *from and *to take the places of x, with its values, and of y, which TakeBack() fills.
  PetscErrorCode Bring(Vec x, Vec *from, Vec *to);
  PetscErrorCode TakeBack(Vec y);
  bool           moved() const { return moved_.rows; }
  const Comm                       &comm() const { return comm_; }
  const GridDescription            &grid() const { return grid_; }
  const std::vector<box::Box3>     &boxes() const { return boxes_; } // of the processes
  const int     *size() const { return grid_.n; }
  void           Node(PetscInt row, PetscInt node[3]) const; // of PETSc's number

private:
  void                  FindWrong(const LocalRows &rows, const std::vector<int> &remote, bool negative,
                                  MatrixReport &report) const;
  Comm                  comm_;
  int                   rank_ = 0;
  GridDescription       grid_;
  std::vector<box::Box3> boxes_;
  Mat                   converted_ = nullptr;
  MovedRows             moved_;
  Vec                   result_ = nullptr;
};

// What to say of a matrix that has a multiple of the rows of a grid: it may have several unknowns per node. Else "".
const char *SeveralPerNode(PetscReal nodes, PetscInt rows);

} // namespace tessera
