// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* What the device and its port say about themselves. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "observation.h"
#include "sections.h"

static void observe_device(const struct nic* nic) {
  const struct ibv_device_attr* const attr = &nic->attributes;
  const struct {
    const char* name;
    uint64_t value;
  } numbers[] = {
      {"vendor_id", attr->vendor_id},
      {"vendor_part_id", attr->vendor_part_id},
      {"hw_ver", attr->hw_ver},
      {"phys_port_cnt", attr->phys_port_cnt},
      {"max_mr_size", attr->max_mr_size},
      {"page_size_cap", attr->page_size_cap},
      {"max_qp", (unsigned)attr->max_qp},
      {"max_qp_wr", (unsigned)attr->max_qp_wr},
      {"device_cap_flags", attr->device_cap_flags},
      {"max_sge", (unsigned)attr->max_sge},
      {"max_sge_rd", (unsigned)attr->max_sge_rd},
      {"max_cq", (unsigned)attr->max_cq},
      {"max_cqe", (unsigned)attr->max_cqe},
      {"max_mr", (unsigned)attr->max_mr},
      {"max_pd", (unsigned)attr->max_pd},
      {"max_qp_rd_atom", (unsigned)attr->max_qp_rd_atom},
      {"max_qp_init_rd_atom", (unsigned)attr->max_qp_init_rd_atom},
      {"max_res_rd_atom", (unsigned)attr->max_res_rd_atom},
      {"atomic_cap", attr->atomic_cap},
      {"max_mw", (unsigned)attr->max_mw},
      {"max_mcast_grp", (unsigned)attr->max_mcast_grp},
      {"max_mcast_qp_attach", (unsigned)attr->max_mcast_qp_attach},
      {"max_total_mcast_qp_attach", (unsigned)attr->max_total_mcast_qp_attach},
      {"max_ah", (unsigned)attr->max_ah},
      {"max_srq", (unsigned)attr->max_srq},
      {"max_srq_wr", (unsigned)attr->max_srq_wr},
      {"max_srq_sge", (unsigned)attr->max_srq_sge},
      {"max_pkeys", attr->max_pkeys},
      {"local_ca_ack_delay", attr->local_ca_ack_delay},
      {"num_comp_vectors", (unsigned)nic->context->num_comp_vectors},
  };
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i)
    observe_number(numbers[i].value, "attr.%s", numbers[i].name);
  observe_text(attr->fw_ver, "attr.fw_ver");
  observe_text(ibv_get_device_name(nic->context->device), "attr.name");
  observe_number((unsigned)nic->context->device->transport_type, "attr.transport");
}

static void observe_extended(const struct nic* nic) {
  struct ibv_device_attr_ex attr;
  memset(&attr, 0, sizeof attr);
  const int error = ibv_query_device_ex(nic->context, NULL, &attr);
  if (error != 0) {
    observe_nothing(error_name(error), "attr_ex.hca_core_clock");
    return;
  }
  observe_number(attr.odp_caps.general_caps, "attr_ex.odp_general");
  observe_number(attr.odp_caps.per_transport_caps.rc_odp_caps, "attr_ex.odp_rc");
  observe_number(attr.completion_timestamp_mask, "attr_ex.completion_timestamp_mask");
  observe_number(attr.hca_core_clock, "attr_ex.hca_core_clock");
  observe_number(attr.cq_mod_caps.max_cq_count, "attr_ex.max_cq_count");
  observe_number(attr.cq_mod_caps.max_cq_period, "attr_ex.max_cq_period");
  observe_number(attr.max_dm_size, "attr_ex.max_dm_size");
}

static void observe_port(const struct nic* nic) {
  const struct ibv_port_attr* const port = &nic->port;
  observe_number(port->lid, "port.lid");
  observe_number(port->sm_lid, "port.sm_lid");
  observe_number((unsigned)port->gid_tbl_len, "port.gid_tbl_len");
  observe_number(port->pkey_tbl_len, "port.pkey_tbl_len");
  observe_number(port->max_msg_sz, "port.max_msg_sz");
  observe_number(port->max_vl_num, "port.max_vl_num");
  observe_number(port->port_cap_flags, "port.port_cap_flags");
  observe_number(port->link_layer, "port.link_layer");
  observe_number(port->active_mtu, "port.active_mtu");
  observe_number(port->max_mtu, "port.max_mtu");
}

/* The types of the entries that are not empty in the order of their indices, as "1221": 1 is RoCE v1. */
static void observe_gids(const struct nic* nic) {
  enum { ENTRIES = 1024, SHOWN = 32 };
  struct ibv_gid_entry* const entries = calloc(ENTRIES, sizeof *entries);
  const ssize_t count = entries == NULL ? -1 : ibv_query_gid_table(nic->context, entries, ENTRIES, 0);
  char types[SHOWN + 1] = "";
  bool is_same_in_pairs = count > 0 && count % 2 == 0;
  for (ssize_t i = 0; i < count && i < SHOWN; ++i)
    types[i] = entries[i].gid_type == IBV_GID_TYPE_ROCE_V1   ? '1'
               : entries[i].gid_type == IBV_GID_TYPE_ROCE_V2 ? '2'
                                                             : 'I';
  for (ssize_t i = 0; i + 1 < count; i += 2)
    is_same_in_pairs &= memcmp(&entries[i].gid, &entries[i + 1].gid, sizeof entries[i].gid) == 0;
  observe_text(types, "gid.types");
  observe_bool(is_same_in_pairs, "gid.pairs_have_one_address");
  if (count > 0) observe_bool(entries[0].gid.raw[0] == 0xfe, "gid.first_is_link_local");
  free(entries);
}

void observe_attributes(const struct nic* nic) {
  observe_device(nic);
  observe_extended(nic);
  observe_port(nic);
  observe_gids(nic);
}
