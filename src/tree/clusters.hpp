// Which unknowns of a level belong together (blocks.hpp), on the host.
#pragma once
#include "tree/blocks.hpp"
#include <vector>

namespace tessera::tree {

// A coupling of two of n unknowns.
struct StrongCoupling {
  int strength, a, b;
};
// Blocks of unknowns, one after the other: block k is member[begin[k]] ... member[begin[k + 1] - 1].
template <class V> struct Blocks {
  std::vector<int> begin{0};
  std::vector<V>   member;
  size_t           size() const { return begin.size() - 1; }
  bool             operator==(const Blocks &o) const { return begin == o.begin && member == o.member; }
};
// The blocks of unknowns that couplings join, the strongest ones first; in order. Results depend neither on the order
// nor on how often a coupling is in the list.
Blocks<int> join_strongly(std::vector<StrongCoupling> list, int n, int max_size);

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
// The unknowns in the lists. names: process, number and key (two halves) of the node of each
std::vector<Named> name_unknowns(const CouplingLists &lists, const std::vector<double> &names, int bs);
// The blocks of couplings of several processes.
Blocks<long long> join_named(const std::vector<NamedCoupling> &list, int max_size);
// Those of one process: of couplings whose first end is not left out (empty: none is), in the order of names, or where
// these are empty of the unknowns' numbers, which are their names then.
Blocks<long long> join_own(const CouplingLists &lists, const std::vector<Named> &names,
                           const std::vector<char> &left_out);

} // namespace tessera::tree
