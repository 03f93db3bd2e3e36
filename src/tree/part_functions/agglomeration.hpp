// What decides which clusters of nodes become one (agglomerate.hpp), where they are joined by rounds on the host and on
// a device.
#pragma once
#include "exec/exec.hpp"
#include "exec/random.hpp"
#include <cmath>
#include <cstring>

namespace tessera::tree {

// A cluster of n nodes in `dim` dimensions is closed, and grows no more by itself, if its couplings with others are
// less than `bound` of its diagonal entries over the dim-th root of n; what is compact in a mesh without barriers has
// about as much as that root. Of fewer nodes than `few` it is less: flat elements have large diagonal entries.
struct Closed {
  double dim, bound;
  double few = 16, bound_of_few = 0.01, least = 3;
  explicit Closed(int d) : dim(d), bound(d == 2 ? 0.05 : 0.1) { }
  HD bool operator()(double nodes, double diagonal, double outside) const
  {
    const double root = dim == 2 ? sqrt(nodes) : cbrt(nodes);
    return nodes >= least && outside < (nodes < few ? bound_of_few : bound) * diagonal / root;
  }
};

struct Cluster {
  double  id = 0;   // the mesh-wide number of one of its nodes
  double  name = 0; // by which all processes tell which is the first of two
  double  nodes = 1, diagonal = 0, outside = 0;
  double  held = 0; // what one step of the smoother takes of its constant, summed over its nodes
  HD void join(const Cluster &o)
  {
    name = o.name < name ? o.name : name;
    nodes += o.nodes;
    diagonal += o.diagonal;
    outside += o.outside;
    held += o.held;
  }
};

// Sums that differ by rounding only, as other processes add them up in another order, count as equal.
HD inline double rounded(double w)
{
  constexpr int dropped = 37; // bits of 52
  uint64_t      bits;
  memcpy(&bits, &w, sizeof(w));
  bits = (bits + ((uint64_t)1 << (dropped - 1))) & ~(((uint64_t)1 << dropped) - 1);
  memcpy(&w, &bits, sizeof(w));
  return w;
}

// What a cluster is coupled with most; of two alike those that come first in an order of pairs at random.
struct Pick {
  static constexpr double equal = 0.999; // what is less beside the largest cannot be alike
  double   weight = 0, id = -1;
  uint64_t order = 0;
  int      at = -1;
  HD void  offer(const Cluster &from, double w, double other, double name, int k)
  {
    if (!(w > 0) || w < equal * weight) return;
    w = rounded(w);
    if (w < weight) return;
    const double   low = from.name < name ? from.name : name, high = from.name < name ? name : from.name;
    const uint64_t next = mix((uint64_t)low * golden_ratio + mix((uint64_t)high));
    if (w == weight && next <= order) return;
    weight = w, id = other, order = next, at = k;
  }
  void take(double w, int k) { weight = rounded(w), at = k; } // the only one that counts
};

// What a step of the smoother takes of a one, where rounding or couplings with the wrong sign make it less or more
HD inline double share_of_one(double taken) { return taken > 0 ? taken < 1 ? taken : 1 : 0; }

// Which clusters count, those of at most `most` nodes, and which grow. Clusters that fixed nodes hold, such as columns
// of strongly coupled nodes on a Dirichlet boundary, do not count: the smoother alone reduces their constants.
struct Rules {
  static constexpr double held_by_fixed = 0.25; // the mean share of ones that a step of the smoother takes
  static constexpr double times_as_many = 32; // nodes of a cluster that takes others in
  Closed  closed;
  double  most;
  HD bool has_closed(const Cluster &c) const { return closed(c.nodes, c.diagonal, c.outside); }
  HD bool counts(const Cluster &c) const
  {
    return has_closed(c) && c.nodes <= most && !(c.held > held_by_fixed * c.nodes);
  }
  // The nodes of one that is closed; of one that grows infinitely many: it picks for itself.
  HD double closed_nodes(const Cluster &c) const { return has_closed(c) ? c.nodes : HUGE_VAL; }
  // One that grows takes in, with its pick, closed ones that are small beside it and tied to it nearly as much: each
  // of them changes little, and rounds would be as many as there are.
  HD bool takes_in(const Cluster &from, const Pick &pick, double nodes, double weight) const
  {
    return times_as_many * nodes <= from.nodes && rounded(weight) >= 0.5 * pick.weight;
  }
  // Is it large enough for any?
  HD bool takes_others(const Cluster &from) const { return from.nodes >= times_as_many * closed.least; }
};

// The name of node p by its key, where keys are known, else by its mesh-wide number
HD inline double name_of(const unsigned long long *key, int p, double number)
{
  return (double)(mix(key ? key[p] : (uint64_t)number) >> 11);
}

} // namespace tessera::tree
