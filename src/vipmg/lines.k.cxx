// Line relaxation of plane grids: the tridiagonal systems of every second grid line at once, then of the others. For
// nodes that are strongly coupled along a line, which points alone cannot smooth and coarse grids not resolve.
//
// Only linear sweeps go by lines, those of the truncated part, whose nodes are not at bounds: the tridiagonal systems
// leave out the others. So no line has a problem with bounds of its own, and as recombination and line search end
// that part, energy falls whatever smooths.
//
// Bytes per node, 5-point star: 4 couplings, inverse, right-hand side, the x beside the line and x written: 80. On the
// host a line's factor is written too, and both are read on the way back: 24. A line of several processes is worked
// on by one after the other, there and back, so that it is solved as on one.
#include "vipmg/tile.hpp"
#include "exec/tile.hpp"
#include <algorithm>

namespace tessera::vipmg {

namespace {

// Of a pivot, which a definite matrix has above zero.
HD inline double inverse_of(double pivot) { return pivot > 0 ? 1 / pivot : 1; }

template <bool Box, bool Masked> struct Line {
  Stencil3<2, Box> s;
  Layout3          layout;
  const double    *inverse, *b;
  const uint8_t   *mask;
  double          *x, *factor;
  int              from, to; // along the line
  bool             begins;   // nothing is eliminated before

  template <int Along> HD double coefficient(ptrdiff_t e, int side) const
  {
    return s.a[(Along == 0 ? plane_of<2, Box>(side, 0, 0) : plane_of<2, Box>(0, side, 0)) * s.plane + e];
  }
  HD double off_the_line(int along, int p, ptrdiff_t e, ptrdiff_t o) const
  {
    double sum = 0;
    for (int dy = -1; dy <= 1; ++dy)
      for (int dx = -1; dx <= 1; ++dx) {
        const int c = plane_of<2, Box>(dx, dy, 0);
        if (c < 0 || (along == 0 ? dy == 0 : dx == 0)) continue;
        sum += s.a[c * s.plane + e] * x[o + dy * s.sj + ((p + dx) & 1) * (ptrdiff_t)s.half + ((p + dx) >> 1)];
      }
    return sum;
  }
  // The equation of node (i, j), over its diagonal: before x_- + x + behind x_+ = right. Nodes that are left out keep
  // their x.
  struct Row {
    double before, behind, right;
  };
  template <int Along> HD Row row(int i, int j) const
  {
    const ptrdiff_t o = layout.row(j, 0) + floor_half(i), e = o + (i & 1) * (ptrdiff_t)layout.half;
    const double    d = inverse[e];
    if (d == 0 || (Masked && !mask[e])) return {0, 0, x[e]};
    return {coefficient<Along>(e, -1) * d, coefficient<Along>(e, 1) * d, (b[e] - off_the_line(Along, i & 1, e, o)) * d};
  }
  // One step of elimination at node (i, j): factor and value before, then those of the node.
  template <int Along> HD void eliminate(int i, int j, double &f, double &v) const
  {
    const ptrdiff_t e = layout.at(i, j, 0);
    const Row       a = row<Along>(i, j);
    const double    p = inverse_of(1 - a.before * f);
    v                 = (a.right - a.before * v) * p;
    f                 = a.behind * p;
    x[e]              = v;
    factor[e]         = f;
  }
  HD void substitute(int i, int j, double &next) const
  {
    const ptrdiff_t e = layout.at(i, j, 0);
    next              = x[e] - factor[e] * next;
    x[e]              = next;
  }
};

// Rows 2 r + parity: there, and back. On a device a thread has a row, for want of a better way where it goes on on
// other processes or is too long for a block.
template <bool Box, bool Masked> struct AlongX {
  Line<Box, Masked> line;
  int               parity;
  bool                           forward, backward;
  template <class Block> HD void operator()(Block &block) const
  {
    block.each(block.tile.x0, block.tile.x1, 0, 1, [&](int r, int) {
      const int       j    = 2 * r + parity;
      const ptrdiff_t last = line.layout.at(line.from - 1, j, 0);
      double          f = line.begins ? 0 : line.factor[last], v = line.x[last];
      if (forward)
        for (int i = line.from; i < line.to; ++i) line.template eliminate<0>(i, j, f, v);
      v = line.x[line.layout.at(line.to, j, 0)];
      if (backward)
        for (int i = line.to - 1; i >= line.from; --i) line.substitute(i, j, v);
    });
  }
};

// Columns 2 t + parity. They go side by side, row by row.
template <bool Box, bool Masked> struct AlongY {
  Line<Box, Masked> line;
  int               parity;
  bool                           forward, backward;
  template <class Block> HD void operator()(Block &block) const
  {
    for (int j = line.from; forward && j < line.to; ++j)
      block.each(block.tile.x0, block.tile.x1, 0, 1, [&](int t, int) {
        const int       i    = 2 * t + parity;
        const ptrdiff_t last = line.layout.at(i, j - 1, 0);
        double          f = line.begins && j == line.from ? 0 : line.factor[last], v = line.x[last];
        line.template eliminate<1>(i, j, f, v);
      });
    for (int j = line.to - 1; backward && j >= line.from; --j)
      block.each(block.tile.x0, block.tile.x1, 0, 1, [&](int t, int) {
        const int i = 2 * t + parity;
        double    v = line.x[line.layout.at(i, j + 1, 0)];
        line.substitute(i, j, v);
      });
  }
};

// On the device a block of threads has a line, or a few columns side by side, in its shared memory, and a thread a
// part of it (Wang, ACM TOMS 7, 1981): in each part all nodes but the last are expressed by the last ones of this and
// of the part before, what is left of those is a tridiagonal system of them, which cyclic reduction of all rows at
// once solves, and the others follow. For 1024 nodes per thread makes 10 steps in a row's part, or 34 in a column's,
// and 8 or 6 of the reduction, where elimination from end to end takes 2048.
template <int Along, bool Box, bool Masked> struct OfBlock {
  Line<Box, Masked> line;
  // lines 2 t + parity with begin <= t < end, so many at a time; nodes of a part
  int               parity, begin, end, lanes, part;

  HD static int parts(int n, int part) { return (n + part - 1) / part; }
  static size_t bytes(int n, int lanes, int part)
  {
    return (size_t)(3 * n + 6 * parts(n, part)) * (size_t)lanes * sizeof(double);
  }

  // f(lane, k, i, j): node (i, j) is the k-th of the line
  template <class Block, class F> HD void each(Block &block, int first, int count, const F &f) const
  {
    const int from = line.from;
    if (Along == 0)
      each_node(block, {from, line.to, 2 * first + parity, 2 * first + parity + 1},
                [&](int i, int j) { f(0, i - from, i, j); });
    else
      block.each(first, first + count, from, line.to, [&](int t, int j) { f(t - first, j - from, 2 * t + parity, j); });
  }
  template <class Block> HD void operator()(Block &block) const
  {
    const int n = line.to - line.from, first = begin + lanes * block.tile.y0,
              count = end - first < lanes ? end - first : lanes, all = parts(n, part), size = all * lanes;
    // Of node k of a lane, at k lanes + lane: x = r - l (the node before) - u (the one behind). Of the last nodes of
    // parts, likewise: v, a, b, twice.
    double *const l = block.shared, *const u = l + n * lanes, *const r = u + n * lanes;
    double       *a = r + n * lanes, *b = a + size, *v = b + size, *a2 = v + size, *b2 = a2 + size, *v2 = b2 + size;
    each(block, first, count, [&](int lane, int k, int i, int j) {
      auto row = line.template row<Along>(i, j);
      if (k == 0) { // beyond its ends are ghosts
        row.right -= row.before * line.x[Along == 0 ? line.layout.at(i - 1, j, 0) : line.layout.at(i, j - 1, 0)];
        row.before = 0;
      }
      if (k == n - 1) {
        row.right -= row.behind * line.x[Along == 0 ? line.layout.at(i + 1, j, 0) : line.layout.at(i, j + 1, 0)];
        row.behind = 0;
      }
      const int q = k * lanes + lane;
      l[q] = row.before, u[q] = row.behind, r[q] = row.right;
    });
    block.sync();
    block.each(0, count, 0, all, [&](int lane, int c) {
      const int from = c * part, to = from + part < n ? from + part : n, q = c * lanes + lane;
      int       k = from * lanes + lane;
      double    L = l[k], U = u[k], R = r[k];
      for (int step = from + 1; step < to; ++step) { // by the last node of the part before, and the one behind
        k += lanes;
        const double before = l[k], p = inverse_of(1 - before * U);
        R = r[k] = (r[k] - before * R) * p;
        L = l[k] = -before * L * p;
        U = u[k] *= p;
      }
      a[q] = L, b[q] = U, v[q] = R;
      L = R = 0, U = -1;
      for (int step = from + 1; step < to; ++step) { // by the last nodes of both parts
        k -= lanes;
        const double behind = u[k];
        R = r[k] -= behind * R;
        L = l[k] -= behind * L;
        U = u[k] = -behind * U;
      }
      a2[q] = L, b2[q] = U, v2[q] = R; // of the first node
    });
    block.sync();
    block.each(0, count, 0, all - 1, [&](int lane, int c) { // the first node of the next part goes
      const int    q = c * lanes + lane, next = q + lanes;
      const double p = inverse_of(1 - b[q] * a2[next]);
      v[q] = (v[q] - b[q] * v2[next]) * p;
      a[q] *= p;
      b[q] *= -b2[next] * p;
    });
    for (int h = 1; h < all; h *= 2) {
      block.sync();
      block.each(0, count, 0, all, [&](int lane, int c) {
        const int    q = c * lanes + lane, m = c >= h ? q - h * lanes : -1, o = c + h < all ? q + h * lanes : -1;
        const double A = a[q], B = b[q], p = inverse_of(1 - (m < 0 ? 0 : A * b[m]) - (o < 0 ? 0 : B * a[o]));
        v2[q] = (v[q] - (m < 0 ? 0 : A * v[m]) - (o < 0 ? 0 : B * v[o])) * p;
        a2[q] = m < 0 ? 0 : -A * a[m] * p;
        b2[q] = o < 0 ? 0 : -B * b[o] * p;
      });
      double *const now[] = {a2, b2, v2};
      a2 = a, b2 = b, v2 = v;
      a = now[0], b = now[1], v = now[2];
    }
    block.sync();
    each(block, first, count, [&](int lane, int k, int i, int j) {
      const int c = k / part, q = c * lanes + lane, at = k * lanes + lane;
      line.x[line.layout.at(i, j, 0)] =
        k + 1 == n || k + 1 == (c + 1) * part ? v[q] : r[at] - (c ? l[at] * v[q - lanes] : 0) - u[at] * v[q];
    });
  }
};

// False where a line is too long for a block.
template <int Along, bool Box, bool Masked>
bool relax_by_blocks(const Exec &exec, const Line<Box, Masked> &line, int parity, int begin, int end)
{
  using Kernel = OfBlock<Along, Box, Masked>;
  constexpr int threads = 256, columns = 4; // 32 bytes
  const int     n = line.to - line.from;
  Kernel        k{line, parity, begin, end, Along == 0 ? 1 : columns, 0};
  const auto    bytes = [&] {
    // odd, so that threads use different banks of shared memory
    k.part = std::max(3, (n * k.lanes + threads - 1) / threads) | 1;
    return Kernel::bytes(n, k.lanes, k.part);
  };
  while (bytes() > device::block_scratch()) {
    if (k.lanes == 1) return false;
    k.lanes /= 2;
  }
  forall_blocks(exec, (end - begin + k.lanes - 1) / k.lanes, std::min(threads, (n * k.lanes + 31) / 32 * 32), bytes(),
                k);
  return true;
}

// One node of each of some lines, to and from a message.
struct Ends {
  Layout3 layout;
  int     along, at, parity, begin;
  double *field, *message;
  bool    store;
  HD void operator()(int r, int) const
  {
    const int       other = 2 * (begin + r) + parity;
    const ptrdiff_t e     = along == 0 ? layout.at(at, other, 0) : layout.at(other, at, 0);
    if (store) message[r] = field[e];
    else field[e] = message[r];
  }
};

// Sends a node's values of `fields` of each line, or receives them.
void pass(Plan &plan, const Level &l, int along, int at, int parity, int begin, int n, double *const *fields, int count,
          int to, int from)
{
  double *const ends   = plan.ends.data();
  const size_t  values = (size_t)(n * count);
  if (n <= 0) return;
  if (from >= 0) {
    MPI_Recv(plan.ends_host.place(ends), n * count, MPI_DOUBLE, from, plan.comm.tag, plan.comm, MPI_STATUS_IGNORE);
    plan.ends_host.store(ends, values);
    device::synchronize(plan.exec.space);
  }
  for (int f = 0; f < count; ++f)
    forall(plan.exec, {0, n, 0, 1},
           Ends{l.layout, along, at, parity, begin, fields[f], ends + f * n, to >= 0});
  if (to < 0) return;
  MPI_Send(plan.ends_host.fetch(ends, values), n * count, MPI_DOUBLE, to, plan.comm.tag, plan.comm);
}

template <bool Box, bool Masked>
void relax_lines(Plan &plan, Level &l, const Operator &op, double *x, const double *b, int along, double *factor)
{
  const int before = l.before[along], behind = l.behind[along], from = l.own.lo[along], to = l.own.hi[along],
            across = 1 - along;
  Line<Box, Masked> line{
    stencil<2, Box>(l, op), l.layout, op.inverse.data(), b, l.inactive.data(), x, factor, from, to, before < 0};
  double           *fields[] = {x, factor};
  const bool        whole = device::built && plan.strategy->whole_lines && before < 0 && behind < 0;
  for (int colour = 0; colour < 2; ++colour) {
    const int begin = half_begin(l.own.lo[across], colour), end = half_begin(l.own.hi[across], colour), n = end - begin;
    const auto run = [&](bool forward, bool backward) {
      if (along == 0) forall_columns(plan.exec, begin, end, AlongX<Box, Masked>{line, colour, forward, backward});
      else forall_columns(plan.exec, begin, end, AlongY<Box, Masked>{line, colour, forward, backward});
    };
    if (whole && (along == 0 ? relax_by_blocks<0>(plan.exec, line, colour, begin, end)
                             : relax_by_blocks<1>(plan.exec, line, colour, begin, end))) {
      l.halo.exchange(x);
      continue;
    }
    if (before >= 0) pass(plan, l, along, from - 1, colour, begin, n, fields, 2, -1, before);
    run(true, behind < 0);
    if (behind >= 0) {
      pass(plan, l, along, to - 1, colour, begin, n, fields, 2, behind, -1);
      pass(plan, l, along, to, colour, begin, n, fields, 1, -1, behind);
      run(false, true);
    }
    if (before >= 0) pass(plan, l, along, from, colour, begin, n, fields, 1, before, -1);
    l.halo.exchange(x);
  }
}

} // namespace

void smooth_lines(Plan &plan, Level &l, const Operator &op, double *x, const double *b, bool masked, bool backward,
                  int sweeps, double *scratch)
{
  for (int k = 0; k < sweeps; ++k)
    for (int step = 0; step < 2; ++step) {
      const int along = backward ? 1 - step : step;
      if (!l.lines[along]) continue;
      if (op.box)
        masked ? relax_lines<true, true>(plan, l, op, x, b, along, scratch)
               : relax_lines<true, false>(plan, l, op, x, b, along, scratch);
      else
        masked ? relax_lines<false, true>(plan, l, op, x, b, along, scratch)
               : relax_lines<false, false>(plan, l, op, x, b, along, scratch);
    }
}

} // namespace tessera::vipmg
