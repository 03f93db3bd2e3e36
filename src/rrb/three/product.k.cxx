// P'AP. Of each coarse node its row of P'A on the fine nodes around it, at most 125, line by line, and what each line
// adds to the couplings that the node keeps; the others are the neighbours'. 190 products of weight and coefficient
// from 7 points and 730 from 27 where all directions are coarsened, and 190 with weights again.
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

constexpr int columns = 32;    // of a tile on a device
constexpr int row_chunk = 128; // coarse nodes whose loop on the host is in vectors, their sums in its first cache

// f(v) for W nodes beside each other.
template <int W, class F> __attribute__((always_inline)) HD inline void each_lane(const F &f)
{
  if constexpr (W == 1) f(0);
  else {
#pragma omp simd
    for (int v = 0; v < W; ++v) f(v);
  }
}

// The coarse nodes from t on of a chunk of row r, on the host.
template <class Kernel> TESSERA_ALONE void whole_row(const Kernel &kernel, int t, int end, int r)
{
  using T = std::remove_const_t<std::remove_pointer_t<decltype(Kernel::a)>>;
  constexpr int planes = 1 + box::box_forward;
  const Kernel  own = kernel;
  const int     n = end - t < own.width ? end - t : own.width, here = own.fine_row(r) + t;
  double        sums[planes][row_chunk] = {};
  T             all[row_chunk] = {};
  box::unroll3<-2, 3>([&](auto z) { // g++ takes four times as long for all lines in one loop
#pragma GCC ivdep
    for (int v = 0; v < n; ++v) {
      double sum[planes];
      box::unroll3<0, planes>([&](auto p) { sum[decltype(p)::value] = sums[decltype(p)::value][v]; });
      own.template add_layer<decltype(z)::value>(here + v, sum, all[v]);
      box::unroll3<0, planes>([&](auto p) { sums[decltype(p)::value][v] = sum[decltype(p)::value]; });
    }
  });
  for (int p = 0; p < planes; ++p) own.write(n, t, r, p, sums[p], all);
}

// Coarse nodes in rows: nodes I = t where x is coarsened, else I = 2 t + parity; so the fine nodes that they lie on
// have one parity (1 where x is coarsened) and are neighbours in memory. F: couplings that the fine operator keeps.
// Whole: all directions are coarsened and no coarse node has another one behind it, so lines are constants: all numbers
// of a coarse node are in registers, of eight or sixteen nodes in the host's. Computing offsets would take ten
// times the instructions of the products.
template <class T, int F, bool Coarsen, bool Whole> struct Triple {
  static constexpr int  reach = Coarsen ? 1 : 0; // of a coarse node's weights along x
  static constexpr int  across = 2 * reach + 3;  // fine nodes along x in a row of P'A
  static constexpr bool star = F == box::star_forward;
  static constexpr int  blocks = Whole && sizeof(T) == 4 ? 2 : 1; // so that two fit: 128 registers
  const T              *w, *a;
  box::Layout3          fine, coarse;
  ptrdiff_t             plane, coarse_plane;
  int                   step[3];
  int                   behind[3]; // does a node that a coarse one lies on have another parent behind it?
  double                tiny;
  T                    *out;
  box::Rows             rows;
  int                   first, end; // of t
  int                   width;      // of a chunk
  int                   parity;
  int                   beside[3];  // along(-1), along(0) and along(1) of this parity

  HD int along(int x) const { return Coarsen ? ((1 + x) & 1) * fine.half + floor_half(1 + x) : beside[x + 1]; }
  // The fine row of the row r of coarse nodes, and how far from it the row (y, z) is.
  HD int fine_row(int r) const
  {
    int j, k;
    rows.get(r, j, k);
    return (int)fine.row(step_of(1) == 2 ? 2 * j + 1 : j, step_of(2) == 2 ? 2 * k + 1 : k);
  }
  HD int away(int y, int z) const { return y * (int)fine.sj + z * (int)fine.sk; }
  HD int step_of(int d) const { return Whole ? 2 : step[d]; }
  HD int reach_of(int d) const { return step_of(d) - 1; }
  HD int lines() const { return (2 * reach_of(1) + 3) * (2 * reach_of(2) + 3); }
  HD int sizes() const { return (2 * reach + 1) * (2 * reach_of(1) + 1) * (2 * reach_of(2) + 1); }
  HD int y_of(int line) const { return line % (2 * reach_of(1) + 3) - reach_of(1) - 1; }
  HD int z_of(int line) const { return line / (2 * reach_of(1) + 3) - reach_of(2) - 1; }
  HD int line_of(int y, int z) const { return (z + reach_of(2) + 1) * (2 * reach_of(1) + 3) + y + reach_of(1) + 1; }
  // Has the coarse node weights on a line?
  HD bool near(int y, int z) const
  {
    return y >= -reach_of(1) && y <= reach_of(1) && z >= -reach_of(2) && z <= reach_of(2);
  }
  HD int size_of(int y, int z) const { return (z + reach_of(2)) * (2 * reach_of(1) + 1) + y + reach_of(1); }

  // u[x * apart]: P'A at the nodes of the line (hy, hz), for W coarse nodes; q: the sums of absolute values at those
  // that the coarse node has weights at. here: the place of its row.
  template <int W> HD void make_line(int here, int hy, int hz, double *u, T *q, int apart) const
  {
    const int to = here + away(hy, hz);
    double    sum[across][W];
    T         positive[2 * reach + 1][W];
    box::unroll3<0, across * W>([&](auto n) { sum[decltype(n)::value / W][decltype(n)::value % W] = 0; });
    box::unroll3<0, (2 * reach + 1) * W>([&](auto n) { positive[decltype(n)::value / W][decltype(n)::value % W] = 0; });
    box::unroll3<0, 9>([&](auto beside) {
      const int dy = decltype(beside)::value % 3 - 1, dz = decltype(beside)::value / 3 - 1, y = hy + dy, z = hz + dz;
      if (!near(y, z) || (star && dy && dz)) return;
      const int n = -9 * dz - 3 * dy, side = (y < 0) << 1 | (z < 0) << 2, from = here + away(y, z);
      box::unroll3<0, 2 * reach + 1>([&](auto number) {
        constexpr int  x = decltype(number)::value - reach;
        const T *const weight = w + (side | (x < 0)) * plane + from + along(x);
        double         value[W];
        each_lane<W>([&](int v) { value[v] = (double)weight[v]; });
        box::unroll3<0, 3>([&](auto of) {
          constexpr int d = decltype(of)::value - 1, h = x + d;
          if (star && d && n) return;
          const int      m = n + d;
          const T *const c = a + plane_at(m < 0 ? -m : m) * plane + (m < 0 ? to + along(h) : from + along(x));
          each_lane<W>([&](int v) { sum[h + reach + 1][v] += value[v] * (double)c[v]; });
          if constexpr (h >= -reach && h <= reach)
            if (near(hy, hz)) {
              each_lane<W>([&](int v) { positive[h + reach][v] += fabs(weight[v] * c[v]); });
            }
        });
      });
    });
    box::unroll3<0, across>([&](auto x) {
      each_lane<W>([&](int v) { u[decltype(x)::value * apart + v] = sum[decltype(x)::value][v]; });
    });
    if (!near(hy, hz)) return;
    box::unroll3<0, 2 * reach + 1>([&](auto x) {
      each_lane<W>([&](int v) { q[decltype(x)::value * apart + v] = positive[decltype(x)::value][v]; });
    });
  }

  // The fine nodes, from the coarse one on, that have weights from the coarse node at c along a direction: from where
  // a coarse node lies, [lowest, highest].
  HD int  lowest(int d, int c) const
  {
    return step_of(d) == 1 ? 0 : c > 0 ? -1 - (Whole ? 0 : behind[d]) : c < 0 ? 0 : -1;
  }
  HD int  highest(int d, int c) const { return step_of(d) == 1 ? 0 : c > 0 ? 0 : 1; }
  HD bool reaches(int d, int c, int h) const
  {
    return h - step_of(d) * c >= lowest(d, c) && h - step_of(d) * c <= highest(d, c);
  }
  // What a line adds to coupling p of W coarse nodes, where the coarse node that it is with reaches the line.
  template <int W>
  HD void add_line(int here, int p, int hy, int hz, const double *u, const T *q, int apart, double *sum, T *all) const
  {
    const int cx = direction(p, 0), y = hy - step_of(1) * direction(p, 1), z = hz - step_of(2) * direction(p, 2);
    const int x0 = lowest(0, cx), x1 = highest(0, cx), side = (y < 0) << 1 | (z < 0) << 2, from = here + away(hy, hz);
    box::unroll3<0, 4>([&](auto number) {
      constexpr int x = decltype(number)::value - 2;
      const int     hx = (Coarsen ? 2 : 1) * cx + x;
      if (x < x0 || x > x1 || (star && !near(hy, hz) && (hx < -reach || hx > reach))) return;
      const T *const weight = w + (side | (x < 0)) * plane + from + along(hx);
        each_lane<W>([&](int v) { sum[v] += u[(hx + reach + 1) * apart + v] * (double)weight[v]; });
      if (p) return;
        each_lane<W>([&](int v) { all[v] += q[(hx + reach) * apart + v] * fabs(weight[v]); });
    });
  }
  HD bool sees(int p, int hy, int hz) const
  {
    const int ry = reach_of(1), rz = reach_of(2);
    return reaches(1, direction(p, 1), hy) && reaches(2, direction(p, 2), hz) &&
           !(star && (hy < -ry || hy > ry) && (hz < -rz || hz > rz));
  }
  // Coupling p of n coarse nodes.
  HD void write(int n, int t, int r, int p, const double *sum, const T *all) const
  {
    int j, k;
    rows.get(r, j, k);
    T *const to = out + p * coarse_plane + coarse.row(j, k);
    for (int v = 0; v < n; ++v) {
      const int i = t + v;
      to[Coarsen ? (i & 1) * (ptrdiff_t)coarse.half + floor_half(i) : parity * (ptrdiff_t)coarse.half + i] =
        (T)(!p && fabs(sum[v]) <= tiny * (double)all[v] ? 0 : sum[v]);
    }
  }

  // A piece of a row on a device, its rows of P'A in the block's memory.
  size_t               bytes() const
  {
    return (size_t)columns * ((size_t)(lines() * across) * sizeof(double) + (size_t)sizes() * sizeof(T));
  }
  template <class Block> HD void operator()(Block &block) const
  {
    const int     t0 = block.tile.x0, n = block.tile.x1 - t0, r = block.tile.y0, here = fine_row(r) + t0;
    double *const row = block.shared;
    T *const      size = (T *)(row + lines() * across * columns);
    const auto    u = [&](int y, int z) { return row + line_of(y, z) * across * columns; };
    const auto    q = [&](int y, int z) { return size + size_of(y, z) * (2 * reach + 1) * columns; };
    block.each(0, n, 0, lines(), [&](int i, int line) {
      const int y = y_of(line), z = z_of(line);
      make_line<1>(here + i, y, z, u(y, z) + i, q(y, z) + i, columns);
    });
    block.sync();
    block.each(0, n, 0, 1 + box::box_forward, [&](int i, int p) {
      const int cy = direction(p, 1), cz = direction(p, 2);
      double    sum = 0;
      T         all = 0;
      for (int z = lowest(2, cz) + step_of(2) * cz; z <= highest(2, cz) + step_of(2) * cz; ++z)
        for (int y = lowest(1, cy) + step_of(1) * cy; y <= highest(1, cy) + step_of(1) * cy; ++y)
          if (sees(p, y, z)) add_line<1>(here + i, p, y, z, u(y, z) + i, q(y, z) + i, columns, &sum, &all);
      write(1, t0 + i, r, p, &sum, &all);
    });
  }
  // What the lines with this z add to the couplings of one coarse node, where lines are constants. here: the place of
  // the fine node that it lies on.
  template <int z> HD void add_layer(int here, double (&sum)[1 + box::box_forward], T &all) const
  {
    double u[across];
    T      q[2 * reach + 1];
    box::unroll3<-2, 3>([&](auto line) {
      constexpr int y = decltype(line)::value;
      make_line<1>(here, y, z, u, q, 1);
      box::unroll3<0, 1 + box::box_forward>([&](auto number) {
        constexpr int p = decltype(number)::value;
        if (sees(p, y, z)) add_line<1>(here, p, y, z, u, q, 1, sum + p, &all);
      });
    });
  }
  // W nodes of row r.
  template <int W> HD void nodes(int t, int r) const
  {
    const int here = fine_row(r) + t;
    double    sum[1 + box::box_forward][W], u[across * W];
    T         all[W], q[(2 * reach + 1) * W];
    for (int p = 0; p <= box::box_forward; ++p) {
      each_lane<W>([&](int v) { sum[p][v] = 0; });
    }
    each_lane<W>([&](int v) { all[v] = 0; });
    for (int line = 0; line < lines(); ++line) {
      const int y = y_of(line), z = z_of(line);
      make_line<W>(here, y, z, u, q, W);
      box::unroll3<0, 1 + box::box_forward>([&](auto number) {
        constexpr int p = decltype(number)::value;
        if (sees(p, y, z)) add_line<W>(here, p, y, z, u, q, W, sum[p], all);
      });
    }
    for (int p = 0; p <= box::box_forward; ++p) write(W, t, r, p, sum[p], all);
  }
  // Node c of row r on a device, chunk c on the host.
  HD void operator()(int c, int r) const
  {
    if constexpr (Whole) {
#ifndef __CUDA_ARCH__
      return whole_row(*this, first + c * width, end, r);
#else
      double sum[1 + box::box_forward] = {};
      T      all = 0;
      box::unroll3<-2, 3>(
        [&](auto z) { add_layer<decltype(z)::value>(fine_row(r) + first + c, sum, all); });
      for (int p = 0; p <= box::box_forward; ++p) write(1, first + c, r, p, sum + p, &all);
#endif
    } else {
#ifndef __CUDA_ARCH__
      int       t = first + c * width;
      const int last = end - t < width ? end : t + width;
      if (last - t == chunk) return nodes<chunk>(t, r);
      for (; t + 4 <= last; t += 4) nodes<4>(t, r);
      if (t < last && last - first >= 4) return nodes<4>(last - 4, r); // some of them again
      for (; t < last; ++t) nodes<1>(t, r);
#endif
    }
  }
};

template <int F, bool Coarsen, bool Whole = false, class T>
void run(const Level<T> &fine, Level<T> &coarse, int parity = 1)
{
  const Box3               &part = coarse.part;
  const int                 device = chunk_of(fine.exec) == 1, width = device ? 1 : Whole ? row_chunk : chunk;
  const auto beside = [&](int x) { return ((parity + x) & 1) * fine.layout.half + floor_half(parity + x); };
  const Triple<T, F, Coarsen, Whole> kernel{
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
    Coarsen ? part.lo[0] : half_begin(part.lo[0], parity),
    Coarsen ? part.hi[0] : half_begin(part.hi[0], parity),
    width,
    parity,
    {beside(-1), beside(0), beside(1)}
  };
  if (part.empty()) return;
  if constexpr (!Whole && device::built)
    if (width == 1)
      return forall_tiles(fine.exec, {kernel.first, kernel.end, 0, kernel.rows.count()}, columns, 1,
                          kernel.bytes(), kernel);
  forall(fine.exec, {0, (kernel.end - kernel.first + width - 1) / width, 0, kernel.rows.count()}, kernel);
}

} // namespace

template <class T> void product(const Level<T> &fine, Level<T> &coarse)
{
  with_points(fine.star, [&](auto kept) {
    constexpr int F = decltype(kept)::value;
    if constexpr (F == box::star_forward)
      if (fine.step[0] == 2 && fine.step[1] == 2 && fine.step[2] == 2 && !(fine.odd(0) || fine.odd(1) || fine.odd(2)))
        return run<F, true, true>(fine, coarse);
    if (fine.step[0] == 2) return run<F, true>(fine, coarse);
    run<F, false>(fine, coarse, 0);
    run<F, false>(fine, coarse, 1);
  });
  std::vector<T *> planes;
  for (int p = 0; p <= box::box_forward; ++p)
    planes.push_back(coarse.a.data() + p * (ptrdiff_t)coarse.layout.size());
  coarse.incoming.exchange(planes.data(), (int)planes.size());
}

template void product(const Level<double> &, Level<double> &);
template void product(const Level<float> &, Level<float> &);

} // namespace tessera::rrb::three
