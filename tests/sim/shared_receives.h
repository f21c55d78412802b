// SharedReceives: one host's shared receive queue, what is posted to it, and what may come out of it.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/host.h"

namespace urnic::sim {

/// Set in the wr_id of a receive of a shared queue, beside kReceiveBit.
inline constexpr std::uint64_t kSharedBit = std::uint64_t{1} << 62;
constexpr bool is_shared_receive(std::uint64_t wr_id) { return (wr_id & kSharedBit) != 0; }

/// Receives are taken oldest first, but a long message may end after a short one that began later, and each queue pair has
/// its own completion queue. At the end, when no message is open, none may be left that is older than one that completed:
/// it would have been taken and never come back.
class SharedReceives {
 public:
  /// `buffers` are posted again and again.
  SharedReceives(Host& host, std::vector<Range> buffers);

  /// Posts all buffers that are free.
  std::optional<std::string> post();

  /// A receive completes with `length` bytes of `pattern`, or failed with who knows what.
  struct Data {
    Pattern pattern{};
    std::uint32_t length = 0;
  };
  std::optional<std::string> on_completion(std::uint64_t wr_id, const std::optional<Data>& data);

  /// At the end, when no queue pair is in the middle of a message.
  std::optional<std::string> judge() const;

 private:
  struct Posted {
    std::uint64_t wr_id = 0;
    std::size_t buffer = 0;
  };

  Host& host_;
  std::vector<Range> buffers_;
  std::deque<std::size_t> free_;
  std::deque<Posted> posted_;  // oldest first
  std::uint64_t next_ = 0;
  std::uint64_t newest_completed_ = 0;
};

}  // namespace urnic::sim
