// Gauss-Seidel by colours, of nodes or of blocks whose inverses are kept.
#include "tree/hierarchy.hpp"
#include "tree/smoother/invert.hpp"
#include "tree/rows.hpp"
#include <climits>
#include <stdexcept>

namespace tessera::tree {

namespace {

//--- the inverses of the blocks ---------------------------------------------------------------------------------------

// The size of the block of each node times b2, and of each block.
struct RowLength {
  const int *begin, *block;
  int        b2;
  int       *length, *largest;
  HD void    operator()(int p) const
  {
    const int m = begin[block[p] + 1] - begin[block[p]];
    length[p]   = m * b2;
    raise_to(largest, m);
  }
};
struct BlockLength {
  const int *begin;
  int        bs;
  int       *length;
  HD void    operator()(int b) const
  {
    const int m = (begin[b + 1] - begin[b]) * bs;
    length[b]   = m * m;
  }
};

// The rows of the nodes in the matrices of their blocks.
template <class T> struct FillRows {
  const int *i, *j, *begin, *local, *block, *place, *at; // local: of own nodes among the blocks here, block: among all
  const T   *a;
  int        bs;
  double    *dense;
  HD void    operator()(int p) const
  {
    const int     b = local[p], width = (begin[b + 1] - begin[b]) * bs;
    double *const row = dense + at[b] + (ptrdiff_t)place[p] * bs * width;
    for (int e = i[p]; e < i[p + 1]; ++e) {
      if (block[j[e]] != block[p]) continue;
      for (int k = 0; k < bs; ++k)
        for (int l = 0; l < bs; ++l) row[k * width + place[j[e]] * bs + l] += a[((ptrdiff_t)e * bs + k) * bs + l];
    }
  }
};
// Rows of own nodes to messages of one length, and those of partners from them.
struct PackRows {
  const int    *begin, *local, *place, *at;
  const double *dense;
  int           bs, width;
  double       *rows;
  HD void       operator()(int p) const
  {
    const int b = local[p], n = (begin[b + 1] - begin[b]) * bs * bs;
    for (int k = 0; k < n; ++k) rows[(ptrdiff_t)p * width + k] = dense[at[b] + (ptrdiff_t)place[p] * n + k];
  }
};
struct UnpackRows {
  const int    *begin, *member, *at;
  const double *rows;
  int           bs, width, own;
  double       *dense;
  HD void       operator()(int b) const
  {
    const int n = (begin[b + 1] - begin[b]) * bs * bs;
    for (int m = begin[b]; m < begin[b + 1]; ++m)
      for (int k = 0; k < n && member[m] >= own; ++k)
        dense[at[b] + (ptrdiff_t)(m - begin[b]) * n + k] = rows[(ptrdiff_t)member[m] * width + k];
  }
};
template <class T> struct InvertBlock {
  const int *begin, *at;
  int        bs;
  double    *dense;
  HD void    operator()(int b) const
  {
    invert_block<max_aggregate>(dense + at[b], (begin[b + 1] - begin[b]) * bs, dead_pivot<T>);
  }
};
template <class T> struct TakeRows {
  const int    *begin, *local, *place, *at, *row;
  const double *dense;
  T            *inverse;
  HD void       operator()(int p) const
  {
    const int n = row[p + 1] - row[p];
    for (int k = 0; k < n; ++k) inverse[row[p] + k] = (T)dense[at[local[p]] + (ptrdiff_t)place[p] * n + k];
  }
};

//--- sweeps -----------------------------------------------------------------------------------------------------------

// s = b - A x in the rows of a node; own: its block in the matrix
template <class T, int BS>
HD inline void residual(const int *i, const int *j, const T *a, const T *x, const T *b, int p, T *s, const T *&own)
{
  own = nullptr;
  for (int k = 0; k < BS; ++k) s[k] = b[(ptrdiff_t)BS * p + k];
  for (int e = i[p]; e < i[p + 1]; ++e) {
    const T *const v = a + (ptrdiff_t)BS * BS * e, *const y = x + (ptrdiff_t)BS * j[e];
    own = j[e] == p ? v : own;
    for (int k = 0; k < BS; ++k)
      for (int m = 0; m < BS; ++m) s[k] -= v[BS * k + m] * y[m];
  }
}

// The unknowns of a node one after the other, backward from the last. Per node its row of the matrix.
template <class T, int BS> struct SweepNodes {
  const int *order, *i, *j;
  const T   *a, *inverse, *b;
  T         *x;
  bool       backward;
  HD void    operator()(int o) const
  {
    const int p = order[o];
    T         s[BS];
    const T  *own;
    residual<T, BS>(i, j, a, x, b, p, s, own);
    for (int step = 0; step < BS && own; ++step) {
      const int k = backward ? BS - 1 - step : step;
      const T   d = inverse[(ptrdiff_t)BS * p + k] * s[k];
      x[(ptrdiff_t)BS * p + k] += d;
      for (int m = 0; m < BS; ++m) s[m] -= own[BS * m + k] * d;
    }
  }
};
template <class T, int BS> struct ResidualOf {
  const int *order, *i, *j;
  const T   *a, *b, *x;
  T         *r;
  HD void    operator()(int o) const
  {
    const int p = order[o];
    T         s[BS];
    const T  *own;
    residual<T, BS>(i, j, a, x, b, p, s, own);
    for (int k = 0; k < BS; ++k) r[(ptrdiff_t)BS * p + k] = s[k];
  }
};
// x += A_bb^-1 r. Per node its rows of the inverse.
template <class T, int BS> struct SolveBlocks {
  const int *order, *begin, *local, *member, *row; // member: nullptr: own nodes in their order
  const T   *inverse, *r;
  T         *x;
  HD void    operator()(int o) const
  {
    const int      p = order[o], b = local[p], first = begin[b], n = begin[b + 1] - first;
    const T *const mine = inverse + row[p];
    T              s[BS] = {};
    for (int q = 0; q < n; ++q) {
      const ptrdiff_t from = (ptrdiff_t)BS * (member ? member[first + q] : first + q);
      for (int k = 0; k < BS; ++k)
        for (int m = 0; m < BS; ++m) s[k] += mine[k * n * BS + q * BS + m] * r[from + m];
    }
    for (int k = 0; k < BS; ++k) x[(ptrdiff_t)BS * p + k] += s[k];
  }
};

} // namespace

template <class T> void NumericSetup<T>::block_values(Level<T> &level)
{
  GaussSeidel<T> &s = level.sweep;
  const int  points = level.points, bs = params_.bs, b2 = bs * bs;
  const int *local = s.local.empty() ? s.block.data() : s.local.data();
  Buffer<int> at = make<int>((size_t)s.blocks + 1), widest = make<int>(1);
  s.row          = make<int>((size_t)points + 1);
  for_each(exec_, points, RowLength{s.begin.data(), local, b2, s.row.data(), widest.data()});
  for_each(exec_, s.blocks, BlockLength{s.begin.data(), bs, at.data()});
  const int      entries = scan(exec_, points, s.row), all = scan(exec_, s.blocks, at);
  Buffer<double> dense = make<double>((size_t)all);
  for_each(exec_, points,
           FillRows<T>{level.i.data(), level.j.data(), s.begin.data(), local, s.block.data(), s.place.data(), at.data(),
                       level.a.data(), bs, dense.data()});
  if (level.distributed) {
    int width = fetch(widest, 0) * b2;
    MPI_Allreduce(MPI_IN_PLACE, &width, 1, MPI_INT, MPI_MAX, comm_);
    const double message_bytes =
      (double)s.partners * width * sizeof(double); // bytes of a message are counted in an int
    if (total(message_bytes > INT_MAX))
      throw std::length_error("PC auxamg: blocks of block_gs lie on several processes at more nodes than messages have "
                              "room for. Use -pc_auxamg_smoother gs");
    Buffer<double> rows = make<double>((size_t)(level.n + s.partners) * (size_t)width);
    for_each(exec_, points,
             PackRows{s.begin.data(), local, s.place.data(), at.data(), dense.data(), bs, width, rows.data()});
    s.exchange.forward(rows.data(), width);
    for_each(exec_, s.blocks,
             UnpackRows{s.begin.data(), s.member.data(), at.data(), rows.data(), bs, width, level.n, dense.data()});
  }
  for_each(exec_, s.blocks, InvertBlock<T>{s.begin.data(), at.data(), bs, dense.data()});
  s.inverse = make<T>((size_t)entries);
  for_each(exec_, points,
           TakeRows<T>{s.begin.data(), local, s.place.data(), at.data(), s.row.data(), dense.data(), s.inverse.data()});
}

template <class T> void GaussSeidel<T>::apply(Level<T> &level, bool from_zero, Direction direction)
{
  const int  bs = level.bs, colours = (int)first.size() - 1;
  const int *in_block = local.empty() ? block.data() : local.data(),
            *members  = member.empty() ? nullptr : member.data(), *i = level.i.data(), *j = level.j.data();
  const T   *a = level.a.data(), *b = level.work.b.data();
  T         *x = level.work.x.data(), *residual = level.distributed && exact ? r.data() : level.work.r.data();
  if (from_zero) for_each(level.exec, (level.n + level.ghosts) * bs, Clear<T>{x});
  else level.halo(x);
  for (int step = 0; step < steps; ++step)
    for (const Direction way : {forward, backward}) {
      if (!(direction & way)) continue;
      for (int k = 0; k < colours; ++k) {
        const int  c = way == forward ? k : colours - 1 - k, n = first[(size_t)c + 1] - first[(size_t)c];
        const int *nodes = order.data() + first[(size_t)c];
        with_block(bs, [&](auto width) {
          if (!exact)
            return for_each(level.exec, n,
                            SweepNodes<T, width.value>{nodes, i, j, a, level.inverse.data(), b, x, way == backward});
          for_each(level.exec, n, ResidualOf<T, width.value>{nodes, i, j, a, b, x, residual});
          if (level.distributed) exchange.forward(residual, bs);
          for_each(level.exec, n, SolveBlocks<T, width.value>{nodes, begin.data(), in_block, members, row.data(),
                                                              inverse.data(), residual, x});
        });
        level.halo(x);
      }
    }
}

#define INSTANTIATE(T) \
  template void NumericSetup<T>::block_values(Level<T> &); \
  template void GaussSeidel<T>::apply(Level<T> &, bool, Direction);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
