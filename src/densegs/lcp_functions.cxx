// Problems in one call: a solver from matrix and vectors, and many small problems at once.
#include "densegs/solvers.hpp"
#include <cmath>
#include <vector>

static PetscErrorCode LinearFunction(SNES, Vec x, Vec f, void *b)
{
  Mat A;

  PetscFunctionBegin;
  PetscCall(PetscObjectQuery((PetscObject)b, "TesseraLCP_A", (PetscObject *)&A));
  PetscCall(MatMult(A, x, f));
  PetscCall(VecAXPY(f, 1, (Vec)b)); // last: a large x does not lose it
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LinearJacobian(SNES, Vec, Mat, Mat, void *)
{
  return PETSC_SUCCESS; // it is A, and stays
}

/*@
   SNESVIPGSCreateLCP - Creates a `SNES` of type `SNESVIPGS` for F(x) = A x + b and bounds

   Collective

   Input Parameters:
+  A - the matrix, of type `MATDENSE` or `MATAIJ`, or with two factors composed with it, see `SNESVIPGS`
.  b - the vector
.  lower - lower bounds; NULL: zero
-  upper - upper bounds; NULL: none

   Output Parameter:
.  snes - the solver; `SNESSolve(snes, NULL, x)` starts from x

   Level: intermediate

   Note:
   The linear complementarity problem x >= 0, A x + b >= 0, x'(A x + b) = 0 has neither lower nor upper given. With
   friction (`SNESVIPGSSetBlock()`) the law bounds the forces: the lower bound is then a vector of PETSC_NINFINITY.

.seealso: `SNESVIPGS`, `SNESVISetVariableBounds()`, `SNESVIPGSSetFriction()`
@*/
PetscErrorCode SNESVIPGSCreateLCP(Mat A, Vec b, Vec lower, Vec upper, SNES *snes)
{
  Vec  f, own, l = lower, u = upper;
  bool sparse = false, factored = false;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscValidHeaderSpecific(b, VEC_CLASSID, 2);
  if (lower) PetscValidHeaderSpecific(lower, VEC_CLASSID, 3);
  if (upper) PetscValidHeaderSpecific(upper, VEC_CLASSID, 4);
  PetscAssertPointer(snes, 5);
  PetscCall(TesseraInitializePackage());
  PetscCall(tessera::IsSparse(A, &sparse));
  PetscCall(tessera::IsFactored(A, &factored));
  if (!sparse && !factored) PetscCall(tessera::DenseCheckType((PetscObject)A, "SNES vipgs", A, true));
  PetscCall(SNESCreate(PetscObjectComm((PetscObject)A), snes));
  PetscCall(SNESSetType(*snes, SNESVIPGS));
  PetscCall(VecDuplicate(b, &f));
  PetscCall(VecDuplicate(b, &own));
  PetscCall(VecCopy(b, own));
  PetscCall(PetscObjectCompose((PetscObject)own, "TesseraLCP_A", (PetscObject)A));
  PetscCall(PetscObjectCompose((PetscObject)*snes, "TesseraLCP_b", (PetscObject)own)); // lives as long as the solver
  PetscCall(SNESSetFunction(*snes, f, LinearFunction, own));
  PetscCall(SNESSetJacobian(*snes, A, A, LinearJacobian, nullptr));
  if (!l) {
    PetscCall(VecDuplicate(b, &l));
    PetscCall(VecSet(l, 0));
  }
  if (!u) {
    PetscCall(VecDuplicate(b, &u));
    PetscCall(VecSet(u, PETSC_INFINITY));
  }
  PetscCall(SNESVISetVariableBounds(*snes, l, u));
  if (!lower) PetscCall(VecDestroy(&l));
  if (!upper) PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&f));
  PetscCall(VecDestroy(&own));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The arrays where the sweeps run, copied where they lie elsewhere.
static PetscErrorCode WhereSweepsRun(const PetscReal *from, size_t n, tessera::Space space, PetscMemType memory,
                            PetscReal otherwise, tessera::Buffer<double> &own, const double **array)
{
  PetscFunctionBegin;
  const tessera::Space lies = from && PetscMemTypeDevice(memory) ? tessera::Space::cuda : tessera::Space::host;
  if (from && lies == space) {
    *array = from;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  std::vector<double> host;
  TesseraCallCXX(own.resize(tessera::Extent{n, space}));
  if (!from) TesseraCallCXX(host.assign(n, otherwise));
  TesseraCallCXX(tessera::copy(from ? from : host.data(), lies, own.data(), space, n));
  TesseraCallCXX(tessera::device::synchronize(space)); // before `host` goes
  *array = own.data();
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The arrays of a batch: A, q, lower, upper, x.
struct Arrays {
  const double *of[5];
};

// What sweeps have not solved, each on the host with active sets; the arrays are on a device or not, x is where the
// caller has it.
static PetscErrorCode Finish(PetscInt n, const Arrays &arrays, bool device, PetscReal rtol, PetscMemType memory,
                             PetscReal x[], std::vector<double> &residuals, PetscInt *unsolved)
{
  std::vector<double> own[5];

  PetscFunctionBegin;
  for (size_t c = 0; c < residuals.size(); ++c) {
    if (residuals[c] <= rtol) continue;
    for (int k = 0; k < 5; ++k) {
      const size_t  size = (size_t)n * (k ? 1 : (size_t)n);
      const double *from = arrays.of[k] + c * size;
      TesseraCallCXX(own[k].resize(size));
      if (device) TesseraCallCXX(tessera::device::copy_to_host(own[k].data(), from, size * sizeof(double)));
      else std::copy(from, from + size, own[k].begin());
    }
    for (std::vector<double> *bounds : {&own[2], &own[3]})
      for (double &e : *bounds) e = e <= PETSC_NINFINITY ? -HUGE_VAL : e >= PETSC_INFINITY ? HUGE_VAL : e;
    double *const first = x + c * (size_t)n;
    const size_t  bytes = (size_t)n * sizeof(double);
    TesseraCallCXX(residuals[c] = tessera::lcp::finish(own[0], own[1], own[2], own[3], rtol, own[4]));
    if (PetscMemTypeDevice(memory)) TesseraCallCXX(tessera::device::copy_from_host(first, own[4].data(), bytes));
    else std::copy(own[4].begin(), own[4].end(), first);
    *unsolved += !(residuals[c] <= rtol);
  }
  if (PetscMemTypeDevice(memory)) TesseraCallCXX(tessera::device::synchronize()); // before `own` goes
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckBatch(PetscInt count, PetscInt n, PetscReal rtol, PetscInt sweeps,
                                 const PetscReal residual[], const PetscInt *unsolved)
{
  PetscFunctionBegin;
  if (residual) PetscAssertPointer(residual, 12);
  PetscAssertPointer(unsolved, 13);
  PetscCheck(count >= 0 && n >= 0 && sweeps >= 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "TesseraLCPSolveBatch: %" PetscInt_FMT " problems of %" PetscInt_FMT " unknowns, %" PetscInt_FMT
             " sweeps: none of these is negative",
             count, n, sweeps);
  PetscCheck(rtol > 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "TesseraLCPSolveBatch: the tolerance is positive, it is %.6g", (double)rtol);
  PetscCheck(n <= 20000 && count < (1 << 30), PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "TesseraLCPSolveBatch: %" PetscInt_FMT " unknowns are no small problem: use SNES vipgs", n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   TesseraLCPSolveBatch - Solves many small linear complementarity problems of the same size at once

   Not Collective

   Input Parameters:
+  count - problems
.  n - unknowns of each
.  A - the matrices, each by columns with a positive diagonal, one after the other
.  q - the vectors q of F(x) = A x + q
.  lower - lower bounds; NULL: zero
.  upper - upper bounds; NULL: none
.  memory - where all these arrays and x lie: `PETSC_MEMTYPE_HOST` or `PETSC_MEMTYPE_CUDA`
.  backend - where to solve; `TESSERA_BACKEND_AUTO`: where the arrays lie
.  rtol - a problem is solved when |x - P(x - F(x))|_2 is at most rtol |q|_2
-  sweeps - of Gauss-Seidel, at most; the active-set method of `SNESVIPGS` solves what is left, on the host

   Input/Output Parameter:
.  x - first guesses; answers

   Output Parameters:
+  residual - what |x - P(x - F(x))|_2 over |q|_2 is for each problem, on the host; may be NULL
-  unsolved - the number of problems that did not reach rtol

   Level: intermediate

   Note:
   On a device a block of threads has a problem, and its matrix in shared memory to 160 unknowns or so.

.seealso: `SNESVIPGS`, `SNESVIPGSCreateLCP()`
@*/
PetscErrorCode TesseraLCPSolveBatch(PetscInt count, PetscInt n, const PetscReal A[], const PetscReal q[],
                                    const PetscReal lower[], const PetscReal upper[], PetscMemType memory,
                                    TesseraBackend backend, PetscReal rtol, PetscInt sweeps, PetscReal x[],
                                    PetscReal residual[], PetscInt *unsolved)
{
  tessera::Exec           exec;
  tessera::Buffer<double> own[5], r;
  const double           *a, *b, *l, *u, *v;
  std::vector<double>     residuals;

  PetscFunctionBegin;
  PetscCall(CheckBatch(count, n, rtol, sweeps, residual, unsolved));
  *unsolved = 0;
  if (!count || !n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(A && q && x, PETSC_COMM_SELF, PETSC_ERR_ARG_NULL, "TesseraLCPSolveBatch: A, q and x are needed");
  const bool given  = PetscMemTypeDevice(memory); // on a device
  const bool device = backend == TESSERA_BACKEND_CUDA || (backend == TESSERA_BACKEND_AUTO && given);
  if (device || given) PetscCall(tessera::ChooseDevice());
  PetscCheck(!(device || given) || !tessera::device::unusable(), PETSC_COMM_SELF, PETSC_ERR_SUP_SYS,
             "TesseraLCPSolveBatch: %s. %s", tessera::device::unusable(),
             given ? "Pass arrays of the host" : "Use TESSERA_BACKEND_HOST");
  PetscCheck(!device || (size_t)(3 * n + 2) * sizeof(double) <= tessera::device::block_scratch(), PETSC_COMM_SELF,
             PETSC_ERR_SUP, "TesseraLCPSolveBatch: %" PetscInt_FMT
             " unknowns are too many for a block of this device. Use SNES vipgs, or TESSERA_BACKEND_HOST", n);
  exec.space = device ? tessera::Space::cuda : tessera::Space::host;
  const size_t unknowns = (size_t)count * (size_t)n, entries = unknowns * (size_t)n;
  PetscCall(tessera::UseCurrentStream(exec.space));
  PetscCall(WhereSweepsRun(A, entries, exec.space, memory, 0, own[0], &a));
  PetscCall(WhereSweepsRun(q, unknowns, exec.space, memory, 0, own[1], &b));
  PetscCall(WhereSweepsRun(lower, unknowns, exec.space, memory, 0, own[2], &l));
  PetscCall(WhereSweepsRun(upper, unknowns, exec.space, memory, PETSC_INFINITY, own[3], &u));
  PetscCall(WhereSweepsRun(x, unknowns, exec.space, memory, 0, own[4], &v));
  TesseraCallCXX(r.resize(tessera::Extent{(size_t)count, exec.space}));
  TesseraCallCXX(tessera::lcp::batch(exec, (int)count, (int)n, a, b, l, u, rtol, (int)PetscMin(sweeps, 1000000000),
                                     const_cast<double *>(v), r.data()));
  TesseraCallCXX(residuals.resize((size_t)count));
  if (device) TesseraCallCXX(tessera::device::copy_to_host(residuals.data(), r.data(), r.bytes()));
  else std::copy(r.data(), r.data() + count, residuals.begin());
  if (v != x) { // back to where the caller has it
    if (device) TesseraCallCXX(tessera::device::copy_to_host(x, v, unknowns * sizeof(double)));
    else TesseraCallCXX(tessera::device::copy_from_host(x, v, unknowns * sizeof(double)));
  }
  const Arrays arrays = {a, b, l, u, v};
  PetscCall(Finish(n, arrays, device, rtol, memory, x, residuals, unsolved));
  if (residual) std::copy(residuals.begin(), residuals.end(), residual);
  PetscFunctionReturn(PETSC_SUCCESS);
}
