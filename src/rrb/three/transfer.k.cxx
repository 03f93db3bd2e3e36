// Between a grid and the next coarser one.
#include "rrb/three/transfer.hpp"

namespace tessera::rrb::three {

// f(the steps of a level, as constants)
template <class F> static void with_steps(const int step[3], const F &f)
{
  using One = std::integral_constant<int, 1>;
  using Two = std::integral_constant<int, 2>;
  const auto second = [&](auto x, auto y) {
    if (step[2] == 2) f(x, y, Two());
    else f(x, y, One());
  };
  const auto first = [&](auto x) {
    if (step[1] == 2) second(x, Two());
    else second(x, One());
  };
  if (step[0] == 2) first(Two());
  else first(One());
}

template <class T> bool restrict_to(const Level<T> &fine, Level<T> &coarse, const T *r)
{
  const Restriction<T> of = restriction(fine, coarse, r);
  with_steps(fine.step, [&](auto x, auto y, auto z) {
    using Kernel = Restrict<T, decltype(x)::value, decltype(y)::value, decltype(z)::value>;
    box::for_chunks_along(fine.exec, coarse.layout, coarse.part, Kernel{of});
  });
  coarse.incoming.exchange(coarse.b.data());
  return of.first;
}

template <class T> void prolong_add(const Level<T> &fine, const Level<T> &coarse, T *x)
{
  const Prolongation<T> of  = prolongation(fine, coarse, x);
  const auto            run = [&](const auto &kernel) {
    box::for_chunks(fine.exec, fine.layout, fine.own, kernel, fine.schur ? black : -1);
  };
  if (fine.step[0] == 2) run(Prolong<T, 2>{of});
  else run(Prolong<T, 1>{of});
}

#define INSTANTIATE(T) \
  template bool restrict_to(const Level<T> &, Level<T> &, const T *); \
  template void prolong_add(const Level<T> &, const Level<T> &, T *);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::rrb::three
