// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Datagrams that rdma_rxe sent, received by our responder and sent again by our requester.
#include <array>
#include <bit>
#include <ostream>
#include <vector>

#include "tests/support/captured_packets.h"
#include "tests/support/qp_fixture.h"

namespace urnic::transport::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::Field;
using ::testing::SizeIs;

/// What came out of a receive.
struct Received {
  std::uint32_t byte_length = 0;
  bool has_immediate = false;
  std::uint32_t immediate = 0;

  friend bool operator==(const Received&, const Received&) = default;
};

void PrintTo(const Received& received, std::ostream* out) {
  *out << "{" << received.byte_length << " bytes, immediate " << received.has_immediate << " "
       << received.immediate << "}";
}

class UdCaptures : public UdTest {
 protected:
  void connect_as(QpNumber local, Psn send_psn, std::uint32_t qkey) {
    config_.local_qp = local;
    config_.send_psn = send_psn;
    config_.qkey = qkey;
    connect();
  }

  /// Receives every datagram into one buffer, and checks the 40 bytes in front of what was sent.
  std::vector<Received> receive(const std::vector<CapturedPacket>& packets, QpNumber sender) {
    std::vector<Received> all;
    for (const CapturedPacket& packet : packets) {
      receive_queue_.clear();
      post_receive(1, {{.address = kReceiveAddress, .length = 2048, .lkey = kReceiveKey}});
      endpoint_.on_packet(packet.view(), now_);
      EXPECT_FALSE(poll_bytes().has_value());
      for (const Completion& completion : receive_completions()) {
        EXPECT_THAT(completion, AllOf(Succeeded(1), Field(&Completion::has_grh, true),
                                      Field(&Completion::source_qp, sender)));
        all.push_back({completion.byte_length, completion.has_immediate, completion.immediate});
        const Bytes zeros(40 - packet.network_header.size());
        EXPECT_EQ(receive_memory(0, completion.byte_length),
                  zeros + packet.network_header + payloads_of({packet}));
      }
    }
    return all;
  }

  static std::vector<Received> plain(std::size_t count, std::uint32_t byte_length) {
    return std::vector<Received>(count, Received{.byte_length = byte_length});
  }

  /// A work request of `vs` or another program: to `qp`, from the start of our memory.
  static SendWr wr_to(QpNumber qp, std::uint32_t length, std::uint32_t qkey = kQkey) {
    SendWr wr = datagram_wr(1, length, qkey);
    wr.request.destination.qp = qp;
    return wr;
  }

  /// `vs` sends 0x1000 + the number of its operation, in network order.
  static std::uint32_t immediate(std::uint8_t low_byte) {
    const std::array<std::uint8_t, 4> wire = {0, 0, 0x10, low_byte};
    return std::bit_cast<std::uint32_t>(wire);
  }
};

// The completions are those that the server printed; the eighth datagram had a wrong Q_Key.
TEST_F(UdCaptures, ReceivesWhatRxeSentOverIpv4) {
  const auto captured = captured_in("vs_ud");
  ASSERT_THAT(captured, SizeIs(9));
  connect_as(QpNumber{0x43}, Psn(0), 0x11111111);
  EXPECT_THAT(
      receive(captured, QpNumber{0x44}),
      ElementsAre(Received{40}, Received{41}, Received{47}, Received{1064}, Received{40, true, immediate(4)},
                  Received{53, true, immediate(5)}, Received{1064, true, immediate(6)}, Received{45}));
  EXPECT_EQ(count(Counter::kQkeyViolation), 1u);
  EXPECT_EQ(slice(captured[3].network_header, 12, 8),
            Bytes({std::byte{10}, std::byte{77}, std::byte{0}, std::byte{2}, std::byte{10}, std::byte{77},
                   std::byte{0}, std::byte{3}}));
}

TEST_F(UdCaptures, SendsAsRxeDidOverIpv4) {
  const auto captured = captured_in("vs_ud");
  constexpr QpNumber kServer{0x43};
  connect_as(QpNumber{0x44}, Psn(0xf6e578), 0x11111111);
  fill_local_memory(captured_pattern(1024));
  post({wr_to(kServer, 0), wr_to(kServer, 1), wr_to(kServer, 7), wr_to(kServer, 1024),
        wr_to(kServer, 0).with_immediate(immediate(4)), wr_to(kServer, 13).with_immediate(immediate(5)),
        wr_to(kServer, 1024).with_immediate(immediate(6)), wr_to(kServer, 5, 0x2222), wr_to(kServer, 5)});
  EXPECT_THAT(sent_bytes(), ElementsAreArray(as_we_send(captured)));
}

TEST_F(UdCaptures, ReceivesWhatRxeSentOverIpv6) {
  const auto captured = captured_in("vs_ud_ipv6");
  ASSERT_THAT(captured, SizeIs(3));
  ASSERT_THAT(captured[0].network_header, SizeIs(40));
  connect_as(QpNumber{0x40}, Psn(0), 0x11111111);
  EXPECT_THAT(receive(captured, QpNumber{0x41}),
              ElementsAre(Received{45}, Received{53, true, immediate(1)}, Received{1064}));
}

TEST_F(UdCaptures, SendsAsRxeDidOverIpv6) {
  const auto captured = captured_in("vs_ud_ipv6");
  constexpr QpNumber kServer{0x40};
  connect_as(QpNumber{0x41}, Psn(0x94aa19), 0x11111111);
  fill_local_memory(captured_pattern(1024));
  post({wr_to(kServer, 5), wr_to(kServer, 13).with_immediate(immediate(1)), wr_to(kServer, 1024)});
  EXPECT_THAT(sent_bytes(), ElementsAreArray(as_we_send(captured)));
}

// Facts 43 and 18: to the queue pair number of all groups, and requests for an acknowledgement from QP 1.
TEST_F(UdCaptures, ReceivesMulticast) {
  const auto captured = captured_in("mckey");
  ASSERT_THAT(captured, SizeIs(5));
  const wire::Packet first = captured[0].view();
  ASSERT_EQ(first.bth.destination_qp, QpNumber{0xffffff});
  connect_as(QpNumber{0x50}, Psn(0), first.deth.qkey);
  EXPECT_THAT(receive(captured, first.deth.source_qp),
              ElementsAreArray(std::vector<Received>(5, {296, true, first.immediate})));
}

TEST_F(UdCaptures, ReceivesConnectionManagementDatagrams) {
  std::vector<CapturedPacket> mads;
  for (const CapturedPacket& packet : captured_in("rping_ipv6")) {
    if (packet.view().bth.destination_qp == QpNumber{1}) mads.push_back(packet);
  }
  ASSERT_FALSE(mads.empty());
  ASSERT_TRUE(mads[0].view().bth.ack_request);
  connect_as(QpNumber{1}, Psn(0), 0x80010000);
  EXPECT_THAT(receive(mads, QpNumber{1}), ElementsAreArray(plain(mads.size(), 40 + 256)));
}

// --- Captures outside the project ---

TEST_F(UdCaptures, PlaysBothEndsOfAPingPong) {
  const auto captured = captured_outside("ud_pingpong");
  if (captured.empty()) GTEST_SKIP() << "no capture; set URNIC_SHARED to the folder above captures/";
  constexpr QpNumber kBoth{0x15};
  const auto pings = from_host(captured, 2);
  ASSERT_THAT(pings, SizeIs(20));
  connect_as(kBoth, Psn(0x19e4de), 0x11111111);
  EXPECT_THAT(receive(pings, kBoth), ElementsAreArray(plain(20, 1064)));
  fill_local_memory(Bytes(1024, std::byte{0x7b}));
  for (int i = 0; i < 20; ++i) post(wr_to(kBoth, 1024));
  EXPECT_THAT(sent_bytes(), ElementsAreArray(as_we_send(from_host(captured, 3))));
}

}  // namespace
}  // namespace urnic::transport::test
