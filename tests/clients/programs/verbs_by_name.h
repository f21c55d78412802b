// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* libibverbs as NCCL has it: not linked, but opened by name, with every function asked for in its version. */
#ifndef TESTS_CLIENTS_VERBS_BY_NAME_H
#define TESTS_CLIENTS_VERBS_BY_NAME_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

struct verbs_by_name {
  /* NCCL ends without any of these. */
  struct ibv_device** (*get_device_list)(int* count);
  void (*free_device_list)(struct ibv_device** list);
  const char* (*get_device_name)(struct ibv_device* device);
  struct ibv_context* (*open_device)(struct ibv_device* device);
  int (*close_device)(struct ibv_context* context);
  int (*get_async_event)(struct ibv_context* context, struct ibv_async_event* event);
  void (*ack_async_event)(struct ibv_async_event* event);
  int (*query_device)(struct ibv_context* context, struct ibv_device_attr* attributes);
  int (*query_port)(struct ibv_context* context, uint8_t port, struct ibv_port_attr* attributes);
  int (*query_gid)(struct ibv_context* context, uint8_t port, int index, union ibv_gid* gid);
  int (*query_qp)(struct ibv_qp* qp, struct ibv_qp_attr* attributes, int mask, struct ibv_qp_init_attr* init);
  struct ibv_pd* (*alloc_pd)(struct ibv_context* context);
  int (*dealloc_pd)(struct ibv_pd* pd);
  struct ibv_mr* (*reg_mr)(struct ibv_pd* pd, void* address, size_t length, int access);
  int (*dereg_mr)(struct ibv_mr* mr);
  struct ibv_cq* (*create_cq)(struct ibv_context* context, int entries, void* user,
                              struct ibv_comp_channel* channel, int vector);
  int (*destroy_cq)(struct ibv_cq* cq);
  struct ibv_qp* (*create_qp)(struct ibv_pd* pd, struct ibv_qp_init_attr* init);
  int (*modify_qp)(struct ibv_qp* qp, struct ibv_qp_attr* attributes, int mask);
  int (*destroy_qp)(struct ibv_qp* qp);
  int (*fork_init)(void);
  const char* (*event_type_str)(enum ibv_event_type event);
  /* These may be NULL. */
  struct ibv_mr* (*reg_mr_iova2)(struct ibv_pd* pd, void* address, size_t length, uint64_t iova,
                                 unsigned access);
  struct ibv_mr* (*reg_dmabuf_mr)(struct ibv_pd* pd, uint64_t offset, size_t length, uint64_t iova, int fd,
                                  int access);
  int (*query_ece)(struct ibv_qp* qp, struct ibv_ece* ece);
  int (*set_ece)(struct ibv_qp* qp, struct ibv_ece* ece);
  int (*query_port_speed)(struct ibv_context* context, uint32_t port, uint64_t* speed);
};

/* Opens libibverbs.so, or else libibverbs.so.1, and finds every function. The library stays open. False, and
 * `complaint` says why: when the process had the library before we opened it, it is nowhere, or a function
 * that must be there is not. `path` is where the library was found, until the process ends. */
bool load_verbs(struct verbs_by_name* verbs, const char** path, const char** complaint);

#endif
