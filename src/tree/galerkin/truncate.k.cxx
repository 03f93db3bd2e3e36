// Truncated operators: rows and columns of unknowns at their bounds are zero.
#include "tree/hierarchy.hpp"
#include "tree/rows.hpp"
#include "exec/each.hpp"
#include "exec/raised.hpp"
#include "tree/reflect.hpp"
#include <cmath>
#include <utility>

namespace tessera::tree {

namespace {

// a = the whole operator's entries between free unknowns; p: nodes. 8 (2 + B^2) bytes and a column an entry.
template <class T> struct Truncate {
  const int           *i, *j;
  const T             *whole;
  const unsigned char *free;
  int                  bs;
  T                   *a;
  HD void              operator()(int p) const
  {
    for (int e = i[p]; e < i[p + 1]; ++e)
      for (int k = 0; k < bs; ++k)
        for (int m = 0; m < bs; ++m) {
          const ptrdiff_t at = ((ptrdiff_t)bs * e + k) * bs + m;
          a[at]              = free[(ptrdiff_t)bs * p + k] && free[(ptrdiff_t)bs * j[e] + m] ? whole[at] : 0;
        }
  }
};

// The same where the free unknowns are those of reflected nodes: with the reflections Q_p and the diagonal matrices I_p
// of what is free, the blocks are Q_p I_p Q_p A_pq Q_q I_q Q_q.
template <class T> struct TruncateReflected {
  const int           *i, *j;
  const T             *whole, *reflect;
  const unsigned char *free;
  int                  bs;
  T                   *a;
  // v := Q I Q v, whose entries are `step` apart
  HD void project(ptrdiff_t node, T *v, int step) const
  {
    reflect_node(bs, reflect + node * bs, v, step);
    for (int k = 0; k < bs; ++k)
      if (!free[node * bs + k]) v[k * step] = 0;
    reflect_node(bs, reflect + node * bs, v, step);
  }
  HD void operator()(int p) const
  {
    for (int e = i[p]; e < i[p + 1]; ++e) {
      T *const block = a + (ptrdiff_t)bs * bs * e;
      for (int k = 0; k < bs * bs; ++k) block[k] = whole[(ptrdiff_t)bs * bs * e + k];
      for (int k = 0; k < bs; ++k) project(p, block + k, bs);
      for (int k = 0; k < bs; ++k) project(j[e], block + k * bs, 1);
    }
  }
};
// The inverse diagonal of the smoother: one number for all unknowns of a reflected node, so that no eigenvalue of
// D^-1 A grows, whatever is truncated. The free unknowns of other nodes keep their own.
template <class T> struct CommonDiagonal {
  const T *reflect, *whole;
  int      bs;
  T       *inverse;
  HD void  operator()(int p) const
  {
    T length = 0, least = INFINITY;
    for (ptrdiff_t q = (ptrdiff_t)bs * p; q < (ptrdiff_t)bs * (p + 1); ++q) {
      length += fabs(reflect[q]);
      least = whole[q] < least ? whole[q] : least;
    }
    for (ptrdiff_t q = (ptrdiff_t)bs * p; q < (ptrdiff_t)bs * (p + 1); ++q)
      inverse[q] = length > 0 ? least : inverse[q] > 0 ? whole[q] : 0;
  }
};
// Drops a coarse function whose nodes are all truncated along the same axis: only rounding errors are left of its row.
template <class T> struct DropRounding {
  static constexpr double rounding = 1e-12; // beside the largest diagonal entry of a node
  const int *i, *j;
  int        bs;
  T         *a;
  HD void    operator()(int p) const
  {
    const int own     = own_entry(i, j, p);
    T         largest = 0;
    for (int k = 0; k < bs && own < i[p + 1]; ++k) {
      const T v = fabs(a[((ptrdiff_t)bs * own + k) * bs + k]);
      largest   = v > largest ? v : largest;
    }
    for (int k = 0; k < bs && own < i[p + 1]; ++k) {
      T &v = a[((ptrdiff_t)bs * own + k) * bs + k];
      if (fabs(v) <= (T)rounding * largest) v = 0;
    }
  }
};
template <class T> struct MarkReflected {
  const T *reflect;
  int      bs;
  T       *to;
  HD void  operator()(int p) const
  {
    T length = 0;
    for (ptrdiff_t q = (ptrdiff_t)bs * p; q < (ptrdiff_t)bs * (p + 1); ++q) length += fabs(reflect[q]);
    for (ptrdiff_t q = (ptrdiff_t)bs * p; q < (ptrdiff_t)bs * (p + 1); ++q) to[q] = length;
  }
};
// Of a leaf's nodes that have something of the function at its corner c; item: corners l + c, unknown by unknown.
template <class T> struct LargestAtCorner {
  const int *begin;
  const T   *weight, *fine;
  int        corners, bs;
  T         *largest;
  HD void    operator()(int item) const
  {
    const int k = item % bs, place = item / bs, l = place / corners, c = place % corners;
    T         maximum = -INFINITY;
    for (int p = begin[l]; p < begin[l + 1]; ++p) {
      const T v = fine[(ptrdiff_t)bs * p + k];
      maximum   = weight[(ptrdiff_t)corners * p + c] != 0 && v > maximum ? v : maximum;
    }
    largest[item] = maximum;
  }
};
template <class T> struct LargestOfCorners {
  const int *first, *place;
  const T   *largest;
  int        bs, rows;
  T         *coarse;
  HD void    operator()(int item) const
  {
    const int v = item / bs, k = item % bs;
    T         maximum = -INFINITY;
    for (int p = v < rows ? first[v] : 0; v < rows && p < first[v + 1]; ++p) {
      const T at = largest[(ptrdiff_t)bs * place[p] + k];
      maximum    = at > maximum ? at : maximum;
    }
    coarse[item] = maximum;
  }
};

} // namespace

template <class T> void NumericSetup<T>::drop_rounding(Level<T> &level)
{
  for_each(exec_, level.n, DropRounding<T>{level.i.data(), level.j.data(), params_.bs, level.a.data()});
}

template <class T> void Hierarchy<T>::swap_values(int l)
{
  Level<T> &level = levels_[(size_t)l];
  Values   &other = other_[(size_t)l];
  std::swap(level.a, other.a);
  std::swap(level.inverse, other.inverse);
  std::swap(level.lambda, other.lambda);
}

template <class T> Failure Hierarchy<T>::truncate(int l, const unsigned char *free, const T *reflect)
{
  Level<T> &level = levels_[(size_t)l];
  if (truncated_ != l) {
    forget_truncation();
    other_.resize(levels_.size());
    for (int k = l; k <= last(); ++k) {
      Values &other = other_[(size_t)k];
      if (other.a.size() != levels_[(size_t)k].a.size()) other.a = make_unset<T>(levels_[(size_t)k].a.size());
      other.lambda = levels_[(size_t)k].lambda;
      swap_values(k);
    }
    truncated_ = l;
  }
  const T *const whole = other_[(size_t)l].a.data();
  const int      bs    = params_.bs;
  if (reflect && l == 0)
    for_each(exec_, level.n,
             TruncateReflected<T>{level.i.data(), level.j.data(), whole, reflect, free, bs, level.a.data()});
  else for_each(exec_, level.n, Truncate<T>{level.i.data(), level.j.data(), whole, free, bs, level.a.data()});
  const Failure failure = numeric_.run_truncated(l, perm_, diagonal_, scale_, reflect && l == 0);
  if (reflect && l == 0) take_common_diagonal(reflect);
  return failure;
}

// The smoother's blocks are of unknowns, and the projections of reflected nodes do not commute with them.
template <class T> void Hierarchy<T>::take_common_diagonal(const T *reflect)
{
  Level<T>      &mesh  = levels_[0];
  const Values  &whole = other_[0];
  const T       *from  = whole.inverse.data();
  if (mesh.blocks.any) {
    for_each(exec_, mesh.n, MarkReflected<T>{reflect, params_.bs, mesh.work.x.data()});
    for_each(exec_, mesh.unknowns(), CopyValues<T>{from, mesh.work.r.data()});
    from = mesh.work.r.data();
    mesh.blocks.leave_out(mesh, mesh.work.x.data(), whole.a.data(), mesh.work.r.data());
  }
  for_each(exec_, mesh.n, CommonDiagonal<T>{reflect, from, params_.bs, mesh.inverse.data()});
}

template <class T> void Hierarchy<T>::forget_truncation()
{
  if (truncated_ < 0) return;
  for (int l = truncated_; l <= last(); ++l) swap_values(l);
  truncated_ = -1;
}

template <class T> void Hierarchy<T>::largest_in_support(int l, const T *fine, T *coarse)
{
  Level<T>          &level = levels_[(size_t)l], &next = levels_[(size_t)l + 1];
  const Transfer<T> &t = level.transfer;
  const int          bs = params_.bs;
  for_each(exec_, t.cells * t.corners * bs,
           LargestAtCorner<T>{t.begin.data(), t.weight.data(), fine, t.corners, bs, level.work.sums.data()});
  for_each(exec_, (next.n + next.ghosts) * bs,
           LargestOfCorners<T>{t.first.data(), t.place.data(), level.work.sums.data(), bs, next.rows, coarse});
  if (next.distributed) next.exchange.add_back((Raised *)coarse, bs);
  else if (level.distributed) {
    Buffer<T> all = make_unset<T>((size_t)(next.n * bs));
    for_each(exec_, next.n * bs, CopyValues<T>{coarse, all.data()});
    reduce(all, MPI_DOUBLE, MPI_MAX);
    for_each(exec_, next.n * bs, CopyValues<T>{all.data(), coarse});
  }
}

template void    NumericSetup<double>::drop_rounding(Level<double> &);
template void    NumericSetup<float>::drop_rounding(Level<float> &);
template void    Hierarchy<double>::forget_truncation();
template void    Hierarchy<float>::forget_truncation();
template void    Hierarchy<double>::swap_values(int);
template Failure Hierarchy<double>::truncate(int, const unsigned char *, const double *);
template void    Hierarchy<double>::largest_in_support(int, const double *, double *);

} // namespace tessera::tree
