// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* What a responder must refuse, and what a requester makes of it. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "meeting.h"
#include "scenarios.h"
#include "verdict.h"

enum { REMOTE = 4096, SHORT_RECEIVE = 1500, LATE_US = 100000, FIRST = 1, SECOND = 2 };

struct refusal {
  const char* name;
  enum ibv_wr_opcode opcode;
  uint32_t length;
  int without_rights;       /* on the queue pair */
  bool locked_region;       /* on the memory region */
  uint32_t key_difference;  /* to the right key */
  int64_t place_difference; /* to a place that is right */
  enum ibv_wc_status status;
};

/* Missing rights on the queue pair and a crooked address are invalid requests, the rest is about the memory
 * (fact 30, 32). */
static const struct refusal kRefusals[] = {
    {"WRITE with a wrong key", IBV_WR_RDMA_WRITE, 5000, 0, false, 0x5a, 0, IBV_WC_REM_ACCESS_ERR},
    {"READ with a wrong key", IBV_WR_RDMA_READ, 5000, 0, false, 0x5a, 0, IBV_WC_REM_ACCESS_ERR},
    {"FETCH_ADD with a wrong key", IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 0, false, 0x5a, 0, IBV_WC_REM_ACCESS_ERR},
    {"WRITE beyond the region", IBV_WR_RDMA_WRITE, 5000, 0, false, 0, REGION - REMOTE - 4999,
     IBV_WC_REM_ACCESS_ERR},
    {"READ beyond the region", IBV_WR_RDMA_READ, 5000, 0, false, 0, REGION - REMOTE - 4999,
     IBV_WC_REM_ACCESS_ERR},
    {"WRITE before the region", IBV_WR_RDMA_WRITE, 5000, 0, false, 0, -REMOTE - 1, IBV_WC_REM_ACCESS_ERR},
    {"WRITE with immediate and a wrong key", IBV_WR_RDMA_WRITE_WITH_IMM, 5000, 0, false, 0x5a, 0,
     IBV_WC_REM_ACCESS_ERR},
    {"WRITE that the region forbids", IBV_WR_RDMA_WRITE, 5000, 0, true, 0, 0, IBV_WC_REM_ACCESS_ERR},
    {"READ that the region forbids", IBV_WR_RDMA_READ, 5000, 0, true, 0, 0, IBV_WC_REM_ACCESS_ERR},
    {"CMP_SWAP that the region forbids", IBV_WR_ATOMIC_CMP_AND_SWP, 8, 0, true, 0, 0, IBV_WC_REM_ACCESS_ERR},
    {"WRITE that the queue pair forbids", IBV_WR_RDMA_WRITE, 5000, IBV_ACCESS_REMOTE_WRITE, false, 0, 0,
     IBV_WC_REM_INV_REQ_ERR},
    {"READ that the queue pair forbids", IBV_WR_RDMA_READ, 100, IBV_ACCESS_REMOTE_READ, false, 0, 0,
     IBV_WC_REM_INV_REQ_ERR},
    {"FETCH_ADD that the queue pair forbids", IBV_WR_ATOMIC_FETCH_AND_ADD, 8, IBV_ACCESS_REMOTE_ATOMIC, false,
     0, 0, IBV_WC_REM_INV_REQ_ERR},
    {"FETCH_ADD at a crooked address", IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 0, false, 0, 4,
     IBV_WC_REM_INV_REQ_ERR},
};

static void refuse(const struct settings* settings, const struct refusal* refusal) {
  now("%s", refusal->name);
  struct connection c = join(settings, (struct wishes){.without_rights = refusal->without_rights,
                                                       .locked_region = refusal->locked_region});
  if (!settings->is_client) {
    for (uint64_t i = 0; i < 2; i++) post_receive(&c, i, LONGEST);
  }
  in_step("may send");
  if (settings->is_client) {
    fill(c.memory, refusal->length, 9);
    struct request request = make(&c, refusal->opcode, FIRST, 0, refusal->length, REMOTE);
    if (refusal->opcode == IBV_WR_RDMA_READ) request.sge.addr += LANDING;
    if (refusal->length == 8) {
      request.wr.wr.atomic.rkey ^= refusal->key_difference;
      request.wr.wr.atomic.remote_addr += (uint64_t)refusal->place_difference;
    } else {
      request.wr.wr.rdma.rkey ^= refusal->key_difference;
      request.wr.wr.rdma.remote_addr += (uint64_t)refusal->place_difference;
    }
    /* librxe has a look at an atomic's address before it takes the work request. */
    const bool is_crooked = refusal->place_difference % 8 != 0 && refusal->length == 8;
    if (!is_crooked || try_to_post(&c, &request) != EINVAL) {
      if (!is_crooked) post(&c, &request);
      struct request behind = make(&c, IBV_WR_SEND, SECOND, 0, 10, 0);
      post(&c, &behind);
      struct ibv_wc completion = next_sent(&c);
      must_complete(&completion, FIRST, refusal->status);
      completion = next_sent(&c);
      must_complete(&completion, SECOND, IBV_WC_WR_FLUSH_ERR);
    }
    must_hold(c.memory + LANDING, LANDING, refusal->length, 0,
              "memory that a refused READ had as its target");
  }
  in_step("refused");
  struct ibv_wc completion;
  if (!settings->is_client) {
    must_hold(c.memory, 0, REGION, 0, "memory that was not to be touched");
    while (comes_within(c.receive_cq, 0, &completion)) {
      must(completion.status != IBV_WC_SUCCESS, "the SEND after a refused request was received");
    }
  }
  part(&c);
}

void play_refusals(const struct settings* settings, enum weather weather) {
  (void)weather;
  for (unsigned i = 0; i < sizeof kRefusals / sizeof *kRefusals; i++) refuse(settings, &kRefusals[i]);
}

/* rdma_rxe calls it a remote operational error, others an invalid request (fact 33). */
void play_too_long(const struct settings* settings, enum weather weather) {
  (void)weather;
  for (uint32_t excess = 1; excess < 10000; excess += 5000) {
    now("a SEND of %u bytes too many", excess);
    struct connection c = join(settings, (struct wishes){0});
    if (!settings->is_client) {
      for (uint64_t i = 0; i < 2; i++) post_receive(&c, i, SHORT_RECEIVE);
    }
    in_step("may send");
    if (settings->is_client) {
      carry_out(&c, make(&c, IBV_WR_SEND, FIRST, 0, SHORT_RECEIVE, 0), IBV_WC_SUCCESS);
      struct request request = make(&c, IBV_WR_SEND, SECOND, 0, SHORT_RECEIVE + excess, 0);
      post(&c, &request);
      const struct ibv_wc completion = next_sent(&c);
      must(completion.status == IBV_WC_REM_INV_REQ_ERR || completion.status == IBV_WC_REM_OP_ERR,
           "it completed with %s", ibv_wc_status_str(completion.status));
      now("the client's %s", ibv_wc_status_str(completion.status));
    } else {
      struct ibv_wc completion = next_received(&c);
      must_complete(&completion, 0, IBV_WC_SUCCESS);
      must_hold(received(&c, 0), 0, SHORT_RECEIVE, 0, "what was received");
      completion = next_received(&c);
      must(completion.wr_id == 1, "receive %llu", (unsigned long long)completion.wr_id);
      must(completion.status == IBV_WC_LOC_LEN_ERR || completion.status == IBV_WC_LOC_QP_OP_ERR,
           "it completed with %s", ibv_wc_status_str(completion.status));
      now("the server's %s", ibv_wc_status_str(completion.status));
      for (uint32_t i = SHORT_RECEIVE; i < LONGEST; i++)
        must(received(&c, 1)[i] == 0, "a byte beyond the receive");
    }
    part(&c);
  }
}

static void late_receives(const struct settings* settings) {
  now("receives that come late");
  struct connection c = join(settings, (struct wishes){.rnr_timer = 20});
  if (settings->is_client) {
    fill(c.memory, 5000, 1);
    struct request first = make(&c, IBV_WR_SEND, 1, 0, 5000, 0);
    struct request second = make(&c, IBV_WR_RDMA_WRITE_WITH_IMM, 2, 0, 5000, REMOTE);
    struct request third = make(&c, IBV_WR_SEND, 3, 0, 0, 0);
    post(&c, &first);
    post(&c, &second);
    post(&c, &third);
    for (uint64_t i = 1; i <= 3; i++) {
      const struct ibv_wc completion = next_sent(&c);
      must_complete(&completion, i, IBV_WC_SUCCESS);
    }
  } else {
    for (uint64_t i = 0; i < 3; i++) {
      usleep(LATE_US);
      post_receive(&c, i, LONGEST);
      const struct ibv_wc completion = next_received(&c);
      must_complete(&completion, i, IBV_WC_SUCCESS);
    }
    must_hold(received(&c, 0), 0, 5000, 1, "what was received");
    must_hold(c.memory + REMOTE, 0, 5000, 1, "what was written");
  }
  part(&c);
}

static void no_receives(const struct settings* settings) {
  now("receives that never come");
  struct connection c = join(settings, (struct wishes){.rnr_timer = 14, .finite_rnr = true});
  if (settings->is_client) carry_out(&c, make(&c, IBV_WR_SEND, 1, 0, 100, 0), IBV_WC_RNR_RETRY_EXC_ERR);
  part(&c);
}

void play_rnr(const struct settings* settings, enum weather weather) {
  (void)weather;
  late_receives(settings);
  no_receives(settings);
}

void play_dead(const struct settings* settings, enum weather weather) {
  (void)weather;
  now("a peer whose queue pair is in error");
  struct settings impatient = *settings;
  impatient.retries = 2;
  static const enum ibv_wr_opcode kOpcodes[] = {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ};
  for (unsigned i = 0; i < sizeof kOpcodes / sizeof *kOpcodes; i++) {
    struct connection c = join(&impatient, (struct wishes){0});
    if (!settings->is_client) to_error(&c);
    in_step("dead");
    if (settings->is_client) {
      struct request request = make(&c, kOpcodes[i], FIRST, 0, 3000, REMOTE);
      struct request behind = make(&c, IBV_WR_SEND, SECOND, 0, 10, 0);
      post(&c, &request);
      post(&c, &behind);
      struct ibv_wc completion = next_sent(&c);
      must_complete(&completion, FIRST, IBV_WC_RETRY_EXC_ERR);
      completion = next_sent(&c);
      must_complete(&completion, SECOND, IBV_WC_WR_FLUSH_ERR);
    }
    part(&c);
  }
}
