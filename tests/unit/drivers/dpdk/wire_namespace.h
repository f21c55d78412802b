// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A virtual cable in a network namespace of a test's own.
#pragma once

#include <functional>
#include <string>

#include "tests/unit/drivers/dpdk/process.h"

namespace urnic::drivers {

/// Runs `scenario` in a child, in a network namespace with a veth pair, "near" and "far", with this MTU, up;
/// expects that it returns nothing. Skips the test where this user may not make namespaces and interfaces.
void on_a_wire(int mtu, const std::function<std::string()>& scenario);

/// What a child that runs this body says at its end.
std::string run(const Process::Body& body);

}  // namespace urnic::drivers
