#include "vipmg/treematrix.hpp"
#include <algorithm>

namespace tessera::vipmg {

using tree::Failure;

PetscErrorCode TreeMatrix::Reset()
{
  PetscFunctionBegin;
  PetscCall(rows_.Restore());
  PetscCall(rows_.Reset());
  problem_.reset();
  matrix_  = 0;
  pattern_ = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static NodesOf NodesIn(const MeshSource &source, Mat J)
{
  NodesOf nodes{source.solver, source.who, J};
  nodes.dm        = source.dm;
  nodes.couplings = false;
  return nodes;
}

PetscErrorCode TreeMatrix::Check(const MeshSource &source, Mat J)
{
  const Coordinates *given = nullptr;
  Coordinates        empty;
  uint64_t           number;

  PetscFunctionBegin;
  if (source.pc) PetscCall(GivenCoordinates(source.pc, &given));
  PetscCall(AgreeOnCoordinates(NodesIn(source, J), given, &empty, &given, &number));
  PetscCall(CheckCoordinates(NodesIn(source, J), given, source.file.c_str(), source.option.c_str()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TreeMatrix::Make(const MeshSource &source, Mat J, const Coordinates &given, const Exec &exec,
                                const Params &params, const MatrixRows &rows, const GhostNodes &ghosts,
                                Failure *failure)
{
  NodesOf            nodes = NodesIn(source, J);
  Coordinates        found;
  const Coordinates *use;

  PetscFunctionBegin;
  nodes.bs = bs_;
  PetscCall(FindCoordinates(nodes, given, source.file.c_str(), source.option.c_str(), &found, &use));
  from_           = use->from;
  tree::Params p  = tree::params_for((int)use->dim, (int)bs_);
  p.judges_places = true;
  if (params.levels) p.grids = params.levels - 1;
  TesseraCallCXX(problem_.reset(new TreeProblem(exec, comm_, p)));
  TesseraCallCXX(*failure =
                   problem_->tree().setup(rows, use->x.data(), ghosts.owner, ghosts.index, false, use->x.space()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TreeMatrix::ReportFailure(const MeshSource &source, Mat J, const Failure &failure, MatrixReport &report)
{
  const MPI_Comm comm = PetscObjectComm(source.solver);
  int            kind = (int)failure.kind, any, who, rank, size;
  PetscInt       first;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(&kind, &any, 1, MPI_INT, MPI_MAX, comm));
  PetscCheck(any != Failure::too_long, comm, PETSC_ERR_SUP,
             "%s: rows of the Jacobian are coupled with more than 65000 others. Use -snes_type vinewtonrsls",
             source.who);
  PetscCheck(any != Failure::far, comm, PETSC_ERR_ARG_INCOMP,
             "%s: the Jacobian couples nodes that lie far apart, so that a coarse operator would have more than 6 "
             "times its entries: are the coordinates those of its nodes, in the order of its rows?",
             source.who);
  PetscCheck(any != Failure::too_coarse, comm, PETSC_ERR_ARG_OUTOFRANGE,
             "%s: with so few grids (-snes_vipmg_levels) more than 2000 unknowns remain to be solved exactly. Use more "
             "grids, or 0 for as many as it takes",
             source.who);
  report = MatrixReport();
  if (!any || any == Failure::lost) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetOwnershipRange(J, &first, nullptr));
  report.kind  = any == Failure::not_finite ? MatrixReport::not_finite
               : any == Failure::diagonal   ? MatrixReport::diagonal
                                            : MatrixReport::indefinite;
  report.row   = failure.kind == any && failure.row >= 0 ? first + (PetscInt)failure.row : -1;
  report.value = failure.value;
  PetscCall(FirstProcess(comm, failure.kind == any, &who, &rank, &size));
  PetscCallMPI(MPI_Bcast(&report, (int)sizeof(report), MPI_BYTE, who, comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TreeMatrix::Reflect(const MeshSource &source)
{
  const PetscScalar *v;
  PetscInt           n, bs, least = PETSC_MAX_INT, first, all;
  Buffer<double>     copied;

  PetscFunctionBegin;
  if (!source.reflect) PetscFunctionReturn(PETSC_SUCCESS);
  const MPI_Comm comm = PetscObjectComm(source.solver);
  PetscCall(VecGetBlockSize(source.reflect, &bs));
  PetscCheck(bs == bs_, comm, PETSC_ERR_ARG_SIZ,
             "%s: the normals have %" PetscInt_FMT " numbers per node (their block size), the matrix has %" PetscInt_FMT
             " unknowns", source.who, bs, bs_);
  PetscCall(VecGetLocalSize(source.reflect, &n));
  PetscCall(VecGetOwnershipRange(source.reflect, &first, nullptr));
  PetscCall(VecGetArrayRead(source.reflect, &v));
  TesseraCallCXX(copied.resize((size_t)n));
  std::copy(v, v + n, copied.data());
  const Buffer<int> &list = problem_->tree().constrained_rows().list;
  Buffer<int>        constrained(list.size());
  copy(list, constrained);
  for (size_t p = 0; p < constrained.size(); ++p)
    for (PetscInt node = constrained.data()[p] / bs, k = 0; k < bs; ++k)
      if (v[node * bs + k] != 0) least = PetscMin(least, first / bs + node);
  PetscCall(VecRestoreArrayRead(source.reflect, &v));
  PetscCallMPI(MPI_Allreduce(&least, &all, 1, MPIU_INT, MPI_MIN, comm));
  PetscCheck(all == PETSC_MAX_INT, comm, PETSC_ERR_SUP,
             "%s: node %" PetscInt_FMT
             " has a normal along no axis of its own and a row of the Jacobian without couplings (a Dirichlet value): "
             "give no normal and no bounds there", source.who, all);
  TesseraCallCXX(problem_->reflect(copied));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TreeMatrix::Read(const MeshSource &source, Mat J, const Exec &exec, const Params &params,
                                MatrixReport &report)
{
  const Coordinates *given = nullptr;
  Coordinates        none;
  uint64_t           points;
  PetscObjectId      id;
  PetscObjectState   state;
  GhostNodes         ghosts;
  MatrixRows         rows;
  Failure            failure;
  bool               refreshed = false;

  PetscFunctionBegin;
  PetscCall(CommOf(source.solver, &comm_));
  if (source.pc) PetscCall(GivenCoordinates(source.pc, &given));
  PetscCall(AgreeOnCoordinates(NodesIn(source, J), given, &none, &given, &points));
  PetscCall(PetscObjectGetId((PetscObject)J, &id));
  PetscCall(MatGetNonzeroState(J, &state));
  const bool known = problem_ && id == matrix_ && state == pattern_ && points == points_;
  matrix_          = 0;
  if (!known)
    PetscCall(FindBlockSize(source.solver, source.who, J, source.file.empty() ? given : nullptr, "", &bs_));
  PetscCall(ReadRows(comm_, source.who, J, bs_, exec.space, &rows_, &ghosts, &rows));
  if (known) TesseraCallCXX(refreshed = problem_->tree().refresh(rows, failure));
  if (!refreshed) PetscCall(Make(source, J, given ? *given : none, exec, params, rows, ghosts, &failure));
  PetscCall(rows_.Restore());
  PetscCall(ReportFailure(source, J, failure, report));
  if (report.kind != MatrixReport::fine) PetscFunctionReturn(PETSC_SUCCESS);
  report.dirichlet = (PetscInt)problem_->tree().constrained();
  TesseraCallCXX(problem_->begin(params));
  PetscCall(Reflect(source));
  matrix_  = id;
  pattern_ = state;
  points_  = points;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera::vipmg
