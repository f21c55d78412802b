// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Silences: the longest times in which nothing came, or no answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tools/conformance/check/findings/findings.h"
#include "tools/conformance/check/packets/psn.h"
#include "tools/conformance/check/packets/seen.h"

namespace urnic::check {

/// A packet at one end of a silence.
struct Landmark {
  std::uint64_t frame = 0;  ///< from 1 on, as Wireshark counts
  std::int64_t time_ns = 0;
  std::uint8_t opcode = 0;
  std::uint8_t syndrome = 0;  ///< of answers
  Psn psn{};
};
Landmark landmark_of(const Seen& seen);

enum class SilenceKind : std::uint8_t {
  kPause,   ///< no packet of a connection, in either direction
  kAnswer,  ///< from a request's first transmission to its answer, or to the end of the capture
};

struct Silence {
  SilenceKind kind = SilenceKind::kPause;
  std::uint32_t flow = kNoFlow;   ///< of the request, or of the packet that ended the pause
  Landmark begin{};               ///< the request, or the packet before the pause
  std::optional<Landmark> end{};  ///< the answer, or the packet after it; nothing: the capture ended
  std::int64_t ns = 0;
  std::uint32_t transmissions = 1;  ///< of the request, as far as captured
  bool is_again = false;            ///< the packet that ended a pause repeats an earlier one
  bool is_idle = false;             ///< in a pause, nothing waited for an answer
};

/// Keeps the longest ones. Two between the same frames are one: the first that is added.
class Silences {
 public:
  explicit Silences(std::size_t limit) : limit_(limit) {}

  /// Whether add() would keep a silence of that length: cheap enough for each packet.
  bool would_keep(std::int64_t ns) const {
    return ns > 0 && limit_ > 0 && (kept_.size() < limit_ || ns > kept_.back().ns);
  }
  void add(const Silence& silence);

  const std::vector<Silence>& longest() const { return kept_; }  ///< the longest first

 private:
  std::size_t limit_;
  std::vector<Silence> kept_;
};

}  // namespace urnic::check
