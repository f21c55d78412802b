// UnreliableEndpoint: what the unreliable services have in common, states and queues, around a requester and
// a responder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/dependencies.h"
#include "transport/endpoint.h"
#include "transport/open_receive.h"
#include "transport/qp_config.h"
#include "transport/unreliable_send_queue.h"

namespace urnic::transport {

/// A queue pair that never answers and never waits for an answer: no timers, no responses owed.
///
/// `Requester` has poll_transmit(out) and next_destination(). `Responder` has start(), on_request(packet),
/// has_failed(), expected_psn(), and kHasPeer: whether one peer's first packet establishes communication.
///
/// What cannot be sent ends the send queue only (SQE): its work request fails, and all posted behind it,
/// before or later, is flushed. What cannot be received for a reason of our own ends the queue pair (ERR).
/// Nothing that a peer sends does either.
template <typename Requester, typename Responder>
class UnreliableEndpoint final : public Endpoint {
 public:
  /// In state RESET.
  explicit UnreliableEndpoint(const QpDependencies& dependencies)
      : deps_(dependencies),
        send_queue_(deps_, config_),
        receive_(deps_, config_),
        requester_(config_, send_queue_),
        responder_(deps_, config_, receive_) {}

  void reset() override;
  void to_init(const QpConfig& config) override;
  void to_ready_to_receive(const QpConfig& config) override;
  void to_ready_to_send(const QpConfig& config) override;
  void to_send_queue_drained(const QpConfig& config) override;
  void to_error() override;
  void update(const QpConfig& config) override { config_ = config; }

  QpState state() const override { return state_; }
  const QpConfig& config() const override { return config_; }
  Psn next_send_psn() const override { return send_queue_.next_psn(); }
  bool is_draining() const override {
    return state_ == QpState::kSqDrained && send_queue_.is_inside_message();
  }
  Psn next_receive_psn() const override { return responder_.expected_psn(); }

  void on_packet(const wire::Packet& packet, Time now) override;
  bool on_timeout(Time) override { return false; }
  Time next_timeout() const override { return kNever; }
  std::size_t poll_transmit(std::span<std::byte> out, Time now) override;
  AddressHandleId next_destination() const override;
  bool has_pending_response() const override { return false; }
  void keep_unsent() override { send_queue_.keep_unsent(); }

 private:
  bool can_send() const {
    return (state_ == QpState::kReadyToSend || state_ == QpState::kSqDrained) && send_queue_.has_work();
  }
  void establish_communication();
  void note_drained();
  void flush();

  const QpDependencies deps_;
  QpConfig config_;
  QpState state_ = QpState::kReset;
  bool communication_established_ = false;
  bool drain_is_awaited_ = false;  // SQD, and the event is still to come
  bool has_flushed_ = false;       // since ERR was entered
  UnreliableSendQueue send_queue_;
  OpenReceive receive_;
  Requester requester_;
  Responder responder_;
};

template <typename Requester, typename Responder>
void UnreliableEndpoint<Requester, Responder>::reset() {
  state_ = QpState::kReset;
  config_ = {};
  communication_established_ = false;
  deps_.send_queue.clear();
  if (deps_.receiver.queue != nullptr && !deps_.receiver.is_shared) deps_.receiver.queue->clear();
  // Nothing of the old PSNs and messages may remain (fact 40).
  send_queue_.start();
  receive_.start();
  responder_.start();
}

template <typename Requester, typename Responder>
void UnreliableEndpoint<Requester, Responder>::to_init(const QpConfig& config) {
  config_ = config;
  state_ = QpState::kInit;
}

template <typename Requester, typename Responder>
void UnreliableEndpoint<Requester, Responder>::to_ready_to_receive(const QpConfig& config) {
  config_ = config;
  responder_.start();
  state_ = QpState::kReadyToReceive;
}

template <typename Requester, typename Responder>
void UnreliableEndpoint<Requester, Responder>::to_ready_to_send(const QpConfig& config) {
  const bool resumes = state_ == QpState::kSqDrained || state_ == QpState::kSqError;
  config_ = config;
  state_ = QpState::kReadyToSend;
  drain_is_awaited_ = false;
  if (resumes) {
    send_queue_.resume();
  } else {
    send_queue_.start();
  }
}

template <typename Requester, typename Responder>
void UnreliableEndpoint<Requester, Responder>::to_send_queue_drained(const QpConfig& config) {
  config_ = config;
  state_ = QpState::kSqDrained;
  send_queue_.drain();
  drain_is_awaited_ = config.notify_when_drained;
}

template <typename Requester, typename Responder>
void UnreliableEndpoint<Requester, Responder>::to_error() {
  if (state_ != QpState::kError) has_flushed_ = false;
  state_ = QpState::kError;
}

template <typename Requester, typename Responder>
void UnreliableEndpoint<Requester, Responder>::on_packet(const wire::Packet& packet, Time) {
  const bool can_execute = can_receive(state_) && deps_.receiver.queue != nullptr;
  if (!can_execute) return deps_.counters.add(Counter::kWrongState);
  establish_communication();
  responder_.on_request(packet);
  if (responder_.has_failed()) to_error();
}

template <typename Requester, typename Responder>
void UnreliableEndpoint<Requester, Responder>::establish_communication() {
  if constexpr (Responder::kHasPeer) {
    if (state_ != QpState::kReadyToReceive || communication_established_) return;
    communication_established_ = true;
    deps_.events.on_qp_event(config_.local_qp, QpEvent::kCommunicationEstablished);
  }
}

template <typename Requester, typename Responder>
std::size_t UnreliableEndpoint<Requester, Responder>::poll_transmit(std::span<std::byte> out, Time) {
  const std::size_t size = can_send() ? requester_.poll_transmit(out) : 0;
  if (send_queue_.has_failed() && state_ != QpState::kError) state_ = QpState::kSqError;
  if (state_ == QpState::kSqError) send_queue_.flush();
  if (state_ == QpState::kError) flush();
  note_drained();
  return size;
}

template <typename Requester, typename Responder>
AddressHandleId UnreliableEndpoint<Requester, Responder>::next_destination() const {
  return can_send() ? requester_.next_destination() : AddressHandleId{};
}

template <typename Requester, typename Responder>
void UnreliableEndpoint<Requester, Responder>::note_drained() {
  if (state_ != QpState::kSqDrained || !drain_is_awaited_ || is_draining()) return;
  drain_is_awaited_ = false;
  deps_.events.on_qp_event(config_.local_qp, QpEvent::kSqDrained);
}

// Who shares a receive queue hears once that nothing more will be taken from it for this queue pair.
template <typename Requester, typename Responder>
void UnreliableEndpoint<Requester, Responder>::flush() {
  send_queue_.flush();
  receive_.flush();
  if (!has_flushed_ && deps_.receiver.is_shared) {
    deps_.events.on_qp_event(config_.local_qp, QpEvent::kLastWqeReached);
  }
  has_flushed_ = true;
}

}  // namespace urnic::transport
