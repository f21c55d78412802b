// WireObserver: sees all frames of a world, judges them, and makes the trace.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

#include "tests/sim/clock.h"
#include "tests/sim/flow_observer.h"
#include "tests/sim/referee.h"
#include "tests/sim/sim_port.h"

namespace urnic::sim {

/// Shares frames out to the flows of the connections. Damaged frames count as never taken: who reacts to one is found
/// out by what it then says.
class WireObserver final : public FrameTap {
 public:
  WireObserver(const SimClock& clock, Referee& referee, std::uint32_t pairs);

  /// Writes one line per frame to `trace`, which stays open and is the caller's.
  void set_trace(std::FILE* trace) { trace_ = trace; }

  /// Pair `pair` was connected (anew): `limits` by requester, `qp_numbers` by side.
  void on_connected(std::uint32_t pair, const std::array<FlowObserver::Limits, 2>& limits,
                    const std::array<std::uint32_t, 2>& qp_numbers);
  /// What `requester` asks on pair `pair`.
  FlowObserver& flow(std::uint32_t pair, Side requester) { return *connections_[pair].flows[index(requester)]; }

  void on_sent(Side by, std::span<const std::byte> frame) override;
  void on_received(Side by, const Frame& frame) override;

  /// Of everything seen and when: equal for equal runs.
  std::uint64_t trace_hash() const { return hash_; }
  std::uint64_t sent_frames() const { return sent_frames_; }
  transport::Time last_roce_frame() const { return last_roce_frame_; }

  /// Of all flows, former connections included.
  std::vector<FlowObserver::Counts> all_counts() const;

 private:
  struct Connection {
    std::array<std::uint32_t, 2> qp_numbers{};
    std::array<std::unique_ptr<FlowObserver>, 2> flows;
  };

  /// The connection whose queue pair on side `at` has this number, or null.
  Connection* find(Side at, std::uint32_t qp_number);
  void trace(Side by, const char* what, std::span<const std::byte> frame, bool damaged);

  const SimClock& clock_;
  Referee& referee_;
  std::FILE* trace_ = nullptr;
  std::vector<Connection> connections_;
  std::vector<FlowObserver::Counts> former_counts_;
  std::uint64_t hash_ = 0;
  std::uint64_t sent_frames_ = 0;
  transport::Time last_roce_frame_{};
};

}  // namespace urnic::sim
