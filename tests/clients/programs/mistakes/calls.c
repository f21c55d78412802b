// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* Mistakes in how verbs are called. */
#include <pthread.h>
#include <unistd.h>

#include "mistakes.h"
#include "pair.h"
#include "test_client.h"

/* A READ cannot have inline data. */
static struct ibv_send_wr refused_request(struct ibv_sge* element) {
  struct ibv_send_wr request = {.wr_id = 77,
                                .sg_list = element,
                                .num_sge = 1,
                                .opcode = IBV_WR_RDMA_READ,
                                .send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE};
  request.wr.rdma.remote_addr = place(200);
  request.wr.rdma.rkey = nic.mr->rkey;
  return request;
}

void accepted_requests_posted_again(void) {
  connect_pair(8, 1, kTimeout);
  struct ibv_sge element = {.addr = place(1), .length = kPiece, .lkey = nic.mr->lkey};
  struct ibv_send_wr second = refused_request(&element);
  struct ibv_send_wr first = {.wr_id = 76,
                              .next = &second,
                              .sg_list = &element,
                              .num_sge = 1,
                              .opcode = IBV_WR_RDMA_WRITE,
                              .send_flags = IBV_SEND_SIGNALED};
  first.wr.rdma.remote_addr = place(200);
  first.wr.rdma.rkey = nic.mr->rkey;
  struct ibv_send_wr* bad = NULL;
  if (ibv_post_send(near_qp, &first, &bad) == 0 || bad != &second) broken("the list is not cut");
  second.send_flags = IBV_SEND_SIGNALED;
  if (ibv_post_send(near_qp, &first, &bad) != 0) broken("ibv_post_send: %m");
  expect(poll_completions(3), IBV_WC_SUCCESS);
  disconnect_pair();
}

void refused_request_waited_for(void) {
  connect_pair(8, 1, kTimeout);
  struct ibv_sge element = {.addr = place(1), .length = kPiece, .lkey = nic.mr->lkey};
  struct ibv_send_wr request = refused_request(&element);
  struct ibv_send_wr* bad = NULL;
  if (ibv_post_send(near_qp, &request, &bad) < 0) broken("ibv_post_send: %m");
  struct ibv_wc completion;
  const double end = seconds_now() + 1.5;
  while (seconds_now() < end) {
    if (ibv_poll_cq(nic.cq, 1, &completion) != 0) broken("a completion came");
  }
  disconnect_pair();
}

void unknown_send_flags(void) {
  connect_pair(8, 1, kTimeout);
  struct ibv_sge element = {.addr = place(1), .length = kPiece, .lkey = nic.mr->lkey};
  struct ibv_send_wr request = {
      .sg_list = &element, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = 0x5a00};
  struct ibv_send_wr* bad = NULL;
  if (ibv_post_send(near_qp, &request, &bad) == 0) broken("a send with unknown flags is taken");
  disconnect_pair();
}

/* A completion queue with the extended interface in place of the plain one. */
static struct ibv_cq* take_extended_queue(uint32_t flags) {
  struct ibv_cq_init_attr_ex attributes = {.cqe = kEntries,
                                           .wc_flags = IBV_WC_STANDARD_FLAGS,
                                           .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
                                           .flags = flags};
  struct ibv_cq* const plain = nic.cq;
  struct ibv_cq_ex* const extended = ibv_create_cq_ex(nic.context, &attributes);
  if (extended == NULL) broken("ibv_create_cq_ex: %m");
  nic.cq = ibv_cq_ex_to_cq(extended);
  return plain;
}

static void give_back(struct ibv_cq* plain) {
  if (ibv_destroy_cq(nic.cq) != 0) broken("ibv_destroy_cq: %m");
  nic.cq = plain;
}

/* A completion of a request that was flushed is being polled. */
static struct ibv_cq_ex* poll_failure(void) {
  connect_pair(8, 1, kTimeout);
  struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_ERR};
  if (ibv_modify_qp(near_qp, &attributes, IBV_QP_STATE) != 0) broken("ibv_modify_qp to ERR: %m");
  post(IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 1, 2);
  struct ibv_cq_ex* const queue = (struct ibv_cq_ex*)nic.cq;
  struct ibv_poll_cq_attr nothing = {0};
  while (ibv_start_poll(queue, &nothing) != 0) usleep(100);
  expect(queue->status, IBV_WC_WR_FLUSH_ERR);
  return queue;
}

void undefined_field_read(void) {
  struct ibv_cq* const plain = take_extended_queue(0);
  struct ibv_cq_ex* const queue = poll_failure();
  ibv_wc_read_opcode(queue);
  ibv_end_poll(queue);
  disconnect_pair();
  give_back(plain);
}

void vendor_error_read(void) {
  struct ibv_cq* const plain = take_extended_queue(0);
  struct ibv_cq_ex* const queue = poll_failure();
  ibv_wc_read_vendor_err(queue);
  ibv_end_poll(queue);
  disconnect_pair();
  give_back(plain);
}

void immediate_in_host_order(void) {
  connect_pair(8, 1, kTimeout);
  struct ibv_send_wr request = {.opcode = IBV_WR_SEND_WITH_IMM, .send_flags = IBV_SEND_SIGNALED};
  struct ibv_send_wr* bad = NULL;
  for (uint32_t i = 1; i < 20; ++i) {
    if (post_receive(far_qp, kPiece) != 0) broken("ibv_post_recv: %m");
    request.imm_data = i;
    if (ibv_post_send(near_qp, &request, &bad) != 0) broken("ibv_post_send: %m");
    expect(poll_completions(2), IBV_WC_SUCCESS);
  }
  disconnect_pair();
}

static void* poll_with_two_threads_at_once(void* end) {
  struct ibv_wc completion;
  while (seconds_now() < *(const double*)end) {
    for (unsigned i = 0; i < 1000; ++i) ibv_poll_cq(nic.cq, 1, &completion);
  }
  return NULL;
}

void two_threads_at_once(void) {
  struct ibv_cq* const plain = take_extended_queue(IBV_CREATE_CQ_ATTR_SINGLE_THREADED);
  double end = seconds_now() + 1;
  pthread_t other;
  if (pthread_create(&other, NULL, poll_with_two_threads_at_once, &end) != 0) broken("pthread_create");
  poll_with_two_threads_at_once(&end);
  pthread_join(other, NULL);
  give_back(plain);
}

void sleep_with_completions_waiting(void) {
  connect_pair(8, 1, kTimeout);
  post(IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 1, 200);
  wait_a_moment();
  if (ibv_req_notify_cq(nic.cq, 0) != 0) broken("ibv_req_notify_cq: %m");
  struct ibv_cq* cq = NULL;
  void* context = NULL;
  if (ibv_get_cq_event(nic.channel, &cq, &context) != 0) broken("ibv_get_cq_event: %m");
  ibv_ack_cq_events(cq, 1);
  expect(poll_completions(1), IBV_WC_SUCCESS);
  disconnect_pair();
}

/* More completions than the queue holds. */
void fatal_event_unread(void) {
  connect_pair(kEntries * 4, 1, kTimeout);
  for (unsigned i = 0; i < kEntries * 3; ++i) post(IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 1, 200);
  sleep(3);
  disconnect_pair();
}

static void arm_limit(struct ibv_srq* srq) {
  struct ibv_srq_attr attributes = {.srq_limit = 1};
  if (ibv_modify_srq(srq, &attributes, IBV_SRQ_LIMIT) != 0) broken("ibv_modify_srq: %m");
}

static void empty_with_limit(struct ibv_srq* srq) {
  post_shared(srq);
  arm_limit(srq);
  post(IBV_WR_SEND, IBV_SEND_SIGNALED, 1, 0);
  expect(poll_completions(2), IBV_WC_SUCCESS);
}

void event_unread(void) {
  struct ibv_srq* const srq = share_new_queue(4);
  connect_pair(8, 0, kTimeout);
  for (unsigned i = 0; i < 20; ++i) empty_with_limit(srq);
  sleep(1);
  disconnect_pair();
  destroy_shared(srq);
}

void srq_limit_not_armed_again(void) {
  struct ibv_srq* const srq = share_new_queue(4);
  connect_pair(8, 0, kTimeout);
  empty_with_limit(srq);
  struct ibv_async_event event;
  do {
    if (ibv_get_async_event(nic.context, &event) != 0) broken("ibv_get_async_event: %m");
    ibv_ack_async_event(&event);
  } while (event.event_type != IBV_EVENT_SRQ_LIMIT_REACHED);
  sleep(1);
  disconnect_pair();
  destroy_shared(srq);
}
