#include "drivers/dpdk/vhost_message.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <cstring>

namespace urnic::drivers::vhost {

namespace {

constexpr std::uint32_t kVersion = 0x1;
constexpr std::uint32_t kReply = 0x4;
constexpr std::size_t kMaxPayloadBytes = 1024;
constexpr std::size_t kMaxDescriptors = 8;

struct Header {
  std::uint32_t request;
  std::uint32_t flags;
  std::uint32_t size;  // of the payload that follows
};

// Room for ancillary data, aligned as it must be.
union Control {
  cmsghdr header;
  char bytes[CMSG_SPACE(kMaxDescriptors * sizeof(int))];
};

bool send_message(int socket, const Header& header, std::span<const std::byte> payload,
                  std::span<const int> fds) {
  iovec parts[] = {{.iov_base = const_cast<Header*>(&header), .iov_len = sizeof(header)},
                   {.iov_base = const_cast<std::byte*>(payload.data()), .iov_len = payload.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  Control control{};
  if (!fds.empty()) {
    if (fds.size() > kMaxDescriptors) return false;
    message.msg_control = control.bytes;
    message.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(rights), fds.data(), fds.size_bytes());
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof(header) + payload.size());
}

std::vector<Descriptor> take_descriptors(msghdr& message) {
  std::vector<Descriptor> descriptors;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(fd));
      descriptors.emplace_back(fd);
    }
  }
  return descriptors;
}

}  // namespace

std::optional<Message> receive(int socket) {
  Header header{};
  iovec part{.iov_base = &header, .iov_len = sizeof(header)};
  Control control{};
  msghdr raw{};
  raw.msg_iov = &part;
  raw.msg_iovlen = 1;
  raw.msg_control = control.bytes;
  raw.msg_controllen = sizeof(control);
  if (recvmsg(socket, &raw, MSG_WAITALL | MSG_CMSG_CLOEXEC) != sizeof(header)) return std::nullopt;

  Message message{
      .request = static_cast<Request>(header.request), .payload = {}, .descriptors = take_descriptors(raw)};
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
