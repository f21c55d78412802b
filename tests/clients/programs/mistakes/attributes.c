// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* Values that some NICs refuse, or take for something else. */
#include <linux/capability.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mistakes.h"
#include "pair.h"
#include "test_client.h"

void no_ack_timeout(void) {
  connect_pair(8, 1, 0);
  post(IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, 1, 2);
  expect(poll_completions(1), IBV_WC_SUCCESS);
  disconnect_pair();
}

void attribute_not_set(void) {
  struct ibv_qp* const qp = make_qp(IBV_QPT_RC, 8, 8);
  struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
  struct ibv_qp_attr to_init = {.qp_state = IBV_QPS_INIT}; /* port_num is left out */
  const int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  if (ibv_modify_qp(qp, &reset, IBV_QP_STATE) != 0) broken("ibv_modify_qp to RESET: %m");
  if (ibv_modify_qp(qp, &to_init, mask) == 0) broken("port 0 is taken");
  if (ibv_destroy_qp(qp) != 0) broken("ibv_destroy_qp: %m");
}

void address_without_grh(void) {
  struct ibv_ah_attr address = {.dlid = 1, .port_num = 1};
  if (ibv_create_ah(nic.pd, &address) != NULL) broken("an address without a GRH is taken");
}

/* What a queue pair says to attributes that may be refused, too. */
static void try_to_connect(const struct connection* wants) {
  struct ibv_qp* const qp = make_qp(IBV_QPT_RC, 8, 8);
  if (try_to_connect_qp(qp, qp->qp_num, wants) != 0) printf("refused\n");
  if (ibv_destroy_qp(qp) != 0) broken("ibv_destroy_qp: %m");
}

void gid_of_other_kind(void) {
  struct connection wants = usual_connection(kTimeout);
  wants.sgid_index = 0;
  try_to_connect(&wants);
}

void path_mtu_above_active_mtu(void) {
  struct connection wants = usual_connection(kTimeout);
  wants.path_mtu = IBV_MTU_4096;
  try_to_connect(&wants);
}

void retry_count_out_of_range(void) {
  struct connection wants = usual_connection(kTimeout);
  wants.retry_cnt = 10;
  try_to_connect(&wants);
}

void short_ack_timeout(void) {
  const struct connection wants = usual_connection(8);
  try_to_connect(&wants);
}

void no_retries(void) {
  struct connection wants = usual_connection(kTimeout);
  wants.retry_cnt = 0;
  try_to_connect(&wants);
}

void more_than_some_nics_have(void) {
  struct ibv_qp_init_attr wanted = {.send_cq = nic.cq,
                                    .recv_cq = nic.cq,
                                    .cap = {.max_send_wr = 8,
                                            .max_recv_wr = 8,
                                            .max_send_sge = 1,
                                            .max_recv_sge = 1,
                                            .max_inline_data = 200},
                                    .qp_type = IBV_QPT_RC};
  struct ibv_qp* const qp = ibv_create_qp(nic.pd, &wanted);
  if (qp == NULL || ibv_destroy_qp(qp) != 0) broken("ibv_create_qp: %m");
}

void missing_on_some_nics(void) {
  struct ibv_srq_init_attr wanted = {.attr = {.max_wr = 4, .max_sge = 1}};
  struct ibv_srq* const srq = ibv_create_srq(nic.pd, &wanted);
  if (srq == NULL || ibv_destroy_srq(srq) != 0) broken("ibv_create_srq: %m");
}

/* As it is for a user without privileges. Before the device is opened. */
void limit_locked_memory(void) {
  const struct rlimit limit = {.rlim_cur = 2 * kBytes, .rlim_max = 2 * kBytes};
  if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0) broken("setrlimit: %m");
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
  if (syscall(SYS_capget, &header, sets) != 0) broken("capget: %m");
  sets[CAP_TO_INDEX(CAP_IPC_LOCK)].effective &= ~CAP_TO_MASK(CAP_IPC_LOCK);
  if (syscall(SYS_capset, &header, sets) != 0) broken("capset: %m");
}

void more_than_memlock(void) {
  enum { kMore = 3 };
  struct ibv_mr* regions[kMore];
  for (unsigned i = 0; i < kMore; ++i) {
    regions[i] = ibv_reg_mr(nic.pd, nic.memory, kBytes, IBV_ACCESS_LOCAL_WRITE);
    if (regions[i] == NULL) broken("ibv_reg_mr: %m");
  }
  for (unsigned i = 0; i < kMore; ++i) {
    if (ibv_dereg_mr(regions[i]) != 0) broken("ibv_dereg_mr: %m");
  }
}

void registration_per_message(void) {
  for (unsigned i = 0; i < 3000; ++i) {
    struct ibv_mr* const mr = ibv_reg_mr(nic.pd, nic.memory, kPiece, IBV_ACCESS_LOCAL_WRITE);
    if (mr == NULL || ibv_dereg_mr(mr) != 0) broken("ibv_reg_mr: %m");
  }
}
