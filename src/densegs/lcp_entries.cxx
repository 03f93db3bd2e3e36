#include "densegs/lcp_matrix.hpp"
#include "densegs/sparse_lu.hpp"
#include <algorithm>
#include <cmath>

namespace tessera::lcp {

using densegs::Check;

namespace {

// a(i, j), 0 where it is no entry.
double entry(const Entries &a, int i, int j)
{
  const auto begin = a.row.begin() + (ptrdiff_t)a.start[(size_t)j],
             end   = a.row.begin() + (ptrdiff_t)a.start[(size_t)j + 1], at = std::lower_bound(begin, end, i);
  return at != end && *at == i ? a.value[(size_t)(at - a.row.begin())] : 0;
}

} // namespace

Check create(Matrix &m, const Entries &entries)
{
  Check  c;
  double difference = 0;
  m.n      = (int)entries.start.size() - 1;
  m.sparse = &entries;
  m.starts = {0, m.n};
  m.diagonal.assign((size_t)m.n, 0);
  for (int j = 0; j < m.n; ++j)
    for (size_t e = entries.start[(size_t)j]; e < entries.start[(size_t)j + 1]; ++e) {
      const double v = entries.value[e];
      const int    i = entries.row[e];
      if (!std::isfinite(v) && (c.bad_row < 0 || i < c.bad_row)) c.bad_row = i, c.bad_column = j;
      c.largest  = std::max(c.largest, std::fabs(v));
      difference = std::max(difference, std::fabs(v - entry(entries, j, i)));
      if (i == j) m.diagonal[(size_t)j] = v;
    }
  c.asymmetry = c.largest > 0 ? difference / c.largest : 0;
  m.largest   = c.largest;
  m.asymmetry = c.asymmetry;
  return c;
}

void multiply_entries(const Entries &a, int n, const double *x, double *w)
{
  for (int j = 0; j < n; ++j)
    for (size_t e = a.start[(size_t)j]; x[j] != 0 && e < a.start[(size_t)j + 1]; ++e) w[a.row[e]] += a.value[e] * x[j];
}

void transposed_entries(const Entries &a, int n, const double *y, double *w)
{
  for (int j = 0; j < n; ++j) {
    double s = 0;
    for (size_t e = a.start[(size_t)j]; e < a.start[(size_t)j + 1]; ++e) s += a.value[e] * y[a.row[e]];
    w[j] = s;
  }
}

void sweep_entries(const Entries &a, const std::vector<double> &diagonal, const std::vector<int> &order, double omega,
                   const double *lower, const double *upper, double *x, double *w)
{
  for (int j : order) {
    const double next = std::min(std::max(x[j] - omega * w[j] / diagonal[(size_t)j], lower[j]), upper[j]),
                 step = next - x[j];
    if (step == 0) continue;
    x[j] = next;
    for (size_t e = a.start[(size_t)j]; e < a.start[(size_t)j + 1]; ++e) w[a.row[e]] += a.value[e] * step;
  }
}

SparseFactor::SparseFactor()  = default;
SparseFactor::~SparseFactor() = default;

void SparseFactor::solve(double *b) { lu_->solve(b); }

void SparseFactor::pattern(const Entries &a, const std::vector<int> &index)
{
  const size_t          n = index.size();
  std::vector<int>      place(a.start.size(), -1); // of an unknown among those of the factor
  std::vector<PetscInt> start(n + 1, 0), column;
  for (size_t k = 0; k < n; ++k) place[(size_t)index[k]] = (int)k;
  // Every entry of column k, with its row among these; the diagonal's is there.
  const auto visit = [&](size_t k, auto &&take) {
    bool seen = false;
    for (size_t e = a.start[(size_t)index[k]]; e < a.start[(size_t)index[k] + 1]; ++e) {
      const int i = place[(size_t)a.row[e]];
      if (i < 0) continue;
      if (!seen && i > (int)k) take(k, none);
      seen = seen || i >= (int)k;
      take((size_t)i, e);
    }
    if (!seen) take(k, none);
  };
  for (size_t k = 0; k < n; ++k) visit(k, [&](size_t i, size_t) { ++start[i + 1]; });
  for (size_t i = 0; i < n; ++i) start[i + 1] += start[i];
  std::vector<PetscInt> next(start.begin(), start.end() - 1);
  column.resize((size_t)start.back());
  from_.resize(column.size());
  diagonal_.resize(n);
  for (size_t k = 0; k < n; ++k)
    visit(k, [&](size_t i, size_t e) {
      const size_t at = (size_t)next[i]++;
      column[at]      = (PetscInt)k;
      from_[at]       = e;
      if (i == k) diagonal_[k] = at;
    });
  lu_.reset(new densegs::SparseLU(std::move(start), std::move(column)));
  index_ = index;
}

bool SparseFactor::make(const Entries &a, const std::vector<double> &shift, const std::vector<int> &index)
{
  if (!lu_ || index != index_) pattern(a, index);
  double *const values = lu_->values();
  for (size_t at = 0; at < from_.size(); ++at) values[at] = from_[at] == none ? 0 : a.value[from_[at]];
  for (size_t k = 0; k < index.size(); ++k) values[diagonal_[k]] += shift[k];
  return lu_->factor();
}

} // namespace tessera::lcp
