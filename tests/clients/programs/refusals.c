// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* Calls of verbs that fail at once. Before each it prints '# NAME', after it '= ERRNO', on stderr: what
 * stands between them is the NIC's. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "test_client.h"

enum { kBytes = 4096, kDepth = 4, kSges = 2, kTooManySges = 100 };

static struct ibv_context* context;
static struct ibv_pd* pd;
static struct ibv_cq* cq;
static struct ibv_srq* srq;
static struct ibv_qp* qp;
static struct ibv_mr* mr;
static char memory[kBytes];

static void say_error(int error) {
  fprintf(stderr, "= %s\n", error == 0 ? "0" : strerrorname_np(error));
}

/* A verb that returns an object. */
#define MAKE(name, call)                   \
  do {                                     \
    fprintf(stderr, "# %s\n", name);       \
    errno = 0;                             \
    say_error((call) == NULL ? errno : 0); \
  } while (0)

/* A verb that returns an errno value. */
#define DO(name, call)               \
  do {                               \
    fprintf(stderr, "# %s\n", name); \
    say_error(call);                 \
  } while (0)

static struct ibv_qp_init_attr usual(void) {
  const struct ibv_qp_init_attr attributes = {.send_cq = cq,
                                              .recv_cq = cq,
                                              .cap = {kDepth, kDepth, kSges, kSges, 0},
                                              .qp_type = IBV_QPT_RC};
  return attributes;
}

static void make_too_much(void) {
  MAKE("cq-large", ibv_create_cq(context, 1 << 30, NULL, NULL, 0));
  MAKE("cq-none", ibv_create_cq(context, 0, NULL, NULL, 0));
  MAKE("cq-negative", ibv_create_cq(context, -1, NULL, NULL, 0));
  MAKE("cq-vector", ibv_create_cq(context, 1, NULL, NULL, 77));
  DO("cq-resize", ibv_resize_cq(cq, 1 << 30));
  struct ibv_qp_init_attr wanted = usual();
  wanted.cap.max_inline_data = 1 << 20;
  MAKE("qp-inline", ibv_create_qp(pd, &wanted));
  wanted = usual();
  wanted.cap.max_send_sge = 1000;
  MAKE("qp-send-sge", ibv_create_qp(pd, &wanted));
  wanted = usual();
  wanted.cap.max_recv_sge = 1001;
  MAKE("qp-recv-sge", ibv_create_qp(pd, &wanted));
  wanted = usual();
  wanted.cap.max_send_wr = 1 << 24;
  MAKE("qp-send-wr", ibv_create_qp(pd, &wanted));
  wanted = usual();
  wanted.cap.max_recv_wr = 1 << 25;
  MAKE("qp-recv-wr", ibv_create_qp(pd, &wanted));
  wanted = usual();
  wanted.qp_type = 77;
  MAKE("qp-type", ibv_create_qp(pd, &wanted));
  struct ibv_srq_init_attr shared = {.attr = {.max_wr = 1 << 24, .max_sge = 1}};
  MAKE("srq-wr", ibv_create_srq(pd, &shared));
  shared.attr.max_wr = 1;
  shared.attr.max_sge = 1000;
  MAKE("srq-sge", ibv_create_srq(pd, &shared));
}

static void destroy_what_is_used(void) {
  struct ibv_qp_init_attr with_srq = usual();
  with_srq.srq = srq;
  struct ibv_qp* const other = ibv_create_qp(pd, &with_srq);
  struct ibv_comp_channel* const channel = ibv_create_comp_channel(context);
  struct ibv_cq* const notified = ibv_create_cq(context, 1, NULL, channel, 0);
  if (other == NULL || notified == NULL) broken("create: %m");
  printf("qp 0x%06x\nother 0x%06x\nlkey 0x%08x\nsrq %u\ncq %u\n", qp->qp_num, other->qp_num, mr->lkey,
         srq->handle, notified->handle);
  DO("busy-cq", ibv_destroy_cq(cq));
  DO("busy-srq", ibv_destroy_srq(srq));
  DO("busy-channel", ibv_destroy_comp_channel(channel));
  DO("busy-pd", ibv_dealloc_pd(pd));
  if (ibv_destroy_qp(other) != 0 || ibv_destroy_cq(notified) != 0) broken("destroy: %m");
  DO("free-srq", ibv_destroy_srq(srq));
}

static void name_no_address(void) {
  struct ibv_ah_attr address = {.is_global = 1, .port_num = 1};
  if (ibv_query_gid(context, 1, 1, &address.grh.dgid) != 0) broken("ibv_query_gid: %m");
  address.grh.sgid_index = 200;
  MAKE("ah-beyond", ibv_create_ah(pd, &address));
  address.grh.sgid_index = 9;
  MAKE("ah-empty", ibv_create_ah(pd, &address));
  address.is_global = 0;
  MAKE("ah-lid", ibv_create_ah(pd, &address));
  address.is_global = 1;
  address.port_num = 2;
  MAKE("ah-port", ibv_create_ah(pd, &address));
}

/* Ends in RTS. */
static void modify_wrongly(void) {
  enum {
    kToInit = IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS,
    kToRtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
             IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
    kToRts = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
             IBV_QP_MAX_QP_RD_ATOMIC,
  };
  struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_RTS, .port_num = 1};
  DO("state-skipped", ibv_modify_qp(qp, &attributes, IBV_QP_STATE));
  attributes.qp_state = IBV_QPS_INIT;
  DO("mask-missing", ibv_modify_qp(qp, &attributes, IBV_QP_STATE));
  DO("mask-unknown", ibv_modify_qp(qp, &attributes, kToInit | 1 << 30));
  if (ibv_modify_qp(qp, &attributes, kToInit) != 0) broken("to INIT: %m");
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = IBV_MTU_1024;
  attributes.dest_qp_num = qp->qp_num;
  attributes.max_dest_rd_atomic = 1;
  attributes.ah_attr.is_global = 1;
  attributes.ah_attr.port_num = 1;
  if (ibv_query_gid(context, 1, 1, &attributes.ah_attr.grh.dgid) != 0) broken("ibv_query_gid: %m");
  attributes.ah_attr.grh.sgid_index = 9;
  DO("gid-empty", ibv_modify_qp(qp, &attributes, kToRtr));
  attributes.ah_attr.grh.sgid_index = 200;
  DO("gid-beyond", ibv_modify_qp(qp, &attributes, kToRtr));
  attributes.ah_attr.grh.sgid_index = 1;
  attributes.path_mtu = 9;
  DO("mtu", ibv_modify_qp(qp, &attributes, kToRtr));
  attributes.path_mtu = IBV_MTU_1024;
  DO("mask-excess", ibv_modify_qp(qp, &attributes, kToRtr | IBV_QP_TIMEOUT));
  if (ibv_modify_qp(qp, &attributes, kToRtr) != 0) broken("to RTR: %m");
  attributes.qp_state = IBV_QPS_RTS;
  attributes.timeout = 14;
  attributes.max_rd_atomic = 1;
  if (ibv_modify_qp(qp, &attributes, kToRts) != 0) broken("to RTS: %m");
}

static int post_send(enum ibv_wr_opcode opcode, unsigned flags, int sges, uint32_t bytes) {
  struct ibv_sge list[kTooManySges];
  for (int i = 0; i < kTooManySges; ++i) {
    list[i] = (struct ibv_sge){.addr = (uintptr_t)memory, .length = bytes, .lkey = mr->lkey};
  }
  struct ibv_send_wr wr = {
      .wr_id = 7, .sg_list = list, .num_sge = sges, .opcode = opcode, .send_flags = flags};
  struct ibv_send_wr* bad = NULL;
  return ibv_post_send(qp, &wr, &bad);
}

static int post_receive(int sges) {
  struct ibv_sge list[kTooManySges] = {{.addr = (uintptr_t)memory, .length = 1, .lkey = mr->lkey}};
  struct ibv_recv_wr wr = {.wr_id = 8, .sg_list = list, .num_sge = sges};
  struct ibv_recv_wr* bad = NULL;
  return ibv_post_recv(qp, &wr, &bad);
}

static int fill_receives(void) {
  int error = 0;
  for (int i = 0; i < 1 << 20 && error == 0; ++i) error = post_receive(1);
  return error;
}

static void post_in_reset(void) {
  DO("send-state", post_send(IBV_WR_SEND, 0, 1, 1));
  DO("receive-state", post_receive(1));
}

static void post_wrongly(void) {
  DO("inline-long", post_send(IBV_WR_SEND, IBV_SEND_INLINE, 1, kBytes));
  DO("inline-long-again", post_send(IBV_WR_SEND, IBV_SEND_INLINE, 1, kBytes));
  DO("inline-read", post_send(IBV_WR_RDMA_READ, IBV_SEND_INLINE, 1, 8));
  DO("send-sges", post_send(IBV_WR_SEND, 0, kSges + 1, 1));
  DO("send-many-sges", post_send(IBV_WR_SEND, 0, kTooManySges, 1));
  DO("opcode", post_send(99, 0, 1, 1));
  DO("flags", post_send(IBV_WR_SEND, 1 << 20, 1, 1));
  DO("atomic-length", post_send(IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 1, 4));
  DO("receive-sges", post_receive(kSges + 1));
  DO("receive-full", fill_receives());
}

int main(void) {
  struct ibv_device** const devices = ibv_get_device_list(NULL);
  context = devices != NULL && devices[0] != NULL ? ibv_open_device(devices[0]) : NULL;
  pd = context != NULL ? ibv_alloc_pd(context) : NULL;
  if (pd == NULL) broken("no device");
  cq = ibv_create_cq(context, 64, NULL, NULL, 0);
  mr = ibv_reg_mr(pd, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE);
  struct ibv_srq_init_attr shared = {.attr = {.max_wr = 1, .max_sge = 1}};
  srq = ibv_create_srq(pd, &shared);
  struct ibv_qp_init_attr attributes = usual();
  qp = ibv_create_qp(pd, &attributes);
  if (qp == NULL || mr == NULL || srq == NULL) broken("create: %m");
  make_too_much();
  destroy_what_is_used();
  name_no_address();
  post_in_reset();
  modify_wrongly();
  post_wrongly();
  return 0;
}
