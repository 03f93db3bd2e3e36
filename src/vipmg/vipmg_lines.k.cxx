// Line relaxation of plane grids: the tridiagonal systems of every second grid line at once, then of the others. For nodes that are strongly
// coupled along a line, which points alone cannot smooth and coarse grids not resolve.
//
// Only linear sweeps go by lines, those of the truncated part, whose nodes are not at bounds: the tridiagonal systems leave out the others. So
// no line has a problem with bounds of its own, and as recombination and line search end that part, energy falls whatever smooths.
//
// Bytes a node, 5-point star: 5 coefficients, inverse, right-hand side, x read and written on the way there, the line's factor written: 80; 24 on the
// way back. A thread has a line and goes from node to node, so large grids wait for memory on a device. A line of several processes is worked on
// by one after the other, there and back, so that it is solved as on one.
#include "vipmg/stencil3.hpp"

namespace tessera::vipmg {

namespace {

template <bool Box, bool Masked> struct Line {
  Stencil3<2, Box> s;
  Layout3          layout;
  const double    *inverse, *b;
  const uint8_t   *mask;
  double          *x, *factor;
  int              from, to; // along the line
  bool             begins;   // nothing is eliminated before

  template <int Along> HD double coefficient(ptrdiff_t e, int side) const { return s.a[(Along == 0 ? plane_of<2, Box>(side, 0, 0) : plane_of<2, Box>(0, side, 0)) * s.plane + e]; }
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
  // One step of elimination at node (i, j): factor and value before, then those of the node.
  template <int Along> HD void eliminate(int i, int j, double &f, double &v) const
  {
    const ptrdiff_t o = layout.row(j, 0) + floor_half(i), e = o + (i & 1) * (ptrdiff_t)layout.half;
    if (inverse[e] == 0 || (Masked && !mask[e])) {
      f = 0;
      v = x[e];
    } else {
      const double before = coefficient<Along>(e, -1), d = s.diagonal(e), left = d - before * f;
      const double pivot  = left > 0 ? left : d; // always, for a definite matrix
      v                   = (b[e] - off_the_line(Along, i & 1, e, o) - before * v) / pivot;
      f                   = coefficient<Along>(e, 1) / pivot;
      x[e]                = v;
    }
    factor[e] = f;
  }
  HD void substitute(int i, int j, double &next) const
  {
    const ptrdiff_t e = layout.at(i, j, 0);
    next              = x[e] - factor[e] * next;
    x[e]              = next;
  }
};

// Rows 2 r + parity: there, and back.
template <bool Box, bool Masked> struct AlongX {
  Line<Box, Masked> line;
  int               parity;
  bool              there, back;
  template <class Block> HD void operator()(Block &block) const
  {
    block.each(block.tile.x0, block.tile.x1, 0, 1, [&](int r, int) {
      const int       j    = 2 * r + parity;
      const ptrdiff_t last = line.layout.at(line.from - 1, j, 0);
      double          f = line.begins ? 0 : line.factor[last], v = line.x[last];
      if (there)
        for (int i = line.from; i < line.to; ++i) line.template eliminate<0>(i, j, f, v);
      v = line.x[line.layout.at(line.to, j, 0)];
      if (back)
        for (int i = line.to - 1; i >= line.from; --i) line.substitute(i, j, v);
    });
  }
};

// Columns 2 t + parity. They go side by side, row by row.
template <bool Box, bool Masked> struct AlongY {
  Line<Box, Masked> line;
  int               parity;
  bool              there, back;
  template <class Block> HD void operator()(Block &block) const
  {
    for (int j = line.from; there && j < line.to; ++j)
      block.each(block.tile.x0, block.tile.x1, 0, 1, [&](int t, int) {
        const int       i    = 2 * t + parity;
        const ptrdiff_t last = line.layout.at(i, j - 1, 0);
        double          f = line.begins && j == line.from ? 0 : line.factor[last], v = line.x[last];
        line.template eliminate<1>(i, j, f, v);
      });
    for (int j = line.to - 1; back && j >= line.from; --j)
      block.each(block.tile.x0, block.tile.x1, 0, 1, [&](int t, int) {
        const int i = 2 * t + parity;
        double    v = line.x[line.layout.at(i, j + 1, 0)];
        line.substitute(i, j, v);
      });
  }
};

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
void pass(Plan &plan, const Level &l, int along, int at, int parity, int begin, int n, double *const *fields, int count, int to, int from)
{
  const bool   there = plan.exec.space == Space::cuda;
  const size_t bytes = (size_t)(n * count) * sizeof(double);
  double      *here  = there ? (double *)plan.ends_host.data() : plan.ends.data();
  if (n <= 0) return;
  if (from >= 0) {
    MPI_Recv(here, n * count, MPI_DOUBLE, from, 1, plan.comm, MPI_STATUS_IGNORE);
    if (there) device::copy_from_host(plan.ends.data(), here, bytes), device::synchronize();
  }
  for (int f = 0; f < count; ++f) forall(plan.exec, {0, n, 0, 1}, Ends{l.layout, along, at, parity, begin, fields[f], plan.ends.data() + f * n, to >= 0});
  if (to < 0) return;
  if (there) device::copy_to_host(here, plan.ends.data(), bytes);
  MPI_Send(here, n * count, MPI_DOUBLE, to, 1, plan.comm);
}

template <bool Box, bool Masked> void relax_lines(Plan &plan, Level &l, const Operator &op, double *x, const double *b, int along)
{
  const int         before = l.before[along], behind = l.behind[along], from = l.own.lo[along], to = l.own.hi[along], across = 1 - along;
  Line<Box, Masked> line{stencil<2, Box>(l, op), l.layout, op.inverse.data(), b, l.inactive.data(), x, l.w.data(), from, to, before < 0};
  double           *fields[] = {x, l.w.data()};
  for (int colour = 0; colour < 2; ++colour) {
    const int  begin = half_begin(l.own.lo[across], colour), end = half_begin(l.own.hi[across], colour), n = end - begin;
    const auto run   = [&](bool there, bool back) {
      if (along == 0) forall_columns(plan.exec, begin, end, AlongX<Box, Masked>{line, colour, there, back});
      else forall_columns(plan.exec, begin, end, AlongY<Box, Masked>{line, colour, there, back});
    };
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

void smooth_lines(Plan &plan, Level &l, const Operator &op, double *x, const double *b, bool masked, bool backward, int sweeps)
{
  for (int k = 0; k < sweeps; ++k)
    for (int step = 0; step < 2; ++step) {
      const int along = backward ? 1 - step : step;
      if (!l.lines[along]) continue;
      if (op.box) masked ? relax_lines<true, true>(plan, l, op, x, b, along) : relax_lines<true, false>(plan, l, op, x, b, along);
      else masked ? relax_lines<false, true>(plan, l, op, x, b, along) : relax_lines<false, false>(plan, l, op, x, b, along);
    }
}

} // namespace tessera::vipmg
