// What only the setup needs.
#pragma once
#include "tree/parts/bodies.hpp"
#include "tree/hierarchy.hpp"
#include "tree/cells/local_cells.hpp"
#include <optional>
#include <vector>

namespace tessera::tree {

// The nodes as points, until the tree and the first grid are made of them.
struct Points {
  int                   n = 0, all = 0;    // nodes of this process; with those of others
  Buffer<unsigned char> constrained;       // no unknown of the node takes part: it is not in the tree
  Buffer<double>        x, y;              // coordinates, as given and scaled to the frame; finally sorted by keys
  double                stretch[3] = {};   // of the axes
  double                edge[3] = {};      // of the box around the points, stretched; 0 where there are no points
  double                extent = 0;        // the longest one
  Buffer<Key>           key;               // of all nodes; nodes that are not in the tree have the largest one
  Buffer<Key>           sorted, everyone;  // of own nodes in order; of all processes' nodes, where the tree is whole
  Buffer<Key>           repeated;          // of own nodes in order, of thin parts several times; empty if none do
  std::vector<int>      runs;              // where those of each process begin among the keys of all, and the end
  KeptKeys              kept;              // of all processes' nodes those that this one keeps, where they divide it
};

// How the vertices of a grid are divided among the processes: those of the cells here, in the order of their keys.
struct Division {
  Buffer<int> owner, index; // the process that owns a vertex, and the vertex's number there
  Buffer<int> number, here; // of a vertex among all; on this process
  Buffer<int> vertex;       // the vertex of each number on this process
  size_t      entries = 0;  // of the operator on this process, contributions to other processes' rows included
};

// The nodes of all processes, for the coloring.
struct Everyone {
  Buffer<Key>      key;      // the sorted keys of all nodes
  Buffer<int>      order;    // the number of the node of each key; numbers go process by process
  std::vector<int> first;    // the first node's number of each process, and the end
  int              rank = 0;
};

// How many vertices a grid may have to be taken: at least so many, and less than so many; and how many it has.
struct Sizes {
  double least = 0, limit = 0;
  int    found = 0;
  bool   again = false; // bodies have been given up, without which the same leaves make a grid
};

struct ListMemory; // pattern_kernels.hpp

// The patterns of P'AP: pattern*.k.cxx, and where the processes divide a grid divide.k.cxx.
template <class T> class GalerkinSetup : Context {
public:
  explicit GalerkinSetup(const Context &context) : Context(context) { }
  Failure::Kind              product_pattern(Level<T> &fine, const Buffer<int> &leaf, int leaves, Level<T> &coarse,
                                             Division *division = nullptr);
  Division divide(Level<T> &fine, Level<T> &coarse, Cells &cells);
  template <class V> void take_vertices(const Buffer<int> &vertex, int n, int width, Buffer<V> &of);
  template <class V> void take_vertices(const Buffer<int> &vertex, Level<T> &grid, int width, Buffer<V> &of);

private:
  void    incidences(Level<T> &fine, int nodes);
  Failure::Kind pattern_on_host(Level<T> &fine, const Buffer<int> &leaf, Level<T> &coarse, int around, int range,
                                bool &long_rows);
  Failure::Kind pattern_on_device(Level<T> &fine, const Buffer<int> &leaf, Level<T> &coarse, int around, int range,
                                  bool &long_rows);
  Failure::Kind leaves_on_device(Level<T> &fine, const Buffer<int> &leaf, int around, int range, ListMemory &memory);
  Failure::Kind rows_on_device(Level<T> &fine, Level<T> &coarse, int range, ListMemory &memory, bool &long_rows);
  void    shorten_lists(Level<T> &fine, const Level<T> &coarse);
  void    remap(Level<T> &fine, const int *begin, int rows, const int *list, const Buffer<int> &map);
  bool    divide_rows(Level<T> &fine, Level<T> &coarse, Division &division, int longest);
  Failure::Kind merge_pattern(Level<T> &fine, Level<T> &coarse);
};

// The colours of Gauss-Seidel: colour.k.cxx.
template <class T> class Colouring : Context {
public:
  Colouring(const Context &context, std::vector<Level<T>> &levels, GalerkinSetup<T> &galerkin) :
    Context(context), levels_(levels), galerkin_(galerkin)
  {
  }
  Failure::Kind sweep_pattern(Level<T> &level, const Level<T> &next, const Cells &cells, const Buffer<Key> &key);
  Everyone &everyone() { return everyone_; }

private:
  Failure::Kind block_pattern(Level<T> &level, const Level<T> &next, const Cells &cells, const Buffer<Key> &key,
                              const Buffer<int> &position, Buffer<unsigned char> &colour);
  Failure::Kind colour_blocks(Level<T> &level, const Level<T> &next, int blocks, bool cut,
                              const Buffer<unsigned char> &wanted, Buffer<unsigned char> &colour);
  void    own_blocks(Level<T> &level);
  Failure::Kind colour(int n, const Buffer<int> &i, const Buffer<int> &j, const Buffer<double> &priority,
                       const Buffer<unsigned char> &wanted, bool distributed, Buffer<unsigned char> &colour);
  std::vector<Level<T>> &levels_;
  GalerkinSetup<T>      &galerkin_;
  Everyone               everyone_;
};

// The parts of leaves: what couplings tie together inside a leaf.
struct JoinedParts {
  Buffer<int> root;    // of each node, the first one of its part
  Buffer<int> parent;  // at the corners of such a node: the component around that vertex, by its first such place
  Buffer<int> largest; // around each vertex, of the first labels of its parts (FirstLabels)
};
template <class T> struct Coupled;

// From coordinates to the grids, step by step.
template <class T> class Setup : Context {
public:
  Setup(const Context &context, std::vector<Level<T>> &levels, Buffer<int> &perm, Buffer<int> &where,
        DirichletRows &constrained, Frame &frame, NumericSetup<T> &numeric) :
    Context(context),
    levels_(levels), perm_(perm), where_(where), constrained_(constrained), frame_(frame), numeric_(numeric),
    galerkin_(context), colouring_(context, levels, galerkin_)
  {
  }
  void begin_levels(int n, int ghosts, const std::vector<int> &owner, const std::vector<int> &index);
  void                  list_constrained();
  void take_coordinates(const double *x, Space where);
  const Buffer<double> &coordinates() const { return points_.x; }
  void          find_extent();
  int           find_scale();
  Tree          sort_into_tree(int sorted_level, const Rows &rows);
  void          keep_order();
  void          sort_coordinates();
  Bodies        find_bodies();
  bool          are_inclusions(const Level<T> &fine, const Buffer<T> &d, Bodies &bodies) const;
  Failure::Kind make_grids(const Tree &tree, const Bodies &bodies);
  double        crowded() const { return crowded_; }

private:
  void                    locate(double length);
  // Do several processes divide the tree? The colours of Gauss-Seidel and aggregates go by all nodes.
  bool                    divides_tree() const
  {
    return levels_[0].distributed && !sweeps() && !params_.aggregation;
  }
  // Do nodes of thin parts count several times in T_0? A leaf must be able to hold what one node counts. In space
  // nothing would be gained.
  bool counts_thin() const
  {
    constexpr int copies = 4;
    return params_.dim == 2 && params_.cell_size >= copies && !sweeps() && !params_.aggregation;
  }
  bool may_have_bodies() const // smoothed weights are not negative
  {
    return params_.all_take_part && params_.dim > 1 && params_.filter != Filter::on && !sweeps() &&
           !params_.aggregation;
  }
  bool smoother_knows_parts() const { return params_.all_take_part && params_.bs == 1 && params_.dim > 1; }
  std::vector<int>        count_leaves_of_all(Buffer<unsigned> &near);
  void                    gather_keys(Buffer<Key> &keys, int count);
  void                    keep_points(const Rows &rows);
  bool                    repeat_thin(const Rows &rows, const Buffer<Key> &keys, const Buffer<int> &node,
                                      const Buffer<short> &crowded);
  Buffer<short>           levels_of_splits(const Buffer<Key> &keys);
  void                    sort_points(int sorted_level);
  double                  count_crowded(const Key *key, int n) const;
  Buffer<T>               largest_diagonals(Level<T> &fine) const;
  double                  count_weak(const Level<T> &fine, const Buffer<int> &leaf, const Buffer<T> &d) const;
  bool                    has_pockets(Level<T> &fine, const Buffer<T> &d, double weak) const;
  bool                    has_jumps(Level<T> &fine, Buffer<T> &d);
  bool                    has_thin_barriers(Level<T> &fine, const Buffer<double> &y, Buffer<T> &d);
  bool                    find_parts(Level<T> &fine, const Cells &cells, const Buffer<double> &y,
                                     const Buffer<int> &leaf, Buffer<T> &d);
  Buffer<int>             label_parts(Level<T> &fine, const Buffer<int> &root, int offset) const;
  bool                    has_parts(Level<T> &fine, const Cells &cells, const Buffer<int> &leaf, double few,
                                    const Buffer<T> &d);
  CompactBodies           compact_bodies(Level<T> &fine, const Buffer<Key> &key, const Buffer<double> &y);
  void                    find_compact(Level<T> &fine, int hops, const Buffer<double> &y, CompactBodies &bodies);
  void                    find_home_leaves(Level<T> &fine, Cells &cells, const Buffer<Key> &key,
                                           const CompactBodies &bodies, Buffer<int> &leaf);
  void                    gather_bodies(const Buffer<int> &number, int all);
  struct Parts;
  void                    label_cores(Level<T> &fine, const Cells &cells, const Buffer<int> &leaf, Parts &parts);
  JoinedParts             join_parts(const Level<T> &fine, const Cells &cells, const Buffer<int> &leaf,
                                     const Coupled<T> &coupled);
  void                    label_others(Level<T> &fine, Parts &parts);
  int                     number_functions(Level<T> &fine, const Cells &cells, Parts &parts);
  void                    split_leaves(Level<T> &fine, Cells &cells, const Buffer<Key> &key, const Buffer<double> &y,
                                       Buffer<int> &leaf);
  void                    find_leaves(Level<T> &fine, const Cells &cells, const Buffer<Key> &key, Buffer<int> &leaf);
  void                    find_local_leaves(Level<T> &fine, Cells &cells, const Buffer<Key> &key, Buffer<int> &leaf);
  bool                    place_nodes(Level<T> &fine, Cells &cells, const Buffer<Key> &key, const Buffer<double> &y,
                                      Buffer<int> &leaf);
  void                    interpolate(Level<T> &fine, Cells &cells, const Buffer<double> &y, const Buffer<int> &leaf,
                                      const Buffer<unsigned char> &axes);
  void                    place_in_runs(Level<T> &fine, Cells &cells, Buffer<int> &leaf, Buffer<int> &of, int all_new);
  Buffer<int>             number_functions_here(Buffer<int> &function, const Buffer<int> &at, int all,
                                                Buffer<int> &number);
  Cells         cells_of(const Tree &tree, int k, std::vector<Cells> &taken, int &leaves);
  Failure::Kind next_grid(Cells cells, int leaves, Buffer<Key> &key, Buffer<double> &y, Sizes &sizes);
  double        few_vertices() const;
  double        many_leaves() const;
  Failure::Kind insert_grid(int few, Buffer<Key> &key, Buffer<double> &y);
  std::vector<Level<T>>  &levels_;
  Buffer<int>            &perm_, &where_;
  DirichletRows          &constrained_;
  Frame                  &frame_;
  NumericSetup<T>        &numeric_;
  Points                  points_;
  Keepers                 keepers_;
  GalerkinSetup<T>        galerkin_;
  Colouring<T>            colouring_;
  double                  crowded_ = 0;
  // Parts of the mesh that grids keep apart: found by values, so that operators are made with their patterns; some
  // vertex is of several.
  struct {
    bool   strong = false, split = false;
    double weak = 0; // couplings that do not count
  } parts_;
  Bodies                  body_, next_body_; // of a grid, and of the next one
  std::optional<bool>     jumps_;            // of diagonal entries of the mesh, once they are counted
};

} // namespace tessera::tree
