// QpType: the services a queue pair can have.
#pragma once

#include <cstdint>
#include <optional>

#include "transport/wire/opcode.h"

namespace urnic::nic {

/// An XRC initiator only sends, an XRC target only receives, into the shared receive queues of its XRC domain. A raw
/// packet queue pair sends and receives Ethernet frames.
enum class QpType : std::uint8_t { kRc, kUc, kUd, kXrcInitiator, kXrcTarget, kRawPacket };

/// The InfiniBand service whose packets it understands; none for raw packets, which are not InfiniBand's.
constexpr std::optional<transport::wire::Service> service_of(QpType type) {
  using transport::wire::Service;
  switch (type) {
    case QpType::kUc:
      return Service::kUc;
    case QpType::kUd:
      return Service::kUd;
    case QpType::kXrcInitiator:
    case QpType::kXrcTarget:
      return Service::kXrc;
    case QpType::kRawPacket:
      return std::nullopt;
    case QpType::kRc:
      break;
  }
  return Service::kRc;
}

/// Whether it has one peer, fixed in RTR, and a path to it.
constexpr bool is_connected(QpType type) { return type != QpType::kUd && type != QpType::kRawPacket; }
/// Whether it has, or shares, a receive queue of its own accord; an XRC target finds one with each message.
constexpr bool has_receive_queue(QpType type) {
  return type != QpType::kXrcInitiator && type != QpType::kXrcTarget;
}

}  // namespace urnic::nic
