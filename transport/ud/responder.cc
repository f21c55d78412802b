// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/ud/responder.h"

#include <algorithm>
#include <array>

#include "transport/request_counters.h"
#include "transport/wire/ipv4.h"

namespace urnic::transport {

namespace {

/// Fills the GRH area from the header that the packet came with.
std::array<std::byte, kGrhAreaBytes> grh_area(std::span<const std::byte> network_header) {
  std::array<std::byte, kGrhAreaBytes> area{};
  const std::size_t size = std::min(network_header.size(), area.size());
  std::copy_n(network_header.begin(), size, area.end() - static_cast<std::ptrdiff_t>(size));
  return area;
}

}  // namespace

void UdResponder::on_request(const wire::Packet& packet) {
  if (packet.deth.qkey != config_.qkey) return deps_.counters.add(Counter::kQkeyViolation);
  if (packet.payload.size() > bytes(config_.path_mtu)) return deps_.counters.add(Counter::kRequestInvalid);

  const auto room = receive_.room();
  if (!room) return drop_without_receive();
  // The receive stays where it is: the next datagram may fit. (Fact 42 says only that this one is dropped.)
  if (kGrhAreaBytes + packet.payload.size() > *room) return deps_.counters.add(Counter::kReceiveTooSmall);

  receive_.take();
  count_received(packet, deps_.counters);
  if (!write(packet)) {
    has_failed_ = true;
    return receive_.fail(CompletionStatus::kLocalProtectionError);
  }
  receive_.complete({.opcode = CompletionOpcode::kReceive,
                     .has_immediate = packet.info->has_immediate(),
                     .has_grh = true,
                     .is_ipv4 = packet.network_header.size() == wire::Ipv4::kMinBytes,
                     .solicited = packet.bth.solicited,
                     .byte_length = static_cast<std::uint32_t>(kGrhAreaBytes + packet.payload.size()),
                     .immediate = packet.immediate,
                     .source_qp = packet.deth.source_qp});
}

void UdResponder::drop_without_receive() {
  deps_.counters.add(Counter::kOutOfBuffer);
  if (deps_.observer != nullptr) deps_.observer->on_no_receive();
}

bool UdResponder::write(const wire::Packet& packet) {
  return receive_.write(0, grh_area(packet.network_header)) == DmaStatus::kOk &&
         receive_.write(kGrhAreaBytes, packet.payload) == DmaStatus::kOk;
}

}  // namespace urnic::transport
