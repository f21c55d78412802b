// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Two devices talk: order, fairness, full ports, unknown neighbors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <vector>

#include "tests/unit/nic/device_pair.h"
#include "transport/wire/frame.h"

namespace urnic::nic {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using transport::Completion;
using transport::QpNumber;
using transport::QpState;
using transport::SendOperation;
using Bytes = FakeWire::Bytes;

/// Opcode and destination of a RoCE frame.
struct Seen {
  transport::wire::Opcode opcode;
  QpNumber destination;
};
std::vector<Seen> roce_frames(const std::vector<Bytes>& frames) {
  std::vector<Seen> seen;
  for (const Bytes& bytes : frames) {
    const auto frame = transport::wire::parse_frame(bytes);
    if (!frame) continue;
    const auto bth = transport::wire::Bth::parse(frame.value().ib);
    seen.push_back({bth.opcode, bth.destination_qp});
  }
  return seen;
}
bool is_arp(const Bytes& frame) {
  return frame[12] == std::byte{0x08} && frame[13] == std::byte{0x06};
}

class TransmitTest : public testing::Test {
 protected:
  transport::SendRequest remote(SendOperation operation, std::uint64_t wr_id, std::size_t offset) {
    return {.wr_id = wr_id,
            .operation = operation,
            .signaled = true,
            .remote_address = pair.b().region().address + offset,
            .rkey = transport::Rkey{pair.b().region().key}};
  }
  static void fill(std::vector<std::byte>& memory) {
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i * 31 + (i >> 8));
  }

  DevicePair pair;
};

// A thread may be stopped between reading the clock and asking the port: what came meanwhile is not older
// than that.
TEST_F(TransmitTest, WaitsAfterAnRnrNakFromItsArrivalOn) {
  constexpr auto kRnrTimer = 640us;  // code 12, which connect() asks for
  pair.connect();
  pair.wire.on_receive = [this](std::size_t end) {
    if (end == 0) pair.clock.advance(300us);
  };
  pair.a().post_send(1, 0, 100);
  pair.settle();
  const std::size_t sent = roce_frames(pair.wire.sent_by(0)).size();
  ASSERT_EQ(pair.a().counter("rcvd_rnr_err"), 1u);

  pair.pass(kRnrTimer - 1us);
  EXPECT_EQ(roce_frames(pair.wire.sent_by(0)).size(), sent);
  pair.pass(1us);
  EXPECT_EQ(roce_frames(pair.wire.sent_by(0)).size(), sent + 1);
}

TEST_F(TransmitTest, CarriesASendOfManyPackets) {
  pair.connect();
  fill(pair.a().memory());
  pair.b().post_receive(1, 0, 100000);
  pair.a().post_send(2, 5, 70001);
  pair.settle();
  EXPECT_EQ(pair.a().poll_text(), "2 ok");
  const std::vector<Completion> received = pair.b().poll();
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].byte_length, 70001u);
  EXPECT_EQ(std::memcmp(pair.b().memory().data(), pair.a().memory().data() + 5, 70001), 0);
}

TEST_F(TransmitTest, WritesAndReadsRemoteMemory) {
  pair.connect({.path_mtu = transport::PathMtu::k4096});
  fill(pair.a().memory());
  pair.a().post(remote(SendOperation::kWrite, 1, 1000), 0, 300000);
  pair.a().post(remote(SendOperation::kRead, 2, 1000), 500000, 300000);
  pair.settle();
  EXPECT_EQ(pair.a().poll_text(), "1 ok, 2 ok");
  EXPECT_EQ(std::memcmp(pair.a().memory().data() + 500000, pair.a().memory().data(), 300000), 0);
}

TEST_F(TransmitTest, LeavesTheIcrcOutInSharedMemory) {
  pair.wire.is_shared_memory = true;
  pair.connect();
  fill(pair.a().memory());
  pair.b().post_receive(1, 0, 5000);
  pair.a().post_send(2, 0, 5000);
  pair.settle();
  EXPECT_EQ(pair.a().poll_text(), "2 ok");
  EXPECT_EQ(pair.b().poll_text(), "1 ok");
  EXPECT_TRUE(
      std::equal(pair.a().memory().begin(), pair.a().memory().begin() + 5000, pair.b().memory().begin()));
  for (const std::size_t end : {0u, 1u}) {
    for (const Bytes& bytes : pair.wire.sent_by(end)) {
      const auto frame = transport::wire::parse_frame(bytes);
      EXPECT_TRUE(!frame || frame.value().icrc == 0);
    }
  }
}

TEST_F(TransmitTest, SurvivesALinkWithNoRoomToSpare) {
  // The largest path MTU by the rule of fact 41, and a frame that is not larger than that.
  DevicePair tight({.link_mtu = 1024 + 80});
  tight.connect();
  fill(tight.a().memory());
  tight.b().post_receive(1, 0, 5000);
  tight.a().post_send(2, 0, 5000);
  tight.settle();
  EXPECT_EQ(tight.a().poll_text(), "2 ok");
  EXPECT_EQ(std::memcmp(tight.b().memory().data(), tight.a().memory().data(), 5000), 0);
}

TEST_F(TransmitTest, CountsWhatItSendsAndReceives) {
  pair.connect();
  pair.settle();
  pair.b().post_receive(1, 0, 10);
  pair.a().post_send(2, 0, 10);
  pair.settle();
  EXPECT_EQ(pair.a().counter("sent_pkts"), 1u);
  EXPECT_EQ(pair.b().counter("rcvd_pkts"), 1u);
  // Ethernet, IPv4, UDP, BTH, ten bytes of payload, padding, ICRC.
  EXPECT_EQ(pair.a().counter("sent_bytes"), 14u + 20 + 8 + 12 + 10 + 2 + 4);
  EXPECT_EQ(pair.b().counter("rcvd_bytes"), pair.a().counter("sent_bytes"));
  EXPECT_EQ(pair.b().counter("sent_pkts"), 1u);
}

TEST_F(TransmitTest, GivesManyQueuePairsTheirTurns) {
  constexpr std::size_t kConnections = 4;
  for (std::size_t i = 0; i < kConnections; ++i) pair.connect();
  pair.settle();
  const std::size_t sent_before = pair.wire.sent_by(0).size();
  for (std::size_t i = 0; i < kConnections; ++i) {
    pair.a().post(remote(SendOperation::kWrite, i, 0), 0, 100 * 1024, i);
  }
  // One round is one share for each.
  pair.a().device().progress();
  std::vector<Bytes> round(pair.wire.sent_by(0).begin() + static_cast<std::ptrdiff_t>(sent_before),
                           pair.wire.sent_by(0).end());
  std::map<QpNumber, int> packets;
  for (const Seen& seen : roce_frames(round)) ++packets[seen.destination];
  ASSERT_EQ(packets.size(), kConnections);
  for (const auto& [qp, count] : packets) EXPECT_EQ(count, 16);
}

// With packets of 4096 bytes and of 1024, the same bytes.
TEST_F(TransmitTest, GivesTheSameBytesWhateverTheSizeOfThePackets) {
  pair.connect({.path_mtu = transport::PathMtu::k4096});
  pair.connect();
  pair.settle();
  std::map<QpNumber, std::size_t> bytes;
  const std::size_t sent_before = pair.wire.sent_by(0).size();
  for (std::size_t i = 0; i < 2; ++i) pair.a().post(remote(SendOperation::kWrite, i, 0), 0, 500 * 1024, i);
  for (int round = 0; round < 2; ++round) pair.a().device().progress();
  for (std::size_t i = sent_before; i < pair.wire.sent_by(0).size(); ++i) {
    const Bytes& frame = pair.wire.sent_by(0)[i];
    for (const Seen& seen : roce_frames({frame})) bytes[seen.destination] += frame.size();
  }
  const double first = static_cast<double>(bytes[pair.b().qp(0).number()]);
  const double second = static_cast<double>(bytes[pair.b().qp(1).number()]);
  EXPECT_GT(first, 0);
  EXPECT_NEAR(first / second, 1, 0.2);
}

TEST_F(TransmitTest, SendsAcknowledgementsBeforeItsOwnRequests) {
  pair.connect();
  pair.connect();
  pair.settle();
  pair.b().post_receive(1, 0, 10, 1);
  pair.a().post_send(2, 0, 10, 1);
  pair.a().device().progress();
  // B has a long message of its own to send on the other connection.
  pair.b().post({.operation = SendOperation::kWrite,
                 .remote_address = pair.a().region().address,
                 .rkey = transport::Rkey{pair.a().region().key}},
                0, 50000, 0);
  const std::size_t sent_before = pair.wire.sent_by(1).size();
  pair.b().device().progress();
  const Bytes& first = pair.wire.sent_by(1).at(sent_before);
  EXPECT_EQ(roce_frames({first}).at(0).opcode, transport::wire::Opcode::kRcAcknowledge);
}

// --- Full ports ---

TEST_F(TransmitTest, GoesOnWhereItStoppedWhenThePortWasFull) {
  pair.connect();
  pair.settle();
  fill(pair.a().memory());
  pair.wire.room[0] = 7;
  pair.a().post(remote(SendOperation::kWrite, 1, 0), 0, 50000);
  pair.settle();
  EXPECT_EQ(pair.a().poll_text(), "");
  EXPECT_GT(pair.a().counter("tx_port_full"), 0u);
  while (pair.wire.room[0] < 1000) {
    pair.wire.room[0] += 3;
    pair.pass(600us);
    if (pair.a().cq().added() > 0) break;
  }
  EXPECT_EQ(pair.a().poll_text(), "1 ok");
  EXPECT_EQ(std::memcmp(pair.b().memory().data(), pair.a().memory().data(), 50000), 0);
  EXPECT_EQ(pair.a().counter("local_ack_timeout_err"), 0u);
}

TEST_F(TransmitTest, DoesNotAskToBeCalledAtOnceAgainWhileThePortIsFull) {
  pair.connect();
  pair.settle();
  pair.wire.room[0] = 0;
  pair.a().post_send(1, 0, 10);
  EXPECT_FALSE(pair.a().device().progress());
  EXPECT_GT(pair.a().device().next_timeout(), pair.clock.now());
  EXPECT_LE(pair.a().device().next_timeout(), pair.clock.now() + 1ms);
}

TEST_F(TransmitTest, FlushesAQueuePairInErrorEvenWhenThePortIsFull) {
  pair.connect();
  pair.settle();
  pair.wire.room[0] = 0;
  pair.a().post_send(1, 0, 10);
  ASSERT_TRUE(pair.a().qp().modify({.state = transport::QpState::kError}));
  pair.settle();
  EXPECT_EQ(pair.a().poll_text(), "1 flushed");
}

TEST_F(TransmitTest, FlushesAQueuePairInErrorThoughAnotherOneWaitsForTheFullPort) {
  pair.connect();
  pair.connect();
  pair.settle();
  pair.wire.room[0] = 0;
  pair.a().post_send(1, 0, 10, 0);
  pair.a().device().progress();
  for (std::uint64_t id = 2; id < 40; ++id) pair.a().post_send(id, 0, 10, 1);
  ASSERT_TRUE(pair.a().qp(1).modify({.state = transport::QpState::kError}));
  pair.settle();
  EXPECT_EQ(pair.a().cq().added(), 38u);
  pair.wire.room[0] = 100;
  pair.b().post_receive(1, 0, 10, 0);
  pair.pass(1ms);
  EXPECT_EQ(pair.a().cq().added(), 39u);
}

// A card has taken the acknowledgement before the peer can have said by TCP that it is done.
TEST_F(TransmitTest, HandlesWhatHasComeBeforeAQueuePairGoesToError) {
  pair.connect();
  pair.settle();
  pair.b().post_receive(2, 0, 10);
  pair.a().post_send(1, 0, 10);
  pair.a().device().progress();
  pair.b().device().progress();
  ASSERT_TRUE(pair.b().qp().modify({.state = QpState::kError}));  // acknowledges first
  ASSERT_EQ(pair.b().poll_text(), "2 ok");
  ASSERT_TRUE(pair.a().qp().modify({.state = QpState::kError}));
  EXPECT_EQ(pair.a().poll_text(), "1 ok");
}

// In ERR no response leaves any more.
TEST_F(TransmitTest, FlushesAQueuePairInErrorThatOwesAResponseThoughAnotherOneWaitsForTheFullPort) {
  pair.connect();
  pair.connect();
  pair.settle();
  pair.wire.room[1] = 0;
  for (const std::size_t qp : {0u, 1u}) pair.a().post(remote(SendOperation::kRead, 1, 0), 0, 10, qp);
  pair.a().device().progress();
  pair.b().device().progress();
  ASSERT_TRUE(pair.b().qp(1).endpoint().has_pending_response());
  pair.b().post_receive(2, 0, 10, 1);
  ASSERT_TRUE(pair.b().qp(1).modify({.state = transport::QpState::kError}));
  pair.b().device().progress();
  EXPECT_EQ(pair.b().poll_text(), "2 flushed");
}

// --- Neighbors ---

TEST_F(TransmitTest, WaitsForTheNeighborsMacBeforeItSends) {
  // Neither hears the other until the test says so.
  bool is_mute = true;
  pair.wire.is_lost = [&](std::size_t, const Bytes&) { return is_mute; };
  pair.connect();
  pair.a().post_send(1, 0, 10);
  pair.b().post_receive(2, 0, 10);
  pair.settle();
  EXPECT_TRUE(roce_frames(pair.wire.sent_by(0)).empty());
  EXPECT_TRUE(std::any_of(pair.wire.sent_by(0).begin(), pair.wire.sent_by(0).end(), is_arp));

  is_mute = false;
  pair.pass(3s);
  EXPECT_EQ(pair.a().poll_text(), "1 ok");
  EXPECT_EQ(pair.a().counter("local_ack_timeout_err"), 0u);
}

TEST_F(TransmitTest, FlushesAQueuePairThatWaitsForAMac) {
  pair.wire.is_lost = [](std::size_t, const Bytes&) { return true; };
  pair.connect();
  pair.a().post_send(1, 0, 10);
  pair.settle();
  ASSERT_TRUE(pair.a().qp().modify({.state = transport::QpState::kError}));
  pair.settle();
  EXPECT_EQ(pair.a().poll_text(), "1 flushed");
}

TEST_F(TransmitTest, EndsInRetryExceededWhenNobodyHasTheAddress) {
  pair.wire.is_lost = [](std::size_t, const Bytes&) { return true; };
  pair.connect({.retry_count = 2});
  pair.a().post_send(1, 0, 10);
  pair.pass(30s);
  EXPECT_EQ(pair.a().poll_text(), "1 retry exceeded");
  EXPECT_GE(pair.a().counter("tx_drop_no_neighbor"), 3u);
  EXPECT_TRUE(roce_frames(pair.wire.sent_by(0)).empty());
}

TEST_F(TransmitTest, AsksForTheMacAgainAfterAnAcknowledgementTimeout) {
  pair.connect({.retry_count = 3});
  pair.settle();
  pair.pass(10s);
  const auto asked = [&] { return pair.a().counter("neighbor_requests_sent"); };
  const std::uint64_t asked_before = asked();
  pair.wire.is_lost = [](std::size_t from, const Bytes& frame) { return from == 0 && !is_arp(frame); };
  pair.a().post_send(1, 0, 10);
  pair.pass(60ms);
  EXPECT_EQ(asked(), asked_before);
  pair.pass(100ms);
  EXPECT_GT(asked(), asked_before);
}

// --- Time ---

TEST_F(TransmitTest, SendsNothingAgainToAPeerThatWaitsForItsTurn) {
  pair.connect({.retry_count = 2});
  pair.settle();
  pair.wire.is_lost = [](std::size_t, const Bytes&) { return true; };
  pair.wire.awaits_turn = true;
  pair.a().post_send(1, 0, 10);
  pair.pass(9s);
  EXPECT_EQ(pair.a().poll_text(), "");
  EXPECT_EQ(pair.a().counter("local_ack_timeout_err"), 0u);
  pair.wire.awaits_turn = false;
  pair.pass(1s);
  EXPECT_EQ(pair.a().poll_text(), "1 retry exceeded");
}

TEST_F(TransmitTest, RepeatsALostRequestAfterTheAckTimeout) {
  pair.connect();
  pair.settle();
  pair.b().post_receive(2, 0, 10);
  int losses = 1;
  pair.wire.is_lost = [&](std::size_t from, const Bytes& frame) {
    return from == 0 && !is_arp(frame) && losses-- > 0;
  };
  const transport::Time begin = pair.clock.now();
  pair.a().post_send(1, 0, 10);
  pair.settle();
  // 4.096 us x 2^14 (fact 36).
  EXPECT_EQ(pair.a().device().next_timeout() - begin, 67108864ns);
  pair.pass(60ms);
  EXPECT_EQ(pair.a().poll_text(), "");
  pair.pass(10ms);
  EXPECT_EQ(pair.a().poll_text(), "1 ok");
  EXPECT_EQ(pair.a().counter("local_ack_timeout_err"), 1u);
}

TEST_F(TransmitTest, TakesFramesThatWaitBeforeItExpiresTimers) {
  pair.connect();
  pair.settle();
  pair.b().post_receive(2, 0, 10);
  pair.a().post_send(1, 0, 10);
  pair.a().device().progress();
  pair.b().device().progress();
  // A was not run for long; its acknowledgement waits.
  pair.clock.advance(1s);
  pair.a().device().progress();
  EXPECT_EQ(pair.a().poll_text(), "1 ok");
  EXPECT_EQ(pair.a().counter("local_ack_timeout_err"), 0u);
}

// More answers wait than one round takes, and the one that a timer waits for is the last of them.
TEST_F(TransmitTest, FailsNothingAfterAStopOfAnyLengthWhoseAnswersWait) {
  constexpr std::size_t kWrites = 40;
  constexpr int kFramesBeforeTheAnswers = 500;
  for (std::size_t i = 0; i < kWrites; ++i) pair.connect({.retry_count = 0});
  pair.settle();
  for (std::size_t i = 0; i < kWrites; ++i) pair.a().post(remote(SendOperation::kWrite, i, 0), 0, 100, i);
  pair.a().device().progress();
  for (int i = 0; i < kFramesBeforeTheAnswers; ++i) pair.wire.deliver(0, Bytes(64, std::byte{0}));
  while (pair.b().device().progress()) continue;

  pair.clock.advance(20s);
  const std::size_t sent = roce_frames(pair.wire.sent_by(0)).size();
  pair.settle();
  EXPECT_EQ(pair.a().counter("local_ack_timeout_err"), 0u);
  EXPECT_EQ(roce_frames(pair.wire.sent_by(0)).size(), sent);
  const std::vector<Completion> completions = pair.a().poll();
  EXPECT_EQ(completions.size(), kWrites);
  for (const Completion& each : completions) EXPECT_EQ(each.status, transport::CompletionStatus::kSuccess);
}

// Its frames come as fast as they are taken.
TEST_F(TransmitTest, IsNotKeptFromTimeoutsByAFlood) {
  pair.connect({.retry_count = 0});
  pair.settle();
  pair.wire.is_lost = [](std::size_t from, const Bytes& frame) { return from == 0 && !is_arp(frame); };
  pair.a().post(remote(SendOperation::kWrite, 1, 0), 0, 100);
  pair.a().device().progress();
  pair.clock.advance(1s);
  const Bytes stray(64, std::byte{0});
  for (int i = 0; i < 200; ++i) pair.wire.deliver(0, stray);
  pair.wire.on_receive = [&](std::size_t end) {
    for (int i = 0; i < 64; ++i) pair.wire.deliver(end, stray);
    pair.clock.advance(10us);
  };
  std::size_t rounds = 0;
  while (pair.a().cq().added() == 0 && rounds < 10'000) {
    pair.a().device().progress();
    ++rounds;
  }
  pair.wire.on_receive = [](std::size_t) {};
  EXPECT_EQ(pair.a().poll_text(), "1 retry exceeded");
  EXPECT_GT(rounds, 100u);
}

TEST_F(TransmitTest, NeedsNoCallWhenNothingIsUnderWay) {
  for (int i = 0; i < 50; ++i) pair.connect();
  pair.b().post_receive(2, 0, 10);
  pair.a().post_send(1, 0, 10);
  pair.pass(10s);
  EXPECT_EQ(pair.a().device().next_timeout(), transport::kNever);
  EXPECT_EQ(pair.b().device().next_timeout(), transport::kNever);
}

TEST_F(TransmitTest, SendsTheSameBytesForTheSameInputs) {
  const auto run = [](std::uint64_t seed) {
    DevicePair fresh({.seed = seed});
    int count = 0;
    fresh.wire.is_lost = [&](std::size_t, const Bytes&) { return ++count % 7 == 0; };
    for (int i = 0; i < 3; ++i) fresh.connect();
    for (std::size_t i = 0; i < 3; ++i) {
      fresh.b().post_receive(i, 0, 60000, i);
      fresh.a().post_send(i, 0, 50000, i);
    }
    fresh.pass(5s);
    return std::make_pair(fresh.wire.sent_by(0), fresh.wire.sent_by(1));
  };
  EXPECT_EQ(run(5), run(5));
  EXPECT_NE(run(5), run(6));
}

}  // namespace
}  // namespace urnic::nic
