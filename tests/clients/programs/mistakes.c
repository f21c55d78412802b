// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* Makes one mistake that programs for RDMA make, by its name, which is the name of the sanitizer's finding;
 * or "none". Two queue pairs of the process are connected with each other. Here each of them works: what they
 * do wrong shows on hardware, or by bad luck. Prints "done" and ends with 0. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "test_client.h"
#include "verbs_objects.h"

enum { kBytes = 65536, kEntries = 64, kPiece = 64 };

static struct verbs_objects nic;
static struct ibv_qp* near_qp;
static struct ibv_qp* far_qp;

static uint64_t place(unsigned piece) {
  return (uintptr_t)nic.memory + (uint64_t)piece * kPiece;
}

static struct ibv_qp* make_qp(enum ibv_qp_type type, uint32_t sends, uint32_t receives) {
  struct ibv_qp_init_attr attributes = {
      .send_cq = nic.cq,
      .recv_cq = nic.cq,
      .cap = {.max_send_wr = sends, .max_recv_wr = receives, .max_send_sge = 1, .max_recv_sge = 1},
      .qp_type = type};
  struct ibv_qp* const qp = ibv_create_qp(nic.pd, &attributes);
  if (qp == NULL) broken("ibv_create_qp: %m");
  const enum ibv_access_flags rights =
      IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  struct ibv_qp_attr to_init = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = rights};
  int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  if (type == IBV_QPT_UD) {
    to_init.qkey = 1;
    mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
  }
  if (ibv_modify_qp(qp, &to_init, mask) != 0) broken("ibv_modify_qp to INIT: %m");
  return qp;
}

static void connect_pair(uint32_t sends, uint32_t receives, uint8_t ack_timeout) {
  near_qp = make_qp(IBV_QPT_RC, sends, receives);
  far_qp = make_qp(IBV_QPT_RC, sends, receives);
  const struct remote_end to_far = {
      .gid = nic.gid, .qp = far_qp->qp_num, .min_rnr_timer = 1, .ack_timeout = ack_timeout};
  const struct remote_end to_near = {
      .gid = nic.gid, .qp = near_qp->qp_num, .min_rnr_timer = 1, .ack_timeout = ack_timeout};
  verbs_connect_qp(&nic, near_qp, &to_far);
  verbs_connect_qp(&nic, far_qp, &to_near);
}

static void disconnect_pair(void) {
  if (ibv_destroy_qp(near_qp) != 0 || ibv_destroy_qp(far_qp) != 0) broken("ibv_destroy_qp: %m");
}

static void post_keyed(enum ibv_wr_opcode opcode, unsigned flags, uint64_t address, uint32_t length,
                       uint32_t lkey, uint64_t remote_address) {
  struct ibv_sge element = {.addr = address, .length = length, .lkey = lkey};
  struct ibv_send_wr request = {
      .wr_id = opcode, .sg_list = &element, .num_sge = 1, .opcode = opcode, .send_flags = flags};
  request.wr.rdma.remote_addr = remote_address;
  request.wr.rdma.rkey = nic.mr->rkey;
  if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    request.wr.atomic.remote_addr = remote_address;
    request.wr.atomic.rkey = nic.mr->rkey;
    request.wr.atomic.compare_add = 1;
  }
  struct ibv_send_wr* bad = NULL;
  const int error = ibv_post_send(near_qp, &request, &bad);
  if (error != 0) broken("ibv_post_send: %s", strerror(error));
}

static void post(enum ibv_wr_opcode opcode, unsigned flags, unsigned from, unsigned to) {
  post_keyed(opcode, flags, place(from), kPiece, nic.mr->lkey, place(to));
}

static int post_receive(struct ibv_qp* qp, uint32_t length) {
  struct ibv_sge element = {.addr = place(900), .length = length, .lkey = nic.mr->lkey};
  struct ibv_recv_wr request = {.sg_list = &element, .num_sge = 1};
  struct ibv_recv_wr* bad = NULL;
  return ibv_post_recv(qp, &request, &bad);
}

/* Polls so many completions, whatever their status, and returns the last one's. */
static enum ibv_wc_status poll_completions(unsigned count) {
  struct ibv_wc completion = {.status = IBV_WC_GENERAL_ERR};
  const double end = seconds_now() + 10;
  while (count != 0) {
    const int polled = ibv_poll_cq(nic.cq, 1, &completion);
    if (polled < 0) broken("ibv_poll_cq: %d", polled);
    if (polled == 1) --count;
    if (seconds_now() > end) broken("no completion came");
  }
  return completion.status;
}

static void expect(enum ibv_wc_status status, enum ibv_wc_status wanted) {
  if (status != wanted) broken("the status is '%s'", ibv_wc_status_str(status));
}

/* Long enough for the NIC to do what was posted. */
static void wait_a_moment(void) {
  usleep(50000);
}

/* --- The mistakes --- */

static void none(void) {
  connect_pair(8, 8, 14);
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

static void send_queue_never_drained(void) {
  connect_pair(8, 1, 14);
  for (unsigned i = 0; i < 12; ++i) {
    post(IBV_WR_RDMA_WRITE, 0, 1, 2);
    wait_a_moment();
  }
  disconnect_pair();
}

static void receive_queue_never_drained(void) {
  connect_pair(8, 4, 14);
  for (unsigned i = 0; i < 6; ++i) {
    if (post_receive(far_qp, kPiece) != 0) broken("ibv_post_recv: %m");
    post(IBV_WR_SEND, 0, 1, 0);
    wait_a_moment();
  }
  disconnect_pair();
}

static void room_not_requested(void) {
  connect_pair(5, 1, 14);
  for (unsigned i = 0; i < 6; ++i) post(IBV_WR_RDMA_WRITE, i == 5 ? IBV_SEND_SIGNALED : 0, 1, 2);
  expect(poll_completions(1), IBV_WC_SUCCESS);
  disconnect_pair();
}

/* Nothing completes before the peer has a receive, so that the queue is never full. */
static void completion_queue_too_small(void) {
  connect_pair(kEntries * 2, 1, 14);
  for (unsigned i = 0; i < kEntries + 1; ++i) post(IBV_WR_SEND, IBV_SEND_SIGNALED, 1, 0);
  for (unsigned i = 0; i < kEntries + 1; ++i) {
    if (post_receive(far_qp, kPiece) != 0) broken("ibv_post_recv: %m");
    expect(poll_completions(2), IBV_WC_SUCCESS);
  }
  disconnect_pair();
}

static void completion_queue_overrun(void) {
  if (ibv_resize_cq(nic.cq, 5) != 0) broken("ibv_resize_cq: %m");
  connect_pair(8, 1, 14);
  for (unsigned i = 0; i < 6; ++i) post(IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 1, 2);
  wait_a_moment();
  expect(poll_completions(6), IBV_WC_SUCCESS);
  disconnect_pair();
}

static void read_without_fence(void) {
  connect_pair(8, 1, 14);
  post(IBV_WR_RDMA_READ, 0, 1, 2);
  post(IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 1, 3);
  expect(poll_completions(1), IBV_WC_SUCCESS);
  disconnect_pair();
}

static void fence_on_the_wrong_request(void) {
  connect_pair(8, 1, 14);
  post(IBV_WR_RDMA_READ, IBV_SEND_FENCE, 1, 2);
  post(IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 1, 3);
  expect(poll_completions(1), IBV_WC_SUCCESS);
  disconnect_pair();
}

static void element_outside_its_region(void) {
  connect_pair(8, 1, 14);
  post_keyed(IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, place(0) + kBytes - 8, kPiece, nic.mr->lkey, place(2));
  expect(poll_completions(1), IBV_WC_LOC_PROT_ERR);
  disconnect_pair();
}

static void unknown_local_key(void) {
  connect_pair(8, 1, 14);
  post_keyed(IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, place(1), kPiece, nic.mr->lkey ^ 0x5a5a00, place(2));
  expect(poll_completions(1), IBV_WC_LOC_PROT_ERR);
  disconnect_pair();
}

static void other_protection_domain(void) {
  struct ibv_pd* const other = ibv_alloc_pd(nic.context);
  struct ibv_mr* const mr = ibv_reg_mr(other, nic.memory, kBytes, IBV_ACCESS_LOCAL_WRITE);
  if (mr == NULL) broken("ibv_reg_mr: %m");
  connect_pair(8, 1, 14);
  post_keyed(IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, place(1), kPiece, mr->lkey, place(2));
  expect(poll_completions(1), IBV_WC_LOC_PROT_ERR);
  disconnect_pair();
  if (ibv_dereg_mr(mr) != 0 || ibv_dealloc_pd(other) != 0) broken("ibv_dereg_mr: %m");
}

static void local_right_missing(void) {
  struct ibv_mr* const mr = ibv_reg_mr(nic.pd, nic.memory, kBytes, 0);
  if (mr == NULL) broken("ibv_reg_mr: %m");
  connect_pair(8, 1, 14);
  post_keyed(IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, place(1), kPiece, mr->lkey, place(2));
  expect(poll_completions(1), IBV_WC_LOC_PROT_ERR);
  disconnect_pair();
  if (ibv_dereg_mr(mr) != 0) broken("ibv_dereg_mr: %m");
}

static void misaligned_atomic(void) {
  const int rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  struct ibv_mr* const plain = nic.mr;
  nic.mr = ibv_reg_mr(nic.pd, nic.memory, kBytes, rights);
  if (nic.mr == NULL) broken("ibv_reg_mr: %m");
  connect_pair(8, 1, 14);
  post_keyed(IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_SEND_SIGNALED, place(1), 8, nic.mr->lkey, place(2) + 4);
  expect(poll_completions(1), IBV_WC_REM_INV_REQ_ERR);
  disconnect_pair();
  if (ibv_dereg_mr(nic.mr) != 0) broken("ibv_dereg_mr: %m");
  nic.mr = plain;
}

static void receive_without_header_room(void) {
  struct ibv_qp* const qp = make_qp(IBV_QPT_UD, 8, 8);
  if (post_receive(qp, 32) != 0) broken("ibv_post_recv: %m");
  if (ibv_destroy_qp(qp) != 0) broken("ibv_destroy_qp: %m");
}

static void buffer_changed_before_completion(void) {
  connect_pair(8, 1, 14);
  post(IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 1, 200); /* to another page, as the NIC writes there */
  wait_a_moment();
  memset((void*)(uintptr_t)place(1), 1, 8);
  expect(poll_completions(1), IBV_WC_SUCCESS);
  disconnect_pair();
}

static void post_in_wrong_state(void) {
  near_qp = make_qp(IBV_QPT_RC, 8, 8);
  struct ibv_sge element = {.addr = place(1), .length = kPiece, .lkey = nic.mr->lkey};
  struct ibv_send_wr request = {.sg_list = &element, .num_sge = 1, .opcode = IBV_WR_SEND};
  struct ibv_send_wr* bad = NULL;
  if (ibv_post_send(near_qp, &request, &bad) == 0) broken("a post in INIT is taken");
  if (ibv_destroy_qp(near_qp) != 0) broken("ibv_destroy_qp: %m");
}

static void region_deregistered_in_use(void) {
  struct ibv_mr* const mr = ibv_reg_mr(nic.pd, nic.memory, kBytes, 0);
  if (mr == NULL) broken("ibv_reg_mr: %m");
  connect_pair(8, 1, 14);
  post_keyed(IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, place(1), kPiece, mr->lkey, place(2));
  wait_a_moment();
  if (ibv_dereg_mr(mr) != 0) broken("ibv_dereg_mr: %m");
  poll_completions(1);
  disconnect_pair();
}

static void address_handle_destroyed_in_use(void) {
  near_qp = make_qp(IBV_QPT_UD, 8, 8);
  struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_RTR};
  if (ibv_modify_qp(near_qp, &attributes, IBV_QP_STATE) != 0) broken("ibv_modify_qp to RTR: %m");
  attributes.qp_state = IBV_QPS_RTS;
  if (ibv_modify_qp(near_qp, &attributes, IBV_QP_STATE | IBV_QP_SQ_PSN) != 0)
    broken("ibv_modify_qp to RTS: %m");
  struct ibv_ah_attr address = {.is_global = 1, .port_num = 1};
  address.grh.dgid = nic.gid;
  address.grh.sgid_index = (uint8_t)nic.gid_index;
  address.grh.hop_limit = 64;
  struct ibv_ah* const handle = ibv_create_ah(nic.pd, &address);
  if (handle == NULL) broken("ibv_create_ah: %m");
  struct ibv_sge element = {.addr = place(1), .length = kPiece, .lkey = nic.mr->lkey};
  struct ibv_send_wr request = {
      .sg_list = &element, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
  request.wr.ud.ah = handle;
  request.wr.ud.remote_qpn = near_qp->qp_num;
  request.wr.ud.remote_qkey = 1;
  struct ibv_send_wr* bad = NULL;
  if (ibv_post_send(near_qp, &request, &bad) != 0) broken("ibv_post_send: %m");
  if (ibv_destroy_ah(handle) != 0) broken("ibv_destroy_ah: %m");
  expect(poll_completions(1), IBV_WC_SUCCESS);
  if (ibv_destroy_qp(near_qp) != 0) broken("ibv_destroy_qp: %m");
}

static void destroyed_with_work_outstanding(void) {
  connect_pair(8, 1, 14);
  post(IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 1, 2);
  wait_a_moment();
  disconnect_pair();
}

/* A child of the test would wait forever; a signal ends it. */
static void events_not_acknowledged(void) {
  connect_pair(8, 1, 14);
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

static void no_ack_timeout(void) {
  connect_pair(8, 1, 0);
  post(IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 1, 2);
  expect(poll_completions(1), IBV_WC_SUCCESS);
  disconnect_pair();
}

static const struct {
  const char* name;
  void (*make)(void);
} mistakes[] = {
    {"none", none},
    {"send-queue-never-drained", send_queue_never_drained},
    {"receive-queue-never-drained", receive_queue_never_drained},
    {"room-not-requested", room_not_requested},
    {"completion-queue-too-small", completion_queue_too_small},
    {"completion-queue-overrun", completion_queue_overrun},
    {"read-without-fence", read_without_fence},
    {"fence-on-the-wrong-request", fence_on_the_wrong_request},
    {"element-outside-its-region", element_outside_its_region},
    {"unknown-local-key", unknown_local_key},
    {"other-protection-domain", other_protection_domain},
    {"local-right-missing", local_right_missing},
    {"misaligned-atomic", misaligned_atomic},
    {"receive-without-header-room", receive_without_header_room},
    {"buffer-changed-before-completion", buffer_changed_before_completion},
    {"post-in-wrong-state", post_in_wrong_state},
    {"region-deregistered-in-use", region_deregistered_in_use},
    {"address-handle-destroyed-in-use", address_handle_destroyed_in_use},
    {"destroyed-with-work-outstanding", destroyed_with_work_outstanding},
    {"events-not-acknowledged", events_not_acknowledged},
    {"no-ack-timeout", no_ack_timeout},
};

int main(int argc, char** argv) {
  const char* wanted = argc == 2 ? argv[1] : "";
  const size_t count = sizeof mistakes / sizeof *mistakes;
  size_t chosen = 0;
  while (chosen != count && strcmp(mistakes[chosen].name, wanted) != 0) ++chosen;
  if (chosen == count) {
    for (size_t i = 0; i < count; ++i) printf("%s\n", mistakes[i].name);
    return 2;
  }
  verbs_open(&nic, "urnic0", 1, kEntries, kBytes);
  mistakes[chosen].make();
  verbs_close(&nic);
  printf("done\n");
  return 0;
}
