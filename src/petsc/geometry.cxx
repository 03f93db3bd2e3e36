#include "petsc/geometry.hpp"
#include "petsc/embed.hpp"
#include "petsc/nodes_file.hpp"
#include "petsc/pattern.hpp"
#include "petsc/rigid.hpp"
#include <algorithm>
#include <cmath>
#include <petscdmda.h>
#include <petscdmplex.h>

namespace tessera {

namespace {

PetscErrorCode LocalNodes(const NodesOf &of, PetscInt *first, PetscInt *n)
{
  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(of.A, n, nullptr));
  PetscCall(MatGetOwnershipRange(of.A, first, nullptr));
  *first /= of.bs;
  *n /= of.bs;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode FromFile(const NodesOf &of, const char *file, Coordinates *found)
{
  PetscInt           first;
  NodesFile          from;
  Vec                read;
  const PetscScalar *values;

  PetscFunctionBegin;
  from.solver = of.solver;
  from.who    = of.who;
  from.what   = "coordinates";
  from.bs     = of.bs;
  PetscCall(LocalNodes(of, &first, &from.n));
  PetscCall(MatGetSize(of.A, &from.all, nullptr));
  from.all /= of.bs;
  PetscCall(ReadNodesFile(from, file, &read, &found->dim));
  const size_t entries = (size_t)(from.n * found->dim);
  PetscCall(VecGetArrayRead(read, &values));
  TesseraCallCXX(found->x.resize(entries));
  std::copy(values, values + entries, found->x.data());
  PetscCall(VecRestoreArrayRead(read, &values));
  PetscCall(VecDestroy(&read));
  found->from = file;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// *rows: the inactive rows of the DM if the matrix is the reduced one of SNES vinewtonrsls, else nullptr. n, all: rows
// of the matrix and of the DM on this process. Collective.
PetscErrorCode Reduced(const NodesOf &of, DM dm, PetscInt n, PetscInt all, IS *rows)
{
  PetscInt some = -1, mine[2], any[2];

  PetscFunctionBegin;
  PetscCall(CompatInactive(dm, rows));
  if (*rows) PetscCall(ISGetLocalSize(*rows, &some));
  mine[0] = some != n || of.bs > 1;
  mine[1] = all != n;
  PetscCallMPI(MPI_Allreduce(mine, any, 2, MPIU_INT, MPI_MAX, PetscObjectComm(of.solver)));
  if (any[0] || !any[1]) *rows = nullptr;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Keeps the points of `rows` alone; first: the first row of this process.
PetscErrorCode Keep(IS rows, PetscInt first, Coordinates *found)
{
  PetscInt        n;
  const PetscInt *row;
  const size_t    dim = (size_t)found->dim;

  PetscFunctionBegin;
  PetscCall(ISGetLocalSize(rows, &n));
  PetscCall(ISGetIndices(rows, &row));
  Buffer<double> some((size_t)n * dim);
  for (size_t p = 0; p < (size_t)n; ++p)
    std::copy_n(found->x.data() + (size_t)(row[p] - first) * dim, dim, some.data() + p * dim);
  PetscCall(ISRestoreIndices(rows, &row));
  found->x = std::move(some);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The first row of this process, which has n of them. Collective.
PetscErrorCode FirstOf(MPI_Comm comm, PetscInt n, PetscInt *first)
{
  PetscInt end;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Scan(&n, &end, 1, MPIU_INT, MPI_SUM, comm));
  *first = end - n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// From a DMDA: its coordinates, or the indices of its nodes where it has none.
PetscErrorCode FromDMDA(const NodesOf &of, DM dm, Coordinates *found)
{
  const PetscInt     bs   = of.bs;
  MPI_Comm           comm = PetscObjectComm(of.solver);
  PetscInt           dim, size[3], dof, start[3], width[3], first, n, local;
  Vec                x;
  const PetscScalar *values;

  PetscFunctionBegin;
  PetscCall(LocalNodes(of, &first, &n));
  PetscCall(DMDAGetInfo(dm, &dim, &size[0], &size[1], &size[2], nullptr, nullptr, nullptr, &dof, nullptr, nullptr,
                        nullptr, nullptr, nullptr));
  PetscCall(DMDAGetCorners(dm, &start[0], &start[1], &start[2], &width[0], &width[1], &width[2]));
  local               = width[0] * width[1] * width[2] * dof;
  IS rows;
  PetscCall(Reduced(of, dm, n, local, &rows));
  if (rows) n = local;
  PetscInt wrong = local != n * bs || dof % bs, any;
  PetscCallMPI(MPI_Allreduce(&wrong, &any, 1, MPIU_INT, MPI_MAX, comm));
  PetscCheck(!any, comm, PETSC_ERR_ARG_SIZ,
             "%s: the matrix is not on the nodes of the solver's DMDA (%" PetscInt_FMT " x %" PetscInt_FMT
             " x %" PetscInt_FMT ", %" PetscInt_FMT
             " degrees of freedom per node). Give the coordinates with PCSetCoordinates(), or block size %" PetscInt_FMT
             " to the matrix", of.who,
             size[0], size[1], size[2], dof, dof);
  PetscCall(DMGetCoordinates(dm, &x));
  if (x) PetscCall(DMGetCoordinateDim(dm, &dim)); // a surface in space has one more than the DMDA
  found->dim = dim;
  found->x.resize((size_t)(n * dim));
  if (x) PetscCall(VecGetArrayRead(x, &values));
  const PetscInt repeat = dof / bs; // nodes of the matrix at a node of the DMDA
  size_t         to     = 0;
  for (PetscInt k = 0, p = 0; k < width[2]; ++k)
    for (PetscInt j = 0; j < width[1]; ++j)
      for (PetscInt i = 0; i < width[0]; ++i, ++p)
        for (PetscInt r = 0; r < repeat; ++r) {
          const double index[3] = {(double)(start[0] + i), (double)(start[1] + j), (double)(start[2] + k)};
          for (PetscInt q = 0; q < dim; ++q) found->x.data()[to++] = x ? values[p * dim + q] : index[q];
        }
  if (x) PetscCall(VecRestoreArrayRead(x, &values));
  found->from = x ? "the DMDA's coordinates" : "the DMDA's indices";
  if (rows) {
    PetscCall(FirstOf(comm, local, &first));
    PetscCall(Keep(rows, first, found));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// An unknown of a vertex is at the vertex, one of an edge, face or cell at the mean of its vertices.
PetscErrorCode FromDMPlex(const NodesOf &of, DM dm, Coordinates *found)
{
  const PetscInt     bs   = of.bs;
  MPI_Comm           comm = PetscObjectComm(of.solver);
  PetscInt           dim, first, n, points[2], vertices[2], row;
  PetscSection       section, global, place;
  Vec                x;
  const PetscScalar *values;

  PetscFunctionBegin;
  PetscCall(LocalNodes(of, &first, &n));
  PetscCall(DMGetCoordinateDim(dm, &dim));
  PetscCall(DMGetLocalSection(dm, &section));
  PetscCall(DMGetGlobalSection(dm, &global));
  PetscCall(DMGetCoordinateSection(dm, &place));
  PetscCall(DMGetCoordinatesLocal(dm, &x));
  PetscCheck(section && x, comm, PETSC_ERR_ARG_WRONGSTATE,
             "%s: the DMPlex has no %s. Give the coordinates with PCSetCoordinates()", of.who,
             section ? "coordinates" : "section");
  PetscInt all; // rows of the DM
  IS       rows;
  PetscCall(PetscSectionGetConstrainedStorageSize(global, &all));
  PetscCall(Reduced(of, dm, n, all, &rows));
  if (rows) {
    n = all;
    PetscCall(FirstOf(comm, all, &first));
  }
  PetscCall(DMPlexGetDepthStratum(dm, 0, &vertices[0], &vertices[1]));
  PetscCall(PetscSectionGetChart(global, &points[0], &points[1]));
  PetscCall(VecGetArrayRead(x, &values));
  found->dim = dim;
  found->x.resize((size_t)(n * dim));
  std::fill(found->x.data(), found->x.data() + n * dim, NAN);
  PetscInt mine = 0;
  for (PetscInt p = points[0]; p < points[1]; ++p) {
    PetscInt dof, constrained, offset, count = 0, number, *closure = nullptr;
    double   mean[3] = {};
    PetscCall(PetscSectionGetDof(global, p, &dof));
    if (dof <= 0) continue; // none, or another process's
    PetscCall(PetscSectionGetConstraintDof(global, p, &constrained));
    PetscCall(PetscSectionGetOffset(global, p, &offset));
    mine += dof - constrained;
    PetscCall(DMPlexGetTransitiveClosure(dm, p, PETSC_TRUE, &number, &closure));
    for (PetscInt c = 0; c < number; ++c) {
      const PetscInt v = closure[2 * c];
      PetscInt       at;
      if (v < vertices[0] || v >= vertices[1]) continue;
      PetscCall(PetscSectionGetOffset(place, v, &at));
      for (PetscInt q = 0; q < dim; ++q) mean[q] += PetscRealPart(values[at + q]);
      ++count;
    }
    PetscCall(DMPlexRestoreTransitiveClosure(dm, p, PETSC_TRUE, &number, &closure));
    for (PetscInt k = 0; k < dof - constrained; ++k) {
      row = offset + k - first * bs;
      if (row < 0 || row >= n * bs || row % bs) continue;
      for (PetscInt q = 0; q < dim; ++q) found->x.data()[row / bs * dim + q] = mean[q] / (double)PetscMax(count, 1);
    }
  }
  PetscCall(VecRestoreArrayRead(x, &values));
  PetscInt wrong = mine != n * bs, any;
  PetscCallMPI(MPI_Allreduce(&wrong, &any, 1, MPIU_INT, MPI_MAX, comm));
  PetscCheck(!any, comm, PETSC_ERR_ARG_SIZ,
             "%s: the matrix is not on the unknowns of the solver's DMPlex. Give the coordinates with "
             "PCSetCoordinates()", of.who);
  found->from = "the DMPlex";
  if (rows) PetscCall(Keep(rows, first, found));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Points from distances along the couplings of the rows. PETSc offers the solver of a block (bjacobi, asm) no way to
// the solver around it, which may have coordinates.
PetscErrorCode FromCouplings(const NodesOf &of, Coordinates *found)
{
  const Mat           A   = of.A;
  Mat                 aij = nullptr;
  PetscBool           seq, mpi;
  PetscInt            first, n;
  Pattern             pattern;
  std::vector<double> x;
  int                 dim = 0;

  PetscFunctionBegin;
  PetscCall(LocalNodes(of, &first, &n));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &seq));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &mpi));
  if (!seq && !mpi) PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &aij));
  PetscCall(GatherPattern(aij ? aij : A, of.bs, false, pattern));
  PetscCall(MatDestroy(&aij));
  if (!pattern.rows()) PetscFunctionReturn(PETSC_SUCCESS);
  TesseraCallCXX(coordinates_of_graph(pattern, &dim, x));
  found->dim     = dim;
  found->from    = "distances along the couplings";
  found->guessed = true;
  TesseraCallCXX(found->x.resize((size_t)(n * dim)));
  std::copy_n(x.data() + first * dim, n * dim, found->x.data());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

void Coordinates::Inspect(const double *x, size_t n)
{
  double check = 0;
  for (PetscInt q = 0; q < 3; ++q) low[q] = PETSC_MAX_REAL, high[q] = -PETSC_MAX_REAL;
  for (size_t p = 0; p < n; p += (size_t)dim)
    for (PetscInt q = 0; q < dim; ++q) {
      const double v = x[p + (size_t)q];
      low[q]         = PetscMin(low[q], v);
      high[q]        = PetscMax(high[q], v);
      check += 0 * v; // not a number if one is not finite
    }
  finite = check == 0;
}

// Refuses coordinates that are not finite, and points that all coincide. reach: the extent along each axis.
static PetscErrorCode CheckPoints(const NodesOf &of, const Coordinates &c, PetscInt first, PetscInt n,
                                  PetscReal reach[3])
{
  const MPI_Comm comm    = PetscObjectComm(of.solver);
  const PetscInt dim     = c.dim;
  const double  *x       = c.x.data();
  PetscReal      ends[6] = {}, all_ends[6], extent = 0;
  PetscInt       nodes, at = -1;
  char           mine[256] = "", text[256];
  int            who, size;

  PetscFunctionBegin;
  for (PetscInt q = 0; q < dim; ++q) {
    ends[q]     = c.high[q];
    ends[q + 3] = -c.low[q];
  }
  PetscCallMPI(MPI_Allreduce(ends, all_ends, 6, MPIU_REAL, MPIU_MAX, comm));
  for (PetscInt q = 0; q < dim; ++q) extent = PetscMax(extent, reach[q] = all_ends[q] + all_ends[q + 3]);
  PetscCallMPI(MPI_Allreduce(&n, &nodes, 1, MPIU_INT, MPI_SUM, comm));
  // What is not a number is named once, by the first process that has it.
  for (PetscInt p = 0; p < n * dim && at < 0 && !c.finite; ++p)
    if (PetscIsInfOrNanReal(x[p])) at = p / dim;
  if (at >= 0)
    PetscCall(PetscSNPrintf(mine, sizeof(mine),
                            "%s: a coordinate of node %" PetscInt_FMT " (row %" PetscInt_FMT
                            " of the matrix) is not a finite number",
                            of.who, first + at, (first + at) * of.bs));
  PetscCall(FirstText(comm, mine, text, &who));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCheck(who == size, comm, PETSC_ERR_FP, "%s", text);
  PetscCheck(nodes < 2 || extent > 0, comm, PETSC_ERR_ARG_WRONG,
             "%s: all %" PetscInt_FMT " points of %s coincide: these are no coordinates of a mesh", of.who, nodes,
             c.from.c_str());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AgreeOnCoordinates(const NodesOf &of, const Coordinates *given, Coordinates *empty,
                                  const Coordinates **agreed, uint64_t *number)
{
  MPI_Comm       comm = PetscObjectComm(of.solver);
  const uint64_t dim  = given ? (uint64_t)given->dim : 0;
  uint64_t       mine[3] = {dim, dim ? 4 - dim : 0, given ? given->number : 0}, most[3];
  PetscInt       rows;
  int            who, rank, size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(mine, most, 3, MPI_UINT64_T, MPI_MAX, comm));
  *agreed = given;
  *number = most[2];
  if (!most[0]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetLocalSize(of.A, &rows, nullptr));
  PetscCall(FirstProcess(comm, !dim && rows > 0, &who, &rank, &size));
  PetscCheck(who == size, comm, PETSC_ERR_ARG_WRONGSTATE,
             "%s: PCSetCoordinates() has not been called on process %d, which has rows of the matrix: call it on all "
             "processes",
             of.who, who);
  PetscCheck(most[0] + most[1] == 4, comm, PETSC_ERR_ARG_INCOMP,
             "%s: PCSetCoordinates() gave coordinates of %d dimensions on one process and of %d on another", of.who,
             (int)(4 - most[1]), (int)most[0]);
  if (!dim) {
    empty->dim  = (PetscInt)most[0];
    empty->from = "PCSetCoordinates()";
    *agreed     = empty;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NoCoordinates(const NodesOf &of, const char *option)
{
  PetscFunctionBegin;
  SETERRQ(PetscObjectComm(of.solver), PETSC_ERR_ARG_WRONGSTATE,
          "%s needs the coordinates of the nodes and there are none. Give them with PCSetCoordinates()%s, by a DMDA or "
          "DMPlex (%s), or from a file: -%s file.h5:/path%s",
          of.who, of.couplings ? "" : " on the PC of its KSP, after the options are set (earlier ones are lost)",
          of.couplings ? "KSPSetDM()" : "the solver's, the vector's or the matrix's", option,
          of.couplings ? "" : ". Without coordinates use SNES vinewtonrsls or Tao bnls");
}

PetscErrorCode CheckCoordinates(const NodesOf &of, const Coordinates *given, const char *file, const char *option)
{
  DM        dms[2] = {of.dm, nullptr};
  PetscBool grid = PETSC_FALSE, plex = PETSC_FALSE;

  PetscFunctionBegin;
  if ((file && *file) || (given && given->dim)) PetscFunctionReturn(PETSC_SUCCESS);
  if (of.A) PetscCall(MatGetDM(of.A, &dms[1]));
  for (DM dm : dms) {
    if (!dm || grid || plex) continue;
    PetscCall(PetscObjectTypeCompare((PetscObject)dm, DMDA, &grid));
    PetscCall(PetscObjectTypeCompare((PetscObject)dm, DMPLEX, &plex));
  }
  if (!grid && !plex) PetscCall(NoCoordinates(of, option));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode FindCoordinates(const NodesOf &of, const Coordinates &given, const char *file, const char *option,
                               Coordinates *found, const Coordinates **use)
{
  MPI_Comm  comm = PetscObjectComm(of.solver);
  DM        dms[2] = {of.dm, nullptr};
  PetscInt  first, n;
  PetscBool da, plex;

  PetscFunctionBegin;
  PetscCall(LocalNodes(of, &first, &n));
  *use = found;
  if (file && *file) PetscCall(FromFile(of, file, found));
  else if (given.dim) *use = &given; // of whose points FindBlockSize() knows that they fit
  else {
    PetscCall(MatGetDM(of.A, &dms[1]));
    for (DM dm : dms) {
      if (!dm || found->dim) continue;
      PetscCall(PetscObjectTypeCompare((PetscObject)dm, DMDA, &da));
      PetscCall(PetscObjectTypeCompare((PetscObject)dm, DMPLEX, &plex));
      if (da) PetscCall(FromDMDA(of, dm, found));
      else if (plex) PetscCall(FromDMPlex(of, dm, found));
    }
  }
  if (!(*use)->dim && of.couplings) PetscCall(FromNearNullSpace(of, found));
  if (!(*use)->dim && of.couplings) PetscCall(FromCouplings(of, found));
  if (!(*use)->dim) PetscCall(NoCoordinates(of, option));
  const PetscInt dim = (*use)->dim;
  PetscCheck(dim <= 3, comm, PETSC_ERR_ARG_OUTOFRANGE,
             "%s works in 1, 2 or 3 dimensions: the coordinates of %s have %" PetscInt_FMT, of.who,
             (*use)->from.c_str(), dim);
  PetscReal reach[3];
  if (*use == found) found->Inspect(found->x.data(), found->x.size());
  PetscCall(CheckPoints(of, **use, first, n, reach));
  // An axis along which nothing varies is left out, as the third one of a plane mesh.
  PetscInt axis[3], axes = 0;
  for (PetscInt q = 0; q < dim; ++q)
    if (reach[q] > 0) axis[axes++] = q;
  if (axes && axes < dim) {
    Buffer<double> all((*use)->x.size());
    copy((*use)->x, all);
    found->dim  = axes;
    found->from = (*use)->from;
    found->x    = Buffer<double>((size_t)(n * axes));
    for (PetscInt p = 0; p < n; ++p)
      for (PetscInt q = 0; q < axes; ++q) found->x.data()[p * axes + q] = all.data()[p * dim + axis[q]];
    *use = found;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera
