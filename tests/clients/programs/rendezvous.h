// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* For programs of a test that start together and have numbers, from 0: each tells something to all others, over
 * TCP. One thread. */
#ifndef TESTS_CLIENTS_RENDEZVOUS_H
#define TESTS_CLIENTS_RENDEZVOUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MOST_RANKS = 64 };

struct rendezvous {
  int rank, size;
  int sockets[MOST_RANKS]; /* rank 0 has one for each of the others, these have one to rank 0 */
};

/* Rank 0 listens on `port` of `host`, an IPv4 address of its own in text, 127.0.0.1 without one; the others connect
 * to it and keep trying. False when not all are there after `seconds`; later, rendezvous_share() waits that long,
 * too. */
bool rendezvous_open(struct rendezvous* meeting, int rank, int size, const char* host, uint16_t port,
                     int seconds);

/* All programs call it with the same number of bytes; then `all` has the bytes of rank r at r * bytes. No call
 * returns before the last program has called it. False when a program has gone, or takes too long. */
bool rendezvous_share(struct rendezvous* meeting, const void* own, void* all, size_t bytes);

void rendezvous_close(struct rendezvous* meeting);

#endif
