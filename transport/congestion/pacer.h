// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Pacer: when a queue pair's next packet with data may leave, and what its controller hears.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "transport/congestion/choice.h"
#include "transport/congestion/controller.h"
#include "transport/time.h"
#include "transport/types.h"

namespace urnic::transport::congestion {

/// Without a controller nothing waits, a caller of is_active() pays one comparison, and the pacer is as large
/// as a pointer. Requests are paced, and the data that READs asked for, together: both congest the same way,
/// and a CNP does not say which of them was marked. Acknowledgements, NAKs and the answers of atomics never
/// wait, nor do CNPs. Round trips are measured on requests.
class Pacer {
 public:
  /// Begins with this controller; null: without one.
  void start(std::unique_ptr<Controller> controller);

  bool is_active() const { return pacing_ != nullptr; }

  // Of one with a controller:

  /// Whether the next packet, which could leave otherwise, has to wait at `now`.
  bool holds(Time now) {
    pacing_->is_waited_for = now < pacing_->next_departure;
    return pacing_->is_waited_for;
  }
  /// Whether a request that follows one of so many bytes (Sent::bytes), which leaves now, has to wait. Then
  /// the one that leaves now should ask for an acknowledgement: the next one that does may come too late for
  /// the ACK timer.
  bool holds_behind(std::uint32_t bytes, Time now) { return departure_behind(bytes, now) > now; }

  /// How many packets of so many bytes may be in flight; at least one.
  std::uint32_t window_packets(std::uint32_t packet_bytes, Time now);

  struct Sent {
    Psn psn{};
    std::uint32_t bytes = 0;    ///< from the BTH to the last byte of padding
    bool asks_for_ack = false;  ///< a request that will be acknowledged by its own PSN or a later one
    bool is_repetition = false;
  };
  void on_sent(const Sent& sent, Time now);

  // Of any:

  /// When the packet that has to wait need not any more; kNever where none waits.
  Time next_departure() const { return is_waited_for() ? pacing_->next_departure : kNever; }
  /// Ends the wait: the packet gets its turn, or there is none any more.
  void end_wait() {
    if (pacing_ != nullptr) pacing_->is_waited_for = false;
  }
  /// Everything before `oldest` is acknowledged.
  void on_acknowledged(Psn oldest, Time now) {
    if (pacing_ != nullptr && pacing_->sample) [[unlikely]] {
      take_sample(oldest, now);
    }
  }
  /// Whether there is a controller that obeys CNPs.
  bool on_cnp(Time now) { return pacing_ != nullptr && pacing_->controller->on_cnp(now); }
  void on_nak(Time now);
  void on_timeout(Time now);
  /// See Controller::update(). A packet that waits already leaves when it would have.
  void update(const Choice& choice, Time now) {
    if (pacing_ != nullptr) pacing_->controller->update(choice, now);
  }

  /// Nothing without a controller. Calls with `now`, of this function or another, are in the order of time.
  std::optional<ControllerState> state(Time now) const;

 private:
  /// A request whose acknowledgement tells how long a round trip takes. One at a time.
  struct Sample {
    Psn psn{};
    Time sent;
  };
  struct Pacing {
    std::unique_ptr<Controller> controller;
    std::optional<Sample> sample{};
    Time next_departure{};
    bool is_waited_for = false;
  };
  bool is_waited_for() const { return pacing_ != nullptr && pacing_->is_waited_for; }
  Time departure_behind(std::uint32_t bytes, Time now);
  void take_sample(Psn oldest, Time now);

  std::unique_ptr<Pacing> pacing_;  ///< null: no controller
};

}  // namespace urnic::transport::congestion
