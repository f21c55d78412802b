// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// VirtualPort: a port whose wire is memory of its world.
#pragma once

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
  void flush() override;
  std::size_t max_frame_bytes() const override { return room_.size(); }
  Statistics statistics() const override { return statistics_; }
  std::string description() const override { return "virtual wire"; }

 protected:
  /// `inbox` outlives the port, which belongs to the device.
  VirtualPort(Inbox& inbox, std::size_t max_frame_bytes) : inbox_(inbox), room_(max_frame_bytes) {}

  /// A frame leaves.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): those that override it keep the frame
  virtual void send(Frame /*frame*/) {}
  /// The device takes the frame.
  virtual void on_received(const Frame& /*frame*/) {}

  std::span<std::byte> room() { return room_; }
  /// What was committed since the last flush().
  std::size_t frames_not_flushed() const { return committed_.size(); }

  Statistics statistics_{};

 private:
  void keep(std::size_t length, bool has_icrc);

  Inbox& inbox_;
  std::vector<std::byte> room_;
  std::vector<Frame> committed_;
  std::vector<Frame> taken_;  // by the last receive()
};

}  // namespace urnic::kernel
