// What an algebraic level has to do with other processes: the nodes of theirs that it knows, and what goes between
// them. A node is known by its owner and its number there.
#pragma once
#include "exec/exchange.hpp"
#include "exec/messages.hpp"
#include <memory>
#include <unordered_map>

namespace tessera::rrb {

struct AlgebraicDistribution {
  Comm comm;
  int  rank = 0, processes = 1, own = 0;
  // of the known nodes behind the own ones: ghosts, then those that only rows of ghosts are coupled with
  std::vector<int> owner, index;
  Exchange         ghosts;        // values of nodes
  Exchange         rows, weights; // entries of the ghosts' rows of A and of P
  Exchange         sums;          // to the owners: this process's part of entries of the next matrix
  std::vector<int> si, sj;        // these parts by rows: where each begins, columns
  // Where the next level is the same one on every process: numbers of nodes and entries of each process and where
  // they begin there, and the own entries in the order that they have there
  std::vector<int> nodes, first_node, entries, first_entry, order;

  AlgebraicDistribution(const Comm &c, int own, std::vector<int> owners, std::vector<int> indices); // collective
  int    process(int v) const { return v < own ? rank : owner[(size_t)(v - own)]; }                 // of a node
  int    owner_number(int v) const { return v < own ? v : index[(size_t)(v - own)]; }               // its number
  size_t bytes() const;
};

// Numbers for nodes of other processes behind the own ones, in the order in which they are met.
class AlgebraicNumbering {
public:
  AlgebraicNumbering(int rank, int own) : rank_(rank), own_(own) { }
  explicit AlgebraicNumbering(const AlgebraicDistribution &s) : rank_(s.rank), own_(s.own)
  {
    for (size_t g = 0; g < s.owner.size(); ++g) (*this)(s.owner[g], s.index[g]);
  }
  int operator()(int process, int number)
  {
    if (process == rank_) return number;
    const auto [at, met] = known_.emplace(((uint64_t)process << 32) + (uint64_t)number, size());
    if (met) owner.push_back(process), index.push_back(number);
    return at->second;
  }
  int              own() const { return own_; }
  int              size() const { return own_ + (int)owner.size(); }
  int              process(int v) const { return v < own_ ? rank_ : owner[(size_t)(v - own_)]; }
  int              owner_number(int v) const { return v < own_ ? v : index[(size_t)(v - own_)]; }
  std::vector<int> owner, index;

private:
  int                               rank_, own_;
  std::unordered_map<uint64_t, int> known_;
};

// Parts of the own rows of a product that other processes have: which columns, and where the answers go.
struct AlgebraicParts {
  std::unique_ptr<Messages> messages;
  std::vector<int>          sent;         // the own parts of others' rows in the order of the messages: places in sj
  std::vector<int>          column;       // of what has come
  std::vector<int>          begin, entry; // the same by own rows
  AlgebraicParts(const AlgebraicDistribution &s, AlgebraicNumbering &numbering); // collective
  template <class F> void for_row(int r, const F &f) const                       // f(entry, column)
  {
    for (int k = begin[(size_t)r]; k < begin[(size_t)r + 1]; ++k) f(entry[(size_t)k], column[(size_t)entry[(size_t)k]]);
  }
};

} // namespace tessera::rrb
