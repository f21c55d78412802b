// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/stage/attributes.h"

#include <fmt/core.h>

#include <array>
#include <bit>
#include <string_view>

namespace urnic::conform {
namespace {

using transport::Access;
using transport::QpConfig;
using transport::QpState;

/// Steps that set an attribute whether it has changed or not.
enum Steps : unsigned { kInit = 1, kReadyToReceive = 2, kReadyToSend = 4, kNone = 0 };

constexpr unsigned bit_of(QueuePairKind kind) {
  return 1u << static_cast<unsigned>(kind);
}

/// Kinds of queue pairs that have an attribute.
constexpr unsigned kTarget = bit_of(QueuePairKind::kRc) | bit_of(QueuePairKind::kXrcTarget);
constexpr unsigned kInitiator = bit_of(QueuePairKind::kRc) | bit_of(QueuePairKind::kXrcInitiator);
constexpr unsigned kReliable = kTarget | kInitiator;
constexpr unsigned kConnected = kReliable | bit_of(QueuePairKind::kUc);
constexpr unsigned kDatagrams = bit_of(QueuePairKind::kUd);

struct Attribute {
  std::string_view name;
  unsigned steps = kNone;
  unsigned kinds = 0;
  unsigned value = 0;
};

using Attributes = std::array<Attribute, 11>;

Attributes attributes(const QpConfig& config, const Pace& pace) {
  const auto mtu = static_cast<unsigned>(std::countr_zero(bytes(config.path_mtu))) - 7;  // 256 is 1
  return {{
      {"access", kInit, kConnected, verbs_rights_of_queue_pair(config.access)},
      {"qkey", kInit, kDatagrams, config.qkey},
      {"mtu", kReadyToReceive, kConnected, mtu},
      {"receive-psn", kReadyToReceive, kConnected, config.receive_psn.value()},
      {"resources", kReadyToReceive, kTarget, config.max_responder_resources},
      {"rnr-timer", kReadyToReceive, kTarget, pace.rnr_code(config.min_rnr_timer)},
      {"send-psn", kReadyToSend, kConnected | kDatagrams, config.send_psn.value()},
      {"timeout", kReadyToSend, kReliable, pace.timeout_code(config.ack_timeout)},
      {"retry", kReadyToSend, kInitiator, config.retry_count},
      {"rnr-retry", kReadyToSend, kInitiator, config.rnr_retry},
      {"reads", kReadyToSend, kInitiator, config.max_reads_in_flight},
  }};
}

unsigned step_bit(QpState from, QpState to) {
  if (from == QpState::kReset && to == QpState::kInit) return kInit;
  if (from == QpState::kInit && to == QpState::kReadyToReceive) return kReadyToReceive;
  if (from == QpState::kReadyToReceive && to == QpState::kReadyToSend) return kReadyToSend;
  return kNone;
}

}  // namespace

QueuePairKind kind_of(const scripts::Settings& settings) {
  using transport::wire::Service;
  const Service service = settings.config.service;
  if (service == Service::kUc) return QueuePairKind::kUc;
  if (service == Service::kUd) return QueuePairKind::kUd;
  if (service != Service::kXrc) return QueuePairKind::kRc;
  return settings.is_xrc_target ? QueuePairKind::kXrcTarget : QueuePairKind::kXrcInitiator;
}

std::string_view name_of(QueuePairKind kind) {
  constexpr std::array<std::string_view, 5> kNames{"rc", "uc", "ud", "xrc-recv", "xrc-send"};
  return kNames.at(static_cast<std::size_t>(kind));
}

std::string attributes_of_step(QueuePairKind kind, QpState from, QpState to, const QpConfig& told,
                               const QpConfig& config, const Pace& pace) {
  std::string text;
  if (to == QpState::kReset || to == QpState::kError) return text;
  const unsigned step = step_bit(from, to);
  const Attributes before = attributes(told, pace);
  const Attributes now = attributes(config, pace);
  for (std::size_t i = 0; i < now.size(); ++i) {
    const bool is_needed = (now[i].steps & step) != 0;
    // Before that, what has changed is set by the step that needs it.
    const bool may_change = step == kNone || step == kReadyToSend;
    const bool has_changed = may_change && now[i].value != before[i].value;
    if ((now[i].kinds & bit_of(kind)) == 0) continue;
    if (is_needed || has_changed) text += fmt::format(" {}={}", now[i].name, now[i].value);
  }
  if (to == QpState::kSqDrained && config.notify_when_drained) text += " notify=1";
  return text;
}

unsigned verbs_rights_of_memory(Access access) {
  constexpr unsigned kAll = 0x1f;  // in the same order; FLUSH's are not among them
  const bool is_changed = (access & (Access::kRemoteWrite | Access::kRemoteAtomic)) != Access::kNone;
  return (to_integer(access) & kAll) | (is_changed ? to_integer(Access::kLocalWrite) : 0u);
}

unsigned verbs_rights_of_queue_pair(Access access) {
  return to_integer(access & (Access::kRemoteWrite | Access::kRemoteRead | Access::kRemoteAtomic));
}

}  // namespace urnic::conform
