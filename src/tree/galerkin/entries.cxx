// The interpolations and operators of the grids as lists of entries on the host, for those who want to see them.
#include "tree/galerkin/entries.hpp"

namespace tessera::tree {

// The numbers of the nodes here, ghosts included; this process has the rows of [begin, end).
struct Numbering {
  int                    begin = 0, end = 0;
  std::vector<long long> node;
};

template <class V> static Buffer<V> on_host(const Buffer<V> &from)
{
  Buffer<V> to(from.size());
  copy(from, to);
  device::synchronize(from.space());
  return to;
}

// The nodes of grid l by their numbers among those of all processes: process after process where the grid is divided
// by them, else in equal parts, and on the mesh those of the matrix. Collective.
template <class T> static Numbering number_nodes(Hierarchy<T> &h, MPI_Comm comm, size_t l)
{
  const Level<T> &level = h.levels()[l];
  const int       n = level.n;
  Buffer<double>  numbers((size_t)(n + level.ghosts)), on_device;
  Numbering       of;
  int             size, rank;
  long long       mine = n, first = 0;
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &rank);
  if (level.distributed) {
    MPI_Scan(&mine, &first, 1, MPI_LONG_LONG, MPI_SUM, comm);
    first -= mine;
  }
  const Buffer<int> node = on_host(h.order());
  for (int p = 0; p < n; ++p) numbers.data()[p] = (double)(first + (l ? p : node.data()[p]));
  if (level.distributed) {
    on_device.resize(Extent{numbers.size(), h.exec().space});
    copy(numbers, on_device);
    const_cast<Exchange &>(level.exchange).forward(on_device.data(), 1); // its messages have memory of their own
    numbers = on_host(on_device);
  }
  of.begin = level.distributed ? 0 : (int)(mine * rank / size);
  of.end   = level.distributed ? n : (int)(mine * (rank + 1) / size);
  for (size_t p = 0; p < numbers.size(); ++p) of.node.push_back((long long)numbers.data()[p]);
  return of;
}

template <class T> Entries interpolation(Hierarchy<T> &h, MPI_Comm comm, int bs, size_t l)
{
  const Numbering   rows = number_nodes(h, comm, l), columns = number_nodes(h, comm, l + 1);
  const Level<T>   &level = h.levels()[l];
  const Buffer<int> begin = on_host(level.transfer.begin), vertex = on_host(level.transfer.vertex);
  const Buffer<int> i     = on_host(level.i);
  const Buffer<T>   weight = on_host(level.transfer.weight), a = on_host(level.a);
  const int         corners = level.transfer.corners;
  Entries           e;
  e.rows    = (rows.end - rows.begin) * bs;
  e.columns = (columns.end - columns.begin) * bs;
  for (int leaf = 0; leaf < level.transfer.cells; ++leaf)
    for (int p = begin.data()[leaf]; p < begin.data()[leaf + 1]; ++p) {
      if (p < rows.begin || p >= rows.end) continue;
      for (int k = 0; k < bs; ++k) {
        bool coupled = false;
        for (int q = i.data()[p]; q < i.data()[p + 1]; ++q)
          for (int m = 0; m < bs; ++m) coupled = coupled || a.data()[((ptrdiff_t)q * bs + k) * bs + m] != 0;
        for (int c = 0; c < corners && coupled; ++c) {
          const int v = vertex.data()[leaf * corners + c];
          const T   w = weight.data()[(ptrdiff_t)p * corners + c];
          if (v >= 0 && w != 0) e.add(rows.node[(size_t)p] * bs + k, columns.node[(size_t)v] * bs + k, (double)w);
        }
      }
    }
  return e;
}

template <class T> Entries grid_operator(Hierarchy<T> &h, MPI_Comm comm, int bs, size_t l)
{
  const Numbering   rows = number_nodes(h, comm, l);
  const Level<T>   &level = h.levels()[l];
  const Buffer<int> i = on_host(level.i), j = on_host(level.j);
  const Buffer<T>   a = on_host(level.a);
  Entries           e;
  e.rows = e.columns = (rows.end - rows.begin) * bs;
  for (int p = rows.begin; p < rows.end; ++p)
    for (int q = i.data()[p]; q < i.data()[p + 1]; ++q)
      for (int k = 0; k < bs; ++k)
        for (int m = 0; m < bs; ++m)
          e.add(rows.node[(size_t)p] * bs + k, rows.node[(size_t)j.data()[q]] * bs + m,
                (double)a.data()[((ptrdiff_t)q * bs + k) * bs + m] / h.units());
  return e;
}

#define INSTANTIATE(T) \
  template Entries interpolation(Hierarchy<T> &, MPI_Comm, int, size_t); \
  template Entries grid_operator(Hierarchy<T> &, MPI_Comm, int, size_t);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
