// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/af_xdp/af_xdp_port.h"

#include <fmt/core.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>

#include "drivers/shortest_frame.h"
#include "transport/wire/ethernet.h"

namespace urnic::drivers {

namespace {

Result<NetworkInterface, Error> usable_interface(const std::string& name, std::uint16_t link_mtu) {
  const auto found = find_interface(name);
  if (!found) return found.error();
  const NetworkInterface& interface = found.value();
  const auto refuse = [&](int code, const std::string& reason) {
    return interface_error(code, name, reason);
  };
  if (!interface.is_up) return refuse(ENETDOWN, fmt::format("is down (ip link set {} up)", name));
  if (interface.mtu < link_mtu) {
    return refuse(EMSGSIZE, fmt::format("its MTU is {}, less than the NIC's {}", interface.mtu, link_mtu));
  }
  if (interface.mtu > kMaxAfXdpMtu) {
    return refuse(EMSGSIZE,
                  fmt::format("its MTU is {}, and AF_XDP takes frames of one page: at most {} (ip link "
                              "set {} mtu {}); af_packet takes larger ones",
                              interface.mtu, kMaxAfXdpMtu, name, kMaxAfXdpMtu));
  }
  if (interface.receive_queues > 1) {
    return refuse(
        EOPNOTSUPP,
        fmt::format("it spreads frames among {} receive queues, and af_xdp takes only the frames of the "
                    "first one: ethtool -L {} combined 1 (or rx 1)",
                    interface.receive_queues, name));
  }
  return interface;
}

}  // namespace

Result<void, Error> check_af_xdp(const std::string& interface, std::uint16_t link_mtu) {
  const auto found = usable_interface(interface, link_mtu);
  if (!found) return found.error();
  return XdpProgram::check(interface);
}

Result<std::unique_ptr<AfXdpPort>, Error> AfXdpPort::open(const std::string& interface,
                                                          std::uint16_t link_mtu) {
  const auto found = usable_interface(interface, link_mtu);
  if (!found) return found.error();
  auto ear = hear_everything(interface, found.value(), "af_xdp");
  if (!ear) return ear.error();
  auto socket = XdpSocket::open(interface, found.value(), kFrames);
  if (!socket) return socket.error();
  const int fd = socket.value().socket.get();
  auto program = XdpProgram::attach(interface, found.value(), fd);
  if (!program) return program.error();

  // Edge-triggered: once its interface is gone, the socket stays readable.
  Descriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{.events = EPOLLIN | EPOLLET, .data = {.fd = fd}};
  if (!epoll || epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    return interface_error(errno, interface,
                           fmt::format("cannot make a wake-up descriptor: {}", std::strerror(errno)));
  }
  return std::unique_ptr<AfXdpPort>(new AfXdpPort(interface, link_mtu, std::move(socket.value()),
                                                  std::move(program.value()), std::move(ear.value()),
                                                  std::move(epoll)));
}

AfXdpPort::AfXdpPort(const std::string& interface, std::uint16_t link_mtu, XdpSocket socket,
                     XdpProgram program, Descriptor ear, Descriptor epoll)
    : max_frame_bytes_(link_mtu + transport::wire::Ethernet::kMinBytes),
      description_(fmt::format("af_xdp {}", interface)),
      socket_(std::move(socket)),
      ear_(std::move(ear)),
      epoll_(std::move(epoll)),
      program_(std::move(program)) {
  for (std::uint32_t i = 0; i < XdpSocket::kReceiveEntries; ++i) {
    socket_.fill.next(i) = std::uint64_t{i} * Umem::kFrameBytes;
  }
  socket_.fill.publish(XdpSocket::kReceiveEntries);
  for (std::uint32_t i = XdpSocket::kReceiveEntries; i < kFrames; ++i) {
    free_[free_count_++] = std::uint64_t{i} * Umem::kFrameBytes;
  }
}

std::size_t AfXdpPort::receive(std::span<nic::ReceivedFrame> frames) {
  give_frames_back();
  const auto limit = static_cast<std::uint32_t>(std::min<std::size_t>(frames.size(), kBurst));
  held_count_ = std::min(socket_.received.available(), limit);
  std::size_t count = 0;
  for (std::uint32_t i = 0; i < held_count_; ++i) {
    const xdp_desc& frame = socket_.received.peek(i);
    held_[i] = frame.addr;
    if (frame.len > max_frame_bytes_) [[unlikely]] {
      ++statistics_.dropped_frames;
      continue;
    }
    statistics_.received_bytes += frame.len;
    frames[count++] = std::span<const std::byte>(socket_.umem.at(frame.addr), frame.len);
  }
  if (held_count_ > 0) socket_.received.release(held_count_);
  statistics_.received_frames += count;
  return count;
}

// There is room: the ring takes all frames that are not for sending.
void AfXdpPort::give_frames_back() {
  if (held_count_ == 0) return;
  for (std::uint32_t i = 0; i < held_count_; ++i) socket_.fill.next(i) = held_[i];
  socket_.fill.publish(held_count_);
  held_count_ = 0;
}

nic::Room AfXdpPort::reserve_to(const transport::wire::Mac&) {
  if (queued_ == kBurst) return {};
  if (reserved_ == kNoFrame) {
    if (free_count_ == 0) collect_sent();
    if (free_count_ == 0) return {};
    reserved_ = free_[--free_count_];
  }
  return std::span(socket_.umem.at(reserved_), max_frame_bytes_);
}

void AfXdpPort::commit(std::size_t length) {
  assert(reserved_ != kNoFrame && queued_ < kBurst);
  assert(length <= max_frame_bytes_);
  if (length < kShortestFrame) {
    std::memset(socket_.umem.at(reserved_) + length, 0, kShortestFrame - length);
    length = kShortestFrame;
  }
  queue_[queued_++] = {.addr = reserved_, .len = static_cast<std::uint32_t>(length), .options = 0};
  reserved_ = kNoFrame;
  if (queued_ == kBurst) flush();
}

void AfXdpPort::flush() {
  if (queued_ == 0 && socket_.transmit.waiting() == 0) return;
  // Frames that the kernel has been shown cannot be taken back, so ask first where it took none the last
  // time.
  if (is_down_) send_shown();
  if (is_down_) return drop_queue();
  // The kernel sends while there is room in the ring of sent frames.
  collect_sent();
  show_queue();
  send_shown();
  if (queued_ > 0 || socket_.transmit.waiting() > 0) {
    collect_sent();
    show_queue();
    send_shown();
  }
  if (queued_ > 0 && patience_.is_over([] { return false; })) drop_queue();
}

/// Puts what there is room for into the ring.
void AfXdpPort::show_queue() {
  const std::uint32_t count = std::min(queued_, socket_.transmit.room());
  if (count == 0) return;
  for (std::uint32_t i = 0; i < count; ++i) {
    socket_.transmit.next(i) = queue_[i];
    statistics_.sent_bytes += queue_[i].len;
  }
  socket_.transmit.publish(count);
  statistics_.sent_frames += count;
  queued_ -= count;
  std::copy_n(queue_.begin() + count, queued_, queue_.begin());
}

/// Has the kernel send what is in the ring. A call sends a few frames; it is repeated while that helps.
void AfXdpPort::send_shown() {
  is_down_ = false;
  std::uint32_t before = 0;
  std::uint32_t waiting = socket_.transmit.waiting();
  do {
    before = waiting;
    // A system call in place of sendto(), which is a point of cancellation, and which librspreload replaces.
    const long result = syscall(SYS_sendto, socket_.socket.get(), nullptr, 0, MSG_DONTWAIT, nullptr, 0);
    if (result < 0 && (errno == ENETDOWN || errno == ENXIO)) {
      is_down_ = true;
      return;
    }
    waiting = socket_.transmit.waiting();
    if (waiting < before) patience_.on_progress();
  } while (waiting > 0 && waiting < before);
}

void AfXdpPort::collect_sent() {
  const std::uint32_t count = socket_.completion.available();
  if (count == 0) return;
  for (std::uint32_t i = 0; i < count; ++i) free_[free_count_++] = socket_.completion.peek(i);
  socket_.completion.release(count);
}

void AfXdpPort::drop_queue() {
  statistics_.dropped_frames += queued_;
  for (std::uint32_t i = 0; i < queued_; ++i) free_[free_count_++] = queue_[i].addr;
  queued_ = 0;
}

bool AfXdpPort::arm() {
  epoll_event event;
  epoll_wait(epoll_.get(), &event, 1, 0);
  return socket_.received.available() > 0;
}

}  // namespace urnic::drivers
