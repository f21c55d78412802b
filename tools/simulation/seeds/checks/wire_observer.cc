// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/checks/wire_observer.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "tools/simulation/seeds/core/fingerprint.h"

namespace urnic::sim {
namespace {

std::uint64_t key_of(HostId host, std::uint32_t qp_number) {
  return std::uint64_t{index(host)} << 32 | qp_number;
}

}  // namespace

WireObserver::WireObserver(const kernel::Clock& clock, Referee& referee, std::uint32_t pairs,
                           Duration lateness)
    : clock_(clock), referee_(referee), flows_(pairs), management_(lateness) {}

void WireObserver::on_connected(std::uint32_t pair, WireService service,
                                const std::array<FlowObserver::Limits, 2>& limits,
                                const std::array<HostId, 2>& hosts, const std::array<Numbers, 2>& numbers) {
  for (const Side side : kSides) {
    const auto [requester, responder] = numbers[index(side)];
    for (const std::uint32_t number : {requester, responder}) {
      ends_[key_of(hosts[index(side)], number)] = {.pair = pair,
                                                   .side = side,
                                                   .peer = hosts[index(other(side))],
                                                   .service = service,
                                                   .takes_requests = number == responder,
                                                   .takes_responses = number == requester};
    }
    if (flows_.size() <= pair) flows_.resize(pair + 1);
    auto& flow = flows_[pair][index(side)];
    if (flow) former_counts_.push_back(flow->counts());
    flow = std::make_unique<FlowObserver>(limits[index(side)]);
  }
}

const WireObserver::End* WireObserver::find(HostId at, HostId peer, std::uint32_t qp_number) const {
  const auto found = ends_.find(key_of(at, qp_number));
  return found == ends_.end() || found->second.peer != peer ? nullptr : &found->second;
}

std::size_t WireObserver::host_at(std::span<const std::byte> frame, std::size_t offset) {
  return std::to_integer<std::size_t>(frame[offset + 5]) - 1;
}

void WireObserver::on_sent(HostId by, std::span<const std::byte> frame) {
  ++sent_frames_;
  const auto now = clock_.now();
  hash_ =
      combine(hash_, static_cast<std::uint64_t>(now.time_since_epoch().count()) * 2 * kMaxHosts + index(by));
  hash_ = fingerprint(frame, hash_);
  if (trace_ != nullptr) trace(now, by, "sends", frame, false);
  if (!is_roce(frame)) return;

  last_roce_frame_ = now;
  const std::size_t destination = host_at(frame, 0);
  if (const auto cnp = read_notification(frame)) {
    const std::string complaint = judge_notification(by, destination, *cnp);
    if (!complaint.empty()) referee_.complain("wire", fmt::format("{} sends a CNP: {}", name(by), complaint));
    return;
  }
  std::string complaint;
  const auto packet = read_frame(frame, &complaint);
  if (packet && complaint.empty()) complaint = judge(by, destination, *packet);
  if (packet && complaint.empty() && packet->destination_qp == kManagementQp) {
    complaint = judge_management(by, destination, frame);
  }
  if (!complaint.empty()) {
    referee_.complain(
        "wire", fmt::format("{} sends {}: {}", name(by), packet ? to_string(*packet) : "a frame", complaint));
  }
}

std::string WireObserver::judge(HostId by, std::size_t destination, const WireView& packet) {
  const bool is_datagram = packet.service == WireService::kUd;
  if (!is_datagram && destination >= kMaxHosts) return "to a host that is not there";
  if (!packet.is_reliable()) {
    const auto flow = unreliable_.find(is_datagram ? key_of(by, packet.source_qp)
                                                   : key_of(host_id(destination), packet.destination_qp));
    if (flow == unreliable_.end()) return "from a queue pair that is not there";
    return flow->second.on_sent(packet).value_or("");
  }
  const End* const end = find(host_id(destination), by, packet.destination_qp);
  if (end == nullptr || end->service != packet.service) return "to a queue pair that is not there";
  if (packet.is_request() ? !end->takes_requests : !end->takes_responses) {
    return "to the wrong queue pair of its end";
  }
  const auto complaint = packet.is_request()
                             ? flow(end->pair, other(end->side)).on_request_sent(packet, clock_.now())
                             : flow(end->pair, end->side).on_response_sent(packet, clock_.now());
  return complaint.value_or("");
}

std::string WireObserver::judge_notification(HostId by, std::size_t destination,
                                             const NotificationView& cnp) {
  if (!cnp.complaint.empty()) return cnp.complaint;
  if (destination >= kMaxHosts) return "to a host that is not there";
  return notifications_.on_sent(by, host_id(destination), cnp.destination_qp, clock_.now()).value_or("");
}

std::string WireObserver::judge_management(HostId by, std::size_t destination,
                                           std::span<const std::byte> frame) {
  const auto message = read_management(frame);
  if (!message) return "no message of a connection manager";
  return management_.on_sent(by, host_id(destination), *message, clock_.now()).value_or("");
}

void WireObserver::on_unreliable(HostId host, std::uint32_t qp_number,
                                 const UnreliableFlow::Expectations& expected) {
  unreliable_.insert_or_assign(key_of(host, qp_number), UnreliableFlow(expected));
}

UnreliableFlow& WireObserver::unreliable(HostId host, std::uint32_t qp_number) {
  return unreliable_.at(key_of(host, qp_number));
}

void WireObserver::on_received(HostId by, const Frame& frame) {
  const auto now = clock_.now();
  hash_ = combine(
      hash_, (static_cast<std::uint64_t>(now.time_since_epoch().count()) * 2 + 1) * kMaxHosts + index(by));
  hash_ = combine(hash_, frame.bytes.size() * 2 + (frame.damaged ? 1 : 0));
  if (trace_ != nullptr) trace(now, by, "takes", frame.bytes, frame.damaged);
  if (frame.damaged || !is_roce(frame.bytes) || read_notification(frame.bytes)) return;
  const auto packet = read_frame(frame.bytes);
  if (!packet) return;
  const bool is_connected = packet->service != WireService::kUd;
  if (is_connected && is_congestion_marked(frame.bytes)) {
    notifications_.on_marked(by, host_id(host_at(frame.bytes, 6)));
  }
  if (packet->destination_qp == kManagementQp) {
    const auto message = read_management(frame.bytes);
    if (message) management_.on_taken(by, host_id(host_at(frame.bytes, 6)), *message, now);
    return;
  }
  if (!packet->is_reliable()) return;
  const End* const end = find(by, host_id(host_at(frame.bytes, 6)), packet->destination_qp);
  if (end == nullptr) return;
  if (packet->is_request()) {
    flow(end->pair, other(end->side)).on_request_taken(*packet, now);
  } else {
    FlowObserver& asked = flow(end->pair, end->side);
    const std::uint64_t before = asked.acknowledged();
    asked.on_response_taken(*packet, now);
    // A long READ may come packet by packet, each after a timeout.
    if (asked.acknowledged() != before) referee_.note_progress();
  }
}

/// Asks no clock for the time: one that runs by itself would go on by that, and the world would be another
/// one.
void WireObserver::trace(transport::Time now, HostId by, const char* what, std::span<const std::byte> frame,
                         bool damaged) {
  const double now_us = static_cast<double>(now.time_since_epoch().count()) / 1000;
  std::string text = fmt::format("{} bytes", frame.size());
  if (!damaged && is_roce(frame)) {
    if (const auto packet = read_frame(frame)) text = to_string(*packet);
    if (const auto message = is_management(frame) ? read_management(frame) : std::nullopt) {
      text += " " + check::describe(*message);
    }
  }
  fmt::print(trace_, "{:14.3f} {} {} {}{}\n", now_us, name(by), what, text, damaged ? " (damaged)" : "");
}

std::vector<FlowObserver::Counts> WireObserver::all_counts() const {
  auto counts = former_counts_;
  for (const Flows& flows : flows_) {
    for (const auto& flow : flows) {
      if (flow) counts.push_back(flow->counts());
    }
  }
  return counts;
}

}  // namespace urnic::sim
