#include "vipmg/single_grid.hpp"
#include "petsc/device.hpp"
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>

namespace tessera::vipmg {

namespace {

// Sums of rows, as a share of their diagonal entries, from which on conjugate gradients are tried: twice the inverse
// of the least one bounds the condition number of an M-matrix scaled by its diagonal. Some rows, of nodes at slivers,
// may have less: these cost a few steps.
constexpr double dominant  = 1e-3;
constexpr double least_sum = 1e-6;
constexpr double exempt    = 0.05; // a share of all rows
constexpr int    cycles    = 10;   // that have all the products that are worth it
constexpr int    most_sets = 20;   // in a cycle
constexpr int    looked    = 4;    // steps of conjugate gradients between two looks at the active set
constexpr double enough    = 0.3;  // of the target

double scattered(uint64_t k)
{
  k *= 0x9e3779b97f4a7c15ULL;
  k ^= k >> 29;
  k *= 0xbf58476d1ce4e5b9ULL;
  k ^= k >> 32;
  return (double)(k >> 11) / (double)(1ULL << 53) + 0.5;
}

double dot(ptrdiff_t n, const double *a, const double *b)
{
  double s = 0;
#pragma omp simd reduction(+ : s)
  for (ptrdiff_t i = 0; i < n; ++i) s += a[i] * b[i];
  return s;
}

PetscErrorCode Multiply(Mat A, Vec in, Vec out, const double *x, double *y)
{
  PetscFunctionBegin;
  PetscCall(VecPlaceArray(in, x));
  PetscCall(VecPlaceArray(out, y));
  PetscCall(MatMult(A, in, out));
  PetscCall(VecResetArray(in));
  PetscCall(VecResetArray(out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode SingleGrid::Reset()
{
  PetscFunctionBegin;
  PetscCall(VecDestroy(&in_));
  PetscCall(VecDestroy(&out_));
  A_ = nullptr;
  n_ = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SingleGrid::Read(Mat J, Vec X, bool *serves)
{
  PetscBool on_host, has;
  VecType   type;
  PetscInt  n;

  PetscFunctionBegin;
  *serves = false;
  PetscCall(MatHasOperation(J, MATOP_MULT, &has));
  PetscCall(MatGetVecType(J, &type));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)X, &on_host, VECSEQ, VECMPI, ""));
  const std::string of(type ? type : "");
  if (!has || !on_host || (of != VECSTANDARD && of != VECSEQ && of != VECMPI)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecGetLocalSize(X, &n));
  if (n_ != n || !in_) {
    PetscCall(Reset());
    PetscCall(VecDuplicate(X, &in_));
    PetscCall(VecDuplicate(X, &out_));
    TesseraCallCXX({
      for (auto *v : {&diagonal_, &inverse_, &b_, &lo_, &up_, &x_, &kept_, &r_, &v_, &p_, &q_, &s_, &free_})
        v->assign((size_t)n, 0);
      active_.assign((size_t)n, 0);
    });
    n_ = n;
  }
  PetscCall(PetscObjectGetComm((PetscObject)X, &comm_));
  A_ = J;
  PetscCall(VecGetSize(X, &n));
  all_ = (double)n;
  PetscCall(Judge(J, serves));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Rows whose product with scattered numbers is that of their diagonal entry alone have no couplings.
PetscErrorCode SingleGrid::Judge(Mat J, bool *serves)
{
  double   *ones = p_.data(), *sums = q_.data(), least = HUGE_VAL, below = 0;
  PetscInt first;

  PetscFunctionBegin;
  PetscCall(VecPlaceArray(out_, diagonal_.data()));
  PetscCall(MatGetDiagonal(J, out_));
  PetscCall(VecResetArray(out_));
  std::fill_n(ones, n_, 1.);
  PetscCall(Multiply(J, in_, out_, ones, sums));
  for (ptrdiff_t i = 0; i < n_; ++i) {
    const double d = diagonal_[(size_t)i], share = sums[i] / d;
    if (!(d > 0) || !std::isfinite(share)) least = -1;
    least = std::min(least, share);
    below += share < dominant;
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_DOUBLE, MPI_MIN, comm_));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &below, 1, MPI_DOUBLE, MPI_SUM, comm_));
  if (!(least >= least_sum && below <= exempt * all_)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecGetOwnershipRange(in_, &first, nullptr));
  for (ptrdiff_t i = 0; i < n_; ++i) v_[(size_t)i] = scattered(2 * (uint64_t)(first + i));
  PetscCall(Multiply(J, in_, out_, v_.data(), sums));
  for (size_t i = 0; i < (size_t)n_; ++i) {
    const bool alone = sums[i] == diagonal_[i] * v_[i];
    inverse_[i]      = alone ? 0 : 1 / diagonal_[i];
    v_[i]            = alone ? 0 : v_[i];
    p_[i]            = alone ? 0 : scattered(2 * (uint64_t)(first + (PetscInt)i) + 1);
  }
  PetscCall(Multiply(J, in_, out_, v_.data(), q_.data()));
  PetscCall(Multiply(J, in_, out_, p_.data(), s_.data()));
  double both[3] = {0, 0, 0}; // both ways, and their size
  for (size_t i = 0; i < (size_t)n_; ++i) {
    both[0] += p_[i] * q_[i];
    both[1] += v_[i] * s_[i];
    both[2] += diagonal_[i] * diagonal_[i] * (inverse_[i] > 0);
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, both, 3, MPI_DOUBLE, MPI_SUM, comm_));
  *serves = std::fabs(both[0] - both[1]) <= 1e-8 * std::sqrt(both[2]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void SingleGrid::multiply(const double *x, double *y)
{
  ++products_;
  if (Multiply(A_, in_, out_, x, y)) throw std::runtime_error("the product with the Jacobian has failed");
}

double SingleGrid::sum(double mine) const
{
  MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_DOUBLE, MPI_SUM, comm_);
  return mine;
}

// A rate that is nearly enough is followed to its end.
bool SingleGrid::hopeless(double now) const
{
  return products_ >= 3 * worth_ / 2 || products_ * std::log(first_ / target_) > worth_ * std::log(first_ / now);
}

void SingleGrid::forget()
{
  std::fill(active_.begin(), active_.end(), 0);
  failed_ = false;
}

bool SingleGrid::load(const double *F, const double *X, const double *XL, const double *XU, bool)
{
  bool moved = false;
  for (size_t i = 0; i < (size_t)n_; ++i) {
    lo_[i] = XL[i] - X[i];
    up_[i] = XU[i] - X[i];
    r_[i] = b_[i] = -F[i];
    x_[i]         = inverse_[i] > 0 ? 0 : std::min(std::max(b_[i] / diagonal_[i], lo_[i]), up_[i]);
    moved         = moved || x_[i] != 0;
  }
  products_ = 0;
  failed_   = false;
  if (sum(moved) > 0) {
    multiply(x_.data(), q_.data());
    for (size_t i = 0; i < (size_t)n_; ++i) r_[i] = b_[i] - q_[i];
    return true;
  }
  return false;
}

double SingleGrid::mark()
{
  double count[2] = {0, 0};
  for (size_t i = 0; i < (size_t)n_; ++i) {
    const double      to = x_[i] + inverse_[i] * r_[i];
    const signed char at = !(inverse_[i] > 0) ? 0 : to <= lo_[i] ? -1 : to >= up_[i] ? 1 : 0;
    count[0] += at != active_[i];
    active_[i] = at;
    free_[i]   = at ? 0 : inverse_[i];
    v_[i]      = at < 0 ? lo_[i] - x_[i] : at > 0 ? up_[i] - x_[i] : 0;
    count[1] += v_[i] != 0;
  }
  MPI_Allreduce(MPI_IN_PLACE, count, 2, MPI_DOUBLE, MPI_SUM, comm_);
  s_ = r_;
  if (count[1] > 0) {
    multiply(v_.data(), q_.data());
    for (size_t i = 0; i < (size_t)n_; ++i) s_[i] -= q_[i];
  }
  return count[0];
}

// Square of the residual that another active set will leave at x + v.
double SingleGrid::outdated() const
{
  const double *x = x_.data(), *v = v_.data(), *s = s_.data(), *lo = lo_.data(), *up = up_.data(),
               *free = free_.data();
  double        sum = 0;
  for (ptrdiff_t i = 0; i < n_; ++i) {
    const double to = x[i] + v[i], beyond = std::max(lo[i] - to, to - up[i]);
    const double left = active_[i] < 0 ? s[i] : active_[i] > 0 ? -s[i] : 0; // away from the bound
    const double miss = free[i] > 0 ? std::max(beyond, 0.) / free[i] : std::max(left, 0.);
    sum += miss * miss;
  }
  return sum;
}

// Adds to v what the free nodes need, as far as the active set is the right one. false: the operator is not positive
// definite.
bool SingleGrid::conjugate_gradients()
{
  double *v = v_.data(), *p = p_.data(), *s = s_.data(), sums[3] = {0, 0, 0}, before = 0;
  const double *q = q_.data(), *free = free_.data();
  for (ptrdiff_t i = 0; i < n_; ++i) {
    const double z = free[i] * s[i];
    sums[0] += s[i] * z;
    sums[1] += free[i] > 0 ? s[i] * s[i] : 0;
  }
  MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, comm_);
  const double end = enough * target_;
  for (int k = 0; sums[1] > end * end && sums[2] <= sums[1]; ++k) {
    if (products_ >= until_ && hopeless(std::sqrt(sums[1]))) break;
    const double beta = k ? sums[0] / before : 0;
#pragma omp simd
    for (ptrdiff_t i = 0; i < n_; ++i) p[i] = free[i] * s[i] + (k ? beta * p[i] : 0);
    before = sums[0];
    multiply(p, q_.data());
    const double pq = sum(dot(n_, p, q));
    if (!(pq > 0)) return false;
    const double alpha = before / pq;
    double       sz = 0, ss = 0;
#pragma omp simd reduction(+ : sz, ss)
    for (ptrdiff_t i = 0; i < n_; ++i) {
      v[i] += alpha * p[i];
      s[i] -= alpha * q[i];
      const double t = s[i] * s[i];
      sz += free[i] * t;
      ss += free[i] > 0 ? t : 0;
    }
    sums[0] = sz, sums[1] = ss, sums[2] = (k + 1) % looked ? 0 : outdated();
    MPI_Allreduce(MPI_IN_PLACE, sums, 3, MPI_DOUBLE, MPI_SUM, comm_);
  }
  return true;
}

// x := x + v between the bounds, with the residual there
void SingleGrid::correct()
{
  double left = 0; // nodes that the bounds stop
  for (size_t i = 0; i < (size_t)n_; ++i) {
    double to = x_[i] + v_[i];
    if (active_[i]) to = active_[i] < 0 ? lo_[i] : up_[i];
    const double in = std::min(std::max(to, lo_[i]), up_[i]);
    left += in != to;
    x_[i] = in;
  }
  if (sum(left) > 0) {
    multiply(x_.data(), q_.data());
    for (size_t i = 0; i < (size_t)n_; ++i) r_[i] = b_[i] - q_[i];
  } else std::swap(r_, s_);
}

Measure SingleGrid::cycle(bool, bool)
{
  double  changed = 0;
  Measure m;
  until_ = products_ + worth_ / cycles;
  for (int set = 0;; ++set) {
    changed += changed_ = mark();
    failed_ = !conjugate_gradients();
    if (failed_) break;
    correct();
    m = measure();
    if (products_ >= until_ || set == most_sets || !(m.natural > target_ * target_)) break;
  }
  m.changed = changed;
  return m;
}

void SingleGrid::aim(double first, double target, int worth)
{
  first_  = first;
  target_ = target;
  worth_  = worth;
}

Measure SingleGrid::measure()
{
  Measure m;
  for (size_t i = 0; i < (size_t)n_; ++i) m.add(-r_[i], x_[i], lo_[i], up_[i], diagonal_[i], zero_tolerance);
  for (size_t i = 0; i < (size_t)n_; ++i) m.moved += (b_[i] - r_[i]) * (b_[i] - r_[i]);
  m         = sum_over(comm_, m);
  m.changed = changed_;
  return m;
}

void SingleGrid::take(const double *X0, const double *Y)
{
  for (size_t i = 0; i < (size_t)n_; ++i) x_[i] = Y[i] - X0[i];
  multiply(x_.data(), q_.data());
  for (size_t i = 0; i < (size_t)n_; ++i) r_[i] = b_[i] - q_[i];
}

Moved SingleGrid::step(double t, const double *X0, const double *XL, const double *XU, const double *F, double *X)
{
  Moved m;
  for (size_t i = 0; i < (size_t)n_; ++i) {
    const double d = kept_[i];
    double       v = X0[i] + t * d;
    // a node at its bound is there exactly, whatever the rounding of differences
    if (v < XL[i] || (t == 1 && d == XL[i] - X0[i])) v = XL[i];
    if (v > XU[i] || (t == 1 && d == XU[i] - X0[i])) v = XU[i];
    X[i] = v;
    m.slope += F[i] * (v - X0[i]);
    m.step += (v - X0[i]) * (v - X0[i]);
  }
  return sum_over(comm_, m);
}

Point SingleGrid::look(const double *F, const double *X, const double *X0, const double *XL, const double *XU)
{
  Point p;
  for (size_t i = 0; i < (size_t)n_; ++i) {
    const double d = F[i] + r_[i];
    p.difference += d * d;
    p.F += F[i] * F[i];
    p.X += X[i] * X[i];
    if (X0) p.slope += F[i] * (X[i] - X0[i]);
    p.measure.add(F[i], 0, XL[i] - X[i], XU[i] - X[i], diagonal_[i], zero_tolerance);
  }
  return sum_over(comm_, p);
}

} // namespace tessera::vipmg
