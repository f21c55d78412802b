// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the link layer says of a frame: who sent it to whom, its priority, and what a pause frame asks for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "tools/conformance/check/packets/frame.h"

namespace urnic::check {

struct Mac {
  std::array<std::uint8_t, 6> octets{};

  bool is_group() const { return (octets[0] & 1u) != 0; }
  friend bool operator==(const Mac&, const Mac&) = default;
};
std::string to_string(const Mac& mac);

inline constexpr std::size_t kPriorities = 8;

/// One pause frame. Times are in quanta, of 512 bit times of the link each; 0 ends a pause.
struct PauseFrame {
  bool is_of_priorities =
      true;  ///< 802.1Qbb; false: 802.3x, for all frames at once, with the time in `quanta[0]`
  std::uint8_t priorities = 0;  ///< bit N: `quanta[N]` holds
  std::array<std::uint16_t, kPriorities> quanta{};
};

struct LinkFrame {
  Mac destination;
  Mac source;
  /// The outermost VLAN tag's, else what the DSCP maps to (3 and 26: 3, 4: 4, 48: 6, others: 0), else 0.
  /// Switches may map otherwise.
  std::uint8_t priority = 0;
  std::optional<PauseFrame> pause{};  ///< if it is one, to the group 01:80:c2:00:00:01
};

/// Nothing for other links than Ethernet, and for what is shorter than an Ethernet header.
std::optional<LinkFrame> parse_link(LinkType link_type, ByteView bytes);

}  // namespace urnic::check
