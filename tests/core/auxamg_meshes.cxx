// PC auxamg on meshes: the coarse operators against PETSc's MatPtAP(), the colours and the inverses of Gauss-Seidel.
// ranks: 1 3
#include "auxamg/pcauxamg.hpp"
#include "buffers.hpp"
#include "../auxamg_problem.h"
#include "with_petsc.hpp"
#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <vector>

using namespace tessera;
using namespace tessera::tree;

namespace {

const auto *const petsc = testing::AddGlobalTestEnvironment(new Petsc);

struct Case {
  MeshType        mesh;
  PetscInt        n, bs;
  PetscBool       elastic;
  PCAuxAMGVariant variant;
  PCAuxAMGSmoother smoother = PC_AUXAMG_SMOOTHER_AUTO;
};

// A matrix on a mesh, nodes in random order, and the preconditioner that has been set up for it.
struct Problem {
  Mat A  = nullptr;
  PC  pc = nullptr;
  explicit Problem(const Case &c, bool device = unit_cuda())
  {
    Mesh           mesh;
    ProblemOptions o = {c.bs, c.elastic, PETSC_FALSE, PETSC_FALSE, PETSC_TRUE, 1, 1, 0, 0, 0, 0, 0, 0, 0};
    PetscInt       nodes = 0;
    PetscReal     *x = nullptr;
    OK(MeshMake(c.mesh, c.n, &mesh));
    OK(ProblemMake(PETSC_COMM_WORLD, &mesh, &o, &A, &nodes, &x));
    OK(PCCreate(PETSC_COMM_WORLD, &pc));
    OK(PCSetType(pc, PCAUXAMG));
    OK(PCAuxAMGSetVariant(pc, c.variant));
    OK(PCAuxAMGSetSmoother(pc, c.smoother));
    OK(PCAuxAMGSetCoarseSize(pc, 4 * c.bs));
    OK(PCAuxAMGSetPrecision(pc, TESSERA_PRECISION_DOUBLE));
    OK(PCAuxAMGSetBackend(pc, device ? TESSERA_BACKEND_CUDA : TESSERA_BACKEND_HOST));
    OK(PCSetOperators(pc, A, A));
    OK(PCSetCoordinates(pc, mesh.dim, nodes, x));
    EXPECT_EQ(((PC_AuxAMG *)pc->data)->given.x.space(), device && nodes ? Space::cuda : Space::host); // so that the setup fetches nothing
    OK(PCSetUp(pc));
    OK(PetscFree(x));
    OK(MeshDestroy(&mesh));
  }
  ~Problem()
  {
    OK(PCDestroy(&pc));
    OK(MatDestroy(&A));
  }
  const Hierarchy<double> &hierarchy() const { return *((PC_AuxAMG *)pc->data)->in_double; }
};

// The nodes of a level, ghosts included, counted process by process where these divide it; else by their numbers.
std::vector<int> numbers_of(const Level<double> &level)
{
  std::vector<int> number((size_t)(level.n + level.ghosts));
  std::iota(number.begin(), number.end(), 0);
  if (!level.distributed) return number;
  int before = 0;
  MPI_Exscan(&level.n, &before, 1, MPI_INT, MPI_SUM, PETSC_COMM_WORLD);
  Buffer<double> here(number.size()), there(Extent{number.size(), level.a.space()});
  for (size_t p = 0; p < number.size(); ++p) here.data()[p] = before + (int)p;
  copy(here, there);
  const_cast<Exchange &>(level.exchange).forward(there.data(), 1);
  copy(there, here);
  return std::vector<int>(here.data(), here.data() + here.size());
}

// The interpolation to a level: as many rows as `A` has, row 0 being row `first` of own node order[0].
Mat interpolation(Mat A, const Level<double> &level, const Level<double> &coarse, int bs, const std::vector<int> &order)
{
  const std::vector<int>    number = numbers_of(coarse);
  const std::vector<int>    begin = get(level.transfer.begin), vertex = get(level.transfer.vertex);
  const std::vector<double> w = get(level.transfer.weight);
  PetscInt                  rows, first;
  Mat                       P;
  OK(MatGetLocalSize(A, &rows, nullptr));
  OK(MatGetOwnershipRange(A, &first, nullptr));
  OK(MatCreateAIJ(PetscObjectComm((PetscObject)A), rows, coarse.distributed ? coarse.n * bs : PETSC_DECIDE, PETSC_DETERMINE, coarse.distributed ? PETSC_DETERMINE : coarse.n * bs, 8, nullptr, 8, nullptr, &P));
  for (int l = 0; l < level.transfer.cells; ++l)
    for (int p = begin[(size_t)l]; p < begin[(size_t)l + 1]; ++p)
      for (int c = 0; c < level.transfer.corners; ++c)
        for (int k = 0; k < bs; ++k)
          if (const double v = w[(size_t)(p * level.transfer.corners + c)])
            OK(MatSetValue(P, first + (order.empty() ? p : order[(size_t)p]) * bs + k, number[(size_t)vertex[(size_t)(l * level.transfer.corners + c)]] * bs + k, v, ADD_VALUES));
  OK(MatAssemblyBegin(P, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyEnd(P, MAT_FINAL_ASSEMBLY));
  return P;
}

std::map<int, double> row_of(const std::vector<int> &i, const std::vector<int> &j, const std::vector<double> &a, const std::vector<int> &number, int bs, int row)
{
  std::map<int, double> found;
  for (int e = i[(size_t)(row / bs)]; e < i[(size_t)(row / bs) + 1]; ++e)
    for (int m = 0; m < bs; ++m) EXPECT_TRUE(found.emplace(number[(size_t)j[(size_t)e]] * bs + m, a[(size_t)((e * bs + row % bs) * bs + m)]).second) << "an entry stands twice";
  return found;
}

// Every row of C = P'AP that is here is that of the level, which has nothing else.
void compare(Mat C, const Level<double> &level, int bs, const char *text)
{
  const std::vector<int>    i = get(level.i), j = get(level.j), number = numbers_of(level);
  const std::vector<double> a = get(level.a);
  PetscInt                  first, last;
  PetscReal                 largest;
  OK(MatGetOwnershipRange(C, &first, &last));
  OK(MatNorm(C, NORM_INFINITY, &largest));
  ASSERT_TRUE(!level.distributed || last - first == level.n * bs);
  for (PetscInt row = first; row < last; ++row) {
    std::map<int, double> mine = row_of(i, j, a, number, bs, (int)(level.distributed ? row - first : row));
    PetscInt              n;
    const PetscInt       *column;
    const PetscScalar    *v;
    OK(MatGetRow(C, row, &n, &column, &v));
    for (PetscInt k = 0; k < n; ++k) {
      const auto here = mine.find((int)column[k]);
      ASSERT_NEAR(here == mine.end() ? 0 : here->second, v[k], 1e-12 * largest) << text << ", row " << row << ", column " << column[k];
      if (here != mine.end()) mine.erase(here);
    }
    OK(MatRestoreRow(C, row, &n, &column, &v));
    for (const auto &e : mine) ASSERT_NEAR(e.second, 0, 1e-12 * largest) << text << ", row " << row << ", column " << e.first;
  }
}

Mat matrix_of(const Level<double> &level, int bs)
{
  const std::vector<int>    i = get(level.i), j = get(level.j), number = numbers_of(level);
  const std::vector<double> a = get(level.a);
  int                       longest = 0;
  Mat                       A;
  for (int p = 0; p < level.n; ++p) longest = std::max(longest, i[(size_t)p + 1] - i[(size_t)p]);
  OK(MatCreateAIJ(level.distributed ? PETSC_COMM_WORLD : PETSC_COMM_SELF, level.n * bs, level.n * bs, PETSC_DETERMINE, PETSC_DETERMINE, longest * bs, nullptr, longest * bs, nullptr, &A));
  for (int row = 0; row < level.n * bs; ++row)
    for (const auto &e : row_of(i, j, a, number, bs, row)) OK(MatSetValue(A, number[(size_t)(row / bs)] * bs + row % bs, e.first, e.second, INSERT_VALUES));
  OK(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  return A;
}

void check_products(const Case &c)
{
  const Problem                   problem(c);
  const Hierarchy<double>        &h = problem.hierarchy();
  const std::vector<Level<double>> &levels = h.levels();
  const int                       bs = (int)c.bs;
  int                             size;
  ASSERT_LE(2u, levels.size());
  MPI_Comm_size(PETSC_COMM_WORLD, &size);
  for (size_t l = 1; l < levels.size(); ++l) ASSERT_EQ(levels[l].distributed, size > 1 && c.variant == PC_AUXAMG_TREE && levels[l].nodes * bs > std::max(strategy_of(h.exec().space).divided * 4 * bs, divided_least * size));
  OK(MatScale(problem.A, h.units()));
  for (size_t l = 0; l + 1 < levels.size(); ++l) {
    const std::string text = std::string(MeshTypes[c.mesh]) + ", " + PCAuxAMGVariants[c.variant] + ", grid " + std::to_string(l + 1);
    Mat A = l ? matrix_of(levels[l], bs) : problem.A, P = interpolation(A, levels[l], levels[l + 1], bs, l ? std::vector<int>() : get(h.order())), C;
    OK(MatPtAP(A, P, MAT_INITIAL_MATRIX, 4, &C));
    compare(C, levels[l + 1], bs, text.c_str());
    if (c.variant == PC_AUXAMG_AGGREGATION) { // a node is in one aggregate
      ASSERT_EQ(levels[l].transfer.corners, 1);
      for (int p = 0; p < levels[l].points; ++p) ASSERT_EQ(get(levels[l].transfer.weight)[(size_t)p], 1);
    }
    OK(MatDestroy(&C));
    OK(MatDestroy(&P));
    if (l) OK(MatDestroy(&A));
    if (testing::Test::HasFatalFailure()) return;
  }
}

void check_colours(const Case &c)
{
  const Problem problem(c);
  const int     bs = (int)c.bs;
  for (const Level<double> &level : problem.hierarchy().levels()) {
    const GaussSeidel<double> &s = level.sweep;
    if (!level.transfer.cells) break;
    const std::vector<int> i = get(level.i), j = get(level.j), order = get(s.order), block = get(s.block), place = get(s.place), begin = get(s.begin), local = get(s.local), row = get(s.row);
    std::vector<int>       colour((size_t)level.n, -1);
    int                    seen = 0;
    ASSERT_EQ(s.first.back(), level.points);
    for (size_t k = 0; k + 1 < s.first.size(); ++k)
      for (int o = s.first[k]; o < s.first[k + 1]; ++o) {
        ASSERT_EQ(colour[(size_t)order[(size_t)o]], -1);
        colour[(size_t)order[(size_t)o]] = (int)k;
        ++seen;
      }
    ASSERT_EQ(seen, level.points);
    const bool blocks = &level == &problem.hierarchy().levels()[0] && c.smoother != PC_AUXAMG_SMOOTHER_GS;
    ASSERT_EQ(blocks, !block.empty());
    for (int p = 0; p < level.points; ++p)
      for (int e = i[(size_t)p]; e < i[(size_t)p + 1]; ++e) {
        const int q = j[(size_t)e];
        if (q != p && q < level.n && colour[(size_t)q] == colour[(size_t)p]) {
          ASSERT_TRUE(blocks && block[(size_t)p] == block[(size_t)q]);
        }
      }
    int size;
    MPI_Comm_size(PETSC_COMM_WORLD, &size);
    if (!blocks || size > 1) continue;
    // A_bb times its inverse
    const std::vector<double> a = get(level.a), inverse = get(s.inverse);
    int                       largest = 0;
    for (int p = 0; p < level.points; ++p) {
      const int b = block[(size_t)p], n = (begin[(size_t)b + 1] - begin[(size_t)b]) * bs;
      largest = std::max(largest, n);
      ASSERT_EQ(row[(size_t)p + 1] - row[(size_t)p], n * bs);
      ASSERT_EQ(place[(size_t)p], p - begin[(size_t)b]);
      for (int k = 0; k < bs; ++k) {
        std::vector<double> product((size_t)n);
        for (int e = i[(size_t)p]; e < i[(size_t)p + 1]; ++e) {
          const int q = j[(size_t)e];
          if (block[(size_t)q] != b) continue;
          for (int m = 0; m < bs; ++m)
            for (int r = 0; r < n; ++r) product[(size_t)r] += a[(size_t)((e * bs + k) * bs + m)] * inverse[(size_t)(row[(size_t)q] + m * n + r)];
        }
        for (int r = 0; r < n; ++r) ASSERT_NEAR(product[(size_t)r], r == place[(size_t)p] * bs + k, 1e-9);
      }
    }
    ASSERT_LE(largest, max_aggregate);
    if (c.mesh == MESH_GRADED) {
      ASSERT_LT(level.grid.leaves + (int)problem.hierarchy().levels()[1].grid.leaves, s.blocks) << "aggregates were to be cut";
    }
  }
}

// The application on the device and on the host, in double precision.
void check_application(const Case &c, PCAuxAMGCycle cycle)
{
  const Problem there(c), here(c, false);
  Vec           b, x, y;
  PetscReal     norm, difference;
  OK(MatCreateVecs(here.A, &x, &b));
  OK(VecDuplicate(x, &y));
  OK(VecSetRandom(b, nullptr));
  for (const Problem *p : {&there, &here}) {
    OK(PCAuxAMGSetCycle(p->pc, cycle));
    OK(PCSetUp(p->pc));
    OK(PCApply(p->pc, b, p == &there ? x : y));
  }
  OK(VecNorm(y, NORM_2, &norm));
  OK(VecAXPY(x, -1, y));
  OK(VecNorm(x, NORM_2, &difference));
  EXPECT_LT(difference, 1e-11 * norm) << MeshTypes[c.mesh] << ", " << PCAuxAMGVariants[c.variant] << ", cycle " << PCAuxAMGCycles[cycle];
  OK(VecDestroy(&b));
  OK(VecDestroy(&x));
  OK(VecDestroy(&y));
}

} // namespace

TEST(AuxAMGMeshes, DeviceDoesWhatTheHostDoes)
{
  if (!unit_cuda()) GTEST_SKIP() << "no device";
  check_application({MESH_DISK, 16, 1, PETSC_FALSE, PC_AUXAMG_AGGREGATION}, PC_AUXAMG_CYCLE_K);
  check_application({MESH_CUBE, 6, 3, PETSC_TRUE, PC_AUXAMG_AGGREGATION}, PC_AUXAMG_CYCLE_K);
  check_application({MESH_GRADED, 60, 1, PETSC_FALSE, PC_AUXAMG_AGGREGATION, PC_AUXAMG_SMOOTHER_GS}, PC_AUXAMG_CYCLE_W);
  check_application({MESH_GRADED, 60, 2, PETSC_FALSE, PC_AUXAMG_TREE, PC_AUXAMG_SMOOTHER_GS}, PC_AUXAMG_CYCLE_V);
  check_application({MESH_CUBE, 8, 1, PETSC_FALSE, PC_AUXAMG_TREE}, PC_AUXAMG_CYCLE_K);
  check_application({MESH_GRADED, 60, 2, PETSC_FALSE, PC_AUXAMG_TREE}, PC_AUXAMG_CYCLE_W); // several processes divide grids
  check_application({MESH_GRADED, 60, 1, PETSC_FALSE, PC_AUXAMG_TREE}, PC_AUXAMG_CYCLE_V);
  check_application({MESH_CUBE, 8, 1, PETSC_FALSE, PC_AUXAMG_TREE}, PC_AUXAMG_CYCLE_W);
  check_application({MESH_LINE, 300, 1, PETSC_FALSE, PC_AUXAMG_TREE}, PC_AUXAMG_CYCLE_V);
  check_application({MESH_WALL, 40, 1, PETSC_FALSE, PC_AUXAMG_TREE}, PC_AUXAMG_CYCLE_V); // blocks in the smoother
  check_application({MESH_COMB, 30, 2, PETSC_TRUE, PC_AUXAMG_TREE}, PC_AUXAMG_CYCLE_AMLI);
}

TEST(AuxAMGMeshes, OperatorsAreThoseOfMatPtAP)
{
  for (PCAuxAMGVariant v : {PC_AUXAMG_TREE, PC_AUXAMG_AGGREGATION})
    for (const Case &c : {Case{MESH_SQUARE, 20, 1, PETSC_FALSE, v}, Case{MESH_DISK, 12, 1, PETSC_FALSE, v}, Case{MESH_GRADED, 40, 1, PETSC_FALSE, v}, Case{MESH_EDGE, 24, 1, PETSC_FALSE, v}, Case{MESH_CUBE, 7, 1, PETSC_FALSE, v}, Case{MESH_BALLS, 10, 1, PETSC_FALSE, v},
                          Case{MESH_LINE, 300, 1, PETSC_FALSE, v}, Case{MESH_LAYER, 10, 1, PETSC_FALSE, v}, Case{MESH_DISK, 8, 2, PETSC_TRUE, v}, Case{MESH_CUBE, 5, 3, PETSC_TRUE, v}})
      check_products(c);
}

TEST(AuxAMGMeshes, CoupledNodesHaveOtherColours)
{
  for (PCAuxAMGSmoother s : {PC_AUXAMG_SMOOTHER_AUTO, PC_AUXAMG_SMOOTHER_GS})
    for (const Case &c : {Case{MESH_SQUARE, 20, 1, PETSC_FALSE, PC_AUXAMG_AGGREGATION, s}, Case{MESH_GRADED, 60, 1, PETSC_FALSE, PC_AUXAMG_AGGREGATION, s}, Case{MESH_CUBE, 7, 1, PETSC_FALSE, PC_AUXAMG_AGGREGATION, s}, Case{MESH_DISK, 10, 2, PETSC_TRUE, PC_AUXAMG_AGGREGATION, s}, Case{MESH_BALLS, 10, 6, PETSC_FALSE, PC_AUXAMG_AGGREGATION, s}}) check_colours(c);
  check_colours({MESH_GRADED, 60, 1, PETSC_FALSE, PC_AUXAMG_TREE, PC_AUXAMG_SMOOTHER_GS});
}

// Nodes are ordered as far as the leaves of a first tree are deep. Two heaps of nodes beside its middle line, which are in a cell of
// the second tree, make that much deeper. z = B r of a chain through random points, node by node, whose numbers are reversed or not.
static std::vector<double> apply_with_heaps(MPI_Comm comm, bool device, bool reversed)
{
  const PetscInt       n = 2600, heap = 12;
  std::vector<double>  x(2 * (size_t)n), z((size_t)n);
  std::vector<PetscInt> number((size_t)n);
  PetscInt             first, last;
  Mat                  A;
  Vec                  r, y;
  PC                   pc;
  for (PetscInt p = 0; p < n; ++p) {
    number[(size_t)p] = reversed ? n - 1 - p : p;
    for (PetscInt q = 0; q < 2; ++q) x[(size_t)(2 * p + q)] = 0.5 + 0.5 * Random(p, q);
  }
  for (PetscInt k = 0; k < 2 * heap; ++k) {
    const size_t p = 40 + 100 * (size_t)k;
    x[2 * p]     = 0.5 + (k % 2 ? 1e-6 : -1e-6) * (1 + (double)(k / 2));
    x[2 * p + 1] = x[2 * 40 + 1];
  }
  for (size_t p = 0; p < 4; ++p) x[2 * p] = (double)(p % 2), x[2 * p + 1] = (double)(p / 2); // the extent
  OK(MatCreateAIJ(comm, PETSC_DECIDE, PETSC_DECIDE, n, n, 3, nullptr, 2, nullptr, &A));
  OK(MatGetOwnershipRange(A, &first, &last));
  std::vector<double> here(2 * (size_t)(last - first));
  OK(MatCreateVecs(A, &r, &y));
  for (PetscInt p = 0; p < n; ++p) {
    const PetscInt row = number[(size_t)p];
    if (row < first || row >= last) continue;
    for (PetscInt q : {p - 1, p, p + 1})
      if (q >= 0 && q < n) OK(MatSetValue(A, row, number[(size_t)q], q == p ? 2.1 : -1, INSERT_VALUES));
    for (size_t q = 0; q < 2; ++q) here[2 * (size_t)(row - first) + q] = x[2 * (size_t)p + q];
    OK(VecSetValue(r, row, PetscSinReal((PetscReal)p), INSERT_VALUES));
  }
  OK(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  OK(VecAssemblyBegin(r));
  OK(VecAssemblyEnd(r));
  OK(PCCreate(comm, &pc));
  OK(PCSetType(pc, PCAUXAMG));
  OK(PCAuxAMGSetCellSize(pc, heap));
  OK(PCAuxAMGSetPrecision(pc, TESSERA_PRECISION_DOUBLE));
  OK(PCAuxAMGSetBackend(pc, device ? TESSERA_BACKEND_CUDA : TESSERA_BACKEND_HOST));
  OK(PCSetOperators(pc, A, A));
  OK(PCSetCoordinates(pc, 2, last - first, here.data()));
  OK(PCSetUp(pc));
  EXPECT_GE(((PC_AuxAMG *)pc->data)->in_double->levels()[1].grid.finest, 10);
  OK(PCApply(pc, r, y));
  const PetscScalar *v;
  OK(VecGetArrayRead(y, &v));
  for (PetscInt p = 0; p < n; ++p)
    if (number[(size_t)p] >= first && number[(size_t)p] < last) z[(size_t)p] = v[number[(size_t)p] - first];
  OK(VecRestoreArrayRead(y, &v));
  MPI_Allreduce(MPI_IN_PLACE, z.data(), (int)n, MPI_DOUBLE, MPI_SUM, comm);
  OK(PCDestroy(&pc));
  OK(MatDestroy(&A));
  OK(VecDestroy(&r));
  OK(VecDestroy(&y));
  return z;
}

TEST(AuxAMGMeshes, LeavesDeeperThanExpected)
{
  const std::vector<double> one = apply_with_heaps(PETSC_COMM_SELF, false, false);
  double                    largest = 0;
  for (double v : one) largest = std::max(largest, std::fabs(v));
  for (bool reversed : {false, true}) {
    const std::vector<double> other = apply_with_heaps(PETSC_COMM_WORLD, unit_cuda(), reversed);
    for (size_t p = 0; p < one.size(); ++p) ASSERT_NEAR(other[p], one[p], 1e-9 * largest) << p << (reversed ? ", reversed" : "");
  }
}
