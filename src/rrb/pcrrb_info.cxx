// What the setup of PC rrb has made and chosen, by functions; the view prints what they give.
#include "petsc/shell.hpp"
#include "rrb/pcrrb.hpp"

using tessera::PC_RRB;
namespace rrb = tessera::rrb;

static const char *const RemedyNames[] = {"none",
                                          "more sweeps on the finest grid",
                                          "lines both ways, least squares, AMLI",
                                          "least squares, AMLI",
                                          "more sweeps on the finest grid, least squares, AMLI",
                                          "AMLI",
                                          "algebraic levels"};
static_assert(sizeof(RemedyNames) / sizeof(RemedyNames[0]) == (size_t)rrb::Remedy::count, "a name for each");

const char *tessera::NameOf(rrb::Remedy remedy)
{
  return RemedyNames[(int)remedy];
}

PetscErrorCode tessera::CheckSetUpRRB(PC pc)
{
  const PC_RRB *r = (const PC_RRB *)pc->data;

  PetscFunctionBegin;
  PetscCall(CheckSetUp(pc, "PC rrb", "grids", r->failed, r->failure, r->current));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscInt Grids(const rrb::Plan &p)
{
  const rrb::Algebraic *const algebraic = rrb::algebraic_levels(p);
  return algebraic ? algebraic->below() + 1 : p.levels.back().index + 1;
}

// The level of a grid on which it is worked: of one that every process gets, the second one.
static size_t LevelOf(const rrb::Plan &p, PetscInt grid)
{
  size_t l = p.levels.size() - 1;
  while (p.levels[l].index != grid) --l;
  return l;
}

static PetscErrorCode GetGridInfoThree(PC pc, PetscInt grid, PCRRBGridInfo *info)
{
  const PC_RRB                             *r     = (const PC_RRB *)pc->data;
  const std::vector<rrb::three::GridReport> grids = r->three->solver->report();

  PetscFunctionBegin;
  PetscCheck(grid >= 0 && grid < (PetscInt)grids.size(), PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "PC rrb has the grids 0 to %d: %" PetscInt_FMT " given", (int)grids.size() - 1, grid);
  const rrb::three::GridReport &g = grids[(size_t)grid], &f = grids[0];
  const auto size = [](const rrb::three::GridReport &a) {
    return (a.star ? 7. : 27.) * (PetscReal)a.n[0] * (PetscReal)a.n[1] * (PetscReal)a.n[2];
  };
  *info            = PCRRBGridInfo();
  info->nx         = g.n[0];
  info->ny         = g.n[1];
  info->nz         = g.n[2];
  info->everywhere = g.everywhere && !f.everywhere ? PETSC_TRUE : PETSC_FALSE;
  info->exact      = g.exact ? PETSC_TRUE : PETSC_FALSE;
  info->schur      = g.schur && !g.exact ? PETSC_TRUE : PETSC_FALSE;
  info->smoother   = g.lines && !g.exact ? PC_RRB_SMOOTHER_LINE_ALT : PC_RRB_SMOOTHER_POINT;
  info->sweeps     = g.exact ? 0 : g.degree;
  info->complexity = size(g) / size(f);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetGridInfo(PC pc, PetscInt grid, PCRRBGridInfo *info)
{
  const PC_RRB    *r = (const PC_RRB *)pc->data;
  const rrb::Plan &p = r->plan;

  PetscFunctionBegin;
  PetscCall(tessera::CheckSetUpRRB(pc));
  if (r->three) {
    PetscCall(GetGridInfoThree(pc, grid, info));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCheck(grid >= 0 && grid < Grids(p), PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "PC rrb has the grids 0 to %" PetscInt_FMT ": %" PetscInt_FMT " given", Grids(p) - 1, grid);
  const rrb::Algebraic *const algebraic = rrb::algebraic_levels(p);
  *info = PCRRBGridInfo();
  if (algebraic && grid) {
    const rrb::AlgebraicLevel &a = algebraic->below((int)grid);
    info->nx         = (PetscInt)a.nodes;
    info->ny         = 1;
    info->nz         = 1;
    info->everywhere             = p.levels[0].grid.processes() > 1 && !a.distribution ? PETSC_TRUE : PETSC_FALSE;
    info->exact      = grid + 1 == Grids(p) ? PETSC_TRUE : PETSC_FALSE;
    info->smoother   = PC_RRB_SMOOTHER_POINT;
    info->sweeps     = info->exact ? 0 : 1;
    info->entries    = a.entries / PetscMax(a.nodes, 1);
    info->complexity = a.entries / ((p.nine ? 9. : 5.) * (PetscReal)p.levels[0].grid.size());
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  const size_t      l = LevelOf(p, grid);
  const rrb::Level &g = p.levels[l];
  info->nx         = g.grid.nx;
  info->ny         = g.grid.ny;
  info->nz         = 1;
  info->everywhere = p.levels[0].grid.processes() > 1 && g.grid.processes() == 1 ? PETSC_TRUE : PETSC_FALSE;
  info->exact      = g.step == rrb::Step::solve ? PETSC_TRUE : PETSC_FALSE;
  info->complexity =
    (grid || p.nine ? 9. : 5.) * (PetscReal)g.grid.size() / ((p.nine ? 9. : 5.) * (PetscReal)p.levels[0].grid.size());
  if (info->exact) PetscFunctionReturn(PETSC_SUCCESS);
  info->accelerated = g.accelerated && p.cycle != rrb::Cycle::v ? PETSC_TRUE : PETSC_FALSE;
  if (r->options.coarsening != PC_RRB_COARSENING_GALERKIN) {
    info->lumped = g.lumped;
    if (info->accelerated && p.cycle == rrb::Cycle::amli) std::copy(g.spectrum, g.spectrum + 2, info->spectrum);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  const rrb::GridReport report = rrb::report(p, l);
  info->schur      = report.of_schur ? PETSC_TRUE : PETSC_FALSE;
  info->smoother   = (PCRRBSmoother)(int)report.smoother; // the same order
  info->sweeps     = report.sweeps;
  info->strong_i   = report.shares.weak_y;
  info->strong_j   = report.shares.weak_x;
  info->oblique    = report.shares.diagonal;
  info->parts      = report.components;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetInfo(PC pc, TesseraGridsInfo *info)
{
  const PC_RRB    *r = (const PC_RRB *)pc->data;
  const rrb::Plan &p = r->plan;
  PetscReal        nodes = 0, mine;
  PCRRBGridInfo    grid;

  PetscFunctionBegin;
  PetscCall(tessera::CheckSetUpRRB(pc));
  *info = TesseraGridsInfo();
  info->grids = r->three ? (PetscInt)r->three->solver->report().size() : Grids(p);
  for (PetscInt g = 0; g < info->grids; ++g) {
    PetscCall(GetGridInfo(pc, g, &grid));
    nodes += (PetscReal)grid.nx * (PetscReal)grid.ny * (PetscReal)grid.nz;
    if (!g) info->unknowns = nodes;
    if (r->three) info->operator_complexity += grid.complexity;
  }
  info->dirichlet       = r->report.dirichlet;
  info->grid_complexity = nodes / info->unknowns;
  info->precision       = p.params.single ? TESSERA_PRECISION_SINGLE : TESSERA_PRECISION_DOUBLE;
  if (r->three) {
    info->exact   = grid.nx * grid.ny * grid.nz;
    info->backend = tessera::BackendOf(r->three->exec.space);
    mine          = (PetscReal)r->three->solver->bytes();
  } else {
    info->exact               = rrb::algebraic_levels(p) ? grid.nx : (PetscInt)p.remainder.x.size();
    info->operator_complexity = p.nonzeros;
    info->backend             = tessera::BackendOf(p.exec.space);
    mine                      = (PetscReal)p.bytes();
  }
  PetscCallMPI(MPI_Allreduce(&mine, &info->bytes, 1, MPIU_REAL, MPIU_SUM, PetscObjectComm((PetscObject)pc)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetChoice(PC pc, PCRRBChoice *choice)
{
  const PC_RRB    *r = (const PC_RRB *)pc->data;
  const rrb::Plan &p = r->plan;

  PetscFunctionBegin;
  PetscCall(tessera::CheckSetUpRRB(pc));
  if (r->three) {
    *choice               = PCRRBChoice();
    choice->coarsening    = PC_RRB_COARSENING_GALERKIN;
    choice->interpolation = PC_RRB_INTERPOLATION_COLLAPSE;
    choice->cycle = r->three->solver->cycle() == rrb::three::Cycle::w ? PC_RRB_CYCLE_W : PC_RRB_CYCLE_V;
    choice->measures      = tessera::NameOf(rrb::Remedy::no);
    choice->asymmetry     = r->report.asymmetry;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  const bool galerkin = r->options.coarsening == PC_RRB_COARSENING_GALERKIN, fitted = fits_weights(p.choice.remedy);
  *choice               = PCRRBChoice();
  choice->coarsening    = r->options.coarsening;
  choice->interpolation = r->options.interpolation != PC_RRB_INTERPOLATION_AUTO ? r->options.interpolation
                        : fitted                                                ? PC_RRB_INTERPOLATION_LEAST_SQUARES
                                                                                : PC_RRB_INTERPOLATION_COLLAPSE;
  choice->cycle         = (PCRRBCycle)(int)p.cycle; // the same order
  choice->levels        = p.factor_levels();
  for (const rrb::Level &l : p.levels)
    if (!l.layout.natural) choice->quarters = l.index + 1;
  if (rrb::algebraic_levels(p)) choice->algebraic = Grids(p) - 1;
  choice->measures = tessera::NameOf(p.choice.remedy);
  if (galerkin) {
    choice->usual    = p.choice.expects(rrb::Remedy::no);
    choice->expected = p.choice.expects();
    const size_t l   = LevelOf(p, 0);
    if (p.levels[l].step == rrb::Step::coarsen) choice->leaps = rrb::report(p, l).shares.leaps;
  }
  choice->moved     = p.bytes_moved(false);
  choice->asymmetry = r->report.asymmetry;
  choice->deficit   = r->raised ? r->report.deficit : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetGridSizes(PC pc, PetscInt *grids, const PetscInt *nx[], const PetscInt *ny[])
{
  PC_RRB       *r = (PC_RRB *)pc->data;
  PCRRBGridInfo grid;

  PetscFunctionBegin;
  PetscCall(tessera::CheckSetUpRRB(pc));
  const size_t n = r->three ? r->three->solver->report().size() : (size_t)Grids(r->plan);
  TesseraCallCXX(r->sizes_x.resize(n), r->sizes_y.resize(n));
  for (size_t g = 0; g < n; ++g) {
    PetscCall(GetGridInfo(pc, (PetscInt)g, &grid));
    r->sizes_x[g] = grid.nx;
    r->sizes_y[g] = grid.ny;
  }
  if (grids) *grids = (PetscInt)n;
  if (nx) *nx = r->sizes_x.data();
  if (ny) *ny = r->sizes_y.data();
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::ComposeInfo(PC pc, PetscBool compose)
{
  PetscObject o = (PetscObject)pc;

  PetscFunctionBegin;
  PetscCall(PetscObjectComposeFunction(o, "PCRRBGetInfo_C", compose ? &GetInfo : nullptr));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBGetChoice_C", compose ? &GetChoice : nullptr));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBGetGridSizes_C", compose ? &GetGridSizes : nullptr));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBGetGridInfo_C", compose ? &GetGridInfo : nullptr));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBGetFailure_C", compose ? &tessera::WhySetUpFailed<PC_RRB> : nullptr));
  PetscCall(PetscObjectComposeFunction(o, "PCGetInterpolations_C", compose ? &GetMatricesRRB<false> : nullptr));
  PetscCall(PetscObjectComposeFunction(o, "PCGetCoarseOperators_C", compose ? &GetMatricesRRB<true> : nullptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBGetInfo - Gets how many grids `PCRRB` has, their complexity and their memory

   Collective

   Input Parameter:
.  pc - the preconditioner, after `PCSetUp()`

   Output Parameter:
.  info - see `TesseraGridsInfo`

   Level: intermediate

.seealso: `PCRRB`, `PCRRBGetChoice()`, `PCRRBGetGridSizes()`, `PCRRBGetGridInfo()`
@*/
PetscErrorCode PCRRBGetInfo(PC pc, TesseraGridsInfo *info)
{
  TesseraGetValue(pc, "PCRRBGetInfo_C", info);
}

/*@
   PCRRBGetChoice - Gets what the setup of `PCRRB` has chosen, and the iterations that its trial expects

   Collective

   Input Parameter:
.  pc - the preconditioner, after `PCSetUp()`

   Output Parameter:
.  choice - see `PCRRBChoice`

   Level: advanced

.seealso: `PCRRB`, `PCRRBGetInfo()`, `PCRRBSetTrial()`
@*/
PetscErrorCode PCRRBGetChoice(PC pc, PCRRBChoice *choice)
{
  TesseraGetValue(pc, "PCRRBGetChoice_C", choice);
}

/*@
   PCRRBGetGridSizes - Gets the sizes of the grids of `PCRRB`

   Collective

   Input Parameter:
.  pc - the preconditioner, after `PCSetUp()`

   Output Parameters:
+  grids - how many there are
.  nx - of each, the finest one first, the nodes along the first index; rows of an algebraic level
-  ny - along the second one; 1 of an algebraic level

   Level: intermediate

   Note:
   The arrays belong to the preconditioner and stay until its next setup. Any output may be `NULL`.

.seealso: `PCRRB`, `PCRRBGetInfo()`, `PCRRBGetGridInfo()`
@*/
PetscErrorCode PCRRBGetGridSizes(PC pc, PetscInt *grids, const PetscInt *nx[], const PetscInt *ny[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  if (grids) PetscAssertPointer(grids, 2);
  if (nx) PetscAssertPointer(nx, 3);
  if (ny) PetscAssertPointer(ny, 4);
  PetscUseMethod(pc, "PCRRBGetGridSizes_C", (PC, PetscInt *, const PetscInt *[], const PetscInt *[]),
                 (pc, grids, nx, ny));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBGetGridInfo - Gets what one of the grids of `PCRRB` is and how it is smoothed

   Collective

   Input Parameters:
+  pc - the preconditioner, after `PCSetUp()`
-  grid - which one, 0 being the finest

   Output Parameter:
.  info - see `PCRRBGridInfo`

   Level: advanced

.seealso: `PCRRB`, `PCRRBGetInfo()`, `PCRRBGetGridSizes()`
@*/
PetscErrorCode PCRRBGetGridInfo(PC pc, PetscInt grid, PCRRBGridInfo *info)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveInt(pc, grid, 2);
  PetscAssertPointer(info, 3);
  PetscUseMethod(pc, "PCRRBGetGridInfo_C", (PC, PetscInt, PCRRBGridInfo *), (pc, grid, info));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBGetFailure - Gets why the last setup of `PCRRB` has failed

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  failure - a text that belongs to the preconditioner and stays until its next setup; `NULL` where nothing has failed

   Level: intermediate

   Note:
   A solver around it ends with `KSP_DIVERGED_PC_FAILED` then.

.seealso: `PCRRB`, `PCGetFailedReason()`
@*/
PetscErrorCode PCRRBGetFailure(PC pc, const char *failure[])
{
  TesseraGetValue(pc, "PCRRBGetFailure_C", failure);
}
