// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ConnectionStage with a listener that a test speaks for, and a wire in virtual time.
#include "tools/conformance/conform/connections/connection_stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/unit/conform/live_stage_fakes.h"
#include "tools/conformance/conform/connections/mad_packet.h"
#include "tools/conformance/player/connections/runner.h"
#include "tools/conformance/script/connections/dialect.h"
#include "transport/wire/address.h"

namespace urnic::conform::connections {
namespace {

using scripts::Trouble;
using scripts::connections::Mad;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using transport::wire::Gid;
using transport::wire::Ipv4Address;

constexpr const char* kRequest = "ok CONNECT_REQUEST id=1 status=0 qpn=34 private-room=56 private=";
constexpr const char* kAsked = "listen\n< REQ\nevent CONNECT_REQUEST\n";

/// What a case with the number 7 calls the connection 0x900 of its script.
constexpr std::uint64_t kAlias = 0x800900;

class FakeListener final : public Agent {
 public:
  Result<AgentReply, AgentError> ask(const std::string& line) override {
    lines.push_back(line);
    if (is_gone) return AgentError{AgentError::Kind::kVanished, "the listener has closed the connection"};
    const std::string command = line.substr(0, line.find(' '));
    if (on_line) on_line(command);
    auto& queue = replies[command];
    // An event follows from what the tester has sent.
    const bool is_early = command == "event" && told >= messages();
    if (!queue.empty() && !is_early) {
      if (command == "event") ++told;
      const std::string reply = queue.front();
      queue.pop_front();
      return *parse_reply(reply);
    }
    if (command == "begin") return *parse_reply("ok mtu=5 node-guid=00000000000000aa");
    return *parse_reply(command == "listen" || command == "resolve" ? "ok 0" : "ok");
  }

  std::vector<std::string> lines;
  std::map<std::string, std::deque<std::string>> replies;  ///< to a command, before the usual ones
  std::function<void(const std::string& command)> on_line;
  std::function<std::size_t()> messages;  ///< how many the tester has sent
  std::size_t told = 0;                   ///< events
  bool is_gone = false;
};

class ConnectionStageTest : public ::testing::Test {
 protected:
  ConnectionStageTest() {
    listener.messages = [this] { return wire.sent.size(); };
  }

  /// Of a case that begins with nothing sent.
  std::string verdict(const std::string& lines) {
    wire.sent.clear();
    listener.told = 0;
    const auto script =
        scripts::connections::parse_connection_script("# Something -- fact 44\n" + lines).value();
    const auto stage = ConnectionStage::create(script, peer, 7, &listener, wire);
    if (!stage) {
      EXPECT_EQ(stage.error().kind, Trouble::Kind::kUnavailable);
      return "unavailable: " + stage.error().message;
    }
    const auto outcome = scripts::connections::play(*stage.value(), script);
    not_judged = outcome.not_judged.size();
    const auto lost = stage.value()->find_lost_listener();
    stage.value()->end();
    if (lost) return "lost: " + lost->message;
    if (!outcome.failure) return "passed";
    const bool is_failure = outcome.failure->kind == Trouble::Kind::kFailure;
    return (is_failure ? "" : "unavailable: ") + outcome.failure->message;
  }

  /// What the tester has sent, message by message.
  Mad sent(std::size_t index) const {
    const auto heard = read_mad_packet(encode(wire.sent.at(index)));
    return heard ? heard->mad : *Mad::named("APR");
  }

  /// An answer to what the tester sent at that place, so long after now.
  Mad answer(const char* name, std::size_t to) const {
    Mad mad = *Mad::named(name);
    mad.set("tid", sent(to).get("tid"));
    mad.set("local-id", 0x1234);
    mad.set("remote-id", sent(to).get("local-id"));
    if (mad.has("guid")) mad.set("guid", 0xaa);
    return mad;
  }
  void let_come(Duration after, const Mad& mad,
                const std::function<void(scripts::PacketFields&)>& change = {}) {
    auto packet = scripts::decode(make_mad_packet(mad.bytes(), 0)).packet;
    if (change) change(packet);
    wire.coming.push_back({.at = wire.now() + after, .ib = encode(packet), .fault = {}});
  }
  /// The program accepts: REP comes.
  void accept_answers(const std::function<void(scripts::PacketFields&)>& change = {}) {
    listener.replies["event"] = {kRequest};
    listener.on_line = [this, change](const std::string& command) {
      if (command == "accept") let_come(1ms, answer("REP", 0), change);
    };
  }

  FakeListener listener;
  FakeWire wire;
  ConnectionPeer peer{.peer = Gid::from_ipv4(*Ipv4Address::parse("192.0.2.2")),
                      .tester = Gid::from_ipv4(*Ipv4Address::parse("192.0.2.1"))};
  std::size_t not_judged = 0;
};

TEST_F(ConnectionStageTest, PlaysAConnection) {
  accept_answers();
  listener.replies["event"].push_back("ok ESTABLISHED id=1 status=0");
  EXPECT_EQ(verdict(std::string(kAsked) + "accept qpn=0x44 private=0102\n> REP\n< RTU\nevent ESTABLISHED\n"
                                          "state ESTABLISHED\ntimer none\n"),
            "passed");
  EXPECT_EQ(not_judged, 2u) << "state and timer";
  EXPECT_THAT(listener.lines, Contains("listen rc 7174 0"));
  EXPECT_THAT(listener.lines, Contains("accept 1 qpn=68 resources=1 depth=1 retries=7 rnr-retries=7 srq=0 "
                                       "flow-control=0 private=0102"));
  EXPECT_EQ(sent(1).name(), "RTU");
  EXPECT_EQ(sent(1).get("remote-id"), 0x1234u);
}

TEST_F(ConnectionStageTest, SendsDatagramsOfTheManagementQueuePair) {
  verdict("< REQ\n");
  EXPECT_EQ(wire.sent.at(0).name(), "SEND_ONLY");
  EXPECT_EQ(wire.sent.at(0).dst, 1u);
  EXPECT_EQ(wire.sent.at(0).qkey, 0x80010000u);
  EXPECT_EQ(wire.flushed, wire.sent.size());
  verdict("< REQ bytes=255\n");
  EXPECT_EQ(wire.sent.back().payload.size() + wire.sent.back().pad, 256u);
}

TEST_F(ConnectionStageTest, NoticesWhatIsWrongAroundAMessage) {
  const std::string lines = std::string(kAsked) + "accept\n> REP\n";
  accept_answers([](scripts::PacketFields& packet) { packet.qkey = 1; });
  EXPECT_THAT(verdict(lines), HasSubstr("Q_Key"));
  accept_answers([](scripts::PacketFields& packet) { packet.pkey = 0x7fff; });
  EXPECT_THAT(verdict(lines), HasSubstr("P_Key"));
  accept_answers([](scripts::PacketFields& packet) { packet.src = 5; });
  EXPECT_THAT(verdict(lines), HasSubstr("queue pair 1"));
}

TEST_F(ConnectionStageTest, NoticesAnotherGuidThanTheDevices) {
  listener.replies["event"] = {kRequest};
  listener.on_line = [this](const std::string& command) {
    Mad mad = *Mad::named("REP");
    if (command != "accept") return;
    mad = answer("REP", 0);
    mad.set("guid", 0xab);
    let_come(1ms, mad);
  };
  EXPECT_THAT(verdict(std::string(kAsked) + "accept\n> REP\n"), HasSubstr("guid is"));
}

TEST_F(ConnectionStageTest, AnswersWhatIsLeftOfAnotherCase) {
  Mad left = *Mad::named("DREQ");
  left.set("tid", 5);
  left.set("local-id", 0x77);
  left.set("remote-id", 0x900);  // no alias of this case
  let_come(1ms, left);
  EXPECT_EQ(verdict("< LAP\nsilence\n"), "passed");
  EXPECT_EQ(sent(1).name(), "DREP");
  EXPECT_EQ(sent(1).get("tid"), 5u);
  EXPECT_EQ(sent(1).get("remote-id"), 0x77u);
}

TEST_F(ConnectionStageTest, HasOtherNumbersForEachCase) {
  const auto script =
      scripts::connections::parse_connection_script("# Something -- fact 44\n< REQ local-id=5\n").value();
  for (const unsigned number : {1u, 2u}) {
    const auto stage = ConnectionStage::create(script, peer, number, &listener, wire);
    scripts::connections::play(*stage.value(), script);
  }
  EXPECT_NE(sent(0).get("local-id"), sent(1).get("local-id"));
  EXPECT_NE(sent(0).get("guid"), sent(1).get("guid"));
  EXPECT_EQ(sent(0).get("local-id") & 0xfffff, 5u);
}

TEST_F(ConnectionStageTest, LooksWhenSomethingComes) {
  const std::string lines = "< REQ\n+100ms\nsilence\n+100ms\n> REJ\n";
  const auto rejected_after = [&](Duration after) {
    wire.coming.clear();
    Mad mad = *Mad::named("REJ");
    mad.set("tid", 0x7000'0000'0000'0001);
    mad.set("remote-id", kAlias);
    mad.set("reason", 8);
    let_come(after, mad);
    return verdict(lines);
  };
  EXPECT_THAT(rejected_after(30ms), StartsWith("this came: > REJ"));
  EXPECT_EQ(rejected_after(150ms), "passed");
  EXPECT_EQ(rejected_after(900ms), "passed") << "late";
  EXPECT_EQ(rejected_after(3s), "no message came");
}

TEST_F(ConnectionStageTest, NoticesWhatNothingExpected) {
  listener.replies["event"] = {kRequest};
  EXPECT_THAT(verdict("listen\n< REQ\n"), HasSubstr("nothing expected it: event CONNECT_REQUEST"));
  accept_answers();
  EXPECT_THAT(verdict(std::string(kAsked) + "accept\nsilence\n"), StartsWith("this came: > REP"));
}

TEST_F(ConnectionStageTest, ComparesErrors) {
  listener.replies["reject"] = {"error 22 rdma_reject: Invalid argument"};
  listener.replies["event"] = {kRequest};
  EXPECT_EQ(verdict(std::string(kAsked) + "reject errno=EINVAL\n"), "passed");
  listener.replies["event"] = {kRequest};
  EXPECT_EQ(verdict(std::string(kAsked) + "reject errno=EINVAL\n"), "the call succeeds");
  listener.replies["reject"] = {"error 2 rdma_reject: No such file or directory"};
  listener.replies["event"] = {kRequest};
  EXPECT_THAT(verdict(std::string(kAsked) + "reject errno=EINVAL\n"), HasSubstr("rdma_reject"));
}

TEST_F(ConnectionStageTest, CannotTellWhatTheListenerCannotDo) {
  listener.replies["listen"] = {"error 98 rdma_bind_addr: Address already in use"};
  EXPECT_THAT(verdict("listen\n"), StartsWith("unavailable: the listener cannot listen: 98"));
  EXPECT_THAT(verdict("listen service=xrc\n"), StartsWith("unavailable: the listener has no ids for xrc"));
  EXPECT_THAT(verdict("listen\n< REQ from=stranger\n"), StartsWith("unavailable: the tester has no other"));
  EXPECT_THAT(verdict("listen\ndata\n"), StartsWith("unavailable: the listener's ids have no queue pair"));
  EXPECT_THAT(verdict("connect\n> REQ\nreject errno=EINVAL\n"), StartsWith("unavailable: it may hold"));
  EXPECT_THAT(verdict("+21s\nsilence\n"), StartsWith("unavailable: this script takes 21 s"));
  EXPECT_THAT(verdict("over ipv6\nlisten\n"), StartsWith("unavailable: the peer has an IPv4 address"));
  EXPECT_THAT(verdict("link-mtu 1500\nlisten\n"),
              StartsWith("unavailable: the peer's port has an MTU of 4096"));
  listener.replies["begin"] = {"error no RDMA device has this address"};
  EXPECT_THAT(verdict("listen\n"), HasSubstr("no RDMA device has this address"));
}

TEST_F(ConnectionStageTest, NoticesThatTheListenerIsGone) {
  listener.on_line = [this](const std::string& command) { listener.is_gone = command == "listen"; };
  EXPECT_EQ(verdict("listen\n< REQ\nevent CONNECT_REQUEST\n"),
            "lost: the listener has closed the connection");
}

TEST_F(ConnectionStageTest, GivesAPeerThatMustBeFastMoreTime) {
  verdict("< REQ local-timeout=10 ack-timeout=14\n");
  EXPECT_EQ(sent(0).get("local-timeout"), 16u);
  EXPECT_EQ(sent(0).get("ack-timeout"), 20u);
  verdict("< REQ local-timeout=20 ack-timeout=10\n");
  EXPECT_EQ(sent(0).get("local-timeout"), 20u);
  EXPECT_EQ(sent(0).get("ack-timeout"), 10u);
  EXPECT_THAT(verdict("+1s\n< REQ local-timeout=10\n"), StartsWith("unavailable: this script takes 64 s"));
}

}  // namespace
}  // namespace urnic::conform::connections
