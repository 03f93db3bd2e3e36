// The grids of a hierarchy, which directions are coarsened, and the last grid's inverse.
#include "box/tuning.hpp"
#include "rrb/three/black.hpp"
#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

namespace tessera::rrb::three {

namespace {

constexpr size_t most_levels = 64;
constexpr double exact_nodes = 200; // a grid of at most so many is solved exactly
// Nodes that a choice of directions serves badly, beside those of full coarsening; where full coarsening serves
// nearly all nodes it stays; of one direction alone, which makes many more coarse nodes, that is asked of fewer.
constexpr double fewer_bad = 0.15, few_bad = 0.05, few_bad_for_one = 0.6;
// Shares of nodes served badly from which the smoother's degree is 3 and 4 in place of 2.
constexpr double badly_some = 0.05, badly_many = 0.3;
// The same where the trial has shown that coarsening in all directions does not do.
constexpr double few_bad_for_one_tried = 0.1;
// The same with lines: where they turn, a layer of nodes with two strong directions ties them together, and the third
// must not be coarsened.
constexpr double few_bad_with_lines = 0.001;
// Iterations that are fair where couplings are smooth, and where they jump; if the trial expects more the degree grows,
// as iterations fall in proportion to it, up to so many times.
constexpr double fair_smooth = 5.8, fair_rough = 14, most_more = 4;
// An iteration whose smoother solves lines takes so many times as long. A grid has them where they serve such a share
// of its nodes, which is coarsened in other directions.
constexpr double lines_cost = 1.5, lines_some = 0.02;
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

int bits(int c) { return (c & 1) + (c >> 1 & 1) + (c >> 2 & 1); }

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
  int rank = 0, periods[3];
  MPI_Comm_rank(comm, &rank);
  exec_   = exec;
  comm_   = comm;
  params_ = params;
  finest_boxes_ = boxes;
  levels_.clear();
  levels_.reserve(most_levels);
  kinds_.clear();
  levels_.emplace_back();
  Level<T> &l = levels_[0];
  l.exec      = exec;
  for (int d = 0; d < 3; ++d) {
    l.n[d]        = n[d];
    l.periodic[d] = periodic[d];
    periods[d]    = periodic[d] ? n[d] : 0;
  }
  l.own = l.part = boxes[(size_t)rank];
  l.layout       = box::layout_for(l.own, 3);
  l.shared       = boxes.size() == 1;
  std::vector<Box3> need;
  for (const Box3 &b : boxes) need.push_back(box::wanted(l, b, 3));
  l.halo.setup(comm, boxes, need, periods, l.layout, exec.space);
}

// Directions to coarsen: the most whose strong directions are right for all but a few of the nodes that all
// directions would serve badly. False where there is none. lines: are there lines beside them?
template <class T> bool Hierarchy<T>::choose(const Kinds &k, Level<T> &l, int step[3], bool &lines)
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
  const double tried = one ? few_bad_for_one_tried : few_bad, points = one && !tried_.alone ? few_bad_for_one : tried,
               few   = tried_.lines ? few_bad_with_lines : points;
  tried_.spared = tried_.spared || (best && bad[all] < few && bad[all] >= tried);
  if (!best || bad[all] < few) best = all;
  for (int d = 0; d < 3; ++d) step[d] = best >> d & 1 ? 2 : 1;
  l.served_badly = bad[best];
  tried_.lined   = tried_.lined || single[best] > badly_some;
  lines          = lined[best] > lines_some;
  return best;
}

// Nodes that no choice of directions serves are left to the smoother. Without the Schur complement, which an odd
// periodic direction does not allow, 7 points need more of it.
template <class T> int Hierarchy<T>::degree(const Level<T> &l) const
{
  const int usual = l.served_badly > badly_many ? 4 : l.served_badly > badly_some ? 3 : 2;
  if (params_.degree) return params_.degree;
  return (int)std::ceil(tried_.more * (l.star && !l.schur ? usual + usual / 2 : usual) - 0.1);
}

template <class T> void Hierarchy<T>::add_level(const int step[3])
{
  Level<T>         &fine = levels_.back();
  Level<T>          c;
  int               rank = 0, periods[3];
  std::vector<Box3> have = boxes_;
  MPI_Comm_rank(comm_, &rank);
  Box3 whole;
  bool narrow = false;
  c.exec      = exec_;
  for (int d = 0; d < 3; ++d) {
    fine.step[d]  = step[d];
    c.n[d]        = step[d] == 2 ? (fine.n[d] + fine.odd(d)) / 2 : fine.n[d];
    c.periodic[d] = fine.periodic[d];
    periods[d]    = c.periodic[d] ? c.n[d] : 0;
    whole.hi[d]   = c.n[d];
    for (Box3 &b : have)
      if (step[d] == 2) {
        b.lo[d] = floor_half(b.lo[d]);
        b.hi[d] = floor_half(b.hi[d] + (fine.odd(d) && b.hi[d] == fine.n[d]));
      }
  }
  for (const Box3 &b : have) narrow = narrow || b.empty();
  c.shared = fine.shared || narrow ||
             (double)whole.size() <= (double)(params_.redundant ? params_.redundant : tuning::redundant_nodes);
  c.part   = fine.shared ? whole : have[(size_t)rank];
  c.own    = c.shared ? whole : c.part;
  c.layout = box::layout_for(c.own, 3);
  if (c.shared) {
    const Box3 all = box::wanted(c, whole, 3);
    c.halo.setup(MPI_COMM_SELF, {whole}, {all}, periods, c.layout, exec_.space);
    if (fine.shared) c.incoming.setup(MPI_COMM_SELF, {whole}, {all}, periods, c.layout, exec_.space);
    else c.incoming.setup(comm_, have, std::vector<Box3>(have.size(), all), periods, c.layout, exec_.space);
    boxes_ = {whole};
  } else {
    std::vector<Box3> need;
    for (const Box3 &b : have) need.push_back(box::wanted(c, b, 3));
    c.halo.setup(comm_, have, need, periods, c.layout, exec_.space);
    c.incoming.setup(comm_, have, need, periods, c.layout, exec_.space);
    boxes_ = have;
  }
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

// The node of the finest grid that node `from` of level k lies on.
template <class T> static void name_node(const std::vector<Level<T>> &levels, size_t k, double from, int node[3])
{
  const Level<T> &l = levels[k];
  const long long p = (long long)from - 1;
  node[0] = (int)(p % l.n[0]), node[1] = (int)(p / l.n[0] % l.n[1]), node[2] = (int)(p / l.n[0] / l.n[1]);
  for (; k; --k)
    for (int d = 0; d < 3; ++d)
      if (levels[k - 1].step[d] == 2) node[d] = std::min(2 * node[d] + 1, levels[k - 1].n[d] - 1);
}

// Are the coefficients in the range of the precision?
template <class T> bool Hierarchy<T>::fits(Failure &failure)
{
  report_differences(levels_[0], comm_, differences_, failure);
  failure.failed = failure.unfit = !in_range<T>(failure.largest);
  return !failure.failed;
}

// The kinds of level k, or what is wrong with it.
template <class T> bool Hierarchy<T>::look(size_t k, Failure &failure)
{
  Counts both[2];
  copy(found_.data() + 2 * k, exec_.space, both, Space::host, 2);
  both[0].join(both[1]);
  kinds_.push_back(shares(levels_[k], comm_, both[0]));
  if (kinds_[k].first > 0) {
    failure.failed = true;
    failure.grid   = (int)k;
    name_node(levels_, k, kinds_[k].first, failure.node);
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
  l.smoother.setup(false, l.degree, 1);
}

// The directions that level k is coarsened in, and its smoother.
template <class T> bool Hierarchy<T>::plan(size_t k, int step[3])
{
  Level<T>  &l      = levels_[k];
  const bool before = l.lines.any, any = choose(kinds_[k], l, step, l.lines.any);
  if (l.lines.any != before) ++setups_;
  set_smoother(k);
  return any;
}

// The blocks of level k's lines, where there are to be any; chosen: its kinds are known.
template <class T> void Hierarchy<T>::make_lines(size_t k, bool chosen)
{
  Level<T> &l = levels_[k];
  for (int d = 0; d < 3 && chosen; ++d) {
    std::set<int> begins; // of the processes' parts
    for (const Box3 &b : boxes_) begins.insert(b.lo[d]);
    l.lines.directions[d] = kinds_[k].line[d] > 0;
    l.lines.processes[d]  = (int)begins.size();
    l.lines.place[d]      = (int)std::distance(begins.begin(), begins.lower_bound(l.own.lo[d]));
  }
  if (l.lines.any) factor_lines(l, k ? nullptr : free_.data());
}

// After new values, for which the host waits once: would the same grids be chosen?
template <class T> bool Hierarchy<T>::look_again(Failure &failure, bool &same)
{
  if (!fits(failure)) return false;
  for (size_t k = 0; k < levels_.size(); ++k) {
    int        step[3];
    const bool lines = levels_[k].lines.any;
    if (!look(k, failure)) return false;
    if (k + 1 == levels_.size()) break;
    plan(k, step);
    same = same && std::equal(step, step + 3, levels_[k].step) && lines == levels_[k].lines.any;
    if (!same) break;
  }
  return true;
}

template <class T> Failure Hierarchy<T>::build(const Source &source, bool refresh)
{
  Failure   failure;
  Level<T> &finest = levels_[0];
  tried_.chosen = !refresh;
  if (!refresh) {
    tried_.spared = tried_.lined = false;
    ++setups_;
    finest.star  = !source.box;
    finest.schur = finest.star && !tried_.whole &&
                   !(finest.shared && (params_.levels == 1 || finest.nodes() <= exact_nodes));
    for (int d = 0; d < 3; ++d) // red and black nodes take turns
      if (finest.periodic[d] && finest.n[d] % 2) finest.schur = false;
    allocate(finest);
    free_.resize(Extent{finest.layout.size(), exec_.space});
    levels_.erase(levels_.begin() + 1, levels_.end());
    boxes_  = finest_boxes_;
    places_ = Buffer<ptrdiff_t>();
  }
  kinds_.clear();
  dirichlet_ = source.dirichlet;
  if (!found_.size()) found_.resize(Extent{2 * most_levels, exec_.space}), differences_.resize(Extent{2, exec_.space});
  finest.halo.exchange(source.free);
  copy(source.free, exec_.space, free_.data(), exec_.space, free_.size());
  compress(finest, source, differences_);
  if (!refresh && !fits(failure)) return failure;
  for (size_t k = 0;; ++k) {
    Buffer<uint8_t> &along = levels_[k].lines.along;
    if (!refresh) along.resize(Extent{tried_.lines ? levels_[k].layout.size() : 0, exec_.space});
    scale(levels_[k], k ? nullptr : free_.data());
    find_kinds(levels_[k], k == 0, found_.data() + 2 * k);
    if (!refresh && !look(k, failure)) return failure;
    if (refresh ? k + 1 == levels_.size() : levels_[k].shared && levels_[k].nodes() <= exact_nodes) break;
    if (!refresh) {
      int        step[3];
      const bool any = plan(k, step);
      if (levels_[k].shared && (!any || (params_.levels && (int)k + 1 >= params_.levels))) break;
      if (levels_[k].schur && levels_[k].lines.any) {
        tried_.whole = true;
        return build(source, false);
      }
      make_lines(k, true);
      add_level(step);
    } else make_lines(k, false);
    Level<T> &fine = levels_[k], &coarse = levels_[k + 1];
    interpolate(fine, coarse);
    product(fine, coarse);
    for (int d = 0; d < 3; ++d)
      if (coarse.periodic[d] && coarse.n[d] == 1) fold(coarse, d);
  }
  if (refresh) {
    bool same = true;
    if (!look_again(failure, same)) return failure;
    if (!same) {
      tried_ = Tried(); // other couplings
      return build(source, false);
    }
  }
  if (levels_.back().nodes() > (double)tuning::dense_maximum) {
    failure.failed = true;
    failure.exact  = levels_.back().nodes();
    return failure;
  }
  if (!refresh) join();
  parts_.setup(finest, comm_, kinds_[0].loose, !(finest.served_badly > badly_some));
  for (auto *f : {&right_, &constants_})
    if (f->size() != (parts_.empty() ? 0 : finest.b.size()))
      f->resize(Extent{parts_.empty() ? 0 : finest.b.size(), exec_.space});
  const Cycle cycle = params_.cycle != Cycle::automatic ? params_.cycle
                    : kinds_[0].jumps > jumps_some      ? Cycle::w
                                                        : Cycle::v;
  if (cycle != cycle_) ++setups_;
  cycle_ = cycle;
  invert(failure);
  if (!params_.reduced || !finest.schur) black_.reset();
  else if (!black_) black_ = std::make_unique<BlackSystem<T>>(*this);
  if (black_) black_->setup(source, comm_);
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

template <class T> Failure Hierarchy<T>::setup(const Source &source, bool refresh)
{
  if (!refresh) tried_ = Tried();
  Failure failure = build(source, refresh);
  if (failure.failed || !tried_.chosen) return failure;
  const double fair = kinds_[0].jumps > jumps_some ? fair_rough : fair_smooth;
  // Where lines are long they are the remedy.
  const double content = tried_.lined && kinds_[0].jumps < jumps_many ? fair_smooth : fair;
  const auto   attempt = [&] { return worth_trying() ? try_cycle(content) : 0; };
  tried_.expected = attempt();
  if (tried_.expected > fair && tried_.spared) {
    tried_.alone  = true;
    failure = build(source, false);
    if (failure.failed) return failure;
    tried_.expected = attempt();
  }
  if (tried_.expected > content && tried_.lined) {
    const double points = tried_.expected;
    tried_.lines        = true;
    failure             = build(source, false);
    if (failure.failed) return failure;
    tried_.expected = attempt();
    if (!(tried_.expected * lines_cost < points)) {
      tried_.lines = tried_.whole = false;
      failure                     = build(source, false);
      if (failure.failed) return failure;
      tried_.expected = points;
    }
  }
  if (tried_.expected <= fair) return failure;
  tried_.more = std::min(most_more, tried_.expected / fair);
  for (size_t k = 0; k + 1 < levels_.size(); ++k) set_smoother(k);
  return failure;
}

// The operator of the last grid, as ExactSolver takes it: node (i, j, k) is row i + n[0] (j + n[1] k).
template <class T> static std::vector<double> dense_operator(const Level<T> &l)
{
  const ptrdiff_t      plane = (ptrdiff_t)l.layout.size();
  std::vector<T>       a((size_t)plane * (1 + (l.star ? box::star_forward : box::box_forward)));
  std::vector<uint8_t> alive((size_t)plane);
  copy(l.a.data(), l.exec.space, a.data(), Space::host, a.size());
  copy(l.alive.data(), l.exec.space, alive.data(), Space::host, alive.size());
  const size_t        n = (size_t)l.nodes();
  std::vector<double> dense(n * n);
  const auto          wrap = [&](int i, int d) {
    return i >= 0 && i < l.n[d] ? i : (l.periodic[d] ? (i + l.n[d]) % l.n[d] : -1);
  };
  const auto row = [&](int i, int j, int k) { return (size_t)i + (size_t)l.n[0] * ((size_t)j + (size_t)l.n[1] * k); };
  for (int k = 0; k < l.n[2]; ++k)
    for (int j = 0; j < l.n[1]; ++j)
      for (int i = 0; i < l.n[0]; ++i) {
        const ptrdiff_t e = l.layout.at(i, j, k);
        const size_t    p = row(i, j, k);
        dense[p * n + p] += a[(size_t)e] > 0 ? a[(size_t)e] : 0;
        box::unroll3<0, box::box_forward>([&](auto m) {
          constexpr int M = decltype(m)::value;
          if (l.star && M >= box::star_forward) return;
          const int to[3] = {wrap(i + box::forward<M>(0), 0), wrap(j + box::forward<M>(1), 1),
                             wrap(k + box::forward<M>(2), 2)};
          if (to[0] < 0 || to[1] < 0 || to[2] < 0) return;
          const ptrdiff_t f = l.layout.at(to[0], to[1], to[2]);
          if (!alive[(size_t)e] || !alive[(size_t)f]) return;
          const size_t q = row(to[0], to[1], to[2]);
          const double v = a[(size_t)((M + 1) * plane + e)];
          dense[p * n + q] += v, dense[q * n + p] += v;
        });
      }
  return dense;
}

// The node of the last grid whose pivot is the least, relative to its diagonal entry.
template <class T> void Hierarchy<T>::name_pivot(Failure &failure) const
{
  const size_t        n     = (size_t)levels_.back().nodes();
  std::vector<double> dense = dense_operator(levels_.back()), diagonal(n);
  double              least = 0;
  size_t              at    = 0;
  for (size_t p = 0; p < n; ++p) diagonal[p] = dense[p * n + p];
  for (size_t p = 0; p < n; ++p) {
    const double pivot = dense[p * n + p];
    if (diagonal[p] > 0 && pivot / diagonal[p] < least) least = pivot / diagonal[p], at = p;
    if (!(pivot > 0)) continue;
    for (size_t q = p + 1; q < n; ++q) {
      const double factor = dense[q * n + p] / pivot;
      for (size_t r = p + 1; factor != 0 && r < n; ++r) dense[q * n + r] -= factor * dense[p * n + r];
    }
  }
  name_node(levels_, levels_.size() - 1, (double)at + 1, failure.node);
}

// The pseudo-inverse of the last grid's operator.
template <class T> void Hierarchy<T>::invert(Failure &failure)
{
  const Level<T>     &l     = levels_.back();
  std::vector<double> dense = dense_operator(l);
  double              negative;
  exact_.place(exec_, comm_, (int)l.nodes(), false);
  const auto result  = exact_.invert(exec_, dense, negative);
  failure.failed     = result != multigrid::ExactSolver<T>::Result::done;
  failure.not_finite = result == multigrid::ExactSolver<T>::Result::not_finite;
  failure.grid       = last();
  if (failure.failed && !failure.not_finite) name_pivot(failure);
  if (places_.size()) return;
  std::vector<ptrdiff_t> places;
  for (int k = 0; k < l.n[2]; ++k)
    for (int j = 0; j < l.n[1]; ++j)
      for (int i = 0; i < l.n[0]; ++i) places.push_back(l.layout.at(i, j, k));
  places_ = copy_to(exec_.space, places);
  for (auto &f : packed_) f.resize(Extent{places.size(), exec_.space});
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
