// Galerkin multigrid for symmetric operators of 7 and 27 points on grids of three dimensions. No PETSc objects.
//
// Coarse nodes are those with odd indices in the directions that a grid is coarsened in: strong ones alone. (In a
// periodic direction with an odd number of nodes the last one is coarse, too.) Weights of the interpolation come
// from the operator (weights.k.cxx), coarse operators are P'AP with 27 points (product.k.cxx). The smoother is
// Chebyshev's polynomial of the fourth kind (multigrid/chebyshev.hpp) in the operator scaled by the sums of absolute
// values of its rows, whose eigenvalues are at most 1; on the finest grid of a 7-point operator that of the first kind
// in its Schur complement on the black nodes, i + j + k odd, scaled by the diagonal, with eigenvalues of at most 1 too.
// Where no coarsening serves, lines may take the diagonal's place (lines.hpp), with eigenvalues of at most 1 as well.
// So there are no estimates.
#pragma once
#include "box/grid3.hpp"
#include "box/symmetric3.hpp"
#include "exec/peers.hpp"
#include "multigrid/chebyshev.hpp"
#include "multigrid/cycle.hpp"
#include "multigrid/exact.hpp"
#include "rrb/three/lines.hpp"
#include <memory>
#include <vector>

namespace tessera::rrb::three {

using box::Box3;
using box::Grid3;
using multigrid::Cycle;

struct Params {
  Cycle cycle     = Cycle::automatic; // v, or w, which visits grids twice that are much smaller than the one before
  int   degree    = 0;                // of the smoother; 0: automatic
  int   levels    = 0;                // grids at most; 0: until few nodes remain
  long  redundant = 0;                // the first grid of at most so many nodes goes to every process; 0: automatic
  long  visits_once = 0;              // in a W-cycle grids of at most so many nodes visit the next one once
  bool  reduced   = false;            // the system of the black nodes is asked for
  bool  trial     = true;             // a first setup tries its choice, unless cycle or degree are given
  bool  peers     = true;             // devices write into each other's memory, where they can
  bool  strict    = false;            // single precision is refused where double is likely to do much better
};

// Shares of nodes by their set of strong directions, bit d for direction d, and what is wrong with the operator. Nodes
// with a line count as strong in its direction, and in those of the other two that are strong beside each other.
struct Kinds {
  double  fraction[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  double  line[3] = {0, 0, 0}; // nodes with a line along each direction
  double loose    = 0; // how many neighbours have next to no coupling, on the finest grid; not a share
  double jumps    = 0; // share of nodes beside a jump of the couplings or a hole, on the finest grid
  double faint    = 0; // couplings of next to nothing, as a share of the nodes, on the finest grid
  double bad_node = 0; // a node with couplings whose diagonal is not positive, from 1; 0: there is none
};

// The finest operator, as it has been read from the matrix.
struct Source {
  double  *a         = nullptr; // planes of a star or a box (box/cube.hpp), of the own nodes
  uint8_t *free      = nullptr; // of each own node: 0 where its row is a Dirichlet row, else 1
  bool     box       = false;   // 27 points, else 7
  bool     dirichlet = false;   // there are Dirichlet rows
};

template <class T> struct Level : Grid3 {
  Exec               exec;
  bool               schur = false, star = false;
  Buffer<T>          a;                   // the operator's planes, as Symmetric3 reads them
  Buffer<T>          inverse;             // 1 / the smoother's scaling; zero at nodes that take no part in smoothing
  Buffer<T>          diagonal;            // schur: 1 / diagonal of all nodes
  Buffer<T>          weights;             // 8 planes: of a node from its coarse neighbour, bit d: behind along d
  Buffer<uint8_t>    alive;               // 1 at nodes that have couplings
  Buffer<int>        same;                // stretches of equal rows (box/same.hpp); empty where rows are short
  Buffer<T>          b, x, r, z, w;
  multigrid::Chebyshev smoother;
  Lines<T>             lines;
  int                  degree = 2;
  double               served_badly = 0; // share of the nodes that the directions coarsened do not suit

  size_t bytes() const;
  // Is direction d periodic, of an odd number of nodes, and coarsened? Then its last node is a coarse one, too.
  bool   odd(int d) const { return periodic[d] && step[d] == 2 && n[d] % 2; }
  double nodes() const { return (double)n[0] * n[1] * n[2]; }
};

struct Failure {
  bool   failed = false, not_finite = false;
  bool   unfit  = false; // the coefficients are not for this precision: out of its range,
  bool   faint  = false; // or with many couplings that are lost in sums of rows
  int    grid = 0, node[3] = {0, 0, 0}; // of the finest grid
  double exact     = 0;                 // nodes of the last grid, where they are too many
  double asymmetry = 0;                 // largest |a_ij - a_ji|, relative to the largest diagonal entry
  double largest   = 0;                 // diagonal entry
  bool   one_sided = false;             // other rows are coupled with Dirichlet rows
};

// What the setup has made of a grid.
struct GridReport {
  int    n[3] = {1, 1, 1}, step[3] = {1, 1, 1}, degree = 0;
  bool   star = false, schur = false, everywhere = false, exact = false, lines = false;
};

// Numbers that the hierarchy of a 7-point operator keeps for a node of the finest grid, where all directions are
// coarsened: its operator, scalings, weights and vectors, and a seventh of those of a grid with 27 points.
constexpr size_t least_numbers = 4 + 2 + 8 + 5 + 28 / 7;

// The system of the black nodes that the elimination of the red ones leaves, in double precision whatever that of the
// hierarchy is: what conjugate gradients need. Its vectors are r, x, p, q and z. All is collective.
class Reduced {
public:
  virtual ~Reduced() = default;
  // From b in natural order of the own nodes: r, and x = p = 0; there are no null vectors. tolerance: where the norm of
  // r is at most that, iterate() makes no more steps.
  virtual void   begin(const double *b, double tolerance) = 0;
  // One more vector of the operator's null space, in natural order; nullptr: the constants.
  virtual void   add_null(const double *v) = 0;
  virtual double precondition() = 0;          // z = M r, both orthogonal to the null vectors; r'z
  virtual double norm2() = 0;                 // z'z, with the red nodes' values that belong to z
  virtual void   direction(double beta) = 0;  // p = z + beta p
  virtual double multiply() = 0;              // q = S p; p'q
  virtual double step(double alpha) = 0;      // x += alpha p, r -= alpha q; r'r
  // All of these at once, where a device does that as one graph: beta and alpha are those of conjugate gradients. Where
  // r'z or p'q is not positive or not finite there is no step: x and r stay. The host waits once for `ahead` iterations
  // (at most `most_ahead`), and the next calls have the numbers of those after the first.
  struct Iteration {
    double rz = 0, pq = 0, rr = 0;
  };
  static constexpr int most_ahead = 64;
  virtual bool      at_once() const = 0;
  virtual Iteration iterate(int ahead) = 0;
  // y = x and what belongs to it at the other nodes, in natural order. b: as begin() had it.
  virtual void   solution(const double *b, double *y) = 0;
};

class Solver {
public:
  virtual ~Solver() = default;
  virtual void    create(const Exec &exec, const Comm &comm, const int n[3], const bool periodic[3],
                         const std::vector<Box3> &boxes, const Params &params) = 0;
  // refresh: the matrix has new values, the choices of grids and cycle stay. Collective.
  virtual Failure setup(const Source &source, bool refresh) = 0;
  // y = M x; both in natural order of the own nodes.
  virtual void                    apply(const double *x, double *y) = 0;
  virtual std::vector<GridReport> report() const = 0;
  virtual size_t                  bytes() const = 0;
  virtual double                  flops() const = 0; // of an application, of this process
  virtual Cycle                   cycle() const = 0;
  virtual double                  expected() const = 0; // iterations for 1e-6, by the trial; 0: there was none
  virtual int                     trial_steps() const = 0; // that it took
  virtual int                     parts() const = 0; // parts with weak couplings to the rest, which constants correct
  virtual const Grid3            &finest() const = 0; // a Source is on its layout
  // The system of the black nodes; nullptr where it was not asked for, or red nodes are not eliminated.
  virtual Reduced                *reduced() = 0;
  virtual Peers                  *peers() const = 0; // where devices write into each other's memory
};
std::unique_ptr<Solver> make_solver(bool single);

} // namespace tessera::rrb::three
