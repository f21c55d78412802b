// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The values that URNIC_* variables and the options of `urnic run` take, from text.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "nic/config.h"
#include "nic/personality/identity.h"
#include "nic/personality/personality.h"
#include "transport/result.h"
#include "transport/wire/address.h"

namespace urnic::verbs_api {

// All of them refuse what no NIC can be told, with EINVAL and a reason that reads well after "NAME='TEXT': ".

/// "10.0.0.1/24"; without a length, 24 bits. Not the address of the network, nor a broadcast, multicast or
/// loopback one.
Result<nic::Ipv4Interface, Error> parse_ipv4_interface(std::string_view text);
/// "fd00::1/64"; without a length, 64 bits. Not link-local (that is made from the MAC), multicast or
/// IPv4-mapped.
Result<nic::Ipv6Interface, Error> parse_ipv6_interface(std::string_view text);
/// "02:00:00:00:00:01"; not zero and not a group's.
Result<transport::wire::Mac, Error> parse_mac(std::string_view text);
/// The largest IP packet in bytes: from one that carries the smallest path MTU up to jumbo frames.
Result<std::uint16_t, Error> parse_link_mtu(std::string_view text);
/// The id of a VLAN, 1 to 4094.
Result<std::uint16_t, Error> parse_vlan(std::string_view text);
/// Decimal, or hexadecimal after 0x.
Result<std::uint64_t, Error> parse_seed(std::string_view text);
/// The most devices that a process can have.
inline constexpr unsigned kMaxDevices = 32;
/// How many devices a process has: 1 to kMaxDevices.
Result<unsigned, Error> parse_devices(std::string_view text);
/// A column of nic/personality/table.h, by its name.
Result<nic::Column, Error> parse_personality(std::string_view text);
/// Whom the NIC is like.
struct Likeness {
  nic::Column column = nic::Column::kDefault;
  const nic::Identity* identity = nullptr;  ///< whom it says to be; null: urnic
};
/// The name of a column; after it ",identity", where the NIC is to have its identity, too.
Result<Likeness, Error> parse_like(std::string_view text);
/// A file descriptor's number.
Result<int, Error> parse_descriptor(std::string_view text);

/// Numbers of processors, below 65536, in ascending order: "0-3,8".
Result<std::vector<unsigned>, Error> parse_processors(std::string_view text);

}  // namespace urnic::verbs_api
