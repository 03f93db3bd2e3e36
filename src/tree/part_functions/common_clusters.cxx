#include "tree/part_functions/common_clusters.hpp"
#include "exec/gather.hpp"
#include "exec/sets.hpp"
#include <algorithm>
#include <limits>

namespace tessera::tree {

namespace {

constexpr int nobody = -1, several = -2;

int both(int rank, int other) { return rank == nobody || rank == other ? other : other == nobody ? rank : several; }

// Items as numbers of a message
template <class V> void append(const std::vector<V> &items, std::vector<double> &message)
{
  static_assert(sizeof(V) % sizeof(double) == 0, "whole numbers of doubles");
  const size_t begin = message.size();
  message.resize(begin + items.size() * sizeof(V) / sizeof(double));
  if (!items.empty()) memcpy(message.data() + begin, items.data(), items.size() * sizeof(V));
}
template <class V> std::vector<V> take(const double *&from, size_t n)
{
  std::vector<V> items(n);
  if (n) memcpy((void *)items.data(), from, n * sizeof(V));
  from += n * sizeof(V) / sizeof(double);
  return items;
}

void sort_once(std::vector<double> &list)
{
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

} // namespace

void CommonClusters::begin(std::vector<double> ids)
{
  sort_once(ids);
  ids_ = gather_from_all(comm_, ids).all;
  sort_once(ids_);
  rank_.assign(ids_.size(), nobody);
  divided_.assign(ids_.size(), 0);
}

int CommonClusters::at(double id) const
{
  const auto found = std::lower_bound(ids_.begin(), ids_.end(), id);
  return found != ids_.end() && *found == id ? (int)(found - ids_.begin()) : -1;
}

double CommonClusters::now(double id) const
{
  const auto found = std::lower_bound(renamed_.begin(), renamed_.end(), Renamed{id, 0});
  return found != renamed_.end() && found->id == id ? found->now : id;
}

void CommonClusters::collect(const std::vector<Part> &parts, const std::vector<Coupling> &couplings,
                             const Rules &rules)
{
  std::vector<double> message{(double)parts.size(), (double)couplings.size()};
  append(parts, message);
  append(couplings, message);
  const Gathered<double>             all = gather_from_all(comm_, message);
  std::vector<std::vector<Coupling>> of_process;
  total_.assign(ids_.size(), Cluster());
  for (size_t m = 0; m < ids_.size(); ++m) total_[m].id = ids_[m], total_[m].nodes = 0;
  for (size_t r = 0; r + 1 < all.begin.size(); ++r) {
    const double *from = all.all.data() + all.begin[r];
    const size_t  n = (size_t)from[0], m = (size_t)from[1];
    from += 2;
    for (const Part &part : take<Part>(from, n)) {
      Cluster &c = total_[(size_t)part.at];
      if (c.nodes > 0) c.join(part.cluster);
      else c = part.cluster;
      int &rank = rank_[(size_t)part.at];
      if (rank == nobody) rank = (int)r;
    }
    of_process.push_back(take<Coupling>(from, m));
  }
  pick(rules, of_process);
}

// What divided clusters are coupled with most. Couplings with clusters that are not common are those of one process.
void CommonClusters::pick(const Rules &rules, const std::vector<std::vector<Coupling>> &of_process)
{
  std::vector<double>   weight(ids_.size());
  std::vector<size_t>   next(of_process.size());
  std::vector<int>      to;
  std::vector<Coupling> others; // with clusters that are not common
  picks_.clear();
  picked_.clear();
  for (int m = 0; m < (int)ids_.size(); ++m) {
    const Cluster &from = total_[(size_t)m];
    Pick           pick;
    to.clear(), others.clear();
    for (size_t r = 0; r < next.size(); ++r)
      for (; next[r] < of_process[r].size() && of_process[r][next[r]].of == m; ++next[r]) {
        const Coupling &c = of_process[r][next[r]];
        if (c.at < 0) {
          pick.offer(from, c.weight, c.id, c.name, -1);
          others.push_back(c);
        } else if (c.weight > 0) {
          if (!(weight[(size_t)c.at] > 0)) to.push_back(c.at);
          weight[(size_t)c.at] += c.weight;
        }
      }
    for (int q : to) pick.offer(from, weight[(size_t)q], ids_[(size_t)q], total_[(size_t)q].name, q);
    const auto join = [&](int at, double id) {
      picks_.push_back({m, at, from.id, id});
      if (at < 0) picked_.push_back(id);
    };
    if (pick.id >= 0 && !rules.has_closed(from)) {
      join(pick.at, pick.id);
      for (const Coupling &c : others)
        if (rules.takes_in(from, pick, c.closed_nodes, c.weight)) join(-1, c.id);
      for (int q : to)
        if (rules.takes_in(from, pick, rules.closed_nodes(total_[(size_t)q]), weight[(size_t)q]))
          join(q, ids_[(size_t)q]);
    }
    for (int q : to) weight[(size_t)q] = 0;
  }
  sort_once(picked_);
}

bool CommonClusters::join(std::vector<Tie> ties, double found)
{
  ties.push_back({-1, -1, found, found}); // the last one of each process
  const Gathered<Tie> all = gather_from_all(comm_, ties);
  const size_t        processes = all.begin.size() - 1;
  double              sum = (double)picks_.size();
  for (size_t r = 0; r < processes; ++r) sum += all.all[(size_t)all.begin[r + 1] - 1].id;
  if (!(sum > 0)) return false;
  const auto each = [&](const auto &f) { // f(tie, rank of the process that has found it)
    for (size_t r = 0; r < processes; ++r)
      for (int k = all.begin[r]; k < all.begin[r + 1] - 1; ++k) f(all.all[(size_t)k], (int)r);
    for (const Tie &t : picks_) f(t, several);
  };
  std::vector<double> others; // that are not common
  each([&](const Tie &t, int) {
    if (t.at < 0) others.push_back(t.id);
    if (t.root_at < 0) others.push_back(t.root);
  });
  sort_once(others);
  const int  common = (int)ids_.size();
  const auto place = [&](int at, double id) {
    return at >= 0 ? at : common + (int)(std::lower_bound(others.begin(), others.end(), id) - others.begin());
  };
  Sets sets(ids_.size() + others.size());
  each([&](const Tie &t, int) { sets.join(place(t.at, t.id), place(t.root_at, t.root)); });
  std::vector<int> root(sets.parent.size()), rank(root.size(), nobody);
  for (size_t m = 0; m < root.size(); ++m) root[m] = sets.root((int)m);
  // a process has nodes in each of its sets, as one of its clusters has picked
  for (size_t m = 0; m < ids_.size(); ++m) rank[(size_t)root[m]] = both(rank[(size_t)root[m]], rank_[m]);
  each([&](const Tie &t, int r) {
    int &of = rank[(size_t)root[(size_t)place(t.at, t.id)]];
    of      = both(of, r);
  });
  rename(others, root, rank);
  return true;
}

// Each set has its least number; those with a common cluster are the common ones from here on.
void CommonClusters::rename(const std::vector<double> &others, const std::vector<int> &root,
                            const std::vector<int> &rank)
{
  const size_t               common = ids_.size();
  std::vector<double>        least(root.size(), std::numeric_limits<double>::infinity());
  std::vector<unsigned char> is_common(root.size());
  std::vector<std::pair<double, int>> next; // number and process
  const auto                 id = [&](size_t m) { return m < common ? ids_[m] : others[m - common]; };
  for (size_t m = 0; m < root.size(); ++m) {
    double &of = least[(size_t)root[m]];
    of         = std::min(of, id(m));
    is_common[(size_t)root[m]] |= m < common;
  }
  renamed_.clear();
  size_t renamed = 0, named = 0; // of common clusters
  for (size_t m = 0; m < root.size(); ++m) {
    const size_t of = (size_t)root[m];
    if (least[of] != id(m)) renamed_.push_back({id(m), least[of]});
    else if (is_common[of]) next.push_back({id(m), rank[of]});
    if (m < common) renamed = renamed_.size(), named = next.size();
  }
  std::inplace_merge(renamed_.begin(), renamed_.begin() + (ptrdiff_t)renamed, renamed_.end());
  std::inplace_merge(next.begin(), next.begin() + (ptrdiff_t)named, next.end());
  ids_.clear(), rank_.clear(), divided_.clear();
  for (const auto &c : next) {
    ids_.push_back(c.first);
    rank_.push_back(c.second);
    divided_.push_back(c.second == several);
  }
}

} // namespace tessera::tree
