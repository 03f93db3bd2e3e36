#include "box/grid3.hpp"
#include <algorithm>
#include <iterator>
#include <set>

namespace tessera::box {

namespace {

Box3 widened(const Box3 &own, int dimension, int by)
{
  Box3 b = own;
  for (int d = 0; d < dimension; ++d) b.lo[d] -= by, b.hi[d] += by;
  return b;
}

} // namespace

Layout3 layout_for(const Box3 &own, int dimension)
{
  const Box3 b = widened(own, dimension, ghosts);
  Layout3    l;
  l.t0   = floor_half(b.lo[0]);
  l.j0   = b.lo[1];
  l.k0   = b.lo[2];
  l.half = (floor_half(b.hi[0] - 1) - l.t0 + 1 + 7) / 8 * 8;
  l.mj   = b.hi[1] - b.lo[1];
  l.mk   = b.hi[2] - b.lo[2];
  l.sj   = 2 * (ptrdiff_t)l.half;
  l.sk   = l.sj * l.mj;
  return l;
}

Box3 wanted(const Grid3 &l, const Box3 &own, int dimension)
{
  if (own.empty()) return own; // it computes nothing; what it interpolates from is asked for below
  Box3 b = widened(own, dimension, ghosts);
  for (int d = 0; d < 3; ++d)
    if (!l.periodic[d]) b.lo[d] = std::max(b.lo[d], 0), b.hi[d] = std::min(b.hi[d], l.n[d]);
  return b;
}

namespace {

std::vector<Box3> wanted(const Grid3 &l, const std::vector<Box3> &boxes, int dimension)
{
  std::vector<Box3> all;
  for (const Box3 &b : boxes) all.push_back(wanted(l, b, dimension));
  return all;
}

struct Periods {
  int n[3]; // nodes of a periodic direction, else 0
  explicit Periods(const Grid3 &l)
  {
    for (int d = 0; d < 3; ++d) n[d] = l.periodic[d] ? l.n[d] : 0;
  }
};

} // namespace

void begin_grid(Grid3 &l, const Comm &comm, int dimension, const int n[3], const bool periodic[3],
                const std::vector<Box3> &boxes, Space space)
{
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  std::copy(n, n + 3, l.n);
  std::copy(periodic, periodic + 3, l.periodic);
  l.own = l.part = boxes[(size_t)rank];
  l.layout       = layout_for(l.own, dimension);
  l.shared       = boxes.size() == 1;
  l.halo.setup(comm, boxes, wanted(l, boxes, dimension), Periods(l).n, l.layout, space);
}

void distribute(Grid3 &c, const Grid3 &fine, const Comm &comm, int dimension, double redundant,
                std::vector<Box3> &boxes, Space space)
{
  const std::vector<Box3> have = boxes;
  const Periods           periods(c);
  int                     rank   = 0;
  bool                    narrow = false; // a box without nodes in some direction
  Box3                    whole;
  MPI_Comm_rank(comm, &rank);
  std::copy(c.n, c.n + 3, whole.hi);
  for (const Box3 &b : have) narrow = narrow || b.empty();
  c.shared = fine.shared || narrow || (double)whole.size() <= redundant;
  c.part   = fine.shared ? whole : have[(size_t)rank];
  c.own    = c.shared ? whole : c.part;
  c.layout = layout_for(c.own, dimension);
  if (c.shared) boxes = {whole};
  const std::vector<Box3> need = wanted(c, boxes, dimension);
  c.halo.setup(c.shared ? Comm(MPI_COMM_SELF) : comm, boxes, need, periods.n, c.layout, space);
  if (fine.shared) c.incoming.setup(MPI_COMM_SELF, boxes, need, periods.n, c.layout, space);
  else if (c.shared)
    c.incoming.setup(comm, have, std::vector<Box3>(have.size(), need[0]), periods.n, c.layout, space);
  else c.incoming.setup(comm, have, need, periods.n, c.layout, space);
}

void find_place(const std::vector<Box3> &boxes, const Box3 &own, int d, int &processes, int &place)
{
  std::set<int> begins; // of the processes' parts
  for (const Box3 &b : boxes)
    if (!b.empty()) begins.insert(b.lo[d]);
  processes = std::max(1, (int)begins.size());
  place     = (int)std::distance(begins.begin(), begins.lower_bound(own.lo[d]));
}

} // namespace tessera::box
