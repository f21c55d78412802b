// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Watchers: several observers of one network, and a sum over all that it sends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drivers/network/observer.h"

namespace urnic::experiment {

class Watchers final : public network::Observer {
 public:
  using PortId = network::PortId;
  using Time = network::Time;

  /// It is told of everything after those before it.
  void add(network::Observer& watcher) { watchers_.push_back(&watcher); }

  /// Of every frame: where and when it was sent, and its bytes.
  std::uint64_t hash() const { return hash_; }
  std::uint64_t frames() const { return frames_; }

  void on_send(PortId port, std::span<const std::byte> frame, Time time) override;
  void on_queue(PortId port, unsigned priority, std::uint64_t bytes, Time time) override {
    for (auto* watcher : watchers_) watcher->on_queue(port, priority, bytes, time);
  }
  void on_mark(PortId port, unsigned priority, std::span<const std::byte> frame, Time time) override {
    for (auto* watcher : watchers_) watcher->on_mark(port, priority, frame, time);
  }
  void on_drop(PortId port, unsigned priority, network::DropReason reason, std::span<const std::byte> frame,
               Time time) override {
    for (auto* watcher : watchers_) watcher->on_drop(port, priority, reason, frame, time);
  }
  void on_pause(PortId port, unsigned priority, bool is_paused, Time time) override {
    for (auto* watcher : watchers_) watcher->on_pause(port, priority, is_paused, time);
  }
  void on_watchdog(PortId port, unsigned priority, Time time) override {
    for (auto* watcher : watchers_) watcher->on_watchdog(port, priority, time);
  }
  void on_link(network::LinkId link, bool is_up, Time time) override {
    for (auto* watcher : watchers_) watcher->on_link(link, is_up, time);
  }

 private:
  std::vector<network::Observer*> watchers_;
  std::uint64_t hash_ = 0;
  std::uint64_t frames_ = 0;
};

}  // namespace urnic::experiment
