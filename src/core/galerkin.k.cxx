#include "core/galerkin.hpp"
#include "core/tuning.hpp"
#include <algorithm>
#include <climits>
#include <cmath>
#include <utility>

namespace tessera {

void Interpolation::create(const Layout &l)
{
  layout = l;
  for (auto &f : edge) f.resize(l.elements(2));
  for (auto &f : centre) f.resize(l.elements(1));
  inject.resize(l.elements(1));
}

namespace {

// All nine coefficients of a node.
template <int Q, int S> struct Row {
  double k[9];
  HD Row(const StencilView<double> &A, ptrdiff_t p, ptrdiff_t r)
  {
    k[1] = coefficient<Q, 1, S>(A, p, r), k[3] = coefficient<Q, 3, S>(A, p, r), k[4] = A.C.q[Q][p], k[5] = coefficient<Q, 5, S>(A, p, r), k[7] = coefficient<Q, 7, S>(A, p, r);
    k[0] = k[2] = k[6] = k[8] = 0;
    if (A.nine) k[0] = coefficient<Q, 0, S>(A, p, r), k[2] = coefficient<Q, 2, S>(A, p, r), k[6] = coefficient<Q, 6, S>(A, p, r), k[8] = coefficient<Q, 8, S>(A, p, r);
  }
  HD double sum() const { return k[0] + k[1] + k[2] + k[3] + k[4] + k[5] + k[6] + k[7] + k[8]; }
  HD bool alive() const
  {
    return k[4] > 0 && fabs(k[0]) + fabs(k[1]) + fabs(k[2]) + fabs(k[3]) + fabs(k[5]) + fabs(k[6]) + fabs(k[7]) + fabs(k[8]) > tuning::dead_coupling * k[4];
  }
};

HD inline double cut_small(double w) { return fabs(w) < tuning::small_weight ? 0 : w; }

struct Alive {
  StencilView<double> A;
  View<double>        inject;
  ptrdiff_t           s;
  HD void             operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * s + Y * A.C.sy;
    const bool      alive = s == 1 ? Row<3, 1>(A, p, A.C.sy).alive() : Row<3, 2>(A, p, A.C.sy).alive();
    inject.q[3][p]        = alive;
  }
};

// Weights of a (from S and N) or b (from W and E).
template <int Q, int S> struct Edges {
  StencilView<double> A;
  View<double>        w[2], inject;
  int                 n; // coarse nodes in the direction of the edge, or INT_MAX where the grid closes
  // Adds what the elimination of the o node beside p leaves: its couplings towards both coarse nodes, unless nothing ties that
  // side of it to the coarse node.
  template <int BACK> HD void across(ptrdiff_t o, double coupling, bool low, bool high, double &m, double &q) const
  {
    const ptrdiff_t   r = A.C.sy;
    const Row<0, S>   at(A, o, r);
    if (!(at.k[4] > 0) || coupling == 0) return;
    constexpr int     LOW = Q == quarter_a ? (BACK > 0 ? 2 : 0) : (BACK > 0 ? 6 : 0), HIGH = Q == quarter_a ? (BACK > 0 ? 8 : 6) : (BACK > 0 ? 8 : 2);
    constexpr int     K = Q == quarter_a ? (BACK > 0 ? 5 : 3) : (BACK > 0 ? 7 : 1); // from the nodes beside o to the coarse nodes
    constexpr int     H = Q ^ 3;                                                    // their quarter
    double            to_low = Q == quarter_a ? at.k[0] + at.k[1] + at.k[2] : at.k[0] + at.k[3] + at.k[6];
    double            to_high = Q == quarter_a ? at.k[6] + at.k[7] + at.k[8] : at.k[2] + at.k[5] + at.k[8];
    const ptrdiff_t   hl = Q == quarter_a ? o - r : o - S, hh = o;
    const double      tied = tuning::tied;
    if (low && fabs(coefficient<H, K, S>(A, hl, r)) < tied * A.C.q[H][hl] && fabs(at.k[LOW]) < tied * at.k[4]) to_low = 0;
    if (high && fabs(coefficient<H, K, S>(A, hh, r)) < tied * A.C.q[H][hh] && fabs(at.k[HIGH]) < tied * at.k[4]) to_high = 0;
    const double      f = -coupling / at.k[4];
    m += f * to_low;
    q += f * to_high;
  }
  HD void operator()(int X, int Y) const
  {
    const ptrdiff_t r = A.C.sy, p = X * S + Y * r;
    const Row<Q, S> row(A, p, r);
    const int       i = Q == quarter_a ? Y : X;
    const bool      has_low = i > 0 || n == INT_MAX, has_high = i < n;
    double          low = 0, high = 0;
    if (row.k[4] > 0) {
      const ptrdiff_t step = Q == quarter_a ? r : S;
      const bool      alive_low = has_low && inject.q[3][p - step] > 0, alive_high = has_high && inject.q[3][p] > 0;
      double          m = Q == quarter_a ? row.k[0] + row.k[1] + row.k[2] : row.k[0] + row.k[3] + row.k[6];
      double          q = Q == quarter_a ? row.k[6] + row.k[7] + row.k[8] : row.k[2] + row.k[5] + row.k[8];
      if (Q == quarter_a) {
        across<1>(p, row.k[3], alive_low, alive_high, m, q);
        across<-1>(p + S, row.k[5], alive_low, alive_high, m, q);
      } else {
        across<1>(p, row.k[1], alive_low, alive_high, m, q);
        across<-1>(p + r, row.k[7], alive_low, alive_high, m, q);
      }
      const double rs = row.sum(), M = m < 0 ? -m : 0, H = q < 0 ? -q : 0, s = M + H;
      if (s > 1e-8 * row.k[4] && s > 0.05 * rs) {
        const double d = rs < 0 ? s : s + rs;
        low  = M / d;
        high = H / d;
      } else if (rs < tuning::tied_sideways * row.k[4]) { // tied only sideways
        if (has_low && !alive_low) low = 1;
        else if (has_high && !alive_high) high = 1;
        else if (has_low && has_high) low = high = 0.5;
        else (has_low ? low : high) = 1;
      }
    }
    w[0].q[Q][p] = has_low ? cut_small(low) : 0;
    w[1].q[Q][p] = has_high ? cut_small(high) : 0;
  }
};

template <int S> struct Centres {
  StencilView<double> A;
  View<double>        edge[2], w[4], inject;
  int                 nx, ny;
  HD void             operator()(int X, int Y) const
  {
    const ptrdiff_t r = A.C.sy, p = X * S + Y * r;
    const Row<0, S> row(A, p, r);
    const bool      west = X > 0 || nx == INT_MAX, east = X < nx, south = Y > 0 || ny == INT_MAX, north = Y < ny;
    const bool      has[4] = {west && south, east && south, west && north, east && north};
    const ptrdiff_t c[4] = {p - S - r, p - r, p - S, p};
    double          v[4] = {0, 0, 0, 0};
    if (row.k[4] > 0) {
      const double ic = -1 / row.k[4];
      v[0] = has[0] ? ic * (row.k[0] + row.k[3] * edge[0].q[1][p - S] + row.k[1] * edge[0].q[2][p - r]) : 0;
      v[1] = has[1] ? ic * (row.k[2] + row.k[5] * edge[0].q[1][p] + row.k[1] * edge[1].q[2][p - r]) : 0;
      v[2] = has[2] ? ic * (row.k[6] + row.k[3] * edge[1].q[1][p - S] + row.k[7] * edge[0].q[2][p]) : 0;
      v[3] = has[3] ? ic * (row.k[8] + row.k[5] * edge[1].q[1][p] + row.k[7] * edge[1].q[2][p]) : 0;
      if (row.sum() < tuning::tied_sideways * row.k[4] && !(v[0] + v[1] + v[2] + v[3] > 0.05) && row.alive()) {
        int best = -1;
        for (int k = 0; k < 4; ++k)
          if (best < 0 && has[k] && !(inject.q[3][c[k]] > 0)) best = k;
        for (int k = 0; k < 4; ++k)
          if (best < 0 && has[k]) best = k;
        for (int k = 0; k < 4; ++k) v[k] = k == best;
      }
    }
    for (int k = 0; k < 4; ++k) w[k].q[0][p] = cut_small(v[k]);
  }
};

template <int Q> struct Weigh {
  View<double> v, product, square;
  HD void      operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * v.sx + Y * v.sy, step = Q == quarter_a ? v.sy : v.sx;
    const double    low = v.q[3][p - step], high = v.q[3][p], d = low - high;
    product.q[Q][p] += (v.q[Q][p] - high) * d;
    square.q[Q][p] += d * d;
  }
};

// A node between two coarse nodes with couplings, tied sideways or to them alone: its weights may be corrected.
template <int Q, int S> HD inline bool between(const StencilView<double> &A, const View<double> &inject, int n, int X, int Y)
{
  const ptrdiff_t r = A.C.sy, p = X * S + Y * r, step = Q == quarter_a ? r : S;
  const int       i = Q == quarter_a ? Y : X;
  if (!((i > 0 || n == INT_MAX) && i < n) || !(inject.q[3][p - step] > 0 && inject.q[3][p] > 0)) return false;
  const Row<Q, S> row(A, p, r);
  return row.k[4] > 0 && row.sum() < tuning::tied_sideways * row.k[4];
}

template <int Q, int S> struct Fit {
  StencilView<double> A;
  View<double>        product, square, low, inject;
  View<float>         correction;
  int                 n;
  HD void             operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * S + Y * A.C.sy;
    const double    y = square.q[Q][p], g = tuning::least_squares, w = low.q[Q][p];
    double          v = w;
    if (between<Q, S>(A, inject, n, X, Y) && y > 0) v = (product.q[Q][p] + g * y * w) / ((1 + g) * y);
    v                   = v < 0 ? 0 : v > 1 ? 1 : v;
    correction.q[Q][p] = (float)(v - w);
  }
};

template <int Q, int S> struct Correct {
  StencilView<double> A;
  View<double>        w[2], inject;
  View<float>         correction;
  int                 n;
  HD void             operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * S + Y * A.C.sy;
    if (correction.q[Q][p] == 0 || !between<Q, S>(A, inject, n, X, Y)) return;
    double v = w[0].q[Q][p] + correction.q[Q][p];
    v        = v < 0 ? 0 : v > 1 ? 1 : v;
    w[0].q[Q][p] = cut_small(v);
    w[1].q[Q][p] = cut_small(1 - v);
  }
};

//--- P'AP -------------------------------------------------------------------------------------------------------------

// Around the c node (X, Y) with place p: the fine node at distance (DX, DY) and its weight from the coarse node at (CX, CY),
// counted in coarse nodes.
template <int S> struct Around {
  static constexpr int stride = S;
  StencilView<double> A;
  View<double>        edge[2], centre[4], inject;
  template <int DX, int DY> HD static ptrdiff_t place(ptrdiff_t p, ptrdiff_t r)
  {
    constexpr int sx = (DX + 5) / 2 - 2, sy = (DY + 5) / 2 - 2; // floor((1 + D) / 2)
    return p + sx * S + sy * r;
  }
  template <int DX, int DY, int CX, int CY> HD double weight(ptrdiff_t p, ptrdiff_t r) const
  {
    constexpr int ex = 2 * CX - DX, ey = 2 * CY - DY; // from the node to the coarse node
    constexpr bool ox = DX & 1, oy = DY & 1;
    if constexpr (ex > 1 || ex < -1 || ey > 1 || ey < -1) return 0;
    else if constexpr (!ox && !oy) return inject.q[3][place<DX, DY>(p, r)];
    else if constexpr (ox && oy) return centre[2 * (ey > 0) + (ex > 0)].q[0][place<DX, DY>(p, r)];
    else if constexpr (ox) return edge[ex > 0].q[2][place<DX, DY>(p, r)];
    else return edge[ey > 0].q[1][place<DX, DY>(p, r)];
  }
  // (A P) of that node: its row times the weights from one coarse node
  template <int DX, int DY, int CX, int CY, size_t... K> HD double product(ptrdiff_t p, ptrdiff_t r, std::index_sequence<K...>) const
  {
    constexpr int Q = 3 ^ (DX & 1 ? 1 : 0) ^ (DY & 1 ? 2 : 0);
    double        v = 0;
    ((v += term<DX, DY, CX, CY, Q, (int)K>(p, r)), ...);
    return v;
  }
  template <int DX, int DY, int CX, int CY, int Q, int K> HD double term(ptrdiff_t p, ptrdiff_t r) const
  {
    constexpr int nx = DX + K % 3 - 1, ny = DY + K / 3 - 1, ex = 2 * CX - nx, ey = 2 * CY - ny;
    if constexpr (ex > 1 || ex < -1 || ey > 1 || ey < -1) return 0;
    else {
      if (K != 4 && K % 2 == 0 && !A.nine) return 0;
      return coefficient<Q, K, S>(A, place<DX, DY>(p, r), r) * weight<nx, ny, CX, CY>(p, r);
    }
  }
  template <int CX, int CY, size_t... N> HD double entry(ptrdiff_t p, ptrdiff_t r, std::index_sequence<N...>) const
  {
    double v = 0;
    ((v += share<(int)N % 3 - 1, (int)N / 3 - 1, CX, CY>(p, r)), ...);
    return v;
  }
  template <int DX, int DY, int CX, int CY> HD double share(ptrdiff_t p, ptrdiff_t r) const
  {
    if constexpr (2 * CX - DX > 2 || 2 * CX - DX < -2 || 2 * CY - DY > 2 || 2 * CY - DY < -2) return 0; // out of the row's reach
    else return weight<DX, DY, 0, 0>(p, r) * product<DX, DY, CX, CY>(p, r, std::make_index_sequence<9>());
  }
  // the sum of the absolute values of the terms of a diagonal entry, apart from the weights that are shared by a row
  template <int K, int DX, int DY, int Q> HD double magnitude(ptrdiff_t p, ptrdiff_t r) const
  {
    if (K != 4 && K % 2 == 0 && !A.nine) return 0;
    return fabs(coefficient<Q, K, S>(A, place<DX, DY>(p, r), r) * weight<DX + K % 3 - 1, DY + K / 3 - 1, 0, 0>(p, r));
  }
  template <int DX, int DY, size_t... K> HD double magnitudes(ptrdiff_t p, ptrdiff_t r, std::index_sequence<K...>) const
  {
    constexpr int Q = 3 ^ (DX & 1 ? 1 : 0) ^ (DY & 1 ? 2 : 0);
    double        v = 0;
    ((v += magnitude<(int)K, DX, DY, Q>(p, r)), ...);
    return fabs(weight<DX, DY, 0, 0>(p, r)) * v;
  }
  HD double magnitude(int X, int Y) const
  {
    const ptrdiff_t p = X * S + Y * A.C.sy, r = A.C.sy;
    constexpr auto  K = std::make_index_sequence<9>();
    return magnitudes<0, 0>(p, r, K) + magnitudes<1, 0>(p, r, K) + magnitudes<-1, 0>(p, r, K) + magnitudes<0, 1>(p, r, K) + magnitudes<0, -1>(p, r, K)
         + magnitudes<1, 1>(p, r, K) + magnitudes<-1, 1>(p, r, K) + magnitudes<1, -1>(p, r, K) + magnitudes<-1, -1>(p, r, K);
  }
  // the coupling of the coarse nodes (X, Y) and (X + CX, Y + CY)
  template <int CX, int CY> HD double entry(int X, int Y) const
  {
    return entry<CX, CY>(X * S + Y * A.C.sy, A.C.sy, std::make_index_sequence<9>());
  }
};

// What a node of quarter Q of the coarse grid stores.
template <int Q, int S> struct StoreGalerkin {
  Around<S>           fine;
  StencilView<double> coarse;
  int                 nx, ny; // the coarse grid's size where a periodic seam is cut, else 0
  double              singular;
  bool                lump;   // its couplings go to the diagonal as they are, which keeps row sums; else with their absolute values
  HD bool             beyond(int x, int n) const { return n && (x < 0 || x >= n); }
  template <int CX, int CY> HD double coupling(int X, int Y, double &c) const
  {
    double v = fine.template entry<CX, CY>(X, Y);
    if (nx || ny)
      if (beyond(X + CX, nx) || beyond(Y + CY, ny)) {
        c += lump ? v : fabs(v);
        v = 0;
      }
    return v;
  }
  HD void operator()(int I, int J) const
  {
    const int       X = 2 * I + (Q & 1), Y = 2 * J + (Q >> 1);
    const ptrdiff_t p = I * coarse.C.sx + J * coarse.C.sy;
    double          c = fine.template entry<0, 0>(X, Y);
    if (Q == quarter_a || Q == quarter_b) {
      coarse.E[0].q[Q][p] = coupling<-1, 0>(X, Y, c);
      coarse.E[1].q[Q][p] = coupling<1, 0>(X, Y, c);
      coarse.E[2].q[Q][p] = coupling<0, -1>(X, Y, c);
      coarse.E[3].q[Q][p] = coupling<0, 1>(X, Y, c);
    }
    if (Q == quarter_o || Q == quarter_a) {
      const View<double> *D = Q == quarter_o ? coarse.E : coarse.G;
      D[0].q[Q][p] = coupling<-1, -1>(X, Y, c);
      D[1].q[Q][p] = coupling<1, -1>(X, Y, c);
      D[2].q[Q][p] = coupling<-1, 1>(X, Y, c);
      D[3].q[Q][p] = coupling<1, 1>(X, Y, c);
    }
    if (nx || ny) { // couplings over the seam that other nodes store
      if (Q == quarter_o || Q == quarter_c) coupling<-1, 0>(X, Y, c), coupling<1, 0>(X, Y, c), coupling<0, -1>(X, Y, c), coupling<0, 1>(X, Y, c);
      if (Q == quarter_b || Q == quarter_c) coupling<-1, -1>(X, Y, c), coupling<1, -1>(X, Y, c), coupling<-1, 1>(X, Y, c), coupling<1, 1>(X, Y, c);
    }
    coarse.C.q[Q][p] = fabs(c) <= singular * fine.magnitude(X, Y) ? 0 : c; // rounding: a singular part
  }
};

// Is lumping the couplings over a seam unsafe? It is where the next operator has positive couplings or negative row sums.
template <int S> struct SeamKernel {
  Around<S> fine;
  double    singular;
  HD double operator()(int X, int Y) const
  {
    const double c = fine.template entry<0, 0>(X, Y), least = singular * fine.magnitude(X, Y); // less is rounding
    const double k[8] = {fine.template entry<-1, 0>(X, Y), fine.template entry<1, 0>(X, Y), fine.template entry<0, -1>(X, Y), fine.template entry<0, 1>(X, Y),
                         fine.template entry<-1, -1>(X, Y), fine.template entry<1, -1>(X, Y), fine.template entry<-1, 1>(X, Y), fine.template entry<1, 1>(X, Y)};
    double       sum = c;
    bool         unsafe = false;
    for (int i = 0; i < 8; ++i) {
      sum += k[i];
      unsafe = unsafe || k[i] > least;
    }
    return unsafe || sum < -least;
  }
};

// Couplings with nodes whose diagonal is zero, which are rounding like it.
template <int Q, int S> struct Clear {
  StencilView<double> A;
  template <int K> HD void coupling(ptrdiff_t p, double &v) const
  {
    if (!(A.C.q[Q][p] != 0) || !(neighbour<Q, K, S>(A.C, p, A.C.sy) != 0)) v = 0;
  }
  HD void operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * S + Y * A.C.sy;
    if constexpr (Q == quarter_a || Q == quarter_b) coupling<3>(p, A.E[0].q[Q][p]), coupling<5>(p, A.E[1].q[Q][p]), coupling<1>(p, A.E[2].q[Q][p]), coupling<7>(p, A.E[3].q[Q][p]);
    if constexpr (Q == quarter_o || Q == quarter_a) {
      const View<double> *D = Q == quarter_o ? A.E : A.G;
      coupling<0>(p, D[0].q[Q][p]), coupling<2>(p, D[1].q[Q][p]), coupling<6>(p, D[2].q[Q][p]), coupling<8>(p, D[3].q[Q][p]);
    }
  }
};

struct IsZero {
  const double *c;
  ptrdiff_t     sx, sy;
  HD double     operator()(int X, int Y) const { return c[X * sx + Y * sy] == 0; }
};

template <int S> Around<S> around(const StencilView<double> &A, Interpolation &P)
{
  return {A, {P.Edge(0), P.Edge(1)}, {P.Centre(0), P.Centre(1), P.Centre(2), P.Centre(3)}, P.Inject()};
}

template <int Q, int S> void store(const Exec &exec, const Around<S> &fine, const Grid &grid, bool cut_x, bool cut_y, double singular, bool lump, const StencilView<double> &coarse)
{
  forall(exec, grid.owned(Q), StoreGalerkin<Q, S>{fine, coarse, cut_x ? grid.nx : 0, cut_y ? grid.ny : 0, singular, lump});
}

// Counts of one node for Directions.
struct Classify {
  StencilView<double> A;
  int                 q, what, s;
  template <int Q, int S> HD double count(int X, int Y) const
  {
    const Row<Q, S> row(A, X * S + Y * A.C.sy, A.C.sy);
    const double   *k = row.k, c = k[4], corners = k[0] + k[2] + k[6] + k[8];
    if (!(c > 0)) return 0;
    double sx = -(k[3] + k[5] + corners), sy = -(k[1] + k[7] + corners); // collapsed across the direction
    sx = sx > 0 ? sx : 0;
    sy = sy > 0 ? sy : 0;
    if ((sx > sy ? sx : sy) < 1e-8 * c) return 0;
    if (what == 1) return sx < tuning::weak_direction * sy;
    if (what == 2) return sy < tuning::weak_direction * sx;
    if (what == 3) return fabs(k[0] + k[8] - k[2] - k[6]) > 0.5 * (sx < sy ? sx : sy);
    if (what == 4) {
      auto jump = [](double a, double b) { return a < 0 && b < 0 && (a * tuning::jump > b || b * tuning::jump > a); };
      return jump(k[3], k[5]) || jump(k[1], k[7]);
    }
    return 1;
  }
  HD double operator()(int X, int Y) const
  {
    if (s == 1) return q == 0 ? count<0, 1>(X, Y) : q == 1 ? count<1, 1>(X, Y) : q == 2 ? count<2, 1>(X, Y) : count<3, 1>(X, Y);
    return q == 0 ? count<0, 2>(X, Y) : q == 1 ? count<1, 2>(X, Y) : q == 2 ? count<2, 2>(X, Y) : count<3, 2>(X, Y);
  }
};

template <int S> void edges(const Exec &exec, const StencilView<double> &A, const Grid &grid, Interpolation &P)
{
  forall(exec, grid.owned(quarter_a), Edges<1, S>{A, {P.Edge(0), P.Edge(1)}, P.Inject(), grid.periodic_y ? INT_MAX : grid.ny / 2});
  forall(exec, grid.owned(quarter_b), Edges<2, S>{A, {P.Edge(0), P.Edge(1)}, P.Inject(), grid.periodic_x ? INT_MAX : grid.nx / 2});
}

template <int S> void fit(const Exec &exec, const StencilView<double> &A, const Grid &grid, const View<double> &product, const View<double> &square, Interpolation &P, const View<float> &correction)
{
  forall(exec, grid.owned(quarter_a), Fit<1, S>{A, product, square, P.Edge(0), P.Inject(), correction, grid.periodic_y ? INT_MAX : grid.ny / 2});
  forall(exec, grid.owned(quarter_b), Fit<2, S>{A, product, square, P.Edge(0), P.Inject(), correction, grid.periodic_x ? INT_MAX : grid.nx / 2});
}

template <int S> void correct(const Exec &exec, const StencilView<double> &A, const Grid &grid, Interpolation &P, const View<float> &correction)
{
  forall(exec, grid.owned(quarter_a), Correct<1, S>{A, {P.Edge(0), P.Edge(1)}, P.Inject(), correction, grid.periodic_y ? INT_MAX : grid.ny / 2});
  forall(exec, grid.owned(quarter_b), Correct<2, S>{A, {P.Edge(0), P.Edge(1)}, P.Inject(), correction, grid.periodic_x ? INT_MAX : grid.nx / 2});
}

} // namespace

void interpolate_edges(const Exec &exec, const StencilView<double> &A, const Grid &grid, Halo &halo, Interpolation &P)
{
  forall(exec, grid.owned(quarter_c), Alive{A, P.Inject(), A.C.sx});
  halo.exchange(P.Inject(), mask_c);
  if (A.C.sx == 1) edges<1>(exec, A, grid, P);
  else edges<2>(exec, A, grid, P);
}

void interpolate_centres(const Exec &exec, const StencilView<double> &A, const Grid &grid, Halo &halo, Interpolation &P)
{
  for (int k = 0; k < 2; ++k) halo.exchange(P.Edge(k), mask_a | mask_b);
  const int nx = grid.periodic_x ? INT_MAX : grid.nx / 2, ny = grid.periodic_y ? INT_MAX : grid.ny / 2;
  if (A.C.sx == 1) forall(exec, grid.owned(quarter_o), Centres<1>{A, {P.Edge(0), P.Edge(1)}, {P.Centre(0), P.Centre(1), P.Centre(2), P.Centre(3)}, P.Inject(), nx, ny});
  else forall(exec, grid.owned(quarter_o), Centres<2>{A, {P.Edge(0), P.Edge(1)}, {P.Centre(0), P.Centre(1), P.Centre(2), P.Centre(3)}, P.Inject(), nx, ny});
  for (int k = 0; k < 4; ++k) halo.exchange(P.Centre(k), mask_o);
}

void LeastSquares::create(const Layout &l)
{
  layout = l;
  product.resize(l.elements(2));
  square.resize(l.elements(2));
}

void LeastSquares::weigh(const Exec &exec, const Grid &grid, const View<double> &v)
{
  const View<double> p = layout.view(product.data(), quarter_a), s = layout.view(square.data(), quarter_a);
  forall(exec, grid.owned(quarter_a), Weigh<1>{v, p, s});
  forall(exec, grid.owned(quarter_b), Weigh<2>{v, p, s});
}

void LeastSquares::solve(const Exec &exec, const StencilView<double> &A, const Grid &grid, Interpolation &P, const View<float> &correction)
{
  const View<double> p = layout.view(product.data(), quarter_a), s = layout.view(square.data(), quarter_a);
  if (A.C.sx == 1) fit<1>(exec, A, grid, p, s, P, correction);
  else fit<2>(exec, A, grid, p, s, P, correction);
}

void correct_edges(const Exec &exec, const StencilView<double> &A, const Grid &grid, Interpolation &P, const View<float> &correction)
{
  if (A.C.sx == 1) correct<1>(exec, A, grid, P, correction);
  else correct<2>(exec, A, grid, P, correction);
}

void galerkin(const Exec &exec, const StencilView<double> &A, Interpolation &P, const Grid &grid, Halo &halo, bool cut_x, bool cut_y, double singular, Stencil &coarse)
{
  auto sum = [&](double mine) {
    double all = mine;
    if (grid.processes() > 1) MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, grid.comm);
    return all;
  };
  coarse.make_nine();
  const StencilView<double> to = coarse.view();
  auto                      all = [&](auto fine) {
    constexpr int S = decltype(fine)::stride;
    const bool    lump = !(cut_x || cut_y) || !(sum(forall_sum(exec, grid.owned(), SeamKernel<S>{fine, singular})) > 0);
    store<0, S>(exec, fine, grid, cut_x, cut_y, singular, lump, to);
    store<1, S>(exec, fine, grid, cut_x, cut_y, singular, lump, to);
    store<2, S>(exec, fine, grid, cut_x, cut_y, singular, lump, to);
    store<3, S>(exec, fine, grid, cut_x, cut_y, singular, lump, to);
  };
  if (A.C.sx == 1) all(around<1>(A, P));
  else all(around<2>(A, P));
  double zeros = 0;
  for (int q = 0; q < 4; ++q) zeros += forall_sum(exec, grid.owned(q), IsZero{to.C.q[q], to.C.sx, to.C.sy});
  if (!(sum(zeros) > 0)) return;
  halo.exchange(to.C, mask_all);
  auto clear = [&](auto stride) {
    constexpr int S = decltype(stride)::value;
    forall(exec, grid.owned(0), Clear<0, S>{to});
    forall(exec, grid.owned(1), Clear<1, S>{to});
    forall(exec, grid.owned(2), Clear<2, S>{to});
  };
  if (to.C.sx == 1) clear(std::integral_constant<int, 1>());
  else clear(std::integral_constant<int, 2>());
}

Directions strong_directions(const Exec &exec, const StencilView<double> &A, const Grid &grid)
{
  double mine[5] = {0, 0, 0, 0, 0}, sum[5];
  for (int what = 0; what < 5; ++what)
    for (int q = 0; q < 4; ++q) mine[what] += forall_sum(exec, grid.owned(q), Classify{A, q, what, (int)A.C.sx});
  std::copy(mine, mine + 5, sum);
  if (grid.processes() > 1) MPI_Allreduce(mine, sum, 5, MPI_DOUBLE, MPI_SUM, grid.comm);
  const double n = sum[0] > 0 ? sum[0] : 1;
  return {sum[1] / n, sum[2] / n, sum[3] / n, sum[4] / n};
}

} // namespace tessera
