#include "tools/simulation/seeds/network/sim_port.h"

#include <algorithm>
#include <cassert>
#include <chrono>

namespace urnic::sim {

namespace {

/// After that a port whose path had no room looks again.
constexpr Duration kLookAgain = std::chrono::microseconds(10);
/// A NIC sends 64 packets a round, of requests and of responses each, and a turn without a packet counts as one (Transmitter).
constexpr std::size_t kCrowdedRound = 32;

}  // namespace

SimPort::SimPort(Attachment& at) : at_(at), room_(kMaxFrameBytes) {}

SimPort::~SimPort() {
  take_back_handed_out();
  for (Frame* const frame : committed_) at_.frames.give_back(frame);
}

void SimPort::take_back_handed_out() {
  for (Frame* const frame : handed_out_) at_.frames.give_back(frame);
  handed_out_.clear();
}

std::size_t SimPort::receive(std::span<nic::ReceivedFrame> frames) {
  take_back_handed_out();
  std::size_t count = 0;
  while (count < frames.size() && !at_.inbox.empty()) {
    Frame* const frame = at_.inbox.front();
    at_.inbox.pop_front();
    handed_out_.push_back(frame);
    ++at_.statistics.received_frames;
    at_.statistics.received_bytes += frame->bytes.size();
    at_.tap.on_received(at_.host, *frame);
    frames[count++] = frame->bytes;
  }
  return count;
}

nic::Room SimPort::reserve_to(const transport::wire::Mac&) {
  if (at_.clock.now() < at_.full_until) return {};
  if (at_.faults_on && at_.random.chance(at_.options.port_full)) {
    ++at_.times_full;
    at_.full_until =
        at_.clock.now() + at_.random.between(std::chrono::nanoseconds(1), std::chrono::microseconds(50));
    return {};
  }
  if (!at_.network.path().has_room(at_.host)) {
    ++at_.times_held_up;
    at_.held_up_since = std::min(at_.held_up_since, at_.clock.now());
    at_.full_until = at_.clock.now() + kLookAgain;
    return {};
  }
  at_.held_up_before = at_.held_up();
  at_.held_up_since = transport::kNever;
  return std::span(room_);
}

void SimPort::commit(std::size_t length) {
  assert(length >= 14 && length <= room_.size());
  Frame* const frame = at_.frames.take();
  frame->bytes.assign(room_.begin(), room_.begin() + static_cast<std::ptrdiff_t>(length));
  committed_.push_back(frame);
  ++at_.frames_not_flushed;
}

void SimPort::flush() {
  if (committed_.size() >= kCrowdedRound) {
    at_.crowded_until = at_.clock.now() + std::chrono::nanoseconds(1);
  }
  for (Frame* const frame : committed_) {
    ++at_.statistics.sent_frames;
    at_.statistics.sent_bytes += frame->bytes.size();
    at_.tap.on_sent(at_.host, frame->bytes);
    at_.network.send(at_.host, frame->bytes);
    at_.frames.give_back(frame);
  }
  committed_.clear();
  at_.frames_not_flushed = 0;
}

}  // namespace urnic::sim
