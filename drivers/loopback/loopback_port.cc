// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/loopback/loopback_port.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "transport/wire/byte_order.h"
#include "transport/wire/ethernet.h"
#include "transport/wire/internet_checksum.h"

namespace urnic::drivers {
namespace {

using transport::wire::EtherType;
using transport::wire::Mac;

/// Slots are whole cache lines.
constexpr std::size_t kAlignment = 64;

/// Without glibc's wrappers, which librspreload replaces by its own.
void signal(int event_fd) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const long written = syscall(SYS_write, event_fd, &one, sizeof one);
}
void drain(int event_fd) {
  std::uint64_t count;
  [[maybe_unused]] const long read = syscall(SYS_read, event_fd, &count, sizeof count);
}

/// Whether it is ARP, or ICMPv6, by which neighbors are found.
bool looks_for_neighbors(std::span<const std::byte> frame) {
  constexpr std::size_t kEtherTypeAt = 12;
  constexpr std::size_t kIpv6NextHeaderAt = 14 + 6;
  const auto type = static_cast<EtherType>(transport::wire::load_u16(frame, kEtherTypeAt));
  if (type == EtherType::kArp) return true;
  if (type != EtherType::kIpv6 || frame.size() <= kIpv6NextHeaderAt) return false;
  return transport::wire::load_u8(frame, kIpv6NextHeaderAt) ==
         transport::to_integer(transport::wire::IpProtocol::kIcmpv6);
}

/// Whether others and we ourselves are to receive it.
bool is_for_group(const Mac& destination, std::span<const std::byte> frame) {
  return destination.is_multicast() && !looks_for_neighbors(frame);
}

bool add_to_epoll(int epoll_fd, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

}  // namespace

// Without descriptors left the port still works: it has no wake_fd() and gets polled.
LoopbackPort::LoopbackPort(const Mac& own, std::unique_ptr<nic::PacketPort> wire, std::size_t max_frame_bytes)
    : own_(own),
      wire_(std::move(wire)),
      max_frame_bytes_(wire_ ? wire_->max_frame_bytes() : max_frame_bytes),
      slot_bytes_((max_frame_bytes_ + kAlignment - 1) / kAlignment * kAlignment),
      slots_(std::make_unique_for_overwrite<std::byte[]>(kSlots * slot_bytes_)),
      lengths_(kSlots) {
  event_ = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wire_) {
    wake_fd_ = event_.get();
    return;
  }
  epoll_ = Descriptor(epoll_create1(EPOLL_CLOEXEC));
  if (wire_->wake_fd() >= 0 && add_to_epoll(epoll_.get(), event_.get()) &&
      add_to_epoll(epoll_.get(), wire_->wake_fd())) {
    wake_fd_ = epoll_.get();
  }
}

// Neither side starves the other: own frames get half of the room first, then the wire, then own frames the
// rest.
std::size_t LoopbackPort::receive(std::span<nic::ReceivedFrame> frames) {
  released_ = first_;
  if (!wire_) return receive_own(frames);
  std::size_t count = receive_own(frames.first((frames.size() + 1) / 2));
  count += wire_->receive(frames.subspan(count));
  return count + receive_own(frames.subspan(count));
}

std::size_t LoopbackPort::receive_own(std::span<nic::ReceivedFrame> frames) {
  const std::size_t count = std::min(frames.size(), end_ - first_);
  for (std::size_t i = 0; i < count; ++i, ++first_) {
    frames[i] = std::span<const std::byte>(slot(first_), lengths_[first_ % kSlots]);
    own_statistics_.received_bytes += frames[i].size();
  }
  own_statistics_.received_frames += count;
  return count;
}

// With a wire the frame is written into the wire's memory, because that is where nearly all of them go.
nic::Room LoopbackPort::reserve_to(const Mac& destination) {
  if (!wire_) return ring_is_full() ? nic::Room() : std::span(slot(end_), max_frame_bytes_);
  if (ring_is_full()) [[unlikely]] {
    if (destination == own_) return nic::Room::none(nic::Room::Refusal::kStation);
    if (destination.is_multicast()) return nic::Room::none(nic::Room::Refusal::kShared);
  }
  const nic::Room room = wire_->reserve_to(destination);
  wire_room_ = room.bytes();
  const bool may_stay_here = destination == own_ || destination.is_multicast();
  return may_stay_here ? room.with_icrc() : room;
}

void LoopbackPort::commit(std::size_t length) {
  assert(length >= transport::wire::Ethernet::kMinBytes && length <= max_frame_bytes_);
  const std::span<const std::byte> frame = wire_ ? std::span<const std::byte>(wire_room_.first(length))
                                                 : std::span<const std::byte>(slot(end_), length);
  const Mac destination = transport::wire::load_address<Mac>(frame, 0);
  const bool goes_both_ways = is_for_group(destination, frame);
  if (destination != own_ && !goes_both_ways) {
    if (wire_) {
      wire_->commit(length);
    } else {
      ++own_statistics_.dropped_frames;
    }
    return;
  }
  if (wire_) {
    assert(!ring_is_full());
    std::memcpy(slot(end_), frame.data(), length);  // the wire's room stays reserved for the next frame
  }
  if (goes_both_ways && wire_) wire_->commit(length);
  keep(length);
}

/// Such a room was for another station.
void LoopbackPort::commit_without_icrc(std::size_t length) {
  wire_->commit_without_icrc(length);
}

void LoopbackPort::commit_run(std::size_t length, nic::RunShape shape) {
  wire_->commit_run(length, shape);
}

/// The frame in the next slot has come to stay.
void LoopbackPort::keep(std::size_t length) {
  assert(!ring_is_full());
  if (armed_ && !signalled_) {
    signal(event_.get());
    signalled_ = true;
  }
  lengths_[end_ % kSlots] = length;
  ++end_;
  ++own_statistics_.sent_frames;
  own_statistics_.sent_bytes += length;
}

void LoopbackPort::flush() {
  if (wire_) wire_->flush();
}

bool LoopbackPort::is_drained() {
  return ring_is_empty() && (!wire_ || wire_->is_drained());
}

bool LoopbackPort::arm() {
  armed_ = true;
  const bool wire_has_frames = wire_ && wire_->arm();
  return wire_has_frames || !ring_is_empty();
}

void LoopbackPort::disarm() {
  armed_ = false;
  if (signalled_) {
    drain(event_.get());
    signalled_ = false;
  }
  if (wire_) wire_->disarm();
}

nic::PacketPort::Statistics LoopbackPort::statistics() const {
  Statistics sum = own_statistics_;
  if (wire_) {
    const Statistics wire = wire_->statistics();
    sum.received_frames += wire.received_frames;
    sum.received_bytes += wire.received_bytes;
    sum.sent_frames += wire.sent_frames;
    sum.sent_bytes += wire.sent_bytes;
    sum.dropped_frames += wire.dropped_frames;
    sum.direct_links = wire.direct_links;
    sum.refused_links = wire.refused_links;
  }
  return sum;
}

std::string LoopbackPort::description() const {
  return wire_ ? wire_->description() : "loopback";
}

}  // namespace urnic::drivers
