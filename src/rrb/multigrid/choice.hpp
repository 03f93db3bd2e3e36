// The choice of the Galerkin form's measures for rough coefficients, by a trial; its thresholds, by measurement.
#pragma once
#include "rrb/rrb.hpp"

namespace tessera::rrb {

constexpr double choice_smooth = 0.1; // part of the trial's right-hand side that is smooth, beside the rough one
constexpr double choice_null   = 1e-13; // unless its Rayleigh quotient is below this share of the rough one's
constexpr double choice_cycle  = 9;   // AMLI alone is tried above so many expected iterations,
constexpr double choice_others = 12;  // and the other choices above so many
constexpr double choice_cost   = 1.1; // one of their iterations counts as so many of the usual choice's
// and so many those along lines and those of AMLI with more sweeps, where they are slow (Strategy::slow_lines)
constexpr double choice_slow   = 1.5;
constexpr double choice_never  = 1e30; // expected iterations where CG breaks down or does not converge
// a solve that takes so many times what was expected, and two more, shows that the trial was wrong
constexpr double choice_wrong  = 1.5;

// Is the choice the setup's?
bool chooses(const Params &p);
Smoother choose_smoother(const Plan &plan, const Directions &d);
// Can algebraic levels be made below this grid, and are they worth it? Their indices are 32 bits wide, and S1 has up
// to nine entries per row.
bool takes_algebraic(const Plan &plan, const Level &g);

} // namespace tessera::rrb
