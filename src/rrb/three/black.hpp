// The system of the black nodes (Reduced in three.hpp) beside a hierarchy in one precision.
#pragma once
#include "exec/exec.hpp"
#include "rrb/three/hierarchy.hpp"

namespace tessera::rrb::three {

// Numbers of conjugate gradients on a device; old: r'z of the iteration before, or zero.
struct Scalars {
  double     rz, old, pq, rr, null, tolerance; // tolerance: of the norm of r
  int        recorded;                          // iterations that the host can read about
  int        done;                              // is the norm of r at most the tolerance, or is there no step?
  HD double beta() const { return old > 0 ? rz / old : 0; }
  HD double alpha() const { return !done && rz > 0 && pq > 0 && rz - rz == 0 ? rz / pq : 0; } // zero: no step
};

template <class T> class BlackSystem : public Reduced {
public:
  explicit BlackSystem(Hierarchy<T> &h) : h_(h) { }
  void   setup(const Source &source, const Comm &comm);
  void   begin(const double *b, double tolerance) override;
  void   add_null(const double *v) override;
  double precondition() override;
  double norm2() override;
  void   direction(double beta) override;
  double multiply() override;
  double step(double alpha) override;
  bool      at_once() const override;
  Iteration iterate(int ahead) override;
  void   solution(const double *b, double *y) override;
  size_t bytes() const;

private:
  box::Symmetric3<double, box::star_forward> matrix();
  const double *diagonal(); // its inverse
  double        sum(double own) const; // over the processes
  void          launch_iteration();
  template <class V> void make_orthogonal(V *v);
  Hierarchy<T>  &h_;
  Comm           comm_;
  Level<double>  double_; // operator and diagonal, where the hierarchy is in single precision
  // On all nodes: of r the right-hand side at the red ones, and of x and p what belongs to the black values there.
  Buffer<double> r_, x_, p_, q_;
  std::vector<Buffer<double>> null_; // the first nulls_; the others' memory is kept
  size_t                      nulls_ = 0;
  Buffer<Scalars> scalars_; // of iterate()
  Pinned          results_;    // its last Iterations, on the host, each at its number % most_ahead
  int             launched_ = 0, seen_ = 0; // iterations
  Graph           graph_;
};

} // namespace tessera::rrb::three
