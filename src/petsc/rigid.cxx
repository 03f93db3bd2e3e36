// A rigid body mode of node i is t + W x_i, with a vector t and a skew matrix W, and so are the vectors that span the
// space. So what the bs entries of all vectors at a node are beyond their mean over the nodes, F_i with bs rows, is
// linear in x_i: it has no more than bs principal components. As x_i' W x_i = 0, x_i' F_i = 0, which tells the linear
// map from the components to x_i, up to its scale and sign, in the axes of the unknowns.
#include "petsc/rigid.hpp"
#include "multigrid/exact.hpp"
#include <algorithm>
#include <vector>

namespace tessera {

namespace {

constexpr int    max_unknowns = 3 * 6; // of a node
constexpr double rounding = 1e-9; // of variances, beside the largest one

// The entries of all vectors at the nodes of this process, bs of each vector; none where these are no modes.
PetscErrorCode Entries(MatNullSpace space, PetscInt n, PetscInt bs, std::vector<double> &entry)
{
  PetscBool  constant;
  PetscInt   count;
  const Vec *vectors;

  PetscFunctionBegin;
  PetscCall(MatNullSpaceGetVecs(space, &constant, &count, &vectors));
  if (constant || (bs != 2 && bs != 3) || count != bs * (bs + 1) / 2) PetscFunctionReturn(PETSC_SUCCESS);
  TesseraCallCXX(entry.resize((size_t)n * (size_t)(bs * count)));
  for (PetscInt k = 0; k < count; ++k) {
    const PetscScalar *v;
    PetscInt           length;
    PetscCall(VecGetLocalSize(vectors[k], &length));
    if (length != n * bs) { // of another matrix
      entry.clear();
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(VecGetArrayRead(vectors[k], &v));
    for (PetscInt p = 0; p < n * bs; ++p) entry[(size_t)p * (size_t)count + (size_t)k] = PetscRealPart(v[p]);
    PetscCall(VecRestoreArrayRead(vectors[k], &v));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Entries become what they are beyond their mean, and c their covariances; in all, nodes of all processes.
PetscErrorCode Covariances(MPI_Comm comm, PetscInt n, int width, std::vector<double> &entry, std::vector<double> &c)
{
  std::vector<double> sums((size_t)width + 1);

  PetscFunctionBegin;
  for (PetscInt p = 0; p < n; ++p)
    for (int k = 0; k < width; ++k) sums[(size_t)k] += entry[(size_t)p * (size_t)width + (size_t)k];
  sums[(size_t)width] = (double)n;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sums.data(), width + 1, MPI_DOUBLE, MPI_SUM, comm));
  c.assign((size_t)(width * width), 0);
  for (PetscInt p = 0; p < n; ++p) {
    double *const of = entry.data() + (size_t)p * (size_t)width;
    for (int k = 0; k < width; ++k) of[k] -= sums[(size_t)k] / sums[(size_t)width];
    for (int k = 0; k < width; ++k)
      for (int l = 0; l < width; ++l) c[(size_t)(k * width + l)] += of[k] * of[l];
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, c.data(), width * width, MPI_DOUBLE, MPI_SUM, comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// m, dim x dim, from components along the rows of `axes` to points: m_q' L_s + m_s' L_q = 0 for all q and s, L_q being
// row q as a matrix of dim rows. The identity where there is no such map.
void map_to_points(int dim, int vectors, const double *axes, double *m)
{
  const int           n = dim * dim;
  std::vector<double> normal((size_t)(n * n)), w((size_t)n), row((size_t)n);
  for (int q = 0; q < dim; ++q)
    for (int s = q; s < dim; ++s)
      for (int k = 0; k < vectors; ++k) {
        std::fill(row.begin(), row.end(), 0.);
        for (int r = 0; r < dim; ++r) {
          row[(size_t)(dim * q + r)] += axes[(dim * s + r) * vectors + k];
          row[(size_t)(dim * s + r)] += axes[(dim * q + r) * vectors + k];
        }
        for (int a = 0; a < n; ++a)
          for (int b = 0; b < n; ++b) normal[(size_t)(n * a + b)] += row[(size_t)a] * row[(size_t)b];
      }
  const bool found = multigrid::symmetric_eigen(n, normal.data(), w.data()) && w[0] < 1e-6 * w[(size_t)n - 1] &&
                     w[1] > 1e-6 * w[(size_t)n - 1];
  for (int q = 0; q < n; ++q) m[q] = found ? normal[(size_t)q] : q % (dim + 1) == 0;
}

// Of x and -x the one whose sums of coordinates are skewed upwards, on any number of processes.
PetscErrorCode ChooseSign(MPI_Comm comm, PetscInt n, int dim, double *x)
{
  double skew = 0;

  PetscFunctionBegin;
  for (PetscInt p = 0; p < n; ++p) {
    double sum = 0;
    for (int r = 0; r < dim; ++r) sum += x[(size_t)p * (size_t)dim + (size_t)r];
    skew += sum * sum * sum;
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &skew, 1, MPI_DOUBLE, MPI_SUM, comm));
  for (size_t k = 0; k < (size_t)n * (size_t)dim && skew < 0; ++k) x[k] = -x[k];
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode FromNearNullSpace(const NodesOf &of, Coordinates *found)
{
  const MPI_Comm      comm = PetscObjectComm(of.solver);
  const int           bs = (int)of.bs, vectors = bs * (bs + 1) / 2, width = bs * vectors;
  MatNullSpace        space;
  PetscInt            n;
  std::vector<double> entry, c;
  double              w[max_unknowns], axes[3 * max_unknowns], m[9] = {};

  PetscFunctionBegin;
  PetscCall(MatGetNearNullSpace(of.A, &space));
  if (!space) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetLocalSize(of.A, &n, nullptr));
  n /= of.bs;
  PetscCall(Entries(space, n, of.bs, entry));
  int none = entry.empty() && n, any;
  PetscCallMPI(MPI_Allreduce(&none, &any, 1, MPI_INT, MPI_MAX, comm));
  if (any || (bs != 2 && bs != 3)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Covariances(comm, n, width, entry, c));
  if (!multigrid::symmetric_eigen(width, c.data(), w)) PetscFunctionReturn(PETSC_SUCCESS);
  int dim = 0; // variances ascend
  while (dim < width && w[width - 1 - dim] > rounding * w[width - 1] && w[width - 1] > 0) ++dim;
  if (dim < 1 || dim > bs) PetscFunctionReturn(PETSC_SUCCESS); // these are no rigid body modes
  for (int q = 0; q < dim; ++q)
    for (int k = 0; k < width; ++k) axes[q * width + k] = c[(size_t)((width - 1 - q) * width + k)];
  if (dim == bs) map_to_points(dim, vectors, axes, m);
  else for (int q = 0; q < dim; ++q) m[q * dim + q] = 1; // points of a plane or a line, along its axes
  TesseraCallCXX(found->x.resize((size_t)n * (size_t)dim));
  double *const x = found->x.data();
  for (PetscInt p = 0; p < n; ++p)
    for (int q = 0; q < dim; ++q) {
      double part = 0;
      for (int k = 0; k < width; ++k) part += axes[q * width + k] * entry[(size_t)p * (size_t)width + (size_t)k];
      for (int r = 0; r < dim; ++r) x[(size_t)p * (size_t)dim + (size_t)r] += m[dim * q + r] * part;
    }
  PetscCall(ChooseSign(comm, n, dim, x));
  found->dim  = dim;
  found->from = "the rigid body modes of the near-null space";
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera
