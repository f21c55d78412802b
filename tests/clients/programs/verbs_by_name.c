// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_by_name.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

static const struct wanted {
  const char *name, *version;
  size_t member;
  bool needed;
} kWanted[] = {
    {"ibv_get_device_list", "IBVERBS_1.1", offsetof(struct verbs_by_name, get_device_list), true},
    {"ibv_free_device_list", "IBVERBS_1.1", offsetof(struct verbs_by_name, free_device_list), true},
    {"ibv_get_device_name", "IBVERBS_1.1", offsetof(struct verbs_by_name, get_device_name), true},
    {"ibv_open_device", "IBVERBS_1.1", offsetof(struct verbs_by_name, open_device), true},
    {"ibv_close_device", "IBVERBS_1.1", offsetof(struct verbs_by_name, close_device), true},
    {"ibv_get_async_event", "IBVERBS_1.1", offsetof(struct verbs_by_name, get_async_event), true},
    {"ibv_ack_async_event", "IBVERBS_1.1", offsetof(struct verbs_by_name, ack_async_event), true},
    {"ibv_query_device", "IBVERBS_1.1", offsetof(struct verbs_by_name, query_device), true},
    {"ibv_query_port", "IBVERBS_1.1", offsetof(struct verbs_by_name, query_port), true},
    {"ibv_query_gid", "IBVERBS_1.1", offsetof(struct verbs_by_name, query_gid), true},
    {"ibv_query_qp", "IBVERBS_1.1", offsetof(struct verbs_by_name, query_qp), true},
    {"ibv_alloc_pd", "IBVERBS_1.1", offsetof(struct verbs_by_name, alloc_pd), true},
    {"ibv_dealloc_pd", "IBVERBS_1.1", offsetof(struct verbs_by_name, dealloc_pd), true},
    {"ibv_reg_mr", "IBVERBS_1.1", offsetof(struct verbs_by_name, reg_mr), true},
    {"ibv_dereg_mr", "IBVERBS_1.1", offsetof(struct verbs_by_name, dereg_mr), true},
    {"ibv_create_cq", "IBVERBS_1.1", offsetof(struct verbs_by_name, create_cq), true},
    {"ibv_destroy_cq", "IBVERBS_1.1", offsetof(struct verbs_by_name, destroy_cq), true},
    {"ibv_create_qp", "IBVERBS_1.1", offsetof(struct verbs_by_name, create_qp), true},
    {"ibv_modify_qp", "IBVERBS_1.1", offsetof(struct verbs_by_name, modify_qp), true},
    {"ibv_destroy_qp", "IBVERBS_1.1", offsetof(struct verbs_by_name, destroy_qp), true},
    {"ibv_fork_init", "IBVERBS_1.1", offsetof(struct verbs_by_name, fork_init), true},
    {"ibv_event_type_str", "IBVERBS_1.1", offsetof(struct verbs_by_name, event_type_str), true},
    {"ibv_reg_mr_iova2", "IBVERBS_1.8", offsetof(struct verbs_by_name, reg_mr_iova2), false},
    {"ibv_reg_dmabuf_mr", "IBVERBS_1.12", offsetof(struct verbs_by_name, reg_dmabuf_mr), false},
    {"ibv_query_ece", "IBVERBS_1.10", offsetof(struct verbs_by_name, query_ece), false},
    {"ibv_set_ece", "IBVERBS_1.10", offsetof(struct verbs_by_name, set_ece), false},
    {"ibv_query_port_speed", "IBVERBS_1.16", offsetof(struct verbs_by_name, query_port_speed), false},
};

bool load_verbs(struct verbs_by_name* verbs, const char** path, const char** complaint) {
  if (dlopen("libibverbs.so.1", RTLD_NOW | RTLD_NOLOAD) != NULL) {
    *complaint = "the process has libibverbs.so.1 already";
    return false;
  }
  void* library = dlopen("libibverbs.so", RTLD_NOW);
  if (library == NULL) library = dlopen("libibverbs.so.1", RTLD_NOW);
  if (library == NULL) {
    *complaint = "there is no libibverbs";
    return false;
  }
  struct link_map* map = NULL;
  *path = dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : "?";

  memset(verbs, 0, sizeof *verbs);
  for (size_t i = 0; i < sizeof kWanted / sizeof *kWanted; i++) {
    void* const found = dlvsym(library, kWanted[i].name, kWanted[i].version);
    if (found == NULL && kWanted[i].needed) {
      *complaint = kWanted[i].name;
      return false;
    }
    memcpy((char*)verbs + kWanted[i].member, &found, sizeof found);
  }
  return true;
}
