// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// UDP ports of processes that share a host's addresses: their sockets come from elsewhere, and change.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "drivers/udp/socket.h"
#include "drivers/udp/udp_port.h"
#include "nic/path/path.h"
#include "transport/wire/byte_order.h"
#include "transport/wire/udp.h"

namespace urnic::drivers {
namespace {

namespace wire = transport::wire;
using Bytes = std::vector<std::byte>;
using wire::Gid;

constexpr unsigned kLoopbackIndex = 1;
constexpr std::uint8_t kShare = 7;
constexpr std::size_t kQpInBth = 5;

/// An address of the loopback network that no other process of this test has, nor another test.
Gid test_address(unsigned number) {
  const auto process = static_cast<unsigned>(getpid());
  return Gid::from_ipv4(
      {{127, static_cast<std::uint8_t>(128 | (process >> 14 & 63)), static_cast<std::uint8_t>(process >> 6),
        static_cast<std::uint8_t>((process << 2 & 0xfc) + number)}});
}

class SharedUdpPortTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(give_sockets());
    auto port = UdpPort::share(config(test_address(1)), exchange_);
    ASSERT_TRUE(port) << port.error().message;
    port_ = std::move(port.value());
    auto peer = UdpPort::open(config(test_address(2)));
    ASSERT_TRUE(peer) << peer.error().message;
    peer_ = std::move(peer.value());
  }

  static UdpPort::Config config(const Gid& address) {
    return {.addresses = {{.gid = address, .interface = "lo", .interface_index = kLoopbackIndex}},
            .link_mtu = 4200};
  }
  /// As the host's switch does it; the socket of its end of the packets' is `switch_`.
  void give_sockets(std::uint16_t udp_port = wire::kRocePort) {
    SharedSockets sockets;
    auto ipv4 = open_udp_socket(test_address(1), udp_port, kLoopbackIndex);
    ASSERT_TRUE(ipv4) << ipv4.error().message;
    sockets.ipv4 = std::move(ipv4.value());
    sockets.port = udp_port;
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, ends), 0);
    switch_ = Descriptor(ends[0]);
    sockets.handed_over = Descriptor(ends[1]);
    sockets.share = kShare;
    exchange_->give(std::move(sockets));
  }
  /// From the peer to a queue pair.
  Bytes send(std::uint32_t qp) { return send(*peer_, test_address(2), test_address(1), qp); }
  static Bytes send(UdpPort& from, const Gid& source, const Gid& destination, std::uint32_t qp) {
    nic::Path path = nic::Path::make({.destination = destination}, {source}, {.medium = nic::Medium::kIp},
                                     transport::QpNumber{0x11}, transport::QpNumber{0x12});
    const std::span<std::byte> room = from.reserve_to({}).bytes();
    std::fill_n(room.begin() + static_cast<std::ptrdiff_t>(path.header_bytes()), 24, std::byte{0x5a});
    wire::store_u24(room, path.header_bytes() + kQpInBth, qp);
    const std::size_t length = path.encapsulate(room, {.size = 24}, {});
    Bytes packet(room.begin(), room.begin() + static_cast<std::ptrdiff_t>(length));
    from.commit(length);
    from.flush();
    return packet;
  }
  /// What comes within a second; empty when nothing does.
  Bytes receive() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (std::chrono::steady_clock::now() < end) {
      std::array<nic::ReceivedFrame, 1> packet;
      if (port_->receive(packet) == 1) return {packet[0].begin(), packet[0].end()};
      pollfd waiting{.fd = port_->wake_fd(), .events = POLLIN, .revents = 0};
      if (!port_->arm() && poll(&waiting, 1, 50) <= 0) continue;
    }
    return {};
  }
  Bytes handed_on() const {
    Bytes bytes(5000);
    const ssize_t size = recv(switch_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    bytes.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return bytes;
  }

  const std::shared_ptr<SocketExchange> exchange_ = std::make_shared<SocketExchange>();
  Descriptor switch_;
  std::unique_ptr<UdpPort> port_;
  std::unique_ptr<UdpPort> peer_;
};

TEST_F(SharedUdpPortTest, KeepsPacketsOfItsShareAndHandsOthersOn) {
  const Bytes stray = send(0x080001);
  const Bytes own = send(0x070001);
  EXPECT_EQ(receive(), own);
  pollfd idle{.fd = port_->wake_fd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&idle, 1, 0), 0) << "a NIC with nothing to do sleeps";
  EXPECT_EQ(handed_on(), stray);
  EXPECT_EQ(port_->statistics().received_frames, 1u);
  EXPECT_EQ(port_->statistics().dropped_frames, 0u);
}

TEST_F(SharedUdpPortTest, CountsWhatItCannotHandOn) {
  switch_.reset();
  send(0x080001);
  const Bytes own = send(0x070001);
  EXPECT_EQ(receive(), own);
  EXPECT_EQ(port_->statistics().dropped_frames, 1u);
}

TEST_F(SharedUdpPortTest, KeepsWhateverTheSwitchHandsOver) {
  const Bytes packet = send(0x000001);  // to management: the switch's
  ASSERT_TRUE(receive().empty());
  ASSERT_EQ(handed_on(), packet);
  ASSERT_EQ(::send(switch_.get(), packet.data(), packet.size(), 0), static_cast<ssize_t>(packet.size()));
  EXPECT_EQ(receive(), packet);
  EXPECT_TRUE(handed_on().empty());
}

TEST_F(SharedUdpPortTest, HasOtherSocketsWhenThereAreSome) {
  const Gid group = Gid::from_ipv4({{239, 7, 7, 8}});
  ASSERT_TRUE(port_->join(group));
  exchange_->withdraw();
  EXPECT_TRUE(port_->arm()) << "to be woken for it";
  EXPECT_TRUE(receive().empty());
  give_sockets();
  const Bytes packet = send(0x070002);
  EXPECT_EQ(receive(), packet);
  // It is a member again.
  nic::Path path =
      nic::Path::make({.destination = group, .hop_limit = 1}, {test_address(2)}, {.medium = nic::Medium::kIp},
                      transport::QpNumber{0x11}, transport::QpNumber{0xffffff});
  const std::span<std::byte> room = peer_->reserve_to({}).bytes();
  wire::store_u24(room, path.header_bytes() + kQpInBth, 0xffffff);
  peer_->commit(path.encapsulate(room, {.size = 24}, {}));
  peer_->flush();
  EXPECT_FALSE(receive().empty());
}

TEST_F(SharedUdpPortTest, ReachesItsOwnHostAloneAtAPortThatIsNotRoces) {
  exchange_->withdraw();
  EXPECT_TRUE(receive().empty());
  ASSERT_NO_FATAL_FAILURE(give_sockets(20'000 + static_cast<std::uint16_t>(getpid() % 10'000)));
  EXPECT_TRUE(receive().empty());
  send(*port_, test_address(1), Gid::from_ipv4({{192, 0, 2, 1}}), 0x070001);
  EXPECT_EQ(port_->statistics().sent_frames, 0u);
  EXPECT_EQ(port_->statistics().dropped_frames, 1u);
  const Bytes packet = send(*port_, test_address(1), test_address(1), 0x070001);
  EXPECT_EQ(receive(), packet);
}

}  // namespace
}  // namespace urnic::drivers
