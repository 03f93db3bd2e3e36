// Algebraic multigrid below S1, for coefficients that jump without order over more than four decades: no grid of every second node has a
// node in each cluster that strong couplings tie together. Coarse nodes are a maximal independent set of the strong couplings (PMIS: H. De
// Sterck, U. M. Yang, J. J. Heys, SIAM J. Matrix Anal. Appl. 27, 2006), the interpolation reaches coarse nodes over one more strong
// coupling (extended+i: H. De Sterck, R. D. Falgout, J. W. Nolting, U. M. Yang, Numer. Linear Algebra Appl. 15, 2008). On the host, one process.
#pragma once
#include "core/dense.hpp"

namespace tessera::rrb {

// A symmetric matrix by rows, and the interpolation from the next level. Entries before the diagonal one have smaller columns, those behind it
// larger ones, but for the finest level.
struct AlgebraicLevel {
  int                   n = 0;
  Buffer<int>           i, j, diagonal;   // beginnings of rows, columns; place of the diagonal entry
  Buffer<double>        a, inverse;       // values, inverse diagonal
  Buffer<unsigned char> strong;           // 1 for entries that tie the row's node to the column's
  Buffer<int>           coarse;           // number on the next level, else `fine` or `alone`
  Buffer<int>           pi, pj, ri, rj, rp; // P by rows; P' by rows: columns, and places in P
  Buffer<double>        p;
  Buffer<double>        x, b;             // solution, not on the finest level; right-hand side, there the residual
  size_t                bytes() const;
};

class Algebraic {
public:
  // Memory for the finest level's matrix of n rows, which the caller fills: i, j, diagonal, a. With known() only `a` changes.
  AlgebraicLevel &start(int n, size_t entries);
  bool            known() const { return known_; }
  AlgebraicLevel &finest() { return levels_[0]; }
  // The levels of this matrix; of an earlier one they stay, with other values. False: nothing can be done, and nothing is left.
  bool   setup();
  void   clear() { *this = Algebraic(); }
  bool   empty() const { return levels_.empty(); }
  void   restrict_rows(int begin, int end); // P'b of these rows of the finest level is added to the next one's, which the first ones zero
  void   cycle() { cycle(1); }                               // from the right-hand side of the next level to its solution
  const std::vector<AlgebraicLevel> &levels() const { return levels_; }
  size_t bytes() const;
  double entries() const;     // of all levels but the finest
  double bytes_moved() const; // by an application

private:
  enum { fine = -1, alone = -2 };
  std::vector<double> strengths(AlgebraicLevel &l) const;
  int                 split(AlgebraicLevel &l, int number) const;
  void                interpolation_pattern(AlgebraicLevel &l, int coarse) const;
  void                interpolate(AlgebraicLevel &l, int coarse) const;
  void                product_pattern(const AlgebraicLevel &l, const int *begin, const int *column, AlgebraicLevel &next) const;
  void                product(const AlgebraicLevel &l, AlgebraicLevel &next) const;
  void                invert_diagonal(AlgebraicLevel &l) const;
  bool                factor();
  void                forwards(AlgebraicLevel &l) const;
  void                backwards(AlgebraicLevel &l) const;
  void                cycle(size_t l);
  std::vector<AlgebraicLevel> levels_;
  Band                        last_; // the exact factorisation of the last level, unless
  bool                        loose_ = false; // nothing ties its nodes together
  bool                        known_ = false;
};

} // namespace tessera::rrb
