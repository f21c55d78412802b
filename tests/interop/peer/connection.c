// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "connection.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "meeting.h"
#include "verdict.h"

enum {
  QUEUE = 64,
  PATIENCE_MS = 10000,
  ATOMICS_DEPTH = 8,
  DEFAULT_RNR_TIMER = 14,
  ENDLESS_RNR = 7,
  FEW_RNR = 2
};

static struct ibv_context* context;

void open_device(const struct settings* settings) {
  int count = 0;
  struct ibv_device** devices = ibv_get_device_list(&count);
  for (int i = 0; devices != NULL && i < count; i++) {
    if (strcmp(ibv_get_device_name(devices[i]), settings->device) == 0) context = ibv_open_device(devices[i]);
  }
  must(context != NULL, "no device %s", settings->device);
  ibv_free_device_list(devices);
}

static enum ibv_mtu mtu_code(uint32_t bytes) {
  enum ibv_mtu code = IBV_MTU_256;
  while (code < IBV_MTU_4096 && 256u << (code - IBV_MTU_256) < bytes) code++;
  return code;
}

static int rights_of(const struct wishes* wishes) {
  return (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC) &
         ~wishes->without_rights;
}

static void make_objects(struct connection* c, const struct wishes* wishes) {
  const size_t receive_bytes = (size_t)RECEIVES * (LONGEST + GRH);
  c->pd = ibv_alloc_pd(context);
  c->send_cq = ibv_create_cq(context, QUEUE, NULL, NULL, 0);
  c->receive_cq = ibv_create_cq(context, QUEUE, NULL, NULL, 0);
  c->memory = aligned_alloc(4096, REGION);
  c->receive_memory = aligned_alloc(4096, (receive_bytes + 4095) / 4096 * 4096);
  must(c->pd && c->send_cq && c->receive_cq && c->memory && c->receive_memory, "cannot make objects");
  memset(c->receive_memory, 0, receive_bytes);
  fill(c->memory, REGION, 0);
  const int rights = wishes->locked_region ? 0 : rights_of(&(struct wishes){0});
  c->mr = ibv_reg_mr(c->pd, c->memory, REGION,
                     IBV_ACCESS_LOCAL_WRITE | rights | (wishes->window ? IBV_ACCESS_MW_BIND : 0));
  c->receive_mr = ibv_reg_mr(c->pd, c->receive_memory, receive_bytes, IBV_ACCESS_LOCAL_WRITE);
  must(c->mr && c->receive_mr, "cannot register memory");
  struct ibv_qp_init_attr_ex init = {.send_cq = c->send_cq,
                                     .recv_cq = c->receive_cq,
                                     .qp_type = wishes->type,
                                     .cap = {.max_send_wr = QUEUE,
                                             .max_recv_wr = RECEIVES,
                                             .max_send_sge = 1,
                                             .max_recv_sge = 1,
                                             .max_inline_data = 64}};
  init.pd = c->pd;
  init.comp_mask = IBV_QP_INIT_ATTR_PD | (wishes->builders ? IBV_QP_INIT_ATTR_SEND_OPS_FLAGS : 0);
  init.send_ops_flags = wishes->builders;
  c->qp = ibv_create_qp_ex(context, &init);
  must(c->qp != NULL, "cannot create a queue pair");
}

static void to_init(struct connection* c, const struct wishes* wishes) {
  struct ibv_qp_attr attributes = {
      .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY, .qp_access_flags = (unsigned)rights_of(wishes)};
  must(ibv_modify_qp(c->qp, &attributes,
                     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                         (wishes->type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)) == 0,
       "the queue pair refuses INIT");
}

static void to_rts(struct connection* c, const struct wishes* wishes, uint32_t own_psn) {
  const bool is_rc = wishes->type == IBV_QPT_RC, is_ud = wishes->type == IBV_QPT_UD;
  struct ibv_ah_attr path = {
      .is_global = 1,
      .port_num = 1,
      .grh = {.dgid = c->peer.gid, .sgid_index = (uint8_t)c->settings->gid_index, .hop_limit = 64}};
  struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_RTR,
                                   .path_mtu = mtu_code(c->settings->path_mtu),
                                   .dest_qp_num = c->peer.qp_number,
                                   .rq_psn = c->peer.psn,
                                   .max_dest_rd_atomic = ATOMICS_DEPTH,
                                   .min_rnr_timer = wishes->rnr_timer ? wishes->rnr_timer : DEFAULT_RNR_TIMER,
                                   .ah_attr = path};
  must(ibv_modify_qp(c->qp, &attributes,
                     IBV_QP_STATE |
                         (is_ud ? 0 : IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN) |
                         (is_rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0)) == 0,
       "the queue pair refuses RTR");
  attributes = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
                                    .sq_psn = own_psn,
                                    .timeout = c->settings->ack_timeout,
                                    .retry_cnt = c->settings->retries,
                                    .rnr_retry = wishes->finite_rnr ? FEW_RNR : ENDLESS_RNR,
                                    .max_rd_atomic = ATOMICS_DEPTH};
  must(ibv_modify_qp(
           c->qp, &attributes,
           IBV_QP_STATE | IBV_QP_SQ_PSN |
               (is_rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC
                      : 0)) == 0,
       "the queue pair refuses RTS");
  if (is_ud) {
    c->ah = ibv_create_ah(c->pd, &path);
    must(c->ah != NULL, "cannot make an address handle");
  }
}

struct connection join(const struct settings* settings, struct wishes wishes) {
  if (wishes.type == 0) wishes.type = IBV_QPT_RC;
  struct connection c = {.settings = settings};
  make_objects(&c, &wishes);
  to_init(&c, &wishes);
  uint32_t random_psn = 0;
  must(getrandom(&random_psn, sizeof random_psn, 0) == sizeof random_psn, "no random numbers");
  struct end own = {.address = (uintptr_t)c.memory,
                    .rkey = c.mr->rkey,
                    .qp_number = c.qp->qp_num,
                    .psn = (wishes.first_psn ? wishes.first_psn : random_psn) & 0xffffff};
  must(ibv_query_gid(context, 1, settings->gid_index, &own.gid) == 0, "no GID %d", settings->gid_index);
  exchange(&own, &c.peer, sizeof own);
  to_rts(&c, &wishes, own.psn);
  in_step("joined");
  return c;
}

void part(struct connection* c) {
  in_step("parting");
  if (c->ah != NULL) ibv_destroy_ah(c->ah);
  must(ibv_destroy_qp(c->qp) == 0, "cannot destroy the queue pair");
  must(ibv_dereg_mr(c->mr) == 0 && ibv_dereg_mr(c->receive_mr) == 0, "cannot deregister memory");
  must(ibv_destroy_cq(c->send_cq) == 0 && ibv_destroy_cq(c->receive_cq) == 0,
       "cannot destroy a completion queue");
  must(ibv_dealloc_pd(c->pd) == 0, "cannot free the protection domain");
  free(c->memory);
  free(c->receive_memory);
}

static uint8_t pattern(uint32_t seed, uint32_t i) {
  return (uint8_t)(seed * 37 + i * 7 + (i >> 8) * 13 + 1);
}

void fill(uint8_t* bytes, uint32_t length, uint32_t seed) {
  for (uint32_t i = 0; i < length; i++) bytes[i] = pattern(seed, i);
}

void must_hold(const uint8_t* bytes, uint32_t first, uint32_t length, uint32_t seed, const char* what) {
  for (uint32_t i = 0; i < length; i++) {
    const uint8_t expected = pattern(seed, first + i);
    must(bytes[i] == expected, "%s differs at byte %u of %u: %02x, expected was %02x", what, i, length,
         bytes[i], expected);
  }
}

uint8_t* received(struct connection* c, uint64_t wr_id) {
  return c->receive_memory + wr_id * (LONGEST + GRH);
}

void post_receive(struct connection* c, uint64_t wr_id, uint32_t length) {
  struct ibv_sge sge = {.addr = (uintptr_t)received(c, wr_id),
                        .length = length + (c->qp->qp_type == IBV_QPT_UD ? GRH : 0),
                        .lkey = c->receive_mr->lkey};
  struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1}, *bad;
  must(ibv_post_recv(c->qp, &wr, &bad) == 0, "cannot post a receive");
}

struct request make(const struct connection* c, enum ibv_wr_opcode opcode, uint64_t wr_id, uint32_t local,
                    uint32_t length, uint32_t remote) {
  struct request request = {
      .wr = {.wr_id = wr_id,
             .num_sge = length > 0 ? 1 : 0,
             .opcode = opcode,
             .send_flags = IBV_SEND_SIGNALED},
      .sge = {.addr = (uintptr_t)c->memory + local, .length = length, .lkey = c->mr->lkey}};
  if (c->qp->qp_type == IBV_QPT_UD) {
    request.wr.wr.ud.ah = c->ah;
    request.wr.wr.ud.remote_qpn = c->peer.qp_number;
    request.wr.wr.ud.remote_qkey = QKEY;
  } else if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    request.wr.wr.atomic.remote_addr = c->peer.address + remote;
    request.wr.wr.atomic.rkey = c->peer.rkey;
  } else {
    request.wr.wr.rdma.remote_addr = c->peer.address + remote;
    request.wr.wr.rdma.rkey = c->peer.rkey;
  }
  return request;
}

int try_to_post(struct connection* c, struct request* request) {
  struct ibv_send_wr* bad;
  request->wr.sg_list = &request->sge;
  return ibv_post_send(c->qp, &request->wr, &bad);
}

void post(struct connection* c, struct request* request) {
  must(try_to_post(c, request) == 0, "cannot post work request %llu", (unsigned long long)request->wr.wr_id);
}

static uint64_t milliseconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

bool comes_within(struct ibv_cq* cq, unsigned ms, struct ibv_wc* completion) {
  const uint64_t deadline = milliseconds() + ms;
  do {
    const int count = ibv_poll_cq(cq, 1, completion);
    must(count >= 0, "ibv_poll_cq failed");
    if (count > 0) return true;
  } while (milliseconds() <= deadline);
  return false;
}

struct ibv_wc next_sent(struct connection* c) {
  struct ibv_wc completion = {0};
  must(comes_within(c->send_cq, PATIENCE_MS, &completion), "nothing that was sent completes");
  return completion;
}

struct ibv_wc next_received(struct connection* c) {
  struct ibv_wc completion = {0};
  must(comes_within(c->receive_cq, PATIENCE_MS, &completion), "nothing is received");
  return completion;
}

void carry_out(struct connection* c, struct request request, enum ibv_wc_status status) {
  post(c, &request);
  const struct ibv_wc completion = next_sent(c);
  must_complete(&completion, request.wr.wr_id, status);
}

void to_error(struct connection* c) {
  struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_ERR};
  must(ibv_modify_qp(c->qp, &attributes, IBV_QP_STATE) == 0, "the queue pair refuses ERR");
}
