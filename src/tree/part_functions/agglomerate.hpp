// Clusters of nodes that grow by the couplings of whole clusters, summed up. Beside a barrier that leaks in places some
// couplings are as large as any, but their sum is little beside what ties each side together.
#pragma once
#include "tree/hierarchy.hpp"

namespace tessera::tree {

struct Rules;

// Of own nodes of a level with one unknown a node: a number that all nodes of the cluster have, on any process, or -1
// of clusters that are not closed, are more than half of the mesh or are held by fixed nodes. Which nodes are in a
// cluster does not depend on the processes, but for rounding at the thresholds. held: what one step of the smoother
// takes of ones, at each node; or empty. Collective.
template <class T> Buffer<double> agglomerate(MPI_Comm comm, Level<T> &level, int dim, const Buffer<T> &held);
// The same on the devices of the processes.
template <class T>
Buffer<double> agglomerate_on_device(MPI_Comm comm, Level<T> &level, const Rules &rules, const Buffer<T> &held);

} // namespace tessera::tree
