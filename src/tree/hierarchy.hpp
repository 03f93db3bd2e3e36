// Multigrid for unstructured meshes on auxiliary grids made from the coordinates of the nodes, after L. Wang,
// X. Hu, J. Cohen, J. Xu, A parallel auxiliary grid algebraic multigrid method for graphic processing units, SIAM J.
// Sci. Comput. 35(3), 2013. The paper's grids are uniform and its interpolation is piecewise constant, which needs a
// K-cycle and grows on graded meshes. It is here as a variant; by default the grids are the leaves of an adaptive
// tree with d-linear interpolation.
//
// Every operator is P'AP of the one before, exactly. The unknowns of a grid are sorted by the leaf of the next grid
// they are in, so restriction, prolongation and the products are loops over leaves without atomics.
#pragma once
#include "tree/parts/bodies.hpp"
#include "tree/level.hpp"
#include "tree/strategy.hpp"
#include "exec/direct.hpp"
#include "exec/graph.hpp"
#include <map>

namespace tessera::tree {

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
  void     set_body_functions(BodyFunctions of_mesh) { body_functions_ = of_mesh; } // (bodies.k.cxx)
  BodyFunctions body_functions() const { return body_functions_; }
  bool     anew() const { return anew_; }
  bool     convective() const { return convective_; }
  bool     symmetric() const { return symmetric_; }
  bool     asymmetric(Level<T> &level, const T *inverse, T *x, T *y);
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
  void    raise_nearly_null(Level<T> &fine, Level<T> &coarse, bool first); // first: of a run
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
  BodyFunctions              body_functions_ = BodyFunctions::none; // on the mesh
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
  BodyFunctions               body_functions() const { return numeric_.body_functions(); }
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
  void    set_scale(double largest, double least);
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
  Buffer<int>           perm_, where_;      // node of each row of the first level; row of each node, ghosts included
  Bodies                bodies_;            // of the mesh
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
  bool                  wide_      = false; // the range of T is too small for the diagonal entries
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
