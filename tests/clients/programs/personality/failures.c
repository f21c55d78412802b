// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* With which status and vendor's code requests fail, what else the queue pairs say, and how the two ends are
 * left. */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>

#include "../test_client.h"
#include "observation.h"
#include "sections.h"

enum { LENGTH = 64, EVENT_MS = 200 };

/* Asynchronous events of both queue pairs that come within EVENT_MS, as words of "near:NAME far:NAME"; others
 * are taken and forgotten. */
static void observe_events(const struct nic* nic, const struct pair* pair, const char* name) {
  char near[128] = "", far[128] = "";
  const double end = seconds_now() + EVENT_MS / 1000.0;
  struct pollfd watched = {.fd = nic->context->async_fd, .events = POLLIN};
  int left = EVENT_MS;
  while (left > 0 && poll(&watched, 1, left) == 1) {
    struct ibv_async_event event;
    if (ibv_get_async_event(nic->context, &event) != 0) break;
    const bool is_of_qp = event.event_type == IBV_EVENT_QP_FATAL ||
                          event.event_type == IBV_EVENT_QP_REQ_ERR ||
                          event.event_type == IBV_EVENT_QP_ACCESS_ERR;
    char* const text = !is_of_qp                           ? NULL
                       : event.element.qp == pair->near.qp ? near
                       : event.element.qp == pair->far.qp  ? far
                                                           : NULL;
    if (text != NULL && strlen(text) < 64) {
      if (*text != '\0') strcat(text, " ");
      strcat(text, event_name(event.event_type));
    }
    ibv_ack_async_event(&event);
    left = (int)((end - seconds_now()) * 1000);
  }
  observe_text(*near == '\0' ? "none" : near, "event.%s.near", name);
  observe_text(*far == '\0' ? "none" : far, "event.%s.far", name);
}

/* Events of queue pairs that are gone, whose addresses may come back. */
static void forget_events(const struct nic* nic) {
  struct pollfd watched = {.fd = nic->context->async_fd, .events = POLLIN};
  struct ibv_async_event event;
  while (poll(&watched, 1, 0) == 1 && ibv_get_async_event(nic->context, &event) == 0)
    ibv_ack_async_event(&event);
}

static void observe_outcome(struct ibv_cq* cq, const char* name) {
  struct ibv_wc wc;
  const double start = seconds_now();
  if (!completion_wait(cq, &wc, 8)) {
    observe_nothing("no completion came", "fail.%s.status", name);
    observe_nothing("no completion came", "fail.%s.vendor_err", name);
    return;
  }
  observe_number((uint64_t)((seconds_now() - start) * 1000), "fail.%s.ms", name);
  observe_text(status_name(wc.status), "fail.%s.status", name);
  observe_number(wc.vendor_err, "fail.%s.vendor_err", name);
}

/* Spoils a request, or what it needs. `extra` is a region that is deregistered afterwards. */
struct failure {
  const char* name;
  enum ibv_wr_opcode opcode;
  int far_rights; /* as in pair_options */
  void (*spoil)(const struct nic* nic, struct request* request, struct ibv_mr** extra);
};

static struct ibv_mr* register_part(const struct nic* nic, uint8_t* start, size_t bytes, int rights) {
  return ibv_reg_mr(nic->pd, start, bytes, rights);
}

static void unknown_lkey(const struct nic* nic, struct request* request, struct ibv_mr** extra) {
  (void)nic, (void)extra;
  request->element.lkey ^= 0x5a5a00;
}

static void element_beyond(const struct nic* nic, struct request* request, struct ibv_mr** extra) {
  *extra = register_part(nic, nic->near, 4096, IBV_ACCESS_LOCAL_WRITE);
  if (*extra == NULL) return;
  request->element = (struct ibv_sge){(uintptr_t)nic->near + 4096 - 8, LENGTH, (*extra)->lkey};
}

static void no_local_write(const struct nic* nic, struct request* request, struct ibv_mr** extra) {
  *extra = register_part(nic, nic->near, 4096, 0);
  if (*extra != NULL) request->element.lkey = (*extra)->lkey;
}

static void unknown_rkey(const struct nic* nic, struct request* request, struct ibv_mr** extra) {
  (void)nic, (void)extra;
  request->wr.wr.rdma.rkey ^= 0x5a5a00;
}

static void out_of_bounds(const struct nic* nic, struct request* request, struct ibv_mr** extra) {
  (void)extra;
  request->wr.wr.rdma.remote_addr = (uintptr_t)nic->far + HALF + 65536;
}

static void no_remote_right(const struct nic* nic, struct request* request, struct ibv_mr** extra) {
  *extra = register_part(nic, nic->far, 4096, IBV_ACCESS_LOCAL_WRITE);
  if (*extra != NULL) request->wr.wr.rdma.rkey = (*extra)->rkey;
}

static void nothing(const struct nic* nic, struct request* request, struct ibv_mr** extra) {
  (void)nic, (void)request, (void)extra;
}

static const struct failure failures[] = {
    {"unknown_lkey", IBV_WR_RDMA_WRITE, 0, unknown_lkey},
    {"element_beyond_its_region", IBV_WR_RDMA_WRITE, 0, element_beyond},
    {"read_into_region_without_local_write", IBV_WR_RDMA_READ, 0, no_local_write},
    {"right_of_queue_pair_missing", IBV_WR_RDMA_WRITE, -1, nothing},
    {"right_of_region_missing", IBV_WR_RDMA_WRITE, 0, no_remote_right},
    {"unknown_rkey", IBV_WR_RDMA_WRITE, 0, unknown_rkey},
    {"remote_address_beyond", IBV_WR_RDMA_WRITE, 0, out_of_bounds},
};

static void observe_failure(const struct nic* nic, const struct failure* failure) {
  struct pair_options options = usual_options();
  options.far_rights = failure->far_rights;
  forget_events(nic);
  struct pair pair;
  if (!pair_open(nic, &options, &pair)) return;
  struct ibv_mr* extra = NULL;
  struct request request;
  request_make(nic, &request, failure->opcode, LENGTH);
  failure->spoil(nic, &request, &extra);
  const int error = request_post(pair.near.qp, &request);
  if (error == 0)
    observe_outcome(pair.near.send_cq, failure->name);
  else
    observe_nothing("the post was refused", "fail.%s.status", failure->name);
  observe_events(nic, &pair, failure->name);
  observe_text(state_name(qp_state(pair.near.qp)), "state.%s.near", failure->name);
  observe_text(state_name(qp_state(pair.far.qp)), "state.%s.far", failure->name);
  pair_close(&pair);
  if (extra != NULL) ibv_dereg_mr(extra);
}

/* The peer has no receive. */
static void observe_rnr(const struct nic* nic) {
  struct pair_options options = usual_options();
  options.rnr_retry = 0;
  struct pair pair;
  if (!pair_open(nic, &options, &pair)) return;
  struct request request;
  request_make(nic, &request, IBV_WR_SEND, LENGTH);
  if (request_post(pair.near.qp, &request) == 0) observe_outcome(pair.near.send_cq, "receiver_not_ready");
  observe_text(state_name(qp_state(pair.far.qp)), "state.receiver_not_ready.far");
  pair_close(&pair);
}

static void observe_too_long(const struct nic* nic) {
  const struct pair_options options = usual_options();
  forget_events(nic);
  struct pair pair;
  if (!pair_open(nic, &options, &pair)) return;
  struct request request;
  request_make(nic, &request, IBV_WR_SEND, LENGTH);
  if (receive_post(nic, pair.far.qp, LENGTH / 2, 1) == 0 && request_post(pair.near.qp, &request) == 0) {
    observe_outcome(pair.near.send_cq, "send_too_long");
    observe_outcome(pair.far.recv_cq, "receive_too_short");
  }
  observe_events(nic, &pair, "send_too_long");
  pair_close(&pair);
}

/* Requests that wait for the peer's receive when their queue pair goes to ERR: the first of them, the second,
 * and the receives. Then the same, where none asked for a completion. */
static void observe_flush(const struct nic* nic, bool is_signaled) {
  const struct pair_options options = usual_options();
  struct pair pair;
  if (!pair_open(nic, &options, &pair)) return;
  struct request request;
  request_make(nic, &request, IBV_WR_SEND, LENGTH);
  request.wr.send_flags = is_signaled ? IBV_SEND_SIGNALED : 0;
  bool is_posted = true;
  for (unsigned i = 0; i < 3; ++i) is_posted = is_posted && request_post(pair.near.qp, &request) == 0;
  for (unsigned i = 0; i < 2; ++i) is_posted = is_posted && receive_post(nic, pair.near.qp, LENGTH, i) == 0;
  if (is_posted && qp_to_state(pair.near.qp, IBV_QPS_ERR) == 0 && is_signaled) {
    observe_outcome(pair.near.send_cq, "flush_first");
    observe_outcome(pair.near.send_cq, "flush_second");
    observe_outcome(pair.near.recv_cq, "flush_receive_first");
    observe_outcome(pair.near.recv_cq, "flush_receive_second");
  } else if (is_posted && !is_signaled) {
    observe_number(completions_count(pair.near.send_cq, 0.2), "flush.unsignaled_of_3");
  }
  pair_close(&pair);
}

/* A failing request, a signaled one after it, and a receive. */
static void observe_flush_after_failure(const struct nic* nic) {
  const struct pair_options options = usual_options();
  struct pair pair;
  if (!pair_open(nic, &options, &pair)) return;
  struct request request;
  request_make(nic, &request, IBV_WR_RDMA_WRITE, LENGTH);
  request.wr.wr.rdma.rkey ^= 0x5a5a00;
  request.wr.send_flags = 0;
  struct request next;
  request_make(nic, &next, IBV_WR_RDMA_WRITE, LENGTH);
  next.wr.wr_id = 2;
  request.wr.sg_list = &request.element;
  next.wr.sg_list = &next.element;
  request.wr.next = &next.wr;
  if (receive_post(nic, pair.near.qp, LENGTH, 3) == 0 && request_post(pair.near.qp, &request) == 0) {
    observe_outcome(pair.near.send_cq, "unsignaled");
    observe_outcome(pair.near.send_cq, "flush_after_failure");
    observe_outcome(pair.near.recv_cq, "flush_receive_after_failure");
  }
  pair_close(&pair);
}

/* A responder in RTR works; one in RESET, INIT or ERR says nothing, see timing.c. */
static void observe_responder_in_rtr(const struct nic* nic) {
  struct pair_options options = usual_options();
  options.far_state = IBV_QPS_RTR;
  struct pair pair;
  if (!pair_open(nic, &options, &pair)) return;
  struct request request;
  request_make(nic, &request, IBV_WR_RDMA_WRITE, LENGTH);
  if (request_post(pair.near.qp, &request) == 0) observe_outcome(pair.near.send_cq, "responder_in_rtr");
  pair_close(&pair);
}

/* The last entry of the GID table, if it is empty. */
static void observe_empty_gid(const struct nic* nic) {
  union ibv_gid gid;
  const int last = nic->port.gid_tbl_len - 1;
  static const union ibv_gid empty;
  if (last > 255 || ibv_query_gid(nic->context, 1, last, &gid) != 0 ||
      memcmp(&gid, &empty, sizeof gid) != 0) {
    observe_nothing("no empty entry has an index of 8 bits", "modify.rtr_with_empty_gid");
    return;
  }
  struct nic other = *nic;
  other.gid_index = (uint8_t)last;
  struct pair pair;
  struct pair_options options = usual_options();
  errno = 0;
  const bool is_open = pair_open(&other, &options, &pair);
  observe_text(is_open ? "ok" : error_name(errno), "modify.rtr_with_empty_gid");
  if (is_open) pair_close(&pair);
}

void observe_failures(const struct nic* nic) {
  for (size_t i = 0; i < sizeof failures / sizeof *failures; ++i) observe_failure(nic, &failures[i]);
  observe_rnr(nic);
  observe_too_long(nic);
  observe_flush(nic, true);
  observe_flush(nic, false);
  observe_flush_after_failure(nic);
  observe_responder_in_rtr(nic);
  observe_empty_gid(nic);
}
