// The words that a snapshot of a device uses where it is written down.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "nic/queues/qp_type.h"
#include "transport/qp_state.h"
#include "transport/wire/address.h"

namespace urnic::nic {

/// What a snapshot written down says as "version". It changes when what it says before comes to mean
/// something else, or is gone; new members do not change it.
inline constexpr std::int64_t kSnapshotVersion = 1;

/// In the order of QpType.
inline constexpr auto kQpTypeNames =
    std::to_array<std::string_view>({"RC", "UC", "UD", "XRC_INI", "XRC_TGT", "RAW_PACKET"});
/// In the order of transport::QpState.
inline constexpr auto kQpStateNames =
    std::to_array<std::string_view>({"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"});

constexpr std::string_view name_of(QpType type) {
  return kQpTypeNames[static_cast<std::size_t>(type)];
}
constexpr std::string_view name_of(transport::QpState state) {
  return kQpStateNames[static_cast<std::size_t>(state)];
}

/// An address as people write it: IPv4 where the GID is of one, otherwise IPv6.
inline std::string address_text(const transport::wire::Gid& gid) {
  return gid.is_ipv4_mapped() ? to_string(gid.ipv4()) : to_string(gid);
}

}  // namespace urnic::nic
