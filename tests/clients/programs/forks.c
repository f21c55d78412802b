// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* What programs do around fork while a NIC is open.
 *
 *   forks orphan exit|kill       has a queue pair, and a child that sleeps; prints 'child NUMBER' and ends in that way
 *   forks both                   parent and child each send a message, over devices that each has opened itself
 *   forks server PORT [WAY...]   listens by rdma_cm; then, by WAY: 'daemon' calls daemon(), 'twice' does it twice, 'poll' waits for
 *                                the channel by poll(), 'unblocked' with O_NONBLOCK, 'workers' has two children that sleep. Serves one
 *                                connection of 'ece_pair client' and prints 'served' */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test_client.h"

enum { SECONDS_OF_A_CHILD = 120 };

struct device {
  struct ibv_context* context;
  struct ibv_pd* pd;
  struct ibv_cq* cq;
  struct ibv_mr* mr;
  char memory[64];
};

static void open_first(struct device* device) {
  struct ibv_device** const list = ibv_get_device_list(NULL);
  if (list == NULL || list[0] == NULL) broken("ibv_get_device_list: %m");
  device->context = ibv_open_device(list[0]);
  if (device->context == NULL) broken("ibv_open_device: %m");
  ibv_free_device_list(list);
  device->pd = ibv_alloc_pd(device->context);
  device->cq = ibv_create_cq(device->context, 4, NULL, NULL, 0);
  if (device->pd == NULL || device->cq == NULL) broken("ibv_alloc_pd, ibv_create_cq: %m");
  device->mr = ibv_reg_mr(device->pd, device->memory, sizeof device->memory, IBV_ACCESS_LOCAL_WRITE);
  if (device->mr == NULL) broken("ibv_reg_mr: %m");
}

static struct ibv_qp* make_qp(struct device* device) {
  struct ibv_qp_init_attr wanted = {
      .send_cq = device->cq,
      .recv_cq = device->cq,
      .qp_type = IBV_QPT_RC,
      .cap = {.max_send_wr = 2, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1}};
  struct ibv_qp* const qp = ibv_create_qp(device->pd, &wanted);
  if (qp == NULL) broken("ibv_create_qp: %m");
  return qp;
}

static void connect_to_itself(struct device* device, struct ibv_qp* qp) {
  union ibv_gid gid;
  struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1};
  struct ibv_qp_attr receive = {
      .qp_state = IBV_QPS_RTR,
      .path_mtu = IBV_MTU_1024,
      .dest_qp_num = qp->qp_num,
      .max_dest_rd_atomic = 1,
      .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.sgid_index = 1, .hop_limit = 64}}};
  struct ibv_qp_attr send = {
      .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1};
  if (ibv_query_gid(device->context, 1, 1, &gid) != 0) broken("ibv_query_gid: %m");
  receive.ah_attr.grh.dgid = gid;
  if (ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) != 0 ||
      ibv_modify_qp(qp, &receive,
                    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) != 0 ||
      ibv_modify_qp(qp, &send,
                    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                        IBV_QP_MAX_QP_RD_ATOMIC) != 0) {
    broken("ibv_modify_qp: %m");
  }
}

static void send_to_itself(struct device* device, struct ibv_qp* qp) {
  struct ibv_sge sge = {.addr = (uintptr_t)device->memory, .length = 32, .lkey = device->mr->lkey};
  struct ibv_recv_wr receive = {.sg_list = &sge, .num_sge = 1}, *bad_receive;
  struct ibv_send_wr send = {.sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_SEND,
                             .send_flags = IBV_SEND_SIGNALED},
                     *bad_send;
  struct ibv_wc wc;
  if (ibv_post_recv(qp, &receive, &bad_receive) != 0 || ibv_post_send(qp, &send, &bad_send) != 0) {
    broken("ibv_post_recv, ibv_post_send: %m");
  }
  for (int completions = 0; completions < 2;) {
    const int count = ibv_poll_cq(device->cq, 1, &wc);
    if (count < 0 || (count == 1 && wc.status != IBV_WC_SUCCESS)) broken("ibv_poll_cq");
    completions += count;
  }
}

static void start_sleeper(void) {
  const pid_t child = fork();
  if (child == 0) {
    sleep(SECONDS_OF_A_CHILD);
    _exit(0);
  }
  if (child < 0) broken("fork: %m");
  printf("child %d\n", child);
  fflush(stdout);
}

static void be_orphaned(const char* how) {
  struct device device;
  open_first(&device);
  connect_to_itself(&device, make_qp(&device));
  start_sleeper();
  if (strcmp(how, "kill") == 0) kill(getpid(), SIGKILL);
}

static void be_both(void) {
  struct device parents, childs;
  int status = 0;
  open_first(&parents);
  struct ibv_qp* const qp = make_qp(&parents);
  connect_to_itself(&parents, qp);
  const pid_t child = fork();
  if (child == 0) {
    if (ibv_alloc_pd(parents.context) != NULL || errno != EIO) {
      broken("the parent's device works in the child");
    }
    open_first(&childs);
    struct ibv_qp* const own = make_qp(&childs);
    connect_to_itself(&childs, own);
    send_to_itself(&childs, own);
    if (ibv_destroy_qp(qp) != EIO) broken("the parent's queue pair works in the child");
    printf("the child has sent\n");
    exit(0);
  }
  send_to_itself(&parents, qp);
  if (waitpid(child, &status, 0) != child || status != 0) broken("the child ends with %d", status);
  send_to_itself(&parents, qp);
  printf("the parent has sent\n");
}

static struct rdma_cm_event* next_event(struct rdma_event_channel* channel, bool must_poll, int type) {
  struct rdma_cm_event* event;
  for (;;) {
    struct pollfd readable = {.fd = channel->fd, .events = POLLIN};
    if (must_poll && poll(&readable, 1, -1) != 1) broken("poll: %m");
    if (rdma_get_cm_event(channel, &event) == 0) break;
    if (errno != EAGAIN) broken("rdma_get_cm_event: %m");
  }
  if ((int)event->event != type) broken("%s, status %d", rdma_event_str(event->event), event->status);
  return event;
}

static void serve(const char* port, int count, char** ways) {
  struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
  struct ibv_qp_init_attr wanted = {
      .qp_type = IBV_QPT_RC,
      .sq_sig_all = 1,
      .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
  static char memory[16];
  struct rdma_cm_id* listener;
  struct ibv_wc wc;
  bool must_poll = false;
  struct rdma_event_channel* const channel = rdma_create_event_channel();
  if (channel == NULL || rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) != 0) {
    broken("rdma_create_id: %m");
  }
  if (rdma_bind_addr(listener, (struct sockaddr*)&any) != 0 || rdma_listen(listener, 8) != 0) {
    broken("rdma_listen: %m");
  }
  for (int i = 0; i < count; ++i) {
    const bool is_twice = strcmp(ways[i], "twice") == 0;
    if (is_twice && daemon(1, 1) != 0) broken("daemon: %m");
    if ((is_twice || strcmp(ways[i], "daemon") == 0) && daemon(1, 1) != 0) broken("daemon: %m");
    if (strcmp(ways[i], "unblocked") == 0) fcntl(channel->fd, F_SETFL, O_NONBLOCK);
    if (strcmp(ways[i], "unblocked") == 0 || strcmp(ways[i], "poll") == 0) must_poll = true;
    if (strcmp(ways[i], "workers") == 0) start_sleeper(), start_sleeper();
  }
  printf("server %d\n", getpid());
  fflush(stdout);
  struct rdma_cm_event* event = next_event(channel, must_poll, RDMA_CM_EVENT_CONNECT_REQUEST);
  struct rdma_cm_id* const id = event->id;
  if (rdma_create_qp(id, NULL, &wanted) != 0) broken("rdma_create_qp: %m");
  struct ibv_mr* const mr = rdma_reg_msgs(id, memory, sizeof memory);
  if (mr == NULL || rdma_post_recv(id, NULL, memory, sizeof memory, mr) != 0) broken("rdma_post_recv: %m");
  if (rdma_accept(id, NULL) != 0) broken("rdma_accept: %m");
  rdma_ack_cm_event(event);
  rdma_ack_cm_event(next_event(channel, must_poll, RDMA_CM_EVENT_ESTABLISHED));
  if (rdma_get_recv_comp(id, &wc) != 1 || wc.status != IBV_WC_SUCCESS) broken("rdma_get_recv_comp");
  if (rdma_post_send(id, NULL, memory, sizeof memory, mr, 0) != 0) broken("rdma_post_send: %m");
  if (rdma_get_send_comp(id, &wc) != 1 || wc.status != IBV_WC_SUCCESS) broken("rdma_get_send_comp");
  printf("served\n");
}

int main(int count, char** words) {
  if (count == 3 && strcmp(words[1], "orphan") == 0) {
    be_orphaned(words[2]);
  } else if (count == 2 && strcmp(words[1], "both") == 0) {
    be_both();
  } else if (count >= 3 && strcmp(words[1], "server") == 0) {
    serve(words[2], count - 3, words + 3);
  } else {
    broken("usage: orphan exit|kill, both, server PORT [WAY...]");
  }
  return 0;
}
