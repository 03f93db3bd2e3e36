#include "petsc/boxmatrix.hpp"
#include "box/cube.hpp"
#include <algorithm>
#include <cmath>
#include <petscmat.h>

namespace tessera {

using box::Box3;

PetscErrorCode BoxMatrix::Reset()
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&converted_));
  PetscCall(moved_.Reset());
  PetscCall(VecDestroy(&result_));
  boxes_.clear();
  grid_ = GridDescription();
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

static PetscErrorCode FindDMDA(DM dm, Vec X, Mat J, DM dms[3], DM *da)
{
  PetscFunctionBegin;
  *da    = dms[1] = dms[2] = nullptr;
  dms[0] = dm;
  PetscCall(VecGetDM(X, &dms[1]));
  if (J) PetscCall(MatGetDM(J, &dms[2]));
  for (int k = 0; k < 3; ++k) PetscCall(AsDMDA(dms[k], da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BoxMatrix::Find(DM dm, Vec X, Mat J, DM *da)
{
  DM       dms[3];
  PetscInt dof = 0;

  PetscFunctionBegin;
  PetscCall(FindDMDA(dm, X, J, dms, da));
  if (*da) PetscCall(DMDAGetInfo(*da, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, &dof, nullptr,
                                nullptr, nullptr, nullptr, nullptr));
  if (dof != 1) *da = nullptr;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BoxMatrix::Describe(PetscObject solver, const char *who, DM dm, Vec X, Mat J, GridDescription &grid)
{
  DM              da, dms[3];
  PetscInt        dim, n[3], p[3], dof, m, local = 1, wrong, any, at;
  DMBoundaryType  b[3];
  const PetscInt *l[3], *ranges;
  MPI_Comm        comm = PetscObjectComm(solver);
  int             rank;

  PetscFunctionBegin;
  grid = GridDescription();
  PetscCall(FindDMDA(dm, X, J, dms, &da));
  if (!da) { // what the DM is, if there is one
    DMType type = nullptr;
    for (DM d : dms)
      if (d && !type) PetscCall(DMGetType(d, &type));
    SETERRQ(comm, PETSC_ERR_ARG_WRONGSTATE,
            "%s needs the grid of the problem, and neither the solver, the solution vector nor the matrix has a DMDA "
            "(%s%s). Give the solver a DMDA, or use another type",
            who, type ? "there is a DM of type " : "there is no DM", type ? type : "");
  }
  PetscCall(
    DMDAGetInfo(da, &dim, &n[0], &n[1], &n[2], &p[0], &p[1], &p[2], &dof, nullptr, &b[0], &b[1], &b[2], nullptr));
  PetscCheck(dof == 1, comm, PETSC_ERR_SUP,
             "%s works with one unknown per node: this DMDA has %" PetscInt_FMT
             " degrees of freedom per node. Use -snes_type vinewtonrsls",
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
             "%s: there are %" PetscInt_FMT
             " unknowns, and the DMDA has %d x %d x %d nodes; or both are distributed otherwise. Give the solver the "
             "DMDA of this problem",
             who, m, grid.n[0], grid.n[1], grid.n[2]);
  PetscCall(VecGetOwnershipRanges(X, &ranges));
  grid.first.assign(ranges,
                    ranges + (grid.split[0].size() - 1) * (grid.split[1].size() - 1) * (grid.split[2].size() - 1) + 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

const char *SeveralPerNode(PetscReal nodes, PetscInt rows)
{
  const bool several = (PetscReal)rows > nodes && std::fmod((PetscReal)rows, nodes) == 0;
  return several ? ". Several unknowns per node are for -pc_type auxamg, or rrb on each field by -pc_type fieldsplit"
                 : "";
}

PetscErrorCode BoxMatrix::Natural(PetscObject solver, const char *option, Mat A, const PetscInt n[3],
                                  GridDescription &grid)
{
  MPI_Comm        comm = PetscObjectComm(solver);
  const PetscInt *ranges;
  PetscInt        M, N;
  int             size;

  PetscFunctionBegin;
  grid = GridDescription();
  PetscCall(MatGetSize(A, &M, &N));
  PetscCheck(M == N && (PetscReal)n[0] * (PetscReal)n[1] * (PetscReal)n[2] == (PetscReal)M, comm, PETSC_ERR_ARG_SIZ,
             "%s %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT
             " does not match the matrix, which has %" PetscInt_FMT " rows and %" PetscInt_FMT " columns%s",
             option, n[0], n[1], n[2], M, N, SeveralPerNode((PetscReal)n[0] * (PetscReal)n[1] * (PetscReal)n[2], M));
  grid.dimension = 3;
  for (int d = 0; d < 3; ++d) {
    PetscCheck(n[d] < 1000000000, comm, PETSC_ERR_SUP, "%s: there must be less than 1e9 nodes in a direction", option);
    grid.n[d]     = (int)n[d];
    grid.split[d] = {0, (int)n[d]};
  }
  const PetscInt plane = n[0] * n[1];
  PetscCall(MatGetOwnershipRanges(A, &ranges));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  grid.split[2].clear();
  for (int r = 0; r <= size; ++r) {
    grid.split[2].push_back((int)(ranges[r] / plane + (ranges[r] % plane >= (plane + 1) / 2)));
    grid.first.push_back(grid.split[2].back() * plane);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BoxMatrix::Bring(Vec x, Vec *from, Vec *to)
{
  PetscFunctionBegin;
  PetscCall(moved_.Bring(x, moved_.work));
  *from = moved_.work;
  *to   = result_;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BoxMatrix::TakeBack(Vec y)
{
  PetscFunctionBegin;
  PetscCall(moved_.TakeBack(result_, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BoxMatrix::SetGrid(PetscObject solver, const GridDescription &grid, Mat A)
{
  const PetscInt *ranges;

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
  if (!A) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetOwnershipRanges(A, &ranges));
  if (std::equal(grid.first.begin(), grid.first.end(), ranges)) PetscFunctionReturn(PETSC_SUCCESS);
  const PetscInt first = grid.first[(size_t)rank_];
  PetscCall(moved_.Create(comm_, A, first, grid.first[(size_t)rank_ + 1] - first));
  PetscCall(VecDuplicate(moved_.work, &result_));
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

namespace {

// The report of the first process that has something to say.
PetscErrorCode Agree(MPI_Comm comm, MatrixReport &report)
{
  int rank, size, who;

  PetscFunctionBegin;
  PetscCall(FirstProcess(comm, report.kind != MatrixReport::fine, &who, &rank, &size));
  if (who < size) PetscCallMPI(MPI_Bcast(&report, (int)sizeof(report), MPI_BYTE, who, comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

// The first row that read_rows() has counted as wrong, on the host; negative: or as shifted.
void BoxMatrix::FindWrong(const LocalRows &rows, const std::vector<int> &remote, bool negative,
                          MatrixReport &report) const
{
  const PetscInt first = grid_.first[(size_t)rank_];
  PetscInt       p[3];
  int            node[3], to[3];
  for (PetscInt r = 0; r < rows.n && report.kind == MatrixReport::fine; ++r) {
    PetscInt  bad = -1;
    PetscReal diagonal = 0;
    const auto complain = [&](MatrixReport::Kind kind, PetscInt column, PetscReal value) {
      if (report.kind != MatrixReport::fine) return;
      report.kind   = kind;
      report.row    = first + r;
      report.column = column;
      report.value  = value;
      std::copy(p, p + 3, report.node);
    };
    const auto entry = [&](PetscInt column, PetscReal a) {
      const int k = box::cube_of<3>(node, to, grid_.n, grid_.periodic);
      if (a * 0 != 0) bad = column;
      if (k == box::centre27) diagonal += a;
      if (k < 0 && a != 0 && a * 0 == 0) complain(MatrixReport::outside, column, a);
    };
    Node(first + r, p);
    std::copy(p, p + 3, node);
    for (auto e = rows.i[r]; e < rows.i[r + 1]; ++e) {
      PetscInt q[3];
      Node(first + rows.j[e], q);
      std::copy(q, q + 3, to);
      entry(first + rows.j[e], rows.a[e]);
    }
    if (rows.oi)
      for (auto e = rows.oi[r]; e < rows.oi[r + 1]; ++e) {
        std::copy_n(remote.begin() + 3 * (ptrdiff_t)rows.oj[e], 3, to);
        entry(rows.columns[rows.oj[e]], rows.o[e]);
      }
    if (bad >= 0) complain(MatrixReport::not_finite, bad, NAN);
    if (negative && !(diagonal > 0)) complain(MatrixReport::diagonal, first + r, diagonal);
  }
}

template <class T> PetscErrorCode BoxMatrix::Read(Mat A, const char *who, Space space, bool on_device,
                                                  const Memory<T> &memory, bool positive, MatrixReport &report)
{
  MPI_Comm         comm = PetscObjectComm((PetscObject)A);
  PetscInt         m, M, wrong[1], any[1];
  LocalRows        rows;
  std::vector<int> nodes;
  Buffer<int>      remote;
  box::ReadSums    sums;
  box::Finest<T>   to;

  PetscFunctionBegin;
  report = MatrixReport();
  PetscCall(AsAIJ(A, who, &converted_, &A));
  if (moved()) {
    PetscCall(moved_.Matrix(A));
    A = moved_.matrix;
  }
  PetscCall(MatGetLocalSize(A, &m, nullptr));
  PetscCall(MatGetSize(A, &M, nullptr));
  wrong[0] = m != (PetscInt)boxes_[(size_t)rank_].size();
  PetscCallMPI(MPI_Allreduce(wrong, any, 1, MPIU_INT, MPI_MAX, comm_));
  PetscCheck(!any[0], comm, PETSC_ERR_ARG_SIZ,
             "%s: the matrix (%" PetscInt_FMT
             " rows) is not on the nodes of the DMDA (%d x %d x %d), or distributed otherwise",
             who, M, grid_.n[0], grid_.n[1], grid_.n[2]);
  PetscCall(SameError(comm_, rows.Get(A, space, who)));
  for (PetscInt c = 0; c < rows.others; ++c) {
    PetscInt node[3];
    Node(rows.columns[c], node);
    for (int d = 0; d < 3; ++d) nodes.push_back((int)node[d]);
  }
  TesseraCallCXX(remote = copy_to(space, nodes));
  const box::RowsOf A_{rows.i, rows.j, rows.oi, rows.oj, rows.a, rows.o, remote.data()};
  int                 mine[2], all[2] = {0, 0};
  PetscInt            rows_of[3], sum_of[3];
  TesseraCallCXX(to = memory(!on_device, false));
  if (!on_device) { // the middle line tells which kind it is likely to be
    TesseraCallCXX(sums = box::read_rows(to, A_, true));
    PetscCallMPI(MPI_Allreduce(&sums.box, all, 1, MPI_INT, MPI_MAX, comm_));
  }
  do {
    if (all[0]) TesseraCallCXX(to = memory(true, true));
    TesseraCallCXX(sums = box::read_rows(to, A_));
    mine[0] = sums.box, mine[1] = sums.wrong > 0;
    PetscCallMPI(MPI_Allreduce(mine, all, 2, MPI_INT, MPI_MAX, comm_));
  } while (!all[1] && all[0] && !to.box);
  rows_of[0] = (PetscInt)sums.dirichlet, rows_of[1] = (PetscInt)sums.shifted, rows_of[2] = (PetscInt)sums.single;
  PetscCallMPI(MPI_Allreduce(rows_of, sum_of, 3, MPIU_INT, MPI_SUM, comm_));
  report.dirichlet = sum_of[0];
  report.shifted   = sum_of[1];
  report.single    = sum_of[2];
  // The function's sign is likely to be wrong where this is no matter of single rows.
  const bool negative = positive ? report.shifted + report.single > 0
                                 : report.shifted > (M - report.dirichlet) / 2;
  if (all[1] || negative) {
    PetscCall(rows.Restore());
    PetscCall(SameError(comm_, rows.Get(A, Space::host, who)));
    FindWrong(rows, nodes, negative, report);
  }
  PetscCall(rows.Restore());
  PetscCall(Agree(comm_, report));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template PetscErrorCode BoxMatrix::Read(Mat, const char *, Space, bool, const Memory<double> &, bool, MatrixReport &);
template PetscErrorCode BoxMatrix::Read(Mat, const char *, Space, bool, const Memory<float> &, bool, MatrixReport &);

} // namespace tessera
