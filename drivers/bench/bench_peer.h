/* Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause */

/* The bench's end of a wire to urnic, `--port bench:PATH`, for simulators written in C and C++. It stands
 * alone: copy it into your bench. BENCH.md has the protocol, and says when each side may go on.
 *
 * A bench that has a clock:
 *
 *     struct bench_peer peer;
 *     const struct bench_hello own = {.latency_ps = 1000000, .mac = {2, 0, 10, 77, 0, 2},
 *                                     .mtu = 4200, .ipv4 = {10, 77, 0, 2}};
 *     if (bench_open(&peer, "/tmp/bench.sock", &own) != 0) ...    // waits for urnic
 *     for (time = 0; bench_advance(&peer, time) == 0; time += period) {
 *       while ((length = bench_receive(&peer, frame, sizeof frame)) > 0) ...
 *       // one cycle; bench_send(&peer, frame, length) sends a frame at this time
 *     }
 *
 * All times are in picoseconds from the beginning of the connection. Functions return -1 when urnic is gone,
 * or breaks the rules of the protocol; bench_why() then says why. Not for several threads at once. */
#ifndef URNIC_BENCH_PEER_H
#define URNIC_BENCH_PEER_H

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BENCH_VERSION 1
#define BENCH_HELLO_BYTES 32
#define BENCH_HEADER_BYTES 16
#define BENCH_MOST_BYTES (BENCH_HEADER_BYTES + 14 + 65535)

struct bench_hello {
  uint64_t latency_ps; /* of the link, in both directions; from 2 ns to a second */
  uint8_t mac[6];
  uint16_t mtu; /* the largest IP packet, in bytes */
  uint8_t ipv4[4];
};

/* A frame that is on its way to the bench. */
struct bench_arrival {
  struct bench_arrival* next;
  uint64_t time_ps;
  size_t bytes;
  uint8_t frame[];
};

struct bench_peer {
  int socket;
  struct bench_hello nic; /* what urnic says of itself */
  uint64_t latency_ps;
  uint64_t now_ps;
  uint64_t granted_ps; /* what urnic has still to send arrives then or later */
  uint64_t told_ps;    /* the last grant that urnic was sent */
  struct bench_arrival* first;
  struct bench_arrival* last;
  const char* why;
  uint8_t message[BENCH_MOST_BYTES];
};

static inline const char* bench_why(const struct bench_peer* peer) {
  return peer->why != NULL ? peer->why : "nothing is wrong";
}

static inline int bench_fail(struct bench_peer* peer, const char* why) {
  peer->why = why;
  return -1;
}

static inline void bench_put(uint8_t* at, uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) at[i] = (uint8_t)(number >> (8 * i));
}

static inline uint64_t bench_get(const uint8_t* at, int bytes) {
  uint64_t number = 0;
  for (int i = 0; i < bytes; ++i) number |= (uint64_t)at[i] << (8 * i);
  return number;
}

/* --- Inside --- */

/* Takes a message that has come. */
static inline int bench_take(struct bench_peer* peer, size_t bytes) {
  const uint8_t* message = peer->message;
  if (bytes < BENCH_HEADER_BYTES) return bench_fail(peer, "a message is too short");
  const uint64_t kind = bench_get(message, 4);
  const uint64_t length = bench_get(message + 4, 4);
  const uint64_t time_ps = bench_get(message + 8, 8);
  if ((kind != 2 && kind != 3) || length != bytes - BENCH_HEADER_BYTES || (kind == 2) != (length == 0)) {
    return bench_fail(peer, "a message is neither a grant nor a frame");
  }
  if (time_ps < peer->granted_ps) return bench_fail(peer, "a time lies before one that was granted");
  peer->granted_ps = time_ps;
  if (kind == 2) return 0;
  struct bench_arrival* const arrival = (struct bench_arrival*)malloc(sizeof *arrival + length);
  if (arrival == NULL) return bench_fail(peer, "there is no memory");
  arrival->next = NULL;
  arrival->time_ps = time_ps;
  arrival->bytes = length;
  memcpy(arrival->frame, message + BENCH_HEADER_BYTES, length);
  if (peer->last != NULL) {
    peer->last->next = arrival;
  } else {
    peer->first = arrival;
  }
  peer->last = arrival;
  return 0;
}

/* Reads all that has come. 1: something has. */
static inline int bench_read(struct bench_peer* peer) {
  int has_read = 0;
  for (;;) {
    const ssize_t bytes = recv(peer->socket, peer->message, sizeof peer->message, MSG_DONTWAIT);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0 && errno == EAGAIN) return has_read;
    if (bytes <= 0) return bench_fail(peer, "urnic has closed the connection");
    if (bench_take(peer, (size_t)bytes) != 0) return -1;
    has_read = 1;
  }
}

/* Waits at most so long; -1 ms: for as long as it takes. */
static inline void bench_wait(struct bench_peer* peer, short events, int patience_ms) {
  struct pollfd descriptor = {peer->socket, events, 0};
  poll(&descriptor, 1, patience_ms);
}

/* Where there is no room it reads, as urnic may wait for room itself. */
static inline int bench_write(struct bench_peer* peer, const uint8_t* header, const uint8_t* frame,
                              size_t bytes) {
  struct iovec parts[2] = {{(void*)header, BENCH_HEADER_BYTES}, {(void*)frame, bytes}};
  struct msghdr message;
  memset(&message, 0, sizeof message);
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  while (sendmsg(peer->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
    if (errno != EAGAIN && errno != EINTR) return bench_fail(peer, "urnic has closed the connection");
    bench_wait(peer, POLLIN | POLLOUT, -1);
    if (bench_read(peer) < 0) return -1;
  }
  return 0;
}

static inline int bench_grant(struct bench_peer* peer) {
  uint8_t header[BENCH_HEADER_BYTES];
  const uint64_t grant_ps = peer->now_ps + peer->latency_ps;
  if (grant_ps <= peer->told_ps) return 0;
  bench_put(header, 2, 4);
  bench_put(header + 4, 0, 4);
  bench_put(header + 8, grant_ps, 8);
  if (bench_write(peer, header, NULL, 0) != 0) return -1;
  peer->told_ps = grant_ps;
  return 0;
}

/* --- The bench's calls --- */

/* Speaks with the urnic that has connected to `socket` (AF_UNIX, SOCK_SEQPACKET). */
static inline int bench_begin(struct bench_peer* peer, int socket, const struct bench_hello* own) {
  uint8_t hello[BENCH_HELLO_BYTES];
  memset(peer, 0, sizeof *peer);
  memset(hello, 0, sizeof hello);
  peer->socket = socket;
  peer->latency_ps = peer->granted_ps = peer->told_ps = own->latency_ps;
  bench_put(hello, 1, 4);
  bench_put(hello + 4, BENCH_VERSION, 4);
  bench_put(hello + 8, own->latency_ps, 8);
  memcpy(hello + 16, own->mac, 6);
  bench_put(hello + 22, own->mtu, 2);
  memcpy(hello + 24, own->ipv4, 4);
  if (send(socket, hello, sizeof hello, MSG_NOSIGNAL) < 0) return bench_fail(peer, "urnic is gone");
  const ssize_t bytes = recv(socket, peer->message, sizeof peer->message, 0);
  if (bytes < 8 || bench_get(peer->message, 4) != 1) return bench_fail(peer, "urnic says no hello");
  if (bench_get(peer->message + 4, 4) != BENCH_VERSION) {
    return bench_fail(peer, "urnic speaks another version of the protocol");
  }
  if (bytes != BENCH_HELLO_BYTES) return bench_fail(peer, "the hello of urnic has another length");
  memcpy(peer->nic.mac, peer->message + 16, 6);
  peer->nic.mtu = (uint16_t)bench_get(peer->message + 22, 2);
  memcpy(peer->nic.ipv4, peer->message + 24, 4);
  return 0;
}

/* A socket at which urnic can connect, or -1 and errno. A file that is there is replaced. */
static inline int bench_listen(const char* path) {
  struct sockaddr_un address;
  memset(&address, 0, sizeof address);
  address.sun_family = AF_UNIX;
  if (strlen(path) >= sizeof address.sun_path) return errno = ENAMETOOLONG, -1;
  strcpy(address.sun_path, path);
  const int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (listener < 0) return -1;
  unlink(path);
  if (bind(listener, (const struct sockaddr*)&address, sizeof address) == 0 && listen(listener, 1) == 0) {
    return listener;
  }
  close(listener);
  return -1;
}

/* Listens at `path`, and speaks with the first urnic that connects. */
static inline int bench_open(struct bench_peer* peer, const char* path, const struct bench_hello* own) {
  const int listener = bench_listen(path);
  const int socket = listener >= 0 ? accept(listener, NULL, NULL) : -1;
  if (listener >= 0) close(listener);
  if (socket < 0) return bench_fail(peer, strerror(errno));
  return bench_begin(peer, socket, own);
}

/* The bench is at `time_ps` now, which is not before its last time. Waits until urnic has granted that, so
 * many milliseconds of real time; -1 ms: for as long as it takes. 1: urnic has not, and the bench stays where
 * it was. */
static inline int bench_advance_within(struct bench_peer* peer, uint64_t time_ps, int patience_ms) {
  for (int has_waited = 0; peer->granted_ps <= time_ps;) {
    const int read = bench_read(peer);
    if (read < 0) return -1;
    if (read > 0) continue;
    if (bench_grant(peer) != 0) return -1;
    if (has_waited) return 1;
    has_waited = patience_ms >= 0;
    bench_wait(peer, POLLIN, patience_ms);
  }
  peer->now_ps = time_ps;
  /* Not for each cycle, but early enough that urnic need not wait. */
  if (time_ps + peer->latency_ps < peer->told_ps + peer->latency_ps / 4) return 0;
  return bench_grant(peer);
}

/* The same, without an end to its patience. */
static inline int bench_advance(struct bench_peer* peer, uint64_t time_ps) {
  return bench_advance_within(peer, time_ps, -1);
}

/* For a bench in which nothing happens, until a frame arrives: goes where urnic is, or where a frame arrives
 * that is on its way, and no further. So time stands still while neither side has anything to do. 1: a frame
 * has arrived at peer->now_ps. 0: none has, within so many milliseconds of real time. */
static inline int bench_idle(struct bench_peer* peer, int patience_ms) {
  for (int has_waited = 0;;) {
    const int read = bench_read(peer);
    if (read < 0 && peer->first == NULL) return -1;
    uint64_t target_ps = peer->granted_ps - peer->latency_ps;
    if (peer->first != NULL) {
      const uint64_t longest_ps = peer->now_ps + peer->latency_ps - 1000;
      target_ps = peer->first->time_ps < longest_ps ? peer->first->time_ps : longest_ps;
    }
    const int may_go = target_ps > peer->now_ps && target_ps < peer->granted_ps;
    if (may_go) peer->now_ps = target_ps;
    if (bench_grant(peer) != 0 && peer->first == NULL) return -1;
    if (peer->first != NULL && peer->first->time_ps <= peer->now_ps) return 1;
    if (may_go || read > 0) continue;
    if (has_waited || read < 0) return read < 0 ? -1 : 0;
    has_waited = 1;
    bench_wait(peer, POLLIN, patience_ms);
  }
}

/* The next frame that has arrived by now, up to `room` bytes of it; its length, or 0 if there is none. */
static inline size_t bench_receive(struct bench_peer* peer, uint8_t* frame, size_t room) {
  struct bench_arrival* const arrival = peer->first;
  if (arrival == NULL || arrival->time_ps > peer->now_ps) return 0;
  const size_t bytes = arrival->bytes;
  memcpy(frame, arrival->frame, bytes < room ? bytes : room);
  peer->first = arrival->next;
  if (peer->first == NULL) peer->last = NULL;
  free(arrival);
  return bytes;
}

/* Sends a frame, from its destination MAC on and without a frame check sequence. It arrives one latency from
 * now. */
static inline int bench_send(struct bench_peer* peer, const uint8_t* frame, size_t bytes) {
  uint8_t header[BENCH_HEADER_BYTES];
  bench_put(header, 3, 4);
  bench_put(header + 4, bytes, 4);
  bench_put(header + 8, peer->now_ps + peer->latency_ps, 8);
  return bench_write(peer, header, frame, bytes);
}

static inline void bench_close(struct bench_peer* peer) {
  while (peer->first != NULL) {
    struct bench_arrival* const next = peer->first->next;
    free(peer->first);
    peer->first = next;
  }
  peer->last = NULL;
  close(peer->socket);
}

/* For a device that knows no ARP: answers a request for `ipv4`, which has 60 bytes then, and says that it has
 * `mac`. 1: it was one, and `frame` is the answer. */
static inline int bench_answer_arp(uint8_t* frame, size_t bytes, const uint8_t* mac, const uint8_t* ipv4) {
  static const uint8_t kRequest[10] = {8, 6, 0, 1, 8, 0, 6, 4, 0, 1};
  if (bytes < 42 || memcmp(frame + 12, kRequest, sizeof kRequest) != 0) return 0;
  if (memcmp(frame + 38, ipv4, 4) != 0) return 0;
  memcpy(frame, frame + 6, 6);
  memcpy(frame + 6, mac, 6);
  frame[21] = 2;
  memcpy(frame + 32, frame + 22, 10); /* the one that asks is the target of the answer */
  memcpy(frame + 22, mac, 6);
  memcpy(frame + 28, ipv4, 4);
  return 1;
}

#endif
