// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/cases/playable.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <string_view>

#include "tools/conformance/player/steps.h"

namespace urnic::conform {
namespace {

using scripts::Statement;
using scripts::Verb;
using scripts::Word;

/// Of operations that libibverbs before version 46 has no words for.
bool is_of_later_verbs(const Statement& statement) {
  if (statement.verb == Verb::kFlushed) return true;
  const bool is_packet = statement.verb == Verb::kArrives || statement.verb == Verb::kLeaves;
  if (!is_packet && statement.verb != Verb::kPost) return false;
  const std::string_view name = statement.subject_as<Word>();
  return name == "FLUSH" || name == "ATOMIC_WRITE" || name == "flush" || name == "atomic-write";
}

/// Settings of urnic's transport that the verbs do not have.
bool is_of_urnic_alone(const Statement& statement) {
  return statement.verb == Verb::kSet &&
         (statement.name == "window-packets" || statement.name == "ack-delay");
}

/// Whether the program does something before the queue pair has done what it was given at the same moment.
bool needs_one_moment(const scripts::Script& script) {
  for (std::size_t i = 1; i < script.statements.size(); ++i) {
    const Verb verb = script.statements[i].verb;
    const bool ends_work = verb == Verb::kModify || verb == Verb::kDeregister || verb == Verb::kChangeRights;
    if (ends_work && script.statements[i - 1].flag("burst")) return true;
  }
  return false;
}

/// Whether something is done so soon after a timer, or before it, that only a clock of the script's own can.
bool needs_nanoseconds(const scripts::Script& script) {
  for (std::size_t i = 1; i < script.statements.size(); ++i) {
    const Statement& before = script.statements[i - 1];
    const bool is_moment = before.verb == Verb::kPass &&
                           before.subject_as<transport::Duration>() <= std::chrono::microseconds(1);
    if (is_moment && scripts::is_action(script.statements[i].verb)) return true;
  }
  return false;
}

bool any(const scripts::Script& script, bool (*is_so)(const Statement&)) {
  return std::any_of(script.statements.begin(), script.statements.end(), is_so);
}

}  // namespace

std::optional<std::string> reason_against(const scripts::Script& script) {
  if (any(script, is_of_later_verbs)) return "the agent's verbs have no FLUSH and no ATOMIC WRITE";
  if (any(script, is_of_urnic_alone)) return "the script sets what only urnic's own transport has";
  if (needs_one_moment(script)) return "on a wire no two things happen at the same moment";
  if (needs_nanoseconds(script)) return "on a wire nothing happens within a nanosecond of something else";
  return std::nullopt;
}

}  // namespace urnic::conform
