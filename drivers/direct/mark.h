// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The mark: the last frame that a NIC sends to another one by the wire, before it goes on over a direct link.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "nic/port/medium.h"
#include "transport/wire/address.h"

namespace urnic::drivers {

/// Frames by the wire take their time. So the receiver reads a link only when the mark has come by the wire,
/// after the frames: no frame overtakes another. Where no frame went by the wire before, the ring says so,
/// and there is no mark.
struct Mark {
  transport::wire::Mac to;
  transport::wire::Mac from;
  std::uint64_t nonce = 0;  ///< names the link
};

/// What a mark looks like. Through a fabric's switch it is an Ethernet frame of type 0x88b5 (IEEE 802, local
/// experimental EtherType 1); others than urnic drop it. Over the host's sockets it is a RoCEv2 packet to the
/// queue pair 0 of the other NIC's share, with an opcode that IBTA leaves to manufacturers (0xc0 to 0xff) and
/// without ICRC. It leaves and arrives like other packets; it may overtake only packets of the other IP
/// version.
class MarkForm {
 public:
  static constexpr std::size_t kMaxBytes = 128;

  /// `shared_address` is what all NICs on a wire of IP packets have.
  MarkForm(nic::Medium medium, const transport::wire::Gid& shared_address)
      : medium_(medium), shared_address_(shared_address) {}

  /// Writes it to the first bytes of `frame`, which has kMaxBytes at least; how many.
  std::size_t emit(const Mark& mark, std::span<std::byte> frame) const;
  /// Nothing for any other frame. `to` and `from` are not told over the host's sockets.
  std::optional<Mark> parse(std::span<const std::byte> frame) const;

 private:
  nic::Medium medium_;
  transport::wire::Gid shared_address_;
};

}  // namespace urnic::drivers
