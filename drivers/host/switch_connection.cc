// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/host/switch_connection.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <system_error>
#include <utility>

#include "drivers/passed_descriptors.h"
#include "drivers/unix_address.h"
#include "nic/host/status_socket.h"
#include "nic/process/may_wait.h"

namespace urnic::drivers {
namespace {

Error socket_error(int code, const std::string& path) {
  return Error{.code = code,
               .message = fmt::format("socket {}: {}", path, std::generic_category().message(code))};
}

Error error_of(const HostAnswer& answer) {
  if (answer.error == EMFILE) {
    return {.code = EMFILE,
            .message =
                "the switch of the host may not have the descriptors for one more process, some 5: raise the "
                "hard limit of the program that starts it (ulimit -Hn), or end other programs"};
  }
  if (answer.error == EPROTONOSUPPORT) {
    return Error{.code = answer.error,
                 .message = "the switch of the host is of another version; end the programs that use it"};
  }
  return Error{
      .code = answer.error,
      .message = fmt::format("the switch of the host: {}", std::generic_category().message(answer.error))};
}

/// The kernel has not handed over all descriptors that came with an answer; why, it does not say.
Error descriptors_missing(int socket) {
  constexpr std::size_t kWithAnAnswer = 3;
  std::vector<Descriptor> tried;
  for (std::size_t i = 0; i < kWithAnAnswer; ++i) {
    tried.emplace_back(static_cast<int>(syscall(SYS_fcntl, socket, F_DUPFD_CLOEXEC, 0)));
    if (tried.back()) continue;
    return Error{.code = EMFILE,
                 .message =
                     "this process may not have the descriptors that a NIC needs, some 25: raise the limit "
                     "(ulimit -n), or close some"};
  }
  return Error{
      .code = EACCES,
      .message =
          "this process may not have the sockets of the host's switch: a security module (SELinux, AppArmor) "
          "keeps it from taking another process's sockets; allow that, or use --port fabric"};
}

}  // namespace

Result<SwitchConnection, Error> SwitchConnection::connect(const std::string& path) {
  const auto address = UnixAddress::of(path);
  if (!address) return socket_error(ENAMETOOLONG, path);
  Descriptor socket(
      static_cast<int>(syscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)));
  if (!socket) return socket_error(errno, path);
  if (syscall(SYS_connect, socket.get(), address->get(), address->bytes()) != 0) {
    return socket_error(errno == ECONNREFUSED ? ENOENT : errno, path);
  }
  const auto peer = nic::peer_of(socket.get());
  const bool is_trusted = peer && (peer->uid == geteuid() || peer->uid == 0);
  if (!is_trusted) return socket_error(EPERM, path);
  return SwitchConnection(std::move(socket), peer->pid, path);
}

// Another user may have the shared name, and then it is as if there were none.
Result<SwitchConnection, Error> SwitchConnection::connect(const nic::SwitchFiles& files) {
  if (!files.shared_socket.empty()) {
    auto shared = connect(files.shared_socket);
    if (shared || shared.error().code == EAGAIN) return shared;
  }
  return connect(files.control_socket);
}

/// False when it does not happen in time.
bool SwitchConnection::wait_for(short events, Clock::time_point until) const {
  nic::assert_may_wait();
  pollfd waiting{.fd = socket_.get(), .events = events, .revents = 0};
  for (;;) {
    const auto left = std::max(until - Clock::now(), Clock::duration{});
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    timespec timeout{.tv_sec = seconds.count(), .tv_nsec = std::chrono::nanoseconds(left - seconds).count()};
    const long count = syscall(SYS_ppoll, &waiting, 1, &timeout, nullptr, 0);
    if (count > 0) return true;
    const bool was_interrupted = count < 0 && errno == EINTR;
    if (!was_interrupted) return false;
  }
}

Error SwitchConnection::gives_no_answer() {
  return Error{.code = EIO,
               .message = fmt::format("the switch of the host (process {}) {}", process_,
                                      is_over_ ? "has ended" : "does not answer")};
}

Result<void, Error> SwitchConnection::tell(HostRequest request, std::chrono::milliseconds patience,
                                           int descriptor) {
  if (is_over_) return gives_no_answer();
  const auto until = Clock::now() + patience;
  request.number = ++last_number_;
  iovec part{.iov_base = &request, .iov_len = sizeof request};
  PassedDescriptors passed;
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (descriptor >= 0) passed.attach(header, {&descriptor, 1});
  for (;;) {
    const long bytes = syscall(SYS_sendmsg, socket_.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (bytes == static_cast<long>(sizeof request)) return success();
    const int code = errno;
    if (code == EINTR) continue;
    if (code != EAGAIN) {
      is_over_ = true;
      return gives_no_answer();
    }
    if (!wait_for(POLLOUT, until)) return gives_no_answer();
  }
}

Result<SwitchConnection::Reply, Error> SwitchConnection::ask(HostRequest request,
                                                             std::chrono::milliseconds patience,
                                                             int descriptor) {
  const auto until = Clock::now() + patience;
  if (auto told = tell(request, patience, descriptor); !told) return failure(told.error());
  while (wait_for(POLLIN, until)) {
    Reply reply;
    iovec part{.iov_base = &reply.answer, .iov_len = sizeof reply.answer};
    PassedDescriptors passed;
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    passed.make_room(header);
    const long bytes = syscall(SYS_recvmsg, socket_.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    reply.descriptors = bytes < 0 ? std::vector<Descriptor>{} : PassedDescriptors::take(header);
    if (bytes > 0 && (header.msg_flags & MSG_CTRUNC) != 0) {
      reply.descriptors.clear();
      return failure(descriptors_missing(socket_.get()));
    }
    const bool is_whole = bytes == static_cast<long>(sizeof reply.answer) &&
                          (header.msg_flags & MSG_TRUNC) == 0 && reply.answer.magic == kHostMagic;
    if (!is_whole) {
      is_over_ = true;
      break;
    }
    // An answer with another number is for a request that we no longer wait for.
    if (reply.answer.number != last_number_) continue;
    if (reply.answer.error != 0) return failure(error_of(reply.answer));
    if (reply.answer.version != kHostVersion) break;
    return reply;
  }
  return failure(gives_no_answer());
}

}  // namespace urnic::drivers
