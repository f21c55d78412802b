// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// MemoryRegion: memory that was registered, and what backs it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/dma.h"
#include "transport/types.h"

namespace urnic::nic {

enum class Backing : std::uint8_t {
  kMapped,    ///< registration made sure of every page; one that is gone since is a fault that is caught
  kOnDemand,  ///< pages may come and go; each copy asks the kernel whether they are there
  kNothing,   ///< no memory: reads give zeros, and what is written is lost
};

/// A registered region. lkey and rkey are the same number: a slot in the upper 24 bits and a tag in the lower
/// 8, both beginning at random places and not used again soon, so that a stale key is recognised.
struct MemoryRegion {
  transport::PdId pd{};
  transport::Access access = transport::Access::kNone;
  std::uint64_t address = 0;  ///< what keys' users call its first byte (the IO virtual address)
  std::uint64_t length = 0;
  std::byte* memory = nullptr;  ///< where that byte is in this process
  Backing backing = Backing::kMapped;
  std::uint32_t key = 0;
};

/// What is known about a key, for a person to be told.
struct KeyFacts {
  bool is_known = false;  ///< what follows is meaningful
  bool is_window = false;
  /// With another key where only the tag differs: the key is of something that was there before.
  MemoryRegion range{};
};

}  // namespace urnic::nic
