// Values of matrices: which PC auxamg takes for symmetric, on any number of processes alike, and jumps of any size.
// ranks: 1 2 3
#include "auxamg/pcauxamg.hpp"
#include "reference.hpp"
#include "with_petsc.hpp"
#include <cmath>
#include <functional>
#include <vector>

using namespace tessera;

namespace {

const auto *const petsc = testing::AddGlobalTestEnvironment(new Petsc);

// The entry of two neighbours of a grid in one or two dimensions with n nodes along each; axis: of the step to q.
using Entry = std::function<double(PetscInt p, PetscInt q, int axis)>;

struct Differences {
  int      dim;
  PetscInt n;
  double   diagonal; // times the entry of a node with itself; or 0: minus the sum of all others, as if nodes at the border had neighbours
  Entry    entry;
};

struct Solved {
  bool     symmetric = true;
  PetscInt iterations = 0;
  double   error = 0; // of the solution, whose entries lie between 0 and 1
  KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
};

Mat matrix(MPI_Comm comm, const Differences &of)
{
  const PetscInt all = of.dim == 1 ? of.n : of.n * of.n;
  Mat            A;
  PetscInt       first, last;
  OK(MatCreateAIJ(comm, PETSC_DECIDE, PETSC_DECIDE, all, all, 5, nullptr, 4, nullptr, &A));
  OK(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt p = first; p < last; ++p) {
    const auto put = [&](PetscInt q, double v) { OK(MatSetValue(A, p, q, v, INSERT_VALUES)); };
    double sum = 0;
    for (int axis = 0; axis < of.dim; ++axis) {
      const PetscInt step = axis ? of.n : 1, at = p / step % of.n;
      const double   down = of.entry(p, at > 0 ? p - step : p, axis);
      const double   up   = of.entry(p, at + 1 < of.n ? p + step : p, axis);
      if (at > 0) put(p - step, down);
      if (at + 1 < of.n) put(p + step, up);
      sum -= down + up;
    }
    put(p, of.diagonal > 0 ? of.diagonal * std::abs(of.entry(p, p, 0)) : sum);
  }
  OK(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  return A;
}

Solved solve(MPI_Comm comm, bool device, const Differences &of, TesseraPrecision precision = TESSERA_PRECISION_DOUBLE,
             PCSide side = PC_RIGHT)
{
  Solved   solved;
  KSP      ksp;
  PC       pc;
  Vec      b, x, u;
  PetscInt first, last;
  double  *values;
  Mat      A = matrix(comm, of);
  OK(MatGetOwnershipRange(A, &first, &last));
  OK(MatCreateVecs(A, &x, &b));
  OK(VecDuplicate(x, &u));
  OK(VecGetArray(u, &values));
  for (PetscInt p = first; p < last; ++p) values[p - first] = hash((int)p, 0, 1);
  OK(VecRestoreArray(u, &values));
  OK(MatMult(A, u, b));
  OK(KSPCreate(comm, &ksp));
  OK(KSPSetType(ksp, KSPGMRES));
  OK(KSPSetPCSide(ksp, side));
  OK(KSPSetTolerances(ksp, side == PC_LEFT ? 1e-10 : 1e-6, PETSC_DEFAULT, PETSC_DEFAULT, 100));
  OK(KSPSetOperators(ksp, A, A));
  OK(KSPGetPC(ksp, &pc));
  OK(PCSetType(pc, PCAUXAMG));
  OK(PCAuxAMGSetPrecision(pc, precision));
  OK(PCAuxAMGSetBackend(pc, device ? TESSERA_BACKEND_CUDA : TESSERA_BACKEND_HOST));
  std::vector<double> here;
  for (PetscInt p = first; p < last; ++p) {
    here.push_back((double)(p % of.n));
    if (of.dim > 1) here.push_back((double)(p / of.n));
  }
  OK(PCSetCoordinates(pc, of.dim, last - first, here.data()));
  OK(KSPSolve(ksp, b, x));
  OK(KSPGetIterationNumber(ksp, &solved.iterations));
  OK(KSPGetConvergedReason(ksp, &solved.reason));
  const auto *const a = (PC_AuxAMG *)pc->data;
  OK(VecAXPY(x, -1, u));
  OK(VecNorm(x, NORM_INFINITY, &solved.error));
  solved.symmetric = a->in_double ? a->in_double->symmetric() : a->in_single->symmetric();
  OK(KSPDestroy(&ksp));
  OK(MatDestroy(&A));
  OK(VecDestroy(&b));
  OK(VecDestroy(&x));
  OK(VecDestroy(&u));
  return solved;
}

// Central differences of diffusion and a wind along the first axis, at cell Peclet number 0.9
Differences windy(int dim, PetscInt n)
{
  return {dim, n, 2. * dim, [](PetscInt p, PetscInt q, int axis) {
            return p == q ? 1 : axis ? -1 : q > p ? -0.1 : -1.9;
          }};
}

} // namespace

// All couplings are alike, and so are their differences, which must not cancel for any number of nodes.
TEST(AuxAMGMatrices, EvenWind_cuda)
{
  std::vector<Differences> problems;
  for (PetscInt n = 130; n < 800; n += 23) problems.push_back(windy(1, n));
  for (PetscInt n = 748; n < 751; ++n) problems.push_back(windy(1, n));
  for (PetscInt n = 13; n < 60; n += 5) problems.push_back(windy(2, n));
  for (const Differences &of : problems) {
    const Solved s = solve(PETSC_COMM_WORLD, unit_cuda(), of);
    EXPECT_FALSE(s.symmetric) << of.dim << " " << of.n;
    EXPECT_GT(s.reason, 0) << of.dim << " " << of.n;
    EXPECT_LE(s.iterations, 14) << of.dim << " " << of.n;
  }
}

// A grid that is the last one, too
TEST(AuxAMGMatrices, OneGrid_cuda) { EXPECT_FALSE(solve(PETSC_COMM_WORLD, unit_cuda(), windy(2, 9)).symmetric); }

// One coupling of some thousand, anywhere
TEST(AuxAMGMatrices, OneCoupling_cuda)
{
  for (PetscInt at = 60; at < 3600; at += 301)
    EXPECT_FALSE(solve(PETSC_COMM_WORLD, unit_cuda(), {2, 60, 4, [at](PetscInt p, PetscInt q, int) {
                                                         return p == q ? 1 : p == at && q == at + 1 ? -0.2 : -1;
                                                       }})
                   .symmetric)
      << at;
}

// Beside diagonal entries that are a million times as large
TEST(AuxAMGMatrices, BesideJumps_cuda)
{
  const auto stiff = [](PetscInt p) { return p % 60 < 30 ? 1e6 : 1.; };
  const Differences wind{2, 60, 4, [&](PetscInt p, PetscInt q, int axis) {
                       const double c = std::sqrt(stiff(p) * stiff(q));
                       return p == q ? c : -c - (axis || c > 1 ? 0 : q > p ? -0.5 : 0.5);
                     }};
  for (const TesseraPrecision precision : {TESSERA_PRECISION_DOUBLE, TESSERA_PRECISION_SINGLE})
    EXPECT_FALSE(solve(PETSC_COMM_WORLD, unit_cuda(), wind, precision).symmetric);
}

// Symmetric, but for rounding: couplings and diagonal entries over eight decades
TEST(AuxAMGMatrices, Symmetric_cuda)
{
  const auto    scale = [](PetscInt p) { return std::pow(10., 4 * hash((int)p, 0, 7) - 2); };
  const Differences scaled{2, 60, 4, [&](PetscInt p, PetscInt q, int) {
                         return (p == q ? 1. : -1.) * scale(p) * scale(q) * (1 + 1e-13 * hash((int)p, (int)q, 3));
                       }};
  for (const TesseraPrecision precision : {TESSERA_PRECISION_DOUBLE, TESSERA_PRECISION_SINGLE})
    EXPECT_TRUE(solve(PETSC_COMM_WORLD, unit_cuda(), scaled, precision).symmetric);
}

// Soft parts between stiff ones: what is 1e16 times as small as other diagonal entries is no rounding. Left
// preconditioning, as with residuals of 1e100 in stiff parts nothing tells of soft ones.
TEST(AuxAMGMatrices, JumpsOfAnySize_cuda)
{
  for (const PetscInt n : {60, 9}) // 9: one grid
    for (const double jump : {1e4, 1e15, 1e17, 1e40, 1e100, 1e-17, 1e-100}) {
      const auto        c = [=](PetscInt p) { return p % n / (n / 5 + 1) % 2 ? jump : 1.; };
      const Differences jumps{2, n, 0, [&](PetscInt p, PetscInt q, int) { return -2 / (1 / c(p) + 1 / c(q)); }};
      for (const TesseraPrecision precision : {TESSERA_PRECISION_DOUBLE, TESSERA_PRECISION_AUTO}) {
        const Solved s = solve(PETSC_COMM_WORLD, unit_cuda(), jumps, precision, PC_LEFT);
        EXPECT_LE(s.error, 1e-4) << n << " " << jump;
        EXPECT_LE(s.iterations, 20) << n << " " << jump;
        EXPECT_TRUE(s.symmetric) << n << " " << jump;
      }
    }
}
