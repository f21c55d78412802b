// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/connections/timing.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <string_view>

namespace urnic::conform::connections {
namespace {

using namespace std::chrono_literals;
using scripts::Statement;
using scripts::Verb;
using scripts::connections::Mad;
using transport::Duration;

constexpr Duration kLongestScript = 20s;
/// 268 ms: a tester on a busy machine has sent its next message by then.
constexpr std::uint64_t kShortestRepeat = 16;
constexpr std::uint64_t kMostCode = 31;

}  // namespace

Result<Timing, scripts::Trouble> Timing::plan(const scripts::Script& script) {
  Timing timing;
  Duration total{0};
  for (const Statement& statement : script.statements) {
    if (statement.verb == Verb::kPass) total += statement.subject_as<Duration>();
    if (statement.verb != Verb::kArrives) continue;
    const std::uint64_t repeat = statement.number("local-timeout", kShortestRepeat);
    if (repeat < kShortestRepeat) timing.shift_ = static_cast<unsigned>(kShortestRepeat - repeat);
  }
  if (timing.wait(total) <= kLongestScript) return timing;
  return scripts::unavailable(
      fmt::format("this script takes {} s, more than {}", timing.wait(total) / 1s, kLongestScript / 1s));
}

Mad Timing::slowed_down(Mad mad) const {
  for (const std::string_view code : {"local-timeout", "ack-timeout", "timeout"}) {
    if (shift_ > 0 && mad.has(code)) mad.set(code, std::min(mad.get(code) + shift_, kMostCode));
  }
  return mad;
}

}  // namespace urnic::conform::connections
