// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/adversary/process_adversary.h"

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "nic/process/uncancelled_pause.h"

namespace urnic::verbs_api {
namespace {

using nic::Behavior;
using namespace std::chrono_literals;

constexpr std::uint32_t kOneSlowCallIn = 4;
constexpr transport::Duration kLongestCall = 5ms;
constexpr std::size_t kLastActs = 12;

/// Calls of the data path, and those that wait anyway.
bool is_fast(Verb verb) {
  switch (verb) {
    case Verb::kGetAsyncEvent:
    case Verb::kGetCqEvent:
    case Verb::kReqNotifyCq:
    case Verb::kPollCq:
    case Verb::kStartPoll:
    case Verb::kNextPoll:
    case Verb::kPostSend:
    case Verb::kPostRecv:
    case Verb::kPostSrqRecv:
    case Verb::kWrComplete:
      return true;
    default:
      return false;
  }
}

std::string with_process(std::string file) {
  const std::size_t at = file.find("%p");
  return at == std::string::npos ? file : file.replace(at, 2, std::to_string(getpid()));
}

}  // namespace

Result<void, Error> ProcessAdversary::use(const nic::AdversarySettings& settings) {
  settings_ = settings;
  if (!settings.log_file.empty()) {
    if (auto opened = log_.use_file(with_process(settings.log_file)); !opened) return opened;
  }
  of_calls_ = make();
  is_on_.store(true, std::memory_order_release);
  return success();
}

void ProcessAdversary::before(Verb verb) {
  if (is_fast(verb) || !of_calls_->does(Behavior::kSlowControlVerbs)) return;
  const std::uint64_t call = of_calls_->next_control_verb();
  if (!of_calls_->strikes(Behavior::kSlowControlVerbs, 0, call, kOneSlowCallIn)) return;
  const auto pause = of_calls_->pause(Behavior::kSlowControlVerbs, 0, call, kLongestCall);
  of_calls_->note(Behavior::kSlowControlVerbs, row_of(verb).name, 0, "call", call, pause);
  nic::pause_uncancelled(pause);
}

void ProcessAdversary::end(int exit_code) {
  if (!is_on_.exchange(false) || exit_code == 0) return;
  const std::vector<std::string> acts = log_.last(kLastActs);
  std::string text =
      fmt::format("urnic: chaos: seed {}, {} unusual acts; the last ones:\n", settings_.seed, log_.count());
  for (const std::string& act : acts) text += fmt::format("urnic:   {}\n", act);
  std::fputs(text.c_str(), stderr);
}

}  // namespace urnic::verbs_api
