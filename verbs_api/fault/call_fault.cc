// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/fault/call_fault.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <system_error>
#include <utility>

namespace urnic::verbs_api {
namespace {

using Applied = std::optional<Error>;

constexpr std::string_view kCallForms =
    "it is written verb:CALL=ERRNO:nth=N, verb:ibv_poll_cq:status=STATUS:nth=N or "
    "verb:rdma_CALL:event=EVENT:nth=N";
constexpr std::string_view kAsyncForms =
    "it is written async:EVENT:after=TIME or async:EVENT:call=CALL:nth=N";
constexpr std::string_view kCallKeys =
    "status=, kind=send|receive, event=, error=, reason=, to=STATE, nth= (or n=), times=N|all, p=PROBABILITY";
constexpr std::string_view kAsyncKeys =
    "after=TIME, call=CALL, nth= (or n=), qp=N, cq=N, srq=N, for=TIME (of PORT_ERR)";

template <typename... Arguments>
Error wrong(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  return Error{.code = EINVAL, .message = fmt::format(format, std::forward<Arguments>(arguments)...)};
}

/// "; near it: a, b", or nothing.
std::string near_it(const std::string& names) {
  return names.empty() ? names : "; near it: " + names;
}

template <typename Number>
bool read_whole(std::string_view text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  return result.ec == std::errc{} && result.ptr == end;
}

bool read_count(std::string_view text, std::uint64_t& number) {
  return read_whole(text, number) && number > 0;
}

struct Unit {
  std::string_view name;
  double nanoseconds;
};
constexpr auto kUnits = std::to_array<Unit>({{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}});

/// A number with its unit, from 0 to AsyncFault::kMaxTime.
std::optional<transport::Duration> read_time(std::string_view text) {
  const std::size_t letters = text.find_first_not_of("0123456789.");
  if (letters == std::string_view::npos || letters == 0) return std::nullopt;
  const auto* const unit = std::find_if(kUnits.begin(), kUnits.end(),
                                        [&](const Unit& each) { return each.name == text.substr(letters); });
  double number = 0;
  if (unit == kUnits.end() || !read_whole(text.substr(0, letters), number)) return std::nullopt;
  const double nanoseconds = std::ceil(number * unit->nanoseconds);
  const auto most = std::chrono::nanoseconds(AsyncFault::kMaxTime).count();
  if (!(nanoseconds <= static_cast<double>(most))) return std::nullopt;
  return std::chrono::nanoseconds(static_cast<std::int64_t>(nanoseconds));
}

/// Takes what stands before the next colon.
std::string_view take_item(std::string_view& rest) {
  const std::size_t colon = std::min(rest.find(':'), rest.size());
  const std::string_view item = rest.substr(0, colon);
  rest.remove_prefix(std::min(colon + 1, rest.size()));
  return item;
}

Result<Verb, Error> read_verb(std::string_view name) {
  if (const VerbRow* const row = find_verb(name)) return row->verb;
  return wrong("there is no call '{}' that can fail{}", name, near_it(verbs_like(name)));
}

Applied apply_nth(std::uint64_t& nth, std::string_view value) {
  if (read_count(value, nth)) return std::nullopt;
  return wrong("nth: which of the calls, from 1 on, not '{}'", value);
}

/// A key, and what is wrong with its value.
template <typename Fault>
struct Key {
  std::string_view name;
  Applied (*apply)(Fault& fault, std::string_view value);
};

constexpr auto kKeysOfCalls = std::to_array<Key<CallFault>>({
    {"nth", [](CallFault& fault, std::string_view value) { return apply_nth(fault.nth, value); }},
    {"times",
     [](CallFault& fault, std::string_view value) -> Applied {
       fault.times = CallFault::kAlways;
       if (value == "all" || read_count(value, fault.times)) return std::nullopt;
       return wrong("times: how many of the calls, from 1 on, or all, not '{}'", value);
     }},
    {"p",
     [](CallFault& fault, std::string_view value) -> Applied {
       double& p = fault.probability;
       if (read_whole(value, p) && p > 0 && p <= 1) return std::nullopt;
       return wrong("p: a probability above 0 and up to 1, not '{}'", value);
     }},
    {"status",
     [](CallFault& fault, std::string_view value) -> Applied {
       if (fault.verb != Verb::kPollCq) return wrong("a status is for ibv_poll_cq, which sees completions");
       fault.status = failure_named(value);
       if (fault.status) return std::nullopt;
       return wrong("status: there is no failure '{}' of completions, such as RETRY_EXC_ERR{}", value,
                    near_it(failures_like(value)));
     }},
    {"kind",
     [](CallFault& fault, std::string_view value) -> Applied {
       if (value != "send" && value != "receive") {
         return wrong("kind: completions of which work requests, send or receive, not '{}'", value);
       }
       fault.side = value == "send" ? CallFault::Side::kSend : CallFault::Side::kReceive;
       return std::nullopt;
     }},
    {"to",
     [](CallFault& fault, std::string_view value) -> Applied {
       if (fault.verb != Verb::kModifyQp) return wrong("to: a state is for ibv_modify_qp");
       fault.to_state = state_named(value);
       if (fault.to_state) return std::nullopt;
       return wrong("to: there is no state '{}'; there are {}", value, kStateNames);
     }},
    {"event",
     [](CallFault& fault, std::string_view value) -> Applied {
       const std::string names = cm_event_names(fault.verb);
       if (names.empty()) {
         return wrong(
             "an event can follow rdma_resolve_addr, rdma_resolve_route, rdma_connect and rdma_accept");
       }
       fault.event = find_cm_event(fault.verb, value);
       if (fault.event == nullptr) {
         return wrong("event: {} is not followed by '{}', but by {}", row_of(fault.verb).name, value, names);
       }
       if (fault.event_status == 0) fault.event_status = fault.event->usual_status;
       return std::nullopt;
     }},
    {"error",
     [](CallFault& fault, std::string_view value) -> Applied {
       const auto error = errno_named(value);
       if (!error) {
         return wrong("error: there is no errno '{}', such as ETIMEDOUT{}", value,
                      near_it(errnos_like(value)));
       }
       fault.event_status = -*error;
       return std::nullopt;
     }},
    {"reason",
     [](CallFault& fault, std::string_view value) -> Applied {
       std::uint8_t reason = 0;
       if (!read_whole(value, reason) || reason == 0) {
         return wrong("reason: of a REJ, a number from 1 to 255, not '{}'", value);
       }
       fault.event_status = reason;
       return std::nullopt;
     }},
});

/// Sets the number of the object, which must be of the kind that the event is about.
template <AsyncEventRow::Subject subject>
Applied apply_object(AsyncFault& fault, std::string_view value) {
  if (fault.event->subject != subject) return wrong("{} is no event of such an object", fault.event->name);
  if (read_whole(value, fault.object) && fault.object > 0) return std::nullopt;
  return wrong("which object, in the order in which the process makes them, from 1 on, not '{}'", value);
}

constexpr auto kKeysOfEvents = std::to_array<Key<AsyncFault>>({
    {"nth", [](AsyncFault& fault, std::string_view value) { return apply_nth(fault.nth, value); }},
    {"after",
     [](AsyncFault& fault, std::string_view value) -> Applied {
       fault.after = read_time(value);
       if (fault.after) return std::nullopt;
       return wrong("after: how long after the device was opened, up to a day, such as 100ms, not '{}'",
                    value);
     }},
    {"for",
     [](AsyncFault& fault, std::string_view value) -> Applied {
       if (fault.event->type != IBV_EVENT_PORT_ERR) return wrong("for: only PORT_ERR lasts");
       fault.lasts = read_time(value);
       if (fault.lasts) return std::nullopt;
       return wrong("for: how long the port is down, up to a day, such as 2s, not '{}'", value);
     }},
    {"call",
     [](AsyncFault& fault, std::string_view value) -> Applied {
       const auto verb = read_verb(value);
       if (!verb) return verb.error();
       fault.call = verb.value();
       return std::nullopt;
     }},
    {"qp", apply_object<AsyncEventRow::Subject::kOfQp>},
    {"cq", apply_object<AsyncEventRow::Subject::kOfCq>},
    {"srq", apply_object<AsyncEventRow::Subject::kOfSrq>},
});

/// Reads KEY=VALUE:...; what is wrong with it, if anything. `seen` gets each key, between colons.
template <typename Fault, typename Keys>
Applied apply_all(Fault& fault, const Keys& keys, std::string_view names, std::string_view rest,
                  std::string& seen) {
  seen = ":";
  while (!rest.empty()) {
    const std::string_view item = take_item(rest);
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) return wrong("'{}' is not of the form KEY=VALUE", item);
    const std::string_view written = item.substr(0, equals);
    const std::string_view key = written == "n" ? "nth" : written;
    const auto* const row =
        std::find_if(keys.begin(), keys.end(), [&](const auto& each) { return each.name == key; });
    if (row == keys.end()) return wrong("there is no '{}' here; there are {}", written, names);
    const std::string mark = fmt::format(":{}:", key);
    if (seen.find(mark) != std::string::npos) return wrong("'{}' is given twice", key);
    seen += mark;
    if (auto error = row->apply(fault, item.substr(equals + 1))) return error;
  }
  return std::nullopt;
}

bool has(const std::string& seen, std::string_view key) {
  return seen.find(fmt::format(":{}:", key)) != std::string::npos;
}

/// What is wrong with a fault whose words are each right.
Applied find_contradiction(const CallFault& fault, const std::string& seen) {
  const int ways = (fault.error != 0 ? 1 : 0) + (fault.status ? 1 : 0) + (fault.event != nullptr ? 1 : 0);
  if (ways == 0) return wrong("how does {} fail? {}", row_of(fault.verb).name, kCallForms);
  if (ways > 1) return wrong("it says in two ways how {} fails: keep one", row_of(fault.verb).name);
  if (fault.side != CallFault::Side::kBoth && !fault.status) {
    return wrong("kind= is for the completions of a fault with status=");
  }
  if ((has(seen, "error") || has(seen, "reason")) && fault.event == nullptr) {
    return wrong("error= and reason= are for a fault with event=; {}", kCallForms);
  }
  if (has(seen, "error") && has(seen, "reason")) return wrong("an event has an error or a reason, not both");
  const bool is_rejected = fault.event != nullptr && fault.event->type == nic::rdma_cm::EventType::kRejected;
  if (has(seen, "reason") && !is_rejected) return wrong("reason= is for event=REJECTED; others have error=");
  if (has(seen, "error") && is_rejected) return wrong("REJECTED has a reason=, and no error=");
  return std::nullopt;
}

Applied find_contradiction(const AsyncFault& fault, const std::string& seen) {
  if (!fault.after && !fault.call) return wrong("when does {} come? {}", fault.event->name, kAsyncForms);
  if (fault.after && fault.call) return wrong("after= and call= both say when: keep one");
  if (has(seen, "nth") && !fault.call) return wrong("nth= is for a fault with call=; {}", kAsyncForms);
  return std::nullopt;
}

/// What follows the word of the kind, which the caller has seen.
std::string_view after_kind(std::string_view text) {
  take_item(text);
  return text;
}

}  // namespace

Result<CallFault, Error> CallFault::parse(std::string_view text) {
  const auto complain = [&](const Error& why) { return wrong("fault '{}': {}", text, why.message); };
  std::string_view rest = after_kind(text);
  const std::string_view head = take_item(rest);
  if (head.empty()) return complain(wrong("which call? {}", kCallForms));
  const std::size_t equals = std::min(head.find('='), head.size());
  const auto verb = read_verb(head.substr(0, equals));
  if (!verb) return complain(wrong("{}; {}", verb.error().message, kCallForms));

  CallFault fault{.verb = verb.value(), .text = std::string(text)};
  if (equals < head.size()) {
    const std::string_view name = head.substr(equals + 1);
    const auto value = errno_named(name);
    if (!value) {
      return complain(wrong("there is no errno '{}', such as ENOMEM{}", name, near_it(errnos_like(name))));
    }
    fault.error = *value;
  }
  std::string seen;
  if (const auto why = apply_all(fault, kKeysOfCalls, kCallKeys, rest, seen)) return complain(*why);
  if (const auto why = find_contradiction(fault, seen)) return complain(*why);
  if (has(seen, "p") && !has(seen, "times")) fault.times = kAlways;
  return fault;
}

Result<AsyncFault, Error> AsyncFault::parse(std::string_view text) {
  const auto complain = [&](const Error& why) { return wrong("fault '{}': {}", text, why.message); };
  std::string_view rest = after_kind(text);
  const std::string_view name = take_item(rest);
  AsyncFault fault{.event = find_async_event(name), .text = std::string(text)};
  if (fault.event == nullptr) {
    return complain(
        wrong("there is no event '{}'; there are {}; {}", name, async_event_names(), kAsyncForms));
  }
  std::string seen;
  if (const auto why = apply_all(fault, kKeysOfEvents, kAsyncKeys, rest, seen)) return complain(*why);
  if (const auto why = find_contradiction(fault, seen)) return complain(*why);
  return fault;
}

}  // namespace urnic::verbs_api
