// An assembled matrix as stencil coefficients, read by the host line by line.
#include "petsc/dmda.hpp"
#include "box/tuning.hpp"
#include "petsc/dmda_rows.hpp"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace tessera {

namespace {

using dmda::Rows;

// Adds the operator to a stencil, line by line: a line's coefficients are kept until the Dirichlet rows of the next
// line are known.
class LineReading {
public:
  LineReading(Rows &rows, Stencil &s, Halo &halo, double *field);
  void exchange_dirichlet();
  void read(const std::vector<RowRun> &runs, const std::vector<size_t> &line_runs, bool raise);
  void join();
  void keep_row_sums();
  DirichletCouplings dirichlet(Space space);

  double                 asymmetry = 0, deficit = 0;
  std::vector<ptrdiff_t> dirichlet_rows;
  bool                   any = false, elsewhere = false; // couplings with Dirichlet rows; with other processes' ones

private:
  struct Found { // a coupling with a Dirichlet row
    int    x, y, k;
    double value;
  };
  bool inside(int xn, int yn) const
  {
    const Grid &g = rows_.grid;
    return (g.periodic_x || (xn >= 0 && xn < g.nx)) && (g.periodic_y || (yn >= 0 && yn < g.ny));
  }
  template <class Visit> void perimeter(const Visit &visit) const
  {
    for (int y = own_.y0; y < own_.y1; ++y)
      for (int x = own_.x0; x < own_.x1; x += y == own_.y0 || y == own_.y1 - 1 || nx_ == 1 ? 1 : nx_ - 1) visit(x, y);
  }
  void read_line(int y, const std::vector<RowRun> &runs, const std::vector<size_t> &line_runs);
  void sum_couplings(int used);
  void find_dirichlet(int y);
  void advance();
  void take_dirichlet_couplings(int y);
  void raise_row_sums();

  Rows                      &rows_;
  Stencil                   &s_;
  Halo                      &halo_;
  double                    *field_;
  const View<double>         f_; // of field_: which nodes have Dirichlet rows
  const Box                  own_;
  const int                  nx_;
  const bool                 remote_;
  std::vector<unsigned char> flags_[3];           // of lines y - 1, y, y + 1, from x0 - 1: Dirichlet rows
  std::vector<double>        lines_[2], sums_;    // coefficients of lines y and y + 1; row sums of |couplings|
  int                        present_[2] = {0, 0}; // the directions with couplings on these two lines
  std::vector<double>        inverse_;            // of the Dirichlet rows' diagonal entries
  std::vector<Found>         found_;
};

LineReading::LineReading(Rows &rows, Stencil &s, Halo &halo, double *field) :
  rows_(rows), s_(s), halo_(halo), field_(field), f_(s.layout.view(field)), own_(rows.own), nx_(own_.x1 - own_.x0),
  remote_(!halo.empty())
{
  for (auto &l : flags_) l.assign((size_t)(nx_ + 2), 0);
  for (auto &l : lines_) l.resize((size_t)9 * nx_ + 1);
  sums_.resize((size_t)nx_);
}

// Which nodes have Dirichlet rows: read() finds own ones line by line, neighbours' come through the field.
void LineReading::exchange_dirichlet()
{
  double row[9];
  if (!remote_) return;
  memset(field_, 0, s_.layout.elements(4) * sizeof(double));
  perimeter([&](int x, int y) { f_.at(x, y) = !rows_.read(x, y, row, 1); });
  halo_.exchange(f_, mask_all);
}

void LineReading::read(const std::vector<RowRun> &runs, const std::vector<size_t> &line_runs, bool raise)
{
  if (!own_.empty()) {
    read_line(own_.y0 - 1, runs, line_runs);
    advance();
    read_line(own_.y0, runs, line_runs);
    advance();
  }
  for (int y = own_.y0; y < own_.y1; ++y) {
    read_line(y + 1, runs, line_runs);
    bool any_flag = false;
    for (auto &l : flags_) any_flag = any_flag || memchr(l.data(), 1, l.size());
    if (any_flag) take_dirichlet_couplings(y);
    if (raise) raise_row_sums();
    const double *w[9];
    for (int k = 0; k < 9; ++k) w[k] = lines_[0].data() + (size_t)k * nx_;
    asymmetry = std::max(asymmetry, stencil_add_line(s_, own_, y, w, present_[0]));
    advance();
  }
  any = !found_.empty();
}

// The line behind the current one: its coefficients, where it is an own one, and its Dirichlet rows.
void LineReading::read_line(int y, const std::vector<RowRun> &runs, const std::vector<size_t> &line_runs)
{
  const bool mine = y >= own_.y0 && y < own_.y1;
  auto      &flag = flags_[2];
  std::fill(flag.begin(), flag.end(), 0);
  if (remote_) {
    if (!mine)
      for (int x = own_.x0 - 1; x <= own_.x1; ++x) flag[(size_t)(x - own_.x0 + 1)] = f_.at(x, y) != 0;
    else {
      flag[0]                 = f_.at(own_.x0 - 1, y) != 0;
      flag[(size_t)(nx_ + 1)] = f_.at(own_.x1, y) != 0;
    }
  }
  if (!mine) return;
  const size_t l = (size_t)(y - own_.y0);
  sum_couplings(rows_.read_line(y, runs.data() + line_runs[l], runs.data() + line_runs[l + 1], lines_[1].data()));
  find_dirichlet(y);
}

void LineReading::sum_couplings(int used)
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
void LineReading::find_dirichlet(int y)
{
  const int     nx  = nx_;
  const double *sum = sums_.data(), *d = lines_[1].data() + 4 * (size_t)nx;
  double        check = 0, low = PETSC_MAX_REAL, largest = rows_.largest, row[9];
  for (int i = 0; i < nx; ++i) {
    check += 0 * (sum[i] + d[i]);
    low     = d[i] < low ? d[i] : low;
    largest = sum[i] != 0 && d[i] > largest ? d[i] : largest; // Dirichlet rows have scales of their own
  }
  rows_.largest = largest;
  if (check != 0 || !(low > 0)) // find the row
    for (int x = own_.x0; x < own_.x1; ++x) rows_.read(x, y, row, 1);
  for (int i = 0; i < nx; ++i) {
    if (sum[i] != 0) continue;
    flags_[2][(size_t)(i + 1)] = 1;
    dirichlet_rows.push_back(i + (ptrdiff_t)nx * (y - own_.y0));
    inverse_.push_back(1 / d[i]);
  }
}

void LineReading::advance()
{
  std::swap(flags_[0], flags_[1]);
  std::swap(flags_[1], flags_[2]);
  std::swap(lines_[0], lines_[1]);
  present_[0] = present_[1];
}

// Couplings with Dirichlet rows leave the operator.
void LineReading::take_dirichlet_couplings(int y)
{
  for (int k = 0; k < 9; ++k) {
    if (k == 4 || !(present_[0] & (1 << k))) continue;
    const unsigned char *flag = flags_[1 + direction_dy(k)].data() + 1 + direction_dx(k);
    double              *v    = lines_[0].data() + (size_t)k * nx_;
    for (int i = 0; i < nx_; ++i)
      if (flag[i] && v[i] != 0) {
        found_.push_back({own_.x0 + i, y, k, v[i]});
        v[i] = 0;
      }
  }
}

// A negative row sum comes off the row's diagonal entry.
void LineReading::raise_row_sums()
{
  double *w = lines_[0].data(), *d = w + (size_t)4 * nx_;
  for (int i = 0; i < nx_; ++i) {
    double sum = 0;
    for (int k = 0; k < 9; ++k) sum += w[(size_t)k * nx_ + i];
    if (sum >= 0) continue;
    deficit = std::max(deficit, -sum / d[i]);
    d[i] -= sum;
  }
}

// Halves of couplings between processes meet at the owner of the coupling.
void LineReading::join()
{
  double row[9];
  if (!remote_) return;
  for (int k = 0; k < 4; ++k) halo_.fold(s_.E(k), mask_o | mask_a | mask_b);
  if (s_.nine)
    for (int k = 0; k < 4; ++k) halo_.fold(s_.G(k), mask_a);
  s_.exchange(halo_);
  // Symmetry across the boundaries: a_ij against the mean.
  perimeter([&](int x, int y) {
    if (!rows_.read(x, y, row, 1)) return;
    for (int k = 0; k < 9; ++k) {
      const int xn = x + direction_dx(k), yn = y + direction_dy(k);
      if (k == 4 || own_.contains(xn, yn) || (direction_dx(k) && direction_dy(k) && !s_.nine)) continue;
      if (!inside(xn, yn) || f_.at(xn, yn) != 0) continue;
      asymmetry = std::max(asymmetry, 2 * fabs(*s_.slot(x, y, k) - row[k]));
    }
  });
}

// The mean of the matrix and its transpose with the row sums of the matrix: what averaging adds to a row's couplings
// comes off its diagonal entry, else strong couplings of a neighbour's row would make the operator indefinite.
void LineReading::keep_row_sums()
{
  double row[9];
  memset(field_, 0, s_.layout.elements(4) * sizeof(double));
  for (ptrdiff_t r : dirichlet_rows) f_.at(own_.x0 + (int)(r % nx_), own_.y0 + (int)(r / nx_)) = 1;
  halo_.exchange(f_, mask_all);
  for (int y = own_.y0; y < own_.y1; ++y)
    for (int x = own_.x0; x < own_.x1; ++x) {
      if (!rows_.read(x, y, row, 1)) continue;
      for (int k = 0; k < 9; ++k) {
        const int xn = x + direction_dx(k), yn = y + direction_dy(k);
        if (k == 4 || (direction_dx(k) && direction_dy(k) && !s_.nine)) continue;
        if (!inside(xn, yn) || f_.at(xn, yn) != 0) continue;
        s_.C().at(x, y) += row[k] - *s_.slot(x, y, k);
      }
    }
  halo_.exchange(s_.C(), mask_all);
}

DirichletCouplings LineReading::dirichlet(Space space)
{
  std::vector<DirichletEntry> entries;
  for (const Found &e : found_) {
    const int xd = e.x + direction_dx(e.k), yd = e.y + direction_dy(e.k);
    const ptrdiff_t row = e.x - own_.x0 + (ptrdiff_t)nx_ * (e.y - own_.y0);
    entries.push_back({row, &f_.at(xd, yd) - field_, e.value / s_.C().at(xd, yd)});
    elsewhere = elsewhere || !own_.contains(xd, yd);
  }
  return dirichlet_couplings(space, std::move(entries), dirichlet_rows, inverse_);
}

// One report for all processes, of the first of them that has found something wrong.
PetscErrorCode ReduceReport(MPI_Comm comm, const Grid &grid, const LineReading &reading, DirichletCouplings &dirichlet,
                            OperatorReport &report)
{
  const int me = report.kind != OperatorReport::fine ? grid.processes() - grid.rank : 0;
  int       mine[3] = {reading.elsewhere, reading.any, me}, all[3];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(mine, all, 3, MPI_INT, MPI_MAX, comm));
  dirichlet.remote = all[0];
  dirichlet.any    = all[1];
  if (all[2] > 0) {
    const int who      = grid.processes() - all[2];
    PetscInt  where[5] = {(PetscInt)report.kind, report.row, report.column, report.x, report.y};
    PetscCallMPI(MPI_Bcast(where, 5, MPIU_INT, who, comm));
    PetscCallMPI(MPI_Bcast(&report.value, 1, MPIU_REAL, who, comm));
    report.kind   = (OperatorReport::Kind)where[0];
    report.row    = where[1];
    report.column = where[2];
    report.x      = where[3];
    report.y      = where[4];
  }
  PetscInt count = (PetscInt)reading.dirichlet_rows.size();
  PetscCallMPI(MPI_Allreduce(&count, &report.dirichlet, 1, MPIU_INT, MPI_SUM, comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode GridMatrix::ReadOnHost(Space space, Halo &halo, double *field, bool raise, Stencil &s,
                                      DirichletCouplings &dirichlet, OperatorReport &report)
{
  Rows rows(grid_);

  PetscFunctionBegin;
  report = OperatorReport();
  PetscCall(SameError(comm_, rows.Get(A_)));
  if (rows.Ao) {
    PetscInt columns;
    PetscCall(MatGetSize(rows.Ao, nullptr, &columns));
    remote_nodes(columns, rows.garray, rows.ox, rows.oy);
  }
  rows.first  = first_[(size_t)grid_.rank];
  rows.report = &report;
  if (line_runs_.empty()) {
    line_runs_.push_back(0);
    for (int y = rows.own.y0; y < rows.own.y1; ++y) {
      rows.line_runs(y, runs_);
      line_runs_.push_back(runs_.size());
    }
  }

  LineReading reading(rows, s, halo, field);
  reading.exchange_dirichlet();
  reading.read(runs_, line_runs_, raise);
  int nine = s.nine, all_nine; // all processes agree on 5 or 9 points
  PetscCallMPI(MPI_Allreduce(&nine, &all_nine, 1, MPI_INT, MPI_MAX, comm_));
  if (all_nine) s.make_nine();
  reading.join();
  double mine[3] = {reading.asymmetry, rows.largest, reading.deficit}, all[3];
  PetscCallMPI(MPI_Allreduce(mine, all, 3, MPI_DOUBLE, MPI_MAX, comm_));
  report.asymmetry = all[1] > 0 ? all[0] / all[1] : 0;
  report.largest   = all[1];
  report.deficit   = all[2];
  if (report.asymmetry > tuning::symmetric) reading.keep_row_sums();
  TesseraCallCXX(dirichlet = reading.dirichlet(space));
  PetscCall(rows.Restore());
  PetscCall(ReduceReport(comm_, grid_, reading, dirichlet, report));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera
