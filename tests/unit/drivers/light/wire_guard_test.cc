// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Which packets of a wire that carries IP packets can come from one station alone.
#include "drivers/direct/wire_guard.h"

#include <gtest/gtest.h>

#include "nic/path/path.h"
#include "tests/unit/drivers/light/fake_port.h"
#include "transport/wire/icrc.h"
#include "transport/wire/opcode.h"
#include "transport/wire/packet.h"

namespace urnic::drivers::test {
namespace {

namespace wire = transport::wire;
using transport::QpNumber;

constexpr QpNumber kQp{0x050001};

Bytes packet_to(QpNumber qp, const char* address = "::ffff:10.9.0.1") {
  const auto gid = wire::Gid::parse(address).value();
  nic::Path path =
      nic::Path::make({.destination = gid}, {gid}, {.medium = nic::Medium::kIp}, QpNumber{0x11}, qp);
  const wire::Packet packet{.bth = {.opcode = wire::Opcode::kRcAcknowledge, .destination_qp = qp}};
  Bytes bytes(200);
  const std::uint32_t size = wire::emit_headers(packet, std::span(bytes).subspan(path.header_bytes()));
  bytes.resize(path.encapsulate(bytes, {.size = size}, {}));
  return bytes;
}

class WireGuardTest : public testing::TestWithParam<const char*> {
 protected:
  WireGuard guard;
};

INSTANTIATE_TEST_SUITE_P(BothVersions, WireGuardTest, testing::Values("::ffff:10.9.0.1", "fd09::1"));

TEST_P(WireGuardTest, KnowsTheStationOfAQueuePairsPeerUntilItHasNone) {
  const Bytes packet = packet_to(kQp, GetParam());
  EXPECT_EQ(guard.sender_of(packet), std::nullopt);
  guard.take_only_from(kQp, kPeerMac);
  EXPECT_EQ(guard.sender_of(packet), kPeerMac);
  guard.take_only_from(kQp, kOwnMac);
  EXPECT_EQ(guard.sender_of(packet), kOwnMac) << "it was connected with another one";
  guard.take_only_from(kQp, std::nullopt);
  EXPECT_EQ(guard.sender_of(packet), std::nullopt);
}

TEST_F(WireGuardTest, LeavesOtherQueuePairsAndOtherBytesAlone) {
  guard.take_only_from(kQp, kPeerMac);
  EXPECT_EQ(guard.sender_of(packet_to(QpNumber{0x050002})), std::nullopt);
  EXPECT_EQ(guard.sender_of(packet_to(QpNumber{1})), std::nullopt);
  const Bytes packet = packet_to(kQp);
  for (std::size_t size = 0; size < packet.size(); ++size) {
    EXPECT_EQ(guard.sender_of(std::span(packet).first(size)), std::nullopt) << size;
  }
}

}  // namespace
}  // namespace urnic::drivers::test
