// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the user wrote after --cc, as a value.
#pragma once

#include <string_view>

#include "transport/congestion/choice.h"
#include "transport/congestion/notification_parameters.h"
#include "transport/result.h"

namespace urnic::nic {

struct CongestionOptions {
  transport::congestion::Choice choice;
  transport::congestion::NotificationParameters notifications;
  bool has_line_rate = false;  ///< the user named one; else a port that knows its rate knows better
};

/// Parses "dcqcn", "dcqcn:paper,rpg_ai_rate=50", "fixed:rate=1000": a controller, after the colon at most one
/// set of defaults, and parameters, each at most once: the controller's, line_rate, and the parameters of
/// notifications. The error says what is wrong and what there is.
Result<CongestionOptions, Error> parse_congestion(std::string_view text);

}  // namespace urnic::nic
