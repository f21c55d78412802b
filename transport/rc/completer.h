// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Completer: takes acknowledgements and READ responses, completes work requests, decides about retries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/completion.h"
#include "transport/congestion/pacer.h"
#include "transport/dependencies.h"
#include "transport/qp_config.h"
#include "transport/rc/credits.h"
#include "transport/rc/recovery/loss_recovery.h"
#include "transport/rc/retry.h"
#include "transport/rc/send_window.h"
#include "transport/send_completion.h"
#include "transport/wire/packet.h"
#include "transport/wire/run.h"

namespace urnic::transport {

class Completer {
 public:
  Completer(const QpDependencies& deps, const QpConfig& config, SendWindow& window, Retry& retry,
            Credits& credits, congestion::Pacer& pacer)
      : deps_(deps), config_(config), window_(window), retry_(retry), credits_(credits), pacer_(pacer) {}

  void start() {
    credits_.start();
    heard_end_ = deps_.send_queue.head();
  }

  /// An acknowledgement, NAK or response from the peer.
  void on_packet(const wire::Packet& packet, Time now);
  /// As Endpoint::on_run(): responses to the oldest READ.
  bool on_run(const wire::Run& run, Time now);
  /// The retry timer may have run out. As Endpoint::on_timeout().
  bool on_timeout(Time now);

  /// The oldest work request has failed for this reason; the endpoint is to complete it so and to stop.
  std::optional<SendOutcome> head_error() const { return head_error_; }
  void clear_error() { head_error_.reset(); }

  /// Completes the oldest work request and removes it.
  void complete_head(const SendOutcome& outcome);
  /// Completes everything in the queue as flushed, after a failure or without one. The window is not in use
  /// any more.
  void flush(bool has_failed);

 private:
  void on_acknowledge(const wire::Packet& packet, Time now);
  void on_rnr_nak(std::uint8_t timer_code, Time now, bool passes_read);
  void on_nak(std::uint8_t syndrome, Time now);
  void on_selective_nak(const wire::Packet& packet, Time now);
  void on_response(const wire::Packet& packet, Time now);
  [[gnu::cold]] void on_later_response(Psn psn, Time now);
  bool acknowledge_before(Psn psn, Time now);
  bool acknowledge_whole_or_part(Psn psn);
  void acknowledge_executed();
  void recover(Loss loss, Counter reason);
  bool use_retry(Counter reason);
  bool has_another_try(bool has_one);
  bool go_back();
  InFlight in_flight() const { return {.oldest = window_.oldest(), .end = window_.sent_end()}; }
  bool is_expected_response(const wire::Packet& packet, std::uint32_t index, std::uint32_t offset) const;
  void complete_unheard(SendOutcome outcome);
  bool is_expected_run(const wire::Run& run, std::uint32_t index) const;
  void on_response_taken(Psn last, Time now);
  DmaStatus take_response(const wire::Packet& packet, std::uint32_t offset);
  void made_progress(Time now);

  const QpDependencies& deps_;
  const QpConfig& config_;
  SendWindow& window_;
  Retry& retry_;
  Credits& credits_;
  congestion::Pacer& pacer_;
  /// How far from the oldest PSN the responses came that cannot be taken, since the last progress.
  std::uint32_t furthest_response_ = 0;
  std::uint32_t heard_end_ = 0;  ///< end of what completions have told, with QpConfig::names_oldest_failure
  std::optional<SendOutcome> head_error_;
};

}  // namespace urnic::transport
