// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the port is and does, and its P_Key table.
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "nic/path/gid_table.h"
#include "transport/types.h"
#include "verbs_api/abi/newer_verbs.h"
#include "verbs_api/abi/operations.h"
#include "verbs_api/abi/port_facts.h"
#include "verbs_api/device/address.h"
#include "verbs_api/device/context.h"
#include "verbs_api/device/failure.h"
#include "verbs_api/device/mtu.h"
#include "verbs_api/fault/call_faults.h"

namespace urnic::verbs_api {
namespace {

constexpr std::uint16_t kDefaultPkey = 0xffff;  // full member, and the same in either byte order
constexpr std::uint16_t kPkeyMembershipBit = 0x8000;

// Codes of PortInfo.
constexpr std::uint8_t kPhysicalStateLinkUp = 5;
constexpr std::uint8_t kPhysicalStateDisabled = 3;

ibv_port_attr port_attributes(const nic::Device& nic) {
  ibv_port_attr attributes{};
  attributes.state = nic.has_link() ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;  // a NIC without a peer is still a NIC
  attributes.max_mtu = to_ibv_mtu(nic.max_path_mtu());
  attributes.active_mtu = to_ibv_mtu(nic.usual_path_mtu());
  attributes.gid_tbl_len = static_cast<int>(nic.gids().size());
  attributes.port_cap_flags = kPortCapabilities;
  const nic::Personality& like = *nic.config().personality;
  attributes.max_msg_sz = static_cast<std::uint32_t>(like.max_msg_sz);
  attributes.lid = static_cast<std::uint16_t>(like.lid);
  attributes.pkey_tbl_len = 1;
  attributes.max_vl_num = 1;
  attributes.active_width = kWidth4x;
  attributes.active_speed = kSpeed10Gbps;
  attributes.phys_state = nic.has_link() ? kPhysicalStateLinkUp : kPhysicalStateDisabled;
  attributes.link_layer = IBV_LINK_LAYER_ETHERNET;
  attributes.flags = IBV_QPF_GRH_REQUIRED;
  return attributes;
}

}  // namespace

int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes,
               std::size_t size) noexcept {
  const Context& owner = Context::of(context);
  if (owner.is_closed()) return owner.dead_error();
  if (port != kPort) return EINVAL;
  const ibv_port_attr ours = port_attributes(owner.nic());
  // The caller's struct may be an older or a newer one.
  std::memset(attributes, 0, size);
  std::memcpy(attributes, &ours, std::min(size, sizeof(ours)));
  return 0;
}

int query_port_speed(ibv_context* context, std::uint32_t port, std::uint64_t* speed) {
  const Context& owner = Context::of(context);
  if (owner.is_closed()) return refuse(owner.dead_error());
  if (port != kPort || speed == nullptr) return refuse(EINVAL);
  *speed = kSpeedIn100Mbps;
  return 0;
}

}  // namespace urnic::verbs_api

using urnic::verbs_api::Context;
using urnic::verbs_api::injected_error;
using urnic::verbs_api::kDefaultPkey;
using urnic::verbs_api::kPkeyMembershipBit;
using urnic::verbs_api::kPort;
using urnic::verbs_api::refuse;
using urnic::verbs_api::Verb;

extern "C" {

// Programs from before port_cap_flags2 call this, with a struct that ends there.
int ibv_query_port(ibv_context* context, uint8_t port_num, _compat_ibv_port_attr* port_attr) {
  if (const int error = injected_error(Verb::kQueryPort); error != 0) return refuse(error);
  const int error =
      urnic::verbs_api::query_port(context, port_num, reinterpret_cast<ibv_port_attr*>(port_attr),
                                   offsetof(ibv_port_attr, port_cap_flags2));
  return error == 0 ? 0 : refuse(error);
}

int ibv_query_pkey(ibv_context* context, uint8_t port_num, int index, __be16* pkey) {
  if (const int error = injected_error(Verb::kQueryPkey); error != 0) {
    errno = error;
    return -1;
  }
  const Context& owner = Context::of(context);
  if (const int error = owner.is_closed() ? owner.dead_error() : EINVAL;
      owner.is_closed() || port_num != kPort || index != 0) {
    errno = error;
    return -1;
  }
  *pkey = kDefaultPkey;
  return 0;
}

int ibv_get_pkey_index(ibv_context*, uint8_t port_num, __be16 pkey) {
  if (port_num != kPort || (be16toh(pkey) | kPkeyMembershipBit) != kDefaultPkey) {
    errno = EINVAL;
    return -1;
  }
  return 0;
}

}  // extern "C"
