// Functions of parts of the mesh that hardly anything ties to each other: pockets between thin barriers of little
// conductivity, inclusions that conduct well. What is linear in a part and zero elsewhere has little energy, so neither
// D nor the blocks of the smoother see it, and functions of coarse grids, which reach across barriers, cost far more
// energy. So the smoother gets for each part Z_k, the constant and the linear functions along the axes in the part,
//
//   Z_k (Z_k' A Z_k)^-1 Z_k'
//
// beside B^-1, the constants of all parts together (part_network.hpp). That is work in proportion to the nodes of such
// parts, whatever their size.
#pragma once
#include "exec/buffer.hpp"
#include "exec/comm.hpp"
#include "exec/exec.hpp"
#include "exec/staging.hpp"
#include "tree/part_functions/part_network.hpp"
#include <vector>

namespace tessera::tree {

template <class T> struct Level;
struct Params;

constexpr size_t max_vectors = 8; // that the smoother's blocks and functions of parts take at a time

// Where the nodes of a part begin among those of all: first of the parts that processes share.
struct PartBegins {
  const int *first, *place;
  int        shared, parts, begin_own, members;
  HD int     operator()(int part) const
  {
    return part < shared ? first[part] : part < parts ? begin_own + place[part - shared] : members;
  }
};

template <class T> struct PartFunctions {
  // Looks for the parts of a level with one unknown a node, by its values, or takes those whose labels are in `keep`
  // where they are of all nodes; else keeps them there. keep: or nullptr. The level's blocks are inverted. Collective.
  void find(const Comm &comm, Level<T> &level, const Params &params, Buffer<double> *keep);
  // The numbers for values in the same pattern. Collective.
  void take_values(const Level<T> &level);
  // z += c sum_k Z_k (Z_k' A Z_k)^-1 Z_k' r, and x += w times that; either may be nullptr. Collective.
  template <class V> void add(const Level<T> &level, const V *r, T c, V *z, V *x, T w);
  double                  count() const { return total_; } // parts of all processes
  bool                    any() const { return total_ > 0; }
  // The least energy that the constant of a part on any process has: below 1 rounding to single precision counts beside
  // it, above 1 the less the more it is. After take_values(). Collective.
  double                  least_energy(const Level<T> &level) const;
  bool                    meets_others() const { return shared_ > 0 || network_.meets_others(); } // sums over several
  template <class V> void make_several() { network_.template make_several<V>(); }
  size_t bytes() const
  {
    return begin_.bytes() + piece_.bytes() + member_.bytes() + of_.bytes() + place_.bytes() + inverse_.bytes() +
           sums_.bytes() + of_pieces_.bytes() + energy_.bytes() + network_.bytes();
  }

private:
  bool may_have_parts(Level<T> &level) const;
  Buffer<T>      held(Level<T> &level) const;
  Buffer<double> labels(Level<T> &level) const;
  void number(Level<T> &level, const Buffer<double> &label);
  void divide(const Exec &exec, const PartBegins &begins);
  template <class Sum> void sum_pieces(const Exec &exec, const Sum *of_piece, int numbers, Sum *sum);
  template <int D> void     energies(const Level<T> &level); // of the constants and of D linear functions
  template <int D> std::vector<double> find_places(Level<T> &level); // the mean ones of the parts, if known
  void                      find_network(const Level<T> &level, const Params &params, const std::vector<double> &place);
  Comm           comm_;
  int            dim_ = 0;                // linear functions of a part
  int            parts_ = 0, shared_ = 0; // here; those of several processes, which come first and which all count
  double         total_ = 0;              // of all processes
  Buffer<int>    begin_, piece_, member_; // pieces of each part, and their nodes
  Buffer<int>    of_;                     // the part of each node, ghosts included, or -1
  Buffer<T>      place_;                  // of nodes in their parts
  Buffer<T>      inverse_;                // of each part's energies
  Buffer<double> of_pieces_, sums_;       // Z' r of pieces and of parts
  Buffer<double> energy_;
  Staging        message_;
  PartNetwork<T> network_;                // of their constants
};

} // namespace tessera::tree
