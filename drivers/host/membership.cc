#include "drivers/host/membership.h"

#include <fmt/core.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <ctime>
#include <iterator>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "drivers/fabric/start_switch.h"
#include "nic/host/host_files.h"
#include "nic/signal_blocker.h"
#include "transport/types.h"

namespace urnic::drivers {

using nic::rdma_cm::IdNumber;
using nic::rdma_cm::PortSpace;
using nic::rdma_cm::PortTable;
using transport::to_integer;

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kAnswerPatience(1000);
constexpr std::chrono::milliseconds kJoinPatience(10'000);
constexpr std::chrono::milliseconds kJoinPause(10);
/// Between attempts to join the next switch, while what keeps it from running goes on.
constexpr std::chrono::milliseconds kRejoinPause(200);

/// The answer to a request to join is one with these descriptors.
std::optional<SharedSockets> sockets_of(SwitchConnection::Reply& reply) {
  std::vector<Descriptor>& all = reply.descriptors;
  const bool has_ipv6 = reply.answer.has_ipv6 != 0;
  if (reply.answer.slot == 0 || all.size() != (has_ipv6 ? 3u : 2u)) return std::nullopt;
  SharedSockets sockets;
  sockets.ipv4 = std::move(all.front());
  if (has_ipv6) sockets.ipv6 = std::move(all[1]);
  sockets.handed_over = std::move(all.back());
  sockets.share = reply.answer.slot;
  return sockets;
}

Error port_error(const Error& error, PortSpace space, std::uint16_t port) {
  return Error{.code = error.code,
               .message = fmt::format("rdma_cm port {} {}: {}", name_of(space), port, error.message)};
}

HostRequest request_about(HostRequestKind kind, PortSpace space, std::uint16_t port, IdNumber id) {
  HostRequest request;
  request.kind = kind;
  request.space = to_integer(space);
  request.port = port;
  request.id = to_integer(id);
  return request;
}

HostRequest request_to_bind(PortSpace space, const PortTable::Binding& binding) {
  HostRequest request = request_about(HostRequestKind::kBind, space, binding.address.port, binding.id);
  request.family = binding.address.family == nic::rdma_cm::SocketAddress::Family::kIpv4 ? 4 : 6;
  request.may_be_shared = binding.may_be_shared ? 1 : 0;
  request.is_family_only = binding.is_family_only ? 1 : 0;
  request.address = binding.address.address.octets;
  return request;
}

HostRequest request_to_join(unsigned slot) {
  HostRequest request;
  request.kind = HostRequestKind::kJoin;
  request.id = slot;
  return request;
}

}  // namespace

/// What a switch has given.
struct Membership::Joined {
  SwitchConnection connection;
  unsigned slot;
  SharedSockets sockets;
};

Membership::Membership(std::string path, std::string switch_program, Joined joined, Descriptor stop)
    : path_(std::move(path)),
      switch_program_(std::move(switch_program)),
      slot_(joined.slot),
      stop_(std::move(stop)),
      connection_(std::move(joined.connection)) {
  exchange_->give(std::move(joined.sockets));
}

Membership::~Membership() {
  if (!watcher_.joinable()) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const long written = syscall(SYS_write, stop_.get(), &one, sizeof one);
  watcher_.join();
}

Result<std::unique_ptr<Membership>, Error> Membership::join(const std::string& switch_program) {
  const auto files = nic::host_switch_files();
  if (!files) return failure(files.error());
  const std::string& path = files.value().control_socket;
  Descriptor stop(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop) return failure(Error{.code = errno, .message = "cannot make an eventfd"});
  const auto give_up = Clock::now() + kJoinPatience;
  // A switch may be about to end, or another program may start one at this moment.
  for (;;) {
    auto joined = try_to_join(path, 0);
    if (joined) {
      std::unique_ptr<Membership> made(
          new Membership(path, switch_program, std::move(joined.value()), std::move(stop)));
      if (auto watched = made->start_watching(); !watched) return failure(watched.error());
      return made;
    }
    const int code = joined.error().code;
    const bool may_succeed_later = code == ENOENT || code == EAGAIN;
    if (!may_succeed_later || Clock::now() > give_up) return failure(joined.error());
    if (code == ENOENT) {
      if (auto started = start_switch(switch_program, {"--host"}); !started) return failure(started.error());
    } else {
      std::this_thread::sleep_for(kJoinPause);
    }
  }
}

/// With that slot, or with any for 0. ENOENT: there is no switch. EAGAIN: it has too much to do now, or has just ended.
Result<Membership::Joined, Error> Membership::try_to_join(const std::string& path, unsigned slot) {
  auto connection = SwitchConnection::connect(path);
  if (!connection) return failure(connection.error());
  auto reply = connection.value().ask(request_to_join(slot), kJoinPatience);
  if (!reply) {
    Error error = reply.error();
    if (error.code == EUSERS) error.message = "255 processes use the NIC of the host already";
    if (connection.value().is_over()) error.code = EAGAIN;
    return failure(std::move(error));
  }
  auto sockets = sockets_of(reply.value());
  if (!sockets) return failure(Error{.code = EIO, .message = "the switch of the host gives no sockets"});
  return Joined{.connection = std::move(connection.value()),
                .slot = reply.value().answer.slot,
                .sockets = std::move(*sockets)};
}

// --- The watcher ---

Result<void, Error> Membership::start_watching() {
  const nic::SignalBlocker blocker;
  try {
    watcher_ = std::thread([this] { watch(); });
    pthread_setname_np(watcher_.native_handle(), "urnic-host");
  } catch (const std::system_error& error) {
    return failure(Error{
        .code = error.code().value(),
        .message = std::string("cannot start the thread that watches the host's switch: ") + error.what()});
  }
  return success();
}

void Membership::watch() {
  for (;;) {
    pollfd polled[] = {{.fd = stop_.get(), .events = POLLIN, .revents = 0},
                       {.fd = connection_.fd(), .events = POLLRDHUP, .revents = 0}};
    if (syscall(SYS_ppoll, polled, std::size(polled), nullptr, nullptr, 0) < 0 && errno != EINTR) return;
    // A program that closes descriptors which it does not know has closed ours.
    if (((polled[0].revents | polled[1].revents) & POLLNVAL) != 0 || polled[0].revents != 0) return;
    if (polled[1].revents != 0) join_again();
  }
}

/// Returns when it has, or shall stop.
void Membership::join_again() {
  exchange_->withdraw();
  for (;;) {
    auto joined = try_to_join(path_, slot_);
    if (joined) {
      {
        const std::lock_guard lock(mutex_);
        connection_ = std::move(joined.value().connection);
        take_ports_again();
      }
      return exchange_->give(std::move(joined.value().sockets));
    }
    // Another process that has lost its switch may start the next one first: that is as good.
    const bool is_missing = joined.error().code == ENOENT;
    if (is_missing) {
      [[maybe_unused]] const auto started = start_switch(switch_program_, {"--host"});
    }
    if (is_stopped_within(is_missing ? kJoinPause : kRejoinPause)) return;
  }
}

/// A process that came meanwhile may have one of them; the id keeps it here, and hears nothing.
void Membership::take_ports_again() {
  for (const auto& [space, binding] : bindings_) {
    [[maybe_unused]] const auto bound = connection_.ask(request_to_bind(space, binding), kAnswerPatience);
    if (!binding.is_listening) continue;
    [[maybe_unused]] const auto listens = connection_.ask(
        request_about(HostRequestKind::kListen, space, binding.address.port, binding.id), kAnswerPatience);
  }
}

bool Membership::is_stopped_within(std::chrono::milliseconds time) const {
  pollfd stopped{.fd = stop_.get(), .events = POLLIN, .revents = 0};
  const timespec timeout{.tv_sec = 0, .tv_nsec = std::chrono::nanoseconds(time).count()};
  return syscall(SYS_ppoll, &stopped, 1, &timeout, nullptr, 0) > 0;
}

// --- Ports ---

Result<std::uint16_t, Error> Membership::bind(PortSpace space, const PortTable::Binding& binding) {
  const std::lock_guard lock(mutex_);
  const auto reply = connection_.ask(request_to_bind(space, binding), kAnswerPatience);
  if (!reply) return failure(port_error(reply.error(), space, binding.address.port));
  Binding kept = binding;
  kept.address.port = reply.value().answer.port;
  bindings_.emplace_back(space, kept);
  return success(kept.address.port);
}

Result<void, Error> Membership::listen(PortSpace space, std::uint16_t port, IdNumber id) {
  const std::lock_guard lock(mutex_);
  const auto reply =
      connection_.ask(request_about(HostRequestKind::kListen, space, port, id), kAnswerPatience);
  if (!reply) return failure(port_error(reply.error(), space, port));
  for (auto& [of, binding] : bindings_) {
    if (of == space && binding.address.port == port && binding.id == id) binding.is_listening = true;
  }
  return success();
}

// Without a switch there is no port to release any more.
void Membership::release(PortSpace space, std::uint16_t port, IdNumber id) {
  const std::lock_guard lock(mutex_);
  std::erase_if(bindings_, [&](const auto& each) {
    return each.first == space && each.second.address.port == port && each.second.id == id;
  });
  [[maybe_unused]] const auto told =
      connection_.tell(request_about(HostRequestKind::kRelease, space, port, id), kAnswerPatience);
}

}  // namespace urnic::drivers
