static char help[] = "PC auxamg with coordinates from files: HDF5 and PETSc's binary format give the iterations of PCSetCoordinates(); wrong files are refused.\n\n";

#include "auxamg_problem.h"
#if defined(PETSC_HAVE_HDF5)
  #include <petscviewerhdf5.h>
#endif

static char message[512] = "";

static PetscErrorCode Catch(MPI_Comm comm, int line, const char *function, const char *file, PetscErrorCode n, PetscErrorType p, const char *text, void *ctx)
{
  (void)comm, (void)line, (void)function, (void)file, (void)p, (void)ctx;
  if (text && *text && !message[0]) (void)snprintf(message, sizeof(message), "%s", text);
  return n;
}

static PetscErrorCode Solve(Mat A, const char *file, PetscInt dim, PetscInt n, PetscReal *x)
{
  KSP            ksp;
  PC             pc;
  Vec            u, b;
  PetscInt       its;
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &u, &b));
  PetscCall(VecSet(b, 1));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, "auxamg"));
  if (file) PetscCall(PetscOptionsSetValue(NULL, "-pc_auxamg_coordinates", file));
  else PetscCall(PCSetCoordinates(pc, dim, n, x));
  PetscCall(KSPSetFromOptions(ksp));
  message[0] = 0;
  PetscCall(PetscPushErrorHandler(Catch, NULL));
  ierr = KSPSolve(ksp, b, u);
  PetscCall(PetscPopErrorHandler());
  PetscCall(PetscOptionsClearValue(NULL, "-pc_auxamg_coordinates"));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  if (ierr) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: error: %s\n", file, message));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %d iterations\n", file ? file : "PCSetCoordinates()", (int)its));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mesh           mesh;
  ProblemOptions o = {2, PETSC_TRUE, PETSC_FALSE, PETSC_FALSE, PETSC_TRUE, 1, 1, 0, 0, 0, 0, 0, 0, 0};
  PetscInt       nodes = 0;
  PetscReal     *x     = NULL;
  PetscScalar   *v;
  Mat            A;
  Vec            points;
  PetscViewer    viewer;
  FILE          *empty;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(MeshMake(MESH_DISK, 20, &mesh));
  PetscCall(ProblemMake(PETSC_COMM_WORLD, &mesh, &o, &A, &nodes, &x));
  PetscCall(VecCreate(PETSC_COMM_WORLD, &points));
  PetscCall(VecSetSizes(points, nodes * 2, PETSC_DETERMINE));
  PetscCall(VecSetBlockSize(points, 2));
  PetscCall(VecSetFromOptions(points));
  PetscCall(PetscObjectSetName((PetscObject)points, "points"));
  PetscCall(VecGetArray(points, &v));
  for (PetscInt k = 0; k < 2 * nodes; ++k) v[k] = x[k];
  PetscCall(VecRestoreArray(points, &v));
#if defined(PETSC_HAVE_HDF5)
  PetscCall(PetscViewerHDF5Open(PETSC_COMM_WORLD, "auxamg_points.h5", FILE_MODE_WRITE, &viewer));
  PetscCall(PetscViewerHDF5PushGroup(viewer, "/mesh"));
  PetscCall(VecView(points, viewer));
  PetscCall(PetscViewerHDF5PopGroup(viewer));
  PetscCall(PetscViewerDestroy(&viewer));
#endif
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, "auxamg_points.dat", FILE_MODE_WRITE, &viewer));
  PetscCall(VecView(points, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, "auxamg_matrix.dat", FILE_MODE_WRITE, &viewer));
  PetscCall(MatView(A, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(Solve(A, NULL, mesh.dim, nodes, x));
  PetscCall(Solve(A, "auxamg_points.h5:/mesh/points", 0, 0, NULL));
  PetscCall(Solve(A, "auxamg_points.dat", 0, 0, NULL));
  PetscCall(Solve(A, "auxamg_points.h5:/mesh/nodes", 0, 0, NULL));
  PetscCall(Solve(A, "auxamg_matrix.dat", 0, 0, NULL));
  PetscCall(PetscFOpen(PETSC_COMM_WORLD, "auxamg_empty.dat", "w", &empty));
  PetscCall(PetscFClose(PETSC_COMM_WORLD, empty));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(Solve(A, "auxamg_empty.dat", 0, 0, NULL));
  PetscCall(MatDestroy(&A));
  PetscCall(MeshDestroy(&mesh));
  PetscCall(PetscFree(x));
  o.bs = 1, o.elastic = PETSC_FALSE;
  PetscCall(MeshMake(MESH_DISK, 19, &mesh)); /* another size than the file's */
  PetscCall(ProblemMake(PETSC_COMM_WORLD, &mesh, &o, &A, &nodes, &x));
  PetscCall(Solve(A, "auxamg_points.h5:/mesh/points", 0, 0, NULL));
  PetscCall(Solve(A, "auxamg_points.dat", 0, 0, NULL));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&points));
  PetscCall(MeshDestroy(&mesh));
  PetscCall(PetscFree(x));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2 3}}
    requires: hdf5

TEST*/
