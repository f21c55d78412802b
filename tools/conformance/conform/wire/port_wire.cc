// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/wire/port_wire.h"

#include <poll.h>

#include <algorithm>
#include <array>

#include "drivers/udp/udp_port.h"
#include "nic/host/host_addresses.h"
#include "nic/host/route.h"

namespace urnic::conform {
namespace {

using namespace std::chrono_literals;

/// More packets of one case are not kept.
constexpr std::size_t kMostRecorded = 20'000;

std::string text_of(const transport::wire::Gid& address) {
  return address.is_ipv4_mapped() ? to_string(address.ipv4()) : to_string(address);
}

}  // namespace

Result<std::unique_ptr<PortWire>, Error> PortWire::open_udp(const transport::wire::Gid& own,
                                                            const transport::wire::Gid& peer) {
  Addresses addresses{.own = own, .peer = peer};
  if (own == transport::wire::Gid{}) {
    const auto route = nic::host_route_to({.destination = peer});
    if (!route) return route.error();
    addresses.own = route.value().source;
  }
  const auto host = nic::find_host_addresses(text_of(addresses.own), nic::AddressWait::kUntilReady);
  if (!host) return host.error();
  auto port = drivers::UdpPort::open(
      {.addresses = host.value().all, .link_mtu = host.value().mtu, .may_segment = false});
  if (!port) return port.error();
  return std::unique_ptr<PortWire>(new PortWire(std::move(port.value()), addresses));
}

bool PortWire::send(std::span<const std::byte> ib) {
  const std::vector<std::byte> packet = make_roce_packet(addresses_, ib);
  const transport::Time until = now() + 1s;
  for (;;) {
    const auto room = port_->reserve().subspan(0);
    if (room.size() >= packet.size()) {
      std::copy(packet.begin(), packet.end(), room.begin());
      port_->commit(packet.size());
      record(packet, true);
      return true;
    }
    if (!room.empty() || now() > until) return false;
    port_->flush();
    poll(nullptr, 0, 1);
  }
}

bool PortWire::take_arrived() {
  std::array<nic::ReceivedFrame, 16> frames;
  const std::size_t count = port_->receive(frames);
  for (const nic::ReceivedFrame& frame : std::span(frames).first(count)) {
    record(frame, false);
    auto heard = read_roce_packet(addresses_, frame);
    if (!heard || (heard->destination_qp & kOwnQpMask) != own_qp_) continue;
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
    const transport::Duration left = until - now();
    if (left <= transport::Duration(0)) return std::nullopt;
    pollfd readable{.fd = port_->wake_fd(), .events = POLLIN, .revents = 0};
    const timespec most{.tv_sec = static_cast<time_t>(left / 1s),
                        .tv_nsec = static_cast<long>((left % 1s).count())};
    if (!port_->arm()) ppoll(&readable, 1, &most, nullptr);
    port_->disarm();
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
