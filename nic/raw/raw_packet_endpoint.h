// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// RawPacketEndpoint: a queue pair whose messages are Ethernet frames.
#pragma once

#include <cstddef>
#include <span>

#include "transport/dependencies.h"
#include "transport/open_receive.h"
#include "transport/qp_config.h"
#include "transport/unreliable_endpoint.h"
#include "transport/unreliable_send_queue.h"
#include "transport/wire/packet.h"
#include "transport/work_request.h"
#include "transport/written_packet.h"

namespace urnic::nic {

/// A SEND is a frame, from the destination MAC to the last byte of its payload, without the FCS. It leaves as
/// it is; a frame shorter than Ethernet allows gets zeros at its end. It is done when it has been handed to
/// the port. A frame that is shorter than an Ethernet header, or longer than the port can send, fails with
/// kLocalLengthError.
class RawPacketRequester {
 public:
  RawPacketRequester(const transport::QpConfig&, transport::UnreliableSendQueue& queue) : queue_(queue) {}

  /// Writes the next frame to `out`, which is as long as a frame may be; only while the queue has work.
  transport::WrittenPacket poll_transmit(std::span<std::byte> out);

  /// Frames say themselves where they go.
  transport::Destination next_destination() const { return {}; }

 private:
  transport::UnreliableSendQueue& queue_;
};

/// A frame completes one receive, or is dropped and counted as out_of_buffer where none is posted. One that
/// does not fit fails the receive with kLocalLengthError, and that ends the queue pair, as it does on a
/// ConnectX.
class RawPacketResponder {
 public:
  /// It has no peer.
  static constexpr bool kHasPeer = false;

  RawPacketResponder(const transport::QpDependencies& deps, const transport::QpConfig&,
                     transport::OpenReceive& receive)
      : deps_(deps), receive_(receive) {}

  void start() { has_failed_ = false; }
  /// Of `packet` only the payload counts, which is the frame.
  void on_request(const transport::wire::Packet& packet);

  bool has_failed() const { return has_failed_; }
  transport::Psn expected_psn() const { return transport::Psn(); }

 private:
  void fail(transport::CompletionStatus status);

  const transport::QpDependencies& deps_;
  transport::OpenReceive& receive_;
  bool has_failed_ = false;
};

/// Has the states of an unreliable service, and neither packets nor PSNs: on_packet() takes a packet that is
/// all payload, which is a frame, and poll_transmit() writes frames.
using RawPacketEndpoint = transport::UnreliableEndpoint<RawPacketRequester, RawPacketResponder>;

/// A frame as RawPacketEndpoint::on_packet() takes it; refers to `frame`.
inline transport::wire::Packet as_packet(std::span<const std::byte> frame) {
  transport::wire::Packet packet;
  packet.payload = frame;
  return packet;
}

}  // namespace urnic::nic
