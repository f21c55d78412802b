/* ATOMIC WRITE and FLUSH: what they do, and what a responder must refuse. rdma_rxe has had both since Linux 6.2.
 */
#include <string.h>

#include "meeting.h"
#include "scenarios.h"
#include "verdict.h"

#ifndef LIBIBVERBS_HAS_FLUSH

void play_newer_operations(const struct settings* settings, enum weather weather) {
  (void)settings;
  (void)weather;
  must(false, "the libibverbs that this was built with has no FLUSH: version 47 or newer is needed");
}

#else

enum { PLACE = 4096, LENGTH = 5000, ROUNDS = 100, NUMBER_BYTES = 8 };
static const uint64_t kBuilders = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_SEND |
                                  IBV_QP_EX_WITH_ATOMIC_WRITE | IBV_QP_EX_WITH_FLUSH;
static const struct wishes kUsual = {.builders = kBuilders, .more_rights = IBV_ACCESS_FLUSH_GLOBAL};

static struct ibv_qp_ex* begin(struct connection* c) {
  struct ibv_qp_ex* const qp = ibv_qp_to_qp_ex(c->qp);
  must(qp != NULL, "the queue pair has no builders");
  ibv_wr_start(qp);
  return qp;
}

static void flagged(struct ibv_qp_ex* qp, uint64_t wr_id) {
  qp->wr_id = wr_id;
  qp->wr_flags = IBV_SEND_SIGNALED;
}

static void sent(struct connection* c, uint64_t wr_id, enum ibv_wc_opcode opcode) {
  const struct ibv_wc completion = next_sent(c);
  must_complete(&completion, wr_id, IBV_WC_SUCCESS);
  must(completion.opcode == opcode, "request %llu completed as operation %d", (unsigned long long)wr_id,
       completion.opcode);
}

/* Eight bytes that are either there or not, and what a READ finds behind them. */
static void atomic_writes(const struct settings* settings) {
  now("ATOMIC WRITE");
  struct connection c = join(settings, kUsual);
  for (uint64_t round = 0; settings->is_client && round < ROUNDS; round++) {
    const uint64_t number = round * 0x0102030405060708u + 1;
    const uint32_t place = PLACE + NUMBER_BYTES * (uint32_t)round;
    struct ibv_qp_ex* const qp = begin(&c);
    flagged(qp, 1);
    ibv_wr_atomic_write(qp, c.peer.rkey, c.peer.address + place, &number);
    flagged(qp, 2);
    ibv_wr_rdma_read(qp, c.peer.rkey, c.peer.address + place);
    ibv_wr_set_sge(qp, c.mr->lkey, (uintptr_t)c.memory + LANDING, NUMBER_BYTES);
    must(ibv_wr_complete(qp) == 0, "cannot post an ATOMIC WRITE");
    sent(&c, 1, IBV_WC_ATOMIC_WRITE);
    sent(&c, 2, IBV_WC_RDMA_READ);
    uint64_t found;
    memcpy(&found, c.memory + LANDING, NUMBER_BYTES);
    must(found == number, "%llx was written, and %llx read", (unsigned long long)number,
         (unsigned long long)found);
  }
  in_step("written");
  part(&c);
}

/* Flushes complete in order, behind the WRITE whose bytes they are about. */
static void flushes(const struct settings* settings) {
  now("FLUSH");
  struct connection c = join(settings, kUsual);
  if (settings->is_client) {
    fill(c.memory, LENGTH, 1);
    struct ibv_qp_ex* const qp = begin(&c);
    flagged(qp, 1);
    ibv_wr_rdma_write(qp, c.peer.rkey, c.peer.address + PLACE);
    ibv_wr_set_sge(qp, c.mr->lkey, (uintptr_t)c.memory, LENGTH);
    flagged(qp, 2);
    ibv_wr_flush(qp, c.peer.rkey, c.peer.address + PLACE, LENGTH, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
    flagged(qp, 3);
    ibv_wr_flush(qp, c.peer.rkey, 0, 0, IBV_FLUSH_GLOBAL, IBV_FLUSH_MR);
    must(ibv_wr_complete(qp) == 0, "cannot post a FLUSH");
    sent(&c, 1, IBV_WC_RDMA_WRITE);
    sent(&c, 2, IBV_WC_FLUSH);
    sent(&c, 3, IBV_WC_FLUSH);
  }
  in_step("flushed");
  if (!settings->is_client) must_hold(c.memory + PLACE, 0, LENGTH, 1, "what was written and flushed");
  part(&c);
}

struct newer_refusal {
  const char* name;
  bool is_flush;
  int64_t place;
  uint32_t key_difference;
  int without_rights; /* on the queue pair */
  bool locked_region;
  enum ibv_wc_status status;
};

static const struct newer_refusal kRefusals[] = {
    {"ATOMIC WRITE with a wrong key", false, PLACE, 0x5a, 0, false, IBV_WC_REM_ACCESS_ERR},
    {"ATOMIC WRITE behind the region", false, REGION, 0, 0, false, IBV_WC_REM_ACCESS_ERR},
    {"ATOMIC WRITE that the region forbids", false, PLACE, 0, 0, true, IBV_WC_REM_ACCESS_ERR},
    {"ATOMIC WRITE that the queue pair forbids", false, PLACE, 0, IBV_ACCESS_REMOTE_WRITE, false,
     IBV_WC_REM_INV_REQ_ERR},
    {"ATOMIC WRITE at a crooked address", false, PLACE + 4, 0, 0, false, IBV_WC_REM_INV_REQ_ERR},
    {"FLUSH with a wrong key", true, PLACE, 0x5a, 0, false, IBV_WC_REM_ACCESS_ERR},
    {"FLUSH behind the region", true, REGION - LENGTH + 1, 0, 0, false, IBV_WC_REM_ACCESS_ERR},
    {"FLUSH that the region forbids", true, PLACE, 0, 0, true, IBV_WC_REM_ACCESS_ERR},
    {"FLUSH that the queue pair forbids", true, PLACE, 0, IBV_ACCESS_FLUSH_GLOBAL, false,
     IBV_WC_REM_INV_REQ_ERR},
};

static void refuse(const struct settings* settings, const struct newer_refusal* refusal) {
  now("%s", refusal->name);
  struct wishes wishes = kUsual;
  wishes.without_rights = refusal->without_rights;
  wishes.locked_region = refusal->locked_region;
  struct connection c = join(settings, wishes);
  if (settings->is_client) {
    const uint64_t number = 7, place = c.peer.address + (uint64_t)refusal->place;
    const uint32_t rkey = c.peer.rkey ^ refusal->key_difference;
    struct ibv_qp_ex* const qp = begin(&c);
    flagged(qp, 1);
    if (refusal->is_flush) {
      ibv_wr_flush(qp, rkey, place, LENGTH, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
    } else {
      ibv_wr_atomic_write(qp, rkey, place, &number);
    }
    must(ibv_wr_complete(qp) == 0, "cannot post it");
    const struct ibv_wc completion = next_sent(&c);
    must_complete(&completion, 1, refusal->status);
  }
  in_step("refused");
  if (!settings->is_client) must_hold(c.memory, 0, REGION, 0, "memory that was not to be touched");
  part(&c);
}

void play_newer_operations(const struct settings* settings, enum weather weather) {
  atomic_writes(settings);
  flushes(settings);
  if (weather != FAIR) return;
  for (unsigned i = 0; i < sizeof kRefusals / sizeof *kRefusals; i++) refuse(settings, &kRefusals[i]);
}

#endif
