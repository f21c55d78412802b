#include "drivers/dpdk/own_sockets.h"

#include <dirent.h>
#include <linux/if_packet.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

namespace urnic::drivers {

namespace {

template <typename Predicate>
std::vector<int> find_sockets(Predicate matches) {
  std::vector<int> found;
  DIR* const folder = opendir("/proc/self/fd");
  if (folder == nullptr) return found;
  while (const dirent* entry = readdir(folder)) {
    char* end = nullptr;
    const long fd = std::strtol(entry->d_name, &end, 10);
    if (end == entry->d_name || *end != '\0' || fd == dirfd(folder)) continue;
    if (matches(static_cast<int>(fd))) found.push_back(static_cast<int>(fd));
  }
  closedir(folder);
  return found;
}

// The path to which the other end of a Unix socket is bound, or nothing.
std::string peer_path(int fd) {
  sockaddr_un address{};
  socklen_t length = sizeof(address);
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return {};
  if (address.sun_family != AF_UNIX) return {};
  return std::string(address.sun_path, strnlen(address.sun_path, sizeof(address.sun_path)));
}

}  // namespace

std::vector<int> connections_to(const std::string& suffix) {
  return find_sockets([&](int fd) {
    const std::string path = peer_path(fd);
    return path.size() >= suffix.size() &&
           std::string_view(path).substr(path.size() - suffix.size()) == suffix;
  });
}

std::vector<int> packet_sockets_on(int interface_index) {
  return find_sockets([&](int fd) {
    sockaddr_ll address{};
    socklen_t length = sizeof(address);
    return getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0 &&
           address.sll_family == AF_PACKET && address.sll_ifindex == interface_index;
  });
}

}  // namespace urnic::drivers
