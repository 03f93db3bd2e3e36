// Components of nodes, and pockets: a few nodes that only weak couplings tie to all others, between thin barriers that
// cross. What is constant there has hardly any energy, and where a pocket is smaller than a cell of the next grid no
// function is like that. So a block of the smoother solves it, unless that has functions of parts (part_functions.hpp).
#include "tree/smoother/pockets.hpp"
#include "tree/cells/pairs.hpp"
#include "exec/each.hpp"
#include "exec/gather.hpp"
#include "exec/sets.hpp"
#include <algorithm>
#include <map>
#include <set>

namespace tessera::tree {

namespace {

// The least own node before p that is tied to it, or p.
template <class T> struct LeastTied {
  const int *i, *j;
  const T   *a, *inverse;
  T          weak;
  HD int     operator()(int p) const
  {
    int least = p;
    for (int e = i[p]; e < i[p + 1]; ++e)
      if (j[e] < least && tied(a[e], inverse[p], inverse[j[e]], weak)) least = j[e];
    return least;
  }
};
// Nodes that are not weakly coupled belong together; with ghosts.
template <class T> struct TieNodes {
  const int *i, *j;
  const T   *a, *inverse;
  T          weak;
  int        n;
  int       *parent;
  HD void    operator()(int p) const
  {
    for (int e = i[p]; e < i[p + 1]; ++e) {
      const int q = j[e];
      if ((q < p || q >= n) && parent_of(parent, q) != parent_of(parent, p) && tied(a[e], inverse[p], inverse[q], weak))
        unite(parent, p, q);
    }
  }
};
struct CountMembers {
  int    *parent, *size;
  HD void operator()(int p) const { count_at(size + root_of(parent, p)); }
};
struct CountBetween {
  const int *size;
  int        least;
  double     most;
  HD double  operator()(int p) const { return size[p] >= least && size[p] <= most; }
};
struct SizeOfNode {
  int    *parent, *size, *of;
  HD void operator()(int p) const { of[p] = size[root_of(parent, p)]; }
};
struct MarkPockets {
  const int     *size;
  unsigned char *mark;
  HD void        operator()(int p) const { mark[p] = size[p] > 1 && size[p] <= max_strong_block; }
};

// What is told of components at the border to another process: the number among all processes of the own root of a
// ghost's component, or -1, and of the root that the ghost's owner has.
struct NumberOfRoot {
  int    *parent;
  double  before;
  double *number;
  HD void operator()(int p) const { number[p] = before + root_of(parent, p); }
};
struct RootsOfGhost {
  int          *parent, n;
  double        before;
  const double *number;
  double       *pair;
  HD void       operator()(int g) const
  {
    const int root = root_of(parent, n + g);
    pair[2 * g]     = root < n ? before + root : -1;
    pair[2 * g + 1] = number[n + g];
  }
};

// Own roots of components that have nodes of several processes; of each the least number of a root on any process, and
// how many nodes all processes have.
struct SharedRoots {
  double              before = 0; // nodes of the processes before this one
  std::vector<int>    root, mine; // mine: own nodes of each
  std::vector<double> label, size;
};
template <class T>
SharedRoots join_processes(Level<T> &level, MPI_Comm comm, Buffer<int> &parent, const Buffer<int> &size)
{
  const Exec    &exec = level.exec;
  const int      n = level.n, ghosts = level.ghosts;
  SharedRoots    shared;
  Buffer<double> number = make_unset<double>(exec, (size_t)(n + ghosts)),
                 pair   = make_unset<double>(exec, 2 * (size_t)ghosts);
  shared.before = sum_before(comm, (double)n); // all nodes may be more than an int counts
  for_each(exec, n, NumberOfRoot{parent.data(), shared.before, number.data()});
  level.exchange.forward(number.data(), 1);
  for_each(exec, ghosts, RootsOfGhost{parent.data(), n, shared.before, number.data(), pair.data()});
  const std::vector<double>           known = listed(pair);
  std::set<std::pair<double, double>> ties;
  std::vector<double>                 pairs;
  for (size_t g = 0; g < known.size(); g += 2)
    if (known[g] >= 0 && ties.insert({known[g], known[g + 1]}).second)
      pairs.insert(pairs.end(), {known[g], known[g + 1]});
  std::map<double, double> above;
  const auto               find = [&](double r) {
    double &of = above.emplace(r, r).first->second;
    while (of != above[of]) of = above[of];
    return of;
  };
  const std::vector<double> joined = gather_from_all(comm, pairs).all;
  for (size_t k = 0; k < joined.size(); k += 2) {
    const double a = find(joined[k]), b = find(joined[k + 1]);
    above[std::max(a, b)] = std::min(a, b);
  }
  for (auto own = above.lower_bound(shared.before); own != above.end() && own->first < shared.before + n; ++own)
    shared.root.push_back((int)(own->first - shared.before));
  const Buffer<int> list = copy_to(exec.space, shared.root);
  Buffer<int>       sizes = make_unset<int>(exec, list.size());
  for_each(exec, (int)list.size(), GatherValues<int>{list.data(), size.data(), sizes.data()});
  shared.mine = listed(sizes);
  std::vector<double> message; // labels and sizes
  for (size_t k = 0; k < shared.mine.size(); ++k) {
    shared.label.push_back(find(shared.before + shared.root[k]));
    message.insert(message.end(), {shared.label[k], (double)shared.mine[k]});
  }
  std::map<double, double>  sum;
  const std::vector<double> gathered = gather_from_all(comm, message).all;
  for (size_t k = 0; k < gathered.size(); k += 2) sum[gathered[k]] += gathered[k + 1];
  for (const double label : shared.label) shared.size.push_back(sum[label]);
  return shared;
}

// The root of each node, ghosts included, and how many own nodes each root has.
template <class T>
void find_roots(const Level<T> &level, const T *inverse, T weak, Buffer<int> &parent, Buffer<int> &size)
{
  const Exec &exec = level.exec;
  const int   n = level.n, all = n + level.ghosts;
  parent = make_unset<int>(exec, (size_t)all);
  size   = make_unset<int>(exec, (size_t)all);
  size.zero();
  begin_sets(exec, all, n, LeastTied<T>{level.i.data(), level.j.data(), level.a.data(), inverse, weak}, parent.data());
  for_each(exec, n, TieNodes<T>{level.i.data(), level.j.data(), level.a.data(), inverse, weak, n, parent.data()});
  for_each(exec, n, CountMembers{parent.data(), size.data()});
}

} // namespace

template <class T> Buffer<int> component_sizes(MPI_Comm comm, Level<T> &level, const T *inverse, T weak, int limit)
{
  const Exec &exec = level.exec;
  const int   all = level.n + level.ghosts;
  Buffer<int> parent, of = make_unset<int>(exec, (size_t)all), size;
  find_roots(level, inverse, weak, parent, size);
  if (level.distributed) {
    const SharedRoots shared = join_processes(level, comm, parent, size);
    std::vector<int>  sizes;
    for (const double s : shared.size) sizes.push_back((int)std::min(s, (double)limit + 1));
    const Buffer<int> root = copy_to(exec.space, shared.root), joined = copy_to(exec.space, sizes);
    for_each(exec, (int)root.size(), ScatterValues<int>{root.data(), joined.data(), size.data()});
  }
  for_each(exec, all, SizeOfNode{parent.data(), size.data(), of.data()});
  if (level.distributed) level.exchange.forward(of.data(), 1);
  return of;
}

template <class T>
double count_components(MPI_Comm comm, Level<T> &level, const T *inverse, T weak, int least, double most)
{
  Buffer<int>    parent, size;
  Buffer<double> sum(Extent{1, level.exec.space});
  find_roots(level, inverse, weak, parent, size);
  sum_each(level.exec, level.n, CountBetween{size.data(), least, most}, sum.data());
  double found = fetch(sum, 0);
  if (!level.distributed) return found;
  const SharedRoots shared = join_processes(level, comm, parent, size);
  for (size_t k = 0; k < shared.root.size(); ++k) {
    found -= shared.mine[k] >= least && shared.mine[k] <= most;
    found += shared.label[k] == shared.before + shared.root[k] && shared.size[k] >= least && shared.size[k] <= most;
  }
  MPI_Allreduce(MPI_IN_PLACE, &found, 1, MPI_DOUBLE, MPI_SUM, comm);
  return found;
}

// Is each node in a pocket? inverse: of the diagonal, with ghosts.
template <class T> Buffer<unsigned char> NumericSetup<T>::find_pockets(Level<T> &level, const T *inverse)
{
  const Buffer<int>     size = component_sizes(comm_, level, inverse, (T)weakly_tied, max_strong_block);
  Buffer<unsigned char> mark = make_unset<unsigned char>(size.size());
  for_each(exec_, (int)size.size(), MarkPockets{size.data(), mark.data()});
  return mark;
}

#define INSTANTIATE(T) \
  template Buffer<int>           component_sizes(MPI_Comm, Level<T> &, const T *, T, int); \
  template double                count_components(MPI_Comm, Level<T> &, const T *, T, int, double); \
  template Buffer<unsigned char> NumericSetup<T>::find_pockets(Level<T> &, const T *);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
