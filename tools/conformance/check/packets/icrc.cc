// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/packets/icrc.h"

#include <libdeflate.h>

#include <algorithm>
#include <array>

#include "tools/conformance/check/packets/opcode.h"

namespace urnic::check {
namespace {

// 8 bytes in place of a local route header, at most 60 of IPv4, 8 of UDP, BTH.
constexpr std::size_t kDummyBytes = 8;
constexpr std::size_t kMaxMaskedBytes = kDummyBytes + 60 + 8 + kBthBytes;
constexpr std::byte kOnes{0xff};

/// The CRC of a whole frame, as one sent to `port`. Extension headers count between the IPv6 header and the
/// UDP header, or not at all.
std::uint32_t crc_of(const Frame& frame, std::uint16_t port, bool with_extensions) {
  std::array<std::byte, kMaxMaskedBytes> masked;
  std::fill_n(masked.begin(), kDummyBytes, kOnes);
  std::byte* const ip = masked.data() + kDummyBytes;
  std::byte* const udp = std::copy(frame.ip_header.begin(), frame.ip_header.end(), ip);
  std::byte* const bth = std::copy(frame.udp_header.begin(), frame.udp_header.end(), udp);
  std::byte* const end = std::copy_n(frame.ib.begin(), kBthBytes, bth);
  if (frame.is_ipv6 || frame.is_roce_v1) {
    ip[0] |= std::byte{0x0f};  // traffic class and flow label
    ip[1] = ip[2] = ip[3] = kOnes;
    ip[7] = kOnes;  // hop limit
  } else {
    ip[1] = kOnes;            // type of service
    ip[8] = kOnes;            // time to live
    ip[10] = ip[11] = kOnes;  // checksum
  }
  if (!frame.udp_header.empty()) {
    udp[2] = static_cast<std::byte>(port >> 8);
    udp[3] = static_cast<std::byte>(port & 0xff);
    udp[6] = udp[7] = kOnes;  // checksum
  }
  bth[4] = kOnes;  // FECN, BECN and six reserved bits

  const std::size_t rest = frame.ib.size() - kBthBytes - kIcrcBytes;
  std::uint32_t crc = libdeflate_crc32(0, masked.data(), static_cast<std::size_t>(udp - masked.data()));
  if (with_extensions) crc = libdeflate_crc32(crc, frame.ip_extensions.data(), frame.ip_extensions.size());
  crc = libdeflate_crc32(crc, udp, static_cast<std::size_t>(end - udp));
  return libdeflate_crc32(crc, frame.ib.data() + kBthBytes, rest);
}

}  // namespace

std::optional<IcrcVerdict> judge_icrc(const Frame& frame, std::uint16_t sent_to) {
  if (frame.fault != FrameFault::kNone || frame.is_cut()) return std::nullopt;
  const std::uint16_t port = sent_to != 0 ? sent_to : frame.destination_port;
  const auto sent = frame.ib.last(kIcrcBytes);
  IcrcVerdict verdict{
      .expected = crc_of(frame, port, false),
      .seen = boost::endian::load_little_u32(reinterpret_cast<const unsigned char*>(sent.data()))};
  if (verdict.is_right() || frame.ip_extensions.empty()) return verdict;
  // No source says whether the ICRC covers extension headers: a sender may do either.
  verdict.expected = crc_of(frame, port, true);
  return verdict.is_right() ? std::optional(verdict) : std::nullopt;
}

std::uint32_t digest_of(ByteView bytes) {
  return libdeflate_crc32(0, bytes.data(), bytes.size());
}

}  // namespace urnic::check
