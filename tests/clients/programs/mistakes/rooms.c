// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* Mistakes with the room of queues. */
#include "mistakes.h"
#include "pair.h"
#include "test_client.h"

void send_queue_never_drained(void) {
  connect_pair(8, 1, kTimeout);
  for (unsigned i = 0; i < 12; ++i) {
    post(IBV_WR_RDMA_WRITE, 0, 1, 2);
    wait_a_moment();
  }
  disconnect_pair();
}

void receive_queue_never_drained(void) {
  connect_pair(8, 4, kTimeout);
  for (unsigned i = 0; i < 6; ++i) {
    if (post_receive(far_qp, kPiece) != 0) broken("ibv_post_recv: %m");
    post(IBV_WR_SEND, 0, 1, 0);
    wait_a_moment();
  }
  disconnect_pair();
}

/* Nothing completes before the peer has a receive, so that no room comes back in time. */
void room_not_requested(void) {
  connect_pair(5, 6, kTimeout);
  for (unsigned i = 0; i < 6; ++i) post(IBV_WR_SEND, i == 5 ? IBV_SEND_SIGNALED : 0, 1, 0);
  for (unsigned i = 0; i < 6; ++i) {
    if (post_receive(far_qp, kPiece) != 0) broken("ibv_post_recv: %m");
  }
  expect(poll_completions(7), IBV_WC_SUCCESS);
  disconnect_pair();
}

/* Nothing completes before the peer has a receive, so that the queue is never full. */
void completion_queue_too_small(void) {
  connect_pair(kEntries * 2, 1, kTimeout);
  for (unsigned i = 0; i < kEntries + 1; ++i) post(IBV_WR_SEND, IBV_SEND_SIGNALED, 1, 0);
  for (unsigned i = 0; i < kEntries + 1; ++i) {
    if (post_receive(far_qp, kPiece) != 0) broken("ibv_post_recv: %m");
    expect(poll_completions(2), IBV_WC_SUCCESS);
  }
  disconnect_pair();
}

void completion_queue_overrun(void) {
  if (ibv_resize_cq(nic.cq, 5) != 0) broken("ibv_resize_cq: %m");
  connect_pair(8, 1, kTimeout);
  for (unsigned i = 0; i < 6; ++i) post(IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 1, 2);
  wait_a_moment();
  expect(poll_completions(6), IBV_WC_SUCCESS);
  disconnect_pair();
}

void receive_queue_never_drained_shared(void) {
  struct ibv_srq* const srq = share_new_queue(4);
  connect_pair(8, 0, kTimeout);
  for (unsigned i = 0; i < 6; ++i) {
    post_shared(srq);
    post(IBV_WR_SEND, 0, 1, 0);
    wait_a_moment();
  }
  disconnect_pair();
  destroy_shared(srq);
}

/* There is room for eight. */
void granted_room_used(void) {
  struct ibv_srq* const srq = share_new_queue(5);
  for (unsigned i = 0; i < 6; ++i) post_shared(srq);
  destroy_shared(srq);
}

/* There is room for 16 bytes, in place of an element. */
void granted_room_used_inline(void) {
  connect_pair(8, 1, kTimeout);
  post_keyed(IBV_WR_RDMA_WRITE, IBV_SEND_INLINE | IBV_SEND_SIGNALED, place(1), 16, 0, place(2));
  expect(poll_completions(1), IBV_WC_SUCCESS);
  disconnect_pair();
}
