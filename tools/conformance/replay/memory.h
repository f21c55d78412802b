// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Memory as a capture shows it: what work requests are sent from, and what remote keys lead to.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "tools/conformance/replay/message.h"
#include "transport/dma.h"

namespace urnic::replay {

/// A Dma of which nothing may be done; what follows allows what it needs.
class NoMemory : public transport::Dma {
 public:
  using Status = transport::DmaStatus;
  using User = transport::MemoryUser;

  Status read_local(transport::PdId, transport::Lkey, std::uint64_t, std::span<std::byte>,
                    transport::wire::TailCrc*) override;
  Status write_local(transport::PdId, transport::Lkey, std::uint64_t, std::span<const std::byte>) override;
  Status check_remote(const User&, transport::Rkey, std::uint64_t, std::uint64_t, transport::Access) override;
  Status read_remote(const User&, transport::Rkey, std::uint64_t, std::span<std::byte>,
                     transport::wire::TailCrc*) override;
  Status write_remote(const User&, transport::Rkey, std::uint64_t, std::span<const std::byte>) override;
  Status compare_swap(const User&, transport::Rkey, std::uint64_t, std::uint64_t, std::uint64_t,
                      std::uint64_t&) override;
  Status fetch_add(const User&, transport::Rkey, std::uint64_t, std::uint64_t, std::uint64_t&) override;
  Status write_remote_atomically(const User&, transport::Rkey, std::uint64_t,
                                 std::span<const std::byte, 8>) override;
  Status flush(const User&, transport::Rkey, std::uint64_t, std::uint64_t, transport::FlushScope,
               transport::Access) override;
  Status invalidate(const User&, transport::Rkey) override;
  Status bind_window(const User&, const transport::WindowBinding&) override;
};

/// A requester's memory: message n has the addresses from n * kRoom on. It reads the payloads that the
/// capture shows, zeros where it shows none, and keeps what READs and atomics bring back.
class RequesterMemory final : public NoMemory {
 public:
  static constexpr std::uint64_t kRoom = std::uint64_t{1} << 32;

  explicit RequesterMemory(const std::vector<Message>& messages) : messages_(messages) {}

  Status read_local(transport::PdId pd, transport::Lkey lkey, std::uint64_t address, std::span<std::byte> to,
                    transport::wire::TailCrc* tail) override;
  Status write_local(transport::PdId pd, transport::Lkey lkey, std::uint64_t address,
                     std::span<const std::byte> from) override;

  /// What came back for message `index`.
  std::span<const std::byte> fetched(std::size_t index) const;

 private:
  const std::vector<Message>& messages_;
  std::map<std::size_t, std::vector<std::byte>> fetched_;
};

/// A responder's memory: every key leads everywhere, unless the capture says otherwise. Bytes are known once
/// they were written, or learned from the answers of the captured responder. Bounded by what the capture
/// carries.
class ResponderMemory final : public NoMemory {
 public:
  /// Receive n has the addresses from n * kRoom on.
  static constexpr std::uint64_t kRoom = std::uint64_t{1} << 32;

  /// What the captured responder's program may have changed unseen by the capture.
  enum class Belief : std::uint8_t {
    kKeepKnown,    ///< nothing
    kKeepWritten,  ///< all but what the requester wrote
    kTakeAll,      ///< everything
  };
  /// The captured responder read `bytes` there.
  void learn(std::uint32_t key, std::uint64_t address, std::span<const std::byte> bytes, Belief belief);
  /// What is there; bytes that nothing is known of are zero.
  void look(std::uint32_t key, std::uint64_t address, std::span<std::byte> to) const;
  /// While refusing, no key leads anywhere.
  void refuse(bool refusing) { refuses_ = refusing; }
  /// What a receive holds.
  std::span<const std::byte> received(std::size_t receive) const;

  Status write_local(transport::PdId pd, transport::Lkey lkey, std::uint64_t address,
                     std::span<const std::byte> from) override;
  Status check_remote(const User& user, transport::Rkey rkey, std::uint64_t address, std::uint64_t length,
                      transport::Access access) override;
  Status read_remote(const User& user, transport::Rkey rkey, std::uint64_t address, std::span<std::byte> to,
                     transport::wire::TailCrc* tail) override;
  Status write_remote(const User& user, transport::Rkey rkey, std::uint64_t address,
                      std::span<const std::byte> from) override;
  Status compare_swap(const User& user, transport::Rkey rkey, std::uint64_t address, std::uint64_t compare,
                      std::uint64_t swap, std::uint64_t& original) override;
  Status fetch_add(const User& user, transport::Rkey rkey, std::uint64_t address, std::uint64_t add,
                   std::uint64_t& original) override;
  Status write_remote_atomically(const User& user, transport::Rkey rkey, std::uint64_t address,
                                 std::span<const std::byte, 8> from) override;
  Status flush(const User& user, transport::Rkey rkey, std::uint64_t address, std::uint64_t length,
               transport::FlushScope scope, transport::Access access) override;
  Status invalidate(const User& user, transport::Rkey rkey) override;

 private:
  static constexpr std::uint64_t kPageBytes = 1024;
  struct Page {
    std::array<std::byte, kPageBytes> bytes{};
    std::bitset<kPageBytes> is_known;
    std::bitset<kPageBytes> is_written;
  };
  using PageKey = std::pair<std::uint32_t, std::uint64_t>;

  Status reach(transport::Rkey rkey) const;
  std::byte& at(std::uint32_t key, std::uint64_t address, Page*& page);
  void write(std::uint32_t key, std::uint64_t address, std::span<const std::byte> from);
  std::uint64_t number_at(std::uint32_t key, std::uint64_t address) const;
  void store_number(std::uint32_t key, std::uint64_t address, std::uint64_t number);

  std::map<PageKey, Page> pages_;
  std::map<std::size_t, std::vector<std::byte>> receives_;
  std::set<std::uint32_t> invalidated_;
  bool refuses_ = false;
};

}  // namespace urnic::replay
