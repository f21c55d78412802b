// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* Mistakes in what requests name; and a program without any. */
#include <stdlib.h>
#include <string.h>

#include "mistakes.h"
#include "pair.h"
#include "test_client.h"

void none(void) {
  connect_pair(8, 8, kTimeout);
  for (unsigned i = 0; i < 32; ++i) {
    post(IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, 1, 2);
    post(IBV_WR_RDMA_WRITE, IBV_SEND_FENCE | IBV_SEND_SIGNALED, 1, 3);
    expect(poll_completions(2), IBV_WC_SUCCESS);
    if (post_receive(far_qp, kPiece) != 0) broken("ibv_post_recv: %m");
    post(IBV_WR_SEND, IBV_SEND_SIGNALED, 1, 0);
    expect(poll_completions(2), IBV_WC_SUCCESS);
  }
  disconnect_pair();
}

void read_without_fence(void) {
  connect_pair(8, 1, kTimeout);
  post(IBV_WR_RDMA_READ, 0, 1, 2);
  post(IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 1, 3);
  expect(poll_completions(1), IBV_WC_SUCCESS);
  disconnect_pair();
}

void fence_on_the_wrong_request(void) {
  connect_pair(8, 1, kTimeout);
  post(IBV_WR_RDMA_READ, IBV_SEND_FENCE, 1, 2);
  post(IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 1, 3);
  expect(poll_completions(1), IBV_WC_SUCCESS);
  disconnect_pair();
}

void element_outside_its_region(void) {
  connect_pair(8, 1, kTimeout);
  post_keyed(IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, place(0) + kBytes - 8, kPiece, nic.mr->lkey, place(2));
  expect(poll_completions(1), IBV_WC_LOC_PROT_ERR);
  disconnect_pair();
}

void unknown_local_key(void) {
  connect_pair(8, 1, kTimeout);
  post_keyed(IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, place(1), kPiece, nic.mr->lkey ^ 0x5a5a00, place(2));
  expect(poll_completions(1), IBV_WC_LOC_PROT_ERR);
  disconnect_pair();
}

/* The peer, if it were another program, could have this rkey. */
void remote_key_as_local_key(void) {
  connect_pair(8, 1, kTimeout);
  const uint32_t rkey = nic.mr->rkey ^ 0x5a5a00;
  struct ibv_sge element = {.addr = place(1), .length = kPiece, .lkey = rkey};
  struct ibv_send_wr request = {
      .sg_list = &element, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED};
  request.wr.rdma.remote_addr = place(2);
  request.wr.rdma.rkey = rkey;
  struct ibv_send_wr* bad = NULL;
  if (ibv_post_send(near_qp, &request, &bad) != 0) broken("ibv_post_send: %m");
  expect(poll_completions(1), IBV_WC_LOC_PROT_ERR);
  disconnect_pair();
}

/* Data by the first pair, and then a flag by the second one. */
void order_between_queue_pairs(void) {
  connect_pair(8, 1, kTimeout);
  struct ibv_qp* const first[] = {near_qp, far_qp};
  connect_pair(8, 1, kTimeout);
  struct ibv_qp* const second = near_qp;
  near_qp = first[0];
  post(IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 1, 200);
  near_qp = second;
  post_keyed(IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, place(3), 8, nic.mr->lkey, place(201));
  expect(poll_completions(2), IBV_WC_SUCCESS);
  disconnect_pair();
  near_qp = first[0];
  far_qp = first[1];
  disconnect_pair();
}

void other_protection_domain(void) {
  struct ibv_pd* const other = ibv_alloc_pd(nic.context);
  struct ibv_mr* const mr = ibv_reg_mr(other, nic.memory, kBytes, IBV_ACCESS_LOCAL_WRITE);
  if (mr == NULL) broken("ibv_reg_mr: %m");
  connect_pair(8, 1, kTimeout);
  post_keyed(IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, place(1), kPiece, mr->lkey, place(2));
  expect(poll_completions(1), IBV_WC_LOC_PROT_ERR);
  disconnect_pair();
  if (ibv_dereg_mr(mr) != 0 || ibv_dealloc_pd(other) != 0) broken("ibv_dereg_mr: %m");
}

void local_right_missing(void) {
  struct ibv_mr* const mr = ibv_reg_mr(nic.pd, nic.memory, kBytes, 0);
  if (mr == NULL) broken("ibv_reg_mr: %m");
  connect_pair(8, 1, kTimeout);
  post_keyed(IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, place(1), kPiece, mr->lkey, place(2));
  expect(poll_completions(1), IBV_WC_LOC_PROT_ERR);
  disconnect_pair();
  if (ibv_dereg_mr(mr) != 0) broken("ibv_dereg_mr: %m");
}

void misaligned_atomic(void) {
  const int rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  struct ibv_mr* const plain = nic.mr;
  nic.mr = ibv_reg_mr(nic.pd, nic.memory, kBytes, rights);
  if (nic.mr == NULL) broken("ibv_reg_mr: %m");
  connect_pair(8, 1, kTimeout);
  post_keyed(IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_SEND_SIGNALED, place(1), 8, nic.mr->lkey, place(2) + 4);
  expect(poll_completions(1), IBV_WC_REM_INV_REQ_ERR);
  disconnect_pair();
  if (ibv_dereg_mr(nic.mr) != 0) broken("ibv_dereg_mr: %m");
  nic.mr = plain;
}

void receive_without_header_room(void) {
  struct ibv_qp* const qp = make_qp(IBV_QPT_UD, 8, 8);
  if (post_receive(qp, 32) != 0) broken("ibv_post_recv: %m");
  if (ibv_destroy_qp(qp) != 0) broken("ibv_destroy_qp: %m");
}

void overlapping_targets(void) {
  connect_pair(8, 8, kTimeout);
  post_keyed(IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, place(1), kPiece, nic.mr->lkey, place(200));
  post_keyed(IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, place(1) + 8, kPiece, nic.mr->lkey, place(200));
  expect(poll_completions(2), IBV_WC_SUCCESS);
  disconnect_pair();
}

void overlapping_targets_of_receives(void) {
  connect_pair(8, 8, kTimeout);
  if (post_receive(far_qp, kPiece) != 0 || post_receive(far_qp, kPiece / 2) != 0) broken("ibv_post_recv: %m");
  for (unsigned i = 0; i < 2; ++i)
    post_keyed(IBV_WR_SEND, IBV_SEND_SIGNALED, place(1), 8, nic.mr->lkey, 0);
  expect(poll_completions(4), IBV_WC_SUCCESS);
  disconnect_pair();
}

void work_request_id_outstanding_twice(void) {
  connect_pair(8, 1, kTimeout);
  struct ibv_sge element = {.addr = place(1), .length = kPiece, .lkey = nic.mr->lkey};
  struct ibv_send_wr request = {
      .sg_list = &element, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED};
  request.wr_id = (uintptr_t)&request;
  request.wr.rdma.remote_addr = place(200);
  request.wr.rdma.rkey = nic.mr->rkey;
  struct ibv_send_wr* bad = NULL;
  for (unsigned i = 0; i < 2; ++i) {
    if (ibv_post_send(near_qp, &request, &bad) != 0) broken("ibv_post_send: %m");
  }
  expect(poll_completions(2), IBV_WC_SUCCESS);
  disconnect_pair();
}

void message_too_long_elsewhere(void) {
  const size_t bytes = (9u << 20);
  void* const memory = aligned_alloc(4096, 2 * bytes);
  if (memory == NULL) broken("aligned_alloc: %m");
  memset(memory, 1, 2 * bytes);
  struct ibv_mr* const plain = nic.mr;
  nic.mr = ibv_reg_mr(nic.pd, memory, 2 * bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  if (nic.mr == NULL) broken("ibv_reg_mr: %m");
  connect_pair(8, 1, kTimeout);
  post_keyed(IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, (uintptr_t)memory, (uint32_t)bytes, nic.mr->lkey,
             (uintptr_t)memory + bytes);
  expect(poll_completions(1), IBV_WC_SUCCESS);
  disconnect_pair();
  if (ibv_dereg_mr(nic.mr) != 0) broken("ibv_dereg_mr: %m");
  nic.mr = plain;
  free(memory);
}
