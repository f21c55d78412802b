// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* mpi_exchange: an MPI program whose ranks check every byte that they get from the others.
 *
 *   mpirun ... mpi_exchange LARGEST
 *
 * In messages of 1 byte to LARGEST (1 MiB at most): MPI_Alltoall, MPI_Put into the window of each other rank, and MPI_Allreduce.
 * Rank 0 prints 'done: R ranks, B bytes right', or each rank what is wrong, and the program exits with 1.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "pattern.h"

enum { MOST_RANKS = 64 };

static int rank, ranks;
static uint64_t checked;

/* A rank that ends takes all others with it. */
static void fail(const char* what, int from, int bytes, uint32_t at) {
  fprintf(stderr, "broken: rank %d, %s of %d bytes from rank %d: wrong at byte %u\n", rank, what, bytes, from, at);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static uint64_t seed(int from, int to, int bytes, int kind) {
  return (((uint64_t)from * MOST_RANKS + to) * 4 + kind) << 32 | (uint32_t)bytes;
}

static void* allocate(size_t bytes) {
  void* const memory = calloc(1, bytes);
  if (memory == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  return memory;
}

static void check(const char* what, const uint64_t* words, int from, int bytes, int kind) {
  const uint32_t at = pattern_difference(words, bytes, seed(from, rank, bytes, kind));
  if (at < (uint32_t)bytes) fail(what, from, bytes, at);
  checked += bytes;
}

/* Bytes of one rank's place, a multiple of 8. */
static size_t room(int bytes) { return ((size_t)bytes + 7) / 8 * 8; }

static uint64_t* place(uint64_t* all, int of, int bytes) { return all + room(bytes) / 8 * of; }

static void fill(uint64_t* all, int bytes, int kind) {
  for (int to = 0; to < ranks; to++) pattern_fill(place(all, to, bytes), bytes, seed(rank, to, bytes, kind));
}

static void all_to_all(uint64_t* sent, uint64_t* received, int bytes) {
  MPI_Datatype message, apart;
  MPI_Type_contiguous(bytes, MPI_BYTE, &message);
  MPI_Type_create_resized(message, 0, room(bytes), &apart);
  MPI_Type_commit(&apart);
  fill(sent, bytes, 0);
  MPI_Alltoall(sent, 1, apart, received, 1, apart, MPI_COMM_WORLD);
  for (int from = 0; from < ranks; from++) check("an alltoall", place(received, from, bytes), from, bytes, 0);
  MPI_Type_free(&apart);
  MPI_Type_free(&message);
}

static void put(uint64_t* sent, uint64_t* received, int bytes) {
  MPI_Win window;
  MPI_Win_create(received, room(bytes) * ranks, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  fill(sent, bytes, 1);
  MPI_Win_fence(0, window);
  for (int to = 0; to < ranks; to++)
    MPI_Put(place(sent, to, bytes), bytes, MPI_BYTE, to, room(bytes) * rank, bytes, MPI_BYTE, window);
  MPI_Win_fence(0, window);
  for (int from = 0; from < ranks; from++) check("a put", place(received, from, bytes), from, bytes, 1);
  MPI_Win_free(&window);
}

static void sum(uint64_t* sent, uint64_t* received, int bytes) {
  const int words = bytes / 8;
  for (int i = 0; i < words; i++) sent[i] = pattern_mix(seed(rank, 0, bytes, 2) + i);
  MPI_Allreduce(sent, received, words, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < words; i++) {
    uint64_t expected = 0;
    for (int from = 0; from < ranks; from++) expected += pattern_mix(seed(from, 0, bytes, 2) + i);
    if (received[i] != expected) fail("a sum", rank, bytes, i * 8);
  }
  checked += (uint64_t)words * 8;
}

int main(int argc, char** argv) {
  static const int kBytes[] = {1, 7, 64, 1000, 4096, 4097, 8192, 65536, 100003, 1 << 20};
  enum { REPEATS = 3 };
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks > MOST_RANKS || argc != 2) MPI_Abort(MPI_COMM_WORLD, 1);
  const int largest = atoi(argv[1]);
  for (size_t i = 0; i < sizeof(kBytes) / sizeof(kBytes[0]) && kBytes[i] <= largest; i++) {
    const int bytes = kBytes[i];
    uint64_t* const sent = allocate(room(bytes) * ranks);
    uint64_t* const received = allocate(room(bytes) * ranks);
    for (int repeat = 0; repeat < REPEATS; repeat++) {
      memset(received, 0, room(bytes) * ranks);
      all_to_all(sent, received, bytes);
      put(sent, received, bytes);
      sum(sent, received, bytes);
    }
    free(sent);
    free(received);
  }
  uint64_t all = 0;
  MPI_Reduce(&checked, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("done: %d ranks, %llu bytes right\n", ranks, (unsigned long long)all);
  MPI_Finalize();
  return 0;
}
