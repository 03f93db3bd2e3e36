static char help[] = "SNES vipmg on random linear problems: any size, dimension, stencil and kind of bounds. The conditions of the solution are checked,\n"
                     "and that the number of cycles does not depend on the number of processes.\n\n  -seed s -count c -jump j -unit u -scale s: on grids s times as fine\n\n";
#include "tessera.h"
#include <petscdmda.h>
#include <petscsnes.h>

/* The same numbers on any number of processes */
static PetscReal Hash(PetscInt seed, PetscInt a, PetscInt b)
{
  unsigned long long h = (unsigned long long)seed * 0x9E3779B97F4A7C15ull ^ ((unsigned long long)a + 1) * 0xBF58476D1CE4E5B9ull ^ ((unsigned long long)b + 7) * 0x94D049BB133111EBull;
  for (int k = 0; k < 3; ++k) h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9ull + 0x2545F4914F6CDD1Dull;
  return (PetscReal)(h >> 11) / 9007199254740992.;
}
static PetscInt Choose(PetscInt seed, PetscInt what, PetscInt n) { return (PetscInt)(Hash(seed, what, 99) * n); }

typedef struct {
  PetscInt  seed, dim, n[3];
  PetscBool periodic[3], box, dirichlet, oneside, skew;
  PetscReal reaction, jump, stretch, unit;
  Mat       A;
  Vec       b;
} Problem;

static PetscInt Number(const Problem *p, const PetscInt *i) { return i[0] + p->n[0] * (i[1] + p->n[1] * i[2]); }
static PetscBool Fixed(const Problem *p, const PetscInt *i)
{
  if (!p->dirichlet) return PETSC_FALSE;
  for (PetscInt d = 0; d < p->dim; ++d)
    if (!p->periodic[d] && (i[d] == 0 || (i[d] == p->n[d] - 1 && d != 1))) return PETSC_TRUE;
  return PETSC_FALSE;
}

static PetscErrorCode Assemble(Problem *p, DM da)
{
  PetscInt s[3], m[3], i[3];

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], &s[2], &m[0], &m[1], &m[2]));
  PetscCall(DMCreateMatrix(da, &p->A));
  PetscCall(DMCreateGlobalVector(da, &p->b));
  PetscScalar *b;
  PetscInt     at = 0;
  PetscCall(VecGetArray(p->b, &b));
  for (i[2] = s[2]; i[2] < s[2] + m[2]; ++i[2])
    for (i[1] = s[1]; i[1] < s[1] + m[1]; ++i[1])
      for (i[0] = s[0]; i[0] < s[0] + m[0]; ++i[0]) {
        MatStencil      row = {i[2], i[1], i[0], 0}, col[27];
        PetscScalar     v[27];
        PetscInt        count = 1;
        const PetscInt  me    = Number(p, i);
        col[0] = row;
        v[0]   = p->reaction;
        b[at++] = p->unit * ((Hash(p->seed, me, 5) - 0.5) * 0.2 + PetscSinReal(9. * i[0] / p->n[0]) * PetscCosReal(7. * i[1] / p->n[1] + 5. * i[2] / p->n[2]));
        if (Fixed(p, i)) v[0] = 2;
        else
          for (PetscInt o = 0; o < 27; ++o) {
            const PetscInt d[3] = {o % 3 - 1, o / 3 % 3 - 1, o / 9 - 1};
            PetscInt       j[3], far = 0, out = 0;
            for (PetscInt k = 0; k < 3; ++k) {
              j[k] = i[k] + d[k];
              far += d[k] != 0;
              if (k >= p->dim && d[k]) out = 1;
              if (j[k] < 0 || j[k] >= p->n[k]) {
                if (k < p->dim && p->periodic[k]) j[k] = (j[k] + p->n[k]) % p->n[k];
                else out = 1;
              }
            }
            if (!far || out || (far > 1 && !p->box)) continue;
            const PetscInt  there = Number(p, j), low = PetscMin(me, there), high = PetscMax(me, there);
            const PetscReal w     = PetscPowReal(p->jump, Hash(p->seed, low / 3, high / 3) - 0.5) * (far > 1 ? 0.25 : 1) * (d[0] ? 1 : p->stretch) * (p->skew && me < there ? 1.05 : 1);
            v[0] += w;
            if (Fixed(p, j) && !p->oneside) continue;
            col[count]   = (MatStencil){i[2] + d[2], i[1] + d[1], i[0] + d[0], 0};
            v[count++] = -w;
          }
        PetscCall(MatSetValuesStencil(p->A, 1, &row, count, col, v, INSERT_VALUES));
      }
  PetscCall(VecRestoreArray(p->b, &b));
  PetscCall(MatAssemblyBegin(p->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(p->A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

static PetscErrorCode Function(SNES snes, Vec x, Vec f, void *ctx)
{
  Problem *p = (Problem *)ctx;
  PetscFunctionBeginUser;
  (void)snes;
  PetscCall(MatMult(p->A, x, f));
  PetscCall(VecAXPY(f, -1, p->b));
  PetscFunctionReturn(0);
}
static PetscErrorCode Jacobian(SNES snes, Vec x, Mat A, Mat B, void *ctx)
{
  PetscFunctionBeginUser;
  (void)snes;
  (void)x;
  (void)A;
  (void)B;
  (void)ctx;
  PetscFunctionReturn(0);
}

static PetscErrorCode Test(PetscInt seed, PetscInt *cycles, PetscBool *good)
{
  Problem             p = {seed, 1 + Choose(seed, 1, 10) / 2 % 3, {1, 1, 1}, {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE}, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 0, 1, 1, 1, NULL, NULL};
  const PetscInt      largest[3] = {300, 70, 18};
  DM                  da;
  SNES                snes;
  Vec                 x, f, lo, up;
  SNESVIPMGCertificate c;
  PetscReal           scale;
  SNESConvergedReason reason;
  DMBoundaryType      bt[3];
  PetscInt            kind = Choose(seed, 2, 5), finer = 1;

  PetscFunctionBeginUser;
  if (Choose(seed, 3, 3) == 0) p.dim = 2;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-scale", &finer, NULL));
  for (PetscInt d = 0; d < p.dim; ++d) {
    p.n[d]        = finer * (3 + Choose(seed, 10 + d, largest[p.dim - 1]));
    p.periodic[d] = Choose(seed, 20 + d, 4) == 0 ? PETSC_TRUE : PETSC_FALSE;
  }
  for (PetscInt d = 0; d < 3; ++d) bt[d] = p.periodic[d] ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE;
  p.box       = Choose(seed, 4, 2) ? PETSC_TRUE : PETSC_FALSE;
  p.dirichlet = Choose(seed, 5, 3) ? PETSC_TRUE : PETSC_FALSE;
  p.oneside   = Choose(seed, 6, 2) ? PETSC_TRUE : PETSC_FALSE;
  p.skew      = Choose(seed, 7, 5) == 0 ? PETSC_TRUE : PETSC_FALSE;
  p.reaction  = p.dirichlet && !p.periodic[0] && Choose(seed, 8, 2) ? 0 : PetscPowReal(10, -3 * Hash(seed, 8, 8));
  p.jump      = Choose(seed, 9, 3) == 0 ? 5 : 1;
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-jump", &p.jump, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-unit", &p.unit, NULL));
  p.stretch   = Choose(seed, 15, 4) == 0 ? 30 : 1;
  if (p.dim == 1) PetscCall(DMDACreate1d(PETSC_COMM_WORLD, bt[0], p.n[0], 1, 1, NULL, &da));
  else if (p.dim == 2) PetscCall(DMDACreate2d(PETSC_COMM_WORLD, bt[0], bt[1], p.box ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR, p.n[0], p.n[1], PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, &da));
  else PetscCall(DMDACreate3d(PETSC_COMM_WORLD, bt[0], bt[1], bt[2], p.box ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR, p.n[0], p.n[1], p.n[2], PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(Assemble(&p, da));
  PetscCall(VecDuplicate(p.b, &x));
  PetscCall(VecDuplicate(p.b, &f));
  PetscCall(VecDuplicate(p.b, &lo));
  PetscCall(VecDuplicate(p.b, &up));
  {
    PetscInt     s[3], m[3], i[3], at = 0;
    PetscScalar *l, *u;
    PetscCall(DMDAGetCorners(da, &s[0], &s[1], &s[2], &m[0], &m[1], &m[2]));
    PetscCall(VecGetArray(lo, &l));
    PetscCall(VecGetArray(up, &u));
    for (i[2] = s[2]; i[2] < s[2] + m[2]; ++i[2])
      for (i[1] = s[1]; i[1] < s[1] + m[1]; ++i[1])
        for (i[0] = s[0]; i[0] < s[0] + m[0]; ++i[0], ++at) {
          const PetscInt me = Number(&p, i);
          l[at] = kind == 1 || kind == 4 ? PETSC_NINFINITY : p.unit * (-2 * Hash(seed, me, 11) - 0.1);
          u[at] = kind == 0 || kind == 4 ? PETSC_INFINITY : kind == 3 && Hash(seed, me, 14) < 0.1 ? l[at] : p.unit * 2 * Hash(seed, me, 12);
          if (kind == 2 && Hash(seed, me, 13) < 0.5) l[at] = PETSC_NINFINITY;
        }
    PetscCall(VecRestoreArray(lo, &l));
    PetscCall(VecRestoreArray(up, &u));
  }
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetType(snes, SNESVIPMG));
  if (seed % 2) PetscCall(SNESSetDM(snes, da)); /* else found through matrix or vector */
  PetscCall(SNESSetFunction(snes, f, Function, &p));
  PetscCall(SNESSetJacobian(snes, p.A, p.A, Jacobian, &p));
  PetscCall(SNESVISetVariableBounds(snes, lo, up));
  PetscCall(SNESSetTolerances(snes, 1e-50, 1e-9, 0, 20, 10000));
  PetscCall(SNESSetFromOptions(snes));
  PetscCall(VecSet(x, 10 * p.unit)); /* outside the bounds */
  PetscCall(SNESSolve(snes, NULL, x));
  PetscCall(SNESGetConvergedReason(snes, &reason));
  PetscCall(SNESGetLinearSolveIterations(snes, cycles));
  PetscCall(SNESVIPMGGetCertificate(snes, &c));
  PetscCall(VecNorm(p.b, NORM_2, &scale));
  *good = reason > 0 && c.natural < 1e-6 * scale && c.fischer_burmeister < 1e-6 * scale && c.primal <= 0 && *cycles <= 40 ? PETSC_TRUE : PETSC_FALSE;
  PetscBool show = PETSC_FALSE;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-show", &show, NULL));
  if (!*good || show) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "seed %" PetscInt_FMT " %" PetscInt_FMT "x%" PetscInt_FMT "x%" PetscInt_FMT "%s%s%s%s%s%s%s%s bounds %" PetscInt_FMT " reaction %.2g jump %g stretch %g: %s, %" PetscInt_FMT " cycles, norms %.2e %.2e %.2e %.2e\n", seed, p.n[0], p.n[1], p.n[2], p.periodic[0] ? " px" : "", p.periodic[1] ? " py" : "", p.periodic[2] ? " pz" : "", p.box ? " box" : "", p.dirichlet ? " dirichlet" : "", p.oneside ? " oneside" : "", p.skew ? " skew" : "", seed % 2 ? "" : " no DM", kind, (double)p.reaction, (double)p.jump, (double)p.stretch, SNESConvergedReasons[reason], *cycles, (double)c.inactive, (double)c.natural, (double)c.fischer_burmeister, (double)c.primal));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&f));
  PetscCall(VecDestroy(&lo));
  PetscCall(VecDestroy(&up));
  PetscCall(VecDestroy(&p.b));
  PetscCall(MatDestroy(&p.A));
  PetscCall(SNESDestroy(&snes));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  PetscInt  seed = 1, count = 60, cycles, all = 0;
  PetscBool good;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-seed", &seed, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-count", &count, NULL));
  for (PetscInt s = seed; s < seed + count; ++s) {
    PetscCall(Test(s, &cycles, &good));
    all += cycles;
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " problems, %" PetscInt_FMT " cycles\n", count, all));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2 3 4}}
    args: -count 50 -snes_vipmg_cycle f

  # lengths in another unit: a problem of 1e-12 is not at its bounds
  test:
    suffix: units
    args: -count 50 -snes_vipmg_cycle f -unit {{9.094947017729282e-13 1099511627776}}
    output_file: output/vipmg_random.out

  test:
    suffix: rough
    args: -seed 16 -count 1 -jump 1e5 -show
    filter: grep -o "[A-Z]*VERGED[A-Z_]*"

TEST*/
