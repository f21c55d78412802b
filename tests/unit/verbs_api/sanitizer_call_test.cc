// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The sanitizer's models of how a program calls verbs, and of what its peers do, without a device.
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nic/diagnostics/failure_report.h"
#include "tests/unit/verbs_api/sanitizer_said.h"
#include "verbs_api/sanitizer/checks/attribute_checks.h"
#include "verbs_api/sanitizer/checks/capability_checks.h"
#include "verbs_api/sanitizer/ledgers/device_ledger.h"
#include "verbs_api/sanitizer/ledgers/failure_findings.h"
#include "verbs_api/sanitizer/ledgers/queues/cq_ledger.h"
#include "verbs_api/sanitizer/ledgers/queues/list_ledger.h"
#include "verbs_api/sanitizer/ledgers/queues/qp_ledger.h"
#include "verbs_api/sanitizer/ledgers/queues/sleep_ledger.h"
#include "verbs_api/sanitizer/ledgers/queues/srq_ledger.h"
#include "verbs_api/sanitizer/ledgers/queues/target_ledger.h"
#include "verbs_api/sanitizer/ledgers/registration_count.h"

namespace urnic::verbs_api {
namespace {

using namespace std::chrono_literals;
using transport::Lkey;
using transport::Sge;

const SanitizerTime kStart{};

Sge range(std::uint64_t address, std::uint32_t length) {
  return {.address = address, .length = length, .lkey = Lkey{7}};
}

std::optional<std::uint64_t> add(TargetLedger& targets, Sge element) {
  return targets.add(std::span(&element, 1));
}

TEST(TargetLedger, FindsRangesThatShareBytes) {
  TargetLedger targets;
  EXPECT_EQ(add(targets, range(100, 50)), std::nullopt);
  EXPECT_EQ(add(targets, range(150, 50)), std::nullopt) << "the next byte";
  EXPECT_EQ(add(targets, range(100, 50)), std::nullopt) << "the same range";
  EXPECT_EQ(add(targets, range(50, 51)), 100);
  EXPECT_EQ(add(targets, range(199, 1)), 199);
  EXPECT_EQ(add(targets, range(300, 0)), std::nullopt);
  EXPECT_EQ(add(targets, range(300, 10)), std::nullopt);
  EXPECT_EQ(add(targets, range(300, 20)), 300) << "of the same beginning";
}

TEST(TargetLedger, ForgetsWhatIsDone) {
  TargetLedger targets;
  const Sge element = range(100, 50);
  for (int i = 0; i < 2; ++i) add(targets, element);
  targets.remove(std::span(&element, 1));
  EXPECT_EQ(add(targets, range(120, 10)), 120) << "it is there once more";
  targets.clear();
  EXPECT_EQ(add(targets, range(120, 10)), std::nullopt);
}

TEST(ListLedger, FindsWhatIsPostedAgain) {
  Said said;
  const std::string name = "QP 0x11";
  ListLedger lists(name, said);
  int first = 0;
  const PostedList list{.first = &first, .content = 5};
  lists.begins(list);
  lists.refused(list, 2);
  lists.begins({.first = &said, .content = 5});
  lists.begins(list);
  EXPECT_EQ(said.take(), kNothing) << "the rest was posted before";
  lists.refused(list, 0);
  lists.begins(list);
  EXPECT_EQ(said.take(), kNothing) << "nothing was accepted";
  lists.refused(list, 1);
  lists.begins({.first = &first, .content = 6});
  EXPECT_EQ(said.take(), kNothing) << "another request in the same place";
  lists.refused(list, 1);
  lists.begins(list);
  EXPECT_EQ(said.take(), std::vector{Finding::kAcceptedRequestsPostedAgain});
}

class CqLedgerTest : public ::testing::Test {
 protected:
  Said said_;
  CqLedger queue_{"CQ 1", 8, said_};
};

TEST_F(CqLedgerTest, WhoWaitsForARefusedRequestWaitsForever) {
  queue_.refused("QP 0x11", 5, ENOMEM);
  queue_.polled_in_vain(kStart);
  queue_.polled_in_vain(kStart + 900ms);
  EXPECT_EQ(said_.take(), kNothing);
  queue_.polled_in_vain(kStart + 1s);
  EXPECT_EQ(said_.take(), std::vector{Finding::kRefusedRequestWaitedFor});
  queue_.polled_in_vain(kStart + 5s);
  EXPECT_EQ(said_.take(), kNothing) << "told once";
}

TEST_F(CqLedgerTest, OthersMayStillComplete) {
  queue_.refused("QP 0x11", 5, ENOMEM);
  queue_.expect(1);
  for (const auto later : {0s, 2s, 4s}) queue_.polled_in_vain(kStart + later);
  queue_.expect(-1);
  queue_.polled_in_vain(kStart + 4500ms);
  EXPECT_EQ(said_.take(), kNothing);
  queue_.has_work();
  queue_.polled_in_vain(kStart + 9s);
  EXPECT_EQ(said_.take(), kNothing) << "something was posted";
}

TEST_F(CqLedgerTest, CompletionsThatWentWithTheirQueuePairAreWaitedForForever) {
  queue_.lost("QP 0x11", 3);
  queue_.polled_in_vain(kStart);
  queue_.has_work();
  queue_.polled_in_vain(kStart + 2s);
  EXPECT_EQ(said_.take(), kNothing) << "something else has completed";
  queue_.lost("QP 0x11", 3);
  queue_.polled_in_vain(kStart + 3s);
  queue_.polled_in_vain(kStart + 4s);
  EXPECT_EQ(said_.take(), std::vector{Finding::kWaitsForDestroyed});
}

TEST_F(CqLedgerTest, VendorsHaveErrorsOfTheirOwn) {
  queue_.vendor_error_read();
  EXPECT_EQ(said_.take(), std::vector{Finding::kVendorErrorRead});
}

TEST_F(CqLedgerTest, OneThreadAtATimeIsAPromise) {
  queue_.enter();
  queue_.enter();
  EXPECT_EQ(said_.take(), kNothing) << "it was not made";
  queue_.leave();
  queue_.leave();
  queue_.promise_one_thread();
  queue_.enter();
  queue_.leave();
  queue_.enter();
  EXPECT_EQ(said_.take(), kNothing);
  queue_.enter();
  EXPECT_EQ(said_.take(), std::vector{Finding::kTwoThreadsAtOnce});
}

class SleepLedgerTest : public ::testing::Test {
 protected:
  SleepLedgerTest() {
    sleeps_.add(
        &channel_, queue_, [this] { return is_asleep_; }, [this] { return events_; });
  }

  Said said_;
  int channel_ = 0;
  bool is_asleep_ = true;
  SleepLedger::Events events_;
  std::shared_ptr<CqLedger> queue_ = std::make_shared<CqLedger>("CQ 1", 8, said_);
  SleepLedger sleeps_{said_};
};

TEST_F(SleepLedgerTest, CompletionsThatWaitedBeforeBringNoEvent) {
  sleeps_.begins(&channel_, kStart, CallPath());
  sleeps_.look(kStart + 900ms);
  EXPECT_EQ(said_.take(), kNothing) << "another thread may poll";
  sleeps_.look(kStart + 1s);
  EXPECT_EQ(said_.take(), std::vector{Finding::kSleepWithCompletionsWaiting});
}

TEST_F(SleepLedgerTest, ASleepThatHasEndedIsNone) {
  sleeps_.begins(&channel_, kStart, CallPath());
  sleeps_.ends();
  sleeps_.look(kStart + 3s);
  EXPECT_EQ(said_.take(), kNothing);
}

TEST_F(SleepLedgerTest, OtherChannelsAndQueuesThatAreGoneDoNotCount) {
  int other = 0;
  sleeps_.begins(&other, kStart, CallPath());
  sleeps_.look(kStart + 1s);
  is_asleep_ = false;
  sleeps_.begins(&channel_, kStart, CallPath());
  sleeps_.look(kStart + 1s);
  is_asleep_ = true;
  sleeps_.remove(*queue_);
  sleeps_.begins(&channel_, kStart, CallPath());
  sleeps_.look(kStart + 1s);
  EXPECT_EQ(said_.take(), kNothing);
}

TEST_F(SleepLedgerTest, AnEventThatNoThreadTakes) {
  events_ = {.waiting = 1, .taken = 3};
  sleeps_.look(kStart);
  sleeps_.look(kStart + 9s);
  EXPECT_EQ(said_.take(), kNothing);
  events_.taken = 4;
  sleeps_.look(kStart + 11s);
  sleeps_.look(kStart + 12s);
  sleeps_.look(kStart + 21s);
  EXPECT_EQ(said_.take(), kNothing) << "one was taken";
  sleeps_.look(kStart + 22s);
  EXPECT_EQ(said_.take(), std::vector{Finding::kCompletionEventUnread});
  sleeps_.look(kStart + 99s);
  EXPECT_EQ(said_.take(), kNothing) << "told once";
}

TEST(SrqLedger, ReceivesHoldTheirSlotsUntilTheyArePolled) {
  Said said;
  const MemoryLedger memory(said);
  SrqLedger queue({.name = "SRQ 0x1", .room = {2, 3}}, memory, said);
  const auto post = [&](nic::PostStatus status) { queue.on_receive({.wr_id = 1}, {}, status); };
  post(nic::PostStatus::kPosted);
  post(nic::PostStatus::kPosted);
  EXPECT_EQ(said.take(), kNothing);
  post(nic::PostStatus::kPosted);
  EXPECT_EQ(said.take(), std::vector{Finding::kGrantedRoomUsed});
  post(nic::PostStatus::kPosted);
  EXPECT_EQ(said.take(), std::vector{Finding::kReceiveQueueNeverDrained});
  post(nic::PostStatus::kQueueFull);
  queue.polled();
  queue.polled();
  post(nic::PostStatus::kPosted);
  EXPECT_EQ(said.take(), kNothing);
  queue.limit(0);
  queue.resized({1, 1});
  post(nic::PostStatus::kPosted);
  EXPECT_EQ(said.take(), kNothing) << "receives of a queue pair that is gone are free";
  post(nic::PostStatus::kPosted);
  EXPECT_EQ(said.take(), std::vector{Finding::kReceiveQueueNeverDrained});
}

TEST(RegistrationCount, ComparesWithTheLimit) {
  Said said;
  RegistrationCount count(said);
  count.set_pin_limit(100);
  count.add(60, kStart);
  count.add(0, kStart);
  EXPECT_EQ(said.take(), kNothing);
  count.remove(60);
  count.add(100, kStart);
  EXPECT_EQ(said.take(), kNothing);
  count.add(1, kStart);
  EXPECT_EQ(said.take(), std::vector{Finding::kMoreThanMemlock});
}

TEST(RegistrationCount, OftenIsMoreThanAThousandASecond) {
  Said said;
  RegistrationCount count(said);
  for (unsigned i = 0; i < 2 * RegistrationCount::kMostPerSecond; ++i) count.add(1, kStart + i * 1ms);
  EXPECT_EQ(said.take(), kNothing) << "they stay";
  for (unsigned i = 0; i < RegistrationCount::kMostPerSecond; ++i) {
    count.add(1, kStart + 5s);
    count.remove(1);
  }
  EXPECT_EQ(said.take(), kNothing);
  count.add(1, kStart + 5s);
  EXPECT_EQ(said.take(), std::vector{Finding::kRegistrationPerMessage});
}

class AttributeChecks : public ::testing::Test {
 protected:
  std::vector<Finding> check(int mask) {
    check_attributes(said_, "QP 0x11", attributes_, mask, {.active_mtu = IBV_MTU_1024, .source = source_});
    return said_.take();
  }

  Said said_;
  ibv_qp_attr attributes_{};
  std::optional<transport::wire::Gid> source_ = transport::wire::Gid::from_ipv4({.octets = {10, 0, 0, 1}});
};

TEST_F(AttributeChecks, ValuesThatNoNicHasAreFound) {
  EXPECT_EQ(check(IBV_QP_PORT), std::vector{Finding::kAttributeNotSet});
  EXPECT_EQ(check(IBV_QP_PATH_MTU), std::vector{Finding::kAttributeNotSet});
  EXPECT_EQ(check(IBV_QP_AV), std::vector{Finding::kAddressWithoutGrh});
  attributes_.retry_cnt = attributes_.rnr_retry = 8;
  EXPECT_EQ(check(IBV_QP_RETRY_CNT), std::vector{Finding::kRetryCountOutOfRange});
  EXPECT_EQ(check(IBV_QP_RNR_RETRY), std::vector{Finding::kRetryCountOutOfRange});
  EXPECT_EQ(check(IBV_QP_STATE), kNothing) << "the mask does not name them";
}

TEST_F(AttributeChecks, UsualValuesAreFine) {
  attributes_.port_num = 1;
  attributes_.path_mtu = IBV_MTU_1024;
  attributes_.retry_cnt = attributes_.rnr_retry = 7;
  attributes_.timeout = 16;
  attributes_.max_rd_atomic = attributes_.max_dest_rd_atomic = 16;
  attributes_.ah_attr.is_global = 1;
  attributes_.ah_attr.grh.dgid.raw[10] = attributes_.ah_attr.grh.dgid.raw[11] = 0xff;
  EXPECT_EQ(check(~0), kNothing);
  attributes_.path_mtu = IBV_MTU_2048;
  EXPECT_EQ(check(IBV_QP_PATH_MTU), std::vector{Finding::kPathMtuAboveActive});
  attributes_.timeout = 15;
  EXPECT_EQ(check(IBV_QP_TIMEOUT), std::vector{Finding::kShortAckTimeout});
  attributes_.retry_cnt = 0;
  EXPECT_EQ(check(IBV_QP_RETRY_CNT), std::vector{Finding::kNoRetries});
  attributes_.max_rd_atomic = 17;
  EXPECT_EQ(check(IBV_QP_MAX_QP_RD_ATOMIC), std::vector{Finding::kMoreThanSomeNicsHave});
}

TEST_F(AttributeChecks, AnIpv4AddressIsReachedFromAnIpv4Address) {
  attributes_.ah_attr.is_global = 1;
  source_.reset();
  EXPECT_EQ(check(IBV_QP_AV), kNothing) << "to an IPv6 address";
  attributes_.ah_attr.grh.dgid.raw[10] = attributes_.ah_attr.grh.dgid.raw[11] = 0xff;
  EXPECT_EQ(check(IBV_QP_AV), std::vector{Finding::kGidOfOtherKind});
}

TEST(CapabilityChecks, NameTheNicsThatHaveLess) {
  Said said;
  ibv_qp_cap wanted{};
  wanted.max_send_wr = wanted.max_recv_wr = 128;
  wanted.max_inline_data = 101;
  check_capabilities(said, "QP 0x11", wanted);
  EXPECT_EQ(said.take(), kNothing);
  wanted.max_send_wr = 40000;
  wanted.max_inline_data = 102;
  check_capabilities(said, "QP 0x11", wanted);
  EXPECT_EQ(said.take(), std::vector{Finding::kMoreThanSomeNicsHave});
  EXPECT_EQ(said.text,
            "max_send_wr is 40000 (ConnectX-5 and -6: 32768), max_send_wr is 40000 (E810: 8127), "
            "max_inline_data is 102 (E810: 101)");
}

class FailureFindingsTest : public ::testing::Test {
 protected:
  static constexpr transport::QpNumber kNumber{0x11};
  static constexpr std::uint64_t kAddress = 0x7f0012345000;

  FailureFindingsTest() {
    devices_.add(kNumber, qp_);
    report_.kind = nic::FailureReport::Kind::kRefusal;
    report_.qp.number = kNumber;
    report_.refused.emplace();
    report_.refused->reason = transport::RefusalReason::kMemory;
    report_.refused->rkey = transport::Rkey{kKey};
    report_.key = {.is_known = true, .range = {.address = kAddress, .length = 4096, .key = kKey}};
  }

  std::vector<Finding> hear() {
    findings_.on_failure(report_);
    return said_.take();
  }

  static constexpr std::uint32_t kKey = 0x123456;
  Said said_;
  DeviceLedger devices_{said_};
  std::shared_ptr<QpLedger> qp_ =
      std::make_shared<QpLedger>(QpFacts{.name = "QP 0x11"}, devices_.memory(), said_);
  FailureFindings findings_{devices_, said_};
  nic::FailureReport report_;
};

TEST_F(FailureFindingsTest, AKeyThatWasTakenBackAMomentAgo) {
  devices_.add_memory(Lkey{kKey}, {.address = kAddress, .length = 4096});
  devices_.remove_memory(Lkey{kKey});
  report_.refused->memory = transport::DmaStatus::kInvalidKey;
  EXPECT_EQ(hear(), std::vector{Finding::kRegionDeregisteredUnderPeer});
}

TEST_F(FailureFindingsTest, AKeyOfAnEarlierRegion) {
  report_.refused->memory = transport::DmaStatus::kInvalidKey;
  EXPECT_EQ(hear(), std::vector{Finding::kStaleRemoteKey});
  report_.key.is_known = false;
  EXPECT_EQ(hear(), kNothing) << "nothing is known of it";
  devices_.add_memory(Lkey{__builtin_bswap32(kKey)}, {.address = kAddress, .length = 4096});
  EXPECT_EQ(hear(), std::vector{Finding::kByteSwappedAddress});
}

TEST_F(FailureFindingsTest, AnAddressInAnotherByteOrder) {
  report_.refused->memory = transport::DmaStatus::kOutOfBounds;
  const std::uint64_t meant = kAddress + 16;
  for (const std::uint64_t address :
       {__builtin_bswap64(meant),
        std::uint64_t{__builtin_bswap32(meant >> 32)} << 32 | __builtin_bswap32(meant & 0xffffffff),
        meant & 0xffffffff}) {
    report_.refused->address = address;
    EXPECT_EQ(hear(), std::vector{Finding::kByteSwappedAddress}) << std::hex << address;
  }
  report_.refused->address = kAddress + 4096;
  EXPECT_EQ(hear(), kNothing);
}

TEST_F(FailureFindingsTest, RightsReadsAndMemoryThatIsGone) {
  report_.refused->memory = transport::DmaStatus::kNoAccess;
  EXPECT_EQ(hear(), std::vector{Finding::kRemoteRightMissing});
  report_.refused->memory = transport::DmaStatus::kNotPresent;
  EXPECT_EQ(hear(), std::vector{Finding::kMemoryGone});
  report_.key.range.backing = nic::Backing::kOnDemand;
  EXPECT_EQ(hear(), kNothing) << "pages of such a region may go";
  qp_->set_read_depth({.as_responder = 4});
  report_.refused->reason = transport::RefusalReason::kTooManyReads;
  EXPECT_EQ(hear(), std::vector{Finding::kResponderResourcesExceeded});
  EXPECT_NE(said_.text.find("which is 4"), std::string::npos) << said_.text;
}

TEST_F(FailureFindingsTest, AQueuePairThatHasRefusedIsNoticedOrNot) {
  report_.refused->reason = transport::RefusalReason::kPacketLength;
  EXPECT_EQ(hear(), kNothing);
  const SanitizerTime now = std::chrono::steady_clock::now();
  devices_.look(now + 1s);
  EXPECT_EQ(said_.take(), kNothing) << "too early";
  devices_.look(now + 3s);
  EXPECT_EQ(said_.take(), std::vector{Finding::kFailedQueuePairUnnoticed});
  hear();
  devices_.event_read();
  devices_.look(now + 9s);
  EXPECT_EQ(said_.take(), kNothing);
}

TEST_F(FailureFindingsTest, AMessageThatIsDropped) {
  report_.kind = nic::FailureReport::Kind::kDropped;
  EXPECT_EQ(hear(), std::vector{Finding::kDatagramDropped});
}

TEST_F(FailureFindingsTest, AKeyOfThisHostThatThePeerRefuses) {
  report_.kind = nic::FailureReport::Kind::kCompletion;
  report_.completion.status = transport::CompletionStatus::kRemoteAccessError;
  report_.request = transport::SendRequest{.operation = transport::SendOperation::kWrite};
  report_.request->rkey = transport::Rkey{kKey};
  report_.qp.peer_qp = transport::QpNumber{0x22};
  EXPECT_EQ(hear(), kNothing) << "no region has it";
  devices_.add_memory(Lkey{kKey}, {.address = kAddress, .length = 4096});
  EXPECT_EQ(hear(), std::vector{Finding::kLocalKeyAsRemoteKey});
  report_.qp.peer_qp = kNumber;
  EXPECT_EQ(hear(), kNothing) << "the peer is in this process";
  report_.qp.peer_qp = transport::QpNumber{0x22};
  report_.completion.status = transport::CompletionStatus::kRetryExceeded;
  EXPECT_EQ(hear(), kNothing) << "the peer has said nothing of the key";
}

TEST_F(FailureFindingsTest, ASendWithoutAReceive) {
  report_.kind = nic::FailureReport::Kind::kReceiveMissing;
  EXPECT_EQ(hear(), std::vector{Finding::kReceivePostedLate});
  EXPECT_NE(said_.text.find("655 ms"), std::string::npos) << said_.text;
  report_.min_rnr_timer = 1;
  hear();
  EXPECT_EQ(said_.text.find("655 ms"), std::string::npos) << said_.text;
}

}  // namespace
}  // namespace urnic::verbs_api
