// What differs between versions of PETSc, 3.18 to the current one (compat_snes.h: of SNES and Tao).
#pragma once
#include <petscdevice.h>
#include <petscdm.h>
#include <petscsys.h>

#if PETSC_VERSION_LT(3, 18, 0)
  #error "Tessera needs PETSc 3.18 or newer"
#endif
#if defined(PETSC_USE_COMPLEX)
  #error "Tessera needs a PETSc with real scalars: this one is configured with complex scalars"
#endif
#if !defined(PETSC_USE_REAL_DOUBLE)
  #error "Tessera needs a PETSc in double precision: this one is configured with another precision"
#endif

#if PETSC_VERSION_LT(3, 19, 0)
  #define PETSC_SUCCESS ((PetscErrorCode)0)
#endif
#if PETSC_VERSION_LT(3, 23, 0) // PetscOptionItems became a pointer type
using CompatOptionItems = PetscOptionItems *;
#else
using CompatOptionItems = PetscOptionItems;
#endif
#if PETSC_VERSION_LT(3, 20, 0)
  #define PetscAssertPointer(pointer, argument) PetscValidPointer(pointer, argument)
#endif
// Are the rows of a MATAIJCUSPARSE without gaps, in PetscInt, to be had?
#define COMPAT_CUSPARSE_ROWS (PetscDefined(HAVE_CUDA) && PETSC_VERSION_GE(3, 24, 0))
// Does it refuse to give them at all?
#define COMPAT_CUSPARSE_HIDES_ROWS \
  (PetscDefined(HAVE_CUDA) && PetscDefined(USE_64BIT_INDICES) && PETSC_VERSION_LT(3, 24, 0))

// The CUDA stream of PETSc's current device context; the default stream where there is none.
static inline PetscErrorCode CompatCurrentStream(void **stream)
{
  PetscFunctionBegin;
  *stream = NULL;
#if defined(PETSC_HAVE_CUDA) && PETSC_VERSION_GE(3, 20, 0)
  PetscDeviceContext context;
  PetscDeviceType    type;
  void              *handle; // points to the stream
  PetscCall(PetscDeviceContextGetCurrentContext(&context));
  PetscCall(PetscDeviceContextGetDeviceType(context, &type));
  if (type == PETSC_DEVICE_CUDA) {
    PetscCall(PetscDeviceContextGetStreamHandle(context, &handle));
    *stream = *(void **)handle;
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The rows of a DM that SNES vinewtonrsls works on, which are those of its matrix then; nullptr: all. PETSc's
// DMSetVI() composes a container with them, whose structure has begun like this in all versions.
static inline PetscErrorCode CompatInactive(DM dm, IS *rows)
{
  struct Reduced {
    PetscInt n;
    IS       inactive;
  } *reduced;
  PetscContainer composed = NULL;

  PetscFunctionBegin;
  *rows = NULL;
  if (dm) PetscCall(PetscObjectQuery((PetscObject)dm, "VI", (PetscObject *)&composed));
  if (composed) {
    PetscCall(PetscContainerGetPointer(composed, (void **)&reduced));
    *rows = reduced->inactive;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// A container that deletes what it holds.
template <class T> PetscErrorCode CompatContainer(MPI_Comm comm, T *what, PetscContainer *container)
{
  PetscFunctionBegin;
  PetscCall(PetscContainerCreate(comm, container));
  PetscCall(PetscContainerSetPointer(*container, what));
#if PETSC_VERSION_GE(3, 23, 0)
  PetscCall(PetscContainerSetCtxDestroy(*container, [](auto p) -> PetscErrorCode {
    delete *(T **)p;
    return PETSC_SUCCESS;
  }));
#else
  PetscCall(PetscContainerSetUserDestroy(*container, [](void *p) -> PetscErrorCode {
    delete (T *)p;
    return PETSC_SUCCESS;
  }));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

// KSP's least number of iterations, where it has one.
template <class K> auto CompatMinIt(K ksp, int) -> decltype(ksp->min_it) { return ksp->min_it; }
template <class K> int  CompatMinIt(K, long) { return 0; }
template <class K> auto CompatKSPMinIt(K ksp) { return CompatMinIt(ksp, 0); }

// The program's PCSetPreSolve(), where PETSc has it: PETSc itself leaves it out for types with a presolve of their own.
template <class P, class K> auto CompatPreSolve(P pc, K ksp, int) -> decltype(pc->presolve(pc, ksp))
{
  return pc->presolve ? pc->presolve(pc, ksp) : PETSC_SUCCESS;
}
template <class P, class K> PetscErrorCode CompatPreSolve(P, K, long) { return PETSC_SUCCESS; }
template <class P, class K> PetscErrorCode CompatUserPreSolve(P pc, K ksp) { return CompatPreSolve(pc, ksp, 0); }

// The array of a dense matrix where it lies; PETSc 3.18 gives that on the host only.
template <class M> auto CompatDenseRead(M X, const PetscScalar **a, PetscMemType *where, int)
  -> decltype(MatDenseGetArrayReadAndMemType(X, a, where))
{
  return MatDenseGetArrayReadAndMemType(X, a, where);
}
template <class M> auto CompatDenseRead(M X, const PetscScalar **a, PetscMemType *, long)
  -> decltype(MatDenseGetArrayRead(X, a))
{
  return MatDenseGetArrayRead(X, a);
}
template <class M> auto CompatDenseReadDone(M X, const PetscScalar **a, int)
  -> decltype(MatDenseRestoreArrayReadAndMemType(X, a))
{
  return MatDenseRestoreArrayReadAndMemType(X, a);
}
template <class M> auto CompatDenseReadDone(M X, const PetscScalar **a, long)
  -> decltype(MatDenseRestoreArrayRead(X, a))
{
  return MatDenseRestoreArrayRead(X, a);
}
template <class M> auto CompatDenseWrite(M Y, PetscScalar **a, PetscMemType *where, int)
  -> decltype(MatDenseGetArrayWriteAndMemType(Y, a, where))
{
  return MatDenseGetArrayWriteAndMemType(Y, a, where);
}
template <class M> auto CompatDenseWrite(M Y, PetscScalar **a, PetscMemType *, long)
  -> decltype(MatDenseGetArrayWrite(Y, a))
{
  return MatDenseGetArrayWrite(Y, a);
}
template <class M> auto CompatDenseWriteDone(M Y, PetscScalar **a, int)
  -> decltype(MatDenseRestoreArrayWriteAndMemType(Y, a))
{
  return MatDenseRestoreArrayWriteAndMemType(Y, a);
}
template <class M> auto CompatDenseWriteDone(M Y, PetscScalar **a, long) -> decltype(MatDenseRestoreArrayWrite(Y, a))
{
  return MatDenseRestoreArrayWrite(Y, a);
}

// For compat_snes.h
#define COMPAT_SNES_CONVERGED      PETSC_VERSION_GE(3, 20, 0) // SNESConverged() instead of the test alone
#define COMPAT_SNES_TOLERANCES \
  PETSC_VERSION_GE(3, 22, 0) // a default of SNES has a mark of its own where the user has set it
#define COMPAT_PARAMETERS          PETSC_VERSION_GE(3, 23, 0) // SNESParametersInitialize() and Tao's
#define COMPAT_FUNCTION_DOMAIN     PETSC_VERSION_GE(3, 25, 0) // other names for what is wrong with a function
