// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* One of two programs that write, read and send to each other, and look at no clock:
 *
 *   lock_step --own FILE --peer FILE --starts 0|1 [--events 0|1] [--rounds N]
 *
 * Each tells what the other must know in a file, as they have no other way but the NICs. The one that starts
 * writes some packets to the other one, reads them back, and sends a message, which the other one returns.
 * With --events both sleep until a completion comes, otherwise they poll. Prints 'done' at the end. The
 * memory is at the same address in each run, because addresses are part of packets. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test_client.h"
#include "verbs_objects.h"

enum { BYTES = 3 * 4096 + 100, MESSAGE = 64, PSN = 1000 };
static void* const kPlace = (void*)0x200000000;

static struct verbs_objects objects;
static struct ibv_mr* region;
static struct ibv_qp* qp;
static const char* own;
static const char* peer;
static int starts, rounds = 20;
static bool events;

/* A verb that does nothing, and tells the NIC that this program is at work. */
static void call(void) {
  struct ibv_qp_attr attributes;
  struct ibv_qp_init_attr init;
  if (ibv_query_qp(qp, &attributes, IBV_QP_STATE, &init) != 0) broken("cannot query the queue pair");
}

/* Tells that this program is at `step`, and waits until the other one is; what it has told. While this
 * program sleeps, its NIC goes where frames and the other one go; while it `spins`, time stands. */
static void meet(const char* step, const char* text, char* answer, size_t room, bool spins) {
  char name[512], made[512];
  snprintf(name, sizeof name, "%s.%s", own, step);
  snprintf(made, sizeof made, "%s.new", own);
  FILE* file = fopen(made, "w");
  if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0 || rename(made, name) != 0)
    broken("cannot write %s: %s", name, strerror(errno));
  snprintf(name, sizeof name, "%s.%s", peer, step);
  while ((file = fopen(name, "r")) == NULL) {
    if (spins) {
      call();
    } else {
      usleep(1000);
    }
  }
  if (fgets(answer, (int)room, file) == NULL) broken("nothing in %s", name);
  fclose(file);
}

/* Prints the asynchronous events that have come. */
static void tell_events(void) {
  struct ibv_async_event event;
  const int fd = objects.context->async_fd;
  if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) != 0) broken("cannot read events");
  while (ibv_get_async_event(objects.context, &event) == 0) {
    printf("event: %s\n", ibv_event_type_str(event.event_type));
    ibv_ack_async_event(&event);
  }
}

static void wait_for(int completions) {
  struct ibv_wc wc;
  while (completions > 0) {
    int polled = ibv_poll_cq(objects.cq, 1, &wc);
    if (polled == 0 && events) {
      if (ibv_req_notify_cq(objects.cq, 0) != 0) broken("cannot arm the queue");
      polled = ibv_poll_cq(objects.cq, 1, &wc);
      if (polled == 0) verbs_take_event(&objects);
    }
    if (polled < 0) broken("cannot poll");
    if (polled == 0) continue;
    if (wc.status != IBV_WC_SUCCESS) {
      tell_events();
      broken("a work request failed: %s", ibv_wc_status_str(wc.status));
    }
    completions--;
  }
}

static void post(enum ibv_wr_opcode opcode, uint32_t bytes, uint32_t rkey) {
  struct ibv_sge sge = {.addr = (uintptr_t)kPlace, .length = bytes, .lkey = region->lkey};
  struct ibv_send_wr* bad;
  struct ibv_send_wr wr = {.opcode = opcode,
                           .send_flags = IBV_SEND_SIGNALED,
                           .sg_list = &sge,
                           .num_sge = 1,
                           .wr.rdma = {.remote_addr = (uintptr_t)kPlace, .rkey = rkey}};
  if (ibv_post_send(qp, &wr, &bad) != 0) broken("a request is refused: %s", strerror(errno));
}

static void post_receive(void) {
  struct ibv_sge sge = {.addr = (uintptr_t)kPlace, .length = MESSAGE, .lkey = region->lkey};
  struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1};
  struct ibv_recv_wr* bad;
  if (ibv_post_recv(qp, &wr, &bad) != 0) broken("a receive is refused: %s", strerror(errno));
}

static void connect_to_peer(uint32_t* rkey) {
  char text[128], answer[128], address[64], gid[INET6_ADDRSTRLEN];
  inet_ntop(AF_INET6, objects.gid.raw, gid, sizeof gid);
  snprintf(text, sizeof text, "%s %" PRIu32 " %" PRIu32 "\n", gid, qp->qp_num, region->rkey);
  meet("made", text, answer, sizeof answer, true);
  struct remote_end end = {.psn = PSN, .own_psn = PSN, .min_rnr_timer = 12, .ack_timeout = 14};
  if (sscanf(answer, "%63s %" SCNu32 " %" SCNu32, address, &end.qp, rkey) != 3 ||
      inet_pton(AF_INET6, address, end.gid.raw) != 1)
    broken("the other program says '%s'", answer);
  meet("ready", "yes\n", answer, sizeof answer, true);
  verbs_connect_qp(&objects, qp, &end);
  post_receive();
  meet("connected", "yes\n", answer, sizeof answer, true);
}

static void run(uint32_t rkey) {
  for (int i = 0; i < rounds; i++) {
    if (starts) {
      post(IBV_WR_RDMA_WRITE, BYTES, rkey);
      wait_for(1);
      post(IBV_WR_RDMA_READ, BYTES, rkey);
      wait_for(1);
      post(IBV_WR_SEND, MESSAGE, 0);
      wait_for(2); /* it is sent, and has come back */
      post_receive();
    } else {
      wait_for(1);
      post_receive();
      post(IBV_WR_SEND, MESSAGE, 0);
      wait_for(1);
    }
  }
}

int main(int argc, char** argv) {
  const struct program_option table[] = {
      {"--own", OPTION_TEXT, &own},
      {"--peer", OPTION_TEXT, &peer},
      {"--starts", OPTION_INT, &starts},
      {"--events", OPTION_BOOL, &events},
      {"--rounds", OPTION_INT, &rounds},
      {NULL, OPTION_INT, NULL},
  };
  char answer[128];
  uint32_t rkey = 0;
  read_options(argc, argv, table);
  if (own == NULL || peer == NULL) broken("--own and --peer are missing");
  verbs_open(&objects, "urnic0", VERBS_IPV4_GID, 64, 4096);
  if (mmap(kPlace, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) !=
      kPlace)
    broken("no memory at %p", kPlace);
  region = ibv_reg_mr(objects.pd, kPlace, 16384,
                      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
  if (region == NULL) broken("cannot register memory: %s", strerror(errno));
  qp = verbs_create_qp(&objects, 8, 8);
  connect_to_peer(&rkey);
  run(rkey);
  meet("done", "yes\n", answer, sizeof answer, false);
  if (ibv_destroy_qp(qp) != 0 || ibv_dereg_mr(region) != 0) broken("cannot destroy objects");
  verbs_close(&objects);
  printf("done\n");
  return 0;
}
