// An application: the cycle, and the way of vectors into it and out of it.
#include "exec/each.hpp"
#include "rrb/three/black.hpp"
#include "rrb/three/kernels.hpp"

namespace tessera::rrb::three {

namespace {

// end(place, (A v) there) at the nodes of a level, (S v) at the black ones of a Schur complement.
template <class T, class End> void each_row(Level<T> &l, T *v, const End &end)
{
  if (l.schur) {
    const auto s = view<box::star_forward>(l);
    return eliminate_then(l, s, l.diagonal.data(), v, [&](const Box3 &part) {
      box::for_colour(l.exec, l.layout, part, black, Product27<T, box::star_forward, End>{s, v, end});
    });
  }
  with_operator(l, [&](auto s) {
    box::for_nodes_wide(l.exec, l.layout, l.own, Product27<T, decltype(s)::kept, End>{s, v, end});
  });
}

// As multigrid/chebyshev.hpp has a level.
template <class T> struct Smoothed {
  Level<T>  &l;
  const Exec exec;
  Buffer<T> &inverse;
  explicit Smoothed(Level<T> &level) : l(level), exec(level.exec), inverse(level.inverse) { }
  int  unknowns() const { return (int)l.layout.size(); }
  void halo(T *v) { l.halo.exchange(v); }
  template <class End> void each_row(T *v, const End &end) { three::each_row(l, v, end); }
};

// z and w times that to x += c (B^-1 - D^-1) r. Z, X: is there such a vector? 3 numbers, and twice each of these.
template <class T, bool Z, bool X> struct AddLines {
  const T *solved, *inverse, *r;
  T       *z, *x, c, w;
  HD void  operator()(int p) const
  {
    const T v = c * (solved[p] - inverse[p] * r[p]);
    if (Z) z[p] += v;
    if (X) x[p] += w * v;
  }
};
template <class T> struct SmoothedByLines : Smoothed<T> {
  struct Blocks {
    multigrid::Constant<true> any;
    void add(SmoothedByLines &level, const T *r, T c, T *z, T *x, T w) const
    {
      Level<T> &l = level.l;
      solve_lines(l, r);
      const auto run = [&](auto kernel) { for_each(l.exec, level.unknowns(), kernel); };
      const T *const v = l.lines.solved.data(), *const d = l.inverse.data();
      if (z && x) run(AddLines<T, true, true>{v, d, r, z, x, c, w});
      else if (z) run(AddLines<T, true, false>{v, d, r, z, x, c, w});
      else run(AddLines<T, false, true>{v, d, r, z, x, c, w});
    }
  } blocks;
  using Smoothed<T>::Smoothed;
};

} // namespace

template <class T> void smooth(Level<T> &l, bool from_zero, bool begun)
{
  const auto by = [&](auto level) { l.smoother.template apply<T>(level, vectors(l), from_zero, begun); };
  if (l.lines.any) by(SmoothedByLines<T>(l));
  else by(Smoothed<T>(l));
}

template <class T> void find_residual(Level<T> &l)
{
  l.halo.exchange(l.x.data());
  each_row(l, l.x.data(), Residual<T>{l.b.data(), l.r.data()});
  l.halo.exchange(l.r.data());
}

template <class T> void multiply(Level<T> &l, T *v, T *q)
{
  l.halo.exchange(v);
  each_row(l, v, KeepProduct<T>{q});
}

template <class T> void Hierarchy<T>::down(int k, multigrid::Visit visit)
{
  Level<T> &l = levels_[(size_t)k];
  smooth(l, visit.first, begun_);
  find_residual(l);
  begun_ = restrict_to(l, levels_[(size_t)k + 1], l.r.data());
}

template <class T> void Hierarchy<T>::up(int k, multigrid::Visit visit)
{
  Level<T> &l = levels_[(size_t)k], &coarse = levels_[(size_t)k + 1];
  coarse.halo.exchange(coarse.x.data());
  prolong_add(l, coarse, l.x.data());
  if (visit.last) smooth(l, false, false);
}

template <class T> void Hierarchy<T>::solve()
{
  if (small_.first()) small_.solve(levels_[(size_t)last()]);
  else last_.solve(levels_.back(), comm_);
}

template <class T> void Hierarchy<T>::load(const double *from)
{
  Level<T>            &l = levels_[0];
  const uint8_t *const free = free_among_dirichlet();
  if (free) l.x.zero(); // beyond the grid, too: what is not finite there would go into products with zero
  with_natural(l, [&](auto order) {
    for_natural(l, Load<T, decltype(order)>{from, order, free, l.a.data(), l.b.data(), l.x.data(), l.layout.half});
  });
  if (free) {
    l.halo.exchange(l.x.data());
    with_operator(l, [&](auto s) {
      box::for_nodes(exec_, l.layout, l.own,
                     Product27<T, decltype(s)::kept, Subtract<T>>{s, l.x.data(), {free, l.b.data()}});
    });
    l.x.zero();
  }
  if (!l.schur) return;
  l.halo.exchange(l.b.data());
  box::for_colour(exec_, l.layout, l.own, black,
                  ReduceRight<T, box::star_forward>{view<box::star_forward>(l), l.diagonal.data(), l.b.data(),
                                                    l.b.data(), this->free()});
}

template <class T> void Hierarchy<T>::store(const double *from, double *to)
{
  Level<T> &l = levels_[0];
  if (l.schur) {
    l.halo.exchange(l.x.data());
    box::for_colour(exec_, l.layout, l.own, red,
                    Eliminate<T, box::star_forward, false>{view<box::star_forward>(l), l.diagonal.data(), l.b.data(),
                                                    l.x.data()});
  }
  const uint8_t *const free = free_among_dirichlet();
  with_natural(l, [&](auto order) {
    for_natural(l, Store<T, decltype(order)>{l.x.data(), l.a.data(), order, free, from, to, l.layout.half});
  });
}

// Constants on loose parts before and after the cycle, whose right-hand side is what the first ones leave.
template <class T> void Hierarchy<T>::cycle_with_parts()
{
  Level<T> &l = levels_[0];
  parts_.project(l, comm_, l.b.data(), l.x.data(), false);
  l.halo.exchange(l.x.data());
  each_row(l, l.x.data(), Residual<T>{l.b.data(), l.b.data()});
  begun_ = false;
  multigrid::cycle(*this, cycle_, 0);
  find_residual(l);
  parts_.project(l, comm_, l.r.data(), l.x.data(), true);
}

template <class T> uint64_t Hierarchy<T>::prepare_cycle()
{
  small_.setup(*this, last_, cycle_, setups_, values_);
  return setups_;
}

template <class T> void Hierarchy<T>::launch_cycle(bool begun)
{
  if (!parts_.empty()) return cycle_with_parts();
  begun_ = begun;
  multigrid::cycle(*this, cycle_, 0);
}

template <class T> void Hierarchy<T>::run_cycle(bool begun)
{
  const uint64_t version = prepare_cycle();
  if (levels_[0].shared || (peers_ && parts_.empty()))
    graph_.run(exec_.space, 2 * version + begun, 0, [&] { launch_cycle(begun); });
  else launch_cycle(begun);
}

template <class T> void Hierarchy<T>::apply(const double *x, double *y)
{
  load(x);
  run_cycle(false);
  store(x, y);
}

#define INSTANTIATE(T) \
  template void multiply(Level<T> &, T *, T *); \
  template void Hierarchy<T>::down(int, multigrid::Visit); \
  template void Hierarchy<T>::up(int, multigrid::Visit); \
  template void Hierarchy<T>::solve(); \
  template uint64_t Hierarchy<T>::prepare_cycle(); \
  template void Hierarchy<T>::launch_cycle(bool); \
  template void Hierarchy<T>::run_cycle(bool); \
  template void Hierarchy<T>::apply(const double *, double *);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::rrb::three
