// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// PortSpec: what the user wrote after --port, as a value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "transport/result.h"

namespace urnic::nic {

/// Where the NIC's frames go. Written `fabric[:NAME[,SLOT][,switched]]`, `host[,each][,unsegmented]`,
/// `udp[:ADDRESS][,unsegmented]`, `vhost:PATH[,front|back]`, `af_packet:IFACE`, `af_xdp:IFACE`,
/// `pci:ADDRESS`, `bench:PATH` or `loopback`.
struct PortSpec {
  enum class Kind : std::uint8_t { kVhost, kAfPacket, kAfXdp, kPci, kLoopback, kFabric, kUdp, kHost, kBench };
  /// Of a vhost-user wire: the front serves the socket, the back connects to it and keeps trying.
  enum class VhostSide : std::uint8_t { kFront, kBack };

  Kind kind = Kind::kLoopback;
  VhostSide side = VhostSide::kFront;
  /// Socket path (at most 107 bytes), interface, PCI address with its domain, fabric or address of this host;
  /// empty for loopback, host, and for UDP where the host is to choose.
  std::string target;
  unsigned slot = 0;           ///< of a fabric: which of its ports, 0 to kFabricPorts - 1
  bool is_slot_named = false;  ///< by the user; otherwise any will do
  bool is_switched = false;    ///< of a fabric: all frames go through its switch, there are no direct links
  bool is_each = false;        ///< of the host: the NIC has the addresses of one interface alone
  bool is_unsegmented =
      false;  ///< of UDP and the host: each packet is sent by itself, and has identification 0

  /// Whether frames go through a network interface of the host, beside stations that have addresses there.
  bool is_interface() const { return kind == Kind::kAfPacket || kind == Kind::kAfXdp; }

  /// Whether the NIC has addresses of the host, and none of its own.
  bool has_host_addresses() const { return kind == Kind::kUdp || kind == Kind::kHost; }

  /// Whether others are there already, so that the NIC needs an address from the user.
  bool leads_to_a_network() const { return is_interface() || kind == Kind::kPci; }

  /// Parses what the user wrote. The error says what is wrong and shows the forms.
  static Result<PortSpec, Error> parse(std::string_view text);
  /// The text that parse() takes.
  std::string to_string() const;
};

}  // namespace urnic::nic
