#include "vipmg/single_grid.hpp"
#include "petsc/device.hpp"
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace tessera::vipmg {

namespace {

// Conjugate gradients are tried where the sums of rows, as a share of their diagonal entries, are large enough: twice
// the inverse of the least one bounds the condition number of an M-matrix scaled by its diagonal. Some rows, of nodes
// at slivers, may have less: these cost a few steps.
constexpr double few       = 6.5;  // conjugate gradients take so many products, divided by the root of such a share
constexpr double least_sum = 1e-6;
constexpr double exempt    = 0.05; // a share of all rows
constexpr int    cycles    = 10;   // that have all the products that are worth it
constexpr int    max_sets = 20;   // in a cycle
constexpr int    looked    = 4;    // steps of conjugate gradients between two looks at the active set
constexpr double enough    = 0.3;  // of the target

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
  for (auto *v : {&diagonal_, &inverse_, &b_, &lo_, &up_, &x_, &kept_, &r_, &v_, &p_, &q_, &s_, &free_})
    std::vector<double>().swap(*v);
  n_ = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SingleGrid::Read(Mat J, Vec X, int worth, bool *serves)
{
  PetscBool on_host, has;
  VecType   type;
  PetscInt  n, all;

  PetscFunctionBegin;
  *serves    = false;
  A_         = J;
  aim_.worth = worth;
  PetscCall(MatHasOperation(J, MATOP_MULT, &has));
  if (has) PetscCall(MatHasOperation(J, MATOP_GET_DIAGONAL, &has));
  PetscCall(MatGetVecType(J, &type));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)X, &on_host, VECSEQ, VECMPI, ""));
  const std::string fits(type ? type : "");
  if (!has || !on_host || (fits != VECSTANDARD && fits != VECSEQ && fits != VECMPI)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectGetComm((PetscObject)X, &comm_));
  PetscCall(VecGetLocalSize(X, &n));
  PetscCall(VecGetSize(X, &all));
  int other = n_ != n; // of one process alone, perhaps, but vectors are made by all
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &other, 1, MPI_INT, MPI_MAX, comm_));
  if (other) PetscCall(Reset());
  n_   = n;
  all_ = (double)all;
  PetscCall(Sample(serves));
  if (!*serves) PetscFunctionReturn(PETSC_SUCCESS);
  if (!in_) PetscCall(VecDuplicate(X, &in_));
  if (!out_) PetscCall(VecDuplicate(X, &out_));
  PetscCall(CheckRowSums(X, serves));
  if (!*serves) PetscCall(Reset()); // no memory for what has no use
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The steps of conjugate gradients are about as many as the root of the condition number.
double SingleGrid::dominant() const { return (few / aim_.worth) * (few / aim_.worth); }

// A product with the matrix is spared where some of its rows say that it is not worth it.
PetscErrorCode SingleGrid::Sample(bool *serves)
{
  constexpr PetscInt rows = 100;
  double             counts[2] = {0, 0}; // rows looked at, and those that are not dominant
  PetscInt           first, n;
  const PetscInt    *columns;
  const PetscScalar *a;
  PetscBool          aij;

  PetscFunctionBegin;
  *serves = true;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A_, &aij, MATSEQAIJ, MATMPIAIJ, ""));
  if (!aij) PetscFunctionReturn(PETSC_SUCCESS); // rows of others cost more, or are halves
  PetscCall(MatGetOwnershipRange(A_, &first, nullptr));
  for (ptrdiff_t k = 0; k < PetscMin(rows, n_); ++k) {
    const PetscInt row = first + (PetscInt)(k * n_ / PetscMin(rows, n_));
    double         sum = 0, diagonal = 0;
    PetscCall(MatGetRow(A_, row, &n, &columns, &a));
    for (PetscInt j = 0; j < n; ++j) {
      sum += a[j];
      if (columns[j] == row) diagonal = a[j];
    }
    PetscCall(MatRestoreRow(A_, row, &n, &columns, &a));
    counts[0] += 1;
    counts[1] += !(sum >= dominant() * diagonal);
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, counts, 2, MPI_DOUBLE, MPI_SUM, comm_));
  *serves = counts[1] <= 0.5 * counts[0];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SingleGrid::CheckRowSums(Vec X, bool *serves)
{
  double             counts[2] = {0, 0}; // rows that are not dominant, and rows of no use
  Vec                diagonal;
  const PetscScalar *d, *sums;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(X, &diagonal));
  PetscCall(MatGetDiagonal(A_, diagonal));
  PetscCall(VecSet(in_, 1));
  PetscCall(MatMult(A_, in_, out_));
  PetscCall(VecGetArrayRead(diagonal, &d));
  PetscCall(VecGetArrayRead(out_, &sums));
  for (ptrdiff_t i = 0; i < n_; ++i) {
    const double relative = sums[i] / d[i];
    counts[0] += relative < dominant();
    counts[1] += !(d[i] > 0 && relative >= least_sum && relative < HUGE_VAL);
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, counts, 2, MPI_DOUBLE, MPI_SUM, comm_));
  *serves = counts[0] <= exempt * all_ && counts[1] == 0;
  if (*serves) TesseraCallCXX(allocate(d, sums));
  PetscCall(VecRestoreArrayRead(diagonal, &d));
  PetscCall(VecRestoreArrayRead(out_, &sums));
  PetscCall(VecDestroy(&diagonal));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Rows whose sum is their diagonal entry are taken to have no couplings. Where they have some that cancel each other,
// the residual stays and the hierarchy takes over.
void SingleGrid::allocate(const double *diagonal, const double *sums)
{
  for (auto *v : {&diagonal_, &inverse_, &b_, &lo_, &up_, &x_, &kept_, &r_, &v_, &p_, &q_, &s_, &free_})
    v->resize((size_t)n_);
  active_.resize((size_t)n_);
  for (size_t i = 0; i < (size_t)n_; ++i) {
    diagonal_[i] = diagonal[i];
    inverse_[i]  = sums[i] == diagonal[i] ? 0 : 1 / diagonal[i];
  }
}

void SingleGrid::multiply(const double *x, double *y)
{
  ++aim_.products;
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
  const Aim &a = aim_;
  return a.products >= 3 * a.worth / 2 || a.products * std::log(a.first / a.target) > a.worth * std::log(a.first / now);
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
  aim_.products = 0;
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
  const double end = enough * aim_.target;
  for (int k = 0; sums[1] > end * end && sums[2] <= sums[1]; ++k) {
    if (aim_.products >= aim_.until && hopeless(std::sqrt(sums[1]))) break;
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
  aim_.until = aim_.products + aim_.worth / cycles;
  for (int set = 0;; ++set) {
    changed += changed_ = mark();
    failed_ = !conjugate_gradients();
    if (failed_) break;
    correct();
    m = measure();
    if (aim_.products >= aim_.until || set == max_sets || !(m.natural > aim_.target * aim_.target)) break;
  }
  m.changed = changed;
  return m;
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

void SingleGrid::set_correction(const double *X0, const double *Y)
{
  for (size_t i = 0; i < (size_t)n_; ++i) x_[i] = Y[i] - X0[i];
  multiply(x_.data(), q_.data());
  for (size_t i = 0; i < (size_t)n_; ++i) r_[i] = b_[i] - q_[i];
}

Moved SingleGrid::step(double t, const double *X0, const double *XL, const double *XU, const double *F, double *X)
{
  Moved m;
  for (size_t i = 0; i < (size_t)n_; ++i) {
    X[i] = step_to(X0[i], XL[i], XU[i], kept_[i], t);
    m.add(F[i], X[i] - X0[i]);
  }
  return sum_over(comm_, m);
}

Point SingleGrid::evaluate(const double *F, const double *X, const double *X0, const double *XL, const double *XU)
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
