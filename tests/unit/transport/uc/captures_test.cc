// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What rdma_rxe sent on unreliable connections, received by our responder and sent again by our requester.
#include <array>
#include <bit>
#include <utility>
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

class UcCaptures : public UcTest {
 protected:
  /// Our end of a captured connection: as the receiver, or as the sender, of its packets.
  void connect_as(QpNumber local, QpNumber remote, Psn receive_psn, Psn send_psn, PathMtu mtu) {
    config_.local_qp = local;
    config_.remote_qp = remote;
    config_.receive_psn = receive_psn;
    config_.send_psn = send_psn;
    config_.path_mtu = mtu;
    connect();
  }

  /// The captured server's memory, 64 KiB from where a captured WRITE goes.
  void add_captured_region(const wire::Reth& reth) {
    region_ = reth;
    dma_.add_region({.key = to_integer(reth.rkey),
                     .address = reth.address,
                     .length = kRegionBytes,
                     .pd = kPd,
                     .access = Access::kRemoteWrite});
  }
  Bytes captured_region(std::size_t size) const {
    return dma_.read(to_integer(region_.rkey), region_.address, size);
  }

  void arrive(const std::vector<CapturedPacket>& packets) {
    for (const CapturedPacket& packet : packets) endpoint_.on_packet(packet.view(), now_);
    EXPECT_FALSE(poll_bytes().has_value());
  }

  /// To where the WRITEs of `vs` go.
  SendWr captured_write(std::uint64_t wr_id, std::uint32_t length) const {
    return write_wr(wr_id, length, {.address = region_.address, .rkey = region_.rkey});
  }

  static auto received(std::uint32_t length) {
    return AllOf(Field(&Completion::status, CompletionStatus::kSuccess),
                 Field(&Completion::opcode, CompletionOpcode::kReceive),
                 Field(&Completion::byte_length, length), Field(&Completion::has_immediate, false));
  }
  static auto received_immediate(CompletionOpcode opcode, std::uint32_t length, std::uint8_t low_byte) {
    return AllOf(Field(&Completion::status, CompletionStatus::kSuccess), Field(&Completion::opcode, opcode),
                 Field(&Completion::byte_length, length), Field(&Completion::has_immediate, true),
                 Field(&Completion::immediate, immediate(low_byte)));
  }
  /// `vs` sends 0x1000 + the number of its operation, in network order.
  static std::uint32_t immediate(std::uint8_t low_byte) {
    const std::array<std::uint8_t, 4> wire = {0, 0, 0x10, low_byte};
    return std::bit_cast<std::uint32_t>(wire);
  }

  wire::Reth region_;
};

// The completions are those that the server printed.
TEST_F(UcCaptures, ReceivesEveryKindOfMessageThatRxeSent) {
  const auto captured = captured_in("vs_uc_mtu4096");
  ASSERT_THAT(captured, SizeIs(7));
  connect_as(QpNumber{0x15}, QpNumber{0x15}, Psn(0xc7a83f), Psn(0), PathMtu::k4096);
  add_captured_region(captured[4].view().reth);
  post_receives({0, 1, 2, 3, 4, 5, 6});
  arrive(captured);

  EXPECT_THAT(receive_completions(),
              ElementsAre(received(0), received(5), received(2500),
                          received_immediate(CompletionOpcode::kReceive, 2500, 3),
                          received_immediate(CompletionOpcode::kReceiveRdmaWithImmediate, 0, 5),
                          received_immediate(CompletionOpcode::kReceiveRdmaWithImmediate, 2500, 6)));
  EXPECT_EQ(receive_memory(std::size_t{2} * 4096, 2500), captured_pattern(2500));
  EXPECT_EQ(captured_region(2500), captured_pattern(2500));
  EXPECT_EQ(count(Counter::kOutOfSequence), 0u);
}

TEST_F(UcCaptures, SendsEveryKindOfMessageAsRxeDid) {
  const auto captured = captured_in("vs_uc_mtu4096");
  ASSERT_THAT(captured, SizeIs(7));
  connect_as(QpNumber{0x15}, QpNumber{0x15}, Psn(0), Psn(0xc7a83f), PathMtu::k4096);
  region_ = captured[4].view().reth;
  fill_local_memory(captured_pattern(2500));
  post({send_wr(0, 0), send_wr(1, 5), send_wr(2, 2500), send_wr(3, 2500).with_immediate(immediate(3)),
        captured_write(4, 2500), captured_write(5, 0).with_immediate(immediate(5)),
        captured_write(6, 2500).with_immediate(immediate(6))});
  EXPECT_THAT(sent_bytes(), ElementsAreArray(as_we_send(captured)));
}

// Eight of 36 packets were lost: the first SEND, the WRITE with immediate and the SEND of ten bytes came
// whole. rdma_rxe itself had lost the WRITE with immediate, too: it drops the first packet after a message
// that was not finished.
TEST_F(UcCaptures, ReceivesTheMessagesThatCameWhole) {
  const auto captured = captured_in("vs_loss_uc");
  ASSERT_THAT(captured, SizeIs(28));
  connect_as(QpNumber{0x49}, QpNumber{0x4a}, Psn(0x0c7854), Psn(0), PathMtu::k1024);
  add_captured_region(captured[12].view().reth);
  post_receives({1, 2, 3, 4, 5}, 5000);
  arrive(captured);

  EXPECT_THAT(receive_completions(),
              ElementsAre(AllOf(received(5000), Succeeded(1)),
                          AllOf(received_immediate(CompletionOpcode::kReceiveRdmaWithImmediate, 5000, 5),
                                Succeeded(2)),
                          AllOf(received(10), Succeeded(3))));
  EXPECT_EQ(receive_memory(0, 5000), captured_pattern(5000));
  EXPECT_EQ(receive_memory(10000, 10), captured_pattern(10));
  EXPECT_EQ(captured_region(5000), captured_pattern(5000));
  EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
}

TEST_F(UcCaptures, SendsMessagesOfSeveralPacketsAsRxeDid) {
  const auto captured = captured_in("vs_loss_uc");
  constexpr Psn kFirst(0x0c7854);
  connect_as(QpNumber{0x4a}, QpNumber{0x49}, Psn(0), kFirst, PathMtu::k1024);
  region_ = captured[12].view().reth;
  fill_local_memory(captured_pattern(5000));
  post({send_wr(0, 5000), send_wr(1, 5000), send_wr(2, 5000), captured_write(3, 5000),
        captured_write(4, 5000), captured_write(5, 5000).with_immediate(immediate(5)), send_wr(6, 10),
        send_wr(7, 5000)});
  const std::vector<Bytes> ours = sent_bytes();
  ASSERT_THAT(ours, SizeIs(36));
  for (const CapturedPacket& packet : captured) {
    const auto index = static_cast<std::size_t>(distance(kFirst, packet.view().bth.psn));
    ASSERT_LT(index, ours.size());
    EXPECT_EQ(ours[index], packet.with_migration_state()) << "packet " << index;
  }
}

// --- Captures outside the project ---

TEST_F(UcCaptures, PlaysBothEndsOfAPingPong) {
  const auto captured = captured_outside("uc_pingpong");
  if (captured.empty()) GTEST_SKIP() << "no capture; set URNIC_SHARED to the folder above captures/";
  const auto pings = from_host(captured, 2);
  ASSERT_THAT(pings, SizeIs(80));
  connect_as(QpNumber{0x14}, QpNumber{0x14}, Psn(0x03bc7a), Psn(0x775ce4), PathMtu::k1024);
  fill_local_memory(Bytes(4096, std::byte{0x7b}));
  std::vector<Bytes> pongs;
  for (std::size_t message = 0; message < 20; ++message) {
    receive_queue_.clear();
    post_receive(message, {{.address = kReceiveAddress, .length = 4096, .lkey = kReceiveKey}});
    arrive({pings.begin() + static_cast<std::ptrdiff_t>(4 * message),
            pings.begin() + static_cast<std::ptrdiff_t>(4 * message + 4)});
    ASSERT_THAT(receive_completions(), ElementsAre(received(4096)));
    post(send_wr(message, 4096));
    for (Bytes& packet : sent_bytes()) pongs.push_back(std::move(packet));
  }
  EXPECT_EQ(receive_memory(0, 4096), Bytes(4096, std::byte{0x7b}));
  EXPECT_THAT(pongs, ElementsAreArray(as_we_send(from_host(captured, 3))));
}

TEST_F(UcCaptures, WritesAsPerftestDid) {
  const auto captured = captured_outside("ib_write_bw_uc");
  if (captured.empty()) GTEST_SKIP() << "no capture; set URNIC_SHARED to the folder above captures/";
  ASSERT_THAT(captured, SizeIs(50));
  const Bytes message = slice(payloads_of(captured), 0, 5000);
  connect_as(QpNumber{0x27}, QpNumber{0x26}, Psn(0xe2c888), Psn(0xe2c888), PathMtu::k1024);
  add_captured_region(captured[0].view().reth);
  fill_local_memory(message);
  for (std::uint64_t wr_id = 0; wr_id < 10; ++wr_id) post(captured_write(wr_id, 5000));
  EXPECT_THAT(sent_bytes(), ElementsAreArray(as_we_send(captured)));

  arrive(captured);
  EXPECT_EQ(captured_region(5000), message);
  EXPECT_EQ(count(Counter::kOutOfSequence), 0u);
}

}  // namespace
}  // namespace urnic::transport::test
