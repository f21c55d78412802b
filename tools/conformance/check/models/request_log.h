// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The requests of one direction of a connection that a capture showed lately, by PSN.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>

#include "tools/conformance/check/packets/packet.h"
#include "tools/conformance/check/packets/psn.h"

namespace urnic::check {

/// A request packet, or a run of PSNs that were never seen. A READ takes as many PSNs as its answer has
/// packets (fact 28).
struct RequestEntry {
  Psn first;
  std::uint32_t span = 1;    ///< how many PSNs
  bool is_missing = false;   ///< never seen
  bool is_needless = false;  ///< missing, and the message around it is complete
  bool is_skipped = false;   ///< missing, and known never to have existed
  bool may_be_rest = false;  ///< of a READ: the capture began not long before, perhaps it was asked before
  bool is_damaged = false;   ///< its ICRC is wrong: what it says may not be true
  bool span_unsure = false;  ///< of a READ, worked out before the path MTU was known
  bool is_answered = false;  ///< the last response to it was seen
  bool ack_requested = false;
  bool has_digest = false;
  bool has_original = false;
  std::uint8_t opcode = 0;
  std::uint16_t transmissions = 1;
  std::uint64_t first_frame = 0;
  std::uint64_t last_frame = 0;
  std::int64_t first_time_ns = 0;
  std::int64_t last_time_ns = 0;
  std::uint32_t payload_bytes = 0;
  std::uint32_t digest = 0;  ///< of the payload, or of an atomic's operands
  std::uint64_t address = 0;
  std::uint32_t r_key = 0;
  std::uint32_t length = 0;         ///< of RETH
  std::uint32_t next_response = 0;  ///< of a READ: which response comes next, counted from 0
  std::array<std::uint32_t, 4>
      resumed_at{};            ///< of a READ: from which responses on it was repeated lately, from 0
  std::uint64_t original = 0;  ///< an atomic's result

  void resume_at(std::uint32_t response) {
    std::copy_backward(resumed_at.begin(), resumed_at.end() - 1, resumed_at.end());
    resumed_at.front() = response;
    next_response = response;
  }
  bool was_resumed_at(std::uint32_t response) const {
    return std::find(resumed_at.begin(), resumed_at.end(), response) != resumed_at.end();
  }
  Psn last() const { return first + (span - 1); }
  const OpcodeInfo& info() const { return info_of(opcode); }
  bool covers(Psn psn) const {
    const auto offset = distance(first, psn);
    return offset >= 0 && static_cast<std::uint32_t>(offset) < span;
  }
};

/// Entries that follow one another without a hole, the oldest first. Bounded in entries and in PSNs, so that
/// any two PSNs in it have an order.
class RequestLog {
 public:
  static constexpr std::uint32_t kMaxSpan = 1u << 20;  ///< PSNs of one entry

  explicit RequestLog(std::size_t limit) : limit_(limit) {}

  bool is_empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  Psn oldest() const { return entries_.front().first; }
  Psn next() const { return entries_.back().first + entries_.back().span; }  ///< of the next new request
  RequestEntry& back() { return entries_.back(); }
  RequestEntry& operator[](std::size_t index) { return entries_[index]; }

  void clear() { entries_.clear(); }
  /// `entry.first` must be next() unless the log is empty.
  void append(const RequestEntry& entry);
  /// Index of the entry that covers `psn`.
  std::optional<std::size_t> index_of(Psn psn) const;
  RequestEntry* find(Psn psn);
  /// Puts `entry` into the missing run that covers all of it.
  void fill(std::size_t missing_index, const RequestEntry& entry);
  /// The path MTU is known now: cuts READs that were given too many PSNs (the PSNs of a lost request after
  /// them) to what `responses_for(length)` says.
  void settle_spans(const std::function<std::uint32_t(std::uint32_t)>& responses_for);

 private:
  std::size_t limit_;
  std::deque<RequestEntry> entries_;
};

}  // namespace urnic::check
