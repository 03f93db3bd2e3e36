// Constants on parts of the mesh that hardly anything ties to each other: pockets between thin barriers of little
// conductivity, inclusions that conduct well. What is constant in a part has hardly any energy, so neither D nor the
// blocks of the smoother see it, and functions of coarse grids, which reach across barriers, cost far more energy. So
// the smoother gets for each part of nodes z_k (ones in the part) the term
//
//   z_k (z_k' A z_k)^-1 z_k'
//
// beside B^-1. That is work in proportion to the nodes of such parts, whatever their size; what varies from part to
// part slowly is left to the iteration.
#pragma once
#include "exec/buffer.hpp"
#include "exec/comm.hpp"
#include "exec/exec.hpp"
#include "exec/staging.hpp"
#include <vector>

namespace tessera::tree {

template <class T> struct Level;

constexpr size_t max_vectors = 8; // that the smoother's blocks and constants take at a time

template <class T> struct PartConstants {
  // Looks for the parts of a level with one unknown a node, by its values. Collective.
  void find(const Comm &comm, Level<T> &level);
  // The numbers for values in the same pattern. Collective.
  void take_values(const Level<T> &level);
  // z += c sum_k z_k (z_k' A z_k)^-1 z_k' r, and x += w times that; either may be nullptr. Collective.
  template <class V> void add(const Level<T> &level, const V *r, T c, V *z, V *x, T w);
  bool                    any() const { return parts_ > 0 || elsewhere_; } // on any process
  // Has a part on any process so little energy that rounding to single precision counts beside it? After
  // take_values(). Collective.
  bool                    faint(const Level<T> &level) const;
  bool                    meets_others() const { return shared_ > 0; } // parts of several processes
  size_t bytes() const
  {
    return begin_.bytes() + piece_.bytes() + member_.bytes() + of_.bytes() + weight_.bytes() + sums_.bytes() +
           of_pieces_.bytes() + energy_.bytes() + diagonal_.bytes();
  }

private:
  void number(Level<T> &level, const std::vector<double> &label);
  template <class V> void sum_parts(const Exec &exec, const V *r, V *sum); // of r over the nodes of each part
  // of each part: z' A z, and the sum of the diagonal; of all processes
  void        energies(const Level<T> &level, Buffer<double> &energy, Buffer<double> &diagonal);
  Comm           comm_;
  int            parts_ = 0, shared_ = 0; // here; those of several processes, which come first and which all count
  bool           elsewhere_ = false;      // other processes have parts
  Buffer<int>    begin_, piece_, member_; // pieces of each part, and their nodes
  Buffer<int>    of_;                     // the part of each node, ghosts included, or -1
  Buffer<T>      weight_, sums_;          // 1 / z' A z of each part; z' r
  Buffer<double> of_pieces_;              // sums
  Buffer<double> energy_, diagonal_;      // of each part, by energies()
  Staging        message_;
};

} // namespace tessera::tree
