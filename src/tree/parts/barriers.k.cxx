// Barriers and jumps on the mesh, for which grids get functions of parts that values tell apart (parts.k.cxx).
#include "tree/parts/coupled.hpp"
#include "tree/parts/jumps.hpp"
#include "tree/rows.hpp"
#include "tree/setup.hpp"
#include "exec/each.hpp"
#include <cmath>

namespace tessera::tree {

namespace {

// Nodes beside a thin barrier of little conductivity with nothing inside: their couplings pull to one side, and one
// towards the other side is weak, but not mere rounding. Those of an inner node pull evenly, as no linear function has
// a residual there; at a boundary there is nothing on the other side.
template <class T> struct CountBesideBarriers {
  const int    *i, *j;
  const T      *a;
  const double *y;
  HD bool       weak(int e, T d) const { return fabs(a[e]) < (T)across_barrier * d && fabs(a[e]) > (T)1e-12 * d; }
  HD double     operator()(int p) const
  {
    constexpr double uneven = 0.2, towards = 0.5; // of the sum of moduli; the cosine of the angle
    const int        own = own_entry(i, j, p);
    const T          d   = own < i[p + 1] ? a[own] : 0;
    bool             any = false;
    for (int e = i[p]; e < i[p + 1]; ++e) any |= weak(e, d);
    if (!any) return 0;
    double pull[2] = {}, all = 0; // against the strong couplings, whose entries are negative
    for (int e = i[p]; e < i[p + 1]; ++e) {
      const double x[2] = {y[2 * j[e]] - y[2 * p], y[2 * j[e] + 1] - y[2 * p + 1]}, v = a[e];
      pull[0] += v * x[0];
      pull[1] += v * x[1];
      all += fabs(v) * sqrt(x[0] * x[0] + x[1] * x[1]);
    }
    const double size = sqrt(pull[0] * pull[0] + pull[1] * pull[1]);
    if (!(size > uneven * all)) return 0;
    for (int e = i[p]; e < i[p + 1]; ++e) {
      const double x[2] = {y[2 * j[e]] - y[2 * p], y[2 * j[e] + 1] - y[2 * p + 1]};
      const double   length = sqrt(x[0] * x[0] + x[1] * x[1]); // zero between the sides of a slit
      if (j[e] != p && weak(e, d) && pull[0] * x[0] + pull[1] * x[1] >= towards * size * length) return 1;
    }
    return 0;
  }
};

} // namespace

// d: gets the largest diagonal entries of the nodes. Jumps of the mesh are counted once in a setup. Collective.
template <class T> bool Setup<T>::has_jumps(Level<T> &fine, Buffer<T> &d)
{
  d = largest_diagonals(fine);
  if (jumps_) return *jumps_;
  Buffer<double> sum = make<double>(1);
  sum_each(exec_, fine.points, CountJumps<T>{fine.i.data(), fine.j.data(), d.data(), 1}, sum.data());
  jumps_ = are_jumps(total(fetch(sum, 0)), fine.nodes, params_.dim);
  return *jumps_;
}

// Are there thin barriers in the plane, where diagonal entries do not jump? With convection, whose couplings pull and
// are weak against the wind, this says nothing. y: places of the nodes; d: may get their largest diagonal entries. Of a
// line across the mesh, meshes without barriers have up to 0.35 of nodes that seem to be beside one, and one barrier
// through half of the mesh makes 0.9. Collective.
template <class T> bool Setup<T>::has_thin_barriers(Level<T> &fine, const Buffer<double> &y, Buffer<T> &d)
{
  if (jumps_.value_or(false)) return false;
  Buffer<double> sum = make<double>(1);
  sum_each(exec_, fine.points, CountBesideBarriers<T>{fine.i.data(), fine.j.data(), fine.a.data(), y.data()},
           sum.data());
  if (!(total(fetch(sum, 0)) > 0.5 * std::sqrt(fine.nodes)) || has_jumps(fine, d)) return false;
  Buffer<T> inverse = make_unset<T>(d.size()), noise[] = {make_unset<T>(d.size()), make_unset<T>(d.size())};
  for_each(exec_, (int)d.size(), Inverse<T>{d.data(), inverse.data()});
  return !numeric_.asymmetric(fine, inverse.data(), noise[0].data(), noise[1].data());
}

#define INSTANTIATE(T) \
  template bool Setup<T>::has_jumps(Level<T> &, Buffer<T> &); \
  template bool Setup<T>::has_thin_barriers(Level<T> &, const Buffer<double> &, Buffer<T> &);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
