// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* Mistakes with when things are done. */
#include <stdio.h>
#include <string.h>

#include "mistakes.h"
#include "pair.h"
#include "test_client.h"

void buffer_changed_before_completion(void) {
  connect_pair(8, 1, kTimeout);
  post(IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 1, 200); /* to another page, as the NIC writes there */
  wait_a_moment();
  memset((void*)(uintptr_t)place(1), 1, 8);
  expect(poll_completions(1), IBV_WC_SUCCESS);
  disconnect_pair();
}

void post_in_wrong_state(void) {
  near_qp = make_qp(IBV_QPT_RC, 8, 8);
  struct ibv_sge element = {.addr = place(1), .length = kPiece, .lkey = nic.mr->lkey};
  struct ibv_send_wr request = {.sg_list = &element, .num_sge = 1, .opcode = IBV_WR_SEND};
  struct ibv_send_wr* bad = NULL;
  if (ibv_post_send(near_qp, &request, &bad) == 0) broken("a post in INIT is taken");
  if (ibv_destroy_qp(near_qp) != 0) broken("ibv_destroy_qp: %m");
}

void region_deregistered_in_use(void) {
  struct ibv_mr* const mr = ibv_reg_mr(nic.pd, nic.memory, kBytes, 0);
  if (mr == NULL) broken("ibv_reg_mr: %m");
  connect_pair(8, 1, kTimeout);
  post_keyed(IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, place(1), kPiece, mr->lkey, place(2));
  wait_a_moment();
  if (ibv_dereg_mr(mr) != 0) broken("ibv_dereg_mr: %m");
  poll_completions(1);
  disconnect_pair();
}

void address_handle_destroyed_in_use(void) {
  struct ibv_ah* const handle = send_datagram();
  if (ibv_destroy_ah(handle) != 0) broken("ibv_destroy_ah: %m");
  expect(poll_completions(1), IBV_WC_SUCCESS);
  if (ibv_destroy_qp(near_qp) != 0) broken("ibv_destroy_qp: %m");
}

void destroyed_with_work_outstanding(void) {
  connect_pair(8, 1, kTimeout);
  post(IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 1, 2);
  wait_a_moment();
  disconnect_pair();
}

void destroyed_before_last_wqe_event(void) {
  struct ibv_srq* const srq = share_new_queue(4);
  connect_pair(8, 0, kTimeout);
  struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_ERR};
  if (ibv_modify_qp(near_qp, &attributes, IBV_QP_STATE) != 0) broken("ibv_modify_qp to ERR: %m");
  wait_a_moment();
  disconnect_pair();
  destroy_shared(srq);
}

void waits_for_destroyed_queue_pair(void) {
  connect_pair(8, 1, kTimeout);
  post(IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 1, 2);
  wait_a_moment();
  disconnect_pair();
  struct ibv_wc completion;
  const double end = seconds_now() + 1.5;
  while (seconds_now() < end) {
    if (ibv_poll_cq(nic.cq, 1, &completion) != 0) broken("a completion came");
  }
}

/* A child of the test would wait forever; a signal ends it. */
void events_not_acknowledged(void) {
  connect_pair(8, 1, kTimeout);
  if (ibv_req_notify_cq(nic.cq, 0) != 0) broken("ibv_req_notify_cq: %m");
  post(IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 1, 2);
  struct ibv_cq* cq = NULL;
  void* context = NULL;
  if (ibv_get_cq_event(nic.channel, &cq, &context) != 0) broken("ibv_get_cq_event: %m");
  expect(poll_completions(1), IBV_WC_SUCCESS);
  disconnect_pair();
  printf("done\n");
  fflush(stdout);
  ibv_destroy_cq(nic.cq);
}

void used_after_destroy(void) {
  connect_pair(8, 1, kTimeout);
  disconnect_pair();
  if (ibv_destroy_qp(near_qp) == 0) broken("a queue pair is destroyed twice");
}

/* Without the sanitizer it reads memory that is freed, and may crash. */
void used_after_destroy_by_a_post(void) {
  connect_pair(8, 1, kTimeout);
  disconnect_pair();
  struct ibv_sge element = {.addr = place(1), .length = kPiece, .lkey = nic.mr->lkey};
  struct ibv_send_wr request = {.sg_list = &element, .num_sge = 1, .opcode = IBV_WR_SEND};
  struct ibv_send_wr* bad = NULL;
  if (ibv_post_send(near_qp, &request, &bad) == 0) broken("a destroyed queue pair takes a send");
}
