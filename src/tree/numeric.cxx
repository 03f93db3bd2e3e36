// The numbers of the grids: operators, eigenvalues, interpolation and the exact solution, for new values in the same
// pattern.
#include "tree/hierarchy.hpp"
#include <algorithm>

namespace tessera::tree {

// The largest eigenvalue of D^-1 A, which is at least 1, is kept while it has moved by less: what there is of the
// tenth by which estimates are raised covers this much. Each grid is judged by its own operator, as a small shift may
// outweigh the rest on a coarse one. So is an interpolation that is smoothed, by the operator of the mesh. With blocks
// B of D, whose least eigenvalues may be small, those of B^-1 A move by more.
constexpr double slight = 0.05;

// At most so many eigenvalues of an operator are zero: those of constants and of rotations.
static int null_space(const Params &params, bool singular)
{
  return !singular ? 0 : params.bs == 1 ? 1 : params.bs + params.dim * (params.dim - 1) / 2;
}

// Of a grid between the mesh and the last one
template <class T> static size_t max_values(const std::vector<Level<T>> &levels)
{
  size_t largest = 0;
  for (size_t l = 1; l + 1 < levels.size(); ++l) largest = std::max(largest, levels[l].a.size());
  return largest;
}

// Of the smoother. Where no off-diagonal entry of A is positive, D^-1 A has no eigenvalue above 2, and degree 2 is
// enough. Tetrahedra of a mesh that follows no grid have obtuse angles.
template <class T> int NumericSetup<T>::degree() const
{
  constexpr double of_m_matrices = 1.1 * 2; // estimates are raised by a tenth
  if (convective_ && !filtered_ && params_.dim == 2 && !sweeps()) return params_.degree; // eigenvalues are complex
  if (difficult()) return params_.difficult_degree;
  if (jumps_in_space_) return params_.jump_degree;
  return params_.rough_degree && levels_[0].lambda > of_m_matrices ? params_.rough_degree : params_.degree;
}

template <class T> void NumericSetup<T>::set_polynomial(Level<T> &level) const
{
  level.chebyshev.setup(params_.smoother == Smoother::jacobi, degree(), level.lambda);
}

template <class T>
Failure NumericSetup<T>::run(const Buffer<int> &perm, const Buffer<Diagonal> &place, double scale, bool singular)
{
  Failure   failure;
  const int last  = (int)levels_.size() - 1;
  bool      known = levels_[0].lambda > 0, weights_stay = false, smooths = false; // the interpolation, anew
  bool      shape_stays = known && levels_[0].change < slight;
  const auto failed = [&] { // of grids that all processes have each has sums of its own, which differ by rounding
    const double any = total(failure.kind);
    if (any && total(failure.kind == Failure::rounded) > 0) failure.kind = Failure::rounded;
    return any > 0;
  };
  ++setups_;
  convective_ = false, symmetric_ = true, coarsest_.absent = last ? coarsest_.rounding : 0; // the mesh has no rounding
  prepare_statistics();
  if (const size_t largest = max_values(levels_); strategy_->keeps_work && !sweeps() && old_.size() < largest)
    old_ = make_unset<T>(largest);
  for (int l = 0; l <= last; ++l) {
    Level<T> &level = levels_[(size_t)l];
    if (l && !symmetric_) stabilise(level);
    diagonal(level, l, perm, place);
    if (!l) symmetric_ = !asymmetric(level, level.inverse.data(), level.work.x.data(), level.work.r.data());
    if (l == last) break;
    if (!l) {
      const bool before = filtered_;
      weights_stay      = shape_stays && before && !sweeps();
      look_for_jumps(shape_stays);
      smooths = filtered_ && !weights_stay;
      anew_   = !shape_stays || filtered_ != before;
      known     = known && filtered_ == before && !smooths && !sweeps();
    } else if (known) bound_change(level, l);
    if (!sweeps()) prepare_blocks(level, shape_stays);
    const bool faint = !l && params_.falls_back && level.blocks.part_functions.least_energy(level) < 1;
    if (faint) return failure.kind = Failure::rounded, failure; // on all processes
    if (level.sweep.exact) block_values(level);
    if (smooths) { // the eigenvalue is needed at once
      take_eigenvalue(l, estimate({l}).data(), scale, failure);
      if (failed()) return failure;
    }
    if (!weights_stay) filter(level);
    Level<T> &next = levels_[(size_t)l + 1];
    if (known && l + 1 < last) {
      next.roots(next.work.z);
      if (strategy_->keeps_work) device::copy(old_.data(), next.a.data(), next.a.bytes());
      else {
        old_   = std::move(next.a);
        next.a = make_unset<T>(old_.size());
      }
    }
    product(level, next);
    correct_sums(level, next);
    raise_nearly_null(level, next, !l);
  }
  if (!strategy_->keeps_work) old_ = Buffer<T>(), sums_ = Buffer<T>(), sizes_ = Buffer<T>();
  const bool     swept = sweep_last();
  Buffer<double> found;
  if (known) found = on_host(statistics_);
  if (known && levels_[0].distributed) join_changes(found);
  std::vector<int> changed;
  for (int l = 0; l < last && !sweeps() && !smooths; ++l) {
    Level<T> &level = levels_[(size_t)l];
    if (known && l) level.change += (float)change_of(l, found.data());
    if (!known || level.lambda == 0 || level.change >= (level.blocks.any ? slight / 4 : slight)) changed.push_back(l);
  }
  if (!known || !changed.empty()) found = estimate(changed);
  for (int l = 0; l <= last && !failure.kind; ++l) take_eigenvalue(l, found.data(), scale, failure);
  if (failed()) return failure;
  failure = invert(swept ? found.data()[found.size() - 1] : -1);
  if (failed()) return failure;
  if (params_.falls_back && total(coarsest_.dropped > null_space(params_, singular))) failure.kind = Failure::rounded;
  if (!strategy_->keeps_work) statistics_ = Buffer<double>(); // the next setup makes them anew
  for (Level<T> &l : levels_) {
    // the polynomials of lower degree end before they need it
    if (degree() > 2 && l.transfer.corners && l.work.w.empty() && !sweeps()) l.work.w = make<T>(l.work.z.size());
    set_polynomial(l);
    l.sweep.steps = degree();
  }
  return failure;
}

// Functions of parts for the smoothers of coarse grids, too, until the shape of the matrix changes: for meshes with
// parts that hardly anything ties to each other, where these have become so small on some coarse grid that the next one
// has no function for what is constant in them. Collective.
template <class T> void NumericSetup<T>::find_coarse_parts()
{
  std::vector<int> found;
  for (int l = 1; l + 1 < (int)levels_.size(); ++l) {
    StrongBlocks<T> &b = levels_[(size_t)l].blocks;
    b.part_functions.find(comm_, levels_[(size_t)l], params_, nullptr);
    if (!b.part_functions.any()) continue;
    b.any = true;
    b.part_functions.take_values(levels_[(size_t)l]);
    found.push_back(l);
  }
  if (found.empty()) return;
  ++setups_;
  prepare_statistics();
  const Buffer<double> statistics = estimate(found);
  for (int l : found) {
    bound_eigenvalue(l, statistics.data());
    set_polynomial(levels_[(size_t)l]);
  }
}

// The operator of some unknowns has no larger eigenvalue than the whole one, so that of level `top` stays; those of
// coarser levels, which are no parts of others, are estimated.
template <class T>
Failure NumericSetup<T>::run_truncated(int top, const Buffer<int> &perm, const Buffer<Diagonal> &place, double scale,
                                       bool turned)
{
  Failure          failure;
  const int        last = (int)levels_.size() - 1;
  std::vector<int> coarse;
  ++setups_;
  prepare_statistics();
  for (int l = top; l <= last; ++l) {
    if (turned && l > top) drop_rounding(levels_[(size_t)l]);
    diagonal(levels_[(size_t)l], l, perm, place);
    if (l == last) break;
    Level<T> &level = levels_[(size_t)l], &next = levels_[(size_t)l + 1];
    invert_blocks(level);
    product(level, next);
    raise_nearly_null(level, next, l == top);
  }
  if (!strategy_->keeps_work) sizes_ = Buffer<T>();
  const bool swept = sweep_last();
  for (int l = top + 1; l < last; ++l) coarse.push_back(l);
  const Buffer<double> found = estimate(coarse);
  for (int l = top; l <= last && !failure.kind; ++l) take_eigenvalue(l, found.data(), scale, failure);
  if (total(failure.kind)) return failure;
  failure = invert(swept ? found.data()[found.size() - 1] : -1);
  for (int l = top; l < last; ++l) set_polynomial(levels_[(size_t)l]);
  return failure;
}

#define INSTANTIATE(T) \
  template int     NumericSetup<T>::degree() const; \
  template Failure NumericSetup<T>::run(const Buffer<int> &, const Buffer<Diagonal> &, double, bool); \
  template void    NumericSetup<T>::find_coarse_parts(); \
  template Failure NumericSetup<T>::run_truncated(int, const Buffer<int> &, const Buffer<Diagonal> &, double, bool);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
