static char help[] = "Makes a SNES and a Tao of the types that the options say, for their -help.\n";

#include <petscsnes.h>
#include <petsctao.h>

int main(int argc, char **argv)
{
  SNES snes;
  Tao  tao;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetFromOptions(snes));
  PetscCall(SNESDestroy(&snes));
  PetscCall(TaoCreate(PETSC_COMM_WORLD, &tao));
  PetscCall(TaoSetFromOptions(tao));
  PetscCall(TaoDestroy(&tao));
  PetscCall(PetscFinalize());
  return 0;
}
