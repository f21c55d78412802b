// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What went to and fro between two queue pairs, message by message, as text for a mail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/conformance/check/models/exchange.h"
#include "tools/conformance/check/packets/psn.h"
#include "tools/conformance/check/packets/seen.h"

namespace urnic::check {

enum class LadderMark : std::uint8_t { kNone, kAgain, kCopy };

/// A packet, or a run of Middle packets.
struct LadderRow {
  std::uint64_t frame = 0;
  std::uint64_t last_frame = 0;
  std::int64_t time_ns = 0;
  std::uint64_t bytes = 0;
  Psn first;
  Psn last;
  std::uint32_t count = 1;
  std::uint32_t msn = 0;
  std::string management;  ///< what a message of the connection manager says
  std::uint8_t opcode = 0;
  std::uint8_t syndrome = 0;
  bool ack_requested = false;
  LadderMark mark = LadderMark::kNone;
};

/// The rows of one flow, up to a limit.
class LadderRows {
 public:
  /// Adds a packet. `interrupted`: the other side said something since the last row.
  void add(const Seen& seen, LadderMark mark, bool interrupted, std::size_t limit);

  const std::vector<LadderRow>& rows() const { return rows_; }
  std::uint64_t last_frame() const { return last_frame_; }
  std::uint64_t left_out() const { return left_out_; }  ///< packets beyond the limit

 private:
  std::vector<LadderRow> rows_;
  std::uint64_t last_frame_ = 0;
  std::uint64_t left_out_ = 0;
};

/// The ladder of a connection: `right` are the rows from the left end to the right one, `left` those back,
/// and may be null. `notes` are names of broken rules by frame.
std::string draw_ladder(const std::string& left_end, const std::string& right_end, const LadderRows& right,
                        const LadderRows* left, const std::map<std::uint64_t, std::string>& notes);

}  // namespace urnic::check
