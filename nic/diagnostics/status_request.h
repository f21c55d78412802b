// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What another program of the user may ask of a NIC, at its StatusServer. The empty request asks for a
// snapshot.
#pragma once

#include <string_view>

namespace urnic::nic {

/// To take the NIC's link down, and up again.
inline constexpr std::string_view kLinkDown = "link down";
inline constexpr std::string_view kLinkUp = "link up";
/// To write down what the NIC has counted (counter_files.h).
inline constexpr std::string_view kWriteCounters = "counters";
/// The answer to a request that was carried out; any other is a reason, for a person.
inline constexpr std::string_view kCarriedOut = "done";

}  // namespace urnic::nic
