// The correction by constants on loose parts.
#include "exec/sort.hpp"
#include "rrb/multigrid/components_kernels.hpp"
#include <algorithm>
#include <cmath>

namespace tessera::rrb {

namespace {

struct KeyKernel {
  LabelPlace at;
  const int *label;
  ptrdiff_t  sx, sy;
  Box        box;
  int        q, first; // of the list
  Key       *keys;
  int       *nodes;
  HD void    operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * sx + Y * sy;
    const int       i = first + (Y - box.y0) * (box.x1 - box.x0) + X - box.x0;
    keys[i]           = (Key)label[at(q, p)];
    nodes[i]          = node_code(q, p);
  }
};

struct ValueKernel { // 0 without a component
  const double *sum, *inverse;
  double       *value;
  HD void       operator()(int i, int) const { value[i] = i ? sum[i - 1] * inverse[i] : 0; }
};

template <class T> struct ConstantsKernel {
  const double *value;
  const int    *label;
  T            *v;
  ptrdiff_t     sx, sy;
  bool          add;
  HD void       operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * sx + Y * sy;
    v[p]              = (T)value[label[p]] + (add ? v[p] : 0);
  }
};

} // namespace

View<int> Components::labels(const Level &level)
{
  View<int> v = level.layout.view(label_.data());
  v.q[0]      = place(level.layout, label_.data());
  v.q[3]      = v.q[0] + level.layout.elements(1);
  return v;
}

// What the sums on the device go through for labels up to count, in an order that no number of threads changes.
void Components::list(const Level &level, int count)
{
  const Exec         exec{Space::cuda};
  const Box          o = level.grid.owned(quarter_o), c = level.grid.owned(quarter_c);
  const int          n = (int)(o.size() + c.size());
  const View<double> v = level.layout.view((double *)nullptr);
  Buffer<Key>        keys(Extent{(size_t)n, exec.space});
  Buffer<int>        nodes(Extent{(size_t)n, exec.space}), starts;
  auto               at = [&](int q, const Box &box, int first) {
    return part(
      box, KeyKernel{label_place(level.layout), label_.data(), v.sx, v.sy, box, q, first, keys.data(), nodes.data()});
  };
  forall_parts(exec, at(quarter_o, o, 0), at(quarter_c, c, (int)o.size()));
  sort_keys(exec, n, bits_of((Key)count), keys, nodes);
  bucket_starts(exec, n, keys.data(), count, Key(1), starts);
  nodes_ = std::move(nodes);
  starts_.resize((size_t)count + 1);
  device::copy_to_host(starts_.data(), starts.data(), starts.bytes());
  if (device::failed()) std::fill(starts_.begin(), starts_.end(), 0);
  std::vector<int> first(starts_.begin(), starts_.end() - 1), size((size_t)count), pieces;
  for (size_t l = 0; l < size.size(); ++l) size[l] = starts_[l + 1] - starts_[l];
  rounds_.assign(1, 0);
  for (bool more = true; more;) {
    more = false;
    int made = rounds_.back();
    for (size_t l = 0; l < size.size(); ++l) {
      const int parts = std::max(1, (size[l] + piece - 1) / piece), begin = made;
      for (int i = 0; i < parts; ++i, ++made) pieces.insert(pieces.end(), {first[l] + i, first[l] + size[l], parts});
      first[l] = begin;
      size[l]  = parts;
      more     = more || parts > 1;
    }
    rounds_.push_back(made);
  }
  pieces_.resize({pieces.size(), Space::cuda});
  device::copy_from_host(pieces_.data(), pieces.data(), pieces_.bytes());
  partial_.resize({(size_t)rounds_.back(), Space::cuda});
  inverse_device_.resize({(size_t)count + 1, Space::cuda});
  value_.resize({(size_t)count + 1, Space::cuda});
  mine_.assign((size_t)count, 0);
  device::synchronize(); // the list's original ends here
}

void Components::drop_lists()
{
  for (Buffer<int> *b : {&label_, &nodes_, &pieces_}) b->resize(0);
  for (Buffer<double> *b : {&partial_, &inverse_device_, &value_}) b->resize(0);
  rounds_.clear();
  starts_.clear();
  mine_.clear();
}

// Nodes of each component on this process
std::vector<double> Components::sizes(const Level &level, int count)
{
  std::vector<double> n((size_t)count + 1, 0);
  const LabelPlace    at = label_place(level.layout);
  if (listed_)
    for (size_t l = 1; l < n.size(); ++l) n[l] = starts_[l] - starts_[l - 1];
  else nodes(level, [&](int q, ptrdiff_t p) { n[(size_t)label_.data()[at(q, p)]] += 1; });
  return n;
}

// The diagonal coarse operator, with what components are tied to each other by counted against them.
void Components::invert(const Level &level, const SchurView<double> &a)
{
  std::vector<double> row    = sums(level, count_, RowTerm{a, label_place(level.layout), label_.data(), true}),
                      centre = sums(level, count_, DiagonalTerm{a});
  for (std::vector<double> *s : {&row, &centre})
    MPI_Allreduce(MPI_IN_PLACE, s->data(), count_ + 1, MPI_DOUBLE, MPI_SUM, level.grid.comm);
  inverse_.assign((size_t)count_ + 1, 0);
  // one without any tie is singular
  for (size_t l = 1; l < inverse_.size(); ++l)
    inverse_[l] = row[l] > tuning::singular_pivot * centre[l] ? 1 / row[l] : 0;
  if (!listed_) return;
  device::copy_from_host(inverse_device_.data(), inverse_.data(), inverse_device_.bytes());
  device::synchronize();
}

template <class T> void Components::project_on_device(const Level &level, const View<T> &r, const View<T> &v, bool add)
{
  const Exec exec{Space::cuda};
  double    *sum = sums_on_device(ValueTerm<T>{r});
  if (level.grid.processes() > 1) {
    device::copy_to_host(mine_.data(), sum, (size_t)count_ * sizeof(double));
    MPI_Allreduce(MPI_IN_PLACE, mine_.data(), count_, MPI_DOUBLE, MPI_SUM, level.grid.comm);
    device::copy_from_host(sum, mine_.data(), (size_t)count_ * sizeof(double));
  }
  forall(exec, {0, count_ + 1, 0, 1}, ValueKernel{sum, inverse_device_.data(), value_.data()});
  const View<int> label = labels(level);
  for (int q : {0, 3})
    forall(exec, level.grid.owned(q), ConstantsKernel<T>{value_.data(), label.q[q], v.q[q], v.sx, v.sy, add});
}

template <class T> void Components::project(const Level &level, const View<T> &r, const View<T> &v, bool add)
{
  if (listed_) return project_on_device(level, r, v, add);
  const LabelPlace    at = label_place(level.layout);
  std::vector<double> mine((size_t)count_ + 1, 0), value(mine.size());
  nodes(level, [&](int q, ptrdiff_t p) { mine[(size_t)label_.data()[at(q, p)]] += (double)r.q[q][p]; });
  if (level.grid.processes() > 1)
    MPI_Allreduce(mine.data(), value.data(), count_ + 1, MPI_DOUBLE, MPI_SUM, level.grid.comm);
  else value = mine;
  for (int i = 0; i <= count_; ++i) value[(size_t)i] *= inverse_[(size_t)i];
  nodes(level,
        [&](int q, ptrdiff_t p) { v.q[q][p] = (T)value[(size_t)label_.data()[at(q, p)]] + (add ? v.q[q][p] : 0); });
}

template void Components::project<double>(const Level &, const View<double> &, const View<double> &, bool);
template void Components::project<float>(const Level &, const View<float> &, const View<float> &, bool);

} // namespace tessera::rrb
