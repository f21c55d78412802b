// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Devices on VLANs of one wire.
#include "nic/port/vlan.h"

#include <gtest/gtest.h>

#include "nic/engine/engine.h"
#include "tests/unit/nic/device_pair.h"
#include "transport/wire/frame.h"

namespace urnic::nic {
namespace {

using transport::wire::Ethernet;
using transport::wire::EtherType;

/// The only tag of a frame: its VLAN id and priority.
struct Tag {
  int vlan;
  int priority;
  friend bool operator==(const Tag&, const Tag&) = default;
};
Tag tag_of(const FakeWire::Bytes& frame) {
  const Ethernet header = Ethernet::parse(frame).value();
  EXPECT_EQ(header.vlan_tag_count, 1);
  EXPECT_EQ(header.vlan_tags[0].type, EtherType::kVlan);
  return {header.vlan_tags[0].control & 0xfff, header.vlan_tags[0].control >> 13};
}

/// Whether a message of `bytes` gets through.
bool can_talk(DevicePair& pair, std::size_t bytes = 100) {
  pair.connect();
  pair.b().post_receive(1, 0, bytes);
  pair.a().post_send(2, 0, bytes);
  pair.pass(std::chrono::seconds(5));
  pair.a().poll();
  const auto received = pair.b().poll();
  return received.size() == 1 && received[0].status == transport::CompletionStatus::kSuccess;
}

TEST(Vlan, IsWhereDevicesOfTheSameOneTalk) {
  DevicePair pair({.vlans = {5, 5}});
  EXPECT_TRUE(can_talk(pair));
  for (std::size_t end : {0u, 1u}) {
    for (const auto& frame : pair.wire.sent_by(end)) EXPECT_EQ(tag_of(frame), (Tag{5, 0}));
  }
}

TEST(Vlan, KeepsDevicesOfDifferentOnesApart) {
  for (const std::array<std::uint16_t, 2> vlans : {std::array<std::uint16_t, 2>{5, 6}, {5, 0}, {0, 5}}) {
    DevicePair pair({.vlans = vlans});
    EXPECT_FALSE(can_talk(pair)) << vlans[0] << " and " << vlans[1];
    // Not even ARP came through.
    EXPECT_EQ(pair.a().device().engine().tables().neighbors.find(pair.b().gid())->state,
              NeighborState::kFailed);
    EXPECT_EQ(pair.b().counter("neighbor_replies_sent"), 0u);
  }
}

TEST(Vlan, CarriesTheServiceLevelAsPriority) {
  DevicePair pair({.vlans = {4094, 4094}});
  QueuePair& first = pair.a().add_queue_pair();
  DevicePair::connect(pair.a(), first, pair.b(), pair.b().add_queue_pair());
  ASSERT_TRUE(first.modify({.state = transport::QpState::kReset}));
  auto to_b = DevicePair::to_peer(pair.b(), pair.b().qp().number());
  to_b.address.service_level = 6;
  ASSERT_TRUE(kernel::connect(first, to_b));
  pair.b().post_receive(1, 0, 100);
  pair.a().post_send(2, 0, 100);
  pair.settle();
  EXPECT_EQ(pair.b().poll_text(), "1 ok");
  EXPECT_EQ(tag_of(pair.wire.sent_by(0).back()), (Tag{4094, 6}));
  EXPECT_EQ(tag_of(pair.wire.sent_by(1).back()), (Tag{4094, 0}));  // the other end's own service level
}

// The wire carries the link MTU and an Ethernet header without a tag.
TEST(Vlan, LeavesRoomForItsTagInTheLargestPacket) {
  DevicePair untagged({.link_mtu = 1104});
  EXPECT_EQ(untagged.a().device().max_path_mtu(), transport::PathMtu::k1024);
  DevicePair tagged({.link_mtu = 1107, .vlans = {5, 5}});
  EXPECT_EQ(tagged.a().device().max_path_mtu(), transport::PathMtu::k512);
  DevicePair larger({.link_mtu = 1108, .vlans = {5, 5}});
  EXPECT_EQ(larger.a().device().max_path_mtu(), transport::PathMtu::k1024);
  EXPECT_TRUE(can_talk(larger, 4096));
  EXPECT_EQ(larger.a().counter("tx_drop_too_long"), 0u);
}

}  // namespace
}  // namespace urnic::nic
