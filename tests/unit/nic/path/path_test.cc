// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/path/path.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/bitwise_crc32.h"
#include "tests/support/capture_folders.h"
#include "tests/support/pcap_file.h"
#include "tests/support/value_of.h"
#include "tests/unit/nic/path/neighbor_host.h"
#include "transport/wire/frame.h"
#include "transport/wire/headers.h"
#include "transport/wire/icrc.h"
#include "transport/written_packet.h"

namespace urnic::nic {
namespace {

using namespace transport::wire;
using test::gid;
using transport::QpNumber;

using Bytes = std::vector<std::byte>;

const Mac kOwnMac = Mac::parse("02:00:00:00:00:01").value();
const Mac kPeerMac = Mac::parse("02:00:00:00:00:02").value();

AddressVector to(std::string_view destination) {
  return AddressVector{.destination = gid(destination)};
}

Path ipv4_path(const AddressVector& address, std::uint32_t local_qp = 0x11, std::uint32_t remote_qp = 0x12) {
  return Path::make(address, {gid("::ffff:10.9.0.1")}, {kOwnMac}, QpNumber(local_qp), QpNumber(remote_qp));
}

Path roce_v1_path(const AddressVector& address, std::uint16_t vlan = 0) {
  return Path::make(address, {gid("::ffff:10.9.0.1"), Encapsulation::kRoceV1}, {kOwnMac, vlan},
                    QpNumber(0x11), QpNumber(0x12));
}

Path ipv6_path(const AddressVector& address) {
  return Path::make(address, {gid("fd09::1")}, {kOwnMac}, QpNumber(0x11), QpNumber(0x12));
}

/// A frame around `packet_bytes` bytes that stand for a packet; nothing follows its ICRC.
Bytes encapsulated(Path& path, std::size_t packet_bytes) {
  Bytes frame(path.header_bytes() + packet_bytes + Path::kIcrcBytes, std::byte{0xa5});
  EXPECT_EQ(path.encapsulate(frame, {.size = static_cast<std::uint32_t>(packet_bytes)}, kPeerMac),
            frame.size());
  return frame;
}

/// The same with no ICRC.
Bytes encapsulated_without_icrc(Path& path, std::size_t packet_bytes) {
  Bytes frame(path.header_bytes() + packet_bytes + Path::kIcrcBytes, std::byte{0xa5});
  EXPECT_EQ(
      path.encapsulate_without_icrc(frame, {.size = static_cast<std::uint32_t>(packet_bytes)}, kPeerMac),
      frame.size());
  return frame;
}

Frame taken_apart(const Bytes& bytes) {
  return urnic::test::value_of(parse_frame(bytes));
}

std::uint16_t source_port(Path path) {
  const Bytes frame = encapsulated(path, 12);
  return taken_apart(frame).udp.source_port;
}

TEST(Path, DerivesTheSourcePortFromBothQueuePairNumbersAsRxeDoes) {
  EXPECT_EQ(source_port(ipv4_path(to("::ffff:10.9.0.2"), 0x11, 0x11)), 49441);  // fact 6
  EXPECT_EQ(source_port(ipv4_path(to("::ffff:10.9.0.2"), 0x12, 0x12)), 49476);
}

TEST(Path, GivesBothEndsOfAConnectionTheSameSourcePort) {
  EXPECT_EQ(source_port(ipv4_path(to("::ffff:10.9.0.2"), 0xabcdef, 0x123456)),
            source_port(ipv4_path(to("::ffff:10.9.0.2"), 0x123456, 0xabcdef)));
}

TEST(Path, DerivesTheSourcePortFromAFlowLabelWhenThereIsOne) {
  AddressVector address = to("::ffff:10.9.0.2");
  address.flow_label = 0x50f06;
  EXPECT_EQ(source_port(ipv4_path(address)), 53010);  // fact 6, capture of rping
}

TEST(Path, WritesAnIpv4HeaderWithTheAddressVectorsValuesAndDontFragment) {
  AddressVector address = to("::ffff:10.9.0.2");
  address.hop_limit = 17;
  address.traffic_class = 0x6a;
  Path path = ipv4_path(address);
  const Bytes bytes = encapsulated(path, 100);
  const Frame frame = taken_apart(bytes);  // its parser verifies the header checksum
  const Ipv4& ip = std::get<Ipv4>(frame.ip);
  EXPECT_EQ(frame.ethernet.source, kOwnMac);
  EXPECT_EQ(frame.ethernet.destination, kPeerMac);
  EXPECT_EQ(ip.source, gid("::ffff:10.9.0.1").ipv4());
  EXPECT_EQ(ip.destination, gid("::ffff:10.9.0.2").ipv4());
  EXPECT_EQ(ip.ttl, 17);
  EXPECT_EQ(ip.tos, 0x6a);
  EXPECT_TRUE(ip.dont_fragment);
  EXPECT_EQ(ip.total_length, 20 + 8 + 100 + 4);
  EXPECT_EQ(frame.udp.length, 8 + 100 + 4);
  EXPECT_EQ(frame.udp.destination_port, 4791);
  EXPECT_EQ(frame.udp.checksum, 0);
}

TEST(Path, HasTheTagOfTheVlanWithTheServiceLevelAsPriority) {
  for (const char* const destination : {"::ffff:10.9.0.2", "fd09::2"}) {
    SCOPED_TRACE(destination);
    AddressVector address = to(destination);
    address.service_level = 3;
    const bool is_ipv4 = address.destination.is_ipv4_mapped();
    const Gid source = gid(is_ipv4 ? "::ffff:10.9.0.1" : "fd09::1");
    Path plain = Path::make(address, {source}, {kOwnMac}, QpNumber(0x11), QpNumber(0x12));
    Path path = Path::make(address, {source}, {kOwnMac, 0x234}, QpNumber(0x11), QpNumber(0x12));
    Bytes expected = encapsulated(plain, 100);
    const std::array tag{std::byte{0x81}, std::byte{0}, std::byte{0x62}, std::byte{0x34}};
    expected.insert(expected.begin() + 12, tag.begin(), tag.end());
    EXPECT_EQ(encapsulated(path, 100), expected);
  }
}

TEST(Path, WritesAnIpv6HeaderWithoutFlowLabelAndWithoutUdpChecksum) {
  AddressVector address = to("fd09::2");
  address.hop_limit = 17;
  address.traffic_class = 0x6a;
  address.flow_label = 0x50f06;
  Path path = ipv6_path(address);
  const Bytes bytes = encapsulated(path, 100);
  const Frame frame = taken_apart(bytes);
  const Ipv6& ip = std::get<Ipv6>(frame.ip);
  EXPECT_EQ(frame.source_gid(), gid("fd09::1"));
  EXPECT_EQ(frame.destination_gid(), gid("fd09::2"));
  EXPECT_EQ(ip.hop_limit, 17);
  EXPECT_EQ(ip.traffic_class, 0x6a);
  EXPECT_EQ(ip.flow_label, 0u);  // fact 10
  EXPECT_EQ(ip.payload_length, 8 + 100 + 4);
  EXPECT_EQ(frame.udp.length, 8 + 100 + 4);
  EXPECT_EQ(frame.udp.source_port, 53010);
  EXPECT_EQ(frame.udp.checksum, 0);
}

TEST(Path, WritesAGrhUnderItsOwnEtherTypeForRoceV1) {
  AddressVector address = to("::ffff:10.9.0.2");
  address.hop_limit = 17;
  address.traffic_class = 0x6a;
  address.flow_label = 0x50f06;
  Path path = roce_v1_path(address);
  path.use_source_port(0xc001);  // there is none
  const Bytes bytes = encapsulated(path, 100);
  const Frame frame = taken_apart(bytes);
  EXPECT_EQ(frame.encapsulation, Encapsulation::kRoceV1);
  EXPECT_EQ(frame.ethernet.ether_type, EtherType::kRoceV1);
  EXPECT_EQ(frame.ethernet.destination, kPeerMac);
  const Ipv6& grh = std::get<Ipv6>(frame.ip);
  EXPECT_EQ(frame.source_gid(), gid("::ffff:10.9.0.1"));
  EXPECT_EQ(frame.destination_gid(), gid("::ffff:10.9.0.2"));
  EXPECT_EQ(grh.hop_limit, 17);
  EXPECT_EQ(grh.traffic_class, 0x6a);
  EXPECT_EQ(grh.flow_label, 0x50f06u);
  EXPECT_EQ(grh.payload_length, 100 + 4);
  EXPECT_TRUE(frame.icrc_ok());
  EXPECT_EQ(path.header_bytes(), 54u);
}

TEST(Path, HasTheTagOfTheVlanInRoceV1) {
  AddressVector address = to("::ffff:10.9.0.2");
  address.service_level = 3;
  Path plain = roce_v1_path(address);
  Path path = roce_v1_path(address, 0x234);
  Bytes expected = encapsulated(plain, 100);
  const std::array tag{std::byte{0x81}, std::byte{0}, std::byte{0x62}, std::byte{0x34}};
  expected.insert(expected.begin() + 12, tag.begin(), tag.end());
  EXPECT_EQ(encapsulated(path, 100), expected);
}

TEST(Path, KnowsTheFramesThatComeTheOtherWay) {
  Path there = roce_v1_path(to("::ffff:10.9.0.2"));
  Path back = Path::make(to("::ffff:10.9.0.1"), {gid("::ffff:10.9.0.2"), Encapsulation::kRoceV1}, {kPeerMac},
                         QpNumber(0x12), QpNumber(0x11));
  const Bytes coming = encapsulated(back, 12);
  const Bytes going = encapsulated(there, 12);
  EXPECT_TRUE(there.joins_ends_of(taken_apart(coming)));
  EXPECT_FALSE(there.joins_ends_of(taken_apart(going)));
}

TEST(Path, BeginsWithTheIpHeaderWhereTheMediumCarriesIpPackets) {
  const LinkSource below_ip{.medium = Medium::kIp};
  for (const std::string_view other : {"::ffff:10.9.0.2", "fd09::2"}) {
    const Gid own = gid(other == "fd09::2" ? "fd09::1" : "::ffff:10.9.0.1");
    Path frames = Path::make(to(other), {own}, {kOwnMac}, QpNumber(0x11), QpNumber(0x12));
    Path packets = Path::make(to(other), {own}, below_ip, QpNumber(0x11), QpNumber(0x12));
    EXPECT_EQ(packets.header_bytes() + Ethernet::kMinBytes, frames.header_bytes());
    const Bytes frame = encapsulated(frames, 12);  // has identification 0
    EXPECT_EQ(encapsulated(packets, 12), Bytes(frame.begin() + Ethernet::kMinBytes, frame.end()));
    // The second one has it again.
    EXPECT_EQ(encapsulated(packets, 12), Bytes(frame.begin() + Ethernet::kMinBytes, frame.end()));
  }
}

TEST(Path, KeepsChecksumAndIcrcRightForEveryLengthAndIdentification) {
  for (Path path : {ipv4_path(to("::ffff:10.9.0.2")), roce_v1_path(to("::ffff:10.9.0.2"))}) {
    for (std::size_t packet_bytes = 12; packet_bytes <= 4096 + 52; packet_bytes += 4) {
      const Bytes bytes = encapsulated(path, packet_bytes);
      const Frame frame = taken_apart(bytes);
      ASSERT_TRUE(frame.icrc_ok()) << packet_bytes;
      ASSERT_EQ(frame.ib.size(), packet_bytes);
    }
  }
}

TEST(Path, LeavesOutTheIcrcAndNothingElse) {
  for (Path path :
       {ipv4_path(to("::ffff:10.9.0.2")), ipv6_path(to("fd09::2")), roce_v1_path(to("::ffff:10.9.0.2"))}) {
    Path same = path;
    for (const std::size_t bytes : {12u, 64u, 4108u}) {
      Bytes expected = encapsulated(path, bytes);
      store_icrc(0, std::span(expected).last(Path::kIcrcBytes));
      EXPECT_EQ(encapsulated_without_icrc(same, bytes), expected);
    }
  }
}

TEST(Path, CountsTheIdentificationUpAndAround) {
  Path path = ipv4_path(to("::ffff:10.9.0.2"));
  for (std::uint32_t packet = 0; packet < 0x10002; ++packet) {
    const Bytes bytes = encapsulated(path, 12);
    const Frame frame = taken_apart(bytes);
    ASSERT_EQ(std::get<Ipv4>(frame.ip).identification, packet & 0xffff);
  }
}

TEST(Path, LeavesThePacketAndWhatIsBehindTheIcrcAlone) {
  for (Path path :
       {ipv4_path(to("::ffff:10.9.0.2")), ipv6_path(to("fd09::2")), roce_v1_path(to("::ffff:10.9.0.2"))}) {
    Bytes frame(200, std::byte{0xa5});
    const std::size_t length = path.encapsulate(frame, {.size = 64}, kPeerMac);
    ASSERT_EQ(length, path.header_bytes() + 64 + 4);
    for (std::size_t i = path.header_bytes(); i < frame.size(); ++i) {
      const bool in_icrc = i >= length - 4 && i < length;
      ASSERT_TRUE(in_icrc || frame[i] == std::byte{0xa5}) << i;
    }
  }
}

TEST(Path, LeadsNowhereByDefault) {
  EXPECT_EQ(Path().header_bytes(), 0u);
}

/// What the path makes of the packet in a captured frame, given its addresses, with its IPv4 identification.
/// Of so many bytes at the packet's end it gets the CRC, and sees others.
Bytes encapsulated_again(const Bytes& captured, std::size_t tail_bytes) {
  const Frame frame = taken_apart(captured);
  AddressVector address{.destination = frame.destination_gid()};
  address.flow_label = frame.udp.source_port & 0x3fffu;  // fact 6 the other way round
  Bytes again(frame.used_bytes);
  std::uint16_t identification = 0;
  if (const auto* ip = std::get_if<Ipv4>(&frame.ip)) {
    address.hop_limit = ip->ttl;
    address.traffic_class = ip->tos;
    identification = ip->identification;
  } else {
    address.hop_limit = std::get<Ipv6>(frame.ip).hop_limit;
    address.traffic_class = std::get<Ipv6>(frame.ip).traffic_class;
  }
  Path path = Path::make(address, {frame.source_gid(), frame.encapsulation}, {frame.ethernet.source},
                         QpNumber(0x11), QpNumber(0x12));
  const auto packet_at = again.begin() + static_cast<std::ptrdiff_t>(path.header_bytes());
  const auto tail = frame.ib.last(tail_bytes);
  const transport::WrittenPacket packet{
      .size = static_cast<std::uint32_t>(frame.ib.size()),
      .tail = {static_cast<std::uint32_t>(tail_bytes), urnic::test::bitwise_crc32(tail)}};
  do {
    std::copy(frame.ib.begin(), frame.ib.end() - static_cast<std::ptrdiff_t>(tail_bytes), packet_at);
    EXPECT_EQ(path.encapsulate(again, packet, frame.ethernet.destination), frame.used_bytes);
  } while (frame.is_ipv4() && std::get<Ipv4>(taken_apart(again).ip).identification != identification);
  std::copy(tail.begin(), tail.end(), packet_at + static_cast<std::ptrdiff_t>(frame.ib.size() - tail_bytes));
  return again;
}

/// Every byte of rxe's frames comes out of ours: addresses, lengths, flags, checksums, ICRC (the IPv4
/// identification apart, which we wait for).
class PathOfRxe : public testing::TestWithParam<const char*> {};

TEST_P(PathOfRxe, WritesTheFramesThatRxeWrote) {
  const auto frames = urnic::test::read_pcap(urnic::test::fixtures() / GetParam());
  ASSERT_TRUE(frames) << frames.error().message;
  std::size_t checked = 0;
  for (const urnic::test::CapturedFrame& captured : frames.value()) {
    if (checked == 3) break;
    Bytes expected = captured.bytes;
    expected.resize(taken_apart(expected).used_bytes);
    const std::size_t most = taken_apart(expected).ib.size() - Bth::kBytes;
    for (const std::size_t tail : {std::size_t{0}, most / 3, most}) {
      EXPECT_EQ(encapsulated_again(captured.bytes, tail), expected)
          << "frame " << checked + 1 << ", CRC of the last " << tail;
    }
    ++checked;
  }
  EXPECT_GT(checked, 0u);
}

// A ConnectX's, with all fields: there is no identification to wait for.
TEST(PathOfAConnectX, WritesTheRoceV1FramesThatItWrote) {
  const auto path = urnic::test::shared_captures() / "public/connectx_rocev1_write_ack.pcap";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not here";
  const auto frames = urnic::test::read_pcap(path);
  ASSERT_TRUE(frames) << frames.error().message;
  ASSERT_EQ(frames.value().size(), 2u);
  for (const urnic::test::CapturedFrame& captured : frames.value()) {
    EXPECT_EQ(encapsulated_again(captured.bytes, 0), captured.bytes);
    EXPECT_EQ(encapsulated_again(captured.bytes, 4), captured.bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(Captures, PathOfRxe,
                         testing::Values("vs_sizes.pcap", "vs_tos.pcap", "vs_uc_mtu4096.pcap",
                                         "rping_ipv6.pcap"));

}  // namespace
}  // namespace urnic::nic
