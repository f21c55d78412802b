// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/path/multicast_reports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "nic/port/vlan.h"
#include "tests/unit/nic/path/multicast_host.h"
#include "transport/wire/byte_order.h"
#include "transport/wire/ipv4.h"

namespace urnic::nic::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using transport::kNever;
using transport::wire::load_u16;
using transport::wire::load_u8;

/// The frame with the tag of a VLAN.
Bytes with_tag(Bytes frame, std::uint16_t vlan) {
  const Bytes tag = {std::byte{0x81}, std::byte{0}, static_cast<std::byte>(vlan >> 8),
                     static_cast<std::byte>(vlan)};
  frame.insert(frame.begin() + 12, tag.begin(), tag.end());
  return frame;
}

/// The general query of IGMPv2 with another maximum response time, 0 of which make it version 1's. Its 8
/// bytes are 0x11, the code, the checksum, and zeros.
Bytes general_query(std::uint8_t code) {
  Bytes frame = linux_multicast_frame(kGeneralQuery2);
  frame.at(14 + 24 + 1) = static_cast<std::byte>(code);
  transport::wire::store_u16(frame, 14 + 24 + 2, static_cast<std::uint16_t>(~(0x1100u + code)));
  return frame;
}

/// How many groups reports of IGMPv3 are about.
std::size_t records_in(const std::vector<Bytes>& frames) {
  std::size_t count = 0;
  for (const Bytes& frame : frames) count += load_u16(frame, 14 + 24 + 6);
  return count;
}

std::string numbered_group(std::uint32_t number) {
  return "::ffff:239.1." + std::to_string(number >> 8) + "." + std::to_string(number & 0xff);
}

// --- Against Linux ---

TEST(MulticastReports, AreThoseOfLinux) {
  MulticastHost host;
  host.join(kGroup);
  host.join(kIpv6Group);
  EXPECT_THAT(host.take_sent(), ElementsAre(linux_multicast_frame(kJoin3), linux_multicast_frame(kMldJoin2)));
  host.after_joins();
  host.leave(kGroup);
  host.leave(kIpv6Group);
  EXPECT_THAT(host.take_sent(),
              ElementsAre(linux_multicast_frame(kLeave3), linux_multicast_frame(kMldLeave2)));
}

TEST(MulticastReports, AreThoseOfLinuxWhereAnOlderQuerierIs) {
  MulticastHost host;
  EXPECT_TRUE(host.receive(linux_multicast_frame(kGeneralQuery2)));
  EXPECT_TRUE(host.receive(linux_multicast_frame(kMldGeneralQuery1)));
  host.join(kGroup);
  host.join(kIpv6Group);
  EXPECT_THAT(host.take_sent(),
              ElementsAre(linux_multicast_frame(kReport2), linux_multicast_frame(kMldReport1)));
  host.after_joins();
  host.leave(kGroup);
  host.leave(kIpv6Group);
  EXPECT_THAT(host.take_sent(),
              ElementsAre(linux_multicast_frame(kLeave2), linux_multicast_frame(kMldDone1)));
}

TEST(MulticastReports, AnswerAsLinuxDoes) {
  MulticastHost host;
  host.join(kGroup);
  host.after_joins();
  EXPECT_TRUE(host.receive(linux_multicast_frame(kGroupQuery3)));
  host.run_for(1s);
  EXPECT_THAT(host.take_sent(), ElementsAre(linux_multicast_frame(kAnswer3)));
}

// --- Joining and leaving ---

TEST(MulticastReports, AreTheHostsOverIp) {
  DeviceConfig config = config_of_host(1);
  config.medium = Medium::kIp;
  MulticastHost host(config);
  host.join(kGroup);
  host.run_for(1s);
  host.leave(kGroup);
  EXPECT_THAT(host.take_sent(), IsEmpty());
}

TEST(MulticastReports, OfAJoinLeaveAtOnceAndOnceMoreWithinASecond) {
  std::set<transport::Duration> delays;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    DeviceConfig config = config_of_host(1);
    config.seed = seed;
    MulticastHost host(config);
    const transport::Time start = host.now();
    host.join(kGroup);
    host.run_for(5s);
    const auto sent = host.take_reports();
    ASSERT_THAT(sent, SizeIs(2)) << "seed " << seed;
    EXPECT_EQ(sent[0].at, start);
    EXPECT_EQ(sent[1].frame, sent[0].frame);
    EXPECT_LE(sent[1].at - start, 1s);
    delays.insert(sent[1].at - start);
    EXPECT_EQ(host.reports().next_timeout(), kNever);
  }
  EXPECT_GT(delays.size(), 15u) << "hosts that join together should not speak together";
}

TEST(MulticastReports, AreTheSameForTheSameSeed) {
  const auto second_report = [] {
    MulticastHost host;
    host.join(kGroup);
    host.run_for(2s);
    return host.take_reports().at(1).at;
  };
  EXPECT_EQ(second_report(), second_report());
}

TEST(MulticastReports, AreOfTheFirstMemberThatJoinsAndTheLastOneThatLeaves) {
  MulticastHost host;
  host.join(kGroup);
  host.after_joins();
  host.join(kGroup);
  host.leave(kGroup);
  host.run_for(5s);
  EXPECT_THAT(host.take_sent(), IsEmpty());
  host.leave(kGroup);
  host.run_for(5s);
  EXPECT_THAT(host.take_sent(), ElementsAre(linux_multicast_frame(kLeave3), linux_multicast_frame(kLeave3)));
}

TEST(MulticastReports, OfAJoinTakeThePlaceOfThoseOfALeave) {
  MulticastHost host;
  host.join(kGroup);
  host.after_joins();
  host.leave(kGroup);
  EXPECT_THAT(host.take_sent(), ElementsAre(linux_multicast_frame(kLeave3)));
  host.join(kGroup);
  host.run_for(5s);
  EXPECT_THAT(host.take_sent(), ElementsAre(linux_multicast_frame(kJoin3), linux_multicast_frame(kJoin3)));
}

TEST(MulticastReports, OfManyGroupsShareFrames) {
  MulticastHost host;
  for (std::uint32_t i = 0; i < 25; ++i) host.join(numbered_group(i));
  const auto sent = host.take_sent();
  EXPECT_THAT(sent, SizeIs(3));
  EXPECT_EQ(records_in(sent), 25u);
}

TEST(MulticastReports, AreNotOfGroupsThatEveryHostIsInOrThatNeverLeaveIt) {
  MulticastHost host;
  for (const auto group : {"::ffff:224.0.0.1", "ff02::1", "ff01::1234", "ff11::1", "ff00::1"}) {
    host.join(group);
    host.leave(group);
  }
  host.run_for(5s);
  EXPECT_THAT(host.take_sent(), IsEmpty());
  host.join("ff02::2");
  EXPECT_THAT(host.take_sent(), SizeIs(1)) << "but of others on the link";
}

TEST(MulticastReports, ComeFromNoAddressWhereThereIsNone) {
  DeviceConfig config = config_of_host(1);
  config.ipv4.reset();
  MulticastHost host(config);
  host.join(kGroup);
  const auto sent = host.take_sent();
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_TRUE(transport::wire::Ipv4::parse(std::span(sent[0]).subspan(14)).value().source.is_unspecified());
}

TEST(MulticastReports, AreForAsManyGroupsAsTheDeviceAllows) {
  MulticastHost host;
  for (std::uint32_t i = 0; i < DeviceLimits::kMaxGroupMembers; ++i) {
    ASSERT_TRUE(host.reports().has_room_for(gid(numbered_group(i))));
    host.join(numbered_group(i));
  }
  EXPECT_FALSE(host.reports().has_room_for(gid(kGroup)));
  EXPECT_TRUE(host.reports().has_room_for(gid(numbered_group(7)))) << "a group that is known";
  EXPECT_TRUE(host.reports().has_room_for(gid("ff02::1"))) << "a group that needs no report";
  host.leave(numbered_group(7));
  ASSERT_TRUE(host.reports().has_room_for(gid(kGroup))) << "in the place of one that was left";
  host.join(kGroup);
  EXPECT_FALSE(host.reports().has_room_for(gid("ff1e::1")));
  EXPECT_EQ(records_in(host.take_sent()), DeviceLimits::kMaxGroupMembers);
}

// --- Queries ---

class MulticastMember : public testing::Test {
 protected:
  MulticastMember() {
    host_.join(kGroup);
    host_.join(kIpv6Group);
    host_.after_joins();
  }
  std::vector<SentReport> answers_to(const Bytes& query, transport::Duration within) {
    EXPECT_TRUE(host_.receive(query));
    host_.run_for(within);
    return host_.take_reports();
  }

  MulticastHost host_;
};

TEST_F(MulticastMember, AnswersAQueryOnceWithinTheTimeThatItGives) {
  for (const std::size_t query : {kGeneralQuery3, kGroupQuery3, kMldGeneralQuery2, kMldGroupQuery2}) {
    std::set<transport::Duration> delays;
    for (int i = 0; i < 20; ++i) {
      const transport::Time asked_at = host_.now();
      const auto answers = answers_to(linux_multicast_frame(query), 1s);
      ASSERT_THAT(answers, SizeIs(1)) << "query " << query;
      delays.insert(answers[0].at - asked_at);
      host_.run_for(10s);
      EXPECT_THAT(host_.take_sent(), IsEmpty());
    }
    EXPECT_GT(delays.size(), 15u);
  }
  EXPECT_EQ(host_.reports().counter(MulticastCounter::kQueriesReceived), 80u);
}

TEST(MulticastReports, AnswerNoQueryForOtherGroups) {
  MulticastHost other;
  other.join("::ffff:239.9.9.8");
  other.join("ff1e::1235");
  other.after_joins();
  EXPECT_TRUE(other.receive(linux_multicast_frame(kGroupQuery3)));
  EXPECT_TRUE(other.receive(linux_multicast_frame(kMldGroupQuery2)));
  EXPECT_EQ(other.reports().next_timeout(), kNever);
}

TEST_F(MulticastMember, AnswersNoMoreOnceItHasLeft) {
  EXPECT_TRUE(host_.receive(linux_multicast_frame(kGeneralQuery3)));
  host_.leave(kGroup);
  EXPECT_THAT(host_.take_sent(), ElementsAre(linux_multicast_frame(kLeave3)));
  EXPECT_TRUE(host_.receive(linux_multicast_frame(kGroupQuery3)));
  host_.run_for(5s);
  EXPECT_THAT(host_.take_sent(), ElementsAre(linux_multicast_frame(kLeave3)));
}

TEST_F(MulticastMember, AnswersManyQueriesNotMoreOftenThanAPauseAllows) {
  const Bytes query = general_query(1);  // within 100 ms
  for (int i = 0; i < 10'000; ++i) {
    host_.receive(query);
    host_.run_for(100us);
  }
  EXPECT_LE(host_.take_sent().size(), 11u);
  EXPECT_GE(host_.reports().counter(MulticastCounter::kReportsSent), 5u);
}

TEST_F(MulticastMember, WithManyGroupsAnswersInFewFrames) {
  for (std::uint32_t i = 0; i < 99; ++i) host_.join(numbered_group(i));
  host_.after_joins();
  const auto answers = answers_to(linux_multicast_frame(kGeneralQuery3), 1s);
  EXPECT_THAT(answers, SizeIs(10));
}

// --- Older versions ---

TEST_F(MulticastMember, SpeaksTheOlderVersionUntilItsQuerierWasQuietFor260Seconds) {
  EXPECT_EQ(answers_to(linux_multicast_frame(kGeneralQuery2), 1s).at(0).frame,
            linux_multicast_frame(kReport2));
  EXPECT_EQ(answers_to(linux_multicast_frame(kGeneralQuery3), 1s).at(0).frame,
            linux_multicast_frame(kReport2))
      << "a query of the newer version changes nothing";
  EXPECT_EQ(answers_to(linux_multicast_frame(kMldGeneralQuery1), 1s).at(0).frame,
            linux_multicast_frame(kMldReport1));
  host_.run_for(256s);
  EXPECT_EQ(answers_to(linux_multicast_frame(kGeneralQuery3), 1s).at(0).frame,
            linux_multicast_frame(kReport2));
  host_.run_for(5s);
  const auto answers = answers_to(linux_multicast_frame(kGeneralQuery3), 1s);
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_EQ(load_u8(answers[0].frame, 14 + 24), 0x22u);
}

TEST_F(MulticastMember, DoesNotMixTheVersionsOfIpv4AndIpv6) {
  EXPECT_TRUE(host_.receive(linux_multicast_frame(kGeneralQuery2)));
  host_.run_for(1s);
  host_.take_sent();
  host_.leave(kIpv6Group);
  EXPECT_THAT(host_.take_sent(), ElementsAre(linux_multicast_frame(kMldLeave2)));
}

TEST_F(MulticastMember, DrawsATimeForEachGroupWhereEachHasItsReport) {
  for (std::uint32_t i = 0; i < 9; ++i) host_.join(numbered_group(i));
  host_.after_joins();
  const auto answers = answers_to(linux_multicast_frame(kGeneralQuery2), 1s);
  ASSERT_THAT(answers, SizeIs(10));
  std::set<transport::Time> times;
  for (const SentReport& answer : answers) times.insert(answer.at);
  EXPECT_GT(times.size(), 5u);
}

TEST_F(MulticastMember, ReportsButDoesNotLeaveWhereVersion1IsSpoken) {
  const auto answers = answers_to(general_query(0), 10s);
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_EQ(load_u8(answers[0].frame, 14 + 24), 0x12u);
  host_.leave(kGroup);
  host_.run_for(5s);
  EXPECT_THAT(host_.take_sent(), IsEmpty());
  EXPECT_EQ(host_.reports().next_timeout(), kNever);
}

// --- Frames ---

TEST_F(MulticastMember, DoesNotHearQueriesOfAnotherVlanAndItsOwn) {
  EXPECT_FALSE(host_.receive(with_tag(linux_multicast_frame(kGeneralQuery3), 5)));
  Bytes own = linux_multicast_frame(kGeneralQuery3);
  own.at(11) = std::byte{1};
  EXPECT_TRUE(host_.receive(own));
  Bytes for_another = linux_multicast_frame(kGeneralQuery3);
  for_another.at(0) = std::byte{2};
  EXPECT_TRUE(host_.receive(for_another));
  EXPECT_EQ(host_.reports().next_timeout(), kNever);
}

TEST(MulticastReports, OnAVlanHaveItsTag) {
  DeviceConfig config = config_of_host(1);
  config.vlan = 77;
  MulticastHost host(config);
  host.join(kGroup);
  EXPECT_THAT(host.take_sent(), ElementsAre(with_tag(linux_multicast_frame(kJoin3), 77)));
  EXPECT_FALSE(host.receive(linux_multicast_frame(kGeneralQuery3)));
  EXPECT_TRUE(host.receive(with_tag(linux_multicast_frame(kGeneralQuery3), 77)));
}

TEST_F(MulticastMember, LeavesEverythingElseToOthers) {
  for (const std::size_t report : {kJoin3, kLeave2, kMldJoin2, kMldDone1}) {
    EXPECT_FALSE(host_.receive(linux_multicast_frame(report))) << report;
  }
  EXPECT_FALSE(host_.receive({}));
  EXPECT_FALSE(host_.receive(Bytes(60)));
  const Bytes query = linux_multicast_frame(kMldGeneralQuery2);
  for (std::size_t size = 0; size < query.size(); ++size) {
    EXPECT_FALSE(host_.receive(Bytes(query.begin(), query.begin() + static_cast<std::ptrdiff_t>(size))));
  }
  EXPECT_EQ(host_.reports().next_timeout(), kNever);
}

}  // namespace
}  // namespace urnic::nic::test
