// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// OverrunTraffic: a program that forgets its completion queue until it is full.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "nic/queues/queue_pair.h"
#include "tools/simulation/seeds/traffic/scene.h"
#include "tools/simulation/seeds/traffic/traffic.h"

namespace urnic::sim {

/// Posts three times as many WRITEs as its completion queue holds and never polls. That must raise the
/// queue's error event once and put the queue pair into ERR; what the queue held by then is intact and in
/// order.
class OverrunTraffic final : public Traffic {
 public:
  /// `pair` is the number of the connection for the wire observer; it goes from the first host to the second.
  OverrunTraffic(Scene& scene, std::uint32_t pair);
  ~OverrunTraffic() override;

  void begin() override;
  void on_event(const Event&) override {}
  bool on_completion(HostId, const transport::Completion&) override { return false; }
  void on_polled(HostId host) override;
  bool is_done() const override { return is_done_; }
  std::string describe() const override;

 private:
  struct End {
    HostId id{};
    std::unique_ptr<nic::CompletionQueue> queue{};
    std::unique_ptr<nic::QueuePair> qp{};
  };

  void judge();
  void complain(const std::string& what) { scene_.referee.complain("overrun", what); }

  Scene& scene_;
  std::uint32_t pair_;
  std::array<End, 2> ends_;
  std::uint32_t events_ = 0;  // counted by the host's handler
  bool is_done_ = false;
};

}  // namespace urnic::sim
