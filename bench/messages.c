/* Counts what the processes of a program send to each other, for a library that is preloaded. At MPI_Finalize() it prints, of the process with
   the most, the messages, their bytes, and how often it took part in a collective operation; received are the bytes of MPI_Allgather(v).

     mpicc -O2 -shared -fPIC bench/messages.c -o messages.so
     mpiexec -n 4 -x LD_PRELOAD=./messages.so PROGRAM ... */
#include <mpi.h>
#include <stdio.h>

static double sent[4]; /* messages, bytes, collective operations, bytes received from MPI_Allgather(v) */

static void Count(int n, MPI_Datatype type)
{
  int size;

  if (!n) return;
  MPI_Type_size(type, &size);
  sent[0] += 1;
  sent[1] += (double)n * size;
}

int MPI_Isend(const void *v, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
  Count(n, type);
  return PMPI_Isend(v, n, type, to, tag, comm, request);
}

int MPI_Send(const void *v, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
  Count(n, type);
  return PMPI_Send(v, n, type, to, tag, comm);
}

int MPI_Alltoallv(const void *v, const int *n, const int *at, MPI_Datatype type, void *w, const int *m, const int *place, MPI_Datatype got, MPI_Comm comm)
{
  int size, rank;

  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &rank);
  for (int r = 0; r < size; ++r)
    if (r != rank) Count(n[r], type);
  sent[2] += 1;
  return PMPI_Alltoallv(v, n, at, type, w, m, place, got, comm);
}

int MPI_Alltoall(const void *v, int n, MPI_Datatype type, void *w, int m, MPI_Datatype got, MPI_Comm comm)
{
  sent[2] += 1;
  return PMPI_Alltoall(v, n, type, w, m, got, comm);
}

int MPI_Allreduce(const void *v, void *w, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
  sent[2] += 1;
  return PMPI_Allreduce(v, w, n, type, op, comm);
}

int MPI_Allgather(const void *v, int n, MPI_Datatype type, void *w, int m, MPI_Datatype got, MPI_Comm comm)
{
  int size, bytes;

  MPI_Comm_size(comm, &size);
  MPI_Type_size(got, &bytes);
  sent[2] += 1;
  sent[3] += (double)size * m * bytes;
  return PMPI_Allgather(v, n, type, w, m, got, comm);
}

int MPI_Allgatherv(const void *v, int n, MPI_Datatype type, void *w, const int *m, const int *at, MPI_Datatype got, MPI_Comm comm)
{
  int size, bytes;

  MPI_Comm_size(comm, &size);
  MPI_Type_size(got, &bytes);
  sent[2] += 1;
  for (int r = 0; r < size; ++r) sent[3] += (double)m[r] * bytes;
  return PMPI_Allgatherv(v, n, type, w, m, at, got, comm);
}

int MPI_Finalize(void)
{
  double most[4];
  int    rank;

  PMPI_Reduce(sent, most, 4, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (!rank) printf("a process: %.0f messages, %.2f MB, %.0f collective operations, %.2f MB gathered\n", most[0], most[1] * 1e-6, most[2], most[3] * 1e-6);
  return PMPI_Finalize();
}
