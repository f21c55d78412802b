// Where the processes of a host and its switch find each other.
#pragma once

#include <cstdint>
#include <string>

#include "nic/host/switch_files.h"
#include "transport/result.h"

namespace urnic::nic {

/// The files of the switch of this user and this network namespace, in the user's private folder: their names say which
/// namespace it is, as several may share the folder. The error: as private_folder(), or the system's; ENAMETOOLONG when
/// the socket's path would be too long.
Result<SwitchFiles, Error> host_switch_files();

/// Beside those files: where the NIC with that share lets others make direct links to it.
std::string host_link_socket(const SwitchFiles& files, std::uint8_t share);

}  // namespace urnic::nic
