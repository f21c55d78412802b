// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A station that takes nothing costs the others nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <vector>

#include "nic/path/multicast_groups.h"
#include "tests/unit/nic/device_pair.h"
#include "transport/wire/arp.h"
#include "transport/wire/ethernet.h"
#include "transport/wire/frame.h"

namespace urnic::nic {
namespace {

using namespace std::chrono_literals;
using transport::QpNumber;
using transport::QpState;
using transport::SendOperation;
using transport::wire::Gid;
using transport::wire::Ipv4Address;
using transport::wire::Mac;
using Bytes = FakeWire::Bytes;

constexpr std::uint32_t kAnyQkey = 0x11111111;
constexpr Ipv4Address kThirdAddress{{10, 0, 0, 9}};
constexpr Mac kThirdMac{{2, 0, 0, 0, 0, 9}};
const std::string kThird = to_string(kThirdMac);

/// A talks with B, and sends to a third station, which answers nothing but questions for its MAC.
class FullWaysTest : public testing::Test {
 protected:
  FullWaysTest() { pair.connect(); }

  static Bytes arp_reply_of_the_third() {
    Bytes frame(60);
    const transport::wire::Ethernet header{.destination = Mac{{2, 0, 0, 0, 0, 1}},
                                           .source = kThirdMac,
                                           .ether_type = transport::wire::EtherType::kArp};
    const std::size_t at = emit(header, frame);
    emit(transport::wire::Arp{.operation = transport::wire::Arp::Operation::kReply,
                              .sender_mac = kThirdMac,
                              .sender_ip = kThirdAddress,
                              .target_mac = header.destination,
                              .target_ip = {{10, 0, 0, 1}}},
         std::span(frame).subspan(at));
    return frame;
  }

  /// The index of a queue pair of A that is connected with the third station, which has the number 77 there.
  std::size_t connect_to_third(DevicePair::ConnectOptions options = {}) {
    options.address = {.destination = Gid::from_ipv4(kThirdAddress), .source_gid_index = 1};
    options.peer_qp = QpNumber{77};
    EXPECT_TRUE(kernel::connect(pair.a().add_queue_pair(), options));
    pair.settle();
    pair.wire.deliver(0, arp_reply_of_the_third());
    pair.settle();
    return pair.a().queue_pairs().size() - 1;
  }

  transport::SendRequest write(std::uint64_t wr_id) {
    return {.wr_id = wr_id,
            .operation = SendOperation::kWrite,
            .signaled = true,
            .remote_address = pair.b().region().address,
            .rkey = transport::Rkey{pair.b().region().key}};
  }

  /// Frames to the third station so far, by the queue pair there.
  std::map<QpNumber, int> sent_to_third() {
    std::map<QpNumber, int> frames;
    for (const Bytes& bytes : pair.wire.sent_by(0)) {
      const auto frame = transport::wire::parse_frame(bytes);
      if (!frame || frame.value().ethernet.destination != kThirdMac) continue;
      ++frames[transport::wire::Bth::parse(frame.value().ib).destination_qp];
    }
    return frames;
  }
  int count_to_third() {
    int sum = 0;
    for (const auto& [qp, count] : sent_to_third()) sum += count;
    return sum;
  }

  DevicePair pair;
};

TEST_F(FullWaysTest, DoNotStopRequestsToOthers) {
  const std::size_t third = connect_to_third();
  pair.wire.ways[kThird] = {};
  pair.a().post(write(1), 0, 50'000, third);
  pair.settle();
  pair.a().post(write(2), 0, 50'000);
  pair.settle();
  EXPECT_EQ(pair.a().poll_text(), "2 ok");
  EXPECT_EQ(count_to_third(), 0);

  pair.wire.ways[kThird] = {.room = 1000};
  pair.settle();
  EXPECT_EQ(count_to_third(), 49);
}

TEST_F(FullWaysTest, DoNotStopResponsesToOthers) {
  const std::size_t third = connect_to_third();
  pair.wire.ways[kThird] = {};
  pair.a().post(write(1), 0, 50'000, third);
  pair.a().device().progress();
  pair.b().post({.wr_id = 2,
                 .operation = SendOperation::kRead,
                 .signaled = true,
                 .remote_address = pair.a().region().address,
                 .rkey = transport::Rkey{pair.a().region().key}},
                0, 300'000);
  pair.settle();
  EXPECT_EQ(pair.b().poll_text(), "2 ok");
}

TEST_F(FullWaysTest, StopResponsesOfThatStationAlone) {
  const std::size_t third = connect_to_third();
  pair.wire.ways[to_string(Mac{{2, 0, 0, 0, 0, 2}})] = {};
  pair.b().post({.wr_id = 2,
                 .operation = SendOperation::kRead,
                 .signaled = true,
                 .remote_address = pair.a().region().address,
                 .rkey = transport::Rkey{pair.a().region().key}},
                0, 300'000);
  pair.settle();
  pair.a().post(write(1), 0, 50'000, third);
  pair.settle();
  EXPECT_EQ(count_to_third(), 49);
  EXPECT_EQ(pair.b().poll_text(), "");
  pair.wire.ways.clear();
  pair.settle();
  EXPECT_EQ(pair.b().poll_text(), "2 ok");
}

TEST_F(FullWaysTest, AreAskedOncePerRound) {
  const std::size_t third = connect_to_third();
  for (int i = 0; i < 3; ++i) connect_to_third();
  pair.wire.ways[kThird] = {};
  for (std::size_t i = 0; i < 4; ++i) pair.a().post(write(1), 0, 50'000, third + i);
  pair.settle();
  pair.wire.times_asked = 0;
  EXPECT_FALSE(pair.a().device().progress());
  EXPECT_EQ(pair.wire.times_asked, 1u);
}

TEST_F(FullWaysTest, AreLookedAtAgainSoonButNotAtOnce) {
  const std::size_t third = connect_to_third();
  pair.wire.ways[kThird] = {};
  pair.a().post(write(1), 0, 50'000, third);
  pair.settle();
  EXPECT_GT(pair.a().device().next_timeout(), pair.clock.now());
  EXPECT_LE(pair.a().device().next_timeout(), pair.clock.now() + 1ms);
}

// With room for a frame now and then, all get the same.
TEST_F(FullWaysTest, ServeThoseThatWaitInTurn) {
  constexpr std::size_t kQps = 5;
  std::vector<std::size_t> qps;
  for (std::size_t i = 0; i < kQps; ++i) qps.push_back(connect_to_third());
  for (const std::size_t each : qps) {
    // They are told apart by their peer's number.
    const QpNumber peer{static_cast<std::uint32_t>(100 + each)};
    ASSERT_TRUE(pair.a().qp(each).modify({.state = QpState::kReset}));
    ASSERT_TRUE(kernel::connect(
        pair.a().qp(each),
        {.address = {.destination = Gid::from_ipv4(kThirdAddress), .source_gid_index = 1}, .peer_qp = peer}));
  }
  pair.wire.ways[kThird] = {};
  for (const std::size_t each : qps) pair.a().post(write(each), 0, 100'000, each);
  // Each may have 128 packets in flight.
  for (int i = 0; i < 300; ++i) {
    pair.wire.ways[kThird].room = 1;
    pair.settle();
  }
  const auto frames = sent_to_third();
  ASSERT_EQ(frames.size(), kQps);
  for (const auto& [qp, count] : frames) EXPECT_NEAR(count, 300 / int{kQps}, 16);
}

TEST_F(FullWaysTest, DoNotKeepAQueuePairInErrorWaiting) {
  const std::size_t third = connect_to_third();
  pair.wire.ways[kThird] = {};
  pair.a().post(write(1), 0, 50'000, third);
  pair.settle();
  ASSERT_TRUE(pair.a().qp(third).modify({.state = QpState::kError}));
  pair.settle();
  EXPECT_EQ(pair.a().poll_text(), "1 flushed");
}

TEST_F(FullWaysTest, ForgetQueuePairsThatGo) {
  const std::size_t third = connect_to_third();
  const std::size_t another = connect_to_third();
  pair.wire.ways[kThird] = {};
  pair.a().post(write(1), 0, 50'000, third);
  pair.a().post(write(2), 0, 50'000, another);
  pair.settle();
  ASSERT_TRUE(pair.a().qp(another).modify({.state = QpState::kReset}));
  pair.a().destroy_queue_pair(third);
  pair.wire.ways[kThird] = {.room = 1000};
  pair.settle();
  EXPECT_EQ(count_to_third(), 0);
  EXPECT_GT(pair.a().device().next_timeout(), pair.clock.now() + 10ms);
}

TEST_F(FullWaysTest, LetTheFirstAckTimeoutPass) {
  const std::size_t third = connect_to_third({.retry_count = 0});
  pair.wire.ways[kThird] = {.room = 3};
  pair.a().post(write(1), 0, 50'000, third);
  pair.pass(100ms);
  EXPECT_EQ(pair.a().poll_text(), "1 retry exceeded");
}

// Otherwise nothing ends the wait of a queue pair that has never sent.
TEST_F(FullWaysTest, LoseWhatAnAckTimeoutWatchesWhenTheyAreStalled) {
  const std::size_t third = connect_to_third({.retry_count = 1});
  pair.wire.ways[kThird] = {};
  pair.a().post(write(1), 0, 50'000, third);
  pair.pass(1s);
  EXPECT_EQ(pair.a().poll_text(), "");
  pair.wire.ways[kThird] = {.is_stalled = true};
  pair.pass(300ms);
  EXPECT_EQ(pair.a().poll_text(), "1 retry exceeded");
  EXPECT_GT(pair.a().counter("tx_drop_stalled"), 0u);
}

TEST_F(FullWaysTest, KeepWhatIsNeverSentAgain) {
  const std::size_t third = connect_to_third({.ack_timeout = 0});
  pair.wire.ways[kThird] = {.is_stalled = true};
  pair.a().post(write(1), 0, 50'000, third);
  pair.pass(1s);
  EXPECT_EQ(pair.a().counter("tx_drop_stalled"), 0u);
  pair.wire.ways.clear();
  pair.settle();
  EXPECT_EQ(count_to_third(), 49);
}

/// Datagrams of one queue pair, to B and to the third station.
class FullWaysOfDatagramsTest : public FullWaysTest {
 protected:
  FullWaysOfDatagramsTest() {
    connect_to_third();
    for (std::size_t i = 0; i < 2; ++i) {
      QpCreateAttributes attributes = pair.a().default_attributes();
      attributes.type = QpType::kUd;
      QueuePair& qp = pair.a().add_queue_pair(attributes);
      EXPECT_TRUE(kernel::connect(qp, {.qkey = kAnyQkey}));
    }
    to_b = handle_for(pair.b().gid());
    to_third = handle_for(Gid::from_ipv4(kThirdAddress));
  }
  ~FullWaysOfDatagramsTest() override {
    for (const auto handle : {to_b, to_third}) {
      EXPECT_TRUE(pair.a().device().destroy_address_handle(pair.a().pd(), handle));
    }
  }
  transport::AddressHandleId handle_for(const Gid& gid) {
    return pair.a()
        .device()
        .create_address_handle(pair.a().pd(), {.destination = gid, .source_gid_index = 1})
        .value();
  }
  void send(std::uint64_t wr_id, transport::AddressHandleId to, std::size_t qp) {
    pair.a().post({.wr_id = wr_id,
                   .operation = SendOperation::kSend,
                   .signaled = true,
                   .destination = {.address = to, .qp = QpNumber{5}, .qkey = kAnyQkey}},
                  0, 100, qp);
    pair.settle();
  }

  static constexpr std::size_t kFirst = 2;
  static constexpr std::size_t kSecond = 3;
  transport::AddressHandleId to_b;
  transport::AddressHandleId to_third;
};

TEST_F(FullWaysOfDatagramsTest, DoNotStopOtherQueuePairs) {
  pair.wire.ways[kThird] = {};
  send(1, to_third, kFirst);
  send(2, to_b, kSecond);
  EXPECT_EQ(pair.a().poll_text(), "2 ok");
  pair.wire.ways.clear();
  pair.settle();
  EXPECT_EQ(pair.a().poll_text(), "1 ok");
  EXPECT_EQ(count_to_third(), 1);
}

TEST_F(FullWaysOfDatagramsTest, StopTheirQueuePairUntilTheyAreStalled) {
  pair.wire.ways[kThird] = {};
  send(1, to_third, kFirst);
  send(2, to_b, kFirst);
  EXPECT_EQ(pair.a().poll_text(), "");
  pair.wire.ways[kThird] = {.is_stalled = true};
  pair.settle();
  EXPECT_EQ(pair.a().poll_text(), "1 ok, 2 ok");
  EXPECT_EQ(pair.a().counter("tx_drop_stalled"), 1u);
  EXPECT_EQ(count_to_third(), 0);
}

}  // namespace
}  // namespace urnic::nic
