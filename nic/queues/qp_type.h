// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// QpType: the services a queue pair can have.
#pragma once

#include <cstdint>
#include <optional>

#include "transport/wire/opcode.h"
#include "transport/work_request.h"

namespace urnic::nic {

/// An XRC initiator only sends, an XRC target only receives, into the shared receive queues of its XRC
/// domain. A raw packet queue pair sends and receives Ethernet frames. One for RSS hands those that flow
/// rules give it on to work queues, which only receive; it has neither queues nor states of its own.
enum class QpType : std::uint8_t { kRc, kUc, kUd, kXrcInitiator, kXrcTarget, kRawPacket, kRss, kWorkQueue };

/// Whether it is about Ethernet frames, and knows no packets of InfiniBand.
constexpr bool is_for_frames(QpType type) {
  return type == QpType::kRawPacket || type == QpType::kRss || type == QpType::kWorkQueue;
}

/// The InfiniBand service whose packets it understands; none for frames, which are not InfiniBand's.
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
    case QpType::kRss:
    case QpType::kWorkQueue:
      return std::nullopt;
    case QpType::kRc:
      break;
  }
  return Service::kRc;
}

/// Whether it has one peer, fixed in RTR, and a path to it.
constexpr bool is_connected(QpType type) {
  return type != QpType::kUd && !is_for_frames(type);
}
/// Whether its peers acknowledge nothing: what has left is done.
constexpr bool is_unreliable(QpType type) {
  return type == QpType::kUc || type == QpType::kUd || type == QpType::kRawPacket;
}
/// Whether work can be posted to its send queue in some state.
constexpr bool has_send_queue(QpType type) {
  return type != QpType::kXrcTarget && type != QpType::kRss && type != QpType::kWorkQueue;
}
/// Whether it has, or shares, a receive queue of its own accord; an XRC target finds one with each message,
/// and RSS one with each frame.
constexpr bool has_receive_queue(QpType type) {
  return type != QpType::kXrcInitiator && type != QpType::kXrcTarget && type != QpType::kRss;
}

/// Which operations a program can post to a queue pair of this type. A datagram queue pair completes in error
/// what it cannot do, as rdma_rxe and mlx5 do.
constexpr bool can_post(QpType type, transport::SendOperation operation) {
  using transport::SendOperation;
  switch (type) {
    case QpType::kRc:
    case QpType::kXrcInitiator:
    case QpType::kUd:
      return true;
    case QpType::kUc:
      return !has_response(operation) && operation != SendOperation::kSendWithInvalidate;
    case QpType::kRawPacket:
      return operation == SendOperation::kSend;
    case QpType::kXrcTarget:
    case QpType::kRss:
    case QpType::kWorkQueue:
      break;
  }
  return false;
}

}  // namespace urnic::nic
