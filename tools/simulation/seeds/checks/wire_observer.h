// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// WireObserver: sees all frames of a world, judges them, and makes the trace.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <unordered_map>
#include <vector>

#include "tools/simulation/kernel/clock.h"
#include "tools/simulation/seeds/checks/flow_observer.h"
#include "tools/simulation/seeds/checks/management_observer.h"
#include "tools/simulation/seeds/checks/notification_observer.h"
#include "tools/simulation/seeds/checks/unreliable_flow.h"
#include "tools/simulation/seeds/core/notification_view.h"
#include "tools/simulation/seeds/core/referee.h"
#include "tools/simulation/seeds/network/sim_port.h"

namespace urnic::sim {

/// Shares frames out to the flows of the connections. Damaged frames count as never taken: who reacts to one
/// is found out by what it then says.
class WireObserver final : public FrameTap {
 public:
  /// `lateness`: how much later than its engine wants may a frame leave.
  WireObserver(const kernel::Clock& clock, Referee& referee, std::uint32_t pairs, Duration lateness);

  /// Writes one line per frame to `trace`, which stays open and is the caller's.
  void set_trace(std::FILE* trace) { trace_ = trace; }

  /// What an end of a connection is called by: the queue pair that makes requests and the one that takes
  /// them, which are the same except for XRC.
  struct Numbers {
    std::uint32_t requester = 0;
    std::uint32_t responder = 0;
  };
  /// Pair `pair` was connected (again): `limits` by requester, hosts and numbers by end.
  void on_connected(std::uint32_t pair, WireService service,
                    const std::array<FlowObserver::Limits, 2>& limits, const std::array<HostId, 2>& hosts,
                    const std::array<Numbers, 2>& numbers);
  /// A queue pair sends from now on that is not reliable: a datagram one, which is on `host` and has this
  /// number, or one whose peer is there and has this number.
  void on_unreliable(HostId host, std::uint32_t qp_number, const UnreliableFlow::Expectations& expected);
  /// Its flow, by the same host and number.
  UnreliableFlow& unreliable(HostId host, std::uint32_t qp_number);
  /// What the connection managers say.
  const ManagementObserver& management() const { return management_; }
  const NotificationObserver& notifications() const { return notifications_; }
  /// What `requester` asks on pair `pair`.
  FlowObserver& flow(std::uint32_t pair, Side requester) { return *flows_[pair][index(requester)]; }

  void on_sent(HostId by, std::span<const std::byte> frame) override;
  void on_received(HostId by, const Frame& frame) override;

  /// Of everything seen and when: equal for equal runs.
  std::uint64_t trace_hash() const { return hash_; }
  std::uint64_t sent_frames() const { return sent_frames_; }
  transport::Time last_roce_frame() const { return last_roce_frame_; }

  /// Of all flows, former connections included.
  std::vector<FlowObserver::Counts> all_counts() const;

 private:
  using Flows = std::array<std::unique_ptr<FlowObserver>, 2>;  // by requester

  /// One end of a connection, as the frames that go there name it.
  struct End {
    std::uint32_t pair = 0;
    Side side{};
    HostId peer{};
    WireService service{};
    bool takes_requests = false;
    bool takes_responses = false;
  };

  /// The end on `at` with this queue pair, if `peer` is who talks to it; otherwise null.
  const End* find(HostId at, HostId peer, std::uint32_t qp_number) const;
  /// The host whose MAC is at `offset` of the frame.
  static std::size_t host_at(std::span<const std::byte> frame, std::size_t offset);
  std::string judge(HostId by, std::size_t destination, const WireView& packet);
  std::string judge_notification(HostId by, std::size_t destination, const NotificationView& cnp);
  std::string judge_management(HostId by, std::size_t destination, std::span<const std::byte> frame);
  void trace(transport::Time now, HostId by, const char* what, std::span<const std::byte> frame,
             bool damaged);

  const kernel::Clock& clock_;
  Referee& referee_;
  std::FILE* trace_ = nullptr;
  std::vector<Flows> flows_;  // by pair
  std::unordered_map<std::uint64_t, UnreliableFlow> unreliable_;
  std::unordered_map<std::uint64_t, End> ends_;  // by host and queue pair
  ManagementObserver management_;
  NotificationObserver notifications_;
  std::vector<FlowObserver::Counts> former_counts_;
  std::uint64_t hash_ = 0;
  std::uint64_t sent_frames_ = 0;
  transport::Time last_roce_frame_{};
};

}  // namespace urnic::sim
