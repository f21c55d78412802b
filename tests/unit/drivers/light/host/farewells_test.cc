// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/host/farewells.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "drivers/host/management_packet.h"
#include "tests/unit/drivers/light/host/packets.h"

namespace urnic::drivers {
namespace {

using namespace std::chrono_literals;
using namespace test;
namespace cm = nic::cm;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr cm::CommunicationId kOwn{0x01000007};
constexpr cm::CommunicationId kPeers{0x02000009};
const cm::Dreq kDreq{.local_id = kOwn, .remote_id = kPeers};

Bytes ip(const cm::Message& message) {
  return ip_packet(packet_with(message), kLocalIpv4, kLocalIpv4);
}

class FarewellsTest : public testing::Test {
 protected:
  /// What is sent within that time.
  std::vector<Bytes> sent_within(std::chrono::milliseconds time) {
    std::vector<Bytes> sent;
    const auto send = [&](std::span<const std::byte> packet) {
      sent.emplace_back(packet.begin(), packet.end());
    };
    const auto end = now_ + time;
    for (auto due = farewells_.next_timeout(); due && *due <= end; due = farewells_.next_timeout()) {
      now_ = std::max(now_, *due);
      farewells_.on_timeout(now_, send);
    }
    now_ = end;
    return sent;
  }

  Farewells::Time now_{1000s};
  Farewells farewells_;
};

TEST_F(FarewellsTest, SaysADreqAFewTimes) {
  farewells_.add({{.frame = ip(kDreq), .delivery = {.pause = 4s}}}, now_);
  EXPECT_THAT(sent_within(0ms), SizeIs(1));
  EXPECT_THAT(sent_within(3999ms), IsEmpty());
  EXPECT_THAT(sent_within(1ms), SizeIs(1));
  EXPECT_THAT(sent_within(60s), SizeIs(Farewells::kTimes - 2));
  EXPECT_FALSE(farewells_.next_timeout());
}

TEST_F(FarewellsTest, WaitsForTheAnswerToADreqThatTheProcessHasSent) {
  farewells_.add({{.frame = ip(kDreq), .delivery = {.pause = 4s, .was_sent = true}}}, now_);
  EXPECT_THAT(sent_within(3999ms), IsEmpty());
  EXPECT_THAT(sent_within(1ms), SizeIs(1));
  EXPECT_THAT(sent_within(60s), SizeIs(Farewells::kTimes - 2));
}

TEST_F(FarewellsTest, SaysADreqUntilItIsAnswered) {
  farewells_.add({{.frame = ip(kDreq), .delivery = {.pause = 4s}}}, now_);
  EXPECT_EQ(sent_within(0ms), std::vector<Bytes>({ip(kDreq)}));
  farewells_.on_answer(kPeers);
  EXPECT_TRUE(farewells_.next_timeout()) << "another connection was answered";
  farewells_.on_answer(kOwn);
  EXPECT_FALSE(farewells_.next_timeout());
}

TEST_F(FarewellsTest, SaysOnceWhatHasNoAnswer) {
  farewells_.add({{.frame = ip(cm::Rej{.remote_id = kPeers}), .delivery = {}}}, now_);
  EXPECT_THAT(sent_within(10s), SizeIs(1));
}

TEST_F(FarewellsTest, SaysNothingElse) {
  Bytes damaged = ip(kDreq);
  damaged.back() ^= std::byte{1};
  Bytes to_queue_pair = ip_packet(packet_to(0x020011, std::vector<std::byte>(256)), kLocalIpv4, kLocalIpv4);
  for (const Bytes& packet :
       {Bytes(), Bytes(352), damaged, to_queue_pair, ip(request_to(nic::rdma_cm::PortSpace::kTcp, 80)),
        ip(cm::Rep{.remote_id = kPeers})}) {
    farewells_.add({{.frame = packet, .delivery = {}}}, now_);
  }
  EXPECT_FALSE(farewells_.next_timeout());
}

TEST_F(FarewellsTest, SaysThoseOfManyConnectionsInTurns) {
  std::vector<nic::KeptFrame> packets;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    packets.push_back(
        {.frame = ip(cm::Dreq{.local_id = cm::CommunicationId{i + 1}, .remote_id = kPeers}), .delivery = {}});
  }
  farewells_.add(packets, now_);
  std::size_t sent = 0;
  farewells_.on_timeout(now_, [&](std::span<const std::byte>) { ++sent; });
  EXPECT_LT(sent, 1000u);
  EXPECT_GT(sent, 0u);
  EXPECT_EQ(sent + sent_within(0ms).size(), 1000u);
}

TEST(AnswerForAbsent, EndsWhatThePeerAsksFor) {
  const auto answer_to = [](const cm::Message& message) -> std::optional<cm::Mad> {
    const auto read = read_management_packet(ip_packet(packet_with(message), kLocalIpv6, kLocalIpv6));
    EXPECT_TRUE(read);
    const auto answer = answer_for_absent(*read);
    if (!answer) return std::nullopt;
    const auto sent = read_management_packet(*answer);
    EXPECT_TRUE(sent);
    EXPECT_EQ(sent->destination, kLocalIpv6);
    return sent->mad;
  };
  const auto drep = answer_to(cm::Dreq{.local_id = kPeers, .remote_id = kOwn});
  ASSERT_TRUE(drep && std::holds_alternative<cm::Drep>(drep->message));
  EXPECT_EQ(std::get<cm::Drep>(drep->message).local_id, kOwn);
  EXPECT_EQ(std::get<cm::Drep>(drep->message).remote_id, kPeers);
  EXPECT_EQ(drep->transaction_id, 1u);
  const auto rej = answer_to(cm::Rep{.local_id = kPeers, .remote_id = kOwn});
  ASSERT_TRUE(rej && std::holds_alternative<cm::Rej>(rej->message));
  EXPECT_EQ(std::get<cm::Rej>(rej->message).reason, cm::RejectReason::kInvalidCommunicationId);
  EXPECT_FALSE(answer_to(cm::Rtu{.local_id = kPeers, .remote_id = kOwn}));
  EXPECT_FALSE(answer_to(cm::Drep{.local_id = kPeers, .remote_id = kOwn}));
  EXPECT_FALSE(answer_to(cm::Rej{.local_id = kPeers, .remote_id = kOwn}));
}

}  // namespace
}  // namespace urnic::drivers
