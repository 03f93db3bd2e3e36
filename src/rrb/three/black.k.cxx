// The system of the black nodes in double precision, for conjugate gradients.
#include "exec/each.hpp"
#include "rrb/three/black.hpp"
#include "rrb/three/kernels.hpp"

namespace tessera::rrb::three {

namespace {

struct Invert {
  const double  *a;
  const uint8_t *free;
  double        *d;
  HD void        operator()(int p) const { d[p] = free[p] && a[p] > 0 ? 1 / a[p] : 0; }
};

// The residual in the hierarchy's precision, and the first step of the smoother: z = c D^-1 b.
template <class T> struct LoadBlack {
  const double *r;
  const T      *inverse;
  T            *b, *z, c;
  int           half;
  template <int P> HD void at(int, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)half;
    const T         v = (T)r[e];
    b[e] = v;
    z[e] = c * inverse[e] * v;
  }
  static constexpr int     width = width_of<Wide<T>>;
  template <int P> HD void wide(int, ptrdiff_t o, int, int, int, int) const
  {
    const ptrdiff_t              e    = (o + P * (ptrdiff_t)half) / width;
    const Several<double, width> from = ((const Several<double, width> *)r)[e];
    Wide<T>                      v;
    for (int n = 0; n < width; ++n) v.v[n] = (T)from.v[n];
    widen(b)[e] = v;
    widen(z)[e] = c * widen(inverse)[e] * v;
  }
};

// A number of the host's, or one of `on` where kernels have found it.
struct Beta {
  double         value;
  const Scalars *on;
  HD double      get() const { return on ? on->beta() : value; }
};
struct Alpha {
  double         value;
  const Scalars *on;
  HD double      get() const { return on ? on->alpha() : value; }
};

// p = z + beta p
template <class T> struct Direct {
  const T *z;
  double  *p;
  Beta     beta;
  int      half;
  template <int P> HD void at(int, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)half;
    p[e] = z[e] + beta.get() * p[e];
  }
  static constexpr int     width = width_of<Wide<T>>;
  template <int P> HD void wide(int, ptrdiff_t o, int, int, int, int) const
  {
    const ptrdiff_t         e    = (o + P * (ptrdiff_t)half) / width;
    const Wide<T>           more = widen(z)[e];
    const double            by   = beta.get();
    Several<double, width> &to   = ((Several<double, width> *)p)[e];
    Several<double, width>  v    = to;
    for (int n = 0; n < width; ++n) v.v[n] = more.v[n] + by * v.v[n];
    to = v;
  }
};

// q = S p, and the sum p'q
struct Multiply {
  box::Symmetric3<double, box::star_forward> s;
  FreeProduct                                end;
  template <int P> HD double                 at(int t, ptrdiff_t o, int j, int k) const
  {
    return end(o + P * (ptrdiff_t)s.half, s.template product<P>(end.p, o, s.same.source(P, t, j, k, o)));
  }
  static constexpr int       width = width_of<Wide<double>>;
  template <int P> HD double wide(int t, ptrdiff_t o, int j, int k, int from, int to) const
  {
    const ptrdiff_t    e = (o + P * (ptrdiff_t)s.half) / width;
    const Wide<double> p = widen(end.p)[e];
    Wide<double>       q = s.template product<P, Wide<double>>(end.p, o, s.same.template source<width>(P, t, j, k, o));
    for (int n = 0; n < width; ++n)
      if (!end.free[e * width + n]) q.v[n] = 0;
    widen(end.q)[e] = q;
    return dot_inside(p, q, from, to);
  }
};

// x += alpha p, r -= alpha q, r'r: 48 B a black node. FOUND: kernels have found alpha, and zero is no step, though p
// and q may not be finite.
template <bool FOUND> struct Step {
  const double *p, *q;
  double       *x, *r;
  Alpha         alpha;
  int           half;
  template <int P> HD double at(int, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)half;
    const double    a = alpha.get();
    double          v = r[e];
    if (!FOUND || a != 0) {
      v -= a * q[e];
      x[e] += a * p[e];
      r[e] = v;
    }
    return v * v;
  }
  static constexpr int       width = width_of<Wide<double>>;
  template <int P> HD double wide(int, ptrdiff_t o, int, int, int from, int to) const
  {
    const ptrdiff_t e = (o + P * (ptrdiff_t)half) / width;
    const double    a = alpha.get();
    Wide<double>    v = widen(r)[e];
    if (!FOUND || a != 0) {
      v = v - a * widen(q)[e];
      widen(x)[e] += a * widen(p)[e];
      widen(r)[e] = v;
    }
    return dot_inside(v, v, from, to);
  }
};

// y = s y + c x, or y -= c x where kernels have found c.
template <class V> struct CombineBlack {
  const double *x;
  V            *y;
  double        c, s;
  int           half;
  const double *found = nullptr;
  template <int P> HD void at(int, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)half;
    y[e] = (V)(s * (double)y[e] + (found ? -*found : c) * x[e]);
  }
};

// The end of an iteration: what the host wants to know.
struct RecordIteration {
  Scalars            *s;
  Reduced::Iteration *to;
  HD void             operator()(int) const
  {
    to[s->recorded++ % Reduced::most_ahead] = {s->rz, s->pq, s->rr};
    s->old = s->rz;
    if (!(s->alpha() > 0) || sqrt(s->rr) <= s->tolerance) s->done = true; // no step: the host ends there
  }
};
struct SetTolerance {
  Scalars *s;
  double   norm;
  HD void  operator()(int) const { s->tolerance = norm; }
};

// Black nodes of a vector in natural order, ones where there is none.
template <class Order> struct LoadNull {
  const double *from;
  Order         order;
  double       *to;
  int           half;
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k) const
  {
    to[o + P * (ptrdiff_t)half] = from ? from[order(2 * t + P, j, k)] : 1;
  }
};

template <class T, class Kernel> void on_black(const Level<T> &l, const Kernel &kernel)
{
  box::for_colour(l.exec, l.layout, l.own, black, kernel);
}

} // namespace

template <class T> box::Symmetric3<double, box::star_forward> BlackSystem<T>::matrix()
{
  if constexpr (std::is_same_v<T, double>) return view<box::star_forward>(h_.first());
  else return view<box::star_forward>(double_);
}

template <class T> const double *BlackSystem<T>::diagonal()
{
  if constexpr (std::is_same_v<T, double>) return h_.first().diagonal.data();
  else return double_.diagonal.data();
}

template <class T> double BlackSystem<T>::sum(double own) const
{
  if (!h_.first().shared) MPI_Allreduce(MPI_IN_PLACE, &own, 1, MPI_DOUBLE, MPI_SUM, comm_);
  return own;
}

template <class T> void BlackSystem<T>::setup(const Source &source, const Comm &comm)
{
  Level<T>    &l = h_.first();
  const Extent n{l.layout.size(), l.exec.space};
  comm_ = comm;
  for (Buffer<double> *v : {&r_, &x_, &p_, &q_})
    if (v->size() != n) v->resize(n);
  if constexpr (std::is_same_v<T, double>) return find_stretches(l);
  Level<double> &d = double_;
  d.exec = l.exec, d.own = l.own, d.layout = l.layout, d.shared = l.shared, d.star = true;
  if (d.diagonal.size() != n) {
    d.a.resize((1 + box::star_forward) * n);
    d.diagonal.resize(n);
  }
  std::swap(d.halo, l.halo);
  Buffer<Differences> differences(Extent{2, l.exec.space});
  compress(d, source, differences);
  std::swap(d.halo, l.halo);
  for_each(l.exec, (int)n.n, Invert{d.a.data(), source.free, d.diagonal.data()});
  find_stretches(d);
  l.same.fit(d.same.extent()); // what is equal in double precision is equal in single
  copy(d.same.data(), l.exec.space, l.same.data(), l.exec.space, d.same.size());
}

template <class T> void BlackSystem<T>::begin(const double *b, double tolerance)
{
  Level<T>            &l    = h_.first();
  const uint8_t *const free = h_.free_among_dirichlet();
  const auto           a    = matrix();
  nulls_ = 0;
  scalars_.fit(Extent{1, l.exec.space});
  scalars_.zero();
  for_each(l.exec, 1, SetTolerance{scalars_.data(), tolerance});
  launched_ = seen_ = 0;
  x_.zero();
  p_.zero();
  with_natural(l, [&](auto order) {
    for_natural(l, Load<double, decltype(order)>{b, order, free, a.a, r_.data(), x_.data(), l.layout.half});
  });
  if (free) {
    l.halo.exchange(x_.data());
    box::for_nodes(l.exec, l.layout, l.own,
                   Product27<double, box::star_forward, Subtract<double>>{a, x_.data(), {free, r_.data()}});
    x_.zero();
  }
  l.halo.exchange(r_.data());
  on_black(l, ReduceRight<double, box::star_forward>{a, diagonal(), r_.data(), r_.data(), h_.free()});
}

// v loses its parts along the null vectors.
template <class T> template <class V> void BlackSystem<T>::make_orthogonal(V *v)
{
  const Level<T> &l = h_.first();
  for (size_t k = 0; k < nulls_; ++k) {
    const double *const u = null_[k].data();
    const double        c = sum(dot(l, black, u, v));
    on_black(l, CombineBlack<V>{u, v, -c, 1, l.layout.half});
  }
}

template <class T> void BlackSystem<T>::add_null(const double *v)
{
  Level<T> &l = h_.first();
  if (nulls_ == null_.size()) null_.emplace_back();
  Buffer<double> &n = null_[nulls_];
  n.fit(Extent{l.layout.size(), l.exec.space});
  with_natural(l, [&](auto order) {
    on_black(l, LoadNull<decltype(order)>{v, order, n.data(), l.layout.half});
  });
  make_orthogonal(n.data());
  const double c = sum(dot(l, black, n.data(), n.data()));
  if (!(c > 0)) return;
  on_black(l, CombineBlack<double>{n.data(), n.data(), 0, 1 / sqrt(c), l.layout.half});
  ++nulls_;
}

template <class T> double BlackSystem<T>::precondition()
{
  Level<T> &l = h_.first();
  make_orthogonal(r_.data()); // the preconditioner would make large what rounding leaves of null vectors
  on_black(l, LoadBlack<T>{r_.data(), l.inverse.data(), l.b.data(), l.z.data(), (T)l.smoother.first(),
                           l.layout.half});
  h_.run_cycle(true);
  make_orthogonal(l.x.data());
  return sum(dot(l, black, r_.data(), l.x.data()));
}

template <class T> double BlackSystem<T>::norm2()
{
  Level<T> &l = h_.first();
  l.halo.exchange(l.x.data());
  const Dot<T, T> square{l.x.data(), l.x.data(), l.layout.half};
  double          zz = 0;
  eliminate_then(l, view<box::star_forward>(l), l.diagonal.data(), l.x.data(), [&](const Box3 &part) {
    for (int colour : {black, red}) zz += box::sum_colour(l.exec, l.layout, part, colour, square);
  });
  return sum(zz);
}

template <class T> void BlackSystem<T>::direction(double beta)
{
  Level<T> &l = h_.first();
  on_black(l, Direct<T>{l.x.data(), p_.data(), {beta, nullptr}, l.layout.half});
}

template <class T> double BlackSystem<T>::multiply()
{
  Level<T>         &l = h_.first();
  const FreeProduct end{p_.data(), h_.free(), q_.data()};
  l.halo.exchange(p_.data());
  double pq = 0;
  eliminate_then(l, matrix(), diagonal(), p_.data(), [&](const Box3 &part) {
    pq += box::sum_colour(l.exec, l.layout, part, black, Multiply{matrix(), end});
  });
  return sum(pq);
}

template <class T> double BlackSystem<T>::step(double alpha)
{
  Level<T> &l = h_.first();
  return sum(box::sum_colour(l.exec, l.layout, l.own, black,
                             Step<false>{p_.data(), q_.data(), x_.data(), r_.data(), {alpha, nullptr}, l.layout.half}));
}

template <class T> bool BlackSystem<T>::at_once() const
{
  return chunk_of(h_.first().exec) == 1 && h_.first().shared;
}

template <class T> void BlackSystem<T>::launch_iteration()
{
  Level<T>         &l = h_.first();
  Scalars *const    s = scalars_.data();
  const FreeProduct end{p_.data(), h_.free(), q_.data()};
  const auto        total = [&](const auto &kernel, double *to) {
    box::sum_colour(l.exec, l.layout, l.own, black, kernel, to);
  };
  const auto orthogonal = [&](auto *v) {
    using V = std::remove_pointer_t<decltype(v)>;
    for (size_t k = 0; k < nulls_; ++k) {
      const Buffer<double> &u = null_[k];
      total(Dot<double, V>{u.data(), v, l.layout.half}, &s->null);
      on_black(l, CombineBlack<V>{u.data(), v, 0, 1, l.layout.half, &s->null});
    }
  };
  orthogonal(r_.data());
  on_black(l, LoadBlack<T>{r_.data(), l.inverse.data(), l.b.data(), l.z.data(), (T)l.smoother.first(),
                           l.layout.half});
  h_.launch_cycle(true);
  orthogonal(l.x.data());
  total(Dot<double, T>{r_.data(), l.x.data(), l.layout.half}, &s->rz);
  on_black(l, Direct<T>{l.x.data(), p_.data(), {0, s}, l.layout.half});
  l.halo.exchange(p_.data());
  eliminate_then(l, matrix(), diagonal(), p_.data(), [&](const Box3 &) { total(Multiply{matrix(), end}, &s->pq); });
  total(Step<true>{p_.data(), q_.data(), x_.data(), r_.data(), {0, s}, l.layout.half}, &s->rr);
  for_each(l.exec, 1, RecordIteration{s, (Iteration *)results_.data()});
}

template <class T> Reduced::Iteration BlackSystem<T>::iterate(int ahead)
{
  const Exec &exec = h_.first().exec;
  if (seen_ == launched_) {
    (void)results_.reach(most_ahead * sizeof(Iteration));
    const uint64_t version = h_.prepare_cycle() << 16 | nulls_;
    for (const int end = launched_ + std::min(ahead, most_ahead); launched_ < end; ++launched_)
      graph_.run(exec.space, version, device::max_blocks, [&] { launch_iteration(); });
    device::synchronize(exec.space);
  }
  const Iteration it = ((const Iteration *)results_.data())[seen_++ % most_ahead];
  return device::failed() ? Iteration{NAN, NAN, NAN} : it;
}

template <class T> void BlackSystem<T>::solution(const double *b, double *y)
{
  Level<T>  &l = h_.first();
  const auto a = matrix();
  l.halo.exchange(x_.data());
  box::for_colour(l.exec, l.layout, l.own, red,
                  Eliminate<double, box::star_forward, false>{a, diagonal(), r_.data(), x_.data()});
  const uint8_t *const free = h_.free_among_dirichlet();
  with_natural(l, [&](auto order) {
    for_natural(l, Store<double, decltype(order)>{x_.data(), a.a, order, free, b, y, l.layout.half});
  });
}

template <class T> size_t BlackSystem<T>::bytes() const
{
  size_t b = r_.bytes() + x_.bytes() + p_.bytes() + q_.bytes() + double_.bytes();
  for (const Buffer<double> &n : null_) b += n.bytes();
  return b + scalars_.bytes();
}

template class BlackSystem<double>;
template class BlackSystem<float>;

} // namespace tessera::rrb::three
