// The smoother's functions of parts of the mesh (part_functions.hpp): their energies, and what is added.
#include "tree/part_functions/part_functions.hpp"
#include "tree/part_functions/agglomerate.hpp"
#include "tree/dispatch.hpp"
#include "tree/smoother/invert.hpp"
#include "tree/cells/keepers.hpp"
#include "tree/cells/morton.hpp"
#include "tree/rows.hpp"
#include "exec/each.hpp"
#include "exec/gather.hpp"
#include "exec/groups.hpp"
#include "exec/shared.hpp"
#include "exec/unset.hpp"
#include "multigrid/exact.hpp"
#include <algorithm>
#include <climits>
#include <cmath>
#include <limits>

namespace tessera::tree {

namespace {

// Of n nodes' diagonal entries: a constant with less energy than this over the root of n is one that single precision
// rounds too much.
constexpr double faint_energy = 1e-5;
// A function with less than so much of its energy beside those before it is left out: in a part that is nearly flat.
constexpr double nearly_dependent = 1e-3;

// What the functions of a part are at node p: one, and its place in the part along each of D axes.
template <class T, int D> struct AtNode {
  const T *place;
  template <class F> HD void each(int p, const F &f) const
  {
    f(0, (T)1);
    for (int q = 0; q < D; ++q) f(q + 1, place[(ptrdiff_t)D * p + q]);
  }
};
// Of a part: the energies of its functions with each other, row by row up to the diagonal, of the symmetric part of A,
// then these numbers.
template <int D> constexpr int energies_of_part = (D + 1) * (D + 2) / 2;
enum { sum_of_diagonal, couplings_with_others, number_of_nodes, further_numbers };
template <int D> constexpr int numbers_of_part = energies_of_part<D> + further_numbers;
// Sums over the members of a piece.
template <class T, int D> struct EnergyOfPiece {
  const int   *begin, *member, *i, *j, *of;
  const T     *a, *inverse;
  AtNode<T, D> at_node;
  double      *sum;
  int          log_threads;
  HD void      operator()(int item) const
  {
    constexpr int N = numbers_of_part<D>;
    const Shared  at(item, log_threads);
    double        s[N] = {};
    at.each(begin[at.node], begin[at.node + 1], [&](int k) { add(member[k], s); });
    store_shared_sums(at, s, sum);
  }
  HD void add(int p, double *s) const
  {
    double product[D + 1] = {}, own[D + 1], outside = 0, *const further = s + energies_of_part<D>;
    for (int e = i[p]; e < i[p + 1]; ++e) {
      const double v = (double)a[e];
      if (of[j[e]] != of[p]) outside += fabs(v);
      else at_node.each(j[e], [&](int f, T value) { product[f] += v * (double)value; });
    }
    at_node.each(p, [&](int f, T value) { own[f] = (double)value; });
    for (int f = 0; f <= D; ++f)
      for (int g = 0; g <= f; ++g) s[f * (f + 1) / 2 + g] += 0.5 * (own[f] * product[g] + own[g] * product[f]);
    further[sum_of_diagonal] += inverse[p] > 0 ? 1 / (double)inverse[p] : 0;
    further[couplings_with_others] += outside;
    ++further[number_of_nodes];
  }
};
// r with the functions
template <class T, class V, int D> struct SumPiece {
  using Sum = SumOf<V>;
  const int   *begin, *member;
  const V     *r;
  AtNode<T, D> at_node;
  Sum         *sum;
  int          log_threads;
  HD void      operator()(int item) const
  {
    const Shared at(item, log_threads);
    Sum          s[D + 1];
    for (int f = 0; f <= D; ++f) s[f] = 0;
#ifndef __CUDA_ARCH__
    if constexpr (width_of<V> == 1) {
      if (!at.thread) side_by_side(begin[at.node], begin[at.node + 1], s);
      return store_shared_sums(at, s, sum);
    }
#endif
    at.each(begin[at.node], begin[at.node + 1], [&](int k) {
      const Sum v = r[member[k]];
      at_node.each(member[k], [&](int f, T value) { s[f] += value * v; });
    });
    store_shared_sums(at, s, sum);
  }
#ifndef __CUDA_ARCH__
  // Several sums, as each waits for the one before it
  void side_by_side(int first, int end, Sum *s) const
  {
    constexpr int many = 4;
    Sum           sums[many][D + 1] = {};
    const auto    take = [&](int k, Sum *to) {
      const Sum v = r[member[k]];
      at_node.each(member[k], [&](int f, T value) { to[f] += value * v; });
    };
    for (; first + many <= end; first += many)
      for (int m = 0; m < many; ++m) take(first + m, sums[m]);
    for (; first < end; ++first) take(first, sums[0]);
    for (int f = 0; f <= D; ++f) s[f] = (sums[0][f] + sums[1][f]) + (sums[2][f] + sums[3][f]);
  }
#endif
};
// and over the pieces of a part, each with `numbers`.
template <class Sum> struct SumPart {
  const int *begin;
  const Sum *of_piece;
  int        numbers;
  Sum       *sum;
  int        log_threads;
  HD void    operator()(int item) const
  {
    const Shared at(item, log_threads);
    const int    part = at.node / numbers, number = at.node % numbers;
    Sum          s = 0;
    at.each(begin[part], begin[part + 1], [&](int k) { s += of_piece[(ptrdiff_t)numbers * k + number]; });
    s = sum_shared(s, log_threads);
    if (!at.thread) sum[at.node] = s;
  }
};
// The sums of a part become the factors of its functions.
template <class T, class Sum, int D> struct SolvePart {
  const T *inverse;
  Sum     *sum;
  HD void  operator()(int part) const
  {
    Sum            x[D + 1];
    const T *const m = inverse + (ptrdiff_t)(D + 1) * (D + 1) * part;
    Sum *const     b = sum + (ptrdiff_t)(D + 1) * part;
    for (int f = 0; f <= D; ++f) {
      x[f] = 0;
      for (int g = 0; g <= D; ++g) x[f] += m[(D + 1) * f + g] * b[g];
    }
    for (int f = 0; f <= D; ++f) b[f] = x[f];
  }
};
template <class T, class V, int D> struct AddPart {
  using Sum = SumOf<V>;
  const int   *member, *of;
  const Sum   *factors;
  AtNode<T, D> at_node;
  V           *z, *x;
  T            c, w;
  HD void      operator()(int k) const
  {
    const int p = member[k];
    const V   s = at(p, factors + (ptrdiff_t)(D + 1) * of[p]);
    if (z) z[p] += s;
    if (x) x[p] += w * s;
  }
  template <class F> HD V at(int p, const F *factor) const
  {
    V sum = 0;
    at_node.each(p, [&](int f, T value) { sum += value * (V)factor[f]; });
    return c * sum;
  }
};
// The same on the host for a piece, whose part's factors stay in registers
template <class T, class V, int D> struct AddPiece {
  AddPart<T, V, D> add;
  const int       *begin;
#ifdef __CUDA_ARCH__
  HD void operator()(int) const { }
#else
  void    operator()(int piece) const
  {
    const int first = begin[piece], end = begin[piece + 1];
    if (first == end) return;
    const auto *const mine = add.factors + (ptrdiff_t)(D + 1) * add.of[add.member[first]];
    V                 factor[D + 1], *const z = add.z, *const x = add.x;
    for (int f = 0; f <= D; ++f) factor[f] = (V)mine[f];
    const auto each = [&](const auto &take) {
      for (int k = first; k < end; ++k) take(add.member[k], add.at(add.member[k], factor));
    };
    if (z && x) each([&](int p, V s) { z[p] += s, x[p] += add.w * s; });
    else if (z) each([&](int p, V s) { z[p] += s; });
    else if (x) each([&](int p, V s) { x[p] += add.w * s; });
  }
#endif
};
// Numbers, sums and sums of squares along each axis of a piece's nodes
template <int D> constexpr int moments_of_part = 1 + 2 * D;
template <int D> struct MomentsOfPiece {
  const int *begin, *member;
  const Key *key;
  double    *sum;
  int        log_threads;
  HD void    operator()(int item) const
  {
    constexpr int N = moments_of_part<D>;
    const Shared  at(item, log_threads);
    double        s[N] = {};
    at.each(begin[at.node], begin[at.node + 1], [&](int k) {
      const auto place = deinterleave<D>(key[member[k]]);
      ++s[0];
      for (int q = 0; q < D; ++q) {
        const double x = place.x[q];
        s[1 + q] += x;
        s[1 + D + q] += x * x;
      }
    });
    store_shared_sums(at, s, sum);
  }
};
// They become the mean place and one over the standard deviation along each axis.
template <int D> struct EndMoments {
  double *moments;
  HD void operator()(int part) const
  {
    constexpr double flat = 1e-14; // variance that is rounding
    double *const    m    = moments + (ptrdiff_t)moments_of_part<D> * part;
    for (int q = 0; q < D; ++q) {
      const double mean = m[1 + q] / m[0], variance = m[1 + D + q] / m[0] - mean * mean;
      m[1 + q]     = mean;
      m[1 + D + q] = variance > flat * mean * mean ? 1 / sqrt(variance) : 0;
    }
  }
};
template <class T, int D> struct PlaceInPart {
  const int    *member, *of;
  const Key    *key;
  const double *moments;
  T            *place;
  HD void       operator()(int k) const
  {
    const int           p = member[k];
    const double *const m = moments + (ptrdiff_t)moments_of_part<D> * of[p];
    const auto          at = deinterleave<D>(key[p]);
    for (int q = 0; q < D; ++q) place[(ptrdiff_t)D * p + q] = (T)((at.x[q] - m[1 + q]) * m[1 + D + q]);
  }
};

// The energy of a part's constant; e: the numbers of the part; 0: none. The constant of a part that has no more energy
// than rounding may be in the null space, where what rounding leaves of a residual would become large. In double
// precision, where CG goes on to small residuals, it is left to the last grid.
template <class T, int D> HD double energy_of_constant(const double *e)
{
  constexpr bool   single   = sizeof(T) == sizeof(float);
  constexpr double rounding = single ? 1e-7 : 1e-13;
  const double     least    = rounding * e[energies_of_part<D> + sum_of_diagonal];
  return single ? (e[0] > -least ? e[0] + least : 0) : e[0] > least ? e[0] : 0;
}
template <class T, int D> struct InvertEnergy {
  const double *energy;
  bool          together; // the constants of all parts are, elsewhere
  T            *inverse;
  HD void       operator()(int part) const
  {
    constexpr int       n = D + 1;
    const double *const e = energy + (ptrdiff_t)numbers_of_part<D> * part;
    double              m[n * n];
    for (int f = 0; f < n; ++f)
      for (int g = 0; g <= f; ++g) m[f * n + g] = m[g * n + f] = e[f * (f + 1) / 2 + g];
    const double constant = m[0] = energy_of_constant<T, D>(e);
    if (!(constant > 0))
      for (int f = 0; f < n; ++f) m[f] = m[f * n] = 0;
    invert_block<n>(m, n, nearly_dependent);
    if (together && constant > 0) m[0] -= 1 / constant;
    for (int k = 0; k < n * n; ++k) inverse[(ptrdiff_t)n * n * part + k] = (T)m[k];
  }
};

// A 1
template <class T> struct SumRow {
  const int *i;
  const T   *a;
  T         *sum;
  HD void    operator()(int p) const
  {
    double s = 0;
    for (int e = i[p]; e < i[p + 1]; ++e) s += (double)a[e];
    sum[p] = (T)s;
  }
};

constexpr int threads_of_part = 5; // the logarithm, on a device

} // namespace

// f(number of axes), as a constant
template <class F> void with_axes(int dim, const F &f)
{
  if (dim == 2) f(Number<2>());
  else f(Number<3>());
}

// Of all processes: `numbers` of each part from those of its pieces.
template <class T>
template <class Sum>
void PartFunctions<T>::sum_pieces(const Exec &exec, const Sum *of_piece, int numbers, Sum *sum)
{
  const int sums = parts_ * numbers, shared = shared_on(exec, threads_of_part);
  const int log_threads = sums > INT_MAX >> shared ? 0 : shared;
  for_each(exec, sums << log_threads,
           SumPart<Sum>{begin_.data(), of_piece, numbers, sum, log_threads});
  if (shared_)
    multigrid::sum_processes(comm_, exec.space, &tessera::number(*sum, 0),
                             (size_t)(shared_ * numbers) * width_of<Sum>, message_);
}

// Of all processes, numbers_of_part of each part.
template <class T> template <int D> void PartFunctions<T>::energies(const Level<T> &level)
{
  constexpr size_t N    = numbers_of_part<D>;
  const Exec      &exec = level.exec;
  const int        log_threads = shared_on(exec, threads_of_part), pieces = (int)piece_.size() - 1;
  Buffer<double>   of_piece = make_unset<double>(exec, (size_t)pieces * N);
  energy_ = make_unset<double>(exec, (size_t)parts_ * N);
  for_each(exec, pieces << log_threads,
           EnergyOfPiece<T, D>{piece_.data(), member_.data(), level.i.data(), level.j.data(), of_.data(),
                               level.a.data(), level.inverse.data(), {place_.data()}, of_piece.data(), log_threads});
  sum_pieces(exec, of_piece.data(), N, energy_.data());
}

// Where the nodes of parts are: along each axis how far from the mean place of the part's nodes, in standard
// deviations. Without keys, on crowded meshes, constants are all there is.
template <class T> template <int D> std::vector<double> PartFunctions<T>::find_places(Level<T> &level)
{
  constexpr int  N = moments_of_part<D>;
  const Exec    &exec = level.exec;
  const int      log_threads = shared_on(exec, threads_of_part), pieces = (int)piece_.size() - 1;
  Buffer<double> of_piece = make_unset<double>(exec, (size_t)pieces * N),
                 moments  = make_unset<double>(exec, (size_t)parts_ * N);
  place_ = Buffer<T>(Extent{D * (size_t)(level.n + level.ghosts), exec.space});
  const Key *const key = (level.place.empty() ? level.start : level.place).data();
  if (key)
    for_each(exec, pieces << log_threads,
             MomentsOfPiece<D>{piece_.data(), member_.data(), key, of_piece.data(), log_threads});
  else of_piece.zero();
  sum_pieces(exec, of_piece.data(), N, moments.data()); // a process without nodes takes part
  for_each(exec, parts_, EndMoments<D>{moments.data()});
  for_each(exec, key ? (int)member_.size() : 0,
           PlaceInPart<T, D>{member_.data(), of_.data(), key, moments.data(), place_.data()});
  double known = key || !level.n;
  if (level.distributed) {
    level.exchange.forward(place_.data(), D);
    MPI_Allreduce(MPI_IN_PLACE, &known, 1, MPI_DOUBLE, MPI_MIN, comm_);
  }
  if (!(known > 0)) return {};
  const std::vector<double> m = listed(moments);
  std::vector<double>       mean;
  for (size_t k = 0; k < m.size(); k += N)
    mean.insert(mean.end(), &m[k + 1], &m[k + 1] + D);
  return mean;
}

template <class T>
void PartFunctions<T>::find_network(const Level<T> &level, const Params &params, const std::vector<double> &place)
{
  double known = place.size() == (size_t)dim_ * (size_t)parts_ && total_ > 1;
  if (level.distributed) MPI_Allreduce(MPI_IN_PLACE, &known, 1, MPI_DOUBLE, MPI_MIN, comm_);
  if (known > 0) network_.find(comm_, level, params, of_, parts_, shared_, place);
}

// What one step of the smoother takes of ones, B^-1 A 1, at each node: all of it in a block that fixed nodes hold.
template <class T> Buffer<T> PartFunctions<T>::held(Level<T> &level) const
{
  Buffer<T> sum = make_unset<T>(level.exec, (size_t)level.n), z = make_unset<T>(level.exec, (size_t)level.n);
  for_each(level.exec, level.n, SumRow<T>{level.i.data(), level.a.data(), sum.data()});
  for_each(level.exec, level.n, multigrid::FirstZero<T, T>{sum.data(), level.inverse.data(), z.data(), T(1)});
  level.blocks.add(level, sum.data(), T(1), z.data(), (T *)nullptr, T(0));
  return z;
}

// Of all nodes, ghosts included
template <class T> Buffer<double> PartFunctions<T>::labels(Level<T> &level) const
{
  Buffer<double> label = agglomerate(comm_, level, dim_, held(level));
  if (!level.distributed) return label;
  Buffer<double> all = make_unset<double>(level.exec, (size_t)(level.n + level.ghosts));
  copy(label, all);
  level.exchange.forward(all.data(), 1);
  return all;
}

template <class T>
void PartFunctions<T>::find(const Comm &comm, Level<T> &level, const Params &params, Buffer<double> *keep)
{
  *this        = PartFunctions<T>(); // held() applies the level's blocks, of which these are a part
  dim_         = params.dim;
  comm_        = comm;
  double known = keep && !keep->empty() && keep->size() == (size_t)(level.n + level.ghosts);
  if (keep && level.distributed) MPI_Allreduce(MPI_IN_PLACE, &known, 1, MPI_DOUBLE, MPI_MIN, comm_);
  if (!(known > 0) && !may_have_parts(level)) return;
  Buffer<double>      label = known > 0 ? std::move(*keep) : labels(level);
  std::vector<double> place;
  number(level, label);
  with_axes(dim_, [&](auto axes) { place = this->template find_places<axes.value>(level); });
  total_ = parts_ - shared_;
  if (level.distributed) MPI_Allreduce(MPI_IN_PLACE, &total_, 1, MPI_DOUBLE, MPI_SUM, comm_);
  total_ += shared_;
  const size_t functions = (size_t)(dim_ + 1);
  inverse_   = make_unset<T>(level.exec, (size_t)parts_ * functions * functions);
  sums_      = make_unset<double>(level.exec, (size_t)parts_ * functions * max_vectors);
  find_network(level, params, place);
  if (keep) *keep = std::move(label);
}

template <class T> void PartFunctions<T>::take_values(const Level<T> &level)
{
  if (!any()) return;
  with_axes(dim_, [&](auto axes) {
    constexpr int D = axes.value;
    energies<D>(level);
    if (network_.wanted()) {
      const std::vector<double> e = listed(energy_);
      std::vector<double>       constant;
      for (size_t k = 0; k < e.size(); k += numbers_of_part<D>) constant.push_back(energy_of_constant<T, D>(&e[k]));
      network_.take_values(level, constant);
    }
    for_each(level.exec, parts_, InvertEnergy<T, D>{energy_.data(), network_.any(), inverse_.data()});
  });
}

template <class T> double PartFunctions<T>::least_energy(const Level<T> &level) const
{
  double least = std::numeric_limits<double>::max();
  if (!any()) return least;
  const std::vector<double> e = listed(energy_);
  with_axes(dim_, [&](auto axes) {
    for (const double *k = e.data(); k < e.data() + e.size(); k += numbers_of_part<axes.value>) {
      const double *const further = k + energies_of_part<axes.value>;
      least = std::min(least, *k * std::sqrt(further[number_of_nodes]) / (faint_energy * further[sum_of_diagonal]));
    }
  });
  if (level.distributed) MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_DOUBLE, MPI_MIN, comm_);
  return least;
}

template <class T>
template <class V> void PartFunctions<T>::add(const Level<T> &level, const V *r, T c, V *z, V *x, T w)
{
  if (!any()) return;
  const Exec &exec = level.exec;
  const int   log_threads = shared_on(exec, threads_of_part), pieces = (int)piece_.size() - 1;
  with_axes(dim_, [&](auto axes) {
    constexpr int D = axes.value;
    using Sum = SumOf<V>;
    const AtNode<T, D> at{place_.data()};
    Sum *const         of_piece = (Sum *)of_pieces_.data(), *const sum = (Sum *)sums_.data();
    for_each(exec, pieces << log_threads,
             SumPiece<T, V, D>{piece_.data(), member_.data(), r, at, of_piece, log_threads});
    sum_pieces(exec, of_piece, D + 1, sum);
    if (network_.any()) network_.template solve<V>(exec, sum, D + 1);
    for_each(exec, parts_, SolvePart<T, Sum, D>{inverse_.data(), sum});
    if (network_.any()) network_.template add<V>(exec, sum, D + 1);
    const AddPart<T, V, D> end{member_.data(), of_.data(), sum, at, z, x, c, w};
    for_each_or_group(exec, (int)member_.size(), end, pieces, AddPiece<T, V, D>{end, piece_.data()});
  });
}

#define INSTANTIATE_ADD(T, ...) \
  template void PartFunctions<T>::add<__VA_ARGS__>(const Level<T> &, const __VA_ARGS__ *, T, __VA_ARGS__ *, \
                                                   __VA_ARGS__ *, T);
#define INSTANTIATE(T) \
  template struct PartFunctions<T>; \
  TESSERA_ALL_WIDTHS(INSTANTIATE_ADD, T)
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
