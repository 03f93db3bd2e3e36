// Lists of numbers for each process.
#pragma once
#include <mpi.h>
#include <numeric>
#include <vector>

namespace tessera {

// Lists for each process, one after the other, to those that these have for this one
struct Messages {
  std::vector<int> counts, begins, from_counts, from_begins;
  MPI_Comm         comm;
  Messages(MPI_Comm c, const std::vector<int> &number) : counts(number), from_counts(number.size()), comm(c)
  {
    MPI_Alltoall(counts.data(), 1, MPI_INT, from_counts.data(), 1, MPI_INT, comm);
    begins      = sums(counts);
    from_begins = sums(from_counts);
  }
  std::vector<int> send(const std::vector<int> &list) const
  {
    std::vector<int> got((size_t)from_begins.back());
    MPI_Alltoallv(list.data(), counts.data(), begins.data(), MPI_INT, got.data(), from_counts.data(),
                  from_begins.data(), MPI_INT, comm);
    return got;
  }
  std::vector<int> answer(const std::vector<int> &list) const // in the place of what came
  {
    std::vector<int> got((size_t)begins.back());
    MPI_Alltoallv(list.data(), from_counts.data(), from_begins.data(), MPI_INT, got.data(), counts.data(),
                  begins.data(), MPI_INT, comm);
    return got;
  }

private:
  static std::vector<int> sums(const std::vector<int> &of)
  {
    std::vector<int> to(of.size() + 1);
    std::partial_sum(of.begin(), of.end(), to.begin() + 1);
    return to;
  }
};

} // namespace tessera
