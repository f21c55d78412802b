// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Ways of loss recovery by name: "go-back-n" and "selective-repeat".
#pragma once

#include <string_view>

#include "transport/qp_config.h"
#include "transport/result.h"

namespace urnic::nic {

/// The error is for a person.
Result<transport::Recovery, Error> parse_recovery(std::string_view text);
std::string_view name_of(transport::Recovery recovery);

}  // namespace urnic::nic
