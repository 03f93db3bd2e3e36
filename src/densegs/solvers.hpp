// What the faces of dense Gauss-Seidel share: PC densegs, SNES vipgs.
#pragma once
#include "densegs/distributed.hpp"
#include "densegs/lcp.hpp"
#include "petsc/options.hpp"
#include "petsc/shell.hpp"
#include "petsc/vector.hpp"
#include "tessera.h"
#include <petsctao.h>
#include <petsc/private/pcimpl.h>
#include <petsc/private/snesimpl.h>
#include <petsc/private/taoimpl.h>

namespace tessera {

struct DenseGSOptions {
  TesseraGSStrategy strategy  = TESSERA_GS_GRAPH2;
  TesseraGSOrder    order     = TESSERA_GS_SYMMETRIC;
  PetscReal         omega     = 1;
  PetscInt          sweeps    = 1;
  TesseraPrecision  precision = TESSERA_PRECISION_AUTO;
  TesseraBackend    backend   = TESSERA_BACKEND_AUTO;

  using Object = PC;
  static DenseGSOptions   &Of(PC pc);
  static PetscErrorCode    Changed(PC pc); // the next setup makes all anew
  static const OptionTable table;
};

struct PC_DenseGS {
  DenseGSOptions    options;
  PetscBool         current   = PETSC_FALSE; // the plan belongs to these options
  // setup
  Comm                 comm;
  densegs::Plan        plan;
  densegs::Distributed distributed; // several processes: this one's rows
  VectorView           vector;      // that is read or written
  bool                 failed = false, warned = false;
  // largest |a_ij - a_ji| over the largest entry; negative: not known yet
  double               asymmetry = 0;
  double               largest = 0, difference = 0; // of this process's rows, of its square block
  char                 failure[256] = "";
};

// Of no answer.
inline SNESVIPGSCertificate NoCertificate()
{
  SNESVIPGSCertificate c = {};
  c.natural = c.relative = c.gap = c.primal = c.dual = NAN;
  c.reason = SNES_VIPGS_DIVERGED;
  return c;
}

struct VIPGSOptions {
  TesseraGSStrategy     strategy     = TESSERA_GS_GRAPH2;
  TesseraGSOrder        order        = TESSERA_GS_SYMMETRIC;
  PetscReal             omega        = 1;
  TesseraPrecision      precision    = TESSERA_PRECISION_AUTO;
  TesseraBackend        backend      = TESSERA_BACKEND_AUTO;
  SNESVIPGSAcceleration acceleration = SNES_VIPGS_ACCELERATION_AUTO;
  PetscBool             newton       = PETSC_TRUE;
  PetscInt              sweeps = 200, check = 10, factorizations = 200, block = 1;
  PetscReal             mu       = 0;
  SNESVIPGSFriction     friction = SNES_VIPGS_FRICTION_CONE;

  using Object = PetscObject; // a SNES or a Tao
  static VIPGSOptions     &Of(PetscObject solver);
  static PetscErrorCode    Changed(PetscObject) { return PETSC_SUCCESS; }
  static const OptionTable table;
};

struct SNES_VIPGS {
  VIPGSOptions          options;
  Vec                   coefficients   = nullptr; // of friction
  Comm                  comm;
  // a Tao's test looks at PETSc's tolerances, as SNESConvergedDefault() does
  bool                  tolerances     = false;
  // the last solve
  SNESVIPGSCertificate certificate = NoCertificate();
  bool                 solved      = false;
  PetscInt             size        = 0; // unknowns
  char                 failure[256] = ""; // why there was no solving with the Jacobian
};

struct TAO_VIPGS {
  SNES      snes            = nullptr;     // of the type vipgs, which has the options
  PetscBool complementarity = PETSC_FALSE; // constraints and their Jacobian in place of gradient and Hessian
};

// What works in the device's memory; where that is too small the message says how much the matrix takes, and what to
// do.
template <class F> PetscErrorCode InDeviceMemory(const char *solver, const char *option, PetscInt n, F &&work)
{
  PetscFunctionBegin;
  try {
    work();
  } catch (const DeviceMemoryError &e) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MEM,
            "%s: %s. A matrix of %" PetscInt_FMT
            " unknowns takes %.3g MB, and its copy for sweeps as much (half with single precision): use -%s host",
            solver, e.what(), n, 8e-6 * (double)n * (double)n, option);
  } catch (...) {
    PetscCall(Caught());
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

extern PetscLogEvent event_densegs_setup, event_densegs_apply, event_vipgs_solve;

PetscErrorCode PCCreate_DenseGS(PC);
PetscErrorCode SNESCreate_VIPGS(SNES);
PetscErrorCode TaoCreate_VIPGS(Tao);
PetscErrorCode ComposeDenseGS(PC, PetscBool);
PetscErrorCode ComposeDenseGSInfo(PC, PetscBool); // pcdensegs_info.cxx
PetscErrorCode ViewDenseGS(PC, PetscViewer);
PetscErrorCode ComposeVIPGS(SNES, PetscBool);
PetscErrorCode ViewVIPGS(SNES snes, PetscViewer viewer);
PetscErrorCode SolveVIPGS(SNES snes);
PetscErrorCode CiteDenseGS();

// A dense matrix of this process's rows: by columns, on the host or the device.
struct DenseView {
  Mat           mat    = nullptr; // SEQDENSE, or the local part of a MPIDENSE
  const double *values = nullptr;
  PetscInt      rows = 0, lda = 0;
  Space         space = Space::host;
};
// Refuses matrices that are not dense or not square, with a message that names the solver, and MATAIJ where that takes
// it, too. wanted: where the values are asked for.
PetscErrorCode DenseCheckType(PetscObject solver, const char *name, Mat A, bool aij);
PetscErrorCode DenseOnDevice(Mat A, bool *device);
PetscErrorCode DenseGet(Mat A, Space wanted, DenseView *view);
PetscErrorCode DenseRestore(DenseView *view);
// Is it a MATAIJ of some kind? Its entries, on every process all of them. Collective.
PetscErrorCode IsSparse(Mat A, bool *sparse);
PetscErrorCode SparseGet(PetscObject solver, Mat A, lcp::Entries *e);
// Has A a composed pair of H and M, whose H M^-1 H' it is? Its entries, on every process all of them. Collective.
PetscErrorCode IsFactored(Mat A, bool *factored);
PetscErrorCode FactoredGet(PetscObject solver, Mat A, lcp::Entries *e);
// All of a vector on every process, and back. Collective.
PetscErrorCode GatherVector(Vec v, std::vector<double> &all);
PetscErrorCode ScatterVector(const std::vector<double> &all, Vec v);

} // namespace tessera
