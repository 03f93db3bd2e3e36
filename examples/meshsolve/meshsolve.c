static char help[] = "Solves the system of a matrix file on a mesh of which only the coordinates of the nodes are known.\n\
  -matrix FILE       matrix in PETSc's binary format, -bs unknowns per node (default 1)\n\
  -coordinates FILE  file.h5:/path, or a Vec in PETSc's binary format; nodes in the order of the matrix\n\
  -rhs FILE          right-hand side; default: ones\n\
  -output FILE       the solution as a Vec in PETSc's binary format\n\n";

/* An ordinary PETSc program: it does not know Tessera. The option -coordinates becomes -pc_auxamg_coordinates, so that

     meshsolve -dll_append libtessera.so -matrix plate.mat -coordinates plate.xyz -pc_type auxamg

   is all it takes; with -pc_type gamg or hypre the coordinates are left aside. */
#include <petscksp.h>

#if PETSC_VERSION_LT(3, 19, 0)
  #define PETSC_SUCCESS 0
#endif

static PetscErrorCode Open(const char option[], PetscViewer *viewer)
{
  char      name[PETSC_MAX_PATH_LEN];
  PetscBool set, exists;

  PetscFunctionBeginUser;
  *viewer = NULL;
  PetscCall(PetscOptionsGetString(NULL, NULL, option, name, sizeof(name), &set));
  if (!set) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscTestFile(name, 'r', &exists));
  PetscCheck(exists, PETSC_COMM_WORLD, PETSC_ERR_FILE_OPEN, "%s: there is no file %s", option, name);
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, name, FILE_MODE_READ, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mat                A;
  Vec                x, b, r;
  KSP                ksp;
  PC                 pc;
  PetscViewer        viewer;
  PetscInt           bs = 1, its, rows;
  PetscReal          norm, residual;
  PetscBool          set, auxamg, wants_help;
  KSPConvergedReason reason;
  char               name[PETSC_MAX_PATH_LEN];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-bs", &bs, NULL));
  PetscCheck(bs >= 1, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-bs is the number of unknowns per node, 1 or more: it is %" PetscInt_FMT, bs);
  PetscCall(Open("-matrix", &viewer));
  PetscCall(PetscOptionsHasHelp(NULL, &wants_help));
  if (!viewer && wants_help) { /* PETSc has printed it */
    PetscCall(PetscFinalize());
    return 0;
  }
  PetscCheck(viewer, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "Give a matrix: -matrix FILE. -help says more");
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetBlockSize(A, bs));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatLoad(A, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(Open("-rhs", &viewer));
  if (viewer) PetscCall(VecLoad(b, viewer));
  else PetscCall(VecSet(b, 1));
  PetscCall(PetscViewerDestroy(&viewer));

  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 1000));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-coordinates", name, sizeof(name), &set));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, "auxamg", &auxamg));
  if (set && auxamg) {
    PetscCall(PetscOptionsSetValue(NULL, "-pc_auxamg_coordinates", name));
    PetscCall(KSPSetFromOptions(ksp));
  }
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(MatResidual(A, b, x, r));
  PetscCall(VecNorm(r, NORM_2, &residual));
  PetscCall(VecNorm(b, NORM_2, &norm));
  PetscCall(MatGetSize(A, &rows, NULL));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d unknowns: %d iterations, %s, true residual %.2g\n", (int)rows, (int)its, KSPConvergedReasons[reason], (double)(norm > 0 ? residual / norm : residual)));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-output", name, sizeof(name), &set));
  if (set) {
    PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, name, FILE_MODE_WRITE, &viewer));
    PetscCall(VecView(x, viewer));
    PetscCall(PetscViewerDestroy(&viewer));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&r));
  PetscCall(PetscFinalize());
  return reason < 0;
}
