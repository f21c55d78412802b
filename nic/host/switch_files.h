// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The files of a switch: of a fabric's, or of the host's.
#pragma once

#include <string>

namespace urnic::nic {

/// What belongs to one switch.
struct SwitchFiles {
  std::string control_socket;  ///< where it takes requests
  std::string lock;            ///< locked as long as it lives; says "process N mtu N"
  std::string log;             ///< what it has to say when it was started on demand
  /// Where it takes requests as well, under a name that all folders of this user share
  /// (drivers/unix_address.h); empty: nowhere.
  std::string shared_socket{};
};

}  // namespace urnic::nic
