// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* What these programs have of a NIC: an opened device, a completion queue, a piece of registered memory, and
 * reliable connections that use them. Every function exits through broken() when a verb fails. One thread. */
#ifndef TESTS_CLIENTS_VERBS_OBJECTS_H
#define TESTS_CLIENTS_VERBS_OBJECTS_H

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

struct verbs_objects {
  struct ibv_context* context;
  struct ibv_comp_channel* channel; /* of the completion queue */
  struct ibv_pd* pd;
  struct ibv_cq* cq;
  struct ibv_mr* mr; /* its peers may read and write it */
  void* memory;      /* what is registered, in pages; zero at first */
  union ibv_gid gid; /* at gid_index */
  int gid_index;
};

/* The other end of a connection, and what both ends have agreed on. */
struct remote_end {
  union ibv_gid gid;
  uint32_t qp, psn, own_psn;
  uint8_t min_rnr_timer, ack_timeout; /* codes; ack_timeout 0 waits forever */
};

/* In place of a GID index: wherever the first IPv4 address of RoCE v2 is. */
enum { VERBS_IPV4_GID = -1 };

/* Opens the device of that name, with a queue for `completions` and `bytes` of memory. */
void verbs_open(struct verbs_objects* objects, const char* device, int gid_index, int completions,
                size_t bytes);

/* A queue pair for a reliable connection in INIT, with one element in a work request. */
struct ibv_qp* verbs_create_qp(const struct verbs_objects* objects, uint32_t sends, uint32_t receives);

/* Takes it to RTS. */
void verbs_connect_qp(const struct verbs_objects* objects, struct ibv_qp* qp, const struct remote_end* peer);

/* Waits for a notification of the queue, takes it and acknowledges it. */
void verbs_take_event(const struct verbs_objects* objects);

/* The queue pairs have to be destroyed before. */
void verbs_close(struct verbs_objects* objects);

#endif
