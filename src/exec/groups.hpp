// Loops over a list of which the host takes several items at a time.
#pragma once
#include "exec/each.hpp"

namespace tessera {

#if !defined(TESSERA_HAVE_CUDA) || defined(__CUDACC__)

// On a device kernel(p) for p < n, on the host group(q) for q < groups: what it does must be the same.
template <class Kernel, class Group>
void for_each_or_group(const Exec &exec, int n, const Kernel &kernel, int groups, const Group &group)
{
  if constexpr (device::built)
    if (exec.on_device()) return for_each_on_device(exec, n, kernel);
  for_each_on_host(exec, groups, group);
}

// The same for sums, of kernel(p) or of group(q): *sum lies where they run.
template <class Group> struct GroupSum {
  Group     group;
  HD double operator()(int, int q) const { return group.sum(q); }
};
template <class Kernel, class Group>
void sum_each_or_group(const Exec &exec, int n, const Kernel &kernel, int groups, const Group &group, double *sum)
{
  forall_sum(exec, part(Box{0, 1, 0, groups}, GroupSum<Group>{group}), part(list_box(n), ListSum<Kernel>{kernel, n}),
             sum, false);
}

#endif

} // namespace tessera
