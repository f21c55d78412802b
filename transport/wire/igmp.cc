// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/wire/igmp.h"

#include <array>
#include <cassert>
#include <cstdint>

#include "transport/types.h"
#include "transport/wire/byte_order.h"
#include "transport/wire/internet_checksum.h"
#include "transport/wire/ipv4.h"

namespace urnic::transport::wire {
namespace {

enum class IgmpType : std::uint8_t {
  kQuery = 0x11,
  kReport1 = 0x12,
  kReport2 = 0x16,
  kLeave2 = 0x17,
  kReport3 = 0x22,
};

/// Type, a byte of the type's own, checksum, and a group in all but version 3's report.
constexpr std::size_t kIgmpBytes = 8;
/// The shortest query of version 3. Between the two there is no version (RFC 3376).
constexpr std::size_t kIgmpQuery3Bytes = 12;
constexpr std::size_t kIgmpRecordBytes = 8;

constexpr std::size_t kMaxResponseAt = 1;
constexpr std::size_t kIgmpChecksumAt = 2;
constexpr std::size_t kIgmpGroupAt = 4;
constexpr std::size_t kIgmpRecordCountAt = 6;

constexpr Ipv4Address kAllRouters{{224, 0, 0, 2}};
constexpr Ipv4Address kIgmp3Routers{{224, 0, 0, 22}};

/// Option 148, 4 bytes long: routers look at the packet (RFC 2113).
constexpr std::array<std::byte, 4> kRouterAlert = {std::byte{0x94}, std::byte{4}, std::byte{0}, std::byte{0}};
/// Internetwork control, as version 3 is sent.
constexpr std::uint8_t kInternetworkControl = 0xc0;

bool is_igmp_right(std::span<const std::byte> igmp) {
  InternetChecksum checksum;
  checksum.add(igmp);
  return checksum.is_right();
}

/// Tenths of a second; in version 3 values from 128 on are floating-point.
std::uint32_t igmp_response_ms(std::uint8_t code, MembershipVersion version) {
  constexpr std::uint32_t kUnitMs = 100;
  constexpr std::uint32_t kVersion1Ms = 10'000;
  if (version == MembershipVersion::k1) return kVersion1Ms;
  if (version == MembershipVersion::k2 || code < 0x80) return code * kUnitMs;
  const std::uint32_t mantissa = (code & 0xfu) | 0x10u;
  return (mantissa << (((code >> 4) & 7u) + 3)) * kUnitMs;
}

std::optional<MembershipVersion> igmp_version_of(std::span<const std::byte> query) {
  if (query.size() >= kIgmpQuery3Bytes) return MembershipVersion::k3;
  if (query.size() != kIgmpBytes) return std::nullopt;
  return load_u8(query, kMaxResponseAt) == 0 ? MembershipVersion::k1 : MembershipVersion::k2;
}

IgmpType igmp_type_of(const MembershipReport& report) {
  if (report.version == MembershipVersion::k3) return IgmpType::kReport3;
  if (report.version == MembershipVersion::k1) return IgmpType::kReport1;
  return report.records[0].state == MembershipState::kLeft ? IgmpType::kLeave2 : IgmpType::kReport2;
}

/// Writes everything after the IPv4 header, except the checksum; returns the size.
std::size_t write_igmp(const MembershipReport& report, std::span<std::byte> out) {
  const IgmpType type = igmp_type_of(report);
  store_u64(out, 0, 0);
  store_u8(out, 0, to_integer(type));
  if (type != IgmpType::kReport3) {
    store_address(out, kIgmpGroupAt, report.records[0].group.ipv4());
    return kIgmpBytes;
  }
  store_u16(out, kIgmpRecordCountAt, static_cast<std::uint16_t>(report.records.size()));
  std::size_t at = kIgmpBytes;
  for (const GroupRecord& record : report.records) {
    store_u32(out, at, std::uint32_t{to_integer(record.state)} << 24);
    store_address(out, at + 4, record.group.ipv4());
    at += kIgmpRecordBytes;
  }
  return at;
}

}  // namespace

std::optional<MembershipQuery> parse_igmp_query(std::span<const std::byte> packet) {
  const auto parsed = Ipv4::parse(packet);
  if (!parsed || parsed.value().protocol != IpProtocol::kIgmp || parsed.value().is_fragment()) {
    return std::nullopt;
  }
  const Ipv4& ip = parsed.value();
  const auto igmp = packet.subspan(ip.header_bytes(), ip.total_length - ip.header_bytes());
  const auto version = igmp_version_of(igmp);
  if (!version || load_u8(igmp, 0) != to_integer(IgmpType::kQuery)) return std::nullopt;
  if (!is_igmp_right(igmp)) return std::nullopt;
  const auto group = load_address<Ipv4Address>(igmp, kIgmpGroupAt);
  if (!group.is_unspecified() && !group.is_multicast()) return std::nullopt;
  return MembershipQuery{.version = *version,
                         .group = group.is_unspecified() ? Gid{} : Gid::from_ipv4(group),
                         .max_response_ms = igmp_response_ms(load_u8(igmp, kMaxResponseAt), *version)};
}

Ipv4Address igmp_destination(const MembershipReport& report) {
  if (report.version == MembershipVersion::k3) return kIgmp3Routers;
  return igmp_type_of(report) == IgmpType::kLeave2 ? kAllRouters : report.records[0].group.ipv4();
}

std::size_t emit_igmp(const MembershipReport& report, std::span<std::byte> out) {
  assert(out.size() >= MembershipReport::kMaxBytes);
  assert(report.records.size() <= MembershipReport::kMaxRecords);
  Ipv4 ip{.tos = kInternetworkControl,
          .ttl = 1,
          .protocol = IpProtocol::kIgmp,
          .source = report.source.ipv4(),
          .destination = igmp_destination(report),
          .options = kRouterAlert};
  const std::size_t size = write_igmp(report, out.subspan(ip.header_bytes()));
  const auto igmp = out.subspan(ip.header_bytes(), size);
  InternetChecksum checksum;
  checksum.add(igmp);
  store_u16(igmp, kIgmpChecksumAt, checksum.value());
  ip.total_length = static_cast<std::uint16_t>(ip.header_bytes() + size);
  return emit(ip, out) + size;
}

}  // namespace urnic::transport::wire
