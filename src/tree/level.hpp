// A level of a hierarchy: its operator, its transfer from the next grid, its smoother and the vectors of a cycle.
#pragma once
#include "tree/smoother/blocks.hpp"
#include "tree/params.hpp"
#include "tree/strategy.hpp"
#include "tree/cells/tree.hpp"
#include "exec/exchange.hpp"
#include "exec/index.hpp"
#include "exec/several.hpp"
#include "multigrid/chebyshev.hpp"
#include "multigrid/exact.hpp"
#include "multigrid/orthogonal.hpp"
#include <climits>
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

// A number of each unknown for random numbers. key: of the nodes; nullptr: their numbers stand for it.
HD inline uint64_t key_of_unknown(const Key *key, int bs, int p)
{
  const Key k = key ? key[p / bs] : (Key)(p / bs);
  return (k + 1) * 8 + (Key)(p % bs);
}

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

} // namespace tessera::tree
