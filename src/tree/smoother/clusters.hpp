// Blocks of unknowns (blocks.hpp) that lie on several processes, on the host.
#pragma once
#include "exec/sort.hpp"
#include <map>
#include <mpi.h>
#include <vector>

namespace tessera::tree {

// An unknown of a process as one number.
inline long long unknown_of(int process, int number)
{
  return ((long long)process << 32) + number;
}
inline int process_of(long long u)
{
  return (int)(u >> 32);
}
inline int number_of(long long u)
{
  return (int)(u & 0xffffffffLL);
}

// An unknown by the process that has it and its number there; keys give an order on which all processes agree.
struct Named {
  Key       key;
  long long name;
  bool      operator<(const Named &o) const { return key != o.key ? key < o.key : name < o.name; }
  bool      operator==(const Named &o) const { return name == o.name; }
};
struct NamedCoupling {
  int   strength;
  Named end[2];
};
// Blocks of unknowns, one after the other: block k is member[begin[k]] ... member[begin[k + 1] - 1].
struct NamedBlocks {
  std::vector<int>       begin{0};
  std::vector<long long> member;
};
NamedBlocks join_named(const std::vector<NamedCoupling> &list, int max_size);

// What StrongBlocks has of such blocks. column: of each member, in the operator here; needed: places in row.
struct SharedBlocks {
  std::vector<int> begin{0}, at{0}, member, column, row, block, place, needed, owner, index;
  // The blocks of the couplings of all processes. columns: of unknowns of others, where this one has them. Collective.
  void             join(MPI_Comm comm, const std::vector<NamedCoupling> &couplings,
                        const std::map<long long, int> &columns);

private:
  void add(const long long *of, int n, int rank, const std::map<long long, int> &columns, std::vector<int> &next);
};

} // namespace tessera::tree
