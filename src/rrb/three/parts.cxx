// The search for loose parts: components of the graph of strong couplings, on the host.
#include "box/tuning.hpp"
#include "exec/sets.hpp"
#include "rrb/three/hierarchy.hpp"
#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::rrb::three {

namespace {

constexpr int piece = 128; // nodes that are summed one after the other

// The operator of a level on the host.
template <class T> struct Graph {
  const Level<T>      &l;
  std::vector<T>       a;
  std::vector<uint8_t> alive;
  size_t               plane;
  explicit Graph(const Level<T> &level) : l(level), a(level.a.size()), alive(level.alive.size()), plane(alive.size())
  {
    copy(l.a.data(), l.exec.space, a.data(), Space::host, a.size());
    copy(l.alive.data(), l.exec.space, alive.data(), Space::host, alive.size());
  }
  // f(place, i + j + k) for the own nodes that have couplings
  template <class F> void nodes(const F &f) const
  {
    for (int k = l.own.lo[2]; k < l.own.hi[2]; ++k)
      for (int j = l.own.lo[1]; j < l.own.hi[1]; ++j)
        for (int i = l.own.lo[0]; i < l.own.hi[0]; ++i) {
          const size_t e = (size_t)l.layout.at(i, j, k);
          if (alive[e]) f(e, i, j, k);
        }
  }
  // f(place of the neighbour, coupling, is it one that the node keeps?)
  template <class F> void couplings(size_t e, int i, int j, int k, const F &f) const
  {
    box::unroll3<0, box::box_forward>([&](auto m) {
      constexpr int M = decltype(m)::value, x = box::forward<M>(0), y = box::forward<M>(1), z = box::forward<M>(2);
      if (l.star && M >= box::star_forward) return;
      const size_t ahead = (size_t)l.layout.at(i + x, j + y, k + z), back = (size_t)l.layout.at(i - x, j - y, k - z);
      if (alive[ahead]) f(ahead, (double)a[(M + 1) * plane + e], true);
      if (alive[back]) f(back, (double)a[(M + 1) * plane + back], false);
    });
  }
  bool strong(double v, size_t e, size_t q) const
  {
    return std::fabs(v) > tuning::loose_coupling * (double)std::max(a[e], a[q]);
  }
};

// Numbers from 1 of the components of all processes, of ghosts too; 0 for single nodes. total: the largest.
template <class T> std::vector<int> find_components(const Graph<T> &g, const Comm &comm, int &total)
{
  const Level<T>      &l = g.l;
  Sets                 sets(g.plane);
  std::vector<uint8_t> own(g.plane, 0), tied(g.plane, 0);
  g.nodes([&](size_t e, int, int, int) { own[e] = 1; });
  g.nodes([&](size_t e, int i, int j, int k) {
    g.couplings(e, i, j, k, [&](size_t q, double v, bool) {
      if (!g.strong(v, e, q)) return;
      tied[e] = 1;
      if (own[q]) sets.join((int)e, (int)q);
    });
  });
  std::vector<double> number(g.plane, 0);
  int                 count = 0, before = 0, rank = 0, processes = 1;
  g.nodes([&](size_t e, int, int, int) {
    if (tied[e] && sets.root((int)e) == (int)e) number[e] = ++count;
  });
  total = count;
  if (!l.shared) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &processes);
    MPI_Exscan(&count, &before, 1, MPI_INT, MPI_SUM, comm);
    if (!rank) before = 0;
    MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_INT, MPI_SUM, comm);
  }
  for (double &v : number) v += v > 0 ? before : 0;
  g.nodes([&](size_t e, int, int, int) {
    if (tied[e]) number[e] = number[(size_t)sets.root((int)e)];
  });
  Buffer<double> there = copy_to(l.exec.space, number); // as the halo knows numbers
  const_cast<Level<T> &>(l).halo.exchange(there.data());
  copy(there.data(), l.exec.space, number.data(), Space::host, number.size());
  // pairs that couplings to other processes, and over a periodic seam, tie together
  std::vector<int> pairs, all, sizes((size_t)processes, 0), starts((size_t)processes, 0);
  g.nodes([&](size_t e, int i, int j, int k) {
    g.couplings(e, i, j, k, [&](size_t q, double v, bool kept) {
      if (kept && !own[q] && g.strong(v, e, q) && number[q] != number[e])
        pairs.insert(pairs.end(), {(int)number[e], (int)number[q]});
    });
  });
  if (!l.shared) {
    const int mine = (int)pairs.size();
    MPI_Allgather(&mine, 1, MPI_INT, sizes.data(), 1, MPI_INT, comm);
    for (size_t r = 1; r < sizes.size(); ++r) starts[r] = starts[r - 1] + sizes[r - 1];
    all.resize((size_t)(starts.back() + sizes.back()));
    MPI_Allgatherv(pairs.data(), mine, MPI_INT, all.data(), sizes.data(), starts.data(), MPI_INT, comm);
  } else all = pairs;
  Sets joined((size_t)total + 1);
  for (size_t i = 0; i + 1 < all.size(); i += 2) joined.join(all[i], all[i + 1]);
  std::vector<int> label(g.plane, 0);
  for (size_t e = 0; e < label.size(); ++e) label[e] = joined.root((int)number[e]);
  return label;
}

void sum_over(const Comm &comm, bool shared, std::vector<double> &v)
{
  if (!shared) MPI_Allreduce(MPI_IN_PLACE, v.data(), (int)v.size(), MPI_DOUBLE, MPI_SUM, comm);
}

// The parts among the components: used[c] is the part's number, or 0. Returns how many there are.
template <class T>
int choose_parts(const Graph<T> &g, const Comm &comm, bool lines, const std::vector<int> &label, std::vector<int> &used)
{
  const size_t        total = used.size();
  std::vector<double> nodes(total, 0), centre(total, 0), ties(total, 0), among(total, 0);
  g.nodes([&](size_t e, int i, int j, int k) {
    const size_t c = (size_t)label[e];
    nodes[c] += 1, centre[c] += (double)g.a[e], ties[c] += (double)g.a[e];
    g.couplings(e, i, j, k, [&](size_t q, double v, bool) { ties[c] += label[q] == label[e] ? v : 0; });
  });
  for (auto *v : {&nodes, &centre, &ties}) sum_over(comm, g.l.shared, *v);
  double largest = 0;
  for (size_t c = 1; c < total; ++c) {
    largest = std::max(largest, nodes[c]);
    used[c] = nodes[c] >= 2 && ties[c] <= tuning::loose_component * centre[c];
  }
  g.nodes([&](size_t e, int i, int j, int k) {
    const size_t c = (size_t)label[e];
    if (!used[c]) return;
    g.couplings(e, i, j, k, [&](size_t q, double v, bool) {
      among[c] += label[q] != label[e] && used[(size_t)label[q]] ? std::fabs(v) : 0;
    });
  });
  sum_over(comm, g.l.shared, among);
  int count = 0, islands = 0;
  for (size_t c = 1; c < total; ++c) {
    if (!used[c]) continue;
    used[c] = lines && among[c] > 0.5 * ties[c] ? 0 : ++count;
    islands += used[c] && nodes[c] < largest;
  }
  return islands ? count : 0;
}

// 1' A 1 of the parts, of the Schur complement where that is smoothed, couplings between two by their absolute values;
// and its inverse.
template <class T>
std::vector<double> invert_parts(const Graph<T> &g, const Comm &comm, const std::vector<int> &label, int count)
{
  std::vector<double> energy((size_t)count + 1, 0), scale((size_t)count + 1, 0);
  g.nodes([&](size_t e, int i, int j, int k) {
    const int here = label[e];
    if (g.l.schur && !((i + j + k) & 1)) { // what eliminating the red node gives its neighbours
      int    part[6], n = 0;
      double sum[6];
      g.couplings(e, i, j, k, [&](size_t q, double v, bool) {
        int w = 0;
        while (w < n && part[w] != label[q]) ++w;
        if (w == n) part[n] = label[q], sum[n++] = 0;
        sum[w] += v;
      });
      for (int v = 0; v < n; ++v)
        for (int w = 0; w < n; ++w)
          if (part[v] && part[w]) energy[(size_t)part[v]] += (v == w ? -1 : 1) * sum[v] * sum[w] / (double)g.a[e];
      return;
    }
    if (!here) return;
    energy[(size_t)here] += (double)g.a[e], scale[(size_t)here] += (double)g.a[e];
    if (g.l.schur) return;
    g.couplings(e, i, j, k, [&](size_t q, double v, bool) {
      energy[(size_t)here] += label[q] == here ? v : label[q] ? std::fabs(v) : 0;
    });
  });
  sum_over(comm, g.l.shared, energy);
  sum_over(comm, g.l.shared, scale);
  const double rounding = sizeof(T) == 8 ? 1e-13 : 2e-7;
  for (size_t c = 0; c < energy.size(); ++c)
    energy[c] = c && energy[c] > rounding * scale[c] ? 1 / energy[c] : 0;
  return energy;
}

} // namespace

template <class T>
void Parts::list(const Level<T> &l, const std::vector<int> &label, const std::vector<double> &inverse)
{
  std::vector<std::pair<int, ptrdiff_t>> sorted;
  for (size_t e = 0; e < label.size(); ++e)
    if (label[e]) sorted.push_back({label[e], (ptrdiff_t)e});
  std::sort(sorted.begin(), sorted.end());
  std::vector<ptrdiff_t> nodes;
  std::vector<int>       pieces, first(1, 0);
  size_t                 n = 0;
  for (int c = 0; c <= count_; ++c) {
    const size_t begin = n;
    while (n < sorted.size() && sorted[n].first == c) {
      if ((n - begin) % piece == 0) pieces.push_back((int)n);
      nodes.push_back(sorted[n++].second);
    }
    first.push_back((int)pieces.size());
  }
  partial_.resize(Extent{pieces.size(), l.exec.space});
  pieces.push_back((int)n);
  label_   = copy_to(l.exec.space, label);
  nodes_   = copy_to(l.exec.space, nodes);
  pieces_  = copy_to(l.exec.space, pieces);
  first_   = copy_to(l.exec.space, first);
  inverse_ = copy_to(l.exec.space, inverse);
  value_.resize(Extent{inverse.size(), l.exec.space});
}

template <class T> void Parts::setup(const Level<T> &l, const Comm &comm, double loose, bool lines)
{
  if (!(loose > 0) || (!count_ && loose == loose_)) {
    count_ = loose > 0 ? count_ : 0;
    loose_ = loose;
    return;
  }
  *this  = Parts();
  loose_ = loose;
  if (l.layout.size() > (size_t)std::numeric_limits<int>::max()) return; // numbers of nodes are int here
  const Graph<T>   g(l);
  int              total = 0;
  std::vector<int> label = find_components(g, comm, total), used((size_t)total + 1, 0);
  if (total < 2) return;
  count_ = choose_parts(g, comm, lines, label, used);
  if (!count_) return;
  for (int &c : label) c = used[(size_t)c];
  const std::vector<double> inverse = invert_parts(g, comm, label, count_);
  std::vector<int>          own(label.size(), 0); // of the nodes that are smoothed
  g.nodes([&](size_t e, int i, int j, int k) { own[e] = l.schur && !((i + j + k) & 1) ? 0 : label[e]; });
  list(l, own, inverse);
}

template void Parts::setup(const Level<double> &, const Comm &, double, bool);
template void Parts::setup(const Level<float> &, const Comm &, double, bool);

} // namespace tessera::rrb::three
