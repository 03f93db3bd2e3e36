// Setup of the algebraic levels: strong couplings, coarse nodes, interpolation, P'AP. The first one finds patterns,
// which later ones keep.
#include "box/tuning.hpp"
#include "rrb/algebraic/algebraic.hpp"
#include "rrb/random.hpp"
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>

namespace tessera::rrb {

namespace {

// In [0, 1), by the numbers of a node and of its level alone.
double random_weight(int node, int level)
{
  return random_fraction((uint64_t)node * 0x9e3779b97f4a7c15u + (uint64_t)level * 0xc2b2ae3d27d4eb4fu + 1);
}

template <class T> void keep(const std::vector<T> &from, Buffer<T> &to) { to = copy_to(Space::host, from); }

double of_all(const AlgebraicLevel &l, int mine)
{
  double sum = mine, all = sum;
  if (l.distribution) MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, l.distribution->comm);
  return all;
}

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
  l.number.resize((size_t)n);
  std::iota(l.number.begin(), l.number.end(), 0);
  return l;
}

void Algebraic::distribute(const Comm &comm, const AlgebraicNumbering &numbering, long redundant)
{
  redundant_       = redundant;
  levels_[0].distribution =
    std::make_unique<AlgebraicDistribution>(comm, levels_[0].n, numbering.owner, numbering.index);
}

// The strongest coupling of each row, of ghosts' too, 0 where it has none that counts; and which couplings of own
// rows are strong.
std::vector<double> Algebraic::strengths(AlgebraicLevel &l) const
{
  std::vector<double> strongest((size_t)(l.n + l.ghosts()));
  l.strong.resize((size_t)l.i.data()[l.n]);
  for (int r = 0; r < l.n; ++r) {
    double m = 0;
    for (int e = l.i.data()[r]; e < l.i.data()[r + 1]; ++e) m = std::max(m, -l.a.data()[e]);
    if (!(m > tuning::dead_coupling * l.a.data()[l.diagonal.data()[r]])) continue;
    strongest[(size_t)r] = m;
    for (int e = l.i.data()[r]; e < l.i.data()[r + 1]; ++e)
      l.strong.data()[e] = -l.a.data()[e] >= tuning::strong_coupling * m;
  }
  if (l.distribution) l.distribution->ghosts.forward(strongest.data(), 1);
  return strongest;
}

// Coarse nodes: those that more nodes depend on than on any of their undecided neighbours, round after round; who
// depends on one is fine. What a process hears of its neighbours' decisions a round late makes more rounds, but no
// other choice. Returns the number of own ones.
int Algebraic::split(AlgebraicLevel &l, int number) const
{
  const std::vector<double>  strongest = strengths(l);
  const int *const           i = l.i.data(), *const j = l.j.data();
  const double *const        a = l.a.data();
  const unsigned char *const strong = l.strong.data();
  enum : unsigned char { decided, undecided, chosen, loose };
  std::vector<double>        weight(strongest.size());
  std::vector<unsigned char> state(strongest.size());
  std::vector<int>           open, found;
  const auto                 depends = [&](int e) { // the column on the row
    const double m = strongest[(size_t)j[e]];
    return m > 0 && -a[e] >= tuning::strong_coupling * m;
  };
  for (int r = 0; r < l.n; ++r) {
    int dependent = 0;
    for (int e = i[r]; e < i[r + 1]; ++e) dependent += depends(e);
    weight[(size_t)r] = dependent + random_weight(l.number[(size_t)r], number);
    state[(size_t)r]  = !(strongest[(size_t)r] > 0) ? loose : dependent ? undecided : decided;
    if (state[(size_t)r] == undecided) open.push_back(r);
  }
  if (l.distribution) l.distribution->ghosts.forward(weight.data(), 1), l.distribution->ghosts.forward(state.data(), 1);
  while (of_all(l, (int)open.size()) > 0) {
    found.clear();
    for (int r : open) {
      const auto before = [&](int e) { // is the column's turn before the row's?
        return state[(size_t)j[e]] == undecided && weight[(size_t)j[e]] > weight[(size_t)r] &&
               (strong[e] || depends(e));
      };
      bool first = true;
      for (int e = i[r]; first && e < i[r + 1]; ++e) first = !before(e);
      if (first) found.push_back(r);
    }
    for (int r : found) state[(size_t)r] = chosen;
    if (l.distribution) l.distribution->ghosts.forward(state.data(), 1);
    const auto closed = [&](int r) {
      for (int e = i[r]; state[(size_t)r] == undecided && e < i[r + 1]; ++e)
        if (strong[e] && state[(size_t)j[e]] == chosen) state[(size_t)r] = decided;
      return state[(size_t)r] != undecided;
    };
    open.erase(std::remove_if(open.begin(), open.end(), closed), open.end());
  }
  int count = 0;
  l.coarse.resize(state.size());
  for (int r = 0; r < l.n; ++r)
    l.coarse.data()[r] = state[(size_t)r] == chosen ? count++ : state[(size_t)r] == loose ? alone : fine;
  return count;
}

// A fine node takes from the coarse ones it depends on, and from those that fine ones it depends on depend on.
void Algebraic::interpolation_pattern(AlgebraicLevel &l, AlgebraicNumbering &numbering) const
{
  const int *const           i = l.i.data(), *const j = l.j.data(), *const state = l.coarse.data();
  const unsigned char *const strong = l.strong.data();
  std::vector<int>           columns, seen(l.coarse.size(), -1); // nodes
  columns.reserve(4 * (size_t)l.n);
  l.pi.resize((size_t)l.n + 1);
  for (int r = 0; r < l.n; ++r) {
    const auto add = [&](int c) {
      if (seen[(size_t)c] == r) return;
      seen[(size_t)c] = r;
      columns.push_back(c);
    };
    if (state[r] >= 0) columns.push_back(r);
    for (int e = i[r]; state[r] == fine && e < i[r + 1]; ++e) {
      if (!strong[e]) continue;
      const int k = j[e];
      if (state[k] >= 0) add(k);
      for (int f = i[k]; state[k] == fine && f < i[k + 1]; ++f)
        if (strong[f] && state[j[f]] >= 0) add(j[f]);
    }
    l.pi.data()[r + 1] = (int)columns.size();
  }
  for (int &c : columns) c = c < l.n ? state[c] : numbering(l.distribution->process(c), state[c]);
  const int coarse = l.columns = numbering.size();
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

// Weights of P. A strong coupling with a fine node k goes to k's neighbours as k's own row has it, and part of it
// back to the node; weak ones go to the diagonal.
void Algebraic::interpolate(AlgebraicLevel &l) const
{
  if (l.distribution) l.distribution->rows.forward(l.a.data(), 1);
  const int *const i = l.i.data(), *const j = l.j.data(), *const pi = l.pi.data(), *const state = l.coarse.data();
  const unsigned char *const strong = l.strong.data();
  const double *const        a = l.a.data();
  double *const              p = l.p.data();
  std::vector<int>           place((size_t)l.columns, -1); // in P, of the coarse nodes of a row
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
  if (l.distribution) l.distribution->weights.forward(p, 1);
}

// The couplings of next = P'AP, those before the diagonal first, then the diagonal, by the columns of A P. Rows of
// other processes, of which this one has a part, follow the own ones in P'.
void Algebraic::product_pattern(AlgebraicLevel &l, const int *begin, int *column, AlgebraicNumbering &numbering,
                                AlgebraicLevel &next) const
{
  const int        m = next.n, rows = (int)l.ri.size() - 1;
  std::vector<int> seen((size_t)l.columns, -1), columns;
  const auto       add = [&](int c, int k) {
    if (seen[(size_t)k] == c) return;
    seen[(size_t)k] = c;
    columns.push_back(k);
  };
  const auto add_row = [&](int c) {
    for (int q = l.ri.data()[c]; q < l.ri.data()[c + 1]; ++q)
      for (int t = begin[l.rj.data()[q]]; t < begin[l.rj.data()[q] + 1]; ++t) add(c, column[t]);
  };
  std::unique_ptr<AlgebraicParts> parts;
  if (l.distribution) {
    std::vector<int> ends(1);
    for (int c = m; c < rows; ++c) {
      add_row(c);
      ends.push_back((int)columns.size());
    }
    l.distribution->si.swap(ends), l.distribution->sj.swap(columns);
    parts = std::make_unique<AlgebraicParts>(*l.distribution, numbering);
    seen.resize((size_t)numbering.size(), -1);
  }
  columns.reserve(2 * l.pj.size());
  next.i.resize((size_t)m + 1), next.diagonal.resize((size_t)m);
  for (int c = 0; c < m; ++c) {
    const auto first = (ptrdiff_t)columns.size();
    add_row(c);
    if (parts) parts->for_row(c, [&](int, int k) { add(c, k); });
    const auto middle = std::partition(columns.begin() + first, columns.end(), [c](int k) { return k < c; });
    std::iter_swap(middle, std::find(middle, columns.end(), c));
    next.diagonal.data()[c] = (int)(middle - columns.begin());
    next.i.data()[c + 1]    = (int)columns.size();
  }
  keep(columns, next.j);
  next.a.resize(columns.size());
  if (parts) distribute_next(l, *parts, column, (size_t)begin[l.n], numbering, next);
  next.x.resize((size_t)(m + next.ghosts())), next.b.resize(next.x.size());
}

// next = P'AP: A P row by row, then P' (A P). numbers: of the next level's nodes, at the first time.
void Algebraic::product(AlgebraicLevel &l, AlgebraicNumbering *numbering, AlgebraicLevel &next) const
{
  const int           m = next.n, rows = (int)l.ri.size() - 1;
  const int *const    i = l.i.data(), *const j = l.j.data(), *const pi = l.pi.data(), *const pj = l.pj.data();
  const double *const a = l.a.data(), *const p = l.p.data();
  size_t max_entries = 0; // entries of A P, as the pattern of A is symmetric
  for (int r = 0; r < l.n + l.ghosts(); ++r) max_entries += (size_t)(i[r + 1] - i[r]) * (size_t)(pi[r + 1] - pi[r]);
  const std::unique_ptr<int[]>    begin(new int[(size_t)l.n + 1]), column(new int[max_entries]);
  const std::unique_ptr<double[]> value(new double[max_entries]);
  std::vector<int>                place((size_t)l.columns, -1);
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
  if (numbering) {
    product_pattern(l, begin.get(), column.get(), *numbering, next);
    place.resize((size_t)l.columns);
  }
  const int           own = next.i.data()[m];
  // those of this process's part will do
  std::vector<double> sums(l.distribution ? (size_t)own + l.distribution->sj.size() : 0), squares((size_t)rows);
  double *const       to = l.distribution ? sums.data() : next.a.data();
  for (int c = 0; c < rows; ++c) {
    const int *const columns = c < m ? next.j.data() : l.distribution->sj.data() - own;
    const int        first   = c < m ? next.i.data()[c] : own + l.distribution->si[(size_t)(c - m)];
    const int        end     = c < m ? next.i.data()[c + 1] : own + l.distribution->si[(size_t)(c - m) + 1];
    for (int e = first; e < end; ++e) place[(size_t)columns[e]] = e, to[e] = 0;
    for (int q = l.ri.data()[c]; q < l.ri.data()[c + 1]; ++q) {
      const int    r = l.rj.data()[q];
      const double w = p[l.rp.data()[q]];
      for (int t = begin[(size_t)r]; t < begin[(size_t)r + 1]; ++t)
        to[place[(size_t)column[(size_t)t]]] += w * value[(size_t)t];
      squares[(size_t)c] += w * w * a[l.diagonal.data()[r]];
    }
  }
  if (l.distribution) {
    l.distribution->sums.add_back(to, 1);
    std::copy(to, to + own, next.a.data());
  }
  for (int c = 0; c < m; ++c) {
    double &d = next.a.data()[next.diagonal.data()[c]];
    // rounding: a component without Dirichlet nodes has shrunk to one node
    if (!(d > tuning::singular_product * squares[(size_t)c])) d = 0;
  }
}

void Algebraic::invert_diagonal(AlgebraicLevel &l) const
{
  if (l.inverse.empty()) l.inverse.resize((size_t)l.n);
  if (l.distribution && l.more.empty()) l.more.resize((size_t)l.n);
  for (int r = 0; r < l.n; ++r) {
    const double d = l.a.data()[l.diagonal.data()[r]];
    double       more = 0;
    for (int e = l.diagonal.data()[r] + 1; l.distribution && e < l.i.data()[r + 1]; ++e)
      if (l.j.data()[e] >= l.n) more += std::abs(l.a.data()[e]) / 2;
    if (l.distribution) l.more.data()[r] = more;
    l.inverse.data()[r] = d > 0 ? 1 / (d + more) : 0;
  }
}

bool Algebraic::factor()
{
  const AlgebraicLevel &l = levels_.back();
  loose_                  = l.distribution || l.n > tuning::algebraic_least;
  if (loose_) return levels_.size() < tuning::algebraic_levels;
  last_.reset(l.n, std::max(l.n - 1, 0));
  for (int r = 0; r < l.n; ++r)
    for (int e = l.i.data()[r]; e <= l.diagonal.data()[r]; ++e) last_.add(r, l.j.data()[e], l.a.data()[e]);
  return last_.factor(tuning::singular_pivot) < 0;
}

bool Algebraic::setup()
{
  if (!known_) levels_[0].nodes = of_all(levels_[0], levels_[0].n);
  int number = 0; // of the level, however many processes there are
  for (size_t k = 0;; ++k) {
    AlgebraicLevel &l = levels_[k];
    if (k) invert_diagonal(l);
    if (known_ ? k + 1 == levels_.size()
               : (l.nodes <= tuning::algebraic_least && !l.distribution) || levels_.size() == tuning::algebraic_levels)
      break;
    if (k && l.distribution && l.nodes <= std::max((double)redundant_, (double)tuning::algebraic_least)) {
      if (!known_) levels_.emplace_back(), gather_pattern(l, levels_[k + 1]);
      gather_values(l, levels_[k + 1]);
      continue;
    }
    std::unique_ptr<AlgebraicNumbering> numbering;
    if (!known_) {
      const int    coarse = split(l, number++);
      const double all = of_all(l, coarse);
      if (!(all > 0)) break;
      levels_.emplace_back();
      levels_[k + 1].n = coarse, levels_[k + 1].nodes = all;
      numbering = std::make_unique<AlgebraicNumbering>(l.distribution ? l.distribution->rank : 0, coarse);
      if (l.distribution) rows_of_ghosts(l);
      interpolation_pattern(l, *numbering);
      if (l.distribution) weights_of_ghosts(l, *numbering);
      for (int r = 0; r < l.n; ++r)
        if (l.coarse.data()[r] >= 0) levels_[k + 1].number.push_back(l.number[(size_t)r]);
      std::vector<int>().swap(l.number);
    }
    interpolate(l);
    product(l, numbering.get(), levels_[k + 1]);
  }
  if (!known_)
    for (AlgebraicLevel &l : levels_)
      l.entries = of_all(l, l.i.data()[l.n]), l.weights = of_all(l, l.pi.empty() ? 0 : l.pi.data()[l.n]);
  known_ = levels_.size() > 1 && factor();
  if (!known_) clear();
  return known_;
}

} // namespace tessera::rrb
