// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Devices whose port carries IP packets: nothing below IP is theirs.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

#include "nic/path/station.h"
#include "tests/support/lost_identification.h"
#include "tests/unit/nic/device_pair.h"
#include "transport/wire/frame.h"
#include "transport/wire/ipv4.h"

namespace urnic::nic {
namespace {

using namespace std::chrono_literals;
using Bytes = FakeWire::Bytes;
namespace wire = transport::wire;

class IpMediumTest : public testing::Test {
 protected:
  void send_and_receive() {
    pair.b().post_receive(1, 0, 100);
    pair.a().post_send(2, 0, 100);
    pair.settle();
  }
  QueuePair& add_datagram_qp() {
    auto attributes = pair.a().default_attributes();
    attributes.type = QpType::kUd;
    return pair.a().add_queue_pair(attributes);
  }

  DevicePair pair{{.medium = Medium::kIp}};
};

TEST_F(IpMediumTest, SendsIpPacketsAndNothingElse) {
  pair.connect();
  send_and_receive();
  pair.pass(5s);  // neighbor discovery would announce us
  EXPECT_EQ(pair.a().poll_text(), "2 ok");
  EXPECT_EQ(pair.b().poll_text(), "1 ok");
  ASSERT_EQ(pair.wire.sent_by(0).size(), 1u);
  ASSERT_EQ(pair.wire.sent_by(1).size(), 1u);
  for (const std::size_t end : {0u, 1u}) {
    const auto parsed = wire::parse_ip_packet(pair.wire.sent_by(end)[0]);
    ASSERT_TRUE(parsed);
    EXPECT_TRUE(parsed.value().icrc_ok());
    EXPECT_EQ(std::get<wire::Ipv4>(parsed.value().ip).identification, 0);
  }
}

TEST_F(IpMediumTest, TakesPacketsOfAnyIdentificationAndNoDamagedOnes) {
  pair.connect();
  bool is_damaged = false;
  pair.wire.is_lost = [&](std::size_t from, const Bytes& packet) {
    if (from != 0) return false;
    Bytes changed = test::without_identification(packet, 0xbeef);
    if (is_damaged) changed.back() ^= std::byte{0x10};
    pair.wire.deliver(1, changed);
    return true;
  };
  send_and_receive();
  EXPECT_EQ(pair.b().poll_text(), "1 ok");
  EXPECT_EQ(pair.b().counter("rx_drop_bad_icrc"), 0u);
  is_damaged = true;
  send_and_receive();
  EXPECT_EQ(pair.b().poll_text(), "");
  EXPECT_EQ(pair.b().counter("rx_drop_bad_icrc"), 1u);
}

TEST_F(IpMediumTest, HasNoMemberOfAGroupThatThePortCannotJoin) {
  const wire::Gid group = wire::Gid::parse("ff05::78").value();
  QueuePair& member = add_datagram_qp();
  pair.wire.join_error = ENOBUFS;
  const auto attached = pair.a().device().attach_multicast(member, group);
  ASSERT_FALSE(attached);
  EXPECT_EQ(attached.error().code, ENOBUFS);
  EXPECT_FALSE(pair.a().device().detach_multicast(member, group));
  pair.wire.join_error = 0;
  EXPECT_TRUE(pair.a().device().attach_multicast(member, group));
  EXPECT_TRUE(pair.a().device().detach_multicast(member, group));
}

TEST_F(IpMediumTest, TellsThePortOfGroupsAndReportsNone) {
  const wire::Gid group = wire::Gid::parse("ff05::77").value();
  QueuePair& first = add_datagram_qp();
  QueuePair& second = add_datagram_qp();
  ASSERT_TRUE(pair.a().device().attach_multicast(first, group));
  ASSERT_TRUE(pair.a().device().attach_multicast(second, group));
  ASSERT_TRUE(pair.a().device().detach_multicast(first, group));
  EXPECT_EQ(pair.wire.memberships, std::vector<std::string>{"end 0 joins ff05::77"});
  ASSERT_TRUE(pair.a().device().detach_multicast(second, group));
  EXPECT_EQ(pair.wire.memberships.back(), "end 0 leaves ff05::77");
  pair.pass(5s);
  EXPECT_TRUE(pair.wire.sent_by(0).empty());
}

TEST_F(IpMediumTest, SendsDatagramsToWhoeverOfThisHostHasTheQueuePair) {
  QueuePair& qp = add_datagram_qp();
  EXPECT_TRUE(kernel::connect(qp, {.qkey = 1}));
  Device& device = pair.a().device();
  const auto here =
      device.create_address_handle(pair.a().pd(), {.destination = pair.a().gid(), .source_gid_index = 1});
  const auto elsewhere =
      device.create_address_handle(pair.a().pd(), {.destination = pair.b().gid(), .source_gid_index = 1});
  const auto send = [&](transport::AddressHandleId address, std::uint32_t to) {
    pair.a().post(
        {.wr_id = to, .signaled = true, .destination = {.address = address, .qp = transport::QpNumber(to)}},
        0, 8);
    pair.settle();
  };
  FakeWire::Way& fifth = pair.wire.ways[to_string(station_of_share(5))];
  FakeWire::Way& sixth = pair.wire.ways[to_string(station_of_share(6))];
  sixth.room = 1;
  send(here.value(), 0x060001);
  EXPECT_EQ(sixth.room, 0u);
  send(elsewhere.value(), 0x050001);  // another host, whose queue pairs have any number
  EXPECT_EQ(pair.a().poll_text(), "393217 ok, 327681 ok");
  send(here.value(), 0x050001);
  EXPECT_EQ(pair.a().poll_text(), "") << "there is no room for the fifth";
  fifth.room = 1;
  pair.settle();
  EXPECT_EQ(pair.a().poll_text(), "327681 ok");
  EXPECT_EQ(fifth.room, 0u);
  EXPECT_TRUE(device.destroy_address_handle(pair.a().pd(), here.value()));
  EXPECT_TRUE(device.destroy_address_handle(pair.a().pd(), elsewhere.value()));
}

TEST_F(IpMediumTest, HasNoRawPackets) {
  auto attributes = pair.a().default_attributes();
  attributes.type = QpType::kRawPacket;
  const auto made = pair.a().device().create_qp(attributes);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, EOPNOTSUPP);
}

TEST_F(IpMediumTest, HasItsAddressAtIndexZeroToo) {
  const GidTable& gids = pair.a().device().gids();
  EXPECT_EQ(gids.at(0), gids.at(1));
  EXPECT_EQ(gids.node_guid(), DevicePair{}.a().device().gids().node_guid());
}

TEST_F(IpMediumTest, RefusesAPortOfTheOtherMedium) {
  DevicePair frames;
  DeviceConfig config;
  config.mac = {{0x02, 0, 0, 0, 0, 1}};
  config.medium = Medium::kIp;
  config.progress = ProgressMode::kManual;
  Device device(config, frames.clock, [&]() { return Result<OpenedPort, Error>(frames.wire.port(0)); });
  EXPECT_FALSE(device.start());
}

}  // namespace
}  // namespace urnic::nic
