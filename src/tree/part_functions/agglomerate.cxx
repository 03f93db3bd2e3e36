// Clusters of nodes (agglomerate.hpp) by rounds of Boruvka's algorithm: each cluster that is not closed picks the one
// that it is coupled with most, and all that pick each other in a chain become one. A round leaves a third or a fourth
// of them, and the couplings between these are added up for the next one.
//
// These are the rounds of a host, and agglomerate_device.k.cxx has those of a device. A process knows the clusters of
// its own nodes and those of its ghosts, which are among the common ones (common_clusters.hpp).
#include "tree/part_functions/agglomerate.hpp"
#include "tree/part_functions/common_clusters.hpp"
#include "tree/cells/keepers.hpp"
#include "exec/gather.hpp"
#include "exec/host_view.hpp"
#include "exec/sets.hpp"
#include <algorithm>
#include <cmath>
#include <memory>

namespace tessera::tree {

namespace {

// The couplings of own clusters. Those with itself are listed, too, and are none.
template <class W> struct Couplings {
  const int *first, *to;
  const W   *weight;
  double size(int k, int e) const { return to[e] == k ? 0 : std::fabs((double)weight[e]); } // entry e of cluster k
  template <class F> void each(int k, const F &f) const // f(other cluster, how much)
  {
    for (int e = first[k]; e < first[k + 1]; ++e)
      if (to[e] != k) f(to[e], std::fabs((double)weight[e]));
  }
};
// Memory for more of them than there are, of which the rest is not touched: most of the time of a first round would be
// page faults.
struct Sums {
  std::vector<int>          first;
  std::unique_ptr<int[]>    to;
  std::unique_ptr<double[]> weight;
  Couplings<double>         couplings() const { return {first.data(), to.get(), weight.get()}; }
};

// The largest of a cluster's couplings
struct Largest {
  double weight = 0;
  int    entry = -1;
  bool   alone = true; // no other one counts as equal
};

class Agglomeration {
public:
  Agglomeration(MPI_Comm comm, const Rules &rules, bool distributed) :
    comm_(comm), rules_(rules), distributed_(distributed), common_(comm)
  {
  }
  template <class T> void grow(Level<T> &level, const Buffer<T> &held);
  std::vector<double>     labels() const; // of own nodes

private:
  int  at(int k) const { return distributed_ ? at_[(size_t)k] : -1; } // among the common ones
  bool divided(int k) const { return at(k) >= 0 && common_.divided()[(size_t)at(k)]; }
  const Cluster &total(int k) const // of all processes, after collect()
  {
    return at(k) >= 0 ? common_.totals()[(size_t)at(k)] : cluster_[(size_t)k];
  }
  template <class T> void   begin(Level<T> &level, const Buffer<T> &held);
  template <class W> void   look_outside(const Couplings<W> &between);
  template <class W> void   collect(const Couplings<W> &between);
  template <class W> bool   round(const Couplings<W> &between);
  std::vector<Tie>          ties(Sets &sets) const;
  template <class W> void   contract(const Couplings<W> &between, Sets &sets, const std::vector<double> &id);
  template <class W> void   add_up(const Couplings<W> &between, const std::vector<int> &begin,
                                   const std::vector<int> &member, const std::vector<int> &now, size_t all);
  MPI_Comm             comm_;
  Rules                rules_;
  bool                 distributed_;
  int                  own_ = 0;        // clusters of own nodes come first, in order, then others of ghosts
  std::vector<Cluster> cluster_;
  std::vector<int>     node_, at_;      // the clusters of own nodes; where clusters are among the common ones
  std::vector<Largest> largest_;        // coupling of each own cluster
  Sums                 sums_;           // their couplings
  CommonClusters       common_;
};

template <class T> void Agglomeration::begin(Level<T> &level, const Buffer<T> &held)
{
  const HostView<Key>    key(level.start);
  const HostView<T>      inverse(level.inverse), takes(held);
  const size_t           n = (size_t)level.n, all = n + (size_t)level.ghosts;
  const double           before = distributed_ ? sum_before(comm_, (double)n) : 0;
  std::vector<double>    number(all);
  for (size_t p = 0; p < n; ++p) number[p] = before + (double)p;
  if (distributed_) {
    Buffer<double> numbers = copy_to(level.exec.space, number);
    level.exchange.forward(numbers.data(), 1);
    number = listed(numbers);
  }
  own_ = level.n;
  cluster_.resize(all);
  for (size_t p = 0; p < all; ++p) {
    cluster_[p].id = number[p];
    if (p < n) cluster_[p].name = name_of(key.data(), (int)p, number[p]);
    if (p < n) cluster_[p].diagonal = inverse.data()[p] > 0 ? 1 / (double)inverse.data()[p] : 0;
    if (p < n && !held.empty()) cluster_[p].held = share_of_one(takes.data()[p]);
    if (p < n) node_.push_back((int)p);
  }
  if (distributed_) common_.begin(std::vector<double>(number.begin() + (ptrdiff_t)n, number.end()));
}

template <class W> void Agglomeration::look_outside(const Couplings<W> &between)
{
  largest_.resize((size_t)own_);
  for (int k = 0; k < own_; ++k) {
    double sum = 0, largest = 0, second = 0;
    int    entry = -1;
    for (int e = between.first[k]; e < between.first[k + 1]; ++e) {
      const double w = between.size(k, e);
      sum += w;
      entry   = w > largest ? e : entry;
      second  = std::max(second, std::min(largest, w));
      largest = std::max(largest, w);
    }
    cluster_[(size_t)k].outside = sum;
    largest_[(size_t)k]         = {largest, entry, second < Pick::equal * largest};
  }
}

// Others learn of own clusters, and these of others.
template <class W> void Agglomeration::collect(const Couplings<W> &between)
{
  std::vector<Part>     parts;
  std::vector<Coupling> couplings;
  at_.clear();
  for (const Cluster &c : cluster_) at_.push_back(common_.at(c.id));
  for (int k = 0; k < own_; ++k) {
    if (at(k) >= 0) parts.push_back({at(k), cluster_[(size_t)k]});
    if (divided(k))
      between.each(k, [&](int q, double w) {
        const Cluster &o = cluster_[(size_t)q];
        couplings.push_back({at(k), at(q), o.id, o.name, w, rules_.closed_nodes(o)});
      });
  }
  common_.collect(parts, couplings, rules_);
  for (size_t k = 0; k < cluster_.size(); ++k)
    if (at_[k] >= 0) cluster_[k].name = common_.totals()[(size_t)at_[k]].name;
}

// What others must know of the sets.
std::vector<Tie> Agglomeration::ties(Sets &sets) const
{
  std::vector<Tie> list;
  for (int k = 0; k < (int)cluster_.size(); ++k) {
    const int    root = sets.root(k);
    const double id   = cluster_[(size_t)k].id;
    if (root == k) continue;
    if (at(k) >= 0 || std::binary_search(common_.picked().begin(), common_.picked().end(), id))
      list.push_back({at(k), at(root), id, cluster_[(size_t)root].id});
  }
  return list;
}

// False: nothing grows any more.
template <class W> bool Agglomeration::round(const Couplings<W> &between)
{
  look_outside(between);
  if (distributed_) collect(between);
  double found = 0;
  Sets   sets(cluster_.size());
  for (int k = 0; k < own_; ++k) {
    const Cluster &c = cluster_[(size_t)k];
    if (rules_.has_closed(c) || divided(k)) continue;
    const Largest &largest = largest_[(size_t)k];
    Pick           pick;
    if (largest.alone && largest.entry >= 0) pick.take(largest.weight, between.to[largest.entry]);
    for (int e = between.first[k]; e < between.first[k + 1] && !largest.alone; ++e)
      if (const double w = between.size(k, e); w >= Pick::equal * largest.weight) {
        const int q = between.to[e];
        pick.offer(c, w, cluster_[(size_t)q].id, cluster_[(size_t)q].name, q);
      }
    if (pick.at < 0) continue;
    sets.join(k, pick.at);
    if (rules_.takes_others(c)) between.each(k, [&](int q, double w) {
      if (rules_.takes_in(c, pick, rules_.closed_nodes(total(q)), w)) sets.join(k, q);
    });
    ++found;
  }
  if (distributed_ ? !common_.join(ties(sets), found) : !(found > 0)) return false;
  std::vector<double> id;
  id.reserve(cluster_.size());
  for (int k = 0; k < (int)cluster_.size(); ++k) {
    const double root = cluster_[(size_t)sets.root(k)].id;
    id.push_back(distributed_ ? common_.now(root) : root);
  }
  contract(between, sets, id);
  return true;
}

// The couplings of the new clusters, of which `all` are known: now[k] is that of the cluster k, and begin and member
// list those of each of the own ones.
template <class W>
void Agglomeration::add_up(const Couplings<W> &between, const std::vector<int> &begin, const std::vector<int> &member,
                           const std::vector<int> &now, size_t all)
{
  const int        n = (int)begin.size() - 1;
  const size_t     most = (member.empty() ? 0 : (size_t)between.first[member.size()]) + (size_t)n + 1;
  Sums             sums{std::vector<int>(begin.size()), std::unique_ptr<int[]>(new int[most]),
            std::unique_ptr<double[]>(new double[most])};
  std::vector<int> places(all, -1);
  int *const       to = sums.to.get(), *const place = places.data();
  double *const    weight = sums.weight.get();
  const int *const from = between.first, *const old = between.to, *const become = now.data();
  int              entries = 0;
  for (int k = 0; k < n; ++k) {
    const int start = entries++;
    place[k] = start, to[start] = k, weight[start] = weight[entries] = 0;
    for (int m = begin[(size_t)k]; m < begin[(size_t)k + 1]; ++m)
      for (int e = from[member[(size_t)m]], end = from[member[(size_t)m] + 1]; e < end; ++e) {
        // without branches, which nobody could predict
        const int q = become[old[e]], listed = place[q], is_new = listed < start;
        const int at = listed ^ ((listed ^ entries) & -is_new);
        place[q] = at, to[at] = q, weight[at] += std::fabs((double)between.weight[e]);
        weight[entries += is_new] = 0;
      }
    sums.first[(size_t)k + 1] = entries;
  }
  sums_ = std::move(sums);
}

// Clusters with the same new number become one.
template <class W>
void Agglomeration::contract(const Couplings<W> &between, Sets &sets, const std::vector<double> &id)
{
  std::vector<double> own, others;
  const auto          once = [](std::vector<double> &list) {
    if (!std::is_sorted(list.begin(), list.end())) std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  };
  for (int k = 0; k < own_; ++k)
    if (sets.root(k) == k) own.push_back(id[(size_t)k]);
  once(own);
  for (size_t k = (size_t)own_; k < id.size(); ++k)
    if (!std::binary_search(own.begin(), own.end(), id[k])) others.push_back(id[k]);
  once(others);
  size_t     likely = 0; // on one process they come in their order
  const auto place = [&](double k) {
    if (likely < own.size() && own[likely] == k) return (int)likely++;
    const auto at = std::lower_bound(own.begin(), own.end(), k);
    if (at < own.end() && *at == k) return (int)(at - own.begin());
    return (int)(own.size() + (size_t)(std::lower_bound(others.begin(), others.end(), k) - others.begin()));
  };
  const size_t         n = own.size(), all = n + others.size();
  std::vector<int>     now, begin(n + 1), member((size_t)own_);
  std::vector<Cluster> joined(all);
  now.reserve(id.size());
  for (size_t k = 0; k < id.size(); ++k) {
    const int root = sets.root((int)k);
    now.push_back(root < (int)k ? now[(size_t)root] : place(id[k]));
    Cluster &c = joined[(size_t)now[k]];
    if (k < (size_t)own_ && !begin[(size_t)now[k] + 1]++) {
      c    = cluster_[k];
      c.id = id[k];
    } else if (k < (size_t)own_) c.join(cluster_[k]);
    else if (now[k] >= (int)n) c.id = id[k]; // what else there is of it others know
  }
  for (size_t k = 0; k < n; ++k) begin[k + 1] += begin[k];
  std::vector<int> next(begin);
  for (int k = 0; k < own_; ++k) member[(size_t)next[(size_t)now[(size_t)k]]++] = k;
  add_up(between, begin, member, now, all);
  for (int &k : node_) k = now[(size_t)k];
  cluster_ = std::move(joined);
  own_     = (int)n;
}

template <class T> void Agglomeration::grow(Level<T> &level, const Buffer<T> &held)
{
  const HostView<int> first(level.i), to(level.j);
  const HostView<T>   a(level.a);
  begin(level, held);
  const bool any = round(Couplings<T>{first.data(), to.data(), a.data()});
  while (any && round(sums_.couplings())) { }
}

std::vector<double> Agglomeration::labels() const
{
  std::vector<double> of((size_t)own_), label;
  for (int k = 0; k < own_; ++k) of[(size_t)k] = rules_.counts(total(k)) ? cluster_[(size_t)k].id : -1;
  for (int k : node_) label.push_back(of[(size_t)k]);
  return label;
}

} // namespace

template <class T> Buffer<double> agglomerate(MPI_Comm comm, Level<T> &level, int dim, const Buffer<T> &held)
{
  const Rules rules{Closed(dim), level.nodes / 2};
  if constexpr (device::built)
    if (level.exec.on_device()) try {
        return agglomerate_on_device(comm, level, rules, held);
      } catch (const DeviceMemoryError &) { // the host has room
        if (level.distributed) throw;       // but others are on their devices
      }
  Agglomeration clusters(comm, rules, level.distributed);
  clusters.grow(level, held);
  return copy_to(level.exec.space, clusters.labels());
}

template Buffer<double> agglomerate(MPI_Comm, Level<double> &, int, const Buffer<double> &);
template Buffer<double> agglomerate(MPI_Comm, Level<float> &, int, const Buffer<float> &);

} // namespace tessera::tree
