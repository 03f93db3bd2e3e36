#include "rrb/components.hpp"
#include "core/tuning.hpp"
#include "rrb/rrb.hpp"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace tessera::rrb {

namespace {

// Sets of numbers that grow together.
struct Sets {
  std::vector<int> parent;
  explicit Sets(size_t n) : parent(n) { std::iota(parent.begin(), parent.end(), 0); }
  int root(int i)
  {
    while (parent[(size_t)i] != i) i = parent[(size_t)i] = parent[(size_t)parent[(size_t)i]];
    return i;
  }
  void join(int i, int j)
  {
    i = root(i), j = root(j);
    parent[(size_t)std::max(i, j)] = std::min(i, j);
  }
};

// A coupling that ties its ends together.
bool strong(double w, double d, double e) { return fabs(w) > tuning::loose_coupling * std::max(d, e); }

double diagonal(const SchurView<double> &a, int q, ptrdiff_t p) { return q ? a.cc[p] : a.co[p]; }

// Calls f(quarter, place, other quarter, its place, coupling) for every coupling of the owned nodes, from this process's side.
template <class F> void for_neighbours(const SchurView<double> &a, int q, ptrdiff_t p, const F &f)
{
  const ptrdiff_t l = a.sx, r = a.sy;
  if (q == 0) {
    f(3, p - l - r, a.e[0][p]), f(3, p - r, a.e[1][p]), f(3, p - l, a.e[2][p]), f(3, p, a.e[3][p]);
    f(0, p + l, a.fo[0][p]), f(0, p - l, a.fo[0][p - l]), f(0, p + r, a.fo[1][p]), f(0, p - r, a.fo[1][p - r]);
  } else {
    f(0, p, a.e[3][p]), f(0, p + l, a.e[2][p + l]), f(0, p + r, a.e[1][p + r]), f(0, p + l + r, a.e[0][p + l + r]);
    f(3, p + l, a.fc[0][p]), f(3, p - l, a.fc[0][p - l]), f(3, p + r, a.fc[1][p]), f(3, p - r, a.fc[1][p - r]);
  }
}

// Calls f(quarter, place, other quarter, its place, coupling) for every coupling that an owned node stores.
template <class F> void for_couplings(const Grid &g, const SchurView<double> &a, const F &f)
{
  const Box o = g.owned(quarter_o), c = g.owned(quarter_c);
  for (int Y = o.y0; Y < o.y1; ++Y)
    for (int X = o.x0; X < o.x1; ++X) {
      const ptrdiff_t p = X * a.sx + Y * a.sy, to[4] = {p - a.sx - a.sy, p - a.sy, p - a.sx, p};
      for (int k = 0; k < 4; ++k) f(0, p, 3, to[k], a.e[k][p]);
      f(0, p, 0, p + a.sx, a.fo[0][p]);
      f(0, p, 0, p + a.sy, a.fo[1][p]);
    }
  for (int Y = c.y0; Y < c.y1; ++Y)
    for (int X = c.x0; X < c.x1; ++X) {
      const ptrdiff_t p = X * a.sx + Y * a.sy;
      f(3, p, 3, p + a.sx, a.fc[0][p]);
      f(3, p, 3, p + a.sy, a.fc[1][p]);
    }
}

} // namespace

// f(quarter, place in the grid's fields, place in label_ and sum_)
template <class F> void Components::nodes(const Level &level, const F &f) const
{
  const View<double> v = level.layout.view((double *)nullptr, quarter_c); // places count from the plane's start
  const ptrdiff_t    start = place(level.layout, (char *)nullptr) - (char *)nullptr;
  for (int q : {0, 3}) {
    const Box b = level.grid.owned(q);
    for (int Y = b.y0; Y < b.y1; ++Y)
      for (int X = b.x0; X < b.x1; ++X) {
        const ptrdiff_t p = X * v.sx + Y * v.sy;
        f(q, p, p + start + (q ? (ptrdiff_t)level.layout.elements(1) : 0));
      }
  }
}

View<int> Components::labels(const Level &level, Buffer<int> &label)
{
  View<int> v = level.layout.view(label.data());
  v.q[0]      = place(level.layout, label.data());
  v.q[3]      = v.q[0] + level.layout.elements(1);
  return v;
}

// No strong coupling leaves a component.
bool Components::fits(Level &level, const SchurView<double> &a)
{
  int             ok = 1, all;
  const View<int> label = labels(level, label_);
  for_couplings(level.grid, a, [&](int q, ptrdiff_t p, int r, ptrdiff_t s, double w) {
    if (label.q[q][p] != label.q[r][s] && strong(w, diagonal(a, q, p), diagonal(a, r, s))) ok = 0;
  });
  MPI_Allreduce(&ok, &all, 1, MPI_INT, MPI_MIN, level.grid.comm);
  return all;
}

void Components::find(Level &level, const SchurView<double> &a)
{
  const Grid     &g = level.grid;
  const ptrdiff_t plane = (ptrdiff_t)level.layout.elements(1);
  FieldOf<double> field; // labels, as the halo knows numbers
  field.data.resize((size_t)(2 * plane));
  field.v      = level.layout.view(field.data.data());
  field.v.q[0] = place(level.layout, field.data.data());
  field.v.q[3] = field.v.q[0] + plane;
  field.v.q[1] = field.v.q[2] = nullptr;
  auto at = [&](int q, ptrdiff_t p) { return (int)(&field.v.q[q][p] - field.data.data()); };
  Sets local((size_t)(2 * plane));
  std::vector<char> mine((size_t)(2 * plane), 0);
  nodes(level, [&](int q, ptrdiff_t p, ptrdiff_t) { mine[(size_t)at(q, p)] = 1; });
  for_couplings(g, a, [&](int q, ptrdiff_t p, int r, ptrdiff_t s, double w) {
    if (mine[(size_t)at(r, s)] && strong(w, diagonal(a, q, p), diagonal(a, r, s))) local.join(at(q, p), at(r, s));
  });
  // numbers over all processes, 1 and up; none for single nodes
  std::vector<int> number((size_t)(2 * plane), 0);
  int              count = 0, before = 0, total = 0;
  nodes(level, [&](int q, ptrdiff_t p, ptrdiff_t) {
    bool tied = false;
    for_neighbours(a, q, p, [&](int r, ptrdiff_t s, double w) { tied = tied || strong(w, diagonal(a, q, p), diagonal(a, r, s)); });
    int &n = number[(size_t)local.root(at(q, p))];
    if (tied && !n) n = ++count;
  });
  MPI_Exscan(&count, &before, 1, MPI_INT, MPI_SUM, g.comm);
  if (!g.rank) before = 0;
  MPI_Allreduce(&count, &total, 1, MPI_INT, MPI_SUM, g.comm);
  nodes(level, [&](int q, ptrdiff_t p, ptrdiff_t) { field.v.q[q][p] = number[(size_t)local.root(at(q, p))] ? before + number[(size_t)local.root(at(q, p))] : 0; });
  level.halo.host().exchange(field.v, mask_o | mask_c);
  std::vector<int> pairs;
  for_couplings(g, a, [&](int q, ptrdiff_t p, int r, ptrdiff_t s, double w) {
    const int u = (int)field.v.q[q][p], v = (int)field.v.q[r][s];
    if (u == v || !u || !v || !strong(w, diagonal(a, q, p), diagonal(a, r, s))) return;
    pairs.push_back(u);
    pairs.push_back(v);
  });
  const int        processes = g.processes();
  int              n = (int)pairs.size();
  std::vector<int> counts((size_t)processes), starts((size_t)processes, 0), all;
  MPI_Allgather(&n, 1, MPI_INT, counts.data(), 1, MPI_INT, g.comm);
  for (int r = 1; r < processes; ++r) starts[(size_t)r] = starts[(size_t)r - 1] + counts[(size_t)r - 1];
  all.resize((size_t)(starts.back() + counts.back()) + 1);
  MPI_Allgatherv(pairs.data(), n, MPI_INT, all.data(), counts.data(), starts.data(), MPI_INT, g.comm);
  Sets joined((size_t)total + 1);
  for (size_t i = 0; i + 1 < all.size(); i += 2) joined.join(all[i], all[i + 1]);
  // what each one weighs: nodes, diagonal, ties to the rest (row sums and couplings that leave)
  std::vector<double> weight((size_t)3 * (total + 1), 0), sum(weight.size());
  nodes(level, [&](int q, ptrdiff_t p, ptrdiff_t) {
    const int    own  = joined.root((int)field.v.q[q][p]);
    const double d    = diagonal(a, q, p);
    double       ties = d;
    for_neighbours(a, q, p, [&](int r, ptrdiff_t s, double w) {
      if (joined.root((int)field.v.q[r][s]) == own) ties += w;
    });
    double *w = &weight[(size_t)3 * own];
    w[0] += 1;
    w[1] += d;
    w[2] += ties;
  });
  MPI_Allreduce(weight.data(), sum.data(), (int)weight.size(), MPI_DOUBLE, MPI_SUM, g.comm);
  double largest = 0;
  for (int i = 1; i <= total; ++i) largest = std::max(largest, sum[(size_t)3 * i]);
  std::vector<int> used((size_t)total + 1, 0);
  for (int i = 1; i <= total; ++i) { // with more than one node, nearly singular
    const double *w = &sum[(size_t)3 * i];
    used[(size_t)i] = joined.root(i) == i && w[0] >= 2 && w[1] > 0 && w[2] <= tuning::loose_component * w[1];
  }
  // Parts that are tied to each other before all, such as the lines of an anisotropic problem, are no islands.
  std::vector<double> among((size_t)total + 1, 0), all_among(among.size());
  nodes(level, [&](int q, ptrdiff_t p, ptrdiff_t) {
    const int own = joined.root((int)field.v.q[q][p]);
    if (!used[(size_t)own]) return;
    for_neighbours(a, q, p, [&](int r, ptrdiff_t s, double w) {
      const int other = joined.root((int)field.v.q[r][s]);
      if (other != own && used[(size_t)other]) among[(size_t)own] += fabs(w);
    });
  });
  MPI_Allreduce(among.data(), all_among.data(), total + 1, MPI_DOUBLE, MPI_SUM, g.comm);
  int loose = 0;
  count_ = 0;
  for (int i = 1; i <= total; ++i) {
    if (!used[(size_t)i]) continue;
    used[(size_t)i] = all_among[(size_t)i] > 0.5 * sum[(size_t)3 * i + 2] ? 0 : ++count_;
    loose += used[(size_t)i] && sum[(size_t)3 * i] < largest;
  }
  if (!loose) count_ = 0;
  known_ = true;
  if (!count_) return;
  label_.resize((size_t)(2 * plane));
  for (size_t i = 0; i < label_.size(); ++i) {
    const int l       = (int)field.data.data()[i];
    label_.data()[i] = l ? used[(size_t)joined.root(l)] : 0;
  }
}

void Components::setup(Level &level, SchurOf<double> &schur, double gaps)
{
  if (known_ && !count_ && gaps == gaps_) return;
  const bool there = level.layout.space == Space::cuda;
  Schur      copied; // the search is the host's, and rare
  auto       to_host = [](const Buffer<double> &from, Buffer<double> &to) {
    to.resize(from.size());
    copy(from, to);
  };
  if (there) {
    to_host(schur.c, copied.c);
    for (int k = 0; k < 4; ++k) to_host(schur.e[k], copied.e[k]);
    for (int k = 0; k < 2; ++k) to_host(schur.fo[k], copied.fo[k]), to_host(schur.fc[k], copied.fc[k]);
  }
  const SchurView<double> a = schur_view(level.layout, there ? copied : schur);
  if (!known_ || gaps != gaps_ || (count_ && !fits(level, a))) {
    find(level, a);
    if (count_ && there) list(level);
  }
  gaps_ = gaps;
  if (!count_) return;
  inverse_.assign((size_t)count_ + 1, 0);
  const View<int>     label = labels(level, label_);
  std::vector<double> mine((size_t)2 * (count_ + 1), 0), all(mine.size());
  nodes(level, [&](int q, ptrdiff_t p, ptrdiff_t) {
    const int l = label.q[q][p];
    double    s = diagonal(a, q, p);
    mine[2 * (size_t)l + 1] += s;
    for_neighbours(a, q, p, [&](int r, ptrdiff_t t, double w) {
      const int other = label.q[r][t];
      if (other == l) s += w;
      else if (other) s += fabs(w);
    });
    mine[2 * (size_t)l] += s;
  });
  MPI_Allreduce(mine.data(), all.data(), (int)mine.size(), MPI_DOUBLE, MPI_SUM, level.grid.comm);
  for (int i = 1; i <= count_; ++i) { // one without any tie is singular
    const double s = all[2 * (size_t)i], d = all[2 * (size_t)i + 1];
    inverse_[(size_t)i] = s > tuning::singular_pivot * d ? 1 / s : 0;
  }
  if (!there) return;
  device::copy_from_host(inverse_there_.data(), inverse_.data(), inverse_there_.bytes());
  device::synchronize();
}

namespace {

constexpr int piece = 64; // terms of a sum that one thread adds

// Sums of a round: every stride-th of the terms from `first` on.
template <class Term> struct SumKernel {
  const int *pieces;
  Term       term;
  double    *sum;
  HD void    operator()(int i, int) const
  {
    const int *p = pieces + 3 * i;
    double     s = 0;
    for (int k = p[0]; k < p[1]; k += p[2]) s += term(k);
    sum[i] = s;
  }
};
template <class T> struct NodeTerm {
  const int *nodes;
  View<T>    r;
  HD double  operator()(int k) const { return (double)r.q[nodes[k] & 1 ? 3 : 0][nodes[k] >> 1]; }
};
struct PartTerm {
  const double *parts;
  HD double     operator()(int k) const { return parts[k]; }
};

struct ValueKernel { // 0 without a component
  const double *sum, *inverse;
  double       *value;
  HD void       operator()(int i, int) const { value[i] = i ? sum[i - 1] * inverse[i] : 0; }
};

template <class T> struct ConstantsKernel {
  const double *value;
  const int    *label;
  T            *v;
  ptrdiff_t     sx, sy;
  bool          add;
  HD void       operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * sx + Y * sy;
    v[p]              = (T)value[label[p]] + (add ? v[p] : 0);
  }
};

} // namespace

// What the sums on the device go through, in an order that no number of threads changes.
void Components::list(const Level &level)
{
  std::vector<int> size((size_t)count_, 0), next(size), nodes_here, pieces;
  nodes(level, [&](int, ptrdiff_t, ptrdiff_t at) {
    if (const int l = label_.data()[at]) ++size[(size_t)l - 1];
  });
  for (int c = 1; c < count_; ++c) next[(size_t)c] = next[(size_t)c - 1] + size[(size_t)c - 1];
  nodes_here.resize((size_t)(next.back() + size.back()));
  nodes(level, [&](int q, ptrdiff_t p, ptrdiff_t at) {
    if (const int l = label_.data()[at]) nodes_here[(size_t)next[(size_t)l - 1]++] = (int)(2 * p) + (q == 3);
  });
  rounds_.assign(1, 0);
  for (bool more = true; more;) {
    int first = rounds_.size() > 1 ? rounds_[rounds_.size() - 2] : 0; // of a component, in what the round adds
    more      = false;
    for (int c = 0; c < count_; ++c) {
      const int n = size[(size_t)c], parts = std::max(1, (n + piece - 1) / piece);
      for (int i = 0; i < parts; ++i) pieces.insert(pieces.end(), {first + i, first + n, parts});
      first += n;
      size[(size_t)c] = parts;
      more            = more || parts > 1;
    }
    rounds_.push_back((int)(pieces.size() / 3));
  }
  auto to_device = [](const std::vector<int> &from, Buffer<int> &to) {
    to.resize({from.size(), Space::cuda});
    if (!from.empty()) device::copy_from_host(to.data(), from.data(), to.bytes());
  };
  to_device(nodes_here, nodes_);
  to_device(pieces, pieces_);
  label_there_.resize({label_.size(), Space::cuda});
  copy(label_, label_there_);
  partial_.resize({(size_t)rounds_.back(), Space::cuda});
  inverse_there_.resize({(size_t)count_ + 1, Space::cuda});
  value_.resize({(size_t)count_ + 1, Space::cuda});
  mine_.assign((size_t)count_, 0);
  device::synchronize(); // the lists' originals end here
}

template <class T> void Components::project_there(const Level &level, const View<T> &r, const View<T> &v, bool add)
{
  const Exec exec{Space::cuda};
  double    *sum = partial_.data();
  for (size_t i = 0; i + 1 < rounds_.size(); ++i) {
    const int  begin = rounds_[i], n = rounds_[i + 1] - begin;
    const int *pieces = pieces_.data() + 3 * begin;
    sum               = partial_.data() + begin;
    if (!i) forall(exec, {0, n, 0, 1}, SumKernel<NodeTerm<T>>{pieces, {nodes_.data(), r}, sum});
    else forall(exec, {0, n, 0, 1}, SumKernel<PartTerm>{pieces, {partial_.data()}, sum});
  }
  if (level.grid.processes() > 1) {
    device::copy_to_host(mine_.data(), sum, (size_t)count_ * sizeof(double));
    MPI_Allreduce(MPI_IN_PLACE, mine_.data(), count_, MPI_DOUBLE, MPI_SUM, level.grid.comm);
    device::copy_from_host(sum, mine_.data(), (size_t)count_ * sizeof(double));
  }
  forall(exec, {0, count_ + 1, 0, 1}, ValueKernel{sum, inverse_there_.data(), value_.data()});
  const View<int> label = labels(level, label_there_);
  for (int q : {0, 3}) forall(exec, level.grid.owned(q), ConstantsKernel<T>{value_.data(), label.q[q], v.q[q], v.sx, v.sy, add});
}

template <class T> void Components::project(const Level &level, const View<T> &r, const View<T> &v, bool add)
{
  if (level.layout.space == Space::cuda) return project_there(level, r, v, add);
  std::vector<double> mine((size_t)count_ + 1, 0), value(mine.size());
  nodes(level, [&](int q, ptrdiff_t p, ptrdiff_t at) { mine[(size_t)label_.data()[at]] += (double)r.q[q][p]; });
  if (level.grid.processes() > 1) MPI_Allreduce(mine.data(), value.data(), count_ + 1, MPI_DOUBLE, MPI_SUM, level.grid.comm);
  else value = mine;
  for (int i = 0; i <= count_; ++i) value[(size_t)i] *= inverse_[(size_t)i];
  nodes(level, [&](int q, ptrdiff_t p, ptrdiff_t at) { v.q[q][p] = (T)value[(size_t)label_.data()[at]] + (add ? v.q[q][p] : 0); });
}

template void Components::project<double>(const Level &, const View<double> &, const View<double> &, bool);
template void Components::project<float>(const Level &, const View<float> &, const View<float> &, bool);

} // namespace tessera::rrb
