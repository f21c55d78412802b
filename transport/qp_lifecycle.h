// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// QpLifecycle: the state of a queue pair, its attributes, and the events that it reports to its program on
// the way.
#pragma once

#include <optional>

#include "transport/dependencies.h"
#include "transport/qp_config.h"
#include "transport/qp_state.h"

namespace urnic::transport {

/// What the endpoints of all services have in common. In three states the program is told something, once: in
/// RTR that its peer sends, in SQD that the send queue is drained, if it asked for that, and in ERR that the
/// queue pair takes nothing more from a receive queue that it shares.
class QpLifecycle {
 public:
  /// In state RESET.
  explicit QpLifecycle(const QpDependencies& deps) : deps_(deps) {}

  QpState state() const { return state_; }
  /// The same object for as long as this one lives.
  const QpConfig& config() const { return config_; }

  /// Back to RESET; drops what is posted to the queue pair's own queues.
  void reset() {
    enter(QpState::kReset, {});
    deps_.send_queue.clear();
    if (deps_.receiver.queue != nullptr && !deps_.receiver.is_shared) deps_.receiver.queue->clear();
  }
  void enter(QpState state, const QpConfig& config) {
    config_ = config;
    enter(state);
  }
  /// Nothing happens when the queue pair is in that state already: its event is not told again.
  void enter(QpState state) {
    if (state == state_) return;
    state_ = state;
    event_to_come_ = event_of(state);
    const bool is_error = state == QpState::kError || state == QpState::kSqError;
    if (is_error && deps_.observer != nullptr) deps_.observer->on_error_state();
  }
  /// Other attributes in the same state.
  void update(const QpConfig& config) { config_ = config; }

  /// The event of a state has come; it is told if the queue pair is in that state, and the first time only.
  void report(QpEvent event) {
    if (event_to_come_ != event) return;
    event_to_come_.reset();
    deps_.events.on_qp_event(config_.local_qp, event);
  }

 private:
  std::optional<QpEvent> event_of(QpState state) const {
    const bool shares_receives = deps_.receiver.is_shared || deps_.xrc_receivers != nullptr;
    if (state == QpState::kReadyToReceive) return QpEvent::kCommunicationEstablished;
    if (state == QpState::kSqDrained && config_.notify_when_drained) return QpEvent::kSqDrained;
    if (state == QpState::kError && shares_receives) return QpEvent::kLastWqeReached;
    return std::nullopt;
  }

  const QpDependencies& deps_;
  QpConfig config_;
  QpState state_ = QpState::kReset;
  std::optional<QpEvent> event_to_come_;  // of the state
};

}  // namespace urnic::transport
