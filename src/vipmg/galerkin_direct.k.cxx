// The Galerkin product of a plane grid coarsened in both directions, in one kernel: on the device the two steps of
// galerkin.k.cxx write and read again what lies between them. Bytes a fine node, from a star: 5 coefficients, a flag,
// 10 / 4 coarse values: 61, for 135. Where no node at a bound is within reach truncation reads two flags a fine node,
// and writes nothing.
#include "vipmg/shares.hpp"

namespace tessera::vipmg {

namespace {

// The coarse operator of all nodes, for a truncated one; a: nullptr where rows that are to be kept are not known.
struct Untruncated {
  const double  *a, *inverse;
  // of the fine grid: truncated rows that may be others; nodes that are not truncated, where it is the finest
  const uint8_t *cut, *free;
};

// Masked: couplings between nodes that are `free` alone.
template <bool Box, bool Masked> struct CoarsenBoth {
  const double  *a;
  ptrdiff_t      plane;
  Layout3        from;
  const uint8_t *free, *coarse_free;
  double        *out, *inverse;
  ptrdiff_t      out_plane;
  int            out_half;
  const double  *left[2], *right[2]; // by coarse node
  Untruncated    whole;
  uint8_t       *cut;

  // May the coarse row be another one than that of the whole operator? Of the finest grid nodes at bounds and their
  // neighbours tell, else fine rows.
  template <class Place> HD bool touched(const Place &place) const
  {
    bool none = true, differ = false;
    if (whole.cut) {
      unroll<-1, 2>([&](auto n) {
        unroll<-1, 2>([&](auto m) { none = none & !whole.cut[place(decltype(m)::value, decltype(n)::value)]; });
      });
      return !none;
    }
    unroll<-2, 3>([&](auto n) {
      unroll<-2, 3>([&](auto m) { none = none & free[place(decltype(m)::value, decltype(n)::value)]; });
    });
    if (none) return false;
    unroll<-2, 3>([&](auto n) {
      unroll<-2, 3>([&](auto m) {
        const ptrdiff_t q = place(decltype(m)::value, decltype(n)::value);
        differ            = differ | (free[q] != whole.free[q]);
      });
    });
    return differ;
  }
  template <int P> HD void at(int t, ptrdiff_t o, int J, int) const
  {
    const int       I      = 2 * t + P;
    const ptrdiff_t e      = o + P * (ptrdiff_t)out_half, row = from.row(2 * J, 0) + I;
    const double    wx[3]  = {left[0][I], 1, right[0][I]}, wy[3] = {left[1][J], 1, right[1][J]};
    const Shares    sx{right[0][I - 1], left[0][I], right[0][I], left[0][I + 1]},
      sy{right[1][J - 1], left[1][J], right[1][J], left[1][J + 1]};
    double          sum[3][3] = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}; // by J, then I
    const auto      place = [&](int m, int n) { return row + n * from.sj + (m & 1) * (ptrdiff_t)from.half + (m >> 1); };
    if (whole.a && !touched(place)) {
      if (!cut[e]) return; // it is there
      for (int k = 0; k < 9; ++k) out[k * out_plane + e] = whole.a[k * out_plane + e];
      inverse[e] = whole.inverse[e];
      cut[e]     = 0;
      return;
    }
    cut[e] = 1;
    unroll<-1, 2>([&](auto n) {
      unroll<-1, 2>([&](auto m) {
        constexpr int   m0 = decltype(m)::value, n0 = decltype(n)::value;
        const ptrdiff_t here = place(m0, n0);
        const double    weight = Masked && !free[here] ? 0 : wx[m0 + 1] * wy[n0 + 1];
        if (weight == 0) return;
        unroll<-1, 2>([&](auto q) {
          double along[3] = {0, 0, 0};
          constexpr int q0 = decltype(q)::value;
          unroll<-1, 2>([&](auto p) {
            constexpr int p0 = decltype(p)::value, direction = plane_of<2, Box>(p0, q0, 0);
            if constexpr (direction >= 0) {
              double c = weight * a[direction * plane + here];
              if (Masked && (p0 || q0)) c = free[place(m0 + p0, n0 + q0)] ? c : 0;
              sx.template add<m0 + p0>(c, along);
            }
          });
          unroll<0, 3>([&](auto i) {
            constexpr int i0 = decltype(i)::value;
            double        down[3] = {0, 0, 0};
            sy.template add<n0 + q0>(along[i0], down);
            unroll<0, 3>([&](auto j) {
              constexpr int j0 = decltype(j)::value;
              sum[j0][i0] += down[j0];
            });
          });
        });
      });
    });
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 3; ++i) out[(3 * j + i) * out_plane + e] = sum[j][i];
    inverse[e] = coarse_free[e] && sum[1][1] > 0 ? 1 / sum[1][1] : 0;
  }
};

} // namespace

bool galerkin_directly(const Plan &plan, const Level &fine, Level &coarse, const Operator &op, const uint8_t *free,
                       bool truncated, bool top, Operator &out)
{
  if (!device::built || !plan.strategy->direct_product) return false;
  if (plan.dimension != 2 || fine.step[0] != 2 || fine.step[1] != 2) return false;
  Untruncated whole{};
  // What is stabilised afterwards may not be kept.
  if (truncated && plan.symmetric)
    whole = {coarse.A.a.data(), coarse.A.inverse.data(), top ? nullptr : fine.cut.data(), fine.free.data()};
  with_kind(2, op.box, [&](auto kind) {
    constexpr bool box = decltype(kind)::box;
    const auto     run = [&](auto masked) {
      for_nodes(plan.exec, coarse.layout, coarse.part,
                    CoarsenBoth<box, decltype(masked)::value>{
                  op.a.data(),
                  (ptrdiff_t)fine.layout.size(),
                  fine.layout,
                  free,
                  coarse.free.data(),
                  out.a.data(),
                  out.inverse.data(),
                  (ptrdiff_t)coarse.layout.size(),
                  coarse.layout.half,
                  {fine.left[0].data() + 1,  fine.left[1].data() + 1 },
                  {fine.right[0].data() + 1, fine.right[1].data() + 1},
                  whole,
                  coarse.cut.data()
      });
    };
    if (free) run(std::true_type());
    else run(std::false_type());
  });
  return true;
}

} // namespace tessera::vipmg
