// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// DeviceMemoryPool: memory of the NIC itself, which programs allocate pieces of.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "transport/result.h"

namespace urnic::nic {

class DeviceMemoryPool;

/// A piece. It goes back to its pool when it is destroyed.
class DeviceMemory {
 public:
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// Zeros at first.
  std::span<std::byte> bytes() const { return bytes_; }

  /// Memory regions over it; the thread that frees it looks here first.
  std::atomic<std::uint32_t> users{0};

 private:
  friend class DeviceMemoryPool;
  DeviceMemory(DeviceMemoryPool& pool, std::span<std::byte> bytes) : pool_(pool), bytes_(bytes) {}

  DeviceMemoryPool& pool_;
  std::span<std::byte> bytes_;
};

/// A NIC of software has no memory of its own: what it hands out is the process's, but no more of it than a
/// capacity, and programs reach it through the NIC only. Needs no engine, so that it works in a forked child,
/// too. Any thread.
class DeviceMemoryPool {
 public:
  static constexpr std::size_t kCapacity = 1 << 20;  ///< bytes
  static constexpr std::uint32_t kMaxLogAlignment = 16;

  /// `length` bytes, 1 at least, at a multiple of 2^`log_alignment`. EINVAL: a length or an alignment that is
  /// never possible; ENOMEM: not so much is left.
  Result<std::unique_ptr<DeviceMemory>, Error> allocate(std::size_t length, std::uint32_t log_alignment);

 private:
  friend class DeviceMemory;
  std::atomic<std::size_t> used_{0};  // bytes
};

}  // namespace urnic::nic
