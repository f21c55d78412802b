// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* Many operations of all kinds under way at once, verified one by one: what must hold whatever the network
 * does. */
#include <stdlib.h>
#include <string.h>

#include "meeting.h"
#include "scenarios.h"
#include "verdict.h"

/* Each WRITE has a place of its own; after these places lie the counter and the bytes for READs. */
enum { MESSAGES = 200, WINDOW = 16, PLACE = 6400, COUNTER = 520192, LONGEST_HERE = PLACE };

enum kind { SENT, WRITTEN, FETCHED, ADDED, ANNOUNCED, KINDS };

static enum kind kind_of(uint32_t i) {
  return (enum kind)(i % KINDS);
}

static const enum ibv_wr_opcode kOpcodes[KINDS] = {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
                                                   IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_RDMA_WRITE_WITH_IMM};

/* Both sides compute it. Not a multiple of anything. */
static uint32_t length_of(uint32_t i) {
  return kind_of(i) == ADDED ? 8 : i * 2654435761u % LONGEST_HERE;
}

static uint32_t place_of(uint32_t i) {
  return (i / KINDS * 2 + (kind_of(i) == WRITTEN)) * PLACE;
}

static void post_one(struct connection* c, uint32_t i) {
  const uint32_t ours = i % WINDOW * PLACE, landing = LANDING + ours;
  const bool fetches = kind_of(i) == FETCHED || kind_of(i) == ADDED;
  const uint32_t theirs = kind_of(i) == ADDED ? COUNTER : kind_of(i) == FETCHED ? LANDING + i : place_of(i);
  if (!fetches) fill(c->memory + ours, length_of(i), i);
  struct request request = make(c, kOpcodes[kind_of(i)], i, fetches ? landing : ours, length_of(i), theirs);
  if (kind_of(i) == ADDED) request.wr.wr.atomic.compare_add = 1;
  request.wr.imm_data = i;
  post(c, &request);
}

static void verify_fetched(struct connection* c, uint32_t i, uint64_t* added) {
  const uint8_t* landing = c->memory + LANDING + i % WINDOW * PLACE;
  if (kind_of(i) == FETCHED) must_hold(landing, LANDING + i, length_of(i), 0, "what was read");
  if (kind_of(i) == ADDED) {
    uint64_t before;
    memcpy(&before, landing, sizeof before);
    must(before == *added, "FETCH_ADD number %llu found %llu", (unsigned long long)*added,
         (unsigned long long)before);
    ++*added;
  }
}

/* Returns how many were carried out. */
static uint32_t run(struct connection* c, enum weather weather) {
  uint32_t posted = 0, done = 0;
  uint64_t added = 0;
  while (done < MESSAGES) {
    while (posted < MESSAGES && posted < done + WINDOW) post_one(c, posted++);
    const struct ibv_wc completion = next_sent(c);
    if (weather == DREADFUL && completion.status == IBV_WC_RETRY_EXC_ERR) {
      now("the rest of the queue after %s", ibv_wc_status_str(completion.status));
      must_complete(&completion, done, IBV_WC_RETRY_EXC_ERR);
      for (uint32_t i = done + 1; i < posted; i++) {
        const struct ibv_wc flushed = next_sent(c);
        must_complete(&flushed, i, IBV_WC_WR_FLUSH_ERR);
      }
      break;
    }
    must_complete(&completion, done, IBV_WC_SUCCESS);
    verify_fetched(c, done, &added);
    done++;
  }
  return done;
}

static void verify_received(struct connection* c, const struct ibv_wc* completion, uint32_t arrived) {
  /* The first of three kinds and the last of five are received. */
  const uint32_t i = arrived / 2 * KINDS + (arrived % 2 ? ANNOUNCED : SENT);
  must_complete(completion, arrived % RECEIVES, IBV_WC_SUCCESS);
  must(completion->byte_len == length_of(i), "message %u has %u bytes instead of %u", i, completion->byte_len,
       length_of(i));
  if (kind_of(i) == SENT) {
    must_hold(received(c, completion->wr_id), 0, length_of(i), i, "what was received");
  } else {
    must(completion->imm_data == i, "immediate %u of message %u", completion->imm_data, i);
    must_hold(c->memory + place_of(i), 0, length_of(i), i, "what was written");
  }
}

static uint32_t serve(struct connection* c) {
  struct ibv_wc completion;
  uint32_t arrived = 0;
  for (bool over = false; !over;) {
    over = peer_waits();
    while (comes_within(c->receive_cq, 0, &completion)) {
      verify_received(c, &completion, arrived);
      post_receive(c, arrived % RECEIVES, LONGEST_HERE);
      arrived++;
    }
  }
  return arrived;
}

static void verify_memory(struct connection* c, uint32_t done, uint32_t arrived) {
  uint64_t added = 0, counter;
  uint32_t announced = 0;
  for (uint32_t i = 0; i < done; i++) {
    added += kind_of(i) == ADDED;
    announced += kind_of(i) == SENT || kind_of(i) == ANNOUNCED;
    if (kind_of(i) == WRITTEN) must_hold(c->memory + place_of(i), 0, length_of(i), i, "what was written");
  }
  memcpy(&counter, c->memory + COUNTER, sizeof counter);
  const uint32_t uncertain = done < MESSAGES ? WINDOW : 0;
  must(counter >= added && counter <= added + uncertain, "%llu additions instead of %llu",
       (unsigned long long)counter, (unsigned long long)added);
  must(arrived >= announced && arrived <= announced + uncertain, "%u messages instead of %u", arrived,
       announced);
}

void play_stream(const struct settings* settings, enum weather weather) {
  struct connection c = join(settings, (struct wishes){0});
  memset(c.memory + COUNTER, 0, 8);
  if (!settings->is_client) {
    for (uint64_t i = 0; i < RECEIVES; i++) post_receive(&c, i, LONGEST_HERE);
  }
  in_step("may begin");
  now("a stream of %d messages", MESSAGES);
  uint32_t own = 0, theirs = 0;
  if (settings->is_client) {
    own = run(&c, weather);
  } else {
    own = serve(&c);
  }
  exchange(&own, &theirs, sizeof own);
  if (!settings->is_client) verify_memory(&c, theirs, own);
  now("%u of %d messages carried out", settings->is_client ? own : theirs, MESSAGES);
  part(&c);
}
