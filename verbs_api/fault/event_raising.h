// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// How an asynchronous event comes that a fault names. injection/event_raising.cc, which knows the objects,
// defines it.
#pragma once

#include <string>

#include "verbs_api/fault/call_fault.h"

namespace urnic::verbs_api {

/// Does to the device what such an event means, and tells the program of it. Returns why that is impossible,
/// or nothing. Any thread that holds no lock of the device, the registry or the process.
std::string raise_event(const AsyncFault& fault);
/// The port is up again.
void end_event(const AsyncFault& fault);

}  // namespace urnic::verbs_api
