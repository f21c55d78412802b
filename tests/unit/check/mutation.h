// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A recording with one thing spoilt, and the rule that it breaks then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "tests/unit/check/capture_edit.h"
#include "tools/conformance/check/checker.h"

namespace urnic::check::test {

struct Mutation {
  const char* name;
  Rule rule;
  const char* fixture;
  std::function<void(Capture&)> spoil;
  CongestionPolicy congestion{};
};

inline void PrintTo(const Mutation& mutation, std::ostream* out) {
  *out << mutation.name;
}

/// Mutations of frames, packets, requesters and responders.
std::vector<Mutation> transport_mutations();
/// Mutations of the connection manager's messages, and of what they say about packets.
std::vector<Mutation> cm_mutations();
/// Mutations of CNPs and pause frames.
std::vector<Mutation> congestion_mutations();

inline constexpr std::int64_t kSecond = 1'000'000'000;
inline constexpr std::int64_t kPromised = 4'300'000'000;  ///< REQ's code 20, for an answer, is 4.295 s

/// Offsets from the begin of the BTH: a management datagram's header, and the message in it.
inline constexpr std::size_t kMadAt = 20;
inline constexpr std::size_t kCmAt = kMadAt + 24;

/// Repeats datagram `number` after frame `behind`, so much later and with another PSN. All that follows comes
/// as much later, too.
std::size_t say_again(Capture& capture, std::size_t number, std::size_t behind, std::int64_t after_ns);

}  // namespace urnic::check::test
