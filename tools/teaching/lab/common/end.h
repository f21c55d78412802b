// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// One end of a reliable connection, with everything that a small program needs: what you wrote by hand in lab
// 1.
#pragma once

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

enum {
  PORT = 1,               // urnic0 has one port, and ports are counted from 1
  GID_INDEX = 1,          // 0 is the link-local address, 1 the IPv4 address, 2 the IPv6 address
  QUEUE_DEPTH = 256,      // work requests that fit into a send or receive queue
  MOST_PARTS = 8,         // elements that fit into the scatter/gather list of one work request to send
  COMPLETION_SECONDS = 8  // how long wait_for_completion() waits
};

// What one end must know of the other.
struct address {
  union ibv_gid gid;
  uint32_t qp_number;
  uint32_t psn;     // of the first packet that this end will send
  uint32_t rkey;    // the key of its memory ...
  uint64_t memory;  // ... and where that is
};

struct end {
  struct ibv_context* context;
  struct ibv_pd* pd;
  struct ibv_cq* cq;
  struct ibv_qp* qp;
  struct ibv_mr* mr;
  char* memory;
  size_t bytes;
  struct address mine, peers;
  // Attributes of a connection. end_open() fills in the usual ones; change them before end_connect().
  enum ibv_mtu path_mtu;
  uint8_t ack_timeout, retry_count, rnr_retry, min_rnr_timer;
};

// Opens the device and makes PD, CQ, memory with a region around it, and a queue pair in state INIT. `access`
// are rights of the region and of the queue pair (IBV_ACCESS_...; IBV_ACCESS_LOCAL_WRITE is added). Ends the
// program when that fails.
void end_open(struct end* end, size_t bytes, int access);

// Another queue pair with the same PD and CQ, in state INIT.
struct ibv_qp* end_another_qp(struct end* end, int access);

// Takes `qp` from INIT to RTR and RTS, connected to the queue pair of `peer`.
void end_connect_qp(struct end* end, struct ibv_qp* qp, uint32_t own_psn, const struct address* peer);

// Swaps addresses with the peer over the socket of meet(), and connects the queue pair. Returns when both
// ends are in RTS.
void end_connect(struct end* end, int socket);

// The bytes [offset, offset + bytes) of this end's memory, as an element of a scatter/gather list.
struct ibv_sge end_part(const struct end* end, size_t offset, size_t bytes);

// Posts one receive, or one send that will have a completion. They end the program when the verb fails.
void end_post_receive(struct end* end, uint64_t wr_id, struct ibv_sge part);
void end_post_send(struct end* end, uint64_t wr_id, struct ibv_sge part);

// A work request that writes `part` to `offset` in the peer's memory. With IBV_WR_RDMA_READ as its opcode it
// reads instead.
struct ibv_send_wr end_write_request(const struct end* end, uint64_t wr_id, struct ibv_sge* part,
                                     size_t offset);

// Posts it on the end's queue pair; ends the program when the verb fails.
void end_post(struct end* end, struct ibv_send_wr* request);

// The next completion, whatever its status. Ends the program when none comes in time.
struct ibv_wc end_wait_for_completion(struct end* end);

// The next completion, which must be a success.
struct ibv_wc end_wait_for_success(struct end* end);

void end_close(struct end* end);
