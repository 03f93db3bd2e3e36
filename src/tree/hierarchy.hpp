// Multigrid for unstructured meshes on auxiliary grids made from the coordinates of the nodes, after L. Wang,
// X. Hu, J. Cohen, J. Xu, A parallel auxiliary grid algebraic multigrid method for graphic processing units, SIAM J.
// Sci. Comput. 35(3), 2013. The paper's grids are uniform and its interpolation is piecewise constant, which needs a
// K-cycle and grows on graded meshes. It is here as a variant; by default the grids are the leaves of an adaptive
// tree with d-linear interpolation.
//
// Every operator is P'AP of the one before, exactly. The unknowns of a grid are sorted by the leaf of the next grid
// they are in, so restriction, prolongation and the products are loops over leaves without atomics.
#pragma once
#include "tree/blocks.hpp"
#include "tree/params.hpp"
#include "tree/strategy.hpp"
#include "tree/tree.hpp"
#include "exec/direct.hpp"
#include "exec/exchange.hpp"
#include "exec/graph.hpp"
#include "exec/index.hpp"
#include "exec/several.hpp"
#include "multigrid/chebyshev.hpp"
#include "multigrid/exact.hpp"
#include "multigrid/orthogonal.hpp"
#include <climits>
#include <map>
#include <vector>

namespace tessera::tree {

// The local rows of a distributed matrix, scalar by scalar: the block of own columns and that of others.
struct Rows {
  int           n = 0, ghosts = 0; // nodes, own and of others
  const Index  *i = nullptr, *j = nullptr, *oi = nullptr, *oj = nullptr;
  const double *a = nullptr, *o = nullptr;
  const int    *ghost = nullptr; // the scalar column oj is unknown ghost[oj] % bs of ghost node ghost[oj] / bs
};

struct NamedCoupling; // clusters.hpp
struct SharedBlocks;
template <class T> struct Level;
enum Direction { forward = 1, backward = 2, both = 3 }; // of Gauss-Seidel: backward is the adjoint of forward

// Gauss-Seidel on a level: its nodes by colours, and on the mesh the blocks that are solved exactly.
template <class T> struct GaussSeidel {
  Buffer<int>      order;  // nodes, colour by colour
  std::vector<int> first;  // of each colour in it, and the end
  // Blocks: block[p] and place[p] are those of node p, ghosts included, among all blocks; begin[] says where the
  // members of a block begin. On one process these are the own nodes in their order; on several, begin[] is of those
  // blocks in which it has a node, local[p] is the one of node p, and member[] are slots: of own nodes and, from n
  // on, of partners, which are nodes of others.
  bool             exact = false; // goes by blocks
  int              blocks = 0, partners = 0;
  Buffer<int>      block, place, begin, member, local;
  Buffer<int>      row;    // where the rows of node p in the inverse of its block begin
  Buffer<T>        inverse, r;
  Exchange         exchange; // of r, from nodes to partners
  int              steps = 1;
  void             apply(Level<T> &level, bool from_zero, Direction direction);
  size_t           bytes() const
  {
    return order.bytes() + block.bytes() + place.bytes() + begin.bytes() + member.bytes() + local.bytes() +
           row.bytes() + inverse.bytes() + r.bytes() + exchange.bytes();
  }
};

// Entry e of the operator leads to the leaf pair[e] of those around its own; its corners are the columns column[] of
// the leaf's part of P'AP, and its entries go to the places slot[] in the rows of the next operator. In bytes where
// they suffice.
template <class S> struct ProductLists {
  Buffer<S> pair, column, slot;
  size_t    bytes() const { return pair.bytes() + column.bytes() + slot.bytes(); }
};

// The transpose of an operator, made when one is first applied: it stands in the operator's place in the meantime.
template <class T> struct Transpose {
  int         ghosts = 0;     // those of the operator come first
  bool        more = false;   // some process has others
  Exchange    exchange;       // of nodes, then
  Exchange    entries;        // of those in own columns and rows of others, which are counted behind the own ones
  Buffer<int> i, j, from;     // from: of which entry each is the transpose
  Buffer<T>   a, inverse;     // inverse: of the blocks of Gauss-Seidel
  size_t      bytes() const
  {
    return exchange.bytes() + entries.bytes() + i.bytes() + j.bytes() + from.bytes() + a.bytes() + inverse.bytes();
  }
};

// The vectors of a level, of one right-hand side (V = T) or of several.
template <class V> struct Vectors {
  V *b, *x, *r, *z, *w, *sums, *first;
};

// Interpolation from the next grid: the nodes begin[l]..begin[l+1] are in leaf l, whose corners are the nodes
// vertex[] of the next grid.
template <class T> struct Transfer {
  int         cells = 0, corners = 0;
  Buffer<int> begin, vertex, leaf; // leaf: of each node, on a device
  Buffer<T>   weight;
  Buffer<T>   plain;        // the weights of the functions, where others are used
  Buffer<int> first, place; // the corners at which node v of the next grid is: place[first[v]..first[v+1])
  size_t      bytes() const
  {
    return begin.bytes() + vertex.bytes() + leaf.bytes() + weight.bytes() + plain.bytes() + first.bytes() +
           place.bytes();
  }
};

// The lists of the product P'AP.
struct ProductPattern {
  ProductLists<unsigned short> wide;
  ProductLists<unsigned char>  narrow; // instead
  Buffer<int>                  pairs, columns; // where the lists of each leaf begin
  int                          widest = 0, fullest = 0; // most columns and nodes of a leaf
  size_t                       parts  = 0;     // columns of all
  template <class F> void with_lists(const F &f) const
  {
    if (narrow.column.empty()) f(wide);
    else f(narrow);
  }
  size_t bytes() const { return wide.bytes() + narrow.bytes() + pairs.bytes() + columns.bytes(); }
};

// The right-hand side of a level, its solution, and what the smoother works with; sums: of residuals at the corners of
// leaves.
template <class T> struct WorkVectors {
  Buffer<T> b, x, r, z, w, sums;
  Buffer<T> first;       // what the first of two cycles gave
  Buffer<T> several;     // the same of several right-hand sides
  size_t    divided = 0; // how it is: of so many numbers
  size_t    bytes() const
  {
    return b.bytes() + x.bytes() + r.bytes() + z.bytes() + w.bytes() + sums.bytes() + first.bytes() +
           several.bytes();
  }
};

// Cells of a grid that hold points: their number, and their levels in the tree.
struct Grid {
  double hanging = 0; // vertices
  int    leaves = 0, coarsest = 0, finest = 0;
};

// The operator of a level in blocks, compressed sparse rows, on this process.
template <class T> struct Operator {
  Operator(const Exec &where, int block) : exec(where), bs(block) { }
  Exec      exec;
  int       bs;             // unknowns of a node
  // nodes of this process; those in the tree, which come first; nodes of others that rows need
  int       n = 0, points = 0, ghosts = 0;
  // own nodes, and the first ghosts, for which this process has parts of rows and of residuals (divide.k.cxx)
  int       rows = 0;
  bool      distributed = false; // else all processes have all nodes
  Exchange  exchange, entries; // of nodes; from parts of rows, which lie behind the own ones in a, to these
  Buffer<int> i, j;
  Buffer<T>   a, inverse;      // of the diagonal; 0 where an unknown takes no part
  int                     log_threads = 0; // 2^log_threads threads of a device work on a row
  bool        streams = false; // blocks of a device stream the rows
  int         unknowns() const { return n * bs; }
  void        roots(Buffer<T> &root) const; // of the inverse diagonal
  template <class V> void halo(V *v)
  {
    if (distributed) exchange.forward((T *)v, bs * width_of<V>);
  }
  // end(unknown, A x there) for all unknowns; *sum = the sum of what it returns (rows.hpp)
  template <class V, class End> void each_row(const V *x, const End &end) const;
  template <class End> void          sum_rows(const T *x, const End &end, double *sum) const;
};

template <class T> struct Level : Operator<T> {
  using Operator<T>::Operator;
  using Operator<T>::exec;
  using Operator<T>::bs;
  using Operator<T>::n;
  using Operator<T>::ghosts;
  using Operator<T>::exchange;
  using Operator<T>::i;
  using Operator<T>::j;
  using Operator<T>::a;
  Buffer<Key> start; // of nodes: what eigenvalue estimates start with, Morton keys of the mesh's; empty: their numbers
  Buffer<Key> place; // Morton keys of nodes of coarse grids in the plane, for functions of parts
  double      nodes = 0, nonzeros = 0; // of all processes
  Grid        grid;
  float       change = 0; // since the estimate of lambda: no eigenvalue has moved by more
  double      lambda = 0; // largest eigenvalue of D^-1 A, estimated from above
  double      amli_weight = 0; // of each of an AMLI-cycle's two cycles from here down; 0: one cycle
  // Chosen once: blocks of a device restrict; the restriction to this level makes what its smoother begins with.
  bool        restricts_in_blocks = false, begun = false;
  bool        by_nodes() const { return exec.on_device(); } // residual and transfers; the host goes by leaves
  WorkVectors<T> work;
  Transfer<T>                  transfer; // from the next grid
  ProductPattern               product;  // that gives the next operator
  multigrid::Chebyshev         chebyshev;
  StrongBlocks<T>              blocks; // of Chebyshev's and Jacobi's smoother
  GaussSeidel<T>               sweep;  // instead, where it has colours
  multigrid::OrthogonalCG<T>   krylov; // of a K-cycle
  Transpose<T>                 transpose;
  void                         turn(); // the operator and its transpose change places
  size_t                 bytes() const;
  Buffer<unsigned char>        corner_bits() const; // of each node, ghosts included: at which it has a weight
  // begun: x counts as zero, and z has chebyshev.first() D^-1 b. Smoothing: cycle.k.cxx; the others: transfer.k.cxx
  template <class V> void       smooth(bool from_zero, Direction direction, bool begun = false);
  template <class V> void       restrict_to(const Level &next);
  void                          restrict_known(const T *r, Level &next); // b there = P' r
  template <class V> void       prolong_from(const V *e);
  template <class V> Vectors<V> vectors() const
  {
    const size_t n = work.b.size(), with_w = work.w.size(), with_sums = work.sums.size();
    V *const     v = (V *)work.several.data();
    if constexpr (width_of<V> == 1)
      return {(T *)work.b.data(), (T *)work.x.data(), (T *)work.r.data(),
              (T *)work.z.data(), (T *)work.w.data(), (T *)work.sums.data(),
              (T *)work.first.data()};
    else return {v, v + n, v + 2 * n, v + 3 * n, v + 4 * n, v + 4 * n + with_w, v + 4 * n + with_w + with_sums};
  }
};

// Unknowns whose row has no off-diagonal entries that count, in the matrix's numbering: they take no part.
struct DirichletRows {
  Buffer<unsigned char> kind;    // enum Constraint of read.hpp, of each unknown, ghosts included
  Buffer<int>           list;    // those of this process
  Buffer<double>        inverse; // 1 / d of each
  double                total = 0; // of all processes
  bool                  any   = false;
  size_t                bytes() const { return kind.bytes() + list.bytes() + inverse.bytes(); }
};

// Couplings of unknowns of the first level with Dirichlet rows, in which they have no equals.
struct OneSidedCouplings {
  Buffer<int>    rows; // unknowns of the first level that have some
  Buffer<int>    i, j; // these couplings, without those that are zero
  Buffer<double> a;
  bool           any = false; // on any process
  struct {
    Buffer<int>    i, row; // of each unknown of the first level, ghosts included, the unknowns that are coupled with it
    Buffer<double> a, sums;
  }              transpose;
  size_t         bytes() const
  {
    return rows.bytes() + i.bytes() + j.bytes() + a.bytes() + transpose.i.bytes() + transpose.row.bytes() +
           transpose.a.bytes() + transpose.sums.bytes();
  }
};

// Where the loops of a hierarchy run, its processes and parameters.
class Context {
public:
  Context(const Exec &exec, const Comm &comm, const Params &params) :
    exec_(exec), comm_(comm), params_(params), strategy_(&strategy_of(exec.space))
  {
  }

protected:
  bool   sweeps() const { return params_.smoother == Smoother::gs || params_.smoother == Smoother::block_gs; }
  double total(double v) const; // over all processes
  bool   lost() const;          // has the device of any process failed? Collective
  // v = the results of the operation over all processes; sent by the hosts
  template <class V> void reduce(Buffer<V> &v, MPI_Datatype type, MPI_Op how) const
  {
    Buffer<V> here = on_host(v);
    MPI_Allreduce(MPI_IN_PLACE, here.data(), (int)here.size(), type, how, comm_);
    give(std::move(here), v.data(), exec_.space);
  }
  template <class V> Buffer<V> make(size_t n) const
  {
    Buffer<V> b;
    b.resize(Extent{n, exec_.space});
    return b;
  }
  template <class V> Buffer<V> make_unset(size_t n) const // all of it will be written
  {
    Buffer<V> b;
    b.resize_unset(Extent{n, exec_.space});
    return b;
  }
  template <class V> Buffer<V> on_host(const Buffer<V> &from) const
  {
    Buffer<V> to(from.size());
    copy(from, to);
    return to;
  }
  Exec            exec_;
  Comm            comm_;
  Params          params_;
  const Strategy *strategy_;
};

// The numbers of the grids: operators, eigenvalues, interpolation and the exact solution, for values in a pattern.
template <class T> class NumericSetup : Context {
public:
  NumericSetup(const Context &context, std::vector<Level<T>> &levels, multigrid::ExactSolver<T> &coarsest) :
    Context(context), levels_(levels), coarsest_(coarsest)
  {
  }
  // perm, place: the node of each row of the first level, and where its diagonal stands in the matrix. scale: the
  // operators are those of the matrix times this. singular: constants are in its null space.
  Failure  run(const Buffer<int> &perm, const Buffer<Diagonal> &place, double scale, bool singular);
  void     find_coarse_parts(); // after run(): functions of parts in the smoothers of coarse grids
  // The same from a level on whose values are those of some of its unknowns, or turned: of directions of nodes' own.
  Failure  run_truncated(int top, const Buffer<int> &perm, const Buffer<Diagonal> &place, double scale, bool turned);
  void     product(Level<T> &fine, Level<T> &coarse);
  void     block_values(Level<T> &level); // the inverses of the blocks of Gauss-Seidel
  void     transpose_pattern(Level<T> &level);
  void     transpose_values(Level<T> &level);
  bool     filtered() const { return filtered_; }
  void     join_bodies(bool join) { joins_bodies_ = join; } // on the mesh
  bool     anew() const { return anew_; }
  bool     convective() const { return convective_; }
  bool     symmetric() const { return symmetric_; }
  bool     asymmetric(Level<T> &level, T *x, T *y);
  bool     difficult() const { return filtered_ || convective_; } // needs W-cycles and more smoothing
  int      degree() const;
  uint64_t setups() const { return setups_; }
  size_t   bytes() const { return parts_.bytes() + old_.bytes() + sums_.bytes() + sizes_.bytes(); }
  T       *row_sums(size_t unknowns); // where run() expects them before rounding; nullptr: it needs none

private:
  bool    jumps();
  void    look_for_jumps(bool stay);
  void    filter(Level<T> &level);
  StrongCouplings            strong_couplings(Level<T> &level);
  Buffer<unsigned char>      find_pockets(Level<T> &level, const T *inverse);
  std::vector<NamedCoupling> take_shared(Level<T> &level, StrongCouplings &couplings,
                                         std::map<long long, int> &columns);
  void    order_unknowns(const Level<T> &level, StrongCouplings &couplings);
  void    list_blocks(Level<T> &level, const SharedBlocks &shared, const Clusters &own, const Buffer<int> &unknown);
  void    prepare_blocks(Level<T> &level, bool keep);
  void    find_blocks(Level<T> &level);
  void    invert_blocks(Level<T> &level);
  void    drop_rounding(Level<T> &level);
  void    stabilise(Level<T> &level);
  bool    needs_sums() const { return sizeof(T) < sizeof(double) && (params_.bs == 1 || params_.falls_back); }
  void    correct_sums(Level<T> &fine, Level<T> &coarse);
  void    raise_nearly_null(Level<T> &fine, Level<T> &coarse);
  void    restrict_kept(Level<T> &fine, Level<T> &coarse, Buffer<T> &kept);
  void    prepare_statistics();
  void    reduce_statistics(const std::vector<size_t> &at, MPI_Op how);
  void    join_changes(Buffer<double> &found) const;
  void    diagonal(Level<T> &level, int number, const Buffer<int> &perm, const Buffer<Diagonal> &place);
  void                       lanczos(const std::vector<int> &grids, int first, int end);
  Buffer<double>             estimate(std::vector<int> grids);
  double  change_of(int number, const double *found) const;
  void    bound_change(Level<T> &level, int number);
  void    take_eigenvalue(int number, const double *found, double scale, Failure &failure);
  void    bound_eigenvalue(int number, const double *found);
  void    set_polynomial(Level<T> &level) const;
  bool    sweep_last();
  Failure invert(double swept);
  std::vector<Level<T>>     &levels_;
  multigrid::ExactSolver<T> &coarsest_;
  Buffer<T>                  parts_;            // on the device: of all leaves' products
  Buffer<T>                  sums_, sizes_;     // of a grid's rows; of what their diagonals were added up from
  Buffer<double>             statistics_;       // what the grids' operators are checked by, and their eigenvalues
  uint64_t                   setups_   = 0;     // counts changes of what recorded cycles hold
  bool                       filtered_ = false; // the interpolation is smoothed
  bool                       anew_ = true;      // the last run() met a matrix of another shape
  bool                       jumps_in_space_ = false; // where only the degree of the smoother follows from it
  bool                       joins_bodies_ = false;   // (bodies.k.cxx)
  bool                       symmetric_ = true, convective_ = false; // asymmetry outweighs diffusion on some grid
  Buffer<T>                  old_; // values of a grid before; stays on a device, whose driver takes 0.2 ms for it
};

template <class T> class Hierarchy : Context {
public:
  using Context::Context;
  // x: coordinates of own nodes, `dim` each, in the memory of `where`; owner and index: of the ghost nodes, the
  // process and the node there.
  Failure setup(const Rows &rows, const double *x, const std::vector<int> &owner, const std::vector<int> &index,
                bool stretch, Space where = Space::host);
  // The same pattern and coordinates with other values. False: only setup() helps, as Dirichlet rows or bodies
  // (bodies.k.cxx) are others.
  bool refresh(const Rows &rows, Failure &failure);
  // z = B r, or B' r. Between the first application of the transpose and the next setup both take memory.
  void   apply(const double *r, double *z, bool transposed = false) { apply(1, r, 0, z, 0, transposed); }
  // The same of so many vectors, which begin stride_r and stride_z numbers apart: linear cycles with Chebyshev's or
  // Jacobi's smoother read the operators once for 8, 4 or 2 of them, for 4 where a node has several unknowns; the
  // transposed ones take one after the other.
  void apply(int vectors, const double *r, ptrdiff_t stride_r, double *z, ptrdiff_t stride_z, bool transposed = false);
  // z = B r, of one process, as part of what another hierarchy does and may record: it makes no memory, which
  // make_several() does before.
  template <class V> void precondition(const V *r, V *z);
  template <class V> void make_several();
  bool   linear() const { return params_.cycle != Cycle::k || levels_.size() < 3; } // with two grids K is V
  size_t bytes() const;
  double work() const; // multiplications of an application on this process
  Peers *peers() const { return peers_.get(); } // where devices write into each other's memory
  const Exec                 &exec() const { return exec_; }
  int                         dim() const { return params_.dim; }
  const std::vector<Level<T>> &levels() const { return levels_; }
  const multigrid::ExactSolver<T> &coarsest() const { return coarsest_; }
  double                      scale(int q) const { return frame_.factor[q] / frame_.factor[0]; }
  // right-hand sides, by their largest number
  bool                        normalises() const { return sizeof(T) < sizeof(double) && strategy_->normalises_floats; }
  double                      units() const { return scale_; } // the operators are those of the matrix times this
  double                      constrained() const { return constrained_.total; }
  double                      parts() const { return levels_[0].blocks.part_functions.count(); }
  double                      crowded() const { return crowded_; } // nodes in cells of too many that cannot be split
  bool                        filtered() const { return numeric_.filtered(); }
  bool                        convective() const { return numeric_.convective(); }
  bool                        symmetric() const { return numeric_.symmetric(); }
  Cycle cycle_kind() const
  {
    return params_.cycle != Cycle::automatic ? params_.cycle
         : amli_                             ? Cycle::amli
         : numeric_.difficult()              ? Cycle::w
                                             : Cycle::v;
  }
  // of level l + 1 in a visit of level l: the last grid once. A level with an inner Krylov iteration counts as one
  int visits(Cycle cycle, int l) const { return l + 1 >= last() || l >= twice_ ? 1 : multigrid::visits(cycle); }
  // the same, with as many visits of such a level as its iteration has steps
  int visits(int l) const
  {
    if (l + 1 >= last()) return 1;
    if (params_.cycle == Cycle::k) return params_.inner;
    if (cycle_kind() == Cycle::amli) return levels_[(size_t)l + 1].amli_weight > 0 ? 2 : 1;
    return visits(cycle_kind(), l);
  }
  int twice() const { return std::min(twice_, last() - 1); } // so many grids of a W-cycle visit the next one twice
  const Buffer<int>          &order() const { return perm_; } // the matrix' node of each row of the mesh's operator
  int                         degree() const { return numeric_.degree(); }

  // --- for problems with bounds, whose unknowns do not all take part (truncate.k.cxx) ---
  Level<T>                   &level(int l) { return levels_[(size_t)l]; }
  int                         last() const { return (int)levels_.size() - 1; }
  const DirichletRows        &constrained_rows() const { return constrained_; }
  const Buffer<int>          &place_of() const { return where_; } // of each node of the matrix in the first level
  void                        forget_truncation(); // all unknowns take part again
  // The operators from level l on become those of the unknowns of that level that `free` marks, ghosts included.
  // reflect: nullptr or a vector v for each node of the mesh, ghosts included; where it is not zero the unknowns are
  // the components of (1 - 2 v v') x, and the operators stay those for x.
  Failure truncate(int l, const unsigned char *free, const T *reflect = nullptr);
  // coarse = the largest number of `fine` over the support of each function of level l + 1 (-INFINITY: there is none)
  void    largest_in_support(int l, const T *fine, T *coarse);
  // f() with the values that level l has without that.
  template <class F> void with_whole(int l, const F &f)
  {
    const bool swapped = truncated_ >= 0 && l >= truncated_;
    if (swapped) swap_values(l);
    f(levels_[(size_t)l]);
    if (swapped) swap_values(l);
  }
  void solve(int l);                // x of level l = about A^-1 b by one cycle
  void restrict_residual(int l);    // b of level l + 1 = P' (b - A x) of level l
  void prolong(int l);              // adds P x of level l + 1 to x of level l
  // b of the mesh -= what couplings with Dirichlet rows make of x there, ghosts included
  template <class V> void subtract_constrained(const V *x, V *b);

private:
  void    read_pattern(const Rows &rows);
  double  fill(const Rows &rows, const T *before, const T *now, double rescaled);
  bool    reread(const Rows &rows, Failure &failure); // false: other rows are Dirichlet rows
  void    couplings(const Rows &rows);
  bool    bodies_moved();
  Failure find_constrained(const Rows &rows);
  void    stretch_frame(const Rows &rows, const Buffer<double> &x);
  void    vectors(int l);
  void    join();
  bool    all_join() const;
  template <class V> bool direct() const;
  void    turn();
  void    make_transpose();
  void    transpose_one_sided();
  void                           store_constrained_transposed(const double *r, double scale, double *z);
  template <class V>
  void apply_group(const double *r, ptrdiff_t stride_r, double *z, ptrdiff_t stride_z, bool transposed);
  template <class V> struct  Grids;
  struct CycleSpace;
  Spectrum                   spectrum(int l, int steps);
  void                       choose_cycle();
  bool                       choose_visits();
  template <class V> void    cycle(bool begun, int top = 0, bool recorded = true);
  Frame                 frame_;
  std::vector<Level<T>> levels_;
  multigrid::ExactSolver<T> coarsest_;
  NumericSetup<T>       numeric_{*this, levels_, coarsest_};
  // node of each row of the first level; of each node, ghosts included, the row, and its body or nothing
  Buffer<int>           perm_, where_, bodies_;
  DirichletRows              constrained_;
  OneSidedCouplings     one_sided_;
  // where it stands in each row of the matrix: on the host for nodes of one unknown, else empty
  Buffer<Diagonal>      diagonal_;
  double                crowded_ = 0, proved_ = 0; // with such energies of parts a trial went well
  bool                  transposed_ = false;   // the grids' operators and their transposes have changed places
  uint64_t              transposes_ = 0;     // of which numeric setup these are
  Graph                 graphs_[2][4];     // of the cycle on a device, and of its transpose, of 1, 2, 4, 8 vectors
  bool                  constants_ = false; // are in its null space
  bool                  amli_      = false; // V-cycles are slow
  int                   twice_     = INT_MAX; // so many grids of a W-cycle, from the mesh on, visit the next one twice
  bool                  rounded_   = false; // values lose to T what the matrix does with a constant, or do not suit it
  double                scale_     = 1;     // a power of two: the operators are those of the matrix times this
  struct Values {
    Buffer<T> a, inverse;
    double    lambda = 0;
  };
  void                  swap_values(int l);
  void                  take_common_diagonal(const T *reflect);
  int                   truncated_ = -1; // the first level with other values than before truncate()
  std::vector<Values>   other_;          // these, or those before
  std::shared_ptr<Peers> peers_;
  DirectSum              whole_; // of the first grid that all processes have all of
};

// coarse.a += what the leaves [l0, l1) have of P'AP
template <class T> void product_on_host(int bs, const Level<T> &fine, int l0, int l1, Level<T> &coarse);

} // namespace tessera::tree
