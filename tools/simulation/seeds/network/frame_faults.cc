// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/network/frame_faults.h"

#include <cstdint>

namespace urnic::sim {
namespace {

constexpr std::size_t kEthernetBytes = 14;
constexpr std::size_t kIpv4Bytes = 20;
constexpr std::size_t kIpv6Bytes = 40;
constexpr std::size_t kUdpBytes = 8;
constexpr std::size_t kBthByte4 = 4;  // FECN, BECN, reserved: masked in the ICRC (fact 2)
constexpr std::size_t kChecksum = kEthernetBytes + 10;

unsigned u16(std::span<const std::byte> bytes, std::size_t at) {
  return std::to_integer<unsigned>(bytes[at]) << 8 | std::to_integer<unsigned>(bytes[at + 1]);
}

std::size_t ip_bytes(std::span<const std::byte> frame) {
  const unsigned ether_type = u16(frame, 12);
  return ether_type == 0x0800 ? kIpv4Bytes : ether_type == 0x86dd ? kIpv6Bytes : 0;
}

void flip(std::byte& byte, std::uint64_t bit) {
  byte ^= std::byte{1} << (bit & 7u);
}

void write_ipv4_checksum(std::vector<std::byte>& frame) {
  frame[kChecksum] = frame[kChecksum + 1] = std::byte{0};
  unsigned sum = 0;
  for (std::size_t at = kEthernetBytes; at < kEthernetBytes + kIpv4Bytes; at += 2) sum += u16(frame, at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  frame[kChecksum] = static_cast<std::byte>(~sum >> 8);
  frame[kChecksum + 1] = static_cast<std::byte>(~sum);
}

}  // namespace

std::optional<std::size_t> bth_offset(std::span<const std::byte> frame) {
  if (frame.size() <= kEthernetBytes) return std::nullopt;
  const std::size_t ip = ip_bytes(frame);
  if (ip == 0 || frame.size() <= kEthernetBytes + ip + kUdpBytes + 12) return std::nullopt;
  constexpr std::byte kUdp{17};
  const std::byte protocol = frame[kEthernetBytes + (ip == kIpv4Bytes ? 9 : 6)];
  return protocol == kUdp ? std::optional(kEthernetBytes + ip + kUdpBytes) : std::nullopt;
}

void corrupt(Frame& frame, Random& random) {
  auto& bytes = frame.bytes;
  const std::size_t bth = *bth_offset(bytes);
  frame.damaged = true;
  std::size_t victim = bth + random.below(bytes.size() - bth);
  if (victim == bth + kBthByte4) ++victim;
  flip(bytes[victim], random.next());
  for (std::uint64_t more = random.below(4); more > 0; --more) {
    std::size_t another = random.below(bytes.size());
    // Flipping the same bit twice would repair the frame.
    another += another == victim ? 1 : 0;
    flip(bytes[another % bytes.size()], random.next());
  }
}

void truncate(Frame& frame, Random& random) {
  frame.damaged = true;
  frame.bytes.resize(random.below(frame.bytes.size()));
}

void pad(Frame& frame, Random& random) {
  frame.bytes.resize(frame.bytes.size() + random.between(1, 18), std::byte{0x5a});
}

void mark_congestion(Frame& frame) {
  auto& bytes = frame.bytes;
  if (ip_bytes(bytes) == kIpv4Bytes) {
    bytes[kEthernetBytes + 1] |= std::byte{3};
    write_ipv4_checksum(bytes);
  } else {
    bytes[kEthernetBytes + 1] |=
        std::byte{0x30};  // the traffic class ends in the upper half of the second byte
  }
}

}  // namespace urnic::sim
