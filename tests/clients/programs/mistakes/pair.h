// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* What the mistakes have in common: two queue pairs of the process that are connected with each other. Every
 * function exits through broken() when a verb fails, except where the contrary is said. */
#ifndef TESTS_CLIENTS_MISTAKES_PAIR_H
#define TESTS_CLIENTS_MISTAKES_PAIR_H

#include <infiniband/verbs.h>
#include <stdint.h>

#include "verbs_objects.h"

/* kTimeout: a second. */
enum { kBytes = 65536, kEntries = 64, kPiece = 64, kTimeout = 18 };

extern struct verbs_objects nic;
extern struct ibv_qp* near_qp;
extern struct ibv_qp* far_qp;

/* The values that a queue pair is connected with. */
struct connection {
  enum ibv_mtu path_mtu;
  uint8_t sgid_index, dest_reads, reads, timeout, retry_cnt;
};

struct connection usual_connection(uint8_t ack_timeout);

/* The address of a piece of the registered memory. */
uint64_t place(unsigned piece);

/* Queue pairs that are made from now on receive from there; NULL: from queues of their own. */
void share_receives(struct ibv_srq* srq);
/* They receive from one that is made here. The next two are for its receives. */
struct ibv_srq* share_new_queue(uint32_t receives);
void post_shared(struct ibv_srq* srq);
void destroy_shared(struct ibv_srq* srq);
struct ibv_qp* make_qp(enum ibv_qp_type type, uint32_t sends, uint32_t receives);
/* Returns what ibv_modify_qp() says that refuses. */
int try_to_connect_qp(struct ibv_qp* qp, uint32_t peer, const struct connection* wants);
void connect_pair(uint32_t sends, uint32_t receives, uint8_t ack_timeout);
void connect_pair_as(uint32_t sends, uint32_t receives, const struct connection* near_wants,
                     const struct connection* far_wants);
void disconnect_pair(void);

/* To the near one. */
void post_keyed(enum ibv_wr_opcode opcode, unsigned flags, uint64_t address, uint32_t length, uint32_t lkey,
                uint64_t remote_address);
void post(enum ibv_wr_opcode opcode, unsigned flags, unsigned from, unsigned to);
/* Makes a queue pair for datagrams, near_qp, which sends one to itself by the address handle. */
struct ibv_ah* send_datagram(void);
/* Returns what ibv_post_recv() does. */
int post_receive(struct ibv_qp* qp, uint32_t length);

/* Polls so many completions, whatever their status, and returns the last one's. */
enum ibv_wc_status poll_completions(unsigned count);
void expect(enum ibv_wc_status status, enum ibv_wc_status wanted);
/* Long enough for the NIC to do what was posted. */
void wait_a_moment(void);

#endif
