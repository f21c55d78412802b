// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// RcEndpoint: a reliable connection, or its extended form (XRC), put together from requester, completer and
// responder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/congestion/pacer.h"
#include "transport/dependencies.h"
#include "transport/endpoint.h"
#include "transport/qp_config.h"
#include "transport/qp_lifecycle.h"
#include "transport/rc/completer.h"
#include "transport/rc/credits.h"
#include "transport/rc/requester.h"
#include "transport/rc/responder.h"
#include "transport/rc/retry.h"
#include "transport/rc/send_window.h"

namespace urnic::transport {

/// An XRC initiator has nowhere to receive: requests to it are dropped. An XRC target has an empty send
/// queue.
class RcEndpoint final : public Endpoint {
 public:
  /// In state RESET.
  explicit RcEndpoint(const QpDependencies& dependencies);

  void reset() override;
  void to_init(const QpConfig& config) override { lifecycle_.enter(QpState::kInit, config); }
  void to_ready_to_receive(const QpConfig& config) override;
  void to_ready_to_send(const QpConfig& config) override;
  void to_send_queue_drained(const QpConfig& config) override;
  void to_error() override;
  void update(const QpConfig& config) override;

  QpState state() const override { return lifecycle_.state(); }
  const QpConfig& config() const override { return lifecycle_.config(); }
  Psn next_send_psn() const override { return window_.next_psn(); }
  Psn next_receive_psn() const override { return responder_.expected_psn(); }
  bool is_draining() const override;
  std::uint32_t msn() const override { return responder_.msn(); }
  Psn acknowledgeable_psn() const override { return responder_.acknowledgeable_psn(); }
  SendProgress send_progress() const override;
  std::optional<congestion::ControllerState> congestion_state(Time now) const override {
    return pacer_.state(now);
  }
  void forget_receiver(const ReceiveQueue& queue) override { responder_.forget_receiver(queue); }

  void on_packet(const wire::Packet& packet, Time now) override;
  bool on_run(const wire::Run& run, Time now) override;
  bool on_congestion_notification(Time now) override;
  void on_congestion_parameters(Time now) override;
  bool on_timeout(Time now) override;
  Time next_timeout() const override;
  Time acknowledge_by() const override { return can_send(state()) ? retry_.overdue_at() : kNever; }
  void restart_ack_timer(Time now) override { retry_.restart(now); }
  WrittenPacket poll_transmit(std::span<std::byte> out, Time now) override { return poll(out, 0, now); }
  WrittenPacket poll_run(std::span<std::byte> out, std::uint32_t most, Time now) override;
  bool has_pending_response() const override { return responder_.has_pending_response(); }
  void flush_delayed_ack() override { responder_.flush_delayed_ack(); }

 private:
  bool can_execute() const { return deps_.receiver.queue != nullptr || deps_.xrc_receivers != nullptr; }
  void on_request(const wire::Packet& packet, Time now);
  WrittenPacket poll(std::span<std::byte> out, std::uint32_t most, Time now);
  void do_local_work();
  void flush();
  void fail_if_needed();
  void fail();

  const QpDependencies deps_;
  QpLifecycle lifecycle_{deps_};
  bool responder_is_next_ = true;
  bool has_failed_ = false;  // rather than been put in ERR, or has flushed since
  SendWindow window_;
  Retry retry_;
  Credits credits_;
  congestion::Pacer pacer_;
  Requester requester_;
  Completer completer_;
  Responder responder_;
};

}  // namespace urnic::transport
