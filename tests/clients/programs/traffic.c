// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* traffic: a plain verbs program that talks to another of its kind and outlives it.
 *
 *   traffic (--listen | --connect) PORT [--name NAME] [--rounds N] [--device D] [--gid INDEX]
 *
 * The two meet over TCP on 127.0.0.1. Then both do the same, at once: in each round a WRITE into the peer's
 * inbox, a SEND that tells of it, and a READ of the peer's memory, all of random lengths, and everything that
 * arrives is verified to the byte. When the peer dies, the program reports it, makes a new queue pair and
 * waits for the next peer. It ends after N rounds, or with SIGTERM. It prints
 *
 *   ready                    when a peer may come
 *   talking NAME             once a whole round with that peer was verified both ways
 *   lost STATUS after N      the error that a work request to the peer completed with
 *   done N                   before it ends
 *   broken ...               and exits with 1 when anything is not as it must be
 */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "pattern.h"
#include "test_client.h"
#include "verbs_objects.h"

enum { WINDOW = 16, LONGEST = 32768, SEND_WR = 3 * WINDOW + 4 };

/* What a work request was, in its wr_id; the slot is in the low bits. */
enum {
  WRITE = 0x100,
  SEND = 0x200,
  READ = 0x300,
  RECEIVE = 0x400,
  CREDIT = 0x500,
  PROBE = 0x600,
  SLOT = 0xff
};

/* Registered as one piece; the peer writes credit and inbox, and reads quarry. */
struct memory {
  volatile uint64_t credit; /* how many of our rounds the peer has verified */
  uint64_t granted;         /* what we write into the peer's credit */
  uint64_t probe;
  uint64_t quarry[LONGEST / 8];
  uint64_t inbox[WINDOW][LONGEST / 8];
  uint64_t outgoing[WINDOW][LONGEST / 8];
  uint64_t message[WINDOW][LONGEST / 8];
  uint64_t received[WINDOW][LONGEST / 8];
  uint64_t fetched[WINDOW][LONGEST / 8];
};

/* The first words of a SEND; pattern follows. They begin so that no dissector takes them for an encapsulated
 * packet. */
static const uint64_t NOTICE = 0x746e6f632d6e7275;
struct notice {
  uint64_t kind;
  uint64_t round;
  uint64_t written; /* bytes in the inbox */
};

struct introduction {
  char name[16];
  union ibv_gid gid;
  uint64_t address;
  uint64_t nonce;
  uint32_t rkey, qp, psn;
};

struct round {
  uint64_t number;
  uint32_t fetch_offset, fetch_bytes;
  int outstanding;
};

static struct verbs_objects nic;
static struct memory* memory;
static int gid_index = 1;
static const char* own_name = "peer";
static uint64_t rounds_wanted;
static uint64_t random_state;
static volatile sig_atomic_t stop;

static void on_signal(int number) {
  (void)number;
  stop = 1;
}

/* Short, around a packet, or anything. */
static uint32_t random_length(uint32_t least) {
  const uint32_t kind = pattern_draw(&random_state) % 4;
  const uint32_t most = kind == 0 ? 64 : kind == 1 ? 8200 : LONGEST;
  return least + (uint32_t)(pattern_draw(&random_state) % (most - least + 1));
}

static void verify(const uint64_t* words, uint32_t bytes, uint64_t seed, const char* what, uint64_t round) {
  const uint32_t wrong = pattern_difference(words, bytes, seed);
  if (wrong != bytes)
    broken("%s of round %llu differs near byte %u of %u", what, (unsigned long long)round, wrong, bytes);
}

static uint64_t pattern_of(uint64_t nonce, char what, uint64_t round) {
  return pattern_mix(nonce ^ ((uint64_t)what << 56) ^ (round << 20));
}

/* A peer that starves for a moment is not dead: 8 tries of 34 ms. */
static void connect_qp(struct ibv_qp* qp, uint32_t own_psn, const struct introduction* peer) {
  const struct remote_end end = {.gid = peer->gid,
                                 .qp = peer->qp,
                                 .psn = peer->psn,
                                 .own_psn = own_psn,
                                 .min_rnr_timer = 5,
                                 .ack_timeout = 13};
  verbs_connect_qp(&nic, qp, &end);
}

static void post_receive(struct ibv_qp* qp, uint64_t slot) {
  struct ibv_sge sge = {.addr = (uintptr_t)memory->received[slot], .length = LONGEST, .lkey = nic.mr->lkey};
  struct ibv_recv_wr request = {.wr_id = RECEIVE | slot, .sg_list = &sge, .num_sge = 1}, *bad;
  if (ibv_post_recv(qp, &request, &bad) != 0) broken("cannot post a receive");
}

static void post(struct ibv_qp* qp, enum ibv_wr_opcode opcode, uint64_t wr_id, void* local, uint32_t bytes,
                 const struct introduction* peer, const void* remote) {
  const uint64_t offset = (uint64_t)((const char*)remote - (const char*)memory);
  struct ibv_sge sge = {.addr = (uintptr_t)local, .length = bytes, .lkey = nic.mr->lkey};
  struct ibv_send_wr request = {.wr_id = wr_id,
                                .sg_list = &sge,
                                .num_sge = 1,
                                .opcode = opcode,
                                .send_flags = IBV_SEND_SIGNALED,
                                .wr.rdma = {.remote_addr = peer->address + offset, .rkey = peer->rkey}},
                     *bad;
  const int error = ibv_post_send(qp, &request, &bad);
  if (error != 0) broken("cannot post: %s", strerror(error));
}

static void post_round(struct ibv_qp* qp, struct round* round, uint64_t number, uint64_t nonce,
                       const struct introduction* peer) {
  const uint64_t slot = number % WINDOW;
  const uint32_t written = random_length(0);
  const uint32_t sent = random_length(sizeof(struct notice));
  pattern_fill(memory->outgoing[slot], written, pattern_of(nonce, 'W', number));
  pattern_fill(memory->message[slot], sent, pattern_of(nonce, 'S', number));
  *(struct notice*)memory->message[slot] =
      (struct notice){.kind = NOTICE, .round = number, .written = written};
  const uint32_t fetched = random_length(1);
  const uint32_t spare_words = (LONGEST - fetched) / 8;
  *round = (struct round){
      .number = number,
      .fetch_offset = spare_words == 0 ? 0 : (uint32_t)(pattern_draw(&random_state) % spare_words),
      .fetch_bytes = fetched,
      .outstanding = 3};
  post(qp, IBV_WR_RDMA_WRITE, WRITE | slot, memory->outgoing[slot], written, peer, memory->inbox[slot]);
  post(qp, IBV_WR_SEND, SEND | slot, memory->message[slot], sent, peer, memory);
  post(qp, IBV_WR_RDMA_READ, READ | slot, memory->fetched[slot], fetched, peer,
       &memory->quarry[round->fetch_offset]);
}

static void verify_arrival(uint64_t slot, uint32_t bytes, uint64_t expected,
                           const struct introduction* peer) {
  const struct notice* notice = (const struct notice*)memory->received[slot];
  if (bytes < sizeof *notice || notice->kind != NOTICE || notice->round != expected ||
      slot != expected % WINDOW || notice->written > LONGEST) {
    broken("round %llu expected, %llu arrived in slot %llu with %u bytes", (unsigned long long)expected,
           (unsigned long long)notice->round, (unsigned long long)slot, bytes);
  }
  verify(memory->received[slot] + 3, bytes - (uint32_t)sizeof *notice,
         pattern_of(peer->nonce, 'S', expected) + 3, "SEND", expected);
  verify(memory->inbox[slot], (uint32_t)notice->written, pattern_of(peer->nonce, 'W', expected), "WRITE",
         expected);
}

/* Talks until the peer is lost, all rounds are done or a signal came. Returns the rounds verified. */
static uint64_t talk(struct ibv_qp* qp, uint64_t nonce, const struct introduction* peer) {
  struct round window[WINDOW] = {0};
  uint64_t posted = 0, verified = 0, granted = 0;
  bool credit_in_flight = false, probe_in_flight = false, announced = false;
  double last_progress = seconds_now();

  while (!stop) {
    struct ibv_wc completions[16];
    const int count = ibv_poll_cq(nic.cq, 16, completions);
    if (count < 0) broken("ibv_poll_cq failed");
    for (int i = 0; i < count; i++) {
      const struct ibv_wc* wc = &completions[i];
      const uint64_t slot = wc->wr_id & SLOT;
      struct round* round = &window[slot % WINDOW];
      if (wc->status != IBV_WC_SUCCESS) {
        printf("lost %d (%s) after %llu\n", wc->status, ibv_wc_status_str(wc->status),
               (unsigned long long)verified);
        return verified;
      }
      switch (wc->wr_id & ~(uint64_t)SLOT) {
        case READ:
          verify(memory->fetched[slot], round->fetch_bytes,
                 pattern_of(peer->nonce, 'R', 0) + round->fetch_offset, "READ", round->number);
          round->outstanding--;
          break;
        case WRITE:
        case SEND:
          round->outstanding--;
          break;
        case RECEIVE:
          verify_arrival(slot, wc->byte_len, verified, peer);
          post_receive(qp, slot);
          verified++;
          break;
        case CREDIT:
          credit_in_flight = false;
          break;
        case PROBE:
          probe_in_flight = false;
          break;
        default:
          broken("completion of unknown work request %llx", (unsigned long long)wc->wr_id);
      }
    }

    const uint64_t credit = memory->credit;
    if (credit > posted)
      broken("credit %llu for %llu rounds", (unsigned long long)credit, (unsigned long long)posted);
    if (!announced && credit > 0 && verified > 0) {
      printf("talking %s\n", peer->name);
      announced = true;
    }
    while (posted < credit + WINDOW && window[posted % WINDOW].outstanding == 0 &&
           (rounds_wanted == 0 || posted < rounds_wanted)) {
      post_round(qp, &window[posted % WINDOW], posted, nonce, peer);
      posted++;
    }
    if (verified > granted && !credit_in_flight) {
      granted = memory->granted = verified;
      credit_in_flight = true;
      post(qp, IBV_WR_RDMA_WRITE, CREDIT, &memory->granted, sizeof memory->granted, peer,
           (void*)&memory->credit);
    }
    if (rounds_wanted != 0 && credit == rounds_wanted && granted == rounds_wanted && !credit_in_flight)
      return verified;

    /* With the window closed nothing is under way, and a dead peer would go unnoticed. */
    if (count > 0) last_progress = seconds_now();
    if (!probe_in_flight && seconds_now() - last_progress > 0.02) {
      probe_in_flight = true;
      post(qp, IBV_WR_RDMA_READ, PROBE, &memory->probe, sizeof memory->probe, peer, memory->quarry);
    }
  }
  return verified;
}

static bool exchange(int tcp, const void* own, void* peers, size_t bytes) {
  return send(tcp, own, bytes, MSG_NOSIGNAL) == (ssize_t)bytes &&
         recv(tcp, peers, bytes, MSG_WAITALL) == (ssize_t)bytes;
}

/* One peer from its introduction to its end; nothing when it died in between. */
static uint64_t meet(int tcp) {
  const struct timeval patience = {.tv_sec = 2};
  setsockopt(tcp, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  struct ibv_qp* qp = verbs_create_qp(&nic, SEND_WR, WINDOW);
  memory->credit = 0;
  for (uint64_t slot = 0; slot < WINDOW; slot++) post_receive(qp, slot);
  struct introduction own = {.gid = nic.gid,
                             .address = (uintptr_t)memory,
                             .nonce = pattern_draw(&random_state),
                             .rkey = nic.mr->rkey,
                             .qp = qp->qp_num,
                             .psn = (uint32_t)pattern_draw(&random_state) & 0xffffff},
                      peer;
  snprintf(own.name, sizeof own.name, "%s", own_name);
  pattern_fill(memory->quarry, LONGEST, pattern_of(own.nonce, 'R', 0));

  uint64_t rounds = 0;
  char ready = 'r';
  if (exchange(tcp, &own, &peer, sizeof own)) {
    peer.name[sizeof peer.name - 1] = '\0';
    connect_qp(qp, own.psn, &peer);
    if (exchange(tcp, &ready, &ready, 1)) rounds = talk(qp, own.nonce, &peer);
  }
  close(tcp);
  if (ibv_destroy_qp(qp) != 0) broken("cannot destroy the queue pair");
  struct ibv_wc leftover[16];
  while (ibv_poll_cq(nic.cq, 16, leftover) > 0) continue;
  return rounds;
}

int main(int argc, char** argv) {
  const char* device = "urnic0";
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  bool listens = false;
  for (int i = 1; i + 1 < argc; i += 2) {
    const char *option = argv[i], *value = argv[i + 1];
    if (strcmp(option, "--listen") == 0 || strcmp(option, "--connect") == 0) {
      listens = strcmp(option, "--listen") == 0;
      address.sin_port = htons((uint16_t)atoi(value));
    } else if (strcmp(option, "--name") == 0) {
      own_name = value;
    } else if (strcmp(option, "--rounds") == 0) {
      rounds_wanted = strtoull(value, NULL, 10);
    } else if (strcmp(option, "--device") == 0) {
      device = value;
    } else if (strcmp(option, "--gid") == 0) {
      gid_index = atoi(value);
    } else {
      broken("unknown option %s", option);
    }
  }
  if (argc % 2 == 0 || address.sin_port == 0) broken("say --listen PORT or --connect PORT");
  setvbuf(stdout, NULL, _IOLBF, 0);
  struct sigaction action = {.sa_handler = on_signal};
  sigaction(SIGTERM, &action, NULL);
  if (getrandom(&random_state, sizeof random_state, 0) != sizeof random_state) broken("no random numbers");

  verbs_open(&nic, device, gid_index, 4 * SEND_WR, sizeof *memory);
  memory = nic.memory;
  const int one = 1;
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (listens &&
      (bind(listener, (struct sockaddr*)&address, sizeof address) != 0 || listen(listener, 4) != 0)) {
    broken("cannot listen on port %d: %s", ntohs(address.sin_port), strerror(errno));
  }
  printf("ready\n");

  uint64_t rounds = 0;
  while (!stop && (rounds_wanted == 0 || rounds < rounds_wanted)) {
    int tcp = -1;
    if (listens) {
      tcp = accept(listener, NULL, NULL);
    } else {
      tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      if (connect(tcp, (struct sockaddr*)&address, sizeof address) != 0) {
        close(tcp);
        tcp = -1;
        usleep(5000);
      }
    }
    if (tcp >= 0) rounds += meet(tcp);
  }
  close(listener);
  verbs_close(&nic);
  printf("done %llu\n", (unsigned long long)rounds);
  return 0;
}
