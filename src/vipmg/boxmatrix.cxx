#include "vipmg/boxmatrix.hpp"
#include "vipmg/stencil3.hpp"
#include <algorithm>
#include <array>
#include <cmath>
#include <petscmat.h>

namespace tessera::vipmg {

PetscErrorCode BoxMatrix::Reset()
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&converted_));
  boxes_.clear();
  grid_         = GridDescription();
  coefficients_ = Buffer<double>();
  free_         = Buffer<uint8_t>();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AsDMDA(DM dm, DM *da)
{
  PetscBool is = PETSC_FALSE;

  PetscFunctionBegin;
  if (*da || !dm) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompare((PetscObject)dm, DMDA, &is));
  if (is) *da = dm;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BoxMatrix::Describe(PetscObject solver, const char *who, DM dm, Vec X, Mat J, GridDescription &grid)
{
  DM              da = nullptr, of_vector = nullptr, of_matrix = nullptr;
  PetscInt        dim, n[3], p[3], dof, m, local = 1, wrong, any, at;
  DMBoundaryType  b[3];
  const PetscInt *l[3], *ranges;
  MPI_Comm        comm = PetscObjectComm(solver);
  PetscReal       nodes = 1;
  int             rank;

  PetscFunctionBegin;
  grid = GridDescription();
  PetscCall(VecGetDM(X, &of_vector));
  if (J) PetscCall(MatGetDM(J, &of_matrix));
  for (DM d : {dm, of_vector, of_matrix}) PetscCall(AsDMDA(d, &da));
  if (!da) { // what the DM is, if there is one
    DMType type = nullptr;
    for (DM d : {dm, of_vector, of_matrix})
      if (d && !type) PetscCall(DMGetType(d, &type));
    SETERRQ(comm, PETSC_ERR_ARG_WRONGSTATE,
            "%s needs the grid of the problem, and neither the solver, the solution vector nor the matrix has a DMDA "
            "(%s%s). Give the solver a DMDA, or use another type",
            who, type ? "there is a DM of type " : "there is no DM", type ? type : "");
  }
  PetscCall(
    DMDAGetInfo(da, &dim, &n[0], &n[1], &n[2], &p[0], &p[1], &p[2], &dof, nullptr, &b[0], &b[1], &b[2], nullptr));
  PetscCheck(dof == 1, comm, PETSC_ERR_SUP,
             "%s works with one unknown a node: this DMDA has %" PetscInt_FMT
             " degrees of freedom a node. Use -snes_type vinewtonrsls",
             who, dof);
  PetscCall(DMDAGetOwnershipRanges(da, &l[0], dim > 1 ? &l[1] : nullptr, dim > 2 ? &l[2] : nullptr));
  grid.dimension = (int)dim;
  for (int d = 0; d < 3; ++d) {
    const bool used = d < dim;
    PetscCheck(!used || n[d] < 1000000000, comm, PETSC_ERR_SUP,
               "%s works on grids of less than 1e9 nodes in a direction", who);
    PetscCheck(!used || b[d] != DM_BOUNDARY_TWIST, comm, PETSC_ERR_SUP,
               "%s does not work on a DMDA with a twisted boundary", who);
    grid.n[d]        = used ? (int)n[d] : 1;
    grid.periodic[d] = used && b[d] == DM_BOUNDARY_PERIODIC && n[d] > 1;
    grid.split[d]    = {0};
    if (!used) grid.split[d].push_back(1);
    else
      for (PetscInt r = 0; r < p[d]; ++r) grid.split[d].push_back(grid.split[d].back() + (int)l[d][r]);
    nodes *= grid.n[d];
  }
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  at = rank;
  for (int d = 0; d < 3; ++d) {
    const int parts = (int)grid.split[d].size() - 1, mine = (int)(at % parts);
    local *= grid.split[d][(size_t)mine + 1] - grid.split[d][(size_t)mine];
    at /= parts;
  }
  PetscCall(VecGetLocalSize(X, &m));
  wrong = at > 0 || m != local;
  PetscCallMPI(MPI_Allreduce(&wrong, &any, 1, MPIU_INT, MPI_MAX, comm));
  PetscCall(VecGetSize(X, &m));
  PetscCheck(!any, comm, PETSC_ERR_ARG_SIZ,
             "%s: the solution has %" PetscInt_FMT " unknowns, the DMDA %g nodes, or both are distributed otherwise",
             who, m, (double)nodes);
  PetscCall(VecGetOwnershipRanges(X, &ranges));
  grid.first.assign(ranges,
                    ranges + (grid.split[0].size() - 1) * (grid.split[1].size() - 1) * (grid.split[2].size() - 1) + 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BoxMatrix::SetGrid(PetscObject solver, const GridDescription &grid)
{
  PetscFunctionBegin;
  PetscCall(Reset());
  grid_ = grid;
  for (size_t k = 0; k + 1 < grid.split[2].size(); ++k)
    for (size_t j = 0; j + 1 < grid.split[1].size(); ++j)
      for (size_t i = 0; i + 1 < grid.split[0].size(); ++i) {
        const size_t at[3] = {i, j, k};
        Box3         box;
        for (int d = 0; d < 3; ++d) box.lo[d] = grid.split[d][at[d]], box.hi[d] = grid.split[d][at[d] + 1];
        boxes_.push_back(box);
      }
  PetscCall(CommOf(solver, &comm_));
  PetscCallMPI(MPI_Comm_rank(comm_, &rank_));
  PetscFunctionReturn(PETSC_SUCCESS);
}

bool GridDescription::operator==(const GridDescription &o) const
{
  bool equal = dimension == o.dimension && first == o.first;
  for (int d = 0; d < 3; ++d) equal = equal && n[d] == o.n[d] && periodic[d] == o.periodic[d] && split[d] == o.split[d];
  return equal;
}

void BoxMatrix::Node(PetscInt row, PetscInt node[3]) const
{
  const size_t   r = (size_t)(std::upper_bound(grid_.first.begin(), grid_.first.end(), row) - grid_.first.begin()) - 1;
  const Box3    &b   = boxes_[r];
  const PetscInt q   = row - grid_.first[r], ni = b.hi[0] - b.lo[0], nj = b.hi[1] - b.lo[1];
  node[0] = b.lo[0] + q % ni;
  node[1] = b.lo[1] + q / ni % nj;
  node[2] = b.lo[2] + q / ni / nj;
}

// Reads the rows of an AIJ matrix node by node.
struct Reader {
  const Box3       &own;
  int               dimension;
  const int        *n;
  const bool       *periodic;
  PetscInt          first;
  MatrixReport     *report;
  std::vector<std::array<int, 3>> remote = {}; // node of each off-diagonal column
  const PetscInt   *ia = nullptr, *ja = nullptr, *oia = nullptr, *oja = nullptr, *garray = nullptr;
  const PetscScalar *a = nullptr, *oa = nullptr;
  Mat               diagonal = nullptr, off = nullptr;
  PetscInt          rows = 0, orows = 0;

  PetscErrorCode Get(Mat A)
  {
    PetscBool mpi, done;

    PetscFunctionBegin;
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &mpi));
    diagonal = A;
    if (mpi) {
      PetscCall(MatMPIAIJGetSeqAIJ(A, &diagonal, &off, &garray));
      PetscCall(MatGetRowIJ(off, 0, PETSC_FALSE, PETSC_FALSE, &orows, &oia, &oja, &done));
      PetscCall(MatSeqAIJGetArrayRead(off, &oa));
    }
    PetscCall(MatGetRowIJ(diagonal, 0, PETSC_FALSE, PETSC_FALSE, &rows, &ia, &ja, &done));
    PetscCall(MatSeqAIJGetArrayRead(diagonal, &a));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode Restore()
  {
    PetscBool done;

    PetscFunctionBegin;
    PetscCall(MatSeqAIJRestoreArrayRead(diagonal, &a));
    PetscCall(MatRestoreRowIJ(diagonal, 0, PETSC_FALSE, PETSC_FALSE, &rows, &ia, &ja, &done));
    if (off) {
      PetscCall(MatSeqAIJRestoreArrayRead(off, &oa));
      PetscCall(MatRestoreRowIJ(off, 0, PETSC_FALSE, PETSC_FALSE, &orows, &oia, &oja, &done));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  // Is there a coupling along a diagonal? Only a row with more than 2 d + 1 entries may have one, and its entries there
  // may be zeros.
  bool box()
  {
    const int ni = own.hi[0] - own.lo[0], nj = own.hi[1] - own.lo[1];
    double    v[27];
    for (PetscInt r = 0; r < rows; ++r)
      if (ia[r + 1] - ia[r] + (oia ? oia[r + 1] - oia[r] : 0) > 2 * dimension + 1) {
        const int node[3] = {own.lo[0] + (int)(r % ni), own.lo[1] + (int)(r / ni % nj), own.lo[2] + (int)(r / ni / nj)};
        read(r, node, v);
        for (int k = 0; k < 27; ++k)
          if (v[k] != 0 && (k % 3 != 1) + (k / 3 % 3 != 1) + (k / 9 != 1) > 1) return true;
      }
    return false;
  }
  void complain(MatrixReport::Kind kind, PetscInt row, PetscInt column, const int node[3], PetscReal value)
  {
    if (report->kind != MatrixReport::fine) return;
    report->kind   = kind;
    report->row    = first + row;
    report->column = column;
    report->value  = value;
    for (int d = 0; d < 3; ++d) report->node[d] = node[d];
  }
  // v: 27 coefficients of local row r at `node`.
  void read(PetscInt r, const int node[3], double v[27])
  {
    const int ni = own.hi[0] - own.lo[0], nj = own.hi[1] - own.lo[1], nk = own.hi[2] - own.lo[2];
    double    check = 0;
    PetscInt  bad   = -1;
    std::fill(v, v + 27, 0.);
    // away from the sides of the box the distance of the column says where it is
    const bool inside = ni > 2 && node[0] > own.lo[0] && node[0] < own.hi[0] - 1 &&
                        (dimension < 2 || (nj > 2 && node[1] > own.lo[1] && node[1] < own.hi[1] - 1)) &&
                        (dimension < 3 || (nk > 2 && node[2] > own.lo[2] && node[2] < own.hi[2] - 1));
    for (PetscInt e = ia[r]; e < ia[r + 1]; ++e) {
      int k = -1;
      if (inside) {
        PetscInt s  = ja[e] - r + 1, dy = 0, dz = 0;
        if (dimension > 1) {
          s += ni;
          if (dimension > 2) {
            s += (PetscInt)ni * nj;
            dz = s / ((PetscInt)ni * nj);
            s -= dz * ni * nj;
          } else dz = 1;
          dy = s / ni;
          s -= dy * ni;
        } else dy = dz = 1;
        if (s >= 0 && s <= 2 && dy >= 0 && dy <= 2 && dz >= 0 && dz <= 2) k = (int)(s + 3 * dy + 9 * dz);
      } else {
        const int to[3] = {own.lo[0] + (int)(ja[e] % ni), own.lo[1] + (int)(ja[e] / ni % nj),
                           own.lo[2] + (int)(ja[e] / ni / nj)};
        k               = cube_of<3>(node, to, n, periodic);
      }
      check += a[e] * 0;
      if (a[e] * 0 != 0) bad = first + ja[e];
      if (k >= 0) v[k] += a[e];
      else if (a[e] != 0) complain(MatrixReport::outside, r, first + ja[e], node, a[e]);
    }
    if (oia)
      for (PetscInt e = oia[r]; e < oia[r + 1]; ++e) {
        const int k = cube_of<3>(node, remote[(size_t)oja[e]].data(), n, periodic);
        check += oa[e] * 0;
        if (oa[e] * 0 != 0) bad = garray[oja[e]];
        if (k >= 0) v[k] += oa[e];
        else if (oa[e] != 0) complain(MatrixReport::outside, r, garray[oja[e]], node, oa[e]);
      }
    if (check != 0) complain(MatrixReport::not_finite, r, bad, node, check);
  }
};

namespace {

// The report of the first process that has something to say.
PetscErrorCode Agree(MPI_Comm comm, MatrixReport &report)
{
  int           rank, size, me, who;
  const PetscInt rows = report.dirichlet;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  me = report.kind != MatrixReport::fine ? rank : size;
  PetscCallMPI(MPI_Allreduce(&me, &who, 1, MPI_INT, MPI_MIN, comm));
  if (who < size) PetscCallMPI(MPI_Bcast(&report, (int)sizeof(report), MPI_BYTE, who, comm));
  PetscCallMPI(MPI_Allreduce(&rows, &report.dirichlet, 1, MPIU_INT, MPI_SUM, comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Rows away from the sides of the box, as a DMDA's matrix has them: a column for each plane, in their order.
template <int N> struct Usual {
  PetscInt offset[N];
  size_t   plane[N];
  // False where the row is another one, or must be complained of.
  bool read(PetscInt r, const PetscInt *columns, const PetscScalar *a, double *c, uint8_t *free) const
  {
    bool   same = true, coupled = false;
    double check = 0;
    for (int k = 0; k < N; ++k) {
      same = same & (columns[k] == r + offset[k]);
      check += a[k] * 0;
      coupled = coupled | (k != N / 2 && a[k] != 0);
    }
    if (!same || check != 0 || !(a[N / 2] > 0)) return false;
    for (int k = 0; k < N; ++k) c[plane[k]] = a[k];
    *free = coupled;
    return true;
  }
};

} // namespace

// Writes the coefficients of all rows, N planes. *box: there is a coupling along a diagonal.
template <int N> PetscErrorCode BoxMatrix::ReadRows(Reader &reader, Plan &plan, MatrixReport &report, int *box)
{
  const Box3  &own   = boxes_[(size_t)rank_];
  Level       &l     = plan.levels[0];
  const size_t plane = l.layout.size();
  double      *c     = l.A.a.data(), v[27];
  uint8_t     *free  = l.free.data();
  int          cube[N], count = 0, node[3];
  const int    ni = own.hi[0] - own.lo[0], nj = own.hi[1] - own.lo[1];
  PetscInt     r = 0;
  Usual<N>     usual;

  PetscFunctionBegin;
  report = MatrixReport();
  if (plan.exec.space == Space::cuda) {
    if (coefficients_.size() != l.A.a.size()) TesseraCallCXX(coefficients_.resize(l.A.a.size()));
    if (free_.size() != plane) TesseraCallCXX(free_.resize(plane));
    c    = coefficients_.data();
    free = free_.data();
  }
  for (int k = 0; k < 27; ++k) {
    const int d[3] = {k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1};
    if ((grid_.dimension < 2 && d[1]) || (grid_.dimension < 3 && d[2]) ||
        (!l.A.box && plane_of<3, false>(d[0], d[1], d[2]) < 0) || count == N)
      continue;
    cube[count]         = k;
    usual.offset[count] = d[0] + ni * (d[1] + (PetscInt)nj * d[2]);
    usual.plane[count]  = plane * (size_t)(l.A.box ? count : plane_of<3, false>(d[0], d[1], d[2]));
    ++count;
  }
  for (node[2] = own.lo[2]; node[2] < own.hi[2]; ++node[2])
    for (node[1] = own.lo[1]; node[1] < own.hi[1]; ++node[1]) {
      bool inside = true;
      for (int d = 1; d < grid_.dimension; ++d) inside = inside && node[d] > own.lo[d] && node[d] < own.hi[d] - 1;
      for (node[0] = own.lo[0]; node[0] < own.hi[0]; ++node[0], ++r) {
        const ptrdiff_t e = l.layout.at(node[0], node[1], node[2]);
        const PetscInt  b = reader.ia[r];
        if (inside && node[0] > own.lo[0] && node[0] < own.hi[0] - 1 && reader.ia[r + 1] == b + N &&
            (!reader.oia || reader.oia[r + 1] == reader.oia[r]) &&
            usual.read(r, reader.ja + b, reader.a + b, c + e, free + e)) {
          report.dirichlet += !free[e];
          continue;
        }
        reader.read(r, node, v);
        bool coupled = false;
        for (int k = 0; k < 27; ++k)
          if (k != 13 && v[k] != 0) {
            coupled = true;
            if ((k % 3 != 1) + (k / 3 % 3 != 1) + (k / 9 != 1) > 1) *box = 1;
          }
        for (int k = 0; k < N; ++k) c[usual.plane[k] + (size_t)e] = v[cube[k]];
        free[e] = coupled;
        report.dirichlet += !coupled;
        if (!(v[13] > 0)) reader.complain(MatrixReport::diagonal, r, reader.first + r, node, v[13]);
      }
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BoxMatrix::ReadOnDevice(Mat A, Plan &plan, MatrixReport &report, bool *done)
{
  using Index = LocalRows::Index;
  LocalRows        rows;
  std::vector<int> nodes;
  Buffer<int>      remote;

  PetscFunctionBegin;
  *done = false;
  PetscCall(SameError(comm_, rows.Get(A, Space::cuda, "vipmg")));
  for (PetscInt c = 0; c < rows.others; ++c) {
    PetscInt node[3];
    Node(rows.columns[c], node);
    for (int d = 0; d < 3; ++d) nodes.push_back((int)node[d]);
  }
  TesseraCallCXX(remote = copy_to(Space::cuda, nodes));
  const RowsOf<Index> A_{rows.i, rows.j, rows.oi, rows.oj, rows.a, rows.o, remote.data()};
  for (;;) {
    ReadSums sums;
    if (plan.levels.empty())
      TesseraCallCXX(create(plan, comm_, grid_.dimension, grid_.n, grid_.periodic, boxes_, false));
    TesseraCallCXX(sums = read_rows(plan, A_));
    int mine[2] = {sums.box, sums.wrong > 0}, any[2];
    PetscCallMPI(MPI_Allreduce(mine, any, 2, MPI_INT, MPI_MAX, comm_));
    const PetscInt dirichlet = (PetscInt)sums.dirichlet;
    PetscCallMPI(MPI_Allreduce(&dirichlet, &report.dirichlet, 1, MPIU_INT, MPI_SUM, comm_));
    *done = !any[1];
    if (!*done || !any[0] || plan.levels[0].A.box) break;
    TesseraCallCXX(create(plan, comm_, grid_.dimension, grid_.n, grid_.periodic, boxes_, true));
  }
  PetscCall(rows.Restore());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BoxMatrix::ReadOnHost(Mat A, Plan &plan, MatrixReport &report)
{
  PetscInt columns;
  Reader   reader{boxes_[(size_t)rank_], grid_.dimension, grid_.n, grid_.periodic, grid_.first[(size_t)rank_], &report};

  PetscFunctionBegin;
  PetscCall(reader.Get(A));
  if (reader.off) {
    PetscCall(MatGetLocalSize(reader.off, nullptr, &columns));
    reader.remote.resize((size_t)columns);
    for (PetscInt c = 0; c < columns; ++c) {
      PetscInt node[3];
      Node(reader.garray[c], node);
      for (int d = 0; d < 3; ++d) reader.remote[(size_t)c][(size_t)d] = (int)node[d];
    }
  }
  int box = reader.box();
  for (int any_box = 0;;) {
    PetscCallMPI(MPI_Allreduce(&box, &any_box, 1, MPI_INT, MPI_MAX, comm_));
    if (plan.levels.empty() || (any_box && !plan.levels[0].A.box))
      TesseraCallCXX(create(plan, comm_, grid_.dimension, grid_.n, grid_.periodic, boxes_, any_box));
    switch (points(grid_.dimension, plan.levels[0].A.box)) {
    case 3:
      PetscCall(ReadRows<3>(reader, plan, report, &box));
      break;
    case 5:
      PetscCall(ReadRows<5>(reader, plan, report, &box));
      break;
    case 7:
      PetscCall(ReadRows<7>(reader, plan, report, &box));
      break;
    case 9:
      PetscCall(ReadRows<9>(reader, plan, report, &box));
      break;
    default:
      PetscCall(ReadRows<27>(reader, plan, report, &box));
    }
    int found = 0;
    PetscCallMPI(MPI_Allreduce(&box, &found, 1, MPI_INT, MPI_MAX, comm_));
    if (!found || plan.levels[0].A.box) break;
  }
  PetscCall(reader.Restore());
  PetscCall(Agree(comm_, report));
  if (plan.exec.space == Space::cuda) TesseraCallCXX(set_operator(plan, coefficients_.data(), free_.data()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BoxMatrix::Read(Mat A, Plan &plan, MatrixReport &report)
{
  MPI_Comm comm = PetscObjectComm((PetscObject)A);
  PetscInt m, M, wrong[1], any[1];

  PetscFunctionBegin;
  report = MatrixReport();
  PetscCall(AsAIJ(A, "vipmg", &converted_, &A));
  PetscCall(MatGetLocalSize(A, &m, nullptr));
  PetscCall(MatGetSize(A, &M, nullptr));
  wrong[0] = m != (PetscInt)boxes_[(size_t)rank_].size();
  PetscCallMPI(MPI_Allreduce(wrong, any, 1, MPIU_INT, MPI_MAX, comm_));
  PetscCheck(!any[0], comm, PETSC_ERR_ARG_SIZ,
             "vipmg: the Jacobian (%" PetscInt_FMT
             " rows) is not on the nodes of the DMDA (%d x %d x %d), or distributed otherwise",
             M, grid_.n[0], grid_.n[1], grid_.n[2]);
  if (plan.exec.space == Space::cuda) {
    bool done;
    PetscCall(ReadOnDevice(A, plan, report, &done));
    if (done) PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(ReadOnHost(A, plan, report));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera::vipmg
