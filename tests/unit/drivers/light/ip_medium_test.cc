// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Recorder and fault injector around a port that carries IP packets.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <vector>

#include "drivers/fault/fault_port.h"
#include "drivers/fault/fault_spec.h"
#include "drivers/pcap/recorder_port.h"
#include "nic/clock.h"
#include "nic/path/path.h"
#include "tests/support/lost_identification.h"
#include "tests/support/pcap_file.h"
#include "tests/unit/drivers/light/fake_port.h"
#include "tests/unit/drivers/light/temporary_folder.h"
#include "tools/simulation/kernel/clock.h"
#include "transport/wire/byte_order.h"
#include "transport/wire/frame.h"
#include "transport/wire/icrc.h"
#include "transport/wire/ipv4.h"

namespace urnic::drivers::test {
namespace {

namespace wire = transport::wire;
using wire::Gid;

const Gid kOwn = Gid::from_ipv4({{10, 0, 0, 1}});
const Gid kPeer = Gid::from_ipv4({{10, 0, 0, 2}});

Bytes packet_from(const Gid& source, const Gid& destination, std::size_t bytes) {
  nic::Path path = nic::Path::make({.destination = destination}, {source}, {.medium = nic::Medium::kIp},
                                   transport::QpNumber(0x11), transport::QpNumber(0x12));
  Bytes packet(path.header_bytes() + bytes + wire::kIcrcBytes, std::byte{0x21});
  path.encapsulate(packet, {.size = static_cast<std::uint32_t>(bytes)}, {});
  return packet;
}

class IpMediumPorts : public testing::Test {
 protected:
  IpMediumPorts() { outside_->medium = nic::Medium::kIp; }

  std::shared_ptr<FakePort::Outside> outside_ = std::make_shared<FakePort::Outside>();
};

TEST_F(IpMediumPorts, RecordsPacketsAsTheyWereOnTheWireAndOwnOnesOnce) {
  TemporaryFolder folder;
  const std::string path = folder.file("capture.pcap");
  const nic::SteadyClock clock;
  {
    auto port = RecorderPort::create(path, std::make_unique<FakePort>(outside_),
                                     {.mac = {}, .addresses = {kOwn}}, clock);
    ASSERT_TRUE(port);
    EXPECT_EQ(port.value()->medium(), nic::Medium::kIp);
    const Bytes damaged = [] {
      Bytes packet = packet_from(kPeer, kOwn, 24);
      packet[40] ^= std::byte{1};
      return packet;
    }();
    outside_->to_receive = {urnic::test::without_identification(packet_from(kPeer, kOwn, 24), 0xbeef),
                            packet_from(kOwn, kOwn, 24), damaged};
    std::array<nic::ReceivedFrame, 8> burst;
    EXPECT_EQ(port.value()->receive(burst), 3u);
    // The NIC gets what the socket gave.
    EXPECT_EQ(wire::load_u16(burst[0], 4), 0);
    EXPECT_TRUE(send(*port.value(), packet_from(kOwn, kPeer, 100)));
  }
  std::ifstream file(path, std::ios::binary);
  std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  ASSERT_GT(bytes.size(), 24u + 4 * 16);
  EXPECT_EQ(bytes[20], 101) << "the link type is raw IP";
  // Three records: what came from the peer, whole and damaged, and what was sent.
  const std::size_t first = 24 + 16;
  const auto recorded = std::as_bytes(std::span(bytes)).subspan(first, 28 + 24 + 4);
  const auto parsed = wire::parse_ip_packet(recorded);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(std::get<wire::Ipv4>(parsed.value().ip).identification, 0xbeef);
  EXPECT_TRUE(parsed.value().icrc_ok());
  EXPECT_EQ(bytes.size(), 24u + 3 * 16 + 2 * (28 + 24 + 4) + (28 + 100 + 4));
}

TEST_F(IpMediumPorts, RecordsWhatComesFromOtherNicsWithTheSameAddress) {
  TemporaryFolder folder;
  const std::string path = folder.file("capture.pcap");
  const nic::SteadyClock clock;
  const auto packet_to = [](std::uint32_t qp, std::size_t bytes) {
    Bytes packet = packet_from(kOwn, kOwn, bytes);
    wire::store_u24(packet, 28 + 5, qp);
    return packet;
  };
  {
    auto port =
        RecorderPort::create(path, std::make_unique<FakePort>(outside_),
                             {.mac = {}, .addresses = {kOwn}, .numbers = {.bits = 8, .value = 7}}, clock);
    ASSERT_TRUE(port);
    EXPECT_TRUE(send(*port.value(), packet_to(0x070001, 24))) << "to itself: recorded when it comes";
    EXPECT_TRUE(send(*port.value(), packet_to(0x080001, 40)));
    outside_->to_receive = {packet_to(0x070001, 24), packet_to(0x070002, 32)};
    std::array<nic::ReceivedFrame, 8> burst;
    EXPECT_EQ(port.value()->receive(burst), 2u);
  }
  EXPECT_EQ(std::filesystem::file_size(path), 24u + 3 * (16 + 28 + 4) + 40 + 24 + 32);
}

TEST_F(IpMediumPorts, HurtsPacketsBehindTheirUdpHeaderOnly) {
  const kernel::Clock clock;
  FaultPort port(std::make_unique<FakePort>(outside_),
                 FaultSpec::parse("corrupt=1,truncate=0.5,seed=3").value(), clock);
  for (const Gid& peer : {kPeer, Gid::parse("fd00::2").value()}) {
    const Gid own = peer.is_ipv4_mapped() ? kOwn : Gid::parse("fd00::1").value();
    const std::size_t headers = peer.is_ipv4_mapped() ? 28 : 48;
    const Bytes whole = packet_from(own, peer, 100);
    bool was_hurt = false;
    for (int i = 0; i < 200; ++i) {
      outside_->sent.clear();
      EXPECT_TRUE(send(port, whole));
      ASSERT_EQ(outside_->sent.size(), 1u);
      const Bytes& sent = outside_->sent[0];
      ASSERT_GE(sent.size(), headers);
      EXPECT_TRUE(
          std::equal(sent.begin(), sent.begin() + static_cast<std::ptrdiff_t>(headers), whole.begin()));
      was_hurt |= sent != whole;
    }
    EXPECT_TRUE(was_hurt);
  }
}

}  // namespace
}  // namespace urnic::drivers::test
