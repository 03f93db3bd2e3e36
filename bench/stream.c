/* The machine's memory rate: a[i] = b[i] + s c[i] on arrays far larger than the caches, as in STREAM (McCalpin).
     stream [megabytes of one array = 256] [repeats = 10]
   on every process of MPI and every thread of OpenMP. Counts 24 bytes an element, as STREAM does. Prints one line. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#if defined(_OPENMP)
  #include <omp.h>
#endif

static int Compare(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
  int  ranks, rank, threads = 1, repeats = argc > 2 ? atoi(argv[2]) : 10;
  long megabytes = argc > 1 ? atol(argv[1]) : 256, n;

  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#if defined(_OPENMP)
  threads = omp_get_max_threads();
#endif
  if (megabytes < 1 || repeats < 1) {
    if (!rank) fprintf(stderr, "usage: stream [megabytes] [repeats]\n");
    MPI_Finalize();
    return 1;
  }
  n = megabytes * 131072 / ranks; /* doubles on this process */

  double *restrict a = malloc(n * sizeof(double)), *restrict b = malloc(n * sizeof(double)), *restrict c = malloc(n * sizeof(double));
  double *seconds = malloc(repeats * sizeof(double));
  if (!a || !b || !c || !seconds) MPI_Abort(MPI_COMM_WORLD, 1);
#pragma omp parallel for
  for (long i = 0; i < n; i++) a[i] = 0, b[i] = 1, c[i] = 2; /* first touch by the thread that uses it */

  for (int k = -1; k < repeats; k++) { /* round -1 warms up */
    double start, mine, slowest;

    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
#pragma omp parallel for
    for (long i = 0; i < n; i++) a[i] = b[i] + (k + 2.0) * c[i];
    mine = MPI_Wtime() - start;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (k >= 0) seconds[k] = slowest;
  }
  if (a[n / 2] != 1 + 2 * (repeats + 1.0)) MPI_Abort(MPI_COMM_WORLD, 1); /* also keeps the loop from being optimised away */
  qsort(seconds, repeats, sizeof(double), Compare);
  if (!rank) printf("BENCH ranks=%d threads=%d best_gbs=%.4g median_gbs=%.4g\n", ranks, threads, 24e-9 * n * ranks / seconds[0], 24e-9 * n * ranks / seconds[repeats / 2]);
  free(a), free(b), free(c), free(seconds);
  MPI_Finalize();
  return 0;
}
