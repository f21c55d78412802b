// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Devices whose GID tables have RoCE v1, too, and what they send and take then.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nic/diagnostics/failure_cause.h"
#include "nic/diagnostics/failure_log.h"
#include "nic/diagnostics/failure_text.h"
#include "tests/unit/nic/device_pair.h"
#include "transport/wire/byte_order.h"
#include "transport/wire/ethernet.h"
#include "transport/wire/frame.h"

namespace urnic::nic {
namespace {

using transport::Completion;
using transport::SendOperation;
using transport::wire::Bth;
using transport::wire::Encapsulation;
using transport::wire::EtherType;
using transport::wire::Frame;
using transport::wire::Gid;
using transport::wire::Ipv6;
using Bytes = FakeWire::Bytes;

constexpr std::uint32_t kKeyOfDatagrams = 0x11111111;
constexpr std::size_t kAreaBytes = 40;
constexpr Encapsulation kV1 = Encapsulation::kRoceV1;
constexpr Encapsulation kV2 = Encapsulation::kRoceV2;

/// The default one, with pairs of entries.
const Personality& personality_with_pairs() {
  static const Personality with_pairs = []() {
    Personality personality = personality_of(Column::kDefault);
    personality.gid_entries = GidEntries::kPairs;
    return personality;
  }();
  return with_pairs;
}

EtherType ether_type_of(const Bytes& frame) {
  return transport::wire::Ethernet::parse(frame).value().ether_type;
}

class RoceV1Test : public testing::Test {
 protected:
  explicit RoceV1Test(Encapsulation encapsulation = kV1)
      : pair({.explain = true, .personality = &personality_with_pairs(), .encapsulation = encapsulation}) {}

  /// From one end to the other, which sends so.
  AddressVector address_to(Host& from, Host& to, Encapsulation encapsulation) {
    const Gid own = from.gid();
    return {.destination = to.gid(), .source_gid_index = *from.device().gids().index_of(own, encapsulation)};
  }
  /// Connects two queue pairs of that type, the first of each host, that send so.
  void connect(QpType type, Encapsulation a_sends, Encapsulation b_sends) {
    for (Host* const host : {&pair.a(), &pair.b()}) {
      QpCreateAttributes attributes = host->default_attributes();
      attributes.type = type;
      host->add_queue_pair(attributes);
    }
    const auto connect_end = [&](Host& from, Host& to, Encapsulation encapsulation) {
      ASSERT_TRUE(kernel::connect(from.qp(), {.address = address_to(from, to, encapsulation),
                                              .peer_qp = to.qp().number(),
                                              .qkey = kKeyOfDatagrams}));
    };
    connect_end(pair.a(), pair.b(), a_sends);
    connect_end(pair.b(), pair.a(), b_sends);
    pair.settle();
  }
  /// The RoCE frames that left that end.
  std::vector<Bytes> packets_of(std::size_t end) const {
    std::vector<Bytes> packets = pair.wire.sent_by(end);
    std::erase_if(packets,
                  [](const Bytes& frame) { return !transport::wire::parse_frame(frame).has_value(); });
    return packets;
  }
  void expect_all(std::size_t end, EtherType type) const {
    const auto packets = packets_of(end);
    EXPECT_FALSE(packets.empty());
    for (const Bytes& bytes : packets) {
      EXPECT_EQ(ether_type_of(bytes), type);
      EXPECT_TRUE(transport::wire::parse_frame(bytes).value().icrc_ok());
    }
  }
  void deliver_to_b(const Bytes& frame) {
    pair.wire.deliver(1, frame);
    pair.settle();
  }
  /// The frame with another packet, and its ICRC made right.
  static Bytes with(Frame frame, std::span<const std::byte> ib) {
    frame.ib = ib;
    frame.icrc = icrc_of(frame);
    Bytes bytes(2048);
    bytes.resize(emit_frame(frame, bytes));
    return bytes;
  }
  /// What a SEND of `a` looks like, which has not arrived.
  Bytes lost_send() {
    pair.wire.is_lost = [](std::size_t, const Bytes&) { return true; };
    pair.a().post_send(1, 0, 8);
    pair.settle();
    pair.wire.is_lost = [](std::size_t, const Bytes&) { return false; };
    return packets_of(0).back();
  }

  DevicePair pair;
};

TEST_F(RoceV1Test, CarriesReliableConnectionsWithTheirAnswers) {
  connect(QpType::kRc, kV1, kV1);
  pair.b().post_receive(9, 4096, 3000);
  pair.a().memory()[2999] = std::byte{42};
  pair.a().post_send(1, 0, 3000);
  for (const SendOperation operation : {SendOperation::kWrite, SendOperation::kRead}) {
    pair.a().post({.wr_id = 2,
                   .operation = operation,
                   .signaled = true,
                   .remote_address = pair.b().region().address + 8192,
                   .rkey = transport::Rkey{pair.b().region().key}},
                  16384, 3000);
  }
  pair.a().post({.wr_id = 3,
                 .operation = SendOperation::kFetchAdd,
                 .signaled = true,
                 .remote_address = pair.b().region().address,
                 .rkey = transport::Rkey{pair.b().region().key}},
                0, 8);
  pair.settle();
  EXPECT_EQ(pair.a().poll_text(), "1 ok, 2 ok, 2 ok, 3 ok");
  EXPECT_EQ(pair.b().poll_text(), "9 ok");
  EXPECT_EQ(pair.b().memory()[4096 + 2999], std::byte{42});
  expect_all(0, EtherType::kRoceV1);
  expect_all(1, EtherType::kRoceV1);
}

TEST_F(RoceV1Test, CarriesUnreliableConnections) {
  connect(QpType::kUc, kV1, kV1);
  pair.b().post_receive(9, 4096, 3000);
  pair.a().post_send(1, 0, 3000);
  pair.settle();
  EXPECT_EQ(pair.b().poll_text(), "9 ok");
  expect_all(0, EtherType::kRoceV1);
}

TEST_F(RoceV1Test, LeavesQueuePairsOfTheOtherIndexAtRoceV2) {
  connect(QpType::kRc, kV2, kV2);
  pair.b().post_receive(9, 4096, 100);
  pair.a().post_send(1, 0, 100);
  pair.settle();
  EXPECT_EQ(pair.b().poll_text(), "9 ok");
  expect_all(0, EtherType::kIpv4);
  expect_all(1, EtherType::kIpv4);
}

TEST_F(RoceV1Test, IsNotTakenByAQueuePairOfTheOtherKind) {
  for (const Encapsulation a_sends : {kV1, kV2}) {
    const Encapsulation b_sends = a_sends == kV1 ? kV2 : kV1;
    connect(QpType::kRc, a_sends, b_sends);
    const auto before = pair.b().counter("rx_drop_wrong_encapsulation");
    pair.b().post_receive(9, 4096, 100);
    pair.a().post_send(1, 0, 100);
    pair.settle();
    EXPECT_EQ(pair.b().poll_text(), "");
    EXPECT_EQ(pair.b().counter("rx_drop_wrong_encapsulation"), before + 1);
    EXPECT_EQ(pair.b().counter("rx_drop_wrong_peer"), 0u);
    const auto report = pair.b().device().failures()->take();
    ASSERT_EQ(report.has_value(), a_sends == kV1) << "one is reported each second";
    if (report) {
      EXPECT_EQ(cause_of(*report), FailureCause::kEncapsulationDiffers);
      EXPECT_NE(explain(*report).find("come as RoCE v1"), std::string::npos) << explain(*report);
    }
    for (Host* const host : {&pair.a(), &pair.b()}) {
      host->device().destroy_qp(std::move(host->queue_pairs()[0]));
      host->queue_pairs().clear();
      host->poll();
    }
  }
}

TEST_F(RoceV1Test, BringsDatagramsWithTheirGrh) {
  connect(QpType::kUd, kV1, kV1);
  for (const Encapsulation encapsulation : {kV1, kV2}) {  // a datagram queue pair takes both
    pair.b().post_receive(9, 4096, 200);
    const auto to_b = pair.a()
                          .device()
                          .create_address_handle(pair.a().pd(), address_to(pair.a(), pair.b(), encapsulation))
                          .value();
    pair.a().post({.wr_id = 1,
                   .signaled = true,
                   .destination = {.address = to_b, .qp = pair.b().qp().number(), .qkey = kKeyOfDatagrams}},
                  0, 100);
    pair.settle();
    EXPECT_EQ(pair.a().poll_text(), "1 ok");
    const std::vector<Completion> received = pair.b().poll();
    ASSERT_EQ(received.size(), 1u);
    EXPECT_EQ(received[0].byte_length, kAreaBytes + 100);
    EXPECT_EQ(received[0].is_ipv4, encapsulation == kV2);
    EXPECT_TRUE(pair.a().device().destroy_address_handle(pair.a().pd(), to_b));
    if (encapsulation == kV2) continue;
    const auto area = std::span<const std::byte>(pair.b().memory()).subspan(4096, kAreaBytes);
    EXPECT_EQ(area[0], std::byte{0x60});
    EXPECT_EQ(area[6], std::byte{27});
    EXPECT_EQ(transport::wire::load_address<Gid>(area, 8), pair.a().gid());
    EXPECT_EQ(transport::wire::load_address<Gid>(area, 24), pair.b().gid());
  }
}

TEST_F(RoceV1Test, ReachesTheMembersOfAGroup) {
  const Gid group = Gid::from_ipv4({{239, 9, 9, 9}});
  connect(QpType::kUd, kV1, kV1);
  ASSERT_TRUE(pair.b().device().attach_multicast(pair.b().qp(), group));
  AddressVector to_group = address_to(pair.a(), pair.b(), kV1);
  to_group.destination = group;
  const auto handle = pair.a().device().create_address_handle(pair.a().pd(), to_group).value();
  pair.b().post_receive(9, 4096, 200);
  pair.a().post(
      {.wr_id = 1,
       .signaled = true,
       .destination = {.address = handle, .qp = transport::QpNumber{0xffffff}, .qkey = kKeyOfDatagrams}},
      0, 100);
  pair.settle();
  EXPECT_EQ(pair.b().poll_text(), "9 ok");
  const Bytes sent = packets_of(0).back();
  EXPECT_EQ(ether_type_of(sent), EtherType::kRoceV1);
  EXPECT_EQ(to_string(transport::wire::Ethernet::parse(sent).value().destination), "01:00:5e:09:09:09");
  EXPECT_TRUE(pair.b().device().detach_multicast(pair.b().qp(), group));
  EXPECT_TRUE(pair.a().device().destroy_address_handle(pair.a().pd(), handle));
}

TEST_F(RoceV1Test, IsNotForConnectionManagers) {
  connect(QpType::kRc, kV1, kV1);
  const Bytes send = lost_send();
  const Frame frame = transport::wire::parse_frame(send).value();
  Bytes ib(12 + 8 + 256);
  transport::wire::emit(
      Bth{.opcode = transport::wire::Opcode::kUdSendOnly, .destination_qp = transport::QpNumber{1}}, ib);
  transport::wire::store_u32(ib, 12, 0x80010000);
  deliver_to_b(with(frame, ib));
  EXPECT_EQ(pair.b().counter("rx_drop_wrong_encapsulation"), 1u);
}

// The traffic class of a GRH is not IP's, in which switches mark congestion.
TEST_F(RoceV1Test, HasNoMarksOfCongestion) {
  connect(QpType::kRc, kV1, kV1);
  pair.b().post_receive(9, 4096, 100);
  const Bytes send = lost_send();
  Frame frame = transport::wire::parse_frame(send).value();
  std::get<Ipv6>(frame.ip).traffic_class = 3;
  deliver_to_b(with(frame, frame.ib));
  EXPECT_EQ(pair.b().poll_text(), "9 ok");
  EXPECT_EQ(pair.b().counter("np_ecn_marked_roce_packets"), 0u);
  EXPECT_EQ(pair.b().counter("np_cnp_sent"), 0u);
}

TEST_F(RoceV1Test, AnswersRepeatsForADestroyedQueuePairInKind) {
  connect(QpType::kRc, kV1, kV1);
  pair.b().post_receive(9, 4096, 100);
  pair.a().post_send(1, 0, 8);
  pair.settle();
  const Bytes request = packets_of(0).back();
  pair.b().destroy_queue_pair();
  const std::size_t before = packets_of(1).size();
  deliver_to_b(request);
  ASSERT_EQ(packets_of(1).size(), before + 1);
  EXPECT_EQ(ether_type_of(packets_of(1).back()), EtherType::kRoceV1);
  EXPECT_EQ(pair.b().counter("answered_after_destroy"), 1u);
}

TEST_F(RoceV1Test, SurvivesAnyBytes) {
  connect(QpType::kRc, kV1, kV1);
  const Bytes send = lost_send();
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    Bytes frame = send;
    const std::size_t changes = 1 + random() % 4;
    for (std::size_t n = 0; n < changes; ++n) {
      frame[14 + random() % (frame.size() - 14)] = static_cast<std::byte>(random());
    }
    frame.resize(14 + random() % (frame.size() - 13));
    deliver_to_b(frame);
  }
  EXPECT_EQ(pair.b().poll_text(), "");
}

TEST(RoceV1, IsUnknownToANicWithoutSuchAddresses) {
  DevicePair speaks({.personality = &personality_with_pairs(), .encapsulation = kV1});
  speaks.connect();
  speaks.a().post_send(1, 0, 8);
  speaks.settle();
  const auto& sent = speaks.wire.sent_by(0);
  const auto frame = std::ranges::find_if(
      sent, [](const Bytes& bytes) { return ether_type_of(bytes) == EtherType::kRoceV1; });
  ASSERT_NE(frame, sent.end());
  DevicePair usual;
  usual.connect();
  usual.settle();
  const auto before = usual.b().counter("rx_drop_not_ip");
  usual.wire.deliver(1, *frame);
  usual.settle();
  EXPECT_EQ(usual.b().counter("rx_drop_not_ip"), before + 1);
}

TEST(RoceV1, NeedsAPortThatCarriesEthernet) {
  DevicePair pair({.medium = Medium::kIp, .personality = &personality_with_pairs()});
  const AddressVector address{.destination = pair.b().gid(), .source_gid_index = 2};
  const auto refused = pair.a().device().create_address_handle(pair.a().pd(), address);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, EINVAL);
  EXPECT_NE(refused.error().message.find("RoCE v1 needs a port that carries Ethernet"), std::string::npos)
      << refused.error().message;
}

TEST(RoceV1, IsNamedWhereAnIndexIsRefused) {
  DevicePair pair({.personality = &personality_with_pairs()});
  const AddressVector address{.destination = pair.b().gid(), .source_gid_index = 9};
  const auto refused = pair.a().device().create_address_handle(pair.a().pd(), address);
  ASSERT_FALSE(refused);
  for (const std::string_view part :
       {"index 9 is empty", "2 (::ffff:10.0.0.1, RoCE v1)", "3 (::ffff:10.0.0.1, RoCE v2)"}) {
    EXPECT_NE(refused.error().message.find(part), std::string::npos) << refused.error().message;
  }
}

}  // namespace
}  // namespace urnic::nic
