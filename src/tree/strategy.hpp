// What a hierarchy on trees does otherwise on a device than on the host: two columns, which strategy.cxx has side by
// side. Code asks for the decision, not for the space.
#pragma once
#include "exec/device.hpp"

namespace tessera::tree {

struct Strategy {
  // ---- setup
  bool trees_at_once;      // the cells of several grids are found together
  int  divided;            // processes divide grids of more unknowns than so many times those solved exactly
  bool product_in_blocks;  // blocks of threads make P'AP and its pattern; else a thread goes from leaf to leaf, and
                           // processes share the leaves of a grid that all of them have
  bool looks_first;        // before jumps are counted: a look at the diagonal tells mostly that there are none
  bool notes_diagonal;     // where a row has its diagonal is kept from the first look at the matrix
  bool keeps_work;         // memory that a setup works in stays for the next one
  int  least_network;      // of more parts than are solved exactly so many make a network (part_network.hpp)
  // ---- application
  int  visits_twice;       // so many grids of a W-cycle of coefficients that jump, from the mesh on, visit the next one
                           // twice where nodes have several unknowns
  bool normalises_floats;  // in single precision right-hand sides are divided by their largest number
};

const Strategy &strategy_of(Space space);

} // namespace tessera::tree
