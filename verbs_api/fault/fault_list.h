// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// FaultList: what the user wrote after --fault, divided into what the wire does and what calls do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "transport/result.h"
#include "verbs_api/fault/call_fault.h"

namespace urnic::verbs_api {

/// Words with commas between: those that begin with "verb:" or "async:" are of this room, the others are for
/// the fault injector of the port (drivers/fault). `seed=N` is for both.
struct FaultList {
  /// More than a person writes by hand.
  static constexpr std::size_t kMaxFaults = 64;

  std::string frames;  ///< what the fault injector is told, unchecked; empty: no injector
  std::vector<CallFault> calls;
  std::vector<AsyncFault> events;
  std::uint64_t seed = 1;  ///< of all that has a probability

  bool has_any_of_calls() const { return !calls.empty() || !events.empty(); }

  /// The error says in one line what is wrong with a fault of a call.
  static Result<FaultList, Error> parse(std::string_view text);
  /// The text that parse() takes; empty if there are no faults.
  std::string to_string() const;
};

}  // namespace urnic::verbs_api
