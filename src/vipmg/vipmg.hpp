// Multigrid for the linear complementarity problem   lo <= x <= up,  (b - A x) . (y - x) <= 0 for all lo <= y <= up
// with a stencil matrix A on a grid of one to three dimensions. No PETSc objects.
//
// A cycle has up to two parts, each after Graeser and Kornhuber, J. Comput. Math. 27 (2009):
//  - monotone multigrid (their section 4.2): projected Gauss-Seidel on every grid. What the fine iterate may still
//    move, the defect of the constraint, goes to the coarse grid as the maximum (lower bound) or minimum (upper bound)
//    over a coarse basis function's support, so that every coarse correction is feasible and energy never grows.
//    Robust from any start, slow in the end.
//  - truncated Newton multigrid (section 5): a projected sweep finds the active nodes, a linear cycle with Galerkin
//    operators whose basis functions are cut off there corrects the others, the result is projected, and a line search
//    keeps energy from growing. Fast once the active set stands nearly still.
#pragma once
#include "box/cube.hpp"
#include "box/grid3.hpp"
#include "box/read3.hpp"
#include "exec/graph.hpp"
#include "multigrid/cycle.hpp"
#include "vipmg/span.hpp"
#include "vipmg/strategy.hpp"

namespace tessera::vipmg {

using namespace box;

enum class Variant {
  hybrid,
  tnnmg,
  monotone,
  klement_oberhuber
};
using multigrid::Cycle; // v, w or f

struct Params {
  Variant variant = Variant::hybrid;
  Cycle   cycle   = Cycle::automatic; // v; f or w on the host where the operator is not symmetric
  bool    fmg     = true;
  int     pre = 0, post = 0; // sweeps; 0, 0: 2, 2 in v on the host, else 1, 1; on a device 1, 2 where coefficients vary
  double  omega   = 1;
  int     levels  = 0;       // at most; 0: until the grid has two or three nodes per direction
};

// A stencil: planes of coefficients. star: centre, then the two neighbours along each direction. box: all 3^d, i
// fastest.
struct Operator {
  Buffer<double> a, inverse; // inverse: of the diagonal; zero where the node takes no part
  bool           box = false;
  // Of each half of a row: a long stretch [t0, t1) of places whose stencils are equal; with constant coefficients
  // nearly all of them. There coefficients, which are half of what sweeps and residuals move, are read at the first
  // place alone.
  Buffer<int> same;
};

class GridSolver; // solver.hpp

struct Level : Grid3 {
  const GridSolver *solver   = nullptr;
  bool              by_rows  = false; // one thread of the host takes the steps of a cycle through the rows together
  bool              lines[2] = {false, false}; // linear sweeps go by lines along x, along y
  bool              ordered  = false; // sweeps follow the wind: in the four orders of rows and of nodes along them
  // `truncated`: the Galerkin operator of the inactive nodes of the grid that is being solved
  Operator        A, truncated;
  Buffer<double>  diffusion;          // where ordered: what has been added to `truncated` against convection
  // weights, from coarse node I (at I + 1), of the fine nodes before and behind the one it lies on
  Buffer<double>  left[3], right[3];
  Buffer<uint8_t> free, inactive;     // not a Dirichlet row; nor at a bound
  Buffer<uint8_t> cut;                // in the plane: rows of `truncated` that may be others than those of A
  Buffer<double>  x, b, lo, up;       // the problem of this level
  Buffer<double>  v, r, w;            // correction and residuals
  Buffer<double>  y;                  // x before the last correction
};

// What a pass over the finest grid finds.
struct Measure {
  // sum of squares of F = A x - b, but for nodes at a bound that F presses against (PETSc's SNES VI norm)
  double inactive = 0;
  double natural  = 0;  // of diag (x - P(x - F / diag)), P the projection onto the bounds
  double lower = 0, upper = 0; // active nodes: at the bound, and pressed
  double changed  = 0;  // nodes whose status differs from the last pass's
  double moved    = 0;  // sum of squares of A x
  HD void add(double f, double x, double lo, double up, double diagonal, double zero)
  {
    double at_lower = f > 0 ? 1 : 0, at_upper = f < 0 ? 1 : 0; // no branches and no integers, for the host's vectors
    at_lower        = x <= lo + zero ? at_lower : 0;
    at_upper        = x >= up - zero ? at_upper : 0;
    inactive += (1 - (at_lower + at_upper)) * (f * f);
    lower += at_lower;
    upper += at_upper;
    constexpr double far = 1e100; // PETSC_INFINITY is a number, whose products overflow
    const double to_lo = diagonal * (x - lo < far ? x - lo : far), to_up = diagonal * (x - up > -far ? x - up : -far);
    double       n = f;
    n              = n > to_lo ? to_lo : n;
    n              = n < to_up ? to_up : n;
    natural += n * n;
  }
  HD void join(const Measure &o)
  {
    inactive += o.inactive;
    natural += o.natural;
    lower += o.lower;
    upper += o.upper;
    changed += o.changed;
    moved += o.moved;
  }
};

// What evaluate() finds.
struct Point {
  Measure measure;             // of the correction zero
  // sum of squares of F + r, r the residual before: how far F is from what the model foretold
  double  difference = 0;
  double  F = 0, X = 0, slope = 0; // sums of squares; F . (X - X0)
  HD void join(const Point &o)
  {
    measure.join(o.measure);
    difference += o.difference;
    F += o.F;
    X += o.X;
    slope += o.slope;
  }
};

// What a step does.
struct Moved {
  double slope = 0, step = 0; // F . (X - X0), sum of squares of X - X0
  HD void add(double F, double moved)
  {
    slope += F * moved;
    step += moved * moved;
  }
  HD void join(const Moved &o)
  {
    slope += o.slope;
    step += o.step;
  }
};

// The nearest number between the bounds.
HD inline double between(double v, double lo, double up)
{
  v = v < lo ? lo : v;
  return v > up ? up : v;
}

// X0 + t d between the bounds of X; a node at its bound is there exactly, whatever the rounding of differences.
HD inline double step_to(double X0, double XL, double XU, double d, double t)
{
  double v = X0 + t * d;
  if (v < XL || (t == 1 && d == XL - X0)) v = XL;
  if (v > XU || (t == 1 && d == XU - X0)) v = XU;
  return v;
}

// Sums by which the correction v and the last step p are combined, and the length of a step along v is found.
struct CombinationSums {
  double vv = 0, vp = 0, pp = 0, rv = 0, rp = 0; // v . A v, v . A p, p . A p, r . v, r . p
  HD void join(const CombinationSums &o)
  {
    vv += o.vv;
    vp += o.vp;
    pp += o.pp;
    rv += o.rv;
    rp += o.rp;
  }
  // a v + b p has least energy, or residual; v alone where the two are nearly parallel.
  HD void combination(double &a, double &b) const
  {
    a = 1, b = 0;
    const double det = vv * pp - vp * vp;
    if (vv > 0 && pp > 0 && det > 1e-10 * vv * pp) {
      a = (rv * pp - rp * vp) / det;
      b = (rp * vv - rv * vp) / det;
    }
    if (!(a > 0)) a = 1, b = 0;
  }
  // The same along v alone, of which what was projected may not go further. Without energy it is all of v where the
  // residual falls at first: a part of it takes the nodes that it brings to their bounds away from there, and the
  // active set would follow slowly.
  HD double length(bool energy) const
  {
    const double t = vv > 0 ? rv / vv : 0;
    return t > 1 || (!energy && t > 0) ? 1 : t < 0 ? 0 : t;
  }
};

// Sums by which coarsening is decided.
struct Strength {
  double along[3] = {0, 0, 0};               // couplings
  double face[3] = {0, 0, 0}, row[3] = {0, 0, 0}; // last nodes of a direction: coupling with the nodes before, row sum
  // nodes that lie, with both neighbours, among strong couplings along x, along y
  double strong[2] = {0, 0};
  double jumps = 0; // nodes with couplings along one direction that differ by more than ten
  double wind  = 0; // nodes of a plane grid where convection is about as strong as diffusion
  HD void join(const Strength &o)
  {
    for (int d = 0; d < 3; ++d) {
      along[d] += o.along[d];
      face[d] += o.face[d];
      row[d] += o.row[d];
    }
    for (int d = 0; d < 2; ++d) strong[d] += o.strong[d];
    jumps += o.jumps;
    wind += o.wind;
  }
  void times(double n)
  {
    for (int d = 0; d < 3; ++d) along[d] *= n, face[d] *= n, row[d] *= n;
    for (int d = 0; d < 2; ++d) strong[d] *= n;
    jumps *= n;
    wind *= n;
  }
};

struct Plan {
  Exec               exec;
  const Strategy    *strategy = &strategy_of(Space::host); // create() takes that of exec
  Params             params, choice; // as they are asked for; without what is automatic (choose())
  Comm               comm;
  int                dimension = 0;
  bool               symmetric = true;
  bool               rough = false; // coefficients jump
  // of the finest operator: largest |a_ij - a_ji|, relative to the largest diagonal entry
  double             asymmetry = 0;
  Buffer<double>     unstable;          // coefficients of a coarse operator before diffusion is added
  double             zero_tolerance = 1e-8;
  std::vector<Level> levels;
  Buffer<double>     work[2]; // coefficients of a grid coarsened in some directions
  // two to be joined, of the combination, and two of the line search that follows
  Buffer<CombinationSums> sums;
  Buffer<Measure>    measure, active; // two to be joined; `active`: changes of the active set alone
  Buffer<Strength>   strength;
  bool               built = false;
  // on a device: few nodes of the finest grid have the stencil of the one before them
  bool               varied = false;
  Span               span;               // of the finest grid
  Buffer<int>        alike;              // how many have
  int                truncated_top = -1; // the level whose inactive nodes the truncated operators are for
  bool               recorded = false;   // cycles are: on a device, where nothing has to be asked of other processes
  // counts hierarchies and choices of lines of this plan: what is recorded of another one is of no use
  uint64_t           revision = 0;
  Buffer<double>     ends;               // of the lines of several processes, and for messages from a device
  Staging            ends_host;
  size_t             bytes() const;
  bool               passes() const { return strategy->passes && exec.threads == 1; }
};

// What the automatic choices are. Convection in the plane needs good coarse solutions, the more where sweeps follow the
// wind and leave what is the same along a closed streamline to coarse grids. In space more sweeps do as much, and
// small grids, of which there are many where directions are coarsened one by one, take time. One sweep is little where
// the operator is `varied`. Full multigrid takes the time of a cycle, which it does not save on grids of few nodes.
inline Params resolve(const Plan &plan, Params p)
{
  constexpr double few_nodes = 400;
  const bool       windy = !plan.levels.empty() && plan.levels[0].ordered;
  if (!plan.levels.empty()) p.fmg = p.fmg && plan.levels[0].nodes() > few_nodes;
  if (p.cycle == Cycle::automatic)
    p.cycle = !plan.strategy->cheap_coarse || plan.symmetric || plan.dimension == 3 ? Cycle::v
            : windy                                                                 ? Cycle::w
                                                                                    : Cycle::f;
  if (p.pre == 0 && p.post == 0) {
    p.pre = p.post = p.cycle == Cycle::v ? plan.strategy->sweeps : 1;
    if (plan.varied) p.post = 2;
  }
  return p;
}

// The parts of a cycle. Full multigrid on a grid below the finest starts from the solution on a coarser one, which
// has its active set: where there is an energy, a cycle of the second part does as much there as one of both.
inline bool with_monotone(const Plan &plan) { return plan.params.variant != Variant::tnnmg; }
inline bool with_newton(const Plan &plan)
{
  return plan.params.variant == Variant::hybrid || plan.params.variant == Variant::tnnmg;
}
inline bool with_monotone_below(const Plan &plan)
{
  return with_monotone(plan) && !(with_newton(plan) && plan.symmetric);
}

// Of the two results of join_nodes(), and of all processes where these have parts of the level.
template <class R> R sum_of(const Plan &plan, const Level &l, const Buffer<R> &result)
{
  const R r = joined(result);
  return l.shared ? r : sum_over((MPI_Comm)plan.comm, r);
}

// --- setup (plan.cxx, galerkin.k.cxx) ---
// The finest level: this process's box and everybody's, memory for an operator with or without diagonal couplings.
void create(Plan &plan, const Comm &comm, int dimension, const int n[3], const bool periodic[3],
            const std::vector<Box3> &boxes, bool box);
// After the finest operator (levels[0].A.a, free) has been written: coarser levels, at the first time, and their
// operators.
void build(Plan &plan);
// Operators of the inactive nodes of level `top` on all coarser levels.
void truncate(Plan &plan, int top);
// What is automatic of the params, and how each level is worked on. build() calls it, and who changes the params.
void choose(Plan &plan);
void make_inverse(Plan &plan, Level &l, Operator &op);
void find_stretches(Plan &plan, const Level &l, Operator &op); // op.same; on the host make_inverse() does it
// The stretches of l.truncated from those of l.A: the longest parts of them whose rows have not been cut.
void shorten_stretches(Plan &plan, Level &l);
Strength strength(Plan &plan, Level &l);
void     coarse_free(Plan &plan, int fine);
void     galerkin(Plan &plan, int fine, bool truncated, bool top);
void     stabilise(Plan &plan, Level &l, Operator &op); // against convection (stabilise.k.cxx)
void     take_back_diffusion(Plan &plan, Level &l);     // of what l.x has come to, from l.b

// Largest |a_ij - a_ji| between nodes that take part, relative to the largest diagonal entry.
double asymmetry(Plan &plan);

// --- the finest operator ---
// Where its rows are read to, levels[0] having been made.
Finest<double> finest(Plan &plan);

// --- kernels ---
struct Sweep {
  bool projected = true, masked = false;
};
void smooth(const Plan &plan, Level &l, const Operator &op, double *x, const double *b, const Sweep &how, int sweeps);
// The sweeps of a level that is ordered, four in all (ordered.k.cxx).
void sweep_in_order(const Plan &plan, Level &l, const Operator &op, double *x, const double *b, const Sweep &how);
// Linear sweeps along the lines that the level asks for, backward in the opposite order (lines.k.cxx); scratch:
// another field.
void smooth_lines(Plan &plan, Level &l, const Operator &op, double *x, const double *b, bool masked, bool backward,
                  int sweeps, double *scratch);
void residual(const Plan &plan, Level &l, const Operator &op, const double *x, const double *b, double *r, bool masked);
// The problem of the coarse grid: coarse.b from the residual r, and x = 0; lo and up: the largest lower and least
// upper ones of a support; their weighted mean (the paper's Algorithm 1); for a start, those of the fine nodes that
// coarse nodes lie on; or none.
enum class Bounds { monotone, mean, inject, none };
void restrict_problem(const Plan &plan, Level &fine, Level &coarse, const double *r, Bounds bounds);
// Of the coarse nodes of a box; afterwards values of other processes.
void restrict_part(const Plan &plan, Level &fine, Level &coarse, const double *r, Bounds bounds, const Box3 &part);
void exchange_problem(Level &coarse, Bounds bounds);
void prolong_part(const Plan &plan, Level &fine, const Level &coarse, double *x, const Operator &op, bool clip,
                  bool masked, const Box3 &part);
// Sweeps, the residual r after them and, where there is a coarse grid, its problem; the correction from there and
// sweeps after it. A level by_rows finds all of a function in one pass through memory. zero: there x is to begin with
// zero.
void smooth_down(const Plan &plan, Level &l, Level *coarse, const Operator &op, double *x, const double *b,
                 const Sweep &how, int sweeps, double *r, Bounds bounds, bool zero = false);
void smooth_up(const Plan &plan, Level &l, const Level &coarse, const Operator &op, double *x, const double *b,
               const Sweep &how, int sweeps);
void prolong_add(const Plan &plan, Level &fine, const Level &coarse, double *x, const Operator &op, bool clip,
                 bool masked);
void prolong_start(const Plan &plan, Level &fine, const Level &coarse); // fine.x := the coarse solution, within bounds
// The coarse correction, if there is a grid that it comes from, projected sweeps, the residual l.r and the inactive
// nodes; returns whether these are, or may be, others than at the last time (a device is not waited for).
bool smooth_and_mark(Plan &plan, Level &l, const Level *coarse, int sweeps);
void mark_inactive(Plan &plan, Level &l, const Box3 &part);
bool inactive_changed(Plan &plan, Level &l); // after all parts; plan.active is zero before them
// v becomes the best of the span of v and the last step x - y, y := x, x := x + a (P(x + v) - x) with the best a of
// [0, 1]; l.r: residual. measured: measure() follows, whose sums a level by_rows finds along the way; returns whether
// it has.
bool recombine(Plan &plan, Level &l, bool measured);
// Without symmetry, on the host: v becomes the correction of least residual of the span of v, the last step w and those
// before it (span.k.cxx).
void span(Plan &plan, Level &l);
Measure measure(Plan &plan, Level &l, bool found = false); // also l.r := b - A x; found: its sums are

// false: not here
bool galerkin_directly(const Plan &plan, const Level &fine, Level &coarse, const Operator &op, const uint8_t *free,
                       bool truncated, bool top, Operator &out);

// Of this process in a cycle (linear_problem.hpp): products with stencils.
double flops(const Plan &plan, int top, bool monotone, bool newton);

} // namespace tessera::vipmg
