// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/host/membership.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "drivers/fabric/start_switch.h"
#include "nic/process/may_wait.h"
#include "nic/process/own_thread.h"
#include "nic/process/uncancelled_pause.h"
#include "transport/types.h"
#include "transport/wire/udp.h"

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
/// A call of a program waits so long for the next switch.
constexpr std::chrono::milliseconds kNextSwitchPatience(5000);
/// Between attempts to join the next switch, while what keeps it from running goes on.
constexpr std::chrono::milliseconds kRejoinPause(200);

/// Spaces in which programs want any port. In the other spaces we request the first one when a program wants
/// it.
constexpr PortSpace kSpacesInAdvance[] = {PortSpace::kTcp, PortSpace::kUdp};

void signal(const Descriptor& event) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const long written = syscall(SYS_write, event.get(), &one, sizeof one);
}

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
  sockets.port = reply.answer.port;
  return sockets;
}

Error port_error(const Error& error, PortSpace space, std::uint16_t port) {
  const bool is_in_use = error.code == EADDRINUSE || (error.code == EADDRNOTAVAIL && port != 0);
  return Error{.code = error.code,
               .message = fmt::format("rdma_cm port {} {}: {}", name_of(space), port,
                                      is_in_use ? "a program of this host has it" : error.message)};
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

std::vector<std::string> words_of_the_switch(Membership::Reach reach) {
  if (reach == Membership::Reach::kAllHosts) return {"--host"};
  return {"--host", "--or-elsewhere"};
}

Error reaches_this_host_alone(int process) {
  return Error{
      .code = EADDRINUSE,
      .message = fmt::format(
          "your programs on this host do without UDP port {}, which another user had when the first of them "
          "started: other hosts do not reach their switch (process {}). End them, and that user's NIC "
          "('urnic doctor' says whose it is), or leave '--port host' away to talk to them",
          transport::wire::kRocePort, process)};
}

HostRequest request_to_join(unsigned slot, unsigned interface) {
  HostRequest request;
  request.kind = HostRequestKind::kJoin;
  request.id = slot;
  request.interface = interface;
  return request;
}

}  // namespace

/// What a switch has given.
struct Membership::Joined {
  SwitchConnection connection;
  unsigned slot;
  SharedSockets sockets;
};

Membership::Membership(nic::SwitchFiles files, std::string switch_program, Reach reach, Joined joined,
                       Signals signals, Descriptor last_words, Report report, unsigned interface)
    : files_(std::move(files)),
      switch_program_(std::move(switch_program)),
      reach_(reach),
      slot_(joined.slot),
      control_socket_(joined.connection.name()),
      signals_(std::move(signals)),
      last_words_(std::move(last_words)),
      report_(std::move(report)),
      interface_(interface),
      connection_(std::move(joined.connection)) {
  exchange_->give(std::move(joined.sockets));
}

Membership::~Membership() {
  if (!watcher_.joinable()) return;
  nic::assert_may_wait();
  signal(signals_.stop);
  watcher_.join();
}

Result<std::unique_ptr<Membership>, Error> Membership::join(const nic::SwitchFiles& files,
                                                            const std::string& switch_program, Reach reach,
                                                            Descriptor last_words, Report report,
                                                            unsigned interface) {
  Signals signals{.stop = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
                  .work = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))};
  if (!signals.stop || !signals.work) {
    return failure(Error{.code = errno, .message = "cannot make an eventfd"});
  }
  const auto give_up = Clock::now() + kJoinPatience;
  // A switch may be about to end, or another program may start one at this moment.
  for (;;) {
    auto joined = try_to_join(files, 0, interface, last_words);
    if (joined) {
      if (reach == Reach::kAllHosts && joined.value().sockets.port != transport::wire::kRocePort) {
        return failure(reaches_this_host_alone(joined.value().connection.process()));
      }
      std::unique_ptr<Membership> made(new Membership(files, switch_program, reach, std::move(joined.value()),
                                                      std::move(signals), std::move(last_words),
                                                      std::move(report), interface));
      for (const PortSpace space : kSpacesInAdvance) made->has_more_lent(space);
      if (auto watched = made->start_watching(); !watched) return failure(watched.error());
      return made;
    }
    const int code = joined.error().code;
    const bool may_succeed_later = code == ENOENT || code == EAGAIN;
    if (!may_succeed_later || Clock::now() > give_up) return failure(joined.error());
    if (code == ENOENT) {
      if (auto started = start_switch(switch_program, words_of_the_switch(reach)); !started) {
        return failure(started.error());
      }
    }
    std::this_thread::sleep_for(kJoinPause);
  }
}

/// With that slot, or with any for 0. ENOENT: there is no switch. EAGAIN: it has too much to do now, or has
/// just ended.
Result<Membership::Joined, Error> Membership::try_to_join(const nic::SwitchFiles& files, unsigned slot,
                                                          unsigned interface, const Descriptor& last_words) {
  auto connection = SwitchConnection::connect(files);
  if (!connection) return failure(connection.error());
  auto reply = connection.value().ask(request_to_join(slot, interface), kJoinPatience, last_words.get());
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
  try {
    watcher_ = nic::start_own_thread("urnic-host", [this] {
      watch();
      is_watching_.store(false);
    });
  } catch (const std::system_error& error) {
    return failure(Error{
        .code = error.code().value(),
        .message = std::string("cannot start the thread that watches the host's switch: ") + error.what()});
  }
  return success();
}

void Membership::watch() {
  for (;;) {
    pollfd polled[] = {{.fd = signals_.stop.get(), .events = POLLIN, .revents = 0},
                       {.fd = signals_.work.get(), .events = POLLIN, .revents = 0},
                       {.fd = connection_.fd(), .events = POLLRDHUP, .revents = 0}};
    if (syscall(SYS_ppoll, polled, std::size(polled), nullptr, nullptr, 0) < 0 && errno != EINTR) return;
    // A program that closes descriptors which it does not know has closed ours.
    if (((polled[0].revents | polled[1].revents | polled[2].revents) & POLLNVAL) != 0) return;
    if (polled[0].revents != 0) return;
    if (polled[2].revents != 0) {
      join_again();
    } else if (polled[1].revents != 0) {
      do_work();
    }
  }
}

/// What release() and take_lent() have left to do. A switch that does not answer now is asked again at the
/// next occasion.
void Membership::do_work() {
  std::uint64_t count = 0;
  [[maybe_unused]] const long bytes = syscall(SYS_read, signals_.work.get(), &count, sizeof count);
  {
    const std::lock_guard lock(connection_mutex_);
    [[maybe_unused]] const auto sent = send_releases(kAnswerPatience);
  }
  std::vector<PortSpace> wanted;
  {
    const std::lock_guard lock(mutex_);
    for (const PortSpace space : lent_.spaces()) {
      if (lent_.has_few(space)) wanted.push_back(space);
    }
  }
  for (const PortSpace space : wanted) has_more_lent(space);
}

/// Returns when it has, or shall stop.
void Membership::join_again() {
  is_joining_again_.store(true);
  exchange_->withdraw();
  const auto lost_at = Clock::now();
  bool is_reported = false;
  for (;;) {
    const auto error = try_to_join_again();
    if (!error) {
      is_joining_again_.store(false);
      if (is_reported) report_("the NIC of the host has a switch again, and this program its part in it");
      return;
    }
    if (!is_reported && report_ && Clock::now() - lost_at > kSilence) {
      report_(
          fmt::format("this program's NIC is cut off, as the host's switch has ended and it cannot join the "
                      "next one: {}. It tries on",
                      error->message));
      is_reported = true;
    }
    if (is_stopped_within(error->code == ENOENT ? kJoinPause : kRejoinPause)) return;
  }
}

/// Nothing: it has joined. ENOENT: there was no switch, and one may be there by now.
std::optional<Error> Membership::try_to_join_again() {
  auto joined = try_to_join(files_, slot_, interface_, last_words_);
  if (joined) {
    {
      const std::lock_guard lock(connection_mutex_);
      connection_ = std::move(joined.value().connection);
    }
    if (take_ports_again()) {
      exchange_->give(std::move(joined.value().sockets));
      return std::nullopt;
    }
    const std::lock_guard lock(connection_mutex_);
    connection_.end();
    return Error{.code = EIO, .message = "it does not answer"};
  }
  Error error = joined.error();
  if (error.code == EBUSY) error.message = "another program has got this one's part in it meanwhile";
  if (error.code == ENOENT) {
    // Another process that has lost its switch may start the next one first: that is as good.
    const auto started = start_switch(switch_program_, words_of_the_switch(reach_));
    if (!started) error.message = started.error().message;
  }
  return error;
}

/// A process that came meanwhile may have one of them; the id keeps it here, and hears nothing. False when
/// the switch does not answer. Ids get and release ports meanwhile.
bool Membership::take_ports_again() {
  std::vector<std::pair<PortSpace, std::uint16_t>> blocks;
  std::map<BindingKey, Binding> bindings;
  {
    const std::lock_guard lock(mutex_);
    blocks = lent_.blocks();
    bindings = bindings_;
    releases_.clear();  // were for the switch before
  }
  for (const auto& [space, first] : blocks) {
    const auto lent = ask(request_about(HostRequestKind::kLend, space, first, {}));
    if (lent) continue;
    if (lent.error().code == EIO) return false;
    const std::lock_guard lock(mutex_);
    lent_.forget(space, first);
  }
  for (const auto& [key, binding] : bindings) {
    const auto space = std::get<PortSpace>(key);
    const auto bound = ask(request_to_bind(space, binding));
    if (!bound && bound.error().code == EIO) return false;
    if (binding.is_listening) {
      [[maybe_unused]] const auto listens =
          ask(request_about(HostRequestKind::kListen, space, binding.address.port, binding.id));
    }
    release_if_gone(space, binding);
  }
  return true;
}

/// The switch may have got the release of this binding before the binding itself.
void Membership::release_if_gone(PortSpace space, const Binding& binding) {
  const std::lock_guard lock(mutex_);
  if (!bindings_.contains({space, binding.address.port, binding.id})) {
    releases_.push_back(request_about(HostRequestKind::kRelease, space, binding.address.port, binding.id));
  }
}

bool Membership::is_stopped_within(std::chrono::milliseconds time) const {
  pollfd stopped{.fd = signals_.stop.get(), .events = POLLIN, .revents = 0};
  const timespec timeout{.tv_sec = 0, .tv_nsec = std::chrono::nanoseconds(time).count()};
  return syscall(SYS_ppoll, &stopped, 1, &timeout, nullptr, 0) > 0;
}

// --- Requests ---

/// Sends earlier releases first. Waits a second at most, for other threads' answers and its own.
Result<HostAnswer, Error> Membership::ask(const HostRequest& request) {
  nic::assert_may_wait();
  const auto until = Clock::now() + kAnswerPatience;
  const std::lock_guard lock(connection_mutex_);
  const auto left = [until] {
    const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    return std::max(time, std::chrono::milliseconds(0));
  };
  if (auto sent = send_releases(left()); !sent) return failure(sent.error());
  auto reply = connection_.ask(request, left());
  if (!reply) return failure(reply.error());
  return reply.value().answer;
}

/// For a program's call, which is not to fail because the switch ends just then: waits until the watcher has
/// joined the next one.
Result<HostAnswer, Error> Membership::ask_this_or_the_next(const HostRequest& request) {
  const auto give_up = Clock::now() + kNextSwitchPatience;
  for (;;) {
    if (!is_joining_again_.load()) {
      auto answer = ask(request);
      const bool may_succeed =
          !answer && answer.error().code == EIO && has_lost_switch() && is_watching_.load();
      if (!may_succeed || Clock::now() >= give_up) return answer;
    } else if (Clock::now() >= give_up) {
      return failure(Error{
          .code = EIO,
          .message =
              "the switch of the host has ended, and there is no next one to ask: 'urnic doctor' says why"});
    }
    nic::pause_uncancelled(kJoinPause);
  }
}

bool Membership::has_lost_switch() {
  const std::lock_guard lock(connection_mutex_);
  return connection_.is_over();
}

/// With the connection's mutex held. Without a switch there is no port to release any more.
Result<void, Error> Membership::send_releases(std::chrono::milliseconds patience) {
  std::vector<HostRequest> releases;
  {
    const std::lock_guard lock(mutex_);
    releases.swap(releases_);
  }
  for (std::size_t i = 0; i < releases.size(); ++i) {
    auto told = connection_.tell(releases[i], patience);
    if (told) continue;
    if (!connection_.is_over()) {
      const std::lock_guard lock(mutex_);
      releases_.insert(releases_.begin(), releases.begin() + static_cast<std::ptrdiff_t>(i), releases.end());
    }
    return told;
  }
  return success();
}

// --- Ports ---

bool Membership::has_more_lent(PortSpace space) {
  const auto lent = ask(request_about(HostRequestKind::kLend, space, 0, {}));
  if (!lent) return false;
  const std::lock_guard lock(mutex_);
  lent_.add(space, lent.value().port);
  return true;
}

std::optional<std::uint16_t> Membership::take_lent(PortSpace space) {
  const std::lock_guard lock(mutex_);
  const auto port = lent_.take(space);
  if (lent_.has_few(space)) signal(signals_.work);
  return port;
}

void Membership::give_back_lent(PortSpace space, std::uint16_t port) {
  const std::lock_guard lock(mutex_);
  lent_.give_back(space, port);
}

Result<std::uint16_t, Error> Membership::bind(PortSpace space, const Binding& binding) {
  const std::uint16_t wanted = binding.address.port;
  bool was_lent = false;
  {
    const std::lock_guard lock(mutex_);
    was_lent = lent_.take(space, wanted);
  }
  const auto answer = ask_this_or_the_next(request_to_bind(space, binding));
  const std::lock_guard lock(mutex_);
  if (!answer) {
    // The switch may still get the request.
    if (answer.error().code == EIO) {
      releases_.push_back(request_about(HostRequestKind::kRelease, space, wanted, binding.id));
      signal(signals_.work);
    } else if (was_lent) {
      lent_.give_back(space, wanted);
    }
    return failure(port_error(answer.error(), space, wanted));
  }
  Binding kept = binding;
  kept.address.port = answer.value().port;
  bindings_.insert_or_assign({space, kept.address.port, kept.id}, kept);
  return success(kept.address.port);
}

Result<void, Error> Membership::listen(PortSpace space, std::uint16_t port, IdNumber id) {
  const auto answer = ask_this_or_the_next(request_about(HostRequestKind::kListen, space, port, id));
  if (!answer) return failure(port_error(answer.error(), space, port));
  const std::lock_guard lock(mutex_);
  const auto own = bindings_.find({space, port, id});
  if (own != bindings_.end()) own->second.is_listening = true;
  return success();
}

void Membership::release(PortSpace space, std::uint16_t port, IdNumber id) {
  const std::lock_guard lock(mutex_);
  bindings_.erase({space, port, id});
  releases_.push_back(request_about(HostRequestKind::kRelease, space, port, id));
  signal(signals_.work);
}

}  // namespace urnic::drivers
