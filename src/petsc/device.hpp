// What PETSc and the device tell each other: errors, the stream, the log.
#pragma once
#include "exec/comm.hpp"
#include "exec/device.hpp"
#include "petsc/compat.h"
#include <cmath>
#include <new>
#include <type_traits>
#include <petscpc.h>
#include <tessera.h>

namespace tessera {

// The device of this process, before its first use: PETSc with CUDA takes the one that its options say, without CUDA
// the number of the process says which. Memory and kernels of Tessera and of PETSc have to be on the same one.
PetscErrorCode ChooseDevice();

// The error of a backend that the user wants and that cannot be had here. Collective.
PetscErrorCode CheckBackend(PetscObject object, const char *option, TesseraBackend backend);

// Inside a catch block: the exception as an error of PETSc's.
inline PetscErrorCode Caught()
{
  PetscFunctionBegin;
  try {
    throw;
  } catch (const DeviceMemoryError &e) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MEM, "%s", e.what());
  } catch (const DeviceError &e) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_GPU, "%s", e.what());
  } catch (const std::bad_alloc &) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MEM, "out of memory");
  } catch (const std::exception &e) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_LIB, "%s", e.what());
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// PetscCallCXX() with the error codes above.
#define TesseraCallCXX(...) \
  do { \
    try { \
      __VA_ARGS__; \
    } catch (...) { \
      PetscCall(tessera::Caught()); \
    } \
  } while (0)

// Where the program asks for traps of floating point (-fp_trap) there are none here: in loops that become vectors the
// lanes that a condition masks off still take part in the comparison. What is not finite is found in the values.
class TrapsOff {
public:
  explicit TrapsOff(bool off = true) : off_(off && !PetscFPTrapPush(PETSC_FP_TRAP_OFF)) { }
  ~TrapsOff()
  {
    if (off_) (void)PetscFPTrapPop();
  }
  TrapsOff(const TrapsOff &) = delete;
  TrapsOff &operator=(const TrapsOff &) = delete;

private:
  bool off_;
};
// Traps as they were before TrapsOff, for functions of the program.
class TrapsAsBefore {
public:
  TrapsAsBefore() { (void)PetscFPTrapPop(); }
  ~TrapsAsBefore() { (void)PetscFPTrapPush(PETSC_FP_TRAP_OFF); }
  TrapsAsBefore(const TrapsAsBefore &) = delete;
  TrapsAsBefore &operator=(const TrapsAsBefore &) = delete;
};

// A method of PETSc's that lets no C++ exception out.
template <auto F, class Solver, class... Arguments> PetscErrorCode NoThrow(Solver solver, Arguments... arguments)
{
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  {
    const TrapsOff traps(std::is_same_v<Solver, PC> || std::is_same_v<Solver, KSP>);
    TesseraCallCXX(ierr = F(solver, arguments...));
  }
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// *who: the first process that says `mine`, or the number of processes where none does. Collective.
inline PetscErrorCode FirstProcess(MPI_Comm comm, bool mine, int *who, int *rank, int *size)
{
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, size));
  PetscCallMPI(MPI_Comm_rank(comm, rank));
  const int me = mine ? *rank : *size;
  PetscCallMPI(MPI_Allreduce(&me, who, 1, MPI_INT, MPI_MIN, comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// What the first process that has a text to say says; *who is its number, or that of the processes where none has.
// Collective.
inline PetscErrorCode FirstText(MPI_Comm comm, const char *mine, char text[256], int *who)
{
  int size, rank;

  PetscFunctionBegin;
  PetscCall(FirstProcess(comm, mine && *mine, who, &rank, &size));
  if (*who == size) PetscFunctionReturn(PETSC_SUCCESS);
  if (rank == *who) PetscCall(PetscStrncpy(text, mine, 256));
  PetscCallMPI(MPI_Bcast(text, 256, MPI_CHAR, *who, comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Collective: while such an object lives an error of one process's device is kept (exec/device.hpp: the device does
// nothing from there on, messages go on), and End() raises it on all processes. A process that returned at once would
// leave the others waiting for its messages.
class CollectiveErrors {
public:
  explicit CollectiveErrors(MPI_Comm comm) : comm_(comm)
  {
    (void)MPI_Comm_size(comm, &size_);
    if (size_ > 1) within_ = device::keep_errors(true);
  }
  ~CollectiveErrors() { Close(); }
  CollectiveErrors(const CollectiveErrors &)            = delete;
  CollectiveErrors &operator=(const CollectiveErrors &) = delete;
  // ierr: how what went before has ended here. Collective where `space` is the device, which all processes know alike.
  PetscErrorCode End(PetscErrorCode ierr, Space space)
  {
    char text[256];
    int  who;

    PetscFunctionBegin;
    Close();
    if (size_ > 1 && space == Space::cuda) {
      const device::Kept error  = device::take_error();
      int                memory = error.memory;
      PetscCall(FirstText(comm_, error.text.c_str(), text, &who));
      if (who < size_) {
        PetscCallMPI(MPI_Bcast(&memory, 1, MPI_INT, who, comm_));
        SETERRQ(PETSC_COMM_SELF, memory ? PETSC_ERR_MEM : PETSC_ERR_GPU, "process %d: %s", who, text);
      }
    }
    PetscCall(ierr);
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  bool Within() const { return within_; } // another one's life

private:
  void Close()
  {
    if (size_ > 1 && !closed_) (void)device::keep_errors(false);
    closed_ = true;
  }
  MPI_Comm comm_;
  int      size_   = 1;
  bool     within_ = false, closed_ = false;
};

// ierr of what each process does for itself: an error of one is told to the others, which would wait for it.
// Collective.
inline PetscErrorCode SameError(MPI_Comm comm, PetscErrorCode ierr)
{
  int who, rank, size, code = (int)ierr;

  PetscFunctionBegin;
  PetscCall(FirstProcess(comm, code != 0, &who, &rank, &size));
  if (who < size) {
    PetscCallMPI(MPI_Bcast(&code, 1, MPI_INT, who, comm));
    PetscCheck(ierr, PETSC_COMM_SELF, (PetscErrorCode)code,
               "process %d ended with an error: see its message", who);
  }
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The end of an application whose device, or another process', has failed. Processes do not agree on errors of an
// application, which would cost a reduction. The part of one that has failed is no number: this ends the iteration of
// every KSP, which then asks all processes for the reason. within: another CollectiveErrors raises the error. Without y
// the caller sets its numbers.
inline PetscErrorCode FailApplication(MPI_Comm comm, bool within, const char *who, PCFailedReason *reason)
{
  PetscMPIInt rank;

  PetscFunctionBegin;
  if (within) PetscFunctionReturn(PETSC_SUCCESS);
  *reason = PC_FACTOR_OTHER;
  if (!device::failed()) PetscFunctionReturn(PETSC_SUCCESS);
  const device::Kept error = device::take_error();
  if (error.memory) *reason = PC_FACTOR_OUTMEMORY;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(PetscFPrintf(PETSC_COMM_SELF, PETSC_STDERR, "%s: process %d: %s\n", who, rank, error.text.c_str()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

inline PetscErrorCode FailApplication(MPI_Comm comm, Vec y, bool within, const char *who, PCFailedReason *reason)
{
  PetscInt     n;
  PetscScalar *values;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(y, &n));
  PetscCall(VecGetArrayWrite(y, &values));
  for (PetscInt p = 0; p < n; ++p) values[p] = NAN;
  PetscCall(VecRestoreArrayWrite(y, &values));
  PetscCall(FailApplication(comm, within, who, reason));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The communicator of a solver, which is PETSc's own, with a tag that no other object has; once. Collective.
inline PetscErrorCode CommOf(PetscObject solver, Comm *comm)
{
  PetscFunctionBegin;
  if (!comm->tag) {
    comm->mpi = PetscObjectComm(solver);
    PetscCall(PetscObjectGetNewTag(solver, &comm->tag));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// What follows on the device comes after what PETSc has under way, in the stream of its current context. On the host,
// too, where a stream has been in use: memory that a solver had on the device before is given back in the order of
// one that there still is.
inline PetscErrorCode UseCurrentStream(Space space)
{
  void *stream = nullptr;

  PetscFunctionBegin;
  if (space != Space::cuda && !device::stream()) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CompatCurrentStream(&stream));
  TesseraCallCXX(device::set_stream(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

inline PetscErrorCode LogFlops(Space space, PetscLogDouble flops)
{
  PetscFunctionBegin;
  if (PetscDefined(HAVE_DEVICE) && space == Space::cuda) PetscCall(PetscLogGpuFlops(flops));
  else PetscCall(PetscLogFlops(flops)); // a PETSc without devices does not count theirs
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Device work of its scope is GPU time (-log_view_gpu_time). PETSc's own calls take their time themselves: none of
// them may stand there.
class GpuTime {
public:
  explicit GpuTime(Space space) : on_(space == Space::cuda)
  {
    if (on_) (void)PetscLogGpuTimeBegin();
  }
  ~GpuTime()
  {
    if (on_) (void)PetscLogGpuTimeEnd();
  }
  GpuTime(const GpuTime &)            = delete;
  GpuTime &operator=(const GpuTime &) = delete;

private:
  const bool on_;
};

} // namespace tessera
