// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What programs and rdma_cm tell each other: addresses, parameters, events. All numbers are in host order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "nic/cm/types.h"
#include "nic/path/path.h"
#include "transport/qp_state.h"
#include "transport/types.h"
#include "transport/wire/address.h"

namespace urnic::nic::rdma_cm {

/// How a program names its id (rdma_cm_id): at most kMaxIds are in use at a time, with numbers below that.
enum class IdNumber : std::uint32_t {};
inline constexpr std::uint32_t kMaxIds = 0xffff;

/// The values of enum rdma_port_space.
enum class PortSpace : std::uint16_t { kIpoib = 0x0002, kTcp = 0x0106, kUdp = 0x0111, kIb = 0x013f };
inline constexpr PortSpace kPortSpaces[] = {PortSpace::kTcp, PortSpace::kUdp, PortSpace::kIb,
                                            PortSpace::kIpoib};

/// As people call it; "" for what is no port space.
constexpr std::string_view name_of(PortSpace space) {
  using enum PortSpace;
  switch (space) {
    case kTcp:
      return "TCP";
    case kUdp:
      return "UDP";
    case kIb:
      return "IB";
    case kIpoib:
      return "IPOIB";
  }
  return "";
}

/// What kind of queue pair an id is for.
enum class Service : std::uint8_t { kRc, kUc, kUd, kXrc };

/// As people call it; "" for what is no service.
constexpr std::string_view name_of(Service service) {
  using enum Service;
  switch (service) {
    case kRc:
      return "RC";
    case kUc:
      return "UC";
    case kUd:
      return "UD";
    case kXrc:
      return "XRC";
  }
  return "";
}

/// An IP address and a port.
struct SocketAddress {
  enum class Family : std::uint8_t { kNone, kIpv4, kIpv6 };

  Family family = Family::kNone;           ///< of the program's struct
  transport::wire::Ipv6Address address{};  ///< of IPv4 the mapped one, 0.0.0.0 included
  std::uint16_t port = 0;
  std::uint32_t flow_info = 0;  ///< IPv6: the flow label, 20 bits
  std::uint32_t scope_id = 0;   ///< IPv6: the index of the interface that a link-local address is on

  /// Whether packets have it in IPv4 headers: IPv6's mapped addresses (0:0:0:0:0:ffff:10.0.0.1) are IPv4's.
  /// Programs get them from getaddrinfo() where a host has no IPv4 address.
  bool is_ipv4() const { return address.is_ipv4_mapped(); }
  /// In IPv4's family, if it is one of its addresses.
  SocketAddress normalized() const;
  /// 0.0.0.0 or ::
  bool is_any() const;
  /// 127.0.0.0/8 or ::1
  bool is_loopback() const;

  friend bool operator==(const SocketAddress&, const SocketAddress&) = default;
};

/// "10.77.0.1:7174", "[fd77::3]:7174"; "" without a family.
std::string to_string(const SocketAddress& address);

/// The most private data in a parameter or an event, in bytes.
inline constexpr std::size_t kMaxPrivateBytes = 224;

struct PrivateBytes {
  std::array<std::byte, kMaxPrivateBytes> bytes{};
  std::uint8_t size = 0;

  friend bool operator==(const PrivateBytes&, const PrivateBytes&) = default;
};

/// struct rdma_conn_param. In an event "responder resources" and "initiator depth" are seen from the side
/// that gets it, as Linux has it.
struct ConnectionParameters {
  PrivateBytes private_data{};
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
  bool flow_control = false;
  std::uint8_t retry_count = 0;
  std::uint8_t rnr_retry_count = 0;
  bool srq = false;
  transport::QpNumber qp{};  ///< the program's; in an event the peer's
  std::uint32_t qkey = 0;    ///< of a datagram service
  cm::Ece ece{};             ///< of a connection
};

/// struct rdma_ud_param: where datagrams go.
struct DatagramParameters {
  PrivateBytes private_data{};
  AddressVector address{};
  transport::QpNumber qp{};
  std::uint32_t qkey = 0;
};

/// The values of enum rdma_cm_event_type.
enum class EventType : std::uint8_t {
  kAddressResolved,
  kAddressError,
  kRouteResolved,
  kRouteError,
  kConnectRequest,
  kConnectResponse,
  kConnectError,
  kUnreachable,
  kRejected,
  kEstablished,
  kDisconnected,
  kDeviceRemoval,
  kMulticastJoin,
  kMulticastError,
  kAddressChange,
  kTimewaitExit,
};

struct Event {
  EventType type{};
  std::uint64_t uid =
      0;  ///< what the program gave with the id (of kConnectRequest: the listener's), or with the join
  IdNumber id{};  ///< of kConnectRequest: a new id, on the listener's channel
  /// A negative errno, or the reason of a REJ, or the status of a SIDR_REP.
  int status = 0;
  std::variant<std::monostate, ConnectionParameters, DatagramParameters> parameters{};
};

/// The path to the peer, as an SA would describe it.
struct PathRecord {
  transport::wire::Gid source{};
  transport::wire::Gid destination{};
  std::uint32_t flow_label = 0;
  std::uint8_t hop_limit = 0;
  std::uint8_t traffic_class = 0;
  std::uint8_t service_level = 0;
  std::uint16_t pkey = 0xffff;
  transport::PathMtu mtu = transport::PathMtu::k256;
  std::uint8_t rate = 0;              ///< the code of enum ibv_rate
  std::uint8_t packet_life_time = 0;  ///< 4.096 us x 2^t
};

/// What is known of an id.
struct Description {
  PortSpace port_space = PortSpace::kTcp;
  SocketAddress local;
  SocketAddress peer;
  /// It is bound to an address of the NIC: the program may make a queue pair on it. Not so a listener for any
  /// address.
  bool is_on_device = false;
  std::uint64_t node_guid = 0;     ///< of the device
  std::optional<PathRecord> path;  ///< once the route was resolved
};

/// What a queue pair's state is to be changed with (rdma_init_qp_attr). Which of it counts depends on state
/// and service: INIT of datagrams the Q_Key, of others access; RTR of connections what is for receiving, RTS
/// what is for sending.
struct QpSettings {
  Service service = Service::kRc;
  transport::QpState state{};
  bool is_xrc_target = false;        ///< of kXrc: the passive side, which answers requests
  bool is_connection_known = false;  ///< otherwise INIT only, without access
  std::uint32_t qkey = 0;
  bool allows_reads =
      false;  ///< remote READ and atomics; remote WRITE is always allowed once the connection is known
  AddressVector address{};
  transport::PathMtu path_mtu = transport::PathMtu::k256;
  transport::QpNumber peer{};
  transport::Psn receive_psn{};
  transport::Psn send_psn{};
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
  std::uint8_t min_rnr_timer = 0;
  std::uint8_t ack_timeout = 0;
  std::uint8_t retry_count = 0;
  std::uint8_t rnr_retry_count = 0;
};

}  // namespace urnic::nic::rdma_cm
