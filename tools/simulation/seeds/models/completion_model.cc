// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/models/completion_model.h"

#include <fmt/core.h>

#include <algorithm>

namespace urnic::sim {
namespace {

using transport::Completion;
using transport::CompletionOpcode;
using transport::CompletionStatus;

bool is_flush(const Completion& completion) {
  return completion.status == CompletionStatus::kWorkRequestFlushed;
}

Ended::How how(const Completion& completion) {
  if (completion.status == CompletionStatus::kSuccess) return Ended::How::kSucceeded;
  return is_flush(completion) ? Ended::How::kFlushed : Ended::How::kFailed;
}

bool brings_data(CompletionOpcode opcode) {
  return opcode == CompletionOpcode::kRdmaRead || opcode == CompletionOpcode::kCompareSwap ||
         opcode == CompletionOpcode::kFetchAdd;
}

}  // namespace

std::optional<std::string> SendCompletions::on_completion(const Completion& completion,
                                                          std::vector<Ended>& ended) {
  const bool is_success = completion.status == CompletionStatus::kSuccess;
  if (has_failed_ && !is_flush(completion)) {
    return fmt::format("{} after a failure on the queue pair", name_of(completion.status));
  }
  // A flush right after unsignaled work requests means that those succeeded: the others would be flushed
  // too.
  while (!outstanding_.empty() && outstanding_.front().wr_id != completion.wr_id) {
    if (has_failed_ || outstanding_.front().signaled) {
      return fmt::format("work request {} completes before {}, which was posted earlier", completion.wr_id,
                         outstanding_.front().wr_id);
    }
    ended.push_back({.wr_id = outstanding_.front().wr_id, .how = Ended::How::kSucceeded});
    outstanding_.pop_front();
  }
  if (outstanding_.empty()) return fmt::format("work request {} is not outstanding", completion.wr_id);
  const Expectation expected = outstanding_.front();
  outstanding_.pop_front();
  ended.push_back({.wr_id = expected.wr_id, .how = how(completion)});
  has_failed_ = has_failed_ || !is_success;
  if (!is_success) return std::nullopt;

  if (!expected.signaled) return fmt::format("unsignaled work request {} has a completion", expected.wr_id);
  if (completion.opcode != expected.opcode) {
    return fmt::format("opcode {} instead of {}", name_of(completion.opcode), name_of(expected.opcode));
  }
  if (brings_data(expected.opcode) && completion.byte_length != expected.byte_length) {
    return fmt::format("byte_length {} of a {} of {}", completion.byte_length, name_of(expected.opcode),
                       expected.byte_length);
  }
  return std::nullopt;
}

std::size_t SendCompletions::signaled_outstanding() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      outstanding_, [](const Expectation& expectation) { return expectation.signaled; }));
}

std::optional<std::string> SendCompletions::on_flushed(std::vector<Ended>& ended) {
  for (const Expectation& expectation : outstanding_) {
    if (expectation.signaled || has_failed_) {
      return fmt::format("work request {} was neither completed nor flushed", expectation.wr_id);
    }
    ended.push_back({.wr_id = expectation.wr_id, .how = Ended::How::kSucceeded});
  }
  outstanding_.clear();
  return std::nullopt;
}

std::optional<std::string> ReceiveCompletions::on_completion(const Completion& completion,
                                                             std::vector<Ended>& ended) {
  if (has_failed_ && !is_flush(completion)) {
    return fmt::format("{} after a failure on the queue pair", name_of(completion.status));
  }
  if (outstanding_.empty() || outstanding_.front() != completion.wr_id) {
    return fmt::format("receive {:#x} completes, but {}", completion.wr_id,
                       outstanding_.empty() ? "none is outstanding"
                                            : fmt::format("{:#x} is the oldest", outstanding_.front()));
  }
  outstanding_.pop_front();
  ended.push_back({.wr_id = completion.wr_id, .how = how(completion)});
  if (completion.status != CompletionStatus::kSuccess) {
    has_failed_ = true;
    return std::nullopt;
  }

  if (messages_.empty()) return "a receive completes though the peer has posted nothing for it";
  const Message message = messages_.front();
  messages_.pop_front();
  if (completion.opcode != message.opcode) {
    return fmt::format("opcode {} instead of {}", name_of(completion.opcode), name_of(message.opcode));
  }
  if (completion.byte_length != message.byte_length) {
    return fmt::format("byte_length {} of a message of {}", completion.byte_length, message.byte_length);
  }
  if (completion.has_immediate != message.immediate.has_value() ||
      (message.immediate && completion.immediate != *message.immediate)) {
    return fmt::format("immediate data {:#x} ({}) instead of {:#x} ({})", completion.immediate,
                       completion.has_immediate, message.immediate.value_or(0),
                       message.immediate.has_value());
  }
  if (completion.has_invalidate != message.invalidated.has_value() ||
      (message.invalidated && completion.invalidated_rkey != *message.invalidated)) {
    return fmt::format("invalidated key {:#x} ({}) instead of {:#x} ({})",
                       to_integer(completion.invalidated_rkey), completion.has_invalidate,
                       to_integer(message.invalidated.value_or(transport::Rkey{})),
                       message.invalidated.has_value());
  }
  if (completion.solicited != message.solicited) return "the solicited bit is not what the sender asked for";
  if (transport::to_integer(completion.qp_number) != own_qp_) return "wrong qp_number";
  if (transport::to_integer(completion.source_qp) != peer_qp_) return "wrong source_qp";
  return std::nullopt;
}

std::optional<std::string> ReceiveCompletions::on_flushed() const {
  if (outstanding_.empty()) return std::nullopt;
  return fmt::format("receive {:#x} was not flushed", outstanding_.front());
}

}  // namespace urnic::sim
