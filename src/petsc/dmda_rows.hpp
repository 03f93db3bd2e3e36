// The local rows of an AIJ matrix on the host, by direction on the grid.
#pragma once
#include "petsc/dmda.hpp"
#include <cmath>
#include <cstring>
#include <petscmat.h>

namespace tessera::dmda {

struct Rows {
  const Grid           &grid;
  Box                   own;
  const PetscInt       *ia = nullptr, *ja = nullptr, *oia = nullptr, *oja = nullptr; // diagonal and off-diagonal block
  const PetscScalar    *a = nullptr, *oa = nullptr;
  std::vector<int>      ox, oy; // node of each off-diagonal column
  const PetscInt       *garray = nullptr;
  PetscInt              first = 0; // first row in PETSc's numbering
  OperatorReport       *report = nullptr;
  double                largest = 0; // diagonal entry
  Mat                   Ad = nullptr, Ao = nullptr;
  PetscInt              n = 0, on = 0; // rows of the two blocks

  explicit Rows(const Grid &g) : grid(g), own(g.owned()) { }

  PetscErrorCode Get(Mat A)
  {
    PetscBool seq, done = PETSC_FALSE;

    PetscFunctionBegin;
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &seq));
    if (seq) Ad = A;
    else PetscCall(MatMPIAIJGetSeqAIJ(A, &Ad, &Ao, &garray));
    PetscCall(MatGetRowIJ(Ad, 0, PETSC_FALSE, PETSC_FALSE, &n, &ia, &ja, &done));
    PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The rows of the matrix cannot be read");
    PetscCall(MatSeqAIJGetArrayRead(Ad, &a));
    if (Ao) {
      PetscCall(MatGetRowIJ(Ao, 0, PETSC_FALSE, PETSC_FALSE, &on, &oia, &oja, &done));
      PetscCall(MatSeqAIJGetArrayRead(Ao, &oa));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode Restore()
  {
    PetscBool done;

    PetscFunctionBegin;
    PetscCall(MatSeqAIJRestoreArrayRead(Ad, &a));
    PetscCall(MatRestoreRowIJ(Ad, 0, PETSC_FALSE, PETSC_FALSE, &n, &ia, &ja, &done));
    if (Ao) {
      PetscCall(MatSeqAIJRestoreArrayRead(Ao, &oa));
      PetscCall(MatRestoreRowIJ(Ao, 0, PETSC_FALSE, PETSC_FALSE, &on, &oia, &oja, &done));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  static int wrap(int d, int n, bool periodic)
  {
    if (periodic && d > 1 && d >= n - 1) d -= n;
    if (periodic && d < -1 && -d >= n - 1) d += n;
    return d;
  }
  int direction(int x, int y, int xc, int yc) const
  {
    const int dx = wrap(xc - x, grid.nx, grid.periodic_x), dy = wrap(yc - y, grid.ny, grid.periodic_y);
    return dx < -1 || dx > 1 || dy < -1 || dy > 1 ? -1 : 3 * (dy + 1) + dx + 1;
  }
  PetscInt row(int x, int y) const { return x - own.x0 + (PetscInt)(own.x1 - own.x0) * (y - own.y0); }
  void complain(OperatorReport::Kind kind, PetscInt row, PetscInt column, int x, int y, double v)
  {
    if (report->kind != OperatorReport::fine) return;
    report->kind   = kind;
    report->row    = first + row;
    report->column = column;
    report->x      = x;
    report->y      = y;
    report->value  = v;
  }
  // v[k * stride] is the coefficient of node (x, y) in direction k; complains of what does not belong there. Returns
  // whether there is an off-diagonal coefficient.
  bool read(int x, int y, double *v, ptrdiff_t stride)
  {
    const int      nx = own.x1 - own.x0;
    const PetscInt r  = row(x, y);
    double         check = 0, off = 0;
    for (int k = 0; k < 9; ++k) v[k * stride] = 0;
    for (PetscInt e = ia[r]; e < ia[r + 1]; ++e) {
      const int k = direction(x, y, own.x0 + (int)(ja[e] % nx), own.y0 + (int)(ja[e] / nx));
      check += a[e] * 0;
      if (k >= 0) v[k * stride] += a[e];
      else if (a[e] != 0) complain(OperatorReport::outside, r, first + ja[e], x, y, a[e]);
    }
    check += read_remote(x, y, v, stride);
    if (check != 0) complain(OperatorReport::not_finite, r, bad_column(r), x, y, check);
    if (!(v[4 * stride] > 0) && check == 0) complain(OperatorReport::diagonal, r, first + r, x, y, v[4 * stride]);
    for (int k = 0; k < 9; ++k)
      if (k != 4) off += fabs(v[k * stride]);
    return off != 0;
  }
  // Adds the couplings with other processes' nodes. Returns 0, or not a number if one is not finite.
  double read_remote(int x, int y, double *v, ptrdiff_t stride)
  {
    double check = 0;
    if (!oia) return 0;
    const PetscInt r = row(x, y);
    for (PetscInt e = oia[r]; e < oia[r + 1]; ++e) {
      const int k = direction(x, y, ox[(size_t)oja[e]], oy[(size_t)oja[e]]);
      check += oa[e] * 0;
      if (k >= 0) v[k * stride] += oa[e];
      else if (oa[e] != 0) complain(OperatorReport::outside, r, garray[oja[e]], x, y, oa[e]);
    }
    return check;
  }
  // The pattern of a row; false if it must be read by itself.
  bool pattern(int x, int y, RowRun &run) const
  {
    const int      nx = own.x1 - own.x0;
    const PetscInt r  = row(x, y);
    run               = {x - own.x0, 1, ia[r], -1, {}};
    if (ia[r + 1] - ia[r] > 9 || (oia && oia[r + 1] > oia[r])) return false;
    int seen = 0;
    for (PetscInt e = ia[r]; e < ia[r + 1]; ++e) {
      const int k = direction(x, y, own.x0 + (int)(ja[e] % nx), own.y0 + (int)(ja[e] / nx));
      if (k < 0 || seen & (1 << k)) return false;
      seen |= 1 << k;
      run.k[e - ia[r]] = (char)k;
    }
    run.entries = (int)(ia[r + 1] - ia[r]);
    return true;
  }
  // The runs of a line. A row continues a run where its columns lie as the columns of the row before, and neither of
  // the two is at an end of the line (where the same offset can be the next line).
  void line_runs(int y, std::vector<RowRun> &runs) const
  {
    for (int x = own.x0; x < own.x1; ++x) {
      RowRun run;
      bool   regular = pattern(x, y, run);
      if (regular && x > own.x0 && x < own.x1 - 1) { // may begin a run: how far does it go?
        PetscInt r = row(x, y), n = run.entries;
        for (; x + 1 < own.x1 - 1; ++x, ++r) {
          if (ia[r + 2] - ia[r + 1] != n || (oia && oia[r + 2] > oia[r + 1])) break;
          const PetscInt *here = ja + ia[r], *next = ja + ia[r + 1];
          bool            same = true;
          for (PetscInt e = 0; e < n; ++e) same = same && next[e] == here[e] + 1;
          if (!same) break;
          ++run.count;
        }
      }
      runs.push_back(run);
    }
  }
  // All coefficients of a line: v[k * nx + i], and which directions are in use.
  int read_line(int y, const RowRun *run, const RowRun *end, double *v)
  {
    const ptrdiff_t nx   = own.x1 - own.x0;
    int             used = 1 << 4;
    memset(v, 0, (size_t)(9 * nx) * sizeof(double));
    for (; run < end; ++run) {
      if (run->entries < 0) {
        read(own.x0 + run->first, y, v + run->first, nx);
        used = 0777;
        continue;
      }
      for (int e = 0; e < run->entries; ++e) {
        double            *to   = v + run->k[e] * nx + run->first;
        const PetscScalar *from = a + run->start + e;
        const int          n = run->count, s = run->entries;
        used |= 1 << run->k[e];
        if (s == 5) // the common case, with a stride that the compiler knows
          for (int i = 0; i < n; ++i) to[i] = from[5 * i];
        else
          for (int i = 0; i < n; ++i) to[i] = from[s * i];
      }
    }
    return used;
  }
  PetscInt bad_column(PetscInt row) const
  {
    for (PetscInt e = ia[row]; e < ia[row + 1]; ++e)
      if (!std::isfinite(a[e])) return first + ja[e];
    if (oia)
      for (PetscInt e = oia[row]; e < oia[row + 1]; ++e)
        if (!std::isfinite(oa[e])) return garray[oja[e]];
    return -1;
  }
};

} // namespace tessera::dmda
