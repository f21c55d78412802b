// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* One end of a connection by rdma_cm, which says, line by line, what it is told about the other end.
 *
 *   witness server PORT            listens at all addresses
 *   witness parent PORT            the same, and has a child that sleeps
 *   witness heir PORT              a child of its own goes on as server, while the parent sleeps
 *   witness orphan PORT            the same, but the child begins when the parent has ended
 *   witness torn PORT AFTER        the same as server, but so many microseconds after its begin a child is made that sleeps, and
 *                                  the parent kills itself
 *   witness client ADDRESS PORT    connects, once
 *   witness busy ADDRESS PORT      the same, and sends a message each millisecond
 *
 * Prints 'child NUMBER', 'listening', 'established', 'event NAME STATUS', 'completion NAME' for one that failed, and of a busy one 'sent COUNT' for
 * each hundred messages. Goes on until it is killed; a busy one until a message fails. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test_client.h"

enum { RECEIVES = 64, MESSAGE_BYTES = 16, TIMEOUT_MS = 2000 };

static struct ibv_qp_init_attr wanted = {
    .qp_type = IBV_QPT_RC,
    .sq_sig_all = 1,
    .cap = {.max_send_wr = 4, .max_recv_wr = RECEIVES, .max_send_sge = 1, .max_recv_sge = 1}};
static char memory[MESSAGE_BYTES];
static struct ibv_mr* mr;
static struct rdma_event_channel* channel;
static struct rdma_cm_id* connected; /* NULL: not yet */

static void say(const char* text) {
  puts(text);
  fflush(stdout);
}

static void make_qp(struct rdma_cm_id* id) {
  if (rdma_create_qp(id, NULL, &wanted) != 0) broken("rdma_create_qp: %m");
  mr = rdma_reg_msgs(id, memory, sizeof memory);
  for (int i = 0; mr != NULL && i < RECEIVES; ++i) {
    if (rdma_post_recv(id, NULL, memory, sizeof memory, mr) != 0) broken("rdma_post_recv: %m");
  }
  if (mr == NULL) broken("rdma_reg_msgs: %m");
}

static void take_event(const struct rdma_cm_event* event) {
  struct rdma_conn_param parameters = {.retry_count = 7, .rnr_retry_count = 7};
  switch (event->event) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
      if (rdma_resolve_route(event->id, TIMEOUT_MS) != 0) broken("rdma_resolve_route: %m");
      return;
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
      make_qp(event->id);
      if (rdma_connect(event->id, &parameters) != 0) broken("rdma_connect: %m");
      return;
    case RDMA_CM_EVENT_CONNECT_REQUEST:
      make_qp(event->id);
      if (rdma_accept(event->id, &parameters) != 0) broken("rdma_accept: %m");
      return;
    case RDMA_CM_EVENT_ESTABLISHED:
      connected = event->id;
      return say("established");
    default:
      printf("event %s %d\n", rdma_event_str(event->event) + strlen("RDMA_CM_EVENT_"), event->status);
      fflush(stdout);
  }
}

static void take_completions(void) {
  struct ibv_wc wc;
  while (ibv_poll_cq(connected->recv_cq, 1, &wc) == 1) {
    if (wc.status == IBV_WC_SUCCESS) rdma_post_recv(connected, NULL, memory, sizeof memory, mr);
  }
}

/* One message at a time. */
static void go_on_sending(void) {
  static unsigned sent;
  static bool is_under_way;
  struct ibv_wc wc;
  if (!is_under_way && rdma_post_send(connected, NULL, memory, sizeof memory, mr, 0) != 0) {
    broken("rdma_post_send: %m");
  }
  is_under_way = ibv_poll_cq(connected->send_cq, 1, &wc) == 0;
  if (is_under_way) return;
  if (wc.status != IBV_WC_SUCCESS) {
    printf("completion %s\n", ibv_wc_status_str(wc.status));
    exit(0);
  }
  if (++sent % 100 != 0) return;
  printf("sent %u\n", sent);
  fflush(stdout);
}

static pid_t fork_and_say(void) {
  const pid_t child = fork();
  if (child < 0) broken("fork: %m");
  if (child > 0) {
    printf("child %d\n", child);
    fflush(stdout);
  }
  return child;
}

/* Returns in the parent, or in the child. */
static void fork_one(bool in_child) {
  const pid_t child = fork_and_say();
  while ((child == 0) != in_child) pause();
}

static void be_orphan(void) {
  const pid_t parent = getpid();
  fork_one(true);
  while (getppid() == parent) usleep(1000);
}

static void* tear(void* after) {
  usleep((useconds_t)atoi(after));
  if (fork_and_say() > 0) kill(getpid(), SIGKILL);
  pause();
  return NULL;
}

static void start(bool is_server, struct sockaddr_in* address) {
  struct rdma_cm_id* id;
  channel = rdma_create_event_channel();
  if (channel == NULL || rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) != 0) broken("rdma_create_id: %m");
  fcntl(channel->fd, F_SETFL, O_NONBLOCK);
  if (!is_server) {
    if (rdma_resolve_addr(id, NULL, (struct sockaddr*)address, TIMEOUT_MS) != 0) {
      broken("rdma_resolve_addr: %m");
    }
  } else if (rdma_bind_addr(id, (struct sockaddr*)address) != 0 || rdma_listen(id, 8) != 0) {
    broken("rdma_listen: %m");
  }
}

static void serve_events(bool is_busy) {
  for (;;) {
    struct pollfd events = {.fd = channel->fd, .events = POLLIN};
    struct rdma_cm_event* event;
    poll(&events, 1, 1);
    while (rdma_get_cm_event(channel, &event) == 0) {
      take_event(event);
      rdma_ack_cm_event(event);
    }
    if (errno != EAGAIN) broken("rdma_get_cm_event: %m");
    if (connected != NULL) take_completions();
    if (connected != NULL && is_busy) go_on_sending();
  }
}

int main(int count, char** words) {
  const char* const role = count > 1 ? words[1] : "";
  const bool is_client = strcmp(role, "client") == 0 || strcmp(role, "busy") == 0;
  const bool is_torn = strcmp(role, "torn") == 0;
  struct sockaddr_in address = {.sin_family = AF_INET};
  pthread_t tearing;
  if (count != (is_client || is_torn ? 4 : 3)) {
    broken("usage: server|parent|heir|orphan PORT, torn PORT AFTER, client|busy ADDRESS PORT");
  }
  address.sin_port = htons((uint16_t)atoi(words[is_client ? 3 : 2]));
  if (is_client && inet_pton(AF_INET, words[2], &address.sin_addr) != 1) broken("%s is no address", words[2]);
  if (strcmp(role, "orphan") == 0) be_orphan();
  if (is_torn && pthread_create(&tearing, NULL, tear, words[3]) != 0) broken("pthread_create");
  start(!is_client, &address);
  if (strcmp(role, "parent") == 0) fork_one(false);
  if (strcmp(role, "heir") == 0) fork_one(true);
  if (!is_client) say("listening");
  serve_events(strcmp(role, "busy") == 0);
}
