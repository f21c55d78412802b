// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/congestion/pauses.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace urnic::check {
namespace {

constexpr double kBitsPerQuantum = 512;
constexpr double kLongestFrameBits = (9240 + 24) * 8;  // on the wire: preamble, FCS and gap included
constexpr std::int64_t kUnderWayNs = 10'000;           // propagation both ways, and a NIC's reaction
constexpr std::int64_t kTimeStampNs = 1000;

const char* words_for(std::size_t priority) {
  constexpr const char* kNames[] = {"priority 0", "priority 1", "priority 2", "priority 3",  "priority 4",
                                    "priority 5", "priority 6", "priority 7", "any priority"};
  return kNames[priority];
}

}  // namespace

Pauses::Pauses(Findings& findings, const CongestionPolicy& policy)
    : findings_(findings), told_(policy.link_host) {
  if (policy.link_rate_bps > 0) {
    ns_per_quantum_ = kBitsPerQuantum * 1e9 / policy.link_rate_bps;
    tolerance_ns_ = kUnderWayNs + std::llround(kLongestFrameBits * 1e9 / policy.link_rate_bps);
  }
}

void Pauses::Late::add(std::uint64_t xoff, std::uint64_t frame, std::int64_t behind_ns) {
  add(Late{.frames = 1, .first_xoff = xoff, .first_frame = frame, .longest_ns = behind_ns});
}

void Pauses::Late::add(const Late& other) {
  if (other.frames == 0) return;
  if (frames == 0 || other.first_frame < first_frame) {
    first_xoff = other.first_xoff;
    first_frame = other.first_frame;
  }
  frames += other.frames;
  longest_ns = std::max(longest_ns, other.longest_ns);
}

void Pauses::on_pause(const LinkFrame& frame, std::uint64_t number, std::int64_t time_ns) {
  const auto pauser = index_of(frame.source);
  if (!pauser) {
    ++others_;
    return;
  }
  const PauseFrame& pause = *frame.pause;
  if (!pause.is_of_priorities) return set(*pauser, Pauser::kAll, pause.quanta[0], number, time_ns);
  for (std::size_t priority = 0; priority < kPriorities; ++priority) {
    if ((pause.priorities >> priority & 1u) != 0) {
      set(*pauser, priority, pause.quanta[priority], number, time_ns);
    }
  }
}

std::optional<std::size_t> Pauses::index_of(const Mac& sender) {
  const auto known =
      std::find_if(pausers_.begin(), pausers_.end(), [&](const Pauser& each) { return each.mac == sender; });
  if (known != pausers_.end()) return static_cast<std::size_t>(known - pausers_.begin());
  if (pausers_.size() == states_.size()) return std::nullopt;
  pausers_.push_back({.mac = sender});
  return pausers_.size() - 1;
}

void Pauses::set(std::size_t pauser, std::size_t priority, std::uint16_t quanta, std::uint64_t number,
                 std::int64_t time_ns) {
  PauseCounts& counts = pausers_[pauser].counts[priority];
  Pause& pause = states_[pauser][priority];
  ++(quanta == 0 ? counts.xon : counts.xoff);
  if (ns_per_quantum_ == 0) return;
  const bool goes_on = pause.is_on && time_ns <= pause.until_ns;
  if (pause.is_on && (!goes_on || quanta == 0)) {
    counts.paused_ns += std::max<std::int64_t>(std::min(time_ns, pause.until_ns) - pause.since_ns, 0);
    pause.is_on = false;
  }
  if (quanta == 0) return;
  // A repeated XOFF restarts the time. But its receiver has had to stop since the first one.
  if (!goes_on) {
    pause.since_ns = time_ns;
    pause.xoff = number;
  }
  pause.is_on = true;
  pause.until_ns = time_ns + std::llround(quanta * ns_per_quantum_);
}

void Pauses::on_roce(const LinkFrame& frame, std::uint64_t number, std::int64_t time_ns) {
  narrow_hosts(frame);
  for (std::size_t i = 0; i < pausers_.size(); ++i) {
    for (const std::size_t priority : {std::size_t{frame.priority}, Pauser::kAll}) {
      judge(states_[i][priority], pausers_[i].mac, frame, number, time_ns);
    }
  }
}

void Pauses::narrow_hosts(const LinkFrame& frame) {
  if (frame.destination.is_group() || !told_.empty()) return;
  if (!has_hosts_) {
    has_hosts_ = true;
    hosts_ = {{{.mac = frame.source, .is_possible = true}, {.mac = frame.destination, .is_possible = true}}};
    return;
  }
  for (Host& host : hosts_) {
    host.is_possible = host.is_possible && (host.mac == frame.source || host.mac == frame.destination);
  }
}

void Pauses::judge(Pause& pause, const Mac& pauser, const LinkFrame& frame, std::uint64_t number,
                   std::int64_t time_ns) const {
  const std::int64_t behind_ns = time_ns - pause.since_ns;
  if (!pause.is_on || behind_ns <= tolerance_ns_ || time_ns >= pause.until_ns - kTimeStampNs) return;
  if (!told_.empty()) {
    const bool is_of_peer = is_told(pauser) ? is_told(frame.destination) : is_told(frame.source);
    if (is_of_peer) pause.surely.add(pause.xoff, number, behind_ns);
    return;
  }
  if (frame.destination == pauser) return pause.surely.add(pause.xoff, number, behind_ns);
  if (frame.source == pauser) return;
  for (std::size_t i = 0; i < kHosts; ++i) {
    if (hosts_[i].is_possible && hosts_[i].mac == frame.source) {
      pause.from_host[i].add(pause.xoff, number, behind_ns);
    }
  }
}

bool Pauses::is_told(const Mac& mac) const {
  return std::find(told_.begin(), told_.end(), mac) != told_.end();
}

void Pauses::finish(std::int64_t end_ns) {
  for (std::size_t i = 0; i < pausers_.size(); ++i) {
    for (std::size_t priority = 0; priority <= Pauser::kAll; ++priority) {
      Pause& pause = states_[i][priority];
      if (pause.is_on) {
        pausers_[i].counts[priority].paused_ns +=
            std::max<std::int64_t>(std::min(end_ns, pause.until_ns) - pause.since_ns, 0);
      }
      report(pausers_[i], priority, pause);
    }
  }
}

void Pauses::report(const Pauser& pauser, std::size_t priority, const Pause& pause) {
  Late late = pause.surely;
  Late unclear;
  const bool is_open = hosts_[0].is_possible && hosts_[1].is_possible;
  for (std::size_t i = 0; i < kHosts; ++i) {
    if (hosts_[i].is_possible) (is_open ? unclear : late).add(pause.from_host[i]);
  }
  const bool is_one_link = others_ == 0;
  if (!is_one_link) unclear.add(std::exchange(late, {}));
  const std::string expected =
      fmt::format("no frame of {} while {} pauses it", words_for(priority), to_string(pauser.mac));
  const auto seen = [](const Late& what) {
    return fmt::format("{} frames, up to {:.3f} us after an XOFF", what.frames,
                       static_cast<double>(what.longest_ns) / 1e3);
  };
  if (late.frames > 0) {
    findings_.add_if_complete(Rule::kPauseIgnored, kNoFlow, {late.first_xoff, late.first_frame}, expected,
                              seen(late) + kUnlessLost);
  }
  if (unclear.frames > 0) {
    findings_.add(
        Rule::kPauseUnclear, kNoFlow, {unclear.first_xoff, unclear.first_frame}, expected,
        seen(unclear) + (is_one_link
                             ? "; which end sent them cannot be told (--link-host says whose link it is)"
                             : "; but more than two send pause frames: the capture is of several links"));
  }
}

}  // namespace urnic::check
