// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the device counts beside the transport: every frame it drops, under the name of the reason.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "transport/counters.h"
#include "transport/enum_names.h"
#include "transport/types.h"
#include "transport/wire/packet.h"

namespace urnic::nic {

/// First the reasons of wire::ParseError, in its order; then the receiver's reasons, in the order in which it
/// checks.
enum class DeviceCounter : std::uint8_t {
  kTruncated,
  kNotIp,
  kBadIpHeader,
  kFragment,
  kNotUdp,
  kNotRoce,
  kBadUdpLength,
  kBadUdpChecksum,
  kBadVersion,
  kUnknownOpcode,
  kTooShort,
  kUnexpectedPayload,
  kBadIcrc,
  kWrongVlan,             ///< not of our VLAN, or of one where we have none
  kWrongMac,              ///< not for our MAC
  kWrongAddress,          ///< not for an address of our GID table
  kManagement,            ///< for queue pair 1, and no message of a connection manager
  kUnknownQp,             ///< for a queue pair that does not exist (queue pair 0 never does)
  kBadPkey,               ///< P_Key does not match 0xffff (fact 14)
  kWrongService,          ///< an opcode of another service than the queue pair's
  kWrongState,            ///< the queue pair is not in RTR or later
  kWrongPeer,             ///< not from the queue pair's peer to the queue pair's address (fact 12)
  kWrongEncapsulation,    ///< RoCE v1 for a queue pair of RoCE v2, or the other way round
  kNoNeighbor,            ///< sent to a peer whose MAC we do not know
  kTooLong,               ///< longer than the port can send
  kStalled,               ///< to a station that has taken nothing for long
  kPortFull,              ///< not a drop: rounds that ended as the port, or one way out, took no more
  kAnsweredAfterDestroy,  ///< not a drop: repeats acknowledged for a destroyed queue pair
  kCongestionMarked,      ///< not a drop: packets that came with ECN "congestion experienced" (fact 50)
  kCnpSent,               ///< not a drop: CNPs to those that sent such packets (fact 50)
  kCnpHandled,            ///< not a drop: CNPs that a controller obeys
  kCnpIgnored,            ///< CNPs that none obeys
  kSteered,               ///< not a drop: frames given to queue pairs by flow rules, each time
};

/// "" for what is no counter.
constexpr std::string_view name_of(DeviceCounter counter) {
  using enum DeviceCounter;
  switch (counter) {
    case kTruncated:
      return "rx_drop_truncated";
    case kNotIp:
      return "rx_drop_not_ip";
    case kBadIpHeader:
      return "rx_drop_bad_ip_header";
    case kFragment:
      return "rx_drop_fragment";
    case kNotUdp:
      return "rx_drop_not_udp";
    case kNotRoce:
      return "rx_drop_not_roce";
    case kBadUdpLength:
      return "rx_drop_bad_udp_length";
    case kBadUdpChecksum:
      return "rx_drop_bad_udp_checksum";
    case kBadVersion:
      return "rx_drop_bad_version";
    case kUnknownOpcode:
      return "rx_drop_unknown_opcode";
    case kTooShort:
      return "rx_drop_too_short";
    case kUnexpectedPayload:
      return "rx_drop_unexpected_payload";
    case kBadIcrc:
      return "rx_drop_bad_icrc";
    case kWrongVlan:
      return "rx_drop_wrong_vlan";
    case kWrongMac:
      return "rx_drop_wrong_mac";
    case kWrongAddress:
      return "rx_drop_wrong_address";
    case kManagement:
      return "rx_drop_management";
    case kUnknownQp:
      return "rx_drop_unknown_qp";
    case kBadPkey:
      return "rx_drop_bad_pkey";
    case kWrongService:
      return "rx_drop_wrong_service";
    case kWrongState:
      return "rx_drop_wrong_state";
    case kWrongPeer:
      return "rx_drop_wrong_peer";
    case kWrongEncapsulation:
      return "rx_drop_wrong_encapsulation";
    case kNoNeighbor:
      return "tx_drop_no_neighbor";
    case kTooLong:
      return "tx_drop_too_long";
    case kStalled:
      return "tx_drop_stalled";
    case kPortFull:
      return "tx_port_full";
    case kAnsweredAfterDestroy:
      return "answered_after_destroy";
    case kCongestionMarked:
      return "np_ecn_marked_roce_packets";
    case kCnpSent:
      return "np_cnp_sent";
    case kCnpHandled:
      return "rp_cnp_handled";
    case kCnpIgnored:
      return "rp_cnp_ignored";
    case kSteered:
      return "rx_steered_frames";
  }
  return "";
}
static_assert(transport::to_integer(DeviceCounter::kWrongVlan) == transport::wire::kParseErrors);

/// Counted under the engine lock, read by any thread.
class DeviceCounters {
 public:
  void add(DeviceCounter counter) { cells_[transport::to_integer(counter)].add(1); }
  void add(transport::wire::ParseError error) { cells_[transport::to_integer(error)].add(1); }
  std::uint64_t value(DeviceCounter counter) const { return cells_[transport::to_integer(counter)].value(); }

 private:
  std::array<transport::CounterCell, transport::count_of<DeviceCounter>()> cells_;
};

}  // namespace urnic::nic
