// The operators of some unknowns alone: those at their bounds take no part.
#include "tree/hierarchy.hpp"
#include "exec/each.hpp"

namespace tessera::tree {

namespace {

// a = the whole operator's entries between free unknowns; p: nodes. 8 (2 + B^2) bytes and a column an entry.
template <class T> struct Truncate {
  const int           *i, *j;
  const T             *whole;
  const unsigned char *free;
  int                  bs;
  T                   *a;
  HD void              operator()(int p) const
  {
    for (int e = i[p]; e < i[p + 1]; ++e)
      for (int k = 0; k < bs; ++k)
        for (int m = 0; m < bs; ++m) {
          const ptrdiff_t at = ((ptrdiff_t)bs * e + k) * bs + m;
          a[at]              = free[(ptrdiff_t)bs * p + k] && free[(ptrdiff_t)bs * j[e] + m] ? whole[at] : 0;
        }
  }
};

} // namespace

template <class T> Failure Hierarchy<T>::truncate(int l, const unsigned char *free)
{
  Level<T> &level = levels_[(size_t)l];
  if (truncated_ != l) {
    if (whole_.size() != level.a.size()) whole_ = make_unset<T>(level.a.size());
    std::swap(level.a, whole_);
    truncated_ = l;
  }
  for_each(exec_, level.n,
           Truncate<T>{level.i.data(), level.j.data(), whole_.data(), free, params_.bs, level.a.data()});
  return numeric_.run_truncated(l, perm_, diagonal_, scale_);
}

template <class T> void Hierarchy<T>::forget_truncation()
{
  if (truncated_ < 0) return;
  std::swap(levels_[(size_t)truncated_].a, whole_);
  truncated_ = -1;
  (void)numeric_.run(perm_, diagonal_, scale_, constants_);
}

template void    Hierarchy<double>::forget_truncation();
template Failure Hierarchy<double>::truncate(int, const unsigned char *);

} // namespace tessera::tree
