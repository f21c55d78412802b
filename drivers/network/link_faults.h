// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// LinkFaults: what hurts frames on the links of a network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "drivers/network/topology.h"

namespace urnic::network {

/// What happens to one frame on a link.
struct LinkFate {
  bool is_lost = false;        ///< then nothing else happens
  bool is_duplicated = false;  ///< a copy arrives directly after it, or when it would have arrived
  bool is_changed = false;     ///< change() is called for it
  std::uint32_t behind = 0;    ///< so many later frames of this direction go first
  Duration delay{};            ///< how much later it arrives; others overtake it meanwhile
};

/// Its functions must not call the network's.
class LinkFaults {
 public:
  virtual ~LinkFaults() = default;

  /// Whether frames of that link are to be judged at all.
  virtual bool is_about(LinkId link) const = 0;
  /// Called for each frame when its first bit leaves `end` of the link (0 or 1, of Link::ends), in the order
  /// of the network's events. Pause frames are spared, and not told.
  virtual LinkFate judge(LinkId link, std::size_t end, std::span<const std::byte> frame) = 0;
  /// Changes the bytes of the frame that was judged last, and returns how many of them are left. The MAC
  /// addresses stay.
  virtual std::size_t change(LinkId link, std::span<std::byte> frame) = 0;
};

}  // namespace urnic::network
