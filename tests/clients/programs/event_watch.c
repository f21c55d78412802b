// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* event_watch: a plain verbs program that talks to itself, and says what it is told of its device.
 *
 *   event_watch [--milliseconds N] [--device D] [--gid INDEX]
 *
 * It posts a WRITE every millisecond from one queue pair of its own to another. It prints
 *
 *   event NAME port STATE    an asynchronous event, and what ibv_query_port says then: a state, or an error
 *   completion STATUS        the first work request that failed
 *   post ERROR               the first one that could not be posted; it posts no more
 *   pd ERROR                 after DEVICE_FATAL: what ibv_alloc_pd says
 *   closed                   after N milliseconds, when all is destroyed
 *   broken ...               and exits with 1 when anything is not as it must be
 */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "test_client.h"
#include "verbs_objects.h"

static struct verbs_objects nic;

static void tell_of(const struct ibv_async_event* event) {
  struct ibv_port_attr port;
  const int error = ibv_query_port(nic.context, 1, &port);
  printf("event %s port %s\n", ibv_event_type_str(event->event_type),
         error != 0 ? strerrorname_np(error) : ibv_port_state_str(port.state));
  if (event->event_type == IBV_EVENT_DEVICE_FATAL) {
    errno = 0;
    struct ibv_pd* const pd = ibv_alloc_pd(nic.context);
    printf("pd %s\n", pd != NULL ? "0" : strerrorname_np(errno));
  }
}

static void take_events(void) {
  struct ibv_async_event event;
  while (ibv_get_async_event(nic.context, &event) == 0) {
    tell_of(&event);
    ibv_ack_async_event(&event);
  }
  if (errno != EAGAIN) broken("ibv_get_async_event: %m");
}

static void take_completions(bool* has_failed) {
  struct ibv_wc wc;
  int count;
  while ((count = ibv_poll_cq(nic.cq, 1, &wc)) == 1) {
    if (wc.status == IBV_WC_SUCCESS || *has_failed) continue;
    *has_failed = true;
    printf("completion %s\n", ibv_wc_status_str(wc.status));
  }
  if (count < 0) broken("ibv_poll_cq says %d", count);
}

static bool post(struct ibv_qp* qp) {
  struct ibv_sge sge = {.addr = (uintptr_t)nic.memory, .length = 8, .lkey = nic.mr->lkey};
  struct ibv_send_wr request = {.sg_list = &sge,
                                .num_sge = 1,
                                .opcode = IBV_WR_RDMA_WRITE,
                                .send_flags = IBV_SEND_SIGNALED,
                                .wr.rdma = {.remote_addr = sge.addr + 8, .rkey = nic.mr->rkey}},
                     *bad = NULL;
  const int error = ibv_post_send(qp, &request, &bad);
  if (error == 0 || error == ENOMEM) return true; /* ENOMEM: the queue is full for the moment */
  if (bad != &request) broken("ibv_post_send names no bad work request");
  printf("post %s\n", strerrorname_np(error));
  return false;
}

int main(int argc, char** argv) {
  const char* device = "urnic0";
  int milliseconds = 1000, gid_index = 1;
  const struct program_option options[] = {{"--milliseconds", OPTION_INT, &milliseconds},
                                           {"--device", OPTION_TEXT, &device},
                                           {"--gid", OPTION_INT, &gid_index},
                                           {NULL, OPTION_INT, NULL}};
  read_options(argc, argv, options);
  setvbuf(stdout, NULL, _IOLBF, 0);
  verbs_open(&nic, device, gid_index, 64, 4096);
  if (fcntl(nic.context->async_fd, F_SETFL, O_NONBLOCK) != 0) broken("fcntl: %m");
  struct ibv_qp* qps[2];
  for (int i = 0; i < 2; ++i) qps[i] = verbs_create_qp(&nic, 16, 1);
  for (int i = 0; i < 2; ++i) {
    const struct remote_end end = {.gid = nic.gid,
                                   .qp = qps[1 - i]->qp_num,
                                   .psn = 7,
                                   .own_psn = 7,
                                   .min_rnr_timer = 5,
                                   .ack_timeout = 14};
    verbs_connect_qp(&nic, qps[i], &end);
  }
  bool may_post = true, has_failed = false;
  const double end = seconds_now() + milliseconds / 1e3;
  while (seconds_now() < end) {
    may_post = may_post && post(qps[0]);
    take_events();
    take_completions(&has_failed);
    usleep(1000);
  }
  for (int i = 0; i < 2; ++i) {
    if (ibv_destroy_qp(qps[i]) != 0) broken("ibv_destroy_qp: %m");
  }
  verbs_close(&nic);
  puts("closed");
  return 0;
}
