// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/wire/run.h"

#include <algorithm>

namespace urnic::transport::wire {
namespace {

/// The opcode of a packet of the run, of which the run's own is `whole`.
Opcode opcode_in(Opcode whole, bool is_first, bool is_last) {
  const bool begins = is_first && info(whole).begins_message();
  const bool ends = is_last && info(whole).ends_message();
  if (begins) return at_position(whole, ends ? Position::kOnly : Position::kFirst);
  return at_position(whole, ends ? Position::kLast : Position::kMiddle);
}

}  // namespace

std::size_t Run::bytes_of_packets(Opcode opcode, std::size_t size, std::uint32_t packets) {
  if (packets == 1) return size;
  return size - header_bytes(opcode) + header_bytes(opcode_in(opcode, true, false)) +
         (packets - 2) * header_bytes(opcode_in(opcode, false, false)) +
         header_bytes(opcode_in(opcode, false, true));
}

Packet Run::packet(std::uint32_t index) const {
  const bool is_last = index + 1 == packets_;
  Packet packet = whole_;
  packet.bth.opcode = opcode_in(whole_.bth.opcode, index == 0, is_last);
  packet.bth.psn = whole_.bth.psn + index;
  packet.info = &info(packet.bth.opcode);
  if (!is_last) {
    packet.bth.solicited = packet.bth.ack_request = false;
    packet.bth.pad_count = 0;
  }
  const std::size_t offset = std::size_t{index} * bytes(mtu_);
  packet.payload =
      whole_.payload.subspan(offset, std::min<std::size_t>(whole_.payload.size() - offset, bytes(mtu_)));
  // Those that its opcode does not have.
  const Headers headers = packet.info->headers;
  if (!has(headers, Headers::kReth)) packet.reth = {};
  if (!has(headers, Headers::kAeth)) packet.aeth = {};
  if (!has(headers, Headers::kImmediate)) packet.immediate = 0;
  if (!has(headers, Headers::kIeth)) packet.invalidate_rkey = {};
  return packet;
}

}  // namespace urnic::transport::wire
