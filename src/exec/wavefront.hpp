// Several passes over a grid as one.
#pragma once
#include <vector>

namespace tessera {

// Sweeps of several colours over one grid in a single pass through memory: phase k works on rows that are lags[k]
// behind the first one, so that what it reads is still in the cache. run(k, y0, y1) does rows [y0, y1) of phase k.
// Where ghost nodes must be exchanged between phases, `fused` is false: every phase does all rows.
template <class Run> void wavefront(const std::vector<int> &lags, int y0, int y1, int rows, bool fused, const Run &run)
{
  const int phases = (int)lags.size();
  if (!fused) {
    for (int k = 0; k < phases; ++k) run(k, y0, y1);
    return;
  }
  int behind = 0;
  for (int lag : lags) behind = lag > behind ? lag : behind;
  for (int y = y0; y < y1 + behind; y += rows)
    for (int k = 0; k < phases; ++k) {
      const int from = y - lags[k] > y0 ? y - lags[k] : y0, to = y + rows - lags[k] < y1 ? y + rows - lags[k] : y1;
      if (from < to) run(k, from, to);
    }
}

} // namespace tessera
