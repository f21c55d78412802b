// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// All-reduce: COUNT programs, each with a vector of float32, and each gets the sum. Run one for each rank at
// the same time:
//
//   urnic run -- ./all_reduce RANK COUNT CASE      cases: own-first, ring, direct, sizes
#include "all_reduce.h"

#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "meet.h"

enum { VECTOR = 16 << 10, LONGEST = 64 << 10, REPETITIONS = 5 };  // bytes, bytes, times

float* piece(const struct job* job, float* memory, int number) {
  return memory + (size_t)number * (size_t)job->floats;
}

void add(const struct job* job, float* to, const float* other) {
  for (int i = 0; i < job->floats; i++) to[i] += other[i];
}

void all_are_ready(const struct job* job) {
  struct ranks* ranks = job->ranks;
  for (int peer = 0; peer < ranks->count; peer++)
    if (peer != ranks->rank) ranks_write(ranks, peer, job->vector, 0, job->vector, READY);
  ranks_wait_for(ranks, READY, ranks->count - 1);
}

// The shortest way: each rank reads the whole vectors of the others, and adds them to its own one, in the
// order in which the ranks stand at its right.
static void own_first(const struct job* job) {
  struct ranks* ranks = job->ranks;
  const size_t whole = job->bytes * (size_t)ranks->count;
  all_are_ready(job);
  for (int i = 1; i < ranks->count; i++)
    ranks_read(ranks, (ranks->rank + i) % ranks->count, job->vector, whole,
               piece(job, job->inbox, i * ranks->count));
  ranks_finish(ranks);
  memcpy(job->result, job->vector, whole);
  for (int i = 1; i < ranks->count; i++)
    for (int p = 0; p < ranks->count; p++)
      add(job, piece(job, job->result, p), piece(job, job->inbox, i * ranks->count + p));
}

// Element `index` of a rank's vector: 24 bits, shifted by 0 to 7 places, so that sums must be rounded.
static float element(int rank, int index) {
  uint32_t hash = (uint32_t)(rank << 20 | index) * 2654435761u;
  hash = (hash ^ hash >> 15) * 2246822519u;
  hash ^= hash >> 13;
  return (hash & 8 ? -1.0f : 1.0f) * (float)(hash >> 8) / (float)(1 << hash % 8);
}

static struct job begin(struct ranks* ranks, size_t bytes) {
  ranks_barrier(ranks);  // the peers do not use this memory any more
  struct job job = {.ranks = ranks, .bytes = bytes / (size_t)ranks->count};
  job.floats = (int)(job.bytes / sizeof(float));
  job.vector = (float*)ranks->end.memory;
  job.result = job.vector + LONGEST / sizeof(float);
  job.inbox = job.result + LONGEST / sizeof(float);
  for (int i = 0; i < job.floats * ranks->count; i++) job.vector[i] = element(ranks->rank, i);
  memset(job.result, 0, bytes);
  memset(job.inbox, 0, bytes * (size_t)ranks->count);
  ranks_barrier(ranks);  // all have their vectors
  return job;
}

// All bits of the result in 32 (FNV-1a over its words). Each rank writes it to its right, so that the packets
// show it.
static void show_digest(const struct job* job) {
  struct ranks* ranks = job->ranks;
  uint32_t digest = 2166136261u, word;
  for (int i = 0; i < job->floats * ranks->count; i++) {
    memcpy(&word, &job->result[i], sizeof word);
    digest = (digest ^ word) * 16777619u;
  }
  printf("rank %d: digest of the result %08x\n", ranks->rank, digest);
  memcpy(job->vector, &digest, sizeof digest);
  ranks_write(ranks, (ranks->rank + 1) % ranks->count, job->vector, sizeof digest, job->inbox, DIGEST);
  ranks_wait_for(ranks, DIGEST, 1);
}

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
}

// Both ways with vectors of several sizes, each several times: the shortest time counts.
static void sizes(struct ranks* ranks) {
  static const size_t kSizes[] = {256, 4 << 10, LONGEST};
  static void (*const kBoth[])(const struct job* job) = {ring, direct};
  double best[3][2];
  for (int i = 0; i < 3 * 2 * REPETITIONS; i++) {
    double* ms = &best[i / 2 % 3][i % 2];
    const struct job job = begin(ranks, kSizes[i / 2 % 3]);
    const double begun = now_ms();
    kBoth[i % 2](&job);
    ranks_finish(ranks);
    const double taken = now_ms() - begun;
    if (i < 3 * 2 || taken < *ms) *ms = taken;
  }
  for (int i = 0; i < 3 && ranks->rank == 0; i++)
    printf("%6zu bytes: ring %8.3f ms, direct %8.3f ms\n", kSizes[i], best[i][0], best[i][1]);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(const struct job* job);
  } kWays[] = {{"own-first", own_first}, {"ring", ring}, {"direct", direct}};
  if (argc != 4 || strstr("own-first ring direct sizes", argv[3]) == NULL)
    fail("usage: all_reduce RANK COUNT own-first|ring|direct|sizes");
  const char* way = argv[3];
  struct ranks ranks;
  ranks_open(&ranks, atoi(argv[1]), atoi(argv[2]), (2 + MOST_RANKS) * LONGEST);
  if (strcmp(way, "sizes") == 0) sizes(&ranks);
  for (int i = 0; i < 3; i++) {
    if (strcmp(way, kWays[i].name) != 0) continue;
    const struct job job = begin(&ranks, VECTOR);
    kWays[i].run(&job);
    ranks_barrier(&ranks);  // the peers may still read
    show_digest(&job);
  }
  ranks_finish(&ranks);
  ranks_barrier(&ranks);
  return 0;
}
