// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Fuzz target: the specification that `urnic run --cc` takes, and the controller that it makes.
//
// The input is a line of text, the specification, and then the events of the controller: pairs of bytes, a
// kind and the time that passes before the event. Nothing may crash or overflow; a rate is never 0, and only
// a fixed rate or Swift's exceeds the line rate.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

#include "nic/congestion/choice_text.h"

namespace urnic::nic {
namespace {

using transport::Duration;
using transport::Time;
namespace congestion = transport::congestion;

constexpr std::uint32_t kPacketBytes = 1024;

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
  }
}

/// From a nanosecond to an hour and a half.
Duration passed(unsigned byte) {
  return Duration(std::int64_t{1} << (byte % 43));
}

void happen(congestion::Controller& controller, unsigned kind, Duration time, Time now) {
  switch (kind % 5) {
    case 0:
      return controller.on_send(kind * kPacketBytes, now);
    case 1:
      return controller.on_ack(time, now);
    case 2:
      controller.on_cnp(now);
      return;
    case 3:
      return controller.on_nak(now);
    default:
      return controller.on_timeout(now);
  }
}

void try_controller(const congestion::Choice& choice, std::span<const std::uint8_t> events) {
  const auto controller = congestion::make_controller(choice, kPacketBytes);
  require((controller == nullptr) == choice.is_none(), "there is a controller unless there is to be none");
  if (controller == nullptr) return;
  Time now{};
  for (; events.size() >= 2; events = events.subspan(2)) {
    const Duration time = passed(events[1]);
    now += time;
    happen(*controller, events[0], time, now);
    const congestion::Allowance allowance = controller->allowance(now);
    const bool is_fixed = controller->state(now).kind == congestion::ControllerKind::kFixed;
    require(allowance.rate > 0 && allowance.window_bytes > 0, "something may be sent");
    require(is_fixed || allowance.rate == congestion::kUnlimited || allowance.rate <= choice.line_rate ||
                controller->state(now).kind == congestion::ControllerKind::kSwift,
            "the line rate is the most");
  }
}

}  // namespace
}  // namespace urnic::nic

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> input(data, size);
  const auto end = std::ranges::find(input, std::uint8_t{'\n'});
  const auto length = static_cast<std::size_t>(end - input.begin());
  const std::string_view text(reinterpret_cast<const char*>(data), length);
  const auto options = urnic::nic::parse_congestion(text);
  if (!options) return 0;
  urnic::nic::try_controller(options.value().choice, input.subspan(std::min(size, length + 1)));
  return 0;
}
