// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A layer of a mixture of experts. Run one for each rank at the same time:
//
//   urnic run -- ./moe RANK 4 CASE      cases: padded, dispatch, layer
#include "moe.h"

#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "meet.h"

enum { CAPACITY = 24, WORK_US = 1000 };  // of padded slots, in tokens; of an expert for one token

// --- the router ---

// Expert 5 is in demand, expert 7 is hardly ever.
static int expert_by(uint32_t hash) {
  static const int kPopular[16] = {5, 5, 5, 5, 5, 5, 0, 0, 1, 2, 2, 3, 4, 4, 6, 6};
  return hash % 128 == 0 ? 7 : kPopular[hash / 128 % 16];
}

static void route(int rank, int number, int experts[CHOICES]) {
  uint32_t hash = (uint32_t)(rank * TOKENS + number + 1) * 2654435761u;
  experts[0] = expert_by(hash >> 8);
  do {
    hash = hash * 1664525u + 1013904223u;
    experts[1] = expert_by(hash >> 8);
  } while (experts[1] == experts[0]);
}

static struct token token_for(int rank, int number, int expert) {
  struct token token = {.rank = (uint32_t)rank, .number = (uint32_t)number, .expert = (uint32_t)expert};
  for (size_t i = 0; i < sizeof token.data; i++) token.data[i] = (uint8_t)(rank * 101 + number * 31 + (int)i);
  return token;
}

static void count(struct memory* memory, int rank) {
  for (int number = 0; number < TOKENS; number++) {
    int experts[CHOICES];
    route(rank, number, experts);
    for (int i = 0; i < CHOICES; i++) memory->counts[rank][experts[i]]++;
  }
}

// Puts each token into `out` for each of its experts. Expert e has room from `begins[e]` on, for `room`
// tokens.
static void pack(struct memory* memory, int rank, const int begins[EXPERTS], int room) {
  int packed[EXPERTS] = {0};
  for (int number = 0; number < TOKENS; number++) {
    int experts[CHOICES];
    route(rank, number, experts);
    for (int i = 0; i < CHOICES; i++) {
      const int expert = experts[i];
      if (packed[expert] == room) continue;  // dropped
      memory->out[begins[expert] + packed[expert]++] = token_for(rank, number, expert);
    }
  }
}

// Writes `tokens` of them to the rank of the expert, or copies them if that is this rank.
static void dispatch(struct ranks* ranks, struct memory* memory, int expert, int from, int tokens, int to) {
  const size_t bytes = (size_t)tokens * sizeof(struct token);
  if (rank_of(expert) == ranks->rank) memcpy(&memory->in[to], &memory->out[from], bytes);
  if (rank_of(expert) != ranks->rank)
    ranks_write(ranks, rank_of(expert), &memory->out[from], bytes, &memory->in[to],
                DISPATCH + (uint32_t)expert);
}

// --- padded: each rank has room for the same number of tokens at each expert, and always sends so many ---

static void padded(struct ranks* ranks, struct memory* memory) {
  int begins[EXPERTS];
  for (int expert = 0; expert < EXPERTS; expert++) begins[expert] = expert * CAPACITY;
  memset(memory->out, 0xff, sizeof memory->out);  // padding
  pack(memory, ranks->rank, begins, CAPACITY);
  for (int expert = 0; expert < EXPERTS; expert++)
    dispatch(ranks, memory, expert, begins[expert], CAPACITY,
             (expert % (EXPERTS / RANKS) * RANKS + ranks->rank) * CAPACITY);
  for (int expert = 0; expert < EXPERTS; expert++)
    if (rank_of(expert) == ranks->rank) ranks_wait_for(ranks, DISPATCH + (uint32_t)expert, RANKS - 1);
}

// --- exact: counts first, then the tokens that there are ---

static void exchange_counts(struct ranks* ranks, struct memory* memory) {
  uint32_t* row = memory->counts[ranks->rank];
  count(memory, ranks->rank);
  for (int peer = 0; peer < RANKS; peer++)
    if (peer != ranks->rank) ranks_write(ranks, peer, row, sizeof memory->counts[0], row, COUNTS);
  ranks_wait_for(ranks, COUNTS, RANKS - 1);
}

static void exact(struct ranks* ranks, struct memory* memory) {
  exchange_counts(ranks, memory);
  uint32_t(*counts)[EXPERTS] = memory->counts;
  const int rank = ranks->rank;
  int begins[EXPERTS];
  for (int expert = 0; expert < EXPERTS; expert++) begins[expert] = place_in_out(counts, rank, expert);
  pack(memory, rank, begins, TOKENS);
  for (int expert = 0; expert < EXPERTS; expert++)
    if (counts[rank][expert] > 0)
      dispatch(ranks, memory, expert, begins[expert], (int)counts[rank][expert],
               place_in_in(counts, rank, expert));
  for (int expert = 0; expert < EXPERTS; expert++) {
    if (rank_of(expert) != rank) continue;
    printf("expert %d waits for %d WRITEs\n", expert, writes_to(counts, expert));
    ranks_wait_for(ranks, DISPATCH + (uint32_t)expert, writes_to(counts, expert));
  }
}

// The experts of this rank, one after the other, with the tokens of all ranks.
static void work(struct memory* memory, int rank) {
  int tokens = 0;
  for (int source = 0; source < RANKS; source++)
    for (int expert = 0; expert < EXPERTS; expert++)
      if (rank_of(expert) == rank) tokens += (int)memory->counts[source][expert];
  for (int i = 0; i < tokens; i++)
    for (size_t byte = 0; byte < sizeof memory->in[i].data; byte++)
      memory->in[i].data[byte] += (uint8_t)(memory->in[i].expert + 1);
  usleep((useconds_t)(tokens * WORK_US));
}

static void combine(struct ranks* ranks, struct memory* memory) {
  uint32_t(*counts)[EXPERTS] = memory->counts;
  const int rank = ranks->rank;
  for (int expert = 0; expert < EXPERTS; expert++)
    for (int source = 0; source < RANKS; source++)
      if (rank_of(expert) == rank && source != rank && counts[source][expert] > 0)
        send_back(ranks, memory, source, expert);
  for (int expert = 0; expert < EXPERTS; expert++) {
    if (counts[rank][expert] == 0) continue;
    if (rank_of(expert) != rank) ranks_wait_for(ranks, COMBINE + (uint32_t)expert, 1);
    if (rank_of(expert) == rank)
      memcpy(&memory->back[place_in_out(counts, rank, expert)],
             &memory->in[place_in_in(counts, rank, expert)], counts[rank][expert] * sizeof(struct token));
  }
}

int main(int argc, char** argv) {
  if (argc != 4 || atoi(argv[2]) != RANKS || strstr("padded dispatch layer", argv[3]) == NULL)
    fail("usage: moe RANK %d padded|dispatch|layer", RANKS);
  struct ranks ranks;
  ranks_open(&ranks, atoi(argv[1]), RANKS, sizeof(struct memory));
  struct memory* memory = (struct memory*)ranks.end.memory;
  if (strcmp(argv[3], "padded") == 0) padded(&ranks, memory);
  if (strcmp(argv[3], "padded") != 0) exact(&ranks, memory);
  if (strcmp(argv[3], "layer") == 0) {
    work(memory, ranks.rank);
    combine(&ranks, memory);
  }
  ranks_finish(&ranks);
  ranks_barrier(&ranks);
  return 0;
}
