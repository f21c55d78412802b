// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a UD responder receives, and what it drops without a word.
#include "tests/support/qp_fixture.h"

namespace urnic::transport::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

class UdResponderTest : public UdTest {
 protected:
  UdResponderTest() { connect(); }

  void expect_dropped(const QpPacket& packet, Counter counter) {
    const std::uint64_t before = count(counter);
    const std::uint32_t posted = receive_queue_.size();
    peer_sends(packet);
    EXPECT_EQ(count(counter) - before, 1u);
    EXPECT_THAT(receive_completions(), IsEmpty());
    EXPECT_EQ(receive_queue_.size(), posted);
    EXPECT_TRUE(receive_memory_is_untouched());
    EXPECT_THAT(events(), IsEmpty());
    EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
  }
};

TEST_F(UdResponderTest, SaysWhatWasReceivedAndFromWhom) {
  post_receives({1});
  peer_sends(datagram(payload(10)));
  EXPECT_THAT(
      receive_completions(),
      ElementsAre(AllOf(Succeeded(1), Field(&Completion::opcode, CompletionOpcode::kReceive),
                        Field(&Completion::byte_length, 50u), Field(&Completion::has_grh, true),
                        Field(&Completion::has_immediate, false), Field(&Completion::solicited, false),
                        Field(&Completion::qp_number, kOurQp), Field(&Completion::source_qp, kPeerQp))));
}

// Fact 42.
TEST_F(UdResponderTest, PutsAnIpv4HeaderBehindTwentyZeros) {
  post_receives({1});
  peer_sends({datagram(payload(10))}, ipv4_header());
  EXPECT_EQ(receive_memory(0, 50), Bytes(20) + ipv4_header() + payload(10));
  EXPECT_EQ(receive_memory(50, 10), pattern(kReceiveAddress + 50, 10));
}

TEST_F(UdResponderTest, FillsTheGrhAreaWithAnIpv6Header) {
  post_receives({1});
  peer_sends({datagram(payload(10))}, ipv6_header());
  EXPECT_EQ(receive_memory(0, 50), ipv6_header() + payload(10));
}

TEST_F(UdResponderTest, TakesEveryLengthUpToThePathMtu) {
  for (const std::uint32_t length : {0u, 1u, 1023u, 1024u}) {
    SCOPED_TRACE(length);
    post_receives({1});
    peer_sends(datagram(payload(length)));
    EXPECT_THAT(receive_completions(), ElementsAre(Field(&Completion::byte_length, 40 + length)));
  }
}

TEST_F(UdResponderTest, DeliversImmediateAndSolicitedEvent) {
  post_receives({1, 2});
  peer_sends({datagram({}).with_immediate(0x01020304), datagram(payload(1)).solicits()});
  EXPECT_THAT(
      receive_completions(),
      ElementsAre(AllOf(Field(&Completion::has_immediate, true), Field(&Completion::immediate, 0x01020304u),
                        Field(&Completion::solicited, false)),
                  AllOf(Field(&Completion::has_immediate, false), Field(&Completion::solicited, true))));
}

// Fact 18: rdma_rxe sets it on connection management datagrams.
TEST_F(UdResponderTest, TakesDatagramsThatAskForAnAcknowledgement) {
  post_receives({1});
  peer_sends(datagram(payload(10)).asking_for_ack());
  EXPECT_THAT(receive_completions(), ElementsAre(Succeeded(1)));
}

TEST_F(UdResponderTest, TakesDatagramsInAnyOrderAndTwice) {
  post_receives({1, 2, 3});
  QpPacket packet = datagram(payload(10));
  packet.psn = Psn(77);
  peer_sends({packet, packet, datagram(payload(3))});
  EXPECT_THAT(receive_completions(), ElementsAre(Succeeded(1), Succeeded(2), Succeeded(3)));
  EXPECT_EQ(endpoint_.next_receive_psn(), Psn(0));
}

TEST_F(UdResponderTest, ScattersHeaderAndPayloadOverAllElements) {
  post_receive(1, {{kReceiveAddress, 30, kReceiveKey},
                   {kReceiveAddress + 100, 12, kReceiveKey},
                   {kReceiveAddress + 200, 100, kReceiveKey}});
  peer_sends({datagram(payload(10))}, ipv6_header());
  EXPECT_EQ(receive_memory(0, 30) + receive_memory(100, 12) + receive_memory(200, 8),
            ipv6_header() + payload(10));
}

// Fact 16.
TEST_F(UdResponderTest, DropsAnotherQkeyThanItsOwn) {
  post_receives({1});
  expect_dropped(datagram(payload(5)).with_qkey(kQkey + 1), Counter::kQkeyViolation);
  // What means "my own" in a work request means nothing on the wire.
  expect_dropped(datagram(payload(5)).with_qkey(0x80000000 | kQkey), Counter::kQkeyViolation);
  config_.qkey = 0x2222;
  endpoint_.update(config_);
  expect_dropped(datagram(payload(5)), Counter::kQkeyViolation);
  peer_sends(datagram(payload(5)).with_qkey(0x2222));
  EXPECT_THAT(receive_completions(), ElementsAre(Succeeded(1)));
}

TEST_F(UdResponderTest, DropsADatagramLongerThanThePathMtu) {
  post_receives({1});
  expect_dropped(datagram(payload(1025)), Counter::kRequestInvalid);
}

TEST_F(UdResponderTest, DropsADatagramWithoutAReceive) {
  expect_dropped(datagram(payload(5)), Counter::kOutOfBuffer);
}

// Fact 42: dropped; the receive stays for one that fits.
TEST_F(UdResponderTest, KeepsAReceiveThatIsTooSmall) {
  post_receives({1}, 50);
  expect_dropped(datagram(payload(11)), Counter::kReceiveTooSmall);
  peer_sends(datagram(payload(10)));
  EXPECT_THAT(receive_completions(), ElementsAre(AllOf(Succeeded(1), Field(&Completion::byte_length, 50u))));
}

TEST_F(UdResponderTest, NeedsRoomForTheGrhAreaOfAnEmptyDatagram) {
  post_receives({1}, 39);
  expect_dropped(datagram({}), Counter::kReceiveTooSmall);
}

TEST_F(UdResponderTest, GoesToErrorWhenAReceiveCannotBeWritten) {
  post_receive(1, {{.address = kReceiveAddress, .length = 100, .lkey = Lkey{0xbad}}});
  post_receives({2});
  post_quietly(datagram_wr(3, 5));
  peer_sends({datagram(payload(5)), datagram(payload(5))});
  EXPECT_THAT(receive_completions(),
              ElementsAre(Completed(1, CompletionStatus::kLocalProtectionError), Flushed(2)));
  EXPECT_THAT(send_completions(), ElementsAre(Flushed(3)));
  EXPECT_THAT(events(), IsEmpty());
  EXPECT_EQ(endpoint_.state(), QpState::kError);
}

TEST_F(UdResponderTest, GoesToErrorWhenOnlyThePayloadCannotBeWritten) {
  post_receive(1, {{kReceiveAddress, 40, kReceiveKey}, {kReceiveAddress, 40, Lkey{0xbad}}});
  peer_sends(datagram(payload(5)));
  EXPECT_THAT(receive_completions(), ElementsAre(Completed(1, CompletionStatus::kLocalProtectionError)));
  EXPECT_EQ(endpoint_.state(), QpState::kError);
}

}  // namespace
}  // namespace urnic::transport::test
