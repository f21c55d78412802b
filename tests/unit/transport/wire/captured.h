// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Frames copied out of pcap_fixtures/, and the small tools to take them apart and spoil them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace urnic::transport::wire::test {

using Bytes = std::vector<std::byte>;

constexpr unsigned hex_digit(char digit) {
  return static_cast<unsigned>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

/// "0a 4d00" -> 3 bytes; blanks do not count.
inline Bytes hex(std::string_view text) {
  Bytes bytes;
  bool high_half = true;
  for (const char digit : text) {
    if (digit == ' ') continue;
    if (high_half) {
      bytes.push_back(static_cast<std::byte>(hex_digit(digit) << 4));
    } else {
      bytes.back() |= static_cast<std::byte>(hex_digit(digit));
    }
    high_half = !high_half;
  }
  return bytes;
}

inline Bytes operator+(Bytes left, std::span<const std::byte> right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

inline Bytes slice(std::span<const std::byte> bytes, std::size_t from, std::size_t size) {
  const auto part = bytes.subspan(from, size);
  return {part.begin(), part.end()};
}

inline Bytes with_u8(Bytes bytes, std::size_t at, unsigned value) {
  bytes.at(at) = static_cast<std::byte>(value);
  return bytes;
}

inline Bytes with_u16(Bytes bytes, std::size_t at, unsigned value) {
  return with_u8(with_u8(std::move(bytes), at, value >> 8), at + 1, value);
}

/// vs_sizes.pcap, frame 1: RC SEND Only without payload, 0x476ed5 to queue pair 0x2c.
inline const Bytes kEmptySend =
    hex("525401a61175 525498af40cf 0800"
        "4500002c73d440004011b24e0a4d00020a4d0003 c7bc12b700180000"
        "0400ffff0000002c80476ed5 ba916843");

/// vs_sizes.pcap, frame 2: the ACK of frame 1.
inline const Bytes kAcknowledge =
    hex("525498af40cf 525401a61175 0800"
        "45000030ac274000401179f70a4d00030a4d0002 c7bc12b7001c0000"
        "1100ffff0000002d00476ed5 1f000001 84a24cd0");

/// vs_sizes.pcap, frame 9: RC SEND Only of five bytes, with three bytes of padding.
inline const Bytes kSendOfFive =
    hex("525401a61175 525498af40cf 0800"
        "4500003473d840004011b2420a4d00020a4d0003 c7bc12b700200000"
        "0430ffff0000002c80476ed9 01080f161d 000000 cb335bb4");

/// vs_ud_ipv6.pcap, frame 1: UD SEND Only of five bytes over IPv6.
inline const Bytes kUdSendIpv6 =
    hex("525401a61175 525498af40cf 86dd"
        "6000000000281140fd770000000000000000000000000002fd770000000000000000000000000003 f4fa12b700280000"
        "6430ffff000000400094aa19 1111111100000041 01080f161d 000000 a7b9c583");

/// The packet of kSendOfFive, and the addresses of its IP header, in RoCE v1. Made by hand; an independent
/// program worked out the ICRC.
inline const Bytes kRoceV1Send =
    hex("525401a61175 525498af40cf 8915"
        "60000000 0018 1b 40 00000000000000000000ffff0a4d0002 00000000000000000000ffff0a4d0003"
        "0430ffff0000002c80476ed9 01080f161d 000000 daa6da3b");

/// Where headers begin in the frames above.
inline constexpr std::size_t kIpAt = 14;
inline constexpr std::size_t kUdpAtIpv4 = kIpAt + 20;
inline constexpr std::size_t kUdpAtIpv6 = kIpAt + 40;
inline constexpr std::size_t kBthAtIpv4 = kUdpAtIpv4 + 8;
inline constexpr std::size_t kBthAtIpv6 = kUdpAtIpv6 + 8;
inline constexpr std::size_t kBthAtRoceV1 = kIpAt + 40;
inline constexpr std::size_t kIcrcSize = 4;

/// BTH to padding of an IPv4 frame without Ethernet padding.
inline Bytes ib_of(const Bytes& frame) {
  return slice(frame, kBthAtIpv4, frame.size() - kBthAtIpv4 - kIcrcSize);
}

/// Makes the checksum of the 20-byte IPv4 header in `frame` right again, two bytes at a time as RFC 791 says
/// it.
inline Bytes with_ipv4_checksum(Bytes frame) {
  frame = with_u16(std::move(frame), kIpAt + 10, 0);
  unsigned sum = 0;
  for (std::size_t at = kIpAt; at < kUdpAtIpv4; at += 2) {
    sum += std::to_integer<unsigned>(frame[at]) << 8 | std::to_integer<unsigned>(frame[at + 1]);
  }
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  return with_u16(std::move(frame), kIpAt + 10, ~sum & 0xffff);
}

}  // namespace urnic::transport::wire::test
