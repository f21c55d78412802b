// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/raw/raw_packet_endpoint.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "transport/wire/ethernet.h"

namespace urnic::nic {

using transport::CompletionOpcode;
using transport::CompletionStatus;

namespace {

/// The shortest frame of Ethernet, without its FCS.
constexpr std::uint32_t kMinFrameBytes = 60;

}  // namespace

transport::WrittenPacket RawPacketRequester::poll_transmit(std::span<std::byte> out) {
  const std::uint32_t length = queue_.current().length;
  const bool is_frame = length >= transport::wire::Ethernet::kMinBytes && length <= out.size();
  if (!is_frame) return queue_.fail(CompletionStatus::kLocalLengthError);
  if (queue_.send_bare(out).size == 0) return {};
  const std::uint32_t padded =
      std::max(length, std::min(kMinFrameBytes, static_cast<std::uint32_t>(out.size())));
  std::memset(out.data() + length, 0, padded - length);
  return {.size = padded};
}

void RawPacketResponder::on_request(const transport::wire::Packet& packet) {
  const std::span<const std::byte> frame = packet.payload;
  const std::optional<std::uint32_t> room = receive_.room();
  if (!room) return deps_.counters.add(transport::Counter::kOutOfBuffer);
  receive_.take();
  if (frame.size() > *room) return fail(CompletionStatus::kLocalLengthError);
  if (receive_.write(0, frame) != transport::DmaStatus::kOk) {
    return fail(CompletionStatus::kLocalProtectionError);
  }
  receive_.complete(
      {.opcode = CompletionOpcode::kReceive, .byte_length = static_cast<std::uint32_t>(frame.size())});
}

void RawPacketResponder::fail(CompletionStatus status) {
  has_failed_ = true;
  receive_.fail(status);
}

}  // namespace urnic::nic
