// The grids of a hierarchy, and which directions are coarsened.
#include "box/tuning.hpp"
#include "rrb/three/black.hpp"
#include <algorithm>
#include <cmath>

namespace tessera::rrb::three {

namespace {

constexpr size_t max_levels = 64;
constexpr double exact_nodes = 200; // a grid of at most so many is solved exactly
// Nodes that a choice of directions serves badly, beside those of full coarsening; where full coarsening serves
// nearly all nodes it stays. Of one direction alone, which makes many more coarse nodes, more is asked, unless the
// trial has shown that coarsening in all directions does not do. With lines next to nothing must be served badly: where
// they turn, a layer of nodes with two strong directions ties them together, and the third must not be coarsened.
constexpr double fewer_bad = 0.15, few_bad = 0.05, few_bad_for_one = 0.6, few_bad_for_one_tried = 0.1,
                 few_bad_with_lines = 0.001;
// Shares of nodes served badly from which the smoother's degree is 3 and 4 in place of 2.
constexpr double badly_some = 0.05, badly_many = 0.3;
// Of the first Schur complement, scaled by its diagonal, what the next grid does not know has eigenvalues from 0.56 on
// where couplings are alike, and from 0.14 where one direction is as weak as coarsening allows. The interval of a
// smoother of degree 2 begins between them; where nodes are served badly, and degrees are higher, the fourth kind,
// which asks for none, is better.
constexpr double lower_end = 0.2;
// Iterations that are fair where couplings are smooth, and where they jump; if the trial expects more the degree grows,
// as iterations fall in proportion to it, up to so many times.
constexpr double fair_smooth = 5.8, fair_rough = 14, max_more = 4;
// An iteration whose smoother solves lines takes so many times as long. A grid has them where they serve such a share
// of its nodes, which is coarsened in other directions.
constexpr double lines_cost = 1.5, lines_some = 0.02;
// Choices stay for other values if no more than so many times as many iterations are expected.
constexpr double as_good = 1.25;
// Nodes beside jumps or holes from which on it is a W-cycle. Coarse grids know less of these than of anything else,
// and a second visit of the second one and all after it costs a few per cent of the first grid's work. Where they are
// fewer than jumps_many, lines are long.
constexpr double jumps_some = 0.002, jumps_many = 0.4;
// Couplings of next to nothing, as many as nodes times this, from which on the precision must be double: the sums of
// rows in single precision no longer tell what ties parts of large coefficients to the rest.
constexpr double faint_some = 0.002;
// A direction of at most so many nodes is coarsened alone wherever that serves more nodes: it is soon at its end.
constexpr int short_direction = 4;
// Coefficients and the residuals that belong to them must stay in the range of a number, products of two of them, too.
template <class T> bool in_range(double largest)
{
  const double limit = sizeof(T) == 8 ? 1e140 : 1e15;
  return largest == 0 || (largest > 1 / limit && largest < limit);
}

// Rows are what loops run along and where nodes lie beside each other. Where the matrix's are at most so long the
// grid's run along its longest direction, if that has so many times as many nodes. (Numbers of vectors are then
// gathered with a stride, which longer rows do not repay.)
constexpr int short_row = 32, much_longer = 2;

int bits(int c) { return (c & 1) + (c >> 1 & 1) + (c >> 2 & 1); }

// The matrix's direction of each of the grid's.
void choose_axes(const int n[3], int axes[3])
{
  const int  longest = n[2] > n[1] ? 2 : 1;
  const bool turn    = n[0] <= short_row && n[longest] >= much_longer * n[0];
  axes[0] = turn ? longest : 0;
  axes[1] = turn ? 0 : 1;
  axes[2] = turn ? 3 - longest : 2;
}

} // namespace

template <class T> static void allocate(Level<T> &l)
{
  const Extent n{l.layout.size(), l.exec.space};
  l.a.resize((1 + (l.star ? box::star_forward : box::box_forward)) * n);
  l.inverse.resize(n);
  if (l.schur) l.diagonal.resize(n);
  l.alive.resize(n);
  for (Buffer<T> *f : {&l.b, &l.x, &l.r, &l.z, &l.w}) f->resize(n);
}

template <class T>
void Hierarchy<T>::create(const Exec &exec, const Comm &comm, const int n[3], const bool periodic[3],
                          const std::vector<Box3> &boxes, const Params &params)
{
  exec_   = exec;
  comm_   = comm;
  params_ = params;
  levels_.clear();
  levels_.reserve(max_levels);
  kinds_.clear();
  levels_.emplace_back();
  levels_[0].exec = exec;
  int (&axes)[3] = levels_[0].axes, size[3];
  bool around[3];
  choose_axes(n, axes);
  finest_boxes_ = boxes;
  for (int d = 0; d < 3; ++d) {
    size[d] = n[axes[d]], around[d] = periodic[axes[d]];
    for (size_t r = 0; r < boxes.size(); ++r)
      finest_boxes_[r].lo[d] = boxes[r].lo[axes[d]], finest_boxes_[r].hi[d] = boxes[r].hi[axes[d]];
  }
  box::begin_grid(levels_[0], comm, 3, size, around, finest_boxes_, exec.space);
}

// Directions to coarsen: the most whose strong directions are right for all but a few of the nodes that all
// directions would serve badly. False where there is none. lines: are there lines beside them?
template <class T> bool Hierarchy<T>::best_directions(const Kinds &k, Level<T> &l, int step[3], bool &lines)
{
  int    all = 0, best = 0;
  double bad[8], single[8], lined[8];
  for (int d = 0; d < 3; ++d)
    if (l.n[d] >= 2) all |= 1 << d;
  for (int c = 0; c < 8; ++c) {
    bad[c] = single[c] = lined[c] = 0;
    for (int s = 0; s < 8; ++s)
      if (c & ~s) {
        bad[c] += k.fraction[s];
        if (bits(s) == 1) single[c] += k.fraction[s];
      }
    for (int d = 0; d < 3; ++d)
      if (c & ~(1 << d)) lined[c] += k.line[d];
  }
  for (int c = 1; c < 8; ++c)
    if (!(c & ~all) && bad[c] <= fewer_bad * bad[all] &&
        (bits(c) > bits(best) || (bits(c) == bits(best) && bad[c] < bad[best])))
      best = c;
  const bool one = bits(best) == 1 && bits(all) == 3 && l.n[best >> 1] > short_direction;
  const double tried  = one ? few_bad_for_one_tried : few_bad,
               points = one && !trial_.single_direction ? few_bad_for_one : tried,
               few    = trial_.lines ? few_bad_with_lines : points;
  trial_.avoided_single = trial_.avoided_single || (best && bad[all] < few && bad[all] >= tried);
  if (!best || bad[all] < few) best = all;
  for (int d = 0; d < 3; ++d) step[d] = best >> d & 1 ? 2 : 1;
  l.served_badly = bad[best];
  trial_.line_nodes = trial_.line_nodes || single[best] > badly_some;
  lines          = lined[best] > lines_some;
  return best;
}

// Nodes that no choice of directions serves are left to the smoother. Without the Schur complement, which an odd
// periodic direction does not allow, 7 points need more of it.
template <class T> int Hierarchy<T>::degree(const Level<T> &l) const
{
  const int usual = l.served_badly > badly_many ? 4 : l.served_badly > badly_some ? 3 : 2;
  if (params_.degree) return params_.degree;
  return (int)std::ceil(trial_.degree_factor * (l.star && !l.schur ? usual + usual / 2 : usual) - 0.1);
}

template <class T> void Hierarchy<T>::add_level(const int step[3])
{
  Level<T> &fine = levels_.back();
  Level<T>  c;
  c.exec = exec_;
  for (int d = 0; d < 3; ++d) {
    fine.step[d]  = step[d];
    c.n[d]        = step[d] == 2 ? (fine.n[d] + fine.odd(d)) / 2 : fine.n[d];
    c.periodic[d] = fine.periodic[d];
    for (Box3 &b : boxes_)
      if (step[d] == 2) {
        b.lo[d] = floor_half(b.lo[d]);
        b.hi[d] = floor_half(b.hi[d] + (fine.odd(d) && b.hi[d] == fine.n[d]));
      }
  }
  box::distribute(c, fine, comm_, 3, (double)(params_.redundant ? params_.redundant : tuning::redundant_nodes), boxes_,
                  exec_.space);
  allocate(c);
  fine.weights.resize(8 * Extent{fine.layout.size(), exec_.space});
  levels_.push_back(std::move(c));
}

// Messages between devices of one host, where all reach each other.
template <class T> void Hierarchy<T>::join()
{
  size_t     bytes = 0;
  const auto each  = [&](const auto &f) {
    for (Level<T> &l : levels_) f(l.halo), f(l.incoming);
  };
  each([](box::Halo3 &h) { h.leave(); });
  peers_.reset();
  if (levels_[0].shared) return;
  each([&](const box::Halo3 &h) { bytes += h.direct_bytes(); });
  peers_ = Peers::open(exec_, comm_, bytes, params_.peers);
  if (peers_) each([&](box::Halo3 &h) { h.join(peers_); });
}

// Are the coefficients in the range of the precision?
template <class T> bool Hierarchy<T>::coefficients_fit(Failure &failure)
{
  report_differences(levels_[0], comm_, differences_, failure);
  failure.failed = failure.unfit = !in_range<T>(failure.largest);
  return !failure.failed;
}

// The kinds of level k, or what is wrong with it.
template <class T> bool Hierarchy<T>::read_kinds(size_t k, Failure &failure)
{
  Counts both[2];
  copy(counts_.data() + 2 * k, exec_.space, both, Space::host, 2);
  both[0].join(both[1]);
  kinds_.push_back(kinds_of(levels_[k], comm_, both[0]));
  if (kinds_[k].bad_node > 0) {
    failure.failed = true;
    failure.grid   = (int)k;
    name_node(levels_, k, kinds_[k].bad_node, failure.node);
  } else if (sizeof(T) == 4 && params_.strict && !k && kinds_[0].faint > faint_some)
    failure.failed = failure.unfit = failure.faint = true;
  return !failure.failed;
}

template <class T> void Hierarchy<T>::set_smoother(size_t k)
{
  Level<T>  &l      = levels_[k];
  const int  before = l.degree;
  l.degree = degree(l);
  if (l.degree != before) ++setups_;
  l.smoother.setup(false, l.degree, 1, l.schur && l.degree == 2 ? lower_end : 0);
}

// The directions that level k is coarsened in, and its smoother.
template <class T> bool Hierarchy<T>::choose_grid(size_t k, int step[3])
{
  Level<T>  &l      = levels_[k];
  const bool before = l.lines.any, any = best_directions(kinds_[k], l, step, l.lines.any);
  if (l.lines.any != before) ++setups_;
  set_smoother(k);
  return any;
}

// The blocks of level k's lines, where there are to be any.
template <class T> void Hierarchy<T>::make_lines(size_t k)
{
  Level<T> &l = levels_[k];
  for (int d = 0; d < 3; ++d) {
    l.lines.directions[d] = kinds_[k].line[d] > 0;
    box::find_place(boxes_, l.own, d, l.lines.processes[d], l.lines.place[d]);
  }
  factor_lines_of(k);
}

template <class T> void Hierarchy<T>::factor_lines_of(size_t k)
{
  if (levels_[k].lines.any) factor_lines(levels_[k], k ? nullptr : free_.data());
}

// After new values: are there lines of level k in directions that had none?
template <class T> void Hierarchy<T>::add_line_directions(size_t k)
{
  bool more = false;
  for (int d = 0; d < 3; ++d)
    if (kinds_[k].line[d] > 0 && !levels_[k].lines.directions[d]) more = levels_[k].lines.directions[d] = true;
  if (!more || !levels_[k].lines.any) return;
  ++setups_;
  factor_lines_of(k);
}

// After new values, for which the host waits once: would the same grids be chosen? same becomes false where not.
template <class T> bool Hierarchy<T>::choices_hold(Failure &failure, bool &same)
{
  if (!coefficients_fit(failure)) return false;
  for (size_t k = 0; k < levels_.size(); ++k) {
    int        step[3];
    const bool lines = levels_[k].lines.any;
    if (!read_kinds(k, failure)) return false;
    if (k + 1 == levels_.size()) break;
    choose_grid(k, step);
    same = same && std::equal(step, step + 3, levels_[k].step) && lines == levels_[k].lines.any;
    if (!same) break;
    add_line_directions(k);
  }
  return true;
}

// The finest grid, before the choice of those below. box: of 27 points.
template <class T> void Hierarchy<T>::begin_hierarchy(bool box)
{
  Level<T> &finest = levels_[0];
  trial_.avoided_single = trial_.line_nodes = false;
  ++setups_;
  finest.lines = Lines<T>();
  finest.star  = !box;
  finest.schur =
    finest.star && !trial_.without_schur && !(finest.shared && (params_.levels == 1 || finest.nodes() <= exact_nodes));
  for (int d = 0; d < 3; ++d) // red and black nodes take turns
    if (finest.periodic[d] && finest.n[d] % 2) finest.schur = false;
  allocate(finest);
  free_.resize(Extent{finest.layout.size(), exec_.space});
  levels_.erase(levels_.begin() + 1, levels_.end());
  boxes_  = finest_boxes_;
  last_.reset();
}

template <class T> Failure Hierarchy<T>::build(const Source &source, bool refresh)
{
  Failure   failure;
  Level<T> &finest = levels_[0];
  trial_.new_grids = !refresh;
  if (!refresh) begin_hierarchy(source.box);
  kinds_.clear();
  dirichlet_ = source.dirichlet;
  if (!counts_.size()) counts_.resize(Extent{2 * max_levels, exec_.space}), differences_.resize(Extent{2, exec_.space});
  finest.halo.exchange(source.free);
  copy(source.free, exec_.space, free_.data(), exec_.space, free_.size());
  compress(finest, source, differences_);
  if (!refresh && !coefficients_fit(failure)) return failure;
  for (size_t k = 0;; ++k) {
    Buffer<uint8_t> &along = levels_[k].lines.along;
    if (!refresh) along.resize(Extent{trial_.lines ? levels_[k].layout.size() : 0, exec_.space});
    scale(levels_[k], k ? nullptr : free_.data());
    if (k) find_stretches(levels_[k]);
    find_kinds(levels_[k], k == 0, counts_.data() + 2 * k);
    if (!refresh && !read_kinds(k, failure)) return failure;
    if (refresh ? k + 1 == levels_.size() : levels_[k].shared && levels_[k].nodes() <= exact_nodes) break;
    if (!refresh) {
      int        step[3];
      const bool any = choose_grid(k, step);
      if (levels_[k].shared && (!any || (params_.levels && (int)k + 1 >= params_.levels))) break;
      if (levels_[k].schur && levels_[k].lines.any) {
        trial_.without_schur = true;
        return build(source, false);
      }
      make_lines(k);
      add_level(step);
    } else factor_lines_of(k);
    Level<T> &fine = levels_[k], &coarse = levels_[k + 1];
    interpolate(fine, coarse);
    product(fine, coarse);
    for (int d = 0; d < 3; ++d)
      if (coarse.periodic[d] && coarse.n[d] == 1) fold(coarse, d);
  }
  if (refresh) {
    bool same = true;
    if (!choices_hold(failure, same)) return failure;
    if (!same) {
      trial_ = trial_.for_new_values();
      return build(source, false);
    }
  }
  if (levels_.back().nodes() > (double)tuning::dense_maximum) {
    failure.failed = true;
    failure.exact  = levels_.back().nodes();
    return failure;
  }
  if (!refresh) join();
  if (parts_.setup(finest, comm_, kinds_[0].loose, !(finest.served_badly > badly_some))) ++setups_;
  const Cycle cycle = params_.cycle != Cycle::automatic ? params_.cycle
                    : kinds_[0].jumps > jumps_some      ? Cycle::w
                                                        : Cycle::v;
  if (cycle != cycle_) ++setups_;
  cycle_ = cycle;
  invert(failure);
  if (!params_.reduced || !finest.schur) black_.reset();
  else if (!black_) black_ = std::make_unique<BlackSystem<T>>(*this);
  if (black_) black_->setup(source, comm_);
  else find_stretches(finest);
  ++values_;
  return failure;
}

// Not where all nodes are served well by coarsening in all directions and nothing jumps, nor where choices are given.
template <class T> bool Hierarchy<T>::worth_trying() const
{
  bool any = kinds_[0].jumps > jumps_some;
  for (size_t k = 0; k + 1 < levels_.size(); ++k) {
    const Level<T> &l = levels_[k];
    any = any || l.served_badly > badly_some;
    for (int d = 0; d < 3; ++d) any = any || (l.n[d] > short_direction && l.step[d] == 1);
  }
  return any && params_.trial && !params_.degree && params_.cycle == Cycle::automatic && levels_.size() > 1;
}

// The iterations that may be expected; where they are to be few enough the trial ends early.
template <class T> double Hierarchy<T>::expect()
{
  return worth_trying() ? try_cycle(fair_with_lines(), 0) : 0;
}
template <class T> double Hierarchy<T>::fair() const { return kinds_[0].jumps > jumps_some ? fair_rough : fair_smooth; }
// Lines that are long, as where couplings jump at few nodes, make a solve as short as smooth couplings do.
template <class T> double Hierarchy<T>::fair_with_lines() const
{
  return trial_.line_nodes && kinds_[0].jumps < jumps_many ? fair_smooth : fair();
}

// Lines, if they pay; else, or where the setup fails with them, none.
template <class T> Failure Hierarchy<T>::try_lines(const Source &source)
{
  const double points = trial_.expected, early = early_, enough = fair_with_lines();
  trial_.lines        = true;
  Failure failure     = build(source, false);
  trial_.expected     = failure.failed ? 0 : try_cycle(enough, early);
  if (trial_.expected > 0 && trial_.expected * lines_cost < points) return failure;
  trial_.lines = trial_.without_schur = false;
  failure                     = build(source, false);
  trial_.expected = points;
  return failure;
}

// What the cycle lacks, where it takes too many iterations: one direction alone, then lines.
template <class T> void Hierarchy<T>::try_others(const Source &source, Failure &failure)
{
  if (trial_.expected > fair() && trial_.avoided_single) {
    trial_.single_direction = true;
    failure      = build(source, false);
    if (failure.failed) return;
    trial_.expected = expect();
  }
  if (trial_.expected > fair_with_lines() && trial_.line_nodes) failure = try_lines(source);
}

// Do the choices that were made for earlier values serve these as well?
template <class T> bool Hierarchy<T>::earlier_choices_serve() const
{
  bool lines = false;
  for (const Level<T> &l : levels_) lines = lines || l.lines.any;
  return trial_.expected_before > 0 && trial_.expected > 0 &&
         trial_.expected <= std::max(fair_with_lines(), as_good * trial_.expected_before) && lines == trial_.lines;
}

template <class T> Failure Hierarchy<T>::build_and_try(const Source &source, bool refresh)
{
  if (!refresh) trial_ = TrialResult();
  trial_steps_    = 0;
  Failure failure = build(source, refresh);
  if (failure.failed ? !trial_.lines : !trial_.new_grids) return failure;
  if (!failure.failed) trial_.expected = expect();
  if (failure.failed || !earlier_choices_serve()) {
    if (trial_.single_direction || trial_.lines) {
      trial_  = TrialResult();
      failure = build(source, false);
      if (failure.failed) return failure;
      trial_.expected = expect();
    }
    try_others(source, failure);
  }
  if (failure.failed || trial_.expected <= fair()) return failure;
  trial_.degree_factor = std::min(max_more, trial_.expected / fair());
  for (size_t k = 0; k + 1 < levels_.size(); ++k) set_smoother(k);
  return failure;
}

template <class T> Failure Hierarchy<T>::setup(const Source &source, bool refresh)
{
  Failure failure = build_and_try(source, refresh);
  if (!failure.failed) prepare_cycle();
  const int node[3] = {failure.node[0], failure.node[1], failure.node[2]};
  for (int d = 0; d < 3; ++d) failure.node[levels_[0].axes[d]] = node[d];
  return failure;
}

template <class T> Hierarchy<T>::Hierarchy() = default;
template <class T> Hierarchy<T>::~Hierarchy() = default;
template <class T> Reduced *Hierarchy<T>::reduced() { return black_.get(); }

template class Hierarchy<double>;
template class Hierarchy<float>;

std::unique_ptr<Solver> make_solver(bool single)
{
  if (single) return std::make_unique<Hierarchy<float>>();
  return std::make_unique<Hierarchy<double>>();
}

} // namespace tessera::rrb::three
