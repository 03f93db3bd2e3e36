// Where several processes divide the tree: from the leaves that its keepers have to those of own nodes and ghosts.
#pragma once
#include "tree/cells/keepers.hpp"

namespace tessera::tree {

// What a process has of the leaves of T_k for itself: first those of own nodes, then others of ghosts, each in order.
struct LocalLeaves {
  Cells       cells;
  Buffer<int> begin, leaf; // the first own node of each leaf, and the end; the leaf of each node, -1: none
};

// T_k with its keepers: own leaves and those of others near them, so that the vertices of the own ones are right. The
// numbers of leaves and hanging vertices, and the levels, are those of all. Collective.
Cells kept_cells(const Exec &exec, const Tree &tree, int k, const Keepers &keepers, int &leaves);
// T_k with every process. Collective.
Cells gathered_cells(const Exec &exec, const Tree &tree, int k, const Keepers &keepers);
// The leaves of a process's nodes: `points` own ones in order, then others, then from n on ghosts. Collective.
LocalLeaves local_leaves(const Exec &exec, const Keepers &keepers, const Cells &kept, int points, int n,
                         const Buffer<Key> &key);
// Leaves out the vertices that no process uses, and numbers the others by their keys over all processes. Collective.
void number_local_vertices(const Exec &exec, const Keepers &keepers, Cells &cells,
                           const Buffer<unsigned char> &used);
// Integers of the vertices that are here, not negative, come together with those that others have for them: v[p]
// becomes the largest of all. Collective.
void join_at_vertices(const Exec &exec, MPI_Comm comm, const Cells &cells, Buffer<int> &v);
// To whom vertices belong, by how much each process bids, and what number they have there. Collective.
struct VertexOwners {
  Buffer<int> owner, index;
  int         own = 0;
};
VertexOwners vertex_owners(const Exec &exec, MPI_Comm comm, const Cells &cells, const Buffer<int> &bid);
// All vertices come to every process. Collective.
void gather_vertices(const Exec &exec, MPI_Comm comm, Cells &cells);

} // namespace tessera::tree
