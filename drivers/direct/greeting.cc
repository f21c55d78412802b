// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/direct/greeting.h"

#include <fmt/core.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include "drivers/passed_descriptors.h"
#include "drivers/peer_user.h"
#include "drivers/unix_address.h"

namespace urnic::drivers {
namespace {

constexpr int kWaitingNics = 64;

Error link_error(int code, const std::string& path) {
  return Error{.code = code,
               .message = fmt::format("socket {}: {}", path, std::generic_category().message(code))};
}

Descriptor make_socket() {
  return Descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

}  // namespace

bool send_message(int socket, std::span<const std::byte> message, int descriptor) {
  iovec part{.iov_base = const_cast<std::byte*>(message.data()), .iov_len = message.size()};
  PassedDescriptors passed;
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (descriptor >= 0) passed.attach(header, {&descriptor, 1});
  return sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(message.size());
}

bool receive_message(int socket, std::span<std::byte> message) {
  return recv(socket, message.data(), message.size(), MSG_DONTWAIT | MSG_TRUNC) ==
         static_cast<ssize_t>(message.size());
}

std::optional<Descriptor> receive_with_descriptor(int socket, std::span<std::byte> message) {
  iovec part{.iov_base = message.data(), .iov_len = message.size()};
  PassedDescriptors passed;
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  passed.make_room(header);
  const ssize_t bytes = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (bytes < 0) return std::nullopt;

  // More than one is a mistake, or malice.
  std::vector<Descriptor> taken = PassedDescriptors::take(header);
  const bool is_whole =
      bytes == static_cast<ssize_t>(message.size()) && (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
  if (!is_whole || taken.size() != 1) return std::nullopt;
  return std::move(taken.front());
}

Result<Descriptor, Error> connect_for_link(const std::string& path) {
  const auto address = UnixAddress::of(path);
  if (!address) return link_error(ENAMETOOLONG, path);
  Descriptor socket = make_socket();
  if (!socket) return link_error(errno, path);
  if (connect(socket.get(), address->get(), address->bytes()) != 0) {
    return link_error(errno, path);
  }
  if (!is_trusted_peer(socket.get())) return link_error(EPERM, path);
  return socket;
}

Result<Descriptor, Error> listen_for_links(const std::string& path) {
  const auto address = UnixAddress::of(path);
  if (!address) return link_error(ENAMETOOLONG, path);
  if (const auto served = connect_for_link(path); served || served.error().code == EAGAIN) {
    return link_error(EADDRINUSE, path);
  } else if (served.error().code == ECONNREFUSED) {
    remove_link_socket(path);
  }
  Descriptor socket = make_socket();
  if (!socket || bind(socket.get(), address->get(), address->bytes()) != 0 ||
      listen(socket.get(), kWaitingNics) != 0) {
    return link_error(errno, path);
  }
  return socket;
}

void remove_link_socket(const std::string& path) {
  if (!UnixAddress::is_abstract(path)) unlink(path.c_str());
}

}  // namespace urnic::drivers
