// The numbers of P'AP on the host; pattern.k.cxx says what the lists are.
#include "tree/hierarchy.hpp"
#include "tree/dispatch.hpp"
#include <algorithm>

namespace tessera::tree {

namespace {

// Numbers at the corners of a leaf, in vectors that the machine has: g++ does not find them by itself, and makes poor
// ones of longer types.
template <class T, int N> struct AtCorners {
  static constexpr int max_lanes = 32 / (int)sizeof(T), lanes = N < max_lanes ? N : max_lanes, parts = N / lanes;
  typedef T            Vector __attribute__((vector_size(lanes * sizeof(T)), aligned(sizeof(T)), may_alias));
  Vector               v[parts];
  AtCorners() : v{} { }
  explicit AtCorners(const T *from)
  {
    for (int k = 0; k < parts; ++k) v[k] = ((const Vector *)from)[k];
  }
  void add(T factor, const AtCorners &o)
  {
    for (int k = 0; k < parts; ++k) v[k] += factor * o.v[k];
  }
  T at(int c) const { return ((const T *)v)[c]; }
};

// E of a leaf, column by column in scratch, and added to the rows at once. First a row of A P of a node is added up
// for each leaf that its entries lead to, then these leaves are taken one after the other: entries of a row lead from
// leaf to leaf and back. BS: unknowns a node, or any_number.
template <class T, class S, int BS, int Corners> struct LeafProduct {
  using Corners_ = AtCorners<T, Corners>;
  static constexpr int at_once = 64, ahead = 16; // leaves; entries
  const int *begin, *i, *j, *pairs, *columns, *vertex, *row;
  const S   *pair, *column, *slot;
  const T   *a, *weight;
  T         *out;
  int        entries; // of the operator
  int        block;   // numbers of an entry
  Corners_  *E, *ap;  // scratch; ap: of 64 leaves twice, zero before and after
  int        numbers() const { return BS ? BS * BS : block; }
  void       operator()(int l) const
  {
    const int B2 = numbers(), nc = columns[l + 1] - columns[l], around = pairs[l + 1] - pairs[l];
    std::fill(E, E + (ptrdiff_t)B2 * nc, Corners_());
    const bool usual = around <= at_once && i[begin[l + 1]] + ahead <= entries;
    for (int p = begin[l]; p < begin[l + 1]; ++p) {
      if (usual) add_row<true>(p, pairs[l], 0);
      else
        for (int first = 0; first < around; first += at_once) add_row<false>(p, pairs[l], first);
    }
    for (int c = 0; c < Corners; ++c) {
      const int v = vertex[(ptrdiff_t)Corners * l + c];
      if (v < 0) continue;
      const S *const       s    = slot + (ptrdiff_t)Corners * columns[l] + c * nc;
      const Corners_ *const from = E;
      T *const             to   = out + (ptrdiff_t)B2 * row[v];
#pragma GCC unroll 4
      for (int k = 0; k < nc; ++k)
        if (s[k] != no_slot<S>)
          for (int b = 0; b < B2; ++b) to[B2 * s[k] + b] += from[B2 * k + b].at(c);
    }
  }
  // E += what row p has with the leaves [first, first + at_once) of the list; Usual: there are no others, and so many
  // entries behind the row
  template <bool Usual> void add_row(int p, int list, int first) const
  {
    const int  B2 = numbers();
    uint64_t   touched = 0;
    const auto add     = [&](int e, Corners_ *to_ap) {
      const unsigned to = (unsigned)(pair[e] - first);
      if (!Usual && to >= at_once) return;
      if (Usual) __builtin_prefetch(weight + (ptrdiff_t)Corners * j[e + ahead]);
      const Corners_ w(weight + (ptrdiff_t)Corners * j[e]);
      const T *const v = a + (ptrdiff_t)B2 * e;
      for (int b = 0; b < B2; ++b) to_ap[B2 * to + b].add(v[b], w);
      touched |= (uint64_t)1 << to;
    };
    Corners_ *const other = ap + B2 * at_once;
    int            e = i[p];
    // neighbours mostly lead to one leaf, and would wait for each other
    for (; e + 1 < i[p + 1]; e += 2) add(e, ap), add(e + 1, other);
    if (e < i[p + 1]) add(e, ap);
    const Corners_ mine(weight + (ptrdiff_t)Corners * p);
    for (; touched; touched &= touched - 1) {
      const int      from = __builtin_ctzll(touched);
      const S *const to   = column + (ptrdiff_t)Corners * (list + first + from);
      for (int b = 0; b < B2; ++b) {
        Corners_ s = ap[B2 * from + b];
        s.add(1, other[B2 * from + b]);
        ap[B2 * from + b] = other[B2 * from + b] = Corners_();
        for (int c = 0; c < Corners; ++c) E[B2 * to[c] + b].add(s.at(c), mine);
      }
    }
  }
};

// The usual numbers of unknowns have kernels of their own; code for all would take longer to compile than it saves.
constexpr int any_number = 0;
template <int Corners, class F> void with_usual_block(int bs, const F &f)
{
  if (bs == 1) return f(Number<1>());
  if constexpr (Corners > 2) {
    if (bs == 2) return f(Number<2>());
    if (bs == 3) return f(Number<3>());
    if (bs == 6) return f(Number<6>());
  }
  f(Number<any_number>());
}

} // namespace

template <class T> void product_on_host(int bs, const Level<T> &fine, int l0, int l1, Level<T> &coarse)
{
  fine.product.with_lists([&](const auto &lists) {
    using S = std::remove_const_t<std::remove_pointer_t<decltype(lists.pair.data())>>;
    with_corners(fine.transfer.corners, [&](auto c) {
      with_usual_block<c.value>(bs, [&](auto b) {
        using Corners_  = AtCorners<T, c.value>;
        const size_t b2 = (size_t)(bs * bs);
        std::vector<Corners_>                     E(b2 * (size_t)fine.product.widest), ap(b2 * 128);
        const LeafProduct<T, S, b.value, c.value> kernel{fine.transfer.begin.data(),
                                                         fine.i.data(),
                                                         fine.j.data(),
                                                         fine.product.pairs.data(),
                                                         fine.product.columns.data(),
                                                         fine.transfer.vertex.data(),
                                                         coarse.i.data(),
                                                         lists.pair.data(),
                                                         lists.column.data(),
                                                         lists.slot.data(),
                                                         fine.a.data(),
                                                         fine.transfer.weight.data(),
                                                         coarse.a.data(),
                                                         (int)fine.j.size(),
                                                         bs * bs,
                                                         E.data(),
                                                         ap.data()};
        for (int l = l0; l < l1; ++l)
          if (fine.transfer.begin.data()[l] < fine.transfer.begin.data()[l + 1]) kernel(l);
      });
    });
  });
}

template void product_on_host(int, const Level<double> &, int, int, Level<double> &);
template void product_on_host(int, const Level<float> &, int, int, Level<float> &);

} // namespace tessera::tree
