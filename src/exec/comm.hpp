// Communicators that solvers share.
#pragma once
#include <mpi.h>

namespace tessera {

// A communicator, and the tag of one solver's messages between two processes: other solvers may have messages under
// way on it.
struct Comm {
  MPI_Comm mpi = MPI_COMM_SELF;
  int      tag = 0;
  Comm() = default;
  Comm(MPI_Comm comm, int messages = 0) : mpi(comm), tag(messages) { }
  operator MPI_Comm() const { return mpi; }
};

// The processes of this one's line (along x) or column (along y) of a process grid with so many of them along x. Made
// once for a communicator, which frees it at its own end. Collective at the first time.
MPI_Comm line_of_processes(MPI_Comm comm, int processes_x, bool along_x);

} // namespace tessera
