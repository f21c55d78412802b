// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The words of scripts about connections: this table, and the names of messages and of their numbers.
#pragma once

#include <span>
#include <string_view>

#include "tools/conformance/script/vocabulary.h"
#include "transport/result.h"

namespace urnic::scripts::connections {

std::span<const VerbRule> verbs();

struct NamedError {
  std::string_view name;
  int value;
};
std::span<const NamedError> errors();
/// Each name stands at the place that is its value: in enum rdma_cm_event_type, in nic::rdma_cm::Service, in
/// Host.
std::span<const std::string_view> event_names();
std::span<const std::string_view> service_names();
std::span<const std::string_view> host_names();

}  // namespace urnic::scripts::connections
