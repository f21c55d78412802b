// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/fabric/network_switch.h"

#include <chrono>
#include <utility>

namespace urnic::drivers {
namespace {

using network::HostId;
using transport::wire::Mac;

/// Ways and marks are drawn from it. The same file has the same ways every time.
constexpr std::uint64_t kSeed = 1;

network::Time to_time(Switch::Clock::time_point time) {
  return network::Time(std::chrono::nanoseconds(time.time_since_epoch()));
}

Switch::Clock::time_point to_time_point(network::Time time) {
  return Switch::Clock::time_point(time.time_since_epoch());
}

std::size_t index(HostId host) {
  return static_cast<std::size_t>(host);
}

}  // namespace

NetworkSwitch::NetworkSwitch(network::Topology topology, std::unique_ptr<NetworkFaults> faults,
                             Clock::time_point start)
    : faults_(std::move(faults)),
      network_(std::move(topology), kSeed, to_time(start)),
      ports_by_host_(network_.topology().hosts.size()) {
  network_.set_link_faults(faults_.get());
}

std::vector<std::string> NetworkSwitch::fault_report() const {
  return faults_ != nullptr ? faults_->report() : std::vector<std::string>();
}

void NetworkSwitch::connect(PortNumber port, HostId host) {
  hosts_by_port_[port] = host;
  ports_by_host_[index(host)] = port;
}

Switch::Round NetworkSwitch::run_round(Clock::time_point now) {
  Round round;
  const network::Time time = to_time(now);
  network_.run_until(time, *this);
  for (std::size_t i = 0; i < ports_.size(); ++i) send_from(static_cast<PortNumber>(i), round, time);
  flush();
  round.next = to_time_point(network_.next_event());
  return round;
}

void NetworkSwitch::inject(PortNumber from, std::span<const std::byte> frame, Clock::time_point now) {
  if (hosts_by_port_[from]) send(from, frame, to_time(now));
}

void NetworkSwitch::send_from(PortNumber number, Round& round, network::Time now) {
  if (!hosts_by_port_[number]) return;
  read(number, round);
  Port& from = ports_[number];
  while (from.has_frames() && send(number, from.frames[from.next], now)) ++from.next;
}

/// False: the NIC has no room. It has some after one of its frames has been sent, or its pause is over: an
/// event of the network's.
bool NetworkSwitch::send(PortNumber number, std::span<const std::byte> frame, network::Time now) {
  const HostId host = *hosts_by_port_[number];
  Counters& counters = ports_[number].counters;
  if (frame.size() < kHeaderBytes || source_of(frame).is_multicast()) {
    ++counters.malformed_frames;
    return true;
  }
  if (network_.room(host, network_.priority_of(host, frame)) < frame.size()) return false;
  learn(number, source_of(frame), now);
  if (network_.send(host, frame, now) == network::Network::SendResult::kMalformed) {
    ++counters.malformed_frames;
  }
  return true;
}

void NetworkSwitch::learn(PortNumber number, const Mac& source, network::Time now) {
  LastSender& last = last_senders_[number];
  if (last.is_known && last.generation == table_.generation() && last.mac == source) return;
  table_.learn(source, number, to_time_point(now));
  last = {.mac = source, .generation = table_.generation(), .is_known = true};
  if (table_.find(source) == number) network_.attach(*hosts_by_port_[number], source);
}

void NetworkSwitch::deliver(HostId host, std::span<const std::byte> frame, network::Time) {
  const auto port = ports_by_host_[index(host)];
  if (!port) return;  // no program is there
  Port& to = ports_[*port];
  if (!Switch::deliver(frame, to)) ++to.counters.late_frames;
}

}  // namespace urnic::drivers
