/*
  What the setups have made and chosen, as -ksp_view and -snes_view print it: plain numbers. Included by tessera.h.
*/
#pragma once
#include "tessera.h"

/*S
  TesseraGridsInfo - the grids that the setup of a multigrid has made

  Level: intermediate

.seealso: `PCRRBGetInfo()`, `PCAuxAMGGetInfo()`, `SNESVIPMGGetInfo()`
S*/
typedef struct {
  PetscInt         grids;               /* the finest one and the last one among them */
  PetscInt         exact;               /* unknowns of the last grid that are solved exactly; 0: it is swept over */
  PetscInt         dirichlet;           /* rows that take no part, as nothing in them counts beside the diagonal */
  PetscReal        unknowns;            /* of the finest grid; of `PCAUXAMG` of the nodes that take part */
  PetscReal        grid_complexity;     /* nodes of all grids over those of the finest */
  PetscReal        operator_complexity; /* coefficients of all grids over those of the finest */
  PetscReal        bytes;               /* memory, of all processes together */
  TesseraBackend   backend;             /* where it is: host or cuda */
  TesseraPrecision precision;           /* of the coefficients */
} TesseraGridsInfo;

/*S
  PCRRBChoice - what the setup of `PCRRB` has chosen

  Level: advanced

.seealso: `PCRRB`, `PCRRBGetChoice()`
S*/
typedef struct {
  PCRRBCoarsening    coarsening;
  PCRRBInterpolation interpolation; /* of the Galerkin form: collapse or least_squares */
  PCRRBCycle         cycle;         /* in use: v, k, amli or w */
  PetscInt           levels;        /* two to a grid */
  PetscInt           quarters;      /* grids that are stored by quarters */
  PetscInt           algebraic;     /* algebraic levels in place of grids below the finest one */
  const char        *measures;      /* for rough coefficients: "none", or what they are */
  PetscReal          usual; /* iterations for 1e-6 that the trial expects of the usual choice; 0: there was none */
  PetscReal          expected;      /* of the choice in use; 0: there was no trial */
  PetscReal          leaps;         /* share of the nodes where coefficients leap by orders of magnitude */
  PetscReal          moved;         /* bytes per unknown that an application moves, by a model */
  PetscReal          asymmetry;     /* largest |a_ij - a_ji| over the largest diagonal entry */
  PetscReal deficit; /* negative row sums that are left out of the factors: the largest over the diagonal entry */
} PCRRBChoice;

/*S
  PCRRBGridInfo - a grid of `PCRRB`

  Level: advanced

.seealso: `PCRRB`, `PCRRBGetGridInfo()`
S*/
typedef struct {
  PetscInt      nx, ny, nz;  /* of an algebraic level: rows, 1 and 1 */
  PetscBool     everywhere;  /* every process has all of it */
  PetscBool     exact;       /* the last one, which is solved exactly */
  PetscBool     accelerated; /* by the K- or AMLI-cycle */
  PetscBool     cut;         /* the seam of a periodic direction is lumped */
  PetscReal     spectrum[2]; /* AMLI on the lumped forms: its interval */
  PetscReal     lumped;      /* lumped forms: what is lumped, in the mean over the diagonal */
  PetscBool     schur;       /* from here on Galerkin form: smoothed on the Schur complement of its red nodes */
  PCRRBSmoother smoother;    /* in use: not auto; in three dimensions line_alt where lines are Chebyshev's blocks */
  PetscInt      sweeps;      /* before and after the next grid */
  PetscReal     strong_i, strong_j,
    oblique;                 /* shares of nodes with strong couplings in one direction alone, or in an oblique one */
  PetscInt      parts;       /* loose ones, which are corrected by constants */
  PetscReal     complexity;  /* its coefficients over those of the finest grid */
  PetscReal     entries;     /* of an algebraic level, in a row; else 0 */
} PCRRBGridInfo;

/*S
  KSPRRBInfo - what `KSPRRB` works on

  Level: advanced

.seealso: `KSPRRB`, `KSPRRBGetInfo()`
S*/
typedef struct {
  PetscBool schur;    /* conjugate gradients on the Schur complement of the red nodes; else on the whole system */
  PetscBool flexible; /* as the cycle is not linear */
  PetscReal moved;    /* on the Schur complement: bytes per unknown that an iteration moves, by a model; else, and in 3D, 0 */
  PetscReal vectors;  /* on a device: bytes per unknown of its vectors, which stay from solve to solve; else 0 */
} KSPRRBInfo;

/*S
  PCAuxAMGChoice - what the setup of `PCAUXAMG` has chosen

  Level: advanced

.seealso: `PCAUXAMG`, `PCAuxAMGGetChoice()`
S*/
typedef struct {
  PCAuxAMGVariant       variant;
  PCAuxAMGInterpolation interpolation; /* in use: linear or kuhn; auto: the constants of aggregation */
  PCAuxAMGCycle         cycle;         /* in use: v, w, k or amli */
  PCAuxAMGSmoother      smoother;      /* in use */
  PetscInt              degree;        /* of the smoother */
  PetscInt              dimension;     /* of the coordinates */
  PetscInt              block;         /* unknowns of a node */
  PetscInt              cell_size;     /* nodes in a cell at most; of aggregation in the mean at least */
  PetscInt              inner;         /* steps of the K-cycle on each coarse grid; of other cycles 0 */
  PetscBool             filtered;      /* the interpolation is smoothed for coefficients that jump */
  PetscReal             stretch[3];    /* of the coordinates by the couplings, relative to the first one */
  PetscReal             crowded;       /* nodes in cells that cannot be split, which are only smoothed */
  PetscReal             parts;         /* of the mesh, hardly tied to each other: the smoother has functions of each */
  PetscInt              dropped;       /* eigenvalues of the last operator that are zero */
  const char           *coordinates;   /* where they come from; until the next setup */
} PCAuxAMGChoice;

/*S
  PCAuxAMGGridInfo - a grid of `PCAUXAMG`

  Level: advanced

.seealso: `PCAUXAMG`, `PCAuxAMGGetGridInfo()`
S*/
typedef struct {
  PetscInt  nodes;
  PetscReal row;              /* nodes that a row is coupled with, itself among them, in the mean */
  PetscInt  cells;            /* of the tree, which have nodes of the grid before; of the mesh 0, as the next three */
  PetscInt  coarsest, finest; /* levels in the tree of the largest and the smallest of them */
  PetscInt  hanging;          /* vertices whose values are those of others */
  PetscInt  colors;           /* of Gauss-Seidel; of another smoother 0 */
  PetscReal eigenvalue;       /* the largest one of D^-1 A, by which Chebyshev and Jacobi go; else 0 */
} PCAuxAMGGridInfo;

/*S
  PCDenseGSInfo - what the setup of `PCDENSEGS` has made

  Level: advanced

.seealso: `PCDENSEGS`, `PCDenseGSGetInfo()`
S*/
typedef struct {
  PetscInt         panel;     /* rows of a panel */
  PetscInt         threads;   /* of each process */
  PetscReal        bytes;     /* memory, of all processes together */
  TesseraBackend   backend;   /* where it is: host or cuda */
  TesseraPrecision precision; /* of the panels */
} PCDenseGSInfo;

/*S
  SNESVIPMGChoice - what `SNESVIPMG` and `TAOVIPMG` have chosen

  Level: advanced

.seealso: `SNESVIPMG`, `SNESVIPMGGetChoice()`, `TaoVIPMGGetChoice()`
S*/
typedef struct {
  SNESVIPMGVariant variant;
  SNESVIPMGCycle   cycle;            /* in use: v, w or f */
  PetscInt         pre, post;        /* sweeps before and after the coarse correction */
  PetscReal        omega;
  PetscBool        fmg;              /* starts on the coarsest grid */
  PetscInt         dimension;        /* of the grid */
  PetscBool        box;              /* the finest stencil has couplings along diagonals */
  PetscBool        symmetric;        /* the Jacobian is */
  PetscInt         lines_x, lines_y; /* grids whose linear sweeps go by lines along x, along y */
} SNESVIPMGChoice;

PETSC_EXTERN PetscErrorCode PCRRBGetInfo(PC, TesseraGridsInfo *);
PETSC_EXTERN PetscErrorCode PCRRBGetChoice(PC, PCRRBChoice *);
PETSC_EXTERN PetscErrorCode PCRRBGetGridSizes(PC, PetscInt *, const PetscInt *[], const PetscInt *[]);
PETSC_EXTERN PetscErrorCode PCRRBGetGridInfo(PC, PetscInt, PCRRBGridInfo *);
PETSC_EXTERN PetscErrorCode PCRRBGetFailure(PC, const char *[]);
PETSC_EXTERN PetscErrorCode KSPRRBGetInfo(KSP, KSPRRBInfo *);
PETSC_EXTERN PetscErrorCode PCAuxAMGGetInfo(PC, TesseraGridsInfo *);
PETSC_EXTERN PetscErrorCode PCAuxAMGGetChoice(PC, PCAuxAMGChoice *);
PETSC_EXTERN PetscErrorCode PCAuxAMGGetGridSizes(PC, PetscInt *, const PetscInt *[]);
PETSC_EXTERN PetscErrorCode PCAuxAMGGetGridInfo(PC, PetscInt, PCAuxAMGGridInfo *);
PETSC_EXTERN PetscErrorCode PCAuxAMGGetFailure(PC, const char *[]);
PETSC_EXTERN PetscErrorCode PCDenseGSGetInfo(PC, PCDenseGSInfo *);
PETSC_EXTERN PetscErrorCode PCDenseGSGetFailure(PC, const char *[]);
PETSC_EXTERN PetscErrorCode SNESVIPMGGetInfo(SNES, TesseraGridsInfo *);
PETSC_EXTERN PetscErrorCode SNESVIPMGGetChoice(SNES, SNESVIPMGChoice *);
PETSC_EXTERN PetscErrorCode SNESVIPMGGetGridSizes(SNES, PetscInt *, const PetscInt *[]);
PETSC_EXTERN PetscErrorCode SNESVIPMGGetFailure(SNES, const char *[]);
PETSC_EXTERN PetscErrorCode SNESVIPGSGetFailure(SNES, const char *[]);
PETSC_EXTERN PetscErrorCode TaoVIPMGGetInfo(Tao, TesseraGridsInfo *);
PETSC_EXTERN PetscErrorCode TaoVIPMGGetChoice(Tao, SNESVIPMGChoice *);
PETSC_EXTERN PetscErrorCode TaoVIPMGGetGridSizes(Tao, PetscInt *, const PetscInt *[]);
PETSC_EXTERN PetscErrorCode TaoVIPGSGetSNES(Tao, SNES *);
