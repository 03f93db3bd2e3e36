// The rows of a matrix as those of nodes, for the levels of src/tree.
#pragma once
#include "petsc/aij.hpp"
#include "petsc/geometry.hpp"
#include "tree/hierarchy.hpp"

namespace tessera {

// The nodes of other processes that this one's rows need.
struct GhostNodes {
  std::vector<int> owner, index; // of each
  Buffer<int>      column;       // unknown of a ghost node of each column of the other block; where the rows are
};
using MatrixRows = tree::Rows;

// The rows of the matrix, blocks of bs, on this process, in the memory of `space`; local keeps them until its
// Restore(). Collective.
PetscErrorCode ReadRows(const Comm &comm, const char *who, Mat A, PetscInt bs, Space space, LocalRows *local,
                        GhostNodes *ghosts, MatrixRows *rows);

// The unknowns of a node: the block size of the matrix, or its rows by the points that a program gave, where it gave
// some. Refuses what is no square matrix, points that do not fit, and more than tree::max_block_size; `hint` ends that
// message. Collective.
PetscErrorCode FindBlockSize(PetscObject solver, const char *who, Mat A, const Coordinates *given, const char *hint,
                             PetscInt *bs);

} // namespace tessera
