// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// GrantedTime: the time of a wire on which each side grants it to the other.
#pragma once

#include "transport/time.h"

namespace urnic::nic {

/// A port of such a wire has the engine's clock, and moves it where it is told to. Any thread, one after the
/// other, and none that holds the engine's lock: they wait for the peer.
class GrantedTime {
 public:
  virtual ~GrantedTime() = default;

  /// The program waits: moves the clock to the next frame, to `due`, or on by the wire's own step, whatever
  /// comes first. False: the peer has not granted that within about 100 ms, and the clock stands. A peer that
  /// is gone grants everything.
  virtual bool step(transport::Time due) = 0;

  /// The program does something else: moves the clock to the next frame, to `due`, or to where the peer is,
  /// and not further. False after some milliseconds, if there is none of these.
  virtual bool follow(transport::Time due) = 0;

  /// Whether the peer is gone, for good.
  virtual bool is_lost() const = 0;
};

}  // namespace urnic::nic
