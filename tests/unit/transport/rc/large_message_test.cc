// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Messages of 2^31 bytes, the longest there are (fact 29): nothing may overflow. The memory is sparse, and
// data is not compared except for the address that a sparse region puts in front of what is read.
#include <array>
#include <cstring>

#include "tests/support/qp_fixture.h"
#include "tests/support/value_of.h"

namespace urnic::transport::test {
namespace {

using ::testing::ElementsAre;

constexpr std::uint32_t kLength = kMaxMessageBytes;
constexpr std::uint32_t kAllPsns = 1u << 24;
constexpr Rkey kHugeKey{0xd0};
constexpr std::uint64_t kHugeAddress = 0x7fff'0000'0000;
constexpr Remote kHuge{.address = kHugeAddress, .rkey = kHugeKey};

class RcLargeMessage : public RcTest {
 protected:
  RcLargeMessage() {
    dma_.add_sparse_region({.key = to_integer(kHugeKey),
                            .address = kHugeAddress,
                            .length = kLength,
                            .pd = kPd,
                            .access = Access::kLocalWrite | Access::kRemoteWrite | Access::kRemoteRead});
  }

  void connect_with(PathMtu mtu) {
    config_.path_mtu = mtu;
    connect();
  }

  static Sge huge() {
    return {.address = kHugeAddress, .length = kLength, .lkey = Lkey{to_integer(kHugeKey)}};
  }
  std::uint32_t mtu() const { return bytes(config_.path_mtu); }
  std::uint32_t packets() const { return kLength / mtu(); }

  /// The endpoint's next packet without the fixture's checks, which would take too long here.
  std::span<const std::byte> poll_quickly() {
    return std::span(buffer_).first(endpoint_.poll_transmit(buffer_, now_).size);
  }
  wire::Packet last_polled(std::span<const std::byte> bytes) {
    return urnic::test::value_of(wire::parse_packet(bytes));
  }
  static std::uint64_t address_in(const wire::Packet& packet) {
    std::uint64_t address = 0;
    std::memcpy(&address, packet.payload.data(), sizeof address);
    return address;
  }

 private:
  std::array<std::byte, 52 + 4096> buffer_{};
};

TEST_F(RcLargeMessage, IsWrittenToTheLastPacket) {
  connect_with(PathMtu::k4096);
  post_quietly(write_wr(1, 0, kHuge).from_elements({huge()}));

  Psn psn = config_.send_psn;
  for (std::uint32_t i = 0; i < packets(); ++i, psn = psn + 1) {
    auto bytes = poll_quickly();
    if (bytes.empty()) {  // the window is full
      arrives(ack(psn - 1));
      bytes = poll_quickly();
    }
    ASSERT_EQ(bytes.size(), (i == 0 ? 28u : 12u) + mtu()) << i;
    if (i == 0) {
      EXPECT_EQ(last_polled(bytes).reth.length, kLength);
    }
    if (i + 1 == packets()) {
      const wire::Packet last = last_polled(bytes);
      EXPECT_EQ(last.bth.opcode, wire::Opcode::kRcWriteLast);
      EXPECT_EQ(last.bth.psn, psn);
      EXPECT_TRUE(last.bth.ack_request);
      EXPECT_EQ(address_in(last), kHugeAddress + kLength - mtu());
    }
  }
  EXPECT_TRUE(poll_quickly().empty());
  arrives(ack(psn - 1));
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(1)));
}

// 2^23 packets: half of all PSNs.
TEST_F(RcLargeMessage, IsBegunWithTheSmallestMtu) {
  connect_with(PathMtu::k256);
  post_quietly(write_wr(1, 0, kHuge).from_elements({huge()}));
  post_quietly(send_wr(2, 10));
  drain();
  auto first = sent();
  ASSERT_EQ(first.size(), config_.window_packets);
  EXPECT_EQ(first[0].length, kLength);

  peer_sends(ack(first.back().psn));
  const auto second = sent();
  ASSERT_EQ(second.size(), config_.window_packets);
  EXPECT_EQ(second[0].psn, first.back().psn + 1);

  pass_to_timeout();
  const auto again = sent();
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].payload, second[0].payload);
  peer_sends(ack(again[0].psn));
  EXPECT_EQ(sent().size(), config_.window_packets);
}

TEST_F(RcLargeMessage, IsTakenToTheLastPacket) {
  connect_with(PathMtu::k4096);
  const Bytes data(mtu());
  QpPacket packet = write_first(Psn(100), data, kLength, kHuge);
  arrives(packet);
  packet = write_middle(Psn(101), data);
  wire::Packet view = packet.view(kOurQp);
  for (std::uint32_t i = 1; i + 1 < packets(); ++i) {
    view.bth.psn = Psn(100 + i);
    endpoint_.on_packet(view, now_);
  }
  EXPECT_EQ(sent(), std::vector<QpPacket>{});
  const Psn last = Psn(100) + (packets() - 1);
  peer_sends(write_last(last, data));
  EXPECT_THAT(sent(), ElementsAre(ack(last, 1)));
  EXPECT_EQ(dma_.last_call().address, kHugeAddress + kLength - mtu());
}

TEST_F(RcLargeMessage, IsRefusedWhenOnePacketTooMany) {
  connect_with(PathMtu::k4096);
  const Bytes data(mtu());
  arrives(write_first(Psn(100), data, kLength, kHuge));
  const QpPacket middle = write_middle(Psn(101), data);
  wire::Packet view = middle.view(kOurQp);
  for (std::uint32_t i = 1; i < packets(); ++i) {
    view.bth.psn = Psn(100 + i);
    endpoint_.on_packet(view, now_);
  }
  peer_sends(write_last(Psn(100) + packets(), payload(1)));
  const auto answers = sent();
  ASSERT_FALSE(answers.empty());
  EXPECT_EQ(answers.back().syndrome, to_integer(Nak::kInvalidRequest));
}

TEST_F(RcLargeMessage, IsAnsweredToTheLastResponse) {
  connect_with(PathMtu::k4096);
  arrives(read_request(Psn(100), kLength, kHuge));
  EXPECT_EQ(endpoint_.next_receive_psn(), Psn(100) + packets());
  for (std::uint32_t i = 0; i + 1 < packets(); ++i) {
    ASSERT_EQ(poll_quickly().size(), (i == 0 ? 16u : 12u) + mtu());
  }
  const wire::Packet last = last_polled(poll_quickly());
  EXPECT_EQ(last.bth.opcode, wire::Opcode::kRcReadResponseLast);
  EXPECT_EQ(last.bth.psn, Psn(100) + (packets() - 1));
  EXPECT_EQ(address_in(last), kHugeAddress + kLength - mtu());
  EXPECT_TRUE(poll_quickly().empty());
}

TEST_F(RcLargeMessage, IsAnsweredAgainNearItsEnd) {
  connect_with(PathMtu::k4096);
  arrives(read_request(Psn(100), kLength, kHuge));
  for (std::uint32_t i = 0; i < packets(); ++i) ASSERT_FALSE(poll_quickly().empty());
  const Psn last = Psn(100) + (packets() - 1);
  peer_sends(read_request(last, mtu(), kHuge + (kLength - mtu())));
  const auto answers = sent();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].psn, last);
  EXPECT_EQ(answers[0].opcode, wire::Opcode::kRcReadResponseOnly);
}

/// With a window that holds it.
class RcLargeRead : public RcLargeMessage, public ::testing::WithParamInterface<PathMtu> {
 protected:
  RcLargeRead() {
    config_.window_packets = kAllPsns;
    connect_with(GetParam());
  }
};

INSTANTIATE_TEST_SUITE_P(Mtu, RcLargeRead, ::testing::Values(PathMtu::k256, PathMtu::k4096),
                         [](const auto& mtu) { return std::to_string(bytes(mtu.param)); });

// Its PSNs may be half of all PSNs: the repeated request is then as far in the past as a PSN can be (fact
// 39).
TEST_P(RcLargeRead, IsNoNewRequestWhenItComesAgain) {
  arrives(read_request(Psn(100), kLength, kHuge));
  poll_quickly();
  arrives(read_request(Psn(100), kLength, kHuge));
  EXPECT_EQ(last_polled(poll_quickly()).info->operation, wire::Operation::kReadResponse);
  EXPECT_EQ(endpoint_.next_receive_psn(), Psn(100) + packets());
  EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
}

TEST_P(RcLargeRead, IsAskedForAtOnceWhereTheWindowHoldsIt) {
  post(read_wr(1, 0, kHuge).from_elements({huge()}));
  EXPECT_THAT(sent(), ElementsAre(read_request(Psn(200), kLength, kHuge)));
  EXPECT_EQ(endpoint_.next_send_psn(), Psn(200) + packets());
}

TEST_P(RcLargeRead, IsResumedAfterItsFirstResponse) {
  post({read_wr(1, 0, kHuge).from_elements({huge()}), send_wr(2, 10)});
  sent();
  peer_sends(read_response_first(Psn(200), payload(mtu())));
  pass_to_timeout();
  const auto packets = sent();
  ASSERT_FALSE(packets.empty());
  EXPECT_EQ(packets[0], read_request(Psn(201), kLength - mtu(), kHuge + mtu()));
}

// More than half of all PSNs outstanding could not be told from old ones (fact 39).
TEST_F(RcLargeMessage, HoldsBackWhatWouldNotLeaveHalfOfThePsnsFree) {
  config_.window_packets = kAllPsns;
  connect_with(PathMtu::k256);
  post({read_wr(1, 0, kHuge).from_elements({huge()}), send_wr(2, 10), read_wr(3, 1)});
  EXPECT_THAT(sent(), ElementsAre(read_request(Psn(200), kLength, kHuge)));

  peer_sends({read_response_first(Psn(200), payload(256)), read_response_middle(Psn(201), payload(256)),
              read_response_middle(Psn(202), payload(256)), read_response_middle(Psn(203), payload(256))});
  const auto packets = sent();
  ASSERT_EQ(packets.size(), 2u);
  EXPECT_EQ(packets[0].psn, Psn(200 + (1 << 23)));
  EXPECT_EQ(packets[1].psn, Psn(201 + (1 << 23)));
}

TEST_F(RcLargeMessage, IsReadPieceByPieceToTheLastResponse) {
  config_.max_reads_in_flight = 2;
  connect_with(PathMtu::k4096);
  post_quietly(read_wr(1, 0, kHuge).from_elements({huge()}));
  post_quietly(send_wr(2, 10));
  const std::uint32_t piece = config_.window_packets / 2;
  const Bytes data(mtu());
  std::uint32_t requests = 0;
  for (std::uint32_t i = 0; i < packets(); ++i) {
    if (i % piece == 0) {
      while (!poll_quickly().empty()) ++requests;
    }
    const Psn psn = Psn(200) + i;
    const bool is_last = (i + 1) % piece == 0;
    arrives(i % piece == 0 ? read_response_first(psn, data)
            : is_last      ? read_response_last(psn, data)
                           : read_response_middle(psn, data));
  }
  EXPECT_EQ(requests, packets() / piece + 1);
  const auto completions = send_completions();
  ASSERT_THAT(completions, ElementsAre(Succeeded(1)));
  EXPECT_EQ(completions[0].byte_length, kLength);
  EXPECT_EQ(dma_.last_call().address, kHugeAddress + kLength - mtu());
  peer_sends(ack(Psn(200) + packets()));
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(2)));
}

}  // namespace
}  // namespace urnic::transport::test
