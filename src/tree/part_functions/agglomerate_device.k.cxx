// Clusters of nodes (agglomerate.hpp) by rounds on the devices of the processes: the same as hosts find, but for what
// rounding changes at the thresholds. Couplings are added up in the same order, that of a stable sort.
#include "tree/part_functions/agglomerate.hpp"
#include "tree/part_functions/agglomerate_kernels.hpp"
#include "tree/cells/keepers.hpp"
#include "exec/each.hpp"
#include "exec/gather.hpp"
#include "exec/unset.hpp"
#include <algorithm>

namespace tessera::tree {

namespace {

// The new cluster of each one, of which there are so many: own ones first.
struct Numbered {
  Buffer<int>    to;
  Buffer<double> id;  // of new ones, by the old; one process needs none
  Buffer<Key>    key; // to, of own ones
  int            own = 0, all = 0;
};

template <class T> class DeviceAgglomeration {
public:
  DeviceAgglomeration(MPI_Comm comm, Level<T> &level, const Rules &rules, const Buffer<T> &held) :
    exec_(level.exec), rules_(rules), distributed_(level.distributed), id_bits_(bits_of((Key)level.nodes)),
    nodes_(level.n), own_(level.n), all_(level.n + level.ghosts), common_(comm)
  {
    const size_t n = (size_t)own_, entries = level.j.size();
    const double before = distributed_ ? sum_before(comm, (double)own_) : 0;
    cluster_ = make_unset<Cluster>(exec_, (size_t)all_);
    weight_  = make_unset<double>(exec_, entries);
    to_      = make_unset<int>(exec_, entries);
    first_   = make_unset<int>(exec_, n + 1);
    of_      = make_unset<int>(exec_, n);
    for_each(exec_, own_,
             BeginCluster<T>{level.inverse.data(), held.data(), level.start.data(), before, cluster_.data()});
    for_each(exec_, (int)entries, SizeOfValue<T>{level.a.data(), weight_.data()});
    copy(level.j, to_), copy(level.i, first_);
    for_each(exec_, own_, Enumerate{of_.data()});
    if (distributed_) begin_common(level, before);
  }
  bool           round(); // false: nothing grows any more
  Buffer<double> labels() const;

private:
  void            begin_common(Level<T> &level, double before);
  void            collect();
  // false: no set of clusters has more than one
  bool            number_roots(Buffer<int> &parent, Numbered &numbered) const;
  bool            join_common(Buffer<int> &parent);
  bool            number_sets(Buffer<int> &parent, Numbered &numbered);
  void            contract(Numbered &numbered);
  void            add_up(const Numbered &numbered);
  Common          common() const { return {at_.data(), divided_.data(), total_.data()}; }
  template <class V> Buffer<V> put(const std::vector<V> &from) const { return copy_to(exec_.space, from); }
  const Exec     &exec_;
  Rules           rules_;
  bool            distributed_;
  int             id_bits_; // of numbers of nodes
  int             nodes_, own_, all_; // of the mesh; clusters, those of own nodes first
  Buffer<Cluster> cluster_;
  Buffer<int>     of_;                // of each node
  Buffer<int>     first_, to_;        // couplings of own clusters
  Buffer<double>  weight_;
  CommonClusters  common_;
  Buffer<int>     at_;                // where clusters are among these
  Buffer<unsigned char> divided_;     // of these
  Buffer<Cluster> total_;
};

template <class T> void DeviceAgglomeration<T>::begin_common(Level<T> &level, double before)
{
  Buffer<double> number = make_unset<double>(exec_, (size_t)all_);
  for_each(exec_, own_, NumberNode{before, number.data()});
  level.exchange.forward(number.data(), 1);
  for_each(exec_, level.ghosts, BeginGhost{number.data() + own_, cluster_.data() + own_});
  common_.begin(listed(number, (size_t)own_, (size_t)level.ghosts));
}

template <class T> Buffer<double> DeviceAgglomeration<T>::labels() const
{
  Buffer<double> label = make_unset<double>(exec_, (size_t)nodes_);
  for_each(exec_, all_ ? nodes_ : 0, LabelOf{cluster_.data(), of_.data(), rules_, common(), label.data()});
  return label;
}

// Others learn of own clusters, and these of others.
template <class T> void DeviceAgglomeration<T>::collect()
{
  const int            n = (int)common_.ids().size();
  const Buffer<double> ids = put(common_.ids());
  Buffer<int>          whose = make_unset<int>(exec_, (size_t)n), begin = make_unset<int>(exec_, (size_t)n + 1);
  Buffer<Part>         part = make_unset<Part>(exec_, (size_t)n);
  at_      = make_unset<int>(exec_, (size_t)all_);
  divided_ = put(common_.divided());
  for_each(exec_, n, SetValues<int>{whose.data(), -1});
  for_each(exec_, all_, FindCommon{ids.data(), n, own_, cluster_.data(), at_.data(), whose.data()});
  for_each(exec_, n, TakePart{whose.data(), cluster_.data(), part.data()});
  const CouplingsOfPart of{whose.data(), first_.data(), to_.data(), divided_.data()};
  for_each(exec_, n, CountCouplings{of, begin.data()});
  Buffer<Coupling> coupling = make_unset<Coupling>(exec_, (size_t)scan(exec_, n, begin));
  for_each(exec_, coupling.empty() ? 0 : n,
           ListCouplings{of, rules_, begin.data(), at_.data(), cluster_.data(), weight_.data(), coupling.data()});
  std::vector<Part> parts = listed(part);
  parts.erase(std::remove_if(parts.begin(), parts.end(), [](const Part &p) { return p.at < 0; }), parts.end());
  common_.collect(parts, listed(coupling), rules_);
  total_ = put(common_.totals());
  for_each(exec_, all_, NameCommon{common(), cluster_.data()});
}

template <class T> bool DeviceAgglomeration<T>::round()
{
  Buffer<int> parent = make_unset<int>(exec_, (size_t)all_);
  for_each(exec_, all_, Enumerate{parent.data()});
  for_each(exec_, own_, LookOutside{first_.data(), to_.data(), weight_.data(), cluster_.data()});
  if (distributed_) collect();
  for_each(exec_, own_, JoinPick{first_.data(), to_.data(), weight_.data(), rules_, common(), cluster_.data(),
                                 parent.data()});
  Numbered numbered;
  if (!(distributed_ ? number_sets(parent, numbered) : number_roots(parent, numbered))) return false;
  contract(numbered);
  return true;
}

// The sets of one process, in the order of their roots
template <class T> bool DeviceAgglomeration<T>::number_roots(Buffer<int> &parent, Numbered &numbered) const
{
  Buffer<unsigned char> root = make_unset<unsigned char>(exec_, (size_t)own_);
  Buffer<int>           before;
  for_each(exec_, own_, IsRoot{parent.data(), root.data()});
  count_flags(exec_, own_, root, before);
  const int count = fetch(before, (size_t)own_);
  if (count == own_ || count < 1) return false;
  numbered = {make_unset<int>(exec_, (size_t)own_), {}, make_unset<Key>(exec_, (size_t)own_), count, count};
  for_each(exec_, own_, NumberOfRoot{parent.data(), before.data(), numbered.to.data(), numbered.key.data()});
  return true;
}

// The sets of all processes.
template <class T> bool DeviceAgglomeration<T>::join_common(Buffer<int> &parent)
{
  const Buffer<double>  picked = put(common_.picked());
  Buffer<unsigned char> tied = make_unset<unsigned char>(exec_, (size_t)all_), told(tied.extent());
  Buffer<int>           ties, tells, place;
  for_each(exec_, all_, MarkTies{common(), cluster_.data(), picked.data(), (int)picked.size(), parent.data(),
                                 tied.data(), told.data()});
  count_flags(exec_, all_, tied, ties);
  count_flags(exec_, all_, told, tells);
  const std::vector<int> found = last_of(exec_, {&ties, &tells});
  Buffer<Tie>            list = make_unset<Tie>(exec_, (size_t)found[1]);
  take_places(exec_, all_, told, tells, found[1], place);
  for_each(exec_, found[1], ListTies{place.data(), at_.data(), cluster_.data(), parent.data(), list.data()});
  return common_.join(listed(list), found[0]);
}

// These in the order of their numbers
template <class T> bool DeviceAgglomeration<T>::number_sets(Buffer<int> &parent, Numbered &numbered)
{
  if (!join_common(parent)) return false;
  const size_t          n = (size_t)all_;
  const Buffer<Renamed> renamed = put(common_.renamed());
  Buffer<Key>           number = make_unset<Key>(exec_, n);
  Buffer<unsigned char> own = make_unset<unsigned char>(exec_, n), other = make_unset<unsigned char>(exec_, n);
  Buffer<int>           order, own_before, others_before;
  for_each(exec_, all_, NumberOfSet{cluster_.data(), parent.data(), renamed.data(), (int)renamed.size(),
                                    number.data()});
  sort_keys(exec_, all_, id_bits_, number, order);
  for_each(exec_, all_, BeginOfSet{number.data(), order.data(), own_, own.data(), other.data()});
  count_flags(exec_, all_, own, own_before);
  count_flags(exec_, all_, other, others_before);
  const std::vector<int> sets = last_of(exec_, {&own_before, &others_before});
  numbered = {make_unset<int>(exec_, n), make_unset<double>(exec_, n), make_unset<Key>(exec_, (size_t)own_), sets[0],
              sets[0] + sets[1]};
  for_each(exec_, all_, PlaceOfSet{number.data(), order.data(), own_before.data(), others_before.data(), all_, own_,
                                   numbered.own, numbered.to.data(), numbered.id.data(), numbered.key.data()});
  return true;
}

// The clusters of a set become one.
template <class T> void DeviceAgglomeration<T>::contract(Numbered &numbered)
{
  const int own = numbered.own, all = numbered.all;
  if (!all) { // of a device that has failed, beside which others go on
    own_ = all_ = 0;
    return;
  }
  Buffer<int>     member, begin, of = make_unset<int>(exec_, (size_t)nodes_);
  Buffer<Cluster> joined = make_unset<Cluster>(exec_, (size_t)all);
  sort_keys(exec_, own_, bits_of((Key)own), numbered.key, member);
  bucket_starts(exec_, own_, numbered.key.data(), own, (Key)0, begin);
  for_each(exec_, own, JoinMembers{begin.data(), member.data(), cluster_.data(), joined.data()});
  if (distributed_) { // what else there is of clusters of ghosts others know
    for_each(exec_, all - own, SetValues<Cluster>{joined.data() + own, Cluster()});
    for_each(exec_, all_, SetId{numbered.to.data(), numbered.id.data(), joined.data()});
  }
  for_each(exec_, nodes_, GatherValues<int>{of_.data(), numbered.to.data(), of.data()});
  add_up(numbered);
  cluster_ = std::move(joined);
  of_      = std::move(of);
  own_     = own;
  all_     = all;
}

template <class T> void DeviceAgglomeration<T>::add_up(const Numbered &numbered)
{
  const int   entries = (int)to_.size(), bits = bits_of((Key)numbered.all);
  const Key   within  = ((Key)1 << (2 * bits)) - 1; // of two clusters that there are not
  Buffer<Key> key     = make_unset<Key>(exec_, (size_t)entries);
  Buffer<int> order;
  for_each(exec_, own_, CouplingKey{first_.data(), to_.data(), numbered.to.data(), bits, within, key.data()});
  sort_keys(exec_, entries, 2 * bits, key, order);
  Buffer<unsigned char> flag = make_unset<unsigned char>(exec_, (size_t)entries);
  Buffer<int>           ends;
  for_each(exec_, entries, FirstOfRun<Key>{key.data(), flag.data()});
  bucket_starts(exec_, entries, key.data(), 0, within, ends); // where those within clusters begin
  const int     between = fetch(ends, 0);
  const Flagged run(exec_, between, flag);
  Buffer<int>    to = make_unset<int>(exec_, (size_t)run.count);
  Buffer<int>    first  = make_unset<int>(exec_, (size_t)numbered.own + 1);
  Buffer<Key>    kept   = make_unset<Key>(exec_, (size_t)run.count);
  Buffer<double> weight = make_unset<double>(exec_, (size_t)run.count);
  for_each(exec_, run.count,
           AddCouplings{run.place.data(), order.data(), key.data(), weight_.data(), bits, between, to.data(),
                        kept.data(), weight.data(), run.count});
  for_each(exec_, numbered.own + 1, FirstOfCluster{kept.data(), run.count, bits, first.data()});
  first_  = std::move(first);
  to_     = std::move(to);
  weight_ = std::move(weight);
}

} // namespace

template <class T>
Buffer<double> agglomerate_on_device(MPI_Comm comm, Level<T> &level, const Rules &rules, const Buffer<T> &held)
{
  if constexpr (!device::built) return {};
  else {
    DeviceAgglomeration<T> clusters(comm, level, rules, held);
    while (clusters.round()) { }
    return clusters.labels();
  }
}

template Buffer<double> agglomerate_on_device(MPI_Comm, Level<double> &, const Rules &, const Buffer<double> &);
template Buffer<double> agglomerate_on_device(MPI_Comm, Level<float> &, const Rules &, const Buffer<float> &);

} // namespace tessera::tree
