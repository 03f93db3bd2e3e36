// Lists of numbers for each process.
#pragma once
#include <mpi.h>
#include <numeric>
#include <utility>
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
  // Two kinds of lists, of which the processes tell each other at once.
  static std::pair<Messages, Messages> both(MPI_Comm comm, const std::vector<int> &a, const std::vector<int> &b)
  {
    std::vector<int> counts, from(2 * a.size()), from_a, from_b;
    for (size_t r = 0; r < a.size(); ++r) counts.insert(counts.end(), {a[r], b[r]});
    MPI_Alltoall(counts.data(), 2, MPI_INT, from.data(), 2, MPI_INT, comm);
    for (size_t r = 0; r < from.size(); r += 2) from_a.push_back(from[r]), from_b.push_back(from[r + 1]);
    return {Messages(comm, a, from_a), Messages(comm, b, from_b)};
  }
  // width: numbers of each item
  template <class V> std::vector<V> send(const std::vector<V> &list, int width = 1) const
  {
    return pass(list, width, counts, begins, from_counts, from_begins);
  }
  template <class V> std::vector<V> answer(const std::vector<V> &list, int width = 1) const // in the place of what came
  {
    return pass(list, width, from_counts, from_begins, counts, begins);
  }

private:
  Messages(MPI_Comm c, const std::vector<int> &number, const std::vector<int> &from) :
    counts(number), begins(sums(number)), from_counts(from), from_begins(sums(from)), comm(c)
  {
  }
  template <class V>
  std::vector<V> pass(const std::vector<V> &list, int width, std::vector<int> out, std::vector<int> out_begins,
                      std::vector<int> in, std::vector<int> in_begins) const
  {
    static_assert(sizeof(V) == 8 || sizeof(V) == 4, "integers of MPI");
    const MPI_Datatype type = sizeof(V) == 8 ? MPI_UNSIGNED_LONG_LONG : MPI_INT;
    for (std::vector<int> *of : {&out, &out_begins, &in, &in_begins})
      for (int &v : *of) v *= width;
    std::vector<V> got((size_t)in_begins.back());
    MPI_Alltoallv(list.data(), out.data(), out_begins.data(), type, got.data(), in.data(), in_begins.data(), type,
                  comm);
    return got;
  }
  static std::vector<int> sums(const std::vector<int> &of)
  {
    std::vector<int> to(of.size() + 1);
    std::partial_sum(of.begin(), of.end(), to.begin() + 1);
    return to;
  }
};

} // namespace tessera
