// The matrix of the parts' constants, and its solution (part_network.hpp).
#include "tree/part_functions/part_network.hpp"
#include "tree/hierarchy.hpp"
#include "tree/cells/keepers.hpp"
#include "exec/each.hpp"
#include "exec/gather.hpp"
#include "exec/unset.hpp"
#include "multigrid/exact.hpp"
#include <algorithm>

namespace tessera::tree {

namespace {

constexpr int max_in_network = 65536; // parts; more stay by themselves
constexpr int solved_exactly = 128;   // at least
constexpr int most_in_run    = 256;   // entries that a thread adds up

// The number of a part here among all.
struct PartNumber {
  int     shared, before;
  HD int  operator()(int part) const { return part < shared ? part : part + before; }
};
struct CountBetween {
  const int *i, *j, *of;
  int       *count;
  HD void    operator()(int p) const
  {
    int n = 0;
    for (int e = i[p]; of[p] >= 0 && e < i[p + 1]; ++e) n += of[j[e]] >= 0 && of[j[e]] != of[p];
    count[p] = n;
  }
};
struct ListBetween {
  const int *i, *j, *of, *first;
  PartNumber number;
  int        bits;
  Key       *key;
  int       *entry;
  HD void    operator()(int p) const
  {
    int k = first[p];
    if (k == first[p + 1]) return;
    for (int e = i[p]; e < i[p + 1]; ++e)
      if (const int q = of[j[e]]; q >= 0 && q != of[p]) {
        key[k]     = (Key)number(of[p]) << bits | (Key)number(q);
        entry[k++] = e;
      }
  }
};
// Entries of one pair, in order; a few pairs may have most of them.
struct BeginsRun {
  const Key     *key;
  unsigned char *flag;
  HD void        operator()(int k) const { flag[k] = k % most_in_run == 0 || key[k] != key[k - 1]; }
};
template <class T> struct AddRun {
  const int *run, *entry;
  const T   *a;
  double    *sum;
  HD void    operator()(int r) const
  {
    double s = 0;
    for (int k = run[r]; k < run[r + 1]; ++k) s += (double)a[entry[k]];
    sum[r] = s;
  }
};
template <class T, class V> struct Put {
  const SumOf<V> *sums;
  int             stride, begin; // the first part here that this process puts
  PartNumber      number;
  const T        *kept;
  V              *to;
  HD void         operator()(int k) const
  {
    const int n = number(begin + k);
    to[n]       = kept[n] * (V)sums[(ptrdiff_t)stride * (begin + k)];
  }
};
template <class T, class V> struct Add {
  const V     *from;
  const T     *kept;
  PartNumber   number;
  int          stride;
  SumOf<V>    *factors;
  HD void    operator()(int k) const
  {
    const int n = number(k);
    factors[(ptrdiff_t)stride * k] += (SumOf<V>)(kept[n] * from[n]);
  }
};

} // namespace

template <class T>
void PartNetwork<T>::find(const Comm &comm, const Level<T> &level, const Params &params, const Buffer<int> &of,
                          int parts, int shared, const std::vector<double> &place)
{
  *this        = PartNetwork();
  comm_        = comm;
  params_      = params;
  params_.part_labels.reset();
  params_.falls_back = false;
  params_.coarse     = std::max(params_.coarse, solved_exactly);
  params_.cycle      = Cycle::automatic;
  params_.filter     = Filter::automatic;
  distributed_ = level.distributed;
  parts_       = parts;
  shared_      = shared;
  if (distributed_) {
    int rank;
    MPI_Comm_rank(comm_, &rank);
    first_process_ = rank == 0;
    before_        = sum_before(comm_, parts - shared);
  }
  place_ = of_all(place, params.dim);
  all_   = (int)place_.size() / params.dim;
  const bool exactly = all_ <= params_.coarse;
  if (all_ < 2 || all_ > max_in_network) return;
  if (!exactly && all_ < strategy_of(level.exec.space).least_network) return;
  const Exec       &exec = level.exec;
  const int         bits = bits_of((Key)all_);
  const PartNumber  number{shared_, before_};
  Buffer<int>       first = make_unset<int>(exec, (size_t)level.n + 1);
  for_each(exec, level.n, CountBetween{level.i.data(), level.j.data(), of.data(), first.data()});
  const int   entries = scan(exec, level.n, first);
  Buffer<Key> key     = make_unset<Key>(exec, (size_t)entries);
  entry_              = make_unset<int>(exec, (size_t)entries);
  for_each(exec, level.n, ListBetween{level.i.data(), level.j.data(), of.data(), first.data(), number, bits,
                                      key.data(), entry_.data()});
  sort_keys(exec, entries, 2 * bits, key, entry_);
  Buffer<unsigned char> flag = make_unset<unsigned char>(exec, (size_t)entries);
  for_each(exec, entries, BeginsRun{key.data(), flag.data()});
  const Flagged run(exec, entries, flag);
  Buffer<Key>   kept = make_unset<Key>(exec, (size_t)run.count);
  for_each(exec, run.count, GatherValues<Key>{run.place.data(), key.data(), kept.data()});
  std::vector<int> begins((size_t)run.count + 1, entries);
  copy(run.place.data(), exec.space, begins.data(), Space::host, (size_t)run.count);
  run_ = copy_to(exec.space, begins);
  const std::vector<Key> pairs = listed(kept);
  list(distributed_ ? gather_from_all(comm_, pairs).all : pairs);
}

template <class T> std::vector<double> PartNetwork<T>::of_all(std::vector<double> here, int each) const
{
  if (!distributed_) return here;
  const size_t              shared = (size_t)shared_ * (size_t)each;
  const std::vector<double> own = gather_from_all(comm_, here.data() + shared, (int)(here.size() - shared)).all;
  here.resize(shared);
  here.insert(here.end(), own.begin(), own.end());
  return here;
}

// The pattern, with the transposes of all pairs, one for each run.
template <class T> void PartNetwork<T>::list(const std::vector<Key> &pairs)
{
  const int        bits = bits_of((Key)all_);
  const Key        low  = ((Key)1 << bits) - 1;
  std::vector<Key> entries;
  const auto       turned = [&](Key pair) { return (pair & low) << bits | pair >> bits; };
  for (Key pair : pairs) entries.insert(entries.end(), {pair, turned(pair)});
  for (int k = 0; k < all_; ++k) entries.push_back((Key)k << bits | (Key)k);
  std::sort(entries.begin(), entries.end());
  entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
  const auto slot = [&](Key pair) {
    return (int)(std::lower_bound(entries.begin(), entries.end(), pair) - entries.begin());
  };
  for (Key pair : pairs) {
    slot_.push_back(slot(pair));
    transposed_.push_back(slot(turned(pair)));
  }
  i_.assign((size_t)all_ + 1, 0);
  for (Key entry : entries) {
    ++i_[(size_t)(entry >> bits) + 1];
    j_.push_back((Index)(entry & low));
  }
  for (size_t k = 0; k < (size_t)all_; ++k) i_[k + 1] += i_[k];
  for (int k = 0; k < all_; ++k) diagonal_.push_back(slot((Key)k << bits | (Key)k));
}

template <class T> std::vector<double> PartNetwork<T>::couplings(const Level<T> &level) const
{
  const int      runs = (int)run_.size() - 1;
  Buffer<double> sum  = make_unset<double>(level.exec, (size_t)runs);
  for_each(level.exec, runs, AddRun<T>{run_.data(), entry_.data(), level.a.data(), sum.data()});
  return listed(sum);
}

// Its symmetric part, as that of A counts for the energies.
template <class T> void PartNetwork<T>::take_values(const Level<T> &level, const std::vector<double> &energy)
{
  const std::vector<double> all = of_all(energy, 1);
  std::vector<double>       sum = couplings(level), a(j_.size());
  if (distributed_) sum = gather_from_all(comm_, sum).all;
  for (size_t k = 0; k < sum.size(); ++k) {
    a[(size_t)slot_[k]] += 0.5 * sum[k];
    a[(size_t)transposed_[k]] += 0.5 * sum[k];
  }
  std::vector<T> kept((size_t)all_, 1);
  for (size_t k = 0; k < kept.size(); ++k) {
    kept[k]                 = all[k] > 0;
    a[(size_t)diagonal_[k]] = all[k] > 0 ? all[k] : 1;
  }
  for (size_t k = 0; k < kept.size(); ++k)
    for (Index e = i_[k]; e < i_[k + 1]; ++e)
      if (const size_t l = (size_t)j_[(size_t)e]; l != k && (kept[k] == 0 || kept[l] == 0)) a[(size_t)e] = 0;
  const Exec exec = level.exec;
  kept_           = copy_to(exec.space, kept);
  if (right_.empty()) {
    right_    = Buffer<T>(Extent{(size_t)all_ * max_vectors, exec.space});
    solution_ = Buffer<T>(right_.extent());
    i_there_  = copy_to(exec.space, i_);
    j_there_  = copy_to(exec.space, j_);
  }
  const Buffer<double> values = copy_to(exec.space, std::move(a));
  Rows                 rows;
  rows.n = all_, rows.i = i_there_.data(), rows.j = j_there_.data(), rows.a = values.data();
  Failure failure;
  if (hierarchy_ && hierarchy_->refresh(rows, failure) && !failure.kind) return;
  hierarchy_.reset(new Hierarchy<T>(exec, Comm(), params_));
  failure = hierarchy_->setup(rows, place_.data(), {}, {}, false);
  if (failure.kind) hierarchy_.reset(); // the same on all processes: the constants stay by themselves
}

template <class T> template <class V> void PartNetwork<T>::make_several()
{
  if (any()) hierarchy_->template make_several<V>();
}

template <class T> template <class V>
void PartNetwork<T>::solve(const Exec &exec, const SumOf<V> *sums, int stride)
{
  V *const         right = (V *)right_.data();
  const PartNumber number{shared_, before_};
  // one process puts what all know
  const int begin = first_process_ ? 0 : shared_;
  if (distributed_) right_.zero();
  for_each(exec, parts_ - begin, Put<T, V>{sums, stride, begin, number, kept_.data(), right});
  if (distributed_)
    multigrid::sum_processes(comm_, exec.space, right_.data(), (size_t)all_ * width_of<V>, message_);
  hierarchy_->template precondition<V>((const V *)right, (V *)solution_.data());
}
template <class T> template <class V>
void PartNetwork<T>::add(const Exec &exec, SumOf<V> *factors, int stride) const
{
  for_each(exec, parts_,
           Add<T, V>{(const V *)solution_.data(), kept_.data(), {shared_, before_}, stride, factors});
}

template <class T> size_t PartNetwork<T>::bytes() const
{
  return entry_.bytes() + run_.bytes() + i_there_.bytes() + j_there_.bytes() + kept_.bytes() +
         right_.bytes() + solution_.bytes() + (hierarchy_ ? hierarchy_->bytes() : 0);
}

#define INSTANTIATE_WIDTH(T, ...) \
  template void PartNetwork<T>::make_several<__VA_ARGS__>(); \
  template void PartNetwork<T>::solve<__VA_ARGS__>(const Exec &, const SumOf<__VA_ARGS__> *, int); \
  template void PartNetwork<T>::add<__VA_ARGS__>(const Exec &, SumOf<__VA_ARGS__> *, int) const;
#define INSTANTIATE(T) \
  template class PartNetwork<T>; \
  TESSERA_ALL_WIDTHS(INSTANTIATE_WIDTH, T)
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
