#include "exec/comm.hpp"
#include <map>
#include <utility>

namespace tessera {

namespace {

using Lines = std::map<std::pair<int, bool>, MPI_Comm>; // by processes along x, and direction

int free_lines(MPI_Comm, int, void *lines, void *)
{
  for (auto &line : *(Lines *)lines) MPI_Comm_free(&line.second);
  delete (Lines *)lines;
  return MPI_SUCCESS;
}

} // namespace

MPI_Comm line_of_processes(MPI_Comm comm, int processes_x, bool along_x)
{
  static int key = MPI_KEYVAL_INVALID;
  if (key == MPI_KEYVAL_INVALID) MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_lines, &key, nullptr);
  Lines *lines = nullptr;
  int    found = 0, rank = 0;
  MPI_Comm_get_attr(comm, key, &lines, &found);
  if (!found) MPI_Comm_set_attr(comm, key, lines = new Lines);
  MPI_Comm &line = lines->emplace(std::make_pair(processes_x, along_x), MPI_COMM_NULL).first->second;
  if (line != MPI_COMM_NULL) return line;
  MPI_Comm_rank(comm, &rank);
  const int px = rank % processes_x, py = rank / processes_x;
  MPI_Comm_split(comm, along_x ? py : px, along_x ? px : py, &line);
  return line;
}

} // namespace tessera
