// Clusters of nodes (agglomerate.hpp) by rounds on the device of one process: the same as the host finds, but for what
// rounding changes at the thresholds. Couplings are added up in the same order, that of a stable sort.
#include "tree/agglomerate.hpp"
#include "tree/agglomeration.hpp"
#include "exec/each.hpp"
#include "exec/sets.hpp"
#include "exec/sort.hpp"
#include "exec/unset.hpp"

namespace tessera::tree {

namespace {

template <class T> struct BeginCluster {
  const T   *inverse;
  const Key *key; // or nullptr
  Cluster   *cluster;
  HD void    operator()(int p) const
  {
    Cluster c;
    c.id       = p;
    c.name     = name_of(key, p, p);
    c.diagonal = inverse[p] > 0 ? 1 / (double)inverse[p] : 0;
    cluster[p] = c;
  }
};
template <class T> struct SizeOfValue {
  const T *a;
  double  *weight;
  HD void  operator()(int e) const { weight[e] = fabs((double)a[e]); }
};
// The pick of cluster k among the clusters to[e], e in [first, end), that it is coupled with by weight[e].
HD inline Pick pick_among(const Cluster *cluster, int k, int first, int end, const int *to, const double *weight)
{
  Pick   pick;
  double most = 0;
  for (int e = first; e < end; ++e)
    if (to[e] != k && weight[e] > most) most = weight[e];
  for (int e = first; e < end; ++e)
    if (to[e] != k && weight[e] >= 0.999 * most)
      pick.offer(cluster[k], weight[e], cluster[to[e]].id, cluster[to[e]].name, to[e]);
  return pick;
}

struct LookOutside {
  const int    *first, *to;
  const double *weight;
  Cluster      *cluster;
  HD void       operator()(int k) const
  {
    double outside = 0;
    for (int e = first[k]; e < first[k + 1]; ++e)
      if (to[e] != k) outside += weight[e];
    cluster[k].outside = outside;
  }
};
struct CountsCluster {
  const Cluster *cluster;
  Rules          rules;
  HD double      operator()(int k) const { return rules.counts(cluster[k]); }
};
// Those that count, or all, become one each.
struct BecomeOne {
  Rules    rules;
  bool     all;
  Cluster *cluster;
  HD void  operator()(int k) const
  {
    if (all || rules.counts(cluster[k])) cluster[k].diagonal = cluster[k].outside;
  }
};
// A cluster that grows joins the one that it is coupled with most.
struct JoinPick {
  const int     *first, *to;
  const double  *weight;
  Rules          rules;
  const Cluster *cluster;
  int           *parent;
  HD void        operator()(int k) const
  {
    if (!rules.grows(cluster[k])) return;
    const Pick pick = pick_among(cluster, k, first[k], first[k + 1], to, weight);
    if (pick.at >= 0) unite(parent, k, pick.at);
  }
};
struct IsRoot {
  int           *parent;
  unsigned char *flag;
  HD void        operator()(int k) const { flag[k] = parent[k] == k; }
};
// The new number of each cluster: roots in their order
struct NumberOfRoot {
  int       *parent;
  const int *before;
  int       *number;
  Key       *key;
  HD void    operator()(int k) const
  {
    number[k] = before[root_of(parent, k)];
    key[k]    = (Key)number[k];
  }
};
struct JoinMembers {
  const int     *begin, *member;
  const Cluster *from;
  Cluster       *to;
  HD void        operator()(int k) const
  {
    Cluster c = from[member[begin[k]]];
    for (int m = begin[k] + 1; m < begin[k + 1]; ++m) c.join(from[member[m]]);
    to[k] = c;
  }
};
// Couplings by their new clusters; those within a cluster come last.
struct CouplingKey {
  const int *first, *to, *number;
  int        bits;
  Key        within, *key;
  HD void    operator()(int k) const
  {
    for (int e = first[k]; e < first[k + 1]; ++e) {
      const int a = number[k], b = number[to[e]];
      key[e] = a == b ? within : (Key)a << bits | (Key)b;
    }
  }
};
struct AddCouplings {
  const int    *run, *order;
  const Key    *key;
  const double *from;
  int           bits, entries; // bits of a cluster's number
  int          *to;
  Key          *kept;
  double       *weight;
  int           runs;
  HD void       operator()(int r) const
  {
    const int end = r + 1 < runs ? run[r + 1] : entries;
    double    sum = 0;
    for (int e = run[r]; e < end; ++e) sum += from[order[e]];
    kept[r]   = key[run[r]];
    to[r]     = (int)(kept[r] & (((Key)1 << bits) - 1));
    weight[r] = sum;
  }
};
struct FirstOfCluster {
  const Key *key;
  int        count, bits;
  int       *first;
  HD void    operator()(int k) const { first[k] = lower_bound(key, 0, count, (Key)k << bits); }
};
struct LabelOf {
  const Cluster *cluster;
  const int     *of;
  Rules          rules;
  double        *label;
  HD void        operator()(int p) const
  {
    const Cluster &c = cluster[of[p]];
    label[p] = rules.counts(c) ? c.id : -1;
  }
};

template <class T> class DeviceAgglomeration {
public:
  DeviceAgglomeration(Level<T> &level, const Rules &rules) :
    exec_(level.exec), rules_(rules), nodes_(level.n), count_(level.n)
  {
    const size_t n = (size_t)count_, entries = level.j.size();
    cluster_ = make_unset<Cluster>(exec_, n);
    weight_  = make_unset<double>(exec_, entries);
    to_      = make_unset<int>(exec_, entries);
    first_   = make_unset<int>(exec_, n + 1);
    of_      = make_unset<int>(exec_, n);
    for_each(exec_, count_, BeginCluster<T>{level.inverse.data(), level.start.data(), cluster_.data()});
    for_each(exec_, (int)entries, SizeOfValue<T>{level.a.data(), weight_.data()});
    copy(level.j, to_), copy(level.i, first_);
    for_each(exec_, count_, Enumerate{of_.data()});
  }
  void                        grow();
  std::vector<Buffer<double>> take_labels() { return std::move(labels_); }

private:
  bool            round(); // false: nothing grows any more
  bool            enclose();
  void            keep_labels();
  void            contract(const Buffer<int> &number, Buffer<Key> &key, int count);
  void            add_up(const Buffer<int> &number, int count);
  const Exec     &exec_;
  Rules           rules_;
  std::vector<Buffer<double>> labels_;
  int             nodes_, count_; // of the mesh; clusters
  Buffer<Cluster> cluster_;
  Buffer<int>     of_;            // of each node
  Buffer<int>     first_, to_;    // couplings of clusters
  Buffer<double>  weight_;
};

template <class T> void DeviceAgglomeration<T>::keep_labels()
{
  Buffer<double> label = make_unset<double>(exec_, (size_t)nodes_);
  for_each(exec_, nodes_, LabelOf{cluster_.data(), of_.data(), rules_, label.data()});
  labels_.push_back(std::move(label));
}

template <class T> void DeviceAgglomeration<T>::grow()
{
  while (round()) { }
  keep_labels();
  for_each(exec_, count_, BecomeOne{rules_, true, cluster_.data()});
  rules_.encloses = true;
  while (round()) { }
}

// Are there clusters that enclose others? From then on they count as one.
template <class T> bool DeviceAgglomeration<T>::enclose()
{
  Buffer<double> found = make_unset<double>(exec_, 1);
  sum_each(exec_, count_, CountsCluster{cluster_.data(), rules_}, found.data());
  if (!(fetch(found, 0) > 0)) return false;
  keep_labels();
  for_each(exec_, count_, BecomeOne{rules_, false, cluster_.data()});
  return true;
}

template <class T> bool DeviceAgglomeration<T>::round()
{
  Buffer<int>           parent = make_unset<int>(exec_, (size_t)count_), number(parent.extent());
  Buffer<Key>           key    = make_unset<Key>(exec_, (size_t)count_);
  Buffer<unsigned char> root   = make_unset<unsigned char>(exec_, (size_t)count_);
  for_each(exec_, count_, Enumerate{parent.data()});
  for_each(exec_, count_, LookOutside{first_.data(), to_.data(), weight_.data(), cluster_.data()});
  for_each(exec_, count_, JoinPick{first_.data(), to_.data(), weight_.data(), rules_, cluster_.data(), parent.data()});
  const bool found = rules_.encloses && enclose();
  for_each(exec_, count_, IsRoot{parent.data(), root.data()});
  Buffer<int> before;
  count_flags(exec_, count_, root, before);
  const int count = fetch(before, (size_t)count_);
  if (count == count_ || count < 1) return found;
  for_each(exec_, count_, NumberOfRoot{parent.data(), before.data(), number.data(), key.data()});
  contract(number, key, count);
  return true;
}

// Clusters with the same new number, of `count`, become one.
template <class T> void DeviceAgglomeration<T>::contract(const Buffer<int> &number, Buffer<Key> &key, int count)
{
  Buffer<int>     member, begin, of = make_unset<int>(exec_, (size_t)nodes_);
  Buffer<Cluster> joined = make_unset<Cluster>(exec_, (size_t)count);
  sort_keys(exec_, count_, bits_of((Key)count), key, member);
  bucket_starts(exec_, count_, key.data(), count, (Key)0, begin);
  for_each(exec_, count, JoinMembers{begin.data(), member.data(), cluster_.data(), joined.data()});
  for_each(exec_, nodes_, GatherValues<int>{of_.data(), number.data(), of.data()});
  add_up(number, count);
  cluster_ = std::move(joined);
  of_      = std::move(of);
  count_   = count;
}

template <class T> void DeviceAgglomeration<T>::add_up(const Buffer<int> &number, int count)
{
  const int   entries = (int)to_.size(), bits = bits_of((Key)count);
  const Key   within  = ((Key)1 << (2 * bits)) - 1; // of two clusters that there are not
  Buffer<Key> key     = make_unset<Key>(exec_, (size_t)entries);
  Buffer<int> order;
  for_each(exec_, count_, CouplingKey{first_.data(), to_.data(), number.data(), bits, within, key.data()});
  sort_keys(exec_, entries, 2 * bits, key, order);
  Buffer<unsigned char> flag = make_unset<unsigned char>(exec_, (size_t)entries);
  Buffer<int>           ends;
  for_each(exec_, entries, FirstOfRun<Key>{key.data(), flag.data()});
  bucket_starts(exec_, entries, key.data(), 0, within, ends); // where those within clusters begin
  const int     between = fetch(ends, 0);
  const Flagged run(exec_, between, flag);
  Buffer<int>    to = make_unset<int>(exec_, (size_t)run.count), first = make_unset<int>(exec_, (size_t)count + 1);
  Buffer<Key>    kept   = make_unset<Key>(exec_, (size_t)run.count);
  Buffer<double> weight = make_unset<double>(exec_, (size_t)run.count);
  for_each(exec_, run.count,
           AddCouplings{run.place.data(), order.data(), key.data(), weight_.data(), bits, between, to.data(),
                        kept.data(), weight.data(), run.count});
  for_each(exec_, count + 1, FirstOfCluster{kept.data(), run.count, bits, first.data()});
  first_  = std::move(first);
  to_     = std::move(to);
  weight_ = std::move(weight);
}

} // namespace

template <class T> std::vector<Buffer<double>> agglomerate_on_device(Level<T> &level, const Rules &rules)
{
  if constexpr (!device::built) return {};
  else {
    DeviceAgglomeration<T> clusters(level, rules);
    clusters.grow();
    return clusters.take_labels();
  }
}

template std::vector<Buffer<double>> agglomerate_on_device(Level<double> &, const Rules &);
template std::vector<Buffer<double>> agglomerate_on_device(Level<float> &, const Rules &);

} // namespace tessera::tree
