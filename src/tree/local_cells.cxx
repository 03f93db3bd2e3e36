#include "tree/local_cells.hpp"
#include "tree/dispatch.hpp"
#include "exec/messages.hpp"
#include <algorithm>
#include <climits>
#include <numeric>
#include <unordered_map>

namespace tessera::tree {

namespace {

constexpr Key no_vertex = ~(Key)0;

struct Leaf {
  Key  start;
  int  level;
  bool operator<(const Leaf &o) const { return start < o.start; }
};
std::vector<Leaf> leaves_of(const Cells &cells)
{
  const std::vector<Key>         start = listed(cells.start);
  const std::vector<signed char> level = listed(cells.level);
  std::vector<Leaf>              list;
  for (size_t l = 0; l < start.size(); ++l) list.push_back({start[l], level[l]});
  return list;
}
void set_leaves(const Exec &exec, std::vector<Leaf> &list, Cells &cells)
{
  std::sort(list.begin(), list.end());
  std::vector<Key>         start;
  std::vector<signed char> level;
  for (const Leaf &l : list) {
    start.push_back(l.start);
    level.push_back((signed char)l.level);
  }
  cells.n     = (int)list.size();
  cells.start = copy_to(exec.space, start);
  cells.level = copy_to(exec.space, level);
}

// The other keepers in the neighbourhood of the leaf's parent: of leaves there the leaf and the corners of their
// parents may have a corner in common, as levels of neighbours differ by one at most. A leaf of T_1, T_2, ... may have
// several keepers itself; with each of them it has all its neighbours.
template <int D> void keepers_near(const Keepers &keepers, const Leaf &leaf, std::vector<int> &to)
{
  to.clear();
  const auto add = [&](int first, int last) {
    for (int r = first; r <= last; ++r)
      if (r != keepers.rank && (r + 1 == keepers.size || keepers.begin[(size_t)r] < keepers.begin[(size_t)r + 1]))
        to.push_back(r);
  };
  if (!leaf.level) return add(0, keepers.size - 1);
  const unsigned  h = 2u << (depth(D) - leaf.level), top = 1u << depth(D);
  const Key       length = (Key)1 << (D * (depth(D) - leaf.level + 1));
  const Corner<D> x = deinterleave<D>(leaf.start & ~(length - 1));
  Corner<D>       low = x, high = x;
  for (int q = 0; q < D; ++q) {
    low.x[q]  = x.x[q] ? x.x[q] - h : 0;
    high.x[q] = std::min(x.x[q] + 2 * h, top) - 1;
  }
  if (keepers.of(interleave<D>(low)) == keepers.rank && keepers.of(interleave<D>(high)) == keepers.rank) return;
  int cells = 1;
  for (int q = 0; q < D; ++q) cells *= 3;
  for (int m = 0; m < cells; ++m) {
    Corner<D> c = x;
    bool      inside = true;
    for (int q = 0, digits = m; q < D; ++q, digits /= 3) {
      c.x[q] += (unsigned)(digits % 3 - 1) * h; // wraps below zero
      inside = inside && c.x[q] < top;
    }
    if (!inside) continue;
    const Key from = interleave<D>(c);
    add(keepers.of(from), keepers.of(from + length - 1));
  }
  std::sort(to.begin(), to.end());
  to.erase(std::unique(to.begin(), to.end()), to.end());
}

// Leaves near the ends of the keepers' intervals come to the others there.
template <int D> void add_near_leaves(const Keepers &keepers, std::vector<Leaf> &list)
{
  std::vector<std::pair<int, size_t>> out;
  std::vector<int>                    to, counts((size_t)keepers.size), levels;
  std::vector<Key>                    starts;
  for (size_t l = 0; l < list.size(); ++l) {
    keepers_near<D>(keepers, list[l], to);
    for (int r : to) out.push_back({r, l});
  }
  std::sort(out.begin(), out.end());
  for (const auto &[r, l] : out) {
    ++counts[(size_t)r];
    starts.push_back(list[l].start);
    levels.push_back(list[l].level);
  }
  const Messages messages(keepers.comm, counts);
  starts = messages.send(starts);
  levels = messages.send(levels);
  for (size_t l = 0; l < starts.size(); ++l) list.push_back({starts[l], levels[l]});
}

// Items on the way to the keepers of their keys, and the answers in the items' order.
struct ToKeepers {
  std::vector<size_t> order; // of the items, as they are sent
  std::vector<int>    counts;
  template <class Of> ToKeepers(int size, size_t items, const Of &keeper) : order(items), counts((size_t)size)
  {
    std::vector<int> of(items);
    for (size_t p = 0; p < items; ++p) ++counts[(size_t)(of[p] = keeper(p))];
    std::vector<size_t> at((size_t)size);
    for (size_t r = 1; r < at.size(); ++r) at[r] = at[r - 1] + (size_t)counts[r - 1];
    for (size_t p = 0; p < items; ++p) order[at[(size_t)of[p]]++] = p;
  }
};

// The corners of a leaf: as keys, with finest cells beside them.
struct CornersOfLeaves {
  std::vector<int> hangs;
  std::vector<Key> corner; // of each: the cell, the vertex
};
// The keepers' answers for leaves that begin at the keys.
CornersOfLeaves ask_corners(const Keepers &keepers, const Cells &kept, const std::vector<Key> &starts)
{
  const int                        corners = 1 << kept.dim;
  const std::vector<Key>           start = listed(kept.start), cell = listed(kept.key), key = listed(kept.vertex_key);
  const std::vector<int>           vertex = listed(kept.vertex);
  const std::vector<unsigned char> hangs = listed(kept.hangs);
  const ToKeepers                  to(keepers.size, starts.size(), [&](size_t l) { return keepers.of(starts[l]); });
  std::vector<Key>                 asked;
  for (size_t l : to.order) asked.push_back(starts[l]);
  const Messages  messages(keepers.comm, to.counts);
  CornersOfLeaves answer, got;
  for (Key k : messages.send(asked)) {
    const size_t l = (size_t)(std::lower_bound(start.begin(), start.end(), k) - start.begin());
    const bool   known = l < hangs.size(); // else its device has failed
    answer.hangs.push_back(known ? hangs[l] : 0);
    for (int c = 0; c < corners; ++c) {
      const int v = known ? vertex[l * (size_t)corners + (size_t)c] : -1;
      answer.corner.push_back(v < 0 ? no_vertex : cell[(size_t)v]);
      answer.corner.push_back(v < 0 ? no_vertex : key[(size_t)v]);
    }
  }
  answer.hangs  = messages.answer(answer.hangs);
  answer.corner = messages.answer(answer.corner, 2 * corners);
  got.hangs.resize(starts.size());
  got.corner.resize(answer.corner.size());
  for (size_t p = 0; p < to.order.size(); ++p) {
    got.hangs[to.order[p]] = answer.hangs[p];
    std::copy_n(answer.corner.begin() + (ptrdiff_t)(2 * (size_t)corners * p), 2 * corners,
                got.corner.begin() + (ptrdiff_t)(2 * (size_t)corners * to.order[p]));
  }
  return got;
}

// The levels of the leaves in which finest cells are.
std::vector<int> ask_levels(const Keepers &keepers, const Cells &kept, const std::vector<Key> &keys)
{
  const std::vector<Key>         start = listed(kept.start);
  const std::vector<signed char> level = listed(kept.level);
  const ToKeepers                to(keepers.size, keys.size(), [&](size_t p) { return keepers.of(keys[p]); });
  std::vector<Key>               asked;
  std::vector<int>               levels, of(keys.size());
  for (size_t p : to.order) asked.push_back(keys[p]);
  const Messages messages(keepers.comm, to.counts);
  size_t         l = 0; // leaves that begin up to a key; most keys are in the leaf of the one before or in the next
  const auto     ends = [&](Key k) { return (!l || start[l - 1] <= k) && (l == start.size() || k < start[l]); };
  for (Key k : messages.send(asked)) {
    if (!ends(k) && l < start.size()) ++l;
    if (!ends(k)) l = (size_t)(std::upper_bound(start.begin(), start.end(), k) - start.begin());
    levels.push_back(l ? level[l - 1] : -1);
  }
  levels = messages.answer(levels);
  for (size_t p = 0; p < levels.size(); ++p) of[to.order[p]] = levels[p];
  return of;
}

int keeper_of(const std::vector<int> &first, int number)
{
  return (int)(std::upper_bound(first.begin(), first.end() - 1, number) - first.begin()) - 1;
}

struct Vertex {
  Key  cell, key;
  bool operator<(const Vertex &o) const { return cell != o.cell ? cell < o.cell : key < o.key; }
  bool operator==(const Vertex &o) const { return cell == o.cell && key == o.key; }
};

// Sorts corners by one of their two keys; equal ones stay in their order.
void sort_corners(const Exec &exec, int bits, const CornersOfLeaves &of, size_t which, std::vector<int> &corner)
{
  std::vector<Key> keys;
  Buffer<int>      order;
  keys.reserve(corner.size());
  for (int c : corner) keys.push_back(of.corner[2 * (size_t)c + which]);
  Buffer<Key> sorted = copy_to(exec.space, keys);
  sort_keys(exec, (int)keys.size(), bits, sorted, order);
  std::vector<int> place = listed(order);
  for (int &p : place) p = corner[(size_t)p];
  corner = std::move(place);
}

// The vertices of some leaves, in order, come into the cells.
void set_vertices(const Exec &exec, const CornersOfLeaves &of, Cells &cells)
{
  std::vector<int> corner, vertex(of.corner.size() / 2, -1); // corner: those with vertices
  for (size_t c = 0; c < vertex.size(); ++c)
    if (of.corner[2 * c] != no_vertex) corner.push_back((int)c);
  sort_corners(exec, vertex_bits(cells.dim), of, 1, corner);
  sort_corners(exec, cells.dim * depth(cells.dim), of, 0, corner);
  std::vector<Key> cell, key;
  for (int c : corner) {
    const Key at = of.corner[2 * (size_t)c], v = of.corner[2 * (size_t)c + 1];
    if (cell.empty() || cell.back() != at || key.back() != v) {
      cell.push_back(at);
      key.push_back(v);
    }
    vertex[(size_t)c] = (int)cell.size() - 1;
  }
  cells.vertices   = (int)cell.size();
  cells.vertex     = copy_to(exec.space, vertex);
  cells.key        = copy_to(exec.space, cell);
  cells.vertex_key = copy_to(exec.space, key);
}

// Messages between those that have a vertex and its keeper.
struct AtVertices {
  Messages         messages;
  std::vector<int> place, sender; // of what comes: which vertex of this keeper it is for, and who sent it
  int              own;           // vertices of this keeper
  AtVertices(MPI_Comm comm, const Cells &cells) : messages(comm, counts_of(cells))
  {
    int rank;
    MPI_Comm_rank(comm, &rank);
    const int first = cells.first[(size_t)rank];
    own   = cells.first[(size_t)rank + 1] - first;
    place = messages.send(cells.number);
    for (int &p : place) p -= first;
    for (size_t r = 0; r + 1 < messages.from_begins.size(); ++r)
      sender.insert(sender.end(), (size_t)messages.from_counts[r], (int)r);
  }
  // What the keeper has of each vertex goes to all that have it.
  std::vector<int> answer(const std::vector<int> &table) const
  {
    std::vector<int> list;
    for (int p : place) list.push_back(table[(size_t)p]);
    return messages.answer(list);
  }

private:
  static std::vector<int> counts_of(const Cells &cells)
  {
    std::vector<int> counts(cells.first.size() - 1);
    for (int v : cells.number) ++counts[(size_t)keeper_of(cells.first, v)];
    return counts;
  }
};

} // namespace

Cells kept_cells(const Exec &exec, const Tree &tree, int k, const Keepers &keepers, int &leaves)
{
  long long of_all[2] = {};       // leaves, hanging vertices
  int       levels[2] = {127, 0}; // the coarsest and minus the finest one
  Cells     cells     = std::move(make_cells(exec, tree, k, 1, [&](Cells &c) {
    std::vector<Leaf> list = leaves_of(c);
    of_all[0]              = (long long)list.size();
    for (const Leaf &l : list) levels[0] = std::min(levels[0], l.level), levels[1] = std::min(levels[1], -l.level);
    with_dim(c.dim, [&](auto d) { add_near_leaves<d.value>(keepers, list); });
    set_leaves(exec, list, c);
  }).front());
  const std::vector<unsigned char> hangs = listed(cells.vertex_hangs);
  const std::vector<Key>           cell = listed(cells.key);
  for (size_t v = 0; v < hangs.size(); ++v) of_all[1] += hangs[v] && keepers.of(cell[v]) == keepers.rank;
  MPI_Allreduce(MPI_IN_PLACE, of_all, 2, MPI_LONG_LONG, MPI_SUM, keepers.comm);
  MPI_Allreduce(MPI_IN_PLACE, levels, 2, MPI_INT, MPI_MIN, keepers.comm);
  leaves         = (int)of_all[0];
  cells.hanging  = (int)of_all[1];
  cells.coarsest = levels[0];
  cells.finest   = -levels[1];
  return cells;
}

Cells gathered_cells(const Exec &exec, const Tree &tree, int k, const Keepers &keepers)
{
  return std::move(make_cells(exec, tree, k, 1, [&](Cells &c) {
    std::vector<Leaf> list = leaves_of(c);
    std::vector<Key>  start;
    std::vector<int>  level;
    const int         n = (int)list.size();
    std::vector<int>  counts((size_t)keepers.size), first((size_t)keepers.size + 1);
    MPI_Allgather(&n, 1, MPI_INT, counts.data(), 1, MPI_INT, keepers.comm);
    std::partial_sum(counts.begin(), counts.end(), first.begin() + 1);
    for (const Leaf &l : list) {
      start.push_back(l.start);
      level.push_back(l.level);
    }
    std::vector<Key> starts((size_t)first.back());
    std::vector<int> levels((size_t)first.back());
    MPI_Allgatherv(start.data(), n, MPI_UNSIGNED_LONG_LONG, starts.data(), counts.data(), first.data(),
                   MPI_UNSIGNED_LONG_LONG, keepers.comm);
    MPI_Allgatherv(level.data(), n, MPI_INT, levels.data(), counts.data(), first.data(), MPI_INT, keepers.comm);
    list.clear();
    for (size_t l = 0; l < starts.size(); ++l) list.push_back({starts[l], levels[l]});
    set_leaves(exec, list, c);
  }).front());
}

LocalLeaves local_leaves(const Exec &exec, const Keepers &keepers, const Cells &kept, int points, int n,
                         const std::vector<Key> &key)
{
  const int        dim = kept.dim;
  const Key        none = (Key)1 << (dim * depth(dim));
  LocalLeaves      local;
  std::vector<int> which; // nodes in leaves
  std::vector<Key> keys;
  for (int p = 0; p < (int)key.size(); ++p)
    if ((p < points || p >= n) && key[(size_t)p] != none) {
      which.push_back(p);
      keys.push_back(key[(size_t)p]);
    }
  const std::vector<int>       level = ask_levels(keepers, kept, keys);
  std::vector<Key>             start;
  std::vector<signed char>     levels;
  std::unordered_map<Key, int> of_ghosts;
  local.leaf.assign(key.size(), -1);
  for (size_t p = 0; p < which.size(); ++p) {
    if (level[p] < 0) continue;
    const int shift = dim * (depth(dim) - level[p]);
    const Key first = keys[p] >> shift << shift;
    int       l     = (int)start.size();
    if (which[p] < points) {
      if (l && start.back() == first) --l;
      else local.begin.push_back(which[p]);
      local.own = l + 1;
    } else {
      const auto own = std::lower_bound(start.begin(), start.begin() + local.own, first);
      l = own != start.begin() + local.own && *own == first ? (int)(own - start.begin())
                                                            : of_ghosts.emplace(first, l).first->second;
    }
    local.leaf[(size_t)which[p]] = l;
    if (l < (int)start.size()) continue;
    start.push_back(first);
    levels.push_back((signed char)level[p]);
  }
  local.begin.resize(start.size() + 1, points);
  const CornersOfLeaves      corners = ask_corners(keepers, kept, start);
  std::vector<unsigned char> hangs(corners.hangs.begin(), corners.hangs.end());
  Cells                     &cells = local.cells;
  cells.dim      = dim;
  cells.n        = (int)start.size();
  cells.hanging  = kept.hanging;
  cells.coarsest = kept.coarsest;
  cells.finest   = kept.finest;
  cells.start    = copy_to(exec.space, start);
  cells.level    = copy_to(exec.space, levels);
  cells.hangs    = copy_to(exec.space, hangs);
  set_vertices(exec, corners, cells);
  return local;
}

void number_local_vertices(const Exec &exec, const Keepers &keepers, Cells &cells,
                           const std::vector<unsigned char> &used)
{
  const std::vector<Key> cell = listed(cells.key), key = listed(cells.vertex_key);
  std::vector<int>       counts((size_t)keepers.size), flags(used.begin(), used.end());
  std::vector<Key>       both;
  for (size_t v = 0; v < cell.size(); ++v) { // in the order of the keepers
    ++counts[(size_t)keepers.of(cell[v])];
    both.push_back(cell[v]);
    both.push_back(key[v]);
  }
  const Messages messages(keepers.comm, counts);
  both  = messages.send(both, 2);
  flags = messages.send(flags);
  std::vector<Vertex> list;
  for (size_t v = 0; v < flags.size(); ++v)
    if (flags[v]) list.push_back({both[2 * v], both[2 * v + 1]});
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  const int n = (int)list.size();
  cells.first.assign((size_t)keepers.size + 1, 0);
  MPI_Allgather(&n, 1, MPI_INT, cells.first.data() + 1, 1, MPI_INT, keepers.comm);
  std::partial_sum(cells.first.begin(), cells.first.end(), cells.first.begin());
  std::vector<int> number;
  for (size_t v = 0; v < flags.size(); ++v) {
    const Vertex of{both[2 * v], both[2 * v + 1]};
    const auto   at = std::lower_bound(list.begin(), list.end(), of);
    number.push_back(at != list.end() && *at == of ? cells.first[(size_t)keepers.rank] + (int)(at - list.begin())
                                                   : -1);
  }
  number = messages.answer(number);
  std::vector<int>    place(number.size(), -1), vertex = listed(cells.vertex);
  std::vector<Key>    remaining;
  std::vector<double> y;
  cells.number.clear();
  for (size_t v = 0; v < number.size(); ++v) {
    if (number[v] < 0) continue;
    place[v] = (int)cells.number.size();
    cells.number.push_back(number[v]);
    remaining.push_back(cell[v]);
    with_dim(cells.dim, [&](auto d) {
      const Corner<d.value> x = deinterleave<d.value>(key[v]);
      y.insert(y.end(), x.x, x.x + d.value);
    });
  }
  for (int &v : vertex) v = v < 0 ? -1 : place[(size_t)v];
  cells.vertices   = (int)cells.number.size();
  cells.vertex     = copy_to(exec.space, vertex);
  cells.key        = copy_to(exec.space, remaining);
  cells.y          = copy_to(exec.space, y);
  cells.vertex_key = Buffer<Key>();
}

void join_at_vertices(MPI_Comm comm, const Cells &cells, std::vector<int> &v)
{
  const AtVertices       at(comm, cells);
  const std::vector<int> got = at.messages.send(v);
  std::vector<int>       table((size_t)at.own);
  std::vector<char>      known((size_t)at.own);
  for (size_t p = 0; p < got.size(); ++p) {
    int &of = table[(size_t)at.place[p]];
    of      = !known[(size_t)at.place[p]] ? got[p] : std::max(of, got[p]);
    known[(size_t)at.place[p]] = 1;
  }
  v = at.answer(table);
}

VertexOwners vertex_owners(MPI_Comm comm, const Cells &cells, const std::vector<int> &bid)
{
  int rank;
  MPI_Comm_rank(comm, &rank);
  const AtVertices       at(comm, cells);
  const std::vector<int> bids = at.messages.send(bid);
  std::vector<int>       largest((size_t)at.own, -1), owner((size_t)at.own), index((size_t)at.own);
  for (size_t p = 0; p < bids.size(); ++p) { // process by process: the first one of equal ones has it
    const size_t v = (size_t)at.place[p];
    if (bids[p] <= largest[v]) continue;
    largest[v] = bids[p];
    owner[v]   = at.sender[p];
  }
  VertexOwners     owners;
  std::vector<int> mine;
  owners.owner = at.answer(owner);
  for (int o : owners.owner) mine.push_back(o == rank ? owners.own++ : -1);
  const std::vector<int> given = at.messages.send(mine);
  for (size_t p = 0; p < given.size(); ++p)
    if (given[p] >= 0) index[(size_t)at.place[p]] = given[p];
  owners.index = at.answer(index);
  return owners;
}

void gather_vertices(const Exec &exec, MPI_Comm comm, Cells &cells)
{
  const int        dim = cells.dim, size = (int)cells.first.size() - 1;
  const AtVertices at(comm, cells);
  std::vector<Key> cell = at.messages.send(listed(cells.key));
  std::vector<Key> own((size_t)at.own * (size_t)(dim + 1)), all((size_t)cells.first.back() * (size_t)(dim + 1));
  std::vector<Key> x; // coordinates are integers
  for (double v : listed(cells.y)) x.push_back((Key)v);
  x = at.messages.send(x, dim);
  for (size_t p = 0; p < at.place.size(); ++p) {
    const size_t to = (size_t)at.place[p] * (size_t)(dim + 1);
    own[to] = cell[p];
    std::copy_n(x.begin() + (ptrdiff_t)(p * (size_t)dim), dim, own.begin() + (ptrdiff_t)to + 1);
  }
  std::vector<int> counts((size_t)size), first((size_t)size);
  for (size_t r = 0; r < counts.size(); ++r) {
    counts[r] = (cells.first[r + 1] - cells.first[r]) * (dim + 1);
    first[r]  = cells.first[r] * (dim + 1);
  }
  MPI_Allgatherv(own.data(), (int)own.size(), MPI_UNSIGNED_LONG_LONG, all.data(), counts.data(), first.data(),
                 MPI_UNSIGNED_LONG_LONG, comm);
  std::vector<Key>    key;
  std::vector<double> y;
  for (size_t v = 0; v < all.size(); v += (size_t)dim + 1) {
    key.push_back(all[v]);
    for (size_t q = 1; q <= (size_t)dim; ++q) y.push_back((double)all[v + q]);
  }
  std::vector<int> vertex = listed(cells.vertex);
  for (int &v : vertex) v = v < 0 ? -1 : cells.number[(size_t)v];
  cells.vertices = cells.first.back();
  cells.vertex   = copy_to(exec.space, vertex);
  cells.key      = copy_to(exec.space, key);
  cells.y        = copy_to(exec.space, y);
  cells.number.clear();
  cells.first.clear();
}

} // namespace tessera::tree
