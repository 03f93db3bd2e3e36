// Thin parts in the plane: nodes of strips count several times in the tree, those of chains and of whole meshes once, on
// any number of processes alike.
// ranks: 1 2 3 4
#include "auxamg/pcauxamg.hpp"
#include "with_petsc.hpp"
#include <utility>
#include <vector>

using namespace tessera;

namespace {

const auto *const petsc = testing::AddGlobalTestEnvironment(new Petsc);

// Strips of so many nodes across and along, a coupling apart, which begin so many couplings above each other; the first
// node of each is tied to zero. Every other one goes up, so that no axis is stretched. A node is coupled along a diagonal,
// too, as in triangles.
struct Strips {
  std::vector<double>                        x;
  std::vector<std::pair<PetscInt, PetscInt>> couplings;
  std::vector<PetscInt>                      tied;
  PetscInt                                   n() const { return (PetscInt)x.size() / 2; }
  Strips(int across, int along, int number, double apart)
  {
    for (int s = 0; s < number; ++s) {
      tied.push_back(n());
      for (int p = 0; p < along; ++p)
        for (int q = 0; q < across; ++q) {
          const PetscInt at = n();
          const double along_strip = p, across_strip = (s / 2 + 0.3 * p / along) * apart + q; // a little oblique
          if (s % 2) x.insert(x.end(), {along + 9 + across_strip, along_strip});
          else x.insert(x.end(), {along_strip, across_strip});
          if (q) couplings.emplace_back(at, at - 1);
          if (p) couplings.emplace_back(at, at - across);
          if (p && q) couplings.emplace_back(at, at - across - 1);
        }
    }
  }
};

// The nodes of the first grid, for each of the mesh.
double first_grid(MPI_Comm comm, bool device, const Strips &strips, int cell_size)
{
  PetscInt first, last;
  Mat      A;
  PC       pc;
  OK(MatCreateAIJ(comm, PETSC_DECIDE, PETSC_DECIDE, strips.n(), strips.n(), 7, nullptr, 7, nullptr, &A));
  OK(MatGetOwnershipRange(A, &first, &last));
  const auto add = [&](PetscInt row, PetscInt column, double v) {
    if (row >= first && row < last) OK(MatSetValue(A, row, column, v, ADD_VALUES));
  };
  for (const auto &c : strips.couplings)
    for (const auto &[p, q] : {c, std::make_pair(c.second, c.first)}) add(p, p, 1), add(p, q, -1);
  for (PetscInt p : strips.tied) add(p, p, 1);
  OK(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  OK(PCCreate(comm, &pc));
  OK(PCSetType(pc, PCAUXAMG));
  OK(PCAuxAMGSetCellSize(pc, cell_size));
  OK(PCAuxAMGSetPrecision(pc, TESSERA_PRECISION_DOUBLE));
  OK(PCAuxAMGSetBackend(pc, device ? TESSERA_BACKEND_CUDA : TESSERA_BACKEND_HOST));
  OK(PCSetOperators(pc, A, A));
  std::vector<double> here(strips.x.begin() + 2 * first, strips.x.begin() + 2 * last);
  OK(PCSetCoordinates(pc, 2, last - first, here.data()));
  OK(PCSetUp(pc));
  const double nodes = ((PC_AuxAMG *)pc->data)->in_double->levels()[1].nodes;
  OK(PCDestroy(&pc));
  OK(MatDestroy(&A));
  return nodes / (double)strips.n();
}

// On all processes as on one.
double first_grid(const Strips &strips, int cell_size)
{
  const double one = first_grid(PETSC_COMM_SELF, false, strips, cell_size);
  EXPECT_EQ(first_grid(PETSC_COMM_WORLD, unit_cuda(), strips, cell_size), one);
  return one;
}

} // namespace

// A leaf of 48 nodes would be 24 couplings long: a vertex for each 25 nodes.
TEST(auxamg_thin, strips_have_small_leaves)
{
  const double nodes = first_grid(Strips(2, 400, 6, 60), 48);
  EXPECT_GT(nodes, 0.1);
  EXPECT_LT(nodes, 0.2);
}

// Leaves of three nodes would have more vertices than half of the nodes.
TEST(auxamg_thin, chains_count_once)
{
  EXPECT_LT(first_grid(Strips(1, 400, 12, 30), 12), 0.2);
}

// A full leaf of 100 nodes is ten couplings long and yet not thin.
TEST(auxamg_thin, whole_meshes_count_once)
{
  EXPECT_LT(first_grid(Strips(70, 70, 1, 0), 100), 0.027);
}
