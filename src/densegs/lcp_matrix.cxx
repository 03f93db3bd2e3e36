#include "densegs/lcp_matrix.hpp"
#include <algorithm>
#include <cmath>

namespace tessera::lcp {

using densegs::Check;

int Matrix::owner(int row) const
{
  return (int)(std::upper_bound(starts.begin(), starts.end(), row) - starts.begin()) - 1;
}

void gather(const Matrix &m, double *v)
{
  if (m.size == 1) return;
  std::vector<int> counts((size_t)m.size);
  for (size_t r = 0; r < counts.size(); ++r) counts[r] = m.starts[r + 1] - m.starts[r];
  MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, v, counts.data(), m.starts.data(), MPI_DOUBLE, m.comm);
}

// Rows that belong to a contact whose first row another process has go there: at most block - 1 at every border.
static void align(Matrix &m, int block)
{
  std::vector<int> to(m.starts);
  for (int r = 1; r < m.size; ++r) to[(size_t)r] = std::min(m.n, (m.starts[(size_t)r] + block - 1) / block * block);
  if (to == m.starts) return;
  const int before = m.first(), rows = m.rows(), first = to[(size_t)m.rank], count = to[(size_t)m.rank + 1] - first;
  const ptrdiff_t ld = std::max(count, 1);
  Buffer<double>      own;
  std::vector<double> row;
  densegs::allocate(m.comm, [&] {
    own.resize(Extent{(size_t)ld * (size_t)m.n, Space::host});
    row.resize((size_t)m.n);
  });
  for (int j = 0; j < m.n; ++j)
    for (int i = std::max(before, first); i < std::min(before + rows, first + count); ++i)
      own.data()[j * ld + i - first] = m.a[j * m.lda + i - before];
  Matrix moved;
  moved.starts = to;
  for (int r = 1; r < m.size; ++r)
    for (int i = m.starts[(size_t)r]; i < to[(size_t)r]; ++i) {
      const int from = m.owner(i), target = moved.owner(i);
      if (from == m.rank) {
        for (int j = 0; j < m.n; ++j) row[(size_t)j] = m.a[j * m.lda + i - before];
        MPI_Send(row.data(), m.n, MPI_DOUBLE, target, m.comm.tag, m.comm);
      } else if (target == m.rank) {
        MPI_Recv(row.data(), m.n, MPI_DOUBLE, from, m.comm.tag, m.comm, MPI_STATUS_IGNORE);
        for (int j = 0; j < m.n; ++j) own.data()[j * ld + i - first] = row[(size_t)j];
      }
    }
  m.own    = std::move(own);
  m.a      = m.own.data();
  m.lda    = ld;
  m.starts = to;
}

// Of this process's rows: what is not finite, and the largest entry and difference inside its square
// block.
static Check check_rows(const Matrix &m, double *difference)
{
  Check     c;
  const int first = m.first(), rows = m.rows();
  for (int j = 0; j < m.n && c.bad_row < 0; ++j)
    for (int i = 0; i < rows; ++i) {
      const double v = m.a[j * m.lda + i];
      if (!std::isfinite(v)) {
        c.bad_row    = first + i;
        c.bad_column = j;
        break;
      }
      c.largest = std::max(c.largest, std::fabs(v));
    }
  for (int i = 0; i < rows && c.bad_row < 0; ++i)
    for (int j = 0; j < i; ++j)
      *difference = std::max(*difference, std::fabs(m.a[(first + j) * m.lda + i] - m.a[(first + i) * m.lda + j]));
  return c;
}

Check create(Matrix &m, const Comm &comm, int rows, int n, const double *a, ptrdiff_t lda, Space where, int block)
{
  Check c;
  m.n    = n;
  m.comm = comm;
  MPI_Comm_rank(comm, &m.rank);
  MPI_Comm_size(comm, &m.size);
  m.starts = densegs::row_starts(comm, rows);
  m.a      = a;
  m.lda    = lda;
  m.diagonal.resize((size_t)n);
  if (m.on_device()) {
    if (where == Space::host) {
      // the last column ends with its last row
      m.own.resize(Extent{n ? (size_t)(n - 1) * (size_t)lda + (size_t)n : 0, Space::cuda});
      device::copy_from_host(m.own.data(), a, m.own.bytes());
      m.a = m.own.data();
    }
    c = densegs::check_device(m.a, n, lda);
    m.operand.resize(Extent{(size_t)n, Space::cuda});
    m.result.resize(Extent{(size_t)n, Space::cuda});
    diagonal_device(m.exec, m.a, lda, n, m.result.data());
    if (n) device::copy_to_host(m.diagonal.data(), m.result.data(), m.result.bytes());
  } else if (m.size == 1) {
    c = densegs::check_host(a, n, lda);
    for (int i = 0; i < n; ++i) m.diagonal[(size_t)i] = a[i * (lda + 1)];
  } else {
    if (block > 1) align(m, block);
    double difference = 0;
    c = check_rows(m, &difference);
    // The first row that is wrong, on all processes.
    int bad = c.bad_row < 0 ? n : c.bad_row, first_bad, column = c.bad_column;
    MPI_Allreduce(&bad, &first_bad, 1, MPI_INT, MPI_MIN, comm);
    if (first_bad < n) {
      MPI_Bcast(&column, 1, MPI_INT, m.owner(first_bad), comm);
      c.bad_row    = first_bad;
      c.bad_column = column;
      return c;
    }
    for (int i = 0; i < m.rows(); ++i) m.diagonal[(size_t)(m.first() + i)] = m.a[(m.first() + i) * m.lda + i];
    gather(m, m.diagonal.data());
    densegs::Distributed d;
    d.comm  = comm;
    d.rank  = m.rank;
    d.size  = m.size;
    d.first = m.starts;
    d.a     = m.a;
    d.lda   = m.lda;
    double mine[2] = {c.largest, std::max(difference, densegs::difference_across(d))}, maxima[2];
    MPI_Allreduce(mine, maxima, 2, MPI_DOUBLE, MPI_MAX, comm);
    c.largest   = maxima[0];
    c.asymmetry = c.largest > 0 ? maxima[1] / c.largest : 0;
  }
  m.asymmetry = c.asymmetry;
  m.largest   = c.largest;
  return c;
}

// The columns of A whose x is not zero, four at a time. 8 bytes of memory for a multiplication.
static void multiply_rows(const Matrix &m, const double *x, double *w)
{
  const int rows = m.rows();
  for (int j = 0; j < m.n;) {
    int at[4], count = 0;
    for (; j < m.n && count < 4; ++j)
      if (x[j] != 0) at[count++] = j;
    if (count == 4) {
      const double *a = m.a + at[0] * m.lda, *b = m.a + at[1] * m.lda, *c = m.a + at[2] * m.lda,
                   *d  = m.a + at[3] * m.lda;
      const double  xa = x[at[0]], xb = x[at[1]], xc = x[at[2]], xd = x[at[3]];
#pragma omp simd
      for (int i = 0; i < rows; ++i) w[i] += (a[i] * xa + b[i] * xb) + (c[i] * xc + d[i] * xd);
    } else
      for (int k = 0; k < count; ++k) {
        const double *a = m.a + at[k] * m.lda;
#pragma omp simd
        for (int i = 0; i < rows; ++i) w[i] += a[i] * x[at[k]];
      }
  }
}

void multiply(const Matrix &m, const double *q, const double *x, double *w)
{
  if (m.on_device()) {
    if (!m.n) return;
    device::copy_from_host(m.operand.data(), x, m.operand.bytes());
    product(Space::cuda, false, m.n, m.n, m.a, m.lda, m.operand.data(), m.result.data());
    device::copy_to_host(w, m.result.data(), m.result.bytes());
    for (int i = 0; i < m.n; ++i) w[i] += q[i];
    return;
  }
  // q comes last: an x so large that A x loses it makes w = q, and not zero
  std::fill(w + m.first(), w + m.first() + m.rows(), 0);
  if (m.sparse) multiply_entries(*m.sparse, m.n, x, w);
  else multiply_rows(m, x, w + m.first());
  for (int i = m.first(); i < m.first() + m.rows(); ++i) w[i] += q[i];
  gather(m, w);
}

void transposed(const Matrix &m, const double *y, double *w)
{
  if (m.on_device()) {
    if (!m.n) return;
    device::copy_from_host(m.operand.data(), y, m.operand.bytes());
    product(Space::cuda, true, m.n, m.n, m.a, m.lda, m.operand.data(), m.result.data());
    device::copy_to_host(w, m.result.data(), m.result.bytes());
    return;
  }
  if (m.sparse) return transposed_entries(*m.sparse, m.n, y, w);
  const double *mine = y + m.first();
  for (int j = 0; j < m.n; ++j) {
    const double *column = m.a + j * m.lda;
    double        s = 0;
    for (int i = 0; i < m.rows(); ++i) s += column[i] * mine[i];
    w[j] = s;
  }
  if (m.size > 1) MPI_Allreduce(MPI_IN_PLACE, w, m.n, MPI_DOUBLE, MPI_SUM, m.comm);
}

double size_of_diagonal(const Matrix &A)
{
  std::vector<double> d; // entries that are no rounding errors of the largest
  double              largest = 0;
  for (double v : A.diagonal) largest = std::max(largest, std::fabs(v));
  for (double v : A.diagonal)
    if (std::fabs(v) > 1e-14 * largest) d.push_back(std::fabs(v));
  if (d.empty()) return A.largest;
  const auto middle = d.begin() + (ptrdiff_t)(d.size() / 2);
  std::nth_element(d.begin(), middle, d.end());
  return std::min(largest, 1e3 * *middle);
}

bool sweepable(const Matrix &m)
{
  return std::all_of(m.diagonal.begin(), m.diagonal.end(), [](double v) { return v > 0; });
}

void blocks(const Matrix &m, int block, std::vector<double> &out)
{
  const int d = block;
  out.assign((size_t)m.n * (size_t)d, 0);
  for (int j = 0; m.sparse && j < m.n; ++j)
    for (size_t e = m.sparse->start[(size_t)j]; e < m.sparse->start[(size_t)j + 1]; ++e) {
      const int i = m.sparse->row[e];
      if (i / d == j / d) out[(size_t)(j * d + i % d)] = m.sparse->value[e];
    }
  if (m.sparse) return;
  for (int i = 0; i < m.rows(); ++i)
    for (int b = 0; b < d; ++b) {
      const int row = m.first() + i, c = row / d;
      out[((size_t)c * (size_t)d + (size_t)b) * (size_t)d + (size_t)(row - c * d)] =
        m.a[(ptrdiff_t)(c * d + b) * m.lda + i];
    }
  if (m.size == 1) return;
  std::vector<int> counts((size_t)m.size), places((size_t)m.size); // whole blocks: create() has seen to it
  for (size_t r = 0; r < counts.size(); ++r)
    counts[r] = (m.starts[r + 1] - m.starts[r]) * d, places[r] = m.starts[r] * d;
  MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out.data(), counts.data(), places.data(), MPI_DOUBLE, m.comm);
}

void gather_rows(const Matrix &m, const std::vector<int> &index, double *to)
{
  const int n = (int)index.size();
  if (m.on_device()) {
    if (!n) return;
    Buffer<int>    rows(Extent{(size_t)n, Space::cuda});
    Buffer<double> piece(Extent{(size_t)n * (size_t)n, Space::cuda});
    device::copy_from_host(rows.data(), index.data(), rows.bytes());
    gather_device(m.exec, m.a, m.lda, rows.data(), n, nullptr, piece.data());
    device::copy_to_host(to, piece.data(), piece.bytes());
    return;
  }
  if (m.size == 1) {
    for (int j = 0; j < n; ++j) {
      const double *column = m.a + index[(size_t)j] * m.lda;
      double       *out    = to + (size_t)j * (size_t)n;
      for (int i = 0; i < n; ++i) out[i] = column[index[(size_t)i]];
    }
    return;
  }
  // Each process has some of the rows; columns go at a time, as many as an int counts.
  std::vector<int> at((size_t)m.size + 1), counts((size_t)m.size), places((size_t)m.size);
  for (size_t r = 0; r < at.size(); ++r)
    at[r] = (int)(std::lower_bound(index.begin(), index.end(), m.starts[r]) - index.begin());
  const int first = at[(size_t)m.rank], rows = at[(size_t)m.rank + 1] - first,
            step = std::max(1, std::min(n, (1 << 24) / std::max(n, 1)));
  std::vector<double> mine, all;
  densegs::allocate(m.comm, [&] {
    mine.resize((size_t)rows * (size_t)step);
    all.resize(m.rank ? 0 : (size_t)n * (size_t)step);
  });
  for (int j0 = 0; j0 < n; j0 += step) {
    const int columns = std::min(step, n - j0);
    for (int j = 0; j < columns; ++j)
      for (int i = 0; i < rows; ++i)
        mine[(size_t)j * (size_t)rows + (size_t)i] =
          m.a[index[(size_t)(j0 + j)] * m.lda + index[(size_t)(first + i)] - m.first()];
    for (size_t r = 0; r < counts.size(); ++r) counts[r] = (at[r + 1] - at[r]) * columns, places[r] = at[r] * columns;
    MPI_Gatherv(mine.data(), rows * columns, MPI_DOUBLE, all.data(), counts.data(), places.data(), MPI_DOUBLE, 0,
                m.comm);
    if (m.rank) continue;
    for (size_t r = 0; r < counts.size(); ++r) {
      const int height = at[r + 1] - at[r];
      for (int j = 0; j < columns; ++j)
        std::copy(all.begin() + places[r] + (ptrdiff_t)j * height,
                  all.begin() + places[r] + (ptrdiff_t)(j + 1) * height, to + (size_t)(j0 + j) * (size_t)n + at[r]);
    }
  }
}

void Factor::gather(const std::vector<double> &shift)
{
  const Matrix &m = *matrix_;
  const int     n = (int)index_.size();
  if (m.on_device()) {
    f_.reset(n, Space::cuda);
    device::copy_from_host(device_shift_.data(), shift.data(), shift.size() * sizeof(double));
    return gather_device(m.exec, m.a, m.lda, device_index_.data(), n, device_shift_.data(), f_.matrix());
  }
  densegs::allocate(m.comm, [&] {
    if (!m.rank) f_.reset(n, Space::host);
  });
  gather_rows(m, index_, f_.matrix());
  if (!m.rank)
    for (size_t i = 0; i < (size_t)n; ++i) f_.matrix()[i * ((size_t)n + 1)] += shift[i];
}

bool Factor::make(const Matrix &m, const std::vector<double> &shift, const std::vector<int> &index, bool symmetric)
{
  matrix_   = &m;
  index_    = index;
  smallest_ = 1;
  if (index.empty()) return true;
  if (m.sparse) return sparse_.make(*m.sparse, shift, index);
  if (m.on_device()) {
    if (device_index_.size() < index.size()) {
      device_index_.resize(Extent{(size_t)m.n, Space::cuda});
      device_shift_.resize(Extent{(size_t)m.n, Space::cuda});
    }
    device::copy_from_host(device_index_.data(), index.data(), index.size() * sizeof(int));
  }
  bool done = false;
  if (symmetric) {
    gather(shift);
    if (!m.rank && f_.cholesky()) {
      std::vector<double> l;
      f_.diagonal(l);
      done = true;
      for (size_t i = 0; i < l.size(); ++i) {
        const double d = m.diagonal[(size_t)index_[i]] + shift[i];
        if (!(l[i] * l[i] >= smallest_ * d)) smallest_ = l[i] * l[i] / d;
      }
    }
    if (m.size > 1) {
      double told[2] = {(double)done, smallest_};
      MPI_Bcast(told, 2, MPI_DOUBLE, 0, m.comm);
      done      = told[0] != 0;
      smallest_ = told[1];
    }
    if (done) return true;
    smallest_ = 0; // not positive definite
  }
  gather(shift);
  int fine = m.rank || f_.lu();
  if (m.size > 1) MPI_Bcast(&fine, 1, MPI_INT, 0, m.comm);
  return fine;
}

void Factor::solve(double *b)
{
  const Matrix &m = *matrix_;
  const size_t  n = index_.size();
  if (!n) return;
  if (m.sparse) return sparse_.solve(b);
  if (m.on_device()) {
    if (right_.size() < n) right_.resize(Extent{(size_t)m.n, Space::cuda});
    device::copy_from_host(right_.data(), b, n * sizeof(double));
    f_.solve(right_.data());
    device::copy_to_host(b, right_.data(), n * sizeof(double));
    return;
  }
  if (!m.rank) f_.solve(b);
  if (m.size > 1) MPI_Bcast(b, (int)n, MPI_DOUBLE, 0, m.comm);
}

} // namespace tessera::lcp
