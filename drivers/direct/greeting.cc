#include "drivers/direct/greeting.h"

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "drivers/peer_user.h"

namespace urnic::drivers {
namespace {

constexpr int kWaitingNics = 64;
/// More than one is a mistake, or malice.
constexpr std::size_t kMaxDescriptors = 8;

Error link_error(int code, const std::string& path) {
  return Error{.code = code,
               .message = fmt::format("socket {}: {}", path, std::generic_category().message(code))};
}

std::optional<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return std::nullopt;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return address;
}

Descriptor make_socket() {
  return Descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

}  // namespace

bool send_message(int socket, std::span<const std::byte> message, int descriptor) {
  iovec part{.iov_base = const_cast<std::byte*>(message.data()), .iov_len = message.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (descriptor >= 0) {
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    cmsghdr* const rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &descriptor, sizeof(descriptor));
  }
  return sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(message.size());
}

bool receive_message(int socket, std::span<std::byte> message) {
  return recv(socket, message.data(), message.size(), MSG_DONTWAIT | MSG_TRUNC) ==
         static_cast<ssize_t>(message.size());
}

std::optional<Descriptor> receive_with_descriptor(int socket, std::span<std::byte> message) {
  iovec part{.iov_base = message.data(), .iov_len = message.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxDescriptors * sizeof(int))> control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  const ssize_t bytes = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (bytes < 0) return std::nullopt;

  std::array<Descriptor, kMaxDescriptors> found;
  std::size_t count = 0;
  for (cmsghdr* part_of = CMSG_FIRSTHDR(&header); part_of != nullptr;
       part_of = CMSG_NXTHDR(&header, part_of)) {
    if (part_of->cmsg_level != SOL_SOCKET || part_of->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t here = (part_of->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < here && count < found.size(); ++i) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(part_of) + i * sizeof(int), sizeof(int));
      found[count++] = Descriptor(descriptor);
    }
  }
  const bool is_whole =
      bytes == static_cast<ssize_t>(message.size()) && (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
  if (!is_whole || count != 1) return std::nullopt;
  return std::move(found.front());
}

Result<Descriptor, Error> connect_for_link(const std::string& path) {
  const auto address = address_of(path);
  if (!address) return link_error(ENAMETOOLONG, path);
  Descriptor socket = make_socket();
  if (!socket) return link_error(errno, path);
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)) != 0) {
    return link_error(errno, path);
  }
  if (!is_trusted_peer(socket.get())) return link_error(EPERM, path);
  return socket;
}

Result<Descriptor, Error> listen_for_links(const std::string& path) {
  const auto address = address_of(path);
  if (!address) return link_error(ENAMETOOLONG, path);
  if (const auto served = connect_for_link(path); served || served.error().code == EAGAIN) {
    return link_error(EADDRINUSE, path);
  } else if (served.error().code == ECONNREFUSED) {
    unlink(path.c_str());
  }
  Descriptor socket = make_socket();
  if (!socket || bind(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)) != 0 ||
      listen(socket.get(), kWaitingNics) != 0) {
    return link_error(errno, path);
  }
  return socket;
}

}  // namespace urnic::drivers
