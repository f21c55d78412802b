// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// DeviceConfig: everything a device is told when it is made.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nic/personality/device_limits.h"
#include "nic/personality/identity.h"
#include "nic/personality/personality.h"
#include "nic/port/medium.h"
#include "nic/port/vlan.h"
#include "transport/congestion/choice.h"
#include "transport/congestion/notification_parameters.h"
#include "transport/qp_config.h"
#include "transport/time.h"
#include "transport/types.h"
#include "transport/wire/address.h"

namespace urnic::nic {

/// An address and the length of its network prefix in bits.
struct Ipv4Interface {
  transport::wire::Ipv4Address address;
  std::uint8_t prefix_length = 24;
};
struct Ipv6Interface {
  transport::wire::Ipv6Address address;
  std::uint8_t prefix_length = 64;
};

/// An address of the host, and the network interface that has it.
struct HostAddress {
  transport::wire::Gid gid;
  std::string interface {};
  unsigned interface_index = 0;
  transport::wire::Mac mac{};  ///< of the interface
};

/// What makes progress when the program does not poll.
enum class ProgressMode : std::uint8_t {
  kHybrid,    ///< the program's polling threads, and the NIC's own thread when they do not
  kLockStep,  ///< the same over a wire that grants the time (nic/port/granted_time.h)
  kThread,    ///< the NIC's own thread alone
  kManual,    ///< the owner, which calls Device::progress() (simulator, unit tests)
};

/// What protects a bound memory window of type 2. A device has one or the other, as Linux' verbs say it
/// (commit 7083e42ee2ff, "Add type 2 memory windows support").
enum class Type2Windows : std::uint8_t {
  k2A,  ///< the queue pair that bound it
  k2B,  ///< that, and the protection domain
};

struct DeviceConfig {
  std::string name = "urnic0";
  unsigned number = 0;   ///< among the devices of the process
  unsigned devices = 1;  ///< that the process has
  transport::wire::Mac mac;
  std::optional<Ipv4Interface> ipv4;
  std::optional<Ipv6Interface> ipv6;
  /// Where the NIC has the host's addresses: all of them, beginning with the interface that has `ipv4` and
  /// `ipv6`. A NIC with addresses of its own has a link-local one besides, made from its MAC.
  std::vector<HostAddress> host_addresses;
  std::string port_name;              ///< where its frames go, in words for people
  Medium medium = Medium::kEthernet;  ///< what the port carries
  std::uint16_t link_mtu = 4200;      ///< the largest IP packet, in bytes; on a VLAN with the tag
  /// The largest IP packet that the usual ways carry: less than `link_mtu` where the host's routes differ.
  std::uint16_t usual_way_mtu = UINT16_MAX;
  std::uint16_t vlan = 0;  ///< of every frame but raw packets: 1 to kMaxVlan (nic/port/vlan.h); 0: none
  ProgressMode progress = ProgressMode::kHybrid;
  Type2Windows type_2_windows = Type2Windows::k2B;
  std::uint64_t seed = 0;  ///< of QPNs, keys and everything else that is drawn
  /// Which NIC it is like; lives longer than the device.
  const Personality* personality = &personality_of(Column::kDefault);
  /// Whom it says to be; null: urnic. Lives longer than the device.
  const Identity* identity = nullptr;
  bool explain = false;  ///< keep what explains failures; see Device::failures()
  /// With `explain`: also keep that a peer had to wait for a receive, or that what it sent was dropped for
  /// want of one, once for each queue pair.
  bool tells_of_missing_receives = false;

  /// The floor under every ACK timeout; see QpConfig::min_ack_timeout.
  transport::Duration min_ack_timeout = std::chrono::microseconds(4194);
  /// How long the ACK of a WRITE may wait for the program's answer to leave with it; see QpConfig::ack_delay.
  transport::Duration ack_delay = std::chrono::microseconds(20);
  std::uint32_t window_packets = 128;
  std::uint32_t window_bytes = UINT32_MAX;  ///< at most so many of payload in full packets
  /// The best that a reliable connection is offered; used where the peer has it too.
  transport::Recovery recovery = transport::Recovery::kGoBackN;
  /// How connected queue pairs slow down, and what their peers are told.
  transport::congestion::Choice congestion;
  transport::congestion::NotificationParameters congestion_notifications;

  LinkSource link_source() const { return {.mac = mac, .vlan = vlan, .medium = medium}; }
};

/// The largest path MTU that fits the link, and a way on which no larger IP packet gets through, bytes:
/// largest with MTU + 80 <= link MTU (fact 41), where a VLAN's tag counts.
constexpr transport::PathMtu max_path_mtu(const DeviceConfig& config, std::uint32_t mtu_of_way = UINT32_MAX) {
  const std::uint32_t headers = 80 + (config.vlan != 0 ? transport::wire::VlanTag::kBytes : 0);
  const std::uint32_t room = std::min<std::uint32_t>(config.link_mtu, mtu_of_way);
  constexpr transport::PathMtu kLargestFirst[] = {transport::PathMtu::k4096, transport::PathMtu::k2048,
                                                  transport::PathMtu::k1024, transport::PathMtu::k512};
  for (const transport::PathMtu mtu : kLargestFirst) {
    if (bytes(mtu) + headers <= room) return mtu;
  }
  return transport::PathMtu::k256;
}

/// The path MTU of queue pairs that know nothing of their way, and the active MTU that the port reports.
constexpr transport::PathMtu usual_path_mtu(const DeviceConfig& config) {
  return max_path_mtu(config, config.usual_way_mtu);
}

}  // namespace urnic::nic
