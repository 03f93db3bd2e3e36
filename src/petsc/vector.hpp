// The values of a vector where a method works.
#pragma once
#include "exec/buffer.hpp"
#include "petsc/compat.h"
#include <petscvec.h>

namespace tessera {

// The own values of a vector in the memory of a space: its own array where it lies there, else a copy, which stays
// for the next one. One vector at a time.
class VectorView {
public:
  PetscErrorCode Read(Vec v, Space space);
  PetscErrorCode Write(Vec v, Space space, bool read = false); // read: with its values
  PetscErrorCode Restore();                                    // nothing where there is no vector
  double        *data() const { return data_; }
  size_t         bytes() const { return copy_.bytes(); }

private:
  PetscErrorCode Open(Vec v, Space space, bool read);
  PetscErrorCode Copy(PetscMemType where, bool read);
  PetscErrorCode CopyBack();
  Vec            v_ = nullptr;
  Buffer<double> copy_;
  double        *data_ = nullptr, *array_ = nullptr; // array_: the vector's own
  bool           write_ = false, typed_ = false;     // typed_: the array may lie in either memory
};

} // namespace tessera
