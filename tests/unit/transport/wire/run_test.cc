// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Runs: the packets that one stands for are those that a message is cut into.
#include "transport/wire/run.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "tests/support/qp_packets.h"

namespace urnic::transport::test {
namespace {

using wire::at_position;
using wire::info;
using wire::Opcode;
using wire::Packet;

constexpr std::size_t kMtu = 1024;
constexpr QpNumber kQp{0x11};

struct Kind {
  std::string name;
  std::vector<QpPacket> packets;
};

/// Messages of six packets, the last of which is short; over the end of the PSNs.
std::vector<Kind> kinds() {
  const Bytes message = payload(5 * kMtu + 101);
  const Psn first(0xfffffd);
  std::vector<Kind> all = {{"Send", send_message(first, message, kMtu)},
                           {"Write", write_message(first, message, kMtu)},
                           {"ReadResponse", read_responses(first, message, kMtu, 7)}};
  for (const std::size_t i : {0u, 1u}) {
    Kind kind = all[i];
    kind.name += "WithImmediate";
    kind.packets.back() = kind.packets.back().with_immediate(0x01020304).solicits();
    all.push_back(kind);
  }
  return all;
}

class RunOf : public testing::TestWithParam<Kind> {};

INSTANTIATE_TEST_SUITE_P(, RunOf, testing::ValuesIn(kinds()),
                         [](const auto& kind) { return kind.param.name; });

TEST_P(RunOf, PacketsAnywhereInAMessageStandsForThem) {
  const std::vector<QpPacket>& packets = GetParam().packets;
  for (std::size_t from = 0; from < packets.size(); ++from) {
    for (std::size_t count = 1; from + count <= packets.size(); ++count) {
      const QpPacket whole = joined(slice(packets, from, count));
      const Packet view = whole.view(kQp);
      ASSERT_TRUE(wire::Run::can_hold(view.bth.opcode));
      const wire::Run run(view, PathMtu::k1024);
      ASSERT_EQ(run.packets(), count);
      EXPECT_EQ(run.last_psn(), packets[from + count - 1].psn);
      std::size_t bytes = 0;
      for (std::uint32_t i = 0; i < count; ++i) {
        const Packet packet = run.packet(i);
        EXPECT_EQ(to_value(packet), packets[from + i]) << from << " " << count;
        EXPECT_EQ(packet.bth.pad_count, wire::pad_bytes(packet.payload.size()));
        EXPECT_EQ(packet.bth.destination_qp, kQp);
        EXPECT_EQ(packet.info, &info(packet.bth.opcode));
        bytes += wire::header_bytes(packet.bth.opcode) + packet.payload.size() + packet.bth.pad_count;
      }
      const std::size_t own_bytes =
          wire::header_bytes(view.bth.opcode) + view.payload.size() + view.bth.pad_count;
      EXPECT_EQ(wire::Run::bytes_of_packets(view.bth.opcode, own_bytes, run.packets()), bytes);
    }
  }
}

TEST(Run, OfAnEmptyMessageIsOnePacket) {
  const QpPacket empty = send_only(Psn(1), {});
  const Packet view = empty.view(kQp);
  const wire::Run run(view, PathMtu::k256);
  EXPECT_EQ(run.packets(), 1u);
  EXPECT_EQ(to_value(run.packet(0)), empty);
}

// SEND, WRITE and READ responses of reliable and unreliable connections, XRC included.
TEST(Run, HoldsPacketsOfLongMessagesOnly) {
  std::vector<unsigned> held;
  for (unsigned code = 0; code < 256; ++code) {
    if (wire::Run::can_hold(static_cast<Opcode>(code))) held.push_back(code);
  }
  std::vector<unsigned> expected;
  for (const unsigned service : {0x00u, 0x20u, 0xa0u}) {
    for (unsigned code = 0x00; code <= 0x0b; ++code) expected.push_back(service + code);
    if (service == 0x20) continue;
    for (const unsigned code : {0x0du, 0x0eu, 0x0fu, 0x10u, 0x16u, 0x17u}) expected.push_back(service + code);
  }
  EXPECT_EQ(held, expected);
}

TEST(OpcodeTable, KnowsTheOtherPacketsOfAMessage) {
  using enum wire::Position;
  EXPECT_EQ(at_position(Opcode::kRcSendOnlyWithInvalidate, kFirst), Opcode::kRcSendFirst);
  EXPECT_EQ(at_position(Opcode::kRcSendOnlyWithInvalidate, kLast), Opcode::kRcSendLastWithInvalidate);
  EXPECT_EQ(at_position(Opcode::kRcWriteFirst, kLast), Opcode::kRcWriteLast);
  EXPECT_EQ(at_position(Opcode::kRcWriteLastWithImmediate, kOnly), Opcode::kRcWriteOnlyWithImmediate);
  EXPECT_EQ(at_position(Opcode::kRcReadResponseMiddle, kOnly), Opcode::kRcReadResponseOnly);
  EXPECT_FALSE(info(at_position(Opcode::kRcAcknowledge, kFirst)).exists());
  EXPECT_FALSE(info(at_position(Opcode::kUdSendOnly, kMiddle)).exists());
  EXPECT_EQ(at_position(Opcode::kUdSendOnly, kOnly), Opcode::kUdSendOnly);
}

}  // namespace
}  // namespace urnic::transport::test
