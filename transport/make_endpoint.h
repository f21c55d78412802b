// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The endpoint of each service.
#pragma once

#include <memory>

#include "transport/dependencies.h"
#include "transport/endpoint.h"
#include "transport/wire/opcode.h"

namespace urnic::transport {

/// In state RESET; null for a service that has no queue pairs here.
std::unique_ptr<Endpoint> make_endpoint(wire::Service service, const QpDependencies& dependencies);

}  // namespace urnic::transport
