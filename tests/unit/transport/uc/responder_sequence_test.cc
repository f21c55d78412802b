// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// PSNs and the order of packets at a UC responder: what is lost takes its whole message with it, nothing
// else.
#include "tests/support/qp_fixture.h"

namespace urnic::transport::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class UcResponderSequence : public UcTest {
 protected:
  UcResponderSequence() {
    connect();
    post_receives({1, 2, 3});
  }

  static std::vector<QpPacket> without(std::vector<QpPacket> packets, std::size_t lost) {
    packets.erase(packets.begin() + static_cast<std::ptrdiff_t>(lost));
    return packets;
  }
};

TEST_F(UcResponderSequence, ReceivesMessagesInOrder) {
  const Bytes message = payload(3000);
  peer_sends(send_message(Psn(100), message, kMtu));
  peer_sends(send_only(Psn(103), payload(5)));
  EXPECT_THAT(receive_completions(), ElementsAre(Succeeded(1), Succeeded(2)));
  EXPECT_EQ(receive_memory(0, 3000), message);
  EXPECT_EQ(endpoint_.next_receive_psn(), Psn(104));
  EXPECT_EQ(count(Counter::kOutOfSequence), 0u);
}

TEST_F(UcResponderSequence, DropsAMessageOfWhichAnyPacketIsLost) {
  constexpr std::size_t kPackets = 4;
  Psn first(100);
  for (std::size_t lost = 0; lost < kPackets; ++lost) {
    SCOPED_TRACE(lost);
    peer_sends(without(send_message(first, payload(4000), kMtu), lost));
    EXPECT_THAT(receive_completions(), IsEmpty());
    first = first + kPackets;
  }
  // The receive that the dropped ones took is still there.
  peer_sends(send_only(first, payload(9)));
  EXPECT_THAT(receive_completions(), ElementsAre(Succeeded(1)));
  EXPECT_EQ(receive_memory(0, 9), payload(9));
  EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
  EXPECT_THAT(events(), IsEmpty());
}

TEST_F(UcResponderSequence, CountsALossOnceAndTheRestOfItsMessageApart) {
  peer_sends(without(send_message(Psn(100), payload(4000), kMtu), 1));
  EXPECT_EQ(count(Counter::kOutOfSequence), 1u);
  EXPECT_EQ(events_.losses(), 1u);
  EXPECT_EQ(count(Counter::kAbandonedMessage), 1u);
  EXPECT_EQ(count(Counter::kOutsideMessage), 2u);
}

TEST_F(UcResponderSequence, BeginsAgainWithTheNextFirstPacketWhateverItsPsn) {
  for (const Psn psn : {Psn(100), Psn(5000), Psn(50), Psn(0xffffff), Psn(0x800100)}) {
    SCOPED_TRACE(psn.value());
    post_receives({9});
    peer_sends(send_message(psn, payload(2000), kMtu));
    ASSERT_THAT(receive_completions(), ::testing::SizeIs(1));
    EXPECT_EQ(endpoint_.next_receive_psn(), psn + 2);
  }
}

TEST_F(UcResponderSequence, ReceivesAMessageAcrossTheEndOfThePsns) {
  peer_sends(send_message(Psn(0xfffffe), payload(4000), kMtu));
  EXPECT_THAT(receive_completions(), ElementsAre(Succeeded(1)));
  peer_sends(send_only(Psn(2), payload(1)));
  EXPECT_EQ(count(Counter::kOutOfSequence), 1u) << "only the first jump";
}

TEST_F(UcResponderSequence, DropsWhatHasNoBeginning) {
  peer_sends({send_middle(Psn(100), payload(1024)), send_last(Psn(101), payload(1)),
              write_middle(Psn(102), payload(1024)), write_last(Psn(103), payload(1)),
              send_last_with_immediate(Psn(104), payload(1), 1),
              write_last_with_immediate(Psn(105), payload(1), 1)});
  EXPECT_THAT(receive_completions(), IsEmpty());
  EXPECT_TRUE(receive_memory_is_untouched());
  EXPECT_TRUE(shared_memory_is_untouched());
  EXPECT_EQ(count(Counter::kOutsideMessage), 6u);
}

TEST_F(UcResponderSequence, DropsAMessageThatChangesItsKind) {
  peer_sends({send_first(Psn(100), payload(1024)), write_last(Psn(101), payload(5)),
              send_last(Psn(102), payload(5))});
  peer_sends({write_first(Psn(103), payload(1024), 1029), send_last(Psn(104), payload(5)),
              write_last(Psn(105), payload(5))});
  EXPECT_THAT(receive_completions(), IsEmpty());
  EXPECT_EQ(count(Counter::kOutsideMessage), 4u);
  EXPECT_EQ(shared_memory(1024, 5), pattern(kShared.address + 1024, 5));
}

// Its sender has given the first one up.
TEST_F(UcResponderSequence, ForgetsAnUnfinishedMessageWhenAnotherBegins) {
  peer_sends({send_first(Psn(100), payload(1024)), send_first(Psn(101), payload(1024, 1)),
              send_last(Psn(102), payload(5, 2))});
  EXPECT_THAT(receive_completions(), ElementsAre(Succeeded(1)));
  EXPECT_EQ(receive_memory(0, 1029), payload(1024, 1) + payload(5, 2));
  EXPECT_EQ(count(Counter::kAbandonedMessage), 1u);
}

// A repeated packet has the PSN before the expected one: to this service that is a gap like any other.
TEST_F(UcResponderSequence, DropsAMessageInWhichAPacketComesTwice) {
  const auto packets = send_message(Psn(100), payload(3000), kMtu);
  peer_sends({packets[0], packets[1], packets[1], packets[2]});
  EXPECT_THAT(receive_completions(), IsEmpty());
}

TEST_F(UcResponderSequence, DropsAMessageOfWhichTwoPacketsChangedPlaces) {
  const auto packets = write_message(Psn(100), payload(4000), kMtu);
  peer_sends({packets[0], packets[2], packets[1], packets[3]});
  EXPECT_EQ(shared_memory(0, 1024), payload(1024)) << "what was written stays";
  EXPECT_EQ(shared_memory(1024, 3000), pattern(kShared.address + 1024, 3000));
}

}  // namespace
}  // namespace urnic::transport::test
