// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Programs of one kind, with ranks from 0 to count - 1, each connected to each other one: what MPI and NCCL
// call a communicator.
//
// The memory of all of them has the same layout, so an address in the own memory also names the same place in
// a peer's memory (NVSHMEM calls that symmetric memory). Data go by WRITE with immediate, where the immediate
// tells the peer's program what has come, or by READ.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "end.h"

enum { MOST_RANKS = 8, IMMEDIATES = 256 };

struct ranks {
  int rank, count;
  // The device, the completion queue and the memory, which all connections share; and the same with the queue
  // pair that leads to a peer, and with this peer's address.
  struct end end, to[MOST_RANKS];
  // WRITEs that have come, by their immediate, without those that ranks_wait_for() has returned for.
  int arrived[IMMEDIATES];
  // WRITEs and READs of this rank that are not complete.
  int unfinished;
  // TCP: rank 0 has a socket to each other one, the others have one to rank 0.
  int sockets[MOST_RANKS];
};

// Meets the other ranks on this host, and connects a queue pair to each. Returns when all are connected.
void ranks_open(struct ranks* ranks, int rank, int count, size_t bytes);

// Writes `bytes` from `from` in this rank's memory to `to` in the peer's. Returns when the WRITE is posted.
void ranks_write(struct ranks* ranks, int peer, const void* from, size_t bytes, const void* to,
                 uint32_t immediate);

// Reads `bytes` from `from` in the peer's memory to `to` in this rank's. Returns when the READ is posted.
void ranks_read(struct ranks* ranks, int peer, const void* from, size_t bytes, void* to);

// Returns when `count` WRITEs with this immediate have come: their data are in memory.
void ranks_wait_for(struct ranks* ranks, uint32_t immediate, int count);

// Returns when all WRITEs and READs of this rank are complete.
void ranks_finish(struct ranks* ranks);

// Each rank puts in `mine`, and gets in `all` what each has put in, by rank. It goes over TCP.
void ranks_exchange(struct ranks* ranks, const void* mine, void* all, size_t bytes);

// Returns when all ranks have called it. It goes over TCP.
void ranks_barrier(struct ranks* ranks);
