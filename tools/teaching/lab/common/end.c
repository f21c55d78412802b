// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "end.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "meet.h"

// In a real program these are drawn at random, so that packets of an older connection do not fit.
enum { FIRST_PSN = 100 };

static struct ibv_context* open_first_device(void) {
  int count = 0;
  struct ibv_device** devices = ibv_get_device_list(&count);
  if (devices == NULL || count == 0)
    fail("there is no RDMA device: start the program with  urnic run -- ...");
  struct ibv_context* context = ibv_open_device(devices[0]);
  if (context == NULL) fail("cannot open %s: %m", ibv_get_device_name(devices[0]));
  ibv_free_device_list(devices);
  return context;
}

void end_open(struct end* end, size_t bytes, int access) {
  *end = (struct end){
      .bytes = bytes,
      .path_mtu = IBV_MTU_1024,
      .ack_timeout = 18,  // 4.096 us x 2^18 = 1.07 s: longer than a busy laptop lets a program wait
      .retry_count = 7,
      .rnr_retry = 7,  // without end
      .min_rnr_timer = 12};
  end->context = open_first_device();
  if (ibv_query_gid(end->context, PORT, GID_INDEX, &end->mine.gid) != 0)
    fail("port 1 has no GID %d: see  urnic doctor", GID_INDEX);
  end->pd = ibv_alloc_pd(end->context);
  end->cq = ibv_create_cq(end->context, 2 * QUEUE_DEPTH, NULL, NULL, 0);
  end->memory = calloc(1, bytes);
  if (end->pd == NULL || end->cq == NULL || end->memory == NULL) fail("no PD, CQ or memory: %m");
  end->mr = ibv_reg_mr(end->pd, end->memory, bytes, IBV_ACCESS_LOCAL_WRITE | access);
  if (end->mr == NULL) fail("cannot register memory: %m");
  end->qp = end_another_qp(end, access);
  end->mine.qp_number = end->qp->qp_num;
  end->mine.psn = FIRST_PSN;
  end->mine.rkey = end->mr->rkey;
  end->mine.memory = (uintptr_t)end->memory;
}

struct ibv_qp* end_another_qp(struct end* end, int access) {
  struct ibv_qp_init_attr init = {.send_cq = end->cq,
                                  .recv_cq = end->cq,
                                  .qp_type = IBV_QPT_RC,
                                  .cap = {.max_send_wr = QUEUE_DEPTH,
                                          .max_recv_wr = QUEUE_DEPTH,
                                          .max_send_sge = MOST_PARTS,
                                          .max_recv_sge = 1}};
  struct ibv_qp* qp = ibv_create_qp(end->pd, &init);
  if (qp == NULL) fail("cannot make a queue pair: %m");
  struct ibv_qp_attr attributes = {
      .qp_state = IBV_QPS_INIT, .port_num = PORT, .qp_access_flags = (unsigned)access};
  errno =
      ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  if (errno != 0) fail("the queue pair refuses INIT: %m");
  return qp;
}

void end_connect_qp(struct end* end, struct ibv_qp* qp, uint32_t own_psn, const struct address* peer) {
  struct ibv_qp_attr attributes = {
      .qp_state = IBV_QPS_RTR,
      .path_mtu = end->path_mtu,
      .dest_qp_num = peer->qp_number,
      .rq_psn = peer->psn,
      .max_dest_rd_atomic = 4,
      .min_rnr_timer = end->min_rnr_timer,
      .ah_attr = {.is_global = 1,
                  .port_num = PORT,
                  .grh = {.dgid = peer->gid, .sgid_index = GID_INDEX, .hop_limit = 64}}};
  errno = ibv_modify_qp(qp, &attributes,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                            IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  if (errno != 0) fail("the queue pair refuses RTR: %m");
  attributes = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
                                    .sq_psn = own_psn,
                                    .timeout = end->ack_timeout,
                                    .retry_cnt = end->retry_count,
                                    .rnr_retry = end->rnr_retry,
                                    .max_rd_atomic = 4};
  errno = ibv_modify_qp(qp, &attributes,
                        IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                            IBV_QP_MAX_QP_RD_ATOMIC);
  if (errno != 0) fail("the queue pair refuses RTS: %m");
}

void end_connect(struct end* end, int socket) {
  exchange(socket, &end->mine, &end->peers, sizeof end->mine);
  end_connect_qp(end, end->qp, end->mine.psn, &end->peers);
  wait_for_each_other(socket);
}

struct ibv_sge end_part(const struct end* end, size_t offset, size_t bytes) {
  return (struct ibv_sge){
      .addr = (uintptr_t)(end->memory + offset), .length = (uint32_t)bytes, .lkey = end->mr->lkey};
}

void end_post_receive(struct end* end, uint64_t wr_id, struct ibv_sge part) {
  struct ibv_recv_wr request = {.wr_id = wr_id, .sg_list = &part, .num_sge = 1};
  struct ibv_recv_wr* bad = NULL;
  errno = ibv_post_recv(end->qp, &request, &bad);
  if (errno != 0) fail("cannot post a receive: %m");
}

void end_post_send(struct end* end, uint64_t wr_id, struct ibv_sge part) {
  struct ibv_send_wr request = {
      .wr_id = wr_id, .sg_list = &part, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
  end_post(end, &request);
}

struct ibv_send_wr end_write_request(const struct end* end, uint64_t wr_id, struct ibv_sge* part,
                                     size_t offset) {
  return (struct ibv_send_wr){
      .wr_id = wr_id,
      .sg_list = part,
      .num_sge = 1,
      .opcode = IBV_WR_RDMA_WRITE,
      .send_flags = IBV_SEND_SIGNALED,
      .wr.rdma = {.remote_addr = end->peers.memory + offset, .rkey = end->peers.rkey}};
}

void end_post(struct end* end, struct ibv_send_wr* request) {
  struct ibv_send_wr* bad = NULL;
  errno = ibv_post_send(end->qp, request, &bad);
  if (errno != 0) fail("cannot post to the send queue: %m");
}

struct ibv_wc end_wait_for_completion(struct end* end) {
  struct ibv_wc completion;
  const time_t limit = time(NULL) + COMPLETION_SECONDS;
  while (time(NULL) <= limit) {
    const int count = ibv_poll_cq(end->cq, 1, &completion);
    if (count < 0) fail("cannot poll the completion queue");
    if (count == 1) return completion;
    sched_yield();  // the peer may need this processor
  }
  fail("no completion within %d s: was the work request signaled, and did the peer post a receive?",
       COMPLETION_SECONDS);
}

struct ibv_wc end_wait_for_success(struct end* end) {
  const struct ibv_wc completion = end_wait_for_completion(end);
  if (completion.status != IBV_WC_SUCCESS)
    fail("work request %llu ended with status %d, %s", (unsigned long long)completion.wr_id,
         completion.status, ibv_wc_status_str(completion.status));
  return completion;
}

void end_close(struct end* end) {
  if (ibv_destroy_qp(end->qp) != 0 || ibv_dereg_mr(end->mr) != 0 || ibv_destroy_cq(end->cq) != 0 ||
      ibv_dealloc_pd(end->pd) != 0 || ibv_close_device(end->context) != 0)
    fail("cannot close");
  free(end->memory);
}
