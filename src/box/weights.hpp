// What the weights of an interpolation are made by, as kernels.
#pragma once
#include "box/galerkin.hpp"
#include "box/tuning.hpp"
#include <climits>
#include <cmath>

namespace tessera {

// The row sum of a node without what a Dirichlet side has left there beside the line on which it interpolates, where
// functions fall off across that line and not along it: low and high, its couplings to both sides across the line;
// one is missing there, but for rounding.
HD inline double along_line(double sum, double low, double high)
{
  constexpr double rounding = 1e-12;
  const bool       is_low = fabs(low) > rounding * fabs(high), is_high = fabs(high) > rounding * fabs(low);
  const double     across = !is_low ? -high : !is_high ? -low : 0;
  return sum > 0 && across > 0 ? (sum > across ? sum - across : 0) : sum;
}

// All nine coefficients of a node.
template <int Q, int S> struct Row {
  double k[9];
  HD Row(const StencilView<double> &A, ptrdiff_t p, ptrdiff_t r)
  {
    k[1] = coefficient<Q, 1, S>(A, p, r), k[3] = coefficient<Q, 3, S>(A, p, r), k[4] = A.C.q[Q][p],
    k[5] = coefficient<Q, 5, S>(A, p, r), k[7] = coefficient<Q, 7, S>(A, p, r);
    k[0] = k[2] = k[6] = k[8] = 0;
    if (A.nine)
      k[0] = coefficient<Q, 0, S>(A, p, r), k[2] = coefficient<Q, 2, S>(A, p, r), k[6] = coefficient<Q, 6, S>(A, p, r),
      k[8] = coefficient<Q, 8, S>(A, p, r);
  }
  HD double sum() const { return k[0] + k[1] + k[2] + k[3] + k[4] + k[5] + k[6] + k[7] + k[8]; }
  // E: a or b, whose weights it makes
  template <int E> HD double along() const
  {
    return E == quarter_a ? along_line(sum(), k[0] + k[3] + k[6], k[2] + k[5] + k[8])
                          : along_line(sum(), k[0] + k[1] + k[2], k[6] + k[7] + k[8]);
  }
  HD bool alive() const
  {
    return k[4] > 0 &&
           fabs(k[0]) + fabs(k[1]) + fabs(k[2]) + fabs(k[3]) + fabs(k[5]) + fabs(k[6]) + fabs(k[7]) + fabs(k[8]) >
             tuning::dead_coupling * k[4];
  }
};

HD inline double cut_small(double w) { return fabs(w) < tuning::small_weight ? 0 : w; }

template <int S> struct Alive {
  StencilView<double> A;
  View<double>        inject;
  View<float>         single;
  HD void             operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * S + Y * A.C.sy;
    const bool      alive = Row<3, S>(A, p, A.C.sy).alive();
    inject.q[3][p]        = alive;
    if (single.q[3]) single.q[3][p] = alive;
  }
};

// Weights of a (from S and N) or b (from W and E).
template <int Q, int S> struct Edges {
  static constexpr int blocks = 4; // else the rarely taken branches take so many registers that 3 fit
  StencilView<double> A;
  View<double>        w[2], inject; // inject: nullptr where A has no ghost nodes, and c nodes may be looked at
  View<float>         single[2];
  int                 n; // coarse nodes in the direction of the edge, or INT_MAX where the grid closes
  // rarely called
  HD bool alive(ptrdiff_t c) const { return inject.q[3] ? inject.q[3][c] > 0 : Row<3, S>(A, c, A.C.sy).alive(); }
  // Adds what the elimination of the o node beside p leaves: its couplings towards both coarse nodes, unless nothing
  // ties that side of it to the coarse node, and its row sum.
  template <int BACK> HD void across(ptrdiff_t o, double coupling, ptrdiff_t p, bool low, bool high, double &m,
                                     double &q, double &sum) const
  {
    const ptrdiff_t   r = A.C.sy;
    const Row<0, S>   at(A, o, r);
    if (!(at.k[4] > 0) || coupling == 0) return;
    constexpr int LOW  = Q == quarter_a ? (BACK > 0 ? 2 : 0) : (BACK > 0 ? 6 : 0),
                  HIGH = Q == quarter_a ? (BACK > 0 ? 8 : 6) : (BACK > 0 ? 8 : 2);
    // from the nodes beside o to the coarse nodes
    constexpr int     K = Q == quarter_a ? (BACK > 0 ? 5 : 3) : (BACK > 0 ? 7 : 1);
    constexpr int     H = Q ^ 3;                                                    // their quarter
    double            to_low = Q == quarter_a ? at.k[0] + at.k[1] + at.k[2] : at.k[0] + at.k[3] + at.k[6];
    double            to_high = Q == quarter_a ? at.k[6] + at.k[7] + at.k[8] : at.k[2] + at.k[5] + at.k[8];
    const ptrdiff_t   hl = Q == quarter_a ? o - r : o - S, hh = o;
    const double      tied = tuning::tied;
    if (low && fabs(coefficient<H, K, S>(A, hl, r)) < tied * A.C.q[H][hl] && fabs(at.k[LOW]) < tied * at.k[4] &&
        alive(p - (Q == quarter_a ? r : S)))
      to_low = 0;
    if (high && fabs(coefficient<H, K, S>(A, hh, r)) < tied * A.C.q[H][hh] && fabs(at.k[HIGH]) < tied * at.k[4] &&
        alive(p))
      to_high = 0;
    const double      f = -coupling / at.k[4];
    m += f * to_low;
    q += f * to_high;
    sum += f * at.template along<Q>();
  }
  HD void operator()(int X, int Y) const
  {
    const ptrdiff_t r = A.C.sy, p = X * S + Y * r;
    const Row<Q, S> row(A, p, r);
    const int       i = Q == quarter_a ? Y : X;
    const bool      has_low = i > 0 || n == INT_MAX, has_high = i < n;
    double          low = 0, high = 0;
    if (row.k[4] > 0) {
      double m = Q == quarter_a ? row.k[0] + row.k[1] + row.k[2] : row.k[0] + row.k[3] + row.k[6];
      double q = Q == quarter_a ? row.k[6] + row.k[7] + row.k[8] : row.k[2] + row.k[5] + row.k[8];
      const double rs = row.sum();
      double       sum = row.template along<Q>();
      if (Q == quarter_a) {
        across<1>(p, row.k[3], p, has_low, has_high, m, q, sum);
        across<-1>(p + S, row.k[5], p, has_low, has_high, m, q, sum);
      } else {
        across<1>(p, row.k[1], p, has_low, has_high, m, q, sum);
        across<-1>(p + r, row.k[7], p, has_low, has_high, m, q, sum);
      }
      const double M = m < 0 ? -m : 0, H = q < 0 ? -q : 0, s = M + H;
      if (s > 1e-8 * row.k[4] && s > 0.05 * rs) {
        const double d = sum < 0 ? s : s + sum;
        low  = M / d;
        high = H / d;
      } else if (rs < tuning::tied_sideways * row.k[4]) { // tied only sideways
        if (has_low && !alive(p - (Q == quarter_a ? r : S))) low = 1;
        else if (has_high && !alive(p)) high = 1;
        else if (has_low && has_high) low = high = 0.5;
        else (has_low ? low : high) = 1;
      }
    }
    low = has_low ? cut_small(low) : 0, high = has_high ? cut_small(high) : 0;
    w[0].q[Q][p] = low, w[1].q[Q][p] = high;
    if (single[0].q[Q]) single[0].q[Q][p] = (float)low, single[1].q[Q][p] = (float)high;
  }
};

// Weights of a and b, and which c nodes have couplings. at_once: A has no ghost nodes, and the three need not wait
// for each other.
template <int S> struct EdgeParts {
  Part<Edges<1, S>> a;
  Part<Edges<2, S>> b;
  Part<Alive<S>>    c;
  EdgeParts(const StencilView<double> &A, const Grid &grid, Interpolation &P, const SingleWeights &single,
            bool at_once) :
    a{
      grid.owned(quarter_a),
      {A,
                         {P.Edge(0), P.Edge(1)},
                         at_once ? View<double>() : P.Inject(),
                         {single.edge[0], single.edge[1]},
                         grid.periodic_y ? INT_MAX : grid.ny / 2}
  },
    b{grid.owned(quarter_b),
      {A,
       {P.Edge(0), P.Edge(1)},
       at_once ? View<double>() : P.Inject(),
       {single.edge[0], single.edge[1]},
       grid.periodic_x ? INT_MAX : grid.nx / 2}},
    c{grid.owned(quarter_c), {A, P.Inject(), single.inject}}
  {
  }
};

// Weights of the o node (X, Y), from those of a and b.
template <int S> struct CentreWeights {
  StencilView<double> A;
  View<double>        edge[2], inject;
  int                 nx, ny; // coarse nodes, or INT_MAX where the grid closes
  HD void             operator()(int X, int Y, double (&w)[4]) const
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
    for (int k = 0; k < 4; ++k) w[k] = cut_small(v[k]);
  }
};
template <int S> CentreWeights<S> centre_weights(const StencilView<double> &A, const Grid &grid, Interpolation &P)
{
  return {
    A,
    {P.Edge(0), P.Edge(1)},
    P.Inject(),
    grid.periodic_x ? INT_MAX : grid.nx / 2,
    grid.periodic_y ? INT_MAX : grid.ny / 2
  };
}
} // namespace tessera
