// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/fault/fault_port.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "transport/wire/byte_order.h"

namespace urnic::drivers {
namespace {

using transport::Time;
using transport::wire::Mac;

/// How many frames receive() fetches in one go.
constexpr std::size_t kBurst = 32;

/// Room for frames where they are held back by time: three milliseconds of frames of 4,200 bytes at 10 Gb/s.
constexpr std::size_t kDelaySlots = 1024;

bool has_delays(const FaultSpec& spec) {
  const auto is_delay = [](const ExactFault& fault) { return fault.action == ExactFault::Action::kDelay; };
  return std::any_of(spec.exact.begin(), spec.exact.end(), is_delay);
}

}  // namespace

FaultPort::FaultPort(std::unique_ptr<nic::PacketPort> port, const FaultSpec& spec, const nic::Clock& clock,
                     Tell tell)
    : PortAround(std::move(port)),
      clock_(clock),
      faults_(spec, inner().medium()),
      has_delays_(has_delays(spec)),
      tell_(std::move(tell)) {
  const std::size_t slots = has_delays_ ? kDelaySlots : FrameStash::kSlots;
  const auto make = [&] {
    return Line{.stash = FrameStash(inner().max_frame_bytes(), slots), .counters = {}};
  };
  if (faults_.is_about(Way::kSent)) transmit_.emplace(make());
  if (faults_.is_about(Way::kReceived)) receive_.emplace(make());
}

FaultPort::~FaultPort() {
  tell_once();
}

void FaultPort::write_out() {
  tell_once();
  inner().write_out();
}

void FaultPort::tell_once() {
  if (const Tell tell = std::exchange(tell_, {})) {
    for (const std::string& line : faults_.report()) tell(line);
    const std::uint64_t spared = transmit_counters().spared + receive_counters().spared;
    if (spared > 0) {
      tell(fmt::format("{} frames were not held back: a port holds {} of each direction at most", spared,
                       has_delays_ ? kDelaySlots : FrameStash::kSlots));
    }
  }
}

// --- Receive ---

// A spared frame is passed on where it is. All others are copied into the stash and come from there, most of
// them in the same breath.
std::size_t FaultPort::receive(std::span<nic::ReceivedFrame> frames) {
  if (!receive_) return inner().receive(frames);
  receive_->stash.release_taken();
  const Time time = now();
  std::size_t count = take_due(frames, time);

  std::array<nic::ReceivedFrame, kBurst> burst;
  const std::size_t wanted = std::min(frames.size() - count, burst.size());
  const std::size_t received = inner().receive(std::span(burst).first(wanted));
  has_taken_burst_ = received == wanted;
  for (std::size_t i = 0; i < received; ++i) {
    if (const auto spared = afflict(burst[i], time)) frames[count++] = *spared;
    const std::size_t still_to_come = received - i - 1;
    count += take_due(frames.subspan(count, frames.size() - count - still_to_come), time);
  }
  return count;
}

std::optional<std::span<const std::byte>> FaultPort::afflict(std::span<const std::byte> frame, Time now) {
  Line& line = *receive_;
  line.stash.pass();
  const FrameFate fate = faults_.judge(Way::kReceived, frame);
  if (fate.is_lost) {
    ++line.counters.lost;
    return std::nullopt;
  }
  if (fate.length) {
    ++line.counters.truncated;
    frame = frame.first(*fate.length);
  }
  bool is_stashed = false;
  if (fate.changes_bytes() || fate.is_held_back()) {
    const std::span<std::byte> copy = hold_back(line, frame, fate, now);
    is_stashed = !copy.empty();
    if (is_stashed && fate.changes_bytes()) {
      ++line.counters.corrupted;
      faults_.change(fate, copy);
      frame = copy;
    }
  }
  if (fate.is_duplicated) repeat(line, frame);
  return is_stashed ? std::nullopt : std::optional(frame);
}

std::span<std::byte> FaultPort::hold_back(Line& line, std::span<const std::byte> frame, const FrameFate& fate,
                                          Time now) {
  const bool is_delayed = fate.delay != transport::Duration{};
  const std::span<std::byte> copy =
      line.stash.add(frame, {.gap = fate.behind, .earliest = is_delayed ? now + fate.delay : Time{}});
  const bool is_held = !copy.empty();
  line.counters.spared += !is_held;
  line.counters.reordered += is_held && fate.behind > 0;
  line.counters.delayed += is_held && is_delayed;
  return copy;
}

void FaultPort::repeat(Line& line, std::span<const std::byte> frame) {
  const bool is_held = !line.stash.add(frame, {}).empty();
  ++(is_held ? line.counters.duplicated : line.counters.spared);
}

std::size_t FaultPort::take_due(std::span<nic::ReceivedFrame> out, Time now) {
  std::size_t count = 0;
  while (count < out.size()) {
    const auto frame = receive_->stash.take_due(now);
    if (!frame) break;
    out[count++] = *frame;
  }
  return count;
}

bool FaultPort::arm() {
  const bool port_has_frames = inner().arm();
  return port_has_frames || (receive_ && receive_->stash.has_due(now()));
}

Time FaultPort::next_due() const {
  Time next = inner().next_due();
  if (!has_delays_) return next;
  for (const std::optional<Line>* line : {&transmit_, &receive_}) {
    if (*line) next = std::min(next, (*line)->stash.next_due());
  }
  return next;
}

// --- Transmit ---

nic::Room FaultPort::reserve_to(const Mac& destination) {
  if (transmit_ && room_.empty()) send_due();
  const nic::Room room = inner().reserve_to(destination).with_icrc();
  room_ = room.bytes();
  return room;
}

void FaultPort::commit(std::size_t length) {
  if (!transmit_) {
    inner().commit(length);
    return;
  }
  Line& line = *transmit_;
  line.stash.pass();
  const FrameFate fate = faults_.judge(Way::kSent, room_.first(length));
  const std::span<std::byte> frame = room_.first(fate.length.value_or(length));
  room_ = {};
  if (fate.is_lost) {
    ++line.counters.lost;  // the port's room stays for the next frame
  } else {
    line.counters.truncated += fate.length.has_value();
    if (fate.changes_bytes()) {
      ++line.counters.corrupted;
      faults_.change(fate, frame);
    }
    if (fate.is_duplicated) repeat(line, frame);
    if (!fate.is_held_back() || hold_back(line, frame, fate, now()).empty()) inner().commit(frame.size());
  }
  send_due();
}

/// Sends what waited long enough, as far as the port takes it. Never between a reserve and its commit, when
/// the room would be used for it. A frame whose way is full keeps no other one waiting.
void FaultPort::send_due() {
  FrameStash& stash = transmit_->stash;
  const Time time = now();
  std::size_t left = stash.held();
  for (auto frame = stash.due(time); !frame.empty() && left > 0; frame = stash.due(time), --left) {
    const Mac destination =
        medium() == nic::Medium::kIp ? Mac::broadcast() : transport::wire::load_address<Mac>(frame, 0);
    const nic::Room room = inner().reserve_to(destination);
    if (room.empty() && room.refusal() == nic::Room::Refusal::kPort) return;
    if (room.empty()) {
      stash.put_off_due(time);
      continue;
    }
    std::memcpy(room.bytes().data(), frame.data(), frame.size());
    stash.take_due(time);
    stash.release_taken();
    inner().commit(frame.size());
  }
}

void FaultPort::flush() {
  room_ = {};
  if (transmit_) send_due();
  inner().flush();
}

bool FaultPort::is_drained() {
  const bool something_waits = transmit_ && transmit_->stash.next_due() != transport::kNever;
  return !something_waits && inner().is_drained();
}

std::string FaultPort::description() const {
  return fmt::format("{}, with faults {}", inner().description(), faults_.spec().to_string());
}

}  // namespace urnic::drivers
