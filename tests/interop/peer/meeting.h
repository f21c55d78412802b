// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* Meeting: how the two sides find each other and keep in step, over TCP. */
#ifndef INTEROP_PEER_MEETING_H
#define INTEROP_PEER_MEETING_H

#include <stdbool.h>
#include <stddef.h>

/* Waits for the peer at `port` of any address. */
void meet_as_server(const char* port);
/* Goes to the peer, who may be late. */
void meet_as_client(const char* host, const char* port);

/* Both sides give `bytes` bytes and get the other's. */
void exchange(const void* own, void* peers, size_t bytes);

/* Returns when the peer has come to the same step, too. */
void in_step(const char* step);

/* Whether the peer has come to its next step, or is gone. */
bool peer_waits(void);

#endif
