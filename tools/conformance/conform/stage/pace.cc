// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/stage/pace.h"

#include <fmt/core.h>

#include <algorithm>

namespace urnic::conform {
namespace {

using scripts::Statement;
using scripts::Trouble;
using scripts::Verb;
using transport::Duration;
using namespace std::chrono_literals;

/// Timers that are at least so long can be told from the time that commands take.
constexpr Duration kShortestAckTimer = 250ms;
constexpr Duration kShortestRnrTimer = 160ms;
constexpr Duration kLongestScript = 20s;
/// For RNR timers alone no script is made longer than this.
constexpr Duration kLongestForRnr = 3s;
/// 2.1 s: longer than any script takes that does not wait for it.
constexpr std::uint8_t kNeverExpires = 19;
constexpr unsigned kMostShift = 14;

constexpr Duration timer_of(std::uint8_t code) {
  return Duration(4096) * (std::int64_t{1} << code);
}

/// RNR timers double with every second code from 2 on; code 1 is half of 2, and code 0 comes after 31.
constexpr unsigned place_of(std::uint8_t code) {
  if (code == 0) return 32;
  return code == 1 ? 0 : code;
}

constexpr Duration rnr_timer_of(std::uint8_t code) {
  const unsigned place = place_of(code);
  return Duration(place % 2 == 0 ? 10'000 : 15'000) * (std::int64_t{1} << place / 2);
}

/// What a script says of timers.
struct Timers {
  Duration total{0};  ///< how long it waits
  bool waits_for_acks = false;
  std::uint8_t shortest_ack = 0;  ///< the code; 0: there is none
  std::vector<std::uint8_t> rnr;  ///< codes

  void add_ack(std::uint8_t code) {
    if (code != 0 && (shortest_ack == 0 || code < shortest_ack)) shortest_ack = code;
  }
};

Timers timers_of(const scripts::Script& script, const scripts::Settings& settings) {
  Timers timers;
  timers.add_ack(settings.config.ack_timeout);
  for (const Statement& statement : script.statements) {
    const bool is_packet = statement.verb == Verb::kArrives || statement.verb == Verb::kLeaves;
    if (is_packet && statement.subject_as<scripts::Word>() == "RNR_NAK") {
      const bool is_ours = statement.verb == Verb::kArrives;
      const auto syndrome = static_cast<std::uint8_t>(statement.number("syn") & 0x1f);
      timers.rnr.push_back(is_ours ? syndrome : settings.config.min_rnr_timer);
    } else if (statement.verb == Verb::kModify && statement.has("timeout")) {
      timers.add_ack(static_cast<std::uint8_t>(statement.number("timeout")));
    } else if (statement.verb == Verb::kPass) {
      const auto duration = statement.subject_as<Duration>();
      timers.total += duration;
    }
  }
  const bool has_timer = timers.shortest_ack != 0;
  timers.waits_for_acks = has_timer && timers.total >= timer_of(timers.shortest_ack) / 4;
  return timers;
}

/// Whether RNR timers have codes for so much more time.
bool can_shift(const Timers& timers, unsigned shift) {
  return std::all_of(timers.rnr.begin(), timers.rnr.end(),
                     [shift](std::uint8_t code) { return place_of(code) + 2 * shift <= 32; });
}

}  // namespace

Result<Pace, Trouble> Pace::plan(const scripts::Script& script, const scripts::Settings& settings) {
  Pace pace;
  const Timers timers = timers_of(script, settings);
  pace.uses_ack_timers_ = timers.waits_for_acks;
  const auto may_be_longer = [&] { return pace.shift_ < kMostShift && can_shift(timers, pace.shift_ + 1); };
  if (timers.waits_for_acks) {
    const Duration shortest = timer_of(timers.shortest_ack);
    while (may_be_longer() && pace.wait(shortest) < kShortestAckTimer) ++pace.shift_;
  }
  for (const std::uint8_t code : timers.rnr) {
    const auto is_short = [&] { return pace.wait(rnr_timer_of(code)) < kShortestRnrTimer; };
    while (may_be_longer() && is_short() && 2 * pace.wait(timers.total) <= kLongestForRnr) ++pace.shift_;
  }
  if (pace.wait(timers.total) > kLongestScript) {
    const auto in_seconds = [](Duration time) {
      return std::chrono::duration_cast<std::chrono::seconds>(time).count();
    };
    return scripts::unavailable(fmt::format("this script takes {} s, more than {}",
                                            in_seconds(pace.wait(timers.total)), in_seconds(kLongestScript)));
  }
  return pace;
}

std::uint8_t Pace::timeout_code(std::uint8_t code) const {
  if (code == 0) return 0;  // never expires
  if (!uses_ack_timers_) return std::max(code, kNeverExpires);
  return static_cast<std::uint8_t>(std::min(code + shift_, 31u));
}

std::uint8_t Pace::rnr_code(std::uint8_t code) const {
  if (shift_ == 0) return code;
  const unsigned place = place_of(code) + 2 * shift_;
  return static_cast<std::uint8_t>(place >= 32 ? 0 : place);
}

bool is_too_early(Duration came, Duration due) {
  return came < due - due / 10 - 5ms;
}

Duration patience_for(Duration due) {
  return due + 1s;
}

}  // namespace urnic::conform
