#include "drivers/fabric/switch.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <utility>

#include "transport/wire/address.h"

namespace urnic::drivers {
namespace {

using transport::wire::Mac;

constexpr std::size_t kHeaderBytes = 14;
constexpr auto kCleaningInterval = std::chrono::seconds(10);

Mac mac_at(std::span<const std::byte> frame, std::size_t offset) {
  Mac mac;
  std::memcpy(mac.octets.data(), frame.data() + offset, mac.octets.size());
  return mac;
}

// 01:80:c2:00:00:00 to :0f are for the neighbor on a link (pause frames, spanning trees, LLDP); no bridge
// hands them on.
bool is_for_the_link_alone(const Mac& mac) {
  constexpr std::array<std::uint8_t, 5> kReserved{0x01, 0x80, 0xc2, 0x00, 0x00};
  return std::equal(kReserved.begin(), kReserved.end(), mac.octets.begin()) && mac.octets[5] < 0x10;
}

}  // namespace

Switch::PortNumber Switch::add(std::unique_ptr<nic::PacketPort> port) {
  assert(ports_.size() < kMaxPorts);
  ports_.emplace_back().port = std::move(port);
  return static_cast<PortNumber>(ports_.size() - 1);
}

Switch::Round Switch::run_round(Clock::time_point now) {
  Round round;
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    forward_from(static_cast<PortNumber>((first_ + i) % ports_.size()), round, now);
  }
  for (Port& port : ports_) port.port->flush();
  if (!ports_.empty()) first_ = static_cast<PortNumber>((first_ + 1u) % ports_.size());
  if (now - last_cleaning_ > kCleaningInterval) {
    table_.forget_old(now);
    last_cleaning_ = now;
  }
  return round;
}

void Switch::forward_from(PortNumber number, Round& round, Clock::time_point now) {
  Port& from = ports_[number];
  if (from.next == from.count) {
    from.count = from.port->receive(from.frames);
    from.next = 0;
    if (from.count > 0) disarm(number);
    round.frames += from.count;
  }
  for (; from.next < from.count; ++from.next) {
    const std::span<const std::byte> frame = from.frames[from.next];
    if (from.targets == 0) from.targets = targets_of(number, frame, now);
    from.targets = deliver(frame, from.targets);
    if (from.targets != 0) {
      round.is_waiting = true;
      return;
    }
  }
}

Switch::PortSet Switch::targets_of(PortNumber from, std::span<const std::byte> frame, Clock::time_point now) {
  if (frame.size() < kHeaderBytes) {
    ++ports_[from].counters.malformed_frames;
    return 0;
  }
  const LastWay& way = ports_[from].last_way;
  const bool is_known = way.generation == table_.generation() && now < way.until &&
                        std::memcmp(way.addresses.data(), frame.data(), way.addresses.size()) == 0;
  return is_known ? way.targets : look_up(from, frame, now);
}

Switch::PortSet Switch::look_up(PortNumber from, std::span<const std::byte> frame, Clock::time_point now) {
  const Mac destination = mac_at(frame, 0);
  const Mac source = mac_at(frame, destination.octets.size());
  if (source.is_multicast()) {
    ++ports_[from].counters.malformed_frames;
    return 0;
  }
  table_.learn(source, from, now);
  const PortSet itself = PortSet{1} << from;
  if (destination.is_multicast()) {
    if (is_for_the_link_alone(destination)) return 0;
  } else if (const auto known = table_.find(destination)) {
    LastWay& way = ports_[from].last_way;
    std::memcpy(way.addresses.data(), frame.data(), way.addresses.size());
    way.targets = (PortSet{1} << *known) & ~itself;
    way.generation = table_.generation();
    way.until = now + kLearnAgainAfter;
    return way.targets;
  }
  ++ports_[from].counters.flooded_frames;
  const PortSet all = ~PortSet{0} >> (kMaxPorts - ports_.size());
  return all & ~itself;
}

// Returns those that have no room now.
Switch::PortSet Switch::deliver(std::span<const std::byte> frame, PortSet targets) {
  PortSet waiting = 0;
  for (; targets != 0; targets &= targets - 1) {
    const int number = std::countr_zero(targets);
    if (!deliver_to(ports_[static_cast<std::size_t>(number)], frame)) waiting |= PortSet{1} << number;
  }
  return waiting;
}

bool Switch::deliver_to(Port& to, std::span<const std::byte> frame) {
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

bool Switch::arm() {
  bool frames_wait = false;
  for (Port& port : ports_) {
    if (std::exchange(port.is_armed, true)) continue;
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
