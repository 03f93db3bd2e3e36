// Repeated red-black factorisation (RRB): A = L D L' + R on a hierarchy of grids.
//   [1] de Jong, van der Ploeg, Ditzel, Vuik: Fine-grain parallel RRB-solver for 5-/9-point stencil problems suitable
//       for GPU-type processors, ETNA 48 (2018)
//   [2] de Jong, Vuik: GPU implementation of the RRB-solver, report 16-06, Delft 2016
// One grid holds two levels: its red nodes (quarters a, b) are eliminated, then its o nodes; the c nodes are the next
// grid. The Galerkin form eliminates the red nodes of the finest grid alone and makes every next operator as P'AP,
// with sweeps of Gauss-Seidel on each grid (rrb/multigrid/cycle.k.cxx).
#pragma once
#include "box/dense.hpp"
#include "box/dirichlet.hpp"
#include "box/galerkin.hpp"
#include "box/smooth.hpp"
#include "rrb/algebraic/algebraic.hpp"
#include "rrb/multigrid/components.hpp"
#include "rrb/strategy.hpp"
#include <memory>
#include <tuple>
#include <variant>

namespace tessera {
struct Reduction; // box/warp.hpp
}

namespace tessera::rrb {

enum class Coarsening { galerkin, lump, rhombus };
enum class Cycle { automatic, v, k, amli };
enum class Smoother { automatic, point, line_x, line_y, line_alternating };
constexpr bool fits_weights(Remedy r) { return Remedy::lines <= r && r <= Remedy::fitted_sweeps; }
constexpr bool adds_sweeps(Remedy r) { return r == Remedy::sweeps || r == Remedy::fitted_sweeps; }
enum class Weights { automatic, collapse, least_squares };

struct Params {
  // levels of the factorisation, two to a grid; 0: until an exact factorisation costs next to nothing
  int        levels     = 0;
  int        grids      = -1; // grids stored by quarters, the others in natural order; -1: all
  Coarsening coarsening = Coarsening::galerkin;
  double     omega      = 1;     // share of a dropped coupling that goes to the diagonal
  bool       lump_all   = false; // lump at the kept nodes also (M2 of [2], table 1)
  Cycle      cycle      = Cycle::automatic;
  int        every      = 2; // accelerate on every m-th grid
  int        inner      = 2; // steps of the acceleration
  bool       single     = false; // factors in single precision
  long       redundant  = 0;     // a distributed grid of at most so many nodes goes to every process; 0: automatic
  bool       schur      = false; // keep the first Schur complement S1 for CG (5-point operators)
  // Galerkin form
  Smoother   smoother = Smoother::automatic;
  int        smooth   = 0; // sweeps before and after the next grid; 0: automatic
  Weights    weights  = Weights::automatic;
  bool       trial    = true; // try the choice where coefficients jump
  bool       peers    = true; // devices write into each other's memory, where they can
};

// The factors of one grid: L at o, a, b (unit diagonal, stored as l_ij = a_ij / pivot_i) and the inverse pivots D^-1.
struct Factor {
  Buffer<double> l64[4], d64;
  Buffer<float>  l32[4], d32;
  // false: L's place has a_ij as it was; it is scaled where it is used, which saves 40 B per node at setup
  bool           scaled = true;
  size_t         bytes() const;
};

// S1 of a 5-point operator on the black nodes o and c, 5 coefficients a node ([1] section 2.3): the diagonal, o-c
// couplings SW SE NW NE at o, and the couplings over two meshes to E and N.
template <class T> struct SchurOf {
  Buffer<T>      c, e[4], fo[2], fc[2];
  // D_r^-1, quarters a and b, where the factors of the finest grid do not have it in double precision
  Buffer<double> red;
  size_t         bytes() const;
};
using Schur = SchurOf<double>;

// S1 as kernels see it; places as in the quarters of the grid.
template <class T> struct SchurView {
  T        *co, *cc, *e[4], *fo[2], *fc[2];
  ptrdiff_t sx, sy;
};
template <class T> SchurView<T> schur_view(const Layout &layout, SchurOf<T> &s);

// a field of one quarter
template <class T> T *place(const Layout &layout, T *plane) { return layout.view(plane, quarter_c).q[quarter_c]; }

// Values on the four quarters of a grid.
template <class T> struct FieldOf {
  Buffer<T> data;
  View<T>   v;
  void      resize(const Layout &layout)
  {
    data.resize(layout.elements(4));
    v = layout.view(data.data());
  }
};
using Field = FieldOf<double>;

// The phases of a sweep over a grid in one pass, exec/wavefront.hpp: what is done, at which colour, and how many rows
// behind the first phase.
struct Phase {
  enum Kind { first_sweep, sweep, residual, restriction, correction } kind; // first_sweep: from zero
  int colour;
};
struct Schedule {
  std::vector<Phase> phases;
  std::vector<int>   lags;
  void               clear() { phases.clear(), lags.clear(); }
  void               add(Phase::Kind kind, int colour, int lag)
  {
    phases.push_back({kind, colour});
    lags.push_back(lag);
  }
};

// Vectors of the program, in natural order, which begin stride_b and stride_out numbers apart.
struct SeveralVectors {
  int           count;
  const double *b;
  ptrdiff_t     stride_b;
  double       *out;
  ptrdiff_t     stride_out;
};

// how a level goes on: to its c nodes, to the same grid on every process, directly
enum class Step { coarsen, gather, solve };

// How the sweeps of a grid of the Galerkin form are done: colour by colour, along lines, or down and up in one kernel
// each (rrb/multigrid/march.hpp); and what a visit to a level does. The setup chooses both.
enum class Sweeping { points, lines, march };
enum class Visit { cycle, k_cycle, amli, fused_amli, gather, dense, exact };

// Vectors of a short iteration with the cycle as preconditioner, multigrid/acceleration.hpp.
template <class T> struct AccelerationVectors {
  FieldOf<T> r, w, d, q;
};

// A level of the Galerkin form. T: precision of the hierarchy.
template <class T> struct MultigridLevel {
  Smoother       smoother = Smoother::automatic; // in use: not automatic
  Sweeping       sweeping = Sweeping::points;
  Visit          visit    = Visit::cycle;
  int            sweeps   = 1; // before and after the next grid
  Directions     shares;
  // the finest grid of a 5-point operator, smoothed on S1; in double precision its weights of o are factor.l at o
  bool           of_schur = false;
  SchurOf<T>     schur;            // where the plan's own does not serve
  StencilOf<T>   a;                // other grids: their operator,
  Buffer<T>      edge[2], centre[4], inject; // and the interpolation; inject: by points
  // S1 in single precision: inverse diagonal at o and c, one plane after the other; on the device that of next grids
  Buffer<T>      inverse;
  Buffer<float>  correction;       // least squares, kept while values change
  std::unique_ptr<LineSolver<T>> lines[2][2]; // where they are swept: along x and y; S1: of quarters o and c, else [0]
  Inverse<T>     whole;            // on the device: the cycle from this grid down as a matrix
  FieldOf<T>     b, x, r;          // right-hand side, solution, residual; S1: b and x have two quarters, r one
  Buffer<T>      several;          // the same of several vectors, each of four quarters
  AccelerationVectors<T> acceleration;
  Algebraic      algebraic;        // S1: what is below it, where no grids are
  Components     components;       // S1: loose parts,
  FieldOf<T>     swept;            // S1 on the device: x between down and up
  FieldOf<T>     rest, constants;  // the residual without their constants, and these
  size_t         bytes() const;
};

struct Level {
  Grid   grid;
  int    index = 0; // number of the grid, 0 the finest; a gathered grid has the number of its distributed twin
  Step   step  = Step::coarsen;
  Layout layout;
  Halo   halo;
  Halo   wide; // of all layers that there is room for, where sweeps work on ghost nodes (rrb/multigrid/march.hpp)
  Factor factor;
  Field  b;                   // right-hand side; its c quarter becomes the solution of the next grid
  Buffer<double> t;           // o after the elimination of the red nodes
  bool    accelerated = false; // K or AMLI on this grid
  Stencil op;                 // its operator, for the acceleration
  Field   x, r, w, d, q;      // and its vectors
  Buffer<double> sums;        // on the device: the K-cycle's scalars
  double  spectrum[2] = {1, 2.5}; // of the preconditioned operator on this grid: the interval of AMLI
  double  lumped = 0;         // mean of |lumped| / diagonal over the eliminated nodes
  bool    cut_x = false, cut_y = false; // a periodic direction of odd size: the seam is lumped
  std::unique_ptr<Gather> gather; // step gather: all processes' right-hand sides,
  Buffer<double> solution;        // and the whole grid's solution in natural order
  size_t bytes() const;
};

// What stopped a factorisation.
struct Failure {
  bool   failed = false;
  int    level = 0, x = 0, y = 0; // level of the factorisation; the node in the coordinates of the finest grid
  // read the matrix and factorise once more: Zeros, or algebraic levels that cannot be made
  bool retry = false;
};

// The exact factorisation of what is left after the last grid, by a band matrix of the host; it may come from a device,
// and vectors with it.
enum class Exact { band, inverse, fetched_band };
struct Remainder {
  Exact                                        kind = Exact::band;
  Band                                         band;
  std::vector<int>                             x, y;   // its nodes
  std::vector<double>                          values; // and their values
  std::tuple<Inverse<double>, Inverse<float>>  inverses; // on the device one of these
  // On the device: the matrix before its factorisation, nodes and their numbers; where the host solves, values on
  // their way
  Buffer<double>                               matrix, travelling;
  Buffer<int>                                  node, number;
  template <class T> Inverse<T>               &inverse() { return std::get<Inverse<T>>(inverses); }
  size_t bytes() const { return band.bytes() + std::get<0>(inverses).bytes() + std::get<1>(inverses).bytes(); }
};

// What a setup of the Galerkin form works in beside what it keeps, for a level. On the device it stays for the next
// setup: memory is as it was, nothing is made or zeroed, and the pool would hold it anyway.
struct Work {
  Interpolation P;
  Stencil       a;     // the operator
  Schur         schur; // single precision: S1, where CG does not need it
  size_t        bytes() const;
};

// What kernels of a setup on the device find; the host reads it at the end.
struct Findings {
  unsigned long long bad = 0;       // FirstBad
  int                row = 0;       // of the exact remainder, + 1: its pivot is not positive
  int                loose = 0;     // couplings of S1's grid that are next to nothing
  int                zero[64] = {}; // Watch, by level
};

// Had a next grid zeros on its diagonal at an earlier setup on the device? Where it had none their couplings are not
// cleared, a launch a grid; a setup that finds one is made again.
enum class Zeros { unknown, none, some };
struct SetupFindings {
  Buffer<Findings> on_device;
  bool             any = false; // they are not zero
  Zeros            zeros = Zeros::unknown;
  Findings        *notes() { return on_device.data(); } // where kernels note them; nullptr: the host looks at once
};

// What a setup of the Galerkin form does where coefficients are rough; it stays for new values once it is settled.
struct Choice {
  Remedy remedy  = Remedy::no;
  bool   settled = false;
  bool   usual_lines = false;   // the usual choice, when it was tried, had lines on the finest grid
  double expected[(int)Remedy::count] = {}; // iterations by the trial of each choice, 0: there was none
  double expects() const { return expected[(int)remedy]; }
  double expects(Remedy r) const { return expected[(int)r]; }
};

// What a grid of the Galerkin form does, for users.
struct GridReport {
  Smoother   smoother;
  Directions shares;
  bool       of_schur;
  int        sweeps, components;
};

struct Plan;

// The two families of methods, Lumped and Multigrid, have the same functions: a plan has one of them.

// Elimination with lumping, the papers' forms: each grid has its factors, in Level.
struct Lumped {
  using Value = double; // of the vectors that it works on
  // ---- setup: create() has made the levels, factor() goes down them
  int     layers(const Plan &, const Grid &) const { return 1; } // of ghost nodes
  long    redundant(const Plan &plan, int grid) const;            // as Params, where that is 0
  void    create(Plan &plan);                                     // the rest of the memory
  Stencil recycle(Plan &plan, size_t l);                          // an operator in the memory of an earlier setup
  void    prepare(Plan &plan, size_t l, const Stencil &a);        // before the level's operator is used up
  void    coarsen(Plan &plan, size_t l, Stencil &a, Stencil &next, Failure &failure);
  void    keep(Plan &, size_t, Stencil &) { } // the operator of a level that has no next one
  // on the device, launched before the host waits for the findings; the bool: a pivot was bad on the host
  void    finish(Plan &, bool) { }
  // after them; the number of S1's couplings that are next to nothing. Collective.
  void    loose_parts(Plan &, double) { }
  void    choose_cycle(Plan &plan);
  // ---- application
  void    apply(Plan &plan, const View<double> &out);
  // z = B r on S1; with a reduction *rz = r'z, where this returns true: else the cycle does not give that
  bool    schur_cycle(Plan &plan, const View<double> &r, const View<double> &z, Reduction * = nullptr,
                      double * = nullptr);
  void    apply_natural(Plan &, const double *, double *) { }
  int     apply_several(Plan &, const DirichletCouplings &, const SeveralVectors &) { return 0; }
  double  try_out(Plan &, int) { return 0; } // iterations that CG on S1 will need for 1e-6 from this level on
  // ---- facts
  bool    natural = false, several = false; // has the setup made these two possible?
  bool    needs_host(const Plan &) const { return false; } // for its sums and exchanges, on several devices
  size_t  bytes() const { return 0; }
  double  bytes_moved(const Plan &plan, const Level &level, bool schur) const; // by a cycle on the level, for a node
  double  multiplications(const Plan &plan, const Level &level) const;         // for a node
  GridReport       report(size_t) const { return {}; }
  const Algebraic *algebraic() const { return nullptr; }
};

// The Galerkin form: operators P'AP, sweeps of Gauss-Seidel, V-, K- and AMLI-cycles.
template <class T> struct Multigrid {
  using Value = T;
  int     layers(const Plan &plan, const Grid &grid) const;
  long    redundant(const Plan &plan, int grid) const;
  void    create(Plan &plan);
  Stencil recycle(Plan &plan, size_t l);
  void    prepare(Plan &plan, size_t l, const Stencil &a);
  void    coarsen(Plan &plan, size_t l, Stencil &a, Stencil &next, Failure &failure);
  void    keep(Plan &plan, size_t l, Stencil &a);
  void    finish(Plan &plan, bool failed);
  void    loose_parts(Plan &plan, double loose);
  void    choose_cycle(Plan &plan);
  void    apply(Plan &plan, const View<double> &out);
  bool    schur_cycle(Plan &plan, const View<T> &r, const View<T> &z, Reduction *reduction = nullptr,
                      double *rz = nullptr);
  void    apply_natural(Plan &plan, const double *b, double *out);
  int     apply_several(Plan &plan, const DirichletCouplings &dirichlet, const SeveralVectors &vectors);
  double  try_out(Plan &plan, int l);
  bool    natural = false, several = false;
  int     several_width = 0; // the vectors of several_finest
  bool    needs_host(const Plan &plan) const;
  size_t  bytes() const;
  double  bytes_moved(const Plan &plan, const Level &level, bool schur) const;
  double  multiplications(const Plan &plan, const Level &level) const;
  GridReport       report(size_t l) const;
  const Algebraic *algebraic() const;

  // x = the approximate solution on level l for the right-hand side b, both in its own fields
  void    visit(Plan &plan, int l);
  // x = one cycle from level l down for b; with a reduction as schur_cycle()
  bool    cycle(Plan &plan, int l, const View<T> &b, const View<T> &x, Reduction *reduction = nullptr,
                double *bx = nullptr);

  std::vector<MultigridLevel<T>> levels;
  std::vector<Work>              work;             // by level
  double                         relaxation[4] = {}; // of the colours o, a, b, c of 9-point grids, beyond one
  Schedule                       schedule;         // of a sweep in progress
  Buffer<double>                 several_finest;   // values of several vectors on the finest grid

private:
  void set_cycle(Plan &plan);
  void make_vectors(Plan &plan);
  void dense_cycles(Plan &plan); // the cycles on small grids as matrices, on the device
  void root(Plan &plan, int l, const View<double> &b, const View<double> &out);
  void next(Plan &plan, int l, T *e, ptrdiff_t sx, ptrdiff_t sy);
  void march(Plan &plan, int l, const View<T> &b, const View<T> &x, Reduction *reduction, double *bx);
  void cycle_nine(Plan &plan, int l, const View<T> &b, const View<T> &x);
  bool cycle_s1(Plan &plan, int l, const View<T> &b, const View<T> &x, Reduction *reduction, double *bx);
};

struct Plan {
  unsigned long long number = 0; // of create(): no other plan has it
  Params             params;
  Exec               exec;
  const Strategy    *strategy = &strategy_of(Space::host);
  std::vector<Level> levels;
  std::variant<Lumped, Multigrid<double>, Multigrid<float>> method;
  bool               eliminate_last_red = false; // the last grid loses its red nodes before the exact factorisation
  bool               have_schur = false;
  bool               nine       = false; // a 9-point operator
  Cycle              cycle = Cycle::v; // in use: never automatic
  Schur              schur;
  Choice             choice;
  SetupFindings      findings;
  Remainder          remainder;
  double             nonzeros = 0; // stored coefficients of all grids / of the finest

  // Several devices of one host: sums over all processes on the device; a number of its own for each time that they
  // were set up
  const Total          *total = nullptr;
  std::shared_ptr<void>  total_memory;
  std::shared_ptr<Peers> peers;
  unsigned long long    joined = 0;

  bool   single_factors() const { return params.single && params.coarsening != Coarsening::galerkin; }
  int    factor_levels() const; // l of the papers: two for each eliminated grid
  double tiny() const;          // share of a diagonal entry below which a pivot is rounding: a singular operator
  size_t bytes() const;
  // Least memory traffic and multiplications of one application, the former per node of the finest grid in bytes: every
  // coefficient and value read or written once in each sweep. schur: apply S1's preconditioner instead of A's.
  double bytes_moved(bool schur) const;
  double multiplications() const;
};

// The levels below S1 where the choice is algebraic, else nullptr.
const Algebraic *algebraic_levels(const Plan &plan);

// ---- symbolic: the grids, their distribution and all memory
void create(Plan &plan, const Grid &grid, const Params &params);
int  maximum_levels(const Grid &grid);

// ---- numeric: factors of the operator; `a` is assembled and is used up. Collective.
Stencil finest_stencil(Plan &plan); // zero, in the memory of an earlier factorisation where there is one
Failure factor(Plan &plan, Stencil &a);
// Galerkin form, after choose_cycle(): tries the choice where coefficients jump. True: it was bad, another one was
// made; set up again.  Collective.
bool try_choice(Plan &plan);
// After the trial of the usual choice: it broke down, as rounding has made a hierarchy in single precision indefinite.
bool unfit_for_single(const Plan &plan);
// A solve has shown that the choice in use takes so many iterations for 1e-6. True: another choice was made, set up
// again and try it.
bool disprove_choice(Plan &plan, double iterations);
// Iterations of the choice in use above which another one is expected to take less time; 0: one has not been tried;
// choice_never: there is none.
double rival_iterations(const Plan &plan);
// The intervals of AMLI and the automatic choice of the cycle; after a successful factorisation.
void choose_cycle(Plan &plan);

// ---- levels[0].b = x, the owned nodes in natural order (24 B per node)
void load(Plan &plan, const double *x);
// ---- out = M^-1 b on the owned nodes of the finest grid, b in levels[0].b (used up); `out` may be in another layout.
void apply(Plan &plan, const View<double> &out);
// The same without load(), from natural order to natural order: where this plan can.
bool takes_natural(const Plan &plan);
void apply_natural(Plan &plan, const double *b, double *out);
// The same from natural order to natural order of several vectors: 8 or 4 at a time (in single precision 8), for which
// the coefficients of the grids are read once. Returns how many have been done. Where this plan can: the Galerkin form
// on the host, its finest grid smoothed by points and without loose parts; grids below that are not so take one after
// the other.
bool takes_several(const Plan &plan);
int  apply_several(Plan &plan, const DirichletCouplings &dirichlet, int vectors, const double *b, ptrdiff_t stride_b,
                   double *out, ptrdiff_t stride_out);
// The same for S1: r and z are fields of the finest grid of which only the quarters o and c are used. Ghosts of r
// change.
void schur_apply(Plan &plan, const View<double> &r, const View<double> &z);
// q = S1 p; returns this process's part of p'q. p has its ghost nodes.
template <class T>
double schur_multiply(const Exec &exec, const Level &level, SchurOf<T> &s, const View<T> &p, const View<T> &q);
// The same without the sum.
template <class T>
void          schur_product(const Exec &exec, const Level &level, SchurOf<T> &s, const View<T> &p, const View<T> &q);
inline double schur_multiply(Plan &plan, const View<double> &p, const View<double> &q)
{
  return schur_multiply(plan.exec, plan.levels[0], plan.schur, p, q);
}

// ---- CG's vectors on the black nodes of the finest grid: quarters o and c, one plane after the other
struct BlackField {
  Layout         layout;
  Buffer<double> own;
  double        *data = nullptr; // two planes, in `own` or borrowed
  Extent         size;
  View<double>   view; // q[quarter_o] and q[quarter_c]
  BlackField() = default;
  explicit BlackField(const Plan &plan, double *borrowed = nullptr);
};
void   black_load(Plan &plan, const double *x, BlackField &r);                            // from natural order
// y = x at the black nodes, y in natural order
void   black_store(Plan &plan, const BlackField &x, double *y);
void   black_set(Plan &plan, double s, BlackField &x);                                    // x = s on the own nodes
// y += x at the black nodes, y in natural order
void   black_add(Plan &plan, const BlackField &x, double *y);
double black_dot(Plan &plan, const BlackField &x, const BlackField &y);                   // this process's part
void   black_combine(Plan &plan, double s, const BlackField &x, double t, BlackField &y); // y = s x + t y
// x += alpha p, r -= alpha q; own part of r'r
double black_step(Plan &plan, double alpha, const BlackField &p, const BlackField &q, BlackField &x, BlackField &r);
// own part of |z|^2 with the red nodes that belong to z = M^-1 r
double schur_norm2(Plan &plan, BlackField &z);
void   red_solve(Plan &plan, const double *r, double *x);     // x += D_r^-1 r at the red nodes; natural order

// Eigenvalues at both ends of a symmetric tridiagonal matrix.
void extreme_eigenvalues(const std::vector<double> &d, const std::vector<double> &e, double *lowest, double *highest);

GridReport report(const Plan &plan, size_t l);

// Building blocks that the files of this folder share.
// What elimination leaves of a diagonal; rounding is cut to zero, which marks the last node of a singular component.
HD inline double remains(double tiny, double before, double after)
{
  return after <= tiny * before && after >= -tiny * before ? 0 : after;
}
void cycle(Plan &plan, int l, const View<double> &b, const View<double> &coarse, const View<double> &out,
           bool red = true);
// the operator of a distributed grid on every process
Stencil gather(const Exec &exec, Level &level, Level &whole, Stencil &a);
Stencil recycle_factors(Level &level);
void factor_remainder(Plan &plan, Level &level, Stencil &operand, Failure &failure);
// A bad pivot in a row of the remainder.
void name_row(const Plan &plan, int row, Failure &failure);
template <class T> void solve_remainder(Plan &plan, const View<T> &b, const View<T> &out);
// V: double, or several of as many vectors on the host (exec/several.hpp).
template <class V> void black_rhs(Plan &plan, Level &level, const View<V> &b, const View<V> &out);
template <class V>
void red_solution(Plan &plan, Level &level, const View<V> &b, const View<V> &black, const View<V> &out);
// On the device, one process: the same from natural order, and the whole solution of the black nodes' x in natural
// order.
template <class T> void black_of(Plan &plan, const double *b, const View<T> &to);
template <class T> void whole_of(Plan &plan, const double *b, const View<T> &x, double *out);
// Is the diagonal, or the inverse pivots, of the quarters in the mask not negative and not NaN? Names the first node
// that is; on the device in the plan's findings.
void check_positive(Plan &plan, const Level &level, const View<double> &C, int mask, int factor_level,
                    Failure &failure);
// nullptr: another elimination looks for bad pivots
void eliminate_red(Plan &plan, Level &level, Stencil &a, Failure *failure);
void keep_factors(Plan &plan, Level &level, Stencil &a, bool red_only = false, bool scaled = true);
void schur_setup(Plan &plan, Level &level, Stencil &a, Schur &s);
template <class T> void schur_create(const Plan &plan, const Level &level, SchurOf<T> &s); // its memory
template <class T> void gather_values(Plan &plan, Level &g, const View<T> &own, const View<T> &whole);
// Changes when memory that the cycle works on has moved, or a number that is an argument of its kernels has changed.
unsigned long long fingerprint(const Plan &plan);

} // namespace tessera::rrb
