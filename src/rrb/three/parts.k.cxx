// Loose parts: which components are, and the correction by constants on them.
#include "box/tuning.hpp"
#include "exec/each.hpp"
#include "exec/shared.hpp"
#include "exec/sort.hpp"
#include "rrb/three/hierarchy.hpp"
#include <algorithm>
#include <limits>

namespace tessera::rrb::three {

namespace {

constexpr int piece       = 1024; // nodes whose values are summed together
constexpr int log_sharing = 5;    // threads of a device that share a sum, as a power of two

// Sums of pieces, in an order that no number of threads changes. nodes: their places in r, nullptr: 0, 1, 2 and so on.
template <class V> struct SumPieces {
  const int *nodes, *first;
  const V   *r;
  double    *sums;
  int        log_threads;
  HD void    operator()(int item) const
  {
    const Shared at(item, log_threads);
    double       sum = 0;
    at.each<4>(first[at.node], first[at.node + 1], [&](int n) { sum += (double)r[nodes ? nodes[n] : n]; });
    sum = sum_shared(sum, log_threads);
    if (!at.thread) sums[at.node] = sum;
  }
};
struct Divide {
  const double *inverse, *sum;
  double       *value;
  bool          again;
  HD void       operator()(int c) const { value[c] = (again ? value[c] : 0) + inverse[c] * sum[c]; }
};
// 4 B of the label and the value, read and written, a node.
template <class T> struct AddConstants {
  const double *value;
  const int    *label;
  T            *v;
  int           half;
  bool          add;
  template <int P> HD void at(int, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)half;
    v[e]              = (add ? v[e] : (T)0) + (T)value[label[e]];
  }
};

struct HasLabel {
  const int *label;
  uint8_t   *flag;
  int        half;
  template <int P> HD void at(int, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)half;
    flag[e]           = label[e] > 0;
  }
};
struct KeyOf {
  const int *nodes, *label;
  Key       *key;
  HD void    operator()(int p) const { key[p] = (Key)label[nodes[p]]; }
};
// The labels of the nodes that are smoothed.
struct Smoothed {
  const int *label;
  int       *to;
  int        half;
  bool       black;
  template <int P> HD void at(int, ptrdiff_t o, int j, int k) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)half;
    to[e]             = black && !((P + j + k) & 1) ? 0 : label[e];
  }
};

// The sum of weight(own label, other label, coupling) over a node's row, and of the diagonal entry where Weight
// has one.
template <class T, int F, class Weight> struct SumRow {
  box::Symmetric3<T, F> s;
  const int            *label;
  Weight                   weight;
  double               *to;
  template <int P> HD void at(int, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t e   = o + P * (ptrdiff_t)s.half;
    double          sum = weight.diagonal * (double)s.a[e];
    s.template each<P>(o, [&](T a, ptrdiff_t q) { sum += weight(label[e], label[q], (double)a); });
    to[e] = sum;
  }
};
// The diagonal entry and the couplings with the node's own component.
struct InsideComponent {
  static constexpr int diagonal = 1;
  HD double            operator()(int own, int other, double a) const { return own == other ? a : 0; }
};
// Couplings with other components that are parts.
struct BetweenParts {
  static constexpr int diagonal = 0;
  const int           *used;
  HD double operator()(int own, int other, double a) const { return own != other && used[other] ? fabs(a) : 0; }
};
// The node's share of 1' A 1 of its part, couplings with other parts by their absolute values.
struct Energy {
  static constexpr int diagonal = 1;
  HD double            operator()(int own, int other, double a) const { return own == other ? a : other ? fabs(a) : 0; }
};
template <class T, class Weight>
void sum_rows(const Level<T> &l, const Buffer<int> &label, const Weight &weight, Buffer<double> &to)
{
  with_operator(l, [&](auto s) {
    box::for_nodes(l.exec, l.layout, l.own, SumRow<T, decltype(s)::kept, Weight>{s, label.data(), weight, to.data()});
  });
}
// The same of the Schur complement, at a black node: eliminating the red ones beside it takes away.
template <class T> struct EnergySchur {
  box::Symmetric3<T, box::star_forward> s;
  const uint8_t                        *alive;
  const int                            *label;
  double                               *to;
  // o: as at() has it, of a red node of parity Q
  template <int Q> HD double eliminated(int here, double coupling, ptrdiff_t o) const
  {
    const ptrdiff_t e   = o + Q * (ptrdiff_t)s.half;
    double          sum = 0;
    if (!alive[e]) return 0;
    s.template each<Q>(o, [&](T a, ptrdiff_t q) {
      sum += label[q] == here ? (double)a : label[q] ? -(double)a : 0;
    });
    return coupling * sum / (double)s.a[e];
  }
  template <int P> HD void at(int, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t e   = o + P * (ptrdiff_t)s.half;
    double          sum = (double)s.a[e];
    if (label[e])
      box::unroll3<0, box::star_forward>([&](auto m) {
        constexpr int M = decltype(m)::value, x = box::forward<M>(0), y = box::forward<M>(1), z = box::forward<M>(2);
        constexpr int   Q     = (P + x) & 1;
        const ptrdiff_t ahead = o + ((P + x) >> 1) + y * s.sj + z * s.sk,
                        back  = o + ((P - x) >> 1) - y * s.sj - z * s.sk;
        sum -= eliminated<Q>(label[e], (double)s.a[(M + 1) * s.plane + e], ahead);
        sum -= eliminated<Q>(label[e], (double)s.a[(M + 1) * s.plane + back + Q * (ptrdiff_t)s.half], back);
      });
    to[e] = sum;
  }
};

void sum_over(const Comm &comm, bool shared, std::vector<double> &v)
{
  if (!shared) MPI_Allreduce(MPI_IN_PLACE, v.data(), (int)v.size(), MPI_DOUBLE, MPI_SUM, comm);
}

// The sums of a field over the components of all processes.
template <class T, class V>
std::vector<double> sums_of(const Level<T> &l, const Comm &comm, Groups &groups, const V *field)
{
  const Extent        n{(size_t)groups.count() + 1, l.exec.space};
  Buffer<double>      value(n);
  std::vector<double> sums(n.n);
  groups.sum(l.exec, field, value.data());
  copy(value.data(), l.exec.space, sums.data(), Space::host, n.n);
  sum_over(comm, l.shared, sums);
  return sums;
}

// The parts among the components, whose nodes are `groups`: used[c] is the part's number, or 0. Returns how many parts
// there are; 0: they are left alone.
template <class T> int choose_parts(const Level<T> &l, const Comm &comm, bool lines, const Buffer<int> &label,
                                    Groups &groups, std::vector<int> &used)
{
  const int      total = groups.count();
  Buffer<double> field(Extent{l.layout.size(), l.exec.space});
  used.assign((size_t)total + 1, 0);
  std::vector<double> nodes(used.size(), 0), among;
  for (int c = 1; c <= total; ++c) nodes[(size_t)c] = groups.size(c);
  sum_over(comm, l.shared, nodes);
  sum_rows(l, label, InsideComponent(), field);
  const std::vector<double> centre = sums_of(l, comm, groups, l.a.data()),
                            ties   = sums_of(l, comm, groups, (const double *)field.data());
  double                    largest = 0;
  for (size_t c = 1; c < used.size(); ++c) {
    largest = std::max(largest, nodes[c]);
    used[c] = nodes[c] >= 2 && ties[c] <= tuning::loose_component * centre[c];
  }
  if (lines) {
    const Buffer<int> on_device = copy_to(l.exec.space, used);
    sum_rows(l, label, BetweenParts{on_device.data()}, field);
    among = sums_of(l, comm, groups, (const double *)field.data());
  }
  // They are left alone where the largest component is the only one, and where all are as large as that and some are
  // tied to each other, as the lines of an anisotropic problem are.
  int  count = 0, smaller = 0;
  bool tied = false;
  for (size_t c = 1; c < used.size(); ++c) {
    if (!used[c]) continue;
    const bool among_lines = lines && among[c] > 0.5 * ties[c];
    used[c] = among_lines ? 0 : ++count;
    smaller += !among_lines && nodes[c] < largest;
    tied = tied || among_lines;
  }
  return smaller || (count > 1 && !tied) ? count : 0;
}

} // namespace

template <class T> void Groups::list(const Level<T> &l, const Buffer<int> &labels, int count)
{
  const Exec      &exec = l.exec;
  const int        n    = (int)l.layout.size();
  Buffer<uint8_t>  flags(Extent{(size_t)n, exec.space});
  Buffer<Key>      keys;
  Buffer<int>      starts;
  std::vector<int> start((size_t)count + 1), pieces, first{0, 0};
  count_ = count;
  box::for_nodes(exec, l.layout, l.own, HasLabel{labels.data(), flags.data(), l.layout.half});
  select(exec, n, flags, nodes_);
  const int found = (int)nodes_.size();
  keys.resize(Extent{(size_t)found, exec.space});
  for_each(exec, found, KeyOf{nodes_.data(), labels.data(), keys.data()});
  sort_keys(exec, found, bits_of((Key)count), keys, nodes_);
  bucket_starts(exec, found, keys.data(), count, (Key)1, starts);
  copy(starts.data(), exec.space, start.data(), Space::host, start.size());
  sizes_.assign((size_t)count + 1, 0);
  for (int c = 1; c <= count; ++c) {
    const int begin = start[(size_t)c - 1], end = start[(size_t)c];
    sizes_[(size_t)c] = end - begin;
    for (int p = begin; p < end; p += piece) pieces.push_back(p);
    first.push_back((int)pieces.size());
  }
  partial_.resize(Extent{pieces.size(), exec.space});
  pieces.push_back(found);
  pieces_ = copy_to(exec.space, pieces);
  first_  = copy_to(exec.space, first);
}

template <class V> void Groups::sum(const Exec &exec, const V *r, double *value)
{
  const int  pieces = (int)partial_.size(), parts = count_ + 1;
  const bool fits   = std::max(pieces, parts) <= std::numeric_limits<int>::max() >> log_sharing; // items are int
  const int  log    = fits ? shared_on(exec, log_sharing) : 0;
  for_each(exec, pieces << log, SumPieces<V>{nodes_.data(), pieces_.data(), r, partial_.data(), log});
  for_each(exec, parts << log, SumPieces<double>{nullptr, first_.data(), partial_.data(), value, log});
}

size_t Groups::bytes() const { return nodes_.bytes() + pieces_.bytes() + first_.bytes() + partial_.bytes(); }

size_t Parts::bytes() const
{
  return strong_.bytes() + component_.bytes() + components_.bytes() + groups_.bytes() + label_.bytes() +
         sum_.bytes() + value_.bytes() + inverse_.bytes();
}

template <class T> bool Parts::setup(const Level<T> &l, const Comm &comm, double loose, bool lines)
{
  const bool had  = !empty();
  const auto none = [&] {
    *this  = Parts();
    loose_ = loose;
    return had;
  };
  if (!(loose > 0) || (!count_ && loose == loose_)) return none();
  if (l.layout.size() > (size_t)std::numeric_limits<int>::max()) return none(); // numbers of nodes are int here
  const Extent     n{l.layout.size(), l.exec.space};
  std::vector<int> used;
  const bool       other = pattern_changes(l, comm, strong_);
  if (other) {
    const int total = find_components(l, comm, component_);
    if (total < 2) return none();
    components_.list(l, component_, total);
  }
  count_ = choose_parts(l, comm, lines, component_, components_, used);
  if (!count_) return none();
  loose_ = loose;
  const bool        stay      = !other && used == used_;
  const Buffer<int> on_device = copy_to(l.exec.space, used);
  Buffer<int>       part(n);
  Buffer<double>    field(n);
  used_ = used;
  for_each(l.exec, (int)n.n, GatherValues<int>{component_.data(), on_device.data(), part.data()});
  if (!stay) {
    label_.resize(n);
    box::for_nodes(l.exec, l.layout, l.own, Smoothed{part.data(), label_.data(), l.layout.half, l.schur});
    groups_.list(l, label_, count_);
  }
  if (l.schur)
    box::for_nodes(l.exec, l.layout, l.own,
                   EnergySchur<T>{view<box::star_forward>(l), l.alive.data(), part.data(), field.data()});
  else sum_rows(l, part, Energy(), field);
  std::vector<double> inverse = sums_of(l, comm, groups_, (const double *)field.data());
  const std::vector<double> scale    = sums_of(l, comm, groups_, l.a.data());
  const double              rounding = sizeof(T) == 8 ? 1e-13 : 2e-7;
  for (size_t c = 0; c < inverse.size(); ++c)
    inverse[c] = c && inverse[c] > rounding * scale[c] ? 1 / inverse[c] : 0;
  for (Buffer<double> *v : {&inverse_, &sum_, &value_}) v->fit(Extent{inverse.size(), l.exec.space});
  copy(inverse.data(), Space::host, inverse_.data(), l.exec.space, inverse.size());
  return !stay;
}

template <class T> void Parts::project(const Level<T> &l, const Comm &comm, const T *r, T *v, bool again)
{
  groups_.sum(l.exec, r, sum_.data());
  if (!l.shared) {
    std::vector<double> sums((size_t)count_ + 1);
    copy(sum_.data(), l.exec.space, sums.data(), Space::host, sums.size());
    sum_over(comm, l.shared, sums);
    copy(sums.data(), Space::host, sum_.data(), l.exec.space, sums.size());
  }
  for_each(l.exec, count_ + 1, Divide{inverse_.data(), sum_.data(), value_.data(), again});
  box::for_nodes(l.exec, l.layout, l.own, AddConstants<T>{value_.data(), label_.data(), v, l.layout.half, again});
}

#define INSTANTIATE(T) \
  template bool Parts::setup(const Level<T> &, const Comm &, double, bool); \
  template void Parts::project(const Level<T> &, const Comm &, const T *, T *, bool);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::rrb::three
