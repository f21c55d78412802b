#include "tests/sim/wire_observer.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "tests/sim/fingerprint.h"

namespace urnic::sim {
namespace {

/// The slow ICRC is computed for all short frames and for one in so many of the others.
constexpr std::uint64_t kIcrcSample = 32;
constexpr std::size_t kShortFrame = 160;

}  // namespace

WireObserver::WireObserver(const SimClock& clock, Referee& referee, std::uint32_t pairs)
    : clock_(clock), referee_(referee), connections_(pairs) {}

void WireObserver::on_connected(std::uint32_t pair, const std::array<FlowObserver::Limits, 2>& limits,
                                const std::array<std::uint32_t, 2>& qp_numbers) {
  Connection& connection = connections_[pair];
  connection.qp_numbers = qp_numbers;
  for (const Side side : kSides) {
    auto& flow = connection.flows[index(side)];
    if (flow) former_counts_.push_back(flow->counts());
    flow = std::make_unique<FlowObserver>(limits[index(side)]);
  }
}

WireObserver::Connection* WireObserver::find(Side at, std::uint32_t qp_number) {
  const auto found = std::find_if(connections_.begin(), connections_.end(), [&](const Connection& connection) {
    return connection.flows[0] && connection.qp_numbers[index(at)] == qp_number;
  });
  return found == connections_.end() ? nullptr : &*found;
}

void WireObserver::on_sent(Side by, std::span<const std::byte> frame) {
  ++sent_frames_;
  const auto now = clock_.now();
  hash_ = combine(hash_, static_cast<std::uint64_t>(now.time_since_epoch().count()) * 4 + index(by));
  hash_ = fingerprint(frame, hash_);
  if (trace_ != nullptr) trace(by, "sends", frame, false);
  if (!is_roce(frame)) return;

  last_roce_frame_ = now;
  std::string complaint;
  const bool check_icrc = frame.size() <= kShortFrame || sent_frames_ % kIcrcSample == 0;
  const auto packet = read_frame(frame, check_icrc, &complaint);
  if (packet && complaint.empty()) {
    if (Connection* const connection = find(other(by), packet->destination_qp)) {
      auto wrong = packet->is_request() ? connection->flows[index(by)]->on_request_sent(*packet, now)
                                        : connection->flows[index(other(by))]->on_response_sent(*packet);
      complaint = wrong.value_or("");
    } else {
      complaint = "to a queue pair that is not there";
    }
  }
  if (!complaint.empty()) {
    referee_.complain("wire",
                      fmt::format("{} sends {}: {}", name(by), packet ? to_string(*packet) : "a frame", complaint));
  }
}

void WireObserver::on_received(Side by, const Frame& frame) {
  const auto now = clock_.now();
  hash_ = combine(hash_, static_cast<std::uint64_t>(now.time_since_epoch().count()) * 4 + 2 + index(by));
  hash_ = combine(hash_, frame.bytes.size() * 2 + (frame.damaged ? 1 : 0));
  if (trace_ != nullptr) trace(by, "takes", frame.bytes, frame.damaged);
  if (frame.damaged || !is_roce(frame.bytes)) return;
  const auto packet = read_frame(frame.bytes, false, nullptr);
  if (!packet) return;
  Connection* const connection = find(by, packet->destination_qp);
  if (connection == nullptr) return;
  if (packet->is_request()) {
    connection->flows[index(other(by))]->on_request_taken(*packet, now);
  } else {
    connection->flows[index(by)]->on_response_taken(*packet, now);
  }
}

void WireObserver::trace(Side by, const char* what, std::span<const std::byte> frame, bool damaged) {
  const double now_us = static_cast<double>(clock_.now().time_since_epoch().count()) / 1000;
  std::string text = fmt::format("{} bytes", frame.size());
  if (!damaged && is_roce(frame)) {
    if (const auto packet = read_frame(frame, false, nullptr)) text = to_string(*packet);
  }
  fmt::print(trace_, "{:14.3f} {} {} {}{}\n", now_us, name(by), what, text, damaged ? " (damaged)" : "");
}

std::vector<FlowObserver::Counts> WireObserver::all_counts() const {
  auto counts = former_counts_;
  for (const Connection& connection : connections_) {
    for (const auto& flow : connection.flows) {
      if (flow) counts.push_back(flow->counts());
    }
  }
  return counts;
}

}  // namespace urnic::sim
