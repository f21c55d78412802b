#include "drivers/fault/fault_port.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "transport/wire/byte_order.h"
#include "transport/wire/ipv4.h"
#include "transport/wire/ipv6.h"
#include "transport/wire/udp.h"

namespace urnic::drivers {
namespace {

/// How many frames receive() fetches in one go.
constexpr std::size_t kBurst = 32;

/// So that the two directions of a port do not suffer alike.
constexpr std::uint64_t kReceiveSalt = 0x9e3779b97f4a7c15u;
/// Nor alike with what the exact faults draw.
constexpr std::uint64_t kExactSalt = 0xbf58476d1ce4e5b9u;

void flip(std::span<std::byte> frame, std::size_t bit) {
  frame[bit / 8] ^= std::byte{1} << (bit % 8);
}

/// How much of a frame's beginning is spared.
std::size_t spared_bytes(nic::Medium medium, std::span<const std::byte> frame) {
  if (medium == nic::Medium::kEthernet || frame.empty()) return 0;
  const bool is_ipv4 = std::to_integer<unsigned>(frame[0]) >> 4 == 4;
  const std::size_t headers = (is_ipv4 ? transport::wire::Ipv4::kMinBytes : transport::wire::Ipv6::kBytes) +
                              transport::wire::Udp::kBytes;
  return std::min(headers, frame.size());
}

}  // namespace

// Exact faults have to see both directions.
FaultPort::FaultPort(std::unique_ptr<nic::PacketPort> port, const FaultSpec& spec, Tell tell)
    : port_(std::move(port)),
      spec_(spec),
      exact_(spec.exact, spec.seed ^ kExactSalt, port_->medium()),
      tell_(std::move(tell)) {
  const FaultSpec harmless;
  const auto open = [&](std::optional<Line>& line, bool is_afflicted, std::uint64_t seed) {
    if (!is_afflicted && exact_.is_empty()) return;
    line.emplace(is_afflicted ? spec : harmless, seed, port_->max_frame_bytes());
  };
  open(transmit_, spec.afflicts_transmit(), spec.seed);
  open(receive_, spec.afflicts_receive(), spec.seed ^ kReceiveSalt);
}

FaultPort::~FaultPort() {
  tell_once();
}

void FaultPort::write_out() {
  tell_once();
  port_->write_out();
}

void FaultPort::tell_once() {
  if (const Tell tell = std::exchange(tell_, {})) {
    for (const std::string& line : exact_.report()) tell(line);
  }
}

// --- Receive ---

// A spared frame is passed on where it is. All others are copied into the stash and come from there, most of
// them in the same breath.
std::size_t FaultPort::receive(std::span<std::span<const std::byte>> frames) {
  if (!receive_) return port_->receive(frames);
  receive_->stash.release_taken();
  std::size_t count = take_due(frames);

  std::array<std::span<const std::byte>, kBurst> burst;
  const std::size_t wanted = std::min(frames.size() - count, burst.size());
  const std::size_t received = port_->receive(std::span(burst).first(wanted));
  for (std::size_t i = 0; i < received; ++i) {
    if (const auto spared = afflict(burst[i])) frames[count++] = *spared;
    const std::size_t still_to_come = received - i - 1;
    count += take_due(frames.subspan(count, frames.size() - count - still_to_come));
  }
  return count;
}

std::optional<std::span<const std::byte>> FaultPort::afflict(std::span<const std::byte> frame) {
  Line& line = *receive_;
  line.stash.pass();
  const Fate fate = draw(Way::kReceived, line, frame);
  if (fate.is_lost) {
    ++line.counters.lost;
    return std::nullopt;
  }
  if (fate.length) {
    ++line.counters.truncated;
    frame = frame.first(*fate.length);
  }
  bool is_stashed = false;
  if (fate.changes_bytes() || fate.behind > 0) {
    const std::span<std::byte> copy = line.stash.add(frame, fate.behind);
    is_stashed = !copy.empty();
    if (is_stashed && fate.changes_bytes()) {
      change(line, fate, copy);
      frame = copy;
    }
    line.counters.reordered += is_stashed && fate.behind > 0;
  }
  if (fate.is_duplicated) line.counters.duplicated += !line.stash.add(frame, 0).empty();
  return is_stashed ? std::nullopt : std::optional(frame);
}

/// A frame that an exact fault hits is spared by the dice, which are thrown all the same.
FaultPort::Fate FaultPort::draw(Way way, Line& line, std::span<const std::byte> frame) {
  const FaultDice::Fate dice = throw_dice(line.dice, frame);
  const ExactFaults::Fate exact = exact_.is_empty() ? ExactFaults::Fate{} : exact_.judge(way, frame);
  if (exact.is_hit()) {
    return {.is_lost = exact.is_lost,
            .is_duplicated = exact.is_duplicated,
            .behind = exact.behind,
            .exact = exact};
  }
  return {.is_lost = dice.is_lost,
          .is_duplicated = dice.is_duplicated,
          .behind = dice.is_reordered ? spec_.gap : 0,
          .length = dice.length,
          .flipped_bit = dice.flipped_bit};
}

void FaultPort::change(Line& line, const Fate& fate, std::span<std::byte> frame) {
  ++line.counters.corrupted;
  if (fate.flipped_bit) flip(frame, *fate.flipped_bit);
  exact_.change(fate.exact, frame);
}

FaultDice::Fate FaultPort::throw_dice(FaultDice& dice, std::span<const std::byte> frame) const {
  FaultDice::Fate fate = dice.draw(frame.size());
  const std::size_t spared = spared_bytes(port_->medium(), frame);
  if (spared == 0) return fate;
  if (fate.length) fate.length = std::max(*fate.length, spared);
  const std::size_t hurt_bits = 8 * (fate.length.value_or(frame.size()) - spared);
  if (hurt_bits == 0) fate.flipped_bit.reset();
  if (fate.flipped_bit) fate.flipped_bit = 8 * spared + *fate.flipped_bit % hurt_bits;
  return fate;
}

std::size_t FaultPort::take_due(std::span<std::span<const std::byte>> out) {
  std::size_t count = 0;
  while (count < out.size()) {
    const auto frame = receive_->stash.take_due();
    if (!frame) break;
    out[count++] = *frame;
  }
  return count;
}

bool FaultPort::arm() {
  const bool port_has_frames = port_->arm();
  return port_has_frames || (receive_ && receive_->stash.has_due());
}

// --- Transmit ---

std::span<std::byte> FaultPort::reserve_to(const transport::wire::Mac& destination) {
  if (transmit_ && room_.empty()) send_due();
  room_ = port_->reserve_to(destination);
  return room_;
}

void FaultPort::commit(std::size_t length) {
  if (!transmit_) {
    port_->commit(length);
    return;
  }
  Line& line = *transmit_;
  line.stash.pass();
  const Fate fate = draw(Way::kSent, line, room_.first(length));
  const std::span<std::byte> frame = room_.first(fate.length.value_or(length));
  room_ = {};
  if (fate.is_lost) {
    ++line.counters.lost;  // the port's room stays for the next frame
  } else {
    line.counters.truncated += fate.length.has_value();
    if (fate.changes_bytes()) change(line, fate, frame);
    if (fate.is_duplicated) line.counters.duplicated += !line.stash.add(frame, 0).empty();
    if (fate.behind > 0 && !line.stash.add(frame, fate.behind).empty()) {
      ++line.counters.reordered;
    } else {
      port_->commit(frame.size());
    }
  }
  send_due();
}

/// Sends what waited long enough, as far as the port takes it. Never while the engine holds a reserved room,
/// which would be used for it.
void FaultPort::send_due() {
  FrameStash& stash = transmit_->stash;
  for (auto frame = stash.due(); !frame.empty(); frame = stash.due()) {
    const std::span<std::byte> room =
        port_->reserve_to(transport::wire::load_address<transport::wire::Mac>(frame, 0));
    if (room.empty()) return;
    std::memcpy(room.data(), frame.data(), frame.size());
    stash.take_due();
    stash.release_taken();
    port_->commit(frame.size());
  }
}

void FaultPort::flush() {
  if (transmit_ && room_.empty()) send_due();
  port_->flush();
}

bool FaultPort::is_drained() {
  return !(transmit_ && transmit_->stash.has_due()) && port_->is_drained();
}

std::string FaultPort::description() const {
  return fmt::format("{}, with faults {}", port_->description(), spec_.to_string());
}

}  // namespace urnic::drivers
