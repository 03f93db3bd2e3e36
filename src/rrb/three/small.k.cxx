#include "rrb/three/small.hpp"
#include "exec/each.hpp"
#include "exec/shared.hpp"
#include "exec/tile.hpp"
#include "rrb/three/transfer.hpp"

namespace tessera::rrb::three {

template <class T> struct SmallGrid {
  box::Layout3                          layout;
  int                                   n[3], step[3];
  box::Symmetric3<T, box::box_forward>  s;
  Restriction<T>                        restriction;  // to the next grid
  Prolongation<T>                       prolongation; // from it
};

namespace {

// The matrix of more takes longer to make than it spares (docs/dev/measurements-gpu.md, small problems).
constexpr double small_nodes = 1000;     // of the first of the small grids
constexpr int    threads     = 256;      // of a block
constexpr size_t max_bytes   = 40 << 10; // of steps and grids, in a block's memory; else no grid is small

// Vectors of the small grids, of which each block has its own: b, x, r, z, w of one grid after the other.
template <class T> class SmallVectors {
public:
  // at: where those of the first grid begin
  SmallVectors(Hierarchy<T> &h, int first, T *at)
  {
    for (int k = first; k <= h.deepest(); ++k) {
      const size_t n = h.level(k).layout.size();
      of_.push_back({at, at + n, at + 2 * n, at + 3 * n, at + 4 * n});
      at += 5 * n;
    }
  }
  const SmootherVectors<T> &operator[](int k) const { return of_[(size_t)k]; }
  // how many numbers
  static size_t size(Hierarchy<T> &h, int first)
  {
    size_t n = 0;
    for (int k = first; k <= h.deepest(); ++k) n += 5 * h.level(k).layout.size();
    return n;
  }

private:
  std::vector<SmootherVectors<T>> of_;
};

template <class T> HD void move(T *&vector, ptrdiff_t shift)
{
  if (vector) vector += shift;
}

// x = M b, whose nodes have `places`; 2^log_threads threads a row.
template <class T> struct MultiplyDense {
  const T         *matrix;
  const ptrdiff_t *places;
  const T         *b;
  T               *x;
  int              n, log_threads;
  HD void          operator()(int item) const
  {
    const Shared at(item, log_threads);
    T            sum = 0;
    at.each<4>(0, n, [&](int q) { sum += matrix[at.node * n + q] * b[places[q]]; });
    sum = sum_shared(sum, log_threads);
    if (!at.thread) x[places[at.node]] = sum;
  }
};

// f(parity as a constant, place of the row's node, t, j, k) at nodes (2 t + parity, j, k), even ones first.
template <class Block, class T, class F> HD void each_node(Block &block, const SmallGrid<T> &g, const F &f)
{
  const int ny = g.n[1], rows = ny * g.n[2], even = (g.n[0] + 1) / 2, odd = g.n[0] / 2;
  block.each(0, rows * g.n[0], 0, 1, [&](int p, int) {
    const bool behind = p >= rows * even;
    const int  q = behind ? p - rows * even : p, width = behind ? odd : even, row = q / width, t = q - row * width,
              k = row / ny, j = row - k * ny;
    const ptrdiff_t o = g.layout.row(j, k) + t;
    if (behind) f(std::integral_constant<int, 1>(), o, t, j, k);
    else f(std::integral_constant<int, 0>(), o, t, j, k);
  });
}

// Column j of the matrix by block j: the cycle of the unit vector that is 1 at node j. Steps, grids and vectors are in
// the block's own memory: from the device's each step would wait for them. Addresses there are not made from a kernel's
// arguments, which compilers take for addresses of the device's memory.
template <class T> struct CycleColumn {
  const SmallGrid<T> *grids;
  const SmallStep<T> *steps;
  int                 levels, count;
  MultiplyDense<T>    last;     // on the last grid, but for the vectors
  T                  *recorded; // the steps have vectors that begin here; they are not there, but in a block's memory
  int                 size;     // of all of them
  ptrdiff_t           b, x, last_b, last_x; // where these begin among them
  const ptrdiff_t    *places;
  T                  *matrix;
  int                 n;

  size_t bytes() const
  {
    return (size_t)levels * sizeof(SmallGrid<T>) + (size_t)count * sizeof(SmallStep<T>) + (size_t)size * sizeof(T);
  }
  // end(place, (A v) there)
  template <class Block, class End>
  HD void each_row(Block &block, const SmallGrid<T> &g, const T *v, const End &end) const
  {
    each_node(block, g, [&](auto parity, ptrdiff_t o, int, int, int) {
      constexpr int P = decltype(parity)::value;
      end(o + P * (ptrdiff_t)g.s.half, g.s.template product<P>(v, o));
    });
  }
  // end(place)
  template <class Block, class End> HD void each_place(Block &block, const SmallGrid<T> &g, const End &end) const
  {
    each_node(block, g, [&](auto parity, ptrdiff_t o, int, int, int) {
      end(o + decltype(parity)::value * (ptrdiff_t)g.s.half);
    });
  }
  // STEPS: bit d where direction d is coarsened
  template <int STEPS, class Block> HD void restrict(Block &block, const SmallGrid<T> &g, const int n[3]) const
  {
    const Restrict<T, 1 + (STEPS & 1), 1 + (STEPS >> 1 & 1), 1 + (STEPS >> 2)> kernel{g.restriction};
    block.each(0, n[0] * n[1] * n[2], 0, 1, [&](int p, int) {
      const int row = p / n[0], k = row / n[1];
      kernel.template nodes<1>(p - row * n[0], row - k * n[1], k);
    });
  }
  template <int STRIDE, class Block> HD void prolong(Block &block, const SmallGrid<T> &g) const
  {
    const Prolong<T, STRIDE> kernel{g.prolongation};
    each_node(block, g, [&](auto parity, ptrdiff_t o, int t, int j, int k) {
      kernel.template at<decltype(parity)::value, 1>(t, o, j, k);
    });
  }
  template <class Block> HD void solve(Block &block, T *memory) const
  {
    MultiplyDense<T> kernel = last;
    kernel.b = memory + last_b, kernel.x = memory + last_x;
    block.each(0, last.n << last.log_threads, 0, 1, [&](int item, int) { kernel(item); });
  }
  template <class Block> HD void take(Block &block, const SmallStep<T> &step, const SmallGrid<T> &g, T *memory) const
  {
    const auto &of = step.of;
    switch (step.work) {
    case Work::begin:
      return each_place(block, g, [&](ptrdiff_t e) { of.w[e] = of.c * of.inverse[e] * of.from[e]; });
    case Work::first: return each_row(block, g, of.x, multigrid::First<T, T>{of.inverse, of.from, of.r, of.w, of.c});
    case Work::next: return each_row(block, g, of.z, of);
    case Work::add:
      return each_place(block, g, [&](ptrdiff_t e) { of.x[e] = (of.add ? of.x[e] : 0) + of.before * of.z[e]; });
    case Work::residual:
      return each_row(block, g, of.z, [&](ptrdiff_t e, T product) { of.r[e] = of.from[e] - product; });
    case Work::restrict: {
      const int which = (g.step[0] == 2) | (g.step[1] == 2) << 1 | (g.step[2] == 2) << 2;
      return box::unroll3<0, 8>([&](auto c) {
        if (decltype(c)::value == which) this->template restrict<decltype(c)::value>(block, g, (&g + 1)->n);
      });
    }
    case Work::prolong: return g.step[0] == 2 ? prolong<2>(block, g) : prolong<1>(block, g);
    case Work::solve: return solve(block, memory);
    }
  }
  template <class Block> HD void operator()(Block &block) const
  {
    const int           column = block.tile.y0;
    SmallGrid<T> *const g      = (SmallGrid<T> *)block.shared;
    SmallStep<T> *const s      = (SmallStep<T> *)(g + levels);
    T *const            memory = (T *)(s + count);
    const ptrdiff_t     shift  = memory - recorded;
    block.each(0, levels, 0, 1, [&](int k, int) {
      g[k] = grids[k];
      move(g[k].restriction.r, shift), move(g[k].restriction.b, shift), move(g[k].restriction.first, shift);
      move(g[k].prolongation.c, shift), move(g[k].prolongation.x, shift);
    });
    block.each(0, count, 0, 1, [&](int k, int) {
      s[k] = steps[k];
      auto &of = s[k].of;
      move(of.from, shift), move(of.r, shift), move(of.z, shift), move(of.w, shift), move(of.x, shift);
    });
    block.each(0, size, 0, 1, [&](int k, int) { memory[k] = 0; });
    block.sync();
    block.each(0, 1, 0, 1, [&](int, int) { memory[b + places[column]] = 1; });
    block.sync();
    for (int k = 0; k < count; ++k) {
      take(block, s[k], g[s[k].level], memory);
      block.sync();
    }
    block.each(0, n, 0, 1, [&](int row, int) { matrix[row * n + column] = memory[x + places[row]]; });
  }
};

// In place of an Exec: loops over a list become steps.
template <class T> struct Record {
  std::vector<SmallStep<T>> *steps;
  int                        level;
  void put(Work work, const typename SmallStep<T>::Numbers &of) const { steps->push_back({work, level, of}); }
};
template <class T> void for_each(const Record<T> &to, int, const multigrid::FirstZero<T, T> &k)
{
  to.put(Work::begin, {k.inverse, nullptr, k.r, nullptr, k.z, nullptr, 0, k.c, 0, 0, false, false, false});
}
template <class T> void for_each(const Record<T> &to, int, const multigrid::Axpy<T, T> &k)
{
  to.put(Work::add, {nullptr, k.z, nullptr, nullptr, nullptr, k.x, 0, 0, k.c, 0, k.add, false, false});
}

// As multigrid/chebyshev.hpp has a level, and multigrid/cycle.hpp levels: what they do becomes steps.
template <class T> struct RecordedLevel {
  Level<T> &l;
  Record<T> exec;
  Buffer<T> &inverse;
  int  unknowns() const { return (int)l.layout.size(); }
  void halo(T *) { }
  void each_row(T *x, const multigrid::First<T, T> &k)
  {
    exec.put(Work::first, {k.inverse, nullptr, k.b, k.r, k.z, x, 0, k.c, 0, 0, false, false, false});
  }
  template <class Add, class Last, class Keep>
  void each_row(T *, const multigrid::Next<T, T, Add, Last, Keep> &k)
  {
    exec.put(Work::next, {k.inverse, k.z, k.from, k.r, k.w, k.x, k.m, k.c, k.before, k.now, k.add, k.last, k.keep});
  }
};
template <class T> struct RecordedLevels {
  Hierarchy<T>              &h;
  const SmallVectors<T>     &vectors;
  std::vector<SmallStep<T>> &steps;
  int                        begin;
  bool                       begun = false;
  int  last() const { return h.deepest(); }
  int  visits(Cycle kind, int l) const { return h.visits(kind, l); }
  void put(Work work, int l, const typename SmallStep<T>::Numbers &of = {}) { steps.push_back({work, l - begin, of}); }
  void smooth(int k, bool from_zero)
  {
    Level<T>        &l = h.level(k);
    RecordedLevel<T> level{l, {&steps, k - begin}, l.inverse};
    l.smoother.template apply<T>(level, vectors[k - begin], from_zero, begun);
  }
  void down(int k, multigrid::Visit visit)
  {
    const SmootherVectors<T> &v = vectors[k - begin];
    smooth(k, visit.first);
    put(Work::residual, k, {nullptr, v.x, v.b, v.r, nullptr, nullptr, 0, 0, 0, 0, false, false, false});
    put(Work::restrict, k);
    begun = true;
  }
  void up(int k, multigrid::Visit visit)
  {
    put(Work::prolong, k);
    if (visit.last) smooth(k, false);
  }
  void solve() { put(Work::solve, last()); }
  bool accelerated(Cycle, int) const { return false; }
  void accelerate(int) { }
};

} // namespace

template <class T> SmallGrids<T>::SmallGrids()  = default;
template <class T> SmallGrids<T>::~SmallGrids() = default;

// The first level from which on all are small; 0: there is none.
template <class T> int SmallGrids<T>::choose(Hierarchy<T> &h)
{
  int          k       = h.deepest() + 1;
  const size_t scratch = device::block_scratch(h.level(0).exec.space);
  if (chunk_of(h.level(0).exec) > 1) return 0;
  for (; k > 1; --k) {
    const Level<T> &l = h.level(k - 1);
    if (!l.shared || l.star || l.lines.any || l.nodes() > small_nodes || !l.halo.empty()) break;
    if (SmallVectors<T>::size(h, k - 1) * sizeof(T) + max_bytes > scratch) break;
    if (!l.incoming.empty() && h.level(k - 2).shared) break; // of a periodic direction
  }
  return k <= h.deepest() ? k : 0;
}

template <class T> void SmallGrids<T>::record(Hierarchy<T> &h, Cycle cycle)
{
  std::vector<SmallGrid<T>> grids;
  std::vector<SmallStep<T>> steps;
  std::vector<ptrdiff_t>    places;
  first_ = choose(h);
  if (!first_) return;
  recorded_.resize(SmallVectors<T>::size(h, first_));
  const SmallVectors<T> vectors(h, first_, recorded_.data());
  const Level<T>       &first = h.level(first_);
  for (int k = first_; k <= h.deepest(); ++k) {
    Level<T>    &l = h.level(k);
    SmallGrid<T> g{};
    g.layout = l.layout;
    g.s      = view<box::box_forward>(l);
    for (int d = 0; d < 3; ++d) g.n[d] = l.n[d], g.step[d] = l.step[d];
    if (k < h.deepest()) {
      const SmootherVectors<T> &v = vectors[k - first_], &next = vectors[k + 1 - first_];
      g.restriction  = restriction(l, h.level(k + 1), v.r);
      g.prolongation = prolongation(l, h.level(k + 1), v.x);
      g.restriction.b = next.b, g.prolongation.c = next.x;
      if (g.restriction.first) g.restriction.first = next.z;
    }
    grids.push_back(g);
  }
  RecordedLevels<T> levels{h, vectors, steps, first_};
  multigrid::cycle(levels, cycle, first_);
  if (grids.size() * sizeof(SmallGrid<T>) + steps.size() * sizeof(SmallStep<T>) > max_bytes) {
    first_ = 0;
    return;
  }
  for (int k = 0; k < first.n[2]; ++k)
    for (int j = 0; j < first.n[1]; ++j)
      for (int i = 0; i < first.n[0]; ++i) places.push_back(first.layout.at(i, j, k));
  const Space space = first.exec.space;
  grids_  = copy_to(space, grids);
  steps_  = copy_to(space, steps);
  places_ = copy_to(space, places);
  matrix_.resize(Extent{places.size() * places.size(), space});
  device::synchronize(space);
}

template <class T> void SmallGrids<T>::make_matrix(Hierarchy<T> &h, const LastGrid<T> &solver)
{
  const SmallVectors<T>     vectors(h, first_, recorded_.data());
  const SmootherVectors<T> &first = vectors[0], &last = vectors[h.deepest() - first_];
  const Exec               &exec  = h.level(first_).exec;
  T *const                  begin = recorded_.data();
  const MultiplyDense<T>    solve{
    solver.inverse().data(), solver.places().data(), nullptr, nullptr, (int)solver.places().size(), shared_on(exec, 5)};
  const CycleColumn<T> column{grids_.data(),
                              steps_.data(),
                              (int)grids_.size(),
                              (int)steps_.size(),
                              solve,
                              begin,
                              (int)recorded_.size(),
                              first.b - begin,
                              first.x - begin,
                              last.b - begin,
                              last.x - begin,
                              places_.data(),
                              matrix_.data(),
                              (int)places_.size()};
  if constexpr (device::built) forall_blocks(exec, column.n, threads, column.bytes(), column);
}

template <class T>
void SmallGrids<T>::setup(Hierarchy<T> &h, const LastGrid<T> &solver, Cycle cycle, uint64_t version, uint64_t values)
{
  if (version != version_) record(h, cycle);
  if (first_ && (version != version_ || values != values_)) make_matrix(h, solver);
  version_ = version, values_ = values;
}

template <class T> void SmallGrids<T>::solve(Level<T> &l) const
{
  const int n = (int)places_.size(), log_threads = shared_on(l.exec, 5);
  for_each(l.exec, n << log_threads,
           MultiplyDense<T>{matrix_.data(), places_.data(), l.b.data(), l.x.data(), n, log_threads});
}

template <class T> size_t SmallGrids<T>::bytes() const
{
  return grids_.bytes() + steps_.bytes() + places_.bytes() + matrix_.bytes() + recorded_.size() * sizeof(T);
}

template class SmallGrids<double>;
template class SmallGrids<float>;

} // namespace tessera::rrb::three
