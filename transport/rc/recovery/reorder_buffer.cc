// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/rc/recovery/reorder_buffer.h"

#include <algorithm>

namespace urnic::transport {

ReorderBuffer::ReorderBuffer(std::uint32_t mtu_bytes)
    : mtu_bytes_(mtu_bytes),
      payloads_(std::make_unique_for_overwrite<std::byte[]>(std::size_t{HeldPsns::kReach} * mtu_bytes)) {}

void ReorderBuffer::hold(const wire::Packet& packet, Psn expected) {
  held_.advance(expected);
  const Psn psn = packet.bth.psn;
  if (!held_.reaches(psn) || held_.contains(psn) || packet.payload.size() > mtu_bytes_) return;
  const std::span copy(payloads_.get() + slot(psn) * mtu_bytes_, packet.payload.size());
  std::ranges::copy(packet.payload, copy.begin());
  wire::Packet& kept = packets_[slot(psn)];
  kept = packet;
  kept.payload = copy;
  kept.network_header = {};
  held_.insert(psn);
}

std::optional<wire::Packet> ReorderBuffer::take(Psn expected) {
  held_.advance(expected);
  if (!held_.contains(expected)) return std::nullopt;
  held_.erase_expected();
  return packets_[slot(expected)];
}

}  // namespace urnic::transport
