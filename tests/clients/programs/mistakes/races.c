// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* Of the data path. */
#include "races.h"

#include <string.h>

#include "pair.h"
#include "test_client.h"

enum { kRounds = 300, kFewRounds = 60, kSource = 1, kOther = 2, kTarget = 200, kElsewhere = 300 };

static struct ibv_qp* first_near;
static struct ibv_qp* first_far;
static struct ibv_qp* second_near;

static void connect_two_pairs(void) {
  connect_pair(16, 16, kTimeout);
  first_near = near_qp;
  first_far = far_qp;
  connect_pair(16, 16, kTimeout);
  second_near = near_qp;
}

static void disconnect_two_pairs(void) {
  near_qp = second_near;
  disconnect_pair();
  near_qp = first_near;
  far_qp = first_far;
  disconnect_pair();
}

static void post_to(struct ibv_qp* qp, enum ibv_wr_opcode opcode, unsigned flags, unsigned from,
                    unsigned to) {
  near_qp = qp;
  post(opcode, flags, from, to);
}

/* Until all that was posted there is done. */
static void drain(struct ibv_qp* qp) {
  post_to(qp, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, kOther, kElsewhere);
  expect(poll_completions(1), IBV_WC_SUCCESS);
}

static uint8_t value_of(unsigned round) {
  return (uint8_t)(round % 250 + 1);
}

static void fill(unsigned piece, unsigned round) {
  memset((void*)(uintptr_t)place(piece), value_of(round), kPiece);
}

static void expect_filled(unsigned piece, unsigned round) {
  const uint8_t* const bytes = (const uint8_t*)(uintptr_t)place(piece);
  for (unsigned i = 0; i < kPiece; ++i) {
    if (bytes[i] != value_of(round)) broken("byte %u is of another time", i);
  }
}

/* The completion of the second queue pair is taken for a sign that the first one is done with its buffer. */
void buffer_reused_on_another_completion(void) {
  connect_two_pairs();
  for (unsigned round = 0; round < kRounds; ++round) {
    fill(kSource, round);
    post_to(first_near, IBV_WR_RDMA_WRITE, 0, kSource, kTarget);
    drain(second_near);
    fill(kSource, round + 1);
    drain(first_near);
    expect_filled(kTarget, round);
  }
  disconnect_two_pairs();
}

/* What the second queue pair brings is taken for a sign that the first one's data are there. */
void flag_by_another_queue_pair(void) {
  connect_two_pairs();
  for (unsigned round = 0; round < kRounds; ++round) {
    fill(kSource, round);
    if (post_receive(far_qp, kPiece) != 0) broken("ibv_post_recv: %m");
    post_to(first_near, IBV_WR_RDMA_WRITE, 0, kSource, kTarget);
    post_to(second_near, IBV_WR_SEND, IBV_SEND_SIGNALED, kOther, 0);
    expect(poll_completions(2), IBV_WC_SUCCESS);
    expect_filled(kTarget, round);
    drain(first_near);
  }
  disconnect_two_pairs();
}

void queue_pairs_in_turn(void) {
  connect_two_pairs();
  for (unsigned round = 0; round < kRounds; ++round) {
    post_to(first_near, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, kSource, kTarget);
    post_to(second_near, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, kOther, kElsewhere);
    struct ibv_wc completion;
    while (ibv_poll_cq(nic.cq, 1, &completion) == 0) continue;
    if (completion.qp_num != first_near->qp_num) broken("the second queue pair comes first");
    expect(poll_completions(1), IBV_WC_SUCCESS);
  }
  disconnect_two_pairs();
}

void polled_so_often(void) {
  connect_pair(16, 1, kTimeout);
  for (unsigned round = 0; round < kFewRounds; ++round) {
    struct ibv_wc completion;
    unsigned polls = 0;
    post(IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, kSource, kTarget);
    const double end = seconds_now() + 0.003;
    while (ibv_poll_cq(nic.cq, 1, &completion) == 0) {
      if (++polls > 1000 && seconds_now() > end) broken("nothing comes in %u polls", polls);
    }
  }
  disconnect_pair();
}

/* They were posted together. */
void all_in_one_poll(void) {
  enum { kTogether = 8 };
  connect_pair(16, 1, kTimeout);
  struct ibv_sge element = {.addr = place(kSource), .length = kPiece, .lkey = nic.mr->lkey};
  struct ibv_send_wr list[kTogether];
  memset(list, 0, sizeof list);
  for (unsigned i = 0; i < kTogether; ++i) {
    list[i].next = i + 1 < kTogether ? &list[i + 1] : NULL;
    list[i].sg_list = &element;
    list[i].num_sge = 1;
    list[i].opcode = IBV_WR_RDMA_WRITE;
    list[i].send_flags = IBV_SEND_SIGNALED;
    list[i].wr.rdma.remote_addr = place(kTarget);
    list[i].wr.rdma.rkey = nic.mr->rkey;
  }
  for (unsigned round = 0; round < kRounds; ++round) {
    struct ibv_send_wr* bad = NULL;
    if (ibv_post_send(near_qp, list, &bad) != 0) broken("ibv_post_send: %m");
    struct ibv_wc completions[kTogether];
    int polled = 0;
    while (polled == 0) polled = ibv_poll_cq(nic.cq, kTogether, completions);
    if (polled != kTogether) broken("one poll brings %d of %d", polled, kTogether);
  }
  disconnect_pair();
}

static void take_to_error(struct ibv_qp* qp) {
  struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_ERR};
  if (ibv_modify_qp(qp, &attributes, IBV_QP_STATE) != 0) broken("ibv_modify_qp to ERR: %m");
}

void opcode_before_status(void) {
  connect_pair(16, 1, kTimeout);
  take_to_error(near_qp);
  for (unsigned i = 0; i < 16; ++i) {
    post(IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, kSource, kTarget);
    struct ibv_wc completion;
    while (ibv_poll_cq(nic.cq, 1, &completion) == 0) continue;
    if (completion.opcode != IBV_WC_RDMA_WRITE) broken("opcode %d of a WRITE", (int)completion.opcode);
  }
  disconnect_pair();
}

/* What wr_id points to has gone with the queue pair. */
void request_freed_with_queue_pair(void) {
  for (unsigned i = 0; i < 8; ++i) {
    connect_pair(16, 1, kTimeout);
    post(IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, kSource, kTarget);
    wait_a_moment();
    disconnect_pair();
    struct ibv_wc completion;
    if (ibv_poll_cq(nic.cq, 1, &completion) != 0) broken("wr_id %d is polled", (int)completion.wr_id);
  }
}

void drained_in_a_moment(void) {
  for (unsigned i = 0; i < 8; ++i) {
    connect_pair(16, 16, kTimeout);
    if (post_receive(near_qp, kPiece) != 0) broken("ibv_post_recv: %m");
    take_to_error(near_qp);
    struct ibv_wc completion;
    unsigned polls = 0;
    const double end = seconds_now() + 0.02;
    while (ibv_poll_cq(nic.cq, 1, &completion) == 0) {
      if (++polls > 1000 && seconds_now() > end) broken("nothing is flushed in 20 ms");
    }
    disconnect_pair();
  }
}
