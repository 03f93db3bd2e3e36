static char help[] = "PC auxamg on meshes of triangles and tetrahedra: iterations and grids do not depend on processes or on the order of the nodes.\n\n";

#include "auxamg_problem.h"

/* The right-hand side by place, so that it is the same in any order */
static PetscErrorCode Fill(Vec b, PetscInt bs, PetscInt dim, PetscInt n, const PetscReal *x)
{
  PetscScalar *v;

  PetscFunctionBeginUser;
  PetscCall(VecGetArray(b, &v));
  for (PetscInt p = 0; p < n; ++p)
    for (PetscInt k = 0; k < bs; ++k) v[bs * p + k] = PetscSinReal(37 * x[dim * p] + 3 * (PetscReal)k) + (dim > 1 ? PetscCosReal(91 * x[dim * p + 1]) : 0);
  PetscCall(VecRestoreArray(b, &v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(KSP ksp, Mat A, Vec b, Vec x, const char *text)
{
  PetscInt           its;
  PetscReal          norm, residual;
  KSPConvergedReason reason;
  Vec                r;

  PetscFunctionBeginUser;
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(MatResidual(A, b, x, r));
  PetscCall(VecNorm(r, NORM_2, &residual));
  PetscCall(VecNorm(b, NORM_2, &norm));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %d iterations, %s%s\n", text, (int)its, KSPConvergedReasons[reason], reason > 0 && residual > 1.01e-6 * norm ? ", but the true residual is larger" : ""));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mesh           mesh;
  ProblemOptions o = {1, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 1, 1, 0, 0, 0, 0, 0, 0, 0};
  MeshType       type = MESH_SQUARE;
  PetscInt       n = 40, nodes = 0;
  PetscReal     *coordinates = NULL;
  PetscBool      again = PETSC_FALSE, symmetric = PETSC_FALSE, permuted = PETSC_FALSE, moved = PETSC_FALSE, hidden;
  char           hidden_type[64];
  Mat            A;
  Vec            x, b;
  KSP            ksp;
  PC             pc;
  MatNullSpace   constants;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-mesh", MeshTypes, (PetscEnum *)&type, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-bs", &o.bs, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-elastic", &o.elastic, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-neumann", &o.neumann, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-one_sided", &o.eliminate, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-shuffle", &o.shuffle, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-anisotropy", &o.anisotropy, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-jump", &o.jump, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cells", &o.cells, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-leak", &o.leak, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-disks", &o.disks, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-moved", &moved, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-shift", &o.shift, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-wind", &o.wind, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-again", &again, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-permuted", &permuted, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-symmetric", &symmetric, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-hidden_type", hidden_type, sizeof(hidden_type), &hidden));
  PetscCall(MeshMake(type, n, &mesh));
  PetscCall(ProblemMake(PETSC_COMM_WORLD, &mesh, &o, &A, &nodes, &coordinates));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(Fill(b, o.bs, mesh.dim, nodes, coordinates));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  if (o.neumann && o.bs == 1 && o.shift == 0) {
    PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &constants));
    PetscCall(MatSetNullSpace(A, constants));
    PetscCall(MatNullSpaceRemove(constants, b));
    PetscCall(MatNullSpaceDestroy(&constants));
  }
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, 1e-6, PETSC_DEFAULT, PETSC_DEFAULT, 200));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, "auxamg"));
  PetscCall(KSPSetFromOptions(ksp));
  if (hidden) PetscCall(KSPSetType(ksp, hidden_type)); /* the PC cannot know it before the solve */
  for (PetscInt p = nodes - 1; permuted && p > 0; --p) { /* coordinates in an order that is not the matrix' */
    const PetscInt other = (PetscInt)((0.5 + 0.5 * Random(p, 5)) * (PetscReal)p);
    for (PetscInt q = 0; q < mesh.dim; ++q) {
      const PetscReal c = coordinates[mesh.dim * p + q];
      coordinates[mesh.dim * p + q]     = coordinates[mesh.dim * other + q];
      coordinates[mesh.dim * other + q] = c;
    }
  }
  PetscCall(PCSetCoordinates(pc, mesh.dim, nodes, coordinates));
  PetscCall(Solve(ksp, A, b, x, MeshTypes[type]));
  if (moved) { /* other nodes are in the disks */
    Mat        B;
    PetscReal *same;
    o.moved = 0.5;
    PetscCall(ProblemMake(PETSC_COMM_WORLD, &mesh, &o, &B, &nodes, &same));
    PetscCall(MatCopy(B, A, SAME_NONZERO_PATTERN));
    PetscCall(MatDestroy(&B));
    PetscCall(PetscFree(same));
    PetscCall(Solve(ksp, A, b, x, "moved"));
  }
  if (again) { /* other values in the same pattern */
    PetscCall(MatScale(A, 3));
    PetscCall(Solve(ksp, A, b, x, "scaled"));
    PetscCall(MatShift(A, 0.1));
    PetscCall(Solve(ksp, A, b, x, "shifted"));
    PetscCall(KSPReset(ksp));
    PetscCall(KSPSetFromOptions(ksp)); /* or some versions of PETSc view it no more */
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(Solve(ksp, A, b, x, "after KSPReset()"));
  }
  if (symmetric) { /* (u, B v) = (v, B u), and twice the same application gives the same bits */
    Vec         u, Bu, Bx;
    PetscScalar uBx, xBu, uBu;
    PetscReal   difference;
    PetscCall(VecDuplicate(b, &u));
    PetscCall(VecDuplicate(b, &Bu));
    PetscCall(VecDuplicate(b, &Bx));
    PetscCall(VecPointwiseMult(u, b, b));
    PetscCall(PCApply(pc, u, Bu));
    PetscCall(PCApply(pc, x, Bx));
    PetscCall(VecDot(Bx, u, &uBx));
    PetscCall(VecDot(Bu, x, &xBu));
    PetscCall(VecDot(Bu, u, &uBu));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "symmetric %s, positive %s\n", PetscAbsScalar(uBx - xBu) < 1e-10 * (PetscAbsScalar(uBx) + PetscAbsScalar(xBu)) ? "yes" : "no", uBu > 0 ? "yes" : "no"));
    PetscCall(PCApply(pc, u, Bx));
    PetscCall(VecAXPY(Bx, -1, Bu));
    PetscCall(VecNorm(Bx, NORM_INFINITY, &difference));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "reproducible %s\n", difference == 0 ? "yes" : "no"));
    PetscCall(VecDestroy(&u));
    PetscCall(VecDestroy(&Bu));
    PetscCall(VecDestroy(&Bx));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(PetscFree(coordinates));
  PetscCall(MeshDestroy(&mesh));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: {{1 2 3 4}}
    args: -ksp_view
    filter: grep -E "iterations,|mesh: |grid [0-9]|exactly" | sed -e "s|, largest eigenvalue.*||"
    test:
      suffix: square
      args: -shuffle {{0 1}}
    test:
      suffix: disk
      args: -mesh disk
    test:
      suffix: graded
      args: -mesh graded -n 60 -shuffle {{0 1}}
    test:
      suffix: cube
      args: -mesh cube -n 12
    test: # gaps between fins are few cells of grids wide: of the first one, or of the second, whose mesh all processes have
      suffix: fins
      args: -mesh fins -n 20
    test:
      suffix: fins_jump
      nsize: {{1 3}}
      args: -mesh fins -n 16 -jump 1e4
    test:
      suffix: fins_second
      args: -mesh fins -n 28
    test:
      suffix: cube_cells
      args: -mesh cube -n 12 -pc_auxamg_cell_size 8
    test: # the program asks for traps of floating point
      suffix: traps
      args: -mesh cube -n 12 -fp_trap
      output_file: output/auxamg_pc_cube.out
    test:
      suffix: balls
      args: -mesh balls -n 20
    test:
      suffix: elastic
      args: -mesh disk -n 24 -bs 2 -elastic
    test: # stiff bodies, the larger ones than cells of the second grid; taken for one with what is around them 163 iterations
      suffix: bodies
      args: -mesh disk -n 90 -bs 2 -elastic -disks 5 -jump 1e4 -shuffle {{0 1}}
    test: # that become smaller than cells
      suffix: bodies_small
      args: -mesh square -n 90 -bs 2 -elastic -disks 12 -jump 1e4
    test: # that are too many for functions of their own
      suffix: bodies_many
      args: -mesh square -n 90 -bs 2 -elastic -disks 30 -jump 1e2
    test:
      suffix: bodies_cube
      args: -mesh cube -n 16 -bs 3 -elastic -disks 3 -jump 1e4
    test: # the grids are made anew
      suffix: bodies_moved
      args: -mesh square -n 60 -bs 2 -elastic -disks 5 -jump 1e4 -moved
    test:
      suffix: comb
      args: -mesh comb -n 70 -shuffle {{0 1}} -pc_auxamg_cycle amli
    test:
      suffix: wall
      args: -mesh wall -n 60 -shuffle {{0 1}}
    test:
      suffix: wall_again
      args: -mesh wall -n 60 -again
    test:
      suffix: flat
      args: -mesh flat -n 80 -shuffle {{0 1}}
    test:
      suffix: comb_elastic
      args: -mesh comb -n 30 -bs 2 -elastic -pc_auxamg_cycle amli
    test: # found slow, on the host: V-cycles take 162
      suffix: amli
      args: -mesh comb -n 100 -bs 2 -elastic -pc_auxamg_precision double -pc_auxamg_backend host
    test:
      suffix: amli_scalar
      args: -mesh comb -n 90 -pc_auxamg_backend host
    test: # the trial finds a least eigenvalue between 0.3 and 0.4: V-cycles take 14
      suffix: amli_above
      args: -mesh comb -n 110 -pc_auxamg_backend host

  test: # the first tree has too many leaves; no M-matrix, so degree 3; two coarse grids, so no AMLI-cycle
    suffix: spots
    nsize: {{1 2 3 4}}
    args: -mesh spots -n 20 -shuffle {{0 1}} -ksp_view
    filter: grep -E "iterations,|degree|mesh: |grid [0-9]|exactly" | sed -e "s|, largest eigenvalue.*||"

  # cell Peclet numbers 0.1 and 1 on the mesh, then 5
  testset:
    nsize: {{1 2 3 4}}
    args: -ksp_view -ksp_type gmres -ksp_pc_side right -ksp_norm_type unpreconditioned -shuffle {{0 1}}
    filter: grep -E "iterations,|degree|convection|is not symmetric|mesh: |grid [0-9]|exactly" | sed -e "s|, largest eigenvalue.*||"
    test:
      suffix: convection
      args: -n 100 -wind {{20 200}separate output}
    test:
      suffix: convection_again
      args: -n 60 -wind 200 -again
    test:
      suffix: convection_cube
      args: -mesh cube -n 20 -wind 40
    test:
      suffix: convection_blocks
      args: -n 60 -bs 2 -wind 200
    test: # beside diagonal entries a million times as large; taken for symmetric it is 17 iterations
      suffix: convection_jumps
      args: -n 80 -jump 1e6 -wind 200

  test:
    suffix: convection_strong
    nsize: {{1 3}}
    args: -ksp_type gmres -ksp_pc_side right -n 100 -wind 1000
    filter: sed -e "s|[0-9][0-9]* iterations|iterations|"

  testset:
    nsize: {{1 2 3 4}}
    args: -ksp_view -pc_auxamg_variant aggregation -shuffle {{0 1}}
    filter: grep -E "iterations,|uniform grids|mesh: |grid [0-9]|exactly"
    test:
      suffix: paper

  testset:
    nsize: {{1 4}}
    args: -ksp_view -shuffle
    filter: grep -E "iterations,|nodes in a cell|mesh: |grid [0-9]|exactly|symmetric|reproducible" | sed -E -e "s|, largest eigenvalue.*||; s/^graded: (49|51) iterations/graded: 50 iterations/"
    test:
      suffix: paper_graded
      args: -mesh graded -n 60 -pc_auxamg_variant aggregation
    test:
      suffix: paper_cube
      args: -mesh cube -n 12 -pc_auxamg_variant aggregation -again
    test:
      suffix: paper_elastic
      args: -mesh disk -n 16 -bs 2 -elastic -pc_auxamg_variant aggregation
    test:
      suffix: paper_v
      args: -mesh disk -n 24 -bs 6 -pc_auxamg_variant aggregation -pc_auxamg_cycle v -symmetric
    test:
      suffix: paper_gs
      args: -mesh disk -pc_auxamg_variant aggregation -pc_auxamg_smoother gs -pc_auxamg_cycle w -pc_auxamg_smoother_degree 2 -symmetric
    test:
      suffix: paper_inner
      args: -mesh disk -pc_auxamg_variant aggregation -pc_auxamg_cycle_inner 4 -pc_auxamg_cell_size 6 -neumann
    test:
      suffix: gs
      args: -mesh graded -n 60 -bs 2 -pc_auxamg_smoother gs -symmetric
    test:
      suffix: kcycle
      args: -mesh disk -pc_auxamg_cycle k -pc_auxamg_single_size 0

  # the smallest radius is 2^-105 of the largest: what no cell divides must be smoothed all the same
  test:
    suffix: too_graded
    nsize: {{1 3}}
    args: -mesh graded -n 317 -pc_auxamg_smoother_degree 4 -ksp_view
    filter: grep -E "iterations,|cannot be split" | sed -e "s|: [0-9][0-9]* iterations|: iterations|" -e "s|[0-9][0-9]* nodes|nodes|"

  # coarse grids see the parts of the mesh, or lose them
  testset:
    nsize: {{1 3}}
    args: -ksp_view -jump 1e4
    filter: grep -E "iterations,|nodes in a cell|functions of each|symmetric yes|reproducible"
    test:
      suffix: visits
      args: -n 100 -pc_auxamg_single_size 0
    test:
      suffix: visits_comb
      args: -mesh comb -n 60 -pc_auxamg_precision double -symmetric -again
    test: # beside a null space
      suffix: visits_neumann_double
      args: -mesh comb -n 60 -neumann -pc_auxamg_precision double

  # the same in single precision, whose rounding takes two or three iterations
  test:
    suffix: visits_neumann
    nsize: {{1 3}}
    args: -ksp_view -jump 1e4 -mesh comb -n 60 -neumann -pc_auxamg_single_size 0
    filter: grep -E "iterations,|nodes in a cell|functions of each" | sed -e "s/: 1[567] iterations/: 15 to 17 iterations/"

  # 0.4 % of the nodes have neighbors in no leaf of theirs: no vertex has several functions
  test:
    suffix: large
    args: -n 700 -ksp_view
    filter: grep -E "iterations,|grid 1"  | sed -e "s|, largest eigenvalue.*||"

  # in the view and in -info
  test:
    suffix: permuted
    args: -mesh cube -n 16 -permuted -ksp_max_it 2 -ksp_view -info
    filter: grep "are the coordinates" | sed -e "s|.*operator complexity [0-9.]*|operator complexity|"

  # rounded to single precision, these would be singular: 14, 32 and 12 iterations
  testset:
    nsize: {{1 3}}
    args: -ksp_view -neumann
    filter: grep -E "iterations,|nodes in a cell"
    test:
      suffix: nearly_singular
      args: -n 20 -shift 1e-4 -pc_auxamg_single_size {{0 25000}}
    test:
      suffix: nearly_singular_elastic
      args: -n 30 -bs 2 -elastic -shift 1e-5
    test:
      suffix: nearly_singular_balls
      args: -mesh balls -n 6 -shift 1e-2

  # blocks of whole balls are singular but for the shift, in single precision to rounding
  test:
    suffix: paper_single
    nsize: {{1 3}}
    args: -mesh balls -n 4 -neumann -shift 1e-3 -pc_auxamg_variant aggregation -pc_auxamg_coarse_size 4 -pc_auxamg_precision single
    filter: sed -e "s|[0-9][0-9]* iterations|iterations|"

  testset:
    nsize: {{1 3}}
    args: -ksp_view
    filter: grep -E "iterations,|mesh: |grid [0-9]|exactly|stretched|smoothed|symmetric|reproducible" | sed -e "s|, largest eigenvalue.*||"
    test:
      suffix: edge
      args: -mesh edge -n 50
    test:
      suffix: line
      args: -mesh line -n 3000
    test:
      suffix: layer
      args: -mesh layer -n 100
    test:
      suffix: linear_3d
      args: -mesh cube -n 12 -pc_auxamg_interpolation linear
    test:
      suffix: elastic_3d
      args: -mesh cube -n 8 -bs 3 -elastic
    test:
      suffix: blocks
      args: -n 24 -bs 4
    test:
      suffix: blocks_5
      args: -n 16 -bs 5
    test:
      suffix: blocks_6
      args: -n 16 -bs 6
    test:
      suffix: anisotropy
      args: -anisotropy 0.1
    test:
      suffix: jump
      args: -n 60 -jump 1e6 -symmetric -pc_auxamg_precision double
    test:
      suffix: jump_off
      args: -n 60 -jump 1e6 -pc_auxamg_filter off
    test:
      suffix: pockets
      nsize: {{1 3}}
      args: -n 52 -jump -1e-4 -pc_auxamg_single_size {{0 25000}}
    test:
      suffix: pockets_thin
      nsize: {{1 3}}
      args: -n {{48 64}separate output} -jump -1e-4 -pc_auxamg_single_size {{0 25000}}
    test:
      suffix: pockets_3d
      nsize: {{1 3}}
      args: -mesh cube -n 28 -jump -1e-5
    test: # parts at the boundary, whose constants have much energy
      suffix: cells_3d
      nsize: {{1 3}}
      args: -mesh cube -n 19 -cells 3 -jump 1e-4
    test: # barriers with holes
      suffix: leaks
      nsize: {{1 3 4}}
      args: -mesh cube -n 19 -cells 3 -jump 1e-4 -leak 0.02
    test: # barriers with open ends
      suffix: open
      nsize: {{1 3}}
      args: -mesh {{square disk}separate output} -n 100 -cells -6 -jump 1e-5 -pc_auxamg_single_size {{0 25000}}
    test:
      suffix: leaks_pockets
      nsize: {{1 2}}
      args: -mesh cube -n 28 -jump -1e-5 -leak 0.005
    test:
      suffix: comb_processes
      nsize: {{1 3 5}}
      args: -mesh comb -n 60 -shuffle 1 -pc_auxamg_cycle amli
    test:
      suffix: jump_cube
      nsize: {{1 3}}
      args: -mesh cube -n 14 -jump 1e4 -pc_auxamg_precision double
    test: # degree 2 in place of 4
      suffix: jump_cube_off
      args: -mesh cube -n 14 -jump 1e4 -pc_auxamg_precision double -pc_auxamg_filter off
    test:
      suffix: jump_v
      args: -n 60 -jump 1e6 -pc_auxamg_cycle v -pc_auxamg_single_size 0
    test:
      suffix: neumann
      args: -mesh disk -n 30 -neumann -pc_auxamg_single_size 0
    test:
      suffix: one_sided
      args: -one_sided
    test:
      suffix: again
      args: -mesh disk -again -symmetric -pc_auxamg_precision double
    test:
      suffix: again_3d
      args: -mesh cube -n 8 -bs 3 -elastic -again -symmetric -pc_auxamg_precision double
    test:
      suffix: single
      args: -mesh graded -n 60 -pc_auxamg_precision single
    test:
      suffix: jacobi
      args: -mesh disk -pc_auxamg_smoother jacobi -pc_auxamg_single_size 0
    test:
      suffix: wcycle
      args: -mesh disk -pc_auxamg_cycle w -pc_auxamg_smoother_degree 1 -symmetric -pc_auxamg_precision double
    test: # a cycle with weights is symmetric and positive, too
      suffix: amli_symmetric
      args: -mesh comb -n 40 -bs 2 -elastic -pc_auxamg_cycle amli -symmetric -pc_auxamg_precision double
    test:
      suffix: degrees
      args: -mesh disk -pc_auxamg_smoother_degree {{1 3 4 6}separate output} -pc_auxamg_single_size 0
    test:
      suffix: sizes
      args: -mesh disk -pc_auxamg_cell_size 30 -pc_auxamg_coarse_size 20
    test:
      suffix: levels
      args: -mesh disk -n 20 -pc_auxamg_levels {{1 2 3}separate output} -pc_auxamg_coarse_size 50 -pc_auxamg_precision double

  test:
    suffix: krylov
    args: -n 150 -ksp_type {{cg fcg pipefcg fgmres pipefgmres gcr pipegcr stcg nash richardson chebyshev gmres lgmres dgmres bcgs tfqmr cgs pipecg groppcg}} -pc_auxamg_single_size 0
    filter: sed -e "s|: [0-9]* iterations|: iterations|"
    output_file: output/auxamg_pc_krylov.out

  test:
    suffix: krylov_set
    args: -n 150 -hidden_type {{cg gmres richardson}separate output} -ksp_view -pc_auxamg_single_size 0
    filter: grep -E "precision|iterations," | sed -e "s|.*degree|degree|"

TEST*/
