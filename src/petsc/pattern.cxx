#include "petsc/pattern.hpp"
#include <utility>

namespace tessera {

// rows of a matrix on several processes whose couplings each of them looks at
constexpr PetscInt max_gathered = 4000000;

PetscErrorCode GatherPattern(Mat A, PetscInt bs, bool zeros, Pattern &pattern)
{
  MPI_Comm         comm = PetscObjectComm((PetscObject)A);
  PetscInt         first, last, M;
  MatInfo          info;
  std::vector<int> lengths, columns, counts, starts;
  int              size, n;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(MatGetSize(A, &M, nullptr));
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  pattern = Pattern();
  if (info.nz_used > 2e9 || (size > 1 && M > max_gathered)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  lengths.assign((size_t)((last - first) / bs), 0);
  PetscCall(ForEntries(A, zeros, [&](PetscInt i, PetscInt j) {
    ++lengths[(size_t)((i - first) / bs)], columns.push_back((int)(j / bs));
  }));
  const auto gather = [&](const std::vector<int> &mine, std::vector<int> &all) -> PetscErrorCode {
    PetscFunctionBegin;
    n = (int)mine.size();
    counts.resize((size_t)size);
    starts.assign((size_t)size + 1, 0);
    PetscCallMPI(MPI_Allgather(&n, 1, MPI_INT, counts.data(), 1, MPI_INT, comm));
    for (int r = 0; r < size; ++r) starts[(size_t)r + 1] = starts[(size_t)r] + counts[(size_t)r];
    all.resize((size_t)starts.back());
    PetscCallMPI(MPI_Allgatherv(mine.data(), n, MPI_INT, all.data(), counts.data(), starts.data(), MPI_INT, comm));
    PetscFunctionReturn(PETSC_SUCCESS);
  };
  PetscCall(gather(lengths, pattern.start));
  PetscCall(gather(columns, pattern.column));
  int at = 0;
  for (int &s : pattern.start) at += std::exchange(s, at);
  pattern.start.push_back(at);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera
