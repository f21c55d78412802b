// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the sanitizer looks at from time to time, and across queue pairs, without a device.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tests/unit/verbs_api/sanitizer_said.h"
#include "verbs_api/sanitizer/checks/mapped_memory.h"
#include "verbs_api/sanitizer/ledgers/event_ledger.h"
#include "verbs_api/sanitizer/ledgers/gap_watch.h"
#include "verbs_api/sanitizer/ledgers/memory_ledger.h"
#include "verbs_api/sanitizer/ledgers/queues/order_ledger.h"
#include "verbs_api/sanitizer/ledgers/queues/qp_ledger.h"
#include "verbs_api/sanitizer/ledgers/queues/srq_watch.h"

namespace urnic::verbs_api {
namespace {

using namespace std::chrono_literals;
using transport::Sge;

constexpr std::string_view kMaps =
    "00400000-00452000 r-xp 00000000 08:02 173521      /usr/bin/dbus-daemon\n"
    "7f0000000000-7f0000002000 rw-p 00000000 00:00 0 \n"
    "7f0000002000-7f0000003000 rw-s 00000000 08:02 77   /data/a file\n"
    "7f0000005000-7f0000006000 rw-s 00000000 00:01 0 \n"
    "this is no line\n";

TEST(MappedMemory, FindsWhatIsNotMapped) {
  const MappedMemory mapped = MappedMemory::parse(kMaps);
  EXPECT_EQ(mapped.gap(0x7f0000000000, 0x3000), std::nullopt) << "two ranges side by side";
  EXPECT_EQ(mapped.gap(0x7f0000000001, 1), std::nullopt);
  EXPECT_EQ(mapped.gap(0x7f0000000000, 0x3001), 0x7f0000003000);
  EXPECT_EQ(mapped.gap(0x7f0000004000, 0x2000), 0x7f0000004000);
  EXPECT_EQ(mapped.gap(0x7f0000006000, 1), 0x7f0000006000);
  EXPECT_EQ(mapped.gap(0x7f0000006000, 0), std::nullopt);
}

TEST(MappedMemory, FindsFilesThatAreShared) {
  const MappedMemory mapped = MappedMemory::parse(kMaps);
  EXPECT_EQ(mapped.shared_file(0x400000, 1), std::nullopt) << "a private mapping";
  EXPECT_EQ(mapped.shared_file(0x7f0000000000, 0x2000), std::nullopt);
  EXPECT_EQ(mapped.shared_file(0x7f0000000000, 0x2001), "/data/a file");
  EXPECT_EQ(mapped.shared_file(0x7f0000005000, 1), std::nullopt) << "of no file";
}

TEST(MappedMemory, KnowsThisProcess) {
  const auto mapped = MappedMemory::read();
  ASSERT_TRUE(mapped);
  const int here = 0;
  EXPECT_EQ(mapped->gap(reinterpret_cast<std::uintptr_t>(&here), sizeof here), std::nullopt);
  EXPECT_EQ(mapped->gap(0, 1), 0);
}

class GapWatchTest : public ::testing::Test {
 protected:
  std::vector<Finding> look(std::uint32_t key, std::uint64_t address) {
    const GapWatch::Region region{key, reinterpret_cast<const std::byte*>(address), 0x1000};
    watch_.look(std::span(&region, 1), MappedMemory::parse(kMaps));
    return said_.take();
  }

  Said said_;
  GapWatch watch_{said_};
};

TEST_F(GapWatchTest, MemoryThatIsGoneAtTwoLooksInARow) {
  EXPECT_EQ(look(1, 0x7f0000002800), kNothing);
  EXPECT_EQ(look(1, 0x7f0000002800), std::vector{Finding::kMemoryUnmapped});
  EXPECT_NE(said_.text.find("from 0x7f0000003000 on"), std::string::npos) << said_.text;
  EXPECT_EQ(look(1, 0x7f0000002800), kNothing) << "told once";
}

TEST_F(GapWatchTest, RegionsThatAreDeregisteredAMomentLaterAreFine) {
  EXPECT_EQ(look(1, 0x7f0000003000), kNothing);
  watch_.look({}, MappedMemory());
  EXPECT_EQ(look(1, 0x7f0000003000), kNothing) << "another region with the same key";
  EXPECT_EQ(look(1, 0x7f0000000000), kNothing) << "mapped";
  EXPECT_EQ(look(1, 0x7f0000003000), kNothing);
}

TEST(MemoryLedger, AtomicsFindWhatAtomicsHaveLeft) {
  Said said;
  MemoryLedger memory(said);
  memory.begin();
  nic::AtomicLog* const atomics = memory.writes().atomics();
  ASSERT_NE(atomics, nullptr);
  std::uint64_t numbers[2] = {};
  atomics->note(&numbers[0], 0, 5);
  atomics->note(&numbers[0], 5, 6);
  atomics->note(&numbers[1], 7, 8);
  memory.look();
  EXPECT_EQ(said.take(), kNothing);
  atomics->note(&numbers[0], 16, 17);
  memory.look();
  EXPECT_EQ(said.take(), std::vector{Finding::kAtomicChanged});
  EXPECT_NE(said.text.find("left 6, and the next one has found 16"), std::string::npos) << said.text;
  memory.look();
  EXPECT_EQ(said.take(), kNothing) << "told once";
  memory.add(transport::Lkey{1}, {});
  memory.remove(transport::Lkey{1});
  atomics->note(&numbers[0], 99, 100);
  memory.look();
  EXPECT_EQ(said.take(), kNothing) << "the memory may be another variable's";
}

class EventLedgerTest : public ::testing::Test {
 protected:
  EventLedgerTest() {
    events_.add(this, [this] { return unread_; });
  }
  std::vector<Finding> look(std::chrono::steady_clock::duration later) {
    events_.look(start_ + later);
    return said_.take();
  }

  const std::chrono::steady_clock::time_point start_{};
  std::vector<UnreadEvent> unread_;
  Said said_;
  EventLedger events_{said_};
};

TEST_F(EventLedgerTest, AFatalEventIsReadSoon) {
  unread_ = {{.name = "CQ error", .is_fatal = true, .since = start_ + 1s}};
  EXPECT_EQ(look(2900ms), kNothing);
  EXPECT_EQ(look(3s), std::vector{Finding::kFatalEventUnread});
  EXPECT_EQ(look(4s), kNothing) << "told once";
  EXPECT_EQ(look(11s), std::vector{Finding::kEventUnread});
}

TEST_F(EventLedgerTest, OthersMayWaitForAWhile) {
  unread_ = {{.name = "port active", .since = start_}};
  EXPECT_EQ(look(9s), kNothing);
  EXPECT_EQ(look(10s), std::vector{Finding::kEventUnread});
}

TEST_F(EventLedgerTest, SoManyAreNotRead) {
  unread_.assign(EventLedger::kMostUnread, {.name = "port active", .since = start_});
  EXPECT_EQ(look(0s), kNothing);
  unread_.push_back(unread_.back());
  EXPECT_EQ(look(0s), std::vector{Finding::kEventUnread});
}

TEST_F(EventLedgerTest, AContextThatIsClosedIsNotLookedAt) {
  unread_ = {{.name = "CQ error", .is_fatal = true, .since = start_}};
  events_.remove(this);
  EXPECT_EQ(look(99s), kNothing);
}

class SrqWatchTest : public ::testing::Test {
 protected:
  SrqWatchTest() {
    watch_.add(3, srq_, [this] { return state_; });
  }
  std::vector<Finding> look() {
    watch_.look();
    return said_.take();
  }

  Said said_;
  const MemoryLedger memory_{said_};
  std::shared_ptr<SrqLedger> srq_ = std::make_shared<SrqLedger>(
      SrqLedger::Facts{.name = "SRQ 0x3", .room = {1, 1}, .is_for_xrc = true}, memory_, said_);
  SrqWatch::State state_;
  SrqWatch watch_{said_};
};

TEST_F(SrqWatchTest, ALimitThatWasReachedIsArmedAgain) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(look(), kNothing) << "none was armed";
  watch_.armed(3, 5);
  EXPECT_EQ(look(), kNothing) << "the program may be about to arm it";
  watch_.armed(3, 5);
  EXPECT_EQ(look(), kNothing);
  EXPECT_EQ(look(), std::vector{Finding::kSrqLimitNotArmed});
  EXPECT_NE(said_.text.find("limit 5"), std::string::npos) << said_.text;
  EXPECT_EQ(look(), kNothing) << "told once";
}

TEST_F(SrqWatchTest, AQueueThatHasReceivesOrALimitIsFine) {
  watch_.armed(3, 5);
  state_ = {.waiting = 1};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(look(), kNothing);
  state_ = {.limit = 5};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(look(), kNothing);
  state_ = {};
  EXPECT_EQ(look(), kNothing);
  state_ = {.waiting = 1};
  EXPECT_EQ(look(), kNothing);
  state_ = {};
  EXPECT_EQ(look(), kNothing) << "not in a row";
  watch_.armed(3, 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(look(), kNothing) << "the program wants no event";
}

TEST_F(SrqWatchTest, WhatAQueuePairOfXrcHadTakenIsFreeAgain) {
  const auto receive = [&] { srq_->on_receive({.wr_id = 1}, {}, nic::PostStatus::kPosted); };
  receive();
  watch_.recount();
  receive();
  EXPECT_EQ(said_.take(), kNothing);
}

class OrderLedgerTest : public ::testing::Test {
 protected:
  std::vector<Finding> post(const std::string& queue_pair, std::uint64_t address, std::uint64_t length,
                            std::uint32_t key = 7) {
    order_.posted({.queue_pair = &queue_pair,
                   .number = number_++,
                   .rkey = transport::Rkey{key},
                   .address = address,
                   .length = length});
    return said_.take();
  }

  const std::string data_ = "QP 0x11";
  const std::string flags_ = "QP 0x22";
  std::uint32_t number_ = 0xffffffff;
  Said said_;
  OrderLedger order_{said_};
};

TEST_F(OrderLedgerTest, AFlagForTheDataOfAnotherQueuePair) {
  EXPECT_EQ(post(data_, 0x1000, 64), kNothing);
  EXPECT_EQ(post(flags_, 0x1040, 8), std::vector{Finding::kOrderBetweenQueuePairs});
  EXPECT_EQ(post(data_, 0x1040, 8), kNothing) << "after its own data";
  EXPECT_EQ(post(flags_, 0xff8, 8), kNothing) << "before the data";
  EXPECT_EQ(post(flags_, 0x2040, 8), kNothing) << "far away";
  EXPECT_EQ(post(flags_, 0x1040, 8, 8), kNothing) << "in another region";
  EXPECT_EQ(post(flags_, 0x1040, 9), kNothing) << "too long for a flag";
}

TEST_F(OrderLedgerTest, DataThatAreDoneAreInOrder) {
  post(data_, 0x1000, 64);
  order_.done(data_, number_ - 1);
  EXPECT_EQ(post(flags_, 0x1040, 8), std::vector{Finding::kOrderBetweenQueuePairs}) << "not this one";
  order_.done(flags_, number_);
  EXPECT_EQ(post(flags_, 0x1040, 8), std::vector{Finding::kOrderBetweenQueuePairs}) << "of the other one";
  order_.done(data_, number_);
  EXPECT_EQ(post(flags_, 0x1040, 8), kNothing);
  post(data_, 0x1000, 64);
  order_.forget(data_);
  EXPECT_EQ(post(flags_, 0x1040, 8), kNothing);
}

class GrantedRoom : public ::testing::Test {
 protected:
  std::vector<Finding> post(std::size_t elements, std::uint64_t inline_bytes) {
    qp_.on_send({.operation = transport::SendOperation::kSend}, std::span(elements_).first(elements),
                inline_bytes, nic::PostStatus::kPosted);
    return said_.take();
  }

  Said said_;
  const MemoryLedger memory_{said_};
  std::vector<Sge> elements_ = std::vector<Sge>(3);
  QpLedger qp_{{.name = "QP 0x11",
                .sends = {8, 8},
                .receives = {8, 8},
                .sizes = {.send_elements = 2, .receive_elements = 1, .inline_bytes = 16}},
               memory_,
               said_};
};

TEST_F(GrantedRoom, MayBeMoreThanWasRequested) {
  EXPECT_EQ(post(2, 0), kNothing);
  EXPECT_EQ(post(3, 0), std::vector{Finding::kGrantedRoomUsed});
  EXPECT_EQ(post(0, 16), kNothing);
  EXPECT_EQ(post(0, 17), std::vector{Finding::kGrantedRoomUsed});
  qp_.on_receive({}, std::span(elements_).first(1), nic::PostStatus::kPosted);
  EXPECT_EQ(said_.take(), kNothing);
  qp_.on_receive({}, std::span(elements_).first(2), nic::PostStatus::kPosted);
  EXPECT_EQ(said_.take(), std::vector{Finding::kGrantedRoomUsed});
}

}  // namespace
}  // namespace urnic::verbs_api
