// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/host/host_switch.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "drivers/host/left_sockets.h"
#include "drivers/host/port_requests.h"
#include "drivers/host/shared_name.h"
#include "drivers/passed_descriptors.h"
#include "drivers/peer_user.h"
#include "drivers/udp/packet_share.h"
#include "nic/engine/management_frame.h"
#include "nic/host/host_addresses.h"
#include "nic/host/last_words_table.h"
#include "nic/host/random_bits.h"
#include "nic/host/udp_port_holders.h"
#include "nic/port/received_frame.h"
#include "nic/process/memory_file.h"

namespace urnic::drivers {

namespace {

using std::chrono::milliseconds;

/// The largest IP packet that is looked at, in bytes; requests have some 350.
constexpr std::size_t kMaxPacketBytes = 9000;
/// How often the switch looks whether its socket is still in the file system.
constexpr milliseconds kLookInterval(1000);
/// For members of a switch that was killed to come, before other processes get what may be their slots.
constexpr milliseconds kSettling(500);
/// Of processes that are no members, which only ask.
constexpr std::size_t kMostGuests = 64;
/// So that no client keeps the switch from others.
constexpr unsigned kRequestsAtOnce = 16;
constexpr unsigned kBurstsAtOnce = 16;
constexpr unsigned kStraysAtOnce = 64;
/// For packets that a process has not taken yet. The kernel makes it less, but not less than 200 KB.
constexpr int kHandOverBytes = 1 << 20;

// Of polled_.
constexpr std::size_t kEnd = 0;
constexpr std::size_t kControl = 1;
constexpr std::size_t kSharedControl = 2;
constexpr std::size_t kFirstConnection = 4;  // after the packets', of which each wake-up takes
constexpr std::size_t kPolledEach = 3;

Descriptor copy_of(int descriptor) {
  return Descriptor(fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
}

Descriptor watch_process(pid_t process) {
  return Descriptor(process > 0 ? static_cast<int>(syscall(SYS_pidfd_open, process, 0)) : -1);
}

Error system_error(const char* what) {
  const int code = errno;
  return Error{.code = code, .message = what + (": " + std::generic_category().message(code))};
}

/// A file in memory.
Descriptor file_with(const std::string& text) {
  Descriptor file(nic::make_memory_file("urnic-host-status"));
  const auto bytes = static_cast<ssize_t>(text.size());
  if (file && pwrite(file.get(), text.data(), text.size(), 0) != bytes) return Descriptor();
  return file;
}

/// This user's own programs let go of the port soon, if they have lost their switch.
bool is_anothers(std::uint16_t port) {
  return std::ranges::any_of(nic::udp_port_holders(port), [](const nic::UdpPortHolder& holder) {
    return holder.is_kernel || holder.uid != geteuid();
  });
}

Result<SocketGroup, Error> open_group(const HostSwitch::Config& config) {
  if (config.may_be_elsewhere && is_anothers(config.port)) return SocketGroup::open_elsewhere();
  return SocketGroup::open(config.port);
}

}  // namespace

Result<std::unique_ptr<HostSwitch>, Error> HostSwitch::open(const Config& config) {
  auto lock = take_switch_lock(config.files, {.what = "the NIC of the host", .ended_by = "'urnic host stop'"},
                               0, config.start);
  if (!lock) return failure(lock.error());
  auto shared_control = claim_shared_name(config.files);
  if (!shared_control) return failure(shared_control.error());
  auto group = open_group(config);
  if (!group) return failure(group.error());
  auto listeners = Listeners::create(kMaxPacketBytes);
  if (!listeners) return failure(listeners.error());
  for (const bool is_ipv4 : {true, false}) {
    if (!is_ipv4 && !group.value().has_ipv6()) continue;
    Descriptor socket = copy_of(is_ipv4 ? group.value().ipv4(0) : group.value().ipv6(0));
    if (!socket) return failure(system_error("cannot copy a descriptor"));
    const auto heard = listeners.value().adopt(std::move(socket), is_ipv4);
    if (!heard) return failure(heard.error());
  }
  // A switch that was killed, or ended while it had members, has left its socket.
  const bool has_survivors =
      group.value().was_taken() || access(config.files.control_socket.c_str(), F_OK) == 0;
  remove_left_sockets(std::filesystem::path(config.files.control_socket).parent_path().string());
  // Last, so that a process that connects finds a switch that works.
  auto control = ControlSocket::open(config.files);
  if (!control) return failure(control.error());
  if (shared_control.value() && listen(shared_control.value().get(), SOMAXCONN) != 0) {
    return failure(system_error("cannot listen"));
  }
  return std::unique_ptr<HostSwitch>(new HostSwitch(
      config, std::move(lock.value()), std::move(shared_control.value()), std::move(control.value()),
      std::move(group.value()), std::move(listeners.value()), has_survivors));
}

HostSwitch::HostSwitch(const Config& config, nic::LockFile lock, Descriptor shared_control,
                       ControlSocket control, SocketGroup group, Listeners listeners, bool has_survivors)
    : files_(config.files),
      lock_(std::move(lock)),
      shared_control_(std::move(shared_control)),
      control_(std::move(control)),
      group_(std::move(group)),
      listeners_(std::move(listeners)),
      ports_(nic::random_bits()),
      requests_(*this),
      sender_({.max_packet_bytes = nic::kMaxManagementFrame, .may_segment = false, .is_host_shared = true},
              addresses_) {
  if (has_survivors) settled_at_ = Clock::now() + kSettling;
}

HostSwitch::~HostSwitch() {
  if (has_members()) return;
  unlink(files_.control_socket.c_str());
}

void HostSwitch::serve(int end_fd, std::optional<milliseconds> linger) {
  Clock::time_point last_used = Clock::now();
  while (!stop_wanted_) {
    wait(end_fd, linger, last_used);
    const Clock::time_point now = Clock::now();
    if (polled_[kEnd].revents != 0) return;
    if (has_members()) last_used = now;
    serve_connections(now);
    forget_ended(now);
    if (polled_[kControl].revents != 0) accept_one(control_.fd());
    if (polled_[kSharedControl].revents != 0) accept_one(shared_control_.get());
    take_packets(now);
    requests_.on_timeout(now);
    speak_for_ended(now);
    keep_socket(now);
    if (linger && !has_members() && now - last_used > *linger) return;
  }
}

void HostSwitch::wait(int end_fd, std::optional<milliseconds> linger, Clock::time_point last_used) {
  polled_.clear();
  polled_.push_back({.fd = end_fd, .events = POLLIN, .revents = 0});
  polled_.push_back({.fd = control_.fd(), .events = POLLIN, .revents = 0});
  polled_.push_back({.fd = shared_control_.get(), .events = POLLIN, .revents = 0});
  polled_.push_back({.fd = listeners_.wake_fd(), .events = POLLIN, .revents = 0});
  for (const auto& connection : connections_) {
    polled_.push_back({.fd = connection->socket.get(), .events = POLLIN, .revents = 0});
    polled_.push_back({.fd = connection->process.get(), .events = POLLIN, .revents = 0});
    polled_.push_back({.fd = connection->handed_over.get(), .events = POLLIN, .revents = 0});
  }
  polled_connections_ = connections_.size();
  if (poll(polled_.data(), polled_.size(), timeout_ms(linger, last_used)) <= 0) {
    for (pollfd& each : polled_) each.revents = 0;
  }
}

int HostSwitch::timeout_ms(std::optional<milliseconds> linger, Clock::time_point last_used) const {
  if (listeners_.has_ready()) return 0;
  const Clock::time_point now = Clock::now();
  Clock::time_point next = now + kLookInterval;
  if (const auto due = requests_.next_timeout()) next = std::min(next, *due);
  if (const auto due = ended_.next_timeout(now)) next = std::min(next, *due);
  if (linger && !has_members()) next = std::min(next, last_used + *linger);
  // One more, as poll() may wake early by a part of a millisecond.
  return static_cast<int>(std::max(std::chrono::duration_cast<milliseconds>(next - now).count(), 0L)) + 1;
}

// --- Clients ---

void HostSwitch::accept_one(int listener) {
  Descriptor socket(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) {
    // Most likely no descriptor is left. The client waits, so do not look again at once.
    usleep(10'000);
    return;
  }
  const auto peer = peer_of(socket.get());
  if (!peer || !is_trusted_peer(socket.get())) return;
  const auto is_guest = [](const auto& connection) { return connection->slot == 0; };
  const auto guests = static_cast<std::size_t>(std::ranges::count_if(connections_, is_guest));
  if (guests >= kMostGuests) connections_.erase(std::ranges::find_if(connections_, is_guest));
  auto connection = std::make_unique<Connection>();
  connection->process = watch_process(peer->pid);
  connection->process_id = peer->pid;
  connection->socket = std::move(socket);
  connections_.push_back(std::move(connection));
}

void HostSwitch::serve_connections(Clock::time_point now) {
  for (std::size_t i = 0; i < polled_connections_; ++i) {
    Connection& connection = *connections_[i];
    const pollfd* const polled = &polled_[kFirstConnection + kPolledEach * i];
    if (polled[0].revents != 0) take_requests(connection, now);
    if (polled[1].revents != 0) connection.is_over = true;
    if (polled[2].revents != 0) take_strays(connection, now);
  }
}

void HostSwitch::forget_ended(Clock::time_point now) {
  for (const auto& connection : connections_) {
    if (!connection->is_over || connection->slot == 0) continue;
    ports_.release_all(connection->slot);
    requests_.on_leave(connection->slot);
    group_.lay_still(connection->slot);
    slots_.give_back(connection->slot, now);
    ended_.on_leave(connection->slot, std::move(connection->process), std::move(connection->last_words), now);
  }
  std::erase_if(connections_, [](const auto& connection) { return connection->is_over; });
}

/// A message of another length ends the connection: the client is of another version, or none of ours.
void HostSwitch::take_requests(Connection& connection, Clock::time_point now) {
  for (unsigned i = 0; i < kRequestsAtOnce && !connection.is_over && !stop_wanted_; ++i) {
    HostRequest request;
    iovec part{.iov_base = &request, .iov_len = sizeof request};
    PassedDescriptors passed;
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    passed.make_room(header);
    const ssize_t bytes =
        recvmsg(connection.socket.get(), &header, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return;
    std::vector<Descriptor> descriptors =
        bytes < 0 ? std::vector<Descriptor>() : PassedDescriptors::take(header);
    // The first fields are the same in each version.
    const bool has_header = bytes >= static_cast<ssize_t>(offsetof(HostRequest, kind));
    if (!has_header || request.magic != kHostMagic) {
      connection.is_over = true;
    } else if (bytes != static_cast<ssize_t>(sizeof request) || request.version != kHostVersion) {
      send(connection, {.error = EPROTONOSUPPORT}, request);
      connection.is_over = true;
    } else {
      serve_request(connection, request, std::move(descriptors), now);
    }
  }
}

void HostSwitch::serve_request(Connection& connection, const HostRequest& request,
                               std::vector<Descriptor> passed, Clock::time_point now) {
  switch (request.kind) {
    case HostRequestKind::kJoin:
      return join(connection, request, std::move(passed), now);
    case HostRequestKind::kBind:
    case HostRequestKind::kListen:
    case HostRequestKind::kRelease:
    case HostRequestKind::kLend:
      return serve_ports(connection, request, now);
    case HostRequestKind::kStatus:
      return tell_status(connection, request);
    case HostRequestKind::kStop:
      stop_wanted_ = true;
      return send(connection, {}, request);
  }
  send(connection, {.error = EINVAL}, request);
}

void HostSwitch::join(Connection& connection, const HostRequest& request, std::vector<Descriptor> passed,
                      Clock::time_point now) {
  if (connection.slot != 0) return send(connection, {.error = EISCONN}, request);
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    return send(connection, {.error = errno}, request);
  }
  Descriptor own(ends[0]);
  const Descriptor other(ends[1]);
  setsockopt(own.get(), SOL_SOCKET, SO_SNDBUF, &kHandOverBytes, sizeof kHandOverBytes);
  const unsigned wanted = request.id;
  if (wanted > SlotList::kLast) return send(connection, {.error = EINVAL}, request);
  if (wanted == 0 && now < settled_at_) return send(connection, {.error = EAGAIN}, request);
  const auto slot = provide_slot(wanted, now);
  if (!slot) return send(connection, {.error = slot.error()}, request);
  connection.slot = slot.value();
  ports_.limit(slot.value(), request.interface);
  connection.handed_over = std::move(own);
  const bool has_last_words = passed.size() == 1 && nic::may_hold_last_words(passed.front().get());
  if (has_last_words) connection.last_words = std::move(passed.front());
  ended_.on_join(slot.value());
  std::vector<int> descriptors{group_.ipv4(slot.value())};
  if (group_.has_ipv6()) descriptors.push_back(group_.ipv6(slot.value()));
  descriptors.push_back(other.get());
  const HostAnswer answer{.port = group_.port(),
                          .slot = static_cast<std::uint8_t>(slot.value()),
                          .has_ipv6 = static_cast<std::uint8_t>(group_.has_ipv6() ? 1 : 0)};
  send(connection, answer, request, descriptors);
}

/// The wanted slot, or any for 0. The error is an errno value: EBUSY when that slot is taken, EUSERS when all
/// are, or the error of opening sockets for a new one.
Result<unsigned, int> HostSwitch::provide_slot(unsigned wanted, Clock::time_point now) {
  if (wanted != 0) {
    while (group_.slots() <= wanted) {
      if (const auto grown = group_.grow(); !grown) return failure(grown.error().code);
    }
    if (!slots_.take(wanted, now)) return failure(EBUSY);
    group_.drain(wanted);
    return success(wanted);
  }
  std::optional<unsigned> slot = slots_.take_rested(now);
  int missing = EUSERS;
  if (!slot && slots_.next_new()) {
    const auto grown = group_.grow();
    if (grown) return success(slots_.take_new());
    missing = grown.error().code;
  }
  if (!slot) slot = slots_.take_tired();
  if (!slot) return failure(missing);
  group_.drain(*slot);
  return success(*slot);
}

void HostSwitch::serve_ports(Connection& connection, const HostRequest& request, Clock::time_point now) {
  const bool is_member = connection.slot != 0;
  const HostAnswer answer =
      is_member ? change_ports(ports_, connection.slot, request) : HostAnswer{.error = ENOTCONN};
  if (request.kind == HostRequestKind::kListen && answer.error == 0) requests_.on_listen(now);
  if (request.kind != HostRequestKind::kRelease) send(connection, answer, request);
}

void HostSwitch::tell_status(Connection& connection, const HostRequest& request) {
  const Descriptor file = file_with(to_json(status()));
  if (!file) return send(connection, {.error = ENOMEM}, request);
  const int descriptor = file.get();
  send(connection, {}, request, {&descriptor, 1});
}

/// A client that does not take its answers is dropped.
void HostSwitch::send(Connection& connection, HostAnswer answer, const HostRequest& request,
                      std::span<const int> descriptors) {
  answer.number = request.number;
  iovec part{.iov_base = &answer, .iov_len = sizeof answer};
  PassedDescriptors passed;
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (!descriptors.empty()) passed.attach(header, descriptors);
  const ssize_t sent = sendmsg(connection.socket.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent != static_cast<ssize_t>(sizeof answer)) connection.is_over = true;
}

// --- Packets ---

void HostSwitch::take_packets(Clock::time_point now) {
  std::array<nic::ReceivedFrame, 16> packets;
  for (unsigned i = 0; i < kBurstsAtOnce; ++i) {
    const std::size_t count = listeners_.receive(packets);
    for (std::size_t j = 0; j < count; ++j) on_packet(packets[j], messages_, now);
    // One of two sockets may be empty.
    if (count == 0 && i > 0) return;
  }
}

/// What a process got that is another one's; see Listeners::keep_share().
void HostSwitch::take_strays(Connection& connection, Clock::time_point now) {
  std::array<std::byte, kMaxPacketBytes> packet;
  for (unsigned i = 0; i < kStraysAtOnce; ++i) {
    const ssize_t bytes = recv(connection.handed_over.get(), packet.data(), packet.size(), MSG_DONTWAIT);
    if (bytes < 0 && errno != EAGAIN && errno != EINTR) connection.handed_over.reset();
    if (bytes < 0) return;
    on_packet(std::span(packet).first(static_cast<std::size_t>(bytes)), strays_, now);
  }
}

void HostSwitch::on_packet(std::span<const std::byte> packet, HostStatus::Passed& passed,
                           Clock::time_point now) {
  const std::uint8_t share = share_of_packet(packet).value_or(0);
  if (share == 0) return requests_.on_packet(packet, now);
  if (member(share) == nullptr) {
    ended_.on_packet(share, packet, [this](std::span<const std::byte> answer) { send_packet(answer); });
  }
  ++(hand_over(share, packet) ? passed.handed_over : passed.lost);
}

std::optional<unsigned> HostSwitch::listener_of(const RequestedService& service) const {
  const nic::rdma_cm::SocketAddress& destination = service.destination;
  const unsigned interface = ports_.has_limited() ? nic::interface_index_of(destination.address) : 0;
  return ports_.listener_at(service.space, destination, interface);
}

std::optional<unsigned> HostSwitch::refuser() const {
  std::optional<unsigned> lowest;
  for (const auto& connection : connections_) {
    if (connection->slot != 0 && (!lowest || connection->slot < *lowest)) lowest = connection->slot;
  }
  return lowest;
}

bool HostSwitch::hand_over(unsigned slot, std::span<const std::byte> packet) {
  const Connection* const to = member(slot);
  if (to == nullptr) return false;
  return ::send(to->handed_over.get(), packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(packet.size());
}

// --- Processes that have ended ---

void HostSwitch::speak_for_ended(Clock::time_point now) {
  ended_.on_timeout(
      now, [this](unsigned slot) { return member(slot) != nullptr; },
      [this](std::span<const std::byte> packet) { send_packet(packet); });
  sender_.flush();
}

void HostSwitch::send_packet(std::span<const std::byte> packet) {
  const std::span<std::byte> room = sender_.reserve();
  if (room.size() < packet.size()) return;
  std::ranges::copy(packet, room.begin());
  sender_.commit(packet.size());
}

// --- All of it ---

HostSwitch::Connection* HostSwitch::member(unsigned slot) const {
  const auto found = std::ranges::find(connections_, slot, [](const auto& each) { return each->slot; });
  return found == connections_.end() ? nullptr : found->get();
}

bool HostSwitch::has_members() const {
  return std::ranges::any_of(connections_, [](const auto& connection) { return connection->slot != 0; });
}

/// Programs that clean up may remove the socket, and processes could not come any more. Members need this
/// switch: it goes on under the old name.
void HostSwitch::keep_socket(Clock::time_point now) {
  if (now - looked_at_socket_ < kLookInterval) return;
  looked_at_socket_ = now;
  struct stat status {};
  if (lstat(files_.control_socket.c_str(), &status) == 0) return;
  if (auto again = ControlSocket::open(files_)) {
    control_ = std::move(again.value());
  } else if (!has_members()) {
    // The folder is gone, too: no process finds this switch any more, and the next one needs the port.
    stop_wanted_ = true;
  }
}

HostStatus HostSwitch::status() const {
  HostStatus status{.process = getpid(),
                    .has_ipv6 = group_.has_ipv6(),
                    .udp_port = group_.port(),
                    .open_slots = group_.slots(),
                    .members = {},
                    .requests = requests_.counters(),
                    .messages = messages_,
                    .strays = strays_};
  for (const auto& connection : connections_) {
    if (connection->slot == 0) continue;
    status.members.push_back({.slot = connection->slot,
                              .process = connection->process_id,
                              .ports = ports_.held_by(connection->slot)});
  }
  std::ranges::sort(status.members, {}, &HostStatus::Member::slot);
  return status;
}

}  // namespace urnic::drivers
