// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* all_to_all_tcp: the exchange of all_to_all, over TCP, for comparison.
 *
 *   all_to_all_tcp --rank R --size N --port PORT [--rounds N] [--spin 1]
 *
 * The two messages of a round go through the socket of the two programs one after the other. Both ends work out
 * the lengths of the messages, so nothing else is sent. The programs sleep in poll() until a socket can be read;
 * with --spin they poll without end.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "all_to_all.h"
#include "rendezvous.h"
#include "test_client.h"

struct introduction {
  uint64_t seed;
  uint16_t port;
};

struct messages {
  uint64_t written[LONGEST / 8], sent[LONGEST / 8];
};

struct peer {
  int fd;
  uint64_t posted, sent, received;   /* rounds */
  size_t sent_bytes, received_bytes; /* of the round in progress */
  struct messages out[SLOTS], in;
};

static struct rendezvous meeting;
static struct introduction own, all[MOST_RANKS];
static struct peer peers[MOST_RANKS];
static int rank = -1, size;
static bool spins;
static uint64_t rounds = 100, bytes_verified;

/* --- Connections --- */

static int listen_somewhere(void) {
  struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof here;
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(listener, (const struct sockaddr*)&here, sizeof here) != 0 || listen(listener, MOST_RANKS) != 0 ||
      getsockname(listener, (struct sockaddr*)&here, &length) != 0)
    broken("bind, listen: %m");
  own.port = ntohs(here.sin_port);
  return listener;
}

static void use(int number, int fd) {
  const int one = 1;
  if (fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) != 0) broken("a connection: %m");
  peers[number].fd = fd;
}

/* To all below us; all above us connect to us, and say who they are. */
static void connect_all(int listener) {
  for (int number = 0; number < rank; number++) {
    const struct sockaddr_in there = {.sin_family = AF_INET,
                                      .sin_port = htons(all[number].port),
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (const struct sockaddr*)&there, sizeof there) != 0) broken("connect: %m");
    if (send(fd, &rank, sizeof rank, 0) != sizeof rank) broken("send: %m");
    use(number, fd);
  }
  for (int i = rank + 1; i < size; i++) {
    const int fd = accept(listener, NULL, NULL);
    int number = -1;
    if (recv(fd, &number, sizeof number, MSG_WAITALL) != sizeof number || number <= rank || number >= size)
      broken("a stranger has connected");
    use(number, fd);
  }
  close(listener);
}

/* --- Messages --- */

static uint32_t length_of(int from, int to, uint64_t round, int kind) {
  return message_length(message_seed(all[from].seed, to, round, kind),
                        kind == SEND ? sizeof(struct notice) : 0);
}

static void fill_round(int number) {
  const uint64_t round = peers[number].posted++;
  struct messages* const out = &peers[number].out[round % SLOTS];
  pattern_fill(out->written, length_of(rank, number, round, WRITE),
               message_seed(own.seed, number, round, WRITE));
  pattern_fill(out->sent, length_of(rank, number, round, SEND), message_seed(own.seed, number, round, SEND));
  *(struct notice*)out->sent = (struct notice){.kind = kNotice, .round = round};
}

static void verify(const uint64_t* words, uint32_t skipped, uint32_t bytes, uint64_t seed, int from) {
  const uint32_t wrong =
      skipped + pattern_difference(words + skipped / 8, bytes - skipped, seed + skipped / 8);
  if (wrong != bytes) broken("a message from rank %d differs near byte %u of %u", from, wrong, bytes);
  bytes_verified += bytes;
}

static void take_round(int from) {
  struct peer* const peer = &peers[from];
  const uint64_t round = peer->received++;
  const struct notice* const notice = (const struct notice*)peer->in.sent;
  if (notice->kind != kNotice || notice->round != round) broken("rank %d sent something else", from);
  verify(peer->in.sent, sizeof *notice, length_of(from, rank, round, SEND),
         message_seed(all[from].seed, rank, round, SEND), from);
  verify(peer->in.written, 0, length_of(from, rank, round, WRITE),
         message_seed(all[from].seed, rank, round, WRITE), from);
}

/* What is missing of two messages of which `done` bytes are over. */
static int missing(struct iovec* parts, size_t done, struct messages* messages, uint32_t written,
                   uint32_t sent) {
  int count = 0;
  if (done < written)
    parts[count++] = (struct iovec){.iov_base = (char*)messages->written + done, .iov_len = written - done};
  const size_t skipped = done < written ? 0 : done - written;
  if (skipped < sent)
    parts[count++] = (struct iovec){.iov_base = (char*)messages->sent + skipped, .iov_len = sent - skipped};
  return count;
}

/* Bytes that went over; 0 when the socket has no more, or no room. */
static size_t transfer(int fd, struct iovec* parts, int count, bool sends) {
  struct msghdr message = {.msg_iov = parts, .msg_iovlen = (size_t)count};
  const ssize_t bytes =
      sends ? sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) : recvmsg(fd, &message, MSG_DONTWAIT);
  if (bytes == 0) broken("a peer has gone");
  if (bytes < 0 && errno != EAGAIN) broken("a connection: %m");
  return bytes < 0 ? 0 : (size_t)bytes;
}

static bool send_to(int number) {
  struct peer* const peer = &peers[number];
  bool worked = false;
  while (peer->sent < peer->posted) {
    const uint32_t written = length_of(rank, number, peer->sent, WRITE),
                   sent = length_of(rank, number, peer->sent, SEND);
    struct iovec parts[2];
    const int count = missing(parts, peer->sent_bytes, &peer->out[peer->sent % SLOTS], written, sent);
    const size_t bytes = transfer(peer->fd, parts, count, true);
    if (bytes == 0) return worked;
    worked = true;
    peer->sent_bytes += bytes;
    if (peer->sent_bytes < written + sent) continue;
    peer->sent++;
    peer->sent_bytes = 0;
  }
  return worked;
}

static bool receive_from(int number) {
  struct peer* const peer = &peers[number];
  bool worked = false;
  while (peer->received < rounds) {
    const uint32_t written = length_of(number, rank, peer->received, WRITE),
                   sent = length_of(number, rank, peer->received, SEND);
    struct iovec parts[2];
    const int count = missing(parts, peer->received_bytes, &peer->in, written, sent);
    const size_t bytes = transfer(peer->fd, parts, count, false);
    if (bytes == 0) return worked;
    worked = true;
    peer->received_bytes += bytes;
    if (peer->received_bytes < written + sent) continue;
    peer->received_bytes = 0;
    take_round(number);
  }
  return worked;
}

/* --- The exchange --- */

static void sleep_for_sockets(void) {
  struct pollfd waiting[MOST_RANKS];
  for (int number = 0; number < size; number++) {
    const struct peer* const peer = &peers[number];
    const short events = (short)(POLLIN | (peer->sent < peer->posted ? POLLOUT : 0));
    waiting[number] = (struct pollfd){.fd = number == rank ? -1 : peer->fd, .events = events};
  }
  if (poll(waiting, (nfds_t)size, PATIENCE_S * 1000) <= 0)
    broken("nothing has happened for %d s", PATIENCE_S);
}

static void talk(void) {
  for (;;) {
    bool done = true, worked = false;
    for (int number = 0; number < size; number++) {
      struct peer* const peer = &peers[number];
      if (number == rank) continue;
      while (peer->posted < rounds && peer->posted < peer->received + WINDOW &&
             peer->posted < peer->sent + SLOTS)
        fill_round(number);
      worked |= send_to(number);
      worked |= receive_from(number);
      done = done && peer->sent == rounds && peer->received == rounds;
    }
    if (done) return;
    if (!worked && !spins) sleep_for_sockets();
  }
}

int main(int argc, char** argv) {
  int port = 0;
  const struct program_option options[] = {{"--rank", OPTION_INT, &rank},   {"--size", OPTION_INT, &size},
                                           {"--port", OPTION_INT, &port},   {"--rounds", OPTION_U64, &rounds},
                                           {"--spin", OPTION_BOOL, &spins}, {.name = NULL}};
  read_options(argc, argv, options);
  if (size < 2 || size > MOST_RANKS || rank < 0 || rank >= size || port == 0)
    broken("say --rank R --size N --port PORT, with N from 2 to %d", MOST_RANKS);

  if (getrandom(&own.seed, sizeof own.seed, 0) != sizeof own.seed) broken("no random numbers");
  const int listener = listen_somewhere();
  if (!rendezvous_open(&meeting, rank, size, NULL, (uint16_t)port, PATIENCE_S) ||
      !rendezvous_share(&meeting, &own, all, sizeof own))
    broken("not all programs are there");
  connect_all(listener);
  char everybody[MOST_RANKS];
  if (!rendezvous_share(&meeting, "r", everybody, 1)) broken("not all programs are ready");
  const double started = seconds_now();
  talk();
  const double took = seconds_now() - started;
  if (!rendezvous_share(&meeting, "d", everybody, 1)) broken("not all programs are done");
  rendezvous_close(&meeting);
  printf("done %llu rounds with %d others, %llu bytes verified, %.2f s\n", (unsigned long long)rounds,
         size - 1, (unsigned long long)bytes_verified, took);
  return 0;
}
