// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* fan_in: many programs write to one program, which also reads a few bytes from each of them all the time. How much do the programs
 * write that still run, when others are stopped or starved?
 *
 *   fan_in --rank R --size N --port PORT [--seconds S] [--gid INDEX]
 *
 * Ranks from 1 on write to rank 0. When rank 0 tells them that the time is over, they say 'wrote ...' with the number of bytes that
 * were acknowledged and of WRITEs that failed. Rank 0 says 'ready' when all are connected, and 'done' with how many READs were done
 * and how many failed.
 */
#include <infiniband/verbs.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rendezvous.h"
#include "test_client.h"
#include "verbs_objects.h"

enum { DEPTH = 16, WRITE_BYTES = 64 << 10, READ_BYTES = 8, MEMORY = 1 << 20 };

struct introduction {
  union ibv_gid gid;
  uint64_t memory;
  uint32_t rkey, qps[MOST_RANKS];
};

static struct rendezvous meeting;
static struct introduction own, all[MOST_RANKS];
static struct verbs_objects nic;
static struct ibv_qp* qps[MOST_RANKS];
static int rank = -1, size, gid_index = 1;
static uint64_t done, failed;

static void connect_with(int peer) {
  const struct remote_end end = {
      .gid = all[peer].gid, .qp = all[peer].qps[rank], .min_rnr_timer = 12, .ack_timeout = 14};
  verbs_connect_qp(&nic, qps[peer], &end);
}

static void post(int peer, enum ibv_wr_opcode opcode, uint32_t bytes) {
  struct ibv_sge sge = {.addr = (uintptr_t)nic.memory, .length = bytes, .lkey = nic.mr->lkey};
  struct ibv_send_wr request = {.wr_id = (uint64_t)peer,
                                .sg_list = &sge,
                                .num_sge = 1,
                                .opcode = opcode,
                                .send_flags = IBV_SEND_SIGNALED,
                                .wr.rdma = {.remote_addr = all[peer].memory, .rkey = all[peer].rkey}},
                     *bad;
  if (ibv_post_send(qps[peer], &request, &bad) != 0) broken("cannot post to rank %d", peer);
}

/* Each that succeeds is followed by another one. */
static void poll_all(enum ibv_wr_opcode opcode, uint32_t bytes) {
  struct ibv_wc wc[16];
  const int count = ibv_poll_cq(nic.cq, 16, wc);
  for (int i = 0; i < count; ++i) {
    if (wc[i].status != IBV_WC_SUCCESS) {
      ++failed;
      continue;
    }
    ++done;
    post((int)wc[i].wr_id, opcode, bytes);
  }
}

static void run_hub(double seconds) {
  for (int peer = 1; peer < size; ++peer) post(peer, IBV_WR_RDMA_READ, READ_BYTES);
  printf("ready\n");
  fflush(stdout);
  for (const double end = seconds_now() + seconds; seconds_now() < end;)
    poll_all(IBV_WR_RDMA_READ, READ_BYTES);
  for (int peer = 1; peer < size; ++peer) {
    char over = 0;
    send(meeting.sockets[peer], &over, 1, MSG_NOSIGNAL);
  }
  printf("done reads=%llu failed=%llu\n", (unsigned long long)done, (unsigned long long)failed);
}

static void run_writer(void) {
  struct pollfd told = {.fd = meeting.sockets[0], .events = POLLIN, .revents = 0};
  for (int i = 0; i < DEPTH; ++i) post(0, IBV_WR_RDMA_WRITE, WRITE_BYTES);
  while (poll(&told, 1, 0) == 0) {
    for (int i = 0; i < 64; ++i) poll_all(IBV_WR_RDMA_WRITE, WRITE_BYTES);
  }
  printf("wrote bytes=%llu failed=%llu\n", (unsigned long long)done * WRITE_BYTES,
         (unsigned long long)failed);
}

int main(int argc, char** argv) {
  int port = 0;
  double seconds = 5;
  const struct program_option table[] = {
      {"--rank", OPTION_INT, &rank},          {"--size", OPTION_INT, &size},
      {"--port", OPTION_INT, &port},          {"--gid", OPTION_INT, &gid_index},
      {"--seconds", OPTION_DOUBLE, &seconds}, {NULL, OPTION_INT, NULL}};
  read_options(argc, argv, table);
  if (size < 2 || size > MOST_RANKS || rank < 0 || rank >= size) broken("two ranks at least");
  verbs_open(&nic, "urnic0", gid_index, 2 * MOST_RANKS * DEPTH, MEMORY);
  own = (struct introduction){.gid = nic.gid, .memory = (uintptr_t)nic.memory, .rkey = nic.mr->rkey};
  const int first = rank == 0 ? 1 : 0, last = rank == 0 ? size - 1 : 0;
  for (int peer = first; peer <= last; ++peer) {
    qps[peer] = verbs_create_qp(&nic, DEPTH + 1, 1);
    own.qps[peer] = qps[peer]->qp_num;
  }
  if (!rendezvous_open(&meeting, rank, size, NULL, (uint16_t)port, 60)) broken("not all are there");
  if (!rendezvous_share(&meeting, &own, all, sizeof own)) broken("a program has gone");
  for (int peer = first; peer <= last; ++peer) connect_with(peer);
  uint64_t here = 1, everyone[MOST_RANKS];
  if (!rendezvous_share(&meeting, &here, everyone, sizeof here)) broken("a program has gone");
  rank == 0 ? run_hub(seconds) : run_writer();
  fflush(stdout);
  /* No program reads what the last WRITEs wrote, so they need not complete. */
  _exit(0);
}
