// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/queues/queue_pair_state.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cerrno>
#include <initializer_list>
#include <string>
#include <string_view>

#include "nic/config.h"
#include "nic/errors.h"
#include "transport/enum_names.h"

namespace urnic::nic {

using transport::QpState;
using transport::to_integer;

namespace {

using enum Attributes;

/// A set of queue pair types.
enum class Types : std::uint8_t {};
constexpr Types of(std::initializer_list<QpType> types) {
  std::uint8_t set = 0;
  for (const QpType type : types) set = static_cast<std::uint8_t>(set | 1u << to_integer(type));
  return Types{set};
}
constexpr bool contains(Types set, QpType type) {
  return (to_integer(set) >> to_integer(type) & 1u) != 0;
}

/// A transition of several types.
struct TransitionRow {
  Types types;
  QpState from;
  QpState to;
  Attributes required = kNone;
  Attributes optional = kNone;
};

constexpr Types kRc = of({QpType::kRc});
constexpr Types kUc = of({QpType::kUc});
constexpr Types kUd = of({QpType::kUd});
constexpr Types kInitiator = of({QpType::kXrcInitiator});
constexpr Types kTarget = of({QpType::kXrcTarget});
constexpr Types kConnected = of({QpType::kRc, QpType::kUc, QpType::kXrcInitiator, QpType::kXrcTarget});
/// Those that answer requests reliably.
constexpr Types kResponders = of({QpType::kRc, QpType::kXrcTarget});
constexpr Types kSilent = of({QpType::kUc, QpType::kXrcInitiator});
constexpr Types kRaw = of({QpType::kRawPacket});
constexpr Types kWorkQueue = of({QpType::kWorkQueue});
constexpr Types kInfiniband =
    of({QpType::kRc, QpType::kUc, QpType::kUd, QpType::kXrcInitiator, QpType::kXrcTarget});
constexpr Types kAll = of({QpType::kRc, QpType::kUc, QpType::kUd, QpType::kXrcInitiator, QpType::kXrcTarget,
                           QpType::kRawPacket, QpType::kWorkQueue});

constexpr Attributes kRoute = kAddress | kPathMtu | kDestinationQp | kReceivePsn;
constexpr Attributes kRetries = kAckTimeout | kRetryCount | kRnrRetry;

// Alternate paths and path migration, which the kernel's table allows too, do not exist here. Besides these,
// every state may go to RESET, and all but RESET to ERR.
constexpr TransitionRow kTransitions[] = {
    {kUd, QpState::kReset, QpState::kInit, kPkeyIndex | kPort | kQkey, kNone},
    {kConnected, QpState::kReset, QpState::kInit, kPkeyIndex | kPort | kAccess, kNone},
    {kRaw, QpState::kReset, QpState::kInit, kPort, kNone},

    {kUd, QpState::kInit, QpState::kInit, kNone, kPkeyIndex | kPort | kQkey},
    {kConnected, QpState::kInit, QpState::kInit, kNone, kPkeyIndex | kPort | kAccess},

    {kUd, QpState::kInit, QpState::kReadyToReceive, kNone, kPkeyIndex | kQkey},
    {kSilent, QpState::kInit, QpState::kReadyToReceive, kRoute, kAccess | kPkeyIndex},
    {kResponders, QpState::kInit, QpState::kReadyToReceive, kRoute | kMaxResponderResources | kMinRnrTimer,
     kAccess | kPkeyIndex},

    {kUd, QpState::kReadyToReceive, QpState::kReadyToSend, kSendPsn, kCurrentState | kQkey},
    {kUc, QpState::kReadyToReceive, QpState::kReadyToSend, kSendPsn, kCurrentState | kAccess},
    {kRc, QpState::kReadyToReceive, QpState::kReadyToSend, kRetries | kSendPsn | kMaxReadsInFlight,
     kCurrentState | kAccess | kMinRnrTimer},
    {kInitiator, QpState::kReadyToReceive, QpState::kReadyToSend, kRetries | kSendPsn | kMaxReadsInFlight,
     kCurrentState | kAccess},
    {kTarget, QpState::kReadyToReceive, QpState::kReadyToSend, kAckTimeout | kSendPsn,
     kCurrentState | kAccess | kMinRnrTimer},

    {kUd, QpState::kReadyToSend, QpState::kReadyToSend, kNone, kCurrentState | kQkey},
    {kSilent, QpState::kReadyToSend, QpState::kReadyToSend, kNone, kCurrentState | kAccess},
    {kResponders, QpState::kReadyToSend, QpState::kReadyToSend, kNone,
     kCurrentState | kAccess | kMinRnrTimer},

    {kInfiniband, QpState::kReadyToSend, QpState::kSqDrained, kNone, kDrainNotification},

    {kUd, QpState::kSqDrained, QpState::kReadyToSend, kNone, kCurrentState | kQkey},
    {kSilent, QpState::kSqDrained, QpState::kReadyToSend, kNone, kCurrentState | kAccess},
    {kResponders, QpState::kSqDrained, QpState::kReadyToSend, kNone, kCurrentState | kAccess | kMinRnrTimer},

    {kUd, QpState::kSqDrained, QpState::kSqDrained, kNone, kPkeyIndex | kQkey},
    {kUc, QpState::kSqDrained, QpState::kSqDrained, kNone, kAddress | kAccess | kPkeyIndex},
    {kRc, QpState::kSqDrained, QpState::kSqDrained, kNone,
     kPort | kAddress | kRetries | kMaxReadsInFlight | kMaxResponderResources | kAccess | kPkeyIndex |
         kMinRnrTimer},
    {kInitiator, QpState::kSqDrained, QpState::kSqDrained, kNone,
     kPort | kAddress | kRetries | kMaxReadsInFlight | kAccess | kPkeyIndex},
    {kTarget, QpState::kSqDrained, QpState::kSqDrained, kNone,
     kPort | kAddress | kAckTimeout | kMaxResponderResources | kAccess | kPkeyIndex | kMinRnrTimer},

    {kUd, QpState::kSqError, QpState::kReadyToSend, kNone, kCurrentState | kQkey},
    {kUc, QpState::kSqError, QpState::kReadyToSend, kNone, kCurrentState | kAccess},

    // Only the port is ever said of a queue pair for raw packets.
    {kRaw, QpState::kInit, QpState::kInit},
    {kRaw, QpState::kInit, QpState::kReadyToReceive},
    {kRaw, QpState::kReadyToReceive, QpState::kReadyToSend},
    {kRaw, QpState::kReadyToSend, QpState::kReadyToSend},
    {kRaw, QpState::kReadyToSend, QpState::kSqDrained},
    {kRaw, QpState::kSqDrained, QpState::kReadyToSend},
    {kRaw, QpState::kSqDrained, QpState::kSqDrained},
    {kRaw, QpState::kSqError, QpState::kReadyToSend},

    // Of a work queue: from RESET to RDY, which is RTR here, at once.
    {kWorkQueue, QpState::kReset, QpState::kReadyToReceive},
    {kWorkQueue, QpState::kReadyToReceive, QpState::kReadyToReceive},
};

/// What messages call an attribute, and libibverbs, where it has IBV_QP_ in front.
struct AttributeName {
  std::string_view words;
  std::string_view mask;
};

/// In the order of the bits.
constexpr auto kAttributeNames = std::to_array<AttributeName>({
    {"the current state", "CUR_STATE"},
    {"access flags", "ACCESS_FLAGS"},
    {"P_Key index", "PKEY_INDEX"},
    {"port", "PORT"},
    {"address vector", "AV"},
    {"path MTU", "PATH_MTU"},
    {"destination QPN", "DEST_QPN"},
    {"receive PSN", "RQ_PSN"},
    {"max_dest_rd_atomic", "MAX_DEST_RD_ATOMIC"},
    {"min_rnr_timer", "MIN_RNR_TIMER"},
    {"send PSN", "SQ_PSN"},
    {"max_rd_atomic", "MAX_QP_RD_ATOMIC"},
    {"timeout", "TIMEOUT"},
    {"retry_cnt", "RETRY_CNT"},
    {"rnr_retry", "RNR_RETRY"},
    {"Q_Key", "QKEY"},
    {"the drained notification", "EN_SQD_ASYNC_NOTIFY"},
});
static_assert(to_integer(kDrainNotification) == 1u << (kAttributeNames.size() - 1));

std::vector<std::string_view> names_of(Attributes set, std::string_view AttributeName::*name) {
  std::vector<std::string_view> names;
  for (std::size_t bit = 0; bit < kAttributeNames.size(); ++bit) {
    if ((to_integer(set) & (1u << bit)) != 0) names.push_back(kAttributeNames[bit].*name);
  }
  return names;
}

std::string to_string(Attributes set) {
  return fmt::format("{}", fmt::join(names_of(set, &AttributeName::words), ", "));
}

constexpr TransitionRow kToAnEnd{kAll, QpState::kReset, QpState::kReset};

const TransitionRow* find_transition(QpType type, QpState from, QpState to) {
  const bool is_end = to == QpState::kReset || (to == QpState::kError && from != QpState::kReset);
  if (is_end) return &kToAnEnd;
  for (const TransitionRow& transition : kTransitions) {
    if (contains(transition.types, type) && transition.from == from && transition.to == to) {
      return &transition;
    }
  }
  return nullptr;
}

template <typename... Arguments>
auto refused(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  return failure(
      Error{.code = EINVAL, .message = fmt::format(format, std::forward<Arguments>(arguments)...)});
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
         bit(attributes.retry_count, kRetryCount) | bit(attributes.rnr_retry, kRnrRetry) |
         bit(attributes.qkey, kQkey) | bit(attributes.notify_when_drained, kDrainNotification);
}

Result<void, Error> check_transition(QpType type, QpState from, QpState to, Attributes given) {
  if (type == QpType::kRss) return failure(not_offered("a queue pair for RSS has no states"));
  const TransitionRow* const transition = find_transition(type, from, to);
  if (transition == nullptr) {
    return refused("a queue pair cannot go from {} to {}", name_of(from), name_of(to));
  }
  if (const Attributes missing = transition->required - given; missing != kNone) {
    return refused("{} to {} needs: {}", name_of(from), name_of(to), to_string(missing));
  }
  const Attributes excess = given - (transition->required | transition->optional);
  if (excess != kNone) {
    return refused("{} to {} does not allow: {}", name_of(from), name_of(to), to_string(excess));
  }
  return success();
}

std::vector<Transition> transitions_of(QpType type) {
  std::vector<Transition> transitions;
  if (type == QpType::kRss) return transitions;
  for (std::size_t from = 0; from < transport::count_of<QpState>(); ++from) {
    for (std::size_t to = 0; to < transport::count_of<QpState>(); ++to) {
      const auto first = static_cast<QpState>(from);
      const auto second = static_cast<QpState>(to);
      if (const TransitionRow* const row = find_transition(type, first, second)) {
        transitions.push_back(
            {.from = first, .to = second, .required = row->required, .optional = row->optional});
      }
    }
  }
  return transitions;
}

std::vector<std::string_view> names_of(Attributes set) {
  return names_of(set, &AttributeName::mask);
}

Result<void, Error> check_ranges(const QpAttributes& attributes, const Personality& nic) {
  constexpr std::uint32_t kMaxQpNumber = 0xffffff;
  constexpr unsigned kMaxTimerCode = 31;
  constexpr unsigned kMaxRetries = 7;
  const auto is_above = [](const auto& attribute, std::uint64_t limit) {
    return attribute && *attribute > limit;
  };

  if (is_above(attributes.pkey_index, 0)) return refused("the P_Key table has one entry, index 0");
  if (attributes.port && *attributes.port != 1) return refused("the device has one port, number 1");
  if (attributes.destination_qp && to_integer(*attributes.destination_qp) > kMaxQpNumber) {
    return refused("a destination QPN has 24 bits");
  }
  if (is_above(attributes.max_responder_resources, nic.max_qp_rd_atom)) {
    return refused("max_dest_rd_atomic is at most {}", nic.max_qp_rd_atom);
  }
  if (is_above(attributes.max_reads_in_flight, nic.max_qp_init_rd_atom)) {
    return refused("max_rd_atomic is at most {}", nic.max_qp_init_rd_atom);
  }
  if (is_above(attributes.min_rnr_timer, kMaxTimerCode)) return refused("min_rnr_timer is at most 31");
  if (is_above(attributes.ack_timeout, kMaxTimerCode)) return refused("timeout is at most 31");
  if (is_above(attributes.retry_count, kMaxRetries)) return refused("retry_cnt is at most 7");
  if (is_above(attributes.rnr_retry, kMaxRetries)) return refused("rnr_retry is at most 7");
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
  take_change(all.qkey, changes.qkey);
  take_change(all.notify_when_drained, changes.notify_when_drained);
  return all;
}

}  // namespace urnic::nic
