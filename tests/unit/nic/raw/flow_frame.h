// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Frames for tests of flow rules, put together byte by byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace urnic::nic {

using FrameBytes = std::vector<std::byte>;

inline FrameBytes bytes_of(std::initializer_list<unsigned> octets) {
  FrameBytes result;
  for (const unsigned octet : octets) result.push_back(static_cast<std::byte>(octet));
  return result;
}
inline FrameBytes operator+(FrameBytes a, const FrameBytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// To 02:00:00:00:00:0b from 02:00:00:00:00:0a.
inline FrameBytes macs() {
  return bytes_of({2, 0, 0, 0, 0, 0xb, 2, 0, 0, 0, 0, 0xa});
}
/// From 10.0.0.1 to 10.0.0.2, TOS 0x20, TTL 9, "don't fragment"; no checksum. `words` of options are zeros.
inline FrameBytes ipv4(std::uint8_t protocol, unsigned options = 0, unsigned fragment = 0x4000) {
  FrameBytes header = bytes_of({0x45 + options,
                                0x20,
                                0,
                                60,
                                0,
                                1,
                                fragment >> 8,
                                fragment & 0xff,
                                9,
                                protocol,
                                0,
                                0,
                                10,
                                0,
                                0,
                                1,
                                10,
                                0,
                                0,
                                2});
  header.resize(header.size() + options * 4);
  return header;
}
/// From fd00::1 to fd00::2, traffic class 0x12, flow label 0x34567, hop limit 9.
inline FrameBytes ipv6(std::uint8_t next_header) {
  FrameBytes header = bytes_of({0x61, 0x23, 0x45, 0x67, 0, 20, next_header, 9});
  for (const unsigned last : {1u, 2u}) {
    header = header + bytes_of({0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last});
  }
  return header;
}
/// From port 1000 to port 2000.
inline FrameBytes udp() {
  return bytes_of({0x03, 0xe8, 0x07, 0xd0, 0, 8, 0, 0});
}
inline FrameBytes tcp() {
  FrameBytes header = bytes_of({0x03, 0xe8, 0x07, 0xd0});
  header.resize(20);
  return header;
}

inline constexpr std::uint8_t kUdpProtocol = 17;
inline constexpr std::uint8_t kTcpProtocol = 6;

inline FrameBytes udp_over_ipv4() {
  return macs() + bytes_of({8, 0}) + ipv4(kUdpProtocol) + udp();
}
inline FrameBytes tcp_over_ipv6() {
  return macs() + bytes_of({0x86, 0xdd}) + ipv6(kTcpProtocol) + tcp();
}

}  // namespace urnic::nic
