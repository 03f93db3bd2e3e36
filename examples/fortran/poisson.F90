! Poisson's equation by PC rrb, chosen and asked through the module that comes with Tessera; then a batch of small
! complementarity problems.
!
!   f=$(pkg-config --cflags --libs tessera)        # after make install PREFIX=...
!   mpif90 $(pkg-config --variable=fortran tessera) examples/fortran/poisson.F90 $f -o poisson && ./poisson
!
! A PETSc that keeps its Fortran modules elsewhere needs -I for their folder.
#include <petsc/finclude/petscksp.h>
program poisson
  use petscksp
  use tessera
  implicit none
  PetscInt, parameter :: n = 100, m = 8, two = 2, one = 1, sweeps = 100
  Mat                           :: A
  Vec                           :: x, b
  KSP                           :: ksp
  PC                            :: pc
  PetscInt                      :: i, j, row, its, unsolved
  PetscInt, pointer             :: nx(:), ny(:)
  PetscEnum                     :: cycle
  PetscErrorCode                :: ierr
  type(TesseraGridsInfo)        :: info
  character(len=:), allocatable :: failure
  PetscReal                     :: M_k(2, 2, m), q(2, m), y(2, m)

  call PetscInitialize(PETSC_NULL_CHARACTER, ierr)
  call TesseraInitializePackage(ierr)
  call MatCreate(PETSC_COMM_SELF, A, ierr)
  call MatSetSizes(A, n*n, n*n, n*n, n*n, ierr)
  call MatSetType(A, 'seqaij', ierr)
  call MatSetUp(A, ierr)
  do j = 0, n - 1
    do i = 0, n - 1
      row = i + n*j
      call add(row, row, 4.d0)
      if (i > 0)     call add(row, row - 1, -1.d0)
      if (i < n - 1) call add(row, row + 1, -1.d0)
      if (j > 0)     call add(row, row - n, -1.d0)
      if (j < n - 1) call add(row, row + n, -1.d0)
    end do
  end do
  call MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY, ierr)
  call MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY, ierr)
  call MatCreateVecs(A, x, b, ierr)
  call VecSet(b, 1.d0, ierr)

  call KSPCreate(PETSC_COMM_SELF, ksp, ierr)
  call KSPSetOperators(ksp, A, A, ierr)
  call KSPSetType(ksp, 'cg', ierr)
  call KSPGetPC(ksp, pc, ierr)
  call PCSetType(pc, PCRRB, ierr)
  call PCRRBSetGrid(pc, n, n, ierr)
  call PCRRBSetCycle(pc, PC_RRB_CYCLE_V, ierr)
  call KSPSetFromOptions(ksp, ierr)
  call KSPSolve(ksp, b, x, ierr)
  call KSPGetIterationNumber(ksp, its, ierr)

  call PCRRBGetCycle(pc, cycle, ierr)
  call PCRRBGetInfo(pc, info, ierr)
  call PCRRBGetGridSizes(pc, info%grids, nx, ny, ierr)
  call PCRRBGetFailure(pc, failure, ierr)
  if (len(failure) > 0 .or. cycle /= PC_RRB_CYCLE_V) error stop
  print '(a,i0,a,i0,a,i0,a,i0,a,f4.2)', 'rrb: ', its, ' iterations, ', info%grids, ' grids from ', nx(1), ' x ', &
    ny(1), ', operator complexity ', info%operator_complexity

  ! x >= 0, A x + q >= 0, complementary; matrices by columns, as Fortran has them
  do i = 1, m
    M_k(:, :, i) = reshape([2.d0, 1.d0, 0.d0, 1.d0*i], [2, 2])
    q(:, i) = [-2.d0*i, 3.d0]
  end do
  y = 0
  call TesseraLCPSolveBatch(m, two, M_k, q, memory=0, backend=TESSERA_BACKEND_HOST, rtol=1.d-10, sweeps=sweeps, &
    x=y, unsolved=unsolved, ierr=ierr)
  print '(a,i0,a,2f6.2)', 'batch: ', unsolved, ' unsolved; the last answer is ', y(:, m)

  call KSPDestroy(ksp, ierr)
  call MatDestroy(A, ierr)
  call VecDestroy(x, ierr)
  call VecDestroy(b, ierr)
  call PetscFinalize(ierr)
contains
  subroutine add(row, column, value)
    PetscInt    :: row, column
    PetscScalar :: value
    call MatSetValues(A, one, [row], one, [column], [value], INSERT_VALUES, ierr)
  end subroutine
end program
