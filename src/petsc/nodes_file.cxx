#include "petsc/nodes_file.hpp"
#include <cstring>
#include <petscviewer.h>
#include <string>

// petscviewerhdf5.h would include HDF5's own headers, which need not be where PETSc's flags look.
#if PetscDefined(HAVE_HDF5)
PETSC_EXTERN PetscErrorCode PetscViewerHDF5Open(MPI_Comm, const char[], PetscFileMode, PetscViewer *);
PETSC_EXTERN PetscErrorCode PetscViewerHDF5PushGroup(PetscViewer, const char[]);
PETSC_EXTERN PetscErrorCode PetscViewerHDF5PopGroup(PetscViewer);
PETSC_EXTERN PetscErrorCode PetscViewerHDF5HasDataset(PetscViewer, const char[], PetscBool *);
PETSC_EXTERN PetscErrorCode PetscViewerHDF5ReadSizes(PetscViewer, const char[], PetscInt *, PetscInt *);
#endif

namespace tessera {

namespace {

// What reading a file makes, gone also where it ends with an error.
struct Reading {
  PetscViewer viewer = nullptr;
  Vec         x      = nullptr;
  ~Reading() { (void)PetscViewerDestroy(&viewer), (void)VecDestroy(&x); }
};

PetscErrorCode LoadHDF5(MPI_Comm comm, const NodesFile &of, const char *name, const char *path, Reading &reading,
                        PetscInt *each)
{
  PetscFunctionBegin;
#if PetscDefined(HAVE_HDF5)
  PetscBool         exists;
  PetscInt          entries;
  PetscViewer      &viewer = reading.viewer;
  const char *const slash  = strrchr(path, '/');
  PetscCheck(*path, comm, PETSC_ERR_ARG_WRONG, "%s: %s: names no data set: say %s:/path", of.who, name, name);
  const std::string group(path, slash ? (size_t)(slash - path) : 0), set(slash ? slash + 1 : path);
  PetscCall(PetscViewerHDF5Open(comm, name, FILE_MODE_READ, &viewer));
  if (!group.empty()) PetscCall(PetscViewerHDF5PushGroup(viewer, group.c_str()));
  PetscCall(PetscViewerHDF5HasDataset(viewer, set.c_str(), &exists));
  PetscCheck(exists, comm, PETSC_ERR_FILE_UNEXPECTED, "%s: %s has no data set %s", of.who, name, path);
  PetscCall(PetscViewerHDF5ReadSizes(viewer, set.c_str(), each, &entries));
  PetscCheck(entries == of.all * *each && *each >= of.min && *each <= of.max, comm, PETSC_ERR_FILE_UNEXPECTED,
             "%s: data set %s of %s has %" PetscInt_FMT " rows of %" PetscInt_FMT
             " numbers, which are no %s of the matrix's %" PetscInt_FMT " nodes (block size %" PetscInt_FMT ")",
             of.who, path, name, *each ? entries / *each : 0, *each, of.what, of.all, of.bs);
  PetscCall(PetscObjectSetName((PetscObject)reading.x, set.c_str()));
  PetscCall(VecSetBlockSize(reading.x, *each));
  PetscCall(VecSetSizes(reading.x, of.n * *each, PETSC_DECIDE));
  PetscCall(VecSetFromOptions(reading.x));
  PetscCall(VecLoad(reading.x, viewer));
  if (!group.empty()) PetscCall(PetscViewerHDF5PopGroup(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
#else
  (void)path, (void)reading, (void)each;
  SETERRQ(comm, PETSC_ERR_SUP,
          "%s: this PETSc has no HDF5, which %s is. Write the %s as a Vec in PETSc's binary format and give its "
          "file's name", of.who, name, of.what);
#endif
}

PetscErrorCode LoadBinary(MPI_Comm comm, const NodesFile &of, const char *name, Reading &reading, PetscInt *each)
{
  PetscInt     header[2] = {}, got, all = of.all; // an empty file has no header
  PetscViewer &viewer = reading.viewer;
  char         allowed[64];

  PetscFunctionBegin;
  PetscCall(PetscViewerBinaryOpen(comm, name, FILE_MODE_READ, &viewer));
  PetscCall(PetscViewerBinaryRead(viewer, header, 2, &got, PETSC_INT));
  PetscCall(PetscViewerDestroy(&viewer));
  const PetscInt entries = header[1];
  PetscCheck(got == 2 && header[0] == VEC_FILE_CLASSID, comm, PETSC_ERR_FILE_UNEXPECTED,
             "%s: %s is no Vec in PETSc's binary format. For HDF5 say file.h5:/path", of.who, name);
  PetscCall(PetscSNPrintf(allowed, sizeof(allowed), "%" PetscInt_FMT, of.min));
  PetscCheck(all && entries % all == 0 && entries / all >= of.min && entries / all <= of.max, comm,
             PETSC_ERR_FILE_UNEXPECTED,
             "%s: %s holds %" PetscInt_FMT " numbers, which are not %s for each of the matrix's %" PetscInt_FMT
             " nodes (block size %" PetscInt_FMT ")",
             of.who, name, entries, of.min == of.max ? allowed : "1, 2 or 3", of.all, of.bs);
  *each = entries / all;
  PetscCall(PetscViewerBinaryOpen(comm, name, FILE_MODE_READ, &viewer));
  PetscCall(VecSetBlockSize(reading.x, *each));
  PetscCall(VecSetSizes(reading.x, of.n * *each, PETSC_DECIDE));
  PetscCall(VecSetFromOptions(reading.x));
  PetscCall(VecLoad(reading.x, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode ReadNodesFile(const NodesFile &of, const char *file, Vec *x, PetscInt *each)
{
  MPI_Comm          comm  = PetscObjectComm(of.solver);
  const char *const colon = strstr(file, ".h5:")   ? strstr(file, ".h5:") + 3
                          : strstr(file, ".hdf5:") ? strstr(file, ".hdf5:") + 5
                                                   : nullptr;
  const std::string name(file, colon ? (size_t)(colon - file) : strlen(file));
  PetscBool         exists;
  Reading           reading;

  PetscFunctionBegin;
  PetscCall(PetscTestFile(name.c_str(), 'r', &exists));
  PetscCheck(exists, comm, PETSC_ERR_FILE_OPEN, "%s: cannot read the %s' file %s", of.who, of.what, name.c_str());
  PetscCall(VecCreate(comm, &reading.x));
  if (colon) PetscCall(LoadHDF5(comm, of, name.c_str(), colon + 1, reading, each));
  else PetscCall(LoadBinary(comm, of, name.c_str(), reading, each));
  *x        = reading.x;
  reading.x = nullptr;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera
