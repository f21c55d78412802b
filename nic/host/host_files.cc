// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/host/host_files.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "nic/host/lock_file.h"

namespace urnic::nic {
namespace {

Result<void, Error> check_socket_path(const std::string& path) {
  constexpr std::size_t kMaxBytes = sizeof(sockaddr_un::sun_path) - 1;
  if (path.size() <= kMaxBytes) return success();
  return Error{.code = ENAMETOOLONG,
               .message = fmt::format("socket {} would have a path of {} bytes, and at most {} fit a socket "
                                      "address; set XDG_RUNTIME_DIR to a shorter path",
                                      path, path.size(), kMaxBytes)};
}

}  // namespace

Result<SwitchFiles, Error> host_switch_files() {
  const auto folder = private_folder();
  if (!folder) return failure(folder.error());
  // All namespaces of a kernel are in one file system of its own, so the inode is enough.
  constexpr const char* kNamespace = "/proc/self/ns/net";
  struct stat status {};
  if (stat(kNamespace, &status) != 0) {
    const int code = errno;
    return failure(Error{.code = code,
                         .message = fmt::format("cannot tell this process's network: {}: {}", kNamespace,
                                                std::generic_category().message(code))});
  }
  const std::string name = fmt::format("{}/host-{}", folder.value(), status.st_ino);
  SwitchFiles files{.control_socket = name + ".sock",
                    .lock = name + ".lock",
                    .log = name + ".log",
                    .shared_socket = fmt::format("@urnic-host-{}", geteuid())};
  if (auto fine = check_socket_path(host_link_socket(files.control_socket, UINT8_MAX)); !fine) {
    return failure(fine.error());
  }
  return files;
}

std::string host_link_socket(const std::string& control_socket, std::uint8_t share) {
  return fmt::format("{}.{}", control_socket, share);
}

}  // namespace urnic::nic
