// Operators in memory, their scaling, and what is read off them.
#include "box/chunks.hpp"
#include "box/cube.hpp"
#include "box/tuning.hpp"
#include "rrb/three/hierarchy.hpp"
#include <algorithm>

namespace tessera::rrb::three {

namespace {

// A coupling is the mean of both entries, or that of the row that is free. 8 B an entry read, one number for two.
template <class T, bool Full> struct Compress {
  const double  *from;
  const uint8_t *free;
  T             *a;
  ptrdiff_t      plane, sj, sk;
  int            half;
  static constexpr int count = Full ? box::box_forward : box::star_forward;
  template <int P> HD void at(int, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)half;
    a[e] = (T)from[box::plane_of<3, Full>(0, 0, 0) * plane + e];
    box::unroll3<0, count>([&](auto m) {
      constexpr int   M = decltype(m)::value, x = box::forward<M>(0), y = box::forward<M>(1), z = box::forward<M>(2);
      const ptrdiff_t q = o + box::beside<P, x>(half) + y * sj + z * sk;
      const double    here   = free[e] ? from[box::plane_of<3, Full>(x, y, z) * plane + e] : 0,
                   reverse   = free[q] ? from[box::plane_of<3, Full>(-x, -y, -z) * plane + q] : 0;
      a[(M + 1) * plane + e] = (T)(free[e] && free[q] ? 0.5 * (here + reverse) : here + reverse);
    });
  }
};

struct Differences {
  double  difference = 0, diagonal = 0;
  HD void join(const Differences &o)
  {
    if (o.difference > difference) difference = o.difference;
    if (o.diagonal > diagonal) diagonal = o.diagonal;
  }
};
template <bool Full> struct Asymmetry {
  const double  *from;
  const uint8_t *free;
  ptrdiff_t      plane, sj, sk;
  int            half;
  template <int P> HD void at(int, ptrdiff_t o, int, int, Differences &largest) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)half;
    const double    d = free[e] ? from[box::plane_of<3, Full>(0, 0, 0) * plane + e] : 0;
    double          difference = 0;
    box::unroll3<0, Full ? box::box_forward : box::star_forward>([&](auto m) {
      constexpr int   M = decltype(m)::value, x = box::forward<M>(0), y = box::forward<M>(1), z = box::forward<M>(2);
      const ptrdiff_t q = o + box::beside<P, x>(half) + y * sj + z * sk;
      const double v = fabs(from[box::plane_of<3, Full>(x, y, z) * plane + e] -
                            from[box::plane_of<3, Full>(-x, -y, -z) * plane + q]);
      difference     = free[e] && free[q] && v > difference ? v : difference;
    });
    Differences here;
    here.difference = difference, here.diagonal = d;
    largest.join(here);
  }
};

template <class T, int F> struct Alive {
  box::Symmetric3<T, F> s;
  const uint8_t        *free; // or nullptr
  uint8_t              *alive;
  template <int P> HD void at(int, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)s.half;
    T               sum = 0;
    s.template each<P>(o, [&](T a, ptrdiff_t q) { sum += !free || free[q] ? fabs(a) : 0; });
    alive[e] = (!free || free[e]) && s.a[e] > 0 && sum > (T)tuning::dead_coupling * s.a[e];
  }
};

// 1 / the sum of the absolute values of a row, or 1 / the diagonal.
template <class T, int F> struct Scale {
  box::Symmetric3<T, F> s;
  const uint8_t        *free;
  T                    *inverse, *diagonal; // diagonal: nullptr but for a Schur complement
  template <int P> HD void at(int, ptrdiff_t o, int j, int k) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)s.half;
    const bool      in = (!free || free[e]) && s.a[e] > 0;
    if (diagonal) {
      diagonal[e] = in ? 1 / s.a[e] : 0;
      inverse[e]  = (P + j + k) & 1 ? diagonal[e] : 0;
      return;
    }
    T sum = s.a[e];
    s.template each<P>(o, [&](T a, ptrdiff_t q) { sum += !free || free[q] ? fabs(a) : 0; });
    inverse[e] = in ? 1 / sum : 0;
  }
};

template <class T, int F> struct FindKinds {
  box::Symmetric3<T, F> s;
  const uint8_t        *alive;
  int                   n[3];
  bool                  finest;
  static constexpr double strong = 0.15; // share of the strongest direction's coupling
  static constexpr double faint  = 1e-5; // share of the larger diagonal entry
  HD bool inside(int i, int j, int k) const { return i >= 0 && j >= 0 && k >= 0 && i < n[0] && j < n[1] && k < n[2]; }
  // Do couplings (all[direction][side]) jump at a node, or end inside of the grid?
  HD bool jumps(int i, int j, int k, const double (*all)[2]) const
  {
    bool any = false;
    for (int d = 0; d < 3; ++d) {
      const int    x = d == 0, y = d == 1, z = d == 2;
      const double u = all[d][0], v = all[d][1];
      any = any || (inside(i - x, j - y, k - z) && inside(i + x, j + y, k + z) &&
                    (u > v ? u > tuning::jump * v : v > tuning::jump * u));
    }
    return any;
  }
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k, Kinds &kinds) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)s.half;
    double          side[3][2] = {{0, 0}, {0, 0}, {0, 0}}, all[3][2] = {{0, 0}, {0, 0}, {0, 0}}, sum = 0;
    const double    d = s.a[e];
    box::unroll3<0, F>([&](auto m) {
      constexpr int   M = decltype(m)::value, x = box::forward<M>(0), y = box::forward<M>(1), z = box::forward<M>(2);
      const ptrdiff_t q[2] = {o + s.template place<P, -x>(-y, -z), o + s.template place<P, x>(y, z)};
      for (int b = 0; b < 2; ++b) {
        const double c = s.a[(M + 1) * s.plane + (b ? e : q[0])], v = alive[q[b]] ? c : 0;
        sum += fabs(v);
        if (finest && b && inside(2 * t + P + x, j + y, k + z) && (alive[e] || alive[q[1]])) {
          const double largest = d > (double)s.a[q[1]] ? d : (double)s.a[q[1]];
          kinds.loose += !(fabs(v) > tuning::loose_coupling * largest);
          kinds.faint += v != 0 && fabs(v) < faint * largest;
        }
        if (x) side[0][x > 0 ? b : 1 - b] -= v;
        if (y) side[1][y > 0 ? b : 1 - b] -= v;
        if (z) side[2][z > 0 ? b : 1 - b] -= v;
        if (x) all[0][x > 0 ? b : 1 - b] += fabs(c);
        if (y) all[1][y > 0 ? b : 1 - b] += fabs(c);
        if (z) all[2][z > 0 ? b : 1 - b] += fabs(c);
      }
    });
    if (!(d > 0)) {
      if (!(sum <= 0) || d < 0) kinds.first = 1 + 2. * t + P + (double)n[0] * (j + (double)n[1] * k);
      return;
    }
    if (!alive[e]) return;
    const ptrdiff_t beside[3][2] = {
      {o + box::beside<P, -1>(s.half), o + box::beside<P, 1>(s.half)},
      {e - s.sj,                       e + s.sj                     },
      {e - s.sk,                       e + s.sk                     }
    };
    double bound[3], top = 0;
    for (int a = 0; a < 3; ++a) {
      const bool   lo = !alive[beside[a][0]], hi = !alive[beside[a][1]];
      const double u = side[a][0] > 0 ? side[a][0] : 0, v = side[a][1] > 0 ? side[a][1] : 0;
      bound[a]           = lo && hi ? 1e300 : lo ? 2 * v : hi ? 2 * u : u + v;
      const double least = lo && hi ? 0 : lo ? 2 * v : hi ? 2 * u : 2 * (u < v ? u : v);
      top                = top > least ? top : least;
    }
    if (top < 1e-8 * d) return;
    int set = 0;
    for (int a = 0; a < 3; ++a)
      if (bound[a] >= strong * top) set |= 1 << a;
    for (int c = 0; c < 8; ++c) kinds.fraction[c] += c == set;
    if (finest) kinds.jumps += jumps(2 * t + P, j, k, all);
  }
};

template <class T, int F> struct ClearDead {
  box::Symmetric3<T, F> s;
  T                    *a;
  template <int P> HD void at(int, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)s.half;
    box::unroll3<0, F>([&](auto m) {
      constexpr int   M = decltype(m)::value, x = box::forward<M>(0), y = box::forward<M>(1), z = box::forward<M>(2);
      const ptrdiff_t q = o + s.template place<P, x>(y, z);
      if (a[e] == 0 || a[q] == 0) a[(M + 1) * s.plane + e] = 0;
    });
  }
};

// The couplings along d, which are with the node's own line, are added to those across it; then they are zero.
template <class T, int F> struct Fold {
  box::Symmetric3<T, F> s;
  T                    *a;
  int                   d;
  bool                  clear;
  template <int P> HD void at(int, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)s.half;
    const int       along = d == 0 ? 1 : d == 1 ? 3 : 9;
    double          r[27];
    s.template row<P>(o, r);
    if (!clear) a[e] = (T)(r[13 - along] + r[13] + r[13 + along]);
    box::unroll3<0, F>([&](auto m) {
      constexpr int M = decltype(m)::value, x = box::forward<M>(0), y = box::forward<M>(1), z = box::forward<M>(2);
      constexpr int c = 9 * (z + 1) + 3 * (y + 1) + x + 1;
      const bool    across = (d == 0 ? x : d == 1 ? y : z) == 0;
      if (across && !clear) a[(M + 1) * s.plane + e] = (T)(r[c - along] + r[c] + r[c + along]);
      if (!across && clear) a[(M + 1) * s.plane + e] = 0;
    });
  }
};

template <class T> void exchange_operator(Level<T> &l)
{
  std::vector<T *> planes;
  for (int p = 0; p < 1 + (l.star ? box::star_forward : box::box_forward); ++p)
    planes.push_back(l.a.data() + p * (ptrdiff_t)l.layout.size());
  l.halo.exchange(planes.data(), (int)planes.size());
}

} // namespace

template <class T> void compress(Level<T> &l, const Source &source, const Comm &comm, Failure &report)
{
  const ptrdiff_t       plane = (ptrdiff_t)l.layout.size();
  std::vector<double *> planes;
  for (int p = 0; p < box::points(3, source.box); ++p) planes.push_back(source.a + p * plane);
  l.halo.exchange(planes.data(), (int)planes.size());
  Buffer<Differences> result(Extent{2, l.exec.space});
  if (source.box)
    box::for_nodes(l.exec, l.layout, l.own,
                   Compress<T, true>{source.a, source.free, l.a.data(), plane, l.layout.sj, l.layout.sk,
                                     l.layout.half});
  else
    box::for_nodes(l.exec, l.layout, l.own,
                   Compress<T, false>{source.a, source.free, l.a.data(), plane, l.layout.sj, l.layout.sk,
                                      l.layout.half});
  exchange_operator(l);
  if (source.box)
    box::join_nodes(l.exec, l.layout, l.own,
                    Asymmetry<true>{source.a, source.free, plane, l.layout.sj, l.layout.sk, l.layout.half},
                    result.data());
  else
    box::join_nodes(l.exec, l.layout, l.own,
                    Asymmetry<false>{source.a, source.free, plane, l.layout.sj, l.layout.sk, l.layout.half},
                    result.data());
  const Differences d      = box::joined(result);
  double            largest[2] = {d.difference, d.diagonal};
  if (!l.shared) MPI_Allreduce(MPI_IN_PLACE, largest, 2, MPI_DOUBLE, MPI_MAX, comm);
  report.largest   = largest[1];
  report.asymmetry = largest[1] > 0 ? largest[0] / largest[1] : 0;
}

template <class T> void mark_alive(Level<T> &l, const uint8_t *free)
{
  with_operator(l, [&](auto s) {
    box::for_nodes(l.exec, l.layout, l.own, Alive<T, decltype(s)::kept>{s, free, l.alive.data()});
  });
  l.halo.exchange(l.alive.data());
}

template <class T> void scale(Level<T> &l, const uint8_t *free)
{
  with_operator(l, [&](auto s) {
    box::for_nodes(l.exec, l.layout, l.own,
                   Scale<T, decltype(s)::kept>{s, free, l.inverse.data(), l.schur ? l.diagonal.data() : nullptr});
  });
  if (l.schur) l.halo.exchange(l.diagonal.data());
}

template <class T> Kinds kinds(const Level<T> &l, const Comm &comm, bool finest)
{
  Buffer<Kinds> result(Extent{2, l.exec.space});
  with_operator(l, [&](auto s) {
    box::join_nodes(l.exec, l.layout, l.own,
                    FindKinds<T, decltype(s)::kept>{
                      s, l.alive.data(), {l.n[0], l.n[1], l.n[2]}, finest
    },
                    result.data());
  });
  Kinds k = box::joined(result);
  if (!l.shared) {
    MPI_Allreduce(MPI_IN_PLACE, k.fraction, 8, MPI_DOUBLE, MPI_SUM, comm);
    MPI_Allreduce(MPI_IN_PLACE, &k.loose, 1, MPI_DOUBLE, MPI_SUM, comm);
    MPI_Allreduce(MPI_IN_PLACE, &k.jumps, 1, MPI_DOUBLE, MPI_SUM, comm);
    MPI_Allreduce(MPI_IN_PLACE, &k.faint, 1, MPI_DOUBLE, MPI_SUM, comm);
    double first = k.first > 0 ? k.first : 1e300;
    MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_DOUBLE, MPI_MIN, comm);
    k.first = first < 1e300 ? first : 0;
  }
  double all = 0;
  for (double v : k.fraction) all += v;
  for (double &v : k.fraction) v /= std::max(all, 1.);
  k.jumps /= std::max(all, 1.);
  k.faint /= std::max(all, 1.);
  return k;
}

template <class T> void clear_dead(Level<T> &l)
{
  with_operator(l, [&](auto s) {
    box::for_nodes(l.exec, l.layout, l.own, ClearDead<T, decltype(s)::kept>{s, l.a.data()});
  });
  exchange_operator(l);
}

template <class T> void fold(Level<T> &l, int direction)
{
  for (bool clear : {false, true})
    with_operator(l, [&](auto s) {
      box::for_nodes(l.exec, l.layout, l.own, Fold<T, decltype(s)::kept>{s, l.a.data(), direction, clear});
    });
  exchange_operator(l);
}

#define INSTANTIATE(T) \
  template void  compress(Level<T> &, const Source &, const Comm &, Failure &); \
  template void  mark_alive(Level<T> &, const uint8_t *); \
  template void  scale(Level<T> &, const uint8_t *); \
  template Kinds kinds(const Level<T> &, const Comm &, bool); \
  template void  clear_dead(Level<T> &); \
  template void  fold(Level<T> &, int);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::rrb::three
