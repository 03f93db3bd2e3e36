static char help[] = "Times of one solver on a mesh of P1 elements: first setup, before it PCSetCoordinates(), setup of values that are all twice as large, of other values (D A D with a random\n\
diagonal matrix D from 1 to 1.2), solve. Options: those of tests/auxamg_problem.h's meshes\n\
(-mesh square|disk|graded|edge|cube|..., -n, -bs, -elastic, -anisotropy, -jump), -mesh_file of bench/meshes, or -f matrix -xyz coordinates, both in PETSc's binary format; -repeat times.\n\
-grade p: the square or cube is graded to its centre, where sizes fall with the power p - 1 of the distance and triangles are p times as long as wide.\n\
-memory: only the memory of one setup, per process.\n\
-curl a: the square is mapped to a sector of a ring, whose triangles keep their shape and are exp(a) times as large outside as inside.\n\n";

#include "../tests/auxamg_problem.h"
#include <petsctime.h>
#include <malloc.h>
#include <sys/resource.h>

static PetscErrorCode Seconds(double *t)
{
  PetscLogDouble now;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscTime(&now));
  *t = now;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A file of bench/meshes */
static PetscErrorCode MeshRead(const char *name, Mesh *mesh)
{
  int     head[3], *e;
  double *x;
  char   *border;
  FILE   *file = fopen(name, "rb");

  PetscFunctionBeginUser;
  PetscCheck(file && fread(head, sizeof(int), 3, file) == 3, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "Cannot read the mesh file %s", name);
  const size_t nx = (size_t)head[0] * (size_t)head[1], ne = (size_t)head[2] * (size_t)(head[0] + 1);
  PetscCall(PetscMalloc3(nx, &x, ne, &e, head[1], &border));
  PetscCheck(fread(x, sizeof(double), nx, file) == nx && fread(e, sizeof(int), ne, file) == ne && fread(border, 1, (size_t)head[1], file) == (size_t)head[1], PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "The mesh file %s is too short", name);
  (void)fclose(file);
  PetscCall(MeshCreate(head[0], head[1], head[2], mesh));
  mesh->elements = head[2];
  for (size_t k = 0; k < nx; ++k) mesh->x[k] = x[k];
  for (size_t k = 0; k < ne; ++k) mesh->e[k] = e[k];
  for (int k = 0; k < head[1]; ++k) mesh->border[k] = border[k] ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(PetscFree3(x, e, border));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of a square or cube of edge 1 */
static void MeshGrade(Mesh *mesh, PetscReal power)
{
  for (PetscInt p = 0; p < mesh->n; ++p) {
    PetscReal *const x = mesh->x + mesh->dim * p;
    PetscReal        r = 0;
    for (PetscInt q = 0; q < mesh->dim; ++q) r = PetscMax(r, PetscAbsReal(2 * x[q] - 1));
    for (PetscInt q = 0; q < mesh->dim; ++q) x[q] = 0.5 + (x[q] - 0.5) * PetscPowReal(r, power - 1);
  }
}

/* Of a square of edge 1: a sector of a ring, whose triangles keep their shape and are exp(a) times as large outside as inside. */
static void MeshCurl(Mesh *mesh, PetscReal a)
{
  for (PetscInt p = 0; p < mesh->n; ++p) {
    PetscReal *const x = mesh->x + mesh->dim * p;
    const PetscReal  r = PetscExpReal(a * (x[0] - 1)), angle = a * x[1];
    x[0] = r * PetscCosReal(angle);
    x[1] = r * PetscSinReal(angle);
  }
}

static double PeakMegabytes(void)
{
  struct rusage u;
  double        mine, all;
  getrusage(RUSAGE_SELF, &u);
  mine = (double)u.ru_maxrss * 1.024e-3;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD);
  return all;
}

/* What a process has of memory in megabytes: VmRSS now, VmHWM at most since ForgetPeak() */
static double Status(const char *what)
{
  char   line[256], format[32];
  long   kb = 0;
  FILE  *file = fopen("/proc/self/status", "r");

  (void)snprintf(format, sizeof(format), "%s: %%ld kB", what);
  while (file && fgets(line, sizeof(line), file))
    if (sscanf(line, format, &kb) == 1) break;
  if (file) (void)fclose(file);
  return (double)kb * 1.024e-3;
}

static void ForgetPeak(void)
{
  (void)malloc_trim(0);
  FILE *const file = fopen("/proc/self/clear_refs", "w");
  if (!file) return;
  (void)fputs("5", file);
  (void)fclose(file);
}

/* The seconds of a setup, and those of PCSetUp() in it, if they are fewer than those before. v: of whatever lies where the matrix does. A device has then done what it
   was given before: new values of the matrix are no part of the setup. */
static PetscErrorCode SetUp(KSP ksp, Vec v, double *least, double *pcsetup)
{
  double      t0, t1, t2;
  PetscScalar dot;
  PC          pc;

  PetscFunctionBeginUser;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(VecDot(v, v, &dot));
  PetscCall(Seconds(&t0));
  PetscCall(PCSetUp(pc));
  PetscCall(Seconds(&t1));
  PetscCall(KSPSetUp(ksp)); /* the vectors of CG */
  PetscCall(KSPSetUpOnBlocks(ksp));
  PetscCall(Seconds(&t2));
  *least   = PetscMin(*least, t2 - t0);
  *pcsetup = PetscMin(*pcsetup, t1 - t0);
  PetscFunctionReturn(0);
}

/* The numbers that one process draws, on any number of them. */
static PetscErrorCode SetRandom(Vec v)
{
  PetscRandom  random;
  PetscInt     begin, end;
  PetscScalar *value, skipped;

  PetscFunctionBeginUser;
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetFromOptions(random));
  PetscCall(VecGetOwnershipRange(v, &begin, &end));
  for (PetscInt p = 0; p < begin; ++p) PetscCall(PetscRandomGetValue(random, &skipped));
  PetscCall(VecGetArrayWrite(v, &value));
  for (PetscInt p = begin; p < end; ++p) PetscCall(PetscRandomGetValue(random, &value[p - begin]));
  PetscCall(VecRestoreArrayWrite(v, &value));
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  Mesh               mesh = {2, 0, 0, NULL, NULL, NULL};
  ProblemOptions     o = {1, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 1, 1, 0, 0, 0, 0, 0};
  MeshType           type = MESH_SQUARE;
  PetscInt           n = 300, nodes = 0, its, rows, repeat = 3, dim = 2;
  PetscReal         *coordinates = NULL, norm, residual, grade = 1, curl = 0;
  double             t0, t1, t2, setup = 1e30, again = 1e30, other = 1e30, solve = 1e30, apply = 1e30, given = 1e30, pcsetup = 1e30, unused = 1e30, before, peak = 0, resident = 0;
  char               file[PETSC_MAX_PATH_LEN], xyz[PETSC_MAX_PATH_LEN];
  PetscBool          read, memory = PETSC_FALSE;
  Mat                A;
  Vec                x, b, d;
  KSP                ksp;
  PC                 pc;
  PCType             pctype;
  KSPConvergedReason reason;
  MatInfo            info;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-mesh", MeshTypes, (PetscEnum *)&type, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-bs", &o.bs, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeat", &repeat, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-memory", &memory, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-elastic", &o.elastic, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-anisotropy", &o.anisotropy, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-jump", &o.jump, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-disks", &o.disks, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-grade", &grade, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-curl", &curl, NULL));
  PetscCheck(n >= 1 && o.bs >= 1 && o.bs <= 6 && repeat >= 1, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-n and -repeat are 1 or more, -bs is 1 to 6");
  PetscCall(PetscOptionsGetString(NULL, NULL, "-f", file, sizeof(file), &read));
  if (read) {
    PetscViewer        viewer;
    Vec                c;
    PetscInt           global, local;
    const PetscScalar *v;
    PetscBool          set;
    PetscCall(PetscOptionsGetString(NULL, NULL, "-xyz", xyz, sizeof(xyz), &set));
    PetscCheck(set, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-f needs the coordinates, too: -xyz FILE");
    PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
    PetscCall(MatSetBlockSize(A, o.bs));
    PetscCall(MatSetFromOptions(A));
    PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, file, FILE_MODE_READ, &viewer));
    PetscCall(MatLoad(A, viewer));
    PetscCall(PetscViewerDestroy(&viewer));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-dim", &dim, NULL));
    PetscCall(MatGetLocalSize(A, &local, NULL));
    nodes = local / o.bs;
    PetscCall(VecCreate(PETSC_COMM_WORLD, &c));
    PetscCall(VecSetSizes(c, nodes * dim, PETSC_DECIDE));
    PetscCall(VecSetType(c, VECSTANDARD));
    PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, xyz, FILE_MODE_READ, &viewer));
    PetscCall(VecLoad(c, viewer));
    PetscCall(PetscViewerDestroy(&viewer));
    PetscCall(VecGetSize(c, &global));
    PetscCall(PetscMalloc1(PetscMax(nodes * dim, 1), &coordinates));
    PetscCall(VecGetArrayRead(c, &v));
    for (PetscInt p = 0; p < nodes * dim; ++p) coordinates[p] = v[p];
    PetscCall(VecRestoreArrayRead(c, &v));
    PetscCall(VecDestroy(&c));
  } else {
    PetscCall(PetscOptionsGetString(NULL, NULL, "-mesh_file", file, sizeof(file), &read));
    if (read) PetscCall(MeshRead(file, &mesh));
    else PetscCall(MeshMake(type, n, &mesh));
    if (grade != 1) MeshGrade(&mesh, grade);
    PetscCheck(curl == 0 || (curl > 0 && type == MESH_SQUARE && !read), PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "-curl takes a positive number and maps a square: use it with -mesh square");
    if (curl > 0) MeshCurl(&mesh, curl);
    PetscCheck(!o.elastic || o.bs == mesh.dim, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-elastic needs an unknown per node for each dimension: -bs %" PetscInt_FMT, mesh.dim);
    PetscCall(ProblemMake(PETSC_COMM_WORLD, &mesh, &o, &A, &nodes, &coordinates));
    dim = mesh.dim;
    PetscCall(MeshDestroy(&mesh));
  }
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SetRandom(b));
  PetscCall(VecShift(b, -0.5));
  PetscCall(VecDuplicate(b, &d));
  PetscCall(SetRandom(d));
  PetscCall(VecScale(d, 0.2));
  PetscCall(VecShift(d, 1));
  PetscCall(MatGetSize(A, &rows, NULL));
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  PetscCall(MatMult(A, b, x)); /* the matrix is where it will be used */
  before = PeakMegabytes();
  if (memory) {
    ForgetPeak();
    resident = Status("VmRSS");
  }
  for (PetscInt r = 0; r < repeat; ++r) {
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetType(ksp, KSPCG));
    PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
    PetscCall(KSPSetTolerances(ksp, 1e-6, PETSC_DEFAULT, PETSC_DEFAULT, 500));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(Seconds(&t0));
    PetscCall(PCSetCoordinates(pc, dim, nodes, coordinates));
    PetscCall(Seconds(&t1));
    given = PetscMin(given, t1 - t0);
    PetscCall(SetUp(ksp, x, &setup, &pcsetup));
    if (!r) peak = PeakMegabytes() - before;
    if (memory) {
      double of[2] = {Status("VmHWM") - resident, Status("VmRSS") - resident};
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d rows: ", (int)rows));
      MPI_Allreduce(MPI_IN_PLACE, of, 2, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD);
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "the process with the most takes %.1f MB more at the peak of the setup and %.1f MB after it; setup %.1f ms, coordinates %.1f ms\n", of[0], of[1], 1e3 * setup, 1e3 * given));
      PetscCall(KSPDestroy(&ksp));
      break;
    }
    PetscCall(KSPSolve(ksp, b, x)); /* what is made at the first use */
    PetscCall(MatScale(A, 2));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(SetUp(ksp, x, &again, &unused));
    for (int k = 0; k < 2; ++k) { /* there and back */
      PetscCall(MatDiagonalScale(A, d, d));
      PetscCall(VecReciprocal(d));
      PetscCall(KSPSetOperators(ksp, A, A));
      PetscCall(SetUp(ksp, x, &other, &unused));
    }
    PetscCall(Seconds(&t0));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(Seconds(&t1));
    solve = PetscMin(solve, t1 - t0);
    PetscCall(Seconds(&t1));
    for (PetscInt k = 0; k < 10; ++k) PetscCall(PCApply(pc, b, x));
    PetscCall(VecNorm(x, NORM_2, &norm));
    PetscCall(Seconds(&t2));
    apply = PetscMin(apply, (t2 - t1) / 10);
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(PCGetType(pc, &pctype));
    if (r + 1 == repeat) {
      Vec q;
      PetscCall(VecDuplicate(b, &q));
      PetscCall(MatResidual(A, b, x, q));
      PetscCall(VecNorm(q, NORM_2, &residual));
      PetscCall(VecNorm(b, NORM_2, &norm));
      PetscCall(VecDestroy(&q));
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s %s: %d rows, %.1f nonzeros a row; %d iterations (%s, true residual %.1e); setup %.1f ms, re-setup %.1f ms, of other values %.1f ms, solve %.1f ms, application %.2f ms, coordinates %.1f ms, memory %.0f MB, PCSetUp() %.1f ms\n", read ? file : MeshTypes[type], pctype, (int)rows, info.nz_used / (double)rows, (int)its, KSPConvergedReasons[reason],
                            (double)(residual / norm), 1e3 * setup, 1e3 * again, 1e3 * other, 1e3 * solve, 1e3 * apply, 1e3 * given, peak, 1e3 * pcsetup));
    }
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&d));
  PetscCall(PetscFree(coordinates));
  PetscCall(PetscFinalize());
  return 0;
}
