// From the numbering of the matrix to that of the first level and back, for one vector or several at a time.
#include "tree/hierarchy.hpp"
#include "tree/rows.hpp"
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace tessera::tree {

namespace {

// Vectors of the program, `stride` numbers apart.
template <class N> struct Columns {
  N        *v;
  ptrdiff_t stride;
  HD N     &operator()(ptrdiff_t q, int k) const { return v[q + k * stride]; }
};
template <class V> struct PerVector {
  double v[width_of<V>];
};

template <class T, class V> struct Load {
  const int           *perm;
  const unsigned char  *constrained;
  Columns<const double> r;
  int                  bs;
  PerVector<V>         scale;
  const T             *inverse;
  V                   *b, *z; // z: nullptr or what the smoother begins with from zero, c D^-1 b
  T                    c;
  HD void              operator()(int p) const
  {
    const ptrdiff_t q = (ptrdiff_t)perm[p / bs] * bs + p % bs;
    V               v;
    for (int k = 0; k < width_of<V>; ++k) number(v, k) = constrained && constrained[q] ? 0 : (T)(scale.v[k] * r(q, k));
    b[p] = v;
    if (z) z[p] = c * inverse[p] * v;
  }
};
template <class V> struct Store {
  const int      *perm;
  int             bs;
  const V        *x;
  PerVector<V>    scale;
  Columns<double> z;
  HD void         operator()(int p) const
  {
    for (int k = 0; k < width_of<V>; ++k)
      z((ptrdiff_t)perm[p / bs] * bs + p % bs, k) = scale.v[k] * (double)number(x[p], k);
  }
};
// Fixed unknowns: z = r / d
template <class V> struct StoreConstrained {
  const int            *list;
  const double         *inverse;
  Columns<const double> r;
  Columns<double>       z;
  HD void               operator()(int p) const
  {
    for (int k = 0; k < width_of<V>; ++k) z(list[p], k) = inverse[p] * r(list[p], k);
  }
};
template <class T, class V> struct LoadConstrained {
  const int            *list, *where;
  const double         *inverse;
  Columns<const double> r;
  int                   bs;
  PerVector<V>          scale;
  V                    *x;
  HD void               operator()(int p) const
  {
    for (int k = 0; k < width_of<V>; ++k)
      number(x[(ptrdiff_t)where[list[p] / bs] * bs + list[p] % bs], k) = (T)(inverse[p] / scale.v[k] * r(list[p], k));
  }
};
template <class T, class V> struct SubtractConstrained {
  const int    *row, *i, *j;
  const double *a;
  const V      *x;
  V            *b;
  HD void       operator()(int q) const
  {
    for (int k = 0; k < width_of<V>; ++k) {
      double s = number(b[row[q]], k);
      for (int e = i[q]; e < i[q + 1]; ++e) s -= a[e] * number(x[j[e]], k);
      number(b[row[q]], k) = (T)s;
    }
  }
};

// The same in the units of T, in the numbering of the matrix.
template <class V> struct TakeInOrder {
  const int           *perm;
  const unsigned char *constrained;
  int                  bs;
  const V             *r;
  V                   *b;
  HD void              operator()(int p) const
  {
    const ptrdiff_t q = (ptrdiff_t)perm[p / bs] * bs + p % bs;
    b[p] = constrained && constrained[q] ? V(0) : r[q];
  }
};
template <class T, class V> struct PutInOrder {
  const int *perm;
  int        bs;
  T          scale;
  const V   *x;
  V         *z;
  HD void    operator()(int p) const { z[(ptrdiff_t)perm[p / bs] * bs + p % bs] = scale * x[p]; }
};
template <class T, class V> struct PutConstrained {
  const int    *list;
  const double *inverse;
  const V      *r;
  V            *z;
  HD void       operator()(int p) const { z[list[p]] = (T)inverse[p] * r[list[p]]; }
};

} // namespace

template <class T> template <class V> void Hierarchy<T>::subtract_constrained(const V *x, V *b)
{
  if (one_sided_.any)
    for_each(exec_, (int)one_sided_.rows.size(),
             SubtractConstrained<T, V>{one_sided_.rows.data(), one_sided_.i.data(), one_sided_.j.data(),
                                       one_sided_.a.data(), x, b});
}

// The largest number of a vector: of r where unknowns are not fixed (whose rows may have any units), and of what
// `list` is set to times `over`. In integers, which are in the order of the numbers' magnitudes: a loop over them
// becomes vectors.
static int64_t largest_number(const double *r, const unsigned char *constrained, ptrdiff_t n, const Buffer<int> *list,
                              const double *inverse, double over)
{
  int64_t    largest = 0;
  const auto take = [&](double number, int64_t mask) {
    int64_t bits;
    memcpy(&bits, &number, sizeof(bits));
    bits &= mask;
    largest = bits > largest ? bits : largest;
  };
  if (constrained)
    for (ptrdiff_t p = 0; p < n; ++p) take(r[p], constrained[p] ? 0 : INT64_MAX);
  else
    for (ptrdiff_t p = 0; p < n; ++p) take(r[p], INT64_MAX);
  for (size_t p = 0; list && p < list->size(); ++p) take(inverse[p] * over * r[list->data()[p]], INT64_MAX);
  return largest;
}

// The power of two that brings it near one, if there is one.
static double normalising(int64_t largest)
{
  double v;
  memcpy(&v, &largest, sizeof(v));
  return v > 0 && std::isfinite(v) ? std::ldexp(1, std::min(-std::ilogb(v), 1000)) : 1;
}

// Zeros, as those of one vector once were, wherever they are divided in another way.
template <class T> template <class V> void Hierarchy<T>::make_several()
{
  if constexpr (width_of<V> > 1) {
    for (Level<T> &level : levels_) {
      const size_t need = (4 * level.work.b.size() + level.work.w.size() + level.work.sums.size() +
                           level.work.first.size()) *
                          width_of<V>;
      if (level.work.several.size() < need) level.work.several = make<T>(need);
      else if (level.work.divided != need) level.work.several.zero();
      level.work.divided = need;
      level.blocks.part_functions.template make_several<V>();
    }
    const size_t need = coarsest_.b.size() * width_of<V>;
    if (coarsest_.several.size() < need) coarsest_.several = make<T>(need);
  }
}

// Single precision on the host holds r as it is near one. Else the units of r are those of the matrix, or of its
// inverse times them: half of what the operators are scaled by goes to r, half to z.
//
// The transpose is the same cycle with the transposes of the operators: the sweeps and polynomials after a grid are
// adjoints of those before it. B is [[C, -C A_IF / D], [0, 1 / D]] of free and fixed unknowns, C the cycle.
template <class T> template <class V>
void Hierarchy<T>::apply_group(const double *r, ptrdiff_t stride_r, double *z, ptrdiff_t stride_z, bool transposed)
{
  constexpr int K = width_of<V>;
  make_several<V>();
  Level<T>                   &level = levels_[0];
  const Vectors<V>            of = level.template vectors<V>();
  const int                   bs = params_.bs, n = level.n * bs;
  const unsigned char *const  constrained = constrained_.any ? constrained_.kind.data() : nullptr;
  const Columns<const double> from{r, stride_r};
  const Columns<double>       to{z, stride_z};
  PerVector<V>                before, after;
  int64_t                     largest[K] = {};
  const bool                  normalised = normalises(), couplings = one_sided_.any && !transposed;
  if (normalised) {
    for (int k = 0; k < K; ++k)
      largest[k] = largest_number(&from(0, k), constrained, n, couplings ? &constrained_.list : nullptr,
                                  constrained_.inverse.data(), 1 / scale_);
    MPI_Allreduce(MPI_IN_PLACE, largest, K, MPI_INT64_T, MPI_MAX, comm_);
  }
  for (int k = 0; k < K; ++k) {
    before.v[k] = normalised ? normalising(largest[k]) : std::ldexp(1, std::ilogb(scale_) / 2);
    after.v[k]  = scale_ / before.v[k];
  }
  const bool begun = level.begun && !couplings; // as long as the numbers are the same
  for_each(exec_, n,
           Load<T, V>{perm_.data(), constrained, from, bs, before, level.inverse.data(), of.b, begun ? of.z : nullptr,
                      (T)(begun ? level.chebyshev.first() : 0)});
  if (couplings) {
    for_each(exec_, (int)level.work.x.size(), Clear<V>{of.x});
    for_each(exec_, (int)constrained_.list.size(),
             LoadConstrained<T, V>{constrained_.list.data(), where_.data(), constrained_.inverse.data(), from, bs,
                                   after, of.x});
    level.halo(of.x);
    subtract_constrained(of.x, of.b);
  }
  cycle<V>(begun);
  for_each(exec_, n, Store<V>{perm_.data(), bs, of.x, after, to});
  if (one_sided_.any && transposed) store_constrained_transposed(r, 1 / before.v[0], z);
  else
    for_each(exec_, (int)constrained_.list.size(),
             StoreConstrained<V>{constrained_.list.data(), constrained_.inverse.data(), from, to});
}

template <class T> template <class V> void Hierarchy<T>::precondition(const V *r, V *z)
{
  const Vectors<V>           of = levels_[0].template vectors<V>();
  const int                  bs = params_.bs, n = levels_[0].n * bs;
  const unsigned char *const constrained = constrained_.any ? constrained_.kind.data() : nullptr;
  for_each(exec_, n, TakeInOrder<V>{perm_.data(), constrained, bs, r, of.b});
  cycle<V>(false, 0, false);
  for_each(exec_, n, PutInOrder<T, V>{perm_.data(), bs, (T)scale_, of.x, z});
  for_each(exec_, (int)constrained_.list.size(),
           PutConstrained<T, V>{constrained_.list.data(), constrained_.inverse.data(), r, z});
}

template <class T> void Hierarchy<T>::apply(int vectors, const double *r, ptrdiff_t stride_r, double *z,
                                            ptrdiff_t stride_z, bool transposed)
{
  struct Turned {
    Hierarchy *h;
    explicit Turned(Hierarchy *turn) : h(turn)
    {
      if (h) h->turn();
    }
    ~Turned()
    {
      if (h) h->turn();
    }
  };
  if (transposed) make_transpose();
  const Turned turned(transposed ? this : nullptr);
  int          first = 0;
  const auto   groups = [&](auto v, bool use) {
    for (; use && vectors - first >= width_of<decltype(v)>; first += width_of<decltype(v)>)
      apply_group<decltype(v)>(r + first * stride_r, stride_r, z + first * stride_z, stride_z, transposed);
  };
  const bool several = params_.cycle != Cycle::k && !sweeps() && !transposed, scalar = params_.bs == 1;
  groups(Several<T, 8>(), several && scalar);
  groups(Several<T, 4>(), several);
  groups(Several<T, 2>(), several && scalar);
  groups(T(), true);
}

#define INSTANTIATE(T, ...) \
  template void Hierarchy<T>::make_several<__VA_ARGS__>(); \
  template void Hierarchy<T>::precondition<__VA_ARGS__>(const __VA_ARGS__ *, __VA_ARGS__ *);
TESSERA_ALL_WIDTHS(INSTANTIATE, double)
TESSERA_ALL_WIDTHS(INSTANTIATE, float)
template void Hierarchy<double>::subtract_constrained(const double *, double *);
template void Hierarchy<double>::apply(int, const double *, ptrdiff_t, double *, ptrdiff_t, bool);
template void Hierarchy<float>::apply(int, const double *, ptrdiff_t, double *, ptrdiff_t, bool);

} // namespace tessera::tree
