// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/congestion/pacer.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace urnic::transport::congestion {
namespace {

/// Of a packet on Ethernet besides what the transport makes: preamble, addresses and type, IPv4, UDP, ICRC,
/// FCS and the gap between frames.
constexpr std::uint32_t kBytesAround = 8 + 14 + 20 + 8 + 4 + 4 + 12;
/// What a late wake-up may make good for at once: threads sleep for 50 us and more, and no packet is on time
/// after that.
constexpr Duration kMostBehind = std::chrono::microseconds(100);

}  // namespace

void Pacer::start(std::unique_ptr<Controller> controller) {
  pacing_.reset();
  if (controller != nullptr) {
    pacing_ = std::make_unique<Pacing>(Pacing{.controller = std::move(controller)});
  }
}

std::uint32_t Pacer::window_packets(std::uint32_t packet_bytes, Time now) {
  return std::max(pacing_->controller->allowance(now).window_bytes / packet_bytes, 1u);
}

Time Pacer::departure_behind(std::uint32_t bytes, Time now) {
  const Duration takes = time_on_wire(bytes + kBytesAround, pacing_->controller->allowance(now).rate);
  return std::max(pacing_->next_departure, now - kMostBehind) + takes;
}

void Pacer::on_sent(const Sent& sent, Time now) {
  pacing_->controller->on_send(sent.bytes + kBytesAround, now);
  pacing_->next_departure = departure_behind(sent.bytes, now);
  // An answer to what was sent twice does not say to which of the two.
  if (sent.is_repetition) return pacing_->sample.reset();
  if (sent.asks_for_ack && !pacing_->sample) pacing_->sample = Sample{.psn = sent.psn, .sent = now};
}

void Pacer::take_sample(Psn oldest, Time now) {
  if (distance(pacing_->sample->psn, oldest) <= 0) return;
  // The engine reads its clock once for many packets: a round trip may look like none.
  const Duration round_trip = std::max(now - pacing_->sample->sent, Duration(1));
  pacing_->sample.reset();
  pacing_->controller->note_round_trip(round_trip);
  pacing_->controller->on_ack(round_trip, now);
}

void Pacer::on_nak(Time now) {
  if (pacing_ == nullptr) return;
  pacing_->sample.reset();
  pacing_->controller->on_nak(now);
}

void Pacer::on_timeout(Time now) {
  if (pacing_ == nullptr) return;
  pacing_->sample.reset();
  pacing_->controller->on_timeout(now);
}

std::optional<ControllerState> Pacer::state(Time now) const {
  if (pacing_ == nullptr) return std::nullopt;
  ControllerState state = pacing_->controller->state(now);
  state.round_trip = pacing_->controller->round_trip();
  return state;
}

}  // namespace urnic::transport::congestion
