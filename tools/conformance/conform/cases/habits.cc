// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/cases/habits.h"

#include <fnmatch.h>

#include <algorithm>
#include <string>

namespace urnic::conform {
namespace {

/// A READ that has been answered is not outstanding any more, so the next one is not one too many.
constexpr std::string_view kFastNics = "NICs that answer a READ before the next one is there";
constexpr std::string_view kByItself = "an answered READ takes none of a responder's resources";

constexpr Habit kHabits[] = {
    {"rc/read/resources_overflow_reads", "came: READ_RESPONSE", kFastNics, kByItself},
    {"rc/sqd/fewer_resources", "came: READ_RESPONSE", kFastNics, kByItself},
    {"rc/state/event_too_many_reads", "came: READ_RESPONSE", kFastNics, kByItself},
    {"rc/send/too_long*", "came: NAK_REMOTE_OPERATION", "rdma_rxe", "transport/FACTS.md, fact 33"},
    {"rc/length/mtu_plus_1_receive_send", "came: NAK_REMOTE_OPERATION", "rdma_rxe",
     "transport/FACTS.md, fact 33"},
};

}  // namespace

const Habit* find_habit(std::string_view name, std::string_view message) {
  const std::string text(name);
  const auto* const found = std::find_if(std::begin(kHabits), std::end(kHabits), [&](const Habit& habit) {
    return fnmatch(std::string(habit.cases).c_str(), text.c_str(), 0) == 0 &&
           message.find(habit.message) != message.npos;
  });
  return found == std::end(kHabits) ? nullptr : found;
}

}  // namespace urnic::conform
