// The mark: the last frame that a NIC sends to another one through the switch, before it goes on over a direct link.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/wire/address.h"

namespace urnic::drivers {

/// Frames through the switch take their time. So the receiver reads a link only when the mark has come through the
/// switch, behind them: no frame overtakes another. It is an Ethernet frame of type 0x88b5 (IEEE 802, local experimental
/// EtherType 1); others than urnic drop it.
struct Mark {
  transport::wire::Mac to;
  transport::wire::Mac from;
  std::uint64_t nonce = 0;  ///< names the link

  static constexpr std::size_t kBytes = 60;  ///< the shortest frame of Ethernet

  /// Writes it to the first kBytes of `frame`.
  void emit(std::span<std::byte> frame) const;
  /// Nothing for any other frame.
  static std::optional<Mark> parse(std::span<const std::byte> frame);
};

}  // namespace urnic::drivers
