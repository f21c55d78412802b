// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The words that a snapshot of a device uses where it is written down.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "nic/queues/qp_type.h"
#include "transport/wire/address.h"

namespace urnic::nic {

/// What a snapshot written down says as "version". It changes when what it says before comes to mean
/// something else, or is gone; new members do not change it.
inline constexpr std::int64_t kSnapshotVersion = 1;

/// "" for what is no type.
constexpr std::string_view name_of(QpType type) {
  using enum QpType;
  switch (type) {
    case kRc:
      return "RC";
    case kUc:
      return "UC";
    case kUd:
      return "UD";
    case kXrcInitiator:
      return "XRC_INI";
    case kXrcTarget:
      return "XRC_TGT";
    case kRawPacket:
      return "RAW_PACKET";
    case kRss:
      return "RSS";
    case kWorkQueue:
      return "WORK_QUEUE";
  }
  return "";
}

/// An address as people write it: IPv4 where the GID is of one, otherwise IPv6.
inline std::string address_text(const transport::wire::Gid& gid) {
  return gid.is_ipv4_mapped() ? to_string(gid.ipv4()) : to_string(gid);
}

}  // namespace urnic::nic
