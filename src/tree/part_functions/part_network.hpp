// The constants of all parts of the mesh (part_functions.hpp) together. One at a time they reduce what varies from part
// to part slowly as Jacobi's method does, and iterations grow with the number of parts. So the smoother gets
//
//   Z E^-1 Z',  E = Z' A Z,  Z: the constants of the parts of all processes
//
// in place of each constant by itself. E is the matrix of a mesh whose nodes are the parts, at their mean places; all
// processes have all of it, and the cycle of a hierarchy of its own stands for E^-1.
#pragma once
#include "exec/buffer.hpp"
#include "exec/comm.hpp"
#include "exec/exec.hpp"
#include "exec/index.hpp"
#include "exec/several.hpp"
#include "exec/sort.hpp"
#include "exec/staging.hpp"
#include "tree/params.hpp"
#include <memory>
#include <type_traits>
#include <vector>

namespace tessera::tree {

template <class T> struct Level;
template <class T> class Hierarchy;

// In which the products of functions with a vector of values V are added up: of one vector in double precision, as a
// part's sum is little beside its terms.
template <class V> using SumOf = std::conditional_t<width_of<V> == 1, double, V>;

template <class T> class PartNetwork {
public:
  bool any() const { return hierarchy_ != nullptr; }
  bool wanted() const { return !i_.empty(); } // after find(): take_values() makes one
  bool meets_others() const { return any() && distributed_; }
  // The pattern of E. of: the part of each node, ghosts included, of `parts` here; the first `shared` are those of
  // several processes and the same on all. place: of each part, dim numbers. Collective.
  void find(const Comm &comm, const Level<T> &level, const Params &params, const Buffer<int> &of, int parts,
            int shared, const std::vector<double> &place);
  // E and its hierarchy. energy: of the constant of each part here; a part where it is not positive is left out.
  // Collective.
  void take_values(const Level<T> &level, const std::vector<double> &energy);
  template <class V> void make_several(); // memory for such vectors
  // E^-1 times the sums of a residual over the parts, of which that of part k here is sums[stride k]. Collective.
  template <class V> void solve(const Exec &exec, const SumOf<V> *sums, int stride);
  template <class V> void add(const Exec &exec, SumOf<V> *factors, int stride) const; // this to factors[stride k]
  size_t bytes() const;

private:
  std::vector<double> couplings(const Level<T> &level) const; // of own nodes, added up by runs
  void                list(const std::vector<Key> &pairs);
  // `each` numbers of the parts here become those of all parts. Collective.
  std::vector<double> of_all(std::vector<double> here, int each) const;
  Comm                comm_;
  Params              params_;
  bool                distributed_ = false, first_process_ = true;
  int                 parts_ = 0, shared_ = 0, before_ = 0, all_ = 0; // here; of several processes; all
  std::vector<double> place_;                  // of all parts
  // Entries of the mesh's operator between parts: entry_[run_[r]..run_[r + 1]) are some of a pair of parts.
  Buffer<int>         entry_, run_;
  std::vector<int>    slot_, transposed_;      // of each run of all processes: where E has its pair, and the transpose
  std::vector<Index>  i_, j_;
  std::vector<int>    diagonal_;
  Buffer<Index>       i_there_, j_there_;      // where the hierarchy is
  Buffer<T>           kept_, right_, solution_; // kept_: 0 of a part that is left out, else 1
  Staging             message_;
  std::shared_ptr<Hierarchy<T>> hierarchy_;
};

} // namespace tessera::tree
