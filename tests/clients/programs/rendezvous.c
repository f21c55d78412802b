// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "rendezvous.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "test_client.h"

static bool send_whole(int socket, const void* bytes, size_t count) {
  return send(socket, bytes, count, MSG_NOSIGNAL) == (ssize_t)count;
}

static bool receive_whole(int socket, void* bytes, size_t count) {
  return recv(socket, bytes, count, MSG_WAITALL) == (ssize_t)count;
}

static void be_patient(int socket, int seconds) {
  const struct timeval patience = {.tv_sec = seconds};
  const int one = 1;
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

static bool gather(struct rendezvous* meeting, const struct sockaddr_in* address, int seconds) {
  const int one = 1;
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  be_patient(listener, seconds); /* of accept() */
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  bool all_there = bind(listener, (const struct sockaddr*)address, sizeof *address) == 0 &&
                   listen(listener, MOST_RANKS) == 0;
  for (int expected = 1; all_there && expected < meeting->size; expected++) {
    const int newcomer = accept(listener, NULL, NULL);
    int rank = 0;
    if (newcomer >= 0) be_patient(newcomer, seconds);
    all_there = newcomer >= 0 && receive_whole(newcomer, &rank, sizeof rank) && rank > 0 &&
                rank < meeting->size && meeting->sockets[rank] < 0;
    if (all_there) {
      meeting->sockets[rank] = newcomer;
    } else if (newcomer >= 0) {
      close(newcomer);
    }
  }
  close(listener);
  return all_there;
}

static bool join(struct rendezvous* meeting, const struct sockaddr_in* address, int seconds) {
  const double deadline = seconds_now() + seconds;
  while (seconds_now() <= deadline) {
    const int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(tcp, (const struct sockaddr*)address, sizeof *address) == 0) {
      be_patient(tcp, seconds);
      meeting->sockets[0] = tcp;
      return send_whole(tcp, &meeting->rank, sizeof meeting->rank);
    }
    close(tcp);
    usleep(5000);
  }
  return false;
}

bool rendezvous_open(struct rendezvous* meeting, int rank, int size, const char* host, uint16_t port,
                     int seconds) {
  if (size < 1 || size > MOST_RANKS || rank < 0 || rank >= size) return false;
  *meeting = (struct rendezvous){.rank = rank, .size = size};
  for (int i = 0; i < MOST_RANKS; i++) meeting->sockets[i] = -1;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
  if (inet_pton(AF_INET, host != NULL ? host : "127.0.0.1", &address.sin_addr) != 1) return false;
  return rank == 0 ? gather(meeting, &address, seconds) : join(meeting, &address, seconds);
}

bool rendezvous_share(struct rendezvous* meeting, const void* own, void* all, size_t bytes) {
  char* const table = all;
  const size_t whole = bytes * (size_t)meeting->size;
  if (meeting->rank != 0) {
    return send_whole(meeting->sockets[0], own, bytes) && receive_whole(meeting->sockets[0], table, whole);
  }
  memcpy(table, own, bytes);
  for (int rank = 1; rank < meeting->size; rank++) {
    if (!receive_whole(meeting->sockets[rank], table + (size_t)rank * bytes, bytes)) return false;
  }
  for (int rank = 1; rank < meeting->size; rank++) {
    if (!send_whole(meeting->sockets[rank], table, whole)) return false;
  }
  return true;
}

void rendezvous_close(struct rendezvous* meeting) {
  for (int i = 0; i < MOST_RANKS; i++) {
    if (meeting->sockets[i] >= 0) close(meeting->sockets[i]);
    meeting->sockets[i] = -1;
  }
}
