// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Receives at the responder: scatter, immediate data, and receives that are missing, too short or unusable.
#include "tests/support/qp_fixture.h"

namespace urnic::transport::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

class RcResponderReceive : public RcTest {
 protected:
  RcResponderReceive() { connect(); }

  static Sge in_receive_region(std::uint64_t offset, std::uint32_t length) {
    return {.address = kReceiveAddress + offset, .length = length, .lkey = kReceiveKey};
  }
};

TEST_F(RcResponderReceive, TakesReceivesInTheOrderTheyWerePosted) {
  post_receives({7, 5, 6});
  peer_sends(
      {send_only(Psn(100), payload(1)), send_only(Psn(101), payload(1)), send_only(Psn(102), payload(1))});
  EXPECT_THAT(receive_completions(), ElementsAre(Succeeded(7), Succeeded(5), Succeeded(6)));
}

TEST_F(RcResponderReceive, SaysWhatWasReceivedAndFromWhom) {
  post_receives({1});
  peer_sends(send_only(Psn(100), payload(10)));
  EXPECT_THAT(
      receive_completions(),
      ElementsAre(AllOf(Succeeded(1), Field(&Completion::opcode, CompletionOpcode::kReceive),
                        Field(&Completion::byte_length, 10u), Field(&Completion::has_immediate, false),
                        Field(&Completion::solicited, false), Field(&Completion::qp_number, kOurQp),
                        Field(&Completion::source_qp, kPeerQp))));
}

TEST_F(RcResponderReceive, ScattersAMessageOverAllElements) {
  post_receive(1, {in_receive_region(0, 1000), in_receive_region(5000, 1), in_receive_region(2000, 3000)});
  const Bytes message = payload(3000);
  peer_sends(send_message(Psn(100), message, kMtu));

  EXPECT_THAT(receive_completions(), ElementsAre(Succeeded(1)));
  EXPECT_EQ(receive_memory(0, 1001), slice(message, 0, 1000) + pattern(kReceiveAddress + 1000, 1));
  EXPECT_EQ(receive_memory(5000, 2), slice(message, 1000, 1) + pattern(kReceiveAddress + 5001, 1));
  EXPECT_EQ(receive_memory(2000, 2000), slice(message, 1001, 1999) + pattern(kReceiveAddress + 3999, 1));
}

TEST_F(RcResponderReceive, SkipsElementsOfNoLength) {
  post_receive(1, {{.address = 0, .length = 0, .lkey = Lkey{0xbad}},
                   in_receive_region(0, 10),
                   {.address = 0, .length = 0, .lkey = Lkey{0xbad}}});
  peer_sends(send_only(Psn(100), payload(10)));
  EXPECT_THAT(receive_completions(), ElementsAre(Succeeded(1)));
  EXPECT_EQ(receive_memory(0, 10), payload(10));
}

TEST_F(RcResponderReceive, TakesAnEmptySendInAReceiveWithoutElements) {
  post_receive(1, {});
  peer_sends(send_only(Psn(100), {}));
  EXPECT_THAT(sent(), ElementsAre(ack(Psn(100), 1)));
  EXPECT_THAT(receive_completions(), ElementsAre(Succeeded(1)));
}

TEST_F(RcResponderReceive, CompletesOnlyWithTheLastPacket) {
  post_receives({1});
  const auto packets = send_message(Psn(100), payload(3000), kMtu);
  peer_sends({packets[0], packets[1]});
  EXPECT_THAT(receive_completions(), IsEmpty());
  peer_sends(packets[2]);
  EXPECT_THAT(receive_completions(), ElementsAre(Succeeded(1)));
}

TEST_F(RcResponderReceive, DeliversTheImmediateOfASend) {
  post_receives({1, 2});
  peer_sends({send_only_with_immediate(Psn(100), payload(10), 0x01020304),
              send_first(Psn(101), payload(1024)),
              send_last_with_immediate(Psn(102), payload(5), 0x05060708)});
  EXPECT_THAT(
      receive_completions(),
      ElementsAre(AllOf(Succeeded(1), Field(&Completion::opcode, CompletionOpcode::kReceive),
                        Field(&Completion::has_immediate, true), Field(&Completion::immediate, 0x01020304u),
                        Field(&Completion::byte_length, 10u)),
                  AllOf(Succeeded(2), Field(&Completion::has_immediate, true),
                        Field(&Completion::immediate, 0x05060708u), Field(&Completion::byte_length, 1029u))));
}

TEST_F(RcResponderReceive, DeliversTheImmediateOfAWriteWithoutTouchingTheReceivesMemory) {
  post_receives({1, 2});
  peer_sends({write_only_with_immediate(Psn(100), payload(10), 0x01020304),
              write_first(Psn(101), payload(1024), 1029),
              write_last_with_immediate(Psn(102), payload(5), 0x05060708)});
  const auto opcode = Field(&Completion::opcode, CompletionOpcode::kReceiveRdmaWithImmediate);
  EXPECT_THAT(
      receive_completions(),
      ElementsAre(AllOf(Succeeded(1), opcode, Field(&Completion::has_immediate, true),
                        Field(&Completion::immediate, 0x01020304u), Field(&Completion::byte_length, 10u)),
                  AllOf(Succeeded(2), opcode, Field(&Completion::has_immediate, true),
                        Field(&Completion::immediate, 0x05060708u), Field(&Completion::byte_length, 1029u))));
  EXPECT_TRUE(receive_memory_is_untouched());
  EXPECT_EQ(shared_memory(1024, 5), payload(5));
}

TEST_F(RcResponderReceive, DeliversTheImmediateOfAnEmptyWrite) {
  post_receives({1});
  peer_sends(write_only_with_immediate(Psn(100), {}, 9, {.address = 0, .rkey = Rkey{0xbad}}));
  EXPECT_THAT(sent(), ElementsAre(ack(Psn(100), 1)));
  EXPECT_THAT(receive_completions(), ElementsAre(AllOf(Succeeded(1), Field(&Completion::immediate, 9u),
                                                       Field(&Completion::byte_length, 0u))));
}

TEST_F(RcResponderReceive, TakesNoReceiveForAPlainWrite) {
  post_receives({1});
  peer_sends(write_message(Psn(100), payload(3000), kMtu));
  EXPECT_FALSE(receive_queue_.is_empty());
  EXPECT_THAT(receive_completions(), IsEmpty());
}

// Fact 17.
TEST_F(RcResponderReceive, PassesOnTheSolicitedFlag) {
  post_receives({1, 2, 3});
  const auto long_send = send_message(Psn(101), payload(1025), kMtu);
  peer_sends({send_only(Psn(100), payload(1)).solicits(), long_send[0], long_send[1].solicits(),
              write_only_with_immediate(Psn(103), {}, 1).solicits()});
  const auto solicited = Field(&Completion::solicited, true);
  EXPECT_THAT(receive_completions(),
              ElementsAre(AllOf(Succeeded(1), solicited), AllOf(Succeeded(2), solicited),
                          AllOf(Succeeded(3), solicited)));
}

TEST_F(RcResponderReceive, FillsAReceiveToItsLastByte) {
  post_receives({1}, 3000);
  peer_sends(send_message(Psn(100), payload(3000), kMtu));
  EXPECT_THAT(sent(), ElementsAre(ack(Psn(102), 1)));
  EXPECT_THAT(receive_completions(), ElementsAre(Succeeded(1)));
}

// "Decisions" below fact 55, against rxe's 0x63 (fact 33).
TEST_F(RcResponderReceive, RefusesASendOneByteLongerThanTheReceive) {
  post_receives({1, 2}, 9);
  peer_sends(send_only(Psn(100), payload(10)));

  EXPECT_THAT(sent(), ElementsAre(nak(Nak::kInvalidRequest, Psn(100), 0)));
  EXPECT_THAT(receive_completions(),
              ElementsAre(Completed(1, CompletionStatus::kLocalLengthError), Flushed(2)));
  EXPECT_EQ(endpoint_.state(), QpState::kError);
  EXPECT_EQ(receive_memory(9, 100), pattern(kReceiveAddress + 9, 100));
}

// As rdma_rxe does (fact 33).
class RcLongSend : public RcTest {};

TEST_F(RcLongSend, IsRefusedByARemoteOperationalErrorWhereTheResponderIsToldTo) {
  config_.is_long_send_operational = true;
  connect();
  post_receives({1, 2}, 9);
  peer_sends(send_only(Psn(100), payload(10)));

  EXPECT_THAT(sent(), ElementsAre(nak(Nak::kRemoteOperation, Psn(100), 0)));
  EXPECT_THAT(receive_completions(),
              ElementsAre(Completed(1, CompletionStatus::kLocalQpOperationError), Flushed(2)));
}

TEST_F(RcResponderReceive, RefusesALongSendWithThePacketThatDoesNotFit) {
  post_receives({1}, 1500);
  peer_sends(send_message(Psn(100), payload(3000), kMtu));

  EXPECT_THAT(sent(), ElementsAre(nak(Nak::kInvalidRequest, Psn(101), 0)));
  EXPECT_THAT(receive_completions(), ElementsAre(Completed(1, CompletionStatus::kLocalLengthError)));
  EXPECT_EQ(receive_memory(1500, 100), pattern(kReceiveAddress + 1500, 100));
}

TEST_F(RcResponderReceive, RefusesASendForAReceiveWithoutElements) {
  post_receive(1, {});
  peer_sends(send_only(Psn(100), payload(1)));
  EXPECT_THAT(sent(), ElementsAre(nak(Nak::kInvalidRequest, Psn(100), 0)));
  EXPECT_THAT(receive_completions(), ElementsAre(Completed(1, CompletionStatus::kLocalLengthError)));
}

// "Decisions" below fact 55: 0x63 is for faults in the responder's own receive buffers.
TEST_F(RcResponderReceive, BlamesItselfForAReceiveWithABadKey) {
  post_receive(1, {{.address = kReceiveAddress, .length = 100, .lkey = Lkey{0xbad}}});
  post_receives({2});
  peer_sends(send_only(Psn(100), payload(10)));

  EXPECT_THAT(sent(), ElementsAre(nak(Nak::kRemoteOperation, Psn(100), 0)));
  EXPECT_THAT(receive_completions(),
              ElementsAre(Completed(1, CompletionStatus::kLocalProtectionError), Flushed(2)));
  EXPECT_EQ(endpoint_.state(), QpState::kError);
  EXPECT_EQ(count(Counter::kRequestOperationError), 1u);
}

TEST_F(RcResponderReceive, BlamesItselfForAReceiveOutsideItsRegion) {
  post_receive(1, {in_receive_region(kRegionBytes - 5, 100)});
  peer_sends(send_only(Psn(100), payload(10)));
  EXPECT_THAT(sent(), ElementsAre(nak(Nak::kRemoteOperation, Psn(100), 0)));
  EXPECT_THAT(receive_completions(), ElementsAre(Completed(1, CompletionStatus::kLocalProtectionError)));
}

TEST_F(RcResponderReceive, BlamesItselfForAReceiveInMemoryItMayNotWrite) {
  dma_.set_access(to_integer(kReceiveKey), Access::kNone);
  post_receives({1});
  peer_sends(send_only(Psn(100), payload(10)));
  EXPECT_THAT(sent(), ElementsAre(nak(Nak::kRemoteOperation, Psn(100), 0)));
  EXPECT_THAT(receive_completions(), ElementsAre(Completed(1, CompletionStatus::kLocalProtectionError)));
}

TEST_F(RcResponderReceive, BlamesItselfForAReceiveWhoseRegionVanishesMidway) {
  post_receives({1});
  const auto packets = send_message(Psn(100), payload(3000), kMtu);
  peer_sends(packets[0]);
  dma_.remove_region(to_integer(kReceiveKey));
  peer_sends({packets[1], packets[2]});

  EXPECT_THAT(sent(), ElementsAre(nak(Nak::kRemoteOperation, Psn(101), 0)));
  EXPECT_THAT(receive_completions(), ElementsAre(Completed(1, CompletionStatus::kLocalProtectionError)));
}

// A receive taken by a message that turns out to be wrong must not get lost.
TEST_F(RcResponderReceive, CompletesTheReceiveOfAMessageThatFailsMidway) {
  post_receives({1, 2});
  peer_sends({send_first(Psn(100), payload(1024)), send_middle(Psn(101), payload(5))});

  EXPECT_THAT(sent(), ElementsAre(nak(Nak::kInvalidRequest, Psn(101), 0)));
  const auto completions = receive_completions();
  ASSERT_EQ(completions.size(), 2u);
  EXPECT_EQ(completions[0].wr_id, 1u);
  EXPECT_NE(completions[0].status, CompletionStatus::kSuccess);
  EXPECT_THAT(completions[1], Flushed(2));
}

}  // namespace
}  // namespace urnic::transport::test
