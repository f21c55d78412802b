// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// VirtualHost: a device of a virtual world, with one of each that a queue pair needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "nic/device/device.h"

namespace urnic::kernel {

/// A protection domain, a completion queue and a region. It throws std::runtime_error when the device refuses
/// one of them, or a queue pair.
class VirtualHost {
 public:
  struct Parts {
    std::uint32_t completions = 1024;  ///< that the completion queue holds
    nic::CompletionChannel* channel = nullptr;
    void* context = nullptr;                 ///< of the completion queue
    std::span<std::byte> memory{};           ///< the region's; outlives the host
    std::optional<std::uint64_t> address{};  ///< what users of the key call it; none: where the memory is
    transport::Access access = transport::Access::kLocalWrite | transport::Access::kRemoteWrite |
                               transport::Access::kRemoteRead | transport::Access::kRemoteAtomic;
  };

  /// The port is opened with the first queue pair, or by Device::start().
  VirtualHost(const nic::DeviceConfig& config, const nic::Clock& clock, nic::PortOpener open_port,
              const Parts& parts);
  ~VirtualHost() { static_cast<void>(close()); }
  VirtualHost(const VirtualHost&) = delete;
  VirtualHost& operator=(const VirtualHost&) = delete;

  /// Gives the completion queue back. The error: a queue pair is left that uses it.
  Result<void, Error> close();

  nic::Device& device() { return device_; }
  const nic::Device& device() const { return device_; }
  nic::ProtectionDomain& pd() { return *pd_; }
  nic::CompletionQueue& cq() { return *cq_; }
  const nic::MemoryRegion& region() const { return region_; }
  /// Where others reach it, by IPv4.
  nic::AddressVector address() const {
    const transport::wire::Gid gid = *device_.gids().address_at(nic::GidTable::kIpv4);
    return {.destination = gid, .source_gid_index = *device_.gids().index_of(gid)};
  }

  /// A queue pair with all of these.
  std::unique_ptr<nic::QueuePair> create_qp(const nic::QpCapabilities& capabilities,
                                            nic::QpType type = nic::QpType::kRc);
  /// An element in the region.
  transport::Sge sge(std::size_t offset, std::size_t length) const;

 private:
  nic::Device device_;
  std::unique_ptr<nic::ProtectionDomain> pd_;
  std::unique_ptr<nic::CompletionQueue> cq_;
  nic::MemoryRegion region_{};
};

}  // namespace urnic::kernel
