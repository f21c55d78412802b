#include "transport/congestion/pacer.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace urnic::transport::congestion {
namespace {

/// Of a packet on Ethernet besides what the transport makes: preamble, addresses and type, IPv4, UDP, ICRC, FCS and the gap
/// between frames.
constexpr std::uint32_t kBytesAround = 8 + 14 + 20 + 8 + 4 + 4 + 12;
/// What a late wake-up may make good for at once: threads sleep for 50 us and more, and no packet is on time after that.
constexpr Duration kMostBehind = std::chrono::microseconds(100);

}  // namespace

void Pacer::start(std::unique_ptr<Controller> controller) {
  controller_ = std::move(controller);
  sample_.reset();
  next_departure_ = {};
  is_waited_for_ = false;
}

std::uint32_t Pacer::window_packets(std::uint32_t packet_bytes, Time now) {
  return std::max(controller_->allowance(now).window_bytes / packet_bytes, 1u);
}

Time Pacer::departure_behind(std::uint32_t bytes, Time now) {
  const Duration takes = time_on_wire(bytes + kBytesAround, controller_->allowance(now).rate);
  return std::max(next_departure_, now - kMostBehind) + takes;
}

void Pacer::on_sent(const Sent& sent, Time now) {
  controller_->on_send(sent.bytes + kBytesAround, now);
  next_departure_ = departure_behind(sent.bytes, now);
  // An answer to what was sent twice does not say to which of the two.
  if (sent.is_repetition) return sample_.reset();
  if (sent.asks_for_ack && !sample_) sample_ = Sample{.psn = sent.psn, .sent = now};
}

void Pacer::take_sample(Psn oldest, Time now) {
  if (distance(sample_->psn, oldest) <= 0) return;
  // The engine reads its clock once for many packets: a round trip may look like none.
  const Duration round_trip = std::max(now - sample_->sent, Duration(1));
  sample_.reset();
  controller_->note_round_trip(round_trip);
  controller_->on_ack(round_trip, now);
}

void Pacer::on_nak(Time now) {
  sample_.reset();
  if (controller_ != nullptr) controller_->on_nak(now);
}

void Pacer::on_timeout(Time now) {
  sample_.reset();
  if (controller_ != nullptr) controller_->on_timeout(now);
}

std::optional<ControllerState> Pacer::state(Time now) const {
  if (controller_ == nullptr) return std::nullopt;
  ControllerState state = controller_->state(now);
  state.round_trip = controller_->round_trip();
  return state;
}

}  // namespace urnic::transport::congestion
