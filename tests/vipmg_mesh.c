static char help[] = "SNES vipmg on meshes: cycles, and the answer and the active set of vinewtonrsls.\n\n"
                     "  -mesh type -n size -problem obstacle|torsion|sides|part|none|contact -most cycles -reaction c -wind v -jump j -bs b -elastic -nu Poisson's ratio -compare -quiet -again most -repeat k -jacobians most -time_step t -setups most\n\n";
/*
  obstacle  -Laplace u = -5, u >= 0.25 - 1.5 |x - c|^2, c the middle
  torsion   -Laplace u = 5, u <= distance to the boundary
  sides     -Laplace u = 40 sin(3 pi x) sin(2 pi y), |u| <= distance to the boundary
  part      as obstacle, with bounds at every third node alone
  none      no bounds
  contact   a body (-elastic -neumann -time_step) is pushed onto waves under its lower side
  -reaction c adds c u^3, -wind v convection by a whirl: the matrix is not symmetric
*/
#include "auxamg_problem.h"
#include "tessera.h"
#include <petscsnes.h>

typedef enum { OBSTACLE, TORSION, SIDES, PART, NONE, CONTACT } Kind;
static const char *const kinds[] = {"obstacle", "torsion", "sides", "part", "none", "contact", "Kind", "", NULL};
typedef struct {
  Mat       A;
  Vec       b, mass, work;
  PetscReal reaction;
  PetscInt  jacobians; /* so many have been asked for */
} Problem;

static PetscErrorCode Function(SNES snes, Vec x, Vec f, void *ctx)
{
  Problem *p = (Problem *)ctx;

  PetscFunctionBeginUser;
  (void)snes;
  PetscCall(MatMult(p->A, x, f));
  PetscCall(VecAXPY(f, -1, p->b));
  if (p->reaction != 0) {
    PetscCall(VecPointwiseMult(p->work, x, x));
    PetscCall(VecPointwiseMult(p->work, p->work, x));
    PetscCall(VecPointwiseMult(p->work, p->work, p->mass));
    PetscCall(VecAXPY(f, p->reaction, p->work));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
static PetscErrorCode Jacobian(SNES snes, Vec x, Mat J, Mat P, void *ctx)
{
  Problem *p = (Problem *)ctx;

  PetscFunctionBeginUser;
  (void)snes;
  (void)J;
  ++p->jacobians;
  if (p->reaction != 0) { /* else P is A from the beginning */
    PetscCall(MatCopy(p->A, P, SAME_NONZERO_PATTERN));
    PetscCall(VecPointwiseMult(p->work, x, x));
    PetscCall(VecPointwiseMult(p->work, p->work, p->mass));
    PetscCall(VecScale(p->work, 3 * p->reaction));
    PetscCall(MatDiagonalSet(P, p->work, ADD_VALUES));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscReal Distance(MeshType type, PetscInt dim, const PetscReal *x)
{
  PetscReal d = 1, r = 0;
  for (PetscInt q = 0; q < dim; ++q) {
    d = PetscMin(d, PetscMin(x[q], 1 - x[q]));
    r += x[q] * x[q];
  }
  return type == MESH_DISK || type == MESH_GRADED ? PetscMax(0, 1 - PetscSqrtReal(r)) : PetscMax(0, d);
}

/* The right-hand side and the bounds; the mass of a node is that of its elements, zero at the boundary */
static PetscErrorCode Data(const Mesh *m, MeshType type, Kind kind, PetscInt bs, PetscInt nodes, const PetscReal *x, const PetscReal *mass, Problem *p, Vec lower, Vec upper)
{
  PetscScalar *b, *lo, *up, *w;
  const PetscReal middle = type == MESH_DISK || type == MESH_GRADED ? 0 : 0.5;

  PetscFunctionBeginUser;
  PetscCall(VecGetArray(p->b, &b));
  PetscCall(VecGetArray(p->mass, &w));
  PetscCall(VecGetArray(lower, &lo));
  PetscCall(VecGetArray(upper, &up));
  for (PetscInt k = 0; k < nodes * bs; ++k) {
    const PetscReal *at = x + m->dim * (k / bs), d = Distance(type, m->dim, at);
    PetscReal        r2 = 0, f = kind == TORSION ? 5 : -5;
    for (PetscInt q = 0; q < m->dim; ++q) r2 += (at[q] - middle) * (at[q] - middle);
    lo[k] = PETSC_NINFINITY;
    up[k] = PETSC_INFINITY;
    if (kind == SIDES) f = 40 * PetscSinReal(3 * PETSC_PI * at[0]) * PetscSinReal(2 * PETSC_PI * at[m->dim > 1]);
    if (kind == SIDES) lo[k] = -d;
    if (kind == SIDES || kind == TORSION) up[k] = d;
    if (kind == OBSTACLE || (kind == PART && (k / bs) % 3 == 0)) lo[k] = 0.25 - 1.5 * r2;
    if (bs > 1 && k % bs == bs - 1) { /* the last component has no bounds */
      lo[k] = PETSC_NINFINITY;
      up[k] = PETSC_INFINITY;
    }
    if (kind == CONTACT && k % bs == bs - 1 && at[m->dim - 1] < 1e-12) lo[k] = 0.02 + 0.022 * PetscCosReal(8.4 * at[0] + 4.1);
    if (kind == CONTACT) f = k % bs == bs - 1 ? -0.42 : 0;
    w[k] = mass[k / bs];
    b[k] = f * w[k];
  }
  PetscCall(VecRestoreArray(p->b, &b));
  PetscCall(VecRestoreArray(p->mass, &w));
  PetscCall(VecRestoreArray(lower, &lo));
  PetscCall(VecRestoreArray(upper, &up));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Masses of own nodes by their places, which the problem's numbering has shuffled: nodes are found by their coordinates */
static PetscErrorCode Masses(const Mesh *m, const ProblemOptions *o, PetscInt first, PetscInt nodes, PetscReal *mass)
{
  PetscInt *number;
  PetscReal g[4][3];

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(m->n, &number));
  for (PetscInt p = 0; p < m->n; ++p) number[p] = p;
  if (o->shuffle)
    for (PetscInt p = m->n - 1; p > 0; --p) {
      const PetscInt q = (PetscInt)((0.5 + 0.5 * Random(p, 17)) * (PetscReal)p), t = number[p];
      number[p] = number[q];
      number[q] = t;
    }
  for (PetscInt p = 0; p < nodes; ++p) mass[p] = 0;
  for (PetscInt t = 0; t < m->elements; ++t) {
    const PetscInt *e      = m->e + (m->dim + 1) * t;
    const PetscReal volume = Gradients(m, t, g);
    for (PetscInt a = 0; a <= m->dim; ++a) {
      const PetscInt k = number[e[a]] - first;
      if (k >= 0 && k < nodes && (o->neumann || !m->border[e[a]])) mass[k] += volume / (PetscReal)(m->dim + 1);
    }
  }
  PetscCall(PetscFree(number));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An implicit step in time of a parabolic problem */
static PetscErrorCode AddMass(Problem *p, PetscReal step)
{
  PetscFunctionBeginUser;
  if (step <= 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecCopy(p->mass, p->work));
  PetscCall(VecScale(p->work, 1 / step));
  PetscCall(MatDiagonalSet(p->A, p->work, ADD_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Have grids had new operators more often than they may? */
static PetscErrorCode CheckSetUps(void)
{
  PetscInt           setups = -1;
  PetscLogEvent      event;
  PetscEventPerfInfo info;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-setups", &setups, NULL));
  if (setups < 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventGetId("VIPMGSetUp", &event));
  PetscCall(PetscLogEventGetPerfInfo(0, event, &info));
  if (info.count > setups) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d setups\n", info.count));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(const char *prefix, Problem *p, Vec lower, Vec upper, Vec x, PetscInt dim, PetscInt nodes, PetscReal *coordinates, PetscInt *its, SNESConvergedReason *reason)
{
  SNES snes;
  KSP  ksp;
  PC   pc;
  Mat  J;
  Vec  F;
  PetscInt repeat = 0, again = 0;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(x, &F));
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetOptionsPrefix(snes, prefix));
  PetscCall(MatDuplicate(p->A, MAT_COPY_VALUES, &J));
  PetscCall(SNESSetFunction(snes, F, Function, p));
  PetscCall(SNESSetJacobian(snes, J, J, Jacobian, p));
  PetscCall(SNESSetType(snes, prefix ? SNESVINEWTONRSLS : "vipmg"));
  PetscCall(SNESVISetVariableBounds(snes, lower, upper));
  PetscCall(SNESSetFromOptions(snes));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  if (!prefix && coordinates) PetscCall(PCSetCoordinates(pc, dim, nodes, coordinates));
  PetscCall(PetscOptionsGetInt(NULL, prefix, "-repeat", &repeat, NULL)); /* the times of repeated solves */
  for (PetscInt k = 0; k <= repeat; ++k) {
    double start, end;
    PetscCall(VecSet(x, 0));
    start = MPI_Wtime();
    PetscCall(SNESSolve(snes, NULL, x));
    end = MPI_Wtime();
    if (repeat) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "solve %d: %.4f s\n", (int)k, end - start));
  }
  PetscCall(SNESGetLinearSolveIterations(snes, its));
  PetscCall(SNESGetConvergedReason(snes, reason));
  PetscCall(PetscOptionsGetInt(NULL, prefix, "-again", &again, NULL)); /* with a load that is a little larger, from there */
  if (again) {
    PetscInt cycles;
    PetscCall(VecScale(p->b, 1.00001));
    PetscCall(SNESSolve(snes, NULL, x));
    PetscCall(SNESGetLinearSolveIterations(snes, &cycles));
    if (cycles > again) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "again %d cycles\n", (int)cycles));
  }
  if (!prefix) PetscCall(CheckSetUps());
  PetscCall(MatDestroy(&J));
  PetscCall(VecDestroy(&F));
  PetscCall(SNESDestroy(&snes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mesh                mesh;
  ProblemOptions      o = {1, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 1, 1, 0, 0, 0, 0, 0, 0, 0};
  MeshType            type = MESH_SQUARE;
  Kind                kind = OBSTACLE;
  Problem             p;
  PetscInt            n = 40, nodes = 0, its, first, most = 0, jacobians = PETSC_MAX_INT;
  PetscReal          *coordinates = NULL, *mass, step = 0;
  PetscBool           compare = PETSC_FALSE, quiet = PETSC_FALSE;
  Vec                 x, y, lower, upper;
  SNESConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscLogDefaultBegin());
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-mesh", MeshTypes, (PetscEnum *)&type, NULL));
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-problem", kinds, (PetscEnum *)&kind, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-bs", &o.bs, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-most", &most, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-jacobians", &jacobians, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-one_sided", &o.eliminate, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-neumann", &o.neumann, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-shuffle", &o.shuffle, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-compare", &compare, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-quiet", &quiet, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-jump", &o.jump, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-wind", &o.wind, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-nu", &o.poisson, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-elastic", &o.elastic, NULL));
  p.reaction  = 0;
  p.jacobians = 0;
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-reaction", &p.reaction, NULL));
  PetscCall(MeshMake(type, n, &mesh));
  PetscCall(ProblemMake(PETSC_COMM_WORLD, &mesh, &o, &p.A, &nodes, &coordinates));
  PetscCall(MatCreateVecs(p.A, &x, &p.b));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecDuplicate(x, &lower));
  PetscCall(VecDuplicate(x, &upper));
  PetscCall(VecDuplicate(x, &p.mass));
  PetscCall(VecDuplicate(x, &p.work));
  PetscCall(VecGetOwnershipRange(x, &first, NULL));
  PetscCall(PetscMalloc1(PetscMax(nodes, 1), &mass));
  PetscCall(Masses(&mesh, &o, first / o.bs, nodes, mass));
  PetscCall(Data(&mesh, type, kind, o.bs, nodes, coordinates, mass, &p, lower, upper));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-time_step", &step, NULL));
  PetscCall(AddMass(&p, step));
  PetscCall(Solve(NULL, &p, lower, upper, x, mesh.dim, nodes, coordinates, &its, &reason));
  if (quiet) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, cycles: %s\n", reason > 0 ? "converged" : "diverged", its <= most ? "yes" : "no"));
  if (!quiet || its > most) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d unknowns: %s, %d cycles\n", (int)(mesh.n * o.bs), SNESConvergedReasons[reason], (int)its));
  if (p.jacobians > jacobians) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d Jacobians\n", (int)p.jacobians));
  if (compare) {
    PetscReal difference, norm;
    PetscInt  others = 0;
    const PetscScalar *v, *w, *lo, *up;
    PetscCall(Solve("ref_", &p, lower, upper, y, mesh.dim, nodes, NULL, &its, &reason));
    PetscCall(VecGetArrayRead(x, &v));
    PetscCall(VecGetArrayRead(y, &w));
    PetscCall(VecGetArrayRead(lower, &lo));
    PetscCall(VecGetArrayRead(upper, &up));
    for (PetscInt k = 0; k < nodes * o.bs; ++k) others += (v[k] == lo[k]) != (w[k] == lo[k]) || (v[k] == up[k]) != (w[k] == up[k]);
    PetscCall(VecRestoreArrayRead(x, &v));
    PetscCall(VecRestoreArrayRead(y, &w));
    PetscCall(VecRestoreArrayRead(lower, &lo));
    PetscCall(VecRestoreArrayRead(upper, &up));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &others, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
    PetscCall(VecNorm(y, NORM_2, &norm));
    PetscCall(VecAXPY(y, -1, x));
    PetscCall(VecNorm(y, NORM_2, &difference));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "reference %s; answer: %s, active set: %s\n", reason > 0 ? "converged" : "diverged", difference <= 1e-9 * norm ? "yes" : "no", others ? "no" : "yes"));
    if (difference > 1e-9 * norm || others) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  they differ by %g of %g, at %d unknowns in the active set\n", (double)difference, (double)norm, (int)others));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&lower));
  PetscCall(VecDestroy(&upper));
  PetscCall(VecDestroy(&p.b));
  PetscCall(VecDestroy(&p.mass));
  PetscCall(VecDestroy(&p.work));
  PetscCall(MatDestroy(&p.A));
  PetscCall(PetscFree(mass));
  PetscCall(PetscFree(coordinates));
  PetscCall(MeshDestroy(&mesh));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset: # the active set and the answer of vinewtonrsls, with the same cycles on any number of processes
    nsize: {{1 2 3 4}}
    args: -quiet -snes_rtol 1e-11 -compare -ref_snes_rtol 1e-12 -ref_snes_max_it 500 -ref_pc_type redundant
    output_file: output/vipmg_mesh.out
    test:
      suffix: square
      args: -n 50 -most 7 -jacobians 1
    test:
      suffix: disk
      args: -mesh disk -n 30 -problem torsion -shuffle -most 8
    test: # the program asks for traps of floating point
      suffix: traps
      args: -mesh disk -n 30 -problem torsion -shuffle -most 8 -fp_trap
    test:
      suffix: edge
      args: -mesh edge -n 40 -problem sides -one_sided -most 7
    test:
      suffix: graded
      args: -mesh graded -n 60 -problem part -most 7
    test:
      suffix: cube
      args: -mesh cube -n 10 -most 7
    test:
      suffix: line
      args: -mesh line -n 300 -most 6
    test: # without a nested start
      suffix: cold
      args: -n 50 -problem torsion -snes_vipmg_fmg 0 -most 9
    test:
      suffix: cold_edge
      args: -mesh edge -n 40 -problem sides -snes_vipmg_fmg 0 -most 9
    test: # not symmetric
      suffix: wind
      args: -n 40 -problem sides -wind 50 -most 12 -jacobians 1
    test: # steps in time, which need no coarse grids
      suffix: step
      args: -n 50 -shuffle -time_step 1e-3 -most 6 -jacobians 1
    test:
      suffix: step_sides
      args: -mesh edge -n 40 -problem sides -one_sided -time_step 1e-4 -most 6 -jacobians 1
    test:
      suffix: step_cube
      args: -mesh cube -n 10 -problem sides -time_step 1e-2 -most 6 -jacobians 1
    test: # not linear
      suffix: reaction
      args: -n 40 -problem torsion -reaction 200 -most 14
    test: # the matrix by differences
      suffix: differences
      args: -n 24 -problem torsion -reaction 20 -snes_fd_color -most 16
    test: # a body, one component of which is bounded
      suffix: elastic
      args: -mesh cube -n 6 -bs 3 -elastic -problem sides -most 12
    test: # a side of flat elements touches waves: what the bounds stop has to take its neighbours along
      suffix: contact
      args: -mesh edge -n 60 -problem contact -bs 2 -elastic -nu 0.415 -neumann -time_step 3 -most 9
    test:
      suffix: blocks
      args: -n 24 -bs 2 -problem sides -shuffle -most 8

  testset: # larger ones
    args: -quiet -snes_rtol 1e-8 -jacobians 1
    output_file: output/vipmg_mesh_large.out
    test:
      suffix: large
      args: -n 300 -most 6
    test:
      suffix: large_graded
      args: -mesh graded -n 400 -problem obstacle -most 6
    test:
      suffix: large_cold
      args: -n 300 -problem torsion -snes_vipmg_fmg 0 -most 9
    test:
      suffix: large_torsion
      args: -mesh disk -n 150 -problem torsion -most 5
    test:
      suffix: large_edge
      args: -mesh edge -n 160 -problem sides -most 6
    test:
      suffix: large_contact
      args: -mesh edge -n 80 -problem contact -bs 2 -elastic -nu 0.415 -neumann -time_step 3 -most 7
    test: # a step in time, which needs no coarse grids: they are made once, for what they say of the matrix
      suffix: steps
      nsize: {{1 3}}
      args: -n 60 -time_step 1e-3 -most 4 -again 2 -jacobians 2 -setups 1
    test:
      suffix: steps_disk
      args: -mesh disk -n 60 -time_step 1e-2 -problem torsion -most 6 -again 3 -jacobians 2 -setups 1
    test: # cycles over all grids are counted on from those of a single one
      suffix: counted
      args: -mesh flat -n 40 -time_step 1e-2 -snes_vipmg_monitor
      filter: grep -o "^ *[0-9]* cycle"
      output_file: output/vipmg_mesh_counted.out
    test: # neither cycles nor active sets come to a solution that nobody finds: it ends soon, and says so
      suffix: central
      args: -n 40 -wind 1e5 -info
      filter: grep -o "neither cycles nor systems\|DIVERGED_LINEAR_SOLVE"
      output_file: output/vipmg_mesh_central.out
    test: # from the solution of a problem like this one, which no nested start takes away
      suffix: again
      args: -mesh disk -n 60 -snes_rtol 1e-5 -most 3 -again 2 -jacobians 2

TEST*/
