// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// SelfConnectedDevice: a device whose queue pairs talk to each other, without threads: for counting and
// measuring.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "nic/clock.h"
#include "nic/device/device.h"
#include "nic/queues/queue_pair.h"
#include "tools/simulation/kernel/virtual_host.h"
#include "transport/work_request.h"

namespace urnic::test {

/// Methods end the process, or throw, when the device refuses.
class SelfConnectedDevice {
 public:
  static constexpr std::size_t kQueueDepth = 64;
  static constexpr std::uint32_t kQkey = 1;

  SelfConnectedDevice();
  ~SelfConnectedDevice();

  nic::Device& device() { return host_.device(); }
  std::size_t size() const { return queue_pairs_.size(); }
  nic::QueuePair& qp(std::size_t index) { return *queue_pairs_[index]; }
  /// Remote keys and addresses of the one region that there is.
  transport::Rkey rkey() const { return transport::Rkey{host_.region().key}; }
  std::uint64_t address() const { return host_.region().address; }
  /// Where datagrams to this device go.
  transport::AddressHandleId self() const { return self_; }

  /// Two queue pairs of this type (not XRC) in RTS, connected to each other if they can be.
  void add_pair(nic::QpType type = nic::QpType::kRc);

  void post_receives(std::size_t index, std::size_t count, std::uint32_t length);
  /// Posts the same request `count` times, and works until that many completions of any kind were polled.
  void run(std::size_t index, const transport::SendRequest& request, std::uint32_t length, std::size_t count,
           std::size_t completions);

 private:
  std::array<transport::Sge, 1> elements(std::uint32_t length) const;

  nic::SteadyClock clock_;
  std::vector<std::byte> memory_ = std::vector<std::byte>(1 << 16);
  kernel::VirtualHost host_;
  transport::AddressHandleId self_{};
  std::vector<std::unique_ptr<nic::QueuePair>> queue_pairs_;
};

}  // namespace urnic::test
