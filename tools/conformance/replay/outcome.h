// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The result of playing one side of a direction, and what both sides said on the way.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace urnic::replay {

/// Where two implementations may differ and both be right. README.md has the reasons.
enum class AllowedDeviation : std::uint8_t {
  kMigReq,
  kReservedBits,
  kAckRequest,
  kCredits,
  kCoalescedAck,
  kUnaskedAck,
  kReadResumed,
  kLongSendNak,
  kLostRequest,
  kLostAnswer,
  kRequestLostBehind,
  kTimeout,
  kLateReaction,
  kNetworkCopy,
  kEndOfCapture,
  kCount,
};
inline constexpr std::size_t kAllowedDeviations = static_cast<std::size_t>(AllowedDeviation::kCount);

struct AllowedDeviationInfo {
  const char* name = "";     ///< as reports call it
  const char* meaning = "";  ///< one line
};
AllowedDeviationInfo info_of(AllowedDeviation deviation);

enum class Side : std::uint8_t { kRequester, kResponder };
enum class Verdict : std::uint8_t { kEqual, kMismatch, kNotPlayed };
const char* to_string(Side side);
const char* to_string(Verdict verdict);

/// One line of the ladder: what the capture has beside what our stack did.
struct Row {
  std::uint64_t frame = 0;  ///< 0 for what the capture does not have
  std::int64_t time_ns = 0;
  std::string captured{};
  std::string ours{};
  std::string note{};
  bool is_difference = false;
};

/// The rows around the first difference; all of the first kMostRows when told to keep everything.
class Ladder {
 public:
  static constexpr std::size_t kMostRows = 2000;
  static constexpr std::size_t kRowsBefore = 12;
  static constexpr std::size_t kRowsBehind = 8;

  explicit Ladder(bool keeps_all = false) : keeps_all_(keeps_all) {}

  /// Whether a row that is added now will be kept, perhaps.
  bool wants_rows() const { return !is_over_; }
  void add(Row row);
  const std::deque<Row>& rows() const { return rows_; }
  std::uint64_t left_out() const { return left_out_; }

 private:
  bool keeps_all_;
  bool is_over_ = false;
  bool has_difference_ = false;
  std::size_t behind_ = 0;
  std::uint64_t left_out_ = 0;
  std::deque<Row> rows_;
};

struct Outcome {
  Side side = Side::kRequester;
  Verdict verdict = Verdict::kEqual;
  std::string what{};          ///< of a mismatch: what differs; of what was not played: why
  std::uint64_t frame = 0;     ///< where it differs; 0 for what only the end shows
  std::uint64_t compared = 0;  ///< packets, messages received and work requests completed that were compared
  std::array<std::uint64_t, kAllowedDeviations> deviations{};
  std::vector<std::string> notes{};
  Ladder ladder{};

  void use(AllowedDeviation deviation) { ++deviations[static_cast<std::size_t>(deviation)]; }
  /// The first difference counts; true if this is it.
  bool differ(std::uint64_t at, std::string description) {
    if (verdict != Verdict::kEqual) return false;
    verdict = Verdict::kMismatch;
    frame = at;
    what = std::move(description);
    return true;
  }
};

}  // namespace urnic::replay
