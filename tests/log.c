static char help[] = "Flops, messages and reductions of the types' events, as -log_view has them.\n\n";

#include <petscdmda.h>
#include <petscksp.h>

#if PETSC_VERSION_LT(3, 19, 0)
  #define PETSC_SUCCESS 0
#endif

static PetscErrorCode Laplacian(DM da, Mat *A)
{
  DMDALocalInfo info;

  PetscFunctionBeginUser;
  PetscCall(DMCreateMatrix(da, A));
  PetscCall(DMDAGetLocalInfo(da, &info));
  for (PetscInt j = info.ys; j < info.ys + info.ym; ++j)
    for (PetscInt i = info.xs; i < info.xs + info.xm; ++i) {
      MatStencil        at = {0, j, i, 0};
      const MatStencil  to[4] = {{0, j, i - 1, 0}, {0, j, i + 1, 0}, {0, j - 1, i, 0}, {0, j + 1, i, 0}};
      const PetscBool   there[4] = {(PetscBool)(i > 0), (PetscBool)(i < info.mx - 1), (PetscBool)(j > 0), (PetscBool)(j < info.my - 1)};
      const PetscScalar d = 4, v = -1;
      PetscCall(MatSetValuesStencil(*A, 1, &at, 1, &at, &d, INSERT_VALUES));
      for (int k = 0; k < 4; ++k)
        if (there[k]) PetscCall(MatSetValuesStencil(*A, 1, &at, 1, &to[k], &v, INSERT_VALUES));
    }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* This process's numbers; all are asked for theirs. */
static PetscErrorCode Show(const char *name, PetscBool flops, PetscBool messages, PetscBool reductions)
{
  PetscLogEvent      event;
  PetscEventPerfInfo info;
  int                right[4], all[4];

  PetscFunctionBeginUser;
  PetscCall(PetscLogEventGetId(name, &event));
  PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event, &info));
  right[0] = info.count > 0;
  right[1] = !flops || info.flops > 0;
  right[2] = !messages || (info.numMessages > 0 && info.messageLength > 0);
  right[3] = !reductions || info.numReductions > 0;
  PetscCallMPI(MPI_Allreduce(right, all, 4, MPI_INT, MPI_MIN, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s%s%s%s\n", name, all[0] ? "logged" : "not logged", !flops ? "" : all[1] ? ", flops" : ", no flops", !messages ? "" : all[2] ? ", messages" : ", no messages", !reductions ? "" : all[3] ? ", reductions" : ", no reductions"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  DM  da;
  Mat A;
  Vec x, y;
  PC  pc;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscLogDefaultBegin());
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 90, 87, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCall(DMDASetUniformCoordinates(da, 0, 1, 0, 1, 0, 0));
  PetscCall(Laplacian(da, &A));
  PetscCall(DMCreateGlobalVector(da, &x));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecSet(x, 1));
  for (int k = 0; k < 2; ++k) {
    PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
    PetscCall(PCSetType(pc, k ? "rrb" : "auxamg"));
    PetscCall(PCSetDM(pc, da));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(PCSetFromOptions(pc));
    PetscCall(PCSetUp(pc));
    PetscCall(PCApply(pc, x, y));
    PetscCall(PCDestroy(&pc));
  }
  PetscCall(Show("AuxAMGGrids", PETSC_TRUE, PETSC_TRUE, PETSC_TRUE));
  PetscCall(Show("PCApply_AuxAMG", PETSC_TRUE, PETSC_TRUE, PETSC_FALSE));
  PetscCall(Show("RRBFactor", PETSC_FALSE, PETSC_TRUE, PETSC_TRUE));
  PetscCall(Show("PCApply_RRB", PETSC_TRUE, PETSC_TRUE, PETSC_FALSE));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{2 3}}
    output_file: output/log.out

TEST*/
