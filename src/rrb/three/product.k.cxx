// P'AP. Of each coarse node its row of P'A on the fine nodes around it, at most 125, then the couplings that it keeps;
// the others are the neighbours'. 190 products of weight and coefficient from 7 points and 730 from 27 where all
// directions are coarsened, and 190 with weights again.
#include "box/tuning.hpp"
#include "exec/chunk.hpp"
#include "rrb/three/hierarchy.hpp"

namespace tessera::rrb::three {

namespace {

// The kept couplings, the diagonal first: components of their directions from 0 on, two bits each.
template <int... M> HD constexpr unsigned pack_directions(std::integer_sequence<int, M...>, int d)
{
  return (((1u + (unsigned)box::forward<M>(d)) << 2 * (M + 1)) | ... | 1u);
}
// The planes of the couplings n = 9 z + 3 y + x >= 0, four bits each.
template <int... M> HD constexpr unsigned long long pack_planes(std::integer_sequence<int, M...>)
{
  return (((unsigned long long)(M + 1) << 4 * (9 * box::forward<M>(2) + 3 * box::forward<M>(1) + box::forward<M>(0))) |
          ...);
}
using Kept = std::make_integer_sequence<int, box::box_forward>;
HD inline int direction(int p, int d)
{
  constexpr unsigned x = pack_directions(Kept(), 0), y = pack_directions(Kept(), 1), z = pack_directions(Kept(), 2);
  return (int)((d == 0 ? x : d == 1 ? y : z) >> 2 * p & 3) - 1;
}
HD inline int plane_at(int n)
{
  constexpr unsigned long long planes = pack_planes(Kept());
  return (int)(planes >> 4 * n & 15);
}

// Coarse nodes in rows: nodes I = t where x is coarsened, else I = 2 t + P; so the fine nodes that they lie on have
// parity P and are neighbours in memory. F: couplings that the fine operator keeps.
template <class T, int F, bool Coarsen, int P> struct Triple {
  static constexpr int  reach = Coarsen ? 1 : 0; // of a coarse node's weights along x
  static constexpr int  across = 2 * reach + 3;  // fine nodes along x in a row of P'A
  static constexpr bool star = F == box::star_forward;
  const T              *w, *a;
  box::Layout3          fine, coarse;
  ptrdiff_t             plane, coarse_plane;
  int                   step[3];
  int                   behind[3]; // does a node that a coarse one lies on have another parent behind it?
  double                tiny;
  T                    *out;
  box::Rows             rows;
  int                   first, end; // of t

  HD ptrdiff_t along(int x) const { return ((P + x) & 1) * (ptrdiff_t)fine.half + floor_half(P + x); }
  // The fine row of the row r of coarse nodes, and how far from it the row (y, z) is.
  HD ptrdiff_t fine_row(int r) const
  {
    int j, k;
    rows.get(r, j, k);
    return fine.row(step[1] == 2 ? 2 * j + 1 : j, step[2] == 2 ? 2 * k + 1 : k);
  }
  HD ptrdiff_t away(int y, int z) const { return y * fine.sj + z * fine.sk; }
  HD int reach_of(int d) const { return step[d] - 1; }
  HD int lines() const { return (2 * reach_of(1) + 3) * (2 * reach_of(2) + 3); }
  HD int size_line(int y, int z) const { return (z + reach_of(2)) * (2 * reach_of(1) + 1) + y + reach_of(1); }
  HD int sizes() const { return (2 * reach + 1) * (2 * reach_of(1) + 1) * (2 * reach_of(2) + 1); }

  // rows[number * apart]: P'A at the nodes of a line, for W coarse nodes; sizes: the sums of absolute values at the
  // nodes that the coarse one has weights at.
  template <int W> HD void make_line(int t, int r, int line, double *row, double *size, int apart) const
  {
    const int    ry = reach_of(1), rz = reach_of(2);
    const int    hy = line % (2 * ry + 3) - ry - 1, hz = line / (2 * ry + 3) - rz - 1;
    const bool   near = hy >= -ry && hy <= ry && hz >= -rz && hz <= rz;
    const int    y0 = hy - 1 < -ry ? -ry : hy - 1, y1 = hy + 1 > ry ? ry : hy + 1;
    const int    z0 = hz - 1 < -rz ? -rz : hz - 1, z1 = hz + 1 > rz ? rz : hz + 1;
    const ptrdiff_t here = fine_row(r) + t;
    const T        *to   = a + here + away(hy, hz);
    double       sum[across][W], positive[2 * reach + 1][W];
    for (int x = 0; x < across; ++x)
      for (int v = 0; v < W; ++v) sum[x][v] = 0;
    for (int x = 0; x < 2 * reach + 1; ++x)
      for (int v = 0; v < W; ++v) positive[x][v] = 0;
    for (int z = z0; z <= z1; ++z)
      for (int y = y0; y <= y1; ++y) {
        if (star && y != hy && z != hz) continue;
        const int       n = 9 * (hz - z) + 3 * (hy - y), side = (y < 0) << 1 | (z < 0) << 2;
        const ptrdiff_t from = here + away(y, z);
        box::unroll3<0, 2 * reach + 1>([&](auto number) {
          constexpr int  x = decltype(number)::value - reach;
          const T *const weight = w + (side | (x < 0)) * plane + from + along(x);
          double         u[W];
          for (int v = 0; v < W; ++v) u[v] = (double)weight[v];
          box::unroll3<0, 3>([&](auto of) {
            constexpr int d = decltype(of)::value - 1, h = x + d;
            if (star && d && n) return;
            const int      m = n + d;
            const T *const c = plane_at(m < 0 ? -m : m) * plane + (m < 0 ? to + along(h) : a + from + along(x));
            for (int v = 0; v < W; ++v) sum[h + reach + 1][v] += u[v] * (double)c[v];
            if constexpr (h >= -reach && h <= reach)
              if (near)
                for (int v = 0; v < W; ++v) positive[h + reach][v] += fabs(u[v] * (double)c[v]);
          });
        });
      }
    for (int x = 0; x < across; ++x)
      for (int v = 0; v < W; ++v) row[(line * across + x) * apart + v] = sum[x][v];
    if (!near) return;
    for (int x = 0; x < 2 * reach + 1; ++x)
      for (int v = 0; v < W; ++v)
        size[(size_line(hy, hz) * (2 * reach + 1) + x) * apart + v] = positive[x][v];
  }

  // The fine nodes, from the coarse one on, that have weights from the coarse node at c along a direction: from where
  // a coarse node lies, [lowest, highest].
  HD int lowest(int d, int c) const { return step[d] == 1 ? 0 : c > 0 ? -1 - behind[d] : c < 0 ? 0 : -1; }
  HD int highest(int d, int c) const { return step[d] == 1 ? 0 : c > 0 ? 0 : 1; }
  // Coupling p of W coarse nodes.
  template <int W> HD void make_coupling(int t, int r, int p, const double *row, const double *size, int apart) const
  {
    const int ry = reach_of(1), rz = reach_of(2), cx = direction(p, 0), cy = direction(p, 1), cz = direction(p, 2);
    const int x0 = lowest(0, cx), x1 = highest(0, cx);
    const ptrdiff_t here = fine_row(r) + t;
    double    sum[W], all[W];
    for (int v = 0; v < W; ++v) sum[v] = all[v] = 0;
    for (int z = lowest(2, cz); z <= highest(2, cz); ++z)
      for (int y = lowest(1, cy); y <= highest(1, cy); ++y) {
        const int       hy = step[1] * cy + y, hz = step[2] * cz + z;
        const int       side = (y < 0) << 1 | (z < 0) << 2, line = (hz + rz + 1) * (2 * ry + 3) + hy + ry + 1;
        const int       far = (hy < -ry || hy > ry) + (hz < -rz || hz > rz);
        const ptrdiff_t from = here + away(hy, hz);
        if (star && far > 1) continue;
        box::unroll3<0, 4>([&](auto number) {
          constexpr int x = decltype(number)::value - 2;
          const int     hx = (Coarsen ? 2 : 1) * cx + x;
          if (x < x0 || x > x1 || (star && far && (hx < -reach || hx > reach))) return;
          const T *const      weight = w + (side | (x < 0)) * plane + from + along(hx);
          const double *const u = row + (line * across + hx + reach + 1) * apart;
          for (int v = 0; v < W; ++v) sum[v] += u[v] * (double)weight[v];
          if (p) return;
          const double *const q = size + (size_line(hy, hz) * (2 * reach + 1) + hx + reach) * apart;
          for (int v = 0; v < W; ++v) all[v] += q[v] * fabs((double)weight[v]);
        });
      }
    int j, k;
    rows.get(r, j, k);
    T *const to = out + p * coarse_plane + coarse.row(j, k);
    for (int v = 0; v < W; ++v) {
      const int i = t + v;
      to[Coarsen ? (i & 1) * (ptrdiff_t)coarse.half + floor_half(i) : P * (ptrdiff_t)coarse.half + i] =
        (T)(!p && fabs(sum[v]) <= tiny * all[v] ? 0 : sum[v]);
    }
  }

  // A piece of a row on a device, its rows of P'A in the block's memory.
  static constexpr int columns = 32;
  size_t               bytes() const { return (size_t)(lines() * across + sizes()) * columns * sizeof(double); }
  template <class Block> HD void operator()(Block &block) const
  {
    const int     t0 = block.tile.x0, n = block.tile.x1 - t0, r = block.tile.y0;
    double *const row = block.shared, *const size = row + lines() * across * columns;
    block.each(0, n, 0, lines(),
               [&](int i, int line) { make_line<1>(t0 + i, r, line, row + i, size + i, columns); });
    block.sync();
    block.each(0, n, 0, 1 + box::box_forward,
               [&](int i, int p) { make_coupling<1>(t0 + i, r, p, row + i, size + i, columns); });
  }
  // Chunk c of row r on the host.
  template <int W> void nodes(int t, int r) const
  {
    double row[125 * W], size[27 * W];
    for (int line = 0; line < lines(); ++line) make_line<W>(t, r, line, row, size, W);
    for (int p = 0; p <= box::box_forward; ++p) make_coupling<W>(t, r, p, row, size, W);
  }
  HD void operator()(int c, int r) const
  {
#ifndef __CUDA_ARCH__
    int       t = first + c * chunk;
    const int last = end - t < chunk ? end : t + chunk;
    if (last - t == chunk) return nodes<chunk>(t, r);
    for (; t + 4 <= last; t += 4) nodes<4>(t, r);
    for (; t < last; ++t) nodes<1>(t, r);
#else
    (void)c, (void)r;
#endif
  }
};

template <int F, bool Coarsen, int P, class T> void run(const Level<T> &fine, Level<T> &coarse)
{
  const Box3               &part = coarse.part;
  const Triple<T, F, Coarsen, P> kernel{
    fine.weights.data(),
    fine.a.data(),
    fine.layout,
    coarse.layout,
    (ptrdiff_t)fine.layout.size(),
    (ptrdiff_t)coarse.layout.size(),
    {fine.step[0], fine.step[1], fine.step[2]},
    {fine.odd(0),  fine.odd(1),  fine.odd(2) },
    sizeof(T) == 8 ? tuning::singular_product : tuning::singular_single,
    coarse.a.data(),
    box::all_rows(part),
    Coarsen ? part.lo[0] : half_begin(part.lo[0], P),
    Coarsen ? part.hi[0] : half_begin(part.hi[0], P)
  };
  if (part.empty()) return;
  if (chunk_of(fine.exec) == 1)
    return forall_tiles(fine.exec, {kernel.first, kernel.end, 0, kernel.rows.count()}, kernel.columns, 1,
                        kernel.bytes(), kernel);
  forall(fine.exec, {0, (kernel.end - kernel.first + chunk - 1) / chunk, 0, kernel.rows.count()}, kernel);
}

} // namespace

template <class T> void product(const Level<T> &fine, Level<T> &coarse)
{
  with_points(fine.star, [&](auto kept) {
    constexpr int F = decltype(kept)::value;
    if (fine.step[0] == 2) return run<F, true, 1>(fine, coarse);
    run<F, false, 0>(fine, coarse);
    run<F, false, 1>(fine, coarse);
  });
  std::vector<T *> planes;
  for (int p = 0; p <= box::box_forward; ++p)
    planes.push_back(coarse.a.data() + p * (ptrdiff_t)coarse.layout.size());
  coarse.incoming.exchange(planes.data(), (int)planes.size());
}

template void product(const Level<double> &, Level<double> &);
template void product(const Level<float> &, Level<float> &);

} // namespace tessera::rrb::three
