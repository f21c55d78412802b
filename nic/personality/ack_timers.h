// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// When a NIC sends again what is not acknowledged.
#pragma once

#include <cstdint>

#include "nic/personality/personality.h"
#include "transport/rc/retry_schedule.h"

namespace urnic::nic {

/// For the codes of `timeout` and `retry_cnt`; none where the nominal times hold.
transport::RetrySchedule retry_schedule(AckTimers timers, std::uint8_t timeout, std::uint8_t retry_count);

}  // namespace urnic::nic
