// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// make_endpoint(): the state machine of a queue pair of some type.
#pragma once

#include <memory>

#include "nic/queues/qp_type.h"
#include "transport/dependencies.h"
#include "transport/endpoint.h"

namespace urnic::nic {

/// Never null. For frames it is a RawPacketEndpoint.
std::unique_ptr<transport::Endpoint> make_endpoint(QpType type,
                                                   const transport::QpDependencies& dependencies);

}  // namespace urnic::nic
