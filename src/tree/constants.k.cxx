// The smoother's constants on parts of the mesh (constants.hpp): which parts, their numbers, and what is added.
#include "tree/constants.hpp"
#include "tree/keepers.hpp"
#include "tree/pockets.hpp"
#include "tree/rows.hpp"
#include "exec/each.hpp"
#include "exec/gather.hpp"
#include "exec/shared.hpp"
#include "exec/unset.hpp"
#include "multigrid/exact.hpp"
#include <algorithm>
#include <cmath>
#include <type_traits>

namespace tessera::tree {

namespace {

// Nodes belong to the same part if their entry is more than so much of the larger diagonal entry. With 0.02 and with
// 0.1 barriers of 1e-3 to 1e-6 in space take 1.3 times as many iterations.
constexpr double tied_in_part = 0.05;
constexpr int    least_in_part = 3; // fewer nodes join the part that they are coupled with most
constexpr int    passes = 3;        // in which they do
// A part counts if the energy of its constant is less than so much of its diagonal entries.
constexpr double least_energy = 0.01;
constexpr double faint_energy = 1e-5; // or less of these, beside which single precision rounds too much
constexpr double none = -1, rest = -2; // labels: of no part, or of one that is most of the mesh
constexpr int    piece = 1024;         // most members of a part that are added up by one warp of a device

// Nodes without a part join that of their strongest coupling. Between two alike they join none, so that the order of
// nodes does not count.
template <class T> struct JoinStrongest {
  const int    *i, *j;
  const T      *a, *inverse;
  const double *label;
  double       *to;
  HD void       operator()(int p) const
  {
    to[p] = label[p];
    if (label[p] != none || !(inverse[p] > 0)) return;
    T      best = 0, other = 0; // other: the best one of another part
    double found = none;
    for (int e = i[p]; e < i[p + 1]; ++e) {
      const double of = label[j[e]];
      const T      v  = fabs(a[e]);
      if (of == none || j[e] == p) continue;
      if (of == found) best = v > best ? v : best;
      else if (v > best) other = best, best = v, found = of;
      else other = v > other ? v : other;
    }
    if (best > (T)1.001 * other) to[p] = found;
  }
};
template <class T> struct EnergyOfNode {
  const int *i, *j, *of;
  const T   *a, *inverse;
  double    *energy, *diagonal;
  HD void    operator()(int p) const
  {
    double sum = 0;
    for (int e = i[p]; of[p] >= 0 && e < i[p + 1]; ++e) sum += of[j[e]] == of[p] ? (double)a[e] : 0;
    energy[p]   = sum;
    diagonal[p] = inverse[p] > 0 ? 1 / (double)inverse[p] : 0;
  }
};
// Sums over the members of a piece; those of one vector in double precision, as a part's sum is little beside its
// terms.
template <class V> struct SumPiece {
  using Sum = std::conditional_t<width_of<V> == 1, double, V>;
  const int *begin, *member;
  const V   *r;
  Sum       *sum;
  int        log_threads;
  HD void    operator()(int item) const
  {
    const Shared at(item, log_threads);
    Sum          s = 0;
    for (int k = begin[at.node] + at.thread; k < begin[at.node + 1]; k += 1 << log_threads) s += r[member[k]];
    s = sum_shared(s, log_threads);
    if (!at.thread) sum[at.node] = s;
  }
};
// and over the pieces of a part.
template <class V> struct SumPart {
  const int                       *begin;
  const typename SumPiece<V>::Sum *of_piece;
  V                               *sum;
  HD void                          operator()(int part) const
  {
    typename SumPiece<V>::Sum s = 0;
    for (int k = begin[part]; k < begin[part + 1]; ++k) s += of_piece[k];
    sum[part] = (V)s;
  }
};
template <class T, class V> struct AddPart {
  const int *member, *of;
  const T   *weight;
  const V   *sum;
  V         *z, *x;
  T          c, w;
  HD void    operator()(int k) const
  {
    const int p = member[k];
    const V   s = c * weight[of[p]] * sum[of[p]];
    if (z) z[p] += s;
    if (x) x[p] += w * s;
  }
};
// The constant of a part that has no more energy than rounding may be in the null space, where what rounding leaves of
// a residual would become large. In double precision, where CG goes on to small residuals, it is left to the last grid.
template <class T> struct Weigh {
  const double *energy, *diagonal;
  T            *weight;
  HD void       operator()(int k) const
  {
    constexpr bool   single   = sizeof(T) == sizeof(float);
    constexpr double rounding = single ? 1e-7 : 1e-13;
    const double     least = rounding * diagonal[k], v = energy[k] + (single ? least : 0);
    weight[k] = v > 0 && energy[k] > (single ? -least : least) ? (T)(1 / v) : 0;
  }
};

constexpr int threads_of_part = 5; // the logarithm, on a device

} // namespace

// Of all processes.
template <class T>
template <class V> void PartConstants<T>::sum_parts(const Exec &exec, const V *r, V *sum)
{
  using Sum = typename SumPiece<V>::Sum;
  const int  log_threads = shared_on(exec, threads_of_part), pieces = (int)piece_.size() - 1;
  Sum *const of_piece = (Sum *)of_pieces_.data();
  for_each(exec, pieces << log_threads, SumPiece<V>{piece_.data(), member_.data(), r, of_piece, log_threads});
  for_each(exec, parts_, SumPart<V>{begin_.data(), of_piece, sum});
  if (shared_)
    multigrid::sum_processes(comm_, exec.space, &tessera::number(*sum, 0), (size_t)shared_ * width_of<V>, message_);
}

template <class T>
void PartConstants<T>::energies(const Level<T> &level, Buffer<double> &energy, Buffer<double> &diagonal)
{
  const Exec    &exec = level.exec;
  Buffer<double> of_node[2];
  for (Buffer<double> &of : of_node) of = make_unset<double>(exec, (size_t)level.n);
  for_each(exec, level.n,
           EnergyOfNode<T>{level.i.data(), level.j.data(), of_.data(), level.a.data(), level.inverse.data(),
                           of_node[0].data(), of_node[1].data()});
  for (int k = 0; k < 2; ++k) {
    Buffer<double> &sum = k ? diagonal : energy;
    sum = make_unset<double>(exec, (size_t)parts_);
    sum_parts(exec, of_node[k].data(), sum.data());
  }
}

// The parts of nodes with those labels, ghosts included: first those that processes share, which are known to be in
// the list of all.
template <class T> void PartConstants<T>::number(Level<T> &level, const std::vector<double> &label)
{
  const Exec         &exec = level.exec;
  const size_t        n = (size_t)level.n;
  const auto          ghosts = label.begin() + level.n;
  std::vector<double> others(ghosts, label.end()), own(label.begin(), ghosts);
  const auto          once = [](std::vector<double> &list) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    list.erase(list.begin(), std::lower_bound(list.begin(), list.end(), 0.));
  };
  once(others);
  once(own);
  if (level.distributed) {
    others = gather_from_all(comm_, others).all;
    once(others);
  }
  std::vector<double> mine;
  std::set_difference(own.begin(), own.end(), others.begin(), others.end(), std::back_inserter(mine));
  shared_ = (int)others.size();
  parts_  = shared_ + (int)mine.size();
  std::vector<int> of(label.size(), -1), begin((size_t)parts_ + 1), member;
  for (size_t p = 0; p < label.size(); ++p) {
    if (label[p] < 0) continue;
    const auto at = std::lower_bound(others.begin(), others.end(), label[p]);
    of[p] = at < others.end() && *at == label[p]
              ? (int)(at - others.begin())
              : shared_ + (int)(std::lower_bound(mine.begin(), mine.end(), label[p]) - mine.begin());
    if (p < n) ++begin[(size_t)of[p] + 1];
  }
  for (size_t k = 0; k < (size_t)parts_; ++k) begin[k + 1] += begin[k];
  member.resize((size_t)begin.back());
  std::vector<int> at(begin);
  for (size_t p = 0; p < n; ++p)
    if (of[p] >= 0) member[(size_t)at[(size_t)of[p]]++] = (int)p;
  std::vector<int> pieces;
  for (size_t k = 0; k < (size_t)parts_; ++k) {
    const int from = begin[k];
    begin[k] = (int)pieces.size();
    for (int m = from; m < begin[k + 1]; m += piece) pieces.push_back(m);
  }
  begin.back() = (int)pieces.size();
  pieces.push_back((int)member.size());
  begin_     = copy_to(exec.space, begin);
  piece_     = copy_to(exec.space, pieces);
  member_    = copy_to(exec.space, member);
  of_        = copy_to(exec.space, of);
  of_pieces_ = make_unset<double>(exec, pieces.size() * max_vectors);
}

template <class T> void PartConstants<T>::find(const Comm &comm, Level<T> &level)
{
  const Exec  &exec = level.exec;
  const size_t all = (size_t)(level.n + level.ghosts);
  const int    n = level.n;
  comm_ = comm;
  Buffer<T> inverse = make_unset<T>(exec, all);
  for_each(exec, n, CopyValues<T>{level.inverse.data(), inverse.data()});
  level.halo(inverse.data());
  const double     most = level.nodes / 2;
  const Components of = components(comm, level, inverse.data(), (T)tied_in_part, least_in_part, most);
  if (of.size.empty() && !level.distributed) return;
  std::vector<double> label((size_t)n, none);
  double              found = 0;
  for (size_t p = 0; p < label.size(); ++p) {
    if (of.size[p] < least_in_part) continue;
    label[p] = of.size[p] > most ? rest : of.label[p];
    found += label[p] >= 0;
  }
  const auto any_of = [&](double count) {
    if (level.distributed) MPI_Allreduce(MPI_IN_PLACE, &count, 1, MPI_DOUBLE, MPI_SUM, comm_);
    return count > 0;
  };
  if (!any_of(found)) return;
  label.resize(all, none);
  Buffer<double> labels = copy_to(exec.space, label), next = make_unset<double>(exec, all);
  level.exchange.forward(labels.data(), 1);
  for (int pass = 0; pass < passes; ++pass) {
    for_each(exec, n,
             JoinStrongest<T>{level.i.data(), level.j.data(), level.a.data(), inverse.data(), labels.data(),
                              next.data()});
    std::swap(labels, next);
    level.exchange.forward(labels.data(), 1);
  }
  label = listed(labels);
  number(level, label);
  Buffer<double> energy, diagonal;
  energies(level, energy, diagonal);
  const std::vector<double> e = listed(energy), d = listed(diagonal);
  const std::vector<int>    part = listed(of_);
  for (size_t p = 0; p < all; ++p)
    if (part[p] >= 0 && !(e[(size_t)part[p]] < least_energy * d[(size_t)part[p]])) label[p] = none;
  number(level, label);
  elsewhere_ = any_of(parts_);
  weight_    = make_unset<T>(exec, (size_t)parts_);
  sums_      = make_unset<T>(exec, (size_t)parts_ * max_vectors);
}

template <class T> void PartConstants<T>::take_values(const Level<T> &level)
{
  if (!any()) return;
  energies(level, energy_, diagonal_);
  for_each(level.exec, parts_, Weigh<T>{energy_.data(), diagonal_.data(), weight_.data()});
}

template <class T> bool PartConstants<T>::faint(const Level<T> &level) const
{
  if (!any()) return false;
  const std::vector<double> e = listed(energy_), d = listed(diagonal_);
  double                    found = 0;
  for (size_t k = 0; k < e.size(); ++k) found += e[k] < faint_energy * d[k];
  if (level.distributed) MPI_Allreduce(MPI_IN_PLACE, &found, 1, MPI_DOUBLE, MPI_SUM, comm_);
  return found > 0;
}

template <class T>
template <class V> void PartConstants<T>::add(const Level<T> &level, const V *r, T c, V *z, V *x, T w)
{
  if (!any()) return;
  const Exec &exec = level.exec;
  V *const    sum = (V *)sums_.data();
  sum_parts(exec, r, sum);
  for_each(exec, (int)member_.size(),
           AddPart<T, V>{member_.data(), of_.data(), weight_.data(), sum, z, x, c, w});
}

#define INSTANTIATE_ADD(T, ...) \
  template void PartConstants<T>::add<__VA_ARGS__>(const Level<T> &, const __VA_ARGS__ *, T, __VA_ARGS__ *, \
                                                   __VA_ARGS__ *, T);
#define INSTANTIATE(T) \
  template struct PartConstants<T>; \
  TESSERA_ALL_WIDTHS(INSTANTIATE_ADD, T)
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
