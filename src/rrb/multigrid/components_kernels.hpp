// What the search for loose parts and the sums over them share: S1's graph, node by node.
#pragma once
#include "exec/each.hpp"
#include "box/tuning.hpp"
#include "rrb/rrb.hpp"

namespace tessera::rrb {

// Does the coupling w tie its ends together, whose diagonal entries are d and e? Symmetric in them; not of numbers that
// are not finite.
HD inline bool strong(double w, double d, double e)
{
  return fabs(w) > tuning::loose_coupling * d && fabs(w) > tuning::loose_coupling * e;
}

HD inline double diagonal(const SchurView<double> &a, int q, ptrdiff_t p) { return q ? a.cc[p] : a.co[p]; }

// Calls f(quarter, place, coupling) for every neighbour of a node.
template <class F> HD void for_neighbours(const SchurView<double> &a, int q, ptrdiff_t p, const F &f)
{
  const ptrdiff_t l = a.sx, r = a.sy;
  if (q == 0) {
    f(3, p - l - r, a.e[0][p]), f(3, p - r, a.e[1][p]), f(3, p - l, a.e[2][p]), f(3, p, a.e[3][p]);
    f(0, p + l, a.fo[0][p]), f(0, p - l, a.fo[0][p - l]), f(0, p + r, a.fo[1][p]), f(0, p - r, a.fo[1][p - r]);
  } else {
    f(0, p, a.e[3][p]), f(0, p + l, a.e[2][p + l]), f(0, p + r, a.e[1][p + r]), f(0, p + l + r, a.e[0][p + l + r]);
    f(3, p + l, a.fc[0][p]), f(3, p - l, a.fc[0][p - l]), f(3, p + r, a.fc[1][p]), f(3, p - r, a.fc[1][p - r]);
  }
}

// The same for the couplings that the node stores: each coupling has one of its ends.
template <class F> HD void for_couplings(const SchurView<double> &a, int q, ptrdiff_t p, const F &f)
{
  const ptrdiff_t l = a.sx, r = a.sy;
  if (q == 0) {
    f(3, p - l - r, a.e[0][p]), f(3, p - r, a.e[1][p]), f(3, p - l, a.e[2][p]), f(3, p, a.e[3][p]);
    f(0, p + l, a.fo[0][p]), f(0, p + r, a.fo[1][p]);
  } else f(3, p + l, a.fc[0][p]), f(3, p + r, a.fc[1][p]);
}

// Labels lie in two planes, of o and c nodes: the element that belongs to a node.
struct LabelPlace {
  ptrdiff_t    start, plane;
  HD ptrdiff_t operator()(int q, ptrdiff_t p) const { return p + start + (q ? plane : 0); }
};

inline LabelPlace label_place(const Layout &layout)
{
  return {place(layout, (char *)nullptr) - (char *)nullptr, (ptrdiff_t)layout.elements(1)};
}

// Nodes in lists: their place times two, odd at c.
HD inline int       node_code(int q, ptrdiff_t p) { return (int)(2 * p) + (q == 3); }
HD inline int       code_quarter(int node) { return node & 1 ? 3 : 0; }
HD inline ptrdiff_t code_place(int node) { return node >> 1; }

// Terms of sums over the nodes of a component.
struct DiagonalTerm {
  SchurView<double> a;
  HD double         operator()(int node) const { return diagonal(a, code_quarter(node), code_place(node)); }
};
// The node's row within its component; what ties it to other ones counts against it where `others`.
struct RowTerm {
  SchurView<double> a;
  LabelPlace        at;
  const int        *label;
  bool              others;
  HD double         operator()(int node) const
  {
    const int       q = code_quarter(node);
    const ptrdiff_t p = code_place(node);
    const int       own = label[at(q, p)];
    double          s = diagonal(a, q, p);
    for_neighbours(a, q, p, [&](int r, ptrdiff_t t, double w) {
      const int other = label[at(r, t)];
      if (other == own) s += w;
      else if (others && other) s += fabs(w);
    });
    return s;
  }
};
// What ties it to other components that are marked.
struct AmongTerm {
  SchurView<double> a;
  LabelPlace        at;
  const int        *label, *marked;
  HD double         operator()(int node) const
  {
    const int       q = code_quarter(node);
    const ptrdiff_t p = code_place(node);
    const int       own = label[at(q, p)];
    double          s = 0;
    for_neighbours(a, q, p, [&](int r, ptrdiff_t t, double w) {
      const int other = label[at(r, t)];
      if (other != own && marked[other]) s += fabs(w);
    });
    return s;
  }
};
template <class T> struct ValueTerm {
  View<T>   r;
  HD double operator()(int node) const { return (double)r.q[code_quarter(node)][code_place(node)]; }
};

constexpr int piece = 64; // terms of a sum that one thread adds

// Sums of a round over pieces (first, end, stride) of a list: of nodes, then of what the round before gave.
template <class Term> struct NodeSums {
  const int *pieces, *nodes;
  Term       term;
  double    *sum;
  HD void    operator()(int i) const
  {
    const int *p = pieces + 3 * (ptrdiff_t)i;
    double     s = 0;
    for (int k = p[0]; k < p[1]; k += p[2]) s += term(nodes[k]);
    sum[i] = s;
  }
};
struct PartSums {
  const int    *pieces;
  const double *parts;
  double       *sum;
  HD void       operator()(int i) const
  {
    const int *p = pieces + 3 * (ptrdiff_t)i;
    double     s = 0;
    for (int k = p[0]; k < p[1]; k += p[2]) s += parts[k];
    sum[i] = s;
  }
};

// A sum for each of the components in the lists, on the device.
template <class Term> double *Components::sums_on_device(const Term &term)
{
  const Exec exec{Space::cuda};
  double    *sum = partial_.data();
  for (size_t i = 0; i + 1 < rounds_.size(); ++i) {
    const int  begin = rounds_[i], n = rounds_[i + 1] - begin;
    const int *pieces = pieces_.data() + 3 * (ptrdiff_t)begin;
    sum               = partial_.data() + begin;
    if (!i) for_each(exec, n, NodeSums<Term>{pieces, nodes_.data(), term, sum});
    else for_each(exec, n, PartSums{pieces, partial_.data(), sum});
  }
  return sum;
}

// sum[l] of component l in 1 .. count, over the nodes of this process; sum[0] means nothing
template <class Term> std::vector<double> Components::sums(const Level &level, int count, const Term &term)
{
  std::vector<double> sum((size_t)count + 1, 0);
  if (listed_) {
    device::copy_to_host(sum.data() + 1, sums_on_device(term), (size_t)count * sizeof(double));
    return sum;
  }
  const LabelPlace at = label_place(level.layout);
  nodes(level, [&](int q, ptrdiff_t p) { sum[(size_t)label_.data()[at(q, p)]] += term(node_code(q, p)); });
  return sum;
}

// f(quarter, place) for the nodes of this process
template <class F> void Components::nodes(const Level &level, const F &f) const
{
  const View<double> v = level.layout.view((double *)nullptr, quarter_c); // places count from the plane's start
  for (int q : {0, 3}) {
    const Box b = level.grid.owned(q);
    for (int Y = b.y0; Y < b.y1; ++Y)
      for (int X = b.x0; X < b.x1; ++X) f(q, X * v.sx + Y * v.sy);
  }
}

} // namespace tessera::rrb
