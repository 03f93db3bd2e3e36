// Convection. Galerkin products of it are central differences, whatever the mesh has: the cell Peclet numbers double
// from grid to grid, couplings become positive, and neither the smoother nor the corrections can be relied on. What
// makes a coupling positive by asymmetry alone is taken back by diffusion between the two nodes (Kuzmin and Turek, J.
// Comput. Phys. 175 (2002), section 4):
//
//   d_ij = max(0, a_ij, a_ji) - max(0, (a_ij + a_ji) / 2),   a_ij, a_ji -= d_ij,   a_ii, a_jj += d_ij
//
// which keeps row and column sums and leaves symmetric operators as they are. Of several unknowns per node each is
// convected by itself.
#include "tree/hierarchy.hpp"
#include "tree/dispatch.hpp"
#include "exec/each.hpp"
#include "exec/random.hpp"
#include <cmath>

namespace tessera::tree {

namespace {

// Of rows and columns divided by the roots of the diagonal; what rounding does to a symmetric operator is less.
constexpr double least_asymmetry = 1e-5;
// Such a share of a grid's nodes has got more than so much of its diagonal entry: convection prevails.
constexpr double much_added = 0.05, much_of_grid = 0.02;

// Signs, and numbers with the mean square 1, over the roots of the diagonal. Signs alone would cancel where all
// couplings are alike.
template <class T> struct Noise {
  const Key *key; // of the nodes; nullptr: their numbers stand for it
  const T   *inverse;
  int        bs;
  T         *x, *y;
  HD void    operator()(int q) const
  {
    constexpr double root_of_three = 1.7320508;
    const double     root = sqrt((double)inverse[q]);
    const uint64_t   bits = mix(key_of_unknown(key, bs, q)); // the lowest ones are not in the number
    x[q] = (T)(root * (double)((int)(bits & 2) - 1));
    y[q] = (T)(root * root_of_three * in_interval(bits));
  }
};
template <class T, int BS> struct NoiseProducts { // y'A x - x'A y
  const int *i, *j;
  const T   *a, *x, *y;
  HD double  operator()(int p) const
  {
    T of_x[BS] = {}, of_y[BS] = {};
    for (int e = i[p]; e < i[p + 1]; ++e)
      for (int k = 0; k < BS; ++k)
        for (int m = 0; m < BS; ++m) {
          const T   v = a[((ptrdiff_t)BS * e + k) * BS + m];
          const int q = BS * j[e] + m;
          of_x[k] += v * x[q], of_y[k] += v * y[q];
        }
    double sum = 0;
    for (int k = 0; k < BS; ++k) sum += (double)y[BS * p + k] * of_x[k] - (double)x[BS * p + k] * of_y[k];
    return sum;
  }
};

// A row of the operator and the column of the same node, which is row p of ti, tj, ta. Counts nodes that got much.
template <class T> struct Stabilise {
  const int *i, *j, *ti, *tj;
  const T   *ta;
  int        bs;
  T         *a;
  HD double  operator()(int p) const
  {
    bool much = false;
    int  own  = -1;
    for (int e = i[p]; e < i[p + 1]; ++e) own = j[e] == p ? e : own;
    if (own < 0) return 0;
    for (int k = 0; k < bs; ++k) {
      T  added    = 0;
      T &diagonal = a[((ptrdiff_t)bs * own + k) * bs + k];
      for (int e = i[p], f = ti[p]; e < i[p + 1]; ++e) {
        if (e == own) continue;
        int left = ti[p + 1] - ti[p]; // both are in the same order, but for couplings of one side alone
        for (; left && tj[f] != j[e]; --left) f = f + 1 < ti[p + 1] ? f + 1 : ti[p];
        if (!left) continue; // couplings of one side alone stay
        T      &to   = a[((ptrdiff_t)bs * e + k) * bs + k];
        const T back = ta[((ptrdiff_t)bs * f + k) * bs + k], mean = (to + back) / 2, larger = to > back ? to : back;
        const T d    = (larger > 0 ? larger : 0) - (mean > 0 ? mean : 0);
        to -= d;
        added += d;
      }
      much = much || added > (T)much_added * diagonal;
      diagonal += added;
    }
    return much;
  }
};

} // namespace

// By y'S x - x'S y for vectors x and y of noise, where S has a_ij / sqrt(a_ii a_jj): convection counts where diffusion
// is a millionth of that elsewhere. inverse: of the diagonal. x, y: memory for the vectors, ghosts included.
// Collective.
template <class T> bool NumericSetup<T>::asymmetric(Level<T> &level, const T *inverse, T *x, T *y)
{
  Buffer<double> sum = make<double>(1);
  for_each(exec_, level.unknowns(), Noise<T>{level.start.data(), inverse, params_.bs, x, y});
  level.halo(x);
  level.halo(y);
  with_block(params_.bs, [&](auto b) {
    sum_each(exec_, level.n,
             NoiseProducts<T, b.value>{level.i.data(), level.j.data(), level.a.data(), x, y}, sum.data());
  });
  const double mine = fetch(sum, 0), all = level.distributed ? total(mine) : mine;
  const bool   is = std::abs(all) > least_asymmetry * std::sqrt(level.nodes * params_.bs);
  return level.distributed ? is : total(is) > 0; // sums of a grid that each process has may differ by rounding
}

template <class T> void NumericSetup<T>::stabilise(Level<T> &level)
{
  Transpose<T> &t = level.transpose;
  if (t.i.empty()) transpose_pattern(level);
  transpose_values(level);
  Buffer<double> sum = make<double>(1);
  sum_each(exec_, level.n,
           Stabilise<T>{level.i.data(), level.j.data(), t.i.data(), t.j.data(), t.a.data(), params_.bs,
                        level.a.data()},
           sum.data());
  const double mine = fetch(sum, 0);
  const bool   much = (level.distributed ? total(mine) : mine) > much_of_grid * level.nodes;
  convective_       = (level.distributed ? much : total(much) > 0) || convective_;
}

#define INSTANTIATE(T) \
  template bool NumericSetup<T>::asymmetric(Level<T> &, const T *, T *, T *); \
  template void NumericSetup<T>::stabilise(Level<T> &);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
