// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// UnreliableEndpoint: what the unreliable services have in common, states and queues, around a requester and
// a responder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/congestion/pacer.h"
#include "transport/dependencies.h"
#include "transport/endpoint.h"
#include "transport/open_receive.h"
#include "transport/qp_config.h"
#include "transport/qp_lifecycle.h"
#include "transport/unreliable_send_queue.h"
#include "transport/written_packet.h"

namespace urnic::transport {

/// A queue pair that never answers and never waits for an answer: no pending responses, no timer but the
/// pacer's, which those with a peer have.
///
/// `Requester` has poll_transmit(out) and next_destination(). `Responder` has start(), on_request(packet),
/// has_failed(), expected_psn(), and kHasPeer: whether one peer's first packet establishes communication.
///
/// What cannot be sent ends the send queue only (SQE): its work request fails, and all work requests after
/// it, posted before or later, are flushed. What cannot be received for a reason of our own ends the queue
/// pair (ERR). Nothing that a peer sends ends either of them.
template <typename Requester, typename Responder>
class UnreliableEndpoint final : public Endpoint {
 public:
  /// In state RESET.
  explicit UnreliableEndpoint(const QpDependencies& dependencies)
      : deps_(dependencies),
        send_queue_(deps_, lifecycle_.config()),
        receive_(deps_, lifecycle_.config()),
        requester_(lifecycle_.config(), send_queue_),
        responder_(deps_, lifecycle_.config(), receive_) {}

  void reset() override;
  void to_init(const QpConfig& config) override { lifecycle_.enter(QpState::kInit, config); }
  void to_ready_to_receive(const QpConfig& config) override;
  void to_ready_to_send(const QpConfig& config) override;
  void to_send_queue_drained(const QpConfig& config) override;
  void to_error() override { lifecycle_.enter(QpState::kError); }
  void update(const QpConfig& config) override { lifecycle_.update(config); }

  QpState state() const override { return lifecycle_.state(); }
  const QpConfig& config() const override { return lifecycle_.config(); }
  Psn next_send_psn() const override { return send_queue_.next_psn(); }
  bool is_draining() const override {
    return state() == QpState::kSqDrained && send_queue_.is_inside_message();
  }
  Psn next_receive_psn() const override { return responder_.expected_psn(); }

  void on_packet(const wire::Packet& packet, Time now) override;
  bool on_congestion_notification(Time now) override { return can_send(state()) && pacer_.on_cnp(now); }
  void on_congestion_parameters(Time now) override {
    if (config().congestion != nullptr) pacer_.update(*config().congestion, now);
  }
  std::optional<congestion::ControllerState> congestion_state(Time now) const override {
    return pacer_.state(now);
  }
  bool on_timeout(Time) override {
    pacer_.end_wait();
    return false;
  }
  Time next_timeout() const override { return can_send(state()) ? pacer_.next_departure() : kNever; }
  WrittenPacket poll_transmit(std::span<std::byte> out, Time now) override;
  Destination next_destination() const override;
  bool has_pending_response() const override { return false; }
  void keep_unsent() override { send_queue_.keep_unsent(); }

 private:
  bool has_work() const { return can_send(state()) && send_queue_.has_work(); }
  WrittenPacket poll_requester(std::span<std::byte> out, Time now);
  void flush();

  const QpDependencies deps_;
  QpLifecycle lifecycle_{deps_};
  UnreliableSendQueue send_queue_;
  OpenReceive receive_;
  congestion::Pacer pacer_;
  Requester requester_;
  Responder responder_;
};

template <typename Requester, typename Responder>
void UnreliableEndpoint<Requester, Responder>::reset() {
  lifecycle_.reset();
  pacer_.start(nullptr);
  // Nothing of the old PSNs and messages may remain (fact 40).
  send_queue_.start();
  receive_.start();
  responder_.start();
}

template <typename Requester, typename Responder>
void UnreliableEndpoint<Requester, Responder>::to_ready_to_receive(const QpConfig& config) {
  lifecycle_.enter(QpState::kReadyToReceive, config);
  responder_.start();
}

template <typename Requester, typename Responder>
void UnreliableEndpoint<Requester, Responder>::to_ready_to_send(const QpConfig& config) {
  const bool resumes = state() == QpState::kSqDrained || state() == QpState::kSqError;
  lifecycle_.enter(QpState::kReadyToSend, config);
  if (resumes) {
    send_queue_.resume();
  } else {
    send_queue_.start();
    if constexpr (Responder::kHasPeer) pacer_.start(controller_for(config));
  }
}

template <typename Requester, typename Responder>
void UnreliableEndpoint<Requester, Responder>::to_send_queue_drained(const QpConfig& config) {
  lifecycle_.enter(QpState::kSqDrained, config);
  send_queue_.drain();
}

template <typename Requester, typename Responder>
void UnreliableEndpoint<Requester, Responder>::on_packet(const wire::Packet& packet, Time) {
  const bool can_execute = can_receive(state()) && deps_.receiver.queue != nullptr;
  if (!can_execute) return deps_.counters.add(Counter::kWrongState);
  if constexpr (Responder::kHasPeer) lifecycle_.report(QpEvent::kCommunicationEstablished);
  responder_.on_request(packet);
  if (responder_.has_failed()) to_error();
}

template <typename Requester, typename Responder>
WrittenPacket UnreliableEndpoint<Requester, Responder>::poll_transmit(std::span<std::byte> out, Time now) {
  const WrittenPacket packet = has_work() ? poll_requester(out, now) : WrittenPacket{};
  if (send_queue_.has_failed() && state() != QpState::kError) lifecycle_.enter(QpState::kSqError);
  if (state() == QpState::kSqError) send_queue_.flush();
  if (state() == QpState::kError) flush();
  if (!is_draining()) lifecycle_.report(QpEvent::kSqDrained);
  return packet;
}

template <typename Requester, typename Responder>
WrittenPacket UnreliableEndpoint<Requester, Responder>::poll_requester(std::span<std::byte> out, Time now) {
  if (pacer_.is_active() && pacer_.holds(now)) return {};
  const WrittenPacket packet = requester_.poll_transmit(out);
  if (packet.size > 0 && pacer_.is_active()) {
    pacer_.on_sent({.bytes = static_cast<std::uint32_t>(packet.size)}, now);
  }
  return packet;
}

template <typename Requester, typename Responder>
Destination UnreliableEndpoint<Requester, Responder>::next_destination() const {
  return has_work() ? requester_.next_destination() : Destination{};
}

template <typename Requester, typename Responder>
void UnreliableEndpoint<Requester, Responder>::flush() {
  send_queue_.flush();
  receive_.flush();
  lifecycle_.report(QpEvent::kLastWqeReached);
}

}  // namespace urnic::transport
