// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// RingMemory: the memory of one ring, which two processes map.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "drivers/descriptor.h"
#include "transport/result.h"

namespace urnic::drivers {

/// From a file without a name, of a size that no process can change: cutting it would end the other process
/// by SIGBUS.
class RingMemory {
 public:
  /// Zeroed. The error is the system's.
  static Result<RingMemory, Error> create(std::size_t bytes);
  /// Takes a file that another process handed over, and closes it. EINVAL when it is not exactly so long, or
  /// can be cut; otherwise the system's error.
  static Result<RingMemory, Error> adopt(Descriptor file, std::size_t bytes);

  RingMemory(RingMemory&& other) noexcept;
  RingMemory& operator=(RingMemory&&) = delete;
  ~RingMemory();

  std::span<std::byte> bytes() const { return bytes_; }
  /// To be handed over, until close_file(); the memory stays without it.
  int file() const { return file_.get(); }
  void close_file() { file_.reset(); }

 private:
  RingMemory(Descriptor file, std::span<std::byte> bytes) : file_(std::move(file)), bytes_(bytes) {}
  static Result<RingMemory, Error> map(Descriptor file, std::size_t bytes);

  Descriptor file_;
  std::span<std::byte> bytes_;
};

}  // namespace urnic::drivers
