// Coarse operators P' A P, one direction after the other: linear interpolation is a product of one for each direction, so the stencil
// of a grid coarsened in one of them has 3^d points again. Per node and direction 9 products for each of the 3^(d-1) other offsets.
#include "vipmg/stencil3.hpp"

namespace tessera::vipmg {

namespace {

// Adds the share of a coupling, between nodes tau and tau + kappa counted from the fine node of coarse node I, to the couplings of I.
struct Shares {
  double before, here_left, here_right, behind; // weights: of node -1 from I - 1 and I, of node 1 from I and I + 1
  HD void add(int m, double c, double *out) const
  {
    if (m == 0) out[1] += c;
    else if (m == -1) out[0] += before * c, out[1] += here_left * c;
    else if (m == 1) out[1] += here_right * c, out[2] += behind * c;
    else out[m < 0 ? 0 : 2] += c;
  }
};

// `free`: nodes that take part, null where all do.
template <int D, bool Box, int Direction> struct Coarsen {
  const double  *a;
  ptrdiff_t      plane;
  Layout3        from;
  const uint8_t *free;
  double        *out;
  ptrdiff_t      out_plane;
  int            out_half;
  const double  *left, *right; // by coarse node

  template <int P> HD void at(int t, ptrdiff_t o, int j, int k) const
  {
    const int       I = Direction == 0 ? 2 * t + P : Direction == 1 ? j : k;
    const ptrdiff_t e = o + P * (ptrdiff_t)out_half;
    const Shares    shares{right[I - 1], left[I], right[I], left[I + 1]};
    // where fine nodes -1, 0, 1 and their neighbours are
    ptrdiff_t here[5];
    for (int m = -2; m <= 2; ++m) {
      if (Direction == 0) here[m + 2] = from.row(j, k) + (m & 1) * (ptrdiff_t)from.half + I + (m >> 1);
      else here[m + 2] = (Direction == 1 ? from.row(2 * j + m, k) : from.row(j, 2 * k + m)) + t + P * (ptrdiff_t)from.half;
    }
    constexpr int  nq = D == 3 ? 1 : 0, np = Direction == 0 ? (D > 1 ? 1 : 0) : 1;
    for (int q = -nq; q <= nq; ++q)
      for (int p = -np; p <= np; ++p) {
        double sum[3] = {0, 0, 0};
        // the other offsets: along x they are (y, z); else p is x and q is the third
        const int       dx = p, dq = q;
        const ptrdiff_t aside = Direction == 0 ? p * from.sj + q * from.sk : (Direction == 1 ? q * from.sk : q * from.sj) + ((P + p) & 1) * (ptrdiff_t)from.half + ((P + p) >> 1) - P * (ptrdiff_t)from.half;
        for (int tau = -1; tau <= 1; ++tau) {
          const double weight = tau < 0 ? left[I] : tau > 0 ? right[I] : 1;
          for (int kappa = -1; kappa <= 1; ++kappa) {
            const int direction = Direction == 0 ? plane_of<D, Box>(kappa, dx, dq) : Direction == 1 ? plane_of<D, Box>(dx, kappa, dq) : plane_of<D, Box>(dx, dq, kappa);
            if (direction < 0) continue;
            double c = weight * a[direction * plane + here[tau + 2]];
            if (free) c *= (double)(free[here[tau + 2]] * free[here[tau + kappa + 2] + aside]);
            shares.add(tau + kappa, c, sum);
          }
        }
        for (int kappa = -1; kappa <= 1; ++kappa) {
          const int direction = Direction == 0 ? plane_of<D, true>(kappa, dx, dq) : Direction == 1 ? plane_of<D, true>(dx, kappa, dq) : plane_of<D, true>(dx, dq, kappa);
          out[direction * out_plane + e] = sum[kappa + 1];
        }
      }
  }
};

template <int D, bool Box> struct Inverse {
  Stencil3<D, Box> s;
  const uint8_t   *free;
  double          *inverse;
  template <int P> HD void at(int, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)s.half;
    const double    d = s.diagonal(e);
    inverse[e]        = free[e] && d > 0 ? 1 / d : 0;
  }
};

struct Largest {
  double asymmetry = 0, diagonal = 0;
  HD void join(const Largest &o)
  {
    asymmetry = o.asymmetry > asymmetry ? o.asymmetry : asymmetry;
    diagonal  = o.diagonal > diagonal ? o.diagonal : diagonal;
  }
};

template <int D, bool Box> struct FindAsymmetry {
  Stencil3<D, Box> s;
  const uint8_t   *free;
  template <int P> HD void at(int, ptrdiff_t o, int, int, Largest &r) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)s.half;
    if (!free[e]) return;
    const double d = s.diagonal(e);
    r.diagonal     = d > r.diagonal ? d : r.diagonal;
    for (int dz = D > 2 ? -1 : 0; dz <= (D > 2 ? 1 : 0); ++dz)
      for (int dy = D > 1 ? -1 : 0; dy <= (D > 1 ? 1 : 0); ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
          const int there = plane_of<D, Box>(dx, dy, dz), back = plane_of<D, Box>(-dx, -dy, -dz);
          if (there < 0) continue;
          const ptrdiff_t q = o + dy * s.sj + dz * s.sk + ((P + dx) & 1) * (ptrdiff_t)s.half + ((P + dx) >> 1);
          const double    c = free[q] ? s.a[there * s.plane + e] - s.a[back * s.plane + q] : 0;
          r.asymmetry       = c > r.asymmetry ? c : -c > r.asymmetry ? -c : r.asymmetry;
        }
  }
};

struct CoarseFree {
  const uint8_t *fine;
  Layout3        from;
  uint8_t       *coarse;
  int            half, step[3];
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k) const { coarse[o + P * (ptrdiff_t)half] = fine[from.at(step[0] * (2 * t + P), step[1] * j, step[2] * k)]; }
};

template <int D, bool Box> struct FindStrength {
  Stencil3<D, Box> s;
  const uint8_t   *free;
  int              last[3]; // node n - 1 where the grid ends there
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k, Strength &r) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)s.half;
    if (!free[e]) return;
    const int place[3] = {2 * t + P, j, k};
    double    sum = 0, before[3] = {0, 0, 0}, both[3] = {0, 0, 0};
    for (int dz = D > 2 ? -1 : 0; dz <= (D > 2 ? 1 : 0); ++dz)
      for (int dy = D > 1 ? -1 : 0; dy <= (D > 1 ? 1 : 0); ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
          const int direction = plane_of<D, Box>(dx, dy, dz);
          if (direction < 0) continue;
          const ptrdiff_t q = o + dy * s.sj + dz * s.sk + ((P + dx) & 1) * (ptrdiff_t)s.half + ((P + dx) >> 1);
          const double    c = free[q] ? s.a[direction * s.plane + e] : 0;
          sum += c;
          const int at[3] = {dx, dy, dz};
          for (int d = 0; d < D; ++d) {
            if (at[d]) both[d] -= c;
            if (at[d] < 0) before[d] -= c;
          }
        }
    for (int d = 0; d < D; ++d) {
      r.along[d] += both[d] > 0 ? both[d] : 0;
      if (place[d] != last[d]) continue;
      r.face[d] += before[d] > 0 ? before[d] : 0;
      r.row[d] += sum;
    }
  }
};

template <int D, bool Box> void coarsen_direction(const Plan &plan, int direction, const double *a, const Layout3 &from, const uint8_t *free, const Level &fine, double *out, const Layout3 &to, const Box3 &box)
{
  const ptrdiff_t plane = (ptrdiff_t)from.size(), out_plane = (ptrdiff_t)to.size();
  const double   *left = fine.left[direction].data() + 1, *right = fine.right[direction].data() + 1;
  if (direction == 0) for_nodes(plan.exec, to, box, Coarsen<D, Box, 0>{a, plane, from, free, out, out_plane, to.half, left, right});
  if constexpr (D > 1)
    if (direction == 1) for_nodes(plan.exec, to, box, Coarsen<D, Box, 1>{a, plane, from, free, out, out_plane, to.half, left, right});
  if constexpr (D > 2)
    if (direction == 2) for_nodes(plan.exec, to, box, Coarsen<D, Box, 2>{a, plane, from, free, out, out_plane, to.half, left, right});
}

} // namespace

void make_inverse(Plan &plan, Level &l, Operator &op)
{
  with_kind(plan.dimension, op.box, [&](auto kind) {
    using K = decltype(kind);
    for_nodes(plan.exec, l.layout, l.own, Inverse<K::dimension, K::box>{stencil<K::dimension, K::box>(l, op), l.free.data(), op.inverse.data()});
  });
}

Strength strength(Plan &plan, Level &l)
{
  Strength  both[2], s;
  with_kind(plan.dimension, l.A.box, [&](auto kind) {
    using K = decltype(kind);
    FindStrength<K::dimension, K::box> find{stencil<K::dimension, K::box>(l, l.A), l.free.data(), {-1, -1, -1}};
    for (int d = 0; d < 3; ++d)
      if (!l.periodic[d]) find.last[d] = l.n[d] - 1;
    join_nodes(plan.exec, l.layout, l.own, find, plan.strength.data());
  });
  if (plan.exec.space == Space::cuda) device::copy_to_host(both, plan.strength.data(), sizeof(both));
  else both[0] = plan.strength.data()[0], both[1] = plan.strength.data()[1];
  s.join(both[0]);
  s.join(both[1]);
  if (!l.shared) {
    double sums[9];
    for (int d = 0; d < 3; ++d) sums[d] = s.along[d], sums[3 + d] = s.face[d], sums[6 + d] = s.row[d];
    MPI_Allreduce(MPI_IN_PLACE, sums, 9, MPI_DOUBLE, MPI_SUM, plan.comm);
    for (int d = 0; d < 3; ++d) s.along[d] = sums[d], s.face[d] = sums[3 + d], s.row[d] = sums[6 + d];
  }
  return s;
}

double asymmetry(Plan &plan)
{
  Level          &l = plan.levels[0];
  Largest         both[2];
  Buffer<Largest> there;
  there.resize(Extent{2, plan.exec.space});
  with_kind(plan.dimension, l.A.box, [&](auto kind) {
    using K = decltype(kind);
    join_nodes(plan.exec, l.layout, l.own, FindAsymmetry<K::dimension, K::box>{stencil<K::dimension, K::box>(l, l.A), l.free.data()}, there.data());
  });
  if (plan.exec.space == Space::cuda) device::copy_to_host(both, there.data(), sizeof(both));
  else both[0] = there.data()[0], both[1] = there.data()[1];
  both[0].join(both[1]);
  double most[2] = {both[0].asymmetry, both[0].diagonal};
  if (!l.shared) MPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_DOUBLE, MPI_MAX, plan.comm);
  return most[1] > 0 ? most[0] / most[1] : 0;
}

void coarse_free(Plan &plan, int k)
{
  Level &fine = plan.levels[(size_t)k], &coarse = plan.levels[(size_t)k + 1];
  for_nodes(plan.exec, coarse.layout, coarse.part, CoarseFree{fine.free.data(), fine.layout, coarse.free.data(), coarse.layout.half, {fine.step[0], fine.step[1], fine.step[2]}});
  coarse.incoming.exchange(coarse.free.data());
}

void galerkin(Plan &plan, int k, bool truncated, bool top)
{
  Level          &fine = plan.levels[(size_t)k], &coarse = plan.levels[(size_t)k + 1];
  const Operator &op   = truncated && !top ? fine.truncated : fine.A;
  Operator       &out  = truncated ? coarse.truncated : coarse.A;
  const uint8_t  *free = truncated && top ? fine.inactive.data() : fine.free.data();
  const double   *a    = op.a.data();
  Layout3         from = fine.layout;
  bool            box  = op.box;
  Box3            b    = coarse.part;
  int             left = 0, used = 0;
  for (int d = 0; d < 3; ++d)
    if (fine.step[d] == 2) {
      ++left;
      b.lo[d] = 2 * coarse.part.lo[d] - 1;
      b.hi[d] = 2 * coarse.part.hi[d];
    }
  for (int d = 2; d >= 0; --d) {
    if (fine.step[d] == 1) continue;
    b.lo[d] = coarse.part.lo[d];
    b.hi[d] = coarse.part.hi[d];
    const bool    last = --left == 0;
    const Layout3 to   = last ? coarse.layout : layout_for(b, plan.dimension);
    double       *target = out.a.data();
    if (!last) {
      const size_t room = to.size() * (size_t)points(plan.dimension, true);
      if (plan.work[used].size() < room) plan.work[used].resize(Extent{room, plan.exec.space}); // at the first time
      target = plan.work[used].data();
    }
    with_kind(plan.dimension, box, [&](auto kind) {
      using K = decltype(kind);
      coarsen_direction<K::dimension, K::box>(plan, d, a, from, free, fine, target, to, b);
    });
    a    = target;
    from = to;
    box  = true;
    free = nullptr;
    used = 1 - used;
  }
  const ptrdiff_t n = (ptrdiff_t)coarse.layout.size();
  double         *planes[27];
  const int       count = points(plan.dimension, true);
  for (int p = 0; p < count; ++p) planes[p] = out.a.data() + p * n;
  coarse.incoming.exchange(planes, count);
  make_inverse(plan, coarse, out);
}

} // namespace tessera::vipmg
