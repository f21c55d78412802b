// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* A device, memory that it may use, and two queue pairs of this process that are connected with each other.
 * No function ends the program, so that after one failure the other observations go on. One thread. */
#ifndef TESTS_CLIENTS_PERSONALITY_PAIR_H
#define TESTS_CLIENTS_PERSONALITY_PAIR_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HALF = 1 << 20, COMPLETIONS = 4095 };

struct nic {
  struct ibv_context* context;
  struct ibv_device_attr attributes;
  struct ibv_port_attr port;
  struct ibv_pd* pd;
  union ibv_gid gid;
  uint8_t gid_index;
  unsigned mtu;      /* bytes of payload in a packet */
  uint8_t* near;     /* HALF bytes, then HALF bytes that the far end uses */
  uint8_t* far;      /* the same memory */
  struct ibv_mr* mr; /* all of it, with all rights that the device takes */
  bool has_atomics;
};

/* Opens the first device. Says on stderr what is missing. */
bool nic_open(struct nic* nic);
void nic_close(struct nic* nic);

struct pair_options {
  struct ibv_qp_cap cap;       /* of both queue pairs; zeros are 16 requests and one element */
  int far_rights;              /* of remote peers; 0 is all that the device takes, and -1 is none */
  enum ibv_qp_state far_state; /* how far it goes; RESET, as 0, means RTS: see far_stays_in_reset */
  bool far_stays_in_reset;
  uint8_t timeout, retry_cnt, rnr_retry, min_rnr_timer; /* codes, all as they stand */
};

struct end {
  struct ibv_cq *send_cq, *recv_cq;
  struct ibv_qp* qp;
  struct ibv_qp_cap cap; /* what ibv_create_qp() wrote back */
};

struct pair {
  struct end near, far;
};

/* What observations use unless they say otherwise: requests wait long enough for their peer. */
struct pair_options usual_options(void);

/* On failure says on stderr what failed, and leaves nothing. */
bool pair_open(const struct nic* nic, const struct pair_options* options, struct pair* pair);
void pair_close(struct pair* pair);

/* Observes a pair with the usual options, which it then closes. */
void with_usual_pair(const struct nic* nic, void (*observe)(const struct nic*, const struct pair*));

/* Creates a queue pair in RESET, whose queues are at the end; NULL with errno. */
struct ibv_qp* end_create_qp(const struct nic* nic, struct end* end, const struct ibv_qp_cap* cap);

/* Takes a queue pair to INIT, or to ERR or RESET. Returns errno. */
int qp_to_init(struct ibv_qp* qp, int rights);
int qp_to_state(struct ibv_qp* qp, enum ibv_qp_state state);
enum ibv_qp_state qp_state(struct ibv_qp* qp);

/* All rights of remote peers that the device takes. */
int all_rights(const struct nic* nic);

/* A request with one element, from near memory at 0 to far memory at 0. */
struct request {
  struct ibv_sge element;
  struct ibv_send_wr wr;
};
void request_make(const struct nic* nic, struct request* request, enum ibv_wr_opcode opcode, uint32_t length);

/* Posts one request; returns what ibv_post_send() returns. */
int request_post(struct ibv_qp* qp, struct request* request);

/* Posts a receive of that many bytes of far memory. */
int receive_post(const struct nic* nic, struct ibv_qp* qp, uint32_t length, uint64_t wr_id);

/* Every byte of a completion before the poll. */
enum { PATTERN = 0xa5 };

/* Waits that long for one completion, which the poll found filled with PATTERN. */
bool completion_wait(struct ibv_cq* cq, struct ibv_wc* completion, double seconds);

/* How many completions come until none has come for that long. */
unsigned completions_count(struct ibv_cq* cq, double quiet_seconds);

/* Time for the NIC to do what was posted, without polling. */
void let_it_work(void);

#endif
