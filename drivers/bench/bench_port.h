// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// BenchPort: the port of a NIC whose wire leads to a test bench.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "drivers/bench/bench_link.h"
#include "nic/port/packet_port.h"

namespace urnic::drivers {

/// Frames leave and arrive at the times of the link's clock. While too many were sent at one time there is no
/// room for more.
class BenchPort final : public nic::PacketPort {
 public:
  explicit BenchPort(std::unique_ptr<BenchLink> link) : link_(std::move(link)) {}

  std::size_t receive(std::span<nic::ReceivedFrame> frames) override;
  bool may_hold_frames() const override { return link_->has_arrivals(); }
  nic::Room reserve_to(const transport::wire::Mac& destination) override;
  void commit(std::size_t length) override;
  void flush() override { link_->flush(); }
  bool is_drained() override { return link_->is_drained(); }
  std::size_t max_frame_bytes() const override { return link_->max_frame_bytes(); }
  Statistics statistics() const override { return statistics_; }
  std::string description() const override { return "bench " + link_->name(); }

 private:
  std::unique_ptr<BenchLink> link_;
  Statistics statistics_;
};

}  // namespace urnic::drivers
