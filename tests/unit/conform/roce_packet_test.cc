// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/wire/roce_packet.h"

#include <gtest/gtest.h>

#include "drivers/pcap/lost_identification.h"
#include "tools/conformance/script/packet_text.h"
#include "transport/wire/frame.h"
#include "transport/wire/icrc.h"

namespace urnic::conform {
namespace {

using transport::wire::Gid;

Addresses addresses(const char* own, const char* peer) {
  const auto read = [](const char* text) {
    const auto ipv4 = transport::wire::Ipv4Address::parse(text);
    return ipv4 ? Gid::from_ipv4(*ipv4) : *Gid::parse(text);
  };
  return {.own = read(own), .peer = read(peer)};
}

std::vector<std::byte> send_only() {
  auto packet = *scripts::named_packet("SEND_ONLY", scripts::WireService::kRc);
  packet.dst = 0x123456;
  packet.psn = 7;
  packet.payload.assign(8, std::byte{0x5a});
  return encode(packet);
}

class RocePacket : public ::testing::TestWithParam<Addresses> {};

TEST_P(RocePacket, IsOneThatTheProductTakes) {
  const auto bytes = make_roce_packet(GetParam(), send_only());
  const auto frame = transport::wire::parse_ip_packet(bytes);
  ASSERT_TRUE(frame);
  EXPECT_TRUE(frame.value().icrc_ok());
  EXPECT_TRUE(std::ranges::equal(frame.value().ib, send_only()));
  EXPECT_EQ(frame.value().source_gid(), GetParam().own);
  EXPECT_EQ(frame.value().destination_gid(), GetParam().peer);
}

TEST_P(RocePacket, IsReadAsItWasMade) {
  const Addresses there{.own = GetParam().peer, .peer = GetParam().own};
  const auto heard = read_roce_packet(there, make_roce_packet(GetParam(), send_only()));
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->fault, "");
  EXPECT_EQ(heard->ib, send_only());
  EXPECT_EQ(heard->destination_qp, 0x123456u);
}

TEST_P(RocePacket, HasAFaultIfOneBitIsAnother) {
  const Addresses there{.own = GetParam().peer, .peer = GetParam().own};
  auto bytes = make_roce_packet(GetParam(), send_only());
  bytes[bytes.size() - 8] ^= std::byte{1};
  const auto heard = read_roce_packet(there, bytes);
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->fault, "wrong ICRC (fact 1)");
}

TEST_P(RocePacket, OfAnotherHostIsNotThePeers) {
  const Addresses other{.own = GetParam().peer, .peer = GetParam().peer};
  EXPECT_FALSE(read_roce_packet(other, make_roce_packet(GetParam(), send_only())));
}

INSTANTIATE_TEST_SUITE_P(Both, RocePacket,
                         ::testing::Values(addresses("10.0.0.1", "10.0.0.2"),
                                           addresses("fd00::1", "fd00::2")));

TEST(RocePacketOverIpv4, HasAnIcrcForItsIdentification) {
  const auto there = addresses("10.0.0.2", "10.0.0.1");
  const auto bytes = make_roce_packet(addresses("10.0.0.1", "10.0.0.2"), send_only());
  auto frame = transport::wire::parse_ip_packet(bytes).value();
  std::get<transport::wire::Ipv4>(frame.ip).identification = 0x1234;
  const std::uint32_t icrc = icrc_of(frame);
  auto changed = bytes;
  transport::wire::store_icrc(icrc, std::span(changed).last(4));
  EXPECT_EQ(read_roce_packet(there, changed)->fault, "wrong ICRC (fact 1)");
  drivers::LostIdentification lost(changed.size());
  EXPECT_EQ(read_roce_packet(there, lost.restore(changed))->fault, "");
}

}  // namespace
}  // namespace urnic::conform
