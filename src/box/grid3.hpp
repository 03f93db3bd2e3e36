// A level's grid of one to three dimensions: its nodes, whose they are, and their messages.
#pragma once
#include "box/halo3.hpp"
#include <vector>

namespace tessera::box {

// A grid and what of it is this process's.
struct Grid3 {
  int     n[3] = {1, 1, 1};
  bool    periodic[3] = {false, false, false};
  int     axes[3] = {0, 1, 2}; // direction d is direction axes[d] of the matrix's grid, whose nodes are as many
  // the nodes computed here: this process's, or all of them on a grid that every process has
  Box3    own;
  Box3    part;                  // those whose values this process finds from the finer grid
  Layout3 layout;
  int     step[3] = {1, 1, 1};   // to the next level: 2 where the direction is coarsened
  bool    shared  = false;       // every process has the whole grid
  // processes that have the line's nodes before and behind the own ones
  int     before[2] = {-1, -1}, behind[2] = {-1, -1};
  int     processes[2] = {1, 1}, place[2] = {0, 0}; // along x and along y, and which of them this one is
  // ghosts; after values came from the finer grid: ghosts, or on a shared grid everything
  Halo3   halo, incoming;
  double  nodes() const { return (double)n[0] * n[1] * n[2]; } // of all processes
};

Layout3 layout_for(const Box3 &own, int dimension);
// Ghosts that the process which has the nodes `own` wants: those that the grid has.
Box3    wanted(const Grid3 &grid, const Box3 &own, int dimension);

// The finest grid: boxes[r] are the nodes of process r.
void begin_grid(Grid3 &grid, const Comm &comm, int dimension, const int n[3], const bool periodic[3],
                const std::vector<Box3> &boxes, Space space);
// Divides the nodes of the grid below `fine`, whose n and periodic are set, among the processes. boxes: the nodes that
// each process finds from the finer grid, afterwards those that it has; a single box where every process has the grid,
// as it has at most `redundant` nodes or some process would have none.
void distribute(Grid3 &coarse, const Grid3 &fine, const Comm &comm, int dimension, double redundant,
                std::vector<Box3> &boxes, Space space);
// How many processes have nodes of a line along direction d, and which of them has the box `own`. The boxes are those
// of a grid of processes.
void find_place(const std::vector<Box3> &boxes, const Box3 &own, int d, int &processes, int &place);

} // namespace tessera::box
