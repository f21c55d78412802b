// Two ways to an all-reduce, finished.
#include <string.h>

#include "all_reduce.h"

// The ring, first half (reduce-scatter): the piece that a rank sends in this step. Each piece begins at the
// rank of its number, and goes one rank to the right in each step; there the rank adds its own numbers.
static int piece_to_reduce(int rank, int step, int count) {
  return (rank - step + count) % count;
}

// Second half (all-gather): after the first half, a rank has the whole sum of one piece. Its number is one
// more than the rank's own, and 0 for the last rank.
static int piece_to_gather(int rank, int step, int count) {
  return (rank + 1 - step + count) % count;
}

void ring(const struct job* job) {
  struct ranks* ranks = job->ranks;
  const int count = ranks->count, rank = ranks->rank;
  const int left = (rank + count - 1) % count, right = (rank + 1) % count;
  memcpy(job->result, job->vector, job->bytes * (size_t)count);
  for (int step = 0; step < count - 1; step++) {
    const float* mine = piece(job, job->result, piece_to_reduce(rank, step, count));
    float* came = piece(job, job->inbox, step);
    ranks_write(ranks, right, mine, job->bytes, came, step);
    ranks_wait_for(ranks, step, 1);
    add(job, piece(job, job->result, piece_to_reduce(left, step, count)), came);
  }
  for (int step = 0; step < count - 1; step++) {
    const float* mine = piece(job, job->result, piece_to_gather(rank, step, count));
    ranks_write(ranks, right, mine, job->bytes, mine, count - 1 + step);
    ranks_wait_for(ranks, count - 1 + step, 1);
  }
}

// The direct way: the rank whose vector is added as the nth, counted from 0, for piece `number`. The order is
// as in the ring.
static int nth_to_add(int number, int n, int count) {
  return (number + n) % count;
}

void direct(const struct job* job) {
  struct ranks* ranks = job->ranks;
  const int count = ranks->count, rank = ranks->rank;
  all_are_ready(job);
  // My piece, from all vectors.
  memcpy(piece(job, job->inbox, rank), piece(job, job->vector, rank), job->bytes);
  for (int i = 1; i < count; i++) {
    const int peer = (rank + i) % count;
    ranks_read(ranks, peer, piece(job, job->vector, rank), job->bytes, piece(job, job->inbox, peer));
  }
  ranks_finish(ranks);
  memcpy(piece(job, job->result, rank), piece(job, job->inbox, nth_to_add(rank, 0, count)), job->bytes);
  for (int n = 1; n < count; n++)
    add(job, piece(job, job->result, rank), piece(job, job->inbox, nth_to_add(rank, n, count)));
  all_are_ready(job);
  // The other pieces, each from the rank that has summed it.
  for (int i = 1; i < count; i++) {
    const int peer = (rank + i) % count;
    ranks_read(ranks, peer, piece(job, job->result, peer), job->bytes, piece(job, job->result, peer));
  }
  ranks_finish(ranks);
}
