// A matrix as a list of entries.
#pragma once
#include <vector>

namespace tessera {

// By the numbers of all processes' unknowns, of which this one has so many rows and columns. Entries given twice add
// up.
struct Entries {
  int                    rows = 0, columns = 0;
  std::vector<long long> row, column;
  std::vector<double>    value;
  void                   add(long long r, long long c, double v)
  {
    row.push_back(r);
    column.push_back(c);
    value.push_back(v);
  }
};

} // namespace tessera
