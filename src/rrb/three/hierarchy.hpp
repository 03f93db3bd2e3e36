// The hierarchy of three.hpp in one precision, and its kernels.
#pragma once
#include "exec/graph.hpp"
#include "rrb/three/parts.hpp"
#include "rrb/three/three.hpp"

namespace tessera::rrb::three {

// (i + j + k) % 2 of a node
constexpr int red = 0, black = 1;

// f(std::integral_constant<int, number of couplings kept>)
template <class F> void with_points(bool star, const F &f)
{
  if (star) f(std::integral_constant<int, box::star_forward>());
  else f(std::integral_constant<int, box::box_forward>());
}
template <int F, class T> box::Symmetric3<T, F> view(const Level<T> &l)
{
  return {l.a.data(), (ptrdiff_t)l.layout.size(), l.layout.sj, l.layout.sk, l.layout.half};
}
// f(couplings kept, view)
template <class T, class F> void with_operator(const Level<T> &l, const F &f)
{
  with_points(l.star, [&](auto kept) { f(view<decltype(kept)::value>(l)); });
}

// --- operator.k.cxx ---
// The operator of the finest grid, and what the report says of it: its asymmetry and its largest diagonal entry.
template <class T> void compress(Level<T> &l, const Source &source, const Comm &comm, Failure &report);
// free: nullptr where all nodes with a positive diagonal are.
template <class T> void mark_alive(Level<T> &l, const uint8_t *free);
template <class T> void scale(Level<T> &l, const uint8_t *free); // inverse, diagonal
template <class T> Kinds kinds(const Level<T> &l, const Comm &comm, bool finest);
// After a product: couplings with nodes that have no diagonal.
template <class T> void clear_dead(Level<T> &l);
// In a periodic direction of one node its couplings along it are with itself.
template <class T> void fold(Level<T> &l, int direction);

// --- weights.k.cxx ---
template <class T> void interpolate(Level<T> &l, const Grid3 &coarse);
// --- product.k.cxx ---
// A term of a coarse coupling: places of weight, coefficient, weight beside a coarse node's place on the fine grid.
struct Term {
  ptrdiff_t weight, a, other;
};
// The terms of all couplings that a coarse node keeps.
struct Terms {
  Buffer<Term> terms[2]; // of even and of odd coarse nodes
  Buffer<int>  begin[2]; // of a plane's
};
template <class T> struct Product {
  Terms  of[8]; // bit d: of the last coarse nodes along a direction d that is odd()
  void   list(const Level<T> &fine);
  void   run(const Level<T> &fine, Level<T> &coarse) const;
  size_t bytes() const;
};
// --- transfer.k.cxx ---
template <class T> void restrict_to(const Level<T> &fine, Level<T> &coarse, const T *r); // coarse.b of coarse.part
template <class T> void prolong_add(const Level<T> &fine, const Level<T> &coarse, T *x);

// --- cycle.k.cxx ---
// Ghosts of v that a Schur complement's red nodes need are set.
template <class T> void set_red(Level<T> &l, T *v); // v_r = -D_r^-1 A_rb v_b
template <class T> void smooth(Level<T> &l, bool from_zero);
template <class T> void find_residual(Level<T> &l);  // l.r = b - A x

template <class T> class Hierarchy : public Solver {
public:
  void    create(const Exec &exec, const Comm &comm, const int n[3], const bool periodic[3],
                 const std::vector<Box3> &boxes, const Params &params) override;
  Failure                 setup(const Source &source, bool refresh) override;
  void    apply(const double *x, double *y) override;
  std::vector<GridReport> report() const override;
  size_t                  bytes() const override;
  double                  flops() const override;
  Cycle                   cycle() const override { return cycle_; }
  int                     parts() const override { return parts_.count(); }
  const Grid3            &finest() const override { return levels_[0]; }

  // As multigrid::cycle() has levels.
  int  last() const { return (int)levels_.size() - 1; }
  int  visits(Cycle kind, int l) const
  {
    const bool smaller = levels_[(size_t)l + 1].nodes() * 3 < levels_[(size_t)l].nodes();
    return l && l + 1 < last() && smaller ? multigrid::visits(kind) : 1;
  }
  void down(int l, multigrid::Visit visit);
  void up(int l, multigrid::Visit visit);
  void solve();
  bool accelerated(Cycle, int) const { return false; }
  void accelerate(int) { }

private:
  void    add_level(const int step[3]);
  bool    choose(const Kinds &k, const Level<T> &l, int step[3], double &served_badly) const;
  int     degree(const Level<T> &l) const;
  void                      invert(Failure &failure);
  void                      name_pivot(Failure &failure) const;
  void    load(const double *x);
  void    cycle_with_parts();
  void    store(const double *x, double *y);
  Exec                     exec_;
  Comm                     comm_;
  Params                   params_;
  Cycle                    cycle_ = Cycle::v;
  std::vector<Level<T>>    levels_;
  std::vector<Product<T>>  products_;
  std::vector<Kinds>       kinds_;
  std::vector<Box3>        finest_boxes_, boxes_; // of the processes, on the last level
  Buffer<uint8_t>          free_;
  bool                     dirichlet_ = false;
  multigrid::ExactSolver<T> exact_;
  Graph                     graph_;       // of the cycle, on a device
  uint64_t                  setups_ = 0;
  Parts                    parts_;
  Buffer<T>                right_, constants_; // of a correction by parts
  Buffer<ptrdiff_t>        places_; // of the last grid's nodes
  Buffer<T>                packed_[2];
};

} // namespace tessera::rrb::three
