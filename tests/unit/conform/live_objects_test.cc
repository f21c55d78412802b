// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a stage on a wire has the agent make and do beside connections and regions: datagrams, shared queues,
// windows, XRC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/conform/live_stage_fakes.h"
#include "tools/conformance/conform/stage/live_stage.h"

namespace urnic::conform {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class LiveObjectsTest : public LiveStageTest {};

// --- Datagrams ---

/// From the peer's queue pair.
scripts::PacketFields datagram(std::uint32_t psn, std::uint32_t dst) {
  auto packet = *scripts::named_packet("SEND_ONLY", scripts::WireService::kUd);
  packet.psn = psn;
  packet.dst = dst;
  packet.src = 291;
  packet.qkey = 1;
  packet.payload.assign(4, std::byte{0});
  return packet;
}
constexpr std::uint32_t kFirstDestination = 0x1000 | kOwnQp;
constexpr std::uint32_t kSecondDestination = 0x2000 | kOwnQp;

constexpr const char* kTwoDatagrams =
    "service ud\npost send id=1 length=4 dst=0x33 qkey=1 burst\n"
    "post send id=2 length=4 dst=0x44 qkey=1 ah=2\n";

TEST_F(LiveObjectsTest, MakesADatagramQueuePair) {
  play("service ud\nsilence\nmodify RTS qkey=9");
  EXPECT_THAT(agent.lines, Contains("qp ud 0 64"));
  EXPECT_THAT(agent.lines, Not(Contains(HasSubstr("connect"))));
  EXPECT_THAT(agent.lines, Contains("modify 0 INIT qkey=4369"));
  EXPECT_THAT(agent.lines, Contains("modify 0 RTR"));
  EXPECT_THAT(agent.lines, Contains("modify 0 RTS send-psn=200"));
  EXPECT_THAT(agent.lines, Contains("modify 0 RTS qkey=9"));
}

TEST_F(LiveObjectsTest, IsAllDestinationsOfDatagrams) {
  wire.let_come(1ms, datagram(200, kFirstDestination));
  wire.let_come(2ms, datagram(201, kSecondDestination));
  const std::string lines = std::string(kTwoDatagrams) +
                            "> SEND_ONLY psn=200 dst=0x33 src=0x11\n> SEND_ONLY psn=201 dst=0x44 to-ah=2";
  const auto outcome = play(lines);
  EXPECT_FALSE(outcome.failure) << outcome.failure->message;
  EXPECT_EQ(outcome.not_judged.size(), 1u) << "no packet tells its address handle";
  EXPECT_THAT(agent.lines, Contains(HasSubstr(" ah=0 dst=4198401 qkey=1")));
  EXPECT_THAT(agent.lines, Contains(HasSubstr(" ah=1 dst=4202497 qkey=1")));
}

TEST_F(LiveObjectsTest, NoticesADatagramForAnotherDestination) {
  wire.let_come(1ms, datagram(200, kSecondDestination));
  EXPECT_THAT(verdict(std::string(kTwoDatagrams) + "> SEND_ONLY psn=200 dst=0x33"), HasSubstr("dst is"));
}

TEST_F(LiveObjectsTest, NoticesADatagramOfAnotherSource) {
  auto packet = datagram(200, kFirstDestination);
  packet.src = 292;
  wire.let_come(1ms, packet);
  EXPECT_THAT(verdict(std::string(kTwoDatagrams) + "> SEND_ONLY psn=200 src=0x11"), HasSubstr("src is"));
}

TEST_F(LiveObjectsTest, KeepsTheSendersNumberOfADatagram) {
  agent.replies["poll 0 recv 100"] = {"ok id=7 status=0 vendor=0 opcode=128 length=44 src=34 grh=1"};
  EXPECT_EQ(verdict("service ud\nreceive id=7\n< SEND_ONLY psn=1 len=4\nrcqe id=7 len=44 has-grh src=0x22"),
            "passed");
  ASSERT_EQ(wire.sent.size(), 1u);
  EXPECT_EQ(wire.sent[0].src, 0x22u);
  EXPECT_EQ(wire.sent[0].dst, 291u);
  EXPECT_EQ(wire.sent[0].qkey, 0x1111u);
}

TEST_F(LiveObjectsTest, SendsNoDatagramThatIsTooLongForTheScriptAlone) {
  const auto outcome =
      play("service ud\npost send id=1 length=1025 dst=1 qkey=1\ncqe id=1 status=LOC_LEN_ERR");
  ASSERT_TRUE(outcome.failure);
  EXPECT_EQ(outcome.failure->kind, scripts::Trouble::Kind::kUnavailable);
  EXPECT_THAT(outcome.failure->message, HasSubstr("4096"));
}

// 10.0.0.3 is the tester, 10.0.0.2 the peer.
TEST_F(LiveObjectsTest, JudgesTheAddressesInFrontOfADatagram) {
  const std::string rest_of_header = "4500002c0000000040110000";
  peer.tester.octets = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 3};
  const std::string lines = "service ud\ncheck buffers+0 grh=ipv4";
  agent.replies["mem 2 20 20"] = {"ok " + rest_of_header + "0a0000030a000002",
                                  "ok " + rest_of_header + "0a0000040a000002"};
  EXPECT_EQ(verdict(lines), "passed");
  agent.regions = 0;
  agent.domains = 0;
  EXPECT_THAT(verdict(lines), HasSubstr("GRH area differs from byte 15"));
}

TEST_F(LiveObjectsTest, DoesNotJudgeTheHeaderOfAnotherIpVersion) {
  peer.tester.octets = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 3};
  agent.replies["mem 2 0 40"] = {"ok " + std::string(80, '0')};
  const auto outcome = play("service ud\ncheck buffers+0 grh=ipv6");
  EXPECT_FALSE(outcome.failure);
  EXPECT_EQ(outcome.not_judged.size(), 1u);
}

// --- Shared receive queues ---

TEST_F(LiveObjectsTest, HasASharedQueue) {
  agent.replies["events"] = {"ok 15"};
  agent.replies["poll 0 recv 100"] = {"ok id=1 status=0 vendor=0 opcode=128 length=4"};
  EXPECT_EQ(verdict("shared-receives\nreceive id=1\nsrq-limit 1\n< SEND_ONLY psn=100 len=4\n"
                    "event SRQ_LIMIT_REACHED\nrcqe id=1"),
            "passed");
  EXPECT_THAT(agent.lines, Contains("srq 0 64"));
  EXPECT_THAT(agent.lines, Contains("qp rc 0 64 srq=0"));
  EXPECT_THAT(agent.lines, Contains("srq-recv 0 1 sge=2:0:4096"));
  EXPECT_THAT(agent.lines, Contains("arm 0 1"));
}

// --- Windows and rights ---

constexpr const char* kBound =
    "window win key=0x6001 type=2\npost bind id=1 window=win over=shared+1000:500 rights=write\n";

TEST_F(LiveObjectsTest, ReachesThroughAWindow) {
  agent.replies["poll 0 recv 100"] = {"ok id=7 status=0 vendor=0 opcode=128 length=4 inv=600"};
  EXPECT_EQ(
      verdict(std::string(kBound) +
              "receive id=7\n< WRITE_ONLY psn=100 to=win+1 len=4\n< SEND_ONLY_INV psn=101 len=4 inv=0x6001\n"
              "rcqe id=7 inv=0x6001"),
      "passed");
  EXPECT_THAT(agent.lines, Contains("mw 0 2"));
  EXPECT_THAT(agent.lines, Contains("bind 0 0 1 2 1 1000 500 2"));
  ASSERT_EQ(wire.sent.size(), 2u);
  EXPECT_EQ(wire.sent[0].va, 0x20000000u + 1001);
  EXPECT_EQ(wire.sent[0].rkey, 600u);
  EXPECT_EQ(wire.sent[1].inv, 600u);
}

TEST_F(LiveObjectsTest, KeepsTheOldKeyOfAWindow) {
  play(
      "window win key=0x6001 type=1\n"
      "post bind id=1 window=win over=shared+1000:500 rights=write new-key=0x6002\n"
      "< WRITE_ONLY psn=100 va=0x2003e8 rkey=0x6001 len=4\n"
      "< WRITE_ONLY psn=101 va=0x2003e8 rkey=0x6002 len=4");
  ASSERT_EQ(wire.sent.size(), 2u);
  EXPECT_EQ(wire.sent[0].rkey, 500u);
  EXPECT_EQ(wire.sent[1].rkey, 600u);
  EXPECT_EQ(wire.sent[1].va, 0x20000000u + 1000);
}

TEST_F(LiveObjectsTest, CountsFromTheStartOfAZeroBasedWindow) {
  play(
      "window win key=0x6001 type=2\npost bind id=1 window=win over=shared+1000:500 rights=write zero-based\n"
      "< WRITE_ONLY psn=100 va=10 rkey=0x6001 len=4\n< WRITE_ONLY psn=101 to=win+11 len=4");
  EXPECT_THAT(agent.lines, Contains("bind 0 0 1 2 1 1000 500 34"));
  ASSERT_EQ(wire.sent.size(), 2u);
  EXPECT_EQ(wire.sent[0].va, 10u);
  EXPECT_EQ(wire.sent[1].va, 11u);
}

TEST_F(LiveObjectsTest, ClosesAWindow) {
  play(std::string(kBound) + "post bind id=2 window=win new-key=0x6002\npost local-inv id=3 key=0x6002");
  EXPECT_THAT(agent.lines, Contains("bind 0 0 2 2 0 0 0 0"));
  EXPECT_THAT(agent.lines, Contains(HasSubstr("local-inv 3 2 va=0 rkey=0 imm=0 inv=601")));
}

TEST_F(LiveObjectsTest, ChangesTheRightsOfARegion) {
  play("rights shared rights=local-write,read\n< WRITE_ONLY psn=100 to=shared+0 len=4");
  EXPECT_THAT(agent.lines, Contains("rights 1 5"));
  ASSERT_EQ(wire.sent.size(), 1u);
  EXPECT_EQ(wire.sent[0].rkey, 700u) << "which the NIC may have changed";
}

// --- XRC ---

TEST_F(LiveObjectsTest, ReceivesFromTheQueueThatAPacketNames) {
  agent.replies["srq-poll 1 50"] = {"ok id=2 status=0 vendor=0 opcode=128 length=4"};
  EXPECT_EQ(
      verdict("service xrc role=target\nsrq 0x77\nsrq 0x78 pd=9\nreceive id=2 srq=0x78\n"
              "< SEND_ONLY psn=100 srq=0x78 len=4\nrcqe id=2 srq=0x78\n< SEND_ONLY psn=101 srq=0x79 len=4"),
      "passed");
  EXPECT_THAT(agent.lines, Contains("xrc-srq 0 64"));
  EXPECT_THAT(agent.lines, Contains("xrc-srq 1 64"));
  EXPECT_THAT(agent.lines, Contains("qp xrc-recv 0 64"));
  EXPECT_THAT(agent.lines, Contains("modify 0 RTR mtu=3 receive-psn=100 resources=4 rnr-timer=12"));
  EXPECT_THAT(agent.lines, Contains("modify 0 RTS send-psn=200 timeout=19"));
  EXPECT_THAT(agent.lines, Contains("srq-recv 1 2 sge=2:0:4096"));
  EXPECT_THAT(agent.lines, Not(Contains(StartsWith("poll "))));
  ASSERT_EQ(wire.sent.size(), 2u);
  EXPECT_EQ(wire.sent[0].srq, 901u);
  EXPECT_NE(wire.sent[1].srq, 900u);
  EXPECT_NE(wire.sent[1].srq, 901u);
}

TEST_F(LiveObjectsTest, TakesACompletionForThatOfItsOwnQueueAlone) {
  agent.replies["srq-poll 0 50"] = {"ok id=2 status=0 vendor=0 opcode=128 length=4"};
  EXPECT_THAT(verdict("service xrc role=target\nsrq 0x77\nsrq 0x78\nreceive id=2 srq=0x78\n"
                      "< SEND_ONLY psn=100 srq=0x78 len=4\nrcqe id=2 srq=0x78"),
              HasSubstr("srq is"));
}

TEST_F(LiveObjectsTest, NamesTheQueueOfThePeersPeer) {
  auto packet = *scripts::named_packet("SEND_ONLY", scripts::WireService::kXrc);
  packet.psn = 200;
  packet.dst = kOwnQp;
  packet.srq = 0x321;
  packet.payload.assign(4, std::byte{0});
  wire.let_come(1ms, packet);
  EXPECT_EQ(
      verdict("service xrc role=initiator\npost send id=1 length=4 srq=0x321\n> SEND_ONLY psn=200 srq=0x321"),
      "passed");
  EXPECT_THAT(agent.lines, Contains("qp xrc-send 0 64"));
  EXPECT_THAT(agent.lines, Contains("modify 0 RTR mtu=3 receive-psn=100"));
  EXPECT_THAT(agent.lines, Contains("modify 0 RTS send-psn=200 timeout=19 retry=7 rnr-retry=7 reads=4"));
  EXPECT_THAT(agent.lines, Contains(HasSubstr(" srqn=801")));
}

TEST_F(LiveObjectsTest, WaitsForNothingWhereThereIsNoQueue) {
  EXPECT_EQ(verdict("service xrc role=initiator\nrcqe id=1"), "no completion of a receive came");
}

}  // namespace
}  // namespace urnic::conform
