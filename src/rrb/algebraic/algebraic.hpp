// Algebraic multigrid below S1, for coefficients that jump without order over more than four decades: no grid of
// every second node has a node in each cluster that strong couplings tie together. Coarse nodes are a maximal
// independent set of the strong couplings (PMIS: H. De Sterck, U. M. Yang, J. J. Heys, SIAM J. Matrix Anal. Appl. 27,
// 2006), the interpolation reaches coarse nodes over one more strong coupling (extended+i: H. De Sterck, R. D.
// Falgout, J. W. Nolting, U. M. Yang, Numer. Linear Algebra Appl. 15, 2008). On the host.
//
// On several processes each has its rows. Coarse nodes, interpolation and products are the same on any number of
// them; sweeps are not: a process takes its neighbours' values as they were before, and half of the absolute values
// of couplings between processes is added to the diagonal, so that the cycle stays symmetric and positive definite
// (A. H. Baker, R. D. Falgout, T. V. Kolev, U. M. Yang, SIAM J. Sci. Comput. 33, 2011). A small level goes to every
// process.
#pragma once
#include "box/dense.hpp"
#include "rrb/algebraic/distribution.hpp"

namespace tessera::rrb {

// A symmetric matrix by rows, and the interpolation from the next level. Entries before the diagonal one have smaller
// columns, those behind it larger ones, but for the finest level. Nodes of other processes have numbers behind the
// own ones', their rows follow the own rows.
struct AlgebraicLevel {
  int                   n = 0;            // own nodes
  int                   columns = 0;      // nodes of the next level that occur in P and A P
  double                nodes = 0, entries = 0, weights = 0; // of all processes
  Buffer<int>           i, j, diagonal;   // beginnings of rows, columns; place of the diagonal entry
  Buffer<double>        a, inverse;       // values, inverse diagonal in sweeps
  Buffer<double>        more;             // several processes: what the diagonal has more in sweeps
  Buffer<unsigned char> strong;           // 1 for entries that tie the row's node to the column's
  Buffer<int>           coarse;           // number on the next level, else `fine` or `alone`
  Buffer<int>           pi, pj, ri, rj, rp; // P by rows; P' by rows: columns, and places in P
  Buffer<double>        p;
  Buffer<double>        x, b;             // solution, not on the finest level; right-hand side, there the residual
  // of nodes on the finest level, counted over all processes: they stand for chance
  std::vector<int>      number;
  std::unique_ptr<AlgebraicDistribution> distribution; // on several processes
  size_t                bytes() const;
  int                                    ghosts() const { return distribution ? distribution->ghosts.ghosts() : 0; }
  // the next level is the same on every process
  bool gathered() const { return distribution && !distribution->nodes.empty(); }
};

class Algebraic {
public:
  // Memory for the finest level's matrix of n rows, which the caller fills: i, j, diagonal, a. With known() only `a`
  // changes.
  AlgebraicLevel &start(int n, size_t entries);
  // Once these are there: columns from n on are these nodes of other processes. The caller has filled `number` too.
  // The first level of at most so many nodes goes to every process. Collective.
  void            distribute(const Comm &comm, const AlgebraicNumbering &numbering, long redundant);
  bool            known() const { return known_; }
  AlgebraicLevel &finest() { return levels_[0]; }
  // The levels of this matrix; of an earlier one they stay, with other values. False: nothing can be done, and
  // nothing is left. Collective.
  bool   setup();
  void   clear() { *this = Algebraic(); }
  bool   empty() const { return levels_.empty(); }
  // P'b of these rows of the finest level is added to the next one's, which the first ones zero
  void   restrict_rows(int begin, int end);
  void   cycle() { cycle(1); }              // from the right-hand side of the next level to its solution. Collective
  const std::vector<AlgebraicLevel> &levels() const { return levels_; }
  int    below() const;       // number of levels but the finest, however many processes there are
  const AlgebraicLevel &below(int number) const; // from 1 on: as it is worked on
  size_t bytes() const;
  double entries() const;     // of all levels but the finest, on all processes
  double bytes_moved() const; // by an application, on all processes

private:
  enum { fine = -1, alone = -2 };
  std::vector<double> strengths(AlgebraicLevel &l) const;
  int                 split(AlgebraicLevel &l, int number) const;
  void                interpolation_pattern(AlgebraicLevel &l, AlgebraicNumbering &numbering) const;
  void                interpolate(AlgebraicLevel &l) const;
  void                product_pattern(AlgebraicLevel &l, const int *begin, int *column, AlgebraicNumbering &numbering,
                                      AlgebraicLevel &next) const;
  void                product(AlgebraicLevel &l, AlgebraicNumbering *numbering, AlgebraicLevel &next) const;
  // on several processes (distribution.cxx)
  void                rows_of_ghosts(AlgebraicLevel &l) const;
  void                weights_of_ghosts(AlgebraicLevel &l, AlgebraicNumbering &numbering) const;
  void                distribute_next(AlgebraicLevel &l, const AlgebraicParts &parts, int *column, size_t products,
                                      AlgebraicNumbering &numbering, AlgebraicLevel &next) const;
  void                gather_pattern(AlgebraicLevel &l, AlgebraicLevel &next) const;
  void                gather_values(const AlgebraicLevel &l, AlgebraicLevel &next) const;
  void                invert_diagonal(AlgebraicLevel &l) const;
  bool                factor();
  void                forwards(AlgebraicLevel &l) const;
  void                backwards(AlgebraicLevel &l) const;
  void                cycle(size_t l);
  std::vector<AlgebraicLevel> levels_;
  Band                        last_; // the exact factorisation of the last level, unless
  bool                        loose_ = false; // nothing ties its nodes together
  bool                        known_ = false;
  long                        redundant_ = 0;
};

} // namespace tessera::rrb
