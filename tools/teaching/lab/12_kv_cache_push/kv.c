// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Prefill computes a KV cache, decode goes on with it: the cache has to get from one to the other. Decode
// then sends its first token back: a checksum of the whole cache.
//
//   urnic run -- ./kv CASE                decode; cases: pieces, gathered, last, counted, pull
//   urnic run -- ./kv localhost CASE      prefill
#include "kv.h"

#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "meet.h"

struct token {
  uint32_t checksum, pages;  // of the cache; how many pages decode knew to be there
};

// The memory of both.
enum {
  TOKEN = CACHE,
  OTHER = TOKEN + sizeof(struct token),  // the cache of another prompt
  OTHER_BYTES = 2 << 20,
  ALL = OTHER + OTHER_BYTES,
  ACCESS = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ
};

static uint32_t* words_at(const struct end* end, size_t offset) {
  return (uint32_t*)(end->memory + offset);
}

static void compute_cache(struct end* end) {
  for (int layer = 0; layer < LAYERS; layer++)
    for (int page = 0; page < PAGES; page++)
      for (int i = 0; i < PIECE / 4; i++)
        words_at(end, piece_at_prefill(layer, page))[i] =
            (uint32_t)(layer << 24 | page << 16 | i) * 2654435761u;
}

// --- push: prefill writes ---

// Each piece by a WRITE of its own; the WRITE of the last layer has the immediate.
static void push_pieces(struct end* end) {
  for (int page = 0; page < PAGES; page++) {
    for (int layer = 0; layer < LAYERS; layer++) {
      struct ibv_sge part = end_part(end, piece_at_prefill(layer, page), PIECE);
      struct ibv_send_wr write = end_write_request(end, (uint64_t)page, &part, piece_at_decode(layer, page));
      write.send_flags = 0;
      if (layer == LAYERS - 1) {
        write.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
        write.imm_data = htonl((uint32_t)page);
        write.send_flags = IBV_SEND_SIGNALED;
      }
      end_post(end, &write);
    }
  }
}

// Each page by one WRITE: with two ways page 0 over the first one, page 1 over the second one, and so on. The
// first way has the cache of another prompt to carry before.
static void push_pages(struct end* ways, int count) {
  struct ibv_sge other = end_part(&ways[0], OTHER, OTHER_BYTES);
  struct ibv_send_wr busy = end_write_request(&ways[0], 0, &other, OTHER);
  busy.send_flags = 0;
  if (count == 2) end_post(&ways[0], &busy);
  for (int page = 0; page < PAGES; page++) {
    struct ibv_sge parts[LAYERS];
    struct end* way = &ways[page % count];
    struct ibv_send_wr write = end_write_request(way, (uint64_t)page, parts, piece_at_decode(0, page));
    write.num_sge = gather(way, page, parts);
    write.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    write.imm_data = htonl((uint32_t)page);
    end_post(way, &write);
  }
}

static int is_last_page(int page, int arrived) {
  (void)arrived;
  return page == PAGES - 1;
}

// How many pages are there when decode begins.
static int wait_for_pages(struct end* end, int (*is_enough)(int page, int arrived)) {
  for (int arrived = 1; arrived <= PAGES; arrived++) {
    const int page = (int)ntohl(end_wait_for_success(end).imm_data);
    if (is_enough(page, arrived)) return arrived;
  }
  fail("GAP 2: %d pages are there, and may_decode() still says no", PAGES);
}

// --- pull: decode reads ---

static int pull(struct end* end) {
  end_wait_for_success(end);  // prefill says that the pages are there
  for (int page = 0; page < PAGES; page++) {
    for (int layer = 0; layer < LAYERS; layer++) {
      struct ibv_sge part = end_part(end, piece_at_decode(layer, page), PIECE);
      struct ibv_send_wr read = end_write_request(end, (uint64_t)page, &part, piece_at_prefill(layer, page));
      read.opcode = IBV_WR_RDMA_READ;
      end_post(end, &read);
    }
  }
  for (int i = 0; i < PAGES * LAYERS; i++) end_wait_for_success(end);
  return PAGES;
}

static void be_pulled(struct end* end) {
  struct ibv_send_wr ready = {.opcode = IBV_WR_SEND};  // empty, and without a completion
  end_post(end, &ready);
  wait_until_memory_is_free(end);
  memset(end->memory, 0, CACHE);  // the next prompt
}

// --- both ---

static void send_token(struct end* end, int pages) {
  struct token token = {.checksum = 2166136261u, .pages = (uint32_t)pages};
  for (int i = 0; i < CACHE / 4; i++)
    token.checksum = (token.checksum ^ *words_at(end, (size_t)i * 4)) * 16777619u;
  memcpy(end->memory + TOKEN, &token, sizeof token);
  end_post_send(end, 0, end_part(end, TOKEN, sizeof token));
  printf("%d pages are there, and the first token is %08x\n", pages, token.checksum);
}

// One queue pair, or two.
static void connect_ways(struct end* ways, int count, int socket) {
  end_connect(&ways[0], socket);
  if (count == 1) return;
  ways[1] = ways[0];
  ways[1].qp = end_another_qp(&ways[0], ACCESS);
  ways[1].mine.qp_number = ways[1].qp->qp_num;
  ways[1].mine.psn += 10000;
  end_connect(&ways[1], socket);
}

static void decode(struct end* end, const char* name) {
  const int pages = strcmp(name, "pull") == 0
                        ? pull(end)
                        : wait_for_pages(end, strcmp(name, "counted") == 0 ? may_decode : is_last_page);
  send_token(end, pages);
  while (end_wait_for_success(end).opcode != IBV_WC_SEND) continue;
}

static void prefill(struct end* ways, int count, const char* name) {
  if (strcmp(name, "pull") == 0) {
    be_pulled(&ways[0]);
    return;
  }
  if (strcmp(name, "pieces") == 0) push_pieces(&ways[0]);
  if (strcmp(name, "pieces") != 0) push_pages(ways, count);
  for (int i = 0; i < PAGES + 1; i++) end_wait_for_success(&ways[0]);  // the pages, and the token
}

int main(int argc, char** argv) {
  const char *host = argc > 2 ? argv[1] : NULL, *name = argv[argc - 1];
  if (argc < 2 || strstr("pieces gathered last counted pull", name) == NULL)
    fail("which case? pieces, gathered, last, counted or pull");
  const int count = strcmp(name, "last") == 0 || strcmp(name, "counted") == 0 ? 2 : 1;
  struct end ways[2];
  end_open(&ways[0], ALL, ACCESS);
  const int socket = meet(host);
  connect_ways(ways, count, socket);
  if (host == NULL) {  // a WRITE with immediate takes a receive, and needs no memory of it
    for (int i = 0; i < count * PAGES; i++)
      end_post_receive(&ways[i / PAGES], 0, end_part(&ways[0], TOKEN, 0));
  } else {
    compute_cache(&ways[0]);
    end_post_receive(&ways[0], 0, end_part(&ways[0], TOKEN, sizeof(struct token)));
  }
  wait_for_each_other(socket);
  if (host == NULL) decode(&ways[0], name);
  if (host != NULL) prefill(ways, count, name);
  wait_for_each_other(socket);
  return 0;
}
