// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Whose a packet is; socket_group_test asks the kernel's filter the same.
#include "drivers/udp/packet_share.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

#include "tests/unit/drivers/light/host/packets.h"

namespace urnic::drivers {
namespace {

using namespace test;
using nic::cm::CommunicationId;

class PacketShareTest : public testing::TestWithParam<bool> {
 protected:
  const wire::Gid address = GetParam() ? kLocalIpv4 : kLocalIpv6;
  std::optional<std::uint8_t> share_of(const Bytes& ib) const {
    return share_of_packet(ip_packet(ib, address, address));
  }
};

TEST_P(PacketShareTest, IsThatOfTheQueuePair) {
  EXPECT_EQ(share_of(packet_to(0x5a0011)), 0x5a);
  EXPECT_EQ(share_of(packet_to(0x000011)), 0);
  EXPECT_EQ(share_of(packet_to(0xff0011)), 0xff);
}

TEST_P(PacketShareTest, IsThatOfTheIdThatAMessageAnswers) {
  const CommunicationId own{0x07000001};
  const CommunicationId other{0x09000001};
  EXPECT_EQ(share_of(packet_with(nic::cm::Rep{.local_id = other, .remote_id = own})), 7);
  EXPECT_EQ(share_of(packet_with(nic::cm::Rtu{.local_id = other, .remote_id = own})), 7);
  EXPECT_EQ(share_of(packet_with(nic::cm::Rej{.local_id = other, .remote_id = own})), 7);
  EXPECT_EQ(share_of(packet_with(nic::cm::Dreq{.local_id = other, .remote_id = own})), 7);
  EXPECT_EQ(share_of(packet_with(nic::cm::SidrRep{.request_id = own})), 7);
}

TEST_P(PacketShareTest, OfRequestsIsTheSwitchs) {
  EXPECT_EQ(share_of(packet_with(request_to(nic::rdma_cm::PortSpace::kTcp, 80))), 0);
  EXPECT_EQ(share_of(packet_with(nic::cm::SidrReq{.request_id = CommunicationId{0x07000001}})), 0);
}

TEST_P(PacketShareTest, OfWhatIsSentToAGroupIsNone) {
  EXPECT_EQ(share_of(packet_to(0xffffff)), std::nullopt);
}

TEST_P(PacketShareTest, OfWhatEndsTooEarlyIsTheSwitchs) {
  const Bytes whole =
      ip_packet(packet_with(nic::cm::Rtu{.remote_id = CommunicationId{0x07000001}}), address, address);
  const std::size_t headers = GetParam() ? 28 : 48;
  constexpr std::size_t kBehindId = 12 + 8 + 24 + 5;
  for (std::size_t length = 0; length < headers + kBehindId; ++length) {
    EXPECT_EQ(share_of_packet(std::span(whole).first(length)), 0) << length;
  }
  EXPECT_EQ(share_of_packet(std::span(whole).first(headers + kBehindId)), 7);
}

INSTANTIATE_TEST_SUITE_P(BothVersions, PacketShareTest, testing::Bool());

}  // namespace
}  // namespace urnic::drivers
