// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// CompletionModel: the oracle that knows which completions a queue pair must give to the application.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "transport/completion.h"

namespace urnic::sim {

/// Set in the wr_id of every receive.
inline constexpr std::uint64_t kReceiveBit = std::uint64_t{1} << 63;

/// How a work request ended.
struct Ended {
  enum class How : std::uint8_t { kSucceeded, kFailed, kFlushed };
  std::uint64_t wr_id = 0;
  How how = How::kSucceeded;
};

/// The send queue of one queue pair: every signaled work request completes exactly once and in order, an
/// unsignaled one completes silently before the next, and after a failure all others are flushed, signaled or
/// not.
class SendCompletions {
 public:
  struct Expectation {
    std::uint64_t wr_id = 0;
    transport::CompletionOpcode opcode{};
    std::uint32_t byte_length = 0;  ///< looked at for READs and atomics only
    bool signaled = true;
  };

  void on_posted(const Expectation& expectation) { outstanding_.push_back(expectation); }

  /// Takes a completion; appends what has ended with it, unsignaled ones included, to `ended`. A complaint if
  /// the completion must not come now.
  std::optional<std::string> on_completion(const transport::Completion& completion,
                                           std::vector<Ended>& ended);

  /// The queue pair is in ERR and its queues were flushed: what is outstanding must be unsignaled and have
  /// succeeded.
  std::optional<std::string> on_flushed(std::vector<Ended>& ended);

  bool has_failed() const { return has_failed_; }
  std::size_t outstanding() const { return outstanding_.size(); }
  /// Of those the ones whose success will be reported.
  std::size_t signaled_outstanding() const;

 private:
  std::deque<Expectation> outstanding_;
  bool has_failed_ = false;
};

/// The receive queue of one queue pair: receives complete in the order in which they were posted, with the
/// messages in the order in which the peer posted them.
class ReceiveCompletions {
 public:
  struct Message {
    transport::CompletionOpcode opcode{};
    std::uint32_t byte_length = 0;
    std::optional<std::uint32_t> immediate{};
    std::optional<transport::Rkey> invalidated{};
    bool solicited = false;
  };

  ReceiveCompletions(std::uint32_t own_qp, std::uint32_t peer_qp) : own_qp_(own_qp), peer_qp_(peer_qp) {}

  void on_posted(std::uint64_t wr_id) { outstanding_.push_back(wr_id); }
  /// The peer has posted a message that will take a receive.
  void on_message_posted(const Message& message) { messages_.push_back(message); }

  std::optional<std::string> on_completion(const transport::Completion& completion,
                                           std::vector<Ended>& ended);
  /// As SendCompletions::on_flushed(): nothing may be outstanding.
  std::optional<std::string> on_flushed() const;

  bool has_failed() const { return has_failed_; }
  /// Messages that wait for a receive to complete.
  std::size_t messages_waiting() const { return messages_.size(); }
  std::size_t outstanding() const { return outstanding_.size(); }

 private:
  std::uint32_t own_qp_;
  std::uint32_t peer_qp_;
  std::deque<std::uint64_t> outstanding_;
  std::deque<Message> messages_;
  bool has_failed_ = false;
};

}  // namespace urnic::sim
