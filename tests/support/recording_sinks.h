// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Sinks that remember what the transport told them, and matchers for what they remember.
#pragma once

#include <gmock/gmock.h>

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string_view>
#include <utility>
#include <vector>

#include "transport/completion.h"
#include "transport/endpoint.h"
#include "transport/qp_state.h"

namespace urnic::transport {

/// For GoogleTest's messages.
void PrintTo(CompletionStatus status, std::ostream* out);
void PrintTo(CompletionOpcode opcode, std::ostream* out);
void PrintTo(const Completion& completion, std::ostream* out);
void PrintTo(QpEvent event, std::ostream* out);
void PrintTo(QpState state, std::ostream* out);

}  // namespace urnic::transport

namespace urnic::transport::test {

class RecordingCompletionSink final : public CompletionSink {
 public:
  void complete(const Completion& completion) override { completions_.push_back(completion); }
  /// Everything completed since the last call.
  std::vector<Completion> take() { return std::exchange(completions_, {}); }

 private:
  std::vector<Completion> completions_;
};

class RecordingQpEventSink final : public QpEventSink {
 public:
  void on_qp_event(QpNumber qp, QpEvent event) override {
    qp_ = qp;
    events_.push_back(event);
  }
  void on_loss() override { ++losses_; }

  std::vector<QpEvent> take() { return std::exchange(events_, {}); }
  QpNumber last_qp() const { return qp_; }
  /// Ever.
  std::size_t losses() const { return losses_; }

 private:
  QpNumber qp_{};
  std::vector<QpEvent> events_;
  std::size_t losses_ = 0;
};

MATCHER_P2(Completed, wr_id, status, "") {
  return arg.wr_id == static_cast<std::uint64_t>(wr_id) && arg.status == status;
}

inline auto Succeeded(std::uint64_t wr_id) {
  return Completed(wr_id, CompletionStatus::kSuccess);
}
inline auto Flushed(std::uint64_t wr_id) {
  return Completed(wr_id, CompletionStatus::kWorkRequestFlushed);
}

}  // namespace urnic::transport::test
