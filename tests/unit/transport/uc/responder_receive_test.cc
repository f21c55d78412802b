// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Receives at a UC responder: what completes them, what leaves them in hand, and what breaks the queue pair.
#include "tests/support/qp_fixture.h"

namespace urnic::transport::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

class UcResponderReceive : public UcTest {
 protected:
  UcResponderReceive() { connect(); }
};

TEST_F(UcResponderReceive, SaysWhatWasReceivedAndFromWhom) {
  post_receives({1});
  peer_sends(send_only(Psn(100), payload(10)).solicits());
  EXPECT_THAT(
      receive_completions(),
      ElementsAre(AllOf(Succeeded(1), Field(&Completion::opcode, CompletionOpcode::kReceive),
                        Field(&Completion::byte_length, 10u), Field(&Completion::has_immediate, false),
                        Field(&Completion::has_grh, false), Field(&Completion::solicited, true),
                        Field(&Completion::qp_number, kOurQp), Field(&Completion::source_qp, kPeerQp))));
}

TEST_F(UcResponderReceive, DeliversTheImmediateOfASend) {
  post_receives({1, 2});
  peer_sends({send_only_with_immediate(Psn(100), payload(10), 0x01020304),
              send_first(Psn(101), payload(1024)),
              send_last_with_immediate(Psn(102), payload(5), 0x05060708)});
  EXPECT_THAT(receive_completions(),
              ElementsAre(AllOf(Succeeded(1), Field(&Completion::has_immediate, true),
                                Field(&Completion::immediate, 0x01020304u)),
                          AllOf(Succeeded(2), Field(&Completion::immediate, 0x05060708u))));
}

TEST_F(UcResponderReceive, ScattersAMessageOverAllElements) {
  post_receive(1, {{kReceiveAddress, 1000, kReceiveKey},
                   {kReceiveAddress + 5000, 1, kReceiveKey},
                   {kReceiveAddress + 2000, 3000, kReceiveKey}});
  const Bytes message = payload(3000);
  peer_sends(send_message(Psn(100), message, kMtu));
  EXPECT_THAT(receive_completions(), ElementsAre(Succeeded(1)));
  EXPECT_EQ(receive_memory(0, 1000) + receive_memory(5000, 1) + receive_memory(2000, 1999), message);
}

TEST_F(UcResponderReceive, TakesNoReceiveForAPlainWrite) {
  post_receives({1});
  peer_sends(write_message(Psn(100), payload(2000), kMtu));
  EXPECT_EQ(receive_queue_.size(), 1u);
  EXPECT_THAT(receive_completions(), IsEmpty());
}

TEST_F(UcResponderReceive, DropsASendWithoutAReceive) {
  peer_sends(send_message(Psn(100), payload(2000), kMtu));
  EXPECT_EQ(count(Counter::kOutOfBuffer), 1u);
  post_receives({1});
  peer_sends(send_only(Psn(102), payload(5)));
  EXPECT_THAT(receive_completions(), ElementsAre(Field(&Completion::byte_length, 5u)));
}

// A receive that comes while the message is half over is none for it.
TEST_F(UcResponderReceive, DoesNotReceiveTheRestOfASendThatHadNoReceive) {
  const auto packets = send_message(Psn(100), payload(2000), kMtu);
  peer_sends(packets[0]);
  post_receives({1});
  peer_sends(packets[1]);
  EXPECT_THAT(receive_completions(), IsEmpty());
  EXPECT_TRUE(receive_memory_is_untouched());
}

TEST_F(UcResponderReceive, DropsAWriteWithImmediatesImmediateWithoutAReceive) {
  const Bytes message = payload(1500);
  peer_sends({write_first(Psn(100), slice(message, 0, 1024), 1500),
              write_last_with_immediate(Psn(101), slice(message, 1024, 476), 9)});
  EXPECT_EQ(count(Counter::kOutOfBuffer), 1u);
  EXPECT_EQ(shared_memory(0, 1500), message);
  post_receives({1});
  peer_sends(write_only_with_immediate(Psn(102), payload(8), 10));
  EXPECT_THAT(receive_completions(), ElementsAre(Field(&Completion::immediate, 10u)));
}

TEST_F(UcResponderReceive, KeepsAReceiveThatIsTooSmallForTheNextMessage) {
  post_receives({1}, 1500);
  peer_sends(send_only(Psn(100), payload(1)));
  receive_completions();
  post_receives({2}, 1000);
  peer_sends(send_only(Psn(101), payload(1001)));
  EXPECT_EQ(count(Counter::kReceiveTooSmall), 1u);
  EXPECT_THAT(receive_completions(), IsEmpty());
  peer_sends(send_only(Psn(102), payload(1000)));
  EXPECT_THAT(receive_completions(),
              ElementsAre(AllOf(Succeeded(2), Field(&Completion::byte_length, 1000u))));
}

TEST_F(UcResponderReceive, WritesNothingBehindAReceiveThatIsTooSmall) {
  post_receives({1}, 1500);
  peer_sends(send_message(Psn(100), payload(2000), kMtu));
  EXPECT_THAT(receive_completions(), IsEmpty());
  EXPECT_EQ(count(Counter::kReceiveTooSmall), 1u);
  EXPECT_EQ(receive_memory(1024, 1000), pattern(kReceiveAddress + 1024, 1000));
}

TEST_F(UcResponderReceive, GivesTheReceiveOfADroppedSendToAWriteWithImmediate) {
  post_receives({1, 2});
  peer_sends(send_first(Psn(100), payload(1024)));
  peer_sends(write_only_with_immediate(Psn(105), payload(8), 10));
  peer_sends(send_only(Psn(106), payload(4)));
  EXPECT_THAT(receive_completions(),
              ElementsAre(AllOf(Succeeded(1),
                                Field(&Completion::opcode, CompletionOpcode::kReceiveRdmaWithImmediate)),
                          AllOf(Succeeded(2), Field(&Completion::opcode, CompletionOpcode::kReceive))));
}

// The fault is this side's own, so this side gets the error.
TEST_F(UcResponderReceive, GoesToErrorWhenAReceiveCannotBeWritten) {
  post_receive(1, {{.address = kReceiveAddress, .length = 100, .lkey = Lkey{0xbad}}});
  post_receives({2});
  post_quietly(send_wr(3, 5));
  peer_sends({send_only(Psn(100), payload(10)), send_only(Psn(101), payload(10))});
  EXPECT_THAT(receive_completions(),
              ElementsAre(Completed(1, CompletionStatus::kLocalProtectionError), Flushed(2)));
  EXPECT_THAT(send_completions(), ElementsAre(Flushed(3)));
  EXPECT_THAT(events(), IsEmpty());
  EXPECT_EQ(endpoint_.state(), QpState::kError);
  EXPECT_EQ(count(Counter::kReceiveCompletionError), 1u);
}

TEST_F(UcResponderReceive, GoesToErrorWhenAReceiveCannotBeWrittenAnyMore) {
  post_receives({1});
  const auto packets = send_message(Psn(100), payload(2000), kMtu);
  peer_sends(packets[0]);
  dma_.remove_region(to_integer(kReceiveKey));
  peer_sends(packets[1]);
  EXPECT_THAT(receive_completions(), ElementsAre(Completed(1, CompletionStatus::kLocalProtectionError)));
  EXPECT_EQ(endpoint_.state(), QpState::kError);
}

}  // namespace
}  // namespace urnic::transport::test
