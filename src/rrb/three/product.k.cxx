// P'AP. A coarse coupling is a sum of products weight * coefficient * weight whose places beside the coarse node are
// the same for all nodes: a list, made once for a grid. Of the 27 couplings those that are kept are summed, the others
// are the neighbours'. About 330 products a coarse node from 7 points and 1300 from 27 where all directions are
// coarsened, of numbers that are mostly in the cache.
#include "box/chunks.hpp"
#include "box/tuning.hpp"
#include "rrb/three/hierarchy.hpp"
#include <algorithm>
#include <vector>

namespace tessera::rrb::three {

namespace {

// STRIDE: of fine places from one coarse node to the next in a half row.
template <class T, int STRIDE> struct Sum {
  const Term   *terms[2];
  const int    *begin[2];
  const T      *w, *a;
  box::Layout3  fine;
  int           step[3];
  T            *out;
  ptrdiff_t     plane;
  int           half;
  double        tiny;
  template <int P, int W> HD void at(int t, ptrdiff_t o, int j, int k, int first_plane, int end) const
  {
    const ptrdiff_t from = fine.row(step[1] == 2 ? 2 * j + 1 : j, step[2] == 2 ? 2 * k + 1 : k) + STRIDE * t +
                           (STRIDE == 2 ? P : 0),
                    e = o + P * (ptrdiff_t)half;
    for (int p = first_plane; p < end; ++p) {
      double sum[W], size[W];
      for (int v = 0; v < W; ++v) sum[v] = size[v] = 0;
      for (int n = begin[P][p]; n < begin[P][p + 1]; ++n) {
        const Term     term = terms[P][n];
        const T *const x = w + from + term.weight, *const y = a + from + term.a, *const z = w + from + term.other;
        for (int v = 0; v < W; ++v) {
          const double s = (double)x[STRIDE * v] * (double)y[STRIDE * v] * (double)z[STRIDE * v];
          sum[v] += s;
          if (!p) size[v] += fabs(s);
        }
      }
      for (int v = 0; v < W; ++v) out[p * plane + e + v] = (T)(!p && fabs(sum[v]) <= tiny * size[v] ? 0 : sum[v]);
    }
  }
};

// Parents of the node r beside a coarse one. last: that is the coarse node behind the last one of an odd periodic
// direction, where index n is that of node 0, between two coarse ones.
int parents(int step, bool last, int r, int *first)
{
  *first = step == 1 ? r : r & 1 ? (r - 1) / 2 : r / 2;
  return step == 2 && ((r & 1) || (last && !r)) ? 2 : 1;
}

// The plane of a coupling that is kept, or -1.
template <int... M> int kept_plane_of(std::integer_sequence<int, M...>, int x, int y, int z)
{
  int plane = x || y || z ? -1 : 0;
  ((plane = x == box::forward<M>(0) && y == box::forward<M>(1) && z == box::forward<M>(2) ? M + 1 : plane), ...);
  return plane;
}
int kept_plane(int x, int y, int z)
{
  return kept_plane_of(std::make_integer_sequence<int, box::box_forward>(), x, y, z);
}

} // namespace

// bit d of `last`: of the last coarse nodes along d
template <class T> static Terms list_of(const Level<T> &fine, int last)
{
  Terms               list;
  const box::Layout3 &l     = fine.layout;
  const ptrdiff_t     plane = (ptrdiff_t)l.size();
  const int          *step  = fine.step;
  for (int P = 0; P < 2; ++P) {
    // from the place that Sum has of the coarse node
    const auto place = [&](const int *d) {
      const int x = step[0] == 2 ? 1 + d[0] : P + d[0];
      return (x & 1) * (ptrdiff_t)l.half + floor_half(x) + d[1] * l.sj + d[2] * l.sk;
    };
    std::vector<Term> of[1 + box::box_forward], all;
    std::vector<int>  first{0};
    const auto        add = [&](const int *f, const int *to) { // all terms of a fine row and a neighbour
      int side = 0, lowest[3], number[3], h[3];
      for (int d = 0; d < 3; ++d) {
        if (f[d] < 0) side |= 1 << d;
        h[d]      = f[d] + to[d];
        number[d] = parents(step[d], last >> d & 1, h[d], &lowest[d]);
      }
      const int  plane_here = kept_plane(to[0], to[1], to[2]), plane_at_node = kept_plane(-to[0], -to[1], -to[2]);
      const bool here = plane_here >= 0;
      if (fine.star && (here ? plane_here : plane_at_node) > box::star_forward) return;
      for (int z = 0; z < number[2]; ++z)
        for (int y = 0; y < number[1]; ++y)
          for (int x = 0; x < number[0]; ++x) {
            const int c[3] = {lowest[0] + x, lowest[1] + y, lowest[2] + z};
            if (c[0] * c[0] > 1 || c[1] * c[1] > 1 || c[2] * c[2] > 1) continue;
            const int p = kept_plane(c[0], c[1], c[2]);
            if (p < 0) continue;
            of[p].push_back({side * plane + place(f),
                             here ? plane_here * plane + place(f) : plane_at_node * plane + place(h),
                             (x | y << 1 | z << 2) * plane + place(h)});
          }
    };
    int f[3], to[3];
    const auto end = [&](int d) { return last >> d & 1 ? 1 : step[d]; };
    for (f[2] = 1 - step[2]; f[2] < end(2); ++f[2])
      for (f[1] = 1 - step[1]; f[1] < end(1); ++f[1])
        for (f[0] = 1 - step[0]; f[0] < end(0); ++f[0])
          for (to[2] = -1; to[2] < 2; ++to[2])
            for (to[1] = -1; to[1] < 2; ++to[1])
              for (to[0] = -1; to[0] < 2; ++to[0]) add(f, to);
    for (const auto &terms_of : of) {
      all.insert(all.end(), terms_of.begin(), terms_of.end());
      first.push_back((int)all.size());
    }
    list.terms[P] = copy_to(fine.exec.space, all);
    list.begin[P] = copy_to(fine.exec.space, first);
  }
  return list;
}

template <class T> static int odd_directions(const Level<T> &l) { return l.odd(0) | l.odd(1) << 1 | l.odd(2) << 2; }

template <class T> void Product<T>::list(const Level<T> &fine)
{
  for (int last = 0; last < 8; ++last)
    if (!(last & ~odd_directions(fine))) of[last] = list_of(fine, last);
}

template <class T> size_t Product<T>::bytes() const
{
  size_t sum = 0;
  for (const Terms &t : of)
    for (int e = 0; e < 2; ++e) sum += t.terms[e].bytes() + t.begin[e].bytes();
  return sum;
}

template <class T> void Product<T>::run(const Level<T> &fine, Level<T> &coarse) const
{
  const auto sum = [&](auto stride, const Terms &t, const Box3 &part) {
    box::for_chunks<1 + box::box_forward>(fine.exec, coarse.layout, part,
                                          Sum<T, decltype(stride)::value>{
                                            {t.terms[0].data(),  t.terms[1].data()},
                                            {            t.begin[0].data(), t.begin[1].data()                 },
                                            fine.weights.data(),
                                            fine.a.data(),
                                            fine.layout,
                                            { fine.step[0],      fine.step[1],                       fine.step[2]},
                                            coarse.a.data(),
                                            (ptrdiff_t)coarse.layout.size(),
                                            coarse.layout.half,
                                            sizeof(T) == 8 ? tuning::singular_product : tuning::singular_single
    });
  };
  for (int last = 0; last < 8; ++last) {
    if (last & ~odd_directions(fine)) continue;
    Box3 part = coarse.part;
    for (int d = 0; d < 3; ++d) {
      if (!fine.odd(d)) continue;
      if (last >> d & 1) part.lo[d] = std::max(part.lo[d], coarse.n[d] - 1);
      else part.hi[d] = std::min(part.hi[d], coarse.n[d] - 1);
    }
    if (fine.step[0] == 2) sum(std::integral_constant<int, 2>(), of[last], part);
    else sum(std::integral_constant<int, 1>(), of[last], part);
  }
  std::vector<T *> planes;
  for (int p = 0; p <= box::box_forward; ++p)
    planes.push_back(coarse.a.data() + p * (ptrdiff_t)coarse.layout.size());
  coarse.incoming.exchange(planes.data(), (int)planes.size());
}

template struct Product<double>;
template struct Product<float>;

} // namespace tessera::rrb::three
