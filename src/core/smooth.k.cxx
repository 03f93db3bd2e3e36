#include "core/smooth.hpp"

namespace tessera {

namespace {

// Calls f(quarter, stride) with both as compile-time constants.
template <int Q, class F> void with_stride(ptrdiff_t sx, const F &f)
{
  using std::integral_constant;
  if (sx == 1) f(integral_constant<int, Q>(), integral_constant<int, 1>());
  else if (sx == 2) f(integral_constant<int, Q>(), integral_constant<int, 2>());
  else f(integral_constant<int, Q>(), integral_constant<int, 4>());
}
template <class F> void dispatch(int q, ptrdiff_t sx, const F &f)
{
  if (q == 0) with_stride<0>(sx, f);
  else if (q == 1) with_stride<1>(sx, f);
  else if (q == 2) with_stride<2>(sx, f);
  else with_stride<3>(sx, f);
}

} // namespace

template <class T> void smooth_colour(const Exec &exec, const StencilView<T> &A, int q, const Box &box, const View<T> &b, const View<T> &x, bool first, double more, const T *at)
{
  dispatch(q, A.C.sx, [&](auto quarter, auto stride) {
    constexpr int Q = decltype(quarter)::value, S = decltype(stride)::value;
    if (first) forall(exec, box, Colour<Q, S, before(Q), T>{A, b, x, (T)more, at});
    else forall(exec, box, Colour<Q, S, mask_all, T>{A, b, x, (T)more, at});
  });
}

template <class T> void residual(const Exec &exec, const StencilView<T> &A, int q, const Box &box, const View<T> &b, const View<T> &x, const View<T> &r)
{
  dispatch(q, A.C.sx, [&](auto quarter, auto stride) { forall(exec, box, Residual<decltype(quarter)::value, decltype(stride)::value, T>{A, b, x, r}); });
}

template void smooth_colour<double>(const Exec &, const StencilView<double> &, int, const Box &, const View<double> &, const View<double> &, bool, double, const double *);
template void smooth_colour<float>(const Exec &, const StencilView<float> &, int, const Box &, const View<float> &, const View<float> &, bool, double, const float *);
template void residual<double>(const Exec &, const StencilView<double> &, int, const Box &, const View<double> &, const View<double> &, const View<double> &);
template void residual<float>(const Exec &, const StencilView<float> &, int, const Box &, const View<float> &, const View<float> &, const View<float> &);

} // namespace tessera
