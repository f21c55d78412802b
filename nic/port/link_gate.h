// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// LinkGate: a port whose link can be taken down.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "nic/port/port_around.h"

namespace urnic::nic {

/// As a cable that is pulled out: while the link is down, what the NIC sends is lost, and so is what others
/// send to it. The statistics count the first as dropped.
class LinkGate final : public PortAround {
 public:
  explicit LinkGate(std::unique_ptr<PacketPort> port)
      : PortAround(std::move(port)), lost_(inner().max_frame_bytes()) {}

  void set(bool is_up) { is_up_ = is_up; }

  std::size_t receive(std::span<ReceivedFrame> frames) override {
    const std::size_t count = inner().receive(frames);
    return is_up_ ? count : 0;
  }
  Room reserve_to(const transport::wire::Mac& destination) override {
    return is_up_ ? inner().reserve_to(destination) : Room(lost_);
  }
  void commit(std::size_t length) override {
    if (is_up_) return inner().commit(length);
    ++dropped_;
  }
  void commit_without_icrc(std::size_t length) override {
    if (is_up_) return inner().commit_without_icrc(length);
    ++dropped_;
  }
  void commit_run(std::size_t length, RunShape shape) override {
    if (is_up_) return inner().commit_run(length, shape);
    dropped_ += shape.packets;
  }
  bool is_drained() override { return !is_up_ || inner().is_drained(); }
  Statistics statistics() const override {
    Statistics statistics = inner().statistics();
    statistics.dropped_frames += dropped_;
    return statistics;
  }

 private:
  bool is_up_ = true;
  std::vector<std::byte> lost_;
  std::uint64_t dropped_ = 0;
};

}  // namespace urnic::nic
