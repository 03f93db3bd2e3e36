// Shapes and thresholds, chosen by measurement, of several files of box and rrb; those of one file stand there.
#pragma once
#include <cstddef>

namespace tessera::tuning {

constexpr int    strip_rows        = 8;      // rows of a strip on the host, at most,
constexpr int    strip_doubles     = 16384;  // and scratch of a strip: it stays in the second-level cache
// on the device: nodes of a quarter for each row of a strip, so that there are about 1000 blocks
constexpr long   strip_nodes_on_device = 131072;
constexpr int    line_part         = 8;      // lines on the device: least nodes of a part, a multiple of 4
constexpr int    line_parts        = 128;    // most parts of a line
// lines along y that are solved together, 32 bytes in single precision; with line_parts at most 1024 threads
constexpr int    line_columns      = 8;
constexpr int    spectrum_steps    = 8;      // steps of CG that find the interval of AMLI
constexpr double amli_condition    = 8;      // auto: AMLI up to this ratio of the interval's ends
constexpr long   redundant_nodes   = 4096;   // a distributed grid of at most this many nodes goes to every process,
constexpr long   redundant_on_device   = 200000; // on the device, from the second grid on
// exact remainder by default: at most this many band entries per node of the finest grid
constexpr double remainder_fraction = 0.1;
// a grid of at most so many band entries is solved exactly: coarse grids would take more memory and time
constexpr double remainder_least   = 100;
// on the device by default: at most so many nodes; its factors are made one row after the other,
constexpr long   dense_nodes       = 100;
constexpr long   dense_cycle       = 1600;   // the cycle from a grid of at most so many nodes down is a matrix
// an exact remainder of more nodes is solved on the host: as a matrix it would take n^2 values, and long to make
constexpr long   dense_maximum     = 2048;
constexpr double remainder_maximum = 4e8;    // and never more band entries than this (3.2 GB)
constexpr double wide_nodes        = 300000; // a device's threads take several nodes each of at least so many
constexpr int    stretches_row     = 48;     // in rows of at least so many nodes stretches of equal ones are looked for
// a diagonal that elimination leaves below this share of itself belongs to a singular component
constexpr double singular_pivot    = 1e-11;
// The same where the exact remainder becomes an inverse, in double and in single precision: what is nearly constant
// on a nearly closed component is large there, and its rounding must stay below everything else.
constexpr double singular_inverse[2] = {1e-9, 1e-6};
constexpr double singular_growth   = 4e-15;  // or below this times the number of nodes
// negative row sums up to this share of the diagonal may be left out of the factors
constexpr double deficit           = 0.5;
constexpr double symmetric         = 1e-10;  // |a_ij - a_ji| below this share of the largest coefficient is rounding
// CG and its like get a warning beyond; Jacobians by differences are within
constexpr double asymmetric        = 1e-6;

// The device
constexpr long   rows_at_once      = 90000;  // 9-point grids of fewer nodes: a warp takes a row, else it marches
constexpr int    block_of_rows     = 8;      // rows of a block then, with those that it shares with others
constexpr int    march_blocks      = 64;     // blocks of a marching kernel on the emulated device
constexpr long   amli_nodes        = 100000; // AMLI on the first grid and those with more nodes

// Galerkin coarsening
// a node whose couplings are together below this share of its diagonal has none
constexpr double dead_coupling  = 1e-10;
// a diagonal of P'AP below this share of the sum of its terms' absolute values is rounding
constexpr double singular_product = 1e-12;
constexpr double singular_single = 1e-7;   // the same where the hierarchy is in single precision
constexpr double small_weight   = 1e-4;  // interpolation weights below are zero: coarse diagonals must not become tiny
constexpr double tied           = 1e-6;  // a coupling below this share of the diagonal ties nothing
constexpr double tied_sideways  = 0.1;   // a node whose row sum is below this share of its diagonal may interpolate
constexpr double least_squares  = 0.3;   // weight of the collapsed stencil beside the test vectors
// A direction with less than this share of the other's couplings is weak: how strong an anisotropy must be for lines;
// weak_fraction says at how many nodes.
constexpr double weak_direction = 0.25;
constexpr double weak_fraction     = 0.02;  // a grid with more such nodes gets lines along the strong direction,
constexpr double diagonal_fraction = 0.1;   // one with more nodes whose diagonal couplings differ gets both
constexpr double mixed_fraction    = 0.2;   // both directions weak at more nodes: rough coefficients, to be tried
constexpr int    trial_steps    = 8;     // steps of CG of the trial, at most
constexpr long   visits_once    = 5000;  // a grid in space of at most so many nodes visits the next one once (device)
constexpr double few_jumps      = 0.2;   // jumps at fewer nodes than that are single lines and points
constexpr double trial_fair     = 20;    // a trial that foretells more iterations has failed
constexpr int    test_vectors   = 4;     // least squares: test vectors
constexpr int    test_sweeps    = 3;     // and sweeps on each
constexpr int    rough_sweeps   = 5;     // sweeps on S1 where coefficients jump
constexpr int    rough_sweeps_on_device = 3; // and on a device, where the rest of an iteration takes less beside them
constexpr double amli_lowest    = 0.25;  // eigenvalues of a Galerkin V-cycle lie between this and 1
constexpr double layers_nodes = 16384; // nodes of the layers of a grid in space that are worked on together, about
constexpr int    wavefront_nodes = 8192; // nodes of a quarter that are swept together, at most
// a coupling below this share of the larger diagonal at its ends does not tie them
constexpr double loose_coupling = 1e-3;
// row sums of a component below this share of its diagonal entries: nearly singular
constexpr double loose_component = 0.01;
// algebraic levels: a coupling of at least this share of a node's strongest ties the node to the other one
constexpr double strong_coupling = 0.25;
constexpr int    algebraic_least = 150;  // they end at so many nodes, which are solved exactly,
constexpr size_t algebraic_levels = 40;  // or after so many levels
constexpr double jump           = 10;    // couplings to both sides that differ more are a jump,
constexpr double leap           = 1000;  // or a leap
// or than that, where this share of jumps are leaps: algebraic levels are tried after the usual choice
constexpr double more_leaps     = 0.12;
constexpr double leaping_jumps  = 0.3;
// leaps at more nodes than that: algebraic levels, before anything else is tried
constexpr double many_leaps     = 0.2;

} // namespace tessera::tuning
