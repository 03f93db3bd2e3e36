// The Dirichlet rows of a matrix in CSR, and the couplings with them: counted, then listed.
#include "box/csr_rows.hpp"

namespace tessera {

namespace {

using csr::CsrRows;
using csr::rows_of;

constexpr int piece = 32; // nodes of a line that are counted together

struct Nothing { // is said of couplings outside
  HD void operator()(Index, bool, double) const { }
};

struct Count {
  ptrdiff_t rows, nodes, couplings;
};

// Dirichlet rows and couplings of a piece: counted, then listed from the numbers that the scan left. The flags are
// read, and few rows of the matrix.
template <bool list> struct PieceKernel {
  CsrRows              A;
  const unsigned char *flag;
  Count               *count; // of each piece; list: of all pieces before it
  ptrdiff_t            pieces;
  View<double>         C;
  const double        *diagonal; // the array of C
  ptrdiff_t           *nodes, *start, *dirichlet, *rows;
  double              *value, *inverse;

  HD void operator()(int i, int y) const
  {
    Count &of = count[i + y * pieces], n{0, 0, 0};
    if (list) n = of;
    for (int x = i * piece; x < A.nx && x < (i + 1) * piece; ++x) {
      const Index r = A.row(x, y);
      if (flag[r]) {
        if (list) {
          rows[n.rows]    = r;
          inverse[n.rows] = 1 / C.at(A.x0 + x, A.y0 + y);
        }
        ++n.rows;
        continue;
      }
      Index  at[9];
      double v[9];
      bool   beside = false;
      for (int k = 0; k < 9; ++k) {
        at[k]  = A.neighbour(x, y, k);
        beside = beside || (at[k] >= 0 && flag[at[k]]);
      }
      if (!beside) continue;
      const ptrdiff_t before = n.couplings;
      A.read(x, y, v, 1, Nothing());
      for (int k = 0; k < 9; ++k) {
        if (at[k] < 0 || !flag[at[k]] || v[k] == 0) continue;
        if (list) {
          const double *const d  = &C.at(A.x0 + (int)(at[k] % A.nx), A.y0 + (int)(at[k] / A.nx));
          dirichlet[n.couplings] = d - diagonal;
          value[n.couplings]     = v[k] / *d;
        }
        ++n.couplings;
      }
      if (n.couplings == before) continue;
      if (list) {
        nodes[n.nodes] = r;
        start[n.nodes] = before;
      }
      ++n.nodes;
    }
    if (!list) of = n;
  }
};

// Sums of groups of counts, each of which becomes the sum of those before it in its group.
struct GroupKernel {
  Count    *count, *sum;
  ptrdiff_t n;
  HD void   operator()(int i, int j) const
  {
    const ptrdiff_t g = i + (ptrdiff_t)j * 4096;
    Count           s{0, 0, 0};
    if (g * piece >= n) return;
    for (ptrdiff_t k = g * piece; k < n && k < (g + 1) * piece; ++k) {
      const Count c = count[k];
      count[k]      = s;
      s.rows += c.rows;
      s.nodes += c.nodes;
      s.couplings += c.couplings;
    }
    sum[g] = s;
  }
};

struct AddKernel {
  Count       *count;
  const Count *before;
  ptrdiff_t    n;
  HD void      operator()(int i, int j) const
  {
    const ptrdiff_t k = i + (ptrdiff_t)j * 4096;
    if (k >= n) return;
    count[k].rows += before[k / piece].rows;
    count[k].nodes += before[k / piece].nodes;
    count[k].couplings += before[k / piece].couplings;
  }
};

Box wide(ptrdiff_t n) { return {0, 4096, 0, (int)((n + 4095) / 4096)}; }

// Each count becomes the sum of those before it; returns the sum of all.
Count scan(const Exec &exec, Count *count, ptrdiff_t n)
{
  const ptrdiff_t groups = (n + piece - 1) / piece;
  Buffer<Count>   sum;
  Count           total;
  sum.resize(Extent{(size_t)groups, exec.space});
  forall(exec, wide(groups), GroupKernel{count, sum.data(), n});
  if (groups > 1) {
    total = scan(exec, sum.data(), groups);
    forall(exec, wide(n), AddKernel{count, sum.data(), n});
  } else copy(sum.data(), exec.space, &total, Space::host, 1);
  return total;
}

} // namespace

DirichletCouplings CsrReader::list_dirichlet() const
{
  DirichletCouplings d;
  const Box          own = grid.owned();
  const int          pieces = (own.x1 - own.x0 + piece - 1) / piece;
  const Box          all{0, pieces, 0, own.y1 - own.y0};
  Buffer<Count>      count;
  count.resize(Extent{(size_t)all.size(), exec.space});
  forall(exec, all,
         PieceKernel<false>{rows_of(grid, A), work.dirichlet.data(), count.data(), pieces, s.C(), s.c.data(),
                                   nullptr, nullptr, nullptr, nullptr, nullptr, nullptr});
  const Count n = scan(exec, count.data(), all.size());
  d.any         = n.couplings > 0;
  d.rows.resize(Extent{(size_t)n.rows, exec.space});
  d.inverse.resize(Extent{(size_t)n.rows, exec.space});
  d.nodes.resize(Extent{(size_t)n.nodes, exec.space});
  d.start.resize(Extent{(size_t)n.nodes + 1, exec.space});
  d.dirichlet.resize(Extent{(size_t)n.couplings, exec.space});
  d.value.resize(Extent{(size_t)n.couplings, exec.space});
  forall(exec, all,
         PieceKernel<true>{rows_of(grid, A), work.dirichlet.data(), count.data(), pieces, s.C(), s.c.data(),
                                  d.nodes.data(), d.start.data(), d.dirichlet.data(), d.rows.data(), d.value.data(),
                                  d.inverse.data()});
  copy(&n.couplings, Space::host, d.start.data() + n.nodes, exec.space, 1);
  device::synchronize(exec.space); // n goes
  return d;
}

} // namespace tessera
