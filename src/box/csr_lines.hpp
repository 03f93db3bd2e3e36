// A matrix in CSR as a stencil, read by the host line by line.
#pragma once
#include "box/csr_rows.hpp"
#include <vector>

namespace tessera {

// Where the columns of consecutive rows lie alike they are a run, whose entries are copied without a look at their
// columns. A line's coefficients are kept until the Dirichlet rows of the next line are known. Nodes (x, y) count from
// the first node of the grid.
class CsrLines {
public:
  explicit CsrLines(const CsrReader &reader);
  CsrReport          read(bool raise);
  double             asymmetry_outside();
  void               keep_row_sums();
  DirichletCouplings dirichlet(Space space);

private:
  bool inside(int xn, int yn) const
  {
    return (grid_.periodic_x || (xn >= 0 && xn < grid_.nx)) && (grid_.periodic_y || (yn >= 0 && yn < grid_.ny));
  }
  template <class Visit> void perimeter(const Visit &visit) const
  {
    for (int y = own_.y0; y < own_.y1; ++y)
      for (int x = own_.x0; x < own_.x1; x += y == own_.y0 || y == own_.y1 - 1 || nx_ == 1 ? 1 : nx_ - 1) visit(x, y);
  }
  bool      find_pattern(int x, int y, RowRun &run) const;
  void      find_runs(int y);
  void      complain(WrongRow::Kind kind, ptrdiff_t column, bool others, int x, int y, double value);
  bool      read_row(int x, int y, double *v, ptrdiff_t stride);
  void      complain_of_numbers(int x, int y, double check, double diagonal);
  int       copy_runs(int y, double *v);
  void      exchange_dirichlet();
  void      read_line(int y);
  void      sum_couplings(int used);
  void      find_dirichlet(int y);
  void      advance();
  void      take_dirichlet_couplings(int y);
  void      raise_row_sums();

  const csr::CsrRows         rows_;
  const Grid                &grid_;
  Halo                      &halo_;
  Stencil                   &s_;
  CsrWork                   &work_;
  double                    *field_;
  const View<double>         f_; // of field_: which nodes have Dirichlet rows
  const Box                  own_;
  const int                  nx_;
  CsrReport                  report_;
  std::vector<unsigned char> flags_[3];            // of lines y - 1, y, y + 1, from x0 - 1: Dirichlet rows
  std::vector<double>        lines_[2], sums_;     // coefficients of lines y and y + 1; row sums of |couplings|
  int                        present_[2] = {0, 0}; // the directions with couplings on these two lines
};

} // namespace tessera
