/* A problem from a file: FCLIB's HDF5 (https://frictionalcontactlibrary.github.io), or PETSc's binary format. */
#include "contact.h"
#include <petscviewer.h>

#if defined(PETSC_HAVE_HDF5)
  #include <hdf5.h>

/* Numbers of a data set, as long long or as double; the caller frees them. */
static PetscErrorCode ReadNumbers(hid_t file, const char *name, const char *path, PetscBool integers, hsize_t *count, void *numbers)
{
  hid_t  data = H5Dopen2(file, path, H5P_DEFAULT), space;
  void **to = (void **)numbers;
  herr_t error;

  PetscFunctionBeginUser;
  PetscCheck(data >= 0, PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED, "%s has no /%s: it is no local problem of FCLIB", name, path);
  space  = H5Dget_space(data);
  *count = (hsize_t)H5Sget_simple_extent_npoints(space);
  PetscCall(PetscMalloc((size_t)(*count + 1) * 8, to));
  error = H5Dread(data, integers ? H5T_NATIVE_LLONG : H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, *to);
  H5Sclose(space);
  H5Dclose(data);
  PetscCheck(error >= 0, PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "%s: /%s cannot be read as numbers", name, path);
  PetscFunctionReturn(0);
}

static PetscErrorCode ReadNumber(hid_t file, const char *name, const char *path, long long *number)
{
  hsize_t    count;
  long long *numbers;

  PetscFunctionBeginUser;
  PetscCall(ReadNumbers(file, name, path, PETSC_TRUE, &count, &numbers));
  PetscCheck(count > 0, PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED, "%s: /%s is empty", name, path);
  *number = numbers[0];
  PetscCall(PetscFree(numbers));
  PetscFunctionReturn(0);
}

static PetscErrorCode ReadVector(hid_t file, const char *name, const char *path, Vec *v)
{
  hsize_t      count;
  double      *numbers;
  PetscScalar *x;

  PetscFunctionBeginUser;
  PetscCall(ReadNumbers(file, name, path, PETSC_FALSE, &count, &numbers));
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, (PetscInt)count, v));
  PetscCall(VecGetArray(*v, &x));
  for (hsize_t k = 0; k < count; ++k) x[k] = numbers[k];
  PetscCall(VecRestoreArray(*v, &x));
  PetscCall(PetscFree(numbers));
  PetscFunctionReturn(0);
}

/* FCLIB's sparse matrices: nz -1 by columns, -2 by rows, else so many triplets of row (i), column (p) and number (x). */
static PetscErrorCode ReadMatrix(hid_t file, const char *name, Mat *W)
{
  long long    n, m, nz, *i, *p;
  hsize_t      ni, np, nx;
  double      *x;
  PetscScalar *a;
  PetscBool    fits;

  PetscFunctionBeginUser;
  PetscCall(ReadNumber(file, name, "fclib_local/W/n", &n));
  PetscCall(ReadNumber(file, name, "fclib_local/W/m", &m));
  PetscCall(ReadNumber(file, name, "fclib_local/W/nz", &nz));
  PetscCheck(n == m && n > 0 && n < 1000000, PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED, "%s: W is %lld x %lld, and is to be square and dense", name, m, n);
  PetscCall(ReadNumbers(file, name, "fclib_local/W/i", PETSC_TRUE, &ni, &i));
  PetscCall(ReadNumbers(file, name, "fclib_local/W/p", PETSC_TRUE, &np, &p));
  PetscCall(ReadNumbers(file, name, "fclib_local/W/x", PETSC_FALSE, &nx, &x));
  fits = (PetscBool)(nz >= -2 && (nz >= 0 ? np >= (hsize_t)nz : np >= (hsize_t)n + 1));
  if (fits && nz < 0) { /* its triplets: the lines that p begins */
    for (long long k = 0; fits && k < n; ++k) fits = (PetscBool)(p[k] >= 0 && p[k] <= p[k + 1]);
  }
  const long long count = !fits ? 0 : nz >= 0 ? nz : p[n];
  fits = (PetscBool)(fits && ni >= (hsize_t)count && nx >= (hsize_t)count);
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, (PetscInt)n, (PetscInt)n, NULL, W));
  PetscCall(MatDenseGetArray(*W, &a));
  for (long long e = 0, line = 0; fits && e < count; ++e) {
    while (nz < 0 && e >= p[line + 1]) ++line;
    const long long other = nz < 0 ? line : p[e], row = nz == -2 ? other : i[e], column = nz == -2 ? i[e] : other;
    fits = (PetscBool)(row >= 0 && row < n && column >= 0 && column < n);
    if (fits) a[row + n * column] += x[e];
  }
  PetscCall(MatDenseRestoreArray(*W, &a));
  PetscCheck(fits, PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED, "%s: the arrays i, p and x of /fclib_local/W are not those of a matrix of %lld rows", name, n);
  PetscCall(PetscFree(i));
  PetscCall(PetscFree(p));
  PetscCall(PetscFree(x));
  PetscCall(MatAssemblyBegin(*W, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*W, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

static PetscErrorCode ReadFCLIB(const char *name, Mat *W, Vec *q, Vec *mu)
{
  hid_t file;

  PetscFunctionBeginUser;
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* what is missing gets a message here */
  file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
  PetscCheck(file >= 0, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "%s cannot be opened", name);
  PetscCheck(H5Lexists(file, "fclib_local", H5P_DEFAULT) > 0 || H5Lexists(file, "fclib_global", H5P_DEFAULT) <= 0, PETSC_COMM_SELF, PETSC_ERR_SUP, "%s holds a global problem (/fclib_global: M, H, f, w), contact solves local ones. Eliminate the velocities of the bodies: W = H' M^-1 H and q = w + H' M^-1 f, with the same mu, stored as /fclib_local", name);
  PetscCall(ReadMatrix(file, name, W));
  PetscCheck(H5Lexists(file, "fclib_local/R", H5P_DEFAULT) <= 0, PETSC_COMM_SELF, PETSC_ERR_SUP, "%s has equality constraints (/fclib_local/V and R), which contact does not solve", name);
  PetscCall(ReadVector(file, name, "fclib_local/vectors/q", q));
  if (H5Lexists(file, "fclib_local/vectors/mu", H5P_DEFAULT) > 0) PetscCall(ReadVector(file, name, "fclib_local/vectors/mu", mu));
  else PetscCall(VecCreateSeq(PETSC_COMM_SELF, 0, mu));
  H5Fclose(file);
  PetscFunctionReturn(0);
}
#endif

static PetscErrorCode ReadBinary(const char *name, Mat *W, Vec *q, Vec *mu)
{
  PetscViewer viewer;

  PetscFunctionBeginUser;
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_SELF, name, FILE_MODE_READ, &viewer));
  PetscCall(MatCreate(PETSC_COMM_SELF, W));
  PetscCall(MatSetType(*W, MATDENSE));
  PetscCall(MatLoad(*W, viewer));
  PetscCall(VecCreate(PETSC_COMM_SELF, q));
  PetscCall(VecLoad(*q, viewer));
  PetscCall(VecCreate(PETSC_COMM_SELF, mu));
  PetscCall(VecLoad(*mu, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscFunctionReturn(0);
}

PetscErrorCode ReadProblem(const char *name, Mat *W, Vec *q, Vec *mu)
{
  const unsigned char hdf5[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  unsigned char       head[8] = {0};
  PetscBool           same;
  PetscInt            n, unknowns, contacts;
  FILE               *file = fopen(name, "rb");

  PetscFunctionBeginUser;
  PetscCheck(file, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "There is no file %s", name);
  const size_t read = fread(head, 1, sizeof(head), file);
  fclose(file);
  PetscCall(PetscMemcmp(head, hdf5, sizeof(head), &same));
  if (read == sizeof(head) && same) {
#if defined(PETSC_HAVE_HDF5)
    PetscCall(ReadFCLIB(name, W, q, mu));
#else
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_SUP, "%s: this PETSc has no HDF5. `fclib to %s problem.bin` makes a file that it reads", name, name);
#endif
  } else PetscCall(ReadBinary(name, W, q, mu));
  PetscCall(MatGetSize(*W, &n, NULL));
  PetscCall(VecGetSize(*q, &unknowns));
  PetscCall(VecGetSize(*mu, &contacts));
  PetscCheck(unknowns == n, PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED, "%s: W has %" PetscInt_FMT " rows, q %" PetscInt_FMT, name, n, unknowns);
  PetscCheck(!contacts || (n % contacts == 0 && n / contacts <= 3), PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED, "%s: %" PetscInt_FMT " unknowns and %" PetscInt_FMT " coefficients of friction", name, n, contacts);
  PetscFunctionReturn(0);
}
