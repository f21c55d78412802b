// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* bystander: one program writes to a second one all the time, and reads a few bytes from other programs. How long does a READ take
 * when the second program takes nothing?
 *
 *   bystander --rank R --size N --port PORT [--seconds S] [--ack-timeout CODE] [--gid INDEX]
 *
 * Rank 0 writes to rank 1, and reads 8 bytes from each rank from 2 on, one after the other. It says 'ready', then
 * 'done ...' with the number of READs, their median and their longest time in microseconds, the numbers of WRITEs that completed and
 * that failed, and the seconds from the last WRITE that completed to the first that failed.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "rendezvous.h"
#include "test_client.h"
#include "verbs_objects.h"

enum {
  QPS = 8,
  WRITES_EACH = 4,
  WRITE_BYTES = 256 << 10,
  READ_BYTES = 8,
  MEMORY = 1 << 20,
  MOST_READS = 4000000
};

struct introduction {
  union ibv_gid gid;
  uint64_t memory;
  uint32_t rkey, qps[MOST_RANKS][QPS];
};

static struct rendezvous meeting;
static struct introduction own, all[MOST_RANKS];
static struct verbs_objects nic;
static struct ibv_qp* qps[MOST_RANKS][QPS];
static int rank = -1, size, gid_index = 1, ack_timeout = 14;
static float* reads;
static uint64_t read_count, written, failed;
static double last_good, first_bad;

static void connect_with(int peer) {
  for (int i = 0; i < QPS; ++i) {
    const struct remote_end end = {.gid = all[peer].gid,
                                   .qp = all[peer].qps[rank][i],
                                   .min_rnr_timer = 12,
                                   .ack_timeout = (uint8_t)ack_timeout};
    verbs_connect_qp(&nic, qps[peer][i], &end);
  }
}

static void post(int peer, int qp, enum ibv_wr_opcode opcode, uint32_t bytes) {
  struct ibv_sge sge = {.addr = (uintptr_t)nic.memory, .length = bytes, .lkey = nic.mr->lkey};
  struct ibv_send_wr request = {.wr_id = (uint64_t)(peer * QPS + qp),
                                .sg_list = &sge,
                                .num_sge = 1,
                                .opcode = opcode,
                                .send_flags = IBV_SEND_SIGNALED,
                                .wr.rdma = {.remote_addr = all[peer].memory, .rkey = all[peer].rkey}},
                     *bad;
  if (ibv_post_send(qps[peer][qp], &request, &bad) != 0) broken("cannot post to rank %d", peer);
}

/* Whether the READ that is under way has completed. */
static bool poll_once(void) {
  struct ibv_wc wc;
  if (ibv_poll_cq(nic.cq, 1, &wc) < 1) return false;
  const int peer = (int)wc.wr_id / QPS;
  if (peer != 1) {
    if (wc.status != IBV_WC_SUCCESS)
      broken("a READ of rank %d failed: %s", peer, ibv_wc_status_str(wc.status));
    return true;
  }
  if (wc.status == IBV_WC_SUCCESS) {
    ++written;
    last_good = seconds_now();
    post(1, (int)wc.wr_id % QPS, IBV_WR_RDMA_WRITE, WRITE_BYTES);
  } else if (failed++ == 0) {
    first_bad = seconds_now();
  }
  return false;
}

static void read_once(int peer) {
  const double begin = seconds_now();
  post(peer, 0, IBV_WR_RDMA_READ, READ_BYTES);
  while (!poll_once()) continue;
  if (read_count < MOST_READS) reads[read_count++] = (float)((seconds_now() - begin) * 1e6);
}

static int compare(const void* one, const void* other) {
  const float a = *(const float*)one, b = *(const float*)other;
  return (a > b) - (a < b);
}

static void run_hub(double seconds) {
  reads = calloc(MOST_READS, sizeof *reads);
  if (reads == NULL) broken("no memory");
  for (int peer = 2; peer < size; ++peer) read_once(peer);
  read_count = 0;
  for (int i = 0; i < QPS * WRITES_EACH; ++i) post(1, i % QPS, IBV_WR_RDMA_WRITE, WRITE_BYTES);
  printf("ready\n");
  fflush(stdout);
  const double end = seconds_now() + seconds;
  for (int peer = 2; seconds_now() < end; peer = peer + 1 == size ? 2 : peer + 1) read_once(peer);
  qsort(reads, read_count, sizeof *reads, compare);
  printf("done reads=%llu median_us=%.1f longest_us=%.0f writes=%llu failed=%llu after_s=%.3f\n",
         (unsigned long long)read_count, (double)reads[read_count / 2], (double)reads[read_count - 1],
         (unsigned long long)written, (unsigned long long)failed, failed > 0 ? first_bad - last_good : 0.0);
  fflush(stdout);
}

int main(int argc, char** argv) {
  int port = 0;
  double seconds = 5;
  const struct program_option table[] = {{"--rank", OPTION_INT, &rank},
                                         {"--size", OPTION_INT, &size},
                                         {"--port", OPTION_INT, &port},
                                         {"--gid", OPTION_INT, &gid_index},
                                         {"--seconds", OPTION_DOUBLE, &seconds},
                                         {"--ack-timeout", OPTION_INT, &ack_timeout},
                                         {NULL, OPTION_INT, NULL}};
  read_options(argc, argv, table);
  if (size < 3 || size > MOST_RANKS || rank < 0 || rank >= size) broken("three ranks at least");
  verbs_open(&nic, "urnic0", gid_index, QPS * WRITES_EACH * 2, MEMORY);
  own = (struct introduction){.gid = nic.gid, .memory = (uintptr_t)nic.memory, .rkey = nic.mr->rkey};
  const int first = rank == 0 ? 1 : 0, last = rank == 0 ? size - 1 : 0;
  for (int peer = first; peer <= last; ++peer) {
    for (int i = 0; i < QPS; ++i) {
      qps[peer][i] = verbs_create_qp(&nic, WRITES_EACH + 1, 1);
      own.qps[peer][i] = qps[peer][i]->qp_num;
    }
  }
  if (!rendezvous_open(&meeting, rank, size, NULL, (uint16_t)port, 60)) broken("not all are there");
  if (!rendezvous_share(&meeting, &own, all, sizeof own)) broken("a program has gone");
  for (int peer = first; peer <= last; ++peer) connect_with(peer);
  uint64_t here = 1, everyone[MOST_RANKS];
  if (!rendezvous_share(&meeting, &here, everyone, sizeof here)) broken("a program has gone");
  if (rank == 0) {
    run_hub(seconds);
    /* No program reads what the last WRITEs wrote, so they need not complete. */
    _exit(0);
  }
  /* A socket that has a timeout is interrupted when the program goes on after a stop. */
  char end;
  while (read(meeting.sockets[0], &end, 1) != 0) {
    if (errno != EINTR && errno != EAGAIN) break;
  }
  return 0;
}
