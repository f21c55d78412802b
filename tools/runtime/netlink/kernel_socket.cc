// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/runtime/netlink/kernel_socket.h"

#include <linux/netlink.h>

#include <cerrno>
#include <cstring>

#include "tools/runtime/netlink/system_calls.h"

namespace urnic::netlink {
namespace {

/// More than the kernel puts together.
constexpr std::size_t kBufferBytes = 64 << 10;

class Socket {
 public:
  Socket()
      : fd_(system_call::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_RDMA)),
        error_(fd_ < 0 ? errno : 0) {}
  ~Socket() {
    if (fd_ >= 0) system_call::close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  bool is_open() const { return fd_ >= 0; }
  int error() const { return error_; }

  void set_flag(int name, bool is_set) const {
    const int value = is_set ? 1 : 0;
    system_call::set_option(fd_, SOL_NETLINK, name, &value, sizeof value);
  }
  bool send(std::span<const std::byte> bytes) const {
    sockaddr_nl kernel{};
    kernel.nl_family = AF_NETLINK;
    const auto sent = system_call::send_to(fd_, bytes.data(), bytes.size(), 0,
                                           reinterpret_cast<const sockaddr*>(&kernel), sizeof kernel);
    return sent == static_cast<ssize_t>(bytes.size());
  }
  /// What is there of it now; empty: nothing more.
  std::span<const std::byte> receive(Bytes& buffer) const {
    iovec place{.iov_base = buffer.data(), .iov_len = buffer.size()};
    msghdr message{};
    message.msg_iov = &place;
    message.msg_iovlen = 1;
    const ssize_t size = system_call::receive(fd_, &message, 0);
    return std::span(buffer).first(size > 0 ? static_cast<std::size_t>(size) : 0);
  }

 private:
  int fd_;
  int error_;
};

}  // namespace

bool KernelSocket::is_there(int& code) {
  const Socket socket;
  code = socket.error();
  return socket.is_open();
}

std::vector<Bytes> KernelSocket::ask(const Request& request, const Asker& asker) {
  std::vector<Bytes> answers;
  const Socket socket;
  if (!socket.is_open()) return answers;
  socket.set_flag(NETLINK_EXT_ACK, asker.wants_text);
  socket.set_flag(NETLINK_CAP_ACK, asker.wants_short_acks);
  if (!socket.send(request.whole)) return answers;
  Bytes buffer(kBufferBytes);
  for (auto received = socket.receive(buffer); !received.empty(); received = socket.receive(buffer)) {
    while (const auto answer = Request::take(received)) {
      Bytes whole(NLMSG_ALIGN(answer->whole.size()));
      std::copy(answer->whole.begin(), answer->whole.end(), whole.begin());
      answers.push_back(std::move(whole));
    }
  }
  return answers;
}

}  // namespace urnic::netlink
