#include "petsc/recognise.hpp"
#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <unordered_map>

namespace tessera {

namespace {

// Neighbours of the rows. In a grid of 5 points all couplings are straight, and four nodes in a ring are a square of
// it. In one of 9 points a square is four nodes that are all coupled, and those across it have no more than the other
// two in common.
class Graph {
public:
  bool        make(const Pattern &p); // false: a row has more than eight neighbours
  int         rows() const { return (int)start_.size() - 1; }
  const int  *begin(int i) const { return column_.data() + start_[(size_t)i]; }
  const int  *end(int i) const { return column_.data() + start_[(size_t)i + 1]; }
  bool        coupled(int i, int j) const { return std::binary_search(begin(i), end(i), j); }
  bool        straight(const int *entry) const { return straight_[(size_t)(entry - column_.data())]; }
  bool        straight_between(int i, int j) const
  {
    const int *e = std::lower_bound(begin(i), end(i), j);
    return e != end(i) && *e == j && straight(e);
  }

private:
  struct Square {
    int node[4];
  };
  void              find_straight();
  char             &entry(std::vector<char> &of, int i, int j)
  {
    return of[(size_t)(std::lower_bound(begin(i), end(i), j) - column_.data())];
  }
  std::vector<int>  start_, column_;
  std::vector<char> straight_;
};

bool Graph::make(const Pattern &p)
{
  const int                n = p.rows();
  std::vector<std::vector<int>> to((size_t)n); // from both sides: a coupling may be in one of two rows alone
  for (int i = 0; i < n; ++i)
    for (int e = p.start[(size_t)i]; e < p.start[(size_t)i + 1]; ++e) {
      const int j = p.column[(size_t)e];
      if (i != j) to[(size_t)i].push_back(j), to[(size_t)j].push_back(i);
    }
  start_.assign(1, 0);
  for (auto &list : to) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    if (list.size() > 8) return false;
    column_.insert(column_.end(), list.begin(), list.end());
    start_.push_back((int)column_.size());
  }
  find_straight();
  return true;
}

void Graph::find_straight()
{
  std::vector<Square> squares;
  for (int i = 0; i < rows(); ++i)
    for (const int *a = begin(i); a < end(i); ++a)
      for (const int *b = a + 1; *a > i && b < end(i); ++b)
        for (const int *c = b + 1; coupled(*a, *b) && c < end(i); ++c)
          if (coupled(*a, *c) && coupled(*b, *c)) squares.push_back({{i, *a, *b, *c}});
  straight_.assign(column_.size(), squares.empty());
  if (squares.empty()) return;
  const auto others = [&](int i, int j) { // that are coupled with both: two for nodes across a square
    int n = 0;
    for (const int *k = begin(i); k < end(i); ++k) n += coupled(*k, j);
    return n;
  };
  for (const Square &s : squares) {
    const int(&v)[4] = s.node;
    for (int k = 1; k < 4; ++k) { // v[0] and v[k] across, and the other two
      const int a = k == 1 ? 2 : 1, b = k == 3 ? 2 : 3;
      if (others(v[0], v[k]) > 2 || others(v[a], v[b]) > 2) continue;
      for (int i : {v[0], v[k]})
        for (int j : {v[a], v[b]}) entry(straight_, i, j) = entry(straight_, j, i) = 1;
      break;
    }
  }
}

struct Point {
  int   x, y;
  Point operator+(const Point &o) const { return {x + o.x, y + o.y}; }
  Point operator-(const Point &o) const { return {x - o.x, y - o.y}; }
  bool  operator==(const Point &o) const { return x == o.x && y == o.y; }
};

// Places one part after the other: a first square, then squares beside those that are placed, on the side that is free.
class Placing {
public:
  explicit Placing(const Graph &graph) :
    g_(graph), at_((size_t)graph.rows(), Point{none, none}), listed_((size_t)graph.rows(), 0)
  {
  }
  bool part(int seed);              // all that hangs together with it
  bool finish(Placement &placement); // parts on one grid, below each other
  bool placed(int i) const { return at_[(size_t)i].x != none; }

private:
  static constexpr int none = INT_MAX;
  static uint64_t      key(const Point &p) { return (uint64_t)(uint32_t)p.x << 32 | (uint32_t)p.y; }
  bool                 taken(const Point &p) const { return taken_.count(key(p)); }
  bool                 put(int i, const Point &p);
  int                  opposite(int u, int e, int v) const; // of u in the ring u, e, t, v
  bool                 first_square(int seed);
  bool                 beside(int u);   // places neighbours of u where squares tell where
  bool                 onward(int u);   // one neighbour of u that is in no square, straight on if there is room
  const Graph                      &g_;
  std::vector<Point>                at_;
  std::vector<char>                 listed_; // in a part that has been begun
  std::unordered_map<uint64_t, int> taken_;  // of the part
  std::vector<int>                  members_, look_;
  std::vector<std::vector<int>>     parts_;
};

bool Placing::put(int i, const Point &p)
{
  if (placed(i)) return at_[(size_t)i] == p;
  if (!taken_.emplace(key(p), i).second) return false;
  at_[(size_t)i] = p;
  members_.push_back(i);
  look_.push_back(i);
  for (const int *j = g_.begin(i); j < g_.end(i); ++j)
    if (placed(*j)) {
      const Point d = at_[(size_t)*j] - p;
      if (std::abs(d.x) > 1 || std::abs(d.y) > 1) return false; // coupled, and no neighbours
      look_.push_back(*j);
    }
  return true;
}

int Placing::opposite(int u, int e, int v) const
{
  for (const int *t = g_.begin(e); t < g_.end(e); ++t)
    if (*t != u && *t != v && g_.straight(t) && g_.straight_between(*t, v) && !g_.straight_between(*t, u)) return *t;
  return -1;
}

bool Placing::first_square(int seed)
{
  std::vector<int>  list = {seed}; // what hangs together with it
  listed_[(size_t)seed] = 1;
  for (size_t k = 0; k < list.size(); ++k) {
    const int u = list[k];
    for (const int *e = g_.end(u); e-- > g_.begin(u);) // rows mostly count along x: the next one first
      for (const int *v = g_.begin(u); v < g_.end(u); ++v) {
        if (e == v || !g_.straight(e) || !g_.straight(v) || g_.straight_between(*e, *v) ||
            (*e != u + 1 && g_.coupled(u, u + 1)))
          continue;
        const int t = opposite(u, *e, *v);
        if (t >= 0) return put(u, {0, 0}) && put(*e, {1, 0}) && put(*v, {0, 1}) && put(t, {1, 1});
      }
    for (const int *e = g_.begin(u); e < g_.end(u); ++e)
      if (!listed_[(size_t)*e]) listed_[(size_t)*e] = 1, list.push_back(*e);
  }
  return put(seed, {0, 0});
}

bool Placing::beside(int u)
{
  const Point p = at_[(size_t)u];
  for (const int *e = g_.begin(u); e < g_.end(u); ++e) {
    if (!g_.straight(e) || !placed(*e)) continue;
    const Point d = at_[(size_t)*e] - p, side = {-d.y, d.x};
    if (d.x && d.y) return false;
    for (const int *v = g_.begin(u); v < g_.end(u); ++v) {
      if (v == e || !g_.straight(v) || placed(*v)) continue;
      const int t = opposite(u, *e, *v);
      if (t < 0) continue;
      if (placed(t)) {
        if (!put(*v, at_[(size_t)t] - d)) return false;
        continue;
      }
      const bool left = !taken(p + side) && !taken(p + d + side), right = !taken(p - side) && !taken(p + d - side);
      if (left == right) continue; // not yet known
      if (!put(*v, left ? p + side : p - side) || !put(t, (left ? p + side : p - side) + d)) return false;
    }
  }
  return true;
}

bool Placing::onward(int u)
{
  const Point p = at_[(size_t)u], ways[8] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}, {1, 1}, {-1, 1}, {-1, -1}, {1, -1}};
  for (const int *v = g_.begin(u); v < g_.end(u); ++v) {
    if (placed(*v)) continue;
    auto fits = [&](const Point &at) {
      if (taken(at)) return false;
      for (const int *j = g_.begin(*v); j < g_.end(*v); ++j)
        if (placed(*j) && (std::abs(at_[(size_t)*j].x - at.x) > 1 || std::abs(at_[(size_t)*j].y - at.y) > 1))
          return false;
      return true;
    };
    for (const int *e = g_.begin(u); e < g_.end(u); ++e) // a line goes on
      if (placed(*e) && fits(p + p - at_[(size_t)*e])) return put(*v, p + p - at_[(size_t)*e]);
    for (const Point &way : ways)
      if (fits(p + way)) return put(*v, p + way);
    return false;
  }
  return true;
}

bool Placing::part(int seed)
{
  taken_.clear();
  members_.clear();
  look_.clear();
  if (!first_square(seed)) return false;
  for (size_t next = 0;;) {
    while (!look_.empty()) {
      const int u = look_.back();
      look_.pop_back();
      if (!beside(u)) return false;
    }
    // what no square tells
    for (; look_.empty() && next < members_.size(); ++next) {
      const int u = members_[next];
      for (const int *v = g_.begin(u); look_.empty() && v < g_.end(u); ++v)
        if (!placed(*v) && !onward(u)) return false;
      if (!look_.empty()) break;
    }
    if (look_.empty()) break;
  }
  parts_.push_back(members_);
  return true;
}

bool Placing::finish(Placement &placement)
{
  struct Extent {
    Point low, high;
  };
  std::vector<Extent> extent;
  long                width = 1, height = 0;
  int                 alone = 0;
  for (const auto &part : parts_) {
    Extent b = {at_[(size_t)part[0]], at_[(size_t)part[0]]};
    for (int i : part) {
      const Point p = at_[(size_t)i];
      b = {{std::min(b.low.x, p.x), std::min(b.low.y, p.y)}, {std::max(b.high.x, p.x), std::max(b.high.y, p.y)}};
    }
    extent.push_back(b);
    if (part.size() == 1) {
      ++alone;
      continue;
    }
    width = std::max(width, (long)b.high.x - b.low.x + 1);
    height += b.high.y - b.low.y + 1;
  }
  // Rows without couplings take what is free.
  const long max_nodes = 4L * g_.rows() + 64, linked = g_.rows() - alone;
  if (!linked) width = g_.rows();
  height += std::max(0L, (alone - (width * height - linked) + width - 1) / width);
  if (width * height > max_nodes) return false; // parts of all shapes
  std::vector<char> used((size_t)(width * height), 0);
  placement.nx = (int)width;
  placement.ny = (int)height;
  placement.node.assign((size_t)g_.rows(), 0);
  long top = 0;
  for (size_t k = 0; k < parts_.size(); ++k) {
    if (parts_[k].size() == 1) continue;
    const Point low = extent[k].low;
    for (int i : parts_[k]) {
      const Point p = at_[(size_t)i] - low;
      used[(size_t)(placement.node[(size_t)i] = (int)(p.x + width * (top + p.y)))] = 1;
    }
    top += extent[k].high.y - low.y + 1;
  }
  size_t free = 0;
  for (const auto &part : parts_) {
    if (part.size() > 1) continue;
    while (used[free]) ++free;
    placement.node[(size_t)part[0]] = (int)free++;
  }
  return true;
}

} // namespace

bool place_on_grid(const Pattern &pattern, Placement &placement)
{
  Graph graph;
  if (!graph.make(pattern)) return false;
  Placing placing(graph);
  for (int i = 0; i < graph.rows(); ++i)
    if (!placing.placed(i) && !placing.part(i)) return false;
  return placing.finish(placement);
}

} // namespace tessera
