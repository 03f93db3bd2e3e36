// What a hierarchy is asked for, what its trials find, and what stops its setup.
#pragma once
#include "exec/buffer.hpp"
#include "multigrid/cycle.hpp"
#include <memory>
#include <vector>

namespace tessera::tree {

constexpr int max_block_size = 6; // unknowns of a node

constexpr int max_exact = 2000; // unknowns of the last grid
constexpr int divided_least = 16; // processes divide grids of more unknowns than so many a process
constexpr int max_aggregate = 64; // unknowns of an aggregate that Gauss-Seidel solves exactly
using Diagonal = unsigned short; // place in a row
template <class S> constexpr S no_slot = (S)~0; // an entry of a leaf's product that is none

// Jacobi is damped. Gauss-Seidel goes by colours, with `block_gs` by those of the aggregates on the mesh, each of
// which is solved exactly.
enum class Smoother { chebyshev, jacobi, gs, block_gs };

// Interpolation is smoothed for coefficients that jump: where they do, never, always.
enum class Filter { automatic, off, on };
using multigrid::Cycle;

struct Params {
  int    dim = 2, bs = 1; // of the coordinates; unknowns of a node
  int    cell_size = 12;  // nodes in a cell of the first grid, at most
  bool   kuhn   = false;  // linear on simplices instead of d-linear
  int    degree = 2;      // of the smoother, before and after the next grid
  Smoother smoother = Smoother::chebyshev;
  Cycle  cycle  = Cycle::automatic; // not F; automatic: V, W where difficult(), or what choose_cycle() finds
  int    inner  = 2;      // K: steps of flexible CG on each coarse grid
  // uniform cells and piecewise constants; `cell_size`: nodes in a cell at least, in the mean over the bounding box
  bool   aggregation = false;
  int    grids  = 40;     // at most, beside the mesh
  int    coarse = 128;    // a grid of so many unknowns is solved exactly
  Filter filter = Filter::automatic;
  // All unknowns do, so that functions of parts of the mesh may be in the smoother of one unknown a node, and weights
  // of several unknowns a node be negative.
  bool   all_take_part = false;
  int    difficult_degree = 2; // of the smoother where difficult(): coefficients jump, or convection prevails
  int    jump_degree = 0; // of the smoother where coefficients jump in space; 0: as elsewhere
  int    rough_degree = 0; // of the smoother where eigenvalues on the mesh are above those of M-matrices; 0: the same
  bool   judges_places = false; // nodes that are coupled must be near each other, else: Failure::far
  // a matrix that is nearly singular, which rounding would make singular, or on a device one far from the size 1, is
  // refused: Failure::rounded
  bool   falls_back = false;
  // where a setup leaves the parts' labels of all nodes, ghosts included, for another one of the same matrix in double
  // precision, while there may be one
  std::weak_ptr<Buffer<double>> part_labels;
};

// Most nodes in a cell of the first grid, where nothing else is asked for.
constexpr int usual_cell_size(int dim) { return dim == 3 ? 24 : dim == 2 ? 12 : 3; }

inline Params params_for(int dim, int bs)
{
  Params p;
  p.dim       = dim;
  p.bs        = bs;
  p.cell_size = usual_cell_size(dim);
  p.kuhn      = dim == 3;
  p.degree    = bs > 1 ? 3 : 2;
  return p;
}

// Eigenvalues of A with a cycle as preconditioner, by steps of conjugate gradients
struct Spectrum {
  double least = 1, largest = 1;
  bool   broke_down = false; // as a cycle does that is not positive definite
};

// What stopped the setup; the nodes are those of PETSc's numbering on this process.
struct Failure {
  enum Kind {
    none, not_finite, diagonal, indefinite, too_coarse, too_long,
    far, // couplings are between nodes that lie far apart
    uncoloured,
    lost, // the device of some process
    rounded
  } kind = none;
  long   row   = -1;
  double value = 0;
};

} // namespace tessera::tree
