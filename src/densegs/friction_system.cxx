#include "densegs/friction_system.hpp"
#include <algorithm>

namespace tessera::lcp {

constexpr double sparse_below = 0.4;  // of the entries
constexpr int    dense_limit  = 5000; // unknowns of a dense factorisation

FrictionSystem::FrictionSystem(const Matrix &m, int d, const std::vector<double> &D) : m_(m), d_(d), D_(D)
{
  const bool here = m.size == 1 && (m.sparse || !m.on_device());
  affordable_     = here || m.n <= dense_limit;
  if (!affordable_) return;
  if (here) w_ = m.a, lda_ = m.lda;
  else gather();
  densegs::allocate(m.comm, [&] {
    if (m.sparse) return compress_columns();
    if (!m.rank) compress(w_, lda_);
    if (sparse_) gathered_ = std::vector<double>();
  });
  int affordable = m.rank || sparse_ || m.n <= dense_limit;
  if (m.size > 1) MPI_Bcast(&affordable, 1, MPI_INT, 0, m.comm);
  affordable_ = affordable;
  densegs::allocate(m.comm, [&] {
    if (!m.rank && !sparse_ && affordable_) dense_.reset(m.n, Space::host);
  });
}

// W to the first process
void FrictionSystem::gather()
{
  const size_t     n = (size_t)m_.n;
  std::vector<int> all(n);
  densegs::allocate(m_.comm, [&] {
    if (!m_.rank) gathered_.resize(n * n);
  });
  for (size_t i = 0; i < n; ++i) all[i] = (int)i;
  gather_rows(m_, all, gathered_.data());
  if (!m_.rank) w_ = gathered_.data(), lda_ = m_.n;
}

// The entries of a dense matrix that are not zero, and the blocks on its diagonal, where they are few.
void FrictionSystem::compress(const double *w, ptrdiff_t lda)
{
  const int             n = m_.n;
  const auto            entry = [&](int i, int j) { return w[(ptrdiff_t)j * lda + i]; };
  std::vector<PetscInt> start((size_t)n + 1, 0), column;
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) start[(size_t)i + 1] += entry(i, j) != 0 || i / d_ == j / d_;
  for (size_t i = 0; i < (size_t)n; ++i) start[i + 1] += start[i];
  if (!((double)start.back() < sparse_below * n * (double)n)) return;
  std::vector<PetscInt> next(start.begin(), start.end() - 1);
  column.resize((size_t)start.back());
  scaled_.resize(column.size());
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i)
      if (entry(i, j) != 0 || i / d_ == j / d_) {
        const size_t e = (size_t)next[(size_t)i]++;
        column[e]      = j;
        scaled_[e]     = entry(i, j) * D_[(size_t)i] * D_[(size_t)j];
      }
  sparse_.reset(new densegs::SparseLU(std::move(start), std::move(column)));
}

// The same of a matrix that is given by its entries.
void FrictionSystem::compress_columns()
{
  const Entries        &all = *m_.sparse;
  const size_t          n   = (size_t)m_.n;
  std::vector<PetscInt> start(n + 1, 0), column;
  const auto            own = [&](size_t j, auto &&visit) { // every row of column j, with the block of its contact
    const size_t first = j / (size_t)d_ * (size_t)d_;
    std::vector<bool> seen((size_t)d_, false);
    for (size_t e = all.start[j]; e < all.start[j + 1]; ++e) {
      const size_t i = (size_t)all.row[e];
      if (i - first < (size_t)d_) seen[i - first] = true;
      visit(i, all.value[e]);
    }
    for (size_t k = 0; k < (size_t)d_; ++k)
      if (!seen[k]) visit(first + k, 0.);
  };
  for (size_t j = 0; j < n; ++j) own(j, [&](size_t i, double) { ++start[i + 1]; });
  for (size_t i = 0; i < n; ++i) start[i + 1] += start[i];
  std::vector<PetscInt> next(start.begin(), start.end() - 1);
  column.resize((size_t)start.back());
  scaled_.resize(column.size());
  for (size_t j = 0; j < n; ++j)
    own(j, [&](size_t i, double v) {
      const size_t e = (size_t)next[i]++;
      column[e]      = (PetscInt)j;
      scaled_[e]     = v * D_[i] * D_[j];
    });
  sparse_.reset(new densegs::SparseLU(std::move(start), std::move(column)));
}

void FrictionSystem::fill_sparse(const std::vector<double> &blocks)
{
  double *const values = sparse_->values();
  const auto   &start  = sparse_->start();
  const auto   &column = sparse_->column();
  const size_t  d      = (size_t)d_;
  std::copy(scaled_.begin(), scaled_.end(), values);
  for (size_t i = 0; i < (size_t)m_.n; ++i) {
    const size_t c = i / d;
    for (size_t e = (size_t)start[i]; e < (size_t)start[i + 1]; ++e) {
      const size_t j = (size_t)column[e];
      if (j / d == c) values[e] += blocks[j * d + i - c * d];
    }
  }
}

void FrictionSystem::fill_dense(const std::vector<double> &blocks)
{
  double *const a = dense_.matrix();
  const size_t  n = (size_t)m_.n, d = (size_t)d_;
  for (size_t j = 0; j < n; ++j) {
    const double *w = w_ + (ptrdiff_t)j * lda_;
    for (size_t i = 0; i < n; ++i) a[j * n + i] = w[i] * D_[i] * D_[j];
    const size_t c = j / d * d;
    for (size_t i = 0; i < d; ++i) a[j * n + c + i] += blocks[j * d + i];
  }
}

bool FrictionSystem::factorise(const std::vector<double> &blocks)
{
  int fine = 1;
  if (!m_.rank) {
    if (sparse_) fill_sparse(blocks);
    else fill_dense(blocks);
    fine = sparse_ ? sparse_->factor() : dense_.lu();
  }
  if (m_.size > 1) MPI_Bcast(&fine, 1, MPI_INT, 0, m_.comm);
  return fine;
}

void FrictionSystem::solve(std::vector<double> &b)
{
  if (!m_.rank) {
    if (sparse_) sparse_->solve(b.data());
    else dense_.solve(b.data());
  }
  if (m_.size > 1) MPI_Bcast(b.data(), m_.n, MPI_DOUBLE, 0, m_.comm);
}

} // namespace tessera::lcp
