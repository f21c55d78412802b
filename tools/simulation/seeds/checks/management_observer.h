// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ManagementObserver: what the connection managers of a world say to each other, judged from the wire alone.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "tools/simulation/seeds/core/event.h"
#include "tools/simulation/seeds/core/host_id.h"
#include "tools/simulation/seeds/core/management_view.h"

namespace urnic::sim {

/// What a code of five bits means (CM.md 2): 4.096 us x 2^code.
constexpr Duration cm_time(std::uint8_t code) {
  return Duration(std::int64_t{4096} << code);
}

/// The waits that Linux' connection managers promise each other (fact 45; CM.md 2 for the packet
/// lifetime).
inline constexpr Duration kCmResponseTime = cm_time(20);
inline constexpr Duration kCmPacketLifetime = cm_time(16);
inline constexpr std::uint32_t kCmRetries = 15;

/// Remembers of every communication ID which messages were sent about it and which arrived. Complains about a
/// message that no manager may send: a request repeated too soon, too often or differently, or an answer to
/// what never came.
class ManagementObserver {
 public:
  static constexpr std::size_t kKinds = 11;

  /// What was said about a connection that a host names by an ID of its own.
  struct Dialog {
    std::array<std::uint32_t, kKinds> sent{};     ///< by the host
    std::array<std::uint32_t, kKinds> reached{};  ///< of those, by the peer's host taken
    std::array<std::uint32_t, kKinds> taken{};    ///< by the host, from the peer
    std::uint32_t digest = 0;                     ///< of the request
    Time last_request{};
    Time patience_asked{};  ///< by the last MRA, until the time below
    Time patience_ends{};
  };
  static constexpr std::size_t index_of(CmKind kind) {
    return static_cast<std::size_t>(kind) - static_cast<std::size_t>(CmKind::kRequest);
  }

  /// `lateness`: what the first of two messages may have left later than its manager wanted.
  explicit ManagementObserver(Duration lateness) : lateness_(lateness) {}

  std::optional<std::string> on_sent(HostId by, HostId to, const CmMessage& message, Time now);
  void on_taken(HostId by, HostId from, const CmMessage& message, Time now);

  /// Empty for an ID that was never used.
  const Dialog& dialog(HostId host, std::uint32_t id) const;

  /// Frames of a kind that were sent, and of those the ones of dialogs that had sent one before.
  std::uint64_t sent(CmKind kind) const { return sent_[index_of(kind)]; }
  std::uint64_t repeated(CmKind kind) const { return repeated_[index_of(kind)]; }

 private:
  using Key = std::pair<HostId, std::uint32_t>;

  std::optional<std::string> judge_request(Dialog& dialog, const CmMessage& message, Time now);
  std::optional<std::string> judge_answer(HostId by, HostId to, const CmMessage& message) const;

  Duration lateness_;
  std::map<Key, Dialog> dialogs_;
  std::array<std::uint64_t, kKinds> sent_{};
  std::array<std::uint64_t, kKinds> repeated_{};
};

}  // namespace urnic::sim
