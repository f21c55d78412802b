// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* Connection: a queue pair of ours, joined to one of the peer's, with memory on both sides. */
#ifndef INTEROP_PEER_CONNECTION_H
#define INTEROP_PEER_CONNECTION_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

enum {
  REGION = 1 << 20, /* bytes of `memory` */
  LANDING =
      1
      << 19, /* where in our memory READs and atomics put what they fetch; below is what the peer may reach */
  LONGEST = 1 << 18, /* bytes of a message */
  RECEIVES = 16,
  GRH = 40,
  QKEY = 0x11111111,
};

/* What the command line says. */
struct settings {
  const char* device;
  int gid_index;
  uint32_t path_mtu; /* bytes */
  uint8_t ack_timeout;
  uint8_t retries;
  bool is_client;
};

/* What makes a connection a special one; zero is the usual. */
struct wishes {
  enum ibv_qp_type type; /* 0: IBV_QPT_RC */
  int without_rights;    /* IBV_ACCESS_... that the peer does not get on the queue pair */
  bool locked_region;    /* the peer gets no rights on the memory region */
  bool finite_rnr;       /* two RNR retries instead of endless ones */
  uint8_t rnr_timer;     /* code of the timer that we ask for; 0: 1.28 ms */
  uint32_t first_psn;    /* 0: random */
  bool window;           /* memory windows may be bound to the region */
  uint64_t builders;     /* IBV_QP_EX_WITH_...: the queue pair is an extended one, with these */
};

/* What one side must know of the other. */
struct end {
  uint64_t address;
  uint32_t rkey, qp_number, psn;
  union ibv_gid gid;
};

struct connection {
  const struct settings* settings;
  struct ibv_pd* pd;
  struct ibv_cq *send_cq, *receive_cq;
  struct ibv_qp* qp;
  struct ibv_mr *mr, *receive_mr;
  struct ibv_ah* ah; /* UD only */
  uint8_t* memory;
  uint8_t* receive_memory; /* RECEIVES slots of LONGEST + GRH bytes */
  struct end peer;
};

/* Opens the device once. */
void open_device(const struct settings* settings);

/* Both sides do this at the same time. The queue pair is ready to send on both when it returns. */
struct connection join(const struct settings* settings, struct wishes wishes);
/* Both sides do this at the same time, when nothing is under way. */
void part(struct connection* connection);

/* Bytes that tell what they belong to (`seed`) and where in it they are. At first `memory` holds the bytes of
 * seed 0. */
void fill(uint8_t* bytes, uint32_t length, uint32_t seed);
/* Whether these are the bytes of `seed` from `first` on. */
void must_hold(const uint8_t* bytes, uint32_t first, uint32_t length, uint32_t seed, const char* what);

/* Into slot wr_id; `length` bytes fit (and the GRH, for UD). */
void post_receive(struct connection* connection, uint64_t wr_id, uint32_t length);
uint8_t* received(struct connection* connection, uint64_t wr_id);

/* A work request from `local` (an offset in our memory) of `length` bytes to the peer's memory at `remote`.
 * The caller may change it before post(). */
struct request {
  struct ibv_send_wr wr;
  struct ibv_sge sge;
};
struct request make(const struct connection* connection, enum ibv_wr_opcode opcode, uint64_t wr_id,
                    uint32_t local, uint32_t length, uint32_t remote);
void post(struct connection* connection, struct request* request);
/* What ibv_post_send() says. */
int try_to_post(struct connection* connection, struct request* request);

/* The next completion; none within ten seconds is an error. */
struct ibv_wc next_sent(struct connection* connection);
struct ibv_wc next_received(struct connection* connection);
/* Whether there is a completion within `ms` milliseconds. */
bool comes_within(struct ibv_cq* cq, unsigned ms, struct ibv_wc* completion);

/* Posts and waits for the completion with `status`. */
void carry_out(struct connection* connection, struct request request, enum ibv_wc_status status);

void to_error(struct connection* connection);

#endif
