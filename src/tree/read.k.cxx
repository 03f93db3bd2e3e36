// From the rows of a matrix to the operator of the first level: sorted, in blocks, without the unknowns that are fixed.
#include "tree/hierarchy.hpp"
#include "tree/read.hpp"
#include "tree/rows.hpp"
#include "exec/each.hpp"
#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::tree {

namespace {

// Rows of so many nodes are refused at once: lists around a cell are shorter, and searching longer ones takes for ever.
constexpr int longest_row = 65000;

// What rows show. Rows are counted from the end, so that the first one is the largest.
struct Findings {
  // a row with an entry that is not finite; without a positive diagonal; too long
  int     bad = 0, worst = 0, dense = 0;
  int     other   = 0;                   // it is fixed now, no longer, or otherwise
  double  largest = 0, least = HUGE_VAL; // diagonal entries that are not fixed
  HD void join(const Findings &o)
  {
    bad     = o.bad > bad ? o.bad : bad;
    worst   = o.worst > worst ? o.worst : worst;
    dense   = o.dense > dense ? o.dense : dense;
    other   = o.other > other ? o.other : other;
    largest = o.largest > largest ? o.largest : largest;
    least   = o.least < least ? o.least : least;
  }
};

// Goes through a row: the diagonal entry; place: where it stands in its row, on the host
HD inline double scan_row(const Rows &m, int bs, int row, const Shared &at, unsigned char &constrained, Index &place,
                          Findings &found)
{
  double diagonal = 0, off = 0;
  place = 0;
  at.each(m.i[row], m.i[row + 1], [&](Index e) { // no branch: where the diagonal stands is not foreseen
    const bool here = (int)m.j[e] == row;
    diagonal += here ? m.a[e] : 0;
    off += here ? 0 : fabs(m.a[e]);
    place = here ? e - m.i[row] : place;
  });
  if (m.oi) at.each(m.oi[row], m.oi[row + 1], [&](Index e) { off += fabs(m.o[e]); });
  diagonal = sum_shared(diagonal, at.log_threads);
  off      = sum_shared(off, at.log_threads);
  Findings mine;
  if (!(diagonal - diagonal == 0) || !(off - off == 0)) mine.bad = m.n * bs - row;
  else if (!(diagonal > 0)) mine.worst = m.n * bs - row;
  constrained = off == 0 ? dirichlet : off * penalty_ratio <= diagonal ? penalty : unconstrained;
  if (constrained == unconstrained) mine.largest = mine.least = diagonal;
  found.join(mine);
  return diagonal;
}
struct FindConstrained {
  Rows    m;
  int            bs;
  unsigned char *constrained;
  Diagonal      *place; // or nullptr
  int            log_threads;
  HD void        operator()(int item, Findings &found) const
  {
    const Shared at(item, log_threads);
    const int    row = at.node;
    Index        diagonal;
#ifndef __CUDA_ARCH__
    if (at.thread) return;
#endif
    const Index entries = m.i[row + 1] - m.i[row] + (m.oi ? m.oi[row + 1] - m.oi[row] : 0);
    if (entries > (Index)longest_row * bs) {
      Findings mine;
      mine.dense = m.n * bs - row;
      return found.join(mine);
    }
    unsigned char is = unconstrained;
    scan_row(m, bs, row, at, is, diagonal, found);
    if (at.thread) return;
    constrained[row] = is;
    if (place) place[row] = (Diagonal)diagonal;
  }
};
// Are the fixed ones still fixed? now: the roots of the inverse diagonal, of values times `scale`.
template <class T> struct RereadRows {
  Rows          m;
  int                  bs;
  const unsigned char *constrained;
  const int           *where;
  double               scale;
  T                   *now;
  const Diagonal      *place; // or nullptr, else bs is 1
  int                  log_threads;
  HD void              operator()(int item, Findings &found) const
  {
    const Shared at(item, log_threads);
    const int    row = at.node;
#ifndef __CUDA_ARCH__
    if (at.thread) return;
#endif
    unsigned char is       = unconstrained;
    double        diagonal = place ? m.a[m.i[row] + place[row]] : 0;
    Index         stands;
    if (place && counts(row, diagonal)) {
      found.largest = diagonal > found.largest ? diagonal : found.largest;
      found.least   = diagonal < found.least ? diagonal : found.least;
    } else diagonal = scan_row(m, bs, row, at, is, stands, found);
    if (at.thread) return;
    const ptrdiff_t p = place ? where[row] : (ptrdiff_t)bs * where[row / bs] + row % bs;
    if (is != constrained[row]) found.other = 1;
    now[p] = is == unconstrained ? (T)(1 / sqrt(diagonal * scale)) : 0;
  }
  // For most rows it is enough to see that all entries are finite and that those off the diagonal are far from being
  // none.
  HD bool counts(int row, double diagonal) const
  {
    double size = 0;
    for (Index e = m.i[row]; e < m.i[row + 1]; ++e) size += fabs(m.a[e]);
    if (m.oi)
      for (Index e = m.oi[row]; e < m.oi[row + 1]; ++e) size += fabs(m.o[e]);
    return diagonal > 0 && size - size == 0 && size - diagonal > 1e-3 * diagonal;
  }
};
struct FetchDiagonal {
  Rows m;
  double     *out;
  int         row;
  HD void     operator()(int) const { *out = diagonal_entry(m, row); }
};
// The nodes that the rows of a node are coupled with, by their numbers in the sorted order; fixed unknowns are left
// out.
struct FillPattern {
  RowReader m;
  const int       *perm, *where;
  int              points;
  const int       *bound;
  int             *list, *count;
  HD void          operator()(int p) const
  {
    m.fetch_ahead(perm, p, points);
    int *const mine = list + bound[p];
    int        n    = 0;
    m.each(perm[p], [&](int, int column, double) {
      const int q = where[m.node(column)];
      if (m.bs > 1)
        for (int k = 0; k < n; ++k)
          if (mine[k] == q) return;
      mine[n++] = q;
    });
    count[p] = n;
  }
};
// Marked are the unknowns whose rows have entries in fixed columns as well.
struct BoundPattern {
  RowReader m;
  const int       *perm;
  int              points;
  int             *count;
  unsigned char   *marked;
  HD void          operator()(int p) const
  {
    m.fetch_ahead(perm, p, points);
    int n = 0;
    if (!m.constrained) {
      for (int k = 0; k < m.bs; ++k) n += m.length(perm[p] * m.bs + k);
    } else
      for (int k = 0; k < m.bs; ++k) {
        const int row = perm[p] * m.bs + k;
        if (m.constrained[row]) continue;
        int mine = 0;
        m.each_of(row, [&](int, double) { ++mine; });
        marked[(ptrdiff_t)m.bs * p + k] = mine != m.length(row);
        n += mine;
      }
    count[p] = n;
  }
};
// before and now: the roots of the inverse diagonal as it was and of RereadRows; nullptr where there are no values
// yet. Entries that no column leads to are zero and stay so.
template <class T> struct FillValues {
  RowReader m;
  const int       *perm, *where, *i, *j;
  const T         *before, *now;
  int              points;
  double           scale, rescaled; // of the values; the one before over it
  T               *a, *sums;        // sums: of each row's own unknown at all nodes; nullptr: not wanted
  HD void          operator()(int p, Reading &found) const
  {
    m.fetch_ahead(perm, p, points);
    int at = i[p];
    // nothing is left out: the pattern knows where the columns are
    if (m.bs == 1 && m.length(perm[p]) == i[p + 1] - at) {
      Row row(*this, p, found);
      m.each_value(perm[p], [&](double v) { row.put(j[at], at, v, true), ++at; });
      if (sums) sums[p] = (T)row.sum;
      return found.end_row((double)row.change);
    }
    if (m.bs == 1) fill_node<1>(p, at, 1, found);
    else fill_node<0>(p, at, m.bs, found);
  }
  // BS: 1, or 0 where it is `blocks`
  template <int BS> HD void fill_node(int p, int at, int blocks, Reading &found) const
  {
    const int bs = BS ? BS : blocks;
    for (int k = 0; k < bs; ++k) {
      if (m.constrained && m.constrained[perm[p] * bs + k]) continue;
      Row row(*this, (ptrdiff_t)bs * p + k, found);
      m.each_of(perm[p] * bs + k, [&](int column, double v) {
        const int q = where[column / bs];
        ptrdiff_t e = at;
        if (bs == 1) ++at; // in the order of the pattern
        else {
          for (e = i[p]; j[e] != q;) ++e;
          e = (ptrdiff_t)bs * bs * e + bs * k + column % bs;
        }
        row.put((ptrdiff_t)bs * q + column % bs, e, v, column % bs == k);
      });
      if (sums) sums[(ptrdiff_t)bs * p + k] = (T)row.sum;
      found.end_row((double)row.change);
    }
  }
  struct Row {
    const FillValues &to;
    Reading          &found;
    T                 root, root_before; // of the row's own inverse diagonal
    T                 change = 0;
    double            sum    = 0;
    HD                Row(const FillValues &fill, ptrdiff_t unknown, Reading &reading) :
      to(fill), found(reading), root(fill.before ? (T)(fill.rescaled * fill.now[unknown]) : 0),
      root_before(fill.before ? fill.before[unknown] : 0)
    {
    }
    // a[e] := v
    HD void put(ptrdiff_t other, ptrdiff_t e, double v, bool summed)
    {
      v *= to.scale;
      sum += summed ? v : 0;
      const T stored = (T)v;
      found.take(v, (double)stored);
      if (to.before) change += fabs(stored * (root * to.now[other]) - to.a[e] * (root_before * to.before[other]));
      to.a[e] = stored;
    }
  };
};

// The same on a device for scalars(), and the pattern where there are no values yet.
template <class T> struct FillScalars {
  RowReader m;
  const int       *perm, *where, *i;
  int             *j;
  const T         *before, *now;
  double           scale, rescaled;
  T               *a, *sums;
  HD void          operator()(int item, Reading &found) const
  {
    const Shared at(item, scalar_log_threads);
    const int    p = at.node;
    double       sum = 0, of_row = 0;
#ifndef __CUDA_ARCH__
    if (at.thread) return;
#endif
    int        to = i[p];
    // nothing is left out: the pattern knows where the columns are
    const bool known = before && m.length(perm[p]) == i[p + 1] - to;
    each_two(m.m, known ? nullptr : m.constrained, !known, perm[p], at.thread, [&](const TwoEntries &two) {
      int q[2], place[2];
      for (int k = 0; k < 2 && known; ++k) {
        place[k] = to + two.at[k];
        q[k]     = two.valid[k] ? j[place[k]] : p;
      }
      for (int k = 0; k < 2 && !known; ++k) q[k] = two.valid[k] ? where[two.column[k]] : p;
      for (int k = 0; k < 2 && !known; ++k) {
        const CountShared count(two.valid[k], at.log_threads);
        place[k] = to + count.before;
        to += count.all;
      }
      for (int k = 0; k < 2 && before; ++k)
        if (two.valid[k])
          sum +=
            fabs(rescaled * scale * two.v[k] * now[p] * now[q[k]] - (double)a[place[k]] * before[p] * before[q[k]]);
      for (int k = 0; k < 2; ++k) {
        if (!two.valid[k]) continue;
        const double v = scale * two.v[k];
        if (!before) j[place[k]] = q[k];
        found.take(v, (double)(T)v);
        of_row += v;
        a[place[k]] = (T)v;
      }
    });
    if (sums) {
      of_row = sum_shared(of_row, at.log_threads);
      if (!at.thread) sums[p] = (T)of_row;
    }
    sum       = sum_shared(sum, at.log_threads);
    found.row = sum_shared(found.row, at.log_threads);
    if (at.thread) found.row = sum = 0;
    found.end_row(sum);
  }
};

} // namespace

// What is wrong with the rows, if anything
static Failure refuse(const Exec &exec, const Rows &rows, int bs, const Findings &found)
{
  Failure failure;
  failure.kind = found.dense ? Failure::too_long
               : found.bad   ? Failure::not_finite
               : found.worst ? Failure::diagonal
                             : Failure::none;
  if (failure.kind) failure.row = rows.n * bs - (found.dense ? found.dense : found.bad ? found.bad : found.worst);
  if (failure.kind != Failure::diagonal) return failure;
  Buffer<double> d;
  d.resize(Extent{1, exec.space});
  for_each(exec, 1, FetchDiagonal{rows, d.data(), (int)failure.row});
  failure.value = fetch(d, 0);
  return failure;
}

// The power of two by which values are multiplied, so that neither they nor their inverses nor products of the two
// leave the range of T
static double scale_of(double largest)
{
  int exponent = 0;
  (void)std::frexp(largest, &exponent);
  return std::ldexp(1, -std::clamp(exponent, -1000, 1000));
}

// For diagonal entries from `least` to `largest`
template <class T> void Hierarchy<T>::set_scale(double largest, double least)
{
  scale_ = scale_of(largest);
  wide_  = largest * std::sqrt((double)std::numeric_limits<T>::min()) > least;
}

template <class T> Failure Hierarchy<T>::find_constrained(const Rows &rows)
{
  const int        unknowns = rows.n * params_.bs, log_threads = shared_by(exec_, rows, params_.bs);
  constrained_.kind      = make_unset<unsigned char>((size_t)(rows.n + rows.ghosts) * (size_t)params_.bs);
  diagonal_ = Buffer<Diagonal>();
  if (strategy_->notes_diagonal && params_.bs == 1) diagonal_ = make_unset<Diagonal>((size_t)unknowns);
  const Findings all     = join_each<Findings>(
    exec_, unknowns << log_threads,
    FindConstrained{rows, params_.bs, constrained_.kind.data(), diagonal_.data(), log_threads});
  double         ends[] = {all.largest, -all.least};
  MPI_Allreduce(MPI_IN_PLACE, ends, 2, MPI_DOUBLE, MPI_MAX, comm_);
  set_scale(ends[0], -ends[1]);
  return refuse(exec_, rows, params_.bs, all);
}

template <class T> void Hierarchy<T>::read_pattern(const Rows &rows)
{
  Level<T>              &level = levels_[0];
  const RowReader reader{rows, params_.bs, constrained_.any ? constrained_.kind.data() : nullptr};
  Buffer<int>            bound = make<int>((size_t)level.n + 1);
  Buffer<unsigned char>  marked;
  if (constrained_.any) marked = make<unsigned char>((size_t)level.n * (size_t)params_.bs);
  for_each(exec_, level.points, BoundPattern{reader, perm_.data(), level.points, bound.data(), marked.data()});
  if (constrained_.any) select(exec_, (int)marked.size(), marked, one_sided_.rows);
  Buffer<int> list = make_unset<int>((size_t)scan(exec_, level.n, bound)), count;
  if (!scalars(exec_, rows, params_.bs)) { // else with the values
    count = make<int>((size_t)level.n + 1);
    for_each(
      exec_, level.points,
      FillPattern{reader, perm_.data(), where_.data(), level.points, bound.data(), list.data(), count.data()});
  }
  if (params_.bs == 1) { // a column stands once in a row
    level.i = std::move(bound);
    level.j = std::move(list);
  } else {
    level.j = make<int>((size_t)scan(exec_, level.n, count));
    level.i = std::move(count);
    for_each(exec_, level.points, CopyRows{bound.data(), level.i.data(), list.data(), level.j.data()});
  }
  level.a = make<T>(level.j.size() * (size_t)(params_.bs * params_.bs));
}

template <class T> double Hierarchy<T>::fill(const Rows &rows, const T *before, const T *now, double rescaled)
{
  Level<T>              &level = levels_[0];
  const RowReader reader{rows, params_.bs, constrained_.any ? constrained_.kind.data() : nullptr};
  Buffer<Reading>        found = make<Reading>(1);
  T *const               sums  = numeric_.row_sums((size_t)level.n * (size_t)params_.bs);
  if (scalars(exec_, rows, params_.bs))
    join_each(exec_, level.points << scalar_log_threads,
              FillScalars<T>{reader, perm_.data(), where_.data(), level.i.data(), level.j.data(), before, now, scale_,
                             rescaled, level.a.data(), sums},
              found.data());
  else
    join_each(exec_, level.points,
              FillValues<T>{reader, perm_.data(), where_.data(), level.i.data(), level.j.data(), before, now,
                            level.points, scale_, rescaled, level.a.data(), sums},
              found.data());
  couplings(rows);
  if (!before && !params_.falls_back) return 0;
  const Reading read = fetch(found, 0);
  if (params_.falls_back) {
    // The sum is 1'A 1. Where it is zero but for the rounding of double precision, constants are in the null space,
    // which is taken care of.
    double sums[3] = {read.sum, read.size, read.rounded};
    MPI_Allreduce(MPI_IN_PLACE, sums, 3, MPI_DOUBLE, MPI_SUM, comm_);
    constants_ = std::abs(sums[0]) <= 1e-13 * sums[1];
    rounded_   = !constants_ && sums[2] > 0.05 * std::abs(sums[0]);
    // On a device applications do not bring right-hand sides to the size 1: where entries of the matrix are far from
    // it, they may be beyond single precision.
    const bool far = std::abs(std::ilogb(scale_)) > 64;
    rounded_       = rounded_ || wide_ || (far && !normalises());
  }
  return read.change.v;
}

// A pass over the rows for their diagonal, and one for all values
template <class T> bool Hierarchy<T>::reread(const Rows &rows, Failure &failure)
{
  Level<T>        &level = levels_[0];
  const double     scale = scale_;
  const int        log_threads = shared_by(exec_, rows, params_.bs);
  level.roots(level.work.z);
  const Findings mine = join_each<Findings>(
    exec_, (rows.n * params_.bs) << log_threads,
    RereadRows<T>{rows, params_.bs, constrained_.kind.data(), where_.data(), scale, level.work.r.data(),
                  diagonal_.data(), log_threads});
  failure = refuse(exec_, rows, params_.bs, mine);
  double here[4] = {(double)(failure.kind != 0), (double)mine.other, mine.largest, -mine.least}, worst[4], change;
  MPI_Allreduce(here, worst, 4, MPI_DOUBLE, MPI_MAX, comm_);
  if (worst[0] > 0 || worst[1] > 0) return worst[0] > 0;
  level.halo(level.work.z.data());
  level.halo(level.work.r.data());
  set_scale(worst[2], -worst[3]);
  change = fill(rows, level.work.z.data(), level.work.r.data(), scale / scale_);
  MPI_Allreduce(MPI_IN_PLACE, &change, 1, MPI_DOUBLE, MPI_MAX, comm_);
  level.change += (float)change;
  if (rounded_) failure.kind = Failure::rounded;
  return true;
}

#define INSTANTIATE(T) \
  template Failure Hierarchy<T>::find_constrained(const Rows &); \
  template void    Hierarchy<T>::read_pattern(const Rows &); \
  template bool    Hierarchy<T>::reread(const Rows &, Failure &); \
  template double  Hierarchy<T>::fill(const Rows &, const T *, const T *, double);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
