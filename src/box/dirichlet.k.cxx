#include "box/dirichlet.hpp"
#include "box/nodes.hpp"
#include "exec/several.hpp"
#include <algorithm>

namespace tessera {

namespace {

template <class T> void put(Space space, const std::vector<T> &from, Buffer<T> &to)
{
  to.resize(Extent{from.size(), space});
  copy(from.data(), Space::host, to.data(), space, from.size());
}

template <class T> std::vector<T> get(const Buffer<T> &from)
{
  std::vector<T> to(from.size());
  copy(from.data(), from.space(), to.data(), Space::host, from.size());
  return to;
}

struct Numbering { // of the own nodes
  int            x0, y0;
  ptrdiff_t      nx;
  HD int         x(ptrdiff_t node) const { return x0 + (int)(node % nx); }
  HD int         y(ptrdiff_t node) const { return y0 + (int)(node / nx); }
};
Numbering numbering(const Box &own)
{
  return {own.x0, own.y0, own.x1 - own.x0};
}

// The lists of this file are short beside the grid (the rim of a domain): one element a thread.
template <class Kernel> void each(const Exec &exec, size_t n, const Kernel &kernel)
{
  forall(exec, {0, (int)n, 0, 1}, kernel);
}

// 32 B a coupling, 32 B per node
template <class V> struct SubtractKernel {
  Numbering        at;
  const ptrdiff_t *nodes, *start, *dirichlet;
  const double    *value;
  const V         *field;
  View<V>          b;
  HD void          operator()(int i, int) const
  {
    V &to = b.at(at.x(nodes[i]), at.y(nodes[i]));
    V  s  = to;
    for (ptrdiff_t e = start[i]; e < start[i + 1]; ++e) s -= value[e] * field[dirichlet[e]];
    to = s;
  }
};

struct ColumnKernel {
  Numbering        at;
  const ptrdiff_t *start, *node;
  const double    *value;
  View<double>     b;
  double          *sum;
  HD void          operator()(int i, int) const
  {
    double s = 0;
    for (ptrdiff_t e = start[i]; e < start[i + 1]; ++e) s -= value[e] * b.at(at.x(node[e]), at.y(node[e]));
    sum[i] = s;
  }
};

struct PutKernel {
  const ptrdiff_t *place;
  const double    *v;
  double          *field;
  HD void          operator()(int i, int) const { field[place[i]] = v[i]; }
};

struct SolveKernel {
  const ptrdiff_t *rows;
  const double    *inverse, *r;
  double          *x;
  HD void          operator()(int i, int) const { x[rows[i]] += r[rows[i]] * inverse[i]; }
};

struct BlackKernel {
  Numbering        at;
  const ptrdiff_t *rows;
  const double    *inverse;
  View<double>     r, x;
  HD void          operator()(int i, int) const
  {
    const int xd = at.x(rows[i]), yd = at.y(rows[i]);
    if ((xd + yd) % 2) return;
    x.at(xd, yd) = r.at(xd, yd) * inverse[i];
    r.at(xd, yd) = 0;
  }
};

// Couplings that are sorted by a key: the keys, where the couplings of each begin, their other ends and values.
struct Lists {
  std::vector<ptrdiff_t> keys, start, others;
  std::vector<double>    value;
  template <class Entry> Lists(const std::vector<Entry> &entries, ptrdiff_t Entry::*key, ptrdiff_t Entry::*other)
  {
    for (const Entry &e : entries) {
      if (keys.empty() || keys.back() != e.*key) {
        keys.push_back(e.*key);
        start.push_back((ptrdiff_t)value.size());
      }
      others.push_back(e.*other);
      value.push_back(e.value);
    }
    start.push_back((ptrdiff_t)value.size());
  }
};

} // namespace

DirichletCouplings dirichlet_couplings(Space space, std::vector<DirichletEntry> entries,
                                       const std::vector<ptrdiff_t> &rows, const std::vector<double> &inverse)
{
  DirichletCouplings d;
  std::stable_sort(entries.begin(), entries.end(),
                   [](const DirichletEntry &a, const DirichletEntry &b) { return a.node < b.node; });
  const Lists lists(entries, &DirichletEntry::node, &DirichletEntry::dirichlet);
  put(space, lists.keys, d.nodes);
  put(space, lists.start, d.start);
  put(space, lists.others, d.dirichlet);
  put(space, lists.value, d.value);
  put(space, rows, d.rows);
  put(space, inverse, d.inverse);
  d.any = !entries.empty();
  device::synchronize(space); // the lists end here
  return d;
}

template <class V>
void dirichlet_subtract(const Exec &exec, const Box &own, const DirichletCouplings &d, V *field, const View<V> &b)
{
  each(exec, d.nodes.size(),
       SubtractKernel<V>{numbering(own), d.nodes.data(), d.start.data(), d.dirichlet.data(), d.value.data(), field, b});
}

template void dirichlet_subtract(const Exec &, const Box &, const DirichletCouplings &, double *, const View<double> &);
template void dirichlet_subtract(const Exec &, const Box &, const DirichletCouplings &, Several<double, 4> *,
                                 const View<Several<double, 4>> &);
template void dirichlet_subtract(const Exec &, const Box &, const DirichletCouplings &, Several<double, 8> *,
                                 const View<Several<double, 8>> &);

// The couplings sorted by Dirichlet node; those of a node from south to north, in each line from east to west.
static void by_columns(Space space, const Box &own, DirichletCouplings &d)
{
  struct Entry {
    ptrdiff_t dirichlet, line, node;
    double    value;
  };
  const std::vector<ptrdiff_t> nodes = get(d.nodes), start = get(d.start), dirichlet = get(d.dirichlet);
  const std::vector<double>    value = get(d.value);
  std::vector<Entry>           entries;
  for (size_t i = 0; i < nodes.size(); ++i)
    for (ptrdiff_t e = start[i]; e < start[i + 1]; ++e)
      entries.push_back({dirichlet[(size_t)e], nodes[i] / (own.x1 - own.x0), nodes[i], value[(size_t)e]});
  std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) {
    return a.dirichlet != b.dirichlet ? a.dirichlet < b.dirichlet
         : a.line != b.line           ? a.line < b.line
                                      : a.node > b.node;
  });
  const Lists lists(entries, &Entry::dirichlet, &Entry::node);
  put(space, lists.keys, d.columns);
  put(space, lists.start, d.column_start);
  put(space, lists.others, d.column_node);
  put(space, lists.value, d.column_value);
  d.column_sum.resize(Extent{lists.keys.size(), space});
  device::synchronize(space);
}

void dirichlet_transpose(const Exec &exec, const Box &own, DirichletCouplings &d, Buffer<double> &field,
                         const View<double> &b)
{
  if (d.column_value.size() != d.value.size()) by_columns(exec.space, own, d);
  each(exec, d.columns.size(),
       ColumnKernel{numbering(own), d.column_start.data(), d.column_node.data(), d.column_value.data(), b,
                    d.column_sum.data()});
  field.zero();
  each(exec, d.columns.size(), PutKernel{d.columns.data(), d.column_sum.data(), field.data()});
}

void dirichlet_solve(const Exec &exec, const DirichletCouplings &d, const double *r, double *x)
{
  each(exec, d.rows.size(), SolveKernel{d.rows.data(), d.inverse.data(), r, x});
}

void dirichlet_solve_black(const Exec &exec, const Box &own, const DirichletCouplings &d, const View<double> &r,
                           const View<double> &x)
{
  each(exec, d.rows.size(), BlackKernel{numbering(own), d.rows.data(), d.inverse.data(), r, x});
}

void dirichlet_add(const Exec &exec, const Box &own, const View<double> &x, const View<double> &y)
{
  for (int q = 0; q < 4; ++q) forall(exec, quarter_box(own, q), AddQuarter{x.q[q], y.q[q], x.sx, x.sy, y.sx, y.sy});
}

} // namespace tessera
