// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Runs of packets: which are taken in one step, which come packet by packet, and which leave.
#include "transport/wire/run.h"

#include "tests/support/qp_fixture.h"

namespace urnic::transport::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RcRun : public RcTest {
 protected:
  /// Whether the packets were taken as one. What was not has done nothing.
  bool takes(const std::vector<QpPacket>& packets, PathMtu mtu = PathMtu::k1024) {
    const QpPacket whole = joined(packets);
    const wire::Packet view = whole.view(kOurQp);
    return endpoint_.on_run({view, mtu}, now_);
  }
  /// As a NIC gives it to the endpoint.
  void peer_sends_run(const std::vector<QpPacket>& packets) {
    if (takes(packets)) return drain();
    peer_sends(packets);
  }
  /// What leaves at once, with room for `most` packets.
  QpPacket poll_run(std::uint32_t most) {
    buffer_.assign(52 + std::size_t{most} * kMtu, std::byte{});
    const WrittenPacket written = endpoint_.poll_run(buffer_, most, now_);
    packets_ = written.packets;
    if (written.size == 0) return {};
    return to_value(wire::parse_packet(std::span(buffer_).first(written.size)).value());
  }

  Bytes buffer_;
  std::uint32_t packets_ = 0;  // of the last poll_run()
};

// --- Requests that arrive ---

TEST_F(RcRun, OfAWholeWriteIsWrittenAtOnce) {
  connect();
  EXPECT_TRUE(takes(write_message(Psn(100), payload(5000), kMtu)));
  EXPECT_EQ(shared_memory(0, 5000), payload(5000));
  drain();
  EXPECT_THAT(sent(), ElementsAre(ack(Psn(104), 1)));
  EXPECT_EQ(dma_.calls().back().length, 5000u) << "one copy";
}

TEST_F(RcRun, InTheMiddleOfAWriteIsWrittenAfterItsBeginning) {
  connect();
  const auto packets = write_message(Psn(100), payload(5000), kMtu);
  EXPECT_TRUE(takes(slice(packets, 0, 2)));
  EXPECT_TRUE(takes(slice(packets, 2, 2)));
  EXPECT_EQ(endpoint_.next_receive_psn(), Psn(104));
  peer_sends(packets[4]);
  EXPECT_EQ(shared_memory(0, 5000), payload(5000));
}

TEST_F(RcRun, OfAWholeSendCompletesTheReceive) {
  connect();
  post_receives({1}, 5000);
  EXPECT_TRUE(takes(send_message(Psn(100), payload(5000), kMtu)));
  EXPECT_THAT(receive_completions(), ElementsAre(Succeeded(1)));
  EXPECT_EQ(receive_memory(0, 5000), payload(5000));
}

TEST_F(RcRun, OfASendBringsTheImmediate) {
  connect();
  post_receives({1}, 5000);
  auto packets = send_message(Psn(100), payload(5000), kMtu);
  packets.back() = packets.back().with_immediate(0x11223344).solicits();
  EXPECT_TRUE(takes(packets));
  const auto completions = receive_completions();
  ASSERT_EQ(completions.size(), 1u);
  EXPECT_EQ(completions[0].immediate, 0x11223344u);
  EXPECT_TRUE(completions[0].solicited);
  EXPECT_EQ(completions[0].byte_length, 5000u);
}

TEST_F(RcRun, OutOfOrderIsNotTaken) {
  connect();
  EXPECT_FALSE(takes(write_message(Psn(101), payload(5000), kMtu))) << "a gap";
  peer_sends(write_message(Psn(100), payload(3000), kMtu));
  EXPECT_FALSE(takes(write_message(Psn(100), payload(3000), kMtu))) << "a duplicate";
  EXPECT_FALSE(takes(write_message(Psn(101), payload(4000), kMtu))) << "a duplicate, and new ones after it";
  EXPECT_TRUE(takes(write_message(Psn(103), payload(3000), kMtu)));
}

TEST_F(RcRun, OfAnotherPathMtuIsNotTaken) {
  connect();
  EXPECT_FALSE(takes(write_message(Psn(100), payload(5000), 512), PathMtu::k512));
  EXPECT_FALSE(takes(write_message(Psn(100), payload(5000), 2048), PathMtu::k2048));
}

TEST_F(RcRun, BeyondWhatItsFirstPacketAnnouncedIsNotTaken) {
  connect();
  auto packets = write_message(Psn(100), payload(5000), kMtu);
  packets[0] = packets[0].with_length(4999);
  EXPECT_FALSE(takes(packets));
  EXPECT_TRUE(shared_memory_is_untouched());
}

TEST_F(RcRun, ThatEndsInsideItsMessageIsOfFullPacketsOnly) {
  connect();
  auto packets = slice(write_message(Psn(100), payload(5000), kMtu), 0, 3);
  packets.back().payload.pop_back();
  EXPECT_FALSE(takes(packets));
}

TEST_F(RcRun, BeyondTheRegionIsWrittenUpToTheRefusedPacket) {
  connect();
  const Remote near_the_end = kShared + (kRegionBytes - 2500);
  const auto packets = write_message(Psn(100), payload(3000), kMtu, near_the_end);
  EXPECT_FALSE(takes(packets));
  peer_sends(packets);
  EXPECT_THAT(sent(), ElementsAre(nak(Nak::kRemoteAccess, Psn(100))));
  EXPECT_TRUE(shared_memory_is_untouched());
}

TEST_F(RcRun, ThatLosesItsRegionInBetweenIsRefusedThere) {
  connect();
  const auto packets = write_message(Psn(100), payload(5000), kMtu);
  EXPECT_TRUE(takes(slice(packets, 0, 2)));
  dma_.set_access(to_integer(kShared.rkey), Access::kRemoteRead);
  peer_sends_run(slice(packets, 2, 3));
  EXPECT_THAT(sent(), ElementsAre(nak(Nak::kRemoteAccess, Psn(102))));
  EXPECT_EQ(shared_memory(0, 2048), slice(payload(5000), 0, 2048));
}

TEST_F(RcRun, WithoutAReceiveIsRefusedAtItsFirstPacket) {
  connect();
  const auto packets = send_message(Psn(100), payload(3000), kMtu);
  peer_sends_run(packets);
  EXPECT_THAT(sent(), ElementsAre(rnr_nak(12, Psn(100))));
  post_receives({1});
  peer_sends_run(packets);
  EXPECT_THAT(sent(), ElementsAre(ack(Psn(102), 1)));
  EXPECT_THAT(receive_completions(), ElementsAre(Succeeded(1)));
}

TEST_F(RcRun, LargerThanItsReceiveFailsIt) {
  connect();
  post_receives({1, 2}, 2000);
  peer_sends_run(send_message(Psn(100), payload(3000), kMtu));
  EXPECT_THAT(receive_completions(),
              ElementsAre(Completed(1, CompletionStatus::kLocalLengthError), Flushed(2)));
  EXPECT_THAT(sent(), ElementsAre(nak(Nak::kInvalidRequest, Psn(101))));
  EXPECT_EQ(receive_memory(0, 1024), slice(payload(3000), 0, 1024));
}

TEST_F(RcRun, OfAWriteWithImmediateTakesItsReceiveWithTheLastPacket) {
  connect();
  auto packets = write_message(Psn(100), payload(3000), kMtu);
  packets.back() = packets.back().with_immediate(5);
  peer_sends_run(packets);
  EXPECT_THAT(sent(), ElementsAre(rnr_nak(12, Psn(102))));
  EXPECT_EQ(endpoint_.next_receive_psn(), Psn(102));
}

TEST_F(RcRun, BeforeTheQueuePairCanReceiveIsNotTaken) {
  connect_to_init();
  EXPECT_FALSE(takes(write_message(Psn(100), payload(5000), kMtu)));
}

// --- Responses that arrive ---

TEST_F(RcRun, OfResponsesCompletesTheRead) {
  connect();
  post(read_wr(1, 5000));
  EXPECT_TRUE(takes(read_responses(Psn(200), payload(5000), kMtu)));
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(1)));
  EXPECT_EQ(local_memory(0, 5000), payload(5000));
  EXPECT_EQ(until_timeout(), std::nullopt);
}

TEST_F(RcRun, OfResponsesOfAnotherLengthIsABadResponse) {
  connect();
  post(read_wr(1, 5000));
  peer_sends_run(read_responses(Psn(200), payload(4999), kMtu));
  EXPECT_THAT(send_completions(), ElementsAre(Completed(1, CompletionStatus::kBadResponse)));
}

TEST_F(RcRun, OfResponsesThatNobodyAskedForIsNotTaken) {
  connect();
  EXPECT_FALSE(takes(read_responses(Psn(200), payload(5000), kMtu)));
  post(write_wr(1, 5000));
  EXPECT_FALSE(takes(read_responses(Psn(200), payload(5000), kMtu)));
  EXPECT_THAT(send_completions(), IsEmpty());
}

// The peer must mark the end of each piece that was requested by itself.
TEST_F(RcRun, OfResponsesOverTheEndOfAPieceIsNotTaken) {
  config_.window_packets = 8;
  connect();
  post(read_wr(1, 8 * kMtu));
  ASSERT_EQ(sent().size(), 2u) << "two pieces";
  EXPECT_FALSE(takes(read_responses(Psn(200), payload(8 * kMtu), kMtu)));
  EXPECT_TRUE(takes(read_responses(Psn(200), payload(4 * kMtu), kMtu)));
  EXPECT_TRUE(takes(read_responses(Psn(204), payload(4 * kMtu), kMtu)));
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(1)));
}

// --- What leaves ---

TEST_F(RcRun, OfAWholeMessageLeaves) {
  connect();
  fill_local_memory(payload(5000));
  post_quietly(write_wr(1, 5000));
  EXPECT_EQ(poll_run(16), joined(write_message(Psn(200), payload(5000), kMtu)));
  EXPECT_EQ(packets_, 5u);
  EXPECT_EQ(endpoint_.next_send_psn(), Psn(205));
  peer_sends(ack(Psn(204), 1));
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(1)));
}

TEST_F(RcRun, IsAsLongAsItsRoom) {
  connect();
  fill_local_memory(payload(5000));
  post_quietly(write_wr(1, 5000));
  const auto packets = write_message(Psn(200), payload(5000), kMtu);
  EXPECT_EQ(poll_run(2), joined(slice(packets, 0, 2)));
  EXPECT_EQ(poll_run(1), packets[2]);
  EXPECT_EQ(poll_run(7), joined(slice(packets, 3, 2)));
}

TEST_F(RcRun, EndsWithAPacketThatAsksForAnAcknowledgement) {
  config_.window_packets = 16;
  connect();
  post_quietly(write_wr(1, 20 * kMtu));
  for (const std::uint32_t first : {200u, 208u}) {
    const QpPacket run = poll_run(16);
    EXPECT_EQ(run.psn, Psn(first));
    EXPECT_EQ(packets_, 8u) << "half of the window";
    EXPECT_TRUE(run.ack_request);
  }
  EXPECT_EQ(poll_run(16), QpPacket()) << "the window is closed";
  peer_sends(ack(Psn(202), 0));
  EXPECT_THAT(sent(), testing::SizeIs(3)) << "and opens by three";
}

TEST_F(RcRun, IsNotSentAgainAsARun) {
  connect();
  post_quietly(write_wr(1, 5000));
  poll_run(16);
  arrives(nak(Nak::kSequenceError, Psn(201)));
  for (const std::uint32_t psn : {201u, 202u, 203u, 204u}) {
    EXPECT_EQ(poll_run(16).psn, Psn(psn));
    EXPECT_EQ(packets_, 1u);
  }
}

TEST_F(RcRun, OfMemoryThatIsNotThereFailsWhereItEnds) {
  connect();
  const std::uint32_t half = kRegionBytes - 2 * kMtu;
  post_quietly(write_wr(1, 4 * kMtu).from_elements({local(2 * kMtu, half), local(2 * kMtu, kRegionBytes)}));
  EXPECT_EQ(poll_run(16).psn, Psn(200));
  EXPECT_EQ(packets_, 1u);
  EXPECT_EQ(poll_run(16).psn, Psn(201));
  EXPECT_EQ(poll_run(16), QpPacket());
}

TEST_F(RcRun, OfResponsesLeaves) {
  connect();
  arrives(read_request(Psn(100), 5000));
  const auto responses = read_responses(Psn(100), pattern(kShared.address, 5000), kMtu);
  EXPECT_EQ(poll_run(3), joined(slice(responses, 0, 3)));
  EXPECT_EQ(poll_run(16), joined(slice(responses, 3, 2)));
  EXPECT_EQ(poll_run(16), QpPacket());
  arrives(read_request(Psn(100), 5000));
  EXPECT_EQ(poll_run(16), responses[0]) << "again, in single packets";
}

TEST_F(RcRun, DoesNotLeaveWithACongestionController) {
  const congestion::Choice choice{.parameters = congestion::FixedParameters{}};
  config_.congestion = &choice;
  connect();
  post_quietly(write_wr(1, 5000));
  EXPECT_EQ(poll_run(16).psn, Psn(200));
  EXPECT_EQ(packets_, 1u);
}

}  // namespace
}  // namespace urnic::transport::test
