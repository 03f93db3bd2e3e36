// What every solver does around its method: where it runs and with how many threads, errors of a device that all
// processes agree on, what is left after one, and failures that are no errors.
#pragma once
#include "petsc/device.hpp"
#include <petsc/private/pcimpl.h>

namespace tessera {

class Peers; // exec/peers.hpp

// An error on all processes where one of them cannot have so many bytes of the host's memory, which it is about to
// take; the message says how many are free. `who` begins it. Collective.
PetscErrorCode CheckHostMemory(PetscObject solver, const char *who, size_t bytes);

// Threads on the host: only those that the user asked for, as MPI programs fill the cores with processes.
int HostThreads();

// Where a solver runs: as `backend` says, which is the value of `option`; or, where that is auto, on the device where
// on_device(&device), which looks where its values are, says so on all processes. Collective.
template <class F> PetscErrorCode ChooseSpace(PetscObject solver, const char *option, TesseraBackend backend,
                                              const F &on_device, Space *space)
{
  bool device = backend == TESSERA_BACKEND_CUDA;

  PetscFunctionBegin;
  PetscCall(CheckBackend(solver, option, backend));
  if (backend == TESSERA_BACKEND_AUTO) {
    PetscCall(on_device(&device));
    int here = device && !device::unusable(), all; // asked last: it wakes the device
    PetscCallMPI(MPI_Allreduce(&here, &all, 1, MPI_INT, MPI_MIN, PetscObjectComm(solver)));
    device = all;
  }
  *space = device ? Space::cuda : Space::host;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Runs F(solver); collective. An error of one process's device is raised on all processes; one that a process finds on
// the host stays its own (SameError() in device.hpp makes it common). space: where F has run, which it may change.
// After an error undo() drops what F has made, so that the program may go on with another choice where memory is short.
template <auto F, class Solver, class Undo>
PetscErrorCode RunCollectively(Solver solver, const Space &space, const Undo &undo)
{
  PetscFunctionBegin;
  CollectiveErrors       together(PetscObjectComm((PetscObject)solver));
  PetscErrorCode ierr = NoThrow<F, Solver>(solver);
  ierr                = together.End(ierr, space);
  if (ierr) undo();
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The matrix is none that the method works with: KSP ends with KSP_DIVERGED_PC_FAILED, and an error is raised only
// where the user asked for one.
PetscErrorCode FailSetUp(PC pc, const char *who, const char *failure, PCFailedReason reason);

// An error where the last setup has failed or is not of these options, so that there are none of `what`.
PetscErrorCode CheckSetUp(PC pc, const char *who, const char *what, bool failed, const char *failure, bool current);

// Why the last setup has failed, or nullptr; Data: the type's, which keeps it.
template <class Data> PetscErrorCode WhySetUpFailed(PC pc, const char *failure[])
{
  const Data *data = (const Data *)pc->data;

  PetscFunctionBegin;
  *failure = data->failed ? data->failure : nullptr;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Before a solve: what devices that write into each other's memory meet with is put in order, as an error of one of
// them may have stopped the others. peers: nullptr where they do not, on all processes. Collective.
PetscErrorCode RestorePeers(PetscObject solver, Peers *peers);

// How messages between devices go; nothing on the host or on one process.
PetscErrorCode ViewMessages(PetscObject solver, PetscViewer viewer, TesseraBackend backend, bool directly);

inline TesseraBackend BackendOf(Space space)
{
  return space == Space::cuda ? TESSERA_BACKEND_CUDA : TESSERA_BACKEND_HOST;
}
// The matrix has no rows: that of a block of PCBJACOBI or PCASM on a process without any. There is nothing to set up.
PetscErrorCode NothingToSolve(PC pc, bool *nothing);

// An application after a setup that has not ended (an error), or that has failed: then y is infinite, which no solver
// takes for a solution. Without unknowns there is nothing to apply.
PetscErrorCode RefuseApplication(PC pc, const char *who, bool ready, bool failed, Vec y, bool *refused);

} // namespace tessera
