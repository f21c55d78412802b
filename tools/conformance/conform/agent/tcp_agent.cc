// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/agent/tcp_agent.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace urnic::conform {
namespace {

constexpr int kConnectMs = 3000;
constexpr int kReplyMs = 10'000;
constexpr std::size_t kMostReply = 256 * 1024;

std::string text_of(int code) {
  return std::generic_category().message(code);
}

bool wait_for(int socket, short what, int milliseconds) {
  pollfd wanted{.fd = socket, .events = what, .revents = 0};
  return poll(&wanted, 1, milliseconds) > 0;
}

/// 0, or an errno value.
int connect_to(int socket, const AgentAddress& to) {
  sockaddr_in6 ipv6{};
  sockaddr_in ipv4{};
  int result = 0;
  if (to.address.is_ipv4_mapped()) {
    ipv4.sin_family = AF_INET;
    ipv4.sin_port = htons(to.port);
    const auto address = to.address.ipv4();
    std::memcpy(&ipv4.sin_addr, address.octets.data(), sizeof ipv4.sin_addr);
    result = ::connect(socket, reinterpret_cast<const sockaddr*>(&ipv4), sizeof ipv4);
  } else {
    ipv6.sin6_family = AF_INET6;
    ipv6.sin6_port = htons(to.port);
    std::memcpy(&ipv6.sin6_addr, to.address.octets.data(), sizeof ipv6.sin6_addr);
    result = ::connect(socket, reinterpret_cast<const sockaddr*>(&ipv6), sizeof ipv6);
  }
  if (result == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!wait_for(socket, POLLOUT, kConnectMs)) return ETIMEDOUT;
  int code = 0;
  socklen_t size = sizeof code;
  getsockopt(socket, SOL_SOCKET, SO_ERROR, &code, &size);
  return code;
}

}  // namespace

Result<std::unique_ptr<TcpAgent>, AgentError> TcpAgent::connect(const AgentAddress& address,
                                                                const AgentKind& kind) {
  const int family = address.address.is_ipv4_mapped() ? AF_INET : AF_INET6;
  drivers::Descriptor made(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int code = made.get() < 0 ? errno : connect_to(made.get(), address);
  if (code != 0) {
    return AgentError{AgentError::Kind::kUnreachable, fmt::format("no {} at port {} of the peer: {}",
                                                                  kind.name, address.port, text_of(code))};
  }
  const int one = 1;
  setsockopt(made.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  std::unique_ptr<TcpAgent> agent(new TcpAgent(std::move(made), kind.name));
  auto greeting = agent->ask(fmt::format("{} {} {}", kind.greeting, kind.version, address.token));
  if (!greeting) return greeting.error();
  if (!greeting.value().is_ok) {
    const std::string& why = greeting.value().error;
    const bool is_busy = why.starts_with("busy");
    return AgentError{is_busy ? AgentError::Kind::kBusy : AgentError::Kind::kRefused,
                      fmt::format("the {} refuses: {}", kind.name, why)};
  }
  const auto& words = greeting.value().words;
  if (words.size() < 2 || words[0] != kind.greeting || words[1] != std::to_string(kind.version)) {
    return AgentError{
        AgentError::Kind::kRefused,
        fmt::format("the {} is of another version: this tester speaks {}", kind.name, kind.version)};
  }
  return agent;
}

AgentError TcpAgent::vanished(const std::string& how) const {
  return {AgentError::Kind::kVanished, fmt::format("the {} {}", name_, how)};
}

Result<AgentReply, AgentError> TcpAgent::ask(const std::string& line) {
  const std::string said = line + "\n";
  for (std::size_t sent = 0; sent < said.size();) {
    const ssize_t now = send(socket_.get(), said.data() + sent, said.size() - sent, MSG_NOSIGNAL);
    if (now > 0) {
      sent += static_cast<std::size_t>(now);
    } else if (errno != EAGAIN || !wait_for(socket_.get(), POLLOUT, kReplyMs)) {
      return vanished("has vanished: " + text_of(errno));
    }
  }
  for (;;) {
    if (const std::size_t end = unread_.find('\n'); end != unread_.npos) {
      const auto reply = parse_reply(std::string_view(unread_).substr(0, end));
      unread_.erase(0, end + 1);
      if (reply) return *reply;
      return AgentError{AgentError::Kind::kVanished, fmt::format("what is at that port is no {}", name_)};
    }
    if (unread_.size() > kMostReply) {
      return vanished("sends a reply that does not end");
    }
    if (!wait_for(socket_.get(), POLLIN, kReplyMs)) {
      return vanished(fmt::format("said nothing for {} s", kReplyMs / 1000));
    }
    std::array<char, 16384> piece;
    const ssize_t now = recv(socket_.get(), piece.data(), piece.size(), 0);
    if (now == 0) return vanished("has closed the connection");
    if (now < 0 && errno != EAGAIN) {
      return vanished("has vanished: " + text_of(errno));
    }
    if (now > 0) unread_.append(piece.data(), static_cast<std::size_t>(now));
  }
}

}  // namespace urnic::conform
