// The matrix of a problem: dense, by rows on some processes, on the host or on a device; or sparse. Vectors of a solve
// are whole on the host of every process: they are small beside the rows, so all decisions are made everywhere alike,
// and only what touches the matrix is distributed.
#pragma once
#include "exec/comm.hpp"
#include "exec/lapack.hpp"
#include "densegs/distributed.hpp"
#include "densegs/lcp_entries.hpp"

namespace tessera::lcp {

struct Matrix {
  int                 n    = 0;
  Exec                exec;            // where the rows are
  const double       *a    = nullptr;  // [first, first + rows) of them, by columns
  const Entries      *sparse = nullptr; // all of it, in place of a: every process works with the whole matrix
  ptrdiff_t           lda  = 0;
  Comm                comm;
  int                 rank = 0, size = 1;
  std::vector<int>    starts;          // row of each process, and n
  std::vector<double> diagonal;        // all of it
  double              asymmetry = 0, largest = 0; // densegs::Check has them

  int first() const { return starts[(size_t)rank]; }
  int rows() const { return starts[(size_t)rank + 1] - first(); }
  bool on_device() const { return exec.space == Space::cuda; }
  int owner(int row) const; // the process that has it

  // What create() makes, and room for products.
  Buffer<double>         own;
  mutable Buffer<double> operand, result;
};

// From the rows that this process has, in `where`, which have to stay there. block: unknowns that shall not be on two
// processes; where they are, their rows move. Says what it found: rows and columns of the whole matrix, on all
// processes alike. Collective.
densegs::Check create(Matrix &m, const Comm &comm, int rows, int n, const double *a, ptrdiff_t lda, Space where,
                      int block);

// From the entries of a whole matrix, which have to stay there; on every process alike.
densegs::Check create(Matrix &m, const Entries &entries);

void multiply(const Matrix &m, const double *q, const double *x, double *w);  // w := A x + q
void transposed(const Matrix &m, const double *y, double *w);                 // w := A'y
// its largest entry, but for a few that stand out, such as penalties; that of A where all of it is zero
double size_of_diagonal(const Matrix &m);
bool   sweepable(const Matrix &m); // no zero is on the diagonal
// every process has its rows of v: they go to all
void gather(const Matrix &m, double *v);
// The square blocks of `block` unknowns on the diagonal, one after the other, each by columns.
void blocks(const Matrix &m, int block, std::vector<double> &out);

// The rows and columns `index` (ascending) to the first process's host, by columns.
void gather_rows(const Matrix &m, const std::vector<int> &index, double *to);

// A at the rows and columns `index`, with a shift of each of them on the diagonal, factorised where the matrix is;
// several processes: by the first one, for all; a sparse one by each of them.
class Factor {
public:
  // false: singular
  bool   make(const Matrix &m, const std::vector<double> &shift, const std::vector<int> &index, bool symmetric);
  void   solve(double *b); // on the host, for all
  double smallest() const { return smallest_; } // least pivot over its diagonal entry, for Cholesky; 0 where it failed

private:
  void            gather(const std::vector<double> &shift);
  const Matrix   *matrix_ = nullptr;
  std::vector<int> index_;
  Buffer<int>     device_index_;
  Buffer<double>  right_, device_shift_;
  Factorisation   f_;
  SparseFactor    sparse_; // in its place
  double          smallest_ = 1;
};

// to(i, j) := a(index[i], index[j]) + shift[i] on the diagonal, where there are shifts; lcp_device.k.cxx.
void gather_device(const Exec &exec, const double *a, ptrdiff_t lda, const int *index, int n, const double *shift,
                   double *to);
// The diagonal of a matrix on the device, to the host.
void diagonal_device(const Exec &exec, const double *a, ptrdiff_t lda, int n, double *scratch);

// Momentum after sweeps from y to x, with t = 1 and last = y to begin with; x and y become where the next ones start,
// last what x was.
void momentum_device(const Exec &exec, int n, const double *lower, const double *upper, double *x, double *y,
                     double *last, double *t);

} // namespace tessera::lcp
