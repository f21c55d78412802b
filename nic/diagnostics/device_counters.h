// What the device counts beside the transport: every frame it drops, under the name of the reason.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "transport/counters.h"
#include "transport/types.h"
#include "transport/wire/packet.h"

namespace urnic::nic {

/// The order is the order of kDeviceCounterNames. The first are the reasons of wire::ParseError, in its
/// order; then those of the receiver, in the order in which it checks.
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
  kWrongVlan,               ///< not of our VLAN, or of one where we have none
  kWrongMac,                ///< not for our MAC
  kWrongAddress,            ///< not for an address of our GID table
  kManagement,              ///< for queue pair 1, which nobody serves yet
  kUnknownQp,               ///< for a queue pair that does not exist (queue pair 0 never does)
  kBadPkey,                 ///< P_Key does not match 0xffff (fact 14)
  kCongestionNotification,  ///< a CNP, which nobody obeys yet (fact 49)
  kWrongService,            ///< an opcode of another service than the queue pair's
  kWrongState,              ///< the queue pair is not in RTR or later
  kWrongPeer,               ///< not from the queue pair's peer to the queue pair's address (fact 12)
  kNoNeighbor,              ///< sent to a peer whose MAC nobody told us
  kTooLong,                 ///< longer than the port can send
  kPortFull,                ///< not a drop: how often a round ended because the port took no more
  kAnsweredAfterDestroy,    ///< not a drop: repeats acknowledged for a destroyed queue pair
  kCongestionMarked,        ///< not a drop: packets that came with ECN "congestion experienced" (fact 50)
  kSteered,                 ///< not a drop: frames given to queue pairs by flow rules, each time
};

inline constexpr std::array kDeviceCounterNames = std::to_array<std::string_view>({
    "rx_drop_truncated",      "rx_drop_not_ip",
    "rx_drop_bad_ip_header",  "rx_drop_fragment",
    "rx_drop_not_udp",        "rx_drop_not_roce",
    "rx_drop_bad_udp_length", "rx_drop_bad_udp_checksum",
    "rx_drop_bad_version",    "rx_drop_unknown_opcode",
    "rx_drop_too_short",      "rx_drop_unexpected_payload",
    "rx_drop_bad_icrc",       "rx_drop_wrong_vlan",
    "rx_drop_wrong_mac",      "rx_drop_wrong_address",
    "rx_drop_management",     "rx_drop_unknown_qp",
    "rx_drop_bad_pkey",       "rx_drop_congestion_notification",
    "rx_drop_wrong_service",  "rx_drop_wrong_state",
    "rx_drop_wrong_peer",     "tx_drop_no_neighbor",
    "tx_drop_too_long",       "tx_port_full",
    "answered_after_destroy", "np_ecn_marked_roce_packets",
    "rx_steered_frames",
});
static_assert(transport::to_integer(DeviceCounter::kSteered) + 1u == kDeviceCounterNames.size());
static_assert(transport::to_integer(DeviceCounter::kWrongVlan) == transport::wire::kParseErrors);

/// Counted under the engine lock, read by any thread.
class DeviceCounters {
 public:
  void add(DeviceCounter counter) { cells_[transport::to_integer(counter)].add(1); }
  void add(transport::wire::ParseError error) { cells_[transport::to_integer(error)].add(1); }
  std::uint64_t value(DeviceCounter counter) const { return cells_[transport::to_integer(counter)].value(); }

 private:
  std::array<transport::CounterCell, kDeviceCounterNames.size()> cells_;
};

}  // namespace urnic::nic
