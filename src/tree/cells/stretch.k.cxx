// Stretched coordinates: along the axes by the strength of the couplings.
#include "tree/hierarchy.hpp"
#include "tree/read.hpp"
#include "exec/each.hpp"
#include <algorithm>
#include <cmath>

namespace tessera::tree {

namespace {

// Strength of the couplings along the axes, sum -a_ij (x_i - x_j)^2: for the Laplacian the same along all.
struct Moments {
  // Of the nodes whose couplings hardly cancel, and of all whose couplings do not cancel up to rounding: sums, and how
  // many nodes these are of.
  double  firm[3] = {}, any[3] = {}, firm_nodes = 0, any_nodes = 0;
  HD void join(const Moments &o)
  {
    for (int q = 0; q < 3; ++q) firm[q] += o.firm[q], any[q] += o.any[q];
    firm_nodes += o.firm_nodes;
    any_nodes += o.any_nodes;
  }
  // A node's own, of which the shares count: no long coupling outweighs the others. size: of what was added up. The
  // couplings of the vertices of quadratic triangles add up to zero, of which rounding is left; those of bilinear
  // elements that are longer than wide cancel in part at all nodes alike.
  HD void join_shares(const double *own, int dim, double size)
  {
    constexpr double some = 0.3, rounding = 1e-10;
    double           all  = 0;
    for (int q = 0; q < dim; ++q) all += own[q];
    if (!(all > rounding * size)) return;
    const bool is_firm = all > some * size;
    any_nodes += 1;
    firm_nodes += is_firm;
    for (int q = 0; q < dim; ++q) {
      any[q] += own[q] / all;
      if (is_firm) firm[q] += own[q] / all;
    }
  }
  // Those that count
  const double *sums() const { return firm_nodes >= 0.5 * any_nodes ? firm : any; }
};
struct FindMoments {
  RowReader reader;
  const double    *x;
  int              dim;
  HD void          operator()(int p, Moments &sum) const
  {
    double m[3] = {}, size = 0;
    reader.each(p, [&](int k, int column, double v) {
      const int other = reader.node(column);
      if (column - other * reader.bs != k) return;
      for (int q = 0; q < dim; ++q) {
        const double d = x[(ptrdiff_t)dim * p + q] - x[(ptrdiff_t)dim * other + q];
        m[q] -= v * d * d;
        size += fabs(v) * d * d;
      }
    });
    sum.join_shares(m, dim, size);
  }
};

// The same for nodes of one unknown on one process. What several entries need is fetched at once, as nothing else hides
// its latency on a device.
struct FindScalarMoments {
  RowReader reader;
  const double    *x;
  int              dim;
  HD void          operator()(int p, Moments &sum) const
  {
    constexpr int at_once = 8;
    double        m[3] = {}, mine[3] = {}, size = 0;
    if (reader.constrained && reader.constrained[p]) return;
    for (int q = 0; q < dim; ++q) mine[q] = x[(ptrdiff_t)dim * p + q];
    const Index end = reader.m.i[p + 1];
    for (Index e = reader.m.i[p]; e < end; e += at_once) {
      int    column[at_once];
      double v[at_once], y[at_once];
      for (int k = 0; k < at_once; ++k) {
        const Index from = e + k < end ? e + k : end - 1;
        column[k] = (int)reader.m.j[from];
        v[k]      = e + k < end ? reader.m.a[from] : 0;
      }
      for (int k = 0; k < at_once; ++k)
        if (reader.constrained && reader.constrained[column[k]]) v[k] = 0;
      for (int q = 0; q < dim; ++q) {
        for (int k = 0; k < at_once; ++k) y[k] = x[(ptrdiff_t)dim * column[k] + q];
        for (int k = 0; k < at_once; ++k) {
          m[q] -= v[k] * (mine[q] - y[k]) * (mine[q] - y[k]);
          size += fabs(v[k]) * (mine[q] - y[k]) * (mine[q] - y[k]);
        }
      }
    }
    sum.join_shares(m, dim, size);
  }
};

} // namespace

// Along an axis with couplings q times as strong distances count 1 / sqrt(q): anisotropy along the axes disappears.
// Factors are rounded to powers of 2^(1/4), as sums over processes differ in their last bits, and small ones are no
// anisotropy.
template <class T> void Hierarchy<T>::stretch_frame(const Rows &rows, const Buffer<double> &x)
{
  const RowReader reader{rows, params_.bs, constrained_.any ? constrained_.kind.data() : nullptr};
  Moments sum, mine = params_.bs == 1 && !rows.oi
                        ? join_each<Moments>(exec_, rows.n, FindScalarMoments{reader, x.data(), params_.dim})
                        : join_each<Moments>(exec_, rows.n, FindMoments{reader, x.data(), params_.dim});
  MPI_Allreduce(&mine, &sum, sizeof(Moments) / sizeof(double), MPI_DOUBLE, MPI_SUM, comm_);
  const double *const along   = sum.sums();
  double              largest = 0;
  for (int q = 0; q < params_.dim; ++q) largest = std::max(largest, along[q]);
  for (int q = 0; q < params_.dim; ++q) {
    if (!(along[q] > 0) || !std::isfinite(largest / along[q])) continue; // points on a line or in a plane
    const double steps = std::round(2 * std::log2(largest / along[q])); // 4 log2 of the factor
    if (steps >= 2) frame_.factor[q] *= std::exp2(steps / 4);
  }
}

#define INSTANTIATE(T) \
  template void Hierarchy<T>::stretch_frame(const Rows &, const Buffer<double> &);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
