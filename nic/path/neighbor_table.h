// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// NeighborTable: the bounded storage of the neighbor cache.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "transport/time.h"
#include "transport/wire/address.h"

namespace urnic::nic {

enum class NeighborState : std::uint8_t {
  kUnknown,
  kProbing,    ///< asked for, no answer yet
  kReachable,  ///< the MAC is known
  kFailed,     ///< asked for, no answer came
};

/// What is known about one address.
struct Neighbor {
  transport::wire::Gid address;
  transport::wire::Mac mac;  ///< meaningful when kReachable
  NeighborState state = NeighborState::kUnknown;
  bool asking = false;             ///< requests are being sent: kProbing, or kReachable and suspected
  bool request_queued = false;     ///< the next one waits to be sent
  std::uint8_t requests_sent = 0;  ///< of the current series
  std::uint16_t next = 0;          ///< in its hash chain; the table's own
  transport::Time deadline{};      ///< while asking and none waits: when to send the next one or give up
  transport::Time quiet_until{};   ///< no new series before
  transport::Time used_at{};       ///< the last lookup
};

/// Up to kCapacity neighbors by address: chained hashing over storage allocated once. Deterministic;
/// addresses come from the local program, which can only slow down itself by choosing colliding ones.
class NeighborTable {
 public:
  using Index = std::uint16_t;
  static constexpr std::size_t kCapacity = 1024;

  NeighborTable();

  /// Null when the address is not in the table.
  Neighbor* find(const transport::wire::Gid& address);
  const Neighbor* find(const transport::wire::Gid& address) const {
    return const_cast<NeighborTable*>(this)->find(address);
  }

  /// Adds `address`, which is not in the table yet. A full table gives up the entry that was not used for the
  /// longest time, except entries that the cache is asking for; null when there are only such entries.
  Neighbor* add(const transport::wire::Gid& address);

  Neighbor& at(Index index) { return entries_[index]; }
  Index index_of(const Neighbor& entry) const { return static_cast<Index>(&entry - entries_.data()); }

  /// The entries in use, in no particular order, as `visit(Neighbor&)`.
  template <typename Visitor>
  void for_each(Visitor visit) {
    for (std::size_t i = 0; i < used_; ++i) visit(entries_[i]);
  }

 private:
  static constexpr std::size_t kBuckets = 2 * kCapacity;
  static constexpr Index kEnd = kCapacity;

  static std::size_t bucket_of(const transport::wire::Gid& address);
  Neighbor* least_recently_used();
  void unlink(const Neighbor& entry);

  std::vector<Neighbor> entries_;
  std::array<Index, kBuckets> buckets_;
  std::size_t used_ = 0;  // entries_[0, used_) are in use; entries are replaced, never freed
};

}  // namespace urnic::nic
