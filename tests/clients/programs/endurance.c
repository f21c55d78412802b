// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* Queue pairs without an ACK timeout: a frame that a wire loses, or a doorbell or notification that the NIC
 * misses, leaves an operation standing still, and this program says so.
 *
 *   endurance --port PORT --rank R [--size 2] [--qps N] [--seconds S] [--spin 1] [--seed X] [--device D] [--gid I]
 *
 * Two programs, or with --size 1 one that is both sides, have N reliable connections between them. On each of
 * them both sides keep READs, WRITEs that they read back, and SENDs of random length outstanding and verify
 * each byte. Half of the connections stay. Every few milliseconds both sides destroy some of the others, in the
 * middle of their operations, and make them again. An operation that is not done
 * after PATIENCE_S seconds is a failure. The program sleeps until it is notified, or with --spin polls without
 * end. It prints 'done ...', or 'broken ...' and exits with 1.
 */
#include <infiniband/verbs.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "pattern.h"
#include "rendezvous.h"
#include "test_client.h"
#include "verbs_objects.h"

enum {
  SIDES = 2,
  MOST_QPS = 64,
  WINDOW = 8, /* operations of a side of a connection */
  RECEIVES = 2 * WINDOW,
  LONGEST = 16384,
  PATIENCE_S = 30,
  MEETING_S = 60,
  LONGEST_PEACE_MS = 40 /* between two destructions */
};

/* What a work request was, in its wr_id: kind, side, connection, slot and life of the connection. */
enum kind { READ = 1, WRITE, READ_BACK, SEND, RECEIVE };
static const char* const kKinds[] = {"?", "READ", "WRITE", "READ of what was written", "SEND", "receive"};

/* What one side of a connection has in registered memory. */
struct lane {
  uint64_t read_here[LONGEST / 8];          /* by the peer; never changes */
  uint64_t write_here[WINDOW][LONGEST / 8]; /* by the peer */
  uint64_t outgoing[WINDOW][LONGEST / 8];   /* what is written or sent */
  uint64_t fetched[WINDOW][LONGEST / 8];    /* by READs */
  uint64_t received[RECEIVES][LONGEST / 8];
};

struct introduction {
  union ibv_gid gid;
  uint64_t lanes;
  uint32_t rkey, qps[MOST_QPS], psns[MOST_QPS];
};

struct operation {
  enum kind kind; /* 0: none is outstanding */
  int left;       /* completions to come */
  uint32_t bytes;
  uint64_t seed; /* of what it carries */
  double posted;
};

struct connection {
  struct ibv_qp* qp;
  uint32_t life;
  struct operation operations[WINDOW];
};

struct side {
  struct connection connections[MOST_QPS];
  struct lane* lanes;
  uint64_t random;
};

static struct rendezvous meeting;
static struct introduction introductions[SIDES];
static struct side sides[SIDES];
static struct verbs_objects nic;
static int rank = -1, size = 2, qps = 16, gid_index = 1;
static int first_side, last_side; /* ours */
static bool spins, is_ending;
static uint64_t seed = 1, operations_done, bytes_verified, lives;

static uint64_t seed_of_lane(int side, int number) {
  return pattern_mix(seed ^ (uint64_t)side << 32 ^ (uint64_t)number);
}

static uint64_t name_work(enum kind kind, int side, int number, int slot, uint32_t life) {
  return (uint64_t)kind << 56 | (uint64_t)side << 48 | (uint64_t)number << 40 | (uint64_t)slot << 32 | life;
}

static void open_device(const char* name) {
  verbs_open(&nic, name, gid_index, SIDES * qps * (2 * WINDOW + RECEIVES),
             sizeof(struct lane) * (size_t)qps * SIDES);
  for (int side = first_side; side <= last_side; side++) {
    sides[side].lanes = (struct lane*)nic.memory + side * qps;
    sides[side].random = pattern_mix(seed + (uint64_t)side);
    introductions[side] =
        (struct introduction){.gid = nic.gid, .lanes = (uintptr_t)sides[side].lanes, .rkey = nic.mr->rkey};
    for (int number = 0; number < qps; number++)
      pattern_fill(sides[side].lanes[number].read_here, LONGEST, seed_of_lane(side, number));
  }
}

static void post_receive(int side, int number, int slot) {
  struct connection* const connection = &sides[side].connections[number];
  struct ibv_sge sge = {
      .addr = (uintptr_t)sides[side].lanes[number].received[slot], .length = LONGEST, .lkey = nic.mr->lkey};
  struct ibv_recv_wr request = {.wr_id = name_work(RECEIVE, side, number, slot, connection->life),
                                .sg_list = &sge,
                                .num_sge = 1},
                     *bad;
  if (ibv_post_recv(connection->qp, &request, &bad) != 0) broken("cannot post a receive");
}

static void create_qp(int side, int number) {
  struct connection* const connection = &sides[side].connections[number];
  struct ibv_qp* const qp = verbs_create_qp(&nic, 2 * WINDOW, RECEIVES);
  *connection = (struct connection){.qp = qp, .life = connection->life + 1};
  introductions[side].qps[number] = qp->qp_num;
  introductions[side].psns[number] = (uint32_t)pattern_draw(&sides[side].random) & 0xffffff;
  for (int slot = 0; slot < RECEIVES; slot++) post_receive(side, number, slot);
  lives++;
}

static void connect_qp(int side, int number) {
  const struct introduction* const peer = &introductions[1 - side];
  const struct remote_end end = {.gid = peer->gid,
                                 .qp = peer->qps[number],
                                 .psn = peer->psns[number],
                                 .own_psn = introductions[side].psns[number],
                                 .min_rnr_timer = 1,
                                 .ack_timeout = 0};
  verbs_connect_qp(&nic, sides[side].connections[number].qp, &end);
}

/* Each side learns what the other one has said of itself, and that it is where we are. */
static void meet(void) {
  if (size == 1) return;
  const struct introduction own = introductions[rank];
  if (!rendezvous_share(&meeting, &own, introductions, sizeof own)) broken("the other program has gone");
}

static void connect_all(uint64_t chosen) {
  for (int side = first_side; side <= last_side; side++) {
    for (int number = 0; number < qps; number++) {
      if (chosen >> number & 1) create_qp(side, number);
    }
  }
  meet();
  for (int side = first_side; side <= last_side; side++) {
    for (int number = 0; number < qps; number++) {
      if (chosen >> number & 1) connect_qp(side, number);
    }
  }
  meet(); /* without a timeout no side may send to a queue pair that is not ready */
}

/* The first half of them stays. `chosen` has a bit for each of the others. */
static void recreate(uint64_t chosen) {
  for (int side = first_side; side <= last_side; side++) {
    for (int number = 0; number < qps; number++) {
      if ((chosen >> number & 1) && ibv_destroy_qp(sides[side].connections[number].qp) != 0)
        broken("cannot destroy queue pair %d", number);
    }
  }
  connect_all(chosen);
}

/* Short, around a packet, or anything. */
static uint32_t draw_length(uint64_t* random) {
  const uint64_t drawn = pattern_draw(random);
  const uint32_t most = drawn % 16 == 0 ? LONGEST : drawn % 4 == 0 ? 4200 : 64;
  return 8 + (uint32_t)(drawn / 16 % (most - 7));
}

static void post(int side, int number, int slot, double now) {
  struct connection* const connection = &sides[side].connections[number];
  struct lane *const lane = &sides[side].lanes[number],
                     *const remote = (struct lane*)(uintptr_t)introductions[1 - side].lanes + number;
  uint64_t* const random = &sides[side].random;
  static const enum kind kDrawn[] = {READ, READ_BACK, SEND};
  struct operation* const operation = &connection->operations[slot];
  *operation = (struct operation){.kind = kDrawn[pattern_draw(random) % 3],
                                  .left = 1,
                                  .bytes = draw_length(random),
                                  .seed = pattern_draw(random),
                                  .posted = now};
  const enum kind kind = operation->kind;
  struct ibv_sge outgoing = {
      .addr = (uintptr_t)lane->outgoing[slot], .length = operation->bytes, .lkey = nic.mr->lkey};
  struct ibv_sge fetched = {
      .addr = (uintptr_t)lane->fetched[slot], .length = operation->bytes, .lkey = nic.mr->lkey};
  struct ibv_send_wr read = {
      .wr_id = name_work(kind, side, number, slot, connection->life),
      .sg_list = &fetched,
      .num_sge = 1,
      .opcode = IBV_WR_RDMA_READ,
      .send_flags = IBV_SEND_SIGNALED,
      .wr.rdma = {.remote_addr = (uintptr_t)remote->read_here, .rkey = introductions[1 - side].rkey}};
  struct ibv_send_wr other = {.sg_list = &outgoing, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED};
  struct ibv_send_wr *request = &read, *bad;
  if (kind == READ) {
    operation->seed = seed_of_lane(1 - side, number);
  } else {
    /* A SEND says what it carries: its first word is the seed of the others. */
    pattern_fill(lane->outgoing[slot], operation->bytes, operation->seed);
    if (kind == SEND) lane->outgoing[slot][0] = operation->seed;
    request = &other;
  }
  if (kind == READ_BACK) {
    operation->left = 2;
    read.wr.rdma.remote_addr = (uintptr_t)remote->write_here[slot];
    other.wr_id = name_work(WRITE, side, number, slot, connection->life);
    other.next = &read;
    other.opcode = IBV_WR_RDMA_WRITE;
    other.wr.rdma = read.wr.rdma;
  } else if (kind == SEND) {
    other.wr_id = name_work(SEND, side, number, slot, connection->life);
    other.opcode = IBV_WR_SEND;
  }
  const int error = ibv_post_send(connection->qp, request, &bad);
  if (error != 0) broken("cannot post on queue pair %d: %s", number, strerror(error));
}

static void verify(const uint64_t* words, uint32_t bytes, uint64_t expected, enum kind kind, int number) {
  const uint32_t wrong = pattern_difference(words, bytes, expected);
  if (wrong != bytes)
    broken("%s on queue pair %d differs near byte %u of %u", kKinds[kind], number, wrong, bytes);
  bytes_verified += bytes;
}

static void take(const struct ibv_wc* wc) {
  const enum kind kind = (enum kind)(wc->wr_id >> 56);
  const int side = wc->wr_id >> 48 & 0xff, number = wc->wr_id >> 40 & 0xff, slot = wc->wr_id >> 32 & 0xff;
  struct connection* const connection = &sides[side].connections[number];
  struct lane* const lane = &sides[side].lanes[number];
  if ((uint32_t)wc->wr_id != connection->life) return; /* of a queue pair that is destroyed */
  if (wc->status != IBV_WC_SUCCESS)
    broken("%s on queue pair %d: %s", kKinds[kind], number, ibv_wc_status_str(wc->status));
  if (kind == RECEIVE) {
    const uint64_t* const words = lane->received[slot];
    verify(words + 1, wc->byte_len - 8, words[0] + 1, kind, number);
    post_receive(side, number, slot);
    return;
  }
  struct operation* const operation = &connection->operations[slot];
  if (operation->left-- == 0) broken("a second completion of a %s on queue pair %d", kKinds[kind], number);
  if (kind == READ || kind == READ_BACK)
    verify(lane->fetched[slot], operation->bytes, operation->seed, kind, number);
  if (operation->left == 0) {
    operation->kind = 0;
    operations_done++;
  }
}

/* Fills all windows; returns how many operations are outstanding. */
static int post_operations(double now) {
  int outstanding = 0;
  for (int side = first_side; side <= last_side; side++) {
    for (int number = 0; number < qps; number++) {
      for (int slot = 0; slot < WINDOW; slot++) {
        const struct operation* const operation = &sides[side].connections[number].operations[slot];
        if (operation->kind == 0 && !is_ending) post(side, number, slot, now);
        if (operation->kind == 0) continue;
        outstanding++;
        if (now - operation->posted > PATIENCE_S)
          broken(
              "stands still: a %s of %u bytes on queue pair %d (%06x to %06x), for %d s, %llu done, %llu lives",
              kKinds[operation->kind], operation->bytes, number, introductions[side].qps[number],
              introductions[1 - side].qps[number], PATIENCE_S, (unsigned long long)operations_done,
              (unsigned long long)lives);
      }
    }
  }
  return outstanding;
}

static int take_completions(void) {
  struct ibv_wc completions[32];
  int total = 0, count = 0;
  while ((count = ibv_poll_cq(nic.cq, 32, completions)) > 0) {
    for (int i = 0; i < count; i++) take(&completions[i]);
    total += count;
  }
  if (count < 0) broken("ibv_poll_cq fails");
  return total;
}

/* What rank 0 has the other one do: recreate those queue pairs, or end (0). */
static bool command_came(int timeout_ms, bool* notified) {
  struct pollfd events[2] = {{.fd = nic.channel->fd, .events = POLLIN},
                             {.fd = rank == 1 && !is_ending ? meeting.sockets[0] : -1, .events = POLLIN}};
  if (poll(events, 2, timeout_ms) <= 0) return false;
  *notified = events[0].revents != 0;
  return events[1].revents != 0;
}

static uint64_t draw_neighbors(uint64_t* random) {
  uint64_t chosen = 0;
  for (int number = (qps + 1) / 2; number < qps; number++) chosen |= (pattern_draw(random) & 1) << number;
  return chosen;
}

static void execute(uint64_t command) {
  if (command == 0) {
    is_ending = true;
  } else {
    recreate(command);
  }
}

/* A program that sleeps looks at its queue when it was notified, and then only: a notification that is missed
 * shows. */
static void talk(double seconds) {
  const double end = seconds_now() + seconds;
  uint64_t random = pattern_mix(~seed);
  double next_command = 0;
  bool is_armed = false;
  while (true) {
    double now = seconds_now();
    const int outstanding = post_operations(now);
    if (is_ending && outstanding == 0) return;
    if (!is_armed) {
      if (take_completions() > 0) continue;
      if (!spins) {
        if (ibv_req_notify_cq(nic.cq, 0) != 0) broken("ibv_req_notify_cq fails");
        is_armed = true;
        if (take_completions() > 0) continue;
      }
    }
    if (rank == 0 && !is_ending && now >= next_command) {
      const uint64_t command = now >= end ? 0 : draw_neighbors(&random);
      if (size == 2 && (now >= end || command != 0) &&
          send(meeting.sockets[1], &command, sizeof command, MSG_NOSIGNAL) != sizeof command)
        broken("the other program has gone");
      if (now >= end || command != 0) execute(command);
      next_command = seconds_now() + (double)(pattern_draw(&random) % (LONGEST_PEACE_MS * 1000)) * 1e-6;
      continue;
    }
    bool notified = false;
    const int wait_ms = spins ? 0 : rank == 0 && !is_ending ? (int)((next_command - now) * 1000) + 1 : 1000;
    if (command_came(wait_ms, &notified)) {
      uint64_t command;
      if (recv(meeting.sockets[0], &command, sizeof command, MSG_WAITALL) != sizeof command)
        broken("the other program has gone");
      execute(command);
    }
    if (notified) {
      verbs_take_event(&nic);
      is_armed = false;
    }
  }
}

/* What the other side still has outstanding needs our receives: ours alone being done is not the end. */
static void serve_until_both_are_done(void) {
  if (size == 1) return;
  const char done = 1;
  char all_done = 0;
  const int peer = meeting.sockets[1 - rank];
  if (send(peer, &done, 1, MSG_NOSIGNAL) != 1) broken("the other program has gone");
  const double deadline = seconds_now() + 2 * PATIENCE_S;
  while (recv(peer, &all_done, 1, MSG_DONTWAIT) != 1) {
    take_completions();
    if (seconds_now() > deadline) broken("the other program is never done");
    poll(NULL, 0, 1);
  }
}

static void destroy_objects(void) {
  for (int side = first_side; side <= last_side; side++) {
    for (int number = 0; number < qps; number++) {
      if (ibv_destroy_qp(sides[side].connections[number].qp) != 0) broken("cannot destroy a queue pair");
    }
  }
  verbs_close(&nic);
}

int main(int argc, char** argv) {
  const char* device = "urnic0";
  int port = 0;
  double seconds = 10;
  const struct program_option options[] = {
      {"--rank", OPTION_INT, &rank},          {"--size", OPTION_INT, &size},
      {"--port", OPTION_INT, &port},          {"--qps", OPTION_INT, &qps},
      {"--seconds", OPTION_DOUBLE, &seconds}, {"--spin", OPTION_BOOL, &spins},
      {"--seed", OPTION_U64, &seed},          {"--device", OPTION_TEXT, &device},
      {"--gid", OPTION_INT, &gid_index},      {.name = NULL}};
  read_options(argc, argv, options);
  if (size < 1 || size > 2 || rank < 0 || rank >= size || port == 0 || qps < 2 || qps > MOST_QPS)
    broken("say --rank R --port PORT, with up to %d queue pairs", MOST_QPS);
  setvbuf(stdout, NULL, _IOLBF, 0);
  first_side = rank;
  last_side = size == 1 ? 1 : rank;

  open_device(device);
  if (size == 2 && !rendezvous_open(&meeting, rank, size, NULL, (uint16_t)port, MEETING_S))
    broken("the other program does not come");
  connect_all(~(uint64_t)0 >> (64 - qps));
  talk(seconds);
  serve_until_both_are_done();
  if (size == 2) rendezvous_close(&meeting);
  destroy_objects();
  printf("done %llu operations, %llu bytes verified, %llu queue pairs made\n",
         (unsigned long long)operations_done, (unsigned long long)bytes_verified, (unsigned long long)lives);
  return 0;
}
