// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "pair.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "test_client.h"

struct verbs_objects nic;
struct ibv_qp* near_qp;
struct ibv_qp* far_qp;
static struct ibv_srq* shared;

uint64_t place(unsigned piece) {
  return (uintptr_t)nic.memory + (uint64_t)piece * kPiece;
}

void share_receives(struct ibv_srq* srq) {
  shared = srq;
}

struct ibv_srq* share_new_queue(uint32_t receives) {
  struct ibv_srq_init_attr attributes = {.attr = {.max_wr = receives, .max_sge = 1}};
  struct ibv_srq* const srq = ibv_create_srq(nic.pd, &attributes);
  if (srq == NULL) broken("ibv_create_srq: %m");
  share_receives(srq);
  return srq;
}

void post_shared(struct ibv_srq* srq) {
  struct ibv_sge element = {.addr = place(900), .length = kPiece, .lkey = nic.mr->lkey};
  struct ibv_recv_wr request = {.sg_list = &element, .num_sge = 1};
  struct ibv_recv_wr* bad = NULL;
  if (ibv_post_srq_recv(srq, &request, &bad) != 0) broken("ibv_post_srq_recv: %m");
}

void destroy_shared(struct ibv_srq* srq) {
  share_receives(NULL);
  if (ibv_destroy_srq(srq) != 0) broken("ibv_destroy_srq: %m");
}

struct ibv_qp* make_qp(enum ibv_qp_type type, uint32_t sends, uint32_t receives) {
  struct ibv_qp_init_attr attributes = {
      .send_cq = nic.cq,
      .recv_cq = nic.cq,
      .cap = {.max_send_wr = sends, .max_recv_wr = receives, .max_send_sge = 1, .max_recv_sge = 1},
      .qp_type = type,
      .srq = shared};
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

struct connection usual_connection(uint8_t ack_timeout) {
  struct ibv_port_attr port;
  if (ibv_query_port(nic.context, 1, &port) != 0) broken("cannot query port 1");
  return (struct connection){.path_mtu = port.active_mtu,
                             .sgid_index = (uint8_t)nic.gid_index,
                             .dest_reads = 4,
                             .reads = 4,
                             .timeout = ack_timeout,
                             .retry_cnt = 7};
}

int try_to_connect_qp(struct ibv_qp* qp, uint32_t peer, const struct connection* wants) {
  struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_RTR,
                                   .path_mtu = wants->path_mtu,
                                   .dest_qp_num = peer,
                                   .max_dest_rd_atomic = wants->dest_reads,
                                   .min_rnr_timer = 1,
                                   .ah_attr = {.is_global = 1, .port_num = 1}};
  attributes.ah_attr.grh.dgid = nic.gid;
  attributes.ah_attr.grh.sgid_index = wants->sgid_index;
  attributes.ah_attr.grh.hop_limit = 64;
  const int error = ibv_modify_qp(qp, &attributes,
                                  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                      IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  if (error != 0) return error;
  attributes = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
                                    .timeout = wants->timeout,
                                    .retry_cnt = wants->retry_cnt,
                                    .rnr_retry = 7,
                                    .max_rd_atomic = wants->reads};
  return ibv_modify_qp(qp, &attributes,
                       IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                           IBV_QP_MAX_QP_RD_ATOMIC);
}

void connect_pair_as(uint32_t sends, uint32_t receives, const struct connection* near_wants,
                     const struct connection* far_wants) {
  near_qp = make_qp(IBV_QPT_RC, sends, receives);
  far_qp = make_qp(IBV_QPT_RC, sends, receives);
  if (try_to_connect_qp(near_qp, far_qp->qp_num, near_wants) != 0 ||
      try_to_connect_qp(far_qp, near_qp->qp_num, far_wants) != 0)
    broken("ibv_modify_qp: %m");
}

void connect_pair(uint32_t sends, uint32_t receives, uint8_t ack_timeout) {
  const struct connection wants = usual_connection(ack_timeout);
  connect_pair_as(sends, receives, &wants, &wants);
}

void disconnect_pair(void) {
  if (ibv_destroy_qp(near_qp) != 0 || ibv_destroy_qp(far_qp) != 0) broken("ibv_destroy_qp: %m");
}

void post_keyed(enum ibv_wr_opcode opcode, unsigned flags, uint64_t address, uint32_t length,
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

struct ibv_ah* send_datagram(void) {
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
  return handle;
}

void post(enum ibv_wr_opcode opcode, unsigned flags, unsigned from, unsigned to) {
  post_keyed(opcode, flags, place(from), kPiece, nic.mr->lkey, place(to));
}

int post_receive(struct ibv_qp* qp, uint32_t length) {
  struct ibv_sge element = {.addr = place(900), .length = length, .lkey = nic.mr->lkey};
  struct ibv_recv_wr request = {.sg_list = &element, .num_sge = 1};
  struct ibv_recv_wr* bad = NULL;
  return ibv_post_recv(qp, &request, &bad);
}

enum ibv_wc_status poll_completions(unsigned count) {
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

void expect(enum ibv_wc_status status, enum ibv_wc_status wanted) {
  if (status != wanted) broken("the status is '%s'", ibv_wc_status_str(status));
}

void wait_a_moment(void) {
  usleep(50000);
}
