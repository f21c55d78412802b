#include "nic/queue_pair_state.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <iterator>
#include <string>
#include <string_view>

#include "nic/config.h"

namespace urnic::nic {

using transport::QpState;
using transport::to_integer;

namespace {

using enum Attributes;

struct Transition {
  QpState from;
  QpState to;
  Attributes required = kNone;
  Attributes optional = kNone;
};

// Alternate paths and path migration, which the kernel's table allows too, do not exist here.
constexpr Transition kTransitions[] = {
    {.from = QpState::kReset, .to = QpState::kReset},
    {.from = QpState::kReset, .to = QpState::kInit, .required = kPkeyIndex | kPort | kAccess},

    {.from = QpState::kInit, .to = QpState::kReset},
    {.from = QpState::kInit, .to = QpState::kError},
    {.from = QpState::kInit, .to = QpState::kInit, .optional = kPkeyIndex | kPort | kAccess},
    {.from = QpState::kInit,
     .to = QpState::kReadyToReceive,
     .required =
         kAddress | kPathMtu | kDestinationQp | kReceivePsn | kMaxResponderResources | kMinRnrTimer,
     .optional = kAccess | kPkeyIndex},

    {.from = QpState::kReadyToReceive, .to = QpState::kReset},
    {.from = QpState::kReadyToReceive, .to = QpState::kError},
    {.from = QpState::kReadyToReceive,
     .to = QpState::kReadyToSend,
     .required = kAckTimeout | kRetryCount | kRnrRetry | kSendPsn | kMaxReadsInFlight,
     .optional = kCurrentState | kAccess | kMinRnrTimer},

    {.from = QpState::kReadyToSend, .to = QpState::kReset},
    {.from = QpState::kReadyToSend, .to = QpState::kError},
    {.from = QpState::kReadyToSend,
     .to = QpState::kReadyToSend,
     .optional = kCurrentState | kAccess | kMinRnrTimer},

    {.from = QpState::kError, .to = QpState::kReset},
    {.from = QpState::kError, .to = QpState::kError},
};

constexpr auto kStateNames =
    std::to_array<std::string_view>({"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"});

/// In the order of the bits.
constexpr auto kAttributeNames = std::to_array<std::string_view>({
    "the current state",
    "access flags",
    "P_Key index",
    "port",
    "address vector",
    "path MTU",
    "destination QPN",
    "receive PSN",
    "max_dest_rd_atomic",
    "min_rnr_timer",
    "send PSN",
    "max_rd_atomic",
    "timeout",
    "retry_cnt",
    "rnr_retry",
});

std::string_view to_string(QpState state) { return kStateNames[to_integer(state)]; }

std::string to_string(Attributes set) {
  std::string names;
  for (std::size_t bit = 0; bit < kAttributeNames.size(); ++bit) {
    if ((to_integer(set) & (1u << bit)) == 0) continue;
    fmt::format_to(std::back_inserter(names), "{}{}", names.empty() ? "" : ", ", kAttributeNames[bit]);
  }
  return names;
}

const Transition* find_transition(QpState from, QpState to) {
  for (const Transition& transition : kTransitions) {
    if (transition.from == from && transition.to == to) return &transition;
  }
  return nullptr;
}

template <typename... Arguments>
auto invalid(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  return failure(Error{.code = EINVAL, .message = fmt::format(format, std::forward<Arguments>(arguments)...)});
}

template <typename T>
void take_change(std::optional<T>& value, const std::optional<T>& change) {
  if (change) value = change;
}

}  // namespace

Attributes present_in(const QpAttributes& attributes) {
  const auto bit = [](const auto& attribute, Attributes name) { return attribute ? name : kNone; };
  return bit(attributes.current_state, kCurrentState) | bit(attributes.access, kAccess) |
         bit(attributes.pkey_index, kPkeyIndex) | bit(attributes.port, kPort) |
         bit(attributes.address, kAddress) | bit(attributes.path_mtu, kPathMtu) |
         bit(attributes.destination_qp, kDestinationQp) | bit(attributes.receive_psn, kReceivePsn) |
         bit(attributes.max_responder_resources, kMaxResponderResources) |
         bit(attributes.min_rnr_timer, kMinRnrTimer) | bit(attributes.send_psn, kSendPsn) |
         bit(attributes.max_reads_in_flight, kMaxReadsInFlight) | bit(attributes.ack_timeout, kAckTimeout) |
         bit(attributes.retry_count, kRetryCount) | bit(attributes.rnr_retry, kRnrRetry);
}

Result<void, Error> check_transition(QpState from, QpState to, Attributes given) {
  if (to == QpState::kSqDrained || to == QpState::kSqError) {
    return invalid("state {} is not supported", to_string(to));
  }
  const Transition* const transition = find_transition(from, to);
  if (transition == nullptr) {
    return invalid("a queue pair cannot go from {} to {}", to_string(from), to_string(to));
  }
  if (const Attributes missing = transition->required - given; missing != kNone) {
    return invalid("{} to {} needs: {}", to_string(from), to_string(to), to_string(missing));
  }
  const Attributes excess = given - (transition->required | transition->optional);
  if (excess != kNone) {
    return invalid("{} to {} does not allow: {}", to_string(from), to_string(to), to_string(excess));
  }
  return success();
}

Result<void, Error> check_ranges(const QpAttributes& attributes) {
  constexpr std::uint32_t kMaxQpNumber = 0xffffff;
  constexpr unsigned kMaxTimerCode = 31;
  constexpr unsigned kMaxRetries = 7;
  const auto is_above = [](const auto& attribute, unsigned limit) { return attribute && *attribute > limit; };

  if (is_above(attributes.pkey_index, 0)) return invalid("the P_Key table has one entry, index 0");
  if (attributes.port && *attributes.port != 1) return invalid("the device has one port, number 1");
  if (attributes.destination_qp && to_integer(*attributes.destination_qp) > kMaxQpNumber) {
    return invalid("a destination QPN has 24 bits");
  }
  if (is_above(attributes.max_responder_resources, DeviceLimits::kMaxReadsInFlight)) {
    return invalid("max_dest_rd_atomic is at most {}", +DeviceLimits::kMaxReadsInFlight);
  }
  if (is_above(attributes.max_reads_in_flight, DeviceLimits::kMaxReadsInFlight)) {
    return invalid("max_rd_atomic is at most {}", +DeviceLimits::kMaxReadsInFlight);
  }
  if (is_above(attributes.min_rnr_timer, kMaxTimerCode)) return invalid("min_rnr_timer is at most 31");
  if (is_above(attributes.ack_timeout, kMaxTimerCode)) return invalid("timeout is at most 31");
  if (is_above(attributes.retry_count, kMaxRetries)) return invalid("retry_cnt is at most 7");
  if (is_above(attributes.rnr_retry, kMaxRetries)) return invalid("rnr_retry is at most 7");
  return success();
}

QpAttributes merged(const QpAttributes& current, const QpAttributes& changes) {
  QpAttributes all = current;
  take_change(all.state, changes.state);
  take_change(all.access, changes.access);
  take_change(all.pkey_index, changes.pkey_index);
  take_change(all.port, changes.port);
  take_change(all.address, changes.address);
  take_change(all.path_mtu, changes.path_mtu);
  take_change(all.destination_qp, changes.destination_qp);
  take_change(all.receive_psn, changes.receive_psn);
  take_change(all.max_responder_resources, changes.max_responder_resources);
  take_change(all.min_rnr_timer, changes.min_rnr_timer);
  take_change(all.send_psn, changes.send_psn);
  take_change(all.max_reads_in_flight, changes.max_reads_in_flight);
  take_change(all.ack_timeout, changes.ack_timeout);
  take_change(all.retry_count, changes.retry_count);
  take_change(all.rnr_retry, changes.rnr_retry);
  return all;
}

}  // namespace urnic::nic
