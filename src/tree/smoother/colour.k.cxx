// Colours for Gauss-Seidel. The paper takes the parity of a cell along each axis, 4 colours in 2D and 8 in 3D, which
// is right as long as no coupling is longer than a cell. Here a node or block takes the colour of its parity unless
// it is coupled with another one that has it, then the first that is free: no two coupled ones share a colour, so the
// result does not depend on threads or processes.
#include "tree/setup.hpp"
#include "exec/each.hpp"
#include "exec/random.hpp"
#include <algorithm>

namespace tessera::tree {

namespace {

constexpr int           max_colours  = 128;
constexpr unsigned char no_colour    = 255;

// The order in which colours are given: random numbers, so that few rounds will do (Jones and Plassmann 1993).
HD inline double random_place(int position)
{
  return (double)(mix(((uint64_t)position + 1) * golden_ratio) >> 11);
}
struct Priority {
  const int *position; // nullptr: p itself
  double    *priority;
  HD void    operator()(int p) const { priority[p] = random_place(position ? position[p] : p); }
};

// A node takes its colour when all its neighbours that come before it have theirs, so it is the colour of the
// sequential method.
struct TakeColour {
  const int           *i, *j;
  const double        *priority;
  const unsigned char *wanted; // nullptr: the first that is free
  unsigned char       *colour;
  int                 *left, *too_many;
  HD void              operator()(int p) const
  {
    if (colour[p] != no_colour) return;
    unsigned long long used[2] = {0, 0};
    for (int e = i[p]; e < i[p + 1]; ++e) {
      const int q = j[e];
      // One that comes later waits for p, or does not see it: then its colour, if it has one by now, is a matter of
      // time.
      if (!(priority[q] > priority[p] || (priority[q] == priority[p] && q > p))) continue;
      const unsigned char c = ((volatile const unsigned char *)colour)[q];
      if (c == no_colour) {
        count_one(left);
        return;
      }
      used[c >> 6] |= 1ULL << (c & 63);
    }
    int mine = wanted && wanted[p] != no_colour ? wanted[p] : -1;
    if (mine < 0 || (used[mine >> 6] >> (mine & 63) & 1)) {
      mine = 0;
      while (mine < max_colours && (used[mine >> 6] >> (mine & 63) & 1)) ++mine;
    }
    if (mine == max_colours) {
      raise_flag(too_many);
      mine = max_colours - 1;
    }
    ((volatile unsigned char *)colour)[p] = (unsigned char)mine;
  }
};
// In a pattern that is not symmetric neighbours may not see each other.
struct CheckColours {
  const int           *i, *j;
  const unsigned char *colour;
  int                 *wrong;
  HD void              operator()(int p) const
  {
    for (int e = i[p]; e < i[p + 1]; ++e)
      if (j[e] != p && colour[j[e]] == colour[p]) raise_flag(wrong);
  }
};

struct ColourKey {
  const unsigned char *colour;
  const int           *block; // nullptr: the colour of p itself
  unsigned long long  *key;
  HD void              operator()(int p) const { key[p] = colour[block ? block[p] : p]; }
};
struct Parity {
  const Key     *key;
  int            shift, mask;
  unsigned char *wanted;
  HD void        operator()(int p) const { wanted[p] = (unsigned char)((int)(key[p] >> shift) & mask); }
};

// The place of own nodes among those of all processes.
struct GlobalPlace {
  const int *order;
  int        first, n;
  int       *position;
  HD void    operator()(int q) const
  {
    const int e = order[q] - first;
    if (e >= 0 && e < n) position[e] = q;
  }
};
// Aggregates that have more nodes than a block may are cut along the order of the keys.
struct CountPieces {
  const int *first;
  int        max_nodes;
  int       *count;
  HD void    operator()(int c) const { count[c] = (first[c + 1] - first[c] + max_nodes - 1) / max_nodes; }
};
struct FillPieces {
  const int     *first, *piece;
  const Key     *start;
  int            cells, shift, mask;
  int           *begin;
  unsigned char *wanted;
  HD void        operator()(int c) const
  {
    const int n = piece[c + 1] - piece[c], m = first[c + 1] - first[c];
    for (int t = 0; t < n; ++t) {
      begin[piece[c] + t]  = first[c] + (int)((long long)m * t / n);
      wanted[piece[c] + t] = n == 1 ? (unsigned char)((int)(start[c] >> shift) & mask) : no_colour;
    }
    if (c == cells - 1) begin[piece[cells]] = first[cells];
  }
};
struct FindBlock {
  const int *begin, *position; // position: nullptr: p itself
  int        blocks, points;
  int       *block, *place; // -1 for nodes that take no part
  HD void    operator()(int p) const
  {
    const int q                 = position && p < points ? position[p] : p,
              b                 = p < points ? lower_bound(begin, 0, blocks + 1, q + 1) - 1 : -1;
    block[p] = b;
    place[p] = b < 0 ? 0 : q - begin[b];
  }
};
struct FirstOfBlock {
  const int *block;
  int        points;
  int       *first;
  HD void    operator()(int b) const { first[b] = lower_bound(block, 0, points, b); }
};

} // namespace

// colour: of n nodes, and behind them of ghosts where the rows are distributed. Fails where there are too many, or
// rows do not see each other.
template <class T>
Failure::Kind Colouring<T>::colour(int n, const Buffer<int> &i, const Buffer<int> &j, const Buffer<double> &priority,
                                   const Buffer<unsigned char> &wanted, bool distributed, Buffer<unsigned char> &colour)
{
  const int all = (int)priority.size();
  colour        = make<unsigned char>((size_t)all);
  for_each(exec_, all, SetValues<unsigned char>{colour.data(), no_colour});
  Buffer<int> wrong = make<int>(1);
  for (double left = 1; left > 0;) {
    Buffer<int> count = make<int>(1);
    for_each(exec_, n,
             TakeColour{i.data(), j.data(), priority.data(), wanted.empty() ? nullptr : wanted.data(), colour.data(),
                        count.data(), wrong.data()});
    left = fetch(count, 0);
    if (!distributed) continue;
    levels_[0].exchange.forward(colour.data(), 1);
    left = total(left);
    if (lost()) return Failure::lost; // its nodes have none, for which others would wait
  }
  for_each(exec_, n, CheckColours{i.data(), j.data(), colour.data(), wrong.data()});
  // the same on all processes, whatever their devices say
  return total(fetch(wrong, 0)) > 0 ? Failure::uncoloured : Failure::none;
}

// cells, key: of the next grid, of the level's nodes.
template <class T> Failure::Kind Colouring<T>::sweep_pattern(Level<T> &level, const Level<T> &next, const Cells &cells,
                                                             const Buffer<Key> &key)
{
  GaussSeidel<T>             &sweep = level.sweep;
  Buffer<unsigned char> colour, wanted;
  Buffer<int>           position;
  const int             points = level.points, dim = params_.dim, parity = (1 << dim) - 1;
  sweep = GaussSeidel<T>();
  if (level.distributed) {
    position = make<int>((size_t)points);
    for_each(exec_, (int)everyone_.order.size(),
             GlobalPlace{everyone_.order.data(), everyone_.first[(size_t)everyone_.rank], points, position.data()});
  }
  const int *const at     = level.distributed ? position.data() : nullptr;
  const bool       blocks = sweep.exact = params_.smoother == Smoother::block_gs && &level == &levels_[0];
  if (blocks) {
    if (const Failure::Kind kind = block_pattern(level, next, cells, key, position, colour)) return kind;
  } else {
    Buffer<double> priority = make<double>((size_t)(level.n + level.ghosts));
    for_each(exec_, points, Priority{at, priority.data()});
    if (level.distributed) levels_[0].exchange.forward(priority.data(), 1);
    if (params_.aggregation && &level != &levels_[0]) {
      wanted = make<unsigned char>((size_t)points);
      for_each(exec_, points, Parity{key.data(), dim * (depth(dim) - level.grid.finest), parity, wanted.data()});
    }
    if (const Failure::Kind kind = this->colour(points, level.i, level.j, priority, wanted, level.distributed, colour))
      return kind;
  }
  Buffer<Key> by = make<Key>((size_t)points);
  Buffer<int> first;
  for_each(exec_, points, ColourKey{colour.data(), blocks ? sweep.block.data() : nullptr, by.data()});
  sort_keys(exec_, points, 8, by, sweep.order);
  bucket_starts(exec_, points, by.data(), max_colours, Key(0), first);
  const Buffer<int> here = on_host(first);
  int               colours = max_colours;
  while (colours && here.data()[colours - 1] == points) --colours;
  if (level.distributed) MPI_Allreduce(MPI_IN_PLACE, &colours, 1, MPI_INT, MPI_MAX, comm_);
  sweep.first.assign(here.data(), here.data() + colours + 1);
  return Failure::none;
}

// The graph of the blocks is that of the next grid, unless aggregates are cut.
template <class T>
Failure::Kind Colouring<T>::colour_blocks(Level<T> &level, const Level<T> &next, int blocks, bool cut,
                                          const Buffer<unsigned char> &wanted, Buffer<unsigned char> &colour)
{
  Buffer<double> priority = make<double>((size_t)blocks);
  for_each(exec_, blocks, Priority{nullptr, priority.data()});
  if (!cut) return this->colour(blocks, next.i, next.j, priority, wanted, false, colour);
  Level<T> fine(exec_, params_.bs), graph(exec_, params_.bs);
  fine.n           = level.n;
  fine.points      = level.points;
  fine.ghosts      = level.ghosts;
  fine.distributed = level.distributed;
  fine.transfer.cells       = blocks;
  fine.transfer.corners     = 1;
  fine.transfer.begin       = make<int>((size_t)blocks + 1);
  fine.transfer.vertex      = make<int>((size_t)blocks);
  for_each(exec_, blocks + 1, FirstOfBlock{level.sweep.block.data(), level.points, fine.transfer.begin.data()});
  for_each(exec_, blocks, Enumerate{fine.transfer.vertex.data()});
  graph.n = graph.rows = blocks;
  std::swap(fine.i, level.i);
  std::swap(fine.j, level.j);
  std::swap(fine.transfer.weight, level.transfer.weight);
  const Failure::Kind kind = galerkin_.product_pattern(fine, level.sweep.block, fine.transfer.cells, graph);
  std::swap(fine.i, level.i);
  std::swap(fine.j, level.j);
  std::swap(fine.transfer.weight, level.transfer.weight);
  if (kind) return kind;
  return this->colour(blocks, graph.i, graph.j, priority, wanted, false, colour);
}

// On several processes: the blocks in which this one has nodes, and of these the nodes of others.
template <class T> void Colouring<T>::own_blocks(Level<T> &level)
{
  GaussSeidel<T> &sweep = level.sweep;
  const Buffer<int> block = on_host(sweep.block), from = on_host(sweep.begin), order = on_host(everyone_.order);
  const int        *b = block.data(), mine = everyone_.first[(size_t)everyone_.rank];
  std::vector<int>  local, starts(1, 0), member, owner, index;
  for (int p = 0; p < level.points; ++p) {
    if (!p || b[p] != b[p - 1]) {
      for (int q = from.data()[b[p]]; q < from.data()[b[p] + 1]; ++q) {
        const int e = order.data()[q];
        if (e >= mine && e < mine + level.points) {
          member.push_back(e - mine);
          continue;
        }
        const int rank =
          (int)(std::upper_bound(everyone_.first.begin(), everyone_.first.end(), e) - everyone_.first.begin()) - 1;
        member.push_back(level.n + (int)owner.size());
        owner.push_back(rank);
        index.push_back(e - everyone_.first[(size_t)rank]);
      }
      starts.push_back((int)member.size());
    }
    local.push_back((int)starts.size() - 2);
  }
  sweep.blocks   = (int)starts.size() - 1;
  sweep.partners = (int)owner.size();
  sweep.exchange = Exchange(exec_, comm_, level.n, owner, index);
  sweep.begin    = copy_to(exec_.space, starts);
  sweep.member   = copy_to(exec_.space, member);
  sweep.local    = copy_to(exec_.space, local);
  sweep.r        = make<T>((size_t)(level.n + sweep.partners) * (size_t)params_.bs);
}

// The aggregates as blocks. position: of own nodes among those of all processes, where there are several.
template <class T> Failure::Kind Colouring<T>::block_pattern(Level<T> &level, const Level<T> &next, const Cells &cells,
                                                             const Buffer<Key> &key, const Buffer<int> &position,
                                                             Buffer<unsigned char> &colour)
{
  GaussSeidel<T>    &sweep = level.sweep;
  const int    points = level.points, all = level.n + level.ghosts, bs = params_.bs, dim = params_.dim;
  const bool   several = level.distributed;
  const Key   *keys = several ? everyone_.key.data() : key.data();
  const int    number = several ? (int)everyone_.key.size() : points;
  const double entries = level.nodes * bs * bs; // a node takes as many as its block has nodes
  const int          max_nodes = (int)std::max(1., std::min<double>(max_aggregate / bs, 2e9 / std::max(entries, 1.)));
  Buffer<int>  first, piece = make<int>((size_t)cells.n + 1);
  bucket_starts(exec_, number, keys, cells.n, cells.start.data(), first);
  for_each(exec_, cells.n, CountPieces{first.data(), max_nodes, piece.data()});
  const int             blocks = scan(exec_, cells.n, piece);
  Buffer<int>           begin = make<int>((size_t)blocks + 1);
  Buffer<unsigned char> wanted = make<unsigned char>((size_t)blocks);
  for_each(exec_, cells.n,
           FillPieces{first.data(), piece.data(), cells.start.data(), cells.n, dim * (depth(dim) - cells.finest),
                      (1 << dim) - 1, begin.data(), wanted.data()});
  // block and place of each node, ghosts included
  sweep.block = make<int>((size_t)all);
  sweep.place = make<int>((size_t)all);
  for_each(exec_, level.n, FindBlock{begin.data(), several ? position.data() : nullptr, blocks, points,
                                     sweep.block.data(), sweep.place.data()});
  if (several)
    for (Buffer<int> *of : {&sweep.block, &sweep.place}) levels_[0].exchange.forward(of->data(), 1);
  if (several && lost()) return Failure::lost;
  if (const Failure::Kind kind = colour_blocks(level, next, blocks, blocks != cells.n, wanted, colour)) return kind;
  sweep.blocks = blocks;
  sweep.begin  = std::move(begin);
  if (several) own_blocks(level);
  return Failure::none;
}

#define INSTANTIATE(T) \
  template Failure::Kind Colouring<T>::colour(int, const Buffer<int> &, const Buffer<int> &, const Buffer<double> &, \
                                              const Buffer<unsigned char> &, bool, Buffer<unsigned char> &); \
  template Failure::Kind Colouring<T>::sweep_pattern(Level<T> &, const Level<T> &, const Cells &, \
                                                     const Buffer<Key> &); \
  template Failure::Kind Colouring<T>::colour_blocks(Level<T> &, const Level<T> &, int, bool, \
                                                     const Buffer<unsigned char> &, Buffer<unsigned char> &); \
  template void          Colouring<T>::own_blocks(Level<T> &); \
  template Failure::Kind Colouring<T>::block_pattern(Level<T> &, const Level<T> &, const Cells &, const Buffer<Key> &, \
                                                     const Buffer<int> &, Buffer<unsigned char> &);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
