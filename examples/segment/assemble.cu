/* The matrix of a step, on the device */
#include "assemble.h"
#include <petscdevice_cuda.h>

__global__ static void Assemble(Pixels p, const PetscScalar *u, const PetscScalar *g, PetscScalar *values, PetscScalar *b)
{
  const PetscInt k = (PetscInt)(blockIdx.x * blockDim.x + threadIdx.x);
  if (k < p.xm * p.ym) b[k] = PixelRow(&p, u, g, p.xs + k % p.xm, p.ys + k / p.xm, values + 5 * (size_t)k);
}

PetscErrorCode AssembleCUDA(const Pixels *p, Vec u, Vec g, PetscScalar **values, Vec b)
{
  const PetscScalar *U, *G;
  PetscScalar       *B;
  const PetscInt     pixels = p->xm * p->ym;

  PetscFunctionBegin;
  if (!*values) PetscCallCUDA(cudaMalloc((void **)values, 5 * sizeof(PetscScalar) * (size_t)(pixels + 1)));
  PetscCall(VecCUDAGetArrayRead(u, &U));
  PetscCall(VecCUDAGetArrayRead(g, &G));
  PetscCall(VecCUDAGetArrayWrite(b, &B));
  PetscCallCUDA(cudaDeviceSynchronize()); /* PETSc has streams of its own: what it has under way in them comes before this one, */
  if (pixels) Assemble<<<(unsigned)((pixels + 127) / 128), 128>>>(*p, U, G, *values, B);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaDeviceSynchronize()); /* and what follows after it */
  PetscCall(VecCUDARestoreArrayWrite(b, &B));
  PetscCall(VecCUDARestoreArrayRead(g, &G));
  PetscCall(VecCUDARestoreArrayRead(u, &U));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ReleaseCUDA(PetscScalar *values)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaFree(values));
  PetscFunctionReturn(PETSC_SUCCESS);
}
