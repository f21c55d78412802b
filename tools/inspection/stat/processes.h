// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The user's processes that have a NIC, and what each says of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nic/diagnostics/snapshot.h"
#include "transport/result.h"

namespace urnic::tools {

struct NicProcess {
  std::string socket;  ///< the name of its socket in the private folder
  std::int64_t pid =
      0;  ///< as this process sees it; 0 when it is in another PID namespace, or does not answer
  std::optional<nic::DeviceSnapshot> snapshot{};
  std::string error{};  ///< why there is no snapshot, for a person
};

/// Sends a request to the process at that socket (nic::StatusServer), and returns its answer. The error is
/// for a person: it has ended, or does not answer within two seconds.
Result<std::string, Error> tell_process(const std::string& socket, std::string_view request);

/// Asks every process of this user that has a device open, in the order of their numbers, and of
/// their devices. Removes the sockets of dead
/// processes. A process that does not answer completely within two seconds has an error in place of a
/// snapshot. The error: the private folder cannot be trusted.
Result<std::vector<NicProcess>, Error> ask_processes();

}  // namespace urnic::tools
