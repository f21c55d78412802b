// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/inspection/doctor/probe_message.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <span>

#include "transport/wire/packet.h"

namespace urnic::tools {
namespace {

using Kind = ProbeMessage::Kind;

TEST(ProbeMessage, ComesOutAsItWent) {
  for (const Kind kind : {Kind::kProbe, Kind::kReceipt, Kind::kEcho}) {
    const ProbeMessage message{
        .kind = kind,
        .number = 0x0123456789abcdef,
        .packet_bytes = 9600,
        .sender = {.address = transport::wire::Gid::parse("fd09::1").value(), .port = 50001}};
    std::array<std::byte, 100> bytes;
    bytes.fill(std::byte{0xee});
    message.emit(bytes);
    EXPECT_EQ(ProbeMessage::parse(bytes), message);
    EXPECT_EQ(bytes[ProbeMessage::kBytes], std::byte{0xee});
  }
}

TEST(ProbeMessage, IsNothingElse) {
  std::array<std::byte, ProbeMessage::kBytes> bytes;
  ProbeMessage{}.emit(bytes);
  EXPECT_EQ(ProbeMessage::parse(std::span(bytes).first(ProbeMessage::kBytes - 1)), std::nullopt);
  EXPECT_EQ(ProbeMessage::parse({}), std::nullopt);
  for (std::size_t at = 0; at < 9; ++at) {
    auto other = bytes;
    other[at] ^= std::byte{0x40};
    EXPECT_EQ(ProbeMessage::parse(other), std::nullopt) << at;
  }
  auto kind = bytes;
  kind[8] = std::byte{0};
  EXPECT_EQ(ProbeMessage::parse(kind), std::nullopt);
}

// A NIC that gets one drops it.
TEST(ProbeMessage, IsNoInfiniBandPacket) {
  std::array<std::byte, ProbeMessage::kBytes> bytes;
  ProbeMessage{}.emit(bytes);
  const auto packet = transport::wire::parse_packet(bytes);
  ASSERT_FALSE(packet);
  EXPECT_EQ(packet.error(), transport::wire::ParseError::kBadVersion);
}

}  // namespace
}  // namespace urnic::tools
