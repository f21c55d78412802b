// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Placement: brings what peers send into memory late, and in an order that programs must not rely on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "nic/memory/memory_table.h"
#include "transport/dma.h"
#include "transport/time.h"

namespace urnic::nic {

class Adversary;

/// Stands between the endpoint of one queue pair and memory. What it holds back was checked, and fails no
/// more. It holds back parts of one message at most, so that messages stay in order. All calls under the
/// engine lock.
class Placement final : public transport::Dma {
 public:
  /// Both outlive it; `queue_pair` is its number in the order of making.
  Placement(Adversary& adversary, MemoryTable& memory, std::uint32_t queue_pair)
      : adversary_(adversary), memory_(memory), queue_pair_(queue_pair) {}
  ~Placement() override;

  /// A packet is about to be handled, which begins a message or goes on with one. `may_wait`: what it brings
  /// need not be in memory afterwards.
  void begin_packet(bool begins_message, bool may_wait, transport::Time now);
  /// Now all that came is in memory.
  void settle();
  /// When settle() has to be called at the latest; kNever while everything is in memory.
  transport::Time due() const { return due_; }
  /// Whether something is held back that goes to one of these bytes of the process.
  bool is_about_to_write(std::span<const std::byte> memory) const;

  transport::DmaStatus read_local(transport::PdId pd, transport::Lkey lkey, std::uint64_t address,
                                  std::span<std::byte> to, transport::wire::TailCrc* tail) override;
  transport::DmaStatus write_local(transport::PdId pd, transport::Lkey lkey, std::uint64_t address,
                                   std::span<const std::byte> from) override;
  transport::DmaStatus check_remote(const transport::MemoryUser& user, transport::Rkey rkey,
                                    std::uint64_t address, std::uint64_t length,
                                    transport::Access access) override;
  transport::DmaStatus read_remote(const transport::MemoryUser& user, transport::Rkey rkey,
                                   std::uint64_t address, std::span<std::byte> to,
                                   transport::wire::TailCrc* tail) override;
  transport::DmaStatus write_remote(const transport::MemoryUser& user, transport::Rkey rkey,
                                    std::uint64_t address, std::span<const std::byte> from) override;
  transport::DmaStatus compare_swap(const transport::MemoryUser& user, transport::Rkey rkey,
                                    std::uint64_t address, std::uint64_t compare, std::uint64_t swap,
                                    std::uint64_t& original) override;
  transport::DmaStatus fetch_add(const transport::MemoryUser& user, transport::Rkey rkey,
                                 std::uint64_t address, std::uint64_t add, std::uint64_t& original) override;
  transport::DmaStatus write_remote_atomically(const transport::MemoryUser& user, transport::Rkey rkey,
                                               std::uint64_t address,
                                               std::span<const std::byte, 8> from) override;
  transport::DmaStatus flush(const transport::MemoryUser& user, transport::Rkey rkey, std::uint64_t address,
                             std::uint64_t length, transport::FlushScope scope,
                             transport::Access access) override;
  transport::DmaStatus invalidate(const transport::MemoryUser& user, transport::Rkey rkey) override;
  transport::DmaStatus bind_window(const transport::MemoryUser& user,
                                   const transport::WindowBinding& binding) override;

 private:
  /// Where a write goes: by an lkey or an rkey.
  struct Target {
    bool is_local = false;
    transport::MemoryUser user{};
    std::uint32_t key = 0;
    std::uint64_t address = 0;
  };
  struct Chunk {
    Target target;
    const std::byte* memory = nullptr;  // where that is in the process
    std::size_t begin = 0;              // in bytes_
    std::size_t size = 0;
  };

  const std::byte* find_lasting(const Target& target, std::size_t size);
  transport::DmaStatus write(const Target& target, std::span<const std::byte> from);
  transport::DmaStatus write_now(const Target& target, std::span<const std::byte> from);
  transport::DmaStatus place(const Target& target, std::span<const std::byte> from);
  void keep(const Target& target, const std::byte* memory, std::span<const std::byte> from);

  Adversary& adversary_;
  MemoryTable& memory_;
  std::uint32_t queue_pair_;
  std::uint64_t message_ = 0;  // ordinal of the one that packets belong to
  bool is_late_ = false;       // that message
  bool is_last_first_ = false;
  bool may_wait_ = false;
  std::uint64_t reads_ = 0;
  transport::Time now_{};
  transport::Time due_ = transport::kNever;
  std::vector<Chunk> chunks_;
  std::vector<std::byte> bytes_;
};

}  // namespace urnic::nic
