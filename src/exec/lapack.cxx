#include "exec/lapack.hpp"
#include <petscsys.h>
#include <petscblaslapack.h> // the names of LAPACK, and which one PETSc has
#include <cstddef>
#include <string>
#ifdef TESSERA_HAVE_CUDA
  #include <cublas_v2.h>
  #include <cuda_runtime.h>
  #include <cusolverDn.h>
#endif

namespace tessera {

#ifdef TESSERA_HAVE_CUDA
namespace {

void check(cusolverStatus_t status, const char *what)
{
  if (status != CUSOLVER_STATUS_SUCCESS)
    throw DeviceError(std::string("cuSOLVER: ") + what + " failed with status " + std::to_string((int)status));
}
void check(cublasStatus_t status, const char *what)
{
  if (status != CUBLAS_STATUS_SUCCESS)
    throw DeviceError(std::string("cuBLAS: ") + what + " failed with status " + std::to_string((int)status));
}

// The libraries take milliseconds to start, so they stay to the end of the program, for each device that is used.
struct Handles {
  cusolverDnHandle_t solver     = nullptr;
  cusolverDnParams_t parameters = nullptr;
  cublasHandle_t     blas       = nullptr;
};
Handles &handles()
{
  static std::vector<Handles> all;
  int                         current = 0;
  if (cudaGetDevice(&current) != cudaSuccess) throw DeviceError("CUDA: no current device");
  if (all.size() <= (size_t)current) all.resize((size_t)current + 1);
  Handles &h = all[(size_t)current];
  if (!h.solver) {
    check(cusolverDnCreate(&h.solver), "cusolverDnCreate");
    check(cusolverDnCreateParams(&h.parameters), "cusolverDnCreateParams");
  }
  if (!h.blas) check(cublasCreate(&h.blas), "cublasCreate");
  check(cusolverDnSetStream(h.solver, (cudaStream_t)device::stream()), "cusolverDnSetStream");
  check(cublasSetStream(h.blas, (cudaStream_t)device::stream()), "cublasSetStream");
  return h;
}

} // namespace
#endif

void Factorisation::reset(int n, Space space)
{
  const size_t entries = (size_t)n * (size_t)n;
  if (a_.size() < entries || space_ != space) a_.resize(Extent{entries, space});
  n_     = n;
  space_ = space;
}

bool Factorisation::cholesky() { return factor(false); }
bool Factorisation::lu() { return factor(true); }

bool Factorisation::factor(bool lu)
{
  lu_ = lu;
  if (!n_) return true;
  if (lu && (pivots_.size() < (size_t)n_ || pivots_.space() != space())) pivots_.resize(Extent{(size_t)n_, space()});
#ifdef TESSERA_HAVE_CUDA
  if (space() == Space::cuda) {
    static_assert(sizeof(long long) == sizeof(int64_t), "pivots have 64 bits");
    Handles &h = handles();
    size_t   device_bytes = 0, host_bytes = 0;
    int      info = 0;
    if (lu)
      check(cusolverDnXgetrf_bufferSize(h.solver, h.parameters, n_, n_, CUDA_R_64F, a_.data(), n_, CUDA_R_64F,
                                        &device_bytes, &host_bytes),
            "cusolverDnXgetrf_bufferSize");
    else
      check(cusolverDnXpotrf_bufferSize(h.solver, h.parameters, CUBLAS_FILL_MODE_LOWER, n_, CUDA_R_64F, a_.data(), n_,
                                        CUDA_R_64F, &device_bytes, &host_bytes),
            "cusolverDnXpotrf_bufferSize");
    std::vector<char> host(host_bytes + 1);
    if (work_.bytes() < device_bytes || work_.empty())
      work_.resize(Extent{device_bytes / sizeof(double) + 1, Space::cuda});
    if (info_.empty()) info_.resize(Extent{1, Space::cuda});
    if (lu)
      check(cusolverDnXgetrf(h.solver, h.parameters, n_, n_, CUDA_R_64F, a_.data(), n_, (int64_t *)pivots_.data(),
                             CUDA_R_64F, work_.data(), work_.bytes(), host.data(), host_bytes, info_.data()),
            "cusolverDnXgetrf");
    else
      check(cusolverDnXpotrf(h.solver, h.parameters, CUBLAS_FILL_MODE_LOWER, n_, CUDA_R_64F, a_.data(), n_, CUDA_R_64F,
                             work_.data(), work_.bytes(), host.data(), host_bytes, info_.data()),
            "cusolverDnXpotrf");
    device::copy_to_host(&info, info_.data(), sizeof(info));
    return !info;
  }
#endif
  const device::Open open(space());
  PetscBLASInt       info = 0, n = n_;
  if (lu) LAPACKgetrf_(&n, &n, a_.data(), &n, (PetscBLASInt *)pivots_.data(), &info);
  else LAPACKpotrf_("L", &n, a_.data(), &n, &info);
  return !info;
}

void Factorisation::solve(double *b)
{
  if (!n_) return;
#ifdef TESSERA_HAVE_CUDA
  if (space() == Space::cuda) {
    Handles &h = handles();
    if (info_.empty()) info_.resize(Extent{1, Space::cuda});
    if (lu_)
      check(cusolverDnXgetrs(h.solver, h.parameters, CUBLAS_OP_N, n_, 1, CUDA_R_64F, a_.data(), n_,
                             (const int64_t *)pivots_.data(), CUDA_R_64F, b, n_, info_.data()),
            "cusolverDnXgetrs");
    else
      check(cusolverDnXpotrs(h.solver, h.parameters, CUBLAS_FILL_MODE_LOWER, n_, 1, CUDA_R_64F, a_.data(), n_,
                             CUDA_R_64F, b, n_, info_.data()),
            "cusolverDnXpotrs");
    return;
  }
#endif
  const device::Open open(space());
  PetscBLASInt       info = 0, n = n_, one = 1;
  if (lu_) LAPACKgetrs_("N", &n, &one, a_.data(), &n, (PetscBLASInt *)pivots_.data(), b, &n, &info);
  else LAPACKpotrs_("L", &n, &one, a_.data(), &n, b, &n, &info);
}

void Factorisation::diagonal(std::vector<double> &d) const
{
  d.resize((size_t)n_);
#ifdef TESSERA_HAVE_CUDA
  if (space() == Space::cuda && n_) {
    if (cudaMemcpy2DAsync(d.data(), sizeof(double), a_.data(), ((size_t)n_ + 1) * sizeof(double), sizeof(double),
                          (size_t)n_, cudaMemcpyDeviceToHost, (cudaStream_t)device::stream()) != cudaSuccess)
      throw DeviceError("CUDA: the diagonal of a factor could not be copied");
    device::synchronize();
    return;
  }
#endif
  const device::Open open(space());
  for (size_t i = 0; i < d.size(); ++i) d[i] = a_.data()[i * ((size_t)n_ + 1)];
}

void product(Space space, bool transposed, int m, int n, const double *a, ptrdiff_t lda, const double *x, double *y)
{
  const double zero = 0, one = 1;
  if (!m || !n) return;
#ifdef TESSERA_HAVE_CUDA
  if (space == Space::cuda) {
    check(
      cublasDgemv(handles().blas, transposed ? CUBLAS_OP_T : CUBLAS_OP_N, m, n, &one, a, (int)lda, x, 1, &zero, y, 1),
      "cublasDgemv");
    return;
  }
#endif
  const device::Open open(space);
  PetscBLASInt       rows = m, columns = n, ld = (PetscBLASInt)lda, step = 1;
  BLASgemv_(transposed ? "T" : "N", &rows, &columns, &one, a, &ld, x, &step, &zero, y, &step);
}

} // namespace tessera
