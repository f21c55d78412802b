// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/fabric/control.h"

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include "drivers/passed_descriptors.h"
#include "drivers/peer_user.h"
#include "nic/process/may_wait.h"

namespace urnic::drivers {
namespace {

constexpr timeval kPatienceOfTheSwitch{.tv_sec = 1, .tv_usec = 0};
constexpr timeval kPatienceOfOthers{.tv_sec = 10, .tv_usec = 0};
constexpr std::size_t kMaxRequestBytes = 256;
constexpr std::size_t kMaxAnswerBytes = 128 << 10;
constexpr int kWaitingClients = 64;
constexpr std::string_view kOk = "ok";
constexpr std::string_view kError = "error";

Error socket_error(int code, const std::string& path) {
  return Error{.code = code,
               .message = fmt::format("socket {}: {}", path, std::generic_category().message(code))};
}

void be_patient(int fd, const timeval& patience) {
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

Result<sockaddr_un, Error> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return socket_error(ENAMETOOLONG, path);
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return address;
}

/// One message of up to `most` bytes; nothing for a longer one, or none.
std::optional<std::string> receive_message(int fd, std::size_t most) {
  std::string text(most + 1, '\0');
  const ssize_t bytes = recv(fd, text.data(), text.size(), 0);
  if (bytes <= 0 || static_cast<std::size_t>(bytes) > most) return std::nullopt;
  text.resize(static_cast<std::size_t>(bytes));
  return text;
}

/// ENOENT: no process takes requests there.
Result<Descriptor, Error> connect_to(const std::string& path) {
  const auto address = address_of(path);
  if (!address) return address.error();
  Descriptor connection(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!connection) return socket_error(errno, path);
  be_patient(connection.get(), kPatienceOfOthers);
  if (connect(connection.get(), reinterpret_cast<const sockaddr*>(&address.value()),
              sizeof(address.value())) != 0) {
    return socket_error(errno == ECONNREFUSED ? ENOENT : errno, path);
  }
  if (!is_trusted_peer(connection.get())) return socket_error(EPERM, path);
  return connection;
}

}  // namespace

bool takes_requests(const nic::SwitchFiles& files) {
  return static_cast<bool>(connect_to(files.control_socket));
}

Result<std::string, Error> ask_switch(const nic::SwitchFiles& files, std::string_view request,
                                      int descriptor) {
  nic::assert_may_wait();
  const std::string& path = files.control_socket;
  const auto connected = connect_to(path);
  if (!connected) return connected.error();
  const int connection = connected.value().get();
  iovec part{.iov_base = const_cast<char*>(request.data()), .iov_len = request.size()};
  PassedDescriptors passed;
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (descriptor >= 0) passed.attach(header, {&descriptor, 1});
  if (sendmsg(connection, &header, MSG_NOSIGNAL) != static_cast<ssize_t>(request.size())) {
    return socket_error(ENOENT, path);  // it has ended meanwhile
  }
  const auto answer = receive_message(connection, kMaxAnswerBytes);
  if (!answer) return socket_error(errno == EAGAIN ? ETIMEDOUT : ENOENT, path);
  const std::string_view text = *answer;
  const std::string_view word = text.substr(0, text.find(' '));
  const std::string_view rest = text.substr(std::min(text.size(), word.size() + 1));
  if (word == kOk) return std::string(rest);
  return Error{.code = EIO, .message = std::string(rest)};
}

Result<ControlSocket, Error> ControlSocket::open(const nic::SwitchFiles& files) {
  const std::string& path = files.control_socket;
  const auto address = address_of(path);
  if (!address) return address.error();
  unlink(path.c_str());
  Descriptor listener(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!listener || fchmod(listener.get(), S_IRUSR | S_IWUSR) != 0 ||
      bind(listener.get(), reinterpret_cast<const sockaddr*>(&address.value()), sizeof(address.value())) !=
          0 ||
      listen(listener.get(), kWaitingClients) != 0) {
    return socket_error(errno, path);
  }
  return ControlSocket(std::move(listener));
}

std::optional<ControlSocket::Request> ControlSocket::receive() const {
  Descriptor connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!connection) {
    // Most likely no descriptor is left. The client waits, so do not look again at once.
    usleep(10'000);
    return std::nullopt;
  }
  if (!is_trusted_peer(connection.get())) return std::nullopt;
  be_patient(connection.get(), kPatienceOfTheSwitch);
  std::string text(kMaxRequestBytes + 1, '\0');
  iovec part{.iov_base = text.data(), .iov_len = text.size()};
  PassedDescriptors passed;
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  passed.make_room(header);
  const ssize_t bytes = recvmsg(connection.get(), &header, MSG_CMSG_CLOEXEC);
  if (bytes <= 0) return std::nullopt;
  std::vector<Descriptor> descriptors = PassedDescriptors::take(header);
  if (static_cast<std::size_t>(bytes) > kMaxRequestBytes) return std::nullopt;
  text.resize(static_cast<std::size_t>(bytes));
  return Request(std::move(text), descriptors.size() == 1 ? std::move(descriptors.front()) : Descriptor(),
                 std::move(connection));
}

pid_t ControlSocket::Request::process() const {
  const auto peer = peer_of(connection_.get());
  return peer ? peer->pid : 0;
}

void ControlSocket::Request::send(std::string_view word, std::string_view text) const {
  const std::string message = fmt::format("{} {}", word, text);
  // A client that does not take it has ended or does not wait any more; the switch need not care.
  [[maybe_unused]] const auto sent = ::send(connection_.get(), message.data(), message.size(), MSG_NOSIGNAL);
}

void ControlSocket::Request::answer(std::string_view what) const {
  send(kOk, what);
}

void ControlSocket::Request::refuse(std::string_view why) const {
  send(kError, why);
}

}  // namespace urnic::drivers
