// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// An agent that says yes, and a wire in virtual time on which a test says what comes and when.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tools/conformance/conform/stage/live_stage.h"
#include "tools/conformance/player/runner.h"
#include "tools/conformance/script/parser.h"

namespace urnic::conform {

using namespace std::chrono_literals;
using transport::Duration;
using transport::Time;

inline constexpr std::uint32_t kOwnQp = 0x400001;

class FakeAgent final : public Agent {
 public:
  Result<AgentReply, AgentError> ask(const std::string& line) override {
    lines.push_back(line);
    if (vanishes_at && line.starts_with(*vanishes_at)) {
      return AgentError{AgentError::Kind::kVanished, "the agent has closed the connection"};
    }
    const std::string command = line.substr(0, line.find(' '));
    if (command.ends_with("poll") && sleep) {
      sleep(std::chrono::milliseconds(std::stoi(line.substr(line.rfind(' ') + 1))));
    }
    auto& queue = replies[line];
    std::string reply = "ok";
    if (!queue.empty()) {
      reply = queue.front();
      queue.pop_front();
    } else if (command == "open") {
      reply = "ok device=fake0 gid-index=1 mtu=5 reads=16 gid=00000000000000000000ffff0a000002";
    } else if (command == "pd") {
      reply = "ok " + std::to_string(domains++);
    } else if (command == "mr") {
      const int number = regions++;
      reply = "ok " + std::to_string(number) + " address=" + std::to_string(0x10000000 * (number + 1)) +
              " lkey=" + std::to_string(number + 1) + " rkey=" + std::to_string(number + 100);
    } else if (command == "qp") {
      reply = "ok 0 qpn=291";
    } else if (command == "mw") {
      reply = "ok 0 rkey=500";
    } else if (command == "bind") {
      reply = "ok rkey=" + std::to_string(600 + binds++);
    } else if (command == "rights") {
      reply = "ok lkey=9 rkey=700";
    } else if (command == "srq" || command == "xrc-srq") {
      const std::string number = std::to_string(shared_queues++);
      reply = "ok " + number + (command == "srq" ? "" : " srqn=90" + number);
    } else if (command == "query") {
      reply = "ok state=RTS send-psn=0 receive-psn=0";
    }
    return *parse_reply(reply);
  }

  std::vector<std::string> lines;
  std::map<std::string, std::deque<std::string>> replies;  ///< to a line, before the usual ones
  std::optional<std::string> vanishes_at;
  std::function<void(Duration)> sleep;
  int domains = 0;
  int regions = 0;
  int binds = 0;
  int shared_queues = 0;
};

class FakeWire final : public Wire {
 public:
  Time now() override { return now_; }
  bool is_in_lock_step() const override { return in_lock_step; }
  void wait_in_real_time(Duration duration) override { waited += duration; }
  bool send(std::span<const std::byte> ib) override {
    sent.push_back(scripts::decode(ib).packet);
    return true;
  }
  void flush() override { flushed = sent.size(); }
  std::optional<Arrival> receive(Time until) override {
    if (coming.empty() || coming.front().at > until) {
      now_ = std::max(now_, until);
      return std::nullopt;
    }
    now_ = std::max(now_, coming.front().at);
    Arrival first = std::move(coming.front());
    coming.pop_front();
    return first;
  }

  /// So long after the beginning.
  void let_come(Duration after, const char* name, std::uint32_t psn, std::uint32_t msn = 0) {
    auto packet = *scripts::named_packet(name, scripts::WireService::kRc);
    packet.dst = kOwnQp;
    packet.psn = psn;
    packet.msn = msn;
    if (carries_payload(packet)) {
      packet.payload.assign(4, std::byte{0});
    }
    let_come(after, packet);
  }
  void let_come(Duration after, const scripts::PacketFields& packet) {
    coming.push_back({.at = Time(1s) + after, .ib = encode(packet), .fault = {}});
  }

  void sleep(Duration duration) { now_ += duration; }

  bool in_lock_step = false;
  Duration waited{0};  ///< of real time
  std::vector<scripts::PacketFields> sent;
  std::size_t flushed = 0;  ///< of those
  std::deque<Arrival> coming;

 private:
  Time now_{1s};
};

class LiveStageTest : public ::testing::Test {
 protected:
  LiveStageTest() {
    agent.sleep = [this](Duration duration) { wire.sleep(duration); };
  }

  scripts::Outcome play(const std::string& lines, const scripts::Excuse& excuse = {}) {
    const auto script = scripts::parse_script("# Something -- fact 1\n" + lines).value();
    const auto settings = scripts::read_settings(script).value();
    const Pace pace = Pace::plan(script, settings).value();
    auto stage =
        LiveStage::create(settings, pace, peer, kOwnQp, lines.find("counter ") != lines.npos, agent, wire);
    EXPECT_TRUE(stage) << (stage ? "" : stage.error().message);
    if (!stage) return {};
    auto outcome = scripts::play(*stage.value(), script, excuse);
    lost_agent = stage.value()->find_lost_agent().has_value();
    return outcome;
  }
  std::string verdict(const std::string& lines) {
    const auto outcome = play(lines);
    return outcome.failure ? outcome.failure->message : "passed";
  }

  FakeAgent agent;
  FakeWire wire;
  Peer peer;
  bool lost_agent = false;
};

}  // namespace urnic::conform
