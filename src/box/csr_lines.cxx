// A matrix in CSR as a stencil, read by the host line by line.
#include "box/csr_lines.hpp"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace tessera {

CsrLines::CsrLines(const CsrReader &reader) :
  rows_(csr::rows_of(reader.grid, reader.A)), grid_(reader.grid), halo_(reader.halo), s_(reader.s), work_(reader.work),
  field_(reader.field), f_(s_.layout.view(field_)), own_(grid_.owned()), nx_(rows_.nx)
{
}

// The pattern of a row; false if it must be read by itself.
bool CsrLines::find_pattern(int x, int y, RowRun &run) const
{
  const Csr  &A = rows_.A;
  const Index r = rows_.row(x, y), start = A.i[r], end = A.i[r + 1];
  int         seen = 0;
  run = {x, 1, (ptrdiff_t)start, -1, {}};
  if (end - start > 9 || (A.oi && A.oi[r + 1] > A.oi[r])) return false;
  for (Index e = start; e < end; ++e) {
    const int k = rows_.direction(x, y, A.j[e]);
    if (k < 0 || seen & (1 << k)) return false;
    seen |= 1 << k;
    run.k[e - start] = (char)k;
  }
  run.entries = (int)(end - start);
  return true;
}

// The runs of a line; x and y count from the box's first node. A row continues a run where its columns lie as the
// columns of the row before, and neither of the two is at an end of the line (where the same offset can be the next
// line).
void CsrLines::find_runs(int y)
{
  const Csr &A = rows_.A;
  for (int x = 0; x < nx_; ++x) {
    RowRun run;
    bool   regular = find_pattern(x, y, run);
    if (regular && x > 0 && x < nx_ - 1) { // may begin a run: how far does it go?
      Index r = rows_.row(x, y), n = run.entries;
      for (; x + 1 < nx_ - 1; ++x, ++r) {
        if (A.i[r + 2] - A.i[r + 1] != n || (A.oi && A.oi[r + 2] > A.oi[r + 1])) break;
        const Index *here = A.j + A.i[r], *next = A.j + A.i[r + 1];
        bool         same = true;
        for (Index e = 0; e < n; ++e) same = same && next[e] == here[e] + 1;
        if (!same) break;
        ++run.count;
      }
    }
    work_.runs.push_back(run);
  }
  work_.line_runs.push_back(work_.runs.size());
}

void CsrLines::complain(WrongRow::Kind kind, ptrdiff_t column, bool others, int x, int y, double value)
{
  if (work_.wrong.kind != WrongRow::fine) return;
  work_.wrong = {kind, (ptrdiff_t)rows_.row(x - own_.x0, y - own_.y0), column, others, x, y, value};
}

void CsrLines::complain_of_numbers(int x, int y, double check, double diagonal)
{
  const Csr  &A = rows_.A;
  const Index r = rows_.row(x - own_.x0, y - own_.y0);
  if (check == 0) return diagonal > 0 ? (void)0 : complain(WrongRow::diagonal, r, false, x, y, diagonal);
  for (Index e = A.i[r]; e < A.i[r + 1]; ++e)
    if (!std::isfinite(A.a[e])) return complain(WrongRow::not_finite, A.j[e], false, x, y, check);
  for (Index e = A.oi ? A.oi[r] : 0, end = A.oi ? A.oi[r + 1] : 0; e < end; ++e)
    if (!std::isfinite(A.oa[e])) return complain(WrongRow::not_finite, A.oj[e], true, x, y, check);
}

// The coefficients of a row; complains of what does not belong there. Returns whether there is an off-diagonal one.
bool CsrLines::read_row(int x, int y, double *v, ptrdiff_t stride)
{
  const auto outside = [&](Index column, bool others, double a) {
    complain(WrongRow::outside, column, others, x, y, a);
  };
  const double check = rows_.read(x - own_.x0, y - own_.y0, v, stride, outside);
  double       off   = 0;
  complain_of_numbers(x, y, check, v[4 * stride]);
  for (int k = 0; k < 9; ++k)
    if (k != 4) off += fabs(v[k * stride]);
  return off != 0;
}

// All coefficients of a line: v[k * nx + i], and which directions are in use.
int CsrLines::copy_runs(int y, double *v)
{
  const size_t    line = (size_t)(y - own_.y0);
  const ptrdiff_t nx   = nx_;
  const RowRun   *run = work_.runs.data() + work_.line_runs[line], *end = work_.runs.data() + work_.line_runs[line + 1];
  int             used = 1 << 4;
  memset(v, 0, (size_t)(9 * nx) * sizeof(double));
  for (; run < end; ++run) {
    if (run->entries < 0) {
      read_row(own_.x0 + run->first, y, v + run->first, nx);
      used = 0777;
      continue;
    }
    for (int e = 0; e < run->entries; ++e) {
      double       *to   = v + run->k[e] * nx + run->first;
      const double *from = rows_.A.a + run->start + e;
      const int     n = run->count, stride = run->entries;
      used |= 1 << run->k[e];
      if (stride == 5) // the common case, with a stride that the compiler knows
        for (int i = 0; i < n; ++i) to[i] = from[5 * i];
      else
        for (int i = 0; i < n; ++i) to[i] = from[stride * i];
    }
  }
  return used;
}

// Which nodes have Dirichlet rows: read() finds own ones line by line, neighbours' come through the field.
void CsrLines::exchange_dirichlet()
{
  double row[9];
  if (halo_.empty()) return;
  memset(field_, 0, s_.layout.elements(4) * sizeof(double));
  perimeter([&](int x, int y) { f_.at(x, y) = !read_row(x, y, row, 1); });
  halo_.exchange(f_, mask_all);
}

CsrReport CsrLines::read(bool raise)
{
  work_.wrong = WrongRow();
  work_.taken.clear(), work_.dirichlet_rows.clear(), work_.inverse.clear();
  if (work_.line_runs.empty()) {
    work_.line_runs.push_back(0);
    for (int y = 0; y < rows_.ny; ++y) find_runs(y);
  }
  for (auto &l : flags_) l.assign((size_t)(nx_ + 2), 0);
  for (auto &l : lines_) l.resize((size_t)9 * nx_ + 1);
  sums_.resize((size_t)nx_);
  exchange_dirichlet();
  if (!own_.empty()) {
    read_line(own_.y0 - 1);
    advance();
    read_line(own_.y0);
    advance();
  }
  for (int y = own_.y0; y < own_.y1; ++y) {
    read_line(y + 1);
    bool any_flag = false;
    for (auto &l : flags_) any_flag = any_flag || memchr(l.data(), 1, l.size());
    if (any_flag) take_dirichlet_couplings(y);
    if (raise) raise_row_sums();
    const double *w[9];
    for (int k = 0; k < 9; ++k) w[k] = lines_[0].data() + (size_t)k * nx_;
    report_.asymmetry = std::max(report_.asymmetry, stencil_add_line(s_, own_, y, w, present_[0]));
    advance();
  }
  report_.dirichlet = (ptrdiff_t)work_.dirichlet_rows.size();
  report_.wrong     = work_.wrong.kind != WrongRow::fine;
  report_.nine      = s_.nine;
  return report_;
}

// The line behind the current one: its coefficients, where it is an own one, and its Dirichlet rows.
void CsrLines::read_line(int y)
{
  const bool mine = y >= own_.y0 && y < own_.y1;
  auto      &flag = flags_[2];
  std::fill(flag.begin(), flag.end(), 0);
  if (!halo_.empty()) {
    if (!mine)
      for (int x = own_.x0 - 1; x <= own_.x1; ++x) flag[(size_t)(x - own_.x0 + 1)] = f_.at(x, y) != 0;
    else {
      flag[0]                 = f_.at(own_.x0 - 1, y) != 0;
      flag[(size_t)(nx_ + 1)] = f_.at(own_.x1, y) != 0;
    }
  }
  if (!mine) return;
  sum_couplings(copy_runs(y, lines_[1].data()));
  find_dirichlet(y);
}

void CsrLines::sum_couplings(int used)
{
  double *sum = sums_.data();
  present_[1] = 0;
  std::fill(sums_.begin(), sums_.end(), 0);
  for (int k = 0; k < 9; ++k) {
    if (k == 4 || !(used & (1 << k))) continue;
    const double *v   = lines_[1].data() + (size_t)k * nx_;
    double        all = 0;
    const int     nx  = nx_;
#pragma omp simd reduction(+ : all)
    for (int i = 0; i < nx; ++i) {
      sum[i] += fabs(v[i]);
      all += fabs(v[i]);
    }
    if (all != 0) present_[1] |= 1 << k;
  }
}

// Dirichlet rows have no couplings. Names a row of the line that is wrong.
void CsrLines::find_dirichlet(int y)
{
  const int     nx  = nx_;
  const double *sum = sums_.data(), *d = lines_[1].data() + 4 * (size_t)nx;
  double        check = 0, low = std::numeric_limits<double>::max(), largest = report_.largest, row[9];
  for (int i = 0; i < nx; ++i) {
    check += 0 * (sum[i] + d[i]);
    low     = d[i] < low ? d[i] : low;
    largest = sum[i] != 0 && d[i] > largest ? d[i] : largest; // Dirichlet rows have scales of their own
  }
  report_.largest = largest;
  if (check != 0 || !(low > 0)) // find the row
    for (int x = own_.x0; x < own_.x1; ++x) read_row(x, y, row, 1);
  for (int i = 0; i < nx; ++i) {
    if (sum[i] != 0) continue;
    flags_[2][(size_t)(i + 1)] = 1;
    work_.dirichlet_rows.push_back(i + (ptrdiff_t)nx * (y - own_.y0));
    work_.inverse.push_back(1 / d[i]);
  }
}

void CsrLines::advance()
{
  std::swap(flags_[0], flags_[1]);
  std::swap(flags_[1], flags_[2]);
  std::swap(lines_[0], lines_[1]);
  present_[0] = present_[1];
}

// Couplings with Dirichlet rows leave the operator.
void CsrLines::take_dirichlet_couplings(int y)
{
  for (int k = 0; k < 9; ++k) {
    if (k == 4 || !(present_[0] & (1 << k))) continue;
    const unsigned char *flag = flags_[1 + direction_dy(k)].data() + 1 + direction_dx(k);
    double              *v    = lines_[0].data() + (size_t)k * nx_;
    for (int i = 0; i < nx_; ++i)
      if (flag[i] && v[i] != 0) {
        work_.taken.push_back({own_.x0 + i, y, k, v[i]});
        v[i] = 0;
      }
  }
}

// A negative row sum comes off the row's diagonal entry.
void CsrLines::raise_row_sums()
{
  double *w = lines_[0].data(), *d = w + (size_t)4 * nx_;
  for (int i = 0; i < nx_; ++i) {
    double sum = 0;
    for (int k = 0; k < 9; ++k) sum += w[(size_t)k * nx_ + i];
    if (sum >= 0) continue;
    report_.deficit = std::max(report_.deficit, -sum / d[i]);
    d[i] -= sum;
  }
}

// Symmetry across the boundaries of the box, of joined couplings: a_ij against the mean.
double CsrLines::asymmetry_outside()
{
  double row[9], asymmetry = 0;
  perimeter([&](int x, int y) {
    if (!read_row(x, y, row, 1)) return;
    for (int k = 0; k < 9; ++k) {
      const int xn = x + direction_dx(k), yn = y + direction_dy(k);
      if (k == 4 || own_.contains(xn, yn) || (direction_dx(k) && direction_dy(k) && !s_.nine)) continue;
      if (!inside(xn, yn) || f_.at(xn, yn) != 0) continue;
      asymmetry = std::max(asymmetry, 2 * fabs(*s_.slot(x, y, k) - row[k]));
    }
  });
  return asymmetry;
}

// The mean of the matrix and its transpose with the row sums of the matrix: what averaging adds to a row's couplings
// comes off its diagonal entry, else strong couplings of a neighbour's row would make the operator indefinite.
void CsrLines::keep_row_sums()
{
  double row[9];
  memset(field_, 0, s_.layout.elements(4) * sizeof(double));
  for (ptrdiff_t r : work_.dirichlet_rows) f_.at(own_.x0 + (int)(r % nx_), own_.y0 + (int)(r / nx_)) = 1;
  halo_.exchange(f_, mask_all);
  for (int y = own_.y0; y < own_.y1; ++y)
    for (int x = own_.x0; x < own_.x1; ++x) {
      if (!read_row(x, y, row, 1)) continue;
      for (int k = 0; k < 9; ++k) {
        const int xn = x + direction_dx(k), yn = y + direction_dy(k);
        if (k == 4 || (direction_dx(k) && direction_dy(k) && !s_.nine)) continue;
        if (!inside(xn, yn) || f_.at(xn, yn) != 0) continue;
        s_.C().at(x, y) += row[k] - *s_.slot(x, y, k);
      }
    }
  halo_.exchange(s_.C(), mask_all);
}

DirichletCouplings CsrLines::dirichlet(Space space)
{
  std::vector<DirichletEntry> entries;
  bool                        remote = false;
  for (const TakenCoupling &t : work_.taken) {
    const int       xd = t.x + direction_dx(t.k), yd = t.y + direction_dy(t.k);
    const ptrdiff_t row = t.x - own_.x0 + (ptrdiff_t)nx_ * (t.y - own_.y0);
    entries.push_back({row, &f_.at(xd, yd) - field_, t.value / s_.C().at(xd, yd)});
    remote = remote || !own_.contains(xd, yd);
  }
  DirichletCouplings d = dirichlet_couplings(space, std::move(entries), work_.dirichlet_rows, work_.inverse);
  d.any                = !work_.taken.empty();
  d.remote             = remote;
  return d;
}

} // namespace tessera
