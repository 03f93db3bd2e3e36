// Setup of the auxiliary tree: cells, balance.
#include "tree/dispatch.hpp"
#include "tree/cells/keepers.hpp"
#include "tree/cells/tree_kernels.hpp"
#include "exec/messages.hpp"
#include <algorithm>
#include <map>
#include <numeric>

namespace tessera::tree {

namespace {

template <int D> class Builder {
public:
  Builder(const Exec &e, int capacity, int n, const Buffer<Key> &k, int sorted) :
    exec_(e), capacity_(capacity), n_(n), sorted_(sorted), key_(k), last_(n)
  {
  }
  Builder(const Exec &e, int capacity, const KeptKeys &k, const Keepers &keepers) :
    exec_(e), capacity_(capacity), n_((int)k.key.size()), sorted_(depth(1)), key_(k.key), keepers_(&keepers),
    first_(k.first), last_(k.last)
  {
  }
  Tree build()
  {
    const int points = keepers_ ? n_ : std::max(n_, 1); // the root is there without points
    Tree      tree;
    leaf_ = make<int>(points);
    if (n_) for_each(exec_, n_, FindLeaf<D>{crowded<D>(exec_, n_, capacity_, key_, 0, n_).data(), leaf_.data()});
    else leaf_.zero();
    if (keepers_) for_each(exec_, n_, LeaveOut{first_, last_, leaf_.data()});
    std::vector<Split> split = splits();
    if (keepers_) add_spanning(split);
    tree.dim    = D;
    tree.finest = (int)split.size();
    if (tree.finest > sorted_) return tree;
    if (keepers_) balance_with_others(split);
    else balance(split);
    if (device::failed()) return tree; // the host has learned zeros
    // the splits of all levels in one list
    Levels levels;
    for (size_t l = 0; l < split.size(); ++l) levels.first[l + 1] = levels.first[l] + split[l].n;
    const int   all = levels.first[split.size()];
    Buffer<Key> start = make<Key>(all);
    Buffer<int> rank = make<int>(all), place = make<int>(points + 1);
    for (size_t l = 0; l < split.size(); ++l) {
      for_each(exec_, split[l].n, CopyValues<Key>{split[l].start.data(), start.data() + levels.first[l]});
      for_each(exec_, split[l].n, CopyValues<int>{split[l].rank.data(), rank.data() + levels.first[l]});
    }
    for_each(exec_, points, CountCells<D>{key_.data(), leaf_.data(), 1, place.data()});
    const int n = tree.cells = points ? scan(exec_, points, place) : 0;
    tree.start  = make<Key>(n);
    tree.rank   = make<signed char>(n);
    tree.parent = make<signed char>(n);
    tree.level  = make<signed char>(n);
    for_each(exec_, points,
             FillCells<D>{key_.data(), leaf_.data(), place.data(), start.data(), rank.data(), levels, tree.start.data(),
                          tree.rank.data(), tree.parent.data(), tree.level.data()});
    return tree;
  }

private:
  template <class V> Buffer<V> make(int n) const // all of it will be written, as far as it is read
  {
    Buffer<V> b;
    b.resize_unset(Extent{(size_t)n, exec_.space});
    return b;
  }
  // The cells that T_0 splits by the count of their points, level by level
  std::vector<Split> splits() const
  {
    std::vector<Split> split;
    Buffer<int>        place = make<int>(n_ + 1), order, first;
    for_each(exec_, n_, CountCells<D>{key_.data(), leaf_.data(), 0, place.data()});
    const int all = n_ ? scan(exec_, n_, place) : 0;
    if (!all) return split;
    Buffer<Key> start = make<Key>(all), level = make<Key>(all);
    Buffer<int> rank = make<int>(all), begin(depth(D) + 1);
    for_each(
      exec_, n_,
      FillSplits<D>{key_.data(), leaf_.data(), place.data(), n_, capacity_, start.data(), level.data(), rank.data()});
    sort_keys(exec_, all, 5, level, order);
    bucket_starts(exec_, all, level.data(), depth(D), Key(0), first);
    copy(first, begin);
    for (int l = 0; l < depth(D) && begin.data()[l] < all; ++l) {
      Split s;
      s.n     = begin.data()[l + 1] - begin.data()[l];
      s.start = make<Key>(s.n);
      s.rank  = make<int>(s.n);
      for_each(exec_, s.n,
               TakeSplit{order.data() + begin.data()[l], start.data(), rank.data(), s.start.data(), s.rank.data()});
      split.push_back(std::move(s));
    }
    return split;
  }
  // Many trees are balanced by themselves down to some level, to which nobody has to wait for what is missing. missing:
  // a place for each level
  int first_unbalanced(std::vector<Split> &split, Buffer<int> &missing) const
  {
    Buffer<int> found(missing.size());
    int         l = (int)split.size() - 1;
    missing.zero();
    for (int k = l; k > 0; --k) ask(split, k, nullptr, nullptr, nullptr, missing.data());
    copy(missing, found);
    while (l > 0 && !found.data()[l]) --l;
    return l;
  }
  // From the finest to the coarsest level; ranks only grow, so the trees stay nested.
  void balance(std::vector<Split> &split)
  {
    Buffer<int> missing = make<int>((int)split.size() + 1);
    for (int l = first_unbalanced(split, missing); l > 0; --l)
      split_more(split[(size_t)l - 1], l - 1, wanted_above(split, l, missing));
  }
  // Cells that are to be split, start[p] with rank[p] for the p in where[], perhaps several times.
  struct Wanted {
    Buffer<Key> start;
    Buffer<int> rank, where;
  };
  // What the splits of level l want of the next coarser one: of own cells, and of those of others. missing: a place for
  // each level
  Wanted wanted_above(std::vector<Split> &split, int l, Buffer<int> &missing, Buffer<int> *others = nullptr) const
  {
    const int             m = split[(size_t)l].n * ((1 << D) - 1);
    Wanted                w{make<Key>(m), make<int>(m), {}};
    Buffer<unsigned char> flag = make<unsigned char>(m), other;
    ask(split, l, w.start.data(), w.rank.data(), flag.data(), missing.data());
    if (others) {
      other = make<unsigned char>(m);
      for_each(exec_, m, TakeElsewhere{flag.data(), other.data()});
      select(exec_, m, other, *others);
    }
    select(exec_, m, flag, w.where);
    return w;
  }
  Asked<D> splits_of(Split &split, int level) const
  {
    Asked<D> of{split.start.data(), split.rank.data(), split.n, level, key_.data(), first_, last_, 0,
                (Key)1 << (D * depth(D))};
    if (keepers_) {
      const size_t r = (size_t)keepers_->rank;
      of.begin       = keepers_->begin[r];
      if (r + 1 < keepers_->begin.size()) of.end = keepers_->begin[r + 1];
    }
    return of;
  }
  void ask(std::vector<Split> &split, int l, Key *wanted, int *rank, unsigned char *flag, int *missing) const
  {
    const Split &fine = split[(size_t)l];
    for_each(exec_, fine.n,
             Balance<D>{fine.start.data(), fine.rank.data(), splits_of(split[(size_t)l - 1], l - 1), wanted, rank, flag,
                        missing + l});
  }
  // Cells of a level that are split for the balance come to the others.
  void split_more(Split &coarse, int level, const Wanted &w)
  {
    if (w.where.empty()) return;
    for_each(exec_, (int)w.where.size(),
             RaiseWanted<D>{w.where.data(), w.start.data(), key_.data(), level, first_, last_, leaf_.data()});
    add(coarse, w);
  }
  void add(Split &coarse, const Wanted &w)
  {
    const Buffer<int> &where = w.where;
    const int   both  = coarse.n + (int)where.size();
    Buffer<Key> start = make<Key>(both);
    Buffer<int> ranks = make<int>(both), order, first;
    for_each(exec_, coarse.n, CopyValues<Key>{coarse.start.data(), start.data()});
    for_each(exec_, coarse.n, CopyValues<int>{coarse.rank.data(), ranks.data()});
    for_each(exec_, (int)where.size(),
             TakeWanted{where.data(), w.start.data(), w.rank.data(), coarse.n, start.data(), ranks.data()});
    sort_keys(exec_, both, D * depth(D), start, order);
    Buffer<int> ordered = make<int>(both);
    for_each(exec_, both, GatherValues<int>{order.data(), ranks.data(), ordered.data()});
    Buffer<unsigned char> flag = make<unsigned char>(both);
    for_each(exec_, both, FirstOfRun<Key>{start.data(), flag.data()});
    select(exec_, both, flag, first);
    coarse.n     = (int)first.size();
    coarse.start = make<Key>(coarse.n);
    coarse.rank  = make<int>(coarse.n);
    for_each(exec_, coarse.n,
             TakeLargest{first.data(), coarse.n, both, start.data(), ordered.data(), coarse.start.data(),
                         coarse.rank.data()});
  }

  // --- with other keepers ---
  // Cells of several keepers come to the splits of all those that have nodes in them, and all go on to the finest
  // level of any.
  void add_spanning(std::vector<Split> &split)
  {
    spanning_  = spanning_cells(exec_, *keepers_, D, capacity_, last_ - first_, key_.data() + first_);
    int levels = (int)split.size();
    MPI_Allreduce(MPI_IN_PLACE, &levels, 1, MPI_INT, MPI_MAX, keepers_->comm);
    split.resize((size_t)levels);
    for_spanning(split, [&](const std::vector<size_t> &cells, Split &to) {
      add(to, wanted_spanning(cells));
    });
  }
  // The spanning cells of these numbers, all of them.
  Wanted wanted_spanning(const std::vector<size_t> &cells) const
  {
    std::vector<Key> start;
    std::vector<int> rank, all(cells.size());
    for (size_t c : cells) {
      start.push_back(spanning_[c].start);
      rank.push_back(spanning_[c].rank);
    }
    std::iota(all.begin(), all.end(), 0);
    return {copy_to(exec_.space, start), copy_to(exec_.space, rank), copy_to(exec_.space, all)};
  }
  // f(numbers of the spanning cells with own nodes, the splits) of each level that has such cells
  template <class F> void for_spanning(std::vector<Split> &split, const F &f)
  {
    const Key least = keepers_->least[(size_t)keepers_->rank], greatest = keepers_->greatest[(size_t)keepers_->rank];
    for (size_t l = 0; l < split.size(); ++l) {
      std::vector<size_t> cells;
      for (size_t k = 0; k < spanning_.size(); ++k) {
        const SpanningCell &c = spanning_[k];
        if (c.level == (int)l && c.start <= greatest && c.start + ((Key)1 << (D * (depth(D) - c.level))) > least &&
            !keepers_->empty(keepers_->rank))
          cells.push_back(k);
      }
      if (!cells.empty()) f(cells, split[l]);
    }
  }
  // Level by level, too; what others have to split they learn before they go on.
  void balance_with_others(std::vector<Split> &split)
  {
    Buffer<int> missing = make<int>((int)split.size() + 1), others;
    for (int l = (int)split.size() - 1; l > 0; --l) {
      Split       &coarse = split[(size_t)l - 1];
      const Wanted w      = wanted_above(split, l, missing, &others);
      const Wanted asked  = exchange_asked(coarse, l - 1, w, others);
      split_more(coarse, l - 1, w);
      split_more(coarse, l - 1, asked);
    }
    share_ranks(split);
  }
  // What others ask of this keeper: of w it asks of them what is at the places `elsewhere`.
  Wanted exchange_asked(Split &coarse, int level, const Wanted &w, const Buffer<int> &elsewhere) const
  {
    const Key   length = (Key)1 << (D * (depth(D) - level));
    const int   found  = (int)elsewhere.size();
    Buffer<Key> cell = make<Key>(found);
    Buffer<int> cell_rank = make<int>(found);
    for_each(exec_, found,
             TakeWanted{elsewhere.data(), w.start.data(), w.rank.data(), 0, cell.data(), cell_rank.data()});
    const std::vector<Key> start = listed(cell);
    const std::vector<int> ranks = listed(cell_rank);
    std::map<Key, int>     wishes; // of each cell the largest rank
    for (size_t p = 0; p < start.size(); ++p) {
      int &largest = wishes.emplace(start[p], ranks[p]).first->second;
      largest      = std::max(largest, ranks[p]);
    }
    std::vector<int> counts((size_t)keepers_->size), rank;
    std::vector<Key> key; // in the order of their keepers
    for (const auto &[k, largest] : wishes) {
      const int r = keepers_->of_first(k, length);
      if (r < 0) continue; // an empty cell
      ++counts[(size_t)r];
      key.push_back(k);
      rank.push_back(largest);
    }
    const Messages        messages(keepers_->comm, counts);
    Wanted asked{copy_to(exec_.space, messages.send(key)), copy_to(exec_.space, messages.send(rank)), {}};
    const int             n = (int)asked.start.size();
    Buffer<unsigned char> flag = make<unsigned char>(n);
    for_each(exec_, n, AskedByOthers<D>{splits_of(coarse, level), asked.start.data(), asked.rank.data(), flag.data()});
    select(exec_, n, flag, asked.where);
    return asked;
  }
  // Of a spanning cell the largest rank that a keeper knows.
  void share_ranks(std::vector<Split> &split)
  {
    for (const bool raise : {false, true}) {
      for_spanning(split, [&](const std::vector<size_t> &cells, Split &of) {
        Wanted w = wanted_spanning(cells);
        for_each(exec_, (int)cells.size(),
                 ShareRank{of.start.data(), of.n, of.rank.data(), w.start.data(), w.rank.data(), raise});
        const std::vector<int> rank = listed(w.rank);
        for (size_t c = 0; c < cells.size(); ++c) spanning_[cells[c]].rank = rank[c];
      });
      if (raise) break;
      std::vector<int> ranks;
      for (const SpanningCell &c : spanning_) ranks.push_back(c.rank);
      MPI_Allreduce(MPI_IN_PLACE, ranks.data(), (int)ranks.size(), MPI_INT, MPI_MAX, keepers_->comm);
      for (size_t c = 0; c < ranks.size(); ++c) spanning_[c].rank = ranks[c];
    }
  }
  const Exec        &exec_;
  int                capacity_, n_, sorted_;
  const Buffer<Key> &key_;
  Buffer<int>        leaf_; // level of the leaf of each point
  // where several processes divide the tree, and its cells that several have
  const Keepers            *keepers_ = nullptr;
  int                       first_ = 0, last_; // own points
  std::vector<SpanningCell> spanning_;
};

} // namespace

Tree make_tree(const Exec &exec, int dim, int capacity, int n, const Buffer<Key> &keys, int sorted)
{
  Tree tree;
  with_dim(dim, [&](auto d) { tree = Builder<d.value>(exec, capacity, n, keys, sorted).build(); });
  return tree;
}

Tree make_tree(const Exec &exec, int dim, int capacity, const KeptKeys &keys, const Keepers &keepers)
{
  Tree tree;
  with_dim(dim, [&](auto d) { tree = Builder<d.value>(exec, capacity, keys, keepers).build(); });
  return tree;
}

} // namespace tessera::tree
