// Lists that every process makes a part of, and all have the whole of.
#pragma once
#include <cstddef>
#include <mpi.h>
#include <type_traits>
#include <vector>

namespace tessera {

template <class T> struct Gathered {
  std::vector<T>   all;   // the lists of the processes, one after the other
  std::vector<int> begin; // where each one's begins, and the end
};

// The first n items are this process's list. Collective.
template <class T> Gathered<T> gather_from_all(MPI_Comm comm, const T *mine, int n)
{
  static_assert(std::is_trivially_copyable<T>::value, "sent as bytes");
  int          size;
  MPI_Datatype item;
  Gathered<T>  g;
  MPI_Comm_size(comm, &size);
  std::vector<int> counts((size_t)size);
  MPI_Allgather(&n, 1, MPI_INT, counts.data(), 1, MPI_INT, comm);
  g.begin.assign((size_t)size + 1, 0);
  for (size_t r = 0; r < counts.size(); ++r) g.begin[r + 1] = g.begin[r] + counts[r];
  g.all.resize((size_t)g.begin.back());
  MPI_Type_contiguous((int)sizeof(T), MPI_BYTE, &item);
  MPI_Type_commit(&item);
  MPI_Allgatherv(mine, n, item, g.all.data(), counts.data(), g.begin.data(), item, comm);
  MPI_Type_free(&item);
  return g;
}
template <class T> Gathered<T> gather_from_all(MPI_Comm comm, const std::vector<T> &mine)
{
  return gather_from_all(comm, mine.data(), (int)mine.size());
}

// The sum over the processes before this one. Collective.
template <class T> T sum_before(MPI_Comm comm, T own)
{
  static_assert(std::is_same<T, int>::value || std::is_same<T, double>::value, "types that MPI is told");
  int rank;
  T   sum = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Exscan(&own, &sum, 1, std::is_same<T, int>::value ? MPI_INT : MPI_DOUBLE, MPI_SUM, comm);
  return rank ? sum : 0; // MPI leaves it undefined on the first
}

} // namespace tessera
