// The numbers of P'AP on the host; pattern.k.cxx says what the lists are.
#include "auxamg/auxamg.hpp"
#include "auxamg/dispatch.hpp"
#include <algorithm>

namespace tessera::auxamg {

namespace {

// Numbers at the corners of a leaf, in vectors that the machine has: g++ does not find them by itself, and makes poor ones of longer types.
template <int N> struct AtCorners {
  static constexpr int lanes = N < 4 ? N : 4, parts = N / lanes;
  typedef double       Vector __attribute__((vector_size(lanes * sizeof(double)), aligned(8), may_alias));
  Vector               v[parts];
  AtCorners() : v{} { }
  template <class T> explicit AtCorners(const T *from)
  {
    for (int k = 0; k < parts; ++k) take(from + k * lanes, v[k]);
  }
  void add(double factor, const AtCorners &o)
  {
    for (int k = 0; k < parts; ++k) v[k] += factor * o.v[k];
  }
  double at(int c) const { return ((const double *)v)[c]; }
  static void take(const double *from, Vector &to) { to = *(const Vector *)from; }
  static void take(const float *from, Vector &to)
  {
    for (int c = 0; c < lanes; ++c) ((double *)&to)[c] = from[c];
  }
};

// E of a leaf, column by column in scratch, and added to the rows at once. First a row of A P of a node is added up for each leaf that its
// entries lead to, then these leaves are taken one after the other: entries of a row lead from leaf to leaf and back.
template <class T, class S, int BS, int Corners> struct LeafProduct {
  using Numbers = AtCorners<Corners>;
  static constexpr int B2 = BS * BS, ahead = 16;
  const int *begin, *i, *j, *pairs, *columns, *vertex, *row;
  const S   *pair, *column, *slot;
  const T   *a, *weight;
  T         *out;
  int        entries; // of the operator
  Numbers   *E, *ap;  // scratch; ap: of 64 leaves, zero before and after
  void       operator()(int l) const
  {
    const int nc = columns[l + 1] - columns[l], around = pairs[l + 1] - pairs[l];
    std::fill(E, E + (ptrdiff_t)B2 * nc, Numbers());
    for (int p = begin[l]; p < begin[l + 1]; ++p)
      for (int first = 0; first < around; first += 64) { // nearly always one turn
        uint64_t touched = 0;
        for (int e = i[p]; e < i[p + 1]; ++e) {
          const unsigned to = (unsigned)(pair[e] - first);
          if (to >= 64) continue;
          if (e + ahead < entries) __builtin_prefetch(weight + (ptrdiff_t)Corners * j[e + ahead]); // a quarter of the time otherwise
          const Numbers  w(weight + (ptrdiff_t)Corners * j[e]);
          const T *const v = a + (ptrdiff_t)B2 * e;
          for (int b = 0; b < B2; ++b) ap[B2 * to + b].add(v[b], w);
          touched |= (uint64_t)1 << to;
        }
        const Numbers mine(weight + (ptrdiff_t)Corners * p);
        for (; touched; touched &= touched - 1) {
          const int      from = __builtin_ctzll(touched);
          const S *const to   = column + (ptrdiff_t)Corners * (pairs[l] + first + from);
          for (int b = 0; b < B2; ++b) {
            const Numbers s   = ap[B2 * from + b];
            ap[B2 * from + b] = Numbers();
            for (int c = 0; c < Corners; ++c) E[B2 * to[c] + b].add(s.at(c), mine);
          }
        }
      }
    for (int c = 0; c < Corners; ++c) {
      const int v = vertex[(ptrdiff_t)Corners * l + c];
      if (v < 0) continue;
      const S *const s  = slot + (ptrdiff_t)Corners * columns[l] + c * nc;
      T *const       to = out + (ptrdiff_t)B2 * row[v];
      for (int k = 0; k < nc; ++k)
        if (s[k] != no_slot<S>)
          for (int b = 0; b < B2; ++b) to[B2 * s[k] + b] += (T)E[B2 * k + b].at(c);
    }
  }
};

} // namespace

template <class T> void product_on_host(int bs, const Level<T> &fine, int l0, int l1, Level<T> &coarse)
{
  fine.with_lists([&](const auto &lists) {
    using S = std::remove_const_t<std::remove_pointer_t<decltype(lists.pair.data())>>;
    with_block(bs, [&](auto b) {
      with_corners(fine.corners, [&](auto c) {
        using Numbers = AtCorners<c.value>;
        constexpr size_t     b2 = b.value * b.value;
        std::vector<Numbers> E(b2 * (size_t)fine.widest), ap(b2 * 64);
        const LeafProduct<T, S, b.value, c.value> kernel{fine.begin.data(), fine.i.data(), fine.j.data(), fine.pairs.data(), fine.columns.data(), fine.vertex.data(), coarse.i.data(), lists.pair.data(), lists.column.data(), lists.slot.data(), fine.a.data(), fine.weight.data(), coarse.a.data(), (int)fine.j.size(), E.data(), ap.data()};
        for (int l = l0; l < l1; ++l)
          if (fine.begin.data()[l] < fine.begin.data()[l + 1]) kernel(l);
      });
    });
  });
}

template void product_on_host(int, const Level<double> &, int, int, Level<double> &);
template void product_on_host(int, const Level<float> &, int, int, Level<float> &);

} // namespace tessera::auxamg
