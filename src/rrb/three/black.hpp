// The system of the black nodes (Reduced in three.hpp) beside a hierarchy in one precision.
#pragma once
#include "rrb/three/hierarchy.hpp"

namespace tessera::rrb::three {

template <class T> class BlackSystem : public Reduced {
public:
  explicit BlackSystem(Hierarchy<T> &h) : h_(h) { }
  void   setup(const Source &source, const Comm &comm);
  void   begin(const double *b) override;
  void   add_null(const double *v) override;
  double precondition() override;
  double norm2() override;
  void   direction(double beta) override;
  double multiply() override;
  double step(double alpha) override;
  void   solution(const double *b, double *y) override;
  size_t bytes() const;

private:
  box::Symmetric3<double, box::star_forward> matrix();
  const double *diagonal(); // its inverse
  double        sum(double own) const; // over the processes
  Hierarchy<T>  &h_;
  Comm           comm_;
  Level<double>  double_; // operator and diagonal, where the hierarchy is in single precision
  // On all nodes: of r the right-hand side at the red ones, and of x and p what belongs to the black values there.
  Buffer<double> r_, x_, p_, q_;
  std::vector<Buffer<double>> null_;
};

} // namespace tessera::rrb::three
