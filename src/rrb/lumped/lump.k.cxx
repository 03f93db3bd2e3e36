// The papers' factorisation: red-black elimination with lumping, [1] section 2.2 and [2] section 2.4, or with rhombus
// lumping. Per grid: red pivots, elimination into o and c, o pivots, elimination into c. About 12 doubles read or
// written a node.
#include "box/tuning.hpp"
#include "rrb/rrb.hpp"
#include <cmath>

namespace tessera::rrb {

namespace {

// The operator of a grid while it is factorised. C becomes the inverse pivot of a node when the node is eliminated.
// H: the a-b couplings that rhombus lumping moves away (as positive numbers), stored like G.
struct Fields {
  View<double> C, E[4], G[4], H[4];
  bool         nine, rhombus, all;
  double       omega, tiny; // share of a diagonal that is rounding
};

// Inverse of a pivot. A node of a singular component that has no couplings left is set to zero. A pivot that is not
// positive becomes NaN, which the sums find.
HD inline double invert(double tiny, double d, double diagonal, double couplings)
{
  if (d > tiny * diagonal) return 1 / d;
  return diagonal == 0 && couplings == 0 ? 0 : NAN;
}

// Rhombus lumping of the a-b couplings, first half: which couplings -k (k > 0) move to the four sides of their cell.
// All four sides must exist: a node that is not there or stands alone takes no part.
struct FindRhombus {
  Fields f;
  HD void operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * f.C.sx + Y * f.C.sy, l = f.C.sx, r = f.C.sy;
    const double sides[4] = {f.E[3].q[2][p - r] * f.E[1].q[2][p - r], f.E[3].q[2][p + l - r] * f.E[0].q[2][p + l - r],
                             f.E[2].q[2][p] * f.E[1].q[2][p], f.E[2].q[2][p + l] * f.E[0].q[2][p + l]};
    for (int k = 0; k < 4; ++k) {
      const double own = f.E[k & 1].q[1][p] * f.E[2 + (k >> 1)].q[1][p];
      double      &g   = f.G[k].q[1][p];
      f.H[k].q[1][p]   = g < 0 && own > 0 && sides[k] > 0 ? -g : 0;
      if (f.H[k].q[1][p] > 0) g = 0;
    }
  }
};

// Second half: k goes to the diagonals of the four nodes and to the diagonal coupling o-c, -k to the four sides.
struct MoveRhombus {
  Fields f;
  int    q;
  HD void operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * f.C.sx + Y * f.C.sy, l = f.C.sx, r = f.C.sy;
    double          h[4]; // of the cells to SW SE NW NE
    if (q == quarter_a)
      for (int k = 0; k < 4; ++k) h[k] = f.H[k].q[1][p];
    else if (q == quarter_b)
      h[0] = f.H[3].q[1][p - l], h[1] = f.H[2].q[1][p], h[2] = f.H[1].q[1][p - l + r], h[3] = f.H[0].q[1][p + r];
    else if (q == quarter_o)
      h[0] = f.H[1].q[1][p - l], h[1] = f.H[0].q[1][p], h[2] = f.H[3].q[1][p - l], h[3] = f.H[2].q[1][p];
    else h[0] = f.H[2].q[1][p], h[1] = f.H[3].q[1][p], h[2] = f.H[0].q[1][p + r], h[3] = f.H[1].q[1][p + r];
    f.C.q[q][p] += h[0] + h[1] + h[2] + h[3];
    if (q == quarter_o)
      for (int k = 0; k < 4; ++k) f.E[k].q[q][p] += h[k];
    if (q == quarter_a || q == quarter_b) {
      f.E[0].q[q][p] -= h[0] + h[2];
      f.E[1].q[q][p] -= h[1] + h[3];
      f.E[2].q[q][p] -= h[0] + h[1];
      f.E[3].q[q][p] -= h[2] + h[3];
    }
  }
};

// lump=all: the couplings o-c of the operator go to the diagonals of both, c first (it needs o's couplings).
struct LumpKept {
  Fields f;
  int    q;
  HD void operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * f.C.sx + Y * f.C.sy, l = f.C.sx, r = f.C.sy;
    if (q == quarter_c)
      f.C.q[3][p] += f.omega * (f.E[3].q[0][p] + f.E[2].q[0][p + l] + f.E[1].q[0][p + r] + f.E[0].q[0][p + l + r]);
    else
      for (int k = 0; k < 4; ++k) f.C.q[0][p] += f.omega * f.E[k].q[0][p];
  }
};

struct DropKept {
  Fields f;
  HD void operator()(int X, int Y) const
  {
    for (int k = 0; k < 4; ++k) f.E[k].q[0][X * f.C.sx + Y * f.C.sy] = 0;
  }
};

// Red pivots, equation (2.13) of [2]. Returns the lumped share of the diagonal.
struct RedPivot {
  Fields f;
  int    q;
  HD double operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * f.C.sx + Y * f.C.sy, l = f.C.sx, r = f.C.sy;
    const double    c = f.C.q[q][p];
    double          lump = 0;
    if (f.nine) {
      if (q == quarter_a) lump = f.G[0].q[1][p] + f.G[1].q[1][p] + f.G[2].q[1][p] + f.G[3].q[1][p];
      else lump = f.G[3].q[1][p - l] + f.G[2].q[1][p] + f.G[1].q[1][p - l + r] + f.G[0].q[1][p + r];
    }
    const double couplings =
      fabs(f.E[0].q[q][p]) + fabs(f.E[1].q[q][p]) + fabs(f.E[2].q[q][p]) + fabs(f.E[3].q[q][p]) + fabs(lump);
    f.C.q[q][p]            = invert(f.tiny, c + f.omega * lump, c, couplings);
    return c > 0 ? fabs(lump) / c + 0 * f.C.q[q][p] : 0 * f.C.q[q][p];
  }
};

// The same on the device without the sum, for a 5-point operator, which lumps nothing.
struct RedWatched {
  RedPivot pivot;
  FirstBad bad;
  HD void  operator()(int X, int Y) const
  {
    double &c = pivot.f.C.q[pivot.q][X * pivot.f.C.sx + Y * pivot.f.C.sy];
    if (c > pivot.f.tiny * c) { // nearly always; the couplings are not looked at then
      c = 1 / c;
      return;
    }
    (void)pivot(X, Y);
    if (bad.key) bad.check(c, pivot.q, X, Y);
  }
};

// The far coupling between the two o (c) nodes beside a red node that its elimination leaves.
HD inline double far_o(const Fields &f, int q, ptrdiff_t p) // a: W-E neighbours are o; b: S-N
{
  return q == quarter_a ? -f.E[0].q[1][p] * f.E[1].q[1][p] * f.C.q[1][p]
                        : -f.E[2].q[2][p] * f.E[3].q[2][p] * f.C.q[2][p];
}
HD inline double far_c(const Fields &f, int q, ptrdiff_t p)
{
  return q == quarter_a ? -f.E[2].q[1][p] * f.E[3].q[1][p] * f.C.q[1][p]
                        : -f.E[0].q[2][p] * f.E[1].q[2][p] * f.C.q[2][p];
}
// Rhombus lumping of the coupling -k over a red node between its two o neighbours: k v v' with v = 1 at its c
// neighbours and -1 at the o nodes is added, which cancels the coupling. A c node that is missing counts as zero where
// the red row's sum is positive (a Dirichlet boundary, where the solution vanishes); at a Neumann boundary the coupling
// is lumped.
HD inline double moved(const Fields &f, int q, ptrdiff_t p)
{
  const double k = -far_o(f, q, p);
  if (!(k > 0)) return 0;
  if (far_c(f, q, p) != 0) return k;
  const double sum = 1 / f.C.q[q][p] + f.E[0].q[q][p] + f.E[1].q[q][p] + f.E[2].q[q][p] + f.E[3].q[q][p];
  return sum * f.C.q[q][p] > 0.05 ? k : 0;
}
// The same where the node on the other end of the red node's coupling `side` exists.
HD inline double moved(const Fields &f, int q, ptrdiff_t p, int side)
{
  return f.E[side].q[q][p] != 0 ? moved(f, q, p) : 0;
}

// Elimination of the red nodes in the rows of o, then the pivot of o with its far couplings lumped, equation (2.12)
// of [2].
struct EliminateRed {
  Fields f;
  HD double operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * f.C.sx + Y * f.C.sy, l = f.C.sx, r = f.C.sy;
    const ptrdiff_t w = p - l, e = p, s = p - r, n = p; // a to W and E, b to S and N
    const double    dw = f.C.q[1][w], de = f.C.q[1][e], ds = f.C.q[2][s], dn = f.C.q[2][n];
    const double lw = f.E[1].q[1][w] * dw, le = f.E[0].q[1][e] * de, ls = f.E[3].q[2][s] * ds, ln = f.E[2].q[2][n] * dn;
    const double    before = f.C.q[0][p];
    double          c = before - lw * f.E[1].q[1][w] - le * f.E[0].q[1][e] - ls * f.E[3].q[2][s] - ln * f.E[2].q[2][n];
    c                 = remains(f.tiny, before, c);
    double sw = f.E[0].q[0][p] - lw * f.E[2].q[1][w] - ls * f.E[0].q[2][s];
    double se = f.E[1].q[0][p] - le * f.E[2].q[1][e] - ls * f.E[1].q[2][s];
    double nw = f.E[2].q[0][p] - lw * f.E[3].q[1][w] - ln * f.E[0].q[2][n];
    double ne = f.E[3].q[0][p] - le * f.E[3].q[1][e] - ln * f.E[1].q[2][n];
    double lump = far_o(f, 1, w) + far_o(f, 1, e) + far_o(f, 2, s) + far_o(f, 2, n), add = 0;
    if (f.rhombus) {
      const double mw = moved(f, 1, w), me = moved(f, 1, e), ms = moved(f, 2, s), mn = moved(f, 2, n);
      add = mw + me + ms + mn;
      lump += add;
      // a: c to S and N; b: c to W and E
      sw -= (f.E[2].q[1][w] != 0) * mw + (f.E[0].q[2][s] != 0) * ms;
      se -= (f.E[2].q[1][e] != 0) * me + (f.E[1].q[2][s] != 0) * ms;
      nw -= (f.E[3].q[1][w] != 0) * mw + (f.E[0].q[2][n] != 0) * mn;
      ne -= (f.E[3].q[1][e] != 0) * me + (f.E[1].q[2][n] != 0) * mn;
    }
    f.E[0].q[0][p] = sw;
    f.E[1].q[0][p] = se;
    f.E[2].q[0][p] = nw;
    f.E[3].q[0][p] = ne;
    f.C.q[0][p] = invert(f.tiny, c + add + f.omega * lump, c, fabs(sw) + fabs(se) + fabs(nw) + fabs(ne) + fabs(lump));
    return c > 0 ? fabs(lump) / c + 0 * f.C.q[0][p] : 0 * f.C.q[0][p];
  }
};

// Elimination of red and o nodes in the rows of c: the operator of the next grid. (X, Y) is a c node.
struct Coarse {
  Fields f;
  // couplings of c(X, Y) with c(X+1, Y), c(X, Y+1), c(X+1, Y+1), and of c(X+1, Y) with c(X, Y+1)
  HD double east(int X, int Y) const
  {
    const ptrdiff_t b = (X + 1) * f.C.sx + Y * f.C.sy, s = b, n = b + f.C.sy;
    const double    red = f.all ? 0 : far_c(f, 2, b);
    return red + (f.rhombus && far_c(f, 2, b) != 0 ? moved(f, 2, b) : 0) -
           f.E[2].q[0][s] * f.E[3].q[0][s] * f.C.q[0][s] - f.E[0].q[0][n] * f.E[1].q[0][n] * f.C.q[0][n];
  }
  HD double north(int X, int Y) const
  {
    const ptrdiff_t a = X * f.C.sx + (Y + 1) * f.C.sy, w = a, e = a + f.C.sx;
    const double    red = f.all ? 0 : far_c(f, 1, a);
    return red + (f.rhombus && far_c(f, 1, a) != 0 ? moved(f, 1, a) : 0) -
           f.E[1].q[0][w] * f.E[3].q[0][w] * f.C.q[0][w] - f.E[0].q[0][e] * f.E[2].q[0][e] * f.C.q[0][e];
  }
  HD double north_east(int X, int Y) const
  {
    const ptrdiff_t o = (X + 1) * f.C.sx + (Y + 1) * f.C.sy;
    return -f.E[0].q[0][o] * f.E[3].q[0][o] * f.C.q[0][o];
  }
  HD double north_west(int X, int Y) const
  {
    const ptrdiff_t o = (X + 1) * f.C.sx + (Y + 1) * f.C.sy;
    return -f.E[1].q[0][o] * f.E[2].q[0][o] * f.C.q[0][o];
  }
  HD double coupling(int X, int Y, int dx, int dy) const
  {
    if (!dy) return east(dx > 0 ? X : X - 1, Y);
    if (!dx) return north(X, dy > 0 ? Y : Y - 1);
    return dx == dy ? north_east(dx > 0 ? X : X - 1, dy > 0 ? Y : Y - 1)
         : dx > 0   ? north_west(X, Y - 1)
                    : north_west(X - 1, Y);
  }
  HD double diagonal(int X, int Y) const
  {
    const ptrdiff_t p = X * f.C.sx + Y * f.C.sy, l = f.C.sx, r = f.C.sy;
    const double    w = f.E[1].q[2][p], e = f.E[0].q[2][p + l], s = f.E[3].q[1][p], n = f.E[2].q[1][p + r];
    const double    sw = f.E[3].q[0][p], se = f.E[2].q[0][p + l], nw = f.E[1].q[0][p + r], ne = f.E[0].q[0][p + l + r];
    const double    before = f.C.q[3][p];
    double          add = 0;
    if (f.all) add = f.omega * (far_c(f, 2, p) + far_c(f, 2, p + l) + far_c(f, 1, p) + far_c(f, 1, p + r));
    if (f.rhombus) add += moved(f, 2, p, 1) + moved(f, 2, p + l, 0) + moved(f, 1, p, 3) + moved(f, 1, p + r, 2);
    const double red =
      remains(f.tiny, before,
              before - w * w * f.C.q[2][p] - e * e * f.C.q[2][p + l] - s * s * f.C.q[1][p] - n * n * f.C.q[1][p + r]);
    const double o =
      sw * sw * f.C.q[0][p] + se * se * f.C.q[0][p + l] + nw * nw * f.C.q[0][p + r] + ne * ne * f.C.q[0][p + l + r];
    return remains(f.tiny, red + add, red + add - o);
  }
};

// Writes the numbers that a node of quarter Q of the next grid stores.
template <int Q> struct StoreCoarse {
  Coarse       fine;
  View<double> C, E[4], G[4];
  int          nx, ny; // its size where a periodic seam is cut, else 0
  HD void operator()(int I, int J) const
  {
    const int       X = 2 * I + (Q & 1), Y = 2 * J + (Q >> 1);
    const ptrdiff_t p = I * C.sx + J * C.sy;
    double          c = fine.diagonal(X, Y);
    if (Q == quarter_a || Q == quarter_b) {
      E[0].q[Q][p] = fine.east(X - 1, Y);
      E[1].q[Q][p] = fine.east(X, Y);
      E[2].q[Q][p] = fine.north(X, Y - 1);
      E[3].q[Q][p] = fine.north(X, Y);
    }
    if (Q == quarter_o || Q == quarter_a) {
      const View<double> *D = Q == quarter_o ? E : G;
      D[0].q[Q][p]          = fine.north_east(X - 1, Y - 1);
      D[1].q[Q][p]          = fine.north_west(X, Y - 1);
      D[2].q[Q][p]          = fine.north_west(X - 1, Y);
      D[3].q[Q][p]          = fine.north_east(X, Y);
    }
    if (nx || ny) cut(X, Y, p, c);
    C.q[Q][p] = c;
  }
  // Lumps the couplings over a periodic seam: row sums stay.
  HD void cut(int X, int Y, ptrdiff_t p, double &c) const
  {
    for (int dy = -1; dy <= 1; ++dy)
      for (int dx = -1; dx <= 1; ++dx) {
        if ((!dx && !dy) || !((nx && (X + dx < 0 || X + dx >= nx)) || (ny && (Y + dy < 0 || Y + dy >= ny)))) continue;
        c += fine.coupling(X, Y, dx, dy);
        if ((!dx || !dy) && (Q == quarter_a || Q == quarter_b)) E[dy ? 2 + (dy > 0) : dx > 0].q[Q][p] = 0;
        if (dx && dy && (Q == quarter_o || Q == quarter_a))
          (Q == quarter_a ? G : E)[2 * (dy > 0) + (dx > 0)].q[Q][p] = 0;
      }
  }
};

// l_ij = a_ij / pivot_i in the precision of the factors.
template <class T> struct Scale {
  View<double> C, E[4];
  View<T>      L[4], D;
  int          q;
  HD void operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * C.sx + Y * C.sy;
    const double    d = C.q[q][p];
    for (int k = 0; k < 4; ++k) L[k].q[q][p] = (T)(E[k].q[q][p] * d);
    D.q[q][p] = (T)d;
  }
};

Fields fields(const Plan &plan, Stencil &a)
{
  Fields f;
  f.C = a.C();
  for (int k = 0; k < 4; ++k) {
    f.E[k] = a.E(k);
    if (a.nine) f.G[k] = a.G(k);
  }
  f.nine    = a.nine;
  f.rhombus = plan.params.coarsening == Coarsening::rhombus;
  f.all     = plan.params.lump_all;
  f.omega   = plan.params.omega;
  f.tiny    = plan.tiny();
  return f;
}

template <int Q> void store_coarse(const Plan &plan, const Fields &f, Stencil &coarse, const Level &next)
{
  StoreCoarse<Q> k{
    {f},
    coarse.C(),
    {coarse.E(0), coarse.E(1), coarse.E(2), coarse.E(3)},
    {coarse.G(0), coarse.G(1), coarse.G(2), coarse.G(3)},
    next.cut_x ? next.grid.nx : 0,
    next.cut_y ? next.grid.ny : 0
  };
  forall(plan.exec, next.grid.owned(Q), k);
}

template <class T>
void scale(const Plan &plan, Level &level, const Fields &f, Buffer<T> l[4], Buffer<T> &d, bool red_only)
{
  Scale<T> k;
  k.C = f.C;
  k.D = level.layout.view(d.data());
  for (int i = 0; i < 4; ++i) {
    k.E[i] = f.E[i];
    k.L[i] = level.layout.view(l[i].data());
  }
  Box all = level.layout.compute();
  all.x0 -= 1;
  all.y0 -= 1;
  Scale<T> o = k, a = k, b = k;
  o.q = 0, a.q = 1, b.q = 2;
  if (red_only) forall_parts(plan.exec, part(all, a), part(all, b));
  else forall_parts(plan.exec, part(all, o), part(all, a), part(all, b));
}

} // namespace

// The red pivots of a grid, with ghosts; before them what lumping does to the couplings a-b.
void eliminate_red(Plan &plan, Level &level, Stencil &a, Failure *failure)
{
  Fields         f = fields(plan, a);
  Buffer<double> h[4];
  double         sum = 0;
  if (f.nine && f.rhombus) {
    for (int k = 0; k < 4; ++k) {
      h[k].resize(level.layout.elements(1));
      f.H[k] = level.layout.view(h[k].data(), quarter_a);
    }
    forall(plan.exec, level.grid.owned(quarter_a), FindRhombus{f});
    for (int k = 0; k < 4; ++k) level.halo.exchange(f.H[k], mask_a);
    for (int q = 0; q < 4; ++q) forall(plan.exec, level.grid.owned(q), MoveRhombus{f, q});
    a.exchange(level.halo);
  }
  if (f.nine && f.all) {
    for (int q : {3, 0}) forall(plan.exec, level.grid.owned(q), LumpKept{f, q});
    forall(plan.exec, level.grid.owned(quarter_o), DropKept{f});
    for (int k = 0; k < 4; ++k) level.halo.exchange(f.E[k], mask_o);
  }
  if (Findings *const notes = f.nine ? nullptr : plan.findings.notes()) {
    const FirstBad bad{failure ? &notes->bad : nullptr, 2 * level.index + 1};
    forall_parts(plan.exec,
                 part(level.grid.owned(1),
                      RedWatched{
                        {f, 1},
                        bad
    }),
                 part(level.grid.owned(2), RedWatched{{f, 2}, bad}));
  } else
    for (int q : {1, 2}) sum += forall_sum(plan.exec, level.grid.owned(q), RedPivot{f, q});
  if (failure && !std::isfinite(sum)) check_positive(plan, level, f.C, mask_a | mask_b, 2 * level.index + 1, *failure);
  level.halo.exchange(f.C, mask_a | mask_b);
  level.lumped = sum;
}

long Lumped::redundant(const Plan &, int) const { return tuning::redundant_nodes; }

void Lumped::create(Plan &plan)
{
  const Params &p = plan.params;
  for (Level &l : plan.levels) {
    const bool factors = l.step == Step::coarsen || (l.step == Step::solve && plan.eliminate_last_red);
    l.b.resize(l.layout);
    if (factors) l.t.resize(l.layout.elements(1));
    if (factors && p.single) {
      for (auto &f : l.factor.l32) f.resize(l.layout.elements(3));
      l.factor.d32.resize(l.layout.elements(3));
    }
    l.accelerated = l.index && l.step == Step::coarsen && p.cycle != Cycle::v && l.index % p.every == 0;
    if (l.accelerated)
      for (Field *f : {&l.x, &l.r, &l.w, &l.d, &l.q}) f->resize(l.layout);
    if (l.step == Step::solve && plan.eliminate_last_red) l.w.resize(l.layout);
  }
}

Stencil Lumped::recycle(Plan &plan, size_t l) { return recycle_factors(plan.levels[l]); }

void Lumped::prepare(Plan &plan, size_t l, const Stencil &a)
{
  Level &level = plan.levels[l];
  if (level.accelerated) copy(a, level.op, level.layout.space);
}

// Factors of one grid and the operator of the next.
void Lumped::coarsen(Plan &plan, size_t l, Stencil &a, Stencil &coarse, Failure &failure)
{
  Level       &level = plan.levels[l];
  const Level &next = plan.levels[l + 1];
  eliminate_red(plan, level, a, &failure);
  if (plan.have_schur && &level == &plan.levels[0]) schur_setup(plan, level, a, plan.schur);
  Fields       f   = fields(plan, a);
  const double sum = forall_sum(plan.exec, level.grid.owned(quarter_o), EliminateRed{f});
  if (!std::isfinite(sum)) check_positive(plan, level, f.C, mask_o, 2 * level.index + 2, failure);
  level.lumped =
    (level.lumped + sum) / (double)(level.grid.owned().size() - level.grid.owned(quarter_c).size() + 1e-300);
  level.halo.exchange(f.C, mask_o);
  for (int k = 0; k < 4; ++k) level.halo.exchange(f.E[k], mask_o);
  coarse.make_nine();
  store_coarse<0>(plan, f, coarse, next);
  store_coarse<1>(plan, f, coarse, next);
  store_coarse<2>(plan, f, coarse, next);
  store_coarse<3>(plan, f, coarse, next);
  keep_factors(plan, level, a);
}

// l_ij from the couplings and the inverse pivots: in the operator's memory, or in single precision beside it.
void keep_factors(Plan &plan, Level &level, Stencil &a, bool red_only, bool scaled)
{
  const Fields f      = fields(plan, a);
  level.factor.scaled = scaled;
  if (plan.single_factors()) scale(plan, level, f, level.factor.l32, level.factor.d32, red_only);
  else {
    for (int k = 0; k < 4; ++k) level.factor.l64[k] = std::move(a.e[k]);
    level.factor.d64 = std::move(a.c);
    if (scaled) scale(plan, level, f, level.factor.l64, level.factor.d64, red_only);
  }
}

} // namespace tessera::rrb
