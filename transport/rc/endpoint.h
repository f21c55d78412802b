// RcEndpoint: a reliable connection, put together from its requester, completer and responder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/endpoint.h"
#include "transport/rc/completer.h"
#include "transport/rc/config.h"
#include "transport/rc/requester.h"
#include "transport/rc/responder.h"
#include "transport/rc/retry.h"
#include "transport/rc/send_window.h"
#include "transport/rc/surroundings.h"

namespace urnic::transport {

class RcEndpoint final : public Endpoint {
 public:
  /// In state RESET.
  explicit RcEndpoint(const RcSurroundings& surroundings);

  // --- State, from modify_qp; attributes were checked by the caller ---

  /// Back to RESET: forgets everything, both queues included (nobody posts meanwhile).
  void reset();
  /// To INIT.
  void to_init(const RcConfig& config);
  /// To RTR: takes the responder's half of `config`.
  void to_ready_to_receive(const RcConfig& config);
  /// To RTS: takes the requester's half of `config`.
  void to_ready_to_send(const RcConfig& config);
  /// To ERR: everything posted, now or later, completes as flushed at the next poll_transmit().
  void to_error();
  /// New access rights, RNR timer or the like without a change of state.
  void update(const RcConfig& config);

  const RcConfig& config() const { return config_; }
  /// The next PSN to be sent and expected, as query_qp reports them.
  Psn next_send_psn() const { return window_.next_psn(); }
  Psn next_receive_psn() const { return responder_.expected_psn(); }
  /// Requests completed as a responder, 24 bits.
  std::uint32_t msn() const { return responder_.msn(); }

  // --- Endpoint ---

  void on_packet(const wire::Packet& packet, Time now) override;
  void on_timeout(Time now) override;
  Time next_timeout() const override;
  std::size_t poll_transmit(std::span<std::byte> out, Time now) override;
  bool owes_response() const override { return responder_.owes_response(); }
  QpState state() const override { return state_; }

 private:
  void on_request(const wire::Packet& packet);
  void fail_if_needed();

  const RcSurroundings around_;
  RcConfig config_;
  QpState state_ = QpState::kReset;
  bool communication_established_ = false;
  bool responder_is_next_ = true;
  SendWindow window_;
  Retry retry_;
  Requester requester_;
  Completer completer_;
  Responder responder_;
};

}  // namespace urnic::transport
