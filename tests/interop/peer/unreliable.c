// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* Unreliable connections and datagrams: what arrives is whole and in order; in fair weather everything
 * arrives. */
#include <arpa/inet.h>
#include <string.h>

#include "meeting.h"
#include "scenarios.h"
#include "verdict.h"

enum { BATCHES = 8, BATCH = 8, QUIET_MS = 300, WRITE_PLACE = 16384, WRONG_QKEY = 0x2222 };

static uint32_t length_of(uint32_t i, const struct connection* c) {
  const uint32_t mtu = c->settings->path_mtu;
  const uint32_t lengths[] = {1, mtu, 0, mtu - 1, 3, mtu + 1, 2 * mtu, 3 * mtu + 2};
  const uint32_t length = lengths[i % (sizeof lengths / sizeof *lengths)];
  return c->qp->qp_type == IBV_QPT_UD && length > mtu ? length % mtu + 5 : length;
}

static bool is_written(uint32_t i, const struct connection* c) {
  return c->qp->qp_type == IBV_QPT_UC && i % 3 == 2;
}

static void send_batch(struct connection* c, uint32_t first) {
  for (uint32_t i = first; i < first + BATCH; i++) {
    const uint32_t place = i % BATCH * WRITE_PLACE;
    fill(c->memory + place, length_of(i, c), i);
    struct request request = make(c, is_written(i, c) ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_SEND_WITH_IMM, i,
                                  place, length_of(i, c), place);
    request.wr.imm_data = htonl(i);
    carry_out(c, request, IBV_WC_SUCCESS);
  }
}

static void verify_grh(const struct connection* c, const struct ibv_wc* completion, const uint8_t* grh) {
  must(completion->wc_flags & IBV_WC_GRH, "no GRH flag");
  must(completion->src_qp == c->peer.qp_number, "from queue pair %x", completion->src_qp);
  const uint8_t* gid = c->peer.gid.raw;
  static const uint8_t kMapped[12] = {[10] = 0xff, [11] = 0xff};
  if (memcmp(gid, kMapped, sizeof kMapped) == 0) {
    must(grh[20] >> 4 == 4 && memcmp(grh + 32, gid + 12, 4) == 0, "no IPv4 header of the peer in front");
  } else {
    must(grh[0] >> 4 == 6 && memcmp(grh + 8, gid, 16) == 0, "no IPv6 header of the peer in front");
  }
}

static void verify(struct connection* c, const struct ibv_wc* completion, uint32_t i) {
  const uint32_t grh = c->qp->qp_type == IBV_QPT_UD ? GRH : 0;
  const uint8_t* bytes = received(c, completion->wr_id);
  must(completion->status == IBV_WC_SUCCESS, "received with %s", ibv_wc_status_str(completion->status));
  must(completion->byte_len == length_of(i, c) + grh, "message %u has %u bytes", i, completion->byte_len);
  if (is_written(i, c)) {
    must_hold(c->memory + i % BATCH * WRITE_PLACE, 0, length_of(i, c), i, "what was written");
  } else {
    must_hold(bytes + grh, 0, length_of(i, c), i, "what was received");
  }
  if (grh) verify_grh(c, completion, bytes);
}

static uint32_t take_batch(struct connection* c, uint32_t first, enum weather weather) {
  uint32_t count = 0, next = first;
  struct ibv_wc completion;
  while (next < first + BATCH && (weather == FAIR || comes_within(c->receive_cq, QUIET_MS, &completion))) {
    if (weather == FAIR) completion = next_received(c);
    const uint32_t i = ntohl(completion.imm_data);
    must(weather != FAIR || i == next, "message %u when %u was expected", i, next);
    /* In foul weather messages overtake each other and come twice. What was WRITTEN may be overwritten by
     * then. */
    if (i >= next || !is_written(i, c)) verify(c, &completion, i);
    post_receive(c, completion.wr_id, LONGEST);
    if (i < next) continue;
    must(i < first + BATCH, "message %u of a later batch", i);
    next = i + 1;
    count++;
  }
  return count;
}

static void converse(const struct settings* settings, enum weather weather, enum ibv_qp_type type) {
  struct connection c = join(settings, (struct wishes){.type = type});
  uint32_t arrived = 0;
  for (uint64_t i = 0; !settings->is_client && i < RECEIVES; i++) post_receive(&c, i, LONGEST);
  now("%d messages", BATCHES * BATCH);
  for (uint32_t batch = 0; batch < BATCHES; batch++) {
    in_step("next batch");
    if (settings->is_client) {
      send_batch(&c, batch * BATCH);
    } else {
      arrived += take_batch(&c, batch * BATCH, weather);
    }
  }
  in_step("all sent");
  if (!settings->is_client) {
    now("%u of %d messages arrived", arrived, BATCHES * BATCH);
    /* rdma_rxe of Linux 6.1 drops whole messages when one that is not complete is followed by a new one. */
    must(arrived >= BATCHES * BATCH / (weather == FAIR ? 1 : 16), "too few");
  }
  if (type == IBV_QPT_UD && weather == FAIR) {
    now("a datagram with a wrong Q_Key, and then one with the right Q_Key");
    if (settings->is_client) {
      struct request request = make(&c, IBV_WR_SEND, 1, 0, 10, 0);
      request.wr.wr.ud.remote_qkey = WRONG_QKEY;
      carry_out(&c, request, IBV_WC_SUCCESS);
      request = make(&c, IBV_WR_SEND, 2, 0, 20, 0);
      carry_out(&c, request, IBV_WC_SUCCESS);
    } else {
      const struct ibv_wc completion = next_received(&c);
      must(completion.byte_len == 20 + GRH, "%u bytes", completion.byte_len);
    }
  }
  part(&c);
}

void play_unreliable(const struct settings* settings, enum weather weather) {
  converse(settings, weather, IBV_QPT_UC);
}

void play_datagrams(const struct settings* settings, enum weather weather) {
  converse(settings, weather, IBV_QPT_UD);
}
