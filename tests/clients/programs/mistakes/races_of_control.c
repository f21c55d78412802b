// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* Of events, and of what verbs say about objects. */
#include <poll.h>

#include "pair.h"
#include "races.h"
#include "test_client.h"

enum { kRounds = 60, kSource = 1, kTarget = 200 };

static int waits_for_event(int file, int milliseconds) {
  struct pollfd waited = {.fd = file, .events = POLLIN};
  return poll(&waited, 1, milliseconds) == 1;
}

static void arm(void) {
  if (ibv_req_notify_cq(nic.cq, 0) != 0) broken("ibv_req_notify_cq: %m");
}

static void take_event(void) {
  struct ibv_cq* cq = NULL;
  void* context = NULL;
  if (ibv_get_cq_event(nic.channel, &cq, &context) != 0) broken("ibv_get_cq_event: %m");
  ibv_ack_cq_events(cq, 1);
}

void event_within_a_limit(void) {
  connect_pair(16, 1, kTimeout);
  for (unsigned round = 0; round < kRounds; ++round) {
    arm();
    post(IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, kSource, kTarget);
    if (!waits_for_event(nic.channel->fd, 40)) broken("no event comes in 40 ms");
    take_event();
    expect(poll_completions(1), IBV_WC_SUCCESS);
  }
  disconnect_pair();
}

void completion_for_each_event(void) {
  connect_pair(16, 1, kTimeout);
  for (unsigned round = 0; round < kRounds; ++round) {
    arm();
    post(IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, kSource, kTarget);
    take_event();
    struct ibv_wc completion;
    if (ibv_poll_cq(nic.cq, 1, &completion) != 1) broken("an event without a completion");
  }
  disconnect_pair();
}

/* It sleeps without another look. */
void armed_after_the_poll(void) {
  connect_pair(16, 1, kTimeout);
  for (unsigned round = 0; round < kRounds; ++round) {
    post(IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, kSource, kTarget);
    for (const double end = seconds_now() + 0.005; seconds_now() < end;) continue;
    arm();
    if (!waits_for_event(nic.channel->fd, 1000)) broken("it sleeps without end");
    take_event();
    expect(poll_completions(1), IBV_WC_SUCCESS);
  }
  disconnect_pair();
}

void one_key_for_both(void) {
  connect_pair(16, 1, kTimeout);
  struct ibv_sge element = {.addr = place(kSource), .length = kPiece, .lkey = nic.mr->lkey};
  struct ibv_send_wr request = {
      .sg_list = &element, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED};
  request.wr.rdma.remote_addr = place(kTarget);
  request.wr.rdma.rkey = nic.mr->lkey;
  struct ibv_send_wr* bad = NULL;
  if (ibv_post_send(near_qp, &request, &bad) != 0) broken("ibv_post_send: %m");
  expect(poll_completions(1), IBV_WC_SUCCESS);
  disconnect_pair();
}

void attribute_not_requested(void) {
  connect_pair(16, 1, kTimeout);
  struct ibv_qp_attr attributes;
  struct ibv_qp_init_attr made;
  if (ibv_query_qp(near_qp, &attributes, IBV_QP_STATE, &made) != 0) broken("ibv_query_qp: %m");
  if (attributes.dest_qp_num != far_qp->qp_num) broken("the peer is %u", attributes.dest_qp_num);
  disconnect_pair();
}

/* The peer waits for no longer. */
void registered_in_the_data_path(void) {
  for (unsigned round = 0; round < kRounds; ++round) {
    const double begin = seconds_now();
    struct ibv_mr* const mr = ibv_reg_mr(nic.pd, nic.memory, kPiece, IBV_ACCESS_LOCAL_WRITE);
    if (mr == NULL || ibv_dereg_mr(mr) != 0) broken("ibv_reg_mr: %m");
    if (seconds_now() - begin > 0.04) broken("the answer is late");
  }
}

void every_event_is_fatal(void) {
  if (waits_for_event(nic.context->async_fd, 300)) broken("an event");
}

static void connect_datagrams(struct ibv_qp* qp) {
  struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_RTR};
  if (ibv_modify_qp(qp, &attributes, IBV_QP_STATE) != 0) broken("ibv_modify_qp to RTR: %m");
  attributes.qp_state = IBV_QPS_RTS;
  if (ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_SQ_PSN) != 0) broken("ibv_modify_qp to RTS: %m");
}

void every_datagram_arrives(void) {
  near_qp = make_qp(IBV_QPT_UD, 16, 16);
  connect_datagrams(near_qp);
  struct ibv_ah_attr address = {.is_global = 1, .port_num = 1};
  address.grh.dgid = nic.gid;
  address.grh.sgid_index = (uint8_t)nic.gid_index;
  address.grh.hop_limit = 64;
  struct ibv_ah* const handle = ibv_create_ah(nic.pd, &address);
  if (handle == NULL) broken("ibv_create_ah: %m");
  struct ibv_sge element = {.addr = place(kSource), .length = kPiece, .lkey = nic.mr->lkey};
  struct ibv_send_wr request = {
      .sg_list = &element, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
  request.wr.ud.ah = handle;
  request.wr.ud.remote_qpn = near_qp->qp_num;
  request.wr.ud.remote_qkey = 1;
  for (unsigned round = 0; round < 1000; ++round) {
    if (post_receive(near_qp, kPiece + 40) != 0) broken("ibv_post_recv: %m");
    struct ibv_send_wr* bad = NULL;
    if (ibv_post_send(near_qp, &request, &bad) != 0) broken("ibv_post_send: %m");
    struct ibv_wc completions[2];
    int polled = 0;
    const double end = seconds_now() + 1;
    while (polled < 2 && seconds_now() < end) polled += ibv_poll_cq(nic.cq, 2 - polled, completions);
    if (polled < 2) broken("datagram %u does not arrive", round);
  }
  if (ibv_destroy_ah(handle) != 0) broken("ibv_destroy_ah: %m");
  if (ibv_destroy_qp(near_qp) != 0) broken("ibv_destroy_qp: %m");
}
