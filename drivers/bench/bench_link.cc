// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/bench/bench_link.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <utility>

#include "drivers/shortest_frame.h"
#include "drivers/unix_address.h"
#include "nic/process/may_wait.h"
#include "transport/wire/ethernet.h"

// System calls and not the C library's functions of the same name: librspreload replaces those, and a program
// may cancel its threads there, but not inside of a verb.

namespace urnic::drivers {

using transport::Duration;
using transport::Time;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kPsPerNs = 1000;
constexpr auto kHelloPatience = 30s;
constexpr auto kStepPatience = 100ms;
constexpr auto kFollowPatience = 5ms;
/// Without a peer.
constexpr std::int64_t kLostStepNs = 100'000;

std::string describe_error(int code) {
  return std::generic_category().message(code);
}

/// Frames arrive at whole nanoseconds of ours, not before their time.
std::int64_t whole_ns(std::uint64_t time_ps) {
  return static_cast<std::int64_t>((time_ps + kPsPerNs - 1) / kPsPerNs);
}

long receive_message(int fd, std::span<std::byte> into) {
  return syscall(SYS_recvfrom, fd, into.data(), into.size(), MSG_DONTWAIT | MSG_TRUNC, nullptr, nullptr);
}

Error bench_error(int code, const std::string& name, const std::string& why) {
  return Error{.code = code, .message = fmt::format("bench {}: {}", name, why)};
}

/// The first message of the bench.
Result<BenchHello, Error> wait_for_hello(int fd, const std::string& name) {
  nic::assert_may_wait();
  const auto give_up = std::chrono::steady_clock::now() + kHelloPatience;
  std::array<std::byte, 2 * BenchHello::kBytes> message;
  while (true) {
    const long bytes = receive_message(fd, message);
    if (bytes > 0) {
      auto hello = parse_bench_hello(
          std::span(message).first(std::min(message.size(), static_cast<std::size_t>(bytes))));
      if (!hello) return bench_error(hello.error().code, name, hello.error().message);
      return hello;
    }
    if (bytes == 0) return bench_error(ECONNRESET, name, "it has closed the connection before its hello");
    if (errno != EAGAIN && errno != EINTR) return bench_error(errno, name, describe_error(errno));
    const auto left = give_up - std::chrono::steady_clock::now();
    if (left <= 0s) {
      return bench_error(ETIMEDOUT, name,
                         "it sends no hello; has it another connection, and is it for one NIC alone?");
    }
    constexpr timespec kLook{.tv_sec = 0, .tv_nsec = 100'000'000};
    pollfd descriptor{.fd = fd, .events = POLLIN, .revents = 0};
    syscall(SYS_ppoll, &descriptor, 1L, &kLook, nullptr, 0);
  }
}

}  // namespace

Result<void, Error> check_bench_path(const std::string& path) {
  struct stat status {};
  if (UnixAddress::is_abstract(path)) return success();
  if (stat(path.c_str(), &status) != 0) {
    const int code = errno;
    return bench_error(code, path, describe_error(code) + "; start the bench first");
  }
  if (S_ISSOCK(status.st_mode)) return success();
  return bench_error(ENOTSOCK, path, "that is no socket");
}

// --- Making ---

Result<std::unique_ptr<BenchLink>, Error> BenchLink::connect(const std::string& path, const Config& config,
                                                             nic::GrantedClock& clock) {
  const auto address = UnixAddress::of(path);
  if (!address) return bench_error(ENAMETOOLONG, path, "the path is too long for a socket");
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket) return bench_error(errno, path, describe_error(errno));
  if (syscall(SYS_connect, socket.get(), address->get(), address->bytes()) != 0) {
    const int code = errno;
    std::string why = describe_error(code);
    if (code == EPROTOTYPE) why = "it listens at a socket of another kind than SOCK_SEQPACKET";
    if (code == ECONNREFUSED) why = "no process listens there any more";
    return bench_error(code, path, why);
  }
  return over(std::move(socket), path, config, clock);
}

Result<std::unique_ptr<BenchLink>, Error> BenchLink::over(Descriptor socket, const std::string& name,
                                                          const Config& config, nic::GrantedClock& clock) {
  BenchHello own = config.own;
  own.latency_ps = 0;
  const auto message = to_bytes(own);
  if (syscall(SYS_sendto, socket.get(), message.data(), message.size(), MSG_NOSIGNAL, nullptr, 0) < 0) {
    return bench_error(errno, name, describe_error(errno));
  }
  const auto hello = wait_for_hello(socket.get(), name);
  if (!hello) return hello.error();
  if (hello.value().link_mtu < own.link_mtu) {
    return bench_error(EMSGSIZE, name,
                       fmt::format("it carries IP packets of {} bytes, and the NIC sends up to {}: give "
                                   "--mtu {}",
                                   hello.value().link_mtu, own.link_mtu, hello.value().link_mtu));
  }
  return std::unique_ptr<BenchLink>(new BenchLink(std::move(socket), name, config, hello.value(), clock));
}

// The peer begins at 0, as we do.
BenchLink::BenchLink(Descriptor socket, std::string name, const Config& config, const BenchHello& peer,
                     nic::GrantedClock& clock)
    : socket_(std::move(socket)),
      name_(std::move(name)),
      tell_(config.tell),
      peer_(peer),
      clock_(clock),
      max_frame_bytes_(std::size_t{config.own.link_mtu} + transport::wire::Ethernet::kMinBytes),
      slot_bytes_((BenchMessage::kHeaderBytes + max_frame_bytes_ + 15) / 16 * 16),
      granted_ps_(peer.latency_ps),
      told_ps_(peer.latency_ps),
      arrivals_(std::make_unique_for_overwrite<std::byte[]>(kFramesOnTheWay * slot_bytes_)),
      arrival_of_(kFramesOnTheWay),
      departures_(std::make_unique_for_overwrite<std::byte[]>(kFramesAtOnce * slot_bytes_)),
      departure_bytes_(kFramesAtOnce) {}

std::span<std::byte> BenchLink::arrival_slot(std::size_t position) {
  return {arrivals_.get() + position % kFramesOnTheWay * slot_bytes_, slot_bytes_};
}

std::span<std::byte> BenchLink::departure_slot(std::size_t position) {
  return {departures_.get() + position % kFramesAtOnce * slot_bytes_, slot_bytes_};
}

// --- Time ---

bool BenchLink::step(Time due) {
  return move(due, Pace::kStep);
}

bool BenchLink::follow(Time due) {
  return move(due, Pace::kFollow);
}

/// What arrives after the target makes no difference, whether it has been read or not.
bool BenchLink::move(Time due, Pace pace) {
  nic::assert_may_wait();
  const std::lock_guard turn(turn_);
  const bool is_due = due != transport::kNever;
  const Nanoseconds due_ns =
      is_due ? std::max(clock_.on_wire(due).count(), now() + 1) : Duration::max().count();
  const Duration patience = pace == Pace::kStep ? Duration(kStepPatience) : Duration(kFollowPatience);
  const auto give_up = std::chrono::steady_clock::now() + patience;
  while (true) {
    // Where the peer is stands in the last message that it has sent.
    while (pace == Pace::kFollow && read_message()) {
    }
    tell_if_lost();
    const auto target = find_target(due_ns, is_due, pace);
    if (target && (*target <= now() || try_move_to(*target))) return true;
    const bool waits_for_room = !flush_with_grant();
    const bool is_full = has_no_room();
    if (is_full && !is_granted(*target)) {
      lose(fmt::format("more than {} frames are to arrive at one time", kFramesOnTheWay - 1));
    }
    if (!is_full && read_message()) continue;
    tell_if_lost();
    if (is_lost() && target) continue;
    const Duration left = give_up - std::chrono::steady_clock::now();
    if (left <= 0s || !wait(left, !is_full, waits_for_room)) return false;
  }
}

/// Where the clock shall go next, as far as is known by now; nothing if there is no reason to move it.
std::optional<BenchLink::Nanoseconds> BenchLink::find_target(Nanoseconds due, bool is_due, Pace pace) const {
  const std::lock_guard lock(mutex_);
  const Nanoseconds here = now();
  const auto latency_ns = static_cast<Nanoseconds>(peer_.latency_ps / kPsPerNs);
  const Nanoseconds target = std::min(due, here + (is_lost() ? kLostStepNs : latency_ns - 1));
  if (first_ != end_) return std::min(target, std::max(arrival_of_[first_ % kFramesOnTheWay].time, here));
  if (pace == Pace::kStep || is_due) return target;
  const Nanoseconds peer_at = whole_ns(granted_ps_ - peer_.latency_ps);
  return peer_at > here ? std::optional(std::min(target, peer_at)) : std::nullopt;
}

bool BenchLink::is_granted(Nanoseconds time) const {
  return is_lost() || static_cast<std::uint64_t>(time) * kPsPerNs < granted_ps_;
}

/// All that was sent at the present time must leave before the peer is told of a later one.
bool BenchLink::try_move_to(Nanoseconds target) {
  const std::lock_guard lock(mutex_);
  if (!is_granted(target) || !send_departures()) return false;
  clock_.move_to(Duration(target));
  committed_before_ = committed_;
  send_grant();
  return true;
}

// --- The socket ---

bool BenchLink::flush_with_grant() {
  const std::lock_guard lock(mutex_);
  return send_departures() && send_grant();
}

/// Under mutex_. False if some must wait for room.
bool BenchLink::send_departures() {
  for (; sent_ != committed_; ++sent_) {
    if (!send_message(departure_slot(sent_).first(departure_bytes_[sent_ % kFramesAtOnce]))) return false;
  }
  return true;
}

/// Under mutex_, when there are no departures. False if it must wait for room.
bool BenchLink::send_grant() {
  const std::uint64_t grant_ps = static_cast<std::uint64_t>(now()) * kPsPerNs + peer_.latency_ps;
  if (grant_ps <= told_ps_) return true;
  std::array<std::byte, BenchMessage::kHeaderBytes> message;
  write_bench_header(BenchKind::kGrant, 0, grant_ps, message);
  if (!send_message(message)) return false;
  told_ps_ = grant_ps;
  return true;
}

/// Under mutex_. What is for a peer that is gone counts as sent.
bool BenchLink::send_message(std::span<const std::byte> message) {
  while (!is_lost()) {
    constexpr int kFlags = MSG_DONTWAIT | MSG_NOSIGNAL;
    const long sent = syscall(SYS_sendto, socket_.get(), message.data(), message.size(), kFlags, nullptr, 0);
    if (sent >= 0) return true;
    if (errno == EAGAIN) return false;
    if (errno == EINTR) continue;
    // What it sent before it went is still to be read.
    return true;
  }
  return true;
}

bool BenchLink::has_no_room() const {
  const std::lock_guard lock(mutex_);
  return end_ - released_ == kFramesOnTheWay;
}

/// By the thread that has the turn. Whether there was one, and there is room for more.
bool BenchLink::read_message() {
  if (is_lost() || has_no_room()) return false;
  const std::span<std::byte> slot = arrival_slot(end_);
  const long bytes = receive_message(socket_.get(), slot);
  if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (bytes <= 0) {
    lose(bytes == 0 || errno == ECONNRESET ? "it has closed the connection" : describe_error(errno));
    return false;
  }
  const auto whole = static_cast<std::size_t>(bytes);
  if (whole > slot.size()) {
    lose(fmt::format("a message has {} bytes, and the largest has {}", whole,
                     BenchMessage::kHeaderBytes + max_frame_bytes_));
    return false;
  }
  const auto message = parse_bench_message(slot.first(whole), max_frame_bytes_);
  if (!message) {
    lose(message.error().message);
    return false;
  }
  return take(message.value());
}

bool BenchLink::take(const BenchMessage& message) {
  if (message.time_ps < granted_ps_) {
    lose(message.kind == BenchKind::kGrant
             ? fmt::format("it grants {} ps after {} ps", message.time_ps, granted_ps_)
             : fmt::format("a frame arrives at {} ps, before the {} ps that were granted", message.time_ps,
                           granted_ps_));
    return false;
  }
  const std::lock_guard lock(mutex_);
  granted_ps_ = message.time_ps;
  if (message.kind == BenchKind::kGrant) return true;
  arrival_of_[end_ % kFramesOnTheWay] = {.time = whole_ns(message.time_ps), .bytes = message.frame.size()};
  ++end_;
  return true;
}

/// Until something may have changed; false when the time is over.
bool BenchLink::wait(Duration at_most, bool wants_input, bool waits_for_room) const {
  pollfd descriptor{.fd = is_lost() ? -1 : socket_.get(), .events = 0, .revents = 0};
  descriptor.events = static_cast<short>((wants_input ? POLLIN : 0) | (waits_for_room ? POLLOUT : 0));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at_most);
  const timespec timeout{.tv_sec = seconds.count(), .tv_nsec = (at_most - seconds).count()};
  return syscall(SYS_ppoll, &descriptor, 1L, &timeout, nullptr, 0) != 0;
}

/// By the thread that has the turn. What has arrived stays.
void BenchLink::lose(const std::string& why) {
  if (is_lost_.exchange(true)) return;
  why_ = why;
}

void BenchLink::tell_if_lost() {
  if (!is_lost() || why_.empty()) return;
  const std::string why = std::exchange(why_, {});
  if (tell_) tell_(fmt::format("bench {}: {}; the link is down from now on", name_, why));
}

// --- Frames ---

std::size_t BenchLink::receive(std::span<nic::ReceivedFrame> frames) {
  const std::lock_guard lock(mutex_);
  released_ = first_;
  std::size_t count = 0;
  for (; count < frames.size() && has_arrival(); ++first_) {
    const std::size_t bytes = arrival_of_[first_ % kFramesOnTheWay].bytes;
    frames[count++] =
        std::span<const std::byte>(arrival_slot(first_)).subspan(BenchMessage::kHeaderBytes, bytes);
  }
  return count;
}

bool BenchLink::has_arrivals() const {
  const std::lock_guard lock(mutex_);
  return has_arrival();
}

/// Under mutex_.
bool BenchLink::has_arrival() const {
  return first_ != end_ && arrival_of_[first_ % kFramesOnTheWay].time <= now();
}

std::span<std::byte> BenchLink::reserve() {
  const std::lock_guard lock(mutex_);
  if (committed_ - committed_before_ == kFramesAtOnce) return {};
  return departure_slot(committed_).subspan(BenchMessage::kHeaderBytes, max_frame_bytes_);
}

bool BenchLink::commit(std::size_t length) {
  const std::lock_guard lock(mutex_);
  assert(committed_ - committed_before_ < kFramesAtOnce && length <= max_frame_bytes_);
  if (is_lost()) return false;
  const std::span<std::byte> slot = departure_slot(committed_);
  const std::size_t padded = std::max(length, kShortestFrame);
  std::ranges::fill(slot.subspan(BenchMessage::kHeaderBytes + length, padded - length), std::byte{0});
  write_bench_header(BenchKind::kFrame, static_cast<std::uint32_t>(padded),
                     static_cast<std::uint64_t>(now()) * kPsPerNs + peer_.latency_ps,
                     slot.first<BenchMessage::kHeaderBytes>());
  departure_bytes_[committed_++ % kFramesAtOnce] = BenchMessage::kHeaderBytes + padded;
  return true;
}

void BenchLink::flush() {
  const std::lock_guard lock(mutex_);
  send_departures();
}

bool BenchLink::is_drained() const {
  const std::lock_guard lock(mutex_);
  return is_lost() || sent_ == committed_;
}

}  // namespace urnic::drivers
