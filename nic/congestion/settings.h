// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// CongestionSettings: what a device goes by where the network is congested.
#pragma once

#include "transport/congestion/choice.h"
#include "transport/congestion/notification_parameters.h"

namespace urnic::nic {

struct CongestionSettings {
  transport::congestion::Choice choice;                         ///< how connected queue pairs slow down
  transport::congestion::NotificationParameters notifications;  ///< what their peers are told
};

}  // namespace urnic::nic
