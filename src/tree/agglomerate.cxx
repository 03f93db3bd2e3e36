// Clusters of nodes (agglomerate.hpp) by rounds of Boruvka's algorithm: each cluster that is not closed picks the one
// that it is coupled with most, and all that pick each other in a chain become one. A round leaves a third or a fourth
// of them, and the couplings between these are added up for the next one.
//
// One process has its own rounds, on the host (agglomerate_host.cxx) or a device (agglomerate_device.k.cxx). Those of
// several are on the host, where a process knows the clusters of its own nodes and those of its ghosts. What is known
// of clusters that are those of some process's ghosts, among them all that have nodes on several processes, is
// collected by all: on each it is in proportion to the clusters along the borders of the processes.
#include "tree/agglomerate.hpp"
#include "tree/agglomeration.hpp"
#include "tree/couplings.hpp"
#include "tree/keepers.hpp"
#include "exec/gather.hpp"
#include "exec/host_view.hpp"
#include "exec/sets.hpp"
#include <algorithm>
#include <cmath>
#include <map>

namespace tessera::tree {

namespace {

// of a cluster with another one
struct Coupling {
  double of, id, name, weight;
  bool   operator<(const Coupling &o) const { return of != o.of ? of < o.of : id < o.id; }
};
class Agglomeration {
public:
  Agglomeration(MPI_Comm comm, const Rules &rules) : comm_(comm), rules_(rules) { }
  template <class T> void                grow(Level<T> &level);
  const std::vector<std::vector<double>> &labels() const { return labels_; }

private:
  const Cluster &total(const Cluster &c) const // of all processes, after collect()
  {
    const auto known = known_.find(c.id);
    return known == known_.end() ? c : known->second;
  }
  void keep_labels(); // those of clusters that count
  bool enclose();
  bool collected(double id) const { return known_.count(id) > 0; }
  template <class T> void begin(Level<T> &level);
  template <class W> void look_outside(const Couplings<W> &between);
  template <class W> void collect(const Couplings<W> &between);
  template <class W> bool round(const Couplings<W> &between);
  template <class W> void contract(const Couplings<W> &between, Sets &sets, const std::vector<double> &id);
  void                    pick_collected();
  MPI_Comm             comm_;
  Rules                rules_;
  std::vector<std::vector<double>> labels_; // of own nodes
  int                  own_ = 0;        // clusters of own nodes come first, then others of ghosts
  std::vector<Cluster> cluster_;
  std::vector<int>     node_, ghost_;   // the clusters of own nodes and of ghosts
  std::vector<double>  largest_;        // coupling of each own cluster
  Sums                 sums_;           // their couplings
  std::map<double, Cluster>                known_;  // collected
  std::vector<Coupling>                    couplings_; // of these
  std::vector<std::pair<double, double>>   picks_;
};

template <class T> void Agglomeration::begin(Level<T> &level)
{
  const HostView<Key>    key(level.start);
  const HostView<T>      inverse(level.inverse);
  const size_t           n = (size_t)level.n, all = n + (size_t)level.ghosts;
  const double           before = sum_before(comm_, (double)n);
  std::vector<double>    number(all);
  for (size_t p = 0; p < n; ++p) number[p] = before + (double)p;
  Buffer<double> numbers = copy_to(level.exec.space, number);
  level.exchange.forward(numbers.data(), 1);
  number = listed(numbers);
  own_ = level.n;
  cluster_.resize(all);
  for (size_t p = 0; p < all; ++p) {
    cluster_[p].id = number[p];
    if (p < n) cluster_[p].name = name_of(key.data(), (int)p, number[p]);
    if (p < n) cluster_[p].diagonal = inverse.data()[p] > 0 ? 1 / (double)inverse.data()[p] : 0;
    (p < n ? node_ : ghost_).push_back((int)p);
  }
}

template <class W> void Agglomeration::look_outside(const Couplings<W> &between)
{
  largest_.resize((size_t)own_);
  for (int k = 0; k < own_; ++k) {
    double sum = 0, largest = 0;
    between.each(k, [&](int, double w) { sum += w, largest = std::max(largest, w); });
    cluster_[(size_t)k].outside = sum;
    largest_[(size_t)k]         = largest;
  }
}

// What all processes know of the clusters of ghosts.
template <class W> void Agglomeration::collect(const Couplings<W> &between)
{
  std::vector<double> id;
  for (int k : ghost_) id.push_back(cluster_[(size_t)k].id);
  std::sort(id.begin(), id.end());
  id.erase(std::unique(id.begin(), id.end()), id.end());
  known_.clear();
  for (double k : gather_from_all(comm_, id).all) known_[k].id = -1;
  std::vector<Cluster>  mine;
  std::vector<Coupling> couplings;
  for (int k = 0; k < own_; ++k) {
    const Cluster &c = cluster_[(size_t)k];
    if (!collected(c.id)) continue;
    mine.push_back(c);
    between.each(k, [&](int q, double w) {
      if (const Cluster &o = cluster_[(size_t)q]; o.id != c.id) couplings.push_back({c.id, o.id, o.name, w});
    });
  }
  for (const Cluster &c : gather_from_all(comm_, mine).all)
    if (Cluster &k = known_[c.id]; k.id < 0) k = c;
    else k.join(c);
  couplings_ = gather_from_all(comm_, couplings).all;
  std::sort(couplings_.begin(), couplings_.end());
  for (Cluster &c : cluster_)
    if (const auto k = known_.find(c.id); k != known_.end()) c.name = k->second.name;
}

void Agglomeration::pick_collected()
{
  for (size_t k = 0; k < couplings_.size();) {
    const Cluster &from = known_[couplings_[k].of];
    Pick           pick;
    while (k < couplings_.size() && couplings_[k].of == from.id) {
      Coupling sum = couplings_[k];
      while (++k < couplings_.size() && couplings_[k].of == sum.of && couplings_[k].id == sum.id)
        sum.weight += couplings_[k].weight;
      const auto other = known_.find(sum.id);
      pick.offer(from, sum.weight, sum.id, other == known_.end() ? sum.name : other->second.name, 0);
    }
    if (rules_.grows(from) && pick.id >= 0) picks_.push_back({from.id, pick.id});
  }
}

// False: nothing grows any more.
template <class W> bool Agglomeration::round(const Couplings<W> &between)
{
  look_outside(between);
  picks_.clear();
  collect(between);
  pick_collected();
  double found = (double)picks_.size();
  Sets   sets(cluster_.size());
  for (int k = 0; k < own_; ++k) {
    const Cluster &c = cluster_[(size_t)k];
    if (!rules_.grows(c) || collected(c.id)) continue;
    Pick         pick;
    const double likely = 0.999 * largest_[(size_t)k];
    between.each(k, [&](int q, double w) {
      if (w >= likely) pick.offer(c, w, cluster_[(size_t)q].id, cluster_[(size_t)q].name, q);
    });
    if (pick.at < 0) continue;
    sets.join(k, pick.at);
    ++found;
  }
  MPI_Allreduce(MPI_IN_PLACE, &found, 1, MPI_DOUBLE, MPI_SUM, comm_);
  const bool encloses = rules_.encloses && enclose();
  if (!(found > 0)) return encloses;
  // those that meet clusters which all know
  std::vector<double>      picked;
  std::map<double, double> parent;
  const auto               find = [&](double r) {
    for (auto at = parent.find(r); at != parent.end() && at->second != r; at = parent.find(r)) r = at->second;
    return r;
  };
  const auto join = [&](double a, double b) {
    a = find(a), b = find(b);
    parent[std::max(a, b)] = std::min(a, b);
  };
  for (const auto &p : picks_) picked.push_back(p.second);
  std::sort(picked.begin(), picked.end());
  const auto          id_of = [&](int k) { return cluster_[(size_t)sets.root(k)].id; };
  std::vector<double> pairs, id;
  for (int k = 0; k < (int)cluster_.size(); ++k)
    if (const double c = cluster_[(size_t)k].id;
        sets.root(k) != k && (collected(c) || std::binary_search(picked.begin(), picked.end(), c)))
      pairs.insert(pairs.end(), {c, id_of(k)});
  pairs = gather_from_all(comm_, pairs).all;
  for (size_t k = 0; k < pairs.size(); k += 2) join(pairs[k], pairs[k + 1]);
  for (const auto &p : picks_) join(p.first, p.second);
  id.reserve(cluster_.size());
  for (int k = 0; k < (int)cluster_.size(); ++k) id.push_back(find(id_of(k)));
  contract(between, sets, id);
  return true;
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
  sums_ = add_up(between, begin, member, now, all);
  for (std::vector<int> *list : {&node_, &ghost_})
    for (int &k : *list) k = now[(size_t)k];
  cluster_ = std::move(joined);
  own_     = (int)n;
}

template <class T> void Agglomeration::grow(Level<T> &level)
{
  const HostView<int> first(level.i), to(level.j);
  const HostView<T>   a(level.a);
  begin(level);
  const bool any = round(Couplings<T>{first.data(), to.data(), a.data()});
  while (any && round(sums_.couplings())) { }
  keep_labels();
  for (int k = 0; k < own_; ++k) cluster_[(size_t)k].diagonal = cluster_[(size_t)k].outside;
  rules_.encloses = true;
  while (any && round(sums_.couplings())) { }
}

void Agglomeration::keep_labels()
{
  std::vector<double> of((size_t)own_), label;
  for (size_t k = 0; k < of.size(); ++k) of[k] = rules_.counts(total(cluster_[k])) ? cluster_[k].id : -1;
  for (int k : node_) label.push_back(of[(size_t)k]);
  labels_.push_back(std::move(label));
}

// Are there clusters that enclose others? From then on they count as one.
bool Agglomeration::enclose()
{
  double found = 0;
  for (int k = 0; k < own_; ++k) found += rules_.counts(total(cluster_[(size_t)k]));
  MPI_Allreduce(MPI_IN_PLACE, &found, 1, MPI_DOUBLE, MPI_SUM, comm_);
  if (!(found > 0)) return false;
  keep_labels();
  for (int k = 0; k < own_; ++k)
    if (Cluster &c = cluster_[(size_t)k]; rules_.counts(total(c))) c.diagonal = c.outside;
  return true;
}

} // namespace

template <class T> std::vector<Buffer<double>> agglomerate(MPI_Comm comm, Level<T> &level, int dim)
{
  const Rules rules{Closed(dim), level.nodes / 2};
  if constexpr (device::built)
    if (level.exec.on_device() && !level.distributed) try {
        return agglomerate_on_device(level, rules);
      } catch (const DeviceMemoryError &) { // the host has room
      }
  if (!level.distributed) return agglomerate_on_host(level, rules);
  Agglomeration clusters(comm, rules);
  clusters.grow(level);
  std::vector<Buffer<double>> labels;
  for (const std::vector<double> &of : clusters.labels()) labels.push_back(copy_to(level.exec.space, of));
  return labels;
}

template std::vector<Buffer<double>> agglomerate(MPI_Comm, Level<double> &, int);
template std::vector<Buffer<double>> agglomerate(MPI_Comm, Level<float> &, int);

} // namespace tessera::tree
