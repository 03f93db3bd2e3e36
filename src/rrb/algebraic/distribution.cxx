// Setup of the algebraic levels on several processes: rows of ghosts, parts of products for their owners, the level
// that every process has.
#include "rrb/algebraic/algebraic.hpp"
#include <algorithm>
#include <numeric>

namespace tessera::rrb {

namespace {

template <class T> void grow(Buffer<T> &v, int used, size_t size)
{
  Buffer<T> more(size);
  std::copy(v.data(), v.data() + used, more.data());
  v = std::move(more);
}

std::vector<int> sums(const std::vector<int> &of)
{
  std::vector<int> to(of.size() + 1);
  std::partial_sum(of.begin(), of.end(), to.begin() + 1);
  return to;
}

// The ghosts' rows behind the own ones: where they begin, in i. Returns what brings the values of their entries.
// Collective.
Exchange behind(AlgebraicDistribution &s, Buffer<int> &i)
{
  const int        n = s.own, ghosts = s.ghosts.ghosts(), entries = i.data()[n];
  std::vector<int> ends(2 * (size_t)(n + ghosts)), owner, index;
  for (int r = 0; r < n; ++r) ends[2 * (size_t)r] = i.data()[r], ends[2 * (size_t)r + 1] = i.data()[r + 1];
  s.ghosts.forward(ends.data(), 2);
  grow(i, n + 1, (size_t)(n + ghosts) + 1);
  for (int g = 0; g < ghosts; ++g) {
    for (int e = ends[2 * (size_t)(n + g)]; e < ends[2 * (size_t)(n + g) + 1]; ++e)
      owner.push_back(s.owner[(size_t)g]), index.push_back(e);
    i.data()[n + g + 1] = entries + (int)owner.size();
  }
  return Exchange(Exec(), s.comm, entries, owner, index);
}

} // namespace

AlgebraicDistribution::AlgebraicDistribution(const Comm &c, int n, std::vector<int> owners, std::vector<int> indices) :
  comm(c), own(n), owner(std::move(owners)), index(std::move(indices)), ghosts(Exec(), c, n, owner, index)
{
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &processes);
}

size_t AlgebraicDistribution::bytes() const
{
  size_t sum = ghosts.bytes() + rows.bytes() + weights.bytes() + this->sums.bytes();
  for (const std::vector<int> *v : {&owner, &index, &si, &sj, &nodes, &first_node, &entries, &first_entry, &order})
    sum += v->capacity() * sizeof(int);
  return sum;
}

AlgebraicParts::AlgebraicParts(const AlgebraicDistribution &s, AlgebraicNumbering &numbering)
{
  const size_t     parts = s.si.size() - 1;
  std::vector<int> order(parts), counts((size_t)s.processes), rows, processes, number;
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return numbering.owner[(size_t)a] < numbering.owner[(size_t)b]; });
  for (int c : order)
    for (int e = s.si[(size_t)c]; e < s.si[(size_t)c + 1]; ++e) {
      ++counts[(size_t)numbering.owner[(size_t)c]];
      sent.push_back(e);
      rows.push_back(numbering.index[(size_t)c]);
      processes.push_back(numbering.process(s.sj[(size_t)e]));
      number.push_back(numbering.owner_number(s.sj[(size_t)e]));
    }
  messages = std::make_unique<Messages>(s.comm, counts);
  rows = messages->send(rows), processes = messages->send(processes), number = messages->send(number);
  std::vector<int> of_row((size_t)numbering.own());
  for (int r : rows) ++of_row[(size_t)r];
  begin = sums(of_row);
  entry.resize(rows.size()), column.resize(rows.size());
  std::vector<int> next(begin.begin(), begin.end() - 1);
  for (size_t e = 0; e < rows.size(); ++e) {
    column[e]                              = numbering(processes[e], number[e]);
    entry[(size_t)next[(size_t)rows[e]]++] = (int)e;
  }
}

// The rows of ghosts: values of A, what is strong in them and which of their nodes are coarse.
void Algebraic::rows_of_ghosts(AlgebraicLevel &l) const
{
  AlgebraicDistribution &s   = *l.distribution;
  const int              own = l.i.data()[l.n];
  s.ghosts.forward(l.coarse.data(), 1);
  s.rows               = behind(s, l.i);
  const int        all = l.i.data()[l.n + l.ghosts()];
  std::vector<int> key(3 * (size_t)all), state(l.coarse.data(), l.coarse.data() + l.coarse.size());
  for (int e = 0; e < own; ++e) {
    const int v        = l.j.data()[e];
    key[3 * (size_t)e] = s.process(v), key[3 * (size_t)e + 1] = s.owner_number(v),
            key[3 * (size_t)e + 2] = state[(size_t)v];
  }
  s.rows.forward(key.data(), 3);
  grow(l.j, own, (size_t)all), grow(l.a, own, (size_t)all), grow(l.strong, own, (size_t)all);
  s.rows.forward(l.strong.data(), 1);
  AlgebraicNumbering numbering(s);
  for (int e = own; e < all; ++e) {
    l.j.data()[e] = numbering(key[3 * (size_t)e], key[3 * (size_t)e + 1]);
    if (l.j.data()[e] == (int)state.size()) state.push_back(key[3 * (size_t)e + 2]);
  }
  s.owner.swap(numbering.owner), s.index.swap(numbering.index);
  l.coarse = copy_to(Space::host, state);
}

// The rows of ghosts in P; and the numbers that the next level's nodes have here.
void Algebraic::weights_of_ghosts(AlgebraicLevel &l, AlgebraicNumbering &numbering) const
{
  AlgebraicDistribution &s   = *l.distribution;
  const int              own = l.pi.data()[l.n];
  s.weights                  = behind(s, l.pi);
  const int        all       = l.pi.data()[l.n + l.ghosts()];
  std::vector<int> key(2 * (size_t)all);
  for (int q = 0; q < own; ++q)
    key[2 * (size_t)q]             = numbering.process(l.pj.data()[q]),
            key[2 * (size_t)q + 1] = numbering.owner_number(l.pj.data()[q]);
  s.weights.forward(key.data(), 2);
  grow(l.pj, own, (size_t)all), grow(l.p, own, (size_t)all);
  for (int q = own; q < all; ++q) l.pj.data()[q] = numbering(key[2 * (size_t)q], key[2 * (size_t)q + 1]);
  for (size_t v = (size_t)l.n; v < l.coarse.size(); ++v) {
    int &c = l.coarse.data()[v];
    if (c >= 0) c = numbering(s.process((int)v), c);
  }
  l.columns = numbering.size();
}

// Where the entries of parts go, and the ghosts of the next level: those that its own rows and P have. What A P has
// beside these is numbered behind them.
void Algebraic::distribute_next(AlgebraicLevel &l, const AlgebraicParts &parts, int *column, size_t products,
                                AlgebraicNumbering &numbering, AlgebraicLevel &next) const
{
  AlgebraicDistribution &s = *l.distribution;
  const int              m = next.n, own = next.i.data()[m], kept = (int)s.si.size() - 1;
  std::vector<int>       place((size_t)numbering.size()), answers(parts.column.size()), owner(s.sj.size()),
    index(s.sj.size());
  for (int c = 0; c < m; ++c) {
    for (int e = next.i.data()[c]; e < next.i.data()[c + 1]; ++e) place[(size_t)next.j.data()[e]] = e;
    parts.for_row(c, [&](int entry, int k) { answers[(size_t)entry] = place[(size_t)k]; });
  }
  answers = parts.messages->answer(answers);
  for (size_t e = 0; e < parts.sent.size(); ++e) index[(size_t)parts.sent[e]] = answers[e];
  for (int c = 0; c < kept; ++c)
    std::fill(owner.begin() + s.si[(size_t)c], owner.begin() + s.si[(size_t)c + 1], numbering.owner[(size_t)c]);
  s.sums = Exchange(Exec(), s.comm, own, owner, index);

  std::vector<int> to((size_t)numbering.size(), -1), owners(numbering.owner.begin(), numbering.owner.begin() + kept),
    indices(numbering.index.begin(), numbering.index.begin() + kept);
  std::iota(to.begin(), to.begin() + m + kept, 0);
  int last = m + kept;
  for (int e = 0; e < own; ++e) {
    const int k = next.j.data()[e];
    if (to[(size_t)k] >= 0) continue;
    to[(size_t)k] = last++;
    owners.push_back(numbering.process(k)), indices.push_back(numbering.owner_number(k));
  }
  for (int &k : to)
    if (k < 0) k = last++;
  const auto renumber = [&](int *v, size_t count) {
    for (size_t e = 0; e < count; ++e)
      if (v[e] >= 0) v[e] = to[(size_t)v[e]];
  };
  renumber(l.pj.data(), l.pj.size()), renumber(l.coarse.data(), l.coarse.size()), renumber(next.j.data(), (size_t)own),
    renumber(s.sj.data(), s.sj.size());
  renumber(column, products);
  l.columns         = last;
  next.distribution = std::make_unique<AlgebraicDistribution>(s.comm, m, owners, indices);
}

// The next level is the same matrix, all of it on every process.
void Algebraic::gather_pattern(AlgebraicLevel &l, AlgebraicLevel &next) const
{
  AlgebraicDistribution &s       = *l.distribution;
  const int              mine[2] = {l.n, l.i.data()[l.n]};
  std::vector<int>       all(2 * (size_t)s.processes), columns((size_t)mine[1]), ends((size_t)l.n);
  MPI_Allgather(mine, 2, MPI_INT, all.data(), 2, MPI_INT, s.comm);
  for (int r = 0; r < s.processes; ++r)
    s.nodes.push_back(all[2 * (size_t)r]), s.entries.push_back(all[2 * (size_t)r + 1]);
  s.first_node = sums(s.nodes), s.first_entry = sums(s.entries);
  const auto global_number = [&](int e) {
    const int v = l.j.data()[e];
    return s.first_node[(size_t)s.process(v)] + s.owner_number(v);
  };
  s.order.resize((size_t)mine[1]);
  std::iota(s.order.begin(), s.order.end(), 0);
  for (int r = 0; r < l.n; ++r) {
    std::sort(s.order.begin() + l.i.data()[r], s.order.begin() + l.i.data()[r + 1],
              [&](int e, int f) { return global_number(e) < global_number(f); });
    ends[(size_t)r] = s.first_entry[(size_t)s.rank] + l.i.data()[r + 1];
  }
  for (size_t e = 0; e < columns.size(); ++e) columns[e] = global_number(s.order[e]);
  next.n     = s.first_node.back();
  next.nodes = next.n;
  next.i.resize((size_t)next.n + 1), next.diagonal.resize((size_t)next.n), next.x.resize((size_t)next.n),
    next.b.resize((size_t)next.n);
  next.j.resize((size_t)s.first_entry.back()), next.a.resize(next.j.size()), next.number.resize((size_t)next.n);
  const auto gather = [&](const std::vector<int> &from, int *to, const std::vector<int> &counts,
                          const std::vector<int> &begins) {
    MPI_Allgatherv(from.data(), (int)from.size(), MPI_INT, to, counts.data(), begins.data(), MPI_INT, s.comm);
  };
  gather(ends, next.i.data() + 1, s.nodes, s.first_node);
  gather(l.number, next.number.data(), s.nodes, s.first_node);
  gather(columns, next.j.data(), s.entries, s.first_entry);
  for (int r = 0; r < next.n; ++r)
    for (int e = next.i.data()[r]; e < next.i.data()[r + 1]; ++e)
      if (next.j.data()[e] == r) next.diagonal.data()[r] = e;
}

void Algebraic::gather_values(const AlgebraicLevel &l, AlgebraicLevel &next) const
{
  const AlgebraicDistribution &s = *l.distribution;
  std::vector<double>          mine(s.order.size());
  for (size_t e = 0; e < mine.size(); ++e) mine[e] = l.a.data()[s.order[e]];
  MPI_Allgatherv(mine.data(), (int)mine.size(), MPI_DOUBLE, next.a.data(), s.entries.data(), s.first_entry.data(),
                 MPI_DOUBLE, s.comm);
}

} // namespace tessera::rrb
