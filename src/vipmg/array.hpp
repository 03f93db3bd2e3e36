// Arrays of PETSc vectors where a plan works.
#pragma once
#include "exec/buffer.hpp"
#include <petscvec.h>

namespace tessera::vipmg {

// An array of a vector in the space of a plan: the vector's own, or a copy.
class Array {
public:
  PetscErrorCode Read(Vec v, Space space);
  PetscErrorCode Write(Vec v, Space space);
  PetscErrorCode Restore();
  double        *data() const { return data_; }

private:
  Vec            v_ = nullptr;
  Buffer<double> copy_;
  double        *data_ = nullptr, *host_ = nullptr;
  bool           write_ = false, typed_ = false;
};

} // namespace tessera::vipmg
