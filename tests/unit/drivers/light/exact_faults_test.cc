// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/fault/exact_faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>

#include "drivers/fault/fault_port.h"
#include "tests/support/lost_identification.h"
#include "tests/unit/drivers/light/roce_frames.h"
#include "tools/simulation/kernel/clock.h"

namespace urnic::drivers::test::exact_faults {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""ns;
using std::chrono_literals::operator""us;
using testing::ElementsAre;
using testing::HasSubstr;
using transport::wire::Opcode;
namespace wire = transport::wire;

constexpr std::size_t kEthernet = 14;
constexpr std::size_t kBth = kEthernet + 20 + 8;  // in a frame of IPv4

Bytes send_of(std::uint32_t psn, std::size_t payload = 40) {
  return RoceFrame{.opcode = Opcode::kRcSendOnly, .qp = 17, .psn = psn, .payload = payload}.bytes();
}

Bytes ack_of(std::uint32_t psn) {
  return RoceFrame{
      .opcode = Opcode::kRcAcknowledge, .qp = 80, .psn = psn, .syndrome = 0x1f, .is_received = true}
      .bytes();
}

/// A port with faults, what left it and what it gave to the NIC.
struct Rig {
  explicit Rig(const std::string& spec, nic::Medium medium = nic::Medium::kEthernet)
      : outside(std::make_shared<FakePort::Outside>()), port(make(spec, medium)) {}

  std::unique_ptr<FaultPort> make(const std::string& spec, nic::Medium medium) {
    outside->medium = medium;
    return std::make_unique<FaultPort>(std::make_unique<FakePort>(outside), FaultSpec::parse(spec).value(),
                                       clock, [this](const std::string& line) { told.push_back(line); });
  }

  /// Sends SENDs with these PSNs, and returns the PSNs of those that left.
  std::vector<std::uint32_t> send_psns(std::initializer_list<std::uint32_t> psns) {
    outside->sent.clear();
    for (const std::uint32_t psn : psns) EXPECT_TRUE(send(*port, send_of(psn)));
    port->flush();
    return psns_of(outside->sent);
  }
  std::vector<std::uint32_t> receive_acks(std::initializer_list<std::uint32_t> psns) {
    for (const std::uint32_t psn : psns) outside->to_receive.push_back(ack_of(psn));
    return psns_of(receive(*port));
  }
  static std::vector<std::uint32_t> psns_of(const std::vector<Bytes>& frames) {
    std::vector<std::uint32_t> psns;
    for (const Bytes& frame : frames) psns.push_back(wire::load_u24(frame, kBth + 9));
    return psns;
  }

  /// Sends a frame through the port; what leaves.
  Bytes sent(const Bytes& frame) {
    outside->sent.clear();
    EXPECT_TRUE(send(*port, frame));
    EXPECT_EQ(outside->sent.size(), 1u);
    return outside->sent.at(0);
  }

  kernel::Clock clock{std::chrono::hours(1)};
  std::shared_ptr<FakePort::Outside> outside;
  std::vector<std::string> told;
  std::unique_ptr<FaultPort> port;
};

bool has_right_icrc(const Bytes& frame) {
  const auto parsed = wire::parse_frame(frame);
  return parsed && parsed.value().icrc_ok();
}

TEST(ExactFaults, LoseOnePsnOnce) {
  Rig rig("drop:psn=2");
  EXPECT_THAT(rig.send_psns({100, 101, 102, 103, 102, 103}), ElementsAre(100, 101, 103, 102, 103));
  EXPECT_EQ(rig.port->transmit_counters().lost, 1u);
}

TEST(ExactFaults, LoseACertainTransmission) {
  Rig rig("drop:psn=1:nth=2:times=2");
  EXPECT_THAT(rig.send_psns({100, 101, 101, 101, 101}), ElementsAre(100, 101, 101));
}

TEST(ExactFaults, LoseRepetitions) {
  Rig rig("drop:again=yes:times=all");
  EXPECT_THAT(rig.send_psns({100, 101, 100, 101, 102}), ElementsAre(100, 101, 102));
}

TEST(ExactFaults, LoseTheAnswerToACertainRequest) {
  Rig rig("drop:kind=ack:psn=2");
  EXPECT_THAT(rig.send_psns({100, 101, 102, 103}), ElementsAre(100, 101, 102, 103));
  EXPECT_THAT(rig.receive_acks({101, 102, 103}), ElementsAre(101, 103));
}

TEST(ExactFaults, LookAtOneDirection) {
  Rig rig("drop:direction=rx");
  EXPECT_THAT(rig.send_psns({100, 101}), ElementsAre(100, 101));
  EXPECT_THAT(rig.receive_acks({100, 101}), ElementsAre(101));
}

TEST(ExactFaults, TellAcknowledgementsApart) {
  const auto lost_of = [](const std::string& kind) {
    Rig rig("drop:kind=" + kind + ":times=all");
    std::vector<int> lost;
    for (const std::uint8_t syndrome : std::to_array<std::uint8_t>({0x1f, 0x2c, 0x60})) {
      rig.outside->to_receive.push_back(
          RoceFrame{.opcode = Opcode::kRcAcknowledge, .qp = 80, .syndrome = syndrome, .is_received = true}
              .bytes());
      if (receive(*rig.port).empty()) lost.push_back(syndrome);
    }
    return lost;
  };
  EXPECT_THAT(lost_of("ack"), ElementsAre(0x1f));
  EXPECT_THAT(lost_of("rnr"), ElementsAre(0x2c));
  EXPECT_THAT(lost_of("nak"), ElementsAre(0x60));
  EXPECT_THAT(lost_of("response"), ElementsAre(0x1f, 0x2c, 0x60));
  EXPECT_THAT(lost_of("read_response"), ElementsAre());
}

TEST(ExactFaults, RepeatAndReorder) {
  EXPECT_THAT(Rig("dup:psn=1").send_psns({100, 101, 102}), ElementsAre(100, 101, 101, 102));
  EXPECT_THAT(Rig("reorder:psn=1:by=2").send_psns({100, 101, 102, 103, 104}),
              ElementsAre(100, 102, 103, 101, 104));
  Rig rig("reorder:kind=ack:by=1,dup:kind=ack:nth=3");
  EXPECT_THAT(rig.receive_acks({100, 101, 102}), ElementsAre(101, 100, 102, 102));
}

TEST(ExactFaults, DelayASentPacketByTime) {
  Rig rig("delay:psn=1:by=2ms");
  EXPECT_EQ(rig.port->next_due(), transport::kNever);
  EXPECT_THAT(rig.send_psns({100, 101, 102}), ElementsAre(100, 102));
  EXPECT_EQ(rig.port->next_due(), rig.clock.now() + 2ms);
  EXPECT_FALSE(rig.port->is_drained());
  rig.clock.advance(2ms - 1ns);
  EXPECT_THAT(rig.send_psns({103}), ElementsAre(103));
  rig.clock.advance(1ns);
  EXPECT_THAT(rig.send_psns({104}), ElementsAre(101, 104));
  EXPECT_EQ(rig.port->next_due(), transport::kNever);
  EXPECT_TRUE(rig.port->is_drained());
}

TEST(ExactFaults, ADelayedPacketGoesAlthoughARoomIsReserved) {
  Rig rig("delay:psn=0:by=2ms");
  EXPECT_THAT(rig.send_psns({100}), ElementsAre());
  rig.port->reserve();
  rig.clock.advance(2ms);
  rig.port->flush();
  EXPECT_THAT(Rig::psns_of(rig.outside->sent), ElementsAre(100));
}

TEST(ExactFaults, DelayAReceivedPacketByTime) {
  Rig rig("delay:kind=ack:nth=2:by=500us");
  EXPECT_THAT(rig.receive_acks({100, 101, 102}), ElementsAre(100, 102));
  EXPECT_FALSE(rig.port->arm());
  rig.clock.advance(500us);
  EXPECT_TRUE(rig.port->arm());
  EXPECT_THAT(rig.receive_acks({}), ElementsAre(101));
}

TEST(ExactFaults, DelayedPacketsKeepTheOrderOfTheirTimes) {
  Rig rig("delay:psn=0:by=3ms,delay:psn=1:by=1ms,delay:psn=2:by=3ms");
  EXPECT_THAT(rig.send_psns({100, 101, 102}), ElementsAre());
  rig.clock.advance(10ms);
  EXPECT_THAT(rig.send_psns({103}), ElementsAre(101, 100, 102, 103));
}

TEST(ExactFaults, SayWhatTheyHadNoMemoryToDelay) {
  Rig rig("delay:times=all:by=1s");
  for (std::uint32_t psn = 0; psn < 1030; ++psn) EXPECT_TRUE(send(*rig.port, send_of(psn)));
  EXPECT_EQ(rig.port->transmit_counters().delayed, 1024u);
  EXPECT_EQ(rig.port->transmit_counters().spared, 6u);
  EXPECT_EQ(rig.outside->sent.size(), 6u);
  rig.port->write_out();
  EXPECT_THAT(rig.told.back(), HasSubstr("6 frames were not held back"));
}

TEST(ExactFaults, DamageAPacketSoThatTheIcrcTells) {
  Rig rig("corrupt:byte=12");
  const Bytes whole = send_of(100);
  const Bytes damaged = rig.sent(whole);
  EXPECT_FALSE(has_right_icrc(damaged));
  ASSERT_EQ(damaged.size(), whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_EQ(damaged[i] != whole[i], i == kBth + 12) << i;
}

TEST(ExactFaults, DamageAPacketSoThatNoIcrcTells) {
  for (const RoceEnds& ends : {kIpv4Ends, kIpv6Ends}) {
    for (const std::size_t payload : {1u, 40u, 1001u}) {
      Rig rig("corrupt:icrc=right:times=all");
      for (std::uint32_t psn = 0; psn < 50; ++psn) {
        const Bytes whole =
            RoceFrame{.opcode = Opcode::kRcSendOnly, .qp = 17, .psn = psn, .payload = payload, .ends = ends}
                .bytes();
        const Bytes damaged = rig.sent(whole);
        EXPECT_NE(damaged, whole);
        EXPECT_TRUE(has_right_icrc(damaged));
      }
    }
  }
}

TEST(ExactFaults, LeaveAWrongIcrcWrong) {
  Bytes frame = send_of(100);
  frame.back() ^= std::byte{1};
  EXPECT_FALSE(has_right_icrc(Rig("corrupt:icrc=right").sent(frame)));
}

TEST(ExactFaults, MendTheIcrcOfAnIdentificationThatASocketHides) {
  const Bytes frame = [] {
    Bytes packet = send_of(100);
    packet.erase(packet.begin(), packet.begin() + kEthernet);
    return packet;
  }();
  Rig rig("set:bth.psn=5:direction=rx", nic::Medium::kIp);
  rig.outside->to_receive.push_back(urnic::test::without_identification(frame, 0xbeef));
  const std::vector<Bytes> received = receive(*rig.port);
  ASSERT_EQ(received.size(), 1u);
  const Bytes expected = [&] {
    Bytes other = send_of(5);
    other.erase(other.begin(), other.begin() + kEthernet);
    return urnic::test::without_identification(other, 0xbeef);
  }();
  EXPECT_EQ(received[0], expected);
}

TEST(ExactFaults, RewriteFieldsOfThePacketsThatHaveThem) {
  EXPECT_EQ(Rig("set:bth.psn=5").sent(send_of(100)), send_of(5));
  Rig rig("set:bth.psn=5:aeth.msn=9");
  EXPECT_EQ(rig.sent(send_of(100)), send_of(100)) << "a SEND has no AETH: the fault is not for it";
  rig.outside->to_receive.push_back(ack_of(100));
  const std::vector<Bytes> received = receive(*rig.port);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(wire::load_u24(received[0], kBth + 9), 5u);
  EXPECT_EQ(wire::load_u24(received[0], kBth + 12 + 1), 9u);
  EXPECT_TRUE(has_right_icrc(received[0]));
  EXPECT_FALSE(has_right_icrc(Rig("set:bth.psn=5:icrc=wrong").sent(send_of(100))));
}

TEST(ExactFaults, FindHeadersBehindOthers) {
  const Bytes whole = RoceFrame{.opcode = Opcode::kRcWriteOnlyWithImmediate, .qp = 17, .payload = 4}.bytes();
  const Bytes changed = Rig("set:immdt.value=0x01020304:reth.length=7").sent(whole);
  EXPECT_EQ(wire::load_u32(changed, kBth + 12 + 12), 7u);
  EXPECT_EQ(wire::load_u32(changed, kBth + 12 + 16), 0x01020304u);
  EXPECT_TRUE(has_right_icrc(changed));
}

TEST(ExactFaults, MarkCongestionAndNothingElse) {
  for (const RoceEnds& ends : {kIpv4Ends, kIpv6Ends}) {
    const Bytes whole =
        RoceFrame{.opcode = Opcode::kRcSendOnly, .qp = 17, .payload = 8, .ends = ends}.bytes();
    const Bytes marked = Rig("ce").sent(whole);
    EXPECT_TRUE(has_right_icrc(marked));
    const auto before = wire::parse_frame(whole).value();
    const auto after = wire::parse_frame(marked).value();
    if (after.is_ipv4()) {
      EXPECT_EQ(std::get<wire::Ipv4>(after.ip).tos, std::get<wire::Ipv4>(before.ip).tos | 3);
    } else {
      EXPECT_EQ(std::get<wire::Ipv6>(after.ip).traffic_class,
                std::get<wire::Ipv6>(before.ip).traffic_class | 3);
      EXPECT_EQ(std::get<wire::Ipv6>(after.ip).flow_label, std::get<wire::Ipv6>(before.ip).flow_label);
    }
    EXPECT_TRUE(std::equal(before.ib.begin(), before.ib.end(), after.ib.begin(), after.ib.end()));
  }
}

TEST(ExactFaults, ChangeRoceV1) {
  const Bytes whole = RoceFrame{.opcode = Opcode::kRcSendOnly,
                                .qp = 17,
                                .psn = 100,
                                .payload = 8,
                                .encapsulation = wire::Encapsulation::kRoceV1}
                          .bytes();
  const Bytes changed = Rig("set:bth.psn=5").sent(whole);
  EXPECT_EQ(wire::load_u24(changed, kEthernet + 40 + 9), 5u);
  EXPECT_TRUE(has_right_icrc(changed));
  EXPECT_FALSE(has_right_icrc(Rig("set:bth.psn=5:icrc=wrong").sent(whole)));
}

TEST(ExactFaults, MendAUdpChecksum) {
  RoceFrame frame{.opcode = Opcode::kRcSendOnly, .qp = 17, .payload = 9};
  for (const RoceEnds& ends : {kIpv4Ends, kIpv6Ends}) {
    frame.ends = ends;
    frame.udp_checksum = 0;
    Bytes whole = frame.bytes();
    const std::size_t udp = wire::parse_frame(whole).value().is_ipv4() ? kEthernet + 20 : kEthernet + 40;
    // parse_frame() refuses a wrong one: the right one is that which it takes.
    for (unsigned checksum = 1; checksum < 0x10000; ++checksum) {
      wire::store_u16(whole, udp + 6, static_cast<std::uint16_t>(checksum));
      if (wire::parse_frame(whole)) break;
    }
    ASSERT_TRUE(has_right_icrc(whole));
    const Bytes changed = Rig("set:bth.psn=0xabcdef").sent(whole);
    EXPECT_NE(wire::load_u16(changed, udp + 6), wire::load_u16(whole, udp + 6));
    EXPECT_TRUE(has_right_icrc(changed)) << "the checksum fits as well, or it would not parse";
  }
}

TEST(ExactFaults, SpareWhatIsNotRoce) {
  Rig rig("drop:times=all");
  EXPECT_EQ(rig.sent(sent_frame(7)), sent_frame(7));
  Bytes cut = send_of(100);
  cut.resize(cut.size() - 5);
  EXPECT_EQ(rig.sent(cut), cut);
}

TEST(ExactFaults, ProtectTheirPacketsFromTheDice) {
  Rig rig("loss=1,dup:psn=1");
  EXPECT_THAT(rig.send_psns({100, 101, 102}), ElementsAre(101, 101)) << "PSN 0 counts, though it was lost";
}

TEST(ExactFaults, DrawTheSameForTheSameSeed) {
  const auto survivors = [](const std::string& seed) {
    Rig rig("drop:p=0.5,seed=" + seed);
    return rig.send_psns({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20});
  };
  EXPECT_EQ(survivors("1"), survivors("1"));
  EXPECT_NE(survivors("1"), survivors("2"));
  EXPECT_GT(survivors("1").size(), 3u);
  EXPECT_LT(survivors("1").size(), 17u);
}

TEST(ExactFaults, SayWhatTheyHitOnce) {
  Rig rig("drop:psn=1,drop:psn=9");
  rig.send_psns({100, 101, 102});
  rig.port->write_out();
  rig.port.reset();
  EXPECT_EQ(rig.outside->written_out, 1);
  ASSERT_EQ(rig.told.size(), 2u);
  EXPECT_EQ(rig.told[0],
            "fault drop:psn=1 hit 1 of 1 packets that fit; first sent packet 2: RC SEND Only, PSN 101, to "
            "queue pair 0x11");
  EXPECT_EQ(rig.told[1], "fault drop:psn=9 hit nothing: of 3 packets sent and 0 received, 0 fit");
}

TEST(ExactFaults, SayWhenThereWereTooManyQueuePairs) {
  Rig rig("drop:psn=1");
  for (std::uint32_t qp = 0; qp <= PacketHistory::kMaxFlows; ++qp) {
    EXPECT_TRUE(send(*rig.port, RoceFrame{.opcode = Opcode::kRcSendOnly, .qp = qp, .payload = 4}.bytes()));
  }
  rig.port.reset();
  ASSERT_EQ(rig.told.size(), 2u);
  EXPECT_THAT(rig.told[1], HasSubstr("1 packets went to more than 1024 queue pairs"));
}

}  // namespace
}  // namespace urnic::drivers::test::exact_faults
