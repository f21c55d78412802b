// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* Which fields of a completion the NIC writes, and which completions of a queue pair outlive it. */
#include <stddef.h>
#include <string.h>

#include "observation.h"
#include "sections.h"

/* A field whose bytes are as they were before the poll is "untouched". */
static void observe_field(uint32_t value, size_t bytes, const char* name, const char* field) {
  const uint32_t untouched = bytes == 1 ? PATTERN : bytes == 2 ? PATTERN * 0x101U : PATTERN * 0x1010101U;
  if (value == untouched)
    observe_text("untouched", "wc.%s.%s", name, field);
  else
    observe_number(value, "wc.%s.%s", name, field);
}

static void observe_qp_number(uint32_t value, const char* name, const char* field, uint32_t own,
                              uint32_t peer) {
  if (value == own)
    observe_text("own", "wc.%s.%s", name, field);
  else if (value == peer)
    observe_text("peer's", "wc.%s.%s", name, field);
  else
    observe_field(value, 4, name, field);
}

static void observe_completion(struct ibv_cq* cq, const char* name, uint32_t own, uint32_t peer) {
  struct ibv_wc wc;
  if (!completion_wait(cq, &wc, 2)) {
    observe_nothing("no completion came", "wc.%s.status", name);
    return;
  }
  observe_text(status_name(wc.status), "wc.%s.status", name);
  observe_field(wc.opcode, 4, name, "opcode");
  observe_field(wc.vendor_err, 4, name, "vendor_err");
  observe_field(wc.byte_len, 4, name, "byte_len");
  observe_field(wc.imm_data, 4, name, "imm_data");
  observe_qp_number(wc.qp_num, name, "qp_num", own, peer);
  observe_qp_number(wc.src_qp, name, "src_qp", own, peer);
  observe_field(wc.wc_flags, 4, name, "wc_flags");
  observe_field(wc.pkey_index, 2, name, "pkey_index");
  observe_field(wc.slid, 2, name, "slid");
  observe_field(wc.sl, 1, name, "sl");
  observe_field(wc.dlid_path_bits, 1, name, "dlid_path_bits");
}

enum { LENGTH = 40, RECEIVE_ID = 77 };

static void observe_good(const struct nic* nic, const struct pair* pair) {
  static const struct {
    const char *name, *receive;
    enum ibv_wr_opcode opcode;
    bool is_atomic;
  } requests[] = {
      {"write", NULL, IBV_WR_RDMA_WRITE, false},
      {"read", NULL, IBV_WR_RDMA_READ, false},
      {"atomic", NULL, IBV_WR_ATOMIC_FETCH_AND_ADD, true},
      {"send", "receive", IBV_WR_SEND, false},
      {"send_imm", "receive_imm", IBV_WR_SEND_WITH_IMM, false},
      {"write_imm", "receive_write_imm", IBV_WR_RDMA_WRITE_WITH_IMM, false},
  };
  const uint32_t near = pair->near.qp->qp_num, far = pair->far.qp->qp_num;
  for (size_t i = 0; i < sizeof requests / sizeof *requests; ++i) {
    if (requests[i].is_atomic && !nic->has_atomics) continue;
    struct request request;
    request_make(nic, &request, requests[i].opcode, requests[i].is_atomic ? 8 : LENGTH);
    request.wr.imm_data = 0x04030201;
    if (requests[i].receive != NULL && receive_post(nic, pair->far.qp, 64, RECEIVE_ID) != 0) continue;
    const int error = request_post(pair->near.qp, &request);
    if (error != 0) {
      observe_nothing(error_name(error), "wc.%s.status", requests[i].name);
      continue;
    }
    observe_completion(pair->near.send_cq, requests[i].name, near, far);
    if (requests[i].receive != NULL) observe_completion(pair->far.recv_cq, requests[i].receive, far, near);
  }
}

static void observe_failed(const struct nic* nic, const struct pair* pair) {
  struct request request;
  request_make(nic, &request, IBV_WR_RDMA_WRITE, LENGTH);
  request.wr.wr.rdma.rkey ^= 0x5a5a00;
  const uint32_t near = pair->near.qp->qp_num, far = pair->far.qp->qp_num;
  if (request_post(pair->near.qp, &request) == 0)
    observe_completion(pair->near.send_cq, "remote_access_error", near, far);
}

static void observe_flushed(const struct nic* nic, const struct pair* pair) {
  struct request request;
  request_make(nic, &request, IBV_WR_SEND, LENGTH);
  const uint32_t near = pair->near.qp->qp_num, far = pair->far.qp->qp_num;
  if (receive_post(nic, pair->near.qp, 64, RECEIVE_ID) != 0) return;
  if (request_post(pair->near.qp, &request) != 0 || qp_to_state(pair->near.qp, IBV_QPS_ERR) != 0) return;
  observe_completion(pair->near.send_cq, "flushed_send", near, far);
  observe_completion(pair->near.recv_cq, "flushed_receive", near, far);
}

/* Three completions of a queue pair that are not polled before it goes. */
static void observe_purge(const struct nic* nic, const struct pair* pair, bool at_destroy) {
  const char* const name = at_destroy ? "destroy" : "reset";
  struct request request;
  request_make(nic, &request, IBV_WR_SEND, LENGTH);
  for (unsigned i = 0; i < 3; ++i) {
    if (receive_post(nic, pair->far.qp, 64, RECEIVE_ID) != 0 || request_post(pair->near.qp, &request) != 0)
      return;
  }
  let_it_work();
  struct ibv_wc wc;
  if (!completion_wait(pair->near.send_cq, &wc, 1) || !completion_wait(pair->far.recv_cq, &wc, 1)) {
    observe_nothing("nothing completes", "purge.%s.sends_polled_later", name);
    return;
  }
  struct pair left = *pair;
  if (at_destroy) {
    if (ibv_destroy_qp(pair->near.qp) != 0 || ibv_destroy_qp(pair->far.qp) != 0) return;
  } else if (qp_to_state(pair->near.qp, IBV_QPS_RESET) != 0 ||
             qp_to_state(pair->far.qp, IBV_QPS_RESET) != 0) {
    return;
  }
  observe_number(completions_count(left.near.send_cq, 0.1), "purge.%s.sends_polled_later", name);
  observe_number(completions_count(left.far.recv_cq, 0.1), "purge.%s.receives_polled_later", name);
}

static void observe_purge_at_reset(const struct nic* nic, const struct pair* pair) {
  observe_purge(nic, pair, false);
}

void observe_completions(const struct nic* nic) {
  with_usual_pair(nic, observe_good);
  with_usual_pair(nic, observe_failed);
  with_usual_pair(nic, observe_flushed);
  with_usual_pair(nic, observe_purge_at_reset);
  const struct pair_options options = usual_options();
  struct pair pair;
  if (!pair_open(nic, &options, &pair)) return;
  observe_purge(nic, &pair, true);
  pair.near.qp = pair.far.qp = NULL;
  pair_close(&pair);
}
