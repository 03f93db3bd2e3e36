// Sweeps of dense Gauss-Seidel alone: every strategy, size and precision, on the host or the device; beside it PETSc's MatSOR (host), or
// a triangular solve and a product by cuBLAS (device). One line of CSV each; bench/run densegs makes tables and plots of them.
//
//   densegs host|cuda [-sizes 500,1000] [-sweeps 100] [-strategies graph,block] [-single 0,1] [-order forward] [-threads 2] [-changes]
//   densegs host|cuda -batch 4096 -n 64            many small problems in one call
//   densegs host|cuda -contacts 300,1000           symmetric sweeps over contacts of 3 unknowns with friction
#include "densegs/lcp.hpp"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <petscmat.h>
#include <sstream>
#ifdef TESSERA_HAVE_CUDA
  #include <cublas_v2.h>
  #include <cuda_runtime.h>
#endif

using namespace tessera;
using namespace tessera::densegs;

static const char *const strategies[] = {"sequential", "row", "column", "block", "graph", "graph2", "relaxed"};

static double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

static const char *option(int argc, char **argv, const char *name, const char *otherwise)
{
  for (int i = 2; i + 1 < argc; ++i)
    if (!strcmp(argv[i], name)) return argv[i + 1];
  return otherwise;
}
static std::vector<std::string> list(const char *text)
{
  std::vector<std::string> v;
  std::stringstream        s(text);
  for (std::string w; std::getline(s, w, ',');) v.push_back(w);
  return v;
}

static double median(std::vector<double> v)
{
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

int main(int argc, char **argv)
{
  const bool  device = argc > 1 && !strcmp(argv[1], "cuda");
  const int   sweeps = atoi(option(argc, argv, "-sweeps", "100")), repeat = atoi(option(argc, argv, "-repeat", "3")), threads = atoi(option(argc, argv, "-threads", "1"));
  const bool  changes = atoi(option(argc, argv, "-changes", "1"));
  const char *order = option(argc, argv, "-order", "forward");
  int         zero = 0;
  char      **none = nullptr;
  if (PetscInitialize(&zero, &none, nullptr, nullptr)) return 1;
  printf("place,what,n,bytes,threads,microseconds,ns_a_row,GB_s,last_change\n");
  if (const int count = atoi(option(argc, argv, "-batch", "0"))) { // that many problems of -n unknowns, to 1e-8
    const int      n = atoi(option(argc, argv, "-n", "64"));
    const size_t   unknowns = (size_t)count * (size_t)n;
    Exec           exec;
    Buffer<double> a(Extent{unknowns * (size_t)n, Space::host}), v[4], there, w[4], r;
    exec.space = device ? Space::cuda : Space::host;
    for (Buffer<double> &b : v) b.resize(unknowns);
    for (size_t i = 0; i < unknowns; ++i) {
      v[0].data()[i] = std::sin(0.7 * (double)i);
      v[2].data()[i] = 1e300;
      for (int j = 0; j < n; ++j) a.data()[i * (size_t)n + (size_t)j] = (i % (size_t)n == (size_t)j ? 2 : 0) + 1 / (1 + std::fabs((double)(i % (size_t)n) - j));
    }
    there.resize(Extent{a.size(), exec.space});
    copy(a, there);
    r.resize(Extent{(size_t)count, exec.space});
    for (int k = 0; k < 4; ++k) {
      w[k].resize(Extent{unknowns, exec.space});
      copy(v[k], w[k]);
    }
    std::vector<double> times;
    for (int k = 0; k < 4; ++k) {
      w[3].zero();
      if (device) device::synchronize();
      const double t = now();
      lcp::batch(exec, count, n, there.data(), w[0].data(), w[1].data(), w[2].data(), 1e-8, 1000, w[3].data(), r.data());
      if (device) device::synchronize();
      times.push_back(now() - t);
    }
    printf("%s,batch of %d,%d,8,1,%.2f,0,0,0\n", argv[1], count, n, median(times) * 1e6);
    return PetscFinalize();
  }
  if (const char *sizes = option(argc, argv, "-contacts", nullptr)) {
    for (const std::string &size : list(sizes)) {
      const int           contacts = atoi(size.c_str()), n = 3 * contacts;
      Buffer<double>      a(Extent{(size_t)n * (size_t)n, Space::host}), there;
      std::vector<double> q((size_t)n), mu((size_t)contacts, 0.3), times;
      lcp::Matrix         matrix;
      lcp::Problem        p;
      lcp::Params         params;
      for (int j = 0; j < n; ++j) { // neighbours feel each other, far contacts hardly: sweeps converge slowly
        q[(size_t)j] = std::sin(7. * j) - (j % 3 ? 0 : 0.3);
        for (int i = 0; i < n; ++i) a.data()[(size_t)j * n + i] = (i % 3 == j % 3 ? 1 : 0.2) * std::exp(-std::fabs((double)i - j) / 90);
      }
      there.resize(Extent{a.size(), device ? Space::cuda : Space::host});
      copy(a, there);
      matrix.exec.space = there.space();
      (void)lcp::create(matrix, PETSC_COMM_SELF, n, n, there.data(), n, there.space(), 3);
      p.n                 = n;
      p.matrix            = &matrix;
      p.q                 = q.data();
      p.block             = 3;
      p.mu                = mu.data();
      params.newton       = false;
      params.sweeps.order = Order::symmetric;
      for (int k = 0; k <= repeat; ++k)
        for (int most : {10, 10 + sweeps}) { // the difference: what is done once is in both
          std::vector<double> x((size_t)n);
          lcp::Report         report;
          params.check = most;
          const double t = now();
          (void)lcp::friction(p, params, x.data(), report, [](const lcp::Report &, double, const double *) { return true; });
          if (k) times.push_back(now() - t);
        }
      std::vector<double> each;
      for (size_t k = 0; k < times.size(); k += 2) each.push_back((times[k + 1] - times[k]) / sweeps);
      const double t = median(each);
      printf("%s,friction,%d,8,1,%.2f,%.2f,%.1f,0\n", argv[1], n, t * 1e6, t * 1e9 / n, 8. * n * n / t * 1e-9);
      fflush(stdout);
    }
    return PetscFinalize();
  }
  for (const std::string &size : list(option(argc, argv, "-sizes", "500,1000,2000,3000"))) {
    const int           n = atoi(size.c_str()), lda = n;
    std::vector<double> q((size_t)n), last;
    Buffer<double>      a(Extent{(size_t)n * (size_t)n, Space::host});
    for (int j = 0; j < n; ++j) {
      q[(size_t)j] = std::sin(7. * j) - 0.2;
      for (int i = 0; i < n; ++i) a.data()[(size_t)j * n + i] = (i == j ? 0.6 * n : 0) + (double)((i * 31 + j * 17 + (i ^ j)) % 97) / 97 - 0.5;
    }
    Buffer<double> there;
    if (device) {
      there.resize(Extent{a.size(), Space::cuda});
      copy(a, there);
    }
    for (const std::string &single : list(option(argc, argv, "-single", "0,1")))
      for (const std::string &name : list(option(argc, argv, "-strategies", "sequential,row,column,block,graph,graph2,relaxed"))) {
        Plan                plan;
        Params              params;
        Request             r;
        std::vector<double> change((size_t)sweeps), times;
        for (int s = 0; s < 7; ++s)
          if (name == strategies[s]) params.strategy = (Strategy)s;
        params.order  = !strcmp(order, "symmetric") ? Order::symmetric : !strcmp(order, "random") ? Order::random : Order::forward;
        params.single = single == "1";
        plan.exec.space   = device ? Space::cuda : Space::host;
        plan.exec.threads = threads;
        create(plan, n, params);
        fill(plan, device ? there.data() : a.data(), lda, plan.exec.space);
        const bool slow = device && (name == "row" || name == "column"); // three launches per row
        r.sweeps = slow ? 2 : sweeps;
        // A lower bound that rows end at, and not zero: on the host columns of zeros are left out.
        const std::vector<double> low((size_t)plan.panels.padded(), -0.05 / n), high(low.size(), 1e300);
        if (device) {
          device::copy_from_host(plan.q.data(), q.data(), q.size() * sizeof(double));
          device::copy_from_host(plan.lower.data(), low.data(), low.size() * sizeof(double));
          device::copy_from_host(plan.upper.data(), high.data(), high.size() * sizeof(double));
        } else {
          std::copy(q.begin(), q.end(), plan.q.data());
          std::copy(low.begin(), low.end(), plan.lower.data());
          std::copy(high.begin(), high.end(), plan.upper.data());
        }
        r.q     = plan.q.data();
        r.lower = plan.lower.data();
        r.upper = plan.upper.data();
        r.x     = plan.x.data();
        r.zero  = true;
        if (changes) r.change = change.data();
        for (int k = 0; k <= (slow ? 0 : repeat); ++k) {
          plan.x.zero();
          if (device) device::synchronize();
          const double t = now();
          (void)sweep(plan, r);
          if (device) device::synchronize();
          if (k || slow) times.push_back(now() - t);
        }
        const double t = median(times) / r.sweeps, bytes = params.single ? 4 : 8;
        printf("%s,%s,%d,%g,%d,%.2f,%.2f,%.1f,%.6g\n", argv[1], name.c_str(), n, bytes, threads, t * 1e6, t * 1e9 / n, bytes * n * (double)n / t * 1e-9, change[(size_t)r.sweeps - 1]);
        fflush(stdout);
      }
    std::vector<double> times;
    if (!device && threads == 1) {
      Mat A;
      Vec b, x;
      PetscScalar *values;
      (void)MatCreateSeqDense(PETSC_COMM_SELF, n, n, nullptr, &A); // in the memory that PETSc gives it
      (void)MatDenseGetArrayWrite(A, &values);
      std::copy(a.data(), a.data() + a.size(), values);
      (void)MatDenseRestoreArrayWrite(A, &values);
      (void)MatCreateVecs(A, &x, &b);
      (void)VecSet(b, 1);
      const bool both = !strcmp(order, "symmetric"); // a sweep there goes forward and back
      const int  its = n > 3000 ? 3 : 10, each = both ? 2 : 1;
      for (int k = 0; k < 3; ++k) {
        const double t = now();
        (void)MatSOR(A, b, 1, (MatSORType)((both ? SOR_SYMMETRIC_SWEEP : SOR_FORWARD_SWEEP) | SOR_ZERO_INITIAL_GUESS), 0, its, 1, x);
        times.push_back((now() - t) / (its * each));
      }
      const double t = median(times);
      printf("host,MatSOR,%d,8,1,%.2f,%.2f,%.1f,0\n", n, t * 1e6, t * 1e9 / n, 8. * n * n / t * 1e-9);
      (void)MatDestroy(&A);
      (void)VecDestroy(&x);
      (void)VecDestroy(&b);
    }
#ifdef TESSERA_HAVE_CUDA
    if (device) {
      cublasHandle_t handle;
      Buffer<double> x(Extent{(size_t)n, Space::cuda}), y(Extent{(size_t)n, Space::cuda});
      const double   one = -1, zero_ = 1;
      cublasCreate(&handle);
      cublasSetStream(handle, (cudaStream_t)device::stream());
      device::copy_from_host(y.data(), q.data(), q.size() * sizeof(double));
      const int its = 20;
      for (int k = 0; k < 4; ++k) {
        device::synchronize();
        const double t = now();
        for (int i = 0; i < its; ++i) {
          cublasDgemv(handle, CUBLAS_OP_N, n, n, &one, there.data(), lda, x.data(), 1, &zero_, y.data(), 1);
          cublasDtrsv(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, n, there.data(), lda, y.data(), 1);
        }
        device::synchronize();
        if (k) times.push_back((now() - t) / its);
      }
      cublasDestroy(handle);
      const double t = median(times);
      printf("cuda,cublasDtrsv+Dgemv,%d,8,1,%.2f,%.2f,%.1f,0\n", n, t * 1e6, t * 1e9 / n, 8. * n * n / t * 1e-9);
    }
#endif
    fflush(stdout);
  }
  return PetscFinalize();
}
