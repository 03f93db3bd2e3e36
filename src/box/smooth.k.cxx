#include "box/smooth.hpp"

namespace tessera {

namespace {

// Calls f(quarter, stride) with both as compile-time constants.
template <int Q, class V, class F> void with_quarter_and_stride(ptrdiff_t sx, const F &f)
{
  using std::integral_constant;
  if constexpr (width_of<V> > 1) f(integral_constant<int, Q>(), integral_constant<int, 1>()); // in quarter grids alone
  else if (sx == 1) f(integral_constant<int, Q>(), integral_constant<int, 1>());
  else if (sx == 2) f(integral_constant<int, Q>(), integral_constant<int, 2>());
  else f(integral_constant<int, Q>(), integral_constant<int, 4>());
}
template <class V, class F> void dispatch(int q, ptrdiff_t sx, const F &f)
{
  if (q == 0) with_quarter_and_stride<0, V>(sx, f);
  else if (q == 1) with_quarter_and_stride<1, V>(sx, f);
  else if (q == 2) with_quarter_and_stride<2, V>(sx, f);
  else with_quarter_and_stride<3, V>(sx, f);
}

} // namespace

template <class T, class V> void smooth_colour(const Exec &exec, const StencilView<T> &A, int q, const Box &box,
                                               const View<V> &b, const View<V> &x, bool first, double more, const T *at)
{
  dispatch<V>(q, A.C.sx, [&](auto quarter, auto stride) {
    constexpr int Q = decltype(quarter)::value, S = decltype(stride)::value;
    if (first) forall_of<V>(exec, box, Colour<Q, S, before(Q), T, V>{A, b, x, (T)more, at});
    else forall_of<V>(exec, box, Colour<Q, S, mask_all, T, V>{A, b, x, (T)more, at});
  });
}

template <class T, class V> void residual(const Exec &exec, const StencilView<T> &A, int q, const Box &box,
                                          const View<V> &b, const View<V> &x, const View<V> &r)
{
  dispatch<V>(q, A.C.sx, [&](auto quarter, auto stride) {
    forall_of<V>(exec, box, Residual<decltype(quarter)::value, decltype(stride)::value, T, V>{A, b, x, r});
  });
}

#define INSTANTIATE(T, ...) \
  template void smooth_colour(const Exec &, const StencilView<T> &, int, const Box &, const View<__VA_ARGS__> &, \
                              const View<__VA_ARGS__> &, bool, double, const T *); \
  template void residual(const Exec &, const StencilView<T> &, int, const Box &, const View<__VA_ARGS__> &, \
                         const View<__VA_ARGS__> &, const View<__VA_ARGS__> &);
INSTANTIATE(double, double)
INSTANTIATE(double, Several<double, 4>)
INSTANTIATE(double, Several<double, 8>)
INSTANTIATE(float, float)
INSTANTIATE(float, Several<float, 8>)

} // namespace tessera
