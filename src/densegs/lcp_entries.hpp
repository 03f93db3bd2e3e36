// A sparse matrix of a problem by its entries, all of which every process has: products, sweeps, and factorisations of
// some of its rows and columns.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tessera::densegs {
class SparseLU; // PETSc's, whose headers kernels need not see
}

namespace tessera::lcp {

// Column by column, with ascending rows.
struct Entries {
  std::vector<size_t> start;
  std::vector<int>    row;
  std::vector<double> value;
};

void multiply_entries(const Entries &a, int n, const double *x, double *w);   // w += A x
void transposed_entries(const Entries &a, int n, const double *y, double *w); // w := A'y

// Gauss-Seidel in this order, w = A x + q following x. 24 bytes per entry.
void sweep_entries(const Entries &a, const std::vector<double> &diagonal, const std::vector<int> &order, double omega,
                   const double *lower, const double *upper, double *x, double *w);

// A at the rows and columns `index` (ascending), with a shift of each of them on the diagonal. What depends on the
// pattern is kept as long as `index` stays.
class SparseFactor {
public:
  SparseFactor();
  ~SparseFactor();
  // false: singular
  bool make(const Entries &a, const std::vector<double> &shift, const std::vector<int> &index);
  void solve(double *b);

private:
  static constexpr size_t none = SIZE_MAX;
  void pattern(const Entries &a, const std::vector<int> &index);

  std::vector<int>                   index_;
  std::vector<size_t>                from_, diagonal_; // the entry of each value, or none; each diagonal entry's place
  std::unique_ptr<densegs::SparseLU> lu_;
};

} // namespace tessera::lcp
