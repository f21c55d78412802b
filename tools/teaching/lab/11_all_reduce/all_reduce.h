// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// An all-reduce: each rank has a vector, and all get the sum of all vectors. The ways to it are functions:
// ring() and direct(), in ways.c, are yours.
#pragma once

#include <stddef.h>

#include "ranks.h"

// What the immediates of WRITEs mean. 0 to 15 are the steps of the ring.
enum { READY = 100, DIGEST = 101 };

struct job {
  struct ranks* ranks;
  int floats;     // of a piece: the vector has as many pieces as there are ranks
  size_t bytes;   // of a piece
  float* vector;  // what this rank has
  float* result;  // where the sum must stand at the end
  float* inbox;   // room for the vectors of all ranks: for what comes from the peers
};

// Where piece `number` begins, in a vector or in the inbox.
float* piece(const struct job* job, float* memory, int number);

// Adds a piece to another one.
void add(const struct job* job, float* to, const float* other);

// Tells each peer that this rank has come so far, and waits until all peers have told the same.
void all_are_ready(const struct job* job);

void ring(const struct job* job);
void direct(const struct job* job);
