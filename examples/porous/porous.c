static char help[] = "Flow through porous rock in three dimensions: a pack of grains from a seed, and the rock's permeability.\n\n\
  ./porous -n 64 -pc_type hypre -output rock.vts\n\
  ./porous -n 96 -compare rrb,gamg,hypre\n\n";

/*
  Darcy's law and conservation of what flows:

    -div(K grad p) = 0        p: pressure    K: conductivity, 1 in the pores and -solid in the grains

  The pressure is 1 on one side of the box and 0 on the opposite one (-along); nothing flows through the other four.
  Q through the box gives the permeability that the rock has as a whole, over that of its pores:

    k = Q L / (A (1 - 0))      L: length along the flow    A: area across it

  The grains are spheres that overlap: centres and radii come from -seed, then all radii are scaled until -porosity of
  the cells are pores. With -periodic the rock goes on beyond its sides as it begins on the opposite ones. -layers m has
  m flat layers in place of spheres, whose permeability is known: harmonic mean across, arithmetic mean along.

  Space: a DMDA's cells, finite volumes, seven points. Lengths are in those of the box's longest side; the cells are cubes
  of side h. The conductance of a face is h times the harmonic mean of the two K, of a side with pressure h times 2 K;
  the matrix has no h. With -solid 0 the grains, and pores that lead to neither side, are identity rows that nothing
  couples to.
*/
#include "porous.h"
#include <petscviewer.h>

/* ---- discretization */

static PetscErrorCode Assemble(Rock *r)
{
  PetscScalar ***K, ***b;
  Box            own;

  PetscFunctionBeginUser;
  PetscCall(Owned(r, &own));
  PetscCall(DMSetMatrixPreallocateOnly(r->da, PETSC_TRUE)); /* no zeros where nothing flows */
  PetscCall(DMCreateMatrix(r->da, &r->A));
  PetscCall(DMCreateGlobalVector(r->da, &r->b));
  PetscCall(DMDAVecGetArrayRead(r->da, r->K, &K));
  PetscCall(DMDAVecGetArray(r->da, r->b, &b));
  EACH (own, i, j, k) {
    const MatStencil row      = {.i = i, .j = j, .k = k};
    const PetscInt   order[7] = {4, 2, 0, 6, 1, 3, 5}; /* columns upwards, which PETSc takes for granted in a matrix without zeros; 6: the diagonal */
    MatStencil       col[7];
    PetscScalar      value[7], diagonal = 0;
    PetscInt         count = 0, at = 0;

    b[k][j][i] = 0;
    for (PetscInt q = 0; q < 7; q++) {
      const PetscInt f = order[q];

      if (f == 6) {
        at           = count;
        col[count++] = row;
        continue;
      }
      const PetscInt  other[3] = {i + step[f][0], j + step[f][1], k + step[f][2]};
      const PetscReal g        = Conductance(r, K, i, j, k, f);

      if (!(g > 0)) continue;
      diagonal += g;
      if (Inside(r, other)) {
        col[count]     = (MatStencil){.i = other[0], .j = other[1], .k = other[2]};
        value[count++] = -g;
      } else if (f % 2 == 0) b[k][j][i] += g; /* times the pressure 1 */
    }
    value[at] = diagonal > 0 ? diagonal : 1;
    PetscCall(MatSetValuesStencil(r->A, 1, &row, count, col, value, INSERT_VALUES));
  }
  PetscCall(DMDAVecRestoreArray(r->da, r->b, &b));
  PetscCall(DMDAVecRestoreArrayRead(r->da, r->K, &K));
  PetscCall(MatAssemblyBegin(r->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(r->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(r->A, MAT_SYMMETRIC, PETSC_TRUE));
  if (r->csr) PetscCall(MatSetDM(r->A, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Over h, out of a cell through face f: x is a local vector's */
static inline PetscReal Outflow(const Rock *r, PetscScalar ***K, PetscScalar ***x, PetscInt i, PetscInt j, PetscInt k, PetscInt f)
{
  const PetscInt  other[3] = {i + step[f][0], j + step[f][1], k + step[f][2]};
  const PetscReal g        = Conductance(r, K, i, j, k, f);

  if (!(g > 0)) return 0;
  return g * (x[k][j][i] - (Inside(r, other) ? x[other[2]][other[1]][other[0]] : f % 2 ? 0 : 1));
}

/* Flow through each of the n + 1 planes of faces across the flow, over h */
static PetscErrorCode Planes(const Rock *r, Vec p, PetscReal *flow)
{
  const PetscInt n = r->n[r->along];
  Vec            local;
  PetscScalar ***x, ***K;
  PetscReal     *mine;
  PetscMPIInt    count;
  Box            own;

  PetscFunctionBeginUser;
  PetscCall(Owned(r, &own));
  PetscCall(PetscCalloc1(n + 1, &mine));
  PetscCall(DMGetLocalVector(r->da, &local));
  PetscCall(DMGlobalToLocal(r->da, p, INSERT_VALUES, local));
  PetscCall(DMDAVecGetArrayRead(r->da, local, &x));
  PetscCall(DMDAVecGetArrayRead(r->da, r->K, &K));
  EACH (own, i, j, k) {
    const PetscInt at = r->along == 0 ? i : r->along == 1 ? j : k;
    if (at == 0) mine[0] -= Outflow(r, K, x, i, j, k, 2 * r->along);
    mine[at + 1] += Outflow(r, K, x, i, j, k, 2 * r->along + 1);
  }
  PetscCall(DMDAVecRestoreArrayRead(r->da, r->K, &K));
  PetscCall(DMDAVecRestoreArrayRead(r->da, local, &x));
  PetscCall(DMRestoreLocalVector(r->da, &local));
  PetscCall(PetscMPIIntCast(n + 1, &count));
  PetscCallMPI(MPI_Allreduce(mine, flow, count, MPIU_REAL, MPIU_SUM, PETSC_COMM_WORLD));
  PetscCall(PetscFree(mine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest difference between the flows through two planes, beside the flow into the rock */
static PetscErrorCode Balance(void *ctx, Solver *s)
{
  const Rock    *r = (const Rock *)ctx;
  const PetscInt n = r->n[r->along];
  PetscReal     *flow, least, most;
  PetscInt       cells;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(n + 1, &flow));
  PetscCall(Planes(r, s->x, flow));
  least = most = flow[0];
  for (PetscInt q = 1; q <= n; q++) {
    least = PetscMin(least, flow[q]);
    most  = PetscMax(most, flow[q]);
  }
  PetscCall(VecGetSize(s->x, &cells));
  s->balance = most - least;
  s->leaks   = (PetscBool)(s->balance > 1.01 * s->norm * PetscSqrtReal(cells) + 1e-10 * PetscAbsReal(flow[0])); /* the sum of n numbers, and rounding */
  if (flow[0] > 0) s->balance /= flow[0];
  PetscCall(PetscFree(flow));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PrintFlow(const Rock *r, Vec p)
{
  const PetscInt n = r->n[r->along], across = r->n[(r->along + 1) % 3] * r->n[(r->along + 2) % 3];
  PetscReal     *flow, norm;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(n + 1, &flow));
  PetscCall(Planes(r, p, flow));
  PetscCall(VecNorm(p, NORM_2, &norm));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "flow     in %.10e, out %.10e\n", (double)(flow[0] * r->h), (double)(flow[n] * r->h)));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "rock     has %.10e of its pores' permeability, |p| %.10e\n", (double)(flow[0] * n / across), (double)norm));
  PetscCall(PetscFree(flow));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the program */

/* Pressure, conductivity and velocity at the cells' centres, by PETSc's writer of VTK */
static PetscErrorCode Output(const char path[], const Rock *r, Vec p)
{
  DM              da3;
  Vec             local, K, velocity;
  PetscScalar  ***x, ***k3, ****v;
  PetscViewer     viewer;
  const PetscReal half = r->h / 2;
  Box             own;

  PetscFunctionBeginUser;
  PetscCall(Owned(r, &own));
  PetscCall(DMDASetUniformCoordinates(r->da, half, r->n[0] * r->h - half, half, r->n[1] * r->h - half, half, r->n[2] * r->h - half));
  PetscCall(DMDACreateCompatibleDMDA(r->da, 3, &da3));
  PetscCall(DMDASetUniformCoordinates(da3, half, r->n[0] * r->h - half, half, r->n[1] * r->h - half, half, r->n[2] * r->h - half));
  PetscCall(DMCreateGlobalVector(r->da, &K));
  PetscCall(DMCreateGlobalVector(da3, &velocity));
  PetscCall(DMLocalToGlobal(r->da, r->K, INSERT_VALUES, K));
  PetscCall(DMGetLocalVector(r->da, &local));
  PetscCall(DMGlobalToLocal(r->da, p, INSERT_VALUES, local));
  PetscCall(DMDAVecGetArrayRead(r->da, local, &x));
  PetscCall(DMDAVecGetArrayRead(r->da, r->K, &k3));
  PetscCall(DMDAVecGetArrayDOF(da3, velocity, &v));
  EACH (own, i, j, k)
    for (int d = 0; d < 3; d++) v[k][j][i][d] = 0.5 * (Outflow(r, k3, x, i, j, k, 2 * d + 1) - Outflow(r, k3, x, i, j, k, 2 * d)) / r->h;
  PetscCall(DMDAVecRestoreArrayDOF(da3, velocity, &v));
  PetscCall(DMDAVecRestoreArrayRead(r->da, r->K, &k3));
  PetscCall(DMDAVecRestoreArrayRead(r->da, local, &x));
  PetscCall(DMRestoreLocalVector(r->da, &local));
  PetscCall(PetscObjectSetName((PetscObject)p, "pressure"));
  PetscCall(PetscObjectSetName((PetscObject)K, "conductivity"));
  PetscCall(PetscObjectSetName((PetscObject)velocity, "velocity"));
  PetscCall(PetscViewerVTKOpen(PETSC_COMM_WORLD, path, FILE_MODE_WRITE, &viewer));
  PetscCall(VecView(p, viewer));
  PetscCall(VecView(K, viewer));
  PetscCall(VecView(velocity, viewer));
  PetscCall(PetscViewerDestroy(&viewer)); /* writes them */
  PetscCall(VecDestroy(&K));
  PetscCall(VecDestroy(&velocity));
  PetscCall(DMDestroy(&da3));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Options(Rock *r, Comparison *c, char output[], size_t length, PetscBool *hasOutput)
{
  const char *axes[] = {"x", "y", "z"};
  PetscInt    given = 3;
  PetscBool   set, vts = PETSC_TRUE;

  PetscFunctionBeginUser;
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Porous rock", NULL);
  PetscCall(PetscOptionsIntArray("-n", "Cells in each direction, or nx,ny,nz", NULL, r->n, &given, &set));
  PetscCall(PetscOptionsReal("-porosity", "Share of the cells that are pores", NULL, r->porosity, &r->porosity, NULL));
  PetscCall(PetscOptionsReal("-solid", "Conductivity of the grains over that of the pores", NULL, r->solid, &r->solid, NULL));
  PetscCall(PetscOptionsInt("-grains", "Grains whose centre is in the box", NULL, r->grains, &r->grains, NULL));
  PetscCall(PetscOptionsInt("-seed", "Which pack of grains", NULL, r->seed, &r->seed, NULL));
  PetscCall(PetscOptionsBool("-periodic", "The rock goes on beyond its sides as it begins", NULL, r->periodic, &r->periodic, NULL));
  PetscCall(PetscOptionsInt("-layers", "Flat layers, of pores and of grains, in place of a pack", NULL, r->layers, &r->layers, NULL));
  PetscCall(PetscOptionsEList("-along", "The direction of the flow", NULL, axes, 3, axes[r->along], &r->along, NULL));
  PetscCall(PetscOptionsBool("-csr", "Hide the grid from the solvers: rows in natural order, a matrix without a DM", NULL, r->csr, &r->csr, NULL));
  PetscCall(PetscOptionsString("-output", "Write pressure, conductivity and velocity: FILE.vts, for ParaView and plot", NULL, output, output, length, hasOutput));
  PetscOptionsEnd();
  PetscCall(ComparisonOptions(c));
  PetscCheck(!set || given == 1 || given == 3, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-n is one number or three, nx,ny,nz");
  if (set && given == 1) r->n[1] = r->n[2] = r->n[0];
  PetscCheck(r->n[0] > 1 && r->n[1] > 1 && r->n[2] > 1, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-n: at least 2 cells in each direction, not %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT, r->n[0], r->n[1], r->n[2]);
  PetscCheck((PetscReal)r->n[0] * r->n[1] * r->n[2] < PETSC_INT_MAX / 8, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-n: %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT " cells are too many for this PETSc's integers", r->n[0], r->n[1], r->n[2]);
  PetscCheck(r->porosity > 0 && r->porosity < 1, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-porosity is between 0 and 1, both excluded: %g is no rock with pores", (double)r->porosity);
  PetscCheck(r->solid >= 0 && !PetscIsInfOrNanReal(r->solid), PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-solid is a conductivity: zero or positive, not %g", (double)r->solid);
  PetscCheck(r->grains > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-grains must be positive, not %" PetscInt_FMT, r->grains);
  PetscCheck(r->layers >= 0 && r->layers <= r->n[2], PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-layers: between 1 and the %" PetscInt_FMT " cells along z (0: grains), not %" PetscInt_FMT, r->n[2], r->layers);
  if (*hasOutput) PetscCall(PetscStrendswith(output, ".vts", &vts));
  PetscCheck(vts, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-output %s: the name must end in .vts", output);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateGrid(Rock *r)
{
  PetscMPIInt ranks;
  PetscInt    got[3];

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  /* slabs: PETSc's order of the cells is the natural one */
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, r->n[0], r->n[1], r->n[2], r->csr ? 1 : PETSC_DECIDE, r->csr ? 1 : PETSC_DECIDE, r->csr ? ranks : PETSC_DECIDE, 1, 1, NULL, NULL, NULL, &r->da));
  PetscCall(DMSetFromOptions(r->da));
  PetscCall(DMSetUp(r->da));
  PetscCall(DMDAGetInfo(r->da, NULL, &got[0], &got[1], &got[2], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCheck(got[0] == r->n[0] && got[1] == r->n[1] && got[2] == r->n[2], PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-n gives the grid's size: not -da_grid_x or -da_refine");
  r->h = 1. / PetscMax(r->n[0], PetscMax(r->n[1], r->n[2]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Rock       r = {.n = {64, 64, 64}, .grains = 150, .seed = 1, .porosity = 0.35, .solid = 1e-4};
  Comparison c = {.rtol = 1e-10};
  char       output[PETSC_MAX_PATH_LEN] = "";
  PetscBool  hasOutput, good;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(Options(&r, &c, output, sizeof(output), &hasOutput));
  PetscCall(CreateGrid(&r));
  PetscCall(Fill(&r));
  if (r.solid == 0) PetscCall(Close(&r));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "pack     %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT " cells, %.4f %% pores", r.n[0], r.n[1], r.n[2], (double)(100 * r.pores / ((PetscReal)r.n[0] * r.n[1] * r.n[2]))));
  if (r.solid > 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, ", grains conduct %g\n", (double)r.solid));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, ", of which %.4f %% are closed, grains do not conduct\n", (double)(100 * r.closed / r.pores)));
  PetscCall(Assemble(&r));
  PetscCall(ComparisonRun(&c, r.A, r.b, Balance, &r));
  PetscCall(PrintFlow(&r, c.solver[0].x));
  if (hasOutput) PetscCall(Output(output, &r, c.solver[0].x));
  PetscCall(ComparisonTable(&c, "", &good));
  PetscCall(ComparisonDestroy(&c));
  PetscCall(VecDestroy(&r.b));
  PetscCall(VecDestroy(&r.K));
  PetscCall(MatDestroy(&r.A));
  PetscCall(DMDestroy(&r.da));
  PetscCall(PetscFinalize());
  return good ? 0 : 1;
}
