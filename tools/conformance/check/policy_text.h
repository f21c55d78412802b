// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What people type for a CongestionPolicy.
#pragma once

#include <optional>
#include <string_view>

#include "tools/conformance/check/congestion/policy.h"

namespace urnic::check {

/// "50us", or with a scope: "50us:qp", "50us:address", "50us:port". Decimal; ns, us, ms or s. Above 0, at
/// most an hour.
bool read_cnp_spacing(std::string_view text, CongestionPolicy& policy);

/// "100Gb/s": decimal, b/s to Tb/s in powers of 1000. Above 0, at most 100 Tb/s.
bool read_link_rate(std::string_view text, CongestionPolicy& policy);

/// "02:00:00:00:00:01", or several of one host with commas between them: no groups.
bool read_link_host(std::string_view text, CongestionPolicy& policy);

}  // namespace urnic::check
