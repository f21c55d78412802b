// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The sanitizer's models, without a device: what a program posts and polls, and what they say of it.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "nic/memory/fault_guard.h"
#include "nic/memory/write_log.h"
#include "tests/unit/verbs_api/sanitizer_said.h"
#include "verbs_api/sanitizer/ledgers/buffer_print.h"
#include "verbs_api/sanitizer/ledgers/device_ledger.h"
#include "verbs_api/sanitizer/ledgers/queues/cq_ledger.h"
#include "verbs_api/sanitizer/ledgers/queues/qp_ledger.h"
#include "verbs_api/sanitizer/ledgers/queues/send_ledger.h"

namespace urnic::verbs_api {
namespace {

using transport::Lkey;
using transport::SendOperation;
using transport::SendRequest;
using transport::Sge;

constexpr Lkey kKey{7};

SendRequest request(std::uint64_t wr_id, SendOperation operation, bool is_signaled, bool has_fence = false) {
  return {.wr_id = wr_id, .operation = operation, .signaled = is_signaled, .fence = has_fence};
}

class SendLedgerTest : public ::testing::Test {
 protected:
  void post(const SendRequest& request, std::uint64_t address = 0x1000, std::uint32_t length = 64) {
    const Sge element{.address = address, .length = length, .lkey = kKey};
    ledger_.posted(request, std::span(&element, 1));
  }

  Said said_;
  std::string name_ = "QP 0x11";
  nic::WriteLog writes_;
  SendLedger ledger_{name_, {.requested = 3, .granted = 4}, false, writes_, said_};
};

TEST_F(SendLedgerTest, UnsignaledRequestsHoldTheirSlots) {
  for (std::uint64_t i = 0; i < 3; ++i) post(request(i, SendOperation::kWrite, false));
  EXPECT_EQ(said_.take(), kNothing);
  post(request(3, SendOperation::kWrite, false));
  EXPECT_EQ(said_.take(), std::vector{Finding::kRoomNotRequested});
  post(request(4, SendOperation::kWrite, false));
  EXPECT_EQ(said_.take(), std::vector{Finding::kSendQueueNeverDrained});
  EXPECT_NE(said_.text.find("from wr_id 0 (RDMA_WRITE) on"), std::string::npos) << said_.text;
}

TEST_F(SendLedgerTest, ACompletionGivesBackWhatWasPostedBeforeIt) {
  for (std::uint64_t round = 0; round < 10; ++round) {
    post(request(1, SendOperation::kWrite, false));
    post(request(2, SendOperation::kWrite, false));
    post(request(3, SendOperation::kWrite, true));
    ledger_.polled(3, true);
  }
  EXPECT_EQ(said_.take(), kNothing);
  EXPECT_EQ(ledger_.outstanding(), 0U);
}

TEST_F(SendLedgerTest, ASignaledRequestThatIsNotPolledGivesNothingBack) {
  for (std::uint64_t i = 0; i < 5; ++i) post(request(i, SendOperation::kWrite, true));
  EXPECT_EQ(said_.take(), (std::vector{Finding::kRoomNotRequested, Finding::kSendQueueNeverDrained}));
}

TEST_F(SendLedgerTest, OneWorkRequestIdForAllIsTheOldestThatIsSignaled) {
  post(request(0, SendOperation::kWrite, true));
  post(request(0, SendOperation::kWrite, true));
  ledger_.polled(0, true);
  EXPECT_EQ(ledger_.outstanding(), 1U);
}

TEST_F(SendLedgerTest, AnUnsignaledRequestThatFailsHasACompletion) {
  post(request(1, SendOperation::kWrite, false));
  post(request(2, SendOperation::kWrite, true));
  ledger_.polled(1, false);
  EXPECT_EQ(ledger_.outstanding(), 1U);
}

TEST_F(SendLedgerTest, WhatIsAbortedWasNeverPosted) {
  post(request(1, SendOperation::kRead, true));
  post(request(2, SendOperation::kWrite, true));
  said_.take();
  ledger_.aborted(2);
  EXPECT_EQ(ledger_.outstanding(), 0U);
  EXPECT_EQ(ledger_.signaled(), 0U);
  post(request(3, SendOperation::kWrite, true));
  EXPECT_EQ(said_.take(), kNothing);
}

TEST_F(SendLedgerTest, BytesThatAReadBringsAreNotSentOnWithoutAFence) {
  post(request(1, SendOperation::kRead, false), 0x1000, 64);
  post(request(2, SendOperation::kSend, false), 0x103f, 1);
  EXPECT_EQ(said_.take(), std::vector{Finding::kReadWithoutFence});
  EXPECT_NE(said_.text.find("from 0x103f, where wr_id 1 (RDMA_READ)"), std::string::npos) << said_.text;
}

TEST_F(SendLedgerTest, OtherBytesAreSentWithoutAFence) {
  post(request(1, SendOperation::kFetchAdd, false), 0x1000, 8);
  post(request(2, SendOperation::kSend, false), 0x1008, 8);
  post(request(3, SendOperation::kSend, false), 0xff8, 8);
  EXPECT_EQ(said_.take(), kNothing);
}

TEST_F(SendLedgerTest, AFenceOrACompletionIsEnough) {
  post(request(1, SendOperation::kRead, true));
  post(request(2, SendOperation::kSend, false, true));
  EXPECT_EQ(said_.take(), kNothing);
  ledger_.polled(1, true);
  post(request(3, SendOperation::kSend, false));
  EXPECT_EQ(said_.take(), kNothing);
}

TEST_F(SendLedgerTest, AFenceOnTheReadDoesNotHelp) {
  post(request(1, SendOperation::kRead, false, true));
  post(request(2, SendOperation::kWrite, false));
  EXPECT_EQ(said_.take(), std::vector{Finding::kFenceOnTheWrongRequest});
}

TEST_F(SendLedgerTest, AReadAfterAReadNeedsNoFence) {
  post(request(1, SendOperation::kRead, false));
  post(request(2, SendOperation::kRead, false));
  EXPECT_EQ(said_.take(), kNothing);
}

class BufferPrintTest : public ::testing::Test {
 protected:
  std::vector<std::byte> memory_ = std::vector<std::byte>(3 * BufferPrint::kBlockBytes);
  nic::WriteLog log_;
};

TEST_F(BufferPrintTest, KnowsWhichBlocksHaveChanged) {
  const BufferPrint print(memory_.data(), memory_.size() - 1, log_);
  EXPECT_FALSE(print.change(log_));
  memory_[BufferPrint::kBlockBytes] = std::byte{1};
  ASSERT_TRUE(print.change(log_));
  EXPECT_EQ(print.change(log_)->from, BufferPrint::kBlockBytes);
  EXPECT_EQ(print.change(log_)->to, 2 * BufferPrint::kBlockBytes);
  memory_.end()[-2] = std::byte{1};
  EXPECT_EQ(print.change(log_)->to, memory_.size() - 1) << "the last byte that it has";
}

TEST_F(BufferPrintTest, SaysNothingWhereTheNicHasWritten) {
  const BufferPrint print(memory_.data(), memory_.size(), log_);
  memory_[0] = std::byte{1};
  { const nic::LoggedWrite write(&log_, &memory_[BufferPrint::kBlockBytes], 1); }
  EXPECT_FALSE(print.change(log_));
}

TEST_F(BufferPrintTest, SaysNothingOfABufferThatIsGone) {
  nic::install_fault_guard();
  if (!nic::kCatchesFaults) GTEST_SKIP() << "sanitizers are to see every access";
  const BufferPrint print(nullptr, BufferPrint::kBlockBytes, log_);
  EXPECT_FALSE(print.change(log_));
}

class DeviceLedgerTest : public ::testing::Test {
 protected:
  static constexpr transport::QpNumber kNumber{0x11};

  DeviceLedgerTest() {
    devices_.add_memory(kKey, {.address = 0x1000, .length = 0x100, .domain = &domain_, .is_writable = true});
    devices_.add_memory(Lkey{8},
                        {.address = 0x1000, .length = 0x100, .domain = &other_, .is_writable = false});
    devices_.add_memory(Lkey{9}, {.domain = &domain_, .is_writable = true, .has_bounds = false});
    devices_.add(kNumber, qp_);
  }

  void post(const SendRequest& request, Sge element) {
    qp_->on_send(request, std::span(&element, 1), 0, nic::PostStatus::kPosted);
  }
  void poll(std::uint64_t wr_id) {
    devices_.polled({.wr_id = wr_id, .opcode = transport::CompletionOpcode::kSend, .qp_number = kNumber});
  }

  Said said_;
  int domain_ = 0;
  int other_ = 0;
  DeviceLedger devices_{said_};
  std::shared_ptr<CqLedger> cq_ = std::make_shared<CqLedger>("CQ 1", 2, said_);
  std::shared_ptr<QpLedger> qp_ = std::make_shared<QpLedger>(QpFacts{.name = "QP 0x11",
                                                                     .domain = &domain_,
                                                                     .sends = {8, 8},
                                                                     .receives = {2, 2},
                                                                     .has_datagrams = true,
                                                                     .send_cq = cq_},
                                                             devices_.memory(), said_);
};

TEST_F(DeviceLedgerTest, AnElementMayUseTheWholeRegion) {
  post(request(1, SendOperation::kSend, true), {.address = 0x1000, .length = 0x100, .lkey = kKey});
  post(request(2, SendOperation::kSend, false), {.address = 0x10ff, .length = 1, .lkey = kKey});
  post(request(3, SendOperation::kSend, false), {.address = 0x5, .length = 99, .lkey = Lkey{9}});
  post(request(4, SendOperation::kSend, false), {.address = 0x5, .length = 0, .lkey = Lkey{99}});
  EXPECT_EQ(said_.take(), kNothing);
}

TEST_F(DeviceLedgerTest, AnElementMayNotLeaveItsRegion) {
  for (const Sge element : {Sge{.address = 0x1001, .length = 0x100, .lkey = kKey},
                            Sge{.address = 0xfff, .length = 1, .lkey = kKey},
                            Sge{.address = 0x1101, .length = 1, .lkey = kKey}}) {
    post(request(1, SendOperation::kSend, false), element);
    EXPECT_EQ(said_.take(), std::vector{Finding::kElementOutsideItsRegion});
  }
}

TEST_F(DeviceLedgerTest, KeysAreLookedAtWhenTheProgramPosts) {
  post(request(1, SendOperation::kSend, false), {.address = 0x1000, .length = 8, .lkey = Lkey{99}});
  EXPECT_EQ(said_.take(), std::vector{Finding::kUnknownLocalKey});
  post(request(1, SendOperation::kRead, false), {.address = 0x1000, .length = 8, .lkey = Lkey{8}});
  EXPECT_EQ(said_.take(), (std::vector{Finding::kOtherProtectionDomain, Finding::kLocalRightMissing}));
}

TEST_F(DeviceLedgerTest, TheKeyForThePeerIsNoneForElements) {
  SendRequest write = request(1, SendOperation::kWrite, false);
  write.rkey = transport::Rkey{99};
  post(write, {.address = 0x1000, .length = 8, .lkey = Lkey{99}});
  EXPECT_EQ(said_.take(), std::vector{Finding::kRemoteKeyAsLocalKey});
  post(write, {.address = 0x1000, .length = 8, .lkey = Lkey{98}});
  EXPECT_EQ(said_.take(), std::vector{Finding::kUnknownLocalKey});
  write.rkey = transport::Rkey{7};
  post(write, {.address = 0x1000, .length = 8, .lkey = kKey});
  EXPECT_EQ(said_.take(), kNothing) << "both may have the same number";
  write.operation = SendOperation::kSend;
  write.rkey = transport::Rkey{99};
  post(write, {.address = 0x1000, .length = 8, .lkey = Lkey{99}});
  EXPECT_EQ(said_.take(), std::vector{Finding::kUnknownLocalKey}) << "a SEND has no rkey";
}

TEST_F(DeviceLedgerTest, AReceiveOfASharedQueueGivesItsSlotBackByTheNumberInItsCompletion) {
  const auto srq = std::make_shared<SrqLedger>(
      SrqLedger::Facts{.name = "SRQ 0x3", .domain = &domain_, .room = {1, 1}}, devices_.memory(), said_);
  devices_.add_srq(3, srq, [] { return SrqWatch::State{}; });
  const auto receive = [&] { srq->on_receive({.wr_id = 1}, {}, nic::PostStatus::kPosted); };
  receive();
  devices_.polled(
      {.opcode = transport::CompletionOpcode::kReceive, .qp_number = transport::QpNumber{0x99}, .origin = 4});
  receive();
  EXPECT_EQ(said_.take(), std::vector{Finding::kReceiveQueueNeverDrained}) << "it was of another queue";
  devices_.polled(
      {.opcode = transport::CompletionOpcode::kReceive, .qp_number = transport::QpNumber{0x99}, .origin = 3});
  receive();
  EXPECT_EQ(said_.take(), kNothing);
}

TEST_F(DeviceLedgerTest, ImmediatesInARowThatAreSmallUnconverted) {
  const auto take = [&](std::uint32_t immediate) {
    devices_.polled({.opcode = transport::CompletionOpcode::kReceive,
                     .has_immediate = true,
                     .immediate = immediate,
                     .qp_number = kNumber});
  };
  for (std::uint32_t i = 0; i < 40; ++i) take(__builtin_bswap32(i));
  EXPECT_EQ(said_.take(), kNothing) << "in the order of the network";
  for (std::uint32_t i = 0; i <= 16; ++i) take(i);
  EXPECT_EQ(said_.take(), kNothing) << "0 does not count";
  take(17);
  EXPECT_EQ(said_.take(), std::vector{Finding::kImmediateInHostOrder});
}

TEST_F(DeviceLedgerTest, ARegionIsInUseUntilTheCompletionIsPolled) {
  post(request(1, SendOperation::kSend, true), {.address = 0x1000, .length = 8, .lkey = kKey});
  devices_.remove_memory(kKey);
  EXPECT_EQ(said_.take(), std::vector{Finding::kRegionDeregisteredInUse});
  poll(1);
  devices_.remove_memory(kKey);
  EXPECT_EQ(said_.take(), kNothing);
}

TEST_F(DeviceLedgerTest, AnAddressHandleIsInUseUntilTheCompletionIsPolled) {
  SendRequest datagram = request(1, SendOperation::kSend, true);
  datagram.destination.address = transport::AddressHandleId{5};
  post(datagram, {.address = 0x1000, .length = 8, .lkey = kKey});
  devices_.check_destroy(transport::AddressHandleId{6});
  EXPECT_EQ(said_.take(), kNothing);
  devices_.check_destroy(transport::AddressHandleId{5});
  EXPECT_EQ(said_.take(), std::vector{Finding::kAddressHandleDestroyedInUse});
  poll(1);
  devices_.check_destroy(transport::AddressHandleId{5});
  EXPECT_EQ(said_.take(), kNothing);
}

TEST_F(DeviceLedgerTest, SignaledRequestsMayNotBeMoreThanTheCompletionQueueHas) {
  for (std::uint64_t i = 0; i < 20; ++i) {
    post(request(i, SendOperation::kSend, true), {.address = 0x1000, .length = 8, .lkey = kKey});
    if (i > 0) poll(i - 1);
  }
  EXPECT_EQ(said_.take(), kNothing) << "two at a time";
  post(request(20, SendOperation::kSend, true), {.address = 0x1000, .length = 8, .lkey = kKey});
  post(request(21, SendOperation::kSend, true), {.address = 0x1000, .length = 8, .lkey = kKey});
  EXPECT_EQ(said_.take(), std::vector{Finding::kCompletionQueueTooSmall});
}

TEST_F(DeviceLedgerTest, AQueuePairThatIsResetExpectsNothing) {
  post(request(1, SendOperation::kSend, true), {.address = 0x1000, .length = 8, .lkey = kKey});
  post(request(2, SendOperation::kSend, true), {.address = 0x1000, .length = 8, .lkey = kKey});
  qp_->check_destroy();
  EXPECT_EQ(said_.take(), std::vector{Finding::kDestroyedWithWorkOutstanding});
  qp_->reset();
  qp_->check_destroy();
  post(request(3, SendOperation::kSend, true), {.address = 0x1000, .length = 8, .lkey = kKey});
  post(request(4, SendOperation::kSend, true), {.address = 0x1000, .length = 8, .lkey = kKey});
  EXPECT_EQ(said_.take(), kNothing);
}

TEST_F(DeviceLedgerTest, ReceivesHoldTheirSlotsUntilTheyArePolled) {
  const Sge element{.address = 0x1000, .length = 64, .lkey = kKey};
  const auto receive = [&] {
    qp_->on_receive({.wr_id = 1}, std::span(&element, 1), nic::PostStatus::kPosted);
  };
  receive();
  receive();
  EXPECT_EQ(said_.take(), kNothing);
  receive();
  EXPECT_EQ(said_.take(), std::vector{Finding::kReceiveQueueNeverDrained});
  devices_.polled({.wr_id = 1, .opcode = transport::CompletionOpcode::kReceive, .qp_number = kNumber});
  receive();
  EXPECT_EQ(said_.take(), kNothing);
}

TEST_F(DeviceLedgerTest, AReceiveOfADatagramNeedsRoomForTheHeader) {
  for (const auto& [length, expected] :
       {std::pair(39U, std::vector{Finding::kReceiveWithoutHeaderRoom}), std::pair(40U, kNothing)}) {
    const Sge element{.address = 0x1000 + (length - 39) * 64, .length = length, .lkey = kKey};
    qp_->on_receive({.wr_id = 1}, std::span(&element, 1), nic::PostStatus::kPosted);
    EXPECT_EQ(said_.take(), expected) << length;
  }
}

TEST_F(DeviceLedgerTest, ABufferStaysAsItIsUntilTheCompletionIsPolled) {
  std::array<std::byte, 64> buffer{};
  const auto address = reinterpret_cast<std::uintptr_t>(buffer.data());
  devices_.add_memory(
      Lkey{10}, {.address = address, .length = buffer.size(), .domain = &domain_, .memory = buffer.data()});
  const Sge element{.address = address, .length = 64, .lkey = Lkey{10}};
  post(request(1, SendOperation::kSend, false), element);
  post(request(2, SendOperation::kSend, true), element);
  buffer[5] = std::byte{1};
  poll(2);
  EXPECT_EQ(said_.take(), std::vector(2, Finding::kBufferChangedBeforeCompletion)) << "of both";
  post(request(3, SendOperation::kSend, true), element);
  poll(3);
  buffer[5] = std::byte{2};
  EXPECT_EQ(said_.take(), kNothing);
}

TEST_F(DeviceLedgerTest, AnAnswerProvesThatADatagramWasRead) {
  std::array<std::byte, 64> buffer{};
  const auto address = reinterpret_cast<std::uintptr_t>(buffer.data());
  devices_.add_memory(
      Lkey{10}, {.address = address, .length = buffer.size(), .domain = &domain_, .memory = buffer.data()});
  SendRequest datagram = request(1, SendOperation::kSend, true);
  datagram.destination.address = transport::AddressHandleId{5};
  post(datagram, {.address = address, .length = 64, .lkey = Lkey{10}});
  devices_.polled({.opcode = transport::CompletionOpcode::kReceive, .qp_number = kNumber});
  buffer[5] = std::byte{1};
  poll(1);
  EXPECT_EQ(said_.take(), kNothing);
}

TEST_F(DeviceLedgerTest, StatesAndAlignmentAreLookedAt) {
  qp_->on_send(request(1, SendOperation::kSend, true), {}, 0, nic::PostStatus::kWrongState);
  EXPECT_EQ(said_.take(), std::vector{Finding::kPostInWrongState});
  qp_->on_send(request(1, SendOperation::kSend, true), {}, 0, nic::PostStatus::kQueueFull);
  EXPECT_EQ(said_.take(), kNothing);
  SendRequest atomic = request(1, SendOperation::kCompareSwap, true);
  atomic.remote_address = 0x1004;
  post(atomic, {.address = 0x1000, .length = 8, .lkey = kKey});
  EXPECT_EQ(said_.take(), (std::vector{Finding::kMissingOnSomeNics, Finding::kMisalignedAtomic}));
}

}  // namespace
}  // namespace urnic::verbs_api
