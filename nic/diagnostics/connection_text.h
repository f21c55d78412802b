// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Why a connection was not made, in words.
#pragma once

#include <string>

#include "nic/diagnostics/failure_cause.h"
#include "nic/diagnostics/failure_report.h"
#include "nic/rdma_cm/connection_failure.h"

namespace urnic::nic {

/// The likeliest cause.
FailureCause cause_of(const rdma_cm::ConnectionFailure& failure);
/// Which connection it was, and what happened to it.
std::string what_connection_failed(const rdma_cm::ConnectionFailure& failure);
/// The figures to the cause; `report` has a connection.
std::string why_no_connection(const FailureReport& report);

}  // namespace urnic::nic
