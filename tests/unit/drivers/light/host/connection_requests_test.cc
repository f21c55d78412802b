// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/host/connection_requests.h"

#include <gmock/gmock.h>

#include <map>
#include <utility>

#include "tests/unit/drivers/light/host/packets.h"

namespace urnic::drivers {
namespace {

using namespace std::chrono_literals;
using namespace test;
using nic::rdma_cm::PortSpace;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

const ConnectionRequests::Time kStart{};
const wire::Gid kPeer = wire::Gid::from_ipv4({{10, 0, 0, 2}});
const wire::Gid kHere = wire::Gid::from_ipv4({{10, 0, 0, 1}});

class FakeMembers final : public ConnectionRequests::Members {
 public:
  std::optional<unsigned> listener_of(const RequestedService& service) const override {
    last_asked = service;
    const auto found = listeners.find({service.space, service.destination.port});
    return found == listeners.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<unsigned> refuser() const override { return lowest; }
  bool hand_over(unsigned slot, std::span<const std::byte> packet) override {
    if (is_full) return false;
    got.emplace_back(slot, Bytes(packet.begin(), packet.end()));
    return true;
  }

  std::map<std::pair<PortSpace, std::uint16_t>, unsigned> listeners;
  std::optional<unsigned> lowest = 3;
  bool is_full = false;
  mutable RequestedService last_asked;
  std::vector<std::pair<unsigned, Bytes>> got;
};

class ConnectionRequestsTest : public testing::Test {
 protected:
  static Bytes packet_for(const nic::cm::Message& message) {
    return ip_packet(packet_with(message), kPeer, kHere);
  }
  static Bytes request(std::uint16_t port) { return packet_for(request_to(PortSpace::kTcp, port)); }

  FakeMembers members_;
  ConnectionRequests requests_{members_};
};

TEST_F(ConnectionRequestsTest, HandsARequestToItsListenerUnchanged) {
  members_.listeners[{PortSpace::kTcp, 80}] = 7;
  const Bytes packet = request(80);
  requests_.on_packet(packet, kStart);
  EXPECT_THAT(members_.got, ElementsAre(Pair(7u, packet)));
  EXPECT_EQ(members_.last_asked.destination.address, kHere);
  EXPECT_EQ(members_.last_asked.destination.family, nic::rdma_cm::SocketAddress::Family::kIpv4);
  EXPECT_EQ(requests_.counters().handed_over, 1u);
}

TEST_F(ConnectionRequestsTest, HandsADatagramRequestToItsListener) {
  members_.listeners[{PortSpace::kUdp, 80}] = 8;
  const Bytes packet =
      packet_for(nic::cm::SidrReq{.service_id = nic::rdma_cm::service_id_of(PortSpace::kUdp, 80)});
  requests_.on_packet(packet, kStart);
  EXPECT_THAT(members_.got, ElementsAre(Pair(8u, packet)));
}

TEST_F(ConnectionRequestsTest, KnowsAnIpv6Destination) {
  members_.listeners[{PortSpace::kTcp, 80}] = 7;
  requests_.on_packet(ip_packet(packet_with(request_to(PortSpace::kTcp, 80)), kLocalIpv6, kLocalIpv6),
                      kStart);
  EXPECT_THAT(members_.got, SizeIs(1));
  EXPECT_EQ(members_.last_asked.destination.address, kLocalIpv6);
  EXPECT_EQ(members_.last_asked.destination.family, nic::rdma_cm::SocketAddress::Family::kIpv6);
}

// The kernel does not show the identification, and puts 0 in its place.
TEST_F(ConnectionRequestsTest, TakesARequestWithAnyIdentification) {
  members_.listeners[{PortSpace::kTcp, 80}] = 7;
  const Bytes ib = packet_with(request_to(PortSpace::kTcp, 80));
  const Bytes sent = ip_packet(ib, kPeer, kHere, 50000, 0x1234);
  Bytes received = ip_packet(ib, kPeer, kHere);
  std::copy(sent.end() - 4, sent.end(), received.end() - 4);
  requests_.on_packet(received, kStart);
  EXPECT_THAT(members_.got, SizeIs(1));
}

TEST_F(ConnectionRequestsTest, HandsARepetitionToTheProcessThatHadTheRequest) {
  members_.listeners[{PortSpace::kTcp, 80}] = 7;
  requests_.on_packet(request(80), kStart);
  members_.listeners.clear();
  requests_.on_packet(request(80), kStart + 60s);
  EXPECT_THAT(members_.got, ElementsAre(Pair(7u, request(80)), Pair(7u, request(80))));
  // Another process listens there by now: a new request is for that one.
  members_.listeners[{PortSpace::kTcp, 80}] = 9;
  auto other = request_to(PortSpace::kTcp, 80);
  other.local_id = nic::cm::CommunicationId{0x05000002};
  requests_.on_packet(packet_for(other), kStart + 60s);
  EXPECT_EQ(members_.got.back().first, 9u);
  requests_.on_packet(request(80), kStart + 60s);
  EXPECT_EQ(members_.got.back().first, 7u);
  requests_.on_leave(7);
  requests_.on_packet(request(80), kStart + 60s);
  EXPECT_EQ(members_.got.back().first, 9u);
}

TEST_F(ConnectionRequestsTest, ForgetsWhoHadARequestWhenItIsOld) {
  members_.listeners[{PortSpace::kTcp, 80}] = 7;
  requests_.on_packet(request(80), kStart);
  members_.listeners[{PortSpace::kTcp, 80}] = 9;
  requests_.on_packet(request(80), kStart + GivenRequests::kMemory);
  EXPECT_EQ(members_.got.back().first, 9u);
}

TEST(GivenRequests, ForgetsTheOldestOfTooMany) {
  GivenRequests given;
  for (std::uint32_t i = 0; i <= GivenRequests::kMost; ++i) given.note({.sender = 1, .id = i}, 5, kStart);
  EXPECT_EQ(given.find({.sender = 1, .id = 0}, kStart), std::nullopt);
  EXPECT_EQ(given.find({.sender = 1, .id = 1}, kStart), 5u);
  EXPECT_EQ(given.find({.sender = 1, .id = 1, .is_for_datagrams = true}, kStart), std::nullopt);
}

TEST_F(ConnectionRequestsTest, KeepsARequestForAListenerThatComesSoon) {
  requests_.on_packet(request(80), kStart);
  requests_.on_packet(request(81), kStart);
  EXPECT_THAT(members_.got, IsEmpty());
  members_.listeners[{PortSpace::kTcp, 80}] = 7;
  requests_.on_listen(kStart);
  EXPECT_THAT(members_.got, ElementsAre(Pair(7u, request(80))));
  EXPECT_EQ(requests_.next_timeout(), kStart + 200ms);
}

TEST_F(ConnectionRequestsTest, HasARequestRefusedWhenNoListenerComes) {
  requests_.on_packet(request(80), kStart);
  requests_.on_timeout(kStart + 200ms - 1ns);
  EXPECT_THAT(members_.got, IsEmpty());
  requests_.on_timeout(kStart + 200ms);
  EXPECT_THAT(members_.got, ElementsAre(Pair(3u, request(80))));
  EXPECT_EQ(requests_.counters().refused, 1u);
  EXPECT_EQ(requests_.next_timeout(), std::nullopt);
}

TEST_F(ConnectionRequestsTest, HasTheRequestThatIsTooManyRefusedAtOnce) {
  for (unsigned i = 0; i < 256; ++i) requests_.on_packet(request(80), kStart);
  EXPECT_THAT(members_.got, IsEmpty());
  requests_.on_packet(request(81), kStart);
  EXPECT_THAT(members_.got, ElementsAre(Pair(3u, request(81))));
}

TEST_F(ConnectionRequestsTest, DropsARequestThatTheProcessDoesNotTake) {
  members_.listeners[{PortSpace::kTcp, 80}] = 7;
  members_.is_full = true;
  requests_.on_packet(request(80), kStart);
  EXPECT_EQ(requests_.counters().not_taken, 1u);
  members_.lowest = std::nullopt;
  requests_.on_packet(request(81), kStart);
  requests_.on_timeout(kStart + 1s);
  EXPECT_EQ(requests_.counters().not_taken, 2u);
}

TEST_F(ConnectionRequestsTest, HasRequestsRefusedThatCannotBeReadOrAskForNoPort) {
  requests_.on_packet(packet_for(nic::cm::Req{.local_id = nic::cm::CommunicationId{1},
                                              .service_id = nic::cm::ServiceId{0x1234567812345678}}),
                      kStart);
  EXPECT_THAT(members_.got, SizeIs(1));
  Bytes ib = packet_with(request_to(PortSpace::kTcp, 80));
  ib[12 + 8 + 2] = std::byte{9};  // the version of the class
  requests_.on_packet(ip_packet(ib, kPeer, kHere), kStart);
  EXPECT_THAT(members_.got, SizeIs(2));
  EXPECT_EQ(requests_.counters().refused, 2u);
}

TEST_F(ConnectionRequestsTest, DropsWhatIsNoRequest) {
  members_.listeners[{PortSpace::kTcp, 80}] = 7;
  requests_.on_packet(packet_for(nic::cm::Rtu{.remote_id = nic::cm::CommunicationId{0xff000001}}), kStart);
  requests_.on_packet(ip_packet(packet_to(0xff0011), kPeer, kHere), kStart);
  EXPECT_EQ(requests_.counters().stray, 2u);
  EXPECT_THAT(members_.got, IsEmpty());
}

TEST_F(ConnectionRequestsTest, DropsEveryShortenedRequest) {
  members_.listeners[{PortSpace::kTcp, 80}] = 7;
  const Bytes whole = request(80);
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    requests_.on_packet(std::span(whole).first(bytes), kStart);
  }
  EXPECT_EQ(requests_.counters().malformed, whole.size());
  EXPECT_THAT(members_.got, IsEmpty());
}

// Its NIC drops it, and may tell why: the sender's address was translated.
TEST_F(ConnectionRequestsTest, ShowsADamagedRequestToItsListenerAlone) {
  members_.listeners[{PortSpace::kTcp, 80}] = 7;
  Bytes damaged = request(80);
  damaged.back() ^= std::byte{1};
  requests_.on_packet(damaged, kStart);
  EXPECT_THAT(members_.got, ElementsAre(Pair(7u, damaged)));
  EXPECT_EQ(requests_.counters().malformed, 1u);
  EXPECT_EQ(requests_.counters().handed_over, 0u);
  members_.got.clear();
  damaged = request(81);
  damaged.back() ^= std::byte{1};
  requests_.on_packet(damaged, kStart);
  EXPECT_THAT(members_.got, IsEmpty()) << "no member gets it to refuse";
}

}  // namespace
}  // namespace urnic::drivers
