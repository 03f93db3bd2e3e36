// Newton's method for variational inequalities on a grid: F(x) linearised with its Jacobian, the linear
// complementarity problem solved by multigrid cycles, and a line search that keeps iterates between their bounds.
// SNES and Tao types are its users.
#pragma once
#include "petsc/hooks.hpp"
#include "tessera.h"
#include "petsc/vector.hpp"
#include "vipmg/single_grid.hpp"
#include "vipmg/treematrix.hpp"
#include "vipmg/vipmg.hpp"

namespace tessera {

extern PetscLogEvent event_vipmg_setup, event_vipmg_cycle;

} // namespace tessera

namespace tessera::vipmg {

// Norms of a point. At the solution all are zero.
struct Norms {
  PetscReal inactive = 0; // of F without the active nodes: what PETSc's VI solvers test
  PetscReal natural  = 0; // of diag(J) (x - P(x - F / diag(J)))
  PetscReal x = 0, step = 0;
  PetscReal lower = 0, upper = 0; // active nodes
  PetscInt  cycles = 0;           // of the iteration
};

// A point, the function there, and the bounds.
struct Vectors {
  Vec X, F, XL, XU;
};

enum class End { no, function, jacobian, line_search, linear }; // why an iteration cannot go on

// What the method knows of its problem.
struct Problem {
  virtual ~Problem() = default;
  virtual PetscErrorCode Function(Vec x, Vec f)                                                 = 0;
  // nullptr: that of before
  virtual PetscErrorCode Jacobian(Vec x, Mat *J, bool *failed)                                  = 0;
  // monitors, convergence
  virtual PetscErrorCode Test(PetscInt iteration, const Norms &n, bool *stop)                   = 0;
  virtual PetscErrorCode Stopped(End why)                                                       = 0;
  virtual PetscReal      Target() const = 0; // a norm below which Test() will say that it has converged
  virtual PetscErrorCode Cycle(PetscInt cycle, const Norms &n) = 0; // monitor of cycles
  // The program's checks of the step from X0 to X; step: X0 - X where they have changed it, else nullptr
  virtual PetscErrorCode Check(StepCheck, Vec X0, Vec X, Vec *step)
  {
    (void)X0, (void)X;
    *step = nullptr;
    return PETSC_SUCCESS;
  }
  bool                   updated = false; // Test() has let the program change its problem
};

enum class Levels { automatic, box, tree };

struct Options {
  TesseraBackend backend = TESSERA_BACKEND_AUTO;
  Params         params;
  PetscReal      zero_tolerance = 1e-8, largest_bound = 1; // the first is times the size of the problem, up to 1
  PetscInt       iterations = 50;
  Levels         levels = Levels::automatic;
};

// What cycles on a linear problem are to come to.
struct Aim {
  double target = 0;     // norm
  bool   to_end = false, // it is known to be the problem itself
         follow = false; // the operator is that of the last time: its last step serves the first recombination
};

class Newton {
public:
  Options        options;
  Plan           plan;
  BoxMatrix      matrix;
  MatrixReport   report;
  char           failure[512] = "";
  std::vector<PetscInt> sizes; // of the grids, as SNESVIPMGGetGridSizes() gives them
  MeshSource     source;
  TreeMatrix     mesh;         // instead of plan and matrix
  bool           on_tree = false;
  bool           built() const { return on_tree ? mesh.problem() && linear_ : plan.built; }
  // The solver is source.solver; prefix: of its options, as snes_vipmg_
  std::string    Node(PetscInt row) const; // the row's, for messages
  PetscErrorCode SetUp(const char *prefix, Vec X, Vec base, Mat J);
  PetscErrorCode Solve(Problem &problem, const Vectors &v);
  PetscErrorCode Reset();

private:
  PetscErrorCode SetZeroTolerance(Vec X);
  PetscErrorCode JudgeStart(const Vectors &v, const Measure &here, bool *fmg);
  PetscErrorCode Start(Problem &problem, const Vectors &v, bool *failed);
  PetscErrorCode Linearise(Problem &problem, Vec X, bool *read, bool *failed);
  PetscErrorCode Search(Problem &problem, const Vectors &v, const Measure &model, Measure *here, Norms *n,
                        bool *current, End *end);
  PetscErrorCode Watch(Problem &problem, const Vectors &v, double before, bool *good, bool *current, Point *point);
  PetscErrorCode ReadJacobian(Mat J, bool *failed);
  PetscErrorCode Read(const Vectors &v);
  PetscErrorCode Restore();
  PetscErrorCode Load(const Vectors &v, bool follow, bool *changed);
  PetscErrorCode SetCorrection(Vec X, Vec Y, Measure *measure);
  PetscErrorCode Evaluate(const Vectors &v, Vec X0, Point *point);
  // X := from.X + t times the correction, between the bounds
  PetscErrorCode Move(double t, const Vectors &from, Vec X, Moved *moved);
  PetscErrorCode Inner(Problem &problem, const Vectors &v, const Measure &here, const Aim &aim, bool fmg, Norms *n,
                       Measure *model, bool *failed);
  PetscErrorCode Cycles(Problem &problem, const Vectors &v, const Measure &here, const Aim &aim, bool fmg, Norms *n,
                        Measure *model, bool *failed);
  PetscErrorCode FullMultigrid(Problem &problem, bool monotone, double first, Norms *n, Measure *cold, double *limit);
  PetscErrorCode Single(Problem &problem, const Vectors &v, double target, Norms *n, Measure *model, bool *done);
  PetscErrorCode ServesSingle(Mat J, Vec X, bool *serves);
  PetscErrorCode LeaveSingle(bool *failed);
  PetscErrorCode Reduce(const Vectors &v, double target, const Measure &here, Norms *n, Measure *model, bool *failed);
  std::string    prefix_;             // of options, behind the solver's
  Mat            jacobian_ = nullptr; // the problem's, last read
  PetscErrorCode ReadMesh(Mat J);
  PetscErrorCode Complain(); // of the report
  PetscErrorCode NameFreeShift(bool *failed);
  PetscErrorCode NameUnbounded(const Vectors &v, bool *named);
  PetscErrorCode GiveUp(Problem &problem, End end, PetscInt cycles, double natural);
  BoxProblem     box_{plan};
  SingleGrid     single_;
  LinearProblem *hierarchy() { return on_tree ? (LinearProblem *)mesh.problem() : &box_; }
  LinearProblem *linear_ = nullptr; // of the box, or of the mesh, or of a single grid
  bool           built_ = false, monotone_converges_ = true; // the second: the monotone part does not diverge
  struct {                        // linear problems in a row that not even systems of the inactive nodes have solved
    int    number = 0;
    double first  = HUGE_VAL;     // natural residual, squared, of the first of them
  } unsolved_;
  VectorView     F_, X_, lower_, upper_, other_;
  Vec            base_ = nullptr; // the solver's, for the point that steps begin from
  struct {                        // of the points that the last steps have not come below
    Vec    at      = nullptr;
    double natural = 0;
    int    above   = 0;           // steps since then
  } best_;
  bool           must_reduce_ = false; // the next step must bring a smaller residual
};

} // namespace tessera::vipmg
