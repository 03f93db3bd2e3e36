static char help[] = "A program that links Tessera instead of loading it.\n";

#include <tessera.h>

int main(int argc, char **argv)
{
  KSP         ksp;
  PC          pc;
  PetscInt    levels = 0;
  PCType      type;
  const char *version = PetscStringize(TESSERA_VERSION_MAJOR) "." PetscStringize(TESSERA_VERSION_MINOR) "." PetscStringize(TESSERA_VERSION_SUBMINOR);

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TesseraInitializePackage());
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCRRB));
  PetscCall(PCRRBSetLevels(pc, 4));
  PetscCall(PCRRBGetLevels(pc, &levels));
  PetscCall(PCGetType(pc, &type));
  PetscCall(KSPSetType(ksp, KSPRRB));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Tessera %s: pc %s with %d levels\n", version, type, (int)levels));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(PetscFinalize());
  return levels == 4 ? 0 : 1;
}
