// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Each cause of a failure is found and named, between two real devices.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <string>

#include "nic/diagnostics/failure_cause.h"
#include "nic/diagnostics/failure_log.h"
#include "nic/diagnostics/failure_text.h"
#include "tests/unit/nic/device_pair.h"

namespace urnic::nic {
namespace {

using namespace std::chrono_literals;
using transport::Access;
using transport::PathMtu;
using transport::Rkey;
using transport::SendOperation;
using transport::SendRequest;
using transport::wire::Gid;
using Cause = FailureCause;

/// What connects, and what each side is given differently.
struct Difference {
  PathMtu a_mtu = PathMtu::k1024;
  PathMtu b_mtu = PathMtu::k1024;
  Access b_access = Access::kRemoteWrite | Access::kRemoteRead | Access::kRemoteAtomic;
  std::uint8_t b_resources = 4;
  std::uint8_t depth = 4;
  std::uint8_t rnr_retry = 2;
  std::uint32_t b_receive_psn = 100;  ///< a sends from 100 on
};

class Explanation : public ::testing::Test {
 protected:
  Explanation() : pair({.explain = true}) {}

  void connect(const Difference& difference = {}) {
    QueuePair& a = pair.a().add_queue_pair();
    QueuePair& b = pair.b().add_queue_pair();
    bring_up(a, pair.b(), b.number(), difference, difference.a_mtu);
    bring_up(b, pair.a(), a.number(), difference, difference.b_mtu);
  }

  /// A queue pair of a() that believes to have a peer at `address`.
  void connect_to(const Gid& address, std::uint8_t source_gid_index = 1) {
    connect_to(pair.a().add_queue_pair(), {.destination = address, .source_gid_index = source_gid_index});
  }
  static void connect_to(QueuePair& qp, const AddressVector& address) {
    EXPECT_TRUE(kernel::connect(
        qp,
        {.address = address, .peer_qp = transport::QpNumber{0x123456}, .ack_timeout = 10, .retry_count = 2}));
  }

  void bring_up(QueuePair& qp, const Host& peer_host, transport::QpNumber peer, const Difference& difference,
                PathMtu mtu) {
    QpAttributes init = DevicePair::init_attributes();
    init.access = difference.b_access;
    QpAttributes rtr = DevicePair::rtr_attributes(peer_host, peer, {.path_mtu = mtu});
    rtr.max_responder_resources = difference.b_resources;
    if (&peer_host == &pair.a()) rtr.receive_psn = transport::Psn{difference.b_receive_psn};
    QpAttributes rts = DevicePair::rts_attributes({.ack_timeout = 10, .retry_count = 2});
    rts.rnr_retry = difference.rnr_retry;
    rts.max_reads_in_flight = difference.depth;
    EXPECT_TRUE(qp.modify(init));
    EXPECT_TRUE(qp.modify(rtr));
    EXPECT_TRUE(qp.modify(rts));
  }

  /// A request of 64 bytes, of a's, for memory of b's.
  void post_for(SendOperation operation, const MemoryRegion& region, std::uint64_t offset,
                std::size_t length = 64) {
    pair.a().post({.wr_id = 7,
                   .operation = operation,
                   .signaled = true,
                   .remote_address = region.address + offset,
                   .rkey = Rkey{region.key}},
                  0, length);
    pair.pass(10ms);
  }

  MemoryRegion region_of_b(Access access, ProtectionDomain* pd = nullptr) {
    ProtectionDomain& domain = pd != nullptr ? *pd : pair.b().pd();
    return pair.b()
        .device()
        .register_memory(domain, pair.b().memory().data(), 4096,
                         reinterpret_cast<std::uint64_t>(pair.b().memory().data()), access)
        .value();
  }

  /// The only failure of that host, which must be of this cause, in words; each of `words` must be among
  /// them.
  void expect(Host& host, Cause cause, std::initializer_list<std::string> words) {
    const auto report = host.device().failures()->take();
    ASSERT_TRUE(report) << "nothing is reported";
    const std::string text = explain(*report);
    EXPECT_EQ(cause_of(*report), cause) << text;
    for (const std::string& word : words) {
      EXPECT_NE(text.find(word), std::string::npos) << word << " in\n" << text;
    }
    EXPECT_FALSE(host.device().failures()->take()) << "a second report";
  }
  void expect_nothing(Host& host) { EXPECT_FALSE(host.device().failures()->take()); }

  DevicePair pair;
};

TEST(NoExplanation, IsKeptUnlessAskedFor) {
  DevicePair pair;
  pair.connect();
  EXPECT_EQ(pair.a().device().failures(), nullptr);
  EXPECT_EQ(pair.a().qp().monitor(), nullptr);
}

TEST_F(Explanation, SaysNothingOfSuccessNorOfFlushes) {
  connect();
  pair.b().post_receive(1, 0, 64);
  pair.b().post_receive(2, 0, 64);
  pair.a().post_send(1, 0, 64);
  pair.settle();
  EXPECT_TRUE(pair.b().qp().modify({.state = transport::QpState::kError}));
  pair.settle();
  EXPECT_EQ(pair.b().poll_text(), "1 ok, 2 flushed");
  expect_nothing(pair.a());
  expect_nothing(pair.b());
}

// --- No answer ---

TEST_F(Explanation, SaysThatNobodyAnswersArp) {
  connect_to(Gid::from_ipv4({{10, 0, 0, 9}}));
  pair.a().post_send(1, 0, 64);
  pair.pass(3s);
  EXPECT_EQ(pair.a().poll_text(), "1 retry exceeded");
  expect(pair.a(), Cause::kNobodyHasAddress,
         {"SEND of 64 bytes with wr_id 1 failed: transport retry counter exceeded",
          "no host answers ARP for 10.0.0.9", "peer 10.0.0.9 QP 0x123456", "not sent", "fact 36",
          "2 of 2 retries used"});
}

TEST_F(Explanation, SaysThatThePeerIsOfAnotherSegment) {
  connect_to(Gid::from_ipv4({{10, 9, 9, 9}}));
  pair.a().post_send(1, 0, 64);
  pair.pass(3s);
  expect(pair.a(), Cause::kOtherSegment, {"10.9.9.9, which is not in our network", "knows no router"});
}

TEST_F(Explanation, SaysThatALinkLocalGidIsOne) {
  connect_to(*Gid::parse("fe80::1234"), 0);
  pair.a().post_send(1, 0, 64);
  pair.pass(3s);
  expect(pair.a(), Cause::kNobodyHasAddress,
         {"neighbor discovery for fe80::1234", "link-local GID (index 0)"});
}

TEST_F(Explanation, SaysThatThePeerIsThereButNotItsQueuePair) {
  connect_to(pair.b().gid());
  pair.a().post_send(1, 0, 64);
  pair.pass(3s);
  expect(pair.a(), Cause::kNoRocePeer, {"10.0.0.2 is there (MAC 02:00:00:00:00:02)", "no RoCE packet"});
  expect(pair.b(), Cause::kStrayRequest, {"10.0.0.1 sends requests to QP 0x123456, which is not here"});
}

TEST_F(Explanation, SaysThatThePeersPacketsComeFromAnotherAddress) {
  connect();
  QueuePair& b = pair.b().qp();
  ASSERT_TRUE(b.modify({.state = transport::QpState::kReset}));
  QpAttributes rtr = DevicePair::rtr_attributes(pair.a(), pair.a().qp().number());
  rtr.address->destination = Gid::from_ipv4({{172, 17, 0, 2}});
  ASSERT_TRUE(b.modify(DevicePair::init_attributes()));
  ASSERT_TRUE(b.modify(rtr));
  pair.a().post_send(1, 0, 64);
  pair.pass(100ms);
  expect(pair.b(), Cause::kTranslatedAddress,
         {"come from 10.0.0.1", "its peer's address is 172.17.0.2", "NAT"});
}

TEST_F(Explanation, SaysOnceThatAReadLeavesWithADepthOfZero) {
  connect({.depth = 0});
  for (const std::uint64_t wr_id : {1u, 2u}) {
    pair.a().post({.wr_id = wr_id,
                   .operation = SendOperation::kRead,
                   .signaled = true,
                   .remote_address = pair.b().region().address,
                   .rkey = Rkey{pair.b().region().key}},
                  0, 64);
  }
  pair.settle();
  EXPECT_EQ(pair.a().poll_text(), "1 ok, 2 ok");
  expect(pair.a(), Cause::kNoReadDepth, {"max_rd_atomic is 0", "0 counts as 1 here", "initiator_depth"});
  expect_nothing(pair.b());
}

TEST_F(Explanation, SaysThatThePeerFellSilent) {
  connect();
  pair.b().post_receive(1, 0, 64);
  pair.a().post_send(1, 0, 64);
  pair.settle();
  pair.wire.is_lost = [](std::size_t from, const FakeWire::Bytes&) { return from == 1; };
  pair.a().post_send(2, 0, 3000);
  pair.pass(100ms);
  expect(pair.a(), Cause::kPeerFellSilent,
         {"3 packets in 0.000 ms, RC SEND First to RC SEND Last, PSN 101 to 103, 3000 bytes",
          "since then it says nothing", "received", "RC Acknowledge", "no acknowledgement in time"});
}

TEST_F(Explanation, SaysThatPacketsGetLost) {
  connect();
  int sent = 0;
  // Every first packet of three is lost, so that the peer goes on to see gaps.
  pair.wire.is_lost = [&sent](std::size_t from, const FakeWire::Bytes& frame) {
    return from == 0 && frame.size() > 1000 && sent++ % 3 == 0;
  };
  pair.b().post_receive(1, 0, 4096);
  pair.a().post_send(1, 0, 3072);
  pair.pass(200ms);
  expect(pair.a(), Cause::kPacketsLost, {"packets are missing", "NAK PSN sequence"});
}

TEST_F(Explanation, SaysThatThePeerExpectsLaterPsns) {
  connect({.b_receive_psn = 150});
  pair.b().post_receive(1, 0, 64);
  pair.a().post_send(1, 0, 64);
  pair.pass(100ms);
  expect(pair.a(), Cause::kPsnsDiffer,
         {"the peer answers with PSN 149", "has sent nothing but PSN 100 to 100",
          "the sq_psn of one is the rq_psn of the other"});
}

TEST_F(Explanation, SaysThatThePeerExpectsEarlierPsns) {
  connect({.b_receive_psn = 50});
  pair.b().post_receive(1, 0, 64);
  pair.a().post_send(1, 0, 64);
  pair.pass(100ms);
  expect(pair.a(), Cause::kPsnsDiffer, {"the peer answers with PSN 50", "PSN 100 to 100"});
}

// --- The peer refuses ---

TEST_F(Explanation, SaysHowLongThereWasNoReceive) {
  connect({.rnr_retry = 2});
  pair.a().post_send(1, 0, 64);
  pair.pass(100ms);
  expect(pair.a(), Cause::kNoReceivePosted,
         {"3 RNR NAKs over 1.3 ms, its min_rnr_timer 12 (0.64 ms)", "RNR NAK, timer", "fact"});
  expect_nothing(pair.b());
}

TEST_F(Explanation, SaysOnBothSidesThatAKeyIsUnknown) {
  connect();
  MemoryRegion region = region_of_b(Access::kLocalWrite | Access::kRemoteWrite);
  EXPECT_TRUE(pair.b().device().deregister_memory(pair.b().pd(), region.key));
  post_for(SendOperation::kWrite, region, 0);
  expect(pair.a(), Cause::kPeerRefusedAccess,
         {"RDMA WRITE of 64 bytes with wr_id 7 failed: remote access error", "rkey 0x"});
  expect(pair.b(), Cause::kUnknownKey,
         {"refused its peer's RC RDMA WRITE Only", "nothing with this key", "fact 30"});
}

TEST_F(Explanation, SaysThatMemoryWasTakenBackInTheMiddleOfAWrite) {
  connect();
  pair.b().post_receive(1, 0, 64);
  pair.a().post_send(1, 0, 64);
  pair.settle();
  const MemoryRegion region = region_of_b(Access::kLocalWrite | Access::kRemoteWrite);
  pair.wire.room[0] = 1;
  pair.a().post({.wr_id = 7,
                 .operation = SendOperation::kWrite,
                 .remote_address = region.address,
                 .rkey = Rkey{region.key}},
                0, 3072);
  pair.settle();
  EXPECT_TRUE(pair.b().device().deregister_memory(pair.b().pd(), region.key));
  pair.wire.room[0] = 100;
  pair.pass(10ms);
  expect(pair.b(), Cause::kUnknownKey, {"RC RDMA WRITE Middle", "+ 1024"});
}

TEST_F(Explanation, SaysWhichBoundsWereLeft) {
  connect();
  post_for(SendOperation::kRead, region_of_b(Access::kRemoteRead), 4090);
  expect(pair.b(), Cause::kOutOfBounds, {"the memory region is 0x", "+ 4096"});
}

TEST_F(Explanation, SaysWhichRightIsMissing) {
  connect();
  post_for(SendOperation::kWrite, region_of_b(Access::kRemoteRead), 0);
  expect(pair.b(), Cause::kRightMissing, {"it needs remote write, and the memory region has remote read"});
}

TEST_F(Explanation, SaysThatMemoryIsOfAnotherDomain) {
  connect();
  const auto other = pair.b().device().allocate_pd();
  const MemoryRegion region = region_of_b(Access::kRemoteRead, other.value().get());
  post_for(SendOperation::kRead, region, 0);
  expect(pair.b(), Cause::kOtherDomain, {"of protection domain"});
  EXPECT_TRUE(pair.b().device().deregister_memory(*other.value(), region.key));
}

TEST_F(Explanation, SaysThatTheQueuePairDoesNotAllowIt) {
  connect({.b_access = Access::kRemoteRead});
  post_for(SendOperation::kWrite, region_of_b(Access::kLocalWrite | Access::kRemoteWrite), 0);
  expect(pair.a(), Cause::kPeerRefusedRequest,
         {"remote invalid request error", "qp_access_flags", "NAK invalid request"});
  expect(pair.b(), Cause::kOperationNotAllowed, {"it needs remote write"});
}

TEST_F(Explanation, SaysThatThePathMtusDiffer) {
  connect({.a_mtu = PathMtu::k2048, .b_mtu = PathMtu::k1024});
  pair.b().post_receive(1, 0, 4096);
  pair.a().post_send(1, 0, 2048);
  pair.pass(10ms);
  expect(pair.a(), Cause::kPeerRefusedRequest, {"path MTU 2048"});
  expect(pair.b(), Cause::kMtuDiffers, {"2048 bytes long, and our path MTU is 1024", "facts 29, 41"});
}

TEST_F(Explanation, SaysThatAReadIsAnsweredWithAnotherMtu) {
  connect({.a_mtu = PathMtu::k1024, .b_mtu = PathMtu::k512});
  post_for(SendOperation::kRead, region_of_b(Access::kRemoteRead), 0, 2048);
  expect(pair.a(), Cause::kMtuDiffers, {"bad response error", "our path MTU is 1024"});
}

TEST_F(Explanation, SaysThatThereAreTooManyReads) {
  connect({.b_resources = 1});
  const MemoryRegion region = region_of_b(Access::kRemoteRead);
  for (int i = 0; i < 3; ++i) {
    pair.a().post({.wr_id = 7,
                   .operation = SendOperation::kRead,
                   .remote_address = region.address,
                   .rkey = Rkey{region.key}},
                  0, 64);
  }
  pair.pass(10ms);
  expect(pair.b(), Cause::kTooManyReads, {"max_dest_rd_atomic"});
}

TEST_F(Explanation, SaysThatAnAtomicIsMisaligned) {
  connect();
  post_for(SendOperation::kFetchAdd, region_of_b(Access::kLocalWrite | Access::kRemoteAtomic), 4, 8);
  expect(pair.b(), Cause::kMisaligned, {"is no multiple of 8", "fact 32"});
}

TEST_F(Explanation, SaysThatAMessageIsLongerThanItsReceive) {
  connect();
  pair.b().post_receive(9, 0, 16);
  pair.a().post_send(1, 0, 64);
  pair.pass(10ms);
  expect(pair.a(), Cause::kPeerRefusedRequest, {"receives long enough"});
  expect(pair.b(), Cause::kMessageTooLong,
         {"receive with wr_id 9 failed: local length error", "has 64 bytes or more", "room for 16"});
}

// --- Our own memory ---

TEST_F(Explanation, SaysWhichElementOfASendIsWrong) {
  connect();
  pair.b().post_receive(1, 0, 64);
  pair.a().post_send(1, 0, 64);  // in flight while the next one is looked at
  std::array sges{pair.a().sge(0, 64), pair.a().sge(0, 64)};
  sges[1].address = pair.a().region().address + Host::kMemoryBytes - 32;
  EXPECT_EQ(QueuePair::SendBatch(pair.a().qp()).post({.wr_id = 3, .operation = SendOperation::kSend}, sges),
            PostStatus::kPosted);
  pair.pass(10ms);
  expect(pair.a(), Cause::kOutOfBounds,
         {"wr_id 3 failed: local protection error", "element 1 of the scatter/gather list"});
}

TEST_F(Explanation, SaysThatAReceiveNamesNoMemory) {
  connect();
  const std::array sges{transport::Sge{.address = 0, .length = 64, .lkey = transport::Lkey{0x42}}};
  EXPECT_EQ(QueuePair::ReceiveBatch(pair.b().qp()).post({.wr_id = 4}, sges), PostStatus::kPosted);
  pair.a().post_send(1, 0, 64);
  pair.pass(10ms);
  expect(pair.a(), Cause::kPeerFailed, {"remote operation error"});
  expect(pair.b(), Cause::kUnknownKey,
         {"receive with wr_id 4", "element 0", "key 0x00000042", "memory of this program by its lkey",
          "take the lkey of the ibv_mr"});
}

TEST_F(Explanation, SaysThatTheMemoryOfADatagramIsNotRegistered) {
  QpCreateAttributes attributes = pair.a().default_attributes();
  attributes.type = QpType::kUd;
  QueuePair& qp = pair.a().add_queue_pair(attributes);
  EXPECT_TRUE(kernel::connect(qp, {.qkey = 1}));
  const auto handle = pair.a().device().create_address_handle(
      pair.a().pd(), {.destination = pair.b().gid(), .source_gid_index = 1});
  ASSERT_TRUE(handle);
  const std::array sges{transport::Sge{.address = 0, .length = 64, .lkey = transport::Lkey{0x42}}};
  SendRequest request{.wr_id = 5, .operation = SendOperation::kSend};
  request.destination.address = handle.value();
  EXPECT_EQ(QueuePair::SendBatch(qp).post(request, sges), PostStatus::kPosted);
  pair.pass(10ms);
  expect(pair.a(), Cause::kUnknownKey, {"(UD)", "element 0"});
  EXPECT_TRUE(pair.a().device().destroy_address_handle(pair.a().pd(), handle.value()));
}

TEST_F(Explanation, SaysThatTheAnswerOfAReadHasNowhereToGo) {
  connect();
  const MemoryRegion region = region_of_b(Access::kRemoteRead);
  const std::array sges{transport::Sge{.address = 0, .length = 64, .lkey = transport::Lkey{0x42}}};
  SendRequest request{.wr_id = 6, .operation = SendOperation::kRead, .remote_address = region.address};
  request.rkey = Rkey{region.key};
  EXPECT_EQ(QueuePair::SendBatch(pair.a().qp()).post(request, sges), PostStatus::kPosted);
  pair.pass(10ms);
  expect(pair.a(), Cause::kUnknownKey, {"RDMA READ of 64 bytes with wr_id 6", "element 0"});
}

TEST_F(Explanation, SaysThatAnUnreliableReceiveNamesNoMemory) {
  QpCreateAttributes attributes = pair.a().default_attributes();
  attributes.type = QpType::kUc;
  QueuePair& a = pair.a().add_queue_pair(attributes);
  attributes = pair.b().default_attributes();
  attributes.type = QpType::kUc;
  QueuePair& b = pair.b().add_queue_pair(attributes);
  DevicePair::connect(pair.a(), a, pair.b(), b);
  const std::array sges{transport::Sge{.address = 0, .length = 64, .lkey = transport::Lkey{0x42}}};
  EXPECT_EQ(QueuePair::ReceiveBatch(b).post({.wr_id = 4}, sges), PostStatus::kPosted);
  pair.a().post_send(1, 0, 64);
  pair.pass(10ms);
  expect(pair.b(), Cause::kUnknownKey, {"(UC", "receive with wr_id 4", "element 0"});
}

TEST_F(Explanation, SaysThatAKeyCannotBeTakenBack) {
  connect();
  pair.b().post_receive(8, 0, 64);
  SendRequest request{.wr_id = 1, .operation = SendOperation::kSendWithInvalidate};
  request.invalidate_rkey = Rkey{pair.b().region().key};
  pair.a().post(request, 0, 64);
  pair.pass(10ms);
  expect(pair.b(), Cause::kRightMissing, {"receive with wr_id 8"});
}

TEST_F(Explanation, TellsAStaleKeyFromAnUnknownOne) {
  FailureReport report{.kind = FailureReport::Kind::kRefusal};
  report.refused = transport::RefusedRequest{.reason = transport::RefusalReason::kMemory,
                                             .memory = transport::DmaStatus::kInvalidKey,
                                             .opcode = transport::wire::Opcode::kRcReadRequest,
                                             .psn = transport::Psn(1),
                                             .rkey = Rkey{0x101}};
  EXPECT_EQ(cause_of(report), Cause::kUnknownKey);
  report.key = {.is_known = true, .is_window = true, .range = {.key = 0x102}};
  EXPECT_EQ(cause_of(report), Cause::kStaleKey);
  EXPECT_NE(explain(report).find("its slot now has a memory window with key 0x00000102"), std::string::npos)
      << explain(report);
}

// --- How much is said ---

TEST_F(Explanation, IsGivenAgainOnceTheQueuePairWasChanged) {
  connect_to(Gid::from_ipv4({{10, 0, 0, 9}}));
  for (int i = 0; i < 2; ++i) {
    pair.a().post_send(1, 0, 64);
    pair.a().post_send(2, 0, 64);
    pair.pass(3s);
    expect(pair.a(), Cause::kNobodyHasAddress, {"wr_id 1"});
    EXPECT_TRUE(pair.a().qp().modify({.state = transport::QpState::kReset}));
    connect_to(pair.a().qp(), {.destination = Gid::from_ipv4({{10, 0, 0, 9}}), .source_gid_index = 1});
  }
}

TEST_F(Explanation, CountsFailuresThatItHasNoRoomFor) {
  constexpr std::size_t kTooMany = FailureLog::kMost + 5;
  for (std::size_t i = 0; i < kTooMany; ++i) connect_to(Gid::from_ipv4({{10, 0, 0, 9}}));
  for (std::size_t i = 0; i < kTooMany; ++i) pair.a().post_send(1, 0, 64, i);
  pair.pass(5s);
  FailureLog& log = *pair.a().device().failures();
  for (std::size_t i = 0; i < FailureLog::kMost; ++i) ASSERT_TRUE(log.take()) << i;
  EXPECT_FALSE(log.take());
  connect_to(Gid::from_ipv4({{10, 0, 0, 9}}));
  pair.a().post_send(1, 0, 64, kTooMany);
  pair.pass(5s);
  const auto next = log.take();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->other_failures, 5u);
}

TEST_F(Explanation, KeepsTheLastEventsOnly) {
  connect();
  for (int i = 0; i < 50; ++i) {
    pair.b().post_receive(1, 0, 64);
    pair.a().post_send(1, 0, 64);
    pair.settle();
  }
  pair.wire.is_lost = [](std::size_t, const FakeWire::Bytes&) { return true; };
  pair.a().post_send(2, 0, 64);
  pair.pass(100ms);
  const auto report = pair.a().device().failures()->take();
  ASSERT_TRUE(report);
  std::size_t kept = 0;
  report->history.for_each([&kept](const QpHistoryEvent&) { ++kept; });
  EXPECT_EQ(kept, QpHistory::kKept);
  EXPECT_GE(report->history.count(), 100u);
}

TEST(CausesOfFailure, AllHaveWords) {
  for (int i = 0; i <= static_cast<int>(Cause::kOther); ++i) {
    EXPECT_FALSE(words_for(static_cast<Cause>(i)).rule.empty());
    EXPECT_FALSE(words_for(static_cast<Cause>(i)).advice.empty());
  }
}

}  // namespace
}  // namespace urnic::nic
