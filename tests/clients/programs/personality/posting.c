// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* What posting says to requests that are wrong. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "observation.h"
#include "sections.h"

enum { MOST_ELEMENTS = 256 };

static struct ibv_sge* make_elements(const struct nic* nic, unsigned count) {
  static struct ibv_sge elements[MOST_ELEMENTS];
  if (count > MOST_ELEMENTS) return NULL;
  for (unsigned i = 0; i < count; ++i)
    elements[i] = (struct ibv_sge){.addr = (uintptr_t)nic->near, .length = 4, .lkey = nic->mr->lkey};
  return elements;
}

static void observe_elements(const struct nic* nic, const struct pair* pair) {
  struct request request;
  request_make(nic, &request, IBV_WR_RDMA_WRITE, 4);
  request.wr.num_sge = (int)pair->near.cap.max_send_sge + 1;
  request.wr.sg_list = make_elements(nic, pair->near.cap.max_send_sge + 1);
  if (request.wr.sg_list != NULL)
    observe_text(error_name(request_post(pair->near.qp, &request)), "post.send.too_many_elements");
  struct ibv_recv_wr receive = {.num_sge = (int)pair->far.cap.max_recv_sge + 1,
                                .sg_list = make_elements(nic, pair->far.cap.max_recv_sge + 1)};
  struct ibv_recv_wr* bad = NULL;
  if (receive.sg_list != NULL)
    observe_text(error_name(ibv_post_recv(pair->far.qp, &receive, &bad)), "post.receive.too_many_elements");
}

static void observe_srq_elements(const struct nic* nic, const struct pair* pair) {
  (void)pair;
  struct ibv_srq_init_attr init = {.attr = {.max_wr = 4, .max_sge = 1}};
  errno = 0;
  struct ibv_srq* const srq = ibv_create_srq(nic->pd, &init);
  if (srq == NULL) {
    static const char* const names[] = {"post.srq.too_many_elements", "room.srq.fit_is",
                                        "room.srq.errno_when_full"};
    for (size_t i = 0; i < 3; ++i) observe_nothing("there is no shared receive queue", "%s", names[i]);
    return;
  }
  struct ibv_recv_wr receive = {.num_sge = (int)init.attr.max_sge + 1,
                                .sg_list = make_elements(nic, init.attr.max_sge + 1)};
  struct ibv_recv_wr* bad = NULL;
  if (receive.sg_list != NULL)
    observe_text(error_name(ibv_post_srq_recv(srq, &receive, &bad)), "post.srq.too_many_elements");
  receive.num_sge = 1;
  unsigned count = 0;
  int error = 0;
  while (count < 2 * init.attr.max_wr && (error = ibv_post_srq_recv(srq, &receive, &bad)) == 0) ++count;
  observe_text(count == init.attr.max_wr  ? "granted"
               : count < init.attr.max_wr ? "less"
                                          : "more",
               "room.srq.fit_is");
  observe_text(error_name(error), "room.srq.errno_when_full");
  ibv_destroy_srq(srq);
}

static void observe_inline(const struct nic* nic, const struct pair* pair) {
  struct request request;
  request_make(nic, &request, IBV_WR_RDMA_WRITE, pair->near.cap.max_inline_data + 1);
  request.wr.send_flags = IBV_SEND_INLINE;
  observe_text(error_name(request_post(pair->near.qp, &request)), "post.send.inline_too_long");
}

static void observe_unknown_opcode(const struct nic* nic, const struct pair* pair) {
  struct request request;
  request_make(nic, &request, IBV_WR_RDMA_WRITE, 4);
  request.wr.opcode = (enum ibv_wr_opcode)99;
  observe_text(error_name(request_post(pair->near.qp, &request)), "post.send.unknown_opcode");
}

static void observe_atomic(const struct nic* nic, const struct pair* pair, uint32_t length,
                           unsigned misaligned, const char* name) {
  struct request request;
  request_make(nic, &request, IBV_WR_ATOMIC_FETCH_AND_ADD, length);
  request.wr.wr.atomic.remote_addr += misaligned;
  const int error = request_post(pair->near.qp, &request);
  observe_text(error_name(error), "post.atomic.%s", name);
  struct ibv_wc completion;
  if (error != 0)
    observe_nothing("it was refused", "post.atomic.%s_status", name);
  else if (completion_wait(pair->near.send_cq, &completion, 2))
    observe_text(status_name(completion.status), "post.atomic.%s_status", name);
  else
    observe_nothing("no completion came", "post.atomic.%s_status", name);
}

static void observe_atomics(const struct nic* nic, const struct pair* pair) {
  observe_atomic(nic, pair, 8, 0, "aligned");
}

static void observe_misaligned(const struct nic* nic, const struct pair* pair) {
  observe_atomic(nic, pair, 8, 4, "misaligned");
}

static void observe_short_atomic(const struct nic* nic, const struct pair* pair) {
  observe_atomic(nic, pair, 4, 0, "of_4_bytes");
}

/* The second of three requests is wrong. */
static void observe_list(const struct nic* nic, const struct pair* pair) {
  struct request requests[3];
  for (unsigned i = 0; i < 3; ++i) {
    request_make(nic, &requests[i], IBV_WR_RDMA_WRITE, 4);
    requests[i].wr.sg_list = &requests[i].element;
    requests[i].wr.next = i == 2 ? NULL : &requests[i + 1].wr;
  }
  requests[1].wr.num_sge = (int)pair->near.cap.max_send_sge + 1;
  requests[1].wr.sg_list = make_elements(nic, pair->near.cap.max_send_sge + 1);
  if (requests[1].wr.sg_list == NULL) return;
  struct ibv_send_wr* bad = NULL;
  ibv_post_send(pair->near.qp, &requests[0].wr, &bad);
  observe_bool(bad == &requests[1].wr, "post.list.bad_wr_is_the_wrong_one");
  observe_number(completions_count(pair->near.send_cq, 0.2), "post.list.completed");
}

static void observe_states(const struct nic* nic) {
  struct end end = {.send_cq = ibv_create_cq(nic->context, 16, NULL, NULL, 0)};
  end.recv_cq = end.send_cq;
  const struct ibv_qp_cap cap = {4, 4, 1, 1, 0};
  if (end.send_cq == NULL || end_create_qp(nic, &end, &cap) == NULL) return;
  struct request send;
  request_make(nic, &send, IBV_WR_SEND, 4);
  observe_text(error_name(request_post(end.qp, &send)), "post.send.in_reset");
  observe_text(error_name(receive_post(nic, end.qp, 64, 1)), "post.receive.in_reset");
  if (qp_to_init(end.qp, 0) == 0) {
    observe_text(error_name(request_post(end.qp, &send)), "post.send.in_init");
    observe_text(error_name(receive_post(nic, end.qp, 64, 1)), "post.receive.in_init");
  }
  ibv_destroy_qp(end.qp);
  ibv_destroy_cq(end.send_cq);
}

/* A queue pair in ERR takes requests, and flushes them. */
static void observe_in_err(const struct nic* nic, const struct pair* pair) {
  if (qp_to_state(pair->near.qp, IBV_QPS_ERR) != 0) return;
  struct request send;
  request_make(nic, &send, IBV_WR_SEND, 4);
  const int error = request_post(pair->near.qp, &send);
  observe_text(error_name(error), "post.send.in_err");
  struct ibv_wc completion;
  if (error == 0 && completion_wait(pair->near.send_cq, &completion, 1))
    observe_text(status_name(completion.status), "post.send.in_err_status");
}

void observe_posting(const struct nic* nic) {
  with_usual_pair(nic, observe_elements);
  with_usual_pair(nic, observe_srq_elements);
  with_usual_pair(nic, observe_inline);
  with_usual_pair(nic, observe_unknown_opcode);
  with_usual_pair(nic, observe_atomics);
  with_usual_pair(nic, observe_misaligned);
  with_usual_pair(nic, observe_short_atomic);
  with_usual_pair(nic, observe_list);
  with_usual_pair(nic, observe_in_err);
  observe_states(nic);
}
