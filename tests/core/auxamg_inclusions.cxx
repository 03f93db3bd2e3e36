// Inclusions that conduct better than the matrix around them, with one unknown a node: which meshes have functions for
// them, how many, and how many iterations that leaves, on any number of processes alike.
// ranks: 1 2 3 4
#include "auxamg/pcauxamg.hpp"
#include "reference.hpp"
#include "with_petsc.hpp"
#include <cmath>
#include <functional>
#include <vector>

using namespace tessera;
using tree::BodyFunctions;

namespace {

const auto *const petsc = testing::AddGlobalTestEnvironment(new Petsc);

using Conductivity = std::function<double(PetscInt x, PetscInt y)>; // of the cell whose lower left corner this is

// Bilinear elements on m x m nodes, whose lowest line is tied, and upwind differences for a wind along the lines.
Mat matrix(MPI_Comm comm, PetscInt m, const Conductivity &c, double wind = 0)
{
  const double element[4][4] = {{4, -1, -1, -2}, {-1, 4, -2, -1}, {-1, -2, 4, -1}, {-2, -1, -1, 4}}; // times 6
  PetscInt     first, last;
  Mat          A;
  OK(MatCreateAIJ(comm, PETSC_DECIDE, PETSC_DECIDE, m * m, m * m, 9, nullptr, 9, nullptr, &A));
  OK(MatGetOwnershipRange(A, &first, &last));
  const auto add = [&](PetscInt p, PetscInt q, double v) {
    if (p >= first && p < last) OK(MatSetValue(A, p, q, v, ADD_VALUES));
  };
  for (PetscInt y = 0; y + 1 < m; ++y)
    for (PetscInt x = 0; x + 1 < m; ++x) {
      const PetscInt node[] = {y * m + x, y * m + x + 1, (y + 1) * m + x, (y + 1) * m + x + 1};
      for (int a = 0; a < 4; ++a)
        for (int b = 0; b < 4; ++b) add(node[a], node[b], c(x, y) / 6 * element[a][b]);
    }
  for (PetscInt p = 0; p < m; ++p) add(p, p, 1);
  for (PetscInt p = 0; p < m * m && wind > 0; ++p)
    if (p % m) add(p, p, wind), add(p, p - 1, -wind);
  OK(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  return A;
}

struct Solved {
  BodyFunctions       bodies;
  std::vector<double> grids; // nodes
  PetscInt            iterations;
  double              residual; // in relation to the right-hand side
};

Solved solve(MPI_Comm comm, bool device, PetscInt m, const Conductivity &c, double wind = 0)
{
  Solved      solved;
  KSP         ksp;
  PC          pc;
  Vec         b, x;
  PetscInt    first, last;
  PetscReal   norm[2];
  Mat         A = matrix(comm, m, c, wind);
  OK(MatGetOwnershipRange(A, &first, &last));
  OK(MatCreateVecs(A, &x, &b));
  double *v;
  OK(VecGetArray(b, &v));
  for (PetscInt p = first; p < last; ++p) v[p - first] = hash((int)(p % m), (int)(p / m), 1) - 0.5;
  OK(VecRestoreArray(b, &v));
  OK(KSPCreate(comm, &ksp));
  OK(KSPSetType(ksp, wind > 0 ? KSPBCGS : KSPCG));
  OK(KSPSetPCSide(ksp, wind > 0 ? PC_RIGHT : PC_LEFT));
  OK(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  OK(KSPSetTolerances(ksp, 1e-6, PETSC_DEFAULT, PETSC_DEFAULT, 100));
  OK(KSPSetOperators(ksp, A, A));
  OK(KSPGetPC(ksp, &pc));
  OK(PCSetType(pc, PCAUXAMG));
  OK(PCAuxAMGSetPrecision(pc, TESSERA_PRECISION_DOUBLE));
  OK(PCAuxAMGSetCycle(pc, PC_AUXAMG_CYCLE_AMLI)); // on a device as on a host
  OK(PCAuxAMGSetBackend(pc, device ? TESSERA_BACKEND_CUDA : TESSERA_BACKEND_HOST));
  std::vector<double> here;
  for (PetscInt p = first; p < last; ++p) here.insert(here.end(), {(double)(p % m), (double)(p / m)});
  OK(PCSetCoordinates(pc, 2, last - first, here.data()));
  OK(KSPSolve(ksp, b, x));
  OK(KSPGetIterationNumber(ksp, &solved.iterations));
  solved.bodies = ((PC_AuxAMG *)pc->data)->in_double->body_functions();
  for (const auto &l : ((PC_AuxAMG *)pc->data)->in_double->levels()) solved.grids.push_back(l.nodes);
  OK(VecNorm(b, NORM_2, &norm[0]));
  OK(VecScale(b, -1));
  OK(MatMultAdd(A, x, b, b));
  OK(VecNorm(b, NORM_2, &norm[1]));
  solved.residual = norm[1] / norm[0];
  OK(KSPDestroy(&ksp));
  OK(MatDestroy(&A));
  OK(VecDestroy(&b));
  OK(VecDestroy(&x));
  return solved;
}

// reaches: can the residual be as small as that?
Solved solve(PetscInt m, const Conductivity &c, bool reaches = true)
{
  const Solved one = solve(PETSC_COMM_SELF, false, m, c), all = solve(PETSC_COMM_WORLD, unit_cuda(), m, c);
  EXPECT_EQ(one.bodies, all.bodies);
  EXPECT_EQ(one.grids, all.grids);
  if (!reaches) return one;
  EXPECT_NEAR((double)one.iterations, (double)all.iterations, 1);
  for (const Solved *of : {&one, &all}) EXPECT_LT(of->residual, 1.01e-6);
  return one;
}

// Squares of `side` x `side` cells of conductivity `inside` every `pitch` cells; 1 elsewhere.
Conductivity squares(PetscInt pitch, PetscInt side, double inside)
{
  return [=](PetscInt x, PetscInt y) {
    return (x + 3) % pitch < side && (y + 3) % pitch < side ? inside : 1.;
  };
}

} // namespace

// As many iterations as without a jump, nearly, whatever its size and theirs
TEST(auxamg_inclusions, take_few_iterations)
{
  const PetscInt m = 81;
  for (PetscInt side : {2, 4, 9})
    for (double inside : {1e2, 1e4, 1e7}) {
      const Solved found = solve(m, squares(2 * side + 4, side, inside));
      EXPECT_EQ(found.bodies, BodyFunctions::own) << side << " " << inside;
      EXPECT_LE(found.iterations, 10) << side << " " << inside;
    }
}

// One function for an inclusion that is smaller than a cell
TEST(auxamg_inclusions, have_one_function)
{
  const PetscInt m = 97, inclusions = 12 * 12;
  const Solved   with = solve(m, squares(8, 2, 1e4)), without = solve(m, squares(8, 2, 1));
  ASSERT_GE(with.grids.size(), 3u);
  EXPECT_EQ(without.bodies, BodyFunctions::none);
  for (size_t l : {1, 2}) {
    EXPECT_GE(with.grids[l], without.grids[l]) << "grid " << l;
    EXPECT_LE(with.grids[l], without.grids[l] + 1.05 * inclusions) << "grid " << l;
  }
}

// What is no inclusion has none: layers, soft inclusions, a network that runs through the matrix, random elements. Nor
// have some that conduct little better, or so well that rounding hides the rest, or with a strong wind around them.
TEST(auxamg_inclusions, are_not_everywhere)
{
  const PetscInt     m = 81;
  const Conductivity none[] = {
    [](PetscInt, PetscInt y) { return y / 9 % 2 ? 1e4 : 1.; },
    squares(9, 4, 1e-4),
    squares(9, 4, 5),
    [](PetscInt x, PetscInt y) { return x % 6 < 2 || y % 6 < 2 ? 1e4 : 1.; },
    [](PetscInt x, PetscInt y) { return std::pow(10., 4 * hash((int)x, (int)y, 2)); },
  };
  for (const Conductivity &c : none) EXPECT_EQ(solve(m, c).bodies, BodyFunctions::none) << &c - none;
  EXPECT_EQ(solve(m, squares(9, 4, 1e12), false).bodies, BodyFunctions::none);
  EXPECT_EQ(solve(PETSC_COMM_WORLD, unit_cuda(), m, squares(9, 4, 1e4), 0.1).bodies, BodyFunctions::own);
  EXPECT_EQ(solve(PETSC_COMM_WORLD, unit_cuda(), m, squares(9, 4, 1e4), 20).bodies, BodyFunctions::none);
}

// Conductivities that are others at a next setup: inclusions come and go.
TEST(auxamg_inclusions, may_move)
{
  const PetscInt m = 65;
  KSP            ksp;
  PC             pc;
  PetscInt       first, last;
  Vec            b, x;
  Mat            A = matrix(PETSC_COMM_WORLD, m, squares(10, 4, 1e4));
  OK(MatGetOwnershipRange(A, &first, &last));
  OK(MatCreateVecs(A, &x, &b));
  OK(VecSet(b, 1));
  OK(KSPCreate(PETSC_COMM_WORLD, &ksp));
  OK(KSPSetType(ksp, KSPCG));
  OK(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  OK(KSPSetTolerances(ksp, 1e-6, PETSC_DEFAULT, PETSC_DEFAULT, 100));
  OK(KSPGetPC(ksp, &pc));
  OK(PCSetType(pc, PCAUXAMG));
  OK(PCAuxAMGSetPrecision(pc, TESSERA_PRECISION_DOUBLE));
  OK(PCAuxAMGSetBackend(pc, unit_cuda() ? TESSERA_BACKEND_CUDA : TESSERA_BACKEND_HOST));
  std::vector<double> here;
  for (PetscInt p = first; p < last; ++p) here.insert(here.end(), {(double)(p % m), (double)(p / m)});
  const Conductivity next[] = {squares(10, 4, 1e4), squares(14, 6, 1e4), squares(14, 6, 1), squares(14, 6, 1e4)};
  for (const Conductivity &c : next) {
    PetscInt iterations;
    Mat      values = matrix(PETSC_COMM_WORLD, m, c);
    OK(MatCopy(values, A, SAME_NONZERO_PATTERN));
    OK(MatDestroy(&values));
    OK(KSPSetOperators(ksp, A, A));
    if (&c == next) OK(PCSetCoordinates(pc, 2, last - first, here.data()));
    OK(KSPSolve(ksp, b, x));
    OK(KSPGetIterationNumber(ksp, &iterations));
    EXPECT_LE(iterations, 10) << &c - next;
  }
  OK(KSPDestroy(&ksp));
  OK(MatDestroy(&A));
  OK(VecDestroy(&b));
  OK(VecDestroy(&x));
}
