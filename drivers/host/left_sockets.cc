// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/host/left_sockets.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "drivers/descriptor.h"

namespace urnic::drivers {
namespace {

namespace fs = std::filesystem;

/// "host-4026531840.sock.7", as host_link_socket() has it.
bool is_link_socket(std::string_view name) {
  return name.starts_with("host-") && name.find(".sock.") != std::string_view::npos;
}

bool is_old_socket(const fs::path& path, std::chrono::seconds age) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode) &&
         std::time(nullptr) - status.st_mtime >= age.count();
}

// A datagram socket cannot connect to a socket of connections. The kernel says so (EPROTOTYPE) where a
// process has that open, and refuses where none has. The process does not notice.
bool has_no_listener(const fs::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string text = path.string();
  if (text.size() >= sizeof address.sun_path) return false;
  text.copy(address.sun_path, sizeof address.sun_path - 1);
  const Descriptor probe(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return probe && connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
         errno == ECONNREFUSED;
}

}  // namespace

void remove_left_sockets(const std::string& folder, std::chrono::seconds age) {
  std::error_code code;
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end; entry.increment(code)) {
    const fs::path& path = entry->path();
    if (!is_link_socket(path.filename().string()) || !is_old_socket(path, age)) continue;
    if (has_no_listener(path)) unlink(path.c_str());
  }
}

}  // namespace urnic::drivers
