// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/dpdk/own_sockets.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstring>

#include "drivers/descriptor.h"

namespace urnic::drivers {

namespace {

template <typename Predicate>
Sockets find_sockets(Predicate matches) {
  Sockets found;
  // getdents64(), because opendir() calls malloc.
  const Descriptor folder(open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  alignas(dirent64) std::array<std::byte, 4096> entries;
  while (true) {
    const ssize_t bytes = getdents64(folder.get(), entries.data(), entries.size());
    if (bytes <= 0) return found;
    for (ssize_t at = 0; at < bytes;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries.data() + at);
      at += entry->d_reclen;
      const std::string_view name = entry->d_name;
      const char* const end = name.data() + name.size();
      int fd = 0;
      if (std::from_chars(name.data(), end, fd).ptr != end) continue;
      if (matches(fd)) found.push_back(fd);
    }
  }
}

bool ends_at(int fd, std::string_view suffix) {
  sockaddr_un address{};
  socklen_t length = sizeof(address);
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return false;
  if (address.sun_family != AF_UNIX) return false;
  const std::string_view path(address.sun_path, strnlen(address.sun_path, sizeof(address.sun_path)));
  return path.size() >= suffix.size() && path.substr(path.size() - suffix.size()) == suffix;
}

}  // namespace

Sockets connections_to(std::string_view suffix) {
  return find_sockets([&](int fd) { return ends_at(fd, suffix); });
}

Sockets packet_sockets_on(int interface_index) {
  return find_sockets([&](int fd) {
    sockaddr_ll address{};
    socklen_t length = sizeof(address);
    return getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0 &&
           address.sll_family == AF_PACKET && address.sll_ifindex == interface_index;
  });
}

}  // namespace urnic::drivers
