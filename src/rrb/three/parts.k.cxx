// The correction by constants on loose parts.
#include "exec/each.hpp"
#include "rrb/three/hierarchy.hpp"

namespace tessera::rrb::three {

namespace {

// Sums over a few nodes, in an order that no number of threads changes.
template <class T> struct SumPiece {
  const ptrdiff_t *nodes;
  const int       *pieces;
  const T         *r;
  double          *partial;
  HD void          operator()(int p) const
  {
    double sum = 0;
    for (int n = pieces[p]; n < pieces[p + 1]; ++n) sum += (double)r[nodes[n]];
    partial[p] = sum;
  }
};
struct SumPart {
  const int    *first;
  const double *partial;
  double       *value;
  HD void       operator()(int c) const
  {
    double sum = 0;
    for (int p = first[c]; p < first[c + 1]; ++p) sum += partial[p];
    value[c] = sum;
  }
};
struct Divide {
  const double *inverse;
  double       *value;
  HD void       operator()(int c) const { value[c] *= inverse[c]; }
};
// 4 B of the label and the value, read and written, a node.
template <class T> struct AddConstants {
  const double *value;
  const int    *label;
  T            *v;
  int           half;
  bool          add;
  template <int P> HD void at(int, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)half;
    v[e]              = (add ? v[e] : (T)0) + (T)value[label[e]];
  }
};

} // namespace

size_t Parts::bytes() const
{
  return label_.bytes() + nodes_.bytes() + pieces_.bytes() + first_.bytes() + partial_.bytes() + value_.bytes() +
         inverse_.bytes();
}

template <class T> void Parts::project(const Level<T> &l, const Comm &comm, const T *r, T *v, bool add)
{
  for_each(l.exec, (int)partial_.size(), SumPiece<T>{nodes_.data(), pieces_.data(), r, partial_.data()});
  for_each(l.exec, count_ + 1, SumPart{first_.data(), partial_.data(), value_.data()});
  if (!l.shared) {
    std::vector<double> sums((size_t)count_ + 1);
    copy(value_.data(), l.exec.space, sums.data(), Space::host, sums.size());
    MPI_Allreduce(MPI_IN_PLACE, sums.data(), count_ + 1, MPI_DOUBLE, MPI_SUM, comm);
    copy(sums.data(), Space::host, value_.data(), l.exec.space, sums.size());
  }
  for_each(l.exec, count_ + 1, Divide{inverse_.data(), value_.data()});
  box::for_nodes(l.exec, l.layout, l.own, AddConstants<T>{value_.data(), label_.data(), v, l.layout.half, add});
}

template void Parts::project(const Level<double> &, const Comm &, const double *, double *, bool);
template void Parts::project(const Level<float> &, const Comm &, const float *, float *, bool);

} // namespace tessera::rrb::three
