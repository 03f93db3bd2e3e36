// The adaptive tree of a set of points, its cells and their vertices: bilinear finite elements on a balanced quadtree
// (octree). Everything here is integer arithmetic on Morton keys, some of which may be given several times
// (thin.k.cxx), so it does not depend on the numbering of the points or on processes.
#pragma once
#include "tree/cells/morton.hpp"
#include <functional>
#include <vector>

namespace tessera::tree {

struct Keepers;  // keepers.hpp: of the parts of a tree that processes divide
struct KeptKeys;

// A point at x lies at (x - origin) * factor in units of the finest cells.
struct Frame {
  int    dim = 0;
  double origin[3] = {}, factor[3] = {};
};

// All trees T_0, T_1, ... at once: a cell is split in T_k for k up to its rank (-1: never). Cells are in the order of
// their keys, a parent before its children.
struct Tree {
  int                 dim = 0, cells = 0;
  Buffer<Key>         start;               // the key of the cell's first finest cell
  Buffer<signed char> level, rank, parent; // level 0 is the root; rank of the parent
  // or only the cells of this level, which T_0 consists of: those of T_k are k levels above
  int                 uniform = -1;
  int                 finest  = 0;  // level of the leaves of T_0
};

// T_k: its leaves and their vertices.
struct Cells {
  int                   dim = 0, n = 0;
  Buffer<Key>           start;
  Buffer<signed char>   level;
  // Corner c of a leaf (bit q: the upper end of axis q) is the vertex, or where it hangs the corner c of the leaf's
  // parent, with which it is interpolated.
  Buffer<int>           vertex;
  Buffer<unsigned char> hangs; // of each leaf, bit c: corner c hangs
  int                   vertices = 0, hanging = 0, coarsest = 0, finest = 0; // coarsest and finest level of the leaves
  Buffer<Key>           key;   // of each vertex: a finest cell beside it, inside an occupied leaf
  Buffer<double>        y;     // its coordinates; by number_vertices()
  Buffer<Key>           vertex_key; // and as a key, until then

  // A tree that processes divide has three more. kept_cells() gives a keeper its part of T_k, in which vertex_hangs[v]
  // says of each vertex, also of those in the middle of a larger leaf's side, whether it hangs.
  Buffer<unsigned char> vertex_hangs;
  // local_leaves() gives a process the leaves and vertices of its own nodes and ghosts, which
  // number_local_vertices() numbers: vertex v here is vertex number[v] of all processes' vertices, in ascending order.
  // Keeper r has the vertices with the numbers first[r] to first[r + 1] - 1, so first has one entry more than there are
  // keepers, and its last one is the number of all vertices. Both are empty where all cells are here.
  Buffer<int>           number;
  std::vector<int>      first;
};

// The ends of n points' coordinates along the axes (the largest number and its negative where there are no points),
// without those that are left out (nullptr: none is). False: one is not finite.
bool find_ends(const Exec &exec, int dim, int n, const double *x, const unsigned char *left_out, double *low,
               double *high);
// y = the coordinates in the frame, key = the finest cell. Rows of x are `dim` coordinates.
void place(const Exec &exec, const Frame &frame, int n, const double *x, double *y, Key *key);
// The length of the root cell in terms of the extent of the points, at least 1: such that on a quasi-uniform mesh the
// leaves of all parts have the same size. It takes keys of a frame whose root is the extent: short ones in order, of
// which those of all points that are in no tree, whose keys are above all others, come last; and then counts of the
// points, which may be added up over parts [first, last) of n points. capacity: points of a leaf at most; deepest: of
// the leaves' levels there, set where there are points.
Buffer<unsigned> short_keys(const Exec &exec, int dim, int n, const Buffer<Key> &keys);
std::vector<int> count_leaves(const Exec &exec, int dim, int capacity, int n, const Buffer<unsigned> &keys, int first,
                              int last);
double           root_length(int dim, int capacity, const std::vector<int> &counts, int *deepest);
// The trees of the sorted keys with at most `capacity` * 2^(k dim) points in a leaf of T_k, balanced over corners.
// sorted: the level down to which the cells are in order; where the finest leaf is deeper there is no tree, which its
// level says.
Tree make_tree(const Exec &exec, int dim, int capacity, int n, const Buffer<Key> &keys, int sorted = depth(1));
// The part of a keeper: the cells that begin with its nodes. Collective.
Tree make_tree(const Exec &exec, int dim, int capacity, const KeptKeys &keys, const Keepers &keepers);
// T_k and the next ones, so many in all: the host waits as often as for one. others: adds leaves of other keepers.
std::vector<Cells> make_cells(const Exec &exec, const Tree &tree, int k, int trees,
                              const std::function<void(Cells &)> &others = nullptr);
// Uniform grids. The finest level on which the box, whose edges are these shares of the root's, has less than nodes /
// capacity cells.
int  uniform_level(int dim, const double *extents, double capacity, double nodes);
Tree make_uniform(const Exec &exec, int dim, int level, int n, const Buffer<Key> &keys);
// T_k of such a tree: every cell is its own vertex, with the cell's start as key.
Cells uniform_cells(const Exec &exec, const Tree &tree, int k);
// The weights of the points in the leaves given by `leaf`, 2^dim of each, by d-linear functions or (kuhn) linear ones
// on the simplices that share the diagonal of the cell; used[v] is set where a vertex has one. axes: nullptr, or of
// each point `usual_weights`, or the axes, one bit each, along which it gets linear functions of one simplex of the
// leaf, which need not contain it.
constexpr unsigned char usual_weights = 0xff;
template <class T> void make_weights(const Exec &exec, const Cells &cells, bool kuhn, int n, const int *leaf,
                                     const double *y, const unsigned char *axes, T *weight, unsigned char *used);
// Leaves out the vertices that no point uses and sorts the others by their keys. Returns how many remain.
int number_vertices(const Exec &exec, Cells &cells, const Buffer<unsigned char> &used);

} // namespace tessera::tree
