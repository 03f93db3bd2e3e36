! What examples/fortran does not call: texts, truth values, structures with both, and objects that C creates.
#include <petsc/finclude/petscksp.h>
#include <petsc/finclude/petscsnes.h>
#include <petsc/finclude/petsctao.h>
program calls
  use petscksp
  use petscsnes
  use petsctao
  use tessera
  implicit none
  PetscInt, parameter :: n = 4, none = 0
  PC                            :: pc, mesh
  SNES                          :: snes, inner
  Tao                           :: solver
  Mat                           :: A
  Vec                           :: b, x, lower
  PetscBool                     :: trial
  PetscInt                      :: i, levels
  PetscReal                     :: omega
  PetscErrorCode                :: ierr
  SNESType                      :: name
  type(SNESVIPGSCertificate)    :: certificate
  character(len=:), allocatable :: file

  call PetscInitialize(PETSC_NULL_CHARACTER, ierr)
  call TesseraInitializePackage(ierr)
  call PCCreate(PETSC_COMM_SELF, pc, ierr)
  call PCSetType(pc, PCRRB, ierr)
  call PCRRBGetTrial(pc, trial, ierr)
  if (.not. trial) error stop 'a truth value'
  trial = .false.
  call PCRRBSetTrial(pc, trial, ierr)
  trial = .true.
  call PCRRBGetTrial(pc, trial, ierr)
  if (trial) error stop 'a truth value that was set'
  call PCRRBSetOmega(pc, 0.75d0, ierr)
  call PCRRBGetOmega(pc, omega, ierr)
  if (omega /= 0.75d0) error stop 'a number'
  levels = 6
  call PCRRBSetLevels(pc, levels, ierr)
  levels = 0
  call PCRRBGetLevels(pc, levels, ierr)
  if (levels /= 6) error stop 'an integer'
  call PCCreate(PETSC_COMM_SELF, mesh, ierr)
  call PCSetType(mesh, PCAUXAMG, ierr)
  call PCAuxAMGSetCoordinatesFile(mesh, 'points.h5:/x  ', ierr)
  call PCAuxAMGGetCoordinatesFile(mesh, file, ierr)
  if (file /= 'points.h5:/x' .or. len(file) /= 12) error stop 'a text'

  call MatCreate(PETSC_COMM_SELF, A, ierr)
  call MatSetSizes(A, n, n, n, n, ierr)
  call MatSetType(A, 'seqdense', ierr)
  call MatSetUp(A, ierr)
  do i = none, n - 1
    call MatSetValue(A, i, i, 2.d0, INSERT_VALUES, ierr)
  end do
  call MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY, ierr)
  call MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY, ierr)
  call MatCreateVecs(A, x, b, ierr)
  call VecDuplicate(x, lower, ierr)
  call VecSet(b, -3.d0, ierr)
  call VecSet(lower, 1.d0, ierr)
  call SNESVIPGSCreateLCP(A, b, lower, PETSC_NULL_VEC, snes, ierr)
  call VecSet(x, 0.d0, ierr)
  call SNESSolve(snes, PETSC_NULL_VEC, x, ierr)
  call SNESVIPGSGetCertificate(snes, certificate, ierr)
  if (certificate%reason /= SNES_VIPGS_CONVERGED .or. certificate%fell_back) error stop 'a structure'
  if (abs(certificate%gap) > 1.d-10 .or. certificate%primal /= 0) error stop 'numbers of a structure'

  call TaoCreate(PETSC_COMM_SELF, solver, ierr)
  call TaoSetType(solver, TAOVIPGS, ierr)
  call TaoVIPGSGetSNES(solver, inner, ierr)
  call SNESGetType(inner, name, ierr)
  if (name /= SNESVIPGS) error stop 'an object of another one'
  print '(a)', 'all calls agree'
  call PCDestroy(pc, ierr)
  call PCDestroy(mesh, ierr)
  call SNESDestroy(snes, ierr)
  call TaoDestroy(solver, ierr)
  call MatDestroy(A, ierr)
  call VecDestroy(b, ierr)
  call VecDestroy(x, ierr)
  call VecDestroy(lower, ierr)
  call PetscFinalize(ierr)
end program
