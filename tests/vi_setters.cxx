static char help[] = "Every option of SNES and Tao vipmg and vipgs has a setter and a getter, by the names of both, and they agree.\n\n";

#include "petsc/compat.h"
#include <tessera.h>

/* The same lines for a SNES and a Tao, whose functions differ in the first word only. */
#define DEFINE(Word, Object) \
  static PetscErrorCode ShowMG(const char *when, Object s) \
  { \
    SNESVIPMGVariant variant; \
    SNESVIPMGCycle   cycle; \
    PetscBool        fmg, monitor; \
    PetscInt         pre, post, levels; \
    PetscReal        omega; \
    TesseraBackend   backend; \
    SNESVIPMGLevelsType type; \
    const char         *file; \
\
    PetscFunctionBeginUser; \
    PetscCall(Word##VIPMGGetLevelsType(s, &type)); \
    PetscCall(Word##VIPMGGetCoordinatesFile(s, &file)); \
    PetscCall(Word##VIPMGGetVariant(s, &variant)); \
    PetscCall(Word##VIPMGGetCycle(s, &cycle)); \
    PetscCall(Word##VIPMGGetFMG(s, &fmg)); \
    PetscCall(Word##VIPMGGetSweeps(s, &pre, NULL)); \
    PetscCall(Word##VIPMGGetSweeps(s, NULL, &post)); \
    PetscCall(Word##VIPMGGetOmega(s, &omega)); \
    PetscCall(Word##VIPMGGetLevels(s, &levels)); \
    PetscCall(Word##VIPMGGetBackend(s, &backend)); \
    PetscCall(Word##VIPMGGetMonitor(s, &monitor)); \
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, #Word " vipmg, %s: variant %s, cycle %s, fmg %s, sweeps %d,%d, omega %g, levels %d %s, coordinates '%s', backend %s, monitor %s\n", when, SNESVIPMGVariants[variant], SNESVIPMGCycles[cycle], PetscBools[fmg], (int)pre, (int)post, (double)omega, (int)levels, SNESVIPMGLevelsTypes[type], file, TesseraBackends[backend], PetscBools[monitor])); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  } \
  static PetscErrorCode SetMG(Object s) \
  { \
    PetscFunctionBeginUser; \
    PetscCall(Word##VIPMGSetVariant(s, SNES_VIPMG_MONOTONE)); \
    PetscCall(Word##VIPMGSetCycle(s, SNES_VIPMG_CYCLE_W)); \
    PetscCall(Word##VIPMGSetFMG(s, PETSC_FALSE)); \
    PetscCall(Word##VIPMGSetSweeps(s, 3, 4)); \
    PetscCall(Word##VIPMGSetOmega(s, 1.5)); \
    PetscCall(Word##VIPMGSetLevels(s, 5)); \
    PetscCall(Word##VIPMGSetLevelsType(s, SNES_VIPMG_LEVELS_TREE)); \
    PetscCall(Word##VIPMGSetCoordinatesFile(s, "places")); \
    PetscCall(Word##VIPMGSetBackend(s, TESSERA_BACKEND_HOST)); \
    PetscCall(Word##VIPMGSetMonitor(s, PETSC_TRUE)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  } \
  static PetscErrorCode ShowGS(const char *when, Object s) \
  { \
    TesseraGSStrategy     strategy; \
    TesseraGSOrder        order; \
    PetscReal             omega, mu; \
    TesseraPrecision      precision; \
    TesseraBackend        backend; \
    SNESVIPGSAcceleration acceleration; \
    PetscBool             newton; \
    PetscInt              sweeps, check, factorizations, block; \
    SNESVIPGSFriction     law; \
    Vec                   friction; \
    SNESVIPGSCertificate  c; \
\
    PetscFunctionBeginUser; \
    PetscCall(Word##VIPGSGetStrategy(s, &strategy)); \
    PetscCall(Word##VIPGSGetOrder(s, &order)); \
    PetscCall(Word##VIPGSGetOmega(s, &omega)); \
    PetscCall(Word##VIPGSGetPrecision(s, &precision)); \
    PetscCall(Word##VIPGSGetBackend(s, &backend)); \
    PetscCall(Word##VIPGSGetAcceleration(s, &acceleration)); \
    PetscCall(Word##VIPGSGetNewton(s, &newton)); \
    PetscCall(Word##VIPGSGetSweeps(s, &sweeps)); \
    PetscCall(Word##VIPGSGetCheck(s, &check)); \
    PetscCall(Word##VIPGSGetMaxFactorizations(s, &factorizations)); \
    PetscCall(Word##VIPGSGetBlock(s, &block)); \
    PetscCall(Word##VIPGSGetFrictionCoefficient(s, &mu)); \
    PetscCall(Word##VIPGSGetFrictionLaw(s, &law)); \
    PetscCall(Word##VIPGSGetFriction(s, &friction)); \
    PetscCall(Word##VIPGSGetCertificate(s, &c)); \
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, #Word " vipgs, %s: strategy %s, order %s, omega %g, precision %s, backend %s, acceleration %s, newton %s, sweeps %d, check %d, factorizations %d, block %d, mu %g, law %s, own coefficients %s, %s\n", when, TesseraGSStrategies[strategy], TesseraGSOrders[order], (double)omega, TesseraPrecisions[precision], TesseraBackends[backend], SNESVIPGSAccelerations[acceleration], PetscBools[newton], (int)sweeps, (int)check, (int)factorizations, (int)block, (double)mu, SNESVIPGSFrictions[law], friction ? "given" : "none", SNESVIPGSReasons[c.reason])); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  } \
  static PetscErrorCode SetGS(Object s, Vec friction) \
  { \
    PetscFunctionBeginUser; \
    PetscCall(Word##VIPGSSetStrategy(s, TESSERA_GS_BLOCK)); \
    PetscCall(Word##VIPGSSetOrder(s, TESSERA_GS_FORWARD)); \
    PetscCall(Word##VIPGSSetOmega(s, 1.25)); \
    PetscCall(Word##VIPGSSetPrecision(s, TESSERA_PRECISION_SINGLE)); \
    PetscCall(Word##VIPGSSetBackend(s, TESSERA_BACKEND_HOST)); \
    PetscCall(Word##VIPGSSetAcceleration(s, SNES_VIPGS_ACCELERATION_NONE)); \
    PetscCall(Word##VIPGSSetNewton(s, PETSC_FALSE)); \
    PetscCall(Word##VIPGSSetSweeps(s, 20)); \
    PetscCall(Word##VIPGSSetCheck(s, 2)); \
    PetscCall(Word##VIPGSSetMaxFactorizations(s, 7)); \
    PetscCall(Word##VIPGSSetBlock(s, 3)); \
    PetscCall(Word##VIPGSSetFrictionCoefficient(s, 0.5)); \
    PetscCall(Word##VIPGSSetFrictionLaw(s, SNES_VIPGS_FRICTION_PYRAMID)); \
    PetscCall(Word##VIPGSSetFriction(s, friction)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  } \
  static PetscErrorCode Test##Word(Object s, const char *other, Vec friction) \
  { \
    PetscFunctionBeginUser; \
    PetscCall(Word##SetType(s, "vipmg")); \
    PetscCall(ShowMG("default", s)); \
    PetscCall(SetMG(s)); \
    PetscCall(ShowMG("set", s)); \
    PetscCall(Word##SetFromOptions(s)); \
    PetscCall(ShowMG("options", s)); \
    PetscCall(Word##SetType(s, "vipgs")); \
    PetscCall(ShowGS("default", s)); \
    PetscCall(SetGS(s, friction)); \
    PetscCall(ShowGS("set", s)); \
    PetscCall(Word##SetFromOptions(s)); \
    PetscCall(ShowGS("options", s)); \
    /* Of another type the setters are no concern */ \
    PetscCall(Word##SetType(s, other)); \
    PetscCall(SetMG(s)); \
    PetscCall(SetGS(s, friction)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
DEFINE(SNES, SNES)
DEFINE(Tao, Tao)

static PetscErrorCode Gradient(Tao, Vec x, Vec g, void *)
{
  PetscFunctionBeginUser;
  PetscCall(VecCopy(x, g));
  PetscCall(VecShift(g, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}
static PetscErrorCode Objective(Tao, Vec x, PetscReal *f, void *)
{
  PetscScalar sum;

  PetscFunctionBeginUser;
  PetscCall(VecNorm(x, NORM_2, f));
  PetscCall(VecSum(x, &sum));
  *f = *f * *f / 2 + sum;
  PetscFunctionReturn(PETSC_SUCCESS);
}
static PetscErrorCode Hessian(Tao, Vec, Mat, Mat, void *)
{
  return PETSC_SUCCESS;
}

/* min |x|^2/2 + sum x, x >= 0. The solver inside a Tao has its own names for the same options, which a solve reads. */
static PetscErrorCode TestSolver(void)
{
  Mat                  H;
  Vec                  x, lower, upper;
  Tao                  tao;
  PetscInt             check;
  SNESVIPGSCertificate c;

  PetscFunctionBeginUser;
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 6, 6, NULL, &H));
  PetscCall(MatAssemblyBegin(H, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(H, MAT_FINAL_ASSEMBLY));
  PetscCall(MatShift(H, 1));
  PetscCall(MatCreateVecs(H, &x, &lower));
  PetscCall(VecDuplicate(x, &upper));
  PetscCall(VecSet(upper, PETSC_INFINITY));
  PetscCall(TaoCreate(PETSC_COMM_WORLD, &tao));
  PetscCall(TaoSetType(tao, TAOVIPGS));
  PetscCall(TaoSetSolution(tao, x));
  PetscCall(TaoSetObjective(tao, Objective, NULL));
  PetscCall(TaoSetGradient(tao, NULL, Gradient, NULL));
  PetscCall(TaoSetHessian(tao, H, H, Hessian, NULL));
  PetscCall(TaoSetVariableBounds(tao, lower, upper));
  PetscCall(TaoSetOptionsPrefix(tao, "inner_"));
  PetscCall(TaoSetFromOptions(tao));
  PetscCall(TaoSolve(tao));
  PetscCall(TaoVIPGSGetCheck(tao, &check));
  PetscCall(TaoVIPGSGetCertificate(tao, &c));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Tao vipgs, a solve: check %d, %s\n", (int)check, SNESVIPGSReasons[c.reason]));
  PetscCall(TaoDestroy(&tao));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&lower));
  PetscCall(VecDestroy(&upper));
  PetscCall(MatDestroy(&H));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  SNES snes;
  Tao  tao;
  Vec  friction;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TesseraInitializePackage());
  PetscCall(VecCreateMPI(PETSC_COMM_WORLD, PETSC_DECIDE, 4, &friction));
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(TestSNES(snes, SNESNEWTONLS, friction));
  PetscCall(SNESDestroy(&snes));
  PetscCall(TaoCreate(PETSC_COMM_WORLD, &tao));
  PetscCall(TestTao(tao, TAOBLMVM, friction));
  PetscCall(TaoDestroy(&tao));
  PetscCall(TestSolver());
  PetscCall(VecDestroy(&friction));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    args: -inner_snes_vipgs_check 4

  test:
    suffix: options
    nsize: {{1 2}}
    args: -snes_vipmg_variant klement_oberhuber -snes_vipmg_cycle f -snes_vipmg_fmg 1 -snes_vipmg_sweeps 1,2 -snes_vipmg_omega 0.5 -snes_vipmg_levels 6 -snes_vipmg_levels_type box -snes_vipmg_coordinates points -snes_vipmg_backend auto -snes_vipmg_monitor 0
    args: -tao_vipmg_variant tnnmg -tao_vipmg_cycle f -tao_vipmg_fmg 1 -tao_vipmg_sweeps 1,2 -tao_vipmg_omega 0.5 -tao_vipmg_levels 6 -tao_vipmg_levels_type box -tao_vipmg_coordinates points -tao_vipmg_backend auto -tao_vipmg_monitor 0
    args: -snes_vipgs_strategy row -snes_vipgs_order random -snes_vipgs_omega 0.5 -snes_vipgs_precision auto -snes_vipgs_backend auto -snes_vipgs_acceleration nncg -snes_vipgs_newton 1 -snes_vipgs_sweeps 30 -snes_vipgs_check 3 -snes_vipgs_max_factorizations 8 -snes_vipgs_block 2 -snes_vipgs_mu 0.25 -snes_vipgs_friction cone
    args: -tao_vipgs_strategy row -tao_vipgs_order random -tao_vipgs_omega 0.5 -tao_vipgs_precision auto -tao_vipgs_backend auto -tao_vipgs_acceleration nncg -tao_vipgs_newton 1 -tao_vipgs_sweeps 30 -tao_vipgs_check 3 -tao_vipgs_max_factorizations 8 -tao_vipgs_block 2 -tao_vipgs_mu 0.25 -tao_vipgs_friction cone
    args: -inner_tao_vipgs_check 5

TEST*/
