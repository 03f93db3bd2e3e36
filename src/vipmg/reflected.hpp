// Bounds along directions of nodes' own: a problem in the unknowns y = Q x, where Q reflects the first axis of a node
// onto its normal. What lies between bounds is then the first unknown of the node.
#pragma once
#include "vipmg/newton.hpp"

namespace tessera::vipmg {

class Reflected : public Problem {
public:
  explicit Reflected(Problem &inner) : inner_(inner) { }
  ~Reflected() override;
  // X, F and base are the solver's vectors, and follow. An error where a node with bounds has a normal that is no
  // direction, or other bounds than along it.
  PetscErrorCode Create(PetscObject solver, const char *who, Vec normals, PetscInt bs, Vec X, Vec F, Vec base,
                        Vec XL, Vec XU);
  Vec            point() const { return y_; }
  Vec            function() const { return f_; }
  Vec            base() const { return base_; }
  Vec            reflection() const { return v_; }
  PetscErrorCode Follow(); // X, F and base become those of point(), function() and base()

  PetscErrorCode Function(Vec y, Vec f) override;
  PetscErrorCode Jacobian(Vec y, Mat *J, bool *failed) override;
  PetscErrorCode Test(PetscInt iteration, const Norms &n, bool *stop) override;
  PetscErrorCode Stopped(End why) override { return inner_.Stopped(why); }
  PetscReal      Target() const override { return inner_.Target(); }
  PetscErrorCode Cycle(PetscInt cycle, const Norms &n) override { return inner_.Cycle(cycle, n); }
  PetscErrorCode Check(StepCheck when, Vec y0, Vec y, Vec *step) override;

private:
  PetscErrorCode Turn(Vec from, Vec to) const; // to = Q from
  PetscErrorCode Take(Vec normals, PetscObject solver, const char *who, Vec XL, Vec XU);
  Problem &inner_;
  PetscInt bs_ = 1;
  Vec      X_ = nullptr, F_ = nullptr, solver_base_ = nullptr;                                     // the solver's
  Vec      v_ = nullptr, y_ = nullptr, f_ = nullptr, base_ = nullptr, step_ = nullptr;
};

} // namespace tessera::vipmg
