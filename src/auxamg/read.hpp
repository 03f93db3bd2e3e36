// The entries of the rows of a node, without the fixed unknowns.
#pragma once
#include "auxamg/auxamg.hpp"

namespace tessera::auxamg {

template <class Index> struct RowReader {
  Rows<Index>          m;
  int                  bs;
  const unsigned char *fixed; // of own and ghost unknowns; nullptr: none
  // f(k, column, value): the entry of unknown k of the node; columns of ghosts come behind those of own unknowns
  template <class F> HD void each(int node, const F &f) const
  {
    for (int k = 0; k < bs; ++k) {
      const int row = node * bs + k;
      if (fixed && fixed[row]) continue;
      for (Index e = m.i[row]; e < m.i[row + 1]; ++e)
        if (!fixed || !fixed[m.j[e]]) f(k, (int)m.j[e], m.a[e]);
      if (!m.oi) continue;
      for (Index e = m.oi[row]; e < m.oi[row + 1]; ++e) {
        const int column = m.n * bs + m.ghost[m.oj[e]];
        if (!fixed || !fixed[column]) f(k, column, m.o[e]);
      }
    }
  }
};

} // namespace tessera::auxamg
