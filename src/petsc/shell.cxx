#include "petsc/shell.hpp"
#include "exec/buffer.hpp"
#include "exec/peers.hpp"
#include <cstdio>
#include <cstdlib>
#ifdef _OPENMP
  #include <omp.h>
#endif
#ifdef __linux__
  #include <sys/resource.h>
  #include <unistd.h>
#endif

namespace tessera {

#ifdef __linux__
// Bytes that this process may still take.
static double FreeMemory()
{
  char          line[128];
  double        kilobytes, least = 1e300;
  long          pages;
  struct rlimit limit;
  if (FILE *f = fopen("/proc/meminfo", "r")) {
    while (fgets(line, sizeof(line), f))
      if (sscanf(line, "MemAvailable: %lf", &kilobytes) == 1) least = 1024 * kilobytes;
    fclose(f);
  }
  if (FILE *f = fopen("/proc/self/statm", "r")) {
    if (fscanf(f, "%ld", &pages) == 1 && !getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur != RLIM_INFINITY)
      least = PetscMin(least, (double)limit.rlim_cur - (double)pages * (double)sysconf(_SC_PAGESIZE));
    fclose(f);
  }
  return PetscMax(least, 0);
}
#endif

PetscErrorCode CheckHostMemory(PetscObject solver, const char *who, size_t bytes)
{
  PetscFunctionBegin;
#ifdef __linux__
  int    rank, size, first;
  double megabytes[2] = {(double)bytes * 1e-6, 0};
  bool   fits         = true;
  try {
    Buffer<char> all(bytes); // large ones are not touched
  } catch (const std::bad_alloc &) {
    fits         = false;
    megabytes[1] = FreeMemory() * 1e-6;
  }
  PetscCall(FirstProcess(PetscObjectComm(solver), !fits, &first, &rank, &size));
  if (first == size) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Bcast(megabytes, 2, MPI_DOUBLE, first, PetscObjectComm(solver)));
  SETERRQ(PetscObjectComm(solver), PETSC_ERR_MEM,
          "%s: out of memory: at least %.1f MB wanted, %.1f MB free (process %d of %d)", who, megabytes[0],
          megabytes[1], first, size);
#else
  (void)solver, (void)who, (void)bytes;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

int HostThreads()
{
#ifdef _OPENMP
  if (getenv("OMP_NUM_THREADS")) return omp_get_max_threads();
#endif
  return 1;
}

PetscErrorCode FailSetUp(PC pc, const char *who, const char *failure, PCFailedReason reason)
{
  PetscFunctionBegin;
  PetscCheck(!pc->erroriffailure, PetscObjectComm((PetscObject)pc),
             reason == PC_FACTOR_OTHER ? PETSC_ERR_FP : PETSC_ERR_MAT_LU_ZRPVT, "%s: %s", who, failure);
  PetscCall(PetscInfo(pc, "%s: %s\n", who, failure));
  pc->failedreason = reason;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode RestorePeers(PetscObject solver, Peers *peers)
{
  PetscFunctionBegin;
  if (!peers) PetscFunctionReturn(PETSC_SUCCESS);
  CollectiveErrors together(PetscObjectComm(solver));
  peers->restore(PetscObjectComm(solver)); // errors are kept
  PetscCall(together.End(PETSC_SUCCESS, Space::cuda));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ViewMessages(PetscObject solver, PetscViewer viewer, TesseraBackend backend, bool directly)
{
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm(solver), &size));
  if (backend == TESSERA_BACKEND_CUDA && size > 1)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  messages between devices go %s\n",
                                     directly ? "directly into each other's memory" : "through the host"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CheckSetUp(PC pc, const char *who, const char *what, bool failed, const char *failure, bool current)
{
  PetscFunctionBegin;
  PetscCheck(!failed, PetscObjectComm((PetscObject)pc), PETSC_ERR_ORDER, "%s has no %s, as its setup has failed: %s",
             who, what, failure);
  PetscCheck(current, PetscObjectComm((PetscObject)pc), PETSC_ERR_ORDER,
             "%s has no %s yet, or its options have changed since they were made: call PCSetUp() first", who, what);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode NothingToSolve(PC pc, bool *nothing)
{
  PetscInt M = -1, N = -1;

  PetscFunctionBegin;
  if (pc->pmat) PetscCall(MatGetSize(pc->pmat, &M, &N));
  *nothing = !M && !N;
  if (*nothing) pc->failedreason = PC_NOERROR;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode RefuseApplication(PC pc, const char *who, bool ready, bool failed, Vec y, bool *refused)
{
  PetscInt N;

  PetscFunctionBegin;
  PetscCall(VecGetSize(y, &N));
  *refused = !N;
  if (!N) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(ready, PetscObjectComm((PetscObject)pc), PETSC_ERR_ORDER, "%s: the last setup ended with an error", who);
  *refused = failed;
  if (failed) PetscCall(VecSet(y, PETSC_INFINITY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera
