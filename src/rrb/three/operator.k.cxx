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
  template <int P> HD void at(int, ptrdiff_t o, int, int, Differences &largest) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)half;
    const double    d = from[box::plane_of<3, Full>(0, 0, 0) * plane + e];
    const bool      in = free[e];
    double          difference = 0, one_sided = 0;
    a[e] = (T)d;
    box::unroll3<0, count>([&](auto m) {
      constexpr int   M = decltype(m)::value, x = box::forward<M>(0), y = box::forward<M>(1), z = box::forward<M>(2);
      const ptrdiff_t q = o + box::beside<P, x>(half) + y * sj + z * sk;
      const double    u = from[box::plane_of<3, Full>(x, y, z) * plane + e],
                   v = from[box::plane_of<3, Full>(-x, -y, -z) * plane + q], apart = fabs(u - v);
      const bool   both = in && free[q];
      const double sum = (in ? u : 0) + (free[q] ? v : 0);
      a[(M + 1) * plane + e] = (T)(both ? 0.5 * sum : sum);
      difference             = both && apart > difference ? apart : difference;
      one_sided              = !both && fabs(sum) > one_sided ? fabs(sum) : one_sided;
    });
    Differences here;
    here.difference = difference, here.diagonal = in ? d : 0, here.one_sided = one_sided;
    largest.join(here);
  }
};

// Which nodes have couplings, and what scales: 1 / the sum of the absolute values of a row, or 1 / the diagonal.
template <class T, int F> struct Scale {
  box::Symmetric3<T, F> s;
  const uint8_t        *free; // nullptr: where there is a diagonal
  uint8_t              *alive;
  T                    *inverse, *diagonal; // diagonal: nullptr but for a Schur complement
  template <int P> HD void at(int, ptrdiff_t o, int j, int k) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)s.half;
    const T         d = s.a[e];
    const bool      in = (!free || free[e]) && d > 0;
    T               sum = 0;
    s.template each<P>(o, [&](T a, ptrdiff_t q) { sum += (free ? free[q] : s.a[q] != 0) ? fabs(a) : 0; });
    alive[e] = in && sum > (T)tuning::dead_coupling * d;
    if (diagonal) diagonal[e] = in ? 1 / d : 0;
    inverse[e] = !in || (diagonal && !((P + j + k) & 1)) ? 0 : 1 / (diagonal ? d : d + sum);
  }
};

template <class T, int F, bool Finest> struct FindKinds {
  box::Symmetric3<T, F> s;
  const uint8_t        *alive;
  uint8_t              *along; // what line() says; nullptr where nobody asks
  int                   n[3];
  static constexpr double strong = 0.15; // share of the strongest direction's coupling
  static constexpr double faint  = 1e-5; // share of the larger diagonal entry
  static constexpr double rounding = 1e-14; // as what sums of elements leave where a coupling is zero
  // Do couplings (all[direction][side]) jump at a node, or end inside of the grid? in: of the neighbours. beyond: what
  // the diagonal has beyond the couplings; those with Dirichlet rows may have been taken out of their columns.
  HD static bool jumps(const bool (&in)[3][2], const T (&all)[3][2], T beyond)
  {
    bool any = false;
    box::unroll3<0, 3>([&](auto direction) {
      constexpr int d = decltype(direction)::value;
      const T       u = all[d][0] > 0 ? all[d][0] : beyond, v = all[d][1] > 0 ? all[d][1] : beyond;
      any = any || (in[d][0] && in[d][1] && (u > v ? u > (T)tuning::jump * v : v > (T)tuning::jump * u));
    });
    return any;
  }
  // 1 + the direction beside which the others are weak, be it on one side, where a line ends; 0: there is none
  HD static uint8_t line(const T (&bound)[3])
  {
    int d = 0;
    for (int a = 1; a < 3; ++a) d = bound[a] > bound[d] ? a : d;
    for (int a = 0; a < 3; ++a)
      if (a != d && bound[a] >= (T)strong * bound[d]) return 0;
    return (uint8_t)(d + 1);
  }
  // The strong ones of the other two directions, by themselves: what is smooth along the lines knows these alone.
  HD static int beside_line(int d, const T (&bound)[3], const bool (&alone)[3])
  {
    const int a = (d + 1) % 3, b = (d + 2) % 3;
    const T   top = bound[a] > bound[b] ? bound[a] : bound[b];
    const bool in[2] = {alone[a] || bound[a] >= (T)strong * top, alone[b] || bound[b] >= (T)strong * top};
    return in[0] << a | in[1] << b;
  }
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k, Counts &counts) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)s.half;
    T               side[3][2] = {{0, 0}, {0, 0}, {0, 0}}, all[3][2] = {{0, 0}, {0, 0}, {0, 0}}, sum = 0, whole = 0;
    const T         d = s.a[e];
    const bool      own = alive[e];
    const int       i = 2 * t + P;
    const bool      in[3][2] = {{i > 0, i + 1 < n[0]}, {j > 0, j + 1 < n[1]}, {k > 0, k + 1 < n[2]}};
    int             loose = 0, faint_ones = 0;
    if (along) along[e] = 0;
    box::unroll3<0, F>([&](auto m) {
      constexpr int   M = decltype(m)::value, x = box::forward<M>(0), y = box::forward<M>(1), z = box::forward<M>(2);
      const ptrdiff_t q[2] = {o + s.template place<P, -x>(-y, -z), o + s.template place<P, x>(y, z)};
      box::unroll3<0, 2>([&](auto ahead) {
        constexpr int b = decltype(ahead)::value;
        const T    c = s.a[(M + 1) * s.plane + (b ? e : q[0])];
        const bool other = alive[q[b]];
        const T    v = other ? c : 0;
        sum += fabs(v);
        if (Finest) whole += fabs(c);
        if (Finest && b && (own || other) && (!x || in[0][x > 0]) && (!y || in[1][y > 0]) && (!z || in[2][z > 0])) {
          const T u = s.a[q[1]], largest = d > u ? d : u, size = fabs(v);
          loose += !(size > (T)tuning::loose_coupling * largest);
          faint_ones += size > (T)rounding * largest && size < (T)faint * largest;
        }
        if (x) side[0][x > 0 ? b : 1 - b] -= v;
        if (y) side[1][y > 0 ? b : 1 - b] -= v;
        if (z) side[2][z > 0 ? b : 1 - b] -= v;
        if (Finest && x) all[0][x > 0 ? b : 1 - b] += fabs(c);
        if (Finest && y) all[1][y > 0 ? b : 1 - b] += fabs(c);
        if (Finest && z) all[2][z > 0 ? b : 1 - b] += fabs(c);
      });
    });
    if (Finest) {
      counts.loose += loose;
      counts.faint += faint_ones;
    }
    if (!(d > 0)) { // P'AP has couplings where its diagonal is zero, too: rounding
      if (Finest ? !(sum <= 0) || d < 0 : d != 0) counts.first = 1. + i + (double)n[0] * (j + (double)n[1] * k);
      return;
    }
    if (!own) return;
    const ptrdiff_t beside[3][2] = {
      {o + box::beside<P, -1>(s.half), o + box::beside<P, 1>(s.half)},
      {e - s.sj,                       e + s.sj                     },
      {e - s.sk,                       e + s.sk                     }
    };
    T    bound[3], top = 0;
    bool alone[3];
    for (int a = 0; a < 3; ++a) {
      const bool lo = !alive[beside[a][0]], hi = !alive[beside[a][1]];
      const T    u = side[a][0] > 0 ? side[a][0] : 0, v = side[a][1] > 0 ? side[a][1] : 0;
      alone[a]      = lo && hi;
      bound[a]      = lo ? 2 * v : hi ? 2 * u : u + v;
      const T least = alone[a] ? 0 : lo ? 2 * v : hi ? 2 * u : 2 * (u < v ? u : v);
      top           = top > least ? top : least;
    }
    if (top < (T)1e-8 * d) return;
    int set = 0;
    for (int a = 0; a < 3; ++a)
      if (alone[a] || bound[a] >= (T)strong * top) set |= 1 << a;
    if (along) {
      const int d = along[e] = line(bound);
      if (d) {
        set = 1 << (d - 1) | beside_line(d - 1, bound, alone);
        ++counts.line[d - 1];
      }
    }
    for (int c = 0; c < 8; ++c) counts.fraction[c] += c == set;
    if (Finest) counts.jumps += jumps(in, all, d > whole ? d - whole : 0);
  }
};

// The same on the host, chunk by chunk: vectors do the nodes of which there is little to say, the kernel the others.
template <class T> struct FindInChunks {
  using Kinds = FindKinds<T, box::star_forward, true>;
  static_assert(tuning::loose_coupling >= Kinds::faint, "what is not loose is not faint");
  const Kinds  of;
  box::Layout3 layout;
  int          lo, hi; // of the own nodes
  // sets[v]: the strong directions of node (2 (t + v) + P, j, k) at o + v, with neighbours on all sides, if that is all
  // there is to say of it; else 8 or more. If all W nodes have the same set, that, else -1.
  template <int P, int W> int find(ptrdiff_t o, int (&sets)[W]) const
  {
    const auto      &s = of.s;
    const ptrdiff_t  e = o + P * (ptrdiff_t)s.half;
    const T *const   diagonal = s.a + e;
    const ptrdiff_t  q[3][2] = {
      {o + box::beside<P, -1>(s.half), o + box::beside<P, 1>(s.half)},
      {e - s.sj,                       e + s.sj                     },
      {e - s.sk,                       e + s.sk                     }
    };
    int              any = 0, all = 7;
#pragma omp simd reduction(| : any) reduction(& : all)
    for (int v = 0; v < W; ++v) {
      const T d = diagonal[v];
      T       bound[3], top = 0;
      int     other = !of.alive[e + v] | !(d > 0), set = 0;
      for (int a = 0; a < 3; ++a) {
        const T *const plane = s.a + (a + 1) * s.plane;
        const T        lower = plane[q[a][0] + v], upper = plane[e + v], after = s.a[q[a][1] + v],
                largest = d > after ? d : after, below = fabs(lower), above = fabs(upper);
        other |= !of.alive[q[a][0] + v] | !of.alive[q[a][1] + v] |
                 !(above > (T)tuning::loose_coupling * largest) |
                 (below > (T)tuning::jump * above) | (above > (T)tuning::jump * below);
        const T u = lower < 0 ? -lower : 0, w = upper < 0 ? -upper : 0, least = 2 * (u < w ? u : w);
        bound[a]  = u + w;
        top       = top > least ? top : least;
      }
      other |= top < (T)1e-8 * d;
      for (int a = 0; a < 3; ++a) set |= (bound[a] >= (T)Kinds::strong * top) << a;
      sets[v] = set | (other ? 8 : 0);
      any |= sets[v];
      all &= set;
    }
    return any == all ? all : -1;
  }
  template <int P> void half_row(int j, int k, Counts &counts) const
  {
    const ptrdiff_t o = layout.row(j, k);
    const bool      inside = j > 0 && j + 1 < of.n[1] && k > 0 && k + 1 < of.n[2];
    const int begin = half_begin(lo, P), end = half_begin(hi, P), from = half_begin(lo > 1 ? lo : 1, P),
              to = half_begin(hi < of.n[0] - 1 ? hi : of.n[0] - 1, P);
    if (!inside || from >= to) return box::at_places<P>(o, j, k, begin, end, of, counts);
    box::at_places<P>(o, j, k, begin, from, of, counts);
    box::in_chunks(from, to, [&](int t, auto width) {
      constexpr int W = decltype(width)::value;
      int           sets[W];
      const int     set = find<P, W>(o + t, sets);
      int           exceptions = 0;
      if (set >= 0) {
        counts.fraction[set] += W;
        return;
      }
      for (int v = 0; v < W; ++v) exceptions += sets[v] >= 8;
      if (4 * exceptions > W) return box::at_places<P>(o, j, k, t, t + W, of, counts);
      for (int v = 0; v < W; ++v) {
        if (sets[v] < 8) ++counts.fraction[sets[v]];
        else box::at_places<P>(o, j, k, t + v, t + v + 1, of, counts);
      }
    });
    box::at_places<P>(o, j, k, to, end, of, counts);
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
    if (!clear) a[e] = (T)(r[box::centre27 - along] + r[box::centre27] + r[box::centre27 + along]);
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

template <class T> void compress(Level<T> &l, const Source &source, Buffer<Differences> &result)
{
  const ptrdiff_t       plane = (ptrdiff_t)l.layout.size();
  std::vector<double *> planes;
  for (int p = 0; p < box::points(3, source.box); ++p) planes.push_back(source.a + p * plane);
  l.halo.exchange(planes.data(), (int)planes.size());
  const auto run = [&](auto full) {
    box::join_nodes(l.exec, l.layout, l.own,
                    Compress<T, decltype(full)::value>{source.a, source.free, l.a.data(), plane, l.layout.sj,
                                                       l.layout.sk, l.layout.half},
                    result.data());
  };
  if (source.box) run(std::true_type());
  else run(std::false_type());
  exchange_operator(l);
}

template <class T>
void report_differences(const Level<T> &l, const Comm &comm, const Buffer<Differences> &result, Failure &report)
{
  const Differences d      = box::joined(result);
  double            largest[3] = {d.difference, d.diagonal, d.one_sided};
  if (!l.shared) MPI_Allreduce(MPI_IN_PLACE, largest, 3, MPI_DOUBLE, MPI_MAX, comm);
  report.one_sided = largest[2] > 0;
  report.largest   = largest[1];
  report.asymmetry = largest[1] > 0 ? largest[0] / largest[1] : 0;
}

template <class T> void scale(Level<T> &l, const uint8_t *free)
{
  with_operator(l, [&](auto s) {
    box::for_nodes(l.exec, l.layout, l.own,
                   Scale<T, decltype(s)::kept>{s, free, l.alive.data(), l.inverse.data(),
                                               l.schur ? l.diagonal.data() : nullptr});
  });
  l.halo.exchange(l.alive.data());
  if (l.schur) l.halo.exchange(l.diagonal.data());
}

template <class T> void find_stretches(Level<T> &l)
{
  // The host's caches keep couplings as well as it reads them: ends of stretches cost it more than they spare.
  if (chunk_of(l.exec) > 1 || l.own.hi[0] - l.own.lo[0] < tuning::stretches_row)
    return l.same.resize(Extent{0, l.exec.space});
  with_operator(l, [&](auto s) {
    box::RowNumbers<T> row;
    row.add(s.a, s.a + s.half);
    if (l.diagonal.size()) row.add(l.diagonal.data(), l.diagonal.data() + s.half);
    for (int m = 0; m < s.kept; ++m) {
      const T *const a = s.a + (m + 1) * s.plane;
      row.add(a, a + s.half);
      row.add(a + s.behind(0, m), a + s.behind(1, m));
    }
    box::find_stretches(l.exec, l.layout, l.own, row, l.same);
  });
}

template <class T> void find_kinds(Level<T> &l, bool finest, Counts *result)
{
  with_operator(l, [&](auto s) {
    const auto run = [&](auto first) {
      using Kernel = FindKinds<T, decltype(s)::kept, decltype(first)::value>;
      const Kernel kernel{
        s, l.alive.data(), l.lines.along.data(), {l.n[0], l.n[1], l.n[2]}
      };
      if constexpr (std::is_same_v<Kernel, typename FindInChunks<T>::Kinds>)
        if (!kernel.along) {
          const FindInChunks<T> chunks{kernel, l.layout, l.own.lo[0], l.own.hi[0]};
          return box::join_nodes(
            l.exec, l.layout, l.own, kernel,
            [&](int j, int k, Counts *sums) {
              chunks.template half_row<0>(j, k, sums[0]);
              chunks.template half_row<1>(j, k, sums[1]);
            },
            result, false);
        }
      box::join_nodes(l.exec, l.layout, l.own, kernel, result);
    };
    if (finest) run(std::true_type());
    else if constexpr (decltype(s)::kept == box::box_forward) run(std::false_type());
  });
}

template <class T> Kinds kinds_of(const Level<T> &l, const Comm &comm, const Counts &c)
{
  double counts[14] = {c.loose, c.faint, (double)c.jumps}, first = c.first > 0 ? c.first : 1e300, all = 0;
  Kinds  k;
  std::copy(c.fraction, c.fraction + 8, counts + 3);
  std::copy(c.line, c.line + 3, counts + 11);
  if (!l.shared) {
    MPI_Allreduce(MPI_IN_PLACE, counts, 14, MPI_DOUBLE, MPI_SUM, comm);
    MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_DOUBLE, MPI_MIN, comm);
  }
  for (int s = 0; s < 8; ++s) all += counts[3 + s];
  all = std::max(all, 1.);
  for (int s = 0; s < 8; ++s) k.fraction[s] = counts[3 + s] / all;
  for (int d = 0; d < 3; ++d) k.line[d] = counts[11 + d] / all;
  k.loose = counts[0];
  k.faint = counts[1] / all;
  k.jumps = counts[2] / all;
  k.bad_node = first < 1e300 ? first : 0;
  return k;
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
  template void  compress(Level<T> &, const Source &, Buffer<Differences> &); \
  template void  report_differences(const Level<T> &, const Comm &, const Buffer<Differences> &, Failure &); \
  template void  scale(Level<T> &, const uint8_t *); \
  template void  find_stretches(Level<T> &); \
  template void  find_kinds(Level<T> &, bool, Counts *); \
  template Kinds kinds_of(const Level<T> &, const Comm &, const Counts &); \
  template void  fold(Level<T> &, int);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::rrb::three
