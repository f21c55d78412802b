// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Where the processes of a host and its switch find each other.
#pragma once

#include <cstdint>
#include <string>

#include "nic/host/switch_files.h"
#include "transport/result.h"

namespace urnic::nic {

/// The files of the switch of this user and this network namespace, in the user's private folder: their names
/// say which namespace it is, as several may share the folder. A user has one NIC on a host, whatever the
/// folder: its shared name is of the user and of the network namespace. The error: as private_folder(), or
/// the system's; ENAMETOOLONG when the socket's path would be too long.
Result<SwitchFiles, Error> host_switch_files();

/// Beside the switch's socket by which a process found it: where the NIC with that share lets others make
/// direct links to it.
std::string host_link_socket(const std::string& control_socket, std::uint8_t share);

}  // namespace urnic::nic
