// MemoryTable: registered memory by key; the product's transport::Dma.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <span>
#include <vector>

#include "nic/protection_domain.h"
#include "transport/dma.h"
#include "transport/result.h"

namespace urnic::nic {

/// A registered region. lkey and rkey are the same number: a slot in the upper 24 bits and a tag in the lower
/// 8, both beginning at random places and not used again soon, so that a stale key is recognised.
struct MemoryRegion {
  transport::PdId pd{};
  transport::Access access = transport::Access::kNone;
  std::uint64_t address = 0;  ///< what keys' users call its first byte (the IO virtual address)
  std::uint64_t length = 0;
  std::byte* memory = nullptr;  ///< where that byte is in this process
  std::uint32_t key = 0;
};

/// All calls under the engine lock. A zero-length region is legal and contains nothing.
///
/// Memory is read and written by plain copies in the program's own process. Registration probes every page; a
/// program that unmaps registered memory behind our back is treated like one that touches it itself: SIGSEGV.
class MemoryTable final : public transport::Dma {
 public:
  explicit MemoryTable(std::uint64_t seed);

  /// Adds a region and gives it a key; ENOMEM when the table is full.
  Result<std::uint32_t, Error> add(const MemoryRegion& region);
  /// Removes a region; afterwards nothing touches its memory. False when there is none with this key.
  bool remove(std::uint32_t key);
  /// The region with this key, or null.
  const MemoryRegion* find(std::uint32_t key) const;

  transport::DmaStatus read_local(transport::PdId pd, transport::Lkey lkey, std::uint64_t address,
                                  std::span<std::byte> to) override;
  transport::DmaStatus write_local(transport::PdId pd, transport::Lkey lkey, std::uint64_t address,
                                   std::span<const std::byte> from) override;
  transport::DmaStatus check_remote(transport::PdId pd, transport::Rkey rkey, std::uint64_t address,
                                    std::uint64_t length, transport::Access access) override;
  transport::DmaStatus read_remote(transport::PdId pd, transport::Rkey rkey, std::uint64_t address,
                                   std::span<std::byte> to) override;
  transport::DmaStatus write_remote(transport::PdId pd, transport::Rkey rkey, std::uint64_t address,
                                    std::span<const std::byte> from) override;

 private:
  std::mt19937_64 random_;
  std::uint32_t first_slot_;         // number of slots_[0]
  std::vector<MemoryRegion> slots_;  // key 0 marks a free one
  std::vector<std::uint8_t>
      tags_;  // of each slot, used last; a slot's tags are drawn once and then counted up
  std::deque<std::uint32_t> free_;  // longest free first
};

}  // namespace urnic::nic
