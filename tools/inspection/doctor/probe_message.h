// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ProbeMessage: what two doctors send each other, to find out what the way between them carries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/wire/address.h"

namespace urnic::tools {

/// An address and a UDP port, as a host sees them: behind a translator (NAT) they are others than at the
/// sender.
struct ProbeSender {
  transport::wire::Gid address{};  ///< an IPv4 address is mapped
  std::uint16_t port = 0;

  friend bool operator==(const ProbeSender&, const ProbeSender&) = default;
};

/// The first bytes of a UDP datagram, in network order: eight letters, a kind, a zero, a port, a number that
/// the asking side has drawn, a size, and an address. Padding follows. No RoCEv2 packet begins so: as a BTH
/// it would have a transport version that does not exist.
struct ProbeMessage {
  static constexpr std::size_t kBytes = 40;

  enum class Kind : std::uint8_t {
    kProbe = 1,    ///< as large as it says, and asks for both answers
    kReceipt = 2,  ///< as short as can be: the probe has come
    kEcho = 3,     ///< as large as the probe
  };

  Kind kind = Kind::kProbe;
  std::uint64_t number = 0;        ///< of the probe
  std::uint32_t packet_bytes = 0;  ///< of the probe, IP header included
  ProbeSender sender{};            ///< of the probe, as it came; in answers

  /// Nothing for what is no such message.
  static std::optional<ProbeMessage> parse(std::span<const std::byte> bytes);
  /// Writes it to the front of `out`, which has kBytes at least.
  void emit(std::span<std::byte> out) const;

  friend bool operator==(const ProbeMessage&, const ProbeMessage&) = default;
};

}  // namespace urnic::tools
