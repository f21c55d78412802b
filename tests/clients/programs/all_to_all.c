// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* all_to_all: N programs, each with a reliable connection to every other one.
 *
 *   all_to_all --rank R --size N --port PORT [--rounds N] [--spin 1] [--device D] [--gid INDEX] [--host A.B.C.D]
 *              [--ack-timeout CODE] [--stays 1]
 *
 * Ranks count from 0; they meet over TCP. In each round each program sends each other one a WRITE into an
 * inbox and a SEND that tells of it (all_to_all.h), so that there is always a receive posted, and no inbox is
 * written twice unread. The programs sleep until the NIC has something for them, or with --spin poll without
 * end. With --stays they stay connected until each gets SIGUSR1. It prints 'done ...', or 'broken ...', and
 * exits with 1, when anything is not as it must be: a completion that failed, above all.
 */
#include "all_to_all.h"

#include <infiniband/verbs.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "rendezvous.h"
#include "test_client.h"
#include "verbs_objects.h"

enum {
  /* Programs that spin on fewer cores than there are of them wait for their turn: with 16 on 2 cores some
   * tens of milliseconds, now and then more. 8 tries of half a second are far from that, and a lost frame
   * costs only one. */
  ACK_TIMEOUT = 17
};

/* What a work request was, in its wr_id: kind, peer and slot. */
enum { RECEIVE = SEND + 1 };
static const char* const kKinds[] = {"?", "WRITE", "SEND", "receive"};

/* What one pair of programs has in registered memory. */
struct lane {
  uint64_t inbox[SLOTS][LONGEST / 8]; /* the peer writes here */
  uint64_t received[SLOTS][LONGEST / 8];
  uint64_t written[SLOTS][LONGEST / 8];
  uint64_t sent[SLOTS][LONGEST / 8];
};

struct introduction {
  union ibv_gid gid;
  uint64_t lanes, seed;
  uint32_t rkey, qps[MOST_RANKS], psns[MOST_RANKS];
};

struct peer {
  struct ibv_qp* qp;
  uint64_t posted, received; /* rounds */
  int outstanding[SLOTS];
};

static struct rendezvous meeting;
static struct introduction own, all[MOST_RANKS];
static struct peer peers[MOST_RANKS];
static struct verbs_objects nic;
static struct lane* lanes;
static int rank = -1, size, gid_index = 1, ack_timeout = ACK_TIMEOUT;
static bool spins;
static uint64_t rounds = 100, bytes_verified;

/* Of what `from` sends to `to` in a round; both know it. */
static uint64_t seed_of(int from, int to, uint64_t round, int kind) {
  return message_seed(all[from].seed, to, round, kind);
}

static uint64_t name_work(int kind, int peer, uint64_t round) {
  return (uint64_t)kind << 32 | (uint64_t)peer << 16 | round % SLOTS;
}

static void open_device(const char* name) {
  verbs_open(&nic, name, gid_index, size * 3 * SLOTS, sizeof *lanes * (size_t)size);
  lanes = nic.memory;
  own = (struct introduction){.gid = nic.gid, .lanes = (uintptr_t)lanes, .rkey = nic.mr->rkey};
  if (getrandom(&own.seed, sizeof own.seed, 0) != sizeof own.seed) broken("no random numbers");
}

static void create_qp(int number) {
  peers[number].qp = verbs_create_qp(&nic, 2 * SLOTS, SLOTS);
  own.qps[number] = peers[number].qp->qp_num;
  own.psns[number] = (uint32_t)pattern_mix(own.seed + (uint64_t)number) & 0xffffff;
}

static void connect_qp(int number) {
  const struct introduction* const peer = &all[number];
  const struct remote_end end = {.gid = peer->gid,
                                 .qp = peer->qps[rank],
                                 .psn = peer->psns[rank],
                                 .own_psn = own.psns[number],
                                 .min_rnr_timer = 12,
                                 .ack_timeout = (uint8_t)ack_timeout};
  verbs_connect_qp(&nic, peers[number].qp, &end);
}

static void post_receive(int number, uint64_t round) {
  struct ibv_sge sge = {
      .addr = (uintptr_t)lanes[number].received[round % SLOTS], .length = LONGEST, .lkey = nic.mr->lkey};
  struct ibv_recv_wr request = {.wr_id = name_work(RECEIVE, number, round), .sg_list = &sge, .num_sge = 1},
                     *bad;
  if (ibv_post_recv(peers[number].qp, &request, &bad) != 0) broken("cannot post a receive");
}

static void post_round(int number) {
  struct peer* const peer = &peers[number];
  const uint64_t round = peer->posted++, slot = round % SLOTS;
  const uint64_t write_seed = seed_of(rank, number, round, WRITE),
                 send_seed = seed_of(rank, number, round, SEND);
  struct lane* const lane = &lanes[number];
  struct ibv_sge sges[2] = {
      {.addr = (uintptr_t)lane->written[slot], .length = message_length(write_seed, 0), .lkey = nic.mr->lkey},
      {.addr = (uintptr_t)lane->sent[slot],
       .length = message_length(send_seed, sizeof(struct notice)),
       .lkey = nic.mr->lkey}};
  pattern_fill(lane->written[slot], sges[0].length, write_seed);
  pattern_fill(lane->sent[slot], sges[1].length, send_seed);
  *(struct notice*)lane->sent[slot] = (struct notice){.kind = kNotice, .round = round};

  const struct lane* const remote = (const struct lane*)(uintptr_t)all[number].lanes + rank;
  struct ibv_send_wr send = {.wr_id = name_work(SEND, number, round),
                             .sg_list = &sges[1],
                             .num_sge = 1,
                             .opcode = IBV_WR_SEND,
                             .send_flags = IBV_SEND_SIGNALED};
  struct ibv_send_wr write = {
      .wr_id = name_work(WRITE, number, round),
      .next = &send,
      .sg_list = &sges[0],
      .num_sge = 1,
      .opcode = IBV_WR_RDMA_WRITE,
      .send_flags = IBV_SEND_SIGNALED,
      .wr.rdma = {.remote_addr = (uintptr_t)remote->inbox[slot], .rkey = all[number].rkey}};
  struct ibv_send_wr* bad;
  const int error = ibv_post_send(peer->qp, &write, &bad);
  if (error != 0) broken("cannot post to rank %d: %s", number, strerror(error));
  peer->outstanding[slot] = 2;
}

static void verify(const uint64_t* words, uint32_t skipped, uint32_t bytes, uint64_t seed, int from, int kind,
                   uint64_t round) {
  const uint32_t wrong =
      skipped + pattern_difference(words + skipped / 8, bytes - skipped, seed + skipped / 8);
  if (wrong != bytes)
    broken("%s of round %llu from rank %d differs near byte %u of %u", kKinds[kind],
           (unsigned long long)round, from, wrong, bytes);
  bytes_verified += bytes;
}

static void take_arrival(int from, uint64_t slot, uint32_t bytes) {
  struct peer* const peer = &peers[from];
  const uint64_t round = peer->received;
  const struct notice* const notice = (const struct notice*)lanes[from].received[slot];
  const uint64_t write_seed = seed_of(from, rank, round, WRITE), send_seed = seed_of(from, rank, round, SEND);
  if (slot != round % SLOTS || bytes != message_length(send_seed, sizeof *notice) ||
      notice->kind != kNotice || notice->round != round)
    broken("round %llu of rank %d expected, something else arrived", (unsigned long long)round, from);
  verify(lanes[from].received[slot], sizeof *notice, bytes, send_seed, from, SEND, round);
  verify(lanes[from].inbox[slot], 0, message_length(write_seed, 0), write_seed, from, WRITE, round);
  post_receive(from, round + SLOTS);
  peer->received++;
}

static void take(const struct ibv_wc* wc) {
  const int kind = (int)(wc->wr_id >> 32), number = (int)(wc->wr_id >> 16 & 0xffff);
  const uint64_t slot = wc->wr_id & 0xffff;
  if (wc->status != IBV_WC_SUCCESS) {
    broken("%s with rank %d, %llu rounds sent and %llu received: %s", kKinds[kind], number,
           (unsigned long long)peers[number].posted, (unsigned long long)peers[number].received,
           ibv_wc_status_str(wc->status));
  }
  if (kind == RECEIVE) {
    take_arrival(number, slot, wc->byte_len);
  } else {
    peers[number].outstanding[slot]--;
  }
}

/* Posts what may be posted; whether all rounds with all others are done. */
static bool post_rounds(void) {
  bool done = true;
  for (int number = 0; number < size; number++) {
    struct peer* const peer = &peers[number];
    if (number == rank) continue;
    while (peer->posted < rounds && peer->posted < peer->received + WINDOW &&
           peer->outstanding[peer->posted % SLOTS] == 0) {
      post_round(number);
    }
    done = done && peer->posted == rounds && peer->received == rounds;
    for (int slot = 0; slot < SLOTS; slot++) done = done && peer->outstanding[slot] == 0;
  }
  return done;
}

/* Asked for before the last look at the queue: nothing can come unnoticed. */
static void sleep_for_completion(void) {
  struct pollfd waiting = {.fd = nic.channel->fd, .events = POLLIN};
  if (poll(&waiting, 1, PATIENCE_S * 1000) <= 0) return;
  verbs_take_event(&nic);
}

static void talk(void) {
  double progress = seconds_now();
  bool armed = false;
  while (!post_rounds()) {
    struct ibv_wc completions[32];
    const int count = ibv_poll_cq(nic.cq, 32, completions);
    if (count < 0) broken("ibv_poll_cq fails");
    for (int i = 0; i < count; i++) take(&completions[i]);
    if (count > 0) {
      progress = seconds_now();
    } else if (seconds_now() - progress > PATIENCE_S) {
      broken("nothing has happened for %d s", PATIENCE_S);
    } else if (!spins && !armed) {
      if (ibv_req_notify_cq(nic.cq, 0) != 0) broken("ibv_req_notify_cq fails");
      armed = true;
    } else if (!spins) {
      sleep_for_completion();
      armed = false;
    }
  }
}

static void destroy_objects(void) {
  for (int number = 0; number < size; number++) {
    if (number != rank && ibv_destroy_qp(peers[number].qp) != 0) broken("cannot destroy a queue pair");
  }
  verbs_close(&nic);
}

static sigset_t the_end(void) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  return signals;
}

/* Before there are threads, which inherit it. */
static void block_the_end(void) {
  const sigset_t signals = the_end();
  if (pthread_sigmask(SIG_BLOCK, &signals, NULL) != 0) broken("cannot block SIGUSR1");
}

static void await_the_end(void) {
  const sigset_t signals = the_end();
  int number;
  printf("talked, and waits for SIGUSR1\n");
  if (sigwait(&signals, &number) != 0) broken("cannot wait for SIGUSR1");
}

int main(int argc, char** argv) {
  const char* device = "urnic0";
  int port = 0;
  bool stays = false;
  const char* host = NULL;
  const struct program_option options[] = {
      {"--rank", OPTION_INT, &rank},     {"--size", OPTION_INT, &size},   {"--port", OPTION_INT, &port},
      {"--rounds", OPTION_U64, &rounds}, {"--spin", OPTION_BOOL, &spins}, {"--device", OPTION_TEXT, &device},
      {"--gid", OPTION_INT, &gid_index}, {"--host", OPTION_TEXT, &host},
      {"--ack-timeout", OPTION_INT, &ack_timeout}, {"--stays", OPTION_BOOL, &stays},
      {.name = NULL}};
  read_options(argc, argv, options);
  if (stays) block_the_end();
  if (size < 2 || size > MOST_RANKS || rank < 0 || rank >= size || port == 0)
    broken("say --rank R --size N --port PORT, with N from 2 to %d", MOST_RANKS);
  setvbuf(stdout, NULL, _IOLBF, 0);

  open_device(device);
  for (int number = 0; number < size; number++) {
    if (number != rank) create_qp(number);
  }
  if (!rendezvous_open(&meeting, rank, size, host, (uint16_t)port, PATIENCE_S) ||
      !rendezvous_share(&meeting, &own, all, sizeof own))
    broken("not all programs are there");
  for (int number = 0; number < size; number++) {
    if (number == rank) continue;
    for (uint64_t round = 0; round < SLOTS; round++) post_receive(number, round);
    connect_qp(number);
  }
  char everybody[MOST_RANKS];
  if (!rendezvous_share(&meeting, "r", everybody, 1)) broken("not all programs are ready");
  const double started = seconds_now();
  talk();
  const double took = seconds_now() - started;
  /* The others may still need our acknowledgements. */
  if (!rendezvous_share(&meeting, "d", everybody, 1)) broken("not all programs are done");
  if (stays) await_the_end();
  rendezvous_close(&meeting);
  destroy_objects();
  printf("done %llu rounds with %d others, %llu bytes verified, %.2f s\n", (unsigned long long)rounds,
         size - 1, (unsigned long long)bytes_verified, took);
  return 0;
}
