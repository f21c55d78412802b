// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* Every operation of a reliable connection, at lengths around the path MTU. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "meeting.h"
#include "scenarios.h"
#include "verdict.h"

enum { REMOTE = 4096, COUNTER = 64, IMMEDIATE = 0x11223344, NEAR_WRAP = 0xfffffd, FENCE_MS = 2000 };

static uint32_t length_of(unsigned i, uint32_t mtu) {
  const uint32_t lengths[] = {0,   1,       2,       3,           5,           mtu - 1,
                              mtu, mtu + 1, 2 * mtu, 2 * mtu + 1, 4 * mtu + 3, 100000};
  return i < sizeof lengths / sizeof *lengths ? lengths[i] : UINT32_MAX;
}

static const struct {
  const char* name;
  enum ibv_wr_opcode opcode;
} kMessages[] = {{"SEND", IBV_WR_SEND},
                 {"SEND with immediate", IBV_WR_SEND_WITH_IMM},
                 {"WRITE", IBV_WR_RDMA_WRITE},
                 {"WRITE with immediate", IBV_WR_RDMA_WRITE_WITH_IMM},
                 {"READ", IBV_WR_RDMA_READ}};

static bool is_received(enum ibv_wr_opcode opcode) {
  return opcode != IBV_WR_RDMA_WRITE && opcode != IBV_WR_RDMA_READ;
}

static void give(struct connection* c, enum ibv_wr_opcode opcode, uint32_t length, uint32_t seed) {
  const bool fetches = opcode == IBV_WR_RDMA_READ;
  if (!fetches) fill(c->memory, length, seed);
  struct request request = make(c, opcode, seed, fetches ? LANDING : 0, length, REMOTE);
  request.wr.imm_data = htonl(IMMEDIATE + seed);
  carry_out(c, request, IBV_WC_SUCCESS);
  if (fetches) must_hold(c->memory + LANDING, 0, length, seed, "what was read");
}

static void take(struct connection* c, enum ibv_wr_opcode opcode, uint32_t length, uint32_t seed) {
  if (is_received(opcode)) {
    const struct ibv_wc completion = next_received(c);
    const bool written = opcode == IBV_WR_RDMA_WRITE_WITH_IMM, bare = opcode == IBV_WR_SEND;
    must_complete(&completion, seed % RECEIVES, IBV_WC_SUCCESS);
    must(completion.byte_len == length, "%u bytes received instead of %u", completion.byte_len, length);
    must(completion.opcode == (written ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV), "opcode %d",
         completion.opcode);
    must(!(completion.wc_flags & IBV_WC_WITH_IMM) == bare, "flags %x", completion.wc_flags);
    must(bare || ntohl(completion.imm_data) == IMMEDIATE + seed, "immediate %x", ntohl(completion.imm_data));
    if (!written) must_hold(received(c, seed % RECEIVES), 0, length, seed, "what was received");
  }
  in_step("sent");
  if (opcode == IBV_WR_RDMA_WRITE || opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
    must_hold(c->memory + REMOTE, 0, length, seed, "what was written");
    must(length == 0 || c->memory[REMOTE + length] == (uint8_t)~seed,
         "a byte after what was written has changed");
  }
}

static void messages(struct connection* c) {
  uint32_t seed = 1;
  for (unsigned i = 0; length_of(i, c->settings->path_mtu) != UINT32_MAX; i++) {
    const uint32_t length = length_of(i, c->settings->path_mtu);
    for (unsigned j = 0; j < sizeof kMessages / sizeof *kMessages; j++, seed++) {
      const enum ibv_wr_opcode opcode = kMessages[j].opcode;
      now("%s of %u bytes", kMessages[j].name, length);
      if (!c->settings->is_client) {
        if (is_received(opcode)) post_receive(c, seed % RECEIVES, LONGEST);
        if (opcode == IBV_WR_RDMA_READ) fill(c->memory + REMOTE, length, seed);
        if (opcode != IBV_WR_RDMA_READ) c->memory[REMOTE + length] = (uint8_t)~seed;
      }
      in_step("may send");
      if (c->settings->is_client) {
        give(c, opcode, length, seed);
        in_step("sent");
      } else {
        take(c, opcode, length, seed);
      }
    }
  }
}

static uint64_t word(const uint8_t* bytes) {
  uint64_t value;
  memcpy(&value, bytes, sizeof value);
  return value;
}

static void atomics(struct connection* c) {
  const uint64_t start = 0x1122334455667788, sum = start + 0x0102030405060708, swapped = 0xfedcba9876543210;
  now("atomics");
  if (!c->settings->is_client) memcpy(c->memory + COUNTER, &start, sizeof start);
  in_step("may begin");
  if (c->settings->is_client) {
    struct request add = make(c, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, LANDING, 8, COUNTER);
    add.wr.wr.atomic.compare_add = sum - start;
    carry_out(c, add, IBV_WC_SUCCESS);
    must(word(c->memory + LANDING) == start, "FETCH_ADD found %llx",
         (unsigned long long)word(c->memory + LANDING));
    for (int matches = 0; matches < 2; matches++) {
      struct request swap = make(c, IBV_WR_ATOMIC_CMP_AND_SWP, 2, LANDING, 8, COUNTER);
      swap.wr.wr.atomic.compare_add = matches ? sum : start;
      swap.wr.wr.atomic.swap = swapped;
      carry_out(c, swap, IBV_WC_SUCCESS);
      must(word(c->memory + LANDING) == sum, "CMP_SWAP found %llx",
           (unsigned long long)word(c->memory + LANDING));
    }
  }
  in_step("did atomics");
  if (!c->settings->is_client) must(word(c->memory + COUNTER) == swapped, "atomics left another number");
}

// All before the fence has completed. rdma_rxe may miss that, and goes on when it is given something more to
// do (tests/interop/README.md).
static void complete_fenced(struct connection* c, uint64_t wr_id) {
  struct ibv_wc completion = {0};
  const bool sleeps = !comes_within(c->send_cq, FENCE_MS, &completion);
  if (sleeps) {
    printf("slept at a fence\n");
    struct request nudge = make(c, IBV_WR_RDMA_WRITE, wr_id + 1, 0, 0, REMOTE);
    post(c, &nudge);
    completion = next_sent(c);
  }
  must_complete(&completion, wr_id, IBV_WC_SUCCESS);
  if (!sleeps) return;
  completion = next_sent(c);
  must_complete(&completion, wr_id + 1, IBV_WC_SUCCESS);
}

static void inline_and_fence(struct connection* c) {
  now("inline data, and a SEND with a fence after a READ");
  if (!c->settings->is_client) {
    for (uint64_t i = 0; i < 2; i++) post_receive(c, i, LONGEST);
  }
  in_step("may begin");
  if (c->settings->is_client) {
    fill(c->memory, 64, 7);
    struct request first = make(c, IBV_WR_SEND, 1, 0, 33, 0);
    first.wr.send_flags |= IBV_SEND_INLINE;
    post(c, &first);
    fill(c->memory, 64, 8);  // the inline data is a copy
    struct request fetch = make(c, IBV_WR_RDMA_READ, 2, LANDING, 5000, LANDING);
    post(c, &fetch);
    // Sends what the READ brings: it may not be read from memory earlier.
    struct request fenced = make(c, IBV_WR_SEND, 3, LANDING, 5000, 0);
    fenced.wr.send_flags |= IBV_SEND_FENCE;
    post(c, &fenced);
    for (uint64_t i = 1; i <= 2; i++) {
      const struct ibv_wc completion = next_sent(c);
      must_complete(&completion, i, IBV_WC_SUCCESS);
    }
    complete_fenced(c, 3);
  } else {
    for (uint64_t i = 0; i < 2; i++) {
      const struct ibv_wc completion = next_received(c);
      must_complete(&completion, i, IBV_WC_SUCCESS);
    }
    must_hold(received(c, 0), 0, 33, 7, "inline data");
    must_hold(received(c, 1), LANDING, 5000, 0, "what a READ brought");
  }
}

void play_operations(const struct settings* settings, enum weather weather) {
  (void)weather;
  struct connection connection = join(settings, (struct wishes){0});
  messages(&connection);
  atomics(&connection);
  part(&connection);
  connection = join(settings, (struct wishes){0});
  inline_and_fence(&connection);
  part(&connection);
}

void play_wrap(const struct settings* settings, enum weather weather) {
  (void)weather;
  struct connection connection = join(settings, (struct wishes){.first_psn = NEAR_WRAP});
  messages(&connection);
  part(&connection);
}
