// The main program of the unit tests: MPI around GoogleTest, and the space to test as argument, host or cuda.
#include "unit.hpp"
#include <cstring>
#include <mpi.h>

static bool on_device = false;
bool        unit_cuda() { return on_device; }

int main(int argc, char **argv)
{
  int rank, failed, any;

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1) on_device = !strcmp(argv[1], "cuda");
  // Rank 0 tells the story; the others speak up by failing.
  if (rank) {
    auto &listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
  }
  failed = RUN_ALL_TESTS();
  MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return any;
}
