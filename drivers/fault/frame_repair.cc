// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/fault/frame_repair.h"

#include "transport/wire/byte_order.h"
#include "transport/wire/ecn.h"
#include "transport/wire/icrc.h"
#include "transport/wire/internet_checksum.h"

namespace urnic::drivers {
namespace {

using transport::wire::Frame;
using transport::wire::InternetChecksum;
using transport::wire::IpProtocol;
using transport::wire::Udp;
namespace wire = transport::wire;

constexpr std::size_t kUdpChecksum = 6;  // where it is in its header

/// The part of `bytes` that `view` looks at.
std::span<std::byte> part_of(std::span<std::byte> bytes, std::span<const std::byte> view) {
  return bytes.subspan(static_cast<std::size_t>(view.data() - bytes.data()), view.size());
}

}  // namespace

std::optional<Frame> read_frame(nic::Medium medium, std::span<const std::byte> bytes) {
  std::optional<Frame> frame(std::in_place);
  const auto error = medium == nic::Medium::kEthernet ? frame->read(bytes) : frame->read_ip_packet(bytes);
  if (error) frame.reset();
  return frame;
}

FrameRepair::FrameRepair(nic::Medium medium, std::span<std::byte> bytes)
    : bytes_(bytes), frame_(*read_frame(medium, bytes)) {
  const bool has_udp = frame_.encapsulation == wire::Encapsulation::kRoceV2;
  const std::size_t udp_bytes = has_udp ? Udp::kBytes : 0;
  const std::span<std::byte> outer_headers = part_of(bytes_, frame_.outer_headers);
  ip_header_ = outer_headers.first(outer_headers.size() - udp_bytes);
  packet_ = part_of(bytes_, frame_.ib);
  const auto begin = static_cast<std::size_t>(ip_header_.data() - bytes_.data()) + ip_header_.size();
  datagram_ = bytes_.subspan(begin, udp_bytes + packet_.size() + wire::kIcrcBytes);
  icrc_before_ = frame_.expected_icrc();
}

void FrameRepair::mark_ce() {
  wire::mark_congestion_experienced(ip_header_);
}

void FrameRepair::finish(bool is_icrc_right) {
  if (is_icrc_right) {
    // CRCs are linear: whatever the identification is, both of ours are off by the same.
    wire::store_icrc(frame_.icrc ^ icrc_before_ ^ frame_.expected_icrc(), datagram_.last(wire::kIcrcBytes));
  }
  if (frame_.udp.checksum == 0) return;
  wire::store_u16(datagram_, kUdpChecksum, 0);
  InternetChecksum sum;
  const auto length = static_cast<std::uint32_t>(datagram_.size());
  std::visit(
      [&](const auto& ip) { sum.add_pseudo_header(ip.source, ip.destination, IpProtocol::kUdp, length); },
      frame_.ip);
  sum.add(datagram_);
  const std::uint16_t checksum = sum.value();
  wire::store_u16(datagram_, kUdpChecksum, checksum == 0 ? 0xffff : checksum);
}

}  // namespace urnic::drivers
