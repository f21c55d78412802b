// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* rails: two programs with a connection for each of their devices, as NCCL has, and a thread for each. A rail
 * that fails leaves its work to the others.
 *
 *   rails --rank R --port PORT [--seconds S] [--gid INDEX]
 *
 * Rank 0 sends rounds: a WRITE of a pattern, and a WRITE with immediate that has the round's number. Rank 1
 * verifies the pattern and answers with a WRITE with immediate, too. Both print 'ready', 'event RAIL NAME'
 * for each asynchronous event, 'failed RAIL STATUS' once for each rail whose work requests fail, and 'done'
 * with the rounds of each rail; 'broken ...', when a round is missing or wrong.
 */
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pattern.h"
#include "rendezvous.h"
#include "test_client.h"
#include "verbs_objects.h"

enum { PROBE = 1, MOST_RAILS = 8, BYTES = 64 << 10, RECEIVES = 4, MOST_ROUNDS = 1 << 22, ACK_TIMEOUT = 12 };

struct introduction {
  int rails;
  union ibv_gid gids[MOST_RAILS];
  uint64_t memory[MOST_RAILS];
  uint32_t rkeys[MOST_RAILS], qps[MOST_RAILS];
};

struct rail {
  int number;
  struct verbs_objects nic;
  struct ibv_qp* qp;
  uint64_t rounds;
  bool has_failed;
  pthread_t worker;
};

static const double PATIENCE = 0.2; /* seconds */
static struct rail rails[MOST_RAILS];
static int rail_count, rank = -1;
static struct introduction all[2];
static atomic_bool is_over;
static uint8_t* received; /* whether a round came, by number */

/* Rounds to do: those that a rail gave back, and then new ones. */
static pthread_mutex_t rounds_mutex = PTHREAD_MUTEX_INITIALIZER;
static uint32_t next_round, given_back[MOST_RAILS];
static int given_back_count;

static uint32_t take_round(void) {
  pthread_mutex_lock(&rounds_mutex);
  const uint32_t round = given_back_count > 0 ? given_back[--given_back_count] : next_round++;
  pthread_mutex_unlock(&rounds_mutex);
  if (round >= MOST_ROUNDS) broken("too many rounds");
  return round;
}

static void give_back(uint32_t round) {
  pthread_mutex_lock(&rounds_mutex);
  given_back[given_back_count++] = round;
  pthread_mutex_unlock(&rounds_mutex);
}

static bool has_given_back(void) {
  pthread_mutex_lock(&rounds_mutex);
  const bool has = given_back_count > 0;
  pthread_mutex_unlock(&rounds_mutex);
  return has;
}

static void say(const char* word, int rail, const char* text) {
  printf("%s %d %s\n", word, rail, text);
  fflush(stdout);
}

static void post_receive(struct rail* rail) {
  struct ibv_recv_wr request = {0}, *bad;
  if (ibv_post_recv(rail->qp, &request, &bad) != 0) broken("cannot post a receive to rail %d", rail->number);
}

/* False when the queue pair takes nothing any more. */
static bool post_write(struct rail* rail, uint32_t bytes, bool has_immediate, uint32_t immediate) {
  const struct introduction* peer = &all[1 - rank];
  struct ibv_sge sge = {.addr = (uintptr_t)rail->nic.memory, .length = bytes, .lkey = rail->nic.mr->lkey};
  struct ibv_send_wr request = {
      .sg_list = &sge,
      .num_sge = bytes > 0 ? 1 : 0,
      .opcode = has_immediate ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE,
      .send_flags = has_immediate ? IBV_SEND_SIGNALED : 0,
      .imm_data = htonl(immediate),
      .wr.rdma = {.remote_addr = peer->memory[rail->number], .rkey = peer->rkeys[rail->number]}};
  struct ibv_send_wr* bad;
  return ibv_post_send(rail->qp, &request, &bad) == 0;
}

static bool probe(struct rail* rail);

/* Fills in the next completion. False when the rail has failed, or the sender has no more to send. */
static bool next_completion(struct rail* rail, struct ibv_wc* wc) {
  bool has_probed = false;
  const double begin = seconds_now();
  while (true) {
    const int count = ibv_poll_cq(rail->nic.cq, 1, wc);
    if (count < 0) broken("cannot poll rail %d", rail->number);
    if (count == 0 && rank == 1 && atomic_load(&is_over)) return false;
    if (count == 0 && rank == 0 && !has_probed && seconds_now() - begin > PATIENCE) has_probed = probe(rail);
    if (count == 0) continue;
    if (wc->status == IBV_WC_SUCCESS && wc->wr_id == PROBE) continue;
    if (wc->status == IBV_WC_SUCCESS) return true;
    if (!rail->has_failed) say("failed", rail->number, ibv_wc_status_str(wc->status));
    rail->has_failed = true;
    return false;
  }
}

/* An answer that does not come may have been lost with the link, and nothing that is under way would tell. */
static bool probe(struct rail* rail) {
  struct ibv_send_wr request = {.wr_id = PROBE, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED},
                     *bad;
  request.wr.rdma.remote_addr = all[1 - rank].memory[rail->number];
  request.wr.rdma.rkey = all[1 - rank].rkeys[rail->number];
  return ibv_post_send(rail->qp, &request, &bad) == 0;
}

/* Whether the round went there, and its answer came. */
static bool send_round(struct rail* rail, uint32_t round) {
  pattern_fill(rail->nic.memory, BYTES, round);
  if (!post_write(rail, BYTES, false, 0) || !post_write(rail, 0, true, round)) {
    broken("rail %d takes no work request", rail->number);
  }
  bool is_sent = false, is_answered = false;
  while (!is_sent || !is_answered) {
    struct ibv_wc wc;
    if (!next_completion(rail, &wc)) return false;
    if (wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
      if (ntohl(wc.imm_data) != round) broken("rail %d answers another round", rail->number);
      post_receive(rail);
      is_answered = true;
    } else {
      is_sent = true;
    }
  }
  return true;
}

static void* send_rounds(void* of) {
  struct rail* rail = of;
  while (!atomic_load(&is_over)) {
    const uint32_t round = take_round();
    if (!send_round(rail, round)) {
      give_back(round);
      return NULL;
    }
    ++rail->rounds;
  }
  return NULL;
}

/* What the last rails to fail gave back. */
static void send_given_back(void) {
  for (int i = 0; i < rail_count && has_given_back(); ++i) {
    while (!rails[i].has_failed && has_given_back()) {
      const uint32_t round = take_round();
      if (!send_round(&rails[i], round)) give_back(round);
    }
  }
  if (has_given_back()) broken("all rails have failed");
}

static void* receive_rounds(void* of) {
  struct rail* rail = of;
  struct ibv_wc wc;
  while (next_completion(rail, &wc)) {
    if (wc.opcode != IBV_WC_RECV_RDMA_WITH_IMM) continue;
    const uint32_t round = ntohl(wc.imm_data);
    if (round >= MOST_ROUNDS) broken("there is no round %u", round);
    if (pattern_difference(rail->nic.memory, BYTES, round) != BYTES) broken("round %u is wrong", round);
    received[round] = 1;
    ++rail->rounds;
    post_receive(rail);
    if (!post_write(rail, 0, true, round)) return NULL;
  }
  return NULL;
}

static void* tell_of_events(void* of) {
  struct rail* rail = of;
  struct ibv_async_event event;
  while (ibv_get_async_event(rail->nic.context, &event) == 0) {
    say("event", rail->number, ibv_event_type_str(event.event_type));
    ibv_ack_async_event(&event);
  }
  return NULL;
}

static void open_rails(int gid_index) {
  struct ibv_device** list = ibv_get_device_list(&rail_count);
  if (list == NULL || rail_count > MOST_RAILS) broken("%d devices", rail_count);
  for (int i = 0; i < rail_count; ++i) {
    struct rail* rail = &rails[i];
    rail->number = i;
    verbs_open(&rail->nic, ibv_get_device_name(list[i]), gid_index, 64, BYTES);
    rail->qp = verbs_create_qp(&rail->nic, 8, RECEIVES * 2);
  }
  ibv_free_device_list(list);
}

static struct introduction introduce(void) {
  struct introduction own = {.rails = rail_count};
  for (int i = 0; i < rail_count; ++i) {
    own.gids[i] = rails[i].nic.gid;
    own.memory[i] = (uintptr_t)rails[i].nic.memory;
    own.rkeys[i] = rails[i].nic.mr->rkey;
    own.qps[i] = rails[i].qp->qp_num;
  }
  return own;
}

static void connect_rails(void) {
  const struct introduction* peer = &all[1 - rank];
  if (peer->rails != rail_count) broken("the peer has %d rails", peer->rails);
  for (int i = 0; i < rail_count; ++i) {
    const struct remote_end end = {
        .gid = peer->gids[i], .qp = peer->qps[i], .min_rnr_timer = 12, .ack_timeout = ACK_TIMEOUT};
    verbs_connect_qp(&rails[i].nic, rails[i].qp, &end);
    for (int j = 0; j < RECEIVES; ++j) post_receive(&rails[i]);
  }
}

static void start(struct rail* rail) {
  pthread_t events;
  pthread_create(&rail->worker, NULL, rank == 0 ? send_rounds : receive_rounds, rail);
  pthread_create(&events, NULL, tell_of_events, rail);
  pthread_detach(events);
}

static void say_done(void) {
  printf("done");
  for (int i = 0; i < rail_count; ++i) printf(" %llu", (unsigned long long)rails[i].rounds);
  printf("\n");
  fflush(stdout);
}

int main(int argc, char** argv) {
  int port = 0, gid_index = 1;
  double seconds = 3;
  const struct program_option table[] = {{"--rank", OPTION_INT, &rank},
                                         {"--port", OPTION_INT, &port},
                                         {"--gid", OPTION_INT, &gid_index},
                                         {"--seconds", OPTION_DOUBLE, &seconds},
                                         {NULL, OPTION_INT, NULL}};
  read_options(argc, argv, table);
  if (rank != 0 && rank != 1) broken("rank 0 or 1");
  received = calloc(MOST_ROUNDS, 1);
  if (received == NULL) broken("no memory");
  open_rails(gid_index);

  struct rendezvous meeting;
  const struct introduction own = introduce();
  if (!rendezvous_open(&meeting, rank, 2, NULL, (uint16_t)port, 60)) broken("the other one is not there");
  if (!rendezvous_share(&meeting, &own, all, sizeof own)) broken("the other one has gone");
  connect_rails();
  uint32_t rounds = 0, of_both[2];
  if (!rendezvous_share(&meeting, &rounds, of_both, sizeof rounds)) broken("the other one has gone");
  for (int i = 0; i < rail_count; ++i) start(&rails[i]);
  printf("ready\n");
  fflush(stdout);

  if (rank == 0) {
    usleep((useconds_t)(seconds * 1e6));
    atomic_store(&is_over, true);
    for (int i = 0; i < rail_count; ++i) pthread_join(rails[i].worker, NULL);
    send_given_back();
    rounds = next_round;
  }
  if (!rendezvous_share(&meeting, &rounds, of_both, sizeof rounds)) broken("the other one has gone");
  if (rank == 1) {
    atomic_store(&is_over, true);
    for (int i = 0; i < rail_count; ++i) pthread_join(rails[i].worker, NULL);
    for (uint32_t i = 0; i < of_both[0]; ++i) {
      if (received[i] == 0) broken("round %u is missing", i);
    }
  }
  say_done();
  _exit(0);
}
