// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Looks for a RoCE packet in a captured frame, through tunnels and fragments.
#pragma once

#include <bitset>
#include <cstdint>
#include <list>
#include <optional>

#include "tools/conformance/check/packets/frame.h"
#include "tools/conformance/check/unwrapping/fragments.h"
#include "tools/conformance/check/unwrapping/layers.h"
#include "tools/conformance/check/unwrapping/tunnel.h"

namespace urnic::check {

/// What a frame has in it. Views live until the next frame is looked at.
struct Unwrapped {
  /// UDP or RoCEv1, as parse_frame() finds it; in tunnels, the innermost.
  std::optional<Frame> frame{};
  /// The first fragment of a UDP datagram, whether `frame` is the whole of it now or not.
  std::optional<Frame> first_fragment{};
  ByteView bytes{};  ///< where `frame` and `layers` are: the captured bytes, or a datagram put together
  Layers layers{};   ///< before the IP header of `frame`
  /// The Ethernet frame of the link that was captured or mirrored; empty if it is of another kind.
  ByteView link{};
  std::bitset<kWrappings> wrappings{};
  Obstacle obstacle = Obstacle::kNone;
  bool is_fragment = false;     ///< and the rest is still to come
  bool was_fragmented = false;  ///< `frame` was put together, or what it came in was

  bool is_wrapped() const { return wrappings.any(); }
};

class Unwrapper {
 public:
  /// So many tunnels in each other, at most.
  static constexpr int kMostTunnels = 8;

  Unwrapped look(LinkType link_type, ByteView bytes, std::int64_t time_ns);
  const Fragments& fragments() const { return fragments_; }

 private:
  /// Where the walk from the outermost header inwards is.
  struct Place {
    Network network{};
    int tunnels = 0;
  };
  bool enter_ethernet(Place& place, Unwrapped& found) const;
  bool enter(const Tunnel& tunnel, ByteView content, Place& place, Unwrapped& found) const;
  /// Goes one header on. False at the end, when `found` says what is there.
  bool step(Place& place, Unwrapped& found, std::int64_t time_ns);
  bool step_into_datagram(Place& place, Unwrapped& found, std::int64_t time_ns);
  bool join(const Datagram& fragment, Place& place, Unwrapped& found, std::int64_t time_ns);

  Fragments fragments_;
  std::list<WholeDatagram> wholes_;  ///< which the views of the latest frame need
};

}  // namespace urnic::check
