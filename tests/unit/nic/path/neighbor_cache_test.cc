// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/path/neighbor_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/nic/path/neighbor_host.h"

namespace urnic::nic::test {
namespace {

using State = NeighborState;
using transport::kNever;
using transport::wire::Arp;
using transport::wire::Ipv4Address;
using transport::wire::NeighborMessage;

constexpr auto kOwnMac = "02:00:00:00:00:01";
constexpr auto kPeerMac = "02:00:00:00:00:02";
constexpr auto kNewPeerMac = "02:00:00:00:00:99";
constexpr auto kPeer = "::ffff:10.9.0.2";
constexpr auto kPeerIpv6 = "fd09::2";

Bytes peer_says_it_is_at(std::string_view peer_mac) {
  return arp_request(peer_mac, "10.9.0.2", "10.9.0.2");
}

Bytes advertisement(std::string_view peer_mac, bool replaces, bool solicited = false) {
  return frame_of(NeighborMessage{.type = NeighborMessage::Type::kAdvertisement,
                                  .solicited = solicited,
                                  .replaces = replaces,
                                  .source = gid(kPeerIpv6),
                                  .destination = gid("fd09::1"),
                                  .target = gid(kPeerIpv6),
                                  .link_layer_address = mac(peer_mac)},
                  peer_mac, kOwnMac);
}

class NeighborCacheTest : public testing::Test {
 protected:
  NeighborCacheTest() { host_.after_announcements(); }

  NeighborHost host_{1};
};

// --- Lookup ---

TEST_F(NeighborCacheTest, HasItsOwnMacForEachOfItsOwnAddressesAtOnce) {
  for (const auto address : {"::ffff:10.9.0.1", "fd09::1", "fe80::ff:fe00:1"}) {
    const auto lookup = host_.resolve(address);
    EXPECT_EQ(lookup.state, State::kReachable) << address;
    EXPECT_EQ(lookup.mac, mac(kOwnMac)) << address;
  }
  EXPECT_THAT(host_.take_sent(), testing::IsEmpty());
}

TEST_F(NeighborCacheTest, MapsGroupsToTheirMacs) {
  EXPECT_EQ(host_.resolve("::ffff:239.205.3.4").mac, mac("01:00:5e:4d:03:04"));  // bit 23 is lost (fact 11)
  EXPECT_EQ(host_.resolve("ff0e::8123:4567").mac, mac("33:33:81:23:45:67"));
  EXPECT_EQ(host_.resolve("::ffff:255.255.255.255").mac, Mac::broadcast());
  EXPECT_EQ(host_.state_of("::ffff:224.0.0.1"), State::kReachable);
  EXPECT_THAT(host_.take_sent(), testing::IsEmpty());
}

TEST_F(NeighborCacheTest, FailsAtOnceForAddressesThatNobodyCanHave) {
  EXPECT_EQ(host_.state_of("::"), State::kFailed);
  EXPECT_EQ(host_.state_of("::ffff:0.0.0.0"), State::kFailed);
  EXPECT_THAT(host_.take_sent(), testing::IsEmpty());
}

TEST(NeighborCache, FailsAtOnceForIpv4AddressesWhenItHasNoneToAskWith) {
  DeviceConfig config = config_of_host(1);
  config.ipv4.reset();
  NeighborHost host(config);
  EXPECT_EQ(host.state_of(kPeer), State::kFailed);
  EXPECT_EQ(host.state_of(kPeerIpv6), State::kProbing);
}

TEST_F(NeighborCacheTest, AsksForAnUnknownAddressAndKnowsItOnceAnswered) {
  NeighborHost peer(2);
  peer.after_announcements();
  for (const auto address : {kPeer, kPeerIpv6, "fe80::ff:fe00:2"}) {
    SCOPED_TRACE(address);
    EXPECT_EQ(host_.state_of(address), State::kProbing);
    const auto questions = host_.take_sent();
    ASSERT_EQ(questions.size(), 1u);
    EXPECT_TRUE(peer.receive(questions[0]));
    const auto answers = peer.take_sent();
    ASSERT_EQ(answers.size(), 1u);
    EXPECT_TRUE(host_.receive(answers[0]));
    EXPECT_EQ(host_.resolve(address).state, State::kReachable);
    EXPECT_EQ(host_.resolve(address).mac, mac(kPeerMac));
  }
  EXPECT_THAT(host_.take_sent(), testing::IsEmpty());
  EXPECT_EQ(host_.cache().next_timeout() == kNever, false) << "an early deadline is left over";
  host_.run_for(10s);
  EXPECT_EQ(host_.cache().next_timeout(), kNever);
  EXPECT_THAT(host_.take_sent(), testing::IsEmpty());
}

TEST_F(NeighborCacheTest, AsksForAddressesOutsideOfItsPrefixAllTheSame) {
  EXPECT_EQ(host_.state_of("::ffff:192.168.77.5"), State::kProbing);
  EXPECT_EQ(host_.take_sent().size(), 1u);
}

TEST_F(NeighborCacheTest, AsksFourTimesEverMoreSlowlyAndThenGivesUp) {
  host_.resolve(kPeer);
  EXPECT_EQ(host_.take_sent().size(), 1u);
  host_.run_for(99ms);
  EXPECT_EQ(host_.take_sent().size(), 0u);
  host_.run_for(1ms);
  EXPECT_EQ(host_.take_sent().size(), 1u);
  host_.run_for(200ms);
  EXPECT_EQ(host_.take_sent().size(), 1u);
  host_.run_for(400ms);
  EXPECT_EQ(host_.take_sent().size(), 1u);
  host_.run_for(799ms);
  EXPECT_EQ(host_.state_of(kPeer), State::kProbing);
  host_.run_for(1ms);
  EXPECT_EQ(host_.state_of(kPeer), State::kFailed);
  EXPECT_EQ(host_.take_sent().size(), 0u);
  EXPECT_EQ(host_.counter(NeighborCounter::kUnreachable), 1u);
  EXPECT_EQ(host_.counter(NeighborCounter::kRequestsSent), 4u);
}

TEST_F(NeighborCacheTest, AsksAgainForAnUnreachableAddressASecondLaterAtTheEarliestAndOnlyWhenWanted) {
  host_.resolve(kPeer);
  host_.run_for(1500ms);
  host_.take_sent();
  EXPECT_EQ(host_.state_of(kPeer), State::kFailed);
  host_.run_for(999ms);
  EXPECT_EQ(host_.state_of(kPeer), State::kFailed);
  host_.run_for(10s);
  EXPECT_THAT(host_.take_sent(), testing::IsEmpty());
  EXPECT_EQ(host_.state_of(kPeer), State::kProbing);
  EXPECT_EQ(host_.take_sent().size(), 1u);
}

TEST_F(NeighborCacheTest, AsksAgainAtOnceWhenAProgramDoesAndOnlyForWhatFailed) {
  const auto ask_anew = [this](std::string_view address) {
    host_.cache().ask_anew(gid(address), host_.now());
    return host_.take_sent().size();
  };
  EXPECT_EQ(ask_anew(kPeer), 0u) << "unknown";
  host_.resolve(kPeer);
  host_.take_sent();
  EXPECT_EQ(ask_anew(kPeer), 0u) << "asked for";
  host_.run_for(1500ms);
  host_.take_sent();
  EXPECT_EQ(ask_anew(kPeer), 1u);
  EXPECT_EQ(host_.state_of(kPeer), State::kProbing);
  host_.receive(peer_says_it_is_at(kPeerMac));
  EXPECT_EQ(ask_anew(kPeer), 0u) << "reachable";
}

TEST_F(NeighborCacheTest, RevivesAnUnreachableNeighborThatSpeaksUp) {
  host_.resolve(kPeer);
  host_.run_for(1500ms);
  host_.receive(peer_says_it_is_at(kPeerMac));
  EXPECT_EQ(host_.state_of(kPeer), State::kReachable);
}

TEST_F(NeighborCacheTest, ChangesItsGenerationWithEveryStateAndMacAndNotOtherwise) {
  std::uint32_t before = host_.cache().generation();
  const auto changed = [&] { return std::exchange(before, host_.cache().generation()) != before; };
  host_.resolve(kPeer);
  EXPECT_TRUE(changed());
  host_.resolve(kPeer);
  EXPECT_FALSE(changed());
  host_.receive(peer_says_it_is_at(kPeerMac));
  EXPECT_TRUE(changed());
  host_.receive(peer_says_it_is_at(kPeerMac));
  host_.run_for(10s);
  host_.suspect(kPeer);
  host_.run_for(10s);
  EXPECT_FALSE(changed());
  host_.receive(peer_says_it_is_at(kNewPeerMac));
  EXPECT_TRUE(changed());
}

// --- Suspicion ---

class NeighborCacheWithPeer : public NeighborCacheTest {
 protected:
  NeighborCacheWithPeer() {
    host_.learn(kPeer, kPeerMac);
    host_.learn(kPeerIpv6, kPeerMac);
    host_.run_for(10s);
  }
  Mac peer_mac() { return host_.resolve(kPeer).mac; }
  Mac peer_ipv6_mac() { return host_.resolve(kPeerIpv6).mac; }
};

TEST_F(NeighborCacheWithPeer, AsksAgainForASuspectAndGoesOnUsingItsMac) {
  host_.suspect(kPeer);
  EXPECT_EQ(host_.take_sent().size(), 1u);
  EXPECT_EQ(host_.state_of(kPeer), State::kReachable);
  EXPECT_EQ(peer_mac(), mac(kPeerMac));
}

TEST_F(NeighborCacheWithPeer, KeepsTheMacOfASuspectThatDoesNotAnswer) {
  host_.suspect(kPeer);
  host_.run_for(10s);
  EXPECT_EQ(host_.take_sent().size(), 4u);
  EXPECT_EQ(host_.state_of(kPeer), State::kReachable);
  EXPECT_EQ(peer_mac(), mac(kPeerMac));
  EXPECT_EQ(host_.counter(NeighborCounter::kUnreachable), 0u);
}

TEST_F(NeighborCacheWithPeer, FollowsASuspectToItsNewMac) {
  host_.suspect(kPeer);
  host_.take_sent();
  host_.receive(peer_says_it_is_at(kNewPeerMac));
  EXPECT_EQ(peer_mac(), mac(kNewPeerMac));
  EXPECT_EQ(host_.counter(NeighborCounter::kMacChanged), 1u);
  host_.run_for(10s);
  EXPECT_THAT(host_.take_sent(), testing::IsEmpty());
}

TEST_F(NeighborCacheWithPeer, AsksForASuspectThatAnswersAtMostOnceASecond) {
  for (int i = 0; i < 1000; ++i) {  // ten seconds of timeouts
    host_.suspect(kPeer);
    host_.run_for(10ms);
    host_.receive(peer_says_it_is_at(kPeerMac));
  }
  EXPECT_EQ(host_.take_sent().size(), 10u);
}

TEST_F(NeighborCacheWithPeer, CannotSuspectWhomItDoesNotKnow) {
  host_.suspect("::ffff:10.9.0.77");
  EXPECT_THAT(host_.take_sent(), testing::IsEmpty());
}

TEST_F(NeighborCacheTest, AsksForAnUnreachableSuspectAgain) {
  host_.resolve(kPeer);
  host_.run_for(2600ms);
  host_.take_sent();
  host_.suspect(kPeer);
  EXPECT_EQ(host_.take_sent().size(), 1u);
}

// --- Learning from traffic ---

TEST_F(NeighborCacheTest, LearnsAnUnknownPeerFromItsTrafficWithoutAsking) {
  host_.learn(kPeer, kPeerMac);
  EXPECT_EQ(host_.resolve(kPeer).state, State::kReachable);
  EXPECT_EQ(host_.resolve(kPeer).mac, mac(kPeerMac));
  EXPECT_THAT(host_.take_sent(), testing::IsEmpty());
}

TEST_F(NeighborCacheTest, LearnsWhileAskingAndStopsAsking) {
  host_.resolve(kPeer);
  host_.learn(kPeer, kPeerMac);
  host_.run_for(10s);
  EXPECT_THAT(host_.take_sent(), testing::IsEmpty());
  EXPECT_EQ(host_.state_of(kPeer), State::kReachable);
}

TEST_F(NeighborCacheWithPeer, AsksInsteadOfBelievingTrafficFromAnotherMac) {
  host_.learn(kPeer, kNewPeerMac);
  EXPECT_EQ(peer_mac(), mac(kPeerMac));
  EXPECT_EQ(host_.take_sent().size(), 1u);
  host_.learn(kPeer, kNewPeerMac);
  EXPECT_EQ(host_.take_sent().size(), 0u);
}

TEST_F(NeighborCacheTest, LearnsNeitherGroupMacsNorOwnOrImpossibleAddresses) {
  host_.learn(kPeer, "ff:ff:ff:ff:ff:ff");
  host_.learn("fd09::3", "01:00:5e:00:00:01");
  host_.learn("fd09::4", "00:00:00:00:00:00");
  host_.learn("::ffff:10.9.0.1", kPeerMac);
  host_.learn("ff02::1", kPeerMac);
  host_.learn("::", kPeerMac);
  EXPECT_EQ(host_.state_of(kPeer), State::kProbing);
  EXPECT_EQ(host_.state_of("fd09::3"), State::kProbing);
  EXPECT_EQ(host_.state_of("fd09::4"), State::kProbing);
  EXPECT_EQ(host_.resolve("::ffff:10.9.0.1").mac, mac(kOwnMac));
  EXPECT_EQ(host_.resolve("ff02::1").mac, mac("33:33:00:00:00:01"));
  EXPECT_EQ(host_.state_of("::"), State::kFailed);
}

// --- Announcements of others ---

TEST_F(NeighborCacheWithPeer, FollowsAGratuitousArp) {
  host_.receive(peer_says_it_is_at(kNewPeerMac));
  EXPECT_EQ(peer_mac(), mac(kNewPeerMac));
}

TEST_F(NeighborCacheWithPeer, FollowsAnAdvertisementOnlyIfItIsMeantToReplace) {
  host_.receive(advertisement(kNewPeerMac, false));
  EXPECT_EQ(peer_ipv6_mac(), mac(kPeerMac));
  host_.receive(advertisement(kNewPeerMac, true));
  EXPECT_EQ(peer_ipv6_mac(), mac(kNewPeerMac));
}

TEST_F(NeighborCacheTest, AddsNobodyOnlyBecauseHeSpeaksOrAsks) {
  host_.receive(peer_says_it_is_at(kPeerMac));
  host_.receive(arp_request(kPeerMac, "10.9.0.2", "10.9.0.1"));
  host_.receive(advertisement(kPeerMac, true));
  host_.take_sent();
  EXPECT_EQ(host_.state_of(kPeer), State::kProbing);
  EXPECT_EQ(host_.state_of(kPeerIpv6), State::kProbing);
}

TEST_F(NeighborCacheWithPeer, TakesNoNoticeOfWhatOthersSayToEachOther) {
  Bytes frame = peer_says_it_is_at(kNewPeerMac);
  std::copy_n(mac("02:00:00:00:00:55").octets.begin(), 6, reinterpret_cast<std::uint8_t*>(frame.data()));
  EXPECT_TRUE(host_.receive(frame));
  EXPECT_EQ(peer_mac(), mac(kPeerMac));
}

// --- Conflicts ---

TEST_F(NeighborCacheTest, CountsWhoeverClaimsAnAddressOfOurs) {
  host_.receive(arp_request(kPeerMac, "10.9.0.1", "10.9.0.1"));
  EXPECT_EQ(host_.counter(NeighborCounter::kAddressConflicts), 1u);
  host_.receive(frame_of(NeighborMessage{.type = NeighborMessage::Type::kAdvertisement,
                                         .replaces = true,
                                         .source = gid("fd09::1"),
                                         .destination = gid("ff02::1"),
                                         .target = gid("fd09::1"),
                                         .link_layer_address = mac(kPeerMac)},
                         kPeerMac, "33:33:00:00:00:01"));
  EXPECT_EQ(host_.counter(NeighborCounter::kAddressConflicts), 2u);
  EXPECT_EQ(host_.resolve("::ffff:10.9.0.1").mac, mac(kOwnMac));
  EXPECT_EQ(host_.resolve("fd09::1").mac, mac(kOwnMac));
}

TEST_F(NeighborCacheTest, DoesNotTakeItsOwnReflectionForAConflict) {
  NeighborHost twin(1);
  twin.run_for(1ms);
  for (const Bytes& frame : twin.take_sent()) EXPECT_TRUE(host_.receive(frame));
  EXPECT_EQ(host_.counter(NeighborCounter::kAddressConflicts), 0u);
}

TEST_F(NeighborCacheTest, DefendsItsAddressAgainstThoseWhoAskWhetherItIsFree) {
  host_.receive(arp_request(kPeerMac, "0.0.0.0", "10.9.0.1"));  // RFC 5227
  EXPECT_EQ(host_.take_sent().size(), 1u);
  EXPECT_EQ(host_.counter(NeighborCounter::kAddressConflicts), 0u);
}

// --- Bounds ---

TEST_F(NeighborCacheTest, HasABoundedNumberOfPendingRepliesAndCountsTheOthers) {
  for (int i = 0; i < 1000; ++i) host_.receive(arp_request(kPeerMac, "10.9.0.2", "10.9.0.1"));
  EXPECT_EQ(host_.take_sent().size(), 256u);
  EXPECT_EQ(host_.counter(NeighborCounter::kRepliesDropped), 744u);
  host_.receive(arp_request(kPeerMac, "10.9.0.2", "10.9.0.1"));
  EXPECT_EQ(host_.take_sent().size(), 1u);
}

Gid numbered(std::uint32_t n) {
  Gid address = gid("fd09::5:0:0");
  address.octets[14] = static_cast<std::uint8_t>(n >> 8);
  address.octets[15] = static_cast<std::uint8_t>(n);
  return address;
}

TEST_F(NeighborCacheTest, HasNoRoomWhileATableFullOfAddressesIsBeingAskedFor) {
  for (std::uint32_t n = 0; n < NeighborTable::kCapacity; ++n) {
    ASSERT_EQ(host_.cache().resolve(numbered(n), host_.now()).state, State::kProbing);
  }
  EXPECT_EQ(host_.state_of(kPeer), State::kUnknown);
  EXPECT_EQ(host_.take_sent().size(), NeighborTable::kCapacity);
  const std::uint32_t before = host_.cache().generation();
  host_.run_for(1500ms);
  EXPECT_NE(host_.cache().generation(), before);
  host_.take_sent();
  EXPECT_EQ(host_.state_of(kPeer), State::kProbing);
  EXPECT_EQ(host_.take_sent().size(), 1u);
}

TEST_F(NeighborCacheTest, ChangesItsGenerationWhenASuspectMakesRoomForWhomItRefused) {
  for (std::uint32_t n = 0; n < NeighborTable::kCapacity; ++n) {
    host_.cache().learn(numbered(n), mac(kPeerMac), host_.now());
    host_.cache().suspect(numbered(n), host_.now());
  }
  EXPECT_EQ(host_.state_of(kPeer), State::kUnknown);
  host_.take_sent();
  const std::uint32_t before = host_.cache().generation();
  host_.cache().learn(numbered(0), mac(kPeerMac), host_.now());
  EXPECT_NE(host_.cache().generation(), before);
  EXPECT_EQ(host_.state_of(kPeer), State::kProbing);
}

TEST_F(NeighborCacheTest, GivesUpTheLeastRecentlyUsedNeighborForANewOne) {
  for (std::uint32_t n = 0; n < NeighborTable::kCapacity; ++n) {
    host_.cache().learn(numbered(n), mac(kPeerMac), host_.now());
    host_.run_for(1us);
  }
  host_.cache().resolve(numbered(0), host_.now());
  host_.learn(kPeer, kPeerMac);
  host_.run_for(1us);
  EXPECT_EQ(host_.cache().resolve(numbered(0), host_.now()).state, State::kReachable);
  EXPECT_EQ(host_.state_of(kPeer), State::kReachable);
  EXPECT_EQ(host_.cache().resolve(numbered(1), host_.now()).state, State::kProbing);
}

// --- Time ---

TEST_F(NeighborCacheTest, WantsToBeServedWhileFramesWait) {
  EXPECT_EQ(host_.cache().next_timeout(), kNever);
  host_.resolve(kPeer);
  EXPECT_LE(host_.cache().next_timeout(), host_.now());
  host_.take_sent();
  EXPECT_EQ(host_.cache().next_timeout(), host_.now() + 100ms);
  host_.receive(arp_request(kPeerMac, "10.9.0.2", "10.9.0.1"));
  EXPECT_LE(host_.cache().next_timeout(), host_.now());
}

TEST_F(NeighborCacheTest, MeasuresTheWaitForAnAnswerFromWhenTheQuestionLeft) {
  host_.resolve(kPeer);
  host_.cache().on_timeout(host_.now() + 10s);  // the port was full all the time
  EXPECT_EQ(host_.take_sent().size(), 1u);
  EXPECT_EQ(host_.state_of(kPeer), State::kProbing);
  EXPECT_EQ(host_.cache().next_timeout(), host_.now() + 100ms);
}

// --- Hostile frames ---

TEST_F(NeighborCacheTest, CountsMalformedMessagesAndAnswersNone) {
  Bytes truncated = arp_request(kPeerMac, "10.9.0.2", "10.9.0.1");
  truncated.resize(truncated.size() - 1);
  EXPECT_TRUE(host_.receive(truncated));
  EXPECT_TRUE(host_.receive(arp_request("ff:ff:ff:ff:ff:ff", "10.9.0.2", "10.9.0.1")));
  EXPECT_TRUE(host_.receive(arp_request("00:00:00:00:00:00", "10.9.0.2", "10.9.0.1")));
  Bytes bad_checksum = advertisement(kPeerMac, true);
  bad_checksum.back() ^= std::byte{1};
  EXPECT_TRUE(host_.receive(bad_checksum));
  EXPECT_EQ(host_.counter(NeighborCounter::kMalformed), 4u);
  EXPECT_THAT(host_.take_sent(), testing::IsEmpty());
}

TEST_F(NeighborCacheWithPeer, SurvivesManyChangedFramesWithItsNeighborsAndNoneMore) {
  const std::vector<Bytes> good = {arp_request(kPeerMac, "10.9.0.2", "10.9.0.1"),
                                   peer_says_it_is_at(kPeerMac), advertisement(kPeerMac, true),
                                   advertisement(kPeerMac, false, true)};
  std::mt19937 random(20);
  for (int i = 0; i < 200'000; ++i) {
    Bytes frame = good[random() % good.size()];
    for (auto changes = 1 + random() % 3; changes > 0; --changes) {
      frame[random() % frame.size()] = static_cast<std::byte>(random());
    }
    frame.resize(frame.size() - (random() % 4 == 0 ? random() % frame.size() : 0));
    host_.receive(frame);
    if (i % 64 == 0) {
      for (const Bytes& sent : host_.take_sent()) ASSERT_LE(sent.size(), NeighborCache::kMaxFrameBytes);
    }
  }
  EXPECT_EQ(host_.state_of(kPeer), State::kReachable);
  EXPECT_FALSE(peer_mac().is_multicast());
  EXPECT_EQ(host_.counter(NeighborCounter::kRequestsSent), 0u);
}

}  // namespace
}  // namespace urnic::nic::test
