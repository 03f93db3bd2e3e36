// Pieces of a matrix on the device.
#include "densegs/lcp_matrix.hpp"

namespace tessera::lcp {

namespace {

// 16 bytes an entry, those that are read in columns of A.
struct Gather {
  const double *a;
  ptrdiff_t     lda;
  const int    *index;
  double       *to, shift;
  int           n;
  HD void       operator()(int i, int j) const { to[(size_t)j * (size_t)n + (size_t)i] = a[(ptrdiff_t)index[j] * lda + index[i]] + (i == j ? shift : 0); }
};
struct Diagonal {
  const double *a;
  ptrdiff_t     lda;
  double       *to;
  HD void       operator()(int i, int) const { to[i] = a[(ptrdiff_t)i * (lda + 1)]; }
};

} // namespace

void gather_device(const Exec &exec, const double *a, ptrdiff_t lda, const int *index, int n, double shift, double *to) { forall(exec, Box{0, n, 0, n}, Gather{a, lda, index, to, shift, n}); }

void diagonal_device(const Exec &exec, const double *a, ptrdiff_t lda, int n, double *scratch) { forall(exec, Box{0, n, 0, 1}, Diagonal{a, lda, scratch}); }

} // namespace tessera::lcp
