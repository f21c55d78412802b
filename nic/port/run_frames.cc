// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/port/run_frames.h"

#include <algorithm>
#include <variant>

#include "transport/wire/ipv4.h"

namespace urnic::nic {

using transport::wire::Frame;
using transport::wire::Ipv4;
using transport::wire::Packet;
using transport::wire::Run;

RunFrames::RunFrames(std::span<const std::byte> run, transport::PathMtu mtu) {
  if (frame_.read(run) || whole_.read(frame_.ib) || !Run::can_hold(whole_.bth.opcode)) return;
  run_.emplace(whole_, mtu);
}

void RunFrames::write(std::uint32_t index, std::vector<std::byte>& out) const {
  const Packet packet = run_->packet(index);
  std::vector<std::byte> ib(transport::wire::header_bytes(packet.bth.opcode) + packet.payload.size() +
                            packet.bth.pad_count);
  const std::size_t header_size = emit_headers(packet, ib);
  std::copy(packet.payload.begin(), packet.payload.end(),
            ib.begin() + static_cast<std::ptrdiff_t>(header_size));
  Frame frame = frame_;
  frame.ib = ib;
  frame.ethernet_padding = {};
  if (auto* const ipv4 = std::get_if<Ipv4>(&frame.ip)) {
    ipv4->identification = static_cast<std::uint16_t>(ipv4->identification + index);
  }
  frame.icrc = icrc_of(frame);
  out.resize(frame_.used_bytes - frame_.ib.size() + ib.size());
  emit_frame(frame, out);
}

}  // namespace urnic::nic
