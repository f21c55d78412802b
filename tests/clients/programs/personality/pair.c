// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "pair.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../test_client.h"

enum { GIDS = 1024, PACKET_NUMBER = 1000, HOPS = 64 };

static bool complain(const char* what) {
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  return false;
}

/* The first RoCE v2 GID of IPv4, else the first of RoCE v2. */
static bool choose_gid(struct nic* nic) {
  struct ibv_gid_entry* const entries = calloc(GIDS, sizeof *entries);
  const ssize_t count = entries == NULL ? -1 : ibv_query_gid_table(nic->context, entries, GIDS, 0);
  const struct ibv_gid_entry* chosen = NULL;
  static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
  for (ssize_t i = count - 1; i >= 0; --i) {
    if (entries[i].gid_type != IBV_GID_TYPE_ROCE_V2) continue;
    const bool is_ipv4 = memcmp(entries[i].gid.raw, mapped, sizeof mapped) == 0;
    const bool has_ipv4 = chosen != NULL && memcmp(chosen->gid.raw, mapped, sizeof mapped) == 0;
    if (is_ipv4 || !has_ipv4) chosen = &entries[i];
  }
  if (chosen != NULL) {
    nic->gid = chosen->gid;
    nic->gid_index = (uint8_t)chosen->gid_index;
  }
  free(entries);
  return chosen != NULL;
}

bool nic_open(struct nic* nic) {
  memset(nic, 0, sizeof *nic);
  int count = 0;
  struct ibv_device** const devices = ibv_get_device_list(&count);
  if (devices == NULL || count == 0) return complain("there is no device");
  nic->context = ibv_open_device(devices[0]);
  ibv_free_device_list(devices);
  if (nic->context == NULL) return complain("ibv_open_device");
  if (ibv_query_device(nic->context, &nic->attributes) != 0) return complain("ibv_query_device");
  if (ibv_query_port(nic->context, 1, &nic->port) != 0) return complain("ibv_query_port");
  if (!choose_gid(nic)) return complain("no GID of RoCE v2");
  nic->mtu = 128U << nic->port.active_mtu;
  nic->has_atomics = nic->attributes.atomic_cap != IBV_ATOMIC_NONE;
  nic->pd = ibv_alloc_pd(nic->context);
  nic->near = aligned_alloc(4096, 2 * HALF);
  if (nic->pd == NULL || nic->near == NULL) return complain("ibv_alloc_pd");
  memset(nic->near, 0, 2 * HALF);
  nic->far = nic->near + HALF;
  nic->mr = ibv_reg_mr(nic->pd, nic->near, 2 * HALF, IBV_ACCESS_LOCAL_WRITE | all_rights(nic));
  return nic->mr != NULL || complain("ibv_reg_mr");
}

void nic_close(struct nic* nic) {
  if (ibv_dereg_mr(nic->mr) != 0 || ibv_dealloc_pd(nic->pd) != 0 || ibv_close_device(nic->context) != 0)
    complain("objects of the device are not destroyed");
  free(nic->near);
}

int all_rights(const struct nic* nic) {
  const int rights = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  return nic->has_atomics ? rights | IBV_ACCESS_REMOTE_ATOMIC : rights;
}

struct pair_options usual_options(void) {
  return (struct pair_options){.timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .min_rnr_timer = 12};
}

struct ibv_qp* end_create_qp(const struct nic* nic, struct end* end, const struct ibv_qp_cap* cap) {
  struct ibv_qp_init_attr init = {
      .send_cq = end->send_cq, .recv_cq = end->recv_cq, .qp_type = IBV_QPT_RC, .cap = *cap};
  errno = 0;
  end->qp = ibv_create_qp(nic->pd, &init);
  end->cap = init.cap;
  return end->qp;
}

int qp_to_state(struct ibv_qp* qp, enum ibv_qp_state state) {
  struct ibv_qp_attr attributes = {.qp_state = state};
  return ibv_modify_qp(qp, &attributes, IBV_QP_STATE);
}

int qp_to_init(struct ibv_qp* qp, int rights) {
  struct ibv_qp_attr attributes = {
      .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = (unsigned)rights};
  return ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

enum ibv_qp_state qp_state(struct ibv_qp* qp) {
  struct ibv_qp_attr attributes;
  struct ibv_qp_init_attr init;
  return ibv_query_qp(qp, &attributes, IBV_QP_STATE, &init) == 0 ? attributes.qp_state : IBV_QPS_UNKNOWN;
}

static int to_rtr(const struct nic* nic, struct ibv_qp* qp, uint32_t peer, uint8_t min_rnr_timer) {
  const int reads = nic->attributes.max_qp_rd_atom;
  struct ibv_qp_attr attributes = {
      .qp_state = IBV_QPS_RTR,
      .path_mtu = nic->port.active_mtu,
      .dest_qp_num = peer,
      .rq_psn = PACKET_NUMBER,
      .max_dest_rd_atomic = (uint8_t)(reads < 4 ? reads : 4),
      .min_rnr_timer = min_rnr_timer,
      .ah_attr = {.is_global = 1,
                  .port_num = 1,
                  .grh = {.dgid = nic->gid, .sgid_index = nic->gid_index, .hop_limit = HOPS}}};
  return ibv_modify_qp(qp, &attributes,
                       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                           IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

static int to_rts(const struct nic* nic, struct ibv_qp* qp, const struct pair_options* options) {
  const int reads = nic->attributes.max_qp_init_rd_atom;
  struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_RTS,
                                   .sq_psn = PACKET_NUMBER,
                                   .timeout = options->timeout,
                                   .retry_cnt = options->retry_cnt,
                                   .rnr_retry = options->rnr_retry,
                                   .max_rd_atomic = (uint8_t)(reads < 4 ? reads : 4)};
  return ibv_modify_qp(qp, &attributes,
                       IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                           IBV_QP_MAX_QP_RD_ATOMIC);
}

static bool create_end(const struct nic* nic, struct end* end, const struct pair_options* options) {
  struct ibv_qp_cap cap = options->cap;
  if (cap.max_send_wr == 0) cap.max_send_wr = 16;
  if (cap.max_recv_wr == 0) cap.max_recv_wr = 16;
  if (cap.max_send_sge == 0) cap.max_send_sge = 1;
  if (cap.max_recv_sge == 0) cap.max_recv_sge = 1;
  end->send_cq = ibv_create_cq(nic->context, COMPLETIONS, NULL, NULL, 0);
  end->recv_cq = ibv_create_cq(nic->context, COMPLETIONS, NULL, NULL, 0);
  return end->send_cq != NULL && end->recv_cq != NULL && end_create_qp(nic, end, &cap) != NULL;
}

static bool take_far(const struct nic* nic, const struct pair_options* options, const struct pair* pair) {
  if (options->far_stays_in_reset) return true;
  const int rights = options->far_rights == 0 ? all_rights(nic) : options->far_rights;
  if ((errno = qp_to_init(pair->far.qp, rights == -1 ? 0 : rights)) != 0) return false;
  if (options->far_state == IBV_QPS_INIT) return true;
  if ((errno = to_rtr(nic, pair->far.qp, pair->near.qp->qp_num, options->min_rnr_timer)) != 0) return false;
  if (options->far_state == IBV_QPS_RTR) return true;
  return (errno = to_rts(nic, pair->far.qp, options)) == 0;
}

bool pair_open(const struct nic* nic, const struct pair_options* options, struct pair* pair) {
  memset(pair, 0, sizeof *pair);
  bool is_open = create_end(nic, &pair->near, options) && create_end(nic, &pair->far, options);
  is_open = is_open && (errno = qp_to_init(pair->near.qp, all_rights(nic))) == 0 &&
            (errno = to_rtr(nic, pair->near.qp, pair->far.qp->qp_num, options->min_rnr_timer)) == 0 &&
            (errno = to_rts(nic, pair->near.qp, options)) == 0 && take_far(nic, options, pair);
  if (is_open) return true;
  const int error = errno;
  complain("two queue pairs are not connected");
  pair_close(pair);
  errno = error;
  return false;
}

static void close_end(struct end* end) {
  if (end->qp != NULL && ibv_destroy_qp(end->qp) != 0) complain("ibv_destroy_qp");
  if (end->send_cq != NULL && ibv_destroy_cq(end->send_cq) != 0) complain("ibv_destroy_cq");
  if (end->recv_cq != NULL && ibv_destroy_cq(end->recv_cq) != 0) complain("ibv_destroy_cq");
  memset(end, 0, sizeof *end);
}

void pair_close(struct pair* pair) {
  close_end(&pair->near);
  close_end(&pair->far);
}

void with_usual_pair(const struct nic* nic, void (*observe)(const struct nic*, const struct pair*)) {
  const struct pair_options options = usual_options();
  struct pair pair;
  if (!pair_open(nic, &options, &pair)) return;
  observe(nic, &pair);
  pair_close(&pair);
}

void request_make(const struct nic* nic, struct request* request, enum ibv_wr_opcode opcode,
                  uint32_t length) {
  const uint64_t to = (uintptr_t)nic->far;
  *request =
      (struct request){.element = {.addr = (uintptr_t)nic->near, .length = length, .lkey = nic->mr->lkey},
                       .wr = {.wr_id = 1, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED}};
  if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    request->wr.wr.atomic.remote_addr = to;
    request->wr.wr.atomic.rkey = nic->mr->rkey;
    request->wr.wr.atomic.compare_add = 1;
  } else if (opcode != IBV_WR_SEND && opcode != IBV_WR_SEND_WITH_IMM) {
    request->wr.wr.rdma.remote_addr = to;
    request->wr.wr.rdma.rkey = nic->mr->rkey;
  }
}

int request_post(struct ibv_qp* qp, struct request* request) {
  struct ibv_send_wr* bad = NULL;
  if (request->wr.sg_list == NULL) request->wr.sg_list = &request->element;
  return ibv_post_send(qp, &request->wr, &bad);
}

int receive_post(const struct nic* nic, struct ibv_qp* qp, uint32_t length, uint64_t wr_id) {
  struct ibv_sge element = {.addr = (uintptr_t)nic->far, .length = length, .lkey = nic->mr->lkey};
  struct ibv_recv_wr request = {.wr_id = wr_id, .sg_list = &element, .num_sge = 1};
  struct ibv_recv_wr* bad = NULL;
  return ibv_post_recv(qp, &request, &bad);
}

bool completion_wait(struct ibv_cq* cq, struct ibv_wc* completion, double seconds) {
  const double end = seconds_now() + seconds;
  do {
    memset(completion, PATTERN, sizeof *completion);
    const int polled = ibv_poll_cq(cq, 1, completion);
    if (polled != 0) return polled == 1;
  } while (seconds_now() < end);
  return false;
}

unsigned completions_count(struct ibv_cq* cq, double quiet_seconds) {
  struct ibv_wc completion;
  unsigned count = 0;
  while (completion_wait(cq, &completion, quiet_seconds)) ++count;
  return count;
}

void let_it_work(void) {
  usleep(50000);
}
