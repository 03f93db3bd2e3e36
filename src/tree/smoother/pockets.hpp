// Components of nodes that are not weakly coupled.
#pragma once
#include "tree/hierarchy.hpp"

namespace tessera::tree {

// Of each node of a level with one unknown a node, ghosts included, how many nodes its component has; of those with
// more than `limit` some number above. inverse: of the diagonal, with ghosts; weak: of tied() in blocks.hpp.
// Collective.
template <class T> Buffer<int> component_sizes(MPI_Comm comm, Level<T> &level, const T *inverse, T weak, int limit);

// How many components there are with `least` nodes or more and not more than `most`. inverse, weak: as above.
// Collective.
template <class T>
double count_components(MPI_Comm comm, Level<T> &level, const T *inverse, T weak, int least, double most);

} // namespace tessera::tree
