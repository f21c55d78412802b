// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// SharedReceives: one shared receive queue of a host, what is posted to it, what may come out of it, and its
// limit.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "tools/simulation/seeds/models/completion_model.h"
#include "tools/simulation/seeds/traffic/host.h"
#include "tools/simulation/seeds/traffic/scene.h"

namespace urnic::sim {

/// Set in the wr_id of a receive of a shared queue, beside kReceiveBit; the number of the queue is in there
/// too.
inline constexpr std::uint64_t kSharedBit = std::uint64_t{1} << 62;
inline constexpr unsigned kSharedNumberShift = 56;
constexpr bool is_shared_receive(std::uint64_t wr_id) {
  return (wr_id & kSharedBit) != 0;
}
constexpr std::size_t shared_queue_of(std::uint64_t wr_id) {
  return wr_id >> kSharedNumberShift & 0x3f;
}

/// Receives are taken oldest first, but a long message may end after a short one that began later, and each
/// queue pair has its own completion queue. At the end, when no message is open, none may be left that is
/// older than one that completed: it would have been taken and never come back.
///
/// The limit event comes once for each time that the program arms it, and at the latest when less is left
/// than it says.
class SharedReceives {
 public:
  /// `buffers` are posted again and again to the host's shared queue `number`.
  SharedReceives(Host& host, std::size_t number, std::vector<Range> buffers);

  /// Posts all buffers that are free.
  std::optional<std::string> post();
  /// The program wants to hear when less than `limit` receives are left. Right after post().
  std::optional<std::string> arm(std::uint32_t limit);

  /// Where a receive that is outstanding puts its message; nothing for another.
  std::optional<Range> buffer_of(std::uint64_t wr_id) const;

  /// A receive completes with `length` bytes of `pattern` after `front` others, or failed with who knows
  /// what.
  struct Data {
    Pattern pattern{};
    std::uint32_t length = 0;
    std::uint32_t front = 0;
  };
  std::optional<std::string> on_completion(std::uint64_t wr_id, const std::optional<Data>& data);

  /// At the end, when no queue pair is in the middle of a message.
  std::optional<std::string> judge() const;

 private:
  struct Posted {
    std::uint64_t wr_id = 0;
    std::size_t buffer = 0;
  };
  struct Armed {
    std::uint32_t limit = 0;
    std::uint64_t first = 0;  // this receive, and all that were posted later, are taken while it is armed
  };

  std::optional<std::string> check_limit();
  std::uint64_t wr_id_of(std::uint64_t count) const {
    return kReceiveBit | kSharedBit | std::uint64_t{number_} << kSharedNumberShift | count;
  }

  Host& host_;
  std::size_t number_;
  std::vector<Range> buffers_;
  std::deque<std::size_t> free_;
  std::deque<Posted> posted_;       // oldest first
  std::uint64_t posted_count_ = 0;  // ever; the wr_ids
  std::uint64_t newest_post_ = 0;   // the first that the last post() posted
  std::uint64_t newest_completed_ = 0;
  std::optional<Armed> armed_;
  std::uint32_t limit_events_ = 0;  // that were looked at
};

/// The program on `host` polled a receive of a shared queue, and soon posts its buffer again.
void complete_shared(Scene& scene, HostId host, std::uint64_t wr_id,
                     const std::optional<SharedReceives::Data>& data);

}  // namespace urnic::sim
