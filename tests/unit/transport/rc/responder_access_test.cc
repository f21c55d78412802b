// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Rights at the responder: queue pair flags, keys, bounds, protection domains (facts 30 and 31).
#include "tests/support/qp_fixture.h"

namespace urnic::transport::test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Rkey kNoKey{0xbad};

class RcResponderAccess : public RcTest {
 protected:
  void expect_nak(Nak reason, Psn psn, std::uint32_t msn = 0) {
    EXPECT_THAT(sent(), ElementsAre(nak(reason, psn, msn)));
    EXPECT_EQ(endpoint_.state(), QpState::kError);
  }
  void take_from_shared_region(Access lost) {
    const Access all = Access::kLocalWrite | Access::kRemoteWrite | Access::kRemoteRead;
    dma_.set_access(to_integer(kShared.rkey), static_cast<Access>(to_integer(all) & ~to_integer(lost)));
  }
  /// The last `bytes` of the shared region.
  static Remote end_of_region(std::uint32_t bytes) { return kShared + (kRegionBytes - bytes); }
};

TEST_F(RcResponderAccess, RefusesAWriteThatTheQueuePairDoesNotAllow) {
  config_.access = Access::kRemoteRead;
  connect();
  peer_sends(write_only(Psn(100), payload(10)));
  expect_nak(Nak::kInvalidRequest, Psn(100));
  EXPECT_TRUE(shared_memory_is_untouched());
}

TEST_F(RcResponderAccess, RefusesAReadThatTheQueuePairDoesNotAllow) {
  config_.access = Access::kRemoteWrite;
  connect();
  peer_sends(read_request(Psn(100), 10));
  expect_nak(Nak::kInvalidRequest, Psn(100));
}

TEST_F(RcResponderAccess, TakesSendsWithoutAnyRight) {
  config_.access = Access::kNone;
  connect();
  post_receives({1});
  peer_sends(send_only(Psn(100), payload(10)));
  EXPECT_THAT(sent(), ElementsAre(ack(Psn(100), 1)));
}

// Fact 30: 0x61 before 0x62.
TEST_F(RcResponderAccess, ChecksTheQueuePairsRightsBeforeTheKey) {
  config_.access = Access::kNone;
  connect();
  peer_sends(write_only(Psn(100), payload(10)).with_rkey(kNoKey));
  expect_nak(Nak::kInvalidRequest, Psn(100));
}

TEST_F(RcResponderAccess, ChecksTheQueuePairsRightsOfAnEmptyWrite) {
  config_.access = Access::kNone;
  connect();
  peer_sends(write_only(Psn(100), {}));
  expect_nak(Nak::kInvalidRequest, Psn(100));
}

TEST_F(RcResponderAccess, HonoursRightsGivenLater) {
  config_.access = Access::kNone;
  connect();
  config_.access = Access::kRemoteWrite;
  endpoint_.update(config_);
  peer_sends(write_only(Psn(100), payload(10)));
  EXPECT_THAT(sent(), ElementsAre(ack(Psn(100), 1)));
}

TEST_F(RcResponderAccess, RefusesAWriteWithAnUnknownKey) {
  connect();
  peer_sends(write_only(Psn(100), payload(10)).with_rkey(kNoKey));
  expect_nak(Nak::kRemoteAccess, Psn(100));
  EXPECT_EQ(count(Counter::kRequestAccessError), 1u);
}

TEST_F(RcResponderAccess, RefusesAReadWithAnUnknownKey) {
  connect();
  peer_sends(read_request(Psn(100), 10).with_rkey(kNoKey));
  expect_nak(Nak::kRemoteAccess, Psn(100));
}

// Fact 30: the NAK carries the FIRST packet's PSN.
TEST_F(RcResponderAccess, RefusesALongWriteWithItsFirstPacket) {
  connect();
  auto packets = write_message(Psn(100), payload(3000), kMtu);
  packets[0].rkey = kNoKey;
  peer_sends(packets);
  expect_nak(Nak::kRemoteAccess, Psn(100));
}

TEST_F(RcResponderAccess, RefusesAWriteIntoAnotherProtectionDomain) {
  config_.pd = PdId{99};
  connect();
  peer_sends(write_only(Psn(100), payload(10)));
  expect_nak(Nak::kRemoteAccess, Psn(100));
  EXPECT_TRUE(shared_memory_is_untouched());
}

TEST_F(RcResponderAccess, RefusesAReadFromAnotherProtectionDomain) {
  config_.pd = PdId{99};
  connect();
  peer_sends(read_request(Psn(100), 10));
  expect_nak(Nak::kRemoteAccess, Psn(100));
}

TEST_F(RcResponderAccess, RefusesAWriteThatTheRegionDoesNotAllow) {
  take_from_shared_region(Access::kRemoteWrite);
  connect();
  peer_sends(write_only(Psn(100), payload(10)));
  expect_nak(Nak::kRemoteAccess, Psn(100));
  EXPECT_TRUE(shared_memory_is_untouched());
}

TEST_F(RcResponderAccess, RefusesAReadThatTheRegionDoesNotAllow) {
  take_from_shared_region(Access::kRemoteRead);
  connect();
  peer_sends(read_request(Psn(100), 10));
  expect_nak(Nak::kRemoteAccess, Psn(100));
}

TEST_F(RcResponderAccess, TakesAWriteUpToTheLastByteOfTheRegion) {
  connect();
  peer_sends(write_only(Psn(100), payload(10), end_of_region(10)));
  EXPECT_THAT(sent(), ElementsAre(ack(Psn(100), 1)));
  EXPECT_EQ(shared_memory(kRegionBytes - 10, 10), payload(10));
}

TEST_F(RcResponderAccess, RefusesAWriteOneByteBeyondTheRegion) {
  connect();
  peer_sends(write_only(Psn(100), payload(10), end_of_region(9)));
  expect_nak(Nak::kRemoteAccess, Psn(100));
  EXPECT_TRUE(shared_memory_is_untouched());
}

// The whole message counts, not only what the first packet brings: nothing of it may arrive.
TEST_F(RcResponderAccess, RefusesTheFirstPacketOfAWriteWhoseEndIsBeyondTheRegion) {
  connect();
  peer_sends(write_first(Psn(100), payload(1024), 1025, end_of_region(1024)));
  expect_nak(Nak::kRemoteAccess, Psn(100));
  EXPECT_TRUE(shared_memory_is_untouched());
}

// As ConnectX does: the packets that are inside the region are written.
TEST_F(RcResponderAccess, WritesTheWholePacketsBeforeTheEndOfTheRegionWhereItIsToldTo) {
  config_.checks_writes_by_packet = true;
  connect();
  const Bytes message = payload(2 * kMtu);
  peer_sends(write_message(Psn(100), message, kMtu, end_of_region(kMtu + 10)));
  expect_nak(Nak::kRemoteAccess, Psn(101));
  const std::uint64_t start = kRegionBytes - kMtu - 10;
  EXPECT_EQ(shared_memory(start, kMtu), slice(message, 0, kMtu));
  EXPECT_EQ(shared_memory(start + kMtu, 10), pattern(kShared.address + start + kMtu, 10))
      << "a packet that crosses the end is refused whole";
}

TEST_F(RcResponderAccess, RefusesAReadOneByteBeyondTheRegion) {
  connect();
  peer_sends(read_request(Psn(100), 3000, end_of_region(2999)));
  expect_nak(Nak::kRemoteAccess, Psn(100));
}

TEST_F(RcResponderAccess, RefusesAWriteAroundTheEndOfTheAddressSpace) {
  connect();
  peer_sends(write_only(Psn(100), payload(10), {.address = ~std::uint64_t{4}, .rkey = kShared.rkey}));
  expect_nak(Nak::kRemoteAccess, Psn(100));
}

// Fact 31.
TEST_F(RcResponderAccess, DoesNotCheckTheKeyOfAnEmptyWrite) {
  connect();
  peer_sends(write_only(Psn(100), {}, {.address = 0, .rkey = kNoKey}));
  EXPECT_THAT(sent(), ElementsAre(ack(Psn(100), 1)));
  EXPECT_THAT(dma_.calls(), IsEmpty());
}

// Fact 31.
TEST_F(RcResponderAccess, DoesNotCheckTheKeyOfAnEmptyRead) {
  connect();
  peer_sends(read_request(Psn(100), 0, {.address = 0, .rkey = kNoKey}));
  EXPECT_THAT(sent(), ElementsAre(read_response_only(Psn(100), {}, 1)));
  EXPECT_THAT(dma_.calls(), IsEmpty());
}

TEST_F(RcResponderAccess, FailsAWriteWhoseRegionVanishesMidway) {
  connect();
  const auto packets = write_message(Psn(100), payload(3000), kMtu);
  peer_sends(packets[0]);
  EXPECT_THAT(sent(), IsEmpty());

  dma_.remove_region(to_integer(kShared.rkey));
  peer_sends({packets[1], packets[2]});

  expect_nak(Nak::kRemoteAccess, Psn(101));
}

// The check has passed and the copy fails: another thread deregistered in between.
TEST_F(RcResponderAccess, FailsAWriteWhoseRegionVanishesBetweenCheckAndCopy) {
  connect();
  peer_sends(write_only(Psn(100), payload(10)));
  ASSERT_THAT(sent(), ElementsAre(ack(Psn(100), 1)));
  const auto calls_of_a_write = static_cast<std::uint32_t>(dma_.calls().size());

  dma_.fail_call(calls_of_a_write);
  peer_sends(write_only(Psn(101), payload(10, 1)));

  expect_nak(Nak::kRemoteAccess, Psn(101), 1);
  EXPECT_EQ(shared_memory(0, 10), payload(10));
}

TEST_F(RcResponderAccess, FailsAReadWhoseRegionVanishesMidway) {
  connect();
  arrives(read_request(Psn(100), 3000));
  const auto first = poll_one();
  ASSERT_EQ(first, read_response_first(Psn(100), pattern(kShared.address, 1024), 1));

  dma_.remove_region(to_integer(kShared.rkey));
  drain();

  const auto rest = sent();
  ASSERT_THAT(rest, SizeIs(1));
  EXPECT_EQ(rest[0].with_syndrome(0), nak(Nak::kRemoteAccess, Psn(101), 1).with_syndrome(0));
  EXPECT_EQ(rest[0].syndrome, to_integer(Nak::kRemoteAccess));
  EXPECT_EQ(endpoint_.state(), QpState::kError);
}

// Design: memory is touched by the key and inside the range the request named, never otherwise.
TEST_F(RcResponderAccess, TouchesOnlyTheRangeOfAWrite) {
  connect();
  peer_sends(write_message(Psn(100), payload(3000), kMtu, kShared + 100));
  EXPECT_THAT(dma_.calls(), Each(AllOf(Field(&DmaCall::key, to_integer(kShared.rkey)),
                                       Field(&DmaCall::address, ::testing::Ge(kShared.address + 100)),
                                       Field(&DmaCall::length, ::testing::Le(3000u)))));
}

}  // namespace
}  // namespace urnic::transport::test
