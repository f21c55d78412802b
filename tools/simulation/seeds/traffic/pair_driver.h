// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// PairDriver: the life of two connected queue pairs, from RESET to RTS, to ERR, and round again.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "tools/simulation/seeds/scenario/plan.h"
#include "tools/simulation/seeds/traffic/endpoint_driver.h"
#include "tools/simulation/seeds/traffic/scene.h"
#include "tools/simulation/seeds/traffic/traffic.h"

namespace urnic::sim {

class PairDriver final : public Traffic {
 public:
  PairDriver(Scene& scene, std::uint32_t index, const std::array<Plan, 2>& plans);

  /// Makes the first connection and schedules what the applications do.
  void begin() override;

  void on_event(const Event& event) override;
  bool on_completion(HostId host, const transport::Completion& completion) override;
  void on_polled(HostId host) override;

  /// A healthy connection is broken off at this time, if there is one then.
  void break_at(Time time);
  /// The send queue at `side` is drained at this time, if it works then.
  void drain_at(Time time, Side side);

  bool is_done() const override;
  /// The world has fallen silent.
  void judge_end();
  std::string describe() const override;

 private:
  enum class Stage : std::uint8_t {
    kConnected,
    kFailed,    ///< an end has failed or is going to; soon both are moved to ERR
    kDraining,  ///< both are in ERR; frames of this connection may still be under way
  };

  EndpointDriver& end(Side side) { return ends_[index(side)]; }
  /// The end on `host` with this queue pair, if it is one of ours.
  std::optional<Side> find(HostId host, transport::QpNumber number);
  void connect();
  void connect_end(Side side, const std::array<transport::Psn, 2>& first);
  void connect_queue_pair(Side side, nic::QueuePair& qp, nic::QueuePair& peer, transport::Psn send_psn,
                          transport::Psn receive_psn);
  void on_queue_step(Side side);
  void drain(Side side);
  void resume(Side side);
  void modify(Side side, nic::QueuePair& qp, const nic::QpAttributes& attributes);
  void fail_soon();
  void enter_error();
  void enter_error_at(Side side);
  void leave_error();
  void on_step();
  void step_after(Duration delay);
  void complain_about(Side side, const Error& error);
  void move_to(Side side, transport::QpState state);
  void schedule_posts();
  void schedule_sends(Side side, Duration gap);
  void schedule_receives(Side side);
  void schedule(Event::Kind kind, Side side, Duration after);
  transport::Psn draw_psn();

  Scene& scene_;
  std::uint32_t index_;
  const std::array<Plan, 2>& plans_;
  std::array<EndpointDriver, 2> ends_;
  Stage stage_ = Stage::kDraining;
  std::array<bool, 2> sends_scheduled_{};
  std::array<bool, 2> receives_scheduled_{};
  Time break_at_ = transport::kNever;
  Time step_due_{};  // in stages kFailed and kDraining
};

}  // namespace urnic::sim
