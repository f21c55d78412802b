// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the agent's `modify` is told for a step of a queue pair.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tools/conformance/conform/stage/pace.h"
#include "tools/conformance/player/settings.h"
#include "transport/qp_config.h"
#include "transport/qp_state.h"

namespace urnic::conform {

/// What the agent makes: XRC has two kinds of queue pairs.
enum class QueuePairKind : std::uint8_t { kRc, kUc, kUd, kXrcTarget, kXrcInitiator };
QueuePairKind kind_of(const scripts::Settings& settings);
/// The agent's word for it.
std::string_view name_of(QueuePairKind kind);

/// " NAME=NUMBER ..." of all attributes that the step needs, and of those that have changed since `told`.
std::string attributes_of_step(QueuePairKind kind, transport::QpState from, transport::QpState to,
                               const transport::QpConfig& told, const transport::QpConfig& config,
                               const Pace& pace);

/// As libibverbs counts rights. Memory that a peer may change must be writable for its own program, too.
unsigned verbs_rights_of_memory(transport::Access access);
/// Of a window as well.
unsigned verbs_rights_of_queue_pair(transport::Access access);

}  // namespace urnic::conform
