// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/wire/icrc.h"

#include <array>
#include <boost/endian/conversion.hpp>
#include <cassert>
#include <cstring>

#include "transport/wire/crc32.h"
#include "transport/wire/headers.h"
#include "transport/wire/ipv4.h"
#include "transport/wire/ipv6.h"
#include "transport/wire/udp.h"

namespace urnic::transport::wire {
namespace {

/// CRC-32 of the eight 0xff bytes that stand for the link header of InfiniBand in front of everything (fact
/// 1).
constexpr std::uint32_t kSeed = 0x2144df1c;

constexpr std::byte kMasked{0xff};

/// A packet of so many bytes at most is copied after the masked headers: the CRC of one short piece costs
/// less than the CRCs of two. A WRITE of 64 bytes with immediate data is one piece. Of a longer packet only
/// the BTH is copied.
constexpr std::size_t kMostCopied = 96;
static_assert(kMostCopied >= Bth::kBytes);

using MaskedHeaders = std::array<std::byte, Ipv4::kMaxBytes + Udp::kBytes + kMostCopied>;
static_assert(Ipv4::kMaxBytes >= Ipv6::kBytes);

/// The checksum is what UDP ends with.
void mask_udp_checksum(MaskedHeaders& headers, std::size_t ip_and_udp_bytes) {
  headers[ip_and_udp_bytes - 2] = kMasked;
  headers[ip_and_udp_bytes - 1] = kMasked;
}

/// Copies an IPv6 header or a GRH, and what may follow it.
void copy_ipv6(std::span<const std::byte> from, MaskedHeaders& headers) {
  std::memcpy(headers.data(), from.data(), from.size());
  headers[0] |= std::byte{0x0f};  // traffic class, then flow label
  headers[1] = kMasked;
  headers[2] = kMasked;
  headers[3] = kMasked;
  headers[7] = kMasked;  // hop limit
}

std::uint32_t finish(MaskedHeaders& headers, std::size_t outer_bytes, std::span<const std::byte> ib,
                     const TailCrc& tail) {
  assert(ib.size() >= Bth::kBytes + tail.bytes());
  ib = ib.first(ib.size() - tail.bytes());
  const std::size_t copied = ib.size() <= kMostCopied ? ib.size() : Bth::kBytes;
  std::byte* const bth = headers.data() + outer_bytes;
  std::memcpy(bth, ib.data(), copied);
  bth[4] = kMasked;  // FECN, BECN and six reserved bits

  std::uint32_t crc = crc32(kSeed, std::span(headers).first(outer_bytes + copied));
  if (copied < ib.size()) crc = crc32(crc, ib.subspan(copied));
  return tail.bytes() == 0 ? crc : join(crc, tail);
}

}  // namespace

std::uint32_t icrc_ipv4(std::span<const std::byte> ip_and_udp, std::span<const std::byte> ib,
                        const TailCrc& tail) {
  assert(ip_and_udp.size() >= Ipv4::kMinBytes + Udp::kBytes);
  assert(ip_and_udp.size() <= Ipv4::kMaxBytes + Udp::kBytes);
  assert(ib.size() >= Bth::kBytes);
  MaskedHeaders headers;
  std::memcpy(headers.data(), ip_and_udp.data(), ip_and_udp.size());
  headers[1] = kMasked;   // TOS
  headers[8] = kMasked;   // TTL
  headers[10] = kMasked;  // header checksum
  headers[11] = kMasked;
  mask_udp_checksum(headers, ip_and_udp.size());
  return finish(headers, ip_and_udp.size(), ib, tail);
}

std::uint32_t icrc_ipv6(std::span<const std::byte> ip_and_udp, std::span<const std::byte> ib,
                        const TailCrc& tail) {
  assert(ip_and_udp.size() == Ipv6::kBytes + Udp::kBytes);
  assert(ib.size() >= Bth::kBytes);
  MaskedHeaders headers;
  copy_ipv6(ip_and_udp, headers);
  mask_udp_checksum(headers, ip_and_udp.size());
  return finish(headers, ip_and_udp.size(), ib, tail);
}

std::uint32_t icrc_grh(std::span<const std::byte> grh, std::span<const std::byte> ib, const TailCrc& tail) {
  assert(grh.size() == Ipv6::kBytes);
  assert(ib.size() >= Bth::kBytes);
  MaskedHeaders headers;
  copy_ipv6(grh, headers);
  return finish(headers, grh.size(), ib, tail);
}

std::uint32_t load_icrc(std::span<const std::byte> bytes) {
  assert(bytes.size() >= kIcrcBytes);
  return boost::endian::load_little_u32(reinterpret_cast<const unsigned char*>(bytes.data()));
}

void store_icrc(std::uint32_t icrc, std::span<std::byte> out) {
  assert(out.size() >= kIcrcBytes);
  boost::endian::store_little_u32(reinterpret_cast<unsigned char*>(out.data()), icrc);
}

}  // namespace urnic::transport::wire
