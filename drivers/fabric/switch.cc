// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/fabric/switch.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

namespace urnic::drivers {
namespace {

using transport::wire::Mac;

Mac mac_at(std::span<const std::byte> frame, std::size_t offset) {
  Mac mac;
  std::memcpy(mac.octets.data(), frame.data() + offset, mac.octets.size());
  return mac;
}

}  // namespace

Mac Switch::destination_of(std::span<const std::byte> frame) {
  return mac_at(frame, 0);
}

Mac Switch::source_of(std::span<const std::byte> frame) {
  return mac_at(frame, Mac::kBytes);
}

Switch::PortNumber Switch::add(std::unique_ptr<nic::PacketPort> port) {
  assert(ports_.size() < kMaxPorts);
  ports_.emplace_back().port = std::move(port);
  return static_cast<PortNumber>(ports_.size() - 1);
}

void Switch::read(PortNumber number, Round& round) {
  Port& from = ports_[number];
  if (from.has_frames()) return;
  from.count = from.port->receive(from.frames);
  from.next = 0;
  if (from.count > 0) disarm(number);
  round.frames += from.count;
}

bool Switch::deliver(std::span<const std::byte> frame, Port& to) {
  if (frame.size() > to.port->max_frame_bytes()) {
    ++to.counters.too_long_frames;
    return true;
  }
  std::span<std::byte> room = to.port->reserve();
  if (room.empty()) {
    to.port->flush();
    room = to.port->reserve();
  }
  if (room.empty()) return false;
  std::memcpy(room.data(), frame.data(), frame.size());
  to.port->commit(frame.size());
  return true;
}

void Switch::flush() {
  for (Port& port : ports_) port.port->flush();
}

bool Switch::arm() {
  bool frames_wait = false;
  for (Port& port : ports_) {
    if (port.has_frames() || std::exchange(port.is_armed, true)) continue;
    frames_wait |= port.port->arm();
  }
  return frames_wait;
}

void Switch::disarm(PortNumber number) {
  Port& port = ports_[number];
  if (std::exchange(port.is_armed, false)) port.port->disarm();
}

bool Switch::is_drained() {
  return std::all_of(ports_.begin(), ports_.end(), [](Port& port) { return port.port->is_drained(); });
}

}  // namespace urnic::drivers
