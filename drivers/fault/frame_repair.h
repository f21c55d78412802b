// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// FrameRepair: a frame whose packet is changed, and whose checksums and ICRC then follow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "nic/port/medium.h"
#include "transport/wire/frame.h"

namespace urnic::drivers {

/// The RoCE packet of a frame; none if it is something else, or damaged below the BTH.
std::optional<transport::wire::Frame> read_frame(nic::Medium medium, std::span<const std::byte> bytes);

class FrameRepair {
 public:
  /// `bytes` must be a frame that read_frame() takes, and outlive this. Nothing else changes them meanwhile.
  FrameRepair(nic::Medium medium, std::span<std::byte> bytes);

  /// BTH to padding, to be changed at will.
  std::span<std::byte> packet() { return packet_; }
  /// ECN "congestion experienced" in the IP header, which no ICRC covers; no NIC looks for it in a GRH.
  void mark_ce();

  /// Makes the UDP checksum fit, where there is one, and the ICRC as well if `is_icrc_right`: one that was
  /// right before is so again, and one that was wrong is as wrong. So the identification of an IPv4 header
  /// need not be known, which a socket hides.
  void finish(bool is_icrc_right);

 private:
  std::span<std::byte> bytes_;
  transport::wire::Frame frame_;
  std::span<std::byte> ip_header_;
  std::span<std::byte> datagram_;  // UDP header, if any, to ICRC
  std::span<std::byte> packet_;
  std::uint32_t icrc_before_;
};

}  // namespace urnic::drivers
