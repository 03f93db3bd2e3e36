// Every shape and threshold that was chosen by measurement.
#pragma once
#include <cstddef>

namespace tessera::tuning {

constexpr int    strip_rows        = 8;      // rows of a strip on the host, at most,
constexpr int    strip_doubles     = 16384;  // and scratch of a strip: it stays in the second-level cache
constexpr int    spectrum_steps    = 8;      // steps of CG that find the interval of AMLI
constexpr double amli_condition    = 8;      // auto: AMLI up to this ratio of the interval's ends
constexpr long   redundant_nodes   = 4096;   // a distributed grid of at most this many nodes goes to every process
constexpr double remainder_share   = 0.1;    // exact remainder by default: at most this many band entries per node of the finest grid
constexpr double remainder_maximum = 4e8;    // and never more band entries than this (3.2 GB)
constexpr double singular_pivot    = 1e-11;  // a diagonal that elimination leaves below this share of itself belongs to a singular component
constexpr double singular_growth   = 4e-15;  // or below this times the number of nodes
constexpr double deficit           = 0.5;    // negative row sums up to this share of the diagonal may be left out of the factors
constexpr double symmetric         = 1e-10;  // |a_ij - a_ji| below this share of the largest coefficient is rounding

} // namespace tessera::tuning
