// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* What N programs send each other in an exchange of all with all, whatever carries it.
 *
 * In each round each program sends each other one two messages of random length, a WRITE and a SEND, which the other
 * one verifies to the byte. No program is more than WINDOW rounds ahead of what it has received from a peer. */
#ifndef TESTS_CLIENTS_ALL_TO_ALL_H
#define TESTS_CLIENTS_ALL_TO_ALL_H

#include <stdint.h>

#include "pattern.h"

enum {
  WINDOW = 4,
  SLOTS = 2 * WINDOW, /* a peer may be WINDOW rounds ahead of us, and we of it */
  LONGEST = 16384,
  PATIENCE_S = 60
};

enum message { WRITE = 1, SEND };

/* The first words of a SEND; pattern follows. */
static const uint64_t kNotice = 0x616c6c2d746f2d61;
struct notice {
  uint64_t kind, round;
};

/* Of what a program sends to rank `to` in a round; `own_seed` is the sender's, which both know. */
static inline uint64_t message_seed(uint64_t own_seed, int to, uint64_t round, int kind) {
  return pattern_mix(own_seed ^ (uint64_t)to << 56 ^ (uint64_t)kind << 48 ^ round);
}

/* Short, around a packet, or anything. */
static inline uint32_t message_length(uint64_t seed, uint32_t least) {
  const uint64_t drawn = pattern_mix(~seed);
  const uint32_t most = drawn % 3 == 0 ? 64 : drawn % 3 == 1 ? 4200 : LONGEST;
  return least + (uint32_t)(drawn / 3 % (most - least + 1));
}

#endif
