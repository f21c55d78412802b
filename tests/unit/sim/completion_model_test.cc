// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/models/completion_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace urnic::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Optional;
using transport::Completion;
using transport::CompletionOpcode;
using transport::CompletionStatus;
using transport::QpNumber;

Completion send_completion(std::uint64_t wr_id, CompletionStatus status = CompletionStatus::kSuccess) {
  return {.wr_id = wr_id, .status = status, .opcode = CompletionOpcode::kSend};
}

auto succeeded(std::uint64_t wr_id) {
  return AllOf(Field(&Ended::wr_id, wr_id), Field(&Ended::how, Ended::How::kSucceeded));
}
auto flushed(std::uint64_t wr_id) {
  return AllOf(Field(&Ended::wr_id, wr_id), Field(&Ended::how, Ended::How::kFlushed));
}

class SendCompletionsTest : public ::testing::Test {
 protected:
  void post(std::uint64_t wr_id, bool signaled = true, CompletionOpcode opcode = CompletionOpcode::kSend) {
    model_.on_posted({.wr_id = wr_id, .opcode = opcode, .byte_length = 100, .signaled = signaled});
  }
  auto complete(const Completion& completion) { return model_.on_completion(completion, ended_); }

  SendCompletions model_;
  std::vector<Ended> ended_;
};

TEST_F(SendCompletionsTest, ACompletionEndsTheUnsignaledOnesBeforeIt) {
  post(1, false);
  post(2);
  EXPECT_THAT(complete(send_completion(2)), Eq(std::nullopt));
  EXPECT_THAT(ended_, ElementsAre(succeeded(1), succeeded(2)));
}

TEST_F(SendCompletionsTest, ComplainsAboutTheWrongOrder) {
  post(1);
  post(2);
  EXPECT_THAT(complete(send_completion(2)), Optional(HasSubstr("before 1")));
}

TEST_F(SendCompletionsTest, ComplainsAboutASecondCompletion) {
  post(1);
  EXPECT_THAT(complete(send_completion(1)), Eq(std::nullopt));
  EXPECT_THAT(complete(send_completion(1)), Optional(HasSubstr("not outstanding")));
}

TEST_F(SendCompletionsTest, ComplainsWhenAnUnsignaledOneIsReported) {
  post(1, false);
  EXPECT_THAT(complete(send_completion(1)), Optional(HasSubstr("unsignaled")));
}

TEST_F(SendCompletionsTest, ComplainsAboutTheWrongOpcodeAndLength) {
  post(1, true, CompletionOpcode::kRdmaRead);
  EXPECT_THAT(complete(send_completion(1)), Optional(HasSubstr("SEND instead of READ")));
  post(2, true, CompletionOpcode::kRdmaRead);
  EXPECT_THAT(complete({.wr_id = 2, .opcode = CompletionOpcode::kRdmaRead, .byte_length = 99}),
              Optional(HasSubstr("byte_length 99")));
}

TEST_F(SendCompletionsTest, AfterAFailureEverythingIsFlushedEvenUnsignaled) {
  post(1);
  post(2, false);
  post(3);
  EXPECT_THAT(complete(send_completion(1, CompletionStatus::kRetryExceeded)), Eq(std::nullopt));
  EXPECT_THAT(complete(send_completion(3, CompletionStatus::kWorkRequestFlushed)),
              Optional(HasSubstr("before 2")));
}

TEST_F(SendCompletionsTest, ComplainsAboutSuccessAfterAFailure) {
  post(1);
  post(2);
  complete(send_completion(1, CompletionStatus::kRetryExceeded));
  EXPECT_THAT(complete(send_completion(2)), Optional(HasSubstr("after a failure")));
}

TEST_F(SendCompletionsTest, AFlushBehindUnsignaledOnesMeansThatTheySucceeded) {
  post(1, false);
  post(2, false);
  EXPECT_THAT(complete(send_completion(2, CompletionStatus::kWorkRequestFlushed)), Eq(std::nullopt));
  EXPECT_THAT(ended_, ElementsAre(succeeded(1), flushed(2)));
}

TEST_F(SendCompletionsTest, ComplainsAboutASignaledOneThatWasNotFlushed) {
  post(1);
  EXPECT_THAT(model_.on_flushed(ended_), Optional(HasSubstr("neither completed nor flushed")));
}

class ReceiveCompletionsTest : public ::testing::Test {
 protected:
  static Completion receive(std::uint64_t wr_id) {
    return {.wr_id = wr_id,
            .opcode = CompletionOpcode::kReceive,
            .byte_length = 100,
            .qp_number = QpNumber{7},
            .source_qp = QpNumber{9}};
  }
  auto complete(const Completion& completion) { return model_.on_completion(completion, ended_); }

  ReceiveCompletions model_{7, 9};
  std::vector<Ended> ended_;
};

TEST_F(ReceiveCompletionsTest, ComplainsWhenNothingWasSent) {
  model_.on_posted(1);
  EXPECT_THAT(complete(receive(1)), Optional(HasSubstr("posted nothing")));
}

TEST_F(ReceiveCompletionsTest, ComplainsAboutTheWrongOrder) {
  model_.on_posted(1);
  model_.on_posted(2);
  model_.on_message_posted({.opcode = CompletionOpcode::kReceive, .byte_length = 100});
  EXPECT_THAT(complete(receive(2)), Optional(HasSubstr("0x1 is the oldest")));
}

TEST_F(ReceiveCompletionsTest, MatchesMessagesInOrder) {
  model_.on_posted(1);
  model_.on_posted(2);
  model_.on_message_posted({.opcode = CompletionOpcode::kReceive, .byte_length = 100});
  model_.on_message_posted({.opcode = CompletionOpcode::kReceive, .byte_length = 99});
  EXPECT_THAT(complete(receive(1)), Eq(std::nullopt));
  EXPECT_THAT(complete(receive(2)), Optional(HasSubstr("byte_length 100 of a message of 99")));
}

TEST_F(ReceiveCompletionsTest, ComplainsAboutImmediateDataThatIsMissingOrWrong) {
  model_.on_posted(1);
  model_.on_message_posted({.opcode = CompletionOpcode::kReceive, .byte_length = 100, .immediate = 5});
  EXPECT_THAT(complete(receive(1)), Optional(HasSubstr("immediate")));
}

TEST_F(ReceiveCompletionsTest, ComplainsAboutTheWrongQueuePairs) {
  model_.on_posted(1);
  model_.on_message_posted({.opcode = CompletionOpcode::kReceive, .byte_length = 100});
  Completion completion = receive(1);
  completion.source_qp = QpNumber{8};
  EXPECT_THAT(complete(completion), Optional(HasSubstr("source_qp")));
}

TEST_F(ReceiveCompletionsTest, ComplainsAboutAReceiveThatWasNotFlushed) {
  model_.on_posted(1);
  EXPECT_THAT(model_.on_flushed(), Optional(HasSubstr("not flushed")));
}

}  // namespace
}  // namespace urnic::sim
