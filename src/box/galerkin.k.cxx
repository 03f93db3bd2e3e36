#include "box/weights.hpp"
#include "exec/tile.hpp"
#include <algorithm>
#include <utility>

namespace tessera {

namespace {

// c nodes and the o nodes around them, whose weights are kept one coarse node after the other.
struct CentreTile {
  static constexpr int columns = 32, lines = 8, width = columns + 1, plane = width * (lines + 1);
  static constexpr size_t bytes = 4 * plane * sizeof(double);
};

// Around the c node (X, Y) with place p: the fine node at distance (DX, DY) and its weight from the coarse node at
// (CX, CY), counted in coarse nodes. NINE: 1 or 0 where it is known whether A has 9 points, else -1. MADE: the
// weights of the o nodes are in `made`, a CentreTile, that of the o node SW of the c node at `made`.
template <int S, int NINE = -1, bool MADE = false> struct Around {
  StencilView<double> A;
  View<double>        edge[2], centre[4], inject;
  const double       *made = nullptr;
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
    else if constexpr (ox && oy && MADE)
      return made[(2 * (ey > 0) + (ex > 0)) * CentreTile::plane + (DY > 0) * CentreTile::width + (DX > 0)];
    else if constexpr (ox && oy) return centre[2 * (ey > 0) + (ex > 0)].q[0][place<DX, DY>(p, r)];
    else if constexpr (ox) return edge[ex > 0].q[2][place<DX, DY>(p, r)];
    else return edge[ey > 0].q[1][place<DX, DY>(p, r)];
  }
  // (A P) of that node: its row times the weights from one coarse node
  template <int DX, int DY, int CX, int CY, size_t... K>
  HD double product(ptrdiff_t p, ptrdiff_t r, std::index_sequence<K...>) const
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
    ((v += contribution<(int)N % 3 - 1, (int)N / 3 - 1, CX, CY>(p, r)), ...);
    return v;
  }
  template <int DX, int DY, int CX, int CY> HD double contribution(ptrdiff_t p, ptrdiff_t r) const
  {
    // out of the row's reach
    if constexpr (2 * CX - DX > 2 || 2 * CX - DX < -2 || 2 * CY - DY > 2 || 2 * CY - DY < -2) return 0;
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
    return magnitudes<0, 0>(p, r, K) + magnitudes<1, 0>(p, r, K) + magnitudes<-1, 0>(p, r, K) +
           magnitudes<0, 1>(p, r, K) + magnitudes<0, -1>(p, r, K) + magnitudes<1, 1>(p, r, K) +
           magnitudes<-1, 1>(p, r, K) + magnitudes<1, -1>(p, r, K) + magnitudes<-1, -1>(p, r, K);
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
  // its couplings go to the diagonal as they are, which keeps row sums; else with their absolute values
  bool                lump;
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
      if (Q == quarter_o || Q == quarter_c)
        coupling<-1, 0>(X, Y, c), coupling<1, 0>(X, Y, c), coupling<0, -1>(X, Y, c), coupling<0, 1>(X, Y, c);
      if (Q == quarter_b || Q == quarter_c)
        coupling<-1, -1>(X, Y, c), coupling<1, -1>(X, Y, c), coupling<-1, 1>(X, Y, c), coupling<1, 1>(X, Y, c);
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
    if (watch.bad.key) watch.bad.check(c, Q, I, J);
  }
};

// The same on the device for all quarters where no coupling leaves the grid: each node (X, Y) makes its couplings to
// E, N, NE and NW, so that all threads do the same and read side by side. They are stored where they belong.
template <int S, int NINE, bool MADE> struct StoreNode {
  static constexpr int    blocks = 2; // of 128 registers
  Around<S, NINE, MADE>   fine;
  StencilView<double> coarse;
  SingleOperator      single;
  double              singular;
  Watch               watch;
  template <class T>
  HD void store(const StencilView<T> &to, int X, int Y, double c, double e, double n, double ne, double nw) const
  {
    const int       q = (X & 1) + 2 * (Y & 1), I = floor_half(X), J = floor_half(Y);
    const ptrdiff_t p = I * to.C.sx + J * to.C.sy;
    const ptrdiff_t east = X & 1 ? to.C.sx : 0, west = X & 1 ? 0 : -to.C.sx, north = Y & 1 ? to.C.sy : 0;
    to.C.q[q][p] = (T)c;
    if (q == quarter_a || q == quarter_b) {
      to.E[1].q[q][p] = (T)e;
      to.E[3].q[q][p] = (T)n;
    } else {
      to.E[0].q[q ^ 1][p + east]  = (T)e;
      to.E[2].q[q ^ 2][p + north] = (T)n;
    }
    if (q == quarter_o || q == quarter_a) {
      const View<T> *D = q == quarter_o ? to.E : to.G;
      D[3].q[q][p] = (T)ne;
      D[2].q[q][p] = (T)nw;
    } else {
      const View<T> *D = q == quarter_c ? to.E : to.G;
      D[0].q[q ^ 3][p + east + north] = (T)ne;
      D[1].q[q ^ 3][p + west + north] = (T)nw;
    }
  }
  HD void operator()(int X, int Y) const { node(fine, X, Y); }
  HD void node(const Around<S, NINE, MADE> &at, int X, int Y) const
  {
    const double sum = at.template entry<0, 0>(X, Y), e = at.template entry<1, 0>(X, Y),
                 n  = at.template entry<0, 1>(X, Y);
    const double ne = at.template entry<1, 1>(X, Y), nw = at.template entry<-1, 1>(X, Y);
    const double c = fabs(sum) <= singular * at.magnitude(X, Y) ? 0 : sum;
    store(coarse, X, Y, c, e, n, ne, nw);
    if (single.inverse.q[0]) {
      const float v = (float)c;
      store(single.a, X, Y, c, e, n, ne, nw);
      single.inverse.at(X, Y) = v > 0 ? 1 / v : 0;
    }
    if (c == 0) raise_flag(watch.zero);
    if (watch.bad.key) watch.bad.check(c, (X & 1) + 2 * (Y & 1), floor_half(X), floor_half(Y));
  }
};

// The same with the weights of o, over the o nodes: they are kept in single precision alone, and in double precision
// handed on by the block's memory, as writing and reading them would take 34 or 42 B per node of A, by its points.
template <int S, int NINE> struct StoreTile {
  static constexpr int     blocks = StoreNode<S, NINE, true>::blocks;
  StoreNode<S, NINE, true> nodes;
  CentreWeights<S>         centres;
  View<float>              weights[4];
  Box                      o, c;
  template <class Block> HD void operator()(Block &block) const
  {
    const Box     t    = block.tile;
    double *const made = block.shared;
    block.each(t.x0, t.x1 + 1, t.y0, t.y1 + 1, [&](int X, int Y) {
      double w[4] = {0, 0, 0, 0}; // outside of the grid
      if (o.contains(X, Y)) centres(X, Y, w);
      const bool own = X < t.x1 && Y < t.y1;
      for (int k = 0; k < 4; ++k) {
        made[k * CentreTile::plane + (Y - t.y0) * CentreTile::width + X - t.x0] = w[k];
        if (own) weights[k].q[0][X * S + Y * nodes.fine.A.C.sy] = (float)w[k];
      }
    });
    block.sync();
    block.each(t.x0, t.x1, t.y0, t.y1, [&](int X, int Y) {
      if (!c.contains(X, Y)) return;
      Around<S, NINE, true> at = nodes.fine;
      at.made = made + (Y - t.y0) * CentreTile::width + X - t.x0;
      nodes.node(at, X, Y);
    });
  }
};

// Is lumping the couplings over a seam unsafe? It is where the next operator has positive couplings or negative row
// sums.
template <int S> struct SeamKernel {
  Around<S> fine;
  double    singular;
  HD double operator()(int X, int Y) const
  {
    const double c = fine.template entry<0, 0>(X, Y), least = singular * fine.magnitude(X, Y); // less is rounding
    const double k[8]   = {fine.template entry<-1, 0>(X, Y),  fine.template entry<1, 0>(X, Y),
                           fine.template entry<0, -1>(X, Y),  fine.template entry<0, 1>(X, Y),
                           fine.template entry<-1, -1>(X, Y), fine.template entry<1, -1>(X, Y),
                           fine.template entry<-1, 1>(X, Y),  fine.template entry<1, 1>(X, Y)};
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
  StencilView<float>  single;
  template <int K> HD void coupling(ptrdiff_t p, const View<double> &v, const View<float> &w) const
  {
    if (A.C.q[Q][p] != 0 && neighbour<Q, K, S>(A.C, p, A.C.sy) != 0) return;
    v.q[Q][p] = 0;
    if (w.q[Q]) w.q[Q][p] = 0;
  }
  HD void operator()(int X, int Y) const
  {
    const ptrdiff_t           p = X * S + Y * A.C.sy;
    const StencilView<float> &B = single;
    if constexpr (Q == quarter_a || Q == quarter_b)
      coupling<3>(p, A.E[0], B.E[0]), coupling<5>(p, A.E[1], B.E[1]), coupling<1>(p, A.E[2], B.E[2]),
        coupling<7>(p, A.E[3], B.E[3]);
    if constexpr (Q == quarter_o || Q == quarter_a) {
      const View<double> *D = Q == quarter_o ? A.E : A.G;
      const View<float>  *F = Q == quarter_o ? B.E : B.G;
      coupling<0>(p, D[0], F[0]), coupling<2>(p, D[1], F[1]), coupling<6>(p, D[2], F[2]), coupling<8>(p, D[3], F[3]);
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

template <int S, int NINE = -1, bool MADE = false>
Around<S, NINE, MADE> around(const StencilView<double> &A, Interpolation &P)
{
  return {A, {P.Edge(0), P.Edge(1)}, {P.Centre(0), P.Centre(1), P.Centre(2), P.Centre(3)}, P.Inject()};
}

// Counts of nodes for Directions.
struct Counts {
  int     all = 0, weak_x = 0, weak_y = 0, diagonal = 0, jumps = 0, leaps = 0;
  HD void join(const Counts &c)
  {
    all += c.all;
    weak_x += c.weak_x;
    weak_y += c.weak_y;
    diagonal += c.diagonal;
    jumps += c.jumps;
    leaps += c.leaps;
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
    auto jump = [](double times, double a, double b) { return a < 0 && b < 0 && (a * times > b || b * times > a); };
    n.all += 1;
    n.weak_x += sx < tuning::weak_direction * sy;
    n.weak_y += sy < tuning::weak_direction * sx;
    n.diagonal += fabs(k[0] + k[8] - k[2] - k[6]) > 0.5 * (sx < sy ? sx : sy);
    n.jumps += jump(tuning::jump, k[3], k[5]) || jump(tuning::jump, k[1], k[7]);
    n.leaps += jump(tuning::leap, k[3], k[5]) || jump(tuning::leap, k[1], k[7]);
  }
  HD void operator()(int X, int Y, Counts &n) const
  {
    count<0>(X, Y, n);
    count<1>(X, Y, n);
    count<2>(X, Y, n);
    count<3>(X, Y, n);
  }
};

// The product of galerkin() and what is known of it.
struct GalerkinProduct {
  const Exec                &exec;
  const StencilView<double> &A;
  Interpolation             &P;
  const Grid                &grid; // the coarse one
  bool                       cut_x, cut_y;
  double                     singular;
  bool                       on_device;
  Watch                      watch; // of the device
  StencilView<double>        coarse;

  double sum(double mine) const // over the processes
  {
    double all = mine;
    if (grid.processes() > 1) MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, grid.comm);
    return all;
  }
  template <int Q, int S> void quarter(const Around<S> &fine, bool lump) const
  {
    const StoreGalerkin<Q, S> kernel{fine, coarse, cut_x ? grid.nx : 0, cut_y ? grid.ny : 0, singular, lump};
    if constexpr (device::built)
      if (on_device) return forall(exec, grid.owned(Q), StoreWatched<Q, S>{kernel, watch});
    forall(exec, grid.owned(Q), kernel);
  }
  // Each node stores its own row.
  template <int S> void by_rows() const
  {
    const Around<S> fine = around<S>(A, P);
    const bool lump = !(cut_x || cut_y) || !(sum(forall_sum(exec, grid.owned(), SeamKernel<S>{fine, singular})) > 0);
    quarter<0>(fine, lump);
    quarter<1>(fine, lump);
    quarter<2>(fine, lump);
    quarter<3>(fine, lump);
  }
  // Each node stores the couplings that are its own: on the device, where none leaves the grid.
  template <int S, int NINE> void by_couplings(const SingleOperator &single, const MadeCentres &made) const
  {
    if (!made.grid)
      return forall(exec, grid.owned(),
                    StoreNode<S, NINE, false>{around<S, NINE, false>(A, P), coarse, single, singular, watch});
    const Box o = made.grid->owned(quarter_o);
    forall_tiles(exec, o, CentreTile::columns, CentreTile::lines, CentreTile::bytes,
                 StoreTile<S, NINE>{
                   {around<S, NINE, true>(A, P), coarse, single, singular, watch},
                   centre_weights<S>(A, *made.grid, P),
                   {made.weights[0], made.weights[1], made.weights[2], made.weights[3]},
                   o,
                   grid.owned()
    });
  }
  double zeros() const // on the diagonal of this process; on the device 1 stands for any number
  {
    double zeros = 0;
    int    flag  = 0;
    if (on_device) {
      device::copy_to_host(&flag, watch.zero, sizeof flag);
      return flag;
    }
    for (int q = 0; q < 4; ++q)
      zeros += forall_sum(exec, grid.owned(q), IsZero{coarse.C.q[q], coarse.C.sx, coarse.C.sy});
    return zeros;
  }
  // Couplings with nodes whose diagonal is zero, if the flag says that there are some, or it is nullptr.
  template <int S> void clear(const StencilView<float> &single) const
  {
    const Clear<0, S> o{coarse, single};
    const Clear<1, S> a{coarse, single};
    const Clear<2, S> b{coarse, single};
    if constexpr (device::built)
      if (watch.zero)
        return forall_parts(exec, part(grid.owned(0), if_raised(watch.zero, o)),
                            part(grid.owned(1), if_raised(watch.zero, a)),
                            part(grid.owned(2), if_raised(watch.zero, b)));
    forall(exec, grid.owned(0), o);
    forall(exec, grid.owned(1), a);
    forall(exec, grid.owned(2), b);
  }
};
} // namespace

void galerkin(const Exec &exec, const StencilView<double> &A, Interpolation &P, const Grid &grid, Halo &halo,
              bool cut_x, bool cut_y, double singular, Stencil &coarse, const Watch *watch,
              const SingleOperator &single, const MadeCentres &made)
{
  GalerkinProduct product{exec, A, P, grid, cut_x, cut_y, singular, exec.space == Space::cuda, {}, {}};
  Buffer<int>     zero;
  if (watch) product.watch = *watch;
  else if (product.on_device) {
    zero.resize(Extent{1, exec.space});
    product.watch.zero = zero.data();
  }
  coarse.make_nine();
  product.coarse = coarse.view();
  with_stride(A.C.sx, [&](auto stride) {
    constexpr int S = decltype(stride)::value;
    if constexpr (device::built)
      if (product.on_device && halo.empty() && !cut_x && !cut_y)
        return A.nine ? product.by_couplings<S, 1>(single, made) : product.by_couplings<S, 0>(single, made);
    product.by_rows<S>();
  });
  if (!product.on_device || grid.processes() > 1) {
    if (!(product.sum(product.zeros()) > 0)) return;
    product.watch.zero = nullptr; // known: it may be another process's
  } else if (!product.watch.clear) return;
  halo.exchange(product.coarse.C, mask_all);
  with_stride(product.coarse.C.sx, [&](auto stride) { product.clear<decltype(stride)::value>(single.a); });
}

Directions strong_directions(const Exec &exec, const StencilView<double> &A, const Grid &grid)
{
  double mine[6] = {0, 0, 0, 0, 0, 0}, sum[6];
  Box    all, own[4];
  for (int q = 0; q < 4; ++q) {
    own[q] = grid.owned(q);
    if (own[q].empty()) continue;
    if (all.empty()) all = own[q];
    all = {std::min(all.x0, own[q].x0), std::max(all.x1, own[q].x1), std::min(all.y0, own[q].y0),
           std::max(all.y1, own[q].y1)};
  }
  if (!all.empty()) {
    Counts         n;
    Buffer<Counts> counts(Extent{1, exec.space});
    with_stride(A.C.sx, [&](auto stride) {
      forall_join(exec, all, Classify<decltype(stride)::value>{A, {own[0], own[1], own[2], own[3]}}, counts.data());
    });
    copy(counts.data(), exec.space, &n, Space::host, 1);
    mine[0] = n.all, mine[1] = n.weak_x, mine[2] = n.weak_y, mine[3] = n.diagonal, mine[4] = n.jumps, mine[5] = n.leaps;
  }
  std::copy(mine, mine + 6, sum);
  if (grid.processes() > 1) MPI_Allreduce(mine, sum, 6, MPI_DOUBLE, MPI_SUM, grid.comm);
  const double n = sum[0] > 0 ? sum[0] : 1;
  return {sum[1] / n, sum[2] / n, sum[3] / n, sum[4] / n, sum[5] / n};
}

} // namespace tessera
