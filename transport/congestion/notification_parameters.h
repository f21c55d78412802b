// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// NotificationParameters: when a NIC tells its peers of congestion, under the names of OFED's files below
// roce_np.
#pragma once

#include <array>
#include <cstdint>

#include "transport/congestion/parameter.h"

namespace urnic::transport::congestion {

/// The defaults of ConnectX cards (A1 of the congestion facts).
struct NotificationParameters {
  std::uint32_t enable = 1;                 ///< 0, 1: CNPs are sent
  std::uint32_t min_time_between_cnps = 4;  ///< us, of one queue pair or one address
  std::uint32_t cnp_dscp = 48;              ///< of CNPs
  std::uint32_t cnp_802p_prio = 6;          ///< priority of CNPs in a VLAN's tag
  std::uint32_t per_address = 0;  ///< 1: what is spaced are the CNPs to an address, 0: to a queue pair
};

inline constexpr auto kNotificationParameters = std::to_array<Parameter<NotificationParameters>>({
    {"enable", &NotificationParameters::enable, 0, 1},
    {"min_time_between_cnps", &NotificationParameters::min_time_between_cnps, 0, 4095},
    {"cnp_dscp", &NotificationParameters::cnp_dscp, 0, 63},
    {"cnp_802p_prio", &NotificationParameters::cnp_802p_prio, 0, 7},
    {"per_address", &NotificationParameters::per_address, 0, 1},
});

}  // namespace urnic::transport::congestion
