// The systems of the interior-point method for friction: D W D plus blocks of contacts, factorised by the first process
// for all. Where most of W is zero, as in packings, whose contacts share few bodies, by a sparse solver, else by
// LAPACK.
#pragma once
#include "densegs/lcp.hpp"
#include "densegs/sparse_lu.hpp"
#include <memory>

namespace tessera::lcp {

class FrictionSystem {
public:
  // d unknowns a contact; D: a diagonal. Collective.
  FrictionSystem(const Matrix &m, int d, const std::vector<double> &D);

  // D W D + blocks, which are d x d each, by columns, one after the other; false: singular. Collective.
  bool factorise(const std::vector<double> &blocks);
  void solve(std::vector<double> &b); // b := its solution. Collective.
  // false: its dense factors would take too much time; the same on all processes
  bool affordable() const { return affordable_; }

private:
  void gather();
  void compress(const double *w, ptrdiff_t lda);
  void compress_columns();
  void fill_sparse(const std::vector<double> &blocks);
  void fill_dense(const std::vector<double> &blocks);

  const Matrix                       &m_;
  const int                           d_;
  const std::vector<double>          &D_;
  std::vector<double>                 gathered_;       // W of several processes, or of a device
  const double                       *w_   = nullptr;  // W, where the first process takes LAPACK
  ptrdiff_t                           lda_ = 0;
  std::unique_ptr<densegs::SparseLU>  sparse_;
  std::vector<double>                 scaled_;         // D W D in the order of its entries
  Factorisation                       dense_;
  bool                                affordable_ = true;
};

} // namespace tessera::lcp
