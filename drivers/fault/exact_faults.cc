// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/fault/exact_faults.h"

#include <fmt/core.h>

#include <algorithm>
#include <variant>

#include "drivers/fault/chance.h"
#include "drivers/fault/frame_repair.h"
#include "transport/wire/headers.h"

namespace urnic::drivers {
namespace {

using transport::to_integer;
using transport::wire::Aeth;
using transport::wire::Bth;
using transport::wire::Frame;
using transport::wire::Headers;
using transport::wire::OpcodeInfo;
using transport::wire::Operation;

using Action = ExactFault::Action;

constexpr std::string_view name_of(Way way) {
  return way == Way::kSent ? "sent" : "received";
}

Part part_of(const OpcodeInfo& row) {
  if (row.is_request) return Part::kRequest;
  const bool is_answer = row.exists() && row.operation != Operation::kCongestionNotification;
  return is_answer ? Part::kAnswer : Part::kNeither;
}

std::optional<transport::SyndromeKind> syndrome_of(const OpcodeInfo& row, std::span<const std::byte> packet) {
  if (!has(row.headers, Headers::kAeth) || packet.size() < Bth::kBytes + Aeth::kBytes) return std::nullopt;
  return transport::kind_of(Aeth::parse(packet.subspan(Bth::kBytes)).syndrome);
}

}  // namespace

ExactFaults::ExactFaults(const std::vector<ExactFault>& faults, std::uint64_t seed, nic::Medium medium)
    : random_(seed), medium_(medium) {
  for (const ExactFault& fault : faults) lines_.push_back({.fault = fault});
}

ExactFaults::Fate ExactFaults::judge(Way way, std::span<const std::byte> frame) {
  Fate fate;
  const auto packet = look(way, frame);
  if (!packet) return fate;
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    if (!strikes(lines_[i], *packet)) continue;
    const ExactFault& fault = lines_[i].fault;
    switch (fault.action) {
      case Action::kDrop:
        fate.is_lost = true;
        break;
      case Action::kDuplicate:
        fate.is_duplicated = true;
        break;
      case Action::kReorder:
        fate.behind = std::max(fate.behind, fault.behind);
        break;
      case Action::kDelay:
        fate.delay = std::max(fate.delay, fault.delay);
        break;
      case Action::kCorrupt:
      case Action::kMarkCe:
      case Action::kSet:
        fate.changes |= std::uint64_t{1} << i;
        break;
    }
  }
  return fate.is_lost ? Fate{.is_lost = true} : fate;
}

std::optional<RocePacket> ExactFaults::look(Way way, std::span<const std::byte> bytes) {
  const auto frame = read_frame(medium_, bytes);
  if (!frame) return std::nullopt;
  const Bth bth = Bth::parse(frame->ib);
  const OpcodeInfo& row = info(bth.opcode);
  ++packets_[to_integer(way)];
  const auto place = history_.note({.way = way,
                                    .source = frame->source_gid(),
                                    .destination = frame->destination_gid(),
                                    .destination_qp = bth.destination_qp,
                                    .psn = bth.psn,
                                    .part = part_of(row)});
  return RocePacket{.way = way,
                    .opcode = bth.opcode,
                    .syndrome = syndrome_of(row, frame->ib),
                    .destination_qp = bth.destination_qp,
                    .psn = bth.psn,
                    .place = place};
}

/// Whether the fault hits this packet; it counts those that fit.
bool ExactFaults::strikes(Line& line, const RocePacket& packet) {
  const ExactFault& fault = line.fault;
  if (!fault.packets.includes(packet)) return false;
  ++line.fitting;
  if (line.fitting < fault.nth || line.hits == fault.times) return false;
  if (fault.probability != 1 && !happens(fault.probability, random_)) return false;
  if (line.hits++ == 0) line.first_hit = Hit{.packet = packet, .number = packets_[to_integer(packet.way)]};
  return true;
}

void ExactFaults::change(const Fate& fate, std::span<std::byte> bytes) {
  if (fate.changes == 0) return;
  FrameRepair repair(medium_, bytes);
  bool is_icrc_right = true;
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    if ((fate.changes >> i & 1u) == 0) continue;
    const ExactFault& fault = lines_[i].fault;
    if (fault.action == Action::kMarkCe) {
      repair.mark_ce();
      continue;
    }
    if (fault.action == Action::kCorrupt) corrupt(fault, repair.packet());
    for (const ExactFault::FieldValue& field : fault.fields) {
      write_packet_field(*field.field, field.value, repair.packet());
    }
    is_icrc_right = is_icrc_right && fault.is_icrc_right;
  }
  repair.finish(is_icrc_right);
}

/// Flips one bit. A byte that the packet has not is its last one.
void ExactFaults::corrupt(const ExactFault& fault, std::span<std::byte> packet) {
  const std::uint64_t drawn = random_();
  const std::size_t byte = std::min(fault.byte.value_or((drawn >> 3) % packet.size()), packet.size() - 1);
  packet[byte] ^= std::byte{1} << (drawn & 7u);
}

std::vector<std::string> ExactFaults::report() const {
  std::vector<std::string> result;
  for (const Line& line : lines_) result.push_back(describe(line));
  if (history_.untracked() > 0) {
    result.push_back(
        fmt::format("{} packets went to more than {} queue pairs: no fault with qp=, psn= or again= saw them",
                    history_.untracked(), PacketHistory::kMaxFlows));
  }
  return result;
}

std::string ExactFaults::describe(const Line& line) const {
  if (!line.first_hit) {
    return fmt::format("fault {} hit nothing: of {} packets sent and {} received, {} fit", line.fault.text,
                       packets_[to_integer(Way::kSent)], packets_[to_integer(Way::kReceived)], line.fitting);
  }
  const auto& [packet, number] = *line.first_hit;
  return fmt::format(
      "fault {} hit {} of {} packets that fit; first {} packet {}: {}, PSN {}, to queue pair {:#x}",
      line.fault.text, line.hits, line.fitting, name_of(packet.way), number, info(packet.opcode).name,
      packet.psn.value(), to_integer(packet.destination_qp));
}

}  // namespace urnic::drivers
