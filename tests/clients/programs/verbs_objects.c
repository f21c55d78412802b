// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_objects.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "test_client.h"

enum { REMOTE_READS = 4, ACCESS = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ };

static struct ibv_context* open_named(const char* device) {
  struct ibv_context* context = NULL;
  int count = 0;
  struct ibv_device** devices = ibv_get_device_list(&count);
  for (int i = 0; devices != NULL && i < count; i++) {
    if (strcmp(ibv_get_device_name(devices[i]), device) == 0) context = ibv_open_device(devices[i]);
  }
  if (context == NULL) broken("no device %s", device);
  ibv_free_device_list(devices);
  return context;
}

static bool is_ipv4(const union ibv_gid* gid) {
  static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
  return memcmp(gid->raw, mapped, sizeof mapped) == 0;
}

static int index_of_ipv4(struct ibv_context* context) {
  struct ibv_gid_entry entries[255];
  const ssize_t count = ibv_query_gid_table(context, entries, sizeof entries / sizeof *entries, 0);
  for (ssize_t i = 0; i < count; i++) {
    if (entries[i].gid_type == IBV_GID_TYPE_ROCE_V2 && is_ipv4(&entries[i].gid))
      return (int)entries[i].gid_index;
  }
  broken("port 1 has no IPv4 address of RoCE v2");
}

void verbs_open(struct verbs_objects* objects, const char* device, int gid_index, int completions,
                size_t bytes) {
  const size_t whole_pages = (bytes + 4095) / 4096 * 4096;
  struct ibv_context* const context = open_named(device);
  if (gid_index == VERBS_IPV4_GID) gid_index = index_of_ipv4(context);
  *objects = (struct verbs_objects){.context = context,
                                    .channel = ibv_create_comp_channel(context),
                                    .pd = ibv_alloc_pd(context),
                                    .memory = aligned_alloc(4096, whole_pages),
                                    .gid_index = gid_index};
  if (ibv_query_gid(context, 1, gid_index, &objects->gid) != 0) broken("port 1 has no GID %d", gid_index);
  objects->cq = ibv_create_cq(context, completions, NULL, objects->channel, 0);
  if (objects->memory == NULL || objects->pd == NULL || objects->channel == NULL || objects->cq == NULL)
    broken("cannot make objects: %s", strerror(errno));
  memset(objects->memory, 0, bytes);
  objects->mr = ibv_reg_mr(objects->pd, objects->memory, bytes, IBV_ACCESS_LOCAL_WRITE | ACCESS);
  if (objects->mr == NULL) broken("cannot register memory: %s", strerror(errno));
}

struct ibv_qp* verbs_create_qp(const struct verbs_objects* objects, uint32_t sends, uint32_t receives) {
  struct ibv_qp_init_attr init = {
      .send_cq = objects->cq,
      .recv_cq = objects->cq,
      .qp_type = IBV_QPT_RC,
      .cap = {.max_send_wr = sends, .max_recv_wr = receives, .max_send_sge = 1, .max_recv_sge = 1}};
  struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = ACCESS};
  struct ibv_qp* const qp = ibv_create_qp(objects->pd, &init);
  if (qp == NULL || ibv_modify_qp(qp, &attributes,
                                  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) != 0)
    broken("cannot make a queue pair: %s", strerror(errno));
  return qp;
}

void verbs_connect_qp(const struct verbs_objects* objects, struct ibv_qp* qp, const struct remote_end* peer) {
  struct ibv_port_attr port;
  if (ibv_query_port(objects->context, 1, &port) != 0) broken("cannot query port 1");
  struct ibv_qp_attr attributes = {
      .qp_state = IBV_QPS_RTR,
      .path_mtu = port.active_mtu,
      .dest_qp_num = peer->qp,
      .rq_psn = peer->psn,
      .max_dest_rd_atomic = REMOTE_READS,
      .min_rnr_timer = peer->min_rnr_timer,
      .ah_attr = {.is_global = 1,
                  .port_num = 1,
                  .grh = {.dgid = peer->gid, .sgid_index = (uint8_t)objects->gid_index, .hop_limit = 64}}};
  if (ibv_modify_qp(qp, &attributes,
                    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) != 0)
    broken("queue pair %06x refuses RTR: %s", qp->qp_num, strerror(errno));
  attributes = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
                                    .sq_psn = peer->own_psn,
                                    .timeout = peer->ack_timeout,
                                    .retry_cnt = 7,
                                    .rnr_retry = 7,
                                    .max_rd_atomic = REMOTE_READS};
  if (ibv_modify_qp(qp, &attributes,
                    IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                        IBV_QP_MAX_QP_RD_ATOMIC) != 0)
    broken("queue pair %06x refuses RTS: %s", qp->qp_num, strerror(errno));
}

void verbs_take_event(const struct verbs_objects* objects) {
  struct ibv_cq* notified;
  void* user;
  if (ibv_get_cq_event(objects->channel, &notified, &user) != 0) broken("no event: %s", strerror(errno));
  ibv_ack_cq_events(notified, 1);
}

void verbs_close(struct verbs_objects* objects) {
  if (ibv_dereg_mr(objects->mr) != 0 || ibv_destroy_cq(objects->cq) != 0 ||
      ibv_destroy_comp_channel(objects->channel) != 0 || ibv_dealloc_pd(objects->pd) != 0 ||
      ibv_close_device(objects->context) != 0)
    broken("cannot destroy objects");
  free(objects->memory);
}
