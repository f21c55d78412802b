// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "meet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SECONDS = 10 };

static const char* tcp_port(void) {
  const char* port = getenv("LAB_PORT");
  return port != NULL && *port != '\0' ? port : "18620";
}

// A peer that does not answer must not hang this program: both ends give up after a while.
static void limit_waiting(int socket) {
  const struct timeval limit = {.tv_sec = SECONDS};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

static void wait_for_clients(const struct addrinfo* place, int* clients, int count) {
  const int listener = socket(place->ai_family, SOCK_STREAM, 0);
  const int yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  limit_waiting(listener);
  if (bind(listener, place->ai_addr, place->ai_addrlen) != 0 || listen(listener, count) != 0)
    fail("TCP port %s: does another server run? LAB_PORT=... takes another port: %m", tcp_port());
  for (int i = 0; i < count; i++) {
    clients[i] = accept(listener, NULL, NULL);
    if (clients[i] < 0) fail("%d of %d clients came within %d s", i, count, SECONDS);
  }
  close(listener);
}

static int connect_to_server(const struct addrinfo* place, const char* host) {
  for (int tries = 0; tries < SECONDS * 100; tries++) {
    const int server = socket(place->ai_family, SOCK_STREAM, 0);
    if (connect(server, place->ai_addr, place->ai_addrlen) == 0) return server;
    close(server);
    usleep(10000);
  }
  fail("no server at %s, TCP port %s: start the same command without the host's name first", host, tcp_port());
}

static void meet_at(const char* host, int* sockets, int count) {
  alarm(30);  // no program of a lab runs longer, not even one that waits for a completion that never comes
  const struct addrinfo hints = {
      .ai_family = AF_INET, .ai_socktype = SOCK_STREAM, .ai_flags = host == NULL ? AI_PASSIVE : 0};
  struct addrinfo* place = NULL;
  const int error = getaddrinfo(host, tcp_port(), &hints, &place);
  if (error != 0) fail("%s: %s", host != NULL ? host : "the server's own address", gai_strerror(error));
  if (host == NULL) wait_for_clients(place, sockets, count);
  if (host != NULL) sockets[0] = connect_to_server(place, host);
  freeaddrinfo(place);
  for (int i = 0; i < count; i++) limit_waiting(sockets[i]);
}

int meet(const char* host) {
  int met;
  meet_at(host, &met, 1);
  return met;
}

void meet_many(int* clients, int count) {
  meet_at(NULL, clients, count);
}

void tell(int socket, const void* mine, size_t bytes) {
  if (send(socket, mine, bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
    fail("the other program has ended: see what it said");
}

void hear(int socket, void* theirs, size_t bytes) {
  if (recv(socket, theirs, bytes, MSG_WAITALL) != (ssize_t)bytes)
    fail("the other program has ended, or waits for something else: see what it said");
}

void exchange(int socket, const void* mine, void* theirs, size_t bytes) {
  tell(socket, mine, bytes);
  hear(socket, theirs, bytes);
}

void wait_for_each_other(int socket) {
  char theirs;
  exchange(socket, "", &theirs, 1);
}

void fail(const char* format, ...) {
  const int error = errno;  // fflush() may change it
  va_list arguments;
  va_start(arguments, format);
  fflush(stdout);
  errno = error;
  vfprintf(stderr, format, arguments);
  fprintf(stderr, "\n");
  va_end(arguments);
  exit(1);
}
