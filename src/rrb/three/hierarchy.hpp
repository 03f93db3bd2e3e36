// The hierarchy of three.hpp in one precision, and its kernels.
#pragma once
#include "box/same.hpp"
#include "exec/graph.hpp"
#include "rrb/three/last.hpp"
#include "rrb/three/parts.hpp"
#include "rrb/three/small.hpp"
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
  return {l.a.data(),    (ptrdiff_t)l.layout.size(),           l.layout.sj, l.layout.sk,
          l.layout.half, box::stretches(l.layout, l.same)};
}
// f(couplings kept, view)
template <class T, class F> void with_operator(const Level<T> &l, const F &f)
{
  with_points(l.star, [&](auto kept) { f(view<decltype(kept)::value>(l)); });
}

// What multigrid/chebyshev.hpp asks of a level.
template <class T> struct SmootherVectors {
  T *b, *x, *r, *z, *w;
};
template <class T> SmootherVectors<T> vectors(Level<T> &l)
{
  return {l.b.data(), l.x.data(), l.r.data(), l.z.data(), l.w.data()};
}

// --- operator.k.cxx ---
struct Differences {
  // largest |a_ij - a_ji| and diagonal entry, and coupling of another row with a Dirichlet row
  double  difference = 0, diagonal = 0, one_sided = 0;
  HD void join(const Differences &o)
  {
    if (o.difference > difference) difference = o.difference;
    if (o.diagonal > diagonal) diagonal = o.diagonal;
    if (o.one_sided > one_sided) one_sided = o.one_sided;
  }
};
// The operator of the finest grid, and how it differs from its transpose: two results, which are to be joined.
template <class T> void compress(Level<T> &l, const Source &source, Buffer<Differences> &result);
template <class T>
void report_differences(const Level<T> &l, const Comm &comm, const Buffer<Differences> &result, Failure &report);
// alive, inverse, diagonal. free: nullptr where all nodes with a positive diagonal are.
template <class T> void  scale(Level<T> &l, const uint8_t *free);
// same: of the operator and, of a Schur complement, of `diagonal`.
template <class T> void find_stretches(Level<T> &l);
// The nodes of this process by their kinds. Zero bytes are an empty one.
struct Counts {
  int     fraction[8] = {0, 0, 0, 0, 0, 0, 0, 0}, line[3] = {0, 0, 0}, jumps = 0; // as in Kinds
  double  loose = 0, faint = 0, first = 0;
  HD void join(const Counts &o)
  {
    for (int k = 0; k < 8; ++k) fraction[k] += o.fraction[k];
    for (int d = 0; d < 3; ++d) line[d] += o.line[d];
    jumps += o.jumps;
    loose += o.loose;
    faint += o.faint;
    if (o.first > 0 && (first == 0 || o.first < first)) first = o.first;
  }
};
// Two results, which are to be joined.
template <class T> void  find_kinds(Level<T> &l, bool finest, Counts *result);
template <class T> Kinds kinds_of(const Level<T> &l, const Comm &comm, const Counts &c);
// In a periodic direction of one node its couplings along it are with itself.
template <class T> void fold(Level<T> &l, int direction);

// --- weights.k.cxx ---
template <class T> void interpolate(Level<T> &l, const Grid3 &coarse);
// --- product.k.cxx ---
// coarse.a of coarse.part, then of all who want it.
template <class T> void product(const Level<T> &fine, Level<T> &coarse);
// --- transfer.k.cxx ---
// coarse.b of coarse.part; true where coarse.z is the smoother's first step from zero, too.
template <class T> bool restrict_to(const Level<T> &fine, Level<T> &coarse, const T *r);
template <class T> void prolong_add(const Level<T> &fine, const Level<T> &coarse, T *x);

// --- cycle.k.cxx ---
// begun: l.z is the first step's already.
template <class T> void smooth(Level<T> &l, bool from_zero, bool begun);
template <class T> void find_residual(Level<T> &l);  // l.r = b - A x
template <class T> void multiply(Level<T> &l, T *v, T *q); // q = A v, of a Schur complement at the black nodes

// --- last.k.cxx ---
// The node of the finest grid that node `from` of level k lies on.
template <class T> void name_node(const std::vector<Level<T>> &levels, size_t k, double from, int node[3]);

template <class T> class BlackSystem; // black.hpp

// What the trial has shown, and what of it grids are chosen by.
struct TrialResult {
  bool   single_direction = false; // one direction may be coarsened alone wherever that serves more nodes,
  bool   avoided_single   = false; // and was not for fear of many coarse nodes
  bool   lines            = false; // nodes with one strong direction may be left to lines
  bool   without_schur    = false; // the finest grid is not a Schur complement, as it has lines
  bool   line_nodes       = false; // some level has more than 5 % of nodes with one strong direction, not coarsened
  bool   new_grids        = false; // the last setup has chosen the grids
  double degree_factor    = 1;     // what degrees are multiplied by
  double expected         = 0;     // iterations for 1e-6
  double expected_before  = 0;     // the same of earlier values, which single_direction and lines are from
  // What the choice of grids for other values begins with.
  TrialResult for_new_values() const
  {
    TrialResult t;
    t.single_direction = single_direction, t.lines = lines, t.expected_before = expected;
    return t;
  }
};

template <class T> class Hierarchy : public Solver {
public:
  Hierarchy();
  ~Hierarchy() override;
  void    create(const Exec &exec, const Comm &comm, const int n[3], const bool periodic[3],
                 const std::vector<Box3> &boxes, const Params &params) override;
  Failure setup(const Source &source, bool refresh) override;
  void    apply(const double *x, double *y) override;
  std::vector<GridReport> report() const override;
  size_t                  bytes() const override;
  double  flops() const override;
  Cycle                   cycle() const override { return cycle_; }
  double  expected() const override { return trial_.expected; }
  int     trial_steps() const override { return trial_steps_; }
  int     parts() const override { return parts_.count(); }
  const Grid3            &finest() const override { return levels_[0]; }
  Reduced                *reduced() override;
  Peers                  *peers() const override { return peers_.get(); }

  // For the system of the black nodes.
  Level<T>      &first() { return levels_[0]; }
  const uint8_t *free() const { return free_.data(); }
  const uint8_t *free_among_dirichlet() const { return dirichlet_ ? free_.data() : nullptr; } // nullptr: all are
  // levels_[0].x from levels_[0].b, which changes. begun: levels_[0].z is the first step's already, which a correction
  // by parts leaves unused.
  void    run_cycle(bool begun);
  uint64_t       prepare_cycle();        // before launch_cycle(); what a graph with it must be recorded anew for
  void    launch_cycle(bool begun);

  // Of all grids.
  int     deepest() const { return (int)levels_.size() - 1; }
  Level<T> &level(int k) { return levels_[(size_t)k]; }

  // As multigrid::cycle() has levels, which ends at last(): the first small grid, whose solve() is the cycle of all
  // small ones, or the deepest.
  int  last() const { return small_.first() ? small_.first() : deepest(); }
  int  visits(Cycle kind, int l) const
  {
    const bool smaller = levels_[(size_t)l + 1].nodes() * 3 < levels_[(size_t)l].nodes();
    const bool pays    = levels_[(size_t)l].nodes() > params_.visits_once;
    return l && l + 1 < deepest() && smaller && pays ? multigrid::visits(kind) : 1;
  }
  void down(int l, multigrid::Visit visit);
  void up(int l, multigrid::Visit visit);
  void solve();
  bool accelerated(Cycle, int) const { return false; }
  void accelerate(int) { }

private:
  void    begin_hierarchy(bool box);
  Failure build(const Source &source, bool refresh);
  Failure build_and_try(const Source &source, bool refresh); // what the trial finds better
  bool    worth_trying() const;
  double  fair() const;    // iterations, for such couplings
  double  fair_with_lines() const; // iterations from which on lines are tried
  double  expect();
  Failure try_lines(const Source &source);
  void    try_others(const Source &source, Failure &failure);
  bool    earlier_choices_serve() const;
  double  try_cycle(double most, double points); // trial.k.cxx
  void    add_level(const int step[3]);
  void    join();
  bool    coefficients_fit(Failure &failure);
  bool    read_kinds(size_t k, Failure &failure);
  bool    choices_hold(Failure &failure, bool &same);
  bool    choose_grid(size_t k, int step[3]);
  void    make_lines(size_t k);
  void    factor_lines_of(size_t k);
  void    add_line_directions(size_t k);
  bool    best_directions(const Kinds &k, Level<T> &l, int step[3], bool &lines);
  int     degree(const Level<T> &l) const;
  void    set_smoother(size_t k);
  void    invert(Failure &failure);
  void    name_pivot(Failure &failure) const;
  void    load(const double *x);
  void    cycle_with_parts();
  void    store(const double *x, double *y);
  Exec                     exec_;
  Comm                     comm_;
  Params                   params_;
  Cycle                    cycle_ = Cycle::v;
  TrialResult              trial_;
  double                   early_ = 0;      // iterations that the first steps of the last trial have promised
  int                      trial_steps_ = 0; // of all trials of the last setup
  std::vector<Level<T>>    levels_;
  std::vector<Kinds>       kinds_;
  Buffer<Counts>           counts_;      // two of each level
  Buffer<Differences>      differences_;
  std::vector<Box3>        finest_boxes_, boxes_; // of the processes, on the last level
  Buffer<uint8_t>          free_;
  bool                     dirichlet_ = false;
  LastGrid<T>               last_;
  SmallGrids<T>             small_;
  Graph                     graph_;       // of the cycle, on a device
  uint64_t                  setups_ = 0;  // that changed what is in it
  uint64_t                  values_ = 0;  // of the operators, that were set
  Parts                    parts_;
  bool                     begun_ = false; // the first step of the next smoothing from zero has been made: z is it
  std::unique_ptr<BlackSystem<T>> black_;
  std::shared_ptr<Peers>          peers_;
};

} // namespace tessera::rrb::three
