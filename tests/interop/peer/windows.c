// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* Memory windows of both types, and three ways to take them away: rebinding, SEND with invalidate, LOCAL_INV.
 */
#include <string.h>

#include "meeting.h"
#include "scenarios.h"
#include "verdict.h"

/* rdma_rxe of Linux 6.1 hands its programs the kernel's flag, which libibverbs knows as another one
 * (IBV_WC_IP_CSUM_OK). */
enum { KERNELS_WITH_INVALIDATE = 1 << 2 };

enum { OPENING = 8192, OPENING_BYTES = 16384, INSIDE = OPENING + 100, LENGTH = 5000 };

/* The client tries the window's key: bytes inside it, of the server's memory. */
static void through(struct connection* c, uint32_t rkey, uint32_t seed) {
  fill(c->memory, LENGTH, seed);
  struct request request = make(c, IBV_WR_RDMA_WRITE, seed, 0, LENGTH, INSIDE);
  request.wr.wr.rdma.rkey = rkey;
  carry_out(c, request, IBV_WC_SUCCESS);
  request = make(c, IBV_WR_RDMA_READ, seed, LANDING, LENGTH, INSIDE);
  request.wr.wr.rdma.rkey = rkey;
  carry_out(c, request, IBV_WC_SUCCESS);
  must_hold(c->memory + LANDING, 0, LENGTH, seed, "what was read through the window");
}

static void refused(struct connection* c, uint32_t rkey, uint32_t remote) {
  struct request request = make(c, IBV_WR_RDMA_WRITE, 99, 0, LENGTH, remote);
  request.wr.wr.rdma.rkey = rkey;
  carry_out(c, request, IBV_WC_REM_ACCESS_ERR);
}

static struct ibv_mw_bind_info opening(const struct connection* c) {
  return (struct ibv_mw_bind_info){.mr = c->mr,
                                   .addr = (uintptr_t)c->memory + OPENING,
                                   .length = OPENING_BYTES,
                                   .mw_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ};
}

static struct ibv_mw* new_window(struct connection* c, enum ibv_mw_type type) {
  struct ibv_mw* window = ibv_alloc_mw(c->pd, type);
  must(window != NULL, "cannot allocate a window");
  return window;
}

/* The request names the window by the key that it has, and the one that it is to have. */
static void bind_type_2(struct connection* c, struct ibv_mw* window) {
  const uint32_t rkey = ibv_inc_rkey(window->rkey);
  struct request request = {.wr = {.wr_id = 1,
                                   .opcode = IBV_WR_BIND_MW,
                                   .send_flags = IBV_SEND_SIGNALED,
                                   .bind_mw = {.mw = window, .rkey = rkey, .bind_info = opening(c)}}};
  carry_out(c, request, IBV_WC_SUCCESS);
  window->rkey = rkey;
}

static uint32_t bind_type_1(struct connection* c, struct ibv_mw* window) {
  struct ibv_mw_bind bind = {.wr_id = 2, .send_flags = IBV_SEND_SIGNALED, .bind_info = opening(c)};
  must(ibv_bind_mw(c->qp, window, &bind) == 0, "cannot bind a window");
  const struct ibv_wc completion = next_sent(c);
  must_complete(&completion, 2, IBV_WC_SUCCESS);
  return window->rkey;
}

static uint32_t tell_key(uint32_t rkey) {
  uint32_t theirs = 0;
  exchange(&rkey, &theirs, sizeof rkey);
  return theirs;
}

static void invalidated_by_peer(const struct settings* settings) {
  now("a window that the peer invalidates");
  struct connection c = join(settings, (struct wishes){.window = true});
  struct ibv_mw* window = NULL;
  if (!settings->is_client) {
    window = new_window(&c, IBV_MW_TYPE_2);
    bind_type_2(&c, window);
    post_receive(&c, 0, LONGEST);
  }
  const uint32_t rkey = tell_key(window ? window->rkey : 0);
  if (settings->is_client) {
    through(&c, rkey, 3);
    struct request request = make(&c, IBV_WR_SEND_WITH_INV, 5, 0, 10, 0);
    request.wr.invalidate_rkey = rkey;
    carry_out(&c, request, IBV_WC_SUCCESS);
    refused(&c, rkey, INSIDE);
  } else {
    const struct ibv_wc completion = next_received(&c);
    must_complete(&completion, 0, IBV_WC_SUCCESS);
    must(completion.wc_flags & (IBV_WC_WITH_INV | KERNELS_WITH_INVALIDATE), "no flag of invalidation: %x",
         completion.wc_flags);
    must(completion.invalidated_rkey == window->rkey, "key %x invalidated", completion.invalidated_rkey);
  }
  in_step("refused");
  if (window) {
    must_hold(c.memory + INSIDE, 0, LENGTH, 3, "what was written through the window");
    must(ibv_dealloc_mw(window) == 0, "cannot free the window");
  }
  part(&c);
}

static void invalidated_by_owner(const struct settings* settings) {
  now("a window that its owner invalidates");
  struct connection c = join(settings, (struct wishes){.window = true});
  struct ibv_mw* window = NULL;
  if (!settings->is_client) {
    window = new_window(&c, IBV_MW_TYPE_2);
    bind_type_2(&c, window);
  }
  const uint32_t rkey = tell_key(window ? window->rkey : 0);
  if (settings->is_client) through(&c, rkey, 4);
  in_step("used");
  if (!settings->is_client) {
    struct request request = {.wr = {.wr_id = 7,
                                     .opcode = IBV_WR_LOCAL_INV,
                                     .send_flags = IBV_SEND_SIGNALED,
                                     .invalidate_rkey = window->rkey}};
    carry_out(&c, request, IBV_WC_SUCCESS);
  }
  in_step("invalidated");
  if (settings->is_client) refused(&c, rkey, INSIDE);
  in_step("refused");
  if (window) must(ibv_dealloc_mw(window) == 0, "cannot free the window");
  part(&c);
}

static void rebound(const struct settings* settings) {
  now("a window of type 1 that is bound again");
  struct connection c = join(settings, (struct wishes){.window = true});
  struct ibv_mw* window = settings->is_client ? NULL : new_window(&c, IBV_MW_TYPE_1);
  for (uint32_t round = 0; round < 2; round++) {
    const uint32_t rkey = tell_key(window ? bind_type_1(&c, window) : 0);
    if (settings->is_client) through(&c, rkey, 5 + round);
    in_step("used");
  }
  in_step("refused");
  if (window) must(ibv_dealloc_mw(window) == 0, "cannot free the window");
  part(&c);
}

/* False if the server is rdma_rxe: in Linux 6.1 it checks the bounds of the region, not of the window. */
static bool knows_bounds(const struct settings* settings) {
  const uint32_t own = strncmp(settings->device, "rxe", 3) != 0, theirs = tell_key(own);
  return settings->is_client ? theirs : own;
}

static void outside(const struct settings* settings) {
  if (!knows_bounds(settings)) return;
  now("memory outside the window");
  struct connection c = join(settings, (struct wishes){.window = true});
  struct ibv_mw* window = NULL;
  if (!settings->is_client) {
    window = new_window(&c, IBV_MW_TYPE_2);
    bind_type_2(&c, window);
  }
  const uint32_t rkey = tell_key(window ? window->rkey : 0);
  if (settings->is_client) refused(&c, rkey, OPENING + OPENING_BYTES - LENGTH + 1);
  in_step("refused");
  if (window) {
    must_hold(c.memory, 0, LANDING, 0, "memory that the peer was not allowed to write");
    must(ibv_dealloc_mw(window) == 0, "cannot free the window");
  }
  part(&c);
}

void play_windows(const struct settings* settings, enum weather weather) {
  (void)weather;
  invalidated_by_peer(settings);
  invalidated_by_owner(settings);
  rebound(settings);
  outside(settings);
}
