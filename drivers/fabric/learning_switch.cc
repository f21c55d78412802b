// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/fabric/learning_switch.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "transport/wire/address.h"

namespace urnic::drivers {
namespace {

using transport::wire::Mac;

constexpr auto kCleaningInterval = std::chrono::seconds(10);

// 01:80:c2:00:00:00 to :0f are for the neighbor on a link (pause frames, spanning trees, LLDP); no bridge
// hands them on.
bool is_for_the_link_alone(const Mac& mac) {
  constexpr std::array<std::uint8_t, 5> kReserved{0x01, 0x80, 0xc2, 0x00, 0x00};
  return std::equal(kReserved.begin(), kReserved.end(), mac.octets.begin()) && mac.octets[5] < 0x10;
}

}  // namespace

Switch::Round LearningSwitch::run_round(Clock::time_point now) {
  Round round;
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    forward_from(static_cast<PortNumber>((first_ + i) % ports_.size()), round, now);
  }
  flush();
  if (!ports_.empty()) first_ = static_cast<PortNumber>((first_ + 1u) % ports_.size());
  if (now - last_cleaning_ > kCleaningInterval) {
    table_.forget_old(now);
    last_cleaning_ = now;
  }
  return round;
}

void LearningSwitch::inject(PortNumber from, std::span<const std::byte> frame, Clock::time_point now) {
  deliver_to_all(frame, targets_of(from, frame, now));
  flush();
}

void LearningSwitch::forward_from(PortNumber number, Round& round, Clock::time_point now) {
  read(number, round);
  Port& from = ports_[number];
  PortSet& targets = sources_[number].targets;
  for (; from.has_frames(); ++from.next) {
    const std::span<const std::byte> frame = from.frames[from.next];
    if (targets == 0) targets = targets_of(number, frame, now);
    targets = deliver_to_all(frame, targets);
    if (targets != 0) {
      round.is_waiting = true;
      return;
    }
  }
}

LearningSwitch::PortSet LearningSwitch::targets_of(PortNumber from, std::span<const std::byte> frame,
                                                   Clock::time_point now) {
  if (frame.size() < kHeaderBytes) {
    ++ports_[from].counters.malformed_frames;
    return 0;
  }
  const LastWay& way = sources_[from].last_way;
  const bool is_known = way.generation == table_.generation() && now < way.until &&
                        std::memcmp(way.addresses.data(), frame.data(), way.addresses.size()) == 0;
  return is_known ? way.targets : look_up(from, frame, now);
}

LearningSwitch::PortSet LearningSwitch::look_up(PortNumber from, std::span<const std::byte> frame,
                                                Clock::time_point now) {
  const Mac destination = destination_of(frame);
  const Mac source = source_of(frame);
  if (source.is_multicast()) {
    ++ports_[from].counters.malformed_frames;
    return 0;
  }
  table_.learn(source, from, now);
  const PortSet itself = PortSet{1} << from;
  if (destination.is_multicast()) {
    if (is_for_the_link_alone(destination)) return 0;
  } else if (const auto known = table_.find(destination)) {
    LastWay& way = sources_[from].last_way;
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
LearningSwitch::PortSet LearningSwitch::deliver_to_all(std::span<const std::byte> frame, PortSet targets) {
  PortSet waiting = 0;
  for (; targets != 0; targets &= targets - 1) {
    const int number = std::countr_zero(targets);
    if (!deliver(frame, ports_[static_cast<std::size_t>(number)])) waiting |= PortSet{1} << number;
  }
  return waiting;
}

}  // namespace urnic::drivers
