// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the neighbor cache sends, against what Linux sends (pcap_fixtures/arp_nd_linux.pcap: host 1
// with 10.9.0.1, fd09::1 asks host 2).
#include "nic/path/neighbor_frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/capture_folders.h"
#include "tests/support/pcap_file.h"
#include "tests/support/value_of.h"
#include "tests/unit/nic/path/neighbor_host.h"

namespace urnic::nic::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using transport::wire::Arp;
using transport::wire::NeighborMessage;

/// Frame `number` of the capture, as Wireshark counts.
Bytes linux_frame(std::size_t number) {
  const auto frames = urnic::test::read_pcap(urnic::test::fixtures() / "arp_nd_linux.pcap");
  return urnic::test::value_of(frames).at(number - 1).bytes;
}

constexpr std::size_t kDuplicateSearchForHost1 = 3;  // for fd09::1
constexpr std::size_t kRouterSolicitation = 5;
constexpr std::size_t kArpRequest = 7;
constexpr std::size_t kArpReply = 8;
constexpr std::size_t kSolicitation = 9;
constexpr std::size_t kAdvertisement = 10;
constexpr std::size_t kUnreachable = 11;

TEST(NeighborFrames, AskByArpLikeLinux) {
  NeighborHost host(1);
  host.after_announcements().resolve("::ffff:10.9.0.2");
  EXPECT_THAT(host.take_sent(), ElementsAre(linux_frame(kArpRequest)));
}

TEST(NeighborFrames, AnswerArpLikeLinux) {
  NeighborHost host(2);
  EXPECT_TRUE(host.after_announcements().receive(linux_frame(kArpRequest)));
  EXPECT_THAT(host.take_sent(), ElementsAre(linux_frame(kArpReply)));
}

TEST(NeighborFrames, AskByNeighborDiscoveryLikeLinux) {
  NeighborHost host(1);
  host.after_announcements().resolve("fd09::2");
  EXPECT_THAT(host.take_sent(), ElementsAre(linux_frame(kSolicitation)));
}

TEST(NeighborFrames, AnswerNeighborDiscoveryLikeLinux) {
  NeighborHost host(2);
  EXPECT_TRUE(host.after_announcements().receive(linux_frame(kSolicitation)));
  EXPECT_THAT(host.take_sent(), ElementsAre(linux_frame(kAdvertisement)));
}

TEST(NeighborFrames, UnderstandTheAnswersOfLinux) {
  NeighborHost host(1);
  host.after_announcements();
  host.resolve("::ffff:10.9.0.2");
  host.resolve("fd09::2");
  EXPECT_TRUE(host.receive(linux_frame(kArpReply)));
  EXPECT_TRUE(host.receive(linux_frame(kAdvertisement)));
  EXPECT_EQ(host.resolve("::ffff:10.9.0.2").mac, mac("02:00:00:00:00:02"));
  EXPECT_EQ(host.resolve("fd09::2").mac, mac("02:00:00:00:00:02"));
}

TEST(NeighborFrames, AskForLinkLocalAddressesFromTheLinkLocalAddress) {
  NeighborHost host(1);
  host.after_announcements().resolve("fe80::ff:fe00:2");
  const auto sent = host.take_sent();
  ASSERT_EQ(sent.size(), 1u);
  const auto message = NeighborMessage::parse(std::span(sent[0]).subspan(14));
  ASSERT_TRUE(message);
  EXPECT_EQ(message->source, gid("fe80::ff:fe00:1"));
  EXPECT_EQ(message->destination, gid("ff02::1:ff00:2"));
}

TEST(NeighborFrames, AskFromTheLinkLocalAddressWhenThereIsNoOther) {
  DeviceConfig config = config_of_host(1);
  config.ipv6.reset();
  NeighborHost host(config);
  host.after_announcements().resolve("fd09::2");
  const auto sent = host.take_sent();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(NeighborMessage::parse(std::span(sent[0]).subspan(14))->source, gid("fe80::ff:fe00:1"));
}

TEST(NeighborFrames, TellAllNodesWhenSomebodyLooksForDuplicatesOfAnAddressOfOurs) {
  DeviceConfig config = config_of_host(1);
  config.mac = mac("02:00:00:00:00:aa");  // not the host of the capture, but with its address
  NeighborHost host(config);
  EXPECT_TRUE(host.after_announcements().receive(linux_frame(kDuplicateSearchForHost1)));
  const auto sent = host.take_sent();
  ASSERT_EQ(sent.size(), 1u);
  const auto message = NeighborMessage::parse(std::span(sent[0]).subspan(14));
  ASSERT_TRUE(message);
  EXPECT_EQ(message->type, NeighborMessage::Type::kAdvertisement);
  EXPECT_EQ(message->destination, gid("ff02::1"));
  EXPECT_EQ(message->target, gid("fd09::1"));
  EXPECT_FALSE(message->solicited);
  EXPECT_TRUE(message->replaces);
}

TEST(NeighborFrames, AnswerASolicitationWithoutSourceOptionWhereItCameFrom) {
  NeighborHost host(1);
  host.after_announcements().receive(frame_of(NeighborMessage{.type = NeighborMessage::Type::kSolicitation,
                                                              .source = gid("fd09::2"),
                                                              .destination = gid("fd09::1"),
                                                              .target = gid("fd09::1")},
                                              "02:00:00:00:00:02", "02:00:00:00:00:01"));
  const auto sent = host.take_sent();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(transport::wire::Ethernet::parse(sent[0]).value().destination, mac("02:00:00:00:00:02"));
}

TEST(NeighborFrames, AreNotAnsweredForTheAddressesOfOthers) {
  NeighborHost host(3);
  host.after_announcements();
  EXPECT_TRUE(host.receive(linux_frame(kArpRequest)));
  EXPECT_TRUE(host.receive(linux_frame(kSolicitation)));
  EXPECT_THAT(host.take_sent(), IsEmpty());
}

TEST(NeighborFrames, AreOnlyTheArpSolicitationsAndAdvertisementsOfOurVlan) {
  NeighborHost host(1);
  host.after_announcements();
  EXPECT_FALSE(host.receive(linux_frame(kRouterSolicitation)));
  EXPECT_FALSE(host.receive(linux_frame(kUnreachable)));
  EXPECT_FALSE(host.receive({}));
  Bytes tagged = linux_frame(kArpRequest);
  const std::array tag{std::byte{0x81}, std::byte{0}, std::byte{0}, std::byte{7}};
  tagged.insert(tagged.begin() + 12, tag.begin(), tag.end());
  EXPECT_FALSE(host.receive(tagged));
  tagged[15] = std::byte{0};  // a priority tag
  EXPECT_TRUE(host.receive(tagged));
  EXPECT_EQ(host.counter(NeighborCounter::kMalformed), 0u);
}

TEST(NeighborFrames, HaveTheTagOfOurVlan) {
  DeviceConfig config = config_of_host(2);
  config.vlan = 0x234;
  NeighborHost host(config);
  host.after_announcements();
  const std::array tag{std::byte{0x81}, std::byte{0}, std::byte{2}, std::byte{0x34}};
  const auto tagged = [&](Bytes frame) {
    frame.insert(frame.begin() + 12, tag.begin(), tag.end());
    return frame;
  };
  EXPECT_FALSE(host.receive(linux_frame(kArpRequest)));
  EXPECT_TRUE(host.receive(tagged(linux_frame(kArpRequest))));
  EXPECT_TRUE(host.receive(tagged(linux_frame(kSolicitation))));
  EXPECT_THAT(host.take_sent(),
              ElementsAre(tagged(linux_frame(kArpReply)), tagged(linux_frame(kAdvertisement))));
}

TEST(NeighborFrames, AnnounceEveryOwnAddressFourTimesAfterTheStart) {
  NeighborHost host(1);
  for (const auto wait : {0ms, 200ms, 1000ms, 2000ms}) {
    SCOPED_TRACE(wait.count());
    host.run_for(wait - std::min<std::chrono::nanoseconds>(wait, 1ns));
    EXPECT_TRUE(wait == 0ms || host.take_sent().empty());
    host.run_for(std::min<std::chrono::nanoseconds>(wait, 1ns));
    const auto sent = host.take_sent();
    ASSERT_EQ(sent.size(), 3u);
    const auto link_local = NeighborMessage::parse(std::span(sent[0]).subspan(14));
    const auto arp = Arp::parse(std::span(sent[1]).subspan(14));
    const auto global = NeighborMessage::parse(std::span(sent[2]).subspan(14));
    ASSERT_TRUE(link_local && arp && global);
    EXPECT_EQ(link_local->target, gid("fe80::ff:fe00:1"));
    EXPECT_EQ(link_local->destination, gid("ff02::1"));
    EXPECT_TRUE(link_local->replaces && !link_local->solicited);
    EXPECT_EQ(global->target, gid("fd09::1"));
    EXPECT_EQ(arp->operation, Arp::Operation::kRequest);
    EXPECT_EQ(arp->sender_ip, arp->target_ip);
    EXPECT_EQ(transport::wire::Ethernet::parse(sent[1]).value().destination, Mac::broadcast());
  }
  host.run_for(100s);
  EXPECT_THAT(host.take_sent(), IsEmpty());
}

TEST(NeighborFrames, OfARestartedPeerReachThoseWhoKnewItsOldMac) {
  NeighborHost host(1);
  host.after_announcements();
  host.learn("::ffff:10.9.0.2", "02:00:00:00:00:02");
  host.learn("fd09::2", "02:00:00:00:00:02");
  DeviceConfig config = config_of_host(2);
  config.mac = mac("02:00:00:00:00:99");
  NeighborHost restarted(config);
  for (const Bytes& frame : restarted.take_sent()) EXPECT_TRUE(host.receive(frame));
  EXPECT_EQ(host.resolve("::ffff:10.9.0.2").mac, mac("02:00:00:00:00:99"));
  EXPECT_EQ(host.resolve("fd09::2").mac, mac("02:00:00:00:00:99"));
}

}  // namespace
}  // namespace urnic::nic::test
