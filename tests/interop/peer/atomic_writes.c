// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* ATOMIC WRITE: what it does, and what a responder must refuse. rdma_rxe has had it since Linux 6.2. */
#include <string.h>

#include "meeting.h"
#include "scenarios.h"
#include "verdict.h"

enum { PLACE = 4096, ROUNDS = 100, NUMBER_BYTES = 8 };
static const struct wishes kUsual = {.builders = IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_SEND |
                                                 IBV_QP_EX_WITH_ATOMIC_WRITE};

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

/* The eight bytes are either all there or not at all; a READ after them finds them. */
static void written_and_read(const struct settings* settings) {
  now("ATOMIC WRITEs and READs");
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

static const struct {
  const char* name;
  uint32_t place;
  uint32_t key_difference;
  int without_rights; /* on the queue pair */
  bool locked_region;
  enum ibv_wc_status status;
} kRefusals[] = {
    {"ATOMIC WRITE with a wrong key", PLACE, 0x5a, 0, false, IBV_WC_REM_ACCESS_ERR},
    {"ATOMIC WRITE beyond the region", REGION, 0, 0, false, IBV_WC_REM_ACCESS_ERR},
    {"ATOMIC WRITE that the region forbids", PLACE, 0, 0, true, IBV_WC_REM_ACCESS_ERR},
    {"ATOMIC WRITE that the queue pair forbids", PLACE, 0, IBV_ACCESS_REMOTE_WRITE, false,
     IBV_WC_REM_INV_REQ_ERR},
    {"ATOMIC WRITE at a crooked address", PLACE + 4, 0, 0, false, IBV_WC_REM_INV_REQ_ERR},
};

static void refuse(const struct settings* settings, unsigned which) {
  now("%s", kRefusals[which].name);
  struct wishes wishes = kUsual;
  wishes.without_rights = kRefusals[which].without_rights;
  wishes.locked_region = kRefusals[which].locked_region;
  struct connection c = join(settings, wishes);
  if (settings->is_client) {
    const uint64_t number = 7;
    struct ibv_qp_ex* const qp = begin(&c);
    flagged(qp, 1);
    ibv_wr_atomic_write(qp, c.peer.rkey ^ kRefusals[which].key_difference,
                        c.peer.address + kRefusals[which].place, &number);
    must(ibv_wr_complete(qp) == 0, "cannot post it");
    const struct ibv_wc completion = next_sent(&c);
    must_complete(&completion, 1, kRefusals[which].status);
  }
  in_step("refused");
  if (!settings->is_client) must_hold(c.memory, 0, REGION, 0, "memory that was not to be touched");
  part(&c);
}

void play_atomic_writes(const struct settings* settings, enum weather weather) {
  written_and_read(settings);
  if (weather != FAIR) return;
  for (unsigned i = 0; i < sizeof kRefusals / sizeof *kRefusals; i++) refuse(settings, i);
}
