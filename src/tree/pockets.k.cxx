// Components of nodes, and pockets: a few nodes that only weak couplings tie to all others, between thin barriers that
// cross. What is constant there has hardly any energy, and where a pocket is smaller than a cell of the next grid no
// function is like that. So a block of the smoother solves it, unless that has functions of parts (part_functions.hpp).
#include "tree/pockets.hpp"
#include "tree/pairs.hpp"
#include "exec/each.hpp"
#include "exec/gather.hpp"
#include "exec/sets.hpp"
#include <algorithm>
#include <climits>
#include <map>
#include <set>

namespace tessera::tree {

namespace {

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
  HD void operator()(int p) const { add_to(size + root_of(parent, p), 1); }
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

// The number of nodes of each component becomes that of all processes, of those that have ghosts; of larger ones than
// `limit` some number above. n: own nodes, which come first, also as roots. Returns a label for each root: the least
// number of a root that the component has on any process.
template <class T>
std::vector<double> count_over_processes(Level<T> &level, MPI_Comm comm, const std::vector<int> &root, int limit,
                                         std::vector<int> &size)
{
  const int           n = level.n, all = n + level.ghosts;
  const double        before = sum_before(comm, (double)n); // all nodes may be more than an int counts
  std::vector<double> number((size_t)all), pairs;           // of the root; roots that are of the same component
  for (int p = 0; p < n; ++p) number[(size_t)p] = before + root[(size_t)p];
  Buffer<double> numbers = copy_to(level.exec.space, number);
  level.exchange.forward(numbers.data(), 1);
  const std::vector<double>           known = listed(numbers);
  std::set<std::pair<double, double>> ties;
  for (int g = n; g < all; ++g)
    if (root[(size_t)g] < n && ties.insert({before + root[(size_t)g], known[(size_t)g]}).second)
      pairs.insert(pairs.end(), {before + root[(size_t)g], known[(size_t)g]});
  std::map<double, double> parent;
  const auto               find = [&](double r) {
    double &above = parent.emplace(r, r).first->second;
    while (above != parent[above]) above = parent[above];
    return above;
  };
  const std::vector<double> joined = gather_from_all(comm, pairs).all;
  for (size_t k = 0; k < joined.size(); k += 2) {
    const double a = find(joined[k]), b = find(joined[k + 1]);
    parent[std::max(a, b)] = std::min(a, b);
  }
  std::vector<double> label((size_t)all), mine; // labels and sizes
  for (int p = 0; p < n; ++p) {
    label[(size_t)p] = before + p;
    if (root[(size_t)p] != p || !parent.count(before + p)) continue;
    label[(size_t)p] = find(before + p);
    mine.insert(mine.end(), {label[(size_t)p], (double)size[(size_t)p]});
  }
  std::map<double, double>  sum;
  const std::vector<double> gathered = gather_from_all(comm, mine).all;
  for (size_t k = 0; k < gathered.size(); k += 2) sum[gathered[k]] += gathered[k + 1];
  for (int p = 0; p < n; ++p)
    if (sum.count(label[(size_t)p])) size[(size_t)p] = (int)std::min(sum[label[(size_t)p]], (double)limit + 1);
  return label;
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
  for_each(exec, all, Enumerate{parent.data()});
  for_each(exec, n, TieNodes<T>{level.i.data(), level.j.data(), level.a.data(), inverse, weak, n, parent.data()});
  for_each(exec, n, CountMembers{parent.data(), size.data()});
}
// On the host; the roots of lesser ones are known.
std::vector<int> listed_roots(const Buffer<int> &parent)
{
  std::vector<int> root = listed(parent);
  for (int &r : root) r = root[(size_t)r];
  return root;
}

} // namespace

template <class T> Buffer<int> component_sizes(MPI_Comm comm, Level<T> &level, const T *inverse, T weak, int limit)
{
  const Exec &exec = level.exec;
  const int   all = level.n + level.ghosts;
  Buffer<int> parent, of = make_unset<int>(exec, (size_t)all), size;
  find_roots(level, inverse, weak, parent, size);
  if (level.distributed) {
    std::vector<int> sizes = listed(size);
    count_over_processes(level, comm, listed_roots(parent), limit, sizes);
    size = copy_to(exec.space, sizes);
  }
  for_each(exec, all, SizeOfNode{parent.data(), size.data(), of.data()});
  if (level.distributed) level.exchange.forward(of.data(), 1);
  return of;
}

template <class T>
Components components(MPI_Comm comm, Level<T> &level, const T *inverse, T weak, int least, double most)
{
  Buffer<int>    parent, size;
  Buffer<double> found(Extent{1, level.exec.space});
  find_roots(level, inverse, weak, parent, size);
  sum_each(level.exec, level.n, CountBetween{size.data(), least, most}, found.data());
  if (!level.distributed && !(fetch(found, 0) > 0)) return {};
  const std::vector<int> root = listed_roots(parent);
  std::vector<int>       sizes = listed(size);
  std::vector<double>    label(root.begin(), root.end());
  if (level.distributed) label = count_over_processes(level, comm, root, INT_MAX - 1, sizes);
  Components of;
  for (int p = 0; p < level.n; ++p) {
    of.size.push_back(sizes[(size_t)root[(size_t)p]]);
    of.label.push_back(label[(size_t)root[(size_t)p]]);
  }
  return of;
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
  template Components            components(MPI_Comm, Level<T> &, const T *, T, int, double); \
  template Buffer<unsigned char> NumericSetup<T>::find_pockets(Level<T> &, const T *);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
