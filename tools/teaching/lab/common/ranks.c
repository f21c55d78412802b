// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "ranks.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "meet.h"

enum { RECEIVES = 64 };  // posted on each queue pair, and posted again when one is used up

// A WRITE with immediate takes a receive, which needs no memory: the data go where the WRITE says.
static void post_receive(struct ranks* ranks, int peer) {
  struct ibv_recv_wr request = {.wr_id = (uint64_t)peer}, *bad;
  errno = ibv_post_recv(ranks->to[peer].qp, &request, &bad);
  if (errno != 0) fail("cannot post a receive: %m");
}

static void meet_all(struct ranks* ranks) {
  int rank = ranks->rank;
  if (rank != 0) {
    ranks->sockets[0] = meet("localhost");
    tell(ranks->sockets[0], &rank, sizeof rank);
    return;
  }
  int clients[MOST_RANKS];
  meet_many(clients, ranks->count - 1);
  for (int i = 0; i < ranks->count - 1; i++) {
    hear(clients[i], &rank, sizeof rank);
    if (rank < 1 || rank >= ranks->count || ranks->sockets[rank] != 0)
      fail("a program came as rank %d; each of the ranks 1 to %d is needed once", rank, ranks->count - 1);
    ranks->sockets[rank] = clients[i];
  }
}

void ranks_open(struct ranks* ranks, int rank, int count, size_t bytes) {
  const int access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  if (count < 2 || count > MOST_RANKS || rank < 0 || rank >= count)
    fail("which rank of how many? The second number is 2 to %d, the first less than that", MOST_RANKS);
  *ranks = (struct ranks){.rank = rank, .count = count};
  end_open(&ranks->end, bytes, access);
  // Row r of the table has what rank r tells each other one.
  struct address mine[MOST_RANKS] = {0}, table[MOST_RANKS * MOST_RANKS];
  for (int peer = 0; peer < count; peer++) {
    ranks->to[peer] = ranks->end;
    if (peer == rank) continue;
    ranks->to[peer].qp = end_another_qp(&ranks->end, access);
    mine[peer] = ranks->end.mine;
    mine[peer].qp_number = ranks->to[peer].qp->qp_num;
    // On one host all have the same address. As their PSNs differ, a reader of the packets can tell to which
    // queue pair an ACK belongs.
    mine[peer].psn += (uint32_t)(rank * MOST_RANKS + peer) << 16;
    for (int i = 0; i < RECEIVES; i++) post_receive(ranks, peer);
  }
  meet_all(ranks);
  ranks_exchange(ranks, mine, table, (size_t)count * sizeof mine[0]);
  for (int peer = 0; peer < count; peer++) {
    struct end* to = &ranks->to[peer];
    to->peers = table[peer * count + rank];
    if (peer != rank) end_connect_qp(to, to->qp, mine[peer].psn, &to->peers);
  }
  ranks_barrier(ranks);
}

// A work request for these bytes here and, of the same layout, there.
static void post(struct ranks* ranks, int peer, enum ibv_wr_opcode opcode, const void* here, size_t bytes,
                 const void* there, uint32_t immediate) {
  const char* memory = ranks->end.memory;
  struct ibv_sge part = end_part(&ranks->end, (size_t)((const char*)here - memory), bytes);
  struct ibv_send_wr request =
      end_write_request(&ranks->to[peer], 0, &part, (size_t)((const char*)there - memory));
  request.opcode = opcode;
  request.imm_data = htonl(immediate);
  end_post(&ranks->to[peer], &request);
  ranks->unfinished++;
}

void ranks_write(struct ranks* ranks, int peer, const void* from, size_t bytes, const void* to,
                 uint32_t immediate) {
  post(ranks, peer, IBV_WR_RDMA_WRITE_WITH_IMM, from, bytes, to, immediate);
}

void ranks_read(struct ranks* ranks, int peer, const void* from, size_t bytes, void* to) {
  post(ranks, peer, IBV_WR_RDMA_READ, to, bytes, from, 0);
}

// The next completion: something has come, or something of ours is done.
static void take_completion(struct ranks* ranks) {
  const struct ibv_wc completion = end_wait_for_success(&ranks->end);
  if (completion.opcode != IBV_WC_RECV_RDMA_WITH_IMM) {
    ranks->unfinished--;
    return;
  }
  const uint32_t immediate = ntohl(completion.imm_data);
  if (immediate >= IMMEDIATES) fail("a WRITE came with the immediate %u", immediate);
  ranks->arrived[immediate]++;
  post_receive(ranks, (int)completion.wr_id);
}

void ranks_wait_for(struct ranks* ranks, uint32_t immediate, int count) {
  while (ranks->arrived[immediate] < count) take_completion(ranks);
  ranks->arrived[immediate] -= count;
}

void ranks_finish(struct ranks* ranks) {
  while (ranks->unfinished > 0) take_completion(ranks);
}

void ranks_exchange(struct ranks* ranks, const void* mine, void* all, size_t bytes) {
  if (ranks->rank != 0) {
    tell(ranks->sockets[0], mine, bytes);
    hear(ranks->sockets[0], all, bytes * (size_t)ranks->count);
    return;
  }
  memcpy(all, mine, bytes);
  for (int peer = 1; peer < ranks->count; peer++)
    hear(ranks->sockets[peer], (char*)all + bytes * (size_t)peer, bytes);
  for (int peer = 1; peer < ranks->count; peer++)
    tell(ranks->sockets[peer], all, bytes * (size_t)ranks->count);
}

void ranks_barrier(struct ranks* ranks) {
  char all[MOST_RANKS];
  ranks_exchange(ranks, "", all, 1);
}
