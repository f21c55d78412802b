// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// VirtualPort: a port whose wire is memory of its world.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "nic/port/packet_port.h"
#include "tools/simulation/kernel/frame.h"

namespace urnic::kernel {

/// Each world derives its own, which says where frames go and when there is no room for them. They leave with
/// flush(), so that the world notices an engine that forgets it. A world that needs them earlier overrides
/// commit().
class VirtualPort : public nic::PacketPort {
 public:
  std::size_t receive(std::span<nic::ReceivedFrame> frames) override;
  bool may_hold_frames() const override { return !inbox_.empty(); }
  nic::Room reserve_to(const transport::wire::Mac& /*destination*/) override { return room(); }
  void commit(std::size_t length) override { keep(length, true); }
  void commit_without_icrc(std::size_t length) override { keep(length, false); }
  void commit_run(std::size_t length, nic::RunShape shape) override { keep(length, false, shape); }
  void flush() override;
  std::size_t max_frame_bytes() const override { return max_frame_bytes_; }
  Statistics statistics() const override { return statistics_; }
  std::string description() const override { return "virtual wire"; }

 protected:
  /// `inbox` outlives the port, which belongs to the device. Worlds that take runs have room for longer ones.
  VirtualPort(Inbox& inbox, std::size_t max_frame_bytes, std::size_t max_run_bytes = 0)
      : inbox_(inbox), max_frame_bytes_(max_frame_bytes), room_(std::max(max_frame_bytes, max_run_bytes)) {}

  /// A frame leaves.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): those that override it keep the frame
  virtual void send(Frame /*frame*/) {}
  /// The device takes the frame.
  virtual void on_received(const Frame& /*frame*/) {}

  std::span<std::byte> room() { return std::span(room_).first(max_frame_bytes_); }
  /// What was committed since the last flush().
  std::size_t frames_not_flushed() const { return committed_.size(); }

  Statistics statistics_{};

 private:
  void keep(std::size_t length, bool has_icrc, nic::RunShape shape = {});

  Inbox& inbox_;
  const std::size_t max_frame_bytes_;
  std::vector<std::byte> room_;
  std::vector<Frame> committed_;
  std::vector<Frame> taken_;  // by the last receive()
};

}  // namespace urnic::kernel
