// Stiff bodies in meshes with several unknowns a node: how many functions they have on the grids, on any number of
// processes alike, and that these contain the motions of a body.
// ranks: 1 2 3 4
#include "auxamg/pcauxamg.hpp"
#include "with_petsc.hpp"
#include <cmath>
#include <functional>
#include <vector>

using namespace tessera;

namespace {

const auto *const petsc = testing::AddGlobalTestEnvironment(new Petsc);

// Springs between the nodes of a grid of m x m, along its lines and diagonals, of stiffness 1, or `stiff` between nodes
// of the same body: body(x, y), zero outside of all. The nodes of the lowest line are tied.
struct Springs {
  PetscInt                                 m;
  double                                   stiff;
  std::function<int(PetscInt, PetscInt)>   body;
  PetscInt n() const { return m * m; }
  int      at(PetscInt p) const { return body(p % m, p / m); }
  template <class F> void each(const F &f) const // f(p, q, direction, stiffness)
  {
    const PetscInt step[4][2] = {{1, 0}, {0, 1}, {1, 1}, {-1, 1}};
    for (PetscInt p = 0; p < n(); ++p)
      for (const auto &s : step) {
        const PetscInt x = p % m + s[0], y = p / m + s[1];
        if (x < 0 || x >= m || y >= m) continue;
        const PetscInt q = y * m + x;
        const double   length = std::hypot(s[0], s[1]), d[2] = {s[0] / length, s[1] / length};
        f(p, q, d, at(p) && at(p) == at(q) ? stiff : 1.);
      }
  }
};

struct Made {
  Mat A;
  PC  pc;
  std::vector<double> grids; // nodes
};

// few: so many nodes are on the second process, and on the last one what others leave; -1: as PETSc divides them
Mat matrix(MPI_Comm comm, const Springs &springs, PetscInt few)
{
  PetscInt    first, last, mine = PETSC_DECIDE;
  PetscMPIInt rank, size;
  Mat         A;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (few >= 0 && size > 1) {
    const PetscInt of_others = (springs.n() - few) / (size - 1), rest = springs.n() - few - of_others * (size - 1);
    mine = 2 * (rank == 1 ? few : rank ? of_others : of_others + rest);
  }
  OK(MatCreateBAIJ(comm, 2, mine, mine, 2 * springs.n(), 2 * springs.n(), 9, nullptr, 9, nullptr, &A));
  OK(MatGetOwnershipRange(A, &first, &last));
  const auto add = [&](PetscInt p, PetscInt q, const double (&block)[4], double sign) {
    const double v[4] = {sign * block[0], sign * block[1], sign * block[2], sign * block[3]};
    if (2 * p >= first && 2 * p < last) OK(MatSetValuesBlocked(A, 1, &p, 1, &q, v, ADD_VALUES));
  };
  springs.each([&](PetscInt p, PetscInt q, const double (&d)[2], double k) {
    const double block[4] = {k * d[0] * d[0], k * d[0] * d[1], k * d[0] * d[1], k * d[1] * d[1]};
    add(p, p, block, 1), add(q, q, block, 1), add(p, q, block, -1), add(q, p, block, -1);
  });
  const double tied[4] = {1, 0, 0, 1};
  for (PetscInt p = 0; p < springs.m; ++p) add(p, p, tied, 1);
  OK(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  return A;
}

Made make(MPI_Comm comm, bool device, const Springs &springs, PetscInt few = -1)
{
  Made     made;
  PetscInt first, last;
  made.A = matrix(comm, springs, few);
  OK(MatGetOwnershipRange(made.A, &first, &last));
  OK(PCCreate(comm, &made.pc));
  OK(PCSetType(made.pc, PCAUXAMG));
  OK(PCAuxAMGSetPrecision(made.pc, TESSERA_PRECISION_DOUBLE));
  OK(PCAuxAMGSetBackend(made.pc, device ? TESSERA_BACKEND_CUDA : TESSERA_BACKEND_HOST));
  OK(PCSetOperators(made.pc, made.A, made.A));
  std::vector<double> here;
  for (PetscInt p = first / 2; p < last / 2; ++p)
    here.insert(here.end(), {(double)(p % springs.m), (double)(p / springs.m)});
  OK(PCSetCoordinates(made.pc, 2, (last - first) / 2, here.data()));
  OK(PCSetUp(made.pc));
  for (const auto &l : ((PC_AuxAMG *)made.pc->data)->in_double->levels()) made.grids.push_back(l.nodes);
  return made;
}
void destroy(Made &made)
{
  OK(PCDestroy(&made.pc));
  OK(MatDestroy(&made.A));
}
std::vector<double> grids(const Springs &springs)
{
  Made one = make(PETSC_COMM_SELF, false, springs), all = make(PETSC_COMM_WORLD, unit_cuda(), springs);
  EXPECT_EQ(one.grids, all.grids);
  std::vector<double> found = one.grids;
  destroy(one), destroy(all);
  return found;
}

// Squares of three by three nodes every eight nodes: compact.
int squares(PetscInt x, PetscInt y)
{
  return x % 8 < 3 && y % 8 < 3 ? (int)(1 + x / 8 + 100 * (y / 8)) : 0;
}

} // namespace

// 64 bodies of three functions each, on every grid but the last one.
TEST(auxamg_bodies, have_functions_for_their_motions)
{
  const std::vector<double> with = grids({64, 1e4, squares}), without = grids({64, 1, squares});
  ASSERT_GE(with.size(), 3u);
  for (size_t l : {1, 2}) EXPECT_NEAR(with[l], without[l] + 3 * 64, 0.25 * without[l] + 16) << "grid " << l;
}

// A jump of 5 leaves the mesh one body.
TEST(auxamg_bodies, small_jumps_make_none)
{
  EXPECT_EQ(grids({64, 5, squares}), grids({64, 1, squares}));
}

// Coarse grids contain rotations of all bodies: one cycle finds them.
TEST(auxamg_bodies, motions_cost_little)
{
  const Springs springs{64, 1e6, squares};
  Made          made = make(PETSC_COMM_SELF, false, springs);
  Vec           u, z, r;
  OK(MatCreateVecs(made.A, &u, &r));
  OK(VecDuplicate(u, &z));
  double *v;
  OK(VecGetArray(u, &v));
  for (PetscInt p = 0; p < springs.n(); ++p)
    if (springs.at(p)) v[2 * p] = 1 - (double)(p / 64 % 8), v[2 * p + 1] = (double)(p % 64 % 8) - 1;
  OK(VecRestoreArray(u, &v));
  OK(MatMult(made.A, u, r));
  OK(PCApply(made.pc, r, z)); // nearly the same, in one cycle
  OK(VecAXPY(z, -1, u));
  double error, norm;
  OK(VecNorm(z, NORM_2, &error));
  OK(VecNorm(u, NORM_2, &norm));
  EXPECT_LT(error, 0.3 * norm);
  OK(VecDestroy(&u));
  OK(VecDestroy(&z));
  OK(VecDestroy(&r));
  destroy(made);
}

// Processes without nodes, or with a few, go on with the others, also at the next setup.
TEST(auxamg_bodies, processes_have_few_nodes)
{
  const Springs springs{96, 1e4, squares};
  Made          one = make(PETSC_COMM_SELF, false, springs);
  for (PetscInt few : {0, 1, 5, 60}) {
    Made made = make(PETSC_COMM_WORLD, unit_cuda(), springs, few);
    EXPECT_EQ(made.grids, one.grids) << few;
    OK(MatShift(made.A, 0.5));
    OK(PCSetUp(made.pc));
    destroy(made);
  }
  destroy(one);
}

// A node that leaves a body leaves the others what they are, also if it is the first one.
TEST(auxamg_bodies, a_node_less_changes_nothing)
{
  const auto    half = [](PetscInt x, PetscInt) { return x < 32 ? 1 : 0; };
  const auto    less = [](PetscInt x, PetscInt y) { return x < 32 && x + y > 0 ? 1 : 0; };
  const Springs before{64, 1e4, half}, after{64, 1e4, less};
  Made          made = make(PETSC_COMM_WORLD, unit_cuda(), before), fresh = make(PETSC_COMM_WORLD, unit_cuda(), after);
  const auto    hierarchy = [&] { return &((PC_AuxAMG *)made.pc->data)->in_double->levels()[1]; };
  const auto    before_setup = hierarchy()->transfer.cells;
  OK(MatCopy(fresh.A, made.A, SAME_NONZERO_PATTERN));
  OK(PCSetUp(made.pc));
  EXPECT_EQ(hierarchy()->transfer.cells, before_setup);
  destroy(made), destroy(fresh);
}

// Half of the bodies are none any more, and the others have moved: the grids are made anew.
TEST(auxamg_bodies, others_make_grids_anew)
{
  const auto    moved = [](PetscInt x, PetscInt y) { return y % 16 < 8 ? squares(x + 4, y) : 0; };
  const Springs before{64, 1e4, squares}, after{64, 1e4, moved};
  Made          made = make(PETSC_COMM_WORLD, unit_cuda(), before), fresh = make(PETSC_COMM_WORLD, unit_cuda(), after);
  OK(MatCopy(fresh.A, made.A, SAME_NONZERO_PATTERN));
  OK(PCSetUp(made.pc));
  std::vector<double> now;
  for (const auto &l : ((PC_AuxAMG *)made.pc->data)->in_double->levels()) now.push_back(l.nodes);
  EXPECT_EQ(now, fresh.grids);
  EXPECT_NE(now, made.grids);
  destroy(made), destroy(fresh);
}
