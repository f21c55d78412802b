// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// AnswerModel: what a requester knows of its requests, by the answers that reached it.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/conformance/replay/direction.h"
#include "tools/conformance/replay/message.h"

namespace urnic::replay {

/// A reading of facts 21 to 28 and 34 of its own, small enough to be copied: a replay asks a copy what an
/// answer would do before it is given to our stack.
class AnswerModel {
 public:
  enum class Effect : std::uint8_t {
    kNothing,   ///< stale, repeated, or about what was not sent
    kProgress,  ///< acknowledges
    kData,      ///< acknowledges with data: the response that was wanted next
    kGoBack,    ///< sequence NAK or implied NAK: everything from acknowledged() on is to be sent again
    kWait,      ///< RNR NAK: likewise, after its timer
    kEnd,       ///< any other NAK: the oldest work request fails
  };

  /// `messages` must outlive it and be in the order of PSNs; not empty.
  explicit AnswerModel(const std::vector<Message>& messages)
      : messages_(&messages), acknowledged_(messages.front().first), sent_end_(acknowledged_) {}

  Effect apply(const Event& answer);
  /// Everything up to `end` has been sent at least once.
  void on_sent(ExtendedPsn end);
  /// The requester went back without having been told to: its timer ran out.
  void on_timeout() { is_recovering_ = false; }

  /// The oldest PSN that is not acknowledged.
  ExtendedPsn acknowledged() const { return acknowledged_; }
  /// Index of the message it belongs to.
  std::size_t head() const { return head_; }
  bool has_ended() const { return has_ended_; }

 private:
  bool acknowledge_up_to(ExtendedPsn end);
  void advance(ExtendedPsn to);
  Effect go_back(Effect how);
  Effect on_response(ExtendedPsn at);

  const std::vector<Message>* messages_;
  ExtendedPsn acknowledged_;
  ExtendedPsn sent_end_;
  std::size_t head_ = 0;
  bool is_recovering_ = false;  // a go-back is under way: what else is missing will be sent with it
  bool is_refused_ = false;     // by an RNR NAK, and nothing sent since
  bool has_ended_ = false;
};

}  // namespace urnic::replay
