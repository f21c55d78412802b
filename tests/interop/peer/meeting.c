// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "meeting.h"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "verdict.h"

enum { TRIES = 100, PAUSE_US = 100000, LONGEST_STEP = 32 };

static int tcp = -1;

void meet_as_server(const char* port) {
  const struct addrinfo hint = {.ai_family = AF_INET6, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
  struct addrinfo* place = NULL;
  must(getaddrinfo(NULL, port, &hint, &place) == 0, "no such port: %s", port);
  const int listener = socket(place->ai_family, SOCK_STREAM, 0);
  const int one = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  must(bind(listener, place->ai_addr, place->ai_addrlen) == 0 && listen(listener, 1) == 0,
       "cannot listen on port %s", port);
  tcp = accept(listener, NULL, NULL);
  must(tcp >= 0, "no peer came");
  close(listener);
  freeaddrinfo(place);
}

void meet_as_client(const char* host, const char* port) {
  const struct addrinfo hint = {.ai_socktype = SOCK_STREAM};
  struct addrinfo* place = NULL;
  must(getaddrinfo(host, port, &hint, &place) == 0, "no such place: %s, port %s", host, port);
  for (int i = 0; i < TRIES; i++) {
    tcp = socket(place->ai_family, SOCK_STREAM, 0);
    if (connect(tcp, place->ai_addr, place->ai_addrlen) == 0) {
      freeaddrinfo(place);
      return;
    }
    close(tcp);
    usleep(PAUSE_US);
  }
  must(false, "no peer is at %s, port %s", host, port);
}

void exchange(const void* own, void* peers, size_t bytes) {
  must(send(tcp, own, bytes, MSG_NOSIGNAL) == (ssize_t)bytes, "the peer is gone");
  must(recv(tcp, peers, bytes, MSG_WAITALL) == (ssize_t)bytes, "the peer is gone");
}

void in_step(const char* step) {
  char own[LONGEST_STEP] = "", peers[LONGEST_STEP] = "";
  strncpy(own, step, sizeof own - 1);
  exchange(own, peers, sizeof own);
  must(memcmp(own, peers, sizeof own) == 0, "we are at '%s', the peer is at '%.31s'", own, peers);
}

bool peer_waits(void) {
  struct pollfd descriptor = {.fd = tcp, .events = POLLIN};
  return poll(&descriptor, 1, 0) > 0;
}
