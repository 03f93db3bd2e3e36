// Setup of the algebraic levels: strong couplings, coarse nodes, interpolation, P'AP. The first one finds patterns, which later ones keep.
#include "core/tuning.hpp"
#include "rrb/algebraic.hpp"
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>

namespace tessera::rrb {

namespace {

// In [0, 1), by the number of a node and of its level alone.
double random_share(int node, int level)
{
  uint64_t h = (uint64_t)node * 0x9e3779b97f4a7c15u + (uint64_t)level * 0xc2b2ae3d27d4eb4fu + 1;
  h          = (h ^ (h >> 31)) * 0xbf58476d1ce4e5b9u;
  h          = (h ^ (h >> 29)) * 0x94d049bb133111ebu;
  return (double)((h ^ (h >> 32)) >> 11) * 0x1p-53;
}

template <class T> void keep(const std::vector<T> &from, Buffer<T> &to) { to = copy_to(Space::host, from); }

} // namespace

AlgebraicLevel &Algebraic::start(int n, size_t entries)
{
  clear();
  levels_.reserve(tuning::algebraic_levels);
  levels_.emplace_back();
  AlgebraicLevel &l = levels_[0];
  l.n               = n;
  l.i.resize((size_t)n + 1);
  l.diagonal.resize((size_t)n);
  l.b.resize((size_t)n);
  l.j.resize(entries);
  l.a.resize(entries);
  return l;
}

// The strongest coupling of each row, 0 where it has none that counts; and which couplings are strong.
std::vector<double> Algebraic::strengths(AlgebraicLevel &l) const
{
  std::vector<double> most((size_t)l.n);
  l.strong.resize(l.j.size());
  for (int r = 0; r < l.n; ++r) {
    double m = 0;
    for (int e = l.i.data()[r]; e < l.i.data()[r + 1]; ++e) m = std::max(m, -l.a.data()[e]);
    if (!(m > tuning::dead_coupling * l.a.data()[l.diagonal.data()[r]])) continue;
    most[(size_t)r] = m;
    for (int e = l.i.data()[r]; e < l.i.data()[r + 1]; ++e) l.strong.data()[e] = -l.a.data()[e] >= tuning::strong_coupling * m;
  }
  return most;
}

// Coarse nodes: those that more nodes depend on than on any of their undecided neighbours, round after round; who depends on one is fine.
// Returns their number.
int Algebraic::split(AlgebraicLevel &l, int number) const
{
  const std::vector<double> most = strengths(l);
  const int *const          i = l.i.data(), *const j = l.j.data();
  const double *const       a = l.a.data();
  const auto                depends = [&](int e) { // the column on the row
    const double m = most[(size_t)j[e]];
    return m > 0 && -a[e] >= tuning::strong_coupling * m;
  };
  constexpr int             undecided = 1, chosen = 2;
  std::vector<double>       weight((size_t)l.n);
  std::vector<int>          open, found;
  l.coarse.resize((size_t)l.n);
  int *const state = l.coarse.data();
  for (int r = 0; r < l.n; ++r) {
    int dependent = 0;
    for (int e = i[r]; e < i[r + 1]; ++e) dependent += depends(e);
    weight[(size_t)r] = dependent + random_share(r, number);
    state[r]          = !(most[(size_t)r] > 0) ? alone : dependent ? undecided : fine;
    if (state[r] == undecided) open.push_back(r);
  }
  while (!open.empty()) {
    found.clear();
    for (int r : open) {
      const auto before = [&](int e) { // is the column's turn before the row's?
        return state[j[e]] == undecided && weight[(size_t)j[e]] > weight[(size_t)r] && (l.strong.data()[e] || depends(e));
      };
      bool first = true;
      for (int e = i[r]; first && e < i[r + 1]; ++e) first = !before(e);
      if (first) found.push_back(r);
    }
    for (int r : found) state[r] = chosen;
    for (int r : found)
      for (int e = i[r]; e < i[r + 1]; ++e)
        if (state[j[e]] == undecided && depends(e)) state[j[e]] = fine;
    open.erase(std::remove_if(open.begin(), open.end(), [&](int r) { return state[r] != undecided; }), open.end());
  }
  int count = 0;
  for (int r = 0; r < l.n; ++r)
    if (state[r] == chosen) state[r] = count++;
  return count;
}

// A fine node takes from the coarse ones it depends on, and from those that fine ones it depends on depend on.
void Algebraic::interpolation_pattern(AlgebraicLevel &l, int coarse) const
{
  const int *const           i = l.i.data(), *const j = l.j.data(), *const state = l.coarse.data();
  const unsigned char *const strong = l.strong.data();
  std::vector<int>           columns, seen((size_t)coarse, -1);
  columns.reserve(4 * (size_t)l.n);
  l.pi.resize((size_t)l.n + 1);
  for (int r = 0; r < l.n; ++r) {
    const auto add = [&](int c) {
      if (seen[(size_t)c] == r) return;
      seen[(size_t)c] = r;
      columns.push_back(c);
    };
    if (state[r] >= 0) columns.push_back(state[r]);
    for (int e = i[r]; state[r] == fine && e < i[r + 1]; ++e) {
      if (!strong[e]) continue;
      const int k = j[e];
      if (state[k] >= 0) add(state[k]);
      for (int f = i[k]; state[k] == fine && f < i[k + 1]; ++f)
        if (strong[f] && state[j[f]] >= 0) add(state[j[f]]);
    }
    l.pi.data()[r + 1] = (int)columns.size();
  }
  keep(columns, l.pj);
  l.p.resize(l.pj.size());
  l.ri.resize((size_t)coarse + 1);
  l.rj.resize(l.pj.size());
  l.rp.resize(l.pj.size());
  int *const begin = l.ri.data();
  for (int c : columns) ++begin[c + 1];
  for (int c = 0; c < coarse; ++c) begin[c + 1] += begin[c];
  std::vector<int> next(begin, begin + coarse);
  for (int r = 0; r < l.n; ++r)
    for (int q = l.pi.data()[r]; q < l.pi.data()[r + 1]; ++q) {
      const int to      = next[(size_t)columns[(size_t)q]]++;
      l.rj.data()[to] = r;
      l.rp.data()[to] = q;
    }
}

// Weights of P. A strong coupling with a fine node k goes to k's neighbours as k's own row has it, and part of it back to the node; weak
// ones go to the diagonal.
void Algebraic::interpolate(AlgebraicLevel &l, int coarse) const
{
  const int *const           i = l.i.data(), *const j = l.j.data(), *const pi = l.pi.data(), *const state = l.coarse.data();
  const unsigned char *const strong = l.strong.data();
  const double *const        a = l.a.data();
  double *const              p = l.p.data();
  std::vector<int>           place((size_t)coarse, -1); // in P, of the coarse nodes of a row
  const auto                 at = [&](int node) { return state[node] >= 0 ? place[(size_t)state[node]] : -1; };
  for (int r = 0; r < l.n; ++r) {
    const int begin = pi[r], end = pi[r + 1], own = l.diagonal.data()[r];
    if (state[r] >= 0) p[begin] = 1;
    if (state[r] != fine || begin == end) continue;
    for (int q = begin; q < end; ++q) place[(size_t)l.pj.data()[q]] = q, p[q] = 0;
    double d = a[own];
    for (int e = i[r]; e < i[r + 1]; ++e) {
      if (e == own) continue;
      const int    k = j[e], to = at(k);
      const double v = a[e];
      if (to >= 0) p[to] += v;
      else if (!strong[e] || state[k] != fine) d += v;
      else {
        double sum = 0, back = 0;
        for (int f = i[k]; f < i[k + 1]; ++f)
          if (a[f] < 0) {
            if (at(j[f]) >= 0) sum += a[f];
            else if (j[f] == r) back += a[f];
          }
        sum += back;
        if (sum == 0) {
          d += v;
          continue;
        }
        d += v * back / sum;
        for (int f = i[k]; f < i[k + 1]; ++f)
          if (a[f] < 0 && at(j[f]) >= 0) p[at(j[f])] += v * a[f] / sum;
      }
    }
    const double factor = d > tuning::singular_product * a[own] ? -1 / d : 0;
    for (int q = begin; q < end; ++q) place[(size_t)l.pj.data()[q]] = -1, p[q] *= factor;
  }
}

// The couplings of next = P'AP, those before the diagonal first, then the diagonal, by the columns of A P.
void Algebraic::product_pattern(const AlgebraicLevel &l, const int *begin, const int *column, AlgebraicLevel &next) const
{
  const int        m = (int)l.ri.size() - 1;
  std::vector<int> seen((size_t)m, -1), columns;
  columns.reserve(2 * l.pj.size());
  next.n = m;
  next.i.resize((size_t)m + 1), next.diagonal.resize((size_t)m);
  next.x.resize((size_t)m), next.b.resize((size_t)m);
  for (int c = 0; c < m; ++c) {
    const auto first = (ptrdiff_t)columns.size();
    for (int q = l.ri.data()[c]; q < l.ri.data()[c + 1]; ++q)
      for (int t = begin[l.rj.data()[q]]; t < begin[l.rj.data()[q] + 1]; ++t) {
        int &last = seen[(size_t)column[t]];
        if (last == c) continue;
        last = c;
        columns.push_back(column[t]);
      }
    const auto middle = std::partition(columns.begin() + first, columns.end(), [c](int k) { return k < c; });
    std::iter_swap(middle, std::find(middle, columns.end(), c));
    next.diagonal.data()[c] = (int)(middle - columns.begin());
    next.i.data()[c + 1]    = (int)columns.size();
  }
  keep(columns, next.j);
  next.a.resize(columns.size());
}

// next = P'AP: A P row by row, then P' (A P).
void Algebraic::product(const AlgebraicLevel &l, AlgebraicLevel &next) const
{
  const int           m = (int)l.ri.size() - 1;
  const int *const    i = l.i.data(), *const j = l.j.data(), *const pi = l.pi.data(), *const pj = l.pj.data();
  const double *const a = l.a.data(), *const p = l.p.data();
  size_t              most = 0; // entries of A P, as the pattern of A is symmetric
  for (int r = 0; r < l.n; ++r) most += (size_t)(i[r + 1] - i[r]) * (size_t)(pi[r + 1] - pi[r]);
  const std::unique_ptr<int[]>    begin(new int[(size_t)l.n + 1]), column(new int[most]);
  const std::unique_ptr<double[]> value(new double[most]);
  std::vector<int>                place((size_t)m, -1);
  int                             next_entry = 0;
  for (int r = 0; r < l.n; ++r) {
    const int first = begin[(size_t)r] = next_entry;
    for (int e = i[r]; e < i[r + 1]; ++e)
      for (int q = pi[j[e]]; q < pi[j[e] + 1]; ++q) {
        const double v = a[e] * p[q];
        int         &to = place[(size_t)pj[q]];
        if (to >= first) value[(size_t)to] += v;
        else to = next_entry, column[(size_t)next_entry] = pj[q], value[(size_t)next_entry++] = v;
      }
  }
  begin[(size_t)l.n] = next_entry;
  if (next.i.empty()) product_pattern(l, begin.get(), column.get(), next);
  double *const to = next.a.data();
  for (int c = 0; c < m; ++c) {
    double squares = 0;
    for (int e = next.i.data()[c]; e < next.i.data()[c + 1]; ++e) place[(size_t)next.j.data()[e]] = e, to[e] = 0;
    for (int q = l.ri.data()[c]; q < l.ri.data()[c + 1]; ++q) {
      const int    r = l.rj.data()[q];
      const double w = p[l.rp.data()[q]];
      for (int t = begin[(size_t)r]; t < begin[(size_t)r + 1]; ++t) to[place[(size_t)column[(size_t)t]]] += w * value[(size_t)t];
      squares += w * w * a[l.diagonal.data()[r]];
    }
    double &d = to[next.diagonal.data()[c]];
    if (!(d > tuning::singular_product * squares)) d = 0; // rounding: a component without Dirichlet nodes has shrunk to one node
  }
}

void Algebraic::invert_diagonal(AlgebraicLevel &l) const
{
  if (l.inverse.empty()) l.inverse.resize((size_t)l.n);
  for (int r = 0; r < l.n; ++r) {
    const double d = l.a.data()[l.diagonal.data()[r]];
    l.inverse.data()[r] = d > 0 ? 1 / d : 0;
  }
}

bool Algebraic::factor()
{
  const AlgebraicLevel &l = levels_.back();
  loose_                  = l.n > tuning::algebraic_least;
  if (loose_) return levels_.size() < tuning::algebraic_levels;
  last_.reset(l.n, std::max(l.n - 1, 0));
  for (int r = 0; r < l.n; ++r)
    for (int e = l.i.data()[r]; e <= l.diagonal.data()[r]; ++e) last_.add(r, l.j.data()[e], l.a.data()[e]);
  return last_.factor(tuning::singular_pivot) < 0;
}

bool Algebraic::setup()
{
  for (size_t k = 0;; ++k) {
    AlgebraicLevel &l = levels_[k];
    if (k) invert_diagonal(l);
    if (known_ ? k + 1 == levels_.size() : l.n <= tuning::algebraic_least || levels_.size() == tuning::algebraic_levels) break;
    if (!known_) {
      const int coarse = split(l, (int)k);
      if (!coarse) break;
      interpolation_pattern(l, coarse);
      levels_.emplace_back();
    }
    interpolate(l, levels_[k].ri.empty() ? 0 : (int)l.ri.size() - 1);
    product(l, levels_[k + 1]);
  }
  known_ = levels_.size() > 1 && factor();
  if (!known_) clear();
  return known_;
}

} // namespace tessera::rrb
