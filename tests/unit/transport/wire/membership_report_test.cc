// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Reports of IGMP and MLD, byte by byte as Linux sends them (pcap_fixtures/igmp_mld_linux.pcap).
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tests/unit/transport/wire/captured.h"
#include "tests/unit/transport/wire/membership_capture.h"
#include "transport/wire/byte_order.h"
#include "transport/wire/group_membership.h"
#include "transport/wire/igmp.h"
#include "transport/wire/mld.h"

namespace urnic::transport::wire {
namespace {

using test::Bytes;
using test::kIgmpOffset;
using test::membership_packet;
using test::with_u16;
using test::with_u8;
using State = MembershipState;
using Version = MembershipVersion;

Gid gid(const char* text) {
  return Gid::parse(text).value();
}

const Gid kIpv4Host = gid("::ffff:10.9.0.1");
const Gid kIpv6Host = gid("fe80::ff:fe00:1");
const Gid kIpv4Group = gid("::ffff:239.9.9.9");
const Gid kIpv6Group = gid("ff1e::1234");
const Gid kSolicitedNodeGroup = gid("ff02::1:ff00:1");

using Emit = std::size_t (*)(const MembershipReport&, std::span<std::byte>);

Bytes written(Emit emit, const MembershipReport& report) {
  Bytes packet(MembershipReport::kMaxBytes);
  packet.resize(emit(report, packet));
  return packet;
}

struct Row {
  const char* name;
  Emit emit;
  std::size_t frame;
  const char* destination;
  Version version;
  std::vector<GroupRecord> records;
};

const Row kRows[] = {
    {"join_3", emit_igmp, 2, "224.0.0.22", Version::k3, {{State::kJoined, kIpv4Group}}},
    {"answer_3", emit_igmp, 15, "224.0.0.22", Version::k3, {{State::kMember, kIpv4Group}}},
    {"leave_3", emit_igmp, 16, "224.0.0.22", Version::k3, {{State::kLeft, kIpv4Group}}},
    {"report_2", emit_igmp, 34, "239.9.9.9", Version::k2, {{State::kJoined, kIpv4Group}}},
    {"leave_2", emit_igmp, 40, "224.0.0.2", Version::k2, {{State::kLeft, kIpv4Group}}},
    {"mld_join_2", emit_mld, 3, "ff02::16", Version::k3, {{State::kJoined, kIpv6Group}}},
    {"mld_answer_2",
     emit_mld,
     13,
     "ff02::16",
     Version::k3,
     {{State::kMember, kIpv6Group}, {State::kMember, kSolicitedNodeGroup}}},
    {"mld_leave_2", emit_mld, 18, "ff02::16", Version::k3, {{State::kLeft, kIpv6Group}}},
    {"mld_report_1", emit_mld, 33, "ff1e::1234", Version::k2, {{State::kJoined, kIpv6Group}}},
    {"mld_done_1", emit_mld, 42, "ff02::2", Version::k2, {{State::kLeft, kIpv6Group}}},
};

class MembershipReportOf : public testing::TestWithParam<Row> {};

TEST_P(MembershipReportOf, Linux) {
  const Row& row = GetParam();
  const bool is_igmp = row.emit == emit_igmp;
  const MembershipReport report{
      .version = row.version, .source = is_igmp ? kIpv4Host : kIpv6Host, .records = row.records};
  EXPECT_EQ(written(row.emit, report), membership_packet(row.frame));
  if (is_igmp) {
    EXPECT_EQ(igmp_destination(report), Ipv4Address::parse(row.destination));
  } else {
    EXPECT_EQ(mld_destination(report), gid(row.destination));
  }
}

INSTANTIATE_TEST_SUITE_P(Each, MembershipReportOf, testing::ValuesIn(kRows),
                         [](const auto& row) { return std::string(row.param.name); });

// RFC 1112: type 0x12 in place of version 2's 0x16, and the group as destination.
TEST(MembershipReport, OfVersion1DiffersInItsTypeFromVersion2) {
  const GroupRecord record{.state = State::kJoined, .group = kIpv4Group};
  const MembershipReport report{.version = Version::k1, .source = kIpv4Host, .records = {&record, 1}};
  const Bytes of_version_2 = membership_packet(34);
  const std::uint16_t checksum = load_u16(of_version_2, kIgmpOffset + 2);
  EXPECT_EQ(written(emit_igmp, report),
            with_u16(with_u8(of_version_2, kIgmpOffset, 0x12), kIgmpOffset + 2, checksum + 0x0400));
  EXPECT_EQ(igmp_destination(report), Ipv4Address::parse("239.9.9.9"));
}

}  // namespace
}  // namespace urnic::transport::wire
