// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What flow rules do with the frames that a device receives.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <vector>

#include "tests/unit/nic/raw/raw_packet_pair.h"
#include "transport/wire/frame.h"
#include "transport/wire/icrc.h"

namespace urnic::nic {
namespace {

class FlowSteeringTest : public RawPacketTest {
 protected:
  FlowSteeringTest() {
    connection = pair.connect();
    pair.settle();
    pair.b().post_receive(1, kTo, kLongest);
    pair.b().post_receive(2, 0, 100, connection);
  }
  /// A sends eight bytes on the connection, for its receive 2.
  void send_roce() {
    pair.a().post_send(1, 0, 8, connection);
    pair.settle();
  }
  static FlowRule rule_for_roce(bool traps) {
    return {
        .traps = traps,
        .ports = PortsMatch{.protocol = PortProtocol::kUdp, .destination = {.value = 4791, .mask = 0xffff}}};
  }
  static FlowRule of_kind(FlowKind kind) { return {.kind = kind}; }

  std::size_t connection = 0;
};

TEST_F(FlowSteeringTest, KeepsWhatARuleTakesFromItsOwner) {
  add_flow(pair.b(), rule_for_roce(/*traps=*/true));
  send_roce();
  EXPECT_EQ(pair.b().poll_text(), "1 ok");
  EXPECT_EQ(pair.a().poll_text(), "") << "the peer has not acknowledged it";
}

TEST_F(FlowSteeringTest, CopiesWhatARuleDoesNotTrap) {
  add_flow(pair.b(), rule_for_roce(/*traps=*/false));
  send_roce();
  EXPECT_EQ(pair.b().poll_text(), "1 ok, 2 ok");
  EXPECT_EQ(pair.a().poll_text(), "1 ok");
}

TEST_F(FlowSteeringTest, CopiesEverythingForASniffer) {
  add_flow(pair.b(), of_kind(FlowKind::kSniffer));
  send_roce();
  const std::vector<Completion> completions = pair.b().poll();
  ASSERT_EQ(completions.size(), 2u);
  EXPECT_EQ(received(completions[0].byte_length), pair.wire.sent_by(0).back());
  EXPECT_EQ(pair.a().poll_text(), "1 ok");
}

TEST_F(FlowSteeringTest, GivesASnifferTheIcrcThatWasLeftOut) {
  pair.wire.is_shared_memory = true;
  add_flow(pair.b(), of_kind(FlowKind::kSniffer));
  send_roce();
  const std::vector<Completion> completions = pair.b().poll();
  ASSERT_EQ(completions.size(), 2u);
  const Bytes frame = received(completions[0].byte_length);
  const Bytes& sent = pair.wire.sent_by(0).back();
  EXPECT_FALSE(transport::wire::parse_frame(sent).value().icrc_ok());
  EXPECT_TRUE(transport::wire::parse_frame(frame).value().icrc_ok());
  constexpr auto kIcrcBytes = static_cast<std::ptrdiff_t>(transport::wire::kIcrcBytes);
  EXPECT_TRUE(std::equal(sent.begin(), sent.end() - kIcrcBytes, frame.begin(), frame.end() - kIcrcBytes));
}

TEST_F(FlowSteeringTest, GivesDefaultRulesOnlyWhatNobodyWants) {
  add_flow(pair.b(), of_kind(FlowKind::kAllDefault));
  send_roce();
  EXPECT_EQ(pair.a().poll_text(), "1 ok");
  EXPECT_EQ(pair.b().poll_text(), "2 ok");
  const std::uint64_t dropped = pair.b().counter("rx_drop_not_ip");
  status_of_sending(64);
  EXPECT_EQ(pair.b().poll_text(), "1 ok");
  EXPECT_EQ(pair.b().counter("rx_drop_not_ip"), dropped) << "it was not dropped";
}

TEST_F(FlowSteeringTest, GivesTheMulticastRuleWhatGoesToGroups) {
  add_flow(pair.b(), of_kind(FlowKind::kMulticastDefault));
  status_of_sending(64);
  EXPECT_EQ(pair.b().poll_text(), "");
  EXPECT_EQ(pair.b().counter("rx_drop_not_ip"), 1u);
  write_frame(64);
  pair.a().memory()[0] = std::byte{0x03};
  pair.a().post_send(1, 0, 64);
  pair.settle();
  EXPECT_EQ(pair.b().poll_text(), "1 ok");
}

TEST_F(FlowSteeringTest, GivesDefaultRulesWhatIsForAnotherMac) {
  add_flow(pair.b(), of_kind(FlowKind::kAllDefault));
  send_roce();
  EXPECT_EQ(pair.b().poll_text(), "2 ok");
  Bytes to_another = pair.wire.sent_by(0).back();
  to_another[5] = std::byte{9};
  pair.wire.deliver(1, to_another);
  pair.settle();
  EXPECT_EQ(pair.b().poll_text(), "1 ok");
  EXPECT_EQ(pair.b().counter("rx_drop_wrong_mac"), 0u);
}

TEST_F(FlowSteeringTest, EndsWithItsRule) {
  const FlowId flow = add_flow(pair.b(), rule_for_roce(true));
  remove_flow(pair.b(), flow);
  EXPECT_EQ(pair.b().device().destroy_flow(flow).error().code, EINVAL);
  send_roce();
  EXPECT_EQ(pair.b().poll_text(), "2 ok");
}

TEST_F(FlowSteeringTest, KeepsAQueuePairFromBeingDestroyed) {
  const FlowId flow = add_flow(pair.b(), rule_for_experiments());
  EXPECT_EQ(pair.b().device().check_destroyable(pair.b().qp()).error().code, EBUSY);
  EXPECT_TRUE(pair.b().device().check_destroyable(pair.b().qp(connection)));
  remove_flow(pair.b(), flow);
  EXPECT_TRUE(pair.b().device().check_destroyable(pair.b().qp()));
}

TEST_F(FlowSteeringTest, ForgetsTheRulesOfAQueuePairThatIsDestroyedAllTheSame) {
  const FlowId flow = pair.b().device().create_flow(pair.b().qp(), of_kind(FlowKind::kSniffer)).value();
  pair.b().destroy_queue_pair(0);
  send_roce();
  EXPECT_EQ(pair.b().poll_text(), "2 ok");
  EXPECT_EQ(pair.b().device().destroy_flow(flow).error().code, EINVAL);
}

TEST_F(FlowSteeringTest, IsForRawPacketsOnly) {
  EXPECT_EQ(pair.b().device().create_flow(pair.b().qp(connection), {}).error().code, EINVAL);
  QpCreateAttributes datagrams = pair.b().default_attributes();
  datagrams.type = QpType::kUd;
  EXPECT_EQ(pair.b().device().create_flow(pair.b().add_queue_pair(datagrams), {}).error().code, EOPNOTSUPP);
}

TEST_F(FlowSteeringTest, HasRoomForAsManyRulesAsTheDeviceSays) {
  for (std::uint32_t i = 0; i < DeviceLimits::kMaxFlows; ++i) add_flow(pair.b(), rule_for_experiments());
  EXPECT_EQ(pair.b().device().create_flow(pair.b().qp(), rule_for_experiments()).error().code, ENOMEM);
  send_roce();
  EXPECT_EQ(pair.b().poll_text(), "2 ok");
}

// A queue pair of raw packets has a number as all have, but no peer can talk to it as if it were another.
TEST_F(FlowSteeringTest, TakesNoInfinibandPackets) {
  transport::wire::Bth bth{.opcode = transport::wire::Opcode::kUdSendOnly,
                           .destination_qp = pair.b().qp().number()};
  send_roce();
  const Bytes good = pair.wire.sent_by(0).back();
  auto frame = transport::wire::parse_frame(good).value();
  for (const auto opcode : {transport::wire::Opcode::kUdSendOnly, transport::wire::Opcode::kRcSendOnly}) {
    bth.opcode = opcode;
    bth.pkey = 0xffff;
    Bytes ib(transport::wire::header_bytes(opcode));
    transport::wire::emit(bth, ib);
    frame.ib = ib;
    frame.icrc = icrc_of(frame);
    Bytes bytes(200);
    bytes.resize(emit_frame(frame, bytes));
    pair.wire.deliver(1, bytes);
  }
  pair.settle();
  EXPECT_EQ(pair.b().counter("rx_drop_wrong_service"), 2u);
  EXPECT_EQ(pair.b().poll_text(), "2 ok");
}

}  // namespace
}  // namespace urnic::nic
