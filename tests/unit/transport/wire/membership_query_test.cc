// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Queries of IGMP and MLD from a Linux bridge (pcap_fixtures/igmp_mld_linux.pcap), with the values that
// tshark shows, and what is wrong with changed ones.
#include <gtest/gtest.h>

#include <optional>
#include <span>
#include <string_view>

#include "tests/unit/transport/wire/captured.h"
#include "tests/unit/transport/wire/membership_capture.h"
#include "transport/wire/byte_order.h"
#include "transport/wire/group_membership.h"
#include "transport/wire/igmp.h"
#include "transport/wire/internet_checksum.h"
#include "transport/wire/ipv4.h"
#include "transport/wire/ipv6.h"
#include "transport/wire/mld.h"

namespace urnic::transport::wire {
namespace {

using test::Bytes;
using test::hex;
using test::kIgmpOffset;
using test::kMldOffset;
using test::membership_packet;
using test::with_u16;
using test::with_u8;
using Version = MembershipVersion;

Gid gid_of(std::string_view text) {
  return Gid::parse(text).value();
}

/// The packet with the checksums and lengths that belong to its bytes.
Bytes repaired_igmp(Bytes packet, std::size_t igmp_at = kIgmpOffset) {
  const std::span<std::byte> all = packet;
  store_u16(all, 2, static_cast<std::uint16_t>(packet.size()));
  store_u16(all, 10, 0);
  store_u16(all, 10, ipv4_header_checksum(all.first(igmp_at)));
  if (packet.size() < igmp_at + 4) return packet;
  store_u16(all, igmp_at + 2, 0);
  InternetChecksum checksum;
  checksum.add(all.subspan(igmp_at));
  store_u16(all, igmp_at + 2, checksum.value());
  return packet;
}

Bytes repaired_mld(Bytes packet, std::size_t icmp_at = kMldOffset) {
  const std::span<std::byte> all = packet;
  store_u16(all, 4, static_cast<std::uint16_t>(packet.size() - Ipv6::kBytes));
  if (packet.size() < icmp_at + 4) return packet;
  store_u16(all, icmp_at + 2, 0);
  InternetChecksum checksum;
  checksum.add_pseudo_header(load_address<Ipv6Address>(all, 8), load_address<Ipv6Address>(all, 24),
                             IpProtocol::kIcmpv6, static_cast<std::uint32_t>(packet.size() - icmp_at));
  checksum.add(all.subspan(icmp_at));
  store_u16(all, icmp_at + 2, checksum.value());
  return packet;
}

/// Longer by `size` bytes of zero, or shorter.
Bytes resized(Bytes packet, std::ptrdiff_t size) {
  packet.resize(packet.size() + static_cast<std::size_t>(size));
  return packet;
}

std::optional<MembershipQuery> query_of(Version version, std::string_view group, std::uint32_t ms) {
  return MembershipQuery{.version = version, .group = gid_of(group), .max_response_ms = ms};
}

TEST(IgmpQuery, OfLinuxSaysWhatTsharkShows) {
  EXPECT_EQ(parse_igmp_query(membership_packet(6)), query_of(Version::k3, "::", 1000));
  EXPECT_EQ(parse_igmp_query(membership_packet(17)), query_of(Version::k3, "::ffff:239.9.9.9", 1000));
  EXPECT_EQ(parse_igmp_query(membership_packet(28)), query_of(Version::k2, "::", 1000));
  EXPECT_EQ(parse_igmp_query(membership_packet(41)), query_of(Version::k2, "::ffff:239.9.9.9", 1000));
}

TEST(IgmpQuery, ReportsOfLinuxAreNone) {
  for (const std::size_t number : {2u, 8u, 16u, 34u, 40u}) {
    EXPECT_FALSE(parse_igmp_query(membership_packet(number))) << number;
  }
  EXPECT_FALSE(parse_igmp_query(membership_packet(5))) << "IPv6";
}

TEST(IgmpQuery, OfVersion1HasNoResponseTimeAndMeansTenSeconds) {
  EXPECT_EQ(parse_igmp_query(repaired_igmp(with_u8(membership_packet(28), kIgmpOffset + 1, 0))),
            query_of(Version::k1, "::", 10'000));
}

TEST(IgmpQuery, CountsItsResponseTimeInTenthsOfASecond) {
  const auto response = [](std::size_t number, unsigned code) {
    const auto query =
        parse_igmp_query(repaired_igmp(with_u8(membership_packet(number), kIgmpOffset + 1, code)));
    return query ? query->max_response_ms : 0;
  };
  EXPECT_EQ(response(28, 1), 100u);
  EXPECT_EQ(response(28, 255), 25'500u) << "version 2 knows no exponents";
  EXPECT_EQ(response(6, 127), 12'700u);
  EXPECT_EQ(response(6, 0x80), 12'800u);     // 16 << 3
  EXPECT_EQ(response(6, 0x9f), 49'600u);     // 31 << 4
  EXPECT_EQ(response(6, 0xff), 3'174'400u);  // 31 << 10
}

TEST(IgmpQuery, IsTakenWithPaddingWithoutRouterAlertAndWithAnyTtl) {
  EXPECT_TRUE(parse_igmp_query(resized(membership_packet(28), 14)));
  Bytes plain = membership_packet(28);
  plain.erase(plain.begin() + 20, plain.begin() + 24);
  EXPECT_TRUE(parse_igmp_query(repaired_igmp(with_u8(plain, 0, 0x45), 20)));
  EXPECT_TRUE(parse_igmp_query(repaired_igmp(with_u8(membership_packet(28), 8, 64))));
}

TEST(IgmpQuery, ThatIsWrongIsNone) {
  const Bytes version3 = membership_packet(6);
  const Bytes version2 = membership_packet(28);
  EXPECT_FALSE(parse_igmp_query(with_u16(version3, kIgmpOffset + 2, 0x1234))) << "checksum";
  EXPECT_FALSE(parse_igmp_query(repaired_igmp(with_u8(version3, 9, 17)))) << "UDP";
  EXPECT_FALSE(parse_igmp_query(repaired_igmp(with_u8(version3, 6, 0x20)))) << "a fragment";
  EXPECT_FALSE(parse_igmp_query(repaired_igmp(with_u8(version3, kIgmpOffset, 0x16)))) << "a report";
  EXPECT_FALSE(parse_igmp_query(repaired_igmp(with_u8(version3, kIgmpOffset + 4, 10))))
      << "10.0.0.0 is no group";
  for (const std::ptrdiff_t more : {1, 3}) {
    EXPECT_FALSE(parse_igmp_query(repaired_igmp(resized(version2, more)))) << "between two versions";
  }
  EXPECT_TRUE(parse_igmp_query(repaired_igmp(resized(version2, 4))));
}

TEST(IgmpQuery, CutShortIsNoneAndReadsNothingBehindItsEnd) {
  for (const std::size_t number : {6u, 28u}) {
    const Bytes whole = membership_packet(number);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_FALSE(parse_igmp_query(cut)) << size;
      // 8 bytes of a query of version 3 are one of version 2.
      if (size >= kIgmpOffset && size != kIgmpOffset + 8) {
        EXPECT_FALSE(parse_igmp_query(repaired_igmp(cut))) << size;
      }
    }
  }
}

TEST(MldQuery, OfLinuxSaysWhatTsharkShows) {
  EXPECT_EQ(parse_mld_query(membership_packet(5)), query_of(Version::k3, "::", 1000));
  EXPECT_EQ(parse_mld_query(membership_packet(19)), query_of(Version::k3, "ff1e::1234", 1000));
  EXPECT_EQ(parse_mld_query(membership_packet(27)), query_of(Version::k2, "::", 1000));
  EXPECT_EQ(parse_mld_query(membership_packet(43)), query_of(Version::k2, "ff1e::1234", 1000));
}

TEST(MldQuery, ReportsOfLinuxAreNone) {
  for (const std::size_t number : {3u, 10u, 18u, 33u, 42u}) {
    EXPECT_FALSE(parse_mld_query(membership_packet(number))) << number;
  }
  EXPECT_FALSE(parse_mld_query(membership_packet(6))) << "IPv4";
}

TEST(MldQuery, CountsItsResponseTimeInMilliseconds) {
  const auto response = [](std::size_t number, unsigned code) {
    const auto query =
        parse_mld_query(repaired_mld(with_u16(membership_packet(number), kMldOffset + 4, code)));
    return query ? query->max_response_ms : 1;
  };
  EXPECT_EQ(response(27, 0xffff), 65'535u) << "version 1 knows no exponents";
  EXPECT_EQ(response(5, 0), 0u);
  EXPECT_EQ(response(5, 0x7fff), 32'767u);
  EXPECT_EQ(response(5, 0x8000), 32'768u);     // 4096 << 3
  EXPECT_EQ(response(5, 0xffff), 8'387'584u);  // 8191 << 10
}

TEST(MldQuery, NeedsTheRouterAlertOptionOfMld) {
  // Next header, length, the options.
  const auto with_options = [](std::string_view header) {
    Bytes packet = membership_packet(5);
    packet.erase(packet.begin() + 40, packet.begin() + 48);
    const Bytes options = hex(header);
    packet.insert(packet.begin() + 40, options.begin(), options.end());
    return parse_mld_query(repaired_mld(packet, 40 + options.size()));
  };
  EXPECT_TRUE(with_options("3a00 0502 0000 0100"));
  EXPECT_TRUE(with_options("3a00 0000 0502 0000")) << "after padding of one byte each";
  EXPECT_TRUE(with_options("3a01 0106 000000000000 0502 0000 0000")) << "in the second unit";
  EXPECT_FALSE(with_options("3a00 0502 0001 0100")) << "RSVP's";
  EXPECT_FALSE(with_options("3a00 0501 0001 0100")) << "of another length";
  EXPECT_FALSE(with_options("3a00 0104 00000000")) << "without";
  EXPECT_FALSE(with_options("3a00 01ff 0502 0000")) << "an option that is longer than the header";
  EXPECT_FALSE(with_options("3a00 0000 00000005")) << "an option without a length";
  EXPECT_FALSE(with_options("1100 0502 0000 0100")) << "in front of UDP";
  EXPECT_FALSE(with_options("3aff 0502 0000 0100")) << "a header that is longer than the packet";
}

TEST(MldQuery, ThatIsWrongIsNone) {
  const Bytes version2 = membership_packet(5);
  const Bytes version1 = membership_packet(27);
  EXPECT_FALSE(parse_mld_query(with_u16(version2, kMldOffset + 2, 0x1234))) << "checksum";
  EXPECT_FALSE(parse_mld_query(with_u8(version2, 7, 2))) << "from beyond a router";
  EXPECT_FALSE(parse_mld_query(repaired_mld(with_u16(version2, 8, 0xfd09)))) << "not from this link";
  EXPECT_FALSE(parse_mld_query(repaired_mld(with_u8(version2, kMldOffset, 143)))) << "a report";
  EXPECT_FALSE(parse_mld_query(repaired_mld(with_u8(version2, kMldOffset + 8, 0xfd))))
      << "fd00:: is no group";
  EXPECT_FALSE(parse_mld_query(with_u8(version2, 6, 58))) << "no options";
  for (const std::ptrdiff_t more : {1, 3}) {
    EXPECT_FALSE(parse_mld_query(repaired_mld(resized(version1, more)))) << "between two versions";
  }
}

TEST(MldQuery, CutShortIsNoneAndReadsNothingBehindItsEnd) {
  for (const std::size_t number : {5u, 27u}) {
    const Bytes whole = membership_packet(number);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_FALSE(parse_mld_query(cut)) << size;
      // 24 bytes of a query of version 2 are one of version 1.
      if (size >= Ipv6::kBytes && size != kMldOffset + 24) {
        EXPECT_FALSE(parse_mld_query(repaired_mld(cut))) << size;
      }
    }
  }
}

}  // namespace
}  // namespace urnic::transport::wire
