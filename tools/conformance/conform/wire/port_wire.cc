// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/wire/port_wire.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "tools/conformance/conform/wire/own_qp.h"

namespace urnic::conform {
namespace {

using namespace std::chrono_literals;

/// More packets of one case are not kept.
constexpr std::size_t kMostRecorded = 20'000;
/// A bench that simulates slowly still grants some time within that, of real time.
constexpr std::chrono::seconds kBenchPatience = 60s;
/// Of the wire's time, until the NIC with the peer's address answers.
constexpr transport::Duration kNeighborPatience = 3s;

}  // namespace

PortWire::PortWire(nic::OpenedPort opened, const nic::Clock& clock, const IpOverEthernet::Ends& ends)
    : clock_(clock), addresses_{.own = ends.own, .peer = ends.peer}, opened_(std::move(opened)) {
  if (opened_.port->medium() == nic::Medium::kIp) {
    lost_identification_.emplace(opened_.port->max_frame_bytes());
    return;
  }
  auto ethernet = std::make_unique<IpOverEthernet>(std::move(opened_.port), ends, clock);
  ethernet_ = ethernet.get();
  opened_.port = std::move(ethernet);
}

/// On Ethernet: the peer may come later than the tester, as a program opens its NIC when it wants one.
bool PortWire::find_peer() {
  const transport::Time until = now() + kNeighborPatience;
  while (ethernet_ != nullptr && !ethernet_->has_found_peer()) {
    if (is_lost() || now() >= until) return false;
    wait(until);
    take_arrived();
  }
  return true;
}

bool PortWire::send(std::span<const std::byte> ib) {
  if (!find_peer()) return false;
  const std::vector<std::byte> packet = make_roce_packet(addresses_, ib);
  const transport::Time until = now() + 1s;
  for (;;) {
    const auto room = opened_.port->reserve().subspan(0);
    if (room.size() >= packet.size()) {
      std::copy(packet.begin(), packet.end(), room.begin());
      opened_.port->commit(packet.size());
      record(packet, true);
      return true;
    }
    if (!room.empty() || now() > until) return false;
    if (opened_.time != nullptr) {
      wait(until);
    } else {
      opened_.port->flush();
      poll(nullptr, 0, 1);
    }
  }
}

bool PortWire::take_arrived() {
  std::array<nic::ReceivedFrame, 16> frames;
  const std::size_t count = opened_.port->receive(frames);
  for (const nic::ReceivedFrame& frame : std::span(frames).first(count)) {
    std::span<const std::byte> packet = frame;
    if (lost_identification_) packet = lost_identification_->restore(packet);
    record(packet, false);
    auto heard = read_roce_packet(addresses_, packet);
    if (!heard || without_place(heard->destination_qp) != own_qp_) continue;
    arrived_.push_back({.at = now(),
                        .ib = std::move(heard->ib),
                        .fault = std::move(heard->fault),
                        .traffic_class = heard->traffic_class});
  }
  return count > 0;
}

std::optional<Arrival> PortWire::receive(transport::Time until) {
  for (;;) {
    while (take_arrived()) {
    }
    if (!arrived_.empty()) {
      Arrival first = std::move(arrived_.front());
      arrived_.pop_front();
      return first;
    }
    if (now() >= until) return std::nullopt;
    wait(until);
  }
}

void PortWire::wait_in_real_time(transport::Duration duration) {
  if (opened_.time != nullptr) poll(nullptr, 0, static_cast<int>(duration / 1ms));
}

/// Until that time at most, or until something may have come, or the port has something to send.
void PortWire::wait(transport::Time until) {
  opened_.port->flush();
  if (is_lost()) {
    skipped_ += until - now();
    return;
  }
  const transport::Time next = std::min(until, std::max(now(), opened_.port->next_due()));
  if (opened_.time != nullptr) return pass(next);
  const transport::Duration left = next - now();
  pollfd readable{.fd = opened_.port->wake_fd(), .events = POLLIN, .revents = 0};
  const timespec most{.tv_sec = static_cast<time_t>(left / 1s),
                      .tv_nsec = static_cast<long>((left % 1s).count())};
  if (!opened_.port->arm()) ppoll(&readable, 1, &most, nullptr);
  opened_.port->disarm();
}

/// The same by the time of a wire that grants it, until that is lost.
void PortWire::pass(transport::Time until) {
  const auto give_up = std::chrono::steady_clock::now() + kBenchPatience;
  while (!is_lost() && !opened_.time->step(until)) {
    hangs_ = std::chrono::steady_clock::now() > give_up;
  }
}

void PortWire::begin_case(std::uint32_t own_qp) {
  while (take_arrived()) {
  }
  arrived_.clear();
  record_.clear();
  own_qp_ = own_qp;
}

void PortWire::record(std::span<const std::byte> bytes, bool is_sent) {
  if (record_.size() == kMostRecorded) return;
  record_.push_back({clock_.wall_time(), is_sent, {bytes.begin(), bytes.end()}});
}

}  // namespace urnic::conform
