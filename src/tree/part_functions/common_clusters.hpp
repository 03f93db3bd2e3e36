// What all processes know of clusters (agglomerate.hpp): those of some process's ghosts, among them all that have nodes
// on several processes. It is in proportion to the clusters along the borders of the processes, and hosts work on it.
//
// Others need the name of such a cluster. The process that has all nodes of one finds what it is coupled with most;
// that of a divided one, which has nodes on several, all find from the couplings of its parts. All know then which of
// these clusters have become one, and so which there are in the next round, and which of them are divided.
#pragma once
#include "tree/part_functions/agglomeration.hpp"
#include <mpi.h>
#include <vector>

namespace tessera::tree {

// Places `at` are those in the list of common clusters, which is in the order of their numbers; -1: it is not in it.
struct Part { // what a process has of a common cluster
  int     at = -1;
  Cluster cluster;
};
struct Coupling { // of a divided cluster with another one
  int    of, at;
  double id, name, weight;
  double closed_nodes; // of that, if it is not common
};
struct Tie { // a cluster is in one set with another one
  int    at, root_at;
  double id, root;
};
struct Renamed {
  double  id, now;
  HD bool operator<(const Renamed &o) const { return id < o.id; }
};

class CommonClusters {
public:
  explicit CommonClusters(MPI_Comm comm) : comm_(comm) { }
  // The clusters of own ghosts, before the first round. Collective, as collect() and join() are.
  void begin(std::vector<double> ids);
  // This process's parts, and the couplings of those of them that are divided, both in order. Finds what divided
  // clusters pick.
  void   collect(const std::vector<Part> &parts, const std::vector<Coupling> &couplings, const Rules &rules);
  // The sets by own picks, of common clusters and of those that divided ones have picked. False: no process found any
  // pick. The clusters that there are now follow.
  bool   join(std::vector<Tie> ties, double found);

  const std::vector<double>        &ids() const { return ids_; }
  const std::vector<unsigned char> &divided() const { return divided_; }
  const std::vector<Cluster>       &totals() const { return total_; } // of all processes, after collect()
  const std::vector<double>        &picked() const { return picked_; } // by divided ones: not common, in order
  const std::vector<Renamed>       &renamed() const { return renamed_; } // by join(), in order
  int    at(double id) const;
  double now(double id) const; // after join()

private:
  void pick(const Rules &rules, const std::vector<std::vector<Coupling>> &of_process);
  void rename(const std::vector<double> &others, const std::vector<int> &root, const std::vector<int> &rank);
  MPI_Comm                   comm_;
  std::vector<double>        ids_, picked_;
  std::vector<int>           rank_; // that has it, or `several` or `nobody`
  std::vector<unsigned char> divided_;
  std::vector<Cluster>       total_;
  std::vector<Tie>           picks_;
  std::vector<Renamed>       renamed_;
};

} // namespace tessera::tree
