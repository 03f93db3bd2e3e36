// Which cycle: the eigenvalues of A with a cycle as preconditioner, and the levels that an AMLI-cycle solves twice.
#include "tree/hierarchy.hpp"
#include "tree/rows.hpp"
#include "exec/each.hpp"
#include "exec/random.hpp"
#include "multigrid/acceleration.hpp"
#include "multigrid/lanczos.hpp"

namespace tessera::tree {

namespace {

// Numbers in [-1, 1] that depend on the unknown alone. Their bits are mixed less than scattered() does it: the weights
// of the AMLI-cycle rest on them.
template <class T> struct TrialStart {
  const Key *start; // of nodes, or nullptr: their numbers
  const T   *inverse;
  int        bs;
  T         *x;
  HD void    operator()(int p) const
  {
    uint64_t k = ((start ? start[p / bs] : (uint64_t)(p / bs)) * 8 + (uint64_t)(p % bs) + 1) * golden_ratio;
    k = (k ^ (k >> 29)) * 0xbf58476d1ce4e5b9ULL;
    x[p] = inverse[p] > 0 ? (T)in_interval(k) : 0;
  }
};
// tessera::Combine in double precision, whatever the vectors have.
template <class T> struct CombineInDouble {
  double   s;
  const T *x;
  double   t;
  T       *y;
  HD void  operator()(int p) const { y[p] = (T)(s * x[p] + (t != 0 ? t * y[p] : 0)); }
};
template <class T> struct ValueAt {
  const T  *v;
  HD double operator()(int p) const { return v[p]; }
};
template <class T> struct Lower {
  double  by;
  T      *v;
  HD void operator()(int p) const { v[p] = (T)(v[p] - by); }
};

} // namespace

// Level l and the cycle from it down as multigrid::cg_steps() sees them.
template <class T> struct Hierarchy<T>::CycleSpace {
  Hierarchy     &h;
  int            l;
  Buffer<T>      x = vector(), r = vector(), w = vector(), d = vector(), q = vector();
  Buffer<double> sum = h.template make<double>(1);
  Level<T>      &level() const { return h.levels_[(size_t)l]; }
  Buffer<T>      vector() const { return h.template make<T>(level().work.x.size()); }
  void           multiply(Buffer<T> &p, Buffer<T> &product)
  {
    level().halo(p.data());
    level().each_row((const T *)p.data(), KeepProduct<T>{product.data()});
  }
  void precondition(const Buffer<T> &of, Buffer<T> &to)
  {
    for_each(h.exec_, level().unknowns(), CopyValues<T>{of.data(), level().work.b.data()});
    h.solve(l);
    for_each(h.exec_, level().unknowns(), CopyValues<T>{level().work.x.data(), to.data()});
    if (h.constants_) { // as a Krylov method does: products with large constants would be rounding
      sum_each(h.exec_, level().unknowns(), ValueAt<T>{to.data()}, sum.data());
      for_each(h.exec_, level().unknowns(), Lower<T>{of_all() / level().nodes, to.data()});
    }
  }
  double of_all() // what is in `sum`, of all processes
  {
    const double mine = fetch(sum, 0);
    return level().distributed ? h.total(mine) : mine;
  }
  double dot(const Buffer<T> &u, const Buffer<T> &v)
  {
    sum_each(h.exec_, level().unknowns(), DotProduct<T>{u.data(), v.data()}, sum.data());
    return of_all();
  }
  void combine(double s, const Buffer<T> &u, double t, Buffer<T> &v)
  {
    for_each(h.exec_, level().unknowns(), CombineInDouble<T>{s, u.data(), t, v.data()});
  }
};

// With the cycle from level l down. The largest eigenvalue is at most one, but for rounding and an eigenvalue that the
// smoother underestimates.
template <class T> Spectrum Hierarchy<T>::spectrum(int l, int steps)
{
  constexpr double    found = 1e-9; // of the first residual's square: what is left in single precision is rounding
  CycleSpace          space{*this, l};
  std::vector<double> tridiagonal; // alpha_1, beta_1^2, alpha_2, ... of Lanczos' method
  double              last_alpha = 1, residual = 1;
  const Level<T>     &level = levels_[(size_t)l];
  const Key *const    start = level.start.empty() ? nullptr : level.start.data();
  for_each(exec_, level.unknowns(), TrialStart<T>{start, level.inverse.data(), level.bs, space.x.data()});
  const bool worked = multigrid::cg_steps(space, steps, [&](double alpha, double beta, CycleSpace &) {
    if (!tridiagonal.empty()) tridiagonal.push_back(beta / (last_alpha * last_alpha));
    tridiagonal.push_back(1 / alpha + beta / last_alpha);
    last_alpha = alpha;
    if (beta > 0) residual *= beta;
    return residual > found;
  });
  const int n = (int)(tridiagonal.size() + 1) / 2;
  // processes agree on it, whose sums of a grid that each of them has may differ by rounding
  double result[3] = {worked ? -multigrid::smallest_eigenvalue(n, tridiagonal.data()) : -1,
                      worked ? multigrid::largest_eigenvalue(n, tridiagonal.data()) : 1,
                      (double)(n < steps && residual > found)};
  MPI_Allreduce(MPI_IN_PLACE, result, 3, MPI_DOUBLE, MPI_MAX, comm_);
  return {-result[0], result[1], result[2] > 0};
}

// A V-cycle loses much of what coarse grids know of a body that is thin and bends, or of a comb, whose parts meet far
// away: the least eigenvalue from the second coarse grid down is below 0.4 there, and above in most other problems. An
// AMLI-cycle takes two cycles on each coarse grid whose least eigenvalue is low. On the host that is little more
// work; on a device it is many more launches of kernels on small grids, so there it must be asked for. Where bodies in
// the plane have functions of their own V-cycles take ever more iterations as meshes get finer, and from a million
// unknowns a device on AMLI pays there, too. With several unknowns a node the bound is 0.3: between 0.3 and 0.4 AMLI
// gains nothing there, as on nearly incompressible bodies.
template <class T> void Hierarchy<T>::choose_cycle()
{
  constexpr double twice = 0.4, twice_on_first = 0.5, largest_weight = 1.7, large_on_device = 1e6; // unknowns of each
  constexpr int    steps_of_trial = 8, steps = 5; // a weight needs fewer
  for (Level<T> &l : levels_) l.amli_weight = 0;
  if (params_.cycle == Cycle::automatic) {
    // in space, with one unknown a node and two coarse grids, what V-cycles lose is lost between the mesh and the first
    const int    l = std::min(2, last() - 1), least = params_.dim == 3 && params_.bs == 1 ? 2 : 1;
    const double slow = params_.bs == 1 ? 0.4 : 0.3;
    const bool   launches = levels_[0].by_nodes(), bodies = numeric_.body_functions() == BodyFunctions::own;
    int          size;
    MPI_Comm_size(comm_, &size);
    const bool pays =
      !launches || (bodies && params_.dim == 2 && levels_[0].nodes * params_.bs >= large_on_device * size);
    if (numeric_.difficult() || sweeps() || l < least || !pays) return;
    if (spectrum(l, steps_of_trial).least >= slow) return;
  } else if (params_.cycle != Cycle::amli) return;
  amli_ = true;
  Spectrum bounds;
  for (int l = last() - 1; l > 0; --l) { // with cycles that are chosen already
    const bool measured = l > 1 || last() == 2; // the largest grid has slightly lower bounds than the next
    if (measured) bounds = spectrum(l, steps);
    if (bounds.least >= (measured ? twice : twice_on_first)) continue;
    Level<T> &level   = levels_[(size_t)l];
    level.amli_weight = std::min(2 / (bounds.least + std::max(bounds.largest, 1.)), largest_weight);
    if (level.work.first.size() < level.work.b.size()) level.work.first = make<T>(level.work.b.size());
  }
}

// Where coefficients jump and nodes have one unknown, only the mesh visits its coarse grid twice, other grids the next
// one once: a W-cycle gains all it can there. With several unknowns a node that would cost a quarter more iterations.
// There all grids visit the next one twice on the host; on a device, where small grids cost launches, only the mesh and
// the first coarse grid do.
//
// Coarse grids in the plane whose cells are as large as parts that hardly anything ties to each other lose these: the
// least eigenvalue of the cycle from the second coarse grid down is 0.005 to 0.3 then. Few other problems are below
// 0.35; functions of parts do them no harm.
//
// Rounding to single precision may count beside the energies of parts, above all where there is a null space, and make
// the cycle indefinite or far from the inverse. False: it is so, and double precision may be taken. A trial that went
// well is not repeated while the matrix keeps its shape and parts have as much energy.
template <class T> bool Hierarchy<T>::choose_visits()
{
  constexpr double poor = 0.35, sound = 2, doubtful = 11.5; // least_energy(): of 1.7 to 8 all was lost, 12 is common
  constexpr int    steps = 16, few_steps = 4, second = 2;
  twice_ = INT_MAX;
  const double energy = params_.falls_back ? levels_[0].blocks.part_functions.least_energy(levels_[0]) : doubtful;
  bool         doubts = last() > 0 && energy < doubtful && numeric_.symmetric();
  if (params_.cycle == Cycle::automatic && numeric_.filtered() && !numeric_.convective() && !sweeps()) {
    twice_ = params_.bs > 1 ? strategy_->visits_twice : 1;
    if (params_.dim == 2 && parts() && last() > second && spectrum(second, steps).least < poor) {
      numeric_.find_coarse_parts();
      doubts = doubts || (params_.falls_back && total(constants_ || coarsest_.dropped > 0) > 0);
    }
  }
  if (!doubts || (!numeric_.anew() && energy >= 0.9 * proved_)) return true;
  proved_ = energy; // a trial that fails is the end of this hierarchy
  const Spectrum whole = spectrum(0, few_steps);
  return (!whole.broke_down && whole.largest < sound) || lost();
}

template Spectrum Hierarchy<double>::spectrum(int, int);
template Spectrum Hierarchy<float>::spectrum(int, int);
template void Hierarchy<double>::choose_cycle();
template void Hierarchy<float>::choose_cycle();
template bool Hierarchy<double>::choose_visits();
template bool Hierarchy<float>::choose_visits();

} // namespace tessera::tree
