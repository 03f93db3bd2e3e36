#include "core/galerkin.hpp"
#include "core/tuning.hpp"
#include <algorithm>
#include <climits>
#include <cmath>
#include <utility>

namespace tessera {

void Interpolation::create(const Layout &l)
{
  auto make = [](Buffer<double> &f, const Extent &n) { // outside the grid they stay zero
    if (f.size() != n.n || f.space() != n.space) f.resize(n);
  };
  layout = l;
  for (auto &f : edge) make(f, l.elements(2));
  for (auto &f : centre) make(f, l.elements(1));
  make(inject, l.elements(1));
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
// counted in coarse nodes. NINE: 1 or 0 where it is known whether A has 9 points, else -1.
template <int S, int NINE = -1> struct Around {
  StencilView<double> A;
  View<double>        edge[2], centre[4], inject;
  HD bool             nine() const { return NINE < 0 ? A.nine : NINE != 0; }
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
      if (K != 4 && K % 2 == 0 && !nine()) return 0;
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
    if (K != 4 && K % 2 == 0 && !nine()) return 0;
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

// A StoreGalerkin on the device, with what it finds.
template <int Q, int S> struct StoreWatched {
  StoreGalerkin<Q, S> store;
  Watch               watch;
  HD void             operator()(int I, int J) const
  {
    store(I, J);
    const double c = store.coarse.C.q[Q][I * store.coarse.C.sx + J * store.coarse.C.sy];
    if (c == 0) raise_flag(watch.zero);
    if (watch.bad.key) watch.bad.look(c, Q, I, J);
  }
};

// The same on the device for all quarters where no coupling leaves the grid: each node (X, Y) makes its couplings to E, N, NE and
// NW, so that all threads do the same and read side by side. They are stored where they belong.
template <int S, int NINE> struct StoreNode {
  Around<S, NINE>     fine;
  StencilView<double> coarse;
  double              singular;
  Watch               watch;
  HD void             operator()(int X, int Y) const
  {
    const double    sum = fine.template entry<0, 0>(X, Y), e = fine.template entry<1, 0>(X, Y), n = fine.template entry<0, 1>(X, Y);
    const double    ne = fine.template entry<1, 1>(X, Y), nw = fine.template entry<-1, 1>(X, Y);
    const double    c = fabs(sum) <= singular * fine.magnitude(X, Y) ? 0 : sum;
    const int       q = (X & 1) + 2 * (Y & 1), I = floor_half(X), J = floor_half(Y);
    const ptrdiff_t p = I * coarse.C.sx + J * coarse.C.sy;
    const ptrdiff_t east = X & 1 ? coarse.C.sx : 0, west = X & 1 ? 0 : -coarse.C.sx, north = Y & 1 ? coarse.C.sy : 0;
    coarse.C.q[q][p] = c;
    if (q == quarter_a || q == quarter_b) {
      coarse.E[1].q[q][p] = e;
      coarse.E[3].q[q][p] = n;
    } else {
      coarse.E[0].q[q ^ 1][p + east]  = e;
      coarse.E[2].q[q ^ 2][p + north] = n;
    }
    if (q == quarter_o || q == quarter_a) {
      const View<double> *D = q == quarter_o ? coarse.E : coarse.G;
      D[3].q[q][p] = ne;
      D[2].q[q][p] = nw;
    } else {
      const View<double> *D = q == quarter_c ? coarse.E : coarse.G;
      D[0].q[q ^ 3][p + east + north] = ne;
      D[1].q[q ^ 3][p + west + north] = nw;
    }
    if (c == 0) raise_flag(watch.zero);
    if (watch.bad.key) watch.bad.look(c, q, I, J);
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

// A kernel of the device that does nothing unless the flag is raised.
template <class Kernel> struct IfRaised {
  const int *flag;
  Kernel     kernel;
  HD void    operator()(int X, int Y) const
  {
    if (*flag) kernel(X, Y);
  }
};
template <class Kernel> IfRaised<Kernel> if_raised(const int *flag, const Kernel &kernel) { return {flag, kernel}; }

struct IsZero {
  const double *c;
  ptrdiff_t     sx, sy;
  HD double     operator()(int X, int Y) const { return c[X * sx + Y * sy] == 0; }
};

template <int S, int NINE = -1> Around<S, NINE> around(const StencilView<double> &A, Interpolation &P)
{
  return {A, {P.Edge(0), P.Edge(1)}, {P.Centre(0), P.Centre(1), P.Centre(2), P.Centre(3)}, P.Inject()};
}

// Counts of nodes for Directions.
struct Counts {
  int     all = 0, weak_x = 0, weak_y = 0, diagonal = 0, jumps = 0;
  HD void join(const Counts &c)
  {
    all += c.all;
    weak_x += c.weak_x;
    weak_y += c.weak_y;
    diagonal += c.diagonal;
    jumps += c.jumps;
  }
};

// The nodes of one quarter index.
template <int S> struct Classify {
  StencilView<double> A;
  Box                 own[4];
  template <int Q> HD void count(int X, int Y, Counts &n) const
  {
    if (!own[Q].contains(X, Y)) return;
    const Row<Q, S> row(A, X * S + Y * A.C.sy, A.C.sy);
    const double   *k = row.k, c = k[4], corners = k[0] + k[2] + k[6] + k[8];
    if (!(c > 0)) return;
    double sx = -(k[3] + k[5] + corners), sy = -(k[1] + k[7] + corners); // collapsed across the direction
    sx = sx > 0 ? sx : 0;
    sy = sy > 0 ? sy : 0;
    if ((sx > sy ? sx : sy) < 1e-8 * c) return;
    auto jump = [](double a, double b) { return a < 0 && b < 0 && (a * tuning::jump > b || b * tuning::jump > a); };
    n.all += 1;
    n.weak_x += sx < tuning::weak_direction * sy;
    n.weak_y += sy < tuning::weak_direction * sx;
    n.diagonal += fabs(k[0] + k[8] - k[2] - k[6]) > 0.5 * (sx < sy ? sx : sy);
    n.jumps += jump(k[3], k[5]) || jump(k[1], k[7]);
  }
  HD void operator()(int X, int Y, Counts &n) const
  {
    count<0>(X, Y, n);
    count<1>(X, Y, n);
    count<2>(X, Y, n);
    count<3>(X, Y, n);
  }
};

template <int S> void edges(const Exec &exec, const StencilView<double> &A, const Grid &grid, Interpolation &P)
{
  forall_parts(exec, part(grid.owned(quarter_a), Edges<1, S>{A, {P.Edge(0), P.Edge(1)}, P.Inject(), grid.periodic_y ? INT_MAX : grid.ny / 2}),
               part(grid.owned(quarter_b), Edges<2, S>{A, {P.Edge(0), P.Edge(1)}, P.Inject(), grid.periodic_x ? INT_MAX : grid.nx / 2}));
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

void galerkin(const Exec &exec, const StencilView<double> &A, Interpolation &P, const Grid &grid, Halo &halo, bool cut_x, bool cut_y, double singular, Stencil &coarse, const Watch *watch)
{
  auto sum = [&](double mine) {
    double all = mine;
    if (grid.processes() > 1) MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, grid.comm);
    return all;
  };
  const bool  there = exec.space == Space::cuda;
  Watch       found;
  Buffer<int> zero;
  if (watch) found = *watch;
  else if (there) {
    zero.resize(Extent{1, exec.space});
    found.zero = zero.data();
  }
  coarse.make_nine();
  const StencilView<double> to = coarse.view();
  auto                      all = [&](auto stride) {
    constexpr int   S = decltype(stride)::value;
    const Around<S> fine = around<S>(A, P);
    const bool      lump = !(cut_x || cut_y) || !(sum(forall_sum(exec, grid.owned(), SeamKernel<S>{fine, singular})) > 0);
    auto            store = [&](auto quarter) {
      constexpr int             Q = decltype(quarter)::value;
      const StoreGalerkin<Q, S> kernel{fine, to, cut_x ? grid.nx : 0, cut_y ? grid.ny : 0, singular, lump};
      if (there) forall(exec, grid.owned(Q), StoreWatched<Q, S>{kernel, found});
      else forall(exec, grid.owned(Q), kernel);
    };
    store(std::integral_constant<int, 0>());
    store(std::integral_constant<int, 1>());
    store(std::integral_constant<int, 2>());
    store(std::integral_constant<int, 3>());
  };
  auto nodes = [&](auto stride) {
    constexpr int S = decltype(stride)::value;
    if (A.nine) forall(exec, grid.owned(), StoreNode<S, 1>{around<S, 1>(A, P), to, singular, found});
    else forall(exec, grid.owned(), StoreNode<S, 0>{around<S, 0>(A, P), to, singular, found});
  };
  auto make = [&](auto stride) { there && halo.empty() && !cut_x && !cut_y ? nodes(stride) : all(stride); };
  if (A.C.sx == 1) make(std::integral_constant<int, 1>());
  else make(std::integral_constant<int, 2>());
  if (!there || grid.processes() > 1) {
    double zeros = 0;
    if (there) {
      int flag = 0;
      device::copy_to_host(&flag, found.zero, sizeof flag);
      zeros = flag;
    } else
      for (int q = 0; q < 4; ++q) zeros += forall_sum(exec, grid.owned(q), IsZero{to.C.q[q], to.C.sx, to.C.sy});
    if (!(sum(zeros) > 0)) return;
    found.zero = nullptr; // known: it may be another process's
  }
  halo.exchange(to.C, mask_all);
  auto clear = [&](auto stride) {
    constexpr int S = decltype(stride)::value;
    if (found.zero)
      return forall_parts(exec, part(grid.owned(0), if_raised(found.zero, Clear<0, S>{to})), part(grid.owned(1), if_raised(found.zero, Clear<1, S>{to})), part(grid.owned(2), if_raised(found.zero, Clear<2, S>{to})));
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
  Box    all, own[4];
  for (int q = 0; q < 4; ++q) {
    own[q] = grid.owned(q);
    if (own[q].empty()) continue;
    if (all.empty()) all = own[q];
    all = {std::min(all.x0, own[q].x0), std::max(all.x1, own[q].x1), std::min(all.y0, own[q].y0), std::max(all.y1, own[q].y1)};
  }
  if (!all.empty()) {
    Counts         n;
    Buffer<Counts> found;
    found.resize(Extent{1, exec.space});
    if (A.C.sx == 1) forall_join(exec, all, Classify<1>{A, {own[0], own[1], own[2], own[3]}}, found.data());
    else forall_join(exec, all, Classify<2>{A, {own[0], own[1], own[2], own[3]}}, found.data());
    if (exec.space == Space::cuda) device::copy_to_host(&n, found.data(), sizeof n);
    else n = *found.data();
    mine[0] = n.all, mine[1] = n.weak_x, mine[2] = n.weak_y, mine[3] = n.diagonal, mine[4] = n.jumps;
  }
  std::copy(mine, mine + 5, sum);
  if (grid.processes() > 1) MPI_Allreduce(mine, sum, 5, MPI_DOUBLE, MPI_SUM, grid.comm);
  const double n = sum[0] > 0 ? sum[0] : 1;
  return {sum[1] / n, sum[2] / n, sum[3] / n, sum[4] / n};
}

} // namespace tessera
