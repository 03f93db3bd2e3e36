// Interpolation by the operator. A node between two coarse ones along a direction takes what its row, with the other
// directions summed up, says of them; one between four what the collapsed row of their plane says, with the weights of
// the nodes on the edges; one between eight its row itself, with the weights of all these. Three passes, coarse nodes
// with the first one. Loops over couplings are unrolled: rows stay in a device's registers.
#include "box/chunks.hpp"
#include "box/cube.hpp"
#include "box/tuning.hpp"
#include "rrb/three/hierarchy.hpp"

namespace tessera::rrb::three {

namespace {

constexpr double sideways = 0.01; // a direction with less than this share of the diagonal ties nothing
constexpr double some     = 0.05;
// Where negative couplings exceed the positive ones by less than this share of them all, weights would be many times 1,
// and coarse operators many times the finest one: the positive ones do not count there.
constexpr double cancelled = 0.2;

// Once a setup: the row and its neighbours' weights are read, up to 8 numbers are written. Pass: the number of
// directions in which a node is between coarse ones; 1 has the coarse nodes as well.
template <class T, int F, int Pass> struct Weigh {
  box::Symmetric3<T, F> s;
  const uint8_t        *alive;
  T                    *w;
  int                   step[3], coarse[3];
  bool                  periodic[3];
  int                   last[3]; // the index of a coarse node that is even; -1: there is none

  HD static constexpr int along(int c, int d) { return d == 0 ? c % 3 - 1 : d == 1 ? c / 3 % 3 - 1 : c / 9 - 1; }
  HD static constexpr bool stored(int x, int y, int z)
  {
    return F == box::box_forward || (x != 0) + (y != 0) + (z != 0) <= 1;
  }
  HD static double positive(double v) { return v > 0 ? v : 0; }
  HD static T      cut(double v) { return fabs(v) < tuning::small_weight ? (T)0 : (T)v; }
  HD bool has(const int *q, int d, int side) const
  {
    const int c = q[d] + side;
    return periodic[d] || (c >= 0 && c / 2 < coarse[d]);
  }
  // The place of the node (x, y, z) away; q: the node's indices.
  template <int P> HD ptrdiff_t to(ptrdiff_t o, int x, int y, int z) const
  {
    return o + y * s.sj + z * s.sk +
           (x == 0 ? box::beside<P, 0>(s.half) : x < 0 ? box::beside<P, -1>(s.half) : box::beside<P, 1>(s.half));
  }
  template <int P> HD ptrdiff_t to(ptrdiff_t o, int d, int side) const
  {
    return to<P>(o, d == 0 ? side : 0, d == 1 ? side : 0, d == 2 ? side : 0);
  }

  template <int P> HD void at(int t, ptrdiff_t o, int j, int k) const
  {
    const int       q[3] = {2 * t + P, j, k};
    const ptrdiff_t e    = o + P * (ptrdiff_t)s.half;
    int             between = 0, count = 0;
    for (int d = 0; d < 3; ++d)
      if (step[d] == 2 && !(q[d] & 1) && q[d] != last[d]) between |= 1 << d, ++count;
    if (count != Pass && (count || Pass != 1)) return;
    if (!count) {
      w[e] = alive[e];
      return;
    }
    if (!alive[e]) {
      for (int y = 0; y < 8; ++y) w[y * s.plane + e] = 0;
      return;
    }
    double a[27], sum = 0;
    s.template row<P>(o, a);
    box::unroll3<0, 27>([&](auto number) {
      constexpr int c = decltype(number)::value, x = along(c, 0), y = along(c, 1), z = along(c, 2);
      if (!stored(x, y, z)) return;
      if (c != 13 && !alive[to<P>(o, x, y, z)]) a[c] = 0;
      sum += a[c];
    });
    if constexpr (Pass == 1) {
      if (between == 1) edge<P, 0>(o, q, a, sum);
      else if (between == 2) edge<P, 1>(o, q, a, sum);
      else edge<P, 2>(o, q, a, sum);
    } else if constexpr (Pass == 2) {
      if (between == 3) face<P, 0, 1>(o, q, a, sum);
      else if (between == 5) face<P, 0, 2>(o, q, a, sum);
      else face<P, 1, 2>(o, q, a, sum);
    } else centre<P>(o, q, a, sum);
  }

  // d: the direction
  template <int P, int d> HD void edge(ptrdiff_t o, const int *q, const double (&a)[27], double sum) const
  {
    double below = 0, above = 0, lo = 0, hi = 0;
    box::unroll3<0, 27>([&](auto number) {
      constexpr int c = decltype(number)::value;
      if (along(c, d) < 0) below -= a[c];
      if (along(c, d) > 0) above -= a[c];
    });
    below = positive(below), above = positive(above);
    const bool   has_lo = has(q, d, -1), has_hi = has(q, d, 1);
    const double both = below + above;
    if (both > sideways * a[box::centre27] || (sum >= tuning::tied_sideways * a[box::centre27] && both > some * sum)) {
      const double all = sum < 0 ? both : both + sum;
      lo = below / all, hi = above / all;
    } else if (sum < tuning::tied_sideways * a[box::centre27]) { // it takes from one that has nothing else, or both
      if (has_lo && !alive[to<P>(o, d, -1)]) lo = 1;
      else if (has_hi && !alive[to<P>(o, d, 1)]) hi = 1;
      else if (has_lo && has_hi) lo = both > 1e-8 * a[box::centre27] ? below / both : 0.5, hi = 1 - lo;
      else (has_lo ? lo : hi) = 1;
    }
    const ptrdiff_t e = o + P * (ptrdiff_t)s.half;
    w[e]                        = has_lo ? cut(lo) : (T)0;
    w[(1 << d) * s.plane + e]   = has_hi ? cut(hi) : (T)0;
  }

  // All of the weight to one corner: one without couplings, or the first that there is.
  template <int corners, class Corner> HD static void give(double (&v)[corners], const Corner &corner)
  {
    int best = -1;
    for (int free = 0; free < 2 && best < 0; ++free)
      for (int y = 0; y < corners && best < 0; ++y) {
        const int state = corner(y); // -1: there is none; 0: without couplings
        if (state == 0 || (free && state > 0)) best = y;
      }
    for (int y = 0; y < corners; ++y) v[y] = y == best;
  }

  // What the couplings around c[N / 2] tie a node with. Where they cancel the positive ones become zero.
  template <int N> HD static double tie(double (&c)[N])
  {
    double ties = 0, size = 0;
    box::unroll3<0, N>([&](auto number) {
      constexpr int n = decltype(number)::value;
      if (n != N / 2) ties -= c[n], size += fabs(c[n]);
    });
    if (ties >= cancelled * size) return ties;
    ties = 0;
    box::unroll3<0, N>([&](auto number) {
      constexpr int n = decltype(number)::value;
      if (n != N / 2) ties += positive(-c[n]), c[n] = -positive(-c[n]);
    });
    return ties;
  }

  // d, f: the directions
  template <int P, int d, int f> HD void face(ptrdiff_t o, const int *q, const double (&a)[27], double sum) const
  {
    double c[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0}, v[4], total = 0;
    box::unroll3<0, 27>([&](auto number) {
      constexpr int n = decltype(number)::value;
      c[3 * along(n, f) + along(n, d) + 4] += a[n];
    });
    const double ties = tie(c), diagonal = ties + positive(sum);
    const bool   tied = ties > 1e-8 * a[box::centre27] && ties > some * sum;
    box::unroll3<0, 4>([&](auto corner) {
      constexpr int y = decltype(corner)::value, m = y & 1, n = y >> 1;
      const bool in = has(q, d, 2 * m - 1) && has(q, f, 2 * n - 1);
      const double z = c[6 * n + 2 * m] + c[3 + 2 * m] * (double)w[(n << f) * s.plane + to<P>(o, d, 2 * m - 1)] +
                       c[6 * n + 1] * (double)w[(m << d) * s.plane + to<P>(o, f, 2 * n - 1)];
      v[y] = in && tied ? -z / diagonal : 0;
      total += v[y];
    });
    if (sum < tuning::tied_sideways * a[box::centre27] && !(total > some))
      give(v, [&](int y) {
        const int side[2] = {2 * (y & 1) - 1, 2 * (y >> 1) - 1};
        if (!has(q, d, side[0]) || !has(q, f, side[1])) return -1;
        int x[3] = {0, 0, 0};
        x[d] = side[0], x[f] = side[1];
        return (int)alive[to<P>(o, x[0], x[1], x[2])];
      });
    const ptrdiff_t e = o + P * (ptrdiff_t)s.half;
    for (int y = 0; y < 4; ++y) w[((y & 1) << d | (y >> 1) << f) * s.plane + e] = cut(v[y]);
  }

  template <int P> HD void centre(ptrdiff_t o, const int *q, double (&a)[27], double sum) const
  {
    double       v[8], total = 0;
    const double diagonal = tie(a) + positive(sum);
    box::unroll3<0, 8>([&](auto corner) {
      constexpr int y = decltype(corner)::value, X = 2 * (y & 1) - 1, Y = 2 * (y >> 1 & 1) - 1, Z = 2 * (y >> 2) - 1;
      double        u = 0;
      v[y] = 0;
      if (!has(q, 0, X) || !has(q, 1, Y) || !has(q, 2, Z)) return;
      box::unroll3<1, 8>([&](auto towards) { // neighbours towards the corner
        constexpr int m = decltype(towards)::value, x = m & 1 ? X : 0, yy = m & 2 ? Y : 0, zz = m & 4 ? Z : 0;
        if (!stored(x, yy, zz)) return;
        u += a[box::centre27 + x + 3 * yy + 9 * zz] * (double)w[(y & ~m) * s.plane + to<P>(o, x, yy, zz)];
      });
      v[y] = -u / diagonal;
      total += v[y];
    });
    if (sum < tuning::tied_sideways * a[box::centre27] && !(total > some))
      give(v, [&](int y) {
        const int side[3] = {2 * (y & 1) - 1, 2 * (y >> 1 & 1) - 1, 2 * (y >> 2) - 1};
        if (!has(q, 0, side[0]) || !has(q, 1, side[1]) || !has(q, 2, side[2])) return -1;
        return (int)alive[to<P>(o, side[0], side[1], side[2])];
      });
    const ptrdiff_t e = o + P * (ptrdiff_t)s.half;
    for (int y = 0; y < 8; ++y) w[y * s.plane + e] = cut(v[y]);
  }
};

// The same on the host, where there is no odd periodic direction: half rows whose turn it is. Those of a star go by
// chunks, of which vectors do the nodes that have all of their neighbours and need no exception; the kernel does the
// others.
template <class T, int F, int Pass> struct WeighRows {
  using Kernel = Weigh<T, F, Pass>;
  const Kernel of;
  box::Layout3 layout;
  int          lo, hi; // of the own nodes
  // Couplings by direction and side, as the kernel adds them up.
  struct Row {
    double        a[3][2], diagonal, sum;
    static double add(double ties, double &size, double v)
    {
      size += fabs(v);
      return ties - v;
    }
    // What ties the node along D and G, or along all directions; is it more than what cancels?
    template <int D, int G> bool tie(double &ties) const
    {
      double size = 0;
      ties = 0;
      if (Pass == 3) ties = add(ties, size, a[2][0]);
      ties = add(add(ties, size, a[G][0]), size, a[D][0]);
      ties = add(add(ties, size, a[D][1]), size, a[G][1]);
      if (Pass == 3) ties = add(ties, size, a[2][1]);
      return ties >= cancelled * size;
    }
  };
  using Places = const ptrdiff_t[3][2]; // of the neighbours
  __attribute__((always_inline)) bool read(Places &q, ptrdiff_t e, Row &r) const
  {
    int all = of.alive[e];
    for (int d = 0; d < 3; ++d) {
      const T *const plane = of.s.a + (d + 1) * of.s.plane;
      r.a[d][0] = plane[q[d][0]], r.a[d][1] = plane[e];
      all &= of.alive[q[d][0]] & of.alive[q[d][1]];
    }
    r.diagonal = of.s.a[e];
    r.sum      = r.a[2][0] + r.a[1][0] + r.a[0][0] + r.diagonal + r.a[0][1] + r.a[1][1] + r.a[2][1];
    return all;
  }
  T     *weight(int corner) const { return of.w + corner * of.s.plane; }
  // Do the weights, which are by the formulas, stand? Else the node is an exception.
  bool enough(const Row &r, double total) const
  {
    return !(r.sum < tuning::tied_sideways * r.diagonal) | (total > some);
  }
  template <int D> __attribute__((always_inline)) bool edge(const Row &r, ptrdiff_t e) const
  {
    const double below = Kernel::positive(-r.a[D][0]), above = Kernel::positive(-r.a[D][1]), both = below + above,
                 all = r.sum < 0 ? both : both + r.sum;
    weight(0)[e]      = Kernel::cut(below / all);
    weight(1 << D)[e] = Kernel::cut(above / all);
    return both > sideways * r.diagonal;
  }
  template <int D, int G> __attribute__((always_inline)) bool face(const Row &r, Places &q, ptrdiff_t e) const
  {
    double     ties, total = 0;
    const bool good = r.template tie<D, G>(ties), tied = (ties > 1e-8 * r.diagonal) & (ties > some * r.sum);
    const double diagonal = ties + Kernel::positive(r.sum);
    box::unroll3<0, 4>([&](auto corner) {
      constexpr int y = decltype(corner)::value, m = y & 1, n = y >> 1;
      const double  at_d = (double)weight(n << G)[q[D][m]], at_g = (double)weight(m << D)[q[G][n]],
                    v = -(0. + r.a[D][m] * at_d + r.a[G][n] * at_g) / diagonal;
      total += v;
      weight(m << D | n << G)[e] = Kernel::cut(v);
    });
    return good & tied & enough(r, total);
  }
  __attribute__((always_inline)) bool centre(const Row &r, Places &q, ptrdiff_t e) const
  {
    double     ties, total = 0;
    const bool good = r.template tie<0, 1>(ties);
    const double diagonal = ties + Kernel::positive(r.sum);
    box::unroll3<0, 8>([&](auto corner) {
      constexpr int y = decltype(corner)::value;
      double        u = 0;
      box::unroll3<0, 3>([&](auto direction) {
        constexpr int d = decltype(direction)::value, side = y >> d & 1;
        u += r.a[d][side] * (double)weight(y & ~(1 << d))[q[d][side]];
      });
      const double v = -u / diagonal;
      total += v;
      weight(y)[e] = Kernel::cut(v);
    });
    return good & enough(r, total);
  }
  // B: the directions that the nodes are between coarse ones in. stands[v]: node v is no exception. How many are?
  template <int P, int B, int W> int at(ptrdiff_t o, int (&stands)[W]) const
  {
    constexpr int   D = B & 1 ? 0 : B & 2 ? 1 : 2, G = B & 4 ? 2 : 1;
    const ptrdiff_t e = o + P * (ptrdiff_t)of.s.half;
    int             exceptions = 0;
#pragma omp simd reduction(+ : exceptions)
    for (int v = 0; v < W; ++v) {
      const ptrdiff_t q[3][2] = {
        {o + box::beside<P, -1>(of.s.half) + v, o + box::beside<P, 1>(of.s.half) + v},
        {e - of.s.sj + v,                       e + of.s.sj + v                     },
        {e - of.s.sk + v,                       e + of.s.sk + v                     }
      };
      Row r;
      int good = read(q, e + v, r);
      if constexpr (Pass == 1) good &= edge<D>(r, e + v);
      else if constexpr (Pass == 2) good &= face<D, G>(r, q, e + v);
      else good &= centre(r, q, e + v);
      stands[v] = good;
      exceptions += !good;
    }
    return exceptions;
  }
  template <int P, int B> void half_row(int j, int k) const
  {
    const ptrdiff_t o = layout.row(j, k);
    const int       node[3] = {0, j, k}, begin = half_begin(lo, P), end = half_begin(hi, P);
    bool            all = F == box::star_forward;
    int             from = begin, to = end; // the nodes between coarse ones
    for (int d = 1; d < 3; ++d)
      if (B >> d & 1) all = all && of.has(node, d, -1) && of.has(node, d, 1);
    if ((B & 1) && !of.periodic[0]) from = from > 1 ? from : 1, to = to < of.coarse[0] ? to : of.coarse[0];
    if (!all || from >= to) return box::at_places<P>(o, j, k, begin, end, of);
    if constexpr (F == box::star_forward) {
      box::at_places<P>(o, j, k, begin, from, of);
      box::in_chunks(from, to, [&](int t, auto width) {
        constexpr int W = decltype(width)::value;
        int           stands[W];
        const int     exceptions = at<P, B, W>(o + t, stands);
        if (4 * exceptions > W) return box::at_places<P>(o, j, k, t, t + W, of);
        for (int v = 0; exceptions && v < W; ++v)
          if (!stands[v]) box::at_places<P>(o, j, k, t + v, t + v + 1, of);
      });
      box::at_places<P>(o, j, k, to, end, of);
    }
  }
  template <int P> void half_row(int j, int k) const
  {
    const int along = P == 0 && of.step[0] == 2, y = of.step[1] == 2 && !(j & 1), z = of.step[2] == 2 && !(k & 1),
              between = along | y << 1 | z << 2;
    if (!between && Pass == 1)
      return box::at_places<P>(layout.row(j, k), j, k, half_begin(lo, P), half_begin(hi, P), of);
    box::unroll3<1, 8>([&](auto set) {
      constexpr int B = decltype(set)::value;
      if constexpr ((B & 1) + (B >> 1 & 1) + (B >> 2) == Pass && !(P && (B & 1)))
        if (between == B) half_row<P, B>(j, k);
    });
  }
};

// In an odd periodic direction index n - 1 is that of a coarse node and n + 1 that of a node behind the next one: what
// they take from their coarse neighbour they take from the one behind them. Index -1 stays as it is, it is odd.
template <class T> struct FromBehind {
  T        *w;
  ptrdiff_t plane;
  int       half, d, n;
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k) const
  {
    const int       q = d == 0 ? 2 * t + P : d == 1 ? j : k, bit = 1 << d;
    const ptrdiff_t e = o + P * (ptrdiff_t)half;
    if (q != n - 1 && q != n + 1) return;
    for (int y = 0; y < 8; ++y)
      if (!(y & bit)) w[(y | bit) * plane + e] = w[y * plane + e], w[y * plane + e] = 0;
  }
};

} // namespace

template <class T> void interpolate(Level<T> &l, const Grid3 &coarse)
{
  const ptrdiff_t  plane = (ptrdiff_t)l.layout.size();
  std::vector<T *> planes;
  for (int y = 0; y < 8; ++y) planes.push_back(l.weights.data() + y * plane);
  const int passes = (l.step[0] == 2) + (l.step[1] == 2) + (l.step[2] == 2);
  const auto pass = [&](auto number) {
    with_operator(l, [&](auto s) {
      constexpr int F = decltype(s)::kept, Pass = decltype(number)::value;
      const Weigh<T, F, Pass> kernel{
        s,
        l.alive.data(),
        l.weights.data(),
        {l.step[0],     l.step[1],     l.step[2]    },
        {coarse.n[0],   coarse.n[1],   coarse.n[2]  },
        {l.periodic[0], l.periodic[1], l.periodic[2]},
        {l.odd(0) ? l.n[0] - 1 : -1, l.odd(1) ? l.n[1] - 1 : -1, l.odd(2) ? l.n[2] - 1 : -1}
      };
      if (l.odd(0) || l.odd(1) || l.odd(2)) return box::for_nodes(l.exec, l.layout, l.own, kernel);
      const WeighRows<T, F, Pass> rows{kernel, l.layout, l.own.lo[0], l.own.hi[0]};
      box::for_nodes(l.exec, l.layout, l.own, kernel, [&](int j, int k) {
        rows.template half_row<0>(j, k);
        rows.template half_row<1>(j, k);
      });
    });
    l.halo.exchange(planes.data(), 8);
  };
  pass(std::integral_constant<int, 1>());
  if (passes > 1) pass(std::integral_constant<int, 2>());
  if (passes > 2) pass(std::integral_constant<int, 3>());
  for (int d = 0; d < 3; ++d)
    if (l.odd(d)) {
      box::Box3 all = l.own;
      for (int e = 0; e < 3; ++e) all.lo[e] -= box::ghosts, all.hi[e] += box::ghosts;
      box::for_nodes(l.exec, l.layout, all, FromBehind<T>{l.weights.data(), plane, l.layout.half, d, l.n[d]});
    }
}

template void interpolate(Level<double> &, const Grid3 &);
template void interpolate(Level<float> &, const Grid3 &);

} // namespace tessera::rrb::three
