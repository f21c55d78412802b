// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Marks over the host's sockets; those on Ethernet are direct_port_test's.
#include "drivers/direct/mark.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "nic/path/path.h"
#include "nic/path/station.h"
#include "transport/wire/frame.h"

namespace urnic::drivers {
namespace {

namespace wire = transport::wire;
using Bytes = std::vector<std::byte>;

Bytes emitted(const wire::Gid& address, const Mark& mark) {
  Bytes packet(MarkForm::kMaxBytes);
  packet.resize(MarkForm(nic::Medium::kIp, address).emit(mark, packet));
  return packet;
}

class IpMarkTest : public testing::TestWithParam<const char*> {
 protected:
  const wire::Gid address = wire::Gid::parse(GetParam()).value();
  const MarkForm form{nic::Medium::kIp, address};
  const Mark mark{
      .to = nic::station_of_share(7), .from = nic::station_of_share(9), .nonce = 0x123456789abcdef0};
};

TEST_P(IpMarkTest, IsARoceV2PacketToAQueuePairOfTheOtherShare) {
  const Bytes packet = emitted(address, mark);
  const auto parsed = wire::parse_ip_packet(packet);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed.value().source_gid(), address);
  EXPECT_EQ(parsed.value().destination_gid(), address);
  EXPECT_EQ(parsed.value().used_bytes, packet.size());
  EXPECT_EQ(parsed.value().ib[0], std::byte{0xff});
  EXPECT_EQ(parsed.value().ib[5], std::byte{7});
}

TEST_P(IpMarkTest, TellsTheLinksName) {
  const auto parsed = form.parse(emitted(address, mark));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->nonce, mark.nonce);
}

TEST_P(IpMarkTest, IsNoOtherPacket) {
  const Bytes packet = emitted(address, mark);
  for (std::size_t length = 0; length < packet.size(); ++length) {
    EXPECT_FALSE(form.parse(std::span(packet).first(length))) << length;
  }
  Bytes longer = packet;
  longer.push_back({});
  EXPECT_FALSE(form.parse(longer));
  const std::size_t roce_at = packet.size() - wire::parse_ip_packet(packet).value().ib.size() - 4;
  for (const std::size_t changed : {roce_at, roce_at + 12}) {
    Bytes other = packet;
    other[changed] ^= std::byte{1};
    EXPECT_FALSE(form.parse(other)) << changed;
  }
}

INSTANTIATE_TEST_SUITE_P(BothVersions, IpMarkTest, testing::Values("::ffff:10.9.0.1", "fd09::1"));

TEST(Station, IsTheShareOfAQueuePair) {
  EXPECT_EQ(nic::station_of(transport::QpNumber{0x070123}), nic::station_of_share(7));
  EXPECT_EQ(nic::station_of(transport::QpNumber{1}), std::nullopt);
  EXPECT_EQ(nic::station_of(transport::QpNumber{0xffff}), std::nullopt);
}

}  // namespace
}  // namespace urnic::drivers
