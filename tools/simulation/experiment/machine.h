// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Machine: a device on a host of the network, in virtual time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "drivers/fault/fault_spec.h"
#include "drivers/network/network.h"
#include "nic/clock.h"
#include "nic/device/device.h"
#include "tools/simulation/experiment/workload.h"
#include "tools/simulation/kernel/frame.h"
#include "tools/simulation/kernel/virtual_host.h"

namespace urnic::experiment {

/// What all machines of an experiment have in common. It outlives them.
struct MachineWorld {
  network::Network& network;
  const nic::Clock& clock;
  const Workload& workload;
  std::span<std::byte> memory;  ///< which all of them write to and read from: no step looks at the data
  std::uint64_t seed = 0;
  std::function<void(const std::string&)> tell;  ///< takes what faults hit
  bool is_over = false;                          ///< nothing moves the network any more: what is sent is lost
};

/// Address 10.x.y.z, by the number of its host. Methods throw std::runtime_error when the device refuses: a
/// workload that was checked gives it no reason to.
class Machine {
 public:
  /// `completions`: how many the completion queue holds.
  Machine(MachineWorld& world, HostId number, std::uint32_t completions);

  std::unique_ptr<nic::QueuePair> create_queue_pair(const nic::QpCapabilities& capabilities) {
    return host_.create_qp(capabilities);
  }
  /// From RESET to RTS.
  void connect(nic::QueuePair& qp, const Machine& peer, transport::QpNumber peer_qp, unsigned dscp) const;
  void destroy(std::unique_ptr<nic::QueuePair> qp) { device().destroy_qp(std::move(qp)); }

  /// A frame has reached it.
  void deliver(std::span<const std::byte> frame) {
    inbox_.emplace_back(std::vector(frame.begin(), frame.end()));
  }
  /// Does all that it can do now, and hands out completions.
  void progress(const std::function<void(const transport::Completion&)>& take);
  /// When it wants to be called again at the latest.
  Time next_timeout() const { return host_.device().next_timeout(); }

  nic::Device& device() { return host_.device(); }
  const nic::MemoryRegion& region() const { return host_.region(); }

 private:
  class Port;

  Result<nic::OpenedPort, Error> open_port();

  MachineWorld& world_;
  HostId number_;
  kernel::Inbox inbox_;
  kernel::VirtualHost host_;
};

}  // namespace urnic::experiment
