// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/wire/mld.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>

#include "transport/types.h"
#include "transport/wire/byte_order.h"
#include "transport/wire/internet_checksum.h"
#include "transport/wire/ipv6.h"

namespace urnic::transport::wire {
namespace {

enum class MldType : std::uint8_t { kQuery = 130, kReport1 = 131, kDone1 = 132, kReport2 = 143 };

/// Type, code, checksum, 4 bytes of the type's own, and a group in all but version 2's report.
constexpr std::size_t kMldHeaderBytes = 8;
constexpr std::size_t kMldBytes = 24;
/// The shortest query of version 2. Between the two there is no version (RFC 3810).
constexpr std::size_t kMldQuery2Bytes = 28;
constexpr std::size_t kMldRecordBytes = 20;

constexpr std::size_t kMldChecksumAt = 2;
constexpr std::size_t kMldResponseAt = 4;
constexpr std::size_t kMldRecordCountAt = 6;
constexpr std::size_t kMldGroupAt = 8;

constexpr std::uint8_t kMldHopLimit = 1;
constexpr Ipv6Address kAllIpv6Routers{{0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02}};
constexpr Ipv6Address kMld2Routers{{0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x16}};

// The hop-by-hop header: next header, its length in units of 8 bytes beyond the first, options of type,
// length, value.
constexpr std::size_t kHopByHopUnit = 8;
constexpr std::uint8_t kPad1 = 0;
constexpr std::uint8_t kRouterAlertOption = 5;
/// Next header ICMPv6, no further units, the router alert option for MLD (0, RFC 2711), two bytes of padding.
constexpr std::array<std::uint8_t, kHopByHopUnit> kHopByHop = {58, 0, kRouterAlertOption, 2, 0, 0, 1, 0};

/// Whether the options, which may be malformed, say that the packet is MLD's.
bool has_mld_router_alert(std::span<const std::byte> options) {
  while (!options.empty()) {
    const std::uint8_t type = load_u8(options, 0);
    if (type == kPad1) {
      options = options.subspan(1);
      continue;
    }
    if (options.size() < 2 || options.size() - 2 < load_u8(options, 1)) return false;
    const std::size_t size = load_u8(options, 1);
    if (type == kRouterAlertOption) return size == 2 && load_u16(options, 2) == 0;
    options = options.subspan(2 + size);
  }
  return false;
}

/// The ICMPv6 message after a hop-by-hop header with the router alert option; empty when there is none.
/// `packet` has the length that `ip` says.
std::span<const std::byte> icmp_behind_options(const Ipv6& ip, std::span<const std::byte> packet) {
  const auto payload = packet.subspan(Ipv6::kBytes, ip.payload_length);
  if (ip.next_header != IpProtocol::kHopByHop || payload.size() < kHopByHopUnit) return {};
  const std::size_t header_bytes = (load_u8(payload, 1) + std::size_t{1}) * kHopByHopUnit;
  const bool is_icmp = load_u8(payload, 0) == to_integer(IpProtocol::kIcmpv6);
  if (!is_icmp || header_bytes > payload.size()) return {};
  if (!has_mld_router_alert(payload.subspan(2, header_bytes - 2))) return {};
  return payload.subspan(header_bytes);
}

InternetChecksum mld_checksum(const Ipv6Address& source, const Ipv6Address& destination,
                              std::span<const std::byte> icmp) {
  InternetChecksum checksum;
  checksum.add_pseudo_header(source, destination, IpProtocol::kIcmpv6,
                             static_cast<std::uint32_t>(icmp.size()));
  checksum.add(icmp);
  return checksum;
}

/// Milliseconds; in MLDv2 values from 32768 on are floating-point.
std::uint32_t mld_response_ms(std::uint16_t code, MembershipVersion version) {
  if (version == MembershipVersion::k2 || code < 0x8000) return code;
  const std::uint32_t mantissa = (code & 0xfffu) | 0x1000u;
  return mantissa << (((code >> 12) & 7u) + 3);
}

MldType mld_type_of(const MembershipReport& report) {
  if (report.version == MembershipVersion::k3) return MldType::kReport2;
  return report.records[0].state == MembershipState::kLeft ? MldType::kDone1 : MldType::kReport1;
}

/// The ICMPv6 message, the checksum excepted; returns the size.
std::size_t write_mld(const MembershipReport& report, std::span<std::byte> out) {
  const MldType type = mld_type_of(report);
  store_u64(out, 0, 0);
  store_u8(out, 0, to_integer(type));
  if (type != MldType::kReport2) {
    store_address(out, kMldGroupAt, report.records[0].group);
    return kMldBytes;
  }
  store_u16(out, kMldRecordCountAt, static_cast<std::uint16_t>(report.records.size()));
  std::size_t at = kMldHeaderBytes;
  for (const GroupRecord& record : report.records) {
    store_u32(out, at, std::uint32_t{to_integer(record.state)} << 24);
    store_address(out, at + 4, record.group);
    at += kMldRecordBytes;
  }
  return at;
}

}  // namespace

std::optional<MembershipQuery> parse_mld_query(std::span<const std::byte> packet) {
  const auto parsed = Ipv6::parse(packet);
  if (!parsed) return std::nullopt;
  const Ipv6& ip = parsed.value();
  if (ip.hop_limit != kMldHopLimit || !ip.source.is_link_local()) return std::nullopt;
  const auto icmp = icmp_behind_options(ip, packet);
  if (icmp.size() != kMldBytes && icmp.size() < kMldQuery2Bytes) return std::nullopt;
  if (load_u8(icmp, 0) != to_integer(MldType::kQuery)) return std::nullopt;
  if (!mld_checksum(ip.source, ip.destination, icmp).is_right()) return std::nullopt;
  const auto group = load_address<Ipv6Address>(icmp, kMldGroupAt);
  if (!group.is_unspecified() && !group.is_multicast()) return std::nullopt;
  const auto version = icmp.size() == kMldBytes ? MembershipVersion::k2 : MembershipVersion::k3;
  return MembershipQuery{.version = version,
                         .group = group,
                         .max_response_ms = mld_response_ms(load_u16(icmp, kMldResponseAt), version)};
}

Ipv6Address mld_destination(const MembershipReport& report) {
  if (report.version == MembershipVersion::k3) return kMld2Routers;
  return mld_type_of(report) == MldType::kDone1 ? kAllIpv6Routers : report.records[0].group;
}

std::size_t emit_mld(const MembershipReport& report, std::span<std::byte> out) {
  assert(out.size() >= MembershipReport::kMaxBytes);
  assert(report.version != MembershipVersion::k1 && report.records.size() <= MembershipReport::kMaxRecords);
  const Ipv6Address destination = mld_destination(report);
  constexpr std::size_t kIcmpAt = Ipv6::kBytes + kHopByHopUnit;
  const std::size_t size = write_mld(report, out.subspan(kIcmpAt));
  const auto icmp = out.subspan(kIcmpAt, size);
  store_u16(icmp, kMldChecksumAt, mld_checksum(report.source, destination, icmp).value());
  const auto options = std::as_bytes(std::span(kHopByHop));
  std::copy(options.begin(), options.end(), out.begin() + Ipv6::kBytes);
  emit(Ipv6{.payload_length = static_cast<std::uint16_t>(kHopByHopUnit + size),
            .next_header = IpProtocol::kHopByHop,
            .hop_limit = kMldHopLimit,
            .source = report.source,
            .destination = destination},
       out);
  return kIcmpAt + size;
}

}  // namespace urnic::transport::wire
