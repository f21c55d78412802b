// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Fuzz target: the specification that `urnic run --fault` takes of calls, and calls that then meet it.
//
// An input is a line of text, and then pairs of bytes: a call, and what it says (a state for ibv_modify_qp;
// for ibv_poll_cq whether a completion is a receive). An accepted text is written as one that means the same.
// A call that is hit fails in one of the ways that a fault can have, and no call fails where none is named.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "verbs_api/fault/call_faults.h"
#include "verbs_api/fault/event_raising.h"
#include "verbs_api/fault/fault_list.h"

namespace urnic::verbs_api {

// What the events would be raised on.
CallFaults& call_faults() {
  static CallFaults faults;
  return faults;
}
std::string raise_event(const AsyncFault& fault) {
  return fault.object > 1 ? "there is one of each" : "";
}
void end_event(const AsyncFault&) {}

namespace {

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
  }
}

void try_call(CallFaults& faults, const FaultList& list, unsigned number, unsigned detail) {
  const auto verb = static_cast<Verb>(number % kVerbCount);
  const bool has_state = verb == Verb::kModifyQp && detail <= IBV_QPS_ERR;
  const CallFault* const fault =
      faults.strike(verb, has_state ? std::optional(static_cast<ibv_qp_state>(detail)) : std::nullopt);
  if (verb == Verb::kPollCq) {
    const auto status = faults.strike_completion((detail & 1u) != 0);
    require(!status || faults.has_statuses(), "no completion fails where no status is named");
  }
  if (fault == nullptr) return;
  require((fault->error > 0) != (fault->event != nullptr), "a call fails in one way");
  require(!fault->status, "a status is a completion's");
  require(std::any_of(list.calls.begin(), list.calls.end(),
                      [&](const CallFault& each) { return each.verb == verb && each.text == fault->text; }),
          "a call fails by a fault that names it");
  require(faults.concerns(verb), "a call that fails is one that is asked about");
}

void try_input(std::span<const std::byte> data) {
  const auto end = std::find(data.begin(), data.end(), std::byte{'\n'});
  std::string text;
  std::transform(data.begin(), end, std::back_inserter(text),
                 [](std::byte letter) { return static_cast<char>(letter); });
  const auto list = FaultList::parse(text);
  if (!list) return require(!list.error().message.empty(), "a refusal says why");
  const std::string written = list.value().to_string();
  const auto again = FaultList::parse(written);
  require(again && again.value().to_string() == written, "what is written means the same");
  require(again.value().seed == list.value().seed, "the dice are the same");

  CallFaults faults;
  faults.use(list.value());
  data = data.subspan(std::min(data.size(), static_cast<std::size_t>(end - data.begin()) + 1));
  for (; data.size() >= 2; data = data.subspan(2)) {
    try_call(faults, list.value(), std::to_integer<unsigned>(data[0]), std::to_integer<unsigned>(data[1]));
  }
  const std::vector<std::string> lines = faults.end();
  require(lines.size() == list.value().calls.size() + list.value().events.size(), "every fault is reported");
  for (const std::string& line : lines) require(!line.empty(), "a report says something");
}

}  // namespace
}  // namespace urnic::verbs_api

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  urnic::verbs_api::try_input(std::as_bytes(std::span(data, size)));
  return 0;
}
