// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Which VLAN a NIC is on, and the tag of its frames (IEEE 802.1Q).
#pragma once

#include <cstdint>

#include "nic/port/medium.h"
#include "transport/wire/address.h"
#include "transport/wire/ethernet.h"

namespace urnic::nic {

/// VLAN ids are 1 to this; where a NIC is told one, 0 stands for none.
inline constexpr std::uint16_t kMaxVlan = 4094;

/// Where the frames of a NIC come from. MAC and VLAN say nothing where the medium carries IP packets.
struct LinkSource {
  transport::wire::Mac mac{};
  std::uint16_t vlan = 0;
  Medium medium = Medium::kEthernet;
};

/// The Ethernet header of a frame of ours. The caller fills in where it goes and what it holds. On a VLAN it
/// has that VLAN's tag with `priority` (PCP, 0 to 7).
constexpr transport::wire::Ethernet header_from(const LinkSource& from, std::uint8_t priority = 0) {
  transport::wire::Ethernet header{.source = from.mac};
  if (from.vlan != 0) {
    header.vlan_tags[0].control = static_cast<std::uint16_t>((priority & 7u) << 13 | from.vlan);
    header.vlan_tag_count = 1;
  }
  return header;
}

/// Whether a frame is for a NIC on `vlan`: it has the tag of that VLAN and no other one. Where that is none,
/// it has no tag, or a priority tag, whose VLAN id is 0. Otherwise NICs on a trunk would hear each other's
/// VLANs.
constexpr bool is_on_vlan(const transport::wire::Ethernet& header, std::uint16_t vlan) {
  constexpr std::uint16_t kIdMask = 0xfff;
  if (header.vlan_tag_count == 0) return vlan == 0;
  const transport::wire::VlanTag& tag = header.vlan_tags[0];
  return header.vlan_tag_count == 1 && tag.type == transport::wire::EtherType::kVlan &&
         (tag.control & kIdMask) == vlan;
}

}  // namespace urnic::nic
