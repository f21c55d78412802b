// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What is counted where failures are explained, without a device.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/unit/verbs_api/sanitizer_said.h"
#include "verbs_api/sanitizer/accounts/accounts.h"
#include "verbs_api/sanitizer/accounts/cq_account.h"
#include "verbs_api/sanitizer/accounts/qp_account.h"
#include "verbs_api/sanitizer/settings.h"

namespace urnic::verbs_api {
namespace {

using transport::CompletionOpcode;
using transport::CompletionStatus;

class AccountTest : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kNumber = 0x11;

  AccountTest() { accounts_.add(kNumber, qp_); }

  void post(bool is_signaled, nic::PostStatus status = nic::PostStatus::kPosted) {
    qp_->on_send({.signaled = is_signaled}, {}, 0, status);
  }
  void receive() { qp_->on_receive({}, {}, nic::PostStatus::kPosted); }
  void poll(CompletionOpcode opcode = CompletionOpcode::kSend,
            CompletionStatus status = CompletionStatus::kSuccess) {
    cq_->polled({.status = status, .opcode = opcode, .qp_number = transport::QpNumber{kNumber}});
  }

  Said said_;
  Accounts accounts_;
  std::shared_ptr<CqAccount> cq_ = std::make_shared<CqAccount>("CQ 1", 4, accounts_, said_);
  std::shared_ptr<QpAccount> qp_ = std::make_shared<QpAccount>(
      QpAccount::Facts{.name = "QP 0x11", .sends = {6, 8}, .receives = {2, 2}, .send_cq = cq_}, said_);
};

TEST_F(AccountTest, UnsignaledSendsHoldTheirSlotsUntilALaterCompletionIsPolled) {
  for (int i = 0; i < 6; ++i) post(false);
  EXPECT_EQ(said_.take(), kNothing);
  post(false);
  EXPECT_EQ(said_.take(), std::vector{Finding::kRoomNotRequested});
  post(false);
  EXPECT_EQ(said_.take(), kNothing) << "told once";
  post(false);
  EXPECT_EQ(said_.take(), std::vector{Finding::kSendQueueNeverDrained});
  for (int i = 0; i < 100; ++i) post(true);
  EXPECT_EQ(said_.take(), std::vector{Finding::kCompletionQueueTooSmall});
}

TEST_F(AccountTest, ACompletionGivesBackWhatWasPostedBeforeIt) {
  for (int round = 0; round < 1000; ++round) {
    for (int i = 0; i < 5; ++i) post(i == 2);
    poll();
    post(true);
    poll();
  }
  EXPECT_EQ(said_.take(), kNothing);
}

TEST_F(AccountTest, WhatIsPostedAfterTheCompletionStaysOutstanding) {
  post(true);
  for (int i = 0; i < 5; ++i) post(false);
  poll();
  post(false);
  EXPECT_EQ(said_.take(), kNothing);
  post(false);
  EXPECT_EQ(said_.take(), std::vector{Finding::kRoomNotRequested});
}

TEST_F(AccountTest, RefusedPostsDoNotCount) {
  for (int i = 0; i < 20; ++i) post(true, nic::PostStatus::kQueueFull);
  EXPECT_EQ(said_.take(), kNothing);
}

TEST_F(AccountTest, AfterAFailureNothingIsCountedUntilAReset) {
  post(true);
  poll(CompletionOpcode::kSend, CompletionStatus::kRetryExceeded);
  for (int i = 0; i < 20; ++i) post(true);
  qp_->check_destroy();
  EXPECT_EQ(said_.take(), kNothing);
  qp_->reset();
  for (int i = 0; i < 4; ++i) post(true);
  EXPECT_EQ(said_.take(), kNothing);
  for (int i = 0; i < 5; ++i) post(false);
  EXPECT_EQ(said_.take(), (std::vector{Finding::kRoomNotRequested, Finding::kSendQueueNeverDrained}));
}

TEST_F(AccountTest, AnAbortedListStopsTheCount) {
  post(true);
  qp_->on_sends_aborted(1);
  for (int i = 0; i < 20; ++i) post(true);
  EXPECT_EQ(said_.take(), kNothing);
}

TEST_F(AccountTest, ReceivesHoldTheirSlotsUntilTheyArePolled) {
  receive();
  receive();
  poll(CompletionOpcode::kReceive, CompletionStatus::kWorkRequestFlushed);
  receive();
  EXPECT_EQ(said_.take(), kNothing);
  receive();
  EXPECT_EQ(said_.take(), std::vector{Finding::kReceiveQueueNeverDrained});
}

TEST_F(AccountTest, AQueuePairIsNotDestroyedWithWorkOutstanding) {
  post(true);
  poll();
  post(false);
  qp_->check_destroy();
  EXPECT_EQ(said_.take(), kNothing) << "an unsignaled send has no completion";
  post(true);
  qp_->check_destroy();
  EXPECT_EQ(said_.take(), std::vector{Finding::kDestroyedWithWorkOutstanding});
}

TEST_F(AccountTest, MoreCompletionsWaitThanThereAreEntries) {
  cq_->check_waiting(4);
  EXPECT_EQ(said_.take(), kNothing);
  cq_->check_waiting(5);
  EXPECT_EQ(said_.take(), std::vector{Finding::kCompletionQueueOverrun});
  cq_->resized(8);
  for (int i = 0; i < 6; ++i) post(true);
  EXPECT_EQ(said_.take(), kNothing);
}

TEST_F(AccountTest, AQueuePairThatIsGoneIsNotLookedFor) {
  post(true);
  poll();
  accounts_.remove(kNumber);
  qp_.reset();
  poll();
  const auto other = std::make_shared<QpAccount>(
      QpAccount::Facts{.name = "QP 0x11", .sends = {1, 1}, .receives = {1, 1}}, said_);
  accounts_.add(kNumber, other);
  other->on_send({.signaled = true}, {}, 0, nic::PostStatus::kPosted);
  poll();
  other->on_send({.signaled = true}, {}, 0, nic::PostStatus::kPosted);
  EXPECT_EQ(said_.take(), kNothing) << "the completion was the new one's";
}

TEST(SanitizerSettings, OfAccountsWantWhatCostsNothing) {
  const SanitizerSettings settings = SanitizerSettings::for_accounts();
  EXPECT_TRUE(settings.wants(Finding::kSendQueueNeverDrained));
  EXPECT_TRUE(settings.wants(Finding::kDestroyedWithWorkOutstanding));
  EXPECT_FALSE(settings.wants(Finding::kReadWithoutFence));
  EXPECT_FALSE(settings.wants(Finding::kForkWithRegisteredMemory));
}

}  // namespace
}  // namespace urnic::verbs_api
