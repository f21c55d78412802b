// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/dpdk/vhost_message.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include "drivers/passed_descriptors.h"

namespace urnic::drivers::vhost {

namespace {

constexpr std::uint32_t kVersion = 0x1;
constexpr std::uint32_t kReply = 0x4;
constexpr std::size_t kMaxPayloadBytes = 1024;

struct Header {
  std::uint32_t request;
  std::uint32_t flags;
  std::uint32_t size;  // of the payload that follows
};

bool send_message(int socket, const Header& header, std::span<const std::byte> payload,
                  std::span<const int> fds) {
  iovec parts[] = {{.iov_base = const_cast<Header*>(&header), .iov_len = sizeof(header)},
                   {.iov_base = const_cast<std::byte*>(payload.data()), .iov_len = payload.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  if (fds.size() > PassedDescriptors::kMost) return false;
  PassedDescriptors passed;
  if (!fds.empty()) passed.attach(message, fds);
  return sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof(header) + payload.size());
}

}  // namespace

std::optional<Message> receive(int socket) {
  Header header{};
  iovec part{.iov_base = &header, .iov_len = sizeof(header)};
  PassedDescriptors passed;
  msghdr raw{};
  raw.msg_iov = &part;
  raw.msg_iovlen = 1;
  passed.make_room(raw);
  if (recvmsg(socket, &raw, MSG_WAITALL | MSG_CMSG_CLOEXEC) != sizeof(header)) return std::nullopt;

  Message message{.request = static_cast<Request>(header.request),
                  .payload = {},
                  .descriptors = PassedDescriptors::take(raw)};
  if (header.size > kMaxPayloadBytes) return std::nullopt;
  message.payload.resize(header.size);
  if (header.size > 0 &&
      recv(socket, message.payload.data(), header.size, MSG_WAITALL) != static_cast<ssize_t>(header.size)) {
    return std::nullopt;
  }
  return message;
}

bool send(int socket, Request request, std::span<const std::byte> payload, std::span<const int> fds) {
  return send_message(socket,
                      {.request = static_cast<std::uint32_t>(request),
                       .flags = kVersion,
                       .size = static_cast<std::uint32_t>(payload.size())},
                      payload, fds);
}

bool send_reply(int socket, Request request, std::span<const std::byte> payload) {
  return send_message(socket,
                      {.request = static_cast<std::uint32_t>(request),
                       .flags = kVersion | kReply,
                       .size = static_cast<std::uint32_t>(payload.size())},
                      payload, {});
}

}  // namespace urnic::drivers::vhost
