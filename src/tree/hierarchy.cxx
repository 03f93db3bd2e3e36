// What the parts of the hierarchy have in common: questions to all processes, and how much memory it takes.
#include "tree/hierarchy.hpp"

namespace tessera::tree {

double Context::total(double v) const
{
  double sum;
  MPI_Allreduce(&v, &sum, 1, MPI_DOUBLE, MPI_SUM, comm_);
  return sum;
}

// What a device that has failed counts is zero, so sizes of messages would differ: the setup ends, and all processes
// raise the error.
bool Context::lost() const
{
  int size = 1;
  MPI_Comm_size(comm_, &size);
  return size > 1 && exec_.space == Space::cuda && total(device::failed()) > 0;
}

template <class T> size_t Level<T>::bytes() const
{
  return i.bytes() + j.bytes() + a.bytes() + this->inverse.bytes() + work.bytes() + transfer.bytes() + product.bytes() +
         exchange.bytes() + blocks.bytes() +
         this->entries.bytes() + start.bytes() + place.bytes() + sweep.bytes() + krylov.bytes() + transpose.bytes();
}

template <class T> size_t Hierarchy<T>::bytes() const
{
  size_t sum = numeric_.bytes() + coarsest_.bytes() + perm_.bytes() + where_.bytes() + bodies_.of.bytes() +
               diagonal_.bytes() + constrained_.bytes() + one_sided_.bytes();
  for (const Level<T> &l : levels_) sum += l.bytes();
  for (const Values &v : other_) sum += v.a.bytes() + v.inverse.bytes();
  return sum;
}

#define INSTANTIATE(T) \
  template struct Level<T>; \
  template size_t Hierarchy<T>::bytes() const;
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
