// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// LentMemory: what a vhost-user front lets its back see.
#pragma once

#include <rte_memzone.h>

#include <cstddef>
#include <list>
#include <memory>
#include <span>

#include "drivers/descriptor.h"
#include "transport/result.h"

namespace urnic::drivers {

/// Memory for the rings and the frame buffers of one front, and for nothing else, in a file of its own. The
/// back gets the file, so it can read and write all of it at any time: no pointer that this process follows
/// may be inside. DPDK would lend its whole heap, with the descriptors of buffers and pools.
///
/// Parts are given out on the thread that makes the device and live as long as this object. The file is
/// sealed: the back cannot cut it, which would end this process by SIGBUS.
class LentMemory {
 public:
  /// The error is the system's. `bytes` is rounded up to whole pages.
  static Result<std::unique_ptr<LentMemory>, Error> create(std::size_t bytes);
  LentMemory(const LentMemory&) = delete;
  LentMemory& operator=(const LentMemory&) = delete;
  ~LentMemory();

  /// A part that starts with zeros, or null when not enough is left. `alignment` is a power of two.
  std::byte* allocate(std::size_t bytes, std::size_t alignment);
  /// The part that a driver knows by `name`: the same one when it asks again. Null when not enough is left.
  const rte_memzone* zone(const char* name, std::size_t bytes, std::size_t alignment);
  static bool is_lent(const rte_memzone& zone);

  std::span<std::byte> bytes() const { return bytes_; }
  /// The file, whose first byte is the first of bytes().
  int file() const { return file_.get(); }

  /// While one lives, what the virtio driver asks of DPDK for rings, on this thread, comes from `memory` (see
  /// linker_hooks.cc). Null: from DPDK's heap, as ever.
  class Use {
   public:
    explicit Use(LentMemory* memory) { in_use_ = memory; }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use() { in_use_ = nullptr; }
  };
  static LentMemory* in_use() { return in_use_; }

 private:
  LentMemory(Descriptor file, std::span<std::byte> bytes) : file_(std::move(file)), bytes_(bytes) {}

  static thread_local LentMemory* in_use_;

  Descriptor file_;
  std::span<std::byte> bytes_;
  std::size_t used_ = 0;
  std::list<rte_memzone> zones_;  // the driver keeps pointers to them
};

}  // namespace urnic::drivers
