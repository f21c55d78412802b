// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/wire/ip_over_ethernet.h"

#include <algorithm>
#include <array>
#include <utility>

#include "nic/config.h"
#include "transport/wire/ethernet.h"

namespace urnic::conform {
namespace {

namespace wire = transport::wire;

constexpr std::size_t kHeaderBytes = wire::Ethernet::kMinBytes;

nic::DeviceConfig config_of(const IpOverEthernet::Ends& ends) {
  nic::DeviceConfig config;
  config.mac = ends.mac;
  if (ends.own.is_ipv4_mapped()) {
    config.ipv4 = {.address = ends.own.ipv4()};
  } else {
    config.ipv6 = {.address = ends.own};
  }
  return config;
}

wire::EtherType type_of(std::byte first) {
  return std::to_integer<unsigned>(first) >> 4 == 6 ? wire::EtherType::kIpv6 : wire::EtherType::kIpv4;
}

}  // namespace

IpOverEthernet::IpOverEthernet(std::unique_ptr<nic::PacketPort> port, const Ends& ends,
                               const nic::Clock& clock)
    : port_(std::move(port)),
      ends_(ends),
      clock_(clock),
      gids_(config_of(ends)),
      neighbors_(config_of(ends), gids_) {}

std::size_t IpOverEthernet::max_frame_bytes() const {
  return port_->max_frame_bytes() - kHeaderBytes;
}

bool IpOverEthernet::has_found_peer() {
  const auto found = neighbors_.resolve(ends_.peer, clock_.now());
  if (found.state == nic::NeighborState::kReachable) peer_mac_ = found.mac;
  return peer_mac_ != wire::Mac{};
}

bool IpOverEthernet::is_for_us(std::span<const std::byte> frame) const {
  const auto header = wire::Ethernet::parse(frame);
  if (!header || header.value().vlan_tag_count > 0) return false;
  const wire::EtherType type = header.value().ether_type;
  return header.value().destination == ends_.mac &&
         (type == wire::EtherType::kIpv4 || type == wire::EtherType::kIpv6);
}

std::size_t IpOverEthernet::receive(std::span<nic::ReceivedFrame> frames) {
  for (;;) {
    const std::size_t came = port_->receive(frames);
    std::size_t count = 0;
    for (const nic::ReceivedFrame& frame : frames.first(came)) {
      if (neighbors_.on_frame(frame, clock_.now()) || !is_for_us(frame)) continue;
      frames[count++] = std::span<const std::byte>(frame).subspan(kHeaderBytes);
    }
    // Where all were for others, there may be more.
    if (count > 0 || came == 0) return count;
  }
}

nic::Room IpOverEthernet::reserve_to(const wire::Mac& /*destination*/) {
  room_ = port_->reserve_to(peer_mac_).bytes();
  if (room_.size() <= kHeaderBytes) return {};
  return {room_.subspan(kHeaderBytes)};
}

void IpOverEthernet::commit(std::size_t length) {
  if (!has_found_peer()) return;
  emit(
      wire::Ethernet{
          .destination = peer_mac_, .source = ends_.mac, .ether_type = type_of(room_[kHeaderBytes])},
      room_);
  port_->commit(kHeaderBytes + length);
}

void IpOverEthernet::flush() {
  send_neighbor_frames();
  port_->flush();
}

void IpOverEthernet::send_neighbor_frames() {
  const transport::Time now = clock_.now();
  if (neighbors_.next_timeout() > now) return;
  neighbors_.on_timeout(now);
  std::array<std::byte, nic::NeighborCache::kMaxFrameBytes> frame{};
  while (const std::size_t bytes = neighbors_.poll_transmit(frame, now)) {
    const std::span<std::byte> room = port_->reserve();
    if (room.size() < bytes) return;
    std::copy_n(frame.begin(), bytes, room.begin());
    port_->commit(bytes);
  }
}

}  // namespace urnic::conform
