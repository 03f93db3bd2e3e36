// Kernels of a linear complementarity problem on the levels of a tree. Unknowns are in the order of a level; where
// they are those of PETSc's vectors, perm says which node is where. Of each unknown a kernel moves the vectors that it
// names, 8 bytes each.
#pragma once
#include "tree/reflect.hpp"
#include "vipmg/vipmg.hpp"
#include "exec/each.hpp"
#include "exec/random.hpp"
#include <cmath>

namespace tessera::vipmg::kernels {

constexpr double far = 1e100; // a bound beyond it is none; PETSC_INFINITY is a number

// From the numbering of the matrix. Unknowns of Dirichlet rows are solved for. x: also what restart() goes back to.
struct Load {
  const int    *perm;
  const double *F, *X, *XL, *XU, *diagonal, *inverse;
  int           bs;
  double        scale;
  double       *b, *lo, *up, *x, *start;
  HD double     operator()(int p) const
  {
    const ptrdiff_t q    = (ptrdiff_t)perm[p / bs] * bs + p % bs;
    const double    here = X[q], right = -F[q];
    lo[p]    = XL[q] - here;
    up[p]    = XU[q] - here;
    b[p]     = scale * right;
    x[p]     = between(inverse[p] > 0 ? 0 : right / diagonal[p], lo[p], up[p]);
    start[p] = x[p];
    return fabs(x[p]);
  }
};
struct Take {
  const int    *perm;
  const double *X0, *Y;
  int           bs;
  double       *x;
  HD void       operator()(int p) const
  {
    const ptrdiff_t q = (ptrdiff_t)perm[p / bs] * bs + p % bs;
    x[p]              = Y[q] - X0[q];
  }
};
struct Size {
  const double *x;
  HD double     operator()(int p) const { return fabs(x[p]); }
};
struct FixedDiagonal {
  const int    *list, *where;
  const double *inverse;
  int           bs;
  double       *diagonal;
  HD void operator()(int p) const { diagonal[(ptrdiff_t)where[list[p] / bs] * bs + list[p] % bs] = 1 / inverse[p]; }
};
struct FreeDiagonal {
  const double *inverse;
  double        scale, *diagonal;
  HD void       operator()(int p) const { diagonal[p] = inverse[p] > 0 ? 1 / (inverse[p] * scale) : 0; }
};

// Of nodes
struct TakeReflection {
  const int    *perm;
  const double *from;
  int           bs;
  double       *to;
  HD void       operator()(int p) const
  {
    for (int k = 0; k < bs; ++k) to[(ptrdiff_t)bs * p + k] = from[(ptrdiff_t)bs * perm[p] + k];
  }
};
struct Reflect {
  const double *v;
  int           bs;
  double       *x;
  HD void       operator()(int p) const { tree::reflect_node(bs, v + (ptrdiff_t)bs * p, x + (ptrdiff_t)bs * p, 1); }
};
// A reflected node has the largest diagonal entry of its components in all of them: then no eigenvalue grows.
struct LargestDiagonal {
  const double *v;
  int           bs;
  double       *inverse, *diagonal;
  HD void       operator()(int p) const
  {
    double length = 0, smallest = INFINITY, largest = 0;
    for (int k = 0; k < bs; ++k) {
      const ptrdiff_t q = (ptrdiff_t)bs * p + k;
      length += fabs(v[q]);
      smallest = inverse[q] < smallest ? inverse[q] : smallest;
      largest  = diagonal[q] > largest ? diagonal[q] : largest;
    }
    for (int k = 0; k < bs && length > 0; ++k) {
      inverse[(ptrdiff_t)bs * p + k]  = smallest;
      diagonal[(ptrdiff_t)bs * p + k] = largest;
    }
  }
};
// end() of a product that is known
template <class End> struct EndOf {
  const double *product;
  End           end;
  HD auto       operator()(int p) const { return end((ptrdiff_t)p, product[p]); }
};

struct Residual {
  const double *b, *inverse, *x, *diagonal;
  double        scale;
  double       *r;
  HD void       operator()(ptrdiff_t p, double product) const
  {
    r[p] = inverse[p] > 0 ? b[p] - product : b[p] - scale * diagonal[p] * x[p];
  }
};
// F = -r / scale, which was -b / scale before x
struct Measures {
  const double *x, *b, *lo, *up, *r, *diagonal;
  double        scale, zero;
  HD void       operator()(int p, Measure &m) const
  {
    const double change = (b[p] - r[p]) / scale;
    m.moved += change * change;
    m.add(-r[p] / scale, x[p], lo[p], up[p], diagonal[p], zero);
  }
};
struct Look {
  const int    *perm;
  const double *F, *X, *X0, *XL, *XU, *r, *diagonal;
  int           bs;
  double        scale, zero;
  HD void       operator()(int p, Point &to) const
  {
    const ptrdiff_t q = (ptrdiff_t)perm[p / bs] * bs + p % bs;
    const double    f = F[q], here = X[q], d = f + r[p] / scale;
    to.difference += d * d;
    to.F += f * f;
    to.X += here * here;
    to.slope += f * (here - X0[q]);
    to.measure.add(f, 0, XL[q] - here, XU[q] - here, diagonal[p], zero);
  }
};
struct Store {
  const int    *perm;
  const double *X0, *XL, *XU, *F, *d;
  int           bs;
  double        t, *X;
  HD void       operator()(int p, Moved &m) const
  {
    const ptrdiff_t q = (ptrdiff_t)perm[p / bs] * bs + p % bs;
    const double    v = step_to(X0[q], XL[q], XU[q], d[p], t);
    X[q] = v;
    m.add(F[q], v - X0[q]);
  }
};

struct ProjectedSweep {
  const double *x, *b, *lo, *up, *inverse;
  double        omega, *to;
  HD void       operator()(ptrdiff_t p, double product) const
  {
    to[p] = inverse[p] > 0 ? between(x[p] + omega * inverse[p] * (b[p] - product), lo[p], up[p]) : x[p];
  }
};
// The residual and the unknowns that are not pressed against a bound; the sum is how many of them are others.
struct Mark {
  const double  *x, *b, *lo, *up, *inverse;
  double        *r;
  unsigned char *free;
  HD double      operator()(ptrdiff_t p, double product) const
  {
    const double s  = b[p] - product;
    const bool   is = inverse[p] > 0 && !(x[p] <= lo[p] && s <= 0) && !(x[p] >= up[p] && s >= 0), was = free[p];
    r[p]    = s;
    free[p] = is;
    return is != was;
  }
};
struct Masked {
  const double        *r;
  const unsigned char *free;
  double              *to;
  HD void              operator()(int p) const { to[p] = free[p] ? r[p] : 0; }
};
struct Shift { // one for unknown k of each node that is free; the sum is that of the diagonal there
  const unsigned char *free;
  const double        *diagonal;
  int                  bs, k;
  double              *v;
  HD double            operator()(int p) const
  {
    v[p] = p % bs == k && free[p];
    return v[p] * diagonal[p];
  }
};
struct Direction { // p = z + beta p
  const double *z;
  double        beta, *p;
  HD void       operator()(int k) const { p[k] = z[k] + beta * p[k]; }
};
struct Advance { // v += alpha p, r += sign alpha q
  const double *p, *q;
  double        alpha, *v, *r;
  int           sign;
  HD void       operator()(int k) const
  {
    v[k] += alpha * p[k];
    r[k] += sign * alpha * q[k];
  }
};
// Numbers in [-1, 1] that depend on the unknown and on `salt` alone; the sum is that of their squares.
struct RandomVector {
  const int    *perm;
  const double *inverse;
  int           bs, salt;
  double       *to;
  HD double     operator()(int p) const
  {
    const uint64_t k = (uint64_t)perm[p / bs] * 8 + (uint64_t)(p % bs) + 1 + ((uint64_t)salt << 40);
    to[p] = inverse[p] > 0 ? scattered(k) : 0;
    return to[p] * to[p];
  }
};
// v becomes the step to the projection of x + v; the sum is what energy falls by along it, to first order.
struct Project {
  const double *x, *lo, *up, *r;
  double       *v;
  HD double     operator()(int p) const
  {
    v[p] = between(x[p] + v[p], lo[p], up[p]) - x[p];
    return v[p] * r[p];
  }
};
struct Step {
  const double *v, *lo, *up;
  double        t, *x;
  HD void       operator()(int p) const { x[p] = between(x[p] + t * v[p], lo[p], up[p]); }
};
struct AddBetweenBounds { // x := x + v between its bounds; from: where it began
  const double *v, *lo, *up;
  double       *x, *from;
  HD void       operator()(int p) const
  {
    from[p] = x[p];
    x[p]    = between(x[p] + v[p], lo[p], up[p]);
  }
};
struct StepBack { // v := the step that has led from there to x; x := where it began
  const double *from;
  double       *x, *v;
  HD void       operator()(int p) const
  {
    v[p] = x[p] - from[p];
    x[p] = from[p];
  }
};

// Of a bound that there is where an unknown takes part: its value; 1.
struct BoundValue {
  const double *bound, *inverse;
  double       *to;
  HD void       operator()(int p) const { to[p] = inverse[p] > 0 && fabs(bound[p]) < far ? bound[p] : 0; }
};
struct HasBound {
  const double *bound, *inverse;
  double       *to;
  HD void       operator()(int p) const { to[p] = inverse[p] > 0 && fabs(bound[p]) < far; }
};
// Of the unknowns that take part: the number of those that have bounds less the number of those that have none.
struct MostlyBounded {
  const double *lo, *up, *inverse;
  HD double     operator()(int p) const
  {
    return inverse[p] > 0 ? (fabs(lo[p]) < far || fabs(up[p]) < far ? 1 : -1) : 0;
  }
};
struct PartOf {
  const double *v, *inverse;
  double       *to;
  HD void       operator()(int p) const { to[p] = inverse[p] > 0 ? v[p] : 0; }
};
struct TakesPart {
  const double *inverse;
  double       *to;
  HD void       operator()(int p) const { to[p] = inverse[p] > 0; }
};
// The mean of the bounds that there are, if they are on this share of a coarse basis function.
struct MeanBound {
  const double *sum, *counted, *all;
  double        none, *to;
  HD void       operator()(int p) const { to[p] = counted[p] > 0.25 * all[p] ? sum[p] / counted[p] : none; }
};
// How far an unknown may still move: downwards, or upwards, both as numbers that are not positive.
struct Room {
  const double *x, *bound, *inverse;
  double        sign; // of the bound
  double       *to;
  HD void       operator()(int p) const
  {
    const double room = sign * (bound[p] - x[p]);
    to[p]             = inverse[p] > 0 && fabs(bound[p]) < far ? (room < 0 ? room : 0) : -INFINITY;
  }
};
struct TakeRoom {
  const double *room;
  double        sign;
  double       *bound;
  HD void       operator()(int p) const { bound[p] = sign * room[p]; }
};
struct Uncross {
  double *lo, *up;
  HD void operator()(int p) const
  {
    if (lo[p] > up[p]) lo[p] = up[p] = 0.5 * (lo[p] + up[p]);
  }
};
struct Project0 { // x between its bounds, or as it is where the unknown takes no part
  const double *from, *lo, *up, *inverse;
  double       *x;
  HD void       operator()(int p) const
  {
    if (inverse[p] > 0) x[p] = between(from[p], lo[p], up[p]);
  }
};

} // namespace tessera::vipmg::kernels
