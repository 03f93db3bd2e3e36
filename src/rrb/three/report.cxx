// What can be said of a hierarchy.
#include "rrb/three/black.hpp"
#include <algorithm>

namespace tessera::rrb::three {

template <class T> size_t Level<T>::bytes() const
{
  return a.bytes() + inverse.bytes() + diagonal.bytes() + weights.bytes() + alive.bytes() + b.bytes() + x.bytes() +
         r.bytes() + z.bytes() + w.bytes() + lines.bytes() + same.bytes() + halo.bytes() + incoming.bytes();
}

template <class T> std::vector<GridReport> Hierarchy<T>::report() const
{
  std::vector<GridReport> all;
  for (size_t k = 0; k < levels_.size(); ++k) {
    const Level<T> &l = levels_[k];
    GridReport      r;
    for (int d = 0; d < 3; ++d) {
      const int axis = levels_[0].axes[d];
      r.n[axis] = l.n[d], r.step[axis] = l.step[d];
    }
    r.degree     = l.degree;
    r.lines      = l.lines.any;
    r.star       = l.star;
    r.schur      = l.schur;
    r.everywhere = l.shared;
    r.exact      = k + 1 == levels_.size();
    all.push_back(r);
  }
  return all;
}

template <class T> size_t Hierarchy<T>::bytes() const
{
  size_t b = parts_.bytes() + free_.bytes() + last_.bytes() + counts_.bytes() + differences_.bytes();
  b += small_.bytes() + (black_ ? black_->bytes() : 0);
  for (const Level<T> &l : levels_) b += l.bytes();
  return b;
}

template <class T> double Hierarchy<T>::flops() const
{
  double sum = 0;
  for (size_t k = 0; k < levels_.size(); ++k) {
    const Level<T> &l        = levels_[k];
    const double    products = 2. * l.degree;
    double          lines    = 0; // solving them once
    for (int d = 0; d < 3 && l.lines.any; ++d) lines += l.lines.directions[d] ? 2 : 0;
    sum += (double)l.own.size() * (((l.star ? 7 : 27) + lines) * products + (l.schur ? 27 : 2 * 27) / 8.);
  }
  return 2 * sum;
}

#define INSTANTIATE(T) \
  template struct Level<T>; \
  template std::vector<GridReport> Hierarchy<T>::report() const; \
  template size_t                  Hierarchy<T>::bytes() const; \
  template double                  Hierarchy<T>::flops() const;
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::rrb::three
