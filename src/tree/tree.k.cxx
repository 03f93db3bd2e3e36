// Setup of the auxiliary tree: cells, balance.
#include "tree/dispatch.hpp"
#include "tree/keepers.hpp"
#include "tree/tree_kernels.hpp"
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
    tree.added  = keepers_ ? balance_with_others(split) : balance(split);
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
  // From the finest to the coarsest level; ranks only grow, so the trees stay nested.
  long balance(std::vector<Split> &split)
  {
    long        added = 0;
    const int   levels = (int)split.size();
    Buffer<int> missing = make<int>(levels + 1), found((size_t)levels + 1);
    // Many trees are balanced by themselves down to some level, to which nobody has to wait for what is missing.
    missing.zero();
    for (int l = levels - 1; l > 0; --l) ask(split, l, nullptr, nullptr, nullptr, missing.data());
    copy(missing, found);
    int l = levels - 1;
    while (l > 0 && !found.data()[l]) --l;
    for (; l > 0; --l) {
      const Wanted w = wanted_above(split, l, missing);
      if (!w.where.empty()) added += split_more(split[(size_t)l - 1], l - 1, w);
    }
    return added;
  }
  // Cells that are to be split, start[p] with rank[p] for the p in where[], perhaps several times.
  struct Wanted {
    Buffer<Key> start;
    Buffer<int> rank, where;
  };
  // What the splits of level l want of the next coarser one. missing: a place for each level
  Wanted wanted_above(std::vector<Split> &split, int l, Buffer<int> &missing) const
  {
    const int             m = split[(size_t)l].n * ((1 << D) - 1);
    Wanted                w{make<Key>(m), make<int>(m), {}};
    Buffer<unsigned char> flag = make<unsigned char>(m);
    ask(split, l, w.start.data(), w.rank.data(), flag.data(), missing.data());
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
  // Cells of a level that are split for the balance come to the others. Returns how many.
  long split_more(Split &coarse, int level, const Wanted &w)
  {
    const Buffer<int> &where = w.where;
    for_each(exec_, (int)where.size(),
             RaiseWanted<D>{where.data(), w.start.data(), key_.data(), level, first_, last_, leaf_.data()});
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
    const long added = (long)first.size() - coarse.n;
    coarse.n         = (int)first.size();
    coarse.start     = make<Key>(coarse.n);
    coarse.rank      = make<int>(coarse.n);
    for_each(exec_, coarse.n,
             TakeLargest{first.data(), coarse.n, both, start.data(), ordered.data(), coarse.start.data(),
                         coarse.rank.data()});
    return added;
  }

  // --- with other keepers ---
  using SpanningCells = std::vector<SpanningCell *>;
  // Cells of several keepers come to the splits of all those that have nodes in them, and all go on to the finest
  // level of any.
  void add_spanning(std::vector<Split> &split)
  {
    const std::vector<Key> keys = listed(key_);
    spanning_ = spanning_cells(*keepers_, D, capacity_,
                               std::vector<Key>(keys.begin() + first_, keys.begin() + last_));
    int levels = (int)split.size();
    MPI_Allreduce(MPI_IN_PLACE, &levels, 1, MPI_INT, MPI_MAX, keepers_->comm);
    split.resize((size_t)levels);
    for_spanning(split, [](const SpanningCells &cells, std::vector<Key> &start, std::vector<int> &rank) {
      for (const SpanningCell *c : cells) {
        const auto   to = std::lower_bound(start.begin(), start.end(), c->start);
        const size_t at = (size_t)(to - start.begin());
        if (to == start.end() || *to != c->start) {
          start.insert(to, c->start);
          rank.insert(rank.begin() + (ptrdiff_t)at, c->rank);
        } else rank[at] = c->rank;
      }
    });
  }
  // f(the spanning cells with own nodes, the splits, their ranks) of each level that has such cells
  template <class F> void for_spanning(std::vector<Split> &split, const F &f)
  {
    const Key least = keepers_->least[(size_t)keepers_->rank], most = keepers_->most[(size_t)keepers_->rank];
    for (size_t l = 0; l < split.size(); ++l) {
      SpanningCells cells;
      for (SpanningCell &c : spanning_)
        if (c.level == (int)l && c.start <= most && c.start + ((Key)1 << (D * (depth(D) - c.level))) > least &&
            !keepers_->empty(keepers_->rank))
          cells.push_back(&c);
      if (cells.empty()) continue;
      Split           &s = split[l];
      std::vector<Key> start = listed(s.start);
      std::vector<int> rank = listed(s.rank);
      f(cells, start, rank);
      s.n     = (int)start.size();
      s.start = copy_to(exec_.space, start);
      s.rank  = copy_to(exec_.space, rank);
    }
  }
  // Level by level, too; what others have to split they learn before they go on.
  long balance_with_others(std::vector<Split> &split)
  {
    long        added = 0;
    Buffer<int> missing = make<int>((int)split.size() + 1);
    for (int l = (int)split.size() - 1; l > 0; --l) {
      Split       &coarse = split[(size_t)l - 1];
      const Wanted w      = wanted_above(split, l, missing);
      const int    found  = (int)w.where.size();
      Buffer<Key>  cell = make<Key>(found);
      Buffer<int>  cell_rank = make<int>(found);
      for_each(exec_, found,
               TakeWanted{w.where.data(), w.start.data(), w.rank.data(), 0, cell.data(), cell_rank.data()});
      // own cells, and those of others
      std::vector<Key> start = listed(cell), to_split;
      std::vector<int> ranks = listed(cell_rank), split_ranks;
      take_asked(coarse, l - 1, exchange_asked(l - 1, start, ranks, to_split, split_ranks), to_split, split_ranks);
      if (to_split.empty()) continue;
      std::vector<int> all(to_split.size());
      std::iota(all.begin(), all.end(), 0);
      added += split_more(coarse, l - 1, {copy_to(exec_.space, to_split), copy_to(exec_.space, split_ranks),
                                          copy_to(exec_.space, all)});
    }
    share_ranks(split);
    MPI_Allreduce(MPI_IN_PLACE, &added, 1, MPI_LONG, MPI_SUM, keepers_->comm);
    return added;
  }
  using Wish = std::pair<Key, int>; // a cell and its rank
  // What others ask of this keeper. Own cells go to the list of those that will be split.
  std::vector<Wish> exchange_asked(int level, const std::vector<Key> &start, const std::vector<int> &ranks,
                                   std::vector<Key> &to_split, std::vector<int> &split_ranks)
  {
    const Key               length = (Key)1 << (D * (depth(D) - level));
    std::map<Key, int>      wishes;
    for (size_t p = 0; p < start.size(); ++p) {
      const int r = keepers_->of_first(start[p], length);
      if (r == keepers_->rank) {
        to_split.push_back(start[p]);
        split_ranks.push_back(ranks[p]);
      } else if (r >= 0) {
        int &largest = wishes.emplace(start[p], ranks[p]).first->second;
        largest      = std::max(largest, ranks[p]);
      }
    }
    std::vector<int> counts((size_t)keepers_->size), rank;
    std::vector<Key> key; // in the order of their keepers
    for (const auto &[cell, largest] : wishes) {
      ++counts[(size_t)keepers_->of_first(cell, length)];
      key.push_back(cell);
      rank.push_back(largest);
    }
    const Messages         messages(keepers_->comm, counts);
    const std::vector<Key> cells = messages.send(key);
    const std::vector<int> of    = messages.send(rank);
    std::vector<Wish>      got;
    for (size_t p = 0; p < cells.size(); ++p) got.push_back({cells[p], of[p]});
    return got;
  }
  void take_asked(Split &coarse, int level, const std::vector<Wish> &wishes, std::vector<Key> &to_split,
                  std::vector<int> &split_ranks)
  {
    std::vector<Key> cells;
    std::vector<int> ranks;
    for (const Wish &w : wishes) {
      cells.push_back(w.first);
      ranks.push_back(w.second);
    }
    const Buffer<Key>     key = copy_to(exec_.space, cells);
    const Buffer<int>     rank = copy_to(exec_.space, ranks);
    Buffer<unsigned char> flag = make<unsigned char>((int)cells.size());
    for_each(exec_, (int)cells.size(),
             AskedByOthers<D>{splits_of(coarse, level), key.data(), rank.data(), flag.data()});
    const std::vector<unsigned char> missing = listed(flag);
    for (size_t p = 0; p < cells.size(); ++p)
      if (missing[p]) {
        to_split.push_back(cells[p]);
        split_ranks.push_back(ranks[p]);
      }
  }
  // Of a spanning cell the largest rank that a keeper knows.
  void share_ranks(std::vector<Split> &split)
  {
    for (const bool fill : {false, true}) {
      for_spanning(split, [&](const SpanningCells &cells, std::vector<Key> &start, std::vector<int> &rank) {
        for (SpanningCell *c : cells) {
          const auto at = std::lower_bound(start.begin(), start.end(), c->start);
          if (at == start.end()) continue; // of a device that has failed
          int &mine = rank[(size_t)(at - start.begin())];
          if (fill) mine = c->rank;
          else c->rank = mine;
        }
      });
      if (fill) break;
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
