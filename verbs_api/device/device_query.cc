// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the device can do. Zero is an answer, too: programs take it for "not offered".
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <string_view>

#include "nic/config.h"
#include "nic/memory/guarded_copy.h"
#include "verbs_api/abi/newer_operations.h"
#include "verbs_api/abi/operations.h"
#include "verbs_api/abi/vendor.h"
#include "verbs_api/device/context.h"
#include "verbs_api/device/device_list.h"
#include "verbs_api/device/failure.h"
#include "verbs_api/device/offered_hash_fields.h"
#include "verbs_api/fault/call_faults.h"

namespace urnic::verbs_api {
namespace {

using nic::DeviceLimits;

/// The device's clock counts nanoseconds, in 63 bits.
constexpr std::uint64_t kClockRate = 1'000'000;  // kHz
constexpr std::uint64_t kTimeMask = std::numeric_limits<std::int64_t>::max();

// Of the memory management extensions a program in user space sees SEND with invalidate, LOCAL_INV and
// windows of type 2.
constexpr unsigned int kCapabilities = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_SYS_IMAGE_GUID |
                                       IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_XRC | IBV_DEVICE_MEM_WINDOW |
                                       IBV_DEVICE_MANAGED_FLOW_STEERING | IBV_DEVICE_SRQ_RESIZE |
                                       IBV_DEVICE_MEM_MGT_EXTENSIONS;

unsigned int window_capability(nic::Type2Windows windows) {
  return windows == nic::Type2Windows::k2A ? IBV_DEVICE_MEM_WINDOW_TYPE_2A : IBV_DEVICE_MEM_WINDOW_TYPE_2B;
}

unsigned int capabilities_of(const nic::Device& nic) {
  const nic::Personality& like = *nic.config().personality;
  unsigned int capabilities = kCapabilities | window_capability(nic.config().type_2_windows);
  if (like.xrc == nic::Offer::kNo) capabilities &= ~unsigned{IBV_DEVICE_XRC};
  if (like.shared_receive_queues == nic::Offer::kNo) capabilities &= ~unsigned{IBV_DEVICE_SRQ_RESIZE};
  return capabilities;
}

/// `other`: of another NIC, or null.
void tell_identity(const nic::Identity* other, ibv_device_attr& attributes) {
  constexpr std::string_view kVersion = URNIC_VERSION;
  static_assert(kVersion.size() < sizeof(attributes.fw_ver));
  const std::string_view version = other != nullptr ? other->fw_ver : kVersion;
  version.copy(attributes.fw_ver, sizeof(attributes.fw_ver) - 1);
  attributes.vendor_id = other != nullptr ? other->vendor_id : kVendorId;
  attributes.vendor_part_id = other != nullptr ? other->vendor_part_id : kVendorPartId;
  attributes.hw_ver = other != nullptr ? other->hw_ver : 0;
}

ibv_device_attr attributes_of(const nic::Device& nic) {
  const nic::Personality& like = *nic.config().personality;
  const auto number = [](std::uint64_t value) { return static_cast<int>(value); };
  ibv_device_attr attributes{};
  tell_identity(nic.config().identity, attributes);
  attributes.node_guid = node_guid(nic);
  attributes.sys_image_guid = attributes.node_guid;
  attributes.max_mr_size = like.max_mr_size;
  attributes.page_size_cap = like.page_size_cap;
  attributes.max_qp = number(like.max_qp);
  attributes.max_qp_wr = number(like.max_qp_wr);
  attributes.device_cap_flags = capabilities_of(nic);
  attributes.max_sge = number(like.max_sge);
  attributes.max_sge_rd = number(like.max_sge_rd);
  attributes.max_cq = number(like.max_cq);
  attributes.max_cqe = number(like.max_cqe);
  attributes.max_mr = number(like.max_mr);
  attributes.max_pd = number(like.max_pd);
  attributes.max_qp_rd_atom = number(like.max_qp_rd_atom);
  attributes.max_res_rd_atom = number(like.max_res_rd_atom);
  attributes.max_qp_init_rd_atom = number(like.max_qp_init_rd_atom);
  // Atomics are the processor's own instructions, so that its threads may use them on the same memory. The
  // wider promise, IBV_ATOMIC_GLOB, would include other devices, which read and write in two steps.
  attributes.atomic_cap = like.atomics == nic::Offer::kYes ? IBV_ATOMIC_HCA : IBV_ATOMIC_NONE;
  attributes.max_mw = number(like.max_mw);
  // Raw packets are Ethernet frames.
  const bool has_frames = nic.config().medium == nic::Medium::kEthernet;
  attributes.max_raw_ethy_qp = has_frames ? attributes.max_qp : 0;
  attributes.max_mcast_grp = number(like.max_mcast_grp);
  attributes.max_mcast_qp_attach = number(like.max_mcast_qp_attach);
  attributes.max_total_mcast_qp_attach = number(
      std::min<std::uint64_t>(like.max_mcast_grp * like.max_mcast_qp_attach, DeviceLimits::kMaxGroupMembers));
  attributes.max_ah = number(like.max_ah);
  attributes.max_srq = number(like.max_srq);
  attributes.max_srq_wr = number(like.max_srq_wr);
  attributes.max_srq_sge = number(like.max_srq_sge);
  attributes.max_pkeys = static_cast<std::uint16_t>(like.max_pkeys);
  attributes.local_ca_ack_delay = static_cast<std::uint8_t>(like.local_ca_ack_delay);
  attributes.phys_port_cnt = 1;
  return attributes;
}

/// Every operation may use memory that comes and goes: the processor copies it.
void offer_on_demand_paging(const nic::Personality& like, ibv_device_attr_ex& attributes) {
  if (!nic::can_copy_guarded() || like.on_demand_paging == nic::Offer::kNo) return;
  constexpr std::uint32_t kMessages = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV;
  constexpr std::uint32_t kRemote = IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC |
                                    kOdpSupportsFlush | kOdpSupportsAtomicWrite;
  attributes.odp_caps.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
  attributes.odp_caps.per_transport_caps.rc_odp_caps = kMessages | kRemote | IBV_ODP_SUPPORT_SRQ_RECV;
  attributes.odp_caps.per_transport_caps.uc_odp_caps =
      kMessages | IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_SRQ_RECV;
  attributes.odp_caps.per_transport_caps.ud_odp_caps = kMessages | IBV_ODP_SUPPORT_SRQ_RECV;
  attributes.xrc_odp_caps = kMessages | kRemote | IBV_ODP_SUPPORT_SRQ_RECV;
}

}  // namespace

int query_device_ex(ibv_context* context, const ibv_query_device_ex_input*, ibv_device_attr_ex* attributes,
                    std::size_t size) noexcept {
  const Context& owner = Context::of(context);
  if (owner.is_closed()) return owner.dead_error();
  if (size < sizeof(ibv_device_attr)) return EINVAL;
  ibv_device_attr_ex ours{};
  ours.orig_attr = attributes_of(owner.nic());
  ours.device_cap_flags_ex = ours.orig_attr.device_cap_flags | kDeviceFlushGlobal | kDeviceAtomicWrite;
  const nic::Personality& like = *owner.nic().config().personality;
  if (like.completion_times == nic::Offer::kYes) {
    ours.completion_timestamp_mask = kTimeMask;
    ours.hca_core_clock = kClockRate;
  }
  ours.rss_caps = {.supported_qpts = 1u << IBV_QPT_RAW_PACKET,
                   .max_rwq_indirection_tables = DeviceLimits::kMaxIndirectionTables,
                   .max_rwq_indirection_table_size = DeviceLimits::kMaxIndirectionTableSize,
                   .rx_hash_fields_mask = kOfferedHashFields,
                   .rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ};
  ours.max_wq_type_rq = DeviceLimits::kMaxQueuePairs;  // and of queue pairs together
  ours.cq_mod_caps = {.max_cq_count = static_cast<std::uint16_t>(like.max_cq_count),
                      .max_cq_period = static_cast<std::uint16_t>(like.max_cq_period)};
  ours.phys_port_cnt_ex = ours.orig_attr.phys_port_cnt;
  ours.max_dm_size = like.max_dm_size;
  offer_on_demand_paging(like, ours);
  // The caller's struct may be an older or a newer one.
  std::memset(attributes, 0, size);
  std::memcpy(attributes, &ours, std::min(size, sizeof(ours)));
  return 0;
}

int query_rt_values(ibv_context* context, ibv_values_ex* values) noexcept {
  const Context& owner = Context::of(context);
  if (owner.is_dead()) return owner.dead_error();
  if (values == nullptr || (values->comp_mask & ~std::uint32_t{IBV_VALUES_MASK_RAW_CLOCK}) != 0) {
    return EINVAL;
  }
  if ((values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK) != 0) {
    // All of it as ticks in the second field, as mlx5 gives it (providers/mlx5/verbs.c in rdma-core 44) and
    // programs expect it, although that leaves the range of a timespec.
    values->raw_clock = {.tv_sec = 0, .tv_nsec = owner.nic().now().time_since_epoch().count()};
  }
  return 0;
}

}  // namespace urnic::verbs_api

using urnic::verbs_api::Context;
using urnic::verbs_api::injected_error;
using urnic::verbs_api::refuse;
using urnic::verbs_api::Verb;

extern "C" {

int ibv_query_device(ibv_context* context, ibv_device_attr* device_attr) {
  if (const int error = injected_error(Verb::kQueryDevice); error != 0) return refuse(error);
  const Context& owner = Context::of(context);
  if (owner.is_closed()) return refuse(owner.dead_error());
  *device_attr = urnic::verbs_api::attributes_of(owner.nic());
  return 0;
}

}  // extern "C"
