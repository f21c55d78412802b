// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/diagnostics/status_server.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <system_error>

#include "nic/process/may_wait.h"
#include "nic/process/own_thread.h"

// System calls and not the C library's functions of the same name, as in nic/engine/progress_thread.cc:
// librspreload would take our sockets for its own.

namespace urnic::nic {

namespace {

constexpr int kBacklog = 16;

Error system_error(const char* what) {
  const int code = errno;
  return Error{.code = code,
               .message = fmt::format("no program can ask what the NIC does: {}: {}", what,
                                      std::generic_category().message(code))};
}

}  // namespace

Result<std::unique_ptr<StatusServer>, Error> StatusServer::start(Source source) {
  auto folder = StatusFolder::open();
  if (!folder) return failure(folder.error());
  folder.value().remove_stale_sockets();
  std::unique_ptr<StatusServer> server(new StatusServer(std::move(folder.value()), std::move(source)));
  if (auto listening = server->listen(); !listening) return failure(listening.error());
  if (auto started = server->start_thread(); !started) return failure(started.error());
  return server;
}

// It gets its name when it listens: a socket with such a name that no process listens at is a dead process',
// and the next process that starts removes it. What has the name already was left by a process that had our
// number before.
Result<void, Error> StatusServer::listen() {
  const std::string hidden = "." + name_;
  folder_.remove(hidden);
  listener_ = Descriptor(
      static_cast<int>(syscall(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)));
  if (!listener_) return failure(system_error("socket"));
  const sockaddr_un address = folder_.address_of(hidden);
  if (syscall(SYS_bind, listener_.get(), &address, sizeof address) != 0) return failure(system_error("bind"));
  is_published_ = true;
  if (syscall(SYS_listen, listener_.get(), kBacklog) != 0 ||
      renameat(folder_.fd(), hidden.c_str(), folder_.fd(), name_.c_str()) != 0) {
    Error error = system_error("listen");
    folder_.remove(hidden);
    is_published_ = false;
    return failure(std::move(error));
  }
  return success();
}

Result<void, Error> StatusServer::start_thread() {
  stop_ = Descriptor(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!stop_) return failure(system_error("eventfd"));
  try {
    thread_ = start_own_thread("urnic-status", [this] { run(); });
  } catch (const std::system_error& error) {
    errno = error.code().value();
    return failure(system_error("thread"));
  }
  return success();
}

StatusServer::~StatusServer() {
  if (is_published_) folder_.remove(name_);
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    syscall(SYS_write, stop_.get(), &one, sizeof one);
    assert_may_wait();
    thread_.join();
  }
}

void StatusServer::run() {
  while (wait_for(listener_.get(), POLLIN, source_.period_ms)) {
    write_down();
    const Descriptor client(static_cast<int>(
        syscall(SYS_accept4, listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)));
    if (!client) {
      // Out of descriptors, perhaps: a client that waits to be accepted goes on waiting, and must not make us
      // spin.
      if (errno != EAGAIN && !wait_for(-1, 0, 100)) return;
      continue;
    }
    serve(client.get());
  }
}

void StatusServer::write_down() const {
  if (!source_.write_down) return;
  try {
    source_.write_down();
  } catch (const std::exception&) {
    // There is no memory for it. The next time will do.
  }
}

/// Waits until `fd` is ready, or for so long (-1: forever). False: we are to stop.
bool StatusServer::wait_for(int fd, short events, int at_most_ms) const {
  std::array<pollfd, 2> descriptors{
      {{.fd = stop_.get(), .events = POLLIN, .revents = 0}, {.fd = fd, .events = events, .revents = 0}}};
  const timespec timeout{.tv_sec = at_most_ms / 1000, .tv_nsec = at_most_ms % 1000 * 1'000'000L};
  syscall(SYS_ppoll, descriptors.data(), descriptors.size(), at_most_ms < 0 ? nullptr : &timeout, nullptr, 0);
  return descriptors[0].revents == 0;
}

// The folder keeps other users out; this does, too, if the folder is open to them.
void StatusServer::serve(int client) {
  const auto peer = peer_of(client);
  if (!peer || (peer->uid != geteuid() && peer->uid != 0)) return;
  const auto request = read_request(client);
  if (!request) return;
  try {
    send_all(client, source_.answer(*request));
  } catch (const std::exception&) {
    // There is no memory for it. The program's own affairs are more important.
  }
}

/// Nothing: it is too long, does not end, or we are to stop.
std::optional<std::string> StatusServer::read_request(int client) const {
  using std::chrono::steady_clock;
  const auto end = steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
  std::string request;
  std::array<char, kMaxRequestBytes> part;
  while (request.size() <= kMaxRequestBytes) {
    const long count = syscall(SYS_recvfrom, client, part.data(), part.size(), 0, nullptr, nullptr);
    if (count == 0) return request;
    if (count > 0) {
      request.append(part.data(), static_cast<std::size_t>(count));
      continue;
    }
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - steady_clock::now()).count();
    if (errno != EAGAIN || left <= 0 || !wait_for(client, POLLIN, static_cast<int>(left))) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

void StatusServer::send_all(int client, const std::string& text) {
  using std::chrono::steady_clock;
  const auto end = steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
  for (std::size_t sent = 0; sent < text.size();) {
    const long count =
        syscall(SYS_sendto, client, text.data() + sent, text.size() - sent, MSG_NOSIGNAL, nullptr, 0);
    if (count > 0) {
      sent += static_cast<std::size_t>(count);
      continue;
    }
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - steady_clock::now()).count();
    if (errno != EAGAIN || left <= 0 || !wait_for(client, POLLOUT, static_cast<int>(left))) return;
  }
}

}  // namespace urnic::nic
