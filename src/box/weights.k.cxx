#include "box/weights.hpp"

namespace tessera {

void Interpolation::create(const Layout &l, bool with_centres)
{
  auto make = [](Buffer<double> &f, const Extent &n) { // outside the grid they stay zero
    if (f.size() != n.n || f.space() != n.space) f.resize(n);
  };
  layout = l;
  for (auto &f : edge) make(f, l.elements(2));
  for (auto &f : centre) make(f, with_centres ? l.elements(1) : 0 * l.elements(1));
  make(inject, l.elements(1));
}

namespace {

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
template <int Q, int S>
HD inline bool between(const StencilView<double> &A, const View<double> &inject, int n, int X, int Y)
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

template <int S> void edges(const Exec &exec, const StencilView<double> &A, const Grid &grid, Halo &halo,
                            Interpolation &P, const SingleWeights &single)
{
  const EdgeParts<S> parts(A, grid, P, single, halo.empty());
  if (halo.empty()) return forall_parts(exec, parts.a, parts.b, parts.c);
  forall(exec, parts.c.box, parts.c.kernel);
  halo.exchange(P.Inject(), mask_c);
  forall_parts(exec, parts.a, parts.b);
}

template <int S> void fit(const Exec &exec, const StencilView<double> &A, const Grid &grid, const View<double> &product,
                          const View<double> &square, Interpolation &P, const View<float> &correction)
{
  forall(exec, grid.owned(quarter_a),
         Fit<1, S>{A, product, square, P.Edge(0), P.Inject(), correction, grid.periodic_y ? INT_MAX : grid.ny / 2});
  forall(exec, grid.owned(quarter_b),
         Fit<2, S>{A, product, square, P.Edge(0), P.Inject(), correction, grid.periodic_x ? INT_MAX : grid.nx / 2});
}

template <int S> void correct(const Exec &exec, const StencilView<double> &A, const Grid &grid, Interpolation &P,
                              const View<float> &correction)
{
  forall(exec, grid.owned(quarter_a),
         Correct<1, S>{
           A, {P.Edge(0), P.Edge(1)},
            P.Inject(), correction, grid.periodic_y ? INT_MAX : grid.ny / 2
  });
  forall(exec, grid.owned(quarter_b),
         Correct<2, S>{
           A, {P.Edge(0), P.Edge(1)},
            P.Inject(), correction, grid.periodic_x ? INT_MAX : grid.nx / 2
  });
}

template <int S> struct Centres {
  CentreWeights<S> make;
  View<double>     w[4];
  HD void          operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * S + Y * make.A.C.sy;
    double          v[4];
    make(X, Y, v);
    for (int k = 0; k < 4; ++k) w[k].q[0][p] = v[k];
  }
};

} // namespace

void interpolate_edges(const Exec &exec, const StencilView<double> &A, const Grid &grid, Halo &halo, Interpolation &P,
                       const SingleWeights &single)
{
  if (A.C.sx == 1) edges<1>(exec, A, grid, halo, P, single);
  else edges<2>(exec, A, grid, halo, P, single);
}

void interpolate_centres(const Exec &exec, const StencilView<double> &A, const Grid &grid, Halo &halo, Interpolation &P)
{
  for (int k = 0; k < 2; ++k) halo.exchange(P.Edge(k), mask_a | mask_b);
  with_stride(A.C.sx, [&](auto stride) {
    constexpr int S = decltype(stride)::value;
    forall(exec, grid.owned(quarter_o),
           Centres<S>{
             centre_weights<S>(A, grid, P), {P.Centre(0), P.Centre(1), P.Centre(2), P.Centre(3)}
    });
  });
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

void LeastSquares::solve(const Exec &exec, const StencilView<double> &A, const Grid &grid, Interpolation &P,
                         const View<float> &correction)
{
  const View<double> p = layout.view(product.data(), quarter_a), s = layout.view(square.data(), quarter_a);
  if (A.C.sx == 1) fit<1>(exec, A, grid, p, s, P, correction);
  else fit<2>(exec, A, grid, p, s, P, correction);
}

void correct_edges(const Exec &exec, const StencilView<double> &A, const Grid &grid, Interpolation &P,
                   const View<float> &correction)
{
  if (A.C.sx == 1) correct<1>(exec, A, grid, P, correction);
  else correct<2>(exec, A, grid, P, correction);
}

} // namespace tessera
