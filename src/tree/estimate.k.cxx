// What the cycle needs of each operator: its diagonal, the largest eigenvalue, the inverse of the last.
#include "tree/hierarchy.hpp"
#include "tree/read.hpp"
#include "tree/rows.hpp"
#include "multigrid/lanczos.hpp"
#include "exec/each.hpp"
#include "exec/random.hpp"
#include "exec/tile.hpp"
#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::tree {

namespace {

struct Diagonals {
  double  v = 0, below = 0; // the largest entry, and how far one is below zero
  HD void join(const Diagonals &o)
  {
    v     = o.v > v ? o.v : v;
    below = o.below > below ? o.below : below;
  }
};
template <class T> struct TakeDiagonal {
  const int      *i, *j;
  const T        *a;
  const int      *perm;  // of the mesh
  const Diagonal *place; // nullptr: of a coarse grid, or not known
  int             bs;
  T              *out;
  HD void         operator()(int p, Diagonals &found) const
  {
    int e = i[p + 1];
#ifdef __CUDA_ARCH__
    constexpr int at_once = 8; // columns, as nothing else hides their latency
    for (int q = i[p]; q < i[p + 1] && e == i[p + 1]; q += at_once) {
      int column[at_once];
      for (int m = 0; m < at_once; ++m) column[m] = q + m < i[p + 1] ? j[q + m] : -1;
      for (int m = 0; m < at_once; ++m)
        if (column[m] == p) e = q + m;
    }
#else
    // right if no column was left out before it; on coarse grids it stands first
    e = i[p] + (place ? place[perm[p]] : 0);
    if (e >= i[p + 1] || j[e] != p) {
      e = i[p + 1];
      for (int q = i[p]; q < i[p + 1]; ++q) e = j[q] == p ? q : e; // no branch: where it stands is not foreseen
    }
#endif
    for (int m = 0; m < bs; ++m) {
      const T d = e < i[p + 1] ? a[((ptrdiff_t)bs * e + m) * bs + m] : 0;
      out[(ptrdiff_t)bs * p + m] = d;
      found.join({(double)d, -(double)d});
    }
  }
};
// 1 / a_pp of each unknown, or zero: the unknown is not there. However small an entry is beside the largest one, it
// counts, as coefficients may jump by that much; what rounding leaves of no energy is raised by raise_nearly_null().
template <class T> struct InvertDiagonal {
  static constexpr T least = std::numeric_limits<T>::min(); // whose inverse is finite
  T      *d;
  HD void operator()(int p) const { d[p] = d[p] > least ? 1 / d[p] : 0; }
};

template <class T> struct Root {
  const T *v;
  T       *root;
  HD void  operator()(int p) const { root[p] = sqrt(v[p]); }
};
template <class T> struct Change {
  const int *i, *j;
  const T   *a, *old, *now, *before; // now and before: roots of the inverse diagonal
  int        bs, log_threads;
  HD void    operator()(int item, Largest &change) const
  {
    const Shared at(item, log_threads); // of an unknown
    const int    row = at.node, p = row / bs, k = row % bs;
    double       sum = 0;
#ifndef __CUDA_ARCH__
    if (at.thread) return;
    if (bs == 1) { // without the numbers of blocks, which take as long as all else
      T all = 0;
      for (int e = i[p]; e < i[p + 1]; ++e)
        all += fabs(a[e] * (now[p] * now[j[e]]) - old[e] * (before[p] * before[j[e]]));
      return change.join((now[p] > 0) == (before[p] > 0) ? (double)all : 1);
    }
#endif
    at.each(i[p], i[p + 1], [&](int e) {
      for (int m = 0; m < bs; ++m) {
        const ptrdiff_t to = ((ptrdiff_t)bs * e + k) * bs + m, q = (ptrdiff_t)bs * j[e] + m;
        sum += fabs((double)a[to] * now[row] * now[q] - (double)old[to] * before[row] * before[q]);
      }
    });
    sum = sum_shared(sum, log_threads);
    change.join((now[row] > 0) == (before[row] > 0) ? sum : 1);
  }
};

struct Rounding { // of sums of rows, beside the diagonal
  double  v = 0;
  HD void join(const Rounding &o) { v = o.v > v ? o.v : v; }
};
// With one unknown a node the diagonal takes what rounding has made of the sum of its row. Not where it is small beside
// the row, as that of a function that fades away: what rounding makes of the couplings hardly counts there, but would
// be much of the energy that such a function has beside its neighbors. With several unknowns that would leave rotations
// as they are, and say less of the other entries.
template <class T> struct CorrectSums {
  static constexpr double small = 0.2; // of all moduli
  const int *i, *j;
  T         *a;
  const T   *sums; // without rounding, of each unknown over all nodes
  int        bs;
  HD void    operator()(int p, Rounding &found) const
  {
    const int own = own_entry(i, j, p);
    for (int k = 0; k < bs && own < i[p + 1]; ++k) {
      double sum = 0, moduli = 0;
      for (int e = i[p]; e < i[p + 1]; ++e) {
        const double v = a[((ptrdiff_t)bs * e + k) * bs + k];
        sum += v;
        moduli += fabs(v);
      }
      T           &d = a[((ptrdiff_t)bs * own + k) * bs + k];
      const double missing = sums[(ptrdiff_t)bs * p + k] - sum;
      Rounding     here;
      if (d > 0) here.v = fabs(missing) / d;
      found.join(here);
      if (bs == 1 && d > small * moduli && d + missing > small * moduli) d = (T)(d + missing);
    }
  }
};

// Of a function that is nearly constant in a piece of the mesh with no Dirichlet rows, whose constants are in the null
// space, rounding may be much of the diagonal entry, or all: it may be negative, and so the operator indefinite. Such
// entries are raised by some thousand times what rounding makes of the products that they were added up from: the
// inverse shall not make much of what rounding leaves of residuals there.
template <class T> struct RaiseNearlyNull {
  static constexpr double small = 1e-8, raised = 1e-12; // functions of large cells have 1e-6 and more
  const int *i, *j;
  const T   *size; // the diagonal of the mesh, restricted
  int        bs;
  T         *a;
  HD void    operator()(int p) const
  {
    const int own = own_entry(i, j, p);
    for (int k = 0; k < bs && own < i[p + 1]; ++k) {
      T      &d = a[((ptrdiff_t)bs * own + k) * bs + k];
      const T s = size[(ptrdiff_t)bs * p + k];
      if (fabs(d) <= (T)small * s) d += (T)raised * s;
    }
  }
};

// The vector that Lanczos' method begins with, the same for any distribution of the nodes: by key or by number among
// all. Scaled to a unit diagonal, nodes count alike: one among small coefficients may have the largest eigenvalue as
// well.
template <class T> struct StartVector {
  const Key *key; // of the nodes; nullptr: their numbers stand for it
  const T   *inverse;
  int        bs;
  T         *v;
  HD void    operator()(int p) const
  {
    v[p] = inverse[p] > 0 ? (T)(scattered(key_of_unknown(key, bs, p)) * sqrt((double)inverse[p])) : 0;
  }
};

} // namespace

// What the numbers of a grid are judged by is found where they are, so that the host waits once for all grids, and
// again where eigenvalues need more steps: ends of the diagonal, then what Lanczos' method gives, beta_0^2, alpha_1,
// beta_1^2, ..., and what rounding did to the sums of rows; last the change since the values before. Behind those of
// all grids stands what the inverse of the last operator gives.
constexpr int statistics = multigrid::lanczos_scalars + 4;
// Such a part of a diagonal entry is too much for single precision, of several unknowns a node less.
constexpr double much_rounding = 0.05, much_of_several = 5e-4;
// So far below zero may an eigenvalue of B^-1 A be on coarse grids by rounding.
constexpr double much_below_zero = 1e-3;

// What double precision may do without
static Failure::Kind kind_of(Failure::Kind kind, const Params &params)
{
  return params.falls_back ? Failure::rounded : kind;
}

template <class T> void NumericSetup<T>::prepare_statistics()
{
  statistics_ = make<double>(levels_.size() * (size_t)statistics + 1);
}

// statistics_[at], each of so many := the largest or the sum over the processes, in one message
template <class T> void NumericSetup<T>::reduce_statistics(const std::vector<size_t> &at, MPI_Op how)
{
  Buffer<double>      here  = on_host(statistics_);
  double *const       found = here.data();
  std::vector<double> mine;
  for (size_t k : at) mine.push_back(found[k]);
  MPI_Allreduce(MPI_IN_PLACE, mine.data(), (int)mine.size(), MPI_DOUBLE, how, comm_);
  for (size_t k = 0; k < at.size(); ++k) found[at[k]] = mine[k];
  give(std::move(here), statistics_.data(), exec_.space);
}

template <class T> void NumericSetup<T>::diagonal(Level<T> &level, int number, const Buffer<int> &perm,
                                                        const Buffer<Diagonal> &place)
{
  const int    unknowns = level.n * params_.bs;
  const size_t at = (size_t)number * (size_t)statistics;
  if (level.inverse.size() != (size_t)unknowns) level.inverse = make<T>((size_t)unknowns);
  join_each(exec_, level.n,
            TakeDiagonal<T>{level.i.data(), level.j.data(), level.a.data(), perm.data(),
                            number ? nullptr : place.data(), params_.bs, level.inverse.data()},
            (Diagonals *)(statistics_.data() + at));
  if (level.distributed) reduce_statistics({at, at + 1}, MPI_MAX);
  for_each(exec_, unknowns, InvertDiagonal<T>{level.inverse.data()});
}

template <class T> void Operator<T>::roots(Buffer<T> &root) const
{
  for_each(exec, (int)inverse.size(), Root<T>{inverse.data(), root.data()});
}

template <class T> T *NumericSetup<T>::row_sums(size_t unknowns)
{
  if (!needs_sums()) return nullptr;
  if (sums_.size() != unknowns) sums_ = make<T>(unknowns);
  else sums_.zero(); // of unknowns that take no part
  return sums_.data();
}

// kept = P' kept
template <class T> void NumericSetup<T>::restrict_kept(Level<T> &fine, Level<T> &coarse, Buffer<T> &kept)
{
  fine.restrict_known(kept.data(), coarse);
  Buffer<T> &b = coarse.work.b;
  if (coarse.distributed) coarse.exchange.add_back(b.data(), coarse.bs);
  else if (fine.distributed)
    multigrid::sum_processes(comm_, exec_.space, b.data(), b.size(), coarsest_.message);
  if (kept.size() < (size_t)coarse.unknowns()) kept = make_unset<T>((size_t)coarse.unknowns());
  for_each(exec_, coarse.unknowns(), CopyValues<T>{b.data(), kept.data()});
}

// In single precision rounding is much of many entries, which correct_sums() mends, or a reason for double precision.
template <class T> void NumericSetup<T>::raise_nearly_null(Level<T> &fine, Level<T> &coarse, bool first)
{
  if (sizeof(T) < sizeof(double)) return;
  if (first) {
    sizes_ = make_unset<T>((size_t)fine.unknowns());
    for_each(exec_, fine.unknowns(), Inverse<T>{fine.inverse.data(), sizes_.data()});
  }
  restrict_kept(fine, coarse, sizes_);
  for_each(exec_, coarse.n,
           RaiseNearlyNull<T>{coarse.i.data(), coarse.j.data(), sizes_.data(), coarse.bs, coarse.a.data()});
}

// In single precision what an operator makes of a constant is what rounding leaves of large numbers, on coarse grids
// more and more beside their own: nodes at jumps have diagonals ten thousand times as large. So where coefficients
// jump, diagonals are corrected by the sums of rows, which are P' times those of the grid before and known from the
// mesh's own on. How much is missing says how good the other entries are.
template <class T> void NumericSetup<T>::correct_sums(Level<T> &fine, Level<T> &coarse)
{
  const bool inclusions = params_.bs == 1 && body_functions_ == BodyFunctions::own;
  if (!needs_sums() || !(filtered_ || inclusions)) return;
  restrict_kept(fine, coarse, sums_);
  const size_t at = (size_t)(&coarse - levels_.data() + 1) * (size_t)statistics - 2;
  join_each(exec_, coarse.n,
            CorrectSums<T>{coarse.i.data(), coarse.j.data(), coarse.a.data(), sums_.data(), coarse.bs},
            (Rounding *)(statistics_.data() + at));
  if (coarse.distributed) reduce_statistics({at}, MPI_MAX);
}

// Of a coarse grid whose values were those in old_, and the roots of whose inverse diagonal are in z.
template <class T> void NumericSetup<T>::bound_change(Level<T> &level, int number)
{
  const size_t at = (size_t)(number + 1) * (size_t)statistics - 1;
  level.roots(level.work.r);
  level.halo(level.work.r.data());
  level.halo(level.work.z.data());
  join_each(exec_, (level.n * params_.bs) << level.log_threads,
            Change<T>{level.i.data(), level.j.data(), level.a.data(), old_.data(), level.work.r.data(),
                      level.work.z.data(), params_.bs, level.log_threads},
            (Largest *)(statistics_.data() + at));
}

// found: the statistics of all grids, on the host; their changes become the largest over the processes.
template <class T> void NumericSetup<T>::join_changes(Buffer<double> &found) const
{
  std::vector<double> change;
  for (size_t l = 0; l < levels_.size(); ++l) change.push_back(change_of((int)l, found.data()));
  MPI_Allreduce(MPI_IN_PLACE, change.data(), (int)change.size(), MPI_DOUBLE, MPI_MAX, comm_);
  for (size_t l = 0; l < levels_.size(); ++l) found.data()[(l + 1) * statistics - 1] = change[l];
}

template <class T> double NumericSetup<T>::change_of(int number, const double *found) const
{
  return found[(number + 1) * statistics - 1];
}

// Steps `first` to end - 1 of Lanczos' method for some grids. Those that processes divide are estimated together, as a
// step of all takes one message for a sum.
template <class T> void NumericSetup<T>::lanczos(const std::vector<int> &grids, int first, int end)
{
  const auto place = [](int number) { return (size_t)number * (size_t)statistics + 2; };
  const auto estimate_together = [&](const std::vector<int> &some) {
    std::vector<multigrid::LanczosProblem<Level<T>>> problems;
    for (int number : some) problems.push_back({&levels_[(size_t)number], statistics_.data() + place(number)});
    multigrid::lanczos<T>(
      problems,
      [&](const Level<T> &level, T *v) {
        for_each(exec_, level.unknowns(), StartVector<T>{level.start.data(), level.inverse.data(), level.bs, v});
      },
      [&](int k) {
        std::vector<size_t> places;
        for (int number : some) places.push_back(place(number) + (size_t)k);
        if (!some.empty() && levels_[(size_t)some[0]].distributed) reduce_statistics(places, MPI_SUM);
      },
      first, end);
  };
  std::vector<int> divided;
  for (int number : grids)
    if (levels_[(size_t)number].distributed) divided.push_back(number);
    else estimate_together({number});
  estimate_together(divided);
}

// Estimates the largest eigenvalues of some grids, after prepare_statistics(). Of those that processes divide, all
// processes list the same and go on alike; each decides for itself of others, which take no messages. Returns the
// statistics of all, on the host.
template <class T> Buffer<double> NumericSetup<T>::estimate(std::vector<int> grids)
{
  int taken = multigrid::lanczos_steps;
  lanczos(grids, 0, taken);
  for (;;) {
    Buffer<double>   found = on_host(statistics_);
    std::vector<int> left, divided, more;
    for (int number : grids) {
      const double *const s     = found.data() + (ptrdiff_t)number * statistics + 2;
      const bool          needs = multigrid::needs_steps(s, taken, symmetric_);
      if (levels_[(size_t)number].distributed) divided.push_back(number), more.push_back(needs);
      else if (needs) left.push_back(number);
    }
    if (!divided.empty()) MPI_Allreduce(MPI_IN_PLACE, more.data(), (int)more.size(), MPI_INT, MPI_MAX, comm_);
    for (size_t k = 0; k < divided.size(); ++k)
      if (more[k]) left.push_back(divided[k]);
    if (left.empty()) return found;
    grids = std::move(left);
    lanczos(grids, taken, taken + multigrid::further_lanczos_steps);
    taken += multigrid::further_lanczos_steps;
  }
}

// found: the statistics of all grids, on the host
template <class T>
void NumericSetup<T>::take_eigenvalue(int number, const double *found, double scale, Failure &failure)
{
  const double *const ends = found + (ptrdiff_t)number * statistics;
  const double *const s    = ends + 2;
  const double        much = params_.bs > 1 ? much_of_several : much_rounding;
  // the operator of nearly dependent functions is mostly rounding
  const bool          indefinite = number && symmetric_ && s[0] > 0 &&
                                   multigrid::smallest_eigenvalue(multigrid::steps_taken(s), s + 1) < -much_below_zero;
  const bool          rounded    = found[(number + 1) * statistics - 2] > much || indefinite;
  if (params_.falls_back && rounded) failure.kind = Failure::rounded;
  else if (!std::isfinite(ends[0]) || !std::isfinite(ends[1])) failure.kind = kind_of(Failure::not_finite, params_);
  // against the wind of an open side functions lose energy: methods for such matrices go on without those unknowns
  else if (!(number && convective_) && ends[1] > 10 * (double)std::numeric_limits<T>::epsilon() * ends[0]) {
    failure.kind  = kind_of(Failure::indefinite, params_);
    failure.value = -ends[1] / scale;
  }
  if (!failure.kind && number + 1 < (int)levels_.size()) bound_eigenvalue(number, found);
}

template <class T> void NumericSetup<T>::bound_eigenvalue(int number, const double *found)
{
  const double *const s = found + (ptrdiff_t)number * statistics + 2;
  Level<T>           &level = levels_[(size_t)number];
  if (s[0] == 0 && level.lambda > 0) return; // not estimated: it stays
  level.change = 0;
  level.lambda = multigrid::eigenvalue_bound(s);
}

// A device inverts the last operator while the host has other things to do. False: it does not.
template <class T> bool NumericSetup<T>::sweep_last()
{
  const Level<T> &level = levels_.back();
  double *const   norm2 = statistics_.data() + statistics_.size() - 1;
  return !level.distributed && coarsest_.invert_rows(exec_, level.i.data(), level.j.data(), level.a.data(),
                                                     level.points, level.bs, norm2);
}

// The pseudo-inverse, as the last operator may be singular: pure Neumann problems, and vertices that the same nodes
// use. swept: what sweep_last() has found, or -1.
template <class T> Failure NumericSetup<T>::invert(double swept)
{
  Level<T>    &level = levels_.back();
  auto        &c     = coarsest_;
  const int    bs = level.bs, mine = level.points * bs; // Dirichlet rows, which come last, take no part
  Failure      failure;
  c.place(exec_, comm_, mine, level.distributed);
  const size_t n = (size_t)c.n;
  if (c.suffices(swept)) return failure;
  std::vector<double> a(n * n);
  const Buffer<int>   i = on_host(level.i), j = on_host(level.j);
  const Buffer<T>     v = on_host(level.a);
  std::vector<double> place((size_t)(level.n + level.ghosts) * (size_t)bs);
  if (level.distributed) { // the numbers of the ghosts
    Buffer<double> number((size_t)(level.n + level.ghosts) * (size_t)bs), on_device = make<double>(number.size());
    for (int p = 0; p < mine; ++p) number.data()[p] = c.offset + p;
    copy(number, on_device);
    level.exchange.forward(on_device.data(), bs);
    number = on_host(on_device);
    std::copy(number.data(), number.data() + number.size(), place.begin());
  } else
    for (size_t p = 0; p < place.size(); ++p) place[p] = (double)p;
  for (int p = 0; p < level.points; ++p)
    for (int e = i.data()[p]; e < i.data()[p + 1]; ++e)
      for (int k = 0; k < bs; ++k)
        for (int m = 0; m < bs; ++m)
          a[(size_t)(c.offset + p * bs + k) * n + (size_t)place[(size_t)(j.data()[e] * bs + m)]] +=
            v.data()[((ptrdiff_t)e * bs + k) * bs + m];
  if (level.distributed) MPI_Allreduce(MPI_IN_PLACE, a.data(), (int)a.size(), MPI_DOUBLE, MPI_SUM, comm_);
  using Result = typename multigrid::ExactSolver<T>::Result;
  const Result result = c.invert(exec_, a, failure.value);
  if (result != Result::done)
    failure.kind = kind_of(result == Result::indefinite ? Failure::indefinite : Failure::not_finite, params_);
  return failure;
}

#define INSTANTIATE(T) \
  template void    NumericSetup<T>::prepare_statistics(); \
  template void    NumericSetup<T>::diagonal(Level<T> &, int, const Buffer<int> &, const Buffer<Diagonal> &); \
  template void    Operator<T>::roots(Buffer<T> &) const; \
  template void    NumericSetup<T>::bound_change(Level<T> &, int); \
  template T      *NumericSetup<T>::row_sums(size_t); \
  template void    NumericSetup<T>::correct_sums(Level<T> &, Level<T> &); \
  template void    NumericSetup<T>::raise_nearly_null(Level<T> &, Level<T> &, bool); \
  template double  NumericSetup<T>::change_of(int, const double *) const; \
  template void    NumericSetup<T>::take_eigenvalue(int, const double *, double, Failure &); \
  template void    NumericSetup<T>::bound_eigenvalue(int, const double *); \
  template Buffer<double> NumericSetup<T>::estimate(std::vector<int>); \
  template void    NumericSetup<T>::join_changes(Buffer<double> &) const; \
  template bool    NumericSetup<T>::sweep_last(); \
  template Failure NumericSetup<T>::invert(double);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
