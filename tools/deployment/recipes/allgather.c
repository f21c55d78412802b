// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* Every rank gets 1 MiB of each other rank, ten times, and looks at what it got. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 1 << 20, TIMES = 10 };

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char* const mine = malloc(BYTES);
  char* const all = malloc((size_t)BYTES * size);
  for (int time = 0; time < TIMES; time++) {
    memset(mine, rank + time, BYTES);
    MPI_Allgather(mine, BYTES, MPI_CHAR, all, BYTES, MPI_CHAR, MPI_COMM_WORLD);
    for (long i = 0; i < (long)BYTES * size; i++) {
      if (all[i] != (char)(i / BYTES + time)) MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  if (rank == 0) printf("%d ranks have it all\n", size);
  free(mine);
  free(all);
  MPI_Finalize();
}
