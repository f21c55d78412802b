// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Datagrams and unreliable connections, from one device to the other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <mutex>
#include <span>

#include "nic/engine/engine.h"
#include "nic/path/multicast_groups.h"
#include "tests/unit/nic/device_pair.h"
#include "transport/wire/arp.h"
#include "transport/wire/ethernet.h"
#include "transport/wire/frame.h"

namespace urnic::nic {
namespace {

using testing::IsEmpty;
using transport::AddressHandleId;
using transport::Completion;
using transport::CompletionStatus;
using transport::QpNumber;
using transport::QpState;
using transport::SendOperation;
using transport::wire::Gid;

constexpr std::uint32_t kQkey = 0x11111111;
constexpr std::size_t kGrhBytes = 40;

/// One datagram queue pair at each end, in RTS.
class DatagramTest : public testing::Test {
 protected:
  DatagramTest() {
    for (Host* host : {&pair.a(), &pair.b()}) add_queue_pair(*host);
    to_b = pair.a()
               .device()
               .create_address_handle(pair.a().pd(), {.destination = pair.b().gid(), .source_gid_index = 1})
               .value();
    pair.settle();
  }
  ~DatagramTest() override { EXPECT_TRUE(pair.a().device().destroy_address_handle(pair.a().pd(), to_b)); }

  static QueuePair& add_queue_pair(Host& host) {
    QpCreateAttributes attributes = host.default_attributes();
    attributes.type = QpType::kUd;
    QueuePair& qp = host.add_queue_pair(attributes);
    EXPECT_TRUE(kernel::connect(qp, {.qkey = kQkey}));
    return qp;
  }
  void send(AddressHandleId to, QpNumber qp, std::size_t length, std::uint32_t qkey = kQkey) {
    pair.a().post({.wr_id = 1, .signaled = true, .destination = {.address = to, .qp = qp, .qkey = qkey}}, 0,
                  length);
    pair.settle();
  }

  DevicePair pair;
  AddressHandleId to_b{};
};

TEST_F(DatagramTest, ArrivesBehindAnAreaForTheGrhThatHoldsTheIpHeader) {
  pair.a().memory()[0] = std::byte{42};
  pair.b().post_receive(5, 1000, 200);
  send(to_b, pair.b().qp().number(), 100);
  EXPECT_EQ(pair.a().poll_text(), "1 ok");
  const std::vector<Completion> received = pair.b().poll();
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].byte_length, kGrhBytes + 100);
  EXPECT_EQ(received[0].source_qp, pair.a().qp().number());
  EXPECT_TRUE(received[0].has_grh);
  EXPECT_TRUE(received[0].is_ipv4);
  EXPECT_EQ(pair.b().memory()[1000 + kGrhBytes], std::byte{42});
  // Fact 42: version and header length, then at the end the destination 10.0.0.2.
  EXPECT_EQ(pair.b().memory()[1000 + 20], std::byte{0x45});
  EXPECT_EQ(pair.b().memory()[1000 + 39], std::byte{2});
}

// Fact 7.
TEST_F(DatagramTest, ComesFromTheUdpPortOfItsQueuePair) {
  EXPECT_EQ(datagram_source_port(QpNumber{1}), 55410);
  EXPECT_EQ(datagram_source_port(QpNumber{0x21}), 59062);
  EXPECT_EQ(datagram_source_port(QpNumber{0x42}), 52588);
  send(to_b, pair.b().qp().number(), 4);
  const auto frame = transport::wire::parse_frame(pair.wire.sent_by(0).back()).value();
  EXPECT_EQ(frame.udp.source_port, datagram_source_port(pair.a().qp().number()));
}

TEST_F(DatagramTest, WithAnotherQkeyIsNotReceived) {
  pair.b().post_receive(5, 1000, 200);
  send(to_b, pair.b().qp().number(), 4, kQkey + 1);
  EXPECT_EQ(pair.a().poll_text(), "1 ok");
  EXPECT_EQ(pair.b().poll_text(), "");
}

// Any station may send one under any address. That must neither make its sender reachable without ARP nor
// take the place of a neighbor that we know.
TEST_F(DatagramTest, TeachesNothingAboutItsSendersAddress) {
  pair.b().post_receive(5, 1000, 200);
  send(to_b, pair.b().qp().number(), 4, kQkey + 1);
  send(to_b, pair.b().qp().number(), 4);
  ASSERT_EQ(pair.b().poll_text(), "5 ok");
  const auto& sent = pair.wire.sent_by(0);
  const NeighborCache& neighbors = pair.b().device().engine().tables().neighbors;
  const auto generation = neighbors.generation();
  for (const FakeWire::Bytes& original : {*(sent.end() - 2), *(sent.end() - 1)}) {
    auto frame = transport::wire::parse_frame(original).value();
    frame.ethernet.source = {{0x02, 0, 0, 0, 0, 0x77}};
    std::get<transport::wire::Ipv4>(frame.ip).source = {{10, 0, 0, 77}};
    frame.icrc = icrc_of(frame);
    FakeWire::Bytes forged(original.size());
    ASSERT_EQ(emit_frame(frame, forged), forged.size());
    pair.b().post_receive(6, 1000, 200);
    pair.wire.deliver(1, forged);
    pair.settle();
  }
  EXPECT_EQ(pair.b().poll_text(), "6 ok");  // the one with the right Q_Key
  EXPECT_EQ(neighbors.find(Gid::from_ipv4({{10, 0, 0, 77}})), nullptr);
  EXPECT_EQ(neighbors.generation(), generation);
}

TEST_F(DatagramTest, LongerThanTheMtuIsRefusedAndEndsTheSendQueue) {
  send(to_b, pair.b().qp().number(), 4097);
  EXPECT_EQ(pair.a().poll()[0].status, CompletionStatus::kLocalLengthError);
  EXPECT_EQ(pair.a().qp().query().state, QpState::kSqError);
  EXPECT_TRUE(pair.a().qp().modify({.state = QpState::kReadyToSend}));
  pair.b().post_receive(5, 0, 4200);
  send(to_b, pair.b().qp().number(), 4096);
  EXPECT_EQ(pair.a().poll_text(), "1 ok");
  EXPECT_EQ(pair.b().poll_text(), "5 ok");
}

// The program may use the memory again at once, however long the datagram waits for its turn, or for ARP; one
// of them is inline data, which needs no second copy.
TEST_F(DatagramTest, IsSentAsItWasWhenItWasPosted) {
  const Gid unknown = Gid::from_ipv4({{10, 0, 0, 9}});
  const AddressHandleId to_unknown =
      pair.a()
          .device()
          .create_address_handle(pair.a().pd(), {.destination = unknown, .source_gid_index = 1})
          .value();
  for (const AddressHandleId to : {to_unknown, to_b}) {
    for (std::size_t i = 0; i < 3; ++i) {
      pair.b().post_receive(i, 1000 * i, 200);
      pair.a().memory()[i] = static_cast<std::byte>(40 + i);
      const transport::SendRequest request{
          .wr_id = i,
          .signaled = true,
          .destination = {.address = to, .qp = pair.b().qp().number(), .qkey = kQkey}};
      if (i == 1) {
        const transport::Sge sge{.address = reinterpret_cast<std::uintptr_t>(&pair.a().memory()[i]),
                                 .length = 1};
        EXPECT_EQ(QueuePair::SendBatch(pair.a().qp()).post_inline(request, {&sge, 1}), PostStatus::kPosted);
      } else {
        pair.a().post(request, i, 1);
      }
      pair.a().memory()[i] = std::byte{0xee};
    }
  }
  pair.pass(std::chrono::seconds(10));
  EXPECT_EQ(pair.a().poll().size(), 6u);
  EXPECT_EQ(pair.b().poll_text(), "0 ok, 1 ok, 2 ok");
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(pair.b().memory()[1000 * i + kGrhBytes], static_cast<std::byte>(40 + i));
  }
  EXPECT_TRUE(pair.a().device().destroy_address_handle(pair.a().pd(), to_unknown));
}

TEST_F(DatagramTest, WhoseMemoryCannotBeReadFailsWhenItsTurnComes) {
  QueuePair::SendBatch(pair.a().qp())
      .post({.wr_id = 9, .destination = {.address = to_b, .qp = pair.b().qp().number(), .qkey = kQkey}},
            std::vector{transport::Sge{.address = 0, .length = 8, .lkey = transport::Lkey{0xbad}}});
  pair.settle();
  const auto failed = pair.a().poll();
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed[0].status, CompletionStatus::kLocalProtectionError);
  EXPECT_EQ(pair.a().qp().query().state, QpState::kSqError);
}

TEST_F(DatagramTest, ForAnAddressHandleThatIsGoneIsLost) {
  const AddressHandleId gone =
      pair.a()
          .device()
          .create_address_handle(pair.a().pd(), {.destination = pair.b().gid(), .source_gid_index = 1})
          .value();
  ASSERT_TRUE(pair.a().device().destroy_address_handle(pair.a().pd(), gone));
  pair.b().post_receive(5, 1000, 200);
  send(gone, pair.b().qp().number(), 4);
  EXPECT_EQ(pair.a().poll_text(), "1 ok");
  EXPECT_EQ(pair.b().poll_text(), "");
}

/// Datagrams that the device had no time yet to send when the program destroys what they need. mckey does so.
class DatagramsLeftBehindTest : public DatagramTest {
 protected:
  static constexpr std::uint64_t kCount = 20;

  DatagramsLeftBehindTest() {
    send(to_b, pair.b().qp().number(), 4);  // B's MAC is known then
    for (std::uint64_t i = 0; i < kCount; ++i) {
      pair.b().post_receive(i, 1000 + 100 * i, 100);
      pair.a().post(
          {.wr_id = i, .destination = {.address = to_b, .qp = pair.b().qp().number(), .qkey = kQkey}}, 0, 4);
    }
    EXPECT_TRUE(pair.a().qp().has_sends());
  }
  std::size_t arrived() {
    pair.settle();
    return pair.b().poll().size();
  }
};

TEST_F(DatagramsLeftBehindTest, LeaveBeforeTheirAddressHandleIsDestroyed) {
  ASSERT_TRUE(pair.a().device().destroy_address_handle(pair.a().pd(), to_b));
  EXPECT_EQ(arrived(), kCount);
  to_b = pair.a()
             .device()
             .create_address_handle(pair.a().pd(), {.destination = pair.b().gid(), .source_gid_index = 1})
             .value();
}

TEST_F(DatagramsLeftBehindTest, LeaveBeforeTheirQueuePairIsDestroyed) {
  pair.a().destroy_queue_pair();
  EXPECT_EQ(arrived(), kCount);
}

// The first of them may have been sent before, and the port was full then.
TEST_F(DatagramsLeftBehindTest, WaitForAPortThatIsFullForAWhile) {
  pair.wire.room[0] = 3;
  pair.a().device().progress();
  pair.wire.room[0] = kCount;
  pair.a().destroy_queue_pair();
  EXPECT_EQ(arrived(), kCount);
}

TEST_F(DatagramsLeftBehindTest, AreLostWhereThePortStaysFull) {
  pair.wire.room[0] = 3;
  pair.a().destroy_queue_pair();
  EXPECT_EQ(arrived(), 3u);
}

TEST_F(DatagramTest, MayFollowOneToSomebodyElse) {
  const Gid nobody = Gid::from_ipv4({{10, 0, 0, 9}});
  const AddressHandleId to_nobody =
      pair.a()
          .device()
          .create_address_handle(pair.a().pd(), {.destination = nobody, .source_gid_index = 1})
          .value();
  pair.b().post_receive(5, 1000, 200);
  send(to_nobody, QpNumber{5}, 4);
  send(to_b, pair.b().qp().number(), 4);
  pair.pass(std::chrono::seconds(10));  // until enough questions for the absent host had no answer
  EXPECT_EQ(pair.a().poll_text(), "1 ok, 1 ok");
  EXPECT_EQ(pair.b().poll_text(), "5 ok");
  EXPECT_TRUE(pair.a().device().destroy_address_handle(pair.a().pd(), to_nobody));
}

TEST_F(DatagramTest, ToAGroupReachesItsMembersAndNobodyElse) {
  const Gid group = Gid::from_ipv4({{239, 1, 2, 3}});
  const AddressHandleId to_group =
      pair.a()
          .device()
          .create_address_handle(pair.a().pd(), {.destination = group, .source_gid_index = 1})
          .value();
  add_queue_pair(pair.b());
  add_queue_pair(pair.b());
  Device& device = pair.b().device();
  for (std::size_t i : {0u, 1u, 2u}) pair.b().post_receive(10 + i, 1000 * i, 200, i);
  ASSERT_TRUE(device.attach_multicast(pair.b().qp(0), group));
  ASSERT_TRUE(device.attach_multicast(pair.b().qp(1), group));
  send(to_group, QpNumber{0xffffff}, 4);
  EXPECT_EQ(pair.b().poll_text(), "10 ok, 11 ok");

  ASSERT_TRUE(device.detach_multicast(pair.b().qp(0), group));
  EXPECT_EQ(device.detach_multicast(pair.b().qp(0), group).error().code, EINVAL);
  pair.b().post_receive(20, 1000, 200, 0);
  pair.b().post_receive(21, 1000, 200, 1);
  send(to_group, QpNumber{0xffffff}, 4);
  EXPECT_EQ(pair.b().poll_text(), "21 ok");

  EXPECT_EQ(device.check_destroyable(pair.b().qp(1)).error().code, EBUSY);
  EXPECT_TRUE(device.check_destroyable(pair.b().qp(0)));
  EXPECT_TRUE(pair.a().device().destroy_address_handle(pair.a().pd(), to_group));
}

TEST_F(DatagramTest, HasNothingButSends) {
  for (const SendOperation operation :
       {SendOperation::kWrite, SendOperation::kRead, SendOperation::kFetchAdd}) {
    pair.a().post({.wr_id = 1, .operation = operation}, 0, 8);
    pair.pass(std::chrono::milliseconds(1));
    EXPECT_EQ(pair.a().poll()[0].status, CompletionStatus::kLocalQpOperationError);
    EXPECT_TRUE(pair.a().qp().modify({.state = QpState::kReadyToSend}));
  }
}

/// A neighbor that answers the ARP requests of the device at end 0, the first `ignored` of them excepted.
class AddressResolutionTest : public testing::Test {
 protected:
  AddressResolutionTest() {
    wire.is_lost = [this](std::size_t, const FakeWire::Bytes& frame) {
      answer(frame);  // in the engine's lock, as everything that touches the wire
      return true;
    };
  }
  static DeviceConfig config() {
    DeviceConfig config;
    config.mac = {{0x02, 0, 0, 0, 0, 1}};
    config.ipv4 = Ipv4Interface{.address = {{10, 0, 0, 1}}};
    return config;
  }
  void answer(const FakeWire::Bytes& frame) {
    using namespace transport::wire;
    const std::span<const std::byte> bytes(frame);
    if (Ethernet::parse(bytes).value().ether_type != EtherType::kArp) return;
    const Arp request = Arp::parse(bytes.subspan(Ethernet::kMinBytes)).value();
    if (request.target_ip != peer.ipv4() || ignored-- > 0) return;
    FakeWire::Bytes reply(60);
    const std::size_t at =
        emit(Ethernet{.destination = request.sender_mac, .source = peer_mac, .ether_type = EtherType::kArp},
             reply);
    emit(Arp{.operation = Arp::Operation::kReply,
             .sender_mac = peer_mac,
             .sender_ip = request.target_ip,
             .target_mac = request.sender_mac,
             .target_ip = request.sender_ip},
         std::span(reply).subspan(at));
    wire.deliver(0, reply);
  }
  NeighborState known_state() {
    const std::lock_guard guard(device.engine());
    const Neighbor* const found = device.engine().tables().neighbors.find(peer);
    return found == nullptr ? NeighborState::kUnknown : found->state;
  }

  const Gid peer = Gid::from_ipv4({{10, 0, 0, 2}});
  const transport::wire::Mac peer_mac{{0x02, 0, 0, 0, 0, 2}};
  int ignored = 0;
  SteadyClock clock;
  FakeWire wire{4300};
  Device device{config(), clock, [this] { return Result<OpenedPort, Error>(wire.port(0)); }};
};

TEST_F(AddressResolutionTest, EndsWhenTheNeighborHasAnswered) {
  ASSERT_TRUE(device.start());
  ignored = 1;  // so that it takes 100 ms
  EXPECT_TRUE(device.resolve({.destination = peer}));
  EXPECT_EQ(known_state(), NeighborState::kReachable);
  EXPECT_TRUE(device.resolve({.destination = *device.gids().at(1)}));
}

TEST_F(AddressResolutionTest, EndsWithoutAnAnswerToo) {
  ASSERT_TRUE(device.start());
  ignored = 1000;
  const transport::Time begin = clock.now();
  EXPECT_FALSE(device.resolve({.destination = peer}));
  EXPECT_GE(clock.now() - begin, std::chrono::milliseconds(900));
  EXPECT_NE(known_state(), NeighborState::kReachable);
  EXPECT_FALSE(device.resolve({}));  // no host can have it
}

/// An unreliable connection.
class UnreliableConnectionTest : public testing::Test {
 protected:
  UnreliableConnectionTest() {
    QpCreateAttributes a = pair.a().default_attributes();
    QpCreateAttributes b = pair.b().default_attributes();
    a.type = b.type = QpType::kUc;
    DevicePair::connect(pair.a(), pair.a().add_queue_pair(a), pair.b(), pair.b().add_queue_pair(b));
    pair.settle();
  }
  DevicePair pair;
};

TEST_F(UnreliableConnectionTest, LosesAMessageOfWhichAPacketIsLostAndReceivesTheNext) {
  pair.b().post_receive(1, 0, 4096);
  int packet = 0;
  pair.wire.is_lost = [&](std::size_t, const FakeWire::Bytes&) { return ++packet == 2; };
  pair.a().post_send(1, 0, 3000);
  pair.a().post_send(2, 0, 2000);
  pair.settle();
  EXPECT_EQ(pair.a().poll_text(), "1 ok, 2 ok");
  const auto received = pair.b().poll();
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].byte_length, 2000u);
}

TEST_F(UnreliableConnectionTest, NeverAnswers) {
  pair.b().post_receive(1, 0, 4096);
  pair.settle();
  const std::size_t before = pair.wire.sent_by(1).size();
  pair.a().post_send(1, 0, 3000);
  pair.settle();
  EXPECT_EQ(pair.wire.sent_by(1).size(), before);
  EXPECT_EQ(pair.b().poll_text(), "1 ok");
}

TEST_F(DatagramTest, GroupsTakeNoMoreMembersThanTheDeviceAllows) {
  const auto group = [](std::uint32_t number) {
    return Gid::from_ipv4(
        {{239, 1, static_cast<std::uint8_t>(number >> 8), static_cast<std::uint8_t>(number)}});
  };
  Device& device = pair.a().device();
  for (std::uint32_t i = 0; i < DeviceLimits::kMaxGroupMembers; ++i) {
    ASSERT_TRUE(device.attach_multicast(pair.a().qp(), group(i)));
  }
  const auto attached = device.attach_multicast(pair.a().qp(), group(DeviceLimits::kMaxGroupMembers));
  ASSERT_FALSE(attached);
  EXPECT_EQ(attached.error().code, ENOMEM);
}

}  // namespace
}  // namespace urnic::nic
