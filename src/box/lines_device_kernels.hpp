// Zebra lines on the device: L D L' in another order. A line is cut into parts of 8, 16, ... nodes; the last node of
// a part is a separator. One thread eliminates the inner nodes of a part one after the other (the separator to their
// left stays as a border, as in Wang's partition method); what remains is a tridiagonal system of at most 127
// separators, eliminated every second one at a time (cyclic reduction) in shared memory; then each thread goes back
// through its part. One launch solves the lines of one parity. Singular lines are found as on the host: each pivot is
// compared with the node's own diagonal, in double precision.
//
// A line that closes on one process has one node more, the root, that is eliminated last: all of it is a border.
// Where a line goes on on other processes, both borders are zero here, and the solutions for them (left_ and right_)
// are added by join().
//
// Memory traffic of a node with a 5-point operator in single precision. Along y, forth: right-hand side, two
// couplings and values of other lines, coupling along the line, inverse pivot, one value written, 32 B; back: that
// value, coupling, inverse pivot, fill, one written, 20 B, of which the second-level cache still has much. Along x
// the lines pass through shared memory: 28 B forth, 16 B back. Kept: 2 values for each node, 3 for each separator.
#pragma once
#include "box/smooth.hpp"
#include "box/tuning.hpp"
#include <type_traits>

namespace tessera::line_parts {

// How the lines of a grid are cut.
struct Parts {
  int  base = 0, first = 0, end = 0; // nodes first .. end - 1; base: first, or the even node before it
  int  shift = 0, separators = 0;    // nodes of a part: 2^shift
  bool left = false, right = false, ring = false; // does the line go on; and close
  HD int from(int c) const { return base + (c << shift) > first ? base + (c << shift) : first; }
  // the separator behind part c, or the end
  HD int to(int c) const { return c < separators ? base + ((c + 1) << shift) - 1 : end; }
};

inline Parts cut(const Box &nodes, Lines direction, bool left, bool right, bool ring)
{
  Parts p;
  p.first = direction == lines_x ? nodes.x0 : nodes.y0;
  p.end   = direction == lines_x ? nodes.x1 : nodes.y1;
  p.base  = p.first & ~1;
  p.left  = left;
  p.right = right;
  p.ring  = ring;
  while (1 << p.shift < tuning::line_part || (p.end - p.base - 1) >> p.shift >= tuning::line_parts) ++p.shift;
  p.separators = (p.end - p.base - 1) >> p.shift;
  return p;
}

// The factors of the separators: inverse pivots, couplings with both neighbours that are left when a separator is
// eliminated, times the inverse pivot; of each line the root's inverse pivot and its coupling with the node before
// it.
template <class T> struct Chain {
  T        *inverse, *left, *right, *root, *beyond;
  ptrdiff_t ss, sl; // from one separator to the next, from one line to the next
  HD ptrdiff_t at(int s, int line) const { return s * ss + line * sl; }
};

template <int DIR, int P> HD constexpr int quarter(int odd) { return DIR == lines_y ? P + 2 * odd : 2 * P + odd; }
template <int DIR> HD inline ptrdiff_t     place(int line, int i, ptrdiff_t sx, ptrdiff_t sy)
{
  return DIR == lines_y ? line * sx + (i >> 1) * sy : (i >> 1) * sx + line * sy;
}

// f(lane, t) for the lanes of a block and t < n: neighbouring threads have neighbouring places in memory.
template <int DIR, class Block, class F> HD void each(Block &block, int lanes, int n, const F &f)
{
  if (DIR == lines_y) block.each(0, lanes, 0, n, [&](int lane, int t) { f(lane, t); });
  else block.each(0, n, 0, lanes, [&](int t, int lane) { f(lane, t); });
}
// Place of the value of separator s in shared memory; two more places a line.
template <int DIR> HD inline int spot(int s, int lane, int lanes, int n)
{
  return DIR == lines_y ? s * lanes + lane : lane * (n + 2) + s;
}

//--- setup ------------------------------------------------------------------------------------------------------------

template <int DIR, int P, int S, class T> struct FactorParts {
  StencilView<double> A;
  Parts               parts;
  Chain<T>            chain;
  View<T>             inverse, fill; // along y
  // along x: for each line its multipliers and its inverse pivots, by place in the part
  T                  *along;
  int                 line0, own0;   // first line (of this parity), first own line
  // of each own line what it adds to the separators on both sides and to their coupling, or nullptr
  double             *ends;
  double              tiny;

  struct Pivot {
    double d = 0, f = 0, left = 0; // inverse pivot; coupling with the border; what the border's diagonal gets
  };
  static constexpr int before = DIR == lines_y ? 1 : 3;
  template <int ODD> HD double diagonal(int line, int i) const
  {
    return A.C.q[quarter<DIR, P>(ODD)][place<DIR>(line, i, S, A.C.sy)];
  }
  template <int ODD> HD double coupling(int line, int i) const
  {
    return coefficient<quarter<DIR, P>(ODD), before, S>(A, place<DIR>(line, i, S, A.C.sy), A.C.sy);
  }
  HD T *slot(int line, int c, int i) const
  {
    const int n = parts.separators + 1;
    return along + ((ptrdiff_t)(line - line0) * n << parts.shift) * 2 +
           ((i - parts.base) & ((1 << parts.shift) - 1)) * n + c;
  }
  template <int ODD> HD void node(int line, int c, int i, Pivot &v) const
  {
    constexpr int Q    = quarter<DIR, P>(ODD);
    const bool    head = i == parts.from(c);
    const double  e = i > parts.first || parts.left ? coupling<ODD>(line, i) : 0, m = head ? 0 : e * v.d,
                 a = diagonal<ODD>(line, i);
    v.d = inverse_pivot(a, a - m * e, tiny);
    v.f = head ? e : -m * v.f;
    v.left -= v.f * v.f * v.d;
    if (DIR == lines_y) {
      inverse.q[Q][line + (i >> 1) * inverse.sy] = (T)v.d;
      fill.q[Q][line + (i >> 1) * fill.sy]       = (T)(v.f * v.d);
    } else {
      T *const m_ = slot(line, c, i);
      m_[0]                                              = (T)(head ? e : m);
      m_[(ptrdiff_t)(parts.separators + 1) << parts.shift] = (T)v.d;
    }
  }
  template <class Block> HD void operator()(Block &block) const
  {
    const int n = parts.separators, lanes = block.tile.x1 - block.tile.x0, X0 = block.tile.x0, L = n, R = n + 1;
    // of the separators and both borders: diagonal, then inverse pivot; coupling with the next one; own diagonal;
    // part to their right
    double *D = block.shared, *U = D + (n + 2) * lanes, *own = U + (n + 2) * lanes, *add = own + (n + 2) * lanes;
    auto    at = [&](int s, int lane) { return spot<DIR>(s, lane, lanes, n); };
    each<DIR>(block, lanes, n + 1, [&](int lane, int c) {
      const int line = X0 + lane, from = parts.from(c), to = parts.to(c);
      Pivot     v;
      for (int i = from; i < to; ++i)
        if (i & 1) node<1>(line, c, i, v);
        else node<0>(line, c, i, v);
      double e = 0, a = 0;
      if (c < n || parts.right) e = to & 1 ? coupling<1>(line, to) : coupling<0>(line, to);
      if (c < n) {
        a = diagonal<1>(line, to);
        own[at(c, lane)] = a;
        if (DIR == lines_x) *slot(line, c, to) = (T)e;
      } else chain.beyond[line - line0] = (T)e;
      D[at(c < n ? c : R, lane)]     = a - e * e * v.d;
      U[at(c > 0 ? c - 1 : L, lane)] = -e * v.d * v.f;
      add[at(c, lane)]               = v.left;
    });
    block.sync();
    each<DIR>(block, lanes, n + 1, [&](int lane, int c) {
      if (c) D[at(c - 1, lane)] += add[at(c, lane)];
      else D[at(L, lane)] = add[at(0, lane)];
    });
    for (int h = 1; h <= n; h *= 2) {
      const int gone = (n + h) / (2 * h), stay = n / (2 * h);
      block.sync();
      each<DIR>(block, lanes, gone, [&](int lane, int t) {
        const int       s = h - 1 + 2 * h * t;
        const ptrdiff_t k = chain.at(s, X0 + lane - line0);
        const double    d = inverse_pivot(own[at(s, lane)], D[at(s, lane)], tiny);
        D[at(s, lane)]   = d;
        chain.inverse[k] = (T)d;
        chain.left[k]    = (T)(d * U[at(s >= h ? s - h : L, lane)]);
        chain.right[k]   = (T)(d * U[at(s, lane)]);
      });
      block.sync();
      each<DIR>(block, lanes, stay + 2, [&](int lane, int t) { // what stays, and the borders
        const int s = t < stay ? 2 * h - 1 + 2 * h * t : t == stay ? L : R;
        const int l = t < stay  ? s - h
                    : t == stay ? -1
                                : h - 1 + 2 * h * (gone - 1),
                  r = t < stay  ? s + h
                    : t == stay ? h - 1
                                : n;
        double    d = D[at(s, lane)];
        if (l >= 0 && (t < stay || l + h >= n)) d -= U[at(l, lane)] * U[at(l, lane)] * D[at(l, lane)];
        if (r < n) {
          const double u = U[at(s, lane)];
          d -= u * u * D[at(r, lane)];
          U[at(s, lane)] = -u * D[at(r, lane)] * U[at(r, lane)];
        }
        D[at(s, lane)] = d;
      });
    }
    block.sync();
    each<DIR>(block, lanes, 1, [&](int lane, int) {
      const int    line = X0 + lane;
      const double l = D[at(L, lane)], r = D[at(R, lane)], u = U[at(L, lane)];
      if (parts.ring) {
        const double a = parts.end & 1 ? diagonal<1>(line, parts.end) : diagonal<0>(line, parts.end);
        chain.root[line - line0] = (T)inverse_pivot(a, a + l + r + 2 * u, tiny);
      } else if (ends) {
        double *const to = ends + 4 * (2 * line + P - own0);
        to[0] = l, to[1] = r, to[2] = u;
      }
    });
  }
};

//--- solution ---------------------------------------------------------------------------------------------------------

// The separators' values in v, where their right-hand sides were; `border` has both borders of each lane, and what a
// ring's root gets from both sides before.
template <int DIR, class T, class Block>
HD void solve_chain(Block &block, const Parts &parts, const Chain<T> &chain, int line, T *v, T *border)
{
  const int n = parts.separators, lanes = block.tile.x1 - block.tile.x0;
  auto      at = [&](int s, int lane) { return spot<DIR>(s, lane, lanes, n); };
  int       top = 1;
  for (int h = 1; h <= n; h *= 2) {
    const int gone = (n + h) / (2 * h), stay = n / (2 * h);
    top = h;
    if (!stay && !parts.ring) break;
    each<DIR>(block, lanes, stay + (parts.ring ? 2 : 0), [&](int lane, int t) {
      const int j = line + lane, last = h - 1 + 2 * h * (gone - 1);
      if (t < stay) {
        const int s = 2 * h - 1 + 2 * h * t;
        T         w = v[at(s, lane)] - chain.right[chain.at(s - h, j)] * v[at(s - h, lane)];
        if (s + h < n) w -= chain.left[chain.at(s + h, j)] * v[at(s + h, lane)];
        v[at(s, lane)] = w;
      } else if (t == stay) border[2 * lane] -= chain.left[chain.at(h - 1, j)] * v[at(h - 1, lane)];
      else if (last + h >= n) border[2 * lane + 1] -= chain.right[chain.at(last, j)] * v[at(last, lane)];
    });
    block.sync();
  }
  if (parts.ring) {
    each<DIR>(block, lanes, 1, [&](int lane, int) {
      border[2 * lane] = border[2 * lane + 1] = chain.root[line + lane] * (border[2 * lane] + border[2 * lane + 1]);
    });
    block.sync();
  }
  for (int h = n ? top : 0; h; h /= 2) {
    each<DIR>(block, lanes, (n + h) / (2 * h), [&](int lane, int t) {
      const int       s = h - 1 + 2 * h * t;
      const ptrdiff_t k = chain.at(s, line + lane);
      const T         l = s >= h ? v[at(s - h, lane)] : border[2 * lane],
              r         = s + h < n ? v[at(s + h, lane)] : border[2 * lane + 1];
      v[at(s, lane)]    = chain.inverse[k] * v[at(s, lane)] - chain.left[k] * l - chain.right[k] * r;
    });
    block.sync();
  }
}

// What the lines are solved for: their right-hand side, or minus one at the border on one side and zero elsewhere.
enum Side { side_none, side_left, side_right };

// C: precision of the coefficients, T where there is a right-hand side.
template <int P, int S, class T, class C> struct SolvePartsY {
  StencilView<C> A;
  View<T>        b, x;
  Parts          parts;
  Chain<T>       chain;
  View<T>        inverse, fill;
  int            line0;
  Side           side;

  struct Row { // of the line's system
    T r = 0, e = 0, d = 0, f = 0;
  };
  static constexpr int batch = 4; // rows whose values are fetched together
  template <int ODD> HD Row forth(int X, int y) const
  {
    constexpr int   Q = P + 2 * ODD;
    const ptrdiff_t r = A.C.sy, p = X * S + (y >> 1) * r;
    Row             v;
    if constexpr (std::is_same_v<T, C>) v.r = b.q[Q][p] - couplings<Q, S, mask_all, lines_y>(A, x, p);
    if (y > parts.first || parts.left) v.e = (T)coefficient<Q, 1, S>(A, p, r);
    v.d = inverse.q[Q][X + (y >> 1) * inverse.sy];
    return v;
  }
  template <int ODD> HD Row back(int X, int y) const
  {
    constexpr int   Q = P + 2 * ODD;
    const ptrdiff_t r = A.C.sy, p = X * S + (y >> 1) * r, k = X + (y >> 1) * inverse.sy;
    Row             v;
    if (side == side_none) v.r = value(X, y);
    if (y + 1 < parts.end || parts.right) v.e = (T)coefficient<Q, 7, S>(A, p, r);
    v.d = inverse.q[Q][k];
    v.f = fill.q[Q][k];
    return v;
  }
  HD T &value(int X, int y) const { return x.q[P + 2 * (y & 1)][X * x.sx + (y >> 1) * x.sy]; }

  template <class Block> HD void operator()(Block &block) const
  {
    const int n = parts.separators, lanes = block.tile.x1 - block.tile.x0, X0 = block.tile.x0;
    T        *v = (T *)block.shared, *add = v + (n + 2) * lanes, *border = add + (n + 2) * lanes;
    auto      at = [&](int s, int lane) { return spot<lines_y>(s, lane, lanes, n); };
    if (side == side_none) {
      each<lines_y>(block, lanes, n + 1, [&](int lane, int c) {
        const int X = X0 + lane, from = parts.from(c), to = parts.to(c);
        T         w = 0, f = 0, d = 0, left = 0;
        for (int y = parts.base + (c << parts.shift); y < to; y += batch) {
          Row row[batch];
          if (y >= from) row[0] = forth<0>(X, y);
          if (y + 1 < to) row[1] = forth<1>(X, y + 1);
          if (y + 2 < to) row[2] = forth<0>(X, y + 2);
          if (y + 3 < to) row[3] = forth<1>(X, y + 3);
          for (int k = 0; k < batch; ++k)
            if (y + k >= from && y + k < to) {
              const T m = row[k].e * d;
              w = row[k].r - m * w;
              f = y + k == from ? row[k].e : -m * f;
              d = row[k].d;
              left -= f * d * w;
              value(X, y + k) = w;
            }
        }
        add[at(c, lane)] = left;
        if (c < n) {
          const Row s    = forth<1>(X, to);
          v[at(c, lane)] = s.r - s.e * d * w;
        } else if (parts.ring) {
          const Row s          = parts.end & 1 ? forth<1>(X, to) : forth<0>(X, to);
          border[2 * lane + 1] = s.r - s.e * d * w;
        }
      });
      block.sync();
      each<lines_y>(block, lanes, n + 1, [&](int lane, int c) {
        if (c) v[at(c - 1, lane)] += add[at(c, lane)];
        else if (parts.ring) border[2 * lane] = add[at(0, lane)];
        else border[2 * lane] = border[2 * lane + 1] = 0;
      });
    } else
      each<lines_y>(block, lanes, n + 1, [&](int lane, int c) {
        if (c) v[at(c - 1, lane)] = 0;
        else border[2 * lane] = side == side_left ? -1 : 0, border[2 * lane + 1] = side == side_right ? -1 : 0;
      });
    block.sync();
    solve_chain<lines_y>(block, parts, chain, X0 - line0, v, border);
    each<lines_y>(block, lanes, n + 1, [&](int lane, int c) {
      const int X = X0 + lane, from = parts.from(c), to = parts.to(c), start = parts.base + (c << parts.shift);
      const T   left = c ? v[at(c - 1, lane)] : border[2 * lane];
      T         next = c < n ? v[at(c, lane)] : border[2 * lane + 1];
      if (c < n || parts.ring) value(X, to) = next;
      for (int y = start + (to - 1 - start) / batch * batch; y >= start; y -= batch) {
        Row row[batch];
        if (y >= from) row[0] = back<0>(X, y);
        if (y + 1 < to) row[1] = back<1>(X, y + 1);
        if (y + 2 < to) row[2] = back<0>(X, y + 2);
        if (y + 3 < to) row[3] = back<1>(X, y + 3);
        for (int k = batch - 1; k >= 0; --k)
          if (y + k >= from && y + k < to) {
            next            = row[k].d * (row[k].r - row[k].e * next) - row[k].f * left;
            value(X, y + k) = next;
          }
      }
    });
  }
};

template <int P, int S, class T, class C> struct SolvePartsX {
  StencilView<C> A;
  View<T>        b, x;
  Parts          parts;
  Chain<T>       chain;
  const T       *along;
  T             *work; // where lines do not fit into shared memory
  int            line0;
  Side           side;

  static constexpr int batch = 4;
  template <int ODD, class Block> HD void load(Block &block, T *f, int pitch) const
  {
    constexpr int Q = 2 * P + ODD;
    const int     stop = parts.ring ? parts.end + 1 : parts.end, size = pitch << parts.shift;
    block.each(half_begin(parts.first, ODD), half_begin(stop, ODD), block.tile.x0, block.tile.x1, [&](int X, int Y) {
      const ptrdiff_t p = X * S + Y * A.C.sy;
      const int       i = 2 * X + ODD - parts.base;
      if constexpr (std::is_same_v<T, C>)
        f[(Y - block.tile.x0) * size + (i & ((1 << parts.shift) - 1)) * pitch + (i >> parts.shift)] =
          b.q[Q][p] - couplings<Q, S, mask_all, lines_x>(A, x, p);
    });
  }
  template <int ODD, class Block> HD void store(Block &block, const T *f, int pitch) const
  {
    const int stop = parts.ring ? parts.end + 1 : parts.end, size = pitch << parts.shift;
    block.each(half_begin(parts.first, ODD), half_begin(stop, ODD), block.tile.x0, block.tile.x1, [&](int X, int Y) {
      const int i = 2 * X + ODD - parts.base;
      x.q[2 * P + ODD][X * x.sx + Y * x.sy] =
        f[(Y - block.tile.x0) * size + (i & ((1 << parts.shift) - 1)) * pitch + (i >> parts.shift)];
    });
  }

  // What a block works with. Row k of a line's values has node k of each part, and room for one more: neighbouring
  // threads use neighbouring places.
  struct Scratch {
    int       n, count, lanes, Y0, pitch, size, length;
    ptrdiff_t whole;
    T        *v, *add, *border, *f;
    HD int    at(int s, int lane) const { return spot<lines_x>(s, lane, lanes, n); }
  };
  template <class Block> HD Scratch scratch(Block &block) const
  {
    const int n = parts.separators, count = n + 1, lanes = block.tile.x1 - block.tile.x0, Y0 = block.tile.x0;
    const int pitch = (count + 1) | 1, size = pitch << parts.shift;
    T        *v = (T *)block.shared, *add = v + (n + 2) * lanes, *border = add + (n + 2) * lanes;
    T        *f = work ? work + (ptrdiff_t)(Y0 - line0) * size : border + 2 * lanes;
    return {n, count, lanes, Y0, pitch, size, 1 << parts.shift, (ptrdiff_t)count << parts.shift, v, add, border, f};
  }
  // The right-hand sides of the separators after the elimination of the nodes between them.
  template <class Block> HD void eliminate(Block &block, const Scratch &s) const
  {
    load<0>(block, s.f, s.pitch);
    load<1>(block, s.f, s.pitch);
    block.sync();
    each<lines_x>(block, s.lanes, s.count, [&](int lane, int c) {
      const int start = parts.base + (c << parts.shift), from = parts.from(c) - start, to = parts.to(c) - start;
      const T  *m = along + (s.Y0 + lane - line0) * 2 * s.whole + c, *inverse = m + s.whole;
      T        *u = s.f + lane * s.size + c;
      T         w = 0, g = 0, d = 0, left = 0;
      for (int k = from / batch * batch; k < to; k += batch) {
        T mk[batch], dk[batch], uk[batch];
        for (int i = 0; i < batch; ++i) {
          mk[i] = k + i < to ? m[(k + i) * s.count] : 0;
          dk[i] = k + i < to ? inverse[(k + i) * s.count] : 0;
          uk[i] = k + i < to ? u[(k + i) * s.pitch] : 0;
        }
        for (int i = 0; i < batch; ++i)
          if (k + i >= from && k + i < to) {
            const bool head = k + i == from;
            w = head ? uk[i] : uk[i] - mk[i] * w;
            g = head ? mk[i] : -mk[i] * g;
            d = dk[i];
            left -= g * d * w;
            u[(k + i) * s.pitch] = w;
          }
      }
      s.add[s.at(c, lane)] = left;
      const T *beyond = chain.beyond + (s.Y0 + lane - line0);
      if (c < s.n) s.v[s.at(c, lane)] = u[(s.length - 1) * s.pitch] - m[(s.length - 1) * s.count] * d * w;
      else if (parts.ring) s.border[2 * lane + 1] = (to < s.length ? u[to * s.pitch] : u[1]) - *beyond * d * w;
    });
    block.sync();
    each<lines_x>(block, s.lanes, s.count, [&](int lane, int c) {
      if (c) s.v[s.at(c - 1, lane)] += s.add[s.at(c, lane)];
      else if (parts.ring) s.border[2 * lane] = s.add[s.at(0, lane)];
      else s.border[2 * lane] = s.border[2 * lane + 1] = 0;
    });
  }
  // The nodes between the separators, whose values are known.
  template <class Block> HD void substitute(Block &block, const Scratch &s) const
  {
    each<lines_x>(block, s.lanes, s.count, [&](int lane, int c) {
      const int start = parts.base + (c << parts.shift), from = parts.from(c) - start, to = parts.to(c) - start;
      const T  *m = along + (s.Y0 + lane - line0) * 2 * s.whole + c, *inverse = m + s.whole;
      T        *u = s.f + lane * s.size + c;
      T         g = c ? s.v[s.at(c - 1, lane)] : s.border[2 * lane]; // forth again, with the value on the left
      for (int k = from / batch * batch; k < to; k += batch) {
        T mk[batch];
        for (int i = 0; i < batch; ++i) mk[i] = k + i < to ? m[(k + i) * s.count] : 0;
        for (int i = 0; i < batch; ++i)
          if (k + i >= from && k + i < to) u[(k + i) * s.pitch] += g *= -mk[i];
      }
      T next = c < s.n ? s.v[s.at(c, lane)] : s.border[2 * lane + 1];
      T above = c < s.n ? m[(s.length - 1) * s.count] : chain.beyond[s.Y0 + lane - line0];
      if (c < s.n) u[(s.length - 1) * s.pitch] = next;
      else if (parts.ring) (to < s.length ? u[to * s.pitch] : u[1]) = next;
      for (int k = (to - 1) / batch * batch; k >= 0; k -= batch) {
        T mk[batch], dk[batch];
        for (int i = 0; i < batch; ++i) {
          mk[i] = k + i < to ? m[(k + i) * s.count] : 0;
          dk[i] = k + i < to ? inverse[(k + i) * s.count] : 0;
        }
        for (int i = batch - 1; i >= 0; --i)
          if (k + i >= from && k + i < to) {
            const T w = u[(k + i) * s.pitch];
            u[(k + i) * s.pitch] = next = k + i == to - 1 ? dk[i] * (w - above * next) : dk[i] * w - above * next;
            above                       = mk[i];
          }
      }
    });
  }

  template <class Block> HD void operator()(Block &block) const
  {
    const Scratch s = scratch(block);
    if (side == side_none) eliminate(block, s);
    else {
      block.each(0, s.size, 0, s.lanes, [&](int i, int lane) { s.f[lane * s.size + i] = 0; });
      each<lines_x>(block, s.lanes, s.count, [&](int lane, int c) {
        if (c) s.v[s.at(c - 1, lane)] = 0;
        else s.border[2 * lane] = side == side_left ? -1 : 0, s.border[2 * lane + 1] = side == side_right ? -1 : 0;
      });
    }
    block.sync();
    solve_chain<lines_x>(block, parts, chain, s.Y0 - line0, s.v, s.border);
    substitute(block, s);
    block.sync();
    store<0>(block, s.f, s.pitch);
    store<1>(block, s.f, s.pitch);
  }
};

} // namespace tessera::line_parts
