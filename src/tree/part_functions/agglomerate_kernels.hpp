// The kernels by which clusters grow on a device (agglomerate_device.k.cxx).
#pragma once
#include "tree/part_functions/common_clusters.hpp"
#include "exec/sets.hpp"
#include "exec/sort.hpp"

namespace tessera::tree {

template <class T> struct BeginCluster {
  const T   *inverse, *held; // held: or nullptr
  const Key *key;    // or nullptr
  double     before; // nodes of the processes before this one
  Cluster   *cluster;
  HD void    operator()(int p) const
  {
    Cluster c;
    c.id       = before + p;
    c.name     = name_of(key, p, c.id);
    c.diagonal = inverse[p] > 0 ? 1 / (double)inverse[p] : 0;
    c.held     = held ? share_of_one(held[p]) : 0;
    cluster[p] = c;
  }
};
struct NumberNode {
  double  before, *number;
  HD void operator()(int p) const { number[p] = before + p; }
};
struct BeginGhost {
  const double *number;
  Cluster      *cluster;
  HD void       operator()(int p) const
  {
    Cluster c;
    c.id       = number[p];
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
    if (to[e] != k && weight[e] >= Pick::equal * most)
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
// Where clusters are among the common ones, and what is known of these.
struct Common {
  const int           *at = nullptr; // nullptr: there are none
  const unsigned char *divided = nullptr;
  const Cluster       *total = nullptr;
  HD bool is_common(int k) const { return at && at[k] >= 0; }
  HD bool is_divided(int k) const { return is_common(k) && divided[at[k]]; }
  HD const Cluster &whole(const Cluster *cluster, int k) const { return is_common(k) ? total[at[k]] : cluster[k]; }
};
// A cluster that grows joins the one that it is coupled with most, and takes others in; divided ones do not pick here.
struct JoinPick {
  const int     *first, *to;
  const double  *weight;
  Rules          rules;
  Common         common;
  const Cluster *cluster;
  int           *parent;
  HD void        operator()(int k) const
  {
    if (common.is_divided(k) || rules.has_closed(cluster[k])) return;
    const Pick pick = pick_among(cluster, k, first[k], first[k + 1], to, weight);
    if (pick.at < 0) return;
    unite(parent, k, pick.at);
    for (int e = first[k]; e < first[k + 1]; ++e)
      if (to[e] != k && rules.takes_in(cluster[k], pick, rules.closed_nodes(common.whole(cluster, to[e])), weight[e]))
        unite(parent, k, to[e]);
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
  Common         common;
  double        *label;
  HD void        operator()(int p) const
  {
    label[p] = rules.counts(common.whole(cluster, of[p])) ? cluster[of[p]].id : -1;
  }
};

// --- the clusters that all processes know ---

struct FindCommon {
  const double  *ids;
  int            common, own; // own clusters
  const Cluster *cluster;
  int           *at, *whose;  // whose[m]: own cluster that is the common one m
  HD void        operator()(int k) const
  {
    const int m = lower_bound(ids, 0, common, cluster[k].id);
    at[k]       = m < common && ids[m] == cluster[k].id ? m : -1;
    if (k < own && at[k] >= 0) whose[m] = k;
  }
};
struct TakePart {
  const int     *whose;
  const Cluster *cluster;
  Part          *part;
  HD void        operator()(int m) const
  {
    Part p;
    if (whose[m] >= 0) p.at = m, p.cluster = cluster[whose[m]];
    part[m] = p;
  }
};
// f(entry) for the couplings of the part of a divided cluster.
struct CouplingsOfPart {
  const int           *whose, *first, *to;
  const unsigned char *divided;
  template <class F> HD void each(int m, const F &f) const
  {
    const int k = whose[m];
    if (k < 0 || !divided[m]) return;
    for (int e = first[k]; e < first[k + 1]; ++e)
      if (to[e] != k) f(e);
  }
};
struct CountCouplings {
  CouplingsOfPart part;
  int            *count;
  HD void         operator()(int m) const
  {
    int n = 0;
    part.each(m, [&](int) { ++n; });
    count[m] = n;
  }
};
struct ListCouplings {
  CouplingsOfPart part;
  Rules           rules;
  const int      *begin, *at;
  const Cluster  *cluster;
  const double   *weight;
  Coupling       *list;
  HD void         operator()(int m) const
  {
    Coupling *next = list + begin[m];
    part.each(m, [&](int e) {
      const int      q = part.to[e];
      const Coupling c{m, at[q], cluster[q].id, cluster[q].name, weight[e], rules.closed_nodes(cluster[q])};
      *next++ = c;
    });
  }
};
struct NameCommon {
  Common   common;
  Cluster *cluster;
  HD void  operator()(int k) const
  {
    if (common.is_common(k)) cluster[k].name = common.total[common.at[k]].name;
  }
};
// Clusters that are in a set with another one, and those of them that others must know of.
struct MarkTies {
  Common         common;
  const Cluster *cluster;
  const double  *picked; // by divided ones, in order
  int            picks, *parent;
  unsigned char *tied, *told;
  HD void        operator()(int k) const
  {
    const double id = cluster[k].id;
    const int    m = lower_bound(picked, 0, picks, id);
    tied[k]        = parent[k] != k;
    told[k]        = tied[k] && (common.is_common(k) || (m < picks && picked[m] == id));
  }
};
struct ListTies {
  const int     *place, *at;
  const Cluster *cluster;
  int           *parent;
  Tie           *list;
  HD void        operator()(int t) const
  {
    const int k = place[t], root = root_of(parent, k);
    list[t] = {at[k], at[root], cluster[k].id, cluster[root].id};
  }
};
// The number of the set of each cluster by the sets of all processes.
struct NumberOfSet {
  const Cluster *cluster;
  int           *parent;
  const Renamed *renamed; // in order
  int            renames;
  Key           *number;
  HD void        operator()(int k) const
  {
    const double id = cluster[root_of(parent, k)].id;
    const int    m = lower_bound(renamed, 0, renames, Renamed{id, 0});
    number[k]      = (Key)(m < renames && renamed[m].id == id ? renamed[m].now : id);
  }
};
// Of clusters in the order of these numbers: where those of a set with own ones begin, which come first in it, and
// where those of other sets.
struct BeginOfSet {
  const Key     *number;
  const int     *order;
  int            own_clusters;
  unsigned char *own, *other;
  HD void        operator()(int p) const
  {
    const bool first = !p || number[p] != number[p - 1];
    own[p]           = first && order[p] < own_clusters;
    other[p]         = first && order[p] >= own_clusters;
  }
};
// The new cluster of each one: sets with own ones, then the others.
struct PlaceOfSet {
  const Key *number;
  const int *order, *own, *other; // own and other: how many sets begin before a place
  int        clusters, own_clusters, sets; // sets: with own clusters
  int       *to;
  double    *id;
  Key       *key;
  HD void    operator()(int p) const
  {
    const int k = order[p], first = order[lower_bound(number, 0, clusters, number[p])];
    to[k]       = first < own_clusters ? own[p + 1] - 1 : sets + other[p + 1] - 1;
    id[k]       = (double)number[p];
    if (k < own_clusters) key[k] = (Key)to[k];
  }
};
struct SetId { // of all members alike
  const int    *to;
  const double *id;
  Cluster      *cluster;
  HD void       operator()(int k) const { cluster[to[k]].id = id[k]; }
};

} // namespace tessera::tree
