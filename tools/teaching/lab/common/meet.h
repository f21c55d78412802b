// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// How two programs find each other before the first RDMA packet: a plain TCP connection.
//
// RDMA needs to know where to send before it can send anything: the peer's address (GID), queue pair number,
// PSN, and for one-sided work an address and a key in its memory. Verbs do not carry that; programs use what
// they have (here TCP, elsewhere rdma_cm, MPI's launcher, a key-value store).
#pragma once

#include <stddef.h>

// With host NULL waits for the other program (the server), otherwise connects to it (the client; tries for
// ten seconds). The TCP port is 18620, or what the environment variable LAB_PORT says. Returns a socket.
int meet(const char* host);

// A server of several clients: waits for `count` programs that call meet(), and puts a socket to each into
// `clients`.
void meet_many(int* clients, int count);

// Sends `bytes` bytes, for which the other program calls hear().
void tell(int socket, const void* mine, size_t bytes);

// Receives `bytes` bytes, for which the other program calls tell().
void hear(int socket, void* theirs, size_t bytes);

// Sends `mine` and receives `theirs`, both of `bytes` bytes. Both programs must call it.
void exchange(int socket, const void* mine, void* theirs, size_t bytes);

// Returns when both programs have called it: a barrier.
void wait_for_each_other(int socket);

// Prints a message as printf() does, and ends the program with 1. %m in the format stands for the words of
// errno.
void fail(const char* format, ...) __attribute__((format(printf, 1, 2), noreturn));
