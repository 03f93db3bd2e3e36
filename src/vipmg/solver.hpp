// How the steps of a cycle go over a grid. choose() gives each grid the one that serves it best.
#pragma once
#include "vipmg/vipmg.hpp"

namespace tessera::vipmg {

// What the truncated part begins with, a projected sweep, the active set and the residual: it is still to be found,
// or the set is the last one, or may be another.
enum class ActiveSet { unknown, same, changed };

// A x = b of a linear cycle: for the correction on the inactive nodes of the grid that is solved, or on a coarser one.
struct Equation {
  const Operator &A;
  double         *x;
  const double   *b;
  double         *r; // scratch: the residual; tiles keep the swept x in it, lines use it as scratch
  bool            correction;
};

// Vectors of a projected sweep: the one that holds x, and one that may be overwritten.
struct Fields {
  double *x, *free;
};

// The work of a level. This class goes by points, one step after the other; on a level that works by rows each function
// is one pass through memory.
class GridSolver {
public:
  virtual ~GridSolver() = default;
  // down: projected sweeps of x, then the problem of the next grid; up: the correction by that grid, then sweeps. find:
  // determines the active set as well, where that costs little.
  virtual void      monotone_down(Plan &plan, Level &l, Level &next) const;
  virtual ActiveSet monotone_up(Plan &plan, Level &l, const Level &next, bool find) const;
  virtual ActiveSet find_active(Plan &plan, Level &l, Fields &fields) const;
  // The same with linear sweeps and the right-hand side of the next grid. first: x is zero before.
  virtual void      linear_down(Plan &plan, Level &l, Level &next, const Equation &e, bool first) const;
  virtual void      linear_up(Plan &plan, Level &l, const Level &next, const Equation &e, bool first) const;
  // Recombination and line search of the correction l.v. Returns whether the sums of measure() have been found.
  virtual bool      correct(Plan &plan, Level &l, const Fields &fields) const;
  virtual void      solve(const Plan &plan, Level &l, const Operator &op, bool projected) const; // the coarsest grid
};

// By tiles of a plane grid in a device's shared memory, a kernel down and one up (tile.k.cxx, correct.k.cxx).
class Tiles : public GridSolver {
public:
  static bool serve(const Plan &plan, const Level &l);
  void        monotone_down(Plan &plan, Level &l, Level &next) const override;
  ActiveSet   monotone_up(Plan &plan, Level &l, const Level &next, bool find) const override;
  ActiveSet   find_active(Plan &plan, Level &l, Fields &fields) const override;
  void        linear_down(Plan &plan, Level &l, Level &next, const Equation &e, bool first) const override;
  void        linear_up(Plan &plan, Level &l, const Level &next, const Equation &e, bool first) const override;
  bool        correct(Plan &plan, Level &l, const Fields &fields) const override;
};

// The coarsest grid in one block of a device, where it is small enough.
class OneBlock : public GridSolver {
public:
  static bool serves(const Level &l);
  void        solve(const Plan &plan, Level &l, const Operator &op, bool projected) const override;
};

// Linear sweeps along lines, the rest as another solver does it.
template <class Other> class Lines : public Other {
public:
  void linear_down(Plan &plan, Level &l, Level &next, const Equation &e, bool) const override
  {
    if (e.correction) l.v.zero();
    smooth_lines(plan, l, e.A, e.x, e.b, e.correction, false, plan.choice.pre, e.r);
    residual(plan, l, e.A, e.x, e.b, e.r, e.correction);
    restrict_problem(plan, l, next, e.r, Bounds::none);
  }
  void linear_up(Plan &plan, Level &l, const Level &next, const Equation &e, bool) const override
  {
    prolong_add(plan, l, next, e.x, e.A, false, e.correction);
    smooth_lines(plan, l, e.A, e.x, e.b, e.correction, true, plan.choice.post, e.r);
  }
};

int coarsest_sweeps(const Level &l);
int first_sweeps(const Plan &plan); // projected ones with which the truncated part begins

} // namespace tessera::vipmg
