// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* Connections that are made, used for one message each way, and ended, one after the other, over rdma_cm or over
 * TCP.
 *
 *   connection_row rdma|tcp server ADDRESS PORT          serves until it is killed
 *   connection_row rdma|tcp client ADDRESS PORT COUNT    prints 'N connections a second'
 *
 * A message is the number of the connection; the server sends it back plus one. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test_client.h"

enum { TIMEOUT_MS = 5000, BACKLOG = 16, DATA_DEPTH = 4 };

static struct sockaddr_in address_of(const char* address, const char* port) {
  struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
  if (inet_pton(AF_INET, address, &there.sin_addr) != 1) broken("%s is no IPv4 address", address);
  return there;
}

static void expect_number(uint32_t found, uint32_t expected) {
  if (found != expected) broken("connection %u carried %u", expected, found);
}

/* --- TCP --- */

static void exchange(int fd, const uint32_t* out, uint32_t* in, bool sends_first) {
  if (sends_first && send(fd, out, sizeof *out, 0) != sizeof *out) broken("send: %m");
  if (recv(fd, in, sizeof *in, MSG_WAITALL) != sizeof *in) broken("recv: %m");
}

static void tcp_serve(const struct sockaddr_in* here) {
  const int one = 1;
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(listener, (const struct sockaddr*)here, sizeof *here) != 0 || listen(listener, BACKLOG) != 0) {
    broken("bind, listen: %m");
  }
  for (;;) {
    const int fd = accept(listener, NULL, NULL);
    uint32_t number, answer;
    if (fd < 0) broken("accept: %m");
    exchange(fd, NULL, &number, false);
    answer = number + 1;
    if (send(fd, &answer, sizeof answer, 0) != sizeof answer) broken("send: %m");
    close(fd);
  }
}

static void tcp_connect_once(const struct sockaddr_in* there, uint32_t number) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  uint32_t answer;
  if (connect(fd, (const struct sockaddr*)there, sizeof *there) != 0) broken("connect: %m");
  exchange(fd, &number, &answer, true);
  expect_number(answer, number + 1);
  close(fd);
}

/* --- rdma_cm: one connection at a time, with memory and a completion queue that stay. --- */

struct resources {
  struct ibv_pd* pd;
  struct ibv_comp_channel* channel;
  struct ibv_cq* cq;
  struct ibv_mr* mr;
};
static struct resources resources;
static uint32_t memory[2]; /* what is sent, and what is received */

static void make_resources(struct ibv_context* context) {
  if (resources.pd != NULL) return;
  resources.pd = ibv_alloc_pd(context);
  resources.channel = ibv_create_comp_channel(context);
  if (resources.pd == NULL || resources.channel == NULL) broken("ibv_alloc_pd, ibv_create_comp_channel: %m");
  resources.cq = ibv_create_cq(context, 2 * DATA_DEPTH, NULL, resources.channel, 0);
  if (resources.cq == NULL || ibv_req_notify_cq(resources.cq, 0) != 0) broken("ibv_create_cq: %m");
  resources.mr = ibv_reg_mr(resources.pd, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE);
  if (resources.mr == NULL) broken("ibv_reg_mr: %m");
}

static void post_receive(struct rdma_cm_id* id) {
  struct ibv_sge sge = {(uintptr_t)&memory[1], sizeof memory[1], resources.mr->lkey};
  struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;
  if (ibv_post_recv(id->qp, &wr, &bad) != 0) broken("ibv_post_recv: %m");
}

static void post_send(struct rdma_cm_id* id, uint32_t number) {
  struct ibv_sge sge = {(uintptr_t)&memory[0], sizeof memory[0], resources.mr->lkey};
  struct ibv_send_wr wr = {
      .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
  struct ibv_send_wr* bad;
  memory[0] = number;
  if (ibv_post_send(id->qp, &wr, &bad) != 0) broken("ibv_post_send: %m");
}

/* As TCP's recv() does, it sleeps while there is nothing. */
static void wait_for_completions(int count) {
  struct ibv_cq* cq;
  struct ibv_wc wc;
  void* none;
  for (;;) {
    int found;
    while ((found = ibv_poll_cq(resources.cq, 1, &wc)) > 0) {
      if (wc.status != IBV_WC_SUCCESS) broken("completion: %s", ibv_wc_status_str(wc.status));
      --count;
    }
    if (found < 0) broken("ibv_poll_cq");
    if (count == 0) return;
    if (ibv_get_cq_event(resources.channel, &cq, &none) != 0) broken("ibv_get_cq_event: %m");
    ibv_ack_cq_events(cq, 1);
    if (ibv_req_notify_cq(cq, 0) != 0) broken("ibv_req_notify_cq: %m");
  }
}

static void make_queue_pair(struct rdma_cm_id* id) {
  struct ibv_qp_init_attr wanted = {.qp_type = IBV_QPT_RC,
                                    .cap = {.max_send_wr = DATA_DEPTH,
                                            .max_recv_wr = DATA_DEPTH,
                                            .max_send_sge = 1,
                                            .max_recv_sge = 1}};
  make_resources(id->verbs);
  wanted.send_cq = wanted.recv_cq = resources.cq;
  if (rdma_create_qp(id, resources.pd, &wanted) != 0) broken("rdma_create_qp: %m");
  post_receive(id);
}

/* Takes the next event, which must be this one, and returns its id. */
static struct rdma_cm_id* expect_event(struct rdma_event_channel* channel, enum rdma_cm_event_type type) {
  struct rdma_cm_event* event;
  struct rdma_cm_id* id;
  if (rdma_get_cm_event(channel, &event) != 0) broken("rdma_get_cm_event: %m");
  if (event->event != type) {
    broken("%s (%d) instead of %s", rdma_event_str(event->event), event->status, rdma_event_str(type));
  }
  id = event->id;
  rdma_ack_cm_event(event);
  return id;
}

static void destroy(struct rdma_cm_id* id) {
  rdma_destroy_qp(id);
  if (rdma_destroy_id(id) != 0) broken("rdma_destroy_id: %m");
}

static void rdma_serve(struct sockaddr_in* here) {
  struct rdma_event_channel* const channel = rdma_create_event_channel();
  struct rdma_conn_param nothing = {.rnr_retry_count = 7};
  struct rdma_cm_id* listener;
  if (channel == NULL || rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) != 0) broken("rdma_create_id: %m");
  if (rdma_bind_addr(listener, (struct sockaddr*)here) != 0) broken("rdma_bind_addr: %m");
  if (rdma_listen(listener, BACKLOG) != 0) broken("rdma_listen: %m");
  for (;;) {
    struct rdma_cm_id* const id = expect_event(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
    make_queue_pair(id);
    if (rdma_accept(id, &nothing) != 0) broken("rdma_accept: %m");
    expect_event(channel, RDMA_CM_EVENT_ESTABLISHED);
    wait_for_completions(1);
    post_send(id, memory[1] + 1);
    wait_for_completions(1);
    expect_event(channel, RDMA_CM_EVENT_DISCONNECTED);
    destroy(id);
  }
}

static void rdma_connect_once(struct rdma_event_channel* channel, struct sockaddr_in* there, uint32_t number) {
  struct rdma_conn_param wanted = {.retry_count = 7, .rnr_retry_count = 7};
  struct rdma_cm_id* id;
  if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) != 0) broken("rdma_create_id: %m");
  if (rdma_resolve_addr(id, NULL, (struct sockaddr*)there, TIMEOUT_MS) != 0) broken("rdma_resolve_addr: %m");
  expect_event(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
  if (rdma_resolve_route(id, TIMEOUT_MS) != 0) broken("rdma_resolve_route: %m");
  expect_event(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
  make_queue_pair(id);
  if (rdma_connect(id, &wanted) != 0) broken("rdma_connect: %m");
  expect_event(channel, RDMA_CM_EVENT_ESTABLISHED);
  post_send(id, number);
  wait_for_completions(2);
  expect_number(memory[1], number + 1);
  if (rdma_disconnect(id) != 0) broken("rdma_disconnect: %m");
  expect_event(channel, RDMA_CM_EVENT_DISCONNECTED);
  destroy(id);
}

int main(int count, char** words) {
  const bool is_rdma = count > 4 && strcmp(words[1], "rdma") == 0;
  const bool is_server = count == 5 && strcmp(words[2], "server") == 0;
  struct rdma_event_channel* channel = NULL;
  struct sockaddr_in address;
  int connections;
  double began;
  if (!is_server && count != 6) broken("usage: rdma|tcp server ADDRESS PORT, or rdma|tcp client ADDRESS PORT COUNT");
  address = address_of(words[3], words[4]);
  if (is_server && is_rdma) rdma_serve(&address);
  if (is_server) tcp_serve(&address);
  if (is_rdma && (channel = rdma_create_event_channel()) == NULL) broken("rdma_create_event_channel: %m");
  connections = atoi(words[5]);
  began = seconds_now();
  for (int i = 0; i < connections; ++i) {
    if (is_rdma) {
      rdma_connect_once(channel, &address, (uint32_t)i);
    } else {
      tcp_connect_once(&address, (uint32_t)i);
    }
  }
  printf("%.0f connections a second\n", connections / (seconds_now() - began));
  return 0;
}
