// From PETSc's matrices and coordinates to a linear complementarity problem on the levels of a tree.
#pragma once
#include "petsc/geometry.hpp"
#include "petsc/nodes.hpp"
#include "petsc/boxmatrix.hpp"
#include "vipmg/tree_problem.hpp"

namespace tessera::vipmg {

// Where the coordinates of nodes may come from.
struct MeshSource {
  PetscObject solver = nullptr;
  const char *who    = nullptr; // begins messages
  DM          dm     = nullptr;
  PC          pc     = nullptr; // to which a program may have given them, or nullptr
  std::string file, option;     // that of the user, and the option that names it
  Vec         reflect = nullptr; // of the nodes, for TreeProblem::reflect(), or nullptr
};

class TreeMatrix {
public:
  ~TreeMatrix() { (void)Reset(); }
  PetscErrorCode Reset();
  // An error where there are no coordinates: the program's functions need not be called to see that.
  static PetscErrorCode Check(const MeshSource &source, Mat J);
  // Makes the levels at the first time, or for other nodes or another pattern; else gives them new values. The report
  // is equal on all processes.
  PetscErrorCode Read(const MeshSource &source, Mat J, const Exec &exec, const Params &params, MatrixReport &report);
  TreeProblem   *problem() { return problem_.get(); }
  const TreeProblem *problem() const { return problem_.get(); }
  PetscInt           block() const { return bs_; } // unknowns of a node
  const std::string &from() const { return from_; }

private:
  PetscErrorCode Make(const MeshSource &source, Mat J, const Coordinates &given, const Exec &exec, const Params &params,
                      const MatrixRows &rows, const GhostNodes &ghosts, tree::Failure *failure);
  PetscErrorCode Reflect(const MeshSource &source);
  PetscErrorCode ReportFailure(const MeshSource &source, Mat J, const tree::Failure &failure, MatrixReport &report);
  Comm           comm_;
  LocalRows      rows_;
  std::unique_ptr<TreeProblem> problem_;
  PetscInt                     bs_ = 1;
  std::string                  from_;
  PetscObjectId                matrix_  = 0;
  PetscObjectState             pattern_ = -1;
  uint64_t                     points_  = 0;
};

} // namespace tessera::vipmg
