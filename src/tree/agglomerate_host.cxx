// Clusters of nodes (agglomerate.hpp) of one process, on the host. While many clusters grow, a round adds up the
// couplings of all of them anew. When few do, as one that takes its neighbors one by one, only those of the clusters
// that have become one: what a round takes then goes with the couplings of clusters that grow.
#include "tree/agglomerate.hpp"
#include "tree/agglomeration.hpp"
#include "tree/couplings.hpp"
#include "exec/host_view.hpp"
#include "exec/sets.hpp"
#include <algorithm>
#include <cmath>

namespace tessera::tree {

namespace {

struct Coupling {
  int    to;
  double weight;
};

class Growth {
public:
  explicit Growth(const Rules &rules) : rules_(rules) { }
  template <class T> void                grow(const Level<T> &level);
  const std::vector<std::vector<double>> &labels() const { return labels_; }

private:
  template <class T> void begin(const Level<T> &level);
  template <class W> int  pick(const Couplings<W> &between, int k);
  template <class W> bool join_all(const Couplings<W> &between);
  template <class W> void contract(const Couplings<W> &between, Sets &sets);
  void                    join_few();
  void                    look_outside(int k);
  int                     pick(int k);
  std::vector<int>        enclose(const std::vector<int> &looked);
  void                    merge(int k, int with);
  void                    keep_labels();
  Rules                               rules_;
  std::vector<Cluster>                cluster_;
  std::vector<int>                    of_node_; // the cluster of each node
  Sums                                sums_;
  std::vector<std::vector<double>>    labels_;
  // where few grow: clusters are the roots of sets, and have couplings with members of sets
  Sets                                sets_{0};
  std::vector<std::vector<Coupling>>  row_;
  std::vector<int>                    place_; // of a cluster in the row that is added up
};

template <class T> void Growth::begin(const Level<T> &level)
{
  const HostView<Key> key(level.start);
  const HostView<T>   inverse(level.inverse);
  const size_t        n = (size_t)level.n;
  cluster_.resize(n);
  of_node_.resize(n);
  for (size_t p = 0; p < n; ++p) {
    cluster_[p].id       = (double)p;
    cluster_[p].name     = name_of(key.data(), (int)p, (double)p);
    cluster_[p].diagonal = inverse.data()[p] > 0 ? 1 / (double)inverse.data()[p] : 0;
    of_node_[p]          = (int)p;
  }
}

// What cluster k is coupled with most, or -1; what it is coupled with in all is kept.
template <class W> int Growth::pick(const Couplings<W> &between, int k)
{
  Cluster &c = cluster_[(size_t)k];
  W        largest = 0, next = 0;
  double   sum = 0;
  int      at = -1;
  for (int e = between.first[k], end = between.first[k + 1]; e < end; ++e) {
    const W    w    = between.to[e] == k ? 0 : std::fabs(between.weight[e]);
    const bool more = w > largest;
    sum += (double)w;
    next    = more ? largest : w > next ? w : next;
    at      = more ? between.to[e] : at;
    largest = more ? w : largest;
  }
  c.outside = sum;
  if (at < 0 || !rules_.grows(c)) return -1;
  const double likely = 0.999 * (double)largest;
  if ((double)next < likely) return at;
  Pick found;
  for (int e = between.first[k]; e < between.first[k + 1]; ++e) {
    const double w = std::fabs((double)between.weight[e]);
    const int    q = between.to[e];
    if (q != k && w >= likely) found.offer(c, w, cluster_[(size_t)q].id, cluster_[(size_t)q].name, q);
  }
  return found.at;
}

template <class W> void Growth::contract(const Couplings<W> &between, Sets &sets)
{
  const int            old = (int)cluster_.size();
  std::vector<Cluster> joined;
  std::vector<int>     begin(1, 0), member((size_t)old), now((size_t)old);
  for (int k = 0; k < old; ++k) { // the root of a set comes first
    const int root = sets.root(k);
    if (root == k) {
      now[(size_t)k] = (int)joined.size();
      joined.push_back(cluster_[(size_t)k]);
      begin.push_back(0);
    } else {
      now[(size_t)k] = now[(size_t)root];
      joined[(size_t)now[(size_t)k]].join(cluster_[(size_t)k]);
    }
    ++begin[(size_t)now[(size_t)k] + 1];
  }
  for (size_t k = 0; k + 1 < begin.size(); ++k) begin[k + 1] += begin[k];
  std::vector<int> next(begin);
  for (int k = 0; k < old; ++k) member[(size_t)next[(size_t)now[(size_t)k]]++] = k;
  sums_ = add_up(between, begin, member, now, joined.size());
  for (int &k : of_node_) k = now[(size_t)k];
  cluster_ = std::move(joined);
}

// A round of all clusters. False: less than half of them grow.
template <class W> bool Growth::join_all(const Couplings<W> &between)
{
  const int n = (int)cluster_.size();
  int       found = 0;
  Sets      sets((size_t)n);
  for (int k = 0; k < n; ++k)
    if (const int at = pick(between, k); at >= 0) sets.join(k, at), ++found;
  contract(between, sets);
  return found > n / 2;
}

// The couplings of cluster k, with each other one once, and what they are in all.
void Growth::look_outside(int k)
{
  std::vector<Coupling> &row = row_[(size_t)k];
  size_t                 n = 0;
  double                 sum = 0;
  for (const Coupling &c : row) {
    const int q = sets_.root(c.to);
    if (q == k) continue;
    sum += c.weight;
    int &at = place_[(size_t)q];
    if (at < 0) {
      at       = (int)n;
      row[n++] = {q, c.weight};
    } else row[(size_t)at].weight += c.weight;
  }
  row.resize(n);
  for (const Coupling &c : row) place_[(size_t)c.to] = -1;
  cluster_[(size_t)k].outside = sum;
}

int Growth::pick(int k)
{
  Pick pick;
  look_outside(k);
  if (rules_.grows(cluster_[(size_t)k]))
    for (const Coupling &c : row_[(size_t)k])
      pick.offer(cluster_[(size_t)k], c.weight, cluster_[(size_t)c.to].id, cluster_[(size_t)c.to].name, c.to);
  return pick.at;
}

void Growth::merge(int k, int with)
{
  k = sets_.root(k), with = sets_.root(with);
  if (k == with) return;
  const int root = std::min(k, with), other = std::max(k, with);
  sets_.join(k, with);
  cluster_[(size_t)root].join(cluster_[(size_t)other]);
  std::vector<Coupling> &to = row_[(size_t)root], &from = row_[(size_t)other];
  if (to.size() < from.size()) to.swap(from);
  to.insert(to.end(), from.begin(), from.end());
  from = {};
}

// Of these clusters those that enclose others now; from then on each counts as one.
std::vector<int> Growth::enclose(const std::vector<int> &looked)
{
  std::vector<int> found;
  for (int k : looked)
    if (rules_.counts(cluster_[(size_t)k])) found.push_back(k);
  if (!found.empty()) keep_labels();
  for (int k : found) cluster_[(size_t)k].diagonal = cluster_[(size_t)k].outside;
  return found;
}

// Rounds of all clusters first, then of those that have become others: nothing new is known of the rest.
void Growth::join_few()
{
  std::vector<int> looked, next;
  for (int k = 0; k < (int)cluster_.size(); ++k)
    if (sets_.root(k) == k) looked.push_back(k);
  do {
    std::vector<std::pair<int, int>> pairs;
    for (int k : looked)
      if (const int at = pick(k); at >= 0) pairs.push_back({k, at});
    next.clear();
    if (rules_.encloses) next = enclose(looked);
    for (const auto &[k, with] : pairs) merge(k, with);
    for (const auto &pair : pairs) next.push_back(pair.first);
    for (int &k : next) k = sets_.root(k);
    std::sort(next.begin(), next.end());
    next.erase(std::unique(next.begin(), next.end()), next.end());
    looked.swap(next);
  } while (!looked.empty());
}

void Growth::keep_labels()
{
  std::vector<double> label;
  label.reserve(of_node_.size());
  for (int of : of_node_) {
    const Cluster &c = cluster_[(size_t)sets_.root(of)];
    label.push_back(rules_.counts(c) ? c.id : -1);
  }
  labels_.push_back(std::move(label));
}

template <class T> void Growth::grow(const Level<T> &level)
{
  const HostView<int> first(level.i), to(level.j);
  const HostView<T>   a(level.a);
  begin(level);
  bool many = join_all(Couplings<T>{first.data(), to.data(), a.data()});
  while (many) many = join_all(sums_.couplings());
  const Couplings<double> between = sums_.couplings();
  const size_t       n = cluster_.size();
  sets_ = Sets(n);
  place_.assign(n, -1);
  row_.resize(n);
  for (size_t k = 0; k < n; ++k) {
    row_[k].reserve((size_t)(between.first[k + 1] - between.first[k]));
    for (int e = between.first[k]; e < between.first[k + 1]; ++e) row_[k].push_back({between.to[e], between.weight[e]});
  }
  join_few();
  keep_labels();
  for (Cluster &c : cluster_) c.diagonal = c.outside;
  rules_.encloses = true;
  join_few();
}

} // namespace

template <class T> std::vector<Buffer<double>> agglomerate_on_host(const Level<T> &level, const Rules &rules)
{
  Growth growth(rules);
  growth.grow(level);
  std::vector<Buffer<double>> labels;
  for (const std::vector<double> &of : growth.labels()) labels.push_back(copy_to(level.exec.space, of));
  return labels;
}

template std::vector<Buffer<double>> agglomerate_on_host(const Level<double> &, const Rules &);
template std::vector<Buffer<double>> agglomerate_on_host(const Level<float> &, const Rules &);

} // namespace tessera::tree
